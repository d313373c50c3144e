//! What a mail says in the bank's own words about money that has not come, or went back: rows that tell a state,
//! headings, sentences, the subject.
//!
//! Words that a payer may have typed are no words of the bank's: narrations and names are cut out before, and what stands
//! at a label of remarks only sends the alert to a person. Part of `extract`; nothing else calls it.

use regex::Regex;

use super::{MAX_MATCHES, Reader};
use crate::alert_reader::template::{Claims, FieldName, Layout, Shared, States};
use crate::alert_reader::text_table::{Arrangement, TextTable, collapse, fold_label};
use crate::domain::alert::{
    Direction, FAILED_DEBIT, OTHER_STATE, OTHER_STATE_ROW, RETURNED, RETURNED_OR_OWN,
};

/// A longer line is prose: only a sentence about this transaction counts in it.
const LONGEST_ROW: usize = 80;
/// A line of this length, without an end of its sentence, may go on in the next.
const SHORTEST_BROKEN_LINE: usize = 40;
/// A longer text is no label.
const LONGEST_LABEL: usize = 40;
/// Lines that one sentence is put together from.
const BROKEN_LINES_MAX: usize = 8;

impl Reader<'_> {
    /// Adds a doubt for words of the bank's that tell of money that came back, or was no sale.
    pub(super) fn words_of_loss(&mut self, shared: &Shared) {
        if let Some(words) = self.words_of_reversal(shared) {
            self.doubt(format!("{RETURNED}: {words}"));
        }
        let rule = &shared.states;
        let (texts, is_typed) = self.texts_of_the_bank(rule);
        if is_typed {
            self.doubt(RETURNED_OR_OWN);
        }
        let found = self
            .subject_of_loss(rule, Direction::Credit)
            .or_else(|| texts.iter().find_map(|text| loss_in(text, rule, Direction::Credit)))
            .or_else(|| match &texts[..] {
                [only] => debit_in(only, rule, &shared.claims),
                _ => None,
            })
            .or_else(|| self.kept_back(rule));
        if let Some(words) = found {
            self.doubt(format!("{RETURNED}: {words}"));
        }
    }

    /// Adds a doubt for words of the bank's in the mail of a debit: it may have failed, or be the return of a credit. It
    /// takes money back all the same, but it proves nothing that was paid.
    pub(super) fn words_of_failure(&mut self, shared: &Shared) {
        let rule = &shared.states;
        let (texts, is_typed) = self.texts_of_the_bank(rule);
        let found = self
            .words_of_reversal(shared)
            .or_else(|| self.subject_of_loss(rule, Direction::Debit))
            .or_else(|| texts.iter().find_map(|text| loss_in(text, rule, Direction::Debit)))
            .or_else(|| is_typed.then(|| "in its narration".to_owned()));
        if let Some(words) = found {
            self.doubt(format!("{FAILED_DEBIT}: {words}"));
        }
    }

    fn subject_of_loss(&self, rule: &States, direction: Direction) -> Option<String> {
        let subject = self.head.subject?;
        told_by(&rule.subject, subject).or_else(|| loss_in(subject, rule, direction))
    }

    /// A row of money that the bank keeps back, unless it says that there is none.
    fn kept_back(&self, rule: &States) -> Option<String> {
        let labels = self.labels_that(|label| rule.kept.is_match(label));
        let found = self.rows_at(&labels, false).into_iter().find(|value| !rule.none_kept.is_match(value))?;
        Some(format!("kept back: {}", found.chars().take(LONGEST_ROW).collect::<String>()))
    }

    /// The labels among the cells, folded, that are such ones.
    fn labels_that(&self, fits: impl Fn(&str) -> bool) -> Vec<String> {
        let cells = self.masked.iter().flat_map(|table| &table.rows).flatten();
        let mut labels: Vec<String> = cells
            .map(|cell| fold_label(cell.split_once(':').map_or(cell.as_str(), |(label, _)| label)))
            .filter(|label| label.chars().count() <= LONGEST_LABEL && fits(label))
            .collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    fn rows_at(&self, labels: &[String], spaced: bool) -> Vec<String> {
        let how = Arrangement { spaced, wraps: false };
        let (masked, known) = (&self.masked, &self.layout.known);
        let found = masked.iter().flat_map(|table| table.values(labels, known, how));
        found.map(|f| collapse(&f.text)).collect()
    }

    /// Adds a doubt for rows that tell a state other than "the money came".
    pub(super) fn states(&mut self, direction: Direction, shared: &Shared) {
        let rule = &shared.states;
        let ends =
            self.labels_that(|label| rule.label_ends.is_match(label) && !rule.other_labels.is_match(label));
        let labels = [&rule.labels[..], &ends].concat();
        let is_other = |value: &str| {
            let is_its_own = direction == Direction::Debit && rule.out.is_match(value);
            !rule.come.is_match(value) && !is_its_own
        };
        // A value in a cell of its own or behind a colon is one whatever it says; behind a space it may be prose.
        let parted = self.rows_at(&labels, false).into_iter().find(|value| is_other(value));
        let spaced = || {
            let rows = self.rows_at(&rule.labels, true).into_iter();
            rows.filter(|value| is_other(value)).find(|value| !is_prose(value, rule))
        };
        if let Some(value) = parted.or_else(spaced) {
            let value: String = value.chars().take(LONGEST_ROW).collect();
            self.doubt(format!("{OTHER_STATE_ROW}: {value}"));
        } else if let Some(words) = self.texts.iter().find_map(|text| told_by(&rule.other, text)) {
            self.doubt(format!("{OTHER_STATE}: {words}"));
        }
    }

    /// The words in which the subject or a short row says that money came back. Long rows are prose of the bank
    /// ("for refunds write to ...").
    fn words_of_reversal(&self, shared: &Shared) -> Option<String> {
        let rows = self.texts.iter().flat_map(|text| text.lines());
        rows.filter(|row| row.chars().count() <= LONGEST_ROW)
            .chain(self.head.subject)
            .find_map(|row| shared.reversals.iter().find_map(|r| told_by(r, row)))
    }

    /// The text of each part without what the layout reads: a value of a layout of one line ends a row. And whether a
    /// row of remarks, which is left out as well, tells of a loss.
    fn texts_of_the_bank(&self, rule: &States) -> (Vec<String>, bool) {
        let how = Arrangement { spaced: self.layout.spaced, wraps: true };
        let known: Vec<String> = self.layout.known.iter().chain(&rule.typed).cloned().collect();
        let mut is_typed = false;
        let without_remarks = |table: &TextTable| {
            let mut rest = table.clone();
            for found in table.values(&rule.typed, &known, how) {
                is_typed |= rule.words().any(|words| words.is_match(&found.text));
                rest.mask(&found);
            }
            without_values(&rest.text(), self.layout)
        };
        (self.masked.iter().map(without_remarks).collect(), is_typed)
    }
}

/// A text with an end of the line in place of every value that the layout's expressions find, but for the holder's name:
/// a sentence may begin with "Dear customer".
fn without_values(text: &str, layout: &Layout) -> String {
    let mut cut: Vec<(usize, usize)> = FieldName::ALL
        .iter()
        .filter(|name| **name != FieldName::Holder)
        .filter_map(|name| layout.fields.get(name))
        .flat_map(|field| &field.lines)
        .flat_map(|line| line.captures_iter(text).take(MAX_MATCHES).filter_map(|found| found.name("v")))
        .map(|value| (value.start(), value.end()))
        .collect();
    cut.sort_unstable();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (begin, end) in cut {
        if begin >= at {
            out.push_str(&text[at..begin]);
            out.push('\n');
        }
        at = at.max(end);
    }
    out.push_str(&text[at..]);
    out
}

/// What one of the rows or sentences of a text says of a loss. That money was debited is none of a debit.
fn loss_in(text: &str, rule: &States, direction: Direction) -> Option<String> {
    told_in(text, |sentence, is_row| {
        if is_row && rule.waiting.is_match(sentence) {
            return told_by(&rule.waiting, sentence);
        }
        let is_about = is_row || rule.about.is_match(sentence);
        rule.words().filter(|_| is_about).find_map(|words| {
            let found = words.find(sentence)?;
            let is_general = rule.general.is_match(&sentence[..found.start()])
                || rule.plural.is_match(&sentence[found.start()..])
                || rule.no.is_match(sentence)
                || (direction == Direction::Debit || is_beside(sentence, rule))
                    && speaks_of_debits(found.as_str());
            if is_general { None } else { told_by(words, sentence) }
        })
    })
}

/// Charges and advice speak of money that leaves, and not of this credit.
fn is_beside(sentence: &str, rule: &States) -> bool {
    rule.charges.is_match(sentence) || rule.advice.is_match(sentence)
}

fn speaks_of_debits(words: &str) -> bool {
    let words = words.to_lowercase();
    ["debited", "deducted", "withdrawn", "taken"].iter().any(|word| words.contains(word))
}

/// Words of a debit in a row or a sentence about this credit: money that went again. A line that tells of a credit as well
/// is the heading of two columns, or of any transaction.
fn debit_in(text: &str, rule: &States, claims: &Claims) -> Option<String> {
    let rest = claims.neutral.iter().fold(text.to_owned(), |text, n| n.replace_all(&text, " ").into_owned());
    told_in(&rest, |sentence, is_row| {
        let is_told = is_row || rule.about.is_match(sentence);
        if !is_told || is_beside(sentence, rule) || claims.credit.iter().any(|r| r.is_match(sentence)) {
            return None;
        }
        let (words, found) = claims.debit.iter().find_map(|r| Some((r, r.find(sentence)?)))?;
        let is_general = rule.general.is_match(&sentence[..found.start()])
            || rule.plural.is_match(&sentence[found.start()..])
            || rule.no.is_match(sentence);
        if is_general { None } else { told_by(words, sentence) }
    })
}

/// The first that is told in one of the sentences of a text; of each is said whether it stands in a short row.
fn told_in(text: &str, tell: impl Fn(&str, bool) -> Option<String>) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut at = 0;
    while at < lines.len() {
        let end = end_of_sentence(&lines, at);
        let whole = lines[at..end].join(" ");
        at = end;
        let is_row = whole.chars().count() <= LONGEST_ROW;
        let told = sentences(&whole).find_map(|sentence| tell(sentence.trim(), is_row));
        if told.is_some() {
            return told;
        }
    }
    None
}

/// A point between two digits ends no sentence.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        let is_end = |at: usize| match bytes[at] {
            b'.' => !(is_digit(at.checked_sub(1)) && is_digit(Some(at + 1))),
            byte => matches!(byte, b'!' | b'?' | b';'),
        };
        let end = (0..bytes.len()).find(|at| is_end(*at)).map_or(bytes.len(), |at| at + 1);
        let (sentence, after) = rest.split_at(end);
        rest = after;
        (!sentence.is_empty()).then_some(sentence)
    })
}

/// Behind the last line that the sentence at `from` was broken to: those begin with a small letter.
fn end_of_sentence(lines: &[&str], from: usize) -> usize {
    let goes_on = |at: usize| {
        let is_open = lines[at - 1].chars().count() >= SHORTEST_BROKEN_LINE
            && !lines[at - 1].ends_with(['.', '!', '?', ':']);
        is_open && lines[at].starts_with(char::is_lowercase)
    };
    let last = lines.len().min(from + BROKEN_LINES_MAX);
    (from + 1..last).find(|at| !goes_on(*at)).unwrap_or(last)
}

/// What stands behind a label and one space is the rest of a sentence, and not a value.
fn is_prose(value: &str, rule: &States) -> bool {
    if rule.prose.is_match(value) {
        return !rule.lost.is_match(value);
    }
    value.chars().count() > LONGEST_ROW && value.starts_with(char::is_lowercase)
}

/// What a rule finds, to the end of its last word: the last two words, which tell one state from another.
fn told_by(rule: &Regex, text: &str) -> Option<String> {
    let found = rule.find(text)?;
    let rest = text[found.end()..].chars().take_while(|c| c.is_alphanumeric());
    let whole = collapse(&found.as_str().chars().chain(rest).collect::<String>()).to_lowercase();
    let words: Vec<&str> = whole.split(' ').collect();
    Some(words[words.len().saturating_sub(2)..].join(" "))
}
