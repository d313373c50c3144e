//! What is over is forgotten after a stated time: finished jobs, the log of webhook attempts, the text of events, refused requests,
//! sessions, notices and mails, registrations, forms that count once, approvals by the minute, the banks' mails, marks of those that
//! were taken, idempotency keys, quotas' windows, and names that no alert can ask for any more.
//!
//! Nothing that is money or proof goes. The row of a delivery stays, as its event does: it says that the merchant was
//! told, and as long as the event's text is kept lets a person send it again. Attempts of a delivery that is not over stay, whatever their age. Several
//! nodes may do this at once, and any may die in between: each step is one Unit. Called by work.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::app::App;
use crate::crash;
use crate::domain::time::Span;
use crate::ops::OpError;
use crate::ops::figures::refused::REQUESTS_KEPT;
use crate::ops::figures::roll_up::forget_minutes;
use crate::ops::mailboxes::TAKEN_KEPT;
use crate::ops::payments::idempotency::REMEMBERED;
use crate::ops::webhooks::reduced::reduce_old;
use crate::store::StoreError;
use crate::store::tables::events::REDUCE_BATCH;
use crate::store::tables::{
    alerts, deliveries, idempotency, jobs, mailboxes, messages, notices, outgoing_mails, passkeys,
    payment_names, refused, registrations, sent_forms, sessions,
};

/// Units of each kind in one run; the next run goes on, and where one was not enough it follows at once.
const STEPS_MAX: usize = 40;

/// Long after its end a session says from where somebody signed in.
const SESSIONS_KEPT: Span = Span::days(90);
/// Wrong tries count within a quarter of an hour.
const COUNTS_KEPT: Span = Span::days(1);
/// What was told, and mails that have gone.
const NOTICES_KEPT: Span = Span::days(90);
const MAILS_KEPT: Span = Span::days(30);
/// What passkeys were asked counts for minutes.
const CHALLENGES_KEPT: Span = Span::minutes(10);
/// Registrations: their link works for a day, and says for some days more that it is over.
const REGISTRATIONS_KEPT: Span = Span::days(7);

/// Windows of quotas are a day long at most.
const QUOTAS_KEPT: Span = Span::days(2);

/// A session ends within twelve hours, and its forms with it.
const SENT_FORMS_KEPT: Span = Span::days(1);

/// How much one run forgot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub jobs: usize,
    pub attempts: usize,
    /// Events whose text went.
    pub events: usize,
    pub refused: usize,
    pub sessions: usize,
    /// More is over than one run forgets.
    pub is_behind: bool,
}

pub async fn forget_old(app: &App) -> Result<Forgotten, OpError> {
    let (now, kept, store) = (app.now(), &app.config.retention, &app.store);
    let run = Run::default();
    let finished = now - kept.finished_jobs;
    let jobs = run.in_steps(jobs::FORGET_BATCH, || store.forget_finished_jobs(finished)).await?;
    let tried = now - kept.attempts;
    let attempts = run.in_steps(deliveries::FORGET_BATCH, || store.forget_attempts(tried)).await?;
    let events = reduce_old(app, now - kept.event_texts, STEPS_MAX).await?;
    let refused = run.in_steps(refused::FORGET_BATCH, || store.forget_refused(now - REQUESTS_KEPT)).await?;
    let sessions =
        run.in_steps(sessions::FORGET_BATCH, || store.forget_sessions(now - SESSIONS_KEPT)).await?;
    run.in_steps(sessions::FORGET_BATCH, || store.forget_sign_in_counts(now - COUNTS_KEPT)).await?;
    run.in_steps(passkeys::FORGET_BATCH, || store.forget_passkey_challenges(now - CHALLENGES_KEPT)).await?;
    run.in_steps(notices::FORGET_BATCH, || store.forget_notices(now - NOTICES_KEPT)).await?;
    run.in_steps(outgoing_mails::FORGET_BATCH, || store.forget_mails(now - MAILS_KEPT)).await?;
    run.in_steps(registrations::FORGET_BATCH, || store.forget_registrations(now - REGISTRATIONS_KEPT))
        .await?;
    run.in_steps(sent_forms::FORGET_BATCH, || store.forget_sent_forms(now - SENT_FORMS_KEPT)).await?;
    run.in_steps(alerts::FORGET_MAILS_BATCH, || store.forget_raw_mails(now)).await?;
    run.in_steps(mailboxes::FORGET_BATCH, || store.forget_taken(now - TAKEN_KEPT)).await?;
    run.in_steps(idempotency::FORGET_BATCH, || store.forget_keys(now - REMEMBERED)).await?;
    run.in_steps(messages::FORGET_BATCH, || store.forget_quotas(now - QUOTAS_KEPT)).await?;
    run.in_steps(payment_names::FORGET_BATCH, || store.forget_names(now)).await?;
    store.forget_units().await?;
    forget_minutes(app).await?;
    let is_behind = run.is_behind.load(Ordering::Relaxed) || events >= STEPS_MAX * REDUCE_BATCH;
    Ok(Forgotten { jobs, attempts, events, refused, sessions, is_behind })
}

/// Makes parts of the large tables ahead of what comes, and takes away those in which nothing is kept any more.
pub async fn keep_parts(app: &App) -> Result<(), OpError> {
    let changed = app.store.keep_parts(app.now()).await?;
    for (table, ids) in changed.room {
        metrics::gauge!("tillbell_part_room_ids", "table" => table).set(ids as f64);
    }
    for part in &changed.made {
        tracing::info!(part, "a part of a large table was made, for rows to come");
    }
    for part in &changed.removed {
        tracing::info!(part, "a part of a large table was empty and is gone");
    }
    match changed.trouble {
        Some(trouble) => Err(StoreError::Unavailable(trouble).into()),
        None => Ok(()),
    }
}

/// One run, and whether a kind of rows had more than its steps took.
#[derive(Default)]
struct Run {
    is_behind: AtomicBool,
}

impl Run {
    /// Forgets a batch at a time until less than one is left; how many in all.
    async fn in_steps<F>(&self, batch: usize, forget: impl Fn() -> F) -> Result<usize, OpError>
    where
        F: Future<Output = Result<usize, StoreError>>,
    {
        let mut forgotten = 0;
        for _ in 0..STEPS_MAX {
            let gone = forget().await?;
            crash::point("retention.step");
            forgotten += gone;
            if gone < batch {
                return Ok(forgotten);
            }
        }
        self.is_behind.store(true, Ordering::Relaxed);
        Ok(forgotten)
    }
}
