//! Corrections of payments' amounts: what was corrected, append only, and the count that keeps to a limit; and the
//! amounts that were asked for before.
//!
//! The payment's own row is changed by `payments::corrected` in the same Unit. Called by ops alone.

use std::cmp::Reverse;

use crate::domain::charges::Charges;
use crate::domain::money::Money;
use crate::domain::payment::{CORRECTIONS_PER_BUSINESS, Payment};
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Step, Store, StoreError};

statements! {
    COUNT_CORRECTION: query {
        "insert into correction_counts (business_id, made) values ($1, 1) \
         on conflict (business_id) do update set made = correction_counts.made + 1 \
         where correction_counts.made < $2"
    }
    ADD_CORRECTION: insert(corrections) {
        id: Int, business_id: Int, payment_id: Int, old_amount_kobo: Int, new_amount_kobo: Int, corrected_at: Int,
        account_id: Int, old_charges_kobo: Int
    }
    CORRECTIONS_OF_PAYMENT: query {
        "select count(*) from corrections where payment_id = $1 and corrected_at > $2"
    }
    CORRECTIONS_OF: query {
        "select old_amount_kobo, new_amount_kobo, corrected_at from corrections where payment_id = $1 \
         order by corrected_at limit $2"
    }
    ASKED_BEFORE: query {
        "select payment_id, old_amount_kobo, coalesce(old_charges_kobo, 0) as charges_kobo from corrections \
         where account_id = $1 and corrected_at >= $2 and old_amount_kobo between $3 and $4 limit $5"
    }
    CORRECTIONS_OF_BUSINESS: query {
        "select (select count(*) from corrections where business_id = $1 and corrected_at > $2) as recent, \
         coalesce((select made from correction_counts where business_id = $1), 0) as made"
    }
}

/// Corrections since a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentCorrections {
    pub of_payment: i64,
    pub of_business: i64,
    /// Of the business over all time, as it was when the recent ones were counted.
    made: i64,
}

/// A correction of a payment's amount, with charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correction {
    pub before: Money,
    pub after: Money,
    pub at: Timestamp,
}

/// Payments that were corrected.
#[derive(Debug, Default)]
pub struct AskedBefore {
    /// As they are.
    pub payments: Vec<Payment>,
    /// As they asked before.
    pub before: Vec<Payment>,
    pub may_be_more: bool,
}

/// Counts a correction of the business: lost when it would be more than [`CORRECTIONS_PER_BUSINESS`] in the window,
/// because others were made since they were counted. However many are under way at once, no place is left free.
pub fn count_correction(business_id: i64, recent: &RecentCorrections) -> Step {
    let most = recent.made + CORRECTIONS_PER_BUSINESS - recent.of_business;
    Step::one(&COUNT_CORRECTION, vec![business_id.into(), most.into()])
}

/// Whether the statement is that of [`count_correction`].
pub fn is_count(statement: &str) -> bool {
    statement == COUNT_CORRECTION.name
}

/// Remembers a correction, for the limits on their number.
pub fn add_correction(id: i64, before: &Payment, after: &Payment) -> Step {
    Step::insert(ADD_CORRECTION {
        id: id.into(),
        business_id: before.business_id.into(),
        payment_id: before.id.into(),
        old_amount_kobo: before.amount.into(),
        new_amount_kobo: after.amount.into(),
        corrected_at: after.updated_at.into(),
        account_id: before.account_id.into(),
        old_charges_kobo: before.charges.total().into(),
    })
}

impl Store {
    /// Payments that asked for an amount between two, both included, on the account, and were corrected since a time:
    /// those of any `limit` corrections.
    pub async fn payments_asked_before(
        &self,
        account_id: i64,
        amounts: (Money, Money),
        since: Timestamp,
        limit: usize,
    ) -> Result<AskedBefore, StoreError> {
        let params =
            vec![account_id.into(), since.into(), amounts.0.into(), amounts.1.into(), (limit as i64).into()];
        let rows = self.read(&ASKED_BEFORE, params).await?;
        let may_be_more = rows.len() >= limit;
        let mut asked = Vec::with_capacity(rows.len());
        for row in rows {
            let mut r = row.reader("corrections");
            asked.push((r.int("payment_id")?, r.money("old_amount_kobo")?, r.money("charges_kobo")?));
        }
        let mut ids: Vec<i64> = asked.iter().map(|(id, ..)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        let payments = self.payments_by_ids(&ids).await?;
        let as_asked = |(id, amount, charges): (i64, Money, Money)| {
            let at = payments.binary_search_by_key(&Reverse(id), |payment| Reverse(payment.id)).ok()?;
            let now = payments.get(at)?;
            let charges = Charges { percentage: charges, fixed: Money::ZERO };
            Some(Payment { amount, charges, ..now.clone() })
        };
        let before = asked.into_iter().filter_map(as_asked).collect();
        Ok(AskedBefore { payments, before, may_be_more })
    }

    /// The first corrections of a payment, oldest first.
    pub async fn corrections_of(&self, payment_id: i64, limit: usize) -> Result<Vec<Correction>, StoreError> {
        let rows = self.read(&CORRECTIONS_OF, vec![payment_id.into(), (limit as i64).into()]).await?;
        let correction = |row: crate::store::Row| {
            let mut r = row.reader("corrections");
            let (before, after) = (r.money("old_amount_kobo")?, r.money("new_amount_kobo")?);
            Ok(Correction { before, after, at: r.time("corrected_at")? })
        };
        rows.into_iter().map(correction).collect()
    }

    /// Whether the payment's amount was corrected after a time.
    pub async fn is_corrected_after(&self, payment_id: i64, time: Timestamp) -> Result<bool, StoreError> {
        let made = self.read_one(&CORRECTIONS_OF_PAYMENT, vec![payment_id.into(), time.into()]).await?;
        Ok(made.map_or(Ok(0), |row| row.single_int("corrections"))? > 0)
    }

    /// Corrections since a time, of the payment and of its business.
    pub async fn corrections_since(
        &self,
        payment: &Payment,
        since: Timestamp,
    ) -> Result<RecentCorrections, StoreError> {
        let here = self.read_one(&CORRECTIONS_OF_PAYMENT, vec![payment.id.into(), since.into()]).await?;
        let of_payment = here.map_or(Ok(0), |row| row.single_int("corrections"))?;
        let all =
            self.read_one(&CORRECTIONS_OF_BUSINESS, vec![payment.business_id.into(), since.into()]).await?;
        let Some(all) = all else { return Ok(RecentCorrections { of_payment, of_business: 0, made: 0 }) };
        let mut r = all.reader("corrections");
        Ok(RecentCorrections { of_payment, of_business: r.int("recent")?, made: r.int("made")? })
    }
}
