//! `PATCH /payment/{id}/amount`: what it refuses and in which words.

use tillbell::store::engine::sql::{Sql, Text};

use super::server::Server;
use crate::harness::until::until_true;

const NEW: &str = r#"{"new_amount": 120.00}"#;

on_both! {
    async fn corrections_are_checked_like_amounts(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        assert_eq!(server.create(&shop, r#""transaction_id": "c1""#).await.status, 201);
        let path = "/api/v1/payment/c1/amount";
        for body in ["{}", r#"{"new_amount": 0}"#, r#"{"new_amount": 1.001}"#, r#"{"new_amount": "1e2"}"#, r#"{"new_amount": 1000000000}"#] {
            server.json("PATCH", &shop.key, path, body).await.fails_on(&["new_amount"]);
        }
        server.json("PATCH", &shop.key, "/api/v1/payment/c2/amount", NEW).await.fails(404, "not found");
        let with_key = format!(r#"{{"new_amount": 120, "api_key": "{}"}}"#, shop.key);
        let reply = server.send("PATCH", path, &["Content-Type: application/json"], Some(with_key.as_bytes())).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        for n in 0..9 {
            let body = format!(r#"{{"new_amount": {}}}"#, 200 + n);
            assert_eq!(server.json("PATCH", &shop.key, path, &body).await.status, 200);
        }
        server.json("PATCH", &shop.key, path, NEW).await.fails(400, "corrected 10 times");
    }

    async fn an_expired_payment_cannot_be_corrected(db: TestDatabase) {
        static EXPIRE: Sql =
            Sql::new("EXPIRE", Text::Plain("update payments set expires_at = created_at where transaction_id = $1"));
        let server = Server::start(db).await;
        let shop = server.shop("kola.example").await;
        server.account("2200110011", tillbell::domain::merchant::Mode::Live).await;
        assert_eq!(server.create(&shop, r#""transaction_id": "e1""#).await.status, 201);
        assert!(server.app().store.write(&EXPIRE, vec!["e1".into()]).await.unwrap().is_done());
        let reply = server.json("PATCH", &shop.key, "/api/v1/payment/e1/amount", NEW).await;
        reply.fails(400, "This payment has expired and cannot be corrected");
        let read = server.get(&shop.key, "/api/v1/payment/e1").await;
        assert_eq!(read.json()["data"]["status"], "pending");
    }

    async fn a_correction_moves_no_expiry(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let made = server.create(&shop, r#""transaction_id": "x1""#).await.json()["data"]["expires_at"].clone();
        // A clock that has moved on would show.
        let then = server.app().now();
        until_true("the clock moves on", || server.app().now() > then).await;
        let corrected = server.json("PATCH", &shop.key, "/api/v1/payment/x1/amount", NEW).await;
        assert_eq!(corrected.status, 200, "{corrected:?}");
        let data = corrected.json()["data"].clone();
        let read = server.get(&shop.key, "/api/v1/payment/x1").await.json()["data"].clone();
        assert_eq!((&data["amount"], &read["amount"]), (&120.00.into(), &120.00.into()));
        assert!(made.is_string(), "{made}");
        assert_eq!((&data["expires_at"], &read["expires_at"]), (&made, &made));
    }
}
