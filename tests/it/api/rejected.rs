//! Why a payment was rejected, as a merchant reads it: one word, and none of the operator's.

use std::sync::Arc;
use tillbell::ops::payments::reject::reject_payment;

use serde_json::{Value, json};
use tillbell::domain::merchant::Mode;
use tillbell::domain::message::MessageKind;
use tillbell::ops::payments::sweep::sweep;
use tillbell::ops::wallet_payments::confirm::confirm;
use tillbell::ops::wallet_payments::end::expire_intents;
use tillbell::ops::wallet_payments::page::{Cancelled, cancel};
use tillbell::ops::wallet_payments::pin_reset::{PinSet, send_code, set_pin};
use tillbell::outbound::messenger::Messenger;

use super::codes::run;
use super::server::{Server, Shop};
use crate::wallet::routes::{WALLET, phone_body, start_body};
use crate::wallet::world::{PIN, Post, WRONG, fund};

/// The reason as a read tells it; the list tells the same.
async fn told(server: &Server, shop: &Shop, id: &str) -> Option<Value> {
    let read = server.get(&shop.key, &format!("/api/v1/payment/{id}")).await.json();
    let listed = server.get(&shop.key, "/api/v1/payments?per_page=100").await.json();
    let row = listed["data"].as_array().unwrap().iter().find(|row| row["transaction_id"] == id).unwrap();
    assert_eq!(row, &read["data"], "listed as read");
    let reason = read["data"].get("reject_reason").cloned();
    assert_eq!(reason.is_some(), read["data"]["status"] == "rejected", "{read}");
    reason
}

on_both! {
    async fn a_rejected_payment_tells_why_in_a_word(db: TestDatabase) {
        let (engine, url) = (db.engine(), db.url().to_owned());
        let sent = Arc::new(Post::default());
        let server = Server::sending(db, "", Some(Messenger::Other(sent.clone()))).await;
        let (shop, app) = (server.wallet_shop().await, &server.running.app);
        server.account("2200110011", Mode::Live).await;
        for (id, amount) in [("open", 700), ("late", 800), ("person", 900)] {
            let made = server.create(&shop, &format!(r#""transaction_id": "{id}", "amount": {amount}"#)).await;
            assert_eq!(made.status, 201, "{made:?}");
        }
        assert_eq!(told(&server, &shop, "open").await, None);
        reject_payment(app, shop.id, "person", "ada", "we do not trust them").await.unwrap().unwrap();
        assert_eq!(told(&server, &shop, "person").await, Some(json!("rejected")));
        let over = "update payments set approvable_until_at = created_at where transaction_id = 'late'";
        run(engine, &url, over, over).await;
        assert_eq!(sweep(app).await.unwrap().rejected, 1);
        assert_eq!(told(&server, &shop, "late").await, Some(json!("expired")));

        server.json("POST", &shop.key, &format!("{WALLET}/ensure"), &phone_body()).await;
        fund(app, 20_000).await;
        let mut links = Vec::new();
        for n in 0..4 {
            let body = start_body(&format!(r#""amount": 100, "idempotency_key": "k-{n}""#));
            let reply = server.json("POST", &shop.key, &format!("{WALLET}/pay/start"), &body).await.json();
            let link = reply["data"]["confirm_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            links.push((link, reply["data"]["transaction_id"].as_str().unwrap().to_owned()));
        }
        let [cancelled, wrong, person, expired] = &links[..] else { panic!("{links:?}") };
        assert_eq!(told(&server, &shop, &expired.1).await, None);
        assert!(matches!(cancel(app, &cancelled.0).await.unwrap(), Cancelled::Done(_)));
        assert_eq!(told(&server, &shop, &cancelled.1).await, Some(json!("cancelled")));
        send_code(app, &wrong.0, None).await.unwrap();
        let code = sent.last(MessageKind::Code).code.unwrap();
        assert!(matches!(set_pin(app, &wrong.0, &code, PIN, PIN, None).await.unwrap(), PinSet::Done));
        for _ in 0..5 {
            confirm(app, &wrong.0, WRONG, None).await.unwrap();
        }
        assert_eq!(told(&server, &shop, &wrong.1).await, Some(json!("wrong_pins")));
        reject_payment(app, shop.id, &person.1, "ada", "asked for").await.unwrap().unwrap();
        assert_eq!(told(&server, &shop, &person.1).await, Some(json!("rejected")));
        let over = "update payment_intents set expires_at = created_at where state = 'pending_pin'";
        run(engine, &url, over, over).await;
        assert_eq!(expire_intents(app).await.unwrap(), 1);
        assert_eq!(told(&server, &shop, &expired.1).await, Some(json!("expired")));
    }
}
