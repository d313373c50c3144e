//! What pay/start and send-message refuse over HTTP because of the messenger, the wallet or the business, and
//! what the merchant is told.

use std::sync::Arc;
use tillbell::outbound::message::SendOutcome;

use tillbell::domain::merchant::Mode;
use tillbell::domain::message::MessageKind;
use tillbell::ops::merchants::businesses::ChargeChange;
use tillbell::ops::merchants::websites::{NewWebsite, add_website};
use tillbell::ops::wallet_payments::confirm::confirm;
use tillbell::ops::wallet_payments::pin_reset::{PinSet, send_code, set_pin};
use tillbell::outbound::messenger::Messenger;
use tillbell::store::tables::wallets;

use super::routes::{WALLET, phone_body, post, start_body};
use super::world::{PHONE, PIN, Post, WRONG, fund};
use crate::api::server::{Reply, Server, Shop};
use crate::harness::databases::TestDatabase;

async fn with_post(db: TestDatabase, settings: &str) -> (Server, Shop, Arc<Post>) {
    let sent = Arc::new(Post::default());
    let server = Server::sending(db, settings, Some(Messenger::Other(sent.clone()))).await;
    let shop = server.wallet_shop().await;
    post(&server, &shop, "ensure", &phone_body()).await;
    fund(server.app(), 20_000).await;
    (server, shop, sent)
}

async fn start(server: &Server, shop: &Shop, key: &str) -> Reply {
    post(server, shop, "pay/start", &start_body(&format!(r#""amount": 100, "idempotency_key": "{key}""#)))
        .await
}

fn link(reply: &Reply) -> String {
    let json = reply.json();
    let url = json["data"]["confirm_url"].as_str().unwrap_or_else(|| panic!("{reply:?}"));
    url.rsplit('/').next().unwrap().to_owned()
}

on_both! {
    async fn a_reference_with_dots_is_taken_and_makes_no_link_in_the_message(db: TestDatabase) {
        let (server, shop, sent) = with_post(db, "").await;
        let started = post(&server, &shop, "pay/start", &start_body(r#""order_reference": "INV.2026.NG""#)).await;
        assert_eq!((started.status, &started.json()["data"]["order_reference"]), (201, &"INV.2026.NG".into()));
        assert!(sent.last(MessageKind::Link).text.contains("for order INV. 2026. NG."), "{:?}", sent.seen());
    }

    async fn a_message_that_is_not_sent_is_a_bad_gateway_and_may_be_asked_for_again(db: TestDatabase) {
        let (server, shop, sent) = with_post(db, "").await;
        let refused = || SendOutcome::Refused { why: "(131026) +2348035550142 cannot be reached".into() };
        sent.answer(refused());
        let failed = start(&server, &shop, "k-1").await;
        failed.fails(502, "The message with the link could not be sent: (131026) +**** cannot be reached");
        let listed = server.get(&shop.key, "/api/v1/payments?status=pending").await.json();
        assert_eq!(listed["meta"]["total"], 1, "the payment was saved before the message");
        sent.answer(SendOutcome::NotOnWhatsApp);
        start(&server, &shop, "k-1").await.fails(502, "not on WhatsApp");
        let good = start(&server, &shop, "k-1").await;
        assert_eq!(good.status, 201, "{good:?}");
        assert_eq!(start(&server, &shop, "k-1").await.body, good.body);
        assert_eq!(sent.count(MessageKind::Link), 3, "tried three times, sent once");
        assert!(sent.last(MessageKind::Link).text.contains(&link(&good)));
        let listed = server.get(&shop.key, "/api/v1/payments?status=pending").await.json();
        assert_eq!(listed["meta"]["total"], 1);
        let text = serde_json::json!({"phone": PHONE, "message": "hello"}).to_string();
        sent.answer(refused());
        post(&server, &shop, "send-message", &text).await.fails(502, "The message could not be sent: (131026) +**** cannot");
        // A key under which nothing was done is free again.
        let path = format!("{WALLET}/send-message");
        sent.answer(refused());
        server.json_with("POST", &shop.key, &path, &text, &["Idempotency-Key: m-1"]).await.fails(502, "");
        let again = server.json_with("POST", &shop.key, &path, &text, &["Idempotency-Key: m-1"]).await;
        assert_eq!((again.status, again.header("idempotency-replayed")), (200, None), "{again:?}");
    }

    async fn a_locked_wallet_a_stopped_business_and_a_used_up_day(db: TestDatabase) {
        let (server, shop, sent) = with_post(db, "[wallet.tier1]\ndaily = \"5000\"\n").await;
        let app = &server.running.app;
        let over = post(&server, &shop, "pay/start", &start_body(r#""amount": 5000.01, "idempotency_key": "k-d""#)).await;
        over.fails_on(&["amount"]);
        let mut links = Vec::new();
        for n in 0..4 {
            links.push(link(&start(&server, &shop, &format!("k-{n}")).await));
        }
        send_code(app, &links[0], None).await.unwrap();
        let code = sent.last(MessageKind::Code).code.unwrap();
        assert!(matches!(set_pin(app, &links[0], &code, PIN, PIN, None).await.unwrap(), PinSet::Done));
        for wallet_link in &links[..2] {
            for _ in 0..5 {
                confirm(app, wallet_link, WRONG, None).await.unwrap();
            }
        }
        start(&server, &shop, "k-4").await.fails(400, "locked");
        assert!(post(&server, &shop, "lookup", &phone_body()).await.body.contains(r#""status":"locked""#));
        let act = |act| tillbell::ops::wallets::desk::act(app, "ada", PHONE, act, "");
        act(tillbell::ops::wallets::desk::Act::Unlock).await.unwrap().unwrap();
        for wallet_link in &links[2..] {
            for _ in 0..5 {
                confirm(app, wallet_link, WRONG, None).await.unwrap();
            }
        }
        let unit = app.store.unit(shop.id).await.unwrap().step(wallets::stop_business(shop.id, app.now()));
        assert!(app.store.apply(unit).await.unwrap().is_done());
        start(&server, &shop, "k-5").await.fails(403, "stopped");
        assert_eq!(post(&server, &shop, "lookup", &phone_body()).await.status, 200, "pay/start alone is off");
        let listed = server.get(&shop.key, "/api/v1/payments?status=rejected").await.json();
        assert_eq!(listed["meta"]["total"], 4, "each failed with its intent");
    }

    async fn the_webhook_url_is_the_saved_one_or_an_approved_websites(db: TestDatabase) {
        let (server, shop, _) = with_post(db, "").await;
        let new = |host: &str, approve| NewWebsite {
            business_id: shop.id,
            url: format!("https://{host}"),
            webhook_url: Some(format!("https://{host}/own?a=1")),
            charges: ChargeChange::default(),
            approve,
        };
        add_website(server.app(), "test", &new("approved.example", true)).await.unwrap().unwrap();
        add_website(server.app(), "test", &new("waiting.example", false)).await.unwrap().unwrap();
        server.app().directory.forget();
        let start_to = |url: &str, key: &str| {
            let body = start_body(&format!(r#""amount": 100, "webhook_url": "{url}", "idempotency_key": "{key}""#));
            let (server, shop) = (&server, &shop);
            async move { post(server, shop, "pay/start", &body).await }
        };
        let good = start_to("https://APPROVED.example/own?a=1", "k-1").await;
        assert_eq!(good.status, 201, "{good:?}");
        let txn = good.json()["data"]["transaction_id"].as_str().unwrap().to_owned();
        let read = server.get(&shop.key, &format!("/api/v1/payment/{txn}")).await.json();
        assert_eq!(read["data"]["website"]["url"], "https://approved.example");
        assert_eq!(read["data"]["webhook_url"], "https://APPROVED.example/own?a=1");
        for other in ["https://approved.example/own?a=2", "https://approved.example/own"] {
            let refused = start_to(other, "k-2").await.fails(400, "one that is saved for your business");
            assert!(!refused["message"].as_str().unwrap().contains("domain"), "the domain is right: {refused}");
        }
        let waiting = start_to("https://waiting.example/own?a=1", "k-2").await;
        waiting.fails(400, "one that is saved for your business");
        let test_key = server.key(shop.id, Mode::Test).await;
        let refused = server.json("POST", &test_key, &format!("{WALLET}/pay/start"), &start_body("")).await.fails(422, "");
        assert!(refused["errors"]["phone"][0].as_str().unwrap().contains("test number"), "{refused}");
    }
}
