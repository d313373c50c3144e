//! One reader per mailbox over all nodes: who waits for the lease, and who keeps it.
//!
//! The holder raises a number every two seconds. Who waits looks at the number, and takes over when
//! it stood still for long enough by the waiter's own stop watch: no clock of another machine counts,
//! so a node whose clock is wrong steals nothing. A lease given back is free at once. Two readers for
//! a moment would do no harm, because a mail cannot be stored twice. Used by `reader`.

use std::time::Instant;

use super::{Timings, Trouble};
use crate::app::App;
use crate::ops::mailboxes::{self, Lease};

/// Waits until the mailbox is free, and takes it.
pub async fn gain(app: &App, mailbox_id: i64, me: &str, timings: &Timings) -> Result<Lease, Trouble> {
    let mut seen: Option<((i64, i64), Instant)> = None;
    loop {
        let Some(row) = mailboxes::find(app, mailbox_id).await? else { return Err(Trouble::LeaseLost) };
        let state = (row.fence, row.beat);
        let stood_still = match seen {
            Some((before, since)) if before == state => since.elapsed() >= timings.take_over,
            _ => {
                seen = Some((state, Instant::now()));
                false
            }
        };
        if (row.reader.is_none() || stood_still)
            && let Some(lease) = mailboxes::claim(app, &row, me).await?
        {
            return Ok(lease);
        }
        tokio::time::sleep(timings.beat).await;
    }
}

/// Shows that the reader lives, until the lease is lost: taken by another, or not shown for so long
/// that another may take it.
pub async fn keep(app: &App, lease: Lease, timings: &Timings) {
    let mut shown = Instant::now();
    loop {
        tokio::time::sleep(timings.beat).await;
        match tokio::time::timeout(timings.take_over, mailboxes::beat(app, lease)).await {
            Ok(Ok(true)) => shown = Instant::now(),
            Ok(Ok(false)) => return,
            Ok(Err(_)) | Err(_) if shown.elapsed() >= timings.take_over => return,
            Ok(Err(_)) | Err(_) => {}
        }
    }
}
