//! The `[database]` part of the configuration: where the database is.
//!
//! Called by `config` alone.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::{ConfigError, Origin, wrong};

const DEFAULT_URL: &str = "sqlite:tillbell.db";

#[derive(Clone, Debug)]
pub struct Database {
    url: SecretString,
    /// Where `url` is that of a pooler in transaction mode: that of the PostgreSQL server behind it.
    direct_url: Option<SecretString>,
    /// Where its name came from, for an operator who expected another database.
    pub origin: Origin,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawDatabase {
    url: Option<String>,
    direct_url: Option<String>,
}

impl Database {
    /// For opening the store only.
    pub fn url(&self) -> &str {
        self.url.expose_secret()
    }

    /// The same.
    pub fn direct_url(&self) -> Option<&str> {
        self.direct_url.as_ref().map(|url| url.expose_secret())
    }
}

impl RawDatabase {
    /// The addresses may hold passwords, so no message shows them.
    pub(super) fn check(self, origin: Origin) -> Result<Database, ConfigError> {
        let url = self.url.unwrap_or_else(|| DEFAULT_URL.into());
        let direct_url = self.direct_url.filter(|url| !url.is_empty());
        if !url.starts_with("sqlite:") && !is_of_server(&url) {
            return Err(ConfigError(format!(
                "database.url must begin with sqlite: or postgres://, such as {DEFAULT_URL}"
            )));
        }
        // Neither is a name that SQLite keeps for itself: what it names ends with the process.
        if url.strip_prefix("sqlite:").is_some_and(|path| path.is_empty() || path.starts_with(':')) {
            return Err(wrong("database.url", &url, "the name of a file, such as sqlite:tillbell.db"));
        }
        if direct_url.as_ref().is_some_and(|direct| !is_of_server(direct) || !is_of_server(&url)) {
            return Err(ConfigError(
                "database.direct_url names the PostgreSQL server behind the pooler of database.url: both must begin with \
                 postgres://"
                    .into(),
            ));
        }
        one_at("database.url", &url)?;
        direct_url.iter().try_for_each(|direct| one_at("database.direct_url", direct))?;
        Ok(Database { url: url.into(), direct_url: direct_url.map(Into::into), origin })
    }
}

fn is_of_server(url: &str) -> bool {
    matches!(url.split_once(':'), Some(("postgres" | "postgresql", _)))
}

/// A password with these characters would be cut in two, and its end shown as the name of the server.
fn one_at(key: &str, url: &str) -> Result<(), ConfigError> {
    let place = url.split(['?', '#']).next().unwrap_or_default();
    if !is_of_server(url) || place.matches('@').count() <= 1 {
        return Ok(());
    }
    Err(ConfigError(format!(
        "{key} has more than one @: write an @ in the password as %40 (and / as %2F, : as %3A, ? as %3F, # as %23)"
    )))
}
