//! A transfer that the customer sends a second time, because the first was not seen to arrive, and one whose mail the bank
//! sends a second time with another time in it.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;

use crate::counted_once::{approve_on, approved, told, told_again, two_open, without_account};
use crate::harness::app::{ACCOUNT, LATER, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::meant_for_others::goes_to_a_person;
use crate::spoken_for::{came, named, obstacles, told_now};

on_both! {
    async fn a_second_transfer_is_not_another_merchants_while_the_first_is_young(db: TestDatabase) {
        for (hours, is_taken) in [(1, false), (47, false), (49, true)] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 8_100, "Halima Garba").await;
            assert_eq!(came(&t, 8_100, "HALIMA GARBA").await.status, AlertStatus::Matched);
            t.advance(Span::minutes(hours * 60 - 10));
            let bait = t.create(&other, 8_100, "Halima Garba").await;
            assert_eq!(bait.account_id, mine.account_id);
            t.advance(LATER);
            let again = came(&t, 8_100, "HALIMA GARBA").await;
            if is_taken {
                assert_eq!(again.transaction_id.as_ref(), Some(&bait.transaction_id), "{again:?}");
            } else {
                goes_to_a_person(&t, again.alert_id, &mine, &bait, "paid a moment ago").await;
            }
        }
    }

    async fn what_a_relative_paid_may_be_sent_again_by_him(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 7_000, "Halima Garba").await;
        let first = came(&t, 7_000, "MUSA DANLADI").await;
        approved(&t, &first, &mine, Some("her husband paid")).await;
        let bait = t.create(&other, 7_000, "Musa Danladi").await;
        let again = came(&t, 7_000, "MUSA DANLADI").await;
        assert_eq!((again.status, t.payment(&bait).await.status), (AlertStatus::Review, Status::Pending));
        assert!(again.reason.contains(&named(&mine)), "{}", again.reason);
    }

    async fn a_second_transfer_is_not_anothers_while_the_first_waits(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 7_000, "Halima Garba").await;
        // Her husband pays, nobody has looked at it yet, and he sends it again.
        let first = came(&t, 7_000, "MUSA DANLADI").await;
        assert!(first.status.is_waiting(), "{first:?}");
        let bait = t.create(&other, 7_000, "Musa Danladi").await;
        let again = came(&t, 7_000, "MUSA DANLADI").await;
        assert_eq!((again.status, t.payment(&bait).await.status), (AlertStatus::Review, Status::Pending));
        assert!(again.reason.contains(&format!("alert {} of this amount", first.alert_id)), "{}", again.reason);
        // Once it is known whose the first is, the second waits all the same.
        approved(&t, &first, &mine, Some("her husband paid")).await;
        let told = obstacles(&t, &again, &bait).await;
        assert!(told.iter().any(|one| one.contains(&named(&mine))), "{told:?}");
    }

    async fn a_mail_that_comes_days_late_is_compared_from_when_the_money_came(db: TestDatabase) {
        let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 8_100, "Halima Garba").await;
        assert_eq!(came(&t, 8_100, "HALIMA GARBA").await.status, AlertStatus::Matched);
        let bait = t.create(&other, 8_100, "Halima Garba").await;
        t.advance(LATER);
        let sent = t.app.now();
        t.advance(Span::hours(36));
        let again = told_now(&t, 8_100, "HALIMA GARBA", sent).await;
        goes_to_a_person(&t, again.alert_id, &mine, &bait, "a day and a half unread").await;
        // One mail that the bank sent anew.
        let (t, _, _, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
        let first = told(false);
        t.advance(Span::minutes(5));
        assert_eq!(t.ingest(&first.text()).await.status, AlertStatus::Matched);
        t.advance(Span::days(3));
        let later = Alert { at: first.at + Span::minutes(3), ..told_again(&first) };
        let again = t.ingest(&later.text()).await;
        assert!(again.reason.contains("may report the same money"), "{again:?}");
        assert_eq!(again.status, AlertStatus::Review, "{two:?}");
    }

    async fn a_first_transfer_whose_mail_named_no_account_counts_as_well(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 8_100, "Halima Garba").await;
        t.advance(LATER);
        let mail = Alert::credit(ACCOUNT, 8_100, "HALIMA GARBA", t.app.now() - Span::seconds(20));
        let first = t.ingest(&without_account(&mail.text())).await;
        approved(&t, &first, &mine, None).await;
        let bait = t.create(&other, 8_100, "Halima Garba").await;
        let again = came(&t, 8_100, "HALIMA GARBA").await;
        goes_to_a_person(&t, again.alert_id, &mine, &bait, "no account in the first").await;
    }

    async fn who_approves_what_may_be_a_second_transfer_is_told(db: TestDatabase) {
        for is_others in [true, false] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 8_100, "Halima Garba").await;
            assert_eq!(came(&t, 8_100, "HALIMA GARBA").await.status, AlertStatus::Matched);
            let again = came(&t, 8_100, "HALIMA GARBA").await;
            assert_eq!(again.status, AlertStatus::Unmatched, "{again:?}");
            t.advance(LATER);
            let asked_since = t.create(if is_others { &other } else { &victim }, 8_100, "Halima Garba").await;
            let told = obstacles(&t, &again, &asked_since).await;
            let is_told = |one: &String| one.contains(&named(&mine)) && one.contains("second transfer");
            assert_eq!(told.iter().any(is_told), is_others, "{told:?}");
        }
    }

    async fn who_buys_twice_from_one_shop_or_for_another_price_is_asked_nothing(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        t.create(&shop, 8_100, "Halima Garba").await;
        assert_eq!(came(&t, 8_100, "HALIMA GARBA").await.status, AlertStatus::Matched);
        let same_shop = t.create(&shop, 8_100, "Halima Garba").await;
        let again = came(&t, 8_100, "HALIMA GARBA").await;
        assert_eq!(again.transaction_id, Some(same_shop.transaction_id), "{}", again.reason);
        let dearer = t.create(&other, 9_000, "Halima Garba").await;
        let elsewhere = came(&t, 9_000, "HALIMA GARBA").await;
        assert_eq!(elsewhere.transaction_id, Some(dearer.transaction_id), "{}", elsewhere.reason);
        let namesake = t.create(&other, 8_100, "Halima Danladi").await;
        let hers = came(&t, 8_100, "HALIMA DANLADI").await;
        assert_eq!(hers.transaction_id, Some(namesake.transaction_id), "{}", hers.reason);
    }

    async fn a_mail_sent_anew_with_another_time_pays_nothing(db: TestDatabase) {
        let first = told(false);
        for (later, pays) in [
            (Alert { at: first.at + Span::seconds(1), ..told_again(&first) }, false),
            (Alert { at: first.at + Span::minutes(3), ..told_again(&first) }, false),
            (Alert { at: first.at + Span::minutes(3), balance: "9.00".into(), ..told_again(&first) }, true),
        ] {
            let (t, _, one, _) = two_open(TestDatabase::migrated(db.engine()).await).await;
            t.advance(Span::minutes(5));
            assert_eq!(t.ingest(&first.text()).await.status, AlertStatus::Matched);
            let again = t.ingest(&later.text()).await;
            let expected = if pays { AlertStatus::Matched } else { AlertStatus::Review };
            assert_eq!(again.status, expected, "{again:?}");
            if !pays {
                assert!(again.reason.contains("may report the same money"), "{}", again.reason);
                assert!(approve_on(&t.app, again.alert_id, &one, None).await.is_err(), "a person is told as well");
            }
        }
    }
}
