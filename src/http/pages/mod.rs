//! Pages for people: HTML that works without scripts, and what all pages have in common.
//!
//! A page holds no script, loads nothing but its icon and the operator's logo (`brand`), and is kept nowhere:
//! one stylesheet inside it, named in the policy by its hash. `pay` is the page behind a confirm link. What a
//! page says is `words`', how it looks is in `templates/` and `assets/`; nothing here knows how money moves,
//! that is `ops`'.

mod after_form;
mod astray;
pub mod brand;
mod codes;
mod figures;
mod form;
mod look;
mod origin;
mod outcome;
mod page;
pub mod pay;
mod told;
mod words;

use askama::Template;
use axum::body::Body;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    RETRY_AFTER, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, StatusCode};

use super::Http;
use page::Page;

/// A page with the status it is answered with.
struct PageState {
    status: StatusCode,
    page: Page,
    /// Seconds after which it makes sense to come again.
    retry_after: Option<i64>,
    /// With what query a form leads to its link.
    leads_to: String,
}

impl PageState {
    fn new(status: StatusCode, page: Page) -> PageState {
        PageState { status, page, retry_after: None, leads_to: String::new() }
    }
}

const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");
const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

fn respond(http: &Http, mut shown: PageState) -> Response {
    shown.page.operator = http.brand.name.clone();
    shown.page.support = http.brand.support.clone();
    let public_url = http.app.public_url();
    shown.page.logo = http.brand.logo_address(&public_url);
    shown.page.icon = http.brand.icon_address(&public_url);
    let (status, html) = match shown.page.render() {
        Ok(html) => (shown.status, html),
        Err(error) => {
            tracing::error!(%error, "a page could not be written");
            (StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong on our side".to_owned())
        }
    };
    let mut response = Response::new(Body::from(html));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        // Pages tell of money, and a copy of one would be out of date.
        (CACHE_CONTROL, "no-store"),
        // The address is a secret; nobody is told where a reader came from.
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // The policy says it too; this is for browsers that do not read it.
        (X_FRAME_OPTIONS, "DENY"),
        (ROBOTS, "noindex, nofollow"),
        (OPENER, "same-origin"),
        (RESOURCE, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(CONTENT_SECURITY_POLICY, http.brand.policy.clone());
    if let Some(seconds) = shown.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    }
    if matches!(status, StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT) {
        // The rest of the body may be unread.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
