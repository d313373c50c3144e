//! Bytes to and from an IMAP server: every wait has a deadline, every buffer a limit.
//!
//! A response is read whole, its literals included. A literal longer than the caller allows is an
//! error before one byte of it is read and before memory is set aside for it. Knows where responses
//! end and nothing of what they say. Used by `session` alone.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::Trouble;
use super::response::{announced, excerpt, may_hold_literals};

/// Bytes taken from the network at once.
const CHUNK: usize = 16 * 1024;
/// Literals of one response; our FETCH has one.
const LITERALS_MAX: usize = 8;

/// What a response may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of its lines together.
    pub line: usize,
    /// Bytes of its literals together.
    pub literal: usize,
}

/// A connection, encrypted or not.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub struct ImapStream {
    stream: Box<dyn Stream>,
    /// Read and not used yet.
    held: Vec<u8>,
    /// How much of `held` is known to hold no line end.
    looked: usize,
    /// No byte for this long while an answer is due ends the connection.
    silence: Duration,
}

impl ImapStream {
    pub fn new(stream: Box<dyn Stream>, silence: Duration) -> ImapStream {
        ImapStream { stream, held: Vec::new(), looked: 0, silence }
    }

    /// The plain stream, to be encrypted. Bytes that came before were injected by somebody.
    pub fn into_stream(self) -> Result<Box<dyn Stream>, Trouble> {
        if self.held.is_empty() {
            Ok(self.stream)
        } else {
            Err(Trouble::Protocol("the server sent data between STARTTLS and the handshake".into()))
        }
    }

    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        let sending = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        match timeout(self.silence, sending).await {
            Ok(sent) => sent.map_err(|error| Trouble::Connection(error.to_string())),
            Err(_) => Err(self.silent()),
        }
    }

    fn silent(&self) -> Trouble {
        Trouble::Silent(self.silence)
    }

    /// Waits until a whole line is there, at most `patience`; `false` if none came. Loses nothing
    /// when it is dropped.
    pub async fn wait(&mut self, patience: Duration, limits: Limits) -> Result<bool, Trouble> {
        match timeout(patience, self.fill_line(limits.line)).await {
            Ok(end) => end.map(|_| true),
            Err(_) => Ok(false),
        }
    }

    /// The next response without its last line end.
    pub async fn response(&mut self, limits: Limits) -> Result<Vec<u8>, Trouble> {
        let mut all = self.line(limits.line).await?;
        if !may_hold_literals(&all) {
            return Ok(all);
        }
        let mut literals = 0_usize;
        let mut last_line = 0;
        for _ in 0..LITERALS_MAX {
            let Some(length) = announced(&all[last_line..]) else { return Ok(all) };
            let fits = usize::try_from(length).ok().filter(|n| literals.saturating_add(*n) <= limits.literal);
            let Some(length) = fits else {
                return Err(Trouble::TooLong { announced: length, allowed: limits.literal });
            };
            literals += length;
            all.extend_from_slice(b"\r\n");
            self.literal(length, &mut all).await?;
            last_line = all.len();
            let ingestor = limits.line.saturating_sub(all.len() - literals);
            let line = self.line(ingestor).await?;
            all.extend_from_slice(&line);
        }
        Err(Trouble::Protocol(format!("too many literals in {}", excerpt(&all))))
    }

    async fn line(&mut self, limit: usize) -> Result<Vec<u8>, Trouble> {
        let silence = self.silence;
        let end = match timeout(silence, self.fill_line(limit)).await {
            Ok(end) => end?,
            // A long line may take longer than that, as long as bytes keep coming.
            Err(_) => return Err(self.silent()),
        };
        let mut line: Vec<u8> = self.held.drain(..=end).collect();
        self.looked = 0;
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(line)
    }

    /// Reads until `held` has a line end, and returns its position.
    async fn fill_line(&mut self, limit: usize) -> Result<usize, Trouble> {
        loop {
            if let Some(found) = self.held[self.looked..].iter().position(|b| *b == b'\n') {
                return Ok(self.looked + found);
            }
            self.looked = self.held.len();
            if self.held.len() > limit {
                return Err(Trouble::Protocol(format!("a line of more than {limit} bytes")));
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> Result<(), Trouble> {
        let begin = self.held.len();
        self.held.reserve(CHUNK);
        // Not `read_buf` into spare capacity: what is read at once must stay bounded.
        let mut chunk = (&mut self.stream).take(CHUNK as u64);
        match chunk.read_buf(&mut self.held).await {
            Ok(0) => Err(Trouble::Connection("the server closed the connection".into())),
            Ok(_) => {
                debug_assert!(self.held.len() > begin, "bytes were read");
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(Trouble::Connection("the connection was cut".into()))
            }
            Err(error) => Err(Trouble::Connection(error.to_string())),
        }
    }

    async fn literal(&mut self, length: usize, into: &mut Vec<u8>) -> Result<(), Trouble> {
        let mut left = length;
        loop {
            let part = left.min(self.held.len());
            into.extend(self.held.drain(..part));
            self.looked = 0;
            left -= part;
            if left == 0 {
                return Ok(());
            }
            match timeout(self.silence, self.more()).await {
                Ok(more) => more?,
                Err(_) => return Err(self.silent()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { line: 64, literal: 10 };

    fn wire(text: &'static [u8]) -> ImapStream {
        let stream = tokio::io::join(text, tokio::io::sink());
        ImapStream::new(Box::new(stream), Duration::from_secs(5))
    }

    #[tokio::test]
    async fn responses_come_whole_and_one_by_one() {
        let mut wire = wire(b"* 1 FETCH (BODY[] {5}\r\na\r\nb\n UID 3)\r\n* OK {7}\r\nA1 OK done\n");
        assert_eq!(wire.response(LIMITS).await.unwrap(), b"* 1 FETCH (BODY[] {5}\r\na\r\nb\n UID 3)");
        assert_eq!(wire.response(LIMITS).await.unwrap(), b"* OK {7}");
        assert_eq!(wire.response(LIMITS).await.unwrap(), b"A1 OK done");
        assert!(matches!(wire.response(LIMITS).await, Err(Trouble::Connection(_))));
    }

    #[tokio::test]
    async fn what_is_too_long_is_refused_before_it_is_read() {
        let mut huge = wire(b"* 1 FETCH (BODY[] {5368709120}\r\n");
        assert!(matches!(
            huge.response(LIMITS).await,
            Err(Trouble::TooLong { announced: 5_368_709_120, allowed: 10 })
        ));
        let mut two = wire(b"* 1 FETCH (BODY[] {6}\r\n123456 X {6}\r\n");
        assert!(matches!(two.response(LIMITS).await, Err(Trouble::TooLong { announced: 6, .. })));
        static LONG: [u8; 100] = [b'x'; 100];
        let mut line = wire(&LONG);
        assert!(matches!(line.response(LIMITS).await, Err(Trouble::Protocol(_))));
    }

    #[tokio::test]
    async fn a_wait_that_ends_loses_nothing() {
        let (mut server, client) = tokio::io::duplex(64);
        let mut wire = ImapStream::new(Box::new(client), Duration::from_secs(5));
        server.write_all(b"* 2 EXI").await.unwrap();
        assert!(!wire.wait(Duration::from_millis(20), LIMITS).await.unwrap());
        server.write_all(b"STS\r\n").await.unwrap();
        assert!(wire.wait(Duration::from_secs(5), LIMITS).await.unwrap());
        assert_eq!(wire.response(LIMITS).await.unwrap(), b"* 2 EXISTS");
    }

    #[tokio::test]
    async fn silence_in_a_literal_ends_the_connection() {
        let (mut server, client) = tokio::io::duplex(64);
        let mut wire = ImapStream::new(Box::new(client), Duration::from_millis(20));
        server.write_all(b"* 1 FETCH (BODY[] {9}\r\nabc").await.unwrap();
        assert!(matches!(wire.response(LIMITS).await, Err(Trouble::Silent(_))));
    }
}
