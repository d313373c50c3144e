//! What a person must give a reason against: each obstacle alone, in its own words, and kept with the settlement.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::approve::{Approve, ApproveRefused, approval_obstacles, approve_alert};
use tillbell::ops::alerts::decide::AlertOutcome;

use crate::counted_once::{approve_on, approved, is_open};
use crate::debit_mails::back;
use crate::harness::app::{ACCOUNT, LATER, TestApp, world};
use crate::harness::mails::Alert;

const REASON: &str = "she called; it is on the statement";

/// Refused for this reason alone, and approved against it, with both in the evidence.
async fn needs_a_reason(t: &TestApp, alert: &AlertOutcome, payment: &Payment, obstacle: &str) {
    assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
    let Err(ApproveRefused::Obstacles(told)) = approve_on(&t.app, alert.alert_id, payment, None).await else {
        panic!("approved by oversight: {obstacle}")
    };
    assert_eq!(told, [obstacle]);
    is_open(t, payment).await;
    approved(t, alert, payment, Some(REASON)).await;
    let kept = t.app.store.alert(alert.alert_id).await.unwrap().unwrap().evidence;
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!((&kept["obstacles"][0], &kept["despite"]), (&obstacle.into(), &REASON.into()), "{kept}");
}

on_both! {
    async fn more_than_twice_the_amount_needs_a_reason(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        let twice = t.create(&shop, 5_000, "Musa Danladi").await;
        t.advance(LATER);
        let pay = async |naira: &str, payer| {
            let mail = Alert::credit(ACCOUNT, 5_000, payer, t.app.now() - Span::seconds(20));
            t.ingest(&Alert { amount: naira.into(), ..mail }.text()).await
        };
        let much = pay("10000.01", "Halima Garba").await;
        let told = "NGN 10,000.01 was received, more than twice NGN 5,000.00";
        needs_a_reason(&t, &much, &payment, told).await;
        let just = pay("10000", "Musa Danladi").await;
        assert_eq!(just.status, AlertStatus::Review, "{just:?}");
        approved(&t, &just, &twice, None).await;
    }

    async fn less_than_half_the_amount_needs_a_reason(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        let half = t.create(&shop, 5_000, "Musa Danladi").await;
        t.advance(LATER);
        let pay = async |naira: &str, payer| {
            let mail = Alert::credit(ACCOUNT, 5_000, payer, t.app.now() - Span::seconds(20));
            t.ingest(&Alert { amount: naira.into(), ..mail }.text()).await
        };
        let little = pay("2499.99", "Halima Garba").await;
        let told = "only NGN 2,499.99 was received, less than half of NGN 5,000.00";
        needs_a_reason(&t, &little, &payment, told).await;
        approved(&t, &pay("2500", "Musa Danladi").await, &half, None).await;
    }

    async fn a_payment_that_was_created_after_the_money_needs_a_reason(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.advance(Span::hours(1));
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(Span::seconds(30));
        let before = t.app.now() - Span::minutes(10);
        let early = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", before).text()).await;
        let told = "the payment was created after the transfer, by the bank's time";
        needs_a_reason(&t, &early, &payment, told).await;
        assert_eq!(t.payment(&payment).await.status, Status::Approved);
    }

    async fn a_reason_covers_no_obstacle_that_came_after_what_the_person_was_shown(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 2_400, "Halima Garba", t.app.now() - Span::seconds(20));
        let little = t.ingest(&credit.text()).await;
        let ask = Approve {
            alert_id: little.alert_id,
            business_id: shop.id,
            transaction_id: &payment.transaction_id,
            operator: "ada",
            despite: Some(REASON),
            seen: None,
        };
        let shown = approval_obstacles(&t.app, &ask).await.unwrap().unwrap();
        assert_eq!(shown.len(), 1, "{shown:?}");
        // While the person reads, the bank takes the money back.
        let debit = t.ingest(&back(&credit).text()).await;
        let came = ["be a copy or a reversal of this one", "have taken this money back"];
        let came = came.map(|what| format!("alert {} may {what}", debit.alert_id)).to_vec();
        let refused = approve_alert(&t.app, &Approve { seen: Some(&shown), ..ask }).await.unwrap();
        assert_eq!(refused.map(drop), Err(ApproveRefused::Unseen(came)));
        is_open(&t, &payment).await;
        let shown = approval_obstacles(&t.app, &ask).await.unwrap().unwrap();
        approve_alert(&t.app, &Approve { seen: Some(&shown), ..ask }).await.unwrap().unwrap();
        assert_eq!(t.payment(&payment).await.status, Status::Approved);
        let blank = Approve { despite: Some(" "), ..ask };
        assert_eq!(approval_obstacles(&t.app, &blank).await.unwrap(), Err(ApproveRefused::Reason));
    }
}
