//! `/operator/alerts/{id}`: one alert with its reasons, and the payments that it may pay, each marked where amount, name and
//! time agree. After a decision the next alert of the view is open.
//!
//! What speaks against an approval is shown first; the reason that overrides it covers what was shown and no more.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::alerts::{View, state};
use super::{At, frame, operator};
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::payment::Payment;
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Form, Kind, Look};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Naira, Notice, Tone};
use crate::http::pages::plain::{not_allowed, unknown};
use crate::http::pages::rows::{Cell, Facts};
use crate::http::pages::text::Text;
use crate::http::paths::OPERATOR_ALERTS;
use crate::ops::OpError;
use crate::ops::alerts::approve::{Approve, ApproveRefused, approve_alert};
use crate::ops::alerts::browse::browse_alerts;
use crate::ops::alerts::dismiss::dismiss_alert;
use crate::ops::alerts::read::{AlertDetails, Suggestion, alert_details, alert_totals, considered_in};

#[derive(Template)]
#[template(path = "operator/alert.html")]
struct AlertPage {
    frame: Frame,
    back: String,
    title: Text,
    state: Cell,
    amount: Option<Naira>,
    /// Each a sentence of the reason.
    reasons: Vec<Text>,
    facts: Facts,
    told: Facts,
    suggestions: Vec<Shown>,
    /// For a payment that is not suggested.
    other: Option<Form>,
    dismiss: Option<Form>,
}

/// A payment that may be meant.
struct Shown {
    title: Text,
    marks: Vec<Cell>,
    facts: Facts,
    obstacles: Vec<Text>,
    form: Option<Form>,
}

/// An approval or dismissal that was refused.
struct Refusal {
    why: String,
    /// Onto which payment, and what speaks against it.
    onto: Option<(i64, String, Vec<String>)>,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let id = ask.behind("/operator/alerts/").parse::<i64>().ok();
    let details = match id {
        Some(id) => alert_details(ask.app(), id).await?,
        None => None,
    };
    let Some(details) = details else { return Ok(unknown(ask)) };
    let refusal = match ask.is_form() {
        true if !may_decide(ask) => return Ok(not_allowed(ask, &StaffRight::Decide.roles())),
        true => match act(ask, &details.alert).await? {
            Ok(done) => return next(ask, &details.alert, done).await,
            Err(refusal) => Some(refusal),
        },
        false => None,
    };
    show(ask, &details, refusal).await
}

fn may_decide(ask: &Ask) -> bool {
    ask.session.as_ref().is_some_and(|session| session.may(StaffRight::Decide))
}

/// What was done, in words; or why not.
async fn act(ask: &Ask, alert: &AlertRow) -> Result<Result<String, Refusal>, OpError> {
    let refused = |why: String| Err(Refusal { why, onto: None });
    match ask.field("act") {
        "approve" => {
            let Ok(business) = ask.field("business").trim().parse::<i64>() else {
                return Ok(refused("Say which business the payment is of.".to_owned()));
            };
            let payment = ask.field("payment").trim();
            let despite = Some(ask.field("despite")).filter(|text| !text.trim().is_empty());
            let seen: Vec<String> =
                ask.form.iter().flat_map(|form| form.all("seen")).map(str::to_owned).collect();
            let wanted = Approve {
                alert_id: alert.id,
                business_id: business,
                transaction_id: payment,
                operator: operator(ask),
                despite,
                seen: Some(&seen),
            };
            Ok(match approve_alert(ask.app(), &wanted).await? {
                Ok(_) => Ok(format!("Alert {} pays {payment} now.", alert.id)),
                Err(ApproveRefused::Obstacles(all) | ApproveRefused::Unseen(all)) => Err(Refusal {
                    why: "Nothing was approved: something speaks against it. Read it at the payment below."
                        .to_owned(),
                    onto: Some((business, payment.to_owned(), all)),
                }),
                Err(other) => refused(sentence(&other.to_string())),
            })
        }
        "dismiss" => {
            let done = dismiss_alert(ask.app(), alert.id, operator(ask), ask.field("reason")).await?;
            Ok(match done {
                Ok(_) => Ok(format!("Alert {} is dismissed.", alert.id)),
                Err(why) => refused(sentence(&why.to_string())),
            })
        }
        _ => Ok(refused("This form is not known here. Open the page again.".to_owned())),
    }
}

/// Opens the next alert of the view, or the empty list.
async fn next(ask: &Ask, alert: &AlertRow, done: String) -> Result<Response, OpError> {
    let view = View::of(ask);
    let waiting = browse_alerts(ask.app(), &view.browse(), None).await?.ok();
    let next = waiting.and_then(|page| page.rows.into_iter().find(|one| one.id != alert.id));
    let path = next.map_or(OPERATOR_ALERTS.to_owned(), |next| format!("{OPERATOR_ALERTS}/{}", next.id));
    Ok(ask.see(&view.address(&path), Some(Flash::done(done))))
}

async fn show(ask: &Ask, details: &AlertDetails, refusal: Option<Refusal>) -> Result<Response, OpError> {
    let (alert, facts, view) = (&details.alert, &details.alert.facts, View::of(ask));
    let totals = alert_totals(ask.app()).await?;
    let waiting =
        totals.iter().find(|total| total.status == AlertStatus::Review).map_or(0, |total| total.count);
    let title = format!("Alert {}", alert.id);
    let mut frame = frame(ask, &title, At::Alerts, waiting);
    if let Some(refusal) = &refusal {
        frame = frame.notice(Notice::refused(&refusal.why));
    }
    let here = view.address(&format!("{OPERATOR_ALERTS}/{}", alert.id));
    let can_act = may_decide(ask);
    let is_open = can_act && (alert.status.is_waiting() || alert.status == AlertStatus::Dismissed);
    let onto = refusal.as_ref().and_then(|refusal| refusal.onto.as_ref());
    let considered = considered_in(&alert.evidence);
    let mut suggestions = Vec::new();
    for (number, one) in considered.iter().enumerate() {
        let is_it = |payment: &&Payment| {
            payment.transaction_id == one.transaction_id && payment.business_id == one.business_id
        };
        let now = details.considered.iter().find(is_it);
        let against =
            onto.filter(|(business, id, _)| *business == one.business_id && *id == one.transaction_id);
        let against = against.map(|(_, _, all)| all.as_slice()).unwrap_or_default();
        let form = is_open.then(|| approve_form(ask, &here, (number + 1, alert.id), one, against));
        suggestions.push(suggestion(ask, one, now, against, form));
    }
    let page = AlertPage {
        frame,
        back: view.address(OPERATOR_ALERTS),
        title: facts.payer_name.as_deref().unwrap_or("No payer is named").into(),
        state: state(alert),
        amount: facts.amount.map(Naira),
        reasons: alert.reason.split("; ").map(|reason| sentence(reason).into()).collect(),
        facts: facts_of(ask, details),
        told: told(alert),
        suggestions,
        other: is_open
            .then(|| other_form(ask, &here, alert.id, onto.filter(|onto| !is_suggested(&considered, onto)))),
        dismiss: (can_act && alert.status != AlertStatus::Dismissed && alert.status != AlertStatus::Matched)
            .then(|| dismiss_form(ask, &here, alert.id)),
    };
    let status = if refusal.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(ask.html(status, &page))
}

/// It has a form of its own.
fn is_suggested(considered: &[Suggestion], (business, id, _): &(i64, String, Vec<String>)) -> bool {
    considered.iter().any(|one| one.business_id == *business && one.transaction_id == *id)
}

fn approve_form(
    ask: &Ask,
    here: &str,
    (number, alert): (usize, i64),
    one: &Suggestion,
    against: &[String],
) -> Form {
    let id = format!("approve-alert-{number}");
    let form = ask
        .new_form(&id, here, "Approve")
        .hidden("act", "approve")
        .hidden("alert", alert.to_string())
        .hidden("payment", &one.transaction_id)
        .hidden("business", one.business_id.to_string());
    let form = if number == 1 { form } else { form.look(Look::Plain) };
    against_it(form, &id, against)
}

/// What was shown goes with the form, and the reason covers it.
fn against_it(form: Form, id: &str, against: &[String]) -> Form {
    if against.is_empty() {
        return form;
    }
    let reason = Field::new(id, "despite", "Why you approve it all the same", Kind::Area(2)).focused();
    against.iter().fold(form, |form, one| form.hidden("seen", one)).field(reason).look(Look::Danger)
}

fn other_form(ask: &Ask, here: &str, alert: i64, onto: Option<&(i64, String, Vec<String>)>) -> Form {
    const FORM: &str = "approve-alert";
    let typed = |name: &str| onto.map_or_else(String::new, |_| ask.field(name).to_owned());
    let form = ask
        .new_form(FORM, here, "Approve this payment")
        .look(Look::Plain)
        .hidden("act", "approve")
        .hidden("alert", alert.to_string())
        .field(Field::new(FORM, "payment", "Transaction id", Kind::Text).value(typed("payment")))
        .field(Field::new(FORM, "business", "Number of the business", Kind::Text).value(typed("business")));
    let against = onto.map(|(_, _, all)| all.as_slice()).unwrap_or_default();
    against_it(form, FORM, against)
}

fn dismiss_form(ask: &Ask, here: &str, alert: i64) -> Form {
    const FORM: &str = "dismiss-alert";
    let reason = Field::new(FORM, "reason", "Why it pays nothing", Kind::Text)
        .hint("Such as: refund from a supplier. It is kept with your name.");
    ask.new_form(FORM, here, "Dismiss the alert")
        .look(Look::Danger)
        .hidden("act", "dismiss")
        .hidden("alert", alert.to_string())
        .field(reason)
}

fn suggestion(
    ask: &Ask,
    one: &Suggestion,
    now: Option<&Payment>,
    against: &[String],
    form: Option<Form>,
) -> Shown {
    let agree = |label: &str, told: &str, good: &[&str], near: &[&str]| {
        let tone = match told {
            told if good.contains(&told) => Tone::Good,
            told if near.contains(&told) => Tone::Warn,
            _ => Tone::Bad,
        };
        Cell::badge(tone, format!("{label}: {told}"))
    };
    let marks = vec![
        agree("Amount", &one.amount_fit, &["exact"], &["short by the charges"]),
        agree("Name", &one.name, &["match"], &["close"]),
        agree("Time", &one.time_fit, &["fits"], &["missed by less than a day"]),
        Cell::badge(if one.account == "the alert's account" { Tone::Good } else { Tone::Warn }, &one.account),
    ];
    let mut facts = Facts::new()
        .fact("Payer", Cell::text(&one.expected_name))
        .fact("Business", Cell::text(one.business_id.to_string()));
    if let Some(payment) = now {
        let zone = ask.zone();
        facts = facts
            .fact("Asked for", payment.amount)
            .fact("State now", Cell::text(payment.status.as_str()))
            .fact("Made", zone.time(payment.created_at))
            .fact("Valid until", zone.time(payment.expires_at));
    }
    Shown {
        title: (&one.transaction_id).into(),
        marks,
        facts: facts.fact("About the name", Cell::text(&one.name_reason)),
        obstacles: against.iter().map(|one| sentence(one).into()).collect(),
        form,
    }
}

fn facts_of(ask: &Ask, details: &AlertDetails) -> Facts {
    let (alert, zone) = (&details.alert, ask.zone());
    let mut facts = Facts::new()
        .fact("Number", Cell::text(alert.id.to_string()))
        .fact("First seen", zone.exact(alert.first_seen))
        .fact("Proof", Cell::text(alert.authenticity.as_str()));
    if let Some(paid) = &details.transaction_id {
        facts = facts.fact("Pays", Cell::text(paid));
    }
    if let Some(alarm) = details.alarm {
        let to = format!("{OPERATOR_ALERTS}/{alarm}");
        facts = facts.fact("May have been taken back by", Cell::link(to, format!("Alert {alarm}")));
    } else if let Some(linked) = alert.linked_alert_id {
        let to = format!("{OPERATOR_ALERTS}/{linked}");
        facts = facts.fact("Speaks about it", Cell::link(to, format!("Alert {linked}")));
    }
    facts
}

/// What the mail says, as it was read.
fn told(alert: &AlertRow) -> Facts {
    let facts = &alert.facts;
    let texts = [
        ("Bank", &facts.bank),
        ("Account shown", &facts.account_number),
        ("Virtual account", &facts.virtual_account),
        ("Narration", &facts.narration),
        ("Reference", &facts.reference),
        ("Session id", &facts.session_id),
        ("Payer's account", &facts.payer_account_number),
        ("Payer's bank", &facts.payer_bank),
        ("From", &alert.mail_from),
        ("Subject", &alert.subject),
    ];
    let known = texts.into_iter().filter_map(|(label, text)| Some((label, text.as_ref()?)));
    known.fold(Facts::new(), |facts, (label, text)| facts.fact(label, Cell::text(text)))
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let rest = letters.as_str();
    let stop = if rest.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{rest}{stop}")
}
