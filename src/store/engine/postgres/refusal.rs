//! What a server that refuses us means, in words that say what to do.
//!
//! Told at the start of a program and by migrations. What a running service hears of its server is weather and
//! told by `connection`.

use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error};

use super::{away, describe};
use crate::store::StoreError;

/// Hosts and ports, for people.
pub(in crate::store) fn server(config: &Config) -> String {
    let ports = config.get_ports();
    let port = |n: usize| ports.get(n).or(ports.first()).copied().unwrap_or(5432);
    let hosts = config.get_hosts().iter().enumerate().map(|(n, host)| match host {
        Host::Tcp(name) => format!("{name}:{}", port(n)),
        #[cfg(unix)]
        Host::Unix(path) => format!("{}, port {}", path.display(), port(n)),
    });
    hosts.collect::<Vec<_>>().join(", ")
}

/// The user that the URL names; without one it is the system's user of this process.
pub(in crate::store) fn user(config: &Config) -> String {
    config.get_user().map_or_else(|| "of this system".to_owned(), str::to_owned)
}

pub(in crate::store) fn database(config: &Config) -> String {
    config.get_dbname().map_or_else(|| user(config), str::to_owned)
}

/// A name as it stands in a statement.
pub(in crate::store) fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Why there is no connection.
pub(in crate::store) fn in_words(config: &Config, error: &Error) -> StoreError {
    let (server, user, database) = (server(config), user(config), database(config));
    let said = describe(error);
    match error.code() {
        Some(code)
            if *code == SqlState::INVALID_PASSWORD
                || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION =>
        {
            StoreError::Denied(format!(
                "PostgreSQL on {server} refuses the user {user}: {said}; check user and password in database.url, \
                 and the server's pg_hba.conf"
            ))
        }
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => StoreError::Denied(format!(
            "PostgreSQL on {server} does not let the user {user} into the database {database}: {said}; as its owner \
             run: grant connect on database {} to {}",
            quoted(&database),
            quoted(&user)
        )),
        // The driver's own words, before anything was sent.
        None if said.ends_with("password missing") => StoreError::Denied(format!(
            "PostgreSQL on {server} asks for the password of user {user}, but database.url has none"
        )),
        None if is_unreachable(error) => away(format!(
            "{server}: {said}; is the server running, and is this the address that it listens on?"
        )),
        _ => away(format!("{server}: {said}")),
    }
}

/// Nobody answers at that address, or there is none of that name.
fn is_unreachable(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>())
}

/// Who we are, where tables would be made, what we may do there, and whose the tables there are.
const RIGHTS: &str = "select current_user::text, current_database()::text, current_schema()::text, \
     has_database_privilege(current_database(), 'create'), \
     coalesce(has_schema_privilege(current_schema(), 'create'), false), t.tableowner::text, \
     coalesce(pg_has_role(t.tableowner, 'usage'), true) \
     from (select) one left join pg_tables t on t.schemaname = current_schema() and t.tablename = 'schema_migrations'";

/// What a refused migration lacks, all of it at once; `None` where the error is of another kind.
pub(in crate::store) async fn of_migration(client: &Client, error: &Error) -> Option<StoreError> {
    let code = error.code()?;
    let said = describe(error);
    if *code == SqlState::DUPLICATE_TABLE {
        return Some(StoreError::Occupied(format!(
            "the database has a table of another program: {said}; give tillbell a database of its own"
        )));
    }
    if *code != SqlState::INSUFFICIENT_PRIVILEGE && *code != SqlState::INVALID_SCHEMA_NAME {
        return None;
    }
    let row = client.query_one(RIGHTS, &[]).await.ok()?;
    let (user, database): (String, String) = (row.get(0), row.get(1));
    let (schema, owner): (Option<String>, Option<String>) = (row.get(2), row.get(5));
    let role = quoted(&user);
    let mut grants = Vec::new();
    match schema {
        None => grants.push(format!("grant usage, create on schema public to {role};")),
        Some(schema) if !row.get::<_, bool>(4) => {
            grants.push(format!("grant create on schema {} to {role};", quoted(&schema)));
        }
        Some(_) => {}
    }
    if !row.get::<_, bool>(3) {
        grants.push(format!("grant create on database {} to {role};", quoted(&database)));
    }
    if let Some(owner) = owner.filter(|_| !row.get::<_, bool>(6)) {
        grants.push(format!("grant {} to {role};", quoted(&owner)));
    }
    let advice = match grants.is_empty() {
        true => String::new(),
        false => format!("; as the database's owner run: {}", grants.join(" ")),
    };
    Some(StoreError::Denied(format!(
        "the PostgreSQL user {user} may not create tillbell's tables in the database {database}: \
         {said}{advice}"
    )))
}

/// Tables are there, and we may not read them.
pub(in crate::store) async fn of_tables(client: &Client, error: &Error) -> StoreError {
    let said = describe(error);
    let Ok(row) = client.query_one(RIGHTS, &[]).await else { return away(said) };
    let user: String = row.get(0);
    let owner = row.get::<_, Option<String>>(5).unwrap_or_default();
    StoreError::Denied(format!(
        "the PostgreSQL user {user} may not read tillbell's tables: {said}; they belong to {owner}: use that \
         user in database.url, or run: grant {} to {};",
        quoted(&owner),
        quoted(&user)
    ))
}
