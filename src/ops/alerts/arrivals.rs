//! Money that a decision leaves to a person, as a fact beside it: of the one payment that it may pay, if there is but one
//! (docs/decisions/0079-the-checkout-page.md). Pages and tills are told of it, so it rests on what the bank said for sure.
//!
//! Opened in the Unit of the decision alone. Whoever decides the alert or the payment otherwise ends it in his own Unit
//! (`store::tables::arrivals`).

use super::weigh::Weighed;
use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::arrival::{Arrival, ArrivalEnd, kind_of};
use crate::domain::payment::{Payment, Status};
use crate::domain::same_transfer::interval;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::webhooks::chosen;
use crate::store::tables::arrivals;
use crate::store::{IdKind, Step};

/// The steps that belong behind the guard of an alert that goes to a person: none where it is told already.
pub(super) async fn told(
    app: &App,
    alert: &AlertRow,
    weighed: &Weighed,
    now: Timestamp,
) -> Result<Vec<Step>, OpError> {
    let open = match alert.status {
        AlertStatus::New => None,
        _ => app.store.open_arrival_of(alert.id).await?,
    };
    let Some((arrival, payment)) = waits_for(alert, weighed, now) else {
        let end = |_| arrivals::end_of_alert(alert.id, ArrivalEnd::DecidedAgain, now);
        return Ok(open.map(end).into_iter().collect());
    };
    let what = |one: &Arrival| (one.payment_id, one.kind, one.received);
    if open.is_some_and(|open| what(&open) == what(&arrival)) {
        return Ok(Vec::new());
    }
    let id = app.store.id(IdKind::Arrival).await?;
    let arrival = Arrival { id, ..arrival };
    let mut steps = arrivals::add(&arrival, payment).to_vec();
    steps.extend(chosen::arrived(app, &arrival, payment).await?);
    Ok(steps)
}

/// The payment that it waits for. A mail that leaves a doubt about itself, or money that may have gone again, tells
/// nobody anything; nor does what not all payments could be compared with.
fn waits_for<'a>(alert: &AlertRow, weighed: &'a Weighed, now: Timestamp) -> Option<(Arrival, &'a Payment)> {
    let received = alert.facts.amount?;
    let is_sure = alert.authenticity.counts()
        && !alert.facts.is_outgoing()
        && alert.facts.doubts.is_empty()
        && alert.account_id.is_some()
        && weighed.account.is_some()
        && weighed.undone_by.is_none()
        && !weighed.is_incomplete;
    let considered = weighed.decision.only_one().filter(|_| is_sure)?;
    let payment = weighed.payments.iter().find(|payment| payment.id == considered.payment_id)?;
    let can_be_paid = match payment.status {
        Status::Pending => true,
        Status::Rejected => payment.swept,
        Status::Approved => false,
    };
    if !can_be_paid || payment.account_id != alert.account_id {
        return None;
    }
    let is_doubted = !weighed.doubt_kinds.is_empty() || alert.facts.payer_name.is_none();
    let times = (interval(alert), alert.first_seen);
    let kind = kind_of(&weighed.decision, considered, payment, times, is_doubted);
    let arrival = Arrival {
        id: 0,
        alert_id: alert.id,
        payment_id: payment.id,
        business_id: payment.business_id,
        kind,
        received,
        occurred_at: times.0.end,
        made_at: now,
        ended: None,
    };
    Some((arrival, payment))
}
