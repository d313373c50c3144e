//! How an event comes into a Unit: with its `webhook-id`, its body made once, and the job that delivers it.
//!
//! The steps belong into the Unit of the fact; there is no other way to record an event or to enqueue a webhook. After
//! the commit call `app.wake_workers`: deliveries and the giver of places (`order`) wait for it.

use crate::app::App;
use crate::clock::Random;
use crate::domain::event::{EventKind, event_id};
use crate::domain::merchant::Mode;
use crate::domain::payment::Payment;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::store::tables::event_order;
use crate::store::tables::events::Event;
use crate::store::tables::jobs;
use crate::store::{IdKind, Step, StoreError};

/// The fact that an event tells.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    pub kind: EventKind,
    pub business_id: i64,
    pub mode: Mode,
    pub payment_id: Option<i64>,
    /// Which of several facts of this kind; 0 where there can be only one.
    pub subject_id: i64,
    pub at: Timestamp,
}

impl Fact {
    /// What a payment comes to once.
    pub fn of(payment: &Payment, kind: EventKind, at: Timestamp) -> Fact {
        Fact {
            kind,
            business_id: payment.business_id,
            mode: payment.mode,
            payment_id: Some(payment.id),
            subject_id: 0,
            at,
        }
    }
}

/// The steps that tell a merchant of a fact: the event, its wait for a place, and the job that delivers it. `body` is
/// given the event's id.
pub async fn record(
    app: &App,
    fact: Fact,
    body: impl FnOnce(&str) -> Vec<u8>,
) -> Result<[Step; 3], StoreError> {
    let event = event(app, fact, body).await?;
    let job_id = app.store.id(IdKind::Job).await?;
    let job = jobs::enqueue_delivery(job_id, fact.mode, fact.business_id, event.id, fact.at);
    let [added, waits] = event_order::record(&event);
    Ok([added, waits, job])
}

/// An event with an id and a `webhook-id` of its own.
pub(in crate::ops) async fn event(
    app: &App,
    fact: Fact,
    body: impl FnOnce(&str) -> Vec<u8>,
) -> Result<Event, StoreError> {
    let webhook_id = fresh_id(app.random.as_ref());
    Ok(Event {
        id: app.store.id(IdKind::Event).await?,
        business_id: fact.business_id,
        mode: fact.mode,
        payment_id: fact.payment_id,
        subject_id: fact.subject_id,
        kind: fact.kind.as_str().to_owned(),
        body: body(&webhook_id),
        webhook_id,
        created_at: fact.at,
    })
}

fn fresh_id(random: &dyn Random) -> String {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    event_id(u128::from_le_bytes(bytes))
}

/// Why a payment cannot come to something that was told already: a fault of the program that wrote the event.
pub(in crate::ops) fn was_told(transaction_id: &str, kind: EventKind) -> OpError {
    let kind = kind.as_str();
    OpError::Fault(format!("payment {transaction_id} has an event {kind} already, and may have only one"))
}
