//! Payouts: the SQL and the reading of rows. What they do to the ledger is in `settlements`. Used by ops alone.
//!
//! The guard of a balance touches the row that the posting of the same Unit moves, before it does, so that of many
//! payouts at once each is judged by what the others left.

use crate::domain::money::Money;
use crate::domain::payout::{FirstWord, Payout, PayoutEnd, PayoutStatus};
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::tables::places::{Place, Window};
use crate::store::{Row, Step, Store, StoreError, Value};

macro_rules! select {
    () => {
        "select p.id, p.business_id, p.account_id, p.amount_kobo, p.reference, p.code, p.status, p.version, \
         p.requested_by, p.created_at, p.taken_at, p.first_by, p.first_at, p.first_reference, p.ended_at, p.ended_by, \
         p.bank_reference, p.reason, p.entry_id, p.end_entry_id, a.bank, a.number, a.name, a.removed_at, \
         (select b.name from businesses b where b.id = p.business_id) as business \
         from payouts p join payout_accounts a on a.id = p.account_id where "
    };
}

statements! {
    ADD: insert(payouts) {
        id: Int, business_id: Int, account_id: Int, amount_kobo: Int, reference: Text, code: Text, status: Text,
        version: Int, requested_by: Text, created_at: Int, entry_id: Int
    }
    HOLDS: query {
        "update merchant_balances set balance_kobo = balance_kobo where business_id = $1 and balance_kobo >= $2"
    }
    FIRST_WORD: query {
        "update payouts set first_by = $3, first_at = $4, first_reference = $5, version = version + 1 \
         where id = $1 and version = $2 and status = 'pending' and first_by is null"
    }
    NO_FIRST_WORD: query {
        "update payouts set first_by = null, first_at = null, first_reference = null, version = version + 1 \
         where id = $1 and version = $2 and status = 'pending' and first_by is not null"
    }
    TAKE: query {
        "update payouts set taken_at = coalesce(taken_at, $3), version = version + 1 \
         where id = $1 and version = $2 and status = 'pending'"
    }
    END: query {
        "update payouts set status = $3, ended_at = $4, ended_by = $5, bank_reference = $6, reason = $7, \
         end_entry_id = $8, version = version + 1 where id = $1 and version = $2 and status = 'pending'"
    }
    PAYOUT: query { concat!(select!(), "p.id = $1") }
    PAYOUT_BY_CODE: query { concat!(select!(), "p.code = $1") }
    PAYOUTS_END: query {
        "select created_at, id from payouts where (created_at, id) < ($1, $2) and created_at >= 0 \
         order by created_at desc, id desc limit 1 offset $3"
    }
    PAYOUTS_WALK: query {
        concat!(select!(), "(p.created_at, p.id) < ($1, $2) and (p.created_at, p.id) >= ($3, $4) \
                and (cast($6 as text) = '' or p.status = $6) order by p.created_at desc, p.id desc limit $5")
    }
    PAYOUTS_PENDING_WALK: query {
        concat!(select!(), "p.status = 'pending' and (p.created_at, p.id) < ($1, $2) \
                order by p.created_at desc, p.id desc limit $3")
    }
    PAYOUTS_OLDEST_PENDING: query {
        concat!(select!(), "p.status = 'pending' and (p.created_at, p.id) > ($1, $2) \
                order by p.created_at, p.id limit $3")
    }
    PAYOUTS_OF_BUSINESS_END: query {
        "select created_at, id from payouts where (business_id, created_at, id) < ($1, $2, $3) \
         and (business_id, created_at) >= ($1, 0) order by business_id desc, created_at desc, id desc limit 1 offset $4"
    }
    PAYOUTS_OF_BUSINESS_WALK: query {
        concat!(select!(), "(p.business_id, p.created_at, p.id) < ($1, $2, $3) \
                and (p.business_id, p.created_at, p.id) >= ($1, $4, $5) \
                and (cast($7 as text) = '' or p.status = $7) \
                order by p.business_id desc, p.created_at desc, p.id desc limit $6")
    }
    // Counted up to a bound.
    PAYOUTS_WAITING: query {
        "select count(*) as count, cast(coalesce(sum(amount_kobo), 0) as bigint) as amount, min(created_at) as oldest \
         from (select created_at, amount_kobo from payouts where status = 'pending' order by created_at, id limit $1) \
         as waiting"
    }
    BALANCE: query { "select balance_kobo, reserved_kobo from merchant_balances where business_id = $1" }
}

/// A payout with what is told of its account and its business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutRow {
    pub payout: Payout,
    pub business: String,
    pub bank: String,
    pub number: String,
    /// Of the account's holder.
    pub name: String,
    pub is_account_removed: bool,
}

/// What a business is owed: what it may ask for, and what is set aside for its pending payouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    pub available: Money,
    pub reserved: Money,
}

/// Payouts that wait, counted up to a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PayoutsWaiting {
    pub count: i64,
    pub amount: Money,
    pub oldest: Option<Timestamp>,
}

fn decode(row: Row) -> Result<PayoutRow, StoreError> {
    let r = &mut row.reader("payouts");
    let first = match r.opt_text("first_by")? {
        Some(by) => {
            Some(FirstWord { by, at: r.time("first_at")?, reference: r.opt_text("first_reference")? })
        }
        None => None,
    };
    let end = match r.opt_time("ended_at")? {
        Some(at) => Some(PayoutEnd {
            at,
            by: r.text("ended_by")?,
            bank_reference: r.opt_text("bank_reference")?,
            reason: r.opt_text("reason")?,
            entry_id: r.int("end_entry_id")?,
        }),
        None => None,
    };
    let payout = Payout {
        id: r.int("id")?,
        business_id: r.int("business_id")?,
        account_id: r.int("account_id")?,
        amount: r.money("amount_kobo")?,
        reference: r.opt_text("reference")?,
        code: r.text("code")?,
        status: r.word("status", PayoutStatus::parse)?,
        version: r.int("version")?,
        requested_by: r.text("requested_by")?,
        created_at: r.time("created_at")?,
        taken_at: r.opt_time("taken_at")?,
        first,
        end,
        entry_id: r.int("entry_id")?,
    };
    Ok(PayoutRow {
        payout,
        business: r.text("business")?,
        bank: r.text("bank")?,
        number: r.text("number")?,
        name: r.text("name")?,
        is_account_removed: r.opt_time("removed_at")?.is_some(),
    })
}

/// A new payout, pending.
pub fn add(payout: &Payout) -> Step {
    Step::insert(ADD {
        id: payout.id.into(),
        business_id: payout.business_id.into(),
        account_id: payout.account_id.into(),
        amount_kobo: payout.amount.into(),
        reference: payout.reference.as_ref().into(),
        code: (&payout.code).into(),
        status: payout.status.as_str().into(),
        version: payout.version.into(),
        requested_by: (&payout.requested_by).into(),
        created_at: payout.created_at.into(),
        entry_id: payout.entry_id.into(),
    })
}

/// Guards a payout: lost if the business has less by now. The posting of the same Unit moves the balance.
pub fn holds(business_id: i64, amount: Money) -> Step {
    Step::one(&HOLDS, vec![business_id.into(), amount.into()])
}

/// Keeps the first of two words; guarded by the version.
pub fn keep_first(before: &Payout, word: &FirstWord) -> Step {
    Step::one(
        &FIRST_WORD,
        vec![
            before.id.into(),
            before.version.into(),
            (&word.by).into(),
            word.at.into(),
            word.reference.as_ref().into(),
        ],
    )
}

/// Whoever gave it takes the first of two words back; guarded by the version.
pub fn drop_first(before: &Payout) -> Step {
    Step::one(&NO_FIRST_WORD, vec![before.id.into(), before.version.into()])
}

/// It is handed to the bank; guarded by the version.
pub fn take(before: &Payout, now: Timestamp) -> Step {
    Step::one(&TAKE, vec![before.id.into(), before.version.into(), now.into()])
}

/// Ends a pending payout; guarded by the version.
pub fn end(before: &Payout, status: PayoutStatus, end: &PayoutEnd) -> Step {
    Step::one(
        &END,
        vec![
            before.id.into(),
            before.version.into(),
            status.as_str().into(),
            end.at.into(),
            (&end.by).into(),
            end.bank_reference.as_ref().into(),
            end.reason.as_ref().into(),
            end.entry_id.into(),
        ],
    )
}

fn filter(status: Option<PayoutStatus>) -> Value {
    status.map_or("", PayoutStatus::as_str).into()
}

impl Store {
    pub async fn payout(&self, id: i64) -> Result<Option<PayoutRow>, StoreError> {
        self.read_one(&PAYOUT, vec![id.into()]).await?.map(decode).transpose()
    }

    pub async fn payout_by_code(&self, code: &str) -> Result<Option<PayoutRow>, StoreError> {
        self.read_one(&PAYOUT_BY_CODE, vec![code.into()]).await?.map(decode).transpose()
    }

    /// Where the window of `rows` payouts ends that begins before a place; `None` when there are not as many.
    pub async fn payouts_window_end(
        &self,
        business_id: Option<i64>,
        before: Place,
        rows: usize,
    ) -> Result<Option<Place>, StoreError> {
        let behind = rows.saturating_sub(1) as i64;
        let told = ("payouts", "created_at");
        match business_id {
            Some(id) => {
                let params = vec![id.into(), before.at.into(), before.id.into(), behind.into()];
                self.place(&PAYOUTS_OF_BUSINESS_END, params, told).await
            }
            None => {
                self.place(&PAYOUTS_END, vec![before.at.into(), before.id.into(), behind.into()], told).await
            }
        }
    }

    /// Payouts of a window, newest first, of one business or of all, in one state or any.
    pub async fn payouts_in(
        &self,
        business_id: Option<i64>,
        status: Option<PayoutStatus>,
        window: Window,
        limit: usize,
    ) -> Result<Vec<PayoutRow>, StoreError> {
        let mut params: Vec<Value> = business_id.map(Value::from).into_iter().collect();
        params.extend(window.params(limit));
        params.push(filter(status));
        let sql = if business_id.is_some() { &PAYOUTS_OF_BUSINESS_WALK } else { &PAYOUTS_WALK };
        self.read(sql, params).await?.into_iter().map(decode).collect()
    }

    /// Pending payouts before a place, newest first.
    pub async fn pending_payouts(&self, before: Place, limit: usize) -> Result<Vec<PayoutRow>, StoreError> {
        let params = vec![before.at.into(), before.id.into(), (limit as i64).into()];
        self.read(&PAYOUTS_PENDING_WALK, params).await?.into_iter().map(decode).collect()
    }

    /// Pending payouts behind a place, the oldest first.
    pub async fn oldest_payouts(&self, after: Place, limit: usize) -> Result<Vec<PayoutRow>, StoreError> {
        let params = vec![after.at.into(), after.id.into(), (limit as i64).into()];
        self.read(&PAYOUTS_OLDEST_PENDING, params).await?.into_iter().map(decode).collect()
    }

    /// Payouts that wait, of all businesses, counted up to `most`.
    pub async fn payouts_waiting(&self, most: usize) -> Result<PayoutsWaiting, StoreError> {
        let row = self.read_one(&PAYOUTS_WAITING, vec![(most as i64).into()]).await?;
        let Some(row) = row else { return Ok(PayoutsWaiting::default()) };
        let mut r = row.reader("payouts");
        Ok(PayoutsWaiting {
            count: r.int("count")?,
            amount: r.money("amount")?,
            oldest: r.opt_time("oldest")?,
        })
    }

    /// What a business may ask for, and what is set aside; `None` without such a business.
    pub async fn balance(&self, business_id: i64) -> Result<Option<Balance>, StoreError> {
        let row = self.read_one(&BALANCE, vec![business_id.into()]).await?;
        row.map(|row| {
            let mut r = row.reader("merchant_balances");
            Ok(Balance { available: r.money("balance_kobo")?, reserved: r.money("reserved_kobo")? })
        })
        .transpose()
    }
}
