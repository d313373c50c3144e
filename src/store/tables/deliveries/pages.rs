//! Deliveries of one business for lists on pages: a window of an index is walked through, newest first, as for payments
//! (`store::tables::payment_walk`). Those that failed, and those that are paused, have indexes of their own. And how many
//! of a business are in trouble. Used by ops alone.

use super::{Delivery, DeliveryStatus};
use crate::domain::merchant::Mode;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::{Sql, statements};
use crate::store::tables::places::{Place, Window};
use crate::store::{Store, StoreError, Value};

/// Deliveries in trouble that are counted; the statements hold the same number as a literal.
pub const TROUBLE_MAX: i64 = 10_000;

macro_rules! failed {
    () => {
        "j.business_id + 0 = $1 and j.kind || '' = 'deliver' and j.outcome || '' = 'failed'"
    };
}
/// As its index says it; then which of them.
macro_rules! paused {
    () => {
        "j.business_id + 0 = $1 and j.kind || '' = 'deliver' and j.done_at is null \
         and (j.tries > 0 or j.outcome = 'paused') and j.outcome || '' = 'paused'"
    };
}

macro_rules! end {
    ($which:expr) => {
        concat!(
            "select j.created_at, j.id from jobs j where ",
            $which,
            " and j.created_at <= $2 and (j.created_at < $2 or j.id < $3) \
             order by j.created_at desc, j.id desc limit 1 offset $4"
        )
    };
}

/// What is judged row by row; an empty text asks nothing.
macro_rules! judged {
    () => {
        " and (cast($7 as text) = '' or e.kind = $7) \
         and (cast($8 as text) = '' or coalesce(j.outcome, 'waiting') = $8) \
         and (cast($9 as text) = '' or coalesce(p.mode, $9) = $9)"
    };
}

macro_rules! walked {
    ($which:expr) => {
        concat!(
            delivery!("jobs j cross join events e"),
            "where e.id = j.subject_id and ",
            $which,
            " and j.created_at <= $2 and (j.created_at < $2 or j.id < $3) \
             and j.created_at >= $4 and (j.created_at > $4 or j.id >= $5)",
            judged!(),
            " order by j.created_at desc, j.id desc limit $6"
        )
    };
}

statements! {
    // By whole places, so that the index over everybody's events will not do.
    DELIVERIES_END: query {
        "select created_at, id from events where (business_id, created_at, id) < ($1, $2, $3) \
         and (business_id, created_at) >= ($1, 0) order by business_id desc, created_at desc, id desc limit 1 offset $4"
    }
    DELIVERIES_END_FAILED: query { end!(failed!()) }
    DELIVERIES_END_PAUSED: query { end!(paused!()) }
    // SQLite keeps the order of a cross join.
    DELIVERIES_WALK: query {
        concat!(
            delivery!("events e cross join jobs j"),
            "where (e.business_id, e.created_at, e.id) < ($1, $2, $3) \
             and (e.business_id, e.created_at, e.id) >= ($1, $4, $5) and j.subject_id = e.id and j.kind = 'deliver'",
            judged!(),
            " order by e.business_id desc, e.created_at desc, e.id desc limit $6"
        )
    }
    DELIVERIES_WALK_FAILED: query { walked!(failed!()) }
    DELIVERIES_WALK_PAUSED: query { walked!(paused!()) }
    // After the last one that was taken.
    TO_RESEND: query {
        concat!(
            delivery!("jobs j cross join events e"),
            "where e.id = j.subject_id and ", failed!(),
            " and j.created_at >= $2 and (j.created_at > $2 or j.id > $3) and j.done_at >= $4 and ",
            resendable!(),
            " order by j.created_at, j.id limit $5"
        )
    }
    FAILED_COUNT: query {
        "select count(*) as count, min(created_at) as oldest from (select created_at from jobs \
         where business_id + 0 = $1 and kind || '' = 'deliver' and outcome || '' = 'failed' and is_test = $2 \
         order by created_at limit 10000) as failed"
    }
    FAILED_COUNT_OF_ALL: query {
        "select count(*) as count, min(created_at) as oldest from (select created_at from jobs \
         where cast($1 as bigint) = 0 and kind = 'deliver' and outcome = 'failed' and created_at >= 0 and is_test = $2 \
         order by created_at limit 10000) as failed"
    }
    IN_TROUBLE: query {
        "select coalesce(outcome, 'waiting') as state, count(*) as count, min(created_at) as oldest from (\
         select outcome, created_at from jobs where business_id + 0 = $1 and kind || '' = 'deliver' and done_at is null \
         and (tries > 0 or outcome = 'paused') and is_test = $2 order by created_at limit 10000) as troubled group by outcome"
    }
}

/// How many, at most [`TROUBLE_MAX`], and since when the oldest of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Troubled {
    pub count: i64,
    pub oldest: Option<Timestamp>,
}

/// Deliveries of a business that did not arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InTrouble {
    /// Failed for good.
    pub failed: Troubled,
    /// Failed at least once, and are tried again.
    pub retried: Troubled,
    /// Put aside, because their target answered 410.
    pub paused: Troubled,
}

/// What a list of deliveries shows; filters combine.
#[derive(Clone, Debug)]
pub struct DeliveryFilter {
    pub business_id: i64,
    pub status: Option<DeliveryStatus>,
    /// Such as `payment.approved`.
    pub event: Option<String>,
    /// Of payments of this mode; events of no payment are of both.
    pub mode: Option<Mode>,
}

impl DeliveryFilter {
    fn choose(&self, events: &'static Sql, failed: &'static Sql, paused: &'static Sql) -> &'static Sql {
        match self.status {
            Some(DeliveryStatus::Failed) => failed,
            Some(DeliveryStatus::Paused) => paused,
            _ => events,
        }
    }

    /// Where a delivery stands in this list.
    pub fn place_of(&self, delivery: &Delivery) -> Place {
        let is_by_job = matches!(self.status, Some(DeliveryStatus::Failed | DeliveryStatus::Paused));
        let id = if is_by_job { delivery.id } else { delivery.event_id };
        Place { at: delivery.created_at, id }
    }
}

impl Store {
    /// Where the window of `rows` deliveries ends that begins before a place; `None` when there are not as many.
    pub async fn delivery_window_end(
        &self,
        filter: &DeliveryFilter,
        before: Place,
        rows: usize,
    ) -> Result<Option<Place>, StoreError> {
        let sql = filter.choose(&DELIVERIES_END, &DELIVERIES_END_FAILED, &DELIVERIES_END_PAUSED);
        let behind = rows.saturating_sub(1) as i64;
        let params = vec![filter.business_id.into(), before.at.into(), before.id.into(), behind.into()];
        self.place(sql, params, ("jobs", "created_at")).await
    }

    /// Deliveries of a window that fit, newest first, with their attempts.
    pub async fn deliveries_in(
        &self,
        filter: &DeliveryFilter,
        window: Window,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        let sql = filter.choose(&DELIVERIES_WALK, &DELIVERIES_WALK_FAILED, &DELIVERIES_WALK_PAUSED);
        let mut params: Vec<Value> = vec![filter.business_id.into()];
        params.extend(window.params(limit));
        params.push(filter.event.as_deref().unwrap_or("").into());
        params.push(filter.status.map_or("", DeliveryStatus::as_str).into());
        params.push(filter.mode.map_or("", Mode::as_str).into());
        let rows = self.read(sql, params).await?;
        self.with_attempts(rows).await
    }

    /// Deliveries of a business that failed for good since a time, after a place, oldest first; those that
    /// hold no more and test events left out. Without their attempts.
    pub async fn failed_of_business(
        &self,
        business_id: i64,
        since: Timestamp,
        after: Place,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        let limit = limit as i64;
        let params = vec![business_id.into(), after.at.into(), after.id.into(), since.into(), limit.into()];
        self.read(&TO_RESEND, params).await?.into_iter().map(super::delivery).collect()
    }

    /// Deliveries of a business and mode that did not arrive.
    pub async fn deliveries_in_trouble(&self, business_id: i64, mode: Mode) -> Result<InTrouble, StoreError> {
        let failed = self.failed_count(Some(business_id), mode).await?;
        let mut all = InTrouble { failed, ..InTrouble::default() };
        for row in
            self.read(&IN_TROUBLE, vec![business_id.into(), i64::from(mode == Mode::Test).into()]).await?
        {
            let mut r = row.reader("jobs");
            let is_paused = r.text("state")? == DeliveryStatus::Paused.as_str();
            let troubled = Troubled { count: r.int("count")?, oldest: r.opt_time("oldest")? };
            *(if is_paused { &mut all.paused } else { &mut all.retried }) = troubled;
        }
        Ok(all)
    }

    /// Deliveries of a mode that failed for good and were not sent again, of one business or of all.
    pub async fn failed_count(&self, business_id: Option<i64>, mode: Mode) -> Result<Troubled, StoreError> {
        let sql: &'static Sql = if business_id.is_some() { &FAILED_COUNT } else { &FAILED_COUNT_OF_ALL };
        let params = vec![business_id.unwrap_or(0).into(), i64::from(mode == Mode::Test).into()];
        let Some(row) = self.read_one(sql, params).await? else {
            return Ok(Troubled::default());
        };
        let mut r = row.reader("jobs");
        Ok(Troubled { count: r.int("count")?, oldest: r.opt_time("oldest")? })
    }
}
