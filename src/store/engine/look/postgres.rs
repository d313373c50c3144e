//! Looking at a PostgreSQL database: whether it is there, whose tables it holds, how far they came.
//!
//! On a connection of its own, which ends with the look. Called by `look`.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config};
use tokio_util::task::AbortOnDropHandle;

use super::{Found, Schema};
use crate::store::StoreError;
use crate::store::engine::postgres::{CONNECT_TIMEOUT, away, configure, describe, refusal};
use crate::store::engine::tls;

pub(super) fn place(url: &str) -> String {
    match configure(url) {
        Ok(config) => {
            let user = refusal::user(&config);
            format!("{} on {} as user {user}", refusal::database(&config), refusal::server(&config))
        }
        Err(_) => "that database.url names".to_owned(),
    }
}

pub(super) async fn look(url: &str) -> Result<Found, StoreError> {
    let config = configure(url)?;
    let look = async {
        let connector = tls::connector()?;
        let (client, connection) = match config.connect(connector).await {
            Ok(both) => both,
            Err(error) if error.code() == Some(&SqlState::INVALID_CATALOG_NAME) => return Ok(Found::Nothing),
            Err(error) => return Err(refusal::in_words(&config, &error)),
        };
        // What a broken connection has to say is heard by the question under way.
        let _carrier = AbortOnDropHandle::new(tokio::spawn(async move { drop(connection.await) }));
        read(&client, &config).await
    };
    let late = || away(format!("no response from {} within 3 s", refusal::server(&config)));
    tokio::time::timeout(CONNECT_TIMEOUT, look).await.map_err(|_| late())?
}

/// The schema in which tables would be made, whether a history is there, and whether it is ours: other programs
/// keep one of that name as well.
const HISTORY: &str = "select current_schema()::text, to_regclass('schema_migrations') is not null, \
     (select count(*) from pg_attribute where attrelid = to_regclass('schema_migrations') \
         and attname in ('name', 'checksum')) = 2, to_regclass('key_checks') is not null";

async fn read(client: &Client, config: &Config) -> Result<Found, StoreError> {
    let trouble = |error: tokio_postgres::Error| away(describe(&error));
    let row = client.query_one(HISTORY, &[]).await.map_err(trouble)?;
    if row.get::<_, Option<String>>(0).is_none() {
        return Err(StoreError::Denied(format!(
            "the PostgreSQL user {user} has no access to any schema of the database {database}; as its owner run: \
             grant usage, create on schema public to {quoted}",
            user = refusal::user(config),
            database = refusal::database(config),
            quoted = refusal::quoted(&refusal::user(config))
        )));
    }
    match (row.get(1), row.get(2)) {
        (false, _) => return Ok(Found::Empty),
        (true, false) => {
            let why = "it contains a table schema_migrations of another program";
            return Ok(Found::Foreign(why.into()));
        }
        (true, true) => {}
    }
    let rows = match client.query("select name from schema_migrations", &[]).await {
        Ok(rows) => rows,
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            return Err(refusal::of_tables(client, &error).await);
        }
        Err(error) => return Err(trouble(error)),
    };
    let ran: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let mut has_key = false;
    if row.get(3) {
        let found = client.query_opt("select 1 from key_checks limit 1", &[]).await;
        has_key = found.map_err(trouble)?.is_some();
    }
    Ok(Found::Ours(Schema::of(&ran, has_key)))
}
