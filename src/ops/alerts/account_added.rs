//! After an account was added: places alerts on it that show its number and named no account of ours, and has them
//! decided again.
//!
//! Money may come to an account before it is added here. Its alerts wait in review without an account, so that nothing
//! is compared with them. What a person dealt with is left alone.

use super::copies::fresh_keys;
use super::draft::{find_account, no_account_fits};
use crate::app::App;
use crate::domain::account::{ReceivingAccount, mask_fits};
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::same_transfer::holding_account_of;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::store::tables::alerts::{self, unread::PAGE};
use crate::store::tables::jobs::{self, JobKind};
use crate::store::{Applied, IdKind};

/// Alerts in review that are looked at.
const LOOKED_AT_MAX: usize = 20_000;

/// Idempotent: run again, it finds nothing left to do.
pub async fn place_alerts(app: &App, account_id: i64) -> Result<(), OpError> {
    // Not the directory's, which may be older than the account.
    let accounts = app.store.accounts().await?;
    let Some(added) = accounts.iter().find(|account| account.id == account_id) else { return Ok(()) };
    let (mut at, mut after, mut looked_at, mut placed) = (Timestamp::MIN, 0, 0, 0);
    loop {
        let page = app.store.alerts_after(AlertStatus::Review, at, after).await?;
        looked_at += page.len();
        let is_last = page.len() < PAGE;
        if let Some(last) = page.last() {
            (at, after) = (last.first_seen, last.id);
        }
        for alert in page {
            if shows(&alert, added) && place_anew(app, &alert, &accounts).await? {
                placed += 1;
            }
        }
        if is_last {
            break;
        }
        if looked_at >= LOOKED_AT_MAX {
            tracing::warn!(
                account = account_id,
                looked_at,
                "too many alerts wait to look at all of them for an account that was added; look at the newer ones \
                 yourself"
            );
            break;
        }
    }
    if placed > 0 {
        tracing::info!(
            account = account_id,
            alerts = placed,
            "alerts that show an added account are decided again"
        );
    }
    Ok(())
}

/// It names no account of ours, and its mail shows a number that fits this one.
fn shows(alert: &AlertRow, added: &ReceivingAccount) -> bool {
    let facts = &alert.facts;
    alert.account_id.is_none()
        && facts.bank.as_ref() == Some(&added.bank)
        && facts.account_number.as_ref().is_some_and(|shown| mask_fits(shown, &added.number))
}

/// One Unit, guarded by the alert's version: the account, the keys by which copies are known there, and the job that
/// decides it. `false`: no one account fits, or somebody was faster.
async fn place_anew(app: &App, alert: &AlertRow, accounts: &[ReceivingAccount]) -> Result<bool, OpError> {
    let (Some(amount), Some(shown)) = (alert.facts.amount, &alert.facts.account_number) else {
        return Ok(false);
    };
    let was = no_account_fits(shown);
    let mut fresh = alert.clone();
    fresh.facts.doubts.retain(|doubt| *doubt != was);
    let (Some(account), doubts) = find_account(&fresh.facts, accounts) else { return Ok(false) };
    fresh.facts.doubts.extend(doubts);
    let holding_account = holding_account_of(accounts, account.id);
    let now = app.now();
    let job = app.store.id(IdKind::Job).await?;
    let mut unit = app
        .store
        .unit(alert.id)
        .await?
        .step(alerts::placed(&fresh, account.id))
        .step(jobs::enqueue(job, JobKind::Decide, 0, alert.id, now, now));
    if alert.authenticity.counts() {
        let keys = fresh_keys(app, &fresh, holding_account).await?;
        unit = unit
            .steps(keys.iter().map(|(kind, key)| alerts::add_key(kind, key, alert.id)))
            .step(alerts::raise_amount_version(holding_account, amount));
    }
    match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(true),
        Applied::Conflict { .. } => Ok(false),
        // Somebody took one of the keys at this moment.
        Applied::ConstraintViolation { .. } => Err(OpError::Contended),
    }
}
