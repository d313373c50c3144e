//! Payments for lists on pages: a window of an index is walked through, newest first, and its filters are judged row by
//! row. A page costs what its window holds, whatever is looked for; its end is the place where the next one begins.
//!
//! Which index is walked through: all payments of a business, or of everybody; only the unusual ones, where one of
//! those is looked for; only those of the test mode. What an id or a reference begins with is found by its index at once.
//! Used by ops alone.

use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::payment::{Kind, Payment, Status};
use crate::domain::time::Timestamp;
use crate::store::engine::sql::{Sql, statements};
use crate::store::tables::payments::{columns, decode};
use crate::store::tables::places::{Place, Window};
use crate::store::{Store, StoreError, Value};

/// Open payments that are looked at to count some; the statement holds the same number as a literal.
const OPEN_MAX: i64 = 100_000;

/// As the partial indexes say it, word for word.
macro_rules! odd {
    () => {
        "(reversed_at is not null or is_mismatch = 1 or approved_at > expires_at)"
    };
}

/// What is judged row by row. An empty text, or -1, asks nothing; nor does 0 of the last four.
macro_rules! judged {
    () => {
        " and (cast($7 as text) = '' or mode = $7) and (cast($8 as text) = '' or status = $8) \
         and (cast($9 as bigint) = -1 or website_id = $9) \
         and (cast($10 as bigint) = 0 or approved_at > expires_at) \
         and (cast($11 as bigint) = 0 or is_mismatch = 1) \
         and (cast($12 as bigint) = 0 or reversed_at is not null) \
         and (cast($13 as bigint) = 0 or kind <> 'topup')"
    };
}

/// The place of the row that stands $5 behind the first one before a place.
macro_rules! end {
    ($which:expr, $at:literal) => {
        concat!(
            "select created_at, id from payments where ",
            $which,
            " and ",
            $at,
            " <= $2 and (",
            $at,
            " < $2 or id < $3) and ",
            $at,
            " >= $4 order by ",
            $at,
            " desc, id desc limit 1 offset $5"
        )
    };
}

/// Rows of a window that fit, newest first.
macro_rules! walked {
    ($columns:expr, $which:expr, $at:literal) => {
        concat!(
            "select ",
            $columns,
            " from payments where ",
            $which,
            " and ",
            $at,
            " <= $2 and (",
            $at,
            " < $2 or id < $3) and ",
            $at,
            " >= $4 and (",
            $at,
            " > $4 or id >= $5)",
            judged!(),
            " order by ",
            $at,
            " desc, id desc limit $6"
        )
    };
}

/// What a name, an id or a reference is compared with.
macro_rules! texts {
    () => {
        "id, created_at, transaction_id, payer_name, external_reference, amount_kobo, business_id, account_id"
    };
}

macro_rules! of_business {
    () => {
        "business_id = $1"
    };
}
macro_rules! odd_of_business {
    () => {
        concat!("business_id + 0 = $1 and ", odd!())
    };
}
macro_rules! test_of_business {
    () => {
        "business_id + 0 = $1 and mode = 'test'"
    };
}
macro_rules! of_all {
    () => {
        "cast($1 as bigint) = 0"
    };
}
macro_rules! odd_of_all {
    () => {
        concat!("cast($1 as bigint) = 0 and ", odd!())
    };
}

statements! {
    PAYMENTS_END: query { end!(of_business!(), "created_at") }
    PAYMENTS_END_ODD: query { end!(odd_of_business!(), "created_at") }
    PAYMENTS_END_TEST: query { end!(test_of_business!(), "created_at") }
    PAYMENTS_END_ALL: query { end!(of_all!(), "created_at") }
    PAYMENTS_END_ALL_ODD: query { end!(odd_of_all!(), "created_at + 0") }
    PAYMENTS_WALK: query { walked!(columns!(), of_business!(), "created_at") }
    PAYMENTS_WALK_ODD: query { walked!(columns!(), odd_of_business!(), "created_at") }
    PAYMENTS_WALK_TEST: query { walked!(columns!(), test_of_business!(), "created_at") }
    PAYMENTS_WALK_ALL: query { walked!(columns!(), of_all!(), "created_at") }
    PAYMENTS_WALK_ALL_ODD: query { walked!(columns!(), odd_of_all!(), "created_at + 0") }
    PAYMENTS_TEXTS: query { walked!(texts!(), of_business!(), "created_at") }
    PAYMENTS_TEXTS_ODD: query { walked!(texts!(), odd_of_business!(), "created_at") }
    PAYMENTS_TEXTS_TEST: query { walked!(texts!(), test_of_business!(), "created_at") }
    PAYMENTS_TEXTS_ALL: query { walked!(texts!(), of_all!(), "created_at") }
    PAYMENTS_TEXTS_ALL_ODD: query { walked!(texts!(), odd_of_all!(), "created_at + 0") }
    // By way of the index of open payments alone, which holds all that is asked. A bound for all businesses together.
    OPEN_TOTALS: query {
        "select count(*) as looked_at, cast(coalesce(sum(is_meant), 0) as bigint) as count, \
         cast(coalesce(sum(case is_meant when 1 then amount_kobo else 0 end), 0) as bigint) as amount, \
         min(case is_meant when 1 then created_at end) as oldest from (select case when mode = $2 and kind <> 'topup' \
         and (cast($1 as bigint) = 0 or business_id = $1) then 1 else 0 end as is_meant, amount_kobo, created_at \
         from payments where status = 'pending' and approvable_until_at >= 0 order by approvable_until_at \
         limit 100000) as open"
    }
    // Texts are compared by their bytes on both engines, so what begins alike stands together (docs/portable-sql.md).
    BY_TRANSACTION_PREFIX: query {
        concat!("select ", columns!(), " from payments where business_id = $1 and transaction_id >= $2 \
                 and transaction_id < $3 order by transaction_id limit $4")
    }
    BY_REFERENCE_PREFIX: query {
        concat!("select ", columns!(), " from payments where external_reference is not null \
                 and external_reference >= $2 and external_reference < $3 \
                 and (cast($1 as bigint) = 0 or business_id + 0 = $1) order by external_reference limit $4")
    }
}

/// No website has this id.
const ANY_WEBSITE: i64 = -1;

/// What is judged row by row; filters combine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaymentFilter {
    /// `None`: of all businesses.
    pub business_id: Option<i64>,
    pub mode: Option<Mode>,
    pub status: Option<Status>,
    pub website_id: Option<i64>,
    /// Approved after it had expired.
    pub late: bool,
    /// Another amount came than was asked for.
    pub mismatched: bool,
    pub reversed: bool,
    /// Top-ups of wallets, which credit no merchant, left out.
    pub without_topups: bool,
}

impl PaymentFilter {
    /// The statement by the index that its payments stand in, of five: all of a business, the odd ones and those of test
    /// mode among them; those of all, and the odd ones among them.
    fn choose(&self, all: [&'static Sql; 5]) -> &'static Sql {
        let [of_business, odd_of_business, test_of_business, of_all, odd_of_all] = all;
        let is_odd = self.late || self.mismatched || self.reversed;
        match (self.business_id, is_odd, self.mode) {
            (Some(_), true, _) => odd_of_business,
            (Some(_), false, Some(Mode::Test)) => test_of_business,
            (Some(_), false, _) => of_business,
            (None, true, _) => odd_of_all,
            (None, false, _) => of_all,
        }
    }

    /// Whether a payment that was found another way fits.
    pub fn fits(&self, payment: &Payment) -> bool {
        self.business_id.is_none_or(|id| id == payment.business_id)
            && self.mode.is_none_or(|mode| mode == payment.mode)
            && self.status.is_none_or(|status| status == payment.status)
            && self.website_id.is_none_or(|id| Some(id) == payment.website_id)
            && (!self.late || payment.approved_at.is_some_and(|at| at > payment.expires_at))
            && (!self.mismatched || payment.is_mismatch)
            && (!self.reversed || payment.reversed_at.is_some())
            && (!self.without_topups || payment.kind != Kind::Topup)
    }

    fn params(&self, window: Window, limit: usize) -> Vec<Value> {
        let mut params = vec![self.business_id.unwrap_or(0).into()];
        params.extend(window.params(limit));
        params.extend([
            self.mode.map_or("", Mode::as_str).into(),
            self.status.map_or("", Status::as_str).into(),
            self.website_id.unwrap_or(ANY_WEBSITE).into(),
            i64::from(self.late).into(),
            i64::from(self.mismatched).into(),
            i64::from(self.reversed).into(),
            i64::from(self.without_topups).into(),
        ]);
        params
    }
}

/// Payments that wait for their money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenPayments {
    pub count: i64,
    pub amount: Money,
    pub oldest: Option<Timestamp>,
    /// There are too many open payments in all to look at each: these are those that end first.
    pub at_least: bool,
}

/// What of a payment is compared with a text that is looked for.
#[derive(Clone, Debug)]
pub struct PaymentTexts {
    pub place: Place,
    pub transaction_id: String,
    pub payer_name: String,
    pub reference: Option<String>,
    pub amount: Money,
    pub business_id: i64,
    pub account_id: Option<i64>,
}

impl Store {
    /// Where the window of `rows` payments ends that begins before a place and goes back to a time; `None` when there
    /// are not that many.
    pub async fn payment_window_end(
        &self,
        filter: &PaymentFilter,
        before: Place,
        back_to: Timestamp,
        rows: usize,
    ) -> Result<Option<Place>, StoreError> {
        let sql = filter.choose([
            &PAYMENTS_END,
            &PAYMENTS_END_ODD,
            &PAYMENTS_END_TEST,
            &PAYMENTS_END_ALL,
            &PAYMENTS_END_ALL_ODD,
        ]);
        let params = vec![
            filter.business_id.unwrap_or(0).into(),
            before.at.into(),
            before.id.into(),
            back_to.into(),
            (rows.saturating_sub(1) as i64).into(),
        ];
        self.place(sql, params, ("payments", "created_at")).await
    }

    /// Payments of a window that fit, newest first.
    pub async fn payments_in(
        &self,
        filter: &PaymentFilter,
        window: Window,
        limit: usize,
    ) -> Result<Vec<Payment>, StoreError> {
        let sql = filter.choose([
            &PAYMENTS_WALK,
            &PAYMENTS_WALK_ODD,
            &PAYMENTS_WALK_TEST,
            &PAYMENTS_WALK_ALL,
            &PAYMENTS_WALK_ALL_ODD,
        ]);
        self.read(sql, filter.params(window, limit)).await?.into_iter().map(decode).collect()
    }

    /// The texts of the same, by which a payment is looked for.
    pub async fn payment_texts_in(
        &self,
        filter: &PaymentFilter,
        window: Window,
        limit: usize,
    ) -> Result<Vec<PaymentTexts>, StoreError> {
        let sql = filter.choose([
            &PAYMENTS_TEXTS,
            &PAYMENTS_TEXTS_ODD,
            &PAYMENTS_TEXTS_TEST,
            &PAYMENTS_TEXTS_ALL,
            &PAYMENTS_TEXTS_ALL_ODD,
        ]);
        let rows = self.read(sql, filter.params(window, limit)).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("payments");
                let (id, at) = (r.int("id")?, r.time("created_at")?);
                Ok(PaymentTexts {
                    place: Place { at, id },
                    transaction_id: r.text("transaction_id")?,
                    payer_name: r.text("payer_name")?,
                    reference: r.opt_text("external_reference")?,
                    amount: Money(r.int("amount_kobo")?),
                    business_id: r.int("business_id")?,
                    account_id: r.opt_int("account_id")?,
                })
            })
            .collect()
    }

    /// Open payments of one business or of all, top-ups left out.
    pub async fn open_totals(
        &self,
        business_id: Option<i64>,
        mode: Mode,
    ) -> Result<OpenPayments, StoreError> {
        let params = vec![business_id.unwrap_or(0).into(), mode.as_str().into()];
        let Some(row) = self.read_one(&OPEN_TOTALS, params).await? else {
            return Ok(OpenPayments::default());
        };
        let mut r = row.reader("payments");
        let at_least = r.int("looked_at")? >= OPEN_MAX;
        let (count, amount, oldest) = (r.int("count")?, r.money("amount")?, r.opt_time("oldest")?);
        Ok(OpenPayments { count, amount, oldest, at_least })
    }

    /// Payments of a business whose transaction id begins so, at most `limit`.
    pub async fn payments_by_transaction_prefix(
        &self,
        business_id: i64,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<Payment>, StoreError> {
        let params = prefixed(business_id, prefix, limit);
        self.read(&BY_TRANSACTION_PREFIX, params).await?.into_iter().map(decode).collect()
    }

    /// Payments whose merchant's reference begins so, of one business or of all, at most `limit`.
    pub async fn payments_by_reference_prefix(
        &self,
        business_id: Option<i64>,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<Payment>, StoreError> {
        let params = prefixed(business_id.unwrap_or(0), prefix, limit);
        self.read(&BY_REFERENCE_PREFIX, params).await?.into_iter().map(decode).collect()
    }
}

fn prefixed(business_id: i64, prefix: &str, limit: usize) -> Vec<Value> {
    let behind = format!("{prefix}{}", char::MAX);
    vec![business_id.into(), prefix.into(), behind.into(), (limit as i64).into()]
}
