//! The accounts of a business that payouts go to. Only its owners add and remove them, on the dashboard; all owners are
//! told by mail in the same Unit, and a new one cannot be used for a day, so that they have time to say no.

use super::words::account_subject;
use crate::app::App;
use crate::domain::account::{TEST_BANK_NAME, is_full_account_number};
use crate::domain::message::lagos_time;
use crate::domain::payout::{ACCOUNT_WAIT, ACCOUNTS_MAX, PayoutAccount};
use crate::domain::text::is_plain_line;
use crate::ops::OpError;
use crate::ops::notices::payouts::account_changed;
use crate::store::tables::{acts, payout_accounts, users};
use crate::store::{Applied, IdKind};

/// Characters of a bank's name and of a holder's.
const BANK_MAX: usize = 60;
const NAME_MAX: usize = 120;

/// Why nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountRefusal {
    #[error("write the name of the bank, on one line of at most {BANK_MAX} characters")]
    Bank,
    #[error("an account number has 10 digits")]
    Number,
    #[error("write the holder's name as the bank has it, on one line of at most {NAME_MAX} characters")]
    Name,
    #[error("there are {ACCOUNTS_MAX} accounts already; remove one that is not used")]
    TooMany,
    #[error(
        "customers pay into this account, or it is the test bank's: money is paid out to an account of your own"
    )]
    Ours,
    #[error("this account is there already")]
    Twice,
    #[error("only an owner of the business adds and removes payout accounts")]
    NotOwner,
    #[error("this account has just changed; look again")]
    Changed,
}

/// What an owner gives.
#[derive(Clone, Copy, Debug)]
pub struct GivenAccount<'a> {
    pub bank: &'a str,
    pub number: &'a str,
    pub name: &'a str,
}

/// An owner of a business: the user's id and e-mail address.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    pub business_id: i64,
    pub user_id: i64,
    pub email: &'a str,
}

/// Accounts that were not removed, the oldest first.
pub async fn payout_accounts(app: &App, business_id: i64) -> Result<Vec<PayoutAccount>, OpError> {
    Ok(app.store.payout_accounts(business_id, ACCOUNTS_MAX).await?)
}

fn checked(text: &str, most: usize) -> Option<&str> {
    let text = text.trim();
    let is_good =
        text.chars().any(char::is_alphanumeric) && text.chars().count() <= most && is_plain_line(text);
    is_good.then_some(text)
}

pub async fn add_payout_account(
    app: &App,
    owner: &Owner<'_>,
    given: &GivenAccount<'_>,
) -> Result<Result<PayoutAccount, AccountRefusal>, OpError> {
    let Some(bank) = checked(given.bank, BANK_MAX) else { return Ok(Err(AccountRefusal::Bank)) };
    let number = given.number.trim();
    if !is_full_account_number(number) {
        return Ok(Err(AccountRefusal::Number));
    }
    let Some(name) = checked(given.name, NAME_MAX) else { return Ok(Err(AccountRefusal::Name)) };
    let own = app.directory.accounts().await?;
    if own.iter().any(|one| one.number == number) || bank.eq_ignore_ascii_case(TEST_BANK_NAME) {
        return Ok(Err(AccountRefusal::Ours));
    }
    let there = payout_accounts(app, owner.business_id).await?;
    if there.iter().any(|one| one.number == number && one.bank.eq_ignore_ascii_case(bank)) {
        return Ok(Err(AccountRefusal::Twice));
    }
    if there.len() >= ACCOUNTS_MAX {
        return Ok(Err(AccountRefusal::TooMany));
    }
    let now = app.now();
    let account = PayoutAccount {
        id: app.store.id(IdKind::PayoutAccount).await?,
        business_id: owner.business_id,
        bank: bank.to_owned(),
        number: number.to_owned(),
        name: name.to_owned(),
        added_by: owner.email.to_owned(),
        created_at: now,
        usable_at: now + ACCOUNT_WAIT,
        removed_at: None,
    };
    let told = format!(
        "{} added a payout account of {}: {number} at {bank}, {name}. Money can be sent there from {} on.",
        owner.email,
        business_name(app, owner.business_id).await?,
        lagos_time(account.usable_at)
    );
    let what = format!("{number} at {bank}, {name}");
    let unit = app
        .store
        .unit(owner.business_id)
        .await?
        .step(users::still_owner(owner.business_id, owner.user_id))
        .step(payout_accounts::add(&account))
        .steps(account_changed(app, owner.business_id, &told).await?)
        .step(acts::record_of(
            owner.business_id,
            app.store.id(IdKind::Act).await?,
            owner.email,
            "payout account add",
            &account_subject(&account),
            &what,
            now,
        ));
    Ok(match app.store.apply(unit).await? {
        Applied::Done(_) => {
            app.wake_workers();
            Ok(account)
        }
        Applied::ConstraintViolation { statement } if payout_accounts::is_twice(statement) => {
            Err(AccountRefusal::Twice)
        }
        Applied::Conflict { statement } if users::is_member_guard(statement) => Err(AccountRefusal::NotOwner),
        Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => Err(AccountRefusal::Changed),
    })
}

/// Ends the use of an account of the business. `None`: it has none of this id. A payout that is pending still goes there.
pub async fn remove_payout_account(
    app: &App,
    owner: &Owner<'_>,
    id: i64,
) -> Result<Option<Result<PayoutAccount, AccountRefusal>>, OpError> {
    let found = app.store.payout_account(id).await?;
    let is_there = |one: &PayoutAccount| one.business_id == owner.business_id && one.removed_at.is_none();
    let Some(account) = found.filter(is_there) else { return Ok(None) };
    let now = app.now();
    let (number, bank) = (&account.number, &account.bank);
    let told = format!(
        "{} removed a payout account of {}: {number} at {bank}.",
        owner.email,
        business_name(app, owner.business_id).await?
    );
    let unit = app
        .store
        .unit(owner.business_id)
        .await?
        .step(users::still_owner(owner.business_id, owner.user_id))
        .step(payout_accounts::remove(&account, now))
        .steps(account_changed(app, owner.business_id, &told).await?)
        .step(acts::record_of(
            owner.business_id,
            app.store.id(IdKind::Act).await?,
            owner.email,
            "payout account remove",
            &account_subject(&account),
            &format!("{number} at {bank}"),
            now,
        ));
    Ok(Some(match app.store.apply(unit).await? {
        Applied::Done(_) => {
            app.wake_workers();
            Ok(account)
        }
        Applied::Conflict { statement } if users::is_member_guard(statement) => Err(AccountRefusal::NotOwner),
        Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => Err(AccountRefusal::Changed),
    }))
}

/// As people call it.
pub(super) async fn business_name(app: &App, id: i64) -> Result<String, OpError> {
    let business = app.store.business(id).await?;
    Ok(business.map_or_else(|| format!("business {id}"), |business| business.name))
}
