//! What a node does before it goes through a pooler in transaction mode: it sees to the settings of its role, and that pooler
//! and server lead to one database.

use super::CONNECT_TIMEOUT;
use super::connection::{Connection, Target, within};
use super::errors::away;
use super::session::{self, first_column};
use crate::store::StoreError;

/// Makes the limits those of the role in the server's database, and checks that the pooler leads to the same one.
pub(super) async fn prepare(direct: &Target, pooler: &Target) -> Result<(), StoreError> {
    let connection = Connection::open(direct).await?;
    // First, for the pooler keeps the server's connection that the look makes it open.
    within(connection.client.batch_execute(&session::settings_of_role())).await?;
    let look = Connection::without_limits(pooler);
    let pooled =
        tokio::time::timeout(CONNECT_TIMEOUT, look).await.map_err(|_| away("no connection within 3 s"))??;
    let (here, there) = (place(&connection).await?, place(&pooled).await?);
    if here != there {
        return Err(StoreError::Denied(format!(
            "database.direct_url leads to {here}, and database.url to {there}: both must lead to one database on one \
             server, as one user"
        )));
    }
    Ok(())
}

/// Which database of which server, in words; no two servers began at the same microsecond.
async fn place(connection: &Connection) -> Result<String, StoreError> {
    const PLACE: &str = "select format('the database %s of the server that was started at %s, as user %s', \
         current_database(), pg_postmaster_start_time() at time zone 'UTC', current_user)";
    let said = within(connection.client.simple_query(PLACE)).await?;
    let place = said.iter().find_map(first_column).unwrap_or_default();
    Ok(place.to_owned())
}
