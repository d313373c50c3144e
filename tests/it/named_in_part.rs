//! Names that are the payer's in part: a description or another name stands beside two that agree, or two customers of one
//! merchant share what the bank shows. Such money is a person's to decide.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::{Payment, Status};

use crate::another_merchant::{correct, crowd, paid, suggested};
use crate::harness::app::{Merchant, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::meant_for_others::goes_to_a_person;
use crate::spoken_for::reject;

/// More payments of one amount than are read whatever their names.
const MANY: usize = 30;

/// The alert waits for a person, who is shown both payments.
async fn is_asked_about(t: &TestApp, alert: i64, both: [&Payment; 2], how: &str) {
    let after = t.app.store.alert(alert).await.unwrap().unwrap();
    assert_eq!(
        (after.status, t.payment(both[1]).await.status),
        (AlertStatus::Review, Status::Pending),
        "{how}"
    );
    assert!(after.reason.contains(&format!("{:?}", both[0].transaction_id)), "{how}: {}", after.reason);
    let ids = suggested(t, alert).await;
    assert!(both.iter().all(|one| ids.contains(&one.transaction_id)), "{how}: {ids:?}");
}

async fn shop_with(t: &TestApp, shop: &Merchant, asked: [(i64, &str); 2]) -> [Payment; 2] {
    [t.create(shop, asked[0].0, asked[0].1).await, t.create(shop, asked[1].0, asked[1].1).await]
}

on_both! {
    async fn words_beside_a_customers_name_hide_nobody_from_another_merchant(db: TestDatabase) {
        for (asked, bait, shown) in [
            ("Ngozi Danladi - Rent", "Ngozi Halima Danladi", "DANLADI NGOZI HALIMA"),
            ("Ngozi Danladi School Fees", "Ngozi Halima Danladi", "DANLADI NGOZI HALIMA"),
            ("Order 77 of the 3rd from Ngozi Danladi for delivery in Ikeja", "Ngozi Danladi", "NGOZI DANLADI"),
            ("Engr Dr Chief Sir Ngozi Danladi annual dues for the Jos chapter", "Ngozi Danladi", "DANLADI NGOZI"),
        ] {
            for crowded in [false, true] {
                let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
                let other = t.merchant("bolu.example").await;
                let mine = t.create(&victim, 6_300, asked).await;
                if crowded {
                    crowd(&t, &other, 6_300, MANY, "Zainab").await;
                }
                let bait = t.create(&other, 6_300, bait).await;
                let outcome = paid(&t, 6_300, shown).await;
                goes_to_a_person(&t, outcome.alert_id, &mine, &bait, &format!("{asked}, {crowded}")).await;
            }
        }
    }

    async fn of_two_customers_of_one_merchant_the_one_who_is_named_less_is_not_paid(db: TestDatabase) {
        let shown = "DANLADI NGOZI HALIMA";
        for (how, payer, other) in [
            ("rounded up", (6_280, "Ngozi Halima Danladi"), "Ngozi Danladi"),
            ("mistyped", (6_300, "Ngozi Halina Danladi"), "Halima Danladi"),
            ("a single name", (6_300, "Ngozi"), "Halima Danladi"),
            ("with a description", (6_300, "Ngozi Danladi invoice 17"), "Halima Danladi"),
        ] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let [mine, theirs] = shop_with(&t, &shop, [payer, (6_300, other)]).await;
            let outcome = paid(&t, 6_300, shown).await;
            is_asked_about(&t, outcome.alert_id, [&mine, &theirs], how).await;
        }
        // One that a person has ended while its money was on the way.
        let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
        let [mine, theirs] = shop_with(&t, &shop, [(6_300, "Ngozi Halima Danladi"), (6_300, "Halima Danladi")]).await;
        reject(&t, &mine).await;
        let outcome = paid(&t, 6_300, shown).await;
        is_asked_about(&t, outcome.alert_id, [&mine, &theirs], "ended").await;
        // One that asked for it until it was corrected.
        let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
        let [mine, theirs] = shop_with(&t, &shop, [(6_300, "Ngozi Halima Danladi"), (6_300, "Ngozi Danladi")]).await;
        correct(&t, &shop, &mine, 7_900).await;
        let outcome = paid(&t, 6_300, shown).await;
        is_asked_about(&t, outcome.alert_id, [&mine, &theirs], "corrected").await;
    }

    async fn a_discount_for_one_customer_takes_no_money_that_names_another(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let [mine, theirs] = shop_with(&t, &shop, [(9_000, "Ngozi Halima Danladi"), (12_000, "Halima Danladi")]).await;
        let outcome = paid(&t, 8_500, "DANLADI NGOZI HALIMA").await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        correct(&t, &shop, &theirs, 8_500).await;
        is_asked_about(&t, outcome.alert_id, [&mine, &theirs], "a discount").await;
    }
}
