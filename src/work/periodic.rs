//! What is done by the clock, on every node: the sweep, the end of intents, the ledger's seal, the gauges of
//! the queues, the figures of days, what members of businesses are told, the index of payers' names, what is kept no longer, the parts of large tables, the count of lines that the log did not take. (The directory's notes
//! of last use are written by `serve`: every node has them.) Each runs alone and again after its pause; nodes
//! that do the same at once lose races and do no harm. A failure is logged and waits for the next time.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::domain::alert::AlertStatus;
use crate::domain::notice::NoticeKind;
use crate::log_limit::warn_of;
use crate::ops::data_keys::reseal::Progress;
use crate::ops::notices::alarms::note;
use crate::ops::{self, OpError};

/// Seals written in one run; a further backlog waits a second.
const SEALS_AT_ONCE: usize = 20;
/// Steps of sealing values anew in one run, of 200 rows each.
const RESEALS_AT_ONCE: usize = 25;

/// Before a task goes on with what it left: long enough that nobody waits behind it.
const BEHIND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub(super) enum PeriodicTask {
    Sweep,
    Intents,
    Seal,
    Gauges,
    Names,
    Retention,
    Parts,
    Figures,
    Notices,
    Keys,
    Log,
}

pub(super) const ALL: [PeriodicTask; 11] = [
    PeriodicTask::Sweep,
    PeriodicTask::Intents,
    PeriodicTask::Seal,
    PeriodicTask::Gauges,
    PeriodicTask::Names,
    PeriodicTask::Retention,
    PeriodicTask::Parts,
    PeriodicTask::Figures,
    PeriodicTask::Notices,
    PeriodicTask::Keys,
    PeriodicTask::Log,
];

impl PeriodicTask {
    fn every(self) -> Duration {
        Duration::from_secs(match self {
            PeriodicTask::Sweep => 30,
            // A payment whose link has ended is rejected at once (contract/wallet.md#w20).
            PeriodicTask::Intents | PeriodicTask::Seal => 1,
            PeriodicTask::Figures => 2,
            PeriodicTask::Gauges | PeriodicTask::Keys | PeriodicTask::Log => 5,
            // Finds something after an upgrade alone, while nodes of before may still make payments.
            PeriodicTask::Names | PeriodicTask::Notices | PeriodicTask::Retention | PeriodicTask::Parts => 60,
        })
    }

    /// Whether it left work that is due, and is to run again soon.
    async fn run(self, app: &App) -> Result<bool, OpError> {
        let done = match self {
            PeriodicTask::Sweep => ops::payments::sweep::sweep(app).await.map(drop),
            PeriodicTask::Intents => ops::wallet_payments::end::expire_intents(app).await.map(drop),
            PeriodicTask::Seal => seal(app).await,
            PeriodicTask::Gauges => Ok(gauges(app).await?),
            PeriodicTask::Names => ops::payments::like_names::key_names(app).await,
            PeriodicTask::Retention => return Ok(ops::retention::forget_old(app).await?.is_behind),
            PeriodicTask::Parts => ops::retention::keep_parts(app).await,
            PeriodicTask::Figures => ops::figures::roll_up::roll_up(app).await.map(drop),
            PeriodicTask::Notices => notices(app).await,
            PeriodicTask::Keys => reseal(app).await,
            PeriodicTask::Log => {
                tell_left_out(app);
                Ok(())
            }
        };
        done.map(|()| false)
    }
}

/// Repeats one periodic task until `stop`.
pub(super) async fn run(app: Arc<App>, task: PeriodicTask, stop: CancellationToken) {
    loop {
        let is_behind = task.run(&app).await.unwrap_or_else(|error| {
            warn_of!(app, &error, { ?task, }, "a background task failed");
            false
        });
        let pause = if is_behind { BEHIND } else { task.every() };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Counts what was left out of the log, where no later line of its sort told it.
fn tell_left_out(app: &App) {
    for (sort, left_out) in app.log_limit.left_out(app.now()) {
        let business = (sort.whose != 0).then_some(sort.whose);
        tracing::warn!(
            what = sort.what,
            business,
            left_out,
            "lines were left out of the log: too many in a short time"
        );
    }
}

/// Seals what waits; after a burst that is more than one seal.
async fn seal(app: &App) -> Result<(), OpError> {
    for _ in 0..SEALS_AT_ONCE {
        if ops::ledger::seal::seal(app).await? < ops::ledger::seal::SEAL_MAX {
            break;
        }
    }
    Ok(())
}

/// Seals older values under the newest key; of very many a share in each run, so that payments do not wait for it.
async fn reseal(app: &App) -> Result<(), OpError> {
    for _ in 0..RESEALS_AT_ONCE {
        match ops::data_keys::reseal::step(app).await? {
            Progress::Idle | Progress::Waits => break,
            Progress::Went { .. } | Progress::Ended(_) => {}
        }
    }
    Ok(())
}

/// What goes on and is to be told: to members of businesses, and that no message reaches customers.
async fn notices(app: &App) -> Result<(), OpError> {
    if app.messenger.is_alarmed() {
        let body = "WhatsApp accepts no messages; customers of wallets get no links and no codes.";
        note(app, NoticeKind::Messenger, "messenger", body, "/operator").await;
    }
    ops::notices::merchants::look(app).await
}

/// Depth of every queue and how long its oldest due job waits.
async fn gauges(app: &App) -> Result<(), OpError> {
    let now = app.now();
    for depth in app.store.job_depths().await? {
        let labels = [("kind", depth.kind.as_str()), ("queue", depth.queue.as_str())];
        let waited = depth.oldest_run_at.map_or(0.0, |at| now.since(at).to_std().as_secs_f64());
        metrics::gauge!("tillbell_jobs_open", &labels).set(depth.count as f64);
        metrics::gauge!("tillbell_jobs_oldest_due_seconds", &labels).set(waited);
    }
    let totals = app.store.alert_totals().await?;
    for status in AlertStatus::COUNTED {
        let total = totals.iter().find(|total| total.status == status);
        let label = [("status", status.as_str())];
        let oldest = total.map_or(0.0, |t| now.since(t.oldest).to_std().as_secs_f64());
        metrics::gauge!("tillbell_alerts_waiting", &label).set(total.map_or(0.0, |t| t.count as f64));
        metrics::gauge!("tillbell_alerts_waiting_naira", &label)
            .set(total.map_or(0.0, |t| t.amount.kobo() as f64 / 100.0));
        metrics::gauge!("tillbell_alerts_waiting_oldest_seconds", &label).set(oldest);
    }
    let stopped = app.store.stopped_wallet_businesses().await?;
    metrics::gauge!("tillbell_wallet_businesses_stopped").set(stopped as f64);
    metrics::gauge!("tillbell_webhook_targets_paused")
        .set(ops::webhooks::deliveries::paused_in_use(app).await? as f64);
    Ok(())
}
