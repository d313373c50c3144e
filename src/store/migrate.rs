//! Migrations: one SQL text for both engines, each run once, under a lock, with a checksum.
//!
//! A text uses only BIGINT, TEXT and BYTEA. For SQLite the words are replaced by its own and every
//! table becomes STRICT; one that ends in `);--! by_key` lives in the tree of its key. A line
//! `--! append_only TABLE` puts triggers on a table that refuse update and delete. After the last
//! migration PostgreSQL gets a schema `people` of plain views, one per table, with real timestamps
//! (columns `..._at`) and decimals (columns `..._kobo`).

use std::sync::OnceLock;

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::StoreError;
use super::sql::Dialect;
use crate::crash;
use crate::domain::time::Timestamp;

struct Migration {
    name: &'static str,
    text: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { name: "0001_first", text: include_str!("../../migrations/0001_first.sql") },
    Migration { name: "0002_name_marks", text: include_str!("../../migrations/0002_name_marks.sql") },
    Migration { name: "0003_mailboxes", text: include_str!("../../migrations/0003_mailboxes.sql") },
    Migration { name: "0004_alert_proofs", text: include_str!("../../migrations/0004_alert_proofs.sql") },
    Migration { name: "0006_wallets", text: include_str!("../../migrations/0006_wallets.sql") },
    Migration { name: "0008_counted_once", text: include_str!("../../migrations/0008_counted_once.sql") },
];

const HISTORY: &str = "create table if not exists schema_migrations \
     (name text primary key, checksum text not null, run_at bigint not null)";

impl Migration {
    fn checksum(&self) -> String {
        Sha256::digest(self.text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The text in the engine's own words.
    fn render(&self, dialect: Dialect) -> String {
        let mut out = String::with_capacity(self.text.len() + 1024);
        for line in self.text.lines() {
            if let Some(table) = line.strip_prefix("--! append_only ") {
                out.push_str(&append_only(table.trim(), dialect));
            } else if line.starts_with("--") {
                continue;
            } else if dialect == Dialect::Sqlite {
                let line = line.replace("bigint", "integer").replace("bytea", "blob");
                out.push_str(match line.as_str() {
                    ");" => ") strict;",
                    // Rows live in their key's own tree, where they would be found anyway.
                    ");--! by_key" => ") strict, without rowid;",
                    line => line,
                });
            } else {
                out.push_str(line);
            }
            out.push('\n');
        }
        out
    }
}

/// Place of a table in the order in which the migrations make them, in which a table can only name
/// earlier ones as its parents. Unknown tables come last.
pub(super) fn table_rank(table: &str) -> usize {
    static TABLES: OnceLock<Vec<&'static str>> = OnceLock::new();
    let tables = TABLES.get_or_init(|| {
        MIGRATIONS
            .iter()
            .flat_map(|migration| migration.text.lines())
            .filter_map(|line| line.strip_prefix("create table ")?.split(' ').next())
            .collect()
    });
    tables.iter().position(|name| *name == table).unwrap_or(tables.len())
}

fn append_only(table: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::Sqlite => sqlite_guards(table).map(|guard| format!("create trigger {guard};\n")).concat(),
        Dialect::Postgres => format!(
            "create or replace function {POSTGRES_GUARD}() returns trigger language plpgsql as \
             $${POSTGRES_GUARD_BODY}$$;\n\
             create trigger {table}_append_only before update or delete or truncate on {table} \
             for each statement execute function {POSTGRES_GUARD}();\n"
        ),
    }
}

/// What stands behind `create trigger` for a table that is append only; SQLite keeps the text as it is.
pub(super) fn sqlite_guards(table: &str) -> [String; 2] {
    ["update", "delete"].map(|verb| {
        format!(
            "{table}_no_{verb} before {verb} on {table} \
             begin select raise(abort, '{table} is append only'); end"
        )
    })
}

/// The function that PostgreSQL's guards call, and its body, kept as it is.
pub(super) const POSTGRES_GUARD: &str = "tillbell_append_only";
pub(super) const POSTGRES_GUARD_BODY: &str = " begin raise exception '% is append only', tg_table_name; end ";

/// What is left to do, given what the database says was done.
fn pending(done: &[(String, String)]) -> Result<Vec<&'static Migration>, StoreError> {
    let mut left = Vec::new();
    for migration in MIGRATIONS {
        match done.iter().find(|(name, _)| name == migration.name) {
            None => left.push(migration),
            Some((_, checksum)) if *checksum == migration.checksum() => {}
            Some(_) => {
                return Err(StoreError::Fault(format!(
                    "migration {} was changed after this database ran it; restore the program's own text",
                    migration.name
                )));
            }
        }
    }
    Ok(left)
}

pub(super) fn run_sqlite(connection: &mut Connection, now: Timestamp) -> Result<Vec<String>, StoreError> {
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

/// Any number that no other program on the server uses as an advisory lock.
const MIGRATION_LOCK: i64 = 0x7469_6c6c_6265_6c6c;

pub(super) async fn run_postgres(
    client: &tokio_postgres::Client,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let trouble = |error: tokio_postgres::Error| {
        StoreError::Unavailable(format!("migration: {}", super::postgres::describe(&error)))
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
        StoreError::Unavailable(format!("migration: {}", super::postgres::describe(&error)))
    };
    client.batch_execute(HISTORY).await.map_err(trouble)?;
    let rows = client.query("select name, checksum from schema_migrations", &[]).await.map_err(trouble)?;
    let done: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let mut names = Vec::new();
    for migration in pending(&done)? {
        // The views go first, because they would forbid a change of their tables, and come back last,
        // all in the transaction of the migration: a crash cannot leave them missing.
        let text = format!(
            "begin;\ndrop schema if exists people cascade;\n{}\n\
             insert into schema_migrations (name, checksum, run_at) values ('{}', '{}', {});\n{PEOPLE_VIEWS}",
            migration.render(Dialect::Postgres),
            migration.name,
            migration.checksum(),
            now.0
        );
        let run = client.batch_execute(&text).await;
        crash::point("migrate.half_way");
        match run {
            Ok(()) => client.batch_execute("commit").await.map_err(trouble)?,
            Err(error) => {
                let _ = client.batch_execute("rollback").await;
                return Err(trouble(error));
            }
        }
        names.push(migration.name.to_owned());
    }
    Ok(names)
}

/// Views for people who look into the database: times as timestamps, money in naira.
const PEOPLE_VIEWS: &str = r"
do $$
declare
    t record;
    columns text;
begin
    create schema people;
    for t in select table_name from information_schema.tables
             where table_schema = current_schema() and table_type = 'BASE TABLE' loop
        select string_agg(
            case when column_name like '%\_at' and data_type = 'bigint'
                   then format('to_timestamp(%I / 1000000.0) as %I', column_name, column_name)
                 when column_name like '%\_kobo'
                   then format('(%I / 100.0)::numeric(20,2) as %I', column_name, replace(column_name, '_kobo', ''))
                 else quote_ident(column_name) end, ', ' order by ordinal_position)
          into columns
          from information_schema.columns
         where table_schema = current_schema() and table_name = t.table_name;
        execute format('create view people.%I as select %s from %I.%I',
            t.table_name, columns, current_schema(), t.table_name);
    end loop;
end $$;
";
