//! `POST /{wallet}/send-message`: a merchant's own text to a customer (contract/wallet.md#w7).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Entered, answer, impostor_code, multiline, over_quota, phone, phone_field, replay};
use crate::http::Http;
use crate::http::api::once::{self, Begun};
use crate::http::api::{Answer, GoodBody, good_body};
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Body, Operation, Tag, Writer};
use crate::http::paths::WALLET_MESSAGE;
use crate::http::request::body::Fields;
use crate::http::request::validate::Checker;
use crate::http::response::code::Code;
use crate::http::response::error::ApiError;
use crate::ops::messages::send_text::{TextSent, refusal, send_text, text_sent_before};

/// Characters of a text (contract/limits.md#x6).
const MESSAGE_MAX: usize = 4_000;

const ABOUT: &str = "A text of your own to a customer, by the messaging app. Its first line is your business's name. With an \
                     `Idempotency-Key` it is sent at most once for that key.";
const EXAMPLE: &str = r#"{
  "phone": "+2340000000001",
  "message": "Your order A-7 is on its way."
}"#;

pub fn describe(writer: &mut Writer) -> Operation {
    let text = "Line breaks are allowed; no links to payment pages, and no codes that look like ours.";
    let body = Body::new("NewMessage", EXAMPLE)
        .field(phone_field())
        .field(Field::text("message", MESSAGE_MAX, text).required());
    Operation::post(WALLET_MESSAGE, "sendMessage", Tag::Wallet, "Send a message", body)
        .about(ABOUT)
        .answers(
            StatusCode::OK,
            "It was sent",
            writer.schema::<GoodBody<'static, SentBody>>(),
            good_body(None, SentBody { sent: true, message_id: 41 }),
        )
        .fails(&[
            Code::RecipientQuotaExceeded,
            Code::BusinessQuotaExceeded,
            Code::MessageNotSent,
            Code::MessageOutcomeUnknown,
        ])
}

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    answer(&http, request, WALLET_MESSAGE, async |entered, fields| send(&http, entered, fields).await).await
}

async fn send(http: &Http, entered: &Entered, fields: &Fields<'_>) -> Result<Answer, ApiError> {
    let mut check = Checker::new(fields);
    let phone = phone(&mut check, &entered.admitted.caller);
    let text = multiline(&mut check, fields, "message", MESSAGE_MAX, true);
    let (Some(phone), Some(text)) = (phone, &text) else {
        if let Some(why) = text.and_then(|text| refusal(&http.app, &text)) {
            check.problems.complain("message", impostor_code(why), &why.to_string());
        }
        return Err(once::invalid(&entered.received, check.problems));
    };
    match replay::begin(http, entered, fields, &phone).await? {
        // Remembered is which message it was; what became of it may be known only now.
        Begun::Done(before) => {
            let sent = text_sent_before(&http.app, &before.body).await?;
            // One that is still on its way has no outcome to replay.
            let is_over = !matches!(sent, TextSent::UnderWay);
            let answer = told(http, sent).map_err(|error| if is_over { error.replayed() } else { error })?;
            Ok(Answer { replayed: true, ..answer })
        }
        // The op has the claim from here on: a caller who hangs up must not free the key.
        Begun::Work(claim) => {
            let sent = send_text(&http.app, &entered.admitted.caller, &phone, text, claim).await?;
            told(http, sent)
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SentMessage")]
struct SentBody {
    sent: bool,
    message_id: i64,
}

fn told(http: &Http, sent: TextSent) -> Result<Answer, ApiError> {
    match sent {
        TextSent::Sent { message_id } => Ok(Answer::ok(good_body(None, SentBody { sent: true, message_id }))),
        TextSent::NotSent(why) => {
            Err(ApiError::new(Code::MessageNotSent, format!("The message could not be sent: {why}")))
        }
        TextSent::Unknown(why) => {
            let message = format!("The message may have been sent, or not: {why}");
            Err(ApiError::new(Code::MessageOutcomeUnknown, message))
        }
        TextSent::Refused(why) => {
            Err(ApiError::field("message", impostor_code(why), format!("The message {why}.")))
        }
        TextSent::OverQuota(over) => Err(over_quota(http, over)),
        TextSent::UnderWay | TextSent::LeaseLost => Err(once::still_running()),
    }
}
