//! Mails that could not be proven because a key was not to be had: asked about again with growing
//! pauses, until the proof is there, is refused, or there has been patience enough (contract/alerts.md#a11).
//!
//! The asking is the mail door's ([`Verifier`]); here is what follows from its answer. A mail that is
//! proven late becomes an alert as if it had come proven, in one Unit guarded by its version, with its
//! first sight unchanged. Run by workers under a durable job; any number of nodes may.

use std::future::Future;
use std::pin::Pin;

use super::alert_log;
use super::decide::{self, AlertOutcome};
use super::draft::{FIRST_PAUSE, Taken, alert_unit, draft, place};
use super::take::after_storing;
use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus, Authenticity};
use crate::domain::notice::NoticeKind;
use crate::domain::time::Span;
use crate::ops::notices::alarms::raise;
use crate::ops::{JobEnd, OpError, RACES_MAX};
use crate::store::tables::alerts;
use crate::store::tables::jobs::{self, JobKind};
use crate::store::{Applied, Step};

const PAUSE_MAX: Span = Span::minutes(15);

/// Whoever can look at a mail's proof again; the workers are handed one at the start.
pub trait Verifier: Send + Sync {
    /// Looks at the mail of an alert again. `tries` counts the looks before this one.
    fn verify<'a>(&'a self, app: &'a App, alert_id: i64, tries: i64) -> Looking<'a>;
}

/// A look under way.
pub type Looking<'a> = Pin<Box<dyn Future<Output = Result<JobEnd, OpError>> + Send + 'a>>;

/// Whether the alert still waits for its proof.
pub fn is_waiting(alert: &AlertRow) -> bool {
    alert.status == AlertStatus::Quarantined && alert.authenticity == Authenticity::Unproven
}

/// What follows when a mail that waits was looked at again.
pub async fn looked_again(app: &App, alert: &AlertRow, taken: &Taken, tries: i64) -> Result<JobEnd, OpError> {
    let now = app.now();
    if let Some(missing) = taken.waits {
        let until = alert.first_seen + missing.patience();
        let why = taken.why.last().cloned().unwrap_or_default();
        if now < until {
            return Ok(JobEnd::Later { at: (now + pause_after(tries)).min(until), why });
        }
        tracing::error!(
            alert = alert.id,
            from = taken.mail_from,
            why,
            "ALARM: the key that could prove a mail was not found in time; the mail stays quarantined"
        );
        let id = alert.id;
        let from = taken.mail_from.as_deref().unwrap_or("nobody");
        let body = format!("A mail from {from:?} waits in quarantine as alert {id}: {why}.");
        // Anybody may write such mails: one cause for each address that they claim to come from.
        raise(
            app,
            NoticeKind::MailNotProven,
            &format!("mails from {from}"),
            &body,
            &format!("/operator/alerts/{id}"),
        )
        .await;
    }
    settle_proof(app, alert, taken).await.map(|_| JobEnd::Done)
}

fn pause_after(tries: i64) -> Span {
    FIRST_PAUSE.doubled(tries, PAUSE_MAX)
}

/// Writes the last word on a mail that waited. Whoever else did so at the same moment wins.
async fn settle_proof(app: &App, waiting: &AlertRow, taken: &Taken) -> Result<AlertOutcome, OpError> {
    match write_anew(app, waiting, taken, Vec::new()).await? {
        Anew::Written(outcome) => Ok(outcome),
        Anew::Changed(Some(now_there)) => decide::outcome(app, &now_there).await,
        Anew::Changed(None) => Err(OpError::Fault(format!("there is no alert {}", waiting.id))),
    }
}

/// What became of an alert that was to be written anew.
pub(in crate::ops) enum Anew {
    Written(AlertOutcome),
    /// Somebody else was faster; as it stands now.
    Changed(Option<Box<AlertRow>>),
}

/// Writes an alert as its mail now reads, in one Unit with everything that goes with a new alert, and has it
/// decided; first sight stays. It no longer waits for a proof.
pub(in crate::ops) async fn write_anew(
    app: &App,
    before: &AlertRow,
    taken: &Taken,
    with: Vec<Step>,
) -> Result<Anew, OpError> {
    let read = Taken { waits: None, ..taken.clone() };
    let mut fresh = draft(before.id, before.first_seen, &read);
    fresh.version = before.version;
    fresh.source = before.source.clone();
    let now = app.now();
    fresh.decided_at = (fresh.status != AlertStatus::New).then_some(now);
    place(app, &mut fresh, read.simulated.as_ref()).await?;
    for _ in 0..RACES_MAX {
        let mut alert = fresh.clone();
        let unit =
            alert_unit(app, &mut alert, &read.content_hash, now, |alert| vec![alerts::rewritten(alert)])
                .await?;
        let done = jobs::finish_by_subject(JobKind::Verify, alert.id, alert.status.as_str(), now);
        if let Applied::Done(_) = app.store.apply(unit.step(done).steps(with.iter().cloned())).await? {
            crate::crash::point("alert.rewritten");
            alert_log::stored(app, &alert, None);
            alert.version += 1;
            return after_storing(app, &alert).await.map(Anew::Written);
        }
        // Another node was faster, or a copy was stored at this moment.
        match app.store.alert(before.id).await? {
            Some(now_there) if now_there.version == before.version => {}
            now_there => return Ok(Anew::Changed(now_there.map(Box::new))),
        }
    }
    Err(OpError::Contended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_quarter_of_an_hour() {
        assert_eq!(pause_after(0), Span::seconds(30));
        assert_eq!(pause_after(3), Span::minutes(4));
        assert_eq!(pause_after(60), PAUSE_MAX);
    }
}
