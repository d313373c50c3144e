//! Values and objects as people read them. Only `cli::print` uses this.

use super::screen::{Line, Tone, columns_of, span, wrap};
use super::{Object, Shown};
use crate::domain::money::{Money, naira};
use crate::domain::time::Timestamp;
use crate::terminal;

/// Deeper than this, stored JSON is told in one line.
const INDENT_MAX: usize = 24;
/// A value is not folded into less.
const VALUE_MIN: usize = 24;
/// Older than this, a day says more than how long ago it was.
const DAYS_AGO_MAX: i64 = 60;

/// How text is made for people.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// Lines are fitted into so many columns; `None`: nothing is cut, folded or left out.
    pub width: Option<usize>,
    /// Now, by the clock.
    pub now: Timestamp,
}

/// One value for a person; what a stranger wrote cannot move the cursor.
pub(in crate::cli) fn for_people(field: &Shown) -> String {
    match field {
        Shown::Null => "-".to_owned(),
        Shown::Absent(words) => (*words).to_owned(),
        Shown::Flag(true) => "yes".to_owned(),
        Shown::Flag(false) => "no".to_owned(),
        Shown::Int(n) => n.to_string(),
        Shown::Text(text) => terminal::harmless_line(text),
        Shown::Money(money) => naira(*money),
        Shown::Percent(rate) => format!("{} %", Money(*rate)),
        Shown::Time(at) => time_for_people(*at),
        Shown::Due(at) => time_for_people(*at),
        Shown::Age(seconds) => age_for_people(*seconds),
        Shown::Json(json) => for_people(&Shown::Text(json.get().to_owned())),
        Shown::List(all) if all.is_empty() => "-".to_owned(),
        Shown::List(all) => all.iter().map(for_people).collect::<Vec<_>>().join("; "),
        Shown::Object(object) => {
            let parts: Vec<String> = object.0.iter().map(|(k, v)| format!("{k} {}", for_people(v))).collect();
            parts.join(", ")
        }
    }
}

/// `2026-03-10 08:00:00 UTC`: to the second, which `--json` has to the microsecond.
fn time_for_people(at: Timestamp) -> String {
    let text = at.to_string();
    match (text.get(..10), text.get(11..19)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}

/// Its two largest units, for what has waited: `2 d 4 h`, `3 h 12 min`, `40 s`.
fn age_for_people(seconds: i64) -> String {
    match seconds.max(0) {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3_600 => format!("{} min", s / 60),
        s @ 3_600..86_400 => format!("{} h {} min", s / 3_600, s % 3_600 / 60),
        s => format!("{} d {} h", s / 86_400, s % 86_400 / 3_600),
    }
}

/// `3 min ago`, `in 2 h`; what is long ago, or far away, by its day.
pub(super) fn moment_for_people(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.0.saturating_sub(at.0) / 1_000_000;
    let span = match seconds.saturating_abs() {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3_600 => format!("{} min", s / 60),
        s @ 3_600..86_400 => format!("{} h", s / 3_600),
        s if s / 86_400 <= DAYS_AGO_MAX => format!("{} d", s / 86_400),
        _ => return at.to_string().chars().take(10).collect(),
    };
    if seconds < 0 { format!("in {span}") } else { format!("{span} ago") }
}

/// When something is due: `now` as soon as it may be done, or within a second.
pub(super) fn due_for_people(at: Timestamp, form: Form) -> String {
    match form.width {
        _ if at.0 < form.now.0.saturating_add(1_000_000) => "now".to_owned(),
        Some(_) => moment_for_people(at, form.now),
        None => time_for_people(at),
    }
}

/// Good, waiting or bad, for the words that say what became of something.
pub(super) fn tone_of(key: &str, field: &Shown) -> Tone {
    let (Shown::Text(word), "outcome" | "status" | "verdict" | "authentic") = (field, key) else {
        return Tone::Plain;
    };
    match word.as_str() {
        "matched" | "approved" | "delivered" | "proven" | "match" | "sent" | "read" => Tone::Good,
        "new" | "review" | "unmatched" | "pending" | "waiting" | "close" | "unproven" => Tone::Waits,
        "quarantined" | "unreadable" | "failed" | "paused" | "rejected" | "refuted" | "reversed"
        | "locked" | "suspended" => Tone::Bad,
        _ => Tone::Plain,
    }
}

/// An object as lines `key: value`, what is inside another indented below it.
pub(super) fn lay_out(object: &Object, indent: usize, form: Form, lines: &mut Vec<Line>) {
    let keys = object.0.iter().map(|(key, _)| columns_of(key)).max().unwrap_or(0) + 1;
    for (key, value) in &object.0 {
        let opened = if let Shown::Json(json) = value { serde_json::from_str(json.get()).ok() } else { None };
        let value = opened.as_ref().unwrap_or(value);
        let head = |text: String| span(format!("{:indent$}{text}", ""), Tone::Faint);
        match value {
            Shown::Object(inner) if indent < INDENT_MAX => {
                lines.push(vec![head(format!("{key}:"))]);
                lay_out(inner, indent + 2, form, lines);
            }
            Shown::List(all)
                if indent < INDENT_MAX && all.iter().any(|one| matches!(one, Shown::Object(_))) =>
            {
                lines.push(vec![head(format!("{key}:"))]);
                for one in all {
                    lay_out_item(one, indent + 2, form, lines);
                }
            }
            value => {
                let mut text = match value {
                    Shown::List(all) if all.is_empty() => "none".to_owned(),
                    Shown::Due(at) => due_for_people(*at, form),
                    value => for_people(value),
                };
                if let (Shown::Time(at), Some(_)) = (value, form.width) {
                    text = format!("{text} ({})", moment_for_people(*at, form.now));
                }
                let room = form.width.map_or(usize::MAX, |all| all.saturating_sub(indent + keys + 1));
                let tone = tone_of(key, value);
                for (n, part) in wrap(&text, room.max(VALUE_MIN)).into_iter().enumerate() {
                    let key = if n == 0 { format!("{key}:") } else { String::new() };
                    lines.push(vec![head(format!("{key:<keys$} ")), span(part, tone)]);
                }
            }
        }
    }
}

/// One of a list: its first line is marked.
fn lay_out_item(one: &Shown, indent: usize, form: Form, lines: &mut Vec<Line>) {
    let begin = lines.len();
    match one {
        Shown::Object(object) => lay_out(object, indent + 2, form, lines),
        other => lines.push(vec![span(format!("{:indent$}  {}", "", for_people(other)), Tone::Plain)]),
    }
    if let Some(first) = lines.get_mut(begin).and_then(|line| line.first_mut()) {
        first.text.replace_range(indent..=indent, "-");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_is_now_and_never_ago() {
        let now = Timestamp(1_790_000_000_000_000);
        let told = |micros: i64| due_for_people(Timestamp(now.0 + micros), Form { width: Some(80), now });
        assert_eq!([-90_000_000, 0, 999_999].map(told), ["now", "now", "now"]);
        assert_eq!([1_000_000, 240_000_000].map(told), ["in 1 s", "in 4 min"]);
    }

    #[test]
    fn moments_are_told_by_how_long_ago_they_were() {
        let now = Timestamp(1_790_000_000_000_000);
        let told = |seconds: i64| moment_for_people(Timestamp(now.0 + seconds * 1_000_000), now);
        for (seconds, words) in [
            (0, "0 s ago"),
            (-59, "59 s ago"),
            (-185, "3 min ago"),
            (-7_300, "2 h ago"),
            (-60 * 86_400, "60 d ago"),
            (-61 * 86_400, "2026-07-22"),
            (240, "in 4 min"),
            (86_400, "in 1 d"),
        ] {
            assert_eq!(told(seconds), words);
        }
        assert_eq!(moment_for_people(Timestamp::MAX, now), "9999-01-01");
    }
}
