//! A business whose payments may not be confirmed: stopped for wrong PINs, switched off, disabled; and what
//! that, or a lock, leaves to the customer.

use tillbell::domain::message::MessageKind;
use tillbell::domain::time::Span;
use tillbell::domain::wallet::WalletStatus;
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::wallet_payments::confirm::Confirmed;
use tillbell::ops::wallet_payments::page::{LinkView, view_link};
use tillbell::ops::wallet_payments::start::{StartRequest, Started, start_wallet_payment};
use tillbell::ops::wallets::desk::{Act, act};

use super::world::{HOOK, PHONE, PIN, WRONG, World, token};

async fn change(w: &World, change: BusinessChange) {
    set_business(&w.t.app, "test", w.shop.id, &change).await.unwrap().unwrap();
    w.t.app.directory.forget();
}

/// Wrong PINs on the link, with the wallet's lock taken away each time.
async fn wrong(w: &World, link: &str, count: usize) {
    for _ in 0..count {
        let confirmed = w.confirm(link, WRONG).await;
        assert!(matches!(confirmed, Confirmed::WrongPin { .. } | Confirmed::Failed(_)), "{confirmed:?}");
    }
    act(&w.t.app, "ada", PHONE, Act::Unlock, "").await.unwrap().unwrap();
}

async fn may(w: &World, link: &str) -> bool {
    match view_link(&w.t.app, link).await.unwrap() {
        LinkView::Open(open) => open.shop_may,
        other => panic!("not open: {other:?}"),
    }
}

async fn wrong_ones(w: &World) -> i64 {
    let now = w.t.app.now();
    w.t.app.store.business_tries(w.shop.id, now - Span::hours(24), now).await.unwrap().0
}

on_both! {
    async fn of_a_stopped_business_no_pin_is_checked_on_links_already_open(db: TestDatabase) {
        let w = World::with(db, "[server]\ndev = true\n[wallet]\nlink_lifetime = \"120m\"\n").await;
        let (started, first) = w.ready(20_000, 100).await;
        let mut links = vec![first];
        for n in 2..6 {
            links.push(token(&w.begin(100, &format!("k-{n}")).await));
        }
        for link in &links[..4] {
            wrong(&w, link, 5).await;
        }
        let open = &links[4];
        for pin in [WRONG, PIN] {
            let confirmed = w.confirm(open, pin).await;
            assert!(matches!(confirmed, Confirmed::ShopStopped), "{confirmed:?}");
        }
        assert_eq!(wrong_ones(&w).await, 20);
        assert!(!may(&w, open).await);
        // What was answered before is answered again.
        match w.try_start(&w.request(100, "k-1")).await {
            Started::Waiting(again) => assert_eq!(again.confirm_url, started.confirm_url),
            other => panic!("{other:?}"),
        }
        assert!(matches!(w.try_start(&w.request(100, "k-9")).await, Started::Stopped));
        w.enabled(&w.shop, HOOK).await;
        assert!(may(&w, open).await);
        assert!(matches!(w.confirm(open, PIN).await, Confirmed::Paid(_)));
    }

    async fn one_wrong_pin_does_not_stop_a_business_that_somebody_let_go_on(db: TestDatabase) {
        let w = World::with(db, "[server]\ndev = true\n[wallet]\nlink_lifetime = \"120m\"\n").await;
        let (_, first) = w.ready(20_000, 100).await;
        wrong(&w, &first, 5).await;
        for n in 2..5 {
            let link = token(&w.begin(100, &format!("k-{n}")).await);
            wrong(&w, &link, 5).await;
        }
        assert!(matches!(w.try_start(&w.request(100, "k-5")).await, Started::Stopped));
        w.enabled(&w.shop, HOOK).await;
        w.t.advance(Span::seconds(1));
        for n in 5..9 {
            let link = token(&w.begin(100, &format!("k-{n}")).await);
            // Let go on, it is not let go on again by the next look.
            w.enabled(&w.shop, HOOK).await;
            wrong(&w, &link, if n == 8 { 4 } else { 5 }).await;
        }
        let last = token(&w.begin(100, "k-9").await);
        wrong(&w, &last, 1).await;
        assert!(matches!(w.try_start(&w.request(100, "k-10")).await, Started::Stopped), "twenty more stop it");
        w.t.advance(Span::hours(25));
        assert!(matches!(w.try_start(&w.request(100, "k-10")).await, Started::Stopped), "time does not help");
        w.enabled(&w.shop, HOOK).await;
        assert!(matches!(w.try_start(&w.request(100, "k-10")).await, Started::Waiting(_)));
    }

    async fn a_business_that_is_off_confirms_nothing_until_it_is_on(db: TestDatabase) {
        let w = World::start(db).await;
        let (_, link) = w.ready(20_000, 100).await;
        let wallet = |on| BusinessChange { wallet_enabled: Some(on), ..BusinessChange::default() };
        let active = |on| BusinessChange { active: Some(on), ..BusinessChange::default() };
        for (off, on) in [(wallet(false), wallet(true)), (active(false), active(true))] {
            change(&w, off).await;
            for pin in [PIN, WRONG] {
                assert!(matches!(w.confirm(&link, pin).await, Confirmed::ShopStopped));
            }
            assert!(!may(&w, &link).await);
            change(&w, on).await;
            assert!(may(&w, &link).await);
        }
        assert_eq!(wrong_ones(&w).await, 0);
        assert!(matches!(w.confirm(&link, PIN).await, Confirmed::Paid(_)));
    }

    async fn a_customer_whom_one_merchant_locked_out_resets_through_anothers_link(db: TestDatabase) {
        let w = World::start(db).await;
        let other = w.t.merchant("kente.example").await;
        let other = w.enabled(&other, "https://kente.example/hook").await;
        let (_, first) = w.ready(20_000, 100).await;
        let second = token(&w.begin(100, "k-2").await);
        let request = StartRequest { webhook_url: "https://kente.example/hook".into(), ..w.request(100, "k-3") };
        let third = match start_wallet_payment(&w.t.app, &other.caller, &request).await.unwrap() {
            Started::Waiting(started) => token(&started),
            other => panic!("{other:?}"),
        };
        for _ in 0..5 {
            w.confirm(&first, WRONG).await;
            w.confirm(&second, WRONG).await;
        }
        assert!(matches!(w.wallet().await.status(w.t.app.now()), WalletStatus::Locked(_)));
        assert!(matches!(w.confirm(&third, PIN).await, Confirmed::Locked { .. }));
        w.set_pin(&third, "8305").await;
        assert_eq!(w.wallet().await.status(w.t.app.now()), WalletStatus::Active);
        assert!(matches!(w.confirm(&third, "8305").await, Confirmed::Paid(_)));
        w.send_messages().await;
        assert_eq!(w.post.count(MessageKind::PinChanged), 2);
    }
}
