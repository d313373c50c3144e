//! What is known of a person who paid: shown on request, and taken out on request, for a payment whose money nobody can doubt
//! any more. Ledger, seals, amounts, times, ids and the keys by which a second telling is known stay, so nothing is credited twice
//! because somebody was forgotten.
//!
//! One payment after another, because a name is no proof of who asks: Nigeria has many of one name.

use crate::app::App;
use crate::domain::alert::AlertRow;
use crate::domain::name::Folded;
use crate::domain::name::index::stored_keys;
use crate::domain::payment::{Kind, Payment, Status};
use crate::domain::time::{Span, Timestamp};
use crate::ops::payments::reject::waiting_alerts;
use crate::ops::webhooks::reduced::reduced;
use crate::ops::{OpError, RACES_MAX, given_reason};
use crate::store::tables::corrections::Correction;
use crate::store::tables::events::{REDUCE_BATCH, WholeEvent, is_reduction, reduce_or_fail};
use crate::store::tables::settlements::{Settlement, forget_proven_name};
use crate::store::tables::{acts, erased, payment_names};
use crate::store::{Applied, IdKind};

/// As long after its end a payment may be disputed: its transfer sent, told or taken back once more (thirty days at most), or
/// its mail read late. What is known of its payer decides about others' money so long.
pub const DISPUTED_FOR: Span = Span::days(90);
/// Alerts that may tell of one payment's money.
const ALERTS_MAX: usize = 50;
/// Corrections that are shown.
const CORRECTIONS_MAX: usize = 100;

/// All that is kept of who paid.
#[derive(Clone, Debug)]
pub struct KnownOfPayer {
    pub payment: Payment,
    pub corrections: Vec<Correction>,
    pub settlements: Vec<Settlement>,
    /// Those that told of the money, copies and debits included.
    pub alerts: Vec<AlertRow>,
    /// Those of them whose payer was not taken out yet, by id.
    pub whole_alerts: Vec<i64>,
    /// What the merchant was told, as long as it is kept.
    pub events: Vec<WholeEvent>,
    pub erased_at: Option<Timestamp>,
}

/// Why nothing was taken out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EraseRefused {
    #[error("business {0} has no payment {1}")]
    NoPayment(i64, String),
    #[error("a reason is required: at most 500 characters, no control characters")]
    Reason,
    #[error("payment {0} is pending: reject it first, or wait until it has ended")]
    Pending(String),
    #[error(
        "payment {transaction_id} ended, or was last told of, less than 90 days ago: until {until} its money can still be disputed, \
         and what is known of its payer decides whose it is"
    )]
    Disputed { transaction_id: String, until: Timestamp },
    #[error("payment {0} is a wallet's: wallets, and what they pay, are not erased")]
    OfWallet(String),
    #[error("alert {0} tells of its money, or may, and waits for a person: decide it first")]
    Waits(i64),
    #[error("alert {0} of its money bears an open alarm: deal with that first")]
    Alarmed(i64),
    #[error(
        "more than {ALERTS_MAX} alerts or {REDUCE_BATCH} events are about payment {0}: too many for one step"
    )]
    TooMany(String),
    #[error("who paid payment {0} was taken out at {1}")]
    Done(String, Timestamp),
    #[error("a webhook of payment {0} is still to be sent: wait until it is, or until it has failed")]
    Undelivered(String),
    #[error("the payment or an alert of it has just changed; look at it again")]
    Changed,
}

/// What is kept of who paid a payment; `None` for an unknown one.
pub async fn known_of_payer(
    app: &App,
    business_id: i64,
    transaction_id: &str,
) -> Result<Option<KnownOfPayer>, OpError> {
    let Some(payment) = app.store.payment_by_transaction(business_id, transaction_id).await? else {
        return Ok(None);
    };
    let settlements = app.store.settlements_of(payment.id).await?;
    let mut alerts: Vec<AlertRow> = Vec::new();
    let told_by = |one: &Settlement| one.alert_id.into_iter().chain(one.undoing_alert);
    for id in settlements.iter().flat_map(told_by) {
        let Some(alert) = app.store.alert(id).await? else { continue };
        let mut told = Vec::new();
        if let Some(amount) = alert.facts.amount {
            told = app.store.tellings_of(&alert, amount, ALERTS_MAX).await?;
            // What pays another payment tells of that one's payer.
            told.retain(|one| one.payment_id.is_none_or(|paid| paid == payment.id));
        }
        for one in std::iter::once(alert).chain(told) {
            if alerts.iter().all(|known| known.id != one.id) {
                alerts.push(one);
            }
        }
    }
    let mut whole_alerts = Vec::new();
    for alert in &alerts {
        if app.store.alert_erased_at(alert.id).await?.is_none() {
            whole_alerts.push(alert.id);
        }
    }
    Ok(Some(KnownOfPayer {
        corrections: app.store.corrections_of(payment.id, CORRECTIONS_MAX).await?,
        events: app.store.whole_events_of(payment.id).await?,
        erased_at: app.store.payment_erased_at(payment.id).await?,
        payment,
        settlements,
        alerts,
        whole_alerts,
    }))
}

/// Takes a payer out of a payment and of what tells of its money, in one Unit.
pub async fn erase_payer(
    app: &App,
    business_id: i64,
    transaction_id: &str,
    operator: &str,
    reason: &str,
) -> Result<Result<KnownOfPayer, EraseRefused>, OpError> {
    let Some(reason) = given_reason(reason) else { return Ok(Err(EraseRefused::Reason)) };
    for _ in 0..RACES_MAX {
        let Some(known) = known_of_payer(app, business_id, transaction_id).await? else {
            return Ok(Err(EraseRefused::NoPayment(business_id, transaction_id.to_owned())));
        };
        if let Some(refused) = refusal(app, &known).await? {
            return Ok(Err(refused));
        }
        let (payment, now) = (&known.payment, app.now());
        let act = app.store.id(IdKind::Act).await?;
        let subject = format!("payment {}", payment.transaction_id);
        let keys = stored_keys(&Folded::new(&payment.payer_name));
        let mut unit = app
            .store
            .unit(business_id)
            .await?
            .steps(known.erased_at.is_none().then(|| erased::payment(payment, now)))
            .steps(payment_names::remove(payment, &keys))
            .steps(
                known
                    .settlements
                    .iter()
                    .flat_map(|one| [erased::settlement(one.id), forget_proven_name(one.id)]),
            );
        // What was told of the money since it was done once is taken out as well.
        for alert in known.alerts.iter().filter(|alert| known.whole_alerts.contains(&alert.id)) {
            unit = unit.steps(erased::alert(alert, now));
        }
        for event in &known.events {
            let left = reduced(&event.body, now)?;
            unit = unit.step(reduce_or_fail(event.id, &left, now)).step(erased::attempts(event.id));
        }
        let unit =
            unit.step(acts::record_of(business_id, act, operator, "person erase", &subject, reason, now));
        match app.store.apply(unit).await? {
            Applied::Done(_) => return Ok(Ok(known)),
            Applied::Conflict { statement } if is_reduction(statement) => {
                return Ok(Err(EraseRefused::Undelivered(payment.transaction_id.clone())));
            }
            Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => {}
        }
    }
    Ok(Err(EraseRefused::Changed))
}

/// Why a payer cannot be taken out now.
async fn refusal(app: &App, known: &KnownOfPayer) -> Result<Option<EraseRefused>, OpError> {
    let payment = &known.payment;
    let id = || payment.transaction_id.clone();
    if let Some(at) = known.erased_at.filter(|_| known.whole_alerts.is_empty()) {
        return Ok(Some(EraseRefused::Done(id(), at)));
    }
    if payment.kind != Kind::Transfer {
        return Ok(Some(EraseRefused::OfWallet(id())));
    }
    if payment.status == Status::Pending {
        return Ok(Some(EraseRefused::Pending(id())));
    }
    if known.alerts.len() > ALERTS_MAX || known.events.len() >= REDUCE_BATCH {
        return Ok(Some(EraseRefused::TooMany(id())));
    }
    for alert in &known.alerts {
        if alert.status.is_waiting() {
            return Ok(Some(EraseRefused::Waits(alert.id)));
        }
        if app.store.alarm_of(alert.id).await?.is_some() {
            return Ok(Some(EraseRefused::Alarmed(alert.id)));
        }
    }
    if let Some(waiting) = waiting_alerts(app, payment).await?.first() {
        return Ok(Some(EraseRefused::Waits(*waiting)));
    }
    let ended = payment.updated_at.max(payment.approvable_until);
    let last = known.alerts.iter().map(|alert| alert.first_seen).fold(ended, Timestamp::max);
    let until = last + DISPUTED_FOR;
    Ok((app.now() < until).then(|| EraseRefused::Disputed { transaction_id: id(), until }))
}
