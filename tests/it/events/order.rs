//! The order of events: every event has one place, it never changes, and nothing comes to stand before what was read.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tillbell::app::App;
use tillbell::directory::Caller;
use tillbell::domain::event::{EventKind, event_id};
use tillbell::domain::merchant::Mode;
use tillbell::domain::time::Span;
use tillbell::ops::webhooks::event::{Fact, record};
use tillbell::ops::webhooks::order::{Placed, place_events};
use tillbell::ops::webhooks::pull::{Pull, Pulled, pull};
use tillbell::store::IdKind;
use tillbell::store::tables::event_order;
use tillbell::work;
use tokio_util::sync::CancellationToken;

use super::world::World;
use crate::audits::by_hand;
use crate::harness::app::{Merchant, TestApp, world};
use crate::harness::databases::{Engine, connect};
use crate::harness::until::until;

/// Units of both nodes, in so many lanes each.
const EVENTS: usize = 400;
const LANES: usize = 8;

fn of_no_payment(app: &App, shop: &Merchant, mode: Mode) -> Fact {
    let kind = EventKind::WebhookTest;
    Fact { kind, business_id: shop.id, mode, payment_id: None, subject_id: 0, at: app.now() }
}

async fn make(app: &App, fact: Fact) {
    let steps = record(app, fact, |id| format!("{{\"id\":\"{id}\"}}").into_bytes()).await.unwrap();
    let unit = app.store.unit(fact.business_id).await.unwrap().steps(steps);
    assert!(app.store.apply(unit).await.unwrap().is_done());
    app.wake_workers();
}

/// One page after an event.
async fn page(app: &App, caller: &Caller, after: Option<&str>, limit: usize) -> (Vec<String>, bool) {
    let ask = Pull { after, kind: None, transaction_id: None, limit };
    match pull(app, caller, &ask).await.unwrap() {
        Pulled::Events { rows, has_more } => (rows.into_iter().map(|row| row.webhook_id).collect(), has_more),
        other => panic!("{other:?}"),
    }
}

/// Everything, read anew.
async fn all(app: &App, caller: &Caller, limit: usize) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    loop {
        let (more, has_more) = page(app, caller, ids.last().map(String::as_str), limit).await;
        ids.extend(more);
        if !has_more {
            return ids;
        }
    }
}

/// Reads on and on until everything is there.
async fn follow(app: Arc<App>, caller: Caller, done: Arc<AtomicUsize>) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    while ids.len() < EVENTS {
        // Whatever was made before the question is in the answer.
        let made = done.load(Ordering::SeqCst);
        let (more, has_more) = page(&app, &caller, ids.last().map(String::as_str), 7).await;
        ids.extend(more);
        assert!(has_more || ids.len() >= made, "{made} were committed, {} are read", ids.len());
    }
    ids
}

on_both! {
    async fn two_nodes_make_hundreds_at_once_and_readers_miss_none(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let nodes = [t.app.clone(), t.another_node().await];
        let stop = CancellationToken::new();
        // Both nodes give places, as services do.
        let workers: Vec<_> =
            nodes.iter().map(|app| tokio::spawn(work::run(app.clone(), None, stop.clone()))).collect();
        let done = Arc::new(AtomicUsize::new(0));
        let readers: Vec<_> = nodes
            .iter()
            .map(|app| tokio::spawn(follow(app.clone(), shop.caller.clone(), done.clone())))
            .collect();
        let mut lanes = Vec::new();
        for lane in 0..2 * LANES {
            let (app, done) = (nodes[lane % 2].clone(), done.clone());
            let fact = of_no_payment(&app, &shop, Mode::Live);
            lanes.push(tokio::spawn(async move {
                for _ in 0..EVENTS / (2 * LANES) {
                    make(&app, fact).await;
                    done.fetch_add(1, Ordering::SeqCst);
                }
            }));
        }
        for lane in lanes {
            lane.await.unwrap();
        }
        let mut read = Vec::new();
        for reader in readers {
            read.push(reader.await.unwrap());
        }
        stop.cancel();
        for worker in workers {
            worker.await.unwrap();
        }
        assert_eq!(read[0], read[1], "two readers saw two orders");
        assert_eq!(read[0].iter().collect::<HashSet<_>>().len(), EVENTS, "an event came twice");
        for (app, limit) in [(&nodes[0], 100), (&nodes[1], 13)] {
            assert_eq!(all(app, &shop.caller, limit).await, read[0], "another order when it is read again");
        }
    }

    async fn what_is_committed_late_comes_behind_what_was_read(db: TestDatabase) {
        // On SQLite nobody can commit between the statements of another.
        if db.engine() == Engine::Sqlite {
            return;
        }
        let (t, shop) = world(db).await;
        let (late, webhook_id) = (t.app.store.id(IdKind::Event).await.unwrap(), event_id(7));
        let slow = connect(t.database().url()).await;
        slow.batch_execute(&format!(
            "begin; insert into events (id, business_id, kind, webhook_id, body, created_at) \
             values ({}, {}, 'webhook.test', '{}', '{{}}', 5); \
             insert into unplaced_events (event_id, business_id, mode, kind, created_at) \
             values ({}, {}, 'live', 'webhook.test', 5)",
            late, shop.id, webhook_id, late, shop.id
        ))
        .await
        .unwrap();
        for _ in 0..3 {
            make(&t.app, of_no_payment(&t.app, &shop, Mode::Live)).await;
        }
        let before = all(&t.app, &shop.caller, 2).await;
        assert_eq!(before.len(), 3);
        slow.batch_execute("commit").await.unwrap();
        make(&t.app, of_no_payment(&t.app, &shop, Mode::Live)).await;
        let (next, _) = page(&t.app, &shop.caller, before.last().map(String::as_str), 10).await;
        assert_eq!((next.len(), &next[0]), (2, &webhook_id), "its id and its time are lower than all others");
        assert_eq!(all(&t.app, &shop.caller, 100).await, [before, next].concat());
    }

    async fn of_two_nodes_that_give_places_at_once_one_gives_way(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.another_node().await;
        make(&t.app, of_no_payment(&t.app, &shop, Mode::Live)).await;
        let (waiting, last) = t.app.store.unplaced_events().await.unwrap();
        assert_eq!((waiting.len(), last), (1, 0));
        // The other node is faster, and gives a place to one more.
        make(&other, of_no_payment(&other, &shop, Mode::Live)).await;
        assert_eq!(place_events(&other).await.unwrap(), Placed::Events(2));
        let unit = t.app.store.unit(0).await.unwrap();
        let unit = unit.steps(event_order::place(&waiting, last, t.app.now()));
        assert!(!t.app.store.apply(unit).await.unwrap().is_done(), "two orders");
        assert_eq!(place_events(&t.app).await.unwrap(), Placed::Events(0));
        assert_eq!(all(&t.app, &shop.caller, 100).await.len(), 2);
    }

    async fn a_row_of_the_order_cannot_be_changed(db: TestDatabase) {
        let (t, shop) = world(db).await;
        make(&t.app, of_no_payment(&t.app, &shop, Mode::Live)).await;
        place_events(&t.app).await.unwrap();
        let sql = "update event_places set place = place + 1 where business_id = $1";
        let refused = changed(&t, sql, shop.id).await;
        assert!(!refused, "a place was changed");
        assert!(!changed(&t, "delete from event_places where business_id = $1", shop.id).await, "a place was deleted");
    }

    async fn a_running_service_gives_places_at_once(db: TestDatabase) {
        let world = World::new(db).await;
        let stop = CancellationToken::new();
        let worker = tokio::spawn(work::run(world.t.app.clone(), None, stop.clone()));
        for naira in [5_000, 7_300] {
            let payment = world.paid(&world.shop, naira, "Halima Garba").await;
            let (store, id) = (world.t.app.store.clone(), payment.id);
            // Without a reader who would give the places himself.
            until("the event has its place", || async {
                let deliveries = store.deliveries_of_payment(id).await.unwrap();
                let known = store.event_by_webhook_id(&deliveries[0].webhook_id).await.unwrap().unwrap();
                known.place
            })
            .await;
        }
        stop.cancel();
        worker.await.unwrap();
        assert_eq!(world.pulled(1).await.len(), 2);
    }

    async fn what_is_older_than_thirty_days_is_listed_no_more_and_no_gap_is_silent(db: TestDatabase) {
        let (t, shop) = world(db).await;
        for _ in 0..3 {
            make(&t.app, of_no_payment(&t.app, &shop, Mode::Live)).await;
        }
        let old = all(&t.app, &shop.caller, 100).await;
        t.advance(Span::days(10));
        make(&t.app, of_no_payment(&t.app, &shop, Mode::Live)).await;
        let both = all(&t.app, &shop.caller, 100).await;
        assert_eq!(both.len(), 4);
        t.advance(Span::days(21));
        assert_eq!(all(&t.app, &shop.caller, 100).await, both[3..], "31 days old");
        let ask = |after| Pull { after, kind: None, transaction_id: None, limit: 100 };
        // Whoever read the last of the old ones has missed nothing.
        assert_eq!(page(&t.app, &shop.caller, Some(&old[2]), 100).await.0, both[3..]);
        assert_eq!(pull(&t.app, &shop.caller, &ask(Some(&old[1]))).await.unwrap(), Pulled::TooOld);
        t.advance(Span::days(60));
        assert!(all(&t.app, &shop.caller, 100).await.is_empty());
        assert_eq!(page(&t.app, &shop.caller, Some(&both[3]), 100).await, (Vec::new(), false), "nothing came since");
        assert_eq!(pull(&t.app, &shop.caller, &ask(Some(&both[2]))).await.unwrap(), Pulled::TooOld);
        make(&t.app, of_no_payment(&t.app, &shop, Mode::Live)).await;
        assert_eq!(all(&t.app, &shop.caller, 100).await.len(), 1);
        assert_eq!(page(&t.app, &shop.caller, Some(&both[3]), 100).await.0.len(), 1);
    }
}

/// As if the migration that lets events lose their text had not run yet.
const NOT_REDUCED: &str = "drop index events_whole; alter table events drop column reduced_at; \
     alter table payments drop column erased_at; alter table alerts drop column erased_at; \
     delete from schema_migrations where name = '0058_reduced_events';";
const GUARD_OF_BEFORE: &str = "drop trigger events_no_update; create trigger events_no_update before update on events \
     begin select raise(abort, 'events is append only'); end;";

/// As if the migration of the order had not run yet.
const UNDONE: &str = "drop index events_once; drop index events_once_elsewhere; drop table event_places; \
     drop table unplaced_events; drop table event_days; alter table events drop column subject_id; \
     delete from counters where name in ('event_place', 'untold_reversals_until'); \
     create unique index events_payment on events (payment_id) where payment_id is not null; \
     delete from schema_migrations where name = '0048_events';";

on_both! {
    async fn events_of_before_there_was_an_order_have_theirs(db: TestDatabase) {
        let world = World::new(db).await;
        let testing = world.t.in_test_mode(&world.shop).await;
        let mut payments = Vec::new();
        for naira in [5_000, 6_100, 7_300] {
            payments.push(world.paid(&world.shop, naira, "Halima Garba").await.transaction_id);
        }
        world.paid(&testing, 8_000, "Halima Garba").await;
        let sqlite = format!("{GUARD_OF_BEFORE} {NOT_REDUCED} {UNDONE}");
        let views = "drop view people.events, people.event_places, people.unplaced_events, people.event_days, people.payments, people.alerts; \
                     drop trigger events_reduced_once on events;";
        by_hand(&world.t, &sqlite, &format!("{views} {NOT_REDUCED} {UNDONE}")).await;
        world.t.app.store.migrate(world.t.app.now()).await.unwrap();
        world.paid(&world.shop, 9_000, "Halima Garba").await;
        let told: Vec<String> = world.told().await.into_iter().map(|(_, transaction)| transaction).collect();
        assert_eq!(told[..3], payments, "by their time");
        assert_eq!(told.len(), 4);
        let key = world.key_of(&world.shop, Mode::Test).await;
        assert_eq!(world.get_as(&key, "/events").await.1["data"].as_array().unwrap().len(), 1);
    }
}

/// Whether somebody can run this statement.
async fn changed(t: &TestApp, text: &str, business: i64) -> bool {
    let text = text.replace("$1", &business.to_string());
    match t.database().engine() {
        Engine::Sqlite => {
            let path = t.database().url().strip_prefix("sqlite:").unwrap().to_owned();
            rusqlite::Connection::open(path).unwrap().execute_batch(&text).is_ok()
        }
        Engine::Postgres => connect(t.database().url()).await.batch_execute(&text).await.is_ok(),
    }
}
