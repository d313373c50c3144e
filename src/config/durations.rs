//! Lengths of time in settings: `90s`, `15m`, `24h`, `2d`, `250ms`.
//!
//! A bare number is read too, so that whoever forgot the unit is told of it and not of the file's format.

use serde::Deserialize;

use super::{ConfigError, wrong};
use crate::domain::time::Span;

/// What a length of time is, for whoever wrote something else.
const WANTED: &str =
    "a duration: a whole number with the unit ms, s, m, h or d, such as \"90s\", \"15m\", \"24h\" or \"2d\"";

/// As it stands in the file or the environment.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a duration such as \"15m\"")]
pub(super) enum Given {
    Text(String),
    Whole(i64),
    Number(f64),
}

/// Reads `90s`, `15m`, `24h`, `2d`, `250ms`.
pub fn parse_span(text: &str) -> Option<Span> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: i64 = number.parse().ok()?;
    let unit = match unit {
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return None,
    };
    number.checked_mul(unit).map(Span)
}

pub(super) fn span(key: &str, given: Option<Given>, default: Span) -> Result<Span, ConfigError> {
    let refused = |given: String| ConfigError(format!("{key} = {given} is not {WANTED}"));
    match given {
        None => Ok(default),
        Some(Given::Text(text)) => parse_span(&text).ok_or_else(|| wrong(key, &text, WANTED)),
        Some(Given::Whole(number)) => Err(refused(number.to_string())),
        Some(Given::Number(number)) => Err(refused(number.to_string())),
    }
}
