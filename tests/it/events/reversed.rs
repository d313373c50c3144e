//! `payment.reversed`: told with the reversal itself, once, after the approval; and what holds no more is not sent again.

use serde_json::Value;
use tillbell::domain::merchant::Mode;
use tillbell::domain::payment::Payment;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::webhooks::deliveries;
use tillbell::work;

use super::world::World;
use crate::audits::{by_hand, violations};
use crate::harness::receiver::Answer;
use crate::webhooks_world::DEADLINE;

pub async fn reverse(world: &World, payment: &Payment, reason: &str) -> Payment {
    let ask = Reverse {
        business_id: payment.business_id,
        transaction_id: &payment.transaction_id,
        reason,
        operator: "ada",
        undoing_alert: None,
        despite: None,
    };
    reverse_payment(&world.t.app, &ask).await.unwrap().unwrap()
}

on_both! {
    async fn a_reversal_is_told_after_its_approval_to_the_same_address(db: TestDatabase) {
        let world = World::new(db).await;
        let payment = world.paid(&world.shop, 5_000, "Halima Garba").await;
        work::run_due(&world.t.app).await.unwrap();
        let approved = world.receiver.wait_for(1, DEADLINE).await.remove(0);
        world.t.advance(Span::hours(3));
        let after = reverse(&world, &payment, "the bank took it back").await;
        work::run_due(&world.t.app).await.unwrap();
        let reversed = world.receiver.wait_for(2, DEADLINE).await.remove(1);
        assert_eq!(reversed.target, approved.target);
        let (mut told, first) = (reversed.json(), approved.json());
        let at = after.reversed_at.unwrap().to_string();
        for (name, value) in [
            ("event", "payment.reversed"),
            ("status", "reversed"),
            ("reason", "the bank took it back"),
            ("reversed_at", at.as_str()),
            ("timestamp", at.as_str()),
            ("id", reversed.header("webhook-id")),
        ] {
            assert_eq!(told[name], value, "{told}");
        }
        // All others are the approval's.
        let fields = told.as_object_mut().unwrap();
        for name in ["event", "id", "status", "timestamp"] {
            fields.insert(name.into(), first[name].clone());
        }
        assert!(fields.remove("reason").is_some() && fields.remove("reversed_at").is_some());
        assert_eq!(told, first);
        let id = payment.transaction_id.clone();
        assert_eq!(world.told().await, [("payment.approved".into(), id.clone()), ("payment.reversed".into(), id)]);
        let (_, page) = world.get("/events?type=payment.reversed").await;
        assert_eq!(page["data"].as_array().unwrap().len(), 1);
    }

    async fn a_reversal_is_told_although_the_approval_never_arrived(db: TestDatabase) {
        let world = World::new(db).await;
        world.receiver.answer_next(Answer::status(500));
        let payment = world.paid(&world.shop, 5_000, "Halima Garba").await;
        work::run_due(&world.t.app).await.unwrap();
        reverse(&world, &payment, "wrong match").await;
        world.t.advance(Span::hours(1));
        work::run_due(&world.t.app).await.unwrap();
        let sent = world.receiver.wait_for(2, DEADLINE).await;
        assert_eq!(sent[1].json()["event"], "payment.reversed");
        let all = world.t.app.store.deliveries_of_payment(payment.id).await.unwrap();
        let ends: Vec<(&str, &str)> = all.iter().map(|one| (one.event.as_str(), one.status())).collect();
        assert_eq!(ends, [("payment.approved", "not_sent"), ("payment.reversed", "delivered")]);
    }

    async fn in_bulk_a_reversal_is_sent_again_and_its_approval_is_not(db: TestDatabase) {
        let world = World::new(db).await;
        world.receiver.answer_otherwise(Answer::status(500));
        let payment = world.paid(&world.shop, 5_000, "Halima Garba").await;
        let kept = world.paid(&world.shop, 6_100, "Halima Garba").await;
        let fail = async || {
            for _ in 0..12 {
                work::run_due(&world.t.app).await.unwrap();
                world.t.advance(Span::hours(30));
            }
        };
        fail().await;
        reverse(&world, &payment, "wrong match").await;
        fail().await;
        world.receiver.answer_otherwise(Answer::status(200));
        let resent = deliveries::resend_failed(&world.t.app, "ada", Span::days(90)).await.unwrap();
        assert_eq!(resent.len(), 2, "{resent:?}");
        let before = world.receiver.received().len();
        work::run_due(&world.t.app).await.unwrap();
        let sent = world.receiver.wait_for(before + 2, DEADLINE).await;
        let mut told: Vec<(Value, Value)> =
            sent[before..].iter().map(|one| one.json()).map(|one| (one["event"].clone(), one["transaction_id"].clone())).collect();
        told.sort_by_key(|(event, _)| event.to_string());
        assert_eq!(told, [
            ("payment.approved".into(), kept.transaction_id.into()),
            ("payment.reversed".into(), payment.transaction_id.into()),
        ]);
    }

    async fn a_test_payment_is_told_to_test_keys(db: TestDatabase) {
        let world = World::new(db).await;
        let testing = world.t.in_test_mode(&world.shop).await;
        let payment = world.paid(&testing, 5_000, "Halima Garba").await;
        reverse(&world, &payment, "wrong match").await;
        assert!(world.told().await.is_empty(), "live keys see nothing of it");
        let key = world.key_of(&world.shop, Mode::Test).await;
        let (_, page) = world.get_as(&key, "/events").await;
        assert_eq!(page["data"].as_array().unwrap().len(), 2, "{page}");
        assert_eq!(page["data"][1]["event"], "payment.reversed");
    }

    async fn the_audit_misses_an_event_that_is_gone_and_reads_what_is_told(db: TestDatabase) {
        let world = World::new(db).await;
        world.t.without_audit("events are changed by hand");
        let payment = world.paid(&world.shop, 5_000, "Halima Garba").await;
        reverse(&world, &payment, "wrong match").await;
        let clauses = ["reversed_has_one_event", "approved_has_one_event", "events_agree_with_entries", "events_have_one_place"];
        for clause in clauses {
            assert_eq!(violations(&world.t, clause).await, 0, "{clause}");
        }
        let changed = async |clause: &str, sqlite: &str, postgres: &str| {
            by_hand(&world.t, sqlite, postgres).await;
            violations(&world.t, clause).await
        };
        let lift = "drop trigger if exists events_no_update; drop trigger if exists events_no_delete;";
        let body = "update events set body = cast(replace(cast(body as text), '\"received_amount\":5000.00', \
             '\"received_amount\":5000.01') as blob) where kind = 'payment.reversed'";
        let of_postgres = "update events set body = convert_to(replace(convert_from(body, 'UTF8'), \
             '\"received_amount\":5000.00', '\"received_amount\":5000.01'), 'UTF8') where kind = 'payment.reversed'";
        assert_eq!(changed("events_agree_with_entries", &format!("{lift} {body}"), of_postgres).await, 1);
        let other = "update unplaced_events set kind = 'webhook.test'";
        by_hand(&world.t, other, other).await;
        world.told().await; // gives the places
        assert_eq!(violations(&world.t, "events_have_one_place").await, 2, "in the order as something else");
        let gone = "delete from events where kind = 'payment.reversed'";
        assert_eq!(changed("reversed_has_one_event", &format!("{lift} {gone}"), gone).await, 1);
        assert_eq!(violations(&world.t, "events_have_one_place").await, 2, "a place of no event");
    }
}
