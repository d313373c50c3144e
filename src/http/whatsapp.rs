//! `/whatsapp/webhook`: Meta's reports about messages, and notices that customers wrote to us.
//!
//! GET is Meta's question whether the address is ours, answered once when it is set up. POST brings
//! reports, signed with the app's secret over the body's bytes; nothing is looked at before the signature
//! was found good, and nobody else gets anything but 403. What customers wrote is not read, only that they
//! did. After `.../whatsapp/webhooks/create-webhook-endpoint`, `.../webhooks/reference/messages/status`
//! and `.../webhooks/reference/messages/text`. What reports change is `ops::messages::reports`' to say.

mod notice;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use hmac::{Hmac, KeyInit, Mac};
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::BodyExt;
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Http;
use crate::config::WebhookSecrets;
use crate::http::paths::WHATSAPP;
use crate::http::request::context::RequestLabels;
use crate::http::response::code::Code;
use crate::http::response::error::ApiError;
use crate::ops::OpError;

/// The largest body Meta sends.
const BODY_MAX: usize = 3 * 1024 * 1024;
/// A slower body is given up on; it is sent again.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// Nearly every report is smaller, and needs no place.
const SMALL_MAX: usize = 64 * 1024;
/// Larger bodies in memory at once, as nobody knows before the last byte whose they are: 48 MiB.
const LARGE_AT_ONCE: usize = 16;
static LARGE: Semaphore = Semaphore::const_new(LARGE_AT_ONCE);
/// Characters of a challenge; those seen have ten digits.
const CHALLENGE_MAX: usize = 128;
/// Where the signature is: `sha256=` and the HMAC in hexadecimal.
const SIGNATURE: &str = "x-hub-signature-256";
/// Seconds until Meta is asked to come again.
const RETRY_SECONDS: u32 = 5;

/// Meta asks whether this address is ours: it is if the token is the one the operator made up.
pub async fn verify(State(http): State<Arc<Http>>, request: Request) -> Response {
    let answer = secrets(&http).and_then(|secrets| challenge(request.uri().query(), &secrets.verify_token));
    traced(answer.map_or_else(
        || {
            let message = "This is not the verify token of this address";
            ApiError::new(Code::VerifyTokenWrong, message).into_response()
        },
        plain,
    ))
}

/// The text to give back.
fn challenge(query: Option<&str>, token: &SecretString) -> Option<String> {
    let (mut mode, mut given, mut challenge) = (None, None, None);
    for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match name.as_ref() {
            "hub.mode" => mode = Some(value),
            "hub.verify_token" => given = Some(value),
            "hub.challenge" => challenge = Some(value),
            _ => {}
        }
    }
    let is_ours = given.is_some_and(|given| given.as_bytes().ct_eq(token.expose_secret().as_bytes()).into());
    let challenge = challenge.filter(|text| {
        let harmless = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        (1..=CHALLENGE_MAX).contains(&text.len()) && text.bytes().all(harmless)
    })?;
    (is_ours && mode.as_deref() == Some("subscribe")).then(|| challenge.into_owned())
}

/// Reports. 200 means that they are stored; anything else makes Meta send them again, for days.
pub async fn receive(State(http): State<Arc<Http>>, request: Request) -> Response {
    traced(match take(&http, request).await {
        Ok(()) => plain("ok".to_owned()),
        Err(error) => error.into_response(),
    })
}

async fn take(http: &Http, request: Request) -> Result<(), ApiError> {
    let Some(secrets) = secrets(http) else { return Err(ApiError::unknown_path()) };
    let (parts, body) = request.into_parts();
    // One who shows no signature at all costs no memory.
    let Some(signature) = signature(&parts.headers) else { return Err(wrong_signature()) };
    let (body, _place) = read(body).await?;
    if !is_signed(&body, &signature, &secrets.app_secret) {
        return Err(wrong_signature());
    }
    notice::take(http, &body).await.map_err(|error| match error {
        notice::Problem::NotJson => {
            ApiError::new(Code::NoticeInvalid, "The body is not a Cloud API notification")
        }
        notice::Problem::Op(error) => {
            if matches!(error, OpError::Store(_)) {
                metrics::counter!("tillbell_whatsapp_reports_total", "report" => "not_stored").increment(1);
            }
            error.into()
        }
    })
}

fn secrets(http: &Http) -> Option<&WebhookSecrets> {
    http.app.config.messenger.whatsapp()?.webhook.as_ref()
}

fn wrong_signature() -> ApiError {
    metrics::counter!("tillbell_whatsapp_reports_total", "report" => "wrong_signature").increment(1);
    ApiError::new(Code::SignatureWrong, "The signature is missing or wrong")
}

/// The 32 bytes of the header, which must be there once.
fn signature(headers: &HeaderMap) -> Option<[u8; 32]> {
    let mut all = headers.get_all(SIGNATURE).iter();
    let (Some(value), None) = (all.next(), all.next()) else { return None };
    let hex = value.to_str().ok()?.strip_prefix("sha256=")?;
    if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// Compares in constant time.
fn is_signed(body: &[u8], signature: &[u8; 32], app_secret: &SecretString) -> bool {
    Hmac::<Sha256>::new_from_slice(app_secret.expose_secret().as_bytes())
        .is_ok_and(|mac| mac.chain_update(body).verify_slice(signature).is_ok())
}

/// The whole body, with the place it has if it is large.
async fn read(body: Body) -> Result<(BytesMut, Option<SemaphorePermit<'static>>), ApiError> {
    match tokio::time::timeout(BODY_TIMEOUT, collect(body)).await {
        Ok(read) => read,
        Err(_) => Err(ApiError::body_timeout()),
    }
}

async fn collect(mut body: Body) -> Result<(BytesMut, Option<SemaphorePermit<'static>>), ApiError> {
    let (mut all, mut place) = (BytesMut::new(), None);
    while let Some(frame) = body.frame().await {
        let ended = |_| ApiError::body_cut_short();
        let Ok(data) = frame.map_err(ended)?.into_data() else { continue };
        let length = all.len() + data.len();
        if length > BODY_MAX {
            return Err(ApiError::new(Code::BodyTooLarge, "The body is larger than 3 MiB"));
        }
        if length > SMALL_MAX && place.is_none() {
            let busy = |_| {
                ApiError::retry(
                    Code::ServiceBusy,
                    "Too many large notifications at once; try again",
                    RETRY_SECONDS,
                )
            };
            place = Some(LARGE.try_acquire().map_err(busy)?);
        }
        all.extend_from_slice(&data);
    }
    Ok((all, place))
}

fn plain(text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn traced(mut response: Response) -> Response {
    response.extensions_mut().insert(RequestLabels { route: WHATSAPP, business_id: None });
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(SIGNATURE, value.parse().unwrap());
        headers
    }

    #[test]
    fn a_signature_is_over_the_bytes_with_the_apps_secret() {
        // From the documentation of another implementation: body `test`, secret `secret`.
        let known = "sha256=0329a06b62cd16b33eb6792be8c60b158d89a2ee3a876fce9a881ebb488c0914";
        let signature = signature(&header(known)).unwrap();
        assert!(is_signed(b"test", &signature, &"secret".into()));
        assert!(!is_signed(b"test ", &signature, &"secret".into()));
        assert!(!is_signed(b"test", &signature, &"Secret".into()));
        let mut other = signature;
        other[31] ^= 1;
        assert!(!is_signed(b"test", &other, &"secret".into()));
    }

    #[test]
    fn anything_but_one_whole_signature_is_none() {
        let hex = "0329a06b62cd16b33eb6792be8c60b158d89a2ee3a876fce9a881ebb488c0914";
        for bad in [
            hex.to_owned(),
            format!("sha1={hex}"),
            format!("sha256={}", &hex[1..]),
            format!("sha256=+{}", &hex[1..]),
        ] {
            assert!(signature(&header(&bad)).is_none(), "{bad}");
        }
        assert!(signature(&HeaderMap::new()).is_none());
        let mut twice = header(&format!("sha256={hex}"));
        twice.append(SIGNATURE, format!("sha256={hex}").parse().unwrap());
        assert!(signature(&twice).is_none());
        assert!(signature(&header(&format!("sha256={}", hex.to_uppercase()))).is_some());
    }

    #[test]
    fn the_challenge_is_given_back_to_who_knows_the_token() {
        let ask = |query: &str| challenge(Some(query), &"meaty ham+hock".into());
        let good = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=meaty%20ham%2Bhock";
        assert_eq!(ask(good).as_deref(), Some("1158201444"));
        for bad in [
            "",
            "hub.mode=subscribe&hub.challenge=1158201444",
            "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=meaty",
            "hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=meaty%20ham%2Bhock",
            "hub.mode=subscribe&hub.verify_token=meaty%20ham%2Bhock",
            "hub.mode=subscribe&hub.challenge=%3Cscript%3E&hub.verify_token=meaty%20ham%2Bhock",
        ] {
            assert_eq!(ask(bad), None, "{bad}");
        }
        assert_eq!(challenge(None, &"x".into()), None);
    }
}
