//! The embedded engine: one writer thread with group commit, a few reader threads.
//!
//! The writer takes a Unit, drains whatever else waits (up to a limit), runs all of them in one
//! transaction with a savepoint each, commits once with synchronous=FULL, and only then answers.
//! A failed Unit rolls back alone. After any engine error the writer asks SQLite whether the
//! transaction is still open, because a full disk ends it silently and what follows would commit
//! outside of it; then everybody in the batch hears `Unavailable`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql};
use tokio::sync::oneshot;

use super::sql::{Dialect, Sql};
use super::unit::{Applied, Expect, Unit};
use super::value::{Row, Value};
use super::{StoreError, StoreOptions, migrate};
use crate::crash;
use crate::domain::time::Timestamp;

/// Units in one transaction.
const BATCH_MAX: usize = 512;
/// Requests waiting for the writer or the readers; more is refused as overload.
const QUEUE_MAX: usize = 16_384;
/// How long to wait for another process (a command beside the service) that holds the write lock.
const BUSY: Duration = Duration::from_secs(5);
/// Pages in the write-ahead log before a checkpoint: a checkpoint per few thousand pages costs
/// 30 % less than the default of 1000 under load (house measurement).
const AUTOCHECKPOINT_PAGES: i64 = 8000;
/// Prepared statements kept per connection; the program has about a hundred.
const STATEMENT_CACHE: usize = 256;

enum WriterJob {
    Apply(Unit, oneshot::Sender<Result<Applied, StoreError>>),
    Migrate(Timestamp, oneshot::Sender<Result<Vec<String>, StoreError>>),
}

struct ReaderJob {
    sql: &'static Sql,
    params: Vec<Value>,
    answer: oneshot::Sender<Result<Vec<Row>, StoreError>>,
}

pub(super) struct Sqlite {
    writer: crossbeam_channel::Sender<WriterJob>,
    readers: crossbeam_channel::Sender<ReaderJob>,
}

impl Sqlite {
    pub(super) fn open(path: &str, options: &StoreOptions) -> Result<Sqlite, StoreError> {
        let path = PathBuf::from(path);
        let connection = connect(&path, false)?;
        check_durability(&connection)?;
        let (writer, jobs) = crossbeam_channel::bounded(QUEUE_MAX);
        spawn("tillbell-writer", move || run_writer(connection, &jobs))?;
        let (readers, jobs) = crossbeam_channel::bounded::<ReaderJob>(QUEUE_MAX);
        for n in 0..options.readers.max(1) {
            let connection = connect(&path, true)?;
            let jobs = jobs.clone();
            spawn(&format!("tillbell-reader-{n}"), move || run_reader(&connection, &jobs))?;
        }
        Ok(Sqlite { writer, readers })
    }

    pub(super) async fn apply(&self, unit: Unit) -> Result<Applied, StoreError> {
        let (answer, wait) = oneshot::channel();
        self.writer.try_send(WriterJob::Apply(unit, answer)).map_err(|_| overloaded())?;
        wait.await.map_err(|_| gone())?
    }

    pub(super) async fn migrate(&self, now: Timestamp) -> Result<Vec<String>, StoreError> {
        let (answer, wait) = oneshot::channel();
        self.writer.try_send(WriterJob::Migrate(now, answer)).map_err(|_| overloaded())?;
        wait.await.map_err(|_| gone())?
    }

    pub(super) async fn read(&self, sql: &'static Sql, params: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        let (answer, wait) = oneshot::channel();
        self.readers.try_send(ReaderJob { sql, params, answer }).map_err(|_| overloaded())?;
        wait.await.map_err(|_| gone())?
    }
}

fn overloaded() -> StoreError {
    StoreError::Unavailable("too many requests wait for the database".into())
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
        connection.pragma_update(None, "mmap_size", 256 << 20)?;
        if !read_only {
            connection.pragma_update(None, "journal_mode", "wal")?;
            connection.pragma_update(None, "synchronous", "full")?;
            connection.pragma_update(None, "wal_autocheckpoint", AUTOCHECKPOINT_PAGES)?;
        }
        Ok(connection)
    };
    open().map_err(|error| {
        StoreError::Unavailable(format!("cannot open the database file {}: {error}", path.display()))
    })
}

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
            "SQLite runs with journal_mode={journal}, synchronous={synchronous}; \
             money needs wal and 2 (FULL): is the file on a network file system?"
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
        all.push(Row(values));
    }
    Ok(all)
}

fn run_reader(connection: &Connection, jobs: &crossbeam_channel::Receiver<ReaderJob>) {
    let mut texts = Texts(std::collections::HashMap::new());
    while let Ok(job) = jobs.recv() {
        if job.answer.is_closed() {
            continue; // the caller hung up
        }
        let result = query(connection, &mut texts, job.sql, &job.params)
            .map_err(|error| classify(job.sql.name, &error));
        let _ = job.answer.send(result);
    }
}

/// A fault of the program (a statement SQLite refuses) is told apart from trouble of the machine.
fn classify(statement: &str, error: &rusqlite::Error) -> StoreError {
    match error {
        rusqlite::Error::SqliteFailure(failure, _)
            if failure.code == rusqlite::ErrorCode::Unknown && failure.extended_code == 1 =>
        {
            StoreError::Fault(format!("{statement}: {error}"))
        }
        rusqlite::Error::SqliteFailure(..) => unavailable(error),
        _ => StoreError::Fault(format!("{statement}: {error}")),
    }
}

fn run_writer(mut connection: Connection, jobs: &crossbeam_channel::Receiver<WriterJob>) {
    let mut texts = Texts(std::collections::HashMap::new());
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while let Ok(first) = jobs.recv() {
        let mut next = Some(first);
        while let Some(job) = next.take() {
            match job {
                WriterJob::Migrate(now, answer) => {
                    let _ = answer.send(migrate::run_sqlite(&mut connection, now));
                    break;
                }
                WriterJob::Apply(unit, answer) => batch.push((unit, answer)),
            }
            if batch.len() < BATCH_MAX {
                next = jobs.try_recv().ok();
            }
        }
        if !batch.is_empty() {
            commit_batch(&connection, &mut texts, &mut batch);
        }
    }
}

type Waiting = (Unit, oneshot::Sender<Result<Applied, StoreError>>);

/// Runs the batch in one transaction and answers everybody after the commit.
fn commit_batch(connection: &Connection, texts: &mut Texts, batch: &mut Vec<Waiting>) {
    match run_batch(connection, texts, batch) {
        Ok(results) => {
            crash::point("store.after_commit");
            for ((_, answer), result) in batch.drain(..).zip(results) {
                let _ = answer.send(result);
            }
        }
        Err(error) => {
            if !connection.is_autocommit() {
                let _ = connection.execute_batch("rollback");
            }
            tracing::error!(%error, units = batch.len(), "the database did not take a batch; nothing of it was written");
            for (_, answer) in batch.drain(..) {
                let _ = answer.send(Err(error.clone()));
            }
        }
    }
}

fn run_batch(
    connection: &Connection,
    texts: &mut Texts,
    batch: &[Waiting],
) -> Result<Vec<Result<Applied, StoreError>>, StoreError> {
    connection.execute_batch("begin immediate").map_err(|e| unavailable(&e))?;
    let mut results = Vec::with_capacity(batch.len());
    for (unit, _) in batch {
        let result = run_unit(connection, texts, unit)?;
        results.push(result);
    }
    crash::point("store.before_commit");
    connection.prepare_cached("commit").and_then(|mut s| s.execute([])).map_err(|e| unavailable(&e))?;
    Ok(results)
}

/// The outer error ends the batch, the inner one only this Unit.
fn run_unit(
    connection: &Connection,
    texts: &mut Texts,
    unit: &Unit,
) -> Result<Result<Applied, StoreError>, StoreError> {
    let control = |sql: &str| {
        connection.prepare_cached(sql).and_then(|mut s| s.execute([])).map_err(|e| unavailable(&e))
    };
    control("savepoint unit")?;
    let result = run_steps(connection, texts, unit);
    if connection.is_autocommit() {
        // Disk full and the like: SQLite ended the transaction by itself.
        let why = result.err().map_or_else(|| "the transaction ended by itself".into(), |e| e.to_string());
        return Err(StoreError::Unavailable(why));
    }
    match result {
        Ok(Applied::Done(rows)) => {
            control("release unit")?;
            Ok(Ok(Applied::Done(rows)))
        }
        Ok(other) => {
            control("rollback to unit")?;
            control("release unit")?;
            Ok(Ok(other))
        }
        Err(error @ StoreError::Unavailable(_)) => Err(error),
        Err(error) => {
            control("rollback to unit")?;
            control("release unit")?;
            Ok(Err(error))
        }
    }
}

fn run_steps(connection: &Connection, texts: &mut Texts, unit: &Unit) -> Result<Applied, StoreError> {
    let mut returned = Vec::new();
    for step in &unit.steps {
        crash::point("store.between_statements");
        let outcome = match step.expect {
            Expect::Returned => {
                query(connection, texts, step.sql, &step.params).map(|rows| returned.push(rows))
            }
            Expect::Any => execute(connection, texts, step.sql, &step.params).map(drop),
            Expect::Rows(wanted) => match execute(connection, texts, step.sql, &step.params) {
                Ok(rows) if rows as u64 == wanted => Ok(()),
                Ok(_) => return Ok(Applied::Lost { statement: step.sql.name }),
                Err(error) => Err(error),
            },
        };
        match outcome {
            Ok(()) => {}
            Err(rusqlite::Error::SqliteFailure(failure, _))
                if failure.code == rusqlite::ErrorCode::ConstraintViolation =>
            {
                return Ok(Applied::Refused { statement: step.sql.name });
            }
            Err(error) => return Err(classify(step.sql.name, &error)),
        }
    }
    Ok(Applied::Done(returned))
}

fn execute(
    connection: &Connection,
    texts: &mut Texts,
    sql: &'static Sql,
    params: &[Value],
) -> rusqlite::Result<usize> {
    connection.prepare_cached(texts.get(sql))?.execute(rusqlite::params_from_iter(params))
}
