//! Sees which queues have jobs that are due, for all loops of this node, and rings for those.
//!
//! One look for all kinds: a look for each kind and queue took more of the database's time than the payments themselves, where
//! they come a few at a time. Whoever is rung for claims until a queue gives less than a whole batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{PAUSE, POLL};
use crate::app::App;
use crate::log_limit::warn_of;
use crate::store::tables::jobs::{JobKind, Queue};

/// Between two looks, so that many commits within it are seen by one.
const PACE: Duration = Duration::from_millis(1);

/// What is due, by kind.
#[derive(Default)]
pub(super) struct Due {
    lines: [Line; JobKind::ALL.len()],
}

#[derive(Default)]
struct Line {
    fresh: AtomicBool,
    retry: AtomicBool,
    rung: Notify,
}

impl Line {
    fn of(&self, queue: Queue) -> &AtomicBool {
        match queue {
            Queue::Fresh => &self.fresh,
            Queue::Retry => &self.retry,
        }
    }
}

impl Due {
    fn line(&self, kind: JobKind) -> &Line {
        &self.lines[kind as usize]
    }

    /// Looks after every commit of this node, and otherwise four times a second, until `stop`.
    pub async fn watch(self: Arc<Due>, app: Arc<App>, stop: CancellationToken) {
        let mut wake = app.wake.subscribe();
        while !stop.is_cancelled() {
            wake.mark_unchanged();
            let (pause, patience) = match app.store.due_jobs(app.now()).await {
                Ok(due) => {
                    due.into_iter().for_each(|(kind, queue)| self.ring(kind, queue));
                    (PACE, POLL)
                }
                Err(error) => {
                    warn_of!(app, &error, "no jobs could be looked for");
                    (PAUSE, Duration::ZERO)
                }
            };
            // In this order: a commit after a quiet time is seen at once.
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => {}
            }
            tokio::select! {
                Ok(()) = wake.changed() => {}
                () = tokio::time::sleep(patience) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    fn ring(&self, kind: JobKind, queue: Queue) {
        let line = self.line(kind);
        line.of(queue).store(true, Ordering::Release);
        line.rung.notify_one();
    }

    /// Waits until jobs of a kind are due, and says in which queues. One task asks for one kind.
    pub async fn of(&self, kind: JobKind) -> Vec<Queue> {
        loop {
            let rung = self.rung(kind);
            if !rung.is_empty() {
                return rung;
            }
            self.line(kind).rung.notified().await;
        }
    }

    /// In which queues jobs of a kind have been seen to be due since it was asked last.
    pub fn rung(&self, kind: JobKind) -> Vec<Queue> {
        let is_rung = |queue: &Queue| self.line(kind).of(*queue).swap(false, Ordering::AcqRel);
        Queue::BOTH.into_iter().filter(is_rung).collect()
    }
}
