//! `/welcome/{token}`: the link on which somebody chooses a password.

use axum::response::Response;
use http::StatusCode;

use super::BUSY;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::plain::{self, Plain};
use crate::http::paths::SIGN_IN;
use crate::ops::OpError;
use crate::ops::people::links::{LinkRefused, LinkView, set_password, view_password_link};

const FORM: &str = "set-password";
const BEGINNING: &str = "/welcome/";

/// What is wrong, at which field.
enum Wrong {
    Password(String),
    Again(String),
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let token = ask.behind(BEGINNING);
    let (email, is_first) = match view_password_link(ask.app(), token).await? {
        LinkView::Good { email, is_first } => (email, is_first),
        LinkView::Over => return Ok(over(ask)),
        LinkView::Unknown => return Ok(plain::unknown(ask)),
    };
    let page = |wrong| page(ask, &email, is_first, wrong);
    if !ask.is_form() {
        return Ok(page(None).answer(ask, StatusCode::OK));
    }
    let (password, again) = (ask.field("password"), ask.field("password_again"));
    let wrong = |wrong| page(Some(wrong)).answer(ask, StatusCode::UNPROCESSABLE_ENTITY);
    if password != again {
        return Ok(wrong(Wrong::Again("The two passwords are not the same.".to_owned())));
    }
    Ok(match set_password(ask.app(), token, password).await? {
        Ok(()) => ask.see(SIGN_IN, Some(Flash::done("Your password is set. Sign in with it now."))),
        Err(LinkRefused::Unfit(problem)) => {
            wrong(Wrong::Password(format!("Choose another password: {problem}.")))
        }
        Err(LinkRefused::Over) => over(ask),
        Err(LinkRefused::Unknown) => plain::unknown(ask),
        Err(LinkRefused::Crowded) => {
            page(Some(Wrong::Password(BUSY.to_owned()))).answer(ask, StatusCode::TOO_MANY_REQUESTS)
        }
    })
}

fn page(ask: &Ask, email: &str, is_first: bool, wrong: Option<Wrong>) -> Plain {
    let (password_wrong, again_wrong) = match &wrong {
        Some(Wrong::Password(why)) => (Some(why), None),
        Some(Wrong::Again(why)) => (None, Some(why)),
        None => (None, None),
    };
    let password = Field::new(FORM, "password", "New password", Kind::NewPassword)
        .hint(
            "At least 12 characters. A few words that do not belong together are good and easy to remember.",
        )
        .error(password_wrong);
    let again =
        Field::new(FORM, "password_again", "New password again", Kind::NewPassword).error(again_wrong);
    let form = ask.new_form(FORM, ask.parts.uri.path(), "Set the password").field(password).field(again);
    let heading = if is_first { "Welcome" } else { "A new password" };
    let page = Plain::new(ask, heading).text(format!("You sign in as {email}.")).form(form);
    match password_wrong.or(again_wrong) {
        Some(_) => page.refused("The password was not set. See below why."),
        None => page,
    }
}

fn over(ask: &Ask) -> Response {
    Plain::new(ask, "This link is used up or has expired")
        .text("If you have set your password, sign in with it. If not, ask whoever gave you the link for a new one.")
        .link(SIGN_IN, "Sign in")
        .answer(ask, StatusCode::GONE)
}
