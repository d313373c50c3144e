//! What the fuzz targets call, and the inputs they start from: one function for each target, shared by `fuzz/`
//! and by a short run among the tests. Each looks for more than a panic: it asserts what must hold for every
//! reading.
//!
//! The service itself never calls it.

use std::sync::OnceLock;

use super::narration::{self, Setting};
use super::{Banks, Intake, ReadOutcome, Reading, amount, html, read, when};
use crate::domain::alert::{AlertKind, Direction};
use crate::domain::time::Timestamp;

/// Input beyond this is cut: what is slow by its size alone is found by the limits' tests.
const MAX_INPUT: usize = 64 * 1024;

fn banks() -> Option<&'static Banks> {
    static BANKS: OnceLock<Option<Banks>> = OnceLock::new();
    BANKS.get_or_init(|| Banks::embedded().ok()).as_ref()
}

/// A whole mail.
pub fn mail(data: &[u8]) {
    let Some(banks) = banks() else { return };
    let data = &data[..data.len().min(MAX_INPUT)];
    holds(&read(data, banks, &Intake::trusted(Timestamp::MAX)));
    holds(&read(data, banks, &Intake::default()));
}

/// The body of a bank's mail as HTML.
pub fn page(data: &[u8]) {
    let text = String::from_utf8_lossy(&data[..data.len().min(MAX_INPUT)]);
    if let Ok(page) = html::read(&text) {
        assert!(page.table.rows.len() <= super::text_table::MAX_ROWS + 1, "more rows than the limit");
    }
    let mut raw = b"From: GeNS@gtbank.com\r\nContent-Type: text/html; charset=utf-8\r\n\r\n".to_vec();
    raw.extend_from_slice(text.as_bytes());
    mail(&raw);
}

/// An amount's or a date's cell.
pub fn figure(data: &[u8]) {
    let text = String::from_utf8_lossy(&data[..data.len().min(MAX_INPUT)]);
    let figure = amount::read(&text);
    if let Some(value) = figure.value {
        // Written out again it is the same, and its digits stand in the cell in their order.
        let plain = value.to_string();
        assert_eq!(amount::read(&plain).value, Some(value), "{text:?}");
        let digits = |t: &str| t.chars().filter(char::is_ascii_digit).collect::<String>();
        let whole = digits(plain.trim_end_matches("00").trim_end_matches('.'));
        let whole = whole.trim_start_matches('0').trim_end_matches('0').to_owned();
        assert!(digits(&text).contains(&whole), "{text:?} read as {plain}");
    }
    when::interval(when::read(&text), None, Timestamp::MAX);
}

/// A narration, in every bank's grammar, both directions, cut and whole.
pub fn narration(data: &[u8]) {
    let Some(banks) = banks() else { return };
    let text = super::text_table::collapse(&String::from_utf8_lossy(&data[..data.len().min(4096)]));
    for bank in banks.list() {
        for (direction, filled) in
            [(Direction::Credit, false), (Direction::Credit, true), (Direction::Debit, false)]
        {
            let setting = Setting {
                bank,
                shared: &banks.shared,
                layout: bank.layout_names.first().map_or("", String::as_str),
                direction: Some(direction),
                holder: Some("TILL AND BELL LTD"),
                filled,
            };
            let narration = narration::read(&text, &setting);
            if let Some(session) = &narration.session {
                assert!(session.len() == 30 && session.bytes().all(|b| b.is_ascii_digit()), "{text:?}");
            }
            if let Some(name) = &narration.payer {
                assert!(name.chars().count() <= 120 && name.chars().any(char::is_alphabetic), "{text:?}");
            }
        }
    }
}

/// What holds for every reading, whatever the mail.
fn holds(reading: &Reading) {
    let facts = &reading.facts;
    assert!(!reading.why.is_empty(), "a reading without a reason");
    if reading.outcome == ReadOutcome::Read {
        assert_eq!(facts.direction, Some(Direction::Credit), "read without being a credit");
        assert!(facts.amount.is_some_and(|a| a.is_positive()), "read without an amount");
        assert!(facts.bank.is_some() && facts.template.is_some(), "read without a template");
    }
    if facts.direction == Some(Direction::Debit) || facts.kind.is_some_and(|k| k != AlertKind::Payment) {
        assert_eq!(facts.payer_name, None, "a payer of what is no payment");
    }
    if let Some(account) = &facts.account_number {
        assert!(account.len() <= 24 && account.chars().any(|c| c.is_ascii_digit()), "{account:?}");
    }
    assert_eq!(
        facts.virtual_account.as_ref().map_or(10, String::len),
        10,
        "a virtual account has ten digits"
    );
}

/// Mails to start from: every example of every template.
pub fn mails() -> Vec<(String, Vec<u8>)> {
    let Some(banks) = banks() else { return Vec::new() };
    let of = |bank: &super::Bank| {
        let code = bank.code.clone();
        let one = move |example: &super::template::raw::RawExample| {
            (
                format!("{code}-{}", example.name.replace(' ', "-")),
                super::check::raw_mail(example).unwrap_or_default(),
            )
        };
        bank.examples.iter().map(one).collect::<Vec<_>>()
    };
    banks.list().iter().flat_map(of).collect()
}

/// Narrations, figures and dates of the examples, as the other targets' start.
pub fn cells() -> Vec<String> {
    let Some(banks) = banks() else { return Vec::new() };
    let mut out = Vec::new();
    for (_, raw) in mails() {
        let facts = read(&raw, banks, &Intake::trusted(Timestamp::MAX)).facts;
        out.extend(facts.narration);
        out.extend(facts.amount.map(|a| format!("NGN {a} CR")));
    }
    out.extend(
        ["One Thousand Naira Only (NGN 1,000.00)", "Sep 19th, 2026 22:37:34", "75,000.00 (NGN)"]
            .map(String::from),
    );
    out
}

/// The mails that cost most inside the limits, with a name each.
pub fn worst() -> Vec<(&'static str, Vec<u8>)> {
    let page = |body: String| {
        let mut raw =
            b"From: GeNS@gtbank.com\r\nSubject: x\r\nContent-Type: text/html; charset=utf-8\r\n\r\n".to_vec();
        raw.extend_from_slice(body.as_bytes().get(..super::mime::MAX_HTML_BYTES).unwrap_or(body.as_bytes()));
        raw
    };
    let fill = |unit: &str, bytes: usize| unit.repeat(bytes / unit.len());
    let whole = super::mime::MAX_HTML_BYTES - 2048;
    let open: String = (0..200).map(|i| format!("<b id={i}>")).collect();
    let rules: String = (0..500).map(|i| format!(".c .c .c{{color:#{i:03}}}")).collect();
    let letters = "A credit transaction occurred ₦5,00 Amount : ";
    vec![
        ("deep divs", page(format!("{}{}", fill("<div>", 200 * 5), fill("x<br>", whole - 1000)))),
        ("formatting reopened by every block", page(format!("{open}{}", fill("<p>x", whole / 2)))),
        ("formatting reopened up to the limit", page(format!("{}{}", &open[..200], fill("<p>x", 8000)))),
        ("misnested formatting", page(fill("<a><b></a></b>", whole))),
        ("tables left open", page(fill("<table><tr><td>", 250 * 15))),
        ("foster children", page(format!("<table>{}", fill("x<b></b>", whole)))),
        ("rows", page(fill("<tr><td>Amount<td>5", whole))),
        ("empty cells", page(fill("<td>", whole))),
        (
            "rules for every element",
            page(format!("<style>{rules}</style>{}", fill("<p class=c>x</p>", whole - 20_000))),
        ),
        (
            "siblings",
            page(format!("<style>b~b~b~b,p~p~p~i{{color:#fff}}</style>{}", fill("<p>x<i>y</i>", whole))),
        ),
        (
            "declarations for every element",
            page(format!("<style>p{{{}}}</style>{}", fill("top:1;", whole / 2), fill("<p>x", whole / 2))),
        ),
        (
            "selectors of attributes",
            page(format!(
                "<style>{}</style><p title='{}'>{}",
                fill("[title*=y]{top:1}", whole / 8),
                fill("x", whole / 2),
                fill("<i>x</i>", whole / 8)
            )),
        ),
        (
            "classes of a selector",
            page(format!(
                "<style>{}{{top:1}}</style>{}",
                fill(".c", whole / 2),
                fill("<p class=c>x", whole / 2)
            )),
        ),
        ("selectors in selectors", page(format!("<style>{}</style><p>x", fill("p:not(:has(", whole)))),
        ("blocks in blocks", page(format!("<style>{}</style><p>x", fill("p{a:b{", whole)))),
        ("media in media", page(format!("<style>{}</style><p>x", fill("@media screen{", whole)))),
        ("functions in functions", page(format!("<style>p{{a:{}}}</style><p>x", fill("f(", whole)))),
        ("brackets in a selector", page(format!("<style>{}</style><p>x", fill("p[", whole)))),
        ("braces without a rule", page(format!("<style>p{{{}</style><p>x", fill("{x:y;", whole)))),
        ("attributes", page(format!("<p {}>", fill("a=b ", whole)))),
        ("entities", page(fill("&amp;", whole))),
        ("comments", page(fill("<!-- 12,345 -->", whole))),
        ("styles", page(fill("<p style='a:b;c:d;e:f'>", whole))),
        ("one long line", {
            let mut raw =
                b"From: GeNS@gtbank.com\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n".to_vec();
            raw.extend_from_slice(fill(letters, super::mime::MAX_TEXT_BYTES - 100).as_bytes());
            raw
        }),
        ("labels without values", {
            let mut raw = b"From: GeNS@gtbank.com\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nA credit transaction occurred on your account\r\n".to_vec();
            raw.extend_from_slice(
                fill("Amount\r\n\r\n", super::text_table::MAX_ROWS / 2 * 10 - 200).as_bytes(),
            );
            raw
        }),
        ("blanks", {
            let mut raw = b"From: GeNS@gtbank.com\r\n\r\nA credit transaction occurred".to_vec();
            raw.extend_from_slice(&vec![b' '; super::mime::MAX_TEXT_BYTES - 100]);
            raw
        }),
        ("digits", {
            let mut raw =
                b"From: GeNS@gtbank.com\r\n\r\nA credit transaction occurred\r\nDescription : ".to_vec();
            raw.extend_from_slice(&vec![b'9'; super::mime::MAX_TEXT_BYTES - 100]);
            raw
        }),
        ("two long parts", {
            let line = fill(letters, super::mime::MAX_TEXT_BYTES / 2 - 200);
            let other = fill(
                "You received NGN 5,000.00 from Ada Obi by Ene Ameh. ",
                super::mime::MAX_TEXT_BYTES - 200,
            );
            format!(
                "From: GeNS@gtbank.com\r\nContent-Type: multipart/alternative; boundary=q\r\n\r\n--q\r\n\
                 Content-Type: text/plain; charset=utf-8\r\n\r\n{line}\r\n--q\r\n\
                 Content-Type: text/html; charset=utf-8\r\n\r\n<p>{other}</p>\r\n--q--\r\n"
            )
            .into_bytes()
        }),
        ("mails in mails", b"Content-Type: message/rfc822\r\n\r\n".repeat(99)),
        ("boundaries", {
            let mut raw =
                b"From: GeNS@gtbank.com\r\nContent-Type: multipart/mixed; boundary=q\r\n\r\n".to_vec();
            raw.extend_from_slice(&b"--q\r\n\r\nx\r\n".repeat(90_000));
            raw
        }),
    ]
}
