//! A page with a heading, some sentences and at most a few forms: signing in, a link that is over, and what is refused.

use askama::Template;
use axum::response::Response;
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};

use super::ask::Ask;
use super::field::Form;
use super::layout::Frame;
use super::parts::{Link, Notice};
use super::text::{Text, sentence};
use super::turns::TooManyWait;
use crate::http::response::error::ApiError;
use crate::log_limit::warn_of;
use crate::ops::{OpError, StoreError};

/// After so long it makes sense to ask for a page again, where too many were asked for.
const BUSY_SECONDS: i64 = 5;

#[derive(Template)]
#[template(path = "kit/plain.html")]
pub struct Plain {
    pub frame: Frame,
    pub heading: Text,
    pub texts: Vec<Text>,
    /// One below the other; each but the first is another way to the same.
    pub forms: Vec<Form>,
    pub links: Vec<Link>,
}

impl Plain {
    pub fn new(ask: &Ask, heading: &str) -> Plain {
        Plain {
            frame: ask.frame(heading),
            heading: heading.into(),
            texts: Vec::new(),
            forms: Vec::new(),
            links: Vec::new(),
        }
    }

    /// The same with the ways of whoever is signed in, for what stands in the place of one of their pages.
    fn within(ask: &Ask, heading: &str) -> Plain {
        Plain { frame: ask.frame_within(heading), ..Plain::new(ask, heading) }
    }

    pub fn text(mut self, text: impl Into<Text>) -> Plain {
        self.texts.push(text.into());
        self
    }

    pub fn form(mut self, form: Form) -> Plain {
        self.forms.push(form);
        self
    }

    pub fn link(mut self, href: impl Into<String>, text: impl Into<Text>) -> Plain {
        self.links.push(Link::new(href, text));
        self
    }

    /// Why a form was refused.
    pub fn refused(mut self, text: impl Into<Text>) -> Plain {
        self.frame = self.frame.notice(Notice::refused(text));
        self
    }

    pub fn answer(self, ask: &Ask, status: StatusCode) -> Response {
        ask.html(status, &self)
    }
}

/// There is nothing here, or nothing that is this user's: which of them is not told.
pub fn unknown(ask: &Ask) -> Response {
    let page =
        Plain::within(ask, "Nothing is here").text("This page does not exist, or it is not yours to see.");
    let page = match ask.session {
        Some(_) => page,
        None => page.text("If a shop or a message sent you here to pay, ask there for the link again."),
    };
    page.link("/", "Go to the start").answer(ask, StatusCode::NOT_FOUND)
}

/// The role of whoever asks does not reach so far.
pub fn not_allowed(ask: &Ask, roles: &[&str]) -> Response {
    let who = match roles {
        [one] => format!("Only the role {one} may do this."),
        [most @ .., last] => format!("Only the roles {} and {last} may do this.", most.join(", ")),
        [] => "Nobody may do this.".to_owned(),
    };
    Plain::within(ask, "Your role does not allow this")
        .text(who)
        .text("Ask an administrator or an owner for it.")
        .link("/", "Go to the start")
        .answer(ask, StatusCode::FORBIDDEN)
}

/// A form that no page under this cookie sent.
pub fn foreign(ask: &Ask) -> Response {
    Plain::within(ask, "This form was not accepted")
        .text("It came from another site, or from a page that was opened before you signed in. Nothing was changed.")
        .text("Open the page again, and send the form from there.")
        .link(ask.parts.uri.path(), "Open the page again")
        .answer(ask, StatusCode::FORBIDDEN)
}

/// A form that counts once, and has.
pub fn sent_before(ask: &Ask) -> Response {
    Plain::within(ask, "This form was sent before")
        .refused("It counted then, and nothing was done again.")
        .text("Open the page again to see what it came to, or to send another one.")
        .link(ask.parts.uri.path(), "Open the page again")
        .answer(ask, StatusCode::UNPROCESSABLE_ENTITY)
}

/// A form that counts once, of which another one is still at work, or was cut short.
pub fn not_known_yet(ask: &Ask) -> Response {
    Plain::within(ask, "This form was sent before")
        .refused("It is not known yet what it came to. Nothing was done again.")
        .text("Look in a minute whether it was done, before you send another one.")
        .link(ask.parts.uri.path(), "Open the page again")
        .answer(ask, StatusCode::UNPROCESSABLE_ENTITY)
}

/// A body that is no form of ours.
pub fn unusable(ask: &Ask, status: StatusCode) -> Response {
    Plain::within(ask, "This form could not be read")
        .text("It arrived incomplete or too large. Nothing was changed.")
        .link(ask.parts.uri.path(), "Open the page again")
        .answer(ask, status)
}

pub fn crowded(ask: &Ask, seconds: i64) -> Response {
    let page = Plain::within(ask, "Too many requests").text(format!("Try again in {}.", in_words(seconds)));
    wait(page.answer(ask, StatusCode::TOO_MANY_REQUESTS), seconds)
}

/// More pages are asked for than this node shows.
pub fn busy(ask: &Ask, why: TooManyWait) -> Response {
    let page = Plain::within(ask, "Too much is going on")
        .text(sentence(&why.to_string()))
        .text(format!("Try again in {}.", in_words(BUSY_SECONDS)))
        .link(ask.parts.uri.path(), "Try again");
    wait(page.answer(ask, StatusCode::SERVICE_UNAVAILABLE), BUSY_SECONDS)
}

/// Says when it makes sense to come again.
pub fn wait(mut response: Response, seconds: i64) -> Response {
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    response
}

/// `40 seconds`, `1 minute`, `15 minutes`.
pub fn in_words(seconds: i64) -> String {
    match (seconds, (seconds + 59) / 60) {
        (1, _) => "1 second".to_owned(),
        (..60, _) => format!("{seconds} seconds"),
        (_, 1) => "1 minute".to_owned(),
        (_, minutes) => format!("{minutes} minutes"),
    }
}

/// Something does not work on our side. Logged; nothing of it is shown.
pub fn trouble(ask: &Ask, error: OpError) -> Response {
    if let OpError::Store(error @ StoreError::Unavailable(_)) = &error {
        warn_of!(ask.http.app, error, "a page could not be shown");
    }
    // Any other error is logged there, as for the API.
    let after = ApiError::from(error).retry_after();
    let status =
        if after.is_some() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::INTERNAL_SERVER_ERROR };
    let page = Plain::within(ask, "Something does not work on our side")
        .text("If you sent a form, look first whether it was done before you send it again.")
        .link(ask.parts.uri.path(), "Try again");
    let response = page.answer(ask, status);
    match after {
        Some(seconds) => wait(response, i64::from(seconds)),
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn a_wait_is_told_in_words() {
        for (seconds, words) in
            [(1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (61, "2 minutes"), (900, "15 minutes")]
        {
            assert_eq!(in_words(seconds), words);
        }
    }
}
