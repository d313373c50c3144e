//! `GET /payment/{transaction_id}`: one payment of the caller's business (contract/payments.md#p9).

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::StatusCode;

use super::payment::{self, FullBody, sample_full};
use super::{Admitted, Answer, GoodBody, Received, admit_without_body, good_body};
use crate::http::Http;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Operation, Tag, Writer};
use crate::http::paths::PAYMENT;
use crate::http::response::code::Code;
use crate::http::response::error::ApiError;
use crate::ops::payments::read::read_payment;

/// Characters of an id.
const ID_MAX: usize = 255;

/// No payment of the caller's business has this id.
pub fn unknown() -> ApiError {
    ApiError::new(Code::PaymentNotFound, "Payment not found")
}

/// The path's id, percent-decoded after routing, so that `%2F` is part of it. One that is not
/// UTF-8 is nobody's.
pub type TransactionId = Result<Path<String>, PathRejection>;

/// The path's id, as every route about a payment has it.
pub fn transaction_id() -> Field {
    let about = "Yours, or the one that was made; percent-encoded: `order/7` becomes `order%2F7`.";
    Field::text("transaction_id", ID_MAX, about).required()
}

pub fn describe(writer: &mut Writer) -> Operation {
    Operation::get(PAYMENT, "readPayment", Tag::Payments, "Read a payment")
        .about("Of your business, in the mode (live or test) of your key.")
        .at(transaction_id())
        .answers(
            StatusCode::OK,
            "The payment",
            writer.schema::<GoodBody<'static, FullBody<'static>>>(),
            good_body(None, sample_full()),
        )
        .fails(&[Code::PaymentNotFound])
}

pub async fn handle(State(http): State<Arc<Http>>, id: TransactionId, request: Request) -> Response {
    let received = Received::without_body(request);
    let admitted = match admit_without_body(&http, &received, PAYMENT).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = read(&http, &admitted, id).await;
    admitted.respond(&http, result)
}

async fn read(http: &Http, admitted: &Admitted, id: TransactionId) -> Result<Answer, ApiError> {
    let Ok(Path(id)) = id else { return Err(unknown()) };
    let caller = &admitted.caller;
    let found = match is_storable(&id) {
        true => read_payment(&http.app, caller.business.id, Some(caller.mode), &id).await?,
        false => None,
    };
    let Some(view) = found else { return Err(unknown()) };
    Ok(Answer::ok(good_body(None, payment::read(&view))))
}

/// Ids with control characters were never accepted, and PostgreSQL refuses a NUL even in a query.
pub fn is_storable(id: &str) -> bool {
    !id.chars().any(char::is_control)
}
