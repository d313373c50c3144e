//! Checks the raw heads of HTTP/1.1 requests for what the parser accepts silently: a Content-Length together
//! with a Transfer-Encoding or with another Content-Length, and codings other than `chunked`.
//!
//! A proxy in front may see a different end of such a request than we do, and so take an attacker's second
//! request for its client's. Only `connection` uses this. Whether a head is well formed is decided by the
//! parser.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What the head of a request says about its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// A length or none: the connection may go on.
    Plain,
    /// In chunks. Nothing behind it is read as a request, so what a chunk may look like cannot hide one.
    Chunked,
    Refused,
}

/// What was found, shared with whoever answers.
#[derive(Default)]
pub struct Heads {
    /// The first request that is not plain is the last one looked at.
    last: OnceLock<(u64, Framing)>,
    answered: AtomicU64,
}

impl Heads {
    /// For the next request of the connection; requests come in the order in which they were read.
    pub fn next(&self) -> Framing {
        let number = self.answered.fetch_add(1, Ordering::Relaxed);
        match self.last.get() {
            Some((last, framing)) if *last == number => *framing,
            _ => Framing::Plain,
        }
    }
}

/// Where in the stream of requests the reader is.
enum Place {
    /// In a head; what was read of it.
    Head(Vec<u8>),
    /// So many bytes of a body are to come.
    Body(u64),
    /// Nothing more is looked at: the connection ends with the request under way.
    Past,
}

/// Looks at what is read of one connection.
pub struct Watch {
    heads: Arc<Heads>,
    place: Place,
    /// Requests whose head was read.
    seen: u64,
    head_max: usize,
}

impl Watch {
    /// A head longer than `head_max` is not looked at: the parser refuses it.
    pub fn new(heads: Arc<Heads>, head_max: usize) -> Watch {
        Watch { heads, place: Place::Head(Vec::new()), seen: 0, head_max }
    }

    pub fn look(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match &mut self.place {
                Place::Past => return,
                Place::Body(left) => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= here as u64;
                    bytes = &bytes[here..];
                    if *left == 0 {
                        self.place = Place::Head(Vec::new());
                    }
                }
                Place::Head(begun) => {
                    let mut begun = std::mem::take(begun);
                    let before = begun.len();
                    // Nearly every head comes in one piece, which then needs no copy.
                    if before > 0 {
                        begun.extend_from_slice(bytes);
                    }
                    let head = if before > 0 { &begun } else { bytes };
                    let Some(end) = head_end(head, before) else {
                        let is_over = head.len() > self.head_max;
                        if before == 0 {
                            begun.extend_from_slice(bytes);
                        }
                        self.place = if is_over { Place::Past } else { Place::Head(begun) };
                        return;
                    };
                    self.place = self.judge(&head[..end]);
                    bytes = &bytes[end - before..];
                }
            }
        }
    }

    /// Notes what a whole head says, and answers what comes behind it.
    fn judge(&mut self, head: &[u8]) -> Place {
        let number = self.seen;
        self.seen += 1;
        let (framing, length) = framing(head);
        if framing != Framing::Plain {
            // Nothing is looked at any more, so there is no second.
            let _ = self.heads.last.set((number, framing));
            return Place::Past;
        }
        match length {
            None | Some(Some(0)) => Place::Head(Vec::new()),
            Some(Some(length)) => Place::Body(length),
            // The parser refuses it.
            Some(None) => Place::Past,
        }
    }
}

/// Where the head that begins here ends: behind its first empty line. Lines end as the parser takes them,
/// with or without CR; empty ones before the request do not count. The first `known` bytes hold no end.
fn head_end(bytes: &[u8], known: usize) -> Option<usize> {
    let begin = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let from = begin.max(known.saturating_sub(2));
    let ends = |at: usize| match bytes.get(at + 1..)? {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    };
    (from..bytes.len()).filter(|at| bytes[*at] == b'\n').find_map(ends)
}

/// What a head says, and its length: `Some(None)` where it is no number.
fn framing(head: &[u8]) -> (Framing, Option<Option<u64>>) {
    let (mut length, mut lengths, mut codings, mut is_chunked) = (None, 0, 0, true);
    let begin = head.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(0);
    for line in head[begin..].split(|byte| *byte == b'\n').skip(1) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            lengths += 1;
            length = Some(std::str::from_utf8(value).ok().and_then(|value| value.parse().ok()));
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            codings += 1;
            is_chunked &= value.eq_ignore_ascii_case(b"chunked");
        }
    }
    let framing = match (lengths, codings) {
        (0 | 1, 0) => Framing::Plain,
        (0, 1) if is_chunked => Framing::Chunked,
        _ => Framing::Refused,
    };
    (framing, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is noted of a stream that comes in pieces of `size`.
    fn noted(stream: &str, size: usize) -> Option<(u64, Framing)> {
        let heads = Arc::new(Heads::default());
        let mut watch = Watch::new(heads.clone(), 1024);
        for piece in stream.as_bytes().chunks(size) {
            watch.look(piece);
        }
        heads.last.get().copied()
    }

    #[test]
    fn the_first_request_in_chunks_is_found_in_any_pieces() {
        let refused = "POST / HTTP/1.1\r\nContent-Length: 3\r\ntransfer-Encoding : chunked\r\n\r\n";
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n";
        let plain = "\r\n\r\nPOST / HTTP/1.1\r\ncontent-length: 12\r\n\r\nGET / \r\n\r\nab";
        let bare = "GET /?a=transfer-encoding:x HTTP/1.1\nHost: x\n\r\nGET / HTTP/1.1\r\nhost:y\r\n\n";
        for size in [1, 2, 3, 7, 1_000] {
            assert_eq!(noted(refused, size), Some((0, Framing::Refused)), "{size}");
            assert_eq!(noted(chunked, size), Some((0, Framing::Chunked)), "{size}");
            assert_eq!(noted(&[plain, bare].concat(), size), None, "{size}");
            let all = [plain, bare, plain, refused, chunked].concat();
            assert_eq!(noted(&all, size), Some((4, Framing::Refused)), "{size}");
            let all = [bare, chunked, refused].concat();
            assert_eq!(noted(&all, size), Some((2, Framing::Chunked)), "{size}");
        }
    }

    #[test]
    fn a_head_without_end_is_not_kept() {
        let heads = Arc::new(Heads::default());
        let mut watch = Watch::new(heads, 1024);
        for _ in 0..2_000 {
            watch.look(b"a: b\r\n");
        }
        assert!(matches!(watch.place, Place::Past));
    }

    #[test]
    fn requests_are_told_apart_by_their_number() {
        let heads = Heads::default();
        heads.last.set((1, Framing::Refused)).unwrap();
        assert_eq!(
            [heads.next(), heads.next(), heads.next()],
            [Framing::Plain, Framing::Refused, Framing::Plain]
        );
    }
}
