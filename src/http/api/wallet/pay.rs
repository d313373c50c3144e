//! `POST /{wallet}/pay/start`: starts a payment that the customer confirms with a PIN (contract/wallet.md#w17).
//!
//! The answer holds the link, so it is never stored: the body's own `idempotency_key` makes the same answer
//! again from the intent, and so does an `Idempotency-Key` header.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Entered, answer, honest, multiline, no_wallet, over_quota, payer_name, payer_name_field, phone,
    phone_field, replay, suspended,
};
use crate::directory::Caller;
use crate::domain::impostor::check_line;
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::reference::{check_reference, check_summary};
use crate::domain::time::Timestamp;
use crate::domain::wallet::WalletStatus;
use crate::domain::weburl::MAX_URL_CHARS;
use crate::http::Http;
use crate::http::api::once::{self, Begun};
use crate::http::api::{Answer, GoodBody, good_body, too_large};
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Body, Operation, Richer, Tag, Writer};
use crate::http::paths::WALLET_PAY;
use crate::http::request::body::Fields;
use crate::http::request::validate::{Checker, KEY_MAX};
use crate::http::response::code::{Code, FieldCode};
use crate::http::response::error::ApiError;
use crate::http::response::problems::Problems;
use crate::ops::wallet_payments::start::{
    StartRequest, Started, StartedPayment, WebhookRefusal, start_wallet_payment, started_before,
    webhook_refusal,
};
use crate::wire::{JsonMoney, JsonTime};

/// Characters of the texts (contract/limits.md#x6).
const REFERENCE_MAX: usize = 120;
const PENDING_PIN: &str = "pending_pin";
const SUMMARY_MAX: usize = 8_000;
const NOT_SAVED: &str =
    "The webhook URL must be one that is saved for your business or for one of its approved websites";

const STARTED: &str = "The customer was sent a link to confirm the payment";
const ABOUT: &str = "The customer gets a message with a link, and confirms with a PIN. No money moves before that. The same \
                     request with the same `idempotency_key` gets the same answer and link, and no second message.";
const EXAMPLE: &str = r#"{
  "phone": "+2340000000001",
  "amount": 5000,
  "order_reference": "A-7",
  "order_summary": "2 x Ankara, 6 yards",
  "payer_name": "Adaeze Nwosu",
  "webhook_url": "https://shop.example.com/hook",
  "idempotency_key": "A-7"
}"#;

pub fn describe(writer: &mut Writer) -> Operation {
    let amount = "What you charge, before any charges that your customer pays.";
    let reference = "One line, an id of yours; becomes `external_reference` in the webhook.";
    let hook = "Your saved webhook URL, or that of one of your approved websites. Required with a live key.";
    let body = Body::new("NewWalletPayment", EXAMPLE)
        .field(phone_field())
        .field(Field::amount("amount", writer.max_amount, amount).required())
        .field(Field::text("order_reference", REFERENCE_MAX, reference).required())
        .field(Field::text("order_summary", SUMMARY_MAX, "Shown to the customer; line breaks are allowed."))
        .field(payer_name_field("One line without links."))
        .field(Field::text("webhook_url", MAX_URL_CHARS, hook))
        .field(
            Field::text("idempotency_key", KEY_MAX, "Unique within your business; it never expires.")
                .required(),
        );
    let sample = StartedBody {
        payment_intent_id: 31,
        transaction_id: "TXN-01KQ3V7A9R4D1J8M2XW6B5YTZC",
        status: PENDING_PIN,
        confirm_url: "https://pay.example.com/pay/wqT2n8RZ4cJvX0bK6mYhLs1dGfU9oEaP3iDkNtSxQyA",
        expires_at: JsonTime(Timestamp(1_773_131_400_000_000)),
        order_reference: "A-7",
        amount: JsonMoney(Money(500_000)),
    };
    let started = writer.schema::<StartedBody<'static>>();
    Operation::post(WALLET_PAY, "startWalletPayment", Tag::Wallet, "Start a payment", body)
        .about(ABOUT)
        .answers(
            StatusCode::CREATED,
            "The payment, with the link that the customer was sent",
            writer.schema::<GoodBody<'static, StartedBody<'static>>>(),
            good_body(Some(STARTED), sample),
        )
        .leads_to(("readIt", "readPayment", "transaction_id", "/data/transaction_id"))
        .fails(&[
            Code::WebhookUrlNotSaved,
            Code::InsufficientBalance,
            Code::WalletLocked,
            Code::WalletSuspended,
            Code::WalletPaymentsStopped,
            Code::WalletNotFound,
            Code::DailyLimitExceeded,
            Code::RecipientQuotaExceeded,
            Code::BusinessQuotaExceeded,
            Code::MessageNotSent,
        ])
        // The payment exists all the same.
        .richer(Richer { status: StatusCode::BAD_GATEWAY, name: "UnsentWalletPayment", data: started })
}

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    answer(&http, request, WALLET_PAY, async |entered, fields| start(&http, entered, fields).await).await
}

async fn start(http: &Http, entered: &Entered, fields: &Fields<'_>) -> Result<Answer, ApiError> {
    let request = match read(http, &entered.admitted.caller, fields) {
        Ok(request) => request,
        Err(mut bad) => {
            once::look_at_key(&entered.received, &mut bad.problems);
            return Err(tell_all(http, entered, bad).await);
        }
    };
    let claim = match replay::begin(http, entered, fields, &request.phone).await? {
        Begun::Done(_) => {
            let caller = &entered.admitted.caller;
            let started = started_before(&http.app, caller, &request.idempotency_key).await?;
            return Ok(told(&started));
        }
        Begun::Work(claim) => claim,
    };
    let result = work(http, entered, &request).await;
    // Only the fact that it was done is kept.
    replay::end(http, claim, result, |_| Vec::new()).await
}

fn told(started: &StartedPayment) -> Answer {
    Answer { replayed: started.again, ..Answer::created(render(started)) }
}

async fn work(http: &Http, entered: &Entered, request: &StartRequest) -> Result<Answer, ApiError> {
    match start_wallet_payment(&http.app, &entered.admitted.caller, request).await? {
        Started::Waiting(started) => Ok(told(&started)),
        Started::NotSent(started, why) => {
            let message = format!("The message with the link could not be sent: {why}");
            Err(ApiError::with_data(Code::MessageNotSent, message, &StartedBody::of(&started)))
        }
        Started::OtherRequest => Err(ApiError::field(
            "idempotency_key",
            FieldCode::IdempotencyKeyReused,
            "This idempotency key was already used for a different request. Use a new key.",
        )),
        Started::Stopped => Err(ApiError::new(
            Code::WalletPaymentsStopped,
            "Wallet payments of this business are stopped because too many wrong PINs were entered; contact the operator",
        )),
        Started::Webhook(WebhookRefusal::NotAUrl(why)) => {
            let message = format!("The webhook URL {why}.");
            Err(ApiError::field("webhook_url", FieldCode::InvalidUrl, message))
        }
        Started::Webhook(WebhookRefusal::NotSaved) => {
            let (code, field_code) = (Code::WebhookUrlNotSaved, FieldCode::WebhookUrlNotSaved);
            Err(ApiError::about(code, "webhook_url", field_code, NOT_SAVED))
        }
        Started::NoWallet => Err(no_wallet()),
        Started::NotActive(WalletStatus::Suspended) => Err(suspended()),
        Started::NotActive(_) => {
            let message = "This wallet is locked because too many wrong PINs were entered; \
                           retry after 24 hours, or have the customer set a new PIN on a payment link";
            Err(ApiError::new(Code::WalletLocked, message))
        }
        Started::InsufficientBalance(available) => {
            let message = "Insufficient balance. Ask the customer to top up the wallet";
            Err(ApiError::insufficient_balance(message, available))
        }
        Started::OverDailyLimit => Err(ApiError::field(
            "amount",
            FieldCode::DailyLimitExceeded,
            "The amount exceeds what this wallet may still pay today.",
        )),
        Started::OverQuota(over) => Err(over_quota(http, over)),
        Started::TooLarge => Err(too_large("amount", http.app.config.payments.max_amount)),
    }
}

/// A request that failed by itself, with its webhook URL.
struct Bad {
    problems: Problems,
    webhook_url: Option<String>,
}

/// The answer to a bad request also says what is wrong with its webhook URL.
async fn tell_all(http: &Http, entered: &Entered, bad: Bad) -> ApiError {
    let Bad { mut problems, webhook_url } = bad;
    if let Some(url) = webhook_url {
        match webhook_refusal(&http.app, &entered.admitted.caller, &url).await {
            Ok(None) => {}
            Ok(Some(WebhookRefusal::NotAUrl(why))) => {
                problems.complain("webhook_url", FieldCode::InvalidUrl, why);
            }
            Ok(Some(WebhookRefusal::NotSaved)) => {
                problems.add("webhook_url", FieldCode::WebhookUrlNotSaved, format!("{NOT_SAVED}."));
            }
            Err(error) => return error.into(),
        }
    }
    ApiError::invalid(problems)
}

fn read(http: &Http, caller: &Caller, fields: &Fields<'_>) -> Result<StartRequest, Bad> {
    let mut check = Checker::new(fields);
    let phone = phone(&mut check, caller);
    let base = check.amount("amount", http.app.config.payments.max_amount);
    let order_reference = check.required_text("order_reference", REFERENCE_MAX);
    let order_summary = multiline(&mut check, fields, "order_summary", SUMMARY_MAX, false);
    let payer_name = payer_name(&mut check);
    // They appear among our own words, in the message or on the page.
    honest(http, &mut check, "order_reference", order_reference.as_deref(), check_reference);
    honest(http, &mut check, "order_summary", order_summary.as_deref(), check_summary);
    honest(http, &mut check, "payer_name", payer_name.as_deref(), check_line);
    let webhook_url = match caller.mode {
        Mode::Live => check.required_line("webhook_url", MAX_URL_CHARS),
        Mode::Test => check.line("webhook_url", MAX_URL_CHARS),
    };
    let idempotency_key = check.required_text("idempotency_key", KEY_MAX);
    let problems = check.problems;
    match (phone, base, order_reference, payer_name, webhook_url, idempotency_key) {
        (
            Some(phone),
            Some(base),
            Some(order_reference),
            Some(payer_name),
            webhook_url,
            Some(idempotency_key),
        ) if problems.is_empty() => Ok(StartRequest {
            phone,
            base,
            order_reference,
            order_summary,
            payer_name,
            webhook_url,
            idempotency_key,
            // Not by the path: the prefix may be changed while a merchant tries again.
            fingerprint: http.app.vault.request_hash(&fields.fingerprint("POST", "pay/start")),
        }),
        (_, _, _, _, webhook_url, _) => Err(Bad { problems, webhook_url }),
    }
}

/// The first answer is repeated, whatever has happened to the intent since.
fn render(started: &StartedPayment) -> Vec<u8> {
    good_body(Some(STARTED), StartedBody::of(started))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StartedWalletPayment")]
struct StartedBody<'a> {
    payment_intent_id: i64,
    transaction_id: &'a str,
    #[schemars(extend("const" = PENDING_PIN))]
    status: &'static str,
    /// The page on which the customer confirms; you may show it yourself.
    confirm_url: &'a str,
    expires_at: JsonTime,
    order_reference: &'a str,
    amount: JsonMoney,
}

impl<'a> StartedBody<'a> {
    fn of(started: &'a StartedPayment) -> Self {
        StartedBody {
            payment_intent_id: started.intent.id,
            transaction_id: &started.transaction_id,
            status: PENDING_PIN,
            confirm_url: &started.confirm_url,
            expires_at: JsonTime(started.intent.expires_at),
            order_reference: &started.intent.order_reference,
            amount: JsonMoney(started.intent.amount),
        }
    }
}
