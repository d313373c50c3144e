//! What people watch: one task per node asks the database for everything that is watched on this node, at once and only
//! while anybody watches, and rings for those whose payment or business has changed
//! (docs/decisions/0079-the-checkout-page.md).
//!
//! A page that is live begins with [`Live::watch`], which also counts it, and answers with [`stream::answer`]. It first
//! watches and then reads, so that nothing happens in between; whoever is rung for reads again. Bells that ring while
//! somebody reads are one bell: nothing piles up for a slow reader.

pub mod beat;
pub mod feed;
pub mod stream;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::log_limit::warn_of;
use crate::ops::live::{Mark, Topic, marks};

/// A change on another node is seen within this and the time that asking takes.
const ASKED_EVERY: Duration = Duration::from_millis(300);
/// What is committed on this node is seen at once, but a busy node is not asked more often than this.
const ASKED_AT_MOST_EVERY: Duration = Duration::from_millis(50);
/// Streams of one node; more are refused.
pub const STREAMS_MAX: usize = 2_000;
/// Streams of one link, session or key.
pub const STREAMS_OF_ONE: usize = 5;
/// Seconds after which a place may be free, for whoever was refused one.
pub const PLACES_RETRY: u32 = 30;
/// Topics of one stream.
pub const TOPICS_MAX: usize = 50;

/// By what the streams of one are counted: what kind of thing it is, and its id.
pub type Of = (&'static str, i64);

/// Why there is no place for another stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    OfOne,
    Node,
}

#[derive(Default)]
struct State {
    topics: HashMap<Topic, Watched>,
    of_one: HashMap<Of, usize>,
    streams: usize,
    next: u64,
}

#[derive(Default)]
struct Watched {
    /// As it was asked last; none before the first time, after which everybody is rung for: what happened since they
    /// read is not known.
    mark: Option<Mark>,
    bells: HashMap<u64, Arc<Notify>>,
}

/// What is watched on this node.
#[derive(Default)]
pub struct Live {
    state: Mutex<State>,
    begun: Notify,
    /// The service ends, and all streams with it.
    closed: CancellationToken,
}

impl Live {
    /// Counts a stream `of` one link, session or key, and watches for it.
    pub fn watch(self: &Arc<Live>, of: Of, topics: &[Topic]) -> Result<Watch, Full> {
        let bell = Arc::new(Notify::new());
        let mut state = self.lock();
        if state.streams >= STREAMS_MAX {
            return Err(Full::Node);
        }
        let of_one = state.of_one.entry(of).or_default();
        if *of_one >= STREAMS_OF_ONE {
            return Err(Full::OfOne);
        }
        *of_one += 1;
        state.streams += 1;
        metrics::gauge!("tillbell_streams").set(state.streams as f64);
        let number = state.next;
        state.next += 1;
        let topics = topics[..topics.len().min(TOPICS_MAX)].to_vec();
        for topic in &topics {
            state.topics.entry(*topic).or_default().bells.insert(number, bell.clone());
        }
        drop(state);
        self.begun.notify_one();
        Ok(Watch { live: self.clone(), of, number, topics, bell })
    }

    fn leave(&self, watch: &Watch) {
        let mut state = self.lock();
        state.streams -= 1;
        metrics::gauge!("tillbell_streams").set(state.streams as f64);
        if let Some(of_one) = state.of_one.get_mut(&watch.of) {
            *of_one -= 1;
            if *of_one == 0 {
                state.of_one.remove(&watch.of);
            }
        }
        for topic in &watch.topics {
            let Some(watched) = state.topics.get_mut(topic) else { continue };
            watched.bells.remove(&watch.number);
            if watched.bells.is_empty() {
                state.topics.remove(topic);
            }
        }
    }

    fn topics(&self) -> Vec<Topic> {
        self.lock().topics.keys().copied().collect()
    }

    fn ring(&self, found: Vec<(Topic, Mark)>) {
        let mut state = self.lock();
        for (topic, mark) in found {
            let Some(watched) = state.topics.get_mut(&topic) else { continue };
            if watched.mark.replace(mark) != Some(mark) {
                watched.bells.values().for_each(|bell| bell.notify_one());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for what is watched until the service ends.
    pub async fn run(&self, app: &App, stop: &CancellationToken) {
        let mut commits = app.wake.subscribe();
        loop {
            let topics = self.topics();
            if topics.is_empty() {
                tokio::select! {
                    () = stop.cancelled() => break,
                    () = self.begun.notified() => continue,
                }
            }
            // Before it asks: what is committed from now on is asked for next.
            commits.mark_unchanged();
            let asked = Instant::now();
            match marks(app, &topics).await {
                Ok(found) => self.ring(found),
                Err(error) => warn_of!(app, &error, "what is watched could not be asked for; retrying"),
            }
            let committed = async {
                // The sender is the app's own, and ends with it.
                let _ = commits.changed().await;
                sleep_until(asked + ASKED_AT_MOST_EVERY).await;
            };
            tokio::select! {
                () = stop.cancelled() => break,
                () = committed => {}
                () = sleep_until(asked + ASKED_EVERY) => {}
            }
        }
        self.closed.cancel();
    }
}

/// A place among the streams, and what rings for it. Gives both back when it is dropped.
pub struct Watch {
    live: Arc<Live>,
    of: Of,
    number: u64,
    topics: Vec<Topic>,
    bell: Arc<Notify>,
}

impl Watch {
    /// Returns when something has changed since the last time, or may have.
    pub async fn changed(&self) {
        self.bell.notified().await;
    }

    /// Returns when the service ends.
    pub async fn closed(&self) {
        self.live.closed.cancelled().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.live.clone().leave(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_counted_by_whose_they_are_and_in_all() {
        let live = Arc::new(Live::default());
        let one = |id| live.watch(("checkout", id), &[Topic::Payment(id)]);
        let held: Vec<Watch> = (0..STREAMS_OF_ONE).map(|_| one(7).unwrap()).collect();
        assert_eq!(one(7).err(), Some(Full::OfOne));
        assert!(live.watch(("till", 7), &[]).is_ok(), "another kind of thing");
        let others: Vec<Watch> =
            (0..STREAMS_MAX - STREAMS_OF_ONE).map(|n| one(100 + n as i64).unwrap()).collect();
        assert_eq!(one(9).err(), Some(Full::Node));
        drop(held);
        assert!(one(9).is_ok() && one(7).is_ok());
        drop(others);
        let state = live.lock();
        assert_eq!((state.streams, state.of_one.len(), state.topics.len()), (0, 0, 0));
    }
}
