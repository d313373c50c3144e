//! Every statement of the program prepares on a fresh database of each engine.
//!
//! PostgreSQL also says of which type each place and each column is: only those that a `Value` can
//! be are allowed, so that no statement fails for the first time in front of a customer.

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
