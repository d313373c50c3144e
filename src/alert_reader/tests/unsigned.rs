//! Mails whose signature leaves Content-Type open: no rewriting of it may make another alert of them.
//!
//! The seed is printed; TILLBELL_TEST_SEED repeats a run, TILLBELL_TEST_ROUNDS makes it longer.

use std::sync::LazyLock;

use super::made::{MADE, Told, made};
use super::mutations::{Chance, number, seed};
use crate::alert_reader::check::raw_mail;
use crate::alert_reader::proof::{Covered, Credential, Proof, ProofVerdict};
use crate::alert_reader::template::embedded::TEMPLATES;
use crate::alert_reader::{Banks, Intake, ReadOutcome, Reading, mime, read};
use crate::domain::alert::{AlertFacts, Authenticity};
use crate::domain::time::Timestamp;

const ROUNDS: usize = 200;
const BOUNDARY: &str = "=_b7f2";

/// All banks, as if none of them signed Content-Type.
static UNSIGNED: LazyLock<Banks> = LazyLock::new(|| {
    let say =
        |(file, text): &(&str, &str)| ((*file).to_owned(), format!("signs_content_type = false\n{text}"));
    Banks::assemble(TEMPLATES.iter().map(say).collect()).unwrap()
});

/// What thieves may put in the place of a Content-Type. `None` takes it away.
const FORMS: [Option<&str>; 34] = [
    None,
    Some(""),
    Some("text"),
    Some("text/plain"),
    Some("text/plain; charset=utf-8"),
    Some("text/plain; charset=us-ascii"),
    Some("text/plain; charset=windows-1252"),
    Some("text/plain; charset=iso-8859-15"),
    Some("text/plain; charset=utf-7"),
    Some("text/plain; charset=utf-16"),
    Some("text/plain; charset=utf-16be"),
    Some("text/plain; charset=iso-2022-jp"),
    Some("text/plain; charset=hz-gb-2312"),
    Some("text/plain; charset=shift_jis"),
    Some("text/plain; charset=gbk"),
    Some("text/plain; charset=big5"),
    Some("text/plain; charset=koi8-r"),
    Some("text/plain; charset=nope"),
    Some("text/plain; charset=utf-8; format=flowed; delsp=yes"),
    Some("text/plain; name=a.txt"),
    Some("text/enriched; charset=utf-8"),
    Some("text/html"),
    Some("TEXT/HTML; charset=utf-8"),
    Some("text/html; charset=windows-1252"),
    Some("text/html; charset=utf-7"),
    Some("text/html; charset=iso-2022-jp"),
    Some("text/html; charset=utf-16le"),
    Some("application/octet-stream"),
    Some("message/rfc822"),
    Some("multipart/mixed"),
    Some("multipart/mixed; boundary=q"),
    Some("multipart/alternative; boundary=\"=_b7f2\""),
    Some("multipart/digest; boundary=\"=_b7f2\""),
    Some("multipart/related; boundary=\"=_b7\""),
];

/// What payers type to make rows of it.
const TYPED: [&str; 12] = [
    "rent",
    "x | Amount | NGN 9,000.00 | Account Number | ******4417 | Description | VIA GAPS RENT FROM ADA OBI EZE |",
    "x\tAmount\tNGN 9,000.00\tAccount Number\t******4417\tDescription\tVIA GAPS RENT FROM ADA OBI EZE\tRemarks",
    "x<br>Amount : NGN 9,000.00<br>Account Number : ******4417<br>Description : VIA GAPS RENT FROM ADA OBI EZE<br>",
    "x</td></tr><tr><td>Amount</td><td>:</td><td>NGN 9,000.00</td></tr>",
    "&lt;br&gt;Amount : NGN 9,000.00&lt;br&gt;",
    "x&#10;Amount : NGN 9,000.00&#10;",
    "+AAo-Amount : NGN 9,000.00+AAo-",
    "\u{1b}$B$\"\u{1b}(B Amount : NGN 9,000.00",
    "=0AAmount : NGN 9,000.00=0A",
    "--q Content-Type: text/html x<br>Amount : NGN 9,000.00<br>",
    "~{<:Ky2;~} Amount : NGN 9,000.00 \u{e9}\u{20a6}",
];

/// A proven mail, its Content-Type signed or not.
fn told(raw: &[u8], signed: bool) -> Reading {
    let from = mime::only_from(raw).unwrap();
    let covered = Covered { content_type: signed, encoding_signed: false, ..Covered::ALL };
    let credential = Credential { by: "dkim d=a.example s=b key=sha256:c".into(), from, covered };
    let proof = Proof { verdict: ProofVerdict::Proven(credential), why: Vec::new() };
    read(raw, &UNSIGNED, &Intake { now: Timestamp::MAX, proof, ..Intake::default() })
}

/// It could approve a payment by itself.
fn counts(reading: &Reading) -> bool {
    reading.authenticity == Authenticity::Proven
        && reading.outcome == ReadOutcome::Read
        && reading.facts.doubts.is_empty()
}

fn under(raw: &[u8], form: Option<&str>) -> Vec<u8> {
    let text = String::from_utf8(raw.to_vec()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let kept = head.split("\r\n").filter(|line| !line.to_lowercase().starts_with("content-type:"));
    let given = form.map(|form| format!("Content-Type: {form}"));
    let lines: Vec<&str> = kept.chain(given.as_deref()).collect();
    format!("{}\r\n\r\n{body}", lines.join("\r\n")).into_bytes()
}

/// What the bank meant, and that no rewriting tells anything else and still counts.
fn stands(raw: &[u8], meant: &AlertFacts, form: Option<&str>, what: &str) {
    let rewritten = told(&under(raw, form), false);
    assert!(
        !counts(&rewritten) || rewritten.facts == *meant,
        "{what} as {form:?} tells {:#?} in the place of {meant:#?}",
        rewritten.facts
    );
}

/// The three ways in which banks send what they have to say.
fn arranged(from: &str, subject: &str, text: &str, html: &str) -> [Vec<u8>; 3] {
    let parts = format!(
        "--{BOUNDARY}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n--{BOUNDARY}\r\n\
         Content-Type: text/html; charset=utf-8\r\n\r\n{html}\r\n--{BOUNDARY}--\r\n"
    );
    let parted = format!("multipart/alternative; boundary=\"{BOUNDARY}\"");
    [("text/plain; charset=utf-8", text), ("text/html; charset=utf-8", html), (&parted, &parts)].map(|(kind, body)| {
        format!(
            "From: {from}\r\nTo: till@shop.example\r\nSubject: {subject}\r\nDate: Tue, 03 Mar 2026 10:20:40 +0100\r\n\
             MIME-Version: 1.0\r\nContent-Type: {kind}\r\n\r\n{body}"
        )
        .into_bytes()
    })
}

#[test]
fn no_rewriting_of_an_example_approves_other_facts() {
    let (mut good, mut passed) = (0, Vec::new());
    let mut stopped = Vec::new();
    for bank in UNSIGNED.list() {
        for example in &bank.examples {
            let raw = raw_mail(example).unwrap();
            let raw =
                String::from_utf8(raw).unwrap().replace("\r\n", "\n").replace('\n', "\r\n").into_bytes();
            let meant = told(&raw, true);
            let what = format!("{} {}", bank.code, example.name);
            if counts(&meant) {
                good += 1;
                let honest = told(&raw, false);
                let list = if counts(&honest) { &mut passed } else { &mut stopped };
                list.push(format!("{what}: {:?}", honest.facts.doubts));
            }
            for form in FORMS {
                stands(&raw, &meant.facts, form, &what);
            }
        }
    }
    eprintln!("{} of {good} credits pass without a signed Content-Type; not: {stopped:#?}", passed.len());
    assert!(passed.len() * 10 >= good * 8, "{stopped:#?}");
}

#[test]
fn no_typed_narration_becomes_rows_under_another_type() {
    let seed = seed();
    let rounds = number("TILLBELL_TEST_ROUNDS").map_or(ROUNDS, |n| usize::try_from(n).unwrap());
    eprintln!("TILLBELL_TEST_SEED={seed}");
    let mut chance = Chance::new(seed);
    for round in 0..rounds {
        let bank = *chance.pick(&MADE);
        let typed = *chance.pick(&TYPED);
        let mail = made(bank, &Told { narration: typed.into(), ..Told::default() });
        let raws = arranged(mail.from, &mail.subject, &mail.text(), &mail.html(""));
        let raw = chance.pick(&raws);
        let meant = told(raw, true).facts;
        let what = format!("round {round}: {bank}, {typed:?}");
        // A boundary out of the midst of the body.
        let body = String::from_utf8_lossy(raw).into_owned();
        let pieces: Vec<&str> = body.match_indices("--").map(|(at, _)| &body[at + 2..]).collect();
        let piece = if pieces.is_empty() { "q" } else { *chance.pick(&pieces) };
        let length = 1 + chance.below(8);
        let cut: String = piece.chars().take(length).take_while(|c| !"\r\n\"\\".contains(*c)).collect();
        let kind = *chance.pick(&["mixed", "alternative", "related", "digest", "report"]);
        stands(raw, &meant, Some(&format!("multipart/{kind}; boundary=\"{cut}\"")), &what);
        for _ in 0..4 {
            stands(raw, &meant, *chance.pick(&FORMS), &what);
        }
    }
}

#[test]
fn what_a_thief_would_gain_is_what_a_person_sees() {
    let mut thefts = Vec::new();
    for bank in MADE {
        for typed in &TYPED[..4] {
            let mail = made(bank, &Told { narration: (*typed).into(), ..Told::default() });
            for raw in arranged(mail.from, &mail.subject, &mail.text(), &mail.html("")) {
                let meant = told(&raw, true).facts;
                for form in FORMS {
                    let believed = told(&under(&raw, form), true);
                    if counts(&believed) && believed.facts != meant {
                        thefts.push(format!("{bank} {typed:?} as {form:?}: {:?}", believed.facts));
                        stands(&raw, &meant, form, bank);
                    }
                }
            }
        }
    }
    let all = thefts.len();
    thefts.truncate(3);
    eprintln!("{all} thefts if a rewritten Content-Type were believed, such as {thefts:#?}");
    assert!(all > 0, "nothing shows that the header must be signed");
}

#[test]
fn the_banks_own_mails_pass_in_every_arrangement() {
    let mut stopped = Vec::new();
    for bank in MADE {
        let mail = made(bank, &Told { narration: "rent".into(), ..Told::default() });
        for (n, raw) in arranged(mail.from, &mail.subject, &mail.text(), &mail.html("")).iter().enumerate() {
            let (meant, honest) = (told(raw, true), told(raw, false));
            assert_eq!(honest.unsigned, ["Content-Type"]);
            if counts(&honest) != counts(&meant) {
                stopped.push(format!("{bank}, arrangement {n}: {:?}", honest.facts.doubts));
            }
        }
    }
    // GTBank's last row is empty here: as a text, the boundary stands in it.
    assert!(stopped.len() <= 1, "{stopped:#?}");
}

#[test]
fn a_body_that_could_be_several_things_goes_to_a_person() {
    let mail = made("gtbank", &Told::default());
    let [text, html, parts] = arranged(mail.from, &mail.subject, &mail.text(), &mail.html(""));
    let change = |raw: &[u8], from: &str, to: &str| {
        let out = String::from_utf8(raw.to_vec()).unwrap().replacen(from, to, 1);
        assert_ne!(out.as_bytes(), raw, "nothing was changed");
        out.into_bytes()
    };
    let cases = [
        (change(&text, "rent", "rent <b>now</b>"), "could be text or HTML"),
        (change(&html, "<html>", "Hello <html>"), "could be text or HTML"),
        (change(&text, "rent", "rent=20for=20May"), "quoted-printable"),
        (change(&text, "\r\n\r\n", "\r\n\r\n--x\r\n"), "consists of parts"),
        (change(&parts, "\r\n\r\n", "\r\n\r\nHello\r\n"), "consists of parts"),
        (change(&parts, "--=_b7f2--", ""), "consists of parts"),
    ];
    for (raw, why) in cases {
        let reading = told(&raw, false);
        assert!(!counts(&reading), "{why}: {reading:?}");
        let is_said = reading.facts.doubts.iter().any(|doubt| doubt.contains(why));
        assert!(is_said || reading.outcome != ReadOutcome::Read, "{why}: {reading:?}");
    }
    // Words for old readers may stand in front of the parts.
    let mail = made("zenith", &Told::default());
    let [_, _, parts] = arranged(mail.from, &mail.subject, &mail.text(), &mail.html(""));
    let usual = change(&parts, "\r\n\r\n", "\r\n\r\nThis is a multi-part message in MIME format.\r\n");
    assert!(counts(&told(&usual, false)));
}
