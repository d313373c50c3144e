//! The cookies of somebody who signs in: the session's token, what the next page shows once, and whether the desk's keys
//! are on.
//!
//! Over HTTPS they have the prefix `__Host-`, by which a browser takes them from us alone, and are sent over HTTPS alone.

use axum::response::Response;
use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue};
use zeroize::Zeroizing;

use crate::vault::link::TOKEN_CHARS;

/// Characters of a value that we read.
const VALUE_MAX: usize = 4_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie {
    Session,
    /// See `flash`.
    Flash,
    /// `off` where somebody has switched the keys of the desk off in this browser.
    Keys,
}

impl Cookie {
    fn name(self, is_https: bool) -> &'static str {
        match (self, is_https) {
            (Cookie::Session, true) => "__Host-session",
            (Cookie::Session, false) => "session",
            (Cookie::Flash, true) => "__Host-shown-once",
            (Cookie::Flash, false) => "shown-once",
            (Cookie::Keys, true) => "__Host-desk-keys",
            (Cookie::Keys, false) => "desk-keys",
        }
    }

    /// What the browser sent; `None` if it sent none, or two.
    pub fn read(self, headers: &HeaderMap, public_url: &str) -> Option<Zeroizing<String>> {
        let name = self.name(is_https(public_url));
        let sent = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut values = sent
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(sent, value)| *sent == name && value.len() <= VALUE_MAX);
        match (values.next(), values.next()) {
            (Some((_, value)), None) => Some(Zeroizing::new(value.to_owned())),
            _ => None,
        }
    }

    /// Lets the browser keep a value, for so many seconds or as long as it runs.
    pub fn set(self, response: &mut Response, public_url: &str, value: &str, seconds: Option<u32>) {
        let is_https = is_https(public_url);
        let secure = if is_https { "; Secure" } else { "" };
        let age = seconds.map(|seconds| format!("; Max-Age={seconds}")).unwrap_or_default();
        let name = self.name(is_https);
        let text = Zeroizing::new(format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{age}"));
        if let Ok(mut value) = HeaderValue::from_str(&text) {
            value.set_sensitive(true);
            response.headers_mut().append(SET_COOKIE, value);
        }
    }

    /// The value that a line sets, if it is this cookie's.
    pub fn value_of(self, line: &HeaderValue, public_url: &str) -> Option<String> {
        let (pair, _) = line.to_str().ok()?.split_once(';')?;
        let (name, value) = pair.split_once('=')?;
        (name == self.name(is_https(public_url))).then(|| value.to_owned())
    }

    /// Has the browser forget it.
    pub fn clear(self, response: &mut Response, public_url: &str) {
        self.set(response, public_url, "", Some(0));
    }
}

/// Whether it can be a token of ours.
pub fn is_token(value: &str) -> bool {
    value.len() == TOKEN_CHARS
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn is_https(public_url: &str) -> bool {
    public_url.starts_with("https://")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    const PLAIN: &str = "http://127.0.0.1:8080";
    const SAFE: &str = "https://pay.tills.example";

    fn sent(cookies: &[&str]) -> HeaderMap {
        cookies.iter().map(|text| (COOKIE, HeaderValue::from_str(text).unwrap())).collect()
    }

    #[test]
    fn a_cookie_is_read_by_its_whole_name_and_once() {
        let read = |cookies: &[&str], base| {
            Cookie::Session.read(&sent(cookies), base).map(|value| value.to_string())
        };
        assert_eq!(read(&["a=b; session=xyz; c=d"], PLAIN).as_deref(), Some("xyz"));
        assert_eq!(read(&["a=b", "session=xyz"], PLAIN).as_deref(), Some("xyz"));
        assert_eq!(read(&["__Host-session=xyz; session=abc"], SAFE).as_deref(), Some("xyz"));
        assert_eq!(read(&["session=xyz"], SAFE), None, "another site under our domain may have set it");
        assert_eq!(read(&["session=xyz; session=abc"], PLAIN), None);
        assert_eq!(read(&["mysession=xyz"], PLAIN), None);
    }

    #[test]
    fn a_cookie_is_for_us_alone_and_for_no_script() {
        let mut response = Response::new(Body::empty());
        Cookie::Session.set(&mut response, SAFE, "xyz", None);
        Cookie::Flash.clear(&mut response, PLAIN);
        let set: Vec<&str> =
            response.headers().get_all(SET_COOKIE).iter().map(|value| value.to_str().unwrap()).collect();
        assert_eq!(
            set,
            [
                "__Host-session=xyz; Path=/; HttpOnly; SameSite=Lax; Secure",
                "shown-once=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0",
            ]
        );
    }
}
