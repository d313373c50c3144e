//! One connection: does the TLS handshake, serves HTTP, and ends when it is idle, when a request takes too
//! long, or when the service ends. For `listen` alone.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::header::{CONNECTION, HOST};
use http::{HeaderValue, Version};
use hyper::Request;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::io::InspectReader;
use tokio_util::sync::CancellationToken;

use super::bounds::Bounds;
use super::framing::{Framing, Heads, Watch};
use super::middleware;
use super::pulse::{AnswerBody, Over, Pulse};
use crate::http::Http;
use crate::http::live::stream::Streamed;
use crate::http::response::code::Code;
use crate::http::response::error::ApiError;
use crate::tls::Tls;

/// A request's head may have this many bytes.
const HEAD_MAX: usize = 16 * 1024;
const HTTP2_STREAMS_MAX: u32 = 128;
const HTTP2_PING_EVERY: Duration = Duration::from_secs(20);
/// How long a connection may take to end by itself when it was told to.
const FAREWELL: Duration = Duration::from_secs(2);

pub type Builder = auto::Builder<TokioExecutor>;

/// HTTP with every deadline and bound named.
pub fn builder(bounds: Bounds) -> Builder {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.idle)
        .max_buf_size(HEAD_MAX)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(HTTP2_STREAMS_MAX)
        .max_header_list_size(HEAD_MAX as u32)
        .keep_alive_interval(HTTP2_PING_EVERY)
        .keep_alive_timeout(bounds.idle);
    builder
}

pub struct Connection {
    pub http: Arc<Http>,
    pub router: Router,
    pub peer: SocketAddr,
    pub builder: Arc<Builder>,
    pub bounds: Bounds,
    /// From then on what is under way is answered, and nothing else.
    pub stop: CancellationToken,
}

impl Connection {
    pub async fn serve(self, stream: TcpStream, tls: Option<Arc<Tls>>) {
        match tls {
            // What a connection waits with is kept for as long as it is open, by thousands of them.
            Some(tls) => Box::pin(self.serve_encrypted(stream, tls)).await,
            None => self.speak_http1(stream).await,
        }
    }

    async fn serve_encrypted(self, stream: TcpStream, tls: Arc<Tls>) {
        let shaken = tokio::select! {
            shaken = tls.accept(stream) => shaken,
            () = self.stop.cancelled() => None,
        };
        // The version is known beforehand: a client that connects and says nothing is then under the
        // head's deadline from the beginning.
        match shaken {
            Some(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
                self.speak(TokioIo::new(stream), None).await;
            }
            Some(stream) => self.speak_http1(stream).await,
            None => {}
        }
    }

    async fn speak_http1<I>(self, io: I)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let heads = Arc::new(Heads::default());
        let mut watch = Watch::new(heads.clone(), HEAD_MAX);
        let io = TokioIo::new(InspectReader::new(io, move |bytes| watch.look(bytes)));
        self.speak(io, Some(heads)).await;
    }

    /// Speaks HTTP/1.1 where there are `heads`, else HTTP/2.
    async fn speak<I>(self, io: I, heads: Option<Arc<Heads>>)
    where
        I: Read + Write + Unpin + Send + 'static,
    {
        let Connection { http, router, peer, builder, bounds, stop } = self;
        let pulse = Pulse::new();
        let builder = auto::Builder::clone(&builder);
        let builder = if heads.is_none() { builder.http2_only() } else { builder.http1_only() };
        let requests = pulse.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let framing = heads.as_ref().map_or(Framing::Plain, |heads| heads.next());
            let ambiguity = ambiguity(framing, &request);
            let router = ambiguity.map_or_else(|| router.clone(), ambiguous);
            let is_last = framing != Framing::Plain || ambiguity.is_some();
            let (http, under_way) = (http.clone(), requests.begin());
            // The connection keeps room for it as long as it lives.
            Box::pin(async move {
                let mut response = middleware::answer(&http, router, peer, request.map(Body::new)).await;
                if is_last {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                let is_streamed = response.extensions().get::<Streamed>().is_some();
                Ok::<_, Infallible>(response.map(|body| AnswerBody::new(body, under_way, is_streamed)))
            })
        });
        let mut connection = pin!(builder.serve_connection(io, service));
        let mut idle = bounds.idle;
        let mut is_ending = false;
        loop {
            tokio::select! {
                // Clients end connections in many ways; none of them is worth a log line.
                _ = connection.as_mut() => return,
                () = stop.cancelled(), if !is_ending => {}
                over = pulse.over(idle, bounds.request) => {
                    if is_ending {
                        return;
                    }
                    if over == Over::Stalled {
                        // Behind a proxy one connection of HTTP/2 carries many clients: those who do their part
                        // have their answers first.
                        connection.as_mut().graceful_shutdown();
                        let _ = tokio::time::timeout(FAREWELL, connection).await;
                        return;
                    }
                }
            }
            connection.as_mut().graceful_shutdown();
            pulse.rest_begins();
            (is_ending, idle) = (true, FAREWELL);
        }
    }
}

/// For requests that are well formed and can be read in two ways.
fn ambiguous(message: &'static str) -> Router {
    Router::new().fallback(move || async move { ApiError::new(Code::AmbiguousRequest, message) })
}

/// Why a request of HTTP/1 could be another one for a proxy in front than for us.
fn ambiguity(framing: Framing, request: &Request<Incoming>) -> Option<&'static str> {
    if framing == Framing::Refused {
        return Some("Send either one Content-Length header or Transfer-Encoding: chunked");
    }
    let hosts = request.headers().get_all(HOST).iter().count();
    let is_clear = match request.version() {
        Version::HTTP_10 => hosts <= 1,
        Version::HTTP_11 => hosts == 1,
        _ => true,
    };
    (!is_clear).then_some("Send exactly one Host header")
}
