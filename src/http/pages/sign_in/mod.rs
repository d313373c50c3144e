//! Signing in and out, and one's own account: the pages of `ops::people`.

pub mod code;
pub mod confirm;
pub mod entry;
pub mod me;
mod qr;
pub mod welcome;

use axum::response::Response;
use http::StatusCode;

use super::ask::Ask;
use super::plain::{Plain, in_words};
use crate::http::paths::{ME, OPERATOR, SIGN_IN, START};
use crate::ops::OpError;
use crate::ops::people::passwords::PasswordRefusal;
use crate::ops::people::sessions::sign_out as end_session;
use crate::ops::people::tries::TooMany;

/// Where somebody begins.
pub fn start(ask: &Ask) -> Response {
    let to = match &ask.session {
        Some(session) if session.staff.is_some() => OPERATOR,
        Some(_) => ME,
        None => SIGN_IN,
    };
    ask.see(to, None)
}

/// Ends the session. Whoever has none is where he wanted to be.
pub async fn sign_out(ask: &Ask) -> Result<Response, OpError> {
    if ask.is_form() {
        end_session(ask.app(), ask.token()).await?;
    }
    Ok(ask.see(SIGN_IN, None))
}

/// Who helps somebody who cannot sign in.
pub fn forgot(ask: &Ask) -> Response {
    let whom = ask.http.brand.contact.clone();
    Plain::new(ask, "You cannot sign in?")
        .text(format!("Ask {whom}, or an owner of your business, for a new link. With it you choose a new password."))
        .text("If you still have your password but lost your phone, enter one of your recovery codes instead of the code.")
        .link(SIGN_IN, "Back to the sign-in")
        .answer(ask, StatusCode::OK)
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
