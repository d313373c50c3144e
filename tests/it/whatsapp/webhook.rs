//! The address Meta calls: who is believed, what is refused, and that refused calls change nothing.

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::world::{DIGITS, Desk, WEBHOOK};
use crate::api::codes::{self, Seen};
use crate::api::server::{Reply, Server, read_reply};
use crate::harness::cloud_api::{APP_SECRET, NUMBER_ID, VERIFY_TOKEN, notice, report, signature, written};

/// Strangers who hold every place for large bodies, and what the next one was answered.
async fn fill_with_strangers(desk: &Desk) -> (Vec<TcpStream>, Reply) {
    let head = format!(
        "POST {WEBHOOK} HTTP/1.1\r\nHost: pay.example\r\nContent-Length: 1000000\r\n{}\r\n\r\n",
        signature(b"", APP_SECRET)
    );
    let mut strangers = Vec::new();
    let large = " ".repeat(100_000);
    // Our own large call may have taken a place in a stranger's stead, who was turned away then: so another comes
    // after each.
    loop {
        assert!(strangers.len() < 200, "200 strangers do not fill the places");
        let mut stream = desk.server.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&[b' '; 100_000]).await.unwrap();
        strangers.push(stream);
        let reply = desk.told(&large).await;
        if reply.status == 503 {
            return (strangers, reply);
        }
        reply.fails(400, "not a Cloud API notification");
    }
}

on_both! {
    async fn the_address_is_ours_to_who_knows_the_verify_token(db: TestDatabase) {
        let desk = Desk::open(db).await;
        let ask = |query: String| {
            let server = &desk.server;
            async move { server.send("GET", &format!("{WEBHOOK}{query}"), &[], None).await }
        };
        let good = ask(format!("?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={VERIFY_TOKEN}")).await;
        assert_eq!((good.status, good.body.as_str()), (200, "1158201444"));
        assert_eq!(good.header("content-type"), Some("text/plain; charset=utf-8"));
        for query in [
            String::new(),
            "?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=guess".into(),
            format!("?hub.mode=subscribe&hub.challenge=%3Cb%3E&hub.verify_token={VERIFY_TOKEN}"),
            format!("?hub.challenge=1&hub.verify_token={VERIFY_TOKEN}"),
        ] {
            ask(query).await.fails(403, "verify token");
        }
        desk.server.send("PUT", WEBHOOK, &[], Some(b"")).await.fails(405, "not allowed");
    }

    async fn a_call_without_the_right_signature_is_403_and_changes_nothing(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        assert_eq!(desk.start("k-1").await.status, 201);
        let body = report(&desk.api.last(), "read", None);
        let good = signature(body.as_bytes(), APP_SECRET);
        let mut wrong: Vec<Vec<String>> = vec![
            vec![],
            vec![signature(body.as_bytes(), "another secret")],
            vec![signature(format!("{body} ").as_bytes(), APP_SECRET)],
            vec![good.replace("sha256=", "sha1=")],
            vec![good.replace("sha256=", "")],
            vec![good[..good.len() - 2].to_owned()],
            vec![format!("{good}00")],
            vec!["X-Hub-Signature-256: sha256=".into()],
            vec![good.clone(), good.clone()],
            vec![format!("X-Hub-Signature: {}", &good["X-Hub-Signature-256: ".len()..])],
        ];
        // Each bit of the digest counts.
        let last = if good.ends_with('0') { '1' } else { '0' };
        wrong.push(vec![format!("{}{last}", &good[..good.len() - 1])]);
        for headers in &wrong {
            let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
            desk.told_with(&body, &headers).await.fails(403, "signature");
        }
        // Signed well, another body.
        desk.told_with(&body.replace("read", "sent"), &[&good]).await.fails(403, "signature");
        desk.told_with(&written(DIGITS, desk.seconds(), "text"), &[&good]).await.fails(403, "signature");
        assert_eq!(desk.last().await.0, "sent");
        let phone = tillbell::domain::phone::Phone::parse(DIGITS).unwrap();
        let wallet = tillbell::ops::wallets::find::find(desk.server.app(), &phone).await.unwrap().unwrap();
        assert_eq!(wallet.wrote_at, None);
        assert_eq!(desk.told_with(&body, &[&good]).await.status, 200);
        assert_eq!(desk.last().await.0, "read");
    }

    async fn what_is_signed_well_and_none_of_ours_is_passed_over(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        assert_eq!(desk.start("k-1").await.status, 201);
        let ours = report(&desk.api.last(), "read", None);
        for body in [
            ours.replace(NUMBER_ID, "999999999999999"),
            ours.replace(&desk.api.last().id, "wamid.UNKNOWN").replace(&desk.api.last().reference, "x"),
            ours.replace("\"field\":\"messages\"", "\"field\":\"message_template_status_update\""),
            ours.replace("\"status\":\"read\"", "\"status\":{\"a\":1}"),
            notice(NUMBER_ID, json!({ "errors": [{ "code": 130_429, "title": "Rate limit hit" }] })),
            notice(NUMBER_ID, json!({ "statuses": null, "messages": [{}] })),
            json!({ "object": "whatsapp_business_account", "entry": [] }).to_string(),
            json!({ "object": "page" }).to_string(),
        ] {
            assert_eq!(desk.told(&body).await.status, 200, "{body}");
            assert_eq!(desk.last().await.0, "sent", "{body}");
        }
        for body in ["", "[", "7", "{\"entry\": 7}"] {
            desk.told(body).await.fails(400, "not a Cloud API notification");
        }
        // Many in one, good ones beside others, and members nobody knows yet.
        let mut many: serde_json::Value = serde_json::from_str(&ours).unwrap();
        let change = many["entry"][0]["changes"][0].clone();
        let mut broken = change.clone();
        broken["value"]["statuses"] = json!("none");
        many["entry"][0]["changes"] = json!([broken, { "field": "new" }, change]);
        many["entry"][0]["new"] = json!({ "deep": [1, 2] });
        assert_eq!(desk.told(&many.to_string()).await.status, 200);
        assert_eq!(desk.last().await.0, "read");
    }

    async fn bodies_are_bounded(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        assert_eq!(desk.start("k-1").await.status, 201);
        let padded = |size: usize| {
            let mut body = report(&desk.api.last(), "read", None);
            body.push_str(&" ".repeat(size - body.len()));
            body
        };
        let largest = padded(3 * 1024 * 1024);
        assert_eq!(desk.told(&largest).await.status, 200);
        assert_eq!(desk.last().await.0, "read");
        // The answer comes before the rest of the body is sent.
        let mut stream = desk.server.connect().await;
        let head = format!(
            "POST {WEBHOOK} HTTP/1.1\r\nHost: pay.example\r\nContent-Length: 1000000000\r\n{}\r\n\r\n",
            signature(b"", APP_SECRET)
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let piece = vec![b' '; 1024 * 1024];
        for _ in 0..4 {
            if stream.write_all(&piece).await.is_err() {
                break;
            }
        }
        assert_eq!(read_reply(&mut stream).await.status, 413);
    }

    async fn large_bodies_of_strangers_do_not_keep_small_reports_out(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        assert_eq!(desk.start("k-1").await.status, 201);
        let (strangers, refused) = fill_with_strangers(&desk).await;
        assert_eq!(refused.header("retry-after"), Some("5"));
        assert_eq!(desk.told(&report(&desk.api.last(), "read", None)).await.status, 200);
        assert_eq!(desk.last().await.0, "read");
        drop(strangers);
    }

    async fn codes_of_the_address(db: TestDatabase) {
        let desk = Desk::open(db).await;
        let mut seen = Seen::default();
        seen.note(&desk.told_with("{}", &[]).await, "signature_wrong");
        seen.note(&desk.server.send("GET", WEBHOOK, &[], None).await, "verify_token_wrong");
        seen.note(&desk.told("[").await, "notice_invalid");
        seen.note(&fill_with_strangers(&desk).await.1, "service_busy");
        seen.is(codes::WHATSAPP, &[]);
    }

    async fn without_its_secrets_there_is_no_such_address(db: TestDatabase) {
        let server = Server::start(db).await;
        for method in ["GET", "POST"] {
            server.send(method, WEBHOOK, &[], Some(b"")).await.fails(404, "");
        }
    }
}
