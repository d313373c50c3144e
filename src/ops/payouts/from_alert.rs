//! A debit that the bank reports with our reference of a payout in its narration: the payout is paid. Only a mail that is
//! proven or that a person vouches for counts, of an account of the operator's, of exactly the payout's amount; whatever
//! differs is left to a person.

use super::end::{EndRefusal, Marked, Marking, Outcome, Seat, mark_payout};
use crate::app::App;
use crate::domain::alert::{AlertKind, AlertRow, Authenticity, Direction};
use crate::domain::payout::{PayoutStatus, StepRefusal, codes_in};
use crate::ops::OpError;

/// Marks the payout paid that a debit is about. Answers whether the debit is one of a payout's, now or before.
pub(in crate::ops) async fn pays_out(app: &App, debit: &AlertRow) -> Result<bool, OpError> {
    let facts = &debit.facts;
    let is_vouched = matches!(debit.authenticity, Authenticity::Proven | Authenticity::Trusted);
    let is_plain = facts.direction == Some(Direction::Debit) && facts.kind == Some(AlertKind::Payment);
    if !is_vouched || !is_plain || debit.account_id.is_none() {
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
        Err(EndRefusal::Step(StepRefusal::Finished(PayoutStatus::Paid))) => Ok(true),
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
