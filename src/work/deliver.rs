//! One delivery: sign, post, judge, write down. The body's bytes are those stored with the event,
//! its `webhook-id` is the event's; only the time and the signatures are made anew.
//!
//! The attempt's record and what follows from it are one Unit under the job's fence, so a result
//! that comes after a resend or after the lease leaves no trace. The process may die between the
//! answer and that Unit: then the delivery is made again, with the same id.

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use crate::app::App;
use crate::crash;
use crate::domain::time::{Span, Timestamp};
use crate::domain::webhook::{self, Secret, Verdict};
use crate::domain::weburl::TargetUrl;
use crate::outbound::PostOutcome;
use crate::store::deliveries::{self, Attempt};
use crate::store::events::Parcel;
use crate::store::jobs::{self, Job};
use crate::store::{IdKind, Step, StoreError};

/// How soon a delivery whose target is paused looks whether its URL was changed; as much again is
/// added at random.
const PAUSED_LOOK: Span = Span::seconds(60);
/// Of an answer this much is kept with the attempt.
const ANSWER_KEPT: usize = 1_024;
/// Tries to write a result while the database is away, a second apart. Together with the deadline
/// of the post they stay under the lease.
const WRITE_TRIES: usize = 10;

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// What came of a delivery that was, or could not be, made.
pub(super) struct Result {
    pub url: Option<String>,
    pub at: Timestamp,
    pub outcome: PostOutcome,
    /// Why it could not even be posted.
    pub obstacle: Option<String>,
}

impl Result {
    /// Nothing was sent, for a reason that may pass (a URL that is repaired).
    pub(super) fn obstacle(url: Option<String>, at: Timestamp, why: String) -> Result {
        Result { url, at, outcome: PostOutcome::default(), obstacle: Some(why) }
    }
}

/// Posts the parcel.
pub(super) async fn post(app: &App, parcel: &Parcel, target: &TargetUrl) -> Result {
    let at = app.now();
    let url = Some(target.as_str().to_owned());
    let headers = match headers(app, parcel, at) {
        Ok(headers) => headers,
        Err(why) => {
            tracing::error!(business = parcel.business_id, why, "a webhook cannot be signed");
            return Result::obstacle(url, at, why);
        }
    };
    let outcome = app.outbound.post(target, &headers, parcel.body.clone().into()).await;
    crash::point("work.after_answer");
    Result { url, at, outcome, obstacle: None }
}

fn headers(
    app: &App,
    parcel: &Parcel,
    at: Timestamp,
) -> std::result::Result<[(HeaderName, HeaderValue); 4], String> {
    let seconds = at.0.div_euclid(1_000_000);
    let signature = webhook::sign(&secrets(app, parcel, at)?, &parcel.webhook_id, seconds, &parcel.body);
    let value = |text: &str| {
        HeaderValue::try_from(text).map_err(|_| "a header of the webhook is not plain text".to_owned())
    };
    Ok([
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (WEBHOOK_ID, value(&parcel.webhook_id)?),
        (WEBHOOK_TIMESTAMP, HeaderValue::from(seconds)),
        (WEBHOOK_SIGNATURE, value(&signature)?),
    ])
}

/// The business's secret, and during a rotation the one before it.
fn secrets(app: &App, parcel: &Parcel, at: Timestamp) -> std::result::Result<Vec<Secret>, String> {
    let place = format!("businesses/{}/webhook_secret", parcel.business_id);
    let previous = parcel.previous_secret.as_deref();
    let previous = previous.filter(|_| parcel.previous_secret_until.is_some_and(|until| at < until));
    let open = |sealed: &[u8]| {
        let plain = app.vault.unseal(&place, sealed).map_err(|error| error.to_string())?;
        let text = std::str::from_utf8(&plain).map_err(|_| "the webhook secret is no text".to_owned())?;
        Secret::parse(text).map_err(|_| "the webhook secret is malformed".to_owned())
    };
    std::iter::once(parcel.secret.as_slice()).chain(previous).map(open).collect()
}

/// Writes down what came of a delivery.
pub(super) async fn conclude(app: &App, job: &Job, result: &Result) {
    let verdict = match result.obstacle {
        Some(_) => Verdict::Failed,
        None => webhook::judge(result.outcome.answered()),
    };
    let now = app.now();
    count(verdict, result);
    let attempt_id = match ready(|| app.store.id(IdKind::Attempt)).await {
        Ok(id) => id,
        Err(error) => return unwritten(job, &error),
    };
    let attempt = attempt(attempt_id, job, result);
    let why = attempt.error.clone().unwrap_or_default();
    let mut steps = match verdict {
        Verdict::Delivered => vec![jobs::finish(job, "delivered", None, now)],
        Verdict::Gone => {
            let url = attempt.url.clone().unwrap_or_default();
            vec![
                jobs::pause(job, &url, true, look_again(app, now)),
                deliveries::pause_target(job.business_id, &url, now),
            ]
        }
        Verdict::Failed => vec![after_failure(app, job, result, &why, now)],
    };
    steps.push(deliveries::record_attempt(&attempt));
    match ready(|| app.store.conclude_job(job, steps.clone())).await {
        Ok(true) if verdict == Verdict::Gone => tracing::error!(
            business = job.business_id,
            url = attempt.url,
            "a webhook target answered 410 and is paused; its events wait until one is resent, a test event is sent or the URL is changed"
        ),
        Ok(true) => {}
        Ok(false) => tracing::info!(job = job.id, "a delivery was superseded while it was under way"),
        Err(error) => unwritten(job, &error),
    }
}

fn after_failure(app: &App, job: &Job, result: &Result, why: &str, now: Timestamp) -> Step {
    let made = u32::try_from(job.tries + 1).unwrap_or(u32::MAX);
    let schedule = &app.config.webhooks.retry_schedule;
    let asked = result.outcome.retry_after.as_deref();
    match webhook::next_attempt(schedule, made, now, asked, app.random.next_u64()) {
        Some(at) => jobs::retry(job, at, why),
        None => {
            tracing::error!(job = job.id, business = job.business_id, why, "a webhook failed for good");
            jobs::finish(job, "failed", Some(why), now)
        }
    }
}

/// Puts a delivery aside whose target is paused; nothing was sent and no try is counted.
pub(super) async fn put_aside(app: &App, job: &Job, url: &str) {
    let step = jobs::pause(job, url, false, look_again(app, app.now()));
    if let Err(error) = ready(|| app.store.conclude_job(job, [step.clone()])).await {
        unwritten(job, &error);
    }
}

/// Gives a claimed delivery back unmade, due again at `at`.
pub(super) async fn give_back(app: &App, job: &Job, at: Timestamp) {
    if let Err(error) = app.store.conclude_job(job, [jobs::defer(job, at)]).await {
        unwritten(job, &error);
    }
}

fn look_again(app: &App, now: Timestamp) -> Timestamp {
    let spread = app.random.next_u64() % PAUSED_LOOK.0.unsigned_abs();
    now + PAUSED_LOOK + Span(i64::try_from(spread).unwrap_or(0))
}

/// The lease brings the job back; the receiver sees the same webhook-id again.
fn unwritten(job: &Job, error: &StoreError) {
    tracing::warn!(job = job.id, %error, "the result of a delivery was not written; it will be made again");
}

/// Tries again while the database is away.
async fn ready<T, F>(mut write: impl FnMut() -> F) -> std::result::Result<T, StoreError>
where
    F: Future<Output = std::result::Result<T, StoreError>>,
{
    for _ in 1..WRITE_TRIES {
        match write().await {
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(super::PAUSE).await,
            done => return done,
        }
    }
    write().await
}

fn attempt(id: i64, job: &Job, result: &Result) -> Attempt {
    let outcome = &result.outcome;
    let refused = || match outcome.status {
        Some(status) if !(200..300).contains(&status) => Some(format!("the answer was {status}")),
        _ => None,
    };
    let error = result.obstacle.clone();
    let error = error.or_else(|| outcome.error.as_ref().map(ToString::to_string)).or_else(refused);
    let cut = outcome.body_excerpt.floor_char_boundary(ANSWER_KEPT);
    Attempt {
        id,
        job_id: job.id,
        number: job.tries + 1,
        url: result.url.clone(),
        status: outcome.status.map(i64::from),
        error,
        answer: Some(outcome.body_excerpt[..cut].to_owned()).filter(|text| !text.is_empty()),
        duration_ms: i64::try_from(outcome.duration.as_millis()).unwrap_or(i64::MAX),
        at: result.at,
    }
}

fn count(verdict: Verdict, result: &Result) {
    let outcome = match verdict {
        Verdict::Delivered => "delivered",
        Verdict::Gone => "gone",
        Verdict::Failed if result.obstacle.is_some() => "not_sent",
        Verdict::Failed if result.outcome.status.is_none() => "no_answer",
        Verdict::Failed => "failed",
    };
    metrics::counter!("tillbell_webhook_attempts_total", "outcome" => outcome).increment(1);
    if result.obstacle.is_none() {
        metrics::histogram!("tillbell_webhook_attempt_seconds", "outcome" => outcome)
            .record(result.outcome.duration.as_secs_f64());
    }
}
