//! What a mail tells, from its bytes to the decision: parts that differ, money that did not come, mails on one
//! line, subjects, session ids of debits, collections. The reader's own tests go over all banks.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::merchants::accounts::NewAccount;

use crate::counted_once::approved;
use crate::harness::app::{ACCOUNT, TestApp, world};
use crate::harness::mails::Alert;

const PAYER: &str = "Zara Lami Gyang";

/// Of a transfer that will happen half a minute from now.
fn alert(t: &TestApp, naira: i64) -> Alert {
    Alert::credit(ACCOUNT, naira, PAYER, t.app.now() + Span::seconds(30))
}

/// The mail with a text part beside its HTML.
fn beside(mail: &str, text: &str) -> String {
    let (head, html) = mail.split_once("\r\n\r\n").unwrap();
    let head = head.replace("text/html; charset=utf-8", "multipart/alternative; boundary=q1");
    format!(
        "{head}\r\n\r\n--q1\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n--q1\r\n\
         Content-Type: text/html; charset=utf-8\r\n\r\n{html}\r\n--q1--\r\n"
    )
}

/// Takes a mail for a payment of its own, and answers what became of both.
async fn outcome(
    t: &TestApp,
    shop: &crate::harness::app::Merchant,
    naira: i64,
    mail: &str,
) -> (AlertStatus, bool) {
    let payment = t.create(shop, naira, PAYER).await;
    t.advance(Span::minutes(1));
    let taken = t.ingest(mail).await;
    let approved = t.payment(&payment).await.status == Status::Approved;
    assert_eq!(approved, taken.status == AlertStatus::Matched, "{taken:?}");
    (taken.status, approved)
}

/// Not credited by itself; and a person who has looked may still approve it, so it is not put aside for good.
async fn waits_for_a_person(
    t: &TestApp,
    shop: &crate::harness::app::Merchant,
    naira: i64,
    mail: &str,
    told: &str,
) {
    let payment = t.create(shop, naira, PAYER).await;
    t.advance(Span::minutes(1));
    let taken = t.ingest(mail).await;
    assert_eq!(taken.status, AlertStatus::Review, "{told}: {taken:?}");
    let doubts = t.app.store.alert(taken.alert_id).await.unwrap().unwrap().facts.doubts;
    assert!(!doubts.is_empty(), "it waits for another reason: {told}: {taken:?}");
    approved(t, &taken, &payment, Some("it is on the statement")).await;
}

on_both! {
    async fn text_and_html_that_tell_something_else_go_to_review(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let told = [
            "You received NGN 50.00 from ZARA LAMI GYANG.",
            "Your account 0987654321 was credited.",
            "You received money from MALLORY EVE.",
            "Transaction Type: Debit",
            "Amount paid\n50.00",
            // In rows of the layout.
            "Amount : NGN 50.00",
            "We wish to inform you that a DEBIT transaction occurred on your account with us.",
        ];
        for (naira, text) in (3_001..).zip(told) {
            let mail = beside(&alert(&t, naira).text(), text);
            assert_eq!(outcome(&t, &shop, naira, &mail).await, (AlertStatus::Review, false), "{text}");
        }
        let same = "You received NGN 3,101.00 from ZARA LAMI GYANG.";
        let mail = beside(&alert(&t, 3_101).text(), same);
        assert_eq!(outcome(&t, &shop, 3_101, &mail).await, (AlertStatus::Matched, true));
    }

    async fn money_that_did_not_come_goes_to_review(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let row = |label: &str, value: &str| {
            let row = format!("<tr><td>{label}</td><td>:</td><td>{value}</td></tr>\r\n<tr><td>Value Date");
            move |mail: String| mail.replace("<tr><td>Value Date", &row)
        };
        let cases: [Box<dyn Fn(String) -> String>; 8] = [
            Box::new(row("Transaction Status", "FAILED")),
            Box::new(row("Status", "Pending confirmation")),
            Box::new(|mail| mail.replace("-TRANSFER-OPAY-", "-RTN-OPAY-")),
            Box::new(|mail| mail.replace("-TRANSFER-OPAY-", "-REJECTED-OPAY-")),
            Box::new(|mail| mail.replace("ZARA LAMI GYANG</td>", "ZARA LAMI GYANG RETURNED</td>")),
            Box::new(|mail| mail.replace("-TRANSFER-OPAY-", "-REVRSL-OPAY-")),
            Box::new(|mail| mail.replace("<td>NGN 40", "<td>NGN (40").replacen("</td></tr>\r\n<tr><td>Value", ")</td></tr>\r\n<tr><td>Value", 1)),
            Box::new(|mail| mail.replace("<td>NGN 40", "<td>NGN -40")),
        ];
        for (naira, change) in (4_001..).zip(cases) {
            let mail = change(alert(&t, naira).text());

            assert_eq!(outcome(&t, &shop, naira, &mail).await, (AlertStatus::Review, false), "{mail}");
        }
        let mail = row("Transaction Status", "Successful")(alert(&t, 4_101).text());
        assert_eq!(outcome(&t, &shop, 4_101, &mail).await, (AlertStatus::Matched, true));
    }

    async fn a_mail_on_one_line_is_as_good(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let text = alert(&t, 5_001).text();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mail = format!("{head}\r\n\r\n{}", body.replace("\r\n", ""));
        assert_eq!(outcome(&t, &shop, 5_001, &mail).await, (AlertStatus::Matched, true));
    }

    async fn a_direction_in_the_subject_of_a_trusted_mail_decides(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let new = t.new_account("polaris", (3, 3), "1880000456", Some(shop.id));
        t.add_account(&NewAccount { force: false, ..new }).await;
        let payment = t.create(&shop, 1_850, PAYER).await;
        t.advance(Span::minutes(1));
        let local = jiff::Timestamp::from_microsecond((t.app.now() + Span::hours(1)).0).unwrap();
        let time = local.to_zoned(jiff::tz::TimeZone::UTC).strftime("%d-%m-%Y %H:%M");
        let mail = format!(
            "From: alerts@skyebankng.com\r\nTo: alerts@till.example\r\nSubject: Skye Bank - Credit Alert\r\n\
             Content-Type: text/plain; charset=utf-8\r\n\r\nAccount Name : TILL AND BELL LTD\r\n\
             Account Number : 188****456\r\nAmount : NGN 1,850.00\r\n\
             Details : TRF FRM ZARA LAMI GYANG TO TILL AND BELL LTD\r\nTime : {time}\r\n"
        );
        let taken = t.ingest(&mail).await;
        assert_eq!(taken.status, AlertStatus::Matched, "{taken:?}");
        assert_eq!(t.payment(&payment).await.status, Status::Approved);
    }

    async fn a_debit_keeps_the_session_id_it_tells(db: TestDatabase) {
        let (t, _) = world(db).await;
        t.advance(Span::minutes(1));
        let debit = Alert { direction: "DEBIT", ..alert(&t, 6_001) };
        for told in ["", "RVSL "] {
            let mail = debit.text().replace(&debit.session, &format!("{told}{}", debit.session));
            let taken = t.ingest(&mail).await;
            let kept = t.app.store.alert(taken.alert_id).await.unwrap().unwrap();
            assert_eq!(kept.facts.session_id.as_deref(), Some(debit.session.as_str()), "{told}");
        }
    }

    async fn a_collection_that_names_no_virtual_account_goes_to_review(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let damaged = ["FROM ZARA LAMI GYANG TO SQUAD", "0198765432 FROM ZARA LAMI GYANG TO SQUA", "FROM ZARA LAMI GYANG TO SQUAD-OPAY-ZARA LAMI GYANG"];
        let told = |naira: i64, narration: &str| {
            let alert = alert(&t, naira);
            alert.text().replace(&format!("{}-TRANSFER-OPAY-{}", alert.session, alert.payer), narration)
        };
        // While nothing is settled through the account, such words are a remark like others.
        assert_eq!(outcome(&t, &shop, 7_001, &told(7_001, damaged[0])).await, (AlertStatus::Matched, true));
        let behind_ours = t.new_account("gtbank", (0, 4), "9012345678", Some(t.merchant("other.example").await.id));
        t.add_account(&NewAccount { via: Some(ACCOUNT.into()), ..behind_ours }).await;
        for (naira, narration) in (7_101..).zip(damaged) {
            let mail = told(naira, narration);
            assert_eq!(outcome(&t, &shop, naira, &mail).await, (AlertStatus::Review, false), "{narration}");
        }
        // A transfer to the settlement account itself.
        assert_eq!(outcome(&t, &shop, 7_201, &alert(&t, 7_201).text()).await, (AlertStatus::Matched, true));
    }

    async fn no_word_of_return_or_failure_is_credited_or_put_aside_for_good(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let mut naira = 8_001;
        for word in [
            "failed", "bounced", "recall", "recalled", "uncleared", "DECLINED", "RVS", "RVSL", "REVRSL", "RTN", "returned",
            "REJECTED", "reversed",
        ] {
            // As the bank's own word, in the payer's remark, and at the end, where either may have written it.
            for (from, to) in [
                ("-TRANSFER-OPAY-", format!("-{word}-OPAY-")),
                ("-TRANSFER-OPAY-", format!("-rent {word} May-OPAY-")),
                ("ZARA LAMI GYANG</td>", format!("ZARA LAMI GYANG {word}</td>")),
            ] {
                naira += 1;
                let plain = alert(&t, naira).text();
                let mail = plain.replace(from, &to);
                assert_ne!(mail, plain);
                waits_for_a_person(&t, &shop, naira, &mail, &to).await;
            }
        }
    }

    async fn no_state_but_success_and_no_amount_in_brackets_is_credited(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let mut naira = 9_001;
        for (label, value) in [
            ("Status", "Pending confirmation"),
            ("Status", "Uncleared"),
            ("Transaction Status", "Declined"),
            ("Transaction Status", "Bounced"),
            ("Transaction Status", "RVS"),
        ] {
            naira += 1;
            let row = format!("<tr><td>{label}</td><td>:</td><td>{value}</td></tr>\r\n<tr><td>Value Date");
            let mail = alert(&t, naira).text().replace("<tr><td>Value Date", &row);
            waits_for_a_person(&t, &shop, naira, &mail, value).await;
        }
        for shown in ["({})", "NGN ({}.00)", "(NGN {})", "NGN {}-", "-NGN {}"] {
            naira += 1;
            let plain = alert(&t, naira).text();
            let amount = shown.replace("{}", &naira.to_string());
            let mail = plain.replace(&format!("<td>NGN {naira}</td>"), &format!("<td>{amount}</td>"));
            assert_ne!(mail, plain);
            waits_for_a_person(&t, &shop, naira, &mail, &amount).await;
        }
    }
}
