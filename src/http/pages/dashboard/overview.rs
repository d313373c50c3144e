//! `/dashboard`: what is left to set up, how the last days went, and what needs a hand. Who may only use the till
//! is led there.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::frame::frame;
use crate::domain::time::Span;
use crate::domain::time::Timestamp;
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::chart::{Chart, Point, Shape, Unit};
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Badge, Link, Naira, Tab, Tabs, Tile, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::text::{Text, counted, grouped, percent};
use crate::http::pages::times::{age, took};
use crate::http::paths::{
    DASHBOARD, DASHBOARD_KEYS, DASHBOARD_NEW_PAYMENT, DASHBOARD_PAYMENTS, DASHBOARD_TILL, DASHBOARD_WEBHOOKS,
    DASHBOARD_WEBSITES,
};
use crate::ops::OpError;
use crate::ops::figures::days::{Days, Figures, figures_of};
use crate::ops::figures::waiting::{BusinessWaits, waiting_of};
use crate::ops::merchants::set_up::{EndingKey, SetUp, ending_keys, set_up};

/// Keys that end this soon are named.
const KEY_ENDS_WITHIN: Span = Span::days(14);

#[derive(Template)]
#[template(path = "dashboard/overview.html")]
struct Overview {
    frame: Frame,
    new_payment: Option<String>,
    /// Until all of it is done.
    set_up: Vec<ToDo>,
    left: usize,
    hand: Vec<ToDo>,
    tabs: Tabs,
    tiles: Vec<Tile>,
    chart: Chart,
    as_of: Text,
}

/// Something that is done or to be done, and where.
struct ToDo {
    badge: Badge,
    title: Text,
    text: Text,
    link: Option<Link>,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    if !here.may(MemberRight::ReadPayments) {
        return Ok(ask.see(&here.link(DASHBOARD_TILL, &[]), None));
    }
    let app = ask.app();
    let days = days_of(ask);
    let (figures, month, waits, done, ending) = tokio::try_join!(
        figures_of(app, here.id(), here.mode, days),
        figures_of(app, here.id(), here.mode, Days::Thirty),
        waiting_of(app, here.id(), here.mode),
        set_up(app, here.id()),
        ending_keys(app, here.id(), KEY_ENDS_WITHIN),
    )?;
    let steps = if done.is_done() { Vec::new() } else { steps(here, &done) };
    let page = Overview {
        frame: frame(ask, here, "Overview", DASHBOARD),
        new_payment: here.may_write_payments().then(|| here.link(DASHBOARD_NEW_PAYMENT, &[])),
        left: steps.iter().filter(|step| step.badge.tone != Tone::Good).count(),
        set_up: steps,
        hand: hand(ask, here, &waits, &ending),
        tabs: tabs(here, days),
        tiles: tiles(ask, here, &figures, &waits),
        chart: chart(&month),
        as_of: format!("Approvals are counted up to {}.", ask.zone().exact(figures.as_of).text).into(),
    };
    Ok(ask.html(StatusCode::OK, &page))
}

fn days_of(ask: &Ask) -> Days {
    let count = ask.query("days").and_then(|text| text.parse::<i64>().ok());
    Days::ALL.into_iter().find(|days| Some(days.count()) == count).unwrap_or(Days::Seven)
}

fn tabs(here: &Here, days: Days) -> Tabs {
    let tab = |one: Days| {
        let text = match one {
            Days::Today => "Today",
            Days::Seven => "7 days",
            Days::Thirty => "30 days",
        };
        Tab::new(here.link(DASHBOARD, &[("days", &one.count().to_string())]), text, one == days)
    };
    Tabs { label: "Days".into(), tabs: Days::ALL.map(tab).into() }
}

fn tiles(ask: &Ask, here: &Here, figures: &Figures, waits: &BusinessWaits) -> Vec<Tile> {
    let totals = &figures.totals;
    let none = || "–".to_owned();
    let volume = Tile::money("Approved", totals.approved_amount);
    let volume = match totals.reversed {
        0 => volume.note(counted(totals.approved, "payment")),
        n => {
            let amount = Naira(totals.reversed_amount).text();
            volume.note(format!("{}; {} reversed, {amount}", counted(totals.approved, "payment"), grouped(n)))
        }
    };
    let asked = Tile::new("Asked for", grouped(totals.asked));
    let asked = asked.note(format!("{} ended unpaid", grouped(totals.ended)));
    let alone = figures.alone_per_mille().map_or_else(none, percent);
    let alone = Tile::new("Approved by itself", alone).note("the rest by a person");
    let median = Tile::new("From bank to approval", figures.median.map_or_else(none, took));
    let median = match figures.slowest {
        Some(slowest) => median.note(format!("half took no longer; slowest {}", took(slowest))),
        None => median.note("half take no longer"),
    };
    let open = &waits.open;
    let more = if open.at_least { " or more" } else { "" };
    let waiting = Tile::new("Waiting for money", format!("{}{more}", grouped(open.count)));
    let waiting = waiting.href(here.link(DASHBOARD_PAYMENTS, &[("status", "pending")]));
    let waiting = match open.oldest {
        Some(oldest) => {
            let since = age(ask.app().now().since(oldest));
            waiting.note(format!("{}, oldest {since}", Naira(open.amount).text()))
        }
        None => waiting.note("nothing is open"),
    };
    let failed = Tile::new("Failed webhooks", grouped(figures.failed_webhooks));
    let failed = failed.href(here.link(DASHBOARD_WEBHOOKS, &[("state", "failed")]));
    let failed = match figures.failed_webhooks {
        0 => failed.note("all of these days arrived"),
        _ => failed.tone(Tone::Bad).note("and were not sent again"),
    };
    vec![volume, asked, alone, median, waiting, failed]
}

fn chart(month: &Figures) -> Chart {
    let point = |day: &crate::ops::figures::days::Day| {
        // Noon of the day, so that no zone makes another day of it.
        let noon = Timestamp::begin_of_lagos_day(day.day) + Span::hours(12);
        let label = crate::http::pages::times::Zone::default().day(noon).text;
        Point { label: label.into(), value: day.figures.approved_amount.kobo() }
    };
    let points = month.days.iter().map(point).collect();
    Chart::new("Approved, last 30 days", "Day", Shape::Bars, Unit::Money, points)
}

/// The way to the first payment.
fn steps(here: &Here, done: &SetUp) -> Vec<ToDo> {
    let integrates = here.may(MemberRight::Integrate);
    let step = |is_done: bool, title: &str, text: &str, link: Option<(String, &str)>| ToDo {
        badge: if is_done { Badge::new(Tone::Good, "Done") } else { Badge::new(Tone::Muted, "To do") },
        title: title.into(),
        text: text.into(),
        link: link.filter(|_| !is_done).map(|(href, text)| Link::new(href, text)),
    };
    let to = |path: &str, text: &'static str| integrates.then(|| (here.link(path, &[]), text));
    let website = match done.website_waits && !done.website_approved {
        true => "It waits for its approval.",
        false => "Payments and webhooks belong to a website of yours.",
    };
    let makes_payments = here.may_write_payments();
    let payment = |mode, text: &'static str| {
        makes_payments.then(|| (here.link_in(mode, DASHBOARD_NEW_PAYMENT, &[]), text))
    };
    use crate::domain::merchant::Mode;
    vec![
        step(
            done.website_approved,
            "A website that is approved",
            website,
            to(DASHBOARD_WEBSITES, "Websites"),
        ),
        step(
            done.webhook_address,
            "A webhook address",
            "Where your program is told of every approved payment.",
            to(DASHBOARD_WEBHOOKS, "Webhooks"),
        ),
        step(done.key, "An API key", "With it your program asks for payments.", to(DASHBOARD_KEYS, "Keys")),
        step(
            done.test_payment,
            "A first test payment",
            "Test payments move no money and count in no balance.",
            payment(Mode::Test, "New test payment"),
        ),
        step(
            done.live_payment,
            "A first live payment",
            "Pay a small amount yourself and see it arrive.",
            payment(Mode::Live, "New payment"),
        ),
    ]
}

/// What a person should look at.
fn hand(ask: &Ask, here: &Here, waits: &BusinessWaits, ending: &[EndingKey]) -> Vec<ToDo> {
    let to_webhooks = |state: &str| {
        let href = here.link(DASHBOARD_WEBHOOKS, &[("state", state)]);
        Some(Link::new(href, "Look at them"))
    };
    let since = |at: Option<Timestamp>| at.map_or_else(String::new, |at| age(ask.app().now().since(at)));
    let mut all = Vec::new();
    if !here.at.is_live {
        all.push(ToDo {
            badge: Badge::new(Tone::Warn, "Waits"),
            title: "Your business works in test mode".into(),
            text: "The operator looks at it before it takes real money. A mail tells you when it may.".into(),
            link: None,
        });
    }
    let trouble = &waits.webhooks;
    if trouble.failed.count > 0 {
        all.push(ToDo {
            badge: Badge::new(Tone::Bad, "Failed"),
            title: format!("{} did not arrive", counted(trouble.failed.count, "webhook")).into(),
            text: format!(
                "The oldest is from {} ago. Mend what the answers say, then send them again.",
                since(trouble.failed.oldest)
            )
            .into(),
            link: to_webhooks("failed"),
        });
    }
    if trouble.paused.count > 0 {
        all.push(ToDo {
            badge: Badge::new(Tone::Bad, "Paused"),
            title: match trouble.paused.count {
                1 => "1 webhook waits for an address that said it is gone".into(),
                many => format!("{} webhooks wait for an address that said it is gone", grouped(many)).into(),
            },
            text: "Your server answered 410. Send a test when it is back, or set another address.".into(),
            link: to_webhooks("paused"),
        });
    }
    if trouble.retried.count > 0 {
        all.push(ToDo {
            badge: Badge::new(Tone::Warn, "Trying"),
            title: match trouble.retried.count {
                1 => "1 webhook is tried again".into(),
                many => format!("{} webhooks are tried again", grouped(many)).into(),
            },
            text: format!("The oldest is from {} ago.", since(trouble.retried.oldest)).into(),
            link: to_webhooks("waiting"),
        });
    }
    for key in ending {
        let link = Link::new(here.link(DASHBOARD_KEYS, &[]), "Make a new key");
        all.push(ToDo {
            badge: Badge::new(Tone::Warn, "Ends"),
            title: format!("The key {} ends soon", key.label).into(),
            text: format!(
                "It works until {}. Requests with it are refused after that.",
                ask.zone().time(key.at).text
            )
            .into(),
            link: Some(link).filter(|_| here.may(MemberRight::Integrate)),
        });
    }
    all
}
