//! Decides a stored alert: matched, review or unmatched. May be called any number of times, by any
//! process; an alert that is decided already is answered as it stands. A debit or reversal is not
//! decided but has its work done: what it may undo is held or alarmed about.

use super::settle::{Settled, Settling, settle};
use super::taken_back::{link_undone, undoes};
use super::weigh::{Weighed, weigh};
use super::{OpError, RACES_MAX, evidence};
use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::matching::Verdicts;
use crate::store::jobs::{self, JobKind};
use crate::store::{Applied, alerts};

/// Races one decision may lose: every similar alert that arrives meanwhile is one.
const DECIDE_RACES_MAX: usize = 10 * RACES_MAX;

/// What became of an alert, for whoever handed it in.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertOutcome {
    pub alert_id: i64,
    pub status: AlertStatus,
    /// The payment it funds.
    pub transaction_id: Option<String>,
    pub reason: String,
}

pub async fn decide_alert(app: &App, alert_id: i64) -> Result<AlertOutcome, OpError> {
    for _ in 0..DECIDE_RACES_MAX {
        let alert = app
            .store
            .alert(alert_id)
            .await?
            .ok_or_else(|| OpError::Fault(format!("there is no alert {alert_id}")))?;
        if alert.status != AlertStatus::New {
            if undoes(&alert) {
                link_undone(app, &alert).await?;
            }
            return outcome(app, &alert).await;
        }
        crate::crash::point("alert.before_decision");
        let weighed = weigh(app, &alert).await?;
        if conclude(app, &alert, &weighed).await? {
            continue; // read it again, as everybody else will see it
        }
    }
    Err(OpError::Contended)
}

/// The alert as it stands.
pub async fn outcome(app: &App, alert: &AlertRow) -> Result<AlertOutcome, OpError> {
    let transaction_id = match alert.payment_id {
        Some(id) => app.store.payment(id).await?.map(|payment| payment.transaction_id),
        None => None,
    };
    Ok(AlertOutcome {
        alert_id: alert.id,
        status: alert.status,
        transaction_id,
        reason: alert.reason.clone(),
    })
}

/// Writes the verdict. Answers whether it was written; `false` is a lost race.
pub async fn conclude(app: &App, alert: &AlertRow, weighed: &Weighed) -> Result<bool, OpError> {
    let text = evidence::encode(&weighed.decision);
    let (status, reason) = match &weighed.decision.verdict {
        Verdicts::Approve { payment_id, rule, .. } => {
            let payment = weighed.payments.iter().find(|payment| payment.id == *payment_id);
            let (Some(payment), Some(account)) = (payment, &weighed.account) else {
                return Err(OpError::Fault("a decision for a payment that was not read".into()));
            };
            let settling = Settling {
                alert,
                payment,
                account,
                ticks: weighed.ticks,
                rule,
                evidence: &text,
                name_mismatch: false,
                operator: None,
            };
            let done = settle(app, &settling).await? == Settled::Done;
            count(AlertStatus::Matched, done);
            return Ok(done);
        }
        Verdicts::Review { reasons } => (AlertStatus::Review, reasons.join("; ")),
        Verdicts::Unmatched { reason } => (AlertStatus::Unmatched, reason.clone()),
    };
    if status == alert.status && text == alert.evidence {
        return Ok(true); // nothing new to say
    }
    let now = app.now();
    let linked = weighed.undone_by.filter(|_| alert.linked_alert_id.is_none());
    let unit = app
        .store
        .unit(alert.id)
        .await?
        .step(alerts::decided(alert, status, &reason, &text, now))
        .steps(linked.map(|undoing| alerts::link(alert.id, undoing)))
        .step(jobs::finish_by_subject(JobKind::Decide, alert.id, status.as_str(), now));
    let done = matches!(app.store.apply(unit).await?, Applied::Done(_));
    count(status, done);
    Ok(done)
}

fn count(status: AlertStatus, done: bool) {
    if done {
        metrics::counter!("tillbell_alerts_total", "outcome" => status.as_str()).increment(1);
    }
}
