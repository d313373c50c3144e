//! A merchant with a receiver, payments that are really paid, and an API that is asked over HTTP.

use serde_json::Value;
use tillbell::domain::merchant::Mode;
use tillbell::domain::payment::Payment;
use tillbell::domain::time::Span;
use tillbell::ops::merchants::businesses::{BusinessChange, ChargeChange, set_business};
use tillbell::ops::merchants::keys::add_key;
use tillbell::ops::merchants::websites::{NewWebsite, add_website};
use tillbell::ops::payments::create::{Created, create_payment};
use tillbell::serve::{Roles, Running, start};

use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::harness::receiver::Receiver;
use crate::wallet_pages::site::exchange;

pub struct World {
    pub t: TestApp,
    pub shop: Merchant,
    pub receiver: Receiver,
    pub running: Running,
    /// A live key of the shop's.
    pub key: String,
}

impl World {
    pub async fn new(db: TestDatabase) -> World {
        let settings = "[server]\nlisten = \"127.0.0.1:0\"\ndev = true\n";
        let t = TestApp::start_with(db, settings).await;
        let shop = t.merchant("adire.example").await;
        t.account(ACCOUNT).await;
        t.account_for("0123450001", None, Mode::Test).await;
        let receiver = Receiver::start().await;
        let site = NewWebsite {
            business_id: shop.id,
            url: receiver.url(""),
            webhook_url: None,
            charges: ChargeChange::default(),
            approve: true,
        };
        add_website(&t.app, "test", &site).await.unwrap().unwrap();
        let roles = Roles { api: true, pages: false, mail: false, work: false };
        let running = start(t.app.clone(), roles).await.unwrap();
        let mut world = World { t, shop, receiver, running, key: String::new() };
        world.key = world.key_of(&world.shop, Mode::Live).await;
        world.lift_limit(world.shop.id).await;
        world
    }

    pub async fn lift_limit(&self, business: i64) {
        let change = BusinessChange { rate_limit: Some(Some(1_000_000)), ..BusinessChange::default() };
        set_business(&self.t.app, "test", business, &change).await.unwrap().unwrap();
        self.t.app.directory.forget();
    }

    pub async fn key_of(&self, shop: &Merchant, mode: Mode) -> String {
        let key = add_key(&self.t.app, "test", shop.id, mode, None, None).await.unwrap().unwrap();
        key.text.to_string()
    }

    /// A payment whose webhooks come to the receiver.
    pub async fn asked(&self, shop: &Merchant, naira: i64, payer: &str) -> Payment {
        let mut new = self.t.request(shop, naira, payer);
        new.webhook_url = Some(self.receiver.url("/hook"));
        match create_payment(&self.t.app, &shop.caller, new, None).await.unwrap() {
            Created::Payment(view) => view.payment,
            other => panic!("not created: {other:?}"),
        }
    }

    /// The customer pays so much into the account of live or test payments.
    pub async fn comes(&self, mode: Mode, naira: i64, payer: &str) {
        let account = if mode == Mode::Live { ACCOUNT } else { "0123450001" };
        let at = self.t.app.now() - Span::seconds(20);
        self.t.ingest(&Alert::credit(account, naira, payer, at).text()).await;
    }

    /// A payment that is asked for and paid.
    pub async fn paid(&self, shop: &Merchant, naira: i64, payer: &str) -> Payment {
        let payment = self.asked(shop, naira, payer).await;
        self.t.advance(LATER);
        self.comes(payment.mode, naira, payer).await;
        let after = self.t.payment(&payment).await;
        assert!(after.approved_at.is_some(), "{after:?}");
        after
    }

    pub async fn ask_as(&self, key: &str, method: &str, path: &str, more: &[&str]) -> (u16, String) {
        let key = format!("X-API-Key: {key}");
        let lines: Vec<&str> = std::iter::once(key.as_str()).chain(more.iter().copied()).collect();
        let path = format!("/api/v1{path}");
        let (status, _, body) = exchange(self.running.address, method, &path, &lines, None).await;
        (status, String::from_utf8(body).unwrap())
    }

    pub async fn get_as(&self, key: &str, path: &str) -> (u16, Value) {
        let (status, body) = self.ask_as(key, "GET", path, &[]).await;
        (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}")))
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        self.get_as(&self.key, path).await
    }

    /// Ids of all events of the shop, read page by page.
    pub async fn pulled(&self, limit: usize) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        loop {
            let after = ids.last().map(|id| format!("&after={id}")).unwrap_or_default();
            let (status, page) = self.get(&format!("/events?limit={limit}{after}")).await;
            assert_eq!(status, 200, "{page}");
            ids.extend(ids_of(&page));
            assert_eq!(page["meta"]["last_id"].as_str(), ids.last().map(String::as_str), "{page}");
            if page["meta"]["has_more"] == false {
                return ids;
            }
        }
    }

    /// Kinds and transaction ids of the shop's events, in their order.
    pub async fn told(&self) -> Vec<(String, String)> {
        let (status, page) = self.get("/events?limit=100").await;
        assert_eq!(status, 200, "{page}");
        let word = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let rows = page["data"].as_array().unwrap().iter();
        rows.map(|event| (word(event, "event"), word(event, "transaction_id"))).collect()
    }
}

pub fn ids_of(page: &Value) -> Vec<String> {
    let rows = page["data"].as_array().unwrap_or_else(|| panic!("{page}"));
    rows.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}
