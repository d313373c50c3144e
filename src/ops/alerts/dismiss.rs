//! A person puts alerts aside: what pays nothing, what was quarantined or unreadable, and debits or reversals that
//! took back nothing that was credited, which ends their alarm.
//!
//! What it was is kept beside what proved it. One that was quarantined or unreadable is aside for good: nobody
//! asks for its proof or reads it any more, and nobody can approve it. A genuine copy that is fed later is an
//! alert of its own, for such a one has no keys. Whoever is faster wins: an alert that is proven or read at the
//! same moment is not put aside, and one that was put aside is not lifted.

use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::arrival::ArrivalEnd;
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::ops::alerts::taken_back::takes_money_back;
use crate::ops::webhooks::chosen;
use crate::ops::{OpError, RACES_MAX, given_reason};
use crate::store::tables::jobs::{self, JobKind};
use crate::store::tables::{acts, alerts, arrivals};
use crate::store::{Applied, IdKind};

/// Alerts that one command puts aside at most.
pub const DISMISS_MAX: usize = 10_000;
/// Alerts of a sender that are read at once.
const PER_READ: usize = 200;
/// Alerts still asked about that are counted.
const ASKED_MAX: i64 = 10_000;

/// Why an alert is not put aside. The texts are for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DismissRefused {
    #[error("there is no alert {0}")]
    NoAlert(i64),
    #[error(
        "alert {0} is {1}; only alerts in review, unmatched, quarantined or unreadable, credits set aside as a fee or an own transfer, and debits or reversals can be dismissed"
    )]
    NotWaiting(i64, &'static str),
    #[error("a reason is required: at most 500 characters, no control characters")]
    Reason,
    #[error("alert {0} has just been proven to be from the bank and is now {1}; look at it again")]
    Proven(i64, &'static str),
    #[error("alert {0} has just changed; look at it again")]
    Changed(i64),
}

/// Puts an alert aside that waits for a person, is quarantined or unreadable, with a reason. Answers what it was.
pub async fn dismiss_alert(
    app: &App,
    alert_id: i64,
    operator: &str,
    reason: &str,
) -> Result<Result<AlertStatus, DismissRefused>, OpError> {
    let Some(reason) = given_reason(reason) else { return Ok(Err(DismissRefused::Reason)) };
    let Some(alert) = app.store.alert(alert_id).await? else {
        return Ok(Err(DismissRefused::NoAlert(alert_id)));
    };
    put_aside(app, alert, operator, reason).await
}

/// What became of the quarantined alerts of a sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Put aside, oldest first.
    pub ids: Vec<i64>,
    /// Left alone: they were proven, or put aside by somebody else, at this moment.
    pub changed: Vec<i64>,
    /// Left alone: a key that could prove them is still asked for. Counted up to 10,000.
    pub asked: i64,
    /// There are more of them than were asked for.
    pub more: bool,
}

impl Cleared {
    fn handled(&self) -> usize {
        self.ids.len() + self.changed.len()
    }
}

/// Puts aside the quarantined alerts from one address, at most `limit` of them, each in a Unit of its own; `told`
/// is called after each. Those that a key is still asked for are left: they may be the bank's own.
pub async fn clear_quarantine(
    app: &App,
    sender: &str,
    operator: &str,
    reason: &str,
    limit: usize,
    mut told: impl FnMut(usize),
) -> Result<Result<Cleared, DismissRefused>, OpError> {
    let Some(reason) = given_reason(reason) else { return Ok(Err(DismissRefused::Reason)) };
    // As addresses are kept.
    let sender = sender.trim().to_ascii_lowercase();
    let limit = limit.min(DISMISS_MAX);
    let mut cleared = Cleared::default();
    let mut after = (Timestamp::MIN, 0);
    loop {
        let left = limit - cleared.handled();
        // One more than is wanted tells whether anything follows.
        let wanted = PER_READ.min(left + 1);
        let found = app.store.quarantined_from(&sender, after, wanted).await?;
        let was_last = found.len() < wanted;
        for alert in found {
            if cleared.handled() == limit {
                cleared.more = true;
                break;
            }
            after = (alert.first_seen, alert.id);
            let id = alert.id;
            match put_aside(app, alert, operator, reason).await? {
                Ok(_) => cleared.ids.push(id),
                Err(_) => cleared.changed.push(id),
            }
            told(cleared.handled());
        }
        if was_last || cleared.more {
            break;
        }
    }
    cleared.asked = app.store.asked_from(&sender, ASKED_MAX).await?;
    Ok(Ok(cleared))
}

/// What a sender's quarantined alerts tell of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InQuarantine {
    /// Counted up to [`DISMISS_MAX`].
    pub alerts: usize,
    pub amount: Money,
    /// Those of which no amount was read.
    pub unknown: usize,
}

/// Counts the quarantined alerts from one address, before a person puts them aside.
pub async fn quarantined_money(app: &App, sender: &str) -> Result<InQuarantine, OpError> {
    let sender = sender.trim().to_ascii_lowercase();
    let mut all = InQuarantine::default();
    let mut after = (Timestamp::MIN, 0);
    while all.alerts < DISMISS_MAX {
        let found = app.store.quarantined_from(&sender, after, PER_READ).await?;
        let Some(last) = found.last() else { break };
        after = (last.first_seen, last.id);
        for alert in &found {
            all.alerts += 1;
            match alert.facts.amount {
                Some(amount) => all.amount = Money(all.amount.kobo().saturating_add(amount.kobo())),
                None => all.unknown += 1,
            }
        }
    }
    Ok(all)
}

/// One Unit, guarded by the alert's version. One that was quarantined or unreadable when it was looked at is
/// put aside as such or not at all.
async fn put_aside(
    app: &App,
    mut alert: AlertRow,
    operator: &str,
    reason: &str,
) -> Result<Result<AlertStatus, DismissRefused>, OpError> {
    let (id, first) = (alert.id, alert.status);
    for _ in 0..RACES_MAX {
        if alert.status != first && first.tells_nothing() {
            let is_proven = first == AlertStatus::Quarantined && alert.authenticity.counts();
            return Ok(Err(match is_proven {
                true => DismissRefused::Proven(id, alert.status.as_str()),
                false => DismissRefused::Changed(id),
            }));
        }
        let is_waiting = matches!(alert.status, AlertStatus::Review | AlertStatus::Unmatched)
            || alert.is_credit_aside()
            || takes_money_back(&alert);
        let tells_nothing = alert.status.tells_nothing();
        if !is_waiting && !tells_nothing {
            return Ok(Err(DismissRefused::NotWaiting(id, alert.status.as_str())));
        }
        let now = app.now();
        let act = app.store.id(IdKind::Act).await?;
        let kept = match tells_nothing {
            true => format!("{reason} (it was {}: {})", alert.status.as_str(), alert.reason),
            false => reason.to_owned(),
        };
        let told = chosen::waits_no_more(app, id, ArrivalEnd::Dismissed, now).await?;
        let mut unit = app
            .store
            .unit(id)
            .await?
            .step(alerts::dismissed(&alert, &kept, now))
            .steps(told)
            .step(arrivals::end_of_alert(id, ArrivalEnd::Dismissed, now))
            .step(acts::record(act, operator, "dismiss", &format!("alert {id}"), reason, now));
        if tells_nothing {
            unit = unit.step(jobs::finish_by_subject(JobKind::Verify, id, "dismissed", now));
        }
        if matches!(app.store.apply(unit).await?, Applied::Done(_)) {
            app.wake_workers();
            return Ok(Ok(alert.status));
        }
        alert = match app.store.alert(id).await? {
            Some(alert) => alert,
            None => return Ok(Err(DismissRefused::NoAlert(id))),
        };
    }
    Ok(Err(DismissRefused::Changed(id)))
}
