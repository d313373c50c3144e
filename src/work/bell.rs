//! One bell for many listeners. `app.wake` may be rung for one or for all; a listener that is busy
//! claiming must not miss it. A task turns each ring into a number that goes up; a listener
//! compares before it claims and waits only if nothing rang since.
//!
//! Used by the loops of this room alone.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::app::App;

pub(super) struct Bell {
    rings: watch::Receiver<u64>,
}

impl Bell {
    /// Listens to `app.wake` until `stop`.
    pub(super) fn hang(app: &Arc<App>, stop: &CancellationToken) -> Bell {
        let (sender, rings) = watch::channel(0u64);
        let (wake, stop) = (app.wake.clone(), stop.clone());
        tokio::spawn(async move {
            let mut next = Box::pin(wake.notified());
            loop {
                next.as_mut().enable();
                tokio::select! {
                    () = &mut next => {}
                    () = stop.cancelled() => return,
                }
                // Armed again before it is passed on: a ring in between is not lost.
                next.set(wake.notified());
                next.as_mut().enable();
                sender.send_modify(|count| *count = count.wrapping_add(1));
            }
        });
        Bell { rings }
    }

    pub(super) fn listen(&self) -> watch::Receiver<u64> {
        self.rings.clone()
    }
}

/// Waits for a ring; without a bell (its task has ended) the poll is the only clock.
pub(super) async fn rung(rings: &mut watch::Receiver<u64>) {
    if rings.changed().await.is_err() {
        std::future::pending().await
    }
}
