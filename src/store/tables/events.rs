//! Events: what a merchant is told, body byte for byte as every attempt sends it.
//!
//! A row never changes after it was written. Where it goes is decided anew at every attempt, so
//! the rows that decision needs (payment, website, business) are read together with the body, for
//! a whole batch of jobs in one statement. Written by ops in the Unit of the fact; read by work.
//!
//! **A fact is told once**: no two events have the same payment, kind and subject (unique indexes `events_once` and
//! `events_once_elsewhere`, contract/webhooks.md#h2). In which order events are read is told in `event_order`.

use std::collections::HashMap;

use crate::domain::merchant::Mode;
use crate::domain::payment::{Kind, Status};
use crate::domain::superseded::superseded;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::engine::unit::Step;
use crate::store::engine::value::{Row, Value};
use crate::store::tables::jobs::CLAIM_BATCH;
use crate::store::{Store, StoreError};

/// Events whose text is looked at in one step.
pub const REDUCE_BATCH: usize = 100;

statements! {
    ADD_EVENT: insert(events) {
        id: Int, business_id: Int, payment_id: Int, kind: Text, webhook_id: Text, body: Bytes, created_at: Int,
        subject_id: Int
    }
    TO_REDUCE: query {
        "select e.id, e.business_id, e.body from events e where e.reduced_at is null and e.created_at < $1 \
         and not exists (select 1 from jobs j where j.subject_id = e.id and j.kind = 'deliver' and j.done_at is null) \
         order by e.created_at, e.id limit 100"
    }
    WHOLE_OF_PAYMENT: query {
        "select e.id, e.business_id, e.body from events e where e.payment_id = $1 and e.reduced_at is null \
         order by e.id limit 100"
    }
    REDUCE: query {
        "update events set body = $2, reduced_at = $3 where id = $1 and reduced_at is null \
         and not exists (select 1 from jobs j where j.subject_id = events.id and j.kind = 'deliver' and j.done_at is null)"
    }
    DELIVERY_INPUTS: query {
        "select e.id, e.business_id, e.kind, e.webhook_id, e.body, e.reduced_at, p.kind as payment_kind, \
         p.status as payment_status, nullif(p.webhook_url, '') as payment_url, p.reversed_at, \
         w.webhook_url as website_url, \
         b.webhook_url as business_url, b.webhook_secret, b.previous_webhook_secret, b.previous_secret_until_at \
         from events e join businesses b on b.id = e.business_id \
         left join payments p on p.id = e.payment_id left join websites w on w.id = p.website_id \
         where e.id in ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, \
         $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, \
         $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52, $53, $54, $55, $56, $57, $58, \
         $59, $60, $61, $62, $63, $64)"
    }
}

/// A row of `events`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub id: i64,
    pub business_id: i64,
    /// Whose keys see it in the list; it stands with its place, not with the event.
    pub mode: Mode,
    pub payment_id: Option<i64>,
    /// Which of several facts of this kind: an id of the table of these facts; 0 where there can be only one.
    pub subject_id: i64,
    /// `payment.approved`, `webhook.test`.
    pub kind: String,
    /// The `webhook-id` header: the same over all attempts and resends.
    pub webhook_id: String,
    pub body: Vec<u8>,
    pub created_at: Timestamp,
}

/// An event with all that sending it needs, as it is now.
#[derive(Clone, PartialEq, Eq)]
pub struct DeliveryInput {
    pub event_id: i64,
    pub business_id: i64,
    pub kind: String,
    pub webhook_id: String,
    pub body: Vec<u8>,
    /// `None` for an event that is about no payment.
    pub payment_kind: Option<Kind>,
    pub payment_status: Option<Status>,
    pub payment_url: Option<String>,
    /// When the payment was reversed.
    pub reversed_at: Option<Timestamp>,
    /// Its text is not kept any more.
    pub is_reduced: bool,
    pub website_url: Option<String>,
    pub business_url: Option<String>,
    /// Sealed by the vault at the place `businesses/{id}/webhook_secret`, like the one before it.
    pub secret: Vec<u8>,
    pub previous_secret: Option<Vec<u8>>,
    pub previous_secret_until: Option<Timestamp>,
}

impl DeliveryInput {
    /// Why it is not to be sent any more.
    pub fn superseded(&self) -> Option<&'static str> {
        superseded(&self.kind, self.payment_status, self.reversed_at.is_some(), self.is_reduced)
    }

    /// About no payment, and empty: for asking where an event of the business would go.
    pub fn of(business_id: i64) -> DeliveryInput {
        DeliveryInput {
            event_id: 0,
            business_id,
            kind: String::new(),
            webhook_id: String::new(),
            body: Vec::new(),
            payment_kind: None,
            payment_status: None,
            payment_url: None,
            reversed_at: None,
            is_reduced: false,
            website_url: None,
            business_url: None,
            secret: Vec::new(),
            previous_secret: None,
            previous_secret_until: None,
        }
    }
}

/// Writes an event; a second one about the same fact is refused by the database. `event_order::record` does it.
pub(super) fn add(event: &Event) -> Step {
    Step::insert(ADD_EVENT {
        id: event.id.into(),
        business_id: event.business_id.into(),
        payment_id: event.payment_id.into(),
        kind: event.kind.as_str().into(),
        webhook_id: event.webhook_id.as_str().into(),
        body: event.body.as_slice().into(),
        created_at: event.created_at.into(),
        subject_id: event.subject_id.into(),
    })
}

/// An event whose text is still kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeEvent {
    pub id: i64,
    pub business_id: i64,
    pub body: Vec<u8>,
}

/// Puts what is left of its text in its place, unless that was done or it is to be sent; see `ops::webhooks::reduced`.
pub fn reduce(event: i64, body: &[u8], now: Timestamp) -> Step {
    Step::any(&REDUCE, vec![event.into(), body.into(), now.into()])
}

/// The same, where a Unit is to fail if it cannot be done.
pub fn reduce_or_fail(event: i64, body: &[u8], now: Timestamp) -> Step {
    Step::one(&REDUCE, vec![event.into(), body.into(), now.into()])
}

/// Whether a Unit was refused because an event was to be sent at that moment, or was reduced already.
pub fn is_reduction(refused_statement: &str) -> bool {
    refused_statement == REDUCE.name
}

/// Whether a Unit was refused because of its event: the fact was told already. While the payment is pending that is
/// no race, and trying again does not help.
pub fn is_second(refused_statement: &str) -> bool {
    refused_statement == ADD_EVENT::sql().name
}

impl Store {
    /// Events of before a time whose text is kept and whose delivery is over, the oldest first; at most [`REDUCE_BATCH`].
    pub async fn events_to_reduce(&self, before: Timestamp) -> Result<Vec<WholeEvent>, StoreError> {
        self.read(&TO_REDUCE, vec![before.into()]).await?.into_iter().map(whole).collect()
    }

    /// Events of a payment whose text is kept; at most [`REDUCE_BATCH`].
    pub async fn whole_events_of(&self, payment_id: i64) -> Result<Vec<WholeEvent>, StoreError> {
        self.read(&WHOLE_OF_PAYMENT, vec![payment_id.into()]).await?.into_iter().map(whole).collect()
    }

    /// Events by id with what sending them needs; at most [`CLAIM_BATCH`] ids are looked up.
    pub async fn inputs(&self, event_ids: &[i64]) -> Result<HashMap<i64, DeliveryInput>, StoreError> {
        let mut ids: Vec<Value> = event_ids.iter().take(CLAIM_BATCH).map(|id| (*id).into()).collect();
        ids.resize(CLAIM_BATCH, 0.into());
        let rows = self.read(&DELIVERY_INPUTS, ids).await?;
        rows.into_iter().map(|row| input(row).map(|input| (input.event_id, input))).collect()
    }
}

fn whole(row: Row) -> Result<WholeEvent, StoreError> {
    let mut r = row.reader("events");
    Ok(WholeEvent { id: r.int("id")?, business_id: r.int("business_id")?, body: r.bytes("body")? })
}

fn input(row: Row) -> Result<DeliveryInput, StoreError> {
    let mut reader = row.reader("events");
    Ok(DeliveryInput {
        event_id: reader.int("id")?,
        business_id: reader.int("business_id")?,
        kind: reader.text("kind")?,
        webhook_id: reader.text("webhook_id")?,
        body: reader.bytes("body")?,
        payment_kind: reader.opt_word("payment_kind", Kind::parse)?,
        payment_status: reader.opt_word("payment_status", Status::parse)?,
        payment_url: reader.opt_text("payment_url")?,
        reversed_at: reader.opt_time("reversed_at")?,
        is_reduced: reader.opt_time("reduced_at")?.is_some(),
        website_url: reader.opt_text("website_url")?,
        business_url: reader.opt_text("business_url")?,
        secret: reader.bytes("webhook_secret")?,
        previous_secret: reader.opt_bytes("previous_webhook_secret")?,
        previous_secret_until: reader.opt_time("previous_secret_until_at")?,
    })
}
