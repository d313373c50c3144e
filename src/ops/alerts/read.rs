//! Reads one alert, with what people ask about it, or its mail; and what waits in all.

pub use super::evidence::{Suggestion, considered_in, reasons_of};
use crate::app::App;
use crate::domain::alert::AlertRow;
use crate::domain::payment::Payment;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
pub use crate::store::tables::acts::OperatorAct;
pub use crate::store::tables::alert_totals::{AlertTotal, NAVIGATION_MAX};
pub use crate::store::tables::settlements::Settlement;

pub async fn find_alert(app: &App, id: i64) -> Result<Option<AlertRow>, OpError> {
    Ok(app.store.alert(id).await?)
}

/// The bytes of its mail; `None` once they were deleted.
pub async fn find_mail(app: &App, id: i64) -> Result<Option<Vec<u8>>, OpError> {
    Ok(app.store.mail(id).await?)
}

/// An alert with what other tables know of it.
#[derive(Clone, Debug)]
pub struct AlertDetails {
    pub alert: AlertRow,
    /// Of the payment that it funds.
    pub transaction_id: Option<String>,
    /// The alert that may have taken its money back, with which nobody has dealt yet.
    pub alarm: Option<i64>,
    /// Approved credits whose money it may have taken back, where nobody has dealt with that, and what they pay.
    pub took_back: Vec<(i64, String)>,
    /// Payments that it funded until they were reversed, the last first.
    pub reversed: Vec<ReversedPayment>,
    /// The payments that were considered, as they are now.
    pub considered: Vec<Payment>,
    /// What people did with it, newest first.
    pub acts: Vec<OperatorAct>,
}

/// What an alert funded, and why it does no more.
#[derive(Clone, Debug)]
pub struct ReversedPayment {
    pub payment: Payment,
    pub settlement: Settlement,
}

/// Payments of a decision that are looked up; it shows fewer.
const CONSIDERED_MAX: usize = 50;
/// Credits of one debit or reversal that are shown with it.
const TOOK_BACK_MAX: usize = 20;
/// Acts that are shown with their alert.
const ACTS_MAX: usize = 50;

pub async fn alert_details(app: &App, id: i64) -> Result<Option<AlertDetails>, OpError> {
    let Some(alert) = find_alert(app, id).await? else { return Ok(None) };
    let transaction_id = transaction_id(app, &alert).await?;
    let alarm = app.store.alarm_of(alert.id).await?;
    let mut took_back = Vec::new();
    for credit in app.store.alarmed_by(alert.id, TOOK_BACK_MAX).await? {
        if app.store.alarm_of(credit).await?.is_none() {
            continue;
        }
        let Some(credit) = find_alert(app, credit).await? else { continue };
        let paid = self::transaction_id(app, &credit).await?;
        took_back.extend(paid.map(|paid| (credit.id, paid)));
    }
    let mut reversed = Vec::new();
    for settlement in app.store.reversed_of_alert(alert.id).await? {
        let payment = app.store.payment(settlement.payment_id).await?;
        reversed.extend(payment.map(|payment| ReversedPayment { payment, settlement }));
    }
    let mut considered = Vec::new();
    for one in considered_in(&alert.evidence).into_iter().take(CONSIDERED_MAX) {
        considered.extend(app.store.payment_by_transaction(one.business_id, &one.transaction_id).await?);
    }
    let acts = app.store.acts(Some(&format!("alert {id}")), None, Timestamp::MIN, ACTS_MAX).await?;
    Ok(Some(AlertDetails { alert, transaction_id, alarm, took_back, reversed, considered, acts }))
}

/// The transaction id of the payment that the alert funds.
pub async fn transaction_id(app: &App, alert: &AlertRow) -> Result<Option<String>, OpError> {
    let Some(id) = alert.payment_id else { return Ok(None) };
    Ok(app.store.payment(id).await?.map(|payment| payment.transaction_id))
}

/// What a business simulated in test mode, newest first.
pub async fn simulated_alerts(app: &App, business_id: i64, limit: u32) -> Result<Vec<AlertRow>, OpError> {
    Ok(app.store.simulated_alerts(business_id, i64::from(limit)).await?)
}

/// How many alerts wait in review, counted up to [`NAVIGATION_MAX`].
pub async fn alerts_in_review(app: &App) -> Result<i64, OpError> {
    Ok(app.store.alerts_in_review().await?)
}

/// How many alerts wait, how much money, and since when, by state and direction.
pub async fn alert_totals(app: &App) -> Result<Vec<AlertTotal>, OpError> {
    Ok(app.store.alert_totals().await?)
}
