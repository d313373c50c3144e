//! The `Idempotency-Key` header on the wallet's routes (contract/payments.md#p31), without anything private
//! being kept.
//!
//! A remembered answer has a placeholder instead of the customer's number, which the repeated request contains.
//! Of pay/start only the fact that it was done is remembered, because its answer has the link. The fingerprint
//! of the request is a keyed hash. Used by the routes of this folder alone.

use super::Entered;
use crate::domain::phone::Phone;
use crate::http::Http;
use crate::http::api::Answer;
use crate::http::api::once::{self, Begun};
use crate::http::request::body::Fields;
use crate::http::response::error::ApiError;
use crate::log_limit::warn_of;
use crate::ops::payments::idempotency::{Claim, keep_answer};

/// Placeholder for the phone in a remembered answer; this byte never occurs in JSON.
const PHONE_MARK: &[u8] = b"\x01";

/// Claims the request's key, if it has one; an answer that was given before has its phone again.
pub async fn begin(
    http: &Http,
    entered: &Entered,
    fields: &Fields<'_>,
    phone: &Phone,
) -> Result<Begun, ApiError> {
    let vault = &http.app.vault;
    let kept = |plain| vault.request_hash(&plain);
    Ok(match once::begin_as(http, &entered.admitted, &entered.received, fields, kept).await? {
        Begun::Done(answer) => {
            let body = replaced(&answer.body, PHONE_MARK, phone.e164().as_bytes());
            Begun::Done(Answer { body, ..answer })
        }
        work @ Begun::Work(_) => work,
    })
}

/// An answer as it may be kept.
pub fn without_phone(body: &[u8], phone: &Phone) -> Vec<u8> {
    replaced(body, phone.e164().as_bytes(), PHONE_MARK)
}

/// Ends the work under a claim: `kept` is what is remembered of a good answer.
pub async fn end(
    http: &Http,
    claim: Option<Claim>,
    result: Result<Answer, ApiError>,
    kept: impl Fn(&Answer) -> Vec<u8>,
) -> Result<Answer, ApiError> {
    if let (Some(claim), Ok(answer)) = (&claim, &result)
        && let Err(error) = keep_answer(&http.app, claim, answer.status.as_u16(), kept(answer)).await
    {
        // It was done, and the caller is told so.
        warn_of!(http.app, &error, "an answer could not be remembered under its idempotency key");
    }
    once::end(claim, &result).await;
    result
}

fn replaced(body: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + to.len());
    let mut rest = body;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_kept_without_the_phone_and_given_with_it() {
        let phone = Phone::parse("08031234567").unwrap();
        let body = br#"{"phone":"+2348031234567","again":"+2348031234567"}"#;
        let kept = without_phone(body, &phone);
        assert_eq!(kept, b"{\"phone\":\"\x01\",\"again\":\"\x01\"}");
        assert_eq!(replaced(&kept, PHONE_MARK, phone.e164().as_bytes()), body);
    }
}
