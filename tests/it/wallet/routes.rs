//! The five routes as merchants meet them: every answer, every refusal, the second limit, and that nothing
//! private is written anywhere in clear.

use std::sync::Arc;

use serde_json::Value;
use tillbell::domain::merchant::Mode;
use tillbell::ops::wallet_payments::confirm::{Confirmed, confirm};
use tillbell::ops::wallet_payments::pin_reset::{CodeSent, PinSet, send_code, set_pin};
use tillbell::ops::wallets::desk::{Act, act};
use tillbell::outbound::messenger::Messenger;

use super::world::{PHONE, PIN, Post, WRONG, fund};
use crate::api::server::{Reply, Server, Shop, WALLET_HOOK, names};
use crate::harness::databases::{Engine, TestDatabase, connect};
use crate::harness::logs::Logs;
use crate::wallet::world::oldest_first;

pub const WALLET: &str = "/api/v1/wallet";

/// A server with a shop that has the wallet.
async fn with_wallet(db: TestDatabase, settings: &str) -> (Server, Shop) {
    let server = Server::sending(db, settings, Some(Messenger::Other(Arc::new(Post::default())))).await;
    let shop = server.wallet_shop().await;
    (server, shop)
}

pub async fn post(server: &Server, shop: &Shop, route: &str, body: &str) -> Reply {
    server.json("POST", &shop.key, &format!("{WALLET}/{route}"), body).await
}

/// A good body of pay/start; members replace or add.
pub fn start_body(members: &str) -> String {
    let mut body: serde_json::Map<String, Value> = serde_json::from_str(&format!(
        r#"{{"phone": "{PHONE}", "amount": 5000, "order_reference": "A-7", "order_summary": "one\ntwo",
            "payer_name": "Ifeoma Danladi", "webhook_url": "{WALLET_HOOK}", "idempotency_key": "k-1"}}"#
    ))
    .unwrap();
    body.extend(serde_json::from_str::<serde_json::Map<String, Value>>(&format!("{{{members}}}")).unwrap());
    Value::Object(body).to_string()
}

pub fn phone_body() -> String {
    format!(r#"{{"phone": "{PHONE}"}}"#)
}

on_both! {
    async fn looking_up_and_making_a_wallet(db: TestDatabase) {
        let (server, shop) = with_wallet(db, "").await;
        let none = post(&server, &shop, "lookup", &phone_body()).await;
        assert_eq!(
            none.body,
            r#"{"success":true,"data":{"phone":"+2348035550142","wallet_id":null,"tier":null,"has_pin":false,"balance":0.00,"status":null}}"#
        );
        let made = post(&server, &shop, "ensure", r#"{"phone": "+234 803-555-0142"}"#).await;
        assert_eq!(
            made.body,
            r#"{"success":true,"data":{"phone":"+2348035550142","wallet_id":1,"tier":1,"has_pin":false,"balance":0.00,"status":"active","created":true}}"#
        );
        let again = post(&server, &shop, "ensure", &phone_body()).await;
        assert_eq!((again.status, &again.json()["data"]["created"]), (200, &false.into()));
        fund(server.app(), 20_000).await;
        let found = post(&server, &shop, "lookup", r#"{"phone": "2348035550142"}"#).await;
        assert!(found.body.contains(r#""wallet_id":1,"tier":1,"has_pin":false,"balance":20000.00,"status":"active""#), "{found:?}");
        for bad in ["0123456789", "+447400123456", "0803555014", "08035550142x", " "] {
            for route in ["lookup", "ensure"] {
                post(&server, &shop, route, &format!(r#"{{"phone": "{bad}"}}"#)).await.fails_on(&["phone"]);
            }
        }
        for route in ["lookup", "ensure", "send-message", "pay/start", "topup"] {
            let wrong = server.get(&shop.key, &format!("{WALLET}/{route}")).await;
            wrong.fails(405, "not allowed");
            assert_eq!(wrong.header("allow"), Some("POST"));
            server.json("POST", "tb_live_none", &format!("{WALLET}/{route}"), "{}").await.fails(401, "Invalid");
        }
        server.get(&shop.key, &format!("{WALLET}/none")).await.fails(404, "");
    }

    async fn starting_a_payment_and_every_way_it_is_refused(db: TestDatabase) {
        let (server, shop) = with_wallet(db, "[server]\npublic_url = \"https://pay.tills.example/\"\n").await;
        let start = |members: &str| {
            let body = start_body(members);
            let (server, shop) = (&server, &shop);
            async move { post(server, shop, "pay/start", &body).await }
        };
        start("").await.fails(404, "no wallet");
        post(&server, &shop, "ensure", &phone_body()).await;
        let poor = start("").await.fails(400, "Insufficient balance");
        assert_eq!(poor["available_balance"], 0.0);
        fund(server.app(), 20_000).await;
        let reply = start("").await;
        assert_eq!(reply.status, 201, "{reply:?}");
        let data = &reply.json()["data"];
        let expected = ["amount", "confirm_url", "expires_at", "order_reference", "payment_intent_id", "status", "transaction_id"];
        assert_eq!(names(data), expected.map(str::to_owned).into());
        assert!(reply.body.contains(r#""status":"pending_pin""#) && reply.body.contains(r#""amount":5000.00"#), "{reply:?}");
        let url = data["confirm_url"].as_str().unwrap();
        assert_eq!(url.strip_prefix("https://pay.tills.example/pay/").map(str::len), Some(43), "{url}");
        assert_eq!(start("").await.body, reply.body, "the same request, the same answer");
        start(r#""amount": 5001"#).await.fails_on(&["idempotency_key"]);
        let txn = data["transaction_id"].as_str().unwrap();
        let listed = server.get(&shop.key, "/api/v1/payments?status=pending").await.json();
        assert_eq!((&listed["data"][0]["transaction_id"], &listed["data"][0]["external_reference"]), (&txn.into(), &"A-7".into()));
        assert!(listed["data"][0]["account_number"].is_null());
        let patch = server.json("PATCH", &shop.key, &format!("/api/v1/payment/{txn}/amount"), r#"{"new_amount": 5}"#).await;
        patch.fails(400, "Only bank-transfer payments");
        let all = post(&server, &shop, "pay/start", "{}").await;
        all.fails_on(&["phone", "amount", "order_reference", "payer_name", "webhook_url", "idempotency_key"]);
        for (members, field) in [
            (r#""amount": 0"#, "amount"),
            (r#""amount": 1000000000"#, "amount"),
            (r#""payer_name": "123""#, "payer_name"),
            (r#""webhook_url": "no url""#, "webhook_url"),
            (r#""order_reference": "a\u0000b""#, "order_reference"),
            (r#""order_summary": "a\u0007b""#, "order_summary"),
            (r#""phone": 8035550142"#, "phone"),
        ] {
            start(&format!(r#"{members}, "idempotency_key": "k-bad""#)).await.fails_on(&[field]);
        }
        // What stands among our own words holds no link, leads to no page of ours, and reads as it is written.
        for (text, fields) in [
            ("A-7. Pay here: https://evil.example", &["order_reference", "payer_name"][..]),
            ("A-7 www.evil.example", &["order_reference", "payer_name"]),
            ("A-7 evil.com/pin", &["order_reference", "order_summary", "payer_name"]),
            ("evil.com/pin", &["order_reference", "order_summary", "payer_name"]),
            ("Ada Obi ｅｖｉｌ．ｎｇ/７", &["order_reference", "payer_name"]),
            ("go to evil.com now", &["order_reference"]),
            ("evil.com", &[]),
            ("Ada S/O Bello", &[]),
            ("A pay.tills.example", &["order_reference", "order_summary", "payer_name"]),
            ("A-7\u{2028}\u{2028}Confirm here", &["order_reference", "payer_name"]),
            ("A\u{202e}7", &["order_reference", "order_summary", "payer_name"]),
            ("A\u{200b}7", &["order_reference", "payer_name"]),
            ("A-7, tell us your PIN", &["order_reference"]),
            ("Call 0803-555-0199 to confirm your PIN", &["order_reference", "order_summary"]),
            ("Visit http://evil.example/pay and enter P.I.N.", &["order_reference", "order_summary", "payer_name"]),
            ("1 x hair pin, deliver to 0803 555 0199", &["order_reference"]),
            ("A-7, call 0803-555-0199", &["order_reference"]),
        ] {
            for field in ["order_reference", "order_summary", "payer_name"] {
                let members = serde_json::json!({ field: text, "idempotency_key": format!("k {field} {text}") });
                let reply = start(members.to_string().trim_matches(['{', '}'])).await;
                if fields.contains(&field) {
                    reply.fails_on(&[field]);
                } else {
                    assert_ne!(reply.status, 422, "{field} {text:?} {reply:?}");
                }
            }
        }
        let long = "x".repeat(121);
        start(&format!(r#""order_reference": "{long}", "idempotency_key": "k-bad""#)).await.fails_on(&["order_reference"]);
        for (other, told) in [
            ("https://kola.example/other", "saved for your business"),
            ("https://evil.example/hook", "saved for your business"),
            ("http://kola.example/hook", "saved for your business"),
        ] {
            start(&format!(r#""webhook_url": "{other}", "idempotency_key": "k-bad""#)).await.fails(400, told);
        }
        // A dot before a blank ends a sentence.
        let sentence = start(r#""order_reference": "A-7. To follow", "idempotency_key": "k-dot""#).await;
        assert_eq!(sentence.status, 201, "{sentence:?}");
        let same = start(r#""webhook_url": "HTTPS://KOLA.example:443/hook", "idempotency_key": "k-2""#).await;
        assert_eq!(same.status, 201, "{same:?}");
        let poor = start(r#""amount": 20000.01, "idempotency_key": "k-3""#).await.fails(400, "Insufficient balance");
        assert_eq!(poor["available_balance"], 20000.0);
        act(server.app(), "ada", PHONE, Act::Suspend, "asked for").await.unwrap().unwrap();
        start(r#""idempotency_key": "k-4""#).await.fails(400, "suspended");
    }

    async fn the_feature_its_prefix_and_its_keys(db: TestDatabase) {
        let (server, shop) = with_wallet(db, "[wallet]\nroute_prefix = \"pocket\"\n").await;
        let at = |route: &str| format!("/api/v1/pocket/{route}");
        assert_eq!(server.json("POST", &shop.key, &at("lookup"), &phone_body()).await.status, 200);
        post(&server, &shop, "lookup", &phone_body()).await.fails(404, "");
        let test_key = server.key(shop.id, Mode::Test).await;
        server.json("POST", &test_key, &at("lookup"), &phone_body()).await.fails(422, "");
        server.change(shop.id, |change| change.wallet_enabled = Some(false)).await;
        for route in ["lookup", "ensure", "send-message", "pay/start", "topup"] {
            // Before the body is judged.
            server.json("POST", &shop.key, &at(route), "{}").await.fails(403, "not enabled");
        }
    }

    async fn wallet_routes_count_twice(db: TestDatabase) {
        let (server, shop) = with_wallet(db, "").await;
        server.change(shop.id, |change| {
            change.wallet_rate_limit = Some(None);
            change.rate_limit = Some(None);
        }).await;
        for n in 0..30 {
            let reply = post(&server, &shop, "lookup", &phone_body()).await;
            assert_eq!(reply.status, 200);
            assert_eq!(reply.header("x-ratelimit-limit"), Some("30"));
            assert_eq!(reply.header("x-ratelimit-remaining"), Some((29 - n).to_string().as_str()));
        }
        let refused = post(&server, &shop, "ensure", &phone_body()).await;
        refused.fails(429, "Too many requests");
        assert!(refused.header("retry-after").is_some() && refused.header("x-ratelimit-reset").is_some());
        let other = server.get(&shop.key, "/api/v1/payments").await;
        assert_eq!((other.status, other.header("x-ratelimit-remaining")), (200, Some("29")), "31 of 60 were used, the refused one is none of them");
        // Where the business's own window is used up, the wallet's loses nothing either.
        server.change(shop.id, |change| {
            change.wallet_rate_limit = Some(Some(40));
            change.rate_limit = Some(Some(31));
        }).await;
        for _ in 0..3 {
            post(&server, &shop, "lookup", &phone_body()).await.fails(429, "Too many requests");
        }
        server.change(shop.id, |change| change.rate_limit = Some(Some(1_000))).await;
        let next = post(&server, &shop, "lookup", &phone_body()).await;
        assert_eq!((next.status, next.header("x-ratelimit-remaining")), (200, Some("9")), "31 of 40 were used");
    }

    async fn where_no_messenger_is_set_up_nothing_is_taken_for_sent(db: TestDatabase) {
        let server = Server::start(db).await;
        let shop = server.wallet_shop().await;
        let body = serde_json::json!({"phone": PHONE, "message": "Your order is ready"}).to_string();
        post(&server, &shop, "send-message", &body).await.fails(502, "no messaging service is set up");
        assert_eq!(post(&server, &shop, "ensure", &phone_body()).await.status, 200);
        fund(server.app(), 20_000).await;
        post(&server, &shop, "pay/start", &start_body("")).await.fails(502, "no messaging service is set up");
    }

    async fn messages_and_their_refusals(db: TestDatabase) {
        let (server, shop) = with_wallet(db, "[server]\npublic_url = \"https://pay.tills.example\"\n").await;
        let send = |text: &str| {
            let body = serde_json::json!({"phone": PHONE, "message": text}).to_string();
            let (server, shop) = (&server, &shop);
            async move { post(server, shop, "send-message", &body).await }
        };
        let sent = send("Your order is 220417.\nThank you!").await;
        assert_eq!(sent.status, 200, "{sent:?}");
        assert_eq!(sent.body, r#"{"success":true,"data":{"sent":true,"message_id":1}}"#);
        assert_eq!(send(&"ọ".repeat(4_000)).await.status, 200);
        send(&"ọ".repeat(4_001)).await.fails_on(&["message"]);
        send("  ").await.fails_on(&["message"]);
        send("a\u{7}b").await.fails_on(&["message"]);
        send("220417 is your wallet code").await.fails_on(&["message"]);
        send("see https://PAY.tills.example/pay/1").await.fails_on(&["message"]);
        post(&server, &shop, "send-message", "{}").await.fails_on(&["phone", "message"]);
        let body = serde_json::json!({"phone": PHONE, "message": "once"}).to_string();
        let path = format!("{WALLET}/send-message");
        let key = ["Idempotency-Key: m-1"];
        let first = server.json_with("POST", &shop.key, &path, &body, &key).await;
        let again = server.json_with("POST", &shop.key, &path, &body, &key).await;
        assert_eq!((first.body, again.header("idempotency-replayed")), (again.body.clone(), Some("true")));
        for _ in 0..27 {
            assert_eq!(send("more").await.status, 200);
        }
        let over = send("one too many").await;
        over.fails(429, "Too many messages");
        let wait: i64 = over.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        let reset: i64 = over.header("x-ratelimit-reset").unwrap().parse().unwrap();
        assert!((0..=1).contains(&(reset - wait - server.app().now().0 / 1_000_000).abs()), "{reset}");
    }

    async fn an_idempotency_key_is_taken_on_every_route(db: TestDatabase) {
        let (engine, url) = (db.engine(), db.url().to_owned());
        let (server, shop) = with_wallet(db, "").await;
        server.account("2200110011", Mode::Live).await;
        let topup = format!(r#"{{"phone": "{PHONE}", "amount": 500, "payer_name": "Ifeoma Danladi"}}"#);
        let text = serde_json::json!({"phone": PHONE, "message": "hello"}).to_string();
        for (n, (route, body)) in [
            ("ensure", phone_body()),
            ("lookup", phone_body()),
            ("topup", topup),
            ("send-message", text),
            ("pay/start", start_body("")),
        ]
        .into_iter()
        .enumerate()
        {
            let path = format!("{WALLET}/{route}");
            let key = format!("Idempotency-Key: i-{n}");
            if route == "pay/start" {
                let refused = server.json_with("POST", &shop.key, &path, &body, &[&key]).await;
                refused.fails(400, "Insufficient balance");
                fund(server.app(), 20_000).await;
            }
            let first = server.json_with("POST", &shop.key, &path, &body, &[&key]).await;
            assert!((200..300).contains(&first.status), "{route}: {first:?}");
            assert_eq!(first.header("idempotency-replayed"), None, "{route}: a refusal is not remembered");
            let again = server.json_with("POST", &shop.key, &path, &body, &[&key]).await;
            assert_eq!((again.status, &again.body), (first.status, &first.body), "{route}");
            assert_eq!(again.header("idempotency-replayed"), Some("true"), "{route}");
            if route == "pay/start" {
                // The field of the body says the same by itself.
                let again = post(&server, &shop, route, &body).await;
                assert_eq!((again.status, &again.body), (first.status, &first.body));
                assert_eq!(again.header("idempotency-replayed"), Some("true"));
            }
            let other = body.replacen(PHONE, "08035550177", 1);
            let other = server.json_with("POST", &shop.key, &path, &other, &[&key]).await;
            other.fails_on(&["idempotency_key"]);
        }
        assert_eq!(server.app().store.messages(None, 9).await.unwrap().len(), 2, "one text and one link");
        let rows = dump(engine, &url).await;
        assert!(!holds(&rows, "5550142"), "a remembered answer holds the phone");
    }

    async fn topups_over_the_api(db: TestDatabase) {
        let (server, shop) = with_wallet(db, "").await;
        let body = |amount: &str| format!(r#"{{"phone": "{PHONE}", "amount": {amount}, "payer_name": "Ifeoma Danladi"}}"#);
        post(&server, &shop, "topup", &body("5000")).await.fails(404, "no wallet");
        post(&server, &shop, "ensure", &phone_body()).await;
        post(&server, &shop, "topup", &body("5000")).await.fails(503, "No receiving account");
        server.account("2200110011", Mode::Live).await;
        let made = post(&server, &shop, "topup", &body("5000")).await;
        assert_eq!(made.status, 201, "{made:?}");
        let data = made.json()["data"].clone();
        assert_eq!((&data["account_number"], &data["wallet_id"], &data["status"]), (&"2200110011".into(), &1.into(), &"pending".into()));
        assert!(made.body.contains(r#""charges":{"percentage":0.00,"fixed":0.00,"total":0.00,"paid_by_customer":false,"amount_to_pay":5000.00"#), "{made:?}");
        let txn = data["transaction_id"].as_str().unwrap();
        server.get(&shop.key, &format!("/api/v1/payment/{txn}")).await.fails(404, "");
        assert_eq!(server.get(&shop.key, "/api/v1/payments").await.json()["meta"]["total"], 0);
        server.json("PATCH", &shop.key, &format!("/api/v1/payment/{txn}/amount"), r#"{"new_amount": 5}"#).await.fails(404, "");
        for name in ["Ada https://evil.example", "www.evil.example", "evil.com/pin Obi"] {
            let body = serde_json::json!({ "phone": PHONE, "amount": 50, "payer_name": name });
            post(&server, &shop, "topup", &body.to_string()).await.fails_on(&["payer_name"]);
        }
        let company = serde_json::json!({ "phone": PHONE, "amount": 50, "payer_name": "Evil.com S/O Ltd" });
        assert_ne!(post(&server, &shop, "topup", &company.to_string()).await.status, 422, "companies have such names");
        post(&server, &shop, "topup", &body("45000.01")).await.fails_on(&["amount"]);
        post(&server, &shop, "topup", "{}").await.fails_on(&["phone", "amount", "payer_name"]);
    }
}

/// Every column of every row as text, blobs byte for byte.
async fn dump(engine: Engine, url: &str) -> Vec<u8> {
    let mut out = Vec::new();
    if engine == Engine::Sqlite {
        let file = rusqlite::Connection::open(url.strip_prefix("sqlite:").unwrap()).unwrap();
        let mut tables = file.prepare("select name from sqlite_master where type = 'table'").unwrap();
        let tables: Vec<String> =
            tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        for table in tables {
            let mut rows = file.prepare(&format!("select * from {table}")).unwrap();
            let columns = rows.column_count();
            let mut rows = rows.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                for n in 0..columns {
                    match row.get_ref(n).unwrap() {
                        rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => {
                            out.extend_from_slice(bytes);
                        }
                        _ => {}
                    }
                    out.push(b'\n');
                }
            }
        }
        return out;
    }
    let client = connect(url).await;
    let tables = "select column_name::text, table_name::text, data_type::text from information_schema.columns \
                  where table_schema = 'public' and data_type in ('text', 'bytea')";
    for row in client.query(tables, &[]).await.unwrap() {
        let (column, table, kind): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        for row in client
            .query(&format!("select {column} from {table} where {column} is not null"), &[])
            .await
            .unwrap()
        {
            if kind == "text" {
                out.extend_from_slice(row.get::<_, String>(0).as_bytes());
            } else {
                out.extend_from_slice(&row.get::<_, Vec<u8>>(0));
            }
            out.push(b'\n');
        }
    }
    out
}

fn holds(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}

on_both! {
    async fn nothing_private_is_kept_or_logged_in_clear(db: TestDatabase) {
        let kept = Logs::keep();
        let (engine, url) = (db.engine(), db.url().to_owned());
        let (server, shop) = with_wallet(db, "[server]\noperator_listen = \"127.0.0.1:0\"\n").await;
        let app = &server.running.app;
        server.account("2200110011", Mode::Live).await;
        post(&server, &shop, "ensure", &phone_body()).await;
        post(&server, &shop, "topup", &format!(r#"{{"phone": "{PHONE}", "amount": 500, "payer_name": "Ifeoma Danladi"}}"#)).await;
        fund(server.app(), 20_000).await;
        let secret = "kanariefågel-7731";
        let told = serde_json::json!({"phone": PHONE, "message": format!("Din kod: {secret}")}).to_string();
        assert_eq!(post(&server, &shop, "send-message", &told).await.status, 200);
        let started = post(&server, &shop, "pay/start", &start_body("")).await.json();
        let link = started["data"]["confirm_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        assert!(matches!(send_code(app, &link, None).await.unwrap(), CodeSent::Sent { .. }));
        let shown = oldest_first(app, None).await;
        let stored = app.store.pin_code(shown.last().unwrap().row.subject_id).await.unwrap().unwrap();
        let code = app.vault.code(stored.id, &stored.nonce, 6).to_string();
        let said = |part: &str| shown.iter().any(|one| one.text.as_deref().unwrap().contains(part));
        assert!(!said(&code) && !said(&link), "no dev mode");
        assert!(matches!(set_pin(app, &link, "1x3", PIN, PIN, None).await.unwrap(), PinSet::NotACode));
        assert!(matches!(set_pin(app, &link, &code, PIN, PIN, None).await.unwrap(), PinSet::Done));
        assert!(matches!(confirm(app, &link, WRONG, None).await.unwrap(), Confirmed::WrongPin { .. }));
        assert!(matches!(confirm(app, &link, PIN, None).await.unwrap(), Confirmed::Paid(_)));
        // Error paths that saw them.
        for body in [format!(r#"{{"phone": "{PHONE}9"}}"#), start_body(r#""amount": 7"#), r#"{"phone": "#.into()] {
            let reply = post(&server, &shop, "pay/start", &body).await;
            assert!(reply.status >= 400 && !reply.body.contains("5550142"), "{reply:?}");
        }
        server.get(&shop.key, &format!("/pay/{link}")).await;
        tillbell::work::run_due(app).await.unwrap();
        let rows = dump(engine, &url).await;
        let logs = kept.text();
        let mut operator = tokio::net::TcpStream::connect(server.running.operator_address.unwrap()).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut operator, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let metrics = crate::api::server::read_reply(&mut operator).await.body;
        assert!(metrics.contains("tillbell_wrong_pins_total"), "{metrics}");
        assert!(holds(&rows, "Ifeoma Danladi") && logs.contains("wallet payment approved"), "the dump and the log hold something");
        for private in ["5550142", link.as_str(), secret] {
            assert!(!holds(&rows, private), "{private} is in the database");
            assert!(!logs.contains(private), "{private} is in the log");
            assert!(!metrics.contains(private), "{private} is in the metrics");
        }
        for digits in [PIN, WRONG, code.as_str()] {
            let word = regex::Regex::new(&format!(r"\b{digits}\b")).unwrap();
            assert!(!word.is_match(&logs), "{digits} is in the log");
            let word = regex::bytes::Regex::new(&format!(r"(?m)^{digits}$")).unwrap();
            assert!(!word.is_match(&rows), "{digits} is in the database");
        }
    }
}
