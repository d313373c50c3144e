//! `/confirm-password`: the password or a passkey, asked for again before keys, payouts, the team and the like.

use axum::response::Response;
use http::StatusCode;

use super::{home, passkey, refused_password};
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::link;
use crate::http::pages::plain::{Plain, unknown};
use crate::http::paths::CONFIRM_PASSWORD;
use crate::ops::OpError;
use crate::ops::people::passkey_sign_in::{begin_confirm, confirm_by_passkey};
use crate::ops::people::passkeys::are_possible;
use crate::ops::people::passwords::confirm_password;

const FORM: &str = "confirm-password";
const PASSKEY: &str = "confirm-passkey";
/// What was pressed before was kept nowhere: a password in between must not do what is not seen any more.
const GO_ON: &str =
    "We know that it is you. Nothing was done yet: if you had pressed a button, press it again.";

/// Where a page sends somebody whose password was not asked for lately; it leads back.
pub fn address(path: &str) -> String {
    link(CONFIRM_PASSWORD, &[("next", path)])
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(session) = &ask.session else { return Ok(unknown(ask)) };
    if !ask.is_form() {
        return Ok(page(ask, None).answer(ask, StatusCode::OK));
    }
    match ask.field("act") {
        passkey::BEGIN => {
            let asked = begin_confirm(ask.app(), session).await?;
            return Ok(passkey::question(ask, asked, CONFIRM_PASSWORD));
        }
        PASSKEY => {
            let (answer, address) = (ask.field("credential"), ask.address());
            let came = confirm_by_passkey(ask.app(), session, ask.token(), answer, &address).await?;
            return Ok(match came {
                Ok(token) => ask.see_as(&home(ask), Some(Flash::done(GO_ON)), Some(&token.0)),
                Err(refusal) => passkey::refused(ask, page(ask, None), refusal),
            });
        }
        _ => {}
    }
    Ok(match confirm_password(ask.app(), session, ask.field("password"), &ask.address()).await? {
        Ok(token) => ask.see_as(&home(ask), Some(Flash::done(GO_ON)), Some(&token.0)),
        Err(refusal) => {
            let (status, why) = refused_password(refusal);
            page(ask, Some(why)).answer(ask, status)
        }
    })
}

fn page(ask: &Ask, wrong: Option<String>) -> Plain {
    let password = Field::new(FORM, "password", "Password", Kind::Password).error(wrong.as_ref()).focused();
    let form = ask
        .new_form(FORM, CONFIRM_PASSWORD, "Go on")
        .hidden("next", ask.next_or("/"))
        .field(password)
        .cancel(ask.next_or("/"));
    let page = Plain::new(ask, "Your password again")
        .text("What comes next matters, so we make sure that it is you. This counts for ten minutes.")
        .form(form);
    let has_passkey = ask.session.as_ref().is_some_and(|session| session.has_passkey);
    let page = if has_passkey && are_possible(ask.app()) {
        page.form(passkey::form(ask, PASSKEY, CONFIRM_PASSWORD, "/"))
    } else {
        page
    };
    match wrong {
        Some(_) => page.refused("The password was not accepted. See below why."),
        None => page,
    }
}
