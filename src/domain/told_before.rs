//! What a credit's alert keeps of its past: that it paid a payment which a person reversed, and in what words its mail
//! told of a loss. Pure.

use super::alert::{AlertRow, AlertStatus};
use super::name::fold;

/// How the doubt begins of a credit whose payment a person reversed: followed by who did, and why.
pub const REVERSED_BY: &str = "reversed by ";
/// The same, as a program of before wrote it.
pub const REVERSED: &str = "reversed: ";

/// Whether it has paid a payment that a person reversed.
pub fn has_paid_once(alert: &AlertRow) -> bool {
    alert.facts.doubts.iter().any(|doubt| doubt.starts_with(REVERSED_BY) || doubt.starts_with(REVERSED))
}

/// Whether its mail tells a state other than success: in the bank's own words, or in those of a narration that a person
/// believed to be no remark of the payer's, for he approved it in spite of them.
pub fn is_told_anew(alert: &AlertRow) -> bool {
    let is_approved = matches!(alert.status, AlertStatus::Matched | AlertStatus::Reversed);
    alert.facts.is_told_as_lost() || (is_approved || has_paid_once(alert)) && alert.facts.has_lost_state()
}

/// Whether another mail of a transfer tells in other words than this one that its money did not come or went back.
pub fn tells_loss_in_other_words(alert: &AlertRow, than: &AlertRow) -> bool {
    let words = |alert: &AlertRow| alert.facts.narration.as_deref().map(fold);
    alert.facts.has_lost_state() && words(alert) != words(than)
}
