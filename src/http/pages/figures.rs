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
    let text = moment(at);
    match text.split_once(", ") {
        Some((_, clock)) if is_near(at, now) => clock.to_owned(),
        _ => text,
    }
}

/// `14:35` of this day, `tomorrow, 14:35`, or the day with the time.
pub fn day_clock(at: Timestamp, now: Timestamp) -> String {
    let text = moment(at);
    match text.split_once(", ") {
        Some((_, clock)) if at.lagos_day() == now.lagos_day() => clock.to_owned(),
        Some((_, clock)) if at.lagos_day() == now.lagos_day() + 1 => format!("tomorrow, {clock}"),
        _ => text,
    }
}

/// `at 14:35`, or `on 11 Mar 2026, 14:35`.
pub fn at_clock(at: Timestamp, now: Timestamp) -> String {
    let word = if is_near(at, now) { "at" } else { "on" };
    format!("{word} {}", clock(at, now))
}

/// The same for a time before which nothing may happen: rounded up to the next minute.
pub fn clock_after(at: Timestamp, now: Timestamp) -> String {
    clock(whole_minute(at), now)
}

pub fn at_clock_after(at: Timestamp, now: Timestamp) -> String {
    at_clock(whole_minute(at), now)
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
pub struct Piece<'a> {
    pub text: &'a str,
    /// It is the number, with the sign after it.
    pub is_number: bool,
}

/// The text, with every occurrence of `number` as a part of its own.
pub fn pieces<'a>(text: &'a str, number: &str) -> Vec<Piece<'a>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(number).filter(|_| !number.is_empty()) {
        let (before, from) = rest.split_at(at);
        let end = from[number.len()..].find(' ').map_or(from.len(), |blank| number.len() + blank);
        let (whole, after) = from.split_at(end);
        found.push(Piece { text: before, is_number: false });
        found.push(Piece { text: whole, is_number: true });
        rest = after;
    }
    found.push(Piece { text: rest, is_number: false });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_people_do() {
        let now = Timestamp::from_utc_date(2026, 3, 10).unwrap() + Span::hours(22);
        assert_eq!(clock(now + Span::minutes(30), now), "23:30");
        assert_eq!(clock(now + Span::hours(1), now), "00:00", "the next hour needs no day");
        assert_eq!(at_clock_after(now + Span::hours(1), now), "at 00:00");
        assert_eq!(day_clock(now + Span::minutes(30), now), "23:30");
        assert_eq!(day_clock(now + Span::hours(1), now), "tomorrow, 00:00");
        assert_eq!(day_clock(now + Span::hours(25), now), "12\u{a0}Mar\u{a0}2026, 00:00");
        let tomorrow = "11\u{a0}Mar\u{a0}2026, 00:10";
        assert_eq!(clock(now + Span::minutes(70), now), tomorrow);
        assert_eq!(at_clock(now + Span::minutes(70), now), format!("on {tomorrow}"));
        assert_eq!(at_clock_after(now + Span::minutes(30), now), "at 23:30");
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
        let told = |text: &str, number: &str| {
            let all = pieces(text, number).into_iter();
            all.map(|piece| format!("{}{}", if piece.is_number { "#" } else { "" }, piece.text))
                .collect::<Vec<_>>()
        };
        assert_eq!(told("to +234 803. It can", "+234"), ["to ", "#+234", " 803. It can"]);
        assert_eq!(told("to 42. Not 42", "42"), ["to ", "#42.", " Not ", "#42", ""]);
        assert_eq!(told("none", "42"), ["none"]);
        assert_eq!(told("none", ""), ["none"]);
    }
}
