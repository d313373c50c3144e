//! Looking at a SQLite file: whether it is there, whose it is, how far its schema came.
//!
//! A file that no program has open is read as one that cannot change, because SQLite would otherwise put
//! `-wal` and `-shm` beside it. Called by `look`.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use super::{Found, Schema};
use crate::store::StoreError;
use crate::store::engine::sqlite::hint;

/// Names of another program's tables that are told.
const TABLES_TOLD: usize = 3;

pub(super) fn look(path: &Path) -> Result<Found, StoreError> {
    let has_log = beside(path, "-wal").exists();
    match std::fs::metadata(path) {
        Ok(meta) if !meta.is_file() => return Ok(Found::Foreign("it is not a file".into())),
        Ok(meta) if meta.len() == 0 && !has_log => return Ok(Found::Empty),
        Ok(_) => {}
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Found::Nothing);
        }
        Err(error) => return Err(unreadable(path, &error)),
    }
    // Without the right to read, SQLite says no more than that it cannot open the file. A file that is in use
    // is not opened here: closing it would end the locks that other connections of this process hold.
    if !has_log && let Err(error) = std::fs::File::open(path) {
        return Err(unreadable(path, &error));
    }
    match open(path, has_log).and_then(|connection| read(&connection)) {
        Ok(found) => Ok(found),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Ok(Found::Foreign("it is not a SQLite file".into()))
        }
        Err(error) => {
            let hint = hint(path, &error);
            Err(StoreError::Unavailable(format!(
                "cannot read the database file {}: {error}{hint}",
                path.display()
            )))
        }
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn unreadable(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Denied(format!(
        "the database file {} cannot be read: {error}; run this as the user that owns the file",
        path.display()
    ))
}

fn open(path: &Path, has_log: bool) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if has_log {
        return Connection::open_with_flags(path, flags);
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = String::from("file://");
    for byte in whole.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte))
            }
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri.push_str("?immutable=1");
    Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
}

fn read(connection: &Connection) -> rusqlite::Result<Found> {
    let names =
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'";
    let tables = column(connection, names)?;
    if tables.is_empty() {
        return Ok(Found::Empty);
    }
    // Other programs keep a history of that name as well.
    let columns =
        "select name from pragma_table_info('schema_migrations') where name in ('name', 'checksum')";
    if column(connection, columns)?.len() < 2 {
        let told = tables.iter().take(TABLES_TOLD).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if tables.len() > TABLES_TOLD { ", ..." } else { "" };
        return Ok(Found::Foreign(format!("it contains tables of another program ({told}{more})")));
    }
    let ran = column(connection, "select name from schema_migrations")?;
    let has_key = tables.iter().any(|table| table == "key_checks")
        && connection.query_row("select 1 from key_checks", [], |_| Ok(())).optional()?.is_some();
    Ok(Found::Ours(Schema::of(&ran, has_key)))
}

fn column(connection: &Connection, text: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(text)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}
