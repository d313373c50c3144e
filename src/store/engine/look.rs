//! What there is where `database.url` points, seen without changing anything.
//!
//! A program looks before it opens a database for good: one that may not make a new database must leave no file
//! behind, none puts its tables among those of another program, and what a server refuses is told as
//! what it is. Called by `app` alone.

use std::collections::HashSet;

use crate::store::engine::schema;
use crate::store::{StoreError, sqlite_path};

mod postgres;
mod sqlite;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// No file, no database of that name on the server.
    Nothing,
    /// A place for a database, without any table of tillbell's.
    Empty,
    /// Something of another program's; says what.
    Foreign(String),
    Ours(Schema),
}

/// How a database of tillbell's stands to this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Migrations of this program that did not run there.
    pub missing: Vec<&'static str>,
    /// Migrations that ran there and that this program does not know.
    pub unknown: Vec<String>,
    /// Values may be sealed in it with a key that must not get lost.
    pub has_key: bool,
}

impl Schema {
    /// The history is there, and nothing ran: the first migration failed or was cut off.
    pub fn is_bare(&self) -> bool {
        self.unknown.is_empty() && self.missing.len() == schema::names().count()
    }

    fn of(ran: &[String], has_key: bool) -> Schema {
        let known: HashSet<&str> = schema::names().collect();
        let unknown = ran.iter().filter(|name| !known.contains(name.as_str())).cloned().collect();
        let missing = schema::names().filter(|name| !ran.iter().any(|ran| ran == name)).collect();
        Schema { missing, unknown, has_key }
    }
}

/// Looks at the database that `url` names.
pub async fn look(url: &str) -> Result<Found, StoreError> {
    if !url.starts_with("sqlite:") {
        return postgres::look(url).await;
    }
    let path = sqlite_path(url).to_owned();
    tokio::task::spawn_blocking(move || sqlite::look(path.as_ref()))
        .await
        .map_err(|error| StoreError::Fault(format!("looking at the database: {error}")))?
}

/// What an operator calls the database: the whole path of its file, or name, server and user. No password.
pub fn place(url: &str) -> String {
    if !url.starts_with("sqlite:") {
        return postgres::place(url);
    }
    let path = sqlite_path(url);
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}
