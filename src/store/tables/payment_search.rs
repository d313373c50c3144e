//! Payments that an operator looks for: by when they were made, over all businesses or within one, and whose a
//! transaction id is.
//!
//! A search reads one slice of time after another, newest first, and its filters are judged row by row. So a
//! statement costs what its slice holds, whatever is looked for. Used by ops alone.

use crate::domain::money::Money;
use crate::domain::payment::{Payment, Status};
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::tables::payments::{columns, decode};
use crate::store::{Store, StoreError, Value};

/// Payments made from $2 until before $3 that fit the filters, newest first. An empty text, or an amount of -1,
/// asks nothing.
macro_rules! found {
    ($business:literal) => {
        concat!(
            "select ",
            columns!(),
            " from payments where ",
            $business,
            " and created_at >= $2 and created_at < $3 \
             and (cast($4 as text) = '' or status = $4 or (status = 'approved' and \
              case when reversed_at is null then 'standing' else 'reversed' end = $4)) \
             and (cast($8 as text) = '' or external_reference = $8) \
             and (cast($5 as bigint) = -1 or amount_kobo = $5 or received_kobo = $5) \
             and (cast($6 as text) = '' \
                  or account_id in (select r.id from receiving_accounts r where r.number = $6)) \
             order by created_at desc, id desc limit $7"
        )
    };
}

/// When the payment was made that stands $4 places behind the newest of a time.
macro_rules! slice_end {
    ($business:literal) => {
        concat!(
            "select created_at from payments where ",
            $business,
            " and created_at >= $2 and created_at < $3 order by created_at desc, id desc limit 1 offset $4"
        )
    };
}

statements! {
    FOUND: query { found!("cast($1 as bigint) = 0") }
    FOUND_OF_BUSINESS: query { found!("business_id = $1") }
    SLICE_END: query { slice_end!("cast($1 as bigint) = 0") }
    SLICE_END_OF_BUSINESS: query { slice_end!("business_id = $1") }
    WHOSE: query {
        "select business_id from (select (select p.business_id from payments p where p.business_id = b.id \
         and p.transaction_id = $1) as business_id from businesses b) as asked \
         where business_id is not null order by business_id limit $2"
    }
}

/// What became of the payments that are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Status(Status),
    /// Approved, and not reversed since.
    Standing,
    Reversed,
}

impl Wanted {
    pub fn fits(self, payment: &Payment) -> bool {
        let is_reversed = payment.reversed_at.is_some();
        match self {
            Wanted::Status(status) => payment.status == status,
            Wanted::Standing => payment.status == Status::Approved && !is_reversed,
            Wanted::Reversed => is_reversed,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Wanted::Status(status) => status.as_str(),
            Wanted::Standing => "standing",
            Wanted::Reversed => "reversed",
        }
    }
}

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub business_id: Option<i64>,
    pub status: Option<Wanted>,
    /// Asked for, or received.
    pub amount: Option<Money>,
    /// Number of the receiving account.
    pub account: Option<String>,
    /// The merchant's own reference of a wallet payment (`order_reference`).
    pub reference: Option<String>,
}

impl Store {
    /// Payments made in a time (its end excluded) that fit, newest first.
    pub async fn payments_found(
        &self,
        filter: &Filter,
        (from, until): (Timestamp, Timestamp),
        limit: usize,
    ) -> Result<Vec<Payment>, StoreError> {
        let sql = if filter.business_id.is_some() { &FOUND_OF_BUSINESS } else { &FOUND };
        let params: Vec<Value> = vec![
            filter.business_id.unwrap_or(0).into(),
            from.into(),
            until.into(),
            filter.status.map_or("", Wanted::as_str).into(),
            filter.amount.unwrap_or(Money(-1)).into(),
            filter.account.as_deref().unwrap_or("").into(),
            (limit as i64).into(),
            filter.reference.as_deref().unwrap_or("").into(),
        ];
        self.read(sql, params).await?.into_iter().map(decode).collect()
    }

    /// Where the newest `rows` payments of a time end; `None` when there are no more than these.
    pub async fn slice_end(
        &self,
        business_id: Option<i64>,
        (from, until): (Timestamp, Timestamp),
        rows: usize,
    ) -> Result<Option<Timestamp>, StoreError> {
        let sql = if business_id.is_some() { &SLICE_END_OF_BUSINESS } else { &SLICE_END };
        let params = vec![business_id.unwrap_or(0).into(), from.into(), until.into(), (rows as i64).into()];
        match self.read_one(sql, params).await? {
            Some(row) => row.reader("payments").time("created_at").map(Some),
            None => Ok(None),
        }
    }

    /// Ids of businesses that have a payment with this transaction id, in order, up to a limit.
    pub async fn businesses_with(&self, transaction_id: &str, limit: usize) -> Result<Vec<i64>, StoreError> {
        let rows = self.read(&WHOSE, vec![transaction_id.into(), (limit as i64).into()]).await?;
        rows.into_iter().map(|row| row.single_int("payments")).collect()
    }
}
