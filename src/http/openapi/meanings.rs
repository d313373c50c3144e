//! What each code of an error means and what a caller can do, from the tables of docs/api.md: they are told in one place.
//!
//! A test of `response::code` holds those tables equal to the codes. Knows nothing of routes.

use std::sync::LazyLock;

use crate::http::response::code::{Code, FieldCode};

const API: &str = include_str!("../../../docs/api.md");

/// Of a code: in Markdown, without links.
#[derive(Clone, Debug)]
pub struct Meaning {
    pub code: String,
    pub meaning: String,
    /// Empty for the codes of fields.
    pub remedy: String,
}

static CODES: LazyLock<Vec<Meaning>> = LazyLock::new(|| table("Codes", 2));
static FIELD_CODES: LazyLock<Vec<Meaning>> = LazyLock::new(|| table("Codes of fields", 1));

pub fn of(code: Code) -> Option<&'static Meaning> {
    CODES.iter().find(|row| row.code == code.word())
}

/// Of every code, in the order in which callers are told of them.
pub fn all() -> impl Iterator<Item = (Code, &'static Meaning)> {
    Code::ALL.iter().filter_map(|code| Some((*code, of(*code)?)))
}

pub fn of_fields() -> impl Iterator<Item = &'static Meaning> {
    FieldCode::ALL.iter().filter_map(|code| FIELD_CODES.iter().find(|row| row.code == code.word()))
}

/// The rows under a heading; `at` is the cell that tells the meaning.
fn table(heading: &str, at: usize) -> Vec<Meaning> {
    let section = API.split_once(&format!("\n### {heading}\n")).map_or("", |(_, rest)| rest);
    let section = section.split_once("\n#").map_or(section, |(section, _)| section);
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).skip(1).collect();
        let cell = |at: usize| plain(cells.get(at).copied().unwrap_or_default());
        Meaning { code: cell(0).replace('`', ""), meaning: cell(at), remedy: cell(at + 1) }
    })
    .collect()
}

/// A text of Markdown whose links are the words of them: they lead to places of that page.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let inside = &rest[at + 1..];
        match inside.find("](").map(|middle| (middle, inside[middle..].find(')'))) {
            Some((middle, Some(end))) => {
                out.push_str(&rest[..at]);
                out.push_str(&inside[..middle]);
                rest = &inside[middle + end + 1..];
            }
            _ => break,
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_meaning() {
        assert_eq!(all().count(), Code::ALL.len());
        assert_eq!(of_fields().count(), FieldCode::ALL.len());
        for (code, row) in all() {
            assert!(!row.meaning.is_empty() && !row.remedy.is_empty(), "{code:?}");
            assert!(!row.meaning.contains("]("), "{row:?}");
        }
        let taken = of(Code::TransactionIdTaken).unwrap();
        assert_eq!(taken.meaning, "your business already has a payment with this `transaction_id`");
        assert_eq!(taken.remedy, "read that payment, or use another id");
    }

    #[test]
    fn links_are_told_by_their_words() {
        assert_eq!(plain("see [Codes](#codes), [x](y)."), "see Codes, x.");
        assert_eq!(plain("[a] and [b"), "[a] and [b");
    }
}
