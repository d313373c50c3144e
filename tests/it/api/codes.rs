//! Codes of errors: every one that docs/api.md has a row for is driven over HTTP once, by the tests here and in
//! `wallet::error_codes` and `whatsapp::webhook`.
//!
//! `Reply::fails` calls [`check`], so that every error that any test sees has a code that stands there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use tillbell::ops::payments::reject::reject_payment;

use serde_json::{Value, json};
use tillbell::domain::merchant::Mode;
use tillbell::ops::payments::idempotency::{Claimed, claim};
use tokio::io::AsyncWriteExt;

use super::server::{CREATE, Reply, Server, read_reply};
use crate::harness::databases::{Engine, connect, server_url};

/// What each test drives, as it asserts itself.
const BODIES: &[&str] = &[
    "ambiguous_request",
    "api_key_invalid",
    "api_key_missing",
    "body_incomplete",
    "body_not_an_object",
    "body_too_large",
    "duplicate_field",
    "invalid_fields",
    "invalid_json",
    "method_not_allowed",
    "not_found",
    "rate_limited",
    "request_timeout",
    "unsupported_media_type",
];
const PAYMENTS: &[&str] = &[
    "amount_ambiguous",
    "business_corrections_exceeded",
    "idempotency_key_reused",
    "no_account_available",
    "payment_expired",
    "payment_not_found",
    "payment_not_pending",
    "request_in_progress",
    "return_url_not_allowed",
    "too_many_changes",
    "too_many_corrections",
    "transaction_id_taken",
    "webhook_url_not_allowed",
    "website_not_approved",
];
const FAULTS: &[&str] = &["internal_error", "service_unavailable"];
pub const WALLET: &[&str] = &[
    "business_quota_exceeded",
    "daily_limit_exceeded",
    "insufficient_balance",
    "message_not_sent",
    "message_outcome_unknown",
    "not_a_bank_transfer",
    "recipient_quota_exceeded",
    "wallet_limit_exceeded",
    "wallet_locked",
    "wallet_not_enabled",
    "wallet_not_found",
    "wallet_payments_stopped",
    "wallet_suspended",
    "webhook_url_not_saved",
];
/// Those of payouts are driven beside their routes.
const PAYOUTS: &[&str] =
    &["payout_account_too_new", "payout_being_paid", "payout_finished", "payout_not_found"];
/// Those of checkout links, events and test mode, too.
const ELSEWHERE: &str = "checkout_not_found event_not_found event_superseded event_too_old no_webhook_url live_key_required test_key_required";
pub const WHATSAPP: &[&str] = &["notice_invalid", "service_busy", "signature_wrong", "verify_token_wrong"];
/// Codes that no test over HTTP can bring about, and why.
const NOT_DRIVEN: &[(&str, &str)] = &[
    (
        "https_required",
        "it depends on the caller's address, and all of a test's addresses are this machine's",
    ),
    (
        "key_may_only_read",
        "a key of such rights is made on a page: the tests of the dashboard's forms drive it",
    ),
];

const FIELDS: &[&str] = &[
    "control_characters",
    "dates_reversed",
    "idempotency_key_reused",
    "invalid_date",
    "invalid_url",
    "no_letter",
    "not_a_number",
    "not_a_text",
    "not_a_whole_number",
    "not_an_object",
    "out_of_range",
    "required",
    "reserved_id",
    "return_url_not_allowed",
    "sent_twice",
    "too_large",
    "too_long",
    "too_many_decimals",
    "too_small",
    "transaction_id_taken",
    "unknown_cursor",
    "unknown_value",
    "webhook_url_not_allowed",
    "website_not_approved",
];
pub const WALLET_FIELDS: &[&str] = &[
    "daily_limit_exceeded",
    "invalid_phone",
    "invisible_characters",
    "link",
    "payment_page_link",
    "wallet_code",
    "wallet_limit_exceeded",
    "webhook_url_not_saved",
];

/// Codes of a 400 that name their field.
const OF_URLS: [&str; 4] =
    ["website_not_approved", "webhook_url_not_allowed", "webhook_url_not_saved", "return_url_not_allowed"];

/// Rows of the table under a heading of docs/api.md: its first two cells.
fn rows(heading: &str) -> BTreeMap<String, String> {
    let text = include_str!("../../../docs/api.md");
    let section = text.split(&format!("\n### {heading}\n")).nth(1).unwrap();
    let section = section.split("\n#").next().unwrap();
    let cell = |text: &str| text.trim().trim_matches('`').to_owned();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('|').map(cell))
        .map(|mut cells| (cells.next().unwrap(), cells.next().unwrap()))
        .collect()
}

static CODES: LazyLock<BTreeMap<String, u16>> = LazyLock::new(|| {
    rows("Codes").into_iter().map(|(code, status)| (code, status.parse().unwrap())).collect()
});
static FIELD_CODES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| rows("Codes of fields"));

/// Asserts that an error has a code that is documented with its status, and a documented one for every
/// problem of a field.
#[track_caller]
pub fn check(status: u16, body: &Value) {
    let code = body["code"].as_str().unwrap_or_else(|| panic!("no code: {body}"));
    assert_eq!(CODES.get(code), Some(&status), "{body}");
    // A webhook URL that may not be used is a 400, and still about one field.
    let is_about_fields = status == 422 || OF_URLS.contains(&code);
    let has = |name: &str| body.get(name).is_some();
    assert_eq!((has("errors"), has("error_codes")), (is_about_fields, is_about_fields), "{body}");
    if !is_about_fields {
        return;
    }
    let (messages, codes) = (body["errors"].as_object().unwrap(), body["error_codes"].as_object().unwrap());
    assert_eq!(messages.keys().collect::<Vec<_>>(), codes.keys().collect::<Vec<_>>(), "{body}");
    let mut all = Vec::new();
    for (field, codes) in codes {
        assert_eq!(messages[field].as_array().unwrap().len(), codes.as_array().unwrap().len(), "{body}");
        all.extend(codes.as_array().unwrap().iter().map(|code| code.as_str().unwrap()));
    }
    assert!(all.iter().all(|code| FIELD_CODES.contains_key(*code)), "{body}");
    if status == 400 {
        assert_eq!(all, [code], "{body}");
        return;
    }
    let alone = match all[..] {
        ["not_an_object"] => "body_not_an_object",
        [only] if CODES.get(only) == Some(&422) => only,
        _ => "invalid_fields",
    };
    assert_eq!(code, alone, "{body}");
}

/// The codes that a test has seen.
#[derive(Default)]
pub struct Seen {
    codes: BTreeSet<String>,
    fields: BTreeSet<String>,
}

impl Seen {
    /// Asserts that an answer is the error with this code.
    #[track_caller]
    pub fn note(&mut self, reply: &Reply, code: &str) {
        let body = reply.fails(CODES[code], "");
        assert_eq!(body["code"], code, "{reply:?}");
        self.codes.insert(code.to_owned());
    }

    /// Asserts that these and no others are the problems of fields.
    #[track_caller]
    pub fn note_fields(&mut self, reply: &Reply, codes: &Value) {
        let body = reply.fails(422, "");
        assert_eq!(&body["error_codes"], codes, "{reply:?}");
        let all = codes.as_object().unwrap().values().flat_map(|codes| codes.as_array().unwrap());
        self.fields.extend(all.map(|code| code.as_str().unwrap().to_owned()));
    }

    #[track_caller]
    pub fn is(&self, codes: &[&str], fields: &[&str]) {
        assert_eq!(self.codes, codes.iter().map(|code| (*code).to_owned()).collect());
        assert_eq!(self.fields, fields.iter().map(|code| (*code).to_owned()).collect());
    }
}

#[test]
fn every_code_is_driven_by_a_test() {
    let mut driven: Vec<&str> = [BODIES, PAYMENTS, FAULTS, WALLET, PAYOUTS, WHATSAPP].concat();
    driven.extend(ELSEWHERE.split(' '));
    driven.extend(NOT_DRIVEN.iter().map(|(code, _)| *code));
    driven.sort_unstable();
    assert_eq!(driven, CODES.keys().map(String::as_str).collect::<Vec<_>>());
    let mut driven = [FIELDS, WALLET_FIELDS].concat();
    driven.sort_unstable();
    assert_eq!(driven, FIELD_CODES.keys().map(String::as_str).collect::<Vec<_>>());
}

/// Runs statements beside the service.
pub async fn run(engine: Engine, url: &str, sqlite: &str, postgres: &str) {
    match engine {
        Engine::Sqlite => {
            let file = rusqlite::Connection::open(url.strip_prefix("sqlite:").unwrap()).unwrap();
            file.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
            file.execute_batch(sqlite).unwrap();
        }
        Engine::Postgres => connect(url).await.batch_execute(postgres).await.unwrap(),
    }
}

const JSON: &str = "Content-Type: application/json";
const HELD_SQLITE: &str = "create trigger held before update on payments begin select raise(ignore); end";
const HELD_POSTGRES: &str = "create function held() returns trigger language plpgsql as $$ begin \
     return null; end $$; create trigger held before update on payments for each row execute function held()";

on_both! {
    async fn codes_of_bodies_keys_and_paths(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let mut seen = Seen::default();
        let key = format!("X-API-Key: {}", shop.key);
        let head = format!("POST {CREATE} HTTP/1.1\r\nHost: x\r\n{key}\r\n{JSON}\r\n");
        // Its body never comes; the answer is looked at last.
        let mut slow = server.connect().await;
        slow.write_all(format!("{head}Content-Length: 100\r\n\r\n{{").as_bytes()).await.unwrap();
        let mut broken = server.connect().await;
        broken.write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\nno size\r\n").as_bytes()).await.unwrap();
        seen.note(&read_reply(&mut broken).await, "body_incomplete");
        let twice = ["Content-Length: 0", "Content-Length: 0"];
        seen.note(&server.send("POST", CREATE, &twice, None).await, "ambiguous_request");
        seen.note(&server.send("GET", "/healthz", &["Host: y"], None).await, "ambiguous_request");
        for (body, code) in [
            ("", "invalid_json"),
            ("{\"amount\": }", "invalid_json"),
            (format!("{{\"x\": {}}}", "[".repeat(40)).as_str(), "invalid_json"),
            (r#"{"amount": 1, "amount": 2}"#, "duplicate_field"),
            ("[]", "body_not_an_object"),
            ("{}", "invalid_fields"),
            (" ".repeat(65_537).as_str(), "body_too_large"),
        ] {
            seen.note(&server.json("POST", &shop.key, CREATE, body).await, code);
        }
        let plain = [key.as_str(), "Content-Type: text/plain"];
        seen.note(&server.send("POST", CREATE, &plain, Some(b"{}")).await, "unsupported_media_type");
        seen.note(&server.send("GET", "/api/v1/payments", &[], None).await, "api_key_missing");
        seen.note(&server.get("tb_live_wrong", "/api/v1/payments").await, "api_key_invalid");
        let other = server.key(shop.id, Mode::Live).await;
        let two = server.json("POST", &other, CREATE, &shop.body(&format!(r#""api_key": "{}""#, shop.key))).await;
        seen.note(&two, "api_key_invalid");
        seen.note(&server.get(&shop.key, "/api/v1/nothing").await, "not_found");
        seen.note(&server.send("GET", "/nothing", &[], None).await, "not_found");
        seen.note(&server.get(&shop.key, CREATE).await, "method_not_allowed");
        server.change(shop.id, |change| change.rate_limit = Some(Some(1))).await;
        seen.note(&server.get(&shop.key, "/api/v1/payments").await, "rate_limited");
        seen.note(&server.get(&shop.key, "/api/v1/nothing").await, "rate_limited");
        server.change(shop.id, |change| change.rate_limit = Some(Some(1_000_000))).await;
        seen.note(&read_reply(&mut slow).await, "request_timeout");
        seen.is(BODIES, &[]);
    }

    async fn codes_of_payments(db: TestDatabase) {
        let (engine, url) = (db.engine(), db.url().to_owned());
        let server = Server::start(db).await;
        let (shop, other) = (server.shop("kola.example").await, server.shop("zobo.example").await);
        let mut seen = Seen::default();
        let seen = &mut seen;
        seen.note(&server.create(&shop, "").await, "no_account_available");
        server.account("2200110011", Mode::Live).await;
        let made = async |id: &str, amount: i64| {
            let reply = server.create(&shop, &format!(r#""transaction_id": "{id}", "amount": {amount}"#)).await;
            assert_eq!(reply.status, 201, "{reply:?}");
        };
        let correct = async |id: &str, amount: i64| {
            let body = format!(r#"{{"new_amount": {amount}}}"#);
            server.json("PATCH", &shop.key, &format!("/api/v1/payment/{id}/amount"), &body).await
        };
        for (n, (url, code)) in [
            ("ftp://kola.example/in", "webhook_url_not_allowed"),
            ("https://elsewhere.example/in", "website_not_approved"),
        ]
        .into_iter()
        .enumerate()
        {
            let reply = server.create(&shop, &format!(r#""amount": {}, "webhook_url": "{url}""#, 10 + n)).await;
            seen.note(&reply, code);
        }
        let reply = server.create(&shop, r#""return_url": "http://kola.example/done""#).await;
        seen.note(&reply, "return_url_not_allowed");
        seen.note(&server.get(&shop.key, "/api/v1/payment/p1").await, "payment_not_found");
        seen.note(&correct("p1", 5).await, "payment_not_found");
        made("p1", 1_000).await;
        seen.note(&server.create(&shop, r#""transaction_id": "p1""#).await, "transaction_id_taken");
        let theirs = server.create(&other, r#""amount": 70000"#).await;
        assert_eq!(theirs.status, 201, "{theirs:?}");
        seen.note(&correct("p1", 70_000).await, "amount_ambiguous");

        let key = ["Idempotency-Key: k-1"];
        let keyed = server.json_with("POST", &shop.key, CREATE, &shop.body(r#""amount": 3000"#), &key).await;
        assert_eq!(keyed.status, 201, "{keyed:?}");
        let another = server.json_with("POST", &shop.key, CREATE, &shop.body(r#""amount": 3001"#), &key).await;
        seen.note(&another, "idempotency_key_reused");
        let stored = server.app().store.idempotency_key(shop.id, "k-1").await.unwrap().unwrap();
        let same = <[u8; 32]>::try_from(stored.fingerprint).unwrap();
        let Claimed::New(held) = claim(server.app(), shop.id, "k-2", &same).await.unwrap() else {
            panic!("the key is taken");
        };
        let key = ["Idempotency-Key: k-2"];
        let under_way = server.json_with("POST", &shop.key, CREATE, &shop.body(r#""amount": 3000"#), &key).await;
        seen.note(&under_way, "request_in_progress");
        held.release().await;

        made("p2", 9_000).await;
        reject_payment(server.app(), shop.id, "p2", "ada", "asked for").await.unwrap().unwrap();
        seen.note(&correct("p2", 5).await, "payment_not_pending");
        made("p3", 12_000).await;
        let past = "update payments set expires_at = created_at where transaction_id = 'p3'";
        run(engine, &url, past, past).await;
        seen.note(&correct("p3", 5).await, "payment_expired");
        for at in 0..10 {
            let id = format!("q{at}");
            made(&id, 15_000 + at * 1_000).await;
            for n in 1..=10 {
                assert_eq!(correct(&id, 15_000 + at * 1_000 + n).await.status, 200);
            }
            if at == 0 {
                seen.note(&correct(&id, 15_000).await, "too_many_corrections");
            }
        }
        seen.note(&correct("p1", 1_001).await, "business_corrections_exceeded");
        run(engine, &url, HELD_SQLITE, HELD_POSTGRES).await;
        let id = theirs.json()["data"]["transaction_id"].as_str().unwrap().to_owned();
        let path = format!("/api/v1/payment/{id}/amount");
        let lost = server.json("PATCH", &other.key, &path, r#"{"new_amount": 70001}"#).await;
        seen.note(&lost, "too_many_changes");
        assert_eq!(lost.header("retry-after"), Some("1"));
        seen.is(PAYMENTS, &[]);
    }

    async fn codes_of_faults(db: TestDatabase) {
        let (engine, url) = (db.engine(), db.url().to_owned());
        let (server, shop) = Server::with_shop(db).await;
        let mut seen = Seen::default();
        let rename = "alter table payments rename to payments_away";
        run(engine, &url, rename, rename).await;
        let fault = server.get(&shop.key, "/api/v1/payment/p1").await;
        seen.note(&fault, "internal_error");
        assert_eq!(fault.json().as_object().unwrap().len(), 3, "no internals: {fault:?}");
        let back = "alter table payments_away rename to payments";
        run(engine, &url, back, back).await;
        take_away(engine, &url).await;
        server.app().directory.forget();
        let away = server.create(&shop, "").await;
        seen.note(&away, "service_unavailable");
        assert_eq!(away.header("retry-after"), Some("2"));
        assert!(away.header("x-ratelimit-limit").is_some(), "{away:?}");
        seen.is(FAULTS, &[]);
    }

    async fn codes_of_fields_all_at_once(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let mut seen = Seen::default();
        let long = "x".repeat(256);
        assert_eq!(server.create(&shop, r#""transaction_id": "t1", "amount": 900"#).await.status, 201);
        for (members, codes) in [
            (
                json!({ "amount": "1.001", "payer_name": 5, "fname": "a\u{0}b", "bank": long, "transaction_id": "..",
                    "webhook_url": "nonsense", "business_website_id": "one", "website_url": "https://nobody.example",
                    "nobody_knows_it": 7 }),
                json!({ "amount": ["too_many_decimals"], "payer_name": ["not_a_text"], "fname": ["control_characters"],
                    "bank": ["too_long"], "transaction_id": ["reserved_id"], "webhook_url": ["invalid_url"],
                    "business_website_id": ["not_a_whole_number"], "website_url": ["website_not_approved"] }),
            ),
            (
                json!({ "amount": "much", "payer_name": "...", "webhook_url": null, "website_url": "https://" }),
                json!({ "amount": ["not_a_number"], "payer_name": ["no_letter"], "webhook_url": ["required"],
                    "website_url": ["invalid_url"] }),
            ),
            // Alone, the webhook URL is a 400; the id is told of beside it.
            (
                json!({ "amount": 0, "webhook_url": "ftp://kola.example/in", "transaction_id": "t1" }),
                json!({ "amount": ["too_small"], "webhook_url": ["webhook_url_not_allowed"],
                    "transaction_id": ["transaction_id_taken"] }),
            ),
            (
                json!({ "webhook_url": "http://kola.example/in", "transaction_id": "t1",
                    "return_url": "http://kola.example/done" }),
                json!({ "webhook_url": ["webhook_url_not_allowed"], "transaction_id": ["transaction_id_taken"],
                    "return_url": ["return_url_not_allowed"] }),
            ),
            (
                json!({ "amount": 1_000_000_000, "business_website_id": 987_654, "fname": [], "lname": {}, "bvn": 1 }),
                json!({ "amount": ["too_large"], "business_website_id": ["website_not_approved"],
                    "fname": ["not_a_text"], "lname": ["not_a_text"], "bvn": ["not_a_text"] }),
            ),
        ] {
            let text = members.to_string();
            let reply = server.create(&shop, &text[1..text.len() - 1]).await;
            seen.note_fields(&reply, &codes);
            if members["webhook_url"] == "ftp://kola.example/in" {
                let told = "The webhook URL must use https.";
                assert_eq!(reply.json()["errors"]["webhook_url"], json!([told]));
            }
        }
        let list = async |query: &str| server.get(&shop.key, &format!("/api/v1/payments?{query}")).await;
        let wrong = list("status=paid&from_date=today&website_id=x&per_page=0&page=0&cursor=abc").await;
        seen.note_fields(&wrong, &json!({ "status": ["unknown_value"], "from_date": ["invalid_date"],
            "website_id": ["not_a_whole_number"], "per_page": ["out_of_range"], "page": ["out_of_range"],
            "cursor": ["unknown_cursor"] }));
        let reversed = list("from_date=2026-05-02&to_date=2026-05-01").await;
        seen.note_fields(&reversed, &json!({ "from_date": ["dates_reversed"] }));
        for query in ["from_date=9999-12-31&to_date=9999-12-31", "from_date=9999-12-30&to_date=9999-12-31"] {
            assert_eq!(list(query).await.json()["meta"]["total"], 0, "{query}");
        }
        list("page=999999999999999999999").await.fails(422, "page is out of range.");
        let number = server.json("POST", &shop.key, CREATE, "7").await;
        seen.note_fields(&number, &json!({ "body": ["not_an_object"] }));
        // The message of every 422 is its field's, a whole sentence.
        assert_eq!(number.json()["message"], "The body must be a JSON object.");
        let keyed = async |keys: &[&str], amount: i64| {
            server.json_with("POST", &shop.key, CREATE, &shop.body(&format!(r#""amount": {amount}"#)), keys).await
        };
        let two = keyed(&["Idempotency-Key: a", "Idempotency-Key: b"], 2_000).await;
        seen.note_fields(&two, &json!({ "idempotency_key": ["sent_twice"] }));
        assert_eq!(keyed(&["Idempotency-Key: a"], 2_000).await.status, 201);
        let reused = keyed(&["Idempotency-Key: a"], 2_001).await;
        seen.note_fields(&reused, &json!({ "idempotency_key": ["idempotency_key_reused"] }));
        seen.is(&[], FIELDS);
    }

    async fn what_is_not_http_is_answered_without_a_body(db: TestDatabase) {
        let server = Server::start(db).await;
        let long = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "a".repeat(17_000));
        let many = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: y\r\n".repeat(100));
        for (head, status) in [("hello\r\n\r\n", 400), ("GET / HTTP/7.0\r\n\r\n", 400), (long.as_str(), 431), (many.as_str(), 431)] {
            let mut stream = server.connect().await;
            stream.write_all(head.as_bytes()).await.unwrap();
            let reply = read_reply(&mut stream).await;
            assert_eq!((reply.status, reply.body.as_str(), reply.header("x-request-id")), (status, "", None), "{head:.40}");
        }
    }
}

/// From now on the service cannot write, as when a disk is gone, or reach its server.
pub async fn take_away(engine: Engine, url: &str) {
    match engine {
        Engine::Sqlite => {
            let path = url.strip_prefix("sqlite:").unwrap();
            std::fs::rename(path, format!("{path}.away")).unwrap();
        }
        Engine::Postgres => {
            let name = url.rsplit('/').next().unwrap();
            let admin = connect(&server_url()).await;
            let closed = format!("alter database {name} with allow_connections false");
            admin.batch_execute(&closed).await.unwrap();
            let cut =
                format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'");
            admin.batch_execute(&cut).await.unwrap();
        }
    }
}

/// The database is back.
pub async fn give_back(engine: Engine, url: &str) {
    match engine {
        Engine::Sqlite => {
            let path = url.strip_prefix("sqlite:").unwrap();
            std::fs::rename(format!("{path}.away"), path).unwrap();
        }
        Engine::Postgres => {
            let name = url.rsplit('/').next().unwrap();
            let admin = connect(&server_url()).await;
            let open = format!("alter database {name} with allow_connections true");
            admin.batch_execute(&open).await.unwrap();
        }
    }
}
