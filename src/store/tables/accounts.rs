//! Receiving accounts: the SQL and the reading of the rows.
//!
//! Which account a payment gets is decided in `domain::account`; whether one may be added, in
//! `ops::merchants::accounts`. Only ops and the directory call this.

use crate::domain::account::ReceivingAccount;
use crate::domain::merchant::Mode;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

/// Accounts of a deployment; adding more is refused, so that every read sees all of them.
pub const ACCOUNTS_MAX: i64 = 10_000;
/// Accounts at the test bank beside them, one for each business that uses test mode.
pub const TEST_ACCOUNTS_MAX: i64 = 10_000;

statements! {
    ACCOUNTS: query {
        "select id, bank, bank_name, number, name, business_id, via_account_id, mode, is_forced, is_mask_shared, \
         created_at, retired_at, last_used_at, case when retired_at is not null and not exists \
         (select 1 from payments p where p.account_id = receiving_accounts.id and p.status = 'pending') and not exists \
         (select 1 from payments p where p.account_id = receiving_accounts.id and p.status <> 'pending') \
         then 1 else 0 end as is_spent_unused from receiving_accounts order by id limit $1"
    }
    ADD_ACCOUNT: insert(receiving_accounts) {
        id: Int, bank: Text, bank_name: Text, number: Text, name: Text, business_id: Int,
        via_account_id: Int, mode: Text, is_forced: Int, is_mask_shared: Int, created_at: Int,
        last_used_at: Int
    }
    REOPEN_ACCOUNT: query {
        "update receiving_accounts set retired_at = null, bank_name = $2, name = $3, business_id = $4, \
         via_account_id = $5, is_forced = $6, is_mask_shared = $7 where id = $1 and retired_at is not null"
    }
    SHARE_MASK: query { "update receiving_accounts set is_mask_shared = 1 where id = $1" }
    // Open payments alone, as many as are counted anywhere.
    OPEN_PAYMENTS: query {
        "select account_id, count(*) as count from (select account_id from payments where status = 'pending' \
         and account_id = $1 limit 10000) as open group by account_id"
    }
    // By whole places, so that the index over all alerts by time will not do.
    LAST_ALERT: query {
        "select first_seen_at from alerts where (account_id, first_seen_at) <= ($1, $2) \
         and (account_id, first_seen_at) >= ($1, 0) order by account_id desc, first_seen_at desc limit 1"
    }
    RETIRE_ACCOUNT: query { "update receiving_accounts set retired_at = $2 where id = $1 and retired_at is null" }
    ACCOUNT_USED: query { "update receiving_accounts set last_used_at = $2 where id = $1 and last_used_at < $2" }
    ACCOUNTS_SEEN: query { "select value from counters where name = 'accounts_changed'" }
    RAISE_ACCOUNTS: query {
        "update counters set value = value + 1 where name = 'accounts_changed' and value = $1"
    }
}

fn account(row: Row) -> Result<ReceivingAccount, StoreError> {
    let row = &mut row.reader("receiving_accounts");
    Ok(ReceivingAccount {
        id: row.int("id")?,
        bank: row.text("bank")?,
        bank_name: row.text("bank_name")?,
        number: row.text("number")?,
        name: row.text("name")?,
        business_id: row.opt_int("business_id")?,
        via: row.opt_int("via_account_id")?,
        mode: row.word("mode", Mode::parse)?,
        forced: row.flag("is_forced")?,
        mask_shared: row.flag("is_mask_shared")?,
        created_at: row.time("created_at")?,
        retired_at: row.opt_time("retired_at")?,
        last_used_at: row.time("last_used_at")?,
        is_spent_unused: row.flag("is_spent_unused")?,
    })
}

/// Open payments of an account that are counted; the statement holds the same number as a literal.
pub const OPEN_MAX: i64 = 10_000;

impl Store {
    /// How many open payments ask for money on an account, at most [`OPEN_MAX`].
    pub async fn open_payments_on(&self, account_id: i64) -> Result<i64, StoreError> {
        match self.read_one(&OPEN_PAYMENTS, vec![account_id.into()]).await? {
            Some(row) => row.reader("payments").int("count"),
            None => Ok(0),
        }
    }

    /// When the newest alert about an account was first seen.
    pub async fn last_alert_on(&self, account_id: i64) -> Result<Option<Timestamp>, StoreError> {
        match self.read_one(&LAST_ALERT, vec![account_id.into(), Timestamp::MAX.into()]).await? {
            Some(row) => row.reader("alerts").time("first_seen_at").map(Some),
            None => Ok(None),
        }
    }

    /// Every account by id, retired ones included.
    pub async fn accounts(&self) -> Result<Vec<ReceivingAccount>, StoreError> {
        let rows = self.read(&ACCOUNTS, vec![(ACCOUNTS_MAX + TEST_ACCOUNTS_MAX).into()]).await?;
        rows.into_iter().map(account).collect()
    }

    /// How often the set of accounts was changed; read it before the accounts and put
    /// [`raise_accounts`] with it into the Unit that adds one.
    pub async fn accounts_changed(&self) -> Result<i64, StoreError> {
        match self.read_one(&ACCOUNTS_SEEN, Vec::new()).await? {
            Some(row) => row.single_int("counters"),
            None => Err(StoreError::Fault("no counter accounts_changed".into())),
        }
    }
}

/// A new account. Its last use is the beginning of time, so that it is chosen next.
pub fn add_account(account: &ReceivingAccount) -> Step {
    Step::insert(ADD_ACCOUNT {
        id: account.id.into(),
        bank: (&account.bank).into(),
        bank_name: (&account.bank_name).into(),
        number: (&account.number).into(),
        name: (&account.name).into(),
        business_id: account.business_id.into(),
        via_account_id: account.via.into(),
        mode: account.mode.as_str().into(),
        is_forced: account.forced.into(),
        is_mask_shared: account.mask_shared.into(),
        created_at: account.created_at.into(),
        last_used_at: account.last_used_at.into(),
    })
}

/// Takes a retired account into use again, with what was said about it now.
pub fn reopen_account(account: &ReceivingAccount) -> Step {
    Step::one(
        &REOPEN_ACCOUNT,
        vec![
            account.id.into(),
            (&account.bank_name).into(),
            (&account.name).into(),
            account.business_id.into(),
            account.via.into(),
            account.forced.into(),
            account.mask_shared.into(),
        ],
    )
}

/// Marks an account whose mask now fits another one too.
pub fn share_mask(id: i64) -> Step {
    Step::one(&SHARE_MASK, vec![id.into()])
}

/// Two accounts added at the same moment must see one another's masks: the second one to commit
/// is lost and looks again.
pub fn raise_accounts(seen: i64) -> Step {
    Step::one(&RAISE_ACCOUNTS, vec![seen.into()])
}

/// Ends an account that is not retired yet.
pub fn retire_account(id: i64, now: Timestamp) -> Step {
    Step::one(&RETIRE_ACCOUNT, vec![id.into(), now.into()])
}

/// Notes the last use of an account; an earlier time than the noted one changes nothing.
pub fn account_used(id: i64, at: Timestamp) -> Step {
    Step::any(&ACCOUNT_USED, vec![id.into(), at.into()])
}
