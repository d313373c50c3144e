//! A running service, as commands find it that work through its API instead of its database: `listen` and `trigger`.

use anyhow::{Context, bail};
use http::HeaderValue;

use crate::domain::weburl::{TargetUrl, parse_target};

/// Under this address of the host the API answers.
const API: &str = "/api/v1";

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
