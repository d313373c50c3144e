//! Banks whose signatures do not cover Content-Type: what a person is told, what the template may say about it,
//! and what thieves make of the header that is theirs to write.
//!
//! The scene is that of `forged`.

use std::sync::Arc;

use tillbell::alert_reader::Banks;
use tillbell::alert_reader::template::embedded::TEMPLATES;
use tillbell::domain::alert::{AlertStatus, Authenticity, Direction};
use tillbell::domain::money::Money;
use tillbell::mail_intake::ingest::MailIngestor;

use crate::forged::{MAILBOX, Scene, genuine};
use crate::harness::databases::TestDatabase;
use crate::harness::signing::Signer;

/// What the payer typed. A relaxed signature takes tabs for blanks, and in a text they part cells.
const TYPED: &str =
    "x Amount NGN 5000 Account Number ******4417 Description VIA GAPS PAYMENT FROM HALIMA GARBA Remarks";
const TABBED: &str = "x\tAmount\tNGN 5000\tAccount Number\t******4417\tDescription\tVIA GAPS PAYMENT FROM HALIMA GARBA\tRemarks";

/// A bank that signs neither Content-Type nor Content-Transfer-Encoding.
fn bare() -> Signer {
    Signer { fields: vec!["from", "to", "subject", "date", "message-id"], ..Signer::bank() }
}

/// The bank's template says so.
async fn scene(db: TestDatabase) -> Scene {
    let s = Scene::new(db).await;
    let say = |(file, text): &(&str, &str)| {
        let before = if file.contains("gtbank") { "signs_content_type = false\n" } else { "" };
        ((*file).to_owned(), format!("{before}{text}"))
    };
    let banks = Arc::new(Banks::assemble(TEMPLATES.iter().map(say).collect()).unwrap());
    let mut config = s.t.app.config.clone();
    config.mail.dns = vec![s.names.address];
    let room = MailIngestor::new(&config, banks);
    Scene { room, ..s }
}

/// The mail under another Content-Type, or none.
fn retyped(mail: &str, to: &str) -> String {
    let out = mail.replacen("Content-Type: text/html; charset=utf-8\r\n", to, 1);
    assert_ne!(out, mail);
    out
}

/// A genuine alert of 50 naira, in which the payer typed another one.
fn typed() -> String {
    let mail = genuine().replace("NGN 5000<", "NGN 50<");
    let (front, rest) = mail.split_once("<td>Description</td><td>:</td><td>").unwrap();
    let (_, after) = rest.split_once("</td>").unwrap();
    format!("{front}<td>Description</td><td>:</td><td>{TYPED}</td>{after}")
}

on_both! {
    async fn a_content_type_that_nobody_signed_is_missed_also_where_it_was_taken_away(db: TestDatabase) {
        let s = Scene::new(db).await;
        let signed = bare().sign(&typed()).replace(TYPED, TABBED);
        let stolen = s.take(retyped(&signed, ""), MAILBOX).await;
        assert_eq!((stolen.status, stolen.authenticity), (AlertStatus::Review, Authenticity::Proven), "{stolen:?}");
        assert!(stolen.reason.contains("does not cover Content-Type"), "{}", stolen.reason);
        assert!(!s.is_approved().await);
    }

    async fn a_debit_is_the_banks_only_if_its_body_says_what_it_is(db: TestDatabase) {
        let debit = |mail: String| bare().sign(&mail.replace("a CREDIT transaction", "a DEBIT transaction"));
        for said in [false, true] {
            let fresh = TestDatabase::migrated(db.engine()).await;
            let s = if said { scene(fresh).await } else { Scene::new(fresh).await };
            let own = s.take(debit(genuine()), MAILBOX).await;
            let told = (own.status, own.facts.direction);
            assert_eq!(told, (AlertStatus::Ignored, Some(Direction::Debit)), "{said}: {own:?}");
            // Of 50 naira, in which somebody typed one of 5,000.
            let bent = s.take(retyped(&debit(typed()).replace(TYPED, TABBED), ""), MAILBOX).await;
            let told = (bent.status, bent.facts.direction, bent.facts.amount);
            assert_eq!(told, (AlertStatus::Unreadable, None, None), "{said}: {bent:?}");
            s.t.audited().await;
        }
    }

    async fn a_template_may_say_that_its_bank_signs_no_content_type(db: TestDatabase) {
        let s = scene(db).await;
        let alert = s.take(bare().sign(&genuine()), MAILBOX).await;
        assert_eq!((alert.status, alert.authenticity), (AlertStatus::Matched, Authenticity::Proven), "{alert:?}");
        assert!(s.is_approved().await && alert.facts.doubts.is_empty());
        // Copies of it are known under whatever type they come.
        for form in ["Content-Type: text/html; charset=windows-1252\r\n", "Content-Type: text/html\r\n"] {
            let copy = s.take(retyped(&bare().sign(&genuine()), form), MAILBOX).await;
            assert_ne!(copy.status, AlertStatus::Matched, "{form}: {copy:?}");
        }
    }

    async fn under_no_other_type_does_such_a_mail_approve(db: TestDatabase) {
        let s = scene(db).await;
        let quoted = typed().replace(TYPED, &TABBED.replace('\t', "&lt;br&gt;"));
        for mail in [typed(), typed().replace(TYPED, TABBED), quoted, genuine()] {
            for form in [
                "",
                "Content-Type: text/plain; charset=utf-8\r\n",
                "Content-Type: text/plain; charset=utf-7\r\n",
                "Content-Type: text/html; charset=utf-16\r\n",
                "Content-Type: text/html; charset=iso-2022-jp\r\n",
                "Content-Type: multipart/mixed; boundary=\"td\"\r\n",
                "Content-Type: application/pdf\r\n",
                "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n",
                "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n",
            ] {
                let alert = s.take(retyped(&bare().sign(&mail), form), MAILBOX).await;
                assert_ne!(alert.status, AlertStatus::Matched, "{form}: {alert:?}");
            }
        }
        assert!(!s.is_approved().await);
        // The same mail as the bank sent it: what was typed is a narration.
        let alert = s.take(bare().sign(&typed()), MAILBOX).await;
        assert_eq!(alert.facts.amount, Some(Money(5_000)), "{alert:?}");
        assert!(alert.status != AlertStatus::Matched && !s.is_approved().await);
    }

    async fn a_transfer_encoding_that_nobody_signed_is_never_excused(db: TestDatabase) {
        let s = scene(db).await;
        let encoded = genuine().replace("\r\n\r\n", "\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n");
        let encoded = encoded.replace("colspan=\"", "colspan=3D\"");
        let open = s.take(bare().sign(&encoded), MAILBOX).await;
        assert_eq!(open.status, AlertStatus::Review, "{open:?}");
        assert!(open.reason.contains("Content-Type and Content-Transfer-Encoding"), "{}", open.reason);
        // Taken away, the encoded text would be read.
        let bared = bare().sign(&encoded).replace("Content-Transfer-Encoding: quoted-printable\r\n", "");
        let taken = s.take(bared, MAILBOX).await;
        assert_ne!(taken.status, AlertStatus::Matched, "{taken:?}");
        assert!(!s.is_approved().await);
        // Signed, it is the bank's own.
        let mut signer = bare();
        signer.fields.push("content-transfer-encoding");
        let alert = s.take(signer.sign(&encoded), MAILBOX).await;
        assert_ne!(alert.status, AlertStatus::Quarantined, "{alert:?}");
        assert!(!alert.reason.contains("Content-T"), "{alert:?}");
    }
}
