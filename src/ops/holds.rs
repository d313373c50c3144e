//! Holds back all that goes out by itself (webhooks, messages to customers, mails, alarms to the operator's webhook) until an
//! operator lets it go: a database that was restored must not tell the past again before somebody has looked
//! (docs/decisions/0090-backup-and-restore.md).
//!
//! What somebody waits for at this moment, a link to pay or a code, is sent all the same: it is no past.

use crate::app::App;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::store::tables::jobs::{COUNT_MAX, JobKind};
use crate::store::tables::{acts, holds};
use crate::store::{Applied, IdKind};

/// What goes out by itself.
const OUTGOING: [JobKind; 4] = [JobKind::Deliver, JobKind::Message, JobKind::Mail, JobKind::Notify];

/// Since when it is held, if it is.
pub async fn held_since(app: &App) -> Result<Option<Timestamp>, OpError> {
    Ok(app.store.held_since().await?)
}

/// Holds all of it. Where it is held already it stays so, since then.
pub async fn hold(app: &App, operator: &str, reason: &str) -> Result<(), OpError> {
    let now = app.now();
    let act = app.store.id(IdKind::Act).await?;
    let unit = app
        .store
        .unit(0)
        .await?
        .steps(OUTGOING.map(|kind| holds::hold(kind, reason, operator, now)))
        .step(acts::record(act, operator, "hold", "everything that goes out", reason, now));
    match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(()),
        Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => Err(OpError::Contended),
    }
}

/// How many jobs wait to go out, at most [`COUNT_MAX`] of a kind.
pub async fn waiting(app: &App) -> Result<i64, OpError> {
    let depths = app.store.job_depths().await?;
    let out = depths.iter().filter(|depth| OUTGOING.contains(&depth.kind));
    Ok(out.map(|depth| depth.count.min(COUNT_MAX)).sum())
}

/// Lets it go. `false`: nothing was held.
pub async fn resume(app: &App, operator: &str) -> Result<bool, OpError> {
    if app.store.held_since().await?.is_none() {
        return Ok(false);
    }
    let act = app.store.id(IdKind::Act).await?;
    let unit = app.store.unit(0).await?.steps(OUTGOING.map(holds::release)).step(acts::record(
        act,
        operator,
        "resume",
        "everything that goes out",
        "",
        app.now(),
    ));
    match app.store.apply(unit).await? {
        Applied::Done(_) => {
            app.wake_workers();
            Ok(true)
        }
        Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => Err(OpError::Contended),
    }
}
