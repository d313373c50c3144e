//! Keys: where they may stand, and what a caller without a good one is told.

use tillbell::ops::merchants::keys::revoke_key;

use super::server::{CREATE, Server};

const JSON: &str = "Content-Type: application/json";
const MISSING: &str = "API key is required";
const INVALID: &str = "Invalid or inactive API key";

on_both! {
    async fn a_key_stands_in_the_header_or_in_the_body(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let key = &shop.key;
        let with_body = shop.body(&format!(r#""api_key": "{key}""#));
        let reply = server.send("POST", CREATE, &[JSON], Some(with_body.as_bytes())).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        let reply = server.json("POST", key, CREATE, &shop.body(&format!(r#""api_key": "{key}", "amount": 77"#))).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        let second = server.key(shop.id, tillbell::domain::merchant::Mode::Live).await;
        let differing = server.json("POST", &second, CREATE, &with_body).await.fails(401, INVALID);
        assert!(differing["message"].as_str().unwrap().ends_with("the X-API-Key header and the field api_key differ"));
        assert_eq!(differing["code"], "api_key_invalid");
        let (one, other) = (format!("X-API-Key: {key}"), format!("X-API-Key: {second}"));
        let two = server.send("POST", CREATE, &[JSON, &one, &other], Some(b"{}")).await;
        assert_eq!(two.fails(401, INVALID)["message"], INVALID);
        server.send("POST", &format!("{CREATE}?api_key={key}"), &[JSON], Some(shop.body("").as_bytes())).await.fails(401, MISSING);
        server.send("GET", &format!("/api/v1/payments?api_key={key}"), &[], None).await.fails(401, MISSING);
        let body = format!(r#"{{"api_key": "{key}"}}"#);
        server.send("GET", "/api/v1/payments", &[JSON], Some(body.as_bytes())).await.fails(401, MISSING);
        server.send("GET", "/api/v1/payments", &[&format!("Authorization: Bearer {key}")], None).await.fails(401, MISSING);
    }

    async fn a_missing_or_dead_key_is_401_everywhere(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        for (method, path) in [("POST", CREATE), ("PATCH", "/api/v1/payment/x/amount"), ("GET", "/api/v1/payment/x"), ("GET", "/api/v1/payments")] {
            server.send(method, path, &[], None).await.fails(401, MISSING);
            server.send(method, path, &["X-API-Key:  "], None).await.fails(401, MISSING);
            server.send(method, path, &["X-API-Key: tb_live_wrong"], None).await.fails(401, INVALID);
            let mut other = shop.key.clone();
            other.replace_range(12..14, "zz");
            server.send(method, path, &[&format!("X-API-Key: {other}")], None).await.fails(401, INVALID);
        }
        // Without any key, a body that cannot hold one says nothing about itself.
        server.send("POST", CREATE, &["Content-Type: text/plain"], Some(b"amount=5")).await.fails(401, MISSING);
        server.send("POST", CREATE, &[JSON], Some(b"[]")).await.fails(401, MISSING);
        // One that may have held a key does.
        server.send("POST", CREATE, &[JSON], Some(b"{\"api_key\": ")).await.fails(400, "line 1");
        // A bad key comes before a bad body.
        server.send("POST", CREATE, &[JSON, "X-API-Key: tb_live_wrong"], Some(b"{")).await.fails(401, INVALID);

        let app = server.app();
        let keys = app.store.api_keys(shop.id).await.unwrap();
        revoke_key(app, "test", keys.iter().find(|key| shop.key.starts_with(&key.hint)).unwrap().id).await.unwrap().unwrap();
        app.directory.forget();
        server.get(&shop.key, "/api/v1/payments").await.fails(401, INVALID);
        let fresh = server.key(shop.id, tillbell::domain::merchant::Mode::Live).await;
        assert_eq!(server.get(&fresh, "/api/v1/payments").await.status, 200);
        server.change(shop.id, |change| change.active = Some(false)).await;
        server.get(&fresh, "/api/v1/payments").await.fails(401, INVALID);
    }
}
