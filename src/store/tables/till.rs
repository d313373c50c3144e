//! What a till shows: payments that were asked for there, newest first, each with what the bank said of its money and who
//! asked.
//!
//! All of it goes by way of two partial indexes that hold nothing but payments of tills. Rows are chosen first, and what belongs to them is read for
//! those alone. Used by ops.

use crate::domain::alert::{Authenticity, BankTime, TimePrecision};
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::payment::Payment;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::{Sql, statements};
use crate::store::tables::payments::{columns, decode_from};
use crate::store::tables::places::Place;
use crate::store::{Row, Store, StoreError, Value};

/// Payments of a day that its total sums up; the statement holds the same number as a literal.
pub const TOTALLED_MAX: i64 = 10_000;

/// Rows of the till with all that is shown of them.
macro_rules! shown {
    ($order:literal, $rows:expr) => {
        shown!("business_id = $1", $order, $rows)
    };
    ($business:literal, $order:literal, $rows:expr) => {
        concat!(
            "select t.*, u.email as till_email, s.operator as settled_by, s.reverse_reason, s.alert_id, a.authenticity, \
             a.bank_time_begin_at, a.bank_time_end_at, a.bank_time_precision, a.payer_name as told_name, \
             a.payer_bank as told_bank from (select ",
            columns!(),
            " from payments where ",
            $business,
            " and mode = $2 and till_user_id is not null and ",
            $rows,
            " order by ",
            $order,
            " desc, id desc limit $3) t left join users u on u.id = t.till_user_id \
             left join settlements s on s.id = t.settlement_id left join alerts a on a.id = s.alert_id order by t.",
            $order,
            " desc, t.id desc"
        )
    };
}

statements! {
    TILL_DAY: query {
        shown!("created_at", "created_at >= $4 and created_at <= $5 and (created_at < $5 or id < $6)")
    }
    TILL_WAITING: query { shown!("created_at", "created_at >= $4 and status = 'pending' and expires_at > $5") }
    TILL_PAID: query { shown!("approved_at", "approved_at >= $4 and created_at < $5") }
    // Reversed payments are few: their index holds nothing else.
    TILL_REVERSED: query {
        shown!("business_id + 0 = $1", "created_at", "reversed_at is not null and reversed_at >= $4")
    }
    TILL_TOTAL: query {
        "select count(*) as count, cast(coalesce(sum(received_kobo), 0) as bigint) as amount from \
         (select received_kobo from payments where business_id = $1 and mode = $2 and till_user_id is not null \
         and approved_at >= $3 and reversed_at is null limit 10000) paid"
    }
}

/// A payment of the till with what is shown of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TillRow {
    pub payment: Payment,
    /// Who asked for it.
    pub asked_by: Option<String>,
    /// The person who approved it; `None` when the rules did.
    pub settled_by: Option<String>,
    pub reverse_reason: Option<String>,
    /// What the bank said of its money.
    pub told: Option<ToldByBank>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToldByBank {
    pub alert_id: i64,
    pub authenticity: Authenticity,
    pub occurred: Option<BankTime>,
    pub payer_name: Option<String>,
    pub payer_bank: Option<String>,
}

/// What came in at the tills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TillTotal {
    /// At most [`TOTALLED_MAX`].
    pub count: i64,
    pub amount: Money,
}

fn decode(row: Row) -> Result<TillRow, StoreError> {
    let mut r = row.reader("payments");
    let payment = decode_from(&mut r)?;
    let told = match r.opt_int("alert_id")? {
        None => None,
        Some(alert_id) => {
            let (begin, end) = (r.opt_time("bank_time_begin_at")?, r.opt_time("bank_time_end_at")?);
            let precision = r.opt_word("bank_time_precision", TimePrecision::parse)?;
            let occurred = match (begin, end, precision) {
                (Some(begin), Some(end), Some(precision)) => Some(BankTime { begin, end, precision }),
                _ => None,
            };
            Some(ToldByBank {
                alert_id,
                authenticity: r.word("authenticity", Authenticity::parse)?,
                occurred,
                payer_name: r.opt_text("told_name")?,
                payer_bank: r.opt_text("told_bank")?,
            })
        }
    };
    Ok(TillRow {
        payment,
        asked_by: r.opt_text("till_email")?,
        settled_by: r.opt_text("settled_by")?,
        reverse_reason: r.opt_text("reverse_reason")?,
        told,
    })
}

/// Whose tills: of a business, for live or for test payments.
pub type Tills = (i64, Mode);

impl Store {
    /// What was asked for at the tills since a day began, behind a place, newest first.
    pub async fn till_day(
        &self,
        tills: Tills,
        day: Timestamp,
        behind: Place,
        limit: usize,
    ) -> Result<Vec<TillRow>, StoreError> {
        let more = [day.into(), behind.at.into(), behind.id.into()];
        self.till_rows(&TILL_DAY, tills, limit, &more).await
    }

    /// What was asked for since then and may still be paid in time, newest first.
    pub async fn till_waiting(
        &self,
        tills: Tills,
        (since, now): (Timestamp, Timestamp),
        limit: usize,
    ) -> Result<Vec<TillRow>, StoreError> {
        self.till_rows(&TILL_WAITING, tills, limit, &[since.into(), now.into()]).await
    }

    /// What was approved since then, of what was asked for before a time; the last one first.
    pub async fn till_paid(
        &self,
        tills: Tills,
        (since, asked_before): (Timestamp, Timestamp),
        limit: usize,
    ) -> Result<Vec<TillRow>, StoreError> {
        self.till_rows(&TILL_PAID, tills, limit, &[since.into(), asked_before.into()]).await
    }

    /// What went back since then, the newest sale first.
    pub async fn till_reversed(
        &self,
        tills: Tills,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<TillRow>, StoreError> {
        self.till_rows(&TILL_REVERSED, tills, limit, &[since.into()]).await
    }

    async fn till_rows(
        &self,
        sql: &'static Sql,
        (business_id, mode): Tills,
        limit: usize,
        more: &[Value],
    ) -> Result<Vec<TillRow>, StoreError> {
        let mut params: Vec<Value> = vec![business_id.into(), mode.as_str().into(), (limit as i64).into()];
        params.extend_from_slice(more);
        self.read(sql, params).await?.into_iter().map(decode).collect()
    }

    /// What came in since then; what was reversed is left out.
    pub async fn till_total(
        &self,
        (business_id, mode): Tills,
        since: Timestamp,
    ) -> Result<TillTotal, StoreError> {
        let params = vec![business_id.into(), mode.as_str().into(), since.into()];
        let Some(row) = self.read_one(&TILL_TOTAL, params).await? else { return Ok(TillTotal::default()) };
        let mut r = row.reader("payments");
        Ok(TillTotal { count: r.int("count")?, amount: r.money("amount")? })
    }
}
