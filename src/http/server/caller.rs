//! Who asks for a page, as far as it is counted: the address on the net, and whether it asks too often.

use http::request::Parts;

use super::limit_verdict::LimitVerdict;
use crate::http::Http;
use crate::http::request::auth::{client_address, counted_as};
use crate::http::request::context::RemoteAddr;

/// The address that requests are counted under.
pub fn address(http: &Http, parts: &Parts) -> std::net::IpAddr {
    let nobody = || RemoteAddr(std::net::SocketAddr::from(([0, 0, 0, 0], 0)));
    let peer = parts.extensions.get::<RemoteAddr>().copied().unwrap_or_else(nobody);
    counted_as(client_address(peer.0, &parts.headers, &http.app.config.server.trusted_proxies))
}

/// Seconds to wait, if a limit is used up. In dev mode nobody is kept waiting: tests and demos come from one address.
pub fn over_limit(http: &Http, verdict: LimitVerdict) -> Option<i64> {
    if verdict.allowed || http.app.config.server.dev {
        return None;
    }
    let seconds = verdict.reset_after.as_secs() + 1;
    Some(i64::try_from(seconds).unwrap_or(i64::MAX))
}
