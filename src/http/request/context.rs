//! What is known about a request apart from its content: where it came from, and its name in logs and metrics.

use std::net::SocketAddr;

/// The address the connection came from.
#[derive(Clone, Copy, Debug)]
pub struct RemoteAddr(pub SocketAddr);

/// What a handler reports about a request, as an extension of its response.
#[derive(Clone, Copy, Debug)]
pub struct RequestLabels {
    /// One of `paths::ROUTES`; a label that is not there is not counted, and stops a debug build.
    pub route: &'static str,
    pub business_id: Option<i64>,
}
