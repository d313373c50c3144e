//! What may be shown on a terminal of what strangers wrote: text, line ends and tabs.
//!
//! Everything a terminal would act upon, and what hides or turns text, is written out as `\\u001b`,
//! the form of JSON, so that JSON stays what it is; a byte that is no text as `\\x9b`. A room of its own,
//! because commands and the service's log both show such text.

use std::borrow::Cow;
use std::fmt::Write;

/// Text for a terminal. Borrowed if there was nothing to write out.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| matches!(c, '\n' | '\t') || !acts(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    write_harmless(text, &mut shown);
    Cow::Owned(shown)
}

/// The same in one line, for a cell or a field.
pub fn harmless_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => shown.push(' '),
            c if acts(c) => escape(c, &mut shown),
            c => shown.push(c),
        }
    }
    shown
}

/// The same for bytes of which nobody knows that they are text.
pub fn harmless_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        write_harmless(chunk.valid(), &mut shown);
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// The same for a line of our own log, which may be coloured: the formatter has written out every escape
/// character of what it was given, so those that are left are its own.
pub fn harmless_log(line: &[u8]) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.windows(2).position(|two| two == b"\x1b[") {
        let (before, colour) = rest.split_at(at);
        shown.push_str(&harmless_bytes(before));
        let inside = colour[2..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        let end = 2 + inside;
        if colour.get(end) == Some(&b'm') {
            shown.extend(colour[..=end].iter().map(|byte| char::from(*byte)));
            rest = &colour[end + 1..];
        } else {
            shown.push_str(&harmless_bytes(&colour[..2]));
            rest = &colour[2..];
        }
    }
    shown.push_str(&harmless_bytes(rest));
    shown
}

/// The CR of a line's end goes: a terminal needs none.
fn write_harmless(text: &str, shown: &mut String) {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            c if acts(c) => escape(c, shown),
            c => shown.push(c),
        }
    }
}

fn escape(c: char, shown: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(shown, "\\u{unit:04x}");
    }
}

/// Controls (C0, DEL, C1), and characters that turn text around, take no room, or end a line unseen.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_upon_is_written_out() {
        assert!(matches!(harmless("Adé\n\tNGN 5,000"), Cow::Borrowed(_)));
        assert_eq!(harmless("a\u{1b}[2J\u{7}b\u{7f}\u{9b}"), "a\\u001b[2J\\u0007b\\u007f\\u009b");
        assert_eq!(
            harmless("\u{202e}cod\u{2066}\u{200b}\u{feff}\u{e0041}"),
            "\\u202ecod\\u2066\\u200b\\ufeff\\udb40\\udc41"
        );
        assert_eq!(harmless("one\r\ntwo\rthree"), "one\ntwo\\u000dthree");
        assert_eq!(harmless_line("one\r\ntwo\t\u{8}"), "one  two \\u0008");
        assert_eq!(harmless_bytes(b"a\x9b2J\xc3\xa9\xff\x1b"), "a\\x9b2Jé\\xff\\u001b");
    }

    #[test]
    fn json_with_something_written_out_is_the_same_json() {
        let json = serde_json::to_string("\u{9b}\u{202e}\u{e0041}\u{1b}\u{7f}").unwrap();
        let shown = harmless(&json);
        assert!(shown.is_ascii(), "{shown}");
        let (one, two): (String, String) =
            (serde_json::from_str(&json).unwrap(), serde_json::from_str(&shown).unwrap());
        assert_eq!(one, two);
    }

    #[test]
    fn a_log_keeps_its_colours_and_nothing_else() {
        let line = "\u{1b}[2mtime\u{1b}[0m \u{1b}[1;31mname\u{202e}\u{1b}[2J\u{1b}]0;x\u{7}\r\u{1b}[";
        assert_eq!(
            harmless_log(line.as_bytes()),
            "\u{1b}[2mtime\u{1b}[0m \u{1b}[1;31mname\\u202e\\u001b[2J\\u001b]0;x\\u0007\\u000d\\u001b["
        );
    }
}
