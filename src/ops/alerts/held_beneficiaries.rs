//! The open alarms of credits that a debit may have taken back, because of which payouts wait: of one credit, and where it
//! cannot be told which of several it took, of their beneficiaries. Called by `taken_back`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::reach::LIKELY_MAX;
use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::matching::{Beneficiary, first_of_each};
use crate::domain::same_transfer::{may_name_the_payer, may_repeat, names_the_payer};
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::alerts;

/// Beneficiaries whose payers one debit may name; a narration of more names is none.
const NAMED_MAX: usize = 20;
/// Wallets that one business has filled of which a debit may have taken the money of one; and those whose payer it names.
const WALLETS_MAX: usize = 20;
const WALLETS_NAMED_MAX: usize = 200;
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
        return hold_few(app, &paid, undoing, (LIKELY_MAX, WALLETS_MAX)).await;
    }
    hold_few(app, &named, undoing, (NAMED_MAX, WALLETS_NAMED_MAX)).await?;
    // Or whose own payer wrote the name, which the debit repeats.
    let is_meant = |credit: &&AlertRow| named.iter().any(|known| may_name_the_payer(credit, known));
    paid.retain(|credit| named.iter().all(|known| known.id != credit.id));
    let (meant, mut others): (Vec<&AlertRow>, Vec<&AlertRow>) = paid.into_iter().partition(is_meant);
    hold_few(app, &meant, undoing, (NAMED_MAX, WALLETS_MAX)).await?;
    others.retain(|credit| may_be_the_one(undoing, credit));
    hold_few(app, &others, undoing, (LIKELY_MAX, WALLETS_MAX)).await
}

/// The alarm at each of the credits, newest first, unless they are of more beneficiaries than that. Wallets cost nothing:
/// those that one business has topped up are as one. But each is held by itself, of very many the newest.
async fn hold_few(
    app: &App,
    credits: &[&AlertRow],
    undoing: &AlertRow,
    (most, wallets_most): (usize, usize),
) -> Result<(), OpError> {
    let mut of_each: BTreeMap<i64, Vec<(Beneficiary, i64)>> = BTreeMap::new();
    for credit in credits {
        let Some(id) = credit.payment_id else { continue };
        let Some(payment) = app.store.payment(id).await? else { continue };
        let whose = Beneficiary::of(&payment);
        of_each.entry(payment.business_id).or_default().push((whose, credit.id));
        if of_each.len() > most {
            return Ok(());
        }
    }
    for credits in of_each.into_values() {
        for id in alarmed_of(&credits, wallets_most) {
            note_alarm(app, id, undoing.id).await?;
        }
    }
    Ok(())
}

/// Of the credits through one business, newest first, those that bear the alarm: so many of its own, and as many of its wallets
/// together, but of each of the newest wallets at least one.
fn alarmed_of(credits: &[(Beneficiary, i64)], wallets_most: usize) -> Vec<i64> {
    let is_wallet = |whose: &Beneficiary| matches!(whose, Beneficiary::Wallet(_));
    let of_wallets = credits.iter().map(|(whose, _)| *whose).filter(is_wallet);
    let wallets = first_of_each(of_wallets, |whose| *whose, wallets_most);
    let of_a_wallet = (ALARMED_MAX / wallets.len().max(1)).max(1);
    let mut borne: HashMap<Beneficiary, usize> = HashMap::new();
    let mut alarmed = Vec::new();
    for (whose, credit) in credits {
        let most = match is_wallet(whose) {
            true if wallets.contains(whose) => of_a_wallet,
            true => 0,
            false => ALARMED_MAX,
        };
        let borne = borne.entry(*whose).or_default();
        if *borne < most {
            *borne += 1;
            alarmed.push(*credit);
        }
    }
    alarmed
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wallet_bears_the_alarm_of_very_many_the_newest() {
        let through = |wallets: i64, each: i64| {
            let credits: Vec<(Beneficiary, i64)> =
                (0..wallets * each).map(|n| (Beneficiary::Wallet(n % wallets), n)).collect();
            alarmed_of(&credits, WALLETS_MAX).len()
        };
        assert_eq!(through(1, 30), ALARMED_MAX);
        assert_eq!(through(7, 4), 14);
        assert_eq!(through(20, 2), 20);
        assert_eq!(through(21, 2), 20);
        let named: Vec<(Beneficiary, i64)> = (0..60).map(|n| (Beneficiary::Wallet(n), n)).collect();
        assert_eq!(alarmed_of(&named, WALLETS_NAMED_MAX).len(), 60);
        let mut of_shop: Vec<(Beneficiary, i64)> = (0..21).map(|n| (Beneficiary::Wallet(n), n)).collect();
        of_shop.extend((0..25).map(|n| (Beneficiary::Business(1), 100 + n)));
        assert_eq!(alarmed_of(&of_shop, WALLETS_MAX), (0..20).chain(100..120).collect::<Vec<i64>>());
    }
}
