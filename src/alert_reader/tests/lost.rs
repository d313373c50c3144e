//! The bank's own words of a return, in every shape of a mail; and the words that are none.

use super::made::{MADE, Told, made};
use super::{ReadOutcome, Reading, take};
use crate::domain::alert::{AlertKind, RETURNED_OR_OWN};

fn providus(narrative: &str, tail: &str) -> Reading {
    take(&format!(
        "From: alert@providusbank.com\nSubject: ProvidusBank - Credit Alert\nDate: Sat, 21 Mar 2026 12:30:37 +0000\n\
         Content-Type: text/plain; charset=utf-8\n\nTransaction Alert Service Dear TILL AND BELL , This is to notify you \
         that a Credit transaction just occured on your account. Account Number 51******09 Amount NGN 2,500.00 Narrative \
         {narrative} Time Sat, Mar 21, 2026 at 1:30 PM Reference 21032026999600111 Branch MAIN Available Balance NGN \
         16.00 Ledger Balance NGN 43.00{tail}\n"
    ))
}

#[test]
fn words_of_a_return_are_doubts_wherever_the_bank_writes_them() {
    for words in [
        "RETURNED",
        "UNCLEARED",
        "Rejected by NIBSS",
        "This item has been returned.",
        "The amount above was recalled by the sending bank.",
        "Dear customer, kindly note that the above transaction failed at the switch and that no value was received \
         from the sending bank for it.",
    ] {
        for bank in MADE {
            let mut mail = made(bank, &Told::default());
            mail.after.push(words.into());
            assert!(mail.read_text().facts.is_told_as_lost(), "{bank}: {words}");
            mail.after.clear();
            mail.before.insert(0, words.into());
            assert!(mail.read_html("").facts.is_told_as_lost(), "{bank}: {words}");
        }
        let words = format!(" {words}");
        assert!(providus("NIP/GTB/ZARA GYANG/x", &words).facts.is_told_as_lost(), "providus: {words}");
    }
    for (label, value) in [
        ("Action", "Declined"),
        ("Value", "UNCLEARED"),
        ("Decision", "REJECTED"),
        ("Response Code", "91"),
        ("Return Reason", "Account name mismatch"),
        ("Transaction Status", "Code 91"),
        ("Status", "For the sender: reversed"),
    ] {
        for bank in MADE {
            let mut mail = made(bank, &Told::default());
            mail.rows.push((label.into(), value.into()));
            assert!(mail.read_text().facts.is_told_as_lost(), "{bank}: {label} {value}");
            assert!(mail.read_html("").facts.is_told_as_lost(), "{bank}: {label} {value}");
        }
        let tail = format!(" {label} {value}");
        let is_word = ["Declined", "UNCLEARED", "REJECTED"].contains(&value);
        assert!(!is_word || providus("x", &tail).facts.is_told_as_lost(), "providus: {tail}");
    }
}

#[test]
fn what_is_general_or_typed_is_no_word_of_the_banks_about_this_credit() {
    for words in [
        "If an item was declined, please write to us.",
        "For failed transactions or returned cheques dial *901*911#.",
        "Uncleared Balance: 0.00",
        "Kindly report any transaction that was declined or reversed without your knowledge to our contact centre, at\n\
         any of our branches, where it was cancelled.",
    ] {
        for bank in MADE {
            let mut mail = made(bank, &Told::default());
            let before = mail.read_text().facts.doubts;
            mail.after.extend(words.lines().map(str::to_owned));
            assert_eq!(mail.read_text().facts.doubts, before, "{bank}: {words}");
        }
    }
    // A payer's words may cost a person's look, and never speak against the credits of others.
    for remark in ["goods RETURNED", "RVSL", "this item has been returned"] {
        for reading in [
            providus(remark, ""),
            made("lotus", &Told { narration: remark.into(), ..Told::default() }).read_text(),
            made("zenith", &Told { narration: remark.into(), ..Told::default() }).read_html(""),
        ] {
            assert!(!reading.facts.is_told_as_lost(), "{remark}: {:?}", reading.facts.doubts);
        }
    }
    let mut mail = made("union", &Told::default());
    mail.rows.push(("Remark".into(), "goods RETURNED".into()));
    let facts = mail.read_text().facts;
    assert!(facts.doubts.iter().any(|doubt| doubt == RETURNED_OR_OWN), "{:?}", facts.doubts);
    assert!(!facts.is_told_as_lost(), "{:?}", facts.doubts);
}

#[test]
fn a_payers_remark_makes_no_reversal_of_a_credit_of_lotus() {
    let reading = made("lotus", &Told { narration: "RVSL rice".into(), ..Told::default() }).read_text();
    assert_eq!((reading.outcome, reading.facts.kind), (ReadOutcome::Read, Some(AlertKind::Payment)));
    assert_eq!(reading.facts.doubts, [RETURNED_OR_OWN]);
}
