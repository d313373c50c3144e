//! A stream for a screen that must not look calm when it is lost: a beat every few seconds, by which the screen knows that
//! it is live, a word when something has changed, and a last one before the stream ends.
//!
//! It tells nothing itself: the screen asks for what there is. Whether whoever holds it may still do so is asked at every
//! word, so that a stream ends with the sign-in that began it.

use std::future::Future;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use tokio::time::{Instant, sleep_until};

use super::Watch;
use super::stream::{ENDS_AFTER, event, streamed};

/// A screen that has heard nothing for 20 s (`assets/till.js`) has missed three of them.
const BEAT_EVERY: Duration = Duration::from_secs(5);

struct Flow<M> {
    watch: Watch,
    may: M,
    beat_at: Instant,
    ends_at: Instant,
    is_over: bool,
}

/// Beats at once and goes on as long as `may` says so; where that is not known now it ends without a word, and the screen
/// knows itself lost.
pub fn answer<M, F>(watch: Watch, may: M) -> Response
where
    M: FnMut() -> F + Send + 'static,
    F: Future<Output = Option<bool>> + Send + 'static,
{
    let now = Instant::now();
    let flow = Flow { watch, may, beat_at: now, ends_at: now + ENDS_AFTER, is_over: false };
    streamed(stream::unfold(flow, |flow| flow.next()))
}

impl<M, F> Flow<M>
where
    M: FnMut() -> F,
    F: Future<Output = Option<bool>>,
{
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if self.is_over {
            return None;
        }
        let word = tokio::select! {
            biased;
            () = self.watch.closed() => "bye",
            () = sleep_until(self.ends_at) => "bye",
            () = self.watch.changed() => "change",
            () = sleep_until(self.beat_at) => "beat",
        };
        self.beat_at = Instant::now() + BEAT_EVERY;
        let word = match word {
            "bye" => word,
            _ if (self.may)().await? => word,
            _ => "out",
        };
        self.is_over = matches!(word, "bye" | "out");
        Some((event(word, "{}"), self))
    }
}
