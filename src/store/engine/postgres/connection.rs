//! One PostgreSQL connection with its prepared statements, and the slot that opens it again.
//!
//! Here it is decided what an error of the server means ([`Meaning`]); what follows from that is
//! the caller's business. Used by the readers and the writers of this engine only.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Client};
use tokio_util::task::AbortOnDropHandle;

use super::errors::{Meaning, away, describe, fault, meaning};
use super::statement::{Given, Statement};
use super::{ANSWER_TIMEOUT, CONNECT_TIMEOUT, convert, session};
use crate::store::StoreError;
use crate::store::engine::sql::{Sql, Text};
use crate::store::engine::value::{Row, Value};

/// Between two attempts. For as long everybody hears the error of the first, instead of queueing for
/// attempts of their own: with a dead server the thousandth caller is answered as soon as the first.
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);
/// A server that is away for less than this (restarts, a proxy that reloads) is waited for; one that
/// is away for longer is told at once.
const SHORT_OUTAGE: Duration = Duration::from_secs(3);

/// Whom to connect to.
pub(in crate::store) struct Target {
    pub(super) config: tokio_postgres::Config,
    /// A pooler in transaction mode stands between: what holds for a session holds for nobody.
    pub(super) is_pooler: bool,
}

/// Where one connection lives; reconnects on demand, one attempt at a time.
#[derive(Clone)]
pub(super) struct Slot {
    target: Arc<Target>,
    held: Arc<tokio::sync::Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    connection: Option<Arc<Connection>>,
    failed: Option<(Instant, StoreError)>,
    /// Since when every attempt has failed.
    away_since: Option<Instant>,
}

/// One live connection with its statements.
pub(in crate::store) struct Connection {
    pub(in crate::store) client: Client,
    is_pooled: bool,
    statements: Mutex<HashMap<(usize, bool), Arc<Statement>>>,
    /// The server said that a commit may not have reached the standby.
    unreplicated: Arc<AtomicBool>,
    /// Another connection told of something that this one listens for.
    rung: Arc<Notify>,
    /// Ends with the connection: a server that hangs would otherwise keep task and socket for ever.
    _carrier: AbortOnDropHandle<()>,
}

impl Slot {
    pub(super) fn new(target: &Arc<Target>) -> Slot {
        Slot { target: target.clone(), held: Arc::default() }
    }

    /// The connection, opened again if need be.
    pub(super) async fn get(&self) -> Result<Arc<Connection>, StoreError> {
        self.get_within(SHORT_OUTAGE).await
    }

    /// The same, without patience for a server that is away: for the start of the program.
    pub(super) async fn get_now(&self) -> Result<Arc<Connection>, StoreError> {
        self.get_within(Duration::ZERO).await
    }

    /// Whether the last attempt to connect failed; while somebody else tries, nobody knows.
    pub(super) fn is_cut_off(&self) -> bool {
        self.held.try_lock().is_ok_and(|held| held.failed.is_some())
    }

    async fn get_within(&self, patience: Duration) -> Result<Arc<Connection>, StoreError> {
        let asked = Instant::now();
        let mut held = self.held.lock().await;
        if let Some(connection) = &held.connection
            && !connection.client.is_closed()
        {
            return Ok(connection.clone());
        }
        held.connection = None;
        if let Some((at, error)) = &held.failed
            && (*at >= asked || at.elapsed() < RECONNECT_PAUSE)
        {
            return Err(error.clone());
        }
        loop {
            let error = match Connection::open(&self.target).await {
                Ok(connection) => {
                    let connection = Arc::new(connection);
                    *held = Held { connection: Some(connection.clone()), ..Held::default() };
                    return Ok(connection);
                }
                Err(error) => error,
            };
            let away_since = *held.away_since.get_or_insert(asked);
            held.failed = Some((Instant::now(), error.clone()));
            if away_since.elapsed() >= patience {
                return Err(error);
            }
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
    }

    /// Rows of one statement, tried once more on a fresh connection if need be: a read changes
    /// nothing, and a server that was restarted leaves every connection broken once.
    pub(super) async fn ask(&self, question: &Question<'_>) -> Result<Vec<Row>, StoreError> {
        let connection = self.get().await?;
        match connection.query(question).await {
            Err(Unread::Broken(_)) => self.discard(&connection).await,
            Err(unread) => {
                if matches!(unread, Unread::Silent) {
                    self.discard(&connection).await;
                }
                return Err(unread.into());
            }
            Ok(rows) => return Ok(rows),
        }
        let connection = self.get().await?;
        let answer = connection.query(question).await;
        if let Err(Unread::Broken(_) | Unread::Silent) = answer {
            self.discard(&connection).await;
        }
        answer.map_err(Into::into)
    }

    /// Gives the connection up, for instance because it did not answer in time.
    pub(super) async fn discard(&self, connection: &Arc<Connection>) {
        let mut held = self.held.lock().await;
        if held.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            held.connection = None;
        }
    }
}

/// What is to be read.
pub(super) enum Question<'a> {
    One {
        sql: &'static Sql,
        params: &'a [Value],
    },
    /// One look-up for many keys; the place of its key is a row's last column.
    Many {
        sql: &'static Sql,
        keys: Vec<&'a [Value]>,
    },
}

/// Why a read on one connection has no rows.
pub(super) enum Unread {
    /// The answer of any connection would be the same.
    Final(StoreError),
    /// Nothing came in time: give the connection up, and this read too.
    Silent,
    /// Give the connection up and try on a fresh one.
    Broken(StoreError),
}

impl From<Unread> for StoreError {
    fn from(unread: Unread) -> StoreError {
        match unread {
            Unread::Final(error) | Unread::Broken(error) => error,
            Unread::Silent => away("no response within 5 s"),
        }
    }
}

impl Connection {
    /// With tillbell's limits.
    pub(super) async fn open(target: &Target) -> Result<Connection, StoreError> {
        let connect = async {
            let connection = Connection::without_limits(target).await?;
            match connection.is_pooled {
                false => session::set_limits(&connection.client).await?,
                true => session::check_limits(&connection.client).await?,
            }
            Ok(connection)
        };
        tokio::time::timeout(CONNECT_TIMEOUT, connect).await.map_err(|_| away("no connection within 3 s"))?
    }

    /// As the server, or a pooler, hands it out; it may take longer than anybody waits.
    pub(super) async fn without_limits(target: &Target) -> Result<Connection, StoreError> {
        let (client, mut connection) = target
            .config
            .connect(crate::store::engine::tls::connector()?)
            .await
            .map_err(|e| away(describe(&e)))?;
        let unreplicated = Arc::new(AtomicBool::new(false));
        let flag = unreplicated.clone();
        let rung = Arc::new(Notify::new());
        let bell = rung.clone();
        let carrier = tokio::spawn(async move {
            loop {
                match std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                    Some(Ok(AsyncMessage::Notice(notice))) => {
                        let text = notice.detail().unwrap_or_else(|| notice.message());
                        if text.contains("might not have been replicated") {
                            flag.store(true, Ordering::SeqCst);
                        }
                        // "already exists, skipping", "drop cascades to" are no news for anybody.
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
                    Some(Ok(AsyncMessage::Notification(_))) => bell.notify_one(),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => {
                        tracing::debug!(error = describe(&error), "a PostgreSQL connection ended");
                        return;
                    }
                    None => return,
                }
            }
        });
        let _carrier = AbortOnDropHandle::new(carrier);
        Ok(Connection {
            client,
            is_pooled: target.is_pooler,
            statements: Mutex::default(),
            unreplicated,
            rung,
            _carrier,
        })
    }

    /// Returns when another connection told of something that this one listens for, now or since the last time.
    pub(super) async fn rung(&self) {
        self.rung.notified().await;
    }

    /// Whether a commit since the last call may not have reached the standby.
    pub(super) fn take_unreplicated(&self) -> bool {
        self.unreplicated.swap(false, Ordering::SeqCst)
    }

    /// The statement, made ready once per connection. `array` asks for its many-rows form.
    pub(super) async fn ready(
        &self,
        sql: &'static Sql,
        array: bool,
    ) -> Result<Arc<Statement>, tokio_postgres::Error> {
        let key = (std::ptr::from_ref(sql) as usize, array);
        if let Some(statement) = self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(statement.clone());
        }
        let statement = Arc::new(Statement::new(&self.client, self.is_pooled, sql, array).await?);
        self.statements.lock().unwrap_or_else(PoisonError::into_inner).insert(key, statement.clone());
        Ok(statement)
    }

    /// Rows of one statement outside of any transaction.
    pub(super) async fn query(&self, question: &Question<'_>) -> Result<Vec<Row>, Unread> {
        let (sql, is_many) = match question {
            Question::One { sql, .. } => (*sql, false),
            Question::Many { sql, .. } => (*sql, true),
        };
        let run = async {
            let statement = self.ready(sql, is_many).await.map_err(|error| unread(sql, &error))?;
            let rows = match question {
                Question::One { params, .. } => {
                    statement.check_count(sql, params).map_err(Unread::Final)?;
                    statement.query(&self.client, &Given::Values(params)).await
                }
                Question::Many { keys, .. } => {
                    let Text::Lookup { keys: columns, .. } = &sql.text else {
                        return Err(Unread::Final(fault(sql.name, "is no look-up")));
                    };
                    let arrays = convert::arrays(sql.name, columns, keys).map_err(Unread::Final)?;
                    statement.query(&self.client, &Given::Arrays(&arrays, columns)).await
                }
            };
            rows.map_err(|error| unread(sql, &error))
        };
        let rows = tokio::time::timeout(ANSWER_TIMEOUT, run).await.unwrap_or(Err(Unread::Silent))?;
        rows.iter().map(|row| convert::row(sql, row)).collect::<Result<_, _>>().map_err(Unread::Final)
    }
}

fn unread(sql: &Sql, error: &tokio_postgres::Error) -> Unread {
    match meaning(error) {
        Meaning::Fault => Unread::Final(fault(sql.name, describe(error))),
        Meaning::Refused | Meaning::Again => Unread::Final(away(describe(error))),
        Meaning::Broken => Unread::Broken(away(describe(error))),
    }
}

/// What a server answers in time.
pub(super) async fn within<T>(
    told: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(ANSWER_TIMEOUT, told).await {
        Ok(done) => done.map_err(|error| away(describe(&error))),
        Err(_) => Err(away("no response within 5 s")),
    }
}
