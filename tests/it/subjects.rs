//! Banks that tell credit from debit in the subject alone: signed by the bank, the subject decides; unsigned, it says
//! nothing.
//!
//! The scene is that of `forged`.

use tillbell::domain::alert::{AlertStatus, Authenticity, Direction};
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::merchants::accounts::NewAccount;

use crate::forged::{MAILBOX, Scene};
use crate::harness::databases::TestDatabase;
use crate::harness::name_server::Say;
use crate::harness::signing::{Signer, record};

const PAYER: &str = "Dooshima Iorfa";

/// As this bank would sign.
fn signer(fields: &[&'static str]) -> Signer {
    Signer { domain: "skyebankng.com".into(), fields: fields.to_vec(), ..Signer::bank() }
}

/// A scene with an account there and an open payment of 1,850 on it.
async fn scene(db: TestDatabase) -> (Scene, Payment) {
    let s = Scene::new(db).await;
    s.names.say("mail._domainkey.skyebankng.com", Say::Text(record("rsa2048")));
    let shop = s.t.merchant("aso-oke.example").await;
    let new = s.t.new_account("polaris", (3, 3), "1880000456", Some(shop.id));
    s.t.add_account(&NewAccount { force: false, ..new }).await;
    let payment = s.t.create(&shop, 1_850, PAYER).await;
    s.t.advance(Span::minutes(2));
    (s, payment)
}

fn mail(s: &Scene, subject: &str) -> String {
    let local = jiff::Timestamp::from_microsecond((s.t.app.now() + Span::hours(1)).0).unwrap();
    let local = local.to_zoned(jiff::tz::TimeZone::UTC);
    let (date, time) = (local.strftime("%a, %d %b %Y %H:%M:%S +0100"), local.strftime("%d-%m-%Y %H:%M"));
    format!(
        "From: alerts@skyebankng.com\r\nTo: alerts@till.example\r\nSubject: {subject}\r\nDate: {date}\r\n\
         Message-ID: <1850@skye.example>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n\
         Account Name : TILL AND BELL LTD\r\nAccount Number : 188****456\r\nAmount : NGN 1,850.00\r\n\
         Details : TRF FRM DOOSHIMA IORFA TO TILL AND BELL LTD\r\nTime : {time}\r\n"
    )
}

const ALL: [&str; 6] = ["from", "to", "subject", "date", "message-id", "content-type"];

on_both! {
    async fn a_direction_that_stands_only_in_a_signed_subject_is_no_doubt(db: TestDatabase) {
        let (s, payment) = scene(db).await;
        let alert = s.take(signer(&ALL).sign(&mail(&s, "Skye Bank - Credit Alert")), MAILBOX).await;
        assert_eq!(alert.status, AlertStatus::Matched, "{alert:?}");
        assert_eq!((alert.authenticity, alert.facts.doubts), (Authenticity::Proven, Vec::new()));
        assert_eq!(s.t.payment(&payment).await.status, Status::Approved);
        s.t.audited().await;
    }

    async fn a_subject_that_nobody_signed_gives_no_direction(db: TestDatabase) {
        let (s, payment) = scene(db).await;
        let without = ["from", "to", "date", "message-id", "content-type"];
        // Whoever holds a debit mail of the bank's may write what he likes over it.
        let signed = signer(&without).sign(&mail(&s, "Skye Bank - Debit Alert"));
        let forged = signed.replace("Debit Alert", "Credit Alert");
        assert_ne!(forged, signed);
        let alert = s.take(forged, MAILBOX).await;
        assert_eq!((alert.facts.direction, alert.status), (None, AlertStatus::Unreadable), "{alert:?}");
        assert!(alert.reason.contains("direction"), "{}", alert.reason);
        assert_eq!(s.t.payment(&payment).await.status, Status::Pending);
        s.t.audited().await;
    }

    async fn a_signed_subject_that_tells_a_debit_is_one(db: TestDatabase) {
        let (s, payment) = scene(db).await;
        let alert = s.take(signer(&ALL).sign(&mail(&s, "Skye Bank - Debit Alert")), MAILBOX).await;
        assert_eq!((alert.facts.direction, alert.status), (Some(Direction::Debit), AlertStatus::Ignored), "{alert:?}");
        assert_eq!(s.t.payment(&payment).await.status, Status::Pending);
        s.t.audited().await;
    }
}
