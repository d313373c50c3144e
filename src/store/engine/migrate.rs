//! Runs the migrations of `schema`: each once, under a lock, with a checksum.

use std::time::Duration;

use rusqlite::Connection;
use tokio_postgres::error::SqlState;

use super::schema::{MIGRATIONS, Migration, tables};
use crate::crash;
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::engine::postgres::refusal;
use crate::store::engine::sql::Dialect;
use crate::store::engine::{partitions, people};

const HISTORY: &str = "create table if not exists schema_migrations \
     (name text primary key, checksum text not null, run_at bigint not null)";

/// What is left to do, given what the database says was done.
fn pending(done: &[(String, String)]) -> Result<Vec<&'static Migration>, StoreError> {
    let mut left = Vec::new();
    for migration in MIGRATIONS {
        match done.iter().find(|(name, _)| name == migration.name) {
            None => left.push(migration),
            Some((_, checksum)) if *checksum == migration.checksum() => {}
            Some(_) => {
                return Err(StoreError::Fault(format!(
                    "migration {} was changed after this database ran it; restore its original text",
                    migration.name
                )));
            }
        }
    }
    Ok(left)
}

pub(in crate::store) fn run_sqlite(
    connection: &mut Connection,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let trouble = |error: rusqlite::Error| StoreError::Unavailable(format!("migration: {error}"));
    // One write transaction for all: a second process waits here and then finds nothing to do.
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(trouble)?;
    transaction.execute_batch(HISTORY).map_err(trouble)?;
    let done = {
        let mut statement =
            transaction.prepare("select name, checksum from schema_migrations").map_err(trouble)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(trouble)?;
        rows.collect::<rusqlite::Result<Vec<(String, String)>>>().map_err(trouble)?
    };
    let mut names = Vec::new();
    for migration in pending(&done)? {
        transaction.execute_batch(&migration.render(Dialect::Sqlite)).map_err(trouble)?;
        crash::point("migrate.half_way");
        transaction
            .execute(
                "insert into schema_migrations (name, checksum, run_at) values (?1, ?2, ?3)",
                (migration.name, migration.checksum(), now.0),
            )
            .map_err(trouble)?;
        names.push(migration.name.to_owned());
    }
    transaction.commit().map_err(trouble)?;
    Ok(names)
}

/// How long a migration waits for one table, in ms. All who ask for the table meanwhile wait behind it; and it is less than the time
/// after which PostgreSQL looks for a deadlock (a second), so that it never takes a transaction of a node that serves.
const LOCK_WAIT_MS: i64 = 300;
const TRIES_MAX: usize = 150;
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// Any number that no other program on the server uses as an advisory lock.
const MIGRATION_LOCK: i64 = 0x7469_6c6c_6265_6c6c;

pub(in crate::store) async fn run_postgres(
    client: &tokio_postgres::Client,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let trouble = |error: tokio_postgres::Error| {
        StoreError::Unavailable(format!("migration: {}", crate::store::engine::postgres::describe(&error)))
    };
    client.execute("select pg_advisory_lock($1)", &[&MIGRATION_LOCK]).await.map_err(trouble)?;
    let result = run_postgres_locked(client, now).await;
    let unlock = client.execute("select pg_advisory_unlock($1)", &[&MIGRATION_LOCK]).await;
    let names = result?;
    unlock.map_err(trouble)?;
    Ok(names)
}

async fn run_postgres_locked(
    client: &tokio_postgres::Client,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let trouble = |error: tokio_postgres::Error| {
        StoreError::Unavailable(format!("migration: {}", crate::store::engine::postgres::describe(&error)))
    };
    people::check(client, tables()).await?;
    if let Err(error) = client.batch_execute(HISTORY).await {
        return Err(refusal::of_migration(client, &error).await.unwrap_or_else(|| trouble(error)));
    }
    let rows = client.query("select name, checksum from schema_migrations", &[]).await.map_err(trouble)?;
    let done: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let mut names = Vec::new();
    for migration in pending(&done)? {
        // The views go first, because they would forbid a change of their tables, and come back last,
        // all in the transaction of the migration: a crash cannot leave them missing.
        let text = format!(
            "begin;\nset local lock_timeout = {LOCK_WAIT_MS};\n{}{}\n\
             insert into schema_migrations (name, checksum, run_at) values ('{}', '{}', {});\n{}",
            people::drop_views(tables()),
            migration.render(Dialect::Postgres),
            migration.name,
            migration.checksum(),
            now.0,
            people::make_views(tables())
        );
        let mut tries = 1;
        while let Err(error) = client.batch_execute(&text).await {
            let _ = client.batch_execute("rollback").await;
            if !is_in_use(&error) {
                let refused = refusal::of_migration(client, &error).await;
                return Err(people::dependent(&error).or(refused).unwrap_or_else(|| trouble(error)));
            }
            if tries == TRIES_MAX {
                return Err(StoreError::Unavailable(format!(
                    "migration {} needs tables that others hold ({}); nothing was changed. What holds them for long is an \
                     audit, a dump, a vacuum or an open session (select pid, query from pg_stat_activity): let it end, and run it \
                     again",
                    migration.name,
                    crate::store::engine::postgres::describe(&error)
                )));
            }
            tries += 1;
            tokio::time::sleep(TRY_AGAIN).await;
        }
        crash::point("migrate.half_way");
        client.batch_execute("commit").await.map_err(trouble)?;
        names.push(migration.name.to_owned());
    }
    // There is room without them: whatever is in the way now, every node's clock tries again.
    if let (_, Some(error)) = partitions::make_parts(client).await {
        tracing::warn!(%error, "parts of large tables are made later");
    }
    Ok(names)
}

/// Nodes that serve meanwhile hold its tables, each for moments: the next try finds them free.
fn is_in_use(error: &tokio_postgres::Error) -> bool {
    let code = error.code();
    code == Some(&SqlState::LOCK_NOT_AVAILABLE) || code == Some(&SqlState::T_R_DEADLOCK_DETECTED)
}
