//! An account is added after money came to it: alerts that show its number are placed on it and decided again.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::work::run_due;

use crate::harness::app::{LATER, TestApp, world};
use crate::harness::mails::Alert;
use crate::taken_back::alert;

const ADDED: &str = "0123459925";
const OTHER: &str = "0123459933";
const PAYER: &str = "Zara Lami Gyang";

async fn work(t: &TestApp) {
    t.app.directory.forget();
    t.advance(Span::seconds(5));
    while run_due(&t.app).await.unwrap() > 0 {
        t.advance(Span::seconds(1));
    }
}

on_both! {
    async fn alerts_that_show_an_added_account_are_decided_again(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 7_435, PAYER).await;
        t.advance(LATER);
        let at = t.app.now() - Span::minutes(2);
        let (credit, stranger) = (Alert::credit(ADDED, 7_435, PAYER, at), Alert::credit(OTHER, 7_435, PAYER, at));
        let (came, elsewhere) = (t.ingest(&credit.text()).await, t.ingest(&stranger.text()).await);
        for one in [&came, &elsewhere] {
            assert_eq!(one.status, AlertStatus::Review, "{one:?}");
            assert!(one.reason.contains("no registered account at that bank fits"), "{one:?}");
        }
        work(&t).await;
        let id = t.account(ADDED).await;
        work(&t).await;
        let placed = alert(&t, came.alert_id).await;
        assert_eq!((placed.account_id, placed.status), (Some(id), AlertStatus::Unmatched), "{placed:?}");
        assert_eq!(placed.facts.doubts, [""; 0]);
        assert!(placed.reason.contains(&payment.transaction_id), "it names the payment: {}", placed.reason);
        assert_eq!(t.payment(&payment).await.status, Status::Pending, "it is on another account");
        let left = alert(&t, elsewhere.alert_id).await;
        assert_eq!((left.account_id, left.status), (None, AlertStatus::Review));
        // It is known by its account now: another telling of it pays nothing by itself.
        let again = Alert { message_id: "<again@gens.example>".into(), ..credit };
        let again = t.ingest(&again.text()).await;
        assert_ne!(again.status, AlertStatus::Matched, "{again:?}");
    }

    async fn an_alert_that_a_person_dealt_with_is_left_alone(db: TestDatabase) {
        let (t, _) = world(db).await;
        let came = t.ingest(&Alert::credit(ADDED, 7_445, PAYER, t.app.now()).text()).await;
        tillbell::ops::alerts::dismiss::dismiss_alert(&t.app, came.alert_id, "ife", "ours").await.unwrap().unwrap();
        t.account(ADDED).await;
        work(&t).await;
        let left = alert(&t, came.alert_id).await;
        assert_eq!((left.account_id, left.status), (None, AlertStatus::Dismissed));
    }
}
