//! Reads one alert, with what people ask about it, or its mail; and what waits in all.

use crate::app::App;
use crate::domain::alert::AlertRow;
use crate::ops::OpError;
pub use crate::store::tables::alert_totals::AlertTotal;

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
}

pub async fn alert_details(app: &App, id: i64) -> Result<Option<AlertDetails>, OpError> {
    let Some(alert) = find_alert(app, id).await? else { return Ok(None) };
    let transaction_id = transaction_id(app, &alert).await?;
    let alarm = app.store.alarm_of(alert.id).await?;
    Ok(Some(AlertDetails { alert, transaction_id, alarm }))
}

/// The transaction id of the payment that the alert funds.
pub async fn transaction_id(app: &App, alert: &AlertRow) -> Result<Option<String>, OpError> {
    let Some(id) = alert.payment_id else { return Ok(None) };
    Ok(app.store.payment(id).await?.map(|payment| payment.transaction_id))
}

/// How many alerts wait, how much money, and since when, by state and direction.
pub async fn alert_totals(app: &App) -> Result<Vec<AlertTotal>, OpError> {
    Ok(app.store.alert_totals().await?)
}
