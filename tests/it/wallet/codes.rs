//! One-time codes: only the newest, once, for their wallet and link, five tries, three an hour and five a day.

use tillbell::domain::intent::CODE_PAUSE;
use tillbell::domain::message::MessageKind;
use tillbell::domain::time::Span;
use tillbell::ops::wallet_payments::confirm::Confirmed;
use tillbell::ops::wallet_payments::page::{LinkView, view_link};
use tillbell::ops::wallet_payments::pin_reset::{CodeSent, PinSet, send_code, set_pin};
use tillbell::outbound::message::SendOutcome;

use super::world::{PIN, World, token};

/// Another code than the one given.
fn another(code: &str) -> String {
    let n: u32 = code.parse().unwrap();
    format!("{:06}", (n + 1) % 1_000_000)
}

async fn ask(w: &World, link: &str) -> String {
    let sent = send_code(&w.t.app, link, None).await.unwrap();
    assert!(matches!(sent, CodeSent::Sent { .. }), "{sent:?}");
    w.post.last(MessageKind::Code).code.unwrap()
}

async fn set(w: &World, link: &str, code: &str, pin: &str) -> PinSet {
    set_pin(&w.t.app, link, code, pin, pin, None).await.unwrap()
}

on_both! {
    async fn a_code_counts_once_and_only_the_newest_one(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(10_000).await;
        let link = token(&w.begin(500, "k-1").await);
        assert!(matches!(set(&w, &link, "123456", PIN).await, PinSet::NoCode));
        let first = ask(&w, &link).await;
        w.t.advance(CODE_PAUSE);
        let second = ask(&w, &link).await;
        assert_ne!(first, second);
        assert!(w.post.last(MessageKind::Code).text.contains("Never share it with anyone, including adire.example Ltd"));
        assert!(matches!(set(&w, &link, &first, PIN).await, PinSet::WrongCode { tries_left: 4 }));
        for (code, pin, again) in [(second.as_str(), "1234", "1234"), ("12345", PIN, PIN), (second.as_str(), PIN, "4070")] {
            let refused = set_pin(&w.t.app, &link, code, pin, again, None).await.unwrap();
            assert!(matches!(refused, PinSet::BadPin(_) | PinSet::NotACode | PinSet::NotTheSame), "{refused:?}");
        }
        let LinkView::Open(open) = view_link(&w.t.app, &link).await.unwrap() else { panic!() };
        assert_eq!(open.codes.open.unwrap().tries_left, 4, "what is no code and no PIN was not counted");
        assert!(matches!(set(&w, &link, &second, PIN).await, PinSet::Done));
        assert!(matches!(set(&w, &link, &second, "8305").await, PinSet::AlreadySet), "used");
        assert!(matches!(w.confirm(&link, PIN).await, Confirmed::Paid(_)));
        assert!(matches!(set(&w, &link, &second, PIN).await, PinSet::NotOpen(LinkView::Paid(_))));
    }

    async fn a_code_is_of_its_link_and_ends_after_five_tries_or_ten_minutes(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(10_000).await;
        let link = token(&w.begin(500, "k-1").await);
        let other = token(&w.begin(600, "k-2").await);
        let code = ask(&w, &link).await;
        assert!(matches!(set(&w, &other, &code, PIN).await, PinSet::NoCode), "of another link");
        let wrong = another(&code);
        for left in (0..5).rev() {
            let tried = set(&w, &link, &wrong, PIN).await;
            assert!(matches!(tried, PinSet::WrongCode { tries_left } if tries_left == left), "{tried:?}");
        }
        assert!(matches!(set(&w, &link, &code, PIN).await, PinSet::NoCode), "ended");
        w.t.advance(CODE_PAUSE);
        let late = ask(&w, &link).await;
        w.t.advance(Span::minutes(10));
        assert!(matches!(set(&w, &link, &late, PIN).await, PinSet::NoCode), "too old");
        assert!(!w.wallet().await.has_pin());
    }

    async fn tries_of_a_code_at_once_are_all_counted(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(10_000).await;
        let link = token(&w.begin(500, "k-1").await);
        let code = ask(&w, &link).await;
        let wrong = another(&code);
        let all = futures_util::future::join_all((0..30).map(|_| set(&w, &link, &wrong, PIN))).await;
        let checked = all.iter().filter(|set| matches!(set, PinSet::WrongCode { .. })).count();
        assert_eq!(checked, 5, "{all:?}");
        assert!(matches!(set(&w, &link, &code, PIN).await, PinSet::NoCode));
        // One code used by many at once sets one PIN.
        w.t.advance(CODE_PAUSE);
        let code = ask(&w, &link).await;
        let all = futures_util::future::join_all((0..4).map(|_| set(&w, &link, &code, PIN))).await;
        assert_eq!(all.iter().filter(|set| matches!(set, PinSet::Done)).count(), 1, "{all:?}");
        assert_eq!(w.wallet().await.pin_version, 1);
    }

    async fn taps_at_the_same_moment_on_two_nodes_send_one_code(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(10_000).await;
        let link = token(&w.begin(500, "k-1").await);
        let other = w.t.another_node().await;
        for round in 1..=3_usize {
            let nodes = [&w.t.app, &other];
            let taps = (0..6).map(|n| send_code(nodes[n % 2], &link, None));
            let all = futures_util::future::join_all(taps).await;
            let sent = all.iter().filter(|sent| matches!(sent, Ok(CodeSent::Sent { .. }))).count();
            assert_eq!((sent, w.post.count(MessageKind::Code)), (1, round), "{all:?}");
            w.t.advance(Span::minutes(1));
        }
        let code = w.post.last(MessageKind::Code).code.unwrap();
        assert!(matches!(set(&w, &link, &code, PIN).await, PinSet::Done), "the one that was sent");
    }

    async fn codes_are_three_an_hour_and_five_a_day(db: TestDatabase) {
        let w = World::with(db, "[server]\ndev = true\n[wallet]\nlink_lifetime = \"120m\"\n").await;
        w.funded(10_000).await;
        let link = token(&w.begin(500, "k-1").await);
        let began = w.t.app.now();
        for _ in 0..3 {
            ask(&w, &link).await;
            w.t.advance(CODE_PAUSE);
        }
        let refused = send_code(&w.t.app, &link, None).await.unwrap();
        assert!(matches!(refused, CodeSent::TooMany { again_at } if again_at == began + Span::hours(1)), "{refused:?}");
        w.t.advance(Span::hours(1));
        for _ in 0..2 {
            ask(&w, &link).await;
            w.t.advance(CODE_PAUSE);
        }
        let refused = send_code(&w.t.app, &link, None).await.unwrap();
        assert!(matches!(refused, CodeSent::TooMany { again_at } if again_at == began + Span::hours(24)), "{refused:?}");
        assert_eq!(w.post.count(MessageKind::Code), 5);
    }

    async fn a_code_that_is_not_sent_is_told_and_counts(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(10_000).await;
        let link = token(&w.begin(500, "k-1").await);
        w.post.answer(SendOutcome::NotOnWhatsApp);
        let sent = send_code(&w.t.app, &link, None).await.unwrap();
        assert!(matches!(&sent, CodeSent::NotSent(why) if why.contains("not on WhatsApp")), "{sent:?}");
        assert!(matches!(send_code(&w.t.app, "none", None).await.unwrap(), CodeSent::NotOpen(LinkView::NotFound)));
    }
}
