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

use http::Request;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::{MAX_ANSWER_BYTES, MAX_HEAD_BYTES};

/// Bytes read for one exchange: a head, an answer in the smallest of chunks, the certificates of a new
/// connection, and what is read ahead of what is kept. Interim answers are part of it.
pub(super) const MAX_EXCHANGE_BYTES: usize = MAX_HEAD_BYTES + 28 * MAX_ANSWER_BYTES;
/// After this many bytes the task yields to others, and no more are read at once: what is read is parsed in one go, and 64 KiB of
/// interim answers took milliseconds, for each of two dozen receivers before anybody else's turn.
const TURN: usize = 8 * 1024;
/// Interim answers (1xx) of one exchange; a receiver that means it sends one or two.
const MAX_INTERIM: usize = 16;

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

    /// Nothing more is read in the exchange of this request once it was answered with too many interim answers.
    pub(super) fn count_interim<B>(&self, request: &mut Request<B>) {
        let (left, seen) = (self.0.clone(), AtomicUsize::new(0));
        hyper::ext::on_informational(request, move |_| {
            if seen.fetch_add(1, Ordering::Relaxed) >= MAX_INTERIM {
                left.store(0, Ordering::Relaxed);
            }
        });
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
        let mut room = [0; TURN];
        let most = this.turn.min(left).min(buffer.remaining());
        let mut part = ReadBuf::new(&mut room[..most]);
        ready!(Pin::new(&mut this.tcp).poll_read(cx, &mut part))?;
        buffer.put_slice(part.filled());
        let read = part.filled().len();
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
