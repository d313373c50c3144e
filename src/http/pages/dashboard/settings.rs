//! `/dashboard/settings`: the business's name and address, its charges as agreed, and the events that it is told of.

use askama::Template;
use axum::response::Response;

use super::form::{Acted, Forms, Refusal, done, sent};
use super::frame::frame;
use crate::domain::event::{Chosen, EventKind};
use crate::domain::merchant::Business;
use crate::domain::money::naira;
use crate::domain::notice::NoticeKind;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Form, Kind};
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Facts};
use crate::http::pages::text::{percent, sentence};
use crate::http::paths::DASHBOARD_SETTINGS;
use crate::ops::OpError;
use crate::ops::merchants::businesses::{BusinessChange, BusinessRefusal, find_business, set_business};
use crate::ops::notices::mails::are_sent;
use crate::ops::notices::merchants::switched_off;

const FORM: &str = "settings";

#[derive(Template)]
#[template(path = "dashboard/settings.html")]
struct Settings {
    frame: Frame,
    form: Form,
    charges: Facts,
    events: Facts,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    let refusal = match sent(ask, act(ask, here)).await? {
        Ok(refusal) => refusal,
        Err(response) => return Ok(response),
    };
    let Some(business) = find_business(ask.app(), here.id()).await? else { return Ok(unknown(ask)) };
    let forms = Forms::new(ask, here, DASHBOARD_SETTINGS, refusal.as_ref());
    let form = forms
        .form(FORM, "Save")
        .field(
            forms
                .field_of(FORM, "name", "Name of the business", Kind::Text, &business.name)
                .hint("Customers who pay from a wallet see it."),
        )
        .field(
            forms
                .field_of(FORM, "email", "E-mail address", Kind::Email, &business.email)
                .hint("Where the operator reaches you."),
        );
    let form = chosen(ask, &business, notices(ask, here, form).await?);
    let page = Settings {
        frame: forms.told(frame(ask, here, "Settings", DASHBOARD_SETTINGS)),
        form,
        charges: charges(&business),
        events: events(&business),
    };
    Ok(ask.html(forms.status(), &page))
}

/// What owners and developers are told by mail; where no mails are sent, nothing is asked.
async fn notices(ask: &Ask, here: &Here, form: Form) -> Result<Form, OpError> {
    if !are_sent(ask.app()) {
        return Ok(form);
    }
    let off = switched_off(ask.app(), here.id()).await?;
    let form = form.hidden("notices", "1");
    Ok(NoticeKind::OF_MERCHANTS.into_iter().fold(form, |form, kind| {
        let is_on = if ask.is_form() { ask.field(kind.as_str()) == "1" } else { !off.contains(&kind) };
        form.field(
            Field::new(FORM, kind.as_str(), format!("Mail: {}", kind.title()), Kind::Checkbox)
                .value(if is_on { "1" } else { "" }),
        )
    }))
}

/// The events by choice, each with its box.
fn chosen(ask: &Ask, business: &Business, form: Form) -> Form {
    let form = form.hidden("events", "1");
    EventKind::ALL.into_iter().filter(|kind| kind.is_by_choice()).fold(form, |form, kind| {
        let is_on =
            if ask.is_form() { ask.field(kind.as_str()) == "1" } else { business.events.includes(kind) };
        form.field(
            Field::new(FORM, kind.as_str(), format!("Webhook: {}", kind.as_str()), Kind::Checkbox)
                .value(if is_on { "1" } else { "" })
                .hint(sentence(kind.when())),
        )
    })
}

/// The events that are to be on, where the form asked about them.
fn wanted_events(ask: &Ask) -> Option<Chosen> {
    let is_on = |kind: &EventKind| ask.field(kind.as_str()) == "1";
    (ask.field("events") == "1")
        .then(|| Chosen::of(&EventKind::ALL.into_iter().filter(is_on).collect::<Vec<_>>()))
}

/// All events, and which of them are sent.
fn events(business: &Business) -> Facts {
    EventKind::ALL.into_iter().fold(Facts::new(), |facts, kind| {
        let told = match (kind.is_by_choice(), business.events.includes(kind)) {
            (false, _) => format!("Always: {}", kind.when()),
            (true, true) => format!("On: {}", kind.when()),
            (true, false) => "Off".to_owned(),
        };
        facts.fact(kind.as_str(), Cell::text(told))
    })
}

/// The notices that are to be on, where the form asked about them.
fn wanted(ask: &Ask) -> Option<Vec<NoticeKind>> {
    let is_on = |kind: &NoticeKind| ask.field(kind.as_str()) == "1";
    (ask.field("notices") == "1").then(|| NoticeKind::OF_MERCHANTS.into_iter().filter(is_on).collect())
}

async fn act(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    if ask.field("act") != FORM {
        return Ok(Err(Refusal::unknown()));
    }
    // What is not sent stays as it is.
    let sent = |name: &str| {
        let has = ask.form.as_ref().is_some_and(|form| form.all(name).next().is_some());
        has.then(|| ask.field(name).to_owned())
    };
    let change = BusinessChange {
        name: sent("name"),
        email: sent("email"),
        events: wanted_events(ask),
        notices: wanted(ask),
        ..BusinessChange::default()
    };
    Ok(match set_business(ask.app(), ask.operator(), here.id(), &change).await? {
        Ok(_) => Ok(done(ask, here, DASHBOARD_SETTINGS, "The settings are saved.")),
        Err(BusinessRefusal::Unknown(_)) => Ok(unknown(ask)),
        Err(why) => {
            let field = if matches!(why, BusinessRefusal::Email(_)) { "email" } else { "name" };
            Err(Refusal::new(FORM, field, sentence(&why.to_string())))
        }
    })
}

fn charges(business: &Business) -> Facts {
    let schedule = &business.schedule;
    if !schedule.enabled {
        return Facts::new().fact("Charges", Cell::text("None"));
    }
    let payer = if schedule.paid_by_customer { "The customer, on top" } else { "You, out of the payment" };
    let facts = Facts::new()
        .fact("Of each payment", Cell::text(rate(schedule.rate)))
        .fact("And for each payment", schedule.fixed);
    let facts = match schedule.cap {
        Some(cap) => facts.fact("At most", Cell::text(naira(cap))),
        None => facts,
    };
    facts.fact("Who pays them", Cell::text(payer))
}

/// Hundredths of a percent.
fn rate(hundredths: i64) -> String {
    match hundredths % 10 {
        0 => percent(hundredths / 10),
        _ => format!("{}.{:02}\u{a0}%", hundredths / 100, hundredths % 100),
    }
}
