//! The figures of a business, or of all, over today, 7 or 30 days in Lagos, and the banks' shares. Read only.
//!
//! Payments that are too young to be rolled up are counted here, so that what was asked for is as of now; approvals say
//! how old they are. A median is told to a quarter (`domain::waits`); its days add up.

use crate::app::App;
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::figures::roll_up::minute_of;
pub use crate::store::tables::figures::{BankShare, DayFigures};
use crate::store::tables::figures::{Source, YOUNG_MAX};

/// Over how many days, today included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Days {
    Today,
    Seven,
    Thirty,
}

impl Days {
    pub const ALL: [Days; 3] = [Days::Today, Days::Seven, Days::Thirty];

    pub fn count(self) -> i64 {
        match self {
            Days::Today => 1,
            Days::Seven => 7,
            Days::Thirty => 30,
        }
    }
}

/// One day in Lagos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// Since 1970.
    pub day: i64,
    pub figures: DayFigures,
    /// Webhooks of that day that failed for good and were not sent again since, of live and test mode.
    pub failed_webhooks: i64,
}

/// Figures of some days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    pub totals: DayFigures,
    pub failed_webhooks: i64,
    /// From the bank's time to the approval, where the bank shows one to the minute: half took no longer than this.
    pub median: Option<Span>,
    pub slowest: Option<Span>,
    /// Every day, the oldest first, those without anything too.
    pub days: Vec<Day>,
    /// Approvals and reversals are complete up to here.
    pub as_of: Timestamp,
    /// There were more payments too young to be rolled up than are counted.
    pub is_behind: bool,
}

impl Figures {
    /// Share of the approvals that no person made, in tenths of a percent; `None` without approvals.
    pub fn alone_per_mille(&self) -> Option<i64> {
        per_mille(self.totals.alone, self.totals.approved)
    }
}

/// `part` of `whole` in tenths of a percent; `None` of nothing.
pub fn per_mille(part: i64, whole: i64) -> Option<i64> {
    (whole > 0).then(|| part.saturating_mul(1_000) / whole)
}

/// Figures of a business.
pub async fn figures_of(app: &App, business_id: i64, mode: Mode, days: Days) -> Result<Figures, OpError> {
    figures(app, Some(business_id), mode, days).await
}

/// Figures of all businesses together, for the desk.
pub async fn figures_of_all(app: &App, mode: Mode, days: Days) -> Result<Figures, OpError> {
    figures(app, None, mode, days).await
}

async fn figures(app: &App, business_id: Option<i64>, mode: Mode, days: Days) -> Result<Figures, OpError> {
    let (store, now) = (&app.store, app.now());
    let last = now.lagos_day();
    let first = last - days.count() + 1;
    let place = store.figure_place(Source::Approvals).await?;
    let as_of = store.first_not_rolled_up(place.at.0).await?.map_or(now, |at| at.min(now));
    let asked = store.figure_place(Source::Asked).await?;
    let rolled = store.figures_since(business_id, mode, first).await?;
    let waits = store.waits_since(business_id, mode, first).await?;
    let young = store.young_payments(business_id, mode, asked).await?;
    let since = Timestamp::begin_of_lagos_day(first);
    let failed = store.failed_webhooks_since(business_id, mode, since).await?;
    let of_day = |list: &[(i64, i64)], day| list.iter().filter(|(of, _)| *of == day).map(|(_, n)| n).sum();
    let (mut totals, mut all) = (DayFigures::default(), Vec::new());
    for day in first..=last {
        let found = rolled.iter().find(|(of, _)| *of == day).map(|(_, figures)| *figures);
        let mut figures = found.unwrap_or_default();
        let young: i64 = of_day(&young, day);
        figures.asked += young;
        add(&mut totals, &figures);
        all.push(Day { day, figures, failed_webhooks: of_day(&failed, day) });
    }
    let counted: i64 = young.iter().map(|(_, count)| count).sum();
    Ok(Figures {
        totals,
        failed_webhooks: all.iter().map(|day| day.failed_webhooks).sum(),
        median: waits.median(),
        slowest: (waits.count() > 0).then_some(Span::seconds(totals.slowest_seconds)),
        days: all,
        as_of,
        is_behind: counted >= YOUNG_MAX,
    })
}

fn add(totals: &mut DayFigures, day: &DayFigures) {
    let sum = |a: Money, b: Money| a.saturating_add(b);
    totals.asked += day.asked;
    totals.ended += day.ended;
    totals.approved += day.approved;
    totals.approved_amount = sum(totals.approved_amount, day.approved_amount);
    totals.alone += day.alone;
    totals.reversed += day.reversed;
    totals.reversed_amount = sum(totals.reversed_amount, day.reversed_amount);
    totals.slowest_seconds = totals.slowest_seconds.max(day.slowest_seconds);
}

/// Approvals of live transfers by bank, in the order of the banks' codes.
pub async fn bank_shares(app: &App, days: Days) -> Result<Vec<BankShare>, OpError> {
    Ok(app.store.bank_shares(app.now().lagos_day() - days.count() + 1).await?)
}

/// The same of each day, by bank and day.
pub async fn bank_days(app: &App, days: Days) -> Result<Vec<(i64, BankShare)>, OpError> {
    Ok(app.store.bank_days(app.now().lagos_day() - days.count() + 1).await?)
}

/// Live approvals of all businesses in each of the last minutes, the oldest first; the present minute is the last.
pub async fn approvals_by_minute(app: &App, minutes: u16) -> Result<Vec<i64>, OpError> {
    let last = minute_of(app.now());
    let first = last - i64::from(minutes) + 1;
    let found = app.store.approvals_by_minute(first).await?;
    let of = |minute| found.iter().find(|(of, _)| *of == minute).map_or(0, |(_, count)| *count);
    Ok((first..=last).map(of).collect())
}
