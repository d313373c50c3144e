//! Every statement of the program prepares on a fresh database of each engine.
//!
//! PostgreSQL also says of which type each place and each column is: only those that a `Value` can
//! be are allowed, so that no statement fails for the first time in front of a customer. An answer's columns are
//! read by name: both engines must call them the same, and no two of one statement alike.

use std::collections::HashSet;

use tillbell::store::engine::sql::Dialect;
use tillbell::store::statements;
use tokio_postgres::types::Type;

use super::*;
use crate::harness::databases::{Engine, TestDatabase, connect};

on_both! {
    async fn every_statement_prepares(db: TestDatabase) {
        let all = statements();
        assert!(all.len() > 20, "only {} statements are registered", all.len());
        let wrong = match db.engine() {
            Engine::Sqlite => on_sqlite(&db, &all),
            Engine::Postgres => on_postgres(&db, &all).await,
        };
        assert!(wrong.is_empty(), "{} statements do not prepare:\n{}", wrong.len(), wrong.join("\n"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_have_the_same_names_on_both_engines() {
    let (sqlite, postgres) =
        (TestDatabase::migrated(Engine::Sqlite).await, TestDatabase::migrated(Engine::Postgres).await);
    let file = rusqlite::Connection::open(sqlite.url().strip_prefix("sqlite:").unwrap()).unwrap();
    let client = connect(postgres.url()).await;
    let mut wrong = Vec::new();
    for sql in statements() {
        let statement = file.prepare(&sql.render(Dialect::Sqlite)).unwrap();
        let here: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let statement = client.prepare(&sql.render(Dialect::Postgres)).await.unwrap();
        let there: Vec<&str> = statement.columns().iter().map(|column| column.name()).collect();
        let is_single = here.len() == 1 && there.len() == 1;
        if here != there && !is_single {
            wrong.push(format!("{}: {here:?} and {there:?}", sql.name));
        }
        let names: HashSet<&str> = there.iter().copied().collect();
        if names.len() < there.len() {
            wrong.push(format!("{}: two of {there:?} have one name", sql.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn on_sqlite(db: &TestDatabase, all: &[&'static Sql]) -> Vec<String> {
    let file = rusqlite::Connection::open(db.url().strip_prefix("sqlite:").unwrap()).unwrap();
    let prepare = |sql: &&'static Sql| file.prepare(&sql.render(Dialect::Sqlite)).map(drop).err();
    all.iter().filter_map(|sql| prepare(sql).map(|error| format!("{}: {error}", sql.name))).collect()
}

async fn on_postgres(db: &TestDatabase, all: &[&'static Sql]) -> Vec<String> {
    let client = connect(db.url()).await;
    let mut wrong = Vec::new();
    let known = [Type::INT8, Type::TEXT, Type::VARCHAR, Type::BYTEA];
    let arrays = [Type::INT8_ARRAY, Type::TEXT_ARRAY, Type::BYTEA_ARRAY];
    for sql in all {
        let texts = [
            Some((sql.render(Dialect::Postgres), &known[..])),
            sql.render_arrays().map(|text| (text, &arrays[..])),
        ];
        for (text, allowed) in texts.into_iter().flatten() {
            match client.prepare(&text).await {
                Err(error) => wrong.push(format!("{}: {:?}", sql.name, error.as_db_error())),
                Ok(statement) => {
                    let places = statement.params().iter().filter(|place| !allowed.contains(place));
                    wrong.extend(
                        places.map(|place| format!("{}: a place of type {place}: cast it", sql.name)),
                    );
                    let columns = statement.columns().iter();
                    let odd = columns.filter(|c| !known.contains(c.type_()) && *c.type_() != Type::INT4);
                    wrong.extend(odd.map(|c| format!("{}: column {} is {}", sql.name, c.name(), c.type_())));
                }
            }
        }
    }
    wrong
}
