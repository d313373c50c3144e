//! Quarantined alerts that a person puts aside: one by one or by their sender, also while a key that could prove
//! them is asked for. What was put aside is credited by nobody; what is proven first is not put aside.

use tillbell::domain::alert::{AlertRow, AlertStatus, Authenticity};
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::JobEnd;
use tillbell::ops::alerts::approve::{Approve, ApproveRefused, approve_alert};
use tillbell::ops::alerts::dismiss::{DismissRefused, clear_quarantine, dismiss_alert};
use tillbell::ops::alerts::draft::{ReadAs, Taken};
use tillbell::ops::alerts::prove_later::looked_again;
use tillbell::ops::alerts::take::take_alert;
use tillbell::store::tables::jobs::{JobKind, Queue};
use tillbell::work::run_due_with;

use crate::forged::{MAILBOX, Scene, genuine};
use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::mails::Alert;
use crate::harness::name_server::Say;
use crate::harness::signing::{Signer, record};

const KEY_NAME: &str = "mail._domainkey.gtbank.com";

/// A genuine mail while the name server is in trouble.
async fn waiting(s: &Scene, mail: &str) -> AlertRow {
    s.names.say(KEY_NAME, Say::ServFail);
    let alert = s.take(Signer::bank().sign(mail), MAILBOX).await;
    assert_eq!((alert.status, alert.authenticity), (AlertStatus::Quarantined, Authenticity::Unproven));
    alert
}

/// What the job makes of the mail once the key is there.
fn proven(t: &TestApp, mail: &str) -> Taken {
    Taken { authenticity: Authenticity::Proven, authentic_by: Some("a key".into()), ..t.taken(mail, true) }
}

async fn asked_for(t: &TestApp) -> i64 {
    let depths = t.app.store.job_depths().await.unwrap();
    depths.iter().filter(|depth| depth.kind == JobKind::Verify).map(|depth| depth.count).sum()
}

/// A person insists on crediting it.
async fn insist(s: &Scene, alert_id: i64) -> ApproveRefused {
    let ask = Approve {
        alert_id,
        business_id: s.payment.business_id,
        transaction_id: &s.payment.transaction_id,
        operator: "ife",
        despite: Some("it is on the statement"),
        seen: None,
    };
    approve_alert(&s.t.app, &ask).await.unwrap().unwrap_err()
}

/// A quarantined mail of nobody's.
async fn unproven(t: &TestApp, naira: i64, from: Option<&str>) -> i64 {
    let mut taken = t.taken(&Alert::credit(ACCOUNT, naira, "Halima Garba", at()).text(), false);
    if let Some(from) = from {
        taken.mail_from = Some(from.to_owned());
    }
    let outcome = take_alert(&t.app, &taken).await.unwrap();
    assert_eq!(outcome.status, AlertStatus::Quarantined);
    outcome.alert_id
}

on_both! {
    async fn a_mail_put_aside_while_its_key_is_asked_for_is_never_credited(db: TestDatabase) {
        let s = Scene::new(db).await;
        let mail = genuine();
        let before = waiting(&s, &mail).await;
        assert_eq!(asked_for(&s.t).await, 1);
        let was = dismiss_alert(&s.t.app, before.id, "ife", "spam").await.unwrap().unwrap();
        assert_eq!(was, AlertStatus::Quarantined);
        assert_eq!(asked_for(&s.t).await, 0, "nobody asks any more");
        let aside = s.alert(before.id).await;
        assert_eq!((aside.status, aside.authenticity), (AlertStatus::Dismissed, Authenticity::Unproven));
        assert!(aside.reason.starts_with("spam (it was quarantined: it waits for a name server"), "{}", aside.reason);
        // The key is there now: for the job, and for a worker that had read the alert before.
        s.names.say(KEY_NAME, Say::Text(record("rsa2048")));
        s.t.advance(Span::minutes(20));
        run_due_with(&s.t.app, Some(std::sync::Arc::new(s.room.clone()))).await.unwrap();
        let late = looked_again(&s.t.app, &before, &proven(&s.t, &mail), 3).await.unwrap();
        assert_eq!(late, JobEnd::Done);
        assert_eq!(s.alert(before.id).await, aside);
        assert!(!s.is_approved().await);
        let refused = insist(&s, before.id).await;
        assert!(matches!(refused, ApproveRefused::NotAuthentic(_)), "{refused}");
        assert!(!s.is_approved().await);
        // Its money is not lost: a copy of the mail is an alert of its own, which nothing holds back.
        let copy = s.t.ingest(&mail).await;
        assert_eq!(copy.status, AlertStatus::Matched, "{copy:?}");
    }

    async fn a_mail_proven_first_is_not_put_aside_as_quarantined(db: TestDatabase) {
        let s = Scene::new(db).await;
        let mail = genuine();
        let before = waiting(&s, &mail).await;
        looked_again(&s.t.app, &before, &proven(&s.t, &mail), 3).await.unwrap();
        assert!(s.is_approved().await);
        let refused = dismiss_alert(&s.t.app, before.id, "ife", "spam").await.unwrap().unwrap_err();
        assert_eq!(refused, DismissRefused::NotWaiting(before.id, "matched"));
        assert!(s.is_approved().await);
    }

    async fn of_a_proof_and_a_dismissal_at_one_moment_one_wins_whole(db: TestDatabase) {
        let s = Scene::new(db).await;
        let shop = s.t.merchant("second.example").await;
        let other = s.t.another_node().await;
        let mut dismissed = 0;
        for n in 0..12_i64 {
            let naira = 20_000 + n * 900;
            let payment = s.t.create(&shop, naira, "Ngozi Umeadi").await;
            s.t.advance(Span::seconds(30));
            let mail = Alert::credit(ACCOUNT, naira, "Ngozi Umeadi", s.t.app.now()).text();
            s.t.advance(Span::seconds(30));
            let before = waiting(&s, &mail).await;
            let taken = proven(&s.t, &mail);
            let (lifted, aside) = tokio::join!(
                looked_again(&s.t.app, &before, &taken, 3),
                dismiss_alert(&other, before.id, "ife", "spam"),
            );
            lifted.unwrap();
            let (alert, payment) = (s.alert(before.id).await, s.t.payment(&payment).await);
            match aside.unwrap() {
                Ok(was) => {
                    assert_eq!((was, alert.status), (AlertStatus::Quarantined, AlertStatus::Dismissed));
                    assert_eq!((payment.status, asked_for(&s.t).await), (Status::Pending, 0));
                    dismissed += 1;
                }
                Err(DismissRefused::Proven(..) | DismissRefused::NotWaiting(..)) => {
                    assert_eq!((alert.status, payment.status), (AlertStatus::Matched, Status::Approved), "{alert:?}");
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert!(dismissed <= 12);
    }

    async fn a_forwarded_mail_put_aside_cannot_be_approved_by_that_way(db: TestDatabase) {
        let s = Scene::new(db).await;
        let forwarded = Taken {
            authenticity: Authenticity::Forwarded,
            read_as: ReadAs::Quarantined,
            ..s.t.taken(&genuine(), false)
        };
        let alert = take_alert(&s.t.app, &forwarded).await.unwrap();
        assert_eq!(alert.status, AlertStatus::Quarantined);
        dismiss_alert(&s.t.app, alert.alert_id, "ife", "not wanted").await.unwrap().unwrap();
        let refused = insist(&s, alert.alert_id).await;
        assert!(matches!(refused, ApproveRefused::NotAuthentic(_)), "{refused}");
        assert!(!s.is_approved().await);
    }

    async fn quarantine_is_cleared_by_sender_in_bounds(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let mut wanted = Vec::new();
        for n in 0..230 {
            wanted.push(unproven(&t, 1_000 + n, Some("spoof@flood.example")).await);
        }
        let others = unproven(&t, 5_000, None).await;
        let count = |totals: Vec<tillbell::store::tables::alert_totals::AlertTotal>| {
            totals.iter().find(|one| one.status == AlertStatus::Quarantined).map_or(0, |one| one.count)
        };
        assert_eq!(count(t.app.store.alert_totals().await.unwrap()), 231);
        let mut told = 0;
        let first = clear_quarantine(&t.app, " Spoof@Flood.EXAMPLE ", "ife", "a flood", 215, |_| told += 1);
        let first = first.await.unwrap().unwrap();
        assert_eq!((first.ids.as_slice(), first.more), (&wanted[..215], true));
        assert_eq!(told, 215);
        let rest = clear_quarantine(&t.app, "spoof@flood.example", "ife", "a flood", 1_000, |_| ()).await.unwrap().unwrap();
        assert_eq!((rest.ids.as_slice(), rest.more, rest.asked), (&wanted[215..], false, 0));
        assert_eq!(count(t.app.store.alert_totals().await.unwrap()), 1);
        assert_eq!(t.app.store.alert(others).await.unwrap().unwrap().status, AlertStatus::Quarantined);
        let none = clear_quarantine(&t.app, "spoof@flood.example", "ife", " ", 5, |_| ()).await.unwrap();
        assert_eq!(none, Err(DismissRefused::Reason));
        // Forged mails that were put aside speak against nothing.
        let genuine = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        assert_eq!(genuine.status, AlertStatus::Matched, "{genuine:?}");
    }

    async fn clearing_by_sender_leaves_what_may_still_be_proven(db: TestDatabase) {
        let s = Scene::new(db).await;
        let mail = genuine();
        let forged = unproven(&s.t, 7_000, None).await;
        let asked = waiting(&s, &mail).await;
        let sender = asked.mail_from.clone().unwrap();
        let cleared = clear_quarantine(&s.t.app, &sender, "ife", "a flood", 100, |_| ()).await.unwrap().unwrap();
        assert_eq!((cleared.ids, cleared.asked, cleared.more), (vec![forged], 1, false));
        s.names.say(KEY_NAME, Say::Text(record("rsa2048")));
        s.t.advance(Span::minutes(20));
        run_due_with(&s.t.app, Some(std::sync::Arc::new(s.room.clone()))).await.unwrap();
        assert!(s.is_approved().await, "{:?}", s.alert(asked.id).await);
        let due = s.t.app.store.due_jobs(s.t.app.now()).await.unwrap();
        assert!(!due.contains(&(JobKind::Verify, Queue::Fresh)), "{due:?}");
    }
}
