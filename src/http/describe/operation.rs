//! How a route describes itself: what it takes, what it answers, which codes its errors have.
//!
//! Each handler's file has such a description beside the handler. The shapes of answers come from the structs that are
//! sent (`JsonSchema`), the limits from the constants that are checked; a test over every answer of every other test holds
//! the rest to what is really answered. `document` writes them all down; nothing here knows a route.

use http::StatusCode;
use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::fields::Field;
use crate::domain::money::Money;
use crate::http::response::code::Code;

/// Where schemas stand in the document.
const SCHEMAS: &str = "/components/schemas";

/// What descriptions are written with.
pub struct Writer {
    schemas: SchemaGenerator,
    /// As this service was configured.
    pub max_amount: Money,
}

impl Writer {
    pub fn new(max_amount: Money) -> Writer {
        let mut settings = SchemaSettings::draft2020_12();
        settings.definitions_path = SCHEMAS.into();
        settings.meta_schema = None;
        // Of what is sent: a field that is left out where it is empty is optional, and any other one is required.
        settings.contract = Contract::Serialize;
        Writer { schemas: settings.into_generator(), max_amount }
    }

    /// A reference to the schema of what is sent.
    pub fn schema<T: JsonSchema>(&mut self) -> Schema {
        self.schemas.subschema_for::<T>()
    }

    /// All schemas that were asked for.
    pub fn into_schemas(mut self) -> Map<String, Value> {
        self.schemas.take_definitions(true)
    }
}

/// Parts of the API, each with a page of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    Payments,
    Wallet,
    Events,
    Balance,
    TestMode,
    Service,
}

impl Tag {
    pub const ALL: [Tag; 6] =
        [Tag::Payments, Tag::Wallet, Tag::Events, Tag::Balance, Tag::TestMode, Tag::Service];

    pub fn name(self) -> &'static str {
        match self {
            Tag::Payments => "Payments",
            Tag::Wallet => "Wallet",
            Tag::Events => "Events",
            Tag::Balance => "Balance and payouts",
            Tag::TestMode => "Test mode",
            Tag::Service => "The service",
        }
    }

    /// In addresses.
    pub fn slug(self) -> &'static str {
        match self {
            Tag::Payments => "payments",
            Tag::Wallet => "wallet",
            Tag::Events => "events",
            Tag::Balance => "balance",
            Tag::TestMode => "test-mode",
            Tag::Service => "service",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Tag::Payments => {
                "A payment is created with an amount and the payer's name; the answer names the account that the customer \
                 transfers to. When the bank's alert mail arrives and matches, the payment is `approved`, and your webhook \
                 is called."
            }
            Tag::Wallet => {
                "Customers pay from a wallet that belongs to their phone number, and confirm each payment with a PIN on a \
                 page of ours. The operator enables the wallet for each business. Test keys work at once, with test numbers."
            }
            Tag::Events => {
                "What your webhooks told, in one order that never changes: a program that lost webhooks catches up. Do not \
                 rely on knowing every event: ignore those that you do not know."
            }
            Tag::Balance => {
                "What the operator owes you, and how it comes to your bank account. Live keys only: test payments have no \
                 balance."
            }
            Tag::TestMode => {
                "A test key makes test payments, which need no operator and no bank: you say what mail the bank sends. Nothing \
                 of it touches live money."
            }
            Tag::Service => "This document, and whether the service is up.",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Path,
    Query,
    Header,
}

impl Place {
    pub fn word(self) -> &'static str {
        match self {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Parameter {
    pub place: Place,
    pub field: Field,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub struct Body {
    /// Of its schema.
    pub name: &'static str,
    pub fields: Vec<Field>,
    /// As it may be sent, in JSON.
    pub example: &'static str,
    /// It may be left out.
    pub is_optional: bool,
}

/// An answer to a request that went well.
#[derive(Clone, Debug)]
pub struct Good {
    pub status: StatusCode,
    pub about: &'static str,
    pub schema: Schema,
    /// As it is sent.
    pub example: Vec<u8>,
    pub kind: &'static str,
}

/// Where a value of the answer goes to: name, operation, its parameter, place in the body.
pub type Onward = (&'static str, &'static str, &'static str, &'static str);

/// An error that has data with it, because something was made all the same.
#[derive(Clone, Debug)]
pub struct Richer {
    pub status: StatusCode,
    /// Of its schema.
    pub name: &'static str,
    pub data: Schema,
}

#[derive(Clone, Debug)]
pub struct Operation {
    pub verb: &'static str,
    pub path: String,
    /// What programs call it.
    pub id: &'static str,
    pub tag: Tag,
    /// What people call it.
    pub title: &'static str,
    /// In Markdown.
    pub about: &'static str,
    pub parameters: Vec<Parameter>,
    pub body: Option<Body>,
    pub answers: Vec<Good>,
    pub codes: Vec<Code>,
    pub onward: Vec<Onward>,
    /// Asked with an API key, and counted against its limits.
    pub takes_key: bool,
    /// An error of one status has data with it.
    pub richer: Option<Richer>,
}

/// What every route with a key may answer.
const KEYED: &[Code] = &[
    Code::AmbiguousRequest,
    Code::ApiKeyMissing,
    Code::ApiKeyInvalid,
    Code::HttpsRequired,
    Code::RateLimited,
    Code::InternalError,
    Code::ServiceUnavailable,
];
/// What every route without one may answer.
const OPEN: &[Code] = &[Code::AmbiguousRequest, Code::InternalError];
/// With a body.
const WITH_BODY: &[Code] = &[
    Code::InvalidJson,
    Code::DuplicateField,
    Code::BodyIncomplete,
    Code::KeyMayOnlyRead,
    Code::RequestTimeout,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
    Code::InvalidFields,
    Code::BodyNotAnObject,
];
/// With an idempotency key, and a change.
const IDEMPOTENT: &[Code] = &[Code::RequestInProgress, Code::IdempotencyKeyReused, Code::TooManyChanges];
const WALLET: &[Code] = &[Code::WalletNotEnabled];

impl Operation {
    fn new(
        verb: &'static str,
        path: &'static str,
        id: &'static str,
        tag: Tag,
        title: &'static str,
    ) -> Operation {
        Operation {
            verb,
            path: path.to_owned(),
            id,
            tag,
            title,
            about: "",
            parameters: Vec::new(),
            body: None,
            answers: Vec::new(),
            codes: if tag == Tag::Wallet { [KEYED, WALLET].concat() } else { KEYED.to_vec() },
            onward: Vec::new(),
            takes_key: true,
            richer: None,
        }
    }

    pub fn get(path: &'static str, id: &'static str, tag: Tag, title: &'static str) -> Operation {
        Operation::new("get", path, id, tag, title)
    }

    /// It takes a JSON body and an `Idempotency-Key`.
    pub fn post(
        path: &'static str,
        id: &'static str,
        tag: Tag,
        title: &'static str,
        body: Body,
    ) -> Operation {
        Operation::new("post", path, id, tag, title).changing(body)
    }

    /// The same.
    pub fn patch(
        path: &'static str,
        id: &'static str,
        tag: Tag,
        title: &'static str,
        body: Body,
    ) -> Operation {
        Operation::new("patch", path, id, tag, title).changing(body)
    }

    fn changing(mut self, body: Body) -> Operation {
        self.codes.extend(WITH_BODY);
        self.codes.extend(IDEMPOTENT);
        self.body = Some(body);
        self.parameter(Place::Header, Field::idempotency_key())
    }

    /// Anybody may ask.
    pub fn open(mut self) -> Operation {
        self.takes_key = false;
        self.codes = OPEN.to_vec();
        self
    }

    pub fn about(self, about: &'static str) -> Operation {
        Operation { about, ..self }
    }

    pub fn parameter(mut self, place: Place, field: Field) -> Operation {
        self.parameters.push(Parameter { place, field });
        self
    }

    pub fn at(self, field: Field) -> Operation {
        self.parameter(Place::Path, field)
    }

    /// A parameter that is wrong is told with 422.
    pub fn query(mut self, field: Field) -> Operation {
        if !self.codes.contains(&Code::InvalidFields) {
            self.codes.push(Code::InvalidFields);
        }
        self.parameter(Place::Query, field)
    }

    pub fn answers(
        mut self,
        status: StatusCode,
        about: &'static str,
        schema: Schema,
        example: Vec<u8>,
    ) -> Operation {
        self.answers.push(Good { status, about, schema, example, kind: "application/json" });
        self
    }

    /// An answer that goes on: server-sent events.
    pub fn streams(mut self, about: &'static str, example: Vec<u8>) -> Operation {
        let schema = schemars::json_schema!({ "type": "string" });
        let kind = "text/event-stream";
        self.answers.push(Good { status: StatusCode::OK, about, schema, example, kind });
        self
    }

    /// Codes besides those that every route of its kind has.
    pub fn fails(mut self, codes: &[Code]) -> Operation {
        self.codes.extend(codes);
        self
    }

    pub fn richer(self, richer: Richer) -> Operation {
        Operation { richer: Some(richer), ..self }
    }

    pub fn leads_to(mut self, onward: Onward) -> Operation {
        self.onward.push(onward);
        self
    }
}

impl Body {
    pub fn new(name: &'static str, example: &'static str) -> Body {
        Body { name, fields: Vec::new(), example, is_optional: false }
    }

    pub fn field(mut self, field: Field) -> Body {
        self.fields.push(field);
        self
    }

    pub fn optional(self) -> Body {
        Body { is_optional: true, ..self }
    }
}
