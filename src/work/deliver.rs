//! One delivery: post, judge the answer, record it. `ops::webhooks::post` signs and sends.
//!
//! The attempt's record and what follows from it are one Unit under the job's fence, so a result
//! that comes after a resend or after the lease leaves no trace. The process may die between the
//! answer and that Unit: then the delivery is made again, with the same id.

use crate::app::App;
use crate::crash;
use crate::domain::time::{Span, Timestamp};
use crate::domain::webhook::{self, DeliveryOutcome};
use crate::domain::weburl::TargetUrl;
use crate::log_limit::{Sort, warn_of};
use crate::ops::webhooks::post::{self, Posted};
use crate::store::tables::deliveries;
use crate::store::tables::events::DeliveryInput;
use crate::store::tables::jobs::{self, Job};
use crate::store::{IdKind, StoreError};

/// How soon a delivery whose target is paused looks whether its URL was changed; as much again is
/// added at random.
const PAUSED_LOOK: Span = Span::seconds(60);
/// Tries to write a result while the database is away, a second apart. Together with the deadline
/// of the post they stay under the lease.
const WRITE_TRIES: usize = 10;

/// Posts the delivery.
pub(super) async fn post(app: &App, input: &DeliveryInput, target: &TargetUrl) -> Posted {
    let posted = post::post(app, input, target).await;
    if posted.obstacle.is_none() {
        crash::point("work.after_answer");
    }
    posted
}

/// Records the result of a delivery.
pub(super) async fn conclude(app: &App, job: &Job, posted: &Posted) {
    let now = app.now();
    // Gone for test mode is not gone for live payments: it failed for good, nothing is paused, and nobody is alarmed.
    let (verdict, is_tried_again) = match posted.verdict() {
        DeliveryOutcome::Gone if job.is_test => (DeliveryOutcome::Failed, false),
        verdict => (verdict, verdict == DeliveryOutcome::Failed),
    };
    if !job.is_test {
        count(verdict, posted);
    }
    let attempt_id = match ready(|| app.store.id(IdKind::Attempt)).await {
        Ok(id) => id,
        Err(error) => return unwritten(app, job, &error),
    };
    let attempt = posted.attempt(attempt_id, job);
    let why = attempt.error.clone().unwrap_or_default();
    let next = if is_tried_again { next_attempt(app, job, posted, now) } else { None };
    let mut steps = match (verdict, next) {
        (DeliveryOutcome::Delivered, _) => {
            vec![jobs::finish(job, "delivered", attempt.error.as_deref(), now)]
        }
        (DeliveryOutcome::Gone, _) => {
            let url = attempt.url.clone().unwrap_or_default();
            vec![
                jobs::pause(job, &url, true, look_again(app, now)),
                deliveries::pause_target(job.business_id, &url, now),
            ]
        }
        (DeliveryOutcome::Failed, Some(at)) => vec![jobs::retry(job, at, &why)],
        (DeliveryOutcome::Failed, None) => vec![jobs::finish(job, "failed", Some(&why), now)],
    };
    steps.push(deliveries::record_attempt(&attempt));
    match ready(|| app.store.conclude_job(job, steps.clone())).await {
        Ok(true) if verdict == DeliveryOutcome::Delivered => {}
        Ok(true) => tell(app, job, posted, &why, next),
        Ok(false) => tracing::info!(job = job.id, "a delivery was superseded while in progress"),
        Err(error) => unwritten(app, job, &error),
    }
}

/// When a failed delivery is made again; `None` after the last of the schedule.
fn next_attempt(app: &App, job: &Job, posted: &Posted, now: Timestamp) -> Option<Timestamp> {
    let made = u32::try_from(job.tries + 1).unwrap_or(u32::MAX);
    let schedule = &app.config.webhooks.retry_schedule;
    let asked = posted.outcome.retry_after.as_deref();
    webhook::next_attempt(schedule, made, now, asked, app.random.next_u64())
}

/// One line for an attempt that failed. Of the URL the host alone: path and query may hold secrets.
fn tell(app: &App, job: &Job, posted: &Posted, cause: &str, next: Option<Timestamp>) {
    let host = posted.url.as_deref().and_then(|url| url::Url::parse(url).ok());
    let host = host.as_ref().and_then(|url| url.host_str());
    let (business, delivery, status) = (job.business_id, job.id, posted.outcome.status);
    let attempt = job.tries + 1;
    if job.is_test {
        tracing::debug!(business, delivery, host, status, cause, attempt, "a webhook of test mode failed");
    } else if posted.verdict() == DeliveryOutcome::Gone {
        tracing::error!(
            business,
            delivery,
            host,
            status,
            attempt,
            "a webhook target answered 410 and is paused; its events wait until one is resent, a test event is delivered or the URL is changed"
        );
    } else if let Some(next) = next {
        // A receiver that is down fails as often as it is sent to.
        let sort = Sort { what: "failed webhook attempts", whose: business };
        let Some(left_out) = app.log_limit.admit(sort, app.now()) else { return };
        let left_out = (left_out > 0).then_some(left_out);
        tracing::warn!(
            business, delivery, host, status, cause, attempt, next_at = %next, left_out,
            "a webhook attempt failed"
        );
    } else {
        tracing::error!(business, delivery, host, status, cause, attempt, "a webhook failed for good");
    }
}

/// Postpones a delivery whose target is paused; nothing was sent and no try is counted.
pub(super) async fn put_aside(app: &App, job: &Job, url: &str) {
    let step = jobs::pause(job, url, false, look_again(app, app.now()));
    if let Err(error) = ready(|| app.store.conclude_job(job, [step.clone()])).await {
        unwritten(app, job, &error);
    }
}

/// Ends the delivery of an event that does not hold any more.
pub(super) async fn not_any_more(app: &App, job: &Job, why: &str) {
    if leave_unsent(app, job, why).await {
        tracing::info!(business = job.business_id, delivery = job.id, why, "a webhook is no longer sent");
    }
}

/// Ends the delivery of an event that nobody gave a URL for. The event stays, to be pulled, and can be sent once there is
/// a URL.
pub(super) async fn kept(app: &App, job: &Job, why: &str) {
    if leave_unsent(app, job, why).await {
        tracing::debug!(business = job.business_id, delivery = job.id, why, "an event is kept, and not sent");
    }
}

/// Ends a delivery unmade; no try is counted.
async fn leave_unsent(app: &App, job: &Job, why: &str) -> bool {
    let again = if job.tries > 0 { " again" } else { "" };
    let note = format!("not sent{again}: {why}");
    let step = jobs::drop_untried(job, deliveries::NOT_SENT, &note, app.now());
    match ready(|| app.store.conclude_job(job, [step.clone()])).await {
        Ok(is_written) => is_written,
        Err(error) => {
            unwritten(app, job, &error);
            false
        }
    }
}

/// Gives a claimed delivery back unmade, due again at `at`.
pub(super) async fn give_back(app: &App, job: &Job, at: Timestamp) {
    if let Err(error) = app.store.conclude_job(job, [jobs::defer(job, at)]).await {
        unwritten(app, job, &error);
    }
}

fn look_again(app: &App, now: Timestamp) -> Timestamp {
    let spread = app.random.next_u64() % PAUSED_LOOK.0.unsigned_abs();
    now + PAUSED_LOOK + Span(i64::try_from(spread).unwrap_or(0))
}

/// The lease brings the job back; the receiver sees the same webhook-id again.
fn unwritten(app: &App, job: &Job, error: &StoreError) {
    warn_of!(
        app,
        error,
        { job = job.id, },
        "the result of a delivery was not stored; it will be attempted again"
    );
}

/// Tries again while the database is away.
async fn ready<T, F>(mut write: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    for _ in 1..WRITE_TRIES {
        match write().await {
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(super::PAUSE).await,
            done => return done,
        }
    }
    write().await
}

fn count(verdict: DeliveryOutcome, posted: &Posted) {
    let outcome = match verdict {
        DeliveryOutcome::Delivered => "delivered",
        DeliveryOutcome::Gone => "gone",
        DeliveryOutcome::Failed if posted.obstacle.is_some() => "not_sent",
        DeliveryOutcome::Failed if posted.outcome.status.is_none() => "no_answer",
        DeliveryOutcome::Failed => "failed",
    };
    metrics::counter!("tillbell_webhook_attempts_total", "outcome" => outcome).increment(1);
    if posted.obstacle.is_none() {
        metrics::histogram!("tillbell_webhook_attempt_seconds", "outcome" => outcome)
            .record(posted.outcome.duration.as_secs_f64());
    }
}
