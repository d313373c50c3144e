//! TLS from files, for listeners: loaded at start, read again on request (a renewed certificate),
//! never half: files that do not load leave the certificate in use as it is.
//!
//! A room of its own because HTTP and SMTP both listen. What a connection is for is not known here.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::config::TlsFiles;

/// A client that has not shaken hands by then is dropped.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum TlsProblem {
    #[error("{path} cannot be read as PEM: {why}")]
    File { path: String, why: String },
    #[error("the certificate and key are not usable: {0}")]
    Unusable(#[from] rustls::Error),
}

/// What a listener shakes hands with.
pub struct Tls {
    files: TlsFiles,
    /// Protocols offered inside TLS (ALPN); empty: none is negotiated.
    protocols: &'static [&'static [u8]],
    acceptor: Mutex<TlsAcceptor>,
}

impl Tls {
    pub fn load(files: &TlsFiles, protocols: &'static [&'static [u8]]) -> Result<Tls, TlsProblem> {
        let acceptor = Mutex::new(acceptor(files, protocols)?);
        Ok(Tls { files: files.clone(), protocols, acceptor })
    }

    /// Reads the files again; connections there are keep what they have.
    pub fn reload(&self) -> Result<(), TlsProblem> {
        let fresh = acceptor(&self.files, self.protocols)?;
        *self.acceptor.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// Shakes hands; `None` when the client cannot or does not in time.
    pub async fn accept<I>(&self, stream: I) -> Option<TlsStream<I>>
    where
        I: AsyncRead + AsyncWrite + Unpin,
    {
        let acceptor = self.acceptor.lock().unwrap_or_else(PoisonError::into_inner).clone();
        tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await.ok()?.ok()
    }
}

fn acceptor(files: &TlsFiles, protocols: &[&[u8]]) -> Result<TlsAcceptor, TlsProblem> {
    let file_problem =
        |path: &std::path::Path, why: String| TlsProblem::File { path: path.display().to_string(), why };
    let certificates = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|why| file_problem(&files.cert, why.to_string()))?;
    if certificates.is_empty() {
        return Err(file_problem(&files.cert, "it holds no certificate".into()));
    }
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|why| file_problem(&files.key, why.to_string()))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}
