//! Every way a request of the API can fail, and the one place that makes an answer of it.
//!
//! The body is `{ "success": false, "message": ... }`, with `errors` by field on 422. A 500 or 503
//! shows no internals; what happened is logged where it is turned into an `ApiError`.

use std::borrow::Cow;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};

use super::json::Json;
use super::validate::Problems;
use crate::domain::money::Money;
use crate::ops::OpError;
use crate::store::StoreError;

/// Unix seconds at which a limit has room again (decisions 3).
pub const RATE_LIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

pub const KEY_MISSING: &str = "API key is required";
pub const KEY_INVALID: &str = "Invalid or inactive API key";

/// Seconds after which a caller may ask again when the database was away.
const RETRY_SECONDS: u32 = 2;

#[derive(Debug)]
pub enum ApiError {
    BadRequest(Cow<'static, str>),
    Unauthorized(&'static str),
    Forbidden(&'static str),
    NotFound(&'static str),
    MethodNotAllowed,
    /// The body did not arrive in time; the connection is closed.
    RequestTimeout,
    Conflict(&'static str),
    /// The rest of the body may be unread; the connection is closed.
    TooLarge,
    UnsupportedMediaType,
    Invalid(Problems),
    /// The limit's headers are added by whoever knows them.
    TooManyRequests,
    /// A quota is used up that the limit's headers say nothing of.
    OverQuota {
        message: &'static str,
        retry_after: u32,
        /// Unix seconds at which there is room again.
        reset_at: i64,
    },
    /// The wallet holds less; how much.
    InsufficientBalance(Money),
    Internal,
    /// Somebody we depend on refused or is down.
    BadGateway(Cow<'static, str>),
    Unavailable {
        message: &'static str,
        retry_after: u32,
    },
}

impl ApiError {
    /// 422 with one field.
    pub fn field(field: &'static str, message: impl Into<String>) -> ApiError {
        let mut problems = Problems::default();
        problems.add(field, message.into());
        ApiError::Invalid(problems)
    }

    fn status(&self) -> StatusCode {
        match self {
            ApiError::BadRequest(_) => StatusCode::BAD_REQUEST,
            ApiError::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            ApiError::Forbidden(_) => StatusCode::FORBIDDEN,
            ApiError::NotFound(_) => StatusCode::NOT_FOUND,
            ApiError::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ApiError::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            ApiError::Conflict(_) => StatusCode::CONFLICT,
            ApiError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ApiError::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ApiError::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            ApiError::TooManyRequests | ApiError::OverQuota { .. } => StatusCode::TOO_MANY_REQUESTS,
            ApiError::InsufficientBalance(_) => StatusCode::BAD_REQUEST,
            ApiError::BadGateway(_) => StatusCode::BAD_GATEWAY,
            ApiError::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            ApiError::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn message(&self) -> Cow<'_, str> {
        match self {
            ApiError::BadRequest(message) | ApiError::BadGateway(message) => Cow::Borrowed(message),
            ApiError::Unauthorized(message)
            | ApiError::Forbidden(message)
            | ApiError::NotFound(message)
            | ApiError::Conflict(message)
            | ApiError::OverQuota { message, .. }
            | ApiError::Unavailable { message, .. } => Cow::Borrowed(message),
            ApiError::InsufficientBalance(_) => Cow::Borrowed("Insufficient balance"),
            ApiError::MethodNotAllowed => Cow::Borrowed("This method is not allowed here"),
            ApiError::RequestTimeout => Cow::Borrowed("The request's body did not arrive in time"),
            ApiError::TooLarge => Cow::Borrowed("The body is larger than 64 KiB"),
            ApiError::UnsupportedMediaType => Cow::Borrowed("The Content-Type must be application/json"),
            ApiError::Invalid(problems) => Cow::Owned(problems.summary()),
            ApiError::TooManyRequests => Cow::Borrowed("Too many requests; try again later"),
            ApiError::Internal => Cow::Borrowed("Something went wrong on our side"),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut json = Json::object();
        json.flag("success", false);
        json.text("message", &self.message());
        if let ApiError::Invalid(problems) = &self {
            problems.write(&mut json);
        }
        if let ApiError::InsufficientBalance(available) = &self {
            json.money("available_balance", *available);
        }
        let mut response = json_response(self.status(), json.finish());
        match self {
            ApiError::Unavailable { retry_after, .. } => {
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(retry_after));
            }
            ApiError::OverQuota { retry_after, reset_at, .. } => {
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(retry_after));
                response.headers_mut().insert(RATE_LIMIT_RESET, HeaderValue::from(reset_at));
            }
            ApiError::TooLarge | ApiError::RequestTimeout => {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

impl From<OpError> for ApiError {
    fn from(error: OpError) -> ApiError {
        match error {
            OpError::Store(error) => error.into(),
            OpError::Contended => ApiError::Unavailable {
                message: "Too many changes at the same moment; try again",
                retry_after: 1,
            },
            OpError::Fault(what) => {
                tracing::error!(%what, "a request failed");
                ApiError::Internal
            }
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> ApiError {
        match error {
            StoreError::Unavailable(_) => {
                tracing::warn!(%error, "a request failed");
                ApiError::Unavailable {
                    message: "The service is temporarily unavailable; try again",
                    retry_after: RETRY_SECONDS,
                }
            }
            StoreError::Corrupt { .. }
            | StoreError::Fault(_)
            | StoreError::Occupied(_)
            | StoreError::Denied(_) => {
                tracing::error!(%error, "a request failed");
                ApiError::Internal
            }
        }
    }
}

/// An answer of JSON bytes.
pub fn json_response(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
