//! A person rejects a pending payment.

use crate::app::App;
use crate::domain::alert::AlertStatus;
use crate::domain::arrival::ArrivalEnd;
use crate::domain::intent::IntentEnd;
use crate::domain::matching::similar_amounts;
use crate::domain::name::{Folded, is_like};
use crate::domain::payment::{Payment, Status};
use crate::domain::time::Span;
use crate::ops::webhooks::chosen;
use crate::ops::{OpError, RACES_MAX, given_reason};
use crate::store::IdKind;
use crate::store::tables::alerts::search::Filter;
use crate::store::tables::{acts, arrivals, intents, payments};

/// Waiting alerts that are looked at, of each state.
const WAITING_MAX: usize = 500;
/// Some customers pay before the payment is asked for.
const SENT_BEFORE: Span = Span::days(1);

/// Why it is not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RejectRefused {
    #[error("business {0} has no payment {1}")]
    NoPayment(i64, String),
    #[error("payment {0} is {1}; only a pending payment can be rejected")]
    NotPending(String, &'static str),
    #[error("a reason is required: at most 500 characters, no control characters")]
    Reason,
    #[error("the payment has just changed; look at it again")]
    Changed,
}

/// Alerts that wait for a person and may be for the payment, as far as its price and its payer's name tell: once it is rejected,
/// nobody can approve it.
pub async fn waiting_alerts(app: &App, payment: &Payment) -> Result<Vec<i64>, OpError> {
    let open = app.store.open_arrivals(payment.id).await?;
    let mut waiting: Vec<i64> = open.into_iter().map(|arrival| arrival.alert_id).collect();
    let seen = (payment.created_at - SENT_BEFORE, app.now() + Span::seconds(1));
    let mut alerts = Vec::new();
    for status in [AlertStatus::Review, AlertStatus::Unmatched] {
        let filter = Filter { status: Some(status), ..Filter::default() };
        alerts.extend(app.store.alerts_found(&filter, seen, WAITING_MAX).await?);
    }
    let expected = Folded::new(&payment.payer_name);
    for alert in alerts {
        let (low, high) = similar_amounts(alert.facts.amount.unwrap_or_default());
        let is_near = (low..=high).contains(&payment.amount);
        let is_here = alert.account_id.is_none() || alert.account_id == payment.account_id;
        let may_be_his = alert
            .facts
            .payer_name
            .as_deref()
            .map(Folded::new)
            .is_none_or(|payer| is_like(&expected, &payer, &alert.facts.cut_lengths()));
        if is_here && is_near && may_be_his && !waiting.contains(&alert.id) {
            waiting.push(alert.id);
        }
    }
    Ok(waiting)
}

/// A person rejects a pending payment; no alert and no operator can approve it any more.
pub async fn reject_payment(
    app: &App,
    business_id: i64,
    transaction_id: &str,
    operator: &str,
    reason: &str,
) -> Result<Result<Payment, RejectRefused>, OpError> {
    let Some(reason) = given_reason(reason) else { return Ok(Err(RejectRefused::Reason)) };
    for _ in 0..RACES_MAX {
        let found = app.store.payment_by_transaction(business_id, transaction_id).await?;
        let Some(payment) = found else {
            return Ok(Err(RejectRefused::NoPayment(business_id, transaction_id.to_owned())));
        };
        let now = app.now();
        let Ok(after) = payment.reject(reason, false, now) else {
            let status: Status = payment.status;
            return Ok(Err(RejectRefused::NotPending(payment.transaction_id, status.as_str())));
        };
        let act = app.store.id(IdKind::Act).await?;
        let subject = format!("payment {}", payment.transaction_id);
        // An intent ends with its payment, first as everywhere.
        let intent = app.store.intent_of_payment(payment.id).await?;
        let ended = intent.map(|intent| intents::end(intent.id, IntentEnd::Rejected, now));
        let unit = app
            .store
            .unit(business_id)
            .await?
            .steps(ended)
            .step(payments::rejected(&payment, &after))
            .step(arrivals::end_of_payment(payment.id, ArrivalEnd::Rejected, now))
            .steps(chosen::rejected(app, &after).await?)
            .step(acts::record_of(business_id, act, operator, "reject", &subject, reason, now));
        if app.store.apply(unit).await?.is_done() {
            app.wake_workers();
            return Ok(Ok(after));
        }
    }
    Ok(Err(RejectRefused::Changed))
}
