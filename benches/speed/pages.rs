//! The pages of people who sign in, over a long history: how long each takes, how large it is, a list of a million rows as
//! CSV, and whether many readers of pages starve the API.
//!
//! The server is in dev mode, because pages have a limit per address otherwise.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::http::pages::assets::{HTMX, SCRIPT, STYLE};
use tillbell::http::pages::operator::DeskPage;
use tillbell::http::pages::table::{Page, TABLE};
use tillbell::ops::people::sign_in::{From, SignedIn, sign_in};
use tillbell::ops::people::users::{Place, add_user};
use tokio::net::TcpStream;

use crate::driver::{Requests, drive, exchange, get, paced};
use crate::history::{Known, fill};
use crate::report::{Goal, Report, median};
use crate::server::{Postgres, Server};
use crate::world::World;
use crate::{Size, scratch};

const EMAIL: &str = "ada@till.example";
const PASSWORD: &str = "seventeen goats walk";
const OK: u16 = 200;
/// Requests for each page in a run.
const ASKED: usize = 100;
const P99_MS: f64 = 50.0;
const PAGE_KB: f64 = 60.0;
const FIRST_VIEW_KB: f64 = 150.0;
const ROWS_A_SECOND: f64 = 50_000.0;
const CSV_GROWTH_MB: f64 = 100.0;
/// Who reload the heaviest page.
const RELOADING: usize = 64;
/// Readers of a payment, and each one's pause between two readings.
const READERS: usize = 8;
const PAUSE: Duration = Duration::from_millis(10);
const STARVED_TIMES: f64 = 5.0;
/// An answer must fit.
const PAGE_MAX: usize = 1 << 20;

/// Views that ask more of the database than the page without a query.
const VIEWS: [&str; 16] = [
    "/dashboard/payments?status=approved",
    "/dashboard/payments?q=ada",
    "/dashboard/payments?late=1",
    "/dashboard/payments?mismatched=1",
    "/dashboard/payments?reversed=1",
    "/dashboard/payments?from=2020-01-01&to=2020-02-01",
    "/dashboard/payments?mode=test",
    "/dashboard/webhooks?state=failed",
    "/dashboard/webhooks?state=delivered",
    "/operator/alerts?state=all",
    "/operator/alerts?state=unmatched",
    "/operator/alerts?state=quarantined",
    "/operator/alerts?state=all&q=chukwu",
    "/operator/payments?q=ada",
    "/operator/payments?status=rejected",
    "/operator/webhooks?state=failed",
];

/// A page, and how it answered.
struct Measured {
    /// Short, for the table.
    name: String,
    path: String,
    medians: Vec<f64>,
    p99s: Vec<f64>,
    bytes: Vec<u8>,
}

pub async fn run(report: &mut Report, size: &Size, postgres: Option<&Postgres>) {
    let folder = scratch();
    let mut urls = vec![("SQLite", format!("sqlite:{}", folder.path().join("pages.db").display()))];
    urls.extend(postgres.map(|server| ("PostgreSQL", server.database("pages"))));
    for (name, url) in urls {
        println!("  (load average {})", load_average());
        engine(report, size, name, &url, folder.path()).await;
    }
}

async fn engine(report: &mut Report, size: &Size, name: &str, url: &str, folder: &std::path::Path) {
    let world = World::new(url, 1, "").await;
    let copies = size.of(1_000, 20);
    let known = fill(&world, url, copies).await;
    let token = signed_in(&world).await;
    let (business, key) = (world.businesses[0].id, world.businesses[0].key.clone());
    drop(world);
    let server = Server::tillbell_with(url, folder, "api,pages", &[("SERVER__DEV", "true")]);
    let mut all: Vec<Measured> = addresses(&known, business).into_iter().map(Measured::of).collect();
    for _ in 0..size.runs {
        for one in &mut all {
            one.ask(&server, &token, size).await;
        }
    }
    tell(report, name, &all);
    csv(report, size, name, &server, &token, copies * 1_000);
    let heaviest = all
        .iter()
        .max_by(|a, b| median(a.medians.clone()).total_cmp(&median(b.medians.clone())))
        .expect("a page");
    starve(report, size, name, &server, (&heaviest.path, &token), (&known.transaction_id, &key));
    println!("  (load average {})", load_average());
}

/// Somebody who may see everything: of the staff, and an owner of the business.
async fn signed_in(world: &World) -> String {
    let owner = Place::Member(world.businesses[0].id, MemberRole::Owner);
    add_user(&world.app, "bench", EMAIL, owner, Some(PASSWORD)).await.expect("a store").expect("a user");
    let staff = Place::Staff(StaffRole::Admin);
    add_user(&world.app, "bench", EMAIL, staff, None).await.expect("a store").expect("a place");
    let from = From { address: "127.0.0.1", agent: "bench" };
    match sign_in(&world.app, EMAIL, PASSWORD, from).await.expect("a store") {
        Ok(SignedIn::Whole(token)) => token.0.to_string(),
        _ => panic!("not signed in"),
    }
}

/// Every page of the route table that is behind a sign-in, and the heavier views of them: name and address.
fn addresses(known: &Known, business: i64) -> Vec<(String, String)> {
    // A stream's answer has no end to wait for.
    let is_page = |path: &str| !path.ends_with("/events");
    let of_table = TABLE.iter().filter(|route| {
        matches!(route.page, Page::Desk(_) | Page::Dashboard(_) | Page::Me) && is_page(route.path)
    });
    let filled = of_table.map(|route| {
        let id = match route.page {
            Page::Desk(DeskPage::Business) => business,
            Page::Desk(DeskPage::Webhook) => known.delivery,
            _ => known.alert,
        };
        let path =
            route.path.replace("{transaction_id}", &known.transaction_id).replace("{id}", &id.to_string());
        (route.path.replace("{transaction_id}", "{id}"), path)
    });
    filled.chain(VIEWS.iter().map(|view| (view.to_string(), view.to_string()))).collect()
}

fn request(path: &str, token: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: bench\r\nCookie: session={token}\r\n\r\n").into_bytes()
}

impl Measured {
    fn of((name, path): (String, String)) -> Measured {
        Measured { name, path, medians: Vec::new(), p99s: Vec::new(), bytes: Vec::new() }
    }

    /// One run: the page asked for again and again over one connection.
    async fn ask(&mut self, server: &Server, token: &str, size: &Size) {
        let mut stream = TcpStream::connect(server.address).await.expect("connect to the server");
        stream.set_nodelay(true).expect("nodelay");
        let request = request(&self.path, token);
        let mut buffer = vec![0u8; PAGE_MAX];
        let mut took = Vec::new();
        for n in 0..=size.of(ASKED, 20) {
            let began = Instant::now();
            let (status, length) = exchange(&mut stream, &request, &mut buffer).await;
            assert_eq!(status, OK, "{}: {}", self.path, String::from_utf8_lossy(&buffer[..length]));
            // The first one of a run warms the caches.
            if n > 0 {
                took.push(began.elapsed().as_secs_f64() * 1_000.0);
            }
            if self.bytes.is_empty() {
                self.bytes = buffer[..length].to_vec();
            }
        }
        took.sort_by(f64::total_cmp);
        self.medians.push(took[took.len() / 2]);
        self.p99s.push(took[(took.len() * 99).div_ceil(100) - 1]);
    }
}

fn tell(report: &mut Report, name: &str, all: &[Measured]) {
    let assets: usize = [&STYLE, &HTMX, &SCRIPT].iter().map(|asset| compressed(asset.bytes())).sum();
    let (mut largest, mut first) = (0.0f64, "");
    for one in all {
        let kb = compressed(&one.bytes) as f64 / 1_000.0;
        if kb > largest {
            (largest, first) = (kb, &one.name);
        }
        report.add(
            &format!("{}, {name}", one.name),
            "ms p99",
            median(one.p99s.clone()),
            P99_MS,
            Goal::Below,
            &format!("median {:.1} ms; {kb:.1} KB compressed", median(one.medians.clone())),
        );
    }
    let notes = format!("{first}, by gzip");
    report.add(&format!("the largest page, {name}"), "KB", largest, PAGE_KB, Goal::Below, &notes);
    let view = largest + assets as f64 / 1_000.0;
    let notes = "the largest page with style sheet and scripts, by gzip";
    report.add(&format!("a first view, {name}"), "KB", view, FIRST_VIEW_KB, Goal::Below, notes);
}

/// Bytes as gzip makes them at its usual level.
fn compressed(bytes: &[u8]) -> usize {
    let mut gzip = Command::new("gzip")
        .args(["-6", "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start gzip");
    let mut input = gzip.stdin.take().expect("its input");
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes).expect("write to gzip"));
    let said = gzip.wait_with_output().expect("gzip");
    writer.join().expect("the writer");
    said.stdout.len()
}

/// The list of all payments as CSV.
fn csv(report: &mut Report, size: &Size, name: &str, server: &Server, token: &str, rows: usize) {
    let (mut rates, mut growths) = (Vec::new(), Vec::new());
    for _ in 0..size.runs {
        let before = server.rss_mb();
        let done = AtomicBool::new(false);
        let (rate, most) = tokio::task::block_in_place(|| {
            std::thread::scope(|scope| {
                let watch = scope.spawn(|| crate::memory::greatest(server, &done));
                let began = Instant::now();
                let got = lines_of("/dashboard/payments?format=csv", server, token);
                let rate = got as f64 / began.elapsed().as_secs_f64();
                done.store(true, Ordering::SeqCst);
                assert_eq!(got, rows, "rows of the CSV");
                (rate, watch.join().expect("the watch"))
            })
        });
        rates.push(rate);
        growths.push(most - before);
    }
    let what = format!("CSV of {rows} payments, {name}");
    report.add(&what, "rows/s", median(rates), ROWS_A_SECOND, Goal::AtLeast, "");
    let what = format!("memory taken meanwhile, {name}");
    report.add(
        &what,
        "MB",
        median(growths),
        CSV_GROWTH_MB,
        Goal::Below,
        "the greatest seen, less what it was before",
    );
}

/// Rows of a CSV of payments; each begins with the payment's id.
fn lines_of(path: &str, server: &Server, token: &str) -> usize {
    const BEGIN: &[u8] = b"\nTXN-";
    let mut stream = std::net::TcpStream::connect(server.address).expect("connect to the server");
    let asked =
        format!("GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\nCookie: session={token}\r\n\r\n");
    stream.write_all(asked.as_bytes()).expect("send a request");
    let mut buffer = vec![0u8; 256 * 1024];
    let (mut kept, mut lines) = (0, 0);
    loop {
        let read = stream.read(&mut buffer[kept..]).expect("read the CSV");
        if read == 0 {
            return lines;
        }
        let filled = kept + read;
        lines += buffer[..filled].windows(BEGIN.len()).filter(|some| *some == BEGIN).count();
        kept = filled.min(BEGIN.len() - 1);
        buffer.copy_within(filled - kept..filled, 0);
    }
}

/// Reading a payment while many reload a page, beside the same reading with none.
fn starve(
    report: &mut Report,
    size: &Size,
    name: &str,
    server: &Server,
    (page, token): (&str, &str),
    (payment, key): (&str, &str),
) {
    let reading = Requests::fixed(vec![get(&format!("/api/v1/payment/{payment}"), key)]);
    let pages = Requests::fixed(vec![request(page, token)]);
    let time = Duration::from_secs(size.seconds);
    let p99 = || {
        let mut all = paced(server.address, READERS, time, PAUSE, &reading);
        all.sort();
        all[(all.len() * 99).div_ceil(100) - 1].as_secs_f64() * 1_000.0
    };
    let (mut idle, mut busy, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    tokio::task::block_in_place(|| {
        for run in 0..size.runs {
            std::thread::scope(|scope| {
                idle.push(scope.spawn(p99).join().expect("the readers"));
                let load = scope
                    .spawn(|| drive(server.address, RELOADING, time + PAUSE * 50, &pages, OK, run as u64));
                busy.push(scope.spawn(p99).join().expect("the readers"));
                rates.push(load.join().expect("those who reload").per_second);
            });
        }
    });
    let (idle, busy) = (median(idle), median(busy));
    report.add(
        &format!("p99 of reading, {RELOADING} reload a page, {name}"),
        "ms",
        busy,
        idle,
        Goal::AtMostTimes(STARVED_TIMES),
        &format!(
            "yardstick: the same without them; the page is {page}, {:.0} a second; {READERS} readers that pause {} ms",
            median(rates),
            PAUSE.as_millis()
        ),
    );
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
