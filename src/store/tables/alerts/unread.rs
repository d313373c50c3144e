//! Alerts that told nothing yet, page by page in the order of first sight: their mails can be read again.
//!
//! Called by `ops`, which judges which of them may be.

use super::decode;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Store, StoreError};

/// Rows of one page.
pub const PAGE: usize = 200;

statements! {
    SINCE: query {
        concat!("select ", columns!(), " from alerts where status = $1 and first_seen_at >= $2 \
                 and (first_seen_at > $2 or id > $3) order by first_seen_at, id limit 200")
    }
}

impl Store {
    /// The next alerts of a status after the one that was first seen at `since` and has the id `after`.
    pub async fn alerts_after(
        &self,
        status: AlertStatus,
        since: Timestamp,
        after: i64,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let params = vec![status.as_str().into(), since.into(), after.into()];
        self.read(&SINCE, params).await?.into_iter().map(decode).collect()
    }
}
