//! The open alarms of credits that a debit may have taken back, because of which payouts wait: of one credit, and where it
//! cannot be told which of several it took, of their beneficiaries. Called by `taken_back`.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::reach::LIKELY_MAX;
use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::matching::Beneficiary;
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
        let Some(id) = credit.payment_id else { continue };
        let Some(payment) = app.store.payment(id).await? else { continue };
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
    mut credits: Vec<AlertRow>,
    held: &[AlertRow],
) -> Result<Vec<AlertRow>, OpError> {
    let pays = |credit: &AlertRow| credit.payment_id.filter(|_| credit.status == AlertStatus::Matched);
    let ids: Vec<i64> = credits.iter().chain(held).filter_map(pays).collect();
    let payments = app.store.payments_by_ids(&ids).await?;
    let of_each: HashMap<i64, Beneficiary> =
        payments.iter().map(|payment| (payment.id, Beneficiary::of(payment))).collect();
    let paid_by = |credit: &AlertRow| pays(credit).and_then(|id| of_each.get(&id));
    let known: HashSet<&Beneficiary> = held.iter().filter_map(paid_by).collect();
    credits.retain(|credit| paid_by(credit).is_none_or(|beneficiary| !known.contains(beneficiary)));
    Ok(credits)
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
