//! Weighs an alert more strictly where the payment it would pay was corrected, or may have been asked for after the money
//! came: a merchant must not fish for other people's money (contract/matching.md#m18). Read only.
//!
//! Asked for an alert that waits when a correction comes (`rematch`), for one that comes when the correction
//! or the payment was made when the money may have come (`decide`), and of a payment that a person approves (`who_else`).

use super::evidence;
use super::may_be_meant::{asked_before, ended_lately};
use super::other_accounts::ever_on_other_accounts;
use super::weigh::{Objection, Weighed, weigh, weigh_against};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::AlertRow;
use crate::domain::matching::{
    AmountFit, Beneficiary, CLOCK_SLACK, OTHERS_TOLD, Verdicts, are_two_customers, as_many_as_told,
    is_another_named, of_another_in_words, one_of_each, similar_amounts, speaks_since,
};
use crate::domain::money::Money;
use crate::domain::name::index::Likeness;
use crate::domain::name::{Folded, NameVerdict, in_common, says_nothing, verdict_folded};
use crate::domain::payment::{Payment, Status};
use crate::domain::same_transfer::{came_by, came_from, interval};
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::payments::like_names::{ANY_AMOUNT, Beside, Wanted, is_index_unfinished, payments_like};

/// Payments of other beneficiaries still count so long after they ended.
const OTHERS_WITHIN: Span = Span::days(7);
/// Payments of like names compared; at the limit a person decides.
const OTHERS_MAX: usize = 2_000;

/// Whether the payment was asked for or corrected when the money may have come already. A correction costs nothing, so it counts
/// also where the bank's clock may be ahead of ours. A payment that is open was last changed by one.
fn may_be_fished(alert: &AlertRow, payment: &Payment) -> bool {
    payment.created_at > came_by(alert)
        || payment.corrections > 0 && payment.updated_at > came_from(alert) - CLOCK_SLACK
}

/// Weighs an alert. A payment that was asked for late takes it only if it can be nobody else's; one that takes it because the
/// payment of this id is corrected now, whichever it is. Where something else speaks against such a payment, whose the money may be is told
/// beside that.
pub(in crate::ops) async fn weigh_corrected(
    app: &App,
    alert: &AlertRow,
    corrected: Option<i64>,
) -> Result<Weighed, OpError> {
    let mut weighed = weigh(app, alert).await?;
    let (is_approved, chosen) = match &weighed.decision.verdict {
        Verdicts::Approve { payment_id, .. } => (true, Some(*payment_id)),
        _ => (false, weighed.decision.winners().next().map(|winner| winner.payment_id)),
    };
    let is_suspect = |payment: &&Payment| {
        corrected.is_some_and(|corrected| is_approved || corrected == payment.id)
            || may_be_fished(alert, payment)
    };
    let chosen = weighed.payments.iter().find(|payment| Some(payment.id) == chosen);
    let Some(chosen) = chosen.filter(is_suspect) else { return Ok(weighed) };
    let Some(account) = &weighed.account else { return Ok(weighed) };
    match somebody_else(app, alert, account, chosen).await?.objection(chosen) {
        Some(objection) if is_approved => weigh_against(app, alert, Some(&objection)).await,
        Some(objection) => {
            weighed.stand_beside(alert, objection);
            Ok(weighed)
        }
        None => Ok(weighed),
    }
}

/// What a person is told who approves such a payment: whose the money may be, but for those whom the reason names for which the
/// alert waits.
pub(in crate::ops) async fn untold_of_fished(
    app: &App,
    alert: &AlertRow,
    account: &ReceivingAccount,
    payment: &Payment,
) -> Result<Vec<String>, OpError> {
    let is_late = payment.created_at > came_by(alert);
    let since = came_from(alert) - CLOCK_SLACK;
    if is_late || payment.corrections > 0 && app.store.is_corrected_after(payment.id, since).await? {
        let against = somebody_else(app, alert, account, payment).await?;
        return Ok(against.untold(payment, alert));
    }
    Ok(Vec::new())
}

/// What speaks against a payment that may be fished for.
struct Against {
    /// One payment of each other beneficiary, each with how it asks.
    others: Vec<(Payment, &'static str)>,
    /// Another customer's of the same beneficiary.
    customers: Option<Payment>,
    not_all: bool,
}

impl Against {
    fn objection(self, payment: &Payment) -> Option<Objection> {
        let mut reasons = as_many_as_told(self.others.iter().map(in_words).collect());
        reasons.extend(self.customers.as_ref().map(of_customer));
        reasons.extend(self.not_all.then(|| NOT_ALL.to_owned()));
        let others = self.others.into_iter().take(OTHERS_TOLD).map(|(other, _)| other);
        let about = others.chain(self.customers).collect();
        let reason = format!("{}, and {}", why(payment), reasons.join(", and "));
        (!reasons.is_empty()).then_some(Objection { reason, about })
    }

    fn untold(self, payment: &Payment, alert: &AlertRow) -> Vec<String> {
        let is_told =
            |other: &Payment| is_another_named(&alert.reason, &other.transaction_id, other.business_id);
        let left = self.others.iter().filter(|(other, _)| !is_told(other));
        let mut untold = as_many_as_told(left.map(in_words).collect());
        untold.extend(self.customers.as_ref().map(of_customer).filter(|one| !alert.reason.contains(one)));
        let are_all_told = !self.not_all || evidence::is_told_of(alert, |doubt| doubt.ends_with(NOT_ALL));
        untold.extend((!are_all_told).then(|| NOT_ALL.to_owned()));
        untold.iter().map(|one| format!("{}, and {one}", why(payment))).collect()
    }
}

const NOT_ALL: &str = "not all payments that may be meant could be checked";

fn in_words((other, how): &(Payment, &'static str)) -> String {
    format!("{} {how}", of_another_in_words(&other.transaction_id, other.business_id))
}

fn of_customer(other: &Payment) -> String {
    format!("payment {:?} of another customer of the same business bears this name", other.transaction_id)
}

/// What speaks against the corrected payment, one payment of each other beneficiary: on this account one, open or ended
/// lately, whose name is like the alert's; or one of the amount or about it, open, ended lately or corrected since,
/// whatever its name, for people pay from the accounts of others, and round. On any other account one whose name is like the alert's and that the
/// money would pay, for people pay into the account that they know.
async fn somebody_else(
    app: &App,
    alert: &AlertRow,
    account: &ReceivingAccount,
    payment: &Payment,
) -> Result<Against, OpError> {
    let Some(received) = alert.facts.amount else {
        return Ok(Against { others: Vec::new(), customers: None, not_all: true });
    };
    let own = Beneficiary::of(payment);
    let whose = |(other, _): &(Payment, &str)| (other.business_id, Beneficiary::of(other));
    // What a business simulates on an account that several share is meant for none of the others, and tells it of none.
    let is_others = |other: &Payment| alert.simulated_for.is_none() && Beneficiary::of(other) != own;
    let (mut others, may_be_more) =
        about_the_amount(app, alert, (account.id, received), payment.business_id).await?;
    others.retain(|(other, _)| is_others(other));
    let Some(name) = &alert.facts.payer_name else {
        let others = one_of_each(others, whose, Some(payment.business_id));
        return Ok(Against { others, customers: None, not_all: may_be_more });
    };
    let wanted = Wanted {
        account_id: Some(account.id),
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
    let counts = |other: &Payment| {
        let expected = Folded::new(&other.payer_name);
        is_others(other)
            && ended_after(other, since)
            // Close to everybody, it says nothing about anybody.
            && !says_nothing(&expected, Some(&received_name), &cut)
            && verdict_folded(&expected, &received_name, &cut) != NameVerdict::Different
    };
    let Beside { payments: elsewhere, may_be_more: may_be_elsewhere } =
        ever_on_other_accounts(app, alert, account, received).await?;
    let like_named = found.payments.iter().filter(|other| counts(other)).cloned();
    others.extend(like_named.map(|other| (other, "on this account has a similar payer's name")));
    let would_be_paid = |other: &Payment| AmountFit::of(other, received).approves() && counts(other);
    let fitting = elsewhere.into_iter().filter(would_be_paid);
    others
        .extend(fitting.map(|other| {
            (other, "on another account fits what was received and has a similar payer's name")
        }));
    let not_all = may_be_more
        || may_be_elsewhere
        || found.may_be_more
        || found.misses_close_ones
        || !cut.is_empty()
        || is_unfinished;
    let customers = another_customer(alert, payment, (&received_name, since), &found.payments).cloned();
    let others = one_of_each(others, whose, Some(payment.business_id));
    Ok(Against { others, customers, not_all })
}

/// Payments on the account, whosever, that ask for the amount or about it, or did, each with how it asks; and whether there may be
/// more of them.
async fn about_the_amount(
    app: &App,
    alert: &AlertRow,
    (account_id, received): (i64, Money),
    business_id: i64,
) -> Result<(Vec<(Payment, &'static str)>, bool), OpError> {
    let similar = similar_amounts(received);
    let (exact, by_rule, near) = tokio::try_join!(
        app.store.open_payments_of_others(account_id, received, business_id),
        app.store.open_payments_by_rule(account_id, received, OTHERS_MAX),
        app.store.open_payments_between(account_id, similar, OTHERS_MAX),
    )?;
    let ((ended, is_cut), before) = tokio::try_join!(
        ended_lately(app, alert, account_id, (similar, received)),
        asked_before(app, alert, account_id, received),
    )?;
    let may_be_more = by_rule.len() >= OTHERS_MAX || near.len() >= OTHERS_MAX || is_cut || before.may_be_more;
    let (mut asking, about): (Vec<Payment>, Vec<Payment>) =
        exact.into_iter().chain(by_rule).chain(near).partition(|other| other.amount == received);
    asking.extend(about);
    let asks = |other: Payment| match other.amount == received {
        true => (other, "on this account asks for exactly what was received"),
        false => (other, "on this account asks for about what was received"),
    };
    let ended = ended
        .into_iter()
        // Whoever pays for somebody else is no less meant when that payment has ended, or was corrected.
        .map(|other| (other, "on this account, which has ended, asked for about what was received"));
    let before = before
        .payments
        .into_iter()
        .map(|other| (other, "on this account asked for about that before it was corrected"));
    Ok((asking.into_iter().map(asks).chain(ended).chain(before).collect(), may_be_more))
}

/// Another customer of the same merchant, whom the bank's words name more fully, however much he was to pay.
fn another_customer<'a>(
    alert: &AlertRow,
    payment: &Payment,
    (received_name, since): (&Folded, Timestamp),
    like_named: &'a [Payment],
) -> Option<&'a Payment> {
    let (own, cut) = (Beneficiary::of(payment), alert.facts.cut_lengths());
    let common = |name: &Folded| in_common(name, received_name, &cut);
    let name = Folded::new(&payment.payer_name);
    let is_other_customers = |other: &&Payment| {
        let expected = Folded::new(&other.payer_name);
        let (borne, theirs) = (common(&name), common(&expected));
        let verdict = verdict_folded(&expected, received_name, &cut);
        Beneficiary::of(other) == own
            && other.id != payment.id
            && ended_after(other, since)
            && theirs.is_much()
            && (expected.same_words(received_name)
                || are_two_customers((&name, borne), (&expected, theirs), verdict))
    };
    let is_named_so = name.same_words(received_name);
    like_named.iter().filter(|_| !is_named_so).find(is_other_customers)
}

/// Why it is weighed so.
fn why(payment: &Payment) -> &'static str {
    match payment.corrections {
        0 => "the payment may have been asked for after the money came",
        _ => "the amount was corrected",
    }
}

/// Still open, or ended after a time.
fn ended_after(payment: &Payment, time: Timestamp) -> bool {
    payment.status == Status::Pending
        || [payment.approved_at, payment.rejected_at, payment.reversed_at]
            .into_iter()
            .flatten()
            .any(|at| at >= time)
}
