//! Counts and times requests for `/metrics`: by route template and status, never by path.
//!
//! Handles are looked up once per route and status, because the registry would cost more per request than
//! everything else in `http`. Only `http` uses this; other rooms use `metrics` directly.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Counter, Histogram};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};

use crate::http::paths::ROUTES;

/// Statuses the API and the pages answer with; another one is counted as its class's first.
const STATUSES: [u16; 19] =
    [200, 201, 303, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 502, 503, 302, 304];
const BUCKETS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.0, 10.0];

/// The recorder is the process's own, so several servers in one process share it.
static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Installs the recorder, once per process. `None` if another one is installed already.
pub fn recorder() -> Option<PrometheusHandle> {
    RECORDER
        .get_or_init(|| match install() {
            Ok(handle) => Some(handle),
            Err(error) => {
                tracing::error!(%error, "metrics are off");
                None
            }
        })
        .clone()
}

fn install() -> Result<PrometheusHandle, BuildError> {
    PrometheusBuilder::new().set_buckets(&BUCKETS)?.install_recorder()
}

struct RouteMeters {
    name: &'static str,
    seconds: OnceLock<Histogram>,
    counts: [OnceLock<Counter>; STATUSES.len()],
}

/// One set of meters per route of the table, and one for everything else.
pub struct Meters {
    routes: Vec<RouteMeters>,
}

impl Meters {
    pub fn new() -> Meters {
        let meters = |name| RouteMeters {
            name,
            seconds: OnceLock::new(),
            counts: std::array::from_fn(|_| OnceLock::new()),
        };
        Meters { routes: ROUTES.iter().copied().map(meters).collect() }
    }

    /// Notes a request; `route` is one of `ROUTES`.
    pub fn note(&self, route: &'static str, status: u16, took: Duration) {
        let mut all = self.routes.iter();
        let found = all.find(|meters| std::ptr::eq(meters.name, route) || meters.name == route);
        // Counted nowhere, requests of a new route would be missing from every graph.
        debug_assert!(found.is_some(), "`{route}` is not in `paths::ROUTES`");
        let Some(meters) = found else { return };
        meters
            .seconds
            .get_or_init(|| metrics::histogram!("tillbell_http_request_seconds", "route" => meters.name))
            .record(took.as_secs_f64());
        let known = |status: u16| STATUSES.iter().position(|known| *known == status);
        let Some(at) = known(status).or_else(|| known(status / 100 * 100)) else { return };
        meters.counts[at]
            .get_or_init(|| {
                metrics::counter!("tillbell_http_requests_total", "route" => meters.name, "status" => STATUSES[at].to_string())
            })
            .increment(1);
    }
}

impl Default for Meters {
    fn default() -> Meters {
        Meters::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "`/pay/{token}/receipt` is not in `paths::ROUTES`")]
    fn a_label_that_is_no_route_is_not_dropped_in_silence() {
        Meters::new().note("/pay/{token}/receipt", 200, Duration::from_millis(1));
    }
}
