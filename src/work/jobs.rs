//! Jobs that only run an op: decide an alert, look again after a correction or after an account was added, or
//! look again for a proof that could not be fetched.
//!
//! The op usually ends its own job in the Unit of its effect; what is written here is for those
//! that had nothing left to do. A job that fails is tried again with growing pauses and parked when it
//! failed too often; a database that is away counts as nothing. A decision is never parked: until it is made
//! nobody can approve or dismiss the alert, so it goes on being tried, and an alarm tells of it.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::batch::run_batch;
use super::due::Due;
use crate::app::App;
use crate::domain::notice::NoticeKind;
use crate::domain::time::Span;
use crate::log_limit::warn_of;
use crate::ops::alerts::prove_later::Verifier;
use crate::ops::notices::alarms::raise;
use crate::ops::{self, JobEnd, OpError};
use crate::store::tables::jobs::{self, CLAIM_BATCH, Job, JobKind, Queue};
use crate::store::{Step, StoreError};

/// Ops of one kind at work at once; they wait mostly for the database.
const AT_ONCE: usize = 16;
/// Longer than a batch of them can take, database time-outs included.
const LEASE: Span = Span::seconds(120);
/// Failures after which a job is parked, and an alarm about a decision is raised again: every two hours.
const TRIES_MAX: i64 = 12;
/// Failures of a decision after which an alarm is raised: a quarter of a minute of pauses alone, and a minute
/// where a flood of alerts of one amount keeps it from its turn.
const ALARM_AFTER: i64 = 5;
/// The pause after the first failure; doubled after each, up to the longest.
const PAUSE: Span = Span::seconds(1);
const PAUSE_MAX: Span = Span::minutes(10);

/// The first needs somebody who can look at a mail's proof. Deliveries have a dispatcher of their own.
const WITH_VERIFIER: [JobKind; 7] = [
    JobKind::Verify,
    JobKind::Decide,
    JobKind::Rematch,
    JobKind::Place,
    JobKind::Notify,
    JobKind::Mail,
    JobKind::Message,
];

/// What these jobs need.
#[derive(Clone)]
pub(super) struct Ops {
    pub app: Arc<App>,
    pub verifier: Option<Arc<dyn Verifier>>,
}

impl Ops {
    /// The kinds this node can do.
    pub fn kinds(&self) -> &'static [JobKind] {
        match self.verifier {
            Some(_) => &WITH_VERIFIER,
            None => &WITH_VERIFIER[1..],
        }
    }

    /// When the job is due again, if it is not finished.
    async fn run(&self, job: &Job) -> Result<JobEnd, OpError> {
        let app = &self.app;
        match (job.kind, &self.verifier) {
            (JobKind::Decide, _) => ops::alerts::decide::decide_alert(app, job.subject_id).await.map(drop)?,
            (JobKind::Rematch, _) => ops::alerts::rematch::rematch(app, job.subject_id).await?,
            (JobKind::Place, _) => {
                ops::alerts::account_added::place_alerts(app, job.subject_id).await?;
            }
            (JobKind::Verify, Some(verifier)) => {
                return verifier.verify(app, job.subject_id, job.tries).await;
            }
            (JobKind::Verify, None) => return Err(OpError::Fault("this node cannot check proofs".into())),
            (JobKind::Notify, _) => {
                return ops::notices::hook::post_alarm(app, job.subject_id, job.tries).await;
            }
            (JobKind::Mail, _) => {
                return ops::people::mailed::send_mail(app, job.subject_id, job.tries).await;
            }
            (JobKind::Deliver | JobKind::Message, _) => {
                return Err(OpError::Fault("this kind of job has no operation".into()));
            }
        }
        Ok(JobEnd::Done)
    }
}

/// Works on one kind until `stop`.
pub(super) async fn run(ops: Ops, kind: JobKind, due: Arc<Due>, stop: CancellationToken) {
    loop {
        let mut queues = tokio::select! {
            queues = due.of(kind) => queues,
            () = stop.cancelled() => return,
        };
        while !queues.is_empty() && !stop.is_cancelled() {
            let mut more = Vec::new();
            for queue in queues {
                match round(&ops, kind, queue).await {
                    Ok(claimed) if claimed >= CLAIM_BATCH => more.push(queue),
                    Ok(_) => {}
                    Err(error) => {
                        warn_of!(ops.app, &error, { kind = kind.as_str(), }, "no jobs could be claimed");
                        tokio::time::sleep(super::PAUSE).await;
                    }
                }
            }
            // A long queue of one sort must not stand before the other.
            let rung = due.rung(kind).into_iter().filter(|queue| !more.contains(queue));
            queues = more.iter().copied().chain(rung).collect();
        }
    }
}

/// Claims a batch of a queue and does it. Answers how many jobs there were.
pub(super) async fn round(ops: &Ops, kind: JobKind, queue: Queue) -> Result<usize, StoreError> {
    match kind {
        JobKind::Message => super::messages::round(&ops.app, queue).await,
        _ => run_batch(&ops.app, (kind, queue), LEASE, AT_ONCE, |job| one(ops.clone(), job)).await,
    }
}

async fn one(ops: Ops, job: Job) {
    let app = &ops.app;
    let result = ops.run(&job).await;
    let (now, kind) = (app.now(), job.kind.as_str());
    let step: Step = match result {
        Ok(JobEnd::Done) => jobs::finish(&job, "done", None, now),
        Ok(JobEnd::Later { at, why }) => jobs::retry(&job, at, &why),
        Err(OpError::Store(StoreError::Unavailable(_))) => jobs::defer(&job, now + PAUSE),
        Err(error) if job.tries + 1 >= tries_max(job.kind) && job.kind != JobKind::Decide => {
            tracing::error!(job = job.id, kind, subject = job.subject_id, %error, "a job is parked after too many failures");
            jobs::finish(&job, "failed", Some(&error.to_string()), now)
        }
        Err(error) => {
            tracing::warn!(job = job.id, kind, subject = job.subject_id, %error, "a job failed and will be \
                retried");
            if job.kind == JobKind::Decide && is_alarming(job.tries + 1) {
                alarm(app, &job, &error).await;
            }
            jobs::retry(&job, now + pause_after(job.tries), &error.to_string())
        }
    };
    // A job that the op has ended itself is lost here, as it should be. One whose result cannot be
    // written comes back when its lease ends; ops may be done twice.
    if let Err(error) = app.store.conclude_job(&job, [step]).await {
        warn_of!(app, &error, { job = job.id, kind, }, "the result of a job was not stored");
    }
}

/// What waits for a key or a mail server counts its waits as tries too, and must not be parked for one failure after them.
fn tries_max(kind: JobKind) -> i64 {
    match kind {
        JobKind::Verify | JobKind::Mail | JobKind::Notify => 500,
        _ => TRIES_MAX,
    }
}

fn is_alarming(failures: i64) -> bool {
    failures == ALARM_AFTER || failures % TRIES_MAX == 0
}

/// Its alert stays `new`, and nobody can approve or dismiss it.
async fn alarm(app: &App, job: &Job, error: &OpError) {
    tracing::error!(
        alert = job.subject_id,
        failures = job.tries + 1,
        %error,
        "ALARM: an alert cannot be decided; nobody can approve or dismiss it until that succeeds"
    );
    let (id, failures) = (job.subject_id, job.tries + 1);
    let body = format!("Alert {id} could not be decided {failures} times: {error}.");
    raise(app, NoticeKind::AlertUndecided, &format!("alert {id}"), &body, &format!("/operator/alerts/{id}"))
        .await;
}

fn pause_after(tries: i64) -> Span {
    PAUSE.doubled(tries, PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_comes_after_some_failures_and_again_every_two_hours() {
        let alarming: Vec<i64> = (1..=40).filter(|failures| is_alarming(*failures)).collect();
        assert_eq!(alarming, [5, 12, 24, 36]);
    }

    #[test]
    fn pauses_double_up_to_ten_minutes() {
        assert_eq!(pause_after(0), Span::seconds(1));
        assert_eq!(pause_after(3), Span::seconds(8));
        assert_eq!(pause_after(TRIES_MAX), PAUSE_MAX);
        assert_eq!(pause_after(i64::MAX), PAUSE_MAX);
    }
}
