//! An audit that somebody at the desk has run: it goes on by itself while pages show how far it is, one at a time on all
//! nodes, and what it came to is kept.
//!
//! A process that ends takes its audit with it: without a sign of life for [`SILENT`] another one may begin.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::audit::{audit_counting, steps, what_to_do};
use super::check::Check;
use crate::app::App;
use crate::domain::time::Span;
use crate::ops::OpError;
use crate::store::tables::acts;
pub use crate::store::tables::audit_runs::AuditRun;
use crate::store::tables::audit_runs::{self, Finish};
use crate::store::{IdKind, Step};

/// A run that has shown no sign of life for so long has ended with its process.
pub const SILENT: Span = Span::seconds(60);
/// Time between two signs of life.
const BEAT_EVERY: Duration = Duration::from_secs(1);
/// The database may be away for a moment just when an audit of an hour has ended.
const FINISH_TRIES: usize = 30;
/// Runs that pages show.
const SHOWN_MAX: usize = 20;

/// What one clause came to, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCheck {
    pub name: String,
    pub rows: i64,
    pub violations: i64,
    /// The first rows that break it, in words.
    pub found: Vec<String>,
    /// Empty where the clause holds.
    pub what_to_do: String,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    Running,
    /// All clauses hold.
    Good,
    /// So many rows break one.
    Broken(i64),
    /// Without an answer.
    Ended,
}

/// The newest runs, the last first.
pub async fn runs(app: &App) -> Result<Vec<AuditRun>, OpError> {
    Ok(app.store.audit_runs(SHOWN_MAX).await?)
}

/// How a run stands now.
pub fn state(app: &App, run: &AuditRun) -> RunState {
    match (run.finished_at, run.violations) {
        (Some(_), Some(0)) => RunState::Good,
        (Some(_), Some(count)) => RunState::Broken(count),
        (Some(_), None) => RunState::Ended,
        (None, _) if run.beat_at > app.now() - SILENT => RunState::Running,
        (None, _) => RunState::Ended,
    }
}

/// What the newest runs say of the books: the last that came to an answer, and whether a later one ended without.
pub struct Verdict<'a> {
    pub answered: Option<&'a AuditRun>,
    pub unanswered: Option<&'a AuditRun>,
}

/// `all` are the newest runs, the last first. One that ended without an answer does not hide what was found before.
pub fn verdict<'a>(app: &App, all: &'a [AuditRun]) -> Verdict<'a> {
    let is_answer = |run: &&AuditRun| matches!(state(app, run), RunState::Good | RunState::Broken(_));
    let is_over = |run: &&AuditRun| state(app, run) != RunState::Running;
    let unanswered = all.iter().find(is_over).filter(|run| !is_answer(run));
    Verdict { answered: all.iter().find(is_answer), unanswered }
}

/// The clauses of a run that has ended.
pub fn checks_of(run: &AuditRun) -> Vec<KeptCheck> {
    serde_json::from_str(&run.checks).unwrap_or_default()
}

/// Has an audit run; `false` if one is running already.
pub async fn begin(app: &Arc<App>, operator: &str) -> Result<bool, OpError> {
    let now = app.now();
    let id = app.store.id(IdKind::AuditRun).await?;
    let act = app.store.id(IdKind::Act).await?;
    let unit = app
        .store
        .unit(id)
        .await?
        .step(audit_runs::begin(id, operator, count(steps()), now, now - SILENT))
        .step(acts::record(act, operator, "audit", &format!("audit {id}"), "", now));
    if !app.store.apply(unit).await?.is_done() {
        return Ok(false);
    }
    let app = app.clone();
    tokio::spawn(async move {
        if let Err(error) = run(&app, id).await {
            tracing::warn!(%error, run = id, "the result of an audit was not stored");
        }
    });
    Ok(true)
}

async fn run(app: &App, id: i64) -> Result<(), OpError> {
    let done = Arc::new(AtomicUsize::new(0));
    let audit = audit_counting(app, done.clone());
    tokio::pin!(audit);
    let outcome = loop {
        tokio::select! {
            outcome = &mut audit => break outcome,
            () = tokio::time::sleep(BEAT_EVERY) => {
                let step = audit_runs::beat(id, app.now(), count(done.load(Ordering::Relaxed)));
                // A sign of life that is lost is followed by the next.
                let _ = written(app, id, step).await;
            }
        }
    };
    let (violations, checks, trouble) = match &outcome {
        Ok(checks) => (Some(checks.iter().map(|check| check.violations).sum()), checks.as_slice(), None),
        Err(error) => (None, [].as_slice(), Some(error.to_string())),
    };
    let kept: Vec<KeptCheck> = checks.iter().map(keep).collect();
    let text = serde_json::to_string(&kept).unwrap_or_default();
    let end = Finish {
        id,
        at: app.now(),
        steps_done: count(done.load(Ordering::Relaxed)),
        violations,
        checks: &text,
        trouble: trouble.as_deref(),
    };
    for _ in 1..FINISH_TRIES {
        match written(app, id, audit_runs::finish(&end)).await {
            Ok(()) => return Ok(()),
            Err(error) => tracing::warn!(%error, run = id, "the result of an audit waits for the database"),
        }
        tokio::time::sleep(BEAT_EVERY).await;
    }
    written(app, id, audit_runs::finish(&end)).await
}

async fn written(app: &App, id: i64, step: Step) -> Result<(), OpError> {
    // Of a run that has its end nothing is written any more.
    let _ = app.store.apply(app.store.unit(id).await?.step(step)).await?;
    Ok(())
}

fn keep(check: &Check) -> KeptCheck {
    let found = check.found.iter().map(|found| match (&found.payment, found.id) {
        (Some((business, transaction)), _) => format!("payment {transaction} of business {business}"),
        (None, Some(id)) => format!("{} {id}", found.table),
        (None, None) => format!("the whole table {}", found.table),
    });
    KeptCheck {
        name: check.name.to_owned(),
        rows: check.rows,
        violations: check.violations,
        found: found.collect(),
        what_to_do: if check.violations == 0 { String::new() } else { what_to_do(check.name).to_owned() },
    }
}

fn count(steps: usize) -> i64 {
    i64::try_from(steps).unwrap_or(i64::MAX)
}
