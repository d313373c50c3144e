//! A payment from start to receipt, and each way in which it ends without money.

use tillbell::domain::intent::{IntentEnd, IntentState};
use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::domain::wallet::WalletStatus;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::payments::reject::reject_payment;
use tillbell::ops::payments::sweep::sweep;
use tillbell::ops::wallet_payments::confirm::Confirmed;
use tillbell::ops::wallet_payments::end::expire_intents;
use tillbell::ops::wallet_payments::page::{Cancelled, LinkView, OpenLink, cancel, view_link};
use tillbell::ops::wallet_payments::start::{StartRequest, Started, start_wallet_payment};
use tillbell::ops::wallets::desk::{Act, act};

use tillbell::domain::alert::AlertStatus;
use tillbell::ops::alerts::approve::{Approve, approve_alert};
use tillbell::ops::merchants::businesses::{BusinessChange, ChargeChange};
use tillbell::ops::merchants::websites::{NewWebsite, add_website};

use crate::harness::app::{ACCOUNT, LATER, at};
use crate::harness::mails::Alert;

use super::world::{HOOK, PHONE, PIN, WRONG, World, token};

async fn open(w: &World, token: &str) -> OpenLink {
    match view_link(&w.t.app, token).await.unwrap() {
        LinkView::Open(open) => *open,
        other => panic!("not open: {other:?}"),
    }
}

async fn ended(w: &World, token: &str) -> IntentEnd {
    match view_link(&w.t.app, token).await.unwrap() {
        LinkView::Ended(ended) => ended.end,
        other => panic!("not ended: {other:?}"),
    }
}

on_both! {
    async fn a_payment_from_start_to_receipt(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(20_000).await;
        let started = w.begin(5_000, "k-1").await;
        let token = token(&started);
        let link = w.post.last(MessageKind::Link);
        assert_eq!(link.to, "+2348035550142");
        assert!(link.text.contains(&started.confirm_url) && link.text.contains("NGN 5,000.00"), "{}", link.text);
        let before = w.payment(&started).await;
        assert_eq!((before.status, before.external_reference.as_deref()), (Status::Pending, Some("ORDER k-1")));
        let page = open(&w, &token).await;
        assert_eq!(page.order.merchant, "adire.example Ltd");
        assert_eq!(page.order.summary.as_deref(), Some("2 x ankara\n1 x gele"));
        assert_eq!(page.order.masked_phone, "+234 803 *** **42");
        assert!(!page.has_pin && page.balance_covers && page.within_daily_limit && page.tries_left == 5);
        assert_eq!(page.expires_at, page.now + Span::minutes(30));
        assert!(matches!(w.confirm(&token, PIN).await, Confirmed::NoPin));
        w.set_pin(&token, PIN).await;
        assert!(open(&w, &token).await.has_pin);
        assert_eq!(w.payment(&started).await.status, Status::Pending, "setting a PIN does not pay");
        let paid = w.confirm(&token, PIN).await;
        assert!(matches!(&paid, Confirmed::Paid(receipt) if receipt.transaction_id == started.transaction_id), "{paid:?}");
        let after = w.payment(&started).await;
        assert_eq!((after.status, after.matched_at, after.received), (Status::Approved, None, Some(Money(500_000))));
        assert_eq!(w.wallet().await.balance, Money(1_500_000));
        assert_eq!(w.merchant_balance().await, Money(490_000));
        let intent = w.t.app.store.intent(started.intent.id).await.unwrap().unwrap();
        assert_eq!((intent.state, intent.tries, intent.wrong_tries), (IntentState::Completed, 0, 0));
        let delivery = w.t.app.store.deliveries_of_payment(after.id).await.unwrap();
        assert_eq!(delivery.len(), 1);
        let input = w.t.app.store.inputs(&[delivery[0].event_id]).await.unwrap();
        let input = &input[&delivery[0].event_id];
        let body: serde_json::Value = serde_json::from_slice(&input.body).unwrap();
        assert_eq!((&body["external_reference"], &body["received_amount"]), (&"ORDER k-1".into(), &5000.0.into()));
        for null in ["bank", "payer_account_number", "account_number"] {
            assert!(body[null].is_null() && body.get(null).is_some(), "{null} in {body}");
        }
        assert_eq!(body["email_data"], serde_json::json!({}));
        let target = tillbell::ops::webhooks::target::address(&w.t.app, input).await.unwrap();
        assert!(matches!(target, tillbell::ops::webhooks::target::Addressed::Target(url) if url.as_str() == HOOK));
        assert!(matches!(w.confirm(&token, PIN).await, Confirmed::AlreadyPaid(_)));
        assert!(matches!(view_link(&w.t.app, &token).await.unwrap(), LinkView::Paid(_)));
        w.send_messages().await;
        assert!(w.post.last(MessageKind::Receipt).text.starts_with("You paid NGN 5,000.00 to adire.example Ltd for order ORDER k-1"));
        assert!(w.post.last(MessageKind::PinChanged).text.contains("PIN was set"));
    }

    async fn the_webhook_comes_once_to_the_url_of_pay_start(db: TestDatabase) {
        let w = World::start(db).await;
        let receiver = crate::harness::receiver::Receiver::start().await;
        let site = NewWebsite {
            business_id: w.shop.id,
            url: receiver.url(""),
            webhook_url: Some(receiver.url("/wallet")),
            charges: ChargeChange::default(),
            approve: true,
        };
        add_website(&w.t.app, "test", &site).await.unwrap().unwrap();
        w.t.app.directory.forget();
        w.funded(20_000).await;
        let request = StartRequest { webhook_url: Some(receiver.url("/wallet")), ..w.request(5_000, "k-1") };
        let Started::Waiting(started) = w.try_start(&request).await else { panic!("not started") };
        let link = token(&started);
        w.set_pin(&link, PIN).await;
        w.send_messages().await;
        assert!(receiver.received().is_empty(), "nothing before the PIN");
        for _ in 0..3 {
            w.confirm(&link, PIN).await;
        }
        w.send_messages().await;
        w.send_messages().await;
        let received = receiver.received();
        assert_eq!(received.len(), 1);
        assert_eq!(received[0].target, "/wallet");
        assert!(received[0].header("webhook-signature").starts_with("v1,"));
        let body = received[0].json();
        assert_eq!((&body["event"], &body["transaction_id"]), (&"payment.approved".into(), &started.transaction_id.clone().into()));
        assert_eq!((&body["status"], &body["is_mismatch"], &body["payer_name"]), (&"approved".into(), &false.into(), &"Ifeoma Danladi".into()));
        assert_eq!(body["charges"], serde_json::json!({"percentage": 50.0, "fixed": 50.0, "total": 100.0, "business_receives": 4900.0}));
        assert!(!String::from_utf8_lossy(&received[0].body).contains("5550142"));
    }

    async fn what_the_customer_pays_is_one_amount_everywhere(db: TestDatabase) {
        let w = World::with(db, "[server]\ndev = true\n[wallet.tier1]\ndaily = \"10200\"\n").await;
        let change = BusinessChange {
            charges: ChargeChange { paid_by_customer: Some(true), ..ChargeChange::default() },
            ..BusinessChange::default()
        };
        tillbell::ops::merchants::businesses::set_business(&w.t.app, "test", w.shop.id, &change).await.unwrap().unwrap();
        let w = World { shop: w.enabled(&w.shop, HOOK).await, ..w };
        w.funded(5_099).await;
        let poor = w.try_start(&w.request(5_000, "k-0")).await;
        assert!(matches!(poor, Started::InsufficientBalance(Money(509_900))), "{poor:?}");
        w.t.advance(Span::minutes(11));
        w.funded(15_000).await;
        let started = w.begin(5_000, "k-1").await;
        assert_eq!(started.intent.amount, Money(510_000));
        assert!(w.post.last(MessageKind::Link).text.contains("NGN 5,100.00"));
        let link = token(&started);
        assert_eq!(open(&w, &link).await.order.amount, Money(510_000));
        w.set_pin(&link, PIN).await;
        assert!(matches!(w.confirm(&link, PIN).await, Confirmed::Paid(_)));
        assert_eq!((w.wallet().await.balance, w.merchant_balance().await), (Money(1_499_900), Money(500_000)));
        assert!(matches!(w.try_start(&w.request(5_001, "k-2")).await, Started::OverDailyLimit), "5,101.01 on top of 5,100.00");
        assert!(matches!(w.try_start(&w.request(5_000, "k-3")).await, Started::Waiting(_)));
    }

    async fn no_alert_and_no_correction_ever_meets_a_wallet_payment(db: TestDatabase) {
        let w = World::start(db).await;
        w.t.account(ACCOUNT).await;
        let (started, link) = w.ready(20_000, 5_000).await;
        w.t.advance(LATER + Span::seconds(20));
        let outcome = w.t.ingest(&Alert::credit(ACCOUNT, 5_000, "Ifeoma Danladi", at()).text()).await;
        assert_eq!(outcome.status, AlertStatus::Unmatched, "{outcome:?}");
        let approve = Approve {
            alert_id: outcome.alert_id,
            business_id: w.shop.id,
            transaction_id: &started.transaction_id,
            operator: "ada",
            despite: Some("the customer says so"),
            seen: None,
        };
        let refused = approve_alert(&w.t.app, &approve).await.unwrap().unwrap_err();
        assert!(refused.to_string().contains("not a bank transfer"), "{refused}");
        assert_eq!(w.payment(&started).await.status, Status::Pending);
        assert!(matches!(w.confirm(&link, PIN).await, Confirmed::Paid(_)));
    }

    async fn wrong_pins_are_counted_and_the_fifth_fails_the_payment(db: TestDatabase) {
        let w = World::start(db).await;
        let (started, token) = w.ready(20_000, 5_000).await;
        for left in (1..=4).rev() {
            let confirmed = w.confirm(&token, WRONG).await;
            assert!(matches!(confirmed, Confirmed::WrongPin { tries_left } if tries_left == left), "{confirmed:?}");
            assert_eq!(open(&w, &token).await.tries_left, left);
        }
        assert!(matches!(w.confirm(&token, "12").await, Confirmed::NotAPin(_)), "not counted");
        assert!(matches!(w.confirm(&token, WRONG).await, Confirmed::Failed(LinkView::Ended(_))));
        assert_eq!(ended(&w, &token).await, IntentEnd::WrongPins);
        assert!(matches!(w.confirm(&token, PIN).await, Confirmed::NotOpen(LinkView::Ended(_))));
        let after = w.payment(&started).await;
        assert_eq!((after.status, after.swept), (Status::Rejected, false));
        assert_eq!(w.wallet().await.balance, Money(2_000_000));
    }

    async fn ten_wrong_pins_lock_the_wallet_and_a_reset_or_a_day_or_an_operator_opens_it(db: TestDatabase) {
        let w = World::start(db).await;
        let (_, first) = w.ready(20_000, 5_000).await;
        let (second, third) = (token(&w.begin(4_000, "k-2").await), token(&w.begin(3_000, "k-3").await));
        for _ in 0..5 {
            w.confirm(&first, WRONG).await;
        }
        for _ in 0..4 {
            assert!(matches!(w.confirm(&second, WRONG).await, Confirmed::WrongPin { .. }));
        }
        // The tenth on the wallet is the fifth on its intent.
        assert!(matches!(w.confirm(&second, WRONG).await, Confirmed::Failed(_)));
        assert!(matches!(w.wallet().await.status(w.t.app.now()), WalletStatus::Locked(_)));
        assert!(matches!(w.confirm(&third, PIN).await, Confirmed::Locked { .. }), "a right PIN does not help");
        assert!(matches!(open(&w, &third).await.wallet, WalletStatus::Locked(_)));
        let refused = w.try_start(&w.request(100, "k-4")).await;
        assert!(matches!(refused, Started::NotActive(WalletStatus::Locked(_))), "{refused:?}");
        w.set_pin(&third, "8305").await;
        assert!(matches!(w.confirm(&third, PIN).await, Confirmed::WrongPin { tries_left: 4 }), "the old one is gone");
        assert!(matches!(w.confirm(&third, "8305").await, Confirmed::Paid(_)));
        // Forgotten by the reset: ten more are needed for the next lock.
        let fourth = token(&w.begin(500, "k-5").await);
        for _ in 0..4 {
            assert!(matches!(w.confirm(&fourth, WRONG).await, Confirmed::WrongPin { .. }));
        }
        assert!(matches!(w.confirm(&fourth, "8305").await, Confirmed::Paid(_)));
        let unlocked = act(&w.t.app, "ada", PHONE, Act::Unlock, "").await.unwrap().unwrap();
        assert_eq!(unlocked.status(w.t.app.now()), WalletStatus::Active);
    }

    async fn a_lock_ends_after_a_day_and_an_operator_ends_it_at_once(db: TestDatabase) {
        let w = World::start(db).await;
        let (_, first) = w.ready(20_000, 5_000).await;
        let second = token(&w.begin(4_000, "k-2").await);
        for link in [&first, &second] {
            for _ in 0..5 {
                w.confirm(link, WRONG).await;
            }
        }
        assert!(matches!(w.try_start(&w.request(100, "k-3")).await, Started::NotActive(_)));
        act(&w.t.app, "ada", PHONE, Act::Unlock, "").await.unwrap().unwrap();
        let third = token(&w.begin(100, "k-3").await);
        assert!(matches!(w.confirm(&third, WRONG).await, Confirmed::WrongPin { tries_left: 4 }), "tries were forgotten");
        for key in ["k-4", "k-5"] {
            let link = token(&w.begin(100, key).await);
            for _ in 0..5 {
                w.confirm(&link, WRONG).await;
            }
        }
        assert!(matches!(w.wallet().await.status(w.t.app.now()), WalletStatus::Locked(_)));
        w.t.advance(Span::hours(24));
        assert_eq!(w.wallet().await.status(w.t.app.now()), WalletStatus::Active);
    }

    async fn twenty_wrong_pins_stop_a_business_until_somebody_looks(db: TestDatabase) {
        let w = World::start(db).await;
        let other = w.t.merchant("kente.example").await;
        let other = w.enabled(&other, "https://kente.example/hook").await;
        w.funded(20_000).await;
        let mine = token(&w.begin(100, "k-0").await);
        w.set_pin(&mine, PIN).await;
        super::stopped::twenty_wrong(&w, 1).await;
        let refused = w.try_start(&w.request(100, "k-9")).await;
        assert!(matches!(refused, Started::Stopped), "{refused:?}");
        let request = StartRequest { webhook_url: Some("https://kente.example/hook".into()), ..w.request(100, "k-9") };
        let elsewhere = start_wallet_payment(&w.t.app, &other.caller, &request).await.unwrap();
        assert!(matches!(elsewhere, Started::Waiting(_)), "another business goes on");
        w.enabled(&w.shop, HOOK).await;
        w.t.advance(Span::seconds(1));
        let link = token(&w.begin(100, "k-9").await);
        assert!(matches!(w.confirm(&link, WRONG).await, Confirmed::WrongPin { .. }));
        assert!(matches!(w.try_start(&w.request(100, "k-10")).await, Started::Waiting(_)), "one more is one");
    }

    async fn an_expired_a_cancelled_and_a_rejected_payment_end_with_their_intents(db: TestDatabase) {
        let w = World::start(db).await;
        let (expiring, expired) = w.ready(20_000, 5_000).await;
        let (cancelling, rejecting) = (w.begin(100, "k-2").await, w.begin(100, "k-3").await);
        let (cancelled, rejected) = (token(&cancelling), token(&rejecting));
        let done = cancel(&w.t.app, &cancelled).await.unwrap();
        assert!(matches!(done, Cancelled::Done(LinkView::Ended(_))), "{done:?}");
        assert!(matches!(cancel(&w.t.app, &cancelled).await.unwrap(), Cancelled::Over(LinkView::Ended(_))));
        assert_eq!(ended(&w, &cancelled).await, IntentEnd::Cancelled);
        let transaction = w.payment(&rejecting).await.transaction_id;
        reject_payment(&w.t.app, w.shop.id, &transaction, "ada", "not ours").await.unwrap().unwrap();
        assert_eq!(ended(&w, &rejected).await, IntentEnd::Rejected);
        for link in [&cancelled, &rejected] {
            assert!(matches!(w.confirm(link, PIN).await, Confirmed::NotOpen(LinkView::Ended(_))));
        }
        w.t.advance(Span::minutes(30));
        // Before the sweep has seen it, too.
        assert_eq!(ended(&w, &expired).await, IntentEnd::Expired);
        assert!(matches!(w.confirm(&expired, PIN).await, Confirmed::NotOpen(LinkView::Ended(_))));
        sweep(&w.t.app).await.unwrap();
        assert_eq!(w.payment(&expiring).await.status, Status::Pending, "left to those who end intents");
        assert_eq!(expire_intents(&w.t.app).await.unwrap(), 1);
        assert_eq!(expire_intents(&w.t.app).await.unwrap(), 0);
        let states = [&expiring, &cancelling, &rejecting];
        for started in states {
            assert_eq!(w.payment(started).await.status, Status::Rejected);
        }
        assert!(w.payment(&expiring).await.swept);
        assert_eq!(w.wallet().await.balance, Money(2_000_000));
        assert!(matches!(view_link(&w.t.app, "no such link").await.unwrap(), LinkView::NotFound));
        assert!(matches!(w.confirm("no such link", PIN).await, Confirmed::NotOpen(LinkView::NotFound)));
        w.t.advance(Span::days(31));
        assert!(matches!(view_link(&w.t.app, &expired).await.unwrap(), LinkView::NotFound), "long gone");
    }

    async fn a_right_pin_that_cannot_pay_gives_its_place_back(db: TestDatabase) {
        let w = World::start(db).await;
        let (_, first) = w.ready(8_000, 5_000).await;
        let second = token(&w.begin(4_000, "k-2").await);
        assert!(matches!(w.confirm(&first, PIN).await, Confirmed::Paid(_)));
        for _ in 0..7 {
            assert!(matches!(w.confirm(&second, PIN).await, Confirmed::BalanceTooLow(_)));
        }
        let page = open(&w, &second).await;
        assert!(!page.balance_covers && page.tries_left == 5);
        act(&w.t.app, "ada", PHONE, Act::Suspend, "asked for").await.unwrap().unwrap();
        assert!(matches!(w.confirm(&second, PIN).await, Confirmed::Suspended));
        assert!(matches!(w.try_start(&w.request(10, "k-7")).await, Started::NotActive(WalletStatus::Suspended)));
        act(&w.t.app, "ada", PHONE, Act::Resume, "sorted out").await.unwrap().unwrap();
        assert!(matches!(w.confirm(&second, PIN).await, Confirmed::BalanceTooLow(_)));
    }

    async fn the_days_limit_holds_at_start_and_at_the_debit(db: TestDatabase) {
        let w = World::with(db, "[server]\ndev = true\n[wallet.tier1]\ndaily = \"6000\"\n").await;
        let (_, first) = w.ready(20_000, 4_000).await;
        let second = token(&w.begin(3_000, "k-2").await);
        assert!(matches!(w.try_start(&w.request(6_001, "k-3")).await, Started::OverDailyLimit));
        assert!(matches!(w.confirm(&first, PIN).await, Confirmed::Paid(_)));
        assert!(matches!(w.confirm(&second, PIN).await, Confirmed::OverDailyLimit(_)));
        assert!(!open(&w, &second).await.within_daily_limit);
        assert!(matches!(w.try_start(&w.request(2_001, "k-4")).await, Started::OverDailyLimit));
        // 09:00 in Lagos; 15 hours later a new day has begun there.
        w.t.advance(Span::hours(15));
        let third = token(&w.begin(6_000, "k-5").await);
        assert!(matches!(w.confirm(&third, PIN).await, Confirmed::Paid(_)));
    }

    async fn a_reversal_gives_the_customer_the_money_back(db: TestDatabase) {
        let w = World::start(db).await;
        let (started, token) = w.ready(20_000, 5_000).await;
        assert!(matches!(w.confirm(&token, PIN).await, Confirmed::Paid(_)));
        let ask = Reverse {
            business_id: w.shop.id,
            transaction_id: &started.transaction_id,
            reason: "goods came back",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&w.t.app, &ask).await.unwrap().unwrap();
        assert_eq!(w.wallet().await.balance, Money(2_000_000));
        assert_eq!(w.merchant_balance().await, Money(0));
        assert!(reverse_payment(&w.t.app, &ask).await.unwrap().is_err());
        let shown = view_link(&w.t.app, &token).await.unwrap();
        assert!(matches!(shown, LinkView::Paid(receipt) if receipt.reversed_at.is_some()));
        w.send_messages().await;
        let text = w.post.last(MessageKind::Refund).text.clone();
        let told = "The NGN 5,000.00 that you paid to adire.example Ltd for order ORDER k-1 was refunded";
        assert!(text.contains(told) && !text.contains("use it now"), "the day's limit still counts it: {text}");
    }
}
