//! One batch of a queue of a kind of job: claims what is due and does it, up to a number of jobs at a time.
//!
//! Each queue has its own batch, so that retries cannot delay new jobs. It returns when all jobs are done; the
//! function that does a job writes its result. Deliveries do not use this: their dispatcher claims only what it
//! has room for, and waits for nothing.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::domain::time::Span;
use crate::store::StoreError;
use crate::store::tables::jobs::{CLAIM_BATCH, Job, JobKind, Queue};

/// Answers how many jobs there were. `lease` must be longer than a batch takes with `at_once` at a time.
pub(super) async fn run_batch<F>(
    app: &App,
    (kind, queue): (JobKind, Queue),
    lease: Span,
    at_once: usize,
    work: impl Fn(Job) -> F,
) -> Result<usize, StoreError>
where
    F: Future<Output = ()> + Send + 'static,
{
    let claimed = app.store.claim_jobs(kind, queue, app.now(), lease).await?;
    debug_assert!(claimed.len() <= CLAIM_BATCH);
    let count = claimed.len();
    let places = Arc::new(Semaphore::new(at_once));
    let tracker = TaskTracker::new();
    for job in claimed {
        let (places, doing) = (places.clone(), work(job));
        tracker.spawn(async move {
            let _place = places.acquire_owned().await;
            doing.await;
        });
    }
    tracker.close();
    tracker.wait().await;
    Ok(count)
}
