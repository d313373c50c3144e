//! What is handed to the bank: pending payouts, each once, so that a bulk upload sends no money twice. One that was handed
//! over cannot be cancelled by the business any more. What should not leave now is left out and named.

use super::held::held_back;
use crate::app::App;
use crate::domain::time::Timestamp;
use crate::ops::paging::Place;
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::payouts::PayoutRow;
use crate::store::tables::{acts, payouts};
use crate::store::{IdKind, Step};

/// Payouts of one file.
pub const EXPORT_MAX: usize = 10_000;
/// Payouts of one Unit.
const BATCH: usize = 500;

/// Payouts for a file.
#[derive(Debug, Default)]
pub struct Exported {
    /// The oldest first.
    pub rows: Vec<PayoutRow>,
    /// Left out, and why.
    pub held: Vec<(PayoutRow, String)>,
    /// There are more than a file holds.
    pub more: bool,
}

/// What goes out is held back since then: the database was restored, and the bank may have these payouts already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "what goes out is held back since {0}, because the database was restored or somebody ran tillbell hold: the bank may have \
     payouts already that look pending here. Compare with its statement, mark what was paid, then run tillbell resume"
)]
pub struct Held(pub Timestamp);

/// Hands pending payouts over: those that were not before, or with `again` only those that were.
pub async fn export_payouts(
    app: &App,
    operator: &str,
    again: bool,
) -> Result<Result<Exported, Held>, OpError> {
    if let Some(since) = app.store.held_since().await? {
        return Ok(Err(Held(since)));
    }
    handed_over(app, operator, again).await.map(Ok)
}

async fn handed_over(app: &App, operator: &str, again: bool) -> Result<Exported, OpError> {
    let mut exported = Exported::default();
    let mut after = Place::begin_of(Timestamp(0));
    let mut races = 0;
    loop {
        let batch = app.store.oldest_payouts(after, BATCH).await?;
        let Some(last) = batch.last() else { return Ok(exported) };
        let end = Place { at: last.payout.created_at, id: last.payout.id };
        // Of one that somebody says is paid the money has gone.
        let fits = |row: &PayoutRow| row.payout.taken_at.is_some() == again && row.payout.first.is_none();
        let mut chosen: Vec<PayoutRow> = batch.into_iter().filter(fits).collect();
        let why = held_back(app, &chosen).await?;
        let held: Vec<PayoutRow> = chosen.extract_if(.., |row| why.contains_key(&row.payout.id)).collect();
        if exported.rows.len() + chosen.len() > EXPORT_MAX {
            return Ok(Exported { more: true, ..exported });
        }
        if !again && !chosen.is_empty() && !take(app, operator, &chosen).await? {
            // Somebody cancelled one at this moment: look again.
            races += 1;
            if races > RACES_MAX {
                return Err(OpError::Contended);
            }
            continue;
        }
        let named = |row: PayoutRow| why.get(&row.payout.id).cloned().map(|why| (row, why));
        exported.held.extend(held.into_iter().filter_map(named));
        exported.rows.extend(chosen);
        after = end;
    }
}

async fn take(app: &App, operator: &str, rows: &[PayoutRow]) -> Result<bool, OpError> {
    let now = app.now();
    let mut steps: Vec<Step> = rows.iter().map(|row| payouts::take(&row.payout, now)).collect();
    let (first, last) = (rows.first(), rows.last());
    let ids = first.zip(last).map(|(first, last)| format!("{} to {}", first.payout.id, last.payout.id));
    let what = format!("{} payouts, numbers {}", rows.len(), ids.unwrap_or_default());
    let act = app.store.id(IdKind::Act).await?;
    steps.push(acts::record(act, operator, "payout export", "payouts", &what, now));
    Ok(app.store.apply(app.store.unit(0).await?.steps(steps)).await?.is_done())
}
