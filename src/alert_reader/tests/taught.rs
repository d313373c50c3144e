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
