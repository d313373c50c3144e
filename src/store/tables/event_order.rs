//! The order of events: one for all, in which each event has its place, a number.
//!
//! Ids and times do not make one: nodes take ids in blocks, and of two Units that are committed at once either may be seen
//! first. So an event is committed with a row in `unplaced_events`, and places are given afterwards, by one Unit after
//! another: each is guarded by the last place that was given, so a place is seen only after all those before it. A row of
//! `event_places` never changes. Written and read by `ops::webhooks::order` and `ops::webhooks::pull`.

use crate::domain::merchant::Mode;
use crate::domain::time::{Span, Timestamp};
use crate::store::engine::sql::statements;
use crate::store::tables::events::{self, Event};
use crate::store::{Row, Step, Store, StoreError};

/// Events that get their places in one Unit; the statement holds the same number as a literal.
pub const PLACE_MAX: usize = 400;
/// Events of one read; the statements hold the same number as a literal.
pub const READ_MAX: usize = 101;
/// The list goes back so far.
pub const LISTED_DAYS: i64 = 30;

macro_rules! placed {
    ($which:literal) => {
        concat!(
            "select q.place, e.webhook_id, e.body from (select place, event_id from event_places \
             where business_id = $1 and mode = $2 and place > $3",
            $which,
            " order by place limit 101) q join events e on e.id = q.event_id order by q.place"
        )
    };
}

statements! {
    ADD_UNPLACED: insert(unplaced_events) {
        event_id: Int, business_id: Int, mode: Text, kind: Text, payment_id: Int, created_at: Int
    }
    UNPLACED: query {
        "select event_id, business_id, mode, kind, payment_id, created_at, \
         (select value from counters where name = 'event_place') as last_place from unplaced_events \
         order by created_at, event_id limit 400"
    }
    LAST_PLACE: query { "select value from counters where name = 'event_place'" }
    TAKE_PLACES: query { "update counters set value = value + $2 where name = 'event_place' and value = $1" }
    PLACED: query { "delete from unplaced_events where event_id = $1" }
    ADD_PLACE: insert(event_places) { business_id: Int, mode: Text, place: Int, event_id: Int, kind: Text }
    MARK_DAY: query {
        "insert into event_days (day, first_place) values ($1, $2) on conflict (day) do nothing"
    }
    FIRST_SINCE: query { "select first_place from event_days where day >= $1 order by day limit 1" }
    EVENT_BY_WEBHOOK_ID: query {
        "select e.id, e.business_id, e.payment_id, e.subject_id, e.kind, e.webhook_id, e.body, e.created_at, \
         coalesce(p.mode, u.mode, 'live') as mode, p.place from events e \
         left join event_places p on p.event_id = e.id left join unplaced_events u on u.event_id = e.id \
         where e.webhook_id = $1"
    }
    PLACED_AFTER: query { placed!("") }
    PLACED_OF_KIND: query { placed!(" and kind = $4") }
    PLACED_OF_PAYMENT: query {
        "select p.place, e.webhook_id, e.body from events e join event_places p on p.event_id = e.id \
         where e.payment_id = $1 and p.mode = $2 and p.place > $3 and (cast($4 as text) = '' or e.kind = $4) \
         order by p.place limit 101"
    }
    // Whether some would be left out that stand between two places.
    PLACED_BETWEEN: query {
        "select place from event_places where business_id = $1 and mode = $2 and place > $3 and place < $4 limit 1"
    }
}

/// An event that waits for its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unplaced {
    pub event_id: i64,
    pub business_id: i64,
    pub mode: Mode,
    pub kind: String,
    pub payment_id: Option<i64>,
    pub created_at: Timestamp,
}

/// An event as the merchant's program names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownEvent {
    pub event: Event,
    /// `None`: it was committed a moment ago.
    pub place: Option<i64>,
}

/// An event of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedEvent {
    pub place: i64,
    pub webhook_id: String,
    pub body: Vec<u8>,
}

/// Which events are listed.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    All,
    OfKind(&'a str),
    /// Of one payment, of one kind or of any.
    OfPayment(i64, Option<&'a str>),
}

/// The day of a time, in UTC.
pub fn day_of(at: Timestamp) -> i64 {
    at.0.div_euclid(Span::days(1).0)
}

/// Writes an event, and makes it wait for its place; a second one about the same fact is refused by the database.
pub fn record(event: &Event) -> [Step; 2] {
    [events::add(event), add_unplaced(event)]
}

fn add_unplaced(event: &Event) -> Step {
    Step::insert(ADD_UNPLACED {
        event_id: event.id.into(),
        business_id: event.business_id.into(),
        mode: event.mode.as_str().into(),
        kind: event.kind.as_str().into(),
        payment_id: event.payment_id.into(),
        created_at: event.created_at.into(),
    })
}

/// The steps that give these events the places after `last`, in their order; lost if somebody gave places meanwhile.
/// At most [`PLACE_MAX`] events, which is why a Unit of places may be longer than others.
pub fn place(events: &[Unplaced], last: i64, now: Timestamp) -> Vec<Step> {
    let mut steps = Vec::with_capacity(events.len() * 2 + 2);
    let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
    steps.push(Step::one(&TAKE_PLACES, vec![last.into(), count.into()]));
    steps.push(Step::any(&MARK_DAY, vec![day_of(now).into(), (last + 1).into()]));
    for (place, event) in (last + 1..).zip(events) {
        steps.push(Step::one(&PLACED, vec![event.event_id.into()]));
        steps.push(Step::insert(ADD_PLACE {
            business_id: event.business_id.into(),
            mode: event.mode.as_str().into(),
            place: place.into(),
            event_id: event.event_id.into(),
            kind: event.kind.as_str().into(),
        }));
    }
    steps
}

/// The event, and the last place that was given.
fn unplaced(row: Row) -> Result<(Unplaced, i64), StoreError> {
    let mut r = row.reader("unplaced_events");
    let event = Unplaced {
        event_id: r.int("event_id")?,
        business_id: r.int("business_id")?,
        mode: r.word("mode", Mode::parse)?,
        kind: r.text("kind")?,
        payment_id: r.opt_int("payment_id")?,
        created_at: r.time("created_at")?,
    };
    Ok((event, r.int("last_place")?))
}

fn placed(row: Row) -> Result<PlacedEvent, StoreError> {
    let mut r = row.reader("event_places");
    Ok(PlacedEvent { place: r.int("place")?, webhook_id: r.text("webhook_id")?, body: r.bytes("body")? })
}

impl Store {
    /// Events without a place, oldest first, at most [`PLACE_MAX`], and the last place that was given before.
    pub async fn unplaced_events(&self) -> Result<(Vec<Unplaced>, i64), StoreError> {
        let rows = self.read(&UNPLACED, Vec::new()).await?;
        let mut events = Vec::with_capacity(rows.len());
        let mut last = 0;
        for row in rows {
            let (event, last_place) = unplaced(row)?;
            events.push(event);
            last = last_place;
        }
        Ok((events, last))
    }

    /// The last place that was given; 0 before the first.
    pub async fn last_event_place(&self) -> Result<i64, StoreError> {
        match self.read_one(&LAST_PLACE, Vec::new()).await? {
            Some(row) => row.single_int("counters"),
            None => Err(StoreError::Fault("no counter event_place".into())),
        }
    }

    /// The first place that was given on a day or later; `None` if none was.
    pub async fn first_event_place_since(&self, day: i64) -> Result<Option<i64>, StoreError> {
        let row = self.read_one(&FIRST_SINCE, vec![day.into()]).await?;
        row.map(|row| row.single_int("event_days")).transpose()
    }

    /// The event that has this `webhook-id`, whosever it is.
    pub async fn event_by_webhook_id(&self, webhook_id: &str) -> Result<Option<KnownEvent>, StoreError> {
        let Some(row) = self.read_one(&EVENT_BY_WEBHOOK_ID, vec![webhook_id.into()]).await? else {
            return Ok(None);
        };
        let mut r = row.reader("events");
        let event = Event {
            id: r.int("id")?,
            business_id: r.int("business_id")?,
            mode: r.word("mode", Mode::parse)?,
            payment_id: r.opt_int("payment_id")?,
            subject_id: r.int("subject_id")?,
            kind: r.text("kind")?,
            webhook_id: r.text("webhook_id")?,
            body: r.bytes("body")?,
            created_at: r.time("created_at")?,
        };
        Ok(Some(KnownEvent { event, place: r.opt_int("place")? }))
    }

    /// Events of a business after a place, in their order, at most [`READ_MAX`].
    pub async fn events_after(
        &self,
        business_id: i64,
        mode: Mode,
        after: i64,
        which: Which<'_>,
    ) -> Result<Vec<PlacedEvent>, StoreError> {
        let (business, mode) = (business_id.into(), mode.as_str().into());
        let rows = match which {
            Which::All => self.read(&PLACED_AFTER, vec![business, mode, after.into()]).await?,
            Which::OfKind(kind) => {
                self.read(&PLACED_OF_KIND, vec![business, mode, after.into(), kind.into()]).await?
            }
            Which::OfPayment(payment, kind) => {
                let kind = kind.unwrap_or("").into();
                self.read(&PLACED_OF_PAYMENT, vec![payment.into(), mode, after.into(), kind]).await?
            }
        };
        rows.into_iter().map(placed).collect()
    }

    /// Whether a business has events between two places.
    pub async fn has_events_between(
        &self,
        business_id: i64,
        mode: Mode,
        (after, before): (i64, i64),
    ) -> Result<bool, StoreError> {
        let params = vec![business_id.into(), mode.as_str().into(), after.into(), before.into()];
        Ok(self.read_one(&PLACED_BETWEEN, params).await?.is_some())
    }
}
