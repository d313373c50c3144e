//! `POST /{wallet}/send-message`: a merchant's own text to a customer (interface 4.5).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;

use super::{Entered, enter, multiline, phone, replay};
use crate::domain::phone::Phone;
use crate::http::Http;
use crate::http::api::Answer;
use crate::http::api::once::Begun;
use crate::http::error::ApiError;
use crate::http::json::Json;
use crate::http::routes::WALLET_MESSAGE;
use crate::http::validate::Checker;
use crate::ops::send_text::{TextSent, send_text};
use crate::store::messages::QuotaScope;

/// Characters of a text (interface 8).
const MESSAGE_MAX: usize = 4_000;

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    match enter(&http, request, WALLET_MESSAGE).await {
        Ok(entered) => {
            let result = send(&http, &entered).await;
            entered.respond(&http, result)
        }
        Err(response) => response,
    }
}

async fn send(http: &Http, entered: &Entered) -> Result<Answer, ApiError> {
    let fields = entered.fields()?;
    let mut check = Checker::new(&fields);
    let phone = phone(&mut check);
    let text = multiline(&mut check, &fields, "message", MESSAGE_MAX, true);
    let (Some(phone), Some(text)) = (phone, text) else { return Err(ApiError::Invalid(check.problems)) };
    let claim = match replay::begin(http, entered, &fields, &phone).await? {
        Begun::Done(answer) => return Ok(answer),
        Begun::Work(claim) => claim,
    };
    let result = work(http, entered, &phone, &text).await;
    replay::end(http, claim, result, |answer| answer.body.clone()).await
}

async fn work(http: &Http, entered: &Entered, phone: &Phone, text: &str) -> Result<Answer, ApiError> {
    match send_text(&http.app, &entered.admitted.caller, phone, text).await? {
        TextSent::Sent { message_id } => {
            let mut json = Json::object();
            json.flag("success", true);
            json.begin("data");
            json.flag("sent", true);
            json.int("message_id", message_id);
            json.end();
            Ok(Answer::ok(json.finish()))
        }
        TextSent::NotSent(why) => {
            Err(ApiError::BadGateway(format!("The message could not be sent: {why}").into()))
        }
        TextSent::Refused(why) => Err(ApiError::field("message", format!("The message {why}."))),
        TextSent::OverQuota { scope, until } => {
            let message = match scope {
                QuotaScope::RecipientMinute => {
                    "Too many messages to this number in a minute; try again later"
                }
                QuotaScope::RecipientDay => "Too many messages to this number in 24 hours; try again later",
                QuotaScope::BusinessDay => {
                    "Your business sent too many messages in 24 hours; try again later"
                }
            };
            let wait = until.since(http.app.now()).0.div_euclid(1_000_000) + 1;
            Err(ApiError::OverQuota { message, retry_after: u32::try_from(wait).unwrap_or(u32::MAX) })
        }
    }
}
