//! Sends the messages that are due: receipts and notes, and what the process that wrote them could not
//! send itself. One attempt each (`ops::messages::outbox::attempt`), a few at once.
//!
//! An attempt writes its own end under the job's fence; one that failed before it could is due again
//! when its lease ends. Called by the loops of this room.

use std::sync::Arc;

use crate::app::App;
use crate::log_limit::warn_of;
use crate::ops::messages::outbox::{HELD, attempt};
use crate::store::StoreError;
use crate::store::tables::jobs::{Job, JobKind, Queue};

/// Attempts at once on a node: a batch of 64 whose every attempt takes the messenger's 8 s is done in
/// 16 s, within the lease.
const AT_ONCE: usize = 32;

/// Claims a batch of a queue and makes its attempts. Answers how many there were.
pub(super) async fn round(app: &Arc<App>, queue: Queue) -> Result<usize, StoreError> {
    super::batch::run_batch(app, (JobKind::Message, queue), HELD, AT_ONCE, |job| one(app.clone(), job)).await
}

async fn one(app: Arc<App>, job: Job) {
    if let Err(error) = attempt(&app, &job).await {
        warn_of!(app, &error, { job = job.id, message = job.subject_id, }, "a message could not be attempted");
    }
}
