//! The log line for an alert that was not matched by itself, so that nobody has to ask whether work has come.
//!
//! It says which alert, what became of it and of what kind the reasons are: no name, no amount, no account. The
//! rest is for who may read the alert. Forged mails come in any number, so lines are limited (`log_limit`).

use super::weigh::Weighed;
use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus, Authenticity, Missing};
use crate::domain::matching::Verdicts;
use crate::log_limit::Sort;

/// A mail was stored. Says nothing of one that is to be decided, that was matched before or that needs nobody.
pub(in crate::ops) fn stored(app: &App, alert: &AlertRow, waits: Option<Missing>) {
    let kind = match (alert.status, waits, alert.authenticity) {
        (AlertStatus::Unreadable, ..) => "unreadable",
        (AlertStatus::Quarantined, Some(Missing::Answer), _) => "waits_for_name_server",
        (AlertStatus::Quarantined, Some(Missing::Key), _) => "waits_for_key",
        (AlertStatus::Quarantined, None, Authenticity::Unproven) => "not_proven",
        (AlertStatus::Quarantined, None, Authenticity::Refuted) => "refuted",
        (AlertStatus::Quarantined, None, Authenticity::Forwarded) => "forwarded",
        (AlertStatus::Quarantined, ..) => "not_the_banks_word",
        _ => return,
    };
    tell(app, alert, alert.status, &[kind]);
}

/// A decision was written that left the alert without a payment.
pub(in crate::ops) fn decided(app: &App, alert: &AlertRow, weighed: &Weighed) {
    match &weighed.decision.verdict {
        Verdicts::Review { kinds, .. } => {
            let own = kinds.iter().map(|kind| kind.as_str());
            let kinds: Vec<&str> = weighed.doubt_kinds.iter().copied().chain(own).collect();
            tell(app, alert, AlertStatus::Review, &kinds);
        }
        Verdicts::Unmatched { .. } => tell(app, alert, AlertStatus::Unmatched, &["no_payment_fits"]),
        Verdicts::Approve { .. } => {}
    }
}

/// A debit or reversal holds a waiting alert in review.
pub(in crate::ops) fn held(app: &App, alert: &AlertRow) {
    tell(app, alert, AlertStatus::Review, &["taken_back"]);
}

fn tell(app: &App, alert: &AlertRow, outcome: AlertStatus, kinds: &[&str]) {
    // Nobody has work with it, and it must not use up the lines of those that somebody has.
    if alert.simulated_for.is_some() {
        return;
    }
    let what = match outcome {
        AlertStatus::Review => "alerts in review",
        AlertStatus::Unmatched => "unmatched alerts",
        // Strangers choose which of these kinds they send; none silences another.
        AlertStatus::Quarantined => quarantined(kinds),
        _ => "unreadable alerts",
    };
    let Some(left_out) = app.log_limit.admit(Sort { what, whose: 0 }, app.now()) else { return };
    tracing::info!(
        alert = alert.id,
        outcome = outcome.as_str(),
        kinds = kinds.join(","),
        bank = alert.facts.bank,
        left_out = (left_out > 0).then_some(left_out),
        "an alert was not matched"
    );
}

/// A sort for each kind that [`stored`] knows.
fn quarantined(kinds: &[&str]) -> &'static str {
    match kinds.first().copied() {
        Some("waits_for_name_server") => "quarantined alerts (waits_for_name_server)",
        Some("waits_for_key") => "quarantined alerts (waits_for_key)",
        Some("not_proven") => "quarantined alerts (not_proven)",
        Some("refuted") => "quarantined alerts (refuted)",
        Some("forwarded") => "quarantined alerts (forwarded)",
        _ => "quarantined alerts (not_the_banks_word)",
    }
}
