//! What holds for every session of tillbell's on the server: limits, so that a stalled node does not hold row locks for
//! long, and what the plans of its statements rest on.
//!
//! A connection of its own says so itself. Behind a pooler in transaction mode nobody has a session: there they are settings of the
//! role in this database, written over the direct connection, and every connection to the pooler looks whether they hold
//! on the server's connection that it meets.

use tokio_postgres::{Client, SimpleQueryMessage};

use super::errors::{away, describe};
use crate::store::StoreError;

/// `lock_timeout` is longer than the server's search for deadlocks (1 s) and shorter than
/// `ANSWER_TIMEOUT`, so that waiting for a lock ends in an answer and not in a lost connection.
/// Every statement has its index: a planner that knows nothing yet of a young table must not read
/// all of it, and none of them is worth compiling. Each as the server writes it.
const LIMITS: [(&str, &str); 6] = [
    ("statement_timeout", "10s"),
    ("lock_timeout", "3s"),
    ("idle_in_transaction_session_timeout", "10s"),
    ("default_transaction_isolation", "read committed"),
    ("jit", "off"),
    ("enable_seqscan", "off"),
];
/// And every join has its key: a hash was made of a whole table that had had 120 rows when the plan was. A connection of a pooler's
/// that was opened before they were written does without: it costs time, and an upgrade must not need a hand on the pooler.
const JOINS: [(&str, &str); 2] = [("enable_hashjoin", "off"), ("enable_mergejoin", "off")];
/// A commit that is answered is on disk.
const DURABLE: &str = "synchronous_commit";
const NOT_DURABLE: &str = "('off', 'local')";
/// Held while the settings are written. Any number that no other program on the server uses.
const WRITING_LOCK: i64 = 0x7469_6c6c_7365_7474;

/// Says the limits for the session of this connection.
pub(super) async fn set_limits(client: &Client) -> Result<(), StoreError> {
    let mut text: String =
        LIMITS.iter().chain(&JOINS).map(|(name, value)| format!("set {name} = '{value}'; ")).collect();
    text += &format!(
        "select set_config('{DURABLE}', 'on', false) where current_setting('{DURABLE}') in {NOT_DURABLE}"
    );
    client.batch_execute(&text).await.map_err(|error| away(describe(&error)))
}

/// Whether the server's connection that a pooler hands out has them.
pub(super) async fn check_limits(client: &Client) -> Result<(), StoreError> {
    let each = LIMITS.map(|(name, value)| {
        format!("select '{name}' as name where current_setting('{name}') <> '{value}' union all ")
    });
    let text =
        format!("{}select '{DURABLE}' where current_setting('{DURABLE}') in {NOT_DURABLE}", each.concat());
    let said = client.simple_query(&text).await.map_err(|error| away(describe(&error)))?;
    let missing: Vec<&str> = said.iter().filter_map(first_column).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(away(format!(
        "the pooler of database.url hands out a connection without tillbell's settings of its role ({}). It was opened before they \
         were written, or as another user: run RECONNECT on the pooler's console and start again",
        missing.join(", ")
    )))
}

/// The statement that writes the limits as settings of the role in this database, where one is missing. Nodes that start at
/// the same moment run it one after another.
pub(super) fn settings_of_role() -> String {
    let all = || LIMITS.iter().chain(&JOINS);
    let each = all().map(|(name, value)| {
        format!("execute format('alter role %I in database %I set {name} = %L', current_user, current_database(), '{value}');\n")
    });
    // What a session of ours said before does not count. Written where something is missing, for every command comes by.
    let wanted: Vec<String> = all().map(|(name, value)| format!("'{name}={value}'")).collect();
    let wanted = wanted.join(", ");
    format!(
        "do $$ begin\nperform pg_advisory_xact_lock({WRITING_LOCK});\n\
         if not exists (select from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase \
           where d.datname = current_database() and s.setrole = current_user::regrole and s.setconfig @> array[{wanted}]) then\n\
         {}end if;\n\
         if (select reset_val in {NOT_DURABLE} from pg_settings where name = '{DURABLE}') then\n\
         execute format('alter role %I in database %I set {DURABLE} = on', current_user, current_database());\n\
         end if;\nend $$",
        each.collect::<String>()
    )
}

/// Of a row that was asked for as text.
pub(super) fn first_column(message: &SimpleQueryMessage) -> Option<&str> {
    match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    }
}
