//! Money that did not come: rows that tell a state, words of return and failure, amounts in brackets.
//! And the small things of single banks that are easily read as something else.

use super::made::{MADE, Told, made};
use super::{ReadOutcome, Reading, take};
use crate::domain::alert::{AlertKind, Direction};

fn credit(bank: &str, narration: &str) -> Reading {
    made(bank, &Told { narration: narration.into(), ..Told::default() }).read_text()
}

const SESSION: &str = "100004260303101958000111222333";

/// Read as a payment, and not without a person.
fn doubted(reading: &Reading) -> bool {
    reading.outcome == ReadOutcome::Read
        && reading.facts.kind == Some(AlertKind::Payment)
        && !reading.facts.doubts.is_empty()
}

#[test]
fn a_debit_without_a_readable_amount_is_not_ignored() {
    for bank in MADE {
        for (amount, expected) in
            [("50,200.00 + 10.75 fee", ReadOutcome::Unreadable), ("50,200.00", ReadOutcome::Ignored)]
        {
            let told = Told { credit: false, amount: amount.into(), ..Told::default() };
            let reading = made(bank, &told).read_text();
            assert_eq!(reading.outcome, expected, "{bank}: {amount}: {:?}", reading.why);
        }
    }
}

#[test]
fn a_row_that_tells_another_state_than_success_is_a_doubt() {
    for bank in MADE {
        for (label, value, fine) in [
            ("Transaction Status", "FAILED", false),
            ("Transaction Status", "Pending confirmation", false),
            ("Status", "Pending confirmation", false),
            ("Status", "Reversed", false),
            ("STATUS", "Declined by issuer", false),
            ("Payment Status", "Unsuccessful", false),
            ("Status", "Not successful", false),
            ("Status", "Success, awaiting clearing", false),
            ("Transfer state", "On hold", false),
            ("Transaction Status", "Successful", true),
            ("Status", "SUCCESS", true),
            ("Status", "Completed", true),
            ("Transaction Status", "Transaction Successful", true),
            ("Status", "", true),
        ] {
            let mut mail = made(bank, &Told::default());
            mail.rows.push((label.into(), value.into()));
            let spaced = mail.text().replace(&format!("{label} : "), &format!("{label} "));
            let lines = mail.text().replace(" : ", "\r\n");
            for reading in [
                mail.read_text(),
                mail.read_html(""),
                mail.read_as("text/plain", &spaced),
                mail.read_as("text/plain", &lines),
            ] {
                let before = made(bank, &Told::default()).read_text().facts.doubts;
                if fine {
                    assert_eq!(reading.facts.doubts, before, "{bank}: {label}: {value}");
                } else {
                    assert!(doubted(&reading), "{bank}: {label}: {value}: {:?}", reading.why);
                    assert!(
                        reading.facts.doubts.iter().any(|d| d.contains("transaction status")),
                        "{bank}: {label}: {value}: {:?}",
                        reading.why
                    );
                }
            }
        }
        for sentence in [
            "This transaction has been declined.",
            "The transfer failed.",
            "Your deposit is pending confirmation",
            "Payment was returned",
            "The cheque bounced",
        ] {
            let mut mail = made(bank, &Told::default());
            mail.after.push(sentence.into());
            assert!(doubted(&mail.read_text()), "{bank}: {sentence}");
        }
        let mut mail = made(bank, &Told::default());
        let before = mail.read_text().facts.doubts;
        mail.after.push("The status of your account can be seen in our app at any time of the day.".into());
        mail.after.push(
            "If a transaction failed or was declined, please write to our contact centre, which is open."
                .into(),
        );
        assert_eq!(mail.read_text().facts.doubts, before, "{bank}");
    }
}

#[test]
fn words_of_return_and_failure_are_a_doubt_and_put_nothing_aside() {
    for word in [
        "RETURNED",
        "REJECTED",
        "RTN",
        "RVS",
        "RVSL",
        "REVRSL",
        "failed",
        "bounced",
        "recall",
        "recalled",
        "uncleared",
        "DECLINED",
        "reversed",
        "RETURN",
        "Rejecte",
        "UNPAID",
        "dishonoured",
        "cancelled",
        "RTN_0091",
        "unsuccessful",
        "RTD",
        "UNAPPLIED",
        "return of funds",
        "pending",
    ] {
        for (bank, narration) in [
            ("gtbank", format!("{SESSION}-rent-OPAY-ZARA GYANG {word}")),
            ("gtbank", format!("{SESSION}-{word}-OPAY-ZARA GYANG")),
            ("zenith", format!("NIP/GTB/ZARA GYANG/rent {word}")),
            ("uba", format!("TNF-ZARA GYANG/Transfer from ZARA GYANG {word}")),
            ("firstbank", format!("FIP:GTB/ZARA GYANG/{word}")),
            ("access", format!("ZARA GYANG/MOBILE/{word}")),
            ("union", format!("ZARA GYANG/{word}")),
            ("wema", format!("NIP:ZARA GYANG- {word}")),
            ("stanbic", format!("CSH DEPOSIT BY ZARA GYANG {word}")),
            ("sterling", format!("BANKNIP From 000014 PAYREF: - SENDER: ZARA GYANG REMARK: x {word}")),
            ("fcmb", format!("web: TRF Frm ZARA GYANG/{word}")),
            ("moniepoint", format!("100004260128081508/#/ZARA GYANG/#/TILL LTD {word}")),
            (
                "premiumtrust",
                format!("NIP TRSF FROM ZARA GYANG MOBILE/UNION Transfer from ZARA GYANG {word}"),
            ),
            ("ecobank", format!("NXG MOBILE TRF FROM ZARA GYANG/{word}")),
            ("fidelity", format!("TRF ZARA To TILL|AT132_TRF|{word}")),
            ("polaris", format!("TRF FRM ZARA GYANG TO TILL AND BELL LTD {word}")),
        ] {
            // These tell it at the end alone; in the middle people type them.
            let cut = matches!(word, "RETURN" | "Rejecte" | "pending");
            if cut && !narration.ends_with(word) {
                continue;
            }
            let reading = credit(bank, &narration);
            assert!(doubted(&reading), "{bank}: {narration}: {:?}", reading.why);
        }
    }
    for remark in ["returns of May", "failsafe", "recallable", "June to July", "pending balance of rent"] {
        let narration = format!("NIP/GTB/ZARA GYANG/{remark}");
        assert_eq!(credit("zenith", &narration).facts.doubts, Vec::<String>::new(), "{remark}");
    }
}

#[test]
fn an_amount_in_brackets_or_with_a_minus_is_a_doubt() {
    for bank in ["gtbank", "zenith", "union", "uba", "stanbic", "premiumtrust", "moniepoint", "polaris"] {
        for shown in [
            "(7,350.00)",
            "-7,350.00",
            "7,350.00-",
            "NGN (7,350.00)",
            "NGN-7,350.00",
            "-NGN 7,350.00",
            "(NGN 7,350.00)",
            "[7,350.00]",
            "\u{2212}7,350.00",
            "NGN 7,350.00 -",
        ] {
            let mut mail = made(bank, &Told::default());
            let row = mail.rows.iter_mut().find(|(l, _)| l.to_lowercase().contains("amount")).unwrap();
            row.1 = shown.into();
            let reading = mail.read_text();
            assert!(doubted(&reading), "{bank}: {shown}: {:?}", reading.why);
            assert_eq!(reading.facts.amount.unwrap().to_string(), "7350.00", "{bank}: {shown}");
        }
        for shown in
            ["7,350.00 (NGN)", "NGN 7,350.00", "Seven Thousand Naira Only (NGN 7,350.00)", "+7,350.00"]
        {
            let mut mail = made(bank, &Told::default());
            let before = mail.read_text().facts.doubts;
            let row = mail.rows.iter_mut().find(|(l, _)| l.to_lowercase().contains("amount")).unwrap();
            row.1 = shown.into();
            assert_eq!(mail.read_text().facts.doubts, before, "{bank}: {shown}");
        }
    }
}

#[test]
fn a_direction_in_a_trusted_subject_is_no_doubt() {
    let polaris = credit("polaris", "TRF FRM ZARA GYANG TO TILL AND BELL LTD");
    assert_eq!(polaris.facts.direction, Some(Direction::Credit));
    assert_eq!(polaris.facts.doubts, Vec::<String>::new());
    // A row of the type that says something else than credit or debit is not passed over.
    let mut mail = made("uba", &Told::default());
    mail.subject = "UBA CREDIT Transaction Notification".into();
    mail.rows[0].1 = "Transfer".into();
    assert!(!mail.read_text().facts.doubts.is_empty());
}

#[test]
fn a_debit_tells_its_session_id() {
    let debit = |bank: &str, narration: &str| {
        made(bank, &Told { credit: false, narration: narration.into(), ..Told::default() }).read_text().facts
    };
    for narration in [
        format!("{SESSION}-rent-OPAY-ZARA GYANG"),
        format!("RVSL {SESSION}-rent-OPAY-ZARA GYANG"),
        format!("RVSL:{SESSION}-TRANSFER FROM ZARA GYANG-OPAY-ZARA GYANG"),
        format!("REVERSAL OF {SESSION}"),
        format!("NIP TRANSFER {SESSION}-ZARA GYANG"),
        format!("RTN/{SESSION}/ZARA GYANG"),
    ] {
        for bank in ["gtbank", "zenith", "lotus", "uba"] {
            let facts = debit(bank, &narration);
            assert_eq!(facts.session_id.as_deref(), Some(SESSION), "{bank}: {narration}");
            assert_eq!((facts.direction, facts.payer_name), (Some(Direction::Debit), None), "{bank}");
        }
    }
    // Not what stands where a payer types, not half of a longer number, and not one of two.
    for narration in [
        format!("POS PURCHASE rent for {SESSION}"),
        format!("RVSL {SESSION}7-rent"),
        format!("TRANSFER TO ADA OBI {SESSION}"),
    ] {
        assert_eq!(debit("gtbank", &narration).session_id, None, "{narration}");
    }
    // Money that comes back: a credit of ours undone.
    let back = credit("gtbank", &format!("RVSL: {SESSION}-rent-GTB-SOMEBODY")).facts;
    assert_eq!((back.kind, back.session_id.as_deref()), (Some(AlertKind::Reversal), Some(SESSION)));
}

#[test]
fn a_collection_tells_that_it_is_one() {
    for (narration, named) in [
        ("901234567801987654321234500020260304080001123 FROM ZARA GYANG TO SQUAD", true),
        ("FROM ZARA GYANG TO SQUAD", false),
        ("FROM ZARA GYANG TO SQUA", false),
        ("FROM ZARA GYANG TO SQUAD-OPAY-ZARA GYANG", false),
        ("01987654321234500020260304 FROM ZARA GYANG TO SQUAD", false),
        ("9012345678 FROM ZARA GYANG TO SQUAD", false),
        ("90123456780198765432123450002026030408000112 FROM ZARA GYANG", false),
        ("9012345678019876543212345000202603040800011", false),
        ("901234567801987654321234500020260304080001123 FROM ZARA GYANG T", false),
        ("901234567801987654321234500020260304080001123FROM ZARA GYANG TO SQUAD", false),
        ("TO SQUAD", false),
        ("TRF TO SQUAD-OPAY-ZARA GYANG", false),
        ("HABARIPAY COLLECTION ZARA GYANG", false),
    ] {
        let facts = credit("gtbank", narration).facts;
        assert!(facts.is_collection, "{narration}");
        assert_eq!(facts.virtual_account.is_some(), named, "{narration}");
    }
    for narration in [
        format!("{SESSION}-rent-OPAY-ZARA GYANG"),
        "VIA GAPS 11 RENT FROM OKPARA BUILDERS LTD".into(),
        "MOBILE TRF TO GTB GIFT TILL AND BELL LTD ACCESS AM GYANG ZARA".into(),
    ] {
        assert!(!credit("gtbank", &narration).facts.is_collection, "{narration}");
    }
}

#[test]
fn a_name_written_twice_with_a_sign_between_is_one() {
    for (bank, narration, name) in [
        ("union", "ZARA LAMI GYANG-ZARA LAMI GYANG/via GTWORLD", "ZARA LAMI GYANG"),
        ("union", "ZARA LAMI GYANG - ZARA LAMI GYANG/via GTWORLD", "ZARA LAMI GYANG"),
        ("zenith", "NIP/GTB/ZARA GYANG-ZARA GYANG/rent", "ZARA GYANG"),
        ("zenith", "NIP/GTB/ZARA GYANG, ZARA GYANG/rent", "ZARA GYANG"),
        ("zenith", "NIP/GTB/ZARA GYANG & ZARA GYANG/rent", "ZARA GYANG"),
        ("zenith", "CIP CR/ ZARA LAMI GYANG.ZARA LAMI GYANG/rent", "ZARA LAMI GYANG"),
        ("fidelity", "TRF ZARA GYANG-ZARA GYANG To TILL|AT132_TRF", "ZARA GYANG"),
        // Two people, a married name, and a name of one word stay.
        ("zenith", "NIP/GTB/ZARA GYANG-ADA GYANG/rent", "ZARA GYANG-ADA GYANG"),
        ("zenith", "NIP/GTB/BIODUN AKINOLA-COLE/rent", "BIODUN AKINOLA-COLE"),
    ] {
        let facts = credit(bank, narration).facts;
        assert_eq!(facts.payer_name.as_deref(), Some(name), "{bank}: {narration}");
    }
}

#[test]
fn an_institution_alone_is_no_name() {
    for name in [
        "GTBANK",
        "ACCESS BANK",
        "ACCESS BANK PLC",
        "UBA",
        "First Bank of Nigeria",
        "ZENITH BANK PLC",
        "KUDA MICROFINANCE BANK",
        "Opay Digital Services Ltd",
        "MONIEPOINT MFB",
        "UNITED BANK FOR AFRICA PLC",
        "GUARANTY TRUST BANK",
        "PALMPAY LTD",
        "STANBIC IBTC BANK",
        "FAIRMONEY MFB",
        "WEMA BANK",
    ] {
        for (bank, narration) in [
            ("zenith", format!("NIP/GTB/{name}/rent")),
            ("zenith", format!("CIP CR/ {name}/rent")),
            ("union", format!("{name}/rent")),
            ("wema", format!("NIP:{name}- rent")),
            ("gtbank", format!("{SESSION}-x-OPAY-{name}")),
        ] {
            assert_eq!(credit(bank, &narration).facts.payer_name, None, "{bank}: {narration}");
        }
        let mut mail = made("moniepoint", &Told::default());
        mail.rows.insert(3, ("Sender's Name".into(), format!("from {name}")));
        assert_eq!(mail.read_text().facts.payer_name, None, "{name}");
    }
    for name in ["STERLING OKORO", "ACCESS STORES AND SONS", "UNION BROTHERS VENTURES", "KUDA ADA"] {
        let facts = credit("zenith", &format!("NIP/GTB/{name}/rent")).facts;
        assert_eq!(facts.payer_name.as_deref(), Some(name));
    }
}

#[test]
fn the_letters_of_a_form_are_no_name() {
    for (narration, name) in [
        ("CIP CR/ ZARA LAMI GYANG/Transfer from ZARA LAMI GYANG", "ZARA LAMI GYANG"),
        ("CIP CR/ZARA LAMI GYANG/rent", "ZARA LAMI GYANG"),
        ("CIP/CR/MOB/ZARA LAMI GYANG", "ZARA LAMI GYANG"),
        ("CIP CR/MOB/UTO/12073821660", ""),
        ("CIP CR ZARA LAMI GYANG", ""),
    ] {
        let facts = credit("union", narration).facts;
        assert_eq!(facts.payer_name.unwrap_or_default(), name, "{narration}");
    }
}

#[test]
fn a_balance_in_another_currency_is_not_taken_for_one_in_this() {
    let with = |rows: &[(&str, &str)]| {
        let mut mail = made("gtbank", &Told::default());
        mail.rows.extend(rows.iter().map(|(l, v)| ((*l).to_owned(), (*v).to_owned())));
        mail.read_text().facts
    };
    let shown = |facts: &crate::domain::alert::AlertFacts| match facts.balance {
        Some(crate::domain::alert::Balance::Available(m) | crate::domain::alert::Balance::Ledger(m)) => {
            m.to_string()
        }
        None => String::new(),
    };
    for (rows, want) in [
        (&[("Available Balance", "NGN 9,000.00"), ("Available Balance", "USD 12.50")][..], "9000.00"),
        (&[("Available Balance", "$12.50"), ("Available Balance", "NGN 9,000.00")], "9000.00"),
        (&[("Available Balance", "USD 12.50")], ""),
        (&[("Available Balance", "$12.50"), ("Current Balance", "NGN 9,000.00")], "9000.00"),
    ] {
        let facts = with(rows);
        assert_eq!(shown(&facts), want, "{rows:?}");
        assert_eq!(facts.doubts, Vec::<String>::new(), "{rows:?}");
        assert_eq!(facts.amount.unwrap().to_string(), "7350.00");
        assert_eq!(facts.currency.as_deref(), Some("NGN"));
    }
    let two = with(&[("Available Balance", "NGN 9,000.00"), ("Available Balance", "NGN 8.00")]);
    assert!(!two.doubts.is_empty() && two.balance.is_none());
}

/// A mail of GTBank's in a charset, base64.
fn in_charset(charset: &str, bytes: &[u8]) -> Reading {
    use base64::Engine;
    let body = base64::engine::general_purpose::STANDARD.encode(bytes);
    take(&format!(
        "{}Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: base64\n\n{body}\n",
        super::HEAD
    ))
}

#[test]
fn mails_in_utf_16_are_read_and_what_only_says_so_is_not() {
    let rows = super::ROWS.replace("NGN 7350", "₦7,350.00").replace('\n', "\r\n");
    let le: Vec<u8> = rows.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let be: Vec<u8> = rows.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = |mark: [u8; 2], bytes: &[u8]| [&mark[..], bytes].concat();
    for (charset, bytes) in [
        ("utf-16le", le.clone()),
        ("UTF-16BE", be.clone()),
        ("utf-16", marked([0xFF, 0xFE], &le)),
        ("\"UTF-16\"", marked([0xFE, 0xFF], &be)),
        ("utf-16le", marked([0xFF, 0xFE], &le)),
        // Programs that leave the mark out write it so.
        ("utf-16", le.clone()),
    ] {
        let reading = in_charset(charset, &bytes);
        assert_eq!(reading.outcome, ReadOutcome::Read, "{charset}: {:?}", reading.why);
        assert_eq!(reading.facts.doubts, Vec::<String>::new(), "{charset}");
        assert_eq!(reading.facts.amount.unwrap().to_string(), "7350.00");
        assert_eq!(reading.facts.payer_name.as_deref(), Some("OKPARA BUILDERS LTD"));
    }
    // The other way round, halved, not marked, plain letters under that name: unread, and shown to a person.
    for (charset, bytes) in [
        ("utf-16le", be.clone()),
        ("utf-16be", le.clone()),
        ("utf-16", be.clone()),
        ("utf-16", marked([0xFF, 0xFE], &be)),
        ("utf-16le", marked([0xFE, 0xFF], &le)),
        ("utf-16le", le[..le.len() - 1].to_vec()),
        ("utf-16le", rows.clone().into_bytes()),
        ("utf-16", rows.clone().into_bytes()),
        ("ucs-2", le.clone()),
        ("utf-7", rows.replace('₦', "+IKY-").into_bytes()),
        ("unicode-1-1-utf-7", rows.replace("₦7,350.00", "+IKY-7+ACw-350.00").into_bytes()),
        ("csUTF7", b"Amount +ADo- 5".to_vec()),
    ] {
        let reading = in_charset(charset, &bytes);
        assert_eq!(reading.outcome, ReadOutcome::Unreadable, "{charset}: {:?}", reading.why);
        assert_eq!(reading.facts.amount, None, "{charset}");
    }
}

#[test]
fn a_subject_in_a_charset_that_is_not_read_is_none() {
    let of = |subject: &str| {
        let raw = made("polaris", &Told::default()).read_text_as(subject);
        (raw.facts.direction, raw.facts.doubts.len())
    };
    assert_eq!(of("=?utf-8?Q?Skye_Bank_-_Credit_Alert?="), (Some(Direction::Credit), 0));
    assert_eq!(of("=?utf-7?Q?Skye_Bank_-_Credit_Alert?="), (None, 1));
    assert_eq!(of("=?x-none?Q?Skye_Bank_-_Credit_Alert?="), (None, 1));
}
