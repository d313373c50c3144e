//! Alerts that do not settle which account the money came to, and accounts that were added beside another one: a
//! person is shown what fits and is told the accounts, and a mistake that was taken back holds nobody's money.

use serde_json::Value;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::approve::ApproveRefused;
use tillbell::ops::merchants::accounts::retire_account;

use crate::counted_once::approve_on;
use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::mails::Alert;

/// Its alerts look like those of [`ACCOUNT`].
const ALIKE: &str = "9876544417";
const PAYER: &str = "Kelechi Umeh";

async fn evidence(t: &TestApp, alert_id: i64) -> Value {
    let alert = t.app.store.alert(alert_id).await.unwrap().unwrap();
    serde_json::from_str(&alert.evidence).unwrap()
}

on_both! {
    async fn a_doubtful_alert_names_first_what_fits_exactly(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let fits = t.create(&shop, 6_450, PAYER).await;
        t.create(&shop, 5_900, PAYER).await;
        t.advance(LATER + Span::seconds(20));
        let mail = Alert::credit(ACCOUNT, 6_450, "UMEH KELECHI", at()).text();
        let alert = t.ingest(&mail.replace("TILL AND BELL LTD", "SOMEBODY ELSE PLC")).await;
        assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        let first = format!("payment {:?} of business {} fits exactly, but the alert shows", fits.transaction_id, shop.id);
        assert!(alert.reason.starts_with(&first), "{}", alert.reason);
        assert!(!alert.reason.contains("than asked for"), "{}", alert.reason);
        let seen = evidence(&t, alert.alert_id).await;
        assert_eq!(seen["considered"][0]["transaction_id"], fits.transaction_id.as_str(), "{seen}");
    }

    async fn payments_on_each_account_that_an_alert_may_mean_are_shown(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 6_450, PAYER).await;
        let alike = t.account(ALIKE).await;
        t.advance(LATER + Span::seconds(20));
        let alert = t.ingest(&Alert::credit(ACCOUNT, 6_450, "UMEH KELECHI", at()).text()).await;
        assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        let first = format!("payment {:?} of business {} on an account that may be meant fits", payment.transaction_id, shop.id);
        let own = payment.account_id.unwrap();
        let named = format!("{own} ({ACCOUNT}) or {alike} ({ALIKE})");
        assert!(alert.reason.starts_with(&first) && alert.reason.contains(&named), "{}", alert.reason);
        let seen = evidence(&t, alert.alert_id).await;
        assert_eq!(seen["considered"][0]["account"], "perhaps the alert's account", "{seen}");
        let Err(ApproveRefused::Obstacles(told)) = approve_on(&t.app, alert.alert_id, &payment, None).await else {
            panic!("approved by mistake")
        };
        assert_eq!(told, [format!("the alert does not say which account: {named}")]);
        approve_on(&t.app, alert.alert_id, &payment, Some("the bank's statement says so")).await.unwrap();
        assert_eq!(t.payment(&payment).await.status, Status::Approved);
    }

    async fn payments_at_the_bank_are_shown_where_no_account_fits(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 6_450, PAYER).await;
        t.advance(LATER + Span::seconds(20));
        let alert = t.ingest(&Alert::credit("0123450099", 6_450, "UMEH KELECHI", at()).text()).await;
        assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        assert!(alert.reason.starts_with("payment ") && alert.reason.contains("no registered account"), "{}", alert.reason);
        let seen = evidence(&t, alert.alert_id).await;
        let shown = &seen["considered"][0];
        assert_eq!((&shown["transaction_id"], &shown["account"]), (&payment.transaction_id.as_str().into(), &"another account".into()));
        assert!(approve_on(&t.app, alert.alert_id, &payment, None).await.is_err(), "not without a reason");
    }

    async fn a_retired_account_that_had_no_payment_makes_no_alert_unclear(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let alike = t.account(ALIKE).await;
        let mut payments = Vec::new();
        // The accounts take turns: of each amount one payment is on the good account.
        for naira in [6_450, 7_150] {
            payments.push(t.create(&shop, naira, PAYER).await);
        }
        let unused = t.account("8765434417").await;
        t.advance(LATER + Span::seconds(20));
        let pay = async |naira| t.ingest(&Alert::credit(ACCOUNT, naira, "UMEH KELECHI", at()).text()).await;
        retire_account(&t.app, "ada", alike).await.unwrap().unwrap();
        retire_account(&t.app, "ada", unused).await.unwrap().unwrap();
        let alert = pay(payments[0].amount.kobo() / 100).await;
        assert_eq!(alert.status, AlertStatus::Review, "one that had a payment may be named: {alert:?}");
        assert!(alert.reason.contains(ALIKE) && !alert.reason.contains("8765434417"), "{}", alert.reason);
    }

    async fn a_mistaken_account_is_undone_by_retiring_it(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 6_450, PAYER).await;
        let alike = t.account(ALIKE).await;
        retire_account(&t.app, "ada", alike).await.unwrap().unwrap();
        t.advance(LATER + Span::seconds(20));
        let alert = t.ingest(&Alert::credit(ACCOUNT, 6_450, "UMEH KELECHI", at()).text()).await;
        assert_eq!((alert.status, alert.transaction_id), (AlertStatus::Matched, Some(payment.transaction_id.clone())));
    }
}
