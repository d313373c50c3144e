//! Reads stored JSON into fields for people, in the order in which it was written. Only `cli::print` uses this.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{Object, Shown};
use crate::domain::money::Money;
use crate::domain::time::Timestamp;

/// Stored JSON in the order in which it was written.
impl<'de> Deserialize<'de> for Shown {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Shown, D::Error> {
        from.deserialize_any(Stored)
    }
}

struct Stored;

impl<'de> Visitor<'de> for Stored {
    type Value = Shown;

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Shown, E> {
        Ok(Shown::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Shown, E> {
        Ok(Shown::Flag(flag))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Shown, E> {
        Ok(Shown::Int(n))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Shown, E> {
        Ok(i64::try_from(n).map_or_else(|_| Shown::Text(n.to_string()), Shown::Int))
    }

    fn visit_f64<E>(self, n: f64) -> Result<Shown, E> {
        Ok(Shown::Text(n.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Shown, E> {
        Ok(Shown::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shown, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Shown::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Shown, A::Error> {
        let mut all = Vec::new();
        while let Some((key, value)) = members.next_entry::<String, Shown>()? {
            let value = match key.as_str() {
                "amount" | "received" | "requested" => monied(value),
                key if key.ends_with("_at") => timed(value),
                _ => value,
            };
            all.push((Cow::Owned(key), value));
        }
        Ok(Shown::Object(Object(all)))
    }
}

/// An amount that was stored as text: people read it as they read all others.
fn monied(value: Shown) -> Shown {
    match &value {
        Shown::Text(text) => Money::parse(text).map_or(value, Shown::Money),
        _ => value,
    }
}

/// A time that was stored as text.
fn timed(value: Shown) -> Shown {
    match &value {
        Shown::Text(text) => match text.parse::<jiff::Timestamp>() {
            Ok(at) => Shown::Time(Timestamp(at.as_microsecond())),
            Err(_) => value,
        },
        _ => value,
    }
}
