//! A running service, as commands find it that work through its API instead of its database: `listen`, `trigger` and what the demo does in test mode.

use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::Value;

use crate::domain::weburl::{TargetUrl, parse_target};
use crate::outbound::{Outbound, OutboundConfig};

/// Under this address of the host the API answers.
const API: &str = "/api/v1";

/// How long the service may take over a request.
const WITHIN: Duration = Duration::from_secs(30);

/// The API's address, whichever of the two was given: the host's or the API's.
pub(super) fn api_of(url: &str) -> String {
    let base = url.trim().trim_end_matches('/');
    if base.ends_with(API) { base.to_owned() } else { format!("{base}{API}") }
}

/// The key of `--key`, which must be a test key.
pub(super) fn test_key(key: &str) -> anyhow::Result<HeaderValue> {
    let key = key.trim();
    if !key.starts_with("tb_test_") {
        bail!("--key: use a test key, which begins with tb_test_");
    }
    HeaderValue::try_from(key).ok().context("--key: not a key")
}

/// An address of the caller's own, which may well be plain HTTP on this machine; `option` is the one that it stands in.
pub(super) fn own_address(url: &str, option: &str) -> anyhow::Result<TargetUrl> {
    parse_target(url, true).map_err(|problem| anyhow::anyhow!("{option}: {}", problem.reason()))
}

/// The API of a service, as a program with a key sees it.
pub(super) struct Service {
    base: String,
    key: HeaderValue,
    outbound: Outbound,
}

impl Service {
    pub(super) fn new(url: &str, key: &str) -> anyhow::Result<Service> {
        let outbound = Outbound::new(&OutboundConfig::anywhere(WITHIN))?;
        Ok(Service { base: api_of(url), key: test_key(key)?, outbound })
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let url = format!("{}{path}", self.base);
        let target = own_address(&url, "--url")?;
        let headers: [(HeaderName, HeaderValue); 2] = [
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (HeaderName::from_static("x-api-key"), self.key.clone()),
        ];
        let answer = self.outbound.post(&target, &headers, Bytes::from(body.to_string())).await;
        let Some(status) = answer.answered() else {
            let why = answer.error.map_or_else(|| "no answer".to_owned(), |error| error.to_string());
            bail!("{url}: {why}");
        };
        let told: Value = serde_json::from_str(&answer.body_excerpt)
            .with_context(|| format!("{url}: HTTP {status}, and no JSON: is this tillbell's address?"))?;
        if !(200..300).contains(&status) {
            bail!("{url}: HTTP {status}: {}", told["message"].as_str().unwrap_or_default());
        }
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_address_and_the_apis_lead_to_the_api() {
        for url in ["http://127.0.0.1:8080", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/api/v1/"] {
            assert_eq!(api_of(url), "http://127.0.0.1:8080/api/v1", "{url}");
        }
    }
}
