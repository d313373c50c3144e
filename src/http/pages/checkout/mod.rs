//! `/c/{token}`: the page on which a payer sees where to pay and how the payment stands, live
//! (docs/decisions/0079-the-checkout-page.md). Beside it `events`, the stream that tells of each change, and `state`, the
//! same once as JSON.
//!
//! Looks only; there is no form. The order is that of the confirm page: the caller's address is counted before anything is
//! read, then the link is looked up. Every link that leads nowhere has the same answer. A page may
//! stand in frames of its business's approved websites and of nobody else.

mod live;
mod page;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::header::{HeaderName, RETRY_AFTER, X_FRAME_OPTIONS};
use http::{HeaderValue, StatusCode};

use super::answer::{guard, written};
use super::assets::{CHECKOUT_SCRIPT, CHECKOUT_STYLE};

use crate::http::Http;
use crate::http::paths::{CHECKOUT, CHECKOUT_EVENTS, CHECKOUT_STATE};
use crate::http::request::context::RequestLabels;
use crate::http::response::error::ApiError;
use crate::http::server::caller::{address, over_limit};
use crate::log_limit::warn_of;
use crate::ops::payments::checkout::{Checkout, open_checkout};
use crate::ops::{OpError, StoreError};
use page::CheckoutPage;

const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// What of a link is asked for.
enum Part {
    Page,
    Events,
    State,
}

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let rest = parts.uri.path().strip_prefix("/c/").unwrap_or_default();
    let (token, part, route) = match rest.split_once('/') {
        Some((token, "events")) => (token, Part::Events, CHECKOUT_EVENTS),
        Some((token, "state")) => (token, Part::State, CHECKOUT_STATE),
        // As some messengers and fingers write a link.
        Some((token, "")) => (token, Part::Page, CHECKOUT),
        _ => (rest, Part::Page, CHECKOUT),
    };
    let mut response = match over_limit(&http, http.limits.spend_page(address(&http, &parts)).await) {
        Some(seconds) => match part {
            Part::Page => crowded(&http, seconds),
            Part::Events | Part::State => live::crowded(seconds),
        },
        None => match part {
            Part::Page => page(&http, token).await,
            Part::State => live::state(&http, token).await,
            Part::Events => live::events(&http, token).await,
        },
    };
    // The template: the path holds the token.
    response.extensions_mut().insert(RequestLabels { route, business_id: None });
    response
}

async fn page(http: &Http, token: &str) -> Response {
    match open_checkout(&http.app, token).await {
        Ok(Some(checkout)) => shown(http, StatusCode::OK, CheckoutPage::of(&checkout), Some(&checkout)),
        Ok(None) => not_found(http),
        Err(error) => trouble(http, error),
    }
}

/// The page with its headers. Where it tells of a payment, its business's websites may frame it.
fn shown(http: &Http, status: StatusCode, mut page: CheckoutPage, of: Option<&Checkout>) -> Response {
    let public_url = http.app.public_url();
    page.operator = http.brand.name.clone();
    page.support = http.brand.support.clone();
    page.logo = http.brand.logo_address(&public_url);
    page.icon = http.brand.icon_address(&public_url);
    page.style = http.brand.address_below(&public_url, &CHECKOUT_STYLE.address());
    page.script = http.brand.address_below(&public_url, &CHECKOUT_SCRIPT.address());
    let mut response = written(status, &page);
    let frames = of.map(|checkout| frames(&checkout.frames, http.app.config.server.dev)).unwrap_or_default();
    let ancestors = if frames.is_empty() { "'none'" } else { frames.as_str() };
    let policy = format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
         form-action 'none'; base-uri 'none'; frame-ancestors {ancestors}"
    );
    let policy = HeaderValue::try_from(policy)
        .unwrap_or(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    // The address is a secret; nobody is told where a reader came from.
    guard(&mut response, policy, "no-referrer");
    if !frames.is_empty() {
        // These know only "nowhere" and "in ourselves".
        response.headers_mut().remove(X_FRAME_OPTIONS);
        response.headers_mut().insert(RESOURCE, HeaderValue::from_static("cross-origin"));
    }
    response
}

/// Sources of a policy: each host and those below it.
fn frames(hosts: &[String], dev: bool) -> String {
    let mut all = Vec::with_capacity(hosts.len() * 2);
    for host in hosts {
        // Anything else would be another directive or another source.
        if host.is_empty() || !host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b)) {
            continue;
        }
        match dev && crate::domain::weburl::is_dev_host(host) {
            true => all.extend([format!("http://{host}:*"), format!("https://{host}:*")]),
            false => all.extend([format!("https://{host}"), format!("https://*.{host}")]),
        }
    }
    all.join(" ")
}

/// The one answer for every link that leads nowhere.
fn not_found(http: &Http) -> Response {
    let texts = vec![
        "The link may be incomplete, or the payment ended a long time ago.".to_owned(),
        "Open the link again from the shop, or ask the shop for a new one.".to_owned(),
    ];
    shown(http, StatusCode::NOT_FOUND, CheckoutPage::bare("We could not find this payment", texts), None)
}

fn crowded(http: &Http, seconds: i64) -> Response {
    let text = format!("Too many requests came from your network. Wait {seconds} seconds, then look again.");
    let page = CheckoutPage { look_again: true, ..CheckoutPage::bare("Please wait a moment", vec![text]) };
    let mut response = shown(http, StatusCode::TOO_MANY_REQUESTS, page, None);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    response
}

/// The database is away, or something is broken.
fn trouble(http: &Http, error: OpError) -> Response {
    if let OpError::Store(away @ StoreError::Unavailable(_)) = &error {
        warn_of!(http.app, away, "a checkout page could not be shown");
    }
    // Any other error is logged there, as for the API.
    let retry_after = ApiError::from(error).retry_after();
    let status = match retry_after {
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
        None => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let text = "You have not paid anything by opening it. Look again in a minute.".to_owned();
    let page = CheckoutPage {
        look_again: true,
        ..CheckoutPage::bare("We cannot show this payment right now", vec![text])
    };
    let mut response = shown(http, status, page, None);
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::frames;

    #[test]
    fn a_policy_names_hosts_and_nothing_that_could_be_more() {
        let hosts = |all: &[&str]| all.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>();
        assert_eq!(frames(&hosts(&["shop.example"]), false), "https://shop.example https://*.shop.example");
        assert_eq!(frames(&hosts(&["a b", "x;script-src *", "", "ọ.example"]), false), "");
        assert_eq!(frames(&hosts(&["localhost"]), true), "http://localhost:* https://localhost:*");
        assert_eq!(frames(&hosts(&["localhost"]), false), "https://localhost https://*.localhost");
    }
}
