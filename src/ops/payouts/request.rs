//! A business asks for a payout: the amount is set aside in the ledger and the payout is made, in one Unit that is guarded
//! by the balance, by the account and, where a member asks, by the member's place in the business.

use super::accounts::business_name;
use super::words::{subject, to_account};
use crate::app::App;
use crate::domain::ledger::Entry;
use crate::domain::money::Money;
use crate::domain::payout::{AMOUNT_MAX, Payout, PayoutStatus, REFERENCE_MAX, payout_code};
use crate::domain::text::is_plain_line;
use crate::domain::time::Timestamp;
use crate::ops::notices::payouts::payout_changed;
use crate::ops::payments::idempotency::Claim;
use crate::ops::{OpError, RACES_MAX};
pub use crate::store::tables::payouts::{Balance, PayoutRow};
use crate::store::tables::settlements::{self, EntryNote};
use crate::store::tables::{acts, payout_accounts, payouts, users};
use crate::store::{Applied, IdKind, Step};

/// Who acts for a business.
#[derive(Clone, Copy, Debug)]
pub enum Actor<'a> {
    Member {
        user_id: i64,
        email: &'a str,
    },
    /// A program with a key of the business.
    Key,
}

impl Actor<'_> {
    /// As it is kept with the payout.
    pub(super) fn name(&self) -> &str {
        match self {
            Actor::Member { email, .. } => email,
            Actor::Key => "API",
        }
    }

    /// Lost if the member has gone by now.
    pub(super) fn guard(&self, business_id: i64) -> Option<Step> {
        match self {
            Actor::Member { user_id, .. } => Some(users::still_asks_payouts(business_id, *user_id)),
            Actor::Key => None,
        }
    }

    /// A person's act is kept with those of all others.
    pub(super) async fn note(
        &self,
        app: &App,
        act: &str,
        payout: &Payout,
        what: &str,
        now: Timestamp,
    ) -> Result<Option<Step>, OpError> {
        let Actor::Member { email, .. } = self else { return Ok(None) };
        let id = app.store.id(IdKind::Act).await?;
        Ok(Some(acts::record_of(payout.business_id, id, email, act, &subject(payout), what, now)))
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct PayoutRequest<'a> {
    pub business_id: i64,
    pub amount: Money,
    pub account_id: i64,
    /// The business's own.
    pub reference: Option<&'a str>,
}

/// Why nothing was set aside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayoutRefusal {
    #[error("the amount must be more than zero")]
    Amount,
    #[error("the reference must be one line of at most {REFERENCE_MAX} characters")]
    Reference,
    /// Also one of another business.
    #[error("there is no such payout account")]
    UnknownAccount,
    #[error("the payout account cannot be used yet")]
    TooNew { usable_at: Timestamp },
    #[error("the balance is too low")]
    Insufficient { available: Money },
    #[error("you are no member of this business any more who may ask for payouts")]
    NoMember,
    /// The lease of the idempotency key ran out while the request was at work.
    #[error("the request took too long")]
    LeaseLost,
}

/// How an answer is remembered under an idempotency key, in the Unit of the payout.
pub struct Remember<'a> {
    pub claim: &'a Claim,
    pub render: &'a (dyn Fn(&PayoutRow) -> (u16, Vec<u8>) + Send + Sync),
}

impl Remember<'_> {
    pub(super) fn step(&self, row: &PayoutRow) -> Step {
        let (status, body) = (self.render)(row);
        self.claim.answer_step(status, body)
    }
}

/// What a business may ask for and what is set aside.
pub async fn balance(app: &App, business_id: i64) -> Result<Balance, OpError> {
    Ok(app.store.balance(business_id).await?.unwrap_or_default())
}

pub async fn request_payout(
    app: &App,
    actor: Actor<'_>,
    request: &PayoutRequest<'_>,
    remember: Option<&Remember<'_>>,
) -> Result<Result<PayoutRow, PayoutRefusal>, OpError> {
    let PayoutRequest { business_id, amount, account_id, .. } = *request;
    if !amount.is_positive() || amount > AMOUNT_MAX {
        return Ok(Err(PayoutRefusal::Amount));
    }
    let reference = request.reference.map(str::trim).filter(|text| !text.is_empty());
    if reference.is_some_and(|text| text.chars().count() > REFERENCE_MAX || !is_plain_line(text)) {
        return Ok(Err(PayoutRefusal::Reference));
    }
    for _ in 0..RACES_MAX {
        let now = app.now();
        let found = app.store.payout_account(account_id).await?;
        let Some(account) = found.filter(|one| one.business_id == business_id && one.removed_at.is_none())
        else {
            return Ok(Err(PayoutRefusal::UnknownAccount));
        };
        if now < account.usable_at {
            return Ok(Err(PayoutRefusal::TooNew { usable_at: account.usable_at }));
        }
        let available = balance(app, business_id).await?.available;
        if available < amount {
            return Ok(Err(PayoutRefusal::Insufficient { available }));
        }
        let payout = Payout {
            id: app.store.id(IdKind::Payout).await?,
            business_id,
            account_id,
            amount,
            reference: reference.map(str::to_owned),
            code: payout_code(app.random.next_u64()),
            status: PayoutStatus::Pending,
            version: 1,
            requested_by: actor.name().to_owned(),
            created_at: now,
            taken_at: None,
            first: None,
            end: None,
            entry_id: app.store.id(IdKind::Entry).await?,
        };
        let business = business_name(app, business_id).await?;
        let row = PayoutRow {
            payout,
            business,
            bank: account.bank.clone(),
            number: account.number.clone(),
            name: account.name.clone(),
            is_account_removed: false,
        };
        let mut steps = vec![payout_accounts::still_usable(&account, now)];
        steps.extend(actor.guard(business_id));
        steps.extend(request_steps(app, actor, &row, now).await?);
        steps.extend(remember.map(|remember| remember.step(&row)));
        match app.store.apply(app.store.unit(business_id).await?.steps(steps)).await? {
            Applied::Done(_) => {
                app.wake_workers();
                let payout = &row.payout;
                tracing::info!(payout = payout.id, business = business_id, amount = %amount, "payout requested");
                return Ok(Ok(row));
            }
            Applied::Conflict { statement } if users::is_member_guard(statement) => {
                return Ok(Err(PayoutRefusal::NoMember));
            }
            Applied::Conflict { statement } if statement_of_claim(statement) => {
                return Ok(Err(PayoutRefusal::LeaseLost));
            }
            // The balance or the account changed: read again. Or the code is another's, which chance alone does.
            Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => {}
        }
    }
    Err(OpError::Contended)
}

/// Whether the claim of an idempotency key was lost.
pub(super) fn statement_of_claim(statement: &str) -> bool {
    crate::store::tables::idempotency::is_answer(statement)
}

async fn request_steps(
    app: &App,
    actor: Actor<'_>,
    row: &PayoutRow,
    now: Timestamp,
) -> Result<Vec<Step>, OpError> {
    let payout = &row.payout;
    let entry = Entry::payout_reserved(payout.business_id, payout.amount);
    let entry = entry.map_err(|error| OpError::Fault(error.to_string()))?;
    let memo = subject(payout);
    let note = EntryNote {
        id: payout.entry_id,
        kind: "adjustment",
        settlement_id: None,
        business_id: Some(payout.business_id),
        memo: &memo,
        at: now,
    };
    let what = to_account(payout, &row.number, &row.bank);
    let told = format!("{} asked for a payout of {}: {what}.", actor.name(), row.business);
    // The guard of the balance before the posting that moves it.
    let mut steps = vec![payouts::holds(payout.business_id, payout.amount)];
    steps.extend(settlements::post(&note, &entry));
    steps.push(payouts::add(payout));
    steps.extend(payout_changed(app, payout, &told).await?);
    steps.extend(actor.note(app, "payout request", payout, &what, now).await?);
    Ok(steps)
}
