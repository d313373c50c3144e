//! The bank's own words of a return, in every shape of a mail; and the words that are none.

use super::made::{MADE, Told, made};
use super::{ReadOutcome, Reading, take};
use crate::domain::alert::{AlertKind, Direction, FAILED_DEBIT, RETURNED_OR_OWN};

fn providus(narrative: &str, tail: &str) -> Reading {
    take(&format!(
        "From: alert@providusbank.com\nSubject: ProvidusBank - Credit Alert\nDate: Sat, 21 Mar 2026 12:30:37 +0000\n\
         Content-Type: text/plain; charset=utf-8\n\nTransaction Alert Service Dear TILL AND BELL , This is to notify you \
         that a Credit transaction just occured on your account. Account Number 51******09 Amount NGN 2,500.00 Narrative \
         {narrative} Time Sat, Mar 21, 2026 at 1:30 PM Reference 21032026999600111 Branch MAIN Available Balance NGN \
         16.00 Ledger Balance NGN 43.00{tail}\n"
    ))
}

/// GTBank's rows, with a narration that is whole in the first of its two.
fn gtbank(description: &str, remarks: &str) -> Reading {
    let row = |label: &str, value: &str| format!("<tr><td>{label}</td><td>:</td><td>{value}</td></tr>\n");
    let rows = [
        ("Account Number", "******4417"),
        ("Description", description),
        ("Amount", "NGN 5,000.00"),
        ("Value Date", "2026-03-10"),
        ("Remarks", remarks),
        ("Time of Transaction", "9:10:00 AM"),
        ("Available Balance", "NGN 16,000.00"),
    ];
    let rows: String = rows.iter().map(|(label, value)| row(label, value)).collect();
    take(&format!(
        "From: GeNS@gtbank.com\nSubject: Transaction Notification\nDate: Tue, 10 Mar 2026 09:10:05 +0100\n\
         Content-Type: text/html; charset=utf-8\n\n<table><tr><td>Dear TILL AND BELL LTD</td></tr>\n<tr><td>We wish to \
         inform you that a CREDIT transaction occurred on your account with us.</td></tr></table>\n<table>{rows}</table>\n"
    ))
}

#[test]
fn words_of_a_return_count_beside_a_narration_that_is_whole_without_them() {
    let narration = "100004260310091000123456789012-TRANSFER-OPAY-HALIMA GARBA";
    for words in [
        "RVSL",
        "REVERSAL OF CREDIT",
        "RETURNED",
        "NIP RETURN",
        "FAILED TRANSACTION REFUND",
        "Return of funds",
    ] {
        let facts = gtbank(narration, words).facts;
        assert!(facts.doubts.iter().any(|doubt| doubt == RETURNED_OR_OWN), "{words}: {:?}", facts.doubts);
        assert_eq!(facts.payer_name.as_deref(), Some("HALIMA GARBA"), "{words}");
        let typed = gtbank(&format!("{narration} {words}"), "").facts;
        assert!(typed.doubts.iter().any(|doubt| doubt == RETURNED_OR_OWN), "{words}: {:?}", typed.doubts);
    }
    for words in ["", "CHARGES", "HALIMA GARBA", "SCHOOL FEES"] {
        let facts = gtbank(narration, words).facts;
        assert_eq!((facts.doubts, facts.kind), (Vec::new(), Some(AlertKind::Payment)), "{words}");
    }
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

#[test]
fn the_banks_words_that_nothing_came_or_that_it_left_again_are_doubts() {
    for words in [
        "Your account has not been credited.",
        "Amount not credited",
        "We were unable to credit your account.",
        "We could not credit your account.",
        "The transfer could not be completed.",
        "Transaction did not succeed",
        "Transaction was unsuccesful",
        "This transaction is being processed.",
        "Transaction in progress",
        "Awaiting settlement",
        "This credit is provisional.",
        "The funds are subject to clearing.",
        "Transaction nullified",
        "Transaction blocked",
        "Payment withheld",
        "This amount is frozen.",
        "The sender stopped this payment.",
        "The amount has been withdrawn from your account.",
        "Money has gone back to the sender",
        "The amount has been debited back.",
        "Recall request received",
        "A dispute was raised on this transfer.",
        "Correction entry",
        "Contra entry",
        "Erroneous credit",
        "Wrongly credited",
        "A lien has been placed on this amount.",
        "Refer to drawer",
        "Pending",
    ] {
        for bank in MADE {
            let mut mail = made(bank, &Told::default());
            mail.after.push(words.into());
            assert!(mail.read_text().facts.is_told_as_lost(), "{bank}: {words}");
        }
    }
    for (label, value, is_lost) in [
        ("NIP Response Code", "91", true),
        ("Switch Response Code", "00", false),
        ("Dr/Cr", "D", true),
        ("Dr/Cr", "C", false),
        ("Indicator", "DR", true),
        ("Transaction Direction", "Outflow", true),
        ("Account Status", "ACTIVE", false),
        ("Hold Amount", "NGN 6006", true),
        ("Hold Amount", "NGN 0.00", false),
        ("Lien Amount", "0", false),
        ("Blocked Amount", "NIL", false),
    ] {
        for bank in MADE {
            let mut mail = made(bank, &Told::default());
            mail.rows.push((label.into(), value.into()));
            for facts in [mail.read_text().facts, mail.read_html("").facts] {
                assert_eq!(facts.is_told_as_lost(), is_lost, "{bank}: {label} {value}: {:?}", facts.doubts);
            }
        }
    }
    for words in [
        "If you did not authorise this debit, please call us.",
        "To stop debit alerts dial *901#.",
        "Stamp duty of NGN 50.00 was debited from your account.",
        "Never tell anybody your PIN when you withdraw money.",
    ] {
        for bank in MADE {
            let mut mail = made(bank, &Told::default());
            mail.after.push(words.into());
            let facts = mail.read_html("").facts;
            assert!(!facts.is_told_as_lost(), "{bank}: {words}: {:?}", facts.doubts);
        }
    }
}

#[test]
fn money_that_is_kept_back_or_will_go_again_is_a_doubt_in_rows_and_subjects() {
    for words in [
        "This credit is yet to be confirmed.",
        "Yet to be received",
        "Not yet received",
        "This inflow has been placed on hold.",
        "Your inflow is on PND pending verification.",
        "Post No Debit placed on this credit.",
        "Funds will be released after verification.",
        "The amount will be available for use after 24 hours.",
        "We will reverse this credit.",
        "This credit will be reversed shortly.",
        "Value not given",
        "No value given",
        "Unable to credit beneficiary.",
        "Temporary credit",
        "Memo posted",
        "Invalid transaction",
        "Transaction unverified",
        "Transaction not approved",
        "Transaction delayed",
        "Payment deferred",
        "Credit revoked",
        "Awaiting authorisation",
        "Awaiting verification",
        "Recall initiated",
        "Refund in progress",
        "Claim raised",
        "NIBSS dispute",
        "Retrieval request",
        "Source account could not be debited",
        "Amount not available for withdrawal",
        "This amount cannot be withdrawn.",
        "Funds held",
        "Amount in escrow",
        "Your account would be credited within 24 hours.",
    ] {
        for bank in MADE {
            let mut mail = made(bank, &Told::default());
            mail.after.push(words.into());
            assert!(mail.read_text().facts.is_told_as_lost(), "{bank}: {words}");
            assert!(mail.read_html("").facts.is_told_as_lost(), "{bank}: {words}");
        }
        let text = format!(
            "From: alert@providusbank.com\nSubject: ProvidusBank - Credit Alert: {words}\nDate: Sat, 21 Mar 2026 12:30:37 +0000\n\
             Content-Type: text/plain; charset=utf-8\n\n"
        );
        let body = "Transaction Alert Service Dear TILL AND BELL , This is to notify you that a Credit transaction just occured \
                    on your account. Account Number 51******09 Amount NGN 2,500.00 Narrative x Time Sat, Mar 21, 2026 at \
                    1:30 PM Reference 21032026999600111 Branch MAIN Available Balance NGN 16.00 Ledger Balance NGN 43.00\n";
        assert!(take(&format!("{text}{body}")).facts.is_told_as_lost(), "subject: {words}");
    }
    for words in [
        "Unauthorised transaction? Call 0700 123 4567.",
        "Your deposits are insured by the NDIC.",
        "SMS alerts may be delayed.",
        "Thank you for banking with us.",
        "For disputes raised on transfers, write to us.",
        "Value Date",
        "Credit Transaction",
        "Available Balance",
        "The money in your account is safe with us.",
        "This payment has been received and is available for use.",
        "Your transfer limit has been increased.",
        "Payment received",
        "Funds are available now.",
    ] {
        for bank in MADE {
            let mut mail = made(bank, &Told::default());
            mail.after.push(words.into());
            let facts = mail.read_text().facts;
            assert!(!facts.is_told_as_lost(), "{bank}: {words}: {:?}", facts.doubts);
        }
    }
}

#[test]
fn the_mail_of_a_debit_that_failed_is_doubted_and_an_honest_one_is_not() {
    let debit = |after: &str| {
        take(&format!(
            "From: alert@providusbank.com\nSubject: ProvidusBank - Debit Alert\nDate: Sat, 21 Mar 2026 12:30:37 +0000\n\
             Content-Type: text/plain; charset=utf-8\n\nTransaction Alert Service Dear TILL AND BELL , This is to notify you \
             that a Debit transaction just occured on your account. Account Number 51******09 Amount NGN 2,500.00 Narrative \
             PAYOUTABCDEFGHJKLM Time Sat, Mar 21, 2026 at 1:30 PM Reference 21032026999600111 Branch MAIN Available Balance NGN \
             16.00 Ledger Balance NGN 43.00\n\n{after}\n"
        ))
    };
    for (words, is_doubted) in [
        ("This transfer failed and the amount has been returned.", true),
        ("Pending", true),
        ("NGN 2,500.00 was debited from your account.", false),
        ("The sum was withdrawn from your account.", false),
        ("If you did not authorise this debit, please call us.", false),
        ("", false),
    ] {
        let facts = debit(words).facts;
        assert_eq!(facts.direction, Some(Direction::Debit), "{words}");
        let is_told = facts.doubts.iter().any(|doubt| doubt.starts_with(FAILED_DEBIT));
        assert_eq!(is_told, is_doubted, "{words}: {:?}", facts.doubts);
        assert!(!facts.is_told_as_lost(), "it tells no state: {words}: {:?}", facts.doubts);
    }
}
