//! Time as the database and the API know it: microseconds since 1970, UTC.
//!
//! The domain never asks what time it is; `now` is an argument everywhere. The clock
//! itself lives in `crate::clock`. Lagos is UTC+1 the whole year and has been since 1919,
//! so a bank's local time needs no time zone database.

use std::fmt;

/// Lagos is one hour ahead of UTC, without daylight saving.
pub const LAGOS_OFFSET_SECONDS: i32 = 3600;

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// A length of time in microseconds; never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub i64);

impl Span {
    pub const fn seconds(n: i64) -> Span {
        Span(n * 1_000_000)
    }
    pub const fn millis(n: i64) -> Span {
        Span(n * 1_000)
    }
    pub const fn minutes(n: i64) -> Span {
        Span::seconds(n * 60)
    }
    pub const fn hours(n: i64) -> Span {
        Span::minutes(n * 60)
    }
    pub const fn days(n: i64) -> Span {
        Span::hours(n * 24)
    }
    /// Doubled so many times, up to `most`: how long to wait after another failure.
    pub fn doubled(self, times: i64, most: Span) -> Span {
        let factor = 1_i64 << times.clamp(0, 62);
        Span(self.0.saturating_mul(factor)).min(most)
    }
    /// For timers; a negative span is no wait at all.
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_micros(u64::try_from(self.0).unwrap_or(0))
    }
}

impl std::ops::Add<Span> for Timestamp {
    type Output = Timestamp;
    fn add(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_add(span.0))
    }
}

impl std::ops::Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl std::ops::Sub<Span> for Timestamp {
    type Output = Timestamp;
    fn sub(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_sub(span.0))
    }
}

impl Timestamp {
    /// The earliest instant the database is asked about.
    pub const MIN: Timestamp = Timestamp(0);
    /// The latest: 9999-01-01, so that every stored time can be written as RFC 3339.
    pub const MAX: Timestamp = Timestamp(253_370_764_800_000_000);

    /// Start of a UTC day; `None` for a date that does not exist.
    pub fn from_utc_date(year: i16, month: i8, day: i8) -> Option<Timestamp> {
        let date = jiff::civil::Date::new(year, month, day).ok()?;
        let zoned = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(Timestamp(zoned.timestamp().as_microsecond()))
    }

    /// A civil date and time in Lagos.
    pub fn from_lagos(at: jiff::civil::DateTime) -> Option<Timestamp> {
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::Offset::from_seconds(LAGOS_OFFSET_SECONDS).ok()?);
        Some(Timestamp(at.to_zoned(zone).ok()?.timestamp().as_microsecond()))
    }

    /// The day in Lagos this instant falls on, as days since 1970-01-01.
    pub const fn lagos_day(self) -> i64 {
        (self.0 + LAGOS_OFFSET_SECONDS as i64 * 1_000_000).div_euclid(86_400_000_000)
    }

    /// Midnight in Lagos at which a day begins, counted as [`Timestamp::lagos_day`] does.
    pub const fn begin_of_lagos_day(day: i64) -> Timestamp {
        Timestamp(day.saturating_mul(86_400_000_000).saturating_sub(LAGOS_OFFSET_SECONDS as i64 * 1_000_000))
    }

    /// The day in Lagos that a date such as `2026-03-10` names.
    pub fn lagos_day_of(date: &str) -> Option<i64> {
        let is_date = date.len() == 10 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let date: jiff::civil::Date = date.parse().ok().filter(|_| is_date)?;
        Timestamp::from_lagos(date.at(0, 0, 0, 0)).map(Timestamp::lagos_day)
    }

    /// The span since `earlier`; zero when that is later.
    pub fn since(self, earlier: Timestamp) -> Span {
        Span((self.0 - earlier.0).max(0))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339, UTC, six decimals: `2026-11-21T12:16:00.000000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(at) => write!(f, "{at:.6}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let (first, most) = (Span::seconds(10), Span::minutes(10));
        let after = |times| first.doubled(times, most);
        assert_eq!((after(-1), after(0), after(1)), (first, first, Span::seconds(20)));
        assert_eq!((after(5), after(6), after(63), after(i64::MAX)), (Span::seconds(320), most, most, most));
        assert_eq!(Span(3).doubled(i64::MAX, Span(i64::MAX)), Span(i64::MAX));
    }

    #[test]
    fn writes_rfc_3339_with_microseconds() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(Timestamp(1_790_000_000_000_001).to_string(), "2026-09-21T14:13:20.000001Z");
        assert_eq!(Timestamp::MAX.to_string(), "9999-01-01T00:00:00.000000Z");
    }

    #[test]
    fn a_lagos_day_begins_at_23_utc() {
        let midnight = Timestamp::from_utc_date(2026, 3, 1).unwrap();
        assert_eq!((midnight - Span::hours(1)).lagos_day(), midnight.lagos_day());
        assert_eq!((midnight - Span::hours(1) - Span(1)).lagos_day(), midnight.lagos_day() - 1);
        assert_eq!(Timestamp::from_utc_date(2026, 2, 30), None);
        let day = midnight.lagos_day();
        assert_eq!(Timestamp::begin_of_lagos_day(day), midnight - Span::hours(1));
        assert_eq!(Timestamp::lagos_day_of("2026-03-01"), Some(day));
        for text in ["2026-3-1", "2026-02-30", "20260301", "2026-03-01T00:00", "", "yesterday!"] {
            assert_eq!(Timestamp::lagos_day_of(text), None, "{text}");
        }
    }
}
