//! Mails whose key cannot be had: stored at once, asked about again by a durable job, and lifted as if
//! they had come proven, or quarantined for good after a day.
//!
//! The scene is that of `forged`.

use std::sync::Arc;

use tillbell::domain::alert::{AlertRow, AlertStatus, Authenticity};
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::mail_intake::ingest::MailIngestor;
use tillbell::ops::JobEnd;
use tillbell::ops::alerts::prove_later::Verifier;
use tillbell::ops::payments::correct::{Corrected, correct_amount};
use tillbell::ops::payments::sweep::sweep;
use tillbell::store::tables::jobs::{JobKind, Queue};
use tillbell::work::run_due_with;

use crate::forged::{MAILBOX, Scene, genuine};
use crate::harness::app::{ACCOUNT, at};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::harness::name_server::Say;
use crate::harness::signing::{Signer, record};

const KEY_NAME: &str = "mail._domainkey.gtbank.com";

fn verifier(s: &Scene) -> Arc<dyn Verifier> {
    Arc::new(s.room.clone())
}

async fn work(s: &Scene) {
    run_due_with(&s.t.app, Some(verifier(s))).await.unwrap();
}

/// A genuine mail while the name server is in trouble.
async fn waiting(s: &Scene, trouble: Say) -> AlertRow {
    s.names.say(KEY_NAME, trouble);
    let alert = s.take(Signer::bank().sign(&genuine()), MAILBOX).await;
    assert_eq!((alert.status, alert.authenticity), (AlertStatus::Quarantined, Authenticity::Unproven));
    assert!(alert.reason.contains("waits for a name server, until 2026-03-11"), "{}", alert.reason);
    assert!(!s.is_approved().await);
    alert
}

/// A genuine mail whose key no name server knows.
async fn without_key(s: &Scene) -> AlertRow {
    s.names.say(KEY_NAME, Say::Nothing);
    let alert = s.take(Signer::bank().sign(&genuine()), MAILBOX).await;
    assert_eq!((alert.status, alert.authenticity), (AlertStatus::Quarantined, Authenticity::Unproven));
    assert!(alert.reason.contains("waits for the signature's key, until"), "{}", alert.reason);
    alert
}

/// One that remembers nothing of what name servers said.
fn forgetful(s: &Scene) -> Arc<dyn Verifier> {
    let mut config = s.t.app.config.clone();
    config.mail.dns = vec![s.names.address];
    Arc::new(MailIngestor::new(&config, s.t.banks.clone()))
}

on_both! {
    async fn a_mail_waits_for_its_key_and_then_approves_as_if_it_had_come_proven(db: TestDatabase) {
        let s = Scene::new(db).await;
        let alert = waiting(&s, Say::ServFail).await;
        work(&s).await;
        assert_eq!(s.names.asked().len(), s.names.asked().iter().filter(|n| *n == KEY_NAME).count());
        for _ in 0..3 {
            s.t.advance(Span::minutes(20));
            work(&s).await;
            assert_eq!(s.alert(alert.id).await, alert, "a look without an answer changes nothing");
        }
        s.names.say(KEY_NAME, Say::Text(record("rsa2048")));
        s.t.advance(Span::minutes(20));
        work(&s).await;
        let lifted = s.alert(alert.id).await;
        assert_eq!((lifted.status, lifted.authenticity), (AlertStatus::Matched, Authenticity::Proven), "{lifted:?}");
        assert_eq!((lifted.first_seen, lifted.mail_from), (alert.first_seen, alert.mail_from));
        assert!(lifted.authentic_by.is_some() && s.is_approved().await);
        // A second copy is known by the keys.
        let copy = s.take(Signer::bank().sign(&genuine()), MAILBOX).await;
        assert_ne!(copy.status, AlertStatus::Matched);
    }

    async fn what_waits_for_its_key_speaks_against_another_merchants_payment(db: TestDatabase) {
        let s = Scene::new(db).await;
        let mail = |at| Signer::bank().sign(&Alert::credit(ACCOUNT, 7_000, "MUSA DANLADI", at).text());
        s.names.say(KEY_NAME, Say::ServFail);
        let first = s.take(mail(s.t.app.now()), MAILBOX).await;
        assert_eq!(first.status, AlertStatus::Quarantined, "{first:?}");
        s.t.advance(Span::minutes(17));
        let other = s.t.merchant("bolu.example").await;
        let bait = s.t.create(&other, 7_000, "Musa Danladi").await;
        s.t.advance(Span::minutes(5));
        let second = s.take(mail(s.t.app.now()), MAILBOX).await;
        assert_eq!(second.status, AlertStatus::Quarantined, "{second:?}");
        // The younger one is asked for first.
        s.names.say(KEY_NAME, Say::Text(record("rsa2048")));
        s.t.advance(Span::seconds(40));
        work(&s).await;
        let (first, second) = (s.alert(first.id).await, s.alert(second.id).await);
        assert_eq!(second.authenticity, Authenticity::Proven, "{second:?}");
        assert_eq!(s.t.payment(&bait).await.status, Status::Pending, "{first:?} {second:?}");
        assert!(second.reason.contains("second transfer"), "{}", second.reason);
    }

    async fn silence_is_trouble_and_does_not_hold_up_the_intake_for_ever(db: TestDatabase) {
        let s = Scene::new(db).await;
        waiting(&s, Say::Silence).await;
    }

    async fn after_a_day_it_stays_quarantined(db: TestDatabase) {
        let s = Scene::new(db).await;
        let alert = waiting(&s, Say::ServFail).await;
        for _ in 0..30 {
            s.t.advance(Span::minutes(50));
            work(&s).await;
        }
        let given_up = s.alert(alert.id).await;
        assert_eq!((given_up.status, given_up.authenticity), (AlertStatus::Quarantined, Authenticity::Unproven));
        assert!(given_up.reason.starts_with("nothing proves"), "{}", given_up.reason);
        // Nobody asks any more, whatever the name server would say.
        s.names.say(KEY_NAME, Say::Text(record("rsa2048")));
        s.t.advance(Span::hours(2));
        let asked = s.names.asked().len();
        work(&s).await;
        assert_eq!((s.names.asked().len(), s.is_approved().await), (asked, false));
    }

    async fn a_key_that_the_name_server_does_not_know_yet_is_waited_for(db: TestDatabase) {
        let s = Scene::new(db).await;
        let alert = without_key(&s).await;
        for _ in 0..3 {
            s.t.advance(Span::minutes(15));
            work(&s).await;
            assert_eq!(s.alert(alert.id).await, alert, "a look without the key changes nothing");
        }
        s.names.say(KEY_NAME, Say::Text(record("rsa2048")));
        s.t.advance(Span::minutes(14));
        run_due_with(&s.t.app, Some(forgetful(&s))).await.unwrap();
        assert_eq!(s.alert(alert.id).await.status, AlertStatus::Matched);
        assert!(s.is_approved().await);
    }

    async fn a_key_that_is_not_there_after_an_hour_is_given_up(db: TestDatabase) {
        let s = Scene::new(db).await;
        let alert = without_key(&s).await;
        s.t.advance(Span::minutes(61));
        work(&s).await;
        let given_up = s.alert(alert.id).await;
        assert_eq!((given_up.status, given_up.authenticity), (AlertStatus::Quarantined, Authenticity::Unproven));
        assert!(given_up.reason.starts_with("nothing proves"), "{}", given_up.reason);
        s.names.say(KEY_NAME, Say::Text(record("rsa2048")));
        s.t.advance(Span::hours(2));
        run_due_with(&s.t.app, Some(forgetful(&s))).await.unwrap();
        assert_eq!((s.alert(alert.id).await, s.is_approved().await), (given_up, false));
    }

    async fn a_mail_that_proves_to_be_forged_stays_quarantined(db: TestDatabase) {
        let s = Scene::new(db).await;
        let alert = waiting(&s, Say::ServFail).await;
        s.names.say(KEY_NAME, Say::Text(record("thief")));
        s.t.advance(Span::minutes(1));
        work(&s).await;
        let refused = s.alert(alert.id).await;
        assert_eq!((refused.status, refused.authenticity), (AlertStatus::Quarantined, Authenticity::Refuted));
        assert!(refused.reason.contains("fails") && !s.is_approved().await, "{}", refused.reason);
    }

    async fn a_worker_that_dies_leaves_the_job_to_another_and_two_at_once_credit_once(db: TestDatabase) {
        let s = Scene::new(db).await;
        let alert = waiting(&s, Say::ServFail).await;
        s.t.advance(Span::minutes(1));
        // Claimed, and then nothing more: its lease ends.
        let lease = Span::seconds(120);
        let claimed =
            s.t.app.store.claim_jobs(JobKind::Verify, Queue::Fresh, s.t.app.now(), lease).await.unwrap();
        assert_eq!(claimed.len(), 1);
        s.names.say(KEY_NAME, Say::Text(record("rsa2048")));
        work(&s).await;
        assert!(!s.is_approved().await);
        s.t.advance(lease + Span::seconds(1));
        let other = s.t.another_node().await;
        let (a, b) = (verifier(&s), verifier(&s));
        let (x, y) = tokio::join!(a.verify(&s.t.app, alert.id, 0), b.verify(&other, alert.id, 0));
        assert_eq!((x.unwrap(), y.unwrap()), (JobEnd::Done, JobEnd::Done));
        work(&s).await;
        assert_eq!(s.alert(alert.id).await.status, AlertStatus::Matched);
        assert!(s.is_approved().await);
    }

    async fn a_copy_that_was_proven_meanwhile_makes_it_a_duplicate(db: TestDatabase) {
        let s = Scene::new(db).await;
        let mail = Signer::bank().sign(&genuine());
        s.names.say(KEY_NAME, Say::ServFail);
        let first = s.take(&mail, MAILBOX).await;
        s.names.say(KEY_NAME, Say::Text(record("rsa2048")));
        let second = s.take(&mail, MAILBOX).await;
        assert_eq!(second.status, AlertStatus::Matched);
        s.t.advance(Span::minutes(1));
        work(&s).await;
        assert_eq!(s.alert(first.id).await.status, AlertStatus::Duplicate);
    }

    async fn a_payment_is_not_swept_while_a_mail_waits_for_its_key(db: TestDatabase) {
        let s = Scene::new(db).await;
        // Its window ends after two days; the mail comes in the last minutes of it.
        s.t.advance(Span::hours(47) + Span::minutes(45));
        s.names.say(KEY_NAME, Say::ServFail);
        let alert = s.take(Signer::bank().sign(&genuine()), MAILBOX).await;
        assert_eq!(alert.status, AlertStatus::Quarantined);
        for _ in 0..4 {
            s.t.advance(Span::hours(5));
            sweep(&s.t.app).await.unwrap();
            assert_eq!(s.t.payment(&s.payment).await.status, Status::Pending);
            work(&s).await;
        }
        s.names.say(KEY_NAME, Say::Text(record("rsa2048")));
        s.t.advance(Span::minutes(20));
        work(&s).await;
        assert_eq!(s.alert(alert.id).await.status, AlertStatus::Matched);
        assert!(s.is_approved().await);
    }

    async fn a_mail_that_waits_holds_what_may_be_its_own_and_not_for_ever(db: TestDatabase) {
        let s = Scene::new(db).await;
        let other = s.t.merchant("adjoining.example").await;
        let elsewhere = s.t.account("0123459982").await;
        let beside = s.t.create(&other, 5_000, "Halima Garba").await;
        assert_eq!(beside.account_id, Some(elsewhere));
        s.t.advance(Span::hours(47) + Span::minutes(45));
        s.names.say(KEY_NAME, Say::ServFail);
        let mut waits = s.take(Signer::bank().sign(&genuine()), MAILBOX).await;
        s.t.advance(Span::hours(1));
        sweep(&s.t.app).await.unwrap();
        let status = async |payment| s.t.payment(payment).await.status;
        assert_eq!(status(&s.payment).await, Status::Pending);
        assert_eq!(status(&beside).await, Status::Rejected, "it names the other account");
        // A debit is nobody's payment, and an account that cannot be told may be any of the bank's.
        let mine = s.t.create(&other, 5_000, "Halima Garba").await;
        s.t.advance(Span::days(2));
        work(&s).await;
        waits = s.alert(waits.id).await;
        assert!(waits.reason.starts_with("nothing proves"), "{}", waits.reason);
        let mut debit = Alert::credit(ACCOUNT, 700, "Halima Garba", at());
        debit.direction = "DEBIT";
        s.take(Signer::bank().sign(&debit.text()), MAILBOX).await;
        sweep(&s.t.app).await.unwrap();
        assert_eq!(status(&s.payment).await, Status::Rejected);
        let unknown = Alert { account: "******0000".into(), ..Alert::credit(ACCOUNT, 900, "Halima Garba", at()) };
        s.take(Signer::bank().sign(&unknown.text()), MAILBOX).await;
        sweep(&s.t.app).await.unwrap();
        assert_eq!(status(&mine).await, Status::Pending);
        // Whoever can make mails wait, one after another, does not keep a payment open for ever.
        for _ in 0..8 {
            s.t.advance(Span::hours(23));
            let text = Alert { account: "******0000".into(), ..Alert::credit(ACCOUNT, 900, "Halima Garba", at()) }.text();
            s.take(Signer::bank().sign(&text), MAILBOX).await;
            work(&s).await;
        }
        sweep(&s.t.app).await.unwrap();
        assert_eq!(status(&mine).await, Status::Rejected);
    }

    async fn a_correction_while_a_mail_waits_for_its_key_takes_nothing_of_anothers(db: TestDatabase) {
        for corrected in [6_000, 5_000] {
            let s = Scene::new(TestDatabase::migrated(db.engine()).await).await;
            let other = s.t.merchant("bolu.example").await;
            let bait = s.t.create(&other, 9_000, "Emeka Nwosu").await;
            s.t.advance(Span::seconds(5));
            // The husband pays what his wife was asked for.
            s.names.say(KEY_NAME, Say::ServFail);
            let mail = Alert::credit(ACCOUNT, corrected, "EMEKA NWOSU", at()).text();
            let alert = s.take(Signer::bank().sign(&mail), MAILBOX).await;
            assert_eq!(alert.status, AlertStatus::Quarantined);
            s.t.advance(Span::minutes(5));
            let to = Money(corrected * 100);
            let done = correct_amount(&s.t.app, &other.caller, &bait.transaction_id, to, None).await.unwrap();
            assert!(matches!(done, Corrected::Payment(_)));
            s.names.say(KEY_NAME, Say::Text(record("rsa2048")));
            s.t.advance(Span::minutes(20));
            work(&s).await;
            let lifted = s.alert(alert.id).await;
            // About an amount that nobody else asks for it may take it.
            let wanted = if corrected == 5_000 { AlertStatus::Review } else { AlertStatus::Matched };
            assert_eq!(lifted.status, wanted, "{lifted:?}");
            s.t.audited().await;
        }
    }
}
