//! `/healthz`: the process answers. `/readyz`: the database answers too, and the service is not
//! ending. `/metrics`: numbers for a Prometheus server, on the operator's listener alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

use super::Http;
use crate::http::describe::operation::{Operation, Tag, Writer};
use crate::http::request::context::RequestLabels;
use crate::http::response::error::json_response;
use crate::log_limit::warn_of;
use crate::ops::health;
use crate::wire;

/// A database that takes longer counts as away.
const READY_WITHIN: Duration = Duration::from_secs(2);
const CUT_OFF: &str = "the database cannot be reached";

/// What both answer.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Health")]
struct HealthBody<'a> {
    status: &'a str,
}

fn status(route: &'static str, code: StatusCode, word: &str) -> Response {
    let mut response = json_response(code, wire::encode(&HealthBody { status: word }));
    response.extensions_mut().insert(RequestLabels { route, business_id: None });
    response
}

pub fn describe_live(writer: &mut Writer) -> Operation {
    let sample = wire::encode(&HealthBody { status: "ok" });
    Operation::get("/healthz", "isAlive", Tag::Service, "Is it alive?")
        .open()
        .about("The process answers. It needs no key.")
        .answers(StatusCode::OK, "It does", writer.schema::<HealthBody<'static>>(), sample)
}

pub fn describe_ready(writer: &mut Writer) -> Operation {
    let schema = writer.schema::<HealthBody<'static>>();
    let sample = |status| wire::encode(&HealthBody { status });
    Operation::get("/readyz", "isReady", Tag::Service, "Is it ready?")
        .open()
        .about("The database answers too, and the service is not ending. It needs no key.")
        .answers(StatusCode::OK, "It is", schema.clone(), sample("ready"))
        .answers(StatusCode::SERVICE_UNAVAILABLE, "It is not; `status` says why", schema, sample("draining"))
}

pub async fn live() -> Response {
    status("/healthz", StatusCode::OK, "ok")
}

pub async fn ready(State(http): State<Arc<Http>>) -> Response {
    if http.draining.load(Ordering::Relaxed) {
        return status("/readyz", StatusCode::SERVICE_UNAVAILABLE, "draining");
    }
    match tokio::time::timeout(READY_WITHIN, health::ping(&http.app)).await {
        Ok(Ok(())) => status("/readyz", StatusCode::OK, "ready"),
        Ok(Err(error)) => {
            warn_of!(http.app, &error, "not ready");
            let word = if health::is_cut_off(&http.app) { CUT_OFF } else { "the database does not answer" };
            status("/readyz", StatusCode::SERVICE_UNAVAILABLE, word)
        }
        Err(_) => {
            let word = if health::is_cut_off(&http.app) { CUT_OFF } else { "the database is too slow" };
            status("/readyz", StatusCode::SERVICE_UNAVAILABLE, word)
        }
    }
}

pub async fn metrics(State(http): State<Arc<Http>>) -> Response {
    let Some(metrics) = &http.metrics else {
        return status("/metrics", StatusCode::SERVICE_UNAVAILABLE, "metrics are off");
    };
    let mut response = Response::new(Body::from(metrics.render()));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response.extensions_mut().insert(RequestLabels { route: "/metrics", business_id: None });
    response
}
