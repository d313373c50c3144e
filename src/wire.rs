//! How money and times stand in the JSON that leaves the program: in answers, in webhooks, in what commands print.
//!
//! Domain types know nothing of serde. Structs of the wire hold these two in their place, so that there is one
//! notation of an amount and one of a time, and one description of them in schemas. Imports `domain` alone; every door and `ops` may use it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::domain::money::Money;
use crate::domain::time::Timestamp;

/// Room for an answer with one payment, so that it is allocated once.
const USUAL_BYTES: usize = 768;

/// A JSON number with exactly two decimals: its digits as they are, never through a float.
#[derive(Clone, Copy, Debug)]
pub struct JsonMoney(pub Money);

impl Serialize for JsonMoney {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.to_string()).map_err(serde::ser::Error::custom)?.serialize(to)
    }
}

impl JsonSchema for JsonMoney {
    fn schema_name() -> Cow<'static, str> {
        "Money".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "format": "decimal" })
    }
}

/// RFC 3339, UTC, microseconds.
#[derive(Clone, Copy, Debug)]
pub struct JsonTime(pub Timestamp);

impl Serialize for JsonTime {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl JsonSchema for JsonTime {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// The bytes of a body.
pub fn encode(body: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(USUAL_BYTES);
    // Writing into memory cannot fail, nor can a value: every name is a text, every amount a number.
    drop(serde_json::to_writer(&mut out, body));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Body {
        text: &'static str,
        amounts: Vec<JsonMoney>,
        none: Option<JsonMoney>,
        at: JsonTime,
    }

    #[test]
    fn amounts_have_two_decimals_and_texts_their_own_letters() {
        let amounts = [0, -5, 500_000, 123_456_789_005, i64::MAX, i64::MIN];
        let body = Body {
            text: "Ọlá \"O\"\\/\n\u{1}\u{7f}\u{2028}",
            amounts: amounts.map(|kobo| JsonMoney(Money(kobo))).into(),
            none: None,
            at: JsonTime(Timestamp(0)),
        };
        let expected = concat!(
            r#"{"text":"Ọlá \"O\"\\/\n\u0001"#,
            "\u{7f}\u{2028}",
            r#"","amounts":[0.00,-0.05,5000.00,1234567890.05,92233720368547758.07,-92233720368547758.08],"#,
            r#""none":null,"at":"1970-01-01T00:00:00.000000Z"}"#
        );
        assert_eq!(String::from_utf8(encode(&body)).unwrap(), expected);
    }
}
