//! A debit or reversal arrived: credits that it may have taken back are held in review, and an approved one
//! raises an alarm (decisions 8). Nothing is reversed by itself.
//!
//! It speaks of the credits that it names by session id or reference, and of other tellings of their money. Anybody
//! can type a session id into a small transfer: where none of those named is of its amount, the credits of its account
//! and amount whose payer its narration names are meant as well. Where it names no credit, it speaks of those; and
//! where it names nobody, of any, as long as they are few: an alarm for each of sixty credits would hide the one that
//! matters.

use super::alert_log;
use super::similar::{LIKELY_MAX, REVERSAL_WITHIN, named_by};
use crate::app::App;
use crate::domain::account::{ReceivingAccount, mask_fits};
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::same_transfer::{
    is_credit, is_fee, is_undoing, is_vouched, may_be_the_same_money, may_undo, names_the_payer, takes_back,
};
use crate::ops::{OpError, RACES_MAX};
use crate::store::Step;
use crate::store::tables::alerts;
use crate::store::tables::jobs::{self, JobKind};

/// Credits of one amount that are looked at.
const CREDITS_MAX: usize = 500;

/// A debit or reversal that the bank or a person vouches for, or what reads as a fee and may be one.
pub(in crate::ops) fn undoes(alert: &AlertRow) -> bool {
    let leaves = is_undoing(alert) || is_fee(alert);
    alert.status == AlertStatus::Ignored && alert.authenticity.counts() && leaves
}

/// Finds what it may have taken back, and holds it or raises the alarm. May be run again after a crash: it
/// repeats the alarm at most.
pub(in crate::ops) async fn link_undone(app: &App, undoing: &AlertRow) -> Result<(), OpError> {
    let accounts = app.directory.accounts().await?;
    let mut likely = named_by(app, undoing, &accounts).await?;
    likely.retain(|credit| takes_back(undoing, credit));
    let mut any = Vec::new();
    let of_amount = of_its_account_and_amount(app, undoing, &accounts).await?;
    if likely.is_empty() {
        (likely, any) = likely_ones(undoing, of_amount);
    } else {
        let more = beside_the_named(undoing, &likely, of_amount);
        likely.extend(more);
    }
    if let ([only], None) = (&likely[..], undoing.linked_alert_id) {
        note(app, undoing.id, alerts::link(undoing.id, only.id)).await?;
    }
    for credit in likely {
        hold_or_alarm(app, credit, undoing.id).await?;
    }
    let (waiting, settled): (Vec<_>, Vec<_>) = any.into_iter().partition(|credit| credit.status.is_waiting());
    for credit in waiting {
        hold_or_alarm(app, credit, undoing.id).await?;
    }
    if !settled.is_empty() {
        metrics::counter!("tillbell_alarms_total", "kind" => "money_taken_back").increment(1);
        tracing::error!(
            undoing = undoing.id,
            credits = settled.len(),
            "ALARM: a debit or reversal may have taken back one of several credits of this amount; look at the \
             bank's statement and use `payment reverse` if so"
        );
    }
    Ok(())
}

/// The credits of its account and amount that are meant beside those that it names: other tellings of the same
/// money; and where none that it names is of its amount, those whose payer its narration names.
fn beside_the_named(undoing: &AlertRow, named: &[AlertRow], of_amount: Vec<AlertRow>) -> Vec<AlertRow> {
    let amount_agrees = named.iter().any(|credit| credit.facts.amount == undoing.facts.amount);
    let is_meant = |credit: &AlertRow| {
        named.iter().all(|known| known.id != credit.id)
            && if amount_agrees {
                named.iter().any(|known| may_be_the_same_money(known, credit))
            } else {
                names_the_payer(undoing, credit)
            }
    };
    of_amount.into_iter().filter(is_meant).take(LIKELY_MAX).collect()
}

/// Of the credits of its account and amount the likely ones, or else all among which it cannot be told.
fn likely_ones(undoing: &AlertRow, found: Vec<AlertRow>) -> (Vec<AlertRow>, Vec<AlertRow>) {
    let mut named: Vec<AlertRow> =
        found.iter().filter(|credit| names_the_payer(undoing, credit)).cloned().collect();
    if !named.is_empty() {
        named.truncate(LIKELY_MAX);
        return (named, Vec::new());
    }
    if found.len() <= LIKELY_MAX { (found, Vec::new()) } else { (Vec::new(), found) }
}

/// Credits of its account and amount that it may have taken back.
async fn of_its_account_and_amount(
    app: &App,
    undoing: &AlertRow,
    accounts: &[ReceivingAccount],
) -> Result<Vec<AlertRow>, OpError> {
    let Some(amount) = undoing.facts.amount else { return Ok(Vec::new()) };
    let bank = undoing.facts.bank.as_ref();
    let is_about = |one: &ReceivingAccount| match (undoing.account_id, &undoing.facts.account_number) {
        // What came over a virtual account leaves from the one that it is settled through.
        (Some(id), _) => one.id == id || one.via == Some(id),
        // It names none, so it may be any of the bank's; or it shows too little to tell which of those that fit.
        (None, shown) => {
            bank.is_none_or(|bank| *bank == one.bank)
                && shown.as_ref().is_none_or(|shown| mask_fits(shown, &one.number))
        }
    };
    // A mail that was proven late may have been overtaken by credits that it is about.
    let seen = (undoing.first_seen - REVERSAL_WITHIN, undoing.first_seen + REVERSAL_WITHIN);
    let mut found = Vec::new();
    for one in accounts.iter().filter(|one| is_about(one)) {
        found.extend(app.store.alerts_seen(Some(one.id), amount, seen, CREDITS_MAX).await?);
    }
    found.retain(|credit| {
        let alive = credit.status.is_waiting() || credit.status == AlertStatus::Matched;
        alive
            && is_credit(credit)
            && is_vouched(credit)
            && takes_back(undoing, credit)
            && may_undo(undoing, credit)
    });
    Ok(found)
}

async fn note(app: &App, shard: i64, step: Step) -> Result<(), OpError> {
    let unit = app.store.unit(shard).await?.step(step);
    let _ = app.store.apply(unit).await?;
    Ok(())
}

async fn hold_or_alarm(app: &App, credit: AlertRow, undoing: i64) -> Result<(), OpError> {
    let why = format!("alert {undoing} may have taken this money back");
    let mut alert = credit;
    for _ in 0..RACES_MAX {
        match alert.status {
            AlertStatus::New | AlertStatus::Review | AlertStatus::Unmatched => {
                let held = alerts::held(&alert, &why, undoing);
                let job = jobs::finish_by_subject(JobKind::Decide, alert.id, "held", app.now());
                let unit = app.store.unit(alert.id).await?.step(held).step(job);
                if app.store.apply(unit).await?.is_done() {
                    alert_log::held(app, &alert);
                    return Ok(());
                }
            }
            AlertStatus::Matched => return alarm(app, &alert, undoing).await,
            _ => return Ok(()),
        }
        // It was decided at this moment: look what became of it.
        match app.store.alert(alert.id).await? {
            Some(fresh) => alert = fresh,
            None => return Ok(()),
        }
    }
    Err(OpError::Contended)
}

async fn alarm(app: &App, credit: &AlertRow, undoing: i64) -> Result<(), OpError> {
    note(app, credit.id, alerts::link(credit.id, undoing)).await?;
    // The alarm is raised also where its payment cannot be read.
    let payment = match credit.payment_id {
        Some(id) => app.store.payment(id).await.ok().flatten(),
        None => None,
    };
    metrics::counter!("tillbell_alarms_total", "kind" => "money_taken_back").increment(1);
    tracing::error!(
        credit = credit.id,
        undoing,
        transaction_id = payment.as_ref().map(|payment| payment.transaction_id.as_str()),
        business = payment.as_ref().map(|payment| payment.business_id),
        "ALARM: a debit or reversal may have taken back money that was credited; \
         look at both alerts and use `payment reverse` if so"
    );
    Ok(())
}
