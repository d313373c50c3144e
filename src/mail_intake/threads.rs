//! The few threads on which mails are read, one for each core, the same ones for as long as the
//! service runs.
//!
//! Reading is bound by the processor, so more threads are not faster. Each thread makes its own caches for the
//! hundreds of expressions of the templates, about ten megabytes. So the threads must stay the same, unlike
//! tokio's blocking threads. Used by `mail_intake` alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};

/// Threads, between these two numbers.
const AT_ONCE_MIN: usize = 2;
const AT_ONCE_MAX: usize = 8;

type Work = Box<dyn FnOnce() + Send>;

/// A handle to the threads; they end with the last one.
#[derive(Clone)]
pub(super) struct Threads {
    work: crossbeam_channel::Sender<Work>,
    /// As many as there are threads, so that work never waits in the channel.
    turns: Arc<Semaphore>,
}

impl Threads {
    pub(super) fn start() -> Threads {
        let cores = std::thread::available_parallelism().map_or(AT_ONCE_MIN, usize::from);
        let count = cores.clamp(AT_ONCE_MIN, AT_ONCE_MAX);
        let (work, waiting) = crossbeam_channel::bounded::<Work>(count);
        let started = (0..count)
            .filter(|_| {
                let waiting = waiting.clone();
                let serve = move || {
                    for work in waiting {
                        // The one who waits for the answer sees that there is none.
                        drop(catch_unwind(AssertUnwindSafe(work)));
                    }
                };
                std::thread::Builder::new().name("tillbell-mails".into()).spawn(serve).is_ok()
            })
            .count();
        let turns = Semaphore::new(started);
        if started == 0 {
            turns.close(); // nobody may wait for a turn that never comes
        }
        Threads { work, turns: Arc::new(turns) }
    }

    /// Does some work on one of the threads when its turn comes; `None` if it panicked, or if the
    /// machine has no thread for it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let turn = self.turns.clone().acquire_owned().await.ok()?;
        let (answer, done) = oneshot::channel();
        let work = move || {
            // Held until the work is done, also when nobody waits for it any more.
            let _turn = turn;
            drop(answer.send(work()));
        };
        self.work.try_send(Box::new(work)).ok()?;
        done.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_ends_its_own_work_alone() {
        let threads = Threads::start();
        for _ in 0..3 * AT_ONCE_MAX {
            assert_eq!(threads.run(|| -> i32 { panic!("on purpose") }).await, None);
        }
        assert_eq!(threads.run(|| 7).await, Some(7));
    }

    #[tokio::test]
    async fn much_work_is_done_on_few_threads() {
        let threads = Threads::start();
        let work = (0..200).map(|_| threads.run(|| std::thread::current().id()));
        let mut ids: Vec<_> = futures_util::future::join_all(work).await;
        assert!(ids.iter().all(Option::is_some));
        ids.sort_by_key(|id| format!("{id:?}"));
        ids.dedup();
        assert!(ids.len() <= AT_ONCE_MAX, "{} threads", ids.len());
    }
}
