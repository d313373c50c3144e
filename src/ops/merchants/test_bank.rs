//! The account of a business at the bank of test mode (docs/decisions/0081-test-mode.md): made when the first test payment
//! needs one, so that a test key works with no operator.
//!
//! Numbers go on from 0000000001. Two nodes that make one at the same moment see one another by the count of changed
//! accounts, and a business has one by a unique index.

use crate::app::App;
use crate::domain::account::{ReceivingAccount, TEST_BANK, TEST_BANK_NAME};
use crate::domain::merchant::Mode;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::store::IdKind;
use crate::store::tables::accounts::{self, TEST_ACCOUNTS_MAX};
use crate::store::tables::acts;

/// Businesses that make their first test payment at the same moment each get a number of their own, one after the other.
const MAKE_RACES_MAX: usize = 50;

/// Who makes it, in the list of what was done.
const MADE_BY: &str = "test mode";

/// Characters of an account's name; banks have fewer, and of a very long one nobody can tell whether a payer's is another.
const NAME_MAX: usize = 40;

/// As much of a business's name as an account has, to the end of a word.
fn short(name: &str) -> String {
    let Some((end, _)) = name.char_indices().nth(NAME_MAX) else { return name.to_owned() };
    let cut = &name[..end];
    cut.rfind(' ').map_or(cut, |at| &cut[..at]).trim_end().to_owned()
}

/// The business's account; `None` once there are as many as are allowed.
pub async fn account_of(app: &App, business_id: i64) -> Result<Option<ReceivingAccount>, OpError> {
    let is_its = |one: &&ReceivingAccount| one.is_of_test_bank() && one.business_id == Some(business_id);
    if let Some(known) = app.directory.accounts().await?.iter().find(is_its) {
        return Ok(Some(known.clone()));
    }
    for _ in 0..MAKE_RACES_MAX {
        let seen = app.store.accounts_changed().await?;
        let all = app.store.accounts().await?;
        if let Some(made) = all.iter().find(is_its) {
            app.directory.forget();
            return Ok(Some(made.clone()));
        }
        let at_bank = || all.iter().filter(|one| one.is_of_test_bank());
        let last = at_bank().filter_map(|one| one.number.parse::<i64>().ok()).max().unwrap_or(0);
        if at_bank().count() >= TEST_ACCOUNTS_MAX as usize {
            tracing::warn!(
                business = business_id,
                "no account at the test bank: there are {TEST_ACCOUNTS_MAX} already"
            );
            return Ok(None);
        }
        let Some(business) = app.store.business(business_id).await? else { return Ok(None) };
        let account = ReceivingAccount {
            id: app.store.id(IdKind::Account).await?,
            bank: TEST_BANK.into(),
            bank_name: TEST_BANK_NAME.into(),
            number: format!("{:010}", last + 1),
            name: short(&business.name),
            business_id: Some(business_id),
            via: None,
            mode: Mode::Test,
            forced: false,
            mask_shared: false,
            created_at: app.now(),
            retired_at: None,
            is_spent_unused: false,
            last_used_at: Timestamp::MIN,
        };
        let act = app.store.id(IdKind::Act).await?;
        let subject = format!("account {}", account.id);
        let unit = app
            .store
            .unit(0)
            .await?
            .step(accounts::raise_accounts(seen))
            .step(accounts::add_account(&account))
            .step(acts::record_of(business_id, act, MADE_BY, "account add", &subject, "", app.now()));
        if app.store.apply(unit).await?.is_done() {
            app.directory.forget();
            return Ok(Some(account));
        }
    }
    Err(OpError::Contended)
}
