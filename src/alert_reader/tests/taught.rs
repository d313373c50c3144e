//! What a person who teaches a bank is told of his rules for narrations.

use super::{HEAD, ROWS, now};
use crate::alert_reader::template::embedded::TEMPLATES;
use crate::alert_reader::{Banks, Intake, Reading, read};

/// GTBank with these rules in the place of its own.
fn taught(rules: &str) -> Banks {
    let (file, text) = TEMPLATES.iter().find(|(file, _)| file.contains("gtbank")).unwrap();
    let own: String = text.split("[[narration]]").next().unwrap().into();
    Banks::assemble(vec![((*file).to_owned(), format!("{own}{rules}"))]).unwrap()
}

fn tried(banks: &Banks, narration: &str) -> Reading {
    let body = ROWS.replace("VIA GAPS 11 RENT FROM OKPARA BUILDERS LTD", narration);
    let raw = format!("{HEAD}\n{body}").replace('\n', "\r\n");
    read(raw.as_bytes(), banks, &Intake { explain: true, ..Intake::trusted(now()) })
}

#[test]
fn an_institution_is_known_in_any_case() {
    let banks = taught("[[narration]]\npattern = '^FROM (?P<payer>.+?) AT (?P<bank>{BANK})$'\n");
    for letters in ["OPAY", "OPay", "opay", "Union Bank"] {
        let reading = tried(&banks, &format!("FROM ZARA GYANG AT {letters}"));
        assert_eq!(reading.facts.payer_name.as_deref(), Some("ZARA GYANG"), "{letters}: {:?}", reading.why);
        assert!(reading.facts.payer_bank.is_some(), "{letters}");
    }
}

#[test]
fn every_rule_that_was_tried_says_what_did_not_fit() {
    let banks = taught(
        "[[narration]]\npattern = '^IN (?P<reference>[0-9]{4}) FROM (?P<payer>.+?)/(?P<bank>{BANK})$'\n\
         [[narration]]\nlayouts = ['word']\npattern = 'x'\n\
         [[narration]]\npattern = '(?P<payer>OPAY)$'\n\
         [[narration]]\npattern = 'Q'\n",
    );
    let why = tried(&banks, "IN 1234 BY ZARA GYANG/OPAY").why.join("\n");
    for part in [
        "the narration is \"IN 1234 BY ZARA GYANG/OPAY\"",
        "narration rule 1 of the template does not match: it matches up to `^IN (?P<reference>[0-9]{4}) `, \
         but not `FROM (?P<payer>.+?)/(?P<bank>{BANK})$`",
        "narration rule 2 of the template does not apply to this narration: the layout is gens, not word",
        "narration rule 3 of the template matches, but finds no name",
        "narration rule 4 of the template does not match, not even its beginning: `Q`",
        "none of the network's",
    ] {
        assert!(why.contains(part), "{part}\n{why}");
    }
    let found = tried(&banks, "IN 1234 FROM ZARA GYANG/opay").why.join("\n");
    assert!(found.contains("narration rule 1 of the template matches: the payer is ZARA GYANG"), "{found}");
    assert!(!found.contains("rule 2") && !found.contains("network"), "{found}");
    let none = tried(&banks, "").why.join("\n");
    assert!(none.contains("no narration was found"), "{none}");
}

/// What a person is told of a mail that this template reads.
fn why(template: &str, mail: &str) -> String {
    let (file, own) = TEMPLATES.iter().find(|(file, _)| file.contains("gtbank")).unwrap();
    let head = own.split("[[layout]]").next().unwrap();
    let banks = Banks::assemble(vec![((*file).to_owned(), format!("{head}{template}"))]).unwrap();
    let raw = format!("{HEAD}\n{mail}").replace('\n', "\r\n");
    read(raw.as_bytes(), &banks, &Intake { explain: true, ..Intake::trusted(now()) }).why.join("\n")
}

const TAUGHT: &str = "[[layout]]\nname = 'slip'\nall = ['(?i)credit slip']\n\
    [layout.direction]\ncredit = ['(?i)credit slip']\n\
    [layout.fields]\namount = { labels = ['Total Paid'] }\n\
    [[layout]]\nname = 'rows'\nall = ['(?i)wish to inform', '(?i)amount credited: NGN']\nnone = ['(?i)dear']\nsubject = ['^Slip']\n\
    [layout.direction]\ncredit = ['x']\n\
    [layout.fields]\namount = { labels = ['Amount'] }\n";

#[test]
fn a_layout_that_does_not_fit_says_which_expression_of_it() {
    let told = why(TAUGHT, ROWS);
    for part in [
        "none of the known layouts fits",
        "layout slip does not fit: `(?i)credit slip` (all) does not match",
        "layout rows does not fit: `(?i)amount credited: NGN` (all) does not match; `(?i)dear` (none) matches; no \
         expression of subject matches",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let quiet = read(
        format!("{HEAD}\n{ROWS}").replace('\n', "\r\n").as_bytes(),
        &Banks::embedded().unwrap(),
        &Intake::trusted(now()),
    );
    assert!(!quiet.why.iter().any(|line| line.contains("field ")), "{:?}", quiet.why);
}

#[test]
fn a_field_that_was_not_read_says_what_was_looked_for() {
    let template = "[[layout]]\nname = 'rows'\nall = ['(?i)wish to inform']\n\
        [layout.direction]\ncredit = ['(?i)money came']\ndebit = ['(?i)money went']\n\
        [layout.fields]\namount = { labels = ['Sum Paid'], lines = ['with the sum of (?P<v>[0-9]+)'] }\n\
        reference = { labels = ['Description'] }\n\
        date = { labels = ['Value Date'] }\n";
    let told = why(template, ROWS);
    for part in [
        "field amount was not read: no row is labelled \"sum paid\"; `with the sum of (?P<v>[0-9]+)` (lines) does not match",
        "direction was not read: `(?i)money came` (credit) does not match; `(?i)money went` (debit) does not match",
        "field reference was not read: it found \"",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    assert!(!told.contains("field date"), "{told}");
}
