//! Listeners: accept, shake hands, speak HTTP with every deadline and bound named, drain at the end.
//!
//! Without TLS only HTTP/1.1 is spoken, with it also HTTP/2. Plain HTTP is answered to this machine
//! and to configured proxies alone. `serve` starts these; the routes are `routes`' to know.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{Http, door, routes};
use crate::tls::Tls;

/// From the first wait for a request to the end of its head; so also the longest idle time of a
/// kept connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// A request's head may have this many bytes.
const HEAD_MAX: usize = 16 * 1024;
/// Connections at once and listener; further ones wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 8_192;
const HTTP2_STREAMS_MAX: u32 = 128;
const HTTP2_PING_EVERY: Duration = Duration::from_secs(20);
/// Pause after the machine had no room for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Requests under way at the end may take so long; SIGTERM promises 30 s in all.
const DRAIN: Duration = Duration::from_secs(25);

/// What is offered inside TLS.
pub const TLS_PROTOCOLS: &[&[u8]] = &[b"h2", b"http/1.1"];

/// What a listener is for.
#[derive(Clone)]
pub enum Purpose {
    /// Merchants and customers; `api` and `pages` say whether this node has these roles.
    Public { api: bool, pages: bool, tls: Option<Arc<Tls>> },
    /// Metrics and health, always plain.
    Operator,
}

/// Accepts until `stop`, then lets the requests under way end.
pub async fn run(tcp: TcpListener, purpose: Purpose, http: Arc<Http>, stop: CancellationToken) {
    let (router, refusal, tls) = match purpose {
        Purpose::Public { api, pages, tls } => {
            let refusal = tls.is_none().then(|| routes::plain_refused(http.clone()));
            (routes::main(http.clone(), api, pages), refusal, tls)
        }
        Purpose::Operator => (routes::operator(http.clone()), None, None),
    };
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    let cut = CancellationToken::new();
    let builder = Arc::new(builder());
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&tcp, &slots) => accepted,
        };
        let Some((stream, peer, slot)) = accepted else { continue };
        let router = match &refusal {
            Some(refusal) if !may_speak_plain(&http, peer) => refusal.clone(),
            _ => router.clone(),
        };
        let connection = Connection { http: http.clone(), router, peer, builder: builder.clone() };
        let (tls, watcher, cut) = (tls.clone(), graceful.watcher(), cut.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = connection.serve(stream, tls, watcher) => {}
                () = cut.cancelled() => {}
            }
            drop(slot);
        });
    }
    drop(tcp);
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were still under way after {} s and are cut off", DRAIN.as_secs());
    }
    cut.cancel();
}

async fn accept(
    tcp: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let slot = slots.clone().acquire_owned().await.ok()?;
    match tcp.accept().await {
        Ok((stream, peer)) => {
            // Answers are written whole; waiting for more to fill a packet only delays them.
            let _ = stream.set_nodelay(true);
            Some((stream, peer, slot))
        }
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

fn may_speak_plain(http: &Http, peer: SocketAddr) -> bool {
    let ip = peer.ip().to_canonical();
    ip.is_loopback() || http.app.config.server.trusted_proxies.iter().any(|proxy| proxy.contains(ip))
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_MAX)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(HTTP2_STREAMS_MAX)
        .max_header_list_size(HEAD_MAX as u32)
        .keep_alive_interval(HTTP2_PING_EVERY)
        .keep_alive_timeout(HEAD_TIMEOUT);
    builder
}

struct Connection {
    http: Arc<Http>,
    router: Router,
    peer: SocketAddr,
    builder: Arc<auto::Builder<TokioExecutor>>,
}

impl Connection {
    async fn serve(self, stream: TcpStream, tls: Option<Arc<Tls>>, watcher: Watcher) {
        match tls {
            // The version is known beforehand in both cases: a client that connects and says
            // nothing is then under the head's deadline from the beginning.
            None => self.speak(TokioIo::new(stream), false, watcher).await,
            Some(tls) => {
                if let Some(stream) = tls.accept(stream).await {
                    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    self.speak(TokioIo::new(stream), is_http2, watcher).await;
                }
            }
        }
    }

    async fn speak<I>(self, io: I, is_http2: bool, watcher: Watcher)
    where
        I: Read + Write + Unpin + Send + 'static,
    {
        let Connection { http, router, peer, builder } = self;
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let (http, router) = (http.clone(), router.clone());
            async move { Ok::<_, Infallible>(door::answer(&http, router, peer, request.map(Body::new)).await) }
        });
        let builder = auto::Builder::clone(&builder);
        let builder = if is_http2 { builder.http2_only() } else { builder.http1_only() };
        // Clients end connections in every way there is; none of them is news.
        drop(watcher.watch(builder.serve_connection(io, service).into_owned()).await);
    }
}
