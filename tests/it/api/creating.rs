//! `POST /payment-request` and reading the payment back: exact members, every named refusal.

use serde_json::json;
use tillbell::domain::merchant::Mode;
use tillbell::ops::merchants::businesses::ChargeChange;

use super::server::{CREATE, Server, names};

fn set(all: &[&str]) -> std::collections::BTreeSet<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

on_both! {
    async fn a_taken_id_is_told_beside_what_else_is_wrong(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        assert_eq!(server.create(&shop, r#""transaction_id": "t-1""#).await.status, 201);
        let again = server.create(&shop, r#""transaction_id": "t-1", "amount": "x""#).await;
        again.fails_on(&["amount", "transaction_id"]);
        let again = server.create(&shop, r#""transaction_id": "t-1", "website_url": "x", "business_website_id": 99"#).await;
        assert!(again.json()["errors"]["transaction_id"].is_array(), "{again:?}");
        server.create(&shop, r#""transaction_id": "t-2", "amount": "x""#).await.fails_on(&["amount"]);
    }

    async fn a_payment_has_exactly_the_documented_members(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let reply = server
            .create(&shop, r#""transaction_id": "A 1", "bank": "Corner Bank", "bvn": "22200011122", "amount": 1500.5,
                "status": "approved", "business_id": 99, "account_number": "1", "charges": {"total": 0}"#)
            .await;
        assert_eq!(reply.status, 201, "{reply:?}");
        let all = reply.json();
        assert_eq!(names(&all), set(&["success", "message", "data"]));
        assert_eq!(all["success"], true);
        let data = &all["data"];
        assert_eq!(names(data), set(&["transaction_id", "amount", "payer_name", "account_number", "account_name",
            "bank_name", "status", "expires_at", "created_at", "charges", "website", "checkout_url"]));
        assert_eq!(names(&data["charges"]), set(&["percentage", "fixed", "total", "paid_by_customer",
            "amount_to_pay", "business_receives"]));
        assert_eq!(data["website"], json!({"id": shop.website, "url": "https://kola.example"}));
        assert_eq!((data["transaction_id"].as_str(), data["status"].as_str()), (Some("A 1"), Some("pending")));
        assert_eq!(data["bank_name"], "Corner Bank");
        for part in [r#""amount":1500.50,"#, r#""percentage":15.01,"fixed":50.00,"total":65.01,"paid_by_customer":false,"amount_to_pay":1500.50,"business_receives":1435.49}"#] {
            assert!(reply.body.contains(part), "{part} in {}", reply.body);
        }
        let created = data["created_at"].as_str().unwrap();
        assert!(created.len() == 27 && created.ends_with('Z') && created.as_bytes()[19] == b'.', "{created}");

        let read = server.get(&shop.key, "/api/v1/payment/A%201").await;
        assert_eq!(read.status, 200, "{read:?}");
        let data = &read.json()["data"];
        assert_eq!(names(&read.json()), set(&["success", "data"]));
        assert_eq!(names(data), set(&["transaction_id", "amount", "payer_name", "bank", "account_number",
            "account_name", "bank_name", "status", "webhook_url", "expires_at", "matched_at", "approved_at",
            "created_at", "updated_at", "charges", "website", "received_amount", "is_mismatch", "mismatch_reason",
            "name_mismatch", "mode", "checkout_url"]));
        assert_eq!(names(&data["charges"]), set(&["percentage", "fixed", "total", "business_receives"]));
        assert!(data["matched_at"].is_null() && data["approved_at"].is_null());
        assert!(!read.body.contains("22200011122"), "a bank verification number is never answered");

        let corrected = server.json("PATCH", &shop.key, "/api/v1/payment/A%201/amount", r#"{"new_amount": "2000"}"#).await;
        assert_eq!(corrected.status, 200, "{corrected:?}");
        let data = &corrected.json()["data"];
        assert_eq!(names(&corrected.json()), set(&["success", "message", "data"]));
        assert_eq!(names(&data["charges"]), set(&["percentage", "fixed", "total", "paid_by_customer", "business_receives"]));
        assert_eq!(names(data), names(&read.json()["data"]));
        assert!(corrected.body.contains(r#""amount":2000.00,"#) && corrected.body.contains(r#""total":70.00"#));
        server.running.stop().await;
    }

    async fn charges_on_top_are_in_the_amount(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        server
            .change(shop.id, |change| {
                change.charges = ChargeChange { paid_by_customer: Some(true), ..ChargeChange::default() };
            })
            .await;
        let reply = server.create(&shop, "").await;
        assert_eq!(reply.status, 201, "{reply:?}");
        assert!(reply.body.contains(r#""amount":5100.00,"#), "{}", reply.body);
        assert!(reply.body.contains(r#""paid_by_customer":true,"amount_to_pay":5100.00,"business_receives":5000.00"#));
        let id = reply.json()["data"]["transaction_id"].as_str().unwrap().to_owned();
        assert!(id.starts_with("TXN-") && id.len() == 30, "{id}");
    }

    async fn no_amount_is_more_than_the_largest_with_its_charges(db: TestDatabase) {
        let server = Server::with(db, "[payments]\nmax_amount = \"8000\"").await;
        let shop = server.shop("kola.example").await;
        server.account("2200110011", Mode::Live).await;
        let create = async |amount: &str| server.create(&shop, &format!(r#""amount": {amount}"#)).await;
        assert_eq!(create("8000").await.status, 201, "the merchant pays the charges");
        server
            .change(shop.id, |change| {
                change.charges = ChargeChange { paid_by_customer: Some(true), ..ChargeChange::default() };
            })
            .await;
        // 1 % and 50.00 on top.
        let most = create("7871.29").await;
        assert_eq!(most.status, 201, "{most:?}");
        assert!(most.body.contains(r#""amount":8000.00,"#), "{most:?}");
        let over = create("7871.30").await;
        assert_eq!(over.fails_on(&["amount"])["error_codes"]["amount"], json!(["too_large"]));
        over.fails(422, "The amount with its charges must not be greater than 8000.00.");
        let id = most.json()["data"]["transaction_id"].as_str().unwrap().to_owned();
        let path = format!("/api/v1/payment/{id}/amount");
        let over = server.json("PATCH", &shop.key, &path, r#"{"new_amount": 7871.30}"#).await;
        assert_eq!(over.fails_on(&["new_amount"])["error_codes"]["new_amount"], json!(["too_large"]));
        let read = server.get(&shop.key, &format!("/api/v1/payment/{id}")).await;
        assert!(read.body.contains(r#""amount":8000.00,"#), "nothing changed: {read:?}");
    }

    async fn every_wrong_field_is_told_at_once(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let reply = server.json("POST", &shop.key, CREATE, "{}").await;
        let json = reply.fails_on(&["amount", "payer_name", "webhook_url"]);
        assert_eq!(json["message"], "The amount field is required. (and 2 more errors)");
        assert_eq!(json["errors"]["payer_name"], json!(["The payer name field is required."]));
        let long = "x".repeat(256);
        for (members, fields) in [
            (r#""amount": 0"#.to_owned(), vec!["amount"]),
            (r#""amount": "1000000000""#.into(), vec!["amount"]),
            (r#""amount": true"#.into(), vec!["amount"]),
            (r#""payer_name": " ", "name": """#.into(), vec!["payer_name"]),
            (r#""payer_name": "0123""#.into(), vec!["payer_name"]),
            (r#""name": "...", "payer_name": "Good Name""#.into(), vec!["name"]),
            (r#""payer_name": ["a"]"#.into(), vec!["payer_name"]),
            (r#""payer_name": "a\u0000b""#.into(), vec!["payer_name"]),
            (format!(r#""payer_name": "{long}", "bank": "{long}", "service": "{long}", "transaction_id": "{long}""#),
                vec!["payer_name", "bank", "service", "transaction_id"]),
            (format!(r#""fname": "{}", "lname": "{}""#, &long[..101], &long[..101]), vec!["fname", "lname"]),
            (format!(r#""bvn": "{}", "registration_number": "{}""#, &long[..31], &long[..61]), vec!["bvn", "registration_number"]),
            (format!(r#""webhook_url": "https://kola.example/{}""#, "x".repeat(500)), vec!["webhook_url"]),
            (r#""webhook_url": "kola dot example""#.into(), vec!["webhook_url"]),
            (r#""business_website_id": "one""#.into(), vec!["business_website_id"]),
            (r#""business_website_id": 987654, "website_url": "https://nobody.example""#.into(), vec!["business_website_id", "website_url"]),
            (r#""transaction_id": "..""#.into(), vec!["transaction_id"]),
            (r#""amount": -1, "business_website_id": 987654"#.into(), vec!["amount", "business_website_id"]),
        ] {
            let reply = server.create(&shop, &members).await;
            println!("{members}");
            reply.fails_on(&fields);
        }
        // The limits themselves are still good, counted in characters.
        let reply = server
            .create(&shop, &format!(r#""name": "{}", "fname": "{}", "transaction_id": "{}""#, "ọ".repeat(255), "é".repeat(100), &long[..255]))
            .await;
        assert_eq!(reply.status, 201, "{reply:?}");
        assert!(reply.json()["data"]["payer_name"].as_str().unwrap().starts_with('ọ'), "name wins over payer_name");
        // More than two decimals, exponents and the like, as they stand in the text.
        for amount in ["0.001", "1e3", "1.000", "\"1,000\"", "\"NaN\"", "-0.01"] {
            let body = format!(r#"{{"amount": {amount}, "name": "Ada Obi", "webhook_url": "https://kola.example/h"}}"#);
            server.json("POST", &shop.key, CREATE, &body).await.fails_on(&["amount"]);
        }
    }

    async fn a_transaction_id_is_unique_in_its_business(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let other = server.shop("other.example").await;
        assert_eq!(server.create(&shop, r#""transaction_id": "same""#).await.status, 201);
        server.create(&shop, r#""transaction_id": " same ""#).await.fails_on(&["transaction_id"]);
        server.get(&other.key, "/api/v1/payment/same").await.fails(404, "not found");
        let amount = r#"{"new_amount": 1}"#;
        server.json("PATCH", &other.key, "/api/v1/payment/same/amount", amount).await.fails(404, "not found");
        let theirs = server.create(&other, r#""transaction_id": "same", "payer_name": "Musa Bello", "amount": 71"#).await;
        assert_eq!(theirs.status, 201, "{theirs:?}");
        let mine = server.get(&shop.key, "/api/v1/payment/same").await;
        assert_eq!(mine.json()["data"]["payer_name"], "Bisi Lawal");
    }

    async fn ids_are_percent_encoded_in_paths(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        for (n, (id, path)) in [("a/b", "a%2Fb"), ("50% off?#", "50%25%20off%3F%23"), ("ọ+1", "%E1%BB%8D+1"), ("amount", "amount")]
            .into_iter()
            .enumerate()
        {
            let reply = server.create(&shop, &format!(r#""transaction_id": "{id}", "amount": {}"#, 100 + n * 500)).await;
            assert_eq!(reply.status, 201, "{reply:?}");
            let read = server.get(&shop.key, &format!("/api/v1/payment/{path}")).await;
            assert_eq!(read.json()["data"]["transaction_id"], id, "{read:?}");
            let corrected = server
                .json("PATCH", &shop.key, &format!("/api/v1/payment/{path}/amount"), &format!(r#"{{"new_amount": {}}}"#, 200 + n * 500))
                .await;
            assert_eq!(corrected.status, 200, "{corrected:?}");
        }
        for path in ["nobody", "%FF", "a%00b", "a%2Fc"] {
            server.get(&shop.key, &format!("/api/v1/payment/{path}")).await.fails(404, "not found");
        }
    }

    async fn websites_are_chosen_and_webhooks_kept_on_approved_domains(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let second = server.website(shop.id, "tailor.example", true).await;
        let waiting = server.website(shop.id, "waiting.example", false).await;
        let stranger = server.shop("stranger.example").await;
        let chosen = async |members: &str| {
            let reply = server.create(&shop, members).await;
            assert_eq!(reply.status, 201, "{members}: {reply:?}");
            reply.json()["data"]["website"]["id"].as_i64().unwrap()
        };
        assert_eq!(chosen(r#""amount": 11"#).await, shop.website);
        assert_eq!(chosen(r#""amount": 501, "website_url": "https://www.tailor.example/x""#).await, second);
        let both = format!(r#""amount": 1001, "website_url": "https://tailor.example", "business_website_id": {}"#, shop.website);
        assert_eq!(chosen(&both).await, shop.website);
        assert_eq!(chosen(r#""amount": 1501, "webhook_url": "HTTPS://Api.Tailor.Example.:8443/in""#).await, second);
        for id in [waiting, stranger.website] {
            server.create(&shop, &format!(r#""business_website_id": {id}"#)).await.fails_on(&["business_website_id"]);
        }
        for url in ["https://stranger.example/in", "https://waiting.example/in", "https://notkola.example/in",
            "https://kola.example.evil.example/in", "https://user@stranger.example/in", "http://stranger.example/in",
            "https://127.0.0.1/in", "https://localhost/in", "https://com.ng/in"] {
            let reply = server.create(&shop, &format!(r#""webhook_url": "{url}""#)).await;
            reply.fails(400, "must be from the approved website domain");
        }
        // Of the domain nothing is said where it is right.
        for (url, told) in [
            ("https://user@kola.example/in", "The webhook URL must not contain a user name or password"),
            ("http://kola.example/in", "The webhook URL must use https"),
        ] {
            let json = server.create(&shop, &format!(r#""webhook_url": "{url}""#)).await.fails(400, told);
            assert_eq!((&json["message"], &json["code"]), (&told.into(), &"webhook_url_not_allowed".into()));
        }
    }

    async fn ports_of_other_protocols_are_no_place_for_a_webhook(db: TestDatabase) {
        let server = Server::start(db).await;
        let shop = server.shop("kola.example").await;
        server.account("2200110011", Mode::Live).await;
        for port in [0, 1, 22, 25, 53, 110, 143, 3306, 5432, 6379, 6667, 10_080, 11_211, 27_017] {
            let reply = server.create(&shop, &format!(r#""webhook_url": "https://kola.example:{port}/in""#)).await;
            let json = reply.fails(400, "must not use a port that is reserved for another protocol");
            assert_eq!(json["code"], "webhook_url_not_allowed");
        }
        let good = server.create(&shop, r#""webhook_url": "https://kola.example:8443/in""#).await;
        assert_eq!(good.status, 201, "{good:?}");
    }

    async fn without_a_free_account_nothing_is_created(db: TestDatabase) {
        let server = Server::start(db).await;
        let shop = server.shop("kola.example").await;
        let test_key = server.key(shop.id, Mode::Test).await;
        server.account("2200110011", Mode::Test).await;
        let reply = server.create(&shop, r#""transaction_id": "none""#).await;
        reply.fails(503, "No receiving account");
        assert!(reply.header("retry-after").is_some());
        server.get(&shop.key, "/api/v1/payment/none").await.fails(404, "");
        let reply = server.json("POST", &test_key, CREATE, &shop.body(r#""transaction_id": "t1""#)).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        server.get(&shop.key, "/api/v1/payment/t1").await.fails(404, "");
        assert_eq!(server.get(&test_key, "/api/v1/payment/t1").await.status, 200);
    }

    async fn dev_mode_takes_loopback_that_is_registered(db: TestDatabase) {
        let server = Server::with(db, "[server]\ndev = true").await;
        let shop = server.shop("localhost").await;
        server.account("2200110011", Mode::Live).await;
        let reply = server.create(&shop, r#""webhook_url": "http://localhost:5005/hook""#).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        server.create(&shop, r#""webhook_url": "http://127.0.0.1:5005/hook""#).await.fails(400, "approved website domain");
    }
}
