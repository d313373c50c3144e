//! How answers are printed: one JSON object for programs, tables and aligned lines for people.
//!
//! A command builds an [`Object`] and knows nothing of either form. Money is a JSON number with
//! exactly two decimals, written from its kobo and never through a float. Only `cli` uses this.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::domain::money::{Money, naira};
use crate::domain::time::Timestamp;
use crate::terminal;

/// One value of an answer.
#[derive(Clone, Debug)]
pub(super) enum Field {
    Null,
    Flag(bool),
    Int(i64),
    Text(String),
    Money(Money),
    /// Hundredths of a percent.
    Percent(i64),
    Time(Timestamp),
    /// Seconds.
    Age(i64),
    List(Vec<Field>),
    Object(Object),
    /// JSON that is stored as such.
    Json(Box<RawValue>),
}

impl Field {
    /// Stored JSON as it is; text that is none stays text, an empty one is null.
    pub(super) fn json(text: &str) -> Field {
        match RawValue::from_string(text.to_owned()) {
            Ok(json) => Field::Json(json),
            Err(_) if text.is_empty() => Field::Null,
            Err(_) => text.into(),
        }
    }
}

/// Fields in the order they are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Object(Vec<(Cow<'static, str>, Field)>);

impl Object {
    pub(super) fn new() -> Object {
        Object::default()
    }

    pub(super) fn with(mut self, key: &'static str, value: impl Into<Field>) -> Object {
        self.0.push((key.into(), value.into()));
        self
    }

    fn get(&self, key: &str) -> &Field {
        self.0.iter().find(|(name, _)| name == key).map_or(&Field::Null, |(_, value)| value)
    }
}

macro_rules! field_from {
    ($($kind:ty => $make:expr),+ $(,)?) => {
        $(impl From<$kind> for Field {
            fn from(value: $kind) -> Field {
                let make: fn($kind) -> Field = $make;
                make(value)
            }
        })+
    };
}

field_from! {
    bool => Field::Flag,
    i64 => Field::Int,
    u32 => |n| Field::Int(i64::from(n)),
    &str => |text| Field::Text(text.to_owned()),
    &String => |text| Field::Text(text.clone()),
    String => Field::Text,
    Money => Field::Money,
    Timestamp => Field::Time,
    Object => Field::Object,
}

impl<T: Into<Field>> From<Option<T>> for Field {
    fn from(value: Option<T>) -> Field {
        value.map_or(Field::Null, Into::into)
    }
}

impl<T: Into<Field>> From<Vec<T>> for Field {
    fn from(values: Vec<T>) -> Field {
        Field::List(values.into_iter().map(Into::into).collect())
    }
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Field::Null => to.serialize_none(),
            Field::Flag(flag) => to.serialize_bool(*flag),
            Field::Int(n) | Field::Age(n) => to.serialize_i64(*n),
            Field::Text(text) => to.serialize_str(text),
            Field::Money(money) => raw(&money.to_string(), to),
            // Hundredths, as kobo are: the same two decimals.
            Field::Percent(rate) => raw(&Money(*rate).to_string(), to),
            Field::Time(at) => to.collect_str(at),
            Field::List(all) => to.collect_seq(all),
            Field::Object(object) => object.serialize(to),
            Field::Json(json) => json.serialize(to),
        }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A number with its digits as they are.
fn raw<S: Serializer>(digits: &str, to: S) -> Result<S::Ok, S::Error> {
    RawValue::from_string(digits.to_owned()).map_err(S::Error::custom)?.serialize(to)
}

/// One value for a person; what a stranger wrote cannot move the cursor.
fn for_people(field: &Field) -> String {
    match field {
        Field::Null => "-".to_owned(),
        Field::Flag(true) => "yes".to_owned(),
        Field::Flag(false) => "no".to_owned(),
        Field::Int(n) => n.to_string(),
        Field::Text(text) => terminal::harmless_line(text),
        Field::Money(money) => naira(*money),
        Field::Percent(rate) => format!("{} %", Money(*rate)),
        Field::Time(at) => time_for_people(*at),
        Field::Age(seconds) => age_for_people(*seconds),
        Field::Json(json) => for_people(&Field::Text(json.get().to_owned())),
        Field::List(all) if all.is_empty() => "-".to_owned(),
        Field::List(all) => all.iter().map(for_people).collect::<Vec<_>>().join("; "),
        Field::Object(object) => {
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

/// An object as lines `key: value`, what is inside another indented below it.
fn lay_out(object: &Object, indent: usize, lines: &mut Vec<String>) {
    let width = object.0.iter().map(|(key, _)| key.len()).max().unwrap_or(0) + 1;
    for (key, value) in &object.0 {
        let opened = if let Field::Json(json) = value { serde_json::from_str(json.get()).ok() } else { None };
        let value = opened.as_ref().unwrap_or(value);
        match value {
            Field::Object(inner) if indent < INDENT_MAX => {
                lines.push(format!("{:indent$}{key}:", ""));
                lay_out(inner, indent + 2, lines);
            }
            Field::List(all)
                if indent < INDENT_MAX && all.iter().any(|one| matches!(one, Field::Object(_))) =>
            {
                lines.push(format!("{:indent$}{key}:", ""));
                for one in all {
                    lay_out_item(one, indent + 2, lines);
                }
            }
            value => {
                lines.push(format!("{:indent$}{:<width$} {}", "", format!("{key}:"), for_people(value)));
            }
        }
    }
}

/// One of a list: its first line is marked.
fn lay_out_item(one: &Field, indent: usize, lines: &mut Vec<String>) {
    let begin = lines.len();
    match one {
        Field::Object(object) => lay_out(object, indent + 2, lines),
        other => lines.push(format!("{:indent$}  {}", "", for_people(other))),
    }
    if let Some(first) = lines.get_mut(begin) {
        first.replace_range(indent..=indent, "-");
    }
}

/// Deeper than this, stored JSON is told in one line.
const INDENT_MAX: usize = 24;

/// Stored JSON in the order in which it was written.
impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Field, D::Error> {
        from.deserialize_any(Stored)
    }
}

struct Stored;

impl<'de> Visitor<'de> for Stored {
    type Value = Field;

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Field, E> {
        Ok(Field::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Field, E> {
        Ok(Field::Flag(flag))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Field, E> {
        Ok(Field::Int(n))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Field, E> {
        Ok(i64::try_from(n).map_or_else(|_| Field::Text(n.to_string()), Field::Int))
    }

    fn visit_f64<E>(self, n: f64) -> Result<Field, E> {
        Ok(Field::Text(n.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Field, E> {
        Ok(Field::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Field, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Field::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Field, A::Error> {
        let mut all = Vec::new();
        while let Some((key, value)) = members.next_entry::<String, Field>()? {
            all.push((Cow::Owned(key), value));
        }
        Ok(Field::Object(Object(all)))
    }
}

/// Where answers go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Printer {
    pub(super) json: bool,
}

impl Printer {
    /// One object, flat.
    pub(super) fn object(self, object: &Object) -> anyhow::Result<()> {
        if self.json {
            return self.line(&serde_json::to_string(object)?);
        }
        let mut lines = Vec::new();
        lay_out(object, 0, &mut lines);
        self.line(&lines.join("\n"))
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

    /// The same with more fields beside the list.
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
        for (key, value) in &beside.0 {
            self.line(&format!("{key}: {}", for_people(value)))?;
        }
        if rows.is_empty() {
            return self.line(&format!("no {plural}"));
        }
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(columns.iter().map(|column| column.replace('_', " ")));
        for row in &rows {
            table.add_row(columns.iter().map(|column| {
                let field = row.get(column);
                let cell = comfy_table::Cell::new(for_people(field));
                match field {
                    Field::Int(_) | Field::Money(_) | Field::Percent(_) => {
                        cell.set_alignment(CellAlignment::Right)
                    }
                    _ => cell,
                }
            }));
        }
        self.line(&table.to_string())
    }

    /// What only people need to be told, below an answer.
    pub(super) fn remark(self, said: bool, text: &str) -> anyhow::Result<()> {
        if said && !self.json { self.line(text) } else { Ok(()) }
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
    /// Begins `{ "<plural>": [...] }`, for people one line a row.
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
            let parts: Vec<String> = row
                .0
                .iter()
                .filter(|(_, value)| !matches!(value, Field::Null))
                .map(|(key, value)| format!("{key} {}", for_people(value)))
                .collect();
            return self.printer.line(&parts.join(", "));
        }
        let comma = if self.rows > 1 { "," } else { "" };
        put(&format!("{comma}{}", serde_json::to_string(row)?), "")
    }

    /// Ends the object.
    pub(super) fn end(self) -> anyhow::Result<()> {
        if self.printer.json { self.printer.line("]}") } else { Ok(()) }
    }
}

/// The one way of text to stdout; a terminal gets nothing that it would act upon.
fn put(text: &str, end: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let text = if out.is_terminal() { terminal::harmless(text) } else { Cow::Borrowed(text) };
    write!(out, "{text}{end}")?;
    Ok(out.flush()?)
}

/// Something the operator should know although the command did what it was asked to.
pub(super) fn warn(what: impl std::fmt::Display) {
    eprintln!("warning: {}", terminal::harmless_line(&what.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_order_nulls_and_two_decimals() {
        let object = Object::new()
            .with("z", Money(500_000))
            .with("rate", Field::Percent(150))
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
        let stored = r#"{"verdict":"review","reasons":["one","two"],"considered":[{"txn":"t","fit":null},{"txn":"u"}]}"#;
        let object = Object::new()
            .with("id", 1_i64)
            .with("charges", Object::new().with("total", Money(100_000)).with("fixed", Money(5)))
            .with("attempts", Vec::<Object>::new())
            .with("evidence", Field::json(stored))
            .with("at", Timestamp(0));
        let mut lines = Vec::new();
        lay_out(&object, 0, &mut lines);
        assert_eq!(
            lines,
            [
                "id:       1",
                "charges:",
                "  total: NGN 1,000.00",
                "  fixed: NGN 0.05",
                "attempts: -",
                "evidence:",
                "  verdict:    review",
                "  reasons:    one; two",
                "  considered:",
                "    - txn: t",
                "      fit: -",
                "    - txn: u",
                "at:       1970-01-01 00:00:00 UTC",
            ]
        );
        assert_eq!(serde_json::to_string(&Field::json(stored)).unwrap(), stored);
    }

    #[test]
    fn people_read_amounts_and_no_control_characters() {
        assert_eq!(for_people(&Field::Text("a\u{1b}[2Jb\r\nc".into())), "a\\u001b[2Jb  c");
        assert_eq!(for_people(&Money(5).into()), "NGN 0.05");
    }
}
