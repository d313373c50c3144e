//! Fields of requests and their schemas, as `request::validate` reads them: texts are trimmed, an empty one and `null` count
//! as absent, numbers may come as texts.

use serde_json::{Value, json};

use crate::domain::money::Money;
use crate::http::request::validate::KEY_MAX;

/// A field of a body, or a parameter.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: &'static str,
    pub is_required: bool,
    /// Of JSON, for a value that is there.
    pub schema: Value,
    /// In Markdown.
    pub about: &'static str,
}

impl Field {
    fn new(name: &'static str, schema: Value, about: &'static str) -> Field {
        Field { name, is_required: false, schema, about }
    }

    pub fn required(self) -> Field {
        Field { is_required: true, ..self }
    }

    /// A text of at most so many characters.
    pub fn text(name: &'static str, max: usize, about: &'static str) -> Field {
        Field::new(name, json!({ "type": "string", "maxLength": max }), about)
    }

    /// An amount in naira, as a number or as a text.
    pub fn amount(name: &'static str, max: Money, about: &'static str) -> Field {
        let max: f64 = max.to_string().parse().unwrap_or(f64::MAX);
        let schema = json!({
            "type": ["number", "string"],
            "minimum": 0.01,
            "maximum": max,
            "pattern": r"^\s*[0-9]+(\.[0-9]{1,2})?\s*$",
        });
        Field::new(name, schema, about)
    }

    /// A whole number, or a text of digits.
    pub fn integer(name: &'static str, about: &'static str) -> Field {
        let schema =
            json!({ "type": ["integer", "string"], "format": "int64", "pattern": r"^\s*-?[0-9]*\s*$" });
        Field::new(name, schema, about)
    }

    /// Of a parameter: digits alone.
    pub fn number(name: &'static str, from: i64, to: i64, otherwise: i64, about: &'static str) -> Field {
        let schema = json!({
            "type": "integer", "format": "int64", "minimum": from, "maximum": to, "default": otherwise,
        });
        Field::new(name, schema, about)
    }

    /// An id of ours.
    pub fn id(name: &'static str, about: &'static str) -> Field {
        Field::new(name, json!({ "type": "integer", "format": "int64" }), about)
    }

    pub fn one_of<'a>(
        name: &'static str,
        words: impl IntoIterator<Item = &'a str>,
        about: &'static str,
    ) -> Field {
        let words: Vec<&str> = words.into_iter().collect();
        Field::new(name, json!({ "type": "string", "enum": words }), about)
    }

    pub fn date(name: &'static str, about: &'static str) -> Field {
        Field::new(name, json!({ "type": "string", "format": "date" }), about)
    }

    pub fn cursor() -> Field {
        let about = "`meta.next_cursor` of the page before.";
        Field::new("cursor", json!({ "type": "string" }), about)
    }

    pub fn idempotency_key() -> Field {
        let about = "A key of your choice for this request, such as a UUID. Repeat the request with it if you get no \
                     answer: it is done once, and you get the first answer again.";
        Field::new(
            "Idempotency-Key",
            json!({ "type": "string", "minLength": 1, "maxLength": KEY_MAX }),
            about,
        )
    }

    /// In a body a field that need not be there may also be `null`.
    pub fn body_schema(&self) -> Value {
        let mut schema = self.schema.clone();
        let kind = schema.get("type").cloned();
        if let (false, Some(kind)) = (self.is_required, kind) {
            let mut kinds = match kind {
                Value::Array(kinds) => kinds,
                kind => vec![kind],
            };
            kinds.push("null".into());
            schema["type"] = Value::Array(kinds);
            if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
                words.push(Value::Null);
            }
        }
        schema["description"] = self.about.into();
        schema
    }
}
