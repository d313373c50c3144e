//! `GET /events`, `GET /events/{id}` and `POST /events/{id}/resend`: a program that lost webhooks reads what it was told, in
//! the one order of events, and may have an event sent again (contract/webhooks.md#h22).

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::balance::parameter;
use super::once::{self, Begun};
use super::{Admitted, Answer, GoodBody, Received, admit_with_body, admit_without_body, good_body};
use crate::domain::event::{EventKind, is_event_id};
use crate::http::Http;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Body, Operation, Tag, Writer};
use crate::http::paths::{EVENT, EVENT_RESEND, EVENTS};
use crate::http::request::body::Fields;
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::ApiError;
use crate::http::response::problems::Problems;
use crate::ops::webhooks::body::{AnyEvent, SAMPLE_ID, sample};
use crate::ops::webhooks::deliveries::Delivery;
use crate::ops::webhooks::pull::{PAGE_MAX, Pull, Pulled, ResentEvent, find_event, pull, resend_event};
use crate::wire;

const LIMIT_DEFAULT: usize = 50;
/// Of an event's id.
const ID_CHARS: usize = 26;
const TEXT_MAX: usize = 255;
const RESENT: &str = "The event is sent again";
const WAITING: &str = "waiting";

/// The path's id.
pub type EventId = Result<Path<String>, PathRejection>;

fn unknown() -> ApiError {
    ApiError::new(Code::EventNotFound, "Event not found")
}

/// The stored bytes, which are JSON of ours.
fn raw(body: &[u8]) -> Result<&RawValue, ApiError> {
    serde_json::from_slice(body).map_err(|_| ApiError::internal())
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EventList")]
struct Page<'a> {
    #[schemars(extend("const" = true))]
    success: bool,
    /// Oldest first, each as its webhook carries it.
    #[schemars(with = "Vec<AnyEvent>")]
    data: Vec<&'a RawValue>,
    meta: Meta<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EventListMeta")]
struct Meta<'a> {
    /// To go on from; your own `after` where nothing is new.
    last_id: Option<&'a str>,
    has_more: bool,
}

/// The path's id, as callers are told of it.
fn event_id() -> Field {
    Field::text("id", ID_CHARS, "Of the event: its `id`, and the header `webhook-id`.").required()
}

pub fn describe_list(writer: &mut Writer) -> Operation {
    let bytes = sample(EventKind::PaymentApproved);
    let data = serde_json::from_slice(&bytes).into_iter().collect();
    let meta = Meta { last_id: Some(SAMPLE_ID), has_more: false };
    Operation::get(EVENTS, "listEvents", Tag::Events, "List events")
        .about(
            "Oldest first, of the last 30 days. Ask with `after` until `has_more` is false, and keep `last_id` for the \
             next time.",
        )
        .query(Field::text("after", ID_CHARS, "The id of the last event that you have read."))
        .query(Field::one_of("type", EventKind::ALL.map(EventKind::as_str), "Only these."))
        .query(Field::text("transaction_id", TEXT_MAX, "Only those about this payment."))
        .query(Field::number("limit", 1, PAGE_MAX as i64, LIMIT_DEFAULT as i64, "How many at most."))
        .answers(
            StatusCode::OK,
            "Some of them",
            writer.schema::<Page<'static>>(),
            wire::encode(&Page { success: true, data, meta }),
        )
        .fails(&[Code::EventNotFound, Code::EventTooOld])
}

pub fn describe_read(writer: &mut Writer) -> Operation {
    let bytes = sample(EventKind::PaymentApproved);
    let body: Option<&RawValue> = serde_json::from_slice(&bytes).ok();
    Operation::get(EVENT, "readEvent", Tag::Events, "Read an event")
        .at(event_id())
        .answers(
            StatusCode::OK,
            "The event",
            writer.schema::<GoodBody<'static, AnyEvent>>(),
            good_body(None, body),
        )
        .fails(&[Code::EventNotFound])
}

pub fn describe_resend(writer: &mut Writer) -> Operation {
    let body = ResentBody {
        id: SAMPLE_ID,
        event: EventKind::PaymentApproved.as_str(),
        transaction_id: Some("order-2001"),
        status: WAITING,
    };
    Operation::post(
        EVENT_RESEND,
        "resendEvent",
        Tag::Events,
        "Send an event again",
        Body::new("Resending", "{}").optional(),
    )
    .about("To the URL where it goes today, with the same id and body. Nothing need be said beside the path.")
    .at(event_id())
    .answers(
        StatusCode::OK,
        "It is sent again",
        writer.schema::<GoodBody<'static, ResentBody<'static>>>(),
        good_body(Some(RESENT), body),
    )
    .fails(&[Code::EventNotFound, Code::EventSuperseded, Code::NoWebhookUrl])
}

/// A good query.
#[derive(Debug, PartialEq, Eq)]
struct Query {
    after: Option<String>,
    kind: Option<EventKind>,
    transaction_id: Option<String>,
    limit: usize,
}

/// Reads the query; of a parameter given twice the last one counts, empty ones do not.
fn query(get: impl Fn(&str) -> Option<String>) -> Result<Query, Problems> {
    let mut problems = Problems::default();
    let after = get("after");
    if after.as_deref().is_some_and(|id| !is_event_id(id)) {
        let what = "must be the id of an event, such as meta.last_id of the page before";
        problems.complain_of_parameter("after", FieldCode::UnknownCursor, what);
    }
    let word = get("type");
    let kind = word.as_deref().and_then(EventKind::parse);
    if word.is_some() && kind.is_none() {
        let known: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
        let what = format!("must be one of: {}", known.join(", "));
        problems.complain_of_parameter("type", FieldCode::UnknownValue, &what);
    }
    let limit = get("limit").map(|text| {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|n| is_plain && (1..=PAGE_MAX).contains(n))
    });
    if limit == Some(None) {
        let what = "must be a whole number from 1 to 100";
        problems.complain_of_parameter("limit", FieldCode::OutOfRange, what);
    }
    let limit = limit.flatten().unwrap_or(LIMIT_DEFAULT);
    let query = Query { after, kind, transaction_id: get("transaction_id"), limit };
    if problems.is_empty() { Ok(query) } else { Err(problems) }
}

pub async fn list(State(http): State<Arc<Http>>, request: Request) -> Response {
    let received = Received::without_body(request);
    let admitted = match admit_without_body(&http, &received, EVENTS).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = list_events(&http, &admitted, &received).await;
    admitted.respond(&http, result)
}

async fn list_events(http: &Http, admitted: &Admitted, received: &Received) -> Result<Answer, ApiError> {
    let query = query(|name| parameter(received, name)).map_err(ApiError::invalid)?;
    let ask = Pull {
        after: query.after.as_deref(),
        kind: query.kind,
        transaction_id: query.transaction_id.as_deref(),
        limit: query.limit,
    };
    let (rows, has_more) = match pull(&http.app, &admitted.caller, &ask).await? {
        Pulled::Events { rows, has_more } => (rows, has_more),
        Pulled::UnknownEvent => return Err(unknown()),
        Pulled::TooOld => {
            let what = "Events followed this one that are more than 30 days old and no longer listed. Leave out \
                        after to read those that are, and compare your orders with GET /payments";
            return Err(ApiError::new(Code::EventTooOld, what));
        }
    };
    let data = rows.iter().map(|row| raw(&row.body)).collect::<Result<_, _>>()?;
    // Whoever reads on from an empty page goes on where they were.
    let last_id = rows.last().map(|row| row.webhook_id.as_str()).or(query.after.as_deref());
    Ok(Answer::ok(wire::encode(&Page { success: true, data, meta: Meta { last_id, has_more } })))
}

pub async fn read(State(http): State<Arc<Http>>, id: EventId, request: Request) -> Response {
    let received = Received::without_body(request);
    let admitted = match admit_without_body(&http, &received, EVENT).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = read_one(&http, &admitted, id).await;
    admitted.respond(&http, result)
}

async fn read_one(http: &Http, admitted: &Admitted, id: EventId) -> Result<Answer, ApiError> {
    let Ok(Path(id)) = id else { return Err(unknown()) };
    let body = find_event(&http.app, &admitted.caller, &id).await?.ok_or_else(unknown)?;
    Ok(Answer::ok(good_body(None, raw(&body)?)))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EventResent")]
struct ResentBody<'a> {
    id: &'a str,
    event: &'a str,
    transaction_id: Option<&'a str>,
    #[schemars(extend("const" = "waiting"))]
    status: &'static str,
}

pub async fn resend(State(http): State<Arc<Http>>, id: EventId, request: Request) -> Response {
    let received = Received::whole(request).await;
    let fields = received.fields_if_any();
    let admitted = match admit_with_body(&http, &received, &fields, EVENT_RESEND).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = match fields {
        Ok(fields) => again(&http, &admitted, &received, &fields, id).await,
        Err(problem) => Err(problem.into()),
    };
    admitted.respond(&http, result)
}

async fn again(
    http: &Http,
    admitted: &Admitted,
    received: &Received,
    fields: &Fields<'_>,
    id: EventId,
) -> Result<Answer, ApiError> {
    let Ok(Path(id)) = id else { return Err(unknown()) };
    let claim = match once::begin(http, admitted, received, fields).await? {
        Begun::Done(answer) => return Ok(answer),
        Begun::Work(claim) => claim,
    };
    let status = StatusCode::OK.as_u16();
    let answer = claim.as_ref().map(|claim| move |sent: &Delivery| claim.answer_step(status, resent(sent)));
    let done = resend_event(&http.app, &admitted.caller, &id, answer).await;
    let result = match done {
        Ok(ResentEvent::Sent(delivery)) => Ok(Answer::ok(resent(&delivery))),
        Ok(ResentEvent::Unknown) => Err(unknown()),
        Ok(ResentEvent::Superseded(why)) => {
            let what = format!("This event is not sent again: {why}");
            Err(ApiError::new(Code::EventSuperseded, what))
        }
        Ok(ResentEvent::Unasked(why)) => {
            let what = format!("This event cannot be sent: {why}");
            Err(ApiError::new(Code::NoWebhookUrl, what))
        }
        Ok(ResentEvent::LeaseLost) => Err(once::still_running()),
        Err(error) => Err(error.into()),
    };
    once::end(claim, &result).await;
    result
}

fn resent(delivery: &Delivery) -> Vec<u8> {
    let body = ResentBody {
        id: &delivery.webhook_id,
        event: &delivery.event,
        transaction_id: delivery.transaction_id.as_deref(),
        status: WAITING,
    };
    good_body(Some(RESENT), body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&str, &str)]) -> Result<Query, String> {
        let get =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        query(get).map_err(|problems| problems.summary())
    }

    #[test]
    fn a_good_query_is_read_and_every_mistake_is_told() {
        let id = "msg_0123456789ABCDEFGHIJKL";
        let good = asked(&[("after", id), ("type", "payment.approved"), ("limit", "100")]).unwrap();
        assert_eq!(
            (good.after.as_deref(), good.kind, good.limit),
            (Some(id), Some(EventKind::PaymentApproved), 100)
        );
        assert_eq!(
            asked(&[]).unwrap(),
            Query { after: None, kind: None, transaction_id: None, limit: LIMIT_DEFAULT }
        );
        for (name, value) in [
            ("after", "17"),
            ("after", "msg_"),
            ("after", "msg_0123456789ABCDEFGHIJK!"),
            ("type", "payment.Approved"),
            ("type", "approved"),
            ("limit", "0"),
            ("limit", "101"),
            ("limit", "+5"),
            ("limit", "1.0"),
            ("limit", "99999999999999999999999"),
        ] {
            assert!(asked(&[(name, value)]).unwrap_err().starts_with(name), "{name}={value}");
        }
        let all = asked(&[("after", "x"), ("type", "x"), ("limit", "x")]).unwrap_err();
        assert!(all.ends_with("(and 2 more errors)"), "{all}");
    }
}
