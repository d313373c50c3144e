//! A stream of server-sent events, as every live page answers it: an event at once and whenever what is told differs, a
//! comment when nothing was said for a while, and an end after an hour.
//!
//! What is told is read when the connection takes it, so nothing waits in memory for a reader that is slow; one that
//! takes nothing any more is ended by its connection (`server::pulse`).

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue};
use tokio::time::{Instant, sleep, sleep_until};

use super::Watch;
use crate::app::App;
use crate::domain::time::Timestamp;

/// A proxy ends connections on which nothing comes, and nobody else would notice one that is dead.
pub(super) const COMMENT_EVERY: Duration = Duration::from_secs(15);
/// Then the client begins a new one, and places do not stay with what nobody looks at.
pub(super) const ENDS_AFTER: Duration = Duration::from_secs(3600);
/// How exactly a moment is met at which what is told changes by itself.
const LOOKS_EVERY: Duration = Duration::from_secs(1);
pub(super) const COMMENT: &[u8] = b":\n\n";

/// A proxy must hand each event on as it comes.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Marks an answer as one that goes on for long: its connection asks that the client goes on taking it, not that it is
/// taken within a time.
#[derive(Clone, Copy)]
pub struct Streamed;

/// What is told now.
pub struct Told {
    /// Whole events, as [`event`] writes them.
    pub events: Bytes,
    /// Another one with the same events is told again: something that they do not say has changed.
    pub mark: i64,
    /// It will be something else by then, whatever the database says.
    pub until: Option<Timestamp>,
}

/// One event; `data` is of one line.
pub fn event(name: &str, data: &str) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

struct Flow<R> {
    app: Arc<App>,
    watch: Watch,
    read: R,
    last: Option<(Bytes, i64)>,
    until: Option<Timestamp>,
    is_due: bool,
    comment_at: Instant,
    ends_at: Instant,
}

/// Answers what `read` tells now, and each time it tells something else. A stream ends where it tells nothing: the
/// client asks again.
pub fn answer<R, F>(app: Arc<App>, watch: Watch, read: R) -> Response
where
    R: FnMut() -> F + Send + 'static,
    F: Future<Output = Option<Told>> + Send + 'static,
{
    let now = Instant::now();
    let flow = Flow {
        app,
        watch,
        read,
        last: None,
        until: None,
        is_due: true,
        comment_at: now + COMMENT_EVERY,
        ends_at: now + ENDS_AFTER,
    };
    streamed(stream::unfold(flow, |flow| flow.next()))
}

/// The answer that such events make: handed on as they come, kept by nobody.
pub(super) fn streamed(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(events.map(Ok::<_, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(UNBUFFERED, HeaderValue::from_static("no"));
    response.extensions_mut().insert(Streamed);
    response
}

impl<R, F> Flow<R>
where
    R: FnMut() -> F,
    F: Future<Output = Option<Told>>,
{
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            if self.is_due {
                self.is_due = false;
                // On the heap while it reads: a stream waits for an hour with what it needs for that alone.
                let told = Box::pin((self.read)()).await?;
                self.until = told.until;
                let now = Some((told.events.clone(), told.mark));
                if self.last != now {
                    self.last = now;
                    return Some((told.events, self));
                }
            }
            tokio::select! {
                biased;
                () = self.watch.closed() => return None,
                () = sleep_until(self.ends_at) => return None,
                () = self.watch.changed() => self.is_due = true,
                () = sleep_until(self.comment_at) => {
                    self.comment_at = Instant::now() + COMMENT_EVERY;
                    return Some((Bytes::from_static(COMMENT), self));
                }
                () = sleep(LOOKS_EVERY), if self.until.is_some() => {
                    self.is_due = self.until.is_some_and(|until| self.app.now() > until);
                }
            }
        }
    }
}
