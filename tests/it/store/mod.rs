//! The store on both engines: what its verbs promise, and what is left of it when machines fail.
//!
//! The tests declare a few statements of their own over the real tables, because the store's
//! statements are private to its nouns. `counters` serves as a ledger in small: a Unit adds to a
//! total and leaves a row of its own, so that "happened" and "happened once" can both be seen.

mod all_plans;
mod conformance;
mod kill;
mod locales;
pub mod migrations;
mod parts;
mod plans;
mod postgres_faults;
mod prepare_all;
mod sqlite_faults;
mod values;

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use tillbell::store::engine::sql::{Column, Sql, Text};
use tillbell::store::{Applied, Step, Store, StoreError, StoreOptions, Unit};

pub const fn query(name: &'static str, text: &'static str) -> Sql {
    Sql::new(name, Text::Plain(text))
}

pub static ADD_TO: Sql = query("ADD_TO", "update counters set value = value + $2 where name = $1");
pub static ADD_AND_TELL: Sql =
    query("ADD_AND_TELL", "update counters set value = value + $2 where name = $1 returning value");
pub static MOVE: Sql = query("MOVE", "update counters set value = $3 where name = $1 and value = $2");
pub static VALUE: Sql = query("VALUE", "select value from counters where name = $1");
/// The total beside the number of Units that left a row, from one snapshot.
pub static TOTAL_AND_MARKS: Sql = query(
    "TOTAL_AND_MARKS",
    "select (select value from counters where name = 'total') as total, \
     (select count(*) from counters where name >= 'mark' and name < 'marl') as marks",
);
pub static MARKS: Sql =
    query("MARKS", "select name from counters where name >= 'mark' and name < 'marl' order by name");
pub static NEW_COUNTER: Sql = Sql::new(
    "NEW_COUNTER",
    Text::Insert { table: "counters", columns: &[("name", Column::Text), ("value", Column::Int)] },
);

/// As the service opens it: several writers and readers, ids in blocks.
pub async fn open(url: &str) -> Store {
    Store::open(&StoreOptions::service(url)).await.expect("open the database")
}

pub fn add(name: &str, by: i64) -> Step {
    Step::one(&ADD_TO, vec![name.into(), by.into()])
}

pub fn new_counter(name: &str, value: i64) -> Step {
    Step::one(&NEW_COUNTER, vec![name.into(), value.into()])
}

/// A Unit that adds 1 to the total and leaves the row `mark NAME`.
pub async fn marking(store: &Store, shard: i64, name: &str) -> Result<Unit, StoreError> {
    Ok(store.unit(shard).await?.step(add("total", 1)).step(new_counter(&format!("mark {name}"), 1)))
}

pub async fn make(store: &Store, names: &[&str]) {
    let unit = names.iter().fold(store.unit(1).await.unwrap(), |unit, name| unit.step(new_counter(name, 0)));
    assert_eq!(store.apply(unit).await.unwrap(), Applied::Done(Vec::new()));
}

pub async fn value(store: &Store, name: &str) -> Option<i64> {
    let row = store.read_one(&VALUE, vec![name.into()]).await.unwrap();
    row.map(|row| row.single_int("counters").unwrap())
}

/// The total must be the number of marks: no Unit half done, none done twice.
pub async fn checked_total(store: &Store) -> i64 {
    let mut row = store.read_one(&TOTAL_AND_MARKS, Vec::new()).await.unwrap().unwrap().reader("counters");
    let (total, marks) = (row.int("total").unwrap(), row.int("marks").unwrap());
    assert_eq!(total, marks, "total and marks differ");
    total
}

pub async fn marks(store: &Store) -> Vec<String> {
    let rows = store.read(&MARKS, Vec::new()).await.unwrap();
    rows.into_iter()
        .map(|row| row.reader("counters").text("name").unwrap()["mark ".len()..].to_owned())
        .collect()
}

/// Hands the Units over in exactly this order, without waiting for any, then collects the answers.
pub async fn apply_in_order(store: &Store, units: Vec<Unit>) -> Vec<Result<Applied, StoreError>> {
    type Applying<'a> = Pin<Box<dyn Future<Output = Result<Applied, StoreError>> + Send + 'a>>;
    let mut all: Vec<Applying<'_>> = units.into_iter().map(|unit| Box::pin(store.apply(unit)) as _).collect();
    let mut early: Vec<Option<_>> = all.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, answer) in all.iter_mut().zip(&mut early) {
            if let Poll::Ready(result) = future.as_mut().poll(cx) {
                *answer = Some(result);
            }
        }
        Poll::Ready(())
    })
    .await;
    let mut answers = Vec::new();
    for (future, answer) in all.into_iter().zip(early) {
        answers.push(match answer {
            Some(answer) => answer,
            None => future.await,
        });
    }
    answers
}
