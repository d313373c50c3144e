//! Copies of the embedded database, made while a service writes to it: one snapshot, page by page, as a file of its own.
//!
//! The copy is written beside its place under another name and has its own name when it is whole, so a file that is there
//! is one that can be restored. Nothing is ever overwritten. Used by `app::copies` alone; PostgreSQL has tools of its own.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::sqlite::hint;
use crate::store::StoreError;

/// Pages of one step: 4 MiB, so that progress is seen and a reader's lock is never held for long.
const STEP_PAGES: i32 = 1024;
/// Lines of what is wrong with a file.
const WRONG_MAX: usize = 10;
/// How long somebody else may hold a lock.
const BUSY: Duration = Duration::from_secs(30);
/// Looks whether the other connections have ended, and the pause between two.
const JOINS_MAX: usize = 600;
const PAUSE: Duration = Duration::from_millis(50);

/// How far a copy has come, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    pub done: u64,
    pub all: u64,
}

/// The name under which a copy is written.
pub fn partial(to: &Path) -> PathBuf {
    beside(to, ".partial")
}

/// A file's name with an end behind it.
pub fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Copies what `source` holds now to `partial(to)`, which only its owner may read, and makes it durable. Answers its bytes.
/// What a copy that was cut off has left there is removed.
pub fn copy(source: &Path, to: &Path, told: &mut dyn FnMut(Copied)) -> Result<u64, StoreError> {
    if to.exists() {
        return Err(StoreError::Occupied(format!(
            "{} is there already; nothing was overwritten",
            to.display()
        )));
    }
    let unsettled = partial(to);
    remove(&unsettled)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let from = Connection::open_with_flags(source, flags).map_err(|error| failed(source, &error))?;
    from.busy_timeout(BUSY).map_err(|error| failed(source, &error))?;
    // The snapshot: with a transaction open, no commit of others begins the copy anew.
    from.execute_batch("begin").map_err(|error| failed(source, &error))?;
    from.query_row("select count(*) from sqlite_schema", [], |_| Ok(()))
        .map_err(|error| failed(source, &error))?;
    let size: i64 =
        from.query_row("pragma page_size", [], |row| row.get(0)).map_err(|error| failed(source, &error))?;
    owned(&unsettled)?;
    let mut into = Connection::open(&unsettled).map_err(|error| failed(&unsettled, &error))?;
    // It is made durable as a whole.
    into.pragma_update(None, "synchronous", "off").map_err(|error| failed(&unsettled, &error))?;
    {
        let backup = Backup::new(&from, &mut into).map_err(|error| failed(&unsettled, &error))?;
        loop {
            let step = backup.step(STEP_PAGES).map_err(|error| failed(&unsettled, &error))?;
            let progress = backup.progress();
            let bytes = |pages: i32| u64::try_from(i64::from(pages) * size).unwrap_or(0);
            told(Copied {
                done: bytes(progress.pagecount - progress.remaining),
                all: bytes(progress.pagecount),
            });
            match step {
                StepResult::Done => break,
                StepResult::More => {}
                _ => std::thread::sleep(PAUSE),
            }
        }
    }
    // One file, without a log beside it.
    into.pragma_update(None, "journal_mode", "delete").map_err(|error| failed(&unsettled, &error))?;
    into.close().map_err(|(_, error)| failed(&unsettled, &error))?;
    let file = File::open(&unsettled).map_err(|error| io(&unsettled, &error))?;
    file.sync_all().map_err(|error| io(&unsettled, &error))?;
    Ok(file.metadata().map_err(|error| io(&unsettled, &error))?.len())
}

/// Gives a copy its name. Refused where something has come there meanwhile.
pub fn settle(to: &Path) -> Result<(), StoreError> {
    let unsettled = partial(to);
    match std::fs::hard_link(&unsettled, to) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(StoreError::Occupied(format!("{} has come there meanwhile", to.display())));
        }
        Err(error) => return Err(io(to, &error)),
    }
    remove(&unsettled)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| io(folder, &error))
}

/// What is wrong with the pages of a file; nothing, if it is sound.
pub fn check(file: &Path) -> Result<Vec<String>, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let told = || -> rusqlite::Result<Vec<String>> {
        let opened = Connection::open_with_flags(file, flags)?;
        opened.busy_timeout(BUSY)?;
        let mut asked = opened.prepare(&format!("pragma integrity_check({WRONG_MAX})"))?;
        asked.query_map([], |row| row.get(0))?.collect()
    };
    match told() {
        Ok(lines) => Ok(lines.into_iter().filter(|line: &String| line != "ok").collect()),
        // It is no database, or not a whole one.
        Err(error) if error.sqlite_error_code().is_some_and(is_broken) => Ok(vec![error.to_string()]),
        Err(error) => Err(failed(file, &error)),
    }
}

/// Writes into the file itself what stands in its log, so that it is whole alone. Every other connection must have ended.
pub fn join_log(file: &Path) -> Result<(), StoreError> {
    let joined = || -> rusqlite::Result<()> {
        let opened = Connection::open(file)?;
        opened.busy_timeout(BUSY)?;
        // Answers what it is as long as others have not ended.
        for _ in 0..JOINS_MAX {
            let mode = opened.query_row("pragma journal_mode = delete", [], |row| row.get::<_, String>(0));
            let is_busy = |error: &rusqlite::Error| {
                error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
            };
            match mode {
                Ok(mode) if mode == "delete" => break,
                Err(error) if !is_busy(&error) => return Err(error),
                _ => std::thread::sleep(PAUSE),
            }
        }
        opened.close().map_err(|(_, error)| error)
    };
    joined().map_err(|error| failed(file, &error))?;
    File::open(file).and_then(|file| file.sync_all()).map_err(|error| io(file, &error))
}

/// Removes a copy that is not wanted, and what SQLite keeps beside it.
pub fn remove(file: &Path) -> Result<(), StoreError> {
    for end in ["", "-wal", "-shm", "-journal"] {
        let name = beside(file, end);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(io(&name, &error)),
            _ => {}
        }
    }
    Ok(())
}

fn is_broken(code: rusqlite::ErrorCode) -> bool {
    matches!(code, rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt)
}

/// Made before SQLite opens it: it holds customers' data.
fn owned(file: &Path) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(drop).map_err(|error| io(file, &error))
}

fn failed(file: &Path, error: &rusqlite::Error) -> StoreError {
    if error.sqlite_error_code().is_some_and(is_broken) {
        return StoreError::Occupied(format!(
            "{} is not a database that can be read: {error}",
            file.display()
        ));
    }
    StoreError::Unavailable(format!("{}: {error}{}", file.display(), hint(file, error)))
}

fn io(file: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", file.display()))
}
