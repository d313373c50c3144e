//! Many at once: one debit, one webhook, every wrong try counted, one wallet per number, one intent per key.

use std::sync::Arc;

use tillbell::domain::intent::{IntentEnd, IntentState};
use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::phone::Phone;
use tillbell::ops::wallet_payments::confirm::{Confirmed, confirm};
use tillbell::ops::wallet_payments::end::end_intent;
use tillbell::ops::wallet_payments::start::{StartRequest, Started, start_wallet_payment};
use tillbell::ops::wallets::desk::{GivenCredit, credit};
use tillbell::ops::wallets::find::ensure;

use super::world::{PIN, WRONG, World, token};

/// `count` tries at once over two nodes.
async fn tries(w: &World, links: &[String], pin: &'static str, count: usize) -> Vec<Confirmed> {
    let other = w.t.another_node().await;
    let mut running = tokio::task::JoinSet::new();
    for n in 0..count {
        let app = if n % 2 == 0 { w.t.app.clone() } else { other.clone() };
        let link = links[n % links.len()].clone();
        running.spawn(async move { confirm(&app, &link, pin, None).await.unwrap() });
    }
    running.join_all().await
}

/// Links of as many customers, each with a PIN and money.
async fn customers(w: &World, count: usize) -> Vec<String> {
    let mut links = Vec::new();
    for n in 0..count {
        let text = format!("08035552{n:03}");
        let phone = Phone::parse(&text).unwrap();
        ensure(&w.t.app, &phone).await.unwrap();
        let given = GivenCredit { phone: &text, amount: Money(100_000), reason: "opening", reference: None };
        credit(&w.t.app, "ada", &given).await.unwrap().unwrap();
        let request = StartRequest { phone, ..w.request(100, &format!("c-{n}")) };
        let Started::Waiting(started) = w.try_start(&request).await else { panic!("not started") };
        let link = token(&started);
        w.set_pin(&link, PIN).await;
        links.push(link);
    }
    links
}

on_both! {
    async fn a_hundred_right_pins_at_once_debit_once(db: TestDatabase) {
        let w = World::start(db).await;
        let (started, link) = w.ready(20_000, 5_000).await;
        let all = tries(&w, &[link], PIN, 100).await;
        assert_eq!(all.iter().filter(|c| matches!(c, Confirmed::Paid(_))).count(), 1, "{all:?}");
        assert!(all.iter().all(|c| matches!(c, Confirmed::Paid(_) | Confirmed::AlreadyPaid(_) | Confirmed::Busy)), "{all:?}");
        assert_eq!(w.wallet().await.balance, Money(1_500_000));
        assert_eq!(w.merchant_balance().await, Money(490_000));
        let payment = w.payment(&started).await;
        assert_eq!(w.t.app.store.deliveries_of_payment(payment.id).await.unwrap().len(), 1);
        let intent = w.t.app.store.intent(started.intent.id).await.unwrap().unwrap();
        assert_eq!((intent.state, intent.wrong_tries), (IntentState::Completed, 0));
    }

    async fn fifty_wrong_pins_at_once_are_counted_and_end_the_payment(db: TestDatabase) {
        let w = World::start(db).await;
        let (started, link) = w.ready(20_000, 5_000).await;
        let all = tries(&w, &[link], WRONG, 50).await;
        let wrong = all.iter().filter(|c| matches!(c, Confirmed::WrongPin { .. })).count();
        let failed = all.iter().filter(|c| matches!(c, Confirmed::Failed(_))).count();
        assert_eq!((wrong, failed), (4, 1), "{all:?}");
        let rest = all.iter().all(|c| matches!(c, Confirmed::WrongPin { .. } | Confirmed::Failed(_) | Confirmed::Busy | Confirmed::NotOpen(_)));
        assert!(rest, "{all:?}");
        let intent = w.t.app.store.intent(started.intent.id).await.unwrap().unwrap();
        assert_eq!((intent.end, intent.wrong_tries), (Some(IntentEnd::WrongPins), 5));
        assert_eq!(w.payment(&started).await.status, Status::Rejected);
        let since = w.t.app.now() - tillbell::domain::time::Span::hours(1);
        assert_eq!(w.t.app.store.wallet_tries(w.wallet().await.id, since, since).await.unwrap(), (5, 0));
        assert_eq!(w.t.app.store.business_tries(w.shop.id, since, since, None).await.unwrap(), (3, 0));
    }

    async fn wrong_pins_on_many_links_at_once_stop_at_ten_for_the_wallet(db: TestDatabase) {
        let w = World::start(db).await;
        let (_, first) = w.ready(20_000, 100).await;
        let mut links = vec![first];
        for n in 2..7 {
            links.push(token(&w.begin(100, &format!("k-{n}")).await));
        }
        tries(&w, &links, WRONG, 60).await;
        // Places of the wallet are ten however many links there are; those that were busy may come again.
        for _ in 0..3 {
            tries(&w, &links, WRONG, 12).await;
        }
        let since = w.t.app.now() - tillbell::domain::time::Span::hours(1);
        assert_eq!(w.t.app.store.wallet_tries(w.wallet().await.id, since, since).await.unwrap(), (10, 0));
        assert_eq!(w.t.app.store.business_tries(w.shop.id, since, since, None).await.unwrap(), (3, 0));
        assert!(matches!(w.confirm(&links[5], PIN).await, Confirmed::Locked { .. } | Confirmed::NotOpen(_)));
    }

    async fn wrong_pins_on_links_of_many_wallets_at_once_stop_at_twenty_for_the_business(db: TestDatabase) {
        let w = World::start(db).await;
        let links = customers(&w, 8).await;
        for _ in 0..2 {
            tries(&w, &links, WRONG, 40).await;
        }
        let since = w.t.app.now() - tillbell::domain::time::Span::hours(1);
        assert_eq!(w.t.app.store.business_tries(w.shop.id, since, since, None).await.unwrap(), (20, 0));
        let stopped = w.t.app.store.wallet_business(w.shop.id).await.unwrap().unwrap();
        assert!(stopped.stopped_at.is_some());
    }

    async fn more_customers_at_once_than_a_business_has_places_are_all_served(db: TestDatabase) {
        let w = World::start(db).await;
        let links = customers(&w, 26).await;
        let all = tries(&w, &links, PIN, 26).await;
        assert!(all.iter().all(|c| matches!(c, Confirmed::Paid(_))), "{all:?}");
    }

    async fn two_payments_of_the_whole_balance_leave_one(db: TestDatabase) {
        let w = World::start(db).await;
        let (_, first) = w.ready(5_000, 5_000).await;
        let second = token(&w.begin(5_000, "k-2").await);
        let all = tries(&w, &[first, second], PIN, 2).await;
        assert_eq!(all.iter().filter(|c| matches!(c, Confirmed::Paid(_))).count(), 1, "{all:?}");
        assert_eq!(all.iter().filter(|c| matches!(c, Confirmed::BalanceTooLow(_))).count(), 1, "{all:?}");
        assert_eq!(w.wallet().await.balance, Money(0));
    }

    async fn a_right_pin_and_an_end_at_the_same_moment_leave_one_of_them(db: TestDatabase) {
        let w = World::start(db).await;
        let (first, link) = w.ready(20_000, 100).await;
        let mut all = vec![(first, link)];
        for n in 2..12 {
            let started = w.begin(100, &format!("k-{n}")).await;
            let link = token(&started);
            all.push((started, link));
        }
        let mut paid = 0;
        for (n, (started, link)) in all.iter().enumerate() {
            let end = [IntentEnd::Cancelled, IntentEnd::Expired][n % 2];
            let (confirmed, ended) = tokio::join!(w.confirm(link, PIN), async {
                if n % 3 != 0 {
                    // Some time into the check of the PIN, which takes tens of milliseconds.
                    tokio::time::sleep(std::time::Duration::from_millis(7 * n as u64)).await;
                }
                end_intent(&w.t.app, &started.intent, end).await.unwrap()
            });
            let is_paid = matches!(confirmed, Confirmed::Paid(_));
            assert_ne!(is_paid, ended, "{confirmed:?}");
            paid += i64::from(is_paid);
        }
        assert_eq!(w.wallet().await.balance, Money(2_000_000 - 10_000 * paid));
    }

    async fn a_hundred_ensures_make_one_wallet(db: TestDatabase) {
        let w = World::start(db).await;
        let other = w.t.another_node().await;
        let mut running = tokio::task::JoinSet::new();
        for n in 0..100 {
            let app = if n % 2 == 0 { w.t.app.clone() } else { other.clone() };
            let text = ["08035550142", "+234 803 555 0142", "2348035550142", "803-555-0142"][n % 4];
            running.spawn(async move { ensure(&app, &Phone::parse(text).unwrap()).await.unwrap() });
        }
        let all = running.join_all().await;
        assert_eq!(all.iter().filter(|ensured| ensured.created).count(), 1);
        assert!(all.iter().all(|ensured| ensured.wallet.id == all[0].wallet.id));
    }

    async fn the_same_request_many_times_at_once_makes_one_intent_and_one_message(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(20_000).await;
        let request = Arc::new(w.request(5_000, "k-1"));
        let other = w.t.another_node().await;
        let mut running = tokio::task::JoinSet::new();
        for n in 0..20 {
            let app = if n % 2 == 0 { w.t.app.clone() } else { other.clone() };
            let (caller, request) = (w.shop.caller.clone(), request.clone());
            running.spawn(async move { start_wallet_payment(&app, &caller, &request).await.unwrap() });
        }
        let urls: Vec<String> = running
            .join_all()
            .await
            .into_iter()
            .map(|started| match started {
                Started::Waiting(started) => started.confirm_url,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(urls.iter().all(|url| *url == urls[0]), "{urls:?}");
        assert_eq!(w.post.count(MessageKind::Link), 1);
    }
}
