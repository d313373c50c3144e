//! PostgreSQL in trouble: cuts, silence, restarts, deadlocks, commits of unknown end.
//!
//! The proxy of the harness stands between the store and the server. A commit is made slow with a
//! deferred trigger, so that a test can cut the connection while it is under way.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tillbell::store::{Applied, Step, StoreError};
use tokio_postgres::Client;

use super::*;
use crate::harness::databases::{Engine, TestDatabase, connect, run_on};
use crate::harness::proxy::{Direction, Fault, Proxy};
use crate::harness::until::{until, until_true};

/// The longest that any verb may take, whatever happens: its turn, one try, one connection.
const ANSWERED_WITHIN: Duration = Duration::from_secs(25);

fn on_postgres<F: Future<Output = ()>>(test: fn(TestDatabase) -> F) {
    run_on(Engine::Postgres, test);
}

/// The proxy and the database's URL through it.
async fn behind_proxy(db: &TestDatabase) -> (Proxy, String) {
    let mut url = url::Url::parse(db.url()).unwrap();
    let server = url.socket_addrs(|| Some(5432)).unwrap()[0];
    let proxy = Proxy::start(server).await;
    url.set_ip_host(proxy.address().ip()).unwrap();
    url.set_port(Some(proxy.address().port())).unwrap();
    (proxy, url.into())
}

/// Every commit that made a counter takes this long, after its statements were answered.
async fn slow_commits(db: &TestDatabase, seconds: f64) {
    let text = format!(
        "create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep({seconds}); return null; end $$;
         create constraint trigger slow after insert on counters deferrable initially deferred
             for each row when (new.name like 'slow%') execute function slow()"
    );
    connect(db.url()).await.batch_execute(&text).await.unwrap();
}

/// Waits until another connection is in this state on the server.
async fn until_server(admin: &Client, state: &str) {
    let text = format!(
        "select 1 from pg_stat_activity \
         where datname = current_database() and pid <> pg_backend_pid() and {state}"
    );
    until(state, || async { (!admin.query(&text, &[]).await.unwrap().is_empty()).then_some(()) }).await;
}

/// Sets the fault and waits until a connection that it ended is opened anew.
async fn until_reopened(proxy: &Proxy, direction: Direction, fault: Fault) {
    let before = proxy.accepted();
    proxy.set_one(direction, fault);
    until_true("a connection is opened anew", || proxy.accepted() > before).await;
}

async fn load(store: &Store, run: &str, callers: i64, each: i64) -> (Vec<String>, usize) {
    load_while(store, run, callers, &AtomicUsize::new(0), |n| n < each).await
}

/// Many callers, each with Units of its own; counts what is done, and answers with the names that were
/// acknowledged. An unavailable database is no failure of the test, but whatever was acknowledged must
/// be there.
async fn load_while(
    store: &Store,
    run: &str,
    callers: i64,
    done: &AtomicUsize,
    goes_on: impl Fn(i64) -> bool + Copy,
) -> (Vec<String>, usize) {
    let all = join_all((0..callers).map(|caller| async move {
        let (mut acknowledged, mut refused) = (Vec::new(), 0);
        for n in (0..).take_while(|n| goes_on(*n)) {
            let name = format!("{run}-{caller:02}-{n:04}");
            let Ok(unit) = marking(store, caller, &name).await else {
                refused += 1;
                continue;
            };
            let began = Instant::now();
            match store.apply(unit).await {
                Ok(Applied::Done(_)) => {
                    done.fetch_add(1, Ordering::SeqCst);
                    acknowledged.push(name);
                }
                Err(StoreError::Unavailable(_)) => {
                    refused += 1;
                    // A caller that is refused asks again a moment later.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                other => panic!("{name}: {other:?}"),
            }
            assert!(began.elapsed() < ANSWERED_WITHIN, "{:?}", began.elapsed());
        }
        (acknowledged, refused)
    }))
    .await;
    let refused = all.iter().map(|(_, refused)| refused).sum();
    (all.into_iter().flat_map(|(names, _)| names).collect(), refused)
}

async fn assert_there(store: &Store, acknowledged: &[String]) {
    let there = marks(store).await;
    let missing: Vec<_> = acknowledged.iter().filter(|name| there.binary_search(name).is_err()).collect();
    assert!(missing.is_empty(), "acknowledged and gone: {missing:?}");
    checked_total(store).await;
}

#[test]
fn cut_anywhere_nothing_acknowledged_is_lost_or_done_twice() {
    on_postgres(|db| async move {
        let (proxy, url) = behind_proxy(&db).await;
        let (store, direct) = (open(&url).await, open(db.url()).await);
        make(&direct, &["total"]).await;
        let (done, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let cutting = async {
            for (n, bytes) in (0..).zip([0, 1, 40, 300, 1_000, 2_500, 4_000, 6_000, 9_000, 14_000, 33_000]) {
                let direction = if n % 2 == 0 { Direction::ToClient } else { Direction::ToServer };
                until_reopened(&proxy, direction, Fault::CutAfter(bytes)).await;
                proxy.set(Fault::Pass);
                let more = done.load(Ordering::SeqCst) + 400;
                until_true("work goes on", || done.load(Ordering::SeqCst) >= more).await;
            }
            is_over.store(true, Ordering::SeqCst);
        };
        let loading = load_while(&store, "cut", 20, &done, |_| !is_over.load(Ordering::SeqCst));
        let ((acknowledged, refused), ()) = tokio::join!(loading, cutting);
        assert!(acknowledged.len() > 4000, "{} acknowledged, {refused} refused", acknowledged.len());
        assert_there(&direct, &acknowledged).await;
        let (acknowledged, refused) = load(&store, "healed", 10, 5).await;
        assert_eq!((acknowledged.len(), refused), (50, 0));
    });
}

#[test]
fn a_silent_server_is_told_in_time_and_healed_without_restart() {
    on_postgres(|db| async move {
        let (proxy, url) = behind_proxy(&db).await;
        let store = open(&url).await;
        make(&store, &["total"]).await;
        load(&store, "before", 8, 3).await;
        proxy.set(Fault::Blackhole);
        let mut units = Vec::new();
        for n in 0..600 {
            units.push(marking(&store, n, &format!("silent-{n}")).await.unwrap());
        }
        let began = Instant::now();
        let reads = join_all((0..600).map(|_| store.read(&MARKS, Vec::new())));
        let (answers, reads) = tokio::join!(apply_in_order(&store, units), reads);
        assert!(began.elapsed() < ANSWERED_WITHIN, "{:?}", began.elapsed());
        assert!(answers.iter().all(|a| matches!(a, Err(StoreError::Unavailable(_)))));
        assert!(reads.iter().all(|a| matches!(a, Err(StoreError::Unavailable(_)))));
        proxy.set(Fault::Pass);
        let began = Instant::now();
        while store.ping().await.is_err()
            || load(&store, &format!("after-{:?}", began.elapsed()), 8, 1).await.1 > 0
        {
            assert!(began.elapsed() < Duration::from_secs(10), "not healed after {:?}", began.elapsed());
        }
        checked_total(&store).await;
    });
}

#[test]
fn a_server_that_ends_every_connection_is_not_even_noticed() {
    on_postgres(|db| async move {
        let store = open(db.url()).await;
        make(&store, &["total"]).await;
        let admin = connect(db.url()).await;
        let done = AtomicUsize::new(0);
        let ending = async {
            for n in 1..=12 {
                until_true("work is under way", || done.load(Ordering::SeqCst) >= n * 90).await;
                let text = "select pg_terminate_backend(pid) from pg_stat_activity \
                     where datname = current_database() and pid <> pg_backend_pid()";
                admin.query(text, &[]).await.unwrap();
                store.read(&MARKS, Vec::new()).await.unwrap();
            }
        };
        let ((acknowledged, refused), ()) =
            tokio::join!(load_while(&store, "ended", 30, &done, |n| n < 40), ending);
        assert_eq!((acknowledged.len(), refused), (1200, 0));
        assert_there(&store, &acknowledged).await;
        assert_eq!(checked_total(&store).await, 1200);
    });
}

#[test]
fn deadlocks_between_nodes_end_and_add_up() {
    on_postgres(|db| async move {
        let nodes = [open(db.url()).await, open(db.url()).await];
        make(&nodes[0], &["a", "b", "total"]).await;
        let began = Instant::now();
        let rounds = join_all((0..2).flat_map(|node| {
            let store = &nodes[node];
            (0..6).map(move |caller| async move {
                for n in 0..8 {
                    // Opposite orders: sooner or later each holds what the other wants.
                    let rows = if node == 0 { ["a", "b"] } else { ["b", "a"] };
                    let unit = marking(store, caller, &format!("{node}-{caller}-{n}")).await.unwrap();
                    let unit = unit.step(add(rows[0], 1)).step(add(rows[1], 1));
                    assert!(store.apply(unit).await.unwrap().is_done());
                }
            })
        }));
        rounds.await;
        assert_eq!((value(&nodes[0], "a").await, value(&nodes[0], "b").await), (Some(96), Some(96)));
        assert_eq!(checked_total(&nodes[0]).await, 96);
        eprintln!("deadlocks: 96 units in {:?}", began.elapsed());
    });
}

/// Units whose commit is slow, cut while it is under way by `cut`.
async fn in_doubt(db: &TestDatabase, cut: impl AsyncFnOnce(&Proxy)) {
    slow_commits(db, 1.0).await;
    let admin = connect(db.url()).await;
    let (proxy, url) = behind_proxy(db).await;
    let (store, direct) = (open(&url).await, open(db.url()).await);
    make(&direct, &["total", "told"]).await;
    // The connection and its statements are there already.
    assert!(store.apply(marking(&store, 0, "warm").await.unwrap()).await.unwrap().is_done());
    let tell = || Step::returning(&ADD_AND_TELL, vec!["told".into(), 1.into()]);
    let mut units = vec![marking(&store, 0, "0").await.unwrap().step(tell()).step(new_counter("slow", 1))];
    for n in 1..20 {
        // Every other one has no guard at all: only its own id can tell that it was done.
        let unit = store.unit(0).await.unwrap();
        units.push(if n % 2 == 0 {
            marking(&store, 0, &n.to_string()).await.unwrap().step(tell())
        } else {
            unit.step(new_counter(&format!("plain {n}"), n))
        });
    }
    let cutting = async {
        until_server(&admin, "wait_event = 'PgSleep'").await;
        cut(&proxy).await;
    };
    let (answers, ()) = tokio::join!(apply_in_order(&store, units), cutting);
    let mut told = Vec::new();
    for (n, answer) in answers.into_iter().enumerate() {
        let Applied::Done(rows) = answer.unwrap() else { panic!("unit {n} was not done") };
        told.extend(rows.into_iter().flatten().map(|row| row.single_int("counters").unwrap()));
    }
    assert_eq!(told, (1..=10).collect::<Vec<_>>(), "rows of the commit that happened");
    assert_eq!((value(&direct, "told").await, checked_total(&direct).await), (Some(10), 11));
}

#[test]
fn a_commit_cut_off_from_its_answer_is_done_once() {
    on_postgres(|db| async move {
        in_doubt(&db, async |proxy| {
            // New connections come at once and meet the first commit while it is under way.
            until_reopened(proxy, Direction::ToClient, Fault::CutAfter(0)).await;
            proxy.set(Fault::Pass);
        })
        .await;
    });
}

#[test]
fn a_commit_whose_answer_is_swallowed_is_done_once() {
    on_postgres(|db| async move {
        in_doubt(&db, async |proxy| {
            // The store gives the silent connection up after some seconds.
            until_reopened(proxy, Direction::ToClient, Fault::Blackhole).await;
            proxy.set(Fault::Pass);
        })
        .await;
    });
}

#[test]
fn a_commit_that_never_came_is_sent_again() {
    on_postgres(|db| async move {
        // The server sees the statements, but not the commit: cut before it can be sent on.
        let (proxy, url) = behind_proxy(&db).await;
        let (store, direct) = (open(&url).await, open(db.url()).await);
        make(&direct, &["total"]).await;
        assert!(store.apply(marking(&store, 0, "warm").await.unwrap()).await.unwrap().is_done());
        let admin = connect(db.url()).await;
        proxy.set_one(Direction::ToClient, Fault::Delay(Duration::from_millis(200)));
        let mut units = Vec::new();
        for n in 0..10 {
            units.push(marking(&store, 0, &n.to_string()).await.unwrap());
        }
        let cutting = async {
            until_server(&admin, "state = 'idle in transaction'").await;
            until_reopened(&proxy, Direction::ToServer, Fault::CutAfter(0)).await;
            proxy.set(Fault::Pass);
        };
        let (answers, ()) = tokio::join!(apply_in_order(&store, units), cutting);
        assert!(answers.into_iter().all(|answer| answer.unwrap().is_done()));
        assert_eq!(checked_total(&direct).await, 11);
    });
}

#[test]
fn the_same_unit_handed_over_twice_is_done_once() {
    on_postgres(|db| async move {
        let store = open(db.url()).await;
        make(&store, &["total", "plain"]).await;
        let unit = store.unit(3).await.unwrap().step(add("plain", 1));
        assert!(store.apply(unit.clone()).await.unwrap().is_done());
        assert!(store.apply(unit).await.unwrap().is_done());
        assert_eq!(value(&store, "plain").await, Some(1));
    });
}
