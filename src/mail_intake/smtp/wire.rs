//! The bytes of one connection: lines and mails in, answers out, each with a deadline.
//!
//! It buffers what was read and not used yet, so pipelined commands wait for their turn. It knows no commands.
//! What a client sent before a TLS handshake is dropped together with the old `SmtpStream`.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

use super::content::{Content, Progress};
use crate::tls::Tls;

/// A command line with its CRLF. RFC 5321 requires 512, and more for every extension of MAIL.
const LINE_MAX: usize = 1_024;
/// Bytes of a line that is too long are dropped up to here, so that the client reads the answer.
const SKIPPED_MAX: usize = 64 * 1_024;
/// A mail that is too large is read on up to this much over the limit, for the same reason.
const OVERRUN_MAX: usize = 16 * 1_024 * 1_024;
/// What is read at once.
const CHUNK: usize = 16 * 1_024;
/// After this time a client that does not read its answers is disconnected.
const WRITE_WAIT: Duration = Duration::from_secs(60);
/// Closing a connection while the client still sends would reset it, and the last answer would be lost. So what
/// still comes is dropped for this long.
const LINGER: Duration = Duration::from_secs(10);
const LINGER_MAX: usize = 4 * 1_024 * 1_024;

pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// The connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// The client closed it, or it broke.
    Gone,
    /// The client was too slow.
    Late,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Without its CRLF.
    Text(Vec<u8>),
    TooLong,
    /// It ended in LF alone, or held a CR.
    BareNewline,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Received {
    Mail(Vec<u8>),
    /// Over the limit, and read to its end.
    TooLarge,
    /// So far over the limit that its end was not waited for.
    TooMuch,
    BareNewline,
}

/// How long a mail's content may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContentWait {
    /// For each next piece.
    pub step: Duration,
    pub whole: Duration,
}

pub(super) struct SmtpStream {
    io: Box<dyn Stream>,
    inbox: Vec<u8>,
    /// Bytes of the inbox that are used up.
    used: usize,
    /// Bytes dropped of a line that is too long.
    skipped: usize,
}

impl SmtpStream {
    pub fn new(io: Box<dyn Stream>) -> SmtpStream {
        SmtpStream { io, inbox: Vec::new(), used: 0, skipped: 0 }
    }

    /// The next line. May be dropped at any moment without losing bytes.
    pub async fn line(&mut self, deadline: Instant) -> Result<Line, Lost> {
        loop {
            let waiting = &self.inbox[self.used..];
            if let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
                let line = &waiting[..end];
                let read = match line.strip_suffix(b"\r") {
                    _ if self.skipped > 0 || end >= LINE_MAX => Line::TooLong,
                    Some(text) if !text.contains(&b'\r') => Line::Text(text.to_vec()),
                    _ => Line::BareNewline,
                };
                self.used += end + 1;
                self.skipped = 0;
                return Ok(read);
            }
            if waiting.len() >= LINE_MAX {
                self.skipped += waiting.len();
                self.used = self.inbox.len();
                if self.skipped > SKIPPED_MAX {
                    return Err(Lost::Gone);
                }
            }
            self.fill(deadline).await?;
        }
    }

    /// The mail after DATA, of at most `max` bytes.
    pub async fn content(&mut self, max: usize, wait: ContentWait) -> Result<Received, Lost> {
        let end = Instant::now() + wait.whole;
        let mut content = Content::new(max);
        loop {
            let (used, progress) = content.take(&self.inbox[self.used..]);
            self.used += used;
            match progress {
                Progress::End => {
                    return Ok(content.into_mail().map_or(Received::TooLarge, Received::Mail));
                }
                Progress::BareNewline => return Ok(Received::BareNewline),
                Progress::More if content.len() > max + OVERRUN_MAX => return Ok(Received::TooMuch),
                Progress::More => self.fill(end.min(Instant::now() + wait.step)).await?,
            }
        }
    }

    /// Whether the client has sent more than was read.
    pub fn has_more(&self) -> bool {
        self.used < self.inbox.len()
    }

    async fn fill(&mut self, deadline: Instant) -> Result<(), Lost> {
        self.inbox.drain(..self.used);
        self.used = 0;
        self.inbox.reserve(CHUNK);
        match timeout_at(deadline, self.io.read_buf(&mut self.inbox)).await {
            Err(_) => Err(Lost::Late),
            Ok(Ok(0) | Err(_)) => Err(Lost::Gone),
            Ok(Ok(_)) => Ok(()),
        }
    }

    /// Sends lines, each completed with CRLF.
    pub async fn say(&mut self, lines: &[impl AsRef<str>]) -> Result<(), Lost> {
        let mut text = String::new();
        for line in lines {
            text.push_str(line.as_ref());
            text.push_str("\r\n");
        }
        let sent = async {
            self.io.write_all(text.as_bytes()).await?;
            self.io.flush().await
        };
        match timeout(WRITE_WAIT, sent).await {
            Err(_) => Err(Lost::Late),
            Ok(Err(_)) => Err(Lost::Gone),
            Ok(Ok(())) => Ok(()),
        }
    }

    /// Does the TLS handshake. What the client sent in clear text after STARTTLS is dropped: somebody on
    /// the way could have added it, to be taken as if it had come inside TLS.
    pub async fn secure(self, tls: &Tls) -> Option<SmtpStream> {
        let io: Box<dyn Stream> = Box::new(tls.accept(self.io).await?);
        Some(SmtpStream::new(io))
    }

    /// Closes so that the last answer arrives.
    pub async fn close(mut self) {
        let linger = async {
            self.io.shutdown().await?;
            let (mut dropped, mut bytes) = (0, vec![0; CHUNK]);
            while dropped < LINGER_MAX {
                match self.io.read(&mut bytes).await? {
                    0 => break,
                    more => dropped += more,
                }
            }
            Ok::<_, std::io::Error>(())
        };
        // The client may be gone; it was told all that there was to tell.
        drop(timeout(LINGER, linger).await);
    }
}
