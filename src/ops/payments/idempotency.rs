//! Idempotency keys: one effect per key, however often the request is sent.
//!
//! A request with a key first claims it (a row with a lease of 30 s), then runs, and its Unit
//! carries [`Remember::step`], so that effect and answer are written together or not at all. A
//! claim that came to nothing is given back at once; a process that dies leaves a lease that ends.
//! Used by the doors that take keys; it knows nothing of what the requests do.

use std::time::Duration;

use crate::app::App;
use crate::domain::time::{Span, Timestamp};
use crate::store::tables::idempotency::{self, KeyRow, NewClaim};
use crate::store::{Applied, Step, Store};

use super::read::PaymentView;
use crate::ops::{OpError, RACES_MAX};

/// How long a request may work under its claim before another may take it over.
pub const LEASE: Span = Span::seconds(30);
/// How long an answer is remembered (contract/payments.md#p32).
pub const REMEMBERED: Span = Span::hours(24);
/// How long a second request waits for the first one's answer.
const WAIT: Duration = Duration::from_secs(2);
/// Pauses between looks at the row: short at first because most requests take milliseconds.
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(160);

/// What an op needs to write key and answer in the Unit of its effect.
pub struct Remember<'a> {
    pub claim: &'a Claim,
    /// Status and body of the answer that will be given for this payment.
    pub render: &'a (dyn Fn(&PaymentView) -> (u16, Vec<u8>) + Send + Sync),
}

impl Remember<'_> {
    /// Guarded by the claim's token: one row, or the Unit is lost.
    pub fn step(&self, view: &PaymentView) -> Step {
        let (status, body) = (self.render)(view);
        self.claim.answer_step(status, body)
    }
}

/// What a key is good for.
pub enum Claimed {
    /// Go on; settle the claim at the end.
    New(Claim),
    /// It was done before: status and body bytes of that answer.
    Replay(u16, Vec<u8>),
    /// The key belongs to another request.
    OtherRequest,
    /// The first request is still at work after the wait.
    StillRunning,
}

/// A claim at work. Dropped without [`Claim::keep`], as when the client hangs up, it is given back
/// in the background; an effect that is committed nevertheless has its answer, and stays.
pub struct Claim {
    store: Store,
    business_id: i64,
    key: String,
    token: i64,
    settled: bool,
}

impl Claim {
    /// Writes an answer under the key, for the Unit of the effect; lost with the claim.
    pub fn answer_step(&self, status: u16, body: Vec<u8>) -> Step {
        idempotency::answer(self.business_id, &self.key, self.token, status, body)
    }

    /// The answer is written, but it turned out that nothing happened: the key is free again. Where the
    /// database does not answer, the key goes on standing for what was tried.
    pub async fn take_back(mut self) {
        self.settled = true;
        let taken = self.store.forget_idempotency_key(self.business_id, &self.key, self.token).await;
        if let Err(error) = taken {
            tracing::warn!(%error, "an idempotency key could not be released after a failed request");
        }
    }

    /// The effect happened and its answer is written.
    pub fn keep(mut self) {
        self.settled = true;
    }

    /// Nothing happened: the key is free again when this returns. Where the database does not
    /// answer, the lease ends by itself.
    pub async fn release(mut self) {
        self.settled = true;
        let released = self.store.release_idempotency_key(self.business_id, &self.key, self.token).await;
        if let Err(error) = released {
            tracing::warn!(%error, "an idempotency key could not be released; its lease will expire");
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (store, business_id, token) = (self.store.clone(), self.business_id, self.token);
        let key = std::mem::take(&mut self.key);
        runtime.spawn(async move {
            // A failure leaves the lease, which ends by itself.
            drop(store.release_idempotency_key(business_id, &key, token).await);
        });
    }
}

/// Writes the answer of work whose effect is no Unit of ours, such as a message that was sent.
pub async fn keep_answer(app: &App, claim: &Claim, status: u16, body: Vec<u8>) -> Result<(), OpError> {
    let unit = app.store.unit(claim.business_id).await?.step(claim.answer_step(status, body));
    match app.store.apply(unit).await? {
        // A claim that was taken over meanwhile has another's answer.
        Applied::Done(_) | Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => Ok(()),
    }
}

/// Claims `key` for the request with this fingerprint, or tells what became of the first one.
pub async fn claim(
    app: &App,
    business_id: i64,
    key: &str,
    fingerprint: &[u8; 32],
) -> Result<Claimed, OpError> {
    let deadline = tokio::time::Instant::now() + WAIT;
    let mut pause = PAUSE_FIRST;
    let mut races = 0;
    loop {
        let row = app.store.idempotency_key(business_id, key).await?;
        let now = app.now();
        match row.as_ref().map_or(State::Free, |row| state(row, fingerprint, now)) {
            State::Free => {
                if let Some(claim) = try_claim(app, business_id, key, fingerprint, row.as_ref()).await? {
                    return Ok(Claimed::New(claim));
                }
                races += 1;
                if races > RACES_MAX {
                    return Ok(Claimed::StillRunning);
                }
            }
            State::Other => return Ok(Claimed::OtherRequest),
            State::Answered => {
                if let Some((status, body)) = row.and_then(|row| row.answer) {
                    return Ok(Claimed::Replay(status, body));
                }
            }
            State::Running => {
                if tokio::time::Instant::now() + pause > deadline {
                    return Ok(Claimed::StillRunning);
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// No row, or one that has had its day, or whose request died.
    Free,
    Other,
    Answered,
    Running,
}

fn state(row: &KeyRow, fingerprint: &[u8; 32], now: Timestamp) -> State {
    let same = row.fingerprint == fingerprint;
    match &row.answer {
        Some(_) if now >= row.created_at + REMEMBERED => State::Free,
        None if now >= row.running_until => State::Free,
        _ if !same => State::Other,
        Some(_) => State::Answered,
        None => State::Running,
    }
}

async fn try_claim(
    app: &App,
    business_id: i64,
    key: &str,
    fingerprint: &[u8; 32],
    old: Option<&KeyRow>,
) -> Result<Option<Claim>, OpError> {
    let now = app.now();
    // Positive, so that it reads the same in every tool; a repeat is as likely as a guessed key.
    let token = i64::try_from(app.random.next_u64() >> 1).unwrap_or(i64::MAX);
    let new = NewClaim { business_id, key, fingerprint, token, running_until: now + LEASE, now };
    let won = match old {
        None => app.store.claim_idempotency_key(&new).await?,
        Some(old) => app.store.take_over_idempotency_key(&new, old.token).await?,
    };
    Ok(won.then(|| Claim {
        store: app.store.clone(),
        business_id,
        key: key.to_owned(),
        token,
        settled: false,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(answered: bool) -> KeyRow {
        KeyRow {
            token: 1,
            fingerprint: vec![7; 32],
            running_until: Timestamp(0) + LEASE,
            answer: answered.then(|| (201, b"{}".to_vec())),
            created_at: Timestamp(0),
        }
    }

    #[test]
    fn a_claim_holds_for_its_lease_and_an_answer_for_a_day() {
        let last = |span: Span| Timestamp(span.0 - 1);
        assert_eq!(state(&row(false), &[7; 32], last(LEASE)), State::Running);
        assert_eq!(state(&row(false), &[8; 32], last(LEASE)), State::Other);
        assert_eq!(state(&row(false), &[8; 32], Timestamp(LEASE.0)), State::Free);
        assert_eq!(state(&row(true), &[7; 32], last(REMEMBERED)), State::Answered);
        assert_eq!(state(&row(true), &[8; 32], last(REMEMBERED)), State::Other);
        assert_eq!(state(&row(true), &[8; 32], Timestamp(REMEMBERED.0)), State::Free);
    }
}
