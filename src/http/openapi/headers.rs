//! The headers of answers and of webhooks, and which answer has which.

use serde_json::{Map, Value, json};

use super::json::Json;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::Operation;
use crate::http::response::code::Code;

/// A header of answers.
pub struct Header {
    pub name: &'static str,
    kind: &'static str,
    pub about: &'static str,
}

const fn header(name: &'static str, kind: &'static str, about: &'static str) -> Header {
    Header { name, kind, about }
}

const REQUEST_ID: Header = header(
    "X-Request-Id",
    "string",
    "Of this request; one that you send yourself (1 to 64 of `A-Z a-z 0-9 - _ .`) is used. Quote it when you ask for help.",
);
const LIMIT: Header = header(
    "X-RateLimit-Limit",
    "integer",
    "Requests that your business may send in a minute, over all its keys.",
);
const REMAINING: Header =
    header("X-RateLimit-Remaining", "integer", "How many of them are left in this minute.");
const RESET: Header =
    header("X-RateLimit-Reset", "integer", "When there is room again, in seconds since 1970.");
const RETRY_AFTER: Header = header("Retry-After", "integer", "Seconds after which to try again.");
const REPLAYED: Header = header(
    "Idempotency-Replayed",
    "string",
    "`true`: the request was done before, under the same key; this is the answer to the first one.",
);
pub const HEADERS: [Header; 6] = [REQUEST_ID, LIMIT, REMAINING, RESET, RETRY_AFTER, REPLAYED];

impl Header {
    /// As a component of the document.
    pub fn written(&self) -> (String, Value) {
        let schema = json!({ "type": self.kind });
        (self.name.to_owned(), json!({ "description": self.about, "schema": schema }))
    }
}

fn references(of: &[&Header]) -> Value {
    let all = of.iter().map(|header| {
        (header.name.to_owned(), json!({ "$ref": format!("#/components/headers/{}", header.name) }))
    });
    Value::Object(all.collect::<Map<_, _>>())
}

fn usual(operation: &Operation) -> Vec<&'static Header> {
    match operation.takes_key {
        true => vec![&REQUEST_ID, &LIMIT, &REMAINING],
        false => vec![&REQUEST_ID],
    }
}

pub fn of_answer(operation: &Operation) -> Value {
    let mut all = usual(operation);
    if operation.body.is_some() {
        all.push(&REPLAYED);
    }
    references(&all)
}

pub fn of_error(operation: &Operation, status: u16, codes: &[Code]) -> Value {
    let mut all = usual(operation);
    if matches!(status, 429 | 503) {
        all.push(&RETRY_AFTER);
    }
    if status == 429 {
        all.push(&RESET);
    }
    if codes.contains(&Code::MessageOutcomeUnknown) {
        all.push(&REPLAYED);
    }
    references(&all)
}

/// What every webhook carries.
pub fn of_webhooks() -> impl Iterator<Item = Json> {
    let fields = [
        Field::text(
            "webhook-id",
            64,
            "Of the event; the same for all retries and resends. De-duplicate by it.",
        ),
        Field::text("webhook-timestamp", 20, "Time of this attempt, in seconds since 1970."),
        Field::text(
            "webhook-signature",
            1_000,
            "One or more `v1,<base64>`, separated by spaces: HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`. See \
             Standard Webhooks 1.0.",
        ),
    ];
    fields.into_iter().map(|field| {
        Json::object([
            ("name", field.name.into()),
            ("in", "header".into()),
            ("required", true.into()),
            ("description", field.about.into()),
            ("schema", field.schema.into()),
        ])
    })
}
