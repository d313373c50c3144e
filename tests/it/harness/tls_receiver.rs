//! A webhook receiver under TLS that answers with the bytes it was given and ends its connections as it was told,
//! rudely too.
//!
//! Every connection takes one request and gets the answer that was set last. Its certificate is self-signed, for
//! 127.0.0.1, and lies in a file that a client may trust.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

/// How a connection ends behind the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As TLS asks: close_notify, then the end of TCP.
    Polite,
    /// The end of TCP alone.
    Abrupt,
    Reset,
    /// Never.
    Open,
}

pub struct TlsReceiver {
    address: SocketAddr,
    folder: tempfile::TempDir,
    answer: Arc<Mutex<(Vec<u8>, End)>>,
    _serving: AbortOnDropHandle<()>,
}

impl TlsReceiver {
    pub async fn start() -> TlsReceiver {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        // A name of its own: one authority is told from another by its name.
        let mut params = rcgen::CertificateParams::new(vec!["127.0.0.1".into()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, format!("receiver {}", address.port()));
        let signing_key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&signing_key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let server = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(server));
        let answer: Arc<Mutex<(Vec<u8>, End)>> = Arc::new(Mutex::new((Vec::new(), End::Polite)));
        let answers = answer.clone();
        let serving = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (answer, end) = answers.lock().unwrap().clone();
                let acceptor = acceptor.clone();
                tokio::spawn(async move { drop(serve(acceptor, socket, &answer, end).await) });
            }
        });
        TlsReceiver { address, folder, answer, _serving: AbortOnDropHandle::new(serving) }
    }

    /// What connections from now on get.
    pub fn answer(&self, answer: impl Into<Vec<u8>>, end: End) {
        *self.answer.lock().unwrap() = (answer.into(), end);
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// The same port without TLS.
    pub fn plain_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The authority of its certificate.
    pub fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The line of the section `webhooks` that trusts it.
    pub fn trusted(&self) -> String {
        format!("extra_ca_file = {:?}", self.ca_file())
    }
}

async fn serve(acceptor: TlsAcceptor, socket: TcpStream, answer: &[u8], end: End) -> io::Result<()> {
    // What waits to fill a packet would be dropped by a reset.
    socket.set_nodelay(true)?;
    let mut stream = acceptor.accept(socket).await?;
    let mut seen = Vec::new();
    // To the end of the request: unread bytes would make the kernel reset the connection.
    while !is_whole(&seen) {
        if stream.read_buf(&mut seen).await? == 0 {
            return Ok(());
        }
    }
    stream.write_all(answer).await?;
    stream.flush().await?;
    match end {
        End::Polite => stream.shutdown().await?,
        End::Abrupt => drop(stream.into_inner().0),
        End::Reset => stream.into_inner().0.set_zero_linger()?,
        End::Open => std::future::pending().await,
    }
    Ok(())
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |n| n.parse().unwrap())
}
