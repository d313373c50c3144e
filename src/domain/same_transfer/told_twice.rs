//! Whether two alerts of one amount may tell of one transfer where no key says so: by clock, balance, payer and reference.

use super::{
    BANKS_APART, EXACT, LAYOUTS_APART, differ, is_forwarded, is_one_layout, is_timed, may_be_of_one_payer,
    payers_differ, sessions_differ, told_time, usable_reference,
};
use crate::domain::alert::{AlertRow, Balance};
use crate::domain::time::Span;
use crate::domain::told_before::is_told_anew;

/// Same amount and bank times that overlap: one payment told twice, unless, in one layout, session ids, payers, references
/// or balances show that they are two. Where the times do not overlap, see [`is_told_later`]. A forwarded one is compared by amount and name alone: the caller looks
/// at those of a few days.
pub fn may_be_the_same_money(a: &AlertRow, b: &AlertRow) -> bool {
    if is_forwarded(a) || is_forwarded(b) {
        return a.facts.amount == b.facts.amount && !payers_differ(a, b);
    }
    if sessions_differ(a, b) {
        return false;
    }
    if !times_overlap(a, b) {
        return is_told_later(a, b) && !payers_differ(a, b);
    }
    let are_exact = [a, b].iter().all(|alert| is_exact(alert));
    match is_one_layout(a, b) {
        // Nobody leaves a balance where it was by adding to it.
        true if are_exact && has_equal_balance(a, b) => true,
        true => !payers_differ(a, b) && !references_differ(a, b) && !balances_differ(a, b),
        false => are_exact || !payers_differ(a, b),
    }
}

/// Whether two whose times are apart may be one all the same: told by two banks, or by one bank that sent its mail anew
/// with another time, the balance as it was. A reference alone may be one that several bear: it counts for as long as a
/// mail may take.
fn is_told_later(a: &AlertRow, b: &AlertRow) -> bool {
    let is_anew = || has_equal_balance(a, b) && !references_differ(a, b);
    let is_at_once = || is_one_layout(a, b) && has_equal_reference(a, b) && !balances_differ(a, b);
    (are_two_banks(a, b) || is_anew()) && are_within(a, b, BANKS_APART)
        || is_at_once() && are_within(a, b, LAYOUTS_APART)
}

/// The same of a credit and another telling: mails that tell of a transfer as pending, and how it ended, have other
/// times and balances, and each may be believed. The caller looks at those of a few days.
pub fn may_be_told_again(a: &AlertRow, b: &AlertRow) -> bool {
    let is_of_a_state = [a, b].iter().any(|alert| is_told_anew(alert));
    may_be_the_same_money(a, b)
        || is_of_a_state && a.facts.amount == b.facts.amount && may_be_of_one_payer(a, b)
}

/// Whether two debits or reversals of one amount may be one, told twice: a person is asked, so that neither a clock that
/// is a little off nor a reference of one makes them two; nor any time, where they tell two states.
pub fn may_be_one_debit(a: &AlertRow, b: &AlertRow) -> bool {
    let is_one_state = a.facts.told_states() == b.facts.told_states();
    (!is_one_state || are_within(a, b, LAYOUTS_APART)) && !sessions_differ(a, b) && !balances_differ(a, b)
}

fn is_exact(alert: &AlertRow) -> bool {
    let time = told_time(alert);
    is_timed(alert) && time.end.since(time.begin) <= EXACT
}

/// Two references that each say something.
fn references<'a>(a: &'a AlertRow, b: &'a AlertRow) -> Option<(&'a str, &'a str)> {
    usable_reference(&a.facts.reference).zip(usable_reference(&b.facts.reference))
}

fn references_differ(a: &AlertRow, b: &AlertRow) -> bool {
    references(a, b).is_some_and(|(x, y)| x != y)
}

fn has_equal_reference(a: &AlertRow, b: &AlertRow) -> bool {
    references(a, b).is_some_and(|(x, y)| x == y)
}

/// Balances of one kind of one account, as one layout shows them.
fn balances(a: &AlertRow, b: &AlertRow) -> Option<(Balance, Balance)> {
    let (x, y) = (a.facts.balance?, b.facts.balance?);
    let is_one_account = a.account_id.is_none() || b.account_id.is_none() || a.account_id == b.account_id;
    (x.same_kind(y) && is_one_account && is_one_layout(a, b)).then_some((x, y))
}

fn balances_differ(a: &AlertRow, b: &AlertRow) -> bool {
    balances(a, b).is_some_and(|(x, y)| x != y)
}

fn has_equal_balance(a: &AlertRow, b: &AlertRow) -> bool {
    balances(a, b).is_some_and(|(x, y)| x == y)
}

fn times_overlap(a: &AlertRow, b: &AlertRow) -> bool {
    are_within(a, b, if is_one_layout(a, b) { Span(0) } else { LAYOUTS_APART })
}

/// Told by two banks: of one account of ours, by that of a virtual account and by the one behind it.
fn are_two_banks(a: &AlertRow, b: &AlertRow) -> bool {
    differ(&a.facts.bank, &b.facts.bank)
}

/// Whether the bank's times overlap, or are no more than that apart.
fn are_within(a: &AlertRow, b: &AlertRow, slack: Span) -> bool {
    let (x, y) = (told_time(a), told_time(b));
    x.begin <= y.end + slack && y.begin <= x.end + slack
}

/// Whether the bank's own clock or balance shows that they tell of two transfers.
pub fn are_apart(a: &AlertRow, b: &AlertRow) -> bool {
    balances_differ(a, b) || is_timed(a) && is_timed(b) && !times_overlap(a, b)
}
