//! Keeps idle connections for the next request to the same scheme, host and port.
//!
//! Only connections opened by `super::connect` come in here, so each goes to an address that
//! was checked under this client's one policy; a new connection always resolves and checks
//! again. A connection ends after a while even in constant use, so that a shop that moved is
//! followed. Used by `super::client` alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::meter::Allowance;

/// Idle connections kept for one host; dev mode has at most 64 in flight to one.
const MAX_IDLE_PER_HOST: usize = 64;
/// Idle connections in all; each holds a socket and a buffer of a few KiB.
const MAX_IDLE: usize = 1_024;
/// Shorter than the five seconds after which common servers hang up, so that a request seldom
/// meets a connection that is just being closed.
const MAX_IDLE_TIME: Duration = Duration::from_secs(4);
/// The age from which a connection is not used again.
const MAX_AGE: Duration = Duration::from_secs(60);
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// An open HTTP/1.1 connection; dropping it ends its task and closes the socket.
pub(super) struct Conn {
    pub(super) sender: SendRequest<Full<Bytes>>,
    /// What it may read for the exchange under way.
    pub(super) allowance: Allowance,
    driver: AbortHandle,
    opened: Instant,
}

impl Conn {
    pub(super) fn new(sender: SendRequest<Full<Bytes>>, allowance: Allowance, driver: AbortHandle) -> Conn {
        Conn { sender, allowance, driver, opened: Instant::now() }
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

struct Idle {
    conn: Conn,
    since: Instant,
}

#[derive(Default)]
struct Shelf {
    by_host: HashMap<String, Vec<Idle>>,
    count: usize,
    sweeping: bool,
}

#[derive(Default)]
pub(super) struct Pool {
    shelf: Mutex<Shelf>,
}

impl Pool {
    /// The connection to `host` that was used last and has not ended, if there is one. It may
    /// still be about to finish its last exchange; wait for its sender before using it.
    pub(super) fn take(&self, host: &str) -> Option<Conn> {
        let mut shelf = self.lock();
        let shelf = &mut *shelf;
        let idle = shelf.by_host.get_mut(host)?;
        while let Some(Idle { conn, since }) = idle.pop() {
            shelf.count -= 1;
            if since.elapsed() < MAX_IDLE_TIME && !conn.sender.is_closed() {
                return Some(conn);
            }
        }
        None
    }

    /// Keeps a connection whose answer was read to its end; too many or too old are closed.
    pub(super) fn put(self: &Arc<Pool>, host: &str, conn: Conn) {
        if conn.opened.elapsed() >= MAX_AGE || conn.sender.is_closed() {
            return;
        }
        let mut shelf = self.lock();
        if shelf.count >= MAX_IDLE {
            return;
        }
        if !shelf.by_host.contains_key(host) {
            shelf.by_host.insert(host.to_owned(), Vec::new());
        }
        let Some(idle) = shelf.by_host.get_mut(host) else { return };
        if idle.len() >= MAX_IDLE_PER_HOST {
            return;
        }
        idle.push(Idle { conn, since: Instant::now() });
        shelf.count += 1;
        if !shelf.sweeping {
            shelf.sweeping = true;
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what was idle for too long; returns whether anything is left.
    fn sweep_once(&self) -> bool {
        let mut shelf = self.lock();
        shelf.by_host.retain(|_, idle| {
            idle.retain(|kept| kept.since.elapsed() < MAX_IDLE_TIME && !kept.conn.sender.is_closed());
            !idle.is_empty()
        });
        shelf.count = shelf.by_host.values().map(Vec::len).sum();
        shelf.sweeping = shelf.count > 0;
        shelf.sweeping
    }
}

/// Runs while there is something to sweep, and ends with the client.
async fn sweep(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        match pool.upgrade() {
            Some(pool) if pool.sweep_once() => {}
            _ => return,
        }
    }
}
