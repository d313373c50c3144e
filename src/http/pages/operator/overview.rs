//! `/operator`: what waits for a person, how much of the work the program does alone, and what is in trouble.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::audit::standing;
use super::{DeskPage, frame};
use crate::domain::alert::AlertStatus;
use crate::domain::merchant::Mode;
use crate::domain::time::{Span, Timestamp};
use crate::http::pages::ask::Ask;
use crate::http::pages::chart::{Chart, Point, Shape, Unit};
use crate::http::pages::layout::{Frame, link};
use crate::http::pages::parts::{Empty, Link, Naira, Notice, Tile, Tone};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::text::{counted, grouped, percent};
use crate::http::pages::times::{age, took};
use crate::http::paths::{
    OPERATOR_ALERTS, OPERATOR_AUDIT, OPERATOR_BUSINESSES, OPERATOR_MAILBOXES, OPERATOR_PAYMENTS,
    OPERATOR_PAYOUTS, OPERATOR_WEBHOOKS,
};
use crate::ops::OpError;
use crate::ops::figures::alarms::{DeskAlarm, alarms};
use crate::ops::figures::days::{Days, Figures, approvals_by_minute, bank_shares, figures_of_all, per_mille};
use crate::ops::figures::waiting::{AlertTotal, DeskWaits, waiting_at_desk};
use crate::ops::ledger::audit_runs::{AuditRun, runs};
use crate::ops::mailboxes::{MailboxStanding, standings};
use crate::ops::notices::alarms::{Notice as Alarm, alarms_since};

#[derive(Template)]
#[template(path = "operator/overview.html")]
struct Overview {
    frame: Frame,
    waits: Vec<Tile>,
    figures: Vec<Tile>,
    banks: Rows,
    minutes: Chart,
    /// What is in trouble, each with what to do.
    alarms: Vec<Notice>,
    told: Rows,
}

/// Alarms that are shown.
const TOLD_MAX: usize = 20;
/// Minutes of the chart.
const MINUTES: u16 = 60;

/// What the desk shows of alerts, in the order of their urgency.
const WAITING: [(AlertStatus, &str); 4] = [
    (AlertStatus::Review, "In review"),
    (AlertStatus::Unmatched, "Unmatched"),
    (AlertStatus::Quarantined, "Quarantined"),
    (AlertStatus::Unreadable, "Unreadable"),
];

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let app = ask.app();
    let (waits, today, month, banks, by_minute, alarms, told, audits, mailboxes) = tokio::try_join!(
        waiting_at_desk(app),
        figures_of_all(app, Mode::Live, Days::Today),
        figures_of_all(app, Mode::Live, Days::Thirty),
        bank_shares(app, Days::Thirty),
        approvals_by_minute(app, MINUTES),
        alarms(app),
        alarms_since(app, app.now() - Span::hours(24)),
        runs(app),
        standings(app),
    )?;
    let mut rows = Rows::new(
        "Approved without a person, by bank",
        vec![Column::new("Bank"), Column::figure("Approved"), Column::figure("By itself")],
        Empty::new("No approvals yet", "The share of each bank's alerts that need nobody stands here."),
    );
    for share in &banks {
        let alone = per_mille(share.alone, share.approved).map_or_else(String::new, percent);
        let bank = Cell::text(ask.http.mails.bank_name(&share.bank));
        rows.row(vec![bank, share.approved.into(), Cell::text(alone)]);
    }
    let page = Overview {
        frame: frame(ask, "Overview", DeskPage::Overview).await?,
        waits: waiting(ask, &waits),
        figures: figures(&today, &month)
            .into_iter()
            .chain(machinery(ask, &audits, &mailboxes, &waits))
            .collect(),
        banks: rows,
        minutes: minutes(ask, &by_minute),
        alarms: waits
            .held_since
            .map(|since| held(ask, since))
            .into_iter()
            .chain(alarms.iter().map(alarm))
            .collect(),
        told: told_today(ask, &told),
    };
    Ok(ask.html(StatusCode::OK, &page))
}

fn waiting(ask: &Ask, waits: &DeskWaits) -> Vec<Tile> {
    let now = ask.app().now();
    let alerts = WAITING.into_iter().map(|(status, label)| {
        let total = waits.alerts.iter().find(|total| total.status == status);
        let tile = Tile::new(label, grouped(total.map_or(0, |total| total.count)));
        let tile = tile.href(link(OPERATOR_ALERTS, &[("state", status.as_str())]));
        match total {
            Some(AlertTotal { amount, oldest, .. }) => {
                let since = age(now.since(*oldest));
                tile.tone(Tone::Warn).note(format!("{}, oldest {since} ago", Naira(*amount).text()))
            }
            None => tile.note("Nothing waits"),
        }
    });
    let payouts = &waits.payouts;
    let asked = Tile::new("Payouts", grouped(payouts.count)).href(OPERATOR_PAYOUTS);
    let asked = match payouts.oldest {
        Some(oldest) => {
            let since = age(now.since(oldest));
            asked.tone(Tone::Warn).note(format!("{}, oldest {since} ago", Naira(payouts.amount).text()))
        }
        None => asked.note("Nothing waits"),
    };
    let failed = &waits.failed_webhooks;
    let webhooks = Tile::new("Failed webhooks", grouped(failed.count))
        .href(link(OPERATOR_WEBHOOKS, &[("status", "failed")]));
    let webhooks = match failed.oldest {
        Some(oldest) => webhooks.tone(Tone::Bad).note(format!("oldest {} ago", age(now.since(oldest)))),
        None => webhooks.note("All arrive"),
    };
    let open = Tile::money("Open payments", waits.open.amount)
        .href(link(OPERATOR_PAYMENTS, &[("status", "pending"), ("mode", "live")]));
    let open = open.note(counted(waits.open.count, "payment"));
    // Where nobody registers there is nothing to look at.
    let businesses = waits.businesses.first().map(|oldest| {
        Tile::new("New businesses", grouped(i64::try_from(waits.businesses.len()).unwrap_or(i64::MAX)))
            .href(OPERATOR_BUSINESSES)
            .tone(Tone::Warn)
            .note(format!("wait for you, oldest {} ago", age(now.since(oldest.created_at))))
    });
    alerts.chain([asked, webhooks, open]).chain(businesses).collect()
}

fn figures(today: &Figures, month: &Figures) -> Vec<Tile> {
    let approved = Tile::money("Approved today", today.totals.approved_amount);
    let alone = month.alone_per_mille().map_or_else(|| "–".to_owned(), percent);
    let median = month.median.map_or_else(|| "–".to_owned(), took);
    let slowest = month.slowest.map(|slowest| format!("slowest {}", took(slowest)));
    let median = Tile::new("From bank to approval, 30 days", median);
    vec![
        approved.note(counted(today.totals.approved, "payment")),
        Tile::new("Approved by itself, 30 days", alone)
            .note(format!("of {}", counted(month.totals.approved, "payment"))),
        slowest.map_or(median.clone(), |slowest| median.note(slowest)),
    ]
}

/// What the program itself is doing: mailboxes, the queue of webhooks, the audit.
fn machinery(ask: &Ask, audits: &[AuditRun], mailboxes: &[MailboxStanding], waits: &DeskWaits) -> Vec<Tile> {
    let now = ask.app().now();
    let configured = mailboxes.iter().filter(|one| one.is_configured);
    let silent = configured.clone().filter(|one| one.is_silent(ask.app())).count();
    let count = configured.clone().count();
    let mails =
        Tile::new("Mailboxes read", format!("{} of {count}", count - silent)).href(OPERATOR_MAILBOXES);
    let mails = match silent {
        0 if count == 0 => mails.note("None is configured"),
        0 => mails.note("All are read"),
        _ => mails.tone(Tone::Bad).note("See above what is wrong"),
    };
    let queued: i64 = waits.queue.iter().map(|depth| depth.count).sum();
    let due = waits.queue.iter().filter_map(|depth| depth.oldest_run_at).min().filter(|at| *at < now);
    let queue = Tile::new("Webhooks to be sent", grouped(queued)).href(OPERATOR_WEBHOOKS);
    let queue = match due {
        Some(at) => queue.note(format!("the first is due for {}", age(now.since(at)))),
        None => queue.note("None is due"),
    };
    let audit = Tile::new("Audit", "").href(OPERATOR_AUDIT);
    let stands = standing(ask, audits);
    let audit = Tile { value: stands.word.into(), ..audit }.note(stands.told);
    let audit = match stands.tone {
        Tone::Good | Tone::Muted => audit,
        tone => audit.tone(tone),
    };
    vec![mails, queue, audit]
}

/// Approvals of the last hour, minute by minute.
fn minutes(ask: &Ask, by_minute: &[i64]) -> Chart {
    let now = ask.app().now();
    let point = |(at, count): (usize, &i64)| {
        let ago = i64::try_from(by_minute.len() - 1 - at).unwrap_or(0);
        Point { label: ask.zone().clock(now - Span::minutes(ago)).text.into(), value: *count }
    };
    Chart::new(
        "Approvals a minute",
        "Minute",
        Shape::Bars,
        Unit::Count,
        by_minute.iter().enumerate().map(point).collect(),
    )
}

/// The alarms of the last day, each with what to do about it.
fn told_today(ask: &Ask, told: &[Alarm]) -> Rows {
    let columns = vec![Column::new("What happened"), Column::new("What to do"), Column::new("When")];
    let mut rows = Rows::new(
        "Alarms of the day",
        columns,
        Empty::new(
            "No alarms",
            "What somebody must look at stands here for a day: a mailbox that is not read, money that may have gone back.",
        ),
    );
    let zone = ask.zone();
    for one in told.iter().take(TOLD_MAX) {
        let alert = one.cause.strip_prefix("alert ").and_then(|rest| rest.split(' ').next());
        let what = match alert {
            Some(id) => Cell::link(format!("{OPERATOR_ALERTS}/{id}"), one.kind.title()),
            None => Cell::text(one.kind.title()),
        };
        rows.row(vec![
            what.under(Cell::text(&one.body)),
            Cell::text(one.kind.advice()),
            zone.time(one.at).into(),
        ]);
    }
    rows
}

fn held(ask: &Ask, since: Timestamp) -> Notice {
    let since = ask.zone().time(since).text;
    let what = format!(
        "Webhooks, messages, mails and alarms are held back since {since}: the database was restored, or somebody held them. \
         Look at it, then run tillbell resume."
    );
    Notice::new(Tone::Bad, what)
}

fn alarm(alarm: &DeskAlarm) -> Notice {
    let (what, to, link) = match alarm {
        DeskAlarm::TakenBack(1) => (
            "The bank may have taken back the money of 1 approved payment. Reverse the payment, or dismiss the debit."
                .to_owned(),
            link(OPERATOR_PAYMENTS, &[]),
            "Payments",
        ),
        DeskAlarm::TakenBack(count) => (
            format!(
                "The bank may have taken back the money of {count} approved payments. Reverse each, or dismiss its debit."
            ),
            link(OPERATOR_PAYMENTS, &[]),
            "Payments",
        ),
        DeskAlarm::MailboxSilent(name, why) => (
            format!("The mailbox {name} is not read: {why}. No money is lost, but payments wait until it is read."),
            OPERATOR_MAILBOXES.to_owned(),
            "Mailboxes",
        ),
        DeskAlarm::Undecided(count) => (
            format!("{count} alerts cannot be decided and wait. Look into the log for what is wrong."),
            link(OPERATOR_ALERTS, &[("state", "all")]),
            "Alerts",
        ),
        DeskAlarm::WrongPins(count) => (
            format!(
                "Wallet payments of {count} businesses are stopped because of wrong PINs. Find out who tries, then \
                 switch the wallet of the business on again."
            ),
            OPERATOR_BUSINESSES.to_owned(),
            "Businesses",
        ),
        DeskAlarm::Paused(count) => (
            format!("{count} webhook addresses answered that they are gone. Tell their merchants; a resend starts them again."),
            link(OPERATOR_WEBHOOKS, &[("status", "paused")]),
            "Webhooks",
        ),
    };
    Notice::new(Tone::Bad, what).with_link(Link::new(to, link))
}
