//! Settles a wallet payment whose PIN was right: intent, payment, debit, credit, fees, webhook and receipt
//! in one Unit.
//!
//! Either all of it happens or nothing. The debit is guarded by balance, day's limit, state and the
//! version of the PIN that was checked; the intent by still waiting. Called by `confirm` alone.

use super::end::known_intent;
use crate::app::App;
use crate::crash;
use crate::domain::event::EventKind;
use crate::domain::intent::{Intent, IntentState};
use crate::domain::ledger::Entry;
use crate::domain::merchant::Mode;
use crate::domain::message::MessageKind;
use crate::domain::money::Money;
use crate::domain::payment::{Approval, Approver, Payment};
use crate::domain::time::Timestamp;
use crate::domain::wallet::{Wallet, WalletStatus};
use crate::ops::messages::outbox::{self, By, NOTES_VALID, Note};
use crate::ops::wallets::find::{known_wallet, limits};
use crate::ops::wallets::held::standing;
use crate::ops::webhooks::body::{self, About};
use crate::ops::webhooks::event::{self, Fact};
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::settlements::{self, EntryNote, Settlement};
use crate::store::tables::wallets::{self, Spending};
use crate::store::tables::{events, intents, payments};
use crate::store::{Applied, IdKind, Unit};

/// Races a settlement may lose; each of them changed something that is looked at again.
const SETTLE_RACES_MAX: usize = 5 * RACES_MAX;

/// What became of a right PIN.
pub(in crate::ops) enum Settled {
    Done,
    /// The intent has ended, paid or not.
    Over(Box<Intent>),
    /// By so much.
    BalanceTooLow(Money),
    OverDailyLimit(Money),
    PinChanged,
    Locked(Timestamp),
    Suspended,
}

/// What the Unit is made of.
struct Debit<'a> {
    intent: &'a Intent,
    try_id: i64,
    wallet: &'a Wallet,
    before: &'a Payment,
    now: Timestamp,
}

pub(in crate::ops) async fn settle(
    app: &App,
    intent_id: i64,
    try_id: i64,
    pin_version: i64,
) -> Result<Settled, OpError> {
    for _ in 0..SETTLE_RACES_MAX {
        let intent = known_intent(app, intent_id).await?;
        if intent.state != IntentState::PendingPin {
            return Ok(Settled::Over(Box::new(intent)));
        }
        let wallet = known_wallet(app, intent.wallet_id).await?;
        let now = app.now();
        let status = standing(app, &wallet, now).await?;
        if let Some(refused) = refusal(app, &intent, &wallet, status, (pin_version, now)) {
            return Ok(refused);
        }
        let payment = app.store.payment(intent.payment_id).await?;
        let before =
            payment.ok_or_else(|| OpError::Fault(format!("payment {} is missing", intent.payment_id)))?;
        let debit = Debit { intent: &intent, try_id, wallet: &wallet, before: &before, now };
        let Some((unit, after)) = unit(app, &debit).await? else { continue };
        crash::point("wallet.before_debit");
        match app.store.apply(unit).await? {
            Applied::Done(_) => {
                crash::point("wallet.after_debit");
                app.wake_workers();
                tracing::info!(
                    intent = intent.id,
                    transaction_id = after.transaction_id,
                    business = after.business_id,
                    wallet = wallet.id,
                    amount = %after.amount,
                    "wallet payment approved"
                );
                if after.mode == Mode::Live {
                    metrics::counter!("tillbell_payments_approved_total").increment(1);
                }
                return Ok(Settled::Done);
            }
            Applied::Conflict { statement } => {
                tracing::debug!(intent = intent.id, statement, "somebody was faster");
            }
            Applied::ConstraintViolation { statement } if events::is_second(statement) => {
                return Err(event::was_told(&after.transaction_id, EventKind::PaymentApproved));
            }
            Applied::ConstraintViolation { statement } => {
                tracing::warn!(intent = intent.id, statement, "the database refused a wallet payment");
            }
        }
    }
    Err(OpError::Contended)
}

fn refusal(
    app: &App,
    intent: &Intent,
    wallet: &Wallet,
    status: WalletStatus,
    (pin_version, now): (i64, Timestamp),
) -> Option<Settled> {
    match status {
        WalletStatus::Active => {}
        WalletStatus::Locked(until) => return Some(Settled::Locked(until)),
        WalletStatus::Suspended => return Some(Settled::Suspended),
    }
    if wallet.pin_version != pin_version {
        return Some(Settled::PinChanged);
    }
    if wallet.balance < intent.amount {
        return Some(Settled::BalanceTooLow(Money(intent.amount.0.saturating_sub(wallet.balance.0))));
    }
    let limits = limits(app, wallet);
    let is_over = !wallet.may_spend(intent.amount, limits, now);
    is_over.then(|| Settled::OverDailyLimit(wallet.over_daily(intent.amount, limits, now)))
}

/// `None`: the payment cannot be approved any more, which the intent will show when it is read again.
async fn unit(app: &App, d: &Debit<'_>) -> Result<Option<(Unit, Payment)>, OpError> {
    let (before, now) = (d.before, d.now);
    let settlement_id = app.store.id(IdKind::Settlement).await?;
    let approval = Approval {
        settlement_id,
        received: before.amount,
        charges: before.charges,
        business_receives: before.business_receives,
        is_mismatch: false,
        mismatch_reason: None,
        name_mismatch: false,
        matched_at: None,
        at: now,
    };
    let Ok(after) = before.approve(approval, Approver::Rule) else { return Ok(None) };
    let settlement = Settlement {
        id: settlement_id,
        kind: after.kind.as_str().to_owned(),
        business_id: after.business_id,
        payment_id: after.id,
        alert_id: None,
        received: after.amount,
        business_receives: after.business_receives,
        charge: after.charges.total(),
        rule: "confirmed by the customer with the PIN".to_owned(),
        evidence: format!("{{\"intent\":{},\"pin_version\":{}}}", d.intent.id, d.wallet.pin_version),
        operator: None,
        settled_at: now,
        reversed_at: None,
        reverse_reason: None,
        undoing_alert: None,
    };
    let entry = Entry::wallet_payment(
        after.mode,
        d.wallet.id,
        after.business_id,
        after.amount,
        after.business_receives,
        after.charges.total(),
    )
    .map_err(|error| OpError::Fault(error.to_string()))?;
    let entry_id = app.store.id(IdKind::Entry).await?;
    let entry_note = EntryNote::of_settlement(entry_id, &settlement, &after.transaction_id);
    let spending = Spending {
        wallet_id: d.wallet.id,
        amount: after.amount,
        pin_version: d.wallet.pin_version,
        tier: d.wallet.tier.number(),
        daily: limits(app, d.wallet).daily,
        now,
    };
    let business = after.business_id;
    let fact = Fact::of(&after, EventKind::PaymentApproved, now);
    let about = About { payment: &after, account: None, alert: None };
    let told = event::record(app, fact, |id| body::payment_approved(id, about)).await?;
    let unit = app
        .store
        .unit(business)
        .await?
        .step(intents::complete(d.intent.id, now))
        .step(payments::approved(before, &after))
        .step(wallets::spend(&spending))
        .step(intents::judge_try(d.try_id, true))
        .step(intents::clear_tries(d.wallet.id))
        .step(settlements::add(&settlement))
        .steps(settlements::post(&entry_note, &entry))
        .steps(told)
        .steps(receipt(app, d).await?.steps);
    Ok(Some((unit, after)))
}

async fn receipt(app: &App, d: &Debit<'_>) -> Result<outbox::Composed, OpError> {
    let note = Note {
        to: &d.wallet.phone,
        business_id: Some(d.intent.business_id),
        wallet_id: Some(d.wallet.id),
        kind: MessageKind::Receipt,
        subject_id: d.intent.id,
        text: None,
        valid_until: d.now + NOTES_VALID,
    };
    outbox::compose(app, &note, By::Workers).await
}
