//! Top-ups of a wallet that are still expected: how much they come to, and which they are.
//!
//! Everything else about their rows is in `payments`, and what became of them in `settlements`. Used by
//! ops alone.

use futures_util::future::try_join_all;

use super::payments::{decode, select};
use crate::domain::money::Money;
use crate::domain::payment::Payment;
use crate::store::engine::sql::statements;
use crate::store::{Step, Store, StoreError, Value};

statements! {
    EXPECTED: query {
        "select cast(coalesce(sum(amount_kobo), 0) as bigint) from payments \
         where wallet_id = $1 and status = 'pending' and kind = 'topup'"
    }
    // Of one moment, so that what the sum lacks is in the difference of what was asked.
    ROOM: query {
        "select w.balance_kobo, \
         coalesce((select t.asked_kobo from topup_sums t where t.wallet_id = $1 and t.business_id = $2), 0) as asked_kobo, \
         cast(coalesce((select sum(p.amount_kobo) from payments p where p.wallet_id = $1 and p.status = 'pending' \
         and p.kind = 'topup' and p.business_id = $2), 0) as bigint) as expected_kobo from wallets w where w.id = $1"
    }
    // Not the id: SQLite would look through all tables that name one.
    HOLDS_NO_MORE: query { "update wallets set version = version where id = $1 and balance_kobo <= $2" }
    COUNT_TOPUP: query {
        "insert into topup_sums (wallet_id, business_id, asked_kobo) values ($1, $2, $3) \
         on conflict (wallet_id, business_id) do update set asked_kobo = topup_sums.asked_kobo + $3 \
         where topup_sums.asked_kobo <= $4"
    }
    ELSEWHERE: query {
        select!(" where status = 'pending' and wallet_id in ($5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) \
                 and account_id <> $1 and amount_kobo between $2 and $3 limit $4")
    }
    OPEN_TOPUPS: query {
        "select id from payments where wallet_id = $1 and status = 'pending' and kind = 'topup' \
         and business_id = $2 order by id desc limit $3"
    }
}

/// What a wallet holds and a business expects for it already, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub balance: Money,
    /// The sum of the business's top-ups that may still be approved.
    pub expected: Money,
    /// The sum of all that it ever asked for.
    asked: Money,
}

/// Guards of a new top-up of `amount`: the wallet holds no more than when `room` was read, and what the business asked
/// for since then leaves it below `most`. Lost otherwise, however many are under way at once.
pub fn count_topup(wallet_id: i64, business_id: i64, amount: Money, room: &Room, most: Money) -> [Step; 2] {
    let left = most.kobo().saturating_sub(room.balance.kobo()).saturating_sub(room.expected.kobo());
    let asked_at_most = room.asked.kobo().saturating_add(left).saturating_sub(amount.kobo());
    let count = vec![wallet_id.into(), business_id.into(), amount.into(), asked_at_most.into()];
    [Step::one(&HOLDS_NO_MORE, vec![wallet_id.into(), room.balance.into()]), Step::one(&COUNT_TOPUP, count)]
}

/// Whether the statement is one of [`count_topup`]: lost there means that the room is to be read again.
pub fn is_count(statement: &str) -> bool {
    [HOLDS_NO_MORE.name, COUNT_TOPUP.name].contains(&statement)
}

/// Wallets that are asked about in one statement.
const WALLETS: usize = 16;

impl Store {
    /// Open top-ups of these wallets of such an amount that are to come to any account but this one, and whether there are more: so many
    /// of each sixteen wallets are read.
    pub async fn open_topups_elsewhere(
        &self,
        wallets: &[i64],
        but_on: i64,
        amounts: (Money, Money),
        limit: usize,
    ) -> Result<(Vec<Payment>, bool), StoreError> {
        let reads = wallets.chunks(WALLETS).map(|wallets| {
            let mut params: Vec<Value> = vec![but_on.into(), amounts.0.into(), amounts.1.into()];
            params.push((limit as i64).into());
            params.extend((0..WALLETS).map(|n| Value::from(wallets[n.min(wallets.len() - 1)])));
            self.read(&ELSEWHERE, params)
        });
        let found = try_join_all(reads).await?;
        let may_be_more = found.iter().any(|rows| rows.len() >= limit);
        let payments = found.into_iter().flatten().map(decode).collect::<Result<Vec<Payment>, _>>()?;
        Ok((payments, may_be_more))
    }

    /// The sum of all top-ups of a wallet that may still be approved.
    pub async fn expected_topups(&self, wallet_id: i64) -> Result<Money, StoreError> {
        let row = self.read_one(&EXPECTED, vec![wallet_id.into()]).await?;
        row.map_or(Ok(Money::ZERO), |row| row.single_int("payments").map(Money))
    }

    /// What a new top-up of a business must leave room for; `None` without such a wallet.
    pub async fn topup_room(&self, wallet_id: i64, business_id: i64) -> Result<Option<Room>, StoreError> {
        let row = self.read_one(&ROOM, vec![wallet_id.into(), business_id.into()]).await?;
        row.map(|row| {
            let mut r = row.reader("wallets");
            Ok(Room {
                balance: r.money("balance_kobo")?,
                expected: r.money("expected_kobo")?,
                asked: r.money("asked_kobo")?,
            })
        })
        .transpose()
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
