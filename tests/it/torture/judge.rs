//! What must be true afterwards, by what callers and receivers saw and what the books say.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::history::{Asked, History, Mail};
use super::world::World;
use crate::crashes::request;

/// Leases of nodes that died end within two minutes.
const RIGHT_WITHIN: Duration = Duration::from_secs(240);

pub async fn judge(world: &World, history: &History) {
    let all = history.all();
    let deadline = Instant::now() + RIGHT_WITHIN;
    let mut told = usize::MAX;
    loop {
        let missing = missing(world, &all).await;
        if missing.is_empty() {
            break;
        }
        if missing.len() < told / 2 {
            told = missing.len();
            println!("{told} of {} are not yet as they must be", all.len());
        }
        assert!(
            Instant::now() < deadline,
            "{} are not as they must be: {:?}",
            missing.len(),
            missing.first()
        );
        sleep(Duration::from_millis(500)).await;
    }
    let credited = books(world, &all).await;
    heard(world, &all);
    let balance = get(world, "/api/v1/balance").await.1;
    let available = balance["data"]["available"].as_number().expect("a balance").to_string();
    assert_eq!(kobo(&available), credited, "the balance is what the payments say");
    world.here.audit();
}

/// What is not yet as it must be.
async fn missing(world: &World, all: &BTreeMap<String, Asked>) -> Vec<String> {
    let heard = told_of(world);
    let mut missing = Vec::new();
    for (id, asked) in all.iter().filter(|(_, asked)| asked.mail == Mail::Stored) {
        let (status, read) = get(world, &format!("/api/v1/payment/{id}")).await;
        // A payment that nobody was told of may not have been made, and then nobody's money came for it.
        if status == 404 && !asked.is_made {
            continue;
        }
        if read["data"]["status"] != "approved" || !heard.contains_key(id) {
            missing.push(format!("{id}: {read}, told {}", heard.contains_key(id)));
        }
    }
    missing
}

/// Reads every payment; the sum of what the merchant gets, in kobo.
async fn books(world: &World, all: &BTreeMap<String, Asked>) -> i64 {
    let mut credited = 0;
    for (id, asked) in all {
        let (status, read) = get(world, &format!("/api/v1/payment/{id}")).await;
        if status == 404 {
            assert!(!asked.is_made, "{id} was acknowledged and is lost");
            continue;
        }
        let data = &read["data"];
        assert_eq!(kobo(&data["amount"].to_string()), asked.naira * 100, "{read}");
        let expected = if asked.mail == Mail::Stored { "approved" } else { "pending" };
        assert_eq!(data["status"], expected, "{id}: {asked:?} {read}");
        if expected == "approved" {
            assert_eq!(kobo(&data["received_amount"].to_string()), asked.naira * 100, "{read}");
            credited += kobo(&data["charges"]["business_receives"].to_string());
        }
    }
    credited
}

/// Each payment that was paid was told of, by one event however often; no other was.
fn heard(world: &World, all: &BTreeMap<String, Asked>) {
    for (id, events) in told_of(world) {
        let asked = all.get(&id).expect("a payment that was asked for");
        assert_eq!(asked.mail, Mail::Stored, "{id} was told of, and nobody paid");
        assert_eq!(events.len(), 1, "{id} was told of as {events:?}: the money came once");
    }
}

/// By payment, what receivers heard of its approval: ids of events, with their bodies.
fn told_of(world: &World) -> BTreeMap<String, BTreeSet<(String, String)>> {
    let mut told: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for hook in world.here.receiver().received() {
        let body: Value = hook.json();
        assert_eq!(body["event"], "payment.approved", "{body}");
        let id = body["transaction_id"].as_str().expect("an id").to_owned();
        let event = (hook.header("webhook-id").to_owned(), body.to_string());
        told.entry(id).or_default().insert(event);
    }
    told
}

async fn get(world: &World, path: &str) -> (u16, Value) {
    let node = world.nodes[0].address;
    request(node, &format!("GET {path}"), &world.here.key, "").await.expect("an answer")
}

/// Of an amount in naira with two decimals.
fn kobo(naira: &str) -> i64 {
    let (whole, part) = naira.split_once('.').unwrap_or((naira, "00"));
    let part = format!("{part:0<2}");
    whole.parse::<i64>().expect("naira") * 100 + part.parse::<i64>().expect("kobo")
}
