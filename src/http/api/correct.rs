//! `PATCH /payment/{transaction_id}/amount`: corrects what a pending payment expects (contract/payments.md#p40).

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::StatusCode;

use super::once::{self, Begun};
use super::payment::{FullBody, corrected, sample_full};
use super::read::{TransactionId, is_storable, transaction_id, unknown};
use super::{Admitted, Answer, GoodBody, Received, admit_with_body, good_body, too_large};
use crate::domain::money::Money;
use crate::domain::payment::CorrectRefusal;
use crate::http::Http;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Body, Operation, Tag, Writer};
use crate::http::paths::PAYMENT_AMOUNT;
use crate::http::request::body::Fields;
use crate::http::request::validate::Checker;
use crate::http::response::code::Code;
use crate::http::response::error::ApiError;
use crate::ops::payments::correct::{Corrected, correct_amount};
use crate::ops::payments::idempotency::{Claim, Remember};
use crate::ops::payments::read::PaymentView;

const CORRECTED: &str = "Payment amount corrected";
const ABOUT: &str = "Only of a pending bank transfer that has not expired. Money that arrived already is matched again at \
                     once: wait for the webhook, or read the payment until `status` changes.";

pub fn describe(writer: &mut Writer) -> Operation {
    let about =
        "What you charge, before any charges that your customer pays. Never an `amount` of an answer.";
    let amount = Field::amount("new_amount", writer.max_amount, about).required();
    let body = Body::new("NewAmount", r#"{ "new_amount": 12500 }"#).field(amount);
    Operation::patch(PAYMENT_AMOUNT, "correctAmount", Tag::Payments, "Correct the amount", body)
        .about(ABOUT)
        .at(transaction_id())
        .answers(
            StatusCode::OK,
            "The payment with its new figures",
            writer.schema::<GoodBody<'static, FullBody<'static>>>(),
            good_body(Some(CORRECTED), sample_full()),
        )
        .fails(&[
            Code::PaymentNotFound,
            Code::PaymentNotPending,
            Code::PaymentExpired,
            Code::NotABankTransfer,
            Code::AmountAmbiguous,
            Code::TooManyCorrections,
            Code::BusinessCorrectionsExceeded,
        ])
}

pub async fn handle(State(http): State<Arc<Http>>, id: TransactionId, request: Request) -> Response {
    let received = Received::whole(request).await;
    let fields = received.fields();
    let admitted = match admit_with_body(&http, &received, &fields, PAYMENT_AMOUNT).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = match fields {
        Ok(fields) => correct(&http, &admitted, &received, &fields, id).await,
        Err(problem) => Err(problem.into()),
    };
    admitted.respond(&http, result)
}

async fn correct(
    http: &Http,
    admitted: &Admitted,
    received: &Received,
    fields: &Fields<'_>,
    id: TransactionId,
) -> Result<Answer, ApiError> {
    let mut check = Checker::new(fields);
    let Some(amount) = check.amount("new_amount", http.app.config.payments.max_amount) else {
        return Err(once::invalid(received, check.problems));
    };
    let id = match id {
        Ok(Path(id)) if is_storable(&id) => id,
        _ => return Err(unknown()),
    };
    let claim = match once::begin(http, admitted, received, fields).await? {
        Begun::Done(answer) => return Ok(answer),
        Begun::Work(claim) => claim,
    };
    let result = work(http, admitted, &id, amount, claim.as_ref()).await;
    once::end(claim, &result).await;
    result
}

async fn work(
    http: &Http,
    admitted: &Admitted,
    id: &str,
    amount: Money,
    claim: Option<&Claim>,
) -> Result<Answer, ApiError> {
    let remember = claim.map(|claim| Remember { claim, render: &render });
    match correct_amount(&http.app, &admitted.caller, id, amount, remember.as_ref()).await? {
        Corrected::Payment(view) => Ok(Answer::ok(render(&view).1)),
        Corrected::Unknown => Err(unknown()),
        Corrected::Refused(refusal) => Err(refused(refusal, http.app.config.payments.max_amount)),
        Corrected::LeaseLost => Err(once::still_running()),
    }
}

fn refused(refusal: CorrectRefusal, max: Money) -> ApiError {
    let code = match refusal {
        CorrectRefusal::NotATransfer => Code::NotABankTransfer,
        CorrectRefusal::NotPending(_) => Code::PaymentNotPending,
        CorrectRefusal::Expired => Code::PaymentExpired,
        CorrectRefusal::TooOften => Code::TooManyCorrections,
        CorrectRefusal::TooManyInBusiness => Code::BusinessCorrectionsExceeded,
        CorrectRefusal::NotTellable => Code::AmountAmbiguous,
        CorrectRefusal::TooLarge => return too_large("new_amount", max),
    };
    ApiError::new(code, refusal.to_string())
}

fn render(view: &PaymentView) -> (u16, Vec<u8>) {
    (StatusCode::OK.as_u16(), good_body(Some(CORRECTED), corrected(view)))
}
