//! Parts of the large tables of PostgreSQL (`parted`) are made ahead of the ids that fill them, and taken away when retention
//! has emptied them.
//!
//! There is always room for the ids of a whole part beyond the one that is being filled; `migrate` and every node's clock
//! see to it. SQLite keeps each table in one tree. Used by `migrate` and `ops::retention`.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::guards;
use super::parted::{PART_IDS, PARTED, Parted};
use super::postgres::{away, describe};
use crate::crash;
use crate::domain::time::{Span, Timestamp};
use crate::store::{Driver, Store, StoreError};

/// Parts of one table made or taken away in one run; the next run goes on.
const MADE_MAX: usize = 8;
/// How long the making of a part waits for what others hold, in ms: as in a migration.
const LOCK_WAIT_MS: i64 = 300;
/// Nodes that do it at the same moment do it one after another. Any number that no other program on the server uses.
const MAKING_LOCK: i64 = 0x7469_6c6c_7061_7274;
/// A part is taken away when ids beyond it have been in use for so long: no block of its own is used any more
/// (`ids`: a day).
const PASSED_FOR: Span = Span::days(2);

/// What one run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartsChanged {
    /// Of each table how many ids were left before its last part ends, before any was made.
    pub room: Vec<(&'static str, i64)>,
    pub made: Vec<String>,
    pub removed: Vec<String>,
    /// What was in the way of some of it.
    pub trouble: Option<String>,
}

/// The last id that was handed out.
const TAKEN: &str = "select value from counters where name = $1";
/// The parts of a table: name, and the id before which each ends; the last first. One without an end is not ours.
const PARTS: &str = "select name, ends from (select c.relname::text as name, \
     (regexp_match(pg_get_expr(c.relpartbound, c.oid), $$TO \\('?(\\d+)'?\\)$$))[1]::bigint as ends \
     from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = ($1::text)::regclass) as parts \
     where ends is not null order by ends desc";

impl Store {
    /// Makes parts ahead of the ids that are in use, and takes away those that retention has emptied. Safe on several nodes
    /// at once; whatever is in use stays for the next run, and what is in one table's way is not in the others'.
    pub async fn keep_parts(&self, now: Timestamp) -> Result<PartsChanged, StoreError> {
        let Driver::Postgres(driver) = &self.inner.driver else { return Ok(PartsChanged::default()) };
        let connection = driver.unlimited().await?;
        let client = &connection.client;
        let mut changed = PartsChanged { room: room(client).await?, ..PartsChanged::default() };
        let (made, mut trouble) = make_parts(client).await;
        changed.made = made;
        for parted in &PARTED {
            let is_new = changed.made.iter().any(|part| part.starts_with(&format!("{}_to_", parted.table)));
            sample(client, parted.table, is_new).await.map_err(|error| away(describe(&error)))?;
            match remove_empty_parts(client, parted, now).await {
                Ok(removed) => changed.removed.extend(removed),
                Err(error) => trouble = Some(error),
            }
        }
        changed.trouble = trouble.map(|error| error.to_string());
        Ok(changed)
    }
}

/// Of each table how many ids are left before its last part ends.
async fn room(client: &Client) -> Result<Vec<(&'static str, i64)>, StoreError> {
    let mut room = Vec::new();
    for parted in &PARTED {
        let end = client.query(PARTS, &[&parted.table]).await;
        let value = client.query_one(TAKEN, &[&parted.counter.name()]).await;
        let (end, value) = end.and_then(|end| Ok((end, value?))).map_err(|error| away(describe(&error)))?;
        room.extend(end.first().map(|end| (parted.table, end.get::<_, i64>(1) - value.get::<_, i64>(0))));
    }
    Ok(room)
}

/// Until there is room for a whole part beyond the one that is being filled. A table without parts is of a schema of before. All tables
/// are tried, whatever is in the way of one; that is answered beside what was made.
pub(in crate::store) async fn make_parts(client: &Client) -> (Vec<String>, Option<StoreError>) {
    let (mut made, mut failed) = (Vec::new(), None);
    for parted in &PARTED {
        for _ in 0..MADE_MAX {
            match make_part(client, parted).await {
                Ok(Some(name)) => made.push(name),
                Ok(None) => break,
                Err(error) => {
                    failed = Some(trouble(client, parted.table, &error).await);
                    break;
                }
            }
        }
    }
    (made, failed)
}

async fn make_part(client: &Client, parted: &Parted) -> Result<Option<String>, tokio_postgres::Error> {
    let Parted { table, counter, .. } = parted;
    begin(client).await?;
    let value = client.query_one(TAKEN, &[&counter.name()]).await?;
    let value: i64 = value.get(0);
    let ends = client.query(PARTS, &[table]).await?.first().map(|row| row.get::<_, i64>(1));
    let Some(from) = ends.filter(|ends| *ends <= value.saturating_add(PART_IDS)) else {
        client.batch_execute("rollback").await?;
        return Ok(None);
    };
    let to = from + PART_IDS;
    let part = format!("{table}_to_{to}");
    let guard = guards::guard_of_part(table, &part);
    // Attached when it is whole: the table it joins is read and written meanwhile. Whoever makes it, it is the table's owner's.
    let text = format!(
        "create table {part} (like {table} including all);\n{guard}\
         do $$ begin execute (select format('alter table {part} owner to %I', pg_get_userbyid(relowner)) \
         from pg_class where oid = '{table}'::regclass); end $$;\n\
         alter table {table} attach partition {part} for values from ({from}) to ({to});\n"
    );
    client.batch_execute(&text).await?;
    crash::point("parts.made");
    client.batch_execute("commit").await?;
    Ok(Some(part))
}

/// Parts that nothing lies in, whose ids nobody can still use, the oldest first.
async fn remove_empty_parts(
    client: &Client,
    parted: &Parted,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let Some(used_at) = parted.used_at else { return Ok(Vec::new()) };
    let mut removed = Vec::new();
    let parts = client.query(PARTS, &[&parted.table]).await.map_err(|error| away(describe(&error)))?;
    for row in parts.iter().skip(1).rev().take(MADE_MAX) {
        let (part, ends): (String, i64) = (row.get(0), row.get(1));
        match remove_part(client, parted.table, (&part, ends), (used_at, now)).await {
            Ok(true) => removed.push(part),
            // What is in an older part goes before what is in a newer one.
            Ok(false) => break,
            Err(error) => return Err(trouble(client, parted.table, &error).await),
        }
    }
    Ok(removed)
}

async fn remove_part(
    client: &Client,
    table: &str,
    (part, ends): (&str, i64),
    (used_at, now): (&str, Timestamp),
) -> Result<bool, tokio_postgres::Error> {
    let used = client.query_opt(used_at, &[&ends]).await?.map(|row| Timestamp(row.get(0)));
    let is_passed = used.is_some_and(|used| now.since(used) >= PASSED_FOR);
    let is_empty = format!("select not exists (select from {part})");
    if !is_passed || !client.query_one(&is_empty, &[]).await?.get::<_, bool>(0) {
        return Ok(false);
    }
    // So that the file is short when all wait for the answer.
    client.batch_execute(&format!("vacuum {part}")).await?;
    begin(client).await?;
    // Asked once more when nobody can write to it; the table first, as everybody takes them.
    client.batch_execute(&format!("lock table only {table}, only {part} in access exclusive mode")).await?;
    client.batch_execute(&format!("set local statement_timeout = {LOCK_WAIT_MS}")).await?;
    let is_empty = client.query_one(&is_empty, &[]).await?.get(0);
    if is_empty {
        client.batch_execute(&format!("drop table {part}")).await?;
        crash::point("parts.removed");
    }
    client.batch_execute(if is_empty { "commit" } else { "rollback" }).await?;
    Ok(is_empty)
}

/// The server's planner learns what the whole table is like: by itself it looks at parts alone, and then reads other tables
/// from end to end rather than ask this one. Done where it knows nothing yet, and with each new part.
async fn sample(client: &Client, table: &str, is_new: bool) -> Result<(), tokio_postgres::Error> {
    let asked = format!(
        "select exists (select from {table}) and ($1 or not exists (select from pg_stats \
         where schemaname = current_schema() and tablename = '{table}' and inherited))"
    );
    if client.query_one(&asked, &[&is_new]).await?.get(0) {
        client.batch_execute(&format!("analyze {table}")).await?;
    }
    Ok(())
}

async fn begin(client: &Client) -> Result<(), tokio_postgres::Error> {
    let text = format!(
        "begin; set local lock_timeout = {LOCK_WAIT_MS}; select pg_advisory_xact_lock({MAKING_LOCK})"
    );
    client.batch_execute(&text).await
}

async fn trouble(client: &Client, table: &str, error: &tokio_postgres::Error) -> StoreError {
    let _ = client.batch_execute("rollback").await;
    let said = describe(error);
    match error.code() {
        Some(code) if *code == SqlState::DUPLICATE_TABLE => away(format!(
            "the next part of the table {table} cannot be made: {said}, and it is no part of it. Attach it again (alter table {table} \
             attach partition), or rename it"
        )),
        _ => away(format!(
            "the next part of the table {table} could not be made, or an empty one removed: {said}"
        )),
    }
}
