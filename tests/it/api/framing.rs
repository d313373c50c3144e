//! Requests whose length two headers tell, or in a coding nobody knows: a proxy in front and tillbell
//! could see different requests in them, so they are refused and their connection ends.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::server::{CREATE, Server, read_reply};

const BODY: &str =
    r#"{"amount": "5000", "payer_name": "Bisi Lawal", "webhook_url": "https://kola.example/hook"}"#;

/// A request to create, with these lines in its head, and the body in one chunk.
fn chunked(key: &str, lines: &str) -> String {
    let size = BODY.len();
    format!(
        "POST {CREATE} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n{lines}\r\n\
         {size:x}\r\n{BODY}\r\n0\r\n\r\n"
    )
}

fn look_up(key: &str) -> String {
    format!("GET /api/v1/payment/p1 HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n\r\n")
}

/// Whether nothing more comes.
async fn is_closed(stream: &mut tokio::net::TcpStream) -> bool {
    let mut rest = Vec::new();
    let ended = stream.read_to_end(&mut rest).await;
    matches!(ended, Ok(0) | Err(_))
}

on_both! {
    async fn two_lengths_or_an_unknown_coding_are_refused(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        for lines in [
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
            "content-length: 0\r\nTRANSFER-ENCODING:chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: xchunked, chunked\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: ,chunked\r\n",
            // Twice the same is no better: a proxy may have looked at one of them.
            "Content-Length: 4\r\nContent-Length: 4\r\n",
        ] {
            let mut stream = server.connect().await;
            // What stands behind must not be seen as a request.
            let bytes = chunked(&shop.key, lines) + &look_up(&shop.key);
            stream.write_all(bytes.as_bytes()).await.unwrap();
            let reply = read_reply(&mut stream).await;
            reply.fails(400, "");
            assert_eq!(reply.header("connection"), Some("close"), "{lines:?}: {reply:?}");
            assert!(is_closed(&mut stream).await, "{lines:?}");
        }
        let listed = server.get(&shop.key, "/api/v1/payments").await;
        assert!(!listed.body.contains("Bisi Lawal"), "nothing was created: {listed:?}");
    }

    async fn a_coding_alone_that_is_not_known_is_refused(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        for lines in ["Transfer-Encoding: gzip\r\n", "Transfer-Encoding: xchunked\r\n"] {
            let mut stream = server.connect().await;
            let bytes = chunked(&shop.key, lines) + &look_up(&shop.key);
            stream.write_all(bytes.as_bytes()).await.unwrap();
            assert_eq!(read_reply(&mut stream).await.status, 400, "{lines:?}");
            assert!(is_closed(&mut stream).await, "{lines:?}");
        }
        let listed = server.get(&shop.key, "/api/v1/payments").await;
        assert!(!listed.body.contains("Bisi Lawal"), "nothing was created: {listed:?}");
    }

    async fn a_request_is_for_one_host(db: TestDatabase) {
        let server = Server::start(db).await;
        for (version, lines, status) in [
            ("1.1", "Host: x\r\n", 200),
            ("1.1", "", 400),
            ("1.1", "Host: x\r\nHost: x\r\n", 400),
            ("1.1", "Host: x\r\nA: b\r\nhost: y\r\n", 400),
            ("1.0", "", 200),
            ("1.0", "Host: x\r\nHost: y\r\n", 400),
        ] {
            let mut stream = server.connect().await;
            let head = format!("GET /healthz HTTP/{version}\r\n{lines}\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let reply = read_reply(&mut stream).await;
            assert_eq!(reply.status, status, "{head:?}");
            if status == 400 {
                reply.fails(400, "Host");
                assert!(is_closed(&mut stream).await, "{head:?}");
            }
        }
    }

    async fn a_refused_request_does_not_speak_for_those_before_it(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let mut stream = server.connect().await;
        let good = format!(
            "POST {CREATE} HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{BODY}",
            shop.key,
            BODY.len()
        );
        let bad = chunked(&shop.key, "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n");
        let all = [good, look_up(&shop.key), bad, look_up(&shop.key)].concat();
        stream.write_all(all.as_bytes()).await.unwrap();
        let mut replies = String::new();
        stream.read_to_string(&mut replies).await.unwrap();
        let statuses: Vec<&str> = replies.split("HTTP/1.1 ").skip(1).map(|reply| &reply[..3]).collect();
        assert_eq!(statuses, ["201", "404", "400"], "{replies}");
    }

    async fn a_body_in_chunks_is_taken_and_ends_the_connection(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        for lines in ["Transfer-Encoding: chunked\r\n", "transfer-encoding:\tCHUNKED \r\n"] {
            let mut stream = server.connect().await;
            let bytes = chunked(&shop.key, lines);
            let (head, body) = bytes.split_at(bytes.len() - 9);
            // A head in pieces is read as well.
            for piece in [&head[..7], &head[7..90], &head[90..], body] {
                stream.write_all(piece.as_bytes()).await.unwrap();
                tokio::task::yield_now().await;
            }
            let reply = read_reply(&mut stream).await;
            assert_eq!((reply.status, reply.header("connection")), (201, Some("close")), "{reply:?}");
            assert!(is_closed(&mut stream).await);
        }
    }
}
