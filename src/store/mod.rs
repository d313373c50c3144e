//! The only room that knows SQL: three verbs over two engines.
//!
//! `read` answers rows; `apply` makes a [`Unit`] durable or reports why not; `write` is a Unit of
//! one statement. The engine is chosen by the URL: `sqlite:FILE` (embedded, the default) or
//! `postgres://...`. Statements and the decoding of rows live in one file per noun; callers see
//! typed functions and never a transaction.
//!
//! When the database cannot be reached every verb answers [`StoreError::Unavailable`]; it heals
//! by itself, no restart is needed.

use std::sync::Arc;
use std::time::Duration;

pub mod audit;
pub mod engine;
pub mod gate;
pub mod tables;

pub use engine::ids::IdKind;
pub use engine::postgres::Bells;
pub use engine::unit::{Applied, Step, Unit};
pub use engine::value::{Reader, Row, Value};

use crate::domain::time::Timestamp;
use engine::sql::{Dialect, Sql};
use engine::{ids, migrate, postgres, sqlite};
use gate::{Gated, Point};

/// Why a verb has no answer. A lost race is an outcome ([`Applied`]), a missing row is `None`.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is away, too slow, full, or overloaded. Nothing is known to be wrong with the
    /// data; try again. A write that got this answer may have happened if the connection broke
    /// during the commit.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// The database holds what this program cannot have written.
    #[error("table {table}, row {row}: column {column} has an invalid value")]
    Corrupt { table: &'static str, column: &'static str, row: String },
    /// A fault of the program: a statement the engine refuses, an oversized Unit.
    #[error("the database refused a statement of the program: {0}")]
    Fault(String),
    /// Something of somebody else's is where the program must put something; told in words.
    #[error("{0}")]
    Occupied(String),
    /// Whoever runs the database lets us not do what we must; told in words that say what to do.
    #[error("{0}")]
    Denied(String),
}

/// A request that waited for its turn longer than this is refused instead of tried: after an outage
/// the newest callers must not wait behind all who have given up meanwhile.
const WAIT_MAX: Duration = Duration::from_secs(8);

fn overloaded() -> StoreError {
    StoreError::Unavailable("too many requests are waiting for the database".into())
}

/// Every statement of every noun, for the test that prepares them all on both engines.
#[doc(hidden)]
pub fn statements() -> Vec<&'static Sql> {
    [
        tables::accounts::ALL,
        tables::acts::ALL,
        tables::alert_totals::ALL,
        tables::alerts::ALL,
        tables::alerts::alike::ALL,
        tables::alerts::of_payer::ALL,
        tables::alerts::quarantine::ALL,
        tables::alerts::search::ALL,
        tables::alerts::unread::ALL,
        tables::alerts::walk::ALL,
        tables::arrivals::ALL,
        tables::audit_runs::ALL,
        audit::ALL,
        audit::counted_once::ALL,
        audit::events::ALL,
        tables::corrections::ALL,
        tables::data_keys::ALL,
        tables::deliveries::ALL,
        tables::deliveries::pages::ALL,
        tables::erased::ALL,
        tables::event_order::ALL,
        tables::events::ALL,
        tables::figures::ALL,
        audit::arrivals::ALL,
        audit::figures::ALL,
        audit::payouts::ALL,
        tables::payout_accounts::ALL,
        tables::payouts::ALL,
        tables::holds::ALL,
        tables::idempotency::ALL,
        ids::ALL,
        tables::intents::ALL,
        tables::jobs::ALL,
        tables::key_check::ALL,
        tables::mailboxes::ALL,
        tables::marks::ALL,
        tables::merchants::ALL,
        tables::messages::ALL,
        tables::payment_names::ALL,
        tables::payment_list::ALL,
        tables::payment_search::ALL,
        tables::payment_walk::ALL,
        tables::payments::ALL,
        &postgres::statements(),
        tables::refused::ALL,
        tables::notices::ALL,
        tables::outgoing_mails::ALL,
        tables::passkeys::ALL,
        tables::registrations::ALL,
        tables::sealed::ALL,
        tables::seals::ALL,
        tables::sent_forms::ALL,
        tables::settlements::ALL,
        tables::statement::ALL,
        tables::till::ALL,
        tables::topups::ALL,
        tables::users::ALL,
        tables::sessions::ALL,
        tables::wallets::ALL,
    ]
    .concat()
}

/// The file that a `sqlite:` URL names.
pub(crate) fn sqlite_path(url: &str) -> &str {
    let path = url.strip_prefix("sqlite:").unwrap_or(url);
    path.strip_prefix("//").unwrap_or(path)
}

/// Threads that read SQLite, between these, one per core.
const READERS_MIN: usize = 2;
const READERS_MAX: usize = 8;
/// Connections that read PostgreSQL, each with many statements under way.
const READERS_POSTGRES: usize = 4;

/// How to open the database.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// `sqlite:FILE` or `postgres://user@host:port/db`.
    pub url: String,
    /// Where `url` is that of a pooler in transaction mode: that of the PostgreSQL server behind it.
    pub direct_url: Option<String>,
    /// Threads (SQLite) or connections (PostgreSQL) that read.
    pub readers: usize,
    /// PostgreSQL connections that write; SQLite has one writer by nature.
    pub writers: usize,
    /// Ids taken from the database at once; 1 for the command line, many for the service.
    pub id_block: i64,
    /// Every call goes through it.
    pub gate: Option<Gated>,
}

impl StoreOptions {
    /// Settings for a short-lived process such as a command.
    pub fn command(url: &str) -> StoreOptions {
        StoreOptions {
            url: url.to_owned(),
            direct_url: None,
            readers: 1,
            writers: 1,
            id_block: 1,
            gate: None,
        }
    }

    /// Settings for the service.
    pub fn service(url: &str) -> StoreOptions {
        // More threads than the machine has cores only take turns; a connection to PostgreSQL waits.
        let cores = std::thread::available_parallelism().map_or(READERS_MIN, usize::from);
        let readers =
            if url.starts_with("sqlite:") { cores.clamp(READERS_MIN, READERS_MAX) } else { READERS_POSTGRES };
        StoreOptions {
            url: url.to_owned(),
            direct_url: None,
            readers,
            writers: 4,
            id_block: 4096,
            gate: None,
        }
    }

    /// The same through a pooler, where there is one.
    pub fn beside(self, direct_url: Option<&str>) -> StoreOptions {
        StoreOptions { direct_url: direct_url.map(ToOwned::to_owned), ..self }
    }

    /// What leads to the database for whoever needs a session of his own.
    pub fn session_url(&self) -> &str {
        self.direct_url.as_deref().unwrap_or(&self.url)
    }
}

enum Driver {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::Postgres),
}

/// A handle to the database; cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    driver: Driver,
    /// For whoever needs a session of his own.
    session_url: String,
    ids: ids::Ids,
    gate: Option<Gated>,
}

impl Store {
    /// Opens the database without touching the schema; see [`Store::migrate`].
    pub async fn open(options: &StoreOptions) -> Result<Store, StoreError> {
        let driver = match options.url.split_once(':') {
            Some(("sqlite", _)) => Driver::Sqlite(sqlite::Sqlite::open(sqlite_path(&options.url), options)?),
            Some(("postgres" | "postgresql", _)) => {
                Driver::Postgres(postgres::Postgres::open(options).await?)
            }
            _ => {
                return Err(StoreError::Fault(format!(
                    "database.url must begin with sqlite: or postgres://, not {:?}",
                    options.url.split(':').next().unwrap_or_default()
                )));
            }
        };
        Ok(Store {
            inner: Arc::new(Inner {
                driver,
                session_url: options.session_url().to_owned(),
                ids: ids::Ids::new(options.id_block),
                gate: options.gate.clone(),
            }),
        })
    }

    /// Brings the schema up to date; safe on several nodes at once. Returns the names of the
    /// migrations that were run now.
    pub async fn migrate(&self, now: Timestamp) -> Result<Vec<String>, StoreError> {
        match &self.inner.driver {
            Driver::Sqlite(driver) => driver.migrate(now).await,
            Driver::Postgres(driver) => migrate::run_postgres(&driver.unlimited().await?.client, now).await,
        }
    }

    /// Rows of a statement, all from one snapshot begun after this call.
    pub async fn read(&self, sql: &'static Sql, params: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        self.pass(Point::BeforeRead).await?;
        let rows = match &self.inner.driver {
            Driver::Sqlite(driver) => driver.read(sql, params).await,
            Driver::Postgres(driver) => driver.read(sql, params).await,
        };
        self.pass(Point::AfterRead).await?;
        rows
    }

    async fn pass(&self, point: Point) -> Result<(), StoreError> {
        match &self.inner.gate {
            Some(gate) => gate.0.pass(point).await,
            None => Ok(()),
        }
    }

    /// Rows of a look-up for many keys at once; a key that is not found has none, and a row does not say which key is
    /// its own. The caller bounds their number.
    pub async fn look_up_all(
        &self,
        sql: &'static Sql,
        keys: Vec<Vec<Value>>,
    ) -> Result<Vec<Row>, StoreError> {
        self.pass(Point::BeforeRead).await?;
        let rows = match &self.inner.driver {
            Driver::Sqlite(driver) => driver.look_up_all(sql, keys).await,
            Driver::Postgres(driver) => driver.look_up_all(sql, &keys).await,
        };
        self.pass(Point::AfterRead).await?;
        rows
    }

    /// The first row, if any.
    pub async fn read_one(&self, sql: &'static Sql, params: Vec<Value>) -> Result<Option<Row>, StoreError> {
        Ok(self.read(sql, params).await?.into_iter().next())
    }

    /// Makes a Unit durable. Answers only after the commit is on disk.
    pub async fn apply(&self, unit: Unit) -> Result<Applied, StoreError> {
        unit.check()?;
        self.pass(Point::BeforeUnit).await?;
        let applied = match &self.inner.driver {
            Driver::Sqlite(driver) => driver.apply(unit).await,
            Driver::Postgres(driver) => driver.apply(unit).await,
        };
        self.pass(Point::AfterUnit).await?;
        applied
    }

    /// A Unit of one statement; answers the rows of `returning`, if it has one.
    pub async fn write(&self, sql: &'static Sql, params: Vec<Value>) -> Result<Applied, StoreError> {
        let unit = self.unit(0).await?.step(Step::returning(sql, params));
        self.apply(unit).await
    }

    /// An empty Unit; `shard` is the id of the business, wallet or alert it is about.
    pub async fn unit(&self, shard: i64) -> Result<Unit, StoreError> {
        Ok(Unit::new(self.id(IdKind::Unit).await?, shard))
    }

    /// A fresh id, unique in the database for ever.
    pub async fn id(&self, kind: IdKind) -> Result<i64, StoreError> {
        self.inner.ids.next(self, kind).await
    }

    /// What tells this node of other nodes' commits; `None` where a database has one node.
    pub async fn bells(&self) -> Result<Option<Bells>, StoreError> {
        match &self.inner.driver {
            Driver::Sqlite(_) => Ok(None),
            Driver::Postgres(driver) => driver.bells().await.map(Some),
        }
    }

    /// What the clock of the server says, which all nodes can ask; `None` where a database has one node.
    pub async fn clock(&self) -> Result<Option<Timestamp>, StoreError> {
        match &self.inner.driver {
            Driver::Sqlite(_) => Ok(None),
            Driver::Postgres(driver) => driver.clock().await.map(Some),
        }
    }

    /// Which engine this is, for what an operator reads.
    pub fn engine(&self) -> &'static str {
        match self.dialect() {
            Dialect::Sqlite => "sqlite",
            Dialect::Postgres => "postgres",
        }
    }

    fn dialect(&self) -> Dialect {
        match self.inner.driver {
            Driver::Sqlite(_) => Dialect::Sqlite,
            Driver::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Answers once the database answers; for readiness.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.read(&ids::PING, Vec::new()).await.map(drop)
    }

    /// Whether there is no connection to the server, and the last attempt to open one failed.
    pub fn is_cut_off(&self) -> bool {
        match &self.inner.driver {
            Driver::Sqlite(_) => false,
            Driver::Postgres(postgres) => postgres.is_cut_off(),
        }
    }
}
