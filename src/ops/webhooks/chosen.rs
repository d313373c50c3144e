//! Events by choice: the steps that tell them, where the business switched them on, and none where it did not.
//!
//! They belong into the Unit of their fact like those that are always sent. What a business chose is at most a second old
//! (`directory`). Top-ups are told by `wallet.topped_up` alone: they are no payments of the merchant's.

use super::body::{self, About, AlertNote};
use super::event::{Fact, record};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::arrival::{Arrival, ArrivalEnd, ArrivalKind};
use crate::domain::event::EventKind;
use crate::domain::merchant::Mode;
use crate::domain::payment::{Kind, Payment};
use crate::domain::payout::{Payout, PayoutStatus};
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::store::Step;

async fn is_chosen(app: &App, business_id: i64, kind: EventKind) -> Result<bool, OpError> {
    let business = app.directory.business(business_id).await?;
    Ok(business.is_some_and(|business| business.events.includes(kind)))
}

async fn account_of(app: &App, payment: &Payment) -> Result<Option<ReceivingAccount>, OpError> {
    let accounts = app.directory.accounts().await?;
    Ok(accounts.iter().find(|account| Some(account.id) == payment.account_id).cloned())
}

/// Of a payment that was just rejected.
pub(in crate::ops) async fn rejected(app: &App, after: &Payment) -> Result<Vec<Step>, OpError> {
    let kind = EventKind::PaymentRejected;
    if after.kind == Kind::Topup || !is_chosen(app, after.business_id, kind).await? {
        return Ok(Vec::new());
    }
    let account = account_of(app, after).await?;
    let about = About { payment: after, account: account.as_ref(), alert: None };
    let fact = Fact::of(after, kind, after.rejected_at.unwrap_or(after.updated_at));
    Ok(record(app, fact, |id| body::payment_rejected(id, about)).await?.to_vec())
}

/// Of a payment whose amount was just corrected, by the correction's id.
pub(in crate::ops) async fn corrected(
    app: &App,
    before: &Payment,
    after: &Payment,
    correction_id: i64,
) -> Result<Vec<Step>, OpError> {
    let kind = EventKind::PaymentAmountCorrected;
    if !is_chosen(app, after.business_id, kind).await? {
        return Ok(Vec::new());
    }
    let account = account_of(app, after).await?;
    let about = About { payment: after, account: account.as_ref(), alert: None };
    let fact = Fact { subject_id: correction_id, ..Fact::of(after, kind, after.updated_at) };
    Ok(record(app, fact, |id| body::payment_amount_corrected(id, about, before.amount)).await?.to_vec())
}

/// How money that waits for a payment is told; what shows another name is not told to programs.
fn of_arrival(kind: ArrivalKind) -> Option<EventKind> {
    match kind {
        ArrivalKind::Late => Some(EventKind::PaymentLate),
        ArrivalKind::TooLittle => Some(EventKind::PaymentUnderpaid),
        ArrivalKind::TooMuch => Some(EventKind::PaymentOverpaid),
        ArrivalKind::OtherName | ArrivalKind::Waiting => None,
    }
}

/// Of money that came for a payment and waits for a person.
pub(in crate::ops) async fn arrived(
    app: &App,
    arrival: &Arrival,
    payment: &Payment,
) -> Result<Vec<Step>, OpError> {
    let Some(kind) = of_arrival(arrival.kind) else { return Ok(Vec::new()) };
    if payment.kind == Kind::Topup || !is_chosen(app, payment.business_id, kind).await? {
        return Ok(Vec::new());
    }
    let account = account_of(app, payment).await?;
    let about = About { payment, account: account.as_ref(), alert: None };
    let fact = Fact { subject_id: arrival.id, ..Fact::of(payment, kind, arrival.made_at) };
    Ok(record(app, fact, |id| body::money_arrived(id, kind, about, arrival)).await?.to_vec())
}

/// Of money that waited for a payment by an alert and waits no more, though it did not pay it: what became of it. Behind the
/// guard on the alert, under which nothing else is written of what waits by it.
pub(in crate::ops) async fn waits_no_more(
    app: &App,
    alert_id: i64,
    end: ArrivalEnd,
    at: Timestamp,
) -> Result<Vec<Step>, OpError> {
    let Some(arrival) = app.store.open_arrival_of(alert_id).await? else { return Ok(Vec::new()) };
    let Some(kind) = of_arrival(arrival.kind) else { return Ok(Vec::new()) };
    let payment = app.store.payment(arrival.payment_id).await?;
    let Some(payment) = payment.filter(|payment| payment.kind != Kind::Topup) else { return Ok(Vec::new()) };
    if !is_chosen(app, payment.business_id, kind).await? {
        return Ok(Vec::new());
    }
    let account = account_of(app, &payment).await?;
    let about = About { payment: &payment, account: account.as_ref(), alert: None };
    // An arrival has two facts at most: that it came, and that it is gone.
    let fact = Fact { subject_id: -arrival.id, ..Fact::of(&payment, kind, at) };
    Ok(record(app, fact, |id| body::money_gone(id, kind, about, &arrival, end, at)).await?.to_vec())
}

/// Of a top-up that its money just filled the wallet of.
pub(in crate::ops) async fn topped_up(
    app: &App,
    after: &Payment,
    account: &ReceivingAccount,
    alert: &AlertNote,
) -> Result<Vec<Step>, OpError> {
    let kind = EventKind::WalletToppedUp;
    if !is_chosen(app, after.business_id, kind).await? {
        return Ok(Vec::new());
    }
    let about = About { payment: after, account: Some(account), alert: Some(alert) };
    let fact = Fact::of(after, kind, after.approved_at.unwrap_or(after.updated_at));
    Ok(record(app, fact, |id| body::wallet_topped_up(id, about)).await?.to_vec())
}

/// Of a payout that was just paid or refused.
pub(in crate::ops) async fn payout_ended(app: &App, payout: &Payout) -> Result<Vec<Step>, OpError> {
    let kind = match payout.status {
        PayoutStatus::Paid => EventKind::PayoutPaid,
        PayoutStatus::Refused => EventKind::PayoutRefused,
        PayoutStatus::Pending | PayoutStatus::Cancelled => return Ok(Vec::new()),
    };
    let Some(end) = &payout.end else { return Ok(Vec::new()) };
    if !is_chosen(app, payout.business_id, kind).await? {
        return Ok(Vec::new());
    }
    let fact = Fact {
        kind,
        business_id: payout.business_id,
        mode: Mode::Live,
        payment_id: None,
        subject_id: payout.id,
        at: end.at,
    };
    Ok(record(app, fact, |id| body::payout_ended(id, kind, payout, end)).await?.to_vec())
}
