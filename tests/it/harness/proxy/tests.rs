//! Each fault of the proxy, tried against an echo server.
//!
//! Lower bounds on time are exact (a wait is never shorter than asked); there are no tight
//! upper bounds, only deadlines, so that a slow machine does not fail.

use super::*;

const DEADLINE: Duration = Duration::from_secs(10);
/// Long enough that bytes which pass at all would have come.
const SILENCE: Duration = Duration::from_millis(150);

/// Sends everything back, and the end of the stream too.
async fn echo_server() -> (SocketAddr, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                drop(tokio::io::copy(&mut read, &mut write).await);
            });
        }
    });
    (address, AbortOnDropHandle::new(serving))
}

async fn connected() -> (Proxy, TcpStream, AbortOnDropHandle<()>) {
    let (address, echo) = echo_server().await;
    let proxy = Proxy::start(address).await;
    let stream = TcpStream::connect(proxy.address()).await.unwrap();
    (proxy, stream, echo)
}

/// Exactly so many bytes, or a panic at the deadline.
async fn take(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    tokio::time::timeout(DEADLINE, stream.read_exact(&mut bytes)).await.expect("in time").expect("whole");
    bytes
}

/// What still comes until the stream ends, in order or not.
async fn take_rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    drop(tokio::time::timeout(DEADLINE, stream.read_to_end(&mut bytes)).await.expect("the stream ends"));
    bytes
}

async fn assert_silent(stream: &mut TcpStream) {
    let mut byte = [0];
    let read = tokio::time::timeout(SILENCE, stream.read(&mut byte)).await;
    assert!(read.is_err(), "expected silence, got {read:?}");
}

#[tokio::test]
async fn passes_bytes_and_the_end_of_the_stream() {
    let (proxy, mut stream, _echo) = connected().await;
    let sent: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
    let (mut read, mut write) = stream.split();
    let mut came = Vec::new();
    let sending = async {
        write.write_all(&sent).await.unwrap();
        write.shutdown().await.unwrap();
    };
    tokio::time::timeout(DEADLINE, async { tokio::join!(sending, read.read_to_end(&mut came)) })
        .await
        .expect("in time")
        .1
        .unwrap();
    assert!(came == sent, "{} bytes came of {}", came.len(), sent.len());
    assert_eq!(proxy.accepted(), 1);
}

#[tokio::test]
async fn cuts_after_exactly_so_many_bytes() {
    for limit in [1, 5, 9] {
        let (proxy, mut stream, _echo) = connected().await;
        proxy.set_one(Direction::ToClient, Fault::CutAfter(limit));
        stream.write_all(b"0123456789").await.unwrap();
        assert_eq!(take_rest(&mut stream).await, &b"0123456789"[..limit as usize]);
    }
}

#[tokio::test]
async fn cut_after_nothing_closes_what_is_open_and_what_comes() {
    let (proxy, mut stream, _echo) = connected().await;
    stream.write_all(b"before").await.unwrap();
    assert_eq!(take(&mut stream, 6).await, b"before");
    proxy.set(Fault::CutAfter(0));
    assert_eq!(take_rest(&mut stream).await, b"");
    let mut next = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(take_rest(&mut next).await, b"");
    proxy.set(Fault::Pass);
    let mut healed = TcpStream::connect(proxy.address()).await.unwrap();
    healed.write_all(b"again").await.unwrap();
    assert_eq!(take(&mut healed, 5).await, b"again");
    assert_eq!(proxy.accepted(), 3);
}

#[tokio::test]
async fn a_blackhole_swallows_until_it_is_lifted() {
    let (proxy, mut stream, _echo) = connected().await;
    stream.write_all(b"a").await.unwrap();
    take(&mut stream, 1).await;
    proxy.set(Fault::Blackhole);
    stream.write_all(b"held").await.unwrap();
    assert_silent(&mut stream).await;
    let mut newcomer = TcpStream::connect(proxy.address()).await.unwrap();
    newcomer.write_all(b"new").await.unwrap();
    assert_silent(&mut newcomer).await;
    proxy.set(Fault::Pass);
    assert_eq!(take(&mut stream, 4).await, b"held");
    assert_eq!(take(&mut newcomer, 3).await, b"new");
}

#[tokio::test]
async fn one_direction_can_be_swallowed_alone() {
    let (address, _echo) = echo_server().await;
    let direct_sink = Proxy::start(address).await;
    let proxy = Proxy::start(direct_sink.address()).await;
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    stream.write_all(b"a").await.unwrap();
    take(&mut stream, 1).await;
    // The request arrives at the server, its answer does not come back: the case of the unknown end.
    proxy.set_one(Direction::ToClient, Fault::Blackhole);
    direct_sink.set_one(Direction::ToClient, Fault::CutAfter(4));
    stream.write_all(b"done").await.unwrap();
    assert_silent(&mut stream).await;
    proxy.set(Fault::Pass);
    assert_eq!(take_rest(&mut stream).await, b"done");
}

#[tokio::test]
async fn delays_and_drips_take_their_time() {
    let (proxy, mut stream, _echo) = connected().await;
    proxy.set_one(Direction::ToServer, Fault::Delay(Duration::from_millis(80)));
    let began = Instant::now();
    stream.write_all(b"late").await.unwrap();
    assert_eq!(take(&mut stream, 4).await, b"late");
    assert!(began.elapsed() >= Duration::from_millis(80), "{:?}", began.elapsed());

    proxy.set_one(Direction::ToServer, Fault::Pass);
    proxy.set_one(Direction::ToClient, Fault::Drip { bytes: 2, every: Duration::from_millis(40) });
    let began = Instant::now();
    stream.write_all(b"dripping").await.unwrap();
    assert_eq!(take(&mut stream, 8).await, b"dripping");
    assert!(began.elapsed() >= Duration::from_millis(4 * 40), "{:?}", began.elapsed());
}

#[tokio::test]
async fn lifting_a_long_delay_frees_what_waits() {
    let (proxy, mut stream, _echo) = connected().await;
    proxy.set(Fault::Delay(Duration::from_secs(3600)));
    stream.write_all(b"stuck").await.unwrap();
    assert_silent(&mut stream).await;
    proxy.set(Fault::Pass);
    assert_eq!(take(&mut stream, 5).await, b"stuck");
}

#[tokio::test]
async fn dropping_the_proxy_closes_everything() {
    let (proxy, mut stream, _echo) = connected().await;
    stream.write_all(b"a").await.unwrap();
    take(&mut stream, 1).await;
    let address = proxy.address();
    drop(proxy);
    assert_eq!(take_rest(&mut stream).await, b"");
    assert!(TcpStream::connect(address).await.is_err(), "the port is still open");
}
