//! Top-ups of a wallet that are still expected: how much they come to, and which they are.
//!
//! Everything else about their rows is in `payments`, and what became of them in `settlements`. Used by
//! ops alone.

use crate::domain::money::Money;
use crate::store::engine::sql::statements;
use crate::store::{Step, Store, StoreError};

statements! {
    EXPECTED: query {
        "select cast(coalesce(sum(amount_kobo), 0) as bigint) from payments \
         where wallet_id = $1 and status = 'pending' and kind = 'topup'"
    }
    EXPECTED_BY: query {
        "select cast(coalesce(sum(amount_kobo), 0) as bigint) from payments \
         where wallet_id = $1 and status = 'pending' and kind = 'topup' and business_id = $2"
    }
    // Not the id: SQLite would look through all tables that name one.
    TURN: query { "update wallets set version = version where id = $1" }
    ROOM: query {
        "update wallets set version = version where id = $1 and balance_kobo + $3 + \
         (select cast(coalesce(sum(amount_kobo), 0) as bigint) from payments \
          where wallet_id = $1 and status = 'pending' and kind = 'topup' and business_id = $2) <= $4"
    }
    OPEN_TOPUPS: query {
        "select id from payments where wallet_id = $1 and status = 'pending' and kind = 'topup' \
         and business_id = $2 order by id desc limit $3"
    }
}

/// Guards of a new top-up: the wallet may hold it, beside its balance and what the business expects already.
/// Top-ups of one wallet on several nodes take turns by the first; those of one node must not be under way
/// together.
pub fn room(wallet_id: i64, business_id: i64, amount: Money, most: Money) -> [Step; 2] {
    let room = vec![wallet_id.into(), business_id.into(), amount.into(), most.into()];
    [Step::one(&TURN, vec![wallet_id.into()]), Step::one(&ROOM, room)]
}

/// Whether the statement that was lost is the one that asks for room.
pub fn is_room(statement: &str) -> bool {
    statement == ROOM.name
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
