//! Reads mails from files: one `.eml`, an mbox, a Maildir, or standard input, one mail after another.
//!
//! It streams: at most one mail is in memory. A mail over the limit becomes an item with a reason, and the next
//! one is still read. An empty file is one empty mail. It reads, and judges nothing.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::alert_reader::mime::MAX_MAIL_BYTES;

/// Mails of one Maildir.
const MAX_MAILDIR_FILES: usize = 1_000_000;
/// Characters of the longest header name that makes a file a mail.
const HEADER_NAME_MAX: usize = 100;

/// One mail, or why it could not be taken.
#[derive(Debug)]
pub struct Item {
    /// The file it came from; `-` for standard input.
    pub file: String,
    /// The bytes, or the reason in words (too large, or reading failed).
    pub raw: Result<Vec<u8>, String>,
}

/// Where the mails come from.
enum Source {
    Stream { file: String, input: Box<dyn BufRead + Send>, started: bool, mbox: bool, ended: bool },
    Files(VecDeque<PathBuf>),
}

/// Iterator over the mails of one path. The error of `open` means the path itself is unusable.
pub struct Mails(Source);

impl Mails {
    /// Opens a file, an mbox, a Maildir, or `-`.
    pub fn open(path: &str) -> io::Result<Mails> {
        if path == "-" {
            let mut input = BufReader::new(io::stdin());
            if input.fill_buf()?.is_empty() {
                return Err(io::Error::other("standard input is empty"));
            }
            return Ok(Mails::from_reader("-", Box::new(input)));
        }
        let given = Path::new(path);
        if !given.is_dir() {
            return Ok(Mails::from_reader(path, Box::new(BufReader::new(File::open(given)?))));
        }
        let mut files = Vec::new();
        let maildir = given.join("cur").is_dir() || given.join("new").is_dir();
        let folders =
            if maildir { vec![given.join("cur"), given.join("new")] } else { vec![given.to_owned()] };
        for folder in folders.into_iter().filter(|f| f.is_dir()) {
            for entry in std::fs::read_dir(folder)?.take(MAX_MAILDIR_FILES) {
                let path = entry?.path();
                let hidden = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
                let wanted = maildir || path.extension().is_some_and(|e| e == "eml" || e == "mbox");
                if path.is_file() && !hidden && wanted {
                    files.push(path);
                }
            }
        }
        // A Maildir may be empty at the moment; any other folder is most likely the wrong one.
        if files.is_empty() && !maildir {
            return Err(io::Error::other(
                "no mails were found: it has no .eml or .mbox files, and no folders cur and new (Maildir)",
            ));
        }
        // Maildir names begin with the time of delivery.
        files.sort_by_key(|p| p.file_name().map(std::ffi::OsStr::to_owned));
        Ok(Mails(Source::Files(files.into())))
    }

    /// Mails of any stream under a name to report.
    pub fn from_reader(file: &str, input: Box<dyn BufRead + Send>) -> Mails {
        Mails(Source::Stream { file: file.to_owned(), input, started: false, mbox: false, ended: false })
    }
}

impl Iterator for Mails {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        match &mut self.0 {
            Source::Files(files) => {
                let path = files.pop_front()?;
                let file = path.display().to_string();
                let raw = File::open(&path).map_err(|e| e.to_string()).and_then(|f| whole(BufReader::new(f)));
                Some(Item { file, raw })
            }
            Source::Stream { file, input, started, mbox, ended } => {
                if *ended {
                    return None;
                }
                if !*started {
                    *started = true;
                    *mbox = input.fill_buf().is_ok_and(|b| b.starts_with(b"From "));
                    if *mbox && skip_line(input).is_err() {
                        *ended = true;
                    }
                }
                let raw = if *mbox {
                    next_in_mbox(input, ended)
                } else {
                    *ended = true;
                    whole(input)
                };
                Some(Item { file: file.clone(), raw })
            }
        }
    }
}

/// Whether bytes begin with a header line, as every mail does (RFC 5322: a name of visible characters, a
/// colon).
pub fn is_a_mail(raw: &[u8]) -> bool {
    let text = raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(raw).trim_ascii_start();
    // The `From ` line of an mbox may come before the first header.
    if text.starts_with(b"From ") || text.starts_with(b">From ") {
        return true;
    }
    let mut length = 0;
    for byte in text.iter().take(HEADER_NAME_MAX) {
        match byte {
            b':' => return length > 0,
            b'!'..=b'~' => length += 1,
            _ => return false,
        }
    }
    false
}

fn too_large() -> String {
    format!("the mail is larger than {MAX_MAIL_BYTES} bytes")
}

/// The rest of a stream as one mail.
fn whole(input: impl BufRead) -> Result<Vec<u8>, String> {
    let mut raw = Vec::new();
    let limit = MAX_MAIL_BYTES as u64 + 1;
    input.take(limit).read_to_end(&mut raw).map_err(|e| e.to_string())?;
    if raw.len() > MAX_MAIL_BYTES { Err(too_large()) } else { Ok(raw) }
}

/// One line without holding more of it than the limit; `false` at the end of the stream.
fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if buffer.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = buffer.iter().position(|b| *b == b'\n').map(|n| n + 1);
        let taken = end.unwrap_or(buffer.len());
        let ingestor = (MAX_MAIL_BYTES + 1).saturating_sub(line.len()).min(taken);
        line.extend_from_slice(&buffer[..ingestor]);
        input.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
    }
}

fn skip_line(input: &mut dyn BufRead) -> io::Result<bool> {
    read_line(input, &mut Vec::new())
}

/// Up to the next `From ` line that follows an empty one; `>From ` becomes `From `.
fn next_in_mbox(input: &mut dyn BufRead, ended: &mut bool) -> Result<Vec<u8>, String> {
    let mut raw = Vec::new();
    let mut line = Vec::new();
    let mut blank_before = false;
    let mut over = false;
    loop {
        match read_line(input, &mut line) {
            Ok(true) => {}
            Ok(false) => {
                *ended = true;
                break;
            }
            Err(e) => {
                *ended = true;
                return Err(e.to_string());
            }
        }
        if blank_before && line.starts_with(b"From ") {
            break;
        }
        blank_before = line == b"\n" || line == b"\r\n";
        let quoted = line.iter().take_while(|b| **b == b'>').count();
        let unescaped =
            if quoted > 0 && line[quoted..].starts_with(b"From ") { &line[1..] } else { &line[..] };
        if raw.len() + unescaped.len() > MAX_MAIL_BYTES {
            over = true;
        } else if !over {
            raw.extend_from_slice(unescaped);
        }
    }
    if over { Err(too_large()) } else { Ok(raw) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_begins_with_a_header_line() {
        for mail in [
            "Subject: a\n\nb",
            "\n\r\nReceived: x",
            "\u{feff}From: a@b",
            "X-1:",
            "From a@b Mon\nTo: c",
            ">From a",
        ] {
            assert!(is_a_mail(mail.as_bytes()), "{mail:?}");
        }
        let long = format!("{}: x", "a".repeat(HEADER_NAME_MAX));
        for other in
            ["", "\n", "hello", "two words: x", ": x", "%PDF-1.7\n:", "caf\u{e9}: x", "a\n: b", &long]
        {
            assert!(!is_a_mail(other.as_bytes()), "{other:?}");
        }
        assert!(is_a_mail(format!("{}: x", "a".repeat(HEADER_NAME_MAX - 1)).as_bytes()));
    }

    fn mails(bytes: &[u8]) -> Vec<Result<Vec<u8>, String>> {
        Mails::from_reader("x", Box::new(io::Cursor::new(bytes.to_vec()))).map(|i| i.raw).collect()
    }

    #[test]
    fn one_mail_an_empty_file_and_a_large_one() {
        assert_eq!(mails(b"Subject: a\n\nb\n"), [Ok(b"Subject: a\n\nb\n".to_vec())]);
        assert_eq!(mails(b""), [Ok(Vec::new())]);
        assert!(mails(&vec![b'x'; MAX_MAIL_BYTES + 1])[0].as_ref().unwrap_err().contains("larger"));
        assert!(mails(&vec![b'x'; MAX_MAIL_BYTES])[0].is_ok());
    }

    #[test]
    fn an_mbox_goes_on_after_a_mail_that_is_too_large() {
        let mut mbox =
            b"From a@b Mon\nSubject: 1\n\n>From here\n>>From there\nFrom me\n\nFrom a@b Mon\n".to_vec();
        mbox.extend(vec![b'y'; MAX_MAIL_BYTES + 10]);
        mbox.extend(b"\n\nFrom a@b Mon\nSubject: 3\n\nend\n");
        let found = mails(&mbox);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], Ok(b"Subject: 1\n\nFrom here\n>From there\nFrom me\n\n".to_vec()));
        assert!(found[1].is_err());
        assert_eq!(found[2], Ok(b"Subject: 3\n\nend\n".to_vec()));
    }

    #[test]
    fn a_maildir_gives_cur_and_new_in_order_of_delivery() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["cur", "new", "tmp"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        std::fs::write(dir.path().join("cur/2.host:2,S"), b"two").unwrap();
        std::fs::write(dir.path().join("new/1.host"), b"one").unwrap();
        std::fs::write(dir.path().join("tmp/3.host"), b"three").unwrap();
        let raw: Vec<_> =
            Mails::open(dir.path().to_str().unwrap()).unwrap().map(|i| i.raw.unwrap()).collect();
        assert_eq!(raw, [b"one".to_vec(), b"two".to_vec()]);
        assert!(Mails::open("/does/not/exist").is_err());
    }
}
