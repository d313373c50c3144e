//! The operator's desk: what waits, the alerts that a person decides, and everything that the command line shows and
//! does. Every act is the op that the command line calls, under the name of whoever is signed in.
//!
//! `page` is what most pages here are made of. Each handler asks for the right of each of its forms itself ([`may`]): the
//! table lets in whoever may look.

mod accounts;
mod activity;
mod alert;
mod alert_decision;
mod alerts;
mod audit;
mod banks;
mod business;
mod businesses;
mod mail;
mod mailboxes;
mod overview;
mod page;
mod payment;
mod payments;
mod payouts;
mod users;
mod wallets;
mod webhook;
mod webhooks;

use axum::response::Response;

use super::ask::{Answer, Ask};
use super::layout::{Frame, Way};
use super::plain::not_allowed;
use crate::domain::user::StaffRight;
use crate::http::paths;
use crate::ops::OpError;
use crate::ops::alerts::read::alerts_in_review;
use crate::ops::payouts::browse::payouts_waiting;

/// A page of the desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeskPage {
    Overview,
    Alerts,
    Alert,
    Payments,
    Payment,
    Businesses,
    Business,
    Accounts,
    Payouts,
    Wallets,
    Webhooks,
    Webhook,
    Mailboxes,
    Banks,
    Users,
    Activity,
    Audit,
}

/// One place of the navigation: where it leads, the pages it stands for, the heading before it.
type Place = (&'static str, &'static str, &'static [DeskPage], Option<&'static str>);

const PLACES: [Place; 13] = [
    (paths::OPERATOR, "Overview", &[DeskPage::Overview], None),
    (paths::OPERATOR_ALERTS, "Alerts", &[DeskPage::Alerts, DeskPage::Alert], None),
    (paths::OPERATOR_PAYMENTS, "Payments", &[DeskPage::Payments, DeskPage::Payment], None),
    (paths::OPERATOR_WEBHOOKS, "Webhooks", &[DeskPage::Webhooks, DeskPage::Webhook], None),
    (paths::OPERATOR_PAYOUTS, "Payouts", &[DeskPage::Payouts], None),
    (paths::OPERATOR_WALLETS, "Wallets", &[DeskPage::Wallets], None),
    (paths::OPERATOR_BUSINESSES, "Businesses", &[DeskPage::Businesses, DeskPage::Business], Some("Set-up")),
    (paths::OPERATOR_ACCOUNTS, "Accounts", &[DeskPage::Accounts], None),
    (paths::OPERATOR_BANKS, "Banks", &[DeskPage::Banks], None),
    (paths::OPERATOR_MAILBOXES, "Mailboxes", &[DeskPage::Mailboxes], None),
    (paths::OPERATOR_ACTIVITY, "Activity", &[DeskPage::Activity], Some("Control")),
    (paths::OPERATOR_AUDIT, "Audit", &[DeskPage::Audit], None),
    (paths::OPERATOR_USERS, "Users", &[DeskPage::Users], None),
];

/// Each page's future has a place of its own, and is put there before it is begun: a program that is not optimised keeps on
/// the stack whatever passed over it, for as long as the function runs.
pub fn answer(ask: &Ask, page: DeskPage) -> Answer<'_> {
    match page {
        DeskPage::Overview => Box::pin(overview::answer(ask)),
        DeskPage::Alerts => Box::pin(alerts::answer(ask)),
        DeskPage::Alert => Box::pin(alert::answer(ask)),
        DeskPage::Payments => Box::pin(payments::answer(ask)),
        DeskPage::Payment => Box::pin(payment::answer(ask)),
        DeskPage::Businesses => Box::pin(businesses::answer(ask)),
        DeskPage::Business => Box::pin(business::answer(ask)),
        DeskPage::Accounts => Box::pin(accounts::answer(ask)),
        DeskPage::Payouts => Box::pin(payouts::answer(ask)),
        DeskPage::Wallets => Box::pin(wallets::answer(ask)),
        DeskPage::Webhooks => Box::pin(webhooks::answer(ask)),
        DeskPage::Webhook => Box::pin(webhook::answer(ask)),
        DeskPage::Mailboxes => Box::pin(mailboxes::answer(ask)),
        DeskPage::Banks => Box::pin(banks::answer(ask)),
        DeskPage::Users => Box::pin(users::answer(ask)),
        DeskPage::Activity => Box::pin(activity::answer(ask)),
        DeskPage::Audit => Box::pin(audit::answer(ask)),
    }
}

/// What stands around every page of the desk.
async fn frame(ask: &Ask, title: &str, page: DeskPage) -> Result<Frame, OpError> {
    let waiting = Waiting {
        alerts: alerts_in_review(ask.app()).await?,
        payouts: payouts_waiting(ask.app()).await?.count,
    };
    Ok(frame_with(ask, title, Some(page), waiting))
}

/// How many wait where, beside the ways.
#[derive(Clone, Copy, Default)]
pub(super) struct Waiting {
    alerts: i64,
    payouts: i64,
}

/// The same of no page of its own, such as a page that is not there.
pub(super) fn frame_with(ask: &Ask, title: &str, page: Option<DeskPage>, waiting: Waiting) -> Frame {
    let mut frame = ask.frame(title);
    frame.home = paths::OPERATOR.to_owned();
    let places =
        PLACES.iter().filter(|(path, ..)| *path != paths::OPERATOR_USERS || may(ask, StaffRight::Administer));
    frame.ways = places
        .map(|(path, name, pages, heading)| {
            let way = Way::new(*path, *name).current(page.is_some_and(|page| pages.contains(&page)));
            let way = match *path {
                paths::OPERATOR_ALERTS => way.count(waiting.alerts),
                paths::OPERATOR_PAYOUTS => way.count(waiting.payouts),
                _ => way,
            };
            match heading {
                Some(heading) => way.heading(*heading),
                None => way,
            }
        })
        .collect();
    frame
}

fn may(ask: &Ask, right: StaffRight) -> bool {
    ask.session.as_ref().is_some_and(|session| session.may(right))
}

/// The answer to a form of who may not send it.
fn forbidden(ask: &Ask, right: StaffRight) -> Option<Response> {
    (!may(ask, right)).then(|| not_allowed(ask, &right.roles()))
}

/// The id at the end of the path; 0, which nothing has, if there is none.
fn id_behind(ask: &Ask, beginning: &str) -> i64 {
    ask.behind(&format!("{beginning}/")).parse().unwrap_or(0)
}
