//! Alerts for lists on pages, of one status or of all: a window of an index is walked through, newest or oldest first,
//! as for payments (`store::tables::payment_walk`). What a session id or a reference begins with is found by its index
//! at once. Simulated alerts are in none of them. Used by ops alone.

use super::decode;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::{Sql, statements};
use crate::store::tables::places::{Place, Window};
use crate::store::{Store, StoreError, Value};

/// Alerts read by their ids at once; the statement has as many places.
pub const IDS_MAX: usize = 50;

macro_rules! of_all {
    () => {
        "cast($1 as text) = '' and simulated_for is null"
    };
}

/// The place of the row that stands $5 behind the first one before a place.
macro_rules! end {
    ($which:expr) => {
        concat!(
            "select first_seen_at, id from alerts where ",
            $which,
            " and first_seen_at <= $2 and (first_seen_at < $2 or id < $3) and first_seen_at >= $4 \
             order by first_seen_at desc, id desc limit 1 offset $5"
        )
    };
}

macro_rules! walked {
    ($columns:expr, $which:expr) => {
        concat!(
            "select ",
            $columns,
            " from alerts where ",
            $which,
            " and first_seen_at <= $2 and (first_seen_at < $2 or id < $3) \
             and first_seen_at >= $4 and (first_seen_at > $4 or id >= $5) order by first_seen_at desc, id desc limit $6"
        )
    };
}

/// The same of one status, from the newest or from the oldest on. Its index alone has this order: told apart from the
/// time, PostgreSQL may read the alerts of every status.
macro_rules! walked_of_status {
    ($columns:expr) => {
        concat!(
            "select ",
            $columns,
            " from alerts where simulated_for is null and (status, first_seen_at) <= ($1, $2) and (first_seen_at < $2 or id < $3) \
             and (status, first_seen_at) >= ($1, $4) and (first_seen_at > $4 or id >= $5) \
             order by status desc, first_seen_at desc, id desc limit $6"
        )
    };
}
macro_rules! walked_of_oldest {
    ($columns:expr) => {
        concat!(
            "select ",
            $columns,
            " from alerts where simulated_for is null and (status, first_seen_at) >= ($1, $2) and (first_seen_at > $2 or id > $3) \
             and (status, first_seen_at) <= ($1, $4) and (first_seen_at < $4 or id <= $5) \
             order by status, first_seen_at, id limit $6"
        )
    };
}

/// What is compared with what is looked for.
macro_rules! texts {
    () => {
        "id, first_seen_at, amount_kobo, payer_name, narration, reference, session_id"
    };
}

macro_rules! by_prefix {
    ($column:literal) => {
        concat!(
            "select ",
            columns!(),
            " from alerts where simulated_for is null and ",
            $column,
            " is not null and ",
            $column,
            " >= $1 and ",
            $column,
            " < $2 order by ",
            $column,
            " limit $3"
        )
    };
}

statements! {
    ALERTS_END: query {
        "select first_seen_at, id from alerts where simulated_for is null and (status, first_seen_at) <= ($1, $2) \
         and (first_seen_at < $2 or id < $3) and (status, first_seen_at) >= ($1, $4) \
         order by status desc, first_seen_at desc, id desc limit 1 offset $5"
    }
    ALERTS_END_ALL: query { end!(of_all!()) }
    ALERTS_END_OLDEST: query {
        "select first_seen_at, id from alerts where simulated_for is null and (status, first_seen_at) >= ($1, $2) \
         and (first_seen_at > $2 or id > $3) and (status, first_seen_at) <= ($1, $4) \
         order by status, first_seen_at, id limit 1 offset $5"
    }
    ALERTS_WALK: query { walked_of_status!(columns!()) }
    ALERTS_WALK_ALL: query { walked!(columns!(), of_all!()) }
    ALERTS_WALK_OLDEST: query { walked_of_oldest!(columns!()) }
    ALERTS_TEXTS: query { walked_of_status!(texts!()) }
    ALERTS_TEXTS_ALL: query { walked!(texts!(), of_all!()) }
    ALERTS_TEXTS_OLDEST: query { walked_of_oldest!(texts!()) }
    BY_IDS: query {
        concat!("select ", columns!(), " from alerts where id in ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
         $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, \
         $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50)")
    }
    OF_TEST_MODE: query {
        concat!("select ", columns!(), " from alerts where simulated_for = $1 order by first_seen_at desc, id desc limit $2")
    }
    BY_SESSION_PREFIX: query { by_prefix!("session_id") }
    BY_REFERENCE_PREFIX: query { by_prefix!("reference") }
}

/// What of an alert is compared with what is looked for.
#[derive(Clone, Debug)]
pub struct AlertTexts {
    pub place: Place,
    pub amount: Option<Money>,
    pub payer_name: Option<String>,
    pub narration: Option<String>,
    pub reference: Option<String>,
    pub session_id: Option<String>,
}

/// Which alerts a list holds, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertOrder {
    /// `None`: of every status.
    NewestFirst(Option<AlertStatus>),
    OldestFirst(AlertStatus),
}

impl AlertOrder {
    pub fn status(self) -> Option<AlertStatus> {
        match self {
            AlertOrder::NewestFirst(status) => status,
            AlertOrder::OldestFirst(status) => Some(status),
        }
    }

    /// The statement of three, and its parameters for a window.
    fn choose(self, all: [&'static Sql; 3], window: Window, limit: usize) -> (&'static Sql, Vec<Value>) {
        let Window { from, until } = window;
        let [of_status, of_all, oldest] = all;
        let (sql, first, last) = match self {
            AlertOrder::NewestFirst(Some(_)) => (of_status, until, from),
            AlertOrder::NewestFirst(None) => (of_all, until, from),
            AlertOrder::OldestFirst(_) => (oldest, from, until),
        };
        let status = self.status().map_or("", AlertStatus::as_str);
        let limit = limit as i64;
        let params = vec![
            status.into(),
            first.at.into(),
            first.id.into(),
            last.at.into(),
            last.id.into(),
            limit.into(),
        ];
        (sql, params)
    }
}

impl Store {
    /// Where the window of `rows` alerts ends that begins after a place of the list; `None` when there are not as many.
    pub async fn alert_window_end(
        &self,
        order: AlertOrder,
        after: Place,
        rows: usize,
    ) -> Result<Option<Place>, StoreError> {
        let behind = (rows.saturating_sub(1) as i64).into();
        let status = order.status().map_or("", AlertStatus::as_str).into();
        let (at, id) = (after.at.into(), after.id.into());
        let (sql, params): (&'static Sql, Vec<Value>) = match order {
            AlertOrder::NewestFirst(Some(_)) => {
                (&ALERTS_END, vec![status, at, id, Timestamp::MIN.into(), behind])
            }
            AlertOrder::NewestFirst(None) => {
                (&ALERTS_END_ALL, vec![status, at, id, Timestamp::MIN.into(), behind])
            }
            AlertOrder::OldestFirst(_) => {
                (&ALERTS_END_OLDEST, vec![status, at, id, Timestamp::MAX.into(), behind])
            }
        };
        self.place(sql, params, ("alerts", "first_seen_at")).await
    }

    /// Alerts of a window, in the order of the list. Of the newest first `window.from` is in it and `window.until` is
    /// not; of the oldest first it is the other way round.
    pub async fn alerts_in(
        &self,
        order: AlertOrder,
        window: Window,
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let (sql, params) =
            order.choose([&ALERTS_WALK, &ALERTS_WALK_ALL, &ALERTS_WALK_OLDEST], window, limit);
        self.read(sql, params).await?.into_iter().map(decode).collect()
    }

    /// The texts of the same.
    pub async fn alert_texts_in(
        &self,
        order: AlertOrder,
        window: Window,
        limit: usize,
    ) -> Result<Vec<AlertTexts>, StoreError> {
        let (sql, params) =
            order.choose([&ALERTS_TEXTS, &ALERTS_TEXTS_ALL, &ALERTS_TEXTS_OLDEST], window, limit);
        let rows = self.read(sql, params).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("alerts");
                let (id, at) = (r.int("id")?, r.time("first_seen_at")?);
                Ok(AlertTexts {
                    place: Place { at, id },
                    amount: r.opt_money("amount_kobo")?,
                    payer_name: r.opt_text("payer_name")?,
                    narration: r.opt_text("narration")?,
                    reference: r.opt_text("reference")?,
                    session_id: r.opt_text("session_id")?,
                })
            })
            .collect()
    }

    /// What a business simulated last, newest first.
    pub async fn alerts_of_test_mode(
        &self,
        business_id: i64,
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let params = vec![business_id.into(), (limit as i64).into()];
        self.read(&OF_TEST_MODE, params).await?.into_iter().map(decode).collect()
    }

    /// Alerts by their ids, in no order.
    pub async fn alerts_by_ids(&self, ids: &[i64]) -> Result<Vec<AlertRow>, StoreError> {
        let mut found = Vec::with_capacity(ids.len());
        for some in ids.chunks(IDS_MAX) {
            let mut params: Vec<Value> = some.iter().map(|id| (*id).into()).collect();
            params.resize(IDS_MAX, 0.into());
            for row in self.read(&BY_IDS, params).await? {
                found.push(decode(row)?);
            }
        }
        Ok(found)
    }

    /// Alerts whose session id or reference begins so, of each at most `limit`.
    pub async fn alerts_by_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<AlertRow>, StoreError> {
        let behind = format!("{prefix}{}", char::MAX);
        let mut found = Vec::new();
        for sql in [&BY_SESSION_PREFIX, &BY_REFERENCE_PREFIX] {
            let params = vec![prefix.into(), behind.as_str().into(), (limit as i64).into()];
            for row in self.read(sql, params).await? {
                found.push(decode(row)?);
            }
        }
        Ok(found)
    }
}
