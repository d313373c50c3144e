//! `/dashboard/webhooks`: every delivery with every attempt, what was sent and what came back; the business's webhook
//! address and its secret; sending again what failed.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::export::csv;
use super::form::{Acted, Forms, Refusal, done, in_row, password_first, refuse, row_of, sent};
use super::frame::{frame, pager};
use super::payments::address;
use super::webhook::{answered, curl, state};
use crate::domain::event::EventKind;
use crate::domain::merchant::Business;
use crate::domain::time::Timestamp;
use crate::domain::user::MemberRight;
use crate::domain::webhook::DeliveryOutcome;
use crate::http::pages::ask::Ask;
use crate::http::pages::export::is_csv;
use crate::http::pages::field::{Choice, Confirm, Field, Filters, Form, Kind, Look};
use crate::http::pages::flash::Flash;
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Empty, Link, Notice, Pager, Secret};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::Cell;
use crate::http::pages::text::Text;
use crate::http::pages::text::sentence;
use crate::http::pages::times::Time;
use crate::http::paths::DASHBOARD_WEBHOOKS;
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::merchants::businesses::{
    BusinessChange, BusinessRefusal, find_business, rotate_secret, set_business,
};
use crate::ops::paging::Page;
use crate::ops::webhooks::browse::{
    ATTEMPTS_READ, DeliveryFilter, SentRequest, browse_deliveries, deliveries_about, requests_of,
    resend_failed_of, resend_of,
};
use crate::ops::webhooks::deliveries::{Delivery, DeliveryStatus};
use crate::ops::webhooks::test_event::{TestOf, Tested, send_test};

const FILTER: &str = "filter-webhooks";
const SET: &str = "set-webhook";
const ROTATE: &str = "rotate-secret";
const TEST: &str = "send-test";
const RESEND: &str = "resend";
const RESEND_FAILED: &str = "resend-failed";
/// Under this name a secret is shown once.
const SECRET: &str = "webhook secret";
/// Attempts that a page shows in all, which keeps it small, and of one delivery, the last ones.
const ATTEMPTS_OF_PAGE: usize = 200;
const ATTEMPTS_MAX: usize = 20;

#[derive(Template)]
#[template(path = "dashboard/webhooks.html")]
struct Webhooks {
    frame: Frame,
    made: Vec<Secret>,
    address: Option<Text>,
    /// For who may set something up.
    set_up: Option<SetUp>,
    filters: Filters,
    deliveries: Vec<Shown>,
    empty: Empty,
    pager: Option<Pager>,
}

struct SetUp {
    set: Form,
    test: Form,
    rotate: Confirm,
    resend_failed: Form,
}

/// One delivery.
struct Shown {
    number: usize,
    event: Text,
    state: Cell,
    payment: Option<Link>,
    at: Time,
    last: Text,
    note: Option<Text>,
    attempts: Vec<Try>,
    has_older_attempts: bool,
    body: Text,
    curl: Option<String>,
    resend: Option<Form>,
}

/// One attempt.
struct Try {
    at: Time,
    url: Text,
    answered: Text,
    answer: Option<Text>,
    headers: Vec<Text>,
}

/// The filters as the address says them.
struct View {
    state: String,
    event: String,
    transaction: String,
}

impl View {
    fn of(ask: &Ask) -> View {
        let text = |name| ask.query(name).unwrap_or_default().trim().to_owned();
        View { state: text("state"), event: text("type"), transaction: text("transaction") }
    }

    fn pairs(&self) -> [(&str, &str); 3] {
        [("state", &self.state), ("type", &self.event), ("transaction", &self.transaction)]
    }

    fn filter(&self, here: &Here) -> Result<DeliveryFilter, (&'static str, &'static str)> {
        let status = match self.state.as_str() {
            "" => None,
            word => Some(DeliveryStatus::parse(word).ok_or(("state", "Choose a state of the list."))?),
        };
        let event = Some(self.event.clone()).filter(|event| !event.is_empty());
        Ok(DeliveryFilter { business_id: here.id(), status, event, mode: Some(here.mode) })
    }
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    let view = View::of(ask);
    let (filter, wrong) = match view.filter(here) {
        Ok(filter) => (filter, None),
        Err(wrong) => (
            DeliveryFilter { business_id: here.id(), status: None, event: None, mode: Some(here.mode) },
            Some(wrong),
        ),
    };
    let source = match view.transaction.as_str() {
        "" => CsvSource::Deliveries(filter.clone()),
        id => CsvSource::DeliveriesAbout(filter.clone(), id.to_owned()),
    };
    if is_csv(ask)
        && wrong.is_none()
        && !ask.is_form()
        && let Ok(file) = csv(ask, here, "webhooks", MemberRight::ReadWebhooks, source)
    {
        return Ok(file);
    }
    let page = match (view.transaction.as_str(), wrong) {
        (_, Some(_)) => Page::empty(),
        ("", None) => browse_deliveries(ask.app(), &filter, ask.cursor()).await?,
        (id, None) => Page { rows: deliveries_about(ask.app(), &filter, id).await?, ..Page::empty() },
    };
    let refusal = match sent(ask, act(ask, here, &page.rows)).await? {
        Ok(refusal) => refusal,
        Err(response) => return Ok(response),
    };
    let requests = requests_of(ask.app(), &page.rows).await?;
    let Some(business) = find_business(ask.app(), here.id()).await? else { return Ok(unknown(ask)) };
    Ok(show(ask, here, (&view, wrong), (&page, &requests), &business, refusal.as_ref()))
}

async fn act(ask: &Ask, here: &Here, shown: &[Delivery]) -> Result<Acted, OpError> {
    if let Some(refusal) = refuse(ask, here, MemberRight::Integrate) {
        return Ok(Ok(refusal));
    }
    match ask.field("act") {
        SET => set(ask, here).await,
        ROTATE => rotate(ask, here).await,
        TEST => test(ask, here).await,
        RESEND => {
            let id = ask.field("event").parse::<i64>().unwrap_or(0);
            let number = row_of(shown, |one| one.id == id).map_or(0, |(number, _)| number);
            match resend_of(ask.app(), ask.operator(), here.id(), id).await? {
                None => Ok(Ok(unknown(ask))),
                Some(resent) if resent.ids.is_empty() => {
                    let why = resent.why_not().unwrap_or("it is not there any more");
                    let told = format!("It is not sent again, because {why}.");
                    Ok(Err(Refusal::new(in_row(RESEND, number), "", told)))
                }
                Some(_) => Ok(Ok(done(ask, here, DASHBOARD_WEBHOOKS, "The webhook is sent again."))),
            }
        }
        RESEND_FAILED => resend_failed(ask, here).await,
        _ => Ok(Err(Refusal::unknown())),
    }
}

async fn set(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    if let Some(first) = password_first(ask, here, DASHBOARD_WEBHOOKS, &["webhook_url"]) {
        return Ok(Ok(first));
    }
    let url = ask.field("webhook_url").trim();
    let change = BusinessChange {
        webhook_url: Some((!url.is_empty()).then(|| url.to_owned())),
        ..BusinessChange::default()
    };
    Ok(match set_business(ask.app(), ask.operator(), here.id(), &change).await? {
        Ok(business) => {
            let told = match business.webhook_url {
                Some(url) => format!("The webhook address is {url} now."),
                None => "The business has no webhook address of its own now.".to_owned(),
            };
            Ok(done(ask, here, DASHBOARD_WEBHOOKS, told))
        }
        Err(BusinessRefusal::Unknown(_)) => Ok(unknown(ask)),
        Err(why) => Err(Refusal::new(SET, "webhook_url", sentence(&why.to_string()))),
    })
}

async fn rotate(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    if let Some(first) = password_first(ask, here, DASHBOARD_WEBHOOKS, &[]) {
        return Ok(Ok(first));
    }
    let Some(business) = find_business(ask.app(), here.id()).await? else { return Ok(Ok(unknown(ask))) };
    if !matches!(ask.field("version"), "") && ask.field("version") != business.version.to_string() {
        return Ok(Err(Refusal::new(
            ROTATE,
            "",
            "The business has changed since the page was shown. Look whether the secret is new already.",
        )));
    }
    Ok(match rotate_secret(ask.app(), ask.operator(), here.id()).await? {
        Ok(new) => {
            let told = "The new secret signs from now on; for 24 hours the old one signs beside it.";
            let told = Flash::done(told).once(SECRET, new.secret.as_str());
            Ok(ask.see(&here.link(DASHBOARD_WEBHOOKS, &[]), Some(told)))
        }
        Err(_) => Ok(unknown(ask)),
    })
}

async fn test(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    let refused = |why: String| Ok(Err(Refusal::new(TEST, "", why)));
    match send_test(ask.app(), here.id(), TestOf::Business).await? {
        Tested::Sent(sent) => {
            let came = answered(&sent.attempt);
            let resumed = if sent.resumed { " What waited for it is sent now." } else { "" };
            match sent.verdict {
                DeliveryOutcome::Delivered => {
                    let told = format!("The test arrived at {}: {came}.{resumed}", sent.url);
                    Ok(Ok(done(ask, here, DASHBOARD_WEBHOOKS, told)))
                }
                _ => refused(format!("The test did not arrive at {}: {came}.", sent.url)),
            }
        }
        Tested::Nowhere(why) => refused(format!("Nothing was sent: {why}.")),
        Tested::Unfit { url, why } => refused(format!("Nothing was sent to {url}: {why}.")),
        Tested::UnknownBusiness | Tested::UnknownPayment | Tested::UnknownWebsite => Ok(Ok(unknown(ask))),
    }
}

async fn resend_failed(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    let Some(day) = Timestamp::lagos_day_of(ask.field("since").trim()) else {
        return Ok(Err(Refusal::new(RESEND_FAILED, "since", "Write a date such as 2026-11-23.")));
    };
    let since = Timestamp::begin_of_lagos_day(day);
    let resent = resend_failed_of(ask.app(), ask.operator(), here.id(), since).await?;
    let told = match (resent.count, resent.more) {
        (0, _) => "Nothing has failed since then.".to_owned(),
        (n, true) => format!("{n} webhooks are sent again. There are more: send the form again."),
        (1, false) => "One webhook is sent again.".to_owned(),
        (n, false) => format!("{n} webhooks are sent again."),
    };
    Ok(Ok(done(ask, here, DASHBOARD_WEBHOOKS, told)))
}

fn show(
    ask: &Ask,
    here: &Here,
    (view, wrong): (&View, Option<(&str, &str)>),
    (page, requests): (&Page<Delivery>, &[Vec<SentRequest>]),
    business: &Business,
    refusal: Option<&Refusal>,
) -> Response {
    let forms = Forms::new(ask, here, DASHBOARD_WEBHOOKS, refusal);
    let may = here.may(MemberRight::Integrate);
    let once = ask.flash.iter().flat_map(|flash| &flash.once).filter(|(name, _)| name == SECRET);
    let mut frame = forms.told(frame(ask, here, "Webhooks", DASHBOARD_WEBHOOKS));
    let mut status = forms.status();
    if wrong.is_some() {
        frame = frame.notice(Notice::refused("The list cannot be filtered so. See below why."));
        status = StatusCode::UNPROCESSABLE_ENTITY;
    }
    let all = (1..).zip(&page.rows).zip(requests);
    let is_filtered = view.pairs().iter().any(|(_, value)| !value.is_empty());
    let empty = match is_filtered {
        true => Empty::new("No webhook fits", "Take a filter away."),
        false => {
            Empty::new("No webhooks yet", "Every approved payment is told to your program, and stands here.")
        }
    };
    let most = (ATTEMPTS_OF_PAGE / page.rows.len().max(1)).min(ATTEMPTS_MAX);
    let shown_page = Webhooks {
        frame,
        made: once.map(|(name, secret)| Secret::once("new-secret", name, secret)).collect(),
        address: business.webhook_url.as_ref().map(Text::from),
        set_up: may.then(|| set_up(ask, &forms, business)),
        filters: filters(here, view, wrong),
        deliveries: all
            .map(|((number, one), sent)| shown(ask, here, &forms, (number, most), one, sent))
            .collect(),
        empty,
        pager: pager(ask, here, DASHBOARD_WEBHOOKS, page, &view.pairs()),
    };
    ask.html(status, &shown_page)
}

fn set_up(ask: &Ask, forms: &Forms<'_>, business: &Business) -> SetUp {
    let url = business.webhook_url.as_deref().unwrap_or_default();
    let field = forms
        .field_of(SET, "webhook_url", "Webhook address of the business", Kind::Url, url)
        .optional()
        .hint("A website's own address and that of a payment go before it.");
    let week = ask.app().now() - crate::domain::time::Span::days(7);
    let since = ask.zone().date(week);
    let question =
        "The new secret is shown once. For 24 hours both sign, so that you can change your program.";
    SetUp {
        set: forms.form(SET, "Save").look(Look::Plain).field(field),
        test: forms.form(TEST, "Send a test").look(Look::Plain),
        // Sent twice, the second one would end the secret that programs have.
        rotate: Confirm::new(
            "Replace the secret",
            question,
            forms.form(ROTATE, "Replace it").hidden("version", business.version.to_string()),
        ),
        resend_failed: forms
            .form(RESEND_FAILED, "Send failed ones again")
            .look(Look::Plain)
            .field(forms.field_of(RESEND_FAILED, "since", "That failed since", Kind::Date, &since)),
    }
}

fn filters(here: &Here, view: &View, wrong: Option<(&str, &str)>) -> Filters {
    let field = |name: &'static str, label: &str, kind: Kind, value: &str| {
        let error = wrong.filter(|(field, _)| *field == name).map(|(_, why)| why);
        Field::new(FILTER, name, label, kind).optional().value(value).error(error)
    };
    let states = [
        ("", "Any state"),
        ("waiting", "Waiting or tried again"),
        ("delivered", "Delivered"),
        ("failed", "Failed"),
        ("paused", "Paused"),
        ("not_sent", "Not sent"),
    ];
    let states = states.into_iter().map(|(value, text)| Choice::new(value, text)).collect();
    let kinds = EventKind::ALL.into_iter().map(|kind| Choice::new(kind.as_str(), kind.as_str()));
    let events = std::iter::once(Choice::new("", "Any event")).chain(kinds).collect();
    let mut hidden = vec![("business", here.id().to_string().into())];
    if here.is_test() {
        hidden.push(("mode", here.mode.as_str().into()));
    }
    let csv = [view.pairs().as_slice(), &[("format", "csv")]].concat();
    Filters {
        action: DASHBOARD_WEBHOOKS.to_owned(),
        hidden,
        fields: vec![
            field("transaction", "Transaction id", Kind::Search, &view.transaction),
            field("state", "State", Kind::Select(states), &view.state),
            field("type", "Event", Kind::Select(events), &view.event),
        ],
        more: Vec::new(),
        reset: view
            .pairs()
            .iter()
            .any(|(_, value)| !value.is_empty())
            .then(|| here.link(DASHBOARD_WEBHOOKS, &[])),
        csv: Some(here.link(DASHBOARD_WEBHOOKS, &csv)),
    }
}

fn shown(
    ask: &Ask,
    here: &Here,
    forms: &Forms<'_>,
    (number, most): (usize, usize),
    one: &Delivery,
    sent: &[SentRequest],
) -> Shown {
    let zone = ask.zone();
    let first = one.attempts.len().saturating_sub(most);
    let attempts = one.attempts.iter().zip(sent).skip(first).map(|(attempt, request)| Try {
        at: zone.exact(attempt.at),
        url: attempt.url.as_deref().unwrap_or("nowhere").into(),
        answered: answered(attempt).into(),
        answer: attempt.answer.as_ref().map(Text::from),
        headers: request.headers.iter().map(|(name, value)| format!("{name}: {value}").into()).collect(),
    });
    let last = one.attempts.last();
    let request = sent.last();
    let url = last.and_then(|attempt| attempt.url.as_deref());
    let may_resend = here.may(MemberRight::Integrate) && one.superseded().is_none();
    let note = one.note.as_ref().filter(|_| last.is_none_or(|last| last.error != one.note));
    Shown {
        number,
        event: (&one.event).into(),
        state: state(one),
        payment: one.transaction_id.as_ref().map(|id| Link::new(address(here, id), id)),
        at: zone.exact(one.created_at),
        last: match last {
            Some(attempt) => match one.attempts.len() {
                1 => answered(attempt).into(),
                ATTEMPTS_READ.. => {
                    format!("{ATTEMPTS_READ} attempts or more; last: {}", answered(attempt)).into()
                }
                n => format!("{n} attempts; last: {}", answered(attempt)).into(),
            },
            None => "Not sent yet".into(),
        },
        note: note.map(Text::from),
        attempts: attempts.collect(),
        has_older_attempts: first > 0,
        body: request
            .map_or_else(Text::default, |request| String::from_utf8_lossy(&request.body).as_ref().into()),
        curl: url.zip(request).map(|(url, request)| curl(url, request)),
        resend: may_resend
            .then(|| forms.in_row(RESEND, number, "Send again").hidden("event", one.id.to_string()).small()),
    }
}
