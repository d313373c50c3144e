//! What the checkout page of a payment shows its payer: what to pay and where, and how it stands
//! (docs/decisions/0079-the-checkout-page.md).
//!
//! Reads only. The token is all a caller has: one that was never made, one whose payment is long over and one of another
//! kind of link are told apart by nothing. The link may be in a stranger's hands, so what is here is what the merchant
//! gave of the payer, the name, and nothing of whose money came.

use subtle::ConstantTimeEq;

use super::choose_website::{Judged, judge_webhook};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::arrival::ArrivalKind;
use crate::domain::merchant::{Website, WebsiteStatus};
use crate::domain::money::Money;
use crate::domain::payment::{CheckoutLink, Kind, Payment, Status};
use crate::domain::time::{Span, Timestamp};
use crate::domain::weburl::{UrlProblem, is_dev_host, parse_target, with_query};
use crate::ops::OpError;
use crate::vault::Vault;
use crate::vault::link::nonce;

/// So long after its end a payment's page is shown; then its link is like one that never was.
pub const SHOWN_FOR: Span = Span::days(30);
/// A longer text is no token of ours; it is not even hashed whole.
const TOKEN_MAX: usize = 200;
/// Payments whose links share the number by which they are found: by chance there are never two.
const ALIKE_MAX: i64 = 4;
/// Websites that may frame a page; a policy is a header.
const FRAMES_MAX: usize = 50;

/// How a payment stands for whoever pays it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckoutView {
    Waiting,
    Paid,
    /// Money came for it after its time.
    Late,
    TooLittle,
    TooMuch,
    /// Money of its amount came under another name.
    OtherName,
    Expired,
    /// By a person; or the money that had paid it was taken back.
    Rejected,
}

impl CheckoutView {
    pub const ALL: [CheckoutView; 8] = [
        CheckoutView::Waiting,
        CheckoutView::Paid,
        CheckoutView::Late,
        CheckoutView::TooLittle,
        CheckoutView::TooMuch,
        CheckoutView::OtherName,
        CheckoutView::Expired,
        CheckoutView::Rejected,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            CheckoutView::Waiting => "waiting",
            CheckoutView::Paid => "paid",
            CheckoutView::Late => "late",
            CheckoutView::TooLittle => "too_little",
            CheckoutView::TooMuch => "too_much",
            CheckoutView::OtherName => "other_name",
            CheckoutView::Expired => "expired",
            CheckoutView::Rejected => "rejected",
        }
    }

    /// The account may be shown: nobody is to pay again what was paid, nor what has ended.
    fn asks_for_money(self, payment: &Payment, now: Timestamp) -> bool {
        match self {
            CheckoutView::Waiting => true,
            // It may be somebody else's, and then the payer has not paid yet.
            CheckoutView::OtherName => payment.status == Status::Pending && !payment.is_expired(now),
            _ => false,
        }
    }
}

/// What a stream and `/state` tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckoutState {
    pub status: &'static str,
    pub view: CheckoutView,
    pub expires_at: Timestamp,
    /// Of the payment: with another one the page may show something else though these words are the same.
    pub version: i64,
    /// It changes by itself then.
    pub turns_at: Option<Timestamp>,
}

/// The whole page.
#[derive(Clone, Debug)]
pub struct Checkout {
    pub payment_id: i64,
    pub merchant: String,
    /// What the payer knows the shop by.
    pub site: Option<String>,
    pub transaction_id: String,
    pub amount: Money,
    /// What of it are charges, where the customer pays them.
    pub charges: Option<Money>,
    pub payer_name: String,
    pub is_test: bool,
    /// It fills a wallet of the payer's.
    pub is_topup: bool,
    pub state: CheckoutState,
    pub now: Timestamp,
    /// Where to pay, while that may be done.
    pub account: Option<ReceivingAccount>,
    /// What came and when, of one that is paid.
    pub paid: Option<(Money, Timestamp)>,
    pub is_reversed: bool,
    /// Where the page leads afterwards: the address that was given, with what became of it.
    pub back: Option<String>,
    /// Hosts that may frame it, with those below them.
    pub frames: Vec<String>,
}

/// What the link of a new payment is made of.
pub fn fresh_link(app: &App, payment_id: i64, return_url: Option<String>) -> CheckoutLink {
    let nonce = nonce(app.random.as_ref());
    let key = key_of(&app.vault.checkout_token(payment_id, &nonce));
    CheckoutLink { nonce, key, return_url }
}

/// The address of a payment's page; a payment from a wallet has none.
pub fn checkout_url(app: &App, payment: &Payment) -> Option<String> {
    let link = payment.link.as_ref()?;
    let token = app.vault.checkout_token(payment.id, &link.nonce);
    Some(format!("{}/c/{}", app.public_url(), token.as_str()))
}

/// Under what the payment of a token is found; the token itself is kept nowhere.
fn key_of(token: &str) -> i64 {
    let hash = Vault::token_hash(token);
    hash.iter().take(8).fold(0_i64, |key, byte| (key << 8) | i64::from(*byte))
}

/// Looks at an address that payers are to be led to: of an approved website, as it is taken in for webhooks, and over
/// HTTPS, but in dev mode on this machine.
pub fn judge_return_url<'a>(websites: &'a [Website], url: &str, dev: bool) -> Judged<'a> {
    let judged = judge_webhook(websites, url, dev);
    let is_open =
        |target: &crate::domain::weburl::TargetUrl| !target.is_https() && !is_dev_host(target.host());
    match (judged, parse_target(url, dev)) {
        (Judged::Good(Some(_)), Ok(target)) if is_open(&target) => not_allowed(vec![HTTPS]),
        (Judged::Good(None), _) => off_domain(),
        (judged, _) => judged,
    }
}

const HTTPS: &str = "must use https";

fn not_allowed(reasons: Vec<&'static str>) -> Judged<'static> {
    Judged::NotAllowed(super::choose_website::NotAllowed { off_domain: false, reasons })
}

fn off_domain() -> Judged<'static> {
    Judged::NotAllowed(super::choose_website::NotAllowed { off_domain: true, reasons: Vec::new() })
}

/// The same address as it is kept.
pub fn kept_return_url(url: &str, dev: bool) -> Result<String, UrlProblem> {
    parse_target(url, dev).map(|target| target.as_str().to_owned())
}

/// The payment of a link. Everything a stranger sends takes the same way.
async fn payment_of(app: &App, token: &str) -> Result<Option<Payment>, OpError> {
    let shown: String = token.chars().take(TOKEN_MAX).collect();
    let found = app.store.payments_by_link(key_of(&shown), ALIKE_MAX).await?;
    let is_its = |payment: &Payment| {
        payment.link.as_ref().is_some_and(|link| {
            let own = app.vault.checkout_token(payment.id, &link.nonce);
            own.as_bytes().ct_eq(shown.as_bytes()).into()
        })
    };
    let now = app.now();
    Ok(found.into_iter().find(is_its).filter(|payment| is_shown(payment, now)))
}

fn is_shown(payment: &Payment, now: Timestamp) -> bool {
    let ended = [payment.approved_at, payment.rejected_at, payment.reversed_at].into_iter().flatten().max();
    payment.kind != Kind::Wallet && ended.is_none_or(|at| now < at + SHOWN_FOR)
}

/// The id of a link's payment, for who is going to watch it.
pub async fn watched_payment(app: &App, token: &str) -> Result<Option<i64>, OpError> {
    Ok(payment_of(app, token).await?.map(|payment| payment.id))
}

/// How the payment of a link stands.
pub async fn state_by_token(app: &App, token: &str) -> Result<Option<CheckoutState>, OpError> {
    match payment_of(app, token).await? {
        Some(payment) => Ok(Some(state(app, &payment).await?)),
        None => Ok(None),
    }
}

/// How a payment that is watched stands; `None` when its page is shown no more.
pub async fn state_of(app: &App, payment_id: i64) -> Result<Option<CheckoutState>, OpError> {
    let found = app.store.payment(payment_id).await?;
    let now = app.now();
    match found.filter(|payment| is_shown(payment, now)) {
        Some(payment) => Ok(Some(state(app, &payment).await?)),
        None => Ok(None),
    }
}

async fn state(app: &App, payment: &Payment) -> Result<CheckoutState, OpError> {
    let now = app.now();
    let came = match payment.status {
        Status::Approved => Vec::new(),
        Status::Pending | Status::Rejected => {
            let open = app.store.open_arrivals(payment.id).await?;
            open.iter().map(|arrival| arrival.kind_now(payment)).collect()
        }
    };
    let is_open = payment.status == Status::Pending && !payment.is_expired(now);
    Ok(CheckoutState {
        status: payment.status.as_str(),
        view: view(payment, &came, now),
        expires_at: payment.expires_at,
        version: payment.version,
        turns_at: is_open.then_some(payment.expires_at),
    })
}

/// What is told of several at once: the name that fits tells more than one that does not.
fn view(payment: &Payment, came: &[ArrivalKind], now: Timestamp) -> CheckoutView {
    match payment.status {
        Status::Approved if payment.reversed_at.is_some() => return CheckoutView::Rejected,
        Status::Approved => return CheckoutView::Paid,
        // A person ended it, whatever came.
        Status::Rejected if !payment.swept => return CheckoutView::Rejected,
        Status::Pending | Status::Rejected => {}
    }
    const TOLD: [(ArrivalKind, CheckoutView); 4] = [
        (ArrivalKind::Late, CheckoutView::Late),
        (ArrivalKind::TooMuch, CheckoutView::TooMuch),
        (ArrivalKind::TooLittle, CheckoutView::TooLittle),
        (ArrivalKind::OtherName, CheckoutView::OtherName),
    ];
    let told = TOLD.into_iter().find(|(kind, _)| came.contains(kind));
    match told {
        Some((_, view)) => view,
        None if payment.status == Status::Pending && !payment.is_expired(now) => CheckoutView::Waiting,
        None => CheckoutView::Expired,
    }
}

/// The page of a link.
pub async fn open_checkout(app: &App, token: &str) -> Result<Option<Checkout>, OpError> {
    let Some(payment) = payment_of(app, token).await? else { return Ok(None) };
    let state = state(app, &payment).await?;
    let now = app.now();
    let business = app.directory.business(payment.business_id).await?;
    let sites = app.directory.websites(payment.business_id).await?;
    let accounts = app.directory.accounts().await?;
    let account = accounts.iter().find(|account| Some(account.id) == payment.account_id);
    let approved = || sites.iter().filter(|site| site.status == WebsiteStatus::Approved);
    let own_site = approved().find(|site| Some(site.id) == payment.website_id);
    let paid = payment.received.zip(payment.approved_at).filter(|_| state.view == CheckoutView::Paid);
    Ok(Some(Checkout {
        payment_id: payment.id,
        merchant: business.map(|business| business.name.clone()).unwrap_or_default(),
        site: own_site.map(|site| site.host.clone()),
        amount: payment.amount,
        charges: payment.charges_on_top(),
        payer_name: payment.payer_name.clone(),
        is_test: payment.mode == crate::domain::merchant::Mode::Test,
        is_topup: payment.kind == Kind::Topup,
        account: account.filter(|_| state.view.asks_for_money(&payment, now)).cloned(),
        paid,
        is_reversed: payment.reversed_at.is_some(),
        back: back(app, &sites, &payment, state.view),
        frames: approved().take(FRAMES_MAX).map(|site| site.host.clone()).collect(),
        transaction_id: payment.transaction_id,
        state,
        now,
    }))
}

/// The way back, if the website is still approved: an address that was somebody's once may be anybody's now.
fn back(app: &App, sites: &[Website], payment: &Payment, view: CheckoutView) -> Option<String> {
    let url = payment.link.as_ref()?.return_url.as_deref()?;
    let dev = app.config.server.dev;
    if !matches!(judge_return_url(sites, url, dev), Judged::Good(Some(_))) {
        return None;
    }
    // What was taken back is no more approved than what was rejected.
    let status = match view {
        CheckoutView::Rejected => Status::Rejected.as_str(),
        _ => payment.status.as_str(),
    };
    with_query(url, &[("transaction_id", &payment.transaction_id), ("status", status)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_first_half_of_a_quarter_of_the_hash() {
        assert_ne!(key_of("a"), key_of("b"));
        let hash = Vault::token_hash("a");
        let first: [u8; 8] = hash[..8].try_into().unwrap();
        assert_eq!(key_of("a"), i64::from_be_bytes(first));
    }
}
