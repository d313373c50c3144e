//! The limits, each at its edge, and the worst that fits inside them: read or refused within the
//! reader's second, without a panic. How long is not asserted here, the work is bounded by counts.

use super::made::{Told, made};
use super::{BANKS, ROWS, ReadOutcome, now};
use crate::alert_reader::{Intake, Reading, html, mime, read, text_table};

const HEAD: &str = "From: GeNS@gtbank.com\r\nSubject: Transaction Notification\r\n";

fn take(raw: &str) -> Reading {
    read(raw.as_bytes(), &BANKS, &Intake::trusted(now()))
}

fn why(raw: &str) -> String {
    let reading = take(raw);
    assert_eq!(reading.facts.amount, None);
    assert!(matches!(
        reading.outcome,
        ReadOutcome::Unreadable | ReadOutcome::Quarantined | ReadOutcome::Ignored
    ));
    reading.why.join(" ")
}

#[test]
fn a_mail_of_a_mebibyte_is_read_and_one_byte_more_is_not() {
    let file = |size: usize| {
        let head = format!(
            "{HEAD}Content-Type: multipart/mixed; boundary=q\r\n\r\n--q\r\nContent-Type: text/plain\r\n\r\n{}\r\n--q\r\nContent-Type: application/pdf; name=x.pdf\r\n\r\n",
            ROWS.replace('\n', "\r\n")
        );
        let tail = "\r\n--q--\r\n";
        format!("{head}{}{tail}", "x".repeat(size - head.len() - tail.len()))
    };
    assert_eq!(take(&file(mime::MAX_MAIL_BYTES)).outcome, ReadOutcome::Read);
    assert!(why(&file(mime::MAX_MAIL_BYTES + 1)).contains("larger than"));
}

#[test]
fn headers_end_at_their_limit() {
    let with = |size: usize| {
        let head = format!("{HEAD}X-Long: ");
        format!(
            "{head}{}\r\n\r\n{}",
            "y\r\n ".repeat(size)[..size - head.len() - 2].trim_end(),
            ROWS.replace('\n', "\r\n")
        )
    };
    let long = |extra: usize| {
        let head = format!("{HEAD}X-Long: ");
        let fill = "y".repeat(mime::MAX_HEADER_BYTES + extra - head.len() - 2);
        format!("{head}{fill}\r\n\r\n{}", ROWS.replace('\n', "\r\n"))
    };
    assert_eq!(take(&long(0)).outcome, ReadOutcome::Read);
    assert!(why(&long(1)).contains("headers are larger"));
    assert_eq!(take(&with(4000)).outcome, ReadOutcome::Read);
    // A block of headers that never ends is no mail.
    assert!(why(&format!("{HEAD}{}", "A: b\r\n".repeat(20_000))).contains("headers are larger"));
}

#[test]
fn parts_are_counted_whether_or_not_they_have_a_type() {
    let parts = |count: usize, head: &str| {
        let part = format!("--q\r\n{head}\r\nhello\r\n");
        format!(
            "{HEAD}Content-Type: multipart/mixed; boundary=q\r\n\r\n--q\r\nContent-Type: text/plain\r\n\r\n{}\r\n{}--q--\r\n",
            ROWS.replace('\n', "\r\n"),
            part.repeat(count)
        )
    };
    // The mail itself and its first part count as well.
    for head in ["", "Content-Type: text/plain\r\n", "X-Other: y\r\n"] {
        assert_eq!(take(&parts(mime::MAX_PARTS - 2, head)).outcome, ReadOutcome::Read, "{head}");
        assert!(why(&parts(mime::MAX_PARTS, head)).contains("parts"), "{head}");
    }
}

#[test]
fn nesting_ends_at_ten() {
    let nested = |depth: usize| {
        let mut raw = HEAD.to_owned();
        for i in 0..depth {
            raw.push_str(&format!("Content-Type: multipart/mixed; boundary=b{i}\r\n\r\n--b{i}\r\n"));
        }
        raw.push_str(&format!("Content-Type: text/plain\r\n\r\n{}\r\n", ROWS.replace('\n', "\r\n")));
        for i in (0..depth).rev() {
            raw.push_str(&format!("--b{i}--\r\n"));
        }
        raw
    };
    assert_eq!(take(&nested(mime::MAX_DEPTH)).outcome, ReadOutcome::Read);
    assert!(why(&nested(mime::MAX_DEPTH + 1)).contains("nested"));
}

#[test]
fn html_ends_at_its_size_and_depth() {
    let mail = made("gtbank", &Told::default());
    let page = mail.html("");
    let filled = |size: usize| format!("{page}{}", " ".repeat(size - page.len()));
    assert_eq!(mail.read_as("text/html", &filled(mime::MAX_HTML_BYTES)).outcome, ReadOutcome::Read);
    assert_ne!(mail.read_as("text/html", &filled(mime::MAX_HTML_BYTES + 1)).outcome, ReadOutcome::Read);
    let deep = |depth: usize| format!("{}{page}{}", "<div>".repeat(depth), "</div>".repeat(depth));
    // The page's own table is one more.
    assert_eq!(mail.read_as("text/html", &deep(html::MAX_NESTING - 1)).outcome, ReadOutcome::Read);
    assert!(mail.read_as("text/html", &deep(html::MAX_NESTING)).why[0].contains("nested"));
}

#[test]
fn rows_and_cells_are_limited() {
    let plain = |body: &str| format!("{HEAD}\r\n{body}");
    let rows = "a\r\n".repeat(text_table::MAX_ROWS - 20);
    assert_eq!(take(&plain(&format!("{}{rows}", ROWS.replace('\n', "\r\n")))).outcome, ReadOutcome::Read);
    assert!(why(&plain(&"a\r\n".repeat(text_table::MAX_ROWS + 1))).contains("rows"));
    assert!(why(&plain(&"a\t".repeat(text_table::MAX_CELLS + 2))).contains("cells"));
    let cells = format!(
        "{HEAD}Content-Type: text/html\r\n\r\n<table><tr>{}",
        "<td>a".repeat(text_table::MAX_CELLS + 1)
    );
    assert!(why(&cells).contains("cells"));
    let many = format!("{HEAD}Content-Type: text/html\r\n\r\n{}", "<p>a".repeat(text_table::MAX_ROWS + 1));
    assert!(why(&many).contains("rows"));
}

/// Inputs that cost most inside the limits. The clock of a test machine proves nothing, so the
/// bounds are counts: `benches/speed reading` measures the same inputs.
#[test]
fn the_worst_inputs_end_and_are_no_alerts() {
    for (name, raw) in crate::alert_reader::fuzzing::worst() {
        let reading = read(&raw, &BANKS, &Intake::trusted(now()));
        assert_ne!(reading.outcome, ReadOutcome::Read, "{name}");
    }
}
