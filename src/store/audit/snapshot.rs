//! The audit's own way into the database: many counts from one snapshot, and the triggers.
//!
//! It opens a connection of its own, because an audit of millions of rows takes longer than any
//! limit the service's connections have, and must not stand in their way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rusqlite::OpenFlags;
use tokio_postgres::types::ToSql;

use crate::store::audit::{Clause, FOUND_MAX};
use crate::store::engine::guards::{
    APPEND_ONLY, POSTGRES_GUARD, POSTGRES_GUARD_BODY, POSTGRES_OPEN_GUARD, POSTGRES_OPEN_GUARD_BODY,
    POSTGRES_REDUCE_GUARD, postgres_reduce_guard_body, sqlite_guards,
};
use crate::store::engine::sql::Dialect;
use crate::store::engine::tls;
use crate::store::{Driver, Store, StoreError, sqlite_path};

/// What a clause of the audit came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Rows looked at.
    pub rows: i64,
    pub violations: i64,
    /// Table and id of the first rows that break it, at most [`FOUND_MAX`].
    pub found: Vec<(String, Option<i64>)>,
}

/// Each row once; what breaks a clause in two ways is found twice.
fn first_ones(all: impl Iterator<Item = (String, Option<i64>)>) -> Vec<(String, Option<i64>)> {
    let mut found = Vec::new();
    for one in all {
        if found.len() < FOUND_MAX && !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Steps of SQLite between two looks whether somebody still waits for the counts: some milliseconds.
const LOOKS_EVERY: i32 = 100_000;

/// Whoever waits for counts of SQLite. A thread of a process that ends is waited for: it must not go on counting for
/// nobody.
#[derive(Default)]
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Store {
    /// For each clause its two counts (rows looked at, violations) and the first rows that break it, all from
    /// one snapshot. `counted` is raised after each.
    pub async fn count_in_snapshot(
        &self,
        clauses: Vec<Clause>,
        counted: Arc<AtomicUsize>,
    ) -> Result<Vec<Counted>, StoreError> {
        let url = self.inner.session_url.clone();
        match self.inner.driver {
            Driver::Sqlite(_) => {
                let done = counted;
                let waiting = Waiting::default();
                let is_over = waiting.0.clone();
                blocking(move || {
                    let mut connection = open_sqlite(&url)?;
                    let run = || -> rusqlite::Result<Vec<Counted>> {
                        let handler = move || is_over.load(Ordering::Relaxed);
                        connection.progress_handler(LOOKS_EVERY, Some(handler))?;
                        connection.execute_batch("begin")?;
                        let one = |clause| {
                            let found = sqlite_counted(&connection, clause);
                            done.fetch_add(1, Ordering::Relaxed);
                            found
                        };
                        clauses.iter().map(one).collect()
                    };
                    run().map_err(|error| StoreError::Unavailable(error.to_string()))
                })
                .await
            }
            Driver::Postgres(_) => {
                let client = open_postgres(&url).await?;
                let begin = "set statement_timeout = 0; set enable_hashjoin = on; set enable_mergejoin = on; \
                             begin transaction isolation level repeatable read read only";
                client.batch_execute(begin).await.map_err(|e| trouble(&e))?;
                let mut counts = Vec::with_capacity(clauses.len());
                for (_, counting, naming) in clauses {
                    let text = counting.render(Dialect::Postgres);
                    let row = client.query_one(&text, &[]).await.map_err(|e| trouble(&e))?;
                    let mut answer = Counted { rows: row.get(0), violations: row.get(1), found: Vec::new() };
                    if answer.violations != 0 {
                        let text = naming.render(Dialect::Postgres);
                        let rows = client.query(&text, &[]).await.map_err(|e| trouble(&e))?;
                        answer.found = first_ones(rows.iter().map(|row| (row.get(0), row.get(1))));
                    }
                    counts.push(answer);
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                Ok(counts)
            }
        }
    }

    /// How many tables must be append only, and those of them that have lost their guard: it is
    /// missing, or does something else than the migrations made it do.
    pub async fn append_only_guards(&self) -> Result<(i64, Vec<&'static str>), StoreError> {
        let url = self.inner.session_url.clone();
        let guarded: Vec<String> = match self.inner.driver {
            Driver::Sqlite(_) => {
                let run = move || sqlite_guarded(&open_sqlite(&url)?);
                blocking(run).await?
            }
            Driver::Postgres(_) => {
                let client = open_postgres(&url).await?;
                let reduce_guard = postgres_reduce_guard_body();
                let params: [&(dyn ToSql + Sync); 6] = [
                    &POSTGRES_GUARD,
                    &POSTGRES_GUARD_BODY,
                    &POSTGRES_OPEN_GUARD,
                    &POSTGRES_OPEN_GUARD_BODY,
                    &POSTGRES_REDUCE_GUARD,
                    &reduce_guard,
                ];
                let rows = client.query(POSTGRES_GUARDED, &params).await.map_err(|e| trouble(&e))?;
                rows.iter().map(|row| row.get(0)).collect()
            }
        };
        let lost = APPEND_ONLY.into_iter().filter(|table| !guarded.iter().any(|g| g == table)).collect();
        Ok((APPEND_ONLY.len() as i64, lost))
    }
}

fn sqlite_counted(connection: &rusqlite::Connection, clause: &Clause) -> rusqlite::Result<Counted> {
    let (_, counting, naming) = clause;
    let counts = connection
        .query_row(&counting.render(Dialect::Sqlite), [], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?;
    let mut counted = Counted { rows: counts.0, violations: counts.1, found: Vec::new() };
    if counted.violations != 0 {
        let mut statement = connection.prepare(&naming.render(Dialect::Sqlite))?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        counted.found = first_ones(rows.collect::<rusqlite::Result<Vec<_>>>()?.into_iter());
    }
    Ok(counted)
}

/// Tables whose trigger is enabled and calls the migrations' function before every statement that updates
/// (58: any column), deletes or truncates, under no condition. Attempts have a trigger for each row that is deleted
/// (11) beside one for the rest (50), events one for each row that is updated (19) beside one for the rest (42). What is
/// sent to a part of a table goes by the table's own triggers for each row alone, so each part has the others as well.
const POSTGRES_GUARDED: &str = "select c.relname::text from pg_trigger t \
     join pg_class c on c.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid \
     where t.tgname = c.relname || '_append_only' and t.tgenabled in ('O', 'A') and t.tgtype = case c.relname when 'attempts' then 50 when 'events' then 42 else 58 end \
     and t.tgqual is null and cardinality(t.tgattr::int2[]) = 0 \
     and p.proname = $1 and p.prosrc = $2 and pg_table_is_visible(c.oid) \
     and not exists (select 1 from pg_partition_tree(c.oid) i where i.level > 0 and not exists (select 1 from pg_trigger s \
     where s.tgrelid = i.relid and s.tgname = t.tgname and s.tgenabled in ('O', 'A') and s.tgtype = t.tgtype \
     and s.tgqual is null and cardinality(s.tgattr::int2[]) = 0 and s.tgfoid = t.tgfoid)) \
     and (c.relname <> 'attempts' or exists (select 1 from pg_trigger o join pg_proc q on q.oid = o.tgfoid \
     where o.tgrelid = c.oid and o.tgname = 'attempts_open_stay' and o.tgenabled in ('O', 'A') and o.tgtype = 11 \
     and o.tgqual is null and q.proname = $3 and q.prosrc = $4 and not exists (select 1 from pg_partition_tree(c.oid) i \
     where i.level > 0 and not exists (select 1 from pg_trigger s where s.tgrelid = i.relid and s.tgname = o.tgname and s.tgfoid = o.tgfoid \
     and s.tgtype = 11 and s.tgqual is null and s.tgenabled in ('O', 'A'))))) \
     and (c.relname <> 'events' or exists (select 1 from pg_trigger o join pg_proc q on q.oid = o.tgfoid \
     where o.tgrelid = c.oid and o.tgname = 'events_reduced_once' and o.tgenabled in ('O', 'A') and o.tgtype = 19 \
     and o.tgqual is null and cardinality(o.tgattr::int2[]) = 0 and q.proname = $5 and q.prosrc = $6))";

/// Tables whose triggers are, word for word, those that the migrations made, and no others.
fn sqlite_guarded(connection: &rusqlite::Connection) -> Result<Vec<String>, StoreError> {
    let run = || -> rusqlite::Result<Vec<(String, String)>> {
        let mut statement =
            connection.prepare("select tbl_name, sql from sqlite_master where type = 'trigger'")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    };
    let triggers = run().map_err(|error| StoreError::Unavailable(error.to_string()))?;
    let is_guarded = |table: &str| {
        let guards = sqlite_guards(table);
        let mut own = triggers.iter().filter(|(of, _)| of == table);
        let known = |sql: &str| guards.iter().any(|guard| sql.strip_prefix("CREATE TRIGGER ") == Some(guard));
        own.clone().count() == guards.len() && own.all(|(_, sql)| known(sql))
    };
    Ok(APPEND_ONLY.iter().filter(|table| is_guarded(table)).map(|table| (*table).to_owned()).collect())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| StoreError::Unavailable(format!("the audit's thread failed: {error}")))?
}

fn open_sqlite(url: &str) -> Result<rusqlite::Connection, StoreError> {
    rusqlite::Connection::open_with_flags(sqlite_path(url), OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|error| StoreError::Unavailable(error.to_string()))
}

async fn open_postgres(url: &str) -> Result<tokio_postgres::Client, StoreError> {
    let (client, connection) =
        tokio_postgres::connect(url, tls::connector()?).await.map_err(|e| trouble(&e))?;
    tokio::spawn(connection);
    Ok(client)
}

fn trouble(error: &tokio_postgres::Error) -> StoreError {
    StoreError::Unavailable(crate::store::engine::postgres::describe(error))
}
