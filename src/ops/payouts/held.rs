//! Whose money should not leave now: of a business that is disabled or owes money, because a reversal took its balance below
//! zero; of one whose credits the bank may have taken back, with which nobody has dealt yet, or that a wallet has paid whose
//! top-up may be gone so; and what would go to an account that the business has removed. What was set aside before still waits
//! in a payout, and is perhaps not there any more. Read only; a person decides.

use std::collections::HashMap;

use crate::app::App;
use crate::domain::money::Money;
use crate::domain::payment::Kind;
use crate::domain::payout::PayoutStatus;
use crate::ops::OpError;
use crate::ops::wallets::held::paid_since;
use crate::store::tables::payouts::PayoutRow;

/// Open alarms that are looked at.
const ALARMS_MAX: usize = 10_000;

/// Why the pending ones among these payouts should wait, by their ids.
pub async fn held_back(app: &App, rows: &[PayoutRow]) -> Result<HashMap<i64, String>, OpError> {
    let is_pending = |row: &&PayoutRow| row.payout.status == PayoutStatus::Pending;
    let pending: Vec<&PayoutRow> = rows.iter().filter(is_pending).collect();
    let businesses = held_businesses(app, pending.iter().map(|row| row.payout.business_id).collect()).await?;
    let why = |row: &PayoutRow| match businesses.get(&row.payout.business_id) {
        Some(why) => Some(why.clone()),
        None if row.is_account_removed => Some("the business has removed the account that it goes to".into()),
        None => None,
    };
    Ok(pending.into_iter().filter_map(|row| Some((row.payout.id, why(row)?))).collect())
}

async fn held_businesses(app: &App, mut asked: Vec<i64>) -> Result<HashMap<i64, String>, OpError> {
    let mut held = HashMap::new();
    asked.sort_unstable();
    asked.dedup();
    if asked.is_empty() {
        return Ok(held);
    }
    for alarm in app.store.open_alarms(ALARMS_MAX).await? {
        let Some(payment) = app.store.payment(alarm.payment).await? else { continue };
        // A top-up credits no business: those may have its money that the wallet has paid since.
        let (businesses, what) = match (payment.kind, payment.wallet_id) {
            (Kind::Topup, Some(wallet)) => (
                paid_since(app, wallet, payment.created_at).await?,
                "the top-up of a wallet that has paid it",
            ),
            _ => (vec![payment.business_id], "money that was credited to it"),
        };
        for id in businesses.into_iter().filter(|id| asked.contains(id)) {
            held.insert(id, format!("alert {} may have taken back {what}", alarm.undoing));
        }
    }
    for id in asked {
        let balance = app.store.balance(id).await?.unwrap_or_default();
        if balance.available < Money(0) {
            held.insert(id, "its balance is below zero, because a payment was reversed".to_owned());
        }
        if app.store.business(id).await?.is_some_and(|business| !business.active) {
            held.insert(id, "the business is disabled".to_owned());
        }
    }
    Ok(held)
}
