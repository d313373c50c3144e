//! Options and values that several commands read the same way.
//!
//! What cannot be read here is wrong usage (exit 2); what is read but not allowed is refused by
//! the op (exit 1). Only `cli` uses this.

use clap::{Args, ValueEnum};

use crate::config::parse_span;
use crate::domain::money::{Money, MoneyError};
use crate::domain::time::{Span, Timestamp};
use crate::ops::merchants::businesses::ChargeChange;

/// Rows one list of alerts or webhooks shows unless it is told otherwise, and at most.
pub(super) const LIST_USUAL: u32 = 500;
pub(super) const LIST_MAX: i64 = 100_000;

/// Below a list that ends before everything was shown.
pub(super) fn newest(limit: u32) -> String {
    match limit {
        1 => "only the newest one is shown; --limit shows more".to_owned(),
        _ => format!("only the newest {limit} are shown; --limit shows more"),
    }
}

/// Below a list of which not all was looked at: what was not, and from when.
pub(super) fn not_searched(what: &str, at: Timestamp) -> String {
    let time: String = at.to_string().replace('T', " ").chars().take("2026-03-10 08:00:00".len()).collect();
    format!("{what} before {time} UTC were not searched")
}

/// A switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Switch {
    On,
    Off,
}

impl From<Switch> for bool {
    fn from(switch: Switch) -> bool {
        switch == Switch::On
    }
}

/// How charges are computed; what is not given stays as it is (or is the default).
#[derive(Args, Clone, Debug, Default)]
pub(super) struct ChargeOptions {
    /// Percentage of the amount, for example 1.5
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    percentage: Option<i64>,
    /// Fixed part in naira, for example 50.00
    #[arg(long, value_name = "NAIRA", value_parser = money)]
    fixed: Option<Money>,
    /// Charge at most this much for one payment, in naira
    #[arg(long, value_name = "NAIRA", value_parser = money, conflicts_with = "no_cap")]
    cap: Option<Money>,
    /// No cap
    #[arg(long)]
    no_cap: bool,
    /// The customer pays the charges on top of the amount
    #[arg(long, conflicts_with = "paid_by_merchant")]
    paid_by_customer: bool,
    /// The merchant receives the amount less the charges (the default)
    #[arg(long)]
    paid_by_merchant: bool,
    /// Charge nothing; percentage, fixed part and cap are kept for later
    #[arg(long, conflicts_with = "charges")]
    no_charges: bool,
    /// Charge payments (the default); ends --no-charges
    #[arg(long)]
    charges: bool,
}

impl ChargeOptions {
    pub(super) fn change(&self) -> ChargeChange {
        let choice = |yes: bool, no: bool| if yes { Some(true) } else { no.then_some(false) };
        ChargeChange {
            rate: self.percentage,
            fixed: self.fixed,
            cap: if self.no_cap { Some(None) } else { self.cap.map(Some) },
            paid_by_customer: choice(self.paid_by_customer, self.paid_by_merchant),
            enabled: choice(self.charges, self.no_charges),
        }
    }
}

/// Naira with at most two decimals, typed plainly or as lists print them: `12150`, `12,150.00`, `NGN 12,150.00`.
pub(super) fn money(text: &str) -> Result<Money, String> {
    Money::typed(text).map_err(|error| match error {
        MoneyError::NotANumber => "must be an amount such as 5000, 5,000.00 or \"NGN 5,000.00\"".to_owned(),
        error => error.to_string(),
    })
}

/// A percentage with at most two decimals, as hundredths of a percent.
fn percent(text: &str) -> Result<i64, String> {
    Money::parse(text).map(Money::kobo).map_err(|error| error.to_string())
}

/// `90d`, `24h`, `15m`.
pub(super) fn span(text: &str) -> Result<Span, String> {
    parse_span(text).ok_or_else(|| "must be a length of time such as 90d, 24h, 15m".to_owned())
}

/// A time that is given as a day, or by how long ago it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    Ago(Span),
    Day(Timestamp),
}

impl Since {
    pub(super) fn before(self, now: Timestamp) -> Timestamp {
        match self {
            Since::Ago(span) => Timestamp(now.0.saturating_sub(span.0).max(Timestamp::MIN.0)),
            Since::Day(at) => at,
        }
    }
}

/// `7d`, or `2026-03-10`: the beginning of that day in UTC, as times are printed.
pub(super) fn since(text: &str) -> Result<Since, String> {
    let wrong = || "must be a length of time such as 7d or 24h, or a day such as 2026-03-10".to_owned();
    if let Some(span) = parse_span(text) {
        return Ok(Since::Ago(span));
    }
    let day: jiff::civil::Date = text.parse().map_err(|_| wrong())?;
    if text.len() != "2026-03-10".len() {
        return Err(wrong());
    }
    Timestamp::from_utc_date(day.year(), day.month(), day.day()).map(Since::Day).ok_or_else(wrong)
}

/// Requests a minute; `default` is the configured number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate(pub(super) Option<i64>);

/// A number of requests a minute, or `default`.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    if text == "default" {
        return Ok(Rate(None));
    }
    let number =
        text.parse().map_err(|_| "must be a number of requests a minute, or `default`".to_owned())?;
    Ok(Rate(Some(number)))
}
