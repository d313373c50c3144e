//! What is over is forgotten after a stated time: finished jobs, the log of webhook attempts, the text of events, refused requests,
//! sessions, notices and mails, registrations, forms that count once, and approvals by the minute.
//!
//! Nothing that is money or proof goes. The row of a delivery stays, as its event does: it says that the merchant was
//! told, and as long as the event's text is kept lets a person send it again. Attempts of a delivery that is not over stay, whatever their age. Several
//! nodes may do this at once, and any may die in between: each step is one Unit. Called by work.

use crate::app::App;
use crate::crash;
use crate::domain::time::Span;
use crate::ops::OpError;
use crate::ops::figures::refused::REQUESTS_KEPT;
use crate::ops::figures::roll_up::forget_minutes;
use crate::ops::webhooks::reduced::reduce_old;
use crate::store::StoreError;
use crate::store::tables::{
    deliveries, jobs, notices, outgoing_mails, passkeys, refused, registrations, sent_forms, sessions,
};

/// Units of each kind in one run; the next run goes on.
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
}

pub async fn forget_old(app: &App) -> Result<Forgotten, OpError> {
    let (now, kept, store) = (app.now(), &app.config.retention, &app.store);
    let jobs = in_steps(jobs::FORGET_BATCH, || store.forget_finished_jobs(now - kept.finished_jobs)).await?;
    let attempts = in_steps(deliveries::FORGET_BATCH, || store.forget_attempts(now - kept.attempts)).await?;
    let events = reduce_old(app, now - kept.event_texts, STEPS_MAX).await?;
    let refused = in_steps(refused::FORGET_BATCH, || store.forget_refused(now - REQUESTS_KEPT)).await?;
    let sessions = in_steps(sessions::FORGET_BATCH, || store.forget_sessions(now - SESSIONS_KEPT)).await?;
    in_steps(sessions::FORGET_BATCH, || store.forget_sign_in_counts(now - COUNTS_KEPT)).await?;
    in_steps(passkeys::FORGET_BATCH, || store.forget_passkey_challenges(now - CHALLENGES_KEPT)).await?;
    in_steps(notices::FORGET_BATCH, || store.forget_notices(now - NOTICES_KEPT)).await?;
    in_steps(outgoing_mails::FORGET_BATCH, || store.forget_mails(now - MAILS_KEPT)).await?;
    in_steps(registrations::FORGET_BATCH, || store.forget_registrations(now - REGISTRATIONS_KEPT)).await?;
    in_steps(sent_forms::FORGET_BATCH, || store.forget_sent_forms(now - SENT_FORMS_KEPT)).await?;
    forget_minutes(app).await?;
    Ok(Forgotten { jobs, attempts, events, refused, sessions })
}

/// Forgets a batch at a time until less than one is left; how many in all.
async fn in_steps<F>(batch: usize, forget: impl Fn() -> F) -> Result<usize, OpError>
where
    F: Future<Output = Result<usize, StoreError>>,
{
    let mut forgotten = 0;
    for _ in 0..STEPS_MAX {
        let gone = forget().await?;
        crash::point("retention.step");
        forgotten += gone;
        if gone < batch {
            break;
        }
    }
    Ok(forgotten)
}
