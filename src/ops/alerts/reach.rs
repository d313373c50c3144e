//! How far alerts reach for one another: from when to when others may be about the same money, and which credits a debit names by
//! a key. Read only; used by all that compares alerts.

use super::copies::{SHARING_MAX, sharing_session};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::{ADDRESSED_ELSEWHERE, AlertRow, AlertStatus};
use crate::domain::same_transfer::{
    is_forwarded, is_incoming_money, may_be_about, may_be_on_one_account, names_the_payer, speaks_of,
    tells_of_loss, told_time, usable_reference,
};
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;

/// Without a session id, a reference or a time that tells more, alerts this far apart in our sight are not
/// about the same money, unless payments may be open for longer.
const SEEN_WITHIN: Span = Span::days(7);
/// A mailbox may have been unread for as long as a payment can be open; then the bank's own mail follows one that was
/// forwarded.
pub(super) const FORWARDED_WITHIN: Span = Span::days(14);
/// Credits that one debit may speak of; a reference that more of them show tells none of them.
pub const LIKELY_MAX: usize = 3;

/// Between which times of our sight alerts may be about the same money as this one, where nothing tells more: as long
/// as a payment can be open it can be told of again, or taken back. Nothing is seen before it happened, so a mail that
/// comes late by the bank's own time, or by its Date, is compared from that time on.
pub(super) fn sight(app: &App, alert: &AlertRow) -> (Timestamp, Timestamp) {
    let open = app.config.payments.expiry + app.config.payments.late_window;
    let least = if is_forwarded(alert) { FORWARDED_WITHIN } else { SEEN_WITHIN };
    let within = least.max(open);
    (told_time(alert).end.min(alert.first_seen) - within, alert.first_seen + within)
}

/// The bank told somebody else, about an account that may look like ours: alerts of every account of ours that it may be about go
/// to an address of their own, and to another than this.
pub(super) fn is_told_to_another(app: &App, undoing: &AlertRow, accounts: &[ReceivingAccount]) -> bool {
    let bound = &app.config.mail.of_accounts;
    let mut concerned = accounts.iter().filter(|one| !one.is_of_test_bank() && may_be_about(undoing, one));
    undoing.facts.doubts.iter().any(|doubt| doubt == ADDRESSED_ELSEWHERE)
        && concerned.all(|one| bound.iter().any(|(_, number)| *number == one.number))
}

/// The credits that a debit or reversal names by its session id or, where none of those is of its amount, by its
/// reference; first those of its amount, then those whose payer it names, then the nearest: others can type a
/// session id.
pub async fn named_by(
    app: &App,
    undoing: &AlertRow,
    accounts: &[ReceivingAccount],
) -> Result<Vec<AlertRow>, OpError> {
    let facts = &undoing.facts;
    let fits = |credit: &AlertRow| {
        credit.id != undoing.id
            && is_incoming_money(credit)
            && !tells_of_loss(credit)
            && credit.status != AlertStatus::Duplicate
            && may_be_on_one_account(undoing, credit, accounts)
    };
    let mut found =
        sharing_session(app, undoing.simulated_for, facts.session_id.as_deref(), facts.amount).await?;
    found.retain(fits);
    // Those of its session id are perhaps somebody else's, who typed it.
    let is_told = found.iter().any(|credit| speaks_of(undoing, credit));
    if let (false, Some(bank), Some(reference)) = (is_told, &facts.bank, usable_reference(&facts.reference)) {
        let mut by_reference =
            app.store.alerts_by_reference(undoing.simulated_for, bank, reference, SHARING_MAX).await?;
        by_reference.retain(|credit| fits(credit) && found.iter().all(|known| known.id != credit.id));
        if by_reference.len() <= LIKELY_MAX {
            found.extend(by_reference);
        }
    }
    let kobo = |alert: &AlertRow| alert.facts.amount.unwrap_or_default().kobo();
    let far = |credit: &AlertRow| kobo(credit).abs_diff(kobo(undoing));
    found.sort_by_key(|credit| {
        (
            far(credit) > 0,
            !names_the_payer(undoing, credit),
            far(credit),
            credit.status != AlertStatus::Matched,
            credit.id,
        )
    });
    // One that paid is never hidden by others that show its session id.
    let mut rank = 0;
    found.retain(|credit| {
        rank += 1;
        rank <= LIKELY_MAX || speaks_of(undoing, credit) && credit.status == AlertStatus::Matched
    });
    Ok(found)
}
