//! What a person does about webhooks: look at them, send them again. How a target is tried is in `test_event`.
//!
//! A resend raises the attempt of the same job and starts its schedule anew; the log of attempts
//! stays. It also lifts the pause of the target it goes to, so that everything that waited there
//! resumes. The approval of a payment that was reversed is never sent again: a merchant must not be told of money that
//! went back. In bulk test events are left out, too: whoever tried a target saw the answer. Used by the command line.

use std::collections::HashSet;

use super::target::{self, Addressed};
use crate::app::App;
use crate::domain::merchant::WebsiteStatus;
use crate::domain::time::{Span, Timestamp};
use crate::domain::weburl::same_url;
use crate::ops::OpError;
use crate::ops::look_back::{Found, REACH, look_back};
use crate::store::tables::deliveries;
pub use crate::store::tables::deliveries::{Attempt, Delivery, DeliveryStatus};
use crate::store::tables::jobs::CLAIM_BATCH;
use crate::store::tables::places::Place;
use crate::store::tables::{acts, idempotency};
use crate::store::{Applied, IdKind, Step, Unit};

/// Deliveries one bulk resend takes; run it again for more.
pub const BULK_MAX: usize = 100_000;

/// What became of ids that were to be resent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resent {
    pub ids: Vec<i64>,
    /// No delivery has these ids.
    pub unknown: Vec<i64>,
    /// These are not sent again, because they do not hold any more.
    pub superseded: Vec<Delivery>,
}

impl Resent {
    /// Why the first of those that hold no more is not sent again.
    pub fn why_not(&self) -> Option<&'static str> {
        self.superseded.first().and_then(Delivery::superseded)
    }
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    pub business_id: Option<i64>,
    /// Id of the payment that they are about.
    pub payment_id: Option<i64>,
    pub status: Option<DeliveryStatus>,
    pub since: Timestamp,
    pub limit: usize,
}

pub async fn find_delivery(app: &App, id: i64) -> Result<Option<Delivery>, OpError> {
    Ok(app.store.delivery(id).await?)
}

/// Deliveries that fit, newest first, with their attempts.
pub async fn find(app: &App, search: &Search) -> Result<Found<Delivery>, OpError> {
    let Search { business_id, payment_id, status, since, limit } = *search;
    let most = limit as i64 + 1;
    if let Some(payment_id) = payment_id {
        let mut rows = app.store.deliveries_of_payment(payment_id).await?;
        rows.retain(|one| {
            business_id.is_none_or(|id| id == one.business_id)
                && status.is_none_or(|status| status.as_str() == one.status())
                && one.created_at >= since
        });
        rows.reverse();
        return Ok(Found { rows, more: false, searched_back_to: None }.first(limit));
    }
    if status == Some(DeliveryStatus::Failed) {
        let rows = app.store.failed_deliveries(business_id, since, most).await?;
        return Ok(Found { rows, more: false, searched_back_to: None }.first(limit));
    }
    let is_filtered = business_id.is_some() || status.is_some();
    let found = look_back(
        since,
        limit,
        is_filtered.then_some(REACH),
        async |time, rows| app.store.event_slice_end(time, rows).await,
        async |time| app.store.deliveries_found(business_id, status, time, most).await,
    )
    .await?;
    Ok(found.first(limit))
}

/// How many paused targets matter to somebody: a webhook waits for them, or they are the saved URL of a business or of
/// one of its approved websites. A URL that was replaced keeps its pause, for whoever saves it again.
pub async fn paused_in_use(app: &App) -> Result<usize, OpError> {
    let paused = app.store.paused_targets().await?;
    if paused.is_empty() {
        return Ok(0);
    }
    let waited_for: HashSet<(i64, String)> = app.store.targets_waited_for().await?.into_iter().collect();
    let mut count = 0;
    for target in paused {
        let is_saved = is_saved(app, target.business_id, &target.url).await?;
        count += usize::from(is_saved || waited_for.contains(&(target.business_id, target.url)));
    }
    Ok(count)
}

async fn is_saved(app: &App, business_id: i64, url: &str) -> Result<bool, OpError> {
    let business = app.directory.business(business_id).await?.and_then(|found| found.webhook_url.clone());
    let websites = app.directory.websites(business_id).await?;
    let approved = websites.iter().filter(|website| website.status == WebsiteStatus::Approved);
    let of_websites = approved.filter_map(|website| website.webhook_url.as_deref());
    Ok(business.as_deref().into_iter().chain(of_websites).any(|saved| same_url(saved, url)))
}

/// Sends the named deliveries again, whatever became of them before, but for what holds no more; each is an act of the
/// operator's.
pub async fn resend(app: &App, operator: &str, ids: &[i64]) -> Result<Resent, OpError> {
    let mut resent = Resent::default();
    for some in ids.chunks(CLAIM_BATCH / 4) {
        let mut found = Vec::new();
        for id in some {
            match app.store.delivery(*id).await? {
                Some(delivery) if delivery.superseded().is_some() => resent.superseded.push(delivery),
                Some(delivery) => found.push(delivery),
                None => resent.unknown.push(*id),
            }
        }
        let mut noted = Vec::new();
        for delivery in &found {
            let subject = format!("webhook {}", delivery.id);
            noted.push(act(app, delivery.business_id, operator, &subject, "").await?);
        }
        again(app, &found, deliveries::resend, noted).await?;
        resent.ids.extend(found.iter().map(|delivery| delivery.id));
    }
    app.wake_workers();
    Ok(resent)
}

/// Sends again what failed for good within the last `since`, what holds no more and test events left out. Answers
/// the ids, at most [`BULK_MAX`].
pub async fn resend_failed(app: &App, operator: &str, since: Span) -> Result<Vec<i64>, OpError> {
    resend_failed_since(app, operator, app.now() - since, None, BULK_MAX).await
}

/// The same since a time, of one business or of all, at most so many. The acts name them batch by batch: a line for each
/// would hide all other acts.
pub(super) async fn resend_failed_since(
    app: &App,
    operator: &str,
    since: Timestamp,
    business_id: Option<i64>,
    most: usize,
) -> Result<Vec<i64>, OpError> {
    let mut ids: Vec<i64> = Vec::new();
    let mut after = Place::begin_of(Timestamp::MIN);
    while ids.len() < most {
        let limit = (CLAIM_BATCH / 2).min(most - ids.len());
        let found = match business_id {
            Some(id) => app.store.failed_of_business(id, since, after, limit).await?,
            None => {
                let last = ids.last().copied().unwrap_or(0);
                app.store.failed_deliveries_since(since, last, limit as i64).await?
            }
        };
        let Some(last) = found.last() else { break };
        after = Place { at: last.created_at, id: last.id };
        let some: Vec<String> = found.iter().map(|delivery| delivery.id.to_string()).collect();
        let reason = format!("webhooks {}", some.join(", "));
        let noted = act(app, business_id, operator, "failed webhooks", &reason).await?;
        again(app, &found, deliveries::resend_failed, vec![noted]).await?;
        ids.extend(found.iter().map(|delivery| delivery.id));
        app.wake_workers();
    }
    Ok(ids)
}

async fn act(
    app: &App,
    business_id: impl Into<Option<i64>>,
    operator: &str,
    subject: &str,
    reason: &str,
) -> Result<Step, OpError> {
    let id = app.store.id(IdKind::Act).await?;
    Ok(acts::record_of(business_id, id, operator, "webhook resend", subject, reason, app.now()))
}

/// Sends one delivery again because the merchant's own program asks for it; with the answer under its idempotency key.
/// `false`: the key's lease ran out, and nothing was done.
pub(super) async fn resend_by_program(
    app: &App,
    delivery: &Delivery,
    answer: Option<Step>,
) -> Result<bool, OpError> {
    let business_id = delivery.business_id;
    let noted = act(app, business_id, "API", &format!("webhook {}", delivery.id), "").await?;
    lift_pauses(app, std::slice::from_ref(delivery)).await?;
    let unit = app.store.unit(business_id).await?.step(deliveries::resend(delivery.id, app.now()));
    match app.store.apply(unit.step(noted).steps(answer)).await? {
        Applied::Done(_) => {
            app.wake_workers();
            Ok(true)
        }
        Applied::Conflict { statement } if idempotency::is_answer(statement) => Ok(false),
        Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => Err(OpError::Contended),
    }
}

/// Lifts the pauses in the way of these deliveries and makes them due, with what is noted of it.
async fn again(
    app: &App,
    deliveries: &[Delivery],
    step: fn(i64, Timestamp) -> Step,
    noted: Vec<Step>,
) -> Result<(), OpError> {
    let Some(first) = deliveries.first() else { return Ok(()) };
    lift_pauses(app, deliveries).await?;
    let now = app.now();
    let steps = deliveries.iter().map(|delivery| step(delivery.id, now));
    apply(app, app.store.unit(first.business_id).await?.steps(steps).steps(noted)).await
}

/// What is sent again must not find its target paused.
async fn lift_pauses(app: &App, deliveries: &[Delivery]) -> Result<(), OpError> {
    let now = app.now();
    let events: Vec<i64> = deliveries.iter().map(|delivery| delivery.event_id).collect();
    let mut targets = HashSet::new();
    for input in app.store.inputs(&events).await?.values() {
        if let Addressed::Target(target) = target::address(app, input).await? {
            targets.insert((input.business_id, target.as_str().to_owned()));
        }
    }
    for paused in app.store.paused_targets().await? {
        if targets.contains(&(paused.business_id, paused.url.clone())) {
            let unit = app.store.unit(paused.business_id).await?;
            apply(app, unit.steps(deliveries::resume_target(paused.business_id, &paused.url, now))).await?;
        }
    }
    Ok(())
}

pub(in crate::ops) async fn apply(app: &App, unit: Unit) -> Result<(), OpError> {
    match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(()),
        Applied::Conflict { .. } => Err(OpError::Contended),
        Applied::ConstraintViolation { statement } => {
            Err(OpError::Fault(format!("the database refused {statement}")))
        }
    }
}
