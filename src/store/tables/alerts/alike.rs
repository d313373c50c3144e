//! Alerts that may tell of the same transfer as another one: by session id and by reference over all time,
//! each through an index of its own, and by account, amount and time.
//!
//! Only what the bank or a person vouches for is found: forged mails must not crowd out genuine ones. Called
//! by `ops`, which judges what is found.

use futures_util::future::try_join_all;

use super::decode;
use crate::domain::alert::AlertRow;
use crate::domain::money::Money;
use crate::domain::time::{Span, Timestamp};
use crate::store::engine::sql::{Sql, statements};
use crate::store::{Store, StoreError, Value};

/// A bank's time that shows the minute is less than this wide; TIMED and WIDE tell it in microseconds.
const MINUTE: Span = Span::minutes(1);
/// No bank's time is a longer interval than a day, and some slack.
const INTERVAL_MAX: Span = Span::hours(26);

/// What is vouched for. Copies tell nothing new, and would fill the reads. Simulated alerts are found for those of their
/// own business alone, and real ones for real ones.
macro_rules! vouched {
    ($realm:literal) => {
        concat!(
            " and (authenticity in ('proven', 'trusted', 'simulated') or status in ('matched', 'reversed')) \
             and status <> 'duplicate' and coalesce(simulated_for, 0) = ",
            $realm
        )
    };
}

macro_rules! told {
    ($on_account:literal, $when:expr, $realm:literal, $last:literal) => {
        concat!(
            "select ",
            columns!(),
            " from alerts where ",
            $on_account,
            " and amount_kobo = $2",
            $when,
            vouched!($realm),
            $last
        )
    };
}

macro_rules! here {
    ($when:expr, $realm:literal, $last:literal) => {
        told!("account_id = $1", $when, $realm, $last)
    };
}

/// Alerts that name no account.
macro_rules! nowhere {
    ($when:expr, $realm:literal, $last:literal) => {
        told!("account_id is null and cast($1 as bigint) = 0", $when, $realm, $last)
    };
}

/// Those whose bank's time is shown, is so wide, and may overlap another one: between `$7` and `$8` in the layout of a
/// bank that is named, and in all others as far as the slack of their clocks reaches.
macro_rules! timed {
    ($on_account:ident, $width:literal, $which:literal) => {
        $on_account!(
            concat!(
                " and bank_time_begin_at >= $3 and bank_time_begin_at <= $4 and bank_time_end_at >= $5 \
                 and bank_time_precision <> 'none' and bank_time_end_at ",
                $width,
                " bank_time_begin_at + 60000000 and (bank_time_begin_at <= $8 and bank_time_end_at >= $7 \
                 or template is null or template <> $10 or bank is null or bank <> $9)",
                $which
            ),
            "$11",
            " order by bank_time_begin_at desc limit $6"
        )
    };
}

/// Of them, all but the credits that show a session id. Of a popular price there are very many of those: they
/// have no place in the index of these.
macro_rules! without_session {
    ($on_account:ident, $width:literal) => {
        timed!(
            $on_account,
            $width,
            " and (session_id is null or direction is null or direction <> 'credit' or kind = 'reversal')"
        )
    };
}

/// Of those credits, the ones that another layout tells: there a payer may have typed the session id.
macro_rules! of_other_layouts {
    ($on_account:ident, $width:literal) => {
        timed!(
            $on_account,
            $width,
            " and session_id is not null and (template is null or template <> $10 or bank is null or bank <> $9)"
        )
    };
}

/// Those that no bank's time keeps apart: debits, reversals, credits told as lost, and alerts without a time.
macro_rules! timeless {
    ($on_account:ident) => {
        $on_account!(
            " and first_seen_at >= $3 and first_seen_at <= $4 \
             and (direction = 'debit' or kind = 'reversal' or bank_time_precision = 'none' or is_told_as_lost = 1)",
            "$6",
            " order by first_seen_at desc limit $5"
        )
    };
}

macro_rules! seen {
    ($on_account:ident) => {
        $on_account!(
            " and first_seen_at >= $3 and first_seen_at <= $4",
            "$6",
            " order by first_seen_at desc limit $5"
        )
    };
}

statements! {
    BY_SESSION: query {
        concat!("select ", columns!(), " from alerts where session_id = $1", vouched!("$3"),
                " order by first_seen_at desc limit $2")
    }
    BY_SESSION_OLDEST: query {
        concat!("select ", columns!(), " from alerts where session_id = $1", vouched!("$3"),
                " order by first_seen_at limit $2")
    }
    BY_SESSION_DEBITS: query {
        concat!("select ", columns!(), " from alerts where session_id = $1 and direction = 'debit'", vouched!("$3"),
                " order by first_seen_at desc limit $2")
    }
    BY_SESSION_OF_AMOUNT: query {
        concat!("select ", columns!(), " from alerts where session_id = $1 and amount_kobo + 0 = $3", vouched!("$4"),
                " order by first_seen_at desc limit $2")
    }
    ALL_BY_SESSION: query {
        concat!("select ", columns!(), " from alerts where session_id = $1 order by first_seen_at limit $2")
    }
    BY_REFERENCE: query {
        concat!("select ", columns!(), " from alerts where reference = $1 and bank = $2", vouched!("$4"),
                " order by first_seen_at desc limit $3")
    }
    TIMED: query { timed!(here, "<", "") }
    TIMED_NOWHERE: query { timed!(nowhere, "<", "") }
    WIDE: query { timed!(here, ">=", "") }
    WIDE_NOWHERE: query { timed!(nowhere, ">=", "") }
    TIMED_WITHOUT: query { without_session!(here, "<") }
    TIMED_WITHOUT_NOWHERE: query { without_session!(nowhere, "<") }
    WIDE_WITHOUT: query { without_session!(here, ">=") }
    WIDE_WITHOUT_NOWHERE: query { without_session!(nowhere, ">=") }
    TIMED_ELSEWHERE: query { of_other_layouts!(here, "<") }
    TIMED_ELSEWHERE_NOWHERE: query { of_other_layouts!(nowhere, "<") }
    WIDE_ELSEWHERE: query { of_other_layouts!(here, ">=") }
    WIDE_ELSEWHERE_NOWHERE: query { of_other_layouts!(nowhere, ">=") }
    TIMELESS: query { timeless!(here) }
    TIMELESS_NOWHERE: query { timeless!(nowhere) }
    SEEN_HERE: query { seen!(here) }
    SEEN_NOWHERE: query { seen!(nowhere) }
    FORWARDED: query {
        concat!("select ", columns!(), " from alerts where amount_kobo = $1 and first_seen_at between $2 and $3 \
                 and authenticity = 'forwarded' and status in ('matched', 'reversed') order by first_seen_at desc limit $4")
    }
    WAITING_FOR_A_KEY: query {
        "select a.account_id, a.bank, min(a.first_seen_at) as oldest from alerts a join \
         (select subject_id from jobs where kind = 'verify' and done_at is null and tries = 0 union all \
          select subject_id from jobs where kind = 'verify' and done_at is null and tries > 0) j \
         on j.subject_id = a.id where a.status = 'quarantined' and a.first_seen_at >= $1 \
         and (a.direction is null or a.direction <> 'debit') group by a.account_id, a.bank limit $2"
    }
}

/// Among which alerts is looked: those that a business simulated, or (`None`) those that came from outside.
pub type Realm = Option<i64>;

fn realm_value(realm: Realm) -> Value {
    realm.unwrap_or(0).into()
}

/// A bank's time to be compared with others.
#[derive(Clone, Copy, Debug)]
pub struct When<'a> {
    /// Begin and end as the bank shows them.
    pub time: (Timestamp, Timestamp),
    /// How far the clocks of other layouts than this one may be off.
    pub slack: Span,
    pub bank: Option<&'a str>,
    pub template: Option<&'a str>,
}

/// Mails of one account that wait for a key of the bank's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingMails {
    /// The account that they name; `None`: not one of ours that could be told.
    pub account_id: Option<i64>,
    pub bank: Option<String>,
    pub oldest: Timestamp,
}

impl Store {
    /// Alerts with this session id, newest first. Where there are more than `limit`, the oldest, the debits and those of
    /// the amount are read by themselves and follow: whoever types another's session id into small transfers hides
    /// none of them.
    pub async fn alerts_by_session(
        &self,
        realm: Realm,
        session_id: &str,
        amount: Option<Money>,
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let params = || vec![session_id.into(), (limit as i64).into(), realm_value(realm)];
        let mut found: Vec<AlertRow> =
            self.read(&BY_SESSION, params()).await?.into_iter().map(decode).collect::<Result<_, _>>()?;
        if found.len() < limit {
            return Ok(found);
        }
        let (oldest, debits) = tokio::try_join!(
            self.read(&BY_SESSION_OLDEST, params()),
            self.read(&BY_SESSION_DEBITS, params())
        )?;
        let mut more: Vec<AlertRow> =
            oldest.into_iter().chain(debits).map(decode).collect::<Result<_, _>>()?;
        if let Some(amount) = amount {
            more.extend(self.alerts_by_session_of(realm, session_id, amount, limit).await?);
        }
        for one in more {
            if found.iter().all(|known| known.id != one.id) {
                found.push(one);
            }
        }
        Ok(found)
    }

    /// All alerts that show a session id, forged ones and copies included; oldest first.
    pub async fn all_by_session(&self, session: &str, limit: usize) -> Result<Vec<AlertRow>, StoreError> {
        let params = vec![session.into(), (limit as i64).into()];
        self.read(&ALL_BY_SESSION, params).await?.into_iter().map(decode).collect()
    }

    /// Those of one amount, newest first.
    pub async fn alerts_by_session_of(
        &self,
        realm: Realm,
        session_id: &str,
        amount: Money,
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let params = vec![session_id.into(), (limit as i64).into(), amount.into(), realm_value(realm)];
        self.read(&BY_SESSION_OF_AMOUNT, params).await?.into_iter().map(decode).collect()
    }

    /// Alerts of a bank with this reference, newest first.
    pub async fn alerts_by_reference(
        &self,
        realm: Realm,
        bank: &str,
        reference: &str,
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let params = vec![reference.into(), bank.into(), (limit as i64).into(), realm_value(realm)];
        self.read(&BY_REFERENCE, params).await?.into_iter().map(decode).collect()
    }

    /// Alerts of one account (`None`: that name none) and amount whose bank's time is shown and overlaps
    /// `when`, whenever they were seen; newest first, first those that show the minute. `credits_with_session`:
    /// without it, of the credits that show a session id only those of other layouts; the others are found by that id.
    pub async fn alerts_at(
        &self,
        (realm, account_id): (Realm, Option<i64>),
        amount: Money,
        when: &When<'_>,
        credits_with_session: bool,
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let reads: &[(&'static Sql, Span)] = match (account_id, credits_with_session) {
            (Some(_), true) => &[(&TIMED, MINUTE), (&WIDE, INTERVAL_MAX)],
            (None, true) => &[(&TIMED_NOWHERE, MINUTE), (&WIDE_NOWHERE, INTERVAL_MAX)],
            (Some(_), false) => &[
                (&TIMED_WITHOUT, MINUTE),
                (&TIMED_ELSEWHERE, MINUTE),
                (&WIDE_WITHOUT, INTERVAL_MAX),
                (&WIDE_ELSEWHERE, INTERVAL_MAX),
            ],
            (None, false) => &[
                (&TIMED_WITHOUT_NOWHERE, MINUTE),
                (&TIMED_ELSEWHERE_NOWHERE, MINUTE),
                (&WIDE_WITHOUT_NOWHERE, INTERVAL_MAX),
                (&WIDE_ELSEWHERE_NOWHERE, INTERVAL_MAX),
            ],
        };
        let (begin, end) = when.time;
        let params = |width: Span| -> Vec<Value> {
            vec![
                account_id.unwrap_or(0).into(),
                amount.into(),
                (begin - when.slack - width).into(),
                (end + when.slack).into(),
                (begin - when.slack).into(),
                (limit as i64).into(),
                begin.into(),
                end.into(),
                when.bank.unwrap_or_default().into(),
                when.template.unwrap_or_default().into(),
                realm_value(realm),
            ]
        };
        let mut found: Vec<AlertRow> = Vec::new();
        for rows in try_join_all(reads.iter().map(|(sql, width)| self.read(sql, params(*width)))).await? {
            for row in rows {
                // A debit that shows a session id is in two of these readings.
                let one = decode(row)?;
                if found.iter().all(|known| known.id != one.id) {
                    found.push(one);
                }
            }
        }
        Ok(found)
    }

    /// The debits, the reversals, the credits that are told as lost, and the alerts without a time, of one account (`None`: that name none) and
    /// amount, first seen between two times; newest first.
    pub async fn timeless_alerts(
        &self,
        place: (Realm, Option<i64>),
        amount: Money,
        seen: (Timestamp, Timestamp),
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let sql = if place.1.is_some() { &TIMELESS } else { &TIMELESS_NOWHERE };
        self.alerts_by(sql, place, amount, seen, limit).await
    }

    /// All alerts of one account (`None`: that name none) and amount, first seen between two times; newest first.
    pub async fn alerts_seen(
        &self,
        place: (Realm, Option<i64>),
        amount: Money,
        seen: (Timestamp, Timestamp),
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let sql = if place.1.is_some() { &SEEN_HERE } else { &SEEN_NOWHERE };
        self.alerts_by(sql, place, amount, seen, limit).await
    }

    /// Alerts of this amount that a person forwarded and a person approved, whatever account they show, newest first.
    pub async fn forwarded_and_paid(
        &self,
        amount: Money,
        seen: (Timestamp, Timestamp),
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let params = vec![amount.into(), seen.0.into(), seen.1.into(), (limit as i64).into()];
        self.read(&FORWARDED, params).await?.into_iter().map(decode).collect()
    }

    async fn alerts_by(
        &self,
        sql: &'static Sql,
        (realm, account_id): (Realm, Option<i64>),
        amount: Money,
        seen: (Timestamp, Timestamp),
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let params = vec![
            account_id.unwrap_or(0).into(),
            amount.into(),
            seen.0.into(),
            seen.1.into(),
            (limit as i64).into(),
            realm_value(realm),
        ];
        self.read(sql, params).await?.into_iter().map(decode).collect()
    }

    /// Mails first seen since then that wait for a key of the bank's, by the account that they name; debits
    /// are nobody's payment and not among them.
    pub async fn mails_waiting_for_a_key(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<WaitingMails>, StoreError> {
        let rows = self.read(&WAITING_FOR_A_KEY, vec![since.into(), (limit as i64).into()]).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("alerts");
                Ok(WaitingMails {
                    account_id: r.opt_int("account_id")?,
                    bank: r.opt_text("bank")?,
                    oldest: r.time("oldest")?,
                })
            })
            .collect()
    }
}
