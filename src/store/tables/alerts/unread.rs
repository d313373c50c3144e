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
    OF_MAIL: query { "select alert_id from mails where digest = $1 order by alert_id limit $2" }
    SINCE: query {
        concat!("select ", columns!(), " from alerts where status = $1 and simulated_for is null and first_seen_at >= $2 \
                 and (first_seen_at > $2 or id > $3) order by first_seen_at, id limit 200")
    }
}

impl Store {
    /// Alerts whose mails have these bytes, the first of them.
    pub async fn alerts_of_mail(&self, digest: &[u8; 32], limit: usize) -> Result<Vec<i64>, StoreError> {
        let rows = self.read(&OF_MAIL, vec![digest.to_vec().into(), (limit as i64).into()]).await?;
        rows.into_iter().map(|row| row.single_int("mails")).collect()
    }

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
