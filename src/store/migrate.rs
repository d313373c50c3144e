//! Migrations: one SQL text for both engines, each run once, under a lock, with a checksum.
//!
//! A text uses only BIGINT, TEXT and BYTEA. For SQLite the words are replaced by its own and every
//! table becomes STRICT; one that ends in `);--! by_key` lives in the tree of its key. A line
//! `--! append_only TABLE` puts triggers on a table that refuse update and delete. A generated column
//! (`stored`) is computed by SQLite when it is read. PostgreSQL keeps every text `collate "C"`, as SQLite
//! does, and `--! texts_by_bytes` brings the columns of before that to it. After each migration it gets a
//! schema `people` of plain views, one per table (`people.rs`).

use std::sync::OnceLock;

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::postgres::refusal;
use super::sql::Dialect;
use super::{StoreError, people};
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
    Migration { name: "0007_texts_by_bytes", text: include_str!("../../migrations/0007_texts_by_bytes.sql") },
    Migration { name: "0008_counted_once", text: include_str!("../../migrations/0008_counted_once.sql") },
    Migration { name: "0009_payment_names", text: include_str!("../../migrations/0009_payment_names.sql") },
    Migration { name: "0010_one_index_each", text: include_str!("../../migrations/0010_one_index_each.sql") },
    Migration { name: "0011_payments_found", text: include_str!("../../migrations/0011_payments_found.sql") },
    Migration { name: "0012_newest_first", text: include_str!("../../migrations/0012_newest_first.sql") },
    Migration { name: "0013_told_as_it_is", text: include_str!("../../migrations/0013_told_as_it_is.sql") },
    Migration {
        name: "0014_alerts_without_session",
        text: include_str!("../../migrations/0014_alerts_without_session.sql"),
    },
    Migration { name: "0015_activity", text: include_str!("../../migrations/0015_activity.sql") },
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
            } else if line == "--! texts_by_bytes" {
                if dialect == Dialect::Postgres {
                    out.push_str(&TEXTS_BY_BYTES.replace("{tables}", &tables().join(",")));
                }
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
                if line.ends_with(") stored;") {
                    // It adds no other kind to a table that is there.
                    out.truncate(out.len() - "stored;".len());
                    out.push_str("virtual;");
                }
            } else {
                out.push_str(&by_bytes(line));
            }
            out.push('\n');
        }
        out
    }
}

/// The line with a text column kept in the order of its bytes, whatever the server's locale: an order that
/// depends on it would make ranges mean something else, and an operating system that comes to sort otherwise
/// would spoil the unique indexes.
fn by_bytes(line: &str) -> String {
    let column =
        line.strip_prefix("    ").or_else(|| line.split_once(" add column ").map(|(_, column)| column));
    let Some((_, kind)) = column.and_then(|column| column.split_once(' ')) else { return line.to_owned() };
    match kind.strip_prefix("text") {
        Some(rest) if rest.is_empty() || rest.starts_with([' ', ',', ';']) => {
            let head = &line[..line.len() - rest.len()];
            format!("{head} collate \"C\"{rest}")
        }
        _ => line.to_owned(),
    }
}

/// The same for columns that are there already. Their indexes are built anew, the rows stay as they are.
const TEXTS_BY_BYTES: &str = r#"
do $$
declare
    t record;
begin
    for t in select c.relname, string_agg(format('alter column %I type text collate "C"', a.attname), ', ') as changes
               from pg_class c join pg_namespace n on n.oid = c.relnamespace
               join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
              where n.nspname = current_schema() and c.relkind = 'r'
                and c.relname::text = any(string_to_array('{tables}', ','))
                and a.atttypid = 'text'::regtype and a.attcollation <> '"C"'::regcollation
              group by c.relname order by c.relname loop
        execute format('alter table %I ', t.relname) || t.changes;
    end loop;
end $$;
"#;

/// Tables in the order in which the migrations make them, those that are no more included.
fn tables() -> &'static [&'static str] {
    static TABLES: OnceLock<Vec<&'static str>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let lines = MIGRATIONS.iter().flat_map(|migration| migration.text.lines());
        lines
            .filter_map(|line| line.strip_prefix("create table ")?.split(' ').next())
            .chain(["schema_migrations"])
            .collect()
    })
}

/// Place of a table in the order in which the migrations make them, in which a table can only name
/// earlier ones as its parents. Unknown tables come last.
pub(super) fn table_rank(table: &str) -> usize {
    tables().iter().position(|name| *name == table).unwrap_or(tables().len())
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

/// Names of all migrations, the first first.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    MIGRATIONS.iter().map(|migration| migration.name)
}

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
            "begin;\n{}{}\n\
             insert into schema_migrations (name, checksum, run_at) values ('{}', '{}', {});\n{}",
            people::drop_views(tables()),
            migration.render(Dialect::Postgres),
            migration.name,
            migration.checksum(),
            now.0,
            people::make_views(tables())
        );
        let run = client.batch_execute(&text).await;
        crash::point("migrate.half_way");
        match run {
            Ok(()) => client.batch_execute("commit").await.map_err(trouble)?,
            Err(error) => {
                let _ = client.batch_execute("rollback").await;
                let refused = refusal::of_migration(client, &error).await;
                return Err(people::dependent(&error).or(refused).unwrap_or_else(|| trouble(error)));
            }
        }
        names.push(migration.name.to_owned());
    }
    Ok(names)
}
