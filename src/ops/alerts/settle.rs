//! Settles a payment from an alert: payment, alert, ledger entry, balance and webhook in one Unit; of a
//! top-up the wallet's balance and a message to its customer instead.
//!
//! Either all of it happens or nothing. The alert and the payment are guarded by the versions the
//! decision rested on, and so is the amount on its account, by the version that was read before similar
//! alerts were looked at; whoever is slower finds a guard missed and decides again.

use super::simulated::may_pay;
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::arrival::ArrivalEnd;
use crate::domain::event::EventKind;
use crate::domain::ledger::Entry;
use crate::domain::matching::Beneficiary;
use crate::domain::merchant::Mode;
use crate::domain::message::MessageKind;
use crate::domain::payment::{Approval, Approver, Payment, settle_figures};
use crate::domain::same_transfer::{Key, keys_beside_another, transfer_keys};
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::messages::outbox::{self, By, NOTES_VALID, Note};
use crate::ops::wallet_payments::topup::wallet_doubt;
use crate::ops::wallets::find::{known_wallet, limits};
use crate::ops::webhooks::body::{self, About, AlertNote};
use crate::ops::webhooks::chosen;
use crate::ops::webhooks::event::{self, Fact};
use crate::store::tables::jobs::{self, JobKind};
use crate::store::tables::settlements::{self, EntryNote, ProvenName, Settlement};
use crate::store::tables::{acts, alerts, arrivals, events, payments, wallets};
use crate::store::{Applied, IdKind, Step};

/// A person's part in an approval.
pub struct ByOperator<'a> {
    pub name: &'a str,
    pub reason: &'a str,
    /// The accepted close name, if it may count as proven from now on.
    pub proven: Option<ProvenName<'a>>,
    /// Keys of the alert that nobody has yet: from now on copies of it are known.
    pub keys: Vec<Key>,
    /// Another settlement stands on the alert's session id, with other money.
    pub beside_another: bool,
}

/// What is to be settled, as it was decided.
pub struct Settling<'a> {
    pub alert: &'a AlertRow,
    pub payment: &'a Payment,
    pub account: &'a ReceivingAccount,
    /// Versions of the amount, by account, read before similar alerts were: on the account that holds the money, and on
    /// those where it may be told as well. In the order of the accounts, so that no two settlements wait for one another.
    pub amount_versions: &'a [(i64, i64)],
    /// In words, with the names that were compared: nothing for a log.
    pub rule: &'a str,
    /// How the amount fits, for the log.
    pub fit: &'static str,
    pub evidence: &'a str,
    pub name_mismatch: bool,
    pub operator: Option<ByOperator<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Settled {
    Done,
    /// Somebody changed the alert, the payment or a similar alert meanwhile.
    Lost,
}

pub async fn settle(app: &App, s: &Settling<'_>) -> Result<Settled, OpError> {
    let now = app.now();
    let received = s.alert.facts.amount.ok_or_else(|| OpError::Fault("an alert without amount".into()))?;
    let (charges, business_receives, mismatch_reason) = settle_figures(s.payment, received);
    let settlement_id = app.store.id(IdKind::Settlement).await?;
    let approver = if s.operator.is_some() { Approver::Operator } else { Approver::Rule };
    let approval = Approval {
        settlement_id,
        received,
        charges,
        business_receives,
        is_mismatch: mismatch_reason.is_some(),
        mismatch_reason,
        name_mismatch: s.name_mismatch,
        matched_at: Some(now),
        at: now,
    };
    let Ok(after) = s.payment.approve(approval, approver) else { return Ok(Settled::Lost) };
    // The last wall: those who decide see to it before.
    if !may_pay(s.alert, s.payment, s.account) {
        let (alert, id) = (s.alert.id, &s.payment.transaction_id);
        return Err(OpError::Fault(format!("alert {alert} and payment {id} are of two modes")));
    }
    let vouched_by = s.operator.as_ref().map(|operator| format!("approved by {}", operator.name));
    let note = alerts::MatchNote {
        settlement_id,
        payment_id: after.id,
        reason: s.rule,
        evidence: s.evidence,
        vouched_by: vouched_by.as_deref(),
        at: now,
    };
    let holding_account = s.account.holding_account();
    let keys = if s.operator.as_ref().is_some_and(|operator| operator.beside_another) {
        keys_beside_another(s.alert, holding_account, received)
    } else {
        transfer_keys(s.alert, Some(holding_account))
    };
    let settlement = Settlement {
        id: settlement_id,
        kind: after.kind.as_str().to_owned(),
        business_id: after.business_id,
        payment_id: after.id,
        alert_id: Some(s.alert.id),
        received,
        business_receives,
        charge: charges.total(),
        rule: s.rule.to_owned(),
        evidence: s.evidence.to_owned(),
        operator: s.operator.as_ref().map(|operator| operator.name.to_owned()),
        settled_at: now,
        reversed_at: None,
        reverse_reason: None,
        undoing_alert: None,
    };
    let credited = match credit(app, s, &after).await? {
        Some(credited) => credited,
        None => return Ok(Settled::Lost),
    };
    let entry_id = app.store.id(IdKind::Entry).await?;
    let entry_note = EntryNote::of_settlement(entry_id, &settlement, &after.transaction_id);
    let unit = app
        .store
        .unit(after.business_id)
        .await?
        .steps(
            s.amount_versions
                .iter()
                .map(|(account, version)| alerts::raise_amount_version_from(*account, received, *version)),
        )
        .step(alerts::matched(s.alert, &note))
        .step(payments::approved(s.payment, &after))
        .steps(gone_elsewhere(app, s, &after, now).await?)
        .steps(waited_for(s, &after, now))
        .steps(credited.guard)
        .step(settlements::add(&settlement))
        .steps(keys.iter().map(|(kind, key)| settlements::add_key(kind, key, settlement_id)))
        .steps(settlements::post(&entry_note, &credited.entry))
        .steps(credited.told)
        .step(jobs::finish_by_subject(JobKind::Decide, s.alert.id, "matched", now))
        .steps(operator_steps(app, s, settlement_id, &after).await?);
    match app.store.apply(unit).await? {
        Applied::Done(_) => {
            app.wake_workers();
            tracing::info!(
                alert = s.alert.id,
                transaction_id = after.transaction_id,
                business = after.business_id,
                received = %received,
                rule = s.fit,
                "payment approved"
            );
            if after.mode == Mode::Live {
                metrics::counter!("tillbell_payments_approved_total").increment(1);
                let waited = now.since(s.alert.first_seen).to_std();
                metrics::histogram!("tillbell_approval_seconds").record(waited.as_secs_f64());
            }
            Ok(Settled::Done)
        }
        Applied::Conflict { statement } => {
            tracing::debug!(alert = s.alert.id, statement, "somebody was faster");
            Ok(Settled::Lost)
        }
        Applied::ConstraintViolation { statement } if events::is_second(statement) => {
            Err(event::was_told(&after.transaction_id, EventKind::PaymentApproved))
        }
        // Another telling of the transfer was settled at this moment: look again, and see it.
        Applied::ConstraintViolation { statement } => {
            tracing::warn!(alert = s.alert.id, statement, "the database refused a settlement");
            Ok(Settled::Lost)
        }
    }
}

/// What waited by this alert waits no more, nor does what waited for this payment.
fn waited_for(s: &Settling<'_>, after: &Payment, now: Timestamp) -> impl Iterator<Item = Step> {
    let has_waited = s.alert.status != AlertStatus::New;
    let by_alert = has_waited.then(|| arrivals::end_settled(s.alert.id, after.id, now));
    by_alert.into_iter().chain([arrivals::end_of_payment(after.id, ArrivalEnd::Paid, now)])
}

/// Another payment's business is told that what waited for it was not its money.
async fn gone_elsewhere(
    app: &App,
    s: &Settling<'_>,
    after: &Payment,
    now: Timestamp,
) -> Result<Vec<Step>, OpError> {
    if s.alert.status == AlertStatus::New {
        return Ok(Vec::new());
    }
    match app.store.open_arrival_of(s.alert.id).await? {
        Some(arrival) if arrival.payment_id != after.id => {
            chosen::waits_no_more(app, s.alert.id, ArrivalEnd::Elsewhere, now).await
        }
        _ => Ok(Vec::new()),
    }
}

/// Who gets the money, under which guard, and who is told.
struct Credited {
    entry: Entry,
    guard: Option<Step>,
    told: Vec<Step>,
}

/// `None`: the wallet of a top-up may not take the money any more.
async fn credit(app: &App, s: &Settling<'_>, after: &Payment) -> Result<Option<Credited>, OpError> {
    let received = after.received.unwrap_or_default();
    let unbalanced = |error: crate::domain::ledger::Unbalanced| OpError::Fault(error.to_string());
    let Beneficiary::Wallet(wallet_id) = Beneficiary::of(after) else {
        let (receives, charge) = (after.business_receives, after.charges.total());
        let entry = Entry::transfer(after.mode, after.business_id, received, receives, charge);
        let told = announce(app, s, after).await?;
        return Ok(Some(Credited { entry: entry.map_err(unbalanced)?, guard: None, told }));
    };
    let wallet = known_wallet(app, wallet_id).await?;
    let now = app.now();
    let guard = if s.operator.is_some() {
        None // a person has been told what speaks against it
    } else if wallet_doubt(app, after, received).await?.is_some() {
        return Ok(None);
    } else {
        let most = limits(app, &wallet).balance;
        Some(wallets::take_in(wallet_id, received, wallet.tier.number(), most, now))
    };
    let note = Note {
        to: &wallet.phone,
        business_id: Some(after.business_id),
        wallet_id: Some(wallet_id),
        kind: MessageKind::Topup,
        subject_id: after.id,
        text: None,
        valid_until: now + NOTES_VALID,
    };
    let mut told = outbox::compose(app, &note, By::Workers).await?.steps;
    told.extend(chosen::topped_up(app, after, s.account, &AlertNote::of(s.alert)).await?);
    let entry = Entry::topup(after.mode, wallet_id, after.business_id, received).map_err(unbalanced)?;
    Ok(Some(Credited { entry, guard, told }))
}

/// The event for the merchant and the job that delivers it.
async fn announce(app: &App, s: &Settling<'_>, after: &Payment) -> Result<Vec<Step>, OpError> {
    let note = AlertNote::of(s.alert);
    let about = About { payment: after, account: Some(s.account), alert: Some(&note) };
    let fact = Fact::of(after, EventKind::PaymentApproved, app.now());
    Ok(event::record(app, fact, |id| body::payment_approved(id, about)).await?.to_vec())
}

async fn operator_steps(
    app: &App,
    s: &Settling<'_>,
    settlement_id: i64,
    after: &Payment,
) -> Result<Vec<Step>, OpError> {
    let Some(operator) = &s.operator else { return Ok(Vec::new()) };
    let subject = format!("alert {} onto payment {}", s.alert.id, after.transaction_id);
    let act = app.store.id(IdKind::Act).await?;
    let mut steps = vec![acts::record_of(
        after.business_id,
        act,
        operator.name,
        "approve",
        &subject,
        operator.reason,
        app.now(),
    )];
    steps.extend(operator.keys.iter().map(|(kind, key)| alerts::add_key(kind, key, s.alert.id)));
    if let Some(proven) = &operator.proven {
        steps.push(settlements::add_proven_name(proven, settlement_id));
    }
    Ok(steps)
}
