//! Payments on other accounts than the one that the money came to, or on those that it may have come to: weighed
//! for the eyes of a person, named in the reason, and of no weight in a verdict. Used by `matching`, and by ops
//! after a decision.

use super::{
    AmountFit, Candidate, Considered, Decision, Incoming, SUGGESTIONS_MAX, TimeFit, Verdicts, WhichAccount,
    consider, likeliest_first, one_of_each_first,
};
use crate::domain::name::{Folded, NameVerdict};

/// Payments on other accounts that are suggested.
pub(super) const ELSEWHERE_MAX: usize = 5;

impl Decision {
    /// Puts the first payments on other accounts among the suggestions of a decision that leaves the money to a person: what
    /// fits there before what nearly fits here. The verdict stays; only its reason names what fits: one payment by
    /// its id, several by their number, because a merchant may have made rivals.
    pub fn show_elsewhere(&mut self, mut elsewhere: Vec<Considered>) {
        const NONE_HERE: &str = "no open payment on this account does";
        let fits: Vec<&Considered> = elsewhere
            .iter()
            .filter(|c| c.name == NameVerdict::Match && c.time_fit == TimeFit::Fits)
            .collect();
        let exact: Vec<&Considered> =
            fits.iter().copied().filter(|c| c.amount_fit == AmountFit::Exact).collect();
        let wins_here = self.considered.iter().any(Considered::wins_alone);
        match (&mut self.verdict, &fits[..]) {
            (Verdicts::Approve { .. }, _) => return,
            // One more hint for the person who looks; it is no reason for the review, so it has no kind.
            (Verdicts::Review { reasons, .. }, _) => {
                let hint = match &exact[..] {
                    [] => None,
                    [only] => Some(format!(
                        "payment {:?} of business {} on {} fits exactly",
                        only.transaction_id,
                        only.business_id,
                        where_in_words(only.which_account)
                    )),
                    [first, ..] => {
                        let which_account = where_in_words_of_many(first.which_account);
                        Some(format!("{} payments on {which_account} fit exactly", exact.len()))
                    }
                };
                // What fits here has been named.
                let at = if wins_here { reasons.len() } else { 0 };
                reasons.splice(at..at, hint);
            }
            // A merchant chose the id: in quotes it is no part of the sentence.
            (Verdicts::Unmatched { reason }, [only]) => {
                *reason = format!(
                    "payment {:?} of business {} on another account fits the amount and the name; {NONE_HERE}",
                    only.transaction_id, only.business_id
                );
            }
            (Verdicts::Unmatched { reason }, [_, _, ..]) => {
                *reason = format!(
                    "{} payments on other accounts fit the amount and the name; {NONE_HERE}",
                    fits.len()
                );
            }
            _ => {}
        }
        elsewhere.truncate(ELSEWHERE_MAX);
        self.considered.truncate(SUGGESTIONS_MAX.saturating_sub(elsewhere.len()));
        self.considered.extend(elsewhere);
        self.considered.sort_by_key(Considered::rank);
    }
}

fn where_in_words(which_account: WhichAccount) -> &'static str {
    match which_account {
        WhichAccount::Perhaps => "an account that may be meant",
        _ => "another account",
    }
}

fn where_in_words_of_many(which_account: WhichAccount) -> &'static str {
    match which_account {
        WhichAccount::Perhaps => "accounts that may be meant",
        _ => "other accounts",
    }
}

/// Weighs one payment that a person must see, whatever it fits.
pub fn consider_alone(
    which_account: WhichAccount,
    incoming: &Incoming<'_>,
    candidate: &Candidate<'_>,
) -> Considered {
    let received_name = incoming.payer_name.map(Folded::new);
    Considered { which_account, ..consider(incoming, received_name.as_ref(), candidate) }
}

/// Weighs payments on accounts that are not, or not for certain, the alert's own, likeliest first: those that ask for what was received, from a payer whose
/// name is not different.
pub fn consider_on(
    which_account: WhichAccount,
    incoming: &Incoming<'_>,
    candidates: &[Candidate<'_>],
) -> Vec<Considered> {
    let received_name = incoming.payer_name.map(Folded::new);
    let mut considered: Vec<Considered> = candidates
        .iter()
        .map(|c| Considered { which_account, ..consider(incoming, received_name.as_ref(), c) })
        .filter(|c| c.amount_fit.approves() && c.name != NameVerdict::Different)
        .collect();
    likeliest_first(&mut considered);
    one_of_each_first(&mut considered);
    considered
}
