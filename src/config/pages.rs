//! The `[pages]` part of the configuration: whose name and logo customers see on pages and in messages, and
//! whom they call.
//!
//! The logo's file is read where pages are served (`http::pages::brand`), not here. Called by `config` alone.

use std::path::PathBuf;

use serde::Deserialize;

use super::{ConfigError, wrong};
use crate::domain::text::is_plain_line;

/// Characters of a name that fits beside a logo on a small phone.
const NAME_MAX: usize = 60;
/// Characters of a phone number, an address, or both.
const SUPPORT_MAX: usize = 80;

#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// Who runs the wallet, as customers know them.
    pub operator_name: Option<String>,
    pub logo_file: Option<PathBuf>,
    /// How a customer reaches them: a phone number, an e-mail address.
    pub support: Option<String>,
}

impl Pages {
    /// Who a customer turns to about the wallet, and how.
    pub fn contact(&self) -> String {
        let provider = self.operator_name.as_deref().unwrap_or("your wallet provider");
        match &self.support {
            Some(support) => format!("{provider} ({support})"),
            None => provider.to_owned(),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawPages {
    operator_name: Option<String>,
    logo_file: Option<PathBuf>,
    support: Option<String>,
}

impl RawPages {
    pub(super) fn check(self) -> Result<Pages, ConfigError> {
        let operator_name = self.operator_name.map(|given| line("operator_name", "a name", given, NAME_MAX));
        let operator_name = operator_name.transpose()?;
        let what = "a phone number or an e-mail address";
        let support = self.support.map(|given| line("support", what, given, SUPPORT_MAX)).transpose()?;
        if self.logo_file.is_some() && operator_name.is_none() {
            return Err(ConfigError(
                "pages.logo_file needs pages.operator_name, for customers who cannot see the logo".into(),
            ));
        }
        Ok(Pages { operator_name, logo_file: self.logo_file, support })
    }
}

/// What is shown to customers as it is written.
fn line(key: &str, what: &str, given: String, most: usize) -> Result<String, ConfigError> {
    let text = given.trim();
    // Characters that turn the direction of writing could show an amount beside the text backwards.
    if text.is_empty() || text.chars().count() > most || !is_plain_line(text) {
        let wanted = format!("{what} of 1 to {most} characters on one line");
        return Err(wrong(&format!("pages.{key}"), &given, &wanted));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Config;

    fn load(file: &str) -> Result<Config, String> {
        Config::load(file, std::iter::empty()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_is_one_plain_line_and_a_logo_needs_one() {
        let config = load("[pages]\noperator_name = \" Kudi Basket \"\nlogo_file = \"logo.png\"").unwrap();
        assert_eq!(config.pages.operator_name.as_deref(), Some("Kudi Basket"));
        assert_eq!(config.pages.contact(), "Kudi Basket");
        assert_eq!(load("").unwrap().pages.contact(), "your wallet provider");
        let support = load("[pages]\nsupport = \" 0700 555 0100 \"").unwrap();
        assert_eq!(support.pages.contact(), "your wallet provider (0700 555 0100)");
        for (file, expected) in [
            ("operator_name = \"\"".to_owned(), "pages.operator_name"),
            ("operator_name = \"a\\nb\"".to_owned(), "pages.operator_name"),
            ("operator_name = \"a\\u202Eb\"".to_owned(), "pages.operator_name"),
            (format!("operator_name = \"{}\"", "x".repeat(61)), "1 to 60 characters"),
            ("logo_file = \"logo.png\"".to_owned(), "pages.logo_file needs pages.operator_name"),
            ("logo = \"logo.png\"".to_owned(), "logo"),
            ("support = \" \"".to_owned(), "pages.support"),
            ("support = \"a\\u2028b\"".to_owned(), "pages.support"),
            (format!("support = \"{}\"", "5".repeat(81)), "1 to 80 characters"),
        ] {
            let error = load(&format!("[pages]\n{file}")).unwrap_err();
            assert!(error.contains(expected), "{file}: {error}");
        }
    }
}
