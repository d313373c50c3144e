//! Decides a stored alert: matched, review or unmatched. May be called any number of times, by any
//! process; an alert that is decided already is answered as it stands. A debit or reversal is not
//! decided but has its work done: what it may undo is held or alarmed about.
//!
//! Decisions about one account and amount take turns by the version of the amount. Who loses waits for a random moment before
//! looking again, so that many processes with many equal amounts get through; who loses too often leaves the
//! alert to the service, whose decide job is as durable as the alert.

use std::pin::Pin;
use std::time::Duration;

use super::taken_back::{link_taken_back_credits, takes_money_back, tell_of_loss};
use super::weigh::Weighed;
use super::weigh_corrected::weigh_corrected;
use super::{alert_log, arrivals, evidence};
use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::matching::{AmountFit, Verdicts};
use crate::ops::OpError;
use crate::ops::alerts::settle::{Settled, Settling, settle};
use crate::ops::wallet_payments::topup::tell_held;
use crate::store::Applied;
use crate::store::tables::alerts;
use crate::store::tables::jobs::{self, JobKind};

/// Races one decision may lose: every similar alert that arrives meanwhile is one.
const DECIDE_RACES_MAX: usize = 20;
/// The longest pause after the first lost race; doubled after each up to the last. All of them together stay
/// under half a minute, of which half is usual.
const PAUSE_FIRST: Duration = Duration::from_millis(4);
const PAUSE_MAX: Duration = Duration::from_millis(2_048);

/// What became of an alert, for whoever handed it in.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertOutcome {
    pub alert_id: i64,
    pub status: AlertStatus,
    /// The payment it funds.
    pub transaction_id: Option<String>,
    pub reason: String,
}

/// A decision, in a place of its own: it is deep, and so are some who ask for one.
pub type Deciding<'a> = Pin<Box<dyn Future<Output = Result<AlertOutcome, OpError>> + Send + 'a>>;

pub fn decide_alert(app: &App, alert_id: i64) -> Deciding<'_> {
    Box::pin(decided(app, alert_id))
}

async fn decided(app: &App, alert_id: i64) -> Result<AlertOutcome, OpError> {
    for races in 0..DECIDE_RACES_MAX {
        let alert = app
            .store
            .alert(alert_id)
            .await?
            .ok_or_else(|| OpError::Fault(format!("there is no alert {alert_id}")))?;
        if alert.status != AlertStatus::New {
            if takes_money_back(&alert) {
                link_taken_back_credits(app, &alert).await?;
            }
            return outcome(app, &alert).await;
        }
        if races == 0 && alert.facts.has_lost_state() {
            // Before it is decided, so that whoever dies here does it again.
            tell_of_loss(app, &alert).await?;
            continue;
        }
        crate::crash::point("alert.before_decision");
        // As strict as where a correction looks at waiting alerts.
        let weighed = weigh_corrected(app, &alert, None).await?;
        if conclude(app, &alert, &weighed).await? {
            continue; // read it again, as everybody else will see it
        }
        tokio::time::sleep(pause_after(races, app.random.next_u64())).await;
    }
    Err(OpError::Contended)
}

/// Anywhere between nothing and the longest pause after so many lost races, as `chance` says.
fn pause_after(races: usize, chance: u64) -> Duration {
    let doubled = PAUSE_FIRST.saturating_mul(1 << races.min(16));
    let most = doubled.min(PAUSE_MAX).as_micros() as u64;
    Duration::from_micros(chance % (most + 1))
}

/// What is told of an alert that is stored, and whose work could not be done now: its job does it.
pub fn left_to_service(alert: &AlertRow, error: &OpError) -> AlertOutcome {
    let why = match error {
        OpError::Contended => "too many alerts with its amount arrived at the same time".to_owned(),
        other => other.to_string(),
    };
    tracing::warn!(alert = alert.id, why, "an alert is stored; the workers will decide it");
    let reason = if alert.status == AlertStatus::New {
        format!("stored; the service will decide it: {why}")
    } else {
        format!("{}; stored; the service will look for the credit that it takes back: {why}", alert.reason)
    };
    AlertOutcome { alert_id: alert.id, status: alert.status, transaction_id: None, reason }
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
    let now = app.now();
    let text = evidence::encode(&weighed.decision, now);
    let (status, reason) = match &weighed.decision.verdict {
        Verdicts::Approve { payment_id, rule, fit } => {
            let payment = weighed.payments.iter().find(|payment| payment.id == *payment_id);
            let (Some(payment), Some(account)) = (payment, &weighed.account) else {
                return Err(OpError::Fault("a decision for a payment that was not read".into()));
            };
            let settling = Settling {
                alert,
                payment,
                account,
                amount_versions: &[(account.holding_account(), weighed.amount_version)],
                rule,
                fit: match fit {
                    AmountFit::ChargesRule => "charges",
                    _ => "exact",
                },
                evidence: &text,
                name_mismatch: false,
                operator: None,
            };
            let done = settle(app, &settling).await? == Settled::Done;
            count(alert, AlertStatus::Matched, done);
            return Ok(done);
        }
        Verdicts::Review { reasons, .. } => (AlertStatus::Review, reasons.join("; ")),
        Verdicts::Unmatched { reason } => (AlertStatus::Unmatched, reason.clone()),
    };
    if status == alert.status && evidence::is_told(&weighed.decision, &alert.evidence) {
        return Ok(true); // nothing new to say
    }
    // That the money may be gone says more than that it may be a copy.
    let linked = weighed.undone_by.filter(|undoing| alert.linked_alert_id != Some(*undoing));
    // Once: whoever looks at it again tells nobody anything new.
    let told =
        match weighed.held.filter(|_| alert.status == AlertStatus::New && status == AlertStatus::Review) {
            Some(held) => tell_held(app, &held).await?,
            None => Vec::new(),
        };
    let tells = !told.is_empty();
    let waits = arrivals::told(app, alert, weighed, now).await?;
    let is_watched = !waits.is_empty();
    let unit = app
        .store
        .unit(alert.id)
        .await?
        .step(alerts::decided(alert, status, &reason, &text, now))
        .steps(waits)
        .steps(linked.map(|undoing| alerts::link(alert.id, undoing)))
        .steps(told)
        .step(jobs::finish_by_subject(JobKind::Decide, alert.id, status.as_str(), now));
    let done = matches!(app.store.apply(unit).await?, Applied::Done(_));
    count(alert, status, done);
    if done {
        if tells || is_watched {
            app.wake_workers();
        }
        alert_log::decided(app, alert, weighed);
    }
    Ok(done)
}

/// Real ones alone: by these numbers an operator sees how his banks' mails do.
fn count(alert: &AlertRow, status: AlertStatus, done: bool) {
    if done && alert.simulated_for.is_none() {
        metrics::counter!("tillbell_alerts_total", "outcome" => status.as_str()).increment(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_spread_over_their_whole_length() {
        assert_eq!(pause_after(0, 0), Duration::ZERO);
        assert_eq!(pause_after(0, 4_000), PAUSE_FIRST);
        assert_eq!(pause_after(0, 4_001), Duration::ZERO);
        assert_eq!(pause_after(3, 32_000), Duration::from_millis(32));
        assert_eq!(pause_after(DECIDE_RACES_MAX, 2_048_000), PAUSE_MAX);
        assert!(pause_after(usize::MAX, u64::MAX) <= PAUSE_MAX);
    }
}
