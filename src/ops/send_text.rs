//! A merchant's own text to a customer: checked, counted, sent once, kept for the merchant's log.
//!
//! It goes to any Nigerian mobile number, wallet or not. A text that did not go out at once is not sent
//! later: it may be a code that is good for minutes, and the merchant was told. Quotas are exact over all
//! nodes, because using one is part of the Unit that writes the message.

use std::sync::Arc;

use super::OpError;
use super::messages::{self, By, FIRST_ATTEMPTS, Note, SentNow};
use super::wallets::{find, phone_hash};
use crate::app::App;
use crate::directory::Caller;
use crate::domain::impostor::{Impostor, OwnHost};
use crate::domain::message::MessageKind;
use crate::domain::phone::Phone;
use crate::domain::time::{Span, Timestamp};
use crate::store::messages::{QuotaScope, use_quota};
use crate::store::{Applied, Step};

/// What became of the text.
#[derive(Debug)]
pub enum TextSent {
    Sent {
        message_id: i64,
    },
    /// The messenger refused it or is down; why, for the merchant.
    NotSent(String),
    /// It leads to the payment pages, or seems to.
    Refused(Impostor),
    OverQuota {
        scope: QuotaScope,
        until: Timestamp,
    },
}

pub async fn send_text(
    app: &Arc<App>,
    caller: &Caller,
    phone: &Phone,
    text: &str,
) -> Result<TextSent, OpError> {
    if let Some(own) = OwnHost::of(&app.public_url())
        && let Err(refused) = own.check(text)
    {
        return Ok(TextSent::Refused(refused));
    }
    let business_id = caller.business.id;
    let now = app.now();
    let note = Note {
        to: phone,
        business_id: Some(business_id),
        wallet_id: find(app, phone).await?.map(|wallet| wallet.id),
        kind: MessageKind::Merchant,
        subject_id: business_id,
        text: Some(text),
        valid_until: now + Span(i64::try_from(FIRST_ATTEMPTS.as_micros()).unwrap_or(0)),
    };
    let composed = messages::compose(app, &note, By::Us).await?;
    let hash = phone_hash(app, phone);
    let key_of = |scope| match scope {
        QuotaScope::RecipientMinute | QuotaScope::RecipientDay => hash.to_vec(),
        QuotaScope::BusinessDay => business_id.to_be_bytes().to_vec(),
    };
    let quotas: Vec<Step> =
        QuotaScope::ALL.into_iter().map(|scope| use_quota(scope, &key_of(scope), now)).collect();
    let unit = app.store.unit(business_id).await?.steps(quotas).steps(composed.steps);
    match app.store.apply(unit).await? {
        Applied::Done(_) => {}
        Applied::Lost { .. } => {
            for scope in QuotaScope::ALL {
                if let Some(until) = app.store.quota_ends(scope, &key_of(scope), now).await? {
                    return Ok(TextSent::OverQuota { scope, until });
                }
            }
            return Err(OpError::Contended);
        }
        Applied::Refused { statement } => {
            return Err(OpError::Fault(format!("the database refused {statement}")));
        }
    }
    let message_id = composed.message_id;
    let why = match messages::send_now(app, composed.job).await {
        SentNow::Sent => return Ok(TextSent::Sent { message_id }),
        SentNow::NotSent(why) => why,
        SentNow::UnderWay => "the messenger did not answer in time".to_owned(),
    };
    let is_over = messages::abandon(app, message_id, &why).await?;
    Ok(if is_over { TextSent::NotSent(why) } else { TextSent::Sent { message_id } })
}
