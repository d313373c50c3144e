//! Words and names that a payer types where the bank writes them too: they hide no credit, and they
//! name nobody.

use super::made::{Made, Told, made};
use super::{ReadOutcome, Reading, take};
use crate::domain::alert::{AlertKind, Direction};

fn credit(bank: &str, narration: &str) -> Reading {
    made(bank, &Told { narration: narration.into(), ..Told::default() }).read_text()
}

const SESSION: &str = "100004260303101958000111222333";

#[test]
fn typed_words_set_no_credit_aside() {
    for remark in [
        "rent from my savings",
        "payment from my account",
        "from your wallet",
        "loan interest payment",
        "repeat of failed transaction",
        "no self transfer",
        "charge refund",
        "rvsl of order",
        "savings withdrawal",
        "interest paid",
    ] {
        for (bank, narration) in [
            ("gtbank", format!("{SESSION}-{remark}-OPAY-ZARA GYANG")),
            ("zenith", format!("NIP/GTB/ZARA GYANG/{remark}")),
            ("stanbic", format!("NIP/GTB/ZARA GYANG/{remark}")),
            ("union", format!("ZARA GYANG/{remark}")),
        ] {
            let facts = credit(bank, &narration).facts;
            assert_eq!(facts.kind, Some(AlertKind::Payment), "{bank}: {narration}");
            assert_eq!(facts.payer_name.as_deref(), Some("ZARA GYANG"), "{bank}: {narration}");
            assert!(facts.doubts.iter().any(|d| d.contains("between own accounts")), "{bank}: {narration}");
        }
    }
    let priest = credit("union", "REV ZARA GYANG/thanks");
    assert_eq!((priest.outcome, priest.facts.kind), (ReadOutcome::Read, Some(AlertKind::Payment)));
    assert_eq!(credit("stanbic", "NIP/GTB/ZARA GYANG/for rev john").facts.kind, Some(AlertKind::Payment));
    for narration in ["REV-SR ZARA GYANG/thanks", "Rev/Fr Zara Gyang/x", "REV: ZARA GYANG/x"] {
        let priest = credit("union", narration);
        assert_eq!(
            (priest.outcome, priest.facts.kind),
            (ReadOutcome::Read, Some(AlertKind::Payment)),
            "{narration}"
        );
        assert!(!priest.facts.doubts.is_empty(), "{narration}: a word that a person looks at");
    }
    // Where the bank writes them.
    for (narration, kind) in [
        ("REV/1002 ZARA GYANG", AlertKind::Reversal),
        ("REV", AlertKind::Reversal),
        ("REV/POS 1002", AlertKind::Reversal),
        ("AUTO-REVERSAL 1002", AlertKind::Reversal),
        ("Transfer from your savings", AlertKind::OwnTransfer),
        ("SELF TRANSFER", AlertKind::OwnTransfer),
        ("SMS ALERT CHARGE REFUND", AlertKind::Fee),
    ] {
        assert_eq!(credit("zenith", narration).facts.kind, Some(kind), "{narration}");
    }
}

#[test]
fn what_is_typed_adds_nothing_to_a_name() {
    for (bank, narration, name) in [
        ("zenith", "NIP/GTB/ZARA GYA/Transfer from ZARA GYANGBA", "ZARA GYA"),
        ("zenith", "CIP CR/ ZARA GYA/Transfer from ZARA GYANGBA LAMI", "ZARA GYA"),
        ("zenith", "TNF-ZARA GYA/Transfer from ZARAGYA LAMI", "ZARA GYA"),
        ("union", "UIP Trf from ZARA GYA - Transfer from ZARAGYA LAMI", "ZARA GYA"),
        ("wema", "NIP:ZARA GYA-Transfer from ZARA GYANGBA", "ZARA GYA"),
        ("premiumtrust", "NIP TRSF FROM ZARA GYA MOBILE/UNION Transfer from ZARA GYANGBA", "ZARA GYA"),
        // What stands in the network's place is no name: the other was typed all the same.
        ("zenith", "NIP/GTB/OPAY/Transfer from ZARA GYANG", ""),
        ("zenith", "CIP CR/ PAYSTACK/Transfer from ZARA GYANG", ""),
    ] {
        let read = credit(bank, narration).facts.payer_name.unwrap_or_default();
        assert_eq!(read, name, "{bank}: {narration}");
    }
}

/// A sentence of the bank whose mails are one sentence.
fn sentence(text: &str) -> Reading {
    take(&format!(
        "From: hello@kuda.com\nSubject: Transaction Notification\nDate: Fri, 20 Mar 2026 09:00:20 +0100\n\
         Content-Type: text/plain; charset=utf-8\n\n{text} Love, The Kuda Team.\n"
    ))
}

#[test]
fn a_sentence_typed_into_a_sentence_turns_no_direction() {
    for text in [
        "Hi Till, Zara Gyang just sent you ₦25,000.00 - you just sent ₦5,000.00.",
        "Hi Till, Zara Gyang just sent you ₦25,000.00 - you just sent it.",
        "You just sent ₦800.00 to  Ene Ameh - Zara Gyang just sent you ₦5,000.00.",
    ] {
        let reading = sentence(text);
        assert_eq!((reading.outcome, reading.facts.direction), (ReadOutcome::Unreadable, None), "{text}");
        assert!(reading.facts.doubts.iter().any(|d| d.contains("a credit and a debit")), "{text}");
    }
    let back = sentence("Hi Till, your transfer of ₦2,000.00 to Ene Ameh failed, so we've reversed it.");
    assert_eq!((back.outcome, back.facts.kind), (ReadOutcome::Read, Some(AlertKind::Reversal)));
    assert_eq!(back.facts.amount.unwrap().to_string(), "2000.00");
}

/// A credit of a bank whose narration is the payer's remark.
fn remarked(remark: &str) -> Reading {
    take(&format!(
        "From: no-reply@quickmart.com\nSubject: Money Received\nDate: Sun, 22 Mar 2026 16:48:20 +0100\n\
         Content-Type: text/plain; charset=utf-8\n\nDear TILL BELL,\n\
         ₦10.50 has been credited to your account (A/c: ******0611) on\n22/03/2026 04:48 PM.\n\
         Transaction Type\nCredit\nAmount\n₦10.50\nNarration\n{remark}\n\
         Transaction Date & Time\n22/03/2026 04:48 PM\nCurrent Available Balance\n₦20.00\n"
    ))
}

#[test]
fn where_the_narration_is_typed_it_names_nobody() {
    let moniepoint = |row: &str, narration: &str| {
        let mut mail = made("moniepoint", &Told { narration: narration.into(), ..Told::default() });
        if !row.is_empty() {
            mail.rows.insert(3, ("Sender's Name".into(), format!("from {row}")));
        }
        mail.read_text().facts
    };
    for remark in [
        "NIP/UBA/ZARA GYANG/rent".to_owned(),
        "CSH DEPOSIT BY ZARA GYANG".to_owned(),
        "CIP CR/ ZARA GYANG/Transfer from ZARA GYANG".to_owned(),
        format!("{SESSION}-rent-OPAY-ZARA GYANG"),
    ] {
        let reading = remarked(&remark);
        assert_eq!(reading.outcome, ReadOutcome::Read, "{remark}: {:?}", reading.why);
        assert_eq!((reading.facts.payer_name, reading.facts.session_id), (None, None), "{remark}");
        for row in ["", "TILL LTD - Bus 1"] {
            assert_eq!(moniepoint(row, &remark).payer_name, None, "{row}: {remark}");
        }
        assert_eq!(moniepoint("ADA OBI", &remark).payer_name.as_deref(), Some("ADA OBI"));
    }
    for remark in ["interest paid", "SELF TRANSFER", "Reversal of my order"] {
        let facts = remarked(remark).facts;
        assert_eq!((facts.kind, facts.doubts.len()), (Some(AlertKind::Payment), 1), "{remark}");
        assert_eq!(moniepoint("ADA OBI", remark).kind, Some(AlertKind::Payment), "{remark}");
    }
}

#[test]
fn the_senders_row_may_name_the_receivers_own_account() {
    let read = |row: &str, narration: &str| {
        let mut mail = made("moniepoint", &Told { narration: narration.into(), ..Told::default() });
        mail.rows.insert(3, ("Sender's Name".into(), format!("from {row}")));
        let facts = mail.read_text().facts;
        (facts.payer_name.unwrap_or_default(), facts.doubts.len())
    };
    for narration in [
        "100033260128081508/#/ZARA GYANG:7011223344/#/TILL NOW LTD",
        "100004260128081508/#/ZARA GYANG:7011223344/#/TILL NOW LTD",
        "100004260128081508/#/ZARA GYANG/#/TILL NO",
        "100004260128081508/#/ZARA GYANG to TILL NOW LTD BUS 6 Sen",
    ] {
        assert_eq!(read("TILL NOW LTD - Bus 1", narration), ("ZARA GYANG".into(), 0), "{narration}");
        // He may be a payer who typed his own name for the receiver's, so a person looks at it.
        assert_eq!(read("TILL NOW LTD", narration), ("ZARA GYANG".into(), 1), "{narration}");
        assert_eq!(read("ADA OBI", narration), ("ADA OBI".into(), 0), "{narration}");
    }
}

#[test]
fn what_one_layout_says_may_be_typed_into_another() {
    let word = |said: &str, narration: &str| {
        let rows = [
            ("Transaction Amount", "NGN 7,350.00"),
            ("Narration", narration),
            ("Date", "03-Mar-2026"),
            ("Available Balance", "NGN 90,000.00"),
        ];
        let rows = rows.map(|(label, value)| (label.to_owned(), value.to_owned())).to_vec();
        let of_the_bank = made("gtbank", &Told::default());
        Made { before: vec![said.into()], rows, ..of_the_bank }.read_text()
    };
    for typed in ["a credit transaction occurred", "your account has been credited", "rent"] {
        assert_eq!(word("Debited", typed).facts.direction, Some(Direction::Debit), "{typed}");
        assert_eq!(word("Credited", typed).facts.direction, Some(Direction::Credit), "{typed}");
    }
    // And a line of its own in the sentence's layout.
    for credit in [true, false] {
        let mut mail = made("gtbank", &Told { credit, ..Told::default() });
        mail.after = vec![if credit { "Debited".into() } else { "Credited".into() }];
        let direction = if credit { Direction::Credit } else { Direction::Debit };
        assert_eq!(mail.read_text().facts.direction, Some(direction), "{credit}");
    }
}

/// A bank whose mails are one line, in which a remark stands like the bank's own words.
#[test]
fn what_a_payer_typed_makes_no_debit_something_else() {
    let told = |subject: &str, direction: &str, remark: &str| {
        take(&format!(
            "From: alert@providusbank.com\nTo: till@shop.example\nSubject: {subject}\nDate: Tue, 03 Mar 2026 10:20:40 +0100\nMessage-ID: <p1@providusbank.com>\n\n\
             Transaction Alert Service Dear TILL AND BELL LTD , This is to notify you that a {direction} transaction just occured on your account. \
             Account Number 51******09 Amount NGN 7,350.00 Narrative NIP/OPAY/ZARA GYANG/{remark} Time Tue, Mar 03, 2026 at 10:20 AM \
             Reference 21032026999600111 Branch MAIN Available Balance NGN 9,000.00 Ledger Balance NGN 9,000.00\n"
        ))
        .facts
    };
    let credit = "that a Credit transaction just occured";
    let debit = told("ProvidusBank - Debit Alert", "Debit", credit);
    assert_eq!(
        (debit.direction, debit.kind),
        (Some(Direction::Debit), Some(AlertKind::Payment)),
        "{debit:?}"
    );
    // Nothing says which: it may have taken money back.
    let either = told("ProvidusBank", "Debit", credit);
    assert_eq!((either.direction, either.kind), (None, Some(AlertKind::Reversal)), "{either:?}");
    // The bank itself calls it a credit, so it took nothing; and it is none by itself.
    let named = told("ProvidusBank - Credit Alert", "Credit", "that a Debit transaction just occured");
    assert_eq!((named.direction, named.kind), (None, None), "{named:?}");
}
