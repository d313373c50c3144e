//! `POST /{wallet}/pay/start`: starts a payment that the customer confirms with a PIN (interface 4.5).
//!
//! The answer holds the link, so it is never stored: the body's own `idempotency_key` makes the same answer
//! again from the intent, and so does an `Idempotency-Key` header.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;

use super::{Entered, answer, multiline, over_quota, payer_name, phone, replay};
use crate::domain::impostor::{Impostor, OwnHost, check_direction, check_line, check_reference};
use crate::domain::wallet::WalletStatus;
use crate::domain::weburl::MAX_URL_CHARS;
use crate::http::Http;
use crate::http::api::Answer;
use crate::http::api::once::Begun;
use crate::http::body::Fields;
use crate::http::error::ApiError;
use crate::http::json::Json;
use crate::http::routes::WALLET_PAY;
use crate::http::validate::Checker;
use crate::ops::start_wallet_payment::{
    StartRequest, Started, StartedPayment, start_wallet_payment, started_before,
};

/// Characters of the texts (decisions 2).
const REFERENCE_MAX: usize = 120;
const SUMMARY_MAX: usize = 8_000;
const KEY_MAX: usize = 255;

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    answer(&http, request, WALLET_PAY, async |entered, fields| start(&http, entered, fields).await).await
}

async fn start(http: &Http, entered: &Entered, fields: &Fields<'_>) -> Result<Answer, ApiError> {
    let request = read(http, fields)?;
    let claim = match replay::begin(http, entered, fields, &request.phone).await? {
        Begun::Done(_) => {
            let business_id = entered.admitted.caller.business.id;
            let started = started_before(&http.app, business_id, &request.idempotency_key).await?;
            return Ok(Answer { replayed: true, ..told(&started) });
        }
        Begun::Work(claim) => claim,
    };
    let result = work(http, entered, &request).await;
    // That it was done is all that is kept.
    replay::end(http, claim, result, |_| Vec::new()).await
}

fn told(started: &StartedPayment) -> Answer {
    Answer::created(render(started))
}

async fn work(http: &Http, entered: &Entered, request: &StartRequest) -> Result<Answer, ApiError> {
    match start_wallet_payment(&http.app, &entered.admitted.caller, request).await? {
        Started::Waiting(started) => Ok(told(&started)),
        Started::NotSent(why) => {
            Err(ApiError::BadGateway(format!("The message with the link could not be sent: {why}").into()))
        }
        Started::OtherRequest => Err(ApiError::field(
            "idempotency_key",
            "The idempotency key was used for another request; use a new one.",
        )),
        Started::Stopped => Err(ApiError::Forbidden(
            "Wallet payments of this business are stopped after too many wrong PINs; ask the operator",
        )),
        Started::WebhookNotAUrl(why) => Err(ApiError::field("webhook_url", format!("The webhook url {why}."))),
        Started::WebhookNotAllowed => Err(ApiError::BadRequest(
            "The webhook URL must be your business's saved webhook URL or the webhook URL of an approved website; \
             it must be from the approved website domain"
                .into(),
        )),
        Started::NoWallet => Err(ApiError::NotFound("This number has no wallet")),
        Started::NotActive(WalletStatus::Suspended) => {
            Err(ApiError::BadRequest("This wallet is suspended".into()))
        }
        Started::NotActive(_) => {
            Err(ApiError::BadRequest("This wallet is locked after too many wrong PINs".into()))
        }
        Started::InsufficientBalance(available) => Err(ApiError::InsufficientBalance(available)),
        Started::OverDailyLimit => {
            Err(ApiError::field("amount", "The amount exceeds what may go out of this wallet today."))
        }
        Started::OverQuota(over) => Err(over_quota(http, over)),
        Started::TooLarge => Err(ApiError::field("amount", "The amount with its charges is too large.")),
    }
}

fn read(http: &Http, fields: &Fields<'_>) -> Result<StartRequest, ApiError> {
    let mut check = Checker::new(fields);
    let phone = phone(&mut check);
    let base = check.amount("amount", http.app.config.payments.max_amount);
    let order_reference = check.required_text("order_reference", REFERENCE_MAX);
    let order_summary = multiline(&mut check, fields, "order_summary", SUMMARY_MAX, false);
    let payer_name = payer_name(&mut check);
    // They stand among our own words, in the message or on the page.
    honest(http, &mut check, "order_reference", order_reference.as_deref(), check_reference);
    honest(http, &mut check, "order_summary", order_summary.as_deref(), check_direction);
    honest(http, &mut check, "payer_name", payer_name.as_deref(), check_line);
    let webhook_url = check.required_text("webhook_url", MAX_URL_CHARS);
    let idempotency_key = check.required_text("idempotency_key", KEY_MAX);
    let problems = check.problems;
    match (phone, base, order_reference, payer_name, webhook_url, idempotency_key) {
        (
            Some(phone),
            Some(base),
            Some(order_reference),
            Some(payer_name),
            Some(webhook_url),
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
        _ => Err(ApiError::Invalid(problems)),
    }
}

/// Refuses a field that leads to the payment pages, or is not what it looks like.
fn honest(
    http: &Http,
    check: &mut Checker<'_, '_>,
    field: &'static str,
    text: Option<&str>,
    rule: impl Fn(&str) -> Result<(), Impostor>,
) {
    let Some(text) = text else { return };
    let own = OwnHost::of(&http.app.public_url());
    if let Err(why) = rule(text).and_then(|()| own.map_or(Ok(()), |own| own.check(text))) {
        check.problems.add(field, format!("The {} {why}.", field.replace('_', " ")));
    }
}

/// What was answered first is answered always, whatever became of the intent since.
fn render(started: &StartedPayment) -> Vec<u8> {
    let mut json = Json::object();
    json.flag("success", true);
    json.text("message", "The customer was sent a link to confirm the payment");
    json.begin("data");
    json.int("payment_intent_id", started.intent.id);
    json.text("transaction_id", &started.transaction_id);
    json.text("status", "pending_pin");
    json.text("confirm_url", &started.confirm_url);
    json.time("expires_at", started.intent.expires_at);
    json.text("order_reference", &started.intent.order_reference);
    json.money("amount", started.intent.amount);
    json.end();
    json.finish()
}
