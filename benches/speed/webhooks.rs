//! From an approved payment to its delivered webhook, the receiver on this machine.
//!
//! `backlog`: payments approved before, then the workers start; the time until the last webhook is
//! there. `end to end`: the workers run while 64 callers approve; from the first approval to the
//! last webhook received.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use axum::serve::ListenerExt;
use bytes::Bytes;
use http::HeaderMap;
use tokio_util::sync::CancellationToken;

use crate::report::{Goal, Report, median};
use crate::server::Postgres;
use crate::storage::settle_all;
use crate::world::World;
use crate::{Size, scratch};

const CALLERS: usize = 64;
const WANTED: f64 = 3_000.0;
const BUSINESSES: usize = 8;
const TIMEOUT: Duration = Duration::from_secs(120);

/// Takes webhooks and counts them.
async fn receiver() -> (SocketAddr, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let take = async |State(count): State<Arc<AtomicUsize>>, headers: HeaderMap, body: Bytes| {
        assert!(headers.contains_key("webhook-signature") && !body.is_empty());
        count.fetch_add(1, Ordering::SeqCst);
    };
    let router = Router::new().route("/hook", post(take)).with_state(count.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("listen");
    let address = listener.local_addr().expect("an address");
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("nodelay"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, count)
}

async fn until(count: &AtomicUsize, wanted: usize) {
    let began = Instant::now();
    while count.load(Ordering::SeqCst) < wanted {
        assert!(began.elapsed() < TIMEOUT, "{} of {wanted} webhooks", count.load(Ordering::SeqCst));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

pub async fn run(report: &mut Report, size: &Size, server: Option<&Postgres>) {
    let folder = scratch();
    engine(report, size, "SQLite", &format!("sqlite:{}", folder.path().join("hooks.db").display())).await;
    if let Some(server) = server {
        engine(report, size, "PostgreSQL", &server.database("hooks")).await;
    }
}

async fn engine(report: &mut Report, size: &Size, name: &str, url: &str) {
    let (address, received) = receiver().await;
    let host = format!("http://{address}");
    let world = World::new(url, BUSINESSES, &host).await;
    let hook = format!("{host}/hook");
    let (mut backlogs, mut both) = (Vec::new(), Vec::new());
    let count = size.of(15_000, 1_000);
    let mut first = 0;
    for _ in 0..size.runs {
        for is_backlog in [true, false] {
            let pairs = Arc::new(world.pairs(count, first, &hook).await);
            first += count as i64;
            received.store(0, Ordering::SeqCst);
            if is_backlog {
                settle_all(&world.app, &world.account, pairs.clone(), CALLERS).await;
            }
            let stop = CancellationToken::new();
            let workers = tokio::spawn(tillbell::work::run(world.app.clone(), None, stop.clone()));
            let began = Instant::now();
            if !is_backlog {
                settle_all(&world.app, &world.account, pairs, CALLERS).await;
            }
            until(&received, count).await;
            let rate = count as f64 / began.elapsed().as_secs_f64();
            if is_backlog {
                backlogs.push(rate)
            } else {
                both.push(rate)
            }
            stop.cancel();
            workers.await.expect("the workers");
        }
    }
    let notes = "workers and receiver in one process on the same machine, 64 posts at once (dev mode)";
    report.add(
        &format!("webhooks from a backlog, {name}"),
        "/s",
        median(backlogs),
        WANTED,
        Goal::AtLeast,
        notes,
    );
    report.add(&format!("approved to delivered, {name}"), "/s", median(both), WANTED, Goal::AtLeast, notes);
}
