//! Small components: a badge, a notice, a tile with a figure, a timeline, tabs, what is shown once, an empty list, the
//! way on in a long one. Each takes plain data and writes itself by a template of `templates/kit/`.

use askama::Template;
use askama::filters::HtmlSafe;

use super::text::{Text, grouped};
use super::times::Time;
use crate::domain::money::{CURRENCY, Money, naira};

/// How something looks, in the same five colours everywhere. Colour never says it alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Done, and well.
    Good,
    /// Went wrong, or was refused.
    Bad,
    /// Waits for somebody.
    Warn,
    /// Under way.
    Info,
    /// Over, or not to be noticed.
    #[default]
    Muted,
}

impl Tone {
    pub fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Warn => "warn",
            Tone::Info => "info",
            Tone::Muted => "muted",
        }
    }
}

/// A link with its text.
#[derive(Clone, Debug)]
pub struct Link {
    pub href: String,
    pub text: Text,
}

impl Link {
    pub fn new(href: impl Into<String>, text: impl Into<Text>) -> Link {
        Link { href: href.into(), text: text.into() }
    }
}

/// A state in one or two words.
#[derive(Clone, Debug, Template)]
#[template(source = r#"<span class="badge {{ tone.class() }}">{{ text }}</span>"#, ext = "html")]
pub struct Badge {
    pub tone: Tone,
    pub text: Text,
}

impl Badge {
    pub fn new(tone: Tone, text: impl Into<Text>) -> Badge {
        Badge { tone, text: text.into() }
    }
}

/// An amount: never broken over two lines, digits of one width.
#[derive(Clone, Copy, Debug, Template)]
#[template(source = r#"<data class="naira" value="{{ self.0 }}">{{ self.text() }}</data>"#, ext = "html")]
pub struct Naira(pub Money);

impl Naira {
    pub fn text(&self) -> String {
        naira(self.0).replace(' ', "\u{a0}")
    }
}

/// What was done, or what is wrong, above the page's content. What is bad is read out at once.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/notice.html")]
pub struct Notice {
    pub tone: Tone,
    pub text: Text,
    pub link: Option<Link>,
}

impl Notice {
    /// What a form came to: `role="status"`.
    pub fn done(text: impl Into<Text>) -> Notice {
        Notice { tone: Tone::Good, text: text.into(), link: None }
    }

    /// Why a form was refused: `role="alert"`.
    pub fn refused(text: impl Into<Text>) -> Notice {
        Notice { tone: Tone::Bad, text: text.into(), link: None }
    }

    pub fn new(tone: Tone, text: impl Into<Text>) -> Notice {
        Notice { tone, text: text.into(), link: None }
    }

    pub fn with_link(self, link: Link) -> Notice {
        Notice { link: Some(link), ..self }
    }

    fn role(&self) -> &'static str {
        if self.tone == Tone::Bad { "alert" } else { "status" }
    }
}

/// One figure of an overview; several stand in a `div.tiles`.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/tile.html")]
pub struct Tile {
    pub label: Text,
    pub value: Text,
    /// Before the value, small.
    pub unit: Option<&'static str>,
    pub note: Option<Text>,
    pub tone: Option<Tone>,
    pub href: Option<String>,
}

impl Tile {
    pub fn new(label: impl Into<Text>, value: impl Into<Text>) -> Tile {
        Tile { label: label.into(), value: value.into(), unit: None, note: None, tone: None, href: None }
    }

    pub fn money(label: impl Into<Text>, amount: Money) -> Tile {
        let text = naira(amount);
        let digits = text.strip_prefix(CURRENCY).unwrap_or(&text).trim_start();
        Tile { unit: Some(CURRENCY), ..Tile::new(label, digits) }
    }

    pub fn note(self, note: impl Into<Text>) -> Tile {
        Tile { note: Some(note.into()), ..self }
    }

    /// A figure that asks for somebody.
    pub fn tone(self, tone: Tone) -> Tile {
        Tile { tone: Some(tone), ..self }
    }

    pub fn href(self, href: impl Into<String>) -> Tile {
        Tile { href: Some(href.into()), ..self }
    }
}

/// What happened, one step after the other.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/timeline.html")]
pub struct Timeline {
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub tone: Tone,
    pub at: Time,
    pub title: Text,
    /// Reasons, whole sentences.
    pub lines: Vec<Text>,
    pub by: Option<Text>,
    pub link: Option<Link>,
}

impl Step {
    pub fn new(tone: Tone, at: Time, title: impl Into<Text>) -> Step {
        Step { tone, at, title: title.into(), lines: Vec::new(), by: None, link: None }
    }

    pub fn line(mut self, line: impl Into<Text>) -> Step {
        self.lines.push(line.into());
        self
    }

    pub fn by(self, by: impl Into<Text>) -> Step {
        Step { by: Some(by.into()), ..self }
    }

    pub fn link(self, link: Link) -> Step {
        Step { link: Some(link), ..self }
    }
}

/// Views of one thing beside one another, each an address of its own.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/tabs.html")]
pub struct Tabs {
    /// What they are views of, for those who listen.
    pub label: Text,
    pub tabs: Vec<Tab>,
}

#[derive(Clone, Debug)]
pub struct Tab {
    pub link: Link,
    pub count: Option<String>,
    pub is_current: bool,
}

impl Tab {
    pub fn new(href: impl Into<String>, text: impl Into<Text>, is_current: bool) -> Tab {
        Tab { link: Link::new(href, text), count: None, is_current }
    }

    pub fn count(self, count: i64) -> Tab {
        Tab { count: Some(grouped(count)), ..self }
    }
}

/// A key, a secret or a link: selected by one click, copied by a button where scripts run.
#[derive(Clone, Template)]
#[template(path = "kit/secret.html")]
pub struct Secret {
    pub id: String,
    pub label: Text,
    pub value: String,
    pub hint: Text,
}

impl Secret {
    /// That it is not shown again is said by itself.
    pub fn once(id: impl Into<String>, label: impl Into<Text>, value: impl Into<String>) -> Secret {
        let hint = "Copy it now and keep it safe. It is not shown again.".into();
        Secret { id: id.into(), label: label.into(), value: value.into(), hint }
    }
}

/// A list with nothing in it: what would fill it, and how to begin.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/empty.html")]
pub struct Empty {
    pub title: Text,
    pub text: Text,
    pub link: Option<Link>,
}

impl Empty {
    pub fn new(title: impl Into<Text>, text: impl Into<Text>) -> Empty {
        Empty { title: title.into(), text: text.into(), link: None }
    }

    pub fn with_link(self, link: Link) -> Empty {
        Empty { link: Some(link), ..self }
    }
}

/// The way on in a list that is read by a cursor: back to its beginning, and on.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/pager.html")]
pub struct Pager {
    /// `None` where the list's beginning is shown.
    pub first: Option<String>,
    /// `None` where nothing follows.
    pub next: Option<String>,
    /// `Rows 1 to 50`, or how old the figures are.
    pub note: Option<Text>,
    /// The newest stand first, so that what follows is older.
    pub is_by_time: bool,
}

impl Pager {
    /// Of a list with the newest first; `None` if it leads nowhere.
    pub fn by_time(newest: Option<String>, older: Option<String>, note: Option<Text>) -> Option<Pager> {
        let leads = newest.is_some() || older.is_some();
        leads.then_some(Pager { first: newest, next: older, note, is_by_time: true })
    }

    /// Of a list in another order.
    pub fn in_order(first: Option<String>, next: Option<String>) -> Option<Pager> {
        let leads = first.is_some() || next.is_some();
        leads.then_some(Pager { first, next, note: None, is_by_time: false })
    }

    pub fn not_by_time(self) -> Pager {
        Pager { is_by_time: false, ..self }
    }
}

macro_rules! html_safe {
    ($($part:ty),*) => { $(impl HtmlSafe for $part {})* };
}
// Their templates escape every text.
html_safe!(Badge, Naira, Notice, Tile, Timeline, Tabs, Secret, Empty, Pager);
