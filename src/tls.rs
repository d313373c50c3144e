//! TLS from files, for listeners: loaded at start, read again on request (a renewed certificate),
//! never half: files that do not load leave the certificate in use as it is.
//!
//! A room of its own because HTTP and SMTP both listen. What a connection is for is not known here.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::config::TlsFiles;

/// A client that has not shaken hands by then is dropped.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum TlsProblem {
    #[error("the TLS {what} file {path} cannot be used: {why}")]
    File { what: &'static str, path: String, why: String },
    #[error("the TLS private key in {key} does not belong to the certificate in {cert}")]
    Mismatch { cert: String, key: String },
    #[error("the TLS certificate in {cert} and the private key in {key} cannot be used: {why}")]
    Unusable { cert: String, key: String, why: rustls::Error },
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

/// Until when the certificate in these files is good, in seconds since 1970; they are a pair that can be used.
pub fn valid_until(files: &TlsFiles) -> Result<i64, TlsProblem> {
    acceptor(files, &[])?;
    let path = files.cert.display().to_string();
    let problem = |why: String| TlsProblem::File { what: "certificate", path: path.clone(), why };
    let first = CertificateDer::from_pem_file(&files.cert).map_err(|why| problem(in_words(&why)))?;
    let (_, certificate) = x509_parser::parse_x509_certificate(&first)
        .map_err(|why| problem(format!("it cannot be read: {why}")))?;
    Ok(certificate.validity().not_after.timestamp())
}

fn acceptor(files: &TlsFiles, protocols: &[&[u8]]) -> Result<TlsAcceptor, TlsProblem> {
    let (cert, key) = (files.cert.display().to_string(), files.key.display().to_string());
    let in_cert = |why: String| TlsProblem::File { what: "certificate", path: cert.clone(), why };
    let in_key = |why: String| TlsProblem::File { what: "key", path: key.clone(), why };
    let certificates = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|why| in_cert(in_words(&why)))?;
    if certificates.is_empty() {
        return Err(in_cert("it contains no certificate in PEM format".into()));
    }
    let private = PrivateKeyDer::from_pem_file(&files.key).map_err(|why| {
        in_key(match why {
            pem::Error::NoItemsFound => "it contains no unencrypted private key in PEM format".into(),
            other => in_words(&other),
        })
    })?;
    let unusable = |why: rustls::Error| match why {
        rustls::Error::InconsistentKeys(_) => TlsProblem::Mismatch { cert: cert.clone(), key: key.clone() },
        why => TlsProblem::Unusable { cert: cert.clone(), key: key.clone(), why },
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .map_err(unusable)?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A file that is not there or not ours is no matter of PEM.
fn in_words(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) => error.to_string(),
        other => format!("it is not PEM: {other}"),
    }
}
