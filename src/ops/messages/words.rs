//! What a message says, made anew whenever it is sent or shown: links and codes come from the vault and are in no row.
//!
//! Called by `outbox`, which sends, and by `shown`, which shows.

use zeroize::Zeroizing;

use super::waiting::waiting;
use crate::app::App;
use crate::domain::intent::{CODE_DIGITS, IntentEnd};
use crate::domain::message::{self, LinkWords, MessageKind, Then};
use crate::domain::money::naira;
use crate::domain::payment::Status;
use crate::domain::phone::Phone;
use crate::domain::wallet::LOCKED_FOR;
use crate::ops::OpError;
use crate::ops::wallets::find::known_wallet;
use crate::outbound::message::LinkParts;
use crate::store::tables::messages::MessageRow;

pub(super) fn phone_place(message_id: i64) -> String {
    format!("messages/{message_id}/phone")
}

/// What a message's reference is made of beside its id: a row of a restored backup was made at another time.
pub(super) fn reference_of(row: &MessageRow) -> [u8; 8] {
    row.created_at.0.to_be_bytes()
}

pub(super) fn text_place(message_id: i64) -> String {
    format!("messages/{message_id}/text")
}

/// What a message says, made anew.
pub(super) struct Words {
    pub(super) text: Zeroizing<String>,
    pub(super) link: Option<LinkParts>,
    pub(super) code: Option<Zeroizing<String>>,
    pub(super) parts: Vec<Zeroizing<String>>,
    /// Why it is not worth sending any more.
    pub(super) stale: Option<&'static str>,
}

impl Words {
    fn plain(text: String, parts: impl IntoIterator<Item = String>) -> Words {
        let parts = parts.into_iter().map(Zeroizing::new).collect();
        Words { text: Zeroizing::new(text), link: None, code: None, parts, stale: None }
    }
}

async fn merchant_name(app: &App, business_id: Option<i64>) -> Result<String, OpError> {
    let business = match business_id {
        Some(id) => app.directory.business(id).await?,
        None => None,
    };
    Ok(business.map_or_else(|| "a shop".to_owned(), |business| business.name.clone()))
}

pub(super) async fn words(app: &App, row: &MessageRow) -> Result<Words, OpError> {
    let missing = |what: &str| OpError::Fault(format!("message {}: its {what} is missing", row.id));
    let now = app.now();
    let (operator, contact) = (app.config.pages.operator_name.as_deref(), app.config.pages.contact());
    match row.kind {
        MessageKind::Merchant => {
            let sealed = row.sealed_text.as_deref().ok_or_else(|| missing("text"))?;
            let plain = app.vault.unseal(&text_place(row.id), sealed);
            let plain = plain?;
            let text = String::from_utf8_lossy(&plain).into_owned();
            let merchant = merchant_name(app, row.business_id).await?;
            Ok(Words::plain(message::merchant_text(&merchant, &text), [merchant, text]))
        }
        MessageKind::Link => {
            let intent = app.store.intent(row.subject_id).await?.ok_or_else(|| missing("intent"))?;
            let merchant = merchant_name(app, row.business_id).await?;
            let token = app.vault.link_token(intent.id, &intent.nonce);
            let url = Zeroizing::new(format!("{}{}", intent.link_base, token.as_str()));
            let reference = message::unlinked(&intent.order_reference);
            let payment = app.store.payment(intent.payment_id).await?.ok_or_else(|| missing("payment"))?;
            let amount = message::paid_words(intent.amount, payment.charges_on_top());
            let text = message::link_text(&LinkWords {
                merchant: &merchant,
                amount: &amount,
                reference: &reference,
                url: &url,
                until: intent.expires_at,
                operator,
            });
            let stale = (!intent.is_open(now)).then_some("the payment has ended");
            let link = Some(LinkParts { merchant, amount, reference, url, token });
            Ok(Words { text: Zeroizing::new(text), link, code: None, parts: Vec::new(), stale })
        }
        MessageKind::Code => {
            let code = app.store.pin_code(row.subject_id).await?.ok_or_else(|| missing("code"))?;
            let merchant = merchant_name(app, row.business_id).await?;
            let intent = app.store.intent(code.intent_id).await?.ok_or_else(|| missing("intent"))?;
            let digits = app.vault.code(code.id, &code.nonce, CODE_DIGITS);
            let until = code.expires_at.min(intent.expires_at);
            let text = Zeroizing::new(message::code_text(&digits, &merchant, until, operator));
            let stale = (!code.is_good(now)).then_some("the code has ended");
            Ok(Words { text, link: None, code: Some(digits), parts: Vec::new(), stale })
        }
        MessageKind::Receipt => {
            let intent = app.store.intent(row.subject_id).await?.ok_or_else(|| missing("intent"))?;
            let merchant = merchant_name(app, row.business_id).await?;
            let payment = app.store.payment(intent.payment_id).await?.ok_or_else(|| missing("payment"))?;
            let at = intent.ended_at.unwrap_or(row.created_at);
            let reference = message::unlinked(&intent.order_reference);
            let (charges, number) = (payment.charges_on_top(), payment.transaction_id);
            let paid = message::paid_words(intent.amount, charges);
            let text = message::receipt_text(&merchant, &paid, &reference, at, &number, operator);
            let parts = [paid, merchant, reference, message::lagos_time(at), number];
            Ok(Words::plain(text, parts))
        }
        MessageKind::PinChanged => {
            let is_first = row.subject_id == 1;
            let parts = [message::pin_changed_word(is_first).into(), message::lagos_time(row.created_at)];
            let text = message::pin_changed_text(is_first, row.created_at, operator, &contact);
            Ok(Words::plain(text, parts))
        }
        MessageKind::Stopped | MessageKind::Locked => {
            let intent = app.store.intent(row.subject_id).await?.ok_or_else(|| missing("intent"))?;
            let stopped = message::stopped_words(&merchant_name(app, row.business_id).await?, intent.amount);
            let (what, at, then) = if row.kind == MessageKind::Stopped {
                (stopped, row.created_at, message::stopped_then(operator))
            } else {
                let stopped = Some(stopped.as_str()).filter(|_| intent.end == Some(IntentEnd::WrongPins));
                let then = message::locked_then(row.created_at + LOCKED_FOR, stopped);
                (message::locked_words(operator), message::begun_minute(row.created_at), then)
            };
            let text = message::wrong_pins_text(&what, at, &then, &contact);
            Ok(Words::plain(text, [what, message::lagos_time(at)]))
        }
        MessageKind::TopupSuspended | MessageKind::TopupOverLimit | MessageKind::TopupReversed => {
            let payment = app.store.payment(row.subject_id).await?.ok_or_else(|| missing("payment"))?;
            let is_reversed = row.kind == MessageKind::TopupReversed;
            let amount = payment.received.unwrap_or(payment.amount);
            let what = match is_reversed {
                true => message::topup_reversed_words(amount, operator),
                false => {
                    let is_suspended = row.kind == MessageKind::TopupSuspended;
                    message::not_added_words(amount, is_suspended, operator)
                }
            };
            let text = message::topup_problem_text(&what, row.created_at, &contact);
            let is_over = !is_reversed && payment.status == Status::Approved;
            let stale = is_over.then_some("the money was added to the wallet meanwhile");
            Ok(Words { stale, ..Words::plain(text, [message::lagos_time(row.created_at), what]) })
        }
        MessageKind::Topup | MessageKind::Refund => {
            let payment = app.store.payment(row.subject_id).await?.ok_or_else(|| missing("payment"))?;
            let amount = payment.received.unwrap_or(payment.amount);
            let (sum, at) = (naira(amount), message::lagos_time(row.created_at));
            Ok(if row.kind == MessageKind::Topup {
                let at_sending = if row.status.is_sent() { row.created_at } else { now };
                let intent = waiting(app, row.wallet_id, at_sending).await?;
                let merchant = merchant_name(app, intent.as_ref().map(|intent| intent.business_id)).await?;
                let is_suspended = match row.wallet_id {
                    Some(id) => known_wallet(app, id).await?.suspended,
                    None => false,
                };
                let then = match &intent {
                    _ if is_suspended => Then::Ask(&contact),
                    Some(intent) => Then::Pay(&merchant, intent.expires_at),
                    None => Then::Use,
                };
                Words::plain(message::topup_text(amount, row.created_at, operator, then), [sum, at])
            } else {
                let merchant = merchant_name(app, Some(payment.business_id)).await?;
                let from = message::refunded(&merchant, payment.external_reference.as_deref());
                let number = &payment.transaction_id;
                let text = message::refund_text(&from, amount, row.created_at, number, operator);
                Words::plain(text, [sum, from, at])
            })
        }
    }
}

pub(super) fn phone_of(app: &App, row: &MessageRow) -> Result<Phone, OpError> {
    let plain = app.vault.unseal(&phone_place(row.id), &row.sealed_phone);
    let plain = plain?;
    let phone = std::str::from_utf8(&plain).ok().and_then(Phone::from_key);
    phone.ok_or_else(|| OpError::Fault(format!("message {}: its phone number is not valid", row.id)))
}
