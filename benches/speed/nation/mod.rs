//! The load of a nation on one small machine, as its users would feel it: payments are asked for on a Poisson schedule that
//! waits for nobody, each is paid by its bank's signed mail over LMTP, and each webhook goes to a receiver that takes
//! 20 ms; payments are read and listed beside it. Every time is counted from when the thing was due, so what waits in
//! front of a busy server counts.
//!
//! `--rate=300 --seconds=600 --payments=10000000 --kill` choose; load generator, receiver and PostgreSQL share the machine with the node.
//! Runs only if it is named.

mod lanes;
mod load;
mod receiver;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tillbell::store::engine::sql::{Sql, Text};

use crate::name_server::{NameServer, Say};
use crate::report::{Goal, Report};
use crate::server::{Postgres, Server, free_port};
use crate::signing::record;
use crate::world::{World, said};
use crate::{history, scratch};
use load::{Figures, Load};

const ACCOUNTS: usize = 20;
const BUSINESSES: usize = 50;
/// A thousand payments are made and copied.
const COPIED: u64 = 1_000;
const RECIPIENT: &str = "alerts@till.example";
/// What still waits after the load.
const REST_TIMEOUT: Duration = Duration::from_secs(60);
const MEMORY_MB: f64 = 200.0;
const BACK_MS: f64 = 2_000.0;
const WORKED_OFF_S: f64 = 10.0;

static ALERTS: Sql =
    Sql::new("NATION_ALERTS", Text::Plain("select count(*) as n from alerts where source like 'lmtp%'"));
static OPEN_JOBS: Sql = Sql::new(
    "NATION_OPEN_JOBS",
    Text::Plain("select count(*) as n from jobs where done_at is null and kind in ('deliver', 'decide')"),
);

/// What is asked for on the command line.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// Payments a second; as many reads beside them.
    pub rate: f64,
    pub seconds: u64,
    /// Payments in the database before, in whole thousands.
    pub payments: u64,
    /// Whether the node is killed in the middle.
    pub kill: bool,
}

impl Wanted {
    pub fn of(arguments: &[String]) -> Wanted {
        let number = |flag: &str, default: u64| {
            let given = arguments.iter().find_map(|argument| argument.strip_prefix(flag));
            given.map_or(default, |text| {
                text.parse().unwrap_or_else(|_| panic!("{flag} needs a number, not {text:?}"))
            })
        };
        Wanted {
            rate: number("--rate=", 300) as f64,
            seconds: number("--seconds=", 60),
            payments: number("--payments=", 0),
            kill: arguments.iter().any(|argument| argument == "--kill"),
        }
    }
}

/// In milliseconds at most.
struct Goals {
    asked_p99: f64,
    told_p50: f64,
    told_p99: f64,
    node_ms: f64,
    database_ms: f64,
}

const ON_SQLITE: Goals =
    Goals { asked_p99: 15.0, told_p50: 10.0, told_p99: 50.0, node_ms: 1.2, database_ms: 0.0 };
const ON_POSTGRES: Goals =
    Goals { asked_p99: 25.0, told_p50: 50.0, told_p99: 100.0, node_ms: 0.8, database_ms: 2.0 };

pub async fn run(report: &mut Report, wanted: Wanted, server: Option<&Postgres>) {
    let folder = scratch();
    let url = format!("sqlite:{}", folder.path().join("nation.db").display());
    engine(report, wanted, "SQLite", &url, &ON_SQLITE, None).await;
    if let Some(server) = server {
        engine(report, wanted, "PostgreSQL", &server.database("nation"), &ON_POSTGRES, Some(server)).await;
    }
}

async fn engine(
    report: &mut Report,
    wanted: Wanted,
    name: &str,
    url: &str,
    goals: &Goals,
    database: Option<&Postgres>,
) {
    let names = NameServer::start().await;
    names.say("mail._domainkey.gtbank.com", Say::Text(record("rsa2048")));
    let receiver = receiver::Receiver::start().await;
    let world = World::new(url, BUSINESSES, &receiver.origin()).await;
    world.pool(ACCOUNTS).await;
    if wanted.payments >= COPIED {
        history::fill(&world, url, (wanted.payments / COPIED) as usize).await;
    }
    let keys = world.businesses.iter().map(|business| business.key.clone()).collect();
    let folder = scratch();
    let mails = format!("127.0.0.1:{}", free_port());
    let dns = format!("[\"{}\"]", names.address);
    let settings = [
        ("MAIL__SMTP__LISTEN", mails.as_str()),
        ("MAIL__SMTP__PROTOCOL", "lmtp"),
        ("MAIL__RECIPIENTS", RECIPIENT),
        ("MAIL__DNS", &dns),
        // Webhooks to this machine.
        ("SERVER__DEV", "true"),
    ];
    let began = Instant::now();
    let mut node = Server::tillbell_with(url, folder.path(), "api,mail,work", &settings);
    if wanted.payments > 0 {
        let what = format!("start with {} payments, {name}", wanted.payments);
        report.add(&what, "ms", ms(began.elapsed()), 1_000.0, Goal::Below, "");
    }
    let load = Arc::new(Load::new(node.address, mails.parse().expect("an address"), keys, receiver));
    // Connections, plans and caches.
    load.clone().run(wanted.rate.min(50.0), Duration::from_secs(3)).await;
    load.rest(REST_TIMEOUT).await;
    if let Some(server) = database {
        server.vacuum(url);
    }
    load.begin();
    let (node_before, database_before) = (node.processor_ms(), database.map(Postgres::processor_ms));
    let time = Duration::from_secs(wanted.seconds);
    let running = tokio::spawn(load.clone().run(wanted.rate, time));
    let mut back = None;
    if wanted.kill {
        tokio::time::sleep(time / 2).await;
        back = Some(killed(&mut node, &load).await);
    }
    running.await.expect("the load");
    let ended = Instant::now();
    let waiting = load.rest(REST_TIMEOUT).await;
    let rest = ended.elapsed();
    let in_database =
        database.map(Postgres::processor_ms).zip(database_before).map(|(now, before)| now - before);
    let figures = load.figures();
    told(report, name, wanted, goals, &figures);
    let loops = figures.told.len().max(1) as f64;
    // Of a node that was killed nobody knows.
    let of_node = (!wanted.kill).then(|| (node.processor_ms() - node_before) / loops);
    costs(report, name, goals, (of_node, in_database.map(|spent| spent / loops)));
    report.add(&format!("memory at most, {name}"), "MB", node.peak_mb(), MEMORY_MB, Goal::Below, "");
    if let Some(back) = back {
        after_kill(report, name, back);
    }
    is_whole(&world, &load, &figures, &waiting, wanted.kill).await;
    said(&format!("{name}: what still waited when the load ended took"), Instant::now() - rest);
    if wanted.payments == 0 {
        audited(url, folder.path());
    }
}

fn told(report: &mut Report, name: &str, wanted: Wanted, goals: &Goals, figures: &Figures) {
    let rate = wanted.rate;
    let mut line = |what: &str, kind: &load::Times, at: f64, goal: f64| {
        let notes = format!("{} of them, the longest {:.0} ms", kind.len(), kind.at(1.0));
        let goal = if goal > 0.0 { (goal, Goal::Below) } else { (0.0, Goal::None) };
        report.add(
            &format!("{what} p{:.0} at {rate:.0}/s, {name}", at * 100.0),
            "ms",
            kind.at(at),
            goal.0,
            goal.1,
            &notes,
        );
    };
    line("create", &figures.created, 0.5, 0.0);
    line("create", &figures.created, 0.99, goals.asked_p99);
    line("read", &figures.read, 0.99, goals.asked_p99);
    line("list", &figures.listed, 0.99, 0.0);
    line("mail due to taken", &figures.taken, 0.5, 0.0);
    line("mail due to taken", &figures.taken, 0.99, 0.0);
    line("mail due to webhook", &figures.told, 0.5, goals.told_p50);
    line("mail due to webhook", &figures.told, 0.99, goals.told_p99);
}

/// Processor time of one payment, in ms.
fn costs(report: &mut Report, name: &str, goals: &Goals, (of_node, of_database): (Option<f64>, Option<f64>)) {
    let notes = "of create, mail over LMTP, decision, approval and webhook, with the reads beside";
    for (whose, spent, goal) in
        [("a node's", of_node, goals.node_ms), ("the database's", of_database, goals.database_ms)]
    {
        if let Some(spent) = spent {
            let what = format!("{whose} time for a payment, {name}");
            report.add(&what, "ms", spent, goal, Goal::Below, notes);
        }
    }
}

fn after_kill(report: &mut Report, name: &str, (answering, worked_off): (Duration, Duration)) {
    let what = format!("killed and back, {name}");
    report.add(&what, "ms", ms(answering), BACK_MS, Goal::Below, "to the first answer");
    let notes = "until every mail that was due is answered and told";
    let what = format!("the backlog after it, {name}");
    report.add(&what, "s", worked_off.as_secs_f64(), WORKED_OFF_S, Goal::Below, notes);
}

/// Kills the node and starts it again; how long until it answered, and until nothing that was due waited any more.
async fn killed(node: &mut Server, load: &Load) -> (Duration, Duration) {
    node.kill_and_start();
    let began = Instant::now();
    load.until_answered().await;
    let answering = began.elapsed();
    while load.is_behind() {
        assert!(began.elapsed() < REST_TIMEOUT, "the backlog is not worked off");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (answering, began.elapsed())
}

/// Nothing is lost, nothing waits and nothing came twice.
async fn is_whole(world: &World, load: &Load, figures: &Figures, waiting: &[String], is_killed: bool) {
    let (mut asked, mut lost) = (0, Vec::new());
    for id in waiting {
        match load.status_of(id).await.as_str() {
            "pending" => asked += 1,
            other => lost.push(format!("{id}: {other}")),
        }
    }
    assert!(lost.is_empty(), "{} payments were never told: {:?}", lost.len(), &lost[..lost.len().min(5)]);
    let count = async |sql: &'static Sql| {
        let row = world.app.store.read_one(sql, vec![]).await.expect("the store").expect("a count");
        row.single_int("count").expect("a number")
    };
    let (alerts, began) = (count(&ALERTS).await, Instant::now());
    let mut open = count(&OPEN_JOBS).await;
    // A decision whose maker was interrupted is made seconds later.
    while open > 0 && began.elapsed() < REST_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(100)).await;
        open = count(&OPEN_JOBS).await;
    }
    println!(
        "  {} created ({} refused), {} mails, {alerts} alerts, {} told, {asked} left to a person beside {} that were meant to be, {} told again, {open} jobs open",
        figures.created.len(),
        figures.refused,
        figures.taken.len(),
        figures.told.len(),
        figures.doubtful,
        figures.again
    );
    assert!(is_killed || figures.again == 0, "{} webhooks came twice", figures.again);
    assert_eq!(open, 0, "the queue is not empty");
}

/// The books of the whole run.
fn audited(url: &str, folder: &std::path::Path) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tillbell"));
    command
        .arg("audit")
        .current_dir(folder)
        .env("TILLBELL_DATABASE__URL", url)
        .env("TILLBELL_SECRET__KEY", crate::world::KEY);
    let said = command.output().expect("run the audit");
    assert!(
        said.status.success(),
        "{}{}",
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr)
    );
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
