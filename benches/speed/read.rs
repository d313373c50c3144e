//! Reading a payment over HTTP, beside a route that does nothing.

use std::time::Duration;

use tillbell::domain::money::Money;
use tillbell::store::Step;

use crate::driver::{Requests, drive, get};
use crate::report::{Goal, Report, median};
use crate::server::{Postgres, Server};
use crate::world::{Dice, World, payment_steps};
use crate::{Size, scratch};

const CONNECTIONS: usize = 64;
const OK: u16 = 200;
/// Payments that are there, and read in turn.
const PAYMENTS: usize = 20_000;

/// A database with payments; the requests that read them.
async fn prepare(url: &str) -> Requests {
    let world = World::new(url, 1, "").await;
    let key = &world.businesses[0].key;
    let mut dice = Dice(9);
    let (mut steps, mut all): (Vec<Step>, _) = (Vec::new(), Vec::new());
    for n in 0..PAYMENTS {
        let amount = Money(100_000 + n as i64 * 300);
        let payment = world.payment(0, amount, dice.name(), "https://shop0.example/hook").await;
        all.push(get(&format!("/api/v1/payment/{}", payment.transaction_id), key));
        world.pour(&mut steps, payment_steps(&payment)).await;
    }
    world.flush(steps).await;
    Requests::fixed(all)
}

fn load(server: &Server, requests: &Requests, size: &Size, seed: u64) -> f64 {
    let time = Duration::from_secs(size.seconds);
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let run = || drive(server.address, CONNECTIONS, time, requests, OK, seed);
            scope.spawn(run).join().expect("the driver").per_second
        })
    })
}

pub async fn run(report: &mut Report, size: &Size, postgres: Option<&Postgres>) {
    let folder = scratch();
    let bare = Server::ceiling(folder.path());
    let nothing = Requests::fixed(vec![get("/nothing", "none")]);
    let healthz = Requests::fixed(vec![get("/healthz", "none")]);
    let mut urls = vec![("SQLite", format!("sqlite:{}", folder.path().join("read.db").display()))];
    urls.extend(postgres.map(|server| ("PostgreSQL", server.database("read"))));
    for (name, url) in urls {
        let requests = prepare(&url).await;
        let ours = Server::tillbell(&url, folder.path(), "api");
        load(&ours, &requests, &Size { seconds: 1, ..*size }, 7);
        let (mut rates, mut bares, mut healths) = (Vec::new(), Vec::new(), Vec::new());
        for run in 0..size.runs {
            rates.push(load(&ours, &requests, size, run as u64));
            bares.push(load(&bare, &nothing, size, run as u64));
            healths.push(load(&ours, &healthz, size, run as u64));
        }
        let ours = median(rates);
        report.add(
            &format!("reading a payment over HTTP, {name}"),
            "/s",
            ours,
            median(bares),
            Goal::AtLeastTimes(0.5),
            "yardstick: a bare axum route with a fixed answer; 64 connections, same driver",
        );
        report.add(
            &format!("the same beside our own /healthz, {name}"),
            "/s",
            ours,
            median(healths),
            Goal::None,
            "yardstick: /healthz of the same listener",
        );
    }
}
