//! Markup that swallows what comes after it: a style or a comment that never ends, an attribute whose quote is
//! closed rows later, rows written as text.
//!
//! Banks put narrations into their HTML as the payer typed them. So a payer can open such markup and make the
//! bank's own rows disappear. Nothing is repaired here: it is noticed, and a person looks. Only `html` uses it.

use scraper::node::Element;
use scraper::{ElementRef, Html, Node};

use super::{is_never_shown, speaks_of_money};

/// Namespace of elements that are neither a drawing nor a formula.
const HTML: &str = "http://www.w3.org/1999/xhtml";
/// Beginning of the name of an element that is appended to the mail. What swallows the end of the mail swallows
/// this element too.
const END: &str = "end-of-the-mail";
/// Names that are tried for it, in case the mail contains one.
const MAX_NAMES: usize = 100;

/// A name for the last element that is not in the mail. `None`: the mail contains all of them.
pub fn end_name(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    (0..MAX_NAMES).map(|n| format!("{END}-{n}")).find(|name| !lower.contains(name.as_str()))
}

/// Whether the document, parsed with an element `end` behind it, holds markup where text or nothing
/// should be, or ends inside of something.
pub fn found(document: &Html, end: &str) -> bool {
    let mut ended = false;
    for element in document.tree.nodes().filter_map(ElementRef::wrap) {
        if element.value().name() == end {
            ended |= stands_in_the_open(element);
        }
        if element.value().attrs().any(|(name, value)| swallows(name, value)) {
            return true;
        }
        let raw = is_raw(element.value().name());
        let mut texts = element.children().filter_map(|child| child.value().as_text());
        if texts.any(|text| holds_tags(text, raw)) {
            return true;
        }
    }
    !ended
}

/// Whether an end tag, a document type or a broken comment goes on until another tag begins: the parser drops
/// what such a one holds, or takes it for a comment.
pub fn by_what_is_dropped(html: &str) -> bool {
    html.match_indices('<').any(|(at, _)| {
        let rest = &html[at + 1..];
        let is_dropped = rest.starts_with(['/', '?', '!']) && !rest.starts_with("!--");
        is_dropped && rest.find(['<', '>']).is_some_and(|next| rest[next..].starts_with('<'))
    })
}

/// Not part of a drawing or a formula.
pub fn is_usual(element: &Element) -> bool {
    &*element.name.ns == HTML
}

/// Seen by a reader if it held text.
fn stands_in_the_open(element: ElementRef<'_>) -> bool {
    is_usual(element.value())
        && element.ancestors().all(|above| match above.value() {
            Node::Element(above) => is_usual(above) && !is_never_shown(above),
            Node::Fragment => false,
            _ => true,
        })
}

/// An attribute that swallowed tags, or lines with a sum.
fn swallows(name: &str, value: &str) -> bool {
    name.contains(['<', '"', '\''])
        || value.contains('<')
        || value.contains('\n') && value.bytes().any(|b| b.is_ascii_digit()) && speaks_of_money(value)
}

/// Elements in which only their own end tag is a tag.
fn is_raw(name: &str) -> bool {
    matches!(
        name,
        "style" | "script" | "title" | "textarea" | "xmp" | "iframe" | "noembed" | "noframes" | "plaintext"
    )
}

/// Whether a text holds tags: of tables, or any end tag; where everything is text, any tag.
fn holds_tags(text: &str, raw: bool) -> bool {
    text.match_indices('<').any(|(at, _)| {
        let rest = &text.as_bytes()[at + 1..];
        match rest {
            [b'/', next, ..] => next.is_ascii_alphabetic(),
            [b't' | b'T', next, ..] if !raw => {
                matches!(next.to_ascii_lowercase(), b'a' | b'b' | b'd' | b'h' | b'r')
            }
            [next, ..] => raw && next.is_ascii_alphabetic(),
            [] => false,
        }
    })
}
