//! `/sign-in/code`: the code of an authenticator app, or a recovery code, after the password.

use axum::response::Response;
use http::StatusCode;

use super::{home, too_many};
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::plain::{Plain, wait};
use crate::http::paths::{SIGN_IN, SIGN_IN_CODE};
use crate::ops::OpError;
use crate::ops::people::sessions::is_code_awaited;
use crate::ops::people::sign_in::{From, SignInRefused, enter_code};

const FORM: &str = "sign-in-code";

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    if ask.session.is_some() {
        return Ok(ask.see(&home(ask), None));
    }
    if !ask.is_form() {
        return Ok(match is_code_awaited(ask.app(), ask.token()).await? {
            true => page(ask, None).answer(ask, StatusCode::OK),
            false => ask.see(SIGN_IN, None),
        });
    }
    let address = ask.address();
    let from = From { address: &address, agent: ask.agent() };
    Ok(match enter_code(ask.app(), ask.token(), ask.field("code"), from).await? {
        Ok(token) => ask.see_as(&home(ask), None, Some(&token.0)),
        Err(SignInRefused::Wrong) => {
            let why = "This code is not right, or it was used before. Wait for the next one.";
            page(ask, Some(why.to_owned())).answer(ask, StatusCode::UNPROCESSABLE_ENTITY)
        }
        Err(SignInRefused::TooMany(many)) => {
            let page = page(ask, Some(too_many(many)));
            wait(page.answer(ask, StatusCode::TOO_MANY_REQUESTS), many.seconds)
        }
        Err(SignInRefused::Over | SignInRefused::Crowded) => {
            let why = Flash::done("That took too long. Enter your password again.");
            ask.see(SIGN_IN, Some(why))
        }
    })
}

fn page(ask: &Ask, wrong: Option<String>) -> Plain {
    let code = Field::new(FORM, "code", "Code", Kind::Code)
        .hint("The six digits that your authenticator app shows, or one of your recovery codes.")
        .error(wrong.as_ref())
        .focused();
    let form = ask.new_form(FORM, SIGN_IN_CODE, "Sign in").hidden("next", ask.next_or("")).field(code);
    let page = Plain::new(ask, "Enter your code").form(form).link(SIGN_IN, "Begin again");
    match wrong {
        Some(_) => page.refused("You are not signed in yet. See below why."),
        None => page,
    }
}
