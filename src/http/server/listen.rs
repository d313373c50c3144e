//! Listeners: accept while there are places, hand each connection over, drain at the end.
//!
//! Without TLS only HTTP/1.1 is spoken, with it also HTTP/2. Plain HTTP is answered to this machine
//! and to configured proxies alone. What happens on a connection is `connection`'s.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::bounds::Bounds;
use super::connection::{self, Connection};
use crate::http::Http;
use crate::slots::{NoPlace, Peer, Slot, Slots};
use crate::tls::Tls;

/// Pause after the machine had no room for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time for requests that are under way when the service ends; SIGTERM allows 30 s in all.
const DRAIN: Duration = Duration::from_secs(25);

/// Protocols that are offered inside TLS.
pub const TLS_PROTOCOLS: &[&[u8]] = &[b"h2", b"http/1.1"];

/// What a listener answers with.
pub struct Routers {
    /// For the metrics.
    pub name: &'static str,
    pub main: Router,
    /// For callers who speak plain HTTP over a network, where that is refused.
    pub plain: Option<Router>,
    pub tls: Option<Arc<Tls>>,
}

/// Accepts until `stop`, then lets the requests under way end.
pub async fn run(
    tcp: TcpListener,
    routers: Routers,
    http: Arc<Http>,
    bounds: Bounds,
    stop: CancellationToken,
) {
    let Routers { name, main: router, plain: refusal, tls } = routers;
    let mut entrance = Entrance { tcp, slots: Slots::new(bounds.connections, bounds.of_one), name };
    let connections = TaskTracker::new();
    let cut = CancellationToken::new();
    let builder = Arc::new(connection::builder(bounds));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = entrance.accept(&http) => accepted,
        };
        let Some((stream, peer, slot)) = accepted else { continue };
        let router = match &refusal {
            Some(refusal) if !may_speak_plain(&http, peer) => refusal.clone(),
            _ => router.clone(),
        };
        let (http, builder, stop) = (http.clone(), builder.clone(), stop.clone());
        let connection = Connection { http, router, peer, builder, bounds, stop };
        let (tls, cut) = (tls.clone(), cut.clone());
        // The handshake is the connection's own time, not that of those who wait behind it.
        connections.spawn(async move {
            tokio::select! {
                () = connection.serve(stream, tls) => {}
                () = cut.cancelled() => {}
            }
            drop(slot);
        });
    }
    drop(entrance);
    connections.close();
    if tokio::time::timeout(DRAIN, connections.wait()).await.is_err() {
        tracing::warn!("requests were still under way after {} s and are cut off", DRAIN.as_secs());
    }
    cut.cancel();
}

/// Where connections come in.
struct Entrance {
    tcp: TcpListener,
    slots: Arc<Slots>,
    name: &'static str,
}

impl Entrance {
    /// The next connection there is a place for. One of too many from an address is closed; all others
    /// wait for a place.
    async fn accept(&mut self, http: &Http) -> Option<(TcpStream, SocketAddr, Slot)> {
        let (stream, peer) = match self.tcp.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                return None;
            }
        };
        let is_for_many = is_for_many(http, peer.ip().to_canonical());
        let slot = loop {
            let taken =
                if is_for_many { self.slots.take_for_many() } else { self.slots.take(Peer::new(peer.ip())) };
            match taken {
                Ok(slot) => break slot,
                Err(NoPlace::Full) => self.slots.freed().await,
                Err(NoPlace::FullForOne) => {
                    metrics::counter!("tillbell_connections_refused_total", "listener" => self.name)
                        .increment(1);
                    return None;
                }
            }
        };
        // Answers are written whole; waiting for more to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        Some((stream, peer, slot))
    }
}

/// Whether many clients share this address: a proxy, or in dev mode this machine.
fn is_for_many(http: &Http, ip: IpAddr) -> bool {
    let server = &http.app.config.server;
    server.dev && ip.is_loopback() || server.trusted_proxies.iter().any(|proxy| proxy.contains(ip))
}

fn may_speak_plain(http: &Http, peer: SocketAddr) -> bool {
    let ip = peer.ip().to_canonical();
    ip.is_loopback() || http.app.config.server.trusted_proxies.iter().any(|proxy| proxy.contains(ip))
}
