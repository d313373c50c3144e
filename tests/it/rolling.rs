//! Three nodes behind HAProxy, in the configuration that is shipped: one after the other is stopped and started again under
//! load, and no caller notices.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;

use crate::crashes::{ENOUGH, Installation, Service, request, serve};
use crate::harness::ports::own_addresses;
use crate::harness::until::until;

const SHIPPED: &str = include_str!("../../packaging/haproxy.cfg");
/// Callers, each with one request under way at any time.
const CALLERS: usize = 8;
/// Answers between one restart and the next: nobody restarts nodes in a shop that nobody asks.
const BETWEEN: usize = 200;

/// Killed when dropped.
struct Balancer(Mutex<Child>);

impl Balancer {
    fn is_there(&self) -> bool {
        self.0.lock().unwrap().try_wait().unwrap().is_none()
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let child = self.0.get_mut().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// The shipped configuration with these addresses, without TLS, and with checks that follow one another faster.
fn configuration(at: SocketAddr, nodes: &[SocketAddr]) -> String {
    let mut written = String::new();
    for line in SHIPPED.lines() {
        let changed = match line.trim() {
            text if text.starts_with("bind :443") => format!("    bind {at}"),
            // It asks for so many open files.
            text if text.starts_with("maxconn") => "    maxconn 1000".to_owned(),
            text if text.starts_with("bind :80") || text.starts_with("http-request redirect") => continue,
            text if text.starts_with("server ") => continue,
            text if text.starts_with("default-server") => {
                format!("    {}", text.replace("inter 1s", "inter 200ms"))
            }
            _ => line.to_owned(),
        };
        written += &format!("{changed}\n");
    }
    for (n, node) in nodes.iter().enumerate() {
        written += &format!("    server node{n} {node}\n");
    }
    written
}

fn balance(folder: &Path, at: SocketAddr, nodes: &[SocketAddr]) -> Balancer {
    let file = folder.join("haproxy.cfg");
    std::fs::write(&file, configuration(at, nodes)).unwrap();
    let log = std::fs::File::create(folder.join("haproxy.log")).unwrap();
    let told = log.try_clone().unwrap();
    let mut command = Command::new("/usr/sbin/haproxy");
    command.arg("-db").arg("-f").arg(file).stdout(log).stderr(told);
    Balancer(Mutex::new(command.spawn().expect("haproxy; Debian's package is haproxy")))
}

async fn start(here: &Installation, at: SocketAddr) -> Service {
    let mut command = here.command(&["serve"]);
    command.env("TILLBELL_SERVER__LISTEN", at.to_string()).env("TILLBELL_SERVER__STOP_DELAY", "1s");
    let service = serve(command).expect("the service says where it listens");
    until("the node is ready", async || is_ready(at).await.then_some(())).await;
    service
}

async fn is_ready(at: SocketAddr) -> bool {
    matches!(request(at, "GET /readyz", "", "").await, Some((200, _)))
}

/// Asks for payments until told to stop; each must be made.
async fn call(here: &Installation, at: SocketAddr, lane: usize, answers: &AtomicUsize, is_over: &AtomicBool) {
    let mut n = 0;
    while !is_over.load(Ordering::Relaxed) {
        n += 1;
        let id = format!("L{lane}-{n}");
        let body = here.body(&id, 1_000 + n, "Halima Garba");
        match request(at, "POST /api/v1/payment-request", &here.key, &body).await {
            Some((201, _)) => {}
            Some((status, answer)) => panic!("{id}: {status} {answer}"),
            None => panic!("{id}: the connection broke, or the answer was none of ours"),
        }
        answers.fetch_add(1, Ordering::Relaxed);
    }
}

on_postgres! {
    async fn nodes_are_restarted_one_after_the_other_and_no_caller_notices(db: TestDatabase) {
        let here = Installation::new(db).await;
        let mut places = own_addresses(4);
        let at = places.pop().unwrap();
        let mut nodes = Vec::new();
        for place in &places {
            nodes.push(start(&here, *place).await);
        }
        let balancer = balance(here.folder.path(), at, &places);
        let said = || std::fs::read_to_string(here.folder.path().join("haproxy.log")).unwrap_or_default();
        until("the balancer listens", async || {
            assert!(balancer.is_there(), "{}", said());
            TcpStream::connect(at).await.ok()
        })
        .await;
        until("it has found a node", async || is_ready(at).await.then_some(())).await;
        let (answers, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let callers = (0..CALLERS).map(|lane| call(&here, at, lane, &answers, &is_over));
        let restarts = async {
            for (n, place) in places.iter().enumerate() {
                let before = answers.load(Ordering::Relaxed);
                until("callers are answered", async || {
                    (answers.load(Ordering::Relaxed) >= before + BETWEEN).then_some(())
                })
                .await;
                nodes[n].terminate();
                let stopped = async {
                    while !nodes[n].is_over() {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                };
                tokio::time::timeout(ENOUGH, stopped).await.expect("the node stops");
                nodes[n] = start(&here, *place).await;
            }
            is_over.store(true, Ordering::Relaxed);
        };
        tokio::join!(futures_util::future::join_all(callers), restarts);
        assert!(answers.load(Ordering::Relaxed) >= 3 * BETWEEN);
        here.audit();
    }
}
