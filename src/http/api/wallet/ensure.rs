//! `POST /{wallet}/ensure`: the number's wallet, made if there is none (contract/wallet.md#w3).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;

use super::{answer_about, write_wallet};
use crate::domain::phone::Phone;
use crate::http::Http;
use crate::http::api::Answer;
use crate::http::paths::WALLET_ENSURE;
use crate::http::response::error::ApiError;
use crate::http::response::json::Json;
use crate::ops::wallets::find::ensure;

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    answer_about(&http, request, WALLET_ENSURE, async |phone| work(&http, phone).await).await
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
