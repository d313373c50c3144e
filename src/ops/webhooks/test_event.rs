//! Tries a target: sends `webhook.test` now, from this process, once, and tells what came back.
//!
//! It goes where the business's own events go, or where those of one payment or one website go. It is kept as a delivery with
//! its attempt like any other, and never retried: whoever tries a target sees the answer and tries again. One
//! that is delivered lifts the pause of its target. If the process dies before the answer is written, the
//! workers take the event for one of the business's own.

use super::body;
use super::deliveries::apply;
use super::event::{self, Fact};
use super::post::post;
use super::target::{self, Addressed};
use crate::app::App;
use crate::domain::event::EventKind;
use crate::domain::merchant::{Mode, WebsiteStatus};
use crate::domain::payment::Kind;
use crate::domain::time::Span;
use crate::domain::webhook::DeliveryOutcome;
use crate::domain::weburl;
use crate::ops::OpError;
use crate::store::IdKind;
use crate::store::tables::deliveries::{self, Attempt};
use crate::store::tables::event_order;
use crate::store::tables::events::DeliveryInput;
use crate::store::tables::jobs::{self, JobKind};

/// Beyond twice the deadline of a post: for what stands before and after it.
const HELD_BEYOND: Span = Span::seconds(30);

/// What became of a test event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tested {
    Sent(Box<TestSent>),
    UnknownBusiness,
    /// The business has no payment of that transaction id.
    UnknownPayment,
    /// The business has no website of that id.
    UnknownWebsite,
    /// There is no target, and why.
    Nowhere(String),
    /// The target may not be sent to, and why.
    Unfit {
        url: String,
        why: String,
    },
}

/// A test event that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestSent {
    pub business_id: i64,
    pub delivery_id: i64,
    pub webhook_id: String,
    pub url: String,
    pub verdict: DeliveryOutcome,
    /// Status, cause, answer and time taken.
    pub attempt: Attempt,
    /// The target was paused, and is resumed.
    pub resumed: bool,
    /// The target is the business's own and on no approved website, so only wallet payments use it.
    pub wallet_payments_only: bool,
    /// Approved websites whose bank transfers are told elsewhere: their ids and where.
    pub elsewhere: Vec<(i64, String)>,
}

/// Whose target is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestOf<'a> {
    /// The business's own webhook URL, else its first website's.
    Business,
    /// Where the webhooks of this payment go.
    Payment(&'a str),
    /// Where those of this website's bank transfers go.
    Website(i64),
}

/// Sends `webhook.test` to one of the business's targets.
pub async fn send_test(app: &App, business_id: i64, of: TestOf<'_>) -> Result<Tested, OpError> {
    let Some(business) = app.directory.business(business_id).await? else {
        return Ok(Tested::UnknownBusiness);
    };
    let websites = app.directory.websites(business_id).await?;
    let mut about =
        DeliveryInput { business_url: business.webhook_url.clone(), ..DeliveryInput::of(business_id) };
    if let TestOf::Payment(transaction_id) = of {
        let Some(payment) = app.store.payment_by_transaction(business_id, transaction_id).await? else {
            return Ok(Tested::UnknownPayment);
        };
        let website = websites.iter().find(|website| Some(website.id) == payment.website_id);
        about.website_url = website.and_then(|website| website.webhook_url.clone());
        about.payment_kind = Some(payment.kind);
        about.payment_url = payment.webhook_url;
    }
    if let TestOf::Website(id) = of {
        let Some(website) = websites.iter().find(|website| website.id == id) else {
            return Ok(Tested::UnknownWebsite);
        };
        let Some(url) = &website.webhook_url else {
            return Ok(Tested::Nowhere(format!(
                "website {id} has no webhook URL, so each of its bank transfers goes to its own webhook_url"
            )));
        };
        about.website_url = Some(url.clone());
        about.payment_kind = Some(Kind::Transfer);
    }
    let target = match target::address(app, &about).await? {
        Addressed::Target(target) => target,
        Addressed::Nowhere { url, why } => return Ok(Tested::Unfit { url, why }),
        Addressed::Unasked { why } => return Ok(Tested::Nowhere(why.to_owned())),
    };
    let wallet_payments_only = !target::is_on_a_website(&target, &websites);
    let is_elsewhere = |url: &&String| of == TestOf::Business && !weburl::same_url(url, target.as_str());
    let approved = websites.iter().filter(|website| website.status == WebsiteStatus::Approved);
    let elsewhere = approved
        .filter_map(|one| Some((one.id, one.webhook_url.as_ref().filter(is_elsewhere)?.clone())))
        .collect();

    let now = app.now();
    let fact = Fact {
        kind: EventKind::WebhookTest,
        business_id,
        mode: Mode::Live,
        payment_id: None,
        subject_id: 0,
        at: now,
    };
    let event = event::event(app, fact, |id| body::webhook_test(id, business_id, now)).await?;
    let held_until = now + Span(app.config.webhooks.timeout.0.saturating_mul(2)) + HELD_BEYOND;
    let job_id = app.store.id(IdKind::Job).await?;
    let (job, held) = jobs::enqueue_held(job_id, JobKind::Deliver, business_id, event.id, held_until, now);
    let unit = app.store.unit(business_id).await?;
    apply(app, unit.steps(event_order::record(&event)).step(held)).await?;
    // With the secrets as they are now.
    let input = app.store.inputs(&[event.id]).await?.remove(&event.id);
    let input = input.ok_or_else(|| OpError::Fault("the test event is gone".into()))?;

    let posted = post(app, &input, &target).await;
    let attempt = posted.attempt(app.store.id(IdKind::Attempt).await?, &job);
    let (verdict, now) = (posted.verdict(), app.now());
    let is_target = |paused: &deliveries::PausedTarget| {
        paused.business_id == business_id && paused.url == target.as_str()
    };
    let was_paused = app.store.paused_targets().await?.iter().any(is_target);
    let outcome = if verdict == DeliveryOutcome::Delivered { "delivered" } else { "failed" };
    let mut steps = vec![
        jobs::finish(&job, outcome, attempt.error.as_deref(), now),
        deliveries::record_attempt(&attempt),
    ];
    match verdict {
        DeliveryOutcome::Delivered => {
            steps.extend(deliveries::resume_target(business_id, target.as_str(), now))
        }
        DeliveryOutcome::Gone => steps.push(deliveries::pause_target(business_id, target.as_str(), now)),
        DeliveryOutcome::Failed => {}
    }
    if !app.store.conclude_job(&job, steps).await? {
        return Err(OpError::Contended);
    }
    app.wake_workers();
    Ok(Tested::Sent(Box::new(TestSent {
        business_id,
        delivery_id: job.id,
        webhook_id: event.webhook_id,
        url: target.as_str().to_owned(),
        verdict,
        attempt,
        resumed: was_paused && verdict == DeliveryOutcome::Delivered,
        wallet_payments_only,
        elsewhere,
    })))
}
