//! Counts the bytes that are read for one exchange, below TLS, and ends it when they are too many.
//!
//! The parser takes interim answers, empty lines and the framing of chunks without limit and without a
//! pause, at the speed of the sender: one receiver could keep a core busy for as long as its deadline
//! lasts. Used by `connect` and `client`.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::{MAX_ANSWER_BYTES, MAX_HEAD_BYTES};

/// Bytes read for one exchange: a head, an answer in the smallest of chunks, the certificates of a new
/// connection, and what is read ahead of what is kept. Interim answers are part of it.
pub(super) const MAX_EXCHANGE_BYTES: usize = MAX_HEAD_BYTES + 28 * MAX_ANSWER_BYTES;
/// After this many bytes the task yields to others.
const TURN: usize = 64 * 1024;

/// The error of a read beyond the limit.
#[derive(Debug)]
pub(super) struct TooMuch;

impl fmt::Display for TooMuch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "more than {MAX_EXCHANGE_BYTES} bytes were received")
    }
}

impl std::error::Error for TooMuch {}

/// What may still be read in this exchange; shared by a connection and those who use it.
#[derive(Clone)]
pub(super) struct Allowance(Arc<AtomicUsize>);

impl Allowance {
    /// Another exchange begins.
    pub(super) fn renew(&self) {
        self.0.store(MAX_EXCHANGE_BYTES, Ordering::Relaxed);
    }
}

/// A connection whose reading is counted.
pub(super) struct Metered {
    tcp: TcpStream,
    left: Allowance,
    turn: usize,
}

impl Metered {
    pub(super) fn new(tcp: TcpStream) -> (Metered, Allowance) {
        let left = Allowance(Arc::new(AtomicUsize::new(MAX_EXCHANGE_BYTES)));
        (Metered { tcp, left: left.clone(), turn: TURN }, left)
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let left = this.left.0.load(Ordering::Relaxed);
        if left == 0 {
            return Poll::Ready(Err(io::Error::other(TooMuch)));
        }
        if this.turn == 0 {
            this.turn = TURN;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.tcp).poll_read(cx, buffer))?;
        let read = buffer.filled().len() - before;
        this.left.0.store(left.saturating_sub(read), Ordering::Relaxed);
        this.turn = this.turn.saturating_sub(read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().tcp).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().tcp).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }
}
