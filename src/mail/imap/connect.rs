//! The way to an IMAP server: TCP, TLS at once or after STARTTLS, plain text on this machine only.
//!
//! Certificates are checked against the machine's store, or against the one authority that the
//! operator named for this server. Every step has a deadline. Used by `session` alone.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::wire::Stream;
use super::{Timings, Trouble};
use crate::config::{ImapServer, ImapTls};

/// Certificates one file of an authority may hold.
const AUTHORITIES_MAX: usize = 1_000;

/// Opens the TCP connection.
pub async fn tcp(server: &ImapServer, timings: &Timings) -> Result<TcpStream, Trouble> {
    let failed = |why: String| Trouble::Connect(format!("{}:{}: {why}", server.host, server.port));
    let stream = timeout(timings.connect, TcpStream::connect((server.host.as_str(), server.port)))
        .await
        .map_err(|_| failed("no connection in time".into()))?
        .map_err(|error| failed(error.to_string()))?;
    if server.tls == ImapTls::None && !stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()) {
        return Err(failed("tls = \"none\" is for a server on this machine only".into()));
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
        .map_err(|_| failed("no handshake in time".into()))?
        .map_err(|error| failed(error.to_string()))?;
    Ok(Box::new(stream))
}

/// Made anew for every connection: they are rare, and a replaced file must count.
fn config(ca_file: Option<&Path>) -> Result<rustls::ClientConfig, String> {
    let mut roots = rustls::RootCertStore::empty();
    match ca_file {
        Some(path) => {
            let odd = |error: rustls::pki_types::pem::Error| format!("{}: {error}", path.display());
            for certificate in CertificateDer::pem_file_iter(path).map_err(odd)?.take(AUTHORITIES_MAX) {
                roots.add(certificate.map_err(odd)?).map_err(|e| format!("{}: {e}", path.display()))?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            let (added, _) = roots.add_parsable_certificates(found.certs);
            if added == 0 {
                return Err("this machine has no certificate store (package ca-certificates)".into());
            }
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
