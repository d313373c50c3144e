//! JSON whose members keep the order in which they are written, with parts that are taken over byte for byte: in examples an
//! amount has its two decimals, as in what is sent.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Clone, Debug)]
pub enum Json {
    Value(Value),
    Raw(Box<RawValue>),
    Object(Vec<(String, Json)>),
    List(Vec<Json>),
}

impl Json {
    /// What is no JSON becomes a text.
    pub fn raw(text: &str) -> Json {
        match serde_json::from_str::<Box<RawValue>>(text) {
            Ok(raw) => Json::Raw(raw),
            Err(_) => Json::Value(text.into()),
        }
    }

    pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
        Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    pub fn list(items: impl IntoIterator<Item = Json>) -> Json {
        Json::List(items.into_iter().collect())
    }

    /// The same with one more member.
    pub fn with(self, name: &str, value: Json) -> Json {
        match self {
            Json::Object(mut members) => {
                members.push((name.to_owned(), value));
                Json::Object(members)
            }
            other => other,
        }
    }

    pub fn with_some(self, name: &str, value: Option<Json>) -> Json {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        Json::Value(value)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Value(text.into())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::Value(text.into())
    }
}

impl From<bool> for Json {
    fn from(is: bool) -> Json {
        Json::Value(is.into())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Value(value) => value.serialize(to),
            Json::Raw(raw) => raw.serialize(to),
            Json::List(items) => to.collect_seq(items),
            Json::Object(members) => {
                let mut map = to.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_amounts_their_digits() {
        let json = Json::object([("z", Json::raw(r#"{"b":5.00,"a":1}"#)), ("a", "x".into())])
            .with("m", Json::list([true.into(), Value::Null.into()]));
        let text = serde_json::to_string(&json).unwrap();
        assert_eq!(text, r#"{"z":{"b":5.00,"a":1},"a":"x","m":[true,null]}"#);
    }
}
