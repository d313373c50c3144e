//! Triggers that keep rows as they were written, as migrations make them and as the audit looks for them.
//!
//! A database whose guards say something else than these texts has been tampered with, or was made by another release.
//! Used by `schema`, `partitions` and `audit::snapshot`.

use super::sql::Dialect;

/// Tables that a trigger guards against update and delete, as the migrations name them. Of attempts, those of
/// finished deliveries may be deleted; an event may lose its text once.
pub(in crate::store) const APPEND_ONLY: [&str; 11] = [
    "alert_keys",
    "entries",
    "postings",
    "seals",
    "sealed_entries",
    "events",
    "event_places",
    "attempts",
    "corrections",
    "operator_acts",
    "wallet_credits",
];

pub(super) fn append_only(table: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::Sqlite => {
            append_only_guards(table).map(|guard| format!("create trigger {guard};\n")).concat()
        }
        Dialect::Postgres => format!(
            "create or replace function {POSTGRES_GUARD}() returns trigger language plpgsql as \
             $${POSTGRES_GUARD_BODY}$$;\n{}",
            statement_guard(table, table, "update or delete or truncate")
        ),
    }
}

/// The guard of a table for each statement that does one of these, put on the table or on a part of it.
fn statement_guard(table: &str, on: &str, events: &str) -> String {
    format!(
        "create trigger {table}_append_only before {events} on {on} \
         for each statement execute function {POSTGRES_GUARD}();\n"
    )
}

/// The guard of a part of a table: what is done to the table itself, its own guard sees.
pub(super) fn guard_of_part(table: &str, part: &str) -> String {
    match table {
        "mails" => String::new(),
        ATTEMPTS => statement_guard(table, part, "update or truncate"),
        _ => statement_guard(table, part, "update or delete or truncate"),
    }
}

/// Attempts are deleted in time, those of a finished delivery alone; nothing else about them changes.
pub(super) fn attempts_of_open_jobs_stay(dialect: Dialect) -> String {
    match dialect {
        Dialect::Sqlite => {
            let [_, guard] = sqlite_guards(ATTEMPTS);
            format!("drop trigger {ATTEMPTS}_no_delete;\ncreate trigger {guard};\n")
        }
        Dialect::Postgres => format!(
            "drop trigger {ATTEMPTS}_append_only on {ATTEMPTS};\n{}\
             create or replace function {POSTGRES_OPEN_GUARD}() returns trigger language plpgsql as \
             $${POSTGRES_OPEN_GUARD_BODY}$$;\n\
             create trigger {ATTEMPTS}_open_stay before delete on {ATTEMPTS} \
             for each row execute function {POSTGRES_OPEN_GUARD}();\n",
            statement_guard(ATTEMPTS, ATTEMPTS, "update or truncate")
        ),
    }
}

/// Events lose their text once, each after its delivery is over; nothing else about them changes.
pub(super) fn events_are_reduced_once(dialect: Dialect) -> String {
    match dialect {
        Dialect::Sqlite => {
            let [guard, _] = sqlite_guards(EVENTS);
            format!("drop trigger {EVENTS}_no_update;\ncreate trigger {guard};\n")
        }
        Dialect::Postgres => format!(
            "drop trigger {EVENTS}_append_only on {EVENTS};\n{}\
             create or replace function {POSTGRES_REDUCE_GUARD}() returns trigger language plpgsql as \
             $${}$$;\n\
             create trigger {EVENTS}_reduced_once before update on {EVENTS} \
             for each row execute function {POSTGRES_REDUCE_GUARD}();\n",
            statement_guard(EVENTS, EVENTS, "delete or truncate"),
            postgres_reduce_guard_body()
        ),
    }
}

/// What an event may not become by an update.
const NO_REDUCTION: &str = "old.reduced_at is not null or new.reduced_at is null or new.id <> old.id \
     or new.business_id <> old.business_id or coalesce(new.payment_id, 0) <> coalesce(old.payment_id, 0) \
     or new.kind <> old.kind or new.webhook_id <> old.webhook_id or new.created_at <> old.created_at \
     or new.subject_id <> old.subject_id \
     or exists (select 1 from jobs where subject_id = old.id and kind = 'deliver' and done_at is null)";

/// The body of the function that PostgreSQL's guard of events calls.
pub(in crate::store) fn postgres_reduce_guard_body() -> String {
    format!(
        " begin if {NO_REDUCTION} then raise exception 'events are append only'; end if; return new; end "
    )
}

/// What stands behind `create trigger` for a guarded table; SQLite keeps the text as it is.
pub(in crate::store) fn sqlite_guards(table: &str) -> [String; 2] {
    let [update, delete] = append_only_guards(table);
    if table == EVENTS {
        let reduced = format!(
            "{EVENTS}_no_update before update on {EVENTS} when {NO_REDUCTION} \
             begin select raise(abort, '{EVENTS} is append only'); end"
        );
        return [reduced, delete];
    }
    if table != ATTEMPTS {
        return [update, delete];
    }
    let open = format!(
        "{ATTEMPTS}_no_delete before delete on {ATTEMPTS} \
         when exists (select 1 from jobs where id = old.job_id and done_at is null) \
         begin select raise(abort, 'attempts of open jobs stay'); end"
    );
    [update, open]
}

fn append_only_guards(table: &str) -> [String; 2] {
    ["update", "delete"].map(|verb| {
        format!(
            "{table}_no_{verb} before {verb} on {table} \
             begin select raise(abort, '{table} is append only'); end"
        )
    })
}

/// The function that PostgreSQL's guards call, and its body, kept as it is.
pub(in crate::store) const POSTGRES_GUARD: &str = "tillbell_append_only";
pub(in crate::store) const POSTGRES_GUARD_BODY: &str =
    " begin raise exception '% is append only', tg_table_name; end ";

/// The table whose rows may go once their jobs are done, and what keeps the others on PostgreSQL.
pub(in crate::store) const ATTEMPTS: &str = "attempts";
pub(in crate::store) const POSTGRES_OPEN_GUARD: &str = "tillbell_open_jobs";
pub(in crate::store) const POSTGRES_OPEN_GUARD_BODY: &str = " begin \
     if exists (select 1 from jobs where id = old.job_id and done_at is null) then \
     raise exception 'attempts of open jobs stay'; end if; return old; end ";

/// The table whose rows may lose their text, and what keeps the rest of them on PostgreSQL.
pub(in crate::store) const EVENTS: &str = "events";
pub(in crate::store) const POSTGRES_REDUCE_GUARD: &str = "tillbell_reduced_once";
