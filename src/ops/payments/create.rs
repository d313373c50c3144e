//! Creates a payment request: charges, a receiving account without collisions, one Unit.
//!
//! The account is chosen by reading the open payments that the same money could approve. Two
//! creates at the same moment may still collide; then an alert that fits both goes to review
//! (contract/payments.md#p28, contract/matching.md#m13), so nothing needs to be locked here.

use super::checkout::{checkout_url, fresh_link};
use super::idempotency::Remember;
use super::like_names::{LikeNamed, add_payment, add_unknown, colliding_by_rule, like_named};
use super::read::PaymentView;
use crate::app::App;
use crate::directory::Caller;
use crate::domain::account::{Collision, ReceivingAccount, choose};
use crate::domain::charges::{Quote, Schedule, quote};
use crate::domain::matching::Beneficiary;
use crate::domain::merchant::{Mode, Website};
use crate::domain::money::Money;
use crate::domain::name::Folded;
use crate::domain::payment::{Kind, PayerDetails, Payment, TransferRequest};
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::merchants::test_bank;
use crate::store::{Applied, IdKind, Step};

/// Accounts that are chosen anew because the name rule found there what the index had not.
const CHOICES_MAX: usize = 20;
/// Prefix of transaction ids that tillbell makes.
const TRANSACTION_PREFIX: &str = "TXN-";

/// A valid request; the caller's website has been chosen and checked.
#[derive(Clone, Debug)]
pub struct NewPayment {
    pub transaction_id: Option<String>,
    /// What the merchant asks for, before charges.
    pub base: Money,
    pub payer_name: String,
    pub payer: PayerDetails,
    pub bvn: Option<String>,
    /// `None`: the event goes to the business's own address, or is kept where there is none.
    pub webhook_url: Option<String>,
    pub website: Option<Website>,
    /// Who asks at the till of the shop.
    pub till_user_id: Option<i64>,
    /// Where the checkout page leads afterwards; has been checked too.
    pub return_url: Option<String>,
}

/// What became of the request.
#[derive(Debug)]
pub enum Created {
    Payment(Box<PaymentView>),
    DuplicateTransactionId,
    /// Every account collides with another business, or there is none.
    NoAccount,
    /// The amount with charges on top exceeds the largest amount.
    TooLarge,
    /// The idempotency key's lease ran out while this request was at work.
    LeaseLost,
}

pub async fn create_payment(
    app: &App,
    caller: &Caller,
    new: NewPayment,
    remember: Option<&Remember<'_>>,
) -> Result<Created, OpError> {
    create_noted(app, caller, new, remember, |_| None).await
}

/// The same with a step that notes who made it.
pub(super) async fn create_noted(
    app: &App,
    caller: &Caller,
    new: NewPayment,
    remember: Option<&Remember<'_>>,
    noted: impl FnOnce(&Payment) -> Option<Step>,
) -> Result<Created, OpError> {
    let now = app.now();
    let Some(mut payment) = draft(app, caller, &new, now).await? else { return Ok(Created::TooLarge) };
    let payer = Folded::new(&payment.payer_name);
    let Some(account) = choose_account(app, &payment, &payer).await? else { return Ok(Created::NoAccount) };
    payment.account_id = Some(account.id);
    if new.transaction_id.is_some()
        && app.store.payment_by_transaction(payment.business_id, &payment.transaction_id).await?.is_some()
    {
        return Ok(Created::DuplicateTransactionId);
    }
    let bvn = match &new.bvn {
        Some(bvn) => Some(app.vault.seal(
            &format!("payments/{}/bvn", payment.id),
            bvn.as_bytes(),
            app.random.as_ref(),
        )?),
        None => None,
    };
    let unit = app.store.unit(payment.business_id).await?.steps(add_payment(&payment, &payer, bvn));
    let unit = unit.steps(noted(&payment));
    let account_id = account.id;
    let checkout_url = checkout_url(app, &payment);
    let view = PaymentView { payment, account: Some(account), website: new.website, checkout_url };
    let unit = unit.steps(remember.map(|remember| remember.step(&view)));
    match app.store.apply(unit).await? {
        Applied::Done(_) => {
            app.directory.touch_account(account_id, now);
            Ok(Created::Payment(Box::new(view)))
        }
        Applied::ConstraintViolation { .. } => Ok(Created::DuplicateTransactionId),
        Applied::Conflict { .. } => Ok(Created::LeaseLost),
    }
}

/// `None` if what the customer would be asked for is more than the largest amount.
pub(in crate::ops) fn quote_within(app: &App, base: Money, schedule: &Schedule) -> Option<Quote> {
    quote(base, schedule).filter(|quote| quote.amount <= app.config.payments.max_amount)
}

async fn draft(
    app: &App,
    caller: &Caller,
    new: &NewPayment,
    now: Timestamp,
) -> Result<Option<Payment>, OpError> {
    let schedule: Schedule =
        new.website.as_ref().and_then(|site| site.schedule).unwrap_or(caller.business.schedule);
    let Some(quote) = quote_within(app, new.base, &schedule) else { return Ok(None) };
    let id = app.store.id(IdKind::Payment).await?;
    Ok(Some(Payment::requested(TransferRequest {
        id,
        business_id: caller.business.id,
        transaction_id: match &new.transaction_id {
            Some(id) => id.clone(),
            None => fresh_transaction_id(app, now),
        },
        mode: caller.mode,
        quote,
        schedule,
        payer_name: new.payer_name.clone(),
        payer: new.payer.clone(),
        webhook_url: new.webhook_url.clone(),
        website_id: new.website.as_ref().map(|site| site.id),
        account_id: None,
        till_user_id: new.till_user_id,
        link: Some(fresh_link(app, id, new.return_url.clone())),
        at: now,
        expiry: app.config.payments.expiry,
        late_window: app.config.payments.late_window,
    })))
}

/// `TXN-` and a ULID: 48 bits of milliseconds, 80 random bits, Crockford's base 32.
pub(in crate::ops) fn fresh_transaction_id(app: &App, now: Timestamp) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let mut random = [0u8; 16];
    app.random.fill(&mut random[6..]);
    let millis = u128::try_from(now.0 / 1000).unwrap_or(0);
    let value = (millis << 80) | u128::from_be_bytes(random);
    let mut text = String::with_capacity(TRANSACTION_PREFIX.len() + 26);
    text.push_str(TRANSACTION_PREFIX);
    for place in (0..26).rev() {
        text.push(char::from(ALPHABET[(value >> (place * 5)) as usize & 31]));
    }
    text
}

fn collisions_with(colliding: &[Payment]) -> Vec<Collision> {
    let collision = |other: &Payment| {
        let (beneficiary, created_at) = (Beneficiary::of(other), other.created_at);
        let business_id = other.business_id;
        Some(Collision { account_id: other.account_id?, beneficiary, business_id, created_at })
    };
    colliding.iter().filter_map(collision).collect()
}

pub(in crate::ops) async fn choose_account(
    app: &App,
    payment: &Payment,
    payer: &Folded,
) -> Result<Option<ReceivingAccount>, OpError> {
    let all = app.directory.accounts().await?;
    let usable = |account: &&ReceivingAccount| account.retired_at.is_none() && account.mode == payment.mode;
    let registered = |account: &&ReceivingAccount| usable(account) && !account.is_of_test_bank();
    let is_transfer = payment.kind == Kind::Transfer;
    if let Some(id) = app.directory.repeated(payment).filter(|_| is_transfer)
        && let Some(account) = all.iter().find(|account| account.id == id).filter(usable)
    {
        return Ok(Some(account.clone()));
    }
    let dedicated: Vec<i64> = all
        .iter()
        .filter(registered)
        .filter(|account| account.business_id == Some(payment.business_id))
        .map(|account| account.id)
        .collect();
    let shared = dedicated.is_empty();
    let pool = if shared {
        all.iter().filter(registered).filter(|account| account.business_id.is_none()).map(|a| a.id).collect()
    } else {
        dedicated
    };
    let pool = app.directory.least_recently_used(pool);
    if let Some(id) = choose_among(app, payment, payer, &pool, shared).await? {
        return Ok(all.iter().find(|account| account.id == id).cloned());
    }
    if payment.mode == Mode::Live {
        return Ok(None);
    }
    // Test mode needs no operator: where no account is registered for it, the test bank has one.
    let Some(own) = test_bank::account_of(app, payment.business_id).await? else { return Ok(None) };
    let chosen = choose_among(app, payment, payer, &[own.id], false).await?;
    Ok(chosen.map(|_| own))
}

/// One of the accounts of a pool, least recently used first.
async fn choose_among(
    app: &App,
    payment: &Payment,
    payer: &Folded,
    pool: &[i64],
    shared: bool,
) -> Result<Option<i64>, OpError> {
    if pool.is_empty() {
        return Ok(None);
    }
    let is_transfer = payment.kind == Kind::Transfer;
    let LikeNamed { mut colliding, crowded } = like_named(app, payment, payer, None).await?;
    let mut choices = 0;
    let (chosen, collisions) = loop {
        let collisions = collisions_with(&colliding);
        let chosen = choose(pool, shared, &collisions, &crowded, Beneficiary::of(payment));
        let Some(id) = chosen.filter(|_| choices < CHOICES_MAX) else { break (chosen, collisions) };
        let known = colliding.len();
        add_unknown(&mut colliding, colliding_by_rule(app, payment, payer, id).await?);
        if colliding.len() == known {
            break (chosen, collisions);
        }
        choices += 1;
    };
    if let Some(id) = chosen.filter(|_| is_transfer)
        && collisions.iter().any(|c| c.account_id == id)
    {
        app.directory.note_repeat(payment, id);
    }
    Ok(chosen)
}
