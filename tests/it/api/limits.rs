//! Rate limits as callers see them.

use super::codes::run;
use super::server::{CREATE, Server};

on_both! {
    async fn the_sixty_first_request_of_a_business_is_429(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let other = server.shop("other.example").await;
        server.change(shop.id, |change| change.rate_limit = Some(None)).await;
        let second_key = server.key(shop.id, tillbell::domain::merchant::Mode::Live).await;
        for n in 0..60 {
            let key = if n % 2 == 0 { &shop.key } else { &second_key };
            // Refusals cost as much as answers.
            let path = ["/api/v1/payments", "/api/v1/payment/none", "/api/v1/nothing", CREATE][n % 4];
            let reply = server.get(key, path).await;
            assert_eq!(reply.status, [200, 404, 404, 405][n % 4], "{reply:?}");
            assert_eq!(reply.header("x-ratelimit-limit"), Some("60"));
            assert_eq!(reply.header("x-ratelimit-remaining"), Some((59 - n).to_string().as_str()));
            assert_eq!(reply.header("x-ratelimit-reset"), None);
        }
        let reply = server.get(&shop.key, "/api/v1/payments").await;
        reply.fails(429, "Too many requests");
        assert_eq!(reply.header("x-ratelimit-remaining"), Some("0"));
        let wait: i64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        let reset: i64 = reply.header("x-ratelimit-reset").unwrap().parse().unwrap();
        let now = server.app().now().0 / 1_000_000;
        assert!((now..=now + 61).contains(&reset), "{reset} at {now}");
        assert_eq!(server.get(&other.key, "/api/v1/payments").await.status, 200);
        server.change(shop.id, |change| change.rate_limit = Some(Some(61))).await;
        assert_eq!(server.get(&shop.key, "/api/v1/payments").await.status, 200);
        server.get(&shop.key, "/api/v1/payments").await.fails(429, "");
    }

    async fn limits_are_told_where_the_key_cannot_be_looked_up(db: TestDatabase) {
        let (engine, url) = (db.engine(), db.url().to_owned());
        let server = Server::with(db, "[limits]\nrequests_per_minute = 2").await;
        let shop = server.shop("kola.example").await;
        let away = "alter table api_keys rename to api_keys_away";
        run(engine, &url, away, away).await;
        server.app().directory.forget();
        // The key may be a good one: it is told what the trouble is, and not that it asked too often.
        for (path, status, remaining) in [
            ("/api/v1/payments", 500, "1"),
            ("/api/v1/nothing", 404, "0"),
            ("/api/v1/payments", 500, "0"),
            ("/api/v1/nothing", 404, "0"),
            (CREATE, 405, "0"),
        ] {
            let reply = server.get(&shop.key, path).await;
            reply.fails(status, "");
            assert_eq!(reply.header("x-ratelimit-limit"), Some("2"), "{reply:?}");
            assert_eq!(reply.header("x-ratelimit-remaining"), Some(remaining), "{reply:?}");
            assert_eq!((reply.header("retry-after"), reply.header("x-ratelimit-reset")), (None, None), "{reply:?}");
        }
        let refused = server.send("GET", "/api/v1/payments", &[], None).await;
        refused.fails(429, "Too many requests");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
        let back = "alter table api_keys_away rename to api_keys";
        run(engine, &url, back, back).await;
        server.app().directory.forget();
        let found = server.get(&shop.key, "/api/v1/payments").await;
        assert_eq!((found.status, found.header("x-ratelimit-remaining")), (200, Some("999999")), "{found:?}");
    }
}

on_one! {
    async fn callers_without_a_key_count_by_address_and_cost_no_business_anything(db: TestDatabase) {
        let server = Server::with(db, "[server]\ntrusted_proxies = [\"127.0.0.0/8\"]\n[limits]\nrequests_per_minute = 3").await;
        let shop = server.shop("kola.example").await;
        let from = |address: &str| format!("X-Forwarded-For: {address}");
        for n in 0..3 {
            let reply = server.send("GET", "/api/v1/payments", &[&from("9.9.9.9, 198.51.100.7")], None).await;
            reply.fails(401, "");
            assert_eq!(reply.header("x-ratelimit-remaining"), Some((2 - n).to_string().as_str()));
        }
        server.send("GET", "/api/v1/payments", &[&from("8.8.8.8, 198.51.100.7")], None).await.fails(429, "");
        server.send("POST", CREATE, &[&from("198.51.100.7"), "X-API-Key: tb_live_wrong"], None).await.fails(429, "");
        server.send("GET", "/api/v1/payments", &[&from("198.51.100.8")], None).await.fails(401, "");
        let key = format!("X-API-Key: {}", shop.key);
        let reply = server.send("GET", "/api/v1/payments", &[&from("198.51.100.7"), &key], None).await;
        assert_eq!(reply.status, 200, "a good key is not counted by address: {reply:?}");
    }

    async fn an_unknown_sender_cannot_choose_its_address(db: TestDatabase) {
        let server = Server::with(db, "[limits]\nrequests_per_minute = 3").await;
        for n in 0..3 {
            server.send("GET", "/api/v1/payments", &[&format!("X-Forwarded-For: 10.0.0.{n}")], None).await.fails(401, "");
        }
        server.send("GET", "/api/v1/payments", &["X-Forwarded-For: 10.0.0.9"], None).await.fails(429, "");
    }
}
