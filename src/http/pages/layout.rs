//! What stands around the content of every page: whose it is, the ways on, whose data it shows, who is signed in.
//!
//! A page's template begins with `{% extends "kit/layout.html" %}`, fills the block `content`, and has the frame in a
//! field called `frame`.

use url::form_urlencoded;

use super::assets::{HTMX, SCRIPT, STYLE};
use super::brand::Brand;
use super::parts::{Link, Notice};
use super::text::{Text, grouped};

/// One place of the navigation.
#[derive(Clone, Debug)]
pub struct Way {
    pub link: Link,
    /// What waits there.
    pub count: Option<String>,
    pub is_current: bool,
    /// The first of a group, which begins with this heading.
    pub heading: Option<Text>,
}

impl Way {
    pub fn new(href: impl Into<String>, text: impl Into<Text>) -> Way {
        Way { link: Link::new(href, text), count: None, is_current: false, heading: None }
    }

    pub fn current(self, is_current: bool) -> Way {
        Way { is_current, ..self }
    }

    /// Nothing is shown for none.
    pub fn count(self, count: i64) -> Way {
        Way { count: (count > 0).then(|| grouped(count)), ..self }
    }

    pub fn heading(self, heading: impl Into<Text>) -> Way {
        Way { heading: Some(heading.into()), ..self }
    }
}

/// Whose data the page shows.
#[derive(Clone, Debug)]
pub struct Place {
    pub name: Text,
    /// The others that the user may go to.
    pub others: Vec<Link>,
}

/// Live data or test data, where a page has both.
#[derive(Clone, Debug)]
pub struct ModeSwitch {
    pub is_test: bool,
    /// The same page with the other data.
    pub other: String,
}

/// Who is signed in. Their time zone is told where times are.
#[derive(Clone, Debug)]
pub struct SignedIn {
    pub email: Text,
    pub role: Text,
    pub zone: Text,
    pub csrf: String,
}

#[derive(Clone, Debug)]
pub struct Frame {
    /// Of the page, in the browser's title and its history.
    pub title: Text,
    /// Who runs the service.
    pub operator: Text,
    pub logo: Option<String>,
    pub icon: String,
    /// Where the name at the top leads.
    pub home: String,
    /// Empty on pages of people who are not signed in: their content stands in the middle.
    pub ways: Vec<Way>,
    pub place: Option<Place>,
    pub mode: Option<ModeSwitch>,
    pub user: Option<SignedIn>,
    /// The ways lead to pages that take one another's place without being loaded anew: what was typed into one is not lost.
    pub boosts: bool,
    /// What a form came to, above the content.
    pub notices: Vec<Notice>,
}

/// The name where the operator has none configured.
const NAME: &str = "tillbell";

impl Frame {
    /// A page of somebody who is not signed in.
    pub fn new(title: impl Into<Text>, brand: &Brand, public_url: &str) -> Frame {
        Frame {
            title: title.into(),
            operator: brand.name.as_deref().unwrap_or(NAME).into(),
            logo: brand.logo_address(public_url),
            icon: brand.icon_address(public_url),
            home: "/".to_owned(),
            ways: Vec::new(),
            place: None,
            mode: None,
            user: None,
            boosts: false,
            notices: Vec::new(),
        }
    }

    pub fn notice(mut self, notice: Notice) -> Frame {
        self.notices.push(notice);
        self
    }

    /// What is wrong comes first in the title too, for those who listen.
    pub fn head_title(&self) -> String {
        let wrong = self.notices.iter().any(|notice| notice.tone == super::parts::Tone::Bad);
        let place = self.place.as_ref().map(|place| place.name.as_str());
        let parts =
            [wrong.then_some("Error"), Some(self.title.as_str()), place, Some(self.operator.as_str())];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    pub fn style(&self) -> String {
        STYLE.address()
    }

    pub fn htmx(&self) -> String {
        HTMX.address()
    }

    pub fn script(&self) -> String {
        SCRIPT.address()
    }
}

/// An address with a query; what is empty is left out.
pub fn link(path: &str, query: &[(&str, &str)]) -> String {
    let mut written = form_urlencoded::Serializer::new(String::new());
    for (name, value) in query.iter().filter(|(_, value)| !value.is_empty()) {
        written.append_pair(name, value);
    }
    let query = written.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Pages;

    #[test]
    fn a_link_keeps_what_is_set() {
        assert_eq!(link("/x", &[("q", ""), ("to", "")]), "/x");
        assert_eq!(link("/x", &[("q", "a b&c"), ("to", ""), ("late", "1")]), "/x?q=a+b%26c&late=1");
    }

    #[test]
    fn the_title_says_first_that_something_is_wrong() {
        let brand = Brand::plain(&Pages::default());
        let frame = Frame::new("Keys", &brand, "http://127.0.0.1:8080");
        assert_eq!(frame.head_title(), "Keys · tillbell");
        let frame = frame.notice(Notice::refused("No."));
        assert_eq!(frame.head_title(), "Error · Keys · tillbell");
    }
}
