//! docs/high-availability.md is true: two PostgreSQL servers are made by its lines, the first one is lost under load, the second
//! takes over, and everything that callers were told is there.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::crashes::{Installation, request};
use crate::harness::databases::TestDatabase;
use crate::harness::own_postgres::{OwnPostgres, blocks_of, free_port};
use crate::harness::until::until;

const PAGE: &str = include_str!("../../docs/high-availability.md");
const CALLERS: usize = 8;
/// Payments made before the first server is lost, and after the second took over.
const BEFORE: usize = 200;
const AFTER: usize = 200;

/// What stands in the page's fences, in the order in which it is run.
#[derive(Clone, Copy)]
enum Step {
    Places,
    Allow,
    Copy,
    Wait,
    Promote,
    CopyBack,
    WaitAgain,
}

const STEPS: usize = Step::WaitAgain as usize + 1;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Machine {
    One,
    Two,
}

/// Two machines that are one: each has a folder and a port.
struct Guide {
    servers: OwnPostgres,
    ports: [u16; 2],
    blocks: Vec<&'static str>,
}

impl Drop for Guide {
    fn drop(&mut self) {
        for machine in [Machine::One, Machine::Two] {
            self.lost(machine);
        }
    }
}

impl Guide {
    fn new() -> Guide {
        let guide = Guide {
            servers: OwnPostgres::new(),
            ports: [free_port(), free_port()],
            // What Patroni needs is run by tests/long/patroni.
            blocks: blocks_of(PAGE.split("## Patroni").next().unwrap(), STEPS),
        };
        guide.servers.make(guide.port(Machine::One), &guide.places(Machine::One));
        guide.on(Machine::One, "createuser till && createdb --owner=till till");
        guide
    }

    fn port(&self, machine: Machine) -> u16 {
        self.ports[machine as usize]
    }

    fn places(&self, machine: Machine) -> String {
        let folder = self.servers.path(if machine == Machine::One { "db1" } else { "db2" });
        self.blocks[Step::Places as usize]
            .replace("/var/lib/postgresql/15/main", &folder.display().to_string())
    }

    fn on(&self, machine: Machine, lines: &str) -> String {
        let lines = format!("{}\nexport PGPASSWORD=choose-one\n{lines}", self.places(machine));
        self.servers.works(self.port(machine), &lines)
    }

    /// The page's lines, with an address for each name.
    fn run(&self, machine: Machine, step: Step) -> String {
        let [one, two] = self.ports;
        let lines = self.blocks[step as usize]
            .replace("host=db1", &format!("host=127.0.0.1 port={one}"))
            .replace("host=db2", &format!("host=127.0.0.1 port={two}"))
            .replace("standby db2", "standby 127.0.0.1/32");
        // A copy has the other's port in its configuration.
        let lines = lines.replace(
            "pg_ctl start",
            &format!("echo 'port = {}' >> \"$PGDATA/postgresql.conf\"\npg_ctl start", self.port(machine)),
        );
        self.on(machine, &lines)
    }

    fn ask(&self, question: &str) -> String {
        format!("psql --dbname=postgres --tuples-only --no-align --command=\"{question}\"")
    }

    fn lost(&self, machine: Machine) {
        let stop = format!("{}\npg_ctl stop --pgdata=\"$PGDATA\" --mode=immediate", self.places(machine));
        self.servers.shell(self.port(machine), &stop);
    }

    fn url(&self) -> String {
        let [one, two] = self.ports;
        format!("postgres://till@127.0.0.1:{one},127.0.0.1:{two}/till")
    }
}

/// Asks for payments until told to stop, and notes those that it was told are there.
pub async fn call(
    here: &Installation,
    at: SocketAddr,
    lane: usize,
    made: &Mutex<BTreeSet<String>>,
    (answers, is_over): (&AtomicUsize, &AtomicBool),
) {
    let mut n = 0;
    while !is_over.load(Ordering::Relaxed) {
        n += 1;
        let id = format!("L{lane}-{n}");
        let body = here.body(&id, 1_000 + n, "Halima Garba");
        match request(at, "POST /api/v1/payment-request", &here.key, &body).await {
            Some((201, _)) => {
                made.lock().unwrap().insert(id);
                answers.fetch_add(1, Ordering::Relaxed);
            }
            Some((503, _)) => {}
            Some((status, answer)) => panic!("{id}: {status} {answer}"),
            None => panic!("{id}: the service itself is there all the time"),
        }
    }
}

pub async fn reached(answers: &AtomicUsize, count: usize) {
    until("callers are answered", async || (answers.load(Ordering::Relaxed) >= count).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_server_has_all_that_was_acknowledged_postgres() {
    let guide = Guide::new();
    guide.run(Machine::One, Step::Allow);
    guide.run(Machine::Two, Step::Copy);
    guide.run(Machine::One, Step::Wait);
    let here = Installation::new(TestDatabase::on_own_servers(guide.url())).await;
    let (one, two) = (here.serve(), here.serve());
    let made = Mutex::new(BTreeSet::new());
    let (answers, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let callers = (0..CALLERS).map(|lane| {
        let at = if lane % 2 == 0 { one.address } else { two.address };
        call(&here, at, lane, &made, (&answers, &is_over))
    });
    let failing = async {
        reached(&answers, BEFORE).await;
        // The standby stands still: from now on nothing is on both, and nobody may be told that anything is.
        let receiver = tokio::task::block_in_place(|| {
            let pid = guide.on(Machine::Two, &guide.ask("select pid from pg_stat_wal_receiver"));
            guide.on(Machine::Two, &format!("kill -STOP {pid}"));
            pid
        });
        let waiting = guide.ask("select count(*) from pg_stat_activity where wait_event = 'SyncRep'");
        until("commits wait for the standby", async || {
            let count = tokio::task::block_in_place(|| guide.on(Machine::One, &waiting));
            (count.trim().parse::<i64>().unwrap() >= 2).then_some(())
        })
        .await;
        tokio::task::block_in_place(|| {
            guide.lost(Machine::One);
            guide.on(Machine::Two, &format!("kill -CONT {receiver}"));
            guide.run(Machine::Two, Step::Promote);
        });
        let before = answers.load(Ordering::Relaxed);
        reached(&answers, before + AFTER).await;
        // The first machine comes back as the second one's standby, and nobody takes it for the database.
        tokio::task::block_in_place(|| {
            guide.run(Machine::One, Step::CopyBack);
            guide.run(Machine::Two, Step::WaitAgain);
        });
        let before = answers.load(Ordering::Relaxed);
        reached(&answers, before + AFTER).await;
        is_over.store(true, Ordering::Relaxed);
    };
    tokio::join!(futures_util::future::join_all(callers), failing);
    let made = made.into_inner().unwrap();
    assert!(made.len() >= BEFORE + 2 * AFTER, "{}", made.len());
    for id in &made {
        let read = request(one.address, &format!("GET /api/v1/payment/{id}"), &here.key, "").await;
        assert_eq!(read.map(|(status, _)| status), Some(200), "{id} was acknowledged and is gone");
    }
    here.audit();
}
