//! Background work: claims due jobs, does them, and records their results. Jobs are deliveries of webhooks,
//! messages to customers, decisions on alerts and second looks after corrections. Events get their places here, and
//! periodic tasks (sweep, seal, gauges) run here too.
//!
//! There is no leader and no heartbeat: any number of nodes may run this on one database. A job is held by its
//! lease alone, and its result is written under its fence (`store::tables::jobs`). `app.wake` changes on the
//! node where a job was committed; polling four times a second finds everything else. Between nodes nothing is
//! sent: a notification inside the commit would make PostgreSQL serialise all commits, so it would have to be
//! sent after it; with every node working, the one that commits is also the one that is woken. Started by
//! `serve` and by the demo; tests call [`run_due`].

mod batch;
mod deliver;
mod dispatcher;
mod due;
mod hosts;
mod jobs;
mod messages;
mod periodic;
mod places;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::domain::time::Span;
use crate::ops::alerts::prove_later::Verifier;
use crate::store::StoreError;
use crate::store::tables::jobs::Queue;
use dispatcher::DeliveryDispatcher;
use due::Due;
use jobs::Ops;

/// How late work may be noticed that another process committed, such as a command that took in a mail. Each
/// poll is one read.
const POLL: std::time::Duration = std::time::Duration::from_millis(250);
/// The pause after a database error.
const PAUSE: std::time::Duration = std::time::Duration::from_secs(1);
/// Time that posts have at the end of the program, beyond their own deadline.
const LAST_WRITES: std::time::Duration = std::time::Duration::from_secs(5);
/// Rounds of [`run_due`]; a job that becomes due again at once must not block a test for ever.
const DUE_ROUNDS_MAX: usize = 10_000;

/// Works until `stop`, then lets running posts end, gives back what was not begun, and returns.
/// Mails that wait for their proof are left to nodes that were given a verifier.
pub async fn run(app: Arc<App>, verifier: Option<Arc<dyn Verifier>>, stop: CancellationToken) {
    let dispatcher = DeliveryDispatcher::new(app.clone(), stop.clone());
    let loops = TaskTracker::new();
    let due = Arc::<Due>::default();
    loops.spawn(due.clone().watch(app.clone(), stop.clone()));
    loops.spawn(dispatcher.clone().run(due.clone()));
    let ops = Ops { app: app.clone(), verifier };
    for kind in ops.kinds() {
        loops.spawn(jobs::run(ops.clone(), *kind, due.clone(), stop.clone()));
    }
    loops.spawn(places::run(app.clone(), stop.clone()));
    for task in periodic::ALL {
        loops.spawn(periodic::run(app.clone(), task, stop.clone()));
    }
    loops.close();
    stop.cancelled().await;
    loops.wait().await;
    let grace = app.config.webhooks.timeout.to_std() + LAST_WRITES;
    if tokio::time::timeout(grace, dispatcher.finished()).await.is_err() {
        tracing::warn!("webhook attempts were still in progress at shutdown; they will be made again");
    }
}

/// Does all jobs that are due now, and those that become due by doing them, and waits for their
/// results. Answers how many. Jobs that a slow host put off are not waited for.
pub async fn run_due(app: &Arc<App>) -> Result<usize, StoreError> {
    run_due_with(app, None).await
}

/// The same for a node that can look at proofs.
pub async fn run_due_with(app: &Arc<App>, verifier: Option<Arc<dyn Verifier>>) -> Result<usize, StoreError> {
    let mut done = 0;
    let ops = Ops { app: app.clone(), verifier };
    for _ in 0..DUE_ROUNDS_MAX {
        let dispatcher = DeliveryDispatcher::new(app.clone(), CancellationToken::new());
        let mut round = dispatcher.round(&Queue::BOTH).await?.claimed;
        dispatcher.finished().await;
        for kind in ops.kinds() {
            for queue in Queue::BOTH {
                round += jobs::round(&ops, *kind, queue).await?;
            }
        }
        if round == 0 {
            break;
        }
        done += round;
    }
    Ok(done)
}

/// How long a claimed delivery is held: twice the deadline of a post, the wait before it and the
/// writing after it, with room to spare.
fn delivery_lease(app: &App) -> Span {
    Span(app.config.webhooks.timeout.0.saturating_mul(2) + Span::seconds(30).0)
}
