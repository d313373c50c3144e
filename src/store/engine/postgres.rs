//! The PostgreSQL engine: a few writer connections with group commit, a few pipelined readers.
//!
//! A writer takes the Units of its shards that wait, opens one transaction, sends every statement
//! down the connection without waiting (inserts of one kind as one array insert), compares the
//! row counts, and only then commits. What happens when a Unit of the batch fails, or when the
//! connection breaks during the commit, is told in `group.rs`.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use crate::domain::time::Timestamp;
use crate::store::engine::sql::{Sql, Text};
use crate::store::engine::unit::{Applied, Unit};
use crate::store::engine::value::{Row, Value};
use crate::store::{StoreError, StoreOptions, WAIT_MAX, overloaded};

mod batch;
mod bells;
pub(in crate::store) mod connection;
mod convert;
mod errors;
mod group;
mod lookup;
mod pooler;
pub(in crate::store) mod refusal;
mod session;
mod statement;

pub use bells::Bells;
use connection::{Connection, Question, Slot, Target};
pub(in crate::store) use errors::{away, describe};
use lookup::LookupBatcher;

/// Units in one transaction; beyond this the gain is small and the wait long.
const BATCH_MAX: usize = 256;
/// Bytes of parameters in one transaction; a Unit that is larger goes alone. Each is copied twice
/// on its way to the wire.
const BATCH_MAX_BYTES: usize = 8 << 20;
/// Units waiting per writer; more is refused as overload.
const QUEUE_MAX: usize = 8_192;
/// Reads under way or waiting for their answer, over all connections; more is refused as overload.
const READS_MAX: usize = 8_192;
/// Queues of look-ups: while one waits for its answer another gathers, and more would only gather less.
const GATHERERS: usize = 2;
pub(in crate::store) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// No answer to a statement within this time: the connection is given up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

struct WriterJob {
    unit: Unit,
    asked: Instant,
    answer: oneshot::Sender<Result<Applied, StoreError>>,
}

pub(in crate::store) struct Postgres {
    /// For what needs a session: the server itself, also where a pooler stands before it.
    direct: Arc<Target>,
    writers: Vec<mpsc::Sender<WriterJob>>,
    readers: Vec<Slot>,
    /// For look-ups, on the connections of the first readers.
    lookups: Vec<LookupBatcher>,
    next_reader: AtomicUsize,
    reading: Semaphore,
}

impl Postgres {
    /// A connection of its own that hears of other nodes' commits.
    pub(in crate::store) async fn bells(&self) -> Result<Bells, StoreError> {
        Bells::open(&self.direct).await
    }

    /// The server's clock, also within a transaction.
    pub(in crate::store) async fn clock(&self) -> Result<Timestamp, StoreError> {
        const CLOCK: &str = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
        let connection = self.readers[0].get().await?;
        let row = connection::within(connection.client.query_typed_one(CLOCK, &[])).await?;
        row.try_get(0).map(Timestamp).map_err(|error| away(describe(&error)))
    }

    pub(in crate::store) async fn open(options: &StoreOptions) -> Result<Postgres, StoreError> {
        let direct = Arc::new(Target { config: configure(options.session_url())?, is_pooler: false });
        let target = match options.direct_url {
            None => direct.clone(),
            Some(_) => {
                let pooler = Arc::new(Target { config: configure(&options.url)?, is_pooler: true });
                pooler::prepare(&direct, &pooler).await?;
                pooler
            }
        };
        let readers: Vec<Slot> = (0..options.readers.max(1)).map(|_| Slot::new(&target)).collect();
        readers[0].get_now().await?;
        let lookups = readers.iter().take(GATHERERS).cloned().map(LookupBatcher::start).collect();
        let writers = (0..options.writers.max(1))
            .map(|_| {
                let (sender, jobs) = mpsc::channel(QUEUE_MAX);
                tokio::spawn(run_writer(Slot::new(&target), jobs));
                sender
            })
            .collect();
        Ok(Postgres {
            direct,
            writers,
            lookups,
            readers,
            next_reader: AtomicUsize::new(0),
            reading: Semaphore::new(READS_MAX),
        })
    }

    pub(in crate::store) async fn apply(&self, unit: Unit) -> Result<Applied, StoreError> {
        let writer = &self.writers[unit.shard.unsigned_abs() as usize % self.writers.len()];
        let (answer, wait) = oneshot::channel();
        writer.try_send(WriterJob { unit, asked: Instant::now(), answer }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => overloaded(),
            mpsc::error::TrySendError::Closed(_) => away("the writer has ended"),
        })?;
        wait.await.map_err(|_| away("the writer has ended"))?
    }

    pub(in crate::store) async fn read(
        &self,
        sql: &'static Sql,
        params: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        let _place = self.reading.try_acquire().map_err(|_| overloaded())?;
        let turn = self.next_reader.fetch_add(1, Ordering::Relaxed);
        if let Text::Lookup { .. } = sql.text {
            return self.lookups[turn % self.lookups.len()].look_up(sql, params).await;
        }
        self.plain_reader(turn).ask(&Question::One { sql, params: &params }).await
    }

    /// Rows of one look-up for many keys, as one statement; a row does not say which key is its own.
    pub(in crate::store) async fn look_up_all(
        &self,
        sql: &'static Sql,
        keys: &[Vec<Value>],
    ) -> Result<Vec<Row>, StoreError> {
        let _place = self.reading.try_acquire().map_err(|_| overloaded())?;
        let turn = self.next_reader.fetch_add(1, Ordering::Relaxed);
        let keys = keys.iter().map(Vec::as_slice).collect();
        let mut rows = self.plain_reader(turn).ask(&Question::Many { sql, keys }).await?;
        // The last column is the key's place among the others.
        rows.iter_mut().for_each(|row| drop(row.values.pop()));
        Ok(rows)
    }

    /// A long read never stands before look-ups, where there are connections enough.
    fn plain_reader(&self, turn: usize) -> &Slot {
        let others = match &self.readers[self.lookups.len()..] {
            [] => self.readers.as_slice(),
            others => others,
        };
        &others[turn % others.len()]
    }

    /// Whether a reader has no connection and could not open one.
    pub(in crate::store) fn is_cut_off(&self) -> bool {
        self.readers.iter().any(Slot::is_cut_off)
    }

    /// A connection of its own for work that may take long, without the limits of a request.
    pub(in crate::store) async fn unlimited(&self) -> Result<Connection, StoreError> {
        let connection = Connection::open(&self.direct).await?;
        connection
            .client
            .batch_execute(
                "set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0; \
                 set enable_hashjoin = on; set enable_mergejoin = on",
            )
            .await
            .map_err(|e| away(describe(&e)))?;
        Ok(connection)
    }
}

/// How to connect to the server that `url` names.
pub(in crate::store) fn configure(url: &str) -> Result<tokio_postgres::Config, StoreError> {
    let wrong = |error: tokio_postgres::Error| {
        let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        StoreError::Denied(format!(
            "database.url (or database.direct_url) cannot be read: {why}; write it as postgres://user:password@host:5432/name"
        ))
    };
    let mut config = tokio_postgres::Config::from_str(url).map_err(wrong)?;
    config
        .application_name("tillbell")
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_user_timeout(Duration::from_secs(15))
        .keepalives_idle(Duration::from_secs(10))
        // A former primary that came back read-only must not be taken for the database.
        .target_session_attrs(tokio_postgres::config::TargetSessionAttrs::ReadWrite);
    Ok(config)
}

async fn run_writer(slot: Slot, mut jobs: mpsc::Receiver<WriterJob>) {
    let mut batch: Vec<WriterJob> = Vec::with_capacity(BATCH_MAX);
    while jobs.recv_many(&mut batch, BATCH_MAX).await > 0 {
        // Stable, so that Units of one shard keep their order; sorted, so that two nodes lock
        // rows of many shards in the same order and do not deadlock.
        batch.sort_by_key(|job| job.unit.shard);
        let mut left = batch.drain(..).peekable();
        while left.peek().is_some() {
            let mut bytes = 0;
            let mut units = Vec::new();
            while let Some(job) =
                left.next_if(|job| units.is_empty() || bytes + job.unit.bytes() <= BATCH_MAX_BYTES)
            {
                // After an outage the queue must not make every newcomer wait for the oldest.
                if job.asked.elapsed() > WAIT_MAX {
                    let _ = job.answer.send(Err(overloaded()));
                    continue;
                }
                bytes += job.unit.bytes();
                units.push(group::Waiting::new(job.unit, job.answer));
            }
            group::commit(&slot, units).await;
        }
    }
}

pub(in crate::store) fn statements() -> Vec<&'static Sql> {
    [batch::ALL, group::ALL].concat()
}
