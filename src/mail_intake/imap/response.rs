//! Parses what an IMAP server sends: lines with literals in, values out (RFC 3501).
//!
//! Pure and bounded: no IO, no recursion deeper than [`DEPTH_MAX`]. It understands only the responses that are
//! needed to read a mailbox; the caller skips all others. Numbers are not trusted beyond their type. Used by
//! `session` alone.

use crate::domain::time::Timestamp;

/// Depth of nested lists; the FETCH responses that are used need two.
const DEPTH_MAX: usize = 8;

/// One value of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word, a number, a flag, `BODY[]`, NIL.
    Atom(String),
    /// A quoted string or a literal.
    Text(Vec<u8>),
    List(Vec<Token>),
}

impl Token {
    pub fn atom(&self) -> Option<&str> {
        match self {
            Token::Atom(word) => Some(word),
            _ => None,
        }
    }

    pub fn number(&self) -> Option<u64> {
        self.atom()?.parse().ok()
    }

    fn is(&self, word: &str) -> bool {
        self.atom().is_some_and(|atom| atom.eq_ignore_ascii_case(word))
    }
}

/// The state of a command, or of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Ok,
    No,
    Bad,
    Bye,
    PreAuth,
}

/// One response, by its first word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// `+ text`
    Continue,
    /// `tag OK text`
    Tagged { tag: String, condition: Condition, text: String },
    /// `* OK [CODE] text`
    Status { condition: Condition, text: String },
    /// `* 12 EXISTS`, `* 12 FETCH (...)`
    Numbered { number: u64, word: String, rest: Vec<Token> },
    /// `* SEARCH 1 2 3`, `* CAPABILITY ...`
    Data { word: String, rest: Vec<Token> },
}

/// Whether a line that begins like this may hold literals. Texts for people may end in anything.
pub fn may_hold_literals(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"* ") else { return false };
    let word: Vec<u8> = rest.iter().take(8).take_while(|b| **b != b' ').map(u8::to_ascii_uppercase).collect();
    !matches!(&word[..], b"OK" | b"NO" | b"BAD" | b"BYE" | b"PREAUTH")
}

/// The length of a literal that a line announces at its end: `{123}`.
pub fn announced(line: &[u8]) -> Option<u64> {
    let inner = line.strip_suffix(b"}")?;
    let open = inner.iter().rposition(|b| *b == b'{')?;
    let digits = inner[open + 1..].strip_suffix(b"+").unwrap_or(&inner[open + 1..]);
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Parses a whole response: its lines without the last CRLF, with literals in their places. The error says in
/// words what cannot be understood.
pub fn parse(bytes: &[u8]) -> Result<Response, String> {
    let odd = |what: &str| format!("{what}: {}", excerpt(bytes));
    if bytes == b"+" || bytes.starts_with(b"+ ") {
        return Ok(Response::Continue);
    }
    let Some(rest) = bytes.strip_prefix(b"* ") else {
        let text = String::from_utf8_lossy(bytes);
        let (tag, rest) = text.split_once(' ').ok_or_else(|| odd("not a response"))?;
        let (condition, text) = condition(rest).ok_or_else(|| odd("not a response"))?;
        return Ok(Response::Tagged { tag: tag.to_owned(), condition, text });
    };
    if !may_hold_literals(bytes) {
        let (condition, text) =
            condition(&String::from_utf8_lossy(rest)).ok_or_else(|| odd("not a response"))?;
        return Ok(Response::Status { condition, text });
    }
    let mut scan = Scan { bytes: rest, at: 0 };
    let mut tokens = scan.tokens(0).ok_or_else(|| odd("cannot be parsed"))?.into_iter();
    let first = tokens.next().ok_or_else(|| odd("an empty response"))?;
    if let Some(number) = first.number() {
        let word = tokens.next().and_then(|token| token.atom().map(str::to_ascii_uppercase));
        let word = word.ok_or_else(|| odd("a number without a response name"))?;
        return Ok(Response::Numbered { number, word, rest: tokens.collect() });
    }
    let word =
        first.atom().ok_or_else(|| odd("it does not begin with a response name"))?.to_ascii_uppercase();
    Ok(Response::Data { word, rest: tokens.collect() })
}

/// The beginning of a server's response, safe for a log.
pub fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(120)]).into_owned();
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn condition(text: &str) -> Option<(Condition, String)> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let condition = match word.to_ascii_uppercase().as_str() {
        "OK" => Condition::Ok,
        "NO" => Condition::No,
        "BAD" => Condition::Bad,
        "BYE" => Condition::Bye,
        "PREAUTH" => Condition::PreAuth,
        _ => return None,
    };
    Some((condition, excerpt(rest.as_bytes())))
}

/// The number of a response code, as in `[UIDNEXT 4392] Predicted next UID`.
pub fn code_number(text: &str, code: &str) -> Option<u64> {
    let inner = text.strip_prefix('[')?.split(']').next()?;
    let (word, number) = inner.split_once(' ')?;
    if word.eq_ignore_ascii_case(code) { number.trim().parse().ok() } else { None }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Values up to the end, or up to the `)` that ends this list.
    fn tokens(&mut self, depth: usize) -> Option<Vec<Token>> {
        if depth > DEPTH_MAX {
            return None;
        }
        let mut all = Vec::new();
        loop {
            match self.peek() {
                None if depth == 0 => return Some(all),
                None => return None,
                Some(b')') if depth > 0 => {
                    self.at += 1;
                    return Some(all);
                }
                Some(b' ') => self.at += 1,
                Some(b'(') => {
                    self.at += 1;
                    all.push(Token::List(self.tokens(depth + 1)?));
                }
                Some(b'"') => all.push(Token::Text(self.quoted()?)),
                Some(b'{') => all.push(Token::Text(self.literal()?)),
                Some(_) => all.push(self.atom()?),
            }
        }
    }

    fn quoted(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        self.at += 1;
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(text),
                b'\\' => {
                    text.push(self.peek()?);
                    self.at += 1;
                }
                b'\r' | b'\n' => return None,
                other => text.push(other),
            }
        }
    }

    fn literal(&mut self) -> Option<Vec<u8>> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|b| *b == b'\r')?;
        let length = usize::try_from(announced(&rest[..end])?).ok()?;
        let begin = self.at + end + 2;
        let text = self.bytes.get(begin..begin.checked_add(length)?)?.to_vec();
        self.at = begin + length;
        Some(text)
    }

    /// `BODY[HEADER]<0>` is one word: text in brackets may hold spaces.
    fn atom(&mut self) -> Option<Token> {
        let begin = self.at;
        let mut brackets = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'[' => brackets += 1,
                b']' => brackets = brackets.saturating_sub(1),
                b' ' | b'(' | b')' | b'"' if brackets == 0 => break,
                b'\r' | b'\n' => return None,
                _ => {}
            }
            self.at += 1;
        }
        if self.at == begin {
            return None; // a `)` that closes nothing
        }
        Some(Token::Atom(String::from_utf8_lossy(&self.bytes[begin..self.at]).into_owned()))
    }
}

/// The result of a FETCH for one mail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    pub uid: Option<u32>,
    pub size: Option<u64>,
    pub arrived_at: Option<Timestamp>,
    pub body: Option<Vec<u8>>,
}

/// Reads the list of a `* n FETCH (...)`.
pub fn fetched(rest: Vec<Token>) -> Fetched {
    let mut mail = Fetched::default();
    let Some(Token::List(items)) = rest.into_iter().next() else { return mail };
    let mut items = items.into_iter();
    while let (Some(name), Some(value)) = (items.next(), items.next()) {
        if name.is("UID") {
            mail.uid = value.number().and_then(|n| u32::try_from(n).ok());
        } else if name.is("RFC822.SIZE") {
            mail.size = value.number();
        } else if name.is("INTERNALDATE") {
            if let Token::Text(text) = &value {
                mail.arrived_at = internal_date(text);
            }
        } else if name.atom().is_some_and(|word| word.to_ascii_uppercase().starts_with("BODY[]"))
            && let Token::Text(text) = value
        {
            mail.body = Some(text);
        }
    }
    mail
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// `17-Jul-1996 02:44:25 -0700`, perhaps with a space before the day.
pub fn internal_date(text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (date, rest) = text.split_once(' ')?;
    let (time, zone) = rest.split_once(' ')?;
    let mut date = date.split('-');
    let day: u8 = date.next()?.parse().ok()?;
    let month = date.next()?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let year: u16 = date.next()?.parse().ok()?;
    let mut clock = time.split(':').map(|part| part.parse::<i64>().ok().filter(|n| (0..=60).contains(n)));
    let (hours, minutes, seconds) = (clock.next()??, clock.next()??, clock.next()??);
    let (sign, digits) = match zone.as_bytes().first()? {
        b'+' => (1, &zone[1..]),
        b'-' => (-1, &zone[1..]),
        _ => return None,
    };
    if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits: i64 = digits.parse().ok()?;
    let offset = sign * (digits / 100 * 3600 + digits % 100 * 60);
    let midnight = Timestamp::from_utc_date(
        i16::try_from(year).ok()?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
    )?;
    Some(Timestamp(midnight.0 + (hours * 3600 + minutes * 60 + seconds - offset) * 1_000_000))
}

/// The day of a time as SEARCH takes it, `1-Feb-2026`.
pub fn search_day(at: Timestamp) -> String {
    let text = at.to_string(); // 2026-02-01T...
    let month: usize = text.get(5..7).and_then(|m| m.parse().ok()).unwrap_or(1);
    let name = MONTHS[(month - 1) % 12];
    let name = format!("{}{}", name[..1].to_ascii_uppercase(), &name[1..]);
    let day = text.get(8..10).unwrap_or("01").trim_start_matches('0');
    format!("{day}-{name}-{}", text.get(..4).unwrap_or("1970"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetch_is_taken_apart() {
        let text = b"* 12 FETCH (FLAGS (\\Seen) UID 4827 RFC822.SIZE 44 INTERNALDATE \" 7-Jul-2026 02:44:25 +0100\" BODY[]<0> {5}\r\n)\"\r\nx)";
        let Ok(Response::Numbered { number: 12, word, rest }) = parse(text) else { panic!() };
        assert_eq!(word, "FETCH");
        let mail = fetched(rest);
        assert_eq!((mail.uid, mail.size), (Some(4827), Some(44)));
        assert_eq!(mail.body.as_deref(), Some(&b")\"\r\nx"[..]));
        assert_eq!(mail.arrived_at.unwrap().to_string(), "2026-07-07T01:44:25.000000Z");
    }

    #[test]
    fn conditions_and_codes() {
        assert_eq!(
            parse(b"* OK [UIDNEXT 17] {5}").unwrap(),
            Response::Status { condition: Condition::Ok, text: "[UIDNEXT 17] {5}".into() }
        );
        assert_eq!(code_number("[UIDNEXT 17] next", "uidnext"), Some(17));
        assert_eq!(code_number("[UIDVALIDITY 17] next", "uidnext"), None);
        assert_eq!(parse(b"+ idling").unwrap(), Response::Continue);
        let Ok(Response::Tagged { tag, condition: Condition::No, text }) = parse(b"A1 NO what\x1b") else {
            panic!()
        };
        assert_eq!((tag.as_str(), text.as_str()), ("A1", "what "));
    }

    #[test]
    fn literals_are_announced_in_data_only() {
        assert_eq!(announced(b"* 1 FETCH (BODY[] {12}"), Some(12));
        assert_eq!(announced(b"* 1 FETCH (BODY[] {}"), None);
        assert_eq!(announced(b"* 1 FETCH (BODY[] {99999999999999999999}"), None);
        assert!(may_hold_literals(b"* 1 FETCH (BODY[] {12}"));
        assert!(!may_hold_literals(b"* ok odd {12}") && !may_hold_literals(b"A1 OK {12}"));
    }

    #[test]
    fn nonsense_is_an_error_and_no_panic() {
        for text in [
            &b""[..],
            b"*",
            b"* ",
            b"* 1",
            b"* )",
            b"* 1 FETCH (",
            b"* 1 FETCH ((((((((((((",
            b"* 1 FETCH (BODY[] {9}\r\nshort)",
            b"* SEARCH \"open",
            b"hello",
            b"\xff\xfe\x00",
            b"A1 MAYBE",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        for text in [
            &b"1-Foo-2026 00:00:00 +0000"[..],
            b"1-Jan-2026",
            b"1-Jan-2026 00:00 +0000",
            b"-",
            b"1-Jan-2026 99:00:00 +0000",
        ] {
            assert_eq!(internal_date(text), None);
        }
    }

    #[test]
    fn days_are_written_as_search_takes_them() {
        assert_eq!(search_day(Timestamp::from_utc_date(2026, 2, 1).unwrap()), "1-Feb-2026");
        assert_eq!(search_day(Timestamp::from_utc_date(2026, 11, 21).unwrap()), "21-Nov-2026");
    }
}
