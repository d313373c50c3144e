//! A shop whose payments have pages, a service that shows them, and clients that read pages and streams.

use std::net::SocketAddr;
use std::time::Duration;

use tillbell::domain::payment::Payment;
use tillbell::domain::time::Span;
use tillbell::ops::payments::checkout::checkout_url;
use tillbell::ops::payments::create::{Created, NewPayment, create_payment};
use tillbell::serve::{Roles, Running, start};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, at};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::wallet_pages::site::{DEV, Shown, exchange};

pub const NAME: &str = "Halima Garba";
pub const PAGES: Roles = Roles { api: true, pages: true, mail: false, work: false };
/// Longer than anything takes, on a busy machine too.
const ENOUGH: Duration = Duration::from_secs(60);

pub struct Desk {
    pub t: TestApp,
    pub shop: Merchant,
    pub running: Running,
}

impl Desk {
    pub async fn new(db: TestDatabase) -> Desk {
        Desk::with(db, DEV).await
    }

    pub async fn with(db: TestDatabase, settings: &str) -> Desk {
        let t = TestApp::start_with(db, settings).await;
        let shop = t.merchant("adire.example").await;
        t.account(ACCOUNT).await;
        let running = start(t.app.clone(), PAGES).await.unwrap();
        Desk { t, shop, running }
    }

    pub async fn close(self) {
        self.running.stop().await;
    }

    /// A payment of 5,000, and the path of its page.
    pub async fn open(&self) -> (Payment, String) {
        let payment = self.t.create(&self.shop, 5_000, NAME).await;
        let path = self.path(&payment);
        (payment, path)
    }

    pub async fn create(&self, new: NewPayment) -> Payment {
        match create_payment(&self.t.app, &self.shop.caller, new, None).await.unwrap() {
            Created::Payment(view) => view.payment,
            other => panic!("not created: {other:?}"),
        }
    }

    pub fn path(&self, payment: &Payment) -> String {
        let url = checkout_url(&self.t.app, payment).expect("it has a page");
        let at = url.find("/c/").unwrap();
        url[at..].to_owned()
    }

    pub async fn get(&self, path: &str) -> Shown {
        get(self.running.address, path).await
    }

    pub async fn state(&self, path: &str) -> serde_json::Value {
        let shown = self.get(&format!("{path}/state")).await;
        assert_eq!(shown.status, 200, "{shown:?}");
        serde_json::from_str(&shown.body).unwrap()
    }

    pub async fn view(&self, path: &str) -> String {
        self.state(path).await["view"].as_str().unwrap().to_owned()
    }

    /// The bank tells of a transfer that came some minutes after the world began.
    pub async fn came(&self, naira: i64, payer: &str) -> i64 {
        // Some minutes after it was asked for.
        let later = if self.t.app.now() < at() { LATER } else { Span::minutes(1) };
        self.t.advance(later + Span::seconds(50));
        let came = self.t.app.now() - Span::seconds(30);
        self.t.ingest(&Alert::credit(ACCOUNT, naira, payer, came).text()).await.alert_id
    }
}

pub async fn get(address: SocketAddr, path: &str) -> Shown {
    let (status, headers, body) = exchange(address, "GET", path, &[], None).await;
    let body = String::from_utf8(body).unwrap();
    Shown { status, headers, body, led_to: None }
}

/// A stream as a program reads it.
pub struct Stream {
    tcp: TcpStream,
    read: String,
    pub status: u16,
}

impl Stream {
    pub async fn open(address: SocketAddr, path: &str) -> Stream {
        Stream::open_with(address, &format!("{path}/events"), &[]).await
    }

    /// With header lines of the test's own.
    pub async fn open_with(address: SocketAddr, path: &str, more: &[&str]) -> Stream {
        let mut tcp = TcpStream::connect(address).await.unwrap();
        let more: String = more.iter().map(|line| format!("{line}\r\n")).collect();
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\n{more}\r\n");
        tcp.write_all(head.as_bytes()).await.unwrap();
        let mut stream = Stream { tcp, read: String::new(), status: 0 };
        stream.until("\r\n\r\n").await;
        let head = stream.take("\r\n\r\n");
        stream.status = head.split(' ').nth(1).unwrap().parse().unwrap();
        if stream.status == 200 {
            assert!(head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
            assert!(head.to_lowercase().contains("cache-control: no-store"), "{head}");
        }
        stream
    }

    async fn until(&mut self, part: &str) {
        while !self.read.contains(part) {
            assert!(self.more().await, "the stream ended: {:?}", self.read);
        }
    }

    /// Reads a piece; `false` at the end.
    async fn more(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let read = timeout(ENOUGH, self.tcp.read(&mut buffer)).await.expect("something comes");
        let read = read.unwrap_or(0);
        self.read.push_str(&String::from_utf8_lossy(&buffer[..read]));
        read > 0
    }

    fn take(&mut self, part: &str) -> String {
        let at = self.read.find(part).unwrap() + part.len();
        let rest = self.read.split_off(at);
        std::mem::replace(&mut self.read, rest)
    }

    /// The next event: its name and what it holds. Chunks and comments are passed over.
    pub async fn next(&mut self) -> (String, serde_json::Value) {
        loop {
            self.until("\n\n").await;
            let text = self.take("\n\n");
            let Some(at) = text.find("event: ") else { continue };
            let (name, data) = text[at..].split_once('\n').unwrap();
            let data = data.strip_prefix("data: ").unwrap().trim_end();
            return (name["event: ".len()..].to_owned(), serde_json::from_str(data).unwrap());
        }
    }

    /// The view of the next event.
    pub async fn view(&mut self) -> String {
        let (name, state) = self.next().await;
        assert_eq!(name, "state");
        state["view"].as_str().unwrap().to_owned()
    }

    /// Reads to the end of the stream.
    pub async fn ends(&mut self) {
        while self.more().await {}
    }
}
