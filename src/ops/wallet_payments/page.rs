//! What the page behind a confirm link shows: an open payment, or how it ended.
//!
//! Reads only; a look never changes anything, because messengers fetch links by themselves. The token is
//! all a caller has. A link that was never made and one that is long gone look the same. The acts of the
//! page are `confirm`, `pin_reset` and [`cancel`]. The merchant holds the link too: nothing here tells
//! more of a wallet than the merchant may ask for.

use super::end::end_intent;
use super::link_codes::{LinkCodes, link_codes};
use crate::app::App;
use crate::domain::intent::{Intent, IntentEnd, IntentState};
use crate::domain::merchant::WebsiteStatus;
use crate::domain::message::{MessageKind, MessageStatus};
use crate::domain::money::Money;
use crate::domain::time::{Span, Timestamp};
use crate::domain::wallet::{LOCK_AFTER, TRIES_WINDOW, Wallet, WalletStatus};
use crate::domain::weburl::website_address;
use crate::ops::OpError;
use crate::ops::wallets::find::{known_wallet, limits, phone_hash};
use crate::ops::wallets::held::standing;
use crate::store::tables::wallets::BusinessTries;
use crate::vault::Vault;

/// A link's own result is shown so long after its end; then it is like one that never was.
pub const SHOWN_FOR: Span = Span::days(30);
/// A longer text is no token of ours; it is not even hashed whole.
const TOKEN_MAX: usize = 200;
/// Open top-ups shown with a balance that is too low, those that cover the payment first, and looked at for it.
const TOPUPS_SHOWN: usize = 3;
const TOPUPS_READ: i64 = 20;
/// So long after a link has expired its top-ups are still looked for; an account may be open longer than that.
const TOPUPS_SHOWN_FOR: Span = Span::days(2);

/// What a link leads to.
#[derive(Debug)]
pub enum LinkView {
    NotFound,
    Open(Box<OpenLink>),
    Paid(Box<Receipt>),
    /// Over without payment.
    Ended(Box<EndedLink>),
}

/// The head of every page about a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub merchant: String,
    /// What the customer pays.
    pub amount: Money,
    /// What of it are charges, where the customer pays them.
    pub charges: Option<Money>,
    pub reference: String,
    /// May hold line breaks.
    pub summary: Option<String>,
    pub masked_phone: String,
    /// The wallet is one of test mode.
    pub is_test: bool,
    /// The way back.
    pub website: Option<ShopSite>,
}

/// An approved website of the business, as it was registered: nothing of a request is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShopSite {
    pub url: String,
    pub host: String,
}

/// A payment that waits for a PIN.
#[derive(Debug)]
pub struct OpenLink {
    pub order: Order,
    /// Who pays, as the merchant named them.
    pub payer_name: String,
    pub now: Timestamp,
    pub expires_at: Timestamp,
    pub has_pin: bool,
    pub tries_left: i64,
    /// One more wrong PIN locks the wallet, on whichever link. Only for who has just entered a wrong one.
    pub locks_next: bool,
    pub wallet: WalletStatus,
    /// Payments of this business may be confirmed now.
    pub shop_may: bool,
    pub balance_covers: bool,
    /// What the balance is short of, if it does not cover. Only for who has just entered the right PIN.
    pub missing: Money,
    /// The day's limit lets the amount out.
    pub within_daily_limit: bool,
    pub codes: LinkCodes,
    /// Top-ups of this business the customer may pay into now; filled only when the balance is too low. Others'
    /// are none of this merchant's business, who holds the link too.
    pub topups: Vec<OpenTopup>,
}

/// A top-up that waits for the customer's transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTopup {
    pub amount: Money,
    /// With it the balance covers the payment.
    pub is_enough: bool,
    /// Whose transfer it must be.
    pub payer_name: String,
    pub account_number: String,
    pub account_name: String,
    pub bank_name: String,
    pub expires_at: Timestamp,
}

/// A payment that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub order: Order,
    pub now: Timestamp,
    pub transaction_id: String,
    pub paid_at: Timestamp,
    /// The money came back later.
    pub reversed_at: Option<Timestamp>,
    /// How far the message with the receipt has come; `None` where it is kept no longer.
    pub message: Option<MessageStatus>,
}

/// A payment that was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedLink {
    pub order: Order,
    pub end: IntentEnd,
    pub now: Timestamp,
    pub at: Timestamp,
    /// The wallet is locked until then.
    pub locked_until: Option<Timestamp>,
    /// Where wrong PINs stopped the payment and a new PIN may still be set.
    pub codes: Option<LinkCodes>,
    /// Where the link has expired: top-ups of this business that were asked for before, whose account is still open.
    pub topups: Vec<OpenTopup>,
}

impl LinkView {
    /// The codes by which a PIN may be set on this page.
    pub fn codes(&self) -> Option<&LinkCodes> {
        match self {
            LinkView::Open(open) => Some(&open.codes),
            LinkView::Ended(ended) => ended.codes.as_ref(),
            LinkView::NotFound | LinkView::Paid(_) => None,
        }
    }
}

/// The intent of a link. Everything a stranger sends takes the same way.
pub(in crate::ops) async fn intent_by_token(app: &App, token: &str) -> Result<Option<Intent>, OpError> {
    let shown: String = token.chars().take(TOKEN_MAX).collect();
    let found = app.store.intent_by_token(&Vault::token_hash(&shown)).await?;
    let now = app.now();
    Ok(found.filter(|intent| intent.ended_at.is_none_or(|at| now < at + SHOWN_FOR)))
}

pub async fn view_link(app: &App, token: &str) -> Result<LinkView, OpError> {
    match intent_by_token(app, token).await? {
        Some(intent) => view(app, &intent).await,
        None => Ok(LinkView::NotFound),
    }
}

/// An intent as it stands.
pub(in crate::ops) async fn view(app: &App, intent: &Intent) -> Result<LinkView, OpError> {
    let now = app.now();
    let wallet = known_wallet(app, intent.wallet_id).await?;
    let payment = app.store.payment(intent.payment_id).await?;
    let payment =
        payment.ok_or_else(|| OpError::Fault(format!("payment {} is missing", intent.payment_id)))?;
    let business = app.directory.business(intent.business_id).await?;
    let order = Order {
        merchant: business.map(|business| business.name.clone()).unwrap_or_default(),
        amount: intent.amount,
        charges: payment.charges_on_top(),
        reference: intent.order_reference.clone(),
        summary: intent.order_summary.clone(),
        masked_phone: wallet.phone.masked(),
        is_test: wallet.phone.is_test(),
        website: shop_site(app, intent.business_id, payment.website_id).await?,
    };
    let locked_until = match wallet.status(now) {
        WalletStatus::Locked(until) => Some(until),
        WalletStatus::Active | WalletStatus::Suspended => None,
    };
    let sets_pin = intent.ended_at.is_some() && intent.may_set_pin(now) && !wallet.suspended;
    let codes = if sets_pin { Some(link_codes(app, intent, &wallet, now).await?) } else { None };
    // Who has a new PIN since needs none from here, unless wrong ones of it have locked the wallet.
    let codes = codes.filter(|codes| locked_until.is_some() || !codes.set_elsewhere);
    let is_expired = match intent.state {
        IntentState::PendingPin => !intent.is_open(now),
        _ => intent.end == Some(IntentEnd::Expired),
    };
    // Money for them may be on its way.
    let topups = match is_expired && now < intent.expires_at + TOPUPS_SHOWN_FOR {
        true => open_topups(app, intent, Money::ZERO, now).await?,
        false => Vec::new(),
    };
    let ended = |end, at| {
        LinkView::Ended(Box::new(EndedLink {
            order: order.clone(),
            end,
            now,
            at,
            locked_until,
            codes: codes.clone(),
            topups: topups.clone(),
        }))
    };
    match (intent.state, intent.end) {
        (IntentState::PendingPin, _) if intent.is_open(now) => {
            let payer_name = payment.payer_name;
            Ok(LinkView::Open(Box::new(open(app, intent, &wallet, order, payer_name, now).await?)))
        }
        // The sweep will write it down.
        (IntentState::PendingPin, _) => Ok(ended(IntentEnd::Expired, intent.expires_at)),
        (IntentState::Completed, _) => Ok(LinkView::Paid(Box::new(Receipt {
            order,
            now,
            transaction_id: payment.transaction_id,
            paid_at: payment.approved_at.unwrap_or(now),
            reversed_at: payment.reversed_at,
            message: receipt_status(app, intent, &wallet).await?,
        }))),
        (_, end) => Ok(ended(end.unwrap_or(IntentEnd::Expired), intent.ended_at.unwrap_or(now))),
    }
}

async fn receipt_status(
    app: &App,
    intent: &Intent,
    wallet: &Wallet,
) -> Result<Option<MessageStatus>, OpError> {
    let hash = phone_hash(app, &wallet.phone);
    let since = intent.ended_at.unwrap_or(intent.created_at);
    Ok(app.store.message_status(&hash, (MessageKind::Receipt, intent.id), since).await?)
}

/// The website that a payment belongs to, else the only one there is; none of a business that is switched off.
async fn shop_site(
    app: &App,
    business_id: i64,
    website_id: Option<i64>,
) -> Result<Option<ShopSite>, OpError> {
    if !app.directory.business(business_id).await?.is_some_and(|business| business.active) {
        return Ok(None);
    }
    let websites = app.directory.websites(business_id).await?;
    let mut approved = websites.iter().filter(|site| site.status == WebsiteStatus::Approved);
    let site = match (website_id, approved.next(), approved.next()) {
        (None, Some(only), None) => Some(only),
        (None, _, _) => None,
        (Some(id), _, _) => {
            websites.iter().find(|site| site.id == id && site.status == WebsiteStatus::Approved)
        }
    };
    Ok(site.and_then(|site| website_address(&site.url)).map(|(url, host)| ShopSite { url, host }))
}

async fn open(
    app: &App,
    intent: &Intent,
    wallet: &Wallet,
    order: Order,
    payer_name: String,
    now: Timestamp,
) -> Result<OpenLink, OpError> {
    let stopped = app.store.wallet_business(intent.business_id).await?;
    let missing = Money(intent.amount.0.saturating_sub(wallet.balance.0));
    let balance_covers = missing <= Money::ZERO;
    let topups = match balance_covers {
        true => Vec::new(),
        false => open_topups(app, intent, missing, now).await?,
    };
    Ok(OpenLink {
        order,
        payer_name,
        now,
        expires_at: intent.expires_at,
        has_pin: wallet.has_pin(),
        tries_left: intent.tries_left(),
        locks_next: app.store.wallet_tries(wallet.id, now - TRIES_WINDOW, now).await?.0 + 1 >= LOCK_AFTER,
        wallet: standing(app, wallet, now).await?,
        shop_may: may_confirm(app, intent.business_id, wallet, stopped.as_ref()).await?,
        balance_covers,
        missing,
        within_daily_limit: wallet.may_spend(intent.amount, limits(app, wallet), now),
        codes: link_codes(app, intent, wallet, now).await?,
        topups,
    })
}

/// Whether payments of a business may be confirmed: it is active, has the wallet, and was not stopped for wrong
/// PINs. Those that may not stay open until their time ends. A test wallet needs no more than an active business.
pub(in crate::ops) async fn may_confirm(
    app: &App,
    business_id: i64,
    wallet: &Wallet,
    tries: Option<&BusinessTries>,
) -> Result<bool, OpError> {
    let business = app.directory.business(business_id).await?;
    if wallet.phone.is_test() {
        return Ok(business.is_some_and(|business| business.active));
    }
    let is_on = business.is_some_and(|business| business.active && business.wallet_enabled);
    Ok(is_on && tries.is_none_or(|tries| tries.stopped_at.is_none()))
}

/// `missing` is what the balance is short of.
async fn open_topups(
    app: &App,
    intent: &Intent,
    missing: Money,
    now: Timestamp,
) -> Result<Vec<OpenTopup>, OpError> {
    let ids = app.store.open_topups(intent.wallet_id, intent.business_id, TOPUPS_READ).await?;
    let accounts = app.directory.accounts().await?;
    let mut topups = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(payment) = app.store.payment(id).await? else { continue };
        let account = accounts.iter().find(|account| Some(account.id) == payment.account_id);
        let is_before = payment.created_at < intent.expires_at;
        if let Some(account) = account.filter(|_| is_before && now < payment.expires_at) {
            topups.push(OpenTopup {
                amount: payment.amount,
                is_enough: payment.amount >= missing,
                payer_name: payment.payer_name.clone(),
                account_number: account.number.clone(),
                account_name: account.name.clone(),
                bank_name: account.bank_name.clone(),
                expires_at: payment.expires_at,
            });
        }
    }
    topups.sort_by_key(|topup| !topup.is_enough);
    topups.truncate(TOPUPS_SHOWN);
    Ok(topups)
}

/// What became of a cancellation.
#[derive(Debug)]
pub enum Cancelled {
    /// Done now; the view is the ended link.
    Done(LinkView),
    /// It had ended already, or was never there.
    Over(LinkView),
}

/// Ends an open payment without money.
pub async fn cancel(app: &App, token: &str) -> Result<Cancelled, OpError> {
    let Some(intent) = intent_by_token(app, token).await? else {
        return Ok(Cancelled::Over(LinkView::NotFound));
    };
    let done = intent.is_open(app.now()) && end_intent(app, &intent, IntentEnd::Cancelled).await?;
    let view = view_link(app, token).await?;
    Ok(if done { Cancelled::Done(view) } else { Cancelled::Over(view) })
}
