//! The page as it is sent: its status, and the headers that every answer of `/pay` carries.
//!
//! A page holds no script, loads nothing but its icon and the operator's logo (`brand`), and is kept nowhere: one
//! stylesheet inside it, named in the policy by its hash.

use std::sync::LazyLock;

use askama::Template;
use axum::body::Body;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    RETRY_AFTER, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, StatusCode};
use sha2::{Digest, Sha256};

use super::page::{Page, STYLE};
use crate::http::Http;

/// A page with the status it is answered with.
pub struct PageState {
    pub status: StatusCode,
    pub page: Page,
    /// Seconds after which it makes sense to come again.
    pub retry_after: Option<i64>,
    /// With what query a form leads to its link.
    pub leads_to: String,
}

impl PageState {
    pub fn new(status: StatusCode, page: Page) -> PageState {
        PageState { status, page, retry_after: None, leads_to: String::new() }
    }
}

const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");
const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Nothing but our one stylesheet, our icon and the logo, forms to ourselves, and no frame around us.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; \
         base-uri 'none'"
    );
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

pub fn respond(http: &Http, mut shown: PageState) -> Response {
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
    headers.insert(CONTENT_SECURITY_POLICY, POLICY.clone());
    if let Some(seconds) = shown.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    }
    if matches!(status, StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT) {
        // The rest of the body may be unread.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
