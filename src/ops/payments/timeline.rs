//! One payment as its merchant sees it: what was asked, what came and from whom, what it did to the balance, what was
//! told to the merchant's programs. Read only. Of an alert it shows what the bank said of this payment's money, never of
//! others'.

use super::read::{PaymentHistory, payment_history};
use crate::app::App;
use crate::domain::alert::{Authenticity, BankTime};
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::payment::Kind;
use crate::ops::OpError;
pub use crate::store::tables::corrections::Correction;
pub use crate::store::tables::settlements::Settlement;

/// Corrections that are shown; a payment may have ten a day.
const CORRECTIONS_SHOWN: usize = 50;

#[derive(Clone, Debug)]
pub struct PaymentTimeline {
    pub history: PaymentHistory,
    /// Oldest first.
    pub corrections: Vec<Correction>,
    /// Of the settlements that a bank's alert funded, in their order.
    pub credits: Vec<Credit>,
}

/// What a bank said of money that came for the payment.
#[derive(Clone, Debug, PartialEq)]
pub struct Credit {
    pub settlement_id: i64,
    pub payer_name: Option<String>,
    pub payer_bank: Option<String>,
    pub amount: Option<Money>,
    pub occurred: Option<BankTime>,
    pub narration: Option<String>,
    pub authenticity: Authenticity,
}

impl Credit {
    /// Whether the bank itself signed what it said, rather than a person vouched for it.
    pub fn is_proven(&self) -> bool {
        self.authenticity == Authenticity::Proven
    }
}

/// A payment of the business in a mode; `None` for unknown ids, top-ups of wallets, and another business's.
pub async fn payment_timeline(
    app: &App,
    business_id: i64,
    mode: Option<Mode>,
    transaction_id: &str,
) -> Result<Option<PaymentTimeline>, OpError> {
    let Some(history) = payment_history(app, business_id, transaction_id).await? else { return Ok(None) };
    let payment = &history.view.payment;
    if payment.kind == Kind::Topup || mode.is_some_and(|mode| mode != payment.mode) {
        return Ok(None);
    }
    let corrections = app.store.corrections_of(payment.id, CORRECTIONS_SHOWN).await?;
    let mut credits = Vec::new();
    for settlement in &history.settlements {
        let Some(alert_id) = settlement.alert_id else { continue };
        let Some(alert) = app.store.alert(alert_id).await? else { continue };
        let facts = alert.facts;
        credits.push(Credit {
            settlement_id: settlement.id,
            payer_name: facts.payer_name,
            payer_bank: facts.payer_bank,
            amount: facts.amount,
            occurred: facts.occurred,
            narration: facts.narration,
            authenticity: alert.authenticity,
        });
    }
    Ok(Some(PaymentTimeline { history, corrections, credits }))
}
