//! The merchant's pages: payments, keys, websites, webhooks, the team. Every act is an op under the name of whoever is
//! signed in, and counts for the business of the page alone (`http::pages::here`).
//!
//! A page's route says who may look; its forms ask for the right that they need themselves.

pub mod activity;
pub mod balance;
mod export;
mod form;
pub(super) mod frame;
pub mod keys;
pub mod new_payment;
pub mod overview;
pub mod payment;
pub mod payments;
pub mod payouts;
pub mod requests;
pub mod settings;
mod simulate;
pub mod team;
pub mod till;
pub mod till_events;
mod till_live;
pub mod wallet;
pub mod webhook;
pub mod webhooks;
pub mod websites;

use super::ask::{Answer, Ask};

/// Which page of a business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DashboardPage {
    Overview,
    Payments,
    NewPayment,
    Payment,
    Till,
    TillEvents,
    Balance,
    Payouts,
    Wallet,
    Keys,
    Websites,
    Webhooks,
    Requests,
    Team,
    Activity,
    Settings,
}

/// Each page's future has a place of its own, and is put there before it is begun: a program that is not optimised keeps on
/// the stack whatever passed over it, for as long as the function runs.
pub fn answer(ask: &Ask, page: DashboardPage) -> Answer<'_> {
    match page {
        DashboardPage::Overview => Box::pin(overview::answer(ask)),
        DashboardPage::Payments => Box::pin(payments::answer(ask)),
        DashboardPage::NewPayment => Box::pin(new_payment::answer(ask)),
        DashboardPage::Payment => Box::pin(payment::answer(ask)),
        DashboardPage::Till => Box::pin(till::answer(ask)),
        DashboardPage::TillEvents => Box::pin(till_events::answer(ask)),
        DashboardPage::Balance => Box::pin(balance::answer(ask)),
        DashboardPage::Payouts => Box::pin(payouts::answer(ask)),
        DashboardPage::Wallet => Box::pin(wallet::answer(ask)),
        DashboardPage::Keys => Box::pin(keys::answer(ask)),
        DashboardPage::Websites => Box::pin(websites::answer(ask)),
        DashboardPage::Webhooks => Box::pin(webhooks::answer(ask)),
        DashboardPage::Requests => Box::pin(requests::answer(ask)),
        DashboardPage::Team => Box::pin(team::answer(ask)),
        DashboardPage::Activity => Box::pin(activity::answer(ask)),
        DashboardPage::Settings => Box::pin(settings::answer(ask)),
    }
}
