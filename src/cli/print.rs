//! How answers are printed: one JSON object for programs, tables and aligned lines for people.
//!
//! A command builds an [`Object`] and knows nothing of either form. Money is a JSON number with
//! exactly two decimals, written from its kobo and never through a float. On a terminal lists and objects
//! are fitted to its width; into a pipe or a file, and with `--wide`, they are written in full. Only `cli`
//! uses this.

mod people;
mod screen;
mod stored;
mod table;

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::clock::{Clock, SystemClock};
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::terminal;
use crate::wire::{JsonMoney, JsonTime};
use people::{Form, lay_out};
use screen::{Line, Screen, Tone, put, span, wrap};

pub(super) use people::for_people;

/// One value of an answer.
#[derive(Clone, Debug)]
pub(super) enum Shown {
    Null,
    /// Null, which people are told in words.
    Absent(&'static str),
    Flag(bool),
    Int(i64),
    Text(String),
    Money(Money),
    /// Hundredths of a percent.
    Percent(i64),
    Time(Timestamp),
    /// When something is to be done next; people read `now` where that time has come.
    Due(Timestamp),
    /// Seconds.
    Age(i64),
    List(Vec<Shown>),
    Object(Object),
    /// JSON that is stored as such.
    Json(Box<RawValue>),
}

impl Shown {
    /// Stored JSON as it is; text that is none stays text, an empty one is null.
    pub(super) fn json(text: &str) -> Shown {
        match RawValue::from_string(text.to_owned()) {
            Ok(json) => Shown::Json(json),
            Err(_) if text.is_empty() => Shown::Null,
            Err(_) => text.into(),
        }
    }
}

/// Fields in the order they are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Object(Vec<(Cow<'static, str>, Shown)>);

impl Object {
    pub(super) fn new() -> Object {
        Object::default()
    }

    pub(super) fn with(mut self, key: &'static str, value: impl Into<Shown>) -> Object {
        self.0.push((key.into(), value.into()));
        self
    }

    /// For people alone: what is null or an empty list is told in these words.
    pub(super) fn or_in_words(self, words: &'static str) -> Object {
        let told = |field| match field {
            Shown::Null => Shown::Absent(words),
            Shown::List(all) if all.is_empty() => Shown::Absent(words),
            Shown::Object(inner) => Shown::Object(inner.or_in_words(words)),
            Shown::List(all) => Shown::List(
                all.into_iter()
                    .map(|one| match one {
                        Shown::Object(inner) => Shown::Object(inner.or_in_words(words)),
                        other => other,
                    })
                    .collect(),
            ),
            other => other,
        };
        Object(self.0.into_iter().map(|(key, field)| (key, told(field))).collect())
    }

    /// These fields alone, in their order here.
    pub(super) fn only(self, keys: &[&str]) -> Object {
        Object(self.0.into_iter().filter(|(key, _)| keys.contains(&key.as_ref())).collect())
    }

    /// Stored JSON as people read it; `None` if it is no object.
    pub(super) fn stored(text: &str) -> Option<Object> {
        match serde_json::from_str(text) {
            Ok(Shown::Object(object)) => Some(object),
            _ => None,
        }
    }

    /// Each object of the list in a field, changed.
    pub(super) fn with_each(mut self, key: &str, change: impl Fn(Object) -> Object) -> Object {
        if let Some((_, Shown::List(all))) = self.0.iter_mut().find(|(name, _)| name == key) {
            for one in all {
                if let Shown::Object(object) = one {
                    *object = change(std::mem::take(object));
                }
            }
        }
        self
    }

    /// The same with another value in a field that is there.
    pub(super) fn replaced(mut self, key: &str, value: impl Into<Shown>) -> Object {
        if let Some((_, field)) = self.0.iter_mut().find(|(name, _)| name == key) {
            *field = value.into();
        }
        self
    }

    /// The text of a field; empty if it has none.
    pub(super) fn text(&self, key: &str) -> &str {
        if let Shown::Text(text) = self.get(key) { text } else { "" }
    }

    /// The whole number in a field.
    pub(super) fn int(&self, key: &str) -> Option<i64> {
        if let Shown::Int(n) = self.get(key) { Some(*n) } else { None }
    }

    fn get(&self, key: &str) -> &Shown {
        self.0.iter().find(|(name, _)| name == key).map_or(&Shown::Null, |(_, value)| value)
    }
}

macro_rules! field_from {
    ($($kind:ty => $make:expr),+ $(,)?) => {
        $(impl From<$kind> for Shown {
            fn from(value: $kind) -> Shown {
                let make: fn($kind) -> Shown = $make;
                make(value)
            }
        })+
    };
}

field_from! {
    bool => Shown::Flag,
    i64 => Shown::Int,
    u32 => |n| Shown::Int(i64::from(n)),
    &str => |text| Shown::Text(text.to_owned()),
    &String => |text| Shown::Text(text.clone()),
    String => Shown::Text,
    Money => Shown::Money,
    Timestamp => Shown::Time,
    Object => Shown::Object,
}

impl<T: Into<Shown>> From<Option<T>> for Shown {
    fn from(value: Option<T>) -> Shown {
        value.map_or(Shown::Null, Into::into)
    }
}

impl<T: Into<Shown>> From<Vec<T>> for Shown {
    fn from(values: Vec<T>) -> Shown {
        Shown::List(values.into_iter().map(Into::into).collect())
    }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Shown::Null | Shown::Absent(_) => to.serialize_none(),
            Shown::Flag(flag) => to.serialize_bool(*flag),
            Shown::Int(n) | Shown::Age(n) => to.serialize_i64(*n),
            Shown::Text(text) => to.serialize_str(text),
            Shown::Money(money) => JsonMoney(*money).serialize(to),
            // Hundredths, as kobo are: the same two decimals.
            Shown::Percent(rate) => JsonMoney(Money(*rate)).serialize(to),
            Shown::Time(at) | Shown::Due(at) => JsonTime(*at).serialize(to),
            Shown::List(all) => to.collect_seq(all),
            Shown::Object(object) => object.serialize(to),
            Shown::Json(json) => json.serialize(to),
        }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Where answers go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Printer {
    pub(super) json: bool,
    /// Nothing is cut, whatever the terminal's width.
    wide: bool,
    screen: Screen,
}

impl Printer {
    pub(super) fn new(json: bool, wide: bool) -> Printer {
        Printer { json, wide, screen: Screen::of_stdout() }
    }

    /// Whether rows are lines of any length, so that there is room for every column.
    pub(super) fn has_room(self) -> bool {
        self.form().width.is_none()
    }

    fn form(self) -> Form {
        Form { width: self.screen.width.filter(|_| !self.wide), now: SystemClock.now() }
    }

    /// One object, flat.
    pub(super) fn object(self, object: &Object) -> anyhow::Result<()> {
        if self.json {
            return self.line(&serde_json::to_string(object)?);
        }
        let mut lines = Vec::new();
        lay_out(object, 0, self.form(), &mut lines);
        self.screen.show(&lines)
    }

    /// `{ "<plural>": [...] }`; for people a table of `columns`.
    pub(super) fn list(
        self,
        plural: &'static str,
        columns: &[&str],
        rows: Vec<Object>,
    ) -> anyhow::Result<()> {
        self.list_with(plural, columns, rows, Object::new())
    }

    /// The same with more fields beside the list, which people are told in words (see [`Printer::remark`]).
    pub(super) fn list_with(
        self,
        plural: &'static str,
        columns: &[&str],
        rows: Vec<Object>,
        beside: Object,
    ) -> anyhow::Result<()> {
        if self.json {
            let mut all = Object::new().with(plural, rows);
            all.0.extend(beside.0);
            return self.line(&serde_json::to_string(&all)?);
        }
        if rows.is_empty() {
            return self.line(&format!("no {plural}"));
        }
        self.screen.show(&table::table(columns, &rows, self.form()))
    }

    /// What only people need to be told, below an answer; folded to the terminal's width.
    pub(super) fn remark(self, said: bool, text: &str) -> anyhow::Result<()> {
        if !said || self.json {
            return Ok(());
        }
        let width = self.form().width.unwrap_or(usize::MAX);
        let lines = text.lines().flat_map(|line| wrap(line, width));
        let lines: Vec<Line> = lines.map(|line| vec![span(line, Tone::Plain)]).collect();
        self.screen.show(&lines)
    }

    /// Bytes on stdout: as they are, but for a terminal.
    pub(super) fn bytes(self, bytes: &[u8]) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        if out.is_terminal() {
            out.write_all(terminal::harmless_bytes(bytes).as_bytes())?;
        } else {
            out.write_all(bytes)?;
        }
        Ok(out.flush()?)
    }

    /// A line on stdout. A reader that hung up is an error, not a panic.
    pub(super) fn line(self, text: &str) -> anyhow::Result<()> {
        put(text, "\n")
    }
}

/// A list whose rows are printed as they come, so that a long one needs no memory.
pub(super) struct Stream {
    printer: Printer,
    rows: usize,
}

impl Printer {
    /// Begins `{ "<plural>": [...] }`; for people each row is laid out below its first field.
    pub(super) fn stream(self, plural: &'static str) -> anyhow::Result<Stream> {
        if self.json {
            put(&format!("{{\"{plural}\":["), "")?;
        }
        Ok(Stream { printer: self, rows: 0 })
    }
}

impl Stream {
    pub(super) fn row(&mut self, row: &Object) -> anyhow::Result<()> {
        self.rows += 1;
        if !self.printer.json {
            return self.printer.screen.show(&item(row, self.printer.form()));
        }
        let comma = if self.rows > 1 { "," } else { "" };
        put(&format!("{comma}{}", serde_json::to_string(row)?), "")
    }

    /// Ends the object.
    pub(super) fn end(self) -> anyhow::Result<()> {
        if self.printer.json { self.printer.line("]}") } else { Ok(()) }
    }
}

/// What is known of one of a stream, below its first field; an empty line after it.
fn item(row: &Object, form: Form) -> Vec<Line> {
    let mut fields = row.0.iter().filter(|(_, value)| !matches!(value, Shown::Null)).cloned();
    let mut lines = Vec::new();
    if let Some((_, first)) = fields.next() {
        lines.push(vec![span(for_people(&first), Tone::Strong)]);
    }
    lay_out(&Object(fields.collect()), 2, form, &mut lines);
    lines.push(Vec::new());
    lines
}

/// Something that is said beside the answer.
pub(super) fn note(what: impl std::fmt::Display) {
    eprintln!("{}", terminal::harmless_line(&what.to_string()));
}

/// What speaks against an act that a person may insist on, where it is several things: a line for each, and then how to
/// insist. The error ends the command.
pub(super) fn obstacles(what: &str, all: &[String], anyway: &'static str) -> anyhow::Error {
    note(format_args!("{what}:"));
    for one in all {
        note(format_args!("- {one}"));
    }
    anyhow::anyhow!(anyway)
}

/// Something the operator should know although the command did what it was asked to.
pub(super) fn warn(what: impl std::fmt::Display) {
    eprintln!("warning: {}", terminal::harmless_line(&what.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNCUT: Form = Form { width: None, now: Timestamp(0) };

    fn texts(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.iter().map(|span| span.text.as_str()).collect()).collect()
    }

    #[test]
    fn json_keeps_order_nulls_and_two_decimals() {
        let object = Object::new()
            .with("z", Money(500_000))
            .with("rate", Shown::Percent(150))
            .with("none", None::<i64>)
            .with("big", Money(i64::MAX))
            .with("less", Money(-5))
            .with("list", vec![Object::new().with("a", true)]);
        assert_eq!(
            serde_json::to_string(&object).unwrap(),
            r#"{"z":5000.00,"rate":1.50,"none":null,"big":92233720368547758.07,"less":-0.05,"list":[{"a":true}]}"#
        );
    }

    #[test]
    fn what_is_inside_another_is_laid_out_below_it() {
        let stored = r#"{"taken_at":"2026-03-10T08:00:00.250000Z","verdict":"review","reasons":["one","two"],"considered":[{"txn":"t","fit":null},{"txn":"u"}]}"#;
        let object = Object::new()
            .with("id", 1_i64)
            .with("charges", Object::new().with("total", Money(100_000)).with("fixed", Money(5)))
            .with("attempts", Vec::<Object>::new())
            .with("evidence", Shown::json(stored))
            .with("at", Timestamp(0));
        let mut lines = Vec::new();
        lay_out(&object, 0, UNCUT, &mut lines);
        assert_eq!(
            texts(&lines),
            [
                "id:       1",
                "charges:",
                "  total: NGN 1,000.00",
                "  fixed: NGN 0.05",
                "attempts: none",
                "evidence:",
                "  taken_at:   2026-03-10 08:00:00 UTC",
                "  verdict:    review",
                "  reasons:    one; two",
                "  considered:",
                "    - txn: t",
                "      fit: -",
                "    - txn: u",
                "at:       1970-01-01 00:00:00 UTC",
            ]
        );
        assert_eq!(serde_json::to_string(&Shown::json(stored)).unwrap(), stored);
    }

    #[test]
    fn people_read_amounts_and_no_control_characters() {
        assert_eq!(for_people(&Shown::Text("a\u{1b}[2Jb\r\nc".into())), "a\\u001b[2Jb  c");
        assert_eq!(for_people(&Money(5).into()), "NGN 0.05");
    }
}
