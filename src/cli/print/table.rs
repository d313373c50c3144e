//! Lists for people as tables: fitted to the terminal, or with everything in one line a row.
//!
//! Only free text (reasons, notes) is ever cut; amounts, ids, numbers and names stay whole. What has no room
//! beside the others stands below its row with its column's name. Only `cli::print` uses this.

use super::people::{Form, due_for_people, for_people, moment_for_people, tone_of};
use super::screen::{Line, Span, Tone, columns_of, cut, span};
use super::{Object, Shown};

/// Columns of free text, which may be cut: what they hold is told in full by `--wide`, and by `show`.
const CUTTABLE: &[&str] = &[
    "reason",
    "note",
    "text",
    "error",
    "aliases",
    "senders",
    "webhook_url",
    "summary",
    "subject",
    "what_to_do",
];
/// Free text with less room than this goes below its row.
const CUT_MIN: usize = 40;
/// Between two columns.
const GAP: usize = 2;
/// Before what stands below a row.
const INDENT: usize = 4;

struct Cell {
    text: String,
    tone: Tone,
    is_null: bool,
}

struct Column {
    head: String,
    is_number: bool,
    is_cuttable: bool,
    /// One for each row.
    cells: Vec<Cell>,
    /// Of the widest.
    natural: usize,
}

/// The header and a row for each object, or more lines where there is too little room.
pub(super) fn table(columns: &[&str], rows: &[Object], form: Form) -> Vec<Line> {
    let columns: Vec<Column> = columns
        .iter()
        .map(|key| column(key, rows, form))
        // Nothing in it for any row: it tells nothing.
        .filter(|column| form.width.is_none() || column.cells.iter().any(|cell| !cell.is_null))
        .collect();
    let (beside, below) = match form.width {
        Some(width) => arrange(&columns, width),
        None => (columns.iter().enumerate().map(|(at, column)| (at, column.natural)).collect(), Vec::new()),
    };
    let head = |at: usize| span(columns[at].head.clone(), Tone::Strong);
    let mut lines = vec![join(&columns, &beside, head)];
    for row in 0..rows.len() {
        let cell = |at: usize| {
            let cell = &columns[at].cells[row];
            span(cell.text.clone(), cell.tone)
        };
        lines.push(join(&columns, &beside, cell));
        if let Some(width) = form.width {
            rest(&columns, &below, row, width, &mut lines);
        }
    }
    lines
}

fn column(key: &str, rows: &[Object], form: Form) -> Column {
    let cells: Vec<Cell> = rows
        .iter()
        .map(|row| {
            let field = row.get(key);
            let text = match (field, form.width) {
                (Shown::Time(at), Some(_)) => moment_for_people(*at, form.now),
                (Shown::Due(at), _) => due_for_people(*at, form),
                _ => for_people(field),
            };
            let is_null = match field {
                Shown::Null => true,
                Shown::List(all) => all.is_empty(),
                Shown::Text(text) => text.is_empty(),
                _ => false,
            };
            Cell { text, tone: tone_of(key, field), is_null }
        })
        .collect();
    let is_number =
        |row: &Object| matches!(row.get(key), Shown::Int(_) | Shown::Money(_) | Shown::Percent(_));
    let named = if key == "tries" { "attempts" } else { key };
    let head = named.trim_end_matches("_at").trim_end_matches("_seconds").replace('_', " ").to_uppercase();
    let natural = cells.iter().map(|cell| columns_of(&cell.text)).max().unwrap_or(0).max(columns_of(&head));
    Column {
        head,
        is_number: rows.iter().any(is_number),
        is_cuttable: CUTTABLE.contains(&key),
        cells,
        natural,
    }
}

/// Columns that stand beside one another, with their widths, and those that stand below.
fn arrange(columns: &[Column], width: usize) -> (Vec<(usize, usize)>, Vec<usize>) {
    let least =
        |column: &Column| if column.is_cuttable { column.natural.min(CUT_MIN) } else { column.natural };
    let (mut beside, mut below): (Vec<(usize, usize)>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut used = 0;
    let mut place = |at: usize, beside: &mut Vec<(usize, usize)>| {
        let needs = least(&columns[at]) + if beside.is_empty() { 0 } else { GAP };
        if !beside.is_empty() && used + needs > width {
            return below.push(at);
        }
        used += needs;
        beside.push((at, least(&columns[at])));
    };
    // Free text has what the others leave.
    for is_cuttable in [false, true] {
        for at in (0..columns.len()).filter(|at| columns[*at].is_cuttable == is_cuttable) {
            place(at, &mut beside);
        }
    }
    let mut left = width.saturating_sub(used);
    for (at, has) in &mut beside {
        let more = (columns[*at].natural - *has).min(left);
        *has += more;
        left -= more;
    }
    beside.sort_unstable();
    (beside, below)
}

/// One line of the columns that stand beside one another.
fn join(columns: &[Column], beside: &[(usize, usize)], cell: impl Fn(usize) -> Span) -> Line {
    let mut line = Vec::with_capacity(beside.len() * 2);
    for (n, (at, width)) in beside.iter().enumerate() {
        let mut one = cell(*at);
        one.text = cut_if_longer(&columns[*at], &one.text, *width);
        let blanks = " ".repeat(width.saturating_sub(columns_of(&one.text)));
        if n > 0 {
            line.push(span(" ".repeat(GAP), Tone::Plain));
        }
        if columns[*at].is_number {
            line.extend([span(blanks, Tone::Plain), one]);
        } else {
            line.extend([one, span(blanks, Tone::Plain)]);
        }
    }
    line
}

fn cut_if_longer(column: &Column, text: &str, width: usize) -> String {
    if column.is_cuttable { cut(text, width) } else { text.to_owned() }
}

/// What of a row had no room beside the others, below it: facts first, then each free text in a line of its own.
fn rest(columns: &[Column], below: &[usize], row: usize, width: usize, lines: &mut Vec<Line>) {
    let indent = || span(" ".repeat(INDENT), Tone::Plain);
    let mut line = vec![indent()];
    let mut used = INDENT;
    for column in below.iter().map(|at| &columns[*at]).filter(|column| !column.cells[row].is_null) {
        let cell = &column.cells[row];
        let head = format!("{}: ", column.head.to_lowercase());
        let room = width.saturating_sub(INDENT + columns_of(&head)).max(CUT_MIN / 2);
        let text = cut_if_longer(column, &cell.text, room);
        let needs = columns_of(&head) + columns_of(&text);
        let is_first = line.len() == 1;
        if !is_first && (column.is_cuttable || used + GAP + needs > width) {
            lines.push(std::mem::replace(&mut line, vec![indent()]));
            used = INDENT;
        } else if !is_first {
            line.push(span(" ".repeat(GAP), Tone::Plain));
            used += GAP;
        }
        line.extend([span(head, Tone::Faint), span(text, cell.tone)]);
        used += needs;
    }
    if line.len() > 1 {
        lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::money::Money;
    use crate::domain::time::Timestamp;

    const NOW: Timestamp = Timestamp(1_790_000_000_000_000);
    const REASON: &str = "the amount is exact, but the payer's name is only close: one word of it is cut, and \
                          another is missing, so that a person has to look at it before anything is credited";
    const COLUMNS: [&str; 8] = [
        "id",
        "first_seen_at",
        "outcome",
        "amount",
        "payer_name",
        "account_number",
        "transaction_id",
        "reason",
    ];

    fn row(id: i64, ago: i64, name: &str, reason: Option<&str>) -> Object {
        Object::new()
            .with("id", id)
            .with("first_seen_at", Timestamp(NOW.0 - ago * 1_000_000))
            .with("outcome", "review")
            .with("amount", Money(id * 1_234_567))
            .with("payer_name", name)
            .with("account_number", "0123456781")
            .with("transaction_id", None::<String>)
            .with("reason", reason)
    }

    fn shown(width: Option<usize>) -> Vec<String> {
        let rows = [
            row(4_099, 190, "ADESINA-OKONKWO FOLASHADE OLUWADAMILOLA", Some(REASON)),
            row(2, 90_000, "Ọlá Bello", None),
        ];
        table(&COLUMNS, &rows, Form { width, now: NOW })
            .iter()
            .map(|line| line.iter().map(|span| span.text.as_str()).collect::<String>().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn whatever_the_width_facts_stay_whole_and_lines_fit() {
        for width in [40, 60, 80, 100, 120, 160, 200, 400] {
            let lines = shown(Some(width));
            let all = lines.join("\n");
            for fact in [
                "4099",
                "NGN 50,604,901.33",
                "ADESINA-OKONKWO FOLASHADE OLUWADAMILOLA",
                "0123456781",
                "3 min ago",
                "1 d ago",
                "Ọlá Bello",
                "review",
            ] {
                assert!(all.contains(fact), "{fact} at {width}:\n{all}");
            }
            assert!(width < 60 || lines.iter().all(|line| columns_of(line) <= width), "{width}:\n{all}");
            assert_eq!(all.contains('\u{2026}'), width < 280, "{width}:\n{all}");
            assert!(!all.to_lowercase().contains("transaction"), "an empty column tells nothing:\n{all}");
        }
    }

    #[test]
    fn what_has_no_room_beside_the_others_stands_below() {
        assert_eq!(
            shown(Some(80)),
            [
                "  ID  FIRST SEEN  OUTCOME             AMOUNT  ACCOUNT NUMBER",
                "4099  3 min ago   review   NGN 50,604,901.33  0123456781",
                "    payer name: ADESINA-OKONKWO FOLASHADE OLUWADAMILOLA",
                "    reason: the amount is exact, but the payer's name is only close: one word o…",
                "   2  1 d ago     review       NGN 24,691.34  0123456781",
                "    payer name: Ọlá Bello",
            ]
        );
        assert_eq!(shown(Some(200)).len(), 3);
    }

    #[test]
    fn without_a_width_a_row_is_a_line_and_times_are_exact() {
        let lines = shown(None);
        assert_eq!(lines.len(), 3);
        assert!(lines[1].ends_with(REASON) && lines[1].contains("2026-09-21 14:10:10 UTC"), "{lines:?}");
        assert!(lines[0].contains("TRANSACTION ID") && lines[2].ends_with('-'), "{lines:?}");
    }
}
