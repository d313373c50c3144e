//! The `Idempotency-Key` header: read, claimed before the work, settled after it (contract/payments.md#p31).

use http::StatusCode;

use super::{Admitted, Answer, Received};
use crate::http::Http;
use crate::http::request::body::Fields;
use crate::http::request::validate::{KEY_MAX, check_text};
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::ApiError;
use crate::http::response::problems::Problems;
use crate::ops::payments::idempotency::{Claim, Claimed, claim};

const FIELD: &str = "idempotency_key";

/// What to do with a request.
pub enum Begun {
    /// The work; the claim, if there was a key, goes to [`end`] with its result.
    Work(Option<Claim>),
    /// Nothing to do: it was done before.
    Done(Answer),
}

/// Claims the request's key, if it has one. To be called once the request is known to be well formed.
pub async fn begin(
    http: &Http,
    admitted: &Admitted,
    received: &Received,
    fields: &Fields<'_>,
) -> Result<Begun, ApiError> {
    begin_as(http, admitted, received, fields, |plain| plain).await
}

/// The same for requests whose fingerprint is kept in another form than the plain one.
pub async fn begin_as(
    http: &Http,
    admitted: &Admitted,
    received: &Received,
    fields: &Fields<'_>,
    kept: impl Fn([u8; 32]) -> [u8; 32],
) -> Result<Begun, ApiError> {
    let key = read_key(received).map_err(|wrong| {
        let mut problems = Problems::default();
        wrong.into_iter().for_each(|(code, message)| problems.add(FIELD, code, message));
        ApiError::invalid(problems)
    })?;
    let Some(key) = key else { return Ok(Begun::Work(None)) };
    // With the mode: a live request must never be answered with a test account to pay into.
    let method = format!("{} {}", admitted.caller.mode.as_str(), received.parts.method);
    let fingerprint = kept(fields.fingerprint(&method, received.parts.uri.path()));
    match claim(&http.app, admitted.caller.business.id, &key, &fingerprint).await? {
        Claimed::New(claim) => Ok(Begun::Work(Some(claim))),
        Claimed::Replay(status, body) => Ok(Begun::Done(Answer {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
            body,
            replayed: true,
        })),
        Claimed::OtherRequest => {
            let message = "This Idempotency-Key was already used for a different request. Use a new key.";
            Err(ApiError::field(FIELD, FieldCode::IdempotencyKeyReused, message))
        }
        Claimed::StillRunning => Err(still_running()),
    }
}

/// The first request under the key has not ended.
pub fn still_running() -> ApiError {
    let message = "A request with this Idempotency-Key is still being processed; try again";
    ApiError::new(Code::RequestInProgress, message)
}

/// Keeps the claim of work that was done, gives back that of work that was not.
pub async fn end(claim: Option<Claim>, result: &Result<Answer, ApiError>) {
    match claim {
        Some(claim) if result.is_ok() => claim.keep(),
        Some(claim) => claim.release().await,
        None => {}
    }
}

/// 422 for a request with these problems, and with its key's.
pub fn invalid(received: &Received, mut problems: Problems) -> ApiError {
    look_at_key(received, &mut problems);
    ApiError::invalid(problems)
}

/// Adds what is wrong with the key of a request that is refused anyway.
pub fn look_at_key(received: &Received, problems: &mut Problems) {
    for (code, message) in read_key(received).err().unwrap_or_default() {
        problems.add(FIELD, code, message);
    }
}

fn read_key(received: &Received) -> Result<Option<String>, Vec<(FieldCode, String)>> {
    let mut values = received.parts.headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else { return Ok(None) };
    let wrong = |code, what: &str| (code, format!("The Idempotency-Key {what}."));
    if values.any(|other| other != value) {
        return Err(vec![wrong(FieldCode::SentTwice, "must not be sent twice with different values")]);
    }
    let not_a_text = |_| vec![wrong(FieldCode::NotAText, "must be valid UTF-8")];
    let text = std::str::from_utf8(value.as_bytes()).map_err(not_a_text)?;
    match check_text(text.to_owned(), KEY_MAX) {
        Ok(Some(key)) => Ok(Some(key)),
        // An empty key is a bug in the caller's program, which relies on its protection.
        Ok(None) => Err(vec![wrong(FieldCode::Required, "must not be empty")]),
        Err(all) => Err(all.into_iter().map(|(code, what)| wrong(code, &what)).collect()),
    }
}
