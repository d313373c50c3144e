//! The one thread that writes to the SQLite file: group commit.
//!
//! It takes a Unit, drains whatever else waits (up to a limit), runs all of them in one transaction, commits
//! once with synchronous=FULL, and only then answers. When one of them fails, all are run again with a
//! savepoint each. While another process holds the write lock, each Unit waits its own [`BUSY`] from when it
//! was handed over: those whose time is over are refused, the others wait on. A failed Unit rolls back alone.
//! After any engine error the writer asks SQLite whether the transaction is still open, because a full disk
//! ends it silently and what follows would commit outside of it; then everybody in the batch hears
//! `Unavailable`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, ffi};
use tokio::sync::oneshot;

use super::{BUSY, Meaning, Texts, classify, meaning, query, unavailable};
use crate::crash;
use crate::domain::time::Timestamp;
use crate::store::engine::migrate;
use crate::store::engine::sql::Sql;
use crate::store::engine::unit::{Applied, Expect, Unit};
use crate::store::engine::value::Value;
use crate::store::{StoreError, WAIT_MAX, overloaded};

/// Units in one transaction.
const BATCH_MAX: usize = 512;

type Answer = Result<Applied, StoreError>;

pub(super) enum WriterJob {
    Apply { unit: Unit, asked: Instant, answer: oneshot::Sender<Answer> },
    Migrate(Timestamp, oneshot::Sender<Result<Vec<String>, StoreError>>),
}

struct Waiting {
    unit: Unit,
    asked: Instant,
    answer: oneshot::Sender<Answer>,
}

/// Why a batch was not written.
enum Failure {
    /// Another process writes; nothing was begun.
    Locked,
    Failed(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Failed(error)
    }
}

fn locked() -> StoreError {
    let seconds = BUSY.as_secs();
    StoreError::Unavailable(format!(
        "another program has held the write lock of the database file for {seconds} s; end what it does, then try again"
    ))
}

/// The file as it was when it was opened. SQLite goes on writing to a file that was removed or
/// replaced under it, and everything acknowledged from then on would be gone at the next start.
pub(super) struct Files {
    path: PathBuf,
    opened: Option<(u64, u64)>,
}

impl Files {
    pub(super) fn of(path: &Path) -> Files {
        Files { path: path.to_owned(), opened: identity(path) }
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.opened.is_none() || identity(&self.path) == self.opened {
            return Ok(());
        }
        Err(StoreError::Unavailable(format!(
            "the database file {} was removed or replaced while the program was running; restart it",
            self.path.display()
        )))
    }
}

/// Device and number of the file; `None` where there is no such thing.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}

struct Writer {
    connection: Connection,
    files: Files,
    texts: Texts,
}

/// Runs until the last handle of the store is dropped.
pub(super) fn run(connection: Connection, files: Files, jobs: &crossbeam_channel::Receiver<WriterJob>) {
    let mut writer = Writer { connection, files, texts: Texts(HashMap::new()) };
    let mut batch = Vec::with_capacity(BATCH_MAX);
    loop {
        // Those who wait for the lock have asked already.
        let mut next = if batch.is_empty() {
            let Ok(first) = jobs.recv() else { return };
            Some(first)
        } else if batch.len() < BATCH_MAX {
            jobs.try_recv().ok()
        } else {
            None
        };
        let mut migration = None;
        while let Some(job) = next.take() {
            match job {
                // After what was handed over before it.
                WriterJob::Migrate(now, answer) => migration = Some((now, answer)),
                WriterJob::Apply { asked, answer, .. } if asked.elapsed() > WAIT_MAX => {
                    let _ = answer.send(Err(overloaded()));
                }
                WriterJob::Apply { unit, asked, answer } => batch.push(Waiting { unit, asked, answer }),
            }
            if batch.len() < BATCH_MAX && migration.is_none() {
                next = jobs.try_recv().ok();
            }
        }
        if !batch.is_empty() {
            writer.commit_batch(&mut batch);
        }
        if let Some((now, answer)) = migration {
            // Ends when the last of them was written or refused, after [`BUSY`] at the latest.
            while !batch.is_empty() {
                writer.commit_batch(&mut batch);
            }
            let _ = writer.connection.busy_timeout(BUSY);
            let _ = answer.send(migrate::run_sqlite(&mut writer.connection, now));
        }
    }
}

impl Writer {
    /// Runs the batch in one transaction and answers everybody after the commit. While another process holds the
    /// lock, those who may wait longer are left in the batch.
    fn commit_batch(&mut self, batch: &mut Vec<Waiting>) {
        match self.run_batch(batch) {
            Ok(results) => {
                crash::point("store.after_commit");
                for (waiting, result) in batch.drain(..).zip(results) {
                    // The caller may have hung up; that changes nothing.
                    let _ = waiting.answer.send(result);
                }
            }
            Err(Failure::Locked) => refuse_overdue(batch, Instant::now()),
            Err(Failure::Failed(error)) => {
                if !self.connection.is_autocommit() {
                    let _ = self.connection.execute_batch("rollback");
                }
                let units = batch.len();
                tracing::error!(%error, units, "the database did not take a batch; nothing of it was written");
                for waiting in batch.drain(..) {
                    let _ = waiting.answer.send(Err(error.clone()));
                }
            }
        }
    }

    /// Nearly every Unit is done, so the batch is first run without savepoints; only when one fails
    /// is all of it run again, each Unit in a savepoint of its own.
    fn run_batch(&mut self, batch: &[Waiting]) -> Result<Vec<Answer>, Failure> {
        self.files.check()?;
        self.begin(batch)?;
        let results = match self.run_unguarded(batch)? {
            Some(results) => results,
            None => {
                self.control("rollback")?;
                self.begin(batch)?;
                batch.iter().map(|waiting| self.run_unit(&waiting.unit)).collect::<Result<_, StoreError>>()?
            }
        };
        crash::point("store.before_commit");
        if let Err(error) = self.execute_control("commit") {
            die_after_failed_sync(&error);
            return Err(unavailable(&error).into());
        }
        Ok(results)
    }

    /// Begins a transaction; waits for the lock as long as the one who asked first may.
    fn begin(&self, batch: &[Waiting]) -> Result<(), Failure> {
        let asked = batch.iter().map(|waiting| waiting.asked).min();
        let left = BUSY.saturating_sub(asked.map_or(Duration::ZERO, |asked| asked.elapsed()));
        self.connection.busy_timeout(left).map_err(|error| unavailable(&error))?;
        match self.execute_control("begin immediate") {
            Ok(_) => Ok(()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Err(Failure::Locked),
            Err(error) => Err(unavailable(&error).into()),
        }
    }

    /// `None`: a Unit was not done, and what it wrote is among what the others wrote.
    fn run_unguarded(&mut self, batch: &[Waiting]) -> Result<Option<Vec<Answer>>, StoreError> {
        let mut results = Vec::with_capacity(batch.len());
        for waiting in batch {
            let result = self.run_steps(&waiting.unit);
            match self.still_open(result)? {
                done @ Ok(Applied::Done(_)) => results.push(done),
                Err(error @ StoreError::Unavailable(_)) => return Err(error),
                _ => return Ok(None),
            }
        }
        Ok(Some(results))
    }

    /// The result, unless the transaction is over: on a full disk and the like SQLite ends it.
    fn still_open(&self, result: Answer) -> Result<Answer, StoreError> {
        if !self.connection.is_autocommit() {
            return Ok(result);
        }
        let why = result.err().map_or_else(|| "the transaction ended unexpectedly".into(), |e| e.to_string());
        Err(StoreError::Unavailable(why))
    }

    fn execute_control(&self, sql: &str) -> rusqlite::Result<usize> {
        self.connection.prepare_cached(sql)?.execute([])
    }

    fn control(&self, sql: &str) -> Result<(), StoreError> {
        self.execute_control(sql).map(drop).map_err(|error| unavailable(&error))
    }

    /// The outer error ends the batch, the inner one only this Unit.
    fn run_unit(&mut self, unit: &Unit) -> Result<Answer, StoreError> {
        self.control("savepoint unit")?;
        let result = self.run_steps(unit);
        let result = self.still_open(result)?;
        match result {
            Err(error @ StoreError::Unavailable(_)) => return Err(error),
            Ok(Applied::Done(_)) => {}
            Ok(_) | Err(_) => self.control("rollback to unit")?,
        }
        self.control("release unit")?;
        Ok(result)
    }

    fn run_steps(&mut self, unit: &Unit) -> Result<Applied, StoreError> {
        let mut returned = Vec::new();
        for step in &unit.steps {
            crash::point("store.between_statements");
            let outcome = match step.expect {
                // Nothing comes back from an insert, on PostgreSQL neither.
                Expect::Returned if !step.is_insert() => {
                    query(&self.connection, &mut self.texts, step.sql, &step.params)
                        .map(|rows| returned.push(rows))
                }
                Expect::Returned | Expect::Any => self.execute(step.sql, &step.params).map(drop),
                Expect::Rows(wanted) => match self.execute(step.sql, &step.params) {
                    Ok(rows) if rows as u64 == wanted => Ok(()),
                    Ok(_) => return Ok(Applied::Conflict { statement: step.sql.name }),
                    Err(error) => Err(error),
                },
            };
            if let Err(error) = outcome {
                return match meaning(&error) {
                    Meaning::Refused => Ok(Applied::ConstraintViolation { statement: step.sql.name }),
                    Meaning::Fault | Meaning::Trouble => Err(classify(step.sql.name, &error)),
                };
            }
        }
        Ok(Applied::Done(returned))
    }

    fn execute(&mut self, sql: &'static Sql, params: &[Value]) -> rusqlite::Result<usize> {
        let mut statement = self.connection.prepare_cached(self.texts.get(sql))?;
        statement.execute(rusqlite::params_from_iter(params))
    }
}

/// Answers those who have waited for the lock as long as anybody may.
fn refuse_overdue(batch: &mut Vec<Waiting>, now: Instant) {
    // The engine counts whole milliseconds, and may come back within the last one.
    let is_overdue = |waiting: &mut Waiting| now + Duration::from_millis(1) >= waiting.asked + BUSY;
    let overdue: Vec<Waiting> = batch.extract_if(.., is_overdue).collect();
    if !overdue.is_empty() {
        let error = locked();
        tracing::error!(%error, units = overdue.len(), "the database did not take a batch; nothing of it was written");
        for waiting in overdue {
            let _ = waiting.answer.send(Err(error.clone()));
        }
    }
}

/// After a failed fsync nobody knows what is on the disk, and the kernel may have forgotten that it
/// was never written: a second fsync that succeeds proves nothing. Only a fresh start reads what is
/// truly there. (What the callers of this batch see is a service that died.)
fn die_after_failed_sync(error: &rusqlite::Error) {
    const FAILED_SYNC: [i32; 2] = [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC];
    if let rusqlite::Error::SqliteFailure(failure, _) = error
        && FAILED_SYNC.contains(&failure.extended_code)
    {
        tracing::error!(%error, "the disk did not confirm a commit; exiting, so that a restart reads what \
                                 was stored");
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_has_waited_long_enough_for_the_lock_is_refused() {
        let now = Instant::now() + BUSY * 2;
        let mut answers = Vec::new();
        let mut batch = Vec::new();
        for ago in [BUSY + Duration::from_secs(1), Duration::from_secs(1), BUSY, Duration::ZERO] {
            let (answer, answered) = oneshot::channel();
            batch.push(Waiting { unit: Unit::new(0, 0), asked: now - ago, answer });
            answers.push(answered);
        }
        refuse_overdue(&mut batch, now);
        assert_eq!(batch.len(), 2);
        let mut refused = answers.iter_mut().map(|answered| matches!(answered.try_recv(), Ok(Err(_))));
        assert!(refused.by_ref().eq([true, false, true, false]));
    }
}
