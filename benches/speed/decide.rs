//! How long one alert takes to be decided, with more and more open payments on its account. The
//! time must not grow with them, and not with how many of them have the alert's own amount either. Each
//! number has a database of its own, and they take turns, one alert after another.

use std::time::Instant;

use tillbell::domain::alert::{AlertStatus, BankTime, TimePrecision};
use tillbell::domain::money::Money;
use tillbell::domain::payment::Payment;
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

/// One database with its open payments, and what deciding alerts of some of them took.
struct Scene {
    what: String,
    world: World,
    paid: Vec<Payment>,
    times: Vec<f64>,
    /// Left to a person, because more bear a like name than are read.
    incomplete: usize,
}

impl Scene {
    /// With so many open payments of one business; every so often one is kept to be paid.
    async fn new(url: &str, total: usize, what: String, amount: impl Fn(&mut Dice) -> Money) -> Scene {
        let world = World::new(url, 1, "").await;
        let began = Instant::now();
        let mut dice = Dice(total as u64);
        let mut steps: Vec<Step> = Vec::new();
        let mut paid = Vec::new();
        let kept = DECIDED.min(total / 2);
        for n in 0..total {
            let payment = world.payment(0, amount(&mut dice), dice.name(), HOOK).await;
            world.pour(&mut steps, payment_steps(&payment)).await;
            if n % (total / kept) == 0 && paid.len() < kept {
                paid.push(payment);
            }
        }
        world.flush(steps).await;
        said(&what, began);
        Scene { what, world, paid, times: Vec::new(), incomplete: 0 }
    }

    /// Has the alert of one of its payments decided, and keeps how long that took, in ms.
    async fn decide(&mut self, at: usize) {
        let Scene { world, .. } = self;
        let payment = &self.paid[at];
        let mut alert = world.alert(payment).await;
        // Money comes to an account one transfer after another, and not hundreds of one price within a second.
        let came = world.app.now() - Span::seconds(APART * at as i64);
        alert.facts.occurred = Some(BankTime { begin: came, end: came, precision: TimePrecision::Second });
        world
            .flush(vec![alerts::add(&alert), alerts::raise_amount_version(world.account.id, payment.amount)])
            .await;
        let began = Instant::now();
        let outcome = decide_alert(&world.app, alert.id).await.expect("the store");
        self.times.push(began.elapsed().as_secs_f64() * 1000.0);
        // Of a million at one price more than two thousand may bear a like name: then a person decides.
        if outcome.reason.contains("not all were checked") {
            self.incomplete += 1;
        } else {
            assert_eq!(outcome.status, AlertStatus::Matched, "{}", outcome.reason);
        }
    }
}

pub async fn run(report: &mut Report, size: &Size, server: Option<&Postgres>) {
    let folder = scratch();
    let file = |n| format!("sqlite:{}", folder.path().join(format!("bench{n}.db")).display());
    engine(report, size, "SQLite", file).await;
    if let Some(server) = server {
        engine(report, size, "PostgreSQL", |n| server.database(&format!("decide{n}"))).await;
    }
}

async fn engine(report: &mut Report, size: &Size, name: &str, url: impl Fn(usize) -> String) {
    let mut scenes = Vec::new();
    for total in [size.of(1_000, 200), size.of(100_000, 3_000), size.of(1_000_000, 6_000)] {
        let what = format!("deciding an alert, {name}, {total} open");
        let varied = |dice: &mut Dice| Money(1_000 + dice.below(AMOUNTS) as i64);
        scenes.push(Scene::new(&url(scenes.len()), total, what, varied).await);
    }
    for total in [size.of(100_000, 3_000), size.of(1_000_000, 6_000)] {
        let what = format!("deciding an alert, {name}, {total} of its amount");
        scenes.push(Scene::new(&url(scenes.len()), total, what, |_| SAME).await);
    }
    // In turns, so that a machine that is slower for a while is so for all of them.
    let turns = scenes.iter().map(|scene| scene.paid.len()).min().unwrap_or(0);
    for at in 0..turns {
        for scene in &mut scenes {
            scene.decide(at).await;
        }
    }
    let mut base = None;
    for scene in &scenes {
        // The first ones warm the caches of the database.
        let times = &scene.times[turns / 3..];
        let middle = median(times.to_vec());
        let slowest = times.iter().copied().fold(0.0, f64::max);
        let mut notes = format!("slowest {slowest:.2} ms");
        if scene.incomplete > 0 {
            notes += &format!("; {} of {turns} to a person: more like names than are read", scene.incomplete);
        }
        let goal = if base.is_some() { Goal::AtMostTimes(1.5) } else { Goal::None };
        report.add(&scene.what, "ms", middle, *base.get_or_insert(middle), goal, &notes);
    }
}
