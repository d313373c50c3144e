//! `/sign-in`: e-mail address and password, or a passkey alone.

use axum::response::Response;
use http::StatusCode;

use super::{BUSY, home, passkey, register, too_many};
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Kind};
use crate::http::pages::layout::link;
use crate::http::pages::plain::{Plain, wait};
use crate::http::paths::{FORGOT, REGISTER, SIGN_IN, SIGN_IN_CODE};
use crate::ops::OpError;
use crate::ops::people::passkey_sign_in::{begin_sign_in, sign_in_by_passkey};
use crate::ops::people::passkeys::are_possible;
use crate::ops::people::sign_in::{From, SignInRefused, SignedIn, sign_in};

const FORM: &str = "sign-in";
const PASSKEY: &str = "sign-in-passkey";
/// After so long it makes sense to try again where others are signing in.
const BUSY_SECONDS: i64 = 3;

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    if !ask.is_form() {
        return Ok(page(ask, None).answer(ask, StatusCode::OK));
    }
    match ask.field("act") {
        passkey::BEGIN => {
            return Ok(passkey::question(ask, begin_sign_in(ask.app(), ask.token()).await?, SIGN_IN));
        }
        PASSKEY => return by_passkey(ask).await,
        _ => {}
    }
    let (email, password, address) = (ask.field("email"), ask.field("password"), ask.address());
    let from = From { address: &address, agent: ask.agent() };
    let next = home(ask);
    Ok(match sign_in(ask.app(), email, password, from).await? {
        Ok(SignedIn::Whole(token)) => ask.see_as(&next, None, Some(&token.0)),
        Ok(SignedIn::CodeNeeded(token)) => {
            ask.see_as(&link(SIGN_IN_CODE, &[("next", &next)]), None, Some(&token.0))
        }
        Err(SignInRefused::Wrong | SignInRefused::Over | SignInRefused::Copied) => {
            let why = "The e-mail address or the password is wrong.";
            page(ask, Some(why.to_owned())).answer(ask, StatusCode::UNPROCESSABLE_ENTITY)
        }
        Err(SignInRefused::TooMany(many)) => {
            let page = page(ask, Some(too_many(many)));
            wait(page.answer(ask, StatusCode::TOO_MANY_REQUESTS), many.seconds)
        }
        Err(SignInRefused::Crowded) => {
            let page = page(ask, Some(BUSY.to_owned()));
            wait(page.answer(ask, StatusCode::TOO_MANY_REQUESTS), BUSY_SECONDS)
        }
    })
}

async fn by_passkey(ask: &Ask) -> Result<Response, OpError> {
    let address = ask.address();
    let from = From { address: &address, agent: ask.agent() };
    let came = sign_in_by_passkey(ask.app(), ask.token(), ask.field("credential"), from).await?;
    Ok(match came {
        Ok(token) => ask.see_as(&home(ask), None, Some(&token.0)),
        Err(refusal) => passkey::refused(ask, page(ask, None), refusal),
    })
}

fn page(ask: &Ask, wrong: Option<String>) -> Plain {
    let email = Field::new(FORM, "email", "E-mail address", Kind::Email).value(ask.field("email"));
    let password = Field::new(FORM, "password", "Password", Kind::Password).error(wrong.as_ref());
    let email = if ask.field("email").is_empty() { email.focused() } else { email };
    let form =
        ask.new_form(FORM, SIGN_IN, "Sign in").hidden("next", ask.next_or("")).field(email).field(password);
    let page = Plain::new(ask, "Sign in").form(form);
    let page =
        if are_possible(ask.app()) { page.form(passkey::form(ask, PASSKEY, SIGN_IN, "")) } else { page };
    let page = page.link(FORGOT, "You cannot sign in?");
    let page = if register::is_on(ask) { page.link(REGISTER, "Open a business") } else { page };
    match wrong {
        Some(_) => page.refused("You are not signed in. See below why."),
        None => page,
    }
}
