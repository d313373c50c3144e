//! The visible content of a part as rows of cells. It may have been an HTML table, text with tabs or pipes, or
//! labels and values on separate lines.
//!
//! `TextTable::values` finds the values at a label. It knows no bank, and not what a label means.

use std::collections::HashMap;

/// Rows in one part; an alert has under a hundred.
pub const MAX_ROWS: usize = 4000;
/// Cells in one row. The time to search for values grows with the square of it.
pub const MAX_CELLS: usize = 64;
/// Stands between digits of different heights; no figure is read across it.
pub const RAISED: char = '^';
/// Lines over which a wrapped value may go on.
const MAX_WRAPPED: usize = 3;
/// Mail programs wrap no shorter line.
const SHORTEST_WRAPPED_LINE: usize = 45;

/// Cells of one row, trimmed at both ends; spaces inside are kept as they came (a bank counts them).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextTable {
    pub rows: Vec<Vec<String>>,
    /// Lines may be parts of a longer one: plain text, wrapped on its way.
    pub wrapped_lines: bool,
    /// Cells that lost invisible characters, mostly spaces at their ends, and how many: a bank that
    /// cuts a value at a length counted them.
    pub unseen: HashMap<String, usize>,
}

/// How labels and values are separated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrangement {
    /// One space may separate a label from its value.
    pub spaced: bool,
    /// The value may be long enough to have been wrapped.
    pub wraps: bool,
}

/// The cells of a table that begin with a label: row and place in it.
#[derive(Clone, Debug, Default)]
pub struct Labelled(Vec<(usize, usize)>);

/// Where a value was found, so that it can be masked.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub text: String,
    /// Characters that its cell lost (see `TextTable::unseen`).
    pub unseen: usize,
    rows: Vec<usize>,
    cell: usize,
}

impl Found {
    /// The rows that it stands in; more than one where it was wrapped.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }
}

/// Characters that change what a person sees, or that no bank writes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Oddities {
    pub bidi: bool,
    pub foreign_digits: bool,
    /// A zero-width character inside a word or a figure. Between spaces they only fill a preview line.
    pub invisible: bool,
}

impl Oddities {
    /// In words, for the person who will look at the mail.
    pub fn doubts(self) -> impl Iterator<Item = &'static str> {
        [
            (self.bidi, "the mail has characters that change the direction of text"),
            (self.foreign_digits, "the mail has digits of another script"),
            (self.invisible, "the mail has invisible characters inside words or numbers"),
        ]
        .into_iter()
        .filter_map(|(there, words)| there.then_some(words))
    }
}

/// Removes zero-width characters, and writes every kind of space as a space and every kind of colon as a colon.
pub fn clean(text: &str) -> (String, Oddities) {
    // As nearly all are.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return (text.to_owned(), Oddities::default());
    }
    let mut odd = Oddities::default();
    let mut out = String::with_capacity(text.len());
    // The last character had no width, and came after a letter or a digit.
    let mut inside = false;
    for c in text.chars() {
        let without_width = matches!(
            c,
            '\u{AD}' | '\u{34F}' | '\u{180E}' | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}'
        );
        if without_width {
            inside |= out.ends_with(char::is_alphanumeric);
            continue;
        }
        odd.invisible |= inside && c.is_alphanumeric();
        inside = false;
        match c {
            '\n' | '\t' => out.push(c),
            '\u{FE00}'..='\u{FE0F}' => {}
            '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
                odd.bidi = true
            }
            '\u{FF1A}' => out.push(':'),
            c if c.is_whitespace() => out.push(' '),
            c if c.is_control() => {}
            c => {
                // Digits of other scripts look like ours and may have other values.
                odd.foreign_digits |=
                    !c.is_ascii() && c.is_numeric() && !matches!(c, '²' | '³' | '¹' | '¼' | '½' | '¾');
                out.push(c);
            }
        }
    }
    (out, odd)
}

/// Whitespace collapsed, ends trimmed.
pub fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// What may stand around a label and is no part of it.
const ORNAMENTS: [char; 7] = [':', '*', '#', '.', '|', ' ', '_'];

/// A label as compared: lower case, without its colon and ornaments.
pub fn fold_label(text: &str) -> String {
    collapse(text).trim_matches(ORNAMENTS).to_lowercase()
}

/// What is left of a text without white space and ornaments around it.
fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ORNAMENTS.contains(&c))
}

/// Whether a text, folded, is one of these labels. Every cell of a mail is asked for every field, so that nearly none is folded.
fn is_label(text: &str, labels: &[String]) -> bool {
    if !text.is_ascii() {
        return labels.contains(&fold_label(text));
    }
    let bare = bare(text);
    labels.iter().any(|label| {
        let mut words = bare.split_whitespace();
        may_begin(bare, label)
            && label
                .split_whitespace()
                .all(|want| words.next().is_some_and(|word| word.eq_ignore_ascii_case(want)))
            && words.next().is_none()
    })
}

/// Whether a text may begin with a label; of most the first sign says that it does not.
fn may_begin(text: &str, label: &str) -> bool {
    match (text.as_bytes().first(), label.as_bytes().first()) {
        (Some(got), Some(want)) => !got.is_ascii() || !want.is_ascii() || got.eq_ignore_ascii_case(want),
        _ => label.is_empty(),
    }
}

impl TextTable {
    /// Whether it was HTML.
    pub fn is_page(&self) -> bool {
        !self.wrapped_lines
    }

    /// A text part: one row a line, cells at tabs or between pipes.
    pub fn from_text(text: &str) -> TextTable {
        let mut table = TextTable { wrapped_lines: true, ..TextTable::default() };
        // One row more than the limit, so that `too_large` sees it.
        for line in text.lines().take(MAX_ROWS + 1) {
            let row = cells(line);
            let blanks = line.len() - line.trim_end_matches(' ').len();
            if let [only] = &row[..] {
                table.lost(only, blanks);
            }
            table.rows.push(row);
        }
        table
    }

    /// Notes that a cell lost characters that nobody sees.
    pub fn lost(&mut self, cell: &str, signs: usize) {
        if signs > 0 && !cell.is_empty() {
            let known = self.unseen.entry(cell.to_owned()).or_default();
            *known = signs.max(*known);
        }
    }

    /// Cleans every cell (see `clean`) and trims it. Returns what was odd about them.
    pub fn clean(&mut self) -> Vec<Oddities> {
        let mut all = Vec::new();
        let mut lost = Vec::new();
        for cell in self.rows.iter_mut().flatten() {
            let (plain, odd) = clean(cell);
            all.push(odd);
            let plain = plain.trim();
            let before = self.unseen.get(cell).copied().unwrap_or_default();
            let signs = before + cell.chars().count() - plain.chars().count();
            if signs > 0 {
                lost.push((plain.to_owned(), signs));
            }
            *cell = plain.to_owned();
        }
        self.unseen.clear();
        for (cell, signs) in lost {
            self.lost(&cell, signs);
        }
        all
    }

    /// Why this is not an alert, if it has more rows or cells than one can have.
    pub fn too_large(&self) -> Option<String> {
        if self.rows.len() > MAX_ROWS {
            return Some(format!("a part has more than {MAX_ROWS} rows"));
        }
        let wide = self.rows.iter().any(|row| row.len() > MAX_CELLS);
        wide.then(|| format!("a row has more than {MAX_CELLS} cells"))
    }

    /// Splits rows that are drawn with pipes inside one cell.
    pub fn split_drawn_rows(&mut self) {
        for row in &mut self.rows {
            if let [only] = &row[..]
                && only.starts_with('|')
            {
                *row = cells(only);
            }
        }
    }

    /// All visible text, rows as lines. A template's expressions are run over it.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for row in &self.rows {
            let begin = out.len();
            for word in row.iter().flat_map(|cell| cell.split_whitespace()) {
                if out.len() > begin {
                    out.push(' ');
                }
                out.push_str(word);
            }
            if out.len() > begin {
                out.push('\n');
            }
        }
        out
    }

    /// Every value at one of `labels`. `known` are all labels of the layout: where one of them begins, a
    /// value has ended.
    pub fn values(&self, labels: &[String], known: &[String], how: Arrangement) -> Vec<Found> {
        self.places().filter_map(|place| self.value_at(place, labels, known, how)).collect()
    }

    /// The same of labels that are known, where it was looked already which cells begin with any of those: of a mail's hundreds of
    /// cells some ten do, and each field is asked for by itself. Cells may have been masked since.
    pub fn values_among(
        &self,
        labelled: &Labelled,
        labels: &[String],
        known: &[String],
        how: Arrangement,
    ) -> Vec<Found> {
        debug_assert!(labels.iter().all(|label| known.contains(label)), "{labels:?} are not all known");
        let places = labelled.0.iter().copied();
        places.filter_map(|place| self.value_at(place, labels, known, how)).collect()
    }

    /// Which cells begin with one of these labels.
    pub fn labelled(&self, known: &[String], spaced: bool) -> Labelled {
        let begins = |&(r, c): &(usize, usize)| split_label(&self.rows[r][c], known, known, spaced).is_some();
        Labelled(self.places().filter(begins).collect())
    }

    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        self.rows.iter().enumerate().flat_map(|(r, row)| (0..row.len()).map(move |c| (r, c)))
    }

    /// The value of a cell that begins with one of the labels: behind it, or in the next cell.
    fn value_at(
        &self,
        (r, c): (usize, usize),
        labels: &[String],
        known: &[String],
        how: Arrangement,
    ) -> Option<Found> {
        match split_label(&self.rows[r][c], labels, known, how.spaced)? {
            "" => self.after(r, c, known, how),
            rest => Some(self.wrapped(r, c, rest, known, how)),
        }
    }

    /// The value in the cells right of the label or, when the row ends there, below it.
    fn after(&self, r: usize, c: usize, known: &[String], how: Arrangement) -> Option<Found> {
        let row = &self.rows[r];
        for (i, cell) in row.iter().enumerate().skip(c + 1) {
            let text = cell.trim_start_matches(':').trim();
            if text.is_empty() {
                continue;
            }
            if is_label(text, known) {
                return None;
            }
            return Some(self.wrapped(r, i, text, known, how));
        }
        // There were cells for it and all are empty: the value is empty, not on the next row.
        if row.len() > c + 1 {
            return None;
        }
        for (i, next) in self.rows.iter().enumerate().skip(r + 1) {
            let line = collapse(&next.join(" "));
            let text = line.trim_start_matches(':').trim();
            if text.is_empty() {
                continue;
            }
            if next.iter().any(|cell| split_label(cell, known, known, how.spaced).is_some()) {
                return None;
            }
            let raw = if next.len() == 1 { next[0].trim_start_matches(':').trim() } else { text };
            return Some(self.wrapped(i, 0, raw, known, how));
        }
        None
    }

    /// Adds the lines a long value was wrapped to, when a known label ends them.
    fn wrapped(&self, r: usize, c: usize, first: &str, known: &[String], how: Arrangement) -> Found {
        let unseen = self.unseen.get(&self.rows[r][c]).copied().unwrap_or_default();
        let mut found = Found { text: first.to_owned(), unseen, rows: vec![r], cell: c };
        let width: usize = self.rows[r].iter().map(|cell| cell.chars().count() + 1).sum();
        let long = width > SHORTEST_WRAPPED_LINE;
        if !how.wraps || !self.wrapped_lines || !long || self.rows[r].len() != c + 1 {
            return found;
        }
        let mut more: Vec<(usize, &str)> = Vec::new();
        for (i, row) in self.rows.iter().enumerate().skip(r + 1).take(MAX_WRAPPED + 1) {
            if row.len() != 1 || row[0].is_empty() {
                return found;
            }
            if split_label(&row[0], known, known, how.spaced).is_some() {
                for (_, text) in &more {
                    found.text.push(' ');
                    found.text.push_str(text);
                }
                found.rows.extend(more.iter().map(|(i, _)| *i));
                return found;
            }
            more.push((i, row[0].as_str()));
        }
        found
    }

    /// Empties the cells of a value, so that words a payer typed cannot pass for the bank's.
    pub fn mask(&mut self, found: &Found) {
        for (i, &r) in found.rows.iter().enumerate() {
            // The lines that it was wrapped to.
            let from = if i == 0 { found.cell } else { 0 };
            if let Some(row) = self.rows.get_mut(r) {
                for cell in row.iter_mut().skip(from) {
                    cell.clear();
                }
            }
        }
    }
}

/// The cells of one line of text.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    if line.starts_with('|') {
        return line.trim_matches('|').split(" |").map(|c| c.trim().to_owned()).collect();
    }
    let mut cells: Vec<String> = line.split('\t').map(|c| c.trim().to_owned()).collect();
    while cells.len() > 1 && cells.last().is_some_and(String::is_empty) {
        cells.pop();
    }
    cells
}

/// What stands behind the label that a cell begins with, `""` when it is all label. The longest known label
/// wins, so that `Amount` does not answer for `Amount in words`.
pub fn split_label<'a>(cell: &'a str, labels: &[String], known: &[String], spaced: bool) -> Option<&'a str> {
    if bare(cell).is_empty() {
        return None;
    }
    if is_label(cell, labels) {
        return Some("");
    }
    // Of a mail's cells nearly none begins with a label of the field, so the others are asked last.
    let body = cell.trim_start_matches(['*', '#', ' ']);
    let mut best: Option<(&String, &'a str)> = None;
    for label in labels {
        if best.is_none_or(|(b, _)| b.len() < label.len())
            && let Some(rest) = behind_label(body, label, spaced)
        {
            best = Some((label, rest));
        }
    }
    let (label, rest) = best?;
    let is_longer = |other: &String| other.len() > label.len() && behind_label(body, other, spaced).is_some();
    (!known.iter().any(is_longer)).then_some(rest)
}

/// What stands behind a label and whatever parts it from its value.
fn behind_label<'a>(text: &'a str, label: &str, spaced: bool) -> Option<&'a str> {
    let rest = strip_label(text, label)?;
    let trimmed = rest.trim_start_matches(' ');
    // `*Amount*: 5`: the star closes the ornament of the label.
    let trimmed = trimmed.strip_prefix('*').filter(|t| t.trim_start().starts_with(':')).unwrap_or(trimmed);
    let trimmed = trimmed.trim_start_matches(' ');
    let is_parted = trimmed.starts_with(':') || rest.starts_with("  ") || rest.starts_with('\t');
    if !(is_parted || spaced && rest.starts_with(' ')) {
        return None;
    }
    // A star before a space is decoration; one before a digit belongs to a masked number.
    let value = trimmed.trim_start_matches([':', ' ', '\t']);
    Some(value.strip_prefix("* ").unwrap_or(value).trim())
}

/// `text` behind `label`, compared without case; both as UTF-8, cut at a character.
fn strip_label<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    if !may_begin(text, label) {
        return None;
    }
    if let Some(head) = text.get(..label.len()).filter(|head| head.is_ascii() && label.is_ascii()) {
        return head.eq_ignore_ascii_case(label).then(|| &text[label.len()..]);
    }
    let mut rest = text;
    for want in label.chars() {
        let got = rest.chars().next()?;
        if !got.to_lowercase().eq(want.to_lowercase()) {
            return None;
        }
        rest = &rest[got.len_utf8()..];
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    fn value(text: &str, label: &str) -> Vec<String> {
        let known =
            labels(&["amount", "description", "account number", "amount in words", "remarks", "value date"]);
        TextTable::from_text(text)
            .values(&labels(&[label]), &known, Arrangement { spaced: false, wraps: true })
            .into_iter()
            .map(|f| f.text)
            .collect()
    }

    #[test]
    fn finds_values_in_every_arrangement() {
        for text in [
            "Amount : NGN 700\nRemarks : x",
            "Amount\nNGN 700\nRemarks\nx",
            "| Amount | : | NGN 700 |\n| Remarks | : | x |",
            "Amount\t:\tNGN 700",
            "Amount\t\n:\nNGN 700\n",
            "*Amount:* NGN 700",
            "  AMOUNT   NGN 700",
        ] {
            assert_eq!(value(text, "amount"), ["NGN 700"], "{text:?}");
        }
    }

    #[test]
    fn a_label_is_the_same_folded_or_not() {
        let known = labels(&["amount", "amount in words", "d\u{e9}tail", "", "k", "no"]);
        for text in [
            "Amount",
            " *AMOUNT* : ",
            "|_Amount_|",
            "Amount  in\twords:",
            "Amount in",
            "Amountin words",
            "D\u{c9}TAIL",
            "\u{212A}",
            "No.",
            ".",
            " : ",
            "",
            "\u{a0}Amount",
            "Am\u{f6}unt",
            "amount x",
            "Amount : in words",
        ] {
            assert_eq!(is_label(text, &known), known.contains(&fold_label(text)), "{text:?}");
            assert_eq!(bare(text).is_empty(), fold_label(text).is_empty(), "{text:?}");
        }
        for (text, rest) in
            [("AMOUNT: 5", Some(": 5")), ("D\u{c9}TAIL x", None), ("Amoun", None), ("\u{212A}", None)]
        {
            assert_eq!(strip_label(text, "amount"), rest, "{text:?}");
        }
        assert_eq!(strip_label("D\u{c9}TAIL x", "d\u{e9}tail"), Some(" x"));
        assert_eq!(strip_label("\u{212A}x", "k"), Some("x"));
    }

    #[test]
    fn an_empty_value_does_not_take_the_next_row() {
        assert_eq!(value("Remarks :\nAmount : 5\n", "remarks"), Vec::<String>::new());
        assert_eq!(
            value("| Remarks | : |  |\n| Value Date | : | 2026-01-01 |", "remarks"),
            Vec::<String>::new()
        );
        assert_eq!(value("Amount in words : five\nAmount : 5\n", "amount"), ["5"]);
        assert_eq!(value("Amounts : 5\nAmountable\n", "amount"), Vec::<String>::new());
    }

    #[test]
    fn a_wrapped_value_ends_at_the_next_label() {
        let long = "TRANSFER FROM A LONG NAME OF A FIRM OF MANY";
        assert_eq!(
            value(&format!("Description : {long}\nTHREE\nRemarks : x\n"), "description"),
            [format!("{long} THREE")]
        );
        assert_eq!(value(&format!("Description : {long}\n\nThank you\n"), "description"), [long]);
        assert_eq!(value("Description : SHORT\nThank you\nRemarks : x\n", "description"), ["SHORT"]);
    }

    #[test]
    fn masked_values_leave_the_text() {
        let mut table = TextTable::from_text(
            "Your account was credited\nDescription : has been debited 5\nRemarks : y\n",
        );
        let known = labels(&["description", "remarks"]);
        for found in table.clone().values(&labels(&["description"]), &known, Arrangement::default()) {
            table.mask(&found);
        }
        assert_eq!(table.text(), "Your account was credited\nRemarks : y\n");
    }

    #[test]
    fn invisible_signs_go_and_dangerous_ones_are_told() {
        let (text, odd) = clean("\u{200B}Amount\u{FF1A}\u{A0}5\u{AD}00");
        assert_eq!(
            (text.as_str(), odd),
            ("Amount: 500", Oddities { invisible: true, ..Oddities::default() })
        );
        assert!(clean("\u{202E}005").1.bidi);
        assert!(clean("5\u{200B}000").1.invisible && clean("trans\u{AD}action").1.invisible);
        assert!(!clean("\u{34F} \u{200C} \u{AD} \u{34F}Your alert \u{FEFF}").1.invisible);
        assert!(clean("٥٠٠").1.foreign_digits && clean("５００").1.foreign_digits);
    }
}
