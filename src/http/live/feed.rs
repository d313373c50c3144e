//! A stream of what is added to a row of things: each once, in their order, from a place on. Unlike `stream`, which tells how
//! one thing stands, it leaves nothing out.

use std::future::Future;

use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use tokio::time::{Instant, sleep_until};

use super::Watch;
use super::stream::{COMMENT, COMMENT_EVERY, ENDS_AFTER, streamed};

struct Flow<R> {
    watch: Watch,
    read: R,
    is_due: bool,
    /// What is said before anything is read.
    begins: Option<Bytes>,
    comment_at: Instant,
    ends_at: Instant,
}

/// Answers what `read` finds, and goes on reading as long as it finds something; then whenever something was added. It ends
/// where `read` says so by `None`, and after an hour: the client asks again from where it was. `begins` is said first, a
/// comment in its place, so that the client knows at once that it is heard.
pub fn answer<R, F>(watch: Watch, begins: Option<Bytes>, read: R) -> Response
where
    R: FnMut() -> F + Send + 'static,
    F: Future<Output = Option<Bytes>> + Send + 'static,
{
    let now = Instant::now();
    let (comment_at, ends_at) = (now + COMMENT_EVERY, now + ENDS_AFTER);
    let begins = Some(begins.unwrap_or(Bytes::from_static(COMMENT)));
    let flow = Flow { watch, read, is_due: true, begins, comment_at, ends_at };
    streamed(stream::unfold(flow, |flow| flow.next()))
}

impl<R, F> Flow<R>
where
    R: FnMut() -> F,
    F: Future<Output = Option<Bytes>>,
{
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if let Some(begins) = self.begins.take() {
            return Some((begins, self));
        }
        loop {
            if self.is_due {
                let found = (self.read)().await?;
                self.is_due = !found.is_empty();
                if self.is_due {
                    self.comment_at = Instant::now() + COMMENT_EVERY;
                    return Some((found, self));
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
            }
        }
    }
}
