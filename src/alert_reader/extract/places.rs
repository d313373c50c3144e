//! Where the values of a layout's fields stand in a mail, for people who look at it. Reads nothing: what a value is
//! worth is `facts`' to say.

use super::{MAX_MATCHES, Reader, SignedHead};
use crate::alert_reader::template::{FieldName, Layout};
use crate::alert_reader::text_table::{TextTable, collapse};
use crate::domain::time::Timestamp;

/// A value with its place.
pub struct Placed {
    pub field: FieldName,
    /// Number of the part.
    pub part: usize,
    /// The rows that it stands in, in their order.
    pub rows: Vec<usize>,
    /// Spaces collapsed.
    pub text: String,
}

/// Every place at which a field of the layout stands.
pub fn places(layout: &Layout, tables: &[TextTable]) -> Vec<Placed> {
    let head = SignedHead { subject: None, date: None, now: Timestamp(0), explain: false };
    let reader = Reader::new(layout, tables, &head);
    let mut all = Vec::new();
    for field in FieldName::ALL {
        let Some(rule) = layout.fields.get(&field) else { continue };
        let is_free = matches!(field, FieldName::Narration | FieldName::Payer);
        // What a payer typed is masked for all other fields, as when they are read.
        let sources = if is_free { reader.tables } else { &reader.masked };
        for (part, table) in sources.iter().enumerate() {
            let found = reader.at_labels_of(part, table, &rule.labels, field == FieldName::Narration);
            all.extend(found.into_iter().map(|one| Placed {
                field,
                part,
                rows: one.rows().to_vec(),
                text: collapse(&one.text),
            }));
        }
        for (part, masked) in reader.texts.iter().enumerate() {
            let whole = tables[part].text();
            let text = if is_free { &whole } else { masked };
            for line in &rule.lines {
                for found in line.captures_iter(text).take(MAX_MATCHES).filter_map(|found| found.name("v")) {
                    let value = collapse(found.as_str());
                    let row = row_of(&tables[part], line_around(text, found.start()), &value);
                    all.extend(row.map(|row| Placed { field, part, rows: vec![row], text: value }));
                }
            }
        }
    }
    all
}

/// The line of a text that holds this byte.
fn line_around(text: &str, at: usize) -> &str {
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    &text[begin..end]
}

/// The row that reads like this line; else the first that holds the value.
fn row_of(table: &TextTable, line: &str, value: &str) -> Option<usize> {
    let of = |row: &Vec<String>| collapse(&row.join(" "));
    table
        .rows
        .iter()
        .position(|row| of(row) == line)
        .or_else(|| table.rows.iter().position(|row| of(row).contains(value)))
}
