//! `Idempotency-Key`: one effect per key, and the same bytes for whoever asks again.

use std::sync::Arc;

use tillbell::domain::merchant::Mode;
use tillbell::ops::payments::idempotency::{Claimed, claim};

use super::server::{CREATE, Reply, Server};

const KEY: &str = "Idempotency-Key: order-7";

fn total(list: &Reply) -> i64 {
    list.json()["meta"]["total"].as_i64().unwrap()
}

on_both! {
    async fn the_same_request_is_answered_with_the_same_bytes(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let body = shop.body("");
        let first = server.json_with("POST", &shop.key, CREATE, &body, &[KEY]).await;
        assert_eq!((first.status, first.header("idempotency-replayed")), (201, None), "{first:?}");
        // Another notation of the same body, with the key of the API in it, is the same request.
        let spaced = body.replace("\"5000\"", " \"5000\" ").replacen('{', &format!("{{ \"api_key\": {:?}, ", shop.key), 1);
        for text in [&body, &spaced] {
            let again = server.json_with("POST", &shop.key, CREATE, text, &[KEY]).await;
            assert_eq!((again.status, again.header("idempotency-replayed")), (201, Some("true")), "{again:?}");
            assert_eq!(again.body, first.body);
        }
        let another = server.json_with("POST", &shop.key, CREATE, &shop.body(r#""amount": 5001"#), &[KEY]).await;
        another.fails_on(&["idempotency_key"]);
        let id = first.json()["data"]["transaction_id"].as_str().unwrap().to_owned();
        let path = format!("/api/v1/payment/{id}/amount");
        server.json_with("PATCH", &shop.key, &path, r#"{"new_amount": 5000}"#, &[KEY]).await.fails_on(&["idempotency_key"]);
        assert_eq!(total(&server.get(&shop.key, "/api/v1/payments").await), 1);
        // A business's keys are its own.
        let other = server.shop("other.example").await;
        let theirs = server.json_with("POST", &other.key, CREATE, &other.body(r#""payer_name": "Musa Bello", "amount": 9"#), &[KEY]).await;
        assert_eq!((theirs.status, theirs.header("idempotency-replayed")), (201, None), "{theirs:?}");

        let corrected = server.json_with("PATCH", &shop.key, &path, r#"{"new_amount": 6000}"#, &["Idempotency-Key: fix"]).await;
        assert_eq!(corrected.status, 200, "{corrected:?}");
        assert_eq!(server.json("PATCH", &shop.key, &path, r#"{"new_amount": 7000}"#).await.status, 200);
        let again = server.json_with("PATCH", &shop.key, &path, r#"{"new_amount": 6000.00}"#, &["Idempotency-Key: fix"]).await;
        assert_eq!((again.body, again.status), (corrected.body, 200));
        let read = server.get(&shop.key, &format!("/api/v1/payment/{id}")).await;
        assert!(read.body.contains(r#""amount":7000.00,"#), "a replay changes nothing: {read:?}");
    }

    async fn a_live_request_is_never_answered_with_a_test_account(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        server.account("0123459982", Mode::Test).await;
        let test = server.key(shop.id, Mode::Test).await;
        let body = shop.body("");
        let first = server.json_with("POST", &test, CREATE, &body, &[KEY]).await;
        assert_eq!(first.status, 201, "{first:?}");
        server.json_with("POST", &shop.key, CREATE, &body, &[KEY]).await.fails_on(&["idempotency_key"]);
        let again = server.json_with("POST", &test, CREATE, &body, &[KEY]).await;
        assert_eq!((again.status, again.header("idempotency-replayed")), (201, Some("true")), "{again:?}");
    }

    async fn many_at_once_have_one_effect(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let server = Arc::new(server);
        let mut tasks = Vec::new();
        for _ in 0..20 {
            let (server, key, body) = (server.clone(), shop.key.clone(), shop.body(""));
            tasks.push(tokio::spawn(async move { server.json_with("POST", &key, CREATE, &body, &[KEY]).await }));
        }
        let mut replies = Vec::new();
        for task in tasks {
            replies.push(task.await.unwrap());
        }
        assert!(replies.iter().all(|reply| reply.status == 201 && reply.body == replies[0].body), "{replies:?}");
        assert_eq!(replies.iter().filter(|reply| reply.header("idempotency-replayed").is_none()).count(), 1);
        assert_eq!(total(&server.get(&shop.key, "/api/v1/payments").await), 1);
    }

    async fn failures_are_not_remembered(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let bad = shop.body(r#""webhook_url": "https://elsewhere.example/in""#);
        server.json_with("POST", &shop.key, CREATE, &bad, &[KEY]).await.fails(400, "approved website domain");
        let good = server.json_with("POST", &shop.key, CREATE, &shop.body(""), &[KEY]).await;
        assert_eq!(good.status, 201, "{good:?}");
        let long = format!("Idempotency-Key: {}", "k".repeat(256));
        for header in ["Idempotency-Key: ", "Idempotency-Key:  ", &long] {
            server.json_with("POST", &shop.key, CREATE, &shop.body(""), &[header]).await.fails_on(&["idempotency_key"]);
        }
        let longest = format!("Idempotency-Key: {}", "k".repeat(255));
        let reply = server.json_with("POST", &shop.key, CREATE, &shop.body(r#""amount": 9"#), &[&longest]).await;
        assert_eq!(reply.status, 201, "{reply:?}");
    }

    async fn a_request_under_way_is_waited_for_and_then_409(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let body = shop.body("");
        // The same request is at work elsewhere: its claim is held here.
        let first = server.json_with("POST", &shop.key, CREATE, &body, &["Idempotency-Key: seen"]).await;
        assert_eq!(first.status, 201, "{first:?}");
        let fingerprint = server.app().store.idempotency_key(shop.id, "seen").await.unwrap().unwrap().fingerprint;
        let fingerprint: [u8; 32] = fingerprint.try_into().unwrap();
        let Claimed::New(held) = claim(server.app(), shop.id, "order-7", &fingerprint).await.unwrap() else {
            panic!("the key is taken");
        };
        let began = std::time::Instant::now();
        let reply = server.json_with("POST", &shop.key, CREATE, &body, &[KEY]).await;
        reply.fails(409, "still being processed");
        let waited = began.elapsed().as_millis();
        assert!((1_500..4_000).contains(&waited), "{waited} ms");
        // It ends without an effect while another waits: that one does the work.
        let waiting = server.json_with("POST", &shop.key, CREATE, &body, &[KEY]);
        let (reply, ()) = tokio::join!(waiting, async {
            // That the other one waits is seen nowhere. Too short a pause would test less and fail nothing.
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            held.release().await;
        });
        assert_eq!((reply.status, reply.header("idempotency-replayed")), (201, None), "{reply:?}");
    }

    async fn a_dropped_claim_is_given_back(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let Claimed::New(held) = claim(server.app(), shop.id, "order-7", &[1; 32]).await.unwrap() else {
            panic!("the key is taken");
        };
        drop(held);
        let reply = async {
            loop {
                if server.app().store.idempotency_key(shop.id, "order-7").await.unwrap().is_none() {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(5), reply).await.expect("the claim is gone");
    }
}
