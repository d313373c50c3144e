//! What speaks against an approval by a person in the alert and its payment alone (contract/matching.md#m25). What other alerts and
//! other payments say is `who_else`'s, `similar`'s and `same_payer`'s. Used by `approve`.

use crate::domain::account::{ReceivingAccount, mask_fits};
use crate::domain::alert::AlertRow;
use crate::domain::matching::{AmountFit, CLOCK_SLACK, compare_payer};
use crate::domain::money::{Money, naira};
use crate::domain::name::{Comparison, Folded, NameVerdict, says_nothing};
use crate::domain::payment::Payment;
use crate::domain::same_transfer::{MAY_HAVE_TAKEN, TELLS_OF_LOSS, interval};
use crate::domain::told_before::{REVERSED, REVERSED_BY};

pub fn compare_names(alert: &AlertRow, payment: &Payment) -> Comparison {
    match &alert.facts.payer_name {
        Some(name) => compare_payer(payment, name, &alert.facts.cut_lengths()),
        None => Comparison { verdict: NameVerdict::Close, reason: "the alert shows no payer name".into() },
    }
}

/// A payment may bear a whole sentence for a name, which is close to everybody's.
fn tells_no_name(alert: &AlertRow, payment: &Payment) -> bool {
    alert.facts.payer_name.as_deref().is_some_and(|payer| {
        says_nothing(&Folded::new(&payment.payer_name), Some(&Folded::new(payer)), &alert.facts.cut_lengths())
    })
}

/// What must be overridden with a reason (contract/matching.md#m25).
pub fn obstacles(
    alert: &AlertRow,
    payment: &Payment,
    (account, asked_on): (&ReceivingAccount, Option<&ReceivingAccount>),
    received: Money,
    name: &Comparison,
    operator: &str,
) -> Vec<String> {
    let mut all = Vec::new();
    if name.verdict == NameVerdict::Different {
        all.push(format!("the payer's name is different: {}", name.reason));
    } else if tells_no_name(alert, payment) {
        all.push(
            "the name of the payment is too long to be compared, and names not even two words of the payer's"
                .into(),
        );
    }
    // Neither who paid nor how much ties the money to the payment.
    if alert.facts.payer_name.is_none() && !AmountFit::of(payment, received).approves() {
        all.push(format!(
            "the alert shows no payer name, and {} was received for a payment of {}",
            naira(received),
            naira(payment.amount)
        ));
    }
    // An alert that names no account names no other one.
    let names_another = match (alert.account_id, &alert.facts.account_number) {
        (Some(id), _) => Some(id) != payment.account_id,
        // Two banks may show the same digits.
        (None, Some(shown)) => is_of_another_bank(alert, account) || !mask_fits(shown, &account.number),
        (None, None) => is_of_another_bank(alert, account),
    };
    if names_another {
        all.push(another_account(alert, account, asked_on));
    }
    if let Some(owner) = account.business_id.filter(|owner| *owner != payment.business_id) {
        all.push(format!(
            "account {} belongs to business {owner}, but the payment belongs to another business",
            account.number
        ));
    }
    if payment.created_at > interval(alert).end + CLOCK_SLACK {
        all.push("the payment was created after the transfer, by the bank's time".into());
    }
    // In i128: twice an amount must not leave the range.
    let (got, asked) = (i128::from(received.kobo()), i128::from(payment.amount.kobo()));
    if got * 2 < asked {
        all.push(format!(
            "only {} was received, less than half of {}",
            naira(received),
            naira(payment.amount)
        ));
    }
    if got > asked * 2 {
        all.push(format!("{} was received, more than twice {}", naira(received), naira(payment.amount)));
    }
    if let Some(linked) = alert.linked_alert_id {
        all.push(format!("alert {linked} may be a copy or a reversal of this one"));
    }
    let doubts = alert.facts.doubts.iter().filter(|doubt| !is_answered(doubt, operator));
    all.extend(doubts.map(|doubt| match doubt.starts_with(REVERSED_BY) {
        true => format!("the payment that it paid was {doubt}"),
        false => format!("the mail is doubtful: {doubt}"),
    }));
    all
}

fn is_of_another_bank(alert: &AlertRow, account: &ReceivingAccount) -> bool {
    alert.facts.bank.as_ref().is_some_and(|bank| *bank != account.bank)
}

/// Doubts that are no obstacle. That no one account could be told, that the bank has no template, and that a person
/// forwarded the mail are why a person decides; whoever names the payment names its account, and one that does not fit
/// is told above. Of money that was taken back the other alerts are asked anew. Who reversed a wrong match himself knows
/// of it; a colleague does not.
fn is_answered(doubt: &str, operator: &str) -> bool {
    const WHOLE: [&str; 2] = ["the alert names no account", "it was forwarded by hand"];
    const BEGINNINGS: [&str; 4] = [
        "no registered account at that bank fits ",
        "several registered accounts at that bank fit ",
        "the account was added with --force",
        REVERSED,
    ];
    const ENDS: [&str; 3] = [" shows fewer than three digits", MAY_HAVE_TAKEN, TELLS_OF_LOSS];
    doubt.strip_prefix(REVERSED_BY).is_some_and(|by| by.starts_with(&format!("{operator}: ")))
        || WHOLE.contains(&doubt)
        || BEGINNINGS.iter().any(|begin| doubt.starts_with(begin))
        || ENDS.iter().any(|end| doubt.ends_with(end))
}

/// Where the money came to, and where the payment asks for it.
fn another_account(
    alert: &AlertRow,
    account: &ReceivingAccount,
    asked_on: Option<&ReceivingAccount>,
) -> String {
    let came_to = match (alert.account_id, &alert.facts.account_number) {
        (Some(_), _) => Some(format!("{} ({})", account.number, account.bank_name)),
        (None, Some(shown)) => match alert.facts.bank.as_ref().filter(|bank| **bank != account.bank) {
            Some(bank) => Some(format!("{shown} at {bank}")),
            None => Some(shown.clone()),
        },
        (None, None) => None,
    };
    match (came_to, asked_on) {
        (Some(came_to), Some(asked_on)) => format!(
            "the money came to a different account: {came_to}, not {} ({})",
            asked_on.number, asked_on.bank_name
        ),
        _ => "the money came to a different account than the payment's".into(),
    }
}
