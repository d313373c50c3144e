//! The embedded engine: opening the file, its settings, and the threads that read.
//!
//! One thread writes (`sqlite/writer.rs`), a few read, each on a connection of its own; callers
//! hand over requests through bounded queues and never run SQLite on an async worker. What an
//! error of SQLite means is decided here for both.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, ffi};
use tokio::sync::oneshot;

use crate::domain::time::Timestamp;
use crate::store::engine::sql::{Dialect, Sql};
use crate::store::engine::unit::{Applied, Unit};
use crate::store::engine::value::{Row, Value};
use crate::store::{StoreError, StoreOptions, WAIT_MAX, overloaded};

mod writer;

use writer::WriterJob;

/// Requests waiting for the writer or the readers; more is refused as overload.
const QUEUE_MAX: usize = 16_384;
/// How long a write waits while another process (a command beside the service) holds the write lock, its time
/// behind other writes counted.
const BUSY: Duration = Duration::from_secs(5);
/// Pages in the write-ahead log before a checkpoint: a checkpoint per few thousand pages costs
/// 30 % less than the default of 1000 under load (house measurement).
const AUTOCHECKPOINT_PAGES: i64 = 8000;
/// Pages the writer keeps: indexes over amounts and names are touched all over.
const WRITER_CACHE_KIB: i64 = 32 * 1024;
/// Prepared statements kept per connection; the program has about a hundred.
const STATEMENT_CACHE: usize = 256;

/// The mode of the files.
#[cfg(unix)]
const OWNER_ONLY: u32 = 0o600;

/// Reads that share one snapshot at most, so that a checkpoint is not held up.
const SHARE_MAX: usize = 64;

/// How often a statement is run for one answer.
enum Asks {
    Once(Vec<Value>),
    /// Of a look-up: once for each key, in one snapshot.
    Each(Vec<Vec<Value>>),
}

struct ReaderJob {
    sql: &'static Sql,
    asks: Asks,
    asked: Instant,
    answer: oneshot::Sender<Result<Vec<Row>, StoreError>>,
}

pub(in crate::store) struct Sqlite {
    writer: crossbeam_channel::Sender<WriterJob>,
    readers: crossbeam_channel::Sender<ReaderJob>,
}

impl Sqlite {
    pub(in crate::store) fn open(path: &str, options: &StoreOptions) -> Result<Sqlite, StoreError> {
        let path = PathBuf::from(path);
        close_to_others(&path);
        let connection = connect(&path, false)?;
        check_durability(&connection)?;
        let (writer, jobs) = crossbeam_channel::bounded(QUEUE_MAX);
        let files = writer::Files::of(&path);
        spawn("tillbell-writer", move || writer::run(connection, files, &jobs))?;
        let (readers, jobs) = crossbeam_channel::bounded::<ReaderJob>(QUEUE_MAX);
        for n in 0..options.readers.max(1) {
            let connection = connect(&path, true)?;
            let jobs = jobs.clone();
            spawn(&format!("tillbell-reader-{n}"), move || run_reader(&connection, &jobs))?;
        }
        Ok(Sqlite { writer, readers })
    }

    pub(in crate::store) async fn apply(&self, unit: Unit) -> Result<Applied, StoreError> {
        let (answer, wait) = oneshot::channel();
        let job = WriterJob::Apply { unit, asked: Instant::now(), answer };
        self.writer.try_send(job).map_err(|error| refused(&error))?;
        wait.await.map_err(|_| gone())?
    }

    pub(in crate::store) async fn migrate(&self, now: Timestamp) -> Result<Vec<String>, StoreError> {
        let (answer, wait) = oneshot::channel();
        self.writer.try_send(WriterJob::Migrate(now, answer)).map_err(|error| refused(&error))?;
        wait.await.map_err(|_| gone())?
    }

    pub(in crate::store) async fn read(
        &self,
        sql: &'static Sql,
        params: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        self.ask(sql, Asks::Once(params)).await
    }

    /// Rows of one look-up for many keys; a row does not say which key is its own.
    pub(in crate::store) async fn look_up_all(
        &self,
        sql: &'static Sql,
        keys: Vec<Vec<Value>>,
    ) -> Result<Vec<Row>, StoreError> {
        self.ask(sql, Asks::Each(keys)).await
    }

    async fn ask(&self, sql: &'static Sql, asks: Asks) -> Result<Vec<Row>, StoreError> {
        let (answer, wait) = oneshot::channel();
        let job = ReaderJob { sql, asks, asked: Instant::now(), answer };
        self.readers.try_send(job).map_err(|error| refused(&error))?;
        wait.await.map_err(|_| gone())?
    }
}

fn refused<T>(error: &crossbeam_channel::TrySendError<T>) -> StoreError {
    match error {
        crossbeam_channel::TrySendError::Full(_) => overloaded(),
        crossbeam_channel::TrySendError::Disconnected(_) => gone(),
    }
}

fn gone() -> StoreError {
    StoreError::Unavailable("the database thread has ended".into())
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map(drop)
        .map_err(|error| StoreError::Unavailable(format!("cannot start a database thread: {error}")))
}

fn unavailable(error: &rusqlite::Error) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

fn connect(path: &Path, read_only: bool) -> Result<Connection, StoreError> {
    // The file is created by the writer; a reader opens it without the right to write.
    let flags = if read_only {
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX
    } else {
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX
    };
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
        connection.pragma_update(None, "foreign_keys", true)?;
        // Otherwise every new value of `limit $n` makes SQLite plan the statement anew.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        if !read_only {
            // What a savepoint would bring back stays in memory; else it is written to a file.
            connection.pragma_update(None, "temp_store", "memory")?;
            connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
            connection.pragma_update(None, "journal_mode", "wal")?;
            connection.pragma_update(None, "synchronous", "full")?;
            connection.pragma_update(None, "wal_autocheckpoint", AUTOCHECKPOINT_PAGES)?;
        }
        Ok(connection)
    };
    open().map_err(|error| {
        let hint = hint(path, &error);
        StoreError::Unavailable(format!("cannot open the database file {}: {error}{hint}", path.display()))
    })
}

/// SQLite says that it cannot open or write, and not what it needs.
pub(in crate::store) fn hint(path: &Path, error: &rusqlite::Error) -> String {
    let Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) =
        error.sqlite_error_code()
    else {
        return String::new();
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return format!("; there is no folder {}", folder.display());
    }
    format!(
        "; run this as the user that owns the file; that user must be allowed to write it and to create \
         files in {}",
        folder.display()
    )
}

/// Makes a missing file its owner's alone from its first moment, and closes those there are to others:
/// they hold customers' money and mails. What SQLite makes beside the file takes over its mode.
#[cfg(unix)]
fn close_to_others(path: &Path) {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    // Names that SQLite keeps for itself (`:memory:`) are no files.
    if path.to_string_lossy().starts_with(':') {
        return;
    }
    // A file that is there must not be opened here: closing it would end the locks that other
    // connections of this process hold. What else keeps it from being made is told by SQLite.
    if std::fs::OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY).open(path).is_ok() {
        return;
    }
    for end in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        let Ok(meta) = std::fs::metadata(&name) else { continue };
        if !meta.is_file() || meta.permissions().mode() & 0o077 == 0 {
            continue;
        }
        let file = Path::new(&name).display();
        match std::fs::set_permissions(&name, std::fs::Permissions::from_mode(OWNER_ONLY)) {
            Ok(()) => {
                tracing::warn!(%file, "other users could read or write a database file; its mode is now 0600");
            }
            Err(error) => {
                tracing::warn!(%file, %error, "other users can read or write a database file; run chmod 600");
            }
        }
    }
}

#[cfg(not(unix))]
fn close_to_others(_: &Path) {}

/// A file system that cannot do WAL, or a build that ignores the pragma, must not go unnoticed.
fn check_durability(connection: &Connection) -> Result<(), StoreError> {
    let read = |name: &str| -> Result<String, StoreError> {
        let value: rusqlite::types::Value =
            connection.pragma_query_value(None, name, |row| row.get(0)).map_err(|e| unavailable(&e))?;
        Ok(match value {
            rusqlite::types::Value::Integer(n) => n.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        })
    };
    let (journal, synchronous) = (read("journal_mode")?, read("synchronous")?);
    if journal != "wal" || synchronous != "2" {
        return Err(StoreError::Unavailable(format!(
            "SQLite runs with journal_mode={journal}, synchronous={synchronous}; tillbell requires wal and 2 \
             (FULL): is the file on a network file system?"
        )));
    }
    Ok(())
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(n) => ValueRef::Integer(*n),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Texts are rendered once per process and statement, not per execution.
struct Texts(std::collections::HashMap<*const Sql, String>);

impl Texts {
    fn get(&mut self, sql: &'static Sql) -> &str {
        self.0.entry(std::ptr::from_ref(sql)).or_insert_with(|| sql.render(Dialect::Sqlite))
    }
}

fn query(
    connection: &Connection,
    texts: &mut Texts,
    sql: &'static Sql,
    params: &[Value],
) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(texts.get(sql))?;
    let columns = statement.column_count();
    let names = sql.answers(|| statement.column_names().map(str::to_owned).collect());
    let mut rows = statement.query(rusqlite::params_from_iter(params))?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(columns);
        for i in 0..columns {
            values.push(match row.get_ref(i)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(n) => Value::Int(n),
                ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
                ValueRef::Real(_) => return Err(rusqlite::Error::InvalidQuery),
            });
        }
        all.push(Row::new(names, values));
    }
    Ok(all)
}

/// Reads that waited when a snapshot began share it: taking one costs a third of a small read. Who asked later
/// gets a newer one, because what was committed before a question must be in its answer.
fn run_reader(connection: &Connection, jobs: &crossbeam_channel::Receiver<ReaderJob>) {
    let mut texts = Texts(std::collections::HashMap::new());
    let mut next = jobs.recv().ok();
    while let Some(first) = next.take() {
        let began = Instant::now();
        let is_shared = !jobs.is_empty() && run(connection, "BEGIN").is_ok();
        answer(connection, &mut texts, first);
        if is_shared {
            for job in jobs.try_iter().take(SHARE_MAX) {
                if job.asked >= began {
                    next = Some(job);
                    break;
                }
                answer(connection, &mut texts, job);
            }
            // Left open, it would answer from this snapshot for ever.
            if run(connection, "COMMIT").is_err() {
                let _ = run(connection, "ROLLBACK");
            }
        }
        if next.is_none() {
            next = jobs.recv().ok();
        }
    }
}

fn run(connection: &Connection, text: &'static str) -> rusqlite::Result<()> {
    connection.prepare_cached(text)?.execute([]).map(drop)
}

fn answer(connection: &Connection, texts: &mut Texts, job: ReaderJob) {
    if job.answer.is_closed() {
        return; // the caller hung up
    }
    if job.asked.elapsed() > WAIT_MAX {
        let _ = job.answer.send(Err(overloaded()));
        return;
    }
    let rows = match &job.asks {
        Asks::Once(params) => query(connection, texts, job.sql, params),
        Asks::Each(keys) => of_each(connection, texts, job.sql, keys),
    };
    let _ = job.answer.send(rows.map_err(|error| classify(job.sql.name, &error)));
}

/// In a snapshot of their own or in that which the job shares.
fn of_each(
    connection: &Connection,
    texts: &mut Texts,
    sql: &'static Sql,
    keys: &[Vec<Value>],
) -> rusqlite::Result<Vec<Row>> {
    let is_own = connection.is_autocommit() && run(connection, "BEGIN").is_ok();
    let mut rows = Vec::with_capacity(keys.len());
    let asked = keys.iter().try_for_each(|key| {
        rows.append(&mut query(connection, texts, sql, key)?);
        Ok(())
    });
    if is_own && run(connection, "COMMIT").is_err() {
        let _ = run(connection, "ROLLBACK");
    }
    asked.map(|()| rows)
}

/// What an error of SQLite means for a Unit or a read.
enum Meaning {
    /// A constraint or a trigger forbids it.
    Refused,
    /// The program sent what SQLite cannot accept.
    Fault,
    /// The disk, the file, another process.
    Trouble,
}

/// A value of the wrong type breaks a constraint of a STRICT table; PostgreSQL calls it a fault, so
/// does this. Everything that rusqlite itself complains about is the program's own.
fn meaning(error: &rusqlite::Error) -> Meaning {
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return Meaning::Fault };
    match (failure.code, failure.extended_code) {
        (_, ffi::SQLITE_CONSTRAINT_DATATYPE) => Meaning::Fault,
        (ErrorCode::ConstraintViolation, _) => Meaning::Refused,
        (ErrorCode::TooBig | ErrorCode::TypeMismatch | ErrorCode::ParameterOutOfRange, _)
        | (ErrorCode::ApiMisuse, _)
        | (ErrorCode::Unknown, ffi::SQLITE_ERROR) => Meaning::Fault,
        _ => Meaning::Trouble,
    }
}

fn classify(statement: &str, error: &rusqlite::Error) -> StoreError {
    match meaning(error) {
        Meaning::Fault | Meaning::Refused => StoreError::Fault(format!("{statement}: {error}")),
        Meaning::Trouble => unavailable(error),
    }
}
