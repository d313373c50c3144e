//! From a URL to an open connection: resolve once, check every address, connect, TLS.
//!
//! Only this file opens sockets in this room, so there is no connection to an unchecked address. The address
//! that was checked is the one that is connected to: there is no second look-up in between. Not for servers.
//! Called by `super::client`.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Host;

use super::meter::{Allowance, Metered};
use super::{OutboundProblem, PostError, authorities, causes};
use crate::domain::address::{AddressPolicy, refusal};
use crate::domain::weburl::TargetUrl;

/// Look-ups under way at once: each holds one of the runtime's blocking threads for as long as
/// the system's resolver likes, and those threads are shared with others.
const MAX_LOOKUPS: usize = 64;
/// Addresses of one answer that are tried; all of it is checked.
const MAX_ADDRESSES_TRIED: usize = 8;

/// The answer of a resolver, in its own order of preference.
pub type Resolved<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// Turns a host name into addresses. A seam, so that tests can be the name server.
pub trait Resolve: Send + Sync {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Resolved<'a>;
}

/// The machine's own resolver (hosts file, then DNS).
pub struct SystemResolver {
    lookups: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> SystemResolver {
        SystemResolver { lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Resolved<'a> {
        let lookups = Arc::clone(&self.lookups);
        let host = host.to_owned();
        Box::pin(async move {
            let place = lookups.acquire_owned().await.map_err(io::Error::other)?;
            // In a task of its own: a caller who gives up does not end the look-up, and its
            // place must stay taken until the thread is really free.
            let lookup = tokio::spawn(async move {
                let found = tokio::net::lookup_host((host.as_str(), port)).await;
                drop(place);
                found.map(Iterator::collect)
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}

/// A connection to a checked address, plain or under TLS.
pub(super) enum Stream {
    Plain(Metered),
    Tls(Box<TlsStream<Metered>>),
}

/// Opens connections under one policy; shared by all requests.
pub(super) struct Connector {
    resolver: Arc<dyn Resolve>,
    policy: AddressPolicy,
    tls: TlsConnector,
}

impl Connector {
    pub(super) fn new(
        resolver: Arc<dyn Resolve>,
        policy: AddressPolicy,
        extra_roots_pem: &[u8],
    ) -> Result<Connector, OutboundProblem> {
        let tls = TlsConnector::from(Arc::new(client_tls(extra_roots_pem)?));
        Ok(Connector { resolver, policy, tls })
    }

    /// Opens a connection to `target`; `deadline` also divides the time left fairly between
    /// the addresses, so that a first one that swallows packets leaves some to the others.
    pub(super) async fn open(
        &self,
        target: &TargetUrl,
        deadline: Instant,
    ) -> Result<(Stream, Allowance), PostError> {
        let addresses = self.checked_addresses(target).await?;
        let tcp = connect_first(&addresses, deadline).await?;
        // Requests are single small writes; waiting to fill a packet only delays them.
        let _ = tcp.set_nodelay(true);
        let (tcp, allowance) = Metered::new(tcp);
        if !target.is_https() {
            return Ok((Stream::Plain(tcp), allowance));
        }
        let name = server_name(target)?;
        let tls = self.tls.connect(name, tcp).await.map_err(|error| causes::handshake(&error))?;
        Ok((Stream::Tls(Box::new(tls)), allowance))
    }

    /// The addresses of the target, all of them allowed. One forbidden address refuses the whole answer,
    /// because an honest name does not point inside and outside at once.
    async fn checked_addresses(&self, target: &TargetUrl) -> Result<Vec<SocketAddr>, PostError> {
        let port = target.port();
        let addresses = match target.url().host() {
            Some(Host::Ipv4(ip)) => vec![SocketAddr::new(IpAddr::V4(ip), port)],
            Some(Host::Ipv6(ip)) => vec![SocketAddr::new(IpAddr::V6(ip), port)],
            Some(Host::Domain(name)) => {
                self.resolver.resolve(name, port).await.map_err(|error| causes::dns(&error))?
            }
            None => return Err(PostError::Dns("the URL has no host")),
        };
        if addresses.is_empty() {
            return Err(PostError::Dns("the host name has no address"));
        }
        for address in &addresses {
            if let Some(why) = refusal(address.ip(), &self.policy) {
                return Err(PostError::AddressRefused { address: address.ip(), why });
            }
        }
        // The port of the URL, whatever the resolver returned.
        Ok(addresses.into_iter().map(|found| SocketAddr::new(found.ip(), port)).collect())
    }
}

async fn connect_first(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, PostError> {
    let tried = &addresses[..addresses.len().min(MAX_ADDRESSES_TRIED)];
    let mut last = PostError::Timeout;
    for (at, address) in tried.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(tried.len() - at).unwrap_or(1);
        match timeout_at(Instant::now() + share, TcpStream::connect(address)).await {
            Ok(Ok(tcp)) => return Ok(tcp),
            Ok(Err(error)) => last = causes::connect(&error),
            Err(_) => last = PostError::Timeout,
        }
    }
    Err(last)
}

fn server_name(target: &TargetUrl) -> Result<ServerName<'static>, PostError> {
    match target.url().host() {
        Some(Host::Ipv4(ip)) => Ok(ServerName::from(IpAddr::V4(ip))),
        Some(Host::Ipv6(ip)) => Ok(ServerName::from(IpAddr::V6(ip))),
        _ => ServerName::try_from(target.host().to_owned())
            .map_err(|_| PostError::Tls("the host name cannot stand in a certificate".into())),
    }
}

/// TLS 1.2 and 1.3 with the machine's root certificates and those given. No roots at all is no error here:
/// every https target will then be refused.
fn client_tls(extra_roots_pem: &[u8]) -> Result<ClientConfig, OutboundProblem> {
    let mut roots = authorities::of_machine();
    authorities::add_pem(&mut roots, extra_roots_pem).map_err(OutboundProblem::BadRoot)?;
    if roots.is_empty() {
        tracing::warn!("no root certificates on this machine; nothing can be sent over https");
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(OutboundProblem::Tls)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
