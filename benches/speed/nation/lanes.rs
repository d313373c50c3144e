//! Kept connections that whoever has something to say takes in turn: HTTP/1.1, and LMTP as a mail server speaks it.
//! Who finds all of them taken waits, and the wait counts.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::driver::try_exchange;

/// Connections of callers of the API.
const CALLERS: usize = 64;
/// As many as a mail server opens to one destination.
const MAIL_LANES: usize = 20;
const ANSWER_MAX: usize = 64 * 1024;
const MAIL_TIMEOUT: Duration = Duration::from_secs(60);

struct Lanes<L> {
    address: SocketAddr,
    places: Semaphore,
    kept: Mutex<Vec<L>>,
}

impl<L> Lanes<L> {
    fn new(address: SocketAddr, count: usize) -> Lanes<L> {
        Lanes { address, places: Semaphore::new(count), kept: Mutex::default() }
    }

    fn kept(&self) -> Option<L> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn keep(&self, lane: L) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// Callers of the API.
pub struct Http(Lanes<(TcpStream, Vec<u8>)>);

impl Http {
    pub fn new(address: SocketAddr) -> Http {
        Http(Lanes::new(address, CALLERS))
    }

    /// Status and body of the answer.
    pub async fn exchange(&self, request: &[u8]) -> io::Result<(u16, String)> {
        let _place = self.0.places.acquire().await.expect("places are never closed");
        let (mut stream, mut buffer) = match self.0.kept() {
            Some(lane) => lane,
            None => (self.0.connect().await?, vec![0; ANSWER_MAX]),
        };
        let (status, length) = try_exchange(&mut stream, request, &mut buffer).await?;
        let answer = String::from_utf8_lossy(&buffer[..length]);
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
        self.0.keep((stream, buffer));
        Ok((status, body))
    }
}

/// A mail server that hands mails on.
pub struct Lmtp(Lanes<BufReader<TcpStream>>);

impl Lmtp {
    pub fn new(address: SocketAddr) -> Lmtp {
        Lmtp(Lanes::new(address, MAIL_LANES))
    }

    /// Hands in a mail that ends in CRLF and needs no stuffing; the answer to it.
    pub async fn hand_in(&self, mail: &str) -> io::Result<String> {
        let _place = self.0.places.acquire().await.expect("places are never closed");
        let mut lane = match self.0.kept() {
            Some(lane) => lane,
            None => self.greeted().await?,
        };
        let answer = timeout(MAIL_TIMEOUT, hand_in(&mut lane, mail)).await.map_err(io::Error::other)??;
        self.0.keep(lane);
        Ok(answer)
    }

    async fn greeted(&self) -> io::Result<BufReader<TcpStream>> {
        let mut lane = BufReader::new(self.0.connect().await?);
        says(&mut lane, "220").await?;
        lane.write_all(b"LHLO mx.bench.example\r\n").await?;
        says(&mut lane, "250").await?;
        Ok(lane)
    }
}

async fn hand_in(lane: &mut BufReader<TcpStream>, mail: &str) -> io::Result<String> {
    let envelope = format!("MAIL FROM:<gens@gtbank.com>\r\nRCPT TO:<{}>\r\nDATA\r\n", super::RECIPIENT);
    lane.write_all(envelope.as_bytes()).await?;
    for code in ["250", "250", "354"] {
        says(lane, code).await?;
    }
    lane.write_all(format!("{mail}.\r\n").as_bytes()).await?;
    says(lane, "250").await
}

/// The last line of an answer, which must be of this code.
async fn says(lane: &mut BufReader<TcpStream>, code: &str) -> io::Result<String> {
    loop {
        let mut line = String::new();
        if lane.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if !line.starts_with(code) {
            return Err(io::Error::other(line));
        }
        if line.as_bytes().get(3) != Some(&b'-') {
            return Ok(line);
        }
    }
}
