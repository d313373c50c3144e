//! A mail whose rows stand on one line of its source is as good as one with line breaks.

use super::made::{MADE, Told, made};
use super::{BANKS, now};
use crate::alert_reader::{Intake, fuzzing, read};

/// Without the white space between tags.
pub fn tight(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('>') {
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let trimmed = rest.trim_start();
        if trimmed.starts_with('<') {
            rest = trimmed;
        }
    }
    out + rest
}

#[test]
fn no_layout_is_lost_without_the_white_space_between_tags() {
    let mut lost = Vec::new();
    let mut count = 0;
    let mut compare = |name: String, mail: &str| {
        let (head, body) = mail.split_once("\r\n\r\n").unwrap();
        let loose = read(mail.as_bytes(), &BANKS, &Intake::trusted(now()));
        let raw = format!("{head}\r\n\r\n{}", tight(body));
        let one = read(raw.as_bytes(), &BANKS, &Intake::trusted(now()));
        count += 1;
        if (loose.outcome, &loose.facts) != (one.outcome, &one.facts) {
            lost.push(format!("{name}: {:?}", one.why));
        }
    };
    for (name, raw) in fuzzing::mails() {
        let mail = String::from_utf8(raw).unwrap();
        if mail.contains("text/html") {
            compare(name, &mail);
        }
    }
    for bank in MADE {
        let told = Told { narration: "NIP/GTB/ZARA GYANG/rent".into(), ..Told::default() };
        let mail = made(bank, &told);
        let head = format!("{}Content-Type: text/html; charset=utf-8\r\n\r\n", mail.head());
        compare(format!("{bank}, one table"), &format!("{head}{}", mail.html("<p>Thank you</p>")));
        // What a bank says in a second table, as long as banks write them, behind the narration too.
        // Two rows before it show how the bank parts them.
        for at in 2..mail.rows.len() {
            let second = "</table>\r\n<table width=\"100%\" border=\"0\" cellspacing=\"0\" cellpadding=\"0\" \
                          style=\"font-family:Arial,Helvetica,sans-serif;font-size:12px;color:#333333;\
                          border-collapse:collapse\">\r\n";
            let label = format!("<tr><td>{}</td>", mail.rows[at].0.replace('&', "&amp;"));
            let html = mail.html("").replacen(&label, &format!("{second}{label}"), 1);
            assert!(html.contains("width"), "{bank}: {label}");
            compare(format!("{bank}, a second table before {}", mail.rows[at].0), &format!("{head}{html}"));
        }
    }
    assert!(lost.is_empty(), "{} of {count}:\n{}", lost.len(), lost.join("\n"));
    println!("{count} mails read as well on one line");
}
