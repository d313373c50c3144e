//! Whether a part can be read as its own headers say: its charset and its transfer encoding.
//!
//! Where the parser does not know the charset or encoding that is stated, it takes the bytes as they are, and
//! would read letters and figures that are in them by chance. Such a part becomes a doubt here, so that a
//! person looks. A part that different programs read differently is not read. Decodes nothing. Called by
//! `mime`.

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::{HeaderName, HeaderValue, Message, MessagePart, MimeHeaders};

/// Names of UTF-8, for which the parser has no decoder because it needs none.
const UTF_8: [&str; 5] = ["utf-8", "utf8", "utf_8", "unicode-1-1-utf-8", "csutf8"];
/// In these the bytes of ASCII may mean something else, or other bytes the same: one program reads a
/// sum where another reads none, and no bank was seen to use them. The parser loses signs of UTF-7, and no
/// program that people use decodes it any more. UTF-16 alone is read, where it surely is what it says.
const NOT_LIKE_ASCII: [&str; 10] =
    ["utf-7", "utf-16", "utf-32", "utf7", "utf16", "ucs", "unicode", "iso-2022", "csiso2022", "hz-gb"];
const TRANSFER_ENCODINGS: [&str; 5] = ["7bit", "8bit", "binary", "base64", "quoted-printable"];
/// Signs of two bytes each, lower bytes first unless a mark says otherwise.
const UTF_16: [&str; 4] = ["utf-16", "utf16", "utf-16le", "utf-16be"];
/// Characters of a header that a doubt shows.
const SHOWN_MAX: usize = 40;

/// What is wrong with the text of a part, in words.
pub(super) fn doubts(message: &Message<'_>, part: &MessagePart<'_>, text: &str) -> Vec<String> {
    charset_doubt(message, part, text).into_iter().chain(transfer_doubt(part)).collect()
}

/// Whether nothing may be read from a part that was decoded to this text.
pub(super) fn is_refused(message: &Message<'_>, part: &MessagePart<'_>, text: &str) -> bool {
    let name = part.content_type().and_then(|t| t.attribute("charset")).unwrap_or_default();
    let name = name.trim().to_ascii_lowercase();
    let dashed = name.replace('_', "-");
    // The others are kept as their bytes are, with the doubt.
    let decoded = ["utf", "ucs", "unicode", "iso-10646"].iter().any(|start| {
        dashed.trim_start_matches("cs").starts_with(start) && charset_decoder(name.as_bytes()).is_some()
    });
    decoded && is_other(&name) && !is_utf_16(&name, message, part, text)
}

/// A subject that holds words in a charset which is not read.
pub(super) fn subject_doubt(raw: &str) -> Option<String> {
    let odd = charsets_of_words(raw).into_iter().find(|name| {
        let name = name.trim().to_ascii_lowercase();
        let known = UTF_8.contains(&name.as_str()) || charset_decoder(name.as_bytes()).is_some();
        is_other(&name) || !known
    })?;
    Some(format!("the subject uses the charset {}, which is not supported", shown(odd)))
}

/// The charsets of the encoded words of a header (RFC 2047), also of what only begins like one.
fn charsets_of_words(raw: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = raw;
    while let Some(at) = rest.find("=?") {
        rest = &rest[at + 2..];
        out.extend(rest.split(['?', '*']).next());
        // Padding of base64 comes before the end of a word, and never begins one.
        let mut parts = rest.splitn(4, '?').skip(2);
        if let (Some(text), Some(after)) = (parts.next(), parts.next())
            && let Some(after) = after.strip_prefix('=')
            && !text.contains("=?")
        {
            rest = after;
        }
    }
    out
}

/// The bytes of ASCII may mean something else in it.
fn is_other(name: &str) -> bool {
    let dashed = name.replace('_', "-");
    let bare = dashed.trim_start_matches("cs");
    NOT_LIKE_ASCII.iter().any(|start| bare.starts_with(start)) && !UTF_8.contains(&name)
        || dashed.starts_with("iso-10646")
}

/// Whether a part that says so is UTF-16, and was decoded the right way round: read the other way, or made of
/// single bytes, letters and figures become signs of East Asia.
fn is_utf_16(name: &str, message: &Message<'_>, part: &MessagePart<'_>, text: &str) -> bool {
    let place = part.raw_body_offset() as usize..part.raw_end_offset() as usize;
    let raw = message.raw_message.get(place).unwrap_or_default();
    let halved = part.encoding == mail_parser::Encoding::Base64
        && base64_decode(raw).is_none_or(|bytes| bytes.len() % 2 != 0);
    let usual = |c: char| !matches!(c, '\u{A0D}' | '\u{2E80}'..='\u{F8FF}' | '\u{FFFD}'..);
    UTF_16.contains(&name.replace('_', "-").as_str()) && !halved && text.chars().all(usual)
}

/// The transfer encoding is not one that was undone. Also of parts that hold parts.
pub(super) fn transfer_doubt(part: &MessagePart<'_>) -> Option<String> {
    let mut told = part.headers.iter().filter(|h| h.name == HeaderName::ContentTransferEncoding);
    let first = told.next()?;
    if told.next().is_some() {
        return Some("a part has two Content-Transfer-Encoding headers".into());
    }
    let value = match &first.value {
        HeaderValue::Text(text) => text.trim(),
        _ => "",
    };
    let known = TRANSFER_ENCODINGS.iter().any(|name| value.eq_ignore_ascii_case(name));
    (!known).then(|| format!("a part has the unknown transfer encoding {}", shown(value)))
}

fn charset_doubt(message: &Message<'_>, part: &MessagePart<'_>, text: &str) -> Option<String> {
    let mut types = part.headers.iter().filter(|header| header.name == HeaderName::ContentType);
    let header = types.next()?;
    if types.next().is_some() {
        return Some("a part has two Content-Type headers".into());
    }
    let place = header.offset_start as usize..header.offset_end as usize;
    let raw = message.raw_message.get(place).map(String::from_utf8_lossy).unwrap_or_default();
    if has_open_quote(&raw) {
        return Some("a part's Content-Type has an unclosed quote".into());
    }
    let attributes = part.content_type().and_then(|t| t.attributes()).unwrap_or_default();
    let mut charsets = attributes.iter().filter(|one| one.name.eq_ignore_ascii_case("charset"));
    let Some(charset) = charsets.next() else {
        let meant = raw.to_ascii_lowercase().contains("charset");
        return meant.then(|| "a part's charset cannot be parsed".to_owned());
    };
    if charsets.next().is_some() {
        return Some("a part names two charsets".into());
    }
    let name = charset.value.trim().to_ascii_lowercase();
    let other = is_other(&name) && !is_utf_16(&name, message, part, text);
    if UTF_8.contains(&name.as_str()) || charset_decoder(name.as_bytes()).is_some() && !other {
        return None;
    }
    Some(format!("a part uses the charset {}, which is not supported", shown(&name)))
}

/// A quote that is never closed: programs disagree on where its text ends.
fn has_open_quote(value: &str) -> bool {
    let (mut open, mut escaped) = (false, false);
    for c in value.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if open => escaped = true,
            '"' => open = !open,
            _ => {}
        }
    }
    open
}

fn shown(value: &str) -> String {
    format!("\"{}\"", value.chars().take(SHOWN_MAX).collect::<String>().escape_debug())
}
