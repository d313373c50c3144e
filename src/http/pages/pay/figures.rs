//! Times, counts and numbers as a page writes them.

use std::fmt::Write;

use crate::domain::message::lagos_time;
use crate::domain::time::{Span, Timestamp};

/// `10 Mar 2026, 14:35`; the day is not broken over two lines.
pub fn moment(at: Timestamp) -> String {
    match lagos_time(at).split_once(", ") {
        Some((day, clock)) => format!("{}, {clock}", unbroken(day)),
        None => at.to_string(),
    }
}

/// Up to this long before a time of tomorrow, its day is not written.
const SOON: Span = Span::hours(1);

/// The time alone tells it: of this day in Lagos, or within the hour.
fn is_near(at: Timestamp, now: Timestamp) -> bool {
    at.lagos_day() == now.lagos_day() || (now <= at && at <= now + SOON)
}

/// `14:35`, with the day before it where it is another one than `now`'s and not within the hour.
pub fn clock(at: Timestamp, now: Timestamp) -> String {
    if is_near(at, now) { of_day(at) } else { day(at, now) }
}

/// `14:35` of this day, `tomorrow, 14:35`, or the day with the time.
pub fn day_clock(at: Timestamp, now: Timestamp) -> String {
    if at.lagos_day() == now.lagos_day() { of_day(at) } else { day(at, now) }
}

/// `today, 14:35`, and the same for the days around it; else the day with the time.
pub fn day(at: Timestamp, now: Timestamp) -> String {
    let word = match at.lagos_day() - now.lagos_day() {
        -1 => "yesterday",
        0 => "today",
        1 => "tomorrow",
        _ => return moment(at),
    };
    format!("{word}, {}", of_day(at))
}

/// `14:35`.
fn of_day(at: Timestamp) -> String {
    let text = moment(at);
    text.split_once(", ").map_or(text.clone(), |(_, clock)| clock.to_owned())
}

/// `at 14:35`, `tomorrow, 14:35`, or `on 12 Mar 2026, 14:35`.
pub fn at_clock(at: Timestamp, now: Timestamp) -> String {
    let text = clock(at, now);
    match text.bytes().next() {
        Some(first) if first.is_ascii_alphabetic() => text,
        _ if is_near(at, now) => format!("at {text}"),
        _ => format!("on {text}"),
    }
}

/// The same for a time before which nothing may happen: rounded up to the next minute.
pub fn clock_after(at: Timestamp, now: Timestamp) -> String {
    clock(whole_minute(at), now)
}

fn whole_minute(at: Timestamp) -> Timestamp {
    const MINUTE: i64 = 60_000_000;
    Timestamp(at.0.saturating_add(MINUTE - 1).div_euclid(MINUTE) * MINUTE)
}

/// `23 minutes left`, rounded down, so that nobody is promised too much.
pub fn left(until: Timestamp, now: Timestamp) -> String {
    match until.since(now).0 / 60_000_000 {
        0 => "less than a minute left".to_owned(),
        1 => "1 minute left".to_owned(),
        minutes => format!("{minutes} minutes left"),
    }
}

/// Seconds until then, the one that has begun included; at least one.
pub fn whole_seconds(until: Timestamp, now: Timestamp) -> i64 {
    (until.since(now).0.saturating_add(999_999) / 1_000_000).max(1)
}

/// `1 try`, `3 tries`.
pub fn tries(count: i64) -> String {
    let mut text = count.to_string();
    let _ = write!(text, " {}", if count == 1 { "try" } else { "tries" });
    text
}

/// With non-breaking spaces: a masked number, an amount or a day is hard to read over two lines.
pub fn unbroken(phone: &str) -> String {
    phone.replace(' ', "\u{a0}")
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    Text(&'a str),
    /// The customer's number, with the sign after it.
    Number(&'a str),
    /// How the operator is reached.
    Reach(&'a str),
}

/// The text with `number` and `reach` apart, wherever they stand. One that is empty is not looked for.
pub fn pieces<'a>(text: &'a str, number: &str, reach: &str) -> Vec<Piece<'a>> {
    let mut found = Vec::new();
    let mut rest = text;
    let first = |rest: &str, part: &str| rest.find(part).filter(|_| !part.is_empty());
    loop {
        let (at, is_number) = match (first(rest, number), first(rest, reach)) {
            (Some(number), Some(reach)) if reach < number => (reach, false),
            (Some(number), _) => (number, true),
            (None, Some(reach)) => (reach, false),
            (None, None) => break,
        };
        let (before, from) = rest.split_at(at);
        let end = match is_number {
            true => from[number.len()..].find(' ').map_or(from.len(), |blank| number.len() + blank),
            false => reach.len(),
        };
        let (whole, after) = from.split_at(end);
        found.push(Piece::Text(before));
        found.push(if is_number { Piece::Number(whole) } else { Piece::Reach(whole) });
        rest = after;
    }
    found.push(Piece::Text(rest));
    found
}

/// Digits of a phone number that can be dialled; a short one of a network has three.
const DIALLED: std::ops::RangeInclusive<usize> = 3..=15;

/// Where a tap on this leads, if it is one phone number or one mail address and nothing else.
pub fn reach_link(support: &str) -> Option<String> {
    let digits = support.chars().filter(char::is_ascii_digit).count();
    let is_dialled = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '-' | '(' | ')' | '.');
    if DIALLED.contains(&digits) && support.strip_prefix('+').unwrap_or(support).chars().all(is_dialled) {
        let plus = if support.starts_with('+') { "+" } else { "" };
        return Some(format!("tel:{plus}{}", support.replace(|c: char| !c.is_ascii_digit(), "")));
    }
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_+".contains(&b))
    };
    let (name, host) = support.split_once('@')?;
    (is_part(name) && is_part(host) && host.contains('.')).then(|| format!("mailto:{support}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_people_do() {
        let now = Timestamp::from_utc_date(2026, 3, 10).unwrap() + Span::hours(22);
        assert_eq!(clock(now + Span::minutes(30), now), "23:30");
        assert_eq!(clock(now + Span::hours(1), now), "00:00", "the next hour needs no day");
        assert_eq!(at_clock(now + Span::hours(1), now), "at 00:00");
        assert_eq!(day_clock(now + Span::minutes(30), now), "23:30");
        assert_eq!(day_clock(now + Span::hours(1), now), "tomorrow, 00:00");
        assert_eq!(day_clock(now + Span::hours(25), now), "12\u{a0}Mar\u{a0}2026, 00:00");
        assert_eq!(clock(now + Span::minutes(70), now), "tomorrow, 00:10");
        assert_eq!(at_clock(now + Span::minutes(70), now), "tomorrow, 00:10");
        assert_eq!(at_clock(now + Span::days(2), now), "on 12\u{a0}Mar\u{a0}2026, 23:00");
        assert_eq!(at_clock(now + Span::minutes(30), now), "at 23:30");
        assert_eq!(day(now - Span::minutes(30), now), "today, 22:30");
        assert_eq!(day(now - Span::hours(24), now), "yesterday, 23:00");
        assert_eq!(day(now - Span::hours(48), now), "8\u{a0}Mar\u{a0}2026, 23:00");
        assert_eq!(clock_after(now + Span::minutes(30), now), "23:30");
        assert_eq!(clock_after(now + Span::minutes(30) + Span(1), now), "23:31");
        for (seconds, text) in [
            (-5, "less than a minute left"),
            (59, "less than a minute left"),
            (60, "1 minute left"),
            (119, "1 minute left"),
            (1800, "30 minutes left"),
        ] {
            assert_eq!(left(Timestamp(now.0 + seconds * 1_000_000), now), text);
        }
        assert_eq!((tries(1), tries(4)), ("1 try".to_owned(), "4 tries".to_owned()));
        for (micros, seconds) in [(-5, 1), (1, 1), (1_000_001, 2), (60_000_000, 60)] {
            assert_eq!(whole_seconds(Timestamp(now.0 + micros), now), seconds);
        }
    }

    #[test]
    fn a_number_stands_apart_with_its_sign() {
        let told = |text: &str, number: &str, reach: &str| {
            let all = pieces(text, number, reach).into_iter();
            all.map(|piece| match piece {
                Piece::Text(text) => text.to_owned(),
                Piece::Number(text) => format!("#{text}"),
                Piece::Reach(text) => format!("@{text}"),
            })
            .collect::<Vec<_>>()
        };
        assert_eq!(told("to +234 803. It can", "+234", ""), ["to ", "#+234", " 803. It can"]);
        assert_eq!(told("to 42. Not 42", "42", ""), ["to ", "#42.", " Not ", "#42", ""]);
        assert_eq!(told("ask Kudi (07). To 42.", "42", "07"), ["ask Kudi (", "@07", "). To ", "#42.", ""]);
        assert_eq!(told("none", "42", "07"), ["none"]);
        assert_eq!(told("none", "", ""), ["none"]);
    }

    #[test]
    fn a_number_or_an_address_can_be_tapped() {
        for (support, link) in [
            ("0700 555 0100", Some("tel:07005550100")),
            ("+234 (700) 555-0100", Some("tel:+2347005550100")),
            ("300", Some("tel:300")),
            ("help@kudi.example", Some("mailto:help@kudi.example")),
            ("0700 555 0100 or help@kudi.example", None),
            ("0700 555 0100 <b>", None),
            ("help@kudi.example?subject=x", None),
            ("+", None),
            ("at the desk", None),
        ] {
            assert_eq!(reach_link(support).as_deref(), link, "{support}");
        }
    }
}
