//! Signing in and out, and one's own account: the pages of `ops::people`.

pub mod code;
pub mod confirm;
pub mod entry;
pub mod forgot;
pub mod me;
mod own;
mod passkey;
mod passkeys;
pub mod register;
pub mod registered;
pub mod welcome;

use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode};

use super::ask::Ask;
use super::cookie::Cookie;
use super::plain::in_words;
use crate::http::paths::{DASHBOARD, ME, OPERATOR, SIGN_IN, START};
use crate::ops::OpError;
use crate::ops::people::passwords::PasswordRefusal;
use crate::ops::people::sessions::{businesses_of, sign_out as end_session};
use crate::ops::people::tries::TooMany;

/// Where somebody begins.
pub async fn start(ask: &Ask) -> Result<Response, OpError> {
    let to = match &ask.session {
        Some(session) if session.staff.is_some() => OPERATOR,
        Some(session) if businesses_of(ask.app(), session).await?.is_empty() => ME,
        Some(_) => DASHBOARD,
        None => SIGN_IN,
    };
    Ok(ask.see(to, None))
}

const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// Ends the session. Whoever has none is where he wanted to be.
pub async fn sign_out(ask: &Ask) -> Result<Response, OpError> {
    if ask.is_form() {
        end_session(ask.app(), ask.token()).await?;
    }
    let mut response = ask.see(SIGN_IN, None);
    // Else a browser may bring back from its memory what was shown, a key too: it drops those pages when a cookie changes, and
    // where it is told so.
    Cookie::Session.clear(&mut response, &ask.app().public_url());
    response.headers_mut().insert(CLEAR_SITE_DATA, HeaderValue::from_static("\"cache\""));
    Ok(response)
}

/// That too many passwords or codes were tried.
fn too_many(many: TooMany) -> String {
    format!("Too many tries. Try again in {}.", in_words(many.seconds))
}

const BUSY: &str = "Many people are signing in at this moment. Try again in a few seconds.";

/// Why a password that was asked for again did not do.
fn refused_password(refusal: PasswordRefusal) -> (StatusCode, String) {
    match refusal {
        PasswordRefusal::Wrong => (StatusCode::UNPROCESSABLE_ENTITY, "This is not your password.".to_owned()),
        PasswordRefusal::Unfit(problem) => {
            (StatusCode::UNPROCESSABLE_ENTITY, format!("Choose another password: {problem}."))
        }
        PasswordRefusal::TooMany(many) => (StatusCode::TOO_MANY_REQUESTS, too_many(many)),
        PasswordRefusal::Crowded => (StatusCode::TOO_MANY_REQUESTS, BUSY.to_owned()),
        PasswordRefusal::SignedOut => {
            (StatusCode::CONFLICT, "You were signed out meanwhile. Sign in again.".to_owned())
        }
    }
}

/// The page of signing in is for nobody who has signed in.
fn home(ask: &Ask) -> String {
    ask.next_or(START)
}
