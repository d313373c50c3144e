//! The header block of a mail for proofs: parsed strictly, field by field, from the bytes themselves.
//!
//! A signature covers bytes, but facts are read by a lenient parser. Where the two could see different fields,
//! nothing is proven. So a block with anything unusual in it (a bare CR, NUL, a space before the colon, a line
//! without a colon) is refused as a whole. Called by `mail_proof` and `unsigned`.

use std::borrow::Cow;

/// Fields of one header block; a bank's alert has about thirty.
const MAX_FIELDS: usize = 500;

/// One field: its name, and its value from after the colon to the last line's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderField<'a> {
    pub name: &'a str,
    pub value: &'a [u8],
}

/// All fields, from top to bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    pub fields: Vec<HeaderField<'a>>,
}

/// The mail as it went over the wire: lines end in CRLF. Mailboxes and files keep bare LFs, which
/// were CRLFs when the mail was signed.
pub fn wire(raw: &[u8]) -> Cow<'_, [u8]> {
    let is_bare = |i: usize| raw[i] == b'\n' && (i == 0 || raw[i - 1] != b'\r');
    let bare = (0..raw.len()).filter(|i| is_bare(*i)).count();
    if bare == 0 {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len() + bare);
    for (i, byte) in raw.iter().enumerate() {
        if is_bare(i) {
            out.push(b'\r');
        }
        out.push(*byte);
    }
    Cow::Owned(out)
}

/// Reads the block of a mail whose lines end in CRLF. The error says, in words, what is unusual.
pub fn strict(wire: &[u8]) -> Result<Header<'_>, String> {
    let mut head = Header { fields: Vec::new() };
    let (mut start, mut at) = (0, 0);
    while at < wire.len() {
        let end = line_end(wire, at);
        let line = wire[at..end].strip_suffix(b"\r\n").unwrap_or(&wire[at..end]);
        if line.is_empty() {
            break;
        }
        if line.contains(&0) || line.contains(&b'\r') {
            return Err("its headers contain a NUL or a bare carriage return".into());
        }
        let folded = matches!(line[0], b' ' | b'\t');
        if folded && (at == 0 || line.iter().all(u8::is_ascii_whitespace)) {
            return Err("its headers have a continuation line where none is allowed".into());
        }
        if !folded {
            start = at;
        }
        at = end;
        // The field is complete when the next line is no continuation of it.
        if !matches!(wire.get(at), Some(b' ' | b'\t')) {
            if head.fields.len() >= MAX_FIELDS {
                return Err(format!("it has more than {MAX_FIELDS} headers"));
            }
            head.fields.push(field(&wire[start..at])?);
        }
    }
    Ok(head)
}

fn line_end(wire: &[u8], at: usize) -> usize {
    wire[at..].iter().position(|byte| *byte == b'\n').map_or(wire.len(), |n| at + n + 1)
}

fn field(bytes: &[u8]) -> Result<HeaderField<'_>, String> {
    let unusual = || "a header line has no name".to_owned();
    let colon = bytes.iter().position(|byte| *byte == b':').ok_or_else(unusual)?;
    let (name, value) = (&bytes[..colon], &bytes[colon + 1..]);
    match std::str::from_utf8(name) {
        Ok(name) if !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic()) => {
            Ok(HeaderField { name, value })
        }
        _ => Err(unusual()),
    }
}

impl<'a> Header<'a> {
    /// The fields of this name with their places, from the top down.
    pub fn named<'n>(&'n self, name: &'n str) -> impl Iterator<Item = (usize, HeaderField<'a>)> + 'n {
        self.fields.iter().copied().enumerate().filter(move |(_, f)| f.name.eq_ignore_ascii_case(name))
    }

    pub fn count(&self, name: &str) -> usize {
        self.named(name).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_folded_lines() {
        let raw = wire(b"From: a@b.example\nTo: x\n\ty\n\nBody: no field\n").into_owned();
        let head = strict(&raw).unwrap();
        let names: Vec<&str> = head.fields.iter().map(|f| f.name).collect();
        assert_eq!(names, ["From", "To"]);
        assert_eq!(head.fields[1].value, b" x\r\n\ty\r\n");
        assert_eq!((head.count("to"), head.count("Body")), (1, 0));
        assert!(matches!(wire(b"a\r\nb\r\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn whatever_two_parsers_could_read_differently_is_refused() {
        for bad in [
            &b"From : a@b.example\r\n\r\n"[..],
            b" From: a@b.example\r\n\r\n",
            b"From: a@b.example\r\n \r\nSubject: s\r\n\r\n",
            b"Fr\0om: a@b.example\r\n\r\n",
            b"From: a@b.example\rSubject: s\r\n\r\n",
            b"From a@b.example\r\nFrom: a@b.example\r\n\r\n",
            b": a\r\n\r\n",
        ] {
            assert!(strict(bad).is_err(), "{:?}", String::from_utf8_lossy(bad));
        }
        let many = "A: b\r\n".repeat(MAX_FIELDS + 1);
        assert!(strict(many.as_bytes()).unwrap_err().contains("more than"));
    }
}
