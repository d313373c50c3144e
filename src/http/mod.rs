//! The door for HTTP: listeners, the route table, the JSON API, pages for people, health and metrics.
//!
//! Requests are checked and turned into calls of `ops`; answers are structs of the wire. Nothing here
//! knows SQL, and nothing else in the program knows axum. `serve` starts the listeners.

mod api;
mod describe;
mod health;
mod live;
pub mod openapi;
pub mod pages;
mod paths;
mod request;
mod response;
mod routes;
pub mod server;
mod whatsapp;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::ops::alerts::mail_desk::MailDesk;
use crate::tls::Tls;
use live::Live;
use openapi::Api;
use pages::brand::Brand;
use pages::turns::Turns;
use server::bounds::Bounds;
use server::listen::{self, Routers};
use server::meters::{self, Meters};
use server::rate_limits::Limits;
use server::shared_windows::SharedWindows;

/// What a listener is for.
#[derive(Clone)]
pub enum Purpose {
    /// Merchants and customers; `api` and `pages` say whether this node has these roles.
    Public { api: bool, pages: bool, tls: Option<Arc<Tls>> },
    /// Metrics and health, always plain.
    Operator,
}

/// Accepts until `stop`, then lets the requests under way end.
pub async fn serve(
    tcp: TcpListener,
    purpose: Purpose,
    http: Arc<Http>,
    bounds: Bounds,
    stop: CancellationToken,
) {
    let routers = match purpose {
        Purpose::Public { api, pages, tls } => {
            let plain = tls.is_none().then(|| routes::plain_refused(http.clone()));
            Routers { name: "main", main: routes::main(http.clone(), api, pages), plain, tls }
        }
        Purpose::Operator => {
            Routers { name: "operator", main: routes::operator(http.clone()), plain: None, tls: None }
        }
    };
    listen::run(tcp, routers, http, bounds, stop).await;
}

/// What the handlers share.
pub struct Http {
    app: Arc<App>,
    limits: Limits,
    meters: Meters,
    /// Whose turn it is to read for a page.
    turns: Turns,
    /// Whose pages these are.
    brand: Brand,
    /// What people watch.
    live: Arc<Live>,
    /// What the desk asks about mails and banks.
    mails: Arc<dyn MailDesk>,
    metrics: Option<PrometheusHandle>,
    /// How the API is described; made when it is first asked for, because only then is the address known.
    api: OnceLock<Api>,
    /// The service is ending; `/readyz` says so.
    draining: AtomicBool,
}

impl Http {
    pub fn new(app: Arc<App>, brand: Brand, mails: Arc<dyn MailDesk>) -> Arc<Http> {
        let configured = &app.config.limits;
        let shared = app.config.redis_url.as_ref().and_then(|url| match SharedWindows::new(url) {
            Ok(shared) => Some(shared),
            Err(error) => {
                let why = error.category();
                tracing::error!(why, "redis.url cannot be used: each node counts rate limits for itself");
                None
            }
        });
        let limits =
            Limits::new(configured.requests_per_minute, configured.wallet_requests_per_minute, shared);
        let metrics = meters::recorder();
        let draining = AtomicBool::new(false);
        Arc::new(Http {
            app,
            limits,
            meters: Meters::new(),
            turns: Turns::of_this_machine(),
            brand,
            live: Arc::default(),
            mails,
            metrics,
            api: OnceLock::new(),
            draining,
        })
    }

    /// For how long each node has counted rate limits for itself though they share them.
    pub fn limits_apart_for(&self) -> Option<Duration> {
        self.limits.apart_for()
    }

    /// Rings for what is watched until `stop`, which ends all streams.
    pub async fn watch(&self, stop: &CancellationToken) {
        self.live.run(&self.app, stop).await;
    }

    /// The API as this service has it.
    fn api(&self) -> &Api {
        let config = &self.app.config;
        self.api.get_or_init(|| {
            Api::describe(&config.wallet.route_prefix, &self.app.public_url(), config.payments.max_amount)
        })
    }

    /// From now on not ready.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Work the metrics need every few seconds.
    pub fn upkeep(&self) {
        if let Some(metrics) = &self.metrics {
            metrics.run_upkeep();
        }
    }
}
