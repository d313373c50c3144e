//! What is done to the core, each thing by somebody who does it again until he is answered; and what he was told, which
//! must be so at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use tillbell::app::App;
use tillbell::directory::Caller;
use tillbell::domain::money::Money;
use tillbell::domain::payment::PayerDetails;
use tillbell::domain::payout::PayoutStatus;
use tillbell::domain::phone::Phone;
use tillbell::ops::OpError;
use tillbell::ops::alerts::approve::{Approve, approve_alert};
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::draft::Taken;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::ledger::seal::seal;
use tillbell::ops::payments::correct::correct_amount;
use tillbell::ops::payments::create::{Created, NewPayment, create_payment};
use tillbell::ops::payments::sweep::sweep;
use tillbell::ops::payouts::browse::{PayoutFilter, browse_payouts};
use tillbell::ops::payouts::end::{Marked, Marking, Outcome, Seat, cancel_payout, mark_payout};
use tillbell::ops::payouts::export::export_payouts;
use tillbell::ops::payouts::request::{Actor as Asker, PayoutRequest, request_payout};
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};
use tillbell::store::tables::payouts::PayoutRow;

/// The number whose wallet is topped up.
pub const WALLET: &str = "08031112299";
const REASON: &str = "the customer showed the receipt of this transfer";

/// What somebody does at a node, and does again until he is answered.
#[derive(Clone, Copy, Debug)]
pub struct Deed {
    pub what: What,
    pub node: usize,
}

/// About which order or wish, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    OfOrder(usize, OfOrder),
    OfPayout(usize, OfPayout),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfOrder {
    Ask,
    Mail,
    /// To so many naira.
    Correct(i64),
    /// Of all payments.
    Sweep,
    ByHand,
    Dismiss,
    Reverse,
    /// Of what was posted until now.
    Seal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfPayout {
    Ask,
    Cancel,
    /// Of all that wait.
    Export,
    /// Whether the bank paid it.
    Mark(Outcome),
}

/// A payment, or a top-up, as its customer knows it.
#[derive(Clone, Debug)]
pub struct Order {
    /// The shop's own; a top-up gets another one.
    pub id: String,
    pub is_topup: bool,
    pub shop: usize,
    pub naira: i64,
    pub payer: &'static str,
    pub mail: String,
    pub session: String,
}

/// A payout as its business knows it.
#[derive(Clone, Debug)]
pub struct Wish {
    pub reference: String,
    pub shop: usize,
    pub account: i64,
    pub naira: i64,
}

/// How often something was asked for, and how often it was answered that it is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    pub asked: i64,
    pub done: i64,
}

/// What those who do all this were told.
#[derive(Default)]
pub struct Told(Mutex<Words>);

#[derive(Default)]
pub struct Words {
    /// Ids of payments for which there was no account.
    pub refused: BTreeSet<String>,
    pub topups: BTreeMap<i64, Times>,
    pub payouts: BTreeMap<String, Times>,
    /// Of payouts by their numbers: how they ended.
    pub ended: BTreeMap<i64, BTreeSet<&'static str>>,
    /// Numbers of payouts, of every file that somebody has.
    pub handed_over: Vec<i64>,
}

impl Told {
    pub fn words(&self) -> MutexGuard<'_, Words> {
        self.0.lock().unwrap()
    }

    fn end(&self, row: &PayoutRow) {
        self.words().ended.entry(row.payout.id).or_default().insert(row.payout.status.as_str());
    }
}

/// A deed with everything that it needs.
pub enum Acts {
    OnOrder(OfOrder, Order, Box<Taken>),
    OnPayout(OfPayout, Wish),
}

impl Acts {
    pub fn shop(&self) -> usize {
        match self {
            Acts::OnOrder(_, order, _) => order.shop,
            Acts::OnPayout(_, wish) => wish.shop,
        }
    }
}

/// Whoever acts for a shop at a node.
pub struct Actor<'a> {
    pub app: &'a App,
    pub key: &'a str,
    pub told: &'a Told,
}

impl Actor<'_> {
    /// Done, or refused as it should be.
    pub async fn act(&self, acts: &Acts) -> Result<(), OpError> {
        match acts {
            Acts::OnOrder(what, order, taken) => self.act_on_order(*what, order, taken).await,
            Acts::OnPayout(what, wish) => self.act_on_payout(*what, wish).await,
        }
    }

    async fn caller(&self) -> Result<Caller, OpError> {
        Ok(self.app.directory.caller(self.key).await?.expect("a known key"))
    }

    async fn act_on_order(&self, what: OfOrder, order: &Order, taken: &Taken) -> Result<(), OpError> {
        let app = self.app;
        let caller = self.caller().await?;
        match what {
            OfOrder::Ask if order.is_topup => self.top_up(&caller, order).await?,
            OfOrder::Ask => {
                if !ask(app, &caller, order).await? {
                    self.told.words().refused.insert(order.id.clone());
                }
            }
            OfOrder::Mail => drop(take_alert(app, taken).await?),
            OfOrder::Correct(naira) => {
                drop(correct_amount(app, &caller, &order.id, Money(naira * 100), None).await?);
            }
            OfOrder::Sweep => drop(sweep(app).await?),
            OfOrder::Seal => drop(seal(app).await?),
            OfOrder::ByHand | OfOrder::Dismiss => {
                let waiting = app.store.alerts_by_session(None, &order.session, None, 1).await?;
                let Some(alert) = waiting.first() else { return Ok(()) };
                if what == OfOrder::Dismiss {
                    drop(dismiss_alert(app, alert.id, "test", REASON).await?);
                    return Ok(());
                }
                let ask = Approve {
                    alert_id: alert.id,
                    business_id: caller.business.id,
                    transaction_id: &order.id,
                    operator: "test",
                    despite: Some(REASON),
                    seen: None,
                };
                drop(approve_alert(app, &ask).await?);
            }
            OfOrder::Reverse => {
                let ask = Reverse {
                    business_id: caller.business.id,
                    transaction_id: &order.id,
                    reason: "it was another customer's money",
                    operator: "test",
                    undoing_alert: None,
                    despite: Some(REASON),
                };
                drop(reverse_payment(app, &ask).await?);
            }
        }
        Ok(())
    }

    async fn top_up(&self, caller: &Caller, order: &Order) -> Result<(), OpError> {
        self.told.words().topups.entry(order.naira).or_default().asked += 1;
        let phone = Phone::parse(WALLET).unwrap();
        let started =
            start_topup(self.app, caller, &phone, Money(order.naira * 100), order.payer, None).await?;
        match started {
            ToppingUp::Waiting(..) => self.told.words().topups.entry(order.naira).or_default().done += 1,
            ToppingUp::OverTier | ToppingUp::NoAccount => {}
            ToppingUp::NoWallet => panic!("{order:?}: no wallet"),
            ToppingUp::Suspended | ToppingUp::LeaseLost => panic!("{order:?}: nobody did that"),
        }
        Ok(())
    }

    async fn act_on_payout(&self, what: OfPayout, wish: &Wish) -> Result<(), OpError> {
        let app = self.app;
        let business_id = self.caller().await?.business.id;
        match what {
            OfPayout::Ask => {
                self.told.words().payouts.entry(wish.reference.clone()).or_default().asked += 1;
                let request = PayoutRequest {
                    business_id,
                    amount: Money(wish.naira * 100),
                    account_id: wish.account,
                    reference: Some(&wish.reference),
                };
                if request_payout(app, Asker::Key, &request, None).await?.is_ok() {
                    self.told.words().payouts.entry(wish.reference.clone()).or_default().done += 1;
                }
            }
            OfPayout::Export => {
                let exported = export_payouts(app, "test", false).await?.expect("nothing is held back");
                self.told.words().handed_over.extend(exported.rows.iter().map(|row| row.payout.id));
            }
            OfPayout::Cancel | OfPayout::Mark(_) => {
                let of_shop = PayoutFilter { business_id: Some(business_id), status: None };
                let all = browse_payouts(app, of_shop, None).await?.rows;
                let own = |row: &&PayoutRow| row.payout.reference.as_deref() == Some(&wish.reference);
                for row in all.iter().filter(own) {
                    self.end_payout(what, business_id, row).await?;
                }
            }
        }
        Ok(())
    }

    async fn end_payout(&self, what: OfPayout, business_id: i64, row: &PayoutRow) -> Result<(), OpError> {
        let (app, id) = (self.app, row.payout.id);
        if let OfPayout::Mark(outcome) = what {
            let reason = (outcome == Outcome::Refused).then_some("the bank sent it back");
            let marking =
                Marking { id, outcome, by: "test", seat: Seat::Desk, reference: Some("FT26-1"), reason };
            if let Ok(Marked::Ended(row)) = mark_payout(app, &marking).await? {
                self.told.end(&row);
            }
        } else if let Some(Ok(row)) = cancel_payout(app, Asker::Key, business_id, id, None).await? {
            assert_eq!(row.payout.status, PayoutStatus::Cancelled);
            self.told.end(&row);
        }
        Ok(())
    }
}

/// Whether there was an account for it.
async fn ask(app: &App, caller: &Caller, order: &Order) -> Result<bool, OpError> {
    let new = NewPayment {
        transaction_id: Some(order.id.clone()),
        base: Money(order.naira * 100),
        payer_name: order.payer.into(),
        payer: PayerDetails::default(),
        bvn: None,
        webhook_url: None,
        website: None,
        till_user_id: None,
        return_url: None,
    };
    match create_payment(app, caller, new, None).await? {
        Created::Payment(_) | Created::DuplicateTransactionId => Ok(true),
        // Both accounts hold another payment of such a name and amount.
        Created::NoAccount => Ok(false),
        other => panic!("{order:?}: {other:?}"),
    }
}
