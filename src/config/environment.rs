//! The environment: variables named `TILLBELL_SECTION__KEY` override the file.
//!
//! A name with one underscore instead of two is refused if it can only mean one of our keys. Otherwise it would
//! be ignored, and the default used silently. Called by `Config::load`.

use serde::Deserialize;

use super::{ConfigError, RawConfig};

/// Where the name of the database was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File,
    Environment,
}

/// The variable that names the database.
pub(super) fn is_database_url(name: &str) -> bool {
    name.strip_prefix("TILLBELL_").is_some_and(|path| path.eq_ignore_ascii_case("database__url"))
}

/// The key that a variable sets, such as `server.listen`.
fn key_of(name: &str) -> Option<String> {
    let path = name.strip_prefix("TILLBELL_")?.to_lowercase();
    (path.contains("__") || path == "messenger").then(|| path.replace("__", "."))
}

/// An error about a value that is not in a file names the variable that it came from.
pub(super) fn with_variables(error: ConfigError, variables: &[String]) -> ConfigError {
    let mut told = Vec::new();
    for name in variables {
        match key_of(name) {
            Some(key) if is_about(&error.0, &key) => told.push(format!("{key} is set by {name}")),
            _ => {}
        }
    }
    if told.is_empty() { error } else { ConfigError(format!("{error} ({})", told.join(", "))) }
}

/// Whether an error names a key whole, or a part of it as one that is not known.
fn is_about(text: &str, key: &str) -> bool {
    let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    let is_named = text.match_indices(key).any(|(at, _)| {
        let after = text.get(at + key.len()..).unwrap_or_default();
        let ends = !goes_on(after.chars().next()) || after.starts_with(". ") || after == ".";
        ends && !goes_on(text.get(..at).unwrap_or_default().chars().next_back())
    });
    is_named || key.split('.').any(|part| text.contains(&format!("unknown field `{part}`")))
}

/// Sets in `table` what the variable means; a variable that is not ours changes nothing.
pub(super) fn overlay(table: &mut toml::Table, name: &str, value: String) -> Result<(), ConfigError> {
    let Some(path) = name.strip_prefix("TILLBELL_") else { return Ok(()) };
    let path = path.to_lowercase();
    let (sections, key) = match path.rsplit_once("__") {
        Some(both) => both,
        // The only key outside of a section; other names without one do not belong to the configuration.
        None if path == "messenger" => ("", "messenger"),
        None => return refuse_single_underscore(name, &path),
    };
    // A number, a boolean or a list is meant as such; everything else is a string.
    let typed = toml::from_str::<toml::Table>(&format!("v = {value}"))
        .ok()
        .and_then(|mut parsed| parsed.remove("v"))
        .filter(|v| v.is_integer() || v.is_bool() || v.is_array())
        .unwrap_or(toml::Value::String(value));
    let mut inner = table;
    for section in sections.split("__").filter(|section| !section.is_empty()) {
        inner = match inner.entry(section).or_insert_with(|| toml::Value::Table(toml::Table::new())) {
            toml::Value::Table(inner) => inner,
            _ => return Err(ConfigError(format!("{section} must be a section"))),
        };
    }
    inner.insert(key.to_owned(), typed);
    Ok(())
}

/// `TILLBELL_DATABASE_URL` names no key, and its author believes that it does. Names that fit no key are
/// somebody else's: a container's environment has `TILLBELL_PORT` and the like for a service of that name.
fn refuse_single_underscore(name: &str, path: &str) -> Result<(), ConfigError> {
    let Some((section, key)) = path.split_once('_') else { return Ok(()) };
    let mut inner = toml::Table::new();
    // A key that is known takes this value or complains of its kind, one that is not complains of the name.
    inner.insert(key.to_owned(), toml::Value::Boolean(true));
    let table = toml::Table::from_iter([(section.to_owned(), toml::Value::Table(inner))]);
    match RawConfig::deserialize(toml::Value::Table(table)) {
        Err(error) if error.to_string().contains("unknown field") => Ok(()),
        _ => Err(ConfigError(format!(
            "{name} is not a setting: join section and key with two underscores, TILLBELL_{}__{}",
            section.to_uppercase(),
            key.to_uppercase()
        ))),
    }
}
