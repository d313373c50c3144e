//! How long one alert takes to be decided, with more and more open payments on its account. The
//! time must not grow with them, and not with how many of them have the alert's own amount either.

use std::time::Instant;

use tillbell::domain::alert::{AlertStatus, BankTime, TimePrecision};
use tillbell::domain::money::Money;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::decide::decide_alert;
use tillbell::store::Step;
use tillbell::store::tables::alerts;

use crate::report::{Goal, Report, median};
use crate::server::Postgres;
use crate::world::{Dice, World, payment_steps, said};
use crate::{Size, scratch};

const HOOK: &str = "https://shop0.example/hook";
/// Alerts decided at each size, one after another.
const DECIDED: usize = 300;
/// The one amount of many payments; no other has it.
const SAME: Money = Money(77_700_000_000);
/// Seconds between two transfers.
const APART: i64 = 10;
/// From 1,000 to 1,000,000,000 kobo, as payments vary.
const AMOUNTS: usize = 1_000_000_000;

/// Adds open payments of one business until there are `total`; every so often one is kept to be paid.
async fn fill(
    world: &World,
    from: usize,
    total: usize,
    kept: usize,
    amount: impl Fn(&mut Dice) -> Money,
) -> Vec<tillbell::domain::payment::Payment> {
    let began = Instant::now();
    let mut dice = Dice(from as u64 + 1);
    let mut steps: Vec<Step> = Vec::new();
    let mut chosen = Vec::new();
    let every = ((total - from) / kept).max(1);
    for n in from..total {
        let amount = amount(&mut dice);
        let payment = world.payment(0, amount, dice.name(), HOOK).await;
        world.pour(&mut steps, payment_steps(&payment)).await;
        if n % every == 0 && chosen.len() < kept {
            chosen.push(payment);
        }
    }
    world.flush(steps).await;
    said(&format!("{total} open payments"), began);
    chosen
}

/// Median and maximum of deciding an alert for each of the payments, in ms.
async fn time(world: &World, paid: &[tillbell::domain::payment::Payment], wanted: AlertStatus) -> (f64, f64) {
    let (mut times, mut incomplete) = (Vec::new(), 0);
    for (at, payment) in paid.iter().enumerate() {
        let mut alert = world.alert(payment).await;
        // Money comes to an account one transfer after another, and not hundreds of one price within a second.
        let came = world.app.now() - Span::seconds(APART * at as i64);
        alert.facts.occurred = Some(BankTime { begin: came, end: came, precision: TimePrecision::Second });
        world
            .flush(vec![alerts::add(&alert), alerts::raise_amount_version(world.account.id, payment.amount)])
            .await;
        let began = Instant::now();
        let outcome = decide_alert(&world.app, alert.id).await.expect("the store");
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        // Of a million at one price more than two thousand may bear a like name: then a person decides.
        if outcome.status != wanted && outcome.reason.contains("not all were checked") {
            incomplete += 1;
        } else {
            assert_eq!(outcome.status, wanted, "{}", outcome.reason);
        }
    }
    if incomplete > 0 {
        println!("  ({incomplete} of {} to a person: more like names than are read)", paid.len());
    }
    let most = times.iter().copied().fold(0.0, f64::max);
    (median(times), most)
}

pub async fn run(report: &mut Report, size: &Size, server: Option<&Postgres>) {
    let folder = scratch();
    engine(report, size, "SQLite", &format!("sqlite:{}", folder.path().join("bench.db").display())).await;
    if let Some(server) = server {
        engine(report, size, "PostgreSQL", &server.database("decide")).await;
    }
}

async fn engine(report: &mut Report, size: &Size, name: &str, url: &str) {
    let world = World::new(url, 1, "").await;
    let sizes = if size.quick { vec![200, 1_000, 5_000] } else { vec![1_000, 100_000, 1_000_000] };
    let mut base = 0.0;
    let mut there = 0;
    for total in sizes {
        let varied = |dice: &mut Dice| Money(1_000 + dice.below(AMOUNTS) as i64);
        let paid = fill(&world, there, total, DECIDED.min(total / 2), varied).await;
        there = total;
        // The first ones warm the caches of the database.
        time(&world, &paid[..paid.len() / 3], AlertStatus::Matched).await;
        let (middle, most) = time(&world, &paid[paid.len() / 3..], AlertStatus::Matched).await;
        let what = format!("deciding an alert, {name}, {total} open");
        let notes = format!("slowest {most:.2} ms");
        if base == 0.0 {
            base = middle;
            report.add(&what, "ms", middle, middle, Goal::None, &notes);
        } else {
            report.add(&what, "ms", middle, base, Goal::AtMostTimes(1.5), &notes);
        }
    }
    let mut there = 0;
    for count in [size.of(100_000, 3_000), size.of(1_000_000, 6_000)] {
        let paid = fill(&world, there, count, DECIDED.min(count / 2), |_| SAME).await;
        there = count;
        time(&world, &paid[..paid.len() / 3], AlertStatus::Matched).await;
        let (middle, most) = time(&world, &paid[paid.len() / 3..], AlertStatus::Matched).await;
        let what = format!("deciding an alert, {name}, {count} of its amount");
        report.add(&what, "ms", middle, base, Goal::AtMostTimes(1.5), &format!("slowest {most:.2} ms"));
    }
}
