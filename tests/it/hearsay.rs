//! What a person forwarded is a person's word: an edited session id, clock or balance makes no second transfer of one,
//! and hides no reversal.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::dismiss::dismiss_alert;

use crate::counted_once::{approve_on, approved, forwarded, is_open, told, two_open};
use crate::harness::app::at;
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::taken_back::{alert, debit_of, take_back};

/// The bank's mail of the transfer, and what a person made of it before he forwarded it.
fn edited() -> Vec<(&'static str, Alert, Alert)> {
    let digit = |session: &str| format!("{}7", &session[..session.len() - 1]);
    let (with, without) = (told(true), told(false));
    let changed = |alert: &Alert, edit: &dyn Fn(&mut Alert)| {
        let mut other = Alert { message_id: "<edited@gens.example>".into(), ..alert.clone() };
        edit(&mut other);
        other
    };
    vec![
        ("session", with.clone(), changed(&with, &|one| one.session = digit(&one.session))),
        ("balance", without.clone(), changed(&without, &|one| one.balance = "7.00".into())),
        ("second", without.clone(), changed(&without, &|one| one.at = one.at - Span::seconds(1))),
        ("day", without.clone(), changed(&without, &|one| one.at = one.at - Span::days(1))),
    ]
}

on_both! {
    async fn an_edited_forward_of_what_the_bank_told_asks_for_a_reason(db: TestDatabase) {
        for (what, bank, edited) in edited() {
            let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let paid = t.ingest(&bank.text()).await;
            assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
            let open = if t.payment(&one).await.status == Status::Pending { &one } else { &two };
            let forward = t.ingest(&forwarded(&edited.text())).await;
            let refused = approve_on(&t.app, forward.alert_id, open, None).await.unwrap_err();
            assert!(refused.to_string().contains("may report the same money"), "{what}: {refused}");
            is_open(&t, open).await;
        }
    }

    async fn the_banks_own_mail_after_an_edited_forward_goes_to_a_person(db: TestDatabase) {
        for (what, bank, edited) in edited() {
            let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let forward = t.ingest(&forwarded(&edited.text())).await;
            approved(&t, &forward, &one, Some("it is on the statement")).await;
            t.advance(Span::days(4));
            let original = t.ingest(&bank.text()).await;
            assert_eq!(original.status, AlertStatus::Review, "{what}: {original:?}");
            is_open(&t, &two).await;
        }
    }

    async fn a_reversal_is_told_of_an_edited_forward_that_paid(db: TestDatabase) {
        for is_back_first in [false, true] {
            let (t, _, one, _) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(true);
            let session = format!("{}7", &bank.session[..bank.session.len() - 1]);
            let edited = Alert { session, at: at() + Span::seconds(15), ..bank.clone() };
            let back = Alert { at: at() + Span::seconds(9), ..debit_of(&bank) };
            let told = if is_back_first {
                let back = take_back(&t, &back, Some(&bank.session), None).await;
                let forward = t.ingest(&forwarded(&edited.text())).await;
                let refused = approve_on(&t.app, forward.alert_id, &one, None).await.unwrap_err();
                assert!(refused.to_string().contains("may have taken this money back"), "{refused}");
                approved(&t, &forward, &one, Some("it is on the statement")).await;
                (forward.alert_id, back.alert_id)
            } else {
                let forward = t.ingest(&forwarded(&edited.text())).await;
                approved(&t, &forward, &one, Some("it is on the statement")).await;
                let original = t.ingest(&bank.text()).await;
                dismiss_alert(&t.app, original.alert_id, "ada", "told twice").await.unwrap().unwrap();
                let back = take_back(&t, &back, Some(&bank.session), None).await;
                (forward.alert_id, back.alert_id)
            };
            assert_eq!(alert(&t, told.0).await.linked_alert_id, Some(told.1), "{is_back_first}");
        }
    }
}
