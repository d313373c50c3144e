//! After a correction: looks again at the alerts that wait on the payment's own account.
//!
//! A corrected payment takes a waiting alert only if the alert came after the payment was created
//! and nobody else's payment on that account bears a name like the alert's (decisions 6.6): a
//! merchant must not fish for other people's money by correcting amounts.

use super::decide::conclude;
use super::weigh::{Objection, cut_lengths, weigh, weigh_against};
use super::{OpError, RACES_MAX};
use crate::app::App;
use crate::domain::alert::AlertRow;
use crate::domain::matching::Verdicts;
use crate::domain::name::{Verdict, verdict};
use crate::domain::payment::{Payment, Status};
use crate::domain::time::Span;

/// Waiting alerts looked at for one correction, oldest first.
const WAITING_MAX: usize = 100;
/// Payments of other beneficiaries that still count after they were created.
const OTHERS_WITHIN: Span = Span::days(7);
/// Other people's payments compared by name; at the limit a person decides.
const OTHERS_MAX: usize = 2_000;

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
        let mut weighed = weigh(app, &current).await?;
        if let Verdicts::Approve { payment_id, .. } = &weighed.decision.verdict {
            let chosen = weighed.payments.iter().find(|p| p.id == *payment_id).unwrap_or(payment);
            if let Some(objection) = somebody_else(app, &current, chosen).await? {
                weighed = weigh_against(app, &current, Some(&objection)).await?;
            }
        }
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

/// A payment of another beneficiary on this account whose name is like the alert's.
async fn somebody_else(app: &App, alert: &AlertRow, payment: &Payment) -> Result<Option<Objection>, OpError> {
    let (Some(account_id), Some(name)) = (payment.account_id, &alert.facts.payer_name) else {
        return Ok(None);
    };
    let open_for = app.config.payments.expiry.0 + app.config.payments.late_window.0;
    let since = app.now() - Span(OTHERS_WITHIN.0 + open_for);
    let others = app.store.payments_of_others(account_id, payment.business_id, since, OTHERS_MAX).await?;
    if others.len() >= OTHERS_MAX {
        let reason = "the amount was corrected, and too many payments of others share the account".into();
        return Ok(Some(Objection { reason, about: None }));
    }
    let cut = cut_lengths(alert);
    let like = others.into_iter().find(|other| verdict(&other.payer_name, name, &cut) != Verdict::Different);
    Ok(like.map(|other| Objection {
        reason: format!(
            "the amount was corrected, and payment {} of another beneficiary on this account bears a name \
             like the payer's",
            other.transaction_id
        ),
        about: Some(other),
    }))
}
