//! What a person is asked about, and what their answer means for the next alert: money that may have been
//! taken back, and close names that somebody has vouched for.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::approve::{Approve, ApproveRefused, approve_alert};
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};

use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::mails::Alert;

/// A transfer whose narration names the payer's own account.
fn palmpay(naira: i64, payer: &str, account: &str, minutes: i64) -> String {
    let alert = Alert::credit(ACCOUNT, naira, payer, at() + Span::minutes(minutes));
    let plain = format!("{}-TRANSFER-OPAY-{}", alert.session, alert.payer);
    let session = alert.session.replacen("100004", "100033", 1);
    let text = alert.text();
    assert!(text.contains(&plain));
    text.replace(&plain, &format!("{session}-{}:{account}-PALMPAY-{}", alert.payer, alert.payer))
}

async fn approve(t: &TestApp, alert: i64, payment: &Payment) -> Result<(), ApproveRefused> {
    let ask = Approve {
        alert_id: alert,
        business_id: payment.business_id,
        transaction_id: &payment.transaction_id,
        operator: "ada",
        despite: None,
        seen: None,
    };
    approve_alert(&t.app, &ask).await.unwrap().map(drop)
}

on_both! {
    async fn a_debit_that_overtook_its_credit_holds_it(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.create(&shop, 6_000, "Musa Danladi").await;
        t.advance(LATER + Span::seconds(50));
        let debit = |naira, seconds| {
            let payee = Alert::credit(ACCOUNT, naira, "X Y", at() + Span::seconds(seconds));
            Alert { direction: "DEBIT", ..payee }.text()
        };
        let back = t.ingest(&debit(5_000, 20)).await;
        assert_eq!(t.ingest(&debit(6_000, -61)).await.status, AlertStatus::Ignored);
        t.advance(Span::seconds(1));
        let credit = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        assert_eq!(credit.status, AlertStatus::Review, "{credit:?}");
        assert!(credit.reason.contains("may have taken this money back"), "{}", credit.reason);
        let held = t.app.store.alert(credit.alert_id).await.unwrap().unwrap();
        assert_eq!(held.linked_alert_id, Some(back.alert_id));
        assert!(approve(&t, credit.alert_id, &payment).await.is_err(), "not without a reason");
        // By the bank's own times this one was paid out before the other came in.
        let other = t.ingest(&Alert::credit(ACCOUNT, 6_000, "Musa Danladi", at()).text()).await;
        assert_eq!(other.status, AlertStatus::Matched, "{other:?}");
    }

    async fn money_that_neither_name_nor_amount_ties_to_a_payment_needs_a_reason(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let exact = t.create(&shop, 5_000, "Halima Garba").await;
        let other = t.create(&shop, 5_500, "Musa Danladi").await;
        t.advance(LATER);
        let alert = Alert::credit(ACCOUNT, 5_000, "Halima Garba", at());
        let plain = format!("{}-TRANSFER-OPAY-{}", alert.session, alert.payer);
        let text = alert.text();
        assert!(text.contains(&plain));
        let nameless = t.ingest(&text.replace(&plain, "BRANCH 12")).await;
        let row = t.app.store.alert(nameless.alert_id).await.unwrap().unwrap();
        assert_eq!((row.facts.payer_name, row.status), (None, AlertStatus::Review));
        let Err(ApproveRefused::Obstacles(told)) = approve(&t, nameless.alert_id, &other).await else {
            panic!("approved by mistake")
        };
        assert_eq!(
            told,
            ["the alert shows no payer name, and NGN 5,000.00 was received for a payment of NGN 5,500.00"]
        );
        approve(&t, nameless.alert_id, &exact).await.unwrap();
    }

    async fn a_close_name_that_a_person_approved_counts_for_that_payer_account_until_it_is_reversed(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let mut payments = Vec::new();
        for naira in [5_000, 6_000, 7_000, 8_000] {
            payments.push(t.create(&shop, naira, "Halima Garba").await);
        }
        t.advance(LATER + Span::minutes(30));
        let pay = async |naira, account, minutes| -> AlertOutcome {
            t.ingest(&palmpay(naira, "HALIMA GRABA", account, minutes)).await
        };
        let first = pay(5_000, "7035550187", 0).await;
        assert_eq!(first.status, AlertStatus::Review, "{first:?}");
        approve(&t, first.alert_id, &payments[0]).await.unwrap();
        let elsewhere = pay(6_000, "7035550188", 1).await;
        assert_eq!(elsewhere.status, AlertStatus::Review, "another account proves nothing: {elsewhere:?}");
        let again = pay(7_000, "7035550187", 2).await;
        assert_eq!(again.status, AlertStatus::Matched, "{again:?}");
        let undo = Reverse {
            business_id: shop.id,
            transaction_id: &payments[0].transaction_id,
            operator: "ada",
            reason: "it was somebody else",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&t.app, &undo).await.unwrap().unwrap();
        let after = pay(8_000, "7035550187", 3).await;
        assert_eq!(after.status, AlertStatus::Review, "{after:?}");
    }

    async fn a_nickname_goes_to_a_person_until_one_has_accepted_the_pair(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let first = t.create(&shop, 5_000, "Olanrewaju Dimkpa").await;
        let second = t.create(&shop, 6_000, "Olanrewaju Dimkpa").await;
        t.advance(LATER + Span::minutes(30));
        let alert = t.ingest(&palmpay(5_000, "LANRE DIMKPA", "7035550187", 0)).await;
        assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        approve(&t, alert.alert_id, &first).await.unwrap();
        let alert = t.ingest(&palmpay(6_000, "LANRE DIMKPA", "7035550187", 1)).await;
        assert_eq!(alert.status, AlertStatus::Matched, "{alert:?}");
        assert_eq!(t.payment(&second).await.status, Status::Approved);
    }

    async fn a_payer_whose_name_is_a_title_too_matches_herself(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Yerima Wuraola").await;
        let other = t.create(&shop, 6_000, "Yerima Wuraola").await;
        t.advance(LATER + Span::minutes(30));
        let alert = t.ingest(&palmpay(5_000, "YERIMA WURAOLA", "7035550187", 0)).await;
        assert_eq!(alert.status, AlertStatus::Matched, "{alert:?}");
        assert_eq!(t.payment(&payment).await.status, Status::Approved);
        let alert = t.ingest(&palmpay(6_000, "WURAOLA DIMKPA", "7035550187", 1)).await;
        assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        assert_eq!(t.payment(&other).await.status, Status::Pending);
    }
}
