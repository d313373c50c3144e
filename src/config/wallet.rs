//! The `[wallet]` part of the configuration: where the wallet's routes are, how long a link is good, and
//! what each tier allows. How messages reach customers is `whatsapp`'s to read.
//!
//! Checked like every other part: each mistake names its key. Called by `config` alone.

use serde::Deserialize;

use super::durations::{Given, span};
use super::{ConfigError, wrong};
use crate::domain::intent::LINK_LIFETIME_MAX;
use crate::domain::money::Money;
use crate::domain::time::Span;
use crate::domain::wallet::{TierLimits, Tiers};

/// First parts of other routes, which the wallet's prefix would hide.
const TAKEN_PREFIXES: [&str; 6] =
    ["payment", "payments", "payment-request", "balance", "payout-accounts", "payouts"];

#[derive(Clone, Debug)]
pub struct Wallet {
    /// First part of the wallet's routes, below the API's own.
    pub route_prefix: String,
    /// From pay/start to the end of the link, 5 to 120 minutes.
    pub link_lifetime: Span,
    pub tiers: Tiers,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawWallet {
    route_prefix: Option<String>,
    link_lifetime: Option<Given>,
    tier1: RawTier,
    tier2: RawTier,
    tier3: RawTier,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
struct RawTier {
    balance: Option<toml::Value>,
    daily: Option<toml::Value>,
}

impl RawWallet {
    pub(super) fn check(self) -> Result<Wallet, ConfigError> {
        let route_prefix = self.route_prefix.unwrap_or_else(|| "wallet".into());
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if route_prefix.is_empty() || !route_prefix.chars().all(plain) {
            return Err(wrong("wallet.route_prefix", &route_prefix, "a word of a-z, 0-9 and -"));
        }
        if TAKEN_PREFIXES.contains(&route_prefix.as_str()) {
            return Err(wrong("wallet.route_prefix", &route_prefix, "free: other routes begin with it"));
        }
        let link_lifetime = span("wallet.link_lifetime", self.link_lifetime, Span::minutes(30))?;
        if link_lifetime < Span::minutes(5) || link_lifetime > LINK_LIFETIME_MAX {
            return Err(ConfigError("wallet.link_lifetime must be between 5m and 120m".into()));
        }
        let [first, second, third] = Tiers::DEFAULT.0;
        let tiers = Tiers([
            self.tier1.check("wallet.tier1", first)?,
            self.tier2.check("wallet.tier2", second)?,
            self.tier3.check("wallet.tier3", third)?,
        ]);
        Ok(Wallet { route_prefix, link_lifetime, tiers })
    }
}

impl RawTier {
    fn check(self, key: &str, default: TierLimits) -> Result<TierLimits, ConfigError> {
        Ok(TierLimits {
            balance: limit(&format!("{key}.balance"), self.balance, default.balance)?,
            daily: limit(&format!("{key}.daily"), self.daily, default.daily)?,
        })
    }
}

/// An amount, or `none` for no limit.
fn limit(
    key: &str,
    given: Option<toml::Value>,
    default: Option<Money>,
) -> Result<Option<Money>, ConfigError> {
    let wanted = "an amount such as \"50000.00\", or \"none\"";
    let money = match given {
        None => return Ok(default),
        Some(toml::Value::String(text)) if text == "none" => return Ok(None),
        Some(toml::Value::String(text)) => Money::parse(&text).map_err(|_| wrong(key, &text, wanted))?,
        Some(toml::Value::Integer(naira)) => Money(naira.saturating_mul(100)),
        Some(other) => return Err(wrong(key, &other.to_string(), wanted)),
    };
    if money.is_positive() { Ok(Some(money)) } else { Err(wrong(key, &money.to_string(), wanted)) }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn load(file: &str) -> Result<Config, ConfigError> {
        Config::load(file, std::iter::empty())
    }

    #[test]
    fn tiers_have_defaults_and_can_be_set_one_by_one() {
        assert_eq!(load("").unwrap().wallet.tiers, Tiers::DEFAULT);
        let text = "[wallet.tier1]\nbalance = \"60000.50\"\n[wallet.tier2]\ndaily = \"none\"\n[wallet.tier3]\nbalance = 9";
        let tiers = load(text).unwrap().wallet.tiers.0;
        assert_eq!(tiers[0], TierLimits { balance: Some(Money(6_000_050)), daily: Some(Money(5_000_000)) });
        assert_eq!(tiers[1].daily, None);
        assert_eq!(tiers[2], TierLimits { balance: Some(Money(900)), daily: None });
    }

    #[test]
    fn mistakes_are_named() {
        for (file, expected) in [
            ("[wallet]\nroute_prefix = \"Wallet\"", "wallet.route_prefix"),
            ("[wallet]\nroute_prefix = \"payment\"", "wallet.route_prefix"),
            ("[wallet]\nlink_lifetime = \"4m\"", "wallet.link_lifetime"),
            ("[wallet]\nlink_lifetime = \"3h\"", "wallet.link_lifetime"),
            ("[wallet.tier1]\nbalance = \"0\"", "wallet.tier1.balance"),
            ("[wallet.tier2]\ndaily = 1.5", "wallet.tier2.daily"),
            ("messenger = \"pigeon\"", "messenger"),
        ] {
            let error = load(file).unwrap_err().to_string();
            assert!(error.contains(expected), "{file}: {error}");
        }
        let named = [("TILLBELL_MESSENGER".to_owned(), "pigeon".to_owned())];
        assert!(Config::load("", named.into_iter()).unwrap_err().to_string().contains("messenger"));
    }
}
