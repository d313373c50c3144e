//! `/register/{token}`: the link that opens a business. A new person gives the password chosen before; whoever has an
//! account signs in to it first.

use axum::response::Response;
use http::StatusCode;

use super::register::is_on;
use super::{BUSY, too_many};
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::link;
use crate::http::pages::plain::{Plain, unknown, wait};
use crate::http::paths::{DASHBOARD, REGISTER, SIGN_IN};
use crate::ops::OpError;
use crate::ops::people::register::{
    OpenRefused, Opened, Opener, RegistrationView, open_business, view_registration,
};
use crate::ops::people::sign_in::{From, SignedIn, sign_in};

const FORM: &str = "open-business";
const BEGINNING: &str = "/register/";

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    if !is_on(ask) {
        return Ok(unknown(ask));
    }
    let token = ask.behind(BEGINNING);
    let view = view_registration(ask.app(), token, ask.session.as_ref()).await?;
    let (business, email, opener) = match view {
        RegistrationView::Good { business, email, opener } => (business, email, opener),
        RegistrationView::Over => return Ok(over(ask)),
        RegistrationView::Unknown => return Ok(unknown(ask)),
    };
    if opener == Opener::Stranger {
        return Ok(sign_in_first(ask, &business, &email));
    }
    let page = |wrong: Option<String>| page(ask, (&business, &email), &opener, wrong);
    if !ask.is_form() {
        return Ok(page(None).answer(ask, StatusCode::OK));
    }
    let by = (ask.session.as_ref(), ask.field("password"));
    let refused = match open_business(ask.app(), token, by, &ask.address()).await? {
        Ok(opened) => return lead_in(ask, &opener, &opened).await,
        Err(refused) => refused,
    };
    let told = |why: &str| page(Some(why.to_owned())).answer(ask, StatusCode::UNPROCESSABLE_ENTITY);
    Ok(match refused {
        OpenRefused::Wrong => told("This is not the password that was chosen with this business."),
        OpenRefused::TooMany(many) => {
            wait(page(Some(too_many(many))).answer(ask, StatusCode::TOO_MANY_REQUESTS), many.seconds)
        }
        OpenRefused::Crowded => {
            wait(page(Some(BUSY.to_owned())).answer(ask, StatusCode::TOO_MANY_REQUESTS), 3)
        }
        OpenRefused::SignInFirst => sign_in_first(ask, &business, &email),
        OpenRefused::Enough => {
            told("You are a member of many businesses already. Ask us to add another one.")
        }
        OpenRefused::Full => told("Many businesses wait to be looked at. Try again tomorrow, or ask us."),
        OpenRefused::Over => over(ask),
        OpenRefused::Unknown => unknown(ask),
    })
}

/// On to the business, signed in. The password was just right; if it cannot be tried again now, the sign-in page asks.
async fn lead_in(ask: &Ask, opener: &Opener, opened: &Opened) -> Result<Response, OpError> {
    let home = link(DASHBOARD, &[("business", &opened.business_id.to_string())]);
    let done = match opened.is_live {
        true => format!("{} is open.", opened.business),
        false => {
            format!("{} is open, in test mode. We look at it before it takes real money.", opened.business)
        }
    };
    let done = Some(Flash::done(done));
    if *opener == Opener::Owner {
        return Ok(ask.see(&home, done));
    }
    let address = ask.address();
    let from = From { address: &address, agent: ask.agent() };
    Ok(match sign_in(ask.app(), &opened.email, ask.field("password"), from).await? {
        Ok(SignedIn::Whole(token)) => ask.see_as(&home, done, Some(&token.0)),
        _ => ask.see(&link(SIGN_IN, &[("next", &home)]), done),
    })
}

fn page(ask: &Ask, (business, email): (&str, &str), opener: &Opener, wrong: Option<String>) -> Plain {
    let form = ask.new_form(FORM, ask.parts.uri.path(), "Open the business");
    let page = Plain::new(ask, &format!("Open {business}"));
    let page = match opener {
        Opener::New => {
            let password = Field::new(FORM, "password", "Password", Kind::Password)
                .hint("The one that you chose with the business.")
                .error(wrong.as_ref())
                .focused();
            page.text(format!("You will sign in as {email}.")).form(form.field(password))
        }
        _ => page.text(format!("It is added to your account, {email}.")).form(form),
    };
    match (wrong, opener) {
        (Some(_), Opener::New) => page.refused("The business was not opened. See below why."),
        (Some(why), _) => page.refused(why),
        (None, _) => page,
    }
}

fn sign_in_first(ask: &Ask, business: &str, email: &str) -> Response {
    let page = Plain::new(ask, "You have an account already")
        .text(format!("{email} has an account. Sign in to it, and {business} is added to it."));
    let page = match &ask.session {
        Some(session) => page.text(format!("You are signed in as {}. Sign out first.", session.email)),
        None => page,
    };
    let next = ask.parts.uri.path();
    page.link(link(SIGN_IN, &[("next", next)]), "Sign in").answer(ask, StatusCode::OK)
}

fn over(ask: &Ask) -> Response {
    Plain::new(ask, "This link is used up or has expired")
        .text("If the business is open, sign in. If not, register it again.")
        .link(SIGN_IN, "Sign in")
        .link(REGISTER, "Register again")
        .answer(ask, StatusCode::GONE)
}
