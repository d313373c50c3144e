//! Starts a top-up: a receiving account for a transfer that fills a customer's wallet.
//!
//! It is chosen like a payment's and matched like one, by exact amount and name, but belongs to the
//! wallet: no charges, no merchant credited, no webhook, not in the merchant's list. What the wallet may
//! hold bounds what one business may expect; what arrives beyond it goes to review (`weigh`), and
//! the customer is told so.

use crate::app::App;
use crate::directory::Caller;
use crate::domain::charges::{Charges, Quote, Schedule};
use crate::domain::matching::Beneficiary;
use crate::domain::message::MessageKind;
use crate::domain::money::Money;
use crate::domain::name::Folded;
use crate::domain::payment::{Kind, PayerDetails, Payment, TransferRequest};
use crate::domain::phone::Phone;
use crate::domain::wallet::Wallet;
use crate::ops::messages::outbox::{self, By, NOTES_VALID, Note};
use crate::ops::payments::create::{choose_account, fresh_transaction_id};
use crate::ops::payments::idempotency::Remember;
use crate::ops::payments::like_names::add_payment;
use crate::ops::payments::read::PaymentView;
use crate::ops::wallets::find::{find, known_wallet, limits};
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::topups;
use crate::store::{Applied, IdKind, Step};

/// Nothing is charged for a top-up.
const FREE: Schedule =
    Schedule { rate: 0, fixed: Money::ZERO, cap: None, paid_by_customer: false, enabled: false };

/// What became of the request.
#[derive(Debug)]
pub enum ToppingUp {
    Waiting(Box<PaymentView>, Box<Wallet>),
    NoWallet,
    Suspended,
    /// Balance, this business's expected top-ups and the amount exceed what the tier may hold.
    OverTier,
    /// Every account collides, or there is none.
    NoAccount,
    /// The idempotency key's lease ran out while this request was at work.
    LeaseLost,
}

pub async fn start_topup(
    app: &App,
    caller: &Caller,
    phone: &Phone,
    amount: Money,
    payer_name: &str,
    remember: Option<&Remember<'_>>,
) -> Result<ToppingUp, OpError> {
    for _ in 0..RACES_MAX {
        let Some(wallet) = find(app, phone).await? else { return Ok(ToppingUp::NoWallet) };
        if wallet.suspended {
            return Ok(ToppingUp::Suspended);
        }
        if let Some(end) = ask(app, caller, wallet, amount, payer_name, remember).await? {
            return Ok(end);
        }
    }
    Err(OpError::Contended)
}

/// `None`: the wallet's balance rose, or the business asked for another top-up, while this was decided.
async fn ask(
    app: &App,
    caller: &Caller,
    wallet: Wallet,
    amount: Money,
    payer_name: &str,
    remember: Option<&Remember<'_>>,
) -> Result<Option<ToppingUp>, OpError> {
    // Others' do not count: one merchant's would keep the customer from topping up anywhere else. What arrives
    // beyond the tier goes to review.
    let room = app.store.topup_room(wallet.id, caller.business.id).await?;
    let room = room.ok_or_else(|| OpError::Fault(format!("wallet {} is missing", wallet.id)))?;
    let wallet = Wallet { balance: room.balance, ..wallet };
    let most = limits(app, &wallet);
    if !wallet.may_hold(amount, room.expected, most) {
        return Ok(Some(ToppingUp::OverTier));
    }
    let payment = requested(app, caller, &wallet, amount, payer_name).await?;
    let now = payment.created_at;
    let payer = Folded::new(payer_name);
    let Some(account) = choose_account(app, &payment, &payer).await? else {
        return Ok(Some(ToppingUp::NoAccount));
    };
    let payment = Payment { account_id: Some(account.id), ..payment };
    let mut unit = app.store.unit(payment.business_id).await?.steps(add_payment(&payment, &payer, None));
    if let Some(most) = most.balance {
        unit = unit.steps(topups::count_topup(wallet.id, caller.business.id, amount, &room, most));
    }
    let account_id = account.id;
    let view = PaymentView { payment, account: Some(account), website: None };
    if let Some(remember) = remember {
        unit = unit.step(remember.step(&view));
    }
    match app.store.apply(unit).await? {
        Applied::Done(_) => {
            app.directory.touch_account(account_id, now);
            Ok(Some(ToppingUp::Waiting(Box::new(view), Box::new(wallet))))
        }
        Applied::Conflict { statement } if topups::is_count(statement) => Ok(None),
        Applied::Conflict { .. } => Ok(Some(ToppingUp::LeaseLost)),
        Applied::ConstraintViolation { statement } => {
            Err(OpError::Fault(format!("the database refused {statement}")))
        }
    }
}

/// The top-up as a payment, still without an account.
async fn requested(
    app: &App,
    caller: &Caller,
    wallet: &Wallet,
    amount: Money,
    payer_name: &str,
) -> Result<Payment, OpError> {
    let now = app.now();
    let mut payment = Payment::requested(TransferRequest {
        id: app.store.id(IdKind::Payment).await?,
        business_id: caller.business.id,
        transaction_id: fresh_transaction_id(app, now),
        mode: caller.mode,
        quote: Quote { amount, charges: Charges::default(), business_receives: amount },
        schedule: FREE,
        payer_name: payer_name.to_owned(),
        payer: PayerDetails::default(),
        webhook_url: None,
        website_id: None,
        account_id: None,
        till_user_id: None,
        at: now,
        expiry: app.config.payments.expiry,
        late_window: app.config.payments.late_window,
    });
    payment.kind = Kind::Topup;
    payment.wallet_id = Some(wallet.id);
    Ok(payment)
}

/// What speaks against putting money into the wallet of a top-up without a person (contract/wallet.md#w6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalletDoubt {
    #[error("the wallet to top up is suspended")]
    Suspended,
    #[error("the top-up would put the wallet above the limit of its tier")]
    OverTier,
}

/// A top-up whose money waits for a person, by nothing but its wallet.
#[derive(Clone, Copy, Debug)]
pub struct HeldTopup {
    pub payment_id: i64,
    /// Of the merchant that asked for it.
    pub business_id: i64,
    pub wallet_id: i64,
    pub doubt: WalletDoubt,
}

/// `None`: it is no top-up, or its wallet may take the money.
pub async fn held_topup(app: &App, payment: &Payment, received: Money) -> Result<Option<HeldTopup>, OpError> {
    let Beneficiary::Wallet(wallet_id) = Beneficiary::of(payment) else { return Ok(None) };
    let wallet = known_wallet(app, wallet_id).await?;
    let fits = || wallet.may_hold(received, Money::ZERO, limits(app, &wallet));
    let doubt = match wallet.suspended {
        true => Some(WalletDoubt::Suspended),
        false => (!fits()).then_some(WalletDoubt::OverTier),
    };
    let (payment_id, business_id) = (payment.id, payment.business_id);
    Ok(doubt.map(|doubt| HeldTopup { payment_id, business_id, wallet_id, doubt }))
}

/// The same in words.
pub async fn wallet_doubt(app: &App, payment: &Payment, received: Money) -> Result<Option<String>, OpError> {
    Ok(held_topup(app, payment, received).await?.map(|held| held.doubt.to_string()))
}

/// Tells the customer of money that waits: they sent it, and see no balance.
pub async fn tell_held(app: &App, held: &HeldTopup) -> Result<Vec<Step>, OpError> {
    let kind = match held.doubt {
        WalletDoubt::Suspended => MessageKind::TopupSuspended,
        WalletDoubt::OverTier => MessageKind::TopupOverLimit,
    };
    tell_of_topup(app, kind, held.wallet_id, (held.business_id, held.payment_id)).await
}

/// Tells the customer that the money of a top-up was taken out of the wallet again.
pub async fn tell_reversed(app: &App, wallet_id: i64, payment: &Payment) -> Result<Vec<Step>, OpError> {
    let about = (payment.business_id, payment.id);
    tell_of_topup(app, MessageKind::TopupReversed, wallet_id, about).await
}

async fn tell_of_topup(
    app: &App,
    kind: MessageKind,
    wallet_id: i64,
    (business_id, payment_id): (i64, i64),
) -> Result<Vec<Step>, OpError> {
    let wallet = known_wallet(app, wallet_id).await?;
    let note = Note {
        to: &wallet.phone,
        business_id: Some(business_id),
        wallet_id: Some(wallet_id),
        kind,
        subject_id: payment_id,
        text: None,
        valid_until: app.now() + NOTES_VALID,
    };
    Ok(outbox::compose(app, &note, By::Workers).await?.steps)
}
