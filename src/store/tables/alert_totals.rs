//! What waits for a person or a payment: counts, money and age of alerts by status.
//!
//! Read by every node every few seconds, so each status costs no more than its oldest [`COUNTED_MAX`] alerts,
//! out of an index that holds all that is asked. Used by ops, by the gauges and by the command line.

use crate::domain::alert::AlertStatus;
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Store, StoreError};

/// Alerts of one status that are counted; more are shown as that many. The statement holds the same
/// number as a literal, by which PostgreSQL plans.
pub const COUNTED_MAX: i64 = 100_000;

macro_rules! total {
    ($status:literal) => {
        concat!(
            "select ",
            $status,
            " as status, count(*) as count, cast(coalesce(sum(amount_kobo), 0) as bigint) as amount, \
             min(first_seen_at) as oldest from (select amount_kobo, first_seen_at from alerts where status = ",
            $status,
            " and simulated_for is null order by first_seen_at limit 100000) as oldest"
        )
    };
}

statements! {
    IN_REVIEW: query {
        "select count(*) as count from (select 1 as one from alerts where status = 'review' and simulated_for is null order by first_seen_at \
         limit 1000) as waiting"
    }
    TOTALS: query {
        concat!(
            total!("'new'"), " union all ", total!("'review'"), " union all ", total!("'unmatched'"), " union all ",
            total!("'quarantined'"), " union all ", total!("'unreadable'")
        )
    }
}

/// Alerts in review that the navigation counts; the statement holds the same number as a literal.
pub const NAVIGATION_MAX: i64 = 1_000;

/// One status with its count, the kobo it holds and its oldest alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertTotal {
    pub status: AlertStatus,
    /// At most [`COUNTED_MAX`].
    pub count: i64,
    /// Of as many.
    pub amount: Money,
    pub oldest: Timestamp,
}

impl Store {
    /// How many alerts wait in review, at most [`NAVIGATION_MAX`]: cheap enough for every page.
    pub async fn alerts_in_review(&self) -> Result<i64, StoreError> {
        match self.read_one(&IN_REVIEW, Vec::new()).await? {
            Some(row) => row.reader("alerts").int("count"),
            None => Ok(0),
        }
    }

    /// By status, those of which there is no alert left out.
    pub async fn alert_totals(&self) -> Result<Vec<AlertTotal>, StoreError> {
        let mut totals = Vec::new();
        for row in self.read(&TOTALS, Vec::new()).await? {
            let mut r = row.reader("alerts");
            let status = r.word("status", AlertStatus::parse)?;
            let (count, amount) = (r.int("count")?, r.money("amount")?);
            if let Some(oldest) = r.opt_time("oldest")? {
                totals.push(AlertTotal { status, count, amount, oldest });
            }
        }
        Ok(totals)
    }
}
