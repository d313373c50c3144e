//! `/payouts` and `/payout-accounts`: a business asks for its money, looks at what became of it, and takes a wish back.
//! Accounts are added on the dashboard alone.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::balance::{Meta, Page, live_only, parameter, unknown_cursor};
use super::once::{self, Begun};
use super::{Admitted, Answer, GoodBody, Received, admit_with_body, admit_without_body, good_body};
use crate::domain::money::{CURRENCY, Money};
use crate::domain::payout::{AMOUNT_MAX, PayoutStatus, REFERENCE_MAX, StepRefusal};
use crate::domain::time::Timestamp;
use crate::http::Http;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Body, Operation, Tag, Writer};
use crate::http::paths::{PAYOUT, PAYOUT_ACCOUNTS, PAYOUT_CANCEL, PAYOUTS};
use crate::http::request::body::Fields;
use crate::http::request::validate::Checker;
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::ApiError;
use crate::http::response::problems::Problems;
use crate::ops::OpError;
use crate::ops::paging::Cursor;
use crate::ops::payouts::accounts::payout_accounts;
use crate::ops::payouts::browse::{PayoutFilter, PayoutRow, browse_payouts, find_payout};
use crate::ops::payouts::end::{EndRefusal, cancel_payout};
use crate::ops::payouts::request::{Actor, PayoutRefusal, PayoutRequest, Remember, request_payout};
use crate::wire::{self, JsonMoney, JsonTime};

const ACCOUNT: &str = "payout_account_id";
const REQUESTED: &str = "Payout requested";
const CANCELLED: &str = "Payout cancelled";
const EXAMPLE: &str = r#"{
  "amount": 5000,
  "payout_account_id": 3,
  "reference": "week 11"
}"#;

/// The path's id; what is no number is nobody's.
pub type PayoutId = Result<Path<i64>, PathRejection>;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Payout")]
struct PayoutBody<'a> {
    id: i64,
    #[schemars(extend("enum" = PayoutStatus::ALL.map(PayoutStatus::as_str)))]
    status: &'static str,
    amount: JsonMoney,
    #[schemars(extend("const" = CURRENCY))]
    currency: &'static str,
    payout_account_id: i64,
    /// Your own.
    reference: Option<&'a str>,
    /// Stands in the narration of the bank's transfer.
    transfer_reference: &'a str,
    created_at: JsonTime,
    ended_at: Option<JsonTime>,
    /// The bank's own, where it gave one.
    bank_reference: Option<&'a str>,
    /// Why it was refused.
    reason: Option<&'a str>,
}

/// For examples.
fn sample() -> PayoutBody<'static> {
    PayoutBody {
        id: 12,
        status: PayoutStatus::Pending.as_str(),
        amount: JsonMoney(Money(500_000)),
        currency: CURRENCY,
        payout_account_id: 3,
        reference: Some("week 11"),
        transfer_reference: "PAYOUTK7Q2M9XWC4TB",
        created_at: JsonTime(Timestamp(1_773_307_800_000_000)),
        ended_at: None,
        bank_reference: None,
        reason: None,
    }
}

fn body(row: &PayoutRow) -> PayoutBody<'_> {
    let (payout, end) = (&row.payout, row.payout.end.as_ref());
    PayoutBody {
        id: payout.id,
        status: payout.status.as_str(),
        amount: JsonMoney(payout.amount),
        currency: CURRENCY,
        payout_account_id: payout.account_id,
        reference: payout.reference.as_deref(),
        transfer_reference: &payout.code,
        created_at: JsonTime(payout.created_at),
        ended_at: end.map(|end| JsonTime(end.at)),
        bank_reference: end.and_then(|end| end.bank_reference.as_deref()),
        reason: end.and_then(|end| end.reason.as_deref()),
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PayoutAccount")]
struct AccountBody<'a> {
    id: i64,
    bank: &'a str,
    /// Its last four digits.
    number: String,
    name: &'a str,
    /// Before, it takes no payout.
    usable_from: JsonTime,
}

fn unknown() -> ApiError {
    ApiError::new(Code::PayoutNotFound, "Payout not found")
}

/// The path's id, as callers are told of it.
fn payout_id() -> Field {
    Field::id("id", "Of the payout.").required()
}

pub fn describe_accounts(writer: &mut Writer) -> Operation {
    let sample = AccountBody {
        id: 3,
        bank: "GTBank",
        number: "******3311".to_owned(),
        name: "MAKO STORES",
        usable_from: JsonTime(Timestamp(1_773_216_000_000_000)),
    };
    Operation::get(PAYOUT_ACCOUNTS, "listPayoutAccounts", Tag::Balance, "List payout accounts")
        .about("Where payouts can go. Owners add accounts on the dashboard, never a program.")
        .answers(
            StatusCode::OK,
            "All of them",
            writer.schema::<GoodBody<'static, Vec<AccountBody<'static>>>>(),
            good_body(None, vec![sample]),
        )
        .fails(&[Code::LiveKeyRequired])
}

pub fn describe_request(writer: &mut Writer) -> Operation {
    let account = "One of `GET /payout-accounts`.";
    let body = Body::new("NewPayout", EXAMPLE)
        .field(Field::amount("amount", AMOUNT_MAX, "At most what is available.").required())
        .field(Field::integer(ACCOUNT, account).required())
        .field(Field::text("reference", REFERENCE_MAX, "Your own."));
    Operation::post(PAYOUTS, "requestPayout", Tag::Balance, "Ask for a payout", body)
        .about("The amount is set aside at once. The operator sends it by the bank, and then it is `paid`.")
        .answers(
            StatusCode::CREATED,
            "The payout",
            writer.schema::<GoodBody<'static, PayoutBody<'static>>>(),
            good_body(Some(REQUESTED), sample()),
        )
        .leads_to(("readIt", "readPayout", "id", "/data/id"))
        .leads_to(("cancelIt", "cancelPayout", "id", "/data/id"))
        .fails(&[Code::LiveKeyRequired, Code::PayoutAccountTooNew, Code::InsufficientBalance])
}

pub fn describe_list(writer: &mut Writer) -> Operation {
    let meta = Meta { next_cursor: None };
    Operation::get(PAYOUTS, "listPayouts", Tag::Balance, "List payouts")
        .about("Newest first.")
        .query(Field::one_of("status", PayoutStatus::ALL.map(PayoutStatus::as_str), "Only these."))
        .query(Field::cursor())
        .answers(
            StatusCode::OK,
            "Some of them",
            writer.schema::<Page<PayoutBody<'static>>>(),
            wire::encode(&Page { success: true, data: vec![sample()], meta }),
        )
        .fails(&[Code::LiveKeyRequired])
}

pub fn describe_read(writer: &mut Writer) -> Operation {
    Operation::get(PAYOUT, "readPayout", Tag::Balance, "Read a payout")
        .at(payout_id())
        .answers(
            StatusCode::OK,
            "The payout",
            writer.schema::<GoodBody<'static, PayoutBody<'static>>>(),
            good_body(None, sample()),
        )
        .fails(&[Code::LiveKeyRequired, Code::PayoutNotFound])
}

pub fn describe_cancel(writer: &mut Writer) -> Operation {
    let body = Body::new("PayoutCancellation", "{}").optional();
    let cancelled = PayoutBody {
        status: PayoutStatus::Cancelled.as_str(),
        ended_at: Some(sample().created_at),
        ..sample()
    };
    Operation::post(PAYOUT_CANCEL, "cancelPayout", Tag::Balance, "Cancel a payout", body)
        .about("The amount is available again. Nothing need be said beside the path.")
        .at(payout_id())
        .answers(
            StatusCode::OK,
            "The payout",
            writer.schema::<GoodBody<'static, PayoutBody<'static>>>(),
            good_body(Some(CANCELLED), cancelled),
        )
        .fails(&[Code::LiveKeyRequired, Code::PayoutNotFound, Code::PayoutFinished, Code::PayoutBeingPaid])
}

pub async fn accounts(State(http): State<Arc<Http>>, request: Request) -> Response {
    let received = Received::without_body(request);
    let admitted = match admit_without_body(&http, &received, PAYOUT_ACCOUNTS).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = list_accounts(&http, &admitted).await;
    admitted.respond(&http, result)
}

async fn list_accounts(http: &Http, admitted: &Admitted) -> Result<Answer, ApiError> {
    live_only(admitted)?;
    let all = payout_accounts(&http.app, admitted.caller.business.id).await?;
    let shown: Vec<AccountBody<'_>> = all
        .iter()
        .map(|account| AccountBody {
            id: account.id,
            bank: &account.bank,
            number: account.masked_number(),
            name: &account.name,
            usable_from: JsonTime(account.usable_at),
        })
        .collect();
    Ok(Answer::ok(good_body(None, shown)))
}

pub async fn list(State(http): State<Arc<Http>>, request: Request) -> Response {
    let received = Received::without_body(request);
    let admitted = match admit_without_body(&http, &received, PAYOUTS).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = list_payouts(&http, &admitted, &received).await;
    admitted.respond(&http, result)
}

async fn list_payouts(http: &Http, admitted: &Admitted, received: &Received) -> Result<Answer, ApiError> {
    live_only(admitted)?;
    let status = match parameter(received, "status") {
        None => None,
        Some(word) => {
            let found = PayoutStatus::parse(&word);
            if found.is_none() {
                let mut problems = Problems::default();
                let what = "must be pending, paid, refused or cancelled";
                problems.complain_of_parameter("status", FieldCode::UnknownValue, what);
                return Err(ApiError::invalid(problems));
            }
            found
        }
    };
    let cursor = match parameter(received, "cursor") {
        None => None,
        Some(text) => Some(Cursor::parse(&text).ok_or_else(unknown_cursor)?),
    };
    let filter = PayoutFilter { business_id: Some(admitted.caller.business.id), status };
    let page = browse_payouts(&http.app, filter, cursor).await?;
    let meta = Meta { next_cursor: page.next.map(|next| next.to_string()) };
    let data = page.rows.iter().map(body).collect();
    Ok(Answer::ok(wire::encode(&Page { success: true, data, meta })))
}

pub async fn read(State(http): State<Arc<Http>>, id: PayoutId, request: Request) -> Response {
    let received = Received::without_body(request);
    let admitted = match admit_without_body(&http, &received, PAYOUT).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = read_one(&http, &admitted, id).await;
    admitted.respond(&http, result)
}

async fn read_one(http: &Http, admitted: &Admitted, id: PayoutId) -> Result<Answer, ApiError> {
    live_only(admitted)?;
    let Ok(Path(id)) = id else { return Err(unknown()) };
    let found = find_payout(&http.app, Some(admitted.caller.business.id), id).await?;
    Ok(Answer::ok(good_body(None, body(&found.ok_or_else(unknown)?))))
}

pub async fn request(State(http): State<Arc<Http>>, request: Request) -> Response {
    let received = Received::whole(request).await;
    let fields = received.fields();
    let admitted = match admit_with_body(&http, &received, &fields, PAYOUTS).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = match fields {
        Ok(fields) => ask(&http, &admitted, &received, &fields).await,
        Err(problem) => Err(problem.into()),
    };
    admitted.respond(&http, result)
}

async fn ask(
    http: &Http,
    admitted: &Admitted,
    received: &Received,
    fields: &Fields<'_>,
) -> Result<Answer, ApiError> {
    live_only(admitted)?;
    let mut check = Checker::new(fields);
    let amount = check.amount("amount", AMOUNT_MAX);
    let before = check.problems.count();
    let account_id = check.integer(ACCOUNT);
    if account_id.is_none() && check.problems.count() == before {
        check.problems.require(ACCOUNT);
    }
    let reference = check.line("reference", REFERENCE_MAX);
    let (Some(amount), Some(account_id), true) = (amount, account_id, check.problems.is_empty()) else {
        return Err(once::invalid(received, check.problems));
    };
    let claim = match once::begin(http, admitted, received, fields).await? {
        Begun::Done(answer) => return Ok(answer),
        Begun::Work(claim) => claim,
    };
    let remember = claim.as_ref().map(|claim| Remember { claim, render: &requested });
    let business_id = admitted.caller.business.id;
    let wanted = PayoutRequest { business_id, amount, account_id, reference: reference.as_deref() };
    let result = match request_payout(&http.app, Actor::Key, &wanted, remember.as_ref()).await {
        Ok(Ok(row)) => Ok(Answer::created(requested(&row).1)),
        Ok(Err(refusal)) => Err(refused(refusal)),
        Err(error) => Err(error.into()),
    };
    once::end(claim, &result).await;
    result
}

fn requested(row: &PayoutRow) -> (u16, Vec<u8>) {
    (StatusCode::CREATED.as_u16(), good_body(Some(REQUESTED), body(row)))
}

fn refused(refusal: PayoutRefusal) -> ApiError {
    match refusal {
        PayoutRefusal::Insufficient { available } => {
            ApiError::insufficient_balance("Insufficient balance", available)
        }
        PayoutRefusal::UnknownAccount => {
            let what = "The payout account id must be one of GET /payout-accounts.";
            ApiError::field(ACCOUNT, FieldCode::UnknownValue, what)
        }
        PayoutRefusal::TooNew { usable_at } => {
            let what = format!("This payout account can be used from {usable_at} on");
            ApiError::new(Code::PayoutAccountTooNew, what)
        }
        PayoutRefusal::LeaseLost => once::still_running(),
        // The fields were looked at before.
        PayoutRefusal::Amount | PayoutRefusal::Reference | PayoutRefusal::NoMember => ApiError::internal(),
    }
}

pub async fn cancel(State(http): State<Arc<Http>>, id: PayoutId, request: Request) -> Response {
    let received = Received::whole(request).await;
    // Nothing need be said beside the path.
    let fields = received.fields_if_any();
    let admitted = match admit_with_body(&http, &received, &fields, PAYOUT_CANCEL).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = match fields {
        Ok(fields) => take_back(&http, &admitted, &received, &fields, id).await,
        Err(problem) => Err(problem.into()),
    };
    admitted.respond(&http, result)
}

async fn take_back(
    http: &Http,
    admitted: &Admitted,
    received: &Received,
    fields: &Fields<'_>,
    id: PayoutId,
) -> Result<Answer, ApiError> {
    live_only(admitted)?;
    let Ok(Path(id)) = id else { return Err(unknown()) };
    let claim = match once::begin(http, admitted, received, fields).await? {
        Begun::Done(answer) => return Ok(answer),
        Begun::Work(claim) => claim,
    };
    let remember = claim.as_ref().map(|claim| Remember { claim, render: &cancelled });
    let business_id = admitted.caller.business.id;
    let done = cancel_payout(&http.app, Actor::Key, business_id, id, remember.as_ref()).await;
    let result = ended(done);
    once::end(claim, &result).await;
    result
}

fn ended(done: Result<Option<Result<PayoutRow, EndRefusal>>, OpError>) -> Result<Answer, ApiError> {
    match done? {
        None => Err(unknown()),
        Some(Ok(row)) => Ok(Answer::ok(cancelled(&row).1)),
        Some(Err(EndRefusal::Step(StepRefusal::Finished(status)))) => {
            let what = format!("This payout is {} already", status.as_str());
            Err(ApiError::new(Code::PayoutFinished, what))
        }
        Some(Err(why @ EndRefusal::Held)) => Err(ApiError::new(Code::PayoutBeingPaid, format!("Now {why}"))),
        Some(Err(EndRefusal::Step(_))) => {
            let what = "The operator is paying this payout out; it cannot be cancelled any more";
            Err(ApiError::new(Code::PayoutBeingPaid, what))
        }
        Some(Err(EndRefusal::LeaseLost)) => Err(once::still_running()),
        Some(Err(_)) => Err(ApiError::internal()),
    }
}

fn cancelled(row: &PayoutRow) -> (u16, Vec<u8>) {
    (StatusCode::OK.as_u16(), good_body(Some(CANCELLED), body(row)))
}
