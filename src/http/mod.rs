//! The door for HTTP: listeners, the route table, the JSON API, pages for people, health and metrics.
//!
//! Requests are checked and turned into calls of `ops`; answers are written by hand. Nothing here
//! knows SQL, and nothing else in the program knows axum. `serve` starts the listeners.

mod api;
mod auth;
mod body;
mod code;
mod connection;
mod door;
mod error;
mod framing;
mod health;
mod json;
pub mod limits;
pub mod listen;
mod meters;
pub mod pages;
mod pulse;
mod routes;
mod validate;
mod whatsapp;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use metrics_exporter_prometheus::PrometheusHandle;

use crate::app::App;
use limits::{Limits, LocalCounter};
use meters::Meters;
use pages::brand::Brand;

/// What the handlers share.
pub struct Http {
    app: Arc<App>,
    limits: Limits,
    meters: Meters,
    /// Whose pages these are.
    brand: Brand,
    metrics: Option<PrometheusHandle>,
    /// The service is ending; `/readyz` says so.
    draining: AtomicBool,
}

impl Http {
    pub fn new(app: Arc<App>, brand: Brand) -> Arc<Http> {
        let configured = &app.config.limits;
        let limits = Limits::new(
            Box::new(LocalCounter::new()),
            configured.requests_per_minute,
            configured.wallet_requests_per_minute,
        );
        let metrics = meters::recorder();
        let draining = AtomicBool::new(false);
        Arc::new(Http { app, limits, meters: Meters::new(), brand, metrics, draining })
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
