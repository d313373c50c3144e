//! What happens around every request, in one function: an id, a catch for panics, the log line,
//! the meters. Not the place for anything that depends on the route.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::{HeaderMap, HeaderName, HeaderValue};
use tower::ServiceExt;
use tracing::Instrument;

use crate::app::requests::Refusal;
use crate::clock::Random;
use crate::http::Http;
use crate::http::paths::{API, UNROUTED};
use crate::http::request::context::{RemoteAddr, RequestLabels};
use crate::http::response::error::{ApiError, Away, Failed};
use crate::log_limit::warn_of;

/// A request that takes longer has a log line even if it went well.
const SLOW: Duration = Duration::from_secs(1);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// A longer id than this is not taken over from the caller.
const REQUEST_ID_MAX: usize = 64;

/// Answers one request; never fails.
pub async fn answer(
    http: &Arc<Http>,
    router: Router,
    peer: SocketAddr,
    request: http::Request<Body>,
) -> Response {
    let began = Instant::now();
    let mut request: Request = request;
    let id = request_id(request.headers(), http.app.random.as_ref());
    let method = request.method().clone();
    let is_api = request.uri().path().starts_with(API);
    request.extensions_mut().insert(RemoteAddr(peer));
    let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default());
    let handled = AssertUnwindSafe(router.oneshot(request)).catch_unwind().instrument(span.clone()).await;
    let mut response = match handled {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        // The panic hook has logged what and where.
        Err(_) => ApiError::internal().into_response(),
    };
    response.headers_mut().insert(REQUEST_ID, id.clone());
    if let Some(Away(error)) = response.extensions_mut().remove::<Away>() {
        span.in_scope(|| warn_of!(http.app, &error, "a request failed"));
    }
    let failed = response.extensions_mut().remove::<Failed>();
    let code = failed.as_ref().map(|failed| failed.code);
    let trace = response.extensions_mut().remove::<RequestLabels>();
    let trace = trace.unwrap_or(RequestLabels { route: UNROUTED, business_id: None });
    let status = response.status().as_u16();
    let took = began.elapsed();
    http.meters.note(trace.route, status, took);
    if let Some(business_id) = trace.business_id.filter(|_| is_api) {
        let now = http.app.now();
        match failed {
            Some(failed) => http.app.requests.note_refused(Refusal {
                business_id,
                at: now,
                method: method.to_string(),
                route: trace.route,
                status,
                code: Some(failed.code),
                message: failed.message.into_owned(),
                request_id: id.to_str().unwrap_or_default().to_owned(),
            }),
            None => http.app.requests.note_good(business_id, now),
        }
    }
    // Successes are counted in the metrics, and a log line for each would cost more than the rest of a
    // read. Requests that failed or were slow are logged.
    let went_well = status < 400 && took < SLOW;
    span.in_scope(|| {
        if went_well {
            return tracing::debug!(%method, route = trace.route, status, business = trace.business_id, "request");
        }
        // The template, not the path: paths of pages hold tokens, and queries may hold anything.
        tracing::info!(
            %method,
            route = trace.route,
            status,
            code,
            business = trace.business_id,
            ms = took.as_micros() as f64 / 1000.0,
            "request"
        );
    });
    response
}

/// The caller's own id if it is harmless in a log, else a fresh one.
fn request_id(headers: &HeaderMap, random: &dyn Random) -> HeaderValue {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if let Some(given) = headers.get(&REQUEST_ID) {
        let bytes = given.as_bytes();
        if (1..=REQUEST_ID_MAX).contains(&bytes.len()) && bytes.iter().all(plain) {
            return given.clone();
        }
    }
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    let mut text = [0; 32];
    for (at, byte) in bytes.iter().enumerate() {
        text[2 * at] = b"0123456789abcdef"[usize::from(byte >> 4)];
        text[2 * at + 1] = b"0123456789abcdef"[usize::from(byte & 15)];
    }
    HeaderValue::from_bytes(&text).unwrap_or(HeaderValue::from_static("0"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SeededRandom;

    #[test]
    fn a_callers_id_is_kept_only_when_harmless() {
        let random = SeededRandom::new(3);
        let id = |given: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(given) = given {
                headers.insert(REQUEST_ID, given.parse().unwrap());
            }
            request_id(&headers, &random).to_str().unwrap().to_owned()
        };
        assert_eq!(id(Some("abc-1.2_Z")), "abc-1.2_Z");
        let fresh = id(None);
        assert!(fresh.len() == 32 && fresh.bytes().all(|b| b.is_ascii_hexdigit()), "{fresh}");
        assert_ne!(fresh, id(None));
        for bad in ["", "a b", "a\"b", &"x".repeat(65)] {
            assert_eq!(id(Some(bad)).len(), 32, "{bad}");
        }
    }
}
