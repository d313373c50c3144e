//! A corrected payment takes no waiting alert that may be somebody else's: of a payment that has ended lately, or of
//! a customer who fills a wallet.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::money::Money;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::payments::reject::reject_payment;
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};

use crate::another_merchant::{correct, suggested};
use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::wallet::world::World;

const PAYER: &str = "Halima Garba";
/// A little less and a little more than payments of others count after their end.
const LATELY: Span = Span::minutes(7 * 24 * 60 - 60);
const LONG_AGO: Span = Span::minutes(7 * 24 * 60 + 60);

/// A payment of 9,000, an alert of another amount that waits, and a correction to that amount.
async fn fish(t: &TestApp, merchant: &Merchant, asked: &str, payer: &str, naira: i64) -> (Payment, i64) {
    let bait = t.create(merchant, 9_000, asked).await;
    t.advance(LATER);
    let mail = Alert::credit(ACCOUNT, naira, payer, t.app.now() - Span::seconds(20));
    let waiting = t.ingest(&mail.text()).await;
    assert_ne!(waiting.status, AlertStatus::Matched, "{waiting:?}");
    correct(t, merchant, &bait, naira).await;
    assert_eq!(t.payment(&bait).await.amount, Money(naira * 100), "the correction was taken");
    (bait, waiting.alert_id)
}

/// The alert waits for a person, who sees both.
async fn is_not_taken(t: &TestApp, bait: &Payment, alert: i64, other: &Payment) {
    let after = t.app.store.alert(alert).await.unwrap().unwrap();
    assert_eq!((after.status, t.payment(bait).await.status), (AlertStatus::Review, Status::Pending));
    assert!(
        after.reason.contains("another beneficiary's payment") && after.reason.contains("on this account"),
        "{}",
        after.reason
    );
    let both = suggested(t, alert).await;
    assert!(both.contains(&bait.transaction_id) && both.contains(&other.transaction_id), "{both:?}");
}

on_both! {
    async fn a_payment_of_another_that_ended_in_the_last_seven_days_keeps_its_payers_money(db: TestDatabase) {
        for was_paid in [false, true] {
            for (ago, is_taken) in [(LATELY, false), (LONG_AGO, true)] {
                let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
                let other = t.merchant("bolu.example").await;
                let ended = t.create(&victim, 5_000, PAYER).await;
                if was_paid {
                    t.advance(LATER);
                    let paid = t.ingest(&Alert::credit(ACCOUNT, 5_000, PAYER, t.app.now()).text()).await;
                    assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
                } else {
                    let given_up = reject_payment(&t.app, victim.id, &ended.transaction_id, "ada", "given up").await;
                    given_up.unwrap().unwrap();
                }
                t.advance(Span(ago.0 - LATER.0));
                // She pays the victim's shop once more, of her own accord.
                let (bait, alert) = fish(&t, &other, "Garba Halima", PAYER, 6_000).await;
                if is_taken {
                    assert_eq!(t.payment(&bait).await.status, Status::Approved, "{was_paid}");
                } else {
                    is_not_taken(&t, &bait, alert, &ended).await;
                }
            }
        }
    }

    async fn a_topup_keeps_its_customers_money_from_the_merchants_own_correction(db: TestDatabase) {
        for (asked, payer, naira, is_taken) in [
            // A like name, and another amount.
            ("Danladi Ifeoma", "Ifeoma Danladi", 6_000, false),
            // Another name, and exactly the amount.
            ("Emeka Nwosu", "Emeka Nwosu", 7_500, false),
            ("Emeka Nwosu", "Emeka Nwosu", 6_000, true),
        ] {
            let w = World::start(TestDatabase::migrated(db.engine()).await).await;
            w.t.account(ACCOUNT).await;
            w.funded(1_000).await;
            let phone = w.phone();
            let asking = start_topup(&w.t.app, &w.shop.caller, &phone, Money(750_000), "Ifeoma Danladi", None);
            let ToppingUp::Waiting(topup, _) = asking.await.unwrap() else { panic!("no top-up") };
            let (bait, alert) = fish(&w.t, &w.shop, asked, payer, naira).await;
            if is_taken {
                assert_eq!(w.t.payment(&bait).await.status, Status::Approved);
            } else {
                is_not_taken(&w.t, &bait, alert, &topup.payment).await;
            }
            w.t.audited().await;
        }
    }
}
