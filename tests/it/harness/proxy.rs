//! A small TCP proxy that breaks connections on purpose.
//!
//! Put between the service and a database, a mail server or a webhook receiver, it passes
//! bytes on, cuts after so many, swallows, delays or drips them; the fault can be changed
//! at any time, for each direction alone, and takes effect on open connections at once.
//! It knows no protocol. Packet loss and reordering are not its business: TCP hides them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Connections open at one time; more wait unaccepted.
const MAX_CONNECTIONS: usize = 1024;
/// Bytes held of one direction of one connection.
const CHUNK: usize = 16 * 1024;

/// What happens to the bytes of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Bytes and ends of stream go through as they come.
    Pass,
    /// Each connection passes this many bytes more, then both of its directions are closed. The
    /// count begins with the connection or with the setting of the fault, whichever is later; 0
    /// closes every open connection now and every new one when it is accepted.
    CutAfter(u64),
    /// Nothing goes through and nobody is told; what was sent comes out when the fault is lifted,
    /// as after a healed partition. New connections are accepted (the kernel does that) and stall.
    Blackhole,
    /// Every chunk (at most 16 KiB) waits this long, one after the other.
    Delay(Duration),
    /// At most so many bytes at a time, each portion after this wait. `bytes` is at least 1.
    Drip { bytes: usize, every: Duration },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the one who connected to the server behind.
    ToServer,
    /// From the server behind to the one who connected.
    ToClient,
}

/// A running proxy; dropped, it closes its port and every connection.
pub struct Proxy {
    address: SocketAddr,
    to_server: watch::Sender<Fault>,
    to_client: watch::Sender<Fault>,
    accepted: Arc<AtomicUsize>,
    _accepting: AbortOnDropHandle<()>,
}

impl Proxy {
    /// Listens on a free port of 127.0.0.1 in front of `server`, passing everything.
    pub async fn start(server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind a free port");
        let address = listener.local_addr().expect("own address");
        let (to_server, server_fault) = watch::channel(Fault::Pass);
        let (to_client, client_fault) = watch::channel(Fault::Pass);
        let accepted = Arc::new(AtomicUsize::new(0));
        let counter = accepted.clone();
        let accepting = tokio::spawn(async move {
            let mut open = JoinSet::new();
            loop {
                tokio::select! {
                    Some(_) = open.join_next() => {}
                    Ok((client, _)) = listener.accept(), if open.len() < MAX_CONNECTIONS => {
                        counter.fetch_add(1, Ordering::SeqCst);
                        open.spawn(carry(client, server, server_fault.clone(), client_fault.clone()));
                    }
                }
            }
        });
        let _accepting = AbortOnDropHandle::new(accepting);
        Proxy { address, to_server, to_client, accepted, _accepting }
    }

    /// Where to connect instead of to the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the fault of both directions.
    pub fn set(&self, fault: Fault) {
        self.set_one(Direction::ToServer, fault);
        self.set_one(Direction::ToClient, fault);
    }

    /// Sets the fault of one direction, the other keeps its own.
    pub fn set_one(&self, direction: Direction, fault: Fault) {
        if let Fault::Drip { bytes, .. } = fault {
            assert!(bytes > 0, "a drip of no bytes is a blackhole");
        }
        match direction {
            Direction::ToServer => self.to_server.send_replace(fault),
            Direction::ToClient => self.to_client.send_replace(fault),
        };
    }

    /// How many connections were accepted since the start, closed ones included.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

/// One connection from its beginning to its end. Returning closes both sides.
async fn carry(
    client: TcpStream,
    server: SocketAddr,
    mut server_fault: watch::Receiver<Fault>,
    client_fault: watch::Receiver<Fault>,
) {
    // A partition also swallows the opening of a connection.
    if server_fault.wait_for(|fault| *fault != Fault::Blackhole).await.is_err() {
        return;
    }
    let Ok(behind) = TcpStream::connect(server).await else { return };
    // Small writes must arrive as they were cut, not when Nagle's algorithm has collected them.
    drop((client.set_nodelay(true), behind.set_nodelay(true)));
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = behind.into_split();
    let mut up = std::pin::pin!(pump(client_read, server_write, server_fault));
    let mut down = std::pin::pin!(pump(server_read, client_write, client_fault));
    // One direction that ended in order leaves the other one going (half-closed connections are
    // legal); a cut ends both.
    tokio::select! {
        end = &mut up => if end == End::OfStream { down.await; },
        end = &mut down => if end == End::OfStream { up.await; },
    }
}

#[derive(PartialEq, Eq)]
enum End {
    /// The sender said it is done; passed on.
    OfStream,
    /// Cut by the fault, or a side broke.
    Cut,
}

/// Bytes read and not yet passed on.
struct Held {
    bytes: Box<[u8; CHUNK]>,
    from: usize,
    to: usize,
    since: Instant,
    /// Passed since the connection or the fault began.
    passed: u64,
}

async fn pump(mut read: OwnedReadHalf, mut write: OwnedWriteHalf, mut fault: watch::Receiver<Fault>) -> End {
    let mut held = Held { bytes: Box::new([0; CHUNK]), from: 0, to: 0, since: Instant::now(), passed: 0 };
    loop {
        let current = *fault.borrow_and_update();
        tokio::select! {
            // A change is looked at before more bytes move.
            biased;
            changed = fault.changed() => {
                if changed.is_err() {
                    return End::Cut;
                }
                held.passed = 0;
            }
            end = step(current, &mut held, &mut read, &mut write) => {
                if let Some(end) = end {
                    return end;
                }
            }
        }
    }
}

/// One move: read, or wait, or write. Waits in one place only, so that dropping it when the fault
/// changes loses no byte.
async fn step(
    fault: Fault,
    held: &mut Held,
    read: &mut OwnedReadHalf,
    write: &mut OwnedWriteHalf,
) -> Option<End> {
    let (portion, wait) = match fault {
        Fault::Blackhole => return std::future::pending().await,
        Fault::Pass => (CHUNK, Duration::ZERO),
        Fault::CutAfter(limit) if held.passed >= limit => return Some(End::Cut),
        Fault::CutAfter(limit) => ((limit - held.passed).min(CHUNK as u64) as usize, Duration::ZERO),
        Fault::Delay(wait) => (CHUNK, wait),
        Fault::Drip { bytes, every } => (bytes, every),
    };
    if held.from == held.to {
        let count = match read.read(&mut held.bytes[..]).await {
            Ok(0) => return Some(if write.shutdown().await.is_ok() { End::OfStream } else { End::Cut }),
            Ok(count) => count,
            Err(_) => return Some(End::Cut),
        };
        (held.from, held.to, held.since) = (0, count, Instant::now());
        return None;
    }
    if held.since.elapsed() < wait {
        tokio::time::sleep_until(held.since + wait).await;
        return None;
    }
    let end = held.to.min(held.from + portion);
    match write.write(&held.bytes[held.from..end]).await {
        Ok(0) | Err(_) => Some(End::Cut),
        Ok(count) => {
            held.from += count;
            held.passed += count as u64;
            held.since = Instant::now();
            None
        }
    }
}

#[cfg(test)]
mod tests;
