//! How open pages hear of changes: from this node and from another, after a cut, at the limits, and at the end of the service.

use tillbell::domain::time::Span;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::reject::reject_payment;
use tillbell::serve::start;

use super::world::{Desk, NAME, PAGES, Stream};
use crate::harness::app::{ACCOUNT, at};
use crate::harness::databases::{Engine, TestDatabase};
use crate::harness::mails::Alert;
use crate::wallet_pages::site::exchange;

/// `http::live` holds so many.
const OF_ONE: usize = 5;
const OF_NODE: usize = 2_000;

on_both! {
    async fn a_stream_tells_at_once_and_at_every_change(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (_, path) = desk.open().await;
        let mut stream = Stream::open(desk.running.address, &path).await;
        let (name, state) = stream.next().await;
        assert_eq!((name.as_str(), &state), ("state", &serde_json::json!({"status": "pending", "view": "waiting"})));
        desk.came(4_000, NAME).await;
        assert_eq!(stream.view().await, "too_little");
        desk.came(5_000, NAME).await;
        assert_eq!(stream.next().await.1, serde_json::json!({"status": "approved", "view": "paid"}));
        desk.close().await;
        stream.ends().await;
    }

    async fn a_stream_tells_by_itself_that_the_time_is_over(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (_, path) = desk.open().await;
        let mut stream = Stream::open(desk.running.address, &path).await;
        assert_eq!(stream.view().await, "waiting");
        desk.t.advance(Span::hours(25));
        assert_eq!(stream.view().await, "expired");
        desk.close().await;
    }

    async fn whoever_comes_again_after_a_cut_hears_how_it_stands(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (payment, path) = desk.open().await;
        let mut stream = Stream::open(desk.running.address, &path).await;
        assert_eq!(stream.view().await, "waiting");
        drop(stream);
        reject_payment(&desk.t.app, desk.shop.id, &payment.transaction_id, "ada", "no more").await.unwrap().unwrap();
        let mut stream = Stream::open(desk.running.address, &path).await;
        assert_eq!(stream.view().await, "rejected");
        desk.close().await;
    }

    async fn the_sixth_stream_of_a_link_is_refused_until_one_ends(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (_, path) = desk.open().await;
        let other = desk.path(&desk.t.create(&desk.shop, 6_000, NAME).await);
        let mut held = Vec::new();
        for _ in 0..OF_ONE {
            let mut stream = Stream::open(desk.running.address, &path).await;
            assert_eq!(stream.view().await, "waiting");
            held.push(stream);
        }
        let (status, headers, _) = exchange(desk.running.address, "GET", &format!("{path}/events"), &[], None).await;
        assert_eq!(status, 429, "{headers:?}");
        assert!(headers.iter().any(|(name, _)| name == "retry-after"), "{headers:?}");
        assert_eq!(Stream::open(desk.running.address, &other).await.status, 200, "of another payment");
        assert_eq!(desk.view(&path).await, "waiting", "its state is told all the same");
        drop(held);
        crate::harness::until::until("a place", async || {
            let stream = Stream::open(desk.running.address, &path).await;
            (stream.status == 200).then_some(())
        })
        .await;
        desk.close().await;
    }

    async fn the_service_ends_though_streams_are_open(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (_, path) = desk.open().await;
        let mut stream = Stream::open(desk.running.address, &path).await;
        assert_eq!(stream.view().await, "waiting");
        let began = std::time::Instant::now();
        desk.close().await;
        assert!(began.elapsed().as_secs() < 20, "the listener waits 25 s for what does not end by itself");
        stream.ends().await;
    }
}

/// One change, made by a node that shows no page, reaches the pages of two others.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_another_node_reaches_open_pages() {
    let desk = Desk::new(TestDatabase::migrated(Engine::Postgres).await).await;
    let (_, path) = desk.open().await;
    let second = start(desk.t.another_node().await, PAGES).await.unwrap();
    let third = desk.t.another_node().await;
    let mut here = Stream::open(desk.running.address, &path).await;
    let mut there = Stream::open(second.address, &path).await;
    assert_eq!((here.view().await, there.view().await), ("waiting".into(), "waiting".into()));
    desk.t.advance(Span::minutes(11));
    let taken = desk.t.taken(&Alert::credit(ACCOUNT, 4_000, NAME, at()).text(), true);
    take_alert(&third, &taken).await.unwrap();
    assert_eq!((here.view().await, there.view().await), ("too_little".into(), "too_little".into()));
    let taken = desk.t.taken(&Alert::credit(ACCOUNT, 5_000, NAME, at()).text(), true);
    take_alert(&third, &taken).await.unwrap();
    assert_eq!((here.view().await, there.view().await), ("paid".into(), "paid".into()));
    second.stop().await;
    desk.close().await;
}

/// One more than a node holds.
#[tokio::test(flavor = "multi_thread")]
async fn the_2001st_stream_of_a_node_is_refused() {
    let desk = Desk::new(TestDatabase::migrated(Engine::Sqlite).await).await;
    let mut held = Vec::with_capacity(OF_NODE);
    let mut payments = Vec::new();
    for n in 0..(OF_NODE / OF_ONE) as i64 {
        let payment = desk.t.create(&desk.shop, 5_000 + n, NAME).await;
        let path = desk.path(&payment);
        for _ in 0..OF_ONE {
            let stream = Stream::open(desk.running.address, &path).await;
            assert_eq!(stream.status, 200);
            held.push(stream);
        }
        payments.push((payment, path));
    }
    let more = desk.path(&desk.t.create(&desk.shop, 900_000, NAME).await);
    let (status, ..) = exchange(desk.running.address, "GET", &format!("{more}/events"), &[], None).await;
    assert_eq!(status, 429);
    // They all hear.
    let (last, _) = payments.last().unwrap();
    reject_payment(&desk.t.app, desk.shop.id, &last.transaction_id, "ada", "no more").await.unwrap().unwrap();
    for stream in held.iter_mut().rev().take(OF_ONE) {
        assert_eq!((stream.view().await, stream.view().await), ("waiting".into(), "rejected".into()));
    }
    drop(held);
    desk.close().await;
}
