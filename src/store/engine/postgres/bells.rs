//! How nodes on one PostgreSQL database tell one another that there is something new: LISTEN and NOTIFY on a connection of their
//! own. It says nothing but "look": whoever misses a ring finds the same a second later by looking
//! anyway. Nothing is heard through a pooler in transaction mode, so this connection goes past it.
//!
//! A NOTIFY takes a place in a queue of the whole server, so the caller rings seldom; and it waits for no disk.

use super::connection::{Connection, Target, within};
use crate::store::StoreError;

/// Both names are of this program alone; the database's schema is not asked, for one database holds one installation.
const LISTEN: &str = "set synchronous_commit = off; listen tillbell_commits";
const NOTIFY: &str = "notify tillbell_commits";

/// A connection that hears of the commits of other nodes and tells them of ours.
pub struct Bells {
    connection: Connection,
}

impl Bells {
    pub(in crate::store) async fn open(direct: &Target) -> Result<Bells, StoreError> {
        let connection = Connection::open(direct).await?;
        within(connection.client.batch_execute(LISTEN)).await?;
        Ok(Bells { connection })
    }

    /// Tells all other nodes.
    pub async fn ring(&self) -> Result<(), StoreError> {
        within(self.connection.client.batch_execute(NOTIFY)).await
    }

    /// Returns when another node rang, or when this one did: nobody can tell them apart, and to look once more costs little.
    pub async fn heard(&self) {
        self.connection.rung().await;
    }

    pub fn is_closed(&self) -> bool {
        self.connection.client.is_closed()
    }
}
