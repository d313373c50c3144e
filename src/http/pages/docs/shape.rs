//! The fields of a body as a reader sees them, from its schema: name, kind, limits, what it is for.

use serde_json::{Map, Value};

use super::words::Words;
use crate::http::pages::text::Text;

/// Objects inside one another that are looked into.
const DEPTH_MAX: usize = 4;

/// One line of a table of fields.
#[derive(Clone, Debug)]
pub struct Line {
    /// Of one inside another: `charges.total`.
    pub name: Text,
    pub kind: Text,
    pub is_required: bool,
    pub about: Words,
}

/// The lines of a schema, whatever it refers to.
pub fn lines(schema: &Value, schemas: &Map<String, Value>) -> Vec<Line> {
    let mut lines = Vec::new();
    add(&mut lines, "", schema, schemas, 0);
    lines
}

/// What is in `data` of an answer: what stands around it is told once.
pub fn data<'a>(schema: &'a Value, schemas: &'a Map<String, Value>) -> &'a Value {
    let schema = resolved(schema, schemas);
    let inside = &schema["properties"]["data"];
    if inside.is_null() { schema } else { inside }
}

fn resolved<'a>(schema: &'a Value, schemas: &'a Map<String, Value>) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|place| place.rsplit('/').next());
    if let Some(found) = name.and_then(|name| schemas.get(name)) {
        return found;
    }
    // A reference beside null.
    let one = schema["anyOf"].as_array().and_then(|all| all.iter().find(|one| one["type"] != "null"));
    match one {
        Some(one) if !std::ptr::eq(one, schema) => resolved(one, schemas),
        _ => schema,
    }
}

fn add(lines: &mut Vec<Line>, before: &str, schema: &Value, schemas: &Map<String, Value>, depth: usize) {
    let schema = resolved(schema, schemas);
    if schema["type"] == "array" {
        return add(lines, before, &schema["items"], schemas, depth);
    }
    let Some(properties) = schema["properties"].as_object().filter(|_| depth < DEPTH_MAX) else { return };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let optional = properties.keys().map(String::as_str).filter(|name| !required.contains(name));
    // Those that are always there stand in the order in which they are sent.
    for name in required.iter().copied().chain(optional) {
        let Some(property) = properties.get(name) else { continue };
        let full = format!("{before}{name}");
        let about = property["description"].as_str().unwrap_or_default();
        lines.push(Line {
            name: full.as_str().into(),
            kind: kind(property, schemas).into(),
            is_required: required.contains(&name),
            about: Words::new(about),
        });
        add(lines, &format!("{full}."), property, schemas, depth + 1);
    }
}

/// What a value is, in words: `text, at most 255 characters`.
pub fn kind(schema: &Value, schemas: &Map<String, Value>) -> String {
    let or_null = |of: &Value| {
        let of_types = of["type"].as_array().is_some_and(|all| all.iter().any(|one| one == "null"));
        of_types || of["anyOf"].as_array().is_some_and(|all| all.iter().any(|one| one["type"] == "null"))
    };
    let null = if or_null(schema) { " or null" } else { "" };
    let schema = resolved(schema, schemas);
    if let Some(word) = schema["const"].as_str() {
        return format!("\u{201c}{word}\u{201d}");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return format!("{}{null}", words.join(" | "));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).filter(|one| *one != "null").collect(),
        _ => Vec::new(),
    };
    let words: Vec<String> = types.iter().map(|one| one_kind(one, schema, schemas)).collect();
    format!("{}{null}", words.join(" or "))
}

fn one_kind(kind: &str, schema: &Value, schemas: &Map<String, Value>) -> String {
    match kind {
        "number" if schema["format"] == "decimal" => "amount".to_owned(),
        "number" => "number".to_owned(),
        "integer" => match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
            (Some(from), Some(to)) if to < i64::MAX => format!("whole number, {from} to {to}"),
            (Some(from), _) => format!("whole number from {from}"),
            _ => "whole number".to_owned(),
        },
        "boolean" => "true or false".to_owned(),
        "object" => "object".to_owned(),
        "array" => format!("list of {}", self::kind(&schema["items"], schemas)),
        _ => match (schema["format"].as_str(), schema["maxLength"].as_u64()) {
            (Some("date-time"), _) => "time".to_owned(),
            (Some("date"), _) => "date, YYYY-MM-DD".to_owned(),
            // A number that may come as a text.
            _ if schema["pattern"].is_string() => "text".to_owned(),
            (_, Some(max)) => format!("text, at most {max} characters"),
            _ => "text".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_told_with_their_kinds_and_those_inside_them() {
        let schemas = json!({
            "Inner": { "type": "object", "properties": { "id": { "type": "integer" } }, "required": ["id"] },
        });
        let schema = json!({
            "type": "object",
            "properties": {
                "a": { "type": ["string", "null"], "maxLength": 5, "description": "Of `x`." },
                "b": { "anyOf": [{ "$ref": "#/components/schemas/Inner" }, { "type": "null" }] },
                "c": { "type": "number", "format": "decimal" },
            },
            "required": ["c", "b"],
        });
        let schemas = schemas.as_object().unwrap();
        let told: Vec<String> = lines(&schema, schemas)
            .iter()
            .map(|line| format!("{}: {} {}", line.name, line.kind, line.is_required))
            .collect();
        assert_eq!(
            told,
            [
                "c: amount true",
                "b: object or null true",
                "b.id: whole number true",
                "a: text, at most 5 characters or null false",
            ]
        );
    }
}
