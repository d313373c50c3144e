//! A session id that a payer typed into a transfer of his own: it locks no genuine transfer, and makes none pay twice.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::approve::ApproveRefused;
use tillbell::ops::alerts::take::take_alert;

use crate::counted_once::{PAYER, approve_on, approved, forwarded, is_open, told, told_again, two_open};
use crate::harness::app::{ACCOUNT, LATER, at};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;

on_both! {
    async fn a_typed_session_id_that_settled_first_locks_no_genuine_transfer(db: TestDatabase) {
        for (naira, thief) in [(50, "Sani Lawal"), (8_400, "Sani Lawal"), (50, PAYER)] {
            let (t, shop, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let small = t.create(&shop, naira, thief).await;
            t.advance(LATER);
            let bank = told(true);
            let mut typed = t.taken(&Alert::credit(ACCOUNT, naira, thief, t.app.now()).text(), true);
            typed.facts.session_id = Some(bank.session.clone());
            let typed = take_alert(&t.app, &typed).await.unwrap();
            assert_eq!((typed.status, t.payment(&small).await.status), (AlertStatus::Matched, Status::Approved));
            let genuine = t.ingest(&bank.text()).await;
            assert_eq!(genuine.status, AlertStatus::Review, "{genuine:?}");
            let refused = approve_on(&t.app, genuine.alert_id, &one, None).await.unwrap_err();
            assert!(matches!(refused, ApproveRefused::Obstacles(_)), "{refused}");
            assert!(refused.to_string().contains("may have typed it"), "{refused}");
            approved(&t, &genuine, &one, Some("both stand on the statement")).await;
            // The genuine one itself still pays once.
            let again = t.ingest(&forwarded(&told_again(&bank).text())).await;
            let refused = approve_on(&t.app, again.alert_id, &two, Some("I am sure")).await.unwrap_err();
            assert!(matches!(refused, ApproveRefused::Settled(..)), "{refused}");
            is_open(&t, &two).await;
            t.audited().await;
        }
    }

    async fn another_name_makes_one_transfer_no_second_one(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let bank = told(true);
        let paid = t.ingest(&bank.text()).await;
        assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
        // The same second and balance: the same transfer, told with another name.
        let other = Alert { payer: "SANI LAWAL".into(), message_id: "<o@gens.example>".into(), ..bank };
        let other = t.ingest(&other.text()).await;
        assert_eq!(other.status, AlertStatus::Review, "{other:?}");
        let open = if t.payment(&one).await.status == Status::Pending { &one } else { &two };
        let refused = approve_on(&t.app, other.alert_id, open, Some("I am sure")).await.unwrap_err();
        assert!(matches!(refused, ApproveRefused::Settled(..)), "{refused}");
    }

    async fn a_forward_with_another_amount_makes_one_transfer_no_second_one(db: TestDatabase) {
        let (t, shop, _, _) = two_open(db).await;
        let dearer = t.create(&shop, 9_900, PAYER).await;
        t.advance(LATER);
        let bank = told(true);
        assert_eq!(t.ingest(&bank.text()).await.status, AlertStatus::Matched);
        // Whoever passes a mail on may write into it what he likes.
        let edited = Alert { amount: "9900".into(), ..told_again(&bank) };
        let edited = t.ingest(&forwarded(&edited.text())).await;
        assert_eq!(edited.status, AlertStatus::Review, "{edited:?}");
        let refused = approve_on(&t.app, edited.alert_id, &dearer, Some("I am sure")).await.unwrap_err();
        assert!(matches!(refused, ApproveRefused::Settled(..)), "{refused}");
        is_open(&t, &dearer).await;
    }

    async fn of_transfers_beside_one_session_id_the_third_is_told_what_stands_in_its_way(db: TestDatabase) {
        let (t, shop, one, two) = two_open(db).await;
        let small = t.create(&shop, 50, "Sani Lawal").await;
        t.advance(LATER);
        let bank = told(true);
        let mut typed = t.taken(&Alert::credit(ACCOUNT, 50, "Sani Lawal", t.app.now()).text(), true);
        typed.facts.session_id = Some(bank.session.clone());
        take_alert(&t.app, &typed).await.unwrap();
        assert_eq!(t.payment(&small).await.status, Status::Approved);
        let genuine = t.ingest(&bank.text()).await;
        approved(&t, &genuine, &one, Some("both stand on the statement")).await;
        let third = Alert { payer: "BOMA DOKUBO".into(), at: at() + Span::minutes(1), ..told(true) };
        let mut third = t.taken(&third.text(), true);
        third.facts.session_id = Some(bank.session.clone());
        let third = take_alert(&t.app, &third).await.unwrap();
        let refused = approve_on(&t.app, third.alert_id, &two, Some("I am sure")).await.unwrap_err();
        let in_the_way = matches!(refused, ApproveRefused::Settled(_, _, id) if id == genuine.alert_id);
        assert!(in_the_way, "{refused}");
    }
}
