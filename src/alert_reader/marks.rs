//! A mail as text with what was read marked in place, for whoever decides about its alert.
//!
//! The marks show where the values of the layout stand that read the alert; inside a narration also the names and
//! numbers that were taken from it. Nothing is decided by them. Called by `mail_intake`.

use super::extract::places::{Placed, places};
use super::template::{FieldName, Layout};
use super::text_table::{TextTable, collapse};
use super::{Banks, Seen, mime, visible};
use crate::domain::alert::AlertFacts;
use crate::domain::marked_mail::{MarkedField, MarkedMail, MarkedPart, MarkedPiece};

/// Lines of a part that are shown, and characters of one; an alert has under a hundred short ones.
const LINES_MAX: usize = 300;
const LINE_CHARS_MAX: usize = 1_000;
/// Parts that are shown.
const PARTS_MAX: usize = 5;

/// The mail of an alert with these facts. The error says in words why it cannot be shown.
pub fn marked(raw: &[u8], banks: &Banks, facts: &AlertFacts) -> Result<MarkedMail, String> {
    let mail = mime::open(raw)?;
    let Seen { tables, .. } = visible(&mail, &mut Vec::new())?;
    let bank = facts.bank.as_deref().and_then(|code| banks.by_code(code));
    let layout: Option<&Layout> = bank
        .and_then(|bank| bank.layouts.iter().find(|layout| Some(&layout.name) == facts.template.as_ref()));
    let placed = layout.map(|layout| places(layout, &tables)).unwrap_or_default();
    let mut parts: Vec<MarkedPart> = tables
        .iter()
        .enumerate()
        .take(PARTS_MAX)
        .map(|(number, table)| part(table, placed.iter().filter(|one| one.part == number), facts))
        .filter(|part| !part.lines.is_empty())
        .collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.marks()));
    Ok(MarkedMail { from: mail.from, to: mail.to, subject: mail.subject, parts })
}

fn part<'a>(table: &TextTable, placed: impl Iterator<Item = &'a Placed>, facts: &AlertFacts) -> MarkedPart {
    let placed: Vec<&Placed> = placed.collect();
    let mut part = MarkedPart { is_page: table.is_page(), ..MarkedPart::default() };
    for (number, row) in table.rows.iter().enumerate() {
        let mut line = collapse(&row.join(" "));
        if line.is_empty() {
            continue;
        }
        if part.lines.len() == LINES_MAX {
            part.is_cut = true;
            break;
        }
        if let Some((end, _)) = line.char_indices().nth(LINE_CHARS_MAX) {
            line.truncate(end);
            part.is_cut = true;
        }
        let mut pieces = vec![MarkedPiece { text: line, field: None }];
        for one in placed.iter().filter(|one| one.rows.contains(&number)) {
            mark(&mut pieces, &one.text, word(one.field), None);
        }
        for (text, field) in in_narration(facts) {
            mark(&mut pieces, text, field, Some(MarkedField::Narration));
        }
        part.lines.push(pieces);
    }
    part
}

/// What is read from a narration, which may stand elsewhere as well.
fn in_narration(facts: &AlertFacts) -> impl Iterator<Item = (&str, MarkedField)> {
    [
        (&facts.virtual_account, MarkedField::VirtualAccount),
        (&facts.session_id, MarkedField::Session),
        (&facts.payer_account_number, MarkedField::PayerAccount),
        (&facts.reference, MarkedField::Reference),
        (&facts.payer_name, MarkedField::Payer),
        (&facts.payer_bank, MarkedField::PayerBank),
    ]
    .into_iter()
    .filter_map(|(text, field)| Some((text.as_deref()?, field)))
}

fn word(field: FieldName) -> MarkedField {
    match field {
        FieldName::Amount => MarkedField::Amount,
        FieldName::Currency => MarkedField::Currency,
        FieldName::Account => MarkedField::Account,
        FieldName::Holder => MarkedField::Holder,
        FieldName::Narration => MarkedField::Narration,
        FieldName::Reference => MarkedField::Reference,
        FieldName::Session => MarkedField::Session,
        FieldName::Payer => MarkedField::Payer,
        FieldName::PayerAccount => MarkedField::PayerAccount,
        FieldName::PayerBank => MarkedField::PayerBank,
        FieldName::Date | FieldName::Time => MarkedField::Time,
        FieldName::Available | FieldName::Ledger => MarkedField::Balance,
    }
}

/// Marks the last place of a value among the pieces that are marked as `within`: a label before it may hold the
/// same word.
fn mark(pieces: &mut Vec<MarkedPiece>, value: &str, field: MarkedField, within: Option<MarkedField>) {
    let found = pieces.iter().enumerate().rev().find_map(|(at, piece)| {
        (piece.field == within).then(|| Some((at, place(&piece.text, value)?))).flatten()
    });
    let Some((at, (begin, end))) = found else { return };
    let piece = pieces.remove(at);
    let new =
        |range: std::ops::Range<usize>, field| MarkedPiece { text: piece.text[range].to_owned(), field };
    let split =
        [new(0..begin, piece.field), new(begin..end, Some(field)), new(end..piece.text.len(), piece.field)];
    for (step, piece) in split.into_iter().filter(|piece| !piece.text.is_empty()).enumerate() {
        pieces.insert(at + step, piece);
    }
}

/// Bytes of a text in which a value stands, or one line of a value that was wrapped.
fn place(text: &str, value: &str) -> Option<(usize, usize)> {
    if value.is_empty() {
        return None;
    }
    let (lower, wanted) = (text.to_ascii_lowercase(), value.to_ascii_lowercase());
    if let Some(begin) = lower.rfind(&wanted) {
        return Some((begin, begin + wanted.len()));
    }
    if text.chars().count() >= WRAPPED_MIN && wanted.contains(&lower) {
        return Some((0, text.len()));
    }
    // The first line of a wrapped value stands at the end of its line, behind the label.
    let begins = text.char_indices().map(|(at, _)| at).filter(|at| text.len() - at >= WRAPPED_MIN);
    begins.into_iter().find(|at| wanted.starts_with(&lower[*at..])).map(|at| (at, text.len()))
}

/// Characters of a wrapped value's line, at least.
const WRAPPED_MIN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert_reader::check::raw_mail;
    use crate::alert_reader::{Intake, read};
    use crate::domain::time::Timestamp;

    /// Every bank's own example shows where its amount was read, and never marks it inside a balance alone.
    #[test]
    fn the_amount_is_marked_in_the_mail_of_every_bank() {
        let banks = Banks::embedded().unwrap();
        let (mut looked_at, mut marked_amounts) = (0, 0);
        for bank in banks.list() {
            for example in &bank.examples {
                let raw = raw_mail(example).unwrap();
                let reading = read(&raw, &banks, &Intake::trusted(Timestamp::MAX));
                let Some(amount) = reading.facts.amount else { continue };
                looked_at += 1;
                let mail = marked(&raw, &banks, &reading.facts).unwrap();
                let pieces = || mail.parts.iter().flat_map(|part| part.lines.iter().flatten());
                let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
                let wanted = digits(&amount.to_string());
                let whole = wanted.strip_suffix("00").unwrap_or(&wanted);
                let is_it = |piece: &&MarkedPiece| {
                    let found = digits(&piece.text);
                    piece.field == Some(MarkedField::Amount) && (found == wanted || found == whole)
                };
                marked_amounts += usize::from(pieces().any(|piece| is_it(&piece)));
            }
        }
        // A few tell their amount in the subject alone.
        assert!(looked_at > 20, "{looked_at}");
        assert!(marked_amounts * 100 >= looked_at * 90, "{marked_amounts} of {looked_at}");
    }

    #[test]
    fn the_lines_are_the_mails_own_whatever_is_marked() {
        let banks = Banks::embedded().unwrap();
        for bank in banks.list() {
            for example in &bank.examples {
                let raw = raw_mail(example).unwrap();
                let reading = read(&raw, &banks, &Intake::trusted(Timestamp::MAX));
                let with = marked(&raw, &banks, &reading.facts).unwrap();
                let without = marked(&raw, &banks, &AlertFacts::default()).unwrap();
                let lines = |mail: &MarkedMail| -> Vec<Vec<String>> {
                    let line =
                        |line: &Vec<MarkedPiece>| line.iter().map(|piece| piece.text.as_str()).collect();
                    mail.parts.iter().map(|part| part.lines.iter().map(line).collect()).collect()
                };
                assert_eq!(lines(&with), lines(&without), "{}: {}", bank.code, example.name);
            }
        }
    }

    #[test]
    fn a_wrapped_value_is_marked_line_by_line() {
        assert_eq!(place("Remark: NIP TRANSFER FROM ADA", "nip transfer from ada obi/ref"), Some((8, 29)));
        assert_eq!(place("OBI/REF", "nip transfer from ada obi/ref"), Some((0, 7)));
        assert_eq!(place("5,000.00", "5,000.00"), Some((0, 8)));
        assert_eq!(place("x", ""), None);
    }
}
