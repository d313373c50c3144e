//! After a correction: looks again at the alerts that wait on the payment's own account.
//!
//! A corrected payment takes a waiting alert only if the alert came after the payment was created
//! and nobody else's payment on that account bears a name like the alert's (contract/matching.md#m18): a
//! merchant must not fish for other people's money by correcting amounts.

use super::decide::conclude;
use super::weigh_corrected::weigh_corrected;
use crate::app::App;
use crate::domain::alert::AlertRow;
use crate::domain::matching::Verdicts;
use crate::domain::payment::{Payment, Status};
use crate::ops::{OpError, RACES_MAX};

/// Waiting alerts looked at for one correction, oldest first.
const WAITING_MAX: usize = 100;

/// Idempotent: run again, it finds nothing left to do.
pub async fn rematch(app: &App, payment_id: i64) -> Result<(), OpError> {
    let Some(payment) = app.store.payment(payment_id).await? else { return Ok(()) };
    let Some(account_id) = payment.account_id else { return Ok(()) };
    if payment.status != Status::Pending {
        return Ok(());
    }
    let low = payment.rule_bounds().map_or(payment.amount, |(low, _)| low.min(payment.amount));
    let waiting =
        app.store.waiting_alerts(account_id, (low, payment.amount), payment.created_at, WAITING_MAX).await?;
    for alert in waiting {
        if alert.authenticity.counts() && look_again(app, &alert, &payment).await? {
            return Ok(());
        }
    }
    Ok(())
}

/// Answers whether the payment is settled now.
async fn look_again(app: &App, alert: &AlertRow, payment: &Payment) -> Result<bool, OpError> {
    let mut current = alert.clone();
    for _ in 0..RACES_MAX {
        let weighed = weigh_corrected(app, &current, |_| true).await?;
        let settles = matches!(weighed.decision.verdict, Verdicts::Approve { payment_id, .. } if payment_id == payment.id);
        if conclude(app, &current, &weighed).await? {
            return Ok(settles);
        }
        match app.store.alert(current.id).await? {
            Some(fresh) if fresh.status.is_waiting() => current = fresh,
            _ => return Ok(false),
        }
    }
    Err(OpError::Contended)
}
