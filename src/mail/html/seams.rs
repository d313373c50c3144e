//! Whether what a payer typed made rows of its own: the markup between the texts of the source,
//! the bank's own compared with what stands behind a narration.
//!
//! A bank writes its rows by one pattern, and its source usually breaks lines between them, which
//! a payer cannot type. It reads the source, not the parsed page: the parser mends what was left
//! unclosed. Called by `mail` for the HTML of a recognised layout.

use crate::mail::sheet::{self, fold_label};

/// Texts looked at; an alert has some hundred.
const MAX_TEXTS: usize = 8000;
/// Kinds of seams kept; a bank has two or three.
const MAX_SEAMS: usize = 50;

/// One tag or blank between two texts.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Tag {
        name: String,
        closing: bool,
        attributes: Vec<String>,
    },
    Comment,
    Blank,
    /// White space with a line break: the bank's own hand.
    LineBreak,
}

/// A text of the source, its references to signs mended where labels have them.
struct Run {
    text: String,
    /// What stands between the text before and this one.
    before: Vec<Piece>,
}

/// What is asked about a layout.
pub struct Labels<'a> {
    /// Labels of values that a payer may have typed, folded.
    pub free: &'a [String],
    /// All labels of the layout, folded.
    pub known: &'a [String],
    /// One blank may part a label from its value.
    pub spaced: bool,
}

/// Whether a value that a payer may have typed goes over into markup that is not the bank's.
pub fn torn(html: &str, labels: &Labels<'_>) -> bool {
    let runs = runs(html);
    let opens_row =
        |run: &Run| sheet::split_label(&run.text, labels.known, labels.known, labels.spaced).is_some();
    let mut own: Vec<&[Piece]> = Vec::new();
    let mut typed = false;
    let mut i = 0;
    while i < runs.len() {
        let run = &runs[i];
        let label = opens_row(run);
        let seam = tail(&run.before);
        if label && typed && !by_the_bank(&run.before) && !own.is_empty() && !own.contains(&seam) {
            return true;
        }
        // What stands before the first text parts nothing.
        if label && !typed && i > 0 && own.len() < MAX_SEAMS && !own.contains(&seam) {
            own.push(seam);
        }
        if let Some(rest) = sheet::split_label(&run.text, labels.free, labels.known, labels.spaced) {
            typed = true;
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
    // Blanks around a text are the text's.
    while let [Piece::Blank, rest @ ..] | [rest @ .., Piece::Blank] = tail {
        tail = rest;
    }
    tail
}

fn runs(html: &str) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    let mut before = Vec::new();
    let mut rest = html;
    while !rest.is_empty() && out.len() < MAX_TEXTS {
        let tag = rest.strip_prefix('<').filter(|_| begins_tag(rest));
        if let Some(tag) = tag {
            let (piece, length) = if tag.starts_with("!--") {
                (Piece::Comment, rest.find("-->").map_or(rest.len(), |at| at + 3))
            } else {
                let length = tag_length(rest);
                (read_tag(rest[1..length].trim_end_matches('>')), length)
            };
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
            out.push(Run { text: sheet::collapse(trimmed), before: std::mem::take(&mut before) });
            push_blank(&mut before, &mended[mended.trim_end().len()..]);
        }
    }
    out
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
        let (free, known) = (words(&["story"]), words(&["account", "story", "amount", "remarks"]));
        torn(html, &Labels { free: &free, known: &known, spaced: false })
    }

    #[test]
    fn rows_like_the_banks_own_are_whole() {
        for html in [
            "<tr><td>Account</td><td>1</td></tr><tr><td>Story</td><td>x</td></tr><tr><td>Amount</td><td>5</td></tr>",
            "<tr><td a=1>Account<td>1<tr><td a=2>Story<td>x<tr><td a='3'>Amount<td>5",
            "<tr><td>Account</td><td>1</td></tr><tr><td>Story</td><td></td></tr><tr><td>Remarks</td><td> </td></tr><tr><td>Amount</td><td>5</td></tr>",
            "<tr><td>Account</td><td>1</td></tr>\n<tr><td>Story</td><td><p>x</p></td></tr>\n<tr class=odd><td>Amount</td><td>5</td></tr>",
            "<p>Account: 1<br>Story: x<br>Amount: 5</p>",
            "<div>Story<br>x</div><div>Amount<br>5</div>",
            "<tr><td>Story</td><td>a < b</td></tr><tr><td>Amount</td><td>5</td></tr>",
        ] {
            assert!(!is_torn(html), "{html}");
        }
    }

    #[test]
    fn rows_of_another_make_behind_a_story_are_not() {
        let mail = |story: &str| {
            format!(
                "<tr><td>Account</td><td>1</td></tr>\n<tr><td>Story</td><td>{story}</td></tr>\n<tr><td>Amount</td><td>5</td></tr>"
            )
        };
        assert!(!is_torn(&mail("x")));
        for story in [
            "x<tr><td>Amount<td>9",
            "x</td></tr><tr><td>Amount</td><td>9",
            "x</td></tr> <tr><td>Amount</td><td>9",
            "x<b>y</b>",
            "x<table><tr><td>Amount<td>9</table>",
            "x<div>Amount: 9</div>",
            "x<tr><td>z<td>z<tr><td>Amount<td>9",
            "<i>x<tr><td>Amount<td>9",
        ] {
            assert!(is_torn(&mail(story)), "{story}");
        }
    }
}
