//! `/register`: somebody opens a business himself, where the operator lets people do so. The answer is the same whoever has
//! the address; in dev mode without mails it shows the link.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::{BUSY, too_many};
use crate::config::Registration;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Form, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Link, Notice, Secret};
use crate::http::pages::plain::{unknown, wait};
use crate::http::paths::{REGISTER, SIGN_IN};
use crate::ops::OpError;
use crate::ops::people::register::{RegisterRefused, Wanted, register};

const FORM: &str = "register";
const SENT: &str = "A mail with a link is on its way. The link opens your business; it works for 24 hours.";
const SHOWN: &str =
    "No mails are sent here, so the link that opens your business is below, once. It works for 24 hours.";
const LINK: &str = "link";
const BUSY_SECONDS: i64 = 3;

#[derive(Template)]
#[template(path = "sign_in/register.html")]
struct Register {
    frame: Frame,
    /// How a business begins to take real money.
    after: &'static str,
    link: Option<Secret>,
    form: Form,
    sign_in: Link,
}

/// What is wrong, at which field.
type Wrong = (&'static str, String);

/// Whether there is such a page.
pub(super) fn is_on(ask: &Ask) -> bool {
    ask.app().config.users.registration != Registration::Off
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    if !is_on(ask) {
        return Ok(unknown(ask));
    }
    if !ask.is_form() {
        return Ok(page(ask, None, StatusCode::OK));
    }
    let refused =
        |field, why: &str| Ok(page(ask, Some((field, why.to_owned())), StatusCode::UNPROCESSABLE_ENTITY));
    if ask.field("password") != ask.field("password_again") {
        return refused("password_again", "The two passwords are not the same.");
    }
    let wanted = Wanted {
        business: ask.field("business"),
        email: ask.field("email"),
        password: ask.field("password"),
    };
    match register(ask.app(), wanted, &ask.address()).await? {
        Ok(None) => Ok(ask.see(REGISTER, Some(Flash::done(SENT)))),
        Ok(Some(link)) => Ok(ask.see(REGISTER, Some(Flash::done(SHOWN).once(LINK, link.as_str())))),
        Err(RegisterRefused::Business) => {
            refused("business", "Write 1 to 255 characters on one line, none of them invisible.")
        }
        Err(RegisterRefused::Email) => refused("email", "This is not an e-mail address."),
        Err(RegisterRefused::Password(problem)) => {
            refused("password", &format!("Choose another password: {problem}."))
        }
        Err(RegisterRefused::TooMany(many)) => {
            let page = page(ask, Some(("email", too_many(many))), StatusCode::TOO_MANY_REQUESTS);
            Ok(wait(page, many.seconds))
        }
        Err(RegisterRefused::Crowded) => {
            let page = page(ask, Some(("password", BUSY.to_owned())), StatusCode::TOO_MANY_REQUESTS);
            Ok(wait(page, BUSY_SECONDS))
        }
    }
}

fn page(ask: &Ask, wrong: Option<Wrong>, status: StatusCode) -> Response {
    let field = |name: &'static str, label: &str, kind: Kind| {
        let why = wrong.as_ref().filter(|(at, _)| *at == name).map(|(_, why)| why.as_str());
        Field::new(FORM, name, label, kind).value(ask.field(name)).error(why)
    };
    let form = ask
        .new_form(FORM, REGISTER, "Open the business")
        .field(field("business", "Name of the business", Kind::Text).hint("As your customers know it."))
        .field(field("email", "E-mail address", Kind::Email).hint("You sign in with it."))
        .field(field("password", "Password", Kind::NewPassword).hint(
            "At least 12 characters. A few words that do not belong together are good and easy to remember.",
        ))
        .field(field("password_again", "Password again", Kind::NewPassword));
    let after = match ask.app().config.users.registration {
        Registration::Live => "Your business takes real money at once.",
        _ => {
            "You try everything out in test mode at once. Real money comes when we have looked at your business."
        }
    };
    let mut frame = ask.frame("Open a business");
    if wrong.is_some() {
        frame = frame.notice(Notice::refused("The business was not opened. See below why."));
    }
    let once = ask.flash.iter().flat_map(|flash| &flash.once).find(|(name, _)| name == LINK);
    let page = Register {
        frame,
        after,
        link: once.map(|(_, link)| Secret::once("register-link", "Link to your business", link)),
        form,
        sign_in: Link::new(SIGN_IN, "You have an account? Sign in"),
    };
    ask.html(status, &page)
}
