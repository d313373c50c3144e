//! Pages that tell of no payment: a link that leads nowhere, a form that is not listened to, too many requests, and
//! trouble of ours. They have not looked at the payment, so they claim nothing of it.

use http::StatusCode;

use super::answer::PageState;
use super::page::Page;
use crate::http::pages::body::FormProblem;

/// Of a form that was not taken. Another one may have changed it since.
const NOT_CHANGED: &str = "This did not change your payment.";
const DID_NOT_WORK: &str = "That did not work";

/// The one page for every link that leads nowhere.
pub fn not_found() -> PageState {
    let mut page = Page::bare("We could not find this payment");
    page.paragraphs = vec![
        "The link may be incomplete, or the payment ended a long time ago.".to_owned(),
        "Open the link again from your message. If it still does not work, ask the shop for a new one."
            .to_owned(),
    ];
    PageState::new(StatusCode::NOT_FOUND, page)
}

/// A look at the link, with this query, tells what a form came to. For browsers that do not go there by themselves.
pub fn see(query: &str) -> PageState {
    let page = Page::lead("Open the payment", Vec::new());
    PageState { leads_to: query.to_owned(), ..PageState::new(StatusCode::SEE_OTHER, page) }
}

/// Too many requests from one address.
pub fn crowded(seconds: i64, is_form: bool) -> PageState {
    let why = "Too many requests came from your network.";
    let wait = wait(seconds);
    throttled(
        seconds,
        match is_form {
            true => format!("{why} {NOT_CHANGED} {wait}."),
            false => format!("{why} {wait} to see your payment."),
        },
    )
}

/// Too many forms on one link.
pub fn tapped(seconds: i64) -> PageState {
    let why = "There were too many tries on this link in a short time.";
    throttled(seconds, format!("{why} {NOT_CHANGED} {}.", wait(seconds)))
}

fn wait(seconds: i64) -> String {
    let wait = if seconds == 1 { "1 second".to_owned() } else { format!("{seconds} seconds") };
    format!("Wait {wait}, then tap the button")
}

fn throttled(seconds: i64, text: String) -> PageState {
    let page = Page::lead("Please wait a moment", vec![text]);
    PageState { retry_after: Some(seconds), ..PageState::new(StatusCode::TOO_MANY_REQUESTS, page) }
}

/// A form that did not come from our page.
pub fn foreign() -> PageState {
    let text = format!("We could not accept that form. {NOT_CHANGED}");
    PageState::new(StatusCode::FORBIDDEN, Page::lead(DID_NOT_WORK, vec![text]))
}

pub fn unusable(problem: FormProblem) -> PageState {
    const INCOMPLETE: &str = "We did not receive your form completely.";
    let (status, why) = match problem {
        FormProblem::TooLarge => {
            (StatusCode::PAYLOAD_TOO_LARGE, "Your browser sent more than this page accepts.")
        }
        FormProblem::Slow => (StatusCode::REQUEST_TIMEOUT, INCOMPLETE),
        FormProblem::NotAForm => {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "We could not read the form that your browser sent.")
        }
        FormProblem::Broken => (StatusCode::BAD_REQUEST, INCOMPLETE),
    };
    PageState::new(status, Page::lead(DID_NOT_WORK, vec![format!("{why} {NOT_CHANGED}")]))
}

/// The database is away, for so many seconds perhaps, or something is broken. What a form came to is then not known; a
/// look came to nothing.
pub fn trouble(retry_after: Option<i64>, is_form: bool) -> PageState {
    let status = match retry_after {
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
        None => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let (heading, text) = match is_form {
        true => (
            "Something went wrong on our side",
            "We are sorry. Open the payment again in a moment to see whether you have paid. You cannot be charged twice.",
        ),
        false => (
            "We cannot show this payment right now",
            "You have not paid anything by opening it. Try again in a minute.",
        ),
    };
    PageState { retry_after, ..PageState::new(status, Page::lead(heading, vec![text.to_owned()])) }
}
