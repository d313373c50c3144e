//! Every address the service answers, on one page. Unknown paths and wrong verbs are answered in
//! the JSON form of errors, with `Allow` where there is something to allow.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post};
use http::header::ACCEPT;
use http::request::Parts;
use http::{HeaderValue, Method};

use super::pages::packed::packed;
use super::paths::{
    API, ASSET, BALANCE, BALANCE_ENTRIES, EVENT, EVENT_RESEND, EVENTS, EVENTS_STREAM, ICON, LOGO, OPENAPI,
    PAYMENT, PAYMENT_AMOUNT, PAYMENT_REQUEST, PAYMENTS, PAYOUT, PAYOUT_ACCOUNTS, PAYOUT_CANCEL, PAYOUTS,
    START, TEST_ALERTS, WALLET_ENSURE, WALLET_LOOKUP, WALLET_MESSAGE, WALLET_PAY, WALLET_TOPUP, WHATSAPP,
};
use super::{Http, api, health, openapi, pages, whatsapp};
use crate::http::request::context::RemoteAddr;
use crate::http::response::code::Code;
use crate::http::response::error::ApiError;

/// The main listener's routes. A node without the roles `api` and `pages` answers health alone.
pub fn main(http: Arc<Http>, with_api: bool, with_pages: bool) -> Router {
    let mut router = Router::new().route("/healthz", get(health::live)).route("/readyz", get(health::ready));
    if with_api {
        let prefix = &http.app.config.wallet.route_prefix;
        let wallet = |route: &str| route.replace("{wallet}", prefix);
        router = router
            .route(&wallet(WALLET_LOOKUP), post(api::wallet::lookup::handle))
            .route(&wallet(WALLET_ENSURE), post(api::wallet::ensure::handle))
            .route(&wallet(WALLET_MESSAGE), post(api::wallet::message::handle))
            .route(&wallet(WALLET_PAY), post(api::wallet::pay::handle))
            .route(&wallet(WALLET_TOPUP), post(api::wallet::topup::handle))
            .route(PAYMENT_REQUEST, post(api::create::handle))
            .route(PAYMENT, get(api::read::handle))
            .route(PAYMENT_AMOUNT, patch(api::correct::handle))
            .route(PAYMENTS, get(api::list::handle))
            .route(EVENTS, get(api::events::list))
            .route(EVENTS_STREAM, get(api::event_stream::handle))
            .route(EVENT, get(api::events::read))
            .route(EVENT_RESEND, post(api::events::resend))
            .route(BALANCE, get(api::balance::handle))
            .route(BALANCE_ENTRIES, get(api::balance::entries))
            .route(PAYOUT_ACCOUNTS, get(api::payouts::accounts))
            .route(PAYOUTS, get(api::payouts::list).post(api::payouts::request))
            .route(PAYOUT, get(api::payouts::read))
            .route(PAYOUT_CANCEL, post(api::payouts::cancel))
            .route(TEST_ALERTS, post(api::test_alerts::handle))
            .route(OPENAPI, get(openapi::handle));
        if http.app.config.messenger.whatsapp().is_some_and(|whatsapp| whatsapp.webhook.is_some()) {
            router = router.route(WHATSAPP, get(whatsapp::verify).post(whatsapp::receive));
        }
    }
    if with_pages {
        let page = || get(pages::pay::handle).post(pages::pay::handle);
        router = router.route("/pay", page()).route("/pay/", page()).route("/pay/{*token}", page());
        let checkout = || get(pages::checkout::handle);
        router = router.route("/c", checkout()).route("/c/", checkout()).route("/c/{*rest}", checkout());
        router = router
            .route(ICON, get(pages::brand::icon))
            .route(ASSET, get(pages::assets::handle).layer(packed()));
        // A program that asks for nothing in particular is told so, as everywhere; see `anywhere`.
        for route in pages::table::TABLE.iter().filter(|route| route.path != START) {
            let page = move |State(http): State<Arc<Http>>, request: Request| {
                pages::table::handle(http, route, request)
            };
            router = router.route(route.path, get(page).layer(packed()).post(page));
        }
        if http.brand.has_logo() {
            router = router.route(LOGO, get(pages::brand::logo));
        }
    }
    let anywhere = move |State(http): State<Arc<Http>>, request: Request| async move {
        let begins = request.uri().path() == START;
        if with_pages && wants_page(&request) {
            match pages::table::TABLE.iter().find(|route| begins && route.path == START) {
                Some(route) => pages::table::handle(http, route, request).await,
                None => pages::table::lost(http, request).await,
            }
        } else {
            unknown(State(http), request).await
        }
    };
    router.fallback(anywhere).method_not_allowed_fallback(wrong_verb).with_state(http)
}

/// The operator listener's routes.
pub fn operator(http: Arc<Http>) -> Router {
    Router::new()
        .route("/healthz", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .fallback(|| async { ApiError::unknown_path() })
        .method_not_allowed_fallback(|| async { ApiError::wrong_verb() })
        .with_state(http)
}

async fn unknown(State(http): State<Arc<Http>>, request: Request) -> Response {
    outside(&http, request.into_parts().0, ApiError::unknown_path()).await
}

/// A person with a browser, not a program.
fn wants_page(request: &Request) -> bool {
    let takes = |value: &HeaderValue| value.to_str().is_ok_and(|accept| accept.contains("text/html"));
    matches!(*request.method(), Method::GET | Method::HEAD)
        && request.headers().get(ACCEPT).is_some_and(takes)
}

async fn wrong_verb(State(http): State<Arc<Http>>, request: Request) -> Response {
    outside(&http, request.into_parts().0, ApiError::wrong_verb()).await
}

/// Guessing at the API's addresses costs as much as using it.
async fn outside(http: &Http, parts: Parts, error: ApiError) -> Response {
    let is_api =
        parts.uri.path().strip_prefix(API).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    match parts.extensions.get::<RemoteAddr>() {
        Some(peer) if is_api => api::refuse(http, &parts.headers, *peer, error).await,
        _ => error.into_response(),
    }
}

/// For callers who speak plain HTTP over a network: a key sent so is known to others already.
pub fn plain_refused(http: Arc<Http>) -> Router {
    Router::new()
        .route("/healthz", get(health::live))
        .route("/readyz", get(health::ready))
        .fallback(|| async { ApiError::new(Code::HttpsRequired, "Use HTTPS") })
        .with_state(http)
}
