//! `POST /{wallet}/lookup`: what a number's wallet holds (contract/wallet.md#w3).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;

use super::{WalletBody, answer_about};
use crate::domain::phone::Phone;
use crate::http::Http;
use crate::http::api::{Answer, good_body};
use crate::http::paths::WALLET_LOOKUP;
use crate::http::response::error::ApiError;
use crate::ops::wallets::find::find;

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    answer_about(&http, request, WALLET_LOOKUP, async |phone| work(&http, phone).await).await
}

async fn work(http: &Http, phone: &Phone) -> Result<Answer, ApiError> {
    let wallet = find(&http.app, phone).await?;
    Ok(Answer::ok(good_body(None, WalletBody::of(phone, wallet.as_ref(), http.app.now()))))
}
