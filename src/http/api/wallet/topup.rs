//! `POST /{wallet}/topup`: a receiving account that fills a customer's wallet. Our own addition to the API.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Entered, answer, honest, no_wallet, payer_name, payer_name_field, phone, phone_field, replay, suspended,
};
use crate::domain::impostor::check_line;
use crate::domain::money::Money;
use crate::domain::phone::Phone;
use crate::http::Http;
use crate::http::api::once::{self, Begun};
use crate::http::api::payment::{CreatedBody, created, sample_created};
use crate::http::api::{Answer, GoodBody, NO_ACCOUNT_RETRY, good_body};
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Body, Operation, Tag, Writer};
use crate::http::paths::WALLET_TOPUP;
use crate::http::request::body::Fields;
use crate::http::request::validate::Checker;
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::ApiError;
use crate::ops::payments::idempotency::{Claim, Remember};
use crate::ops::payments::read::PaymentView;
use crate::ops::wallet_payments::topup::{ToppingUp, start_topup};

const STARTED: &str = "Top-up started";
const ABOUT: &str = "An account that fills the customer's wallet. There are no charges and no webhook, and only a transfer of \
                     exactly this amount counts: look the wallet up to see its balance.";
const EXAMPLE: &str = r#"{
  "phone": "+2340000000001",
  "amount": 20000,
  "payer_name": "Adaeze Blessing Nwosu"
}"#;

pub fn describe(writer: &mut Writer) -> Operation {
    let amount = "What the customer transfers, and what the wallet gets.";
    let payer = "The name of whoever transfers, as their bank knows it; one line without links.";
    let body = Body::new("NewTopUp", EXAMPLE)
        .field(phone_field())
        .field(Field::amount("amount", writer.max_amount, amount).required())
        .field(payer_name_field(payer));
    let sample = StartedBody { phone: "+2340000000001", wallet_id: Some(12), payment: sample_created() };
    Operation::post(WALLET_TOPUP, "topUpWallet", Tag::Wallet, "Top up", body)
        .about(ABOUT)
        .answers(
            StatusCode::CREATED,
            "The account that the customer transfers to",
            writer.schema::<GoodBody<'static, StartedBody<'static>>>(),
            good_body(Some(STARTED), sample),
        )
        .fails(&[
            Code::WalletSuspended,
            Code::WalletNotFound,
            Code::WalletLimitExceeded,
            Code::NoAccountAvailable,
        ])
}

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    answer(&http, request, WALLET_TOPUP, async |entered, fields| start(&http, entered, fields).await).await
}

struct TopupBody {
    phone: Phone,
    amount: Money,
    payer_name: String,
}

async fn start(http: &Http, entered: &Entered, fields: &Fields<'_>) -> Result<Answer, ApiError> {
    let mut check = Checker::new(fields);
    let phone = phone(&mut check, &entered.admitted.caller);
    let amount = check.amount("amount", http.app.config.payments.max_amount);
    let payer_name = payer_name(&mut check);
    honest(http, &mut check, "payer_name", payer_name.as_deref(), check_line);
    if !check.problems.is_empty() {
        return Err(once::invalid(&entered.received, check.problems));
    }
    let (Some(phone), Some(amount), Some(payer_name)) = (phone, amount, payer_name) else {
        return Err(once::invalid(&entered.received, check.problems));
    };
    let claim = match replay::begin(http, entered, fields, &phone).await? {
        Begun::Done(answer) => return Ok(answer),
        Begun::Work(claim) => claim,
    };
    let result = work(http, entered, TopupBody { phone, amount, payer_name }, claim.as_ref()).await;
    once::end(claim, &result).await;
    result
}

async fn work(
    http: &Http,
    entered: &Entered,
    wire: TopupBody,
    claim: Option<&Claim>,
) -> Result<Answer, ApiError> {
    let caller = &entered.admitted.caller;
    let shown = wire.phone.e164();
    let kept = |view: &PaymentView| {
        let (status, body) = render(view, &shown);
        (status, replay::without_phone(&body, &wire.phone))
    };
    let remember = claim.map(|claim| Remember { claim, render: &kept });
    let TopupBody { phone, amount, payer_name } = &wire;
    match start_topup(&http.app, caller, phone, *amount, payer_name, remember.as_ref()).await? {
        ToppingUp::Waiting(view, _) => Ok(Answer::created(render(&view, &shown).1)),
        ToppingUp::NoWallet => Err(no_wallet()),
        ToppingUp::Suspended => Err(suspended()),
        ToppingUp::OverTier => Err(ApiError::field(
            "amount",
            FieldCode::WalletLimitExceeded,
            "The wallet's balance, its pending top-ups and this amount together exceed what the wallet may hold.",
        )),
        ToppingUp::NoAccount => {
            let message = "No receiving account is available for this top-up right now; try again later";
            Err(ApiError::retry(Code::NoAccountAvailable, message, NO_ACCOUNT_RETRY))
        }
        ToppingUp::LeaseLost => Err(once::still_running()),
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StartedTopUp")]
struct StartedBody<'a> {
    phone: &'a str,
    wallet_id: Option<i64>,
    #[serde(flatten)]
    payment: CreatedBody<'a>,
}

fn render(view: &PaymentView, phone: &str) -> (u16, Vec<u8>) {
    let data = StartedBody { phone, wallet_id: view.payment.wallet_id, payment: created(view) };
    (StatusCode::CREATED.as_u16(), good_body(Some(STARTED), data))
}
