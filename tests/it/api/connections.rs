//! What happens on the level of connections: draining, keeping alive, metrics, TLS.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::server::{CREATE, Server, read_reply};

on_both! {
    async fn requests_under_way_are_answered_at_the_end(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let body = shop.body("");
        let head = format!(
            "POST {CREATE} HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
            shop.key,
            body.len()
        );
        // Kept alive, used once, idle now.
        let mut idle = server.connect().await;
        idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        assert_eq!(read_reply(&mut idle).await.status, 200);
        let mut busy = server.connect().await;
        busy.write_all(head.as_bytes()).await.unwrap();
        // The server says so when it begins to read the body.
        let mut begun = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
        busy.read_exact(&mut begun).await.unwrap();
        assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
        busy.write_all(&body.as_bytes()[..10]).await.unwrap();
        let address = server.running.address;
        let stopping = tokio::spawn(server.running.stop());
        let mut byte = [0];
        let ended = tokio::time::timeout(Duration::from_secs(5), idle.read(&mut byte)).await;
        assert!(matches!(ended, Ok(Ok(0) | Err(_))), "an idle connection is closed at once: {ended:?}");
        // The listener and the connections end side by side.
        let closed = async { while tokio::net::TcpStream::connect(address).await.is_ok() {} };
        tokio::time::timeout(Duration::from_secs(5), closed).await.expect("nobody new is let in");
        assert!(!stopping.is_finished());
        busy.write_all(&body.as_bytes()[10..]).await.unwrap();
        let reply = read_reply(&mut busy).await;
        assert_eq!((reply.status, reply.header("connection")), (201, Some("close")), "{reply:?}");
        tokio::time::timeout(Duration::from_secs(5), stopping).await.expect("it ends").unwrap();
    }
}

on_one! {
    async fn one_connection_carries_many_requests(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let mut stream = server.connect().await;
        for at in 0..3 {
            let request = format!("GET /api/v1/payment/p{at} HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\n\r\n", shop.key);
            stream.write_all(request.as_bytes()).await.unwrap();
            read_reply(&mut stream).await.fails(404, "not found");
        }
    }

    async fn numbers_are_for_the_operator_alone(db: TestDatabase) {
        let server = Server::with(db, "[server]\noperator_listen = \"127.0.0.1:0\"").await;
        let shop = server.shop("kola.example").await;
        server.get(&shop.key, "/api/v1/payment/secret-order-77").await.fails(404, "");
        let mut stream = tokio::net::TcpStream::connect(server.running.operator_address.unwrap()).await.unwrap();
        let mut all = String::new();
        for path in ["/readyz", "/healthz", "/metrics"] {
            stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
            let reply = read_reply(&mut stream).await;
            assert_eq!(reply.status, 200, "{reply:?}");
            all = reply.body;
        }
        // Other tests of this process count too.
        let counted = r#"tillbell_http_requests_total{route="/api/v1/payment/{transaction_id}",status="404"} "#;
        let count = all.split(counted).nth(1).and_then(|rest| rest.lines().next()?.parse::<u64>().ok());
        assert!(count.is_some_and(|n| n >= 1), "{all}");
        assert!(all.contains("tillbell_http_request_seconds_bucket"), "{all}");
        assert!(!all.contains("secret-order"), "no path is a label");
    }

    async fn every_kind_of_alarm_is_a_number_from_the_start(db: TestDatabase) {
        let server = Server::with(db, "[server]\noperator_listen = \"127.0.0.1:0\"").await;
        let mut stream = tokio::net::TcpStream::connect(server.running.operator_address.unwrap()).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let numbers = read_reply(&mut stream).await.body;
        for kind in ["alert_undecided", "money_taken_back", "mail_not_proven", "mailbox_silent", "wrong_pins", "messenger", "payout_unclear", "registration"] {
            assert!(numbers.contains(&format!("tillbell_alarms_total{{kind=\"{kind}\"}} ")), "{kind}: {numbers}");
        }
    }

    async fn tls_comes_from_files(db: TestDatabase) {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["pay.example".to_owned()]).unwrap();
        let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        std::fs::write(&cert, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let server = Server::with(db, &format!("[server]\ntls_cert = {cert:?}\ntls_key = {key:?}")).await;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(made.cert.der().clone()).unwrap();
        let config = rustls::ClientConfig::builder_with_provider(rustls::crypto::aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
        let name = rustls::pki_types::ServerName::try_from("pay.example").unwrap();
        let mut stream = connector.connect(name, server.connect().await).await.unwrap();
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: pay.example\r\n\r\n").await.unwrap();
        assert_eq!(read_reply(&mut stream).await.status, 200);
        assert!(server.running.url().starts_with("https://127.0.0.1:"));
    }
}
