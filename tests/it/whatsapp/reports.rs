//! What reports change: a message moves on and never back, and one that failed for a passing reason is sent
//! once more.

use super::world::{DIGITS, Desk};
use crate::harness::cloud_api::{report, written};

on_both! {
    async fn late_and_doubled_reports_move_nothing_back(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        assert_eq!(desk.start("k-1").await.status, 201);
        let taken = desk.api.last();
        for (told, shown) in [
            ("sent", "sent"),
            ("delivered", "delivered"),
            ("sent", "delivered"),
            ("delivered", "delivered"),
            ("read", "read"),
            ("delivered", "read"),
            ("sent", "read"),
            ("deleted", "read"),
            ("from-the-future", "read"),
        ] {
            assert_eq!(desk.told(&report(&taken, told, None)).await.status, 200, "{told}");
            assert_eq!(desk.last().await.0, shown, "after {told}");
        }
        assert_eq!(desk.told(&report(&taken, "failed", Some(131_026))).await.status, 200);
        assert_eq!(desk.last().await, ("read".into(), None), "what was read has arrived");
        assert_eq!(desk.api.requests().len(), 1);
    }

    async fn a_message_that_did_not_arrive_is_failed_with_the_reason(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        for (key, code, told) in [
            ("k-1", Some(131_026), "the number is not on WhatsApp (WhatsApp error 131026)"),
            ("k-2", Some(131_049), "WhatsApp does not deliver this to the customer (WhatsApp error 131049)"),
            ("k-3", None, "WhatsApp did not deliver it"),
        ] {
            assert_eq!(desk.start(key).await.status, 201);
            for _ in 0..2 {
                assert_eq!(desk.told(&report(&desk.api.last(), "failed", code)).await.status, 200);
                assert_eq!(desk.last().await, ("failed".into(), Some(told.to_owned())));
            }
        }
        // A late `sent` is from before it failed.
        assert_eq!(desk.told(&report(&desk.api.last(), "sent", None)).await.status, 200);
        assert_eq!(desk.last().await.0, "failed");
        assert_eq!(desk.api.requests().len(), 3);
        // The same request sends the link again.
        assert_eq!(desk.start("k-1").await.status, 201);
        assert_eq!(desk.api.taken().len(), 4);
    }

    async fn a_text_that_came_too_late_goes_again_by_template(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        desk.api.open_window(DIGITS);
        assert_eq!(desk.told(&written(DIGITS, desk.seconds(), "text")).await.status, 200);
        assert_eq!(desk.start("k-1").await.status, 201);
        let first = desk.api.last();
        assert_eq!(first.form, "text");
        desk.api.close_window(DIGITS);
        assert_eq!(desk.told(&report(&first, "failed", Some(131_047))).await.status, 200);
        desk.until("sent").await;
        let second = desk.api.last();
        assert_eq!((second.form.as_str(), desk.api.requests().len()), ("tillbell_payment_link", 2), "not by text again");
        assert!(first.words.contains(second.button.as_deref().unwrap()), "the same link");
        // The old report once more is no news.
        assert_eq!(desk.told(&report(&first, "failed", Some(131_047))).await.status, 200);
        assert_eq!(desk.told(&report(&second, "delivered", None)).await.status, 200);
        assert_eq!(desk.last().await, ("delivered".into(), None));
        assert_eq!(desk.api.requests().len(), 2);
    }

    async fn a_passing_failure_is_tried_again_by_the_workers(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        assert_eq!(desk.start("k-1").await.status, 201);
        assert_eq!(desk.told(&report(&desk.api.last(), "failed", Some(131_016))).await.status, 200);
        assert_eq!(desk.last().await.0, "queued");
        desk.api.wait_for(2).await;
        desk.until("sent").await;
        assert_eq!(desk.api.taken()[0].button, desk.api.taken()[1].button);
        assert_eq!(desk.messages().await[0].row.attempts, 2);
    }

    async fn a_merchants_text_that_failed_stays_failed(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(1).await;
        desk.api.open_window(DIGITS);
        assert_eq!(desk.told(&written(DIGITS, desk.seconds(), "text")).await.status, 200);
        assert_eq!(desk.text("hello").await.status, 200);
        assert_eq!(desk.told(&report(&desk.api.last(), "failed", Some(131_016))).await.status, 200);
        assert_eq!(desk.last().await.0, "failed");
        assert_eq!(desk.api.requests().len(), 1);
    }
}
