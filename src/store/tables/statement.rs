//! The statement of a business: the lines of the ledger that moved its account, newest first, out of the index over its
//! entries. A line is read together with the balance of the same moment, so that balances after each line can be told
//! from it backwards. Used by ops alone.

use crate::domain::ledger::{LedgerAccount, Side};
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::tables::places::{Place, Window};
use crate::store::{Row, Store, StoreError};

statements! {
    HAS_POSTINGS: query { "select entry_id from postings where account = $1 limit 1" }
    STATEMENT_END: query {
        "select posted_at, id from entries where (business_id, posted_at, id) < ($1, $2, $3) \
         and (business_id, posted_at) >= ($1, 0) order by business_id desc, posted_at desc, id desc limit 1 offset $4"
    }
    // SQLite keeps the order of a cross join.
    STATEMENT_WALK: query {
        "select e.id, e.kind, e.memo, e.posted_at, p.side, p.amount_kobo, t.transaction_id, \
         coalesce(o.id, u.id) as payout_id, \
         (select balance_kobo from merchant_balances where business_id = $1) as balance_kobo \
         from entries e cross join postings p left join settlements s on s.id = e.settlement_id \
         left join payments t on t.id = s.payment_id \
         left join payouts o on o.entry_id = e.id left join payouts u on u.end_entry_id = e.id where (e.business_id, e.posted_at, e.id) < ($1, $2, $3) \
         and (e.business_id, e.posted_at, e.id) >= ($1, $4, $5) and p.entry_id = e.id and p.account = $7 \
         order by e.business_id desc, e.posted_at desc, e.id desc limit $6"
    }
}

/// One line that moved the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementRow {
    pub entry_id: i64,
    /// `settlement`, `reversal` or `adjustment`.
    pub kind: String,
    /// Why, in words; of a settlement its payment's transaction id.
    pub memo: String,
    /// Of the payment, where it is about one.
    pub transaction_id: Option<String>,
    /// Of the payout, where it is about one.
    pub payout_id: Option<i64>,
    pub at: Timestamp,
    /// Below zero where the account lost it.
    pub change: Money,
    /// Of the business when this was read.
    pub balance: Option<Money>,
}

fn decode(row: Row) -> Result<StatementRow, StoreError> {
    let mut r = row.reader("entries");
    let amount = r.money("amount_kobo")?;
    Ok(StatementRow {
        entry_id: r.int("id")?,
        kind: r.text("kind")?,
        memo: r.text("memo")?,
        transaction_id: r.opt_text("transaction_id")?,
        payout_id: r.opt_int("payout_id")?,
        at: r.time("posted_at")?,
        change: match r.word("side", Side::parse)? {
            Side::Credit => amount,
            Side::Debit => Money(-amount.kobo()),
        },
        balance: r.opt_money("balance_kobo")?,
    })
}

impl Store {
    /// Whether anything ever moved the account.
    pub async fn has_postings(&self, account: LedgerAccount) -> Result<bool, StoreError> {
        Ok(self.read_one(&HAS_POSTINGS, vec![account.to_string().into()]).await?.is_some())
    }

    /// Where the window of `rows` entries ends that begins before a place; `None` when there are not as many.
    pub async fn statement_window_end(
        &self,
        business_id: i64,
        before: Place,
        rows: usize,
    ) -> Result<Option<Place>, StoreError> {
        let behind = rows.saturating_sub(1) as i64;
        let params = vec![business_id.into(), before.at.into(), before.id.into(), behind.into()];
        self.place(&STATEMENT_END, params, ("entries", "posted_at")).await
    }

    /// Lines of a window that moved the account, newest first.
    pub async fn statement_in(
        &self,
        business_id: i64,
        account: LedgerAccount,
        window: Window,
        limit: usize,
    ) -> Result<Vec<StatementRow>, StoreError> {
        let mut params = vec![business_id.into()];
        params.extend(window.params(limit));
        params.push(account.to_string().into());
        self.read(&STATEMENT_WALK, params).await?.into_iter().map(decode).collect()
    }
}
