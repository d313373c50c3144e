//! An alert that told nothing is read again, after a template was taught what was missing.
//!
//! The reading is the mail door's; here is which alerts may be read again, and what follows. First sight stays,
//! and with it every rule about time: a payment that was made after the mail came is not paid by it. What
//! speaks against a mail is not forgotten: one that was refuted stays so, unless no template knew its sender
//! then. One Unit writes the alert as if it had come now, with its keys, its decide job and the operator's act,
//! guarded by its version.

use super::decide::AlertOutcome;
use super::draft::{Taken, draft, place};
use super::prove_later::{Anew, write_anew};
use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus, Authenticity, Missing};
use crate::domain::same_transfer::is_undoing;
use crate::domain::time::Timestamp;
use crate::domain::told_before::has_paid_once;
use crate::ops::OpError;
use crate::store::IdKind;
use crate::store::tables::acts;
use crate::store::tables::alerts::unread::PAGE;

/// States of alerts that may be read again.
pub const STATES: [AlertStatus; 4] =
    [AlertStatus::Unreadable, AlertStatus::Quarantined, AlertStatus::Ignored, AlertStatus::Review];
/// Alerts of one state that are looked at for one command. Quarantine may hold a flood.
const LOOKED_AT_MAX: usize = 20_000;

/// Why an alert is not read again. The texts are for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RereadRefused {
    #[error("there is no alert {0}")]
    NoAlert(i64),
    #[error(
        "alert {0} is {1}; only unreadable, quarantined or ignored alerts, and those in review whose account was not known, can be read again"
    )]
    Status(i64, &'static str),
    #[error(
        "alert {0} is quarantined because something disproves the mail; reading it again cannot change that"
    )]
    Refuted(i64),
    #[error("alert {0} was forwarded by hand, so nothing can prove it; ingest the bank's own mail")]
    Forwarded(i64),
    #[error("alert {0} was read as a debit or reversal and has already taken effect")]
    Undoing(i64),
    #[error(
        "alert {0} has paid a payment that was reversed, so a person decides about it: approve or dismiss it"
    )]
    HasPaid(i64),
    #[error(
        "the mail of alert {0} was deleted (mails are kept for 90 days); if you still have it, ingest it \
         with `alert ingest`"
    )]
    MailGone(i64),
    #[error("the mail of alert {0} was too large, and only its beginning is kept")]
    Beginning(i64),
    #[error("alert {0} is unchanged: the key that proves it could not be looked up in DNS; try again later")]
    KeyAway(i64),
    #[error("test mode wrote the mail of alert {0}: simulate another one")]
    Simulated(i64),
    #[error("alert {0} has just changed; look at it again")]
    Changed(i64),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reread {
    /// It reads as before; nothing was written.
    Same(AlertOutcome),
    Anew(AlertOutcome),
}

/// Whether its mail may be read again.
pub fn may_be_reread(alert: &AlertRow) -> Result<(), RereadRefused> {
    let is_known = alert.facts.bank.is_some();
    if alert.simulated_for.is_some() {
        return Err(RereadRefused::Simulated(alert.id));
    }
    match (alert.status, alert.authenticity) {
        (AlertStatus::Ignored, _) if is_undoing(alert) || alert.linked_alert_id.is_some() => {
            Err(RereadRefused::Undoing(alert.id))
        }
        (AlertStatus::Unreadable | AlertStatus::Quarantined, Authenticity::Refuted) if is_known => {
            Err(RereadRefused::Refuted(alert.id))
        }
        (_, Authenticity::Forwarded) => Err(RereadRefused::Forwarded(alert.id)),
        // It would be decided anew, as if it had never paid.
        (AlertStatus::Review, _) if has_paid_once(alert) => Err(RereadRefused::HasPaid(alert.id)),
        // Perhaps its account was added since, or the one beside it retired.
        (AlertStatus::Review, _) if alert.account_id.is_some() || alert.linked_alert_id.is_some() => {
            Err(RereadRefused::Status(alert.id, alert.status.as_str()))
        }
        (status, _) if STATES.contains(&status) => Ok(()),
        (status, _) => Err(RereadRefused::Status(alert.id, status.as_str())),
    }
}

/// Writes what was read of the mail, where it is another thing than before.
pub async fn reread(
    app: &App,
    before: &AlertRow,
    taken: &Taken,
    operator: &str,
) -> Result<Result<Reread, RereadRefused>, OpError> {
    // As long as it is asked for besides, and where nobody answers: nothing follows from that.
    let is_away =
        |missing: Missing| missing == Missing::Answer || app.now() < before.first_seen + missing.patience();
    if taken.waits.is_some_and(is_away) {
        return Ok(Err(RereadRefused::KeyAway(before.id)));
    }
    let settled = Taken { waits: None, ..taken.clone() };
    let mut fresh = draft(before.id, before.first_seen, &settled);
    if before.status == AlertStatus::Review {
        place(app, &mut fresh, settled.simulated.as_ref()).await?;
    }
    let still_nowhere = before.status == AlertStatus::Review
        && fresh.status == AlertStatus::New
        && fresh.account_id.is_none()
        && fresh.facts.payer_name == before.facts.payer_name
        && fresh.facts.account_number == before.facts.account_number;
    let is_same = (still_nowhere || fresh.status == before.status && fresh.reason == before.reason)
        && fresh.authenticity == before.authenticity
        && fresh.facts.amount == before.facts.amount
        && fresh.facts.kind == before.facts.kind
        && fresh.facts.direction == before.facts.direction;
    if is_same {
        return Ok(Ok(Reread::Same(super::decide::outcome(app, before).await?)));
    }
    let act = app.store.id(IdKind::Act).await?;
    let reason = format!("was {}", before.status.as_str());
    let noted = acts::record(act, operator, "reread", &format!("alert {}", before.id), &reason, app.now());
    Ok(match write_anew(app, before, &settled, vec![noted]).await? {
        Anew::Written(outcome) => Ok(Reread::Anew(outcome)),
        // Another operator's reading of the same mail may be what changed it, or a dismissal.
        Anew::Changed(Some(now_there)) => Err(match may_be_reread(&now_there) {
            Ok(()) => RereadRefused::Changed(before.id),
            Err(refused) => refused,
        }),
        Anew::Changed(None) => Err(RereadRefused::NoAlert(before.id)),
    })
}

/// Alerts first seen since then that may be read again and are `wanted`, oldest first. Also answers whether
/// there were too many to look at all of them.
pub async fn unread_since(
    app: &App,
    since: Timestamp,
    wanted: impl Fn(&AlertRow) -> bool,
) -> Result<(Vec<AlertRow>, bool), OpError> {
    let (mut found, mut is_cut) = (Vec::new(), false);
    for state in STATES {
        let (mut at, mut after, mut looked_at) = (since, 0, 0);
        loop {
            let page = app.store.alerts_after(state, at, after).await?;
            looked_at += page.len();
            let is_last = page.len() < PAGE;
            if let Some(last) = page.last() {
                (at, after) = (last.first_seen, last.id);
            }
            found.extend(page.into_iter().filter(|alert| may_be_reread(alert).is_ok() && wanted(alert)));
            if is_last {
                break;
            }
            if looked_at >= LOOKED_AT_MAX {
                is_cut = true;
                break;
            }
        }
    }
    found.sort_by_key(|alert| (alert.first_seen, alert.id));
    Ok((found, is_cut))
}
