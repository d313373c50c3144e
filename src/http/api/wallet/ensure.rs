//! `POST /{wallet}/ensure`: the number's wallet, made if there is none (contract/wallet.md#w3).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;

use super::{WalletBody, about_phone, answer_about, sample};
use crate::domain::phone::Phone;
use crate::http::Http;
use crate::http::api::{Answer, GoodBody, good_body};
use crate::http::describe::operation::{Operation, Tag, Writer};
use crate::http::paths::WALLET_ENSURE;
use crate::http::response::error::ApiError;
use crate::ops::wallets::find::ensure;

pub fn describe(writer: &mut Writer) -> Operation {
    Operation::post(WALLET_ENSURE, "ensureWallet", Tag::Wallet, "Create a wallet", about_phone())
        .about("The number's wallet; one of tier 1 is made if there is none.")
        .answers(
            StatusCode::OK,
            "The wallet",
            writer.schema::<GoodBody<'static, WalletBody>>(),
            good_body(None, sample(Some(true))),
        )
}

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    answer_about(&http, request, WALLET_ENSURE, async |phone| work(&http, phone).await).await
}

async fn work(http: &Http, phone: &Phone) -> Result<Answer, ApiError> {
    let ensured = ensure(&http.app, phone).await?;
    let wallet = WalletBody::of(&http.app, phone, Some(&ensured.wallet)).await?;
    Ok(Answer::ok(good_body(None, WalletBody { created: Some(ensured.created), ..wallet })))
}
