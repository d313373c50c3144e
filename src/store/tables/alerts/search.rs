//! Alerts that an operator looks for, by when they were first seen, and those whose money may have been taken back.
//!
//! A search reads one slice of time after another, newest first, and its filters are judged row by row, as for payments
//! (`store::tables::payment_search`). Used by ops alone.

use super::decode;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Store, StoreError, Value};

/// Alerts first seen from $2 until before $3 that fit the filters, newest first. An empty text, or an amount of -1,
/// asks nothing. Of an account those that may be about it: a mask is read outside.
macro_rules! found {
    ($which:expr) => {
        concat!(
            "select ",
            columns!(),
            " from alerts where ",
            $which,
            " and first_seen_at >= $2 and first_seen_at < $3 \
             and (cast($4 as bigint) = -1 or amount_kobo = $4) and (cast($5 as text) = '' or bank = $5) \
             and (cast($6 as text) = '' or account_id is null or account_shown = $6 or virtual_account = $6 \
                  or account_id in (select r.id from receiving_accounts r where r.number = $6)) \
             order by first_seen_at desc, id desc limit $7"
        )
    };
}

/// Those of a credit's alarms with which nobody has dealt, `$what` of them: a debit or reversal that was not dismissed
/// and has undone no payment, or a mail of a changed state that waits for a person; and no person approved the credit
/// in spite of it. A program of before noted the newest as the credit's link alone.
macro_rules! open_alarms {
    ($what:literal) => {
        concat!(
            "(select ",
            $what,
            " from (select p.undoing_id as id, 1 as told from alert_alarms p where p.credit_id = alerts.id \
                    union all select alerts.linked_alert_id, 0) w join alerts u on u.id = w.id \
             where (u.status in ('ignored', 'unreadable') and (u.direction || '' = 'debit' or u.kind || '' = 'reversal') \
                    or w.told = 1 and u.status = 'review') \
             and not exists (select 1 from settlements d where d.undoing_alert_id = u.id) \
             and not exists (select 1 from settlements s where s.id = alerts.settlement_id \
                             and s.operator is not null and s.settled_at >= u.decided_at))"
        )
    };
}

/// A credit that paid something and has an open alarm; also one that another debit has undone since, for the first has still
/// taken something. What has one has a payment, so that the status need not choose the index. They are counted for each of the
/// few credits; of an `exists` PostgreSQL makes a join that reads all debits. Whether one is a debit must not choose an index
/// either, nor whether it was simulated.
macro_rules! alarm {
    () => {
        concat!(
            "linked_alert_id is not null and payment_id is not null and status || '' in ('matched', 'reversed') \
             and coalesce(simulated_for, 0) = 0 and ",
            open_alarms!("count(*)"),
            " > 0"
        )
    };
}

macro_rules! slice_end {
    ($which:literal) => {
        concat!(
            "select first_seen_at from alerts where simulated_for is null and ",
            $which,
            " and first_seen_at >= $2 and first_seen_at < $3 order by first_seen_at desc limit 1 offset $4"
        )
    };
}

statements! {
    ALARMED_BY: query { "select credit_id from alert_alarms where undoing_id = $1 order by credit_id limit $2" }
    FOUND: query { found!("simulated_for is null and cast($1 as text) = ''") }
    FOUND_OF_STATUS: query { found!("simulated_for is null and status = $1") }
    FOUND_ALARMS: query { found!(concat!("cast($1 as text) = '' and ", alarm!())) }
    ALERT_SLICE_END: query { slice_end!("cast($1 as text) = ''") }
    ALERT_SLICE_END_OF_STATUS: query { slice_end!("status = $1") }
    OPEN_ALARMS: query {
        concat!(
            "select id, payment_id, ",
            open_alarms!("min(u.id)"),
            " as undoing_id from alerts where first_seen_at >= $1 and first_seen_at < $2 and ",
            alarm!(),
            " order by first_seen_at desc, id desc limit $3"
        )
    }
    ALARM_OF_WALLET: query {
        concat!(
            "select ",
            open_alarms!("min(u.id)"),
            " as undoing_id from alerts where first_seen_at >= $2 and (select p.wallet_id from payments p \
             where p.id = alerts.payment_id and p.kind = 'topup') = $1 and ",
            alarm!(),
            " order by first_seen_at desc, id desc limit 1"
        )
    }
    ALARM_OF: query {
        concat!("select ", open_alarms!("min(u.id)"), " as undoing_id from alerts where id = $1 and ", alarm!())
    }
}

/// A credit whose money may have been taken back. Ids of its alert, its payment, and the alert that may have done it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAlarm {
    pub credit: i64,
    pub payment: i64,
    pub undoing: i64,
}

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub status: Option<AlertStatus>,
    /// Credits whose money may have been taken back, and nobody has dealt with that; whatever the status.
    pub alarms: bool,
    pub amount: Option<Money>,
    /// Code of the bank.
    pub bank: Option<String>,
    /// Number of the account that the money came to.
    pub account: Option<String>,
}

impl Filter {
    fn status_word(&self) -> &'static str {
        self.status.filter(|_| !self.alarms).map_or("", AlertStatus::as_str)
    }
}

impl Store {
    /// Alerts first seen in a time (its end excluded) that fit, newest first. Those that name no account of ours
    /// are among them, whatever account is asked for.
    pub async fn alerts_found(
        &self,
        filter: &Filter,
        (from, until): (Timestamp, Timestamp),
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let sql = match (filter.alarms, filter.status) {
            (true, _) => &FOUND_ALARMS,
            (false, Some(_)) => &FOUND_OF_STATUS,
            (false, None) => &FOUND,
        };
        let params: Vec<Value> = vec![
            filter.status_word().into(),
            from.into(),
            until.into(),
            filter.amount.unwrap_or(Money(-1)).into(),
            filter.bank.as_deref().unwrap_or("").into(),
            filter.account.as_deref().unwrap_or("").into(),
            (limit as i64).into(),
        ];
        self.read(sql, params).await?.into_iter().map(decode).collect()
    }

    /// Where the newest `rows` alerts of a status and time end; `None` when there are no more than these.
    pub async fn alert_slice_end(
        &self,
        filter: &Filter,
        (from, until): (Timestamp, Timestamp),
        rows: usize,
    ) -> Result<Option<Timestamp>, StoreError> {
        let sql = if filter.status.is_some() { &ALERT_SLICE_END_OF_STATUS } else { &ALERT_SLICE_END };
        let params = vec![filter.status_word().into(), from.into(), until.into(), (rows as i64).into()];
        match self.read_one(sql, params).await? {
            Some(row) => row.reader("alerts").time("first_seen_at").map(Some),
            None => Ok(None),
        }
    }

    /// Credits with an open alarm, newest first: the credit, its payment, and what [`Store::alarm_of`] says of it.
    pub async fn open_alarms(&self, limit: usize) -> Result<Vec<OpenAlarm>, StoreError> {
        let rows = self
            .read(&OPEN_ALARMS, vec![Timestamp::MIN.into(), Timestamp::MAX.into(), (limit as i64).into()])
            .await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("alerts");
                Ok(OpenAlarm {
                    credit: r.int("id")?,
                    payment: r.int("payment_id")?,
                    undoing: r.int("undoing_id")?,
                })
            })
            .collect()
    }

    /// Credits whose money a debit or reversal may have taken back, whether or not somebody has dealt with it.
    pub async fn alarmed_by(&self, undoing_id: i64, limit: usize) -> Result<Vec<i64>, StoreError> {
        let rows = self.read(&ALARMED_BY, vec![undoing_id.into(), (limit as i64).into()]).await?;
        rows.into_iter().map(|row| row.reader("alert_alarms").int("credit_id")).collect()
    }

    /// A debit or reversal that may have taken back the newest of a wallet's top-ups since then that has an open alarm.
    pub async fn alarm_of_wallet(&self, wallet_id: i64, since: Timestamp) -> Result<Option<i64>, StoreError> {
        let row = self.read_one(&ALARM_OF_WALLET, vec![wallet_id.into(), since.into()]).await?;
        row.map(|row| row.single_int("alerts")).transpose()
    }

    /// The first debit or reversal that may have taken the money of this alert back, and with which nobody has dealt.
    pub async fn alarm_of(&self, alert_id: i64) -> Result<Option<i64>, StoreError> {
        let row = self.read_one(&ALARM_OF, vec![alert_id.into()]).await?;
        row.map(|row| row.single_int("alerts")).transpose()
    }
}
