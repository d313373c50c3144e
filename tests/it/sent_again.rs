//! A transfer that the customer sends a second time, because the first was not seen to arrive, and one whose mail the bank
//! sends a second time with another time in it.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;

use crate::counted_once::{approve_on, approved, told, told_again, two_open};
use crate::harness::app::{LATER, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::meant_for_others::goes_to_a_person;
use crate::spoken_for::{came, named};

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
