//! `GET /balance` and `GET /balance/entries`: what the business is owed, and the lines of the ledger that made it so.
//!
//! Test payments have books of their own and no balance, so a test key is refused.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use url::form_urlencoded;

use super::{Admitted, Answer, GoodBody, Received, admit_without_body, good_body};
use crate::domain::merchant::Mode;
use crate::domain::money::{CURRENCY, Money};
use crate::domain::time::Timestamp;
use crate::http::Http;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Operation, Tag, Writer};
use crate::http::paths::{BALANCE, BALANCE_ENTRIES};
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::ApiError;
use crate::http::response::problems::Problems;
use crate::ops::ledger::statement::{LineKind, StatementLine, knows_cursor, statement};
use crate::ops::payouts::request::balance;
use crate::wire::{self, JsonMoney, JsonTime};

const LIVE_ONLY: &str = "Test payments have no balance and are never paid out; use a live key";

/// The balance is of live money alone.
pub(super) fn live_only(admitted: &Admitted) -> Result<(), ApiError> {
    match admitted.caller.mode {
        Mode::Live => Ok(()),
        Mode::Test => Err(ApiError::new(Code::LiveKeyRequired, LIVE_ONLY)),
    }
}

/// A parameter of the query; the last of several, `None` if it is empty.
pub(super) fn parameter(received: &Received, name: &str) -> Option<String> {
    let query = received.parts.uri.query().unwrap_or_default();
    let found = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name).last();
    found.map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// 422 for a cursor that is none of ours.
pub(super) fn unknown_cursor() -> ApiError {
    let mut problems = Problems::default();
    let what = "is not valid: use meta.next_cursor of the previous page";
    problems.complain_of_parameter("cursor", FieldCode::UnknownCursor, what);
    ApiError::invalid(problems)
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub(super) struct Page<T> {
    #[schemars(extend("const" = true))]
    pub success: bool,
    pub data: Vec<T>,
    pub meta: Meta,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ListMeta")]
pub(super) struct Meta {
    /// Of the next page; null on the last one.
    pub next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Balance")]
struct BalanceBody {
    /// What you can ask for; below zero if more was taken back than you had.
    available: JsonMoney,
    /// Set aside for your pending payouts.
    reserved: JsonMoney,
    #[schemars(extend("const" = CURRENCY))]
    currency: &'static str,
}

pub fn describe(writer: &mut Writer) -> Operation {
    let sample = BalanceBody {
        available: JsonMoney(Money(1_232_500)),
        reserved: JsonMoney(Money(500_000)),
        currency: CURRENCY,
    };
    Operation::get(BALANCE, "readBalance", Tag::Balance, "Read the balance")
        .about("What the operator owes you.")
        .answers(
            StatusCode::OK,
            "The balance",
            writer.schema::<GoodBody<'static, BalanceBody>>(),
            good_body(None, sample),
        )
        .fails(&[Code::LiveKeyRequired])
}

pub fn describe_entries(writer: &mut Writer) -> Operation {
    let sample = EntryBody {
        created_at: JsonTime(Timestamp(1_773_307_800_000_000)),
        kind: LineKind::Payout.as_str(),
        transaction_id: None,
        payout_id: Some(12),
        reason: None,
        amount: JsonMoney(Money(-500_000)),
        balance: Some(JsonMoney(Money(1_232_500))),
    };
    let meta = Meta { next_cursor: None };
    Operation::get(BALANCE_ENTRIES, "listBalanceEntries", Tag::Balance, "List balance entries")
        .about("Newest first, up to 50 at a time; a page may hold fewer although more follow.")
        .query(Field::cursor())
        .answers(
            StatusCode::OK,
            "Some lines of the ledger",
            writer.schema::<Page<EntryBody<'static>>>(),
            wire::encode(&Page { success: true, data: vec![sample], meta }),
        )
        .fails(&[Code::LiveKeyRequired])
}

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    let received = Received::without_body(request);
    let admitted = match admit_without_body(&http, &received, BALANCE).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = read(&http, &admitted).await;
    admitted.respond(&http, result)
}

async fn read(http: &Http, admitted: &Admitted) -> Result<Answer, ApiError> {
    live_only(admitted)?;
    let found = balance(&http.app, admitted.caller.business.id).await?;
    let body = BalanceBody {
        available: JsonMoney(found.available),
        reserved: JsonMoney(found.reserved),
        currency: CURRENCY,
    };
    Ok(Answer::ok(good_body(None, body)))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BalanceEntry")]
struct EntryBody<'a> {
    created_at: JsonTime,
    #[schemars(extend("enum" = LineKind::ALL.map(LineKind::as_str)))]
    kind: &'static str,
    transaction_id: Option<&'a str>,
    payout_id: Option<i64>,
    /// Of a reversal, or of the operator's correction.
    reason: Option<&'a str>,
    /// What the line added; below zero where it took.
    amount: JsonMoney,
    /// `available` after the line.
    balance: Option<JsonMoney>,
}

fn entry(line: &StatementLine) -> EntryBody<'_> {
    // Of a payout the memo says no more than its number.
    let reason = line.why.as_deref().filter(|_| line.payout_id.is_none());
    EntryBody {
        created_at: JsonTime(line.at),
        kind: line.kind.as_str(),
        transaction_id: line.transaction_id.as_deref(),
        payout_id: line.payout_id,
        reason,
        amount: JsonMoney(line.change),
        balance: line.balance.map(JsonMoney),
    }
}

pub async fn entries(State(http): State<Arc<Http>>, request: Request) -> Response {
    let received = Received::without_body(request);
    let admitted = match admit_without_body(&http, &received, BALANCE_ENTRIES).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = list(&http, &admitted, parameter(&received, "cursor")).await;
    admitted.respond(&http, result)
}

async fn list(http: &Http, admitted: &Admitted, cursor: Option<String>) -> Result<Answer, ApiError> {
    live_only(admitted)?;
    let business_id = admitted.caller.business.id;
    if cursor.as_ref().is_some_and(|cursor| !knows_cursor(&http.app, business_id, cursor)) {
        return Err(unknown_cursor());
    }
    let page = statement(&http.app, business_id, Mode::Live, cursor.as_deref()).await?;
    let data = page.lines.iter().map(entry).collect();
    Ok(Answer::ok(wire::encode(&Page { success: true, data, meta: Meta { next_cursor: page.next } })))
}
