//! Weighs an alert more strictly where the payment it would pay was corrected, or may have been asked for after the money
//! came: a merchant must not fish for other people's money (contract/matching.md#m18). Read only.
//!
//! Asked for an alert that waits when a correction comes (`rematch`), and for one that comes when the correction
//! or the payment was made when the money may have come (`decide`).

use super::may_be_meant::{asked_before, ended_lately};
use super::other_accounts::ever_on_other_accounts;
use super::weigh::{Objection, Weighed, weigh, weigh_against};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::AlertRow;
use crate::domain::matching::{
    AmountFit, Beneficiary, Verdicts, are_two_customers, of_another_in_words, similar_amounts, speaks_since,
};
use crate::domain::name::index::Likeness;
use crate::domain::name::{Folded, NameVerdict, in_common, says_nothing, verdict_folded};
use crate::domain::payment::{Payment, Status};
use crate::domain::same_transfer::interval;
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::payments::like_names::{ANY_AMOUNT, Beside, Wanted, is_index_unfinished, payments_like};

/// Payments of other beneficiaries still count so long after they ended.
const OTHERS_WITHIN: Span = Span::days(7);
/// Payments of like names compared; at the limit a person decides.
const OTHERS_MAX: usize = 2_000;

/// Weighs an alert. A payment of those that `is_suspect` names takes it only if it can be nobody else's.
pub(in crate::ops) async fn weigh_corrected(
    app: &App,
    alert: &AlertRow,
    is_suspect: impl Fn(&Payment) -> bool,
) -> Result<Weighed, OpError> {
    let weighed = weigh(app, alert).await?;
    let Verdicts::Approve { payment_id, .. } = &weighed.decision.verdict else { return Ok(weighed) };
    let chosen = weighed.payments.iter().find(|payment| payment.id == *payment_id);
    let Some(chosen) = chosen.filter(|payment| is_suspect(payment)) else { return Ok(weighed) };
    let Some(account) = &weighed.account else { return Ok(weighed) };
    match somebody_else(app, alert, account, chosen).await? {
        Some(objection) => weigh_against(app, alert, Some(&objection)).await,
        None => Ok(weighed),
    }
}

/// What speaks against the corrected payment: on this account a payment of another beneficiary, open or ended
/// lately, whose name is like the alert's; or one of the amount or about it, open, ended lately or corrected since,
/// whatever its name, for people pay from the accounts of others, and round. On any other account one whose name is like the alert's and that the
/// money would pay, for people pay into the account that they know.
async fn somebody_else(
    app: &App,
    alert: &AlertRow,
    account: &ReceivingAccount,
    payment: &Payment,
) -> Result<Option<Objection>, OpError> {
    let (Some(account_id), Some(name), Some(received)) =
        (payment.account_id, &alert.facts.payer_name, alert.facts.amount)
    else {
        return Ok(None);
    };
    let own = Beneficiary::of(payment);
    // What a business simulates on an account that several share is meant for none of the others, and tells it of none.
    let is_others = |other: &Payment| alert.simulated_for.is_none() && Beneficiary::of(other) != own;
    let (exact, by_rule, near) = tokio::try_join!(
        app.store.open_payments_of_others(account_id, received, payment.business_id),
        app.store.open_payments_by_rule(account_id, received, OTHERS_MAX),
        app.store.open_payments_between(account_id, similar_amounts(received), OTHERS_MAX),
    )?;
    let may_be_more = by_rule.len() >= OTHERS_MAX || near.len() >= OTHERS_MAX;
    let mut others = exact.into_iter().chain(by_rule).chain(near);
    if let Some(other) = others.find(|other| is_others(other)) {
        let asks_for = match other.amount == received {
            true => "on this account asks for exactly what was received",
            false => "on this account asks for about what was received",
        };
        return Ok(Some(objection(payment, other, asks_for)));
    }
    let ((ended, is_cut), before) = tokio::try_join!(
        ended_lately(app, alert, account_id, (similar_amounts(received), received)),
        asked_before(app, alert, account_id, received),
    )?;
    let may_be_more = may_be_more || is_cut || before.may_be_more;
    // Whoever pays for somebody else is no less meant when that payment has ended, or was corrected.
    if let Some(other) = ended.into_iter().find(|other| is_others(other)) {
        return Ok(Some(objection(
            payment,
            other,
            "on this account, which has ended, asked for about what was received",
        )));
    }
    if let Some(other) = before.payments.into_iter().find(|other| is_others(other)) {
        return Ok(Some(objection(
            payment,
            other,
            "on this account asked for about that before it was corrected",
        )));
    }
    let wanted = Wanted {
        account_id: Some(account_id),
        payer_name: name,
        likeness: Likeness::NotDifferent,
        amounts: ANY_AMOUNT,
        open_after: Timestamp(0),
        limit: OTHERS_MAX,
    };
    // Asked before the index is: a row that is missing then is missed by it.
    let is_unfinished = is_index_unfinished(app).await?;
    let found = payments_like(app, &wanted).await?;
    let (cut, received_name) = (alert.facts.cut_lengths(), Folded::new(name));
    let since = (app.now() - OTHERS_WITHIN).min(speaks_since(interval(alert), alert.first_seen));
    let common = |name: &Folded| in_common(name, &received_name, &cut);
    let name = Folded::new(&payment.payer_name);
    // Another customer of the same merchant, whom the bank's words name more fully, however much he was to pay.
    let is_other_customers = |other: &Payment| {
        let expected = Folded::new(&other.payer_name);
        let (borne, theirs) = (common(&name), common(&expected));
        let verdict = verdict_folded(&expected, &received_name, &cut);
        Beneficiary::of(other) == own
            && other.id != payment.id
            && ended_after(other, since)
            && theirs.is_much()
            && (expected.same_words(&received_name)
                || are_two_customers((&name, borne), (&expected, theirs), verdict))
    };
    let is_named_so = name.same_words(&received_name);
    let mut of_customers = found.payments.iter().filter(|_| !is_named_so);
    if let Some(other) = of_customers.find(|other| is_other_customers(other)) {
        let reason = format!(
            "{}, and payment {:?} of another customer of the same business bears this name",
            why(payment),
            other.transaction_id
        );
        return Ok(Some(Objection { reason, about: Some(other.clone()) }));
    }
    let counts = |other: &Payment| {
        let expected = Folded::new(&other.payer_name);
        is_others(other)
            && ended_after(other, since)
            // Close to everybody, it says nothing about anybody.
            && !says_nothing(&expected, Some(&received_name), &cut)
            && verdict_folded(&expected, &received_name, &cut) != NameVerdict::Different
    };
    if let Some(other) = found.payments.into_iter().find(counts) {
        return Ok(Some(objection(payment, other, "on this account has a similar payer's name")));
    }
    let beside = ever_on_other_accounts(app, alert, account, received).await?;
    let Beside { payments: elsewhere, may_be_more: may_be_elsewhere } = beside;
    let would_be_paid = |other: &Payment| AmountFit::of(other, received).approves() && counts(other);
    if let Some(other) = elsewhere.into_iter().find(would_be_paid) {
        return Ok(Some(objection(
            payment,
            other,
            "on another account fits what was received and has a similar payer's name",
        )));
    }
    let cannot_be_sure = may_be_more
        || may_be_elsewhere
        || found.may_be_more
        || found.misses_close_ones
        || !cut.is_empty()
        || is_unfinished;
    let reason = || format!("{}, and not all payments with a similar name could be checked", why(payment));
    Ok(cannot_be_sure.then(|| Objection { reason: reason(), about: None }))
}

/// Why it is weighed so.
fn why(payment: &Payment) -> &'static str {
    match payment.corrections {
        0 => "the payment may have been asked for after the money came",
        _ => "the amount was corrected",
    }
}

fn objection(payment: &Payment, other: Payment, how: &str) -> Objection {
    let theirs = of_another_in_words(&other.transaction_id, other.business_id);
    Objection { reason: format!("{}, and {theirs} {how}", why(payment)), about: Some(other) }
}

/// Still open, or ended after a time.
fn ended_after(payment: &Payment, time: Timestamp) -> bool {
    payment.status == Status::Pending
        || [payment.approved_at, payment.rejected_at, payment.reversed_at]
            .into_iter()
            .flatten()
            .any(|at| at >= time)
}
