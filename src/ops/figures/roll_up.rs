//! Rolls facts up into figures of days, where it stopped before; any node may, and two at once count a fact once.
//!
//! Approvals and reversals come from the ledger's entries in the order of their seals, in which each stands exactly once,
//! whatever the clocks of nodes say. Payments asked for, and those that ended unpaid, come in the order of time,
//! some minutes late, because a Unit may be committed some time after its own time. Called by work.

use std::collections::BTreeMap;

use crate::app::App;
use crate::crash;
use crate::domain::merchant::Mode;
use crate::domain::time::{Span, Timestamp};
use crate::domain::waits::{Waits, step_of};
use crate::ops::OpError;
use crate::store::tables::figures::{self, DayFigures, ENTRIES_MAX, Fact, PAYMENTS_MAX, Source};
use crate::store::tables::places::Place;
use crate::store::{Applied, Step};

/// Payments are rolled up when they are this old: nodes' clocks may differ by five minutes, and a Unit may wait.
pub const SETTLED_AFTER: Span = Span::minutes(6);
/// Units of each source in one run; the next run goes on.
const STEPS_MAX: usize = 40;
/// How long approvals are kept by the minute.
const MINUTES_KEPT: Span = Span::days(2);

/// Rolls up what is there, as much as one run may; answers how many facts that were.
pub async fn roll_up(app: &App) -> Result<usize, OpError> {
    let mut rolled = 0;
    for _ in 0..STEPS_MAX {
        let some = approvals(app).await?;
        rolled += some;
        if some == 0 {
            break;
        }
    }
    for source in [Source::Asked, Source::Ended] {
        for _ in 0..STEPS_MAX {
            let some = payments(app, source).await?;
            rolled += some;
            if some < PAYMENTS_MAX {
                break;
            }
        }
    }
    Ok(rolled)
}

/// Forgets approvals by the minute that nobody is shown any more.
pub async fn forget_minutes(app: &App) -> Result<(), OpError> {
    Ok(app.store.forget_minutes(minute_of(app.now() - MINUTES_KEPT)).await?)
}

pub(super) fn minute_of(at: Timestamp) -> i64 {
    at.0.div_euclid(60_000_000)
}

/// One Unit of approvals and reversals.
async fn approvals(app: &App) -> Result<usize, OpError> {
    let store = &app.store;
    let from = store.figure_place(Source::Approvals).await?;
    let seals = store.seals_to_roll_up(from.at.0).await?;
    let Some(first) = seals.first() else { return Ok(0) };
    let (facts, to) = if from.id > 0 || first.entries > ENTRIES_MAX {
        let facts = store.facts_within(first.id, from.id).await?;
        let to = match facts.last() {
            Some(last) if facts.len() == ENTRIES_MAX => Place { id: last.entry_id, ..from },
            _ => Place { at: Timestamp(first.id), id: 0 },
        };
        (facts, to)
    } else {
        let mut entries = 0;
        let fitting = seals.iter().take_while(|seal| {
            entries += seal.entries;
            entries <= ENTRIES_MAX
        });
        let last = fitting.last().map_or(first.id, |seal| seal.id);
        (store.facts_of_seals(from.at.0, last).await?, Place { at: Timestamp(last), id: 0 })
    };
    let mut sums = Sums::default();
    facts.iter().for_each(|fact| sums.count(fact));
    let steps = sums.steps();
    move_on(app, Source::Approvals, from, to, steps)
        .await
        .map(|moved| if moved { facts.len().max(1) } else { 0 })
}

/// One Unit of payments asked for or ended.
async fn payments(app: &App, source: Source) -> Result<usize, OpError> {
    let from = app.store.figure_place(source).await?;
    let facts = app.store.payments_to_roll_up(source, from, app.now() - SETTLED_AFTER).await?;
    let Some(last) = facts.last() else { return Ok(0) };
    let mut sums = Sums::default();
    for fact in facts.iter().filter(|fact| !fact.is_topup) {
        let day = sums.day(fact.business_id, fact.mode, fact.place.at);
        match source {
            Source::Asked => day.asked += 1,
            _ => day.ended += 1,
        }
    }
    let moved = move_on(app, source, from, last.place, sums.steps()).await?;
    Ok(if moved { facts.len() } else { 0 })
}

/// `false`: another node was faster.
async fn move_on(
    app: &App,
    source: Source,
    from: Place,
    to: Place,
    steps: Vec<Step>,
) -> Result<bool, OpError> {
    let unit = app.store.unit(0).await?.step(figures::move_place(source, from, to)).steps(steps);
    crash::point("figures.step");
    match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(true),
        Applied::Conflict { .. } => Ok(false),
        Applied::ConstraintViolation { statement } => {
            Err(OpError::Fault(format!("figures could not be written: {statement}")))
        }
    }
}

/// What one Unit adds. In the order of their keys, so that the rows are always written in the same order.
#[derive(Default)]
struct Sums {
    days: BTreeMap<(i64, &'static str, i64), (Mode, DayFigures, Waits)>,
    banks: BTreeMap<(i64, String), (i64, i64)>,
    minutes: BTreeMap<i64, i64>,
}

impl Sums {
    fn entry(&mut self, business_id: i64, mode: Mode, at: Timestamp) -> &mut (Mode, DayFigures, Waits) {
        let key = (business_id, mode.as_str(), at.lagos_day());
        self.days.entry(key).or_insert_with(|| (mode, DayFigures::default(), Waits::default()))
    }

    fn day(&mut self, business_id: i64, mode: Mode, at: Timestamp) -> &mut DayFigures {
        &mut self.entry(business_id, mode, at).1
    }

    fn count(&mut self, fact: &Fact) {
        let Some(paid) = fact.paid.as_ref().filter(|paid| !paid.is_topup) else { return };
        let alone = i64::from(!paid.by_operator);
        let (_, day, waits) = self.entry(paid.business_id, paid.mode, fact.at);
        if fact.is_reversal {
            day.reversed += 1;
            day.reversed_amount = day.reversed_amount.saturating_add(paid.received);
            return;
        }
        day.approved += 1;
        day.approved_amount = day.approved_amount.saturating_add(paid.received);
        day.alone += alone;
        if let Some(bank_time) = paid.bank_time {
            let wait = fact.at.since(bank_time);
            waits.add(step_of(wait), 1);
            day.slowest_seconds = day.slowest_seconds.max(wait.0 / 1_000_000);
        }
        if paid.mode == Mode::Live {
            *self.minutes.entry(minute_of(fact.at)).or_default() += 1;
            if let Some(bank) = &paid.bank {
                let share = self.banks.entry((fact.at.lagos_day(), bank.clone())).or_default();
                *share = (share.0 + 1, share.1 + alone);
            }
        }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for ((business_id, _, day), (mode, figures, waits)) in &self.days {
            steps.push(figures::add(*business_id, *mode, *day, figures));
            let of_day = waits.steps();
            steps.extend(
                of_day.map(|(step, count)| figures::add_waits(*business_id, *mode, *day, step, count)),
            );
        }
        let banks = self.banks.iter();
        steps.extend(
            banks.map(|((day, bank), (approved, alone))| figures::add_bank(*day, bank, *approved, *alone)),
        );
        steps.extend(self.minutes.iter().map(|(minute, approved)| figures::add_minute(*minute, *approved)));
        steps
    }
}
