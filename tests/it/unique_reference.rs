//! A reference that its bank calls unique on the account pays once, like a session id: told again in other words, by
//! the rules and by hand. On another account the same signs are another transfer.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::alerts::approve::ApproveRefused;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::merchants::accounts::NewAccount;

use crate::counted_once::{approve_on, approved, is_open};
use crate::harness::app::{LATER, Merchant, TestApp};
use crate::harness::databases::TestDatabase;

const PAYER: &str = "Dooshima Iorfa";
const REFERENCE: &str = "260310000000000000000041";

/// Two accounts at a bank that its template knows, each of a shop of its own, and two open payments on the first.
async fn open(db: TestDatabase, bank: &str, numbers: [&str; 2]) -> (TestApp, Merchant, [Payment; 2]) {
    let t = TestApp::start(db).await;
    let shop = t.merchant("aso-oke.example").await;
    let other = t.merchant("bolu.example").await;
    for (number, owner) in numbers.into_iter().zip([&shop, &other]) {
        t.add_account(&NewAccount { force: false, ..t.new_account(bank, (0, 4), number, Some(owner.id)) })
            .await;
    }
    let one = t.create(&shop, 6_150, PAYER).await;
    t.advance(Span::seconds(1));
    let two = t.create(&shop, 6_150, PAYER).await;
    t.advance(LATER);
    (t, other, [one, two])
}

/// Lagos time as a mail shows it.
fn local(at: Timestamp, format: &str) -> String {
    let at = jiff::Timestamp::from_microsecond((at + Span::hours(1)).0).unwrap();
    at.to_zoned(jiff::tz::TimeZone::UTC).strftime(format).to_string()
}

fn head(t: &TestApp, from: &str, subject: &str, id: &str) -> String {
    let date = local(t.app.now(), "%a, %d %b %Y %H:%M:%S +0100");
    format!(
        "From: {from}\r\nTo: alerts@till.example\r\nSubject: {subject}\r\nDate: {date}\r\nMessage-ID: <{id}>\r\n\
         MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
    )
}

fn opay(t: &TestApp, id: &str, account: &str, amount: &str, payer: &str, reference: &str) -> String {
    format!(
        "{}You have received a transfer.\r\nAmount: {amount}\r\nSender: {payer}\r\nBank Name: UBA\r\n\
         Sender Account: 201****118\r\nTransaction number: {reference}\r\nReceipt account: {account}\r\n",
        head(t, "no-reply@opay-nigeria.com", "Credit Alert", id)
    )
}

/// What this bank writes tells no payer for sure.
fn quickmfb(t: &TestApp, id: &str, account: &str, naira: &str, at: Timestamp, words: &str) -> String {
    let time = local(at, "%d/%m/%Y %I:%M %p");
    format!(
        "{}Dear TILL AND BELL LTD,\r\n\u{20a6}{naira} has been credited to your account (A/c: ******{}) on\r\n{time}.\r\n\
         Transaction Type\r\nCredit\r\nAmount\r\n\u{20a6}{naira}\r\nTransaction Reference\r\nQMFB00000771204\r\n\
         Narration\r\n{words}\r\nTransaction Date & Time\r\n{time}\r\n",
        head(t, "no-reply@quickmart.com", "Money Received", id),
        &account[6..]
    )
}

/// As a person passes it on.
fn forwarded(mail: &str) -> String {
    mail.replace("From: no-reply@quickmart.com", "From: Ife <ife@till.example>")
        .replace("Subject: ", "Subject: Fwd: ")
        .replace("Message-ID: <", "Message-ID: <fwd.")
        .replacen(
            "\r\n\r\n",
            "\r\n\r\n---------- Forwarded message ---------\r\nFrom: Quick MFB <no-reply@quickmart.com>\r\n\
             Date: Tue, Mar 10, 2026\r\nSubject: Money Received\r\nTo: ife@till.example\r\n\r\n",
            1,
        )
}

/// No person makes it pay this payment, whatever the reason.
async fn is_settled(t: &TestApp, alert: &AlertOutcome, payment: &Payment, by: i64) {
    for despite in [None, Some("two transfers, I am sure")] {
        let refused = approve_on(&t.app, alert.alert_id, payment, despite).await.unwrap_err();
        assert_eq!(refused, ApproveRefused::Settled(alert.alert_id, "reference", by));
    }
    is_open(t, payment).await;
}

on_both! {
    async fn a_unique_reference_pays_once_and_is_another_one_on_another_account(db: TestDatabase) {
        let [ours, theirs] = ["6110000071", "6110000088"];
        let (t, other, [one, two]) = open(db, "opay", [ours, theirs]).await;
        let first = t.ingest(&opay(&t, "1@opay", ours, "NGN 6,150.00", "DOOSHIMA IORFA", REFERENCE)).await;
        assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
        assert_eq!(t.payment(&two).await.status, Status::Approved, "the newest");
        t.advance(Span::minutes(3));
        let again = t.ingest(&opay(&t, "2@opay", ours, "6150", "IORFA DOOSHIMA T", REFERENCE)).await;
        assert_eq!(again.status, AlertStatus::Duplicate, "{again:?}");
        is_open(&t, &one).await;
        // With another amount it is nobody's copy, and nobody's money.
        let more = t.ingest(&opay(&t, "3@opay", ours, "NGN 6,200.00", "DOOSHIMA IORFA", REFERENCE)).await;
        assert_eq!(more.status, AlertStatus::Review, "{more:?}");
        assert!(more.reason.contains("the same reference"), "{}", more.reason);
        is_settled(&t, &more, &one, first.alert_id).await;
        // A second transfer has a reference of its own.
        let second = REFERENCE.replace("41", "42");
        let second = t.ingest(&opay(&t, "4@opay", ours, "NGN 6,150.00", "DOOSHIMA IORFA", &second)).await;
        assert_eq!(second.status, AlertStatus::Matched, "{second:?}");
        let beside = t.create(&other, 6_150, PAYER).await;
        t.advance(LATER);
        let third = t.ingest(&opay(&t, "5@opay", theirs, "NGN 6,150.00", "DOOSHIMA IORFA", REFERENCE)).await;
        assert_eq!(third.status, AlertStatus::Matched, "{third:?}");
        assert_eq!(t.payment(&beside).await.status, Status::Approved);
    }

    async fn a_unique_reference_pays_once_by_hand_as_well(db: TestDatabase) {
        let [ours, theirs] = ["0123450611", "0123450722"];
        let (t, other, [one, two]) = open(db, "quickmfb", [ours, theirs]).await;
        let at = t.app.now() - Span::minutes(2);
        let told = quickmfb(&t, "1@quick", ours, "6,150.00", at, "For March");
        let first = t.ingest(&forwarded(&told)).await;
        let second = t.ingest(&forwarded(&quickmfb(&t, "2@quick", ours, "6,150.00", at, "rent"))).await;
        for alert in [&first, &second] {
            assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        }
        approved(&t, &first, &one, Some("it is on the statement, once")).await;
        is_settled(&t, &second, &two, first.alert_id).await;
        // The bank's own mail, two days late.
        t.advance(Span::days(2));
        let late = t.ingest(&told).await;
        assert_eq!(late.status, AlertStatus::Duplicate, "{late:?}");
        is_open(&t, &two).await;
        let beside = t.create(&other, 6_150, PAYER).await;
        t.advance(LATER);
        let third = quickmfb(&t, "3@quick", theirs, "6,150.00", t.app.now() - Span::minutes(2), "For March");
        let third = t.ingest(&third).await;
        assert_eq!(third.status, AlertStatus::Review, "{third:?}");
        // The approved forward of the same amount and name asks for a reason.
        approved(&t, &third, &beside, Some("both are on the statements")).await;
    }
}
