//! The content of a mail after DATA: finds its end, removes the stuffed dots, and refuses what two servers
//! could read differently.
//!
//! A mail ends with CRLF, a dot and CRLF, and with nothing else. With a CR or LF alone, one server sees the end
//! of a mail where another sees text, so that a second, forged mail can hide inside the first (SMTP smuggling).
//! No mail needs one, so a mail with one is refused. Pure: no IO, no clock; called by `wire` alone.

/// What is known after the bytes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The end has not come yet.
    More,
    /// The mail is complete.
    End,
    /// A CR or LF alone: the rest must not be looked at.
    BareNewline,
}

/// Where in a line the next byte stands.
#[derive(Clone, Copy, Debug)]
enum Place {
    LineStart,
    Text,
    /// After a CR of the text.
    Cr,
    /// After a dot that began a line; it is stuffing or the end.
    Dot,
    DotCr,
}

/// A mail that is being received.
#[derive(Debug)]
pub(super) struct Content {
    mail: Vec<u8>,
    place: Place,
    /// Bytes the mail may have, as SIZE counts them: without stuffed dots and without the end.
    max: usize,
    len: usize,
}

impl Content {
    pub fn new(max: usize) -> Content {
        Content { mail: Vec::new(), place: Place::LineStart, max, len: 0 }
    }

    /// Takes bytes until they are used up or the end or a bare newline is found; answers how many
    /// were looked at. What comes after them is not the mail's.
    pub fn take(&mut self, bytes: &[u8]) -> (usize, Progress) {
        for (at, &byte) in bytes.iter().enumerate() {
            self.place = match (self.place, byte) {
                (Place::Cr, b'\n') => {
                    self.keep(byte);
                    Place::LineStart
                }
                (Place::DotCr, b'\n') => return (at + 1, Progress::End),
                (Place::Cr | Place::DotCr, _) | (_, b'\n') => return (at + 1, Progress::BareNewline),
                (Place::Dot, b'\r') => Place::DotCr,
                (Place::LineStart, b'.') => Place::Dot,
                (Place::LineStart | Place::Text, b'\r') => {
                    self.keep(byte);
                    Place::Cr
                }
                (Place::LineStart | Place::Text | Place::Dot, _) => {
                    self.keep(byte);
                    Place::Text
                }
            };
        }
        (bytes.len(), Progress::More)
    }

    /// What is over the limit is counted and not kept: the client is told at the end.
    fn keep(&mut self, byte: u8) {
        self.len = self.len.saturating_add(1);
        if self.len <= self.max {
            self.mail.push(byte);
        }
    }

    /// Bytes of the mail so far, kept or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The mail; `None` if it was larger than it may be.
    pub fn into_mail(self) -> Option<Vec<u8>> {
        (self.len <= self.max).then_some(self.mail)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const ENOUGH: usize = 1 << 20;

    /// The progress, the mail, and what was left, however the bytes are cut.
    fn read(bytes: &[u8], chunk: usize) -> (Progress, Option<Vec<u8>>, Vec<u8>) {
        let mut content = Content::new(ENOUGH);
        let mut at = 0;
        while at < bytes.len() {
            let end = (at + chunk).min(bytes.len());
            let (used, progress) = content.take(&bytes[at..end]);
            at += used;
            if progress != Progress::More {
                return (progress, content.into_mail(), bytes[at..].to_vec());
            }
        }
        (Progress::More, content.into_mail(), Vec::new())
    }

    #[test]
    fn the_end_and_the_stuffed_dots() {
        for (sent, mail, left) in [
            ("a\r\n.\r\nQUIT\r\n", "a\r\n", "QUIT\r\n"),
            (".\r\n", "", ""),
            ("\r\n.\r\n", "\r\n", ""),
            ("..\r\n.\r\n", ".\r\n", ""),
            ("a\r\n..b\r\n...\r\n.c\r\n.\r\n", "a\r\n.b\r\n..\r\nc\r\n", ""),
            ("a.\r\nb . \r\n.\r\n", "a.\r\nb . \r\n", ""),
            ("caf\u{e9}\0\u{1}\r\n.\r\n", "caf\u{e9}\0\u{1}\r\n", ""),
        ] {
            for chunk in 1..=sent.len() {
                let (progress, read, rest) = read(sent.as_bytes(), chunk);
                assert_eq!(progress, Progress::End, "{sent:?} by {chunk}");
                assert_eq!(read.as_deref(), Some(mail.as_bytes()), "{sent:?} by {chunk}");
                assert_eq!(rest, left.as_bytes(), "{sent:?} by {chunk}");
            }
        }
    }

    #[test]
    fn every_other_ending_is_refused() {
        for sent in [
            "a\n.\n",
            "a\n.\r\n",
            "a\r\n.\n",
            "a\r.\r",
            "a\r.\r\n",
            "a\r\n.\r",
            "a\r\n.\rb",
            "a\r\r\n.\r\n",
            "a\nb\r\n.\r\n",
            "a\rb\r\n.\r\n",
            "\n.\r\n",
            "a\r\n.\r.\r\n",
        ] {
            for chunk in 1..=sent.len() {
                let (progress, ..) = read(sent.as_bytes(), chunk);
                let unfinished = sent == "a\r\n.\r";
                let expected = if unfinished { Progress::More } else { Progress::BareNewline };
                assert_eq!(progress, expected, "{sent:?} by {chunk}");
            }
        }
    }

    #[test]
    fn the_limit_counts_neither_dots_nor_the_end() {
        let send = |bytes: &[u8]| {
            let mut content = Content::new(4);
            assert_eq!(content.take(bytes).1, Progress::End);
            (content.len(), content.into_mail())
        };
        assert_eq!(send(b"..a\r\n.\r\n"), (4, Some(b".a\r\n".to_vec())));
        assert_eq!(send(b"..ab\r\n.\r\n"), (5, None));
    }

    proptest! {
        /// Any lines, stuffed as RFC 5321 says and cut anywhere, come out as they were.
        #[test]
        fn what_was_stuffed_comes_out(
            lines in vec(vec(prop_oneof![Just(b'.'), any::<u8>()], 0..8), 0..8),
            chunk in 1_usize..40,
        ) {
            let lines: Vec<Vec<u8>> = lines
                .into_iter()
                .map(|line| line.into_iter().filter(|byte| !b"\r\n".contains(byte)).collect())
                .collect();
            let mut sent = Vec::new();
            for line in &lines {
                if line.first() == Some(&b'.') {
                    sent.push(b'.');
                }
                sent.extend_from_slice(line);
                sent.extend_from_slice(b"\r\n");
            }
            sent.extend_from_slice(b".\r\nNOOP\r\n");
            let plain: Vec<u8> = lines.iter().flat_map(|line| [&line[..], b"\r\n"].concat()).collect();
            prop_assert_eq!(read(&sent, chunk), (Progress::End, Some(plain), b"NOOP\r\n".to_vec()));
        }

        /// Whatever comes first in the text decides: a CR or LF alone, or the one true end.
        #[test]
        fn no_other_end_is_found(
            soup in vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'.'), Just(b'a')], 0..24),
            chunk in 1_usize..8,
        ) {
            // The oracle looks at the whole text, with the line break that DATA itself ended in.
            let text = [b"\r\n", &soup[..]].concat();
            let end = text.windows(5).position(|five| five == b"\r\n.\r\n").map(|at| at + 5);
            let bare = (0..text.len()).find(|&at| match text[at] {
                b'\n' => at == 0 || text[at - 1] != b'\r',
                b'\r' => text.get(at + 1).is_some_and(|next| *next != b'\n'),
                _ => false,
            });
            let expected = match (end, bare) {
                (Some(end), bare) if bare.is_none_or(|bare| bare >= end) => Progress::End,
                (_, Some(_)) => Progress::BareNewline,
                _ => Progress::More,
            };
            prop_assert_eq!(read(&soup, chunk).0, expected);
        }
    }
}
