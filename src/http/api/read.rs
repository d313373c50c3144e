//! `GET /payment/{transaction_id}`: one payment of the caller's business (contract/payments.md#p9).

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;

use super::{Admitted, Answer, Received, admit_without_body, good_body, payment};
use crate::http::Http;
use crate::http::paths::PAYMENT;
use crate::http::response::code::Code;
use crate::http::response::error::ApiError;
use crate::ops::payments::read::read_payment;

/// No payment of the caller's business has this id.
pub fn unknown() -> ApiError {
    ApiError::new(Code::PaymentNotFound, "Payment not found")
}

/// The path's id, percent-decoded after routing, so that `%2F` is part of it. One that is not
/// UTF-8 is nobody's.
pub type TransactionId = Result<Path<String>, PathRejection>;

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
