//! How long the desk keeps a reviewer waiting who clears a hundred doubtful alerts by keyboard alone, in a real browser: from
//! the key that decides one alert until the keys of the next one count. What is left of six seconds an alert is for reading.

use std::time::Instant;

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::money::{Money, naira};
use tillbell::domain::time::Span;
use tillbell::domain::user::StaffRole;
use tillbell::ops::alerts::decide::decide_alert;
use tillbell::ops::people::users::{Place, add_user};
use tillbell::store::tables::alerts;

use crate::browser::Browser;
use crate::report::{Goal, Report, median};
use crate::server::{Postgres, Server};
use crate::world::{Dice, World, payment_steps};
use crate::{Size, scratch};

const EMAIL: &str = "ife@till.example";
const PASSWORD: &str = "seventeen goats walk";
const ALERTS: usize = 100;
/// Each fifth is nobody's: dismissed, with a reason typed.
const DISMISSED: usize = 5;
const REASON: &str = "paid at the counter";
const ENTER: &str = "\u{e007}";
/// A hundred in ten minutes; at most a sixth of it may be ours.
const WAITED_S: f64 = 100.0;

pub async fn run(report: &mut Report, size: &Size, postgres: Option<&Postgres>) {
    let folder = scratch();
    let mut urls = vec![("SQLite", format!("sqlite:{}", folder.path().join("desk.db").display()))];
    urls.extend(postgres.map(|server| ("PostgreSQL", server.database("desk"))));
    for (name, url) in urls {
        let count = size.of(ALERTS, 10);
        let world = World::new(&url, 1, "").await;
        let headings = doubtful_alerts(&world, count).await;
        add_user(&world.app, "bench", EMAIL, Place::Staff(StaffRole::Reviewer), Some(PASSWORD))
            .await
            .expect("a store")
            .expect("a user");
        drop(world);
        let server = Server::tillbell_with(&url, folder.path(), "api,pages", &[("SERVER__DEV", "true")]);
        let base = format!("http://{}", server.address);
        let waited = tokio::task::spawn_blocking(move || clear(&base, &headings)).await.expect("a browser");
        let (slowest, all) = (waited.iter().copied().fold(0.0, f64::max), waited.iter().sum::<f64>());
        let notes = format!(
            "{count} alerts cleared; median {:.2} s, slowest {slowest:.2} s an alert, of which 0.4 s keys are kept from what nobody has seen",
            median(waited)
        );
        let per_hundred = all * ALERTS as f64 / count as f64;
        report.add(
            &format!("desk, waited for 100 alerts, {name}"),
            "s",
            per_hundred,
            WAITED_S,
            Goal::Below,
            &notes,
        );
    }
}

/// Alerts whose payer's name is only near that of the payment, in the order in which the desk shows them; their headings.
async fn doubtful_alerts(world: &World, count: usize) -> Vec<String> {
    let mut dice = Dice(7);
    let mut headings = Vec::new();
    for n in 0..count {
        let amount = Money(1_000_000 + n as i64 * 170_000);
        let payment = world.payment(0, amount, dice.name(), "https://shop0.example/hook").await;
        let mut alert = world.alert(&payment).await;
        alert.first_seen = world.app.now() - Span::seconds((count - n) as i64);
        let first_name = payment.payer_name.split(' ').next().expect("a word").to_uppercase();
        headings.push(format!("{} · {first_name}", naira(amount)));
        alert.facts.payer_name = Some(first_name.clone());
        alert.facts.narration = Some(format!("TRANSFER FROM {first_name}"));
        let mut steps = payment_steps(&payment);
        steps.extend([alerts::add(&alert), alerts::raise_amount_version(world.account.id, amount)]);
        world.flush(steps).await;
        let outcome = decide_alert(&world.app, alert.id).await.expect("the store");
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
    }
    headings
}

/// Seconds waited for each.
fn clear(base: &str, headings: &[String]) -> Vec<f64> {
    let browser = Browser::with_scripts();
    browser.resize((1280, 800));
    browser.open(&format!("{base}/sign-in"));
    browser.fill("#sign-in-email", EMAIL);
    browser.fill("#sign-in-password", PASSWORD);
    browser.press(ENTER);
    browser.shows("What waits");
    browser.open(&format!("{base}/operator/alerts"));
    browser.wait_for("[data-keys=ready]");
    browser.press("\u{e015}");
    browser.press(ENTER);
    browser.shows(&headings[0]);
    let nexts = headings[1..].iter().map(String::as_str).chain(["Nothing waits for you"]);
    let mut waited = Vec::new();
    for (n, next) in nexts.enumerate() {
        browser.wait_for("[data-keys=ready]");
        if n % DISMISSED == DISMISSED - 1 {
            browser.press("d");
            browser.press(REASON);
        }
        let began = Instant::now();
        browser.press(if n % DISMISSED == DISMISSED - 1 { ENTER } else { "a" });
        browser.shows(next);
        if n + 1 < headings.len() {
            browser.wait_for("[data-keys=ready]");
        }
        waited.push(began.elapsed().as_secs_f64());
    }
    waited
}
