//! Tells a person which expressions of a layout were tried and did not fit (`bank try`).
//!
//! It uses the same layouts and rows as the reader, and decides nothing.

use super::Reader;
use crate::alert_reader::template::{Bank, FieldName, FieldRule, Layout, Pattern};
use crate::alert_reader::text_table::collapse;
use crate::domain::alert::{AlertFacts, Direction, TimePrecision};

/// Characters of an expression or a value that are shown.
const SHOWN_MAX: usize = 80;
/// Values of one field that are shown.
const VALUES_MAX: usize = 3;

/// A line for each layout of a bank, none of which fits.
pub fn layouts(bank: &Bank, text: &str, subject: &str) -> Vec<String> {
    bank.layouts.iter().map(|layout| layout_that(layout, text, subject)).collect()
}

fn layout_that(layout: &Layout, text: &str, subject: &str) -> String {
    let mut wrong = unmatched(&layout.all, "all", text);
    let forbidden = layout.none.iter().filter(|r| r.is_match(text));
    wrong.extend(forbidden.map(|r| format!("{} (none) matches", shown(r))));
    if !layout.subject.is_empty() && !layout.subject.iter().any(|r| r.is_match(subject)) {
        wrong.push("no expression of subject matches".into());
    }
    format!("layout {} does not fit: {}", layout.name, wrong.join("; "))
}

/// What was looked for where the direction, or a field that the layout places, was not read.
pub(super) fn unread(reader: &Reader<'_>, facts: &AlertFacts) -> Vec<String> {
    let mut out = Vec::new();
    if facts.direction.is_none() {
        out.push(format!("direction was not read: {}", direction(reader).join("; ")));
    }
    for name in FieldName::ALL {
        if let Some(field) = reader.layout.fields.get(&name)
            && !is_read(name, facts)
        {
            let tried = field_that(reader, name, field);
            out.push(format!("field {} was not read: {}", name.as_str(), tried.join("; ")));
        }
    }
    out
}

fn is_read(name: FieldName, facts: &AlertFacts) -> bool {
    let precision = facts.occurred.map_or(TimePrecision::None, |time| time.precision);
    match name {
        FieldName::Amount => facts.amount.is_some(),
        FieldName::Currency => facts.currency.is_some(),
        FieldName::Account => facts.account_number.is_some(),
        FieldName::Holder => facts.holder_name.is_some(),
        FieldName::Narration => facts.narration.is_some(),
        FieldName::Reference => facts.reference.is_some(),
        FieldName::Session => facts.session_id.is_some(),
        // A debit keeps none.
        FieldName::Payer => facts.payer_name.is_some() || facts.direction == Some(Direction::Debit),
        FieldName::PayerAccount => {
            facts.payer_account_number.is_some() || facts.direction == Some(Direction::Debit)
        }
        FieldName::PayerBank => facts.payer_bank.is_some() || facts.direction == Some(Direction::Debit),
        FieldName::Date => precision != TimePrecision::None,
        FieldName::Time => matches!(precision, TimePrecision::Second | TimePrecision::Minute),
        FieldName::Available | FieldName::Ledger => facts.balance.is_some(),
    }
}

fn field_that(reader: &Reader<'_>, name: FieldName, field: &FieldRule) -> Vec<String> {
    let found = reader.values(name);
    let values: Vec<String> = found.iter().map(|v| collapse(v)).filter(|v| !v.is_empty()).collect();
    if !values.is_empty() {
        let told: Vec<String> =
            values.iter().take(VALUES_MAX).map(|value| format!("\"{}\"", cut(value))).collect();
        return vec![format!("it found {}, which cannot be used", told.join(" and "))];
    }
    let mut tried = Vec::new();
    if !field.labels.is_empty() {
        let labels: Vec<String> = field.labels.iter().map(|label| format!("\"{label}\"")).collect();
        let what = if found.is_empty() { "no row is labelled" } else { "there is nothing in the row" };
        tried.push(format!("{what} {}", labels.join(" or ")));
    }
    tried.extend(field.lines.iter().map(|r| format!("{} (lines) does not match", shown(r))));
    if let Some(subject) = reader.head.subject.filter(|_| field.subject_alone) {
        tried.extend(unmatched(&field.subject, "subject", subject));
    }
    tried
}

fn direction(reader: &Reader<'_>) -> Vec<String> {
    let rule = &reader.layout.direction;
    let text = reader.texts.join("\n");
    let mut tried = Vec::new();
    let rows = reader.at_labels(&rule.labels, &reader.masked, false);
    tried.extend(rows.iter().take(VALUES_MAX).map(|row| format!("a row says \"{}\"", cut(&row.text))));
    if rows.is_empty() && !rule.labels.is_empty() {
        let labels: Vec<String> = rule.labels.iter().map(|label| format!("\"{label}\"")).collect();
        tried.push(format!("no row is labelled {}", labels.join(" or ")));
    }
    for (patterns, word) in [(&rule.credit, "credit"), (&rule.debit, "debit")] {
        tried.extend(unmatched(patterns, word, &text));
        let matching = patterns.iter().filter(|r| r.is_match(&text));
        tried.extend(matching.map(|r| format!("{} ({word}) matches", shown(r))));
    }
    tried
}

/// Those of some expressions that do not match a text.
fn unmatched(patterns: &[Pattern], key: &str, text: &str) -> Vec<String> {
    let missing = patterns.iter().filter(|r| !r.is_match(text));
    missing.map(|r| format!("{} ({key}) does not match", shown(r))).collect()
}

fn shown(pattern: &Pattern) -> String {
    format!("`{}`", cut(pattern.as_str()))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= SHOWN_MAX {
        return text.to_owned();
    }
    text.chars().take(SHOWN_MAX).chain(['…']).collect()
}
