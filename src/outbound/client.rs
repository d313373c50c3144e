//! The client itself: one POST or GET, its limits, and what is read of the answer.
//!
//! It decides neither about addresses (`connect` does) nor about success (`domain::webhook` does). If a POST on
//! an idle connection fails before any of it was sent, it is sent once more on a new connection, because the
//! other side may close idle connections at any moment.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, timeout, timeout_at};
use url::Position;

use super::causes::{self, Part};
use super::connect::{Connector, Resolve, Stream, SystemResolver};
use super::meter::Allowance;
use super::pool::{Conn, Pool};
use super::{
    BODY_PATIENCE, MAX_ANSWER_BYTES, MAX_HEAD_BYTES, MAX_HEADERS, OutboundConfig, OutboundProblem, PostError,
    PostOutcome,
};
use crate::domain::weburl::TargetUrl;

/// How long an idle connection may take to finish its last exchange before a new one is made.
const READY_WAIT: Duration = Duration::from_millis(10);
/// Characters of a Retry-After that are kept; dates and numbers need fewer.
const MAX_RETRY_AFTER_BYTES: usize = 100;
const AGENT: HeaderValue = HeaderValue::from_static(concat!("tillbell/", env!("CARGO_PKG_VERSION")));
/// With one of these headers a receiver recognises a repetition, so a POST that may have been
/// seen can be repeated at once; others are repeated only if not a byte of them was sent.
const REPEATABLE: [&str; 2] = ["webhook-id", "idempotency-key"];

/// Sends POSTs and GETs; a clone shares connections, limits and policy with its original.
#[derive(Clone)]
pub struct Outbound {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) connector: Connector,
    pool: Arc<Pool>,
    pub(super) timeout: Duration,
}

/// What is asked for, or posted.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) url: &'a TargetUrl,
    pub(super) headers: &'a [(HeaderName, HeaderValue)],
    pub(super) body: Bytes,
}

/// A failed exchange, and whether the same request may go out again at once.
struct Broken {
    error: PostError,
    repeat: bool,
}

impl Outbound {
    /// A client that asks the machine's own resolver.
    pub fn new(config: &OutboundConfig) -> Result<Outbound, OutboundProblem> {
        Outbound::with_resolver(config, Arc::new(SystemResolver::default()))
    }

    /// A client with a resolver of the caller's.
    pub fn with_resolver(
        config: &OutboundConfig,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Outbound, OutboundProblem> {
        let connector = Connector::new(resolver, config.policy.clone(), &config.extra_roots_pem)?;
        let shared = Shared { connector, pool: Arc::default(), timeout: config.timeout };
        Ok(Outbound { shared: Arc::new(shared) })
    }

    /// Posts `body` to `url` and reads the answer, all before the client's deadline. Never
    /// fails otherwise than by `PostOutcome::error`. Host, Content-Length and (if not given)
    /// User-Agent are set here. Must run inside a tokio runtime with IO and time.
    pub async fn post(
        &self,
        url: &TargetUrl,
        headers: &[(HeaderName, HeaderValue)],
        body: Bytes,
    ) -> PostOutcome {
        self.send(Call { method: Method::POST, url, headers, body }, None).await
    }

    /// The same where the status decides: for the body behind it nobody waits longer than [`BODY_PATIENCE`], so
    /// that a receiver that holds it open holds no place.
    pub async fn post_for_status(
        &self,
        url: &TargetUrl,
        headers: &[(HeaderName, HeaderValue)],
        body: Bytes,
    ) -> PostOutcome {
        self.send(Call { method: Method::POST, url, headers, body }, Some(BODY_PATIENCE)).await
    }

    /// Asks for what is at `url`, under the same rules: no redirect is followed, and the answer is read up to the
    /// limit.
    pub async fn get(&self, url: &TargetUrl, headers: &[(HeaderName, HeaderValue)]) -> PostOutcome {
        self.send(Call { method: Method::GET, url, headers, body: Bytes::new() }, None).await
    }

    async fn send(&self, call: Call<'_>, patience: Option<Duration>) -> PostOutcome {
        let started = Instant::now();
        let deadline = started + self.shared.timeout;
        let mut outcome = PostOutcome::default();
        let exchange = self.shared.exchange(&call, (deadline, patience), &mut outcome);
        outcome.error = match timeout_at(deadline, exchange).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some(PostError::Timeout),
        };
        outcome.duration = started.elapsed();
        outcome
    }
}

impl Shared {
    /// Status and Retry-After are put into `outcome` as they come, so that they are there even
    /// if time runs out on the body.
    async fn exchange(
        &self,
        call: &Call<'_>,
        (deadline, patience): (Instant, Option<Duration>),
        outcome: &mut PostOutcome,
    ) -> Result<(), PostError> {
        let host = &call.url.url()[..Position::BeforePath];
        if let Some(conn) = self.kept(host).await {
            match self.converse(conn, host, request(call)?, patience, outcome).await {
                Err(broken) if broken.repeat => {}
                done => return done.map_err(|broken| broken.error),
            }
        }
        let conn = handshake(self.connector.open(call.url, deadline).await?).await?;
        let done = self.converse(conn, host, request(call)?, patience, outcome).await;
        done.map_err(|broken| broken.error)
    }

    /// An idle connection to `host`, ready for a request.
    async fn kept(&self, host: &str) -> Option<Conn> {
        let mut conn = self.pool.take(host)?;
        match timeout(READY_WAIT, conn.sender.ready()).await {
            Ok(Ok(())) => Some(conn),
            _ => None,
        }
    }

    async fn converse(
        &self,
        mut conn: Conn,
        host: &str,
        mut request: Request<Full<Bytes>>,
        patience: Option<Duration>,
        outcome: &mut PostOutcome,
    ) -> Result<(), Broken> {
        let repeatable = REPEATABLE.iter().any(|name| request.headers().contains_key(*name));
        let was_seen = std::mem::replace(&mut outcome.maybe_seen, true);
        conn.allowance.renew();
        conn.allowance.count_interim(&mut request);
        let answer = match conn.sender.try_send_request(request).await {
            Ok(answer) => answer,
            Err(mut failed) => {
                let unsent = failed.take_message().is_some();
                outcome.maybe_seen = was_seen || !unsent;
                let failed = failed.into_error();
                let is_parse = failed.is_parse();
                let error = causes::exchange(&failed, Part::Head);
                let repeat = unsent || (repeatable && !is_parse && error != PostError::TooLarge);
                return Err(Broken { error, repeat });
            }
        };
        let taken = take_answer(answer, patience, outcome).await;
        let whole = taken.map_err(|error| Broken { error, repeat: false })?;
        if whole {
            self.pool.put(host, conn);
        }
        Ok(())
    }
}

pub(super) async fn handshake((stream, allowance): (Stream, Allowance)) -> Result<Conn, PostError> {
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_HEAD_BYTES)
        .max_header_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| causes::exchange(&error, Part::Head))?;
    // Errors of the connection reach the request that is waiting on it.
    let driver = tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(Conn::new(sender, allowance, driver.abort_handle()))
}

pub(super) fn request(call: &Call<'_>) -> Result<Request<Full<Bytes>>, PostError> {
    let Call { method, url, headers, body } = call;
    let refused = |_: http::Error| PostError::Protocol("the request cannot be written as HTTP".into());
    let host = match url.url().port() {
        Some(port) => HeaderValue::try_from(format!("{}:{port}", url.host())),
        None => HeaderValue::try_from(url.host()),
    };
    let mut request = Request::builder()
        .method(method.clone())
        .uri(&url.url()[Position::BeforePath..Position::AfterQuery])
        .body(Full::new(body.clone()))
        .map_err(refused)?;
    let map = request.headers_mut();
    map.insert(USER_AGENT, AGENT);
    for (name, value) in *headers {
        map.insert(name, value.clone());
    }
    map.insert(HOST, host.map_err(|error| refused(error.into()))?);
    Ok(request)
}

/// Reads status, Retry-After and up to the limit of the body, for which it waits no longer than `patience`;
/// tells whether that was all of it.
async fn take_answer(
    answer: Response<Incoming>,
    patience: Option<Duration>,
    outcome: &mut PostOutcome,
) -> Result<bool, PostError> {
    outcome.status = Some(answer.status().as_u16());
    outcome.retry_after = answer
        .headers()
        .get(RETRY_AFTER)
        .filter(|value| value.len() <= MAX_RETRY_AFTER_BYTES)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let mut body = answer.into_body();
    let mut read = Vec::new();
    let until = patience.map(|patience| Instant::now() + patience);
    let ended = loop {
        let frame = match until {
            None => body.frame().await,
            Some(until) => match timeout_at(until, body.frame()).await {
                Ok(frame) => frame,
                Err(_) => break Err(PostError::BodyOpen),
            },
        };
        match frame {
            None => break Ok(true),
            Some(Err(error)) => break Err(causes::exchange(&error, Part::Body)),
            Some(Ok(frame)) => {
                let Ok(data) = frame.into_data() else { continue };
                let room = MAX_ANSWER_BYTES - read.len();
                read.extend_from_slice(&data[..data.len().min(room)]);
                if data.len() > room {
                    break Ok(false);
                }
            }
        }
    };
    outcome.body_excerpt = readable(&read);
    ended
}

/// Bytes as text that can be stored and shown.
fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let shown = |c: char| if c.is_control() && !matches!(c, '\n' | '\r' | '\t') { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests;
