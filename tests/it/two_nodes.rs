//! What is told newest first is told so by time, when two nodes make rows by turns: each takes ids in blocks,
//! and the order of ids is not that of time.

use std::sync::Arc;

use tillbell::app::App;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::merchant::Mode;
use tillbell::domain::payment::Payment;
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::payments::create::{Created, create_payment};
use tillbell::ops::payments::read::{ListFilter, list_payments};
use tillbell::serve::other_nodes;
use tokio_util::sync::CancellationToken;

use crate::audits::by_hand;
use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, world};
use crate::harness::databases::{Engine, connect};
use crate::harness::mails::Alert;
use crate::harness::until::until;

async fn create_on(app: &App, t: &TestApp, shop: &Merchant, naira: i64) -> Payment {
    match create_payment(app, &shop.caller, t.request(shop, naira, "Halima Garba"), None).await.unwrap() {
        Created::Payment(view) => view.payment,
        other => panic!("not created: {other:?}"),
    }
}

fn filter(per_page: i64) -> ListFilter {
    ListFilter {
        status: None,
        from: None,
        until: None,
        website_id: None,
        reversed: None,
        mode: Mode::Live,
        per_page,
        page: 1,
        cursor: None,
    }
}

/// Transaction ids in the order in which cursors lead through them.
async fn by_cursor(app: &App, shop: &Merchant, per_page: i64) -> Vec<String> {
    let (mut seen, mut filter) = (Vec::new(), filter(per_page));
    for _ in 0..100 {
        let listed = list_payments(app, shop.id, &filter).await.unwrap();
        seen.extend(listed.rows.into_iter().map(|row| row.payment.transaction_id));
        filter.cursor = listed.next;
        if filter.cursor.is_none() {
            return seen;
        }
    }
    panic!("the cursors lead nowhere: {seen:?}");
}

async fn by_page(app: &App, shop: &Merchant, per_page: i64) -> Vec<String> {
    let mut seen = Vec::new();
    for page in 1..100 {
        let listed = list_payments(app, shop.id, &ListFilter { page, ..filter(per_page) }).await.unwrap();
        if listed.rows.is_empty() {
            break;
        }
        seen.extend(listed.rows.into_iter().map(|row| row.payment.transaction_id));
    }
    seen
}

/// Newest first: by time, then by id.
fn newest_first(all: &[(Timestamp, i64, String)]) -> Vec<String> {
    let mut all = all.to_vec();
    all.sort_by(|one, two| two.cmp(one));
    all.into_iter().map(|(_, _, name)| name).collect()
}

on_both! {
    async fn a_node_hears_at_once_of_what_another_one_committed(db: TestDatabase) {
        let t = TestApp::start(db).await;
        let is_alone = t.app.store.bells().await.unwrap().is_none();
        assert_eq!(is_alone, t.database().engine() == Engine::Sqlite, "an embedded database has one node");
        let other = t.another_node().await;
        let stop = CancellationToken::new();
        let listening = [t.app.clone(), other.clone()].map(|app| tokio::spawn(other_nodes::run(app, stop.clone())));
        if is_alone {
            for one in listening {
                one.await.unwrap();
            }
            return;
        }
        let mut woken = other.wake.subscribe();
        for is_cut in [false, true] {
            if is_cut {
                let server = connect(t.database().url()).await;
                let cut = "select pg_terminate_backend(pid) from pg_stat_activity \
                           where datname = current_database() and query like '%tillbell_commits%' and pid <> pg_backend_pid()";
                assert!(!server.query(cut, &[]).await.unwrap().is_empty());
            }
            woken.mark_unchanged();
            // The first rings may come before the other one listens.
            until("the other node wakes", async || {
                t.app.wake_workers();
                woken.has_changed().unwrap().then_some(())
            })
            .await;
        }
        stop.cancel();
    }
}

on_both! {
    async fn alerts_and_webhooks_are_told_newest_first(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let nodes: [Arc<App>; 2] = [t.app.clone(), t.another_node().await];
        let mut alerts = Vec::new();
        let mut told = Vec::new();
        for n in 0..8_i64 {
            let node = &nodes[(n % 2) as usize];
            let payment = create_on(node, &t, &shop, 2_000 + n * 700).await;
            t.advance(LATER + Span::seconds(20));
            let when = t.app.now() - Span::seconds(20);
            let mail = Alert::credit(ACCOUNT, 2_000 + n * 700, "Halima Garba", when).text();
            let outcome = t.ingest_on(node, &mail).await;
            assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
            alerts.insert(0, outcome.alert_id);
            told.insert(0, payment.transaction_id);
        }
        assert!(!alerts.is_sorted_by(|one, two| one > two), "the nodes' ids are not by turns: {alerts:?}");
        let store = &nodes[1].store;
        for (status, limit) in [(None, 100), (None, 3), (Some(AlertStatus::Matched), 100), (Some(AlertStatus::Matched), 3)] {
            let listed = store.list_alerts(status, limit).await.unwrap();
            let ids: Vec<i64> = listed.iter().map(|alert| alert.id).collect();
            assert_eq!(ids, alerts[..alerts.len().min(limit as usize)], "{status:?} {limit}");
        }
        for limit in [100, 3] {
            let listed = store.deliveries(false, limit).await.unwrap();
            let names: Vec<String> = listed.into_iter().filter_map(|one| one.transaction_id).collect();
            assert_eq!(names, told[..told.len().min(limit as usize)], "{limit}");
        }
        let failed = "update jobs set outcome = 'failed', done_at = run_at where kind = 'deliver'";
        by_hand(&t, failed, failed).await;
        let listed = store.deliveries(true, 3).await.unwrap();
        let names: Vec<String> = listed.into_iter().filter_map(|one| one.transaction_id).collect();
        assert_eq!(names, told[..3], "failed ones");
    }

    async fn the_payments_of_two_nodes_are_listed_once_each_and_newest_first(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let nodes: [Arc<App>; 2] = [t.app.clone(), t.another_node().await];
        let mut all = Vec::new();
        for n in 0..14_i64 {
            // Some of both nodes at the same microsecond.
            if n % 3 == 0 {
                t.advance(Span::seconds(1));
            }
            let payment = create_on(&nodes[(n % 2) as usize], &t, &shop, 1_000 + n * 300).await;
            all.push((payment.created_at, payment.id, payment.transaction_id));
        }
        let expected = newest_first(&all);
        for node in &nodes {
            for per_page in [1, 2, 3, 5, 100] {
                assert_eq!(by_cursor(node, &shop, per_page).await, expected, "{per_page}");
                assert_eq!(by_page(node, &shop, per_page).await, expected, "{per_page}");
            }
        }
        // A reader who is under way is not disturbed by what either node makes meanwhile.
        let first = list_payments(&nodes[0], shop.id, &filter(4)).await.unwrap();
        t.advance(Span::seconds(1));
        let mut newer = Vec::new();
        for (n, node) in nodes.iter().enumerate() {
            newer.push(create_on(node, &t, &shop, 9_000 + n as i64 * 300).await.transaction_id);
        }
        let mut seen: Vec<String> = first.rows.into_iter().map(|row| row.payment.transaction_id).collect();
        let mut filter = ListFilter { cursor: first.next, ..filter(4) };
        while filter.cursor.is_some() {
            let listed = list_payments(&nodes[1], shop.id, &filter).await.unwrap();
            seen.extend(listed.rows.into_iter().map(|row| row.payment.transaction_id));
            filter.cursor = listed.next;
        }
        assert_eq!(seen, expected);
        let mut again = by_cursor(&nodes[1], &shop, 5).await;
        let mut newest: Vec<String> = again.drain(..2).collect();
        newest.sort();
        newer.sort();
        assert_eq!((newest, again), (newer, expected));
    }
}
