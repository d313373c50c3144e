//! The way to an IMAP server: TCP, TLS at once or after STARTTLS, plain text on this machine only.
//!
//! Certificates are checked against the machine's store, or against the one authority that the
//! operator named for this server. Every step has a deadline. Used by `session` alone.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::wire::Stream;
use super::{Timings, Trouble};
use crate::config::{ImapServer, ImapTls};
use crate::outbound::authorities;
use crate::outbound::causes::tls_cause;

/// Opens the TCP connection.
pub async fn tcp(server: &ImapServer, timings: &Timings) -> Result<TcpStream, Trouble> {
    let failed = |why: String| Trouble::Connect(format!("{}:{}: {why}", server.host, server.port));
    let stream = timeout(timings.connect, TcpStream::connect((server.host.as_str(), server.port)))
        .await
        .map_err(|_| failed("the connection timed out".into()))?
        .map_err(|error| failed(error.to_string()))?;
    if server.tls == ImapTls::None && !stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()) {
        return Err(failed("tls = \"none\" is allowed only for a server on this machine".into()));
    }
    // Commands are small and wait for their answers.
    stream.set_nodelay(true).map_err(|error| failed(error.to_string()))?;
    Ok(stream)
}

/// Encrypts a connection, and makes sure that it is the right server's.
pub async fn encrypt(
    stream: Box<dyn Stream>,
    server: &ImapServer,
    timings: &Timings,
) -> Result<Box<dyn Stream>, Trouble> {
    let failed = |why: String| Trouble::Tls(format!("{}: {why}", server.host));
    let name = ServerName::try_from(server.host.clone()).map_err(|error| failed(error.to_string()))?;
    let config = config(server.ca_file.as_deref()).map_err(failed)?;
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
    let stream = timeout(timings.connect, connecting)
        .await
        .map_err(|_| failed("the handshake timed out".into()))?
        .map_err(|error| failed(tls_cause(&error, "ca_file of this mailbox")))?;
    Ok(Box::new(stream))
}

/// Made again for every connection: connections are rare, and a replaced file must be used.
fn config(ca_file: Option<&Path>) -> Result<rustls::ClientConfig, String> {
    let roots = match ca_file {
        Some(path) => {
            let mut roots = rustls::RootCertStore::empty();
            authorities::add_pem(&mut roots, &authorities::read(path)?)?;
            roots
        }
        None => authorities::of_machine(),
    };
    if roots.is_empty() {
        return Err("this machine has no certificate store (package ca-certificates)".into());
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
