//! Answers byte for byte: of the API, of webhooks and of commands with `--json`.
//!
//! Merchants' programs are written against these bytes, webhooks are signed over them. What is expected stands in
//! `tests/fixtures/answers.txt`: a line that says what was asked, and the answer below it.

use std::process::{Command, Stdio};

use tillbell::domain::merchant::Mode;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::merchants::keys::add_key;
use tillbell::ops::payments::reject::reject_payment;
use tillbell::ops::wallet_payments::confirm::Confirmed;
use tillbell::outbound::message::SendOutcome;
use tillbell::serve::{Roles, Running, start};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::api::server::{Reply, read_reply};
use crate::harness::app::{ACCOUNT, LATER, at};
use crate::harness::mails::Alert;
use crate::wallet::world::{HOOK, PHONE, PIN, World, fund};

const EXPECTED: &str = include_str!("../fixtures/answers.txt");
/// Names a file for the answers as they are now, to be read beside those that are expected.
const WRITTEN: &str = "TILLBELL_TEST_ANSWERS";
const PAYER: &str = "Ifeoma Danladi";
const WALLET: &str = "/api/v1/wallet";
const CREATE: &str = "/api/v1/payment-request";

/// A link's token is made with a key of this run.
fn without_tokens(text: &str) -> String {
    let mut shown = text.to_owned();
    for page in ["/pay/", "/c/"] {
        let mut parts = shown.split(page);
        let first = parts.next().unwrap_or_default().to_owned();
        shown = parts.fold(first, |all, part| format!("{all}{page}TOKEN{}", &part[43..]));
    }
    shown
}

/// A world whose API is asked, and what it answered.
struct Asked {
    w: World,
    running: Running,
    key: String,
    told: String,
}

impl Asked {
    async fn new(db: crate::harness::databases::TestDatabase) -> Asked {
        let settings = "[server]\nlisten = \"127.0.0.1:0\"\npublic_url = \"https://pay.till.example\"\n";
        let mut w = World::with(db, settings).await;
        w.t.account(ACCOUNT).await;
        let change = BusinessChange {
            rate_limit: Some(Some(1_000_000)),
            wallet_rate_limit: Some(Some(1_000_000)),
            ..BusinessChange::default()
        };
        set_business(&w.t.app, "test", w.shop.id, &change).await.unwrap().unwrap();
        w.shop = w.enabled(&w.shop, HOOK).await;
        let key = add_key(&w.t.app, "test", w.shop.id, Mode::Live, None, None).await.unwrap().unwrap();
        let roles = Roles { api: true, pages: false, mail: false, work: false };
        let running = start(w.t.app.clone(), roles).await.unwrap();
        Asked { w, running, key: key.text.to_string(), told: String::new() }
    }

    fn note(&mut self, what: &str, answer: &str) {
        self.told.push_str(&format!("{what}\n{answer}\n"));
    }

    async fn ask(&mut self, request: &str, body: &str) -> Reply {
        let key = self.key.clone();
        self.ask_with(request, body, &[&format!("X-API-Key: {key}")]).await
    }

    /// `request` is verb and path; an empty body is none.
    async fn ask_with(&mut self, request: &str, body: &str, headers: &[&str]) -> Reply {
        let mut text = format!("{request} HTTP/1.1\r\nHost: pay.example\r\nConnection: close\r\n");
        text.extend(headers.iter().map(|line| format!("{line}\r\n")));
        if !body.is_empty() {
            text.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
        }
        let mut stream = TcpStream::connect(self.running.address).await.unwrap();
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).await.unwrap();
        let reply = read_reply(&mut stream).await;
        let (method, path) = request.split_once(' ').unwrap();
        reply.is_declared(method, path, (!body.is_empty()).then_some(body.as_bytes()));
        let shown = without_tokens(&reply.body);
        self.note(&format!("{request} {}", reply.status), &shown);
        reply
    }

    async fn create(&mut self, id: &str, naira: &str, payer: &str) {
        let body = format!(
            r#"{{"transaction_id": "{id}", "amount": {naira}, "name": "{payer}", "webhook_url": "{HOOK}"}}"#
        );
        assert_eq!(self.ask(&format!("POST {CREATE}"), &body).await.status, 201, "{}", self.told);
    }

    /// The customer's bank tells of a transfer.
    async fn paid(&self, n: u32, naira: i64) {
        let alert = Alert {
            message_id: format!("<{n}@gens.example>"),
            session: format!("10000426031009{n:016}"),
            balance: format!("{}.00", 90_000 + n),
            ..Alert::credit(ACCOUNT, naira, PAYER, at())
        };
        let taken = self.w.t.ingest(&alert.text()).await;
        assert!(taken.transaction_id.is_some(), "{taken:?}");
    }

    fn command(&mut self, line: &str) {
        let output = Command::new(env!("CARGO_BIN_EXE_tillbell"))
            .arg("--json")
            .args(line.split(' '))
            .env_clear()
            .env("TILLBELL_DATABASE__URL", self.w.t.database().url())
            .env("TILLBELL_SECRET__KEY_FILE", self.w.t.key_file())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let shown = without_tokens(text.strip_suffix('\n').expect("a whole line"));
        self.note(&format!("tillbell --json {line}"), &shown);
    }

    async fn payments(&mut self) {
        let all = r#"{"amount": "12500.50", "name": "Bísí \"B\" Ọlá\\", "bank": "Kuda/MFB", "fname": "Bisi",
            "lname": "Ọla", "bvn": "123", "registration_number": "RC 1", "service": "hair",
            "webhook_url": "https://adire.example/hook", "website_url": "https://adire.example",
            "transaction_id": "OR\"D\\é"}"#;
        self.ask(&format!("POST {CREATE}"), all).await;
        self.ask("GET /api/v1/payment/OR%22D%5C%C3%A9", "").await;
        self.ask("PATCH /api/v1/payment/OR%22D%5C%C3%A9/amount", r#"{"new_amount": 990000.05}"#).await;
        self.create("exact", "5000", PAYER).await;
        self.create("less", "7500", PAYER).await;
        self.create("reversed", "3000", PAYER).await;
        self.create("rejected", "900", PAYER).await;
        self.w.t.advance(LATER + Span::seconds(20));
        for (n, naira) in [(1, 5_000), (2, 7_375), (3, 3_000)] {
            self.paid(n, naira).await;
        }
        let (app, id) = (self.w.t.app.clone(), self.w.shop.id);
        reject_payment(&app, id, "rejected", "ada", "cancelled").await.unwrap().unwrap();
        let reverse = Reverse {
            business_id: id,
            transaction_id: "reversed",
            reason: "not theirs",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&app, &reverse).await.unwrap().unwrap();
        for id in ["exact", "less", "reversed", "rejected"] {
            self.ask(&format!("GET /api/v1/payment/{id}"), "").await;
        }
        self.ask("GET /api/v1/payments?per_page=2", "").await;
        self.ask("GET /api/v1/payments?from_date=2030-01-01", "").await;
    }

    async fn wallet(&mut self) {
        let post = |route: &str| format!("POST {WALLET}/{route}");
        let phone = format!(r#"{{"phone": "{PHONE}"}}"#);
        let start = |key: &str, naira: i64| {
            format!(
                r#"{{"phone": "{PHONE}", "amount": {naira}, "order_reference": "Ọ-7", "payer_name": "{PAYER}",
                    "webhook_url": "{HOOK}", "idempotency_key": "{key}"}}"#
            )
        };
        self.ask(&post("lookup"), &phone).await;
        self.ask(&post("ensure"), &phone).await;
        self.ask(&post("pay/start"), &start("poor", 100)).await;
        fund(&self.w.t.app, 20_000).await;
        self.ask(&post("lookup"), &phone).await;
        let topup = format!(r#"{{"phone": "{PHONE}", "amount": 2500, "payer_name": "{PAYER}"}}"#);
        let key = format!("X-API-Key: {}", self.key);
        for _ in 0..2 {
            self.ask_with(&post("topup"), &topup, &[&key, "Idempotency-Key: t-1"]).await;
        }
        self.ask(&post("send-message"), &format!(r#"{{"phone": "{PHONE}", "message": "Ẹ kú"}}"#)).await;
        let reply = self.ask(&post("pay/start"), &start("k-1", 1_500)).await;
        let token =
            reply.json()["data"]["confirm_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        self.w.set_pin(&token, PIN).await;
        assert!(matches!(self.w.confirm(&token, PIN).await, Confirmed::Paid(..)));
        self.w.t.advance(Span::minutes(5));
        self.w.post.answer(SendOutcome::NotOnWhatsApp);
        self.ask(&post("pay/start"), &start("unsent", 200)).await;
    }

    async fn refusals(&mut self) {
        self.ask_with("GET /api/v1/payments", "", &[]).await;
        self.ask("GET /api/v1/payment/none", "").await;
        self.ask("DELETE /api/v1/payments", "").await;
        self.ask("GET /api/v1/none", "").await;
        self.ask(&format!("POST {CREATE}"), r#"{"amount": 0}"#).await;
        let many = format!(
            r#"{{"amount": "1.234", "payer_name": "\u0007{}", "bank": [1], "webhook_url": "ọ", "transaction_id": "exact"}}"#,
            "é".repeat(300)
        );
        self.ask(&format!("POST {CREATE}"), &many).await;
        let elsewhere = r#"{"amount": 1, "name": "A", "webhook_url": "https://évil.example/"}"#;
        self.ask(&format!("POST {CREATE}"), elsewhere).await;
        self.ask(&format!("POST {CREATE}"), "{").await;
        self.ask("PATCH /api/v1/payment/exact/amount", r#"{"new_amount": 5}"#).await;
        for path in ["/healthz", "/readyz", "/metrics"] {
            self.ask_with(&format!("GET {path}"), "", &[]).await;
        }
    }

    async fn webhooks(&mut self) {
        for told in self.w.t.app.store.told_and_posted(0).await.unwrap() {
            self.note(&format!("webhook {}", told.event_kind), &String::from_utf8(told.body).unwrap());
        }
    }
}

on_both! {
    async fn answers_are_the_same_bytes(db: TestDatabase) {
        let mut asked = Asked::new(db).await;
        asked.payments().await;
        asked.wallet().await;
        asked.refusals().await;
        asked.webhooks().await;
        for line in [
            "business list",
            "payment list",
            "payment show less",
            "wallet show 08035550142",
            "alert show 1",
            "name compare Chidi Okafor",
        ] {
            asked.command(line);
        }
        let Asked { told, running, .. } = asked;
        running.stop().await;
        if let Some(file) = std::env::var_os(WRITTEN) {
            std::fs::write(file, &told).unwrap();
        }
        for (n, (told, expected)) in told.lines().zip(EXPECTED.lines()).enumerate() {
            assert_eq!(told, expected, "line {}", n + 1);
        }
        assert_eq!(told.lines().count(), EXPECTED.lines().count());
    }
}
