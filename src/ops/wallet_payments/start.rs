//! Starts a payment from a customer's wallet: payment, intent and message in one Unit, then the message
//! is sent and waited for.
//!
//! The intent is saved before the message goes out. One idempotency key makes one intent for ever: the
//! same request is answered the same way, and its message is tried again if it did not go out. No money
//! is touched here; that takes the customer's PIN (`confirm`).

use std::sync::Arc;

use crate::app::App;
use crate::crash;
use crate::directory::Caller;
use crate::domain::intent::{Intent, IntentState};
use crate::domain::merchant::{Mode, Website, WebsiteStatus};
use crate::domain::message::MessageKind;
use crate::domain::money::Money;
use crate::domain::payment::{Kind, PayerDetails, Payment, TransferRequest};
use crate::domain::phone::Phone;
use crate::domain::time::Span;
use crate::domain::wallet::{Wallet, WalletStatus};
use crate::domain::weburl::same_url;
use crate::ops::OpError;
use crate::ops::messages::outbox::{self, By, Composed, Note, SentNow};
use crate::ops::messages::quota::{OverQuota, Quota};
use crate::ops::payments::choose_website::{Judged, judge_webhook};
use crate::ops::payments::create::{fresh_transaction_id, quote_within};
use crate::ops::wallets::find::{find, limits};
use crate::ops::wallets::held::standing;
use crate::store::tables::{intents, payments};
use crate::store::{Applied, IdKind};
use crate::vault::Vault;
use crate::vault::link::nonce;

/// Where the pages of intents are, below the public address.
pub const PAGES: &str = "/pay/";

/// A request whose fields are good by themselves.
#[derive(Clone, Debug)]
pub struct StartRequest {
    pub phone: Phone,
    /// What the merchant asks for, before charges.
    pub base: Money,
    pub order_reference: String,
    pub order_summary: Option<String>,
    pub payer_name: String,
    /// May be missing in test mode, where events are pulled.
    pub webhook_url: Option<String>,
    pub idempotency_key: String,
    /// Of the whole request, to know it again; keyed, because the request names a phone.
    pub fingerprint: [u8; 32],
}

/// A payment that waits for the customer's PIN.
#[derive(Debug)]
pub struct StartedPayment {
    pub intent: Intent,
    pub transaction_id: String,
    pub confirm_url: String,
    /// An earlier request with this idempotency key made it.
    pub again: bool,
}

/// What became of the request.
#[derive(Debug)]
pub enum Started {
    Waiting(Box<StartedPayment>),
    /// The intent is there, but its message failed for good; why.
    NotSent(Box<StartedPayment>, String),
    /// The idempotency key belongs to another request.
    OtherRequest,
    /// Too many wrong PINs were tried on this business's payments; an operator must look.
    Stopped,
    Webhook(WebhookRefusal),
    NoWallet,
    NotActive(WalletStatus),
    InsufficientBalance(Money),
    OverDailyLimit,
    /// Links count like merchants' texts.
    OverQuota(OverQuota),
    /// The amount with charges on top exceeds the largest amount.
    TooLarge,
}

/// Why webhooks cannot go where the request wants them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookRefusal {
    /// It is no URL at all; in words.
    NotAUrl(&'static str),
    /// It is neither the business's saved URL nor an approved website's, whatever else is wrong with it.
    NotSaved,
}

pub async fn start_wallet_payment(
    app: &Arc<App>,
    caller: &Caller,
    request: &StartRequest,
) -> Result<Started, OpError> {
    let business_id = caller.business.id;
    let key = key_kept(caller.mode, &request.idempotency_key);
    if let Some(known) = app.store.intent_by_key(business_id, &key).await? {
        return again(app, request, known).await;
    }
    if caller.mode == Mode::Live
        && app.store.wallet_business(business_id).await?.is_some_and(|row| row.stopped_at.is_some())
    {
        return Ok(Started::Stopped);
    }
    let website = match &request.webhook_url {
        None => None,
        Some(url) => match webhook_website(app, caller, url).await? {
            Ok(website) => website,
            Err(refused) => return Ok(Started::Webhook(refused)),
        },
    };
    let Some(wallet) = find(app, &request.phone).await? else { return Ok(Started::NoWallet) };
    let Some(payment) = draft(app, caller, request, &wallet, website).await? else {
        return Ok(Started::TooLarge);
    };
    if let Some(refused) = may_pay(app, &wallet, payment.amount).await? {
        return Ok(refused);
    }
    let quota = Quota::of(app, business_id, &wallet.phone);
    let (intent, composed) = intent_of(app, request, key.clone(), &wallet, &payment).await?;
    let token = app.vault.link_token(intent.id, &intent.nonce);
    let unit = app
        .store
        .unit(business_id)
        .await?
        .step(payments::add(&payment, None))
        .step(intents::add(&intent, &Vault::token_hash(&token)))
        .steps(quota.steps())
        .steps(composed.steps);
    match app.store.apply(unit).await? {
        Applied::Done(_) => {
            crash::point("intent.stored");
            tracing::info!(
                intent = intent.id,
                business = business_id,
                wallet = wallet.id,
                transaction_id = payment.transaction_id,
                "wallet payment started"
            );
            let sent = outbox::send_now(app, composed.job).await;
            Ok(answer(app, intent, payment.transaction_id, sent, false))
        }
        // The key was used at this moment; its intent is the answer to both.
        Applied::ConstraintViolation { .. } | Applied::Conflict { .. } => {
            match app.store.intent_by_key(business_id, &key).await? {
                Some(known) => again(app, request, known).await,
                None => quota.used_up(app).await?.map(Started::OverQuota).ok_or(OpError::Contended),
            }
        }
    }
}

/// What was answered to the request with this idempotency key, which is known to have been answered well.
pub async fn started_before(app: &App, caller: &Caller, key: &str) -> Result<StartedPayment, OpError> {
    let gone = || OpError::Fault("an answered wallet payment is missing".into());
    let key = key_kept(caller.mode, key);
    let intent = app.store.intent_by_key(caller.business.id, &key).await?.ok_or_else(gone)?;
    let payment = app.store.payment(intent.payment_id).await?.ok_or_else(gone)?;
    Ok(started(app, intent, payment.transaction_id, true))
}

/// Under what an intent is found again. A key is one line, so one of test mode and a live one never meet.
fn key_kept(mode: Mode, key: &str) -> String {
    match mode {
        Mode::Live => key.to_owned(),
        Mode::Test => format!("test\n{key}"),
    }
}

fn started(app: &App, intent: Intent, transaction_id: String, again: bool) -> StartedPayment {
    let token = app.vault.link_token(intent.id, &intent.nonce);
    let confirm_url = format!("{}{}", intent.link_base, token.as_str());
    StartedPayment { intent, transaction_id, confirm_url, again }
}

/// The same request once more.
async fn again(app: &Arc<App>, request: &StartRequest, intent: Intent) -> Result<Started, OpError> {
    if intent.fingerprint != request.fingerprint {
        return Ok(Started::OtherRequest);
    }
    let payment = app.store.payment(intent.payment_id).await?;
    let payment =
        payment.ok_or_else(|| OpError::Fault(format!("payment {} is missing", intent.payment_id)))?;
    let sent = outbox::send_again(app, intent.message_id).await?;
    Ok(answer(app, intent, payment.transaction_id, sent, true))
}

fn answer(app: &App, intent: Intent, transaction_id: String, sent: SentNow, again: bool) -> Started {
    let started = Box::new(started(app, intent, transaction_id, again));
    match sent {
        SentNow::Failed(why) | SentNow::Unknown(why) => Started::NotSent(started, why),
        // The message is a durable job: what failed for a passing reason is sent by the workers.
        SentNow::Sent | SentNow::Later(_) | SentNow::UnderWay => Started::Waiting(started),
    }
}

/// What is wrong with a webhook URL, for a request that is refused whatever it is.
pub async fn webhook_refusal(
    app: &App,
    caller: &Caller,
    url: &str,
) -> Result<Option<WebhookRefusal>, OpError> {
    Ok(webhook_website(app, caller, url).await?.err())
}

/// The website a webhook URL belongs to, for charges and lists: the one whose own URL it is, else the
/// closest approved one. It must be the business's saved URL or an approved website's.
async fn webhook_website(
    app: &App,
    caller: &Caller,
    url: &str,
) -> Result<Result<Option<Website>, WebhookRefusal>, OpError> {
    let websites = app.directory.websites(caller.business.id).await?;
    let closest = match judge_webhook(&websites, url, app.config.server.dev) {
        Judged::NotAUrl(reason) => return Ok(Err(WebhookRefusal::NotAUrl(reason))),
        Judged::NotAllowed(_) => return Ok(Err(WebhookRefusal::NotSaved)),
        Judged::Good(closest) => closest,
    };
    let mut approved = websites.iter().filter(|site| site.status == WebsiteStatus::Approved);
    let owner = approved.find(|site| site.webhook_url.as_deref().is_some_and(|own| same_url(own, url)));
    let is_saved = caller.business.webhook_url.as_deref().is_some_and(|saved| same_url(saved, url));
    Ok(match (owner, is_saved, closest) {
        (None, false, _) => Err(WebhookRefusal::NotSaved),
        (owner, _, closest) => Ok(owner.or(closest).cloned()),
    })
}

async fn draft(
    app: &App,
    caller: &Caller,
    request: &StartRequest,
    wallet: &Wallet,
    website: Option<Website>,
) -> Result<Option<Payment>, OpError> {
    let now = app.now();
    let schedule = website.as_ref().and_then(|site| site.schedule).unwrap_or(caller.business.schedule);
    let Some(quote) = quote_within(app, request.base, &schedule) else { return Ok(None) };
    let payment = Payment::requested(TransferRequest {
        id: app.store.id(IdKind::Payment).await?,
        business_id: caller.business.id,
        transaction_id: fresh_transaction_id(app, now),
        mode: caller.mode,
        quote,
        schedule,
        payer_name: request.payer_name.clone(),
        payer: PayerDetails::default(),
        webhook_url: request.webhook_url.clone(),
        website_id: website.map(|site| site.id),
        account_id: None,
        till_user_id: None,
        link: None,
        at: now,
        expiry: app.config.wallet.link_lifetime,
        late_window: Span(0),
    });
    Ok(Some(Payment {
        kind: Kind::Wallet,
        wallet_id: Some(wallet.id),
        external_reference: Some(request.order_reference.clone()),
        ..payment
    }))
}

/// What speaks against a payment now; the debit is guarded by the same once more.
async fn may_pay(app: &App, wallet: &Wallet, amount: Money) -> Result<Option<Started>, OpError> {
    let now = app.now();
    let status = standing(app, wallet, now).await?;
    if status != WalletStatus::Active {
        return Ok(Some(Started::NotActive(status)));
    }
    if wallet.balance < amount {
        return Ok(Some(Started::InsufficientBalance(wallet.balance)));
    }
    let may_spend = wallet.may_spend(amount, limits(app, wallet), now);
    Ok((!may_spend).then_some(Started::OverDailyLimit))
}

async fn intent_of(
    app: &App,
    request: &StartRequest,
    idempotency_key: String,
    wallet: &Wallet,
    payment: &Payment,
) -> Result<(Intent, Composed), OpError> {
    let id = app.store.id(IdKind::Intent).await?;
    let note = Note {
        to: &wallet.phone,
        business_id: Some(payment.business_id),
        wallet_id: Some(wallet.id),
        kind: MessageKind::Link,
        subject_id: id,
        text: None,
        valid_until: payment.expires_at,
    };
    let composed = outbox::compose(app, &note, By::Us).await?;
    let intent = Intent {
        id,
        business_id: payment.business_id,
        wallet_id: wallet.id,
        payment_id: payment.id,
        nonce: nonce(app.random.as_ref()),
        state: IntentState::PendingPin,
        end: None,
        tries: 0,
        wrong_tries: 0,
        amount: payment.amount,
        order_reference: request.order_reference.clone(),
        order_summary: request.order_summary.clone(),
        link_base: format!("{}{PAGES}", app.public_url()),
        idempotency_key,
        fingerprint: request.fingerprint.to_vec(),
        message_id: composed.message_id,
        created_at: payment.created_at,
        expires_at: payment.expires_at,
        ended_at: None,
    };
    Ok((intent, composed))
}
