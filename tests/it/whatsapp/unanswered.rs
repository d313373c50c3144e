//! Requests that went out and were not answered: a report tells what became of them, and without one they
//! are sent again, but not at once and not twice.

use tillbell::domain::message::MessageStatus;
use tillbell::domain::time::Span;
use tillbell::ops::messages::outbox::SentNow;
use tillbell::ops::messages::outbox::send_again;
use tillbell::ops::messages::reports::{News, Report, take_report};
use tillbell::ops::messages::send_text::{TextSent, send_text};
use tillbell::ops::wallet_payments::start::Started;

use super::world::still;
use crate::harness::cloud_api::{Fault, Taken};
use crate::wallet::world::World;

/// What Meta reports of a message that was taken.
async fn told(w: &World, taken: &Taken, news: News) -> bool {
    let report = Report { provider_id: &taken.id, reference: Some(&taken.reference), news };
    take_report(&w.t.app, &report).await.unwrap()
}

async fn status(w: &World) -> MessageStatus {
    w.t.app.store.message(1).await.unwrap().unwrap().status
}

on_both! {
    async fn a_report_is_taken_for_the_answer_that_did_not_come(db: TestDatabase) {
        let (api, w) = still(db).await;
        w.funded(20_000).await;
        api.fail_next(Fault::TakeAndStall);
        let started = w.try_start(&w.request(5_000, "k-1")).await;
        assert!(matches!(started, Started::Waiting(_)), "it may have arrived, so no 502: {started:?}");
        assert_eq!((status(&w).await, api.taken().len()), (MessageStatus::Queued, 1));
        // Neither the same request nor a worker sends it meanwhile.
        w.send_messages().await;
        let again = tokio::spawn({
            let app = w.t.app.clone();
            async move { send_again(&app, 1).await.unwrap() }
        });
        assert!(told(&w, &api.last(), News::Sent).await);
        assert_eq!(again.await.unwrap(), SentNow::Sent);
        assert_eq!(status(&w).await, MessageStatus::Sent);
        assert!(told(&w, &api.last(), News::Delivered).await);
        w.t.advance(Span::minutes(5));
        w.send_messages().await;
        assert_eq!((status(&w).await, api.requests().len()), (MessageStatus::Delivered, 1), "sent once");
    }

    async fn without_a_report_it_is_sent_again_after_a_minute(db: TestDatabase) {
        let (api, w) = still(db).await;
        w.funded(20_000).await;
        for fault in [Fault::Stall, Fault::TakeAndReset, Fault::TakeAndCut(20), Fault::TakeAndCut(130)] {
            api.fail_next(fault);
        }
        assert!(matches!(w.try_start(&w.request(5_000, "k-1")).await, Started::Waiting(_)));
        for requests in 1..=4 {
            w.t.advance(Span::seconds(59));
            w.send_messages().await;
            assert_eq!(api.requests().len(), requests, "not sooner");
            w.t.advance(Span::seconds(1));
            w.send_messages().await;
            assert_eq!(api.requests().len(), requests + 1);
        }
        assert_eq!(status(&w).await, MessageStatus::Sent);
        let taken = api.taken();
        assert_eq!(taken.len(), 4, "three without an answer, and the last");
        assert!(taken.iter().all(|one| one.button == taken[0].button), "the same link each time");
        // The customer opens the first copy: read is read. A copy that failed is no news.
        assert!(told(&w, &taken[0], News::Read).await);
        let failed = News::Failed { why: "late".into(), again: tillbell::ops::messages::reports::Again::Never };
        assert!(told(&w, &taken[1], failed).await);
        assert_eq!(status(&w).await, MessageStatus::Read);
    }

    async fn a_first_report_may_be_that_it_was_read(db: TestDatabase) {
        let (api, w) = still(db).await;
        w.funded(20_000).await;
        api.fail_next(Fault::TakeAndReset);
        let starting = w.request(5_000, "k-1");
        let started = w.try_start(&starting);
        let read = async {
            api.wait_for(1).await;
            told(&w, &api.last(), News::Read).await
        };
        let (started, is_ours) = tokio::join!(started, read);
        assert!(is_ours && matches!(started, Started::Waiting(_)), "{started:?}");
        assert_eq!((status(&w).await, api.requests().len()), (MessageStatus::Read, 1));
    }

    async fn a_merchants_text_without_an_answer_is_not_sent_again_and_its_report_is_kept(db: TestDatabase) {
        let (api, w) = still(db).await;
        w.funded(1).await;
        api.open_window("2348035550142");
        tillbell::ops::messages::reports::note_writing(&w.t.app, &w.phone(), w.t.app.now()).await.unwrap();
        api.fail_next(Fault::TakeAndReset);
        let sent = send_text(&w.t.app, &w.shop.caller, &w.phone(), "hello", None).await.unwrap();
        assert!(matches!(&sent, TextSent::Unknown(why) if why.contains("may have arrived")), "{sent:?}");
        assert_eq!(status(&w).await, MessageStatus::Failed);
        w.t.advance(Span::hours(1));
        w.send_messages().await;
        assert_eq!(api.requests().len(), 1);
        assert!(told(&w, &api.last(), News::Delivered).await);
        assert_eq!(status(&w).await, MessageStatus::Delivered, "the log tells the truth");
    }

    async fn a_report_of_another_deployment_changes_nothing(db: TestDatabase) {
        let (api, w) = still(db).await;
        w.funded(20_000).await;
        api.fail_next(Fault::TakeAndReset);
        let starting = w.request(5_000, "k-1");
        let started = w.try_start(&starting);
        let strange = async {
            api.wait_for(1).await;
            let mut strange = api.last();
            strange.id = "wamid.OTHER".into();
            for reference in ["1.AAAAAAAAAAAAAAAA", "1", "", "1."] {
                strange.reference = reference.into();
                assert!(!told(&w, &strange, News::Sent).await, "{reference}");
            }
        };
        let (started, ()) = tokio::join!(started, strange);
        assert!(matches!(started, Started::Waiting(_)), "{started:?}");
        assert_eq!(status(&w).await, MessageStatus::Queued);
    }
}
