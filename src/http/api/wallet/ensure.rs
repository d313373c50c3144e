//! `POST /{wallet}/ensure`: the number's wallet, made if there is none (interface 4.5).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;

use super::{Entered, enter, phone, replay, write_wallet};
use crate::domain::phone::Phone;
use crate::http::Http;
use crate::http::api::Answer;
use crate::http::api::once::Begun;
use crate::http::error::ApiError;
use crate::http::json::Json;
use crate::http::routes::WALLET_ENSURE;
use crate::http::validate::Checker;
use crate::ops::wallets::ensure;

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    match enter(&http, request, WALLET_ENSURE).await {
        Ok(entered) => {
            let result = make(&http, &entered).await;
            entered.respond(&http, result)
        }
        Err(response) => response,
    }
}

async fn make(http: &Http, entered: &Entered) -> Result<Answer, ApiError> {
    let fields = entered.fields()?;
    let mut check = Checker::new(&fields);
    let Some(phone) = phone(&mut check) else { return Err(ApiError::Invalid(check.problems)) };
    let claim = match replay::begin(http, entered, &fields, &phone).await? {
        Begun::Done(answer) => return Ok(answer),
        Begun::Work(claim) => claim,
    };
    let result = work(http, &phone).await;
    replay::end(http, claim, result, |answer| replay::without_phone(&answer.body, &phone)).await
}

async fn work(http: &Http, phone: &Phone) -> Result<Answer, ApiError> {
    let ensured = ensure(&http.app, phone).await?;
    let mut json = Json::object();
    json.flag("success", true);
    json.begin("data");
    write_wallet(&mut json, &ensured.wallet, ensured.wallet.status(http.app.now()).as_str());
    json.flag("created", ensured.created);
    json.end();
    Ok(Answer::ok(json.finish()))
}
