//! The `[payouts]` part of the configuration: when two people must say that a payout is paid.
//!
//! Called by `config` alone; the reader of amounts is for other parts too.

use serde::Deserialize;

use super::{ConfigError, wrong};
use crate::domain::money::Money;

#[derive(Clone, Copy, Debug)]
pub struct Payouts {
    /// Of payouts above this, two people say that they are paid; `None`: one person is enough for any.
    pub two_persons_above: Option<Money>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawPayouts {
    two_persons_above: Option<toml::Value>,
}

impl RawPayouts {
    pub(super) fn check(self) -> Result<Payouts, ConfigError> {
        let key = "payouts.two_persons_above";
        let above = amount(key, self.two_persons_above, "an amount in quotes, \"1000000.00\"")?;
        match above {
            Some(above) if above < Money::ZERO => Err(wrong(key, &above.to_string(), "0 or more")),
            two_persons_above => Ok(Payouts { two_persons_above }),
        }
    }
}

/// An amount in naira: a whole number, or a text with decimals.
pub(super) fn amount(
    key: &str,
    given: Option<toml::Value>,
    wanted: &str,
) -> Result<Option<Money>, ConfigError> {
    match given {
        None => Ok(None),
        Some(toml::Value::Integer(n)) => Ok(Some(Money(n.saturating_mul(100)))),
        Some(toml::Value::String(text)) => {
            Money::parse(&text).map(Some).map_err(|error| ConfigError(format!("{key} {error}")))
        }
        Some(other) => Err(wrong(key, &other.to_string(), wanted)),
    }
}
