//! Dates and times as banks write them, read into intervals of the bank's time.
//!
//! The day always comes first. Two-digit years are of this century. Times are Lagos time unless the text says
//! UTC. What is not shown stays open: a day without a time is the whole Lagos day. Only this room calls it.

use crate::domain::alert::{BankTime, TimePrecision};
use crate::domain::time::{Span, Timestamp};
use jiff::civil;

/// Longest text looked at; a date cell is far shorter.
const MAX_CHARS: usize = 200;
const LAGOS_SECONDS: i64 = crate::domain::time::LAGOS_OFFSET_SECONDS as i64;

/// A bank sends its mail within minutes of the transaction. The bank that was seen to confuse AM and PM also
/// wrote its local time as UTC into the Date.
const HALF_DAY_SLACK: Span = Span::minutes(75);

/// Hour, minute, and the second if shown.
pub type Clock = (i8, i8, Option<i8>);

/// What a text tells: a day, a time of day, and the zone if it is named.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShownTime {
    pub day: Option<civil::Date>,
    pub clock: Option<Clock>,
    /// Seconds east of UTC if named.
    pub offset: Option<i64>,
    /// The time is told with AM or PM.
    pub half: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(i32, usize),
    Word(String),
    Sign(char),
}

/// Reads a text. If it has two different dates or times, that part is `None`.
pub fn read(text: &str) -> ShownTime {
    let tokens = tokens(text);
    let mut days = Vec::new();
    let mut clocks = Vec::new();
    let mut offset = None;
    let mut halves = false;
    let mut i = 0;
    while i < tokens.len() {
        if let Some((day, used)) = day_at(&tokens[i..]) {
            days.push(day);
            i += used;
        } else if let Some((clock, used)) = clock_at(&tokens[i..]) {
            clocks.extend(clock);
            i += used;
            halves |= matches!(&tokens[i - 1], Token::Word(w) if half(w).is_some());
            if let Some((east, used)) = offset_at(&tokens[i..]) {
                offset = Some(east);
                i += used;
            }
        } else {
            i += 1;
        }
    }
    ShownTime { day: single(days), clock: single(clocks), offset, half: halves }
}

fn single<T: PartialEq + Copy>(found: Vec<T>) -> Option<T> {
    let first = *found.first()?;
    found.iter().all(|x| *x == first).then_some(first)
}

fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut chars = text.chars().take(MAX_CHARS).peekable();
    while let Some(c) = chars.next() {
        if c.is_ascii_digit() {
            let mut run = c.to_string();
            while let Some(d) = chars.next_if(char::is_ascii_digit) {
                run.push(d);
            }
            // A longer run is a reference, not a part of a date.
            let value = if run.len() <= 6 { run.parse().unwrap_or(-1) } else { -1 };
            out.push(Token::Number(value, run.len()));
        } else if c.is_alphabetic() {
            let mut run = c.to_lowercase().to_string();
            while let Some(d) = chars.next_if(|d| d.is_alphabetic()) {
                run.extend(d.to_lowercase());
            }
            out.push(Token::Word(run));
        } else if !c.is_whitespace() {
            out.push(Token::Sign(c));
        }
    }
    out
}

fn month(word: &str) -> Option<i32> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    if word.len() < 3 {
        return None;
    }
    let word = if word == "sept" { "sep" } else { word };
    NAMES.iter().position(|name| *name == word || &name[..3] == word).and_then(|i| i32::try_from(i + 1).ok())
}

fn date(year: i32, month: i32, day: i32) -> Option<civil::Date> {
    let year = if year < 100 { year + 2000 } else { year };
    if !(1990..=2200).contains(&year) {
        return None;
    }
    civil::Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// A date at the front, with the number of tokens it takes.
fn day_at(t: &[Token]) -> Option<(civil::Date, usize)> {
    use Token::{Number, Sign, Word};
    match t {
        [Number(y, 4), Sign(a @ ('-' | '/')), Number(m, 1..=2), Sign(b), Number(d, 1..=2), ..] if a == b => {
            Some((date(*y, *m, *d)?, 5))
        }
        [Number(d, 1..=2), Sign(a @ ('-' | '/' | '.')), Number(m, 1..=2), Sign(b), Number(y, 2 | 4), ..]
            if a == b =>
        {
            Some((date(*y, *m, *d)?, 5))
        }
        [Number(d, 1..=2), rest @ ..] => {
            let rest_at = skip_ordinal(rest);
            let (name, after) = match &rest[rest_at..] {
                [Word(name), ..] => (name, rest_at + 1),
                [Sign('-' | '/' | ','), Word(name), ..] => (name, rest_at + 2),
                _ => return None,
            };
            let month = month(name)?;
            let (year, used) = match &rest[after..] {
                [Number(_, 2), Sign(':'), ..] => return None,
                [Number(y, 2 | 4), ..] => (y, after + 1),
                [Sign('-' | '/' | ',' | '.'), Number(y, 2 | 4), ..] => (y, after + 2),
                _ => return None,
            };
            Some((date(*year, month, *d)?, used + 1))
        }
        [Word(name), Number(d, 1..=2), rest @ ..] => {
            let month = month(name)?;
            let at = skip_ordinal(rest);
            let (year, used) = match &rest[at..] {
                [Number(y, 4), ..] => (y, at + 1),
                [Sign(',' | '-'), Number(y, 4), ..] => (y, at + 2),
                _ => return None,
            };
            Some((date(*year, month, *d)?, used + 2))
        }
        _ => None,
    }
}

fn skip_ordinal(t: &[Token]) -> usize {
    usize::from(matches!(t, [Token::Word(w), ..] if matches!(w.as_str(), "st" | "nd" | "rd" | "th")))
}

/// A time of day at the front, with the number of tokens it takes. `0:0` stands for no time.
fn clock_at(t: &[Token]) -> Option<(Option<Clock>, usize)> {
    use Token::{Number, Sign, Word};
    if let [Number(0, 1), Sign(':'), Number(0, 1), ..] = t {
        return Some((None, 3));
    }
    let (hour, minute, second, used) = match t {
        [
            Number(h, 1..=2),
            Sign(':'),
            Number(m, 1..=2),
            Sign(':'),
            Number(s, 2),
            Sign('.'),
            Number(_, 1..=9),
            ..,
        ] => (*h, *m, Some(*s), 7),
        [Number(h, 1..=2), Sign(':'), Number(m, 1..=2), Sign(':'), Number(s, 1..=2), ..] => {
            (*h, *m, Some(*s), 5)
        }
        [Number(h, 1..=2), Sign(':'), Number(m, 1..=2), ..] => (*h, *m, None, 3),
        // A point instead of the colon needs am or pm, or it may be an amount.
        [Number(h, 1..=2), Sign('.'), Number(m, 2), Word(w), ..] if half(w).is_some() => (*h, *m, None, 3),
        _ => return None,
    };
    let mut used = used;
    let mut hour = hour;
    if let Some(Word(w)) = t.get(used)
        && let Some(afternoon) = half(w)
    {
        used += 1;
        // "15:29PM" is a 24-hour time; the PM means nothing.
        if hour <= 12 {
            hour = hour % 12 + if afternoon { 12 } else { 0 };
        }
    }
    let small = |n: i32, below: i32| (0..below).contains(&n).then_some(n).and_then(|n| i8::try_from(n).ok());
    let second = match second {
        Some(s) => Some(small(s, 60)?),
        None => None,
    };
    Some((Some((small(hour, 24)?, small(minute, 60)?, second)), used))
}

fn half(word: &str) -> Option<bool> {
    match word {
        "am" => Some(false),
        "pm" => Some(true),
        _ => None,
    }
}

fn offset_at(t: &[Token]) -> Option<(i64, usize)> {
    use Token::{Number, Sign, Word};
    match t {
        [Word(w), ..] if matches!(w.as_str(), "utc" | "gmt" | "z") => Some((0, 1)),
        [Word(w), ..] if w == "wat" => Some((LAGOS_SECONDS, 1)),
        [Sign(s @ ('+' | '-')), Number(h, 2), Sign(':'), Number(m, 2), ..] => {
            let east = i64::from(*h) * 3600 + i64::from(*m) * 60;
            Some((if *s == '-' { -east } else { east }, 4))
        }
        _ => None,
    }
}

/// The bank's time as an interval.
///
/// `date` is the mail's Date, given only when the caller trusts it; it narrows a bare day
/// (inside that day) and bounds an alert that shows no time. `now` is the first sight of the
/// mail: nothing happened later than that, unless the bank itself says so (then the interval
/// lies in the future and the decision sends it to review).
///
/// A bank was seen to write the wrong half of the day: a time with AM or PM that is twelve hours
/// before the trusted Date is an interval over both halves.
pub fn interval(shown: ShownTime, date: Option<Timestamp>, now: Timestamp) -> Option<BankTime> {
    let Some(day) = shown.day else {
        // A time of day alone means nothing without the day it belongs to.
        let end = date.map_or(now, |date| date.min(now));
        return Some(BankTime { begin: Timestamp::MIN, end, precision: TimePrecision::None });
    };
    let midnight = Timestamp::from_lagos(day.to_datetime(civil::Time::midnight()))?;
    let (begin, last, precision) = match shown.clock {
        Some((h, m, s)) => {
            let east = shown.offset.unwrap_or(LAGOS_SECONDS);
            let seconds = i64::from(h) * 3600 + i64::from(m) * 60 + i64::from(s.unwrap_or(0));
            let begin = Timestamp(midnight.0 + (seconds + LAGOS_SECONDS - east) * 1_000_000);
            let (long, precision) = match s {
                Some(_) => (999_999, TimePrecision::Second),
                None => (59_999_999, TimePrecision::Minute),
            };
            let late = begin + Span::hours(12);
            let wrong_half = shown.half && date.is_some_and(|d| (d.0 - late.0).abs() <= HALF_DAY_SLACK.0);
            let last = if wrong_half { late } else { begin };
            (begin, Timestamp(last.0 + long), precision)
        }
        None => {
            let last = Timestamp((midnight + Span::days(1)).0 - 1);
            let narrowed = date.filter(|date| *date >= midnight && *date <= last);
            (midnight, narrowed.unwrap_or(last), TimePrecision::Day)
        }
    };
    Some(BankTime { begin, end: last.min(now).max(begin), precision })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let s = read(text);
        let clock = s.clock.map_or(String::new(), |(h, m, sec)| match sec {
            Some(sec) => format!(" {h:02}:{m:02}:{sec:02}"),
            None => format!(" {h:02}:{m:02}"),
        });
        format!("{}{clock}", s.day.map_or("-".into(), |d| d.to_string()))
    }

    #[test]
    fn reads_the_banks_notations() {
        for (text, want) in [
            ("2026-07-30", "2026-07-30"),
            ("2026-07-30T19:33:11+01:00", "2026-07-30 19:33:11"),
            ("18/08/2026", "2026-08-18"),
            ("24-08-2026 17:04:07", "2026-08-24 17:04:07"),
            ("12-Jan-26 03:40 PM", "2026-01-12 15:40"),
            ("15-OCT-2015", "2015-10-15"),
            ("Aug 18, 2026 11:51:43 AM", "2026-08-18 11:51:43"),
            ("06 Oct, 2026 | 04:00:10 PM", "2026-10-06 16:00:10"),
            ("Sep 19th, 2026 22:37:34", "2026-09-19 22:37:34"),
            ("Tuesday, August 18, 2026 09:28:16 AM", "2026-08-18 09:28:16"),
            ("Mon, May 26, 2025 at 12:59 AM", "2025-05-26 00:59"),
            ("23/05/2026 6:21 AM", "2026-05-23 06:21"),
            ("today at 2.15pm", "- 14:15"),
            ("15:29PM", "- 15:29"),
            ("26-05-2026 0:0", "2026-05-26"),
            ("26/07/2022:5:47:35PM", "2022-07-26 17:47:35"),
            ("09/JUN/26 15:29PM", "2026-06-09 15:29"),
            ("26/JUL/2022 10:08:40", "2022-07-26 10:08:40"),
            ("7:15 AM 19-Apr-2022", "2022-04-19 07:15"),
            ("09-May-2022 @ 5:32 PM", "2022-05-09 17:32"),
            ("01-Jan-2000", "2000-01-01"),
            ("2026-03-06 11:26:39 AM", "2026-03-06 11:26:39"),
            ("18-JAN-2024 09:19:10 AM", "2024-01-18 09:19:10"),
            ("12:00 AM", "- 00:00"),
            ("12:31:02 PM", "- 12:31:02"),
            ("25-Mar-2025 14:30:00.", "2025-03-25 14:30:00"),
            ("31/02/2026", "-"),
            ("13/13/2026", "-"),
            ("5,432.10", "-"),
            ("01/02/2026 or 02/02/2026", "-"),
            ("100004260730180812", "-"),
        ] {
            assert_eq!(shown(text), want, "{text}");
        }
        assert_eq!(read("10/10/2026 - 5:33 PM UTC").offset, Some(0));
    }

    #[test]
    fn a_day_is_narrowed_only_by_a_trusted_date() {
        let now = Timestamp::from_utc_date(2026, 8, 1).unwrap();
        let day = read("2026-07-30");
        let noon = Timestamp::from_utc_date(2026, 7, 30).unwrap() + Span::hours(12);
        let open = interval(day, None, now).unwrap();
        assert_eq!(open.begin.to_string(), "2026-07-29T23:00:00.000000Z");
        assert_eq!(open.end.to_string(), "2026-07-30T22:59:59.999999Z");
        assert_eq!(interval(day, Some(noon), now).unwrap().end, noon);
        // A Date outside the shown day does not narrow it.
        assert_eq!(interval(day, Some(noon + Span::days(1)), now).unwrap().end, open.end);
    }

    #[test]
    fn the_wrong_half_of_the_day_is_borne_with() {
        let date = Timestamp::from_utc_date(2025, 5, 26).unwrap() + Span::hours(12) + Span::seconds(37);
        let shown = read("Mon, May 26, 2025 at 12:59 AM");
        let both = interval(shown, Some(date), Timestamp::MAX).unwrap();
        assert_eq!(both.begin.to_string(), "2025-05-25T23:59:00.000000Z");
        assert_eq!(both.end.to_string(), "2025-05-26T11:59:59.999999Z");
        let narrow = |shown, date| interval(shown, date, Timestamp::MAX).unwrap().end.to_string();
        let first = "2025-05-25T23:59:59.999999Z";
        assert_eq!(narrow(shown, None), first, "an unsigned Date says nothing");
        assert_eq!(narrow(shown, Some(date + Span::hours(2))), first, "not by twelve hours");
        assert_eq!(narrow(read("2025-05-26 00:59"), Some(date)), first, "without AM or PM there is no half");
    }

    #[test]
    fn nothing_ends_after_first_sight() {
        let now = Timestamp::from_utc_date(2026, 7, 30).unwrap() + Span::hours(9);
        assert_eq!(interval(read("2026-07-30"), None, now).unwrap().end, now);
        let none = interval(read("at 7:33:11 PM"), None, now).unwrap();
        assert_eq!((none.precision, none.end, none.begin), (TimePrecision::None, now, Timestamp::MIN));
        // The bank states a time in the future: kept as it is, for review.
        let ahead = interval(read("2026-07-31 10:00:00"), None, now).unwrap();
        assert!(ahead.begin > now && ahead.end == ahead.begin);
    }

    #[test]
    fn utc_is_an_hour_later_than_the_same_figures_in_lagos() {
        let now = Timestamp::MAX;
        let lagos = interval(read("10/10/2026 17:33"), None, now).unwrap();
        let utc = interval(read("10/10/2026 17:33 UTC"), None, now).unwrap();
        assert_eq!(utc.begin.0 - lagos.begin.0, 3_600_000_000);
        assert_eq!(lagos.end.0 - lagos.begin.0, 59_999_999);
    }
}
