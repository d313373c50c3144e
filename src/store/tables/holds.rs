//! Holds: kinds of jobs that are not begun for now. The claim itself asks for them (`store::tables::jobs`). Used by ops.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::tables::jobs::JobKind;
use crate::store::{Step, Store, StoreError};

statements! {
    HOLD: query {
        "insert into holds (kind, reason, operator, since_at) values ($1, $2, $3, $4) on conflict (kind) do nothing"
    }
    RELEASE: query { "delete from holds where kind = $1" }
    SINCE: query { "select min(since_at) as since_at from holds" }
}

/// Holds a kind; one that is held already stays held since then.
pub fn hold(kind: JobKind, reason: &str, operator: &str, now: Timestamp) -> Step {
    Step::any(&HOLD, vec![kind.as_str().into(), reason.into(), operator.into(), now.into()])
}

pub fn release(kind: JobKind) -> Step {
    Step::any(&RELEASE, vec![kind.as_str().into()])
}

impl Store {
    /// Since when anything is held.
    pub async fn held_since(&self) -> Result<Option<Timestamp>, StoreError> {
        match self.read_one(&SINCE, Vec::new()).await? {
            Some(row) => row.reader("holds").opt_time("since_at"),
            None => Ok(None),
        }
    }
}
