//! Codes of the wallet routes' errors, each driven over HTTP; what there are in all is `api::codes`' to know.

use std::sync::Arc;
use tillbell::outbound::message::SendOutcome;

use serde_json::json;
use tillbell::domain::merchant::Mode;
use tillbell::domain::message::MessageKind;
use tillbell::ops::wallet_payments::confirm::confirm;
use tillbell::ops::wallet_payments::pin_reset::{PinSet, send_code, set_pin};
use tillbell::ops::wallets::desk::{Act, act};
use tillbell::outbound::messenger::Messenger;
use tillbell::store::tables::wallets;

use super::routes::{phone_body, post, start_body};
use super::world::{PHONE, PIN, Post, WRONG, fund};
use crate::api::codes::{self, Seen};
use crate::api::server::{Server, WALLET_HOOK};

const SETTINGS: &str = "[server]\npublic_url = \"https://pay.tills.example\"\n[wallet.tier1]\ndaily = \"5000\"\nbalance = \"30000\"\n";

on_both! {
    async fn codes_of_the_wallet(db: TestDatabase) {
        let (engine, url) = (db.engine(), db.url().to_owned());
        let sent = Arc::new(Post::default());
        let server = Server::sending(db, SETTINGS, Some(Messenger::Other(sent.clone()))).await;
        let shop = server.wallet_shop().await;
        let without = server.shop("zobo.example").await;
        server.account("2200110011", Mode::Live).await;
        let mut seen = Seen::default();
        let seen = &mut seen;
        seen.note(&post(&server, &without, "lookup", &phone_body()).await, "wallet_not_enabled");
        let start = async |members: &str| post(&server, &shop, "pay/start", &start_body(members)).await;
        let top_up = json!({ "phone": PHONE, "amount": 10_001, "payer_name": "Ifeoma Danladi" }).to_string();
        seen.note(&start("").await, "wallet_not_found");
        seen.note(&post(&server, &shop, "topup", &top_up).await, "wallet_not_found");
        post(&server, &shop, "ensure", &phone_body()).await;
        seen.note(&start("").await, "insufficient_balance");
        fund(server.app(), 20_000).await;
        seen.note(&start(r#""webhook_url": "https://kola.example/other""#).await, "webhook_url_not_saved");
        let over = start(r#""amount": 5000.01"#).await;
        seen.note(&over, "daily_limit_exceeded");
        seen.note_fields(&over, &json!({ "amount": ["daily_limit_exceeded"] }));
        let over = post(&server, &shop, "topup", &top_up).await;
        seen.note(&over, "wallet_limit_exceeded");
        seen.note_fields(&over, &json!({ "amount": ["wallet_limit_exceeded"] }));

        let link = async |key: &str| {
            let reply = start(&format!(r#""amount": 100, "idempotency_key": "{key}""#)).await;
            let json = reply.json();
            let url = json["data"]["confirm_url"].as_str().unwrap_or_else(|| panic!("{reply:?}"));
            (url.rsplit('/').next().unwrap().to_owned(), json["data"]["transaction_id"].as_str().unwrap().to_owned())
        };
        let mut links = Vec::new();
        for n in 0..2 {
            links.push(link(&format!("k-{n}")).await);
        }
        let patch = format!("/api/v1/payment/{}/amount", links[0].1);
        seen.note(&server.json("PATCH", &shop.key, &patch, r#"{"new_amount": 5}"#).await, "not_a_bank_transfer");
        let app = &server.running.app;
        send_code(app, &links[0].0, None).await.unwrap();
        let code = sent.last(MessageKind::Code).code.unwrap();
        assert!(matches!(set_pin(app, &links[0].0, &code, PIN, PIN, None).await.unwrap(), PinSet::Done));
        for (link, _) in &links {
            for _ in 0..5 {
                confirm(app, link, WRONG, None).await.unwrap();
            }
        }
        seen.note(&start(r#""idempotency_key": "k-4""#).await, "wallet_locked");
        act(app, "ada", PHONE, Act::Unlock, "").await.unwrap().unwrap();
        act(app, "ada", PHONE, Act::Suspend, "asked for").await.unwrap().unwrap();
        seen.note(&start(r#""idempotency_key": "k-4""#).await, "wallet_suspended");
        seen.note(&post(&server, &shop, "topup", &top_up).await, "wallet_suspended");
        act(app, "ada", PHONE, Act::Resume, "seen to").await.unwrap().unwrap();
        let unit = app.store.unit(shop.id).await.unwrap().step(wallets::stop_business(shop.id, app.now()));
        assert!(app.store.apply(unit).await.unwrap().is_done());
        seen.note(&start(r#""idempotency_key": "k-4""#).await, "wallet_payments_stopped");

        let text = async |phone: &str| {
            let body = json!({ "phone": phone, "message": "Your order is ready" }).to_string();
            post(&server, &shop, "send-message", &body).await
        };
        sent.answer(SendOutcome::Refused { why: "no".into() });
        seen.note(&text("08035550177").await, "message_not_sent");
        sent.answer(SendOutcome::Unsure { why: "no answer".into() });
        seen.note(&text("08035550177").await, "message_outcome_unknown");
        let used_up = "update message_quotas set used = 30 where scope = 'recipient_minute'";
        codes::run(engine, &url, used_up, used_up).await;
        seen.note(&text("08035550177").await, "recipient_quota_exceeded");
        let used_up = "update message_quotas set used = 10000 where scope = 'business_day'";
        codes::run(engine, &url, used_up, used_up).await;
        seen.note(&text("08035550188").await, "business_quota_exceeded");

        // All that is wrong is told at once, where the customer's texts go and webhooks too.
        let all = start_body(r#""phone": "123", "order_reference": "see https://kola.example",
            "order_summary": "A\u202e7", "payer_name": "pay.tills.example", "webhook_url": "https://kola.example/other""#);
        seen.note_fields(&post(&server, &shop, "pay/start", &all).await, &json!({ "phone": ["invalid_phone"],
            "order_reference": ["link"], "order_summary": ["invisible_characters"],
            "payer_name": ["payment_page_link"], "webhook_url": ["webhook_url_not_saved"] }));
        let all = json!({ "phone": 7, "message": "220417 is your wallet code" }).to_string();
        let both = post(&server, &shop, "send-message", &all).await.fails_on(&["phone", "message"]);
        assert_eq!(both["error_codes"], json!({ "phone": ["not_a_text"], "message": ["wallet_code"] }));
        let alone = json!({ "phone": PHONE, "message": "220417 is your wallet code" }).to_string();
        seen.note_fields(&post(&server, &shop, "send-message", &alone).await, &json!({ "message": ["wallet_code"] }));
        seen.is(codes::WALLET, codes::WALLET_FIELDS);
    }

    async fn an_unsaved_webhook_url_is_told_to_be_saved(db: TestDatabase) {
        let server = Server::sending(db, "", Some(Messenger::Other(Arc::new(Post::default())))).await;
        let shop = server.wallet_shop().await;
        let saved = "must be one that is saved for your business or for one of its approved websites";
        let start = async |members: &str| post(&server, &shop, "pay/start", &start_body(members)).await;
        for url in ["https://kola.example/other", "https://evil.example/hook", "ftp://kola.example/hook"] {
            let alone = start(&format!(r#""webhook_url": "{url}""#)).await.fails(400, saved);
            // Whatever else is wrong with it: only a saved one will do.
            assert_eq!(alone["message"], format!("The webhook URL {saved}"), "{url}");
            let reply = start(&format!(r#""webhook_url": "{url}", "amount": 0"#)).await;
            let among = reply.fails_on(&["amount", "webhook_url"]);
            assert!(among["errors"]["webhook_url"][0].as_str().unwrap().contains(saved), "{among}");
        }
        start(&format!(r#""webhook_url": "{WALLET_HOOK}", "amount": 0"#)).await.fails_on(&["amount"]);
    }
}
