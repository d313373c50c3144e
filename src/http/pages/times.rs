//! Times in the time zone of whoever looks, with the UTC time in reach, and how long ago something was.

use askama::Template;
use askama::filters::HtmlSafe;
use jiff::tz::{Offset, TimeZone};

use crate::domain::time::{LAGOS_OFFSET_SECONDS, Span, Timestamp};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A user's time zone.
#[derive(Clone, Debug)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

impl Default for Zone {
    /// Lagos, which has no summer time: known without a database of time zones.
    fn default() -> Zone {
        let offset = Offset::from_seconds(LAGOS_OFFSET_SECONDS).unwrap_or(Offset::UTC);
        Zone { name: "Africa/Lagos".to_owned(), zone: TimeZone::fixed(offset) }
    }
}

impl Zone {
    /// `Europe/London`; `None` for a name that the machine's database of time zones does not have.
    pub fn named(name: &str) -> Option<Zone> {
        if name == "Africa/Lagos" {
            return Some(Zone::default());
        }
        let zone = TimeZone::get(name).ok()?;
        Some(Zone { name: zone.iana_name().unwrap_or(name).to_owned(), zone })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// `22 Nov 2026, 14:35`.
    pub fn time(&self, at: Timestamp) -> Time {
        self.written(at, "%-d\u{a0}%b\u{a0}%Y, %H:%M")
    }

    /// `22 Nov 2026, 14:35:07`.
    pub fn exact(&self, at: Timestamp) -> Time {
        self.written(at, "%-d\u{a0}%b\u{a0}%Y, %H:%M:%S")
    }

    /// `22 Nov 2026`.
    pub fn day(&self, at: Timestamp) -> Time {
        self.written(at, "%-d\u{a0}%b\u{a0}%Y")
    }

    /// `14:35`.
    pub fn clock(&self, at: Timestamp) -> Time {
        self.written(at, "%H:%M")
    }

    /// `14:35:07`.
    pub fn second(&self, at: Timestamp) -> Time {
        self.written(at, "%H:%M:%S")
    }

    /// `2026-11-22`, for a field of a form.
    pub fn date(&self, at: Timestamp) -> String {
        self.written(at, "%Y-%m-%d").text
    }

    fn written(&self, at: Timestamp, format: &str) -> Time {
        let stamp = jiff::Timestamp::from_microsecond(at.0).unwrap_or_default();
        Time {
            text: stamp.to_zoned(self.zone.clone()).strftime(format).to_string(),
            machine: stamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            utc: stamp.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        }
    }
}

/// A time as it is written on a page; `title` has the UTC time.
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(source = r#"<time datetime="{{ machine }}" title="{{ utc }}">{{ text }}</time>"#, ext = "html")]
pub struct Time {
    pub text: String,
    machine: String,
    utc: String,
}

impl HtmlSafe for Time {}

/// `12 seconds`, `3 minutes`, `2 hours`, `5 days`: rounded down.
pub fn age(span: Span) -> String {
    let seconds = (span.0 / 1_000_000).max(0);
    let (count, unit) = match seconds {
        0..MINUTE => (seconds, "second"),
        MINUTE..HOUR => (seconds / MINUTE, "minute"),
        HOUR..DAY => (seconds / HOUR, "hour"),
        _ => (seconds / DAY, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// How long work took that is done in whole seconds at most: what took less than one did not take none.
pub fn took(span: Span) -> String {
    if span.0 < 1_000_000 { "under 1 second".to_owned() } else { age(span) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_of_the_readers_zone_and_tell_utc() {
        let at = Timestamp(1_773_129_600_000_000);
        let lagos = Zone::default();
        let shown = lagos.time(at).to_string();
        let utc = r#"<time datetime="2026-03-10T08:00:00Z" title="2026-03-10 08:00:00 UTC">"#;
        assert_eq!(shown, format!("{utc}10\u{a0}Mar\u{a0}2026, 09:00</time>"));
        assert_eq!(lagos.exact(at).text, "10\u{a0}Mar\u{a0}2026, 09:00:00");
        assert_eq!(
            (lagos.day(at).text, lagos.clock(at).text),
            ("10\u{a0}Mar\u{a0}2026".into(), "09:00".into())
        );
        assert_eq!(Zone::named("UTC").unwrap().clock(at).text, "08:00");
        assert_eq!(Zone::named("Africa/Lagos").unwrap().name(), "Africa/Lagos");
        for bad in ["", "Mars/Base", "../../etc/passwd", "/etc/localtime"] {
            assert!(Zone::named(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn ages_are_rounded_down() {
        for (seconds, text) in
            [(-5, "0 seconds"), (1, "1 second"), (119, "1 minute"), (7200, "2 hours"), (200_000, "2 days")]
        {
            assert_eq!(age(Span::seconds(seconds)), text);
        }
        assert_eq!(took(Span(0)), "under 1 second");
        assert_eq!(took(Span(999_999)), "under 1 second");
        assert_eq!(took(Span::seconds(1)), "1 second");
    }
}
