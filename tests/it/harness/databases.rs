//! A fresh database for each test, on each engine.
//!
//! SQLite: a file in a folder of its own. PostgreSQL: a database of its own on the server
//! that `./test` started (`TILLBELL_TEST_POSTGRES`), copied from a template that was
//! migrated once, dropped with the value. A test that needs PostgreSQL and has none fails:
//! a skipped database proves nothing. Write tests with `on_both!`, which makes one test
//! per engine and puts the engine's name at the end of the test's name. What a database
//! plays no part in (lengths of requests, words of help) is written with `on_one!`.

use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tillbell::domain::time::Timestamp;
use tillbell::store::{Store, StoreOptions};
use tokio_postgres::{Client, NoTls};

use super::books;
use super::until::until;

/// Where the server is told; set by `./test`.
const SERVER_VARIABLE: &str = "TILLBELL_TEST_POSTGRES";

/// Every process that makes databases takes this advisory lock first: the test runner starts
/// a process per test, and a template must be filled once and not be in use while it is copied.
const MAKING_LOCK: i64 = 0x7465_7374_2d64_6273;

/// Worker threads of a test's runtime: enough that tasks truly run side by side.
const RUNTIME_THREADS: usize = 4;

/// A test's tasks may be stuck in blocking calls; they must not keep the process alive.
const RUNTIME_SHUTDOWN: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// How a fresh database gets its contents, for example the schema.
pub struct Template {
    /// Lower-case ASCII letters, digits and underscores, at most 40. Must change whenever
    /// what `fill` makes changes, otherwise an earlier filling is copied.
    pub name: String,
    /// Fills the empty database at the URL, and leaves no connection open.
    pub fill: fn(String) -> BoxFuture<'static, Result<(), String>>,
}

/// One database that belongs to one test, removed when dropped.
pub struct TestDatabase {
    url: String,
    home: Home,
    /// Why its books are not looked at in the end.
    unaudited: OnceLock<&'static str>,
}

enum Home {
    Folder {
        _folder: tempfile::TempDir,
    },
    Server {
        name: String,
    },
    /// On servers that the test itself runs and ends. Its books are the test's to look at.
    Own,
}

impl TestDatabase {
    /// A database without any table.
    pub async fn empty(engine: Engine) -> TestDatabase {
        match engine {
            Engine::Sqlite => sqlite_file(),
            Engine::Postgres => postgres_database(None).await,
        }
    }

    /// A database with the whole schema and no rows of business.
    pub async fn migrated(engine: Engine) -> TestDatabase {
        match engine {
            Engine::Sqlite => sqlite_copy(&schema()).await,
            Engine::Postgres => TestDatabase::filled(engine, &schema()).await,
        }
    }

    /// A PostgreSQL database with the whole schema whose texts are sorted as `create database` is told here.
    pub async fn sorted(locale: &str) -> TestDatabase {
        let database = postgres_database_of(&format!("template0 {locale}"), None).await;
        migrate(database.url.clone()).await.expect("migrate");
        database
    }

    /// A database with the template's contents. On PostgreSQL the template is filled once per
    /// server and copied; a SQLite file is filled afresh.
    pub async fn filled(engine: Engine, template: &Template) -> TestDatabase {
        match engine {
            Engine::Sqlite => {
                let database = sqlite_file();
                (template.fill)(database.url.clone()).await.expect("fill the SQLite file");
                database
            }
            Engine::Postgres => postgres_database(Some(template)).await,
        }
    }

    /// On PostgreSQL servers that the test itself runs and ends.
    pub fn on_own_servers(url: String) -> TestDatabase {
        TestDatabase { url, home: Home::Own, unaudited: OnceLock::new() }
    }

    /// Its books are wrong on purpose, or somebody has looked at them: the audit is not run when it is dropped.
    pub fn without_audit(&self, why: &'static str) {
        assert!(why.len() > 10, "without a reason");
        self.unaudited.get_or_init(|| why);
    }

    /// What was booked adds up, unless the test says why not.
    fn look_at_books(&self) {
        if std::thread::panicking() || self.unaudited.get().is_some() || matches!(self.home, Home::Own) {
            return;
        }
        if let Some(wrong) = books::wrong_in(&self.url) {
            panic!("the books are wrong when the test ends: {wrong}");
        }
    }

    /// As the configuration key `database.url` takes it: `sqlite:PATH` or `postgres://...`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits until the server is done with the transactions of a process that was killed. An embedded
    /// database ends with its process.
    pub async fn until_idle(&self) {
        if self.engine() == Engine::Sqlite {
            return;
        }
        let client = connect(&self.url).await;
        let busy = "select 1 from pg_stat_activity \
             where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'";
        until("the server is done with the dead process", || async {
            client.query(busy, &[]).await.expect("ask the server").is_empty().then_some(())
        })
        .await;
    }

    pub fn engine(&self) -> Engine {
        match self.home {
            Home::Folder { .. } => Engine::Sqlite,
            Home::Server { .. } | Home::Own => Engine::Postgres,
        }
    }
}

impl fmt::Debug for TestDatabase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "TestDatabase({})", self.url)
    }
}

/// The current schema. Named by the texts it is made from, so that a server which outlives a change
/// of them gets a new template.
fn schema() -> Template {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources: Vec<PathBuf> = std::fs::read_dir(root.join("migrations"))
        .expect("read migrations/")
        .map(|entry| entry.expect("read migrations/").path())
        .collect();
    sources.extend(
        ["guards.rs", "migrate.rs", "parted.rs", "partitions.rs", "people.rs", "schema.rs"]
            .map(|file| root.join("src/store/engine").join(file)),
    );
    sources.sort();
    let mut hasher = DefaultHasher::new();
    for source in sources {
        hasher.write(&std::fs::read(source).expect("read a source of the schema"));
    }
    Template { name: format!("schema_{:016x}", hasher.finish()), fill: |url| Box::pin(migrate(url)) }
}

async fn migrate(url: String) -> Result<(), String> {
    let store = Store::open(&StoreOptions::command(&url)).await.map_err(|error| error.to_string())?;
    store.migrate(Timestamp(0)).await.map_err(|error| error.to_string())?;
    Ok(())
}

fn sqlite_file() -> TestDatabase {
    let folder =
        tempfile::Builder::new().prefix("tillbell-test-").tempdir().expect("make a temporary folder");
    let url = format!("sqlite:{}", folder.path().join("test.db").display());
    TestDatabase { url, home: Home::Folder { _folder: folder }, unaudited: OnceLock::new() }
}

/// A copy of a file that the first test of all makes, beside what is built.
async fn sqlite_copy(template: &Template) -> TestDatabase {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let kept = folder.join(format!("{}.db", template.name));
    if !kept.exists() {
        let made = TestDatabase::filled(Engine::Sqlite, template).await;
        let path = made.url.strip_prefix("sqlite:").expect("a file");
        let whole = tempfile::Builder::new().tempdir_in(folder).expect("make a temporary folder");
        let whole = whole.path().join("whole.db");
        // One file, whatever still stands in the log beside it.
        let file = rusqlite::Connection::open(path).expect("open the SQLite file");
        file.execute("vacuum into ?1", [whole.to_str().expect("a path")]).expect("copy the SQLite file");
        // It gets its name when it is complete; of two that made one, either will do.
        std::fs::rename(&whole, &kept).expect("name the SQLite file");
    }
    let database = sqlite_file();
    let path = database.url.strip_prefix("sqlite:").expect("a file");
    std::fs::copy(&kept, path).expect("copy the SQLite file");
    database
}

async fn postgres_database(template: Option<&Template>) -> TestDatabase {
    postgres_database_of("template0", template).await
}

/// A copy of the template, or else of what `bare` names.
async fn postgres_database_of(bare: &str, template: Option<&Template>) -> TestDatabase {
    let server = server_url();
    let name = format!("tb_{:016x}", RandomState::new().hash_one(std::process::id()));
    let admin = connect(&server).await;
    // Held until this connection ends, so also when a test is killed half-way.
    run(&admin, &format!("select pg_advisory_lock({MAKING_LOCK})")).await;
    let source = match template {
        None => bare.to_owned(),
        Some(template) => filled_template(&admin, &server, template).await,
    };
    run(&admin, &format!("create database {name} template {source}")).await;
    TestDatabase {
        url: with_database(&server, &name),
        home: Home::Server { name },
        unaudited: OnceLock::new(),
    }
}

/// Name of the template database, filled by whoever needs it first. The caller holds the lock.
/// It gets its name only when it is complete: a half-filled one is never copied.
async fn filled_template(admin: &Client, server: &str, template: &Template) -> String {
    assert!(
        template.name.len() <= 40
            && template.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
        "not a template name: {}",
        template.name
    );
    let name = format!("tb_template_{}", template.name);
    let found = admin
        .query_opt("select 1 from pg_database where datname = $1", &[&name])
        .await
        .expect("look for the template");
    if found.is_none() {
        run(admin, &format!("drop database if exists {name}_new with (force)")).await;
        run(admin, &format!("create database {name}_new template template0")).await;
        (template.fill)(with_database(server, &format!("{name}_new"))).await.expect("fill the template");
        run(admin, &format!("alter database {name}_new rename to {name}")).await;
    }
    name
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let books = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.look_at_books()));
        self.drop_from_server();
        if let Err(panic) = books {
            std::panic::resume_unwind(panic);
        }
    }
}

impl TestDatabase {
    fn drop_from_server(&self) {
        let Home::Server { name } = &self.home else { return };
        let statement = format!("drop database if exists {name} with (force)");
        let server = server_url();
        // A thread of its own: a value dropped inside a runtime cannot wait for a future there.
        let dropped = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
            runtime.block_on(async { run(&connect(&server).await, &statement).await });
        })
        .join();
        if dropped.is_err() {
            // No panic: the test may be unwinding already, and the server is thrown away at the end.
            eprintln!("could not drop the test database {name}");
        }
    }
}

/// The server's URL with the maintenance database.
pub fn server_url() -> String {
    let value = std::env::var(SERVER_VARIABLE).unwrap_or_default();
    assert!(
        !value.is_empty(),
        "{SERVER_VARIABLE} is not set, so there is no PostgreSQL to test on. \
         Run ./test (or ./test {{filter}}): it starts one and sets the variable."
    );
    value
}

fn with_database(server: &str, name: &str) -> String {
    let mut url = url::Url::parse(server).expect("TILLBELL_TEST_POSTGRES is a URL");
    url.set_path(&format!("/{name}"));
    url.into()
}

/// A plain connection, served by a task of its own until the client is dropped.
pub async fn connect(url: &str) -> Client {
    let (client, connection) = match tokio_postgres::connect(url, NoTls).await {
        Ok(pair) => pair,
        Err(error) => panic!("no connection to PostgreSQL at {url}: {error:?}"),
    };
    // The end of a connection is seen by whoever uses the client.
    tokio::spawn(async move { drop(connection.await) });
    client
}

async fn run(client: &Client, statement: &str) {
    if let Err(error) = client.batch_execute(statement).await {
        panic!("PostgreSQL refused `{statement}`: {error:?}");
    }
}

/// Runs one test on one engine in a runtime of its own. Called by `on_both!`.
pub fn run_on<F: Future<Output = ()>>(engine: Engine, test: fn(TestDatabase) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(RUNTIME_THREADS)
        .enable_all()
        .build()
        .expect("start a runtime");
    runtime.block_on(async { test(TestDatabase::migrated(engine).await).await });
    runtime.shutdown_timeout(RUNTIME_SHUTDOWN);
}

/// Makes of each `async fn name(db: TestDatabase) { ... }` the tests `name::sqlite` and
/// `name::postgres`, each with a migrated database of its own (`TestDatabase::empty` makes a bare one).
macro_rules! on_both {
    ($($tests:tt)+) => { on_engines! { [sqlite Sqlite postgres Postgres] $($tests)+ } };
}

/// As `on_both!`, for what takes several nodes: an embedded database has one.
macro_rules! on_postgres {
    ($($tests:tt)+) => { on_engines! { [postgres Postgres] $($tests)+ } };
}

/// As `on_both!`, for what a database plays no part in: it runs on SQLite alone.
macro_rules! on_one {
    ($($tests:tt)+) => { on_engines! { [sqlite Sqlite] $($tests)+ } };
}

/// What the others are made of: first the tests' names with their engines.
macro_rules! on_engines {
    ($engines:tt $($(#[$meta:meta])* async fn $name:ident($db:ident: TestDatabase) $body:block)+) => { $(
        $(#[$meta])*
        async fn $name($db: $crate::harness::databases::TestDatabase) $body

        mod $name {
            on_each_engine! { $engines $name }
        }
    )+ };
}

macro_rules! on_each_engine {
    ([$($test:ident $engine:ident)+] $name:ident) => { $(
        #[test]
        fn $test() {
            $crate::harness::databases::run_on($crate::harness::databases::Engine::$engine, super::$name);
        }
    )+ };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes one table on either engine; the mark tells one filling from another.
    async fn make_table(url: &str) -> Result<(), String> {
        let statement = "create table marks (mark bigint); insert into marks values (1)";
        match url.strip_prefix("sqlite:") {
            Some(path) => rusqlite::Connection::open(path)
                .and_then(|file| file.execute_batch(statement))
                .map_err(|error| error.to_string()),
            None => connect(url).await.batch_execute(statement).await.map_err(|error| error.to_string()),
        }
    }

    async fn count_marks(url: &str) -> Result<i64, String> {
        let statement = "select count(*) from marks";
        match url.strip_prefix("sqlite:") {
            Some(path) => rusqlite::Connection::open(path)
                .and_then(|file| file.query_row(statement, [], |row| row.get(0)))
                .map_err(|error| error.to_string()),
            None => match connect(url).await.query_one(statement, &[]).await {
                Ok(row) => Ok(row.get(0)),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    on_both! {
        async fn each_test_has_a_database_of_its_own(db: TestDatabase) {
            let other = TestDatabase::empty(db.engine()).await;
            make_table(db.url()).await.unwrap();
            assert_eq!(count_marks(db.url()).await, Ok(1));
            assert!(count_marks(other.url()).await.is_err(), "the other database has the table too");
        }

        async fn a_template_fills_every_copy_and_copies_stay_apart(db: TestDatabase) {
            let template = Template {
                name: format!("marks_{:x}", RandomState::new().hash_one(0)),
                fill: |url| Box::pin(async move { make_table(&url).await }),
            };
            // Side by side: the template must be filled once and copied while others wait. A second
            // filling of the same database would fail on the table that is there already.
            let (first, second) = tokio::join!(
                TestDatabase::filled(db.engine(), &template),
                TestDatabase::filled(db.engine(), &template)
            );
            assert_ne!(first.url(), second.url());
            assert_eq!(count_marks(first.url()).await, Ok(1));
            assert_eq!(count_marks(second.url()).await, Ok(1));
            match first.url().strip_prefix("sqlite:") {
                Some(path) => rusqlite::Connection::open(path).unwrap().execute_batch("delete from marks").unwrap(),
                None => run(&connect(first.url()).await, "delete from marks").await,
            }
            assert_eq!(count_marks(second.url()).await, Ok(1));
        }

        async fn the_schema_is_there_and_up_to_date(db: TestDatabase) {
            let store = Store::open(&StoreOptions::command(db.url())).await.unwrap();
            assert_eq!(store.migrate(Timestamp(0)).await.unwrap(), Vec::<String>::new());
            let bare = TestDatabase::empty(db.engine()).await;
            let store = Store::open(&StoreOptions::command(bare.url())).await.unwrap();
            assert!(!store.migrate(Timestamp(0)).await.unwrap().is_empty(), "an empty database had the schema");
        }

        async fn a_dropped_database_is_gone(db: TestDatabase) {
            let url = db.url().to_owned();
            make_table(&url).await.unwrap();
            drop(db);
            match url.strip_prefix("sqlite:") {
                Some(path) => assert!(!std::path::Path::new(path).exists()),
                None => {
                    let name = url.rsplit('/').next().unwrap().to_owned();
                    let found = connect(&server_url())
                        .await
                        .query_opt("select 1 from pg_database where datname = $1", &[&name])
                        .await
                        .unwrap();
                    assert!(found.is_none(), "{name} is still there");
                }
            }
        }
    }
}
