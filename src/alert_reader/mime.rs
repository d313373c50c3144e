//! Bounded reading of one raw mail: its headers and its readable parts, decoded.
//!
//! Limits are checked before anything is parsed. Attached mails are made unreadable on purpose: an alert inside
//! an attachment is somebody's copy and not the bank's mail. A panic of the parser is an error like others.
//! It judges nothing: see `authentic` and `extract`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mail_parser::{Address, HeaderName, Message, MessageParser, MessagePart, PartType};

use super::charset;
use crate::domain::time::Timestamp;

/// A larger mail is not an alert.
pub const MAX_MAIL_BYTES: usize = 1024 * 1024;
/// Top header block, folded lines included.
pub const MAX_HEADER_BYTES: usize = 64 * 1024;
/// Parts in one mail, counted by their Content-Type headers.
pub const MAX_PARTS: usize = 100;
/// Depth of multiparts inside multiparts.
pub const MAX_DEPTH: usize = 10;
/// HTML handed to the HTML parser.
pub const MAX_HTML_BYTES: usize = 256 * 1024;
/// Text of one part; a bank's text part is under 10 KB.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Text and HTML of all parts together: the largest HTML part with its text beside it.
pub const MAX_SHOWN_BYTES: usize = MAX_HTML_BYTES + MAX_TEXT_BYTES / 2;
/// Layers of quoted-printable inside quoted-printable or base64; some relays add one.
const MAX_WRAPPINGS: usize = 2;
/// Encoders break lines at 76 characters, `=` included, and some a few characters earlier.
const SHORTEST_BROKEN: usize = 70;
const LONGEST_PRINTABLE: usize = 80;
/// Recipients kept.
const MAX_RECIPIENTS: usize = 50;
/// Authentication-Results kept; only the topmost counts.
const MAX_VERDICTS: usize = 10;

/// One readable part.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Text(String),
    Html(String),
}

/// A parsed mail.
#[derive(Clone, Debug, Default)]
pub struct ParsedMail {
    /// Every address of every From header, lower case; exactly one in an honest mail.
    pub from: Vec<String>,
    pub from_headers: usize,
    pub to: Vec<String>,
    pub subject: Option<String>,
    pub date: Option<Timestamp>,
    pub message_id: Option<String>,
    /// Authentication-Results from the top down.
    pub verdicts: Vec<String>,
    pub bodies: Vec<Body>,
    /// Oddities because of which only a person may approve.
    pub doubts: Vec<String>,
    /// Some text may not be what its sender wrote: decoding it was not certain.
    pub undecoded: bool,
    /// Remarks for the operator that change nothing.
    pub notes: Vec<String>,
}

/// Parses a mail. The error says in words why nothing can be read.
pub fn open(raw: &[u8]) -> Result<ParsedMail, String> {
    if raw.iter().all(u8::is_ascii_whitespace) {
        return Err("empty".into());
    }
    if raw.len() > MAX_MAIL_BYTES {
        return Err(format!("the mail is larger than {MAX_MAIL_BYTES} bytes"));
    }
    let head = header_length(raw);
    if head > MAX_HEADER_BYTES {
        return Err(format!("its headers are larger than {MAX_HEADER_BYTES} bytes"));
    }
    let Blinded { bytes, types, attached } = blind_attached_mails(raw);
    if types > MAX_PARTS {
        return Err(format!("the mail has more than {MAX_PARTS} parts"));
    }
    let opened = catch_unwind(AssertUnwindSafe(|| match MessageParser::default().parse(&bytes) {
        Some(message) => collect(&message),
        None => Err("the mail has no headers".into()),
    }));
    let mut mail = opened.unwrap_or_else(|_| Err("the mail's structure cannot be parsed".into()))?;
    if attached {
        mail.notes.push("an attached mail was not read".into());
    }
    Ok(mail)
}

/// The one From address of a mail, lower case; `None` where there is none or several.
pub(crate) fn only_from(raw: &[u8]) -> Option<String> {
    let head = &raw[..(header_length(raw) + 2).min(raw.len())];
    let message = MessageParser::default().parse_headers(head)?;
    let mut values = message.header_values(HeaderName::From);
    let from = addresses(values.next()?.as_address()?);
    match &from[..] {
        [one] if values.next().is_none() => Some(one.clone()),
        _ => None,
    }
}

/// Length of the first header block.
pub(crate) fn header_length(raw: &[u8]) -> usize {
    let mut at = 0;
    while let Some(end) = raw[at..].iter().position(|b| *b == b'\n') {
        let line = &raw[at..at + end];
        if line.is_empty() || line == b"\r" {
            return at;
        }
        at += end + 1;
    }
    raw.len()
}

struct Blinded {
    bytes: Vec<u8>,
    /// Lines that begin a Content-Type header.
    types: usize,
    attached: bool,
}

/// Rewrites the types of attached mails (`message/rfc822`, digests) inside Content-Type headers, so that the
/// parser treats them as opaque data and never nests. Nested mails would be dropped recursively, and ten
/// thousand of them overflow the stack, which `catch_unwind` cannot catch.
fn blind_attached_mails(raw: &[u8]) -> Blinded {
    let mut bytes = raw.to_vec();
    let (mut types, mut attached, mut inside, mut at) = (0, false, false, 0);
    while at < bytes.len() {
        let end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n + 1);
        let line = &mut bytes[at..end];
        let folded = line.first().is_some_and(|b| matches!(b, b' ' | b'\t'));
        if !folded {
            inside = line.len() > 12 && line[..12].eq_ignore_ascii_case(b"content-type");
            types += usize::from(inside);
        }
        if inside {
            for word in [&b"rfc822"[..], b"global", b"digest"] {
                for i in 0..line.len().saturating_sub(word.len() - 1) {
                    if line[i..i + word.len()].eq_ignore_ascii_case(word) {
                        line[i] = b'x';
                        attached = true;
                    }
                }
            }
        }
        at = end;
    }
    Blinded { bytes, types, attached }
}

fn collect(message: &Message<'_>) -> Result<ParsedMail, String> {
    if depth(message) > MAX_DEPTH {
        return Err(format!("its parts are nested deeper than {MAX_DEPTH} levels"));
    }
    let (subject, odd) = message.subject().map(super::text_table::clean).unzip();
    let mut mail = ParsedMail {
        subject: subject.map(|s| s.trim().to_owned()),
        doubts: odd.into_iter().flat_map(super::text_table::Oddities::doubts).map(str::to_owned).collect(),
        date: message.date().map(|d| Timestamp(d.to_timestamp().saturating_mul(1_000_000))),
        message_id: message.message_id().map(str::to_owned),
        ..ParsedMail::default()
    };
    for name in [HeaderName::Subject, HeaderName::Date, HeaderName::ContentType] {
        if message.header_values(name.clone()).nth(1).is_some() {
            mail.doubts.push(format!("the mail has several {} headers", name.as_str()));
        }
    }
    if let Some(odd) = message.header_raw(HeaderName::Subject).and_then(charset::subject_doubt) {
        mail.subject = None;
        mail.doubts.push(odd);
    }
    for value in message.header_values(HeaderName::From) {
        mail.from_headers += 1;
        mail.from.extend(value.as_address().map(addresses).unwrap_or_default());
    }
    for value in message.header_values(HeaderName::To) {
        mail.to.extend(value.as_address().map(addresses).unwrap_or_default());
    }
    mail.to.truncate(MAX_RECIPIENTS);
    mail.verdicts = message
        .headers_raw()
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("authentication-results"))
        .map(|(_, value)| value.split_whitespace().collect::<Vec<_>>().join(" "))
        .take(MAX_VERDICTS)
        .collect();
    // Parts without a Content-Type of their own were not counted before.
    if message.parts.len() > MAX_PARTS {
        return Err(format!("the mail has more than {MAX_PARTS} parts"));
    }
    let mut shown = 0;
    for part in &message.parts {
        take_part(message, part, &mut mail)?;
    }
    for body in &mail.bodies {
        let (Body::Text(text) | Body::Html(text)) = body;
        shown += text.len();
    }
    if shown > MAX_SHOWN_BYTES {
        return Err(format!("its parts have more than {MAX_SHOWN_BYTES} bytes of text in total"));
    }
    if mail.bodies.is_empty() {
        return Err("the mail has no readable text or HTML part".into());
    }
    Ok(mail)
}

fn depth(message: &Message<'_>) -> usize {
    // Parts come in document order, parents first, so one pass finds every level.
    let mut level = vec![0_usize; message.parts.len()];
    for (i, part) in message.parts.iter().enumerate() {
        for child in part.sub_parts().unwrap_or_default() {
            let child = *child as usize;
            if child > i && child < level.len() {
                level[child] = level[i] + 1;
            }
        }
    }
    level.into_iter().max().unwrap_or(0)
}

fn addresses(address: &Address<'_>) -> Vec<String> {
    address
        .iter()
        .map(|a| a.address.as_deref().unwrap_or_default().trim().to_ascii_lowercase())
        .take(MAX_RECIPIENTS)
        .collect()
}

fn take_part(message: &Message<'_>, part: &MessagePart<'_>, mail: &mut ParsedMail) -> Result<(), String> {
    use mail_parser::MimeHeaders;
    // A part with a file name is a file, whatever its disposition says.
    if part.content_disposition().is_some_and(|d| d.is_attachment()) || part.attachment_name().is_some() {
        return Ok(());
    }
    let plain = part.content_type().is_none_or(|t| {
        t.ctype().eq_ignore_ascii_case("text")
            && t.subtype().is_none_or(|s| s.eq_ignore_ascii_case("plain") || s.eq_ignore_ascii_case("html"))
    });
    let (text, html) = match &part.body {
        PartType::Text(text) if plain => (text, false),
        PartType::Html(text) => (text, true),
        PartType::Multipart(_) => {
            doubt_undecoded(mail, charset::transfer_doubt(part));
            return Ok(());
        }
        _ => return Ok(()),
    };
    if part.is_encoding_problem {
        return Err("a part's transfer encoding is invalid".into());
    }
    let limit = if html { MAX_HTML_BYTES } else { MAX_TEXT_BYTES };
    if text.len() > limit {
        return Err(format!("a part is larger than {limit} bytes"));
    }
    let mut text = text.to_string();
    let mut decoded = part.encoding == mail_parser::Encoding::QuotedPrintable;
    for _ in 0..MAX_WRAPPINGS {
        let Some(inner) = unwrap_quoted_printable(&text) else { break };
        mail.notes.push("quoted-printable text was decoded although no header declares it".into());
        if !is_surely_printable(&text) {
            mail.doubts.push(
                "an equals sign at the end of a line joins two rows; the payer may have typed it".into(),
            );
        }
        (text, decoded) = (inner, true);
    }
    if !decoded && let Some(mended) = remove_residue(&text, html) {
        mail.notes.push("remains of a transfer encoding were removed".into());
        text = mended;
    }
    if text.contains('\u{FFFD}') {
        doubt_undecoded(mail, ["some characters could not be decoded".to_owned()]);
    }
    doubt_undecoded(mail, charset::doubts(message, part, &text));
    if charset::is_refused(message, part, &text) {
        // The mail still has this part, but it is empty.
        mail.bodies.push(Body::Text(String::new()));
        return Ok(());
    }
    if text.trim().is_empty() {
        return Ok(());
    }
    mail.bodies.push(if html { Body::Html(text) } else { Body::Text(text) });
    Ok(())
}

fn doubt_undecoded(mail: &mut ParsedMail, doubts: impl IntoIterator<Item = String>) {
    let before = mail.doubts.len();
    mail.doubts.extend(doubts);
    mail.undecoded |= mail.doubts.len() > before;
}

/// Decodes text that is still quoted-printable: every `=` is followed by two hexadecimal digits or ends a line,
/// and there is a soft break or an encoded character beyond ASCII, which nobody types. `None` if it is not, or
/// if it encodes characters that mail programs need not encode: a payer can type escapes into a narration, and
/// they must not become rows or tags.
fn unwrap_quoted_printable(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let hex = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let mut out = Vec::with_capacity(text.len());
    let mut encoded = false;
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] != b'=' {
            out.push(bytes[i]);
            i += 1;
            continue;
        }
        match &bytes[i + 1..] {
            [b'\r', b'\n', ..] => (i, encoded) = (i + 3, true),
            [b'\n', ..] => (i, encoded) = (i + 2, true),
            [] => i += 1,
            [a, b, ..] => {
                let byte = hex(*a)? * 16 + hex(*b)?;
                if byte.is_ascii_control() || b"<>&\"'".contains(&byte) {
                    return None;
                }
                encoded |= !byte.is_ascii();
                out.push(byte);
                i += 3;
            }
            _ => return None,
        }
    }
    if !encoded {
        return None;
    }
    let breaks_lines = |c: char| !c.is_ascii() && (c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'));
    String::from_utf8(out).ok().filter(|text| !text.contains(breaks_lines))
}

/// Whether a text looks encoded on more lines than a payer can type: there is evidence on three lines, or on
/// two and lines are broken only where they are long, as encoders do it. A repeated line counts once, and what
/// follows a break belongs to the line before. Without a broken line nothing is joined.
fn is_surely_printable(text: &str) -> bool {
    let lines = || text.lines().map(str::trim_end);
    let mut encoded = std::collections::BTreeSet::new();
    let (mut open, mut counted) = (false, false);
    for line in lines() {
        counted = open && counted;
        if line.contains('=') && !counted {
            encoded.insert(line);
            counted = true;
        }
        open = line.ends_with('=');
    }
    let long = |line: &str| (SHORTEST_BROKEN..=LONGEST_PRINTABLE).contains(&line.len());
    let mut broken = lines().filter(|line| line.ends_with('=')).peekable();
    broken.peek().is_none() || encoded.len() >= 3 || encoded.len() == 2 && broken.all(long)
}

/// Removes `=20` and `= ` that a relay left after turning soft breaks into spaces. In HTML only
/// between the tags: inside them `= ` is an attribute written with a space.
fn remove_residue(text: &str, html: bool) -> Option<String> {
    let encoded_blank = text.split_whitespace().any(|word| word == "=20" || word.ends_with("=20"));
    let loose_break = text
        .as_bytes()
        .windows(3)
        .any(|w| matches!(w, [a, b'=', b' '] if a.is_ascii_alphanumeric() || *a == b' '));
    if !encoded_blank && (html || !loose_break) {
        return None;
    }
    let mend =
        |text: &str| text.replace("=20", " ").replace("=3D", "\u{1}").replace("= ", "").replace('\u{1}', "=");
    if !html {
        return Some(mend(text));
    }
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive('>') {
        let tag = piece.find('<').unwrap_or(piece.len());
        out.push_str(&mend(&piece[..tag]));
        out.push_str(&piece[tag..]);
    }
    (out != text).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(headers: &str, body: &str) -> Vec<u8> {
        format!("From: Till <till@shop.example>\r\nSubject: s\r\n{headers}\r\n{body}").into_bytes()
    }

    fn text_of(mail: &ParsedMail) -> &str {
        match &mail.bodies[0] {
            Body::Text(t) | Body::Html(t) => t,
        }
    }

    #[test]
    fn limits_are_reasons_not_panics() {
        assert_eq!(open(b"").unwrap_err(), "empty");
        assert_eq!(open(b"\r\n\r\n").unwrap_err(), "empty");
        assert!(open(&vec![b'x'; MAX_MAIL_BYTES + 1]).unwrap_err().contains("larger"));
        let long = made(&format!("X-Long: {}\r\n", "y".repeat(MAX_HEADER_BYTES)), "hi");
        assert!(open(&long).unwrap_err().contains("headers are larger"));
        let html = made("Content-Type: text/html\r\n", &"a".repeat(MAX_HTML_BYTES + 1));
        assert!(open(&html).unwrap_err().contains("a part is larger"));
    }

    #[test]
    fn ten_thousand_nested_parts_are_refused() {
        for kind in ["multipart/mixed; boundary=b", "message/rfc822", "multipart/digest; boundary=b"] {
            let mut raw = String::from("From: a@b.example\r\n");
            for _ in 0..10_000 {
                raw.push_str(&format!("Content-Type: {kind}\r\n\r\n--b\r\n"));
            }
            assert!(open(raw.as_bytes()).unwrap_err().contains("parts"), "{kind}");
        }
        let mut deep = String::from("From: a@b.example\r\n");
        for i in 0..20 {
            deep.push_str(&format!("Content-Type: multipart/mixed; boundary=b{i}\r\n\r\n--b{i}\r\n"));
        }
        deep.push_str("\r\nhello\r\n");
        for i in (0..20).rev() {
            deep.push_str(&format!("--b{i}--\r\n"));
        }
        assert!(open(deep.as_bytes()).unwrap_err().contains("nested"));
    }

    #[test]
    fn mails_nested_inside_an_encoded_attachment_do_not_overflow_the_stack() {
        use base64::Engine;
        let nested = "Content-Type: message/rfc822\r\n\r\n".repeat(20_000);
        let encoded = base64::engine::general_purpose::STANDARD.encode(nested);
        let headers = "Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n";
        assert!(open(&made(headers, &encoded)).unwrap_err().contains("no readable"));
    }

    #[test]
    fn an_attached_mail_is_never_read() {
        let body = "--q\r\nContent-Type: text/plain\r\n\r\nsee below\r\n--q\r\nContent-Type: message/RFC822\r\n\r\n\
                    From: bank@bank.example\r\nContent-Type: text/plain\r\n\r\nCredited 500\r\n--q--\r\n";
        let mail = open(&made("Content-Type: multipart/mixed; boundary=q\r\n", body)).unwrap();
        assert_eq!(mail.bodies, vec![Body::Text("see below".into())]);
        let file = "--q\r\nContent-Type: text/plain\r\n\r\nhello\r\n--q\r\nContent-Type: text/plain; name=\"a.txt\"\r\n\r\nCredited 500\r\n--q--\r\n";
        let with_file = open(&made("Content-Type: multipart/mixed; boundary=q\r\n", file)).unwrap();
        assert_eq!(with_file.bodies, vec![Body::Text("hello".into())]);
        assert_eq!(mail.from, vec!["till@shop.example"]);
        assert!(mail.notes[0].contains("attached"));
    }

    #[test]
    fn decodes_what_was_left_encoded() {
        let soft =
            open(&made("Content-Type: text/plain\r\n", "Bal 1,250.4=\r\n0 and =E2=82=A6\r\n")).unwrap();
        assert_eq!(text_of(&soft).trim(), "Bal 1,250.40 and ₦");
        // base64 around quoted-printable
        let wrapped =
            open(&made("Content-Transfer-Encoding: base64\r\n", "QW1vdW50OiA1PQ0KMDA9MkMwMA0K\r\n")).unwrap();
        assert_eq!(text_of(&wrapped).trim(), "Amount: 500,00");
        let residue = open(&made("", "=20 \r\nTRF FOR = SHOP OWN= ER=20\r\n")).unwrap();
        assert_eq!(text_of(&residue).trim(), "TRF FOR SHOP OWNER");
        // What a payer typed into a narration makes neither rows nor tags.
        for typed in [
            "JOHN=0AAmount : NGN 900,000.00=0ARemarks : =E2=82=A6=",
            "JOHN =3Ctd=3E=E2=82=A6",
            "A=26#10;=E2=82=A6",
            "A=C2=85B",
        ] {
            let narration =
                open(&made("", &format!("Narration : {typed}\r\nAmount : NGN 50.00\r\n"))).unwrap();
            assert_eq!(text_of(&narration).trim().lines().count(), 2, "{typed}");
            assert!(!text_of(&narration).contains('<'), "{typed}");
        }
        // One `=` at the end of one line joins rows, and does not prove an encoding.
        let rest = "Currency : USD\r\nBalance : 5\r\n";
        let wide = "x".repeat(60);
        for typed in ["ADA OBI=", "ADA =E2=82=A6=", "ADA=20=", &format!("{wide}="), &format!("{wide}=3D=")] {
            let narration = open(&made("", &format!("Narration : {typed}\r\n{rest}"))).unwrap();
            assert!(
                narration.doubts.iter().any(|d| d.contains("joins two rows")),
                "{typed}: {:?}",
                narration.doubts
            );
        }
        let copied = format!("Narration : A=\r\n{rest}Narration : A=\r\n{rest}Remarks : B=\r\n{rest}");
        assert!(!open(&made("", &copied)).unwrap().doubts.is_empty());
        let short = "Acc=\r\nount : 1\r\nNarration : A=\r\nB\r\nBalance : 1=\r\n7\r\n";
        assert_eq!(open(&made("", short)).unwrap().doubts, Vec::<String>::new());
        let long = format!("Narration : {wide}=\r\nyz\r\nBalance : =E2=82=A6 5\r\n");
        let honest = open(&made("", &long)).unwrap();
        assert_eq!(honest.doubts, Vec::<String>::new());
        assert!(text_of(&honest).contains("xyz"));
        let plain = open(&made("", "a=b ref=AB12\r\n")).unwrap();
        assert_eq!(text_of(&plain).trim(), "a=b ref=AB12");
    }

    #[test]
    fn broken_mails_have_a_reason_or_a_doubt() {
        let missing = made("Content-Type: multipart/mixed\r\n", "--x\r\n\r\nhello\r\n--x--\r\n");
        assert!(open(&missing).is_err());
        let mut charset = made("Content-Type: text/plain; charset=utf-8\r\n", "Amount ");
        charset.extend([0xA3, 0xE9, b'5']);
        assert!(open(&charset).unwrap().doubts[0].contains("decoded"));
        let two = open(b"From: a@x.example\r\nFrom: b@y.example\r\n\r\nhello").unwrap();
        assert_eq!((two.from_headers, two.from.len()), (2, 2));
    }
}
