//! Whether a payer typed markup that makes rows: compares the markup after a narration with the markup that the
//! bank itself writes between texts.
//!
//! A bank writes all its rows by one pattern, and its source usually has line breaks between them. A payer can
//! type no line break, and no more than the field holds. The source is read and not the parsed page, because
//! the parser repairs unclosed markup. Called by `alert_reader::read` for the HTML of a recognised layout.

use crate::alert_reader::text_table::{self, fold_label};

/// Texts that are looked at; an alert has about a hundred.
const MAX_TEXTS: usize = 8000;
/// `&ThickSpace;` and the like between `&` and `;`.
const LONGEST_REFERENCE: usize = 10;
/// Kinds of seams kept; a bank has two or three.
const MAX_SEAMS: usize = 50;

/// One tag, or whitespace, between two texts.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Tag {
        name: String,
        closing: bool,
        attributes: Vec<String>,
    },
    Comment,
    Blank,
    /// Whitespace with a line break, which only the bank can have written.
    LineBreak,
}

/// A text of the source, with character references decoded where labels have them.
struct Run {
    text: String,
    /// Characters of the source before it.
    at: usize,
    /// The same for the first cell that begins before it, or the end of the text before.
    opened: usize,
    /// What stands between the text before and this one.
    before: Vec<Piece>,
}

/// What is asked about a layout.
pub struct Labels<'a> {
    /// Labels of values that a payer may have typed, folded.
    pub free: &'a [String],
    /// All labels of the layout, folded.
    pub known: &'a [String],
    /// One space may separate a label from its value.
    pub spaced: bool,
    /// Characters that a payer may have typed into one value.
    pub typed_max: usize,
    /// Which of the texts without which a mail is not of this layout this one is. Standing there once, it is
    /// the bank's: a payer's would be another.
    pub required: &'a dyn Fn(&str) -> Option<usize>,
}

/// Whether a value that a payer may have typed goes over into markup that is not the bank's.
pub fn has_injected_markup(html: &str, labels: &Labels<'_>) -> bool {
    let runs = runs(html);
    let opens_row =
        |run: &Run| text_table::split_label(&run.text, labels.known, labels.known, labels.spaced).is_some();
    let is_only_one = |run: &Run| {
        let which = (labels.required)(&run.text);
        which.is_some() && runs.iter().filter(|other| (labels.required)(&other.text) == which).count() == 1
    };
    let mut own: Vec<&[Piece]> = Vec::new();
    // Where the last value that may have been typed begins.
    let mut typed = None;
    let mut i = 0;
    while i < runs.len() {
        let run = &runs[i];
        let label = opens_row(run);
        let seam = tail(&run.before);
        let in_reach = typed.is_some_and(|from| run.at.saturating_sub(from) <= labels.typed_max);
        if label
            && in_reach
            && !by_the_bank(&run.before)
            && !own.is_empty()
            && !own.contains(&seam)
            && !is_only_one(run)
        {
            return true;
        }
        // What comes before the first text separates nothing.
        if label && typed.is_none() && i > 0 && own.len() < MAX_SEAMS && !own.contains(&seam) {
            own.push(seam);
        }
        if let Some(rest) = text_table::split_label(&run.text, labels.free, labels.known, labels.spaced) {
            let mut value = i;
            if rest.is_empty() {
                value += 1;
                while runs.get(value).is_some_and(|r| fold_label(&r.text).is_empty()) {
                    value += 1;
                }
            }
            // A value that its own cell does not close before something else begins.
            let cell = &runs.get(value).map_or(&[][..], |r| &r.before[..]);
            let filled = value == i || runs.get(value).is_some_and(|r| !opens_row(r));
            typed = Some(runs.get(value).map_or(run.at, |r| if filled { r.at } else { r.opened }));
            let in_cells = if value > i { cell.iter().any(ends_cell) } else { cell.iter().any(begins_cell) };
            if filled
                && in_cells
                && let Some(next) = runs.get(value + 1).filter(|r| !opens_row(r))
                && !by_the_bank(&next.before)
                && !next.before.iter().any(ends_cell)
            {
                return true;
            }
        }
        i += 1;
    }
    false
}

fn by_the_bank(seam: &[Piece]) -> bool {
    seam.contains(&Piece::LineBreak)
}

fn is_cell(name: &str) -> bool {
    matches!(name, "td" | "th")
}

fn begins_cell(piece: &Piece) -> bool {
    matches!(piece, Piece::Tag { name, closing: false, .. } if is_cell(name))
}

fn ends_cell(piece: &Piece) -> bool {
    matches!(piece, Piece::Tag { name, closing: true, .. } if is_cell(name))
}

/// The part of a seam behind the last cell that is not the text's own: empty cells before it belong to
/// the row before.
fn tail(seam: &[Piece]) -> &[Piece] {
    let own = seam.iter().rposition(begins_cell).unwrap_or(0);
    let mut tail = seam[..own].iter().rposition(begins_cell).map_or(seam, |at| &seam[at + 1..]);
    // Spaces around a text belong to the text.
    while let [Piece::Blank, rest @ ..] | [rest @ .., Piece::Blank] = tail {
        tail = rest;
    }
    tail
}

fn runs(html: &str) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    let mut before = Vec::new();
    let mut rest = html;
    let (mut at, mut opened, mut in_cell) = (0, 0, false);
    while !rest.is_empty() && out.len() < MAX_TEXTS {
        let tag = rest.strip_prefix('<').filter(|_| begins_tag(rest));
        if let Some(tag) = tag {
            let (piece, length) = if tag.starts_with("!--") {
                (Piece::Comment, rest.find("-->").map_or(rest.len(), |at| at + 3))
            } else {
                let length = tag_length(rest);
                (read_tag(rest[1..length].trim_end_matches('>')), length)
            };
            at += signs(&rest[..length]);
            if begins_cell(&piece) && !in_cell {
                (opened, in_cell) = (at, true);
            }
            before.push(piece);
            rest = &rest[length..];
            continue;
        }
        // A lone `<` is text.
        let next = rest.match_indices('<').find(|(at, _)| begins_tag(&rest[*at..]));
        let length = next.map_or(rest.len(), |(at, _)| at);
        let text = &rest[..length];
        rest = &rest[length..];
        let mended = text.replace("&nbsp;", " ").replace("&#160;", " ").replace("&amp;", "&");
        let trimmed = mended.trim();
        let lead = &mended[..mended.len() - mended.trim_start().len()];
        push_blank(&mut before, lead);
        if !trimmed.is_empty() {
            out.push(Run {
                text: text_table::collapse(trimmed),
                at,
                opened,
                before: std::mem::take(&mut before),
            });
            (opened, in_cell) = (at + signs(text), false);
            push_blank(&mut before, &mended[mended.trim_end().len()..]);
        }
        at += signs(text);
    }
    out
}

/// Signs that somebody typed to make this source: a reference to a sign is one.
fn signs(source: &str) -> usize {
    let references = source.split('&').skip(1).filter_map(|rest| rest.find(';'));
    let escaped: usize = references.filter(|at| (1..=LONGEST_REFERENCE).contains(at)).map(|at| at + 1).sum();
    source.chars().count().saturating_sub(escaped)
}

fn begins_tag(text: &str) -> bool {
    matches!(text.as_bytes(), [b'<', b'/' | b'!' | b'?', ..])
        || matches!(text.as_bytes(), [b'<', next, ..] if next.is_ascii_alphabetic())
}

fn push_blank(seam: &mut Vec<Piece>, blank: &str) {
    if !blank.is_empty() {
        seam.push(if blank.contains('\n') { Piece::LineBreak } else { Piece::Blank });
    }
}

/// Bytes up to the `>` that no quotes hold.
fn tag_length(tag: &str) -> usize {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if byte == open => quote = None,
            _ => {}
        }
    }
    tag.len()
}

/// Name and the names of attributes; their values vary from row to row.
fn read_tag(tag: &str) -> Piece {
    let closing = tag.starts_with('/');
    let body = tag.trim_matches('/');
    let name: String = body.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
    let mut attributes = Vec::new();
    let mut rest = &body[name.len()..];
    while let Some(start) = rest.find(|c: char| !c.is_whitespace() && c != '/') {
        rest = &rest[start..];
        let end = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
        attributes.push(rest[..end].to_ascii_lowercase());
        rest = rest[end..].trim_start();
        let Some(value) = rest.strip_prefix('=') else {
            continue;
        };
        let value = value.trim_start();
        rest = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).map_or("", |(_, rest)| rest),
            _ => value.find(char::is_whitespace).map_or("", |at| &value[at..]),
        };
    }
    attributes.sort();
    Piece::Tag { name: name.to_ascii_lowercase(), closing, attributes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_torn(html: &str) -> bool {
        let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let (free, known) =
            (words(&["narration"]), words(&["account", "narration", "amount", "remarks", "needed"]));
        let required = |text: &str| (text == "Needed").then_some(0);
        has_injected_markup(
            html,
            &Labels { free: &free, known: &known, spaced: false, typed_max: 100, required: &required },
        )
    }

    #[test]
    fn rows_like_the_banks_own_are_whole() {
        for html in [
            "<tr><td>Account</td><td>1</td></tr><tr><td>Narration</td><td>x</td></tr><tr><td>Amount</td><td>5</td></tr>",
            "<tr><td a=1>Account<td>1<tr><td a=2>Narration<td>x<tr><td a='3'>Amount<td>5",
            "<tr><td>Account</td><td>1</td></tr><tr><td>Narration</td><td></td></tr><tr><td>Remarks</td><td> </td></tr><tr><td>Amount</td><td>5</td></tr>",
            "<tr><td>Account</td><td>1</td></tr>\n<tr><td>Narration</td><td><p>x</p></td></tr>\n<tr class=odd><td>Amount</td><td>5</td></tr>",
            "<p>Account: 1<br>Narration: x<br>Amount: 5</p>",
            "<div>Narration<br>x</div><div>Amount<br>5</div>",
            "<tr><td>Narration</td><td>a < b</td></tr><tr><td>Amount</td><td>5</td></tr>",
        ] {
            assert!(!is_torn(html), "{html}");
        }
    }

    #[test]
    fn a_second_table_that_nobody_can_have_typed_is_whole() {
        let mail = |table: &str, narration: &str| {
            format!(
                "<table><tr><td>Account</td><td>1</td></tr><tr><td>Narration</td><td>{narration}</td></tr></table>\
                 {table}<tr><td>Amount</td><td>5</td></tr></table>"
            )
        };
        let wide = format!("<table style='{}'>", "a".repeat(80));
        assert!(!is_torn(&mail(&wide, "x")));
        assert!(is_torn(&mail("<table>", "x")));
        // Rows between, and a narration that fills its room, count as well.
        assert!(!is_torn(&mail("<table>", &"x".repeat(90))));
        assert!(is_torn(&mail("<table>", &"&amp;".repeat(30))));
        let row = "<tr><td>Remarks</td><td>none of them</td></tr>";
        assert!(!is_torn(&mail(&format!("{}<table>", row.repeat(2)), "x").replacen("</table>", "", 1)));
    }

    #[test]
    fn a_row_that_the_layout_needs_is_the_banks_where_it_stands_once() {
        let mail = |narration: &str| {
            format!("<div>Account: 1</div><div>Narration: {narration}</div><p>Dear</p><p>Needed</p><p>5</p>")
        };
        assert!(!is_torn(&mail("x")));
        assert!(is_torn(&mail("x</div><p>Needed</p><p>9</p>")));
        assert!(is_torn(&mail("x").replace("Needed", "Amount")));
    }

    #[test]
    fn rows_of_another_make_behind_a_story_are_not() {
        let mail = |narration: &str| {
            format!(
                "<tr><td>Account</td><td>1</td></tr>\n<tr><td>Narration</td><td>{narration}</td></tr>\n<tr><td>Amount</td><td>5</td></tr>"
            )
        };
        assert!(!is_torn(&mail("x")));
        for narration in [
            "x<tr><td>Amount<td>9",
            "x</td></tr><tr><td>Amount</td><td>9",
            "x</td></tr> <tr><td>Amount</td><td>9",
            "x<b>y</b>",
            "x<table><tr><td>Amount<td>9</table>",
            "x<div>Amount: 9</div>",
            "x<tr><td>z<td>z<tr><td>Amount<td>9",
            "<i>x<tr><td>Amount<td>9",
        ] {
            assert!(is_torn(&mail(narration)), "{narration}");
        }
    }
}
