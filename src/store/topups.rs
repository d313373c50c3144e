//! Top-ups of a wallet that are still expected: how much they come to, and which they are.
//!
//! Everything else about their rows is in `payments`, and what became of them in `settlements`. Used by
//! ops alone.

use super::sql::statements;
use super::{Store, StoreError};
use crate::domain::money::Money;

statements! {
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
