//! Figures of days and what they are rolled up from: entries in the order of their seals, payments in the order of time.
//!
//! A roll-up adds to the figures and moves its place in one Unit, guarded by the place, so that each fact is counted
//! once whichever nodes do it. Nothing is written on the way of a payment. Used by ops alone; the audit recomputes.

use crate::domain::alert::TimePrecision;
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::domain::waits::Waits;
use crate::store::engine::sql::{Sql, statements};
use crate::store::tables::places::Place;
use crate::store::{Row, Step, Store, StoreError, Value};

/// Entries, or payments, that one step rolls up; the statements hold the numbers as literals.
pub const ENTRIES_MAX: usize = 200;
pub const PAYMENTS_MAX: usize = 500;
/// Payments too young to be rolled up that are counted when they are shown; the statements hold it as a literal.
pub const YOUNG_MAX: i64 = 100_000;

macro_rules! facts {
    ($which:literal) => {
        concat!(
            "select x.seal_id, x.entry_id, e.kind, e.posted_at, s.business_id, s.kind as settlement_kind, \
             s.received_kobo, s.operator, p.mode, a.bank, a.bank_time_begin_at, a.bank_time_precision \
             from sealed_entries x join entries e on e.id = x.entry_id left join settlements s on s.id = e.settlement_id \
             left join payments p on p.id = s.payment_id left join alerts a on a.id = s.alert_id where ",
            $which
        )
    };
}

/// Payments younger than a place, by day in Lagos.
macro_rules! young {
    ($which:literal) => {
        concat!(
            "select day, count(*) as asked from (select (created_at + 3600000000) / 86400000000 as day from payments \
             where ",
            $which,
            " and created_at >= $2 and (created_at > $2 or id > $3) and mode = $4 and kind <> 'topup' \
             order by created_at limit 100000) as young group by day order by day"
        )
    };
}

macro_rules! sums {
    () => {
        "day, cast(sum(asked) as bigint) as asked, cast(sum(ended) as bigint) as ended, \
         cast(sum(approved) as bigint) as approved, cast(sum(approved_sum_kobo) as bigint) as approved_sum_kobo, \
         cast(sum(alone) as bigint) as alone, cast(sum(reversed) as bigint) as reversed, \
         cast(sum(reversed_sum_kobo) as bigint) as reversed_sum_kobo, max(slowest_seconds) as slowest_seconds from figures"
    };
}

statements! {
    PLACE: query { "select at, id from figure_places where source = $1" }
    MOVE: query { "update figure_places set at = $4, id = $5 where source = $1 and at = $2 and id = $3" }
    NEXT_SEALS: query { "select id, entry_count from seals where id > $1 order by id limit 200" }
    FACTS: query { facts!("x.seal_id > $1 and x.seal_id <= $2 order by x.seal_id, x.entry_id") }
    FACTS_WITHIN: query { facts!("x.seal_id = $1 and x.entry_id + 0 > $2 order by x.entry_id + 0 limit 200") }
    ASKED: query {
        "select created_at as at, id, business_id, mode, kind from payments where created_at >= $1 \
         and (created_at > $1 or id > $2) and created_at < $3 order by created_at, id limit 500"
    }
    ENDED: query {
        "select rejected_at as at, id, business_id, mode, kind from payments where status = 'rejected' \
         and rejected_at >= $1 and (rejected_at > $1 or id > $2) and rejected_at < $3 order by rejected_at, id limit 500"
    }
    ADD: query {
        "insert into figures (business_id, mode, day, asked, ended, approved, approved_sum_kobo, alone, reversed, \
         reversed_sum_kobo, slowest_seconds) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
         on conflict (business_id, mode, day) do update set asked = figures.asked + excluded.asked, \
         ended = figures.ended + excluded.ended, approved = figures.approved + excluded.approved, \
         approved_sum_kobo = figures.approved_sum_kobo + excluded.approved_sum_kobo, alone = figures.alone + excluded.alone, \
         reversed = figures.reversed + excluded.reversed, \
         reversed_sum_kobo = figures.reversed_sum_kobo + excluded.reversed_sum_kobo, \
         slowest_seconds = case when excluded.slowest_seconds > figures.slowest_seconds then excluded.slowest_seconds \
         else figures.slowest_seconds end"
    }
    ADD_WAITS: query {
        "insert into figure_waits (business_id, mode, day, step, approved) values ($1, $2, $3, $4, $5) \
         on conflict (business_id, mode, day, step) do update set approved = figure_waits.approved + excluded.approved"
    }
    ADD_BANK: query {
        "insert into figures_of_banks (day, bank, approved, alone) values ($1, $2, $3, $4) \
         on conflict (day, bank) do update set approved = figures_of_banks.approved + excluded.approved, \
         alone = figures_of_banks.alone + excluded.alone"
    }
    ADD_MINUTE: query {
        "insert into figure_minutes (minute, approved) values ($1, $2) \
         on conflict (minute) do update set approved = figure_minutes.approved + excluded.approved"
    }
    OF_BUSINESS: query {
        concat!("select ", sums!(), " where business_id = $1 and mode = $2 and day >= $3 group by day order by day")
    }
    OF_ALL: query {
        concat!("select ", sums!(), " where cast($1 as bigint) = 0 and mode = $2 and day >= $3 group by day order by day")
    }
    WAITS_OF_BUSINESS: query {
        "select step, cast(sum(approved) as bigint) as approved from figure_waits \
         where business_id = $1 and mode = $2 and day >= $3 group by step order by step"
    }
    WAITS_OF_ALL: query {
        "select step, cast(sum(approved) as bigint) as approved from figure_waits \
         where cast($1 as bigint) = 0 and mode = $2 and day >= $3 group by step order by step"
    }
    YOUNG: query { young!("business_id = $1") }
    YOUNG_OF_ALL: query { young!("cast($1 as bigint) = 0") }
    BANKS: query {
        "select bank, cast(sum(approved) as bigint) as approved, cast(sum(alone) as bigint) as alone \
         from figures_of_banks where day >= $1 group by bank order by bank"
    }
    VOLUMES: query {
        "select business_id, cast(sum(approved_sum_kobo) as bigint) as approved_sum_kobo from figures \
         where business_id >= $1 and business_id <= $2 and mode = 'live' and day >= $3 group by business_id"
    }
    BANK_DAYS: query {
        "select day, bank, approved, alone from figures_of_banks where day >= $1 order by bank, day"
    }
    MINUTES: query { "select minute, approved from figure_minutes where minute >= $1 order by minute limit 1500" }
    FORGET_MINUTES: query { "delete from figure_minutes where minute < $1" }
    // When the first entry was posted that is not in the figures yet: of the next seal, or of those without one.
    NOT_YET: query {
        "select min(posted_at) as posted_at from (\
         select * from (select e.posted_at from seals s join entries e on e.id = s.first_entry_id where s.id > $1 \
         order by s.id limit 1) as sealed union all \
         select e.posted_at from (select entry_id from unsealed_entries order by entry_id limit 1) as u \
         join entries e on e.id = u.entry_id) as waiting"
    }
    FAILED_WEBHOOKS: query {
        "select day, count(*) as failed from (select (created_at + 3600000000) / 86400000000 as day from jobs \
         where kind || '' = 'deliver' and outcome || '' = 'failed' and business_id + 0 = $1 and created_at >= $2 and is_test = $3 \
         order by created_at desc limit 10000) as failed group by day order by day"
    }
    FAILED_WEBHOOKS_OF_ALL: query {
        "select day, count(*) as failed from (select (created_at + 3600000000) / 86400000000 as day from jobs \
         where kind = 'deliver' and outcome = 'failed' and cast($1 as bigint) = 0 and created_at >= $2 and is_test = $3 \
         order by created_at desc limit 10000) as failed group by day order by day"
    }
}

/// What figures are rolled up from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Entries, by seal and entry.
    Approvals,
    /// Payments, by when they were made.
    Asked,
    /// Payments that ended unpaid, by when they did.
    Ended,
}

impl Source {
    fn as_str(self) -> &'static str {
        match self {
            Source::Approvals => "approvals",
            Source::Asked => "asked",
            Source::Ended => "ended",
        }
    }
}

/// A seal and how many entries it holds.
#[derive(Clone, Copy, Debug)]
pub struct SealSize {
    pub id: i64,
    pub entries: usize,
}

/// An entry as the figures see it.
#[derive(Clone, Debug)]
pub struct Fact {
    pub entry_id: i64,
    pub is_reversal: bool,
    pub at: Timestamp,
    /// `None`: a credit by an operator, which belongs to no payment.
    pub paid: Option<PaidFact>,
}

#[derive(Clone, Debug)]
pub struct PaidFact {
    pub business_id: i64,
    pub mode: Mode,
    pub is_topup: bool,
    pub received: Money,
    pub by_operator: bool,
    pub bank: Option<String>,
    /// The bank's time, where it shows one to the minute or better.
    pub bank_time: Option<Timestamp>,
}

fn fact(row: Row) -> Result<Fact, StoreError> {
    let mut r = row.reader("entries");
    r.int("seal_id")?;
    let entry_id = r.int("entry_id")?;
    let is_reversal = r.text("kind")? == "reversal";
    let at = r.time("posted_at")?;
    let business_id = r.opt_int("business_id")?;
    let (kind, received) = (r.opt_text("settlement_kind")?, r.opt_money("received_kobo")?);
    let by_operator = r.opt_text("operator")?.is_some();
    let mode = r.opt_word("mode", Mode::parse)?;
    let bank = r.opt_text("bank")?;
    let begin = r.opt_time("bank_time_begin_at")?;
    let precision = r.opt_word("bank_time_precision", TimePrecision::parse)?;
    let is_exact = matches!(precision, Some(TimePrecision::Second | TimePrecision::Minute));
    let paid = match (business_id, mode, received) {
        (Some(business_id), Some(mode), Some(received)) => Some(PaidFact {
            business_id,
            mode,
            is_topup: kind.as_deref() == Some("topup"),
            received,
            by_operator,
            bank,
            bank_time: begin.filter(|_| is_exact),
        }),
        _ => None,
    };
    Ok(Fact { entry_id, is_reversal, at, paid })
}

/// A payment that was asked for, or ended unpaid.
#[derive(Clone, Debug)]
pub struct PaymentFact {
    pub place: Place,
    pub business_id: i64,
    pub mode: Mode,
    pub is_topup: bool,
}

/// What is added to the figures of a day, or what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DayFigures {
    pub asked: i64,
    /// Rejected, by the sweep or by a person.
    pub ended: i64,
    pub approved: i64,
    pub approved_amount: Money,
    /// Of the approved ones, those that no person approved.
    pub alone: i64,
    pub reversed: i64,
    pub reversed_amount: Money,
    /// From the bank's time to the approval.
    pub slowest_seconds: i64,
}

pub fn move_place(source: Source, from: Place, to: Place) -> Step {
    let params = vec![source.as_str().into(), from.at.into(), from.id.into(), to.at.into(), to.id.into()];
    Step::one(&MOVE, params)
}

pub fn add(business_id: i64, mode: Mode, day: i64, figures: &DayFigures) -> Step {
    let params = vec![
        business_id.into(),
        mode.as_str().into(),
        day.into(),
        figures.asked.into(),
        figures.ended.into(),
        figures.approved.into(),
        figures.approved_amount.into(),
        figures.alone.into(),
        figures.reversed.into(),
        figures.reversed_amount.into(),
        figures.slowest_seconds.into(),
    ];
    Step::one(&ADD, params)
}

pub fn add_waits(business_id: i64, mode: Mode, day: i64, step: usize, count: i64) -> Step {
    let params =
        vec![business_id.into(), mode.as_str().into(), day.into(), (step as i64).into(), count.into()];
    Step::one(&ADD_WAITS, params)
}

pub fn add_bank(day: i64, bank: &str, approved: i64, alone: i64) -> Step {
    Step::one(&ADD_BANK, vec![day.into(), bank.into(), approved.into(), alone.into()])
}

pub fn add_minute(minute: i64, approved: i64) -> Step {
    Step::one(&ADD_MINUTE, vec![minute.into(), approved.into()])
}

/// Approvals of a bank's transfers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankShare {
    /// Code of the bank.
    pub bank: String,
    pub approved: i64,
    /// Of them, those that no person approved.
    pub alone: i64,
}

impl Store {
    /// Up to where a source was rolled up.
    pub async fn figure_place(&self, source: Source) -> Result<Place, StoreError> {
        let row = self.read_one(&PLACE, vec![source.as_str().into()]).await?;
        let Some(row) = row else { return Ok(Place { at: Timestamp(0), id: 0 }) };
        let mut r = row.reader("figure_places");
        Ok(Place { at: r.time("at")?, id: r.int("id")? })
    }

    /// The seals after one, the first first, at most 200.
    pub async fn seals_to_roll_up(&self, after: i64) -> Result<Vec<SealSize>, StoreError> {
        let rows = self.read(&NEXT_SEALS, vec![after.into()]).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("seals");
                let id = r.int("id")?;
                Ok(SealSize { id, entries: usize::try_from(r.int("entry_count")?).unwrap_or(usize::MAX) })
            })
            .collect()
    }

    /// Entries of the seals after one, up to another.
    pub async fn facts_of_seals(&self, after: i64, last: i64) -> Result<Vec<Fact>, StoreError> {
        self.read(&FACTS, vec![after.into(), last.into()]).await?.into_iter().map(fact).collect()
    }

    /// Entries of one seal after one of them, at most [`ENTRIES_MAX`].
    pub async fn facts_within(&self, seal: i64, after: i64) -> Result<Vec<Fact>, StoreError> {
        self.read(&FACTS_WITHIN, vec![seal.into(), after.into()]).await?.into_iter().map(fact).collect()
    }

    /// Payments after a place and before a time, in their order, at most [`PAYMENTS_MAX`].
    pub async fn payments_to_roll_up(
        &self,
        source: Source,
        after: Place,
        until: Timestamp,
    ) -> Result<Vec<PaymentFact>, StoreError> {
        let sql: &'static Sql = if source == Source::Asked { &ASKED } else { &ENDED };
        let rows = self.read(sql, vec![after.at.into(), after.id.into(), until.into()]).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("payments");
                let (at, id) = (r.time("at")?, r.int("id")?);
                Ok(PaymentFact {
                    place: Place { at, id },
                    business_id: r.int("business_id")?,
                    mode: r.word("mode", Mode::parse)?,
                    is_topup: r.text("kind")? == "topup",
                })
            })
            .collect()
    }

    /// Figures from a day on, by day; of one business or of all.
    pub async fn figures_since(
        &self,
        business_id: Option<i64>,
        mode: Mode,
        day: i64,
    ) -> Result<Vec<(i64, DayFigures)>, StoreError> {
        let sql: &'static Sql = if business_id.is_some() { &OF_BUSINESS } else { &OF_ALL };
        let rows = self.read(sql, of(business_id, mode, day)).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("figures");
                let day = r.int("day")?;
                let figures = DayFigures {
                    asked: r.int("asked")?,
                    ended: r.int("ended")?,
                    approved: r.int("approved")?,
                    approved_amount: r.money("approved_sum_kobo")?,
                    alone: r.int("alone")?,
                    reversed: r.int("reversed")?,
                    reversed_amount: r.money("reversed_sum_kobo")?,
                    slowest_seconds: r.int("slowest_seconds")?,
                };
                Ok((day, figures))
            })
            .collect()
    }

    /// The waits of the same days.
    pub async fn waits_since(
        &self,
        business_id: Option<i64>,
        mode: Mode,
        day: i64,
    ) -> Result<Waits, StoreError> {
        let sql: &'static Sql = if business_id.is_some() { &WAITS_OF_BUSINESS } else { &WAITS_OF_ALL };
        let mut waits = Waits::default();
        for (step, count) in self.pairs(sql, of(business_id, mode, day), "step", "approved").await? {
            waits.add(usize::try_from(step).unwrap_or(usize::MAX), count);
        }
        Ok(waits)
    }

    /// Payments made after a place, by day, at most [`YOUNG_MAX`].
    pub async fn young_payments(
        &self,
        business_id: Option<i64>,
        mode: Mode,
        after: Place,
    ) -> Result<Vec<(i64, i64)>, StoreError> {
        let sql: &'static Sql = if business_id.is_some() { &YOUNG } else { &YOUNG_OF_ALL };
        let business = business_id.unwrap_or(0).into();
        let params = vec![business, after.at.into(), after.id.into(), mode.as_str().into()];
        self.pairs(sql, params, "day", "asked").await
    }

    /// Webhooks of a mode made since a time that failed for good and were not sent again, by day; the newest 10,000.
    pub async fn failed_webhooks_since(
        &self,
        business_id: Option<i64>,
        mode: Mode,
        since: Timestamp,
    ) -> Result<Vec<(i64, i64)>, StoreError> {
        let sql: &'static Sql =
            if business_id.is_some() { &FAILED_WEBHOOKS } else { &FAILED_WEBHOOKS_OF_ALL };
        let is_test = i64::from(mode == Mode::Test);
        let params = vec![business_id.unwrap_or(0).into(), since.into(), is_test.into()];
        self.pairs(sql, params, "day", "failed").await
    }

    /// Approvals from a day on by bank, in the order of their codes.
    pub async fn bank_shares(&self, day: i64) -> Result<Vec<BankShare>, StoreError> {
        let rows = self.read(&BANKS, vec![day.into()]).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("figures_of_banks");
                Ok(BankShare { bank: r.text("bank")?, approved: r.int("approved")?, alone: r.int("alone")? })
            })
            .collect()
    }

    /// Live approvals of each business with an id from the first to the last, since a day.
    pub async fn volumes(
        &self,
        (first, last): (i64, i64),
        day: i64,
    ) -> Result<Vec<(i64, Money)>, StoreError> {
        let rows = self.read(&VOLUMES, vec![first.into(), last.into(), day.into()]).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("figures");
                Ok((r.int("business_id")?, r.money("approved_sum_kobo")?))
            })
            .collect()
    }

    /// The banks' shares of each day since one, by bank and day.
    pub async fn bank_days(&self, day: i64) -> Result<Vec<(i64, BankShare)>, StoreError> {
        let rows = self.read(&BANK_DAYS, vec![day.into()]).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("figures_of_banks");
                let day = r.int("day")?;
                Ok((
                    day,
                    BankShare { bank: r.text("bank")?, approved: r.int("approved")?, alone: r.int("alone")? },
                ))
            })
            .collect()
    }

    /// Approvals by minute from one on.
    pub async fn approvals_by_minute(&self, minute: i64) -> Result<Vec<(i64, i64)>, StoreError> {
        self.pairs(&MINUTES, vec![minute.into()], "minute", "approved").await
    }

    pub async fn forget_minutes(&self, before: i64) -> Result<(), StoreError> {
        let unit = self.unit(0).await?.step(Step::any(&FORGET_MINUTES, vec![before.into()]));
        self.apply(unit).await.map(drop)
    }

    /// When the first entry was posted that the figures do not hold yet.
    pub async fn first_not_rolled_up(&self, last_seal: i64) -> Result<Option<Timestamp>, StoreError> {
        match self.read_one(&NOT_YET, vec![last_seal.into()]).await? {
            Some(row) => row.reader("entries").opt_time("posted_at"),
            None => Ok(None),
        }
    }

    async fn pairs(
        &self,
        sql: &'static Sql,
        params: Vec<Value>,
        first: &'static str,
        second: &'static str,
    ) -> Result<Vec<(i64, i64)>, StoreError> {
        let rows = self.read(sql, params).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("figures");
                Ok((r.int(first)?, r.int(second)?))
            })
            .collect()
    }
}

fn of(business_id: Option<i64>, mode: Mode, day: i64) -> Vec<Value> {
    vec![business_id.unwrap_or(0).into(), mode.as_str().into(), day.into()]
}
