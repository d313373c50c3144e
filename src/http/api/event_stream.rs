//! `GET /events/stream`: the events of test mode as they happen, each with the very bytes and headers of its webhook, so that
//! `tillbell listen` can hand them to a program on a developer's machine (contract/webhooks.md#h25).
//!
//! Server-sent events. `id` is the event's, by which a client goes on after a lost connection (`Last-Event-ID`, or `after`);
//! nothing is left out and nothing is told twice. Test keys alone: live events are delivered, not watched.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use serde::Serialize;

use super::balance::parameter;
use super::{Admitted, Received, admit_without_body, find_caller};
use crate::domain::event::is_event_id;
use crate::domain::merchant::Mode;
use crate::http::Http;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Operation, Tag, Writer};
use crate::http::live::stream::event;
use crate::http::live::{PLACES_RETRY, feed};
use crate::http::paths::EVENTS_STREAM;
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::ApiError;
use crate::http::response::problems::Problems;
use crate::log_limit::warn_of;
use crate::ops::live::Topic;
use crate::ops::webhooks::body::SAMPLE_ID;
use crate::ops::webhooks::follow::{Signed, begin, is_mark, mark, next};
use crate::wire;

const ID_CHARS: usize = 26;

/// One delivery, as its `data` is written: the headers to post, and the bytes of the body as a text.
#[derive(Serialize)]
struct Delivery<'a> {
    headers: DeliveryHeaders<'a>,
    body: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct DeliveryHeaders<'a> {
    content_type: &'static str,
    webhook_id: &'a str,
    webhook_timestamp: String,
    webhook_signature: &'a str,
}

pub fn describe(_: &mut Writer) -> Operation {
    let example = written(&Signed {
        place: 1,
        webhook_id: SAMPLE_ID.to_owned(),
        timestamp: 1_780_000_000,
        signature: "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=".to_owned(),
        body: br#"{"event":"payment.approved"}"#.to_vec(),
    });
    Operation::get(EVENTS_STREAM, "streamEvents", Tag::Events, "Follow events in test mode")
        .about(
            "Server-sent events: each delivery as it happens, with the headers and the bytes of its webhook, so that a \
             program on your machine gets what a webhook would bring. `tillbell listen` does this for you. A comment \
             comes every 15 s; the stream ends after an hour. Go on with `Last-Event-ID`. At most 5 streams of a business.",
        )
        .query(Field::text("after", ID_CHARS, "The id of the last event that you have had; without it, from now on."))
        .streams("Deliveries, without an end", example)
        .fails(&[Code::TestKeyRequired, Code::EventNotFound])
}

fn written(signed: &Signed) -> Vec<u8> {
    let delivery = Delivery {
        headers: DeliveryHeaders {
            content_type: "application/json",
            webhook_id: &signed.webhook_id,
            webhook_timestamp: signed.timestamp.to_string(),
            webhook_signature: &signed.signature,
        },
        body: std::str::from_utf8(&signed.body).unwrap_or_default(),
    };
    // JSON of ours is of one line.
    let data = String::from_utf8(wire::encode(&delivery)).unwrap_or_default();
    [format!("id: {}\n", signed.webhook_id).as_bytes(), &event("delivery", &data)].concat()
}

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    let received = Received::without_body(request);
    let admitted = match admit_without_body(&http, &received, EVENTS_STREAM).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    match follow(&http, &admitted, &received).await {
        Ok(response) => admitted.label(&http, response),
        Err(error) => admitted.respond(&http, Err(error)),
    }
}

async fn follow(http: &Arc<Http>, admitted: &Admitted, received: &Received) -> Result<Response, ApiError> {
    if admitted.caller.mode != Mode::Test {
        let what = "Events are followed in test mode alone: use a test key. Live events come as webhooks, and \
                    GET /events lists them";
        return Err(ApiError::new(Code::TestKeyRequired, what));
    }
    let after = last_had(received).map_err(ApiError::invalid)?;
    let business_id = admitted.caller.business.id;
    // Watched first and read then, so that nothing happens in between.
    let watch = http
        .live
        .watch(("events", business_id), &[Topic::TestEvents(business_id)])
        .map_err(|_| ApiError::retry(Code::RateLimited, "Too many streams are open", PLACES_RETRY))?;
    let place = begin(&http.app, &admitted.caller, after.as_deref()).await?;
    let Some(place) = place else { return Err(ApiError::new(Code::EventNotFound, "Event not found")) };
    // Whoever has had nothing yet is told from where it began, lest a lost connection lose what comes meanwhile.
    let begins = match after {
        None => Some(Bytes::from(format!("id: {}\n\n", mark(&http.app, business_id, place)?))),
        Some(_) => None,
    };
    let (http, headers, place) =
        (http.clone(), received.parts.headers.clone(), Arc::new(AtomicI64::new(place)));
    Ok(feed::answer(watch, begins, move || {
        let (http, headers, place) = (http.clone(), headers.clone(), place.clone());
        async move { read_on(&http, &headers, business_id, &place).await }
    }))
}

/// What came after a place; `None` ends the stream, of which the client makes a new one.
async fn read_on(http: &Http, headers: &HeaderMap, business_id: i64, place: &AtomicI64) -> Option<Bytes> {
    // A key that was revoked hears no more.
    let caller = find_caller(http, headers, None).await.ok()?;
    if caller.business.id != business_id || caller.mode != Mode::Test {
        return None;
    }
    match next(&http.app, business_id, place.load(Ordering::Relaxed)).await {
        Ok(events) => {
            if let Some(last) = events.last() {
                place.store(last.place, Ordering::Relaxed);
            }
            Some(events.iter().map(written).collect::<Vec<_>>().concat().into())
        }
        Err(error) => {
            warn_of!(&http.app, &error, "a stream of events ends, because they could not be read");
            None
        }
    }
}

/// The last event that the client had: what its program says, and else what a browser or a client of its kind repeats.
fn last_had(received: &Received) -> Result<Option<String>, Problems> {
    let repeated = received.parts.headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let after = parameter(received, "after").or_else(|| repeated.map(str::to_owned));
    let after = after.filter(|id| !id.is_empty());
    if after.as_deref().is_some_and(|id| !is_event_id(id) && !is_mark(id)) {
        let mut problems = Problems::default();
        let what = "must be the id of an event";
        problems.complain_of_parameter("after", FieldCode::UnknownCursor, what);
        return Err(problems);
    }
    Ok(after)
}
