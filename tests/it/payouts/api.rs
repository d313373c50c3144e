//! The routes of balance and payouts.

use serde_json::{Value, json};
use tillbell::domain::merchant::Mode;
use tillbell::domain::time::Span;
use tillbell::ops::merchants::keys::add_key;
use tillbell::ops::payouts::end::{Outcome, mark_payout};
use tillbell::ops::payouts::export::export_payouts;

use super::book::marking;
use super::world::{GIVEN, ask_for, ready_account, standing};
use crate::pages::dashboard_world::Shops;
use crate::wallet_pages::site::exchange;

struct Asker<'a> {
    shops: &'a Shops,
    key: String,
}

impl Asker<'_> {
    async fn new(shops: &Shops, business: i64, mode: Mode) -> Asker<'_> {
        let key = add_key(&shops.t().app, "ada", business, mode, None, None).await.unwrap().unwrap();
        Asker { shops, key: key.text.to_string() }
    }

    async fn ask(&self, method: &str, path: &str, body: Option<&str>, more: &[&str]) -> (u16, Value) {
        let key = format!("X-API-Key: {}", self.key);
        let mut lines = vec![key.as_str()];
        if body.is_some() {
            lines.push("Content-Type: application/json");
        }
        lines.extend(more);
        let address = self.shops.pages.running.address;
        let (status, _, body) = exchange(address, method, &format!("/api/v1{path}"), &lines, body).await;
        (
            status,
            serde_json::from_slice(&body).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&body))),
        )
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, None, &[]).await
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask("POST", path, Some(&body.to_string()), &[]).await
    }
}

async fn owner_id(shops: &Shops) -> i64 {
    shops.t().app.store.members(shops.shop.id).await.unwrap()[0].user_id
}

on_both! {
    async fn a_program_asks_for_its_money_and_sees_what_becomes_of_it(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let payment = shops.paid(&shops.shop, 52_000, "Musa Danladi").await;
        let all = payment.business_receives;
        let account = ready_account(shops.t(), &shops.shop, owner_id(&shops).await, &GIVEN).await;
        let api = Asker::new(&shops, shops.shop.id, Mode::Live).await;
        let (status, told) = api.get("/balance").await;
        let available: f64 = all.to_string().parse().unwrap();
        assert_eq!((status, &told["data"]), (200, &json!({ "available": available, "reserved": 0.0, "currency": "NGN" })));
        let (_, accounts) = api.get("/payout-accounts").await;
        let usable = account.usable_at.to_string();
        assert_eq!(
            accounts["data"],
            json!([{ "id": account.id, "bank": "GTBank", "number": "******3311", "name": "KUDU STORES", "usable_from": usable }])
        );
        let (status, made) = api.post("/payouts", &json!({ "amount": 1000.5, "payout_account_id": account.id, "reference": "week 9" })).await;
        assert_eq!(status, 201, "{made}");
        let data = &made["data"];
        assert_eq!((&data["status"], &data["amount"], &data["reference"]), (&json!("pending"), &json!(1000.5), &json!("week 9")));
        assert!(data["transfer_reference"].as_str().unwrap().starts_with("PAYOUT") && data["ended_at"].is_null());
        let id = data["id"].as_i64().unwrap();
        assert_eq!(api.get(&format!("/payouts/{id}")).await, (200, json!({ "success": true, "data": data })));
        let (_, told) = api.get("/balance").await;
        assert_eq!(told["data"]["reserved"], json!(1000.5));
        let (_, second) = api.post("/payouts", &json!({ "amount": "20", "payout_account_id": account.id.to_string() })).await;
        let second = second["data"]["id"].as_i64().unwrap();
        let (status, cancelled) = api.ask("POST", &format!("/payouts/{second}/cancel"), None, &["Content-Length: 0"]).await;
        assert_eq!((status, &cancelled["data"]["status"]), (200, &json!("cancelled")), "{cancelled}");
        let (status, again) = api.post(&format!("/payouts/{second}/cancel"), &json!({})).await;
        assert_eq!((status, &again["code"]), (409, &json!("payout_finished")));
        mark_payout(&shops.t().app, &marking(id, Outcome::Paid, "ola")).await.unwrap().unwrap();
        let (_, paid) = api.get(&format!("/payouts/{id}")).await;
        assert_eq!((&paid["data"]["status"], &paid["data"]["bank_reference"]), (&json!("paid"), &json!("FT26-1")));
        assert!(!paid.to_string().contains("ola"), "who of the operator's people it was is not told");
        let ids = |told: &Value| told["data"].as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap()).collect::<Vec<_>>();
        let (_, listed) = api.get("/payouts").await;
        assert_eq!((ids(&listed).len(), &listed["meta"]["next_cursor"]), (2, &Value::Null));
        assert_eq!(ids(&api.get("/payouts?status=paid").await.1), [id]);
        let (_, lines) = api.get("/balance/entries").await;
        let kinds: Vec<&str> = lines["data"].as_array().unwrap().iter().map(|line| line["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds.iter().filter(|kind| **kind == "payout").count(), 2, "{lines}");
        assert_eq!((kinds.len(), kinds[3]), (4, "payment"));
        assert_eq!(lines["data"][0]["balance"], json!(available - 1000.5), "what is left after the newest line");
        assert_eq!(lines["data"][3]["balance"], json!(available));
        shops.close().await;
    }

    async fn one_key_is_one_payout_and_bad_requests_set_nothing_aside(db: TestDatabase) {
        let shops = Shops::new(db).await;
        shops.paid(&shops.shop, 52_000, "Musa Danladi").await;
        shops.paid(&shops.other, 52_000, "Ebiere Alagoa").await;
        let owner = owner_id(&shops).await;
        let account = ready_account(shops.t(), &shops.shop, owner, &GIVEN).await;
        let (available, _) = standing(shops.t(), &shops.shop).await;
        let api = Asker::new(&shops, shops.shop.id, Mode::Live).await;
        let other = Asker::new(&shops, shops.other.id, Mode::Live).await;
        for (body, status, code, fields) in [
            (json!({ "amount": 10.005, "payout_account_id": account.id }), 422, "invalid_fields", "too_many_decimals"),
            (json!({ "amount": 0, "payout_account_id": account.id }), 422, "invalid_fields", "too_small"),
            (json!({ "amount": -1, "payout_account_id": account.id }), 422, "invalid_fields", "too_small"),
            (json!({ "payout_account_id": account.id }), 422, "invalid_fields", "required"),
            (json!({ "amount": 10 }), 422, "invalid_fields", "required"),
            (json!({ "amount": 10, "payout_account_id": "x" }), 422, "invalid_fields", "not_a_whole_number"),
            (json!({ "amount": 10, "payout_account_id": 999_999 }), 422, "invalid_fields", "unknown_value"),
            (json!({ "amount": 10, "payout_account_id": account.id, "reference": "a\u{202e}" }), 422, "invalid_fields", "invisible_characters"),
            (json!({ "amount": 1e15, "payout_account_id": account.id }), 422, "invalid_fields", ""),
        ] {
            let (got, told) = api.post("/payouts", &body).await;
            assert_eq!((got, &told["code"]), (status, &json!(code)), "{body}: {told}");
            assert!(told["error_codes"].to_string().contains(fields), "{told}");
        }
        let foreign = json!({ "amount": 10, "payout_account_id": account.id });
        let (unknown, theirs) = (api.post("/payouts", &json!({ "amount": 10, "payout_account_id": 999_999 })).await, other.post("/payouts", &foreign).await);
        assert_eq!(unknown, theirs, "an account of another business is an unknown one");
        let (status, told) = api.post("/payouts", &json!({ "amount": 60_000, "payout_account_id": account.id })).await;
        let has: f64 = tillbell::domain::money::Money(available).to_string().parse().unwrap();
        assert_eq!((status, &told["code"], &told["available_balance"]), (400, &json!("insufficient_balance"), &json!(has)));
        assert!(told["message"].as_str().unwrap().starts_with("Insufficient balance"));
        assert_eq!(standing(shops.t(), &shops.shop).await, (available, 0), "nothing is set aside");

        let key = ["Idempotency-Key: payout-1"];
        let body = json!({ "amount": 10, "payout_account_id": account.id }).to_string();
        let first = api.ask("POST", "/payouts", Some(&body), &key).await;
        assert_eq!(first.0, 201);
        assert_eq!(api.ask("POST", "/payouts", Some(&body), &key).await, first);
        let changed = body.replace("10", "11");
        assert_eq!(api.ask("POST", "/payouts", Some(&changed), &key).await.1["code"], "idempotency_key_reused");
        assert_eq!(standing(shops.t(), &shops.shop).await.1, 1_000, "once");
        let id = first.1["data"]["id"].as_i64().unwrap();
        for path in [format!("/payouts/{id}"), "/payouts/0".into(), "/payouts/x".into(), "/payouts/99999999999999999999".into()] {
            assert_eq!(other.get(&path).await.1["code"], "payout_not_found", "{path}");
            assert_eq!(other.post(&format!("{path}/cancel"), &json!({})).await.1["code"], "payout_not_found", "{path}");
        }
        let cancel = format!("/payouts/{id}/cancel");
        let gone = api.ask("POST", &cancel, Some("{}"), &["Idempotency-Key: cancel-1"]).await;
        assert_eq!((gone.0, &gone.1["data"]["status"]), (200, &json!("cancelled")));
        assert_eq!(api.ask("POST", &cancel, Some("{}"), &["Idempotency-Key: cancel-1"]).await, gone, "the same answer again");
        let taken = ask_for(&shops.t().app, shops.shop.id, account.id, 500).await.unwrap().payout.id;
        export_payouts(&shops.t().app, "ola", false).await.unwrap().unwrap();
        assert_eq!(api.post(&format!("/payouts/{taken}/cancel"), &json!({})).await.1["code"], "payout_being_paid");
        for path in ["/payouts?status=open", "/payouts?cursor=x", "/balance/entries?cursor=x"] {
            assert_eq!(api.get(path).await.0, 422, "{path}");
        }
        let test = Asker::new(&shops, shops.shop.id, Mode::Test).await;
        for path in ["/balance", "/balance/entries", "/payout-accounts", "/payouts", "/payouts/1"] {
            assert_eq!(test.get(path).await.1["code"], "live_key_required", "{path}");
        }
        assert_eq!(test.post("/payouts", &foreign).await.1["code"], "live_key_required");
        shops.t().advance(Span::seconds(61));
        let new = tillbell::ops::payouts::accounts::GivenAccount { number: "0040003312", ..GIVEN };
        let owner = tillbell::ops::payouts::accounts::Owner { business_id: shops.shop.id, user_id: owner, email: "x" };
        let new = tillbell::ops::payouts::accounts::add_payout_account(&shops.t().app, &owner, &new).await.unwrap().unwrap();
        let (status, told) = api.post("/payouts", &json!({ "amount": 10, "payout_account_id": new.id })).await;
        assert_eq!((status, &told["code"]), (409, &json!("payout_account_too_new")));
        shops.close().await;
    }

    async fn entries_and_payouts_go_on_by_their_cursor(db: TestDatabase) {
        let shops = Shops::new(db).await;
        shops.paid(&shops.shop, 52_000, "Musa Danladi").await;
        let account = ready_account(shops.t(), &shops.shop, owner_id(&shops).await, &GIVEN).await;
        for _ in 0..60 {
            ask_for(&shops.t().app, shops.shop.id, account.id, 100).await.unwrap();
            shops.t().advance(Span::seconds(1));
        }
        let api = Asker::new(&shops, shops.shop.id, Mode::Live).await;
        let (_, first) = api.get("/payouts").await;
        let next = first["meta"]["next_cursor"].as_str().unwrap();
        let (_, second) = api.get(&format!("/payouts?cursor={next}")).await;
        assert_eq!((first["data"].as_array().unwrap().len(), second["data"].as_array().unwrap().len()), (50, 10));
        assert!(second["meta"]["next_cursor"].is_null());
        let (_, first) = api.get("/balance/entries").await;
        let next = first["meta"]["next_cursor"].as_str().unwrap();
        let (_, second) = api.get(&format!("/balance/entries?cursor={next}")).await;
        let (last, begin) = (&first["data"][49], &second["data"][0]);
        assert_eq!(last["balance"].as_f64().unwrap() + 1.0, begin["balance"].as_f64().unwrap(), "the balance runs on");
        assert_eq!(second["data"].as_array().unwrap().len(), 11);
        let other = Asker::new(&shops, shops.other.id, Mode::Live).await;
        assert_eq!(other.get(&format!("/balance/entries?cursor={next}")).await.0, 422, "another's cursor");
        shops.close().await;
    }
}
