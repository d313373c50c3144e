//! Writes the descriptions of all routes down as one OpenAPI 3.1 document.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::headers::{self, HEADERS};
use super::json::Json;
use super::meanings;
use super::webhooks::Webhook;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Body, Good, Operation, Parameter, Tag};
use crate::http::response::code::Code;
use crate::http::response::error::ApiError;
use crate::http::response::problems::Problems;

/// What the document is about, beside its routes.
pub struct About<'a> {
    /// Of the service, for `servers`.
    pub public_url: &'a str,
    pub operations: &'a [Operation],
    pub webhooks: &'a [Webhook],
    pub schemas: &'a Map<String, Value>,
}

const INFO: &str = "Ask customers for bank transfers, hear at once when the money is in, and never be wrong about it.\n\n\
Send your API key in `X-API-Key`. Amounts are naira with at most two decimals. Every answer has `success`; an error has a \
`code` for programs and a `message` for people. Unknown fields of a request are ignored; ignore fields that you do not know, \
because new ones may be added to answers and webhooks at any time.\n\n\
A path that is no route answers 404 with the code `not_found`; a wrong method 405 `method_not_allowed`, whose header `Allow` \
names the right ones.";

pub fn write(about: &About<'_>) -> Json {
    let tags = Tag::ALL.into_iter().filter(|tag| about.operations.iter().any(|of| of.tag == *tag));
    let tags =
        tags.map(|tag| Json::object([("name", tag.name().into()), ("description", tag.about().into())]));
    Json::object([
        ("openapi", "3.1.1".into()),
        ("info", info()),
        ("servers", Json::list([Json::object([("url", about.public_url.into())])])),
        ("security", json!([{ "apiKey": [] }]).into()),
        ("tags", Json::list(tags)),
        ("paths", paths(about)),
        ("webhooks", webhooks(about)),
        ("components", components(about)),
    ])
}

fn info() -> Json {
    Json::object([
        ("title", "tillbell".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("summary", "Bank transfers, matched to payments by the bank's own alert mails".into()),
        ("description", INFO.into()),
        ("license", json!({ "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" }).into()),
    ])
}

fn paths(about: &About<'_>) -> Json {
    let mut paths: Vec<(String, Json)> = Vec::new();
    for operation in about.operations {
        let written = written(operation);
        match paths.iter_mut().find(|(path, _)| *path == operation.path) {
            Some((_, item)) => *item = item.clone().with(operation.verb, written),
            None => {
                paths.push((operation.path.clone(), Json::object([(operation.verb, written)])));
            }
        }
    }
    Json::Object(paths)
}

fn written(operation: &Operation) -> Json {
    let of = operation;
    let parameters = (!of.parameters.is_empty()).then(|| Json::list(of.parameters.iter().map(parameter)));
    Json::object([
        ("operationId", of.id.into()),
        ("tags", json!([of.tag.name()]).into()),
        ("summary", of.title.into()),
        ("description", of.about.into()),
    ])
    .with_some("security", (!of.takes_key).then(|| json!([]).into()))
    .with_some("parameters", parameters)
    .with_some("requestBody", of.body.as_ref().map(request_body))
    .with("responses", responses(of))
}

fn parameter(parameter: &Parameter) -> Json {
    let Field { name, is_required, schema, about } = &parameter.field;
    Json::object([
        ("name", (*name).into()),
        ("in", parameter.place.word().into()),
        ("required", (*is_required).into()),
        ("description", (*about).into()),
        ("schema", schema.clone().into()),
    ])
}

fn request_body(body: &Body) -> Json {
    let content = Json::object([
        ("schema", json!({ "$ref": format!("#/components/schemas/{}", body.name) }).into()),
        ("example", Json::raw(body.example)),
    ]);
    Json::object([
        ("required", (!body.is_optional).into()),
        ("content", Json::object([("application/json", content)])),
    ])
}

/// The schema of a body, under its name.
pub fn body_schema(body: &Body) -> Value {
    let properties: Map<String, Value> =
        body.fields.iter().map(|field| (field.name.to_owned(), field.body_schema())).collect();
    let required: Vec<&str> =
        body.fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

fn responses(operation: &Operation) -> Json {
    let mut all: Vec<(String, Json)> = Vec::new();
    for good in &operation.answers {
        all.push((good.status.as_str().to_owned(), good_response(operation, good)));
    }
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in &operation.codes {
        let codes = by_status.entry(code.status().as_u16()).or_default();
        if !codes.contains(code) {
            codes.push(*code);
        }
    }
    for (status, codes) in by_status {
        all.push((status.to_string(), error_response(operation, status, &codes)));
    }
    Json::Object(all)
}

fn good_response(operation: &Operation, good: &Good) -> Json {
    let example = String::from_utf8_lossy(&good.example);
    let example = if good.kind == "application/json" { Json::raw(&example) } else { example.as_ref().into() };
    let content = Json::object([("schema", good.schema.clone().to_value().into()), ("example", example)]);
    let links = operation.onward.iter().map(|(name, operation, parameter, place)| {
        let link = json!({
            "operationId": operation, "parameters": { *parameter: format!("$response.body#{place}") },
        });
        ((*name).to_owned(), link.into())
    });
    let links: Vec<(String, Json)> = links.collect();
    Json::object([
        ("description", good.about.into()),
        ("headers", headers::of_answer(operation).into()),
        ("content", Json::Object(vec![(good.kind.to_owned(), content)])),
    ])
    .with_some("links", (!links.is_empty()).then_some(Json::Object(links)))
}

fn error_response(operation: &Operation, status: u16, codes: &[Code]) -> Json {
    let told = codes.iter().map(|code| {
        let meaning = meanings::of(*code).map_or("", |row| row.meaning.as_str());
        format!("- `{}`: {meaning}", code.word())
    });
    let words: Vec<&str> = codes.iter().map(|code| code.word()).collect();
    let richer = operation.richer.as_ref().filter(|richer| richer.status.as_u16() == status);
    let name = richer.map_or("Error", |richer| richer.name);
    let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
    let content = Json::object([("schema", schema.into()), ("example", Json::raw(&example(codes)))]);
    Json::object([
        ("description", told.collect::<Vec<_>>().join("\n").into()),
        ("headers", headers::of_error(operation, status, codes).into()),
        ("content", Json::object([("application/json", content)])),
        ("x-codes", words.into_iter().map(Value::from).collect::<Value>().into()),
    ])
}

/// An error as it may come.
fn example(codes: &[Code]) -> String {
    let Some(code) = codes.last() else { return "{}".to_owned() };
    String::from_utf8_lossy(&sample(*code).encoded()).into_owned()
}

fn sample(code: Code) -> ApiError {
    if code.status() == StatusCode::UNPROCESSABLE_ENTITY {
        let mut problems = Problems::default();
        problems.require("amount");
        return ApiError::invalid(problems);
    }
    let told = meanings::of(code).map_or("", |row| row.meaning.as_str());
    ApiError::new(code, told.to_owned())
}

fn webhooks(about: &About<'_>) -> Json {
    let all = about.webhooks.iter().map(|webhook| {
        let content = Json::object([
            ("schema", webhook.schema.clone().to_value().into()),
            ("example", Json::raw(&String::from_utf8_lossy(&webhook.example))),
        ]);
        let request = Json::object([
            ("required", true.into()),
            ("content", Json::object([("application/json", content)])),
        ]);
        let post = Json::object([
            ("operationId", webhook.id.into()),
            ("summary", webhook.name.into()),
            ("description", webhook.about.into()),
            ("security", json!([]).into()),
            ("parameters", Json::list(headers::of_webhooks())),
            ("requestBody", request),
            (
                "responses",
                json!({
                    "2XX": { "description": "Any of these acknowledges the event." },
                    "410": { "description": "Pauses this address: its events wait." },
                    "default": { "description": "Anything else is a failure, and the event is sent again." },
                })
                .into(),
            ),
        ]);
        (webhook.name.to_owned(), Json::object([("post", post)]))
    });
    Json::Object(all.collect())
}

fn components(about: &About<'_>) -> Json {
    let mut schemas = about.schemas.clone();
    // Data comes with some errors alone, and is told of with those.
    if let Some(properties) = schemas.get_mut("Error").and_then(|error| error["properties"].as_object_mut()) {
        properties.remove("data");
    }
    for richer in about.operations.iter().filter_map(|operation| operation.richer.as_ref()) {
        let mut error = schemas.get("Error").cloned().unwrap_or_default();
        error["properties"]["data"] = richer.data.clone().to_value();
        schemas.insert(richer.name.to_owned(), error);
    }
    for body in about.operations.iter().filter_map(|operation| operation.body.as_ref()) {
        schemas.insert(body.name.to_owned(), body_schema(body));
    }
    let headers: Map<String, Value> = HEADERS.iter().map(|header| header.written()).collect();
    let key = json!({
        "apiKey": {
            "type": "apiKey", "in": "header", "name": "X-API-Key",
            "description": "`tb_live_...` or `tb_test_...`. A key belongs on your server, never into a page or an app. POST \
                            and PATCH also take it as `api_key` in the body.",
        }
    });
    Json::object([
        ("schemas", Value::Object(schemas).into()),
        ("headers", Value::Object(headers).into()),
        ("securitySchemes", key.into()),
    ])
}
