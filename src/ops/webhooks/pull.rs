//! Events as merchants' programs read them: in the order of their places, with the very bytes that webhooks carry. So a
//! shop that lost webhooks catches up by itself.
//!
//! A key sees the events of its business and of its mode; of any other an id is unknown. The list begins thirty days back
//! (whole days, UTC), a single event can be read and sent again for as long as it is kept.

use super::deliveries::{self, Delivery};
use super::order::place_what_waits;
use super::target::{Addressed, address};
use crate::app::App;
use crate::directory::Caller;
use crate::domain::event::{EventKind, is_event_id};
use crate::log_limit::{MayBeAway, warn_of};
use crate::ops::OpError;
use crate::store::Step;
pub use crate::store::tables::event_order::PlacedEvent;
use crate::store::tables::event_order::{KnownEvent, LISTED_DAYS, Which, day_of};

/// Events of one page, at most.
pub const PAGE_MAX: usize = 100;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Pull<'a> {
    /// The last event that was read.
    pub after: Option<&'a str>,
    pub kind: Option<EventKind>,
    pub transaction_id: Option<&'a str>,
    /// At most [`PAGE_MAX`].
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pulled {
    Events {
        rows: Vec<PlacedEvent>,
        has_more: bool,
    },
    /// No event of this business and mode has the id in `after`.
    UnknownEvent,
    /// Events followed the one in `after` that are too old for the list.
    TooOld,
}

/// The events after one, in their order.
pub async fn pull(app: &App, caller: &Caller, ask: &Pull<'_>) -> Result<Pulled, OpError> {
    // What has its place is readable also where none can be given now.
    if let Err(error) = place_what_waits(app).await {
        if !error.is_away() {
            return Err(error);
        }
        warn_of!(app, &error, "events could not be given their places");
    }
    let (business, mode) = (caller.business.id, caller.mode);
    let since = day_of(app.now()) - LISTED_DAYS;
    // Where nothing was placed since then, everything is older.
    let first = app.store.first_event_place_since(since).await?.unwrap_or(i64::MAX);
    let mut after = first - 1;
    if let Some(id) = ask.after {
        let Some(known) = known_event(app, caller, id).await? else { return Ok(Pulled::UnknownEvent) };
        let Some(place) = known.place else { return Err(OpError::Contended) };
        if place < after && app.store.has_events_between(business, mode, (place, first)).await? {
            return Ok(Pulled::TooOld);
        }
        after = after.max(place);
    }
    let kind = ask.kind.map(EventKind::as_str);
    let which = match ask.transaction_id {
        None => kind.map_or(Which::All, Which::OfKind),
        Some(transaction_id) => {
            let found = app.store.payment_by_transaction(business, transaction_id).await?;
            match found {
                Some(payment) => Which::OfPayment(payment.id, kind),
                None => return Ok(Pulled::Events { rows: Vec::new(), has_more: false }),
            }
        }
    };
    let mut rows = app.store.events_after(business, mode, after, which).await?;
    let limit = ask.limit.min(PAGE_MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    Ok(Pulled::Events { rows, has_more })
}

/// An event of the caller's by its id.
pub async fn find_event(app: &App, caller: &Caller, id: &str) -> Result<Option<Vec<u8>>, OpError> {
    Ok(known_event(app, caller, id).await?.map(|known| known.event.body))
}

pub(super) async fn known_event(app: &App, caller: &Caller, id: &str) -> Result<Option<KnownEvent>, OpError> {
    if !is_event_id(id) {
        return Ok(None);
    }
    let found = app.store.event_by_webhook_id(id).await?;
    let is_theirs =
        |known: &KnownEvent| known.event.business_id == caller.business.id && known.event.mode == caller.mode;
    Ok(found.filter(is_theirs))
}

/// What became of a wish to have an event again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResentEvent {
    Sent(Box<Delivery>),
    Unknown,
    /// It does not hold any more, and why.
    Superseded(&'static str),
    /// Nobody gave a URL to send it to, and why that is so.
    Unasked(&'static str),
    /// The idempotency key's lease ran out.
    LeaseLost,
}

/// Sends one event again, as the merchant's program asks for it; `answer` keeps the answer under its idempotency key.
pub async fn resend_event(
    app: &App,
    caller: &Caller,
    id: &str,
    answer: Option<impl FnOnce(&Delivery) -> Step>,
) -> Result<ResentEvent, OpError> {
    let Some(known) = known_event(app, caller, id).await? else { return Ok(ResentEvent::Unknown) };
    let Some(delivery) = app.store.delivery_of_event(known.event.id).await? else {
        return Ok(ResentEvent::Unknown);
    };
    if let Some(why) = delivery.superseded() {
        return Ok(ResentEvent::Superseded(why));
    }
    let inputs = app.store.inputs(&[known.event.id]).await?;
    if let Some(input) = inputs.get(&known.event.id)
        && let Addressed::Unasked { why } = address(app, input).await?
    {
        return Ok(ResentEvent::Unasked(why));
    }
    let answer = answer.map(|answer| answer(&delivery));
    match deliveries::resend_by_program(app, &delivery, answer).await? {
        true => Ok(ResentEvent::Sent(Box::new(delivery))),
        false => Ok(ResentEvent::LeaseLost),
    }
}
