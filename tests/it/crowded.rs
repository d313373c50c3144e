//! Many payments that hide one: of one price, of one name, or of both. What is hidden speaks all the same, and where
//! not all could be read a person decides.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::CorrectRefusal;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::correct::Corrected;
use tillbell::ops::payments::create::{Created, create_payment};

use crate::another_merchant::{copies, correct, crowd, paid, suggested};
use crate::harness::app::{ACCOUNT, LATER, at, world};
use crate::harness::mails::Alert;

/// More than are read for one alert.
const VERY_MANY: usize = 2_005;
const LIMIT: &str = "too many open payments have this amount or a similar name";

on_both! {
    async fn more_like_names_than_are_read_go_to_a_person_who_sees_the_exact_one(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        // Whether the oldest or the newest of its amount are read, it is none of them.
        crowd(&t, &other, 8_000, VERY_MANY, "Musa").await;
        let exact = t.create(&shop, 8_000, "Halima Garba").await;
        crowd(&t, &other, 8_000, VERY_MANY, "Musa").await;
        // Of these the payer who leaves the charges away sends 8,000 as well.
        let like = t.create(&shop, 8_131, "Halima Garba").await;
        copies(&t, &like, VERY_MANY, |_| "Halima Garba".into()).await;
        let outcome = paid(&t, 8_000, "HALIMA GARBA").await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        assert!(outcome.reason.contains(LIMIT), "{}", outcome.reason);
        let seen = suggested(&t, outcome.alert_id).await;
        assert_eq!(seen.first(), Some(&exact.transaction_id), "{seen:?}");
    }

    async fn a_name_that_its_bank_cut_among_more_than_are_read_goes_to_a_person(db: TestDatabase) {
        for (others, expected) in [(VERY_MANY, AlertStatus::Review), (1_900, AlertStatus::Matched)] {
            let (t, shop) = world(crate::harness::databases::TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            crowd(&t, &other, 8_000, others / 2, "Musa").await;
            let exact = t.create(&shop, 8_000, "Halima Garbakwe").await;
            crowd(&t, &other, 8_000, others - others / 2, "Musa").await;
            t.advance(LATER + Span::seconds(20));
            let mut taken = t.taken(&Alert::credit(ACCOUNT, 8_000, "HALIMA GARBAK", at()).text(), true);
            taken.facts.payer_name_cut = true;
            let outcome = take_alert(&t.app, &taken).await.unwrap();
            assert_eq!(outcome.status, expected, "{outcome:?}");
            if expected == AlertStatus::Review {
                assert!(outcome.reason.contains(LIMIT), "{}", outcome.reason);
                let seen = suggested(&t, outcome.alert_id).await;
                assert_eq!(seen.first(), Some(&exact.transaction_id), "{seen:?}");
            }
        }
    }

    async fn more_like_names_than_are_read_when_an_account_is_chosen_cost_a_review_and_no_money(db: TestDatabase) {
        for is_corrected in [false, true] {
            let (t, shop) = world(crate::harness::databases::TestDatabase::migrated(db.engine()).await).await;
            let thief = t.merchant("bolu.example").await;
            let meant = t.create(&shop, 8_000, "Halima Garba").await;
            // All of its name, and of amounts that one transfer could pay with what the thief will ask for; none that 8,000 pays.
            let bait = t.create(&thief, 8_700, "Halima Garba").await;
            copies(&t, &bait, 510, |_| "Halima Garba".into()).await;
            let is_taken = if is_corrected {
                let other = t.create(&thief, 30_000, "Halima Garba").await;
                matches!(correct(&t, &thief, &other, 8_000).await, Corrected::Payment(_))
            } else {
                let asked = t.request(&thief, 8_000, "Garba Halima");
                let created = create_payment(&t.app, &thief.caller, asked, None).await.unwrap();
                matches!(created, Created::Payment(_))
            };
            let outcome = paid(&t, 8_000, "HALIMA GARBA").await;
            if is_taken {
                assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
                let seen = suggested(&t, outcome.alert_id).await;
                assert!(seen.contains(&meant.transaction_id), "{seen:?}");
            } else {
                assert_eq!(outcome.transaction_id, Some(meant.transaction_id), "{outcome:?}");
            }
        }
    }

    async fn a_single_word_among_many_of_its_price_is_seen(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 5_000, "Ekaette").await;
        crowd(&t, &other, 5_000, 40, "Halima").await;
        let bait = t.create(&other, 21_000, "Ekaette Bassey").await;
        assert!(matches!(correct(&t, &other, &bait, 5_000).await, Corrected::Payment(_)));
        let outcome = paid(&t, 5_000, "EKAETTE BASSEY").await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        let both = suggested(&t, outcome.alert_id).await;
        assert!(both.contains(&mine.transaction_id) && both.contains(&bait.transaction_id), "{both:?}");
    }

    async fn many_payments_of_its_very_name_hide_none_when_an_account_is_chosen(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let fifty_one = async |from: i64| {
            let mut last = None;
            for n in 0..51 {
                last = Some(t.create(&other, from + 500 * n, "Halima Garba").await);
            }
            last.unwrap()
        };
        let older = fifty_one(60_000).await;
        let mine = t.create(&victim, 5_000, "Garba Halima").await;
        let newer = fifty_one(90_000).await;
        assert_eq!((mine.account_id, older.account_id), (newer.account_id, newer.account_id), "there is but one");
        for naira in [5_000, 5_101] {
            let like = create_payment(&t.app, &other.caller, t.request(&other, naira, "Halima Garba"), None).await;
            assert!(matches!(like.unwrap(), Created::NoAccount), "{naira}");
            for bait in [&older, &newer] {
                let refused = correct(&t, &other, bait, naira).await;
                assert!(matches!(refused, Corrected::Refused(CorrectRefusal::NotTellable)), "{naira}: {refused:?}");
            }
        }
        let outcome = paid(&t, 5_000, "HALIMA GARBA").await;
        assert_eq!(outcome.transaction_id, Some(mine.transaction_id), "{}", outcome.reason);
    }
}
