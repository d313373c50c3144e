//! The database that a command works on: who named it, and what is said where it is not there.
//!
//! Only `serve`, `migrate` and `demo` make a database. A command that finds none was most likely
//! started without its `--config`, so it says where it looked, why there, and how to name another.

use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::Desk;
use crate::app::{App, Standing, StartError, StoreOptions, database_place as place};

use crate::config::Origin;
use crate::ops::StoreError;

/// The variable that names the configuration file once for all commands.
pub(super) const CONFIG_VARIABLE: &str = "TILLBELL_CONFIG";

/// A configuration file, and whether the variable named it.
#[derive(Clone, Debug)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    is_by_variable: bool,
}

impl ConfigFile {
    /// The flag wins; an empty variable names nothing.
    pub(super) fn chosen(flag: Option<&Path>) -> Option<ConfigFile> {
        let variable = || std::env::var_os(CONFIG_VARIABLE).filter(|name| !name.is_empty());
        match flag {
            Some(path) => Some(ConfigFile { path: path.to_owned(), is_by_variable: false }),
            None => variable().map(|name| ConfigFile { path: name.into(), is_by_variable: true }),
        }
    }

    /// For an error about the file.
    pub(super) fn told(&self) -> String {
        format!("configuration file {}", self.place())
    }

    /// Where it is, and who says so.
    fn place(&self) -> String {
        let by = if self.is_by_variable { " (named by TILLBELL_CONFIG)" } else { "" };
        format!("{}{by}", self.path.display())
    }
}

impl Desk {
    /// Which configuration file counts, for the log and for `migrate`, which both name what it is.
    pub(super) fn configured_by(&self) -> String {
        match &self.file {
            Some(file) => file.place(),
            None => "none (set --config FILE or TILLBELL_CONFIG to use one)".to_owned(),
        }
    }

    /// For an error about what a setting names.
    pub(super) fn configuration(&self) -> String {
        self.file.as_ref().map_or_else(|| "configuration".to_owned(), ConfigFile::told)
    }

    /// Which database counts, without a password.
    pub(super) fn database(&self) -> String {
        format!("{} ({})", place(self.config.database_url()), self.whence())
    }

    fn options(&self) -> StoreOptions {
        StoreOptions::command(self.config.database_url()).beside(self.config.database.direct_url())
    }

    /// Opens the database that is there, vault and the rest.
    pub(super) async fn open(&self) -> anyhow::Result<App> {
        let options = self.options();
        App::find(self.config.clone(), &options).await.map_err(|error| self.explain(error))
    }

    /// The same, made if it is not there.
    pub(super) async fn make(&self) -> anyhow::Result<App> {
        let options = self.options();
        App::make(self.config.clone(), &options).await.map_err(|error| self.explain(error))
    }

    /// What `error` says, and what to do about it.
    pub(super) fn explain(&self, error: StartError) -> anyhow::Error {
        let whence = self.whence();
        let is_server = !self.config.database_url().starts_with("sqlite:");
        let standing = match error {
            StartError::Standing(standing) => standing,
            StartError::Store(StoreError::Unavailable(_)) if is_server => {
                return anyhow!("{error} (the database is {whence})");
            }
            StartError::ExtraCaFile(_) => return anyhow!("{}: {error}", self.configuration()),
            error => return error.into(),
        };
        let another = "to use another one, set --config FILE, TILLBELL_CONFIG or TILLBELL_DATABASE__URL";
        let is_file = self.config.database_url().starts_with("sqlite:");
        match &standing {
            Standing::Nothing(_) if is_file => {
                anyhow!(
                    "{standing} ({whence}); {another}; to create this one, run tillbell migrate or tillbell serve"
                )
            }
            Standing::Nothing(_) => {
                anyhow!(
                    "{standing} ({whence}); {another}; to create it, run CREATE DATABASE on that server, then tillbell migrate"
                )
            }
            Standing::Empty(_) => anyhow!(
                "{standing} ({whence}); {another}; to create them there, run tillbell migrate or tillbell serve"
            ),
            Standing::Foreign { .. } => anyhow!("{standing} ({whence}); {another}"),
            Standing::Unfinished(_) | Standing::Older { .. } => {
                anyhow!("{standing} ({whence}); to update it, run tillbell migrate or start tillbell serve")
            }
            Standing::Newer { .. } => anyhow!("{standing} ({whence})"),
        }
    }

    /// From where the name of the database was taken.
    fn whence(&self) -> String {
        let file = self.file.as_ref().map(|file| file.path.display().to_string());
        let is_relative =
            self.config.database_url().strip_prefix("sqlite:").is_some_and(|path| !path.starts_with('/'));
        let relative = if is_relative { ", relative to the working directory" } else { "" };
        match (self.config.database.origin, file) {
            (Origin::Environment, _) => format!("named by TILLBELL_DATABASE__URL{relative}"),
            (Origin::File, file) => {
                format!(
                    "named by database.url in {}{relative}",
                    file.as_deref().unwrap_or("the configuration")
                )
            }
            (Origin::Default, Some(file)) => format!("the default, because {file} names none{relative}"),
            (Origin::Default, None) => {
                "the default in the working directory, because no configuration is named".to_owned()
            }
        }
    }
}
