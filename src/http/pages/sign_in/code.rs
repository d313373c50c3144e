//! `/sign-in/code`: the code of an authenticator app, a recovery code, or a passkey, after the password.

use axum::response::Response;
use http::StatusCode;

use super::{home, passkey, too_many};
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::plain::{Plain, wait};
use crate::http::paths::{SIGN_IN, SIGN_IN_CODE};
use crate::ops::OpError;
use crate::ops::people::passkey_sign_in::{begin_code, enter_passkey, has_passkey};
use crate::ops::people::sessions::is_code_awaited;
use crate::ops::people::sign_in::{From, SignInRefused, enter_code};

const FORM: &str = "sign-in-code";
const PASSKEY: &str = "code-passkey";

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    if ask.session.is_some() {
        return Ok(ask.see(&home(ask), None));
    }
    if !ask.is_form() {
        return Ok(match is_code_awaited(ask.app(), ask.token()).await? {
            true => page(ask, None).await?.answer(ask, StatusCode::OK),
            false => ask.see(SIGN_IN, None),
        });
    }
    match ask.field("act") {
        passkey::BEGIN => {
            return Ok(passkey::question(ask, begin_code(ask.app(), ask.token()).await?, SIGN_IN));
        }
        PASSKEY => return by_passkey(ask).await,
        _ => {}
    }
    let address = ask.address();
    let from = From { address: &address, agent: ask.agent() };
    Ok(match enter_code(ask.app(), ask.token(), ask.field("code"), from).await? {
        Ok(token) => ask.see_as(&home(ask), None, Some(&token.0)),
        Err(SignInRefused::Wrong | SignInRefused::Copied) => {
            let why = "This code is not right, or it was used before. Wait for the next one.";
            page(ask, Some(why.to_owned())).await?.answer(ask, StatusCode::UNPROCESSABLE_ENTITY)
        }
        Err(SignInRefused::TooMany(many)) => {
            let page = page(ask, Some(too_many(many))).await?;
            wait(page.answer(ask, StatusCode::TOO_MANY_REQUESTS), many.seconds)
        }
        Err(SignInRefused::Over | SignInRefused::Crowded) => begin_again(ask),
    })
}

fn begin_again(ask: &Ask) -> Response {
    ask.see(SIGN_IN, Some(Flash::done("That took too long. Enter your password again.")))
}

async fn by_passkey(ask: &Ask) -> Result<Response, OpError> {
    let address = ask.address();
    let from = From { address: &address, agent: ask.agent() };
    Ok(match enter_passkey(ask.app(), ask.token(), ask.field("credential"), from).await? {
        Ok(token) => ask.see_as(&home(ask), None, Some(&token.0)),
        Err(SignInRefused::Over) => begin_again(ask),
        Err(refusal) => passkey::refused(ask, page(ask, None).await?, refusal),
    })
}

async fn page(ask: &Ask, wrong: Option<String>) -> Result<Plain, OpError> {
    let code = Field::new(FORM, "code", "Code", Kind::Code)
        .hint("The six digits that your authenticator app shows, or one of your recovery codes.")
        .error(wrong.as_ref())
        .focused();
    let form = ask.new_form(FORM, SIGN_IN_CODE, "Sign in").hidden("next", ask.next_or("")).field(code);
    let mut page = Plain::new(ask, "Enter your code").form(form);
    if has_passkey(ask.app(), ask.token()).await? {
        page = page.form(passkey::form(ask, PASSKEY, SIGN_IN_CODE, ""));
    }
    let page = page.link(SIGN_IN, "Begin again");
    Ok(match wrong {
        Some(_) => page.refused("You are not signed in yet. See below why."),
        None => page,
    })
}
