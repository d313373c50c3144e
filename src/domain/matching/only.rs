//! Whether money that is left to a person may pay one payment and no other. Used by `matching`; what follows is told in
//! `domain::arrival`.

use super::{Considered, Decision, ReviewKind, Status, TimeFit, Verdicts, WhichAccount};

impl Decision {
    /// The one payment on the alert's own account that the money may be for, if there is no second one that it may be for
    /// or may have been sent for: among the suggestions, or kept from them by their number.
    pub fn only_one(&self) -> Option<&Considered> {
        let may_miss_some = match &self.verdict {
            Verdicts::Approve { .. } => true,
            Verdicts::Review { kinds, .. } => kinds.contains(&ReviewKind::Limit),
            Verdicts::Unmatched { .. } => false,
        };
        // What was paid and stays paid cannot be paid again: the payer's last purchase is no second suggestion.
        let may_be_meant = |c: &&Considered| c.status != Status::Approved || c.is_timely;
        let mut all = self.considered.iter().chain(&self.rivals).filter(may_be_meant);
        let first = all.next().filter(|_| !may_miss_some)?;
        let is_fitting = first.which_account == WhichAccount::Own
            && first.status != Status::Approved
            && (first.is_timely || first.time_fit != TimeFit::Outside);
        (is_fitting && all.all(|other| other.payment_id == first.payment_id)).then_some(first)
    }
}
