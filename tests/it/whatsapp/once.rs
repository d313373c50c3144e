//! One text under one idempotency key, and reports that overtake the answer: nothing is sent twice and
//! nothing is lost.

use std::sync::Arc;

use serde_json::json;
use tillbell::outbound::messenger::Messenger;
use tokio::sync::Notify;

use super::world::{DIGITS, Desk, still};
use crate::api::server::Reply;
use crate::harness::cloud_api::{Fault, report, written};
use crate::harness::databases::TestDatabase;
use crate::wallet::world::PHONE;

const PATH: &str = "/api/v1/wallet/send-message";

/// A customer who may be sent texts, and a double that holds its next answer back until it is told.
async fn holding(db: TestDatabase) -> (Arc<Desk>, Arc<Notify>) {
    let desk = Desk::open(db).await;
    desk.fund(20_000).await;
    desk.api.open_window(DIGITS);
    assert_eq!(desk.told(&written(DIGITS, desk.seconds(), "text")).await.status, 200);
    let go = Arc::new(Notify::new());
    desk.api.fail_next(Fault::TakeAndHold(go.clone()));
    (Arc::new(desk), go)
}

async fn keyed(desk: &Desk, key: &str) -> Reply {
    let body = json!({ "phone": PHONE, "message": "hello" }).to_string();
    let key = format!("Idempotency-Key: {key}");
    desk.server.json_with("POST", &desk.shop.key, PATH, &body, &[&key]).await
}

on_both! {
    async fn a_text_whose_caller_hung_up_is_answered_to_the_same_key_and_sent_once(db: TestDatabase) {
        let (desk, go) = holding(db).await;
        let first = tokio::spawn({
            let desk = desk.clone();
            async move { keyed(&desk, "m-1").await }
        });
        desk.api.wait_for(1).await;
        // The connection breaks while WhatsApp thinks.
        first.abort();
        assert!(first.await.is_err());
        let (again, ()) = tokio::join!(keyed(&desk, "m-1"), async {
            // That the second one waits is seen nowhere. Too short a pause would test less and fail nothing.
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            go.notify_one();
        });
        assert_eq!(again.status, 200, "{again:?}");
        assert_eq!(again.body, r#"{"success":true,"data":{"sent":true,"message_id":1}}"#);
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!((desk.api.requests().len(), desk.messages().await.len()), (1, 1), "sent once");
        assert_eq!(keyed(&desk, "m-2").await.status, 200);
        assert_eq!(desk.api.requests().len(), 2, "another key, another text");
    }

    async fn a_key_of_a_text_that_may_have_arrived_stays_with_it(db: TestDatabase) {
        let (desk, go) = holding(db).await;
        go.notify_one();
        assert_eq!(keyed(&desk, "m-0").await.status, 200);
        desk.api.fail_next(Fault::TakeAndReset);
        let first = keyed(&desk, "m-1").await;
        assert_eq!(first.fails(502, "may have arrived")["code"], "message_outcome_unknown");
        assert_eq!(first.header("idempotency-replayed"), None);
        let again = keyed(&desk, "m-1").await;
        assert_eq!(again.fails(502, "may have arrived")["code"], "message_outcome_unknown");
        assert_eq!(again.header("idempotency-replayed"), Some("true"), "{again:?}");
        assert_eq!(desk.api.requests().len(), 2, "not sent again");
        assert_eq!(desk.told(&report(&desk.api.last(), "delivered", None)).await.status, 200);
        let arrived = keyed(&desk, "m-1").await;
        assert_eq!((arrived.status, arrived.header("idempotency-replayed")), (200, Some("true")), "{arrived:?}");
        // What certainly did not go out gives its key back.
        desk.api.error_next(400, 131_026);
        let refused = keyed(&desk, "m-2").await;
        assert_eq!(refused.fails(502, "not on WhatsApp")["code"], "message_not_sent");
        assert_eq!(refused.header("idempotency-replayed"), None);
        let sent = keyed(&desk, "m-2").await;
        assert_eq!((sent.status, sent.header("idempotency-replayed")), (200, None), "{sent:?}");
        assert_eq!(desk.api.requests().len(), 4);
    }

    async fn a_failure_that_overtakes_the_answer_is_asked_for_again(db: TestDatabase) {
        let (desk, go) = holding(db).await;
        let starting = tokio::spawn({
            let desk = desk.clone();
            async move { desk.start("k-1").await }
        });
        desk.api.wait_for(1).await;
        let failed = report(&desk.api.last(), "failed", Some(131_026));
        desk.told(&failed).await.fails(503, "");
        go.notify_one();
        assert_eq!(starting.await.unwrap().status, 201);
        assert_eq!(desk.last().await.0, "sent");
        // Meta tells it once more.
        assert_eq!(desk.told(&failed).await.status, 200);
        let told = "the number is not on WhatsApp (WhatsApp error 131026)";
        assert_eq!(desk.last().await, ("failed".into(), Some(told.into())));
    }

    async fn answers_without_an_id_are_tried_again_and_raise_an_alarm(db: TestDatabase) {
        let (api, w) = still(db).await;
        w.funded(20_000).await;
        let Messenger::WhatsApp(whatsapp) = w.t.app.messenger.clone() else { panic!("no WhatsApp") };
        for body in ["<html>Welcome</html>", "", r#"{"messages":[]}"#, "{}", "ok"] {
            api.fail_next(Fault::Raw { status: 200, headers: "", body: body.into() });
        }
        w.begin(5_000, "k-1").await;
        assert_eq!((api.requests().len(), whatsapp.is_alarmed()), (2, false));
        let row = w.t.app.store.message(1).await.unwrap().unwrap();
        assert!(row.error.as_deref().is_some_and(|why| why.contains("without a message id")), "{row:?}");
        for tries in 3..=5 {
            w.t.advance(tillbell::domain::time::Span::minutes(5));
            w.send_messages().await;
            assert_eq!((api.requests().len(), whatsapp.is_alarmed()), (tries, tries == 5));
        }
        w.t.advance(tillbell::domain::time::Span::minutes(5));
        w.send_messages().await;
        assert_eq!((api.taken().len(), whatsapp.is_alarmed()), (1, false), "it goes out again, and all is well");
    }
}
