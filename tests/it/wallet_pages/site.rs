//! The pages on a port of their own over a world with a merchant and a customer, and a client that speaks
//! HTTP by hand and reads forms as a browser does.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use scraper::{Html, Selector};
use tillbell::domain::message::MessageKind;
use tillbell::ops::wallet_payments::start::StartedPayment;
use tillbell::outbound::message::SendOutcome;
use tillbell::serve::{Roles, Running, start};
use tillbell::vault::link::nonce;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::databases::TestDatabase;
use crate::harness::document::{self, Exchange};
use crate::wallet::world::{World, token};

/// Beside these, tests give settings of their own.
pub const DEV: &str = "[server]\nlisten = \"127.0.0.1:0\"\ndev = true\n";
pub const NOT_DEV: &str = "[server]\nlisten = \"127.0.0.1:0\"\n";

pub struct Site {
    pub w: World,
    pub running: Running,
}

#[derive(Debug)]
pub struct Shown {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// The path, with what is asked of it, that the answer to a form led to.
    pub led_to: Option<String>,
}

/// The fields of one form, hidden ones with their values.
pub type Form = BTreeMap<String, String>;

impl Shown {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The path, with what is asked of it, that a browser goes to from the page of this link.
    #[track_caller]
    pub fn leads_to(&self, token: &str) -> String {
        let page = url::Url::parse(&format!("http://till.example/pay/{token}")).unwrap();
        let location = self.header("location").unwrap_or_else(|| panic!("leads nowhere: {self:?}"));
        let to = page.join(location).unwrap();
        to.query().map_or(to.path().to_owned(), |query| format!("{}?{query}", to.path()))
    }

    fn html(&self) -> Html {
        Html::parse_document(&self.body)
    }

    /// What a reader sees, with single blanks.
    pub fn text(&self) -> String {
        let html = self.html();
        let body = html.select(&Selector::parse("main").unwrap()).next();
        let body = body.unwrap_or_else(|| panic!("no page: {self:?}"));
        let text = body.text().flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
        // Where a link stands in brackets.
        text.replace("( ", "(").replace(" )", ")")
    }

    pub fn heading(&self) -> String {
        let html = self.html();
        let all: Vec<String> =
            html.select(&Selector::parse("h1").unwrap()).map(|h| h.text().collect()).collect();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }

    pub fn forms(&self) -> Vec<Form> {
        let (form, input) = (Selector::parse("form").unwrap(), Selector::parse("input").unwrap());
        let html = self.html();
        let fields = |form: scraper::ElementRef<'_>| {
            form.select(&input)
                .map(|input| {
                    let value = input.value().attr("value").unwrap_or_default().to_owned();
                    (input.value().attr("name").unwrap().to_owned(), value)
                })
                .collect()
        };
        html.select(&form).map(fields).collect()
    }

    /// The form that has this field.
    #[track_caller]
    pub fn form(&self, field: &str) -> Form {
        let forms = self.forms();
        forms.into_iter().find(|form| form.contains_key(field)).unwrap_or_else(|| {
            panic!("no form with {field} on: {}\n{}", self.text(), self.body);
        })
    }

    /// What this attribute holds on every element that `css` finds; `None` where it has none.
    pub fn attributes(&self, css: &str, name: &str) -> Vec<Option<String>> {
        let (html, css) = (self.html(), Selector::parse(css).unwrap());
        html.select(&css).map(|element| element.value().attr(name).map(str::to_owned)).collect()
    }

    /// The names of the fields that `css` finds.
    pub fn names(&self, css: &str) -> Vec<String> {
        self.attributes(css, "name").into_iter().flatten().collect()
    }

    pub fn has_form(&self, field: &str) -> bool {
        self.forms().iter().any(|form| form.contains_key(field))
    }

    #[track_caller]
    pub fn is(&self, status: u16, part: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.text().contains(part), "{part:?} in {}", self.text());
    }
}

impl Site {
    pub async fn start(db: TestDatabase) -> Site {
        Site::with(db, DEV).await
    }

    pub async fn with(db: TestDatabase, settings: &str) -> Site {
        Site::with_roles(db, settings, Roles { api: false, pages: true, mail: false, work: false }).await
    }

    pub async fn with_roles(db: TestDatabase, settings: &str, roles: Roles) -> Site {
        let w = World::with(db, settings).await;
        let running = start(w.t.app.clone(), roles).await.unwrap();
        Site { w, running }
    }

    /// Ends the service; its world is audited when that is dropped.
    pub async fn close(self) {
        self.running.stop().await;
    }

    /// A request as it is written; answers what came back until the end of the connection.
    pub async fn send(&self, method: &str, path: &str, headers: &[&str], body: Option<&str>) -> Shown {
        shown_at(self.running.address, method, path, headers, body).await
    }

    /// The same, whatever the body is.
    pub async fn exchange(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: Option<&str>,
    ) -> (u16, Vec<(String, String)>, Vec<u8>) {
        exchange(self.running.address, method, path, headers, body).await
    }

    pub async fn get(&self, token: &str) -> Shown {
        self.get_path(&format!("/pay/{token}")).await
    }

    pub async fn get_path(&self, path: &str) -> Shown {
        self.send("GET", path, &[], None).await
    }

    /// Sends a form as an older browser does under our policy: with `Origin: null` and nothing else.
    pub async fn submit(&self, token: &str, form: &Form, filled: &[(&str, &str)]) -> Shown {
        let mut form = form.clone();
        for (name, value) in filled {
            assert!(form.contains_key(*name), "the form has no {name}");
            form.insert((*name).to_owned(), (*value).to_owned());
        }
        let fields = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Vec<_>>();
        // Forms that change something carry a token; one that only asks is a look.
        if !form.contains_key("form_token") {
            let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
            return self.get_path(&format!("/pay/{token}?{query}")).await;
        }
        self.post(token, &["Origin: null"], &fields).await
    }

    /// The same from a page that was opened just now: no repetition.
    pub async fn submit_anew(&self, token: &str, form: &Form, filled: &[(&str, &str)]) -> Shown {
        let app = &self.w.t.app;
        let fresh = app.vault.form_token(token, &nonce(app.random.as_ref()));
        let form = form.iter().map(|(name, value)| match name.as_str() {
            "form_token" => (name.clone(), fresh.to_string()),
            _ => (name.clone(), value.clone()),
        });
        self.submit(token, &form.collect(), filled).await
    }

    /// Sends a form and goes where the answer leads, as browsers do.
    pub async fn post(&self, token: &str, headers: &[&str], fields: &[(&str, &str)]) -> Shown {
        post_at(self.running.address, token, headers, fields).await
    }

    /// The answer itself.
    pub async fn post_once(&self, token: &str, headers: &[&str], fields: &[(&str, &str)]) -> Shown {
        answer_at(self.running.address, token, headers, fields).await
    }

    /// Gets the page and sends its form with this field, filled in.
    pub async fn act(&self, token: &str, field: &str, filled: &[(&str, &str)]) -> Shown {
        let form = self.get(token).await.form(field);
        self.submit(token, &form, filled).await
    }

    pub async fn pay(&self, token: &str, pin: &str) -> Shown {
        self.act(token, "pin", &[("pin", pin)]).await
    }

    /// The code of the last message that held one.
    pub fn code(&self) -> String {
        self.w.post.last(MessageKind::Code).code.unwrap()
    }

    /// A link whose first code could not be sent, and the page that said so.
    pub async fn without_a_code(&self) -> (String, Shown) {
        self.w.funded(20_000).await;
        let (_, link) = self.begin(5_000, "k-1").await;
        self.w.post.answer(SendOutcome::Refused { why: "no such number".into() });
        let failed = self.act(&link, "send_code", &[]).await;
        (link, failed)
    }

    pub async fn begin(&self, naira: i64, key: &str) -> (StartedPayment, String) {
        let started = self.w.begin(naira, key).await;
        let token = token(&started);
        (started, token)
    }
}

/// Sends a form to the node that listens there, and goes where the answer leads.
pub async fn post_at(address: SocketAddr, token: &str, headers: &[&str], fields: &[(&str, &str)]) -> Shown {
    let answer = answer_at(address, token, headers, fields).await;
    if answer.status != 303 {
        return answer;
    }
    let path = answer.leads_to(token);
    // What a proxy adds to one request it adds to the next.
    let added: Vec<&str> = headers.iter().copied().filter(|line| line.starts_with("X-")).collect();
    let shown = shown_at(address, "GET", &path, &added, None).await;
    Shown { led_to: Some(path), ..shown }
}

async fn answer_at(address: SocketAddr, token: &str, headers: &[&str], fields: &[(&str, &str)]) -> Shown {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let mut lines = vec!["Content-Type: application/x-www-form-urlencoded"];
    lines.extend(headers);
    shown_at(address, "POST", &format!("/pay/{token}"), &lines, Some(&body)).await
}

async fn shown_at(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[&str],
    body: Option<&str>,
) -> Shown {
    let (status, headers, body) = exchange(address, method, path, headers, body).await;
    Shown { status, headers, body: String::from_utf8(body).unwrap(), led_to: None }
}

pub async fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[&str],
    body: Option<&str>,
) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|line| line.to_lowercase().starts_with("host:")) {
        head.push_str(&format!("Host: {}\r\n", address));
    }
    for line in headers {
        head.push_str(&format!("{line}\r\n"));
    }
    if let Some(body) = body {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    head.push_str(body.unwrap_or_default());
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers: Vec<(String, String)> =
        headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let (sent, answered) = (body.map(str::as_bytes), String::from_utf8_lossy(&bytes[end + 4..]));
    document::check(&Exchange { method, path, sent, status, headers: &headers, body: &answered });
    (status, headers, bytes[end + 4..].to_vec())
}
