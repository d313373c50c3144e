//! Whose clock counts: with several nodes on one database that of the database, whatever a node's own says. The real program
//! runs with a clock that is turned under it (libfaketime).

use std::path::{Path, PathBuf};

use tillbell::domain::time::{Span, Timestamp};

use crate::crashes::{Installation, Service, now, request};
use crate::harness::databases::Engine;

/// More than a test takes, and less than the clocks are turned by.
const NEAR: Span = Span::minutes(2);

fn libfaketime() -> PathBuf {
    let places = ["x86_64-linux-gnu", "aarch64-linux-gnu"].map(|machine| Path::new("/usr/lib").join(machine));
    let files = places.map(|place| place.join("faketime/libfaketime.so.1"));
    files.into_iter().find(|file| file.exists()).expect("libfaketime; Debian's package is faketime")
}

/// When the service says that it made a payment.
async fn made_at(here: &Installation, service: &Service, transaction_id: &str) -> Timestamp {
    let body = here.body(transaction_id, 5_000, "Halima Garba");
    let made = request(service.address, "POST /api/v1/payment-request", &here.key, &body).await;
    let (status, answer) = made.expect("an answer");
    assert_eq!(status, 201, "{answer}");
    let at: jiff::Timestamp = answer["data"]["created_at"].as_str().unwrap().parse().unwrap();
    Timestamp(at.as_microsecond())
}

fn apart(one: Timestamp, other: Timestamp) -> Span {
    one.since(other).max(other.since(one))
}

on_both! {
    async fn a_nodes_clock_that_is_wrong_or_turned_counts_for_nothing_where_nodes_share_a_database(db: TestDatabase) {
        let here = Installation::new(db).await;
        let turned = here.folder.path().join("turned");
        let turn = |by: &str| std::fs::write(&turned, by).unwrap();
        turn("+300");
        let library = libfaketime();
        let service = here.serve_with(&[
            ("LD_PRELOAD", library.to_str().unwrap()),
            ("FAKETIME_TIMESTAMP_FILE", turned.to_str().unwrap()),
            ("FAKETIME_NO_CACHE", "1"),
            // Nobody can set that one.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ]);
        let service = service.expect("the service says where it listens");
        let is_shared = here.database.engine() == Engine::Postgres;
        for (id, by, seconds) in [("AHEAD", "+300", 300), ("BACK", "-3600", -3_600)] {
            turn(by);
            let at = made_at(&here, &service, id).await;
            let expected = if is_shared { now() } else { now() + Span::seconds(seconds) };
            assert!(apart(at, expected) < NEAR, "{id}: {at} is not about {expected}");
        }
        here.audit();
    }
}
