//! Payments that a person of the business makes or corrects on a page: the same as by a program's key, with the act of
//! whoever did it in the same Unit. Whether the person may is the page's to know.

use std::sync::Arc;

use super::choose_website::{Judged, judge_webhook};
use super::correct::{Corrected, correct_noted};
use super::create::{Created, NewPayment, create_noted, fresh_transaction_id};
use super::read::PaymentView;
use crate::app::App;
use crate::directory::Caller;
use crate::domain::merchant::{KeyRights, Mode, Website, WebsiteStatus};
use crate::domain::money::{Money, naira};
use crate::domain::payment::{CorrectRefusal, PayerDetails};
use crate::domain::text::is_plain_line;
use crate::ops::OpError;
use crate::store::IdKind;
use crate::store::tables::acts;

/// Characters of a name, a service, an id.
const TEXT_MAX: usize = 255;

/// What a person asks for.
#[derive(Clone, Debug)]
pub struct ByHand<'a> {
    pub business_id: i64,
    pub mode: Mode,
    /// Before charges.
    pub amount: Money,
    pub payer_name: &'a str,
    /// What it is for; may be empty.
    pub service: &'a str,
    /// Empty: one is made.
    pub transaction_id: &'a str,
    pub at: AskedAt,
}

/// Where a person asks for a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedAt {
    /// In the dashboard, for this website of the business: its webhook address is told.
    Website(i64),
    /// At the till of the shop, by this user. It belongs to no website; the business's own address is told, if there is one.
    Till(i64),
    /// In the dashboard, before a website was approved: a test payment alone, of which programs hear by the list of events.
    NoWebsite,
}

/// Why there is no payment. The texts are for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ByHandRefused {
    #[error("there is no such business, or it is not active")]
    UnknownBusiness,
    #[error("the amount must be more than zero and at most {0}")]
    Amount(Money),
    #[error("the amount with its charges is more than {0}")]
    TooLarge(Money),
    #[error("write the name of whoever pays: 1 to {TEXT_MAX} characters on one line, with a letter")]
    PayerName,
    #[error("write at most {TEXT_MAX} characters on one line")]
    Service,
    #[error("write at most {TEXT_MAX} characters on one line")]
    TransactionId,
    #[error("there is a payment with this id already")]
    Taken,
    #[error("choose one of your approved websites")]
    Website,
    #[error("this website has no webhook address yet, so nobody would be told of the payment; set one first")]
    NoWebhookAddress,
    #[error("the webhook address of this website may not be used: it {0}")]
    WebhookAddress(String),
    #[error(
        "no account can take this payment now: other customers owe the same amount; try again, or change it by a naira"
    )]
    NoAccount,
    #[error("the business waits for the operator and works in test mode alone; make a test payment")]
    Waits,
}

/// `TXN-` and 26 letters and digits.
const OWN_ID_CHARS: usize = 30;

/// Whether a form's id looks like one that we made for it.
pub fn is_own_id(id: &str) -> bool {
    id.len() == OWN_ID_CHARS
        && id.starts_with("TXN-")
        && id[4..].bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// A fresh id, for a form that is to count once.
pub fn new_transaction_id(app: &App) -> String {
    fresh_transaction_id(app, app.now())
}

/// Asks for a payment as a program would.
pub async fn ask_for_payment(
    app: &App,
    operator: &str,
    wanted: &ByHand<'_>,
) -> Result<Result<PaymentView, ByHandRefused>, OpError> {
    let most = app.config.payments.max_amount;
    let business = match app.store.business(wanted.business_id).await?.filter(|business| business.active) {
        None => return Ok(Err(ByHandRefused::UnknownBusiness)),
        Some(business) if !business.works_in(wanted.mode) => return Ok(Err(ByHandRefused::Waits)),
        Some(business) => business,
    };
    let websites = app.store.websites(wanted.business_id).await?;
    let new = match checked(app, wanted, &websites, business.webhook_url.as_deref()) {
        Ok(new) => new,
        Err(refused) => return Ok(Err(refused)),
    };
    let caller = Caller { business: Arc::new(business), mode: wanted.mode, rights: KeyRights::Write };
    let (act, now) = (app.store.id(IdKind::Act).await?, app.now());
    let created = create_noted(app, &caller, new, None, |payment| {
        let subject = format!("payment {}", payment.transaction_id);
        let place = if payment.till_user_id.is_some() { ", at the till" } else { "" };
        let told = format!("{}{place}", naira(payment.amount));
        Some(acts::record_of(payment.business_id, act, operator, "payment add", &subject, &told, now))
    });
    Ok(match created.await? {
        Created::Payment(view) => Ok(*view),
        Created::DuplicateTransactionId => Err(ByHandRefused::Taken),
        Created::TooLarge => Err(ByHandRefused::TooLarge(most)),
        Created::NoAccount => Err(ByHandRefused::NoAccount),
        Created::LeaseLost => return Err(OpError::Contended),
    })
}

fn checked(
    app: &App,
    wanted: &ByHand<'_>,
    websites: &[Website],
    business_url: Option<&str>,
) -> Result<NewPayment, ByHandRefused> {
    let most = app.config.payments.max_amount;
    let fits = |text: &str| text.chars().count() <= TEXT_MAX && is_plain_line(text);
    let (payer_name, service) = (wanted.payer_name.trim(), wanted.service.trim());
    let id = wanted.transaction_id.trim();
    if !wanted.amount.is_positive() || wanted.amount > most {
        return Err(ByHandRefused::Amount(most));
    }
    if !fits(payer_name) || !payer_name.chars().any(char::is_alphabetic) {
        return Err(ByHandRefused::PayerName);
    }
    if !fits(service) {
        return Err(ByHandRefused::Service);
    }
    if !fits(id) || matches!(id, "." | "..") {
        return Err(ByHandRefused::TransactionId);
    }
    let (website, till_user_id) = match wanted.at {
        AskedAt::Website(id) => (Some(told_website(app, id, websites, business_url)?), None),
        AskedAt::Till(user_id) => (None, Some(user_id)),
        AskedAt::NoWebsite if wanted.mode == Mode::Test => (None, None),
        AskedAt::NoWebsite => return Err(ByHandRefused::Website),
    };
    let (website, webhook_url) = website.unzip();
    Ok(NewPayment {
        transaction_id: (!id.is_empty()).then(|| id.to_owned()),
        base: wanted.amount,
        payer_name: payer_name.to_owned(),
        payer: PayerDetails {
            service: (!service.is_empty()).then(|| service.to_owned()),
            ..PayerDetails::default()
        },
        bvn: None,
        webhook_url,
        return_url: None,
        website,
        till_user_id,
    })
}

/// The website that was chosen, and the address at which it is told.
fn told_website(
    app: &App,
    id: i64,
    websites: &[Website],
    business_url: Option<&str>,
) -> Result<(Website, String), ByHandRefused> {
    let is_meant = |website: &&Website| website.id == id && website.status == WebsiteStatus::Approved;
    let website = websites.iter().find(is_meant).ok_or(ByHandRefused::Website)?;
    let url = website.webhook_url.as_deref().or(business_url).ok_or(ByHandRefused::NoWebhookAddress)?;
    match judge_webhook(websites, url, app.config.server.dev) {
        Judged::Good(Some(_)) => {}
        Judged::Good(None) => {
            let why = "is not on one of your approved websites".to_owned();
            return Err(ByHandRefused::WebhookAddress(why));
        }
        Judged::NotAUrl(why) => return Err(ByHandRefused::WebhookAddress(why.to_owned())),
        Judged::NotAllowed(why) => return Err(ByHandRefused::WebhookAddress(why.words())),
    }
    Ok((website.clone(), url.to_owned()))
}

/// Why an amount was not corrected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CorrectedByHand {
    #[error("the amount must be more than zero and at most {0}")]
    Amount(Money),
    #[error("there is no such payment")]
    Unknown,
    #[error(transparent)]
    Refused(CorrectRefusal),
}

/// Corrects what a pending payment of the business expects, before charges.
pub async fn correct_by_hand(
    app: &App,
    operator: &str,
    (business_id, mode): (i64, Mode),
    transaction_id: &str,
    amount: Money,
) -> Result<Result<PaymentView, CorrectedByHand>, OpError> {
    let most = app.config.payments.max_amount;
    if !amount.is_positive() || amount > most {
        return Ok(Err(CorrectedByHand::Amount(most)));
    }
    let Some(business) = app.store.business(business_id).await? else {
        return Ok(Err(CorrectedByHand::Unknown));
    };
    let caller = Caller { business: Arc::new(business), mode, rights: KeyRights::Write };
    let act = app.store.id(IdKind::Act).await?;
    let corrected = correct_noted(app, &caller, transaction_id, amount, None, |before, after| {
        let subject = format!("payment {}", after.transaction_id);
        let told = format!("amount from {} to {}", naira(before.amount), naira(after.amount));
        let at = after.updated_at;
        Some(acts::record_of(business_id, act, operator, "payment correct", &subject, &told, at))
    });
    Ok(match corrected.await? {
        Corrected::Payment(view) => Ok(*view),
        Corrected::Unknown => Err(CorrectedByHand::Unknown),
        Corrected::Refused(refusal) => Err(CorrectedByHand::Refused(refusal)),
        Corrected::LeaseLost => return Err(OpError::Contended),
    })
}
