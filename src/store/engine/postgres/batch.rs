//! One transaction on one connection: statements of many Units sent without waiting, row counts
//! compared before the commit. Says what went wrong and whose fault it was; what then happens to
//! the Units is decided in `group.rs`, its only caller.

use std::future::Future;
use std::pin::Pin;

use super::connection::Connection;
use super::errors::{Meaning, away, describe, fault, meaning};
use super::statement::Given;
use super::{ANSWER_TIMEOUT, convert};
use crate::crash;
use crate::store::StoreError;
use crate::store::engine::schema;
use crate::store::engine::sql::{Sql, Text, statements};
use crate::store::engine::unit::{Expect, Step, Unit};
use crate::store::engine::value::{Row, Value};

statements! {
    UNIT_MADE: insert(units) { id: Int }
}

/// Rows of the `returning` steps of one Unit.
pub(super) type Returned = Vec<Vec<Row>>;

/// Why a batch was not committed, or not known to be.
pub(super) enum Trouble {
    /// These Units touched another number of rows than they must.
    Lost(Vec<(usize, &'static str)>),
    /// A constraint; `unit` is unknown when it came from an insert shared by several.
    Refused { unit: Option<usize>, statement: &'static str },
    /// Deadlock or serialization failure: nobody's fault, run again.
    Again(String),
    /// The server refused a statement: a fault of the program.
    Fault { unit: Option<usize>, error: StoreError },
    /// The connection broke or fell silent before the commit was sent.
    Broken(StoreError),
    /// The commit was sent and its end is unknown; `results` holds if it happened.
    Doubt { results: Vec<Returned>, error: StoreError },
}

enum StepAnswer {
    Rows(Vec<Row>),
    Count(u64),
}

enum Failure {
    Server(&'static str, tokio_postgres::Error),
    Program(StoreError),
}

type Sending<'a> = Pin<Box<dyn Future<Output = Result<StepAnswer, Failure>> + Send + 'a>>;

/// Whose statement it is and what it must do.
#[derive(Clone, Copy)]
struct Owner {
    /// None for `begin` and for inserts shared by several Units.
    unit: Option<usize>,
    expect: Expect,
    statement: &'static str,
}

/// Makes the Units durable, all or none.
pub(super) async fn run(connection: &Connection, units: &[&Unit]) -> Result<Vec<Returned>, Trouble> {
    connection.take_unreplicated();
    match tokio::time::timeout(ANSWER_TIMEOUT, run_steps(connection, units)).await {
        Ok(Ok(results)) => finish(connection, results).await,
        Ok(Err(trouble @ (Trouble::Broken(_) | Trouble::Doubt { .. }))) => Err(trouble),
        Ok(Err(trouble)) => {
            let rollback = connection.client.batch_execute("rollback");
            match tokio::time::timeout(ANSWER_TIMEOUT, rollback).await {
                Ok(Ok(())) => Err(trouble),
                _ => Err(Trouble::Broken(away("no response to a rollback"))),
            }
        }
        Err(_) => Err(Trouble::Broken(away("no response within 5 s"))),
    }
}

async fn finish(connection: &Connection, results: Vec<Returned>) -> Result<Vec<Returned>, Trouble> {
    crash::point("store.before_commit");
    let commit = connection.client.batch_execute("commit");
    let error = match tokio::time::timeout(ANSWER_TIMEOUT, commit).await {
        Err(_) => away("no response to a commit"),
        // "committed locally, but might not have been replicated": unknown, never success.
        Ok(Ok(())) if connection.take_unreplicated() => away("a commit was not confirmed by the standby"),
        Ok(Ok(())) => {
            crash::point("store.after_commit");
            return Ok(results);
        }
        // A deferred constraint or a serialization failure ends the transaction for certain. Any
        // other error, an administrator's shutdown too, may come after the commit was made.
        Ok(Err(error)) => match meaning(&error) {
            Meaning::Refused => return Err(Trouble::Refused { unit: None, statement: "commit" }),
            Meaning::Again => return Err(Trouble::Again(describe(&error))),
            Meaning::Fault | Meaning::Broken => away(describe(&error)),
        },
    };
    Err(Trouble::Doubt { results, error })
}

async fn run_steps(connection: &Connection, units: &[&Unit]) -> Result<Vec<Returned>, Trouble> {
    let made: Vec<Vec<Value>> = units.iter().map(|unit| vec![unit.id.into()]).collect();
    let gathered = gather(units, &made);
    let mut sending: Vec<Sending<'_>> = Vec::new();
    let mut owners = vec![Owner { unit: None, expect: Expect::Any, statement: "begin" }];
    sending.push(Box::pin(async {
        let begun = connection.client.batch_execute("begin").await;
        begun.map(|()| StepAnswer::Count(0)).map_err(|error| Failure::Server("begin", error))
    }));
    for (n, unit) in units.iter().enumerate() {
        for step in unit.steps.iter().filter(|step| !step.is_insert()) {
            let owner = Owner { unit: Some(n), expect: step.expect, statement: step.sql.name };
            sending.push(send_step(connection, step, owner).await?);
            owners.push(owner);
        }
    }
    for group in &gathered {
        let expect = Expect::Rows(group.rows.len() as u64);
        let owner = Owner { unit: group.unit, expect, statement: group.sql.name };
        sending.push(send_gathered(connection, group, owner).await?);
        owners.push(owner);
    }
    collect(units.len(), &owners, in_order(sending).await)
}

/// Makes the statement ready now, before the transaction begins; the rest happens when polled.
async fn send_step<'a>(
    connection: &'a Connection,
    step: &'a Step,
    owner: Owner,
) -> Result<Sending<'a>, Trouble> {
    let name = owner.statement;
    let ready = connection.ready(step.sql, false).await;
    let statement = ready.map_err(|error| judge(Failure::Server(name, error), owner))?;
    statement.check_count(step.sql, &step.params).map_err(|e| judge(Failure::Program(e), owner))?;
    Ok(Box::pin(async move {
        crash::point("store.between_statements");
        let given = Given::Values(&step.params);
        if step.expect == Expect::Returned {
            let rows = statement.query(&connection.client, &given).await;
            let rows = rows.map_err(|error| Failure::Server(name, error))?;
            let rows: Result<Vec<Row>, StoreError> =
                rows.iter().map(|row| convert::row(step.sql, row)).collect();
            rows.map(StepAnswer::Rows).map_err(Failure::Program)
        } else {
            let count = statement.execute(&connection.client, &given).await;
            count.map(StepAnswer::Count).map_err(|error| Failure::Server(name, error))
        }
    }))
}

async fn send_gathered<'a>(
    connection: &'a Connection,
    group: &Gathered<'a>,
    owner: Owner,
) -> Result<Sending<'a>, Trouble> {
    let name = owner.statement;
    let ready = connection.ready(group.sql, true).await;
    let statement = ready.map_err(|error| judge(Failure::Server(name, error), owner))?;
    let Text::Insert { columns, .. } = &group.sql.text else {
        return Err(judge(Failure::Program(fault(name, "is no insert")), owner));
    };
    let arrays =
        convert::arrays(name, columns, &group.rows).map_err(|error| judge(Failure::Program(error), owner))?;
    Ok(Box::pin(async move {
        crash::point("store.between_statements");
        let count = statement.execute(&connection.client, &Given::Arrays(&arrays, columns)).await;
        count.map(StepAnswer::Count).map_err(|error| Failure::Server(name, error))
    }))
}

/// Sends every future's request now, in order, then collects the answers in order. (A plain join
/// does not promise the order in which it polls for the first time; the wire's order is ours.)
async fn in_order(mut sending: Vec<Sending<'_>>) -> Vec<Result<StepAnswer, Failure>> {
    let mut done: Vec<Option<_>> = sending.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, slot) in sending.iter_mut().zip(done.iter_mut()) {
            if let std::task::Poll::Ready(result) = future.as_mut().poll(cx) {
                *slot = Some(result);
            }
        }
        std::task::Poll::Ready(())
    })
    .await;
    let mut results = Vec::with_capacity(done.len());
    for (future, early) in sending.into_iter().zip(done) {
        results.push(match early {
            Some(result) => result,
            None => future.await,
        });
    }
    results
}

/// Rows of one kind of insert, over all Units of the batch.
struct Gathered<'a> {
    sql: &'static Sql,
    rows: Vec<&'a [Value]>,
    /// The only Unit with rows in here, if there is just one.
    unit: Option<usize>,
}

/// A Unit alone keeps the order of its own inserts. Over several Units no order of first
/// appearance is right for all of them (one inserts children of rows that were there, the next
/// their parents too), so tables go in the order in which the schema makes them: parents first.
fn gather<'a>(units: &[&'a Unit], made: &'a [Vec<Value>]) -> Vec<Gathered<'a>> {
    let mut all: Vec<Gathered<'a>> = Vec::new();
    let mut add = |sql: &'static Sql, row: &'a [Value], n: usize| match all
        .iter_mut()
        .find(|g| std::ptr::eq(g.sql, sql))
    {
        Some(gathered) => {
            gathered.rows.push(row);
            if gathered.unit != Some(n) {
                gathered.unit = None;
            }
        }
        None => all.push(Gathered { sql, rows: vec![row], unit: Some(n) }),
    };
    for (n, unit) in units.iter().enumerate() {
        if unit.id != 0 {
            add(UNIT_MADE::sql(), &made[n], n);
        }
        for step in unit.steps.iter().filter(|step| step.is_insert()) {
            add(step.sql, &step.params, n);
        }
    }
    if units.len() > 1 {
        all.sort_by_key(|gathered| match &gathered.sql.text {
            Text::Insert { table, .. } => schema::table_rank(table),
            Text::Plain(_) | Text::Lookup { .. } => usize::MAX,
        });
    }
    all
}

fn collect(
    units: usize,
    owners: &[Owner],
    answers: Vec<Result<StepAnswer, Failure>>,
) -> Result<Vec<Returned>, Trouble> {
    let mut results: Vec<Returned> = (0..units).map(|_| Vec::new()).collect();
    let mut lost: Vec<(usize, &'static str)> = Vec::new();
    for (owner, answer) in owners.iter().zip(answers) {
        match (answer, owner.unit) {
            (Ok(StepAnswer::Rows(rows)), Some(n)) => results[n].push(rows),
            (Ok(StepAnswer::Count(count)), Some(n)) => {
                if let Expect::Rows(wanted) = owner.expect
                    && wanted != count
                    && !lost.iter().any(|(m, _)| *m == n)
                {
                    lost.push((n, owner.statement));
                }
            }
            (Ok(_), None) => {}
            // What a Unit lost before the error is the truer answer: the error may follow from it.
            (Err(_), _) if !lost.is_empty() => break,
            (Err(failure), _) => return Err(judge(failure, *owner)),
        }
    }
    if lost.is_empty() { Ok(results) } else { Err(Trouble::Lost(lost)) }
}

fn judge(failure: Failure, owner: Owner) -> Trouble {
    let (statement, error) = match failure {
        Failure::Program(error) => return Trouble::Fault { unit: owner.unit, error },
        Failure::Server(statement, error) => (statement, error),
    };
    match meaning(&error) {
        Meaning::Refused => Trouble::Refused { unit: owner.unit, statement },
        Meaning::Again => Trouble::Again(describe(&error)),
        Meaning::Fault => Trouble::Fault { unit: owner.unit, error: fault(statement, describe(&error)) },
        Meaning::Broken => Trouble::Broken(away(describe(&error))),
    }
}
