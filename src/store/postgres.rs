//! The PostgreSQL engine: a few writer connections with group commit, a few pipelined readers.
//!
//! A writer takes the Units of its shards that wait, opens one transaction, sends every statement
//! down the connection without waiting (inserts of one kind as one array insert), compares the
//! row counts, and only then commits. If a Unit lost a race or broke a constraint, the transaction
//! is rolled back and run again without it; the culprit is replayed alone, so that each Unit gets
//! its own answer. A connection that breaks during the commit leaves the end unknown: the Unit is
//! sent again under the same id, and its row in `units` tells whether it had happened.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Client, Statement};

use super::sql::{Dialect, Sql};
use super::unit::{Applied, Unit};
use super::value::{Row, Value};
use super::{StoreError, StoreOptions, migrate};
use crate::domain::time::Timestamp;

pub(in crate::store) mod batch;
mod convert;

/// Units in one transaction; beyond this the gain is small and the wait long.
const BATCH_MAX: usize = 256;
/// Units waiting per writer; more is refused as overload.
const QUEUE_MAX: usize = 8_192;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// No answer to a statement within this time: the connection is given up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// A Unit replayed after deadlocks or serialization failures this often is given back.
const REPLAY_MAX: usize = 5;

struct WriterJob {
    unit: Unit,
    answer: oneshot::Sender<Result<Applied, StoreError>>,
}

pub(super) struct Postgres {
    writers: Vec<mpsc::Sender<WriterJob>>,
    readers: Vec<Slot>,
    next_reader: AtomicUsize,
}

/// Where one connection lives; reconnects on demand, one attempt at a time.
#[derive(Clone)]
pub(super) struct Slot {
    config: Arc<tokio_postgres::Config>,
    held: Arc<tokio::sync::Mutex<Option<Arc<Connection>>>>,
}

/// One live connection with its prepared statements.
pub(super) struct Connection {
    client: Client,
    prepared: Mutex<HashMap<(usize, bool), Statement>>,
    /// The server said that a commit may not have reached the standby.
    unreplicated: Arc<AtomicBool>,
}

/// The server's own words, which tokio-postgres keeps in the source of its error.
pub(super) fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} ({})", db.message(), db.code().code()),
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}

fn away(why: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("PostgreSQL: {why}"))
}

impl Slot {
    fn new(config: &Arc<tokio_postgres::Config>) -> Slot {
        Slot { config: config.clone(), held: Arc::default() }
    }

    pub(super) async fn get(&self) -> Result<Arc<Connection>, StoreError> {
        let mut held = self.held.lock().await;
        if let Some(connection) = held.as_ref()
            && !connection.client.is_closed()
        {
            return Ok(connection.clone());
        }
        *held = None;
        let connection = Arc::new(Connection::open(&self.config).await?);
        *held = Some(connection.clone());
        Ok(connection)
    }

    /// Gives the connection up, for instance because it did not answer in time.
    pub(super) async fn discard(&self, connection: &Arc<Connection>) {
        let mut held = self.held.lock().await;
        if held.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            *held = None;
        }
    }
}

impl Connection {
    async fn open(config: &tokio_postgres::Config) -> Result<Connection, StoreError> {
        let connect = async {
            let (client, mut connection) =
                config.connect(super::tls::connector()?).await.map_err(|e| away(describe(&e)))?;
            let unreplicated = Arc::new(AtomicBool::new(false));
            let flag = unreplicated.clone();
            tokio::spawn(async move {
                loop {
                    match std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                        Some(Ok(AsyncMessage::Notice(notice))) => {
                            if notice
                                .detail()
                                .or(Some(notice.message()))
                                .is_some_and(|text| text.contains("might not have been replicated"))
                            {
                                flag.store(true, Ordering::SeqCst);
                            }
                            // "already exists, skipping" and the like are no news for anybody.
                            let is_quiet = matches!(
                                notice.parsed_severity(),
                                Some(Severity::Notice | Severity::Info | Severity::Log | Severity::Debug)
                            );
                            if is_quiet {
                                tracing::debug!(notice = notice.message(), "PostgreSQL says");
                            } else {
                                tracing::warn!(notice = notice.message(), "PostgreSQL says");
                            }
                        }
                        Some(Ok(_)) => {}
                        Some(Err(error)) => {
                            tracing::debug!(error = describe(&error), "a PostgreSQL connection ended");
                            return;
                        }
                        None => return,
                    }
                }
            });
            // Limits first: a stalled node must not hold row locks for longer than this.
            client
                .batch_execute(
                    "set statement_timeout = '10s'; set lock_timeout = '5s'; \
                     set idle_in_transaction_session_timeout = '10s'; \
                     set default_transaction_isolation = 'read committed'; \
                     select set_config('synchronous_commit', 'on', false) \
                       where current_setting('synchronous_commit') in ('off', 'local')",
                )
                .await
                .map_err(|e| away(describe(&e)))?;
            Ok(Connection { client, prepared: Mutex::default(), unreplicated })
        };
        tokio::time::timeout(CONNECT_TIMEOUT, connect).await.map_err(|_| away("no connection within 3 s"))?
    }

    /// The statement, prepared once per connection. `array` asks for the many-rows form of an insert.
    async fn prepared(&self, sql: &'static Sql, array: bool) -> Result<Statement, tokio_postgres::Error> {
        let key = (std::ptr::from_ref(sql) as usize, array);
        if let Some(statement) = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(statement.clone());
        }
        let text = match sql.render_array_insert() {
            Some(text) if array => text,
            _ => sql.render(Dialect::Postgres),
        };
        let statement = self.client.prepare(&text).await?;
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner).insert(key, statement.clone());
        Ok(statement)
    }

    async fn query(&self, sql: &'static Sql, params: &[Value]) -> Result<Vec<Row>, StoreError> {
        let run = async {
            let statement = self.prepared(sql, false).await?;
            self.client.query(&statement, &convert::params(params)).await
        };
        match tokio::time::timeout(ANSWER_TIMEOUT, run).await {
            Err(_) => Err(away("no answer within 5 s")),
            Ok(Ok(rows)) => rows.iter().map(|row| convert::row(sql.name, row)).collect(),
            Ok(Err(error)) => Err(classify(sql.name, &error)),
        }
    }
}

/// SQLSTATE classes 22 (data), 42 (syntax, access) are faults of the program; the rest is weather.
fn classify(statement: &str, error: &tokio_postgres::Error) -> StoreError {
    match error.code() {
        Some(code) if code.code().starts_with("22") || code.code().starts_with("42") => {
            StoreError::Fault(format!("{statement}: {}", describe(error)))
        }
        None if !error.is_closed()
            && std::error::Error::source(error).is_some_and(|s| s.is::<convert::WrongType>()) =>
        {
            StoreError::Fault(format!("{statement}: {}", describe(error)))
        }
        _ => away(describe(error)),
    }
}

impl Postgres {
    pub(super) async fn open(options: &StoreOptions) -> Result<Postgres, StoreError> {
        let mut config = tokio_postgres::Config::from_str(&options.url)
            .map_err(|error| StoreError::Fault(format!("database.url: {error}")))?;
        config
            .application_name("tillbell")
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(Duration::from_secs(15))
            .keepalives_idle(Duration::from_secs(10))
            // A former primary that came back read-only must not be taken for the database.
            .target_session_attrs(tokio_postgres::config::TargetSessionAttrs::ReadWrite);
        let config = Arc::new(config);
        let writers = (0..options.writers.max(1))
            .map(|_| {
                let (sender, jobs) = mpsc::channel(QUEUE_MAX);
                tokio::spawn(run_writer(Slot::new(&config), jobs));
                sender
            })
            .collect();
        let readers: Vec<Slot> = (0..options.readers.max(1)).map(|_| Slot::new(&config)).collect();
        readers[0].get().await?;
        Ok(Postgres { writers, readers, next_reader: AtomicUsize::new(0) })
    }

    pub(super) async fn apply(&self, unit: Unit) -> Result<Applied, StoreError> {
        let writer = &self.writers[unit.shard.unsigned_abs() as usize % self.writers.len()];
        let (answer, wait) = oneshot::channel();
        writer
            .try_send(WriterJob { unit, answer })
            .map_err(|_| away("too many requests wait for the database"))?;
        wait.await.map_err(|_| away("the writer has ended"))?
    }

    pub(super) async fn read(&self, sql: &'static Sql, params: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        let slot = &self.readers[self.next_reader.fetch_add(1, Ordering::Relaxed) % self.readers.len()];
        // One more try on a fresh connection: a read changes nothing, and a server that was
        // restarted leaves every connection broken once.
        for last in [false, true] {
            let connection = slot.get().await?;
            match connection.query(sql, &params).await {
                Err(StoreError::Unavailable(why))
                    if connection.client.is_closed() || why.ends_with("within 5 s") =>
                {
                    slot.discard(&connection).await;
                    if last || !connection.client.is_closed() {
                        return Err(StoreError::Unavailable(why));
                    }
                }
                result => return result,
            }
        }
        Err(away("unreachable"))
    }

    pub(super) async fn migrate(&self, now: Timestamp) -> Result<Vec<String>, StoreError> {
        let connection = Connection::open(&self.readers[0].config).await?;
        connection
            .client
            .batch_execute("set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0")
            .await
            .map_err(|e| away(describe(&e)))?;
        migrate::run_postgres(&connection.client, now).await
    }
}

async fn run_writer(slot: Slot, mut jobs: mpsc::Receiver<WriterJob>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while jobs.recv_many(&mut batch, BATCH_MAX).await > 0 {
        // Stable, so that Units of one shard keep their order; sorted, so that two nodes lock
        // rows of many shards in the same order and do not deadlock.
        batch.sort_by_key(|job: &WriterJob| job.unit.shard);
        let (units, answers): (Vec<Unit>, Vec<_>) = batch.drain(..).map(|job| (job.unit, job.answer)).unzip();
        let results = batch::commit(&slot, &units).await;
        for (answer, result) in answers.into_iter().zip(results) {
            let _ = answer.send(result);
        }
    }
}
