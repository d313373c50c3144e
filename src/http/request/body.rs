//! Reads a request's body: at most 64 KiB, JSON, an object, not nested deeper than 32.
//!
//! Members stay raw tokens of the text, so that an amount is read exactly as it was written. A member given
//! twice is refused (400), because we must not guess which of two amounts was meant. What is wrong is a
//! [`BodyProblem`]; `validate` decides what the members mean.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::domain::money::Money;
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::ApiError;

/// A larger body is refused.
pub const BODY_MAX: usize = 64 * 1024;
/// Bytes of a larger body that are read and dropped, so that the client sees the answer.
const DROPPED_MAX: usize = 1024 * 1024;
/// A body that takes longer is given up on.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Objects and lists inside one another, the outermost counted.
pub const NESTING_MAX: usize = 32;

/// A longer word that is not JSON is not shown.
const WORD_SHOWN: usize = 40;

/// Some editors write it before the first character; JSON has no place for it (RFC 8259, 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why there are no fields to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyProblem {
    TooLarge,
    Slow,
    /// The client stopped sending.
    CutShort,
    /// The Content-Type is another one than JSON.
    NotJson,
    Empty,
    Broken {
        line: usize,
        column: usize,
        what: String,
    },
    NotAnObject,
    Twice(String),
}

impl BodyProblem {
    /// Whether the body might have held a key, had it been readable: then the problem is told even
    /// to callers who showed none elsewhere.
    pub fn hides_key(&self) -> bool {
        match self {
            BodyProblem::TooLarge
            | BodyProblem::Slow
            | BodyProblem::CutShort
            | BodyProblem::Broken { .. }
            | BodyProblem::Twice(_) => true,
            BodyProblem::NotJson | BodyProblem::Empty | BodyProblem::NotAnObject => false,
        }
    }
}

impl From<BodyProblem> for ApiError {
    fn from(problem: BodyProblem) -> ApiError {
        match problem {
            BodyProblem::TooLarge => ApiError::body_too_large(),
            BodyProblem::Slow => ApiError::body_timeout(),
            BodyProblem::CutShort => ApiError::body_cut_short(),
            BodyProblem::NotJson => {
                ApiError::new(Code::UnsupportedMediaType, "The Content-Type must be application/json")
            }
            BodyProblem::Empty => {
                ApiError::new(Code::InvalidJson, "The body is not valid JSON: it is empty (line 1, column 1)")
            }
            BodyProblem::Broken { line, column, what } => ApiError::new(
                Code::InvalidJson,
                format!("The body is not valid JSON: {what} (line {line}, column {column})"),
            ),
            BodyProblem::NotAnObject => {
                ApiError::field("body", FieldCode::NotAnObject, "The body must be a JSON object.")
            }
            BodyProblem::Twice(name) => ApiError::new(
                Code::DuplicateField,
                format!("The body contains the field {name:?} more than once"),
            ),
        }
    }
}

/// Reads the whole body, or as much as tells that it is too large.
pub async fn read(body: Body) -> Result<Bytes, BodyProblem> {
    read_within(body, BODY_TIMEOUT).await
}

async fn read_within(body: Body, limit: Duration) -> Result<Bytes, BodyProblem> {
    match tokio::time::timeout(limit, collect(body)).await {
        Ok(result) => result,
        Err(_) => Err(BodyProblem::Slow),
    }
}

async fn collect(mut body: Body) -> Result<Bytes, BodyProblem> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BodyProblem::CutShort)?.into_data() else { continue };
        length += data.len();
        if length > DROPPED_MAX {
            return Err(BodyProblem::TooLarge);
        }
        if length > BODY_MAX {
            (first, rest) = (Bytes::new(), BytesMut::new());
        } else if first.is_empty() {
            // Nearly every body comes in one piece, which then needs no copy.
            first = data;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&data);
        }
    }
    match () {
        () if length > BODY_MAX => Err(BodyProblem::TooLarge),
        () if rest.is_empty() => Ok(first),
        () => Ok(rest.freeze()),
    }
}

/// Whether the Content-Type is `application/json`, parameters aside.
pub fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// The members of the body's object, as they are written.
#[derive(Debug, Default)]
pub struct Fields<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Fields<'a> {
    /// The raw token of a member; `None` when it is absent or `null`.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        let (_, raw) = self.members.iter().find(|(member, _)| member == name)?;
        Some(raw.get()).filter(|token| *token != "null")
    }

    /// SHA-256 of method, path and members, the same for every way to write the same body: order
    /// and whitespace do not count, `5000` is `5000.00`. `api_key` is left out: a rotated key repeats
    /// the same request.
    pub fn fingerprint(&self, method: &str, path: &str) -> [u8; 32] {
        let mut members: Vec<(&str, String)> = self
            .members
            .iter()
            .filter(|(name, _)| name != "api_key")
            .map(|(name, raw)| (name.as_ref(), canonical(raw.get())))
            .collect();
        members.sort();
        let mut hash = Sha256::new();
        for part in [method, path].into_iter().chain(members.iter().flat_map(|(name, value)| [*name, value]))
        {
            // Lengths keep the parts apart.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().into()
    }
}

/// One notation per value. Objects inside come out with their members sorted.
fn canonical(token: &str) -> String {
    if token.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return Money::parse(token).map_or_else(|_| token.to_owned(), |money| money.to_string());
    }
    match serde_json::from_str::<serde_json::Value>(token) {
        Ok(value) => value.to_string(),
        // A text with half a surrogate pair is no value, but still the same request when repeated.
        Err(_) => token.to_owned(),
    }
}

/// Reads the members; the Content-Type has been looked at.
pub fn parse(bytes: &[u8]) -> Result<Fields<'_>, BodyProblem> {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        return Err(BodyProblem::Broken {
            line: 1,
            column: 1,
            what: "it starts with a byte-order mark".into(),
        });
    }
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace()).ok_or(BodyProblem::Empty)?;
    check_nesting(bytes)?;
    if *first != b'{' {
        return match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
            Ok(_) => Err(BodyProblem::NotAnObject),
            Err(error) => Err(broken(&error, bytes)),
        };
    }
    let fields = serde_json::from_slice::<Fields<'_>>(bytes).map_err(|error| broken(&error, bytes))?;
    // A set: a body of thousands of members must not cost the square of them, key or no key.
    let mut seen = HashSet::with_capacity(fields.members.len());
    for (name, _) in &fields.members {
        if !seen.insert(name.as_ref()) {
            return Err(BodyProblem::Twice(name.chars().take(80).collect()));
        }
    }
    Ok(fields)
}

fn broken(error: &serde_json::Error, bytes: &[u8]) -> BodyProblem {
    let text = error.to_string();
    // serde_json appends the place; it is told apart from the text here.
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    let what = match what.strip_prefix("EOF while parsing ") {
        Some(inside) => format!("it ends inside {inside}"),
        None if what.ends_with("hex escape") => {
            "a field's name has an unpaired surrogate (\\ud800 to \\udfff)".into()
        }
        None if matches!(what, "expected value" | "expected ident") => {
            match word_at(bytes, error.line(), error.column()) {
                Some(word) => format!("`{word}` is not a JSON value"),
                None => "a value is expected here".into(),
            }
        }
        None if what == "key must be a string" => "a field's name must be in double quotes".into(),
        None if what == "trailing characters" => "something follows the end of the object".into(),
        None => what.to_owned(),
    };
    BodyProblem::Broken { line: error.line(), column: error.column(), what }
}

/// The bare word at or just before a place; `None` where there is none, or one too long to be a slip.
fn word_at(bytes: &[u8], line: usize, column: usize) -> Option<String> {
    let text = bytes.split(|byte| *byte == b'\n').nth(line.checked_sub(1)?)?;
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'.');
    let near = column.min(text.len());
    let begin = text[..near].iter().rposition(is_part).filter(|at| at + 2 >= near)?;
    let from = text[..begin].iter().rposition(|byte| !is_part(byte)).map_or(0, |at| at + 1);
    let until = text[begin..].iter().position(|byte| !is_part(byte)).map_or(text.len(), |at| begin + at);
    let word = &text[from..until];
    (word.len() <= WORD_SHOWN).then(|| word.iter().map(|byte| char::from(*byte)).collect())
}

/// Counts brackets outside of strings. The parser's own limit is another number, and raw tokens
/// pass it by.
fn check_nesting(bytes: &[u8]) -> Result<(), BodyProblem> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > NESTING_MAX {
                    let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
                    let column =
                        at - bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |n| n + 1);
                    let what = format!("it is nested deeper than {NESTING_MAX} levels");
                    return Err(BodyProblem::Broken { line, column: column + 1, what });
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Fields<'a>, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut members = Vec::with_capacity(12);
                while let Some(name) = map.next_key::<Name<'de>>()? {
                    members.push((name.0, map.next_value::<&'de RawValue>()?));
                }
                Ok(Fields { members })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A member's name, borrowed unless it was written with escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Name<'de>, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a name")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests;
