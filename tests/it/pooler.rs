//! Two nodes behind PgBouncer in transaction mode, in the configuration that is shipped: they share fewer connections than one
//! of them has by itself, and outlive the pooler.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tillbell::domain::time::Span;
use tokio_postgres::config::Host;

use crate::crashes::{ACCOUNT, ENOUGH, Installation, now, request};
use crate::failover::{call, reached};
use crate::harness::databases::{TestDatabase, connect};
use crate::harness::mails::Alert;
use crate::harness::own_postgres::free_port;
use crate::harness::until::until;

const SHIPPED: &str = include_str!("../../packaging/pgbouncer.ini");
/// Of the pooler to the server, for both nodes. Each of them opens eight to the pooler.
const POOL: usize = 3;
const CALLERS: usize = 8;
/// Payments made before the pooler dies, and after it is back.
const PAYMENTS: usize = 150;

/// Killed when dropped.
struct Pooler {
    folder: tempfile::TempDir,
    port: u16,
    child: Child,
    database: String,
    user: String,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Pooler {
    /// Before the database at the URL, which it hands out under the name of another.
    async fn start(server: &str) -> Pooler {
        let config: tokio_postgres::Config = server.parse().unwrap();
        let [Host::Tcp(host)] = config.get_hosts() else { panic!("{server}") };
        let (database, user) =
            (config.get_dbname().unwrap().to_owned(), config.get_user().unwrap().to_owned());
        let (folder, port) = (tempfile::tempdir_in("/tmp").unwrap(), free_port());
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let target = format!("host={host} port={} dbname={database} user={user}", config.get_ports()[0]);
        let mut written = String::new();
        for line in SHIPPED.lines() {
            written += &match line {
                line if line.starts_with("till = ") => format!("{database} = {target}"),
                line if line.starts_with("listen_port") => format!("listen_port = {port}"),
                line if line.starts_with("auth_type") => "auth_type = any".to_owned(),
                line if line.starts_with("auth_file") => "unix_socket_dir =".to_owned(),
                line if line.starts_with("default_pool_size") => format!("default_pool_size = {POOL}"),
                line => line.to_owned(),
            };
            written.push('\n');
        }
        std::fs::write(folder.path().join("pgbouncer.ini"), written).unwrap();
        let child = spawn(&folder);
        let pooler = Pooler { folder, port, child, database, user };
        pooler.until_up().await;
        pooler
    }

    fn url(&self) -> String {
        format!("postgres://{}@127.0.0.1:{}/{}", self.user, self.port, self.database)
    }

    async fn until_up(&self) {
        let said = || std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        until("the pooler listens", async || {
            tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.ok()
        })
        .await;
        assert!(!said().contains("FATAL"), "{}", said());
    }

    /// Dies in the middle of whatever goes through it, and comes back.
    async fn die(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = spawn(&self.folder);
        self.until_up().await;
    }
}

fn spawn(folder: &tempfile::TempDir) -> Child {
    let log = std::fs::File::options().append(true).create(true).open(folder.path().join("log")).unwrap();
    let mut command = Command::new("/usr/sbin/pgbouncer");
    if is_root() {
        // It refuses to be root.
        command.args(["-u", "nobody"]);
    }
    command.arg(folder.path().join("pgbouncer.ini")).stdout(log.try_clone().unwrap()).stderr(log);
    command.stdin(Stdio::null()).spawn().expect("pgbouncer; Debian's package is pgbouncer")
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout.starts_with(b"0\n")
}

on_postgres! {
    async fn two_nodes_share_a_few_connections_and_outlive_their_pooler(db: TestDatabase) {
        let here = Installation::new(db).await;
        let direct = here.database.url().to_owned();
        let mut pooler = Pooler::start(&direct).await;
        let pooled = pooler.url();
        let through =
            [("TILLBELL_DATABASE__URL", pooled.as_str()), ("TILLBELL_DATABASE__DIRECT_URL", direct.as_str())];
        let (one, two) = (here.serve_with(&through).unwrap(), here.serve_with(&through).unwrap());
        let made = Mutex::new(BTreeSet::new());
        let (answers, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let callers = (0..CALLERS).map(|lane| {
            let at = if lane % 2 == 0 { one.address } else { two.address };
            call(&here, at, lane, &made, (&answers, &is_over))
        });
        let dying = async {
            reached(&answers, PAYMENTS).await;
            let client = connect(&direct).await;
            let open = "select count(*) from pg_stat_activity where datname = current_database() \
                        and pid <> pg_backend_pid() and query not ilike '%tillbell_commits%'";
            let open: i64 = client.query_one(open, &[]).await.unwrap().get(0);
            assert!(open as usize <= POOL, "{open} connections to the server");
            pooler.die().await;
            let before = answers.load(Ordering::Relaxed);
            reached(&answers, before + PAYMENTS).await;
            is_over.store(true, Ordering::Relaxed);
        };
        tokio::join!(futures_util::future::join_all(callers), dying);
        for id in &made.into_inner().unwrap() {
            let read = request(two.address, &format!("GET /api/v1/payment/{id}"), &here.key, "").await;
            assert_eq!(read.map(|(status, _)| status), Some(200), "{id} was acknowledged and is gone");
        }
        // A payment's whole way, its mail read by a command that goes through the pooler as well.
        here.ask(&one, "WHOLE", 7_350).await;
        let path = here.mail("whole", &Alert::credit(ACCOUNT, 7_350, "Halima Garba", now() + Span::seconds(1)));
        let mut ingest = here.command(&["alert", "ingest", path.to_str().unwrap(), "--trusted", "--json"]);
        let said = ingest.envs(through).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        here.until_approved(&two, "WHOLE", "behind a pooler").await;
        let told = here.receiver().wait_for(1, ENOUGH).await;
        assert_eq!(told[0].json()["transaction_id"], "WHOLE");
        let audit = here.command(&["audit", "--json"]).envs(through).output().unwrap();
        assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stdout));
    }

    async fn a_pooler_before_another_database_is_refused(db: TestDatabase) {
        let here = Installation::new(db).await;
        let other = TestDatabase::migrated(crate::harness::databases::Engine::Postgres).await;
        let pooler = Pooler::start(other.url()).await;
        let mut command = here.command(&["migrate"]);
        command.env("TILLBELL_DATABASE__URL", pooler.url()).env("TILLBELL_DATABASE__DIRECT_URL", here.database.url());
        let said = command.output().unwrap();
        let told = String::from_utf8_lossy(&said.stderr);
        assert!(!said.status.success());
        assert!(told.contains("both must lead to one database on one server"), "{told}");
        assert!(told.contains(&pooler.database), "{told}");
    }

    async fn a_pooler_whose_connections_are_older_than_the_settings_is_told_of(db: TestDatabase) {
        let here = Installation::new(db).await;
        let pooler = Pooler::start(here.database.url()).await;
        // Opened by somebody else, before the role has its settings.
        let stranger = connect(&pooler.url()).await;
        stranger.simple_query("select 1").await.unwrap();
        let mut command = here.command(&["business", "list"]);
        command.env("TILLBELL_DATABASE__URL", pooler.url()).env("TILLBELL_DATABASE__DIRECT_URL", here.database.url());
        let said = command.output().unwrap();
        let told = String::from_utf8_lossy(&said.stderr);
        assert!(!said.status.success());
        assert!(told.contains("run RECONNECT on the pooler's console") && told.contains("enable_seqscan"), "{told}");
    }
}
