//! What operators do to wallets: look, credit, unlock, change the tier, suspend and resume.
//!
//! Every act is written down with its operator in the Unit that does it, and guarded by the wallet's
//! version, so that of two at once the slower one looks again: two equal credits at the same moment are
//! not both posted. Called by the command line.

use super::find::{find, limits};
use crate::app::App;
use crate::domain::ledger::{Entry, LedgerAccount};
use crate::domain::money::{Money, naira};
use crate::domain::phone::{NotAMobile, Phone};
use crate::domain::time::Span;
use crate::domain::wallet::{Tier, TierLimits, Wallet};
use crate::ops::{OpError, RACES_MAX, given_reason};
use crate::store::tables::settlements::{self, EntryNote};
pub use crate::store::tables::wallets::StatementLine;
use crate::store::tables::wallets::{self, Change, Credit};
use crate::store::tables::{acts, intents};
use crate::store::{IdKind, Step};

/// The same amount to the same wallet within this needs a reference: it looks like one act done twice.
pub const SAME_CREDIT: Span = Span::minutes(10);
/// Characters of a credit's reference.
const REFERENCE_MAX: usize = 120;
/// Lines of a statement.
pub const STATEMENT_LINES: i64 = 200;

/// Why nothing was done. The texts are for operators.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeskRefusal {
    #[error("the phone {0}")]
    Phone(NotAMobile),
    #[error("this number has no wallet")]
    NoWallet,
    #[error("a reason is required: at most 500 characters, no control characters")]
    Reason,
    #[error("the amount must be more than zero and at most payments.max_amount")]
    Amount,
    #[error("the reference must have 1 to 120 characters and no control characters")]
    Reference,
    #[error("the reference {0:?} was used for another credit")]
    ReferenceTaken(String),
    #[error(
        "{} was credited to this wallet less than 10 minutes ago; if this is another credit, give it a reference \
         of its own with --ref", naira(*.0)
    )]
    Twice(Money),
    #[error("the credit would put the wallet above the limit of tier {tier} ({}); change the tier first", naira(*.most))]
    OverTier { tier: i64, most: Money },
    #[error("the tier must be 1, 2 or 3")]
    Tier,
    #[error("this wallet is already suspended")]
    Suspended,
    #[error("this wallet is not suspended")]
    NotSuspended,
}

/// Everything an operator asks about a wallet.
pub struct WalletStatement {
    pub wallet: Wallet,
    pub limits: TierLimits,
    /// What went out today.
    pub spent_today: Money,
    /// Top-ups that may still arrive.
    pub expected_topups: Money,
    /// Newest first, at most [`STATEMENT_LINES`].
    pub lines: Vec<StatementLine>,
}

type Outcome<T> = Result<Result<T, DeskRefusal>, OpError>;

async fn by_phone(app: &App, phone: &str) -> Outcome<Wallet> {
    let phone = match Phone::parse(phone) {
        Ok(phone) => phone,
        Err(problem) => return Ok(Err(DeskRefusal::Phone(problem))),
    };
    Ok(find(app, &phone).await?.ok_or(DeskRefusal::NoWallet))
}

pub async fn statement(app: &App, phone: &str) -> Outcome<WalletStatement> {
    let wallet = match by_phone(app, phone).await? {
        Ok(wallet) => wallet,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let account = LedgerAccount::Wallet(wallet.id).to_string();
    Ok(Ok(WalletStatement {
        limits: limits(app, &wallet),
        spent_today: wallet.spent_on(app.now()),
        expected_topups: app.store.expected_topups(wallet.id).await?,
        lines: app.store.wallet_lines(&account, STATEMENT_LINES).await?,
        wallet,
    }))
}

/// What is credited, and why.
pub struct GivenCredit<'a> {
    pub phone: &'a str,
    pub amount: Money,
    pub reason: &'a str,
    /// Unique for ever; the same credit under it is not posted twice.
    pub reference: Option<&'a str>,
}

/// Posts a credit against the house account for adjustments.
pub async fn credit(app: &App, operator: &str, given: &GivenCredit<'_>) -> Outcome<Wallet> {
    let Some(reason) = given_reason(given.reason) else { return Ok(Err(DeskRefusal::Reason)) };
    if !given.amount.is_positive() || given.amount > app.config.payments.max_amount {
        return Ok(Err(DeskRefusal::Amount));
    }
    let reference = match given.reference.map(str::trim) {
        Some(text)
            if text.is_empty() || text.chars().count() > REFERENCE_MAX || text.contains(char::is_control) =>
        {
            return Ok(Err(DeskRefusal::Reference));
        }
        other => other,
    };
    for _ in 0..RACES_MAX {
        let wallet = match by_phone(app, given.phone).await? {
            Ok(wallet) => wallet,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Some(refusal) = against(app, &wallet, given.amount, reference).await? {
            return Ok(Err(refusal));
        }
        let steps = credit_steps(app, operator, &wallet, given.amount, reason, reference).await?;
        let unit = app.store.unit(wallet.id).await?.steps(steps);
        if app.store.apply(unit).await?.is_done() {
            tracing::info!(wallet = wallet.id, amount = %given.amount, "wallet credited by an operator");
            return by_phone(app, given.phone).await;
        }
    }
    Err(OpError::Contended)
}

async fn against(
    app: &App,
    wallet: &Wallet,
    amount: Money,
    reference: Option<&str>,
) -> Result<Option<DeskRefusal>, OpError> {
    match reference {
        Some(text) if app.store.wallet_credit_by_ref(text).await?.is_some() => {
            return Ok(Some(DeskRefusal::ReferenceTaken(text.to_owned())));
        }
        Some(_) => {}
        None if app.store.wallet_credits_like(wallet.id, amount, app.now() - SAME_CREDIT).await? > 0 => {
            return Ok(Some(DeskRefusal::Twice(amount)));
        }
        None => {}
    }
    let tier = limits(app, wallet);
    let over = tier.balance.filter(|_| !wallet.may_hold(amount, Money::ZERO, tier));
    Ok(over.map(|most| DeskRefusal::OverTier { tier: wallet.tier.number(), most }))
}

async fn credit_steps(
    app: &App,
    operator: &str,
    wallet: &Wallet,
    amount: Money,
    reason: &str,
    reference: Option<&str>,
) -> Result<Vec<Step>, OpError> {
    let now = app.now();
    let entry = Entry::adjustment(wallet.id, amount).map_err(|error| OpError::Fault(error.to_string()))?;
    let entry_id = app.store.id(IdKind::Entry).await?;
    let note = EntryNote {
        id: entry_id,
        kind: "adjustment",
        settlement_id: None,
        business_id: None,
        memo: reason,
        at: now,
    };
    let row = Credit {
        id: app.store.id(IdKind::Credit).await?,
        wallet_id: wallet.id,
        entry_id,
        amount,
        reference,
        reason,
        operator,
        at: now,
    };
    let most = limits(app, wallet).balance;
    let mut steps = vec![wallets::change(&unchanged(wallet), now)];
    // A suspended wallet may be credited by a person; its limit holds all the same.
    if !wallet.suspended {
        steps.push(wallets::take_in(wallet.id, amount, wallet.tier.number(), most, now));
    }
    steps.extend(settlements::post(&note, &entry));
    steps.push(wallets::add_credit(&row));
    let act = app.store.id(IdKind::Act).await?;
    let told = format!("{}: {reason}", naira(amount));
    steps.push(acts::record(act, operator, "wallet credit", &subject(wallet), &told, now));
    Ok(steps)
}

fn subject(wallet: &Wallet) -> String {
    format!("wallet {}", wallet.id)
}

fn unchanged(wallet: &Wallet) -> Change {
    Change {
        wallet_id: wallet.id,
        version: wallet.version,
        tier: wallet.tier.number(),
        suspended: wallet.suspended,
        locked_until: wallet.locked_until,
    }
}

/// What an operator changes of a wallet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Lifts a lock and forgets the wrong PINs behind it.
    Unlock,
    SetTier(i64),
    Suspend,
    Resume,
}

pub async fn act(app: &App, operator: &str, phone: &str, act: Act, reason: &str) -> Outcome<Wallet> {
    let reason = match act {
        Act::Suspend | Act::Resume => match given_reason(reason) {
            Some(reason) => reason,
            None => return Ok(Err(DeskRefusal::Reason)),
        },
        Act::Unlock | Act::SetTier(_) => reason,
    };
    for _ in 0..RACES_MAX {
        let wallet = match by_phone(app, phone).await? {
            Ok(wallet) => wallet,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let now = app.now();
        let mut change = unchanged(&wallet);
        let (name, more) = match act {
            Act::Unlock => {
                change.locked_until = None;
                ("wallet unlock", Some(intents::clear_tries(wallet.id)))
            }
            Act::SetTier(number) => {
                let Some(tier) = Tier::new(number) else { return Ok(Err(DeskRefusal::Tier)) };
                change.tier = tier.number();
                ("wallet tier", None)
            }
            Act::Suspend if wallet.suspended => return Ok(Err(DeskRefusal::Suspended)),
            Act::Resume if !wallet.suspended => return Ok(Err(DeskRefusal::NotSuspended)),
            Act::Suspend => {
                change.suspended = true;
                ("wallet suspend", None)
            }
            Act::Resume => {
                change.suspended = false;
                ("wallet resume", None)
            }
        };
        let what = match act {
            Act::SetTier(number) => format!("{} to {number}", wallet.tier.number()),
            _ => reason.to_owned(),
        };
        let id = app.store.id(IdKind::Act).await?;
        let unit = app
            .store
            .unit(wallet.id)
            .await?
            .step(wallets::change(&change, now))
            .steps(more)
            .step(acts::record(id, operator, name, &subject(&wallet), &what, now));
        if app.store.apply(unit).await?.is_done() {
            return by_phone(app, phone).await;
        }
    }
    Err(OpError::Contended)
}
