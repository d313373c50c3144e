//! Takes a mail that was read: stores it with its duplicate keys and its decide job in one Unit,
//! then has it decided.

use super::alert_log;
use super::copies::judge_same_mail;
use super::decide::{AlertOutcome, decide_alert, left_to_service, outcome};
use super::draft::{FIRST_PAUSE, Taken, alert_unit, draft, place, vouching};
use super::taken_back::{link_taken_back_credits, takes_money_back};
use crate::app::App;
use crate::app::keys::read_keys_if_old;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::time::Span;
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::alerts;
use crate::store::tables::jobs::{self, JobKind};
use crate::store::tables::mailboxes;
use crate::store::{Applied, IdKind};

/// Raw mail is kept this long (contract/limits.md#x18).
pub const MAIL_KEPT: Span = Span::days(90);
/// Stores a mail and has it decided; what cannot be decided in time is left to the workers. Answers
/// [`OpError::Contended`] and stores nothing if its place in the mailbox was noted as taken meanwhile.
pub async fn take_alert(app: &App, taken: &Taken) -> Result<AlertOutcome, OpError> {
    read_keys_if_old(app).await?;
    let id = app.store.id(IdKind::Alert).await?;
    let mut alert = draft(id, app.now(), taken);
    place(app, &mut alert, taken.simulated.as_ref()).await?;
    let digest = taken.digest.as_ref().filter(|_| taken.waits.is_none());
    judge_same_mail(app, &mut alert, digest).await?;
    let first = alert.clone();
    for _ in 0..RACES_MAX {
        let now = alert.first_seen;
        let keep = |alert: &AlertRow| {
            vec![alerts::add(alert), alerts::add_mail(id, &taken.raw, taken.digest, now + MAIL_KEPT)]
        };
        let mut unit = alert_unit(app, &mut alert, &taken.content_hash, now, keep).await?;
        if taken.waits.is_some() && alert.status == AlertStatus::Quarantined {
            let job = app.store.id(IdKind::Job).await?;
            let at = now + FIRST_PAUSE;
            unit = unit.step(jobs::enqueue(job, JobKind::Verify, 0, id, at, now));
        }
        let noted_as_taken = taken.in_mailbox.as_ref().map(|mail| mailboxes::take(mail, app.now()));
        match app.store.apply(unit.steps(vouching(app, id, taken).await?).steps(noted_as_taken)).await? {
            Applied::Done(_) => {
                crate::crash::point("alert.stored");
                alert_log::stored(app, &alert, taken.waits);
                return after_storing(app, &alert).await;
            }
            // Another copy was stored at this moment: look for it.
            Applied::ConstraintViolation { .. } | Applied::Conflict { .. } => alert = first.clone(),
        }
    }
    Err(OpError::Contended)
}

/// What is stored is told as stored, whatever comes of it here: its job does what is left.
pub(in crate::ops) async fn after_storing(app: &App, alert: &AlertRow) -> Result<AlertOutcome, OpError> {
    work_on_stored(app, alert).await.or_else(|error| Ok(left_to_service(alert, &error)))
}

async fn work_on_stored(app: &App, alert: &AlertRow) -> Result<AlertOutcome, OpError> {
    if alert.status == AlertStatus::New {
        return decide_alert(app, alert.id).await;
    }
    if alert.simulated_for.is_none() {
        metrics::counter!("tillbell_alerts_total", "outcome" => alert.status.as_str()).increment(1);
    }
    if takes_money_back(alert) {
        crate::crash::point("alert.before_undoing");
        link_taken_back_credits(app, alert).await?;
        let done = jobs::finish_by_subject(JobKind::Decide, alert.id, "linked", app.now());
        let unit = app.store.unit(alert.id).await?.step(done);
        let _ = app.store.apply(unit).await?;
    }
    outcome(app, alert).await
}
