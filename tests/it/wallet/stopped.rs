//! A business whose payments may not be confirmed: stopped for wrong PINs, switched off, disabled; and what
//! that, or a lock, leaves to the customer.

use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::phone::Phone;
use tillbell::domain::time::Span;
use tillbell::domain::wallet::WalletStatus;
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::wallet_payments::confirm::Confirmed;
use tillbell::ops::wallet_payments::page::{LinkView, view_link};
use tillbell::ops::wallet_payments::start::{StartRequest, Started, start_wallet_payment};
use tillbell::ops::wallets::desk::{GivenCredit, credit};
use tillbell::ops::wallets::find::ensure;

use super::world::{HOOK, PIN, WRONG, World, token};

async fn change(w: &World, change: BusinessChange) {
    set_business(&w.t.app, "test", w.shop.id, &change).await.unwrap().unwrap();
    w.t.app.directory.forget();
}

async fn may(w: &World, link: &str) -> bool {
    match view_link(&w.t.app, link).await.unwrap() {
        LinkView::Open(open) => open.shop_may,
        other => panic!("not open: {other:?}"),
    }
}

async fn wrong_ones(w: &World) -> i64 {
    let now = w.t.app.now();
    w.t.app.store.business_tries(w.shop.id, now - Span::hours(24), now, None).await.unwrap().0
}

/// A customer beside the usual one, with a PIN and a payment that waits.
async fn customer(w: &World, n: usize) -> String {
    let phone = Phone::parse(&format!("0803555{n:04}")).unwrap();
    ensure(&w.t.app, &phone).await.unwrap();
    let given = GivenCredit {
        phone: &format!("0803555{n:04}"),
        amount: Money(100_000),
        reason: "opening",
        reference: None,
    };
    credit(&w.t.app, "ada", &given).await.unwrap().unwrap();
    let link = more_of(w, n, "first").await;
    w.set_pin(&link, PIN).await;
    link
}

/// One more payment of that customer.
async fn more_of(w: &World, n: usize, key: &str) -> String {
    let phone = Phone::parse(&format!("0803555{n:04}")).unwrap();
    match w.try_start(&StartRequest { phone, ..w.request(100, &format!("{n}-{key}")) }).await {
        Started::Waiting(started) => token(&started),
        other => panic!("not started: {other:?}"),
    }
}

/// Wrong PINs of so many customers, three each, and of one more the rest that is needed.
pub async fn twenty_wrong(w: &World, first: usize) {
    for n in first..first + 7 {
        let link = customer(w, n).await;
        for _ in 0..if n == first + 6 { 2 } else { 3 } {
            let confirmed = w.confirm(&link, WRONG).await;
            assert!(matches!(confirmed, Confirmed::WrongPin { .. }), "{confirmed:?}");
        }
    }
}

on_both! {
    async fn two_forgetful_customers_do_not_stop_a_shop(db: TestDatabase) {
        let w = World::start(db).await;
        for n in [1, 2] {
            let links = [customer(&w, n).await, more_of(&w, n, "second").await];
            for link in &links {
                for _ in 0..5 {
                    w.confirm(link, WRONG).await;
                }
            }
        }
        let open = customer(&w, 3).await;
        assert!(may(&w, &open).await);
        assert!(matches!(w.confirm(&open, PIN).await, Confirmed::Paid(_)));
        // Those who try the wallets of many are stopped as before: fourteen more are needed beside these six.
        for n in 4..9 {
            let link = customer(&w, n).await;
            for _ in 0..if n == 8 { 1 } else { 5 } {
                w.confirm(&link, WRONG).await;
            }
        }
        let last = customer(&w, 9).await;
        assert!(may(&w, &last).await);
        w.confirm(&last, WRONG).await;
        assert!(!may(&w, &last).await);
        assert!(matches!(w.try_start(&w.request(100, "k-9")).await, Started::Stopped));
    }

    async fn wrong_pins_that_end_a_payment_or_lock_a_wallet_are_told_to_the_owner(db: TestDatabase) {
        let settings = "[server]\ndev = true\n[pages]\noperator_name = \"Kudi Basket\"\nsupport = \"0700 555 0100\"\n";
        let w = World::with(db, settings).await;
        let (_, first) = w.ready(20_000, 100).await;
        let (second, third) = (w.begin(200, "k-2").await, token(&w.begin(300, "k-3").await));
        let told = |part: &str| w.post.seen().into_iter().filter(|seen| seen.text.contains(part)).map(|seen| seen.text).collect::<Vec<_>>();
        for _ in 0..5 {
            w.confirm(&first, WRONG).await;
        }
        w.send_messages().await;
        let stopped = told("was stopped on");
        assert_eq!(stopped, ["Your payment of NGN 100.00 to adire.example Ltd was stopped on 10 Mar 2026, 09:00 after wrong \
             PINs. No money has left your Kudi Basket wallet. To try again, ask the shop for a new link. Forgot your PIN? \
             Set a new one on the payment page first. If this was not you, contact Kudi Basket (0700 555 0100) straight \
             away."]);
        for _ in 0..5 {
            w.confirm(&token(&second), WRONG).await;
        }
        w.confirm(&third, WRONG).await;
        w.send_messages().await;
        assert_eq!(told("was stopped on").len(), 1, "one message tells of the lock");
        assert_eq!(told("was locked"), ["Your Kudi Basket wallet was locked on 10 Mar 2026, 09:00 after wrong PINs. Your \
             payment of NGN 200.00 to adire.example Ltd was stopped. No money has left your wallet. It unlocks on 11 Mar \
             2026, 09:00. To unlock it now, open your payment link and set a new PIN with a code. To pay, ask the shop for a \
             new link. If this was not you, contact Kudi Basket (0700 555 0100) straight away."]);
        // The next lock is told anew.
        w.t.advance(Span::minutes(2));
        w.set_pin(&third, "8305").await;
        let fourth = token(&w.begin(300, "k-4").await);
        for _ in 0..5 {
            w.confirm(&third, WRONG).await;
            w.confirm(&fourth, WRONG).await;
        }
        w.send_messages().await;
        assert_eq!((told("was stopped on").len(), told("was locked").len()), (2, 2));
    }

    async fn of_a_stopped_business_no_pin_is_checked_on_links_already_open(db: TestDatabase) {
        let w = World::with(db, "[server]\ndev = true\n[wallet]\nlink_lifetime = \"120m\"\n").await;
        let (started, open) = w.ready(20_000, 100).await;
        let open = &open;
        twenty_wrong(&w, 1).await;
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
        w.funded(20_000).await;
        twenty_wrong(&w, 1).await;
        assert!(matches!(w.try_start(&w.request(100, "k-5")).await, Started::Stopped));
        w.enabled(&w.shop, HOOK).await;
        w.t.advance(Span::seconds(1));
        for n in 11..17 {
            // Let go on, it is not let go on again by the next look.
            w.enabled(&w.shop, HOOK).await;
            let link = customer(&w, n).await;
            for _ in 0..3 {
                w.confirm(&link, WRONG).await;
            }
        }
        let last = customer(&w, 17).await;
        assert!(may(&w, &last).await);
        w.confirm(&last, WRONG).await;
        assert!(may(&w, &last).await, "nineteen");
        w.confirm(&last, WRONG).await;
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
        let request = StartRequest { webhook_url: Some("https://kente.example/hook".into()), ..w.request(100, "k-3") };
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
