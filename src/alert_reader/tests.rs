//! The mail door as a whole, on mails of our own: what must be read, what must be doubted, and
//! what must not be believed.

mod charsets;
mod fuzzed;
mod hiding;
mod limits;
mod lost;
mod made;
mod mutations;
mod narrations;
mod oneline;
mod parts;
mod states;
mod styles;
mod taught;
mod typed;
mod unsigned;

pub(super) use oneline::tight;

use super::*;
use crate::domain::alert::{Balance, BankTime, TimePrecision};
use crate::domain::money::Money;
use crate::domain::time::Span;
use std::sync::LazyLock;

static BANKS: LazyLock<Banks> = LazyLock::new(|| Banks::embedded().unwrap());

fn now() -> Timestamp {
    Timestamp::from_utc_date(2026, 11, 1).unwrap()
}

fn take(raw: &str) -> Reading {
    read(raw.replace('\n', "\r\n").as_bytes(), &BANKS, &Intake::trusted(now()))
}

const HEAD: &str = "From: GeNS@gtbank.com\nTo: till@shop.example\nSubject: Transaction Notification\nDate: Tue, 03 Mar 2026 10:20:40 +0100\nMessage-ID: <a1@gtbank.com>\n";

const ROWS: &str = "Dear TILL AND BELL LTD\nWe wish to inform you that a CREDIT transaction occurred on your account with us.\n\
Account Number : ******4417\nDescription : VIA GAPS 11 RENT FROM OKPARA BUILDERS LTD\nAmount : NGN 7350\nValue Date : 2026-03-03\nRemarks : CHARGES\n\
Time of Transaction : 10:20:33 AM\nAvailable Balance : NGN 7350\n";

fn gtbank(headers: &str, body: &str) -> Reading {
    take(&format!("{HEAD}{headers}\n{body}"))
}

#[test]
fn a_clean_credit_is_read_in_full() {
    let reading = gtbank("", ROWS);
    assert_eq!(reading.outcome, ReadOutcome::Read);
    assert_eq!(reading.authenticity, Authenticity::Unproven);
    let f = &reading.facts;
    assert_eq!(f.doubts, Vec::<String>::new());
    assert_eq!((f.direction, f.kind), (Some(Direction::Credit), Some(AlertKind::Payment)));
    assert_eq!((f.amount, f.currency.as_deref()), (Some(Money(735_000)), Some("NGN")));
    assert_eq!(f.payer_name.as_deref(), Some("OKPARA BUILDERS LTD"));
    assert_eq!(f.holder_name.as_deref(), Some("TILL AND BELL LTD"));
    assert_eq!(f.balance, Some(Balance::Available(Money(735_000))));
    let at = Timestamp::from_utc_date(2026, 3, 3).unwrap() + Span::seconds(9 * 3600 + 20 * 60 + 33);
    assert_eq!(
        f.occurred,
        Some(BankTime { begin: at, end: Timestamp(at.0 + 999_999), precision: TimePrecision::Second })
    );
    assert_eq!(reading.message_id.as_deref(), Some("a1@gtbank.com"));
    assert_eq!(
        (reading.from.as_deref(), reading.to.as_slice()),
        (Some("gens@gtbank.com"), &["till@shop.example".to_owned()][..])
    );
}

#[test]
fn all_examples_of_all_templates_hold() {
    let failed: Vec<_> = check(&BANKS).into_iter().filter(|r| !r.ok()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn the_direction_never_comes_from_the_subject_or_the_narration() {
    let silent = ROWS.replace("a CREDIT transaction occurred", "a transaction took place");
    let reading = take(&format!(
        "{}\n{silent}",
        HEAD.replace("Transaction Notification", "GeNS Transaction Alert [Credit: NGN 7350]")
    ));
    assert_eq!(reading.outcome, ReadOutcome::Unreadable);
    // A debit whose narration pretends.
    let debit =
        ROWS.replace("a CREDIT", "a DEBIT").replace("VIA GAPS 11 RENT", "a CREDIT transaction occurred");
    let reading = gtbank("", &debit);
    assert_eq!((reading.outcome, reading.facts.direction), (ReadOutcome::Ignored, Some(Direction::Debit)));
    assert_eq!(reading.facts.payer_name, None);
    // Both stated: neither.
    let both = format!("{ROWS}Later a DEBIT transaction occurred\n");
    let reading = gtbank("", &both);
    assert_eq!((reading.outcome, reading.facts.direction), (ReadOutcome::Unreadable, None));
}

#[test]
fn two_amounts_that_disagree_are_no_amount() {
    let reading = gtbank("", &format!("{ROWS}Amount : NGN 9000\n"));
    assert_eq!((reading.outcome, reading.facts.amount), (ReadOutcome::Unreadable, None));
    assert!(reading.facts.doubts.iter().any(|d| d.contains("two different amounts")));
    // The body twice in one part says the same thing twice.
    let twice = gtbank("", &format!("{ROWS}\n{ROWS}"));
    assert_eq!((twice.outcome, twice.facts.amount), (ReadOutcome::Read, Some(Money(735_000))));
}

#[test]
fn words_a_payer_typed_do_not_pass_for_rows() {
    let typed = ROWS.replace("RENT", "Amount : NGN 990000 Account Number : 0123456789");
    let reading = gtbank("", &typed);
    assert_eq!(reading.facts.amount, Some(Money(735_000)));
    assert_eq!(reading.facts.account_number.as_deref(), Some("******4417"));
}

#[test]
fn text_and_html_that_disagree_raise_a_doubt() {
    let mail = |amount: &str| {
        format!(
            "Content-Type: multipart/alternative; boundary=q\n\n--q\nContent-Type: text/plain\n\n{ROWS}\n--q\nContent-Type: text/html\n\n\
             <table><tr><td>Amount</td><td>:</td><td>{amount}</td></tr></table>\n--q--\n"
        )
    };
    let same = take(&format!("{HEAD}{}", mail("NGN 7,350.00")));
    assert_eq!((same.outcome, same.facts.doubts.len()), (ReadOutcome::Read, 0));
    let other = take(&format!("{HEAD}{}", mail("NGN 73,500.00")));
    // Read as the HTML has it, for a person to decide.
    assert_eq!((other.outcome, other.facts.amount), (ReadOutcome::Read, Some(Money(7_350_000))));
    assert_eq!(other.facts.doubts, ["the parts of the mail show different amounts"]);
    let neither = take(&format!("{HEAD}{}", mail("NGN 73,500.0.0")));
    assert_eq!((neither.outcome, neither.facts.amount), (ReadOutcome::Unreadable, None));
    let both = take(&format!("{HEAD}{}", mail("NGN 1</td></tr><tr><td>Amount</td><td>:</td><td>NGN 2")));
    assert_eq!((both.outcome, both.facts.amount), (ReadOutcome::Unreadable, None));
}

#[test]
fn a_debit_in_the_text_beside_a_credit_in_the_html_goes_to_a_person() {
    let mail = |text: &str, html: &str| {
        let rows: String = ROWS.lines().map(|l| format!("<p>{l}</p>\n")).collect();
        take(&format!(
            "{HEAD}Content-Type: multipart/alternative; boundary=q\n\n--q\nContent-Type: text/plain\n\n{}\n--q\n\
             Content-Type: text/html\n\n{}\n--q--\n",
            ROWS.replace("a CREDIT", text),
            rows.replace("a CREDIT", html)
        ))
    };
    assert_eq!(mail("a CREDIT", "a CREDIT").facts.doubts, Vec::<String>::new());
    let reading = mail("a DEBIT", "a CREDIT");
    assert_eq!((reading.outcome, reading.facts.direction), (ReadOutcome::Read, Some(Direction::Credit)));
    assert_eq!(reading.facts.doubts, ["the parts of the mail differ on whether this is a credit or a debit"]);
    let reading = mail("a CREDIT", "a DEBIT");
    assert_eq!((reading.outcome, reading.facts.direction), (ReadOutcome::Unreadable, None));
}

#[test]
fn hidden_content_is_a_doubt_and_never_a_value() {
    let html = |extra: &str| {
        let rows: String = ROWS
            .lines()
            .map(|l| match l.split_once(" : ") {
                Some((a, b)) => format!("<tr><td>{a}</td><td>:</td><td>{b}</td></tr>"),
                None => format!("<tr><td>{l}</td></tr>"),
            })
            .collect();
        gtbank("Content-Type: text/html\n", &format!("<table>{rows}{extra}</table>"))
    };
    assert_eq!(html("").facts.doubts, Vec::<String>::new());
    let hidden = html("<tr style='display:none'><td>Amount</td><td>:</td><td>NGN 999999</td></tr>");
    assert_eq!((hidden.outcome, hidden.facts.amount), (ReadOutcome::Read, Some(Money(735_000))));
    assert!(hidden.facts.doubts.iter().any(|d| d.contains("hidden content")));
    let turned = html("<tr><td>Note</td><td>\u{202E}x</td></tr>");
    assert!(turned.facts.doubts.iter().any(|d| d.contains("direction of text")));
    let digits = gtbank(
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n",
        &ROWS.replace("NGN 7350\nV", "NGN ٧٣٥٠\nV"),
    );
    assert_eq!(digits.facts.amount, None);
    assert!(digits.facts.doubts.iter().any(|d| d.contains("another script")));
}

#[test]
fn only_the_banks_own_address_is_the_bank() {
    for from in [
        "alerts@totally-not-gtbank.com",
        "GeNS@gtbank.com.attacker.example",
        "GeNS@gtbаnk.com",
        "gens.gtbank.com@mail.example",
        "\"GeNS@gtbank.com\" <x@mail.example>",
        "GeNS@mail.gtbank.com",
        "GeNS@gtbank.com, x@mail.example",
        "",
    ] {
        let reading = take(&format!("From: {from}\nSubject: Transaction Notification\n\n{ROWS}"));
        assert_eq!(
            (reading.outcome, reading.authenticity),
            (ReadOutcome::Quarantined, Authenticity::Refuted),
            "{from}"
        );
    }
    let twice = take(&format!("From: x@mail.example\n{HEAD}\n{ROWS}"));
    assert_eq!(twice.outcome, ReadOutcome::Quarantined);
    let empty_first = take(&format!("From: \n{HEAD}\n{ROWS}"));
    assert_eq!(empty_first.outcome, ReadOutcome::Quarantined);
    // The right domain with a mailbox nobody has seen: a person's word does not make it good, and with
    // the bank's own it is read, but never without a person.
    let stranger = format!("{}\n{ROWS}", HEAD.replace("GeNS@", "news@"));
    let vouched = take(&stranger);
    assert_eq!((vouched.outcome, vouched.authenticity), (ReadOutcome::Quarantined, Authenticity::Refuted));
    assert!(vouched.why.iter().any(|w| w.contains("not one of its known senders")), "{:?}", vouched.why);
    let reading = read(stranger.as_bytes(), &BANKS, &Intake { now: now(), ..Intake::default() });
    assert_eq!((reading.outcome, reading.authenticity), (ReadOutcome::Read, Authenticity::Unproven));
    assert!(reading.facts.doubts.iter().any(|d| d.contains("known senders")));
}

#[test]
fn only_the_topmost_verdict_counts_and_only_against() {
    let verdict = |lines: &str| gtbank(lines, ROWS).authenticity;
    let pass = "Authentication-Results: mx.shop.example; dkim=pass header.i=@gtbank.com\n";
    let refuted = [
        "Authentication-Results: mx.shop.example; dkim=fail header.i=@gtbank.com\n",
        "Authentication-Results: mx.shop.example; dkim=none\n",
        "Authentication-Results: mx.shop.example; dkim=pass header.d=mailer.example\n",
        "Authentication-Results: mx.shop.example; dkim=pass header.d=notgtbank.com\n",
        "Authentication-Results: mx.shop.example; dkim=none (x; dkim=pass header.d=gtbank.com); spf=pass\n",
        "Authentication-Results: mx.shop.example; spf=fail\n",
        "Authentication-Results: mx.shop.example;\n dkim=pass header.d=gtbank.com;\n dmarc=fail\n",
    ];
    for top in refuted {
        assert_eq!(verdict(&format!("{top}{pass}")), Authenticity::Refuted, "{top}");
    }
    for top in [
        pass,
        "Authentication-Results: mx.shop.example; spf=pass\n",
        "Authentication-Results: mx.shop.example; dkim=temperror\n",
    ] {
        assert_eq!(verdict(&format!("{top}{}", refuted[0])), Authenticity::Unproven, "{top}");
    }
}

#[test]
fn a_forward_by_hand_is_quarantined_with_its_fields() {
    let quoted = "---------- Forwarded message ---------\nFrom: <GeNS@gtbank.com>\nDate: Tue, Mar 3, 2026 at 10:20 AM\nSubject: Transaction Notification\nTo: <ada@mail.example>\n\n";
    let plain = take(&format!(
        "From: ada@mail.example\nSubject: Fwd: Transaction Notification\n\nsee below\n\n{quoted}{ROWS}"
    ));
    let signs: String = format!("{quoted}{ROWS}").lines().map(|l| format!("> {l}\n")).collect();
    let marked = take(&format!("From: ada@mail.example\nSubject: Fw: x\n\n{signs}"));
    let from_the_bank = gtbank("", &format!("{quoted}{ROWS}"));
    for reading in [plain, marked, from_the_bank] {
        assert_eq!(
            (reading.outcome, reading.authenticity),
            (ReadOutcome::Quarantined, Authenticity::Forwarded)
        );
        assert_eq!(reading.facts.amount, Some(Money(735_000)), "{:?}", reading.why);
        assert_eq!(reading.facts.bank.as_deref(), Some("gtbank"));
    }
}

#[test]
fn the_holder_is_the_payer_only_when_nobody_else_is() {
    let text = |tail: &str| {
        let narration =
            format!("901234567801987654321234500020260303102033123 FROM ADA OBI TO SQUAD-OPAY-{tail}");
        // Description and Remarks as the bank cuts them, with its blank too many.
        let (first, rest) = narration.split_at(80);
        let rest = if rest.len() > 10 { format!("{} {}", &rest[..10], &rest[10..]) } else { rest.to_owned() };
        let body = ROWS.replace("VIA GAPS 11 RENT FROM OKPARA BUILDERS LTD", first).replace("CHARGES", &rest);
        gtbank("", &body).facts.payer_name
    };
    assert_eq!(text("AND BELL, TILL LTD").as_deref(), Some("ADA OBI"));
    assert_eq!(text("ADA OBIANUJU").as_deref(), Some("ADA OBIANUJU"));
    assert_eq!(text("SOMEBODY ELSE").as_deref(), Some("SOMEBODY ELSE"));
}

#[test]
fn a_name_cut_off_at_the_end_gives_way_to_the_one_in_front() {
    let front = "090405260303091958000111222333-TRANSFER FROM ABIGAIL ORU WARIAT126TRF2MPT4";
    let narration = format!("{front}{}-MONIEPOINT-ABIGAI", "7".repeat(129 - front.len() - 18));
    let (first, rest) = narration.split_at(80);
    let rest = format!("{} {}", &rest[..10], &rest[10..]);
    assert_eq!((first.len(), rest.len()), (80, 50));
    let body = ROWS.replace("VIA GAPS 11 RENT FROM OKPARA BUILDERS LTD", first).replace("CHARGES", &rest);
    let facts = gtbank("", &body).facts;
    assert_eq!(facts.payer_name.as_deref(), Some("ABIGAIL ORU WARI"));
    assert!(!facts.payer_name_cut);
    assert_eq!(facts.payer_bank.as_deref(), Some("Moniepoint"));
}

#[test]
fn a_balance_on_its_own_line_is_not_the_amount() {
    let raw = "From: ibanking@fidelitybank.ng\nSubject: Credit Transaction Alert\n\n₦500.00 CR\nAccount\nxxxxxx0777\nNarration\nx\n\
               Date/Time\nMar 12, 2026 07:05:09 AM\nAvailable Balance\n₦900.00CR\n";
    let facts = take(raw).facts;
    assert_eq!((facts.amount, facts.balance), (Some(Money(50_000)), Some(Balance::Available(Money(90_000)))));
    // With no other figure, the balance is not taken for it.
    let trap = take(&format!(
        "{HEAD}\nA credit transaction occurred on your account.\nAvailable Balance: NGN 45,000.00\n"
    ));
    assert_eq!((trap.outcome, trap.facts.amount), (ReadOutcome::Unreadable, None));
}

#[test]
fn codes_statements_and_unknown_layouts_are_told_apart() {
    assert_eq!(
        gtbank("", "Your one-time password is 445566. Do not share it.\n").outcome,
        ReadOutcome::Ignored
    );
    assert_eq!(gtbank("", "Enjoy our new app this season.\n").outcome, ReadOutcome::Ignored);
    let unknown = gtbank("", "NGN 5,000.00 was received into your account today.\n");
    assert_eq!((unknown.outcome, unknown.facts.kind), (ReadOutcome::Unreadable, None));
}

#[test]
fn reversals_and_fees_are_no_payments() {
    let kind = |narration: &str| {
        gtbank("", &ROWS.replace("VIA GAPS 11 RENT FROM OKPARA BUILDERS LTD", narration)).facts
    };
    assert_eq!(kind("RVSL: 445 POS PURCHASE").kind, Some(AlertKind::Reversal));
    assert_eq!(kind("Interest paid for Feb").kind, Some(AlertKind::Fee));
    assert_eq!(kind("Moved from your savings").kind, Some(AlertKind::OwnTransfer));
    let refund = kind("VIA GAPS 11 REFUND FROM OKPARA BUILDERS LTD");
    assert_eq!(refund.kind, Some(AlertKind::Payment));
    assert!(refund.doubts.iter().any(|d| d.contains("refund")));
}

#[test]
fn unsigned_headers_are_not_read() {
    let raw = "From: FirstAlert@firstbanknigeria.com\nSubject: FirstBank Alert On Your Account - CREDIT\nDate: Thu, 15 Oct 2015 10:00:00 +0100\n\n\
               Account Number: 2098765432\nAmount: NGN25.00\nTransaction Narrative: FIP:ZIB/NANA UDO/X\nTransaction Date: 15-OCT-2015\n";
    let signed = take(raw);
    assert_eq!(signed.facts.direction, Some(Direction::Credit));
    // What the signature covers, or a person vouches for, is the bank's word.
    assert_eq!(signed.facts.doubts, Vec::<String>::new());
    assert!(
        signed.facts.occurred.unwrap().end
            < Timestamp::from_utc_date(2015, 10, 15).unwrap() + Span::hours(10)
    );
    let unsigned = read(raw.as_bytes(), &BANKS, &Intake { now: now(), ..Intake::default() });
    assert_eq!(unsigned.facts.direction, None);
    assert!(
        unsigned.facts.occurred.unwrap().end
            > Timestamp::from_utc_date(2015, 10, 15).unwrap() + Span::hours(20)
    );
}

#[test]
fn copies_of_one_mail_have_one_content_hash() {
    let plain = gtbank("", ROWS).content_hash;
    let other_way = gtbank(
        "Received: from a by b\nContent-Transfer-Encoding: quoted-printable\n",
        &ROWS.replace("NGN 7350\nV", "NGN=207350\nV"),
    );
    assert_eq!(plain, other_way.content_hash);
    let other_id = take(&format!("{}\n{ROWS}", HEAD.replace("a1@", "b2@"))).content_hash;
    assert_eq!(plain, other_id);
    // Blanks that a signature in the relaxed form does not see.
    for (from, to) in [
        ("Transaction Notification", "Transaction  \t Notification "),
        ("Transaction Notification", "Transaction\n  Notification"),
        ("From: GeNS@gtbank.com", "From:   Alerts  <GeNS@gtbank.com>"),
        ("Date: Tue, 03 Mar 2026 10:20:40 +0100", "DATE:  Tue,  03  Mar 2026\n 10:20:40  +0100 "),
    ] {
        assert_eq!(plain, take(&format!("{}\n{ROWS}", HEAD.replace(from, to))).content_hash, "{to}");
    }
    let upper = take(&format!("{}\n{ROWS}", HEAD.replace("Notification", "NOTIFICATION"))).content_hash;
    assert_ne!(plain, upper);
    let later = take(&format!("{}\n{ROWS}", HEAD.replace("10:20:40", "10:20:41"))).content_hash;
    assert_ne!(plain, later);
    assert_ne!(plain, gtbank("", &ROWS.replace("7350", "7351")).content_hash);
}

#[test]
fn noise_has_an_outcome() {
    let mut noise = Vec::new();
    let mut x: u32 = 7;
    while noise.len() < mime::MAX_MAIL_BYTES {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        noise.push((x >> 24) as u8);
    }
    for raw in [&b""[..], b"\n", &noise, b"From: GeNS@gtbank.com\r\n", b"\0\0\0\0"] {
        let reading = read(raw, &BANKS, &Intake::trusted(now()));
        assert!(matches!(reading.outcome, ReadOutcome::Unreadable | ReadOutcome::Quarantined));
        assert!(!reading.why.is_empty());
    }
    assert_eq!(read(b"", &BANKS, &Intake::default()).why, ["empty"]);
}

#[test]
fn a_template_with_a_mistake_is_refused_by_file_and_key() {
    let base = "code = \"x\"\nname = \"X\"\nsenders = [\"a@x.example\"]\ndkim_domains = [\"x.example\"]\n";
    let error = |more: &str| {
        Banks::assemble(vec![("banks/x.toml".into(), format!("{base}{more}"))]).unwrap_err().to_string()
    };
    for (more, part) in [
        ("colour = 1\n", "colour"),
        ("[[layout]]\nname=\"l\"\nall=[]\nwhen=[]\n", "when"),
        ("[[layout]]\nname=\"l\"\nall=[\"(\"]\n", "all"),
        ("[[layout]]\nname=\"l\"\nall=[]\n[layout.fields]\nsum = { labels = [] }\n", "sum"),
        ("[[layout]]\nname=\"l\"\nall=[]\n[layout.fields]\namount = { lines = [\"x\"] }\n", "(?P<v>...)"),
        ("[[narration]]\npattern=\"x\"\nlayouts=[\"none\"]\n", "none"),
        ("[[narration]]\npattern=\"(?:a{1000}){1000}\"\n", "narration.pattern"),
        ("nip_codes = [\"12\"]\n", "nip_codes"),
        ("[[narration]]\npattern='^TRF (?P<payr>.+)$'\n", "line 6: \"payr\" is not a known group"),
        ("[[narration]]\npattern='^TRF (?<payr>.+)$'\n", "payer, payer2, bank, payer_account, session"),
        (
            "[[layout]]\nname='l'\nall=[]\n[layout.fields]\namount = { lines = ['(?P<v>x)(?P<w>y)'] }\n",
            "line 9: \"w\" is not a known group; the known groups are v",
        ),
    ] {
        let message = error(more);
        assert!(message.contains("banks/x.toml") && message.contains(part), "{message}");
    }
    assert!(
        Banks::assemble(vec![("x".into(), base.into()), ("y".into(), base.replace("\"x\"", "\"y\""))])
            .is_err()
    );
}

#[test]
fn banks_are_found_by_any_usual_name() {
    for name in ["gtbank", "GTBank", "Guaranty Trust Bank", "GT-BANK", " guaranty trust bank plc "] {
        assert_eq!(BANKS.by_name_or_alias(name).map(|b| b.code.as_str()), Some("gtbank"), "{name}");
    }
    assert!(BANKS.by_name_or_alias("Bank of Nowhere").is_none() && BANKS.by_name_or_alias("  ").is_none());
    assert_eq!(BANKS.by_code("gtbank").unwrap().mask, Some(MaskForm { lead: 0, trail: 4, hidden_end: 0 }));
    assert_eq!(BANKS.institutions().by_code("100004260730"), Some("OPay"));
}

#[test]
fn a_mask_tells_accounts_apart_by_what_it_shows() {
    let mask = |code: &str| BANKS.by_code(code).unwrap().mask.unwrap();
    assert!(
        mask("gtbank").confuses("0123456789", "0999996789")
            && !mask("gtbank").confuses("0123456789", "0123456780")
    );
    // 2XX..60X
    assert!(
        mask("uba").confuses("2000000601", "2111111609") && !mask("uba").confuses("2000000601", "2000000611")
    );
    assert!(!mask("zenith").confuses("2380000209", "2390000209") && mask("zenith").confuses("238", "238"));
}

#[test]
fn a_folder_replaces_and_adds_templates() {
    let dir = tempfile::tempdir().unwrap();
    let text = "code = \"gtbank\"\nname = \"My GT\"\nsenders = [\"a@own.example\"]\ndkim_domains = [\"own.example\"]\n";
    std::fs::write(dir.path().join("gt.toml"), text).unwrap();
    let banks = Banks::load(dir.path()).unwrap();
    assert_eq!(banks.by_code("gtbank").unwrap().name, "My GT");
    assert_eq!(banks.list().len(), BANKS.list().len());
    assert!(check(&banks).iter().any(|r| r.bank == "gtbank" && !r.ok()));
    assert!(Banks::load(&dir.path().join("none")).is_err());
}

proptest::proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..2000)) {
        read(&bytes, &BANKS, &Intake::trusted(now()));
    }

    #[test]
    fn arbitrary_bodies_of_a_bank_never_panic(body in "[ -~\n\t₦:=|<>/]{0,600}", html in proptest::bool::ANY) {
        let kind = if html { "text/html" } else { "text/plain" };
        let raw = format!("{HEAD}Content-Type: {kind}; charset=utf-8\n\n{ROWS}{body}");
        read(raw.as_bytes(), &BANKS, &Intake::trusted(now()));
    }

    #[test]
    fn amounts_and_times_never_panic(text in "\\PC{0,80}") {
        amount::read(&text);
        when::interval(when::read(&text), None, now());
    }
}
