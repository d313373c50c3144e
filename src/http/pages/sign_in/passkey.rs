//! What the pages where somebody proves who he is share of passkeys: the form, the question to the browser, and what is said
//! of an answer that was refused.
//!
//! Our script asks for the question under the address of the form, has the authenticator answer, and sends the form with
//! the answer in it.

use axum::response::Response;
use http::StatusCode;
use serde_json::json;

use super::too_many;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Form, Look, Passkey};
use crate::http::pages::plain::{Plain, wait};
use crate::ops::people::sign_in::SignInRefused;

/// The act by which the script asks.
pub const BEGIN: &str = "passkey-begin";

/// Of a page that leads on.
pub fn form(ask: &Ask, id: &'static str, path: &str, otherwise: &str) -> Form {
    ask.new_form(id, path, "Use a passkey")
        .hidden("act", id)
        .hidden("next", ask.next_or(otherwise))
        .look(Look::Plain)
        .passkey(Passkey::Use)
}

/// The question as JSON; where there is none to be asked, the page to go to.
pub fn question(ask: &Ask, question: Option<String>, otherwise: &str) -> Response {
    ask.json(question.unwrap_or_else(|| json!({ "go": otherwise }).to_string()))
}

pub fn refused(ask: &Ask, page: Plain, refusal: SignInRefused) -> Response {
    let why = match refusal {
        SignInRefused::TooMany(many) => {
            let page = page.refused(too_many(many));
            return wait(page.answer(ask, StatusCode::TOO_MANY_REQUESTS), many.seconds);
        }
        SignInRefused::Copied => {
            "This passkey was refused: it seems that somebody has a copy of it. Take another way, then remove it from your \
             account."
        }
        SignInRefused::Wrong | SignInRefused::Over | SignInRefused::Crowded => {
            "The passkey was not accepted. It may have been removed from your account. Try again, or take another way."
        }
    };
    page.refused(why).answer(ask, StatusCode::UNPROCESSABLE_ENTITY)
}
