//! Alerts that may tell of the same money: second tellings of one transfer, and debits or reversals
//! that took it back (decisions 8). Read only; whoever asks decides what follows.

use super::OpError;
use super::weigh::interval;
use crate::app::App;
use crate::domain::alert::{AlertKind, AlertRow, AlertStatus, Direction};
use crate::domain::matching::Interval;
use crate::domain::money::Money;
use crate::domain::name::{Verdict, verdict};
use crate::domain::time::Span;

/// A debit or reversal of the same money within this span speaks against a credit.
pub const REVERSAL_WITHIN: Span = Span::days(7);
/// Alerts of the same account and amount that are compared.
const SIMILAR_MAX: usize = 200;
/// Two alerts this far apart in our sight cannot be the same money unless a key says so.
const SIMILAR_WITHIN: Span = Span::days(3);

/// What other alerts of the same account and amount say against one.
#[derive(Default)]
pub struct Similar {
    pub doubts: Vec<String>,
    /// The debit or reversal that may have taken its money back.
    pub undone_by: Option<i64>,
}

/// Looks at the other alerts of the same account and amount (decisions 8).
pub async fn similar_alerts(
    app: &App,
    alert: &AlertRow,
    account_id: i64,
    received: Money,
) -> Result<Similar, OpError> {
    let seen = (alert.first_seen - REVERSAL_WITHIN, alert.first_seen + REVERSAL_WITHIN);
    let mut others = app.store.similar_alerts(account_id, received, seen, SIMILAR_MAX).await?;
    let mut similar = Similar::default();
    let doubts = &mut similar.doubts;
    if others.len() >= SIMILAR_MAX {
        let Interval { begin, end } = interval(alert);
        others = app.store.similar_alerts_at(account_id, received, seen, (begin, end), SIMILAR_MAX).await?;
        if others.len() >= SIMILAR_MAX {
            doubts
                .push(format!("more than {SIMILAR_MAX} alerts of this amount and time came to the account"));
        }
    }
    // A forwarded mail that a person approved tells of money like any other.
    let counts = |other: &AlertRow| other.authenticity.counts() || other.status == AlertStatus::Matched;
    for other in others.iter().filter(|other| other.id != alert.id && counts(other)) {
        if is_undoing(other) {
            if may_undo(other, alert) {
                doubts.push(format!("alert {} may have taken this money back", other.id));
                similar.undone_by.get_or_insert(other.id);
            }
        } else if is_counted_credit(other) && may_be_the_same_money(alert, other) {
            doubts.push(format!("it may tell of the same money as alert {}", other.id));
        }
    }
    Ok(similar)
}

/// Whether a debit or reversal of the same money may undo a credit: unless the bank's own times show that
/// it was before. Mails overtake one another, so the order in which we saw them shows nothing.
fn may_undo(undoing: &AlertRow, credit: &AlertRow) -> bool {
    shares_reference(credit, undoing)
        || undoing.first_seen >= credit.first_seen
        || interval(undoing).end >= interval(credit).begin
}

/// A debit or a reversal, which may undo a credit.
pub fn is_undoing(alert: &AlertRow) -> bool {
    alert.facts.direction == Some(Direction::Debit) || alert.facts.kind == Some(AlertKind::Reversal)
}

/// A credit that was decided in its own right: undecided ones are left to the clock that guards
/// the settling Unit, because the second of two to settle sees the first one settled.
fn is_counted_credit(alert: &AlertRow) -> bool {
    alert.facts.direction == Some(Direction::Credit)
        && alert.facts.kind == Some(AlertKind::Payment)
        && matches!(alert.status, AlertStatus::Matched | AlertStatus::Review | AlertStatus::Unmatched)
}

/// The same session id or the same reference.
pub fn shares_reference(a: &AlertRow, b: &AlertRow) -> bool {
    let same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
    same(&a.facts.session_id, &b.facts.session_id) || same(&a.facts.reference, &b.facts.reference)
}

/// Same amount, names not different, bank times that overlap: one payment told twice, unless
/// session ids, references or balances of one kind show that they are two.
fn may_be_the_same_money(a: &AlertRow, b: &AlertRow) -> bool {
    if a.first_seen.since(b.first_seen).max(b.first_seen.since(a.first_seen)) > SIMILAR_WITHIN {
        return false;
    }
    let differ = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
    if differ(&a.facts.session_id, &b.facts.session_id) || differ(&a.facts.reference, &b.facts.reference) {
        return false;
    }
    if let (Some(x), Some(y)) = (a.facts.balance, b.facts.balance)
        && x.same_kind(y)
        && x != y
    {
        return false;
    }
    let (x, y) = (interval(a), interval(b));
    let overlap = x.begin <= y.end && y.begin <= x.end;
    let names = match (&a.facts.payer_name, &b.facts.payer_name) {
        (Some(x), Some(y)) => verdict(x, y, &[]) != Verdict::Different,
        _ => true,
    };
    overlap && names
}
