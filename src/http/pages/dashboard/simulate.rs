//! What stands on a test payment's page beside what every payment's has: the form that simulates a bank's mail, and the mails
//! that were simulated last, each to be looked at as text (docs/decisions/0081-test-mode.md).

use super::form::{Acted, Forms, Refusal};
use super::payments::address;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::money::Money;
use crate::domain::payment::{Payment, Status};
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Choice, Form, Kind, Look};
use crate::http::pages::flash::Flash;
use crate::http::pages::here::Here;
use crate::http::pages::parts::{Badge, Empty, Tone};
use crate::http::pages::plain::not_allowed;
use crate::http::pages::rows::{Cell, Column, Facts, Rows};
use crate::http::pages::text::{Text, sentence};
use crate::ops::OpError;
use crate::ops::alerts::read::find_mail;
use crate::ops::alerts::simulate::{
    Case, CaseAsk, CaseRefused, simulate_case, simulated_alert, simulated_last,
};

pub(super) const SIMULATE: &str = "simulate";

/// The case that a form asks for, carried out.
pub(super) async fn act(ask: &Ask, here: &Here, payment: &Payment) -> Result<Acted, OpError> {
    if !here.may_write_payments() {
        return Ok(Ok(not_allowed(ask, &MemberRight::WritePayments.roles())));
    }
    let refused = |field, why: &str| Ok(Err(Refusal::new(SIMULATE, field, sentence(why))));
    let Some(case) = Case::parse(ask.field("case")) else { return refused("case", "choose what is to come") };
    let amount = match ask.field("amount").trim() {
        "" => None,
        text => match Money::parse(text) {
            Ok(amount) if amount.is_positive() => Some(amount),
            _ => return refused("amount", "write an amount in naira, such as 5200 or 5200.50, or nothing"),
        },
    };
    let wanted = CaseAsk {
        business_id: here.id(),
        transaction_id: &payment.transaction_id,
        case,
        amount,
        payer_name: Some(ask.field("payer_name").trim()).filter(|name| !name.is_empty()),
        operator: ask.operator(),
    };
    match Box::pin(simulate_case(ask.app(), ask.http.mails.as_ref(), &wanted)).await? {
        Ok(outcomes) => {
            let told = outcomes.iter().map(|one| in_words(one.status, &one.reason)).collect::<Vec<_>>();
            let shown = outcomes.first().map_or(0, |one| one.alert_id);
            let back = looking_at(here, payment, shown);
            Ok(Ok(ask.see(&back, Some(Flash::done(told.join(" Then: "))))))
        }
        Err(CaseRefused::Amount(why)) => refused("amount", &why),
        Err(CaseRefused::PayerName) => {
            refused("payer_name", "write 1 to 255 characters on one line, with a letter")
        }
        Err(CaseRefused::Other(why)) => refused("case", &why.to_string()),
    }
}

/// What a mail came to.
fn in_words(status: AlertStatus, reason: &str) -> String {
    let what = match status {
        AlertStatus::Matched => "The mail paid the payment",
        AlertStatus::Review => "The mail waits for a person",
        AlertStatus::Unmatched => "The mail fits no payment",
        AlertStatus::Duplicate => "The mail is a copy, and pays nothing",
        AlertStatus::Quarantined => "The mail is not believed",
        _ => "The mail is kept, and pays nothing",
    };
    match reason.is_empty() {
        true => format!("{what}."),
        false => format!("{what}: {reason}."),
    }
}

/// The form and the list of a test payment; `None` of a live one.
pub(super) struct Simulating {
    pub form: Option<Form>,
    pub mails: Rows,
    /// The mail that the address names.
    pub mail: Option<ShownMail>,
}

/// A mail that the business simulated.
pub(super) struct ShownMail {
    pub facts: Facts,
    /// As it was taken; `None` once its time is over.
    pub raw: Option<Text>,
}

/// The payment's page with a mail on it.
fn looking_at(here: &Here, payment: &Payment, alert_id: i64) -> String {
    format!("{}&mail={alert_id}", address(here, &payment.transaction_id))
}

async fn shown_mail(ask: &Ask, here: &Here, payment: &Payment) -> Result<Option<ShownMail>, OpError> {
    let Some(id) = ask.query("mail").and_then(|text| text.parse::<i64>().ok()) else { return Ok(None) };
    let alert = simulated_alert(ask.app(), here.id(), id).await?;
    let Some(alert) = alert.filter(|alert| alert.account_id == payment.account_id) else { return Ok(None) };
    let raw = find_mail(ask.app(), id).await?;
    let raw = raw.map(|raw| Text::from(String::from_utf8_lossy(&raw).into_owned()));
    Ok(Some(ShownMail { facts: facts(ask, &alert), raw }))
}

pub(super) async fn simulating(
    ask: &Ask,
    here: &Here,
    forms: &Forms<'_>,
    payment: &Payment,
) -> Result<Option<Simulating>, OpError> {
    if !here.is_test() || payment.account_id.is_none() {
        return Ok(None);
    }
    let is_open = payment.status != Status::Approved;
    let form = (here.may_write_payments() && (is_open || payment.reversed_at.is_none())).then(|| form(forms));
    let last = simulated_last(ask.app(), here.id()).await?;
    let mail = shown_mail(ask, here, payment).await?;
    Ok(Some(Simulating { form, mails: mails(ask, here, payment, &last), mail }))
}

fn form(forms: &Forms<'_>) -> Form {
    let cases = Case::ALL.iter().map(|case| Choice::new(case.as_str(), case.in_words())).collect();
    forms
        .making(SIMULATE, "Simulate the mail")
        .look(Look::Plain)
        .field(forms.field_of(SIMULATE, "case", "What comes", Kind::Select(cases), Case::Exact.as_str()))
        .field(
            forms
                .field(SIMULATE, "amount", "Amount", Kind::Amount)
                .optional()
                .hint("Empty: what the payment asks for, or what the case makes of it."),
        )
        .field(
            forms
                .field(SIMULATE, "payer_name", "Payer's name", Kind::Text)
                .optional()
                .hint("Empty: the name of the payment, or another one where the case asks for that."),
        )
}

fn mails(ask: &Ask, here: &Here, payment: &Payment, last: &[AlertRow]) -> Rows {
    let columns = vec![
        Column::new("Came to"),
        Column::figure("Amount"),
        Column::new("Payer"),
        Column::new("When"),
        Column::acts("The mail"),
    ];
    let empty = Empty::new("None yet", "What you simulate stands here, with the mail as it was written.");
    let mut rows = Rows::new("Mails that were simulated", columns, empty);
    for one in last.iter().filter(|one| one.account_id == payment.account_id) {
        rows.row(vec![
            badge(one.status).into(),
            one.facts.amount.map_or(Cell::None, Cell::from),
            one.facts.payer_name.as_deref().map_or(Cell::None, Cell::text),
            ask.zone().exact(one.first_seen).into(),
            Cell::link(format!("{}#mail", looking_at(here, payment, one.id)), "Look at it"),
        ]);
    }
    rows
}

fn badge(status: AlertStatus) -> Badge {
    match status {
        AlertStatus::Matched => Badge::new(Tone::Good, "Paid"),
        AlertStatus::Review => Badge::new(Tone::Warn, "For a person"),
        AlertStatus::Unmatched => Badge::new(Tone::Warn, "Fits nothing"),
        AlertStatus::Duplicate => Badge::new(Tone::Muted, "A copy"),
        AlertStatus::Quarantined => Badge::new(Tone::Bad, "Not believed"),
        _ => Badge::new(Tone::Muted, "Kept"),
    }
}

fn facts(ask: &Ask, alert: &AlertRow) -> Facts {
    let mut facts = Facts::new().fact("What it came to", Cell::text(in_words(alert.status, &alert.reason)));
    if let Some(amount) = alert.facts.amount {
        facts = facts.fact("Amount", amount);
    }
    let read = [
        ("Payer", &alert.facts.payer_name),
        ("Account shown", &alert.facts.account_number),
        ("Narration", &alert.facts.narration),
        ("Reference", &alert.facts.reference),
        ("Session id", &alert.facts.session_id),
    ];
    for (label, text) in read {
        if let Some(text) = text {
            facts = facts.fact(label, Cell::text(text));
        }
    }
    facts.fact("Simulated", ask.zone().exact(alert.first_seen))
}
