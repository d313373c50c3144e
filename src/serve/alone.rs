//! One service for one SQLite file: a second one is told which process has it.
//!
//! The lock is the system's own, on a file beside the database: it ends with the process that holds it, however that
//! ends, so nothing is left behind that somebody must remove. Commands do not ask for it. SQLite's own locks are on
//! the database itself and are no concern of it. Called by `serve` alone.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;

use super::ServeError;
use crate::app::database_place;

/// Bytes that are read of what the other wrote.
const TOLD_MAX: u64 = 200;

/// Held until the service ends.
pub(super) struct Alone {
    _lock: File,
}

/// Takes the lock of a SQLite database that is there. A file system that knows no locks is told in the log, and the
/// service starts; on PostgreSQL any number of services may run.
pub(super) fn hold(database_url: &str) -> Result<Option<Alone>, ServeError> {
    if !database_url.starts_with("sqlite:") {
        return Ok(None);
    }
    let place = database_place(database_url);
    match lock(&place) {
        Ok(alone) => Ok(Some(alone)),
        Err(Untaken::Held(holder)) => Err(ServeError::Taken { place, holder }),
        Err(Untaken::Unknown(why)) => {
            tracing::warn!(
                database = place,
                %why,
                "the lock file beside the database cannot be locked, so a second service would not be noticed; run one \
                 alone"
            );
            Ok(None)
        }
    }
}

enum Untaken {
    /// By whom, in words.
    Held(String),
    Unknown(std::io::Error),
}

impl From<std::io::Error> for Untaken {
    fn from(why: std::io::Error) -> Untaken {
        Untaken::Unknown(why)
    }
}

fn lock(place: &str) -> Result<Alone, Untaken> {
    // By whatever link it is named: one database has one lock.
    let mut name = std::fs::canonicalize(place)?.into_os_string();
    name.push(".lock");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(PathBuf::from(name))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut told = String::new();
            // Whoever has just taken it may not have written yet.
            let _ = file.take(TOLD_MAX).read_to_string(&mut told);
            let told = told.trim();
            return Err(Untaken::Held(if told.is_empty() { "another process".into() } else { told.into() }));
        }
        Err(TryLockError::Error(why)) => return Err(why.into()),
    }
    let host = whoami::hostname().map(|name| format!(" on {name}")).unwrap_or_default();
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {}{host}", std::process::id())?;
    Ok(Alone { _lock: file })
}
