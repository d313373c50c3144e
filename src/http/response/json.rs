//! Writes JSON answers by hand: money as a number with exactly two decimals, never through a
//! float, and no tree of values in between. Knows the notation, not what is written.
//! For `http` alone; the names of members are ours and need no escaping.

use std::io::Write;

use crate::domain::money::Money;
use crate::domain::time::Timestamp;

/// Room for an answer with one payment, so that it is allocated once.
const USUAL_BYTES: usize = 768;

/// An answer in the making.
pub struct Json {
    out: Vec<u8>,
}

impl Json {
    /// Begins an object; [`Json::finish`] ends it.
    pub fn object() -> Json {
        let mut out = Vec::with_capacity(USUAL_BYTES);
        out.push(b'{');
        Json { out }
    }

    /// Ends the outermost object.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }

    fn comma(&mut self) {
        if !matches!(self.out.last(), Some(b'{' | b'[')) {
            self.out.push(b',');
        }
    }

    fn name(&mut self, name: &str) {
        self.comma();
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    fn quoted(&mut self, text: &str) {
        // Writing into memory cannot fail.
        drop(serde_json::to_writer(&mut self.out, text));
    }

    pub fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        self.quoted(text);
    }

    /// `null` when there is none.
    pub fn opt_text(&mut self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(name, text),
            None => self.null(name),
        }
    }

    pub fn null(&mut self, name: &str) {
        self.name(name);
        self.out.extend_from_slice(b"null");
    }

    pub fn flag(&mut self, name: &str, flag: bool) {
        self.name(name);
        self.out.extend_from_slice(if flag { b"true" } else { b"false" });
    }

    /// A value that [`Json`] wrote before.
    pub fn written(&mut self, name: &str, json: &[u8]) {
        self.name(name);
        self.out.extend_from_slice(json);
    }

    pub fn int(&mut self, name: &str, n: i64) {
        self.name(name);
        drop(write!(self.out, "{n}"));
    }

    /// A number with exactly two decimals.
    pub fn money(&mut self, name: &str, money: Money) {
        self.name(name);
        drop(write!(self.out, "{money}"));
    }

    pub fn opt_money(&mut self, name: &str, money: Option<Money>) {
        match money {
            Some(money) => self.money(name, money),
            None => self.null(name),
        }
    }

    /// RFC 3339, UTC, microseconds.
    pub fn time(&mut self, name: &str, at: Timestamp) {
        self.name(name);
        drop(write!(self.out, "\"{at}\""));
    }

    pub fn opt_time(&mut self, name: &str, at: Option<Timestamp>) {
        match at {
            Some(at) => self.time(name, at),
            None => self.null(name),
        }
    }

    /// Begins an object as a member; [`Json::end`] ends it.
    pub fn begin(&mut self, name: &str) {
        self.name(name);
        self.out.push(b'{');
    }

    /// Begins an object as an item of a list.
    pub fn begin_item(&mut self) {
        self.comma();
        self.out.push(b'{');
    }

    pub fn end(&mut self) {
        self.out.push(b'}');
    }

    /// Begins a list as a member; [`Json::end_list`] ends it.
    pub fn begin_list(&mut self, name: &str) {
        self.name(name);
        self.out.push(b'[');
    }

    pub fn end_list(&mut self) {
        self.out.push(b']');
    }

    /// A text as an item of a list.
    pub fn text_item(&mut self, text: &str) {
        self.comma();
        self.quoted(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_every_kind_of_member() {
        let mut json = Json::object();
        json.flag("success", true);
        json.begin_list("data");
        json.begin_item();
        json.text("name", "Ọlá \"O\"\n");
        json.money("amount", Money(123_456_789_005));
        json.end();
        json.begin_item();
        json.end();
        json.end_list();
        json.begin("meta");
        json.int("page", -3);
        json.opt_text("next", None);
        json.time("at", Timestamp(0));
        json.begin_list("words");
        json.text_item("a");
        json.text_item("b");
        json.end_list();
        json.end();
        assert_eq!(
            String::from_utf8(json.finish()).unwrap(),
            r#"{"success":true,"data":[{"name":"Ọlá \"O\"\n","amount":1234567890.05},{}],"meta":{"page":-3,"next":null,"at":"1970-01-01T00:00:00.000000Z","words":["a","b"]}}"#
        );
    }
}
