//! What a merchant who reads instead of waiting for the webhook is told of the money that came.

use serde_json::{Value, json};
use tillbell::alert_reader::Banks;
use tillbell::domain::merchant::Mode;
use tillbell::mail_intake::ingest::{Arrival, MailIngestor, Origin, ingest};
use tillbell::ops::alerts::approve::{Approve, approve_alert};
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::merchants::accounts::{GivenBank, MaskDigits, NewAccount, add_account};

use super::server::{Reply, Server};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;

const NUMBER: &str = "0123452206";

/// A server with a shop, and an account whose alerts can be read.
async fn furnished(db: TestDatabase) -> (Server, super::server::Shop) {
    let server = Server::start(db).await;
    let shop = server.shop("kola.example").await;
    let mask = MaskDigits { lead: 0, trail: 4, hidden_end: 0 };
    let new = NewAccount {
        number: NUMBER.into(),
        name: "TILL AND BELL LTD".into(),
        bank: GivenBank::Known {
            code: "gtbank".into(),
            name: "GTBank".into(),
            mask: Some(mask),
            cbn_code: None,
        },
        business_id: None,
        via: None,
        mode: Mode::Live,
        force: true,
    };
    add_account(server.app(), "test", &new).await.unwrap().unwrap();
    server.app().directory.forget();
    (server, shop)
}

async fn paid(server: &Server, naira: i64, payer: &str) -> AlertOutcome {
    let app = server.app();
    let room = MailIngestor::new(&app.config, std::sync::Arc::new(Banks::embedded().unwrap()));
    let raw = Alert::credit(NUMBER, naira, payer, app.now()).text().into_bytes();
    let origin = Origin::File { trusted: true };
    let arrival = Arrival { raw, source: "test".into(), origin, in_mailbox: None };
    ingest(app, &room, arrival).await.unwrap().outcome
}

/// The four fields that tell of the money, in this order, of a payment as one answer shows it.
fn told(data: &Value) -> [&Value; 4] {
    ["received_amount", "is_mismatch", "mismatch_reason", "name_mismatch"].map(|name| {
        assert!(data.get(name).is_some(), "{name} in {data}");
        &data[name]
    })
}

/// The same of the whole answer, read and listed.
async fn read(server: &Server, key: &str, id: &str) -> Reply {
    let reply = server.get(key, &format!("/api/v1/payment/{id}")).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let listed = server.get(key, "/api/v1/payments").await.json();
    let rows = listed["data"].as_array().unwrap();
    let row = rows.iter().find(|row| row["transaction_id"] == id).unwrap();
    assert_eq!(row, &reply.json()["data"], "listed as read");
    reply
}

on_both! {
    async fn a_read_tells_what_was_received_and_what_differs(db: TestDatabase) {
        let (server, shop) = furnished(db).await;
        for (id, amount, payer) in [("short", 4_000, "Ngozi Ibekwe"), ("half", 6_000, "Tunde Fadipe"), ("kin", 8_000, "Amaka Udeh")] {
            let reply = server
                .create(&shop, &format!(r#""transaction_id": "{id}", "amount": {amount}, "payer_name": "{payer}""#))
                .await;
            assert_eq!(reply.status, 201, "{reply:?}");
            let pending = read(&server, &shop.key, id).await;
            assert_eq!(told(&pending.json()["data"]), [&json!(null), &json!(false), &json!(null), &json!(false)]);
        }
        let path = "/api/v1/payment/short/amount";
        let corrected = server.json("PATCH", &shop.key, path, r#"{"new_amount": 5000}"#).await;
        assert_eq!(corrected.status, 200, "{corrected:?}");
        assert_eq!(told(&corrected.json()["data"]), [&json!(null), &json!(false), &json!(null), &json!(false)]);

        // Short by the charges: approved by itself.
        assert_eq!(paid(&server, 4_900, "IBEKWE NGOZI").await.transaction_id.as_deref(), Some("short"));
        let short = read(&server, &shop.key, "short").await;
        assert!(short.body.contains(r#""amount":5000.00,"#) && short.body.contains(r#""received_amount":4900.00,"#), "{}", short.body);
        let json = short.json();
        let [_, is_mismatch, reason, name] = told(&json["data"]);
        assert_eq!((is_mismatch, name), (&json!(true), &json!(false)));
        assert_eq!(reason, "The received amount is 100.00 less than requested, which is the amount of the charges");

        // By a person: less than asked for, and from somebody of half the name.
        for (id, naira, payer, differs) in [("half", 5_500, "FADIPE TUNDE", false), ("kin", 8_000, "AMAKA", true)] {
            let alert = paid(&server, naira, payer).await;
            assert_eq!(alert.transaction_id, None, "{alert:?}");
            let ask = Approve { alert_id: alert.alert_id, business_id: shop.id, transaction_id: id, operator: "ada", despite: Some("her brother paid"), seen: None };
            approve_alert(server.app(), &ask).await.unwrap().unwrap();
            let reply = read(&server, &shop.key, id).await;
            assert!(reply.body.contains(&format!(r#""received_amount":{naira}.00,"#)), "{}", reply.body);
            let json = reply.json();
            let [_, is_mismatch, reason, name] = told(&json["data"]);
            assert_eq!((is_mismatch, name), (&json!(!differs), &json!(differs)), "{id}");
            assert_eq!(reason.as_str().is_some_and(|text| text == "The received amount is 500.00 less than requested"), !differs, "{reason}");
        }
        server.running.stop().await;
    }

    async fn a_last_name_that_is_not_among_the_payers_is_told_after_a_person_approved(db: TestDatabase) {
        let (server, shop) = furnished(db).await;
        for (id, amount, last) in [("kin", 4_000, "Danjuma"), ("own", 7_000, "Ibekwe")] {
            let members = format!(
                r#""transaction_id": "{id}", "amount": {amount}, "payer_name": "Ngozi Ibekwe", "lname": "{last}""#
            );
            let reply = server.create(&shop, &members).await;
            assert_eq!(reply.status, 201, "{reply:?}");
        }
        assert_eq!(paid(&server, 7_000, "IBEKWE NGOZI").await.transaction_id.as_deref(), Some("own"));
        let alert = paid(&server, 4_000, "IBEKWE NGOZI").await;
        assert_eq!(alert.transaction_id, None, "{alert:?}");
        let ask = Approve { alert_id: alert.alert_id, business_id: shop.id, transaction_id: "kin", operator: "ada", despite: None, seen: None };
        approve_alert(server.app(), &ask).await.unwrap().unwrap();
        for (id, differs) in [("kin", true), ("own", false)] {
            assert_eq!(read(&server, &shop.key, id).await.json()["data"]["name_mismatch"], differs, "{id}");
            let payment = server.app().store.payment_by_transaction(shop.id, id).await.unwrap().unwrap();
            let event = server.app().store.deliveries_of_payment(payment.id).await.unwrap().remove(0);
            let inputs = server.app().store.inputs(&[event.event_id]).await.unwrap();
            let body: Value = serde_json::from_slice(&inputs[&event.event_id].body).unwrap();
            assert_eq!(body["name_mismatch"], differs, "{id}");
        }
        let kept = server.app().store.alert(alert.alert_id).await.unwrap().unwrap();
        let evidence: Value = serde_json::from_str(&kept.evidence).unwrap();
        assert_eq!(evidence["name"], "close", "{evidence}");
        assert!(evidence["name_reason"].as_str().unwrap().contains("last name"), "{evidence}");
        server.running.stop().await;
    }

    async fn payments_that_were_reversed_are_found(db: TestDatabase) {
        let (server, shop) = furnished(db).await;
        let ids = async |query: &str| -> Vec<String> {
            let reply = server.get(&shop.key, &format!("/api/v1/payments?{query}")).await;
            assert_eq!(reply.status, 200, "{reply:?}");
            let json = reply.json();
            let rows = json["data"].as_array().unwrap();
            if !query.contains("per_page") {
                assert_eq!(json["meta"]["total"], rows.len(), "{json}");
            }
            rows.iter().map(|row| row["transaction_id"].as_str().unwrap().to_owned()).collect()
        };
        for (id, amount, payer) in [("a", 4_000, "Ngozi Ibekwe"), ("b", 6_000, "Tunde Fadipe"), ("c", 8_000, "Amaka Udeh"), ("d", 9_000, "Bola Ahmed")] {
            let members = format!(r#""transaction_id": "{id}", "amount": {amount}, "payer_name": "{payer}""#);
            assert_eq!(server.create(&shop, &members).await.status, 201);
            if id != "d" {
                assert_eq!(paid(&server, amount, payer).await.transaction_id.as_deref(), Some(id));
            }
        }
        assert_eq!(ids("reversed=true").await, [""; 0]);
        for id in ["a", "c"] {
            let undo = Reverse { business_id: shop.id, transaction_id: id, operator: "ada", reason: "sent back", undoing_alert: None, despite: None };
            reverse_payment(server.app(), &undo).await.unwrap().unwrap();
        }
        let website = shop.website;
        for (query, expected) in [
            ("reversed=true".to_owned(), &["c", "a"][..]),
            ("reversed=false".into(), &["d", "b"]),
            ("reversed=".into(), &["d", "c", "b", "a"]),
            ("reversed=true&status=approved".into(), &["c", "a"]),
            ("reversed=true&status=pending".into(), &[]),
            ("reversed=false&status=approved".into(), &["b"]),
            (format!("reversed=true&website_id={website}"), &["c", "a"]),
            (format!("reversed=true&status=approved&website_id={website}"), &["c", "a"]),
            ("reversed=true&website_id=987654".into(), &[]),
            (format!("reversed=false&website_id={website}"), &["d", "b"]),
            (format!("reversed=false&status=pending&website_id={website}"), &["d"]),
            ("reversed=true&from_date=2099-01-01".into(), &[]),
            ("reversed=true&per_page=1&page=2".into(), &["a"]),
        ] {
            assert_eq!(ids(&query).await, expected, "{query}");
        }
        let first = server.get(&shop.key, "/api/v1/payments?reversed=true&per_page=1").await.json();
        let cursor = first["meta"]["next_cursor"].as_str().unwrap();
        assert_eq!(ids(&format!("reversed=true&per_page=1&cursor={cursor}")).await, ["a"]);
        assert_eq!(ids("per_page=100&reversed=true").await.len(), 2);
        let wrong = server.get(&shop.key, "/api/v1/payments?reversed=yes").await.fails_on(&["reversed"]);
        assert_eq!(wrong["error_codes"], json!({ "reversed": ["unknown_value"] }));
        assert_eq!(wrong["message"], "reversed must be true or false.");
        server.running.stop().await;
    }
}
