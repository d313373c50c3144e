//! One reader per mailbox among all nodes: how a node waits for the lease, and how it keeps it.
//!
//! The holder raises a number every two seconds. A waiting node watches the number, and takes over when it has
//! not changed for long enough, measured by the waiting node itself. Clocks of other machines do not matter, so
//! a node whose clock is wrong steals nothing. A lease that is given back is free at once. Two readers for a
//! moment do no harm, because a mail cannot be stored twice. Used by `reader`.

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

/// Shows that the reader is alive, until the lease is lost: another node took it, or it was not renewed for so
/// long that another node may take it.
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
