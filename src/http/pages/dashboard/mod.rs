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
pub mod wallet;
pub mod webhook;
pub mod webhooks;
pub mod websites;

use axum::response::Response;

use super::ask::Ask;
use crate::ops::OpError;

/// Which page of a business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DashboardPage {
    Overview,
    Payments,
    NewPayment,
    Payment,
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

/// Each page's future has a place of its own: together they would be too large for a thread's stack.
pub async fn answer(ask: &Ask, page: DashboardPage) -> Result<Response, OpError> {
    match page {
        DashboardPage::Overview => Box::pin(overview::answer(ask)).await,
        DashboardPage::Payments => Box::pin(payments::answer(ask)).await,
        DashboardPage::NewPayment => Box::pin(new_payment::answer(ask)).await,
        DashboardPage::Payment => Box::pin(payment::answer(ask)).await,
        DashboardPage::Balance => Box::pin(balance::answer(ask)).await,
        DashboardPage::Payouts => Box::pin(payouts::answer(ask)).await,
        DashboardPage::Wallet => Box::pin(wallet::answer(ask)).await,
        DashboardPage::Keys => Box::pin(keys::answer(ask)).await,
        DashboardPage::Websites => Box::pin(websites::answer(ask)).await,
        DashboardPage::Webhooks => Box::pin(webhooks::answer(ask)).await,
        DashboardPage::Requests => Box::pin(requests::answer(ask)).await,
        DashboardPage::Team => Box::pin(team::answer(ask)).await,
        DashboardPage::Activity => Box::pin(activity::answer(ask)).await,
        DashboardPage::Settings => Box::pin(settings::answer(ask)).await,
    }
}
