//! `/operator/alerts/{id}`: one alert beside its mail, with its reasons and the payments that it may pay, each marked where
//! amount, name, time and account agree. After a decision the next alert of the view is open.
//!
//! What speaks against an approval is shown before anybody approves; the reason that overrides it covers what was
//! shown and no more. What the forms do is in `alert_decision`.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::alert_decision::{Came, Refusal, act, standing};
use super::alerts::{View, keys_are_on, state};
use super::mail::MailView;
use super::{DeskPage, forbidden, frame, id_behind, may};
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::money::{Money, naira};
use crate::domain::payment::{Payment, Status};
use crate::domain::text::reasons_in;
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Form, Kind, Look};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::{Frame, link};
use crate::http::pages::parts::{Naira, Notice, Step, Timeline, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Facts};
use crate::http::pages::text::Text;
use crate::http::pages::text::sentence;
use crate::http::paths::{OPERATOR_ALERTS, OPERATOR_BUSINESSES, OPERATOR_PAYMENTS};
use crate::ops::OpError;
use crate::ops::alerts::approve::{Approve, ApproveRefused, approval_obstacles};
use crate::ops::alerts::browse::neighbour;
use crate::ops::alerts::read::{AlertDetails, Suggestion, alert_details, considered_in, reasons_of};
use crate::ops::alerts::reread::may_be_reread;
use crate::ops::merchants::businesses::find_business;

/// Suggestions that are shown, the likeliest first, and those of which what speaks against them is looked up.
const SUGGESTIONS_MAX: usize = 9;
const WEIGHED_MAX: usize = 3;
/// Keys of the suggestions behind the first.
const DIGITS: [&str; SUGGESTIONS_MAX] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
/// What alerts are most often dismissed for.
const OFTEN: [&str; 6] = [
    "own transfer",
    "refund from a supplier",
    "salary or loan",
    "not a customer's payment",
    "returned to the sender",
    "advertising",
];

#[derive(Template)]
#[template(path = "operator/alert.html")]
struct AlertPage {
    frame: Frame,
    back: String,
    search: String,
    previous: Option<String>,
    next: Option<String>,
    keys: bool,
    title: Text,
    state: Cell,
    amount: Option<Naira>,
    /// When it came, from where.
    came: Text,
    /// Of one that is decided: by whom.
    decided: Option<Text>,
    /// Each a sentence of the reason.
    reasons: Vec<Text>,
    suggestions: Vec<Shown>,
    mail: MailView,
    read: Facts,
    /// For a payment that is not suggested.
    other: Option<Form>,
    is_other_open: bool,
    dismiss: Option<Form>,
    reread: Option<Form>,
    note: Option<Form>,
    history: Timeline,
}

/// A payment that may be meant.
struct Shown {
    title: Cell,
    facts: Facts,
    obstacles: Vec<Text>,
    form: Option<Form>,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let id = id_behind(ask, OPERATOR_ALERTS);
    let Some(details) = alert_details(ask.app(), id).await? else { return Ok(unknown(ask)) };
    if !ask.is_form() {
        return Box::pin(show(ask, &details, None)).await;
    }
    if let Some(forbidden) = forbidden(ask, StaffRight::Decide) {
        return Ok(forbidden);
    }
    match Box::pin(act(ask, &details)).await? {
        Came::Decided(done) => next(ask, &details.alert, done).await,
        Came::Done(done) => Ok(ask.see(&here(ask, id), Some(Flash::done(done)))),
        Came::Refused(refusal) => {
            // As it is after whoever was quicker.
            let details = alert_details(ask.app(), id).await?.unwrap_or(details);
            Box::pin(show(ask, &details, Some(refusal))).await
        }
    }
}

fn here(ask: &Ask, id: i64) -> String {
    View::of(ask).address(&format!("{OPERATOR_ALERTS}/{id}"))
}

/// Opens the alert behind this one in the view, else its first; or the empty list.
async fn next(ask: &Ask, alert: &AlertRow, done: String) -> Result<Response, OpError> {
    let browse = View::of(ask).browse();
    let next = match neighbour(ask.app(), &browse, Some(alert), true).await? {
        None => neighbour(ask.app(), &browse, None, true).await?.filter(|first| first.id != alert.id),
        behind => behind,
    };
    let to = match next {
        Some(next) => here(ask, next.id),
        None => View::of(ask).address(OPERATOR_ALERTS),
    };
    Ok(ask.see(&to, Some(Flash::done(done))))
}

async fn show(ask: &Ask, details: &AlertDetails, refusal: Option<Refusal>) -> Result<Response, OpError> {
    let (alert, view) = (&details.alert, View::of(ask));
    let mut frame = frame(ask, &format!("Alert {}", alert.id), DeskPage::Alert).await?;
    if let Some(refusal) = &refusal {
        frame = frame.notice(Notice::refused(&refusal.why));
    }
    let can_act = may(ask, StaffRight::Decide);
    let is_open = can_act
        && (alert.status.is_waiting() || alert.status == AlertStatus::Dismissed || alert.is_credit_aside())
        && !alert.is_aside_for_good()
        && alert.status != AlertStatus::New;
    let onto = refusal.as_ref().and_then(|refusal| refusal.onto.as_ref());
    let suggestions = Box::pin(suggestions(ask, details, is_open, onto)).await?;
    let is_suggested = |onto: &&(i64, String, Vec<String>)| {
        let all = considered_in(&alert.evidence);
        all.iter().take(SUGGESTIONS_MAX).any(|one| one.business_id == onto.0 && one.transaction_id == onto.1)
    };
    let onto_other = onto.filter(|onto| !is_suggested(onto));
    let wrong = refusal.as_ref().and_then(|refusal| refusal.field);
    let wrong_in = |form| refusal.as_ref().filter(|_| wrong.is_some_and(|(of, _)| of == form));
    let browse = view.browse();
    let link_to = |found: Option<AlertRow>| found.map(|found| here(ask, found.id));
    let page = AlertPage {
        back: view.address(OPERATOR_ALERTS),
        search: format!("{}#filter-alerts-q", view.address(OPERATOR_ALERTS)),
        previous: link_to(neighbour(ask.app(), &browse, Some(alert), false).await?),
        next: link_to(neighbour(ask.app(), &browse, Some(alert), true).await?),
        keys: keys_are_on(ask),
        title: alert.facts.payer_name.as_deref().unwrap_or("No payer is named").into(),
        state: state(alert),
        amount: alert.facts.amount.map(Naira),
        came: came(ask, alert).into(),
        decided: matches!(alert.status, AlertStatus::Matched | AlertStatus::Dismissed)
            .then(|| standing(ask, details).into()),
        reasons: reasons(details),
        suggestions,
        mail: MailView::new(&ask.http.mails.see(ask.app(), alert).await?),
        read: read(ask, details),
        is_other_open: onto_other.is_some() || wrong_in("approve-alert").is_some(),
        other: is_open.then(|| other_form(ask, alert, onto_other, wrong_in("approve-alert"))),
        dismiss: (can_act && may_be_dismissed(alert))
            .then(|| dismiss_form(ask, alert, wrong_in("dismiss-alert"))),
        reread: (can_act && may_be_reread(alert).is_ok())
            .then(|| form_of(ask, "reread-alert", alert, "reread", "Read the mail again").look(Look::Plain)),
        note: can_act.then(|| note_form(ask, alert, wrong_in("note-alert"))),
        history: history(ask, details),
        frame,
    };
    let status = if refusal.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(ask.html(status, &page))
}

/// Why it is here: what it may have taken back, its reason, and of a dismissed one what was known before.
fn reasons(details: &AlertDetails) -> Vec<Text> {
    let alert = &details.alert;
    let took = details.took_back.iter().map(|(credit, paid)| {
        format!(
            "It may have taken back the money of alert {credit}, which pays {paid:?}. Reverse that payment and name this \
             alert; dismiss this one only if the bank's statement says that the money is there."
        )
    });
    let own = reasons_in(&alert.reason).into_iter().map(sentence);
    let before = match alert.status {
        AlertStatus::Dismissed => reasons_of(&alert.evidence),
        _ => Vec::new(),
    };
    let before = before.iter().map(|reason| format!("Before it was dismissed: {}", sentence(reason)));
    took.chain(own).chain(before).map(Text::from).collect()
}

/// The bank, its time, and the account that it names, in one line.
fn came(ask: &Ask, alert: &AlertRow) -> String {
    let (facts, zone) = (&alert.facts, ask.zone());
    let bank = facts.bank.as_deref().map(|code| ask.http.mails.bank_name(code));
    let time = match facts.occurred {
        Some(time) => zone.exact(time.begin).text,
        None => format!("seen {}", zone.exact(alert.first_seen).text),
    };
    let account = facts.virtual_account.as_ref().or(facts.account_number.as_ref());
    let account = account.map(|account| format!("into {account}"));
    [Some(time), bank, account].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn may_be_dismissed(alert: &AlertRow) -> bool {
    matches!(alert.status, AlertStatus::Review | AlertStatus::Unmatched)
        || alert.status.tells_nothing()
        || alert.is_credit_aside()
        || (alert.facts.is_outgoing()
            && !matches!(alert.status, AlertStatus::Dismissed | AlertStatus::Duplicate))
}

/// A form about this alert as it is shown.
fn form_of(ask: &Ask, id: &str, alert: &AlertRow, act: &str, button: &str) -> Form {
    ask.new_form(id, here(ask, alert.id), button)
        .hidden("act", act)
        .hidden("alert", alert.id.to_string())
        .hidden("version", alert.version.to_string())
}

async fn suggestions(
    ask: &Ask,
    details: &AlertDetails,
    is_open: bool,
    onto: Option<&(i64, String, Vec<String>)>,
) -> Result<Vec<Shown>, OpError> {
    let alert = &details.alert;
    let mut shown = Vec::new();
    let all = considered_in(&alert.evidence);
    let of = |one: &Suggestion| {
        details.considered.iter().find(|payment| {
            payment.transaction_id == one.transaction_id && payment.business_id == one.business_id
        })
    };
    let can_be_paid = |now: &Payment| {
        now.reversed_at.is_none()
            && (now.status == Status::Pending || now.status == Status::Rejected && now.swept)
    };
    let payable = all.iter().take(SUGGESTIONS_MAX).filter(|one| of(one).is_some_and(can_be_paid)).count();
    for (number, one) in all.iter().take(SUGGESTIONS_MAX).enumerate() {
        let now = of(one);
        let may_be_paid = is_open && now.is_some_and(can_be_paid);
        let told = onto.filter(|(business, id, _)| *business == one.business_id && *id == one.transaction_id);
        let against = match told {
            Some((_, _, all)) => all.clone(),
            None if may_be_paid && number < WEIGHED_MAX => against(ask, alert, one).await?,
            None => Vec::new(),
        };
        let form = may_be_paid
            .then(|| approve_form(ask, alert, (number, one, payable == 1), &against, told.is_some()));
        let business = find_business(ask.app(), one.business_id).await?.map(|found| found.name);
        shown.push(Shown {
            title: Cell::link(
                link(
                    &format!("{OPERATOR_PAYMENTS}/{}", one.transaction_id),
                    &[("business", &one.business_id.to_string())],
                ),
                &one.transaction_id,
            ),
            facts: compared(ask, alert, one, now, business),
            obstacles: against.iter().map(|one| sentence(one).into()).collect(),
            form,
        });
    }
    Ok(shown)
}

/// What speaks against it now, beside what the rules saw.
async fn against(ask: &Ask, alert: &AlertRow, one: &Suggestion) -> Result<Vec<String>, OpError> {
    let wanted = Approve {
        alert_id: alert.id,
        business_id: one.business_id,
        transaction_id: &one.transaction_id,
        operator: ask.operator(),
        despite: None,
        seen: None,
    };
    Ok(match Box::pin(approval_obstacles(ask.app(), &wanted)).await? {
        Ok(obstacles) => obstacles,
        Err(ApproveRefused::Obstacles(all)) => all,
        // Cannot be overridden; the form says it again.
        Err(why) => vec![why.to_string()],
    })
}

fn approve_form(
    ask: &Ask,
    alert: &AlertRow,
    (number, one, is_only): (usize, &Suggestion, bool),
    against: &[String],
    is_refused: bool,
) -> Form {
    let id = format!("approve-alert-{}", number + 1);
    let form = form_of(ask, &id, alert, "approve", "Approve")
        .hidden("payment", &one.transaction_id)
        .hidden("business", one.business_id.to_string());
    // One key decides only where there is nothing to choose; else a number points at one, and Enter decides.
    let form = form.key(if is_only { "a" } else { DIGITS[number] });
    let form = if number == 0 { form } else { form.look(Look::Plain) };
    against_it(form, &id, against, is_refused)
}

/// What was shown goes with the form, and the reason covers it. Without anything a word may be left all the same.
fn against_it(form: Form, id: &str, against: &[String], is_refused: bool) -> Form {
    if against.is_empty() {
        return form.hidden("reason", "").hidden("despite", "");
    }
    let reason = Field::new(id, "despite", "Approve despite this, because", Kind::Text);
    let reason = if is_refused { reason.focused() } else { reason };
    let form = against.iter().fold(form, |form, one| form.hidden("seen", one));
    form.hidden("reason", "").field(reason).look(Look::Danger)
}

fn other_form(
    ask: &Ask,
    alert: &AlertRow,
    onto: Option<&(i64, String, Vec<String>)>,
    wrong: Option<&Refusal>,
) -> Form {
    const FORM: &str = "approve-alert";
    let typed = |name: &str| match (onto, wrong) {
        (None, None) => String::new(),
        _ => ask.field(name).to_owned(),
    };
    let wrong_at = |name: &str| {
        wrong.filter(|wrong| wrong.field.is_some_and(|(_, of)| of == name)).map(|wrong| wrong.why.clone())
    };
    let form = form_of(ask, FORM, alert, "approve", "Approve this payment")
        .look(Look::Plain)
        .field(
            Field::new(FORM, "payment", "Transaction id", Kind::Text)
                .value(typed("payment"))
                .error(wrong_at("payment")),
        )
        .field(
            Field::new(FORM, "business", "Business number", Kind::Text)
                .value(typed("business"))
                .error(wrong_at("business")),
        );
    let form = form.field(
        Field::new(FORM, "reason", "Why it is this one", Kind::Text)
            .optional()
            .value(typed("reason"))
            .hint("Kept with your name."),
    );
    let against = onto.map(|(_, _, all)| all.as_slice()).unwrap_or_default();
    if against.is_empty() {
        return form.hidden("despite", "");
    }
    let despite = Field::new(FORM, "despite", "Approve despite this, because", Kind::Text);
    let told = against.iter().map(|one| sentence(one)).collect::<Vec<_>>().join(" ");
    let form = against.iter().fold(form, |form, one| form.hidden("seen", one));
    form.field(despite.error(Some(told))).look(Look::Danger)
}

fn dismiss_form(ask: &Ask, alert: &AlertRow, wrong: Option<&Refusal>) -> Form {
    const FORM: &str = "dismiss-alert";
    let reason = Field::new(FORM, "reason", "Why it pays nothing", Kind::Text)
        .often(OFTEN)
        .value(if wrong.is_some() { ask.field("reason") } else { "" })
        .error(wrong.map(|wrong| wrong.why.as_str()));
    form_of(ask, FORM, alert, "dismiss", "Dismiss").look(Look::Plain).field(reason).key("d")
}

fn note_form(ask: &Ask, alert: &AlertRow, wrong: Option<&Refusal>) -> Form {
    const FORM: &str = "note-alert";
    let note = Field::new(FORM, "note", "A note for whoever looks next", Kind::Text)
        .value(if wrong.is_some() { ask.field("note") } else { "" })
        .error(wrong.map(|wrong| wrong.why.as_str()));
    form_of(ask, FORM, alert, "note", "Keep the note").look(Look::Plain).field(note)
}

/// A payment beside the alert: what is asked for, with how it fits what came.
fn compared(
    ask: &Ask,
    alert: &AlertRow,
    one: &Suggestion,
    now: Option<&Payment>,
    business: Option<String>,
) -> Facts {
    let zone = ask.zone();
    let fit = |told: &str, good: &[&str], near: &[&str]| {
        let tone = match told {
            told if good.contains(&told) => Tone::Good,
            told if near.contains(&told) => Tone::Warn,
            _ => Tone::Bad,
        };
        Cell::badge(tone, told)
    };
    let beside = |cell: Cell, badge: Cell| Cell::Beside(vec![cell, badge]);
    let amount = fit(&one.amount_fit, &["exact"], &["short by the charges"]);
    let asked = now.map_or(Cell::None, |now| Cell::Money(Naira(now.amount)));
    let apart = now.zip(alert.facts.amount).map_or(0, |(now, came)| came.kobo() - now.amount.kobo());
    let apart = (apart != 0).then(|| {
        let word = if apart > 0 { "more came" } else { "less came" };
        Cell::text(format!("{} {word}", naira(Money(apart.abs()))))
    });
    let name = beside(Cell::text(&one.expected_name), fit(&one.name, &["match"], &["close"]));
    let name = if one.name == "match" { name } else { name.under(Cell::text(&one.name_reason)) };
    let time = fit(&one.time_fit, &["fits"], &["missed by less than a day"]);
    let made = now.map_or(Cell::None, |now| Cell::Time(zone.time(now.created_at)));
    let account = if one.account == "the alert's account" { Tone::Good } else { Tone::Warn };
    let mut facts = Facts::new()
        .fact("Amount", apart.into_iter().fold(beside(asked, amount), Cell::under))
        .fact("Name", name)
        .fact("Made", beside(made, time))
        .fact("Account", Cell::badge(account, &one.account))
        .fact(
            "Business",
            Cell::link(
                format!("{OPERATOR_BUSINESSES}/{}", one.business_id),
                business.unwrap_or_else(|| one.business_id.to_string()),
            ),
        );
    let is_gone = now.is_none_or(|now| now.status != Status::Pending);
    if is_gone && alert.status != AlertStatus::Matched {
        let state = now.map_or("not there any more", |now| match now.reversed_at {
            Some(_) => "reversed",
            None => now.status.as_str(),
        });
        facts = facts.fact("Now", Cell::badge(Tone::Bad, state));
    }
    facts
}

/// Everything that was read, and what is known besides.
fn read(ask: &Ask, details: &AlertDetails) -> Facts {
    let (alert, zone) = (&details.alert, ask.zone());
    let facts = &alert.facts;
    let to_alert = |id: i64| Cell::link(here(ask, id), format!("Alert {id}"));
    let mut told = Facts::new();
    if let Some(paid) = &details.transaction_id {
        told = told.fact("Pays", Cell::text(paid));
    }
    if let Some(alarm) = details.alarm {
        told = told.fact("May have been taken back by", to_alert(alarm));
    } else if let Some(linked) = alert.linked_alert_id {
        told = told.fact("Speaks about it", to_alert(linked));
    }
    for (credit, _) in &details.took_back {
        told = told.fact("May have taken back", to_alert(*credit));
    }
    for past in &details.reversed {
        told = told.fact("Paid until it was reversed", Cell::text(&past.payment.transaction_id));
    }
    let bank = facts.bank.as_deref().map(|code| ask.http.mails.bank_name(code));
    let time = facts.occurred.map(|time| zone.exact(time.begin));
    if let Some(time) = time {
        told = told.fact("Time at the bank", time);
    }
    let texts = [
        ("Bank", bank.as_ref()),
        ("Account shown", facts.account_number.as_ref()),
        ("Virtual account", facts.virtual_account.as_ref()),
        ("Narration", facts.narration.as_ref()),
        ("Reference", facts.reference.as_ref()),
        ("Session id", facts.session_id.as_ref()),
        ("Payer's account", facts.payer_account_number.as_ref()),
        ("Payer's bank", facts.payer_bank.as_ref()),
        ("From", alert.mail_from.as_ref()),
        ("Subject", alert.subject.as_ref()),
        ("Proven by", alert.authentic_by.as_ref()),
    ];
    let known = texts.into_iter().filter_map(|(label, text)| Some((label, text?)));
    known
        .fold(told, |told, (label, text)| told.fact(label, Cell::text(text)))
        .fact("Proof", Cell::text(alert.authenticity.as_str()))
        .fact("Came by", Cell::text(&alert.source))
        .fact("First seen", zone.exact(alert.first_seen))
        .fact("Number", Cell::text(alert.id.to_string()))
}

/// What people did with it, newest first.
fn history(ask: &Ask, details: &AlertDetails) -> Timeline {
    let zone = ask.zone();
    let step = |act: &crate::ops::alerts::read::OperatorAct| {
        let (tone, title) = match act.act.as_str() {
            "approve" => (Tone::Good, format!("Approved: {}", act.subject)),
            "dismiss" => (Tone::Muted, "Dismissed".to_owned()),
            "note" => (Tone::Info, "Note".to_owned()),
            "reread" => (Tone::Info, "Read again".to_owned()),
            "ingest --trusted" => (Tone::Info, "Taken in from a file, and vouched for".to_owned()),
            other => (Tone::Info, other.to_owned()),
        };
        let step = Step::new(tone, zone.exact(act.at), title).by(&act.operator);
        if act.reason.is_empty() { step } else { step.line(&act.reason) }
    };
    Timeline { steps: details.acts.iter().map(step).collect() }
}
