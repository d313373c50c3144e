//! Corrections of payments' amounts: what was corrected, append only, and the count that keeps to a limit.
//!
//! The payment's own row is changed by `payments::corrected` in the same Unit. Called by ops alone.

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
        id: Int, business_id: Int, payment_id: Int, old_amount_kobo: Int, new_amount_kobo: Int, corrected_at: Int
    }
    CORRECTIONS_OF_PAYMENT: query {
        "select count(*) from corrections where payment_id = $1 and corrected_at > $2"
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
    })
}

impl Store {
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
