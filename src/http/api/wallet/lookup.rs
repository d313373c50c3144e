//! `POST /{wallet}/lookup`: what a number's wallet holds (contract/wallet.md#w3).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;

use super::{answer_about, write_wallet};
use crate::domain::money::Money;
use crate::domain::phone::Phone;
use crate::http::Http;
use crate::http::api::Answer;
use crate::http::paths::WALLET_LOOKUP;
use crate::http::response::error::ApiError;
use crate::http::response::json::Json;
use crate::ops::wallets::find::find;

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    answer_about(&http, request, WALLET_LOOKUP, async |phone| work(&http, phone).await).await
}

async fn work(http: &Http, phone: &Phone) -> Result<Answer, ApiError> {
    let mut json = Json::object();
    json.flag("success", true);
    json.begin("data");
    match find(&http.app, phone).await? {
        Some(wallet) => write_wallet(&mut json, &wallet, wallet.status(http.app.now()).as_str()),
        None => {
            json.text("phone", &phone.e164());
            json.null("wallet_id");
            json.null("tier");
            json.flag("has_pin", false);
            json.money("balance", Money::ZERO);
            json.null("status");
        }
    }
    json.end();
    Ok(Answer::ok(json.finish()))
}
