//! What a shop's programmer meets on the first day: every problem at once, only the sentence that applies, the key in
//! the body, whether a payment is a test, and errors that say what to do.

use std::sync::Arc;

use serde_json::json;
use tillbell::domain::merchant::Mode;
use tillbell::outbound::message::SendOutcome;
use tillbell::outbound::messenger::Messenger;

use super::server::{CREATE, Server};
use crate::wallet::routes::{WALLET, phone_body, post, start_body};
use crate::wallet::world::{PHONE, Post, fund};

on_both! {
    async fn a_webhook_url_is_told_everything_that_is_wrong_and_nothing_else(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let port = "not use a port that is reserved for another protocol";
        for (url, code, told) in [
            ("http://zobo-bar.com:22/", "website_not_approved",
                format!("The webhook URL must be from the approved website domain, and it must use https, and it must {port}")),
            ("http://kola.example/in", "webhook_url_not_allowed", "The webhook URL must use https".to_owned()),
            ("http://kola.example:6379/in", "webhook_url_not_allowed",
                format!("The webhook URL must use https, and it must {port}")),
            ("https://bisi@kola.example:25/in", "webhook_url_not_allowed",
                format!("The webhook URL must not contain a user name or password, and it must {port}")),
            ("https://zobo-bar.com/in", "website_not_approved",
                "The webhook URL must be from the approved website domain".to_owned()),
            ("https://203.0.113.9/in", "website_not_approved",
                "The webhook URL must be from the approved website domain, and it must not use an IP address as its host".to_owned()),
        ] {
            let reply = server.create(&shop, &format!(r#""webhook_url": "{url}""#)).await;
            let json = reply.fails(400, "");
            assert_eq!((&json["message"], &json["code"]), (&json!(told), &json!(code)), "{url}");
            assert_eq!(json["error_codes"], json!({ "webhook_url": [code] }));
            assert_eq!(json["errors"], json!({ "webhook_url": [format!("{told}.")] }));
            let among = server.create(&shop, &format!(r#""amount": 0, "webhook_url": "{url}""#)).await;
            let among = among.fails_on(&["amount", "webhook_url"]);
            assert_eq!(among["errors"]["webhook_url"], json!([format!("{told}.")]));
        }
    }

    async fn a_website_url_with_another_scheme_is_told_its_scheme(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        for (url, code, told) in [
            ("ftp://kola.example", "invalid_url", "must use http or https"),
            ("ws://kola.example/in", "invalid_url", "must use http or https"),
            ("https://zobo-bar.com", "website_not_approved", "must be on one of your approved websites"),
        ] {
            let json = server.create(&shop, &format!(r#""website_url": "{url}""#)).await.fails_on(&["website_url"]);
            assert_eq!(json["errors"]["website_url"], json!([format!("The website URL {told}.")]), "{url}");
            assert_eq!(json["error_codes"]["website_url"], json!([code]), "{url}");
        }
    }

    async fn an_amount_and_a_bad_idempotency_key_are_told_whole(db: TestDatabase) {
        let server = Server::sending(db, "", Some(Messenger::Other(Arc::new(Post::default())))).await;
        let shop = server.wallet_shop().await;
        let reply = server.create(&shop, r#""amount": -1.234"#).await.fails_on(&["amount"]);
        assert_eq!(reply["error_codes"]["amount"], json!(["too_many_decimals", "too_small"]));
        let bad = [&["Idempotency-Key: "][..], &["Idempotency-Key: a", "Idempotency-Key: b"][..]];
        let wallet = |route: &str| format!("{WALLET}/{route}");
        for (keys, code) in bad.into_iter().zip(["required", "sent_twice"]) {
            for (method, path, body, field) in [
                ("POST", CREATE.to_owned(), shop.body(r#""amount": 0"#), "amount"),
                ("PATCH", "/api/v1/payment/x/amount".to_owned(), r#"{"new_amount": 0}"#.to_owned(), "new_amount"),
                ("POST", wallet("pay/start"), start_body(r#""amount": 0"#), "amount"),
                ("POST", wallet("lookup"), r#"{"phone": "7"}"#.to_owned(), "phone"),
                ("POST", wallet("send-message"), json!({ "phone": PHONE }).to_string(), "message"),
                ("POST", wallet("topup"), json!({ "phone": PHONE, "payer_name": "Ife Bello" }).to_string(), "amount"),
            ] {
                let reply = server.json_with(method, &shop.key, &path, &body, keys).await;
                let json = reply.fails_on(&[field, "idempotency_key"]);
                assert_eq!(json["error_codes"]["idempotency_key"], json!([code]), "{path}");
            }
        }
    }

    async fn a_key_in_the_body_is_told_what_hides_it(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let body = shop.body(&format!(r#""api_key": "{}""#, shop.key));
        let text = server.send("POST", CREATE, &["Content-Type: text/plain"], Some(body.as_bytes())).await;
        text.fails(415, "The Content-Type must be application/json");
        // An empty body hides none.
        let none = server.send("POST", CREATE, &["Content-Type: text/plain"], Some(b"")).await;
        none.fails(401, "API key is required");
        for token in ["5", "[]", "true", r#""tb_live_other""#] {
            let body = shop.body(&format!(r#""api_key": {token}"#));
            server.json("POST", &shop.key, CREATE, &body).await.fails(401, "the X-API-Key header and the field api_key differ");
        }
    }

    async fn a_link_that_was_not_sent_is_in_the_answer(db: TestDatabase) {
        let sent = Arc::new(Post::default());
        let server = Server::sending(db, "", Some(Messenger::Other(sent.clone()))).await;
        let shop = server.wallet_shop().await;
        post(&server, &shop, "ensure", &phone_body()).await;
        fund(server.app(), 20_000).await;
        sent.answer(SendOutcome::NotOnWhatsApp);
        let failed = post(&server, &shop, "pay/start", &start_body("")).await.fails(502, "could not be sent");
        let good = post(&server, &shop, "pay/start", &start_body("")).await;
        assert_eq!(good.status, 201, "{good:?}");
        assert_eq!(failed["data"], good.json()["data"], "{failed}");
        assert!(failed["data"]["confirm_url"].is_string() && failed["data"]["transaction_id"].is_string());
    }

    async fn of_a_topup_the_business_receives_nothing(db: TestDatabase) {
        let server = Server::sending(db, "", Some(Messenger::Other(Arc::new(Post::default())))).await;
        let shop = server.wallet_shop().await;
        server.account("2200110011", Mode::Live).await;
        post(&server, &shop, "ensure", &phone_body()).await;
        let body = json!({ "phone": PHONE, "amount": 5_000, "payer_name": "Ifeoma Danladi" }).to_string();
        let asked = post(&server, &shop, "topup", &body).await;
        assert_eq!(asked.status, 201, "{asked:?}");
        assert!(asked.body.contains(r#""amount_to_pay":5000.00,"business_receives":0.00"#), "{asked:?}");
    }

    async fn a_payment_says_whether_it_is_a_test(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        server.account("0123459982", Mode::Test).await;
        let test = server.key(shop.id, Mode::Test).await;
        for (key, mode, id) in [(&shop.key, "live", "l-1"), (&test, "test", "t-1")] {
            let body = shop.body(&format!(r#""transaction_id": "{id}""#));
            assert_eq!(server.json("POST", key, CREATE, &body).await.status, 201);
            let path = format!("/api/v1/payment/{id}");
            assert_eq!(server.get(key, &path).await.json()["data"]["mode"], mode);
            assert_eq!(server.get(key, "/api/v1/payments").await.json()["data"][0]["mode"], mode);
            let corrected = server.json("PATCH", key, &format!("{path}/amount"), r#"{"new_amount": 4000}"#).await;
            assert_eq!(corrected.json()["data"]["mode"], mode, "{corrected:?}");
        }
    }

    async fn parameters_are_named_as_they_are_sent(db: TestDatabase) {
        let server = Server::sending(db, "", Some(Messenger::Other(Arc::new(Post::default())))).await;
        let shop = server.wallet_shop().await;
        for (query, told) in [
            ("per_page=x", "per_page must be a whole number from 1 to 100."),
            ("from_date=2026-05-02&to_date=2026-05-01", "from_date must not be later than to_date."),
            ("website_id=x", "website_id must be a whole number."),
        ] {
            server.get(&shop.key, &format!("/api/v1/payments?{query}")).await.fails(422, told);
        }
        for (members, told) in [
            (r#""fname": 5"#, "The first name (fname) must be a string."),
            (r#""lname": []"#, "The last name (lname) must be a string."),
        ] {
            server.create(&shop, members).await.fails(422, told);
        }
        let turned = json!({ "phone": PHONE, "message": "one\u{202e}two" }).to_string();
        let told = post(&server, &shop, "send-message", &turned).await.fails_on(&["message"]);
        assert_eq!(told["message"], "The message must not contain characters that change the direction of text.");
        let broken = server.json("POST", &shop.key, CREATE, r#"{"amount": tru}"#).await.fails(400, "");
        let message = broken["message"].as_str().unwrap();
        assert!(message.contains("`tru` is not a JSON value"), "{message}");
    }

    async fn errors_say_what_to_do(db: TestDatabase) {
        let server = Server::sending(db, "", Some(Messenger::Other(Arc::new(Post::default())))).await;
        let shop = server.wallet_shop().await;
        post(&server, &shop, "ensure", &phone_body()).await;
        let poor = post(&server, &shop, "pay/start", &start_body("")).await;
        poor.fails(400, "Insufficient balance. Ask the customer to top up the wallet");
        // An id that is taken is told, whatever the mode.
        server.account("2200110011", Mode::Live).await;
        assert_eq!(server.create(&shop, r#""transaction_id": "t-9""#).await.status, 201);
        let test = server.key(shop.id, Mode::Test).await;
        let taken = server.json("POST", &test, CREATE, &shop.body(r#""transaction_id": "t-9""#)).await;
        taken.fails_on(&["transaction_id"]);
    }
}
