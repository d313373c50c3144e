//! The page as it is sent: its status, and the headers that every answer of `/pay` carries.
//!
//! A page holds no script, loads nothing but its icon and the operator's logo (`brand`), and is kept nowhere: one
//! stylesheet inside it, named in the policy by its hash.

use std::sync::LazyLock;

use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONNECTION, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use sha2::{Digest, Sha256};

use super::page::{Page, STYLE};
use crate::http::Http;
use crate::http::pages::answer::{guard, written};

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
    let mut response = written(shown.status, &shown.page);
    // The address is a secret; nobody is told where a reader came from.
    guard(&mut response, POLICY.clone(), "no-referrer");
    let status = response.status();
    let headers = response.headers_mut();
    if let Some(seconds) = shown.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    }
    if matches!(status, StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT) {
        // The rest of the body may be unread.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
