//! Many deliveries at once, several nodes, nodes that die: what the claim, the lease and the
//! fence promise.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tillbell::domain::time::Span;
use tillbell::ops::webhooks::deliveries;
use tillbell::store::tables::jobs::{self, JobKind, Queue};
use tillbell::work;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::harness::receiver::{Answer, Receiver};
use crate::webhooks_world::{DEADLINE, World};

/// Set to measure: how many deliveries the backlog of one shop has.
const BACKLOG: &str = "TILLBELL_TEST_BACKLOG";

on_both! {
    async fn a_resend_fences_out_the_running_attempt(db: TestDatabase) {
        let world = World::new(&db).await;
        world.receiver.answer_next(Answer::status(500).after(Duration::from_millis(400)));
        let told = world.tell("/hook").await;
        let app = world.app.clone();
        let running = tokio::spawn(async move { work::run_due(&app).await });
        world.receiver.wait_for(1, DEADLINE).await;
        let before = world.delivery(&told).await;
        deliveries::resend(&world.app, "ada", &[before.id]).await.unwrap();
        running.await.unwrap().unwrap();
        world.work().await;
        let after = world.delivery(&told).await;
        assert_eq!(world.receiver.received().len(), 2);
        assert_eq!(after.outcome.as_deref(), Some("delivered"));
        assert_eq!(after.attempts.len(), 1, "the fenced attempt wrote nothing: {:?}", after.attempts);
        assert_eq!(after.attempts[0].status, Some(200));
        assert_eq!(after.tries, 1);
    }

    async fn two_nodes_make_each_first_attempt_exactly_once(db: TestDatabase) {
        const EVENTS: usize = 400;
        let world = World::new(&db).await;
        let second = world.node().await;
        let stop = CancellationToken::new();
        let nodes: Vec<_> = [world.app.clone(), second]
            .into_iter()
            .map(|app| tokio::spawn(work::run(app, None, stop.clone())))
            .collect();
        for _ in 0..EVENTS {
            world.tell("/hook").await;
            world.app.wake_workers();
        }
        world.receiver.wait_for(EVENTS, DEADLINE).await;
        stop.cancel();
        for node in nodes {
            node.await.unwrap();
        }
        let mut seen: HashMap<String, usize> = HashMap::new();
        for request in world.receiver.received() {
            *seen.entry(request.header("webhook-id").to_owned()).or_default() += 1;
        }
        assert_eq!((seen.len(), seen.values().max()), (EVENTS, Some(&1)));
        let all = world.deliveries().await;
        assert!(all.iter().all(|one| one.outcome.as_deref() == Some("delivered") && one.attempts.len() == 1));
    }

    async fn a_node_that_dies_before_writing_is_made_good_by_another(db: TestDatabase) {
        let world = World::new(&db).await;
        let told = world.tell("/hook").await;
        world.receiver.answer_next(Answer::status(200).after(Duration::from_secs(20)));
        let open = world.opener();
        let doomed = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        doomed.spawn(async move { work::run_due(&open().await).await });
        world.receiver.wait_for(1, DEADLINE).await;
        doomed.shutdown_background();
        assert_eq!(world.work().await, 0, "its lease holds");
        assert_eq!(world.delivery(&told).await.attempts.len(), 0);
        world.advance(Span::seconds(61));
        assert_eq!(world.work().await, 1);
        let requests = world.receiver.received();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].body, requests[1].body);
        assert_eq!(requests[0].header("webhook-id"), requests[1].header("webhook-id"));
        assert_eq!(world.delivery(&told).await.outcome.as_deref(), Some("delivered"));
    }

    async fn a_worker_that_slept_past_its_lease_cannot_write(db: TestDatabase) {
        let world = World::new(&db).await;
        let told = world.tell("/hook").await;
        let (store, lease) = (&world.app.store, Span::seconds(60));
        let slow = store.claim_jobs(JobKind::Deliver, Queue::Fresh, world.app.now(), lease).await.unwrap().remove(0);
        assert!(store.claim_jobs(JobKind::Deliver, Queue::Fresh, world.app.now(), lease).await.unwrap().is_empty());
        world.advance(Span::seconds(60));
        let now = world.app.now();
        let quick = store.claim_jobs(JobKind::Deliver, Queue::Fresh, now, lease).await.unwrap().remove(0);
        assert_eq!((slow.id, slow.attempt + 1), (quick.id, quick.attempt));
        assert!(!store.conclude_job(&slow, [jobs::finish(&slow, "delivered", None, now)]).await.unwrap());
        assert!(store.conclude_job(&quick, [jobs::retry(&quick, now, "no answer")]).await.unwrap());
        assert_eq!(world.delivery(&told).await.outcome, None);
        assert!(store.claim_jobs(JobKind::Deliver, Queue::Fresh, now, lease).await.unwrap().is_empty());
        assert_eq!(store.claim_jobs(JobKind::Deliver, Queue::Retry, now, lease).await.unwrap().len(), 1);
    }

    async fn a_dead_target_with_many_waiting_delays_nobody(db: TestDatabase) {
        const DEAD: usize = 1_500;
        let world = World::with(&db, "timeout = \"3s\"").await;
        let dead = Receiver::start().await;
        dead.answer_otherwise(Answer::status(200).after(Duration::from_secs(600)));
        for _ in 0..DEAD {
            world.tell_at(&dead.url("/dead"), None).await;
        }
        let stop = CancellationToken::new();
        let running = world.running_node().await;
        let node = tokio::spawn(work::run(running.clone(), None, stop.clone()));
        dead.wait_for(1, DEADLINE).await;
        let began = Instant::now();
        for _ in 0..40 {
            world.tell("/alive").await;
            running.wake_workers();
        }
        world.receiver.wait_for(40, Duration::from_secs(2)).await;
        eprintln!("40 healthy deliveries after {:?}", began.elapsed());
        stop.cancel();
        node.await.unwrap();
        let all = world.app.store.job_depths().await.unwrap();
        let open: i64 = all.iter().map(|depth| depth.count).sum();
        assert_eq!(open, DEAD as i64, "nothing of the dead target's is lost");
    }

    async fn old_retries_do_not_stand_before_news(db: TestDatabase) {
        const OLD: usize = 2_000;
        let world = World::with(&db, "timeout = \"3s\"").await;
        let dead = Receiver::start().await;
        dead.answer_otherwise(Answer::status(503).after(Duration::from_millis(500)));
        let store = &world.app.store;
        for _ in 0..OLD {
            world.tell_at(&dead.url("/old"), None).await;
        }
        loop {
            let now = world.app.now();
            let some = store.claim_jobs(JobKind::Deliver, Queue::Fresh, now, Span::seconds(60)).await.unwrap();
            if some.is_empty() {
                break;
            }
            for job in some {
                assert!(store.conclude_job(&job, [jobs::retry(&job, now, "old")]).await.unwrap());
            }
        }
        let stop = CancellationToken::new();
        let running = world.running_node().await;
        let node = tokio::spawn(work::run(running.clone(), None, stop.clone()));
        dead.wait_for(1, DEADLINE).await;
        world.tell("/news").await;
        running.wake_workers();
        world.receiver.wait_for(1, Duration::from_secs(1)).await;
        stop.cancel();
        node.await.unwrap();
    }

    async fn an_ending_node_gives_back_what_it_did_not_begin(db: TestDatabase) {
        let world = World::new(&db).await;
        world.receiver.answer_otherwise(Answer::status(200).after(Duration::from_millis(700)));
        for _ in 0..100 {
            world.tell("/hook").await;
        }
        let stop = CancellationToken::new();
        let node = tokio::spawn(work::run(world.app.clone(), None, stop.clone()));
        world.receiver.wait_for(64, DEADLINE).await;
        stop.cancel();
        node.await.unwrap();
        let posted = world.receiver.received().len();
        let delivered = world.deliveries().await.iter().filter(|one| one.done_at.is_some()).count();
        assert_eq!(posted, delivered, "what was begun was written down");
        world.receiver.answer_otherwise(Answer::status(200));
        assert_eq!(world.work().await, 100 - posted, "the rest is due at once, without waiting for leases");
    }

    async fn a_backlog_of_one_shop_is_worked_off(db: TestDatabase) {
        let world = World::new(&db).await;
        let events = std::env::var(BACKLOG).ok().and_then(|count| count.parse().ok()).unwrap_or(1_500);
        for _ in 0..events {
            world.tell("/hook").await;
        }
        let app = world.running_node().await;
        let began = Instant::now();
        let stop = CancellationToken::new();
        let node = tokio::spawn(work::run(app, None, stop.clone()));
        world.receiver.wait_for(events, Duration::from_secs(60)).await;
        let took = began.elapsed().as_secs_f64();
        eprintln!("{:?}: {events} deliveries in {took:.2} s, {:.0}/s", db.engine(), events as f64 / took);
        stop.cancel();
        node.await.unwrap();
        let ids: HashSet<String> =
            world.receiver.received().iter().map(|one| one.header("webhook-id").to_owned()).collect();
        assert_eq!(ids.len(), events, "each once");
        let waiting: i64 = world.app.store.job_depths().await.unwrap().iter().map(|depth| depth.count).sum();
        assert_eq!(waiting, 0);
    }
}
