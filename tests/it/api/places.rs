//! Connections that hold a place and do nothing, or are too many for one address.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tillbell::http::{self, Http, Purpose};

use tillbell::alert_reader::Banks;
use tillbell::config::Config;
use tillbell::http::pages::brand::Brand;
use tillbell::http::server::bounds::Bounds;
use tillbell::http::server::listen::TLS_PROTOCOLS;
use tillbell::mail_intake::ingest::MailIngestor;
use tillbell::tls::Tls;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

use super::server::{Server, read_reply};
use crate::harness::databases::TestDatabase;

/// What has not ended by then does not end.
const DEADLINE: Duration = Duration::from_secs(60);
/// What a client that does its part keeps to on a busy machine, too.
const SHORT: Duration = Duration::from_secs(2);
/// Few places, and nobody is cut off while a test looks on.
const PATIENT: Bounds = Bounds { connections: 6, of_one: 2, idle: DEADLINE, request: DEADLINE };
const READY: &[u8] = b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n";
/// What a client of HTTP/2 begins with: the preface and empty settings.
const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const SETTINGS: u8 = 4;
const ACK: u8 = 1;

/// A listener of its own beside the server's, with bounds of the test's.
struct Door {
    address: SocketAddr,
    roots: Option<rustls::RootCertStore>,
    stop: CancellationToken,
    _server: Server,
    _folder: tempfile::TempDir,
}

impl Door {
    async fn open(db: TestDatabase, settings: &str, bounds: Bounds, kind: Kind) -> Door {
        let server = Server::with(db, settings).await;
        let folder = tempfile::tempdir().unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let mut roots = None;
        let purpose = match kind {
            Kind::Operator => Purpose::Operator,
            Kind::Plain => Purpose::Public { api: true, pages: true, tls: None },
            Kind::Tls => {
                let made = rcgen::generate_simple_self_signed(["pay.example".to_owned()]).unwrap();
                let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
                std::fs::write(&cert, made.cert.pem()).unwrap();
                std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
                let mut store = rustls::RootCertStore::empty();
                store.add(made.cert.der().clone()).unwrap();
                roots = Some(store);
                let settings = format!("[server]\ntls_cert = {cert:?}\ntls_key = {key:?}");
                let files = Config::load(&settings, std::iter::empty()).unwrap().server.tls.unwrap();
                let tls = Arc::new(Tls::load(&files, TLS_PROTOCOLS).unwrap());
                Purpose::Public { api: true, pages: true, tls: Some(tls) }
            }
        };
        let stop = CancellationToken::new();
        let app = &server.running.app;
        let banks = Arc::new(Banks::embedded().unwrap());
        let reader = MailIngestor::new(&app.config, banks);
        let http = Http::new(app.clone(), Brand::plain(&app.config.pages), Arc::new(reader));
        tokio::spawn(http::serve(tcp, purpose, http, bounds, stop.clone()));
        Door { address, roots, stop, _server: server, _folder: folder }
    }

    /// A connection from this address of the loopback network.
    async fn from(&self, ip: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(ip.parse().unwrap(), 0)).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    /// One that is sure to have its place: it was answered.
    async fn placed(&self, ip: &str) -> TcpStream {
        let mut stream = self.from(ip).await;
        stream.write_all(READY).await.unwrap();
        assert_eq!(read_reply(&mut stream).await.status, 200);
        stream
    }

    async fn http2(&self, ip: &str) -> TlsStream<TcpStream> {
        let provider = rustls::crypto::aws_lc_rs::default_provider().into();
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots.clone().unwrap())
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let name = rustls::pki_types::ServerName::try_from("pay.example").unwrap();
        let stream = self.from(ip).await;
        tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Plain,
    Tls,
    Operator,
}

/// Waits for the end of a connection; answers what came before.
async fn end_of(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut rest)).await;
    drop(ended.expect("the connection stays open"));
    rest
}

/// Answers every ping and settings frame until the server ends it; answers the kinds of frames seen.
async fn answer_pings(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Vec<u8> {
    let mut kinds = Vec::new();
    let mut frame = [0; 9];
    while stream.read_exact(&mut frame).await.is_ok() {
        let length = u32::from_be_bytes([0, frame[0], frame[1], frame[2]]) as usize;
        let mut body = vec![0; length];
        if stream.read_exact(&mut body).await.is_err() {
            break;
        }
        kinds.push(frame[3]);
        if matches!(frame[3], PING | SETTINGS) && frame[4] & ACK == 0 {
            let body = if frame[3] == PING { body } else { Vec::new() };
            let mut answer = vec![0, 0, body.len() as u8, frame[3], ACK, 0, 0, 0, 0];
            answer.extend(body);
            if stream.write_all(&answer).await.is_err() {
                break;
            }
        }
    }
    kinds
}

async fn one_address_holds_its_share(door: &Door) {
    let _held = [door.placed("127.0.0.2").await, door.placed("127.0.0.2").await];
    for _ in 0..3 {
        assert_eq!(end_of(&mut door.from("127.0.0.2").await).await, b"", "one too many is closed");
    }
    drop(door.placed("127.0.0.3").await);
}

on_both! {
    async fn one_address_cannot_keep_others_out(db: TestDatabase) {
        let door = Door::open(db, "", PATIENT, Kind::Plain).await;
        one_address_holds_its_share(&door).await;
    }

    async fn the_operators_listener_has_the_same_limit(db: TestDatabase) {
        let door = Door::open(db, "", PATIENT, Kind::Operator).await;
        one_address_holds_its_share(&door).await;
        let mut stream = door.from("127.0.0.5").await;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let numbers = read_reply(&mut stream).await.body;
        assert!(numbers.contains("tillbell_connections_refused_total{listener=\"operator\"} "), "{numbers}");
    }

    async fn proxies_and_a_developers_machine_speak_for_many(db: TestDatabase) {
        let settings = "[server]\ntrusted_proxies = [\"127.0.0.4/32\"]";
        let door = Door::open(db, settings, PATIENT, Kind::Plain).await;
        let mut held = Vec::new();
        for _ in 0..5 {
            held.push(door.placed("127.0.0.4").await);
        }
        held.push(door.placed("127.0.0.5").await);
        // All places are taken; who comes now waits for one instead of being sent away.
        let mut late = door.from("127.0.0.6").await;
        late.write_all(READY).await.unwrap();
        held.pop();
        assert_eq!(read_reply(&mut late).await.status, 200);
    }

    async fn this_machine_has_no_limit_of_its_own_in_dev_mode(db: TestDatabase) {
        let door = Door::open(db, "[server]\ndev = true", PATIENT, Kind::Plain).await;
        let mut held = Vec::new();
        for _ in 0..5 {
            held.push(door.placed("127.0.0.2").await);
        }
    }

    async fn a_slow_handshake_holds_nobody_else(db: TestDatabase) {
        let door = Door::open(db, "", PATIENT, Kind::Tls).await;
        let _silent = [door.from("127.0.0.2").await, door.from("127.0.0.2").await, door.from("127.0.0.3").await];
        let mut stream = door.http2("127.0.0.4").await;
        stream.write_all(HELLO).await.unwrap();
        let mut frame = [0; 9];
        stream.read_exact(&mut frame).await.unwrap();
        assert_eq!(frame[3], SETTINGS);
        assert_eq!(end_of(&mut door.from("127.0.0.2").await).await, b"");
    }

    async fn a_connection_without_streams_ends_although_it_answers_pings(db: TestDatabase) {
        let bounds = Bounds { idle: SHORT, ..Bounds::default() };
        let door = Door::open(db, "", bounds, Kind::Tls).await;
        let mut stream = door.http2("127.0.0.2").await;
        stream.write_all(HELLO).await.unwrap();
        let kinds = tokio::time::timeout(DEADLINE, answer_pings(&mut stream)).await.expect("it stays open");
        assert!(kinds.contains(&GOAWAY), "told before it is closed: {kinds:?}");
        // One that never says what it speaks.
        let mut silent = door.http2("127.0.0.2").await;
        end_of(&mut silent).await;
    }

    async fn an_answer_that_is_not_taken_ends_its_connection(db: TestDatabase) {
        let bounds = Bounds { request: SHORT, ..Bounds::default() };
        let door = Door::open(db, "", bounds, Kind::Tls).await;
        let mut stream = door.http2("127.0.0.2").await;
        // The window for answers is nought and stays so.
        let mut hello = HELLO[..24].to_vec();
        hello.extend([0, 0, 6, SETTINGS, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
        // :method GET, :scheme https, :path /, :authority x; the end of headers and of the stream.
        hello.extend([0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x87, 0x84, 0x41, 1, b'x']);
        stream.write_all(&hello).await.unwrap();
        let kinds = tokio::time::timeout(DEADLINE, answer_pings(&mut stream)).await.expect("it stays open");
        assert!(kinds.contains(&1), "the head of the answer came: {kinds:?}");
        assert!(kinds.contains(&GOAWAY), "the others on it are told before it is closed: {kinds:?}");
    }

    async fn the_end_does_not_wait_for_handshakes_and_idle_clients(db: TestDatabase) {
        let door = Door::open(db, "", PATIENT, Kind::Tls).await;
        let mut silent = door.from("127.0.0.2").await;
        let mut idle = door.http2("127.0.0.3").await;
        idle.write_all(HELLO).await.unwrap();
        let mut frame = [0; 9];
        idle.read_exact(&mut frame).await.unwrap();
        door.stop.cancel();
        end_of(&mut silent).await;
        end_of(&mut idle).await;
    }
}
