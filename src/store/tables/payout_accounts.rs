//! Bank accounts of businesses that payouts go to: the SQL and the reading of rows. Used by ops alone.

use crate::domain::payout::PayoutAccount;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

macro_rules! columns {
    () => {
        "id, business_id, bank, number, name, added_by, created_at, usable_at, removed_at"
    };
}

statements! {
    ADD: insert(payout_accounts) {
        id: Int, business_id: Int, bank: Text, number: Text, name: Text, added_by: Text, created_at: Int, usable_at: Int
    }
    PAYOUT_ACCOUNTS: query {
        concat!("select ", columns!(), " from payout_accounts where business_id = $1 and removed_at is null \
                 order by id limit $2")
    }
    PAYOUT_ACCOUNT: query { concat!("select ", columns!(), " from payout_accounts where id = $1") }
    STILL_USABLE: query {
        "update payout_accounts set removed_at = null where id = $1 and business_id = $2 and removed_at is null \
         and usable_at <= $3"
    }
    REMOVE: query {
        "update payout_accounts set removed_at = $3 where id = $1 and business_id = $2 and removed_at is null"
    }
}

pub fn add(account: &PayoutAccount) -> Step {
    Step::insert(ADD {
        id: account.id.into(),
        business_id: account.business_id.into(),
        bank: (&account.bank).into(),
        number: (&account.number).into(),
        name: (&account.name).into(),
        added_by: (&account.added_by).into(),
        created_at: account.created_at.into(),
        usable_at: account.usable_at.into(),
    })
}

/// Whether the constraint is that a business has an account once.
pub fn is_twice(statement: &str) -> bool {
    statement == ADD::sql().name
}

/// Lost if the account was removed by now, or cannot be used yet.
pub fn still_usable(account: &PayoutAccount, now: Timestamp) -> Step {
    Step::one(&STILL_USABLE, vec![account.id.into(), account.business_id.into(), now.into()])
}

/// Guarded: an account is removed once.
pub fn remove(account: &PayoutAccount, now: Timestamp) -> Step {
    Step::one(&REMOVE, vec![account.id.into(), account.business_id.into(), now.into()])
}

fn decode(row: Row) -> Result<PayoutAccount, StoreError> {
    let mut r = row.reader("payout_accounts");
    Ok(PayoutAccount {
        id: r.int("id")?,
        business_id: r.int("business_id")?,
        bank: r.text("bank")?,
        number: r.text("number")?,
        name: r.text("name")?,
        added_by: r.text("added_by")?,
        created_at: r.time("created_at")?,
        usable_at: r.time("usable_at")?,
        removed_at: r.opt_time("removed_at")?,
    })
}

impl Store {
    /// Accounts of a business that were not removed, the oldest first.
    pub async fn payout_accounts(
        &self,
        business_id: i64,
        limit: usize,
    ) -> Result<Vec<PayoutAccount>, StoreError> {
        let rows = self.read(&PAYOUT_ACCOUNTS, vec![business_id.into(), (limit as i64).into()]).await?;
        rows.into_iter().map(decode).collect()
    }

    /// Also one that was removed.
    pub async fn payout_account(&self, id: i64) -> Result<Option<PayoutAccount>, StoreError> {
        self.read_one(&PAYOUT_ACCOUNT, vec![id.into()]).await?.map(decode).transpose()
    }
}
