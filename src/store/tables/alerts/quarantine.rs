//! Quarantined alerts of one sender, for a person who clears them away. Used by `ops::alerts::dismiss`.
//!
//! Those that a job still asks a key for are not among them: they may turn out to be the bank's own.

use super::decode;
use crate::domain::alert::AlertRow;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Store, StoreError};

macro_rules! from_sender {
    ($select:expr, $waits:literal, $rest:literal) => {
        concat!(
            "select ",
            $select,
            " from alerts where status = 'quarantined' and simulated_for is null and mail_from = $1 and ",
            $waits,
            " (select 1 from jobs j where j.subject_id = alerts.id and j.kind = 'verify' and j.done_at is null)",
            $rest
        )
    };
}

statements! {
    QUARANTINED_FROM: query {
        from_sender!(columns!(), "first_seen_at >= $2 and (first_seen_at > $2 or id > $3) and not exists",
            " order by first_seen_at, id limit $4")
    }
    ASKED_FROM: query {
        concat!("select count(*) from (", from_sender!("1", "exists", " limit $2"), ") as asked")
    }
}

impl Store {
    /// Quarantined alerts of a sender whose proof is not asked for any more, after a place, oldest first.
    pub async fn quarantined_from(
        &self,
        sender: &str,
        after: (Timestamp, i64),
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let params = vec![sender.into(), after.0.into(), after.1.into(), (limit as i64).into()];
        self.read(&QUARANTINED_FROM, params).await?.into_iter().map(decode).collect()
    }

    /// Quarantined alerts of a sender whose proof is still asked for, counted up to `limit`.
    pub async fn asked_from(&self, sender: &str, limit: i64) -> Result<i64, StoreError> {
        let row = self.read_one(&ASKED_FROM, vec![sender.into(), limit.into()]).await?;
        row.map_or(Ok(0), |row| row.single_int("alerts"))
    }
}
