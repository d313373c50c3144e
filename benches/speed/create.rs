//! Creating payments over HTTP, durably, on 64 kept connections.
//!
//! SQLite is compared with `ceiling` on the same driver, PostgreSQL with pgbench that inserts a row
//! of payments per transaction on the same server. Once with amounts and names that vary, as
//! customers do, and once with the same body each time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::driver::{Requests, drive, post};
use crate::report::{Goal, Report, median};
use crate::server::{Postgres, Server};
use crate::world::{Dice, World};
use crate::{Size, scratch};

const CONNECTIONS: usize = 64;
const PATH: &str = "/api/v1/payment-request";
const CREATED: u16 = 201;
/// Requests with different names; the digits of their amounts change with every sending.
const NAMES: usize = 5_000;
const DIGITS: usize = 6;
/// Connections of the yardstick of PostgreSQL.
const CLIENTS: usize = 64;

/// Every sending another amount between 1,000,000 and 9,999,999 naira.
pub fn varied(key: &str) -> Requests {
    let mut dice = Dice(42);
    let mut places = Vec::with_capacity(NAMES);
    let all = (0..NAMES)
        .map(|n| {
            let leading = 1 + n % 9;
            let body = body(&format!("{leading}000000.00"), &dice.name());
            let request = post(PATH, key, &body);
            places.push(find(&request, b"000000.00"));
            request
        })
        .collect();
    Requests { all: Arc::new(all), digits: Some((places, DIGITS)) }
}

fn find(bytes: &[u8], wanted: &[u8]) -> usize {
    bytes.windows(wanted.len()).position(|some| some == wanted).expect("the amount")
}

fn body(amount: &str, name: &str) -> String {
    format!(
        r#"{{"amount":{amount},"payer_name":"{name}","webhook_url":"https://shop0.example/hooks/payment"}}"#
    )
}

pub fn identical(key: &str) -> Requests {
    Requests::fixed(vec![post(PATH, key, &body("5000.00", "Adaeze Bolanle Okafor"))])
}

/// Requests per second of a server.
fn load(server: &Server, requests: &Requests, status: u16, size: &Size, seed: u64) -> f64 {
    let time = Duration::from_secs(size.seconds);
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let run = || drive(server.address, CONNECTIONS, time, requests, status, seed);
            scope.spawn(run).join().expect("the driver").per_second
        })
    })
}

/// A world in a fresh database, closed again; answers its first merchant's key.
pub async fn prepare(url: &str) -> String {
    let world = World::new(url, 1, "").await;
    world.businesses[0].key.clone()
}

pub async fn sqlite(report: &mut Report, size: &Size) {
    let folder = scratch();
    let ceiling = Server::ceiling(folder.path());
    let bare = Requests::fixed(vec![post("/insert", "none", &body("5000.00", "Adaeze Bolanle Okafor"))]);
    for (name, requests) in [("varied", varied as fn(&str) -> Requests), ("identical", identical)] {
        let url = format!("sqlite:{}", folder.path().join(format!("{name}.db")).display());
        let key = prepare(&url).await;
        let ours = Server::tillbell(&url, folder.path(), "api");
        let requests = requests(&key);
        load(&ours, &requests, CREATED, &Size { seconds: 1, ..*size }, 77);
        let (mut rates, mut ceilings) = (Vec::new(), Vec::new());
        for run in 0..size.runs {
            rates.push(load(&ours, &requests, CREATED, size, run as u64));
            ceilings.push(load(&ceiling, &bare, CREATED, size, run as u64));
        }
        report.add(
            &format!("creates over HTTP, SQLite, {name}"),
            "/s",
            median(rates),
            median(ceilings),
            Goal::AtLeastTimes(0.5),
            "yardstick: axum and one group-committing SQLite writer of one row, nothing else; 64 connections, same driver",
        );
    }
}

pub async fn postgres(report: &mut Report, size: &Size, server: &Postgres) {
    let folder = scratch();
    let yardstick = server.database("pgbench");
    prepare(&yardstick).await;
    let script = folder.path().join("insert.sql");
    std::fs::write(&script, INSERT).expect("write the script");
    readable(folder.path());
    let mut first = 0;
    for (name, requests) in [("varied", varied as fn(&str) -> Requests), ("identical", identical)] {
        let url = server.database(&format!("create_{name}"));
        let key = prepare(&url).await;
        let ours = Server::tillbell(&url, folder.path(), "api");
        let requests = requests(&key);
        load(&ours, &requests, CREATED, &Size { seconds: 1, ..*size }, 77);
        let (mut rates, mut theirs) = (Vec::new(), Vec::new());
        for run in 0..size.runs {
            rates.push(load(&ours, &requests, CREATED, size, run as u64));
            first += 1_000_000;
            theirs.push(tokio::task::block_in_place(|| {
                server.pgbench("pgbench", &script, CLIENTS, size.seconds, first)
            }));
        }
        report.add(
            &format!("creates over HTTP, PostgreSQL, {name}"),
            "/s",
            median(rates),
            median(theirs),
            Goal::AtLeastTimes(1.0),
            "yardstick: pgbench -M prepared, 64 clients, one row of payments per transaction, same server",
        );
    }
}

/// The server's user reads the script.
fn readable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder, open).expect("open the folder for the server's user");
}

/// A row as a create writes it. Every client counts its own ids.
const INSERT: &str = r"
\set n :n + 1
\set id (:client_id + 1) * 1000000000 + :n
\set kobo random(100000, 999999999)
\set now 1780000000000000 + :n
insert into payments (id, business_id, transaction_id, kind, mode, status, version, amount_kobo, charge_percentage_kobo, charge_fixed_kobo, business_receives_kobo, schedule_rate, schedule_fixed_kobo, schedule_cap_kobo, is_schedule_paid_by_customer, is_schedule_enabled, rule_low_kobo, rule_high_kobo, payer_name, webhook_url, website_id, account_id, corrections, created_at, updated_at, expires_at, approvable_until_at, is_swept, is_mismatch, is_name_mismatch) values (:id, 1, 'TXN-01JABCDEFGH' || cast(:id as bigint), 'transfer', 'live', 'pending', 1, :kobo, 500, 5000, :kobo - 5500, 100, 5000, null, 0, 1, :kobo - 5600, :kobo - 5400, 'Adaeze Bolanle Okafor', 'https://shop0.example/hooks/payment', 1, 1, 0, :now, :now, :now + 86400000000, :now + 172800000000, 0, 0, 0);
";
