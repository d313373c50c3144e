//! `/operator/payments/{transaction_id}?business=N`: one payment as its merchant sees it, with why it was matched, what was
//! posted, and its webhooks. A pending one may be rejected, an approved one reversed.

use axum::response::Response;

use super::page::{Block, DeskView, Names};
use super::payments::state;
use super::webhooks::rows as webhook_rows;
use super::{DeskPage, forbidden, frame, may};
use crate::domain::payment::{Payment, Status};
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Form, Kind, Look};
use crate::http::pages::flash::Flash;
use crate::http::pages::parts::{Empty, Link, Naira, Notice, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Facts};
use crate::http::pages::segment::of_segment;
use crate::http::pages::text::sentence;
use crate::http::paths::{OPERATOR_ALERTS, OPERATOR_BUSINESSES, OPERATOR_PAYMENTS};
use crate::ops::OpError;
use crate::ops::alerts::read::considered_in;
use crate::ops::alerts::reverse::{Reverse, ReverseRefused, reverse_payment};
use crate::ops::merchants::businesses::find_business;
use crate::ops::payments::find::whose_payment;
use crate::ops::payments::read::{PaymentHistory, Settlement, payment_history};
use crate::ops::payments::reject::{RejectRefused, reject_payment};

const REJECT: &str = "reject-payment";
const REVERSE: &str = "reverse-payment";

/// A form that was refused: its id, why, and at which field.
struct Refusal {
    form: &'static str,
    field: &'static str,
    why: String,
    /// What speaks against a reversal by the alert that was named.
    obstacles: Vec<String>,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(id) = of_segment(ask.behind(&format!("{OPERATOR_PAYMENTS}/"))) else { return Ok(unknown(ask)) };
    let given = ask.query("business").and_then(|text| text.parse().ok());
    let Ok(business) = whose_payment(ask.app(), &id, given).await? else { return Ok(unknown(ask)) };
    let Some(history) = payment_history(ask.app(), business, &id).await? else { return Ok(unknown(ask)) };
    if !ask.is_form() {
        return show(ask, &history, None).await;
    }
    if let Some(forbidden) = forbidden(ask, StaffRight::Decide) {
        return Ok(forbidden);
    }
    let payment = &history.view.payment;
    match act(ask, payment).await? {
        Ok(done) => Ok(ask.see(&super::payments::address_of(payment), Some(Flash::done(done)))),
        Err(refusal) => {
            let history = payment_history(ask.app(), business, &id).await?.unwrap_or(history);
            show(ask, &history, Some(refusal)).await
        }
    }
}

async fn act(ask: &Ask, payment: &Payment) -> Result<Result<String, Refusal>, OpError> {
    let refused =
        |form, field, why: String| Err(Refusal { form, field, why: sentence(&why), obstacles: Vec::new() });
    let (business_id, id) = (payment.business_id, payment.transaction_id.as_str());
    match ask.field("act") {
        "reject" => {
            let done =
                reject_payment(ask.app(), business_id, id, ask.operator(), ask.field("reason")).await?;
            Ok(match done {
                Ok(_) => Ok(format!("Payment {id} is rejected. No money can approve it any more.")),
                Err(why @ RejectRefused::Reason) => refused(REJECT, "reason", why.to_string()),
                Err(why) => refused(REJECT, "", why.to_string()),
            })
        }
        "reverse" => {
            let alert = ask.field("alert").trim();
            let undoing_alert = match alert.parse::<i64>() {
                Ok(alert) => Some(alert),
                Err(_) if alert.is_empty() => None,
                Err(_) => return Ok(refused(REVERSE, "alert", "an alert is named by its number".to_owned())),
            };
            let despite = Some(ask.field("despite")).filter(|text| !text.trim().is_empty());
            let wanted = Reverse {
                business_id,
                transaction_id: id,
                reason: ask.field("reason"),
                operator: ask.operator(),
                undoing_alert,
                despite,
            };
            Ok(match Box::pin(reverse_payment(ask.app(), &wanted)).await? {
                Ok(_) => Ok(format!(
                    "Payment {id} is reversed: its money is taken from the balance. The webhook payment.reversed \
                     tells the merchant."
                )),
                Err(ReverseRefused::Obstacles(obstacles)) => Err(Refusal {
                    form: REVERSE,
                    field: "despite",
                    why: "Nothing was reversed: the alert does not look like this transfer's.".to_owned(),
                    obstacles,
                }),
                Err(why @ ReverseRefused::Reason) => refused(REVERSE, "reason", why.to_string()),
                Err(
                    why @ (ReverseRefused::NoAlert(_)
                    | ReverseRefused::Copy(..)
                    | ReverseRefused::NotUndoing(_)),
                ) => refused(REVERSE, "alert", why.to_string().replace("--alert", "the alert")),
                Err(why) => refused(REVERSE, "", why.to_string()),
            })
        }
        _ => Ok(refused("", "", "this form is not known here; open the page again".to_owned())),
    }
}

async fn show(ask: &Ask, history: &PaymentHistory, refusal: Option<Refusal>) -> Result<Response, OpError> {
    let payment = &history.view.payment;
    let frame = frame(ask, &format!("Payment {}", payment.transaction_id), DeskPage::Payment).await?;
    let title = format!("{} · {}", Naira(payment.amount).text(), payment.payer_name);
    let business = find_business(ask.app(), payment.business_id).await?.map(|found| found.name);
    let mut view = DeskView::new(frame, title)
        .back(OPERATOR_PAYMENTS, "All payments")
        .act(Cell::Beside(state(payment)))
        .refused(refusal.as_ref().map(|refusal| refusal.why.as_str()));
    if let Some(alarm) = history.alarm {
        let link = Link::new(format!("{OPERATOR_ALERTS}/{alarm}"), format!("Look at alert {alarm}"));
        view = view.add(
            Notice::new(
                Tone::Warn,
                "The bank may have taken this money back. If it did, reverse the payment with that alert; if not, \
                 dismiss the alert.",
            )
            .with_link(link),
        );
    }
    view = view.add(facts(ask, history, business));
    view = view.section("came", "What came, and why it was matched");
    if history.settlements.is_empty() {
        view = view.add(Block::text("No money has been matched to it."));
    }
    for settlement in &history.settlements {
        view = view.add(settled(ask, settlement));
        let considered = considered_in(&settlement.evidence);
        if !considered.is_empty() {
            let told = considered.iter().map(|one| {
                let (name, amount, time) = (&one.name, &one.amount_fit, &one.time_fit);
                format!(
                    "{} of business {}: amount {amount}, name {name}, time {time}. {}",
                    one.transaction_id,
                    one.business_id,
                    sentence(&one.name_reason)
                )
                .into()
            });
            let told = Block::List(told.collect());
            view = view.add(Block::More("Payments that were considered".into(), vec![told]));
        }
        let raw = Block::Code((&settlement.evidence).into());
        view = view.add(Block::More("The evidence as it is kept".into(), vec![raw]));
    }
    let empty = Empty::new("No webhooks", "A webhook is sent when the payment is approved.");
    let deliveries: Vec<_> = history.deliveries.iter().rev().cloned().collect();
    let names = Names::of(ask, vec![payment.business_id]).await?;
    view = view.section("webhooks", "Webhooks").add(webhook_rows(ask, &deliveries, &names, empty, None));
    if may(ask, StaffRight::Decide) {
        view = acts(ask, view, payment, history.alarm, refusal.as_ref());
    }
    Ok(view.answer(ask))
}

fn acts(
    ask: &Ask,
    view: DeskView,
    payment: &Payment,
    alarm: Option<i64>,
    refusal: Option<&Refusal>,
) -> DeskView {
    if payment.status == Status::Pending {
        return view.section("reject", "Reject it").add(reject_form(ask, payment, refusal));
    }
    if payment.status == Status::Approved && payment.reversed_at.is_none() {
        let view = view.section("reverse", "Reverse it").add(Block::text(
            "Takes its money from the merchant's balance by the opposite entry; it moves no money at the bank. It cannot be \
             undone, and the payment can never be approved again.",
        ));
        return view.add(reverse_form(ask, payment, alarm, refusal));
    }
    view
}

fn form_of(ask: &Ask, id: &'static str, payment: &Payment, act: &str, button: &str) -> Form {
    ask.new_form(id, super::payments::address_of(payment), button)
        .hidden("act", act)
        .hidden("payment", &payment.transaction_id)
        .look(Look::Danger)
}

fn field(ask: &Ask, form: &'static str, name: &'static str, label: &str, refusal: Option<&Refusal>) -> Field {
    let of_form = refusal.filter(|refusal| refusal.form == form);
    let wrong = of_form.filter(|refusal| refusal.field == name).map(|refusal| refusal.why.as_str());
    let typed = if of_form.is_some() { ask.field(name) } else { "" };
    Field::new(form, name, label, Kind::Text).value(typed).error(wrong)
}

fn reject_form(ask: &Ask, payment: &Payment, refusal: Option<&Refusal>) -> Form {
    form_of(ask, REJECT, payment, "reject", "Reject the payment").field(
        field(ask, REJECT, "reason", "Why", refusal)
            .hint("The merchant sees it. Nobody can approve the payment afterwards."),
    )
}

fn reverse_form(ask: &Ask, payment: &Payment, alarm: Option<i64>, refusal: Option<&Refusal>) -> Form {
    let alert = field(ask, REVERSE, "alert", "Number of the alert in which the bank takes it back", refusal)
        .optional()
        .hint("Leave it out if the match was wrong: the money then waits in review again.");
    let alert = match alarm {
        Some(alarm) if refusal.is_none() => alert.value(alarm.to_string()),
        _ => alert,
    };
    let form = form_of(ask, REVERSE, payment, "reverse", "Reverse the payment")
        .field(field(ask, REVERSE, "reason", "Why", refusal))
        .field(alert);
    let obstacles = refusal.map(|refusal| refusal.obstacles.as_slice()).unwrap_or_default();
    if obstacles.is_empty() {
        return form;
    }
    let told: Vec<String> = obstacles.iter().map(|one| sentence(one)).collect();
    let despite = Field::new(REVERSE, "despite", "Reverse it despite this, because", Kind::Text);
    form.field(despite.error(Some(told.join(" "))))
}

fn facts(ask: &Ask, history: &PaymentHistory, business: Option<String>) -> Facts {
    let (view, zone) = (&history.view, ask.zone());
    let payment = &view.payment;
    let mut facts = Facts::new()
        .fact("Transaction id", Cell::code(&payment.transaction_id))
        .fact(
            "Business",
            Cell::link(
                format!("{OPERATOR_BUSINESSES}/{}", payment.business_id),
                business.unwrap_or_else(|| payment.business_id.to_string()),
            ),
        )
        .fact("Asked for", payment.amount);
    if let Some(received) = payment.received {
        facts = facts.fact("Came", received);
    }
    facts = facts
        .fact("Charges", payment.charges.total())
        .fact("The business receives", payment.business_receives)
        .fact("Made", zone.exact(payment.created_at))
        .fact("Valid until", zone.exact(payment.expires_at));
    if payment.status == Status::Pending {
        facts = facts.fact("Late transfers count until", zone.exact(payment.approvable_until));
    }
    for (label, at) in [
        ("Approved", payment.approved_at),
        ("Rejected", payment.rejected_at),
        ("Reversed", payment.reversed_at),
    ] {
        if let Some(at) = at {
            facts = facts.fact(label, zone.exact(at));
        }
    }
    let account = view.account.as_ref().map(|one| format!("{} {} · {}", one.bank_name, one.number, one.name));
    let website = view.website.as_ref().map(|site| site.url.clone());
    let corrections = (payment.corrections > 0).then(|| payment.corrections.to_string());
    for (label, text) in [
        ("Pays into", account),
        ("Website", website),
        ("Reference", payment.external_reference.clone()),
        ("Payer's bank", payment.payer.bank.clone()),
        ("Service", payment.payer.service.clone()),
        ("Another amount", payment.mismatch_reason.clone()),
        ("Rejected because", payment.reject_reason.clone()),
        ("Corrections of the amount", corrections),
    ] {
        if let Some(text) = text {
            facts = facts.fact(label, Cell::text(text));
        }
    }
    facts
}

fn settled(ask: &Ask, settlement: &Settlement) -> Facts {
    let zone = ask.zone();
    let mut facts = Facts::new();
    if let Some(alert) = settlement.alert_id {
        facts = facts.fact("By", Cell::link(format!("{OPERATOR_ALERTS}/{alert}"), format!("Alert {alert}")));
    }
    facts = facts
        .fact("Rule", Cell::text(sentence(&settlement.rule)))
        .fact("Settled", zone.exact(settlement.settled_at))
        .fact("Received", settlement.received)
        .fact("Charges", settlement.charge)
        .fact("Credited", settlement.business_receives);
    if let Some(operator) = &settlement.operator {
        facts = facts.fact("Approved by", Cell::text(operator));
    }
    if let Some(at) = settlement.reversed_at {
        facts = facts
            .fact("Reversed", zone.exact(at))
            .fact("Because", Cell::text(settlement.reverse_reason.clone().unwrap_or_default()));
    }
    if let Some(alert) = settlement.undoing_alert {
        let to = Cell::link(format!("{OPERATOR_ALERTS}/{alert}"), format!("Alert {alert}"));
        facts = facts.fact("Undone by", to);
    }
    facts
}
