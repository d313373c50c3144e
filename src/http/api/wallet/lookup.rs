//! `POST /{wallet}/lookup`: what a number's wallet holds (contract/wallet.md#w3).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;

use super::{WalletBody, about_phone, answer_about, sample};
use crate::domain::phone::Phone;
use crate::http::Http;
use crate::http::api::{Answer, GoodBody, good_body};
use crate::http::describe::operation::{Operation, Tag, Writer};
use crate::http::paths::WALLET_LOOKUP;
use crate::http::response::error::ApiError;
use crate::ops::wallets::find::find;

pub fn describe(writer: &mut Writer) -> Operation {
    Operation::post(WALLET_LOOKUP, "lookUpWallet", Tag::Wallet, "Look up a wallet", about_phone())
        .about("What the number's wallet holds. Without a wallet `wallet_id`, `tier` and `status` are null.")
        .answers(
            StatusCode::OK,
            "The wallet, or that there is none",
            writer.schema::<GoodBody<'static, WalletBody>>(),
            good_body(None, sample(None)),
        )
}

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    answer_about(&http, request, WALLET_LOOKUP, async |phone| work(&http, phone).await).await
}

async fn work(http: &Http, phone: &Phone) -> Result<Answer, ApiError> {
    let wallet = find(&http.app, phone).await?;
    Ok(Answer::ok(good_body(None, WalletBody::of(&http.app, phone, wallet.as_ref()).await?)))
}
