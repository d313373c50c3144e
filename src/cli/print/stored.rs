//! Reads stored JSON into fields, in the order in which it was written. Only `cli::print` uses this.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{Field, Object};
use crate::domain::time::Timestamp;

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
            let value = if key.ends_with("_at") { timed(value) } else { value };
            all.push((Cow::Owned(key), value));
        }
        Ok(Field::Object(Object(all)))
    }
}

/// A time that was stored as text.
fn timed(value: Field) -> Field {
    match &value {
        Field::Text(text) => match text.parse::<jiff::Timestamp>() {
            Ok(at) => Field::Time(Timestamp(at.as_microsecond())),
            Err(_) => value,
        },
        _ => value,
    }
}
