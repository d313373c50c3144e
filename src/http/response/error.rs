//! Every way in which a request of the API can fail, and the one place that turns it into an answer.
//!
//! The body is `{ "success": false, "message": ..., "code": ... }`, with `errors` and `error_codes` by field
//! where fields are wrong: on every 422, and on a 400 about a webhook URL. The status follows from the code. A
//! 500 or 503 shows no internals; what happened is logged where it is turned into an `ApiError`, and by the
//! door where the database is away.

use std::borrow::Cow;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::code::{Code, FieldCode};
use super::problems::{ByField, Problems};
use crate::domain::money::Money;
use crate::ops::OpError;
use crate::ops::StoreError;
use crate::wire::{self, JsonMoney};

/// Unix seconds at which a limit has room again (contract/limits.md#x4).
pub const RATE_LIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
/// On an answer that was given before, for the same Idempotency-Key.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Seconds after which a caller may ask again when the database was away.
const RETRY_SECONDS: u32 = 2;

#[derive(Debug)]
pub struct ApiError {
    code: Code,
    message: Cow<'static, str>,
    more: More,
}

/// What an answer has in addition to code and message, or its headers, or the log.
#[derive(Debug)]
enum More {
    Nothing {},
    /// It was the outcome before, too, and the key stays in use.
    Replayed {},
    Fields(Problems),
    /// What the wallet, or the business, has.
    Available {
        available_balance: JsonMoney,
    },
    /// What was made in spite of the error, as JSON.
    Data {
        data: Option<Box<RawValue>>,
    },
    Retry {
        after: u32,
        /// Unix seconds at which a quota has room again of which the limit's headers say nothing.
        reset_at: Option<i64>,
    },
    /// The database is away.
    Away {
        error: StoreError,
    },
}

/// Every answer to a request that failed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub struct ErrorBody<'a> {
    #[schemars(extend("const" = false))]
    success: bool,
    /// For people: the first problem, and how many more there are. May change.
    message: &'a str,
    /// For programs: what is wrong. New codes may be added; handle one that you do not know by its status.
    code: &'static str,
    /// By field or parameter, everything that is wrong with it, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<ByField<'a>>,
    /// The same for programs: the codes of these problems, in the same order.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_codes: Option<ByField<'a>>,
    /// With `insufficient_balance`: what the wallet, or the business, has.
    #[serde(skip_serializing_if = "Option::is_none")]
    available_balance: Option<JsonMoney>,
    /// What was made although the request failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    data: Option<&'a RawValue>,
}

/// Why a response says that the service is unavailable, for the log; an extension of it.
#[derive(Clone, Debug)]
pub struct Away(pub StoreError);

/// What an error says, for the log line of its request and for the merchant's list of refused ones; an extension of its
/// response.
#[derive(Clone, Debug)]
pub struct Failed {
    pub code: &'static str,
    pub message: Cow<'static, str>,
}

impl ApiError {
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> ApiError {
        ApiError { code, message: message.into(), more: More::Nothing {} }
    }

    /// 422 with everything that is wrong.
    pub fn invalid(problems: Problems) -> ApiError {
        ApiError { code: problems.code(), message: problems.summary().into(), more: More::Fields(problems) }
    }

    /// 422 with one field.
    pub fn field(field: &'static str, code: FieldCode, message: impl Into<String>) -> ApiError {
        let mut problems = Problems::default();
        problems.add(field, code, message.into());
        ApiError::invalid(problems)
    }

    /// Another status than 422, and still about one field.
    pub fn about(
        code: Code,
        field: &'static str,
        field_code: FieldCode,
        message: impl Into<Cow<'static, str>>,
    ) -> ApiError {
        let message = message.into();
        let mut problems = Problems::default();
        problems.add(field, field_code, format!("{message}."));
        ApiError { code, message, more: More::Fields(problems) }
    }

    /// The outcome of an earlier request under the same key.
    pub fn replayed(self) -> ApiError {
        match self.more {
            More::Nothing {} => ApiError { more: More::Replayed {}, ..self },
            _ => self,
        }
    }

    /// The request may be tried again after this many seconds.
    pub fn retry(code: Code, message: &'static str, after: u32) -> ApiError {
        ApiError { code, message: message.into(), more: More::Retry { after, reset_at: None } }
    }

    /// A quota is used up until `reset_at`, in Unix seconds.
    pub fn over_quota(code: Code, message: &'static str, after: u32, reset_at: i64) -> ApiError {
        ApiError { code, message: message.into(), more: More::Retry { after, reset_at: Some(reset_at) } }
    }

    /// Of a wallet, or of the business itself.
    pub fn insufficient_balance(message: &'static str, available: Money) -> ApiError {
        ApiError {
            code: Code::InsufficientBalance,
            message: message.into(),
            more: More::Available { available_balance: JsonMoney(available) },
        }
    }

    /// `data` exists although the request failed.
    pub fn with_data(code: Code, message: String, data: &impl Serialize) -> ApiError {
        ApiError { code, message: message.into(), more: More::Data { data: to_raw_value(data).ok() } }
    }

    /// The limit's headers are added by whoever knows them.
    pub fn rate_limited() -> ApiError {
        ApiError::new(Code::RateLimited, "Too many requests; try again later")
    }

    pub fn unknown_path() -> ApiError {
        ApiError::new(Code::NotFound, "Not found")
    }

    pub fn wrong_verb() -> ApiError {
        ApiError::new(Code::MethodNotAllowed, "This HTTP method is not allowed for this path")
    }

    /// The rest of the body may be unread; the connection is closed.
    pub fn body_too_large() -> ApiError {
        ApiError::new(Code::BodyTooLarge, "The body is larger than 64 KiB")
    }

    /// The body did not arrive in time; the connection is closed.
    pub fn body_timeout() -> ApiError {
        ApiError::new(Code::RequestTimeout, "The request body did not arrive in time")
    }

    pub fn body_cut_short() -> ApiError {
        ApiError::new(Code::BodyIncomplete, "The request body is incomplete")
    }

    pub fn internal() -> ApiError {
        ApiError::new(Code::InternalError, "Something went wrong on our side")
    }

    fn body(&self) -> ErrorBody<'_> {
        let plain = ErrorBody {
            success: false,
            message: &self.message,
            code: self.code.word(),
            errors: None,
            error_codes: None,
            available_balance: None,
            data: None,
        };
        match &self.more {
            More::Nothing {} | More::Replayed {} | More::Retry { .. } | More::Away { .. } => plain,
            More::Fields(problems) => {
                ErrorBody { errors: Some(problems.messages()), error_codes: Some(problems.codes()), ..plain }
            }
            More::Available { available_balance } => {
                ErrorBody { available_balance: Some(*available_balance), ..plain }
            }
            More::Data { data } => ErrorBody { data: data.as_deref(), ..plain },
        }
    }

    /// As it is sent.
    pub fn encoded(&self) -> Vec<u8> {
        wire::encode(&self.body())
    }

    /// Seconds after which it may be tried again, where that helps.
    pub fn retry_after(&self) -> Option<u32> {
        match self.more {
            More::Retry { after, .. } => Some(after),
            More::Away { .. } => Some(RETRY_SECONDS),
            _ => None,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = json_response(self.code.status(), self.encoded());
        let retry_after = self.retry_after();
        response.extensions_mut().insert(Failed { code: self.code.word(), message: self.message });
        let headers = response.headers_mut();
        if let Some(after) = retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(after));
        }
        if matches!(self.more, More::Replayed {}) {
            headers.insert(REPLAYED, HeaderValue::from_static("true"));
        }
        if let More::Retry { reset_at: Some(reset_at), .. } = self.more {
            headers.insert(RATE_LIMIT_RESET, HeaderValue::from(reset_at));
        }
        if matches!(self.code, Code::BodyTooLarge | Code::RequestTimeout) {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let More::Away { error } = self.more {
            response.extensions_mut().insert(Away(error));
        }
        response
    }
}

impl From<OpError> for ApiError {
    fn from(error: OpError) -> ApiError {
        match error {
            OpError::Store(error) => error.into(),
            OpError::Contended => ApiError::retry(
                Code::TooManyChanges,
                "Too many requests are changing the same data at the same time; try again",
                1,
            ),
            OpError::Fault(what) => {
                tracing::error!(%what, "a request failed");
                ApiError::internal()
            }
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> ApiError {
        match error {
            StoreError::Unavailable(_) => ApiError {
                code: Code::ServiceUnavailable,
                message: "The service is temporarily unavailable; try again".into(),
                more: More::Away { error },
            },
            StoreError::Corrupt { .. }
            | StoreError::Fault(_)
            | StoreError::Occupied(_)
            | StoreError::Denied(_) => {
                tracing::error!(%error, "a request failed");
                ApiError::internal()
            }
        }
    }
}

/// An answer of JSON bytes. They name payers and accounts, so they must not be cached.
pub fn json_response(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
