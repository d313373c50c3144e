//! An alert as commands print it.

use super::banks::occurred;
use super::print::{Object, Shown};
use crate::alert_reader::Banks;
use crate::alert_reader::check::{direction_word, kind_word};
use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus, Direction};
use crate::domain::payment::Payment;
use crate::ops::alerts::approve::ApproveRefused;
use crate::ops::alerts::read::{AlertDetails, ReversedPayment, alert_details};

/// A bank's own name, where it is known.
pub(super) fn display_name<'a>(banks: &'a Banks, code: Option<&'a str>) -> Option<&'a str> {
    code.map(|code| banks.by_code(code).map_or(code, |bank| bank.name.as_str()))
}

/// An alert in a list.
pub(super) fn row(
    alert: &AlertRow,
    transaction_id: Option<String>,
    banks: &Banks,
    alarm: Option<i64>,
) -> Object {
    let facts = &alert.facts;
    // One that was approved after all is no longer dismissed.
    let dismissed_from = alert.dismissed_from.filter(|_| alert.status == AlertStatus::Dismissed);
    Object::new()
        .with("id", alert.id)
        .with("outcome", alert.status.as_str())
        .with("authentic", alert.authenticity.as_str())
        .with("dismissed_from", dismissed_from.map(AlertStatus::as_str))
        .with("bank", display_name(banks, facts.bank.as_deref()))
        .with("direction", facts.direction.map(direction_word))
        .with("kind", facts.kind.map(kind_word))
        .with("amount", facts.amount)
        .with("currency", facts.currency.as_ref())
        .with("payer_name", facts.payer_name.as_ref())
        .with("account_number", facts.virtual_account.as_ref().or(facts.account_number.as_ref()))
        .with("account_id", alert.account_id)
        .with("reference", facts.reference.as_ref())
        .with("session_id", facts.session_id.as_ref())
        .with("occurred_at", occurred(facts))
        .with("first_seen_at", alert.first_seen)
        .with("decided_at", alert.decided_at)
        .with("transaction_id", transaction_id)
        .with("linked_alert_id", alert.linked_alert_id)
        .with("alarm_alert_id", alarm)
        .with("mail_from", alert.mail_from.as_ref())
        .with("reason", &alert.reason)
}

/// All that is known of one alert, for people or as JSON.
pub(super) async fn object(app: &App, banks: &Banks, id: i64, is_json: bool) -> anyhow::Result<Object> {
    let details = alert_details(app, id).await?.ok_or(ApproveRefused::NoAlert(id))?;
    let AlertDetails { alert, transaction_id, alarm, took_back, reversed, considered, acts: _ } = details;
    let facts = &alert.facts;
    let reversed: Vec<Object> = reversed.iter().map(reversed_payment).collect();
    let shown = row(&alert, transaction_id, banks, alarm);
    // Nearly no alert has one: people are not told of that.
    let shown =
        if is_json || !reversed.is_empty() { shown.with("reversed_payments", reversed) } else { shown };
    let took_back: Vec<Object> = took_back
        .into_iter()
        .map(|(credit, paid)| Object::new().with("alert_id", credit).with("transaction_id", paid))
        .collect();
    let shown = match is_json || !took_back.is_empty() {
        true => shown.with("may_have_taken_back", took_back),
        false => shown,
    };
    let shown = shown
        .with("source", &alert.source)
        .with("authentic_by", alert.authentic_by.as_ref())
        .with("template", facts.template.as_ref())
        .with("shown_account", facts.account_number.as_ref())
        .with("holder_name", facts.holder_name.as_ref())
        .with("payer_account_number", facts.payer_account_number.as_ref())
        .with("payer_bank", facts.payer_bank.as_ref())
        .with("narration", facts.narration.as_ref())
        .with("doubts", facts.doubts.clone())
        .with("subject", alert.subject.as_ref())
        .with("message_id", alert.message_id.as_ref())
        .with("mailed_at", alert.mailed_at)
        .with("is_credit", facts.direction == Some(Direction::Credit));
    let stored = if is_json { None } else { Object::stored(&alert.evidence) };
    Ok(match stored {
        Some(evidence) => {
            shown.with("evidence", evidence.with_each("considered", |one| as_now(one, &considered)))
        }
        None => {
            let now: Vec<Object> = considered.iter().map(status_now).collect();
            shown.with("evidence", Shown::json(&alert.evidence)).with("considered_now", now)
        }
    })
}

/// A payment that the alert funded until it was reversed.
fn reversed_payment(reversed: &ReversedPayment) -> Object {
    let ReversedPayment { payment, settlement } = reversed;
    Object::new()
        .with("transaction_id", &payment.transaction_id)
        .with("business_id", payment.business_id)
        .with("received_amount", settlement.received)
        .with("settled_at", settlement.settled_at)
        .with("reversed_at", settlement.reversed_at)
        .with("reverse_reason", settlement.reverse_reason.as_ref())
        .with("undoing_alert_id", settlement.undoing_alert)
}

/// What became of a payment since it was considered: the evidence is as of then.
fn status_now(payment: &Payment) -> Object {
    Object::new()
        .with("transaction_id", &payment.transaction_id)
        .with("business_id", payment.business_id)
        .with("status", payment.status.as_str())
        .with("is_reversed", payment.reversed_at.is_some())
}

/// The same for people, beside what it was then.
fn as_now(one: Object, considered: &[Payment]) -> Object {
    let is_it = |payment: &&Payment| {
        payment.transaction_id == one.text("transaction_id")
            && Some(payment.business_id) == one.int("business_id")
    };
    let Some(payment) = considered.iter().find(is_it) else { return one };
    let now = match payment.reversed_at {
        Some(_) => "approved, reversed",
        None => payment.status.as_str(),
    };
    let told = match one.text("status") {
        then if then == now => return one,
        "approved" if payment.reversed_at.is_some() => now.to_owned(),
        then => format!("{then} (now {now})"),
    };
    one.replaced("status", told)
}
