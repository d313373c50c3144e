//! Every address the service answers, on one page. Unknown paths and wrong verbs are answered in
//! the JSON form of errors, with `Allow` where there is something to allow.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post};
use http::request::Parts;

use super::code::Code;
use super::door::Peer;
use super::error::ApiError;
use super::{Http, api, health, pages, whatsapp};

/// Under this everything is the API, and counts against its limits.
pub const API: &str = "/api/v1";

pub const PAYMENT_REQUEST: &str = "/api/v1/payment-request";
pub const PAYMENT: &str = "/api/v1/payment/{transaction_id}";
pub const PAYMENT_AMOUNT: &str = "/api/v1/payment/{transaction_id}/amount";
pub const PAYMENTS: &str = "/api/v1/payments";
/// The wallet's routes, as logs and metrics call them; the prefix is the operator's.
pub const WALLET_LOOKUP: &str = "/api/v1/{wallet}/lookup";
pub const WALLET_ENSURE: &str = "/api/v1/{wallet}/ensure";
pub const WALLET_MESSAGE: &str = "/api/v1/{wallet}/send-message";
pub const WALLET_PAY: &str = "/api/v1/{wallet}/pay/start";
pub const WALLET_TOPUP: &str = "/api/v1/{wallet}/topup";
/// Where Meta tells what became of messages; only where its secrets are configured.
pub const WHATSAPP: &str = "/whatsapp/webhook";
/// The page behind a confirm link. Everything below `/pay` is such a link, good or not.
pub const PAY: &str = "/pay/{token}";
/// The operator's logo; only where one is configured.
pub const LOGO: &str = "/brand/logo";
/// What no route of ours answered.
pub const UNROUTED: &str = "unrouted";

/// Names that logs and metrics know.
pub const ROUTES: [&str; 16] = [
    PAYMENT_REQUEST,
    PAYMENT,
    PAYMENT_AMOUNT,
    PAYMENTS,
    WALLET_LOOKUP,
    WALLET_ENSURE,
    WALLET_MESSAGE,
    WALLET_PAY,
    WALLET_TOPUP,
    WHATSAPP,
    PAY,
    LOGO,
    "/healthz",
    "/readyz",
    "/metrics",
    UNROUTED,
];

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
            .route(PAYMENTS, get(api::list::handle));
        if http.app.config.messenger.whatsapp().is_some_and(|whatsapp| whatsapp.webhook.is_some()) {
            router = router.route(WHATSAPP, get(whatsapp::verify).post(whatsapp::receive));
        }
    }
    if with_pages {
        let page = || get(pages::pay::handle).post(pages::pay::handle);
        router = router.route("/pay", page()).route("/pay/", page()).route("/pay/{*token}", page());
        if http.brand.has_logo() {
            router = router.route(LOGO, get(pages::brand::logo));
        }
    }
    router.fallback(unknown).method_not_allowed_fallback(wrong_verb).with_state(http)
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

async fn wrong_verb(State(http): State<Arc<Http>>, request: Request) -> Response {
    outside(&http, request.into_parts().0, ApiError::wrong_verb()).await
}

/// Guessing at the API's addresses costs as much as using it.
async fn outside(http: &Http, parts: Parts, error: ApiError) -> Response {
    let is_api =
        parts.uri.path().strip_prefix(API).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    match parts.extensions.get::<Peer>() {
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

/// For requests that are well formed and can be read in two ways.
pub fn ambiguous(message: &'static str) -> Router {
    Router::new().fallback(move || async move { ApiError::new(Code::AmbiguousRequest, message) })
}
