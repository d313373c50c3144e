//! One POST of a webhook: signed, sent, and told. The body's bytes are those stored with the event, its
//! `webhook-id` is the event's; only the time and the signatures are made anew.
//!
//! What follows from the answer is the caller's matter: the worker that delivers (`work::deliver`), and a test
//! event (`ops::webhooks::test_event`). What is told of an attempt is in words of ours, for the log of attempts and for log
//! lines.

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use crate::app::App;
use crate::domain::time::Timestamp;
use crate::domain::webhook::{self, DeliveryOutcome, Secret};
use crate::domain::weburl::TargetUrl;
use crate::outbound::{PostError, PostOutcome};
use crate::store::tables::deliveries::Attempt;
use crate::store::tables::events::DeliveryInput;
use crate::store::tables::jobs::Job;

/// Of an answer this much is kept with the attempt.
pub const ANSWER_KEPT: usize = 1_024;

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// What came of a webhook that was, or could not be, sent.
pub struct Posted {
    pub url: Option<String>,
    pub at: Timestamp,
    pub outcome: PostOutcome,
    /// Why it could not even be sent.
    pub obstacle: Option<String>,
}

impl Posted {
    /// Nothing was sent, for a reason that may pass (a URL that is repaired).
    pub fn obstacle(url: Option<String>, at: Timestamp, why: String) -> Posted {
        Posted { url, at, outcome: PostOutcome::default(), obstacle: Some(why) }
    }

    /// The status line decides; how the connection ended after it does not.
    pub fn verdict(&self) -> DeliveryOutcome {
        match self.obstacle {
            Some(_) => DeliveryOutcome::Failed,
            None => webhook::judge(self.outcome.status),
        }
    }

    /// What went wrong, or is to be noted of an answer that counts; `None` for a 2xx that came whole.
    pub fn note(&self) -> Option<String> {
        self.obstacle.clone().or_else(|| note(&self.outcome))
    }

    /// The attempt as it is kept.
    pub fn attempt(&self, id: i64, job: &Job) -> Attempt {
        let outcome = &self.outcome;
        let cut = outcome.body_excerpt.floor_char_boundary(ANSWER_KEPT);
        Attempt {
            id,
            job_id: job.id,
            number: job.tries + 1,
            url: self.url.clone(),
            status: outcome.status.map(i64::from),
            error: self.note(),
            answer: Some(outcome.body_excerpt[..cut].to_owned()).filter(|text| !text.is_empty()),
            duration_ms: i64::try_from(outcome.duration.as_millis()).unwrap_or(i64::MAX),
            at: self.at,
        }
    }
}

/// Signs the event and posts it.
pub async fn post(app: &App, input: &DeliveryInput, target: &TargetUrl) -> Posted {
    let at = app.now();
    let url = Some(target.as_str().to_owned());
    let headers = match headers(app, input, at) {
        Ok(headers) => headers,
        Err(why) => {
            tracing::error!(business = input.business_id, why, "a webhook cannot be signed");
            return Posted::obstacle(url, at, why);
        }
    };
    let outcome = app.outbound.post_for_status(target, &headers, input.body.clone().into()).await;
    Posted { url, at, outcome, obstacle: None }
}

/// The headers of a request at a time.
pub(super) fn headers(
    app: &App,
    input: &DeliveryInput,
    at: Timestamp,
) -> Result<[(HeaderName, HeaderValue); 4], String> {
    let seconds = at.0.div_euclid(1_000_000);
    let signature = webhook::sign(&secrets(app, input, at)?, &input.webhook_id, seconds, &input.body);
    let value = |text: &str| {
        HeaderValue::try_from(text).map_err(|_| "a header of the webhook is not plain text".to_owned())
    };
    Ok([
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (WEBHOOK_ID, value(&input.webhook_id)?),
        (WEBHOOK_TIMESTAMP, HeaderValue::from(seconds)),
        (WEBHOOK_SIGNATURE, value(&signature)?),
    ])
}

/// The business's secret, and during a rotation the one before it.
fn secrets(app: &App, input: &DeliveryInput, at: Timestamp) -> Result<Vec<Secret>, String> {
    let place = format!("businesses/{}/webhook_secret", input.business_id);
    let previous = input.previous_secret.as_deref();
    let previous = previous.filter(|_| input.previous_secret_until.is_some_and(|until| at < until));
    let open = |sealed: &[u8]| {
        let plain = app.vault.unseal(&place, sealed).map_err(|error| error.to_string())?;
        let text = std::str::from_utf8(&plain).map_err(|_| "the webhook secret is not text".to_owned())?;
        Secret::parse(text).map_err(|_| "the webhook secret is malformed".to_owned())
    };
    std::iter::once(input.secret.as_slice()).chain(previous).map(open).collect()
}

fn note(outcome: &PostOutcome) -> Option<String> {
    let Some(status) = outcome.status else {
        return Some(match &outcome.error {
            Some(PostError::Timeout) => {
                format!("timed out: no answer within {:.1} s", outcome.duration.as_secs_f64())
            }
            Some(error) => error.to_string(),
            None => "no answer".to_owned(),
        });
    };
    let answered = answered(status, outcome.retry_after.as_deref());
    match &outcome.error {
        Some(error) => Some(format!("{answered}, then: {error}")),
        None => (!(200..300).contains(&status)).then_some(answered),
    }
}

/// `HTTP 503 Service Unavailable, Retry-After: 120 s`.
fn answered(status: u16, retry_after: Option<&str>) -> String {
    let known = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let name = known.map(|reason| format!(" {reason}")).unwrap_or_default();
    let seconds = retry_after.and_then(|text| text.trim().parse::<u64>().ok());
    let more = match (status, seconds) {
        (300..=399, _) => ", redirects are not followed".to_owned(),
        (429 | 503, Some(seconds)) => format!(", Retry-After: {seconds} s"),
        _ => String::new(),
    };
    format!("HTTP {status}{name}{more}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn told(status: Option<u16>, retry_after: Option<&str>, error: Option<PostError>) -> Option<String> {
        let retry_after = retry_after.map(Into::into);
        let duration = Duration::from_millis(15_040);
        note(&PostOutcome { status, retry_after, error, duration, ..PostOutcome::default() })
    }

    #[test]
    fn a_note_names_status_and_cause() {
        assert_eq!(told(Some(204), None, None), None);
        for (status, retry_after, expected) in [
            (500, None, "HTTP 500 Internal Server Error"),
            (599, None, "HTTP 599"),
            (307, None, "HTTP 307 Temporary Redirect, redirects are not followed"),
            (503, Some("120"), "HTTP 503 Service Unavailable, Retry-After: 120 s"),
            (429, Some("Thu, 28 May 2026 20:28:40 GMT"), "HTTP 429 Too Many Requests"),
            (410, None, "HTTP 410 Gone"),
        ] {
            assert_eq!(told(Some(status), retry_after, None).as_deref(), Some(expected));
        }
        assert_eq!(
            told(None, None, Some(PostError::Timeout)).as_deref(),
            Some("timed out: no answer within 15.0 s")
        );
        assert_eq!(
            told(Some(200), None, Some(PostError::Timeout)).as_deref(),
            Some("HTTP 200 OK, then: timed out")
        );
    }
}
