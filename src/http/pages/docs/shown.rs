//! A route of the API as its page shows it: with its fields, examples to copy, its errors, and what is needed to try it.

use askama::Template;
use askama::filters::HtmlSafe;
use serde_json::Value;

use super::shape::{self, Line};
use super::words::Words;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Operation, Place};
use crate::http::openapi::webhooks::Webhook;
use crate::http::openapi::{Api, meanings};
use crate::http::pages::text::Text;

/// A table of fields.
#[derive(Clone, Debug, Template)]
#[template(path = "docs/fields.html")]
pub struct Fields {
    pub title: &'static str,
    pub lines: Vec<Line>,
    /// Whether a field may be left out matters to who sends it.
    pub is_request: bool,
}

/// A piece of code with a button that copies it.
#[derive(Clone, Debug, Template)]
#[template(path = "docs/sample.html")]
pub struct Sample {
    pub id: String,
    pub title: Text,
    pub code: Text,
}

/// An error that a route may answer.
#[derive(Clone, Debug)]
pub struct Failure {
    pub code: &'static str,
    pub status: u16,
    pub meaning: Words,
    pub remedy: Words,
}

/// What is asked for in "Try it".
#[derive(Clone, Debug)]
pub struct Asked {
    pub id: String,
    pub place: &'static str,
    pub name: &'static str,
    pub is_required: bool,
}

#[derive(Clone, Debug, Template)]
#[template(path = "docs/operation.html")]
pub struct Shown {
    pub id: &'static str,
    pub title: Text,
    pub verb: &'static str,
    pub path: Text,
    pub about: Words,
    pub takes_key: bool,
    pub tables: Vec<Fields>,
    pub samples: Vec<Sample>,
    pub failures: Vec<Failure>,
    pub asked: Vec<Asked>,
    /// The body to begin with.
    pub body: Option<Text>,
}

impl Shown {
    pub fn new(operation: &Operation, api: &Api, base: &str) -> Shown {
        let verb = match operation.verb {
            "post" => "POST",
            "patch" => "PATCH",
            _ => "GET",
        };
        Shown {
            id: operation.id,
            title: operation.title.into(),
            verb,
            path: operation.path.as_str().into(),
            about: Words::new(operation.about),
            takes_key: operation.takes_key,
            tables: tables(operation, api),
            samples: samples(operation, verb, base),
            failures: failures(operation),
            asked: asked(operation),
            body: operation.body.as_ref().map(|body| body.example.into()),
        }
    }
}

/// `{ "x": 1 }` with a line for each member; amounts keep their two decimals.
pub fn pretty(json: &[u8]) -> String {
    let (mut out, mut depth, mut in_text, mut escaped) = (String::new(), 0usize, false, false);
    let text = String::from_utf8_lossy(json);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            _ if escaped => {
                escaped = false;
                out.push(letter);
                continue;
            }
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            _ => {}
        }
        match letter {
            '{' | '[' if !in_text => {
                out.push(letter);
                if matches!(letters.peek(), Some('}' | ']')) {
                    continue;
                }
                depth += 1;
                broken(&mut out, depth);
            }
            '}' | ']' if !in_text => {
                if !out.ends_with(['{', '[']) {
                    depth = depth.saturating_sub(1);
                    broken(&mut out, depth);
                }
                out.push(letter);
            }
            ',' if !in_text => {
                out.push(letter);
                broken(&mut out, depth);
            }
            ':' if !in_text => out.push_str(": "),
            _ => out.push(letter),
        }
    }
    out
}

fn broken(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn tables(operation: &Operation, api: &Api) -> Vec<Fields> {
    let of = |place: Place| -> Vec<Line> {
        let here = operation.parameters.iter().filter(|parameter| parameter.place == place);
        here.map(|parameter| line(&parameter.field, parameter.field.schema.clone(), api)).collect()
    };
    let body = operation.body.as_ref().map_or_else(Vec::new, |body| {
        body.fields.iter().map(|field| line(field, field.schema.clone(), api)).collect()
    });
    let answer = operation.answers.first().map_or_else(Vec::new, |good| {
        shape::lines(shape::data(good.schema.as_value(), &api.schemas), &api.schemas)
    });
    let all = [
        ("In the path", of(Place::Path), true),
        ("In the query", of(Place::Query), true),
        ("In the body", body, true),
        ("Headers", of(Place::Header), true),
        ("In the answer's data", answer, false),
    ];
    let filled = all.into_iter().filter(|(_, lines, _)| !lines.is_empty());
    filled.map(|(title, lines, is_request)| Fields { title, lines, is_request }).collect()
}

fn line(field: &Field, schema: Value, api: &Api) -> Line {
    Line {
        name: field.name.into(),
        kind: shape::kind(&schema, &api.schemas).into(),
        is_required: field.is_required,
        about: Words::new(field.about),
    }
}

/// A path as it may be asked for.
fn filled(operation: &Operation) -> String {
    operation.path.replace("{transaction_id}", "order-2001").replace("{id}", "12")
}

fn samples(operation: &Operation, verb: &str, base: &str) -> Vec<Sample> {
    let mut curl = match verb {
        "GET" => format!("curl {base}{}", filled(operation)),
        verb => format!("curl -X {verb} {base}{}", filled(operation)),
    };
    if operation.takes_key {
        curl.push_str(" \\\n  -H \"X-API-Key: $KEY\"");
    }
    if let Some(body) = operation.body.as_ref().filter(|body| !body.is_optional) {
        curl.push_str(" \\\n  -H 'Content-Type: application/json'");
        curl.push_str(&format!(" \\\n  -d '{}'", body.example.replace('\'', r"'\''")));
    }
    let request = Sample { id: format!("{}-curl", operation.id), title: "Request".into(), code: curl.into() };
    let answers = operation.answers.iter().filter(|_| operation.id != "readDocument").map(|good| Sample {
        id: format!("{}-{}", operation.id, good.status.as_u16()),
        title: format!("Answer {}", good.status.as_u16()).into(),
        code: pretty(&good.example).into(),
    });
    std::iter::once(request).chain(answers).collect()
}

fn failures(operation: &Operation) -> Vec<Failure> {
    let mut codes = operation.codes.clone();
    codes.sort_by_key(|code| code.status().as_u16());
    codes.dedup();
    codes
        .iter()
        .filter_map(|code| meanings::of(*code).map(|row| failure(code.status().as_u16(), row)))
        .collect()
}

fn failure(status: u16, row: &'static meanings::Meaning) -> Failure {
    Failure { code: &row.code, status, meaning: Words::new(&row.meaning), remedy: Words::new(&row.remedy) }
}

/// Every code, for the page of errors.
pub fn all_failures() -> Vec<Failure> {
    meanings::all().map(|(code, row)| failure(code.status().as_u16(), row)).collect()
}

fn asked(operation: &Operation) -> Vec<Asked> {
    let asked = operation.parameters.iter().map(|parameter| Asked {
        id: format!("{}-{}", operation.id, parameter.field.name),
        place: parameter.place.word(),
        name: parameter.field.name,
        is_required: parameter.field.is_required,
    });
    asked.collect()
}

/// An event as its page shows it.
#[derive(Clone, Debug)]
pub struct Event {
    pub id: &'static str,
    pub name: Text,
    pub about: Words,
    pub fields: Fields,
    pub sample: Sample,
}

impl Event {
    pub fn new(webhook: &Webhook, api: &Api) -> Event {
        let lines = shape::lines(webhook.schema.as_value(), &api.schemas);
        Event {
            id: webhook.id,
            name: webhook.name.into(),
            about: Words::new(webhook.about),
            fields: Fields { title: "Fields", lines, is_request: false },
            sample: Sample {
                id: format!("{}-body", webhook.id),
                title: "Body".into(),
                code: pretty(&webhook.example).into(),
            },
        }
    }
}

// Their templates escape every text.
impl HtmlSafe for Fields {}
impl HtmlSafe for Sample {}
impl HtmlSafe for Shown {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_with_its_digits() {
        let laid = pretty(br#"{"a":5.00,"b":[],"c":{"d":"x: {,}\"","e":[1,2]}}"#);
        let expected = "{\n  \"a\": 5.00,\n  \"b\": [],\n  \"c\": {\n    \"d\": \"x: {,}\\\"\",\n    \"e\": [\n      1,\n      2\n    ]\n  }\n}";
        assert_eq!(laid, expected);
    }
}
