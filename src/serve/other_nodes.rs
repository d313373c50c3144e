//! Tells other nodes of what this one committed, and hears of theirs, so that work that was enqueued elsewhere begins at once and
//! pages that are watched elsewhere turn at once. The looks of every second stay as the net.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::log_limit::warn_of;

/// Other nodes are told at most this often.
const RINGS_APART: Duration = Duration::from_millis(20);
/// A connection that is not there is tried again after this.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How often it is looked whether the connection is still there.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Runs until `stop`; at once over where a database has one node.
pub async fn run(app: Arc<App>, stop: CancellationToken) {
    let told = async {
        loop {
            match app.store.bells().await {
                Ok(None) => return,
                Ok(Some(bells)) => listen(&app, &bells).await,
                Err(error) => {
                    warn_of!(app, &error, "other nodes are not heard; looking every second");
                }
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = told => {}
    }
}

/// Until the connection is lost.
async fn listen(app: &App, bells: &crate::store::Bells) {
    let mut committed = app.committed.subscribe();
    // What was committed while nobody could be told.
    committed.mark_changed();
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        tokio::select! {
            () = bells.heard() => app.wake.send_replace(()),
            Ok(()) = committed.changed() => {
                committed.mark_unchanged();
                if bells.ring().await.is_err() {
                    return;
                }
                tokio::time::sleep(RINGS_APART).await;
            }
            _ = look.tick() => {
                if bells.is_closed() {
                    return;
                }
            }
        };
    }
}
