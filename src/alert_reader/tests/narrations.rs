//! What narrations tell of the payer, form by form and bank by bank, and what is no payment.

use super::made::{MADE, Told, made};
use super::{ReadOutcome, Reading};
use crate::domain::alert::{AlertKind, Direction};

fn credit(bank: &str, narration: &str) -> Reading {
    made(bank, &Told { narration: narration.into(), ..Told::default() }).read_text()
}

fn payer(bank: &str, narration: &str) -> String {
    let reading = credit(bank, narration);
    assert_eq!(reading.outcome, ReadOutcome::Read, "{bank}: {narration}: {:?}", reading.why);
    reading.facts.payer_name.unwrap_or_default()
}

const SESSION: &str = "100004260303101958000111222333";

#[test]
fn inward_transfers_end_in_the_sending_bank_and_the_name() {
    for (narration, name, bank) in [
        (format!("{SESSION}-TRANSFER FROM ZARA-OPAY-ZARA LAMI GYANG"), "ZARA LAMI GYANG", "OPay"),
        (format!("{SESSION}--OPAY-ZARA GYANG"), "ZARA GYANG", "OPay"),
        (format!("{SESSION}-rent-for-may-OPAY-GYANG, ZARA"), "GYANG, ZARA", "OPay"),
        (
            "000018260303101958000111222333-MOBILE/UNION TRANSFER FROM GYANG ZARA L - NA-UNION-GYANG ZARA L"
                .into(),
            "GYANG ZARA L",
            "Union Bank",
        ),
        (
            "000004260303101958000111222333-TXN88123YUR shop no 44-UBA-ZARA LAMI GYANG".into(),
            "ZARA LAMI GYANG",
            "UBA",
        ),
        ("090267260303101958000111222333-PAYMENT -KMB-GYANG, ZARA".into(), "GYANG, ZARA", "Kuda"),
        (
            "100033260303101958000111222333-ZARA LAMI GYANG:7011223344-PALMPAY-ZARA LAMI GYANG".into(),
            "ZARA LAMI GYANG",
            "PalmPay",
        ),
        (
            "000013260303101958000111222333-gift-GTB-AKINOLA-COLE BIODUN".into(),
            "AKINOLA-COLE BIODUN",
            "GTBank",
        ),
    ] {
        for at in ["gtbank", "ecobank"] {
            let facts = credit(at, &narration).facts;
            assert_eq!(facts.payer_name.as_deref(), Some(name), "{at}: {narration}");
            assert_eq!(facts.payer_bank.as_deref(), Some(bank), "{at}: {narration}");
            assert_eq!(facts.session_id.as_deref(), narration.get(..30), "{at}");
            assert_eq!(facts.doubts, Vec::<String>::new(), "{at}: {narration}");
        }
    }
}

#[test]
fn where_the_end_may_be_missing_the_text_before_must_tell_the_name() {
    // 30 signs, a hyphen and the bank's own blank leave the payer 98 of the 130.
    let filled = |typed: &str, end: &str| format!("{SESSION}-{typed:X<width$}{end}", width = 98 - end.len());
    let rent = "RENT FOR THE MONTH OF MARCH AND THE NEXT ";
    assert_eq!(payer("gtbank", &filled(rent, "-OPAY-ZARA GYANG")), "");
    assert_eq!(payer("gtbank", &filled(rent, "-OPAY-ZARA GYANG-QQ")), "");
    assert_eq!(payer("gtbank", &filled("ZARA GYANG LAMI TO TILL ", "-OPAY-ZARA GYANG")), "ZARA GYANG");
    for at in ["gtbank", "ecobank"] {
        assert_eq!(payer(at, &format!("{SESSION}-OPAY-ADA OBI-QQB-KOLA")), "", "{at}");
        assert_eq!(payer(at, &format!("{SESSION}-x-OPAY-ADA OBI-QQB-KOLA BODE")), "", "{at}");
        assert_eq!(payer(at, &format!("{SESSION}-x-OPAY-ADA AKIN-COLE")), "ADA AKIN-COLE", "{at}");
    }
}

#[test]
fn blanks_that_the_payer_typed_fill_the_field_too() {
    let rows = |first: &str, rest: &str| {
        let mut mail = made("gtbank", &Told::default());
        mail.rows[2].1 = first.into();
        mail.rows[5].1 = rest.into();
        mail
    };
    let payer = |mail: &super::made::Made| mail.read_html("").facts.payer_name.unwrap_or_default();
    let first = format!("{SESSION}-{:X<49}", "RENT ");
    // A blank at the end or at the front of what fills the second row, and more of them.
    for rest in [
        format!("{:X<27}-OPAY-ZARA LAMI GYANG ", "XXXXXXXXXX "),
        format!(" {:X<27}-OPAY-ZARA LAMI GYANG", "XXXXXXXXX "),
        format!("{:X<10}-OPAY-ZARA LAMI GYANG{:18}", "", ""),
        format!("{:X<10}-OPAY-ZARA LAMI GYANG{:\u{a0}<18}", "", ""),
    ] {
        assert_eq!(payer(&rows(&first, &rest)), "", "{rest:?}");
    }
    assert_eq!(payer(&rows(&first, "XXXXXXXXXX -OPAY-ZARA LAMI GYANG")), "ZARA LAMI GYANG");
    // Blanks up to the end of the first row: what comes behind them is in the second, or was cut.
    let typed = format!("{SESSION}-RENT-OPAY-ZARA LAMI GYANG");
    let padded = format!("{typed:80}");
    assert_eq!(payer(&rows(&typed, "")), "ZARA LAMI GYANG");
    assert_eq!(payer(&rows(&padded, "")), "");
    assert_eq!(payer(&rows(&padded, &" ".repeat(50))), "");
    assert_eq!(payer(&rows(&padded, "x-OPAY-KOL A BODE")), "KOLA BODE");
    assert_eq!(payer(&rows(&format!("VIA GAPS 11 RENT FROM ZARA LAMI GYANG{:43}", ""), "")), "");
    assert_eq!(payer(&rows(&format!("MOBILE TRF TO GTB x UBA AM ZARA GYANG{:43}", ""), "")), "");
    assert_eq!(payer(&rows(&format!("{SESSION}-TRANSFER FROM ZARA LAMI GYANG{:21}", ""), "")), "");
    // Indents of the source are no blanks of the bank's.
    let mail = rows(&typed, "");
    let indented = mail.html("").replace(&typed, &format!("\r\n{:30}{typed}\r\n{:30}", "", ""));
    assert_eq!(mail.read_as("text/html", &indented).facts.payer_name.as_deref(), Some("ZARA LAMI GYANG"));
    // A name that was cut at a blank is told by the text before, and marked as cut.
    let cut = rows(
        &format!("{SESSION}-{:X<49}", "TRANSFER FROM AISHATU BELLO "),
        &format!("{:X<37}-WBP-AISHATU ", "XXXXXXXXXX ").replace("-WBP-", "-OPAY-")[..50],
    );
    let facts = cut.read_html("").facts;
    assert!(facts.payer_name.is_none() || facts.payer_name_cut, "{facts:?}");
}

#[test]
fn what_the_payer_typed_is_no_name() {
    for narration in [
        // The bank behind it is not the one that made the session id: typed, the real end is lost.
        format!("{SESSION}-PAY TO-UBA-VICTIM NAME-XYZ"),
        format!("{SESSION}-VICTIM NAME"),
        format!("{SESSION}-from VICTIM NAME to you"),
        format!("{SESSION}-x-OPAY-OPAY"),
        format!("{SESSION}-x-OPAY-PAYSTACK CHECKOUT"),
        format!("{SESSION}-TRANSFER FROM VICTIM NAMEAT12_TRF2MPT"),
        SESSION.to_owned(),
    ] {
        assert_eq!(payer("gtbank", &narration), "", "{narration}");
    }
    // A name cut off at the end of the field says so.
    let long = format!("{SESSION}-{}-OPAY-ZARA LA", "N".repeat(130 - 31 - 13));
    let facts = credit("gtbank", &long).facts;
    assert!(facts.payer_name.is_none() || facts.payer_name_cut, "{facts:?}");
}

#[test]
fn a_split_narration_is_put_together_at_every_place() {
    // The split falls on every letter of the end.
    for fill in 0..60 {
        let narration = format!("{SESSION}-{}-OPAY-ZARA LAMI GYANG", "x".repeat(fill));
        let facts = credit("gtbank", &narration).facts;
        let narration_fills = narration.len();
        let (narration, name) = match narration.split_at_checked(80) {
            // A blank lost at the front of a short second part cannot be told from none.
            Some((first, rest)) if rest.starts_with(' ') && rest.len() <= 10 => {
                let glued = format!("{first}{}", rest.trim_start());
                let name = glued.rsplit('-').next().unwrap().to_owned();
                (glued, name)
            }
            _ => (narration, "ZARA LAMI GYANG".to_owned()),
        };
        assert_eq!(facts.narration, Some(narration), "{fill}");
        // A first part that may fill its field, with nothing behind it, may have lost its end.
        let whole = !(78..=80).contains(&narration_fills);
        assert_eq!(facts.payer_name, whole.then_some(name), "{fill}");
    }
}

#[test]
fn a_virtual_account_is_cut_from_both_ends() {
    for (kobo, naira) in
        [("100", "1.00"), ("90000", "900.00"), ("110000", "1100.00"), ("99999999999", "999999999.99")]
    {
        let narration = format!(
            "90123456780198765432{kobo}20260303080001123 FROM ZARA GYANG TO SQUAD-FAIRMONEY-ZARA GYANG"
        );
        let facts = credit("gtbank", &narration).facts;
        assert_eq!(facts.virtual_account.as_deref(), Some("9012345678"), "{kobo}");
        assert_eq!(facts.payer_account_number.as_deref(), Some("0198765432"), "{kobo}");
        assert_eq!(facts.virtual_amount.unwrap().to_string(), naira);
        // A short second part that began with a blank has lost it for good.
        assert_eq!(facts.payer_name.unwrap().replace(' ', ""), "ZARAGYANG");
        assert_eq!(facts.account_number.as_deref(), Some("******4417"));
    }
}

#[test]
fn every_banks_own_forms() {
    for (bank, narration, name) in [
        ("zenith", "CIP CR/ ZARA LAMI GYANG/Transfer from ZARA LAMI GYANG", "ZARA LAMI GYANG"),
        ("zenith", "CIP CR/ ZARA LAMI GYANG/Transfer from ZARA LAMI G", "ZARA LAMI GYANG"),
        ("zenith", "CIP CR/ZARA LAMI/Transfer from ZARA LAMI GYANG", "ZARA LAMI"),
        ("zenith", "CIP/CR/MOB/ZARA LAMI GYANG", "ZARA LAMI GYANG"),
        ("zenith", "CIP CR/ ZARA GYANG/rent", "ZARA GYANG"),
        // Two people, and no word which of them the account belongs to.
        ("zenith", "CIP CR/ MY SHOP VENTURES/Transfer from ZARA GYANG", ""),
        ("zenith", "NIP/ABN/ZARA GYANG/MOBILE TRF TO ZIB SOMEBODY ELSE", "ZARA GYANG"),
        ("zenith", "NIP/KBL/TRF BO ZARA GYANG /KIP ZENITH/9999999999", "ZARA GYANG"),
        ("zenith", "NIP/JOHNSON/school fees", ""),
        ("zenith", "ISW ZARA GYANG Trf for Custo", "ZARA GYANG"),
        ("zenith", "ETI NXG  MOBILE TRF TO ZIB  CO", ""),
        ("zenith", "UP-IB Online Transfer|USSD-NIP/To ZARA G./23490XX", ""),
        ("zenith", "UP-IB Online Transfer|MOB/UTO/ZARA COOPERATIVE/My Shop", ""),
        ("fidelity", "TRF ZARA To TILL|AT132_TRF|2MPT8neta|20896665", "ZARA"),
        ("fidelity", "GYANG ZARA/FIPUSSDGYANG ZARA UUSSD", "GYANG ZARA"),
        ("access", "ZARA GYANG/MOBILE/for rice", "ZARA GYANG"),
        ("access", "025NIPL261600232/ZARA GYANG/ZARA GYANG Transfer 1", "ZARA GYANG"),
        ("access", "025NIPL261600232/mimi cashout/mimi cashout Transfer 1", "mimi cashout"),
        ("access", "179NIPL2616000QZ/Paystack/SomebodySomebody Tech", ""),
        ("access", "179AMHY2616000hU/MOBILE TRF TO PAY/ POS /ZARA  GYANG", ""),
        ("access", "OLUWADAMILOLA/school fees/May", ""),
        ("access", "TRF/gift", ""),
        ("union", "UIP Trf from ZARA LAMI GYA - Transfer from ZARA LAMI GYANG", "ZARA LAMI GYA"),
        (
            "union",
            "UIP Trf from ZARAFINA LAMIDE GYA - Transfer from ZARAFINA LAMIDE GYANG",
            "ZARAFINA LAMIDE GYANG",
        ),
        ("union", "ZARA LAMI GYANGZARA LAMI GYANG/via GTWORLD", "ZARA LAMI GYANG"),
        ("union", "ZARA   GYANG/Tf", "ZARA GYANG"),
        ("union", "ZARA S GYANG/MOB/GYANG ZARA/UTO/12074024813/Tf", "ZARA S GYANG"),
        ("union", "MOBILE/UNION Transfer from ZARA GYANG - NA", "ZARA GYANG"),
        ("union", "POS/SHOP RITE/LAGOS", ""),
        ("union", "CASH DEPOSIT/IKEJA", ""),
        ("union", "HTML example transaction", ""),
        ("firstbank", "FIP:GTB/GYANG ZARA/NIP Transfer to TILL AND BE", "GYANG ZARA"),
        ("firstbank", "FIP:MB:UBA/ZARA GYANG/FBNMOBILE:", ""),
        ("firstbank", "FIP:rent/may/paid", ""),
        ("wema", "NIP:GYANG VENTURES LIMITED- Prime", "GYANG VENTURES LIMITED"),
        ("wema", "NIP:GYANG ZARA-Transfer from GYANG ZARA", "GYANG ZARA"),
        ("wema", "NIP:AKINOLA-COLE BIODUN- rent", "AKINOLA-COLE BIODUN"),
        ("wema", "NIP:GYANG ZARA-Transfer fr", "GYANG ZARA"),
        ("uba", "TNF-ZARA LAMI GYANG/Transfer from ZARA LAMI", "ZARA LAMI GYANG"),
        ("uba", "TNF-ZARA LAMI GYANG/rent", "ZARA LAMI GYANG"),
        ("uba", "NIP/OPY/ZARA GYANG/x", "ZARA GYANG"),
        ("uba", "MOB/ZARA GYANG/UTO/12073821660/Tf", ""),
        ("stanbic", "CSH DEPOSIT BY ZARA GYANG", "ZARA GYANG"),
        ("stanbic", "NIP/FCMB/ZARA GYANG/x", "ZARA GYANG"),
        ("sterling", "BANKNIP From 000014 PAYREF: - SENDER: ZARA GYANG REMARK: 7000 FEES", "ZARA GYANG"),
        ("sterling", "OneBank Transfer from ZARA GYANG to TILL AND BELL (Shop)", "ZARA GYANG"),
        ("sterling", "OneBankTransferfromZARAGYANGtoTILLANDBELL", "ZARAGYANG"),
        ("sterling", "NIP TRF ZARA GYANG IFO TILL AND BELL", "ZARA GYANG"),
        ("fcmb", "NIP FRM ZARA GYANG-INVOICE 114", "ZARA GYANG"),
        ("fcmb", "NIP FRM AKINOLA-COLE BIODUN-INVOICE", ""),
        ("fcmb", "TRF From ZARA GYANG/rent", "ZARA GYANG"),
        ("fcmb", "web: TRF Frm ZARA GYANG/rent", "ZARA GYANG"),
        ("fcmb", "CSH DEPOSIT BY:ZARA GYANG|IKEJA", "ZARA GYANG"),
        ("fcmb", "TRANSFER B/O: ZARA GYANG", "ZARA GYANG"),
        ("fcmb", "Transfer from ZARA GYANG;08030000000;rent", "ZARA GYANG"),
        ("fcmb", "ZARA GYANG|MOB: To FCMB|rent", "ZARA GYANG"),
        (
            "moniepoint",
            "ZARA GYANG - ZARA GYANG TO TILL LTD MONIEPOINT *****52510/TRF|2MPT7abcd|2015000000000000001",
            "ZARA GYANG",
        ),
        ("moniepoint", "100033260128081508/#/ZARA GYANG:7011223344/#/TILL LTD", "ZARA GYANG"),
        ("moniepoint", "100004260128081508/#/zara gyang/#/TILL LTD", "zara gyang"),
        ("moniepoint", "100004260128081508/#/ZARA GYANG to TILL LTD BUS 6 Sen", "ZARA GYANG"),
        ("premiumtrust", "NIP TRSF FROM ZARA GYANG MOBILE/UNION Transfer from ZARA GYANG", "ZARA GYANG"),
        ("ecobank", "NXG MOBILE TRF FROM ZARA GYANG", "ZARA GYANG"),
        ("ecobank", "NXG :MOBILE TRF TO ECO  GYANG Z", ""),
        ("polaris", "TRF FRM ZARA GYANG TO TILL AND BELL LTD", "ZARA GYANG"),
        ("gtbank", "VIA GAPS 639246 GOODS FROM LAGOS FROM GYANG SERVICES LTD", "GYANG SERVICES LTD"),
        ("gtbank", "MOBILE TRF TO GTB GIFT TILL AND BELL LTD ACCESS AM GYANG ZARA", "GYANG ZARA"),
        ("gtbank", "FROM ZARA GYANG TO SQUA", "ZARA GYANG"),
        ("lotus", "OPAY DIGITAL SERVICES LIMITED", ""),
    ] {
        assert_eq!(payer(bank, narration), name, "{bank}: {narration}");
    }
}

#[test]
fn a_bulk_payment_that_fills_its_field_names_no_place() {
    let narration = |end: &str| {
        format!("VIA GAPS 639246 SETTLEMENT OF INVOICES OF THE MONTHS OF MAY AND JUNE AND JULY {end}")
    };
    assert_eq!(
        payer("gtbank", &narration("FROM LAGOS TO KANO AND BACK AND SO ON AND ON AND ON FOR EVER")),
        ""
    );
    assert_eq!(payer("gtbank", &narration("FROM GYANG SERVICES LTD")), "GYANG SERVICES LTD");
}

#[test]
fn the_senders_row_may_name_the_receiver() {
    let with_row = |row: &str, narration: &str| {
        let mut mail = made("moniepoint", &Told { narration: narration.into(), ..Told::default() });
        mail.rows.insert(3, ("Sender's Name".into(), format!("from {row}")));
        mail.read_text().facts.payer_name.unwrap_or_default()
    };
    let told = "ZARA GYANG - ZARA GYANG TO TILL LTD MONIEPOINT *****52510/TRF|2MPT7abcd|2015000000000000001";
    assert_eq!(with_row("ZARA GYANG", "MOBILE TRF TO MMF ZARA GYANG"), "ZARA GYANG");
    assert_eq!(with_row("TILL LTD - Bus 1", told), "ZARA GYANG");
    assert_eq!(with_row("TILL LTD", told), "ZARA GYANG");
    assert_eq!(with_row("TILL LTD - Bus 1", "something nobody has seen"), "");
    assert_eq!(with_row("TILL LTD", "something TO TILL LTD nobody has seen"), "");
}

#[test]
fn kinds_are_told_apart() {
    use AlertKind::{Fee, OwnTransfer, Payment, Reversal};
    for (narration, want) in [
        ("RVSL: 445 POS PURCHASE", Reversal),
        ("Rsvl: TRF TO SOMEBODY", Reversal),
        ("REVERSAL OF NIP TRANSFER", Reversal),
        ("NIP/RVSL/260303", Reversal),
        ("FAILED TRANSACTION 1002", Reversal),
        ("INTEREST RUN", Fee),
        ("Int.Pd:01-02-2026 to 28-02-2026", Fee),
        ("Savings Interest for Feb", Fee),
        ("CHARGE REVERSAL", Fee),
        ("Moved from your savings", OwnTransfer),
        ("OWN ACCOUNT TRANSFER", OwnTransfer),
        ("CIP CR/ ZARA GYANG/rent", Payment),
        ("VATICAN STORES LTD/rent", Payment),
    ] {
        let facts = credit("zenith", narration).facts;
        assert_eq!(facts.kind, Some(want), "{narration}");
        assert!(want == Payment || facts.payer_name.is_none(), "{narration}");
    }
    for (narration, want) in [
        ("VAT", Fee),
        ("COMM ALAT NIP TRANSFER TO SOMEBODY", Fee),
        ("SMS ALERT CHARGE FOR MAY", Fee),
        ("STAMP DUTY", Fee),
        ("EMTL 50", Fee),
        ("VAT on Account Maintenance", Fee),
        ("COT FOR MAY", Fee),
        ("POS PUR SHOP", Payment),
        ("TRANSFER FROM SOMEBODY", Payment),
        // Money that the bank takes back; a lone one is an alarm.
        ("CHARGEBACK CLAIM 8812", Reversal),
        ("CHARGE-BACK NIP 8812", Reversal),
        ("CHGBK 1234", Reversal),
        ("CLAWBACK SOMEBODY", Reversal),
        ("NIP RETURN SOMEBODY", Reversal),
        ("RETURN OF FUNDS SOMEBODY", Reversal),
        ("RTD NIP SOMEBODY", Reversal),
        ("TRANSFER REVERSAL SOMEBODY", Reversal),
        ("DR REVERSAL SOMEBODY", Reversal),
        ("FUNDS RECALL SOMEBODY", Reversal),
        ("RECALL OF FUNDS NIP", Reversal),
        ("NIBSS RECALL 9912", Reversal),
        ("NIP DISPUTE 9912", Reversal),
        ("REFUND TO A CUSTOMER", Payment),
    ] {
        let told = Told { credit: false, narration: narration.into(), ..Told::default() };
        let facts = made("zenith", &told).read_text().facts;
        assert_eq!((facts.kind, facts.direction), (Some(want), Some(Direction::Debit)), "{narration}");
    }
}

#[test]
fn a_refund_is_doubted_wherever_it_is_told() {
    let refund = credit("access", "TRF/Refund. of an order");
    assert!(refund.facts.doubts.iter().any(|d| d.contains("refund")));
    let mut mail = made("zenith", &Told::default());
    mail.rows.push(("Channel".into(), "REVERSAL".into()));
    assert!(mail.read_text().facts.doubts.iter().any(|d| d.contains("reversal")));
    mail.rows.pop();
    mail.subject = "REVERSED: CREDIT TRANSACTION NOTIFICATION".into();
    assert!(mail.read_text().facts.doubts.iter().any(|d| d.contains("reversal")));
    mail.subject = "CREDIT TRANSACTION NOTIFICATION".into();
    mail.after.push("For questions about transfers, refunds, reversals and cards please write to our contact centre at any time.".into());
    assert_eq!(mail.read_text().facts.doubts, Vec::<String>::new());
}

#[test]
fn words_in_a_narration_never_turn_the_direction() {
    let texts = [
        "DEBIT",
        "DR",
        "Your account has been debited with NGN 5",
        "a DEBIT transaction occurred",
        "CreditAlert!",
        "Transaction Type : Debit",
        "CR/DR",
        "Debit alert details",
        "₦5.00 DR",
        "CIP CR/ X Y/Transfer from X Y",
    ];
    for bank in MADE {
        for text in texts {
            for credit in [true, false] {
                let told = Told { credit, narration: text.into(), ..Told::default() };
                let want = if credit { Direction::Credit } else { Direction::Debit };
                let facts = made(bank, &told).read_text().facts;
                assert_eq!(facts.direction, Some(want), "{bank}: {text}");
                assert_eq!(facts.amount.unwrap().to_string(), "7350.00", "{bank}: {text}");
            }
        }
    }
}

#[test]
fn figures_in_sentences_are_whole_or_unread() {
    for (bank, sentence, want) in [
        ("gtbank", "Your account ******4417 has been credited with NGN 1,250.5 today.", "1250.50"),
        ("gtbank", "Your account ******4417 has been credited with NGN 1 250 today.", ""),
        ("gtbank", "Your account ******4417 has been credited with NGN 1,250.555 today.", ""),
        ("gtbank", "Your account ******4417 has been credited with NGN 1,25.00", ""),
        ("gtbank", "A credit transaction of NGN 45,000.00 occurred on your account.", "45000.00"),
        ("firstbank", "Your account 304XXXX118 has been credited with NGN2,345.60.", "2345.60"),
        ("firstbank", "Your account 304XXXX118 has been credited with N2,345 on 11-Mar-26", "2345.00"),
        ("lotus", "Your account 1000****11 has been credited with NGN 3,000.00.", "3000.00"),
        (
            "stanchart",
            "Credit Alert! Acct:xxxxxx8765, Amt:NGN45,000.00, Desc:x, Date:2026-03-23, Bal:NGN45,100.32",
            "45000.00",
        ),
        (
            "stanchart",
            "Credit Alert! Acct:xxxxxx8765, Amt:NGN45000.00, Desc:x, Date:2026-03-23, Bal:NGN0.32",
            "45000.00",
        ),
        ("kuda", "Hello Ada, Zara Gyang just sent you ₦25,000.00. Love, The Kuda Team.", "25000.00"),
    ] {
        let from = match bank {
            "kuda" => "hello@kuda.com",
            "stanchart" => "alerts.nigeria@sc.com",
            _ => made(bank, &Told::default()).from,
        };
        let raw = format!(
            "From: {from}\nSubject: Alert\nDate: Tue, 03 Mar 2026 10:20:40 +0100\nContent-Type: text/plain; charset=utf-8\n\n{sentence}\n"
        );
        let facts = super::take(&raw).facts;
        assert_eq!(facts.amount.map(|a| a.to_string()).unwrap_or_default(), want, "{sentence}");
        assert_eq!(facts.direction, Some(Direction::Credit), "{sentence}");
        if bank == "kuda" {
            assert_eq!(facts.payer_name.as_deref(), Some("Zara Gyang"));
        }
    }
}
