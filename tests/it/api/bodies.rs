//! Bodies and addresses that are wrong before anybody asks what they mean.

use super::server::{CREATE, Server, read_reply};
use tokio::io::AsyncWriteExt;

on_one! {
    async fn what_is_no_json_object_is_refused(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let key = format!("X-API-Key: {}", shop.key);
        let body = shop.body("");
        for kind in ["Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded", "X-Nothing: 1"] {
            server.send("POST", CREATE, &[&key, kind], Some(body.as_bytes())).await.fails(415, "application/json");
        }
        let good = server.send("POST", CREATE, &[&key, "Content-Type: application/json; charset=utf-8"], Some(body.as_bytes())).await;
        assert_eq!(good.status, 201, "{good:?}");
        server.json("POST", &shop.key, CREATE, "{\n \"amount\": 5,\n \"x\" 5}").await.fails(400, "line 3, column 6");
        server.json("POST", &shop.key, CREATE, "").await.fails(400, "line 1");
        server.json("POST", &shop.key, CREATE, "{\"amount\": NaN}").await.fails(400, "line 1");
        let deep = format!("{{\"x\": {}1{}}}", "[".repeat(32), "]".repeat(32));
        server.json("POST", &shop.key, CREATE, &deep).await.fails(400, "it is nested deeper than 32 levels (line 1, column 38)");
        for text in ["[]", "\"text\"", "5", "null"] {
            server.json("POST", &shop.key, CREATE, text).await.fails(422, "must be a JSON object");
        }
        server.json("POST", &shop.key, CREATE, r#"{"amount": 1, "amount": 2}"#).await.fails(400, "amount");
    }

    async fn large_bodies_are_413_and_the_client_sees_it(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let padded = |size: usize| {
            let body = shop.body("");
            format!("{}{}", body, " ".repeat(size - body.len()))
        };
        assert_eq!(server.json("POST", &shop.key, CREATE, &padded(65_536)).await.status, 201);
        for size in [65_537, 300_000, 1_048_576] {
            server.json("POST", &shop.key, CREATE, &padded(size)).await.fails(413, "64 KiB");
        }
        // Far more than is read: answered as soon as enough has come, whether more follows or not.
        let mut stream = server.connect().await;
        let head = format!("POST {CREATE} HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\nContent-Type: application/json\r\nContent-Length: 900000000\r\n\r\n", shop.key);
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b' '; 1_048_576 + 1]).await.unwrap();
        let reply = read_reply(&mut stream).await;
        reply.fails(413, "64 KiB");
        assert_eq!(reply.header("connection"), Some("close"));
    }

    async fn unknown_paths_and_verbs_answer_in_the_form_of_errors(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let key = format!("X-API-Key: {}", shop.key);
        for path in ["/", "/api", "/api/v1", "/api/v1/nothing", "/api/v1/payments/", "/api/v2/payments", "/metrics", "//"] {
            for method in ["GET", "POST", "BREW"] {
                server.send(method, path, &[&key], None).await.fails(404, "Not found");
            }
        }
        for (method, path, allow) in [
            ("GET", CREATE, "POST"),
            ("DELETE", "/api/v1/payments", "GET,HEAD"),
            ("POST", "/api/v1/payment/x", "GET,HEAD"),
            ("POST", "/api/v1/payment/x/amount", "PATCH"),
            ("OPTIONS", CREATE, "POST"),
        ] {
            let reply = server.send(method, path, &[], None).await;
            reply.fails(405, "not allowed");
            assert_eq!(reply.header("allow"), Some(allow), "{method} {path}");
        }
        let reply = server.send("GET", "/healthz", &["X-Request-Id: my-own.7"], None).await;
        assert_eq!((reply.status, reply.header("x-request-id")), (200, Some("my-own.7")));
        let reply = server.send("GET", "/healthz", &["X-Request-Id: a b"], None).await;
        assert_eq!(reply.header("x-request-id").map(str::len), Some(32));
        assert_eq!(server.send("GET", "/readyz", &[], None).await.status, 200);
    }
}
