//! Callers that ask for payments, and somebody who hands in the mails of their money.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tillbell::domain::time::Span;
use tokio::time::{Instant, sleep, timeout};

use super::Dice;
use super::history::{Asked, History, Mail};
use super::world::World;
use crate::crashes::{ACCOUNT, now, request};
use crate::harness::mails::Alert;

/// Callers at one time.
const CALLERS: u64 = 4;
/// Of a hundred payments so many are paid.
const PAID: u64 = 80;
/// A request that takes longer is given up; what became of it nobody knows.
const ANSWER_WITHIN: Duration = Duration::from_secs(12);
/// Mails of one command: more than callers ask for meanwhile.
const MAILS: usize = 40;
/// Of a hundred commands so many die on their way.
const CRASHING: u64 = 25;
/// So long somebody hands in what nothing took before.
const REST_WITHIN: Duration = Duration::from_secs(120);
const POINTS: [&str; 5] = [
    "alert.stored",
    "alert.before_decision",
    "store.before_commit",
    "store.after_commit",
    "store.between_statements",
];

pub async fn ask(world: &World, history: &History, dice: &Dice, until: Instant) {
    let lanes = (0..CALLERS).map(|lane| (lane, dice.more()));
    let callers = lanes.map(|(lane, dice)| async move {
        for n in 0.. {
            if Instant::now() >= until {
                break;
            }
            one(world, history, &dice, n * CALLERS + lane).await;
            sleep(Duration::from_millis(100 + dice.below(300))).await;
        }
    });
    futures_util::future::join_all(callers).await;
}

/// Asks for one payment, perhaps at a node that is not there.
async fn one(world: &World, history: &History, dice: &Dice, n: u64) {
    let id = format!("T-{n}");
    // No two amounts are the same, and no two names alike: each mail means one payment.
    let naira = 1_000 + i64::try_from(n).unwrap();
    let payer = format!("{} {}", made_up(dice), made_up(dice));
    let is_paid = dice.percent(PAID);
    let mail = if is_paid { Mail::Underway } else { Mail::None };
    history.asks(&id, Asked { naira, payer: payer.clone(), is_made: false, mail: Mail::None });
    let body = world.here.body(&id, naira, &payer);
    let node = dice.one_of(&world.nodes).address;
    let answer = request(node, "POST /api/v1/payment-request", &world.here.key, &body);
    match timeout(ANSWER_WITHIN, answer).await {
        Ok(Some((201, _))) => {
            history.made(&id);
            history.mail(&id, mail);
        }
        // The database is away.
        Ok(Some((503, _))) => history.not_answered(),
        Ok(Some((status, answer))) => panic!("{id}: {status} {answer}"),
        Ok(None) | Err(_) => {
            history.not_answered();
            // It may have been made, and its customer pays.
            history.mail(&id, mail);
        }
    }
}

/// A word that is like no other.
fn made_up(dice: &Dice) -> String {
    const FIRST: &[u8] = b"BDFGJKLMNRSTVWYZ";
    const THEN: &[u8] = b"AEIOU";
    (0..4).flat_map(|_| [*dice.one_of(FIRST), *dice.one_of(THEN)]).map(char::from).collect()
}

/// Hands in the mails of those who paid, some of them more than once, until the time is over.
pub async fn hand_in(world: &World, history: &History, dice: &Dice, until: Instant) {
    while Instant::now() < until {
        let mut mails = history.those(Mail::Underway);
        mails.truncate(MAILS);
        if dice.percent(30) {
            let stored = history.those(Mail::Stored);
            let again: Vec<_> =
                (0..3).filter(|_| !stored.is_empty()).map(|_| dice.one_of(&stored).clone()).collect();
            history.copied(again.len());
            mails.extend(again);
        }
        let point = format!("{}:{}", dice.one_of(&POINTS), 1 + dice.below(30));
        ingest(world, history, mails, dice.percent(CRASHING).then_some(point)).await;
        sleep(Duration::from_millis(100)).await;
    }
}

/// The same for all that are left, when nothing breaks any more.
pub async fn hand_in_the_rest(world: &World, history: &History) {
    let deadline = Instant::now() + REST_WITHIN;
    loop {
        let mails = history.those(Mail::Underway);
        if mails.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "these mails are never taken: {mails:?}");
        for some in mails.chunks(MAILS) {
            ingest(world, history, some.to_vec(), None).await;
        }
    }
}

/// Runs one command with these mails, and notes which of them it says are stored.
async fn ingest(world: &World, history: &History, mails: Vec<(String, Asked)>, crash_at: Option<String>) {
    if mails.is_empty() {
        return;
    }
    let files: Vec<(String, PathBuf)> =
        mails.iter().map(|(id, asked)| (id.clone(), file(world, id, asked))).collect();
    let mut command = world.command(&["alert", "ingest", "--trusted", "--json"]);
    command.args(files.iter().map(|(_, file)| file));
    if let Some(point) = &crash_at {
        command.env("TILLBELL_CRASH_AT", point);
    }
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let Ok(told) = serde_json::from_slice::<Value>(&output.stdout) else { return };
    for result in told["results"].as_array().into_iter().flatten() {
        let Some((id, _)) = files.iter().find(|(_, file)| result["file"] == file.to_str().unwrap()) else {
            continue;
        };
        if result["alert_id"].is_i64() {
            history.mail(id, Mail::Stored);
        }
    }
}

/// The mail of a payment's money, written once: a copy is the same to the byte.
fn file(world: &World, id: &str, asked: &Asked) -> PathBuf {
    let path = world.here.folder.path().join(id);
    if !path.exists() {
        let came = now() + Span::seconds(1);
        world.here.mail(id, &Alert::credit(ACCOUNT, asked.naira, &asked.payer, came));
    }
    path
}
