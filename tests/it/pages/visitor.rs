//! Somebody with a browser, without scripts: keeps cookies, reads forms with all their hidden fields, sends them and goes
//! where the answer leads.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use scraper::{Html, Selector};
use tillbell::serve::{Roles, Running, start};

use crate::harness::app::TestApp;
use crate::wallet_pages::site::exchange;

/// The pages of a world on a port of their own.
pub struct Pages {
    pub t: TestApp,
    pub running: Running,
}

impl Pages {
    pub async fn start(t: TestApp) -> Pages {
        let roles = Roles { api: true, pages: true, mail: false, work: false };
        let running = start(t.app.clone(), roles).await.unwrap();
        Pages { t, running }
    }

    pub fn visitor(&self) -> Visitor {
        Visitor { address: self.running.address, cookies: BTreeMap::new(), sends: Vec::new() }
    }

    /// Ends the service; its world is audited when that is dropped.
    pub async fn close(self) {
        self.running.stop().await;
    }
}

pub struct Visitor {
    pub address: SocketAddr,
    pub cookies: BTreeMap<String, String>,
    /// Header lines that go with every request.
    pub sends: Vec<String>,
}

#[derive(Debug)]
pub struct Seen {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// Where it is.
    pub path: String,
}

/// The fields of a form, hidden ones with their values.
#[derive(Clone, Debug)]
pub struct FilledForm {
    pub action: String,
    pub fields: BTreeMap<String, String>,
}

impl Visitor {
    /// One request; cookies are kept, and no redirect is followed.
    pub async fn send(&mut self, method: &str, path: &str, body: Option<&str>) -> Seen {
        let mut lines = self.sends.clone();
        lines.push("Accept: text/html".to_owned());
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            lines.push(format!("Cookie: {}", cookies.join("; ")));
        }
        if body.is_some() {
            lines.push("Content-Type: application/x-www-form-urlencoded".to_owned());
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (status, headers, body) = exchange(self.address, method, path, &lines, body).await;
        for (_, cookie) in headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (pair, rest) = cookie.split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            match rest.contains("Max-Age=0") {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        Seen { status, headers, body: String::from_utf8_lossy(&body).into_owned(), path: path.to_owned() }
    }

    /// A page, after whatever redirects lead to it.
    pub async fn get(&mut self, path: &str) -> Seen {
        let mut path = path.to_owned();
        for _ in 0..5 {
            let seen = self.send("GET", &path, None).await;
            match seen.status {
                303 => path = seen.header("location").unwrap().to_owned(),
                _ => return seen,
            }
        }
        panic!("led in a circle from {path}");
    }

    /// Sends a form of a page, filled in, and goes where the answer leads.
    pub async fn submit(&mut self, page: &Seen, form: &str, filled: &[(&str, &str)]) -> Seen {
        let answer = self.post(page, form, filled).await;
        match answer.header("location").map(str::to_owned) {
            Some(to) => self.get(&to).await,
            None => answer,
        }
    }

    /// The same, with the answer itself.
    pub async fn post(&mut self, page: &Seen, form: &str, filled: &[(&str, &str)]) -> Seen {
        let mut form = page.form(form);
        for (name, value) in filled {
            assert!(form.fields.contains_key(*name), "{form:?} has no {name}");
            form.fields.insert((*name).to_owned(), (*value).to_owned());
        }
        self.post_fields(&form.action, &form.fields).await
    }

    pub async fn post_fields(&mut self, path: &str, fields: &BTreeMap<String, String>) -> Seen {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send("POST", path, Some(&body)).await
    }

    /// Signs in by the page, as far as the password brings one.
    pub async fn sign_in(&mut self, email: &str, password: &str) -> Seen {
        let page = self.get("/sign-in").await;
        self.submit(&page, "sign-in", &[("email", email), ("password", password)]).await
    }
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub fn html(&self) -> Html {
        Html::parse_document(&self.body)
    }

    /// What a reader sees of what this finds, with single blanks.
    pub fn text_of(&self, css: &str) -> String {
        let (html, css) = (self.html(), Selector::parse(css).unwrap());
        let texts = html.select(&css).flat_map(|one| one.text()).flat_map(str::split_whitespace);
        texts.collect::<Vec<_>>().join(" ")
    }

    pub fn heading(&self) -> String {
        self.text_of("h1")
    }

    #[track_caller]
    pub fn form(&self, id: &str) -> FilledForm {
        let html = self.html();
        let css = Selector::parse(&format!("form[id=\"{id}\"]")).unwrap();
        let form = html.select(&css).next();
        let form = form.unwrap_or_else(|| panic!("no form {id} at {}: {}", self.path, self.text_of("main")));
        let inputs = Selector::parse("input, select, textarea").unwrap();
        let fields = form.select(&inputs).filter(|input| input.value().attr("type") != Some("checkbox"));
        let field = |input: scraper::ElementRef<'_>| {
            let value = input.value().attr("value").unwrap_or_default().to_owned();
            (input.value().attr("name").unwrap().to_owned(), value)
        };
        FilledForm {
            action: form.value().attr("action").unwrap().to_owned(),
            fields: fields.map(field).collect(),
        }
    }

    #[track_caller]
    pub fn is(&self, status: u16, heading: &str) {
        assert_eq!(
            (self.status, self.heading().as_str()),
            (status, heading),
            "{}: {}",
            self.path,
            self.text_of("main")
        );
    }
}
