//! Gives events their places in the order that merchants read, as soon as they are committed.
//!
//! Every node does it (`ops::webhooks::order`). One that finds another at it steps back for a while: whoever gives places
//! gives them to everybody's events, and two that go on at once would only lose to each other by turns.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{PAUSE, POLL};
use crate::app::App;
use crate::log_limit::warn_of;
use crate::ops::webhooks::order::{Placed, place_events};

/// Between two Units, so that a burst of events is placed in few of them.
const PACE: Duration = Duration::from_millis(20);
/// After another node was faster.
const STEP_BACK: Duration = POLL;

/// Works until `stop`.
pub(super) async fn run(app: Arc<App>, stop: CancellationToken) {
    let mut wake = app.wake.subscribe();
    while !stop.is_cancelled() {
        wake.mark_unchanged();
        let pause = match place_events(&app).await {
            Ok(Placed::Events(0)) => {
                tokio::select! {
                    Ok(()) = wake.changed() => {}
                    () = tokio::time::sleep(POLL) => {}
                    () = stop.cancelled() => {}
                }
                continue;
            }
            Ok(Placed::Events(_)) => PACE,
            Ok(Placed::Raced) => STEP_BACK,
            Err(error) => {
                warn_of!(app, &error, "events could not be given their places");
                PAUSE
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => {}
        }
    }
}
