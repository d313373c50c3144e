//! `POST /test/alerts`: a test key has a bank's alert mail written and taken, as if money had come
//! (docs/decisions/0081-test-mode.md).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::once::{self, Begun};
use super::{Admitted, Answer, GoodBody, Received, admit_with_body, good_body};
use crate::domain::alert::AlertStatus;
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::http::Http;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Body, Operation, Tag, Writer};
use crate::http::paths::TEST_ALERTS;
use crate::http::request::body::Fields;
use crate::http::request::validate::Checker;
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::ApiError;
use crate::ops::alerts::decide::AlertOutcome;
use crate::ops::alerts::simulate::{About, COPIES_MAX, NARRATION_MAX, SimulateRefused, Simulation, simulate};
use crate::ops::payments::idempotency::keep_answer;

const TEST_ONLY: &str = "Alerts are simulated in test mode alone; use a test key";
const SIMULATED: &str = "Alert simulated";
const ABOUT: &str = "The alert mail is written as the bank writes it, and read, matched and settled as in earnest. The answer is \
                     201 whatever it came to. Name a payment or an account.";
const EXAMPLE: &str = r#"{
  "transaction_id": "order-2001",
  "amount": 12500,
  "payer_name": "ADAEZE BLESSING NWOSU"
}"#;
const ID_MAX: usize = 255;
const NAME_MAX: usize = 255;
const NUMBER_MAX: usize = 10;
const BANK_MAX: usize = 40;
const TIME_MAX: usize = 40;

const NEITHER: &str = "is required where account_number is not given";
const OTHERS: &str = "must be that of one of your test payments";
const OTHER_ACCOUNT: &str = "must be the number of one of your test accounts";

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AlertOutcome")]
struct OutcomeBody<'a> {
    alert_id: i64,
    /// `matched`, `review`, `unmatched`, `duplicate`, `quarantined`, `ignored` or `unreadable`; `new` while it is not decided.
    outcome: &'static str,
    /// In words, for people.
    reason: &'a str,
    /// The payment that it paid.
    transaction_id: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SimulatedAlert")]
struct Simulated<'a> {
    #[serde(flatten)]
    first: OutcomeBody<'a>,
    /// What came of each copy, where `copies` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcomes: Option<Vec<OutcomeBody<'a>>>,
}

fn body(one: &AlertOutcome) -> OutcomeBody<'_> {
    OutcomeBody {
        alert_id: one.alert_id,
        outcome: one.status.as_str(),
        reason: &one.reason,
        transaction_id: one.transaction_id.as_deref(),
    }
}

pub fn describe(writer: &mut Writer) -> Operation {
    let body = Body::new("AlertSimulation", EXAMPLE)
        .field(Field::text("transaction_id", ID_MAX, "One of your test payments. Required unless `account_number` is sent."))
        .field(Field::text("account_number", NUMBER_MAX, "One of your test accounts."))
        .field(Field::amount("amount", writer.max_amount, "What comes.").required())
        .field(Field::text("payer_name", NAME_MAX, "From whom.").required())
        .field(Field::text("narration", NARRATION_MAX, "What the payer types."))
        .field(Field::text("occurred_at", TIME_MAX, "The bank's time, in RFC 3339: at most 30 days back, and not ahead. Now, if absent."))
        .field(Field::text("bank", BANK_MAX, "Code of the bank in whose layout the mail is written, such as `gtbank`. The account's own, if absent."))
        .field(Field::integer("copies", "The same mail so many times, 1 to 5."));
    let first = OutcomeBody {
        alert_id: 12,
        outcome: AlertStatus::Matched.as_str(),
        reason: "exact amount, the payer's name matches",
        transaction_id: Some("order-2001"),
    };
    Operation::post(TEST_ALERTS, "simulateAlert", Tag::TestMode, "Simulate a bank's mail", body)
        .about(ABOUT)
        .answers(
            StatusCode::CREATED,
            "What the mail came to",
            writer.schema::<GoodBody<'static, Simulated<'static>>>(),
            good_body(Some(SIMULATED), Simulated { first, outcomes: None }),
        )
        .fails(&[Code::TestKeyRequired])
}

/// Refuses a live key.
pub(super) fn test_only(admitted: &Admitted) -> Result<(), ApiError> {
    match admitted.caller.mode {
        Mode::Test => Ok(()),
        Mode::Live => Err(ApiError::new(Code::TestKeyRequired, TEST_ONLY)),
    }
}

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    let received = Received::whole(request).await;
    let fields = received.fields();
    let admitted = match admit_with_body(&http, &received, &fields, TEST_ALERTS).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = match (test_only(&admitted), fields) {
        (Err(refused), _) => Err(refused),
        (Ok(()), Ok(fields)) => begin(&http, &admitted, &received, &fields).await,
        (Ok(()), Err(problem)) => Err(problem.into()),
    };
    admitted.respond(&http, result)
}

/// The request's values, each of them good by itself.
struct Wire {
    transaction_id: Option<String>,
    account_number: Option<String>,
    amount: Money,
    payer_name: String,
    narration: Option<String>,
    occurred: Option<Timestamp>,
    bank: Option<String>,
    copies: Option<usize>,
}

async fn begin(
    http: &Http,
    admitted: &Admitted,
    received: &Received,
    fields: &Fields<'_>,
) -> Result<Answer, ApiError> {
    let wire = read(http, received, fields)?;
    let claim = match once::begin(http, admitted, received, fields).await? {
        Begun::Done(answer) => return Ok(answer),
        Begun::Work(claim) => claim,
    };
    let mut result = work(http, admitted, &wire).await;
    if let (Some(claim), Ok(answer)) = (&claim, &result)
        && let Err(error) = keep_answer(&http.app, claim, answer.status.as_u16(), answer.body.clone()).await
    {
        result = Err(error.into());
    }
    once::end(claim, &result).await;
    result
}

fn read(http: &Http, received: &Received, fields: &Fields<'_>) -> Result<Wire, ApiError> {
    let mut check = Checker::new(fields);
    let before = check.problems.count();
    let transaction_id = check.line("transaction_id", ID_MAX);
    let account_number = check.line("account_number", NUMBER_MAX);
    if transaction_id.is_none() && account_number.is_none() && check.problems.count() == before {
        check.problems.complain("transaction_id", FieldCode::Required, NEITHER);
    }
    let amount = check.amount("amount", http.app.config.payments.max_amount);
    let payer_name = check.required_name("payer_name", NAME_MAX);
    let narration = check.line("narration", NARRATION_MAX);
    let occurred = time(&mut check, "occurred_at");
    let bank = check.line("bank", BANK_MAX);
    let copies = check.integer("copies");
    let most = i64::try_from(COPIES_MAX).unwrap_or(i64::MAX);
    if copies.is_some_and(|copies| !(1..=most).contains(&copies)) {
        check.problems.complain("copies", FieldCode::OutOfRange, "must be 1 to 5");
    }
    match (amount, payer_name) {
        (Some(amount), Some(payer_name)) if check.problems.is_empty() => Ok(Wire {
            transaction_id,
            account_number,
            amount,
            payer_name,
            narration,
            occurred,
            bank,
            copies: copies.and_then(|copies| usize::try_from(copies).ok()),
        }),
        _ => Err(once::invalid(received, check.problems)),
    }
}

/// An optional time in RFC 3339.
fn time(check: &mut Checker<'_, '_>, field: &'static str) -> Option<Timestamp> {
    let text = check.line(field, TIME_MAX)?;
    match text.parse::<jiff::Timestamp>() {
        Ok(at) => Some(Timestamp(at.as_microsecond())),
        Err(_) => {
            let what = "must be a time such as 2026-11-24T12:16:00Z";
            check.problems.complain(field, FieldCode::InvalidDate, what);
            None
        }
    }
}

async fn work(http: &Http, admitted: &Admitted, wire: &Wire) -> Result<Answer, ApiError> {
    let about = match (&wire.transaction_id, &wire.account_number) {
        (Some(id), _) => About::Transaction(id),
        (None, number) => About::Account(number.as_deref().unwrap_or_default()),
    };
    let ask = Simulation {
        business_id: admitted.caller.business.id,
        about,
        on_account: wire.account_number.as_deref(),
        bank: wire.bank.as_deref(),
        amount: wire.amount,
        payer_name: &wire.payer_name,
        narration: wire.narration.as_deref(),
        occurred: wire.occurred,
        copies: wire.copies.unwrap_or(1),
        is_forged: false,
        by: None,
    };
    match Box::pin(simulate(&http.app, http.mails.as_ref(), &ask)).await? {
        Ok(outcomes) => {
            Ok(Answer { status: StatusCode::CREATED, ..Answer::ok(render(&outcomes, wire.copies)) })
        }
        Err(refused) => Err(told(refused)),
    }
}

fn render(outcomes: &[AlertOutcome], copies: Option<usize>) -> Vec<u8> {
    let all = copies.map(|_| outcomes.iter().map(body).collect());
    let first = outcomes.first().map(body);
    good_body(Some(SIMULATED), first.map(|first| Simulated { first, outcomes: all }))
}

fn told(refused: SimulateRefused) -> ApiError {
    let field = |field, code, what: &str| {
        let mut problems = crate::http::response::problems::Problems::default();
        problems.complain(field, code, what);
        ApiError::invalid(problems)
    };
    match refused {
        SimulateRefused::NoPayment => field("transaction_id", FieldCode::UnknownValue, OTHERS),
        SimulateRefused::Wallet => {
            let what = "is that of a payment from a wallet, of which no bank tells";
            field("transaction_id", FieldCode::UnknownValue, what)
        }
        SimulateRefused::NoAccount => field("account_number", FieldCode::UnknownValue, OTHER_ACCOUNT),
        SimulateRefused::UnknownBank => field(
            "bank",
            FieldCode::UnknownValue,
            "must be the code of a bank whose mails are read, such as gtbank",
        ),
        SimulateRefused::NotWritten(name) => {
            let what = format!("is that of {name}, whose template does not tell how its mails are written");
            field("bank", FieldCode::UnknownValue, &what)
        }
        SimulateRefused::Ahead => field("occurred_at", FieldCode::OutOfRange, "must not lie ahead"),
        SimulateRefused::TooOld => {
            field("occurred_at", FieldCode::OutOfRange, "must not lie more than 30 days back")
        }
    }
}
