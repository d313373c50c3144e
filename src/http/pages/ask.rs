//! A request for a page of people who sign in, as it was let through: who asks, with what form; and the answers to it.
//!
//! Everything that a handler knows of the browser it knows from here, so that no page forgets the cookie, the headers or
//! whose forms they are.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use askama::Template;
use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use url::form_urlencoded;
use zeroize::Zeroizing;

use super::answer;
use super::body::Fields;
use super::cookie::Cookie;
use super::field::Form;
use super::flash::{self, Flash};
use super::here::Here;
use super::layout::{Frame, SignedIn};
use super::parts::Notice;
use super::times::Zone;
use crate::app::App;
use crate::http::Http;
use crate::http::server::caller::address;
use crate::ops::OpError;
use crate::ops::paging::Cursor;
use crate::ops::people::sessions::Session;
use crate::vault::link::{fresh_token, nonce};

/// Characters of a path that somebody is led to after signing in.
const NEXT_MAX: usize = 500;

/// A page's work, in a place of its own.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Response, OpError>> + Send + 'a>>;

pub struct Ask {
    pub http: Arc<Http>,
    pub parts: Parts,
    /// Of the cookie; fresh where there was none.
    pub(super) token: Zeroizing<String>,
    pub(super) is_fresh: bool,
    pub(super) csrf: OnceLock<Zeroizing<String>>,
    pub session: Option<Session>,
    /// Of a POST that came from a page of ours.
    pub form: Option<Fields>,
    pub flash: Option<Flash>,
    /// On pages of a business: which, and what the user is there.
    pub here: Option<Here>,
    /// What stands around a page that is of no side: the sides are built on this, so it is handed in.
    pub(super) around: fn(&Ask, &str) -> Frame,
}

impl Ask {
    pub fn app(&self) -> &App {
        &self.http.app
    }

    pub fn is_form(&self) -> bool {
        self.parts.method == Method::POST
    }

    /// The value of a field of the form; empty if there is none.
    pub fn field(&self, name: &str) -> &str {
        self.form.as_ref().map_or("", |form| form.get(name))
    }

    /// A value of the address's query; the first of several.
    pub fn query(&self, name: &str) -> Option<String> {
        let query = self.parts.uri.query().unwrap_or_default();
        form_urlencoded::parse(query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Where a list goes on, as the address says it.
    pub fn cursor(&self) -> Option<Cursor> {
        self.query("cursor").and_then(|text| Cursor::parse(&text))
    }

    /// What the path has behind this beginning.
    pub fn behind(&self, beginning: &str) -> &str {
        self.parts.uri.path().strip_prefix(beginning).unwrap_or_default()
    }

    /// Where requests of this address are counted.
    pub fn address(&self) -> String {
        address(&self.http, &self.parts).to_string()
    }

    pub fn agent(&self) -> &str {
        self.parts.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
    }

    /// What the forms of this page carry. Another for each page: what is compressed must not hold the same secret twice,
    /// or its length would tell it (the BREACH attack).
    pub fn csrf(&self) -> &str {
        let fresh = || self.app().vault.form_token(&self.token, &nonce(self.app().random.as_ref()));
        self.csrf.get_or_init(fresh)
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// Under what name a person acts.
    pub fn operator(&self) -> &str {
        self.session.as_ref().map_or("", |session| session.email.as_str())
    }

    /// In which zone times are shown.
    pub fn zone(&self) -> Zone {
        self.session.as_ref().and_then(|session| Zone::named(&session.time_zone)).unwrap_or_default()
    }

    /// A form that counts under the cookie of whoever asks.
    pub fn new_form(&self, id: impl Into<String>, action: impl Into<String>, button: &str) -> Form {
        Form::new(id, action, self.csrf(), button)
    }

    /// A mark of this page's own, for a form that counts once (`Form::once`).
    pub fn mark(&self) -> String {
        fresh_token(self.app().random.as_ref()).to_string()
    }

    /// What stands around a page, with what the form before it left to be told.
    pub fn frame(&self, title: &str) -> Frame {
        let mut frame = Frame::new(title, &self.http.brand, &self.app().public_url());
        if let Some(session) = &self.session {
            frame.user = Some(SignedIn {
                email: (&session.email).into(),
                role: session.staff.map_or("member", |role| role.as_str()).into(),
                zone: self.zone().name().into(),
                csrf: self.csrf().to_owned(),
            });
        }
        match &self.flash {
            Some(flash) if !flash.done.is_empty() => frame.notice(Notice::done(&flash.done)),
            _ => frame,
        }
    }

    /// The same with the ways that the user has, for pages that stand under none of them.
    pub fn frame_within(&self, title: &str) -> Frame {
        (self.around)(self, title)
    }

    /// A path of ours that the query or the form names, to go on to; else this one.
    pub fn next_or(&self, otherwise: &str) -> String {
        let asked = self.query("next").unwrap_or_else(|| self.field("next").to_owned());
        if is_own_path(&asked) { asked } else { otherwise.to_owned() }
    }

    pub fn html(&self, status: StatusCode, page: &impl Template) -> Response {
        let base = self.app().public_url();
        let mut response = answer::html(&base, status, page);
        if self.is_fresh {
            Cookie::Session.set(&mut response, &base, &self.token, None);
        }
        if Cookie::Flash.read(&self.parts.headers, &base).is_some() {
            Cookie::Flash.clear(&mut response, &base);
        }
        response
    }

    /// An answer to our own script.
    pub fn json(&self, text: String) -> Response {
        let mut response = Response::new(Body::from(text));
        answer::protect(&self.app().public_url(), &mut response);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }

    /// To a page that shows what was done.
    pub fn see(&self, to: &str, flash: Option<Flash>) -> Response {
        self.see_as(to, flash, None)
    }

    /// The same under a new token, after signing in and wherever a session goes on under another one.
    pub fn see_as(&self, to: &str, flash: Option<Flash>, token: Option<&str>) -> Response {
        let base = self.app().public_url();
        let mut response = answer::see(&base, to);
        if let Some(token) = token {
            Cookie::Session.set(&mut response, &base, token, None);
        } else if self.is_fresh {
            Cookie::Session.set(&mut response, &base, &self.token, None);
        }
        let holder = token.unwrap_or(&self.token);
        if let Some(value) = flash.and_then(|flash| flash.seal(self.app(), holder)) {
            Cookie::Flash.set(&mut response, &base, &value, Some(flash::SECONDS));
        }
        response
    }
}

/// A path on this host, and nothing by which a browser finds another one.
pub fn is_own_path(path: &str) -> bool {
    path.starts_with('/')
        && path.len() <= NEXT_MAX
        && !path.starts_with("//")
        && !path.contains('\\')
        && path.bytes().all(|byte| (0x21..0x7f).contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::is_own_path;

    #[test]
    fn nobody_is_led_elsewhere() {
        for own in ["/", "/operator", "/dashboard?business=1&mode=test", "/operator/alerts/7#mail"] {
            assert!(is_own_path(own), "{own}");
        }
        for other in [
            "",
            "operator",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\\b",
            "/a b",
            "/a\nb",
            "/\tb",
            "javascript:alert(1)",
            "/é",
        ] {
            assert!(!is_own_path(other), "{other:?}");
        }
        assert!(!is_own_path(&format!("/{}", "a".repeat(500))));
    }
}
