//! The `[pages]` part of the configuration: whose name and logo customers see on pages and in messages.
//!
//! The logo's file is read where pages are served (`http::pages::brand`), not here. Called by `config` alone.

use std::path::PathBuf;

use serde::Deserialize;

use super::{ConfigError, wrong};
use crate::domain::text::is_plain_line;

/// Characters of a name that fits beside a logo on a small phone.
const NAME_MAX: usize = 60;

#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// Who runs the wallet, as customers know them.
    pub operator_name: Option<String>,
    pub logo_file: Option<PathBuf>,
}

impl Pages {
    /// Who a customer turns to about the wallet.
    pub fn provider(&self) -> &str {
        self.operator_name.as_deref().unwrap_or("your wallet provider")
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawPages {
    operator_name: Option<String>,
    logo_file: Option<PathBuf>,
}

impl RawPages {
    pub(super) fn check(self) -> Result<Pages, ConfigError> {
        let operator_name = self.operator_name.map(name).transpose()?;
        if self.logo_file.is_some() && operator_name.is_none() {
            return Err(ConfigError(
                "pages.logo_file needs pages.operator_name, for customers who cannot see the logo".into(),
            ));
        }
        Ok(Pages { operator_name, logo_file: self.logo_file })
    }
}

fn name(given: String) -> Result<String, ConfigError> {
    let name = given.trim();
    // Characters that turn the direction of writing could show an amount beside the name backwards.
    if name.is_empty() || name.chars().count() > NAME_MAX || !is_plain_line(name) {
        return Err(wrong("pages.operator_name", &given, "a name of 1 to 60 characters on one line"));
    }
    Ok(name.to_owned())
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
        assert_eq!(config.pages.provider(), "Kudi Basket");
        assert_eq!(load("").unwrap().pages.provider(), "your wallet provider");
        for (file, expected) in [
            ("operator_name = \"\"".to_owned(), "pages.operator_name"),
            ("operator_name = \"a\\nb\"".to_owned(), "pages.operator_name"),
            ("operator_name = \"a\\u202Eb\"".to_owned(), "pages.operator_name"),
            (format!("operator_name = \"{}\"", "x".repeat(61)), "1 to 60 characters"),
            ("logo_file = \"logo.png\"".to_owned(), "pages.logo_file needs pages.operator_name"),
            ("logo = \"logo.png\"".to_owned(), "logo"),
        ] {
            let error = load(&format!("[pages]\n{file}")).unwrap_err();
            assert!(error.contains(expected), "{file}: {error}");
        }
    }
}
