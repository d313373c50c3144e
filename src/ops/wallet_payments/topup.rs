//! Starts a top-up: a receiving account for a transfer that fills a customer's wallet.
//!
//! It is chosen like a payment's and matched like one, by exact amount and name, but belongs to the
//! wallet: no charges, no merchant credited, no webhook, not in the merchant's list. What the wallet may
//! hold bounds what one business may expect; what arrives beyond it goes to review (`weigh`).

use crate::app::App;
use crate::directory::Caller;
use crate::domain::charges::{Charges, Quote, Schedule};
use crate::domain::matching::Beneficiary;
use crate::domain::money::Money;
use crate::domain::name::Folded;
use crate::domain::payment::{Kind, PayerDetails, Payment, TransferRequest};
use crate::domain::phone::Phone;
use crate::domain::wallet::Wallet;
use crate::ops::payments::create::{choose_account, fresh_transaction_id};
use crate::ops::payments::idempotency::Remember;
use crate::ops::payments::like_names::add_payment;
use crate::ops::payments::read::PaymentView;
use crate::ops::wallets::find::{find, known_wallet, limits};
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::topups;
use crate::store::{Applied, IdKind};

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
        webhook_url: String::new(),
        website_id: None,
        account_id: None,
        at: now,
        expiry: app.config.payments.expiry,
        late_window: app.config.payments.late_window,
    });
    payment.kind = Kind::Topup;
    payment.wallet_id = Some(wallet.id);
    Ok(payment)
}

/// What speaks against putting money into the wallet of a top-up without a person (contract/wallet.md#w6).
pub async fn wallet_doubt(app: &App, payment: &Payment, received: Money) -> Result<Option<String>, OpError> {
    let Beneficiary::Wallet(id) = Beneficiary::of(payment) else { return Ok(None) };
    let wallet = known_wallet(app, id).await?;
    if wallet.suspended {
        return Ok(Some("the wallet to top up is suspended".into()));
    }
    let fits = wallet.may_hold(received, Money::ZERO, limits(app, &wallet));
    Ok((!fits).then(|| "the top-up would put the wallet above the limit of its tier".into()))
}
