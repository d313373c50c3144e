//! The client against receivers that behave, and many that do not, over real sockets.
//!
//! Other loopback addresses play the public internet: 127.0.0.2 is allowed by name as a
//! public address would be, 127.0.0.1 is where nothing may ever arrive.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::domain::address::{AddressPolicy, Network};
use crate::domain::weburl::parse_operator_url;
use crate::outbound::Resolved;

mod endless;

const SHORT: Duration = Duration::from_millis(250);
/// Far above any deadline configured here, far below a hanging test.
const PATIENCE: Duration = Duration::from_secs(20);
const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A listening socket that runs a script on each connection and counts them.
struct Receiver {
    address: SocketAddr,
    contacts: Arc<AtomicUsize>,
}

impl Receiver {
    async fn start<F, R>(at: &str, script: F) -> Receiver
    where
        F: Fn(TcpStream, usize) -> R + Send + 'static,
        R: Future<Output = io::Result<()>> + Send + 'static,
    {
        Receiver::on(TcpListener::bind(at).await.unwrap(), script)
    }

    fn on<F, R>(listener: TcpListener, script: F) -> Receiver
    where
        F: Fn(TcpStream, usize) -> R + Send + 'static,
        R: Future<Output = io::Result<()>> + Send + 'static,
    {
        let address = listener.local_addr().unwrap();
        let contacts = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&contacts);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let number = counter.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(script(socket, number));
            }
        });
        Receiver { address, contacts }
    }

    /// Answers every request the same way, connection kept.
    async fn answering(at: &str, answer: &'static [u8]) -> Receiver {
        Receiver::answering_on(TcpListener::bind(at).await.unwrap(), answer)
    }

    fn answering_on(listener: TcpListener, answer: &'static [u8]) -> Receiver {
        Receiver::on(listener, move |mut socket, _| async move {
            loop {
                read_request(&mut socket).await?;
                socket.write_all(answer).await?;
            }
        })
    }

    fn contacts(&self) -> usize {
        self.contacts.load(Ordering::SeqCst)
    }

    fn url(&self) -> TargetUrl {
        operator_url(&format!("http://{}/hook", self.address))
    }

    /// The same port under another host.
    fn at(&self, scheme: &str, host: &str) -> TargetUrl {
        operator_url(&format!("{scheme}://{host}:{}/hook", self.address.port()))
    }
}

/// One port of what stands for a public address, and of the loopback, where others take ports as well.
async fn public_and_loopback() -> (TcpListener, TcpListener) {
    for _ in 0..100 {
        let public = TcpListener::bind("127.0.0.2:0").await.unwrap();
        let port = public.local_addr().unwrap().port();
        match TcpListener::bind(("127.0.0.1", port)).await {
            Ok(loopback) => return (public, loopback),
            Err(taken) => assert_eq!(taken.kind(), io::ErrorKind::AddrInUse),
        }
    }
    panic!("no port is free at both addresses");
}

/// Reads one request to the end of its body and gives it as text.
async fn read_request<S: AsyncRead + Unpin>(socket: &mut S) -> io::Result<String> {
    let mut seen = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&seen).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |n| n.parse().unwrap()) {
                return Ok(text);
            }
        }
        if socket.read_buf(&mut seen).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn operator_url(text: &str) -> TargetUrl {
    parse_operator_url(text).unwrap()
}

/// A name server with prepared answers, the last of which it repeats; none: never answers.
struct Script {
    answers: Mutex<VecDeque<Vec<&'static str>>>,
    asked: AtomicUsize,
}

impl Script {
    fn new(answers: &[&[&'static str]]) -> Arc<Script> {
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        Arc::new(Script { answers: Mutex::new(answers), asked: AtomicUsize::new(0) })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Resolve for Script {
    fn resolve<'a>(&'a self, _host: &'a str, port: u16) -> Resolved<'a> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move {
            match answer {
                None => std::future::pending().await,
                Some(found) if found.is_empty() => Err(io::Error::other("no such name")),
                Some(found) => {
                    Ok(found.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), port)).collect())
                }
            }
        })
    }
}

fn config(timeout: Duration) -> OutboundConfig {
    let policy = AddressPolicy { allow_loopback: true, ..AddressPolicy::default() };
    OutboundConfig { timeout, policy, extra_roots_pem: Vec::new() }
}

/// Allows 127.0.0.2 and 127.0.0.3 as the internet is allowed, and no other loopback address.
fn internet(resolver: Arc<Script>) -> Outbound {
    let allow_networks = vec![Network::parse("127.0.0.2/31").unwrap()];
    let policy = AddressPolicy { allow_networks, allow_loopback: false };
    let config = OutboundConfig { timeout: PATIENCE, policy, extra_roots_pem: Vec::new() };
    Outbound::with_resolver(&config, resolver).unwrap()
}

fn dev(timeout: Duration) -> Outbound {
    Outbound::new(&config(timeout)).unwrap()
}

async fn post(outbound: &Outbound, url: &TargetUrl) -> PostOutcome {
    let headers = [(HeaderName::from_static("content-type"), HeaderValue::from_static("application/json"))];
    let body = Bytes::from_static(br#"{"event":"payment.approved"}"#);
    timeout(PATIENCE * 2, outbound.post(url, &headers, body)).await.expect("the deadline did not hold")
}

fn timed_out(outcome: &PostOutcome) {
    assert_eq!(outcome.error, Some(PostError::Timeout), "{outcome:?}");
    assert!(outcome.duration >= SHORT && outcome.duration < PATIENCE, "{outcome:?}");
    assert_eq!(outcome.answered(), None);
}

#[tokio::test]
async fn one_post_arrives_as_it_was_given() {
    let (send, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let receiver = Receiver::start("127.0.0.1:0", move |mut socket, _| {
        let send = send.clone();
        async move {
            let _ = send.send(read_request(&mut socket).await?);
            let answer = b"HTTP/1.1 429 Slow\r\nretry-after: 70\r\ncontent-length: 4\r\n\r\na\0\xffb";
            socket.write_all(answer).await
        }
    })
    .await;
    let url = operator_url(&format!("http://{}/a%20b/{{c}}?x=|{{'y'}}&z=é#part", receiver.address));
    let outcome = post(&dev(PATIENCE), &url).await;
    assert_eq!((outcome.status, &outcome.error), (Some(429), &None));
    assert_eq!(outcome.retry_after.as_deref(), Some("70"));
    assert_eq!(outcome.body_excerpt, "a\u{fffd}\u{fffd}b");
    let request = seen.recv().await.unwrap();
    assert!(request.starts_with("POST /a%20b/%7Bc%7D?x=|{%27y%27}&z=%C3%A9 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("host: {}\r\n", receiver.address)), "{request}");
    assert!(
        request.contains("content-type: application/json\r\n") && request.contains("user-agent: tillbell/")
    );
    assert!(!request.contains("accept-encoding") && !request.contains("part"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"event\":\"payment.approved\"}"), "{request}");
}

#[tokio::test]
async fn connections_are_used_again() {
    let receiver = Receiver::answering("127.0.0.1:0", OK).await;
    let outbound = dev(PATIENCE);
    for _ in 0..50 {
        assert_eq!(post(&outbound.clone(), &receiver.url()).await.answered(), Some(200));
    }
    assert_eq!(receiver.contacts(), 1);
}

#[tokio::test]
async fn silence_and_dripping_end_at_the_deadline() {
    let outbound = dev(SHORT);
    let silent = Receiver::start("127.0.0.1:0", |socket, _| async move {
        std::future::pending::<()>().await;
        drop(socket);
        Ok(())
    })
    .await;
    let outcome = post(&outbound, &silent.url()).await;
    timed_out(&outcome);
    assert_eq!(outcome.status, None);
    // The same one never begins its handshake either.
    timed_out(&post(&outbound, &silent.at("https", "localhost")).await);

    async fn drip(mut socket: TcpStream, head: &[u8], drop: &[u8]) -> io::Result<()> {
        socket.write_all(head).await?;
        loop {
            socket.write_all(drop).await?;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let headers =
        Receiver::start("127.0.0.1:0", |socket, _| drip(socket, b"HTTP/1.1 200 OK\r\nx: ", b"y")).await;
    let outcome = post(&outbound, &headers.url()).await;
    timed_out(&outcome);
    assert_eq!(outcome.status, None);
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let body = Receiver::start("127.0.0.1:0", |socket, _| drip(socket, chunked, b"1\r\nz\r\n")).await;
    let outcome = post(&outbound, &body.url()).await;
    timed_out(&outcome);
    assert_eq!(outcome.status, Some(200));
    // Interim answers without end do not even last so long.
    let interim = Receiver::start("127.0.0.1:0", |mut socket, _| async move {
        loop {
            socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
    })
    .await;
    assert_eq!(post(&dev(PATIENCE), &interim.url()).await.error, Some(PostError::TooLarge));
    // Nor does a name server that never answers.
    let resolver = Script::new(&[]);
    let lost = Outbound::with_resolver(&config(SHORT), resolver.clone()).unwrap();
    timed_out(&post(&lost, &operator_url("http://adire.example/")).await);
    assert_eq!(resolver.asked(), 1);
}

#[tokio::test]
async fn what_breaks_off_is_no_answer() {
    let reset = Receiver::start("127.0.0.1:0", |mut socket, _| async move {
        read_request(&mut socket).await?;
        socket.set_zero_linger()
    })
    .await;
    let outcome = post(&dev(PATIENCE), &reset.url()).await;
    assert!(matches!(outcome.error, Some(PostError::Protocol(_))), "{outcome:?}");
    for answer in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort"[..],
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nshort",
        b"HTTP/1.1 200 OK\r\ncontent-le",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    ] {
        let receiver = Receiver::start("127.0.0.1:0", move |mut socket, _| async move {
            read_request(&mut socket).await?;
            socket.write_all(answer).await
        })
        .await;
        let outcome = post(&dev(PATIENCE), &receiver.url()).await;
        assert!(matches!(outcome.error, Some(PostError::Protocol(_))), "{outcome:?}");
        assert_eq!(outcome.answered(), None);
    }
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let outcome = post(&dev(PATIENCE), &operator_url(&format!("http://{nobody}/"))).await;
    assert!(matches!(outcome.error, Some(PostError::Connect(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_connection_that_died_idle_is_replaced() {
    // Hangs up after the first answer; closed before the second request is written.
    let polite = Receiver::start("127.0.0.1:0", |mut socket, _| async move {
        read_request(&mut socket).await?;
        socket.write_all(OK).await
    })
    .await;
    let outbound = dev(PATIENCE);
    for _ in 0..5 {
        assert_eq!(post(&outbound, &polite.url()).await.answered(), Some(200));
    }
    // Hangs up on the first connection when the second request is there.
    let rude = Receiver::start("127.0.0.1:0", |mut socket, number| async move {
        read_request(&mut socket).await?;
        socket.write_all(OK).await?;
        read_request(&mut socket).await?;
        if number == 0 { Ok(()) } else { socket.write_all(OK).await }
    })
    .await;
    let id = [(HeaderName::from_static("webhook-id"), HeaderValue::from_static("evt_1"))];
    assert_eq!(post(&outbound, &rude.url()).await.answered(), Some(200));
    let unmarked = post(&outbound, &rude.url()).await;
    assert!(matches!(unmarked.error, Some(PostError::Protocol(_))), "{unmarked:?}");
    let rude = Receiver::start("127.0.0.1:0", |mut socket, number| async move {
        read_request(&mut socket).await?;
        socket.write_all(OK).await?;
        read_request(&mut socket).await?;
        if number == 0 { Ok(()) } else { socket.write_all(OK).await }
    })
    .await;
    for _ in 0..2 {
        assert_eq!(outbound.post(&rude.url(), &id, Bytes::new()).await.answered(), Some(200));
    }
    assert_eq!(rude.contacts(), 2);
}

#[tokio::test]
async fn redirects_are_answers_and_nothing_more() {
    let trap = Receiver::answering("127.0.0.1:0", OK).await;
    for status in [301, 302, 303, 307, 308] {
        let answer = format!(
            "HTTP/1.1 {status} Moved\r\nlocation: http://{}/x\r\ncontent-length: 0\r\n\r\n",
            trap.address
        );
        let receiver = Receiver::answering("127.0.0.1:0", answer.leak().as_bytes()).await;
        assert_eq!(post(&dev(PATIENCE), &receiver.url()).await.answered(), Some(status));
    }
    assert_eq!(trap.contacts(), 0);
}

#[tokio::test]
async fn no_notation_of_loopback_gets_through() {
    let trap = Receiver::answering("127.0.0.1:0", OK).await;
    let outbound = Outbound::new(&OutboundConfig::default()).unwrap();
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "localhost",
        "localhost.",
        "１２７.0.0.1",
    ] {
        for scheme in ["http", "https"] {
            let outcome = post(&outbound, &trap.at(scheme, host)).await;
            assert!(matches!(outcome.error, Some(PostError::AddressRefused { .. })), "{host}: {outcome:?}");
        }
    }
    assert_eq!(trap.contacts(), 0);
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_checked_each_time_it_is_asked() {
    let (public, loopback) = public_and_loopback().await;
    let public = Receiver::on(public, |mut socket, _| async move {
        for answer in [OK, b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"] {
            read_request(&mut socket).await?;
            socket.write_all(answer).await?;
        }
        Ok(())
    });
    let trap = Receiver::answering_on(loopback, OK);
    let resolver = Script::new(&[&["127.0.0.2"], &["127.0.0.1"]]);
    let outbound = internet(resolver.clone());
    let url = public.at("http", "adire.example");
    // One look-up, then the same connection, to the address that was checked.
    assert_eq!(post(&outbound, &url).await.answered(), Some(200));
    assert_eq!(post(&outbound, &url).await.answered(), Some(200));
    assert_eq!((resolver.asked(), public.contacts()), (1, 1));
    // A new connection asks again, and the new answer is judged anew.
    let outcome = post(&outbound, &url).await;
    let refused = PostError::AddressRefused { address: "127.0.0.1".parse().unwrap(), why: "loopback" };
    assert_eq!(outcome.error, Some(refused));
    assert_eq!((resolver.asked(), public.contacts(), trap.contacts()), (2, 1, 0));
}

#[tokio::test]
async fn one_bad_address_refuses_all_and_good_ones_are_tried_in_order() {
    let (public, loopback) = public_and_loopback().await;
    let (public, trap) = (Receiver::answering_on(public, OK), Receiver::answering_on(loopback, OK));
    let url = public.at("http", "adire.example");
    for mixed in [
        ["127.0.0.2", "127.0.0.1"],
        ["127.0.0.1", "127.0.0.2"],
        ["127.0.0.2", "::1"],
        ["127.0.0.2", "::ffff:127.0.0.2"],
    ] {
        let outcome = post(&internet(Script::new(&[&mixed])), &url).await;
        assert!(matches!(outcome.error, Some(PostError::AddressRefused { .. })), "{outcome:?}");
    }
    assert_eq!((public.contacts(), trap.contacts()), (0, 0));
    // Nobody listens at the first address; the second is reached, by the same look-up.
    let resolver = Script::new(&[&["127.0.0.3", "127.0.0.2"]]);
    assert_eq!(post(&internet(resolver.clone()), &url).await.answered(), Some(200));
    assert_eq!((resolver.asked(), public.contacts()), (1, 1));
    let outcome = post(&internet(Script::new(&[&[]])), &url).await;
    assert!(matches!(outcome.error, Some(PostError::Dns(_))), "{outcome:?}");
}

/// A receiver under TLS whose self-signed certificate names `name`, and that certificate in PEM.
async fn tls_receiver(name: &str) -> (Receiver, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(server));
    let receiver = Receiver::start("127.0.0.1:0", move |socket, _| {
        let acceptor = acceptor.clone();
        async move { serve_tls(acceptor.accept(socket).await?).await }
    })
    .await;
    (receiver, made.cert.pem().into_bytes())
}

async fn serve_tls<S: AsyncRead + AsyncWrite + Unpin>(mut socket: S) -> io::Result<()> {
    loop {
        read_request(&mut socket).await?;
        socket.write_all(OK).await?;
        socket.flush().await?;
    }
}

#[tokio::test]
async fn certificates_must_be_trusted_and_name_the_host() {
    let (receiver, root) = tls_receiver("localhost").await;
    let untrusted = post(&dev(PATIENCE), &receiver.at("https", "localhost")).await;
    assert!(matches!(untrusted.error, Some(PostError::Tls(_))), "{untrusted:?}");
    let trusting = Outbound::new(&OutboundConfig { extra_roots_pem: root, ..config(PATIENCE) }).unwrap();
    for _ in 0..3 {
        let outcome = post(&trusting, &receiver.at("https", "localhost.")).await;
        assert_eq!(outcome.answered(), Some(200), "{outcome:?}");
    }
    assert_eq!(receiver.contacts(), 2);
    let (other, root) = tls_receiver("adire.example").await;
    let trusting = Outbound::new(&OutboundConfig { extra_roots_pem: root, ..config(PATIENCE) }).unwrap();
    let misnamed = post(&trusting, &other.at("https", "localhost")).await;
    assert!(matches!(misnamed.error, Some(PostError::Tls(_))), "{misnamed:?}");
    // Plain HTTP where TLS is spoken, and the reverse.
    let outcome = post(&trusting, &other.at("http", "localhost")).await;
    assert!(matches!(outcome.error, Some(PostError::Protocol(_))), "{outcome:?}");
    let plain = Receiver::start("127.0.0.1:0", |mut socket, _| async move {
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await
    })
    .await;
    let outcome = post(&trusting, &plain.at("https", "localhost")).await;
    assert!(matches!(outcome.error, Some(PostError::Tls(_))), "{outcome:?}");
}
