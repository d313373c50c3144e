//! A debit that the bank reports with our reference of a payout in its narration: the payout is paid. Only a mail that is
//! proven or that a person vouches for counts, of an account of the operator's, of exactly the payout's amount; whatever
//! differs is left to a person.

use super::end::{EndRefusal, Marked, Marking, Outcome, Seat, mark_payout};
use crate::app::App;
use crate::domain::alert::{AlertKind, AlertRow, Authenticity, Direction};
use crate::domain::merchant::Mode;
use crate::domain::payout::{PayoutEnd, PayoutStatus, StepRefusal, codes_in};
use crate::domain::time::Span;
use crate::ops::OpError;

/// A payout that somebody marked paid is told by the bank so long after at most. Later its reference is on anybody's money:
/// the business has had it before it.
const TOLD_WITHIN: Span = Span::days(7);

/// Marks the payout paid that a debit is about. Answers whether the debit is one of a payout's, now or before. That no other
/// alert bears its reference the caller has seen.
pub(in crate::ops) async fn pays_out(app: &App, debit: &AlertRow) -> Result<bool, OpError> {
    let facts = &debit.facts;
    let is_vouched = matches!(debit.authenticity, Authenticity::Proven | Authenticity::Trusted);
    let is_plain = facts.direction == Some(Direction::Debit) && facts.kind == Some(AlertKind::Payment);
    let accounts = app.directory.accounts().await?;
    let is_live =
        accounts.iter().any(|account| Some(account.id) == debit.account_id && account.mode == Mode::Live);
    if !is_vouched || !is_plain || !is_live {
        return Ok(false);
    }
    let codes = facts.narration.as_deref().map(codes_in).unwrap_or_default();
    // Two of them in one narration are no transfer of ours.
    let [code] = &codes[..] else { return Ok(false) };
    let Some(row) = app.store.payout_by_code(code).await? else { return Ok(false) };
    if facts.amount != Some(row.payout.amount) {
        tracing::warn!(
            alert = debit.id,
            payout = row.payout.id,
            "a debit names a payout, and its amount is another one; look at the bank's statement"
        );
        return Ok(false);
    }
    let by = format!("alert {}", debit.id);
    let marking = Marking {
        id: row.payout.id,
        outcome: Outcome::Paid,
        by: &by,
        seat: Seat::Bank,
        reference: facts.session_id.as_deref().or(facts.reference.as_deref()),
        reason: None,
    };
    match mark_payout(app, &marking).await? {
        Ok(Marked::Ended(_)) => {
            tracing::info!(alert = debit.id, payout = row.payout.id, "a payout is paid, as the bank says");
            Ok(true)
        }
        Err(EndRefusal::Step(StepRefusal::Finished(PayoutStatus::Paid))) => {
            let is_just_told = |end: &PayoutEnd| end.by == by || debit.first_seen <= end.at + TOLD_WITHIN;
            Ok(row.payout.end.as_ref().is_none_or(is_just_told))
        }
        Ok(Marked::OneOfTwo(_)) | Err(_) => {
            tracing::warn!(
                alert = debit.id,
                payout = row.payout.id,
                status = row.payout.status.as_str(),
                "the bank says that a payout was paid which is not pending any more; look at the bank's statement"
            );
            Ok(false)
        }
    }
}
