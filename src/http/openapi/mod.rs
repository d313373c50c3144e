//! The API's own description: an OpenAPI 3.1 document at `GET /openapi.json`, and what the pages under `/docs` show.
//!
//! It is made of the program: each handler describes its route beside itself (`describe`), shapes of answers come from the
//! structs that are sent. A test asks the router for every route, and holds this list to it. See docs/adding-an-endpoint.md.

mod document;
pub mod headers;
mod json;
pub mod meanings;
pub mod webhooks;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};
use schemars::json_schema;
use serde_json::{Map, Value};

use self::document::About;
use self::webhooks::Webhook;
use super::Http;
use super::describe::operation::{Operation, Tag, Writer};
use super::paths::OPENAPI;
use super::request::context::RequestLabels;
use super::response::code::Code;
use super::response::error::{ApiError, ErrorBody};
use super::server::caller::{address, over_limit};
use super::{api, health};
use crate::domain::money::Money;
use crate::wire;

/// Every route of the API, in the order in which a reader meets them.
const OPERATIONS: &[fn(&mut Writer) -> Operation] = &[
    api::create::describe,
    api::read::describe,
    api::correct::describe,
    api::list::describe,
    api::checkout::describe_state,
    api::checkout::describe_events,
    api::wallet::lookup::describe,
    api::wallet::ensure::describe,
    api::wallet::message::describe,
    api::wallet::pay::describe,
    api::wallet::topup::describe,
    api::events::describe_list,
    api::event_stream::describe,
    api::events::describe_read,
    api::events::describe_resend,
    api::balance::describe,
    api::balance::describe_entries,
    api::payouts::describe_accounts,
    api::payouts::describe_request,
    api::payouts::describe_list,
    api::payouts::describe_read,
    api::payouts::describe_cancel,
    api::test_alerts::describe,
    health::describe_live,
    health::describe_ready,
    describe,
];

const CROWDED: &str = "Too many requests; try again later";
/// Seconds for which a reader may keep the document.
const KEPT: &str = "public, max-age=60";

/// The API as this service has it.
pub struct Api {
    pub operations: Vec<Operation>,
    pub webhooks: Vec<Webhook>,
    pub schemas: Map<String, Value>,
    document: Bytes,
}

impl Api {
    /// `prefix` is that of the wallet's routes.
    pub fn describe(prefix: &str, public_url: &str, max_amount: Money) -> Api {
        let mut writer = Writer::new(max_amount);
        let mut operations: Vec<Operation> =
            OPERATIONS.iter().map(|describe| describe(&mut writer)).collect();
        for operation in &mut operations {
            operation.path = operation.path.replace("{wallet}", prefix);
        }
        let webhooks = webhooks::all(&mut writer);
        writer.schema::<ErrorBody<'static>>();
        let schemas = writer.into_schemas();
        let about = About { public_url, operations: &operations, webhooks: &webhooks, schemas: &schemas };
        let document = wire::encode(&document::write(&about)).into();
        Api { operations, webhooks, schemas, document }
    }

    /// In JSON.
    pub fn document(&self) -> &Bytes {
        &self.document
    }
}

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    // As of a page: it has no key, and costs nothing.
    let mut response = match over_limit(&http, http.limits.spend_page(address(&http, &parts)).await) {
        Some(seconds) => {
            ApiError::retry(Code::RateLimited, CROWDED, u32::try_from(seconds).unwrap_or(u32::MAX))
                .into_response()
        }
        None => sent(http.api().document().clone()),
    };
    response.extensions_mut().insert(RequestLabels { route: OPENAPI, business_id: None });
    response
}

/// What it says of itself.
fn describe(_: &mut Writer) -> Operation {
    let schema = json_schema!({ "type": "object", "description": "OpenAPI 3.1" });
    Operation::get(OPENAPI, "readDocument", Tag::Service, "This document")
        .open()
        .about("The API as OpenAPI 3.1. It needs no key.")
        .answers(StatusCode::OK, "The document", schema, br#"{"openapi":"3.1.1"}"#.to_vec())
        .fails(&[Code::RateLimited])
}

fn sent(document: Bytes) -> Response {
    let mut response = Response::new(Body::from(document));
    for (name, value) in
        [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, KEPT), (X_CONTENT_TYPE_OPTIONS, "nosniff")]
    {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
