//! Receiving accounts: listing, adding, re-opening, retiring.
//!
//! Which bank a name means is known by the bank templates, which ops do not read: the caller
//! resolves it and hands over what matters here ([`GivenBank`]). An account whose alerts could be
//! taken for another one's is refused unless forced, and marked when forced. With a new account a job is enqueued that
//! places alerts on it that came before.

use crate::app::App;
use crate::domain::account::{
    ReceivingAccount, TEST_BANK, TEST_BANK_NAME, is_full_account_number, look_alike, nuban_is_valid,
};
use crate::domain::merchant::Mode;
use crate::domain::text::is_plain_line;
use crate::domain::time::{Span, Timestamp};
use crate::ops::paging::PAGE_ROWS;
use crate::ops::{OpError, RACES_MAX};
use crate::store::IdKind;
pub use crate::store::tables::accounts::OPEN_MAX;
use crate::store::tables::accounts::{self, ACCOUNTS_MAX};
use crate::store::tables::acts;
use crate::store::tables::jobs::{self, JobKind};

/// When alerts that show an added account's number are looked at: every process knows the account then.
const PLACE_AFTER: Span = Span::seconds(2);
/// Characters of the holder's name and of a bank's.
const NAME_MAX: usize = 255;

/// Digits of a number that a bank's alerts leave visible: at the front, and at the back before
/// the last `hidden_end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskDigits {
    pub lead: usize,
    pub trail: usize,
    pub hidden_end: usize,
}

/// The bank an operator named.
#[derive(Clone, Debug)]
pub enum GivenBank {
    /// One with a template.
    Known {
        code: String,
        /// Display name.
        name: String,
        /// `None` where its alerts show the whole number.
        mask: Option<MaskDigits>,
        /// The three-digit code of the check digit, where known.
        cbn_code: Option<String>,
    },
    /// No template and no alias is called so.
    Unknown(String),
}

/// An account to be added.
#[derive(Clone, Debug)]
pub struct NewAccount {
    pub number: String,
    /// The holder's registered name.
    pub name: String,
    pub bank: GivenBank,
    /// Dedicated to this business; `None` is the pool.
    pub business_id: Option<i64>,
    /// The number of the account of ours that a virtual account's money arrives in.
    pub via: Option<String>,
    pub mode: Mode,
    pub force: bool,
}

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountRefusal {
    #[error("there is no account {0}")]
    Unknown(i64),
    #[error("there is no business {0}")]
    UnknownBusiness(i64),
    #[error("the number must have 10 digits")]
    Number,
    #[error("the name must have a letter, at most 255 characters, and no control or invisible characters")]
    Name,
    #[error(
        "no template reads the mails of {0:?} (tillbell bank list shows the banks); with --force the account is \
         added, but its alerts are never matched automatically"
    )]
    UnknownBank(String),
    #[error("account {0} already has this bank and number")]
    Twice(i64),
    #[error("account {0} is a {1} account and cannot be reopened in the other mode")]
    OtherMode(i64, &'static str),
    #[error(
        "the alerts of this bank show too few digits to distinguish it from account {0} ({1}); with --force \
         it is added, and from then on alerts of account {0} go to review too"
    )]
    LooksAlike(i64, String),
    #[error("--via: no account in use has the number {0}")]
    UnknownVia(String),
    #[error("--via: several accounts have the number {0}")]
    AmbiguousVia(String),
    #[error("--via: account {0} is itself a virtual account")]
    ViaVirtual(i64),
    #[error("there are already 10,000 accounts, the most that are allowed")]
    TooMany,
    #[error(
        "the Tillbell Test Bank is built in: each business has an account there as soon as it makes a test payment, and \
         none is added or retired by hand"
    )]
    BuiltIn,
}

/// What an operator should know about an account that was added all the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountWarning {
    #[error(
        "the check digit of {0} is wrong for {1}: if the number is mistyped, customers pay a stranger. Check it, and \
         retire the account if it is wrong"
    )]
    CheckDigit(String, String),
    #[error("no template reads the mails of {0:?}; its alerts are never matched automatically")]
    NoTemplate(String),
    #[error(
        "its alerts look like those of account {0} ({1}); from now on alerts of account {0} go to review too, until \
         you retire the other one before it has had a payment"
    )]
    MaskShared(i64, String),
    #[error(
        "it is in the pool: payments of every business without accounts of its own are told to pay into it"
    )]
    Pool,
}

/// An account as it stands now.
#[derive(Clone, Debug, PartialEq)]
pub struct AddedAccount {
    pub account: ReceivingAccount,
    /// It was there before, retired.
    pub reopened: bool,
    pub warnings: Vec<AccountWarning>,
}

/// All receiving accounts, retired ones too.
pub async fn list_accounts(app: &App) -> Result<Vec<ReceivingAccount>, OpError> {
    Ok(app.store.accounts().await?)
}

/// An account with how it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountUse {
    pub account: ReceivingAccount,
    /// Open payments that ask for money on it, counted up to [`OPEN_MAX`].
    pub open_payments: i64,
    pub last_alert: Option<Timestamp>,
}

/// Accounts for pages.
#[derive(Clone, Debug)]
pub struct AccountPage {
    pub rows: Vec<AccountUse>,
    /// The next page begins behind this id; `None`: there are no more.
    pub after: Option<i64>,
}

/// A page of accounts, those in use first or retired ones alone; of one business if one is given.
pub async fn browse_accounts(
    app: &App,
    retired: bool,
    business_id: Option<i64>,
    after: Option<i64>,
) -> Result<AccountPage, OpError> {
    let mut all = list_accounts(app).await?;
    all.retain(|one| {
        one.retired_at.is_some() == retired
            && business_id.is_none_or(|id| one.business_id == Some(id))
            && after.is_none_or(|after| one.id > after)
    });
    let more = all.len() > PAGE_ROWS;
    all.truncate(PAGE_ROWS);
    let after = all.last().filter(|_| more).map(|last| last.id);
    let mut rows = Vec::with_capacity(all.len());
    for account in all {
        let (open_payments, last_alert) =
            tokio::try_join!(app.store.open_payments_on(account.id), app.store.last_alert_on(account.id))?;
        rows.push(AccountUse { account, open_payments, last_alert });
    }
    Ok(AccountPage { rows, after })
}

/// Adds an account, or takes a retired one into use again.
pub async fn add_account(
    app: &App,
    operator: &str,
    new: &NewAccount,
) -> Result<Result<AddedAccount, AccountRefusal>, OpError> {
    for _ in 0..RACES_MAX {
        let seen = app.store.accounts_changed().await?;
        if let Some(id) = new.business_id
            && app.store.business(id).await?.is_none()
        {
            return Ok(Err(AccountRefusal::UnknownBusiness(id)));
        }
        let all = app.store.accounts().await?;
        let plan = match plan(new, &all, app.now()) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let Plan { mut account, reopened, alike, warnings } = plan;
        let mut unit = app.store.unit(0).await?.step(accounts::raise_accounts(seen));
        if reopened {
            unit = unit.step(accounts::reopen_account(&account));
        } else {
            account.id = app.store.id(IdKind::Account).await?;
            let (job, now) = (app.store.id(IdKind::Job).await?, app.now());
            let look = jobs::enqueue(job, JobKind::Place, 0, account.id, now + PLACE_AFTER, now);
            unit = unit.step(accounts::add_account(&account)).step(look);
        }
        let act_id = app.store.id(IdKind::Act).await?;
        let subject = format!("account {}", account.id);
        unit = unit.steps(alike.iter().map(|id| accounts::share_mask(*id))).step(acts::record_of(
            account.business_id,
            act_id,
            operator,
            "account add",
            &subject,
            if new.force { "forced" } else { "" },
            app.now(),
        ));
        if app.store.apply(unit).await?.is_done() {
            app.directory.forget();
            return Ok(Ok(AddedAccount { account, reopened, warnings }));
        }
    }
    Err(OpError::Contended)
}

/// Takes an account out of use: new payments do not get it, its alerts match as before.
pub async fn retire_account(
    app: &App,
    operator: &str,
    id: i64,
) -> Result<Result<ReceivingAccount, AccountRefusal>, OpError> {
    for _ in 0..RACES_MAX {
        let Some(mut account) = app.store.accounts().await?.into_iter().find(|a| a.id == id) else {
            return Ok(Err(AccountRefusal::Unknown(id)));
        };
        if account.is_of_test_bank() {
            return Ok(Err(AccountRefusal::BuiltIn));
        }
        if account.retired_at.is_some() {
            return Ok(Ok(account));
        }
        let now = app.now();
        let act_id = app.store.id(IdKind::Act).await?;
        let unit = app.store.unit(0).await?.step(accounts::retire_account(id, now)).step(acts::record_of(
            account.business_id,
            act_id,
            operator,
            "account retire",
            &format!("account {id}"),
            "",
            now,
        ));
        if app.store.apply(unit).await?.is_done() {
            app.directory.forget();
            account.retired_at = Some(now);
            return Ok(Ok(account));
        }
    }
    Err(OpError::Contended)
}

struct Plan {
    account: ReceivingAccount,
    reopened: bool,
    /// Accounts that a mask cannot tell from this one, to be marked.
    alike: Vec<i64>,
    warnings: Vec<AccountWarning>,
}

/// Decides on an account, given all there are.
fn plan(new: &NewAccount, all: &[ReceivingAccount], now: Timestamp) -> Result<Plan, AccountRefusal> {
    let number = new.number.trim();
    if !is_full_account_number(number) {
        return Err(AccountRefusal::Number);
    }
    let name = check_name(&new.name)?;
    let mut warnings = Vec::new();
    let (bank, bank_name, mask) = match &new.bank {
        GivenBank::Known { code, name, mask, cbn_code } => {
            if cbn_code.as_deref().and_then(|cbn| nuban_is_valid(cbn, number)) == Some(false) {
                warnings.push(AccountWarning::CheckDigit(number.to_owned(), name.clone()));
            }
            (code.clone(), name.clone(), *mask)
        }
        GivenBank::Unknown(text) => {
            let text = check_name(text).map_err(|_| AccountRefusal::UnknownBank(text.clone()))?;
            if !new.force {
                return Err(AccountRefusal::UnknownBank(text));
            }
            warnings.push(AccountWarning::NoTemplate(text.clone()));
            (text.to_lowercase(), text, None)
        }
    };
    if bank == TEST_BANK || bank_name.eq_ignore_ascii_case(TEST_BANK_NAME) {
        return Err(AccountRefusal::BuiltIn);
    }
    let before = all.iter().find(|a| a.bank == bank && a.number == number);
    if let Some(before) = before {
        if before.retired_at.is_none() {
            return Err(AccountRefusal::Twice(before.id));
        }
        if before.mode != new.mode {
            return Err(AccountRefusal::OtherMode(before.id, before.mode.as_str()));
        }
    } else if all.iter().filter(|one| !one.is_of_test_bank()).count() >= ACCOUNTS_MAX as usize {
        return Err(AccountRefusal::TooMany);
    }
    let alike = look_alikes(&bank, number, mask, all);
    if let Some(other) = alike.first() {
        if !new.force {
            return Err(AccountRefusal::LooksAlike(other.id, other.number.clone()));
        }
        let shared = |other: &&ReceivingAccount| AccountWarning::MaskShared(other.id, other.number.clone());
        warnings.extend(alike.iter().map(shared));
    }
    let is_doubtful = !alike.is_empty() || matches!(new.bank, GivenBank::Unknown(_));
    if is_doubtful && new.business_id.is_none() {
        warnings.push(AccountWarning::Pool);
    }
    let via = new.via.as_deref().map(|via| find_via(via, &bank, new.mode, all)).transpose()?;
    let account = ReceivingAccount {
        id: before.map_or(0, |before| before.id),
        bank,
        bank_name,
        number: number.to_owned(),
        name,
        business_id: new.business_id,
        via,
        mode: new.mode,
        forced: matches!(new.bank, GivenBank::Unknown(_)),
        mask_shared: !alike.is_empty(),
        created_at: before.map_or(now, |before| before.created_at),
        retired_at: None,
        is_spent_unused: false,
        last_used_at: before.map_or(Timestamp::MIN, |before| before.last_used_at),
    };
    let alike = alike.iter().filter(|other| !other.mask_shared).map(|other| other.id).collect();
    Ok(Plan { account, reopened: before.is_some(), alike, warnings })
}

/// Other accounts at the bank that its alerts write the same; retired ones included, unless they never had a payment.
fn look_alikes<'a>(
    bank: &str,
    number: &str,
    mask: Option<MaskDigits>,
    all: &'a [ReceivingAccount],
) -> Vec<&'a ReceivingAccount> {
    let Some(mask) = mask else { return Vec::new() };
    // Numbers here are digits only, so any cut is between two characters.
    let shown = |number: &str| number[..number.len().saturating_sub(mask.hidden_end)].to_owned();
    let is_alike = |a: &str, b: &str| look_alike(&shown(a), &shown(b), mask.lead, mask.trail);
    let may_be_meant = |a: &&ReceivingAccount| a.bank == bank && a.number != number && !a.is_spent_unused;
    all.iter().filter(may_be_meant).filter(|a| is_alike(&a.number, number)).collect()
}

/// The account a virtual one is settled through; one at the same bank is meant first.
fn find_via(number: &str, bank: &str, mode: Mode, all: &[ReceivingAccount]) -> Result<i64, AccountRefusal> {
    let number = number.trim();
    let fits = |a: &&ReceivingAccount| {
        a.number == number && a.mode == mode && a.retired_at.is_none() && !a.is_of_test_bank()
    };
    let found: Vec<&ReceivingAccount> = all.iter().filter(fits).collect();
    let one = match (found.iter().find(|a| a.bank == bank), &found[..]) {
        (Some(same_bank), _) => same_bank,
        (None, [one]) => one,
        (None, []) => return Err(AccountRefusal::UnknownVia(number.to_owned())),
        _ => return Err(AccountRefusal::AmbiguousVia(number.to_owned())),
    };
    if one.via.is_some() { Err(AccountRefusal::ViaVirtual(one.id)) } else { Ok(one.id) }
}

fn check_name(name: &str) -> Result<String, AccountRefusal> {
    let name = name.trim();
    let is_good =
        name.contains(char::is_alphabetic) && name.chars().count() <= NAME_MAX && is_plain_line(name);
    if is_good { Ok(name.to_owned()) } else { Err(AccountRefusal::Name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

    fn bank() -> GivenBank {
        let (code, name) = ("gtbank".to_owned(), "GTBank".to_owned());
        GivenBank::Known {
            code,
            name,
            mask: Some(MaskDigits { lead: 0, trail: 4, hidden_end: 0 }),
            cbn_code: Some("058".into()),
        }
    }

    fn new(number: &str) -> NewAccount {
        NewAccount {
            number: number.into(),
            name: "MAKO STORES".into(),
            bank: bank(),
            business_id: None,
            via: None,
            mode: Mode::Live,
            force: false,
        }
    }

    fn there(id: i64, number: &str) -> ReceivingAccount {
        ReceivingAccount { id, ..plan(&new(number), &[], NOW).unwrap().account }
    }

    #[test]
    fn an_account_that_a_mask_cannot_tell_apart_is_refused_unless_forced() {
        let all = [there(1, "0123456789")];
        let same_tail = new("9923456789");
        assert_eq!(
            plan(&same_tail, &all, NOW).err(),
            Some(AccountRefusal::LooksAlike(1, "0123456789".into()))
        );
        assert!(plan(&new("9923456788"), &all, NOW).is_ok());
        let forced = plan(&NewAccount { force: true, ..same_tail.clone() }, &all, NOW).unwrap();
        assert!(forced.account.mask_shared && !forced.account.forced);
        assert_eq!(forced.alike, [1]);
        assert!(forced.warnings.contains(&AccountWarning::MaskShared(1, "0123456789".into())));
        assert!(forced.warnings.contains(&AccountWarning::Pool));
        // A bank that hides the last digit too cannot tell two that differ there alone.
        let hiding = GivenBank::Known {
            code: "gtbank".into(),
            name: "GTBank".into(),
            mask: Some(MaskDigits { lead: 1, trail: 2, hidden_end: 1 }),
            cbn_code: None,
        };
        let differing_there = NewAccount { bank: hiding, ..new("0999999781") };
        assert!(plan(&differing_there, &[there(1, "0123456789")], NOW).is_err());
        assert!(plan(&NewAccount { number: "0999999771".into(), ..differing_there }, &all, NOW).is_ok());
        // A retired one is still named by late alerts.
        let retired = [ReceivingAccount { retired_at: Some(NOW), ..there(1, "0123456789") }];
        assert!(plan(&same_tail, &retired, NOW).is_err());
        let [retired] = retired;
        let unused = [ReceivingAccount { is_spent_unused: true, ..retired }];
        assert!(plan(&same_tail, &unused, NOW).is_ok_and(|plan| !plan.account.mask_shared));
        // At another bank, or at one that shows whole numbers, there is nothing to mistake.
        let whole =
            GivenBank::Known { code: "zenith".into(), name: "Zenith".into(), mask: None, cbn_code: None };
        assert!(plan(&NewAccount { bank: whole, ..same_tail }, &all, NOW).is_ok());
    }

    #[test]
    fn a_retired_account_is_reopened_and_one_in_use_is_not_added_twice() {
        let mut all = [there(4, "0123456789")];
        assert_eq!(plan(&new("0123456789"), &all, NOW).err(), Some(AccountRefusal::Twice(4)));
        all[0].retired_at = Some(NOW);
        let again = plan(&NewAccount { business_id: Some(3), ..new("0123456789") }, &all, NOW).unwrap();
        assert!(again.reopened);
        assert_eq!((again.account.id, again.account.business_id), (4, Some(3)));
        let other = NewAccount { mode: Mode::Test, ..new("0123456789") };
        assert_eq!(plan(&other, &all, NOW).err(), Some(AccountRefusal::OtherMode(4, "live")));
    }

    #[test]
    fn an_unknown_bank_needs_force_and_a_wrong_check_digit_only_warns() {
        let strange = NewAccount { bank: GivenBank::Unknown("Moon Bank".into()), ..new("0123456789") };
        assert_eq!(plan(&strange, &[], NOW).err(), Some(AccountRefusal::UnknownBank("Moon Bank".into())));
        let forced = plan(&NewAccount { force: true, ..strange }, &[], NOW).unwrap();
        assert!(forced.account.forced);
        assert_eq!(
            (forced.account.bank.as_str(), forced.account.bank_name.as_str()),
            ("moon bank", "Moon Bank")
        );
        let warned = |number: &str| {
            plan(&new(number), &[], NOW)
                .unwrap()
                .warnings
                .iter()
                .any(|w| matches!(w, AccountWarning::CheckDigit(..)))
        };
        let wrong = (0..10).filter(|digit| warned(&format!("012345678{digit}"))).count();
        assert_eq!(wrong, 9, "one of ten check digits is right");
        for number in ["123456789", "12345678901", "12345 6789", "012345678a"] {
            assert_eq!(plan(&new(number), &[], NOW).err(), Some(AccountRefusal::Number), "{number}");
        }
        assert_eq!(
            plan(&NewAccount { name: "12".into(), ..new("0123456789") }, &[], NOW).err(),
            Some(AccountRefusal::Name)
        );
    }

    #[test]
    fn a_virtual_account_names_one_of_ours() {
        let all = [there(1, "0123456789")];
        let via = |number: &str| NewAccount { via: Some(number.into()), ..new("7712345670") };
        let virtual_one = plan(&via("0123456789"), &all, NOW).unwrap().account;
        assert_eq!(virtual_one.via, Some(1));
        assert_eq!(
            plan(&via("0000000000"), &all, NOW).err(),
            Some(AccountRefusal::UnknownVia("0000000000".into()))
        );
        let nested = [ReceivingAccount { via: Some(9), ..there(1, "0123456789") }];
        assert_eq!(plan(&via("0123456789"), &nested, NOW).err(), Some(AccountRefusal::ViaVirtual(1)));
    }
}
