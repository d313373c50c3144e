//! The open alarms of credits that a debit may have taken back, because of which payouts wait: of one credit, and where it
//! cannot be told which of several it took, of their beneficiaries. Called by `taken_back`.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::reach::LIKELY_MAX;
use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::matching::Beneficiary;
use crate::domain::payment::Payment;
use crate::domain::same_transfer::{may_name_the_payer, may_repeat, names_the_payer};
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::alerts;

/// Beneficiaries whose payers one debit may name; a narration of more names is none.
const NAMED_MAX: usize = 20;
/// Of the credits of one beneficiary of which a debit may have taken one, so many bear its alarm.
const ALARMED_MAX: usize = 20;

/// Whether a credit may be the one that a debit took, though the debit names the payer of another: it shows no payer, or what its
/// own payer typed, which the debit repeats, may have named him.
pub(super) fn may_be_the_one(undoing: &AlertRow, credit: &AlertRow) -> bool {
    credit.facts.payer_name.is_none() || may_name_the_payer(undoing, credit) || may_repeat(undoing, credit)
}

/// Where the credits of which it took one are of few beneficiaries, the alarm stands at each of them until somebody deals
/// with it: who pays himself often enough could have one taken back and what he has paid out. Of very many at the newest.
/// If it names payers, at those of whom it names, and a remark has no room for many: who names others who paid as much in
/// his own must not be one of too many by that. Beside them at those of whom it may be all the same.
pub(super) async fn hold_beneficiaries(
    app: &App,
    credits: &[AlertRow],
    undoing: &AlertRow,
) -> Result<(), OpError> {
    let mut paid: Vec<&AlertRow> =
        credits.iter().filter(|credit| credit.status == AlertStatus::Matched).collect();
    paid.sort_by_key(|credit| Reverse(credit.id));
    let named: Vec<&AlertRow> =
        paid.iter().copied().filter(|credit| names_the_payer(undoing, credit)).collect();
    if named.is_empty() {
        return hold_few(app, &paid, undoing, LIKELY_MAX).await;
    }
    // Or whose own payer wrote the name, which the debit repeats.
    let is_meant = |credit: &&AlertRow| {
        named.iter().any(|known| known.id == credit.id || may_name_the_payer(credit, known))
    };
    let (meant, mut others): (Vec<&AlertRow>, Vec<&AlertRow>) = paid.into_iter().partition(is_meant);
    hold_few(app, &meant, undoing, NAMED_MAX).await?;
    others.retain(|credit| may_be_the_one(undoing, credit));
    hold_few(app, &others, undoing, LIKELY_MAX).await
}

/// The alarm at each of the credits, newest first, unless they are of more beneficiaries than that.
async fn hold_few(app: &App, credits: &[&AlertRow], undoing: &AlertRow, most: usize) -> Result<(), OpError> {
    let mut of_each: HashMap<i64, usize> = HashMap::new();
    let mut alarmed = Vec::new();
    for credit in credits {
        let Some(payment) = paid_by(app, credit).await? else { continue };
        // Wallets cost nothing: those that one business has topped up are as one.
        let before = of_each.entry(payment.business_id).or_default();
        if *before < ALARMED_MAX {
            alarmed.push(credit.id);
        }
        *before += 1;
        if of_each.len() > most {
            return Ok(());
        }
    }
    for id in alarmed {
        note_alarm(app, id, undoing.id).await?;
    }
    Ok(())
}

/// Those of which no beneficiary is paid by one of the `held` ones, which bear the alarm.
pub(super) async fn of_others(
    app: &App,
    credits: Vec<AlertRow>,
    held: &[AlertRow],
) -> Result<Vec<AlertRow>, OpError> {
    let mut known = HashSet::new();
    for credit in held.iter().filter(|credit| credit.status == AlertStatus::Matched) {
        known.extend(beneficiary_of(app, credit).await?);
    }
    if known.is_empty() {
        return Ok(credits);
    }
    let mut others = Vec::new();
    for credit in credits {
        let is_held = credit.status == AlertStatus::Matched
            && beneficiary_of(app, &credit).await?.is_some_and(|one| known.contains(&one));
        if !is_held {
            others.push(credit);
        }
    }
    Ok(others)
}

async fn beneficiary_of(app: &App, credit: &AlertRow) -> Result<Option<Beneficiary>, OpError> {
    Ok(paid_by(app, credit).await?.map(|payment| Beneficiary::of(&payment)))
}

async fn paid_by(app: &App, credit: &AlertRow) -> Result<Option<Payment>, OpError> {
    let Some(id) = credit.payment_id else { return Ok(None) };
    Ok(app.store.payment(id).await?)
}

/// The newest is the credit's link, and each stays a question of its own.
pub(super) async fn note_alarm(app: &App, credit: i64, undoing: i64) -> Result<(), OpError> {
    for _ in 0..RACES_MAX {
        let noted = [alerts::link(credit, undoing), alerts::add_alarm(credit, undoing, app.now())];
        if app.store.apply(app.store.unit(credit).await?.steps(noted)).await?.is_done() {
            return Ok(());
        }
    }
    Err(OpError::Contended)
}
