//! Messages to customers: written down with the fact they tell of, sent by a job, tried again while
//! that makes sense. How people see them is `shown`'s matter.
//!
//! A text is made when it is sent (`words`). Whoever needs to know at once whether a message went out
//! composes it *held*, so that its first attempt is made by this process, and waits with [`send_now`]; all
//! others leave it to the workers. What the messenger says of a message afterwards is `reports`' matter.

use std::sync::Arc;
use std::time::Duration;

use super::words::{phone_of, phone_place, reference_of, text_place, words};
use crate::app::App;
use crate::crash;
use crate::domain::message::{self, MessageKind, MessageStatus};
use crate::domain::phone::Phone;
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::wallets::find::{known_wallet, phone_hash};
use crate::outbound::message::{Outgoing, SendOutcome};
use crate::store::tables::jobs::{self, Job, JobKind};
use crate::store::tables::messages::{self, MessageRow};
use crate::store::{Applied, IdKind, Step};

/// How long somebody waits for a message to go out (contract/wallet.md#w10).
pub const FIRST_ATTEMPTS: Duration = Duration::from_secs(10);
/// How long an attempt holds its job: more than twice what the messenger may take.
pub const HELD: Span = Span::seconds(30);
/// Pauses after failed attempts; the last one is repeated while the message makes sense.
const PAUSES: [Span; 8] = [
    Span::seconds(1),
    Span::seconds(3),
    Span::seconds(15),
    Span::minutes(1),
    Span::minutes(5),
    Span::minutes(15),
    Span::hours(1),
    Span::hours(4),
];
/// How long a report is waited for after an attempt that may have succeeded; the messenger sends one
/// within seconds.
const UNSURE: Span = Span::minutes(1);
/// Customers who wrote to us within this may be sent plain text.
const WINDOW: Span = Span::hours(24);
/// A receipt or a note is not sent later than this.
pub const NOTES_VALID: Span = Span::hours(24);
/// Looks at a message that another process is sending.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Characters of an error that are kept.
const ERROR_MAX: usize = 300;

/// A message to be written down.
pub struct Note<'a> {
    pub to: &'a Phone,
    pub business_id: Option<i64>,
    pub wallet_id: Option<i64>,
    pub kind: MessageKind,
    /// An intent (link, receipt, stopped, locked), a code, a payment (all of top-ups, refund), the PIN's version (PIN changed).
    pub subject_id: i64,
    /// A merchant's own text.
    pub text: Option<&'a str>,
    pub valid_until: Timestamp,
}

/// A message with the steps that write it and its job into a Unit.
pub struct Composed {
    pub message_id: i64,
    pub job: Job,
    pub steps: Vec<Step>,
}

/// Who makes the first attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// This process, after the commit, with [`send_now`].
    Us,
    /// Any worker.
    Workers,
}

/// What came of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempted {
    Sent,
    /// For good; why, for operators.
    Failed(String),
    /// It is not tried again, and it may have arrived all the same.
    Unknown(String),
    /// It is tried again then.
    Later {
        at: Timestamp,
        why: String,
    },
    /// It went out, and nobody knows whether it arrived; a report may tell, else it is tried again.
    Unsure,
    /// Somebody else has taken it over.
    Superseded,
}

pub async fn compose(app: &App, note: &Note<'_>, by: By) -> Result<Composed, OpError> {
    let now = app.now();
    let id = app.store.id(IdKind::Message).await?;
    let job_id = app.store.id(IdKind::Job).await?;
    let seal = |place: &str, plain: &str| {
        let sealed = app.vault.seal(place, plain.as_bytes(), app.random.as_ref());
        sealed.map_err(OpError::from)
    };
    let row = MessageRow {
        id,
        business_id: note.business_id,
        wallet_id: note.wallet_id,
        sealed_phone: seal(&phone_place(id), &note.to.key())?,
        kind: note.kind,
        subject_id: note.subject_id,
        sealed_text: note.text.map(|text| seal(&text_place(id), text)).transpose()?,
        is_test: note.to.is_test(),
        status: MessageStatus::Queued,
        error: None,
        provider_id: None,
        attempts: 0,
        created_at: now,
        valid_until: note.valid_until,
        updated_at: now,
    };
    let business = note.business_id.unwrap_or(0);
    let held_until = if by == By::Us { now + HELD } else { now };
    let (job, step) = jobs::enqueue_held(job_id, JobKind::Message, business, id, held_until, now);
    Ok(Composed { message_id: id, job, steps: vec![messages::add(&row, &phone_hash(app, note.to)), step] })
}

/// One attempt under the fence of a claimed job; writes what came of it.
pub async fn attempt(app: &App, job: &Job) -> Result<Attempted, OpError> {
    let Some(row) = app.store.message(job.subject_id).await? else {
        return Err(OpError::Fault(format!("there is no message {}", job.subject_id)));
    };
    if row.status.is_sent() {
        let done = app.store.conclude_job(job, [jobs::finish(job, "sent", None, app.now())]).await?;
        return Ok(if done { Attempted::Sent } else { Attempted::Superseded });
    }
    let words = words(app, &row).await?;
    if app.now() >= row.valid_until {
        return give_up(app, job, &row, "it was too late to send it").await;
    }
    if let Some(why) = words.stale {
        return give_up(app, job, &row, why).await;
    }
    let is_window_open = match row.wallet_id {
        Some(id) => known_wallet(app, id).await?.wrote_at.is_some_and(|at| app.now() < at + WINDOW),
        None => false,
    };
    let outgoing = Outgoing {
        message_id: row.id,
        reference: app.vault.message_reference(row.id, &reference_of(&row)),
        to: phone_of(app, &row)?,
        kind: row.kind,
        text: words.text,
        link: words.link,
        code: words.code,
        parts: words.parts,
        is_window_open,
    };
    crash::point("message.before_send");
    let outcome = app.messenger.send(outgoing).await;
    crash::point("message.after_send");
    conclude(app, job, &row, outcome).await
}

async fn conclude(
    app: &App,
    job: &Job,
    row: &MessageRow,
    outcome: SendOutcome,
) -> Result<Attempted, OpError> {
    let now = app.now();
    match outcome {
        SendOutcome::Sent { provider_id } => {
            count(row, "sent");
            let steps = [jobs::finish(job, "sent", None, now), messages::sent(row.id, &provider_id, now)];
            let written = app.store.conclude_job(job, steps).await?;
            Ok(if written { Attempted::Sent } else { Attempted::Superseded })
        }
        SendOutcome::Unsure { why } => {
            let at = now + pause(job).max(UNSURE);
            if at >= row.valid_until {
                return Ok(match give_up(app, job, row, &why).await? {
                    Attempted::Failed(why) => Attempted::Unknown(why),
                    other => other,
                });
            }
            count(row, "unsure");
            // Without an error it counts as being tried until then, and nobody else tries it.
            let steps = [jobs::retry(job, at, &shortened(&why)), messages::not_yet(row.id, None, now)];
            let written = app.store.conclude_job(job, steps).await?;
            Ok(if written { Attempted::Unsure } else { Attempted::Superseded })
        }
        SendOutcome::Retry { why, after } => {
            let asked = after.and_then(|after| i64::try_from(after.as_micros()).ok()).map_or(Span(0), Span);
            let at = now + pause(job).max(asked);
            if at >= row.valid_until {
                return give_up(app, job, row, &why).await;
            }
            count(row, "retry");
            let why = shortened(&why);
            let steps = [jobs::retry(job, at, &why), messages::not_yet(row.id, Some(&why), now)];
            let written = app.store.conclude_job(job, steps).await?;
            Ok(if written { Attempted::Later { at, why } } else { Attempted::Superseded })
        }
        SendOutcome::Refused { why } => give_up(app, job, row, &why).await,
        SendOutcome::NotOnWhatsApp => give_up(app, job, row, "the number is not on WhatsApp").await,
    }
}

/// Those of test mode tell nothing of the messenger.
fn count(row: &MessageRow, outcome: &'static str) {
    if !row.is_test {
        metrics::counter!("tillbell_messages_total", "outcome" => outcome).increment(1);
    }
}

/// The pause after this try.
pub(in crate::ops) fn pause(job: &Job) -> Span {
    PAUSES[usize::try_from(job.tries).unwrap_or(usize::MAX).min(PAUSES.len() - 1)]
}

async fn give_up(app: &App, job: &Job, row: &MessageRow, why: &str) -> Result<Attempted, OpError> {
    count(row, "failed");
    let (now, why) = (app.now(), shortened(why));
    tracing::warn!(message_id = row.id, kind = row.kind.as_str(), why, "a message was not sent");
    let steps = [jobs::finish(job, "failed", Some(&why), now), messages::failed(row.id, &why, now)];
    let written = app.store.conclude_job(job, steps).await?;
    Ok(if written { Attempted::Failed(why) } else { Attempted::Superseded })
}

/// What is kept and logged of a reason: a messenger may name the number in it, which we do not.
pub(in crate::ops) fn shortened(why: &str) -> String {
    let plain: String = why.chars().filter(|c| !c.is_control()).take(ERROR_MAX).collect();
    message::without_numbers(&plain)
}

/// What somebody who waits is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentNow {
    Sent,
    /// Refused, and not tried again; why, for the merchant.
    Failed(String),
    /// Not tried again, and nobody knows whether it arrived.
    Unknown(String),
    /// A passing trouble; a worker tries it again.
    Later(String),
    /// An attempt is still under way, or is made soon.
    UnderWay,
}

/// Makes the first attempts of a held message and waits for them, [`FIRST_ATTEMPTS`] at most. They go
/// on when the caller goes away; further ones are left to the workers.
pub async fn send_now(app: &Arc<App>, job: Job) -> SentNow {
    let mine = app.clone();
    let trying = tokio::spawn(async move { attempts(&mine, job).await });
    match tokio::time::timeout(FIRST_ATTEMPTS, trying).await {
        Ok(Ok(Ok(outcome))) => outcome,
        Ok(Ok(Err(error))) => {
            tracing::warn!(%error, "a message could not be tried; a worker does it");
            SentNow::UnderWay
        }
        Ok(Err(_)) | Err(_) => SentNow::UnderWay,
    }
}

/// Attempts until one succeeds, fails for good, or the next is due too late to wait for.
async fn attempts(app: &App, mut job: Job) -> Result<SentNow, OpError> {
    let deadline = tokio::time::Instant::now() + FIRST_ATTEMPTS;
    loop {
        match attempt(app, &job).await? {
            Attempted::Sent => return Ok(SentNow::Sent),
            Attempted::Failed(why) => return Ok(SentNow::Failed(why)),
            Attempted::Unknown(why) => return Ok(SentNow::Unknown(why)),
            Attempted::Unsure | Attempted::Superseded => {
                return wait(app, job.subject_id, deadline).await;
            }
            Attempted::Later { at, why } => {
                let pause = at.since(app.now()).to_std();
                if tokio::time::Instant::now() + pause + crate::outbound::messenger::SEND_TIMEOUT > deadline {
                    return Ok(SentNow::Later(why));
                }
                tokio::time::sleep(pause).await;
                match take_over(app, &job).await? {
                    Some(taken) => job = taken,
                    None => return wait(app, job.subject_id, deadline).await,
                }
            }
        }
    }
}

/// Claims a message's job for this process; `None` if somebody else did since it was read.
async fn take_over(app: &App, job: &Job) -> Result<Option<Job>, OpError> {
    let held = app.now() + HELD;
    let step = messages::take_job(job.id, job.attempt, held);
    match app.store.apply(app.store.unit(job.business_id).await?.step(step)).await? {
        Applied::Done(_) => {
            Ok(Some(Job { attempt: job.attempt + 1, tries: job.tries + 1, run_at: held, ..job.clone() }))
        }
        Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => Ok(None),
    }
}

/// Waits for what another task or process makes of a message.
async fn wait(app: &App, message_id: i64, deadline: tokio::time::Instant) -> Result<SentNow, OpError> {
    loop {
        match app.store.message(message_id).await? {
            Some(row) if row.status.is_sent() => return Ok(SentNow::Sent),
            Some(row) if row.status == MessageStatus::Failed => {
                return Ok(SentNow::Unknown(row.error.unwrap_or_default()));
            }
            Some(row) if tokio::time::Instant::now() >= deadline => {
                return Ok(row.error.map_or(SentNow::UnderWay, SentNow::Later));
            }
            Some(_) => tokio::time::sleep(LOOK_EVERY).await,
            None => return Err(OpError::Fault(format!("message {message_id} is missing"))),
        }
    }
}

/// What has become of a message that others send; waits for it, [`FIRST_ATTEMPTS`] at most.
pub async fn outcome(app: &App, message_id: i64) -> Result<SentNow, OpError> {
    wait(app, message_id, tokio::time::Instant::now() + FIRST_ATTEMPTS).await
}

/// For a request that was sent again: `Sent` if the message has gone out; one that failed, or waits for
/// its next attempt, is tried now; one that is being tried is waited for.
pub async fn send_again(app: &Arc<App>, message_id: i64) -> Result<SentNow, OpError> {
    let deadline = tokio::time::Instant::now() + FIRST_ATTEMPTS;
    let row = app.store.message(message_id).await?;
    let row = row.ok_or_else(|| OpError::Fault(format!("message {message_id} is missing")))?;
    if row.status.is_sent() {
        return Ok(SentNow::Sent);
    }
    let Some(job) = app.store.message_job(message_id).await? else {
        return Err(OpError::Fault(format!("message {message_id} has no job")));
    };
    let is_being_tried = row.status == MessageStatus::Queued && row.error.is_none() && app.now() < job.run_at;
    if is_being_tried {
        return wait(app, message_id, deadline).await;
    }
    match take_over(app, &job).await? {
        // Its pauses begin anew: somebody waits for it.
        Some(job) => Ok(send_now(app, Job { tries: 0, ..job }).await),
        None => wait(app, message_id, deadline).await,
    }
}

/// Ends a message that whoever waited for it was told is not sent: no worker sends it later. `false`: it
/// went out at this very moment.
pub async fn abandon(app: &App, message_id: i64, why: &str) -> Result<bool, OpError> {
    let now = app.now();
    let unit = app
        .store
        .unit(message_id)
        .await?
        .step(messages::failed(message_id, &shortened(why), now))
        .step(jobs::finish_by_subject(JobKind::Message, message_id, "abandoned", now));
    Ok(app.store.apply(unit).await?.is_done())
}
