//! `/forgot`: a link to a new password by mail; where no mails are sent, whom to ask for one. The answer is the same whoever
//! has the address.

use axum::response::Response;
use http::StatusCode;

use super::too_many;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::plain::{Plain, wait};
use crate::http::paths::{FORGOT, SIGN_IN};
use crate::ops::OpError;
use crate::ops::notices::mails::are_sent;
use crate::ops::people::links::forgot;

const FORM: &str = "forgot";
const SENT: &str =
    "If somebody signs in with this address, a mail with a link is on its way. It works for an hour.";

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let is_sent = are_sent(ask.app());
    if !ask.is_form() || !is_sent {
        return Ok(page(ask, is_sent).answer(ask, StatusCode::OK));
    }
    Ok(match forgot(ask.app(), ask.field("email"), &ask.address()).await? {
        Ok(()) => ask.see(FORGOT, Some(Flash::done(SENT))),
        Err(many) => {
            let page = page(ask, is_sent).refused(too_many(many));
            wait(page.answer(ask, StatusCode::TOO_MANY_REQUESTS), many.seconds)
        }
    })
}

fn page(ask: &Ask, is_sent: bool) -> Plain {
    let whom = ask.http.brand.contact.clone();
    let page = Plain::new(ask, "You cannot sign in?");
    let page = if is_sent {
        let email =
            Field::new(FORM, "email", "E-mail address", Kind::Email).value(ask.field("email")).focused();
        page.text("A link to a new password comes by mail.")
            .form(ask.new_form(FORM, FORGOT, "Send me a link").field(email))
    } else {
        page.text(format!(
            "Ask {whom}, or an owner of your business, for a new link. With it you choose a new password."
        ))
    };
    page.text("If you still have your password but lost your phone, enter one of your recovery codes instead of the code.")
        .link(SIGN_IN, "Back to the sign-in")
}
