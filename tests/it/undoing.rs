//! A person reverses a payment by the bank's own debit: the debit must fit the transfer, and undoes one.

use tillbell::app::App;
use tillbell::domain::alert::{AlertKind, AlertStatus};
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::alerts::approve::ApproveRefused;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::reread::{RereadRefused, may_be_reread};
use tillbell::ops::alerts::reverse::{Reverse, ReverseRefused, reverse_payment};
use tillbell::ops::alerts::take::take_alert;

use crate::counted_once::{approve_on, told, two_open};
use crate::harness::app::{ACCOUNT, LATER, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::taken_back::{alert, debit_of, take_back};

pub async fn undo(
    app: &App,
    payment: &Payment,
    by: i64,
    despite: Option<&str>,
) -> Result<(), ReverseRefused> {
    let ask = Reverse {
        business_id: payment.business_id,
        transaction_id: &payment.transaction_id,
        reason: "the bank took it back",
        operator: "ife",
        undoing_alert: Some(by),
        despite,
    };
    reverse_payment(app, &ask).await.unwrap().map(drop)
}

on_both! {
    async fn a_debit_undoes_the_transfer_that_it_fits_and_no_second_one(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let (bank, again) = (told(true), Alert { at: at() + Span::minutes(2), ..told(true) });
        t.advance(Span::minutes(3));
        let mut funded = Vec::new();
        for credit in [&bank, &again] {
            let credit = t.ingest(&credit.text()).await;
            assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
            funded.push(alert(&t, credit.alert_id).await.payment_id);
        }
        let (first, second) = if funded[0] == Some(one.id) { (&one, &two) } else { (&two, &one) };
        let later = |credit: &Alert| Alert { at: at() + Span::minutes(2), ..debit_of(credit) };
        let back = take_back(&t, &later(&bank), Some(&bank.session), None).await;
        let early = Alert { at: at() - Span::hours(3), ..debit_of(&again) };
        let early = take_back(&t, &early, Some(&again.session), None).await;
        let less = Alert { amount: "840".into(), ..later(&told(false)) };
        let less = take_back(&t, &less, None, None).await;
        let fee = Alert { amount: "250".into(), ..later(&told(false)) };
        let line = format!("VIA GAPS PAYMENT FROM {}", fee.payer);
        let fee = t.ingest(&fee.text().replace(&line, "ACCOUNT MAINTENANCE FEE")).await;
        t.account("0123450096").await;
        let elsewhere = Alert { account: "******0096".into(), ..later(&told(false)) };
        let elsewhere = take_back(&t, &elsewhere, None, None).await;
        for (by, why) in [
            (back.alert_id, "session id"),
            (early.alert_id, "from before the transfer"),
            (less.alert_id, "reports NGN 840.00"),
            (fee.alert_id, "reads as a fee of the bank's"),
            (elsewhere.alert_id, "another account"),
        ] {
            let refused = undo(&t.app, second, by, None).await.unwrap_err();
            assert!(matches!(&refused, ReverseRefused::Obstacles(_)), "{why}: {refused}");
            assert!(refused.to_string().contains(why), "{refused}");
        }
        undo(&t.app, first, back.alert_id, None).await.unwrap();
        let refused = undo(&t.app, second, back.alert_id, None).await.unwrap_err();
        assert!(refused.to_string().contains("has undone another payment already"), "{refused}");
        undo(&t.app, second, back.alert_id, Some("one debit for both, says the bank")).await.unwrap();
        let about = format!("payment {}", second.transaction_id);
        let [act] = &t.app.store.acts(Some(&about), None, Timestamp::MIN, 5).await.unwrap()[..] else { panic!("one act") };
        assert_eq!((&*act.operator, &*act.act), ("ife", "reverse"));
        assert!(act.reason.contains("says the bank") && act.reason.contains("has undone"), "{act:?}");
    }

    async fn a_reversal_told_twice_takes_back_nothing_else(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("second.example").await;
        let ours = t.create(&shop, 7_150, "Halima Garba").await;
        let theirs = t.create(&other, 7_150, "Tonye Briggs").await;
        t.advance(LATER);
        let credit = |payer: &str, seconds| {
            let at = at() + Span::seconds(seconds);
            Alert { session: String::new(), ..Alert::credit(ACCOUNT, 7_150, payer, at) }
        };
        let (first, second) = (credit("Halima Garba", 0), credit("Tonye Briggs", 70));
        let first_id = t.ingest(&first.text()).await.alert_id;
        t.advance(Span::minutes(3));
        let second_id = t.ingest(&second.text()).await.alert_id;
        let debit = Alert { at: at() + Span::minutes(2), ..debit_of(&first) };
        let back = t.ingest(&debit.text()).await;
        assert_eq!(alert(&t, first_id).await.linked_alert_id, Some(back.alert_id));
        undo(&t.app, &ours, back.alert_id, None).await.unwrap();
        // The same mail, and one in other words.
        let again = t.ingest(&debit.text()).await;
        assert_eq!(again.status, AlertStatus::Duplicate, "{again:?}");
        let reworded = Alert { message_id: "<other@gens.example>".into(), holder: "TILL".into(), ..debit };
        let reworded = t.ingest(&reworded.text()).await;
        assert_eq!(reworded.status, AlertStatus::Ignored, "{reworded:?}");
        assert_eq!(alert(&t, second_id).await.linked_alert_id, None, "nobody took that back");
        for by in [back.alert_id, reworded.alert_id] {
            let refused = undo(&t.app, &theirs, by, None).await.unwrap_err();
            assert!(refused.to_string().contains(&format!("about alert {first_id}")), "{refused}");
        }
        assert!(matches!(undo(&t.app, &theirs, again.alert_id, None).await, Err(ReverseRefused::Copy(..))));
        let settled = t.app.store.settlements_undone_by(back.alert_id).await.unwrap();
        assert_eq!(settled.len(), 1);
    }

    async fn a_dismissed_credit_draws_no_reversal_to_itself(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 7_250, "Halima Garba").await;
        t.advance(LATER);
        let session = "000013260318091544000000000099";
        let credit = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 7_250, "Halima Garba", at()) };
        let paid = t.ingest(&credit.text()).await;
        assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
        let mut typed = t.taken(&Alert::credit(ACCOUNT, 7_250, "Sani Lawal", at()).text(), true);
        typed.facts.session_id = Some(session.to_owned());
        let typed = take_alert(&t.app, &typed).await.unwrap();
        dismiss_alert(&t.app, typed.alert_id, "ada", "sent back").await.unwrap().unwrap();
        let debit = Alert { at: at() + Span::minutes(1), ..debit_of(&credit) };
        let back = take_back(&t, &debit, Some(session), None).await;
        assert_eq!(alert(&t, paid.alert_id).await.linked_alert_id, Some(back.alert_id), "the alarm");
        undo(&t.app, &payment, back.alert_id, None).await.unwrap();
    }

    async fn a_copy_of_a_debit_undoes_nothing(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let (bank, again) = (told(false), Alert { at: at() + Span::minutes(2), ..told(false) });
        t.advance(Span::minutes(3));
        for credit in [&bank, &again] {
            assert_eq!(t.ingest(&credit.text()).await.status, AlertStatus::Matched);
        }
        let debit = Alert { at: at() + Span::minutes(2), ..debit_of(&bank) };
        let back = t.ingest(&debit.text()).await;
        let copy = t.ingest(&debit.text()).await;
        assert_eq!(copy.status, AlertStatus::Duplicate, "{copy:?}");
        undo(&t.app, &one, back.alert_id, None).await.unwrap();
        for despite in [None, Some("I am sure")] {
            let refused = undo(&t.app, &two, copy.alert_id, despite).await.unwrap_err();
            assert_eq!(refused, ReverseRefused::Copy(copy.alert_id, back.alert_id));
        }
    }

    async fn a_credit_that_was_set_aside_pays_once_however_often_its_mail_is_taken_in(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let bank = told(true);
        let mut aside = t.taken(&bank.text(), true);
        aside.facts.kind = Some(AlertKind::OwnTransfer);
        aside.facts.session_id = None;
        let first = take_alert(&t.app, &aside).await.unwrap();
        let second = take_alert(&t.app, &aside).await.unwrap();
        assert_eq!((first.status, second.status), (AlertStatus::Ignored, AlertStatus::Ignored));
        approve_on(&t.app, first.alert_id, &one, Some("it is a customer's")).await.unwrap();
        let refused = approve_on(&t.app, second.alert_id, &two, Some("once more")).await.unwrap_err();
        assert!(matches!(refused, ApproveRefused::Settled(..)), "{refused}");
        assert_eq!(t.payment(&two).await.status, Status::Pending);
    }

    async fn a_debit_of_a_foreign_account_undoes_nothing_of_ours(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let bank = told(false);
        let paid = t.ingest(&bank.text()).await;
        assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
        let payment = if t.payment(&one).await.status == Status::Approved { &one } else { &two };
        for (account, of) in [("******4477", "gtbank"), (&*bank.account, "uba")] {
            let foreign = Alert { account: account.into(), message_id: format!("<{of}@gens.example>"), ..bank.clone() };
            let mut taken = t.taken(&Alert { direction: "DEBIT", ..foreign }.text(), true);
            taken.facts.bank = Some(of.into());
            let back = take_alert(&t.app, &taken).await.unwrap();
            assert_eq!(alert(&t, paid.alert_id).await.linked_alert_id, None, "{of}");
            let refused = undo(&t.app, payment, back.alert_id, None).await.unwrap_err();
            assert!(refused.to_string().contains("another account"), "{refused}");
        }
    }

    async fn a_debit_that_took_effect_is_not_read_anew(db: TestDatabase) {
        let (t, _, _, _) = two_open(db).await;
        let bank = told(false);
        let paid = t.ingest(&bank.text()).await;
        let line = format!("VIA GAPS PAYMENT FROM {}", bank.payer);
        let remark = format!("{} TRANSFER FEE", bank.payer);
        let fee = t.ingest(&debit_of(&bank).text().replace(&line, &remark)).await;
        assert_eq!(alert(&t, paid.alert_id).await.linked_alert_id, Some(fee.alert_id));
        let refused = may_be_reread(&alert(&t, fee.alert_id).await).unwrap_err();
        assert!(matches!(refused, RereadRefused::Undoing(_)), "{refused}");
    }

    async fn another_telling_of_a_debit_undoes_no_second_payment(db: TestDatabase) {
        for session in [Some("000013260318091544000000000163"), None] {
            let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let (bank, again) = (told(false), Alert { at: at() + Span::minutes(2), ..told(false) });
            t.advance(Span::minutes(3));
            for credit in [&bank, &again] {
                assert_eq!(t.ingest(&credit.text()).await.status, AlertStatus::Matched);
            }
            let debit = Alert { at: at() + Span::minutes(2), ..debit_of(&bank) };
            let back = take_back(&t, &debit, session, None).await;
            // The bank's second mail about it, in other words.
            let holder = "TILL AND BELL LIMITED".into();
            let other = Alert { message_id: "<other@gens.example>".into(), holder, ..debit };
            let other = take_back(&t, &other, session, None).await;
            undo(&t.app, &one, back.alert_id, None).await.unwrap();
            let refused = undo(&t.app, &two, other.alert_id, None).await.unwrap_err();
            assert!(refused.to_string().contains("may report the same debit as alert"), "{refused}");
            undo(&t.app, &two, other.alert_id, Some("both stand on the statement")).await.unwrap();
        }
    }

    async fn two_people_undo_one_transfer_each_by_one_debit_and_one_is_asked(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let (bank, again) = (told(false), Alert { at: at() + Span::minutes(2), ..told(false) });
        t.advance(Span::minutes(3));
        for credit in [&bank, &again] {
            let credit = t.ingest(&credit.text()).await;
            assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
        }
        let debit = Alert { at: at() + Span::minutes(2), ..debit_of(&bank) };
        let back = take_back(&t, &debit, None, None).await;
        let other = t.another_node().await;
        let (here, there) =
            tokio::join!(undo(&t.app, &one, back.alert_id, None), undo(&other, &two, back.alert_id, None));
        assert!(here.is_ok() != there.is_ok(), "{here:?} {there:?}");
        let refused = here.and(there).unwrap_err();
        assert!(matches!(refused, ReverseRefused::Obstacles(_)), "{refused}");
    }
}
