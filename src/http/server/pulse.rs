//! The activity of a connection: how long its current requests have taken, or how long there was none.
//!
//! Deadlines inside HTTP leave gaps: an HTTP/2 connection without a stream that is kept alive by pings has
//! none, nor does an answer that its client does not read. `connection` asks here when to end a connection.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, sleep_until};

/// Why a connection has lasted long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// No request for too long.
    Idle,
    /// A request, or the client's taking of its answer, for too long.
    Stalled,
}

/// The requests of one connection.
pub struct Pulse {
    state: Mutex<State>,
}

struct State {
    /// When each request under way began, by its number; of an answer that goes on, when its client last took of it.
    under_way: BTreeMap<u64, Instant>,
    next: u64,
    idle_since: Instant,
}

/// A request under way, to the last byte of its answer that the connection takes over.
pub struct UnderWay {
    pulse: Arc<Pulse>,
    number: u64,
}

impl Pulse {
    pub fn new() -> Arc<Pulse> {
        let state = State { under_way: BTreeMap::new(), next: 0, idle_since: Instant::now() };
        Arc::new(Pulse { state: Mutex::new(state) })
    }

    pub fn begin(self: &Arc<Pulse>) -> UnderWay {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.under_way.insert(number, Instant::now());
        UnderWay { pulse: self.clone(), number }
    }

    /// The time without a request is counted from now on.
    pub fn rest_begins(&self) {
        self.lock().idle_since = Instant::now();
    }

    /// Returns when there was no request for `idle`, or one is under way for longer than `request`. An end
    /// may be noticed later by as much as `idle`.
    pub async fn over(&self, idle: Duration, request: Duration) -> Over {
        loop {
            let (at, over) = {
                let state = self.lock();
                match state.under_way.values().min() {
                    Some(began) => (*began + request, Over::Stalled),
                    None => (state.idle_since + idle, Over::Idle),
                }
            };
            let now = Instant::now();
            if now >= at {
                return over;
            }
            sleep_until(at.min(now + idle)).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnderWay {
    /// The client took what there was, and its time begins anew.
    fn renew(&self) {
        if let Some(began) = self.pulse.lock().under_way.get_mut(&self.number) {
            *began = Instant::now();
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.pulse.lock();
        state.under_way.remove(&self.number);
        if state.under_way.is_empty() {
            state.idle_since = Instant::now();
        }
    }
}

/// An answer's body, which keeps its request under way.
pub struct AnswerBody {
    body: Body,
    under_way: UnderWay,
    /// It may last, as long as its client takes every piece in time.
    is_streamed: bool,
}

impl AnswerBody {
    pub fn new(body: Body, under_way: UnderWay, is_streamed: bool) -> AnswerBody {
        AnswerBody { body, under_way, is_streamed }
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // The connection asks for a piece when it has room for one, so what it asks for was taken. A body that waits
        // for something to tell is asked again for that alone.
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if self.is_streamed && polled.is_ready() {
            self.under_way.renew();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_millis(10);
    const REQUEST: Duration = Duration::from_millis(60);

    #[tokio::test]
    async fn rest_is_counted_from_the_last_request() {
        let pulse = Pulse::new();
        assert_eq!(pulse.over(IDLE, REQUEST).await, Over::Idle);
        let (one, two) = (pulse.begin(), pulse.begin());
        drop(one);
        let far = Duration::from_secs(600);
        assert!(tokio::time::timeout(3 * IDLE, pulse.over(IDLE, far)).await.is_err(), "one is under way");
        drop(two);
        assert_eq!(pulse.over(IDLE, far).await, Over::Idle);
        pulse.rest_begins();
        let rest = pulse.lock().idle_since;
        assert_eq!(pulse.over(IDLE, far).await, Over::Idle);
        assert!(rest.elapsed() >= IDLE, "begun anew");
    }

    #[tokio::test]
    async fn new_requests_do_not_hide_one_that_stalls() {
        let pulse = Pulse::new();
        let _stalled = pulse.begin();
        let others = pulse.clone();
        let busy = tokio::spawn(async move {
            loop {
                let one = others.begin();
                tokio::time::sleep(IDLE / 2).await;
                drop(one);
            }
        });
        assert_eq!(pulse.over(IDLE, REQUEST).await, Over::Stalled);
        busy.abort();
    }
}
