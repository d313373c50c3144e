//! The open alarms of credits that a debit may have taken back, because of which payouts wait: of one credit, and where it
//! cannot be told which of several it took, of their beneficiaries. Called by `taken_back`.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::reach::LIKELY_MAX;
use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::matching::Beneficiary;
use crate::domain::same_transfer::names_the_payer;
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::alerts;

/// Beneficiaries whose payers one debit may name; a narration of more names is none.
const NAMED_MAX: usize = 20;
/// Of the credits of one beneficiary of which a debit may have taken one, so many bear its alarm.
const ALARMED_MAX: usize = 20;

/// Where the credits of which it took one are of few beneficiaries, the alarm stands at each of them until somebody deals
/// with it: who pays himself often enough could have one taken back and what he has paid out. Of very many at the newest.
/// If it names payers, at those of whom it names, and a remark has no room for many: who names others who paid as much in
/// his own must not be one of too many by that.
pub(super) async fn hold_beneficiaries(
    app: &App,
    credits: &[AlertRow],
    undoing: &AlertRow,
) -> Result<(), OpError> {
    let mut paid: Vec<&AlertRow> =
        credits.iter().filter(|credit| credit.status == AlertStatus::Matched).collect();
    paid.sort_by_key(|credit| Reverse(credit.id));
    let named: Vec<AlertRow> = paid
        .iter()
        .filter(|credit| names_the_payer(undoing, credit))
        .map(|credit| (*credit).clone())
        .collect();
    let is_by_name = !named.is_empty();
    if is_by_name {
        // Or whose own payer wrote the name, which the debit repeats.
        paid.retain(|credit| {
            named.iter().any(|known| known.id == credit.id || names_the_payer(credit, known))
        });
    }
    let most = if is_by_name { NAMED_MAX } else { LIKELY_MAX };
    let mut of_each: HashMap<Beneficiary, usize> = HashMap::new();
    let mut alarmed = Vec::new();
    for credit in paid {
        let Some(id) = credit.payment_id else { continue };
        let Some(payment) = app.store.payment(id).await? else { continue };
        let before = of_each.entry(Beneficiary::of(&payment)).or_default();
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
