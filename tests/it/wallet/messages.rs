//! Messages: sent once, tried again while they make sense, counted, kept without their secrets.

use std::time::Duration;
use tillbell::ops::messages::reports::{note_report, note_writing};
use tillbell::outbound::message::SendOutcome;

use tillbell::domain::message::{MessageKind, MessageStatus};
use tillbell::domain::phone::Phone;
use tillbell::domain::time::Span;
use tillbell::ops::messages::send_text::{TextSent, send_text};
use tillbell::ops::wallet_payments::start::{StartRequest, Started, start_wallet_payment};
use tillbell::ops::webhooks::target::{LeftBehind, left_behind};

use super::world::{HOOK, PIN, World, oldest_first, token};

fn refused(why: &str) -> SendOutcome {
    SendOutcome::Refused { why: why.into() }
}

fn later(why: &str) -> SendOutcome {
    SendOutcome::Retry { why: why.into(), after: None }
}

async fn text(w: &World, to: &str, text: &str) -> TextSent {
    send_text(&w.t.app, &w.shop.caller, &Phone::parse(to).unwrap(), text, None).await.unwrap()
}

/// What an operator reads of it.
fn said(one: &tillbell::ops::messages::shown::Listed) -> &str {
    one.text.as_deref().unwrap()
}

on_both! {
    async fn a_refused_link_is_told_and_tried_again_by_the_same_request(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(20_000).await;
        w.post.answer(refused("template is paused"));
        let request = w.request(5_000, "k-1");
        let failed = w.try_start(&request).await;
        assert!(matches!(&failed, Started::NotSent(_, why) if why == "template is paused"), "{failed:?}");
        let intent = w.t.app.store.intent_by_key(w.shop.id, "k-1").await.unwrap().unwrap();
        w.post.answer(refused("still paused"));
        assert!(matches!(w.try_start(&request).await, Started::NotSent(_, why) if why == "still paused"));
        let Started::Waiting(started) = w.try_start(&request).await else { panic!("not sent") };
        assert_eq!(started.intent.id, intent.id);
        assert_eq!(w.post.count(MessageKind::Link), 3);
        assert!(matches!(w.try_start(&request).await, Started::Waiting(same) if same.confirm_url == started.confirm_url));
        assert_eq!(w.post.count(MessageKind::Link), 3, "sent once");
        let other = tillbell::ops::wallet_payments::start::StartRequest { fingerprint: [8; 32], ..request };
        assert!(matches!(w.try_start(&other).await, Started::OtherRequest));
    }

    async fn a_short_trouble_of_the_messenger_is_waited_out(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(20_000).await;
        w.post.answer(later("busy"));
        assert!(matches!(w.try_start(&w.request(5_000, "k-1")).await, Started::Waiting(_)));
        assert_eq!(w.post.count(MessageKind::Link), 2);
    }

    async fn a_long_trouble_is_no_refusal_and_workers_go_on_until_the_link_ends(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(20_000).await;
        let down = SendOutcome::Retry { why: "down".into(), after: Some(Duration::from_secs(60)) };
        w.post.answer(down.clone());
        let started = w.try_start(&w.request(5_000, "k-1")).await;
        assert!(matches!(&started, Started::Waiting(_)), "{started:?}");
        w.send_messages().await;
        assert_eq!(w.post.count(MessageKind::Link), 1, "not before its time");
        w.t.advance(Span::seconds(61));
        w.post.answer(down);
        w.send_messages().await;
        assert_eq!(w.post.count(MessageKind::Link), 2);
        w.t.advance(Span::seconds(61));
        w.send_messages().await;
        assert_eq!(w.post.count(MessageKind::Link), 3);
        // It went out without the merchant's doing; the same request is now answered well.
        assert!(matches!(w.try_start(&w.request(5_000, "k-1")).await, Started::Waiting(_)));
        assert_eq!(w.post.count(MessageKind::Link), 3);
        let shown = oldest_first(&w.t.app, None).await;
        let row = &shown[0].row;
        assert_eq!((row.status, row.attempts, row.error.as_deref()), (MessageStatus::Sent, 3, None));
    }

    async fn a_link_that_has_ended_is_not_sent_any_more(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(20_000).await;
        w.post.answer(SendOutcome::Retry { why: "down".into(), after: Some(Duration::from_secs(60)) });
        let request = w.request(5_000, "k-1");
        assert!(matches!(w.try_start(&request).await, Started::Waiting(_)));
        w.t.advance(Span::minutes(31));
        w.send_messages().await;
        assert_eq!(w.post.count(MessageKind::Link), 1);
        assert!(matches!(w.try_start(&request).await, Started::NotSent(..)));
        assert_eq!(w.post.count(MessageKind::Link), 1);
    }

    async fn what_a_saved_url_leaves_behind_is_counted(db: TestDatabase) {
        let w = World::start(db).await;
        let app = &w.t.app;
        // Saved, and on none of the business's websites.
        let (old, new) = ("https://till.example/in", "https://till.example/new");
        let shop = w.enabled(&w.shop, old).await;
        let (_, first) = w.ready(20_000, 5_000).await;
        let start = async |key: &str| {
            let request = StartRequest { webhook_url: Some("https://TILL.example:443/in".into()), ..w.request(3_000, key) };
            start_wallet_payment(app, &shop.caller, &request).await.unwrap()
        };
        assert!(matches!(start("k-2").await, Started::Waiting(_)));
        let Started::Waiting(paid) = start("k-3").await else { panic!("not started") };
        w.confirm(&token(&paid), PIN).await;
        assert_eq!(left_behind(app, shop.id, old).await.unwrap(), LeftBehind { open: 1, undelivered: 1 });
        assert_eq!(left_behind(app, shop.id, new).await.unwrap(), LeftBehind { open: 0, undelivered: 0 });
        // What is on an approved website goes there whatever is saved.
        w.confirm(&first, PIN).await;
        assert_eq!(left_behind(app, shop.id, HOOK).await.unwrap(), LeftBehind { open: 0, undelivered: 0 });
    }

    async fn texts_go_to_any_number_once_and_never_lead_to_our_pages(db: TestDatabase) {
        let w = World::with(db, "[server]\npublic_url = \"https://pay.tills.example\"\n").await;
        for good in ["Your order is 220417", "220417 is your one-time code"] {
            assert!(matches!(text(&w, "07035550199", good).await, TextSent::Sent { .. }), "{good}");
        }
        for bad in ["https://pay.tills.example/pay/x", "pay\u{200b}.tills.example", "https://evil.example/?u=https%3A%2F%2Fpay.tills.example", "220417 is your wallet code"] {
            assert!(matches!(text(&w, "07035550199", bad).await, TextSent::Refused(_)), "{bad}");
        }
        w.post.answer(later("down"));
        w.post.answer(later("down"));
        let failed = text(&w, "07035550199", "two").await;
        assert!(matches!(&failed, TextSent::NotSent(why) if why == "down"), "{failed:?}");
        let before = w.post.seen().len();
        // The next attempt of a message that is still wanted would be due, and in time.
        w.t.advance(Span::seconds(4));
        w.send_messages().await;
        assert_eq!(w.post.seen().len(), before, "the merchant was told that it was not sent");
        w.post.answer(refused("no"));
        assert!(matches!(text(&w, "07035550199", "three").await, TextSent::NotSent(why) if why == "no"));
        let before = w.post.seen().len();
        w.t.advance(Span::hours(1));
        w.send_messages().await;
        assert_eq!(w.post.seen().len(), before, "not sent later");
        let shown = oldest_first(&w.t.app, Some(&Phone::parse("07035550199").unwrap())).await;
        assert_eq!(shown.len(), 4);
        assert_eq!(said(&shown[0]), "From adire.example Ltd:\nYour order is ****", "the messenger is not the log");
        assert!(oldest_first(&w.t.app, Some(&w.phone())).await.is_empty());
    }

    async fn quotas_are_exact_and_end_with_their_windows(db: TestDatabase) {
        let w = World::start(db).await;
        let all = futures_util::future::join_all((0..40).map(|_| text(&w, "07035550199", "hello"))).await;
        let sent = all.iter().filter(|sent| matches!(sent, TextSent::Sent { .. })).count();
        let over = all.iter().filter(|sent| matches!(sent, TextSent::OverQuota { .. })).count();
        assert_eq!((sent, over), (30, 10), "{all:?}");
        assert!(matches!(text(&w, "07035550188", "hello").await, TextSent::Sent { .. }), "another number");
        let mut day = 30;
        while day < 200 {
            w.t.advance(Span::minutes(1));
            let more = (200 - day).min(30);
            let all = futures_util::future::join_all((0..more).map(|_| text(&w, "07035550199", "hello"))).await;
            assert!(all.iter().all(|sent| matches!(sent, TextSent::Sent { .. })), "{day}: {all:?}");
            day += more;
        }
        w.t.advance(Span::minutes(1));
        let over = text(&w, "07035550199", "hello").await;
        assert!(matches!(over, TextSent::OverQuota(over) if over.scope == tillbell::store::tables::messages::QuotaScope::RecipientDay), "{over:?}");
        w.t.advance(Span::hours(24));
        assert!(matches!(text(&w, "07035550199", "hello").await, TextSent::Sent { .. }));
    }

    async fn links_count_like_texts(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(20_000).await;
        for n in 0..15 {
            w.begin(100, &format!("k-{n}")).await;
            assert!(matches!(text(&w, super::world::PHONE, "hello").await, TextSent::Sent { .. }));
        }
        let over = w.try_start(&w.request(100, "k-over")).await;
        assert!(matches!(over, Started::OverQuota(over) if over.scope == tillbell::store::tables::messages::QuotaScope::RecipientMinute), "{over:?}");
        assert!(w.t.app.store.intent_by_key(w.shop.id, "k-over").await.unwrap().is_none(), "nothing was started");
        assert!(matches!(text(&w, super::world::PHONE, "hello").await, TextSent::OverQuota(_)));
        // What was started is answered as before.
        w.begin(100, "k-3").await;
        assert_eq!(w.post.seen().len(), 30);
        w.t.advance(Span::minutes(1));
        w.begin(100, "k-over").await;
    }

    async fn only_what_the_log_got_in_dev_mode_is_listed_in_clear(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(20_000).await;
        // Whatever messenger the one has who lists: each row says who got it.
        w.post.answer(SendOutcome::Sent { provider_id: "log-1".into() });
        let logged = w.begin(100, "k-1").await;
        let sent = w.begin(100, "k-2").await;
        w.post.answer(refused("no"));
        assert!(matches!(w.try_start(&w.request(100, "k-3")).await, Started::NotSent(..)));
        let shown = oldest_first(&w.t.app, None).await;
        assert!(said(&shown[0]).contains(&logged.confirm_url));
        assert!(!said(&shown[1]).contains(&token(&sent)) && said(&shown[1]).contains("://***"), "{}", said(&shown[1]));
        assert!(said(&shown[2]).contains("://***"), "{}", said(&shown[2]));
    }

    async fn without_dev_mode_nothing_is_listed_in_clear(db: TestDatabase) {
        let w = World::with(db, "[server]\npublic_url = \"https://pay.tills.example\"\n").await;
        w.funded(20_000).await;
        w.post.answer(SendOutcome::Sent { provider_id: "log-1".into() });
        let started = w.begin(100, "k-1").await;
        let shown = oldest_first(&w.t.app, None).await;
        assert!(!said(&shown[0]).contains(&token(&started)), "{}", said(&shown[0]));
    }

    async fn a_business_sends_ten_thousand_a_day(db: TestDatabase) {
        use tillbell::store::tables::messages::{QuotaScope, use_quota};
        let w = World::start(db).await;
        let (key, now) = (w.shop.id.to_be_bytes(), w.t.app.now());
        for _ in 0..10 {
            let used = (0..1_000).map(|_| use_quota(QuotaScope::BusinessDay, &key, now));
            let unit = w.t.app.store.unit(1).await.unwrap().steps(used);
            assert!(w.t.app.store.apply(unit).await.unwrap().is_done());
        }
        let over = text(&w, "07035550199", "hello").await;
        assert!(matches!(over, TextSent::OverQuota(over) if over.scope == QuotaScope::BusinessDay && over.until == now + Span::hours(24)), "{over:?}");
        assert_eq!(w.post.seen().len(), 0);
        w.t.advance(Span::hours(24));
        assert!(matches!(text(&w, "07035550199", "hello").await, TextSent::Sent { .. }));
    }

    async fn reports_move_a_message_on_and_never_back(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(20_000).await;
        let started = w.begin(5_000, "k-1").await;
        let id = format!("wamid.{}", started.intent.message_id);
        let status = || async { w.t.app.store.message(started.intent.message_id).await.unwrap().unwrap().status };
        assert!(!note_report(&w.t.app, "wamid.none", MessageStatus::Read, None).await.unwrap());
        assert!(note_report(&w.t.app, &id, MessageStatus::Read, None).await.unwrap());
        assert!(note_report(&w.t.app, &id, MessageStatus::Delivered, None).await.unwrap());
        assert!(note_report(&w.t.app, &id, MessageStatus::Failed, Some("late")).await.unwrap());
        assert_eq!(status().await, MessageStatus::Read);
        let second = w.begin(500, "k-2").await;
        let id = format!("wamid.{}", second.intent.message_id);
        assert!(note_report(&w.t.app, &id, MessageStatus::Failed, Some("blocked")).await.unwrap());
        let row = w.t.app.store.message(second.intent.message_id).await.unwrap().unwrap();
        assert_eq!((row.status, row.error.as_deref()), (MessageStatus::Failed, Some("blocked")));
    }

    async fn who_wrote_within_a_day_may_be_sent_plain_text(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(20_000).await;
        let first = w.begin(500, "k-1").await;
        assert!(!w.post.last(MessageKind::Link).is_window_open);
        note_writing(&w.t.app, &w.phone(), w.t.app.now()).await.unwrap();
        w.begin(500, "k-2").await;
        assert!(w.post.last(MessageKind::Link).is_window_open);
        w.t.advance(Span::hours(24));
        w.begin(500, "k-3").await;
        assert!(!w.post.last(MessageKind::Link).is_window_open);
        assert!(!token(&first).is_empty());
    }
}
