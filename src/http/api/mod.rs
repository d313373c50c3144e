//! The JSON API for merchants: what all its routes have in common, and one file per route.
//!
//! The order of checks: the body is read (so that the client sees an answer), the key is looked
//! up, the request is counted (against the business, or the client's address where the key is not
//! good or cannot be looked up), and only then the body is judged. Each route has wire structs of
//! its own.

pub mod balance;
pub mod checkout;
pub mod correct;
pub mod create;
pub mod event_stream;
pub mod events;
pub mod list;
mod once;
mod payment;
pub mod payouts;
pub mod read;
pub mod test_alerts;
pub mod wallet;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{HeaderName, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

use super::Http;
use crate::directory::Caller;
use crate::domain::merchant::KeyRights;
use crate::domain::money::Money;
use crate::http::paths::UNROUTED;
use crate::http::request::auth::{Presented, client_address, counted_as, presented};
use crate::http::request::body::{self, BodyProblem, Fields};
use crate::http::request::context::{RemoteAddr, RequestLabels};
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::{ApiError, RATE_LIMIT_RESET, REPLAYED, json_response};
use crate::http::server::limit_verdict::LimitVerdict;
use crate::http::server::rate_limits::Group;
use crate::ops::StoreError;
use crate::wire;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");

const KEY_MISSING: &str = "API key is required";
const KEY_INVALID: &str = "Invalid or inactive API key";
/// Told before anything else about the request is looked at.
const ONLY_READS: &str = "This API key may only read; use a key with the rights write";
const KEYS_DIFFER: &str = "Invalid or inactive API key: the X-API-Key header and the field api_key differ";

/// Seconds until a receiving account may be free again.
const NO_ACCOUNT_RETRY: u32 = 60;

/// An amount that is valid, but too large with the charges that the customer pays.
fn too_large(field: &'static str, max: Money) -> ApiError {
    let message = format!("The amount with its charges must not be greater than {max}.");
    ApiError::field(field, FieldCode::TooLarge, message)
}

/// A successful answer.
pub struct Answer {
    pub status: StatusCode,
    pub body: Vec<u8>,
    /// It was given before, for the same Idempotency-Key.
    pub replayed: bool,
}

impl Answer {
    pub fn ok(body: Vec<u8>) -> Answer {
        Answer { status: StatusCode::OK, body, replayed: false }
    }

    pub fn created(body: Vec<u8>) -> Answer {
        Answer { status: StatusCode::CREATED, body, replayed: false }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{D}Answer")]
struct GoodBody<'a, D> {
    #[schemars(extend("const" = true))]
    success: bool,
    /// What was done, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    data: D,
}

/// The body of a successful answer.
fn good_body(message: Option<&str>, data: impl Serialize) -> Vec<u8> {
    wire::encode(&GoodBody { success: true, message, data })
}

/// A request with its body read, as far as it could be.
pub struct Received {
    pub parts: Parts,
    peer: RemoteAddr,
    bytes: Result<Bytes, BodyProblem>,
}

impl Received {
    pub async fn whole(request: Request) -> Received {
        let (parts, body) = request.into_parts();
        let peer = peer_of(&parts);
        Received { parts, peer, bytes: body::read(body).await }
    }

    /// For verbs whose body means nothing.
    pub fn without_body(request: Request) -> Received {
        let (parts, _) = request.into_parts();
        let peer = peer_of(&parts);
        Received { parts, peer, bytes: Err(BodyProblem::Empty) }
    }

    /// The body names the field of the key, in whatever notation it is written.
    fn names_key(&self) -> bool {
        let name = b"api_key";
        matches!(&self.bytes, Ok(bytes) if bytes.windows(name.len()).any(|part| part == name))
    }

    /// For verbs that need no body: none is an empty object.
    pub fn fields_if_any(&self) -> Result<Fields<'_>, BodyProblem> {
        match &self.bytes {
            Ok(bytes) if bytes.is_empty() => body::parse(b"{}"),
            Err(BodyProblem::Empty) => body::parse(b"{}"),
            _ => self.fields(),
        }
    }

    pub fn fields(&self) -> Result<Fields<'_>, BodyProblem> {
        match &self.bytes {
            Err(problem) => Err(problem.clone()),
            Ok(_) if !body::is_json(&self.parts.headers) => Err(BodyProblem::NotJson),
            Ok(bytes) => body::parse(bytes),
        }
    }
}

/// The listener always sets the peer; without it, requests count as those of nobody.
fn peer_of(parts: &Parts) -> RemoteAddr {
    let nobody = || RemoteAddr(std::net::SocketAddr::from(([0, 0, 0, 0], 0)));
    parts.extensions.get::<RemoteAddr>().copied().unwrap_or_else(nobody)
}

/// A caller with a valid key who is within the limits.
pub struct Admitted {
    pub caller: Caller,
    verdict: LimitVerdict,
    route: &'static str,
}

impl Admitted {
    /// Adds the headers that every answer of the API has.
    pub fn respond(&self, http: &Http, result: Result<Answer, ApiError>) -> Response {
        let response = match result {
            Ok(answer) => {
                let mut response = json_response(answer.status, answer.body);
                if answer.replayed {
                    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
                }
                response
            }
            Err(error) => error.into_response(),
        };
        self.label(http, response)
    }

    /// The same for an answer that is no JSON.
    pub fn label(&self, http: &Http, mut response: Response) -> Response {
        let business_id = Some(self.caller.business.id);
        response.extensions_mut().insert(RequestLabels { route: self.route, business_id });
        add_limit(http, &mut response, &self.verdict);
        response
    }
}

/// Admits a request with a body, or answers why not.
pub async fn admit_with_body(
    http: &Http,
    received: &Received,
    fields: &Result<Fields<'_>, BodyProblem>,
    route: &'static str,
) -> Result<Admitted, Response> {
    admit_to(http, received, fields, route, Group::Api).await
}

/// The same for routes of a group, which count against a limit of their own as well.
pub async fn admit_to(
    http: &Http,
    received: &Received,
    fields: &Result<Fields<'_>, BodyProblem>,
    route: &'static str,
    group: Group,
) -> Result<Admitted, Response> {
    let (token, hidden) = match fields {
        Ok(fields) => (fields.get("api_key"), None),
        Err(problem) if problem.hides_key() => (None, Some(problem)),
        Err(problem @ BodyProblem::NotJson) if received.names_key() => (None, Some(problem)),
        Err(_) => (None, None),
    };
    admit(http, received, token, hidden, route, group).await
}

/// Admits a request whose key can only be in its header, or answers why not.
pub async fn admit_without_body(
    http: &Http,
    received: &Received,
    route: &'static str,
) -> Result<Admitted, Response> {
    admit(http, received, None, None, route, Group::Api).await
}

async fn admit(
    http: &Http,
    received: &Received,
    token: Option<&str>,
    hidden: Option<&BodyProblem>,
    route: &'static str,
    group: Group,
) -> Result<Admitted, Response> {
    let (headers, peer) = (&received.parts.headers, received.peer);
    let (verdict, business_id, error) = match find_caller(http, headers, token).await {
        Ok(caller) => {
            let verdict = http.limits.spend_business(&caller.business, group).await;
            let only_reads = caller.rights == KeyRights::Read
                && !matches!(received.parts.method, Method::GET | Method::HEAD);
            let error = match (verdict.allowed, only_reads) {
                (true, false) => return Ok(Admitted { caller, verdict, route }),
                (true, true) => ApiError::new(Code::KeyMayOnlyRead, ONLY_READS),
                (false, _) => ApiError::rate_limited(),
            };
            (verdict, Some(caller.business.id), error)
        }
        Err(no_caller) => {
            let verdict = spend_address(http, headers, peer).await;
            let error = match (no_caller, hidden) {
                // The key may be valid, so the answer does not say that it asked too often.
                (NoCaller::Unknown(error), _) => error.into(),
                _ if !verdict.allowed => ApiError::rate_limited(),
                (NoCaller::KeyMissing, Some(problem)) => problem.clone().into(),
                (NoCaller::KeyMissing, None) => ApiError::new(Code::ApiKeyMissing, KEY_MISSING),
                (NoCaller::KeyInvalid, _) => ApiError::new(Code::ApiKeyInvalid, KEY_INVALID),
                (NoCaller::KeysDiffer, _) => ApiError::new(Code::ApiKeyInvalid, KEYS_DIFFER),
            };
            (verdict, None, error)
        }
    };
    let mut response = error.into_response();
    response.extensions_mut().insert(RequestLabels { route, business_id });
    add_limit(http, &mut response, &verdict);
    Err(response)
}

/// Answers `error` to a request that matched no route of the API; it is counted like any other.
pub async fn refuse(http: &Http, headers: &HeaderMap, peer: RemoteAddr, error: ApiError) -> Response {
    let (verdict, business_id, is_known) = match find_caller(http, headers, None).await {
        Ok(caller) => {
            let verdict = http.limits.spend_business(&caller.business, Group::Api).await;
            (verdict, Some(caller.business.id), true)
        }
        Err(no_caller) => {
            let verdict = spend_address(http, headers, peer).await;
            (verdict, None, !matches!(no_caller, NoCaller::Unknown(_)))
        }
    };
    let error = if verdict.allowed || !is_known { error } else { ApiError::rate_limited() };
    let mut response = error.into_response();
    response.extensions_mut().insert(RequestLabels { route: UNROUTED, business_id });
    add_limit(http, &mut response, &verdict);
    response
}

/// Why there is no caller.
enum NoCaller {
    KeyMissing,
    KeyInvalid,
    /// Header and body have different keys.
    KeysDiffer,
    /// The key could not be looked up.
    Unknown(StoreError),
}

async fn find_caller(http: &Http, headers: &HeaderMap, token: Option<&str>) -> Result<Caller, NoCaller> {
    match presented(headers, token) {
        Presented::None => Err(NoCaller::KeyMissing),
        Presented::Unusable => Err(NoCaller::KeyInvalid),
        Presented::Differing => Err(NoCaller::KeysDiffer),
        Presented::Key(key) => {
            let found = http.app.directory.caller(&key).await.map_err(NoCaller::Unknown)?;
            found.ok_or(NoCaller::KeyInvalid)
        }
    }
}

async fn spend_address(http: &Http, headers: &HeaderMap, peer: RemoteAddr) -> LimitVerdict {
    let address = client_address(peer.0, headers, &http.app.config.server.trusted_proxies);
    http.limits.spend_address(counted_as(address)).await
}

fn add_limit(http: &Http, response: &mut Response, verdict: &LimitVerdict) {
    let is_refused = response.status() == StatusCode::TOO_MANY_REQUESTS;
    let headers = response.headers_mut();
    headers.insert(LIMIT, HeaderValue::from(verdict.limit));
    headers.insert(REMAINING, HeaderValue::from(verdict.remaining));
    // A request that was answered otherwise has nothing to wait for.
    if !verdict.allowed && is_refused {
        // Rounded up: after this wait there is a new window.
        let seconds = verdict.reset_after.as_secs() + u64::from(verdict.reset_after.subsec_nanos() > 0);
        let seconds = i64::try_from(seconds.max(1)).unwrap_or(i64::MAX);
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        headers.insert(RATE_LIMIT_RESET, HeaderValue::from(http.app.now().0 / 1_000_000 + seconds));
    }
}
