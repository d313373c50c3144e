//! A merchant's own text to a customer: checked, counted, sent once, kept for the merchant's log.
//!
//! It goes to any Nigerian mobile number, wallet or not. A text that did not go out at once is not sent
//! later: the merchant was told, and it may be of no use any more. An idempotency key is written with the
//! message in one Unit, and from then on the key stands for that message: whoever brings it again is told
//! what became of it, also after the first caller hung up or the process died. Only a text that certainly did
//! not go out gives its key back. Quotas (`message_quota`) are part of the same Unit.

use std::sync::Arc;

use super::outbox::{self, By, FIRST_ATTEMPTS, Note, SentNow};
use super::quota::{OverQuota, Quota};
use crate::app::App;
use crate::crash;
use crate::directory::Caller;
use crate::domain::impostor::{Impostor, OwnHost, check_code, check_direction};
use crate::domain::message::MessageKind;
use crate::domain::phone::Phone;
use crate::domain::time::Span;
use crate::ops::OpError;
use crate::ops::payments::idempotency::Claim;
use crate::ops::wallets::find::find;
use crate::store::Applied;
use crate::store::tables::messages::is_quota;

/// What became of the text.
#[derive(Debug)]
pub enum TextSent {
    Sent {
        message_id: i64,
    },
    /// The messenger refused it or is down; why, for the merchant.
    NotSent(String),
    /// It may have arrived; why that is unknown, for the merchant.
    Unknown(String),
    /// It is still on its way; known of a text that was sent before under the same key alone.
    UnderWay,
    /// It leads to the payment pages, looks like a code of ours, or changes the direction of text.
    Refused(Impostor),
    OverQuota(OverQuota),
    /// The claim of the key was lost to another request.
    LeaseLost,
}

/// Sends a text. The work goes on when the caller goes away; `claim` is settled by it.
pub async fn send_text(
    app: &Arc<App>,
    caller: &Caller,
    phone: &Phone,
    text: &str,
    claim: Option<Claim>,
) -> Result<TextSent, OpError> {
    if let Some(refused) = refusal(app, text) {
        if let Some(claim) = claim {
            claim.release().await;
        }
        return Ok(TextSent::Refused(refused));
    }
    let (app, business_id, phone, text) = (app.clone(), caller.business.id, phone.clone(), text.to_owned());
    let working = tokio::spawn(async move {
        let mut claim = claim;
        let result = store_and_send(&app, business_id, &phone, &text, &mut claim).await;
        // What is left of the claim came to nothing.
        if let Some(claim) = claim {
            claim.release().await;
        }
        result
    });
    working.await.map_err(|error| OpError::Fault(format!("a text could not be sent: {error}")))?
}

/// Why a text may not be sent, whoever it is for.
pub fn refusal(app: &App, text: &str) -> Option<Impostor> {
    let own = OwnHost::of(&app.public_url());
    let own = own.map_or(Ok(()), |own| own.check(text));
    own.and_then(|()| check_code(text)).and_then(|()| check_direction(text)).err()
}

async fn store_and_send(
    app: &Arc<App>,
    business_id: i64,
    phone: &Phone,
    text: &str,
    claim: &mut Option<Claim>,
) -> Result<TextSent, OpError> {
    let note = Note {
        to: phone,
        business_id: Some(business_id),
        wallet_id: find(app, phone).await?.map(|wallet| wallet.id),
        kind: MessageKind::Merchant,
        subject_id: business_id,
        text: Some(text),
        valid_until: app.now() + Span(i64::try_from(FIRST_ATTEMPTS.as_micros()).unwrap_or(0)),
    };
    let composed = outbox::compose(app, &note, By::Us).await?;
    let message_id = composed.message_id;
    let quota = Quota::of(app, business_id, phone);
    let remembered = claim.as_ref().map(|claim| claim.answer_step(REMEMBERED, kept(message_id)));
    let unit =
        app.store.unit(business_id).await?.steps(remembered).steps(quota.steps()).steps(composed.steps);
    match app.store.apply(unit).await? {
        Applied::Done(_) => {}
        Applied::Conflict { statement, .. } if is_quota(statement) => {
            return match quota.used_up(app).await? {
                Some(over) => Ok(TextSent::OverQuota(over)),
                None => Err(OpError::Contended),
            };
        }
        Applied::Conflict { .. } => return Ok(TextSent::LeaseLost),
        Applied::ConstraintViolation { statement } => {
            return Err(OpError::Fault(format!("the database refused {statement}")));
        }
    }
    crash::point("text.stored");
    let claim = claim.take();
    let (why, is_certain) = match outbox::send_now(app, composed.job).await {
        SentNow::Sent => {
            if let Some(claim) = claim {
                claim.keep();
            }
            return Ok(TextSent::Sent { message_id });
        }
        SentNow::Failed(why) | SentNow::Later(why) => (why, true),
        SentNow::Unknown(why) => (why, false),
        SentNow::UnderWay => ("the messenger did not answer in time".to_owned(), false),
    };
    let is_over = outbox::abandon(app, message_id, &why).await?;
    match claim {
        Some(claim) if is_over && is_certain => claim.take_back().await,
        Some(claim) => claim.keep(),
        None => {}
    }
    Ok(match is_over {
        false => TextSent::Sent { message_id },
        true if is_certain => TextSent::NotSent(why),
        true => TextSent::Unknown(why),
    })
}

/// The status under which a key is remembered; what is answered depends on the message.
const REMEMBERED: u16 = 200;

/// What is remembered under a key: which message it was.
fn kept(message_id: i64) -> Vec<u8> {
    message_id.to_string().into_bytes()
}

/// What became of a text that was sent before, by what was remembered under its key. Waits for it as long as
/// the first caller does.
pub async fn text_sent_before(app: &App, remembered: &[u8]) -> Result<TextSent, OpError> {
    let id = std::str::from_utf8(remembered).ok().and_then(|text| text.parse::<i64>().ok());
    let message_id = id.ok_or_else(|| OpError::Fault("an idempotency key names no message".into()))?;
    Ok(match outbox::outcome(app, message_id).await? {
        SentNow::Sent => TextSent::Sent { message_id },
        // Had it certainly not gone out, its key would be free.
        SentNow::Failed(why) | SentNow::Unknown(why) => TextSent::Unknown(why),
        SentNow::Later(_) | SentNow::UnderWay => TextSent::UnderWay,
    })
}
