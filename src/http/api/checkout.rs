//! What is told of a checkout link to programs: its state, the changes that its stream tells of, and what can be wrong with it.
//!
//! The page's own script asks for the same, so `pages::checkout` answers at these addresses, beside the page.

use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::payment::Status;
use crate::domain::time::Timestamp;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Operation, Tag, Writer};
use crate::http::live::stream::{self, Told};
use crate::http::live::{Full, PLACES_RETRY};
use crate::http::paths::{CHECKOUT_EVENTS, CHECKOUT_STATE};
use crate::http::response::code::Code;
use crate::http::response::error::ApiError;
use crate::ops::payments::checkout::{CheckoutState, CheckoutView};
use crate::vault::link::TOKEN_CHARS;
use crate::wire::{self, JsonTime};

const FAILS: &[Code] =
    &[Code::CheckoutNotFound, Code::RateLimited, Code::ServiceUnavailable, Code::TooManyChanges];

/// Flat: there is no envelope around it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CheckoutState")]
struct StateBody {
    /// Of the payment.
    #[schemars(extend("enum" = Status::ALL.map(Status::as_str)))]
    status: &'static str,
    /// What the page shows. All but `waiting` and `paid` say why there is no money, or what an operator decides.
    #[schemars(extend("enum" = CheckoutView::ALL.map(CheckoutView::as_str)))]
    view: &'static str,
    expires_at: JsonTime,
}

/// The data of an event of its stream.
#[derive(Serialize)]
struct EventBody {
    status: &'static str,
    view: &'static str,
}

fn token() -> Field {
    Field::text("token", TOKEN_CHARS, "What `checkout_url` ends with. Whoever has it may ask.").required()
}

pub fn describe_state(writer: &mut Writer) -> Operation {
    let sample = StateBody {
        status: Status::Pending.as_str(),
        view: CheckoutView::Waiting.as_str(),
        expires_at: JsonTime(Timestamp(1_773_216_000_357_173)),
    };
    Operation::get(CHECKOUT_STATE, "readCheckout", Tag::Payments, "Read what a checkout page shows")
        .open()
        .about(
            "For checkout pages of your own: how a payment stands, as its `checkout_url` shows it. It needs no key, and has no \
             envelope. Ask from your server: there is no CORS.",
        )
        .at(token())
        .answers(StatusCode::OK, "How it stands", writer.schema::<StateBody>(), wire::encode(&sample))
        .fails(FAILS)
}

pub fn describe_events(_: &mut Writer) -> Operation {
    let body = EventBody { status: Status::Approved.as_str(), view: CheckoutView::Paid.as_str() };
    Operation::get(CHECKOUT_EVENTS, "streamCheckout", Tag::Payments, "Follow what a checkout page shows")
        .open()
        .about(
            "Server-sent events: `state` at once and on every change, within a second. A comment comes every 15 s; the stream \
             ends after an hour. At most 5 streams of a link. It needs no key.",
        )
        .at(token())
        .streams("Each change, without an end", stream::event("state", &text(&body)).to_vec())
        .fails(FAILS)
}

fn text<T: Serialize>(body: &T) -> String {
    String::from_utf8(wire::encode(body)).unwrap_or_default()
}

/// As it is answered.
pub fn state_body(state: &CheckoutState) -> Vec<u8> {
    wire::encode(&StateBody {
        status: state.status,
        view: state.view.as_str(),
        expires_at: JsonTime(state.expires_at),
    })
}

/// As a stream tells it.
pub fn told(state: CheckoutState) -> Told {
    let body = EventBody { status: state.status, view: state.view.as_str() };
    Told { events: stream::event("state", &text(&body)), mark: state.version, until: state.turns_at }
}

/// The one answer for every link that leads nowhere.
pub fn not_found() -> ApiError {
    ApiError::new(Code::CheckoutNotFound, "There is no such payment, or it ended a long time ago")
}

pub fn crowded(seconds: i64) -> ApiError {
    let after = u32::try_from(seconds.max(1)).unwrap_or(u32::MAX);
    ApiError::retry(Code::RateLimited, "Too many requests came from your network", after)
}

pub fn no_place(full: Full) -> ApiError {
    let message = match full {
        Full::OfOne => "This payment is watched in too many places; ask for its state instead",
        Full::Node => "Too many pages are open; ask for the state instead",
    };
    ApiError::retry(Code::RateLimited, message, PLACES_RETRY)
}
