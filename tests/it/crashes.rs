//! The real program killed as a power cut would: what it acknowledged is there afterwards, money
//! moves once, and the merchant hears of it.
//!
//! The service runs as a process of its own and is killed with SIGKILL under load; commands are
//! killed at the named points of `crash.rs`. After each round the audit must find nothing.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tillbell::domain::time::{Span, Timestamp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::harness::databases::TestDatabase;
use crate::harness::document::{self, Exchange};
use crate::harness::mails::Alert;
use crate::harness::receiver::Receiver;

const BINARY: &str = env!("CARGO_BIN_EXE_tillbell");
pub const ACCOUNT: &str = "0123454417";
pub const ENOUGH: Duration = Duration::from_secs(60);

/// One installation: a database, a key file, a merchant whose webhooks come to a receiver of ours.
pub struct Installation {
    pub database: TestDatabase,
    pub folder: tempfile::TempDir,
    receiver: Receiver,
    pub key: String,
}

/// A running `tillbell serve`, killed when dropped.
pub struct Service {
    child: Child,
    pub address: SocketAddr,
}

impl Service {
    /// Of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to end, as whoever restarts it does.
    pub fn terminate(&self) {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(told.success());
    }

    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// As a power cut would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Installation {
    pub async fn new(database: TestDatabase) -> Installation {
        let folder = tempfile::tempdir().unwrap();
        let receiver = Receiver::start().await;
        let mut here = Installation { database, folder, receiver, key: String::new() };
        let port = here.receiver.address().port();
        here.json(&["migrate"]);
        here.json(&["business", "add", "--name", "Adire", "--email", "till@adire.example"]);
        here.json(&["business", "set", "1", "--rate-limit", "1000000"]);
        let site = format!("http://127.0.0.1:{port}");
        here.json(&["website", "add", "1", &site, "--approve"]);
        here.json(&[
            "account",
            "add",
            "--number",
            ACCOUNT,
            "--name",
            "TILL AND BELL LTD",
            "--bank",
            "GTBank",
        ]);
        let key = here.json(&["key", "add", "1"]);
        here.key = key["key"].as_str().unwrap().to_owned();
        here
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command
            .args(arguments)
            .env("TILLBELL_DATABASE__URL", self.database.url())
            .env("TILLBELL_SECRET__KEY_FILE", self.folder.path().join("test.key"))
            .env("TILLBELL_SERVER__LISTEN", "127.0.0.1:0")
            .env("TILLBELL_SERVER__DEV", "true")
            .env_remove("TILLBELL_CRASH_AT")
            .stdin(Stdio::null());
        command
    }

    /// Where webhooks come to.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    pub fn run(&self, arguments: &[&str], crash_at: Option<&str>) -> Output {
        let mut command = self.command(arguments);
        if let Some(point) = crash_at {
            command.env("TILLBELL_CRASH_AT", point);
        }
        command.output().unwrap()
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat(), None);
        assert!(
            output.status.success(),
            "{arguments:?}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub fn serve(&self) -> Service {
        self.serve_with(&[]).expect("the service says where it listens")
    }

    /// The same with more of an environment; `None` if it died before it listened.
    pub fn serve_with(&self, environment: &[(&str, &str)]) -> Option<Service> {
        let mut command = self.command(&["serve"]);
        command.envs(environment.iter().copied());
        serve(command)
    }

    pub fn mail(&self, name: &str, alert: &Alert) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, alert.text()).unwrap();
        path
    }

    pub fn body(&self, transaction_id: &str, naira: i64, payer: &str) -> String {
        let url = self.receiver.url("/hook");
        format!(
            r#"{{"transaction_id":"{transaction_id}","amount":{naira},"payer_name":"{payer}","webhook_url":"{url}"}}"#
        )
    }

    /// Asks the service for a payment of Halima Garba's.
    pub async fn ask(&self, service: &Service, transaction_id: &str, naira: i64) {
        let body = self.body(transaction_id, naira, "Halima Garba");
        let made = request(service.address, "POST /api/v1/payment-request", &self.key, &body).await;
        assert_eq!(made.unwrap().0, 201);
    }

    /// `what` is told should it never be.
    pub async fn until_approved(&self, service: &Service, transaction_id: &str, what: &str) {
        let deadline = tokio::time::Instant::now() + ENOUGH;
        let head = format!("GET /api/v1/payment/{transaction_id}");
        loop {
            let (_, read) = request(service.address, &head, &self.key, "").await.unwrap();
            if read["data"]["status"] == "approved" {
                return;
            }
            assert!(tokio::time::Instant::now() < deadline, "{what}: never approved: {read}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub fn audit(&self) {
        let audit = self.json(&["audit"]);
        assert_eq!(audit["ok"], true, "{audit}");
    }
}

/// Starts a service; `None` if it died before it said where it listens.
pub fn serve(mut command: Command) -> Option<Service> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let Some(line) = lines.next() else {
        child.wait().unwrap();
        return None;
    };
    let line = line.unwrap();
    let address = line.strip_prefix("listening on http://").expect(&line).parse().unwrap();
    Some(Service { child, address })
}

/// The status and body of one request; `None` when the connection broke before the whole answer.
pub async fn request(address: SocketAddr, head: &str, key: &str, body: &str) -> Option<(u16, Value)> {
    request_with(address, head, &[format!("X-API-Key: {key}")], body).await
}

/// The same with other lines of the head.
pub async fn request_with(
    address: SocketAddr,
    head: &str,
    lines: &[String],
    body: &str,
) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let text = format!(
        "{head} HTTP/1.1\r\nHost: till\r\n{}\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        lines.join("\r\n"),
        body.len()
    );
    stream.write_all(text.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok()?;
    let answer = String::from_utf8(answer).ok()?;
    let status = answer.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let (_, answered) = answer.split_once("\r\n\r\n")?;
    let read = serde_json::from_str(answered).ok()?;
    let (method, path) = head.split_once(' ')?;
    let sent = Some(body.as_bytes());
    document::check(&Exchange { method, path, sent, status, headers: &[], body: answered });
    Some((status, read))
}

/// Creates payments until the service dies, and tells of each that it acknowledged; answers them all.
async fn create_until_dead(
    here: &Installation,
    address: SocketAddr,
    lane: usize,
    told: &watch::Sender<usize>,
) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for n in 0.. {
        let id = format!("L{lane}-{}-{n}", address.port());
        let body = here.body(&id, 1_000 + n, "Halima Garba");
        match request(address, "POST /api/v1/payment-request", &here.key, &body).await {
            Some((201, _)) => {
                acknowledged.push(id);
                told.send_modify(|made| *made += 1);
            }
            Some((status, answer)) => panic!("{status} {answer}"),
            None => return acknowledged,
        }
    }
    acknowledged
}

pub fn now() -> Timestamp {
    Timestamp(jiff_now())
}

#[allow(clippy::disallowed_methods, reason = "the killed processes run on the machine's own clock")]
fn jiff_now() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

on_both! {
    async fn what_was_acknowledged_survives_a_kill_under_load(db: TestDatabase) {
        let here = Installation::new(db).await;
        let mut acknowledged = Vec::new();
        for round in 0..3 {
            let mut service = here.serve();
            let address = service.address;
            let told = watch::Sender::new(0);
            let lanes = (0..4).map(|lane| create_until_dead(&here, address, lane, &told));
            let killer = async {
                // Amid the others that are under way.
                let mut made = told.subscribe();
                let enough = made.wait_for(|made| *made >= 3 + 10 * round);
                tokio::time::timeout(ENOUGH, enough).await.expect("payments are made").unwrap();
                service.child.kill().unwrap();
                service.child.wait().unwrap();
            };
            let (lists, ()) = tokio::join!(futures_util::future::join_all(lanes), killer);
            acknowledged.extend(lists.concat());
        }
        let service = here.serve();
        for id in &acknowledged {
            let (status, answer) =
                request(service.address, &format!("GET /api/v1/payment/{id}"), &here.key, "").await.unwrap();
            assert_eq!(status, 200, "{id} was acknowledged and is lost: {answer}");
        }
        here.audit();
    }

    async fn an_alert_killed_at_any_point_credits_once_and_is_told(db: TestDatabase) {
        let here = Installation::new(db).await;
        let service = here.serve();
        let points = [
            "alert.stored:1",
            "alert.before_decision:1",
            "store.before_commit:1",
            "store.before_commit:3",
            "store.after_commit:2",
            "store.after_commit:4",
            "store.between_statements:5",
            "store.between_statements:20",
        ];
        for (n, point) in points.iter().enumerate() {
            let (id, naira) = (format!("KILL-{n}"), 5_000 + 1_000 * n as i64);
            here.ask(&service, &id, naira).await;
            let path = here.mail(&id, &Alert::credit(ACCOUNT, naira, "Halima Garba", now() + Span::seconds(1)));
            let path = path.to_str().unwrap();
            // The command may die, or may pass the point less often than it is armed for.
            here.run(&["alert", "ingest", path, "--trusted"], Some(point));
            let again = here.json(&["alert", "ingest", path, "--trusted"]);
            let outcome = again["results"][0]["outcome"].as_str().unwrap();
            assert!(["matched", "duplicate"].contains(&outcome), "{point}: {again}");
            // If the copy was a duplicate, the service's own workers decide the first one.
            here.until_approved(&service, &id, point).await;
        }
        let told = here.receiver.wait_for(points.len(), ENOUGH).await;
        let mut ids: Vec<String> =
            told.iter().map(|r| r.json()["transaction_id"].as_str().unwrap().to_owned()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), points.len(), "{ids:?}");
        here.audit();
    }
}
