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

/// Waiting alerts read at once, oldest first, and such reads for one correction.
const WAITING_READ: usize = 100;
const READS_MAX: usize = 20;

/// Idempotent: run again, it finds nothing left to do.
pub async fn rematch(app: &App, payment_id: i64) -> Result<(), OpError> {
    let Some(payment) = app.store.payment(payment_id).await? else { return Ok(()) };
    let Some(account_id) = payment.account_id else { return Ok(()) };
    if payment.status != Status::Pending {
        return Ok(());
    }
    let low = payment.rule_bounds().map_or(payment.amount, |(low, _)| low.min(payment.amount));
    let mut since = payment.created_at;
    let mut known: Vec<i64> = Vec::new();
    for _ in 0..READS_MAX {
        let waiting = app
            .store
            .waiting_alerts((account_id, payment.business_id), (low, payment.amount), since, WAITING_READ)
            .await?;
        let (read, last) = (waiting.len(), waiting.last().map(|alert| alert.first_seen));
        for alert in waiting {
            if known.contains(&alert.id) {
                continue;
            }
            known.push(alert.id);
            if alert.authenticity.counts() && look_again(app, &alert, &payment).await? {
                return Ok(());
            }
        }
        match last.filter(|last| read >= WAITING_READ && *last > since) {
            Some(last) => since = last,
            None => return Ok(()),
        }
    }
    tracing::warn!(
        transaction_id = payment.transaction_id,
        looked_at = known.len(),
        "more alerts wait on the account than one correction looks at; approve by hand what is missing"
    );
    Ok(())
}

/// Answers whether the payment is settled now.
async fn look_again(app: &App, alert: &AlertRow, payment: &Payment) -> Result<bool, OpError> {
    let mut current = alert.clone();
    for _ in 0..RACES_MAX {
        let weighed = weigh_corrected(app, &current, Some(payment.id)).await?;
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
