//! `GET /events`, `GET /events/{id}`, `POST /events/{id}/resend`: what a key sees, what it may do, and what is refused.

use serde_json::Value;
use tillbell::domain::merchant::{KeyRights, KeyScope, Mode};
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::merchants::keys::add_key;
use tillbell::work;

use super::world::{World, ids_of};
use crate::api::codes;
use crate::harness::receiver::Answer;
use crate::webhooks_world::DEADLINE;

fn refused(answer: &(u16, String), status: u16, code: &str) -> Value {
    let body: Value = serde_json::from_str(&answer.1).unwrap();
    assert_eq!((answer.0, &body["code"]), (status, &Value::from(code)), "{body}");
    codes::check(status, &body);
    body
}

on_both! {
    async fn a_program_reads_what_was_sent_in_its_order_and_byte_for_byte(db: TestDatabase) {
        let world = World::new(db).await;
        let (_, empty) = world.ask_as(&world.key, "GET", "/events", &[]).await;
        assert_eq!(empty, r#"{"success":true,"data":[],"meta":{"last_id":null,"has_more":false}}"#);
        let mut payments = Vec::new();
        for n in 0..5 {
            payments.push(world.paid(&world.shop, 5_000 + n * 400, "Halima Garba").await.transaction_id);
        }
        work::run_due(&world.t.app).await.unwrap();
        let sent = world.receiver.wait_for(5, DEADLINE).await;
        let (status, page) = world.ask_as(&world.key, "GET", "/events?limit=5", &[]).await;
        assert_eq!(status, 200, "{page}");
        let json: Value = serde_json::from_str(&page).unwrap();
        let ids = ids_of(&json);
        let told: Vec<&str> = json["data"].as_array().unwrap().iter().map(|one| one["transaction_id"].as_str().unwrap()).collect();
        assert_eq!(told, payments, "oldest first");
        assert_eq!((&json["meta"]["last_id"], &json["meta"]["has_more"]), (&Value::from(ids[4].as_str()), &Value::from(false)));
        for request in &sent {
            let body = String::from_utf8(request.body.to_vec()).unwrap();
            assert!(page.contains(&body), "the very bytes: {body}");
            let id = request.header("webhook-id");
            assert_eq!(request.json()["id"], id, "the id of the header");
            let (status, one) = world.ask_as(&world.key, "GET", &format!("/events/{id}"), &[]).await;
            assert_eq!((status, one), (200, format!(r#"{{"success":true,"data":{body}}}"#)));
        }
        for limit in [1, 2, 3, 100] {
            assert_eq!(world.pulled(limit).await, ids, "{limit}");
        }
        let (_, rest) = world.get(&format!("/events?after={}&limit=2", ids[1])).await;
        assert_eq!((ids_of(&rest), &rest["meta"]["has_more"]), (ids[2..4].to_vec(), &Value::from(true)));
        let (_, none) = world.get(&format!("/events?after={}", ids[4])).await;
        assert_eq!((ids_of(&none).len(), &none["meta"]["last_id"]), (0, &Value::from(ids[4].as_str())), "go on from where you were");
        let (_, one) = world.get(&format!("/events?transaction_id={}", payments[2])).await;
        assert_eq!(ids_of(&one), ids[2..3]);
        let (_, past) = world.get(&format!("/events?transaction_id={}&after={}", payments[2], ids[2])).await;
        assert!(ids_of(&past).is_empty(), "{past}");
        for (kind, found) in [("payment.approved", 5), ("webhook.test", 0)] {
            let (_, some) = world.get(&format!("/events?type={kind}")).await;
            assert_eq!(ids_of(&some).len(), found, "{kind}");
            let (_, some) = world.get(&format!("/events?type={kind}&transaction_id={}", payments[2])).await;
            assert_eq!(ids_of(&some).len(), found.min(1), "{kind}");
        }
        assert!(ids_of(&world.get("/events?transaction_id=nobody-has-it").await.1).is_empty());
    }

    async fn a_key_sees_its_business_and_its_mode_alone(db: TestDatabase) {
        let world = World::new(db).await;
        let mine = world.paid(&world.shop, 5_000, "Halima Garba").await;
        let testing = world.t.in_test_mode(&world.shop).await;
        let tested = world.paid(&testing, 6_000, "Sani Lawal").await;
        let other = world.t.merchant("bolu.example").await;
        world.lift_limit(other.id).await;
        let theirs = world.t.create(&other, 7_000, "Musa Danladi").await;
        world.t.advance(Span::minutes(10));
        world.comes(Mode::Live, 7_000, "Musa Danladi").await;
        let keys = [
            (world.key.clone(), mine),
            (world.key_of(&world.shop, Mode::Test).await, tested),
            (world.key_of(&other, Mode::Live).await, theirs),
        ];
        let mut ids = Vec::new();
        for (key, payment) in &keys {
            let (status, page) = world.get_as(key, "/events").await;
            assert_eq!((status, page["data"].as_array().unwrap().len()), (200, 1), "{page}");
            assert_eq!(page["data"][0]["transaction_id"], payment.transaction_id.as_str());
            assert_eq!(page["data"][0]["mode"], payment.mode.as_str());
            ids.push(ids_of(&page)[0].clone());
        }
        for (at, (key, _)) in keys.iter().enumerate() {
            for (whose, id) in ids.iter().enumerate().filter(|(whose, _)| *whose != at) {
                let ask = async |method: &str, path: String| world.ask_as(key, method, &path, &[]).await;
                refused(&ask("GET", format!("/events/{id}")).await, 404, "event_not_found");
                refused(&ask("GET", format!("/events?after={id}")).await, 404, "event_not_found");
                refused(&ask("POST", format!("/events/{id}/resend")).await, 404, "event_not_found");
                let path = format!("/events?transaction_id={}", keys[whose].1.transaction_id);
                assert!(ids_of(&world.get_as(key, &path).await.1).is_empty(), "{at} sees {whose}");
            }
        }
    }

    async fn what_is_no_event_is_refused(db: TestDatabase) {
        let world = World::new(db).await;
        let ask = async |path: &str| world.ask_as(&world.key, "GET", path, &[]).await;
        let future = "msg_0000000000000000000000";
        refused(&ask(&format!("/events?after={future}")).await, 404, "event_not_found");
        refused(&ask(&format!("/events/{future}")).await, 404, "event_not_found");
        refused(&ask("/events/17").await, 404, "event_not_found");
        refused(&ask("/events/%ff").await, 404, "event_not_found");
        for (query, code) in [
            ("after=17", "unknown_cursor"),
            ("after=msg_'--", "unknown_cursor"),
            ("type=payment.eaten", "unknown_value"),
            ("limit=0", "out_of_range"),
            ("limit=101", "out_of_range"),
            ("limit=ten", "out_of_range"),
        ] {
            let body = refused(&ask(&format!("/events?{query}")).await, 422, "invalid_fields");
            let field = query.split('=').next().unwrap();
            assert_eq!(body["error_codes"][field], serde_json::json!([code]), "{body}");
        }
        for (method, path) in [("POST", "/events"), ("DELETE", "/events/x"), ("GET", "/events/x/resend")] {
            refused(&world.ask_as(&world.key, method, path, &[]).await, 405, "method_not_allowed");
        }
        refused(&world.ask_as("tb_live_x", "GET", "/events", &[]).await, 401, "api_key_invalid");
        world.paid(&world.shop, 5_000, "Halima Garba").await;
        let old = world.pulled(10).await;
        world.paid(&world.shop, 6_000, "Sani Lawal").await;
        world.pulled(10).await;
        world.t.advance(Span::days(40));
        refused(&ask(&format!("/events?after={}", old[0])).await, 404, "event_too_old");
        assert_eq!(ask(&format!("/events/{}", old[0])).await.0, 200, "a single one is still read");
    }

    async fn a_program_has_an_event_sent_again(db: TestDatabase) {
        let world = World::new(db).await;
        world.receiver.answer_next(Answer::status(500));
        let payment = world.paid(&world.shop, 5_000, "Halima Garba").await;
        work::run_due(&world.t.app).await.unwrap();
        let id = world.pulled(10).await.remove(0);
        let path = format!("/events/{id}/resend");
        let scope = KeyScope { mode: Mode::Live, rights: KeyRights::Read };
        let reading = add_key(&world.t.app, "test", world.shop.id, scope, None, None).await.unwrap().unwrap();
        refused(&world.ask_as(&reading.text, "POST", &path, &[]).await, 403, "key_may_only_read");
        assert_eq!(world.get_as(&reading.text, &format!("/events/{id}")).await.0, 200);
        assert_eq!(world.get_as(&reading.text, "/events").await.0, 200);
        let store = &world.t.app.store;
        let before = store.event_by_webhook_id(&id).await.unwrap().unwrap();
        let attempt = store.delivery_of_event(before.event.id).await.unwrap().unwrap().attempt;
        let key = "Idempotency-Key: again-1";
        let first = world.ask_as(&world.key, "POST", &path, &[key]).await;
        assert_eq!(first.0, 200, "{}", first.1);
        let json: Value = serde_json::from_str(&first.1).unwrap();
        assert_eq!((&json["data"]["id"], &json["data"]["status"]), (&Value::from(id.as_str()), &Value::from("waiting")));
        assert_eq!(world.ask_as(&world.key, "POST", &path, &[key]).await, first, "the same answer");
        let after = store.delivery_of_event(before.event.id).await.unwrap().unwrap();
        assert_eq!(after.attempt, attempt + 1, "fenced, and once under one key");
        work::run_due(&world.t.app).await.unwrap();
        let sent = world.receiver.wait_for(2, DEADLINE).await;
        assert_eq!((&sent[0].body, sent[1].header("webhook-id")), (&sent[1].body, id.as_str()));
        let acts = store.acts(None, Some(world.shop.id), Timestamp::MIN, 10).await.unwrap();
        assert!(acts.iter().any(|act| (act.act.as_str(), act.operator.as_str()) == ("webhook resend", "API")), "{acts:?}");
        assert_eq!(world.pulled(10).await, std::slice::from_ref(&id), "a resend is no new event");
        let reverse = Reverse {
            business_id: world.shop.id,
            transaction_id: &payment.transaction_id,
            reason: "the bank took it back",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&world.t.app, &reverse).await.unwrap().unwrap();
        let told = refused(&world.ask_as(&world.key, "POST", &path, &[]).await, 409, "event_superseded");
        assert!(told["message"].as_str().unwrap().contains("the payment was reversed"), "{told}");
        assert_eq!(world.get(&format!("/events/{id}")).await.0, 200, "it is still read");
    }
}
