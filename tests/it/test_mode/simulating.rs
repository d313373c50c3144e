//! `POST /test/alerts`: what is simulated goes the way of every mail.

use serde_json::json;
use tillbell::alert_reader::Banks;
use tillbell::domain::merchant::Mode;
use tillbell::domain::time::Span;
use tillbell::ops::merchants::test_bank::account_of;

use super::world::{SIMULATE, World, exact, with};
use crate::api::server::CREATE;
use crate::harness::app::TestApp;

/// Banks of whose mails some tell too little, and what comes of an exact one.
const NOT_BY_ITSELF: [(&str, &str, &str); 4] = [
    ("grey", "ignored", "a debit"),
    ("kuda", "review", "the alert names no account"),
    ("lotus", "review", "the alert shows no payer name"),
    ("quickmfb", "review", "the alert shows no payer name"),
];

on_both! {
    async fn a_test_key_makes_a_payment_and_pays_it_with_no_operator(db: TestDatabase) {
        let w = World::new(db).await;
        let payment = w.payment(5_000, "Bisi Lawal").await;
        assert_eq!(payment["account_number"], "0000000001", "{payment}");
        assert_eq!(payment["bank_name"], "Tillbell Test Bank", "{payment}");
        let done = w.simulated(&exact(&payment)).await;
        assert_eq!((&done["outcome"], &done["transaction_id"]), (&json!("matched"), &payment["transaction_id"]));
        assert!(done["alert_id"].is_i64() && done["reason"].is_string() && done.get("outcomes").is_none(), "{done}");
        assert_eq!(w.status(&payment).await, "approved");
        // The business keeps its account, and another one has the next.
        assert_eq!(w.payment(6_000, "Ada Obi").await["account_number"], "0000000001");
        let other = w.server.shop("obi.example").await;
        let key = w.server.key(other.id, Mode::Test).await;
        assert_eq!(w.payment_of(&other, &key, 5_000, "Bisi Lawal").await["account_number"], "0000000002");
        w.audited().await;
    }

    async fn an_exact_mail_in_the_layout_of_every_bank_pays_its_payment(db: TestDatabase) {
        let w = World::new(db).await;
        let banks = Banks::embedded().unwrap();
        let mut paid = 0;
        for (n, bank) in banks.list().iter().enumerate() {
            // Another amount and person each: none may be the telling of another one's transfer.
            let payment = w.payment(4_321 + 150 * n as i64, &name(n)).await;
            let done = w.simulated(&with(exact(&payment), json!({ "bank": bank.code }))).await;
            let other = NOT_BY_ITSELF.iter().find(|(code, _, _)| *code == bank.code);
            let (outcome, reason) = other.map_or(("matched", ""), |(_, outcome, reason)| (*outcome, *reason));
            assert_eq!(done["outcome"], outcome, "{}: {done}", bank.code);
            assert!(done["reason"].as_str().unwrap().contains(reason), "{}: {done}", bank.code);
            let status = if other.is_some() { "pending" } else { "approved" };
            assert_eq!(w.status(&payment).await, status, "{}", bank.code);
            paid += u32::from(other.is_none());
        }
        assert_eq!(paid as usize, banks.list().len() - NOT_BY_ITSELF.len());
        w.audited().await;
    }

    async fn a_name_with_marks_behind_its_letters_is_read_from_every_layout(db: TestDatabase) {
        let w = World::new(db).await;
        for (n, bank) in ["", "gtbank", "firstbank", "uba", "opay"].iter().enumerate() {
            for (m, name) in ["Ad\u{e9}b\u{e1}y\u{1ecd}\u{300} \u{1ecc}l\u{e1}", "Ade\u{301}ba\u{301}yo\u{323}\u{300} O\u{323}la\u{301}"].iter().enumerate() {
                let payment = w.payment(7_000 + 900 * n as i64 + 300 * m as i64, name).await;
                let told = if bank.is_empty() { json!({}) } else { json!({ "bank": bank }) };
                let done = w.simulated(&with(exact(&payment), told)).await;
                assert_eq!(done["outcome"], "matched", "{bank} {name}: {done}");
            }
        }
    }

    async fn an_event_without_a_url_is_not_said_to_be_sent_again(db: TestDatabase) {
        let w = World::new(db).await;
        let body = json!({ "amount": "5000", "payer_name": "Bisi Lawal", "fname": "Bisi", "lname": "Lawal" });
        let reply = w.server.json("POST", &w.test_key, CREATE, &body.to_string()).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        let payment = reply.json()["data"].clone();
        assert_eq!(w.simulated(&exact(&payment)).await["outcome"], "matched");
        let events = w.server.get(&w.test_key, "/api/v1/events").await.json();
        let id = events["data"][0]["id"].as_str().unwrap().to_owned();
        let again = w.server.json("POST", &w.test_key, &format!("/api/v1/events/{id}/resend"), "{}").await;
        assert_eq!((again.status, again.json()["code"].as_str().unwrap()), (409, "no_webhook_url"), "{again:?}");
    }

    async fn a_shop_may_be_called_what_it_likes(db: TestDatabase) {
        let w = World::new(db).await;
        let long = "The Honourable Fabrics, Adire, Lace and Ankara Trading Company of Balogun Market and Environs";
        for (n, called) in ["J.K. Stores", "J & J", "X", "Shop A", "Dr A. O.", long].into_iter().enumerate() {
            let other = w.server.shop(&format!("shop{n}.example")).await;
            w.server.change(other.id, |change| change.name = Some(called.to_owned())).await;
            let key = w.server.key(other.id, Mode::Test).await;
            for (k, bank) in ["testbank", "gtbank", "access", "zenith"].into_iter().enumerate() {
                let payment = w.payment_of(&other, &key, 5_000 + 300 * k as i64, &name(k)).await;
                let mail = with(exact(&payment), json!({ "bank": bank }));
                let done = w.server.json("POST", &key, SIMULATE, &mail.to_string()).await.json();
                assert_eq!(done["data"]["outcome"], "matched", "{called} at {bank}: {done}");
            }
        }
        w.audited().await;
    }

    async fn what_does_not_fit_is_told_as_it_is(db: TestDatabase) {
        let w = World::new(db).await;
        for (naira, change, outcome, part) in [
            (5_001, json!({ "amount": "7000" }), "review", ""),
            (5_101, json!({ "payer_name": "Chidi Nwosu" }), "", ""),
            (5_201, json!({ "amount": "10" }), "", ""),
        ] {
            let payment = w.payment(naira, "Bisi Lawal").await;
            let done = w.simulated(&with(exact(&payment), change)).await;
            assert_ne!(done["outcome"], "matched", "{done}");
            assert_eq!(done["transaction_id"], json!(null), "{done}");
            if !outcome.is_empty() {
                assert!(["review", "unmatched"].contains(&done["outcome"].as_str().unwrap()), "{done}");
            }
            assert!(done["reason"].as_str().unwrap().contains(part), "{done}");
            assert_eq!(w.status(&payment).await, "pending");
        }
    }

    async fn copies_of_one_mail_pay_once(db: TestDatabase) {
        let w = World::new(db).await;
        let payment = w.payment(5_000, "Bisi Lawal").await;
        let done = w.simulated(&with(exact(&payment), json!({ "copies": 3 }))).await;
        let outcomes: Vec<_> = done["outcomes"].as_array().unwrap().iter().map(|one| one["outcome"].clone()).collect();
        assert_eq!(outcomes, ["matched", "duplicate", "duplicate"], "{done}");
        assert_eq!(done["outcome"], "matched");
        assert_eq!(done["alert_id"], done["outcomes"][0]["alert_id"]);
        w.audited().await;
    }

    async fn a_repeated_request_with_its_key_simulates_nothing_again(db: TestDatabase) {
        let w = World::new(db).await;
        let payment = w.payment(5_000, "Bisi Lawal").await;
        let body = exact(&payment).to_string();
        let key = ["Idempotency-Key: sim-1"];
        let first = w.server.json_with("POST", &w.test_key, SIMULATE, &body, &key).await;
        let again = w.server.json_with("POST", &w.test_key, SIMULATE, &body, &key).await;
        assert_eq!((first.status, again.status, &first.body), (201, 201, &again.body));
        assert_eq!(again.header("idempotency-replayed").or(again.header("idempotent-replayed")), Some("true"));
        assert!(first.header("x-ratelimit-remaining").is_some());
        let other = with(exact(&payment), json!({ "amount": "1" })).to_string();
        let refused = w.server.json_with("POST", &w.test_key, SIMULATE, &other, &key).await;
        assert_eq!(refused.fails(422, "")["code"], "idempotency_key_reused");
    }

    async fn an_account_number_and_a_time_may_be_given(db: TestDatabase) {
        let w = World::new(db).await;
        let payment = w.payment(5_000, "Bisi Lawal").await;
        let at = (w.server.app().now() - Span::seconds(2)).to_string();
        let body = json!({
            "account_number": payment["account_number"], "amount": payment["amount"],
            "payer_name": "BISI LAWAL", "narration": "two bags of rice", "occurred_at": at,
        });
        let done = w.simulated(&body).await;
        assert_eq!(done["outcome"], "matched", "{done}");
        let alert = w.server.app().store.alert(done["alert_id"].as_i64().unwrap()).await.unwrap().unwrap();
        assert_eq!(alert.facts.narration.as_deref(), Some("two bags of rice"));
        assert_eq!(alert.simulated_for, Some(w.shop.id));
        assert_eq!(alert.authenticity.as_str(), "simulated");
        let mail = w.server.app().store.mail(alert.id).await.unwrap().unwrap();
        assert!(String::from_utf8(mail).unwrap().contains("Test money has come into your account"));
    }

    async fn bad_input_is_told_field_by_field_and_changes_nothing(db: TestDatabase) {
        let w = World::new(db).await;
        let payment = w.payment(5_000, "Bisi Lawal").await;
        let good = exact(&payment);
        let long = "x".repeat(256);
        for (change, fields) in [
            (json!({ "narration": long }), &["narration"][..]),
            (json!({ "narration": "a\u{7}b" }), &["narration"]),
            (json!({ "narration": "a\nb" }), &["narration"]),
            (json!({ "payer_name": "Bisi\r\nSubject: x" }), &["payer_name"]),
            (json!({ "payer_name": "12" }), &["payer_name"]),
            (json!({ "payer_name": null }), &["payer_name"]),
            (json!({ "bank": "moonbank" }), &["bank"]),
            (json!({ "bank": "../gtbank" }), &["bank"]),
            (json!({ "amount": "1e3" }), &["amount"]),
            (json!({ "amount": "-5" }), &["amount"]),
            (json!({ "amount": "0.001" }), &["amount"]),
            (json!({ "amount": "99999999999999999999" }), &["amount"]),
            (json!({ "copies": 0 }), &["copies"]),
            (json!({ "copies": 6 }), &["copies"]),
            (json!({ "copies": "many" }), &["copies"]),
            (json!({ "occurred_at": "yesterday" }), &["occurred_at"]),
            (json!({ "occurred_at": "2999-01-01T00:00:00Z" }), &["occurred_at"]),
            (json!({ "occurred_at": "2001-01-01T00:00:00Z" }), &["occurred_at"]),
            (json!({ "transaction_id": "TXN-NOBODYS" }), &["transaction_id"]),
            (json!({ "transaction_id": null }), &["transaction_id"]),
            (json!({ "account_number": "0000000099" }), &["account_number"]),
            (json!({ "account_number": "0000000099", "transaction_id": null }), &["account_number"]),
            (json!({ "amount": "x", "bank": "a\u{0}", "copies": 9 }), &["amount", "bank", "copies"]),
        ] {
            w.simulate(&with(good.clone(), change)).await.fails_on(fields);
        }
        let huge = with(good.clone(), json!({ "narration": "x".repeat(1_000_000) }));
        w.simulate(&huge).await.fails(413, "");
        w.server.json("POST", &w.test_key, SIMULATE, "{").await.fails(400, "");
        assert!(w.server.app().store.alerts_of_test_mode(w.shop.id, 10).await.unwrap().is_empty());
        assert_eq!(w.status(&payment).await, "pending");
        assert_eq!(w.simulated(&good).await["outcome"], "matched");
    }

    async fn many_at_once_are_all_told_right(db: TestDatabase) {
        let w = World::new(db).await;
        let count: i64 = std::env::var("TILLBELL_TEST_SIMULATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
        let mut payments = Vec::new();
        for n in 0..count {
            // A third of them share one amount.
            let naira = if n % 3 == 0 { 7_000 } else { 10_000 + n };
            payments.push(w.payment(naira, &name(n as usize)).await);
        }
        let all = payments.iter().map(|payment| {
            let w = &w;
            async move { (w.simulate(&exact(payment)).await, payment) }
        });
        use futures_util::stream::{self, StreamExt};
        let done: Vec<_> = stream::iter(all).buffer_unordered(50).collect().await;
        for (reply, payment) in &done {
            assert_eq!(reply.status, 201, "{reply:?}");
            let data = &reply.json()["data"];
            assert_eq!(data["outcome"], "matched", "{data}");
            assert_eq!(data["transaction_id"], payment["transaction_id"], "{data}");
        }
        for payment in &payments {
            assert_eq!(w.status(payment).await, "approved");
        }
        w.audited().await;
    }

    async fn many_businesses_that_begin_at_once_each_get_an_account(db: TestDatabase) {
        let t = TestApp::start(db).await;
        let mut made = tokio::task::JoinSet::new();
        for n in 0..25 {
            let shop = t.merchant(&format!("shop{n}.example")).await;
            let app = t.app.clone();
            made.spawn(async move { account_of(&app, shop.id).await.unwrap().unwrap().number });
        }
        let mut numbers = made.join_all().await;
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 25);
    }

    async fn two_nodes_give_a_business_one_account(db: TestDatabase) {
        let w = World::new(db).await;
        let app = w.server.app();
        let ask = || tillbell::ops::merchants::test_bank::account_of(app, w.shop.id);
        let (a, b, c) = tokio::join!(ask(), ask(), ask());
        let numbers = [a, b, c].map(|one| one.unwrap().unwrap().number);
        assert_eq!(numbers, ["0000000001", "0000000001", "0000000001"]);
        let all = app.store.accounts().await.unwrap();
        assert_eq!(all.iter().filter(|one| one.is_of_test_bank()).count(), 1);
    }

    async fn a_registered_test_account_goes_first(db: TestDatabase) {
        let w = World::new(db).await;
        w.server.account("2200110011", Mode::Test).await;
        let payment = w.payment(5_000, "Bisi Lawal").await;
        assert_eq!(payment["account_number"], "2200110011");
        // In the layout of a bank that it is not kept at, it counts as kept there.
        let done = w.simulated(&with(exact(&payment), json!({ "bank": "zenith" }))).await;
        assert_eq!(done["outcome"], "review", "forced accounts never match by themselves: {done}");
        assert!(done["reason"].as_str().unwrap().contains("--force"), "{done}");
        let live = w.server.json("POST", &w.shop.key, CREATE, &w.shop.body("")).await;
        live.fails(503, "No receiving account");
    }
}

/// A name of its own for each number below 10,000, like no other one.
fn name(n: usize) -> String {
    const SYLLABLES: [&str; 10] = ["ba", "ode", "fi", "gu", "kwe", "la", "mo", "ni", "pur", "zu"];
    let word = |number: usize| {
        let digits = format!("{:04}", number % 10_000);
        let word: String = digits.bytes().map(|digit| SYLLABLES[usize::from(digit - b'0')]).collect();
        word[..1].to_uppercase() + &word[1..]
    };
    format!("{} {}", word(n * 7_919 + 1_234), word(n * 3_571 + 5_678))
}
