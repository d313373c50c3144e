//! A server in the test's own process with one business, and a client that speaks HTTP by hand, so
//! that nothing is hidden: not a header, not the digits of a number.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use tillbell::app::App;
use tillbell::config::Config;
use tillbell::domain::merchant::Mode;
use tillbell::ops::merchants::accounts::{GivenBank, NewAccount, add_account};
use tillbell::ops::merchants::businesses::{
    BusinessChange, ChargeChange, NewBusiness, add_business, set_business,
};
use tillbell::ops::merchants::keys::add_key;
use tillbell::ops::merchants::websites::{NewWebsite, add_website};
use tillbell::outbound::messenger::Messenger;
use tillbell::serve::{Roles, Running, start};
use tillbell::store::StoreOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::databases::TestDatabase;
use crate::harness::document::{self, Exchange};

pub const CREATE: &str = "/api/v1/payment-request";

pub struct Server {
    pub running: Running,
    pub database: TestDatabase,
    _folder: tempfile::TempDir,
}

/// Where a shop that has the wallet is told of payments.
pub const WALLET_HOOK: &str = "https://kola.example/hook";

/// A business with an approved website and a live key.
pub struct Shop {
    pub id: i64,
    pub website: i64,
    pub host: String,
    pub key: String,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Asserts that the API's document tells of such an answer.
    #[track_caller]
    pub fn is_declared(&self, method: &str, path: &str, sent: Option<&[u8]>) {
        let Reply { status, headers, body } = self;
        document::check(&Exchange { method, path, sent, status: *status, headers, body });
    }

    pub fn message(&self) -> String {
        self.json()["message"].as_str().unwrap_or_default().to_owned()
    }

    /// Asserts the status and the JSON form of errors, with a code; answers the body.
    #[track_caller]
    pub fn fails(&self, status: u16, part: &str) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        let json = self.json();
        assert_eq!(json["success"], false);
        assert!(self.message().contains(part), "{part:?} in {self:?}");
        super::codes::check(status, &json);
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert!(self.header("x-request-id").is_some());
        json
    }

    /// Asserts a 422 about exactly these fields.
    #[track_caller]
    pub fn fails_on(&self, fields: &[&str]) -> Value {
        let json = self.fails(422, "");
        assert_eq!(names(&json["errors"]), fields.iter().map(|f| (*f).to_owned()).collect(), "{self:?}");
        json
    }
}

pub fn names(object: &Value) -> BTreeSet<String> {
    object.as_object().unwrap_or_else(|| panic!("no object: {object}")).keys().cloned().collect()
}

impl Server {
    pub async fn start(database: TestDatabase) -> Server {
        Server::with(database, "").await
    }

    /// `settings` is TOML, for sections other than those set here.
    pub async fn with(database: TestDatabase, settings: &str) -> Server {
        Server::sending(database, settings, None).await
    }

    /// The same with a messenger of the test's own.
    pub async fn sending(database: TestDatabase, settings: &str, messenger: Option<Messenger>) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let server = if settings.contains("[server]") { "" } else { "[server]\n" };
        let text = format!(
            "{settings}\n{server}\n[database]\nurl = {:?}\n[secret]\nkey_file = {:?}\n",
            database.url(),
            folder.path().join("key")
        );
        let listen = ("TILLBELL_SERVER__LISTEN".to_owned(), "127.0.0.1:0".to_owned());
        let config = Config::load(&text, std::iter::once(listen)).unwrap();
        let options = StoreOptions { readers: 2, writers: 2, ..StoreOptions::service(database.url()) };
        let mut app = App::open(config, &options).await.unwrap();
        app.messenger = messenger.unwrap_or(app.messenger);
        let running = start(Arc::new(app), Roles::ALL).await.unwrap();
        Server { running, database, _folder: folder }
    }

    pub fn app(&self) -> &App {
        &self.running.app
    }

    pub async fn shop(&self, host: &str) -> Shop {
        let app = self.app();
        let new = NewBusiness {
            name: format!("{host} Ltd"),
            email: "till@shop.example".into(),
            webhook_url: None,
            charges: ChargeChange::default(),
        };
        let id = add_business(app, "test", &new).await.unwrap().unwrap().business.id;
        let website = self.website(id, host, true).await;
        let key = self.key(id, Mode::Live).await;
        // The tests of limits ask for the default again.
        self.change(id, |change| change.rate_limit = Some(Some(1_000_000))).await;
        Shop { id, website, host: host.into(), key }
    }

    /// A shop that has the wallet, with its webhook URL saved.
    pub async fn wallet_shop(&self) -> Shop {
        let shop = self.shop("kola.example").await;
        self.change(shop.id, |change| {
            change.wallet_enabled = Some(true);
            change.webhook_url = Some(Some(WALLET_HOOK.into()));
            change.wallet_rate_limit = Some(Some(1_000_000));
        })
        .await;
        shop
    }

    pub async fn change(&self, id: i64, set: impl FnOnce(&mut BusinessChange)) {
        let mut change = BusinessChange::default();
        set(&mut change);
        set_business(self.app(), "test", id, &change).await.unwrap().unwrap();
        self.app().directory.forget();
    }

    pub async fn website(&self, business_id: i64, host: &str, approve: bool) -> i64 {
        let new = NewWebsite {
            business_id,
            url: format!("https://{host}"),
            webhook_url: None,
            charges: ChargeChange::default(),
            approve,
        };
        let site = add_website(self.app(), "test", &new).await.unwrap().unwrap();
        self.app().directory.forget();
        site.id
    }

    pub async fn key(&self, business_id: i64, mode: Mode) -> String {
        let key = add_key(self.app(), "test", business_id, mode, None, None).await.unwrap().unwrap();
        key.text.to_string()
    }

    pub async fn account(&self, number: &str, mode: Mode) {
        let new = NewAccount {
            number: number.into(),
            name: "TILL AND BELL LTD".into(),
            bank: GivenBank::Unknown("Corner Bank".into()),
            business_id: None,
            via: None,
            mode,
            force: true,
        };
        add_account(self.app(), "test", &new).await.unwrap().unwrap();
        self.app().directory.forget();
    }

    /// A server, a shop, and a pool of accounts.
    pub async fn with_shop(database: TestDatabase) -> (Server, Shop) {
        let server = Server::start(database).await;
        let shop = server.shop("kola.example").await;
        for number in ["2200110011", "2200220022", "2200330033", "2200440044"] {
            server.account(number, Mode::Live).await;
        }
        (server, shop)
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.running.address).await.unwrap()
    }

    /// Sends a request on a connection of its own. `headers` are whole lines.
    pub async fn send(&self, method: &str, path: &str, headers: &[&str], body: Option<&[u8]>) -> Reply {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: pay.example\r\nConnection: close\r\n");
        for line in headers {
            head.push_str(line);
            head.push_str("\r\n");
        }
        if let Some(body) = body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut stream = self.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        if let Some(body) = body {
            stream.write_all(body).await.unwrap();
        }
        let reply = read_reply(&mut stream).await;
        reply.is_declared(method, path, body);
        reply
    }

    pub async fn get(&self, key: &str, path: &str) -> Reply {
        self.send("GET", path, &[&format!("X-API-Key: {key}")], None).await
    }

    pub async fn json(&self, method: &str, key: &str, path: &str, body: &str) -> Reply {
        self.json_with(method, key, path, body, &[]).await
    }

    pub async fn json_with(&self, method: &str, key: &str, path: &str, body: &str, more: &[&str]) -> Reply {
        let key = format!("X-API-Key: {key}");
        let mut headers = vec![key.as_str(), "Content-Type: application/json"];
        headers.extend(more);
        self.send(method, path, &headers, Some(body.as_bytes())).await
    }

    /// Creates a payment with these members besides those that are required.
    pub async fn create(&self, shop: &Shop, members: &str) -> Reply {
        self.json("POST", &shop.key, CREATE, &shop.body(members)).await
    }
}

impl Shop {
    /// A good body; `members` replace or add, and begin with no comma.
    pub fn body(&self, members: &str) -> String {
        let host = &self.host;
        let mut body: serde_json::Map<String, Value> = serde_json::from_str(&format!(
            r#"{{"amount": "5000", "payer_name": "Bisi Lawal", "webhook_url": "https://{host}/hook"}}"#
        ))
        .unwrap();
        let more: serde_json::Map<String, Value> = serde_json::from_str(&format!("{{{members}}}")).unwrap();
        body.extend(more);
        Value::Object(body).to_string()
    }
}

/// Reads one answer, whose length its header tells.
pub async fn read_reply(stream: &mut (impl AsyncReadExt + Unpin)) -> Reply {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(reply) = parse_reply(&bytes) {
            return reply;
        }
        match stream.read(&mut buffer).await {
            Ok(0) => panic!("the connection ended: {:?}", String::from_utf8_lossy(&bytes)),
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
            Err(error) => panic!("{error}: {:?}", String::from_utf8_lossy(&bytes)),
        }
    }
}

fn parse_reply(bytes: &[u8]) -> Option<Reply> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse::<usize>().ok()?;
    (body.len() >= length).then(|| {
        let body = body[..length].to_owned();
        document::check_error(status, &body);
        Reply { status, headers, body }
    })
}
