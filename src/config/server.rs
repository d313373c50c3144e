//! The `[server]` part of the configuration: where the service listens, behind whom, and how it ends.
//!
//! Called by `config` alone.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

use super::durations::{Given, span};
use super::{ConfigError, address, networks, wrong};
use crate::domain::address::Network;
use crate::domain::time::Span;

/// What is left of the time within which a stop ends is for requests under way.
const STOP_DELAY_MAX: Span = Span::seconds(10);

#[derive(Clone, Debug)]
pub struct Server {
    pub listen: SocketAddr,
    pub operator_listen: Option<SocketAddr>,
    /// Base of links, without a trailing slash; `None`: made from the address listened on.
    pub public_url: Option<String>,
    pub trusted_proxies: Vec<Network>,
    pub tls: Option<TlsFiles>,
    /// Between the word that the node is about to stop and the end of its listeners.
    pub stop_delay: Span,
    pub dev: bool,
}

#[derive(Clone, Debug)]
pub struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawServer {
    listen: Option<String>,
    operator_listen: Option<String>,
    public_url: Option<String>,
    trusted_proxies: Vec<String>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    stop_delay: Option<Given>,
    dev: bool,
}

impl RawServer {
    pub(super) fn check(self) -> Result<Server, ConfigError> {
        let listen = address("server.listen", self.listen.as_deref().unwrap_or("127.0.0.1:8080"))?;
        let operator_listen = self
            .operator_listen
            .as_deref()
            .map(|text| address("server.operator_listen", text))
            .transpose()?;
        let tls = match (self.tls_cert, self.tls_key) {
            (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
            (None, None) => None,
            _ => return Err(ConfigError("server.tls_cert and server.tls_key must be set together".into())),
        };
        let trusted_proxies = networks("server.trusted_proxies", &self.trusted_proxies)?;
        if tls.is_none() && !listen.ip().is_loopback() && trusted_proxies.is_empty() {
            return Err(ConfigError(format!(
                "server.listen = {listen} would accept plain HTTP from the network: set server.tls_cert and \
                 server.tls_key, or list the proxies in front of it in server.trusted_proxies"
            )));
        }
        let stop_delay = span("server.stop_delay", self.stop_delay, Span(0))?;
        if stop_delay > STOP_DELAY_MAX {
            return Err(ConfigError("server.stop_delay may be 10s at most: a stop ends within 30 s".into()));
        }
        if let Some(url) = &self.public_url {
            let parsed = url::Url::parse(url)
                .map_err(|_| wrong("server.public_url", url, "an address such as https://pay.example.com"))?;
            let loopback = match parsed.host() {
                Some(url::Host::Domain(name)) => name == "localhost",
                Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
                Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
                None => false,
            };
            if self.dev && !loopback {
                return Err(ConfigError(format!(
                    "server.dev relaxes the rules for messages and webhooks, so it is for this machine only: \
                     server.public_url = {url} is not a loopback address"
                )));
            }
            if parsed.path() != "/" || parsed.query().is_some() || parsed.fragment().is_some() {
                return Err(ConfigError(format!(
                    "server.public_url = {url} has something behind the host, but pages lie at the top of theirs: name the host \
                     alone, such as https://pay.example.com, and give tillbell a host or a port of its own"
                )));
            }
            if parsed.scheme() != "https" && !loopback {
                return Err(ConfigError(format!(
                    "customers type their PINs on the pages under server.public_url, so it must begin with https://; \
                     {url} does not"
                )));
            }
        }
        Ok(Server {
            listen,
            operator_listen,
            public_url: self.public_url.map(|url| url.trim_end_matches('/').to_owned()),
            trusted_proxies,
            tls,
            stop_delay,
            dev: self.dev,
        })
    }
}
