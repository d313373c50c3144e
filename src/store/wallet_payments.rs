//! Payments that belong to a wallet: how they are brought in, and the top-ups that are still expected.
//!
//! A statement of their own, so that the insert of an ordinary payment carries no column it never fills.
//! Everything else about a payment's row is in `payments`. Used by ops alone.

use super::sql::statements;
use super::{Step, Store, StoreError, payments};
use crate::domain::money::Money;
use crate::domain::payment::Payment;

statements! {
    ADD: insert(payments) {
        id: Int, business_id: Int, transaction_id: Text, kind: Text, mode: Text, status: Text, version: Int,
        amount_kobo: Int, charge_percentage_kobo: Int, charge_fixed_kobo: Int, business_receives_kobo: Int,
        schedule_rate: Int, schedule_fixed_kobo: Int, schedule_cap_kobo: Int,
        is_schedule_paid_by_customer: Int, is_schedule_enabled: Int, rule_low_kobo: Int, rule_high_kobo: Int,
        payer_name: Text, payer_bank: Text, first_name: Text, last_name: Text, bvn: Bytes,
        registration_number: Text, service: Text, webhook_url: Text, website_id: Int,
        external_reference: Text, account_id: Int, corrections: Int, created_at: Int, updated_at: Int,
        expires_at: Int, approvable_until_at: Int, is_swept: Int, is_mismatch: Int, is_name_mismatch: Int,
        name_marks: Int, wallet_id: Int
    }
    EXPECTED: query {
        "select cast(coalesce(sum(amount_kobo), 0) as bigint) from payments \
         where wallet_id = $1 and status = 'pending' and kind = 'topup'"
    }
    EXPECTED_BY: query {
        "select cast(coalesce(sum(amount_kobo), 0) as bigint) from payments \
         where wallet_id = $1 and status = 'pending' and kind = 'topup' and business_id = $2"
    }
    OPEN_TOPUPS: query {
        "select id from payments where wallet_id = $1 and status = 'pending' and kind = 'topup' \
         and business_id = $2 order by id desc limit $3"
    }
}

/// The step that brings a wallet payment or a top-up into the database.
pub fn add(payment: &Payment, name_marks: i64) -> Step {
    let mut params = payments::add(payment, None, name_marks).params;
    params.push(payment.wallet_id.into());
    Step::one(&ADD, params)
}

impl Store {
    /// The sum of all top-ups of a wallet that may still be approved.
    pub async fn expected_topups(&self, wallet_id: i64) -> Result<Money, StoreError> {
        let row = self.read_one(&EXPECTED, vec![wallet_id.into()]).await?;
        row.map_or(Ok(Money::ZERO), |row| row.single_int("payments").map(Money))
    }

    /// The same of those that one business asked for.
    pub async fn expected_topups_by(&self, wallet_id: i64, business_id: i64) -> Result<Money, StoreError> {
        let row = self.read_one(&EXPECTED_BY, vec![wallet_id.into(), business_id.into()]).await?;
        row.map_or(Ok(Money::ZERO), |row| row.single_int("payments").map(Money))
    }

    /// Ids of a wallet's open top-ups that one business asked for, newest first.
    pub async fn open_topups(
        &self,
        wallet_id: i64,
        business_id: i64,
        limit: i64,
    ) -> Result<Vec<i64>, StoreError> {
        let params = vec![wallet_id.into(), business_id.into(), limit.into()];
        self.read(&OPEN_TOPUPS, params).await?.into_iter().map(|row| row.single_int("payments")).collect()
    }
}
