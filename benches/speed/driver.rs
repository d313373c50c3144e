//! A small HTTP/1.1 load driver: kept connections, requests whose bytes are prepared, answers of
//! which only status and length are read. It shares the machine with what it measures, so it must
//! cost little; both sides of a comparison are driven by it. Not a client for anything else.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer's head and body must fit.
const ANSWER_MAX: usize = 256 * 1024;
/// No answer within this time ends the run.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Requests of one kind; digits in a request can be changed from sending to sending.
#[derive(Clone)]
pub struct Requests {
    pub all: Arc<Vec<Vec<u8>>>,
    /// Where in each request how many digits are replaced by a running number.
    pub digits: Option<(Vec<usize>, usize)>,
}

impl Requests {
    pub fn fixed(all: Vec<Vec<u8>>) -> Requests {
        Requests { all: Arc::new(all), digits: None }
    }
}

/// What a run came to.
pub struct Outcome {
    pub per_second: f64,
}

/// Requests over `connections` kept connections for `time`. Every answer must have `status`.
pub fn drive(
    address: SocketAddr,
    connections: usize,
    time: Duration,
    requests: &Requests,
    status: u16,
    seed: u64,
) -> Outcome {
    // One thread: the driver must leave the machine to the server.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let began = Instant::now();
        let until = began + time;
        let tasks: Vec<_> = (0..connections)
            .map(|n| {
                let first = (seed.wrapping_mul(7919) as usize + n * 104_729) % requests.all.len();
                tokio::spawn(connection(
                    address,
                    until,
                    requests.clone(),
                    first,
                    seed * 1000 + n as u64,
                    status,
                ))
            })
            .collect();
        let mut done = 0;
        for task in tasks {
            done += task.await.expect("a connection of the driver");
        }
        Outcome { per_second: done as f64 / began.elapsed().as_secs_f64() }
    })
}

/// How long each answer took: `readers` kept connections that pause between two requests, for `time`.
pub fn paced(
    address: SocketAddr,
    readers: usize,
    time: Duration,
    pause: Duration,
    requests: &Requests,
) -> Vec<Duration> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let until = Instant::now() + time;
        let one = |n: usize| async move {
            // Not all at one moment.
            tokio::time::sleep(pause * n as u32 / readers as u32).await;
            let mut stream = TcpStream::connect(address).await.expect("connect to the server");
            stream.set_nodelay(true).expect("nodelay");
            let mut buffer = vec![0u8; ANSWER_MAX];
            let mut took = Vec::new();
            while Instant::now() < until {
                let began = Instant::now();
                let (status, _) =
                    exchange(&mut stream, &requests.all[n % requests.all.len()], &mut buffer).await;
                took.push(began.elapsed());
                assert_eq!(status, 200);
                tokio::time::sleep(pause).await;
            }
            took
        };
        futures_util::future::join_all((0..readers).map(one)).await.concat()
    })
}

/// Sends one request over a kept connection; answers the status, and how many bytes of the buffer it took.
pub async fn exchange(stream: &mut TcpStream, request: &[u8], buffer: &mut [u8]) -> (u16, usize) {
    try_exchange(stream, request, buffer).await.expect("an answer")
}

/// The same where the server may have gone.
pub async fn try_exchange(
    stream: &mut TcpStream,
    request: &[u8],
    buffer: &mut [u8],
) -> io::Result<(u16, usize)> {
    stream.write_all(request).await?;
    let read = tokio::time::timeout(ANSWER_TIMEOUT, answer(stream, buffer));
    read.await.map_err(io::Error::other)?
}

async fn connection(
    address: SocketAddr,
    until: Instant,
    requests: Requests,
    first: usize,
    seed: u64,
    status: u16,
) -> u64 {
    let mut stream = TcpStream::connect(address).await.expect("connect to the server");
    stream.set_nodelay(true).expect("nodelay");
    let mut buffer = vec![0u8; ANSWER_MAX];
    let mut sent = Vec::with_capacity(2048);
    let mut number = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut done = 0;
    let mut at = first;
    while Instant::now() < until {
        at = (at + 1) % requests.all.len();
        sent.clear();
        sent.extend_from_slice(&requests.all[at]);
        if let Some((places, count)) = &requests.digits {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut rest = number >> 16;
            for digit in &mut sent[places[at]..places[at] + count] {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
        let (got, length) = exchange(&mut stream, &sent, &mut buffer).await;
        assert_eq!(got, status, "{}", String::from_utf8_lossy(&buffer[..length]));
        done += 1;
    }
    done
}

/// Reads one whole answer: its status, and how many bytes of the buffer it takes.
async fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<(u16, usize)> {
    let mut filled = 0;
    let mut wanted = None;
    loop {
        let read = stream.read(&mut buffer[filled..]).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        filled += read;
        if wanted.is_none() {
            wanted = head_end(&buffer[..filled]).map(|end| end + body_length(&buffer[..end]));
        }
        if wanted.is_some_and(|wanted| filled >= wanted) {
            let digit = |at: usize| u16::from(buffer[at] - b'0');
            return Ok((digit(9) * 100 + digit(10) * 10 + digit(11), filled));
        }
    }
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

fn body_length(head: &[u8]) -> usize {
    const NAME: &[u8] = b"\r\ncontent-length: ";
    let at = head.windows(NAME.len()).position(|some| some.eq_ignore_ascii_case(NAME));
    let digits = at.map(|at| head[at + NAME.len()..].iter().take_while(|byte| byte.is_ascii_digit()));
    digits.map_or(0, |digits| digits.fold(0, |n, digit| n * 10 + usize::from(digit - b'0')))
}

/// The bytes of a POST with a JSON body.
pub fn post(path: &str, key: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: bench\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The bytes of a form as a browser sends it.
pub fn form(path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: bench\r\nOrigin: null\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The bytes of a GET.
pub fn get(path: &str, key: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: bench\r\nX-API-Key: {key}\r\n\r\n").into_bytes()
}
