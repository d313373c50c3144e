//! Holds what the API answers, and what webhooks say, to the API's own document: every answer that a test's client gets comes
//! by here, so that an answer of which the document does not tell fails the test that met it.
//!
//! An answer is undeclared if its status, its code, a field, the shape of one, or a header is not there. Where a request
//! went well, the request too must be one of which the document says that it may be sent.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Map, Value, json};
use tillbell::domain::money::Money;
use tillbell::http::openapi::Api;
use url::form_urlencoded;

/// A request and its answer.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    pub method: &'a str,
    /// With its query.
    pub path: &'a str,
    pub sent: Option<&'a [u8]>,
    pub status: u16,
    /// Names in lower case.
    pub headers: &'a [(String, String)],
    pub body: &'a str,
}

/// The wallet's prefix is the operator's: any word fits.
const PREFIX: &str = "{wallet}";
/// Larger than what any test configures.
const LARGEST: Money = Money(i64::MAX);
/// Headers that say something of the API, so that a caller must be able to read of them.
const OURS: [&str; 6] = [
    "x-request-id",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "retry-after",
    "idempotency-replayed",
];
/// What is told of a request that fits no route.
const OF_NO_ROUTE: [&str; 8] = [
    "not_found",
    "method_not_allowed",
    "rate_limited",
    "https_required",
    "ambiguous_request",
    "service_unavailable",
    "internal_error",
    "body_too_large",
];

pub struct Document {
    pub whole: Value,
    /// The same where no object has a field that is not named.
    closed: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

pub static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    let api = Api::describe(PREFIX, "http://127.0.0.1", LARGEST);
    let whole: Value = serde_json::from_slice(api.document()).unwrap();
    let mut closed = whole.clone();
    let schemas = closed["components"]["schemas"].as_object_mut().unwrap();
    schemas.values_mut().for_each(close);
    Document { whole, closed, validators: Mutex::default() }
});

fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            if members.contains_key("properties") && !members.contains_key("additionalProperties") {
                members.insert("additionalProperties".into(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Panics where the answer is not as the document says. Pages for people are not its concern.
#[track_caller]
pub fn check(exchange: &Exchange<'_>) {
    let (path, query) = exchange.path.split_once('?').unwrap_or((exchange.path, ""));
    if let Err(wrong) = DOCUMENT.find(exchange, path, query) {
        panic!("{wrong}\n{exchange:?}");
    }
}

/// Of an answer of which it is not known to what: an error has the form of errors.
#[track_caller]
pub fn check_error(status: u16, body: &str) {
    let Ok(body) = serde_json::from_str::<Value>(body) else { return };
    // The one error that has data with it.
    let name = if body["data"].is_null() { "Error" } else { "UnsentWalletPayment" };
    let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
    if body["success"] == false
        && let Err(wrong) = DOCUMENT.fits(name, &schema, &body)
    {
        panic!("{wrong}\n{status} {body}");
    }
}

/// Panics where the document tells of no such event, or of another body.
#[track_caller]
pub fn check_webhook(body: &[u8]) {
    // Some tests send what is no event, to see it sent.
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return };
    let Some(event) = body["event"].as_str() else { return };
    let post = &DOCUMENT.whole["webhooks"][event]["post"];
    let schema = &post["requestBody"]["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "the document does not tell of {event}");
    if let Err(wrong) = DOCUMENT.fits(event, schema, &body) {
        panic!("{wrong}\n{body}");
    }
}

/// Panics where an example is not as its own schema says.
#[track_caller]
pub fn check_example(name: &str, content: &Value) {
    if let Err(wrong) = DOCUMENT.fits(&format!("{name} example"), &content["schema"], &content["example"]) {
        panic!("{wrong}\n{content}");
    }
}

impl Document {
    fn find(&self, exchange: &Exchange<'_>, path: &str, query: &str) -> Result<(), String> {
        let is_api = path.starts_with("/api/") || path == "/openapi.json";
        let Some((template, item)) = self.route(path) else {
            return if is_api { self.of_no_route(exchange) } else { Ok(()) };
        };
        // The document that fits any prefix cannot tell that another one is configured.
        if template.contains(PREFIX) && exchange.status == 404 && exchange.body.contains("\"not_found\"") {
            return self.of_no_route(exchange);
        }
        let method = if exchange.method == "HEAD" { "get" } else { exchange.method };
        let Some(operation) = item.get(method.to_lowercase()) else { return self.of_no_route(exchange) };
        let id = operation["operationId"].as_str().unwrap_or_default();
        let response = &operation["responses"][exchange.status.to_string()];
        if response.is_null() {
            return Err(format!("the document has no {} for {id} ({template})", exchange.status));
        }
        for (name, _) in exchange.headers.iter().filter(|(name, _)| OURS.contains(&name.as_str())) {
            let declared = response["headers"].as_object();
            if !declared.is_some_and(|all| all.keys().any(|one| one.eq_ignore_ascii_case(name))) {
                return Err(format!("the document has no header {name} on {} for {id}", exchange.status));
            }
        }
        if exchange.method == "HEAD" {
            return Ok(());
        }
        self.answer(exchange, id, response)?;
        match exchange.status {
            200..=299 => self.request(exchange, query, id, operation),
            422 => fields_are_known(exchange, id, operation, self),
            _ => Ok(()),
        }
    }

    /// Of several that fit, the one with the most words of its own.
    fn route(&self, path: &str) -> Option<(&str, &Value)> {
        let all = self.whole["paths"].as_object()?;
        let fits = all.iter().filter(|(template, _)| is_like(template, path));
        let (template, item) = fits.min_by_key(|(template, _)| template.matches('{').count())?;
        Some((template, item))
    }

    fn of_no_route(&self, exchange: &Exchange<'_>) -> Result<(), String> {
        let Ok(body) = serde_json::from_str::<Value>(exchange.body) else { return Ok(()) };
        self.fits("Error", &json!({ "$ref": "#/components/schemas/Error" }), &body)?;
        let code = body["code"].as_str().unwrap_or_default();
        if !OF_NO_ROUTE.contains(&code) {
            return Err(format!("{code} of no route that the document has"));
        }
        Ok(())
    }

    fn answer(&self, exchange: &Exchange<'_>, id: &str, response: &Value) -> Result<(), String> {
        let content = &response["content"]["application/json"];
        // The document itself, and streams.
        if content.is_null() || id == "readDocument" {
            return Ok(());
        }
        let body: Value = serde_json::from_str(exchange.body)
            .map_err(|error| format!("{id} answered what is no JSON: {error}"))?;
        self.fits(&format!("{id} {}", exchange.status), &content["schema"], &body)?;
        let codes = response["x-codes"].as_array();
        if codes.is_some_and(|codes| !codes.contains(&body["code"])) {
            return Err(format!(
                "the document has no code {} on {} for {id}: {}",
                body["code"], exchange.status, response["x-codes"]
            ));
        }
        Ok(())
    }

    /// What went well may be sent.
    fn request(
        &self,
        exchange: &Exchange<'_>,
        query: &str,
        id: &str,
        operation: &Value,
    ) -> Result<(), String> {
        let given: HashMap<_, _> = form_urlencoded::parse(query.as_bytes()).collect();
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        for parameter in parameters.iter().filter(|one| one["in"] == "query") {
            let name = parameter["name"].as_str().unwrap_or_default();
            let Some(text) = given.get(name).map(|text| text.trim()).filter(|text| !text.is_empty()) else {
                continue;
            };
            let value = match (parameter["schema"]["type"] == "integer", text.parse::<i64>()) {
                (true, Ok(number)) => Value::from(number),
                _ => Value::from(text),
            };
            self.fits_open(&format!("{id} ?{name}"), &parameter["schema"], &value)?;
        }
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let sent = exchange.sent.filter(|sent| !sent.is_empty() && !schema.is_null());
        let Some(Ok(Value::Object(sent))) = sent.map(serde_json::from_slice::<Value>) else { return Ok(()) };
        self.fits_open(&format!("{id} request"), schema, &Value::Object(as_read(sent)))
    }

    fn fits(&self, name: &str, schema: &Value, body: &Value) -> Result<(), String> {
        self.validate(&self.closed, name, schema, body)
    }

    /// Of requests: fields that are not known are ignored.
    fn fits_open(&self, name: &str, schema: &Value, body: &Value) -> Result<(), String> {
        self.validate(&self.whole, name, schema, body)
    }

    fn validate(&self, document: &Value, name: &str, schema: &Value, body: &Value) -> Result<(), String> {
        let mut all = self.validators.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let validator = all.entry(name.to_owned()).or_insert_with(|| {
            let mut root = schema.clone();
            root["components"] = document["components"].clone();
            let built = jsonschema::options().should_validate_formats(true).build(&root);
            Arc::new(built.unwrap_or_else(|error| panic!("the schema of {name}: {error}")))
        });
        let validator = validator.clone();
        drop(all);
        let wrong: Vec<String> =
            validator.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("not as the document says of {name}: {}", wrong.join("; "))),
        }
    }
}

/// As a request's members are read: texts trimmed, an empty one as if it were not there.
fn as_read(members: Map<String, Value>) -> Map<String, Value> {
    let trimmed = members.into_iter().map(|(name, value)| match value {
        Value::String(text) => (name, Value::from(text.trim())),
        value => (name, value),
    });
    trimmed.filter(|(_, value)| *value != "").collect()
}

fn is_like(template: &str, path: &str) -> bool {
    let (template, path): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template
            .iter()
            .zip(path)
            .all(|(like, is)| *like == is || (like.starts_with('{') && !is.is_empty()))
}

/// A 422 complains of fields and parameters that the document has.
fn fields_are_known(
    exchange: &Exchange<'_>,
    id: &str,
    operation: &Value,
    document: &Document,
) -> Result<(), String> {
    let body: Value = serde_json::from_str(exchange.body).map_err(|error| error.to_string())?;
    let schema = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str();
    let fields = schema.and_then(|place| document.whole.pointer(place.trim_start_matches('#')));
    let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    for name in body["errors"].as_object().into_iter().flat_map(Map::keys) {
        let is_known = fields.is_some_and(|fields| !fields["properties"][name].is_null())
            || parameters.iter().any(|parameter| parameter["name"] == name.as_str())
            || ["body", "idempotency_key"].contains(&name.as_str());
        if !is_known {
            return Err(format!("the document has no field {name} for {id}"));
        }
    }
    Ok(())
}
