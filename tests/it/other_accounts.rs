//! Money that came to another account than the one a payment asks for it on: a person is shown the payment, and
//! no rule ever takes it.

use serde_json::Value;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::matching::{MORE_MAY_BE_MEANT, OTHERS_TOLD};
use tillbell::domain::merchant::Mode;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::approve::{Approve, ApproveRefused, approve_alert};
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::payments::reject::reject_payment;

use crate::another_merchant::copies;
use crate::counted_once::without_account;
use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::spoken_for::named;

const OTHER: &str = "0123458801";
const PAYER: &str = "Zainab Ibeto";
/// More than are read of one name and amount on other accounts.
const CROWD: usize = 510;

async fn paid_to(t: &TestApp, account: &str, naira: i64) -> AlertOutcome {
    t.advance(LATER + Span::seconds(20));
    t.ingest(&Alert::credit(account, naira, "IBETO ZAINAB", at()).text()).await
}

/// She pays 8,400 into the first account.
async fn paid_now(t: &TestApp) -> AlertOutcome {
    t.advance(LATER + Span::seconds(20));
    let at = t.app.now() - Span::seconds(20);
    t.ingest(&Alert::credit(ACCOUNT, 8_400, "IBETO ZAINAB", at).text()).await
}

/// Somebody asks for 8,400 in her name on the first account, and then the shop for so much on another one.
async fn asked_on_two(t: &TestApp, taker: &Merchant, shop: &Merchant, naira: i64) -> (Payment, Payment) {
    let taken = t.create(taker, 8_400, PAYER).await;
    t.account(OTHER).await;
    let meant = t.create(shop, naira, PAYER).await;
    assert_ne!(taken.account_id, meant.account_id);
    (taken, meant)
}

/// The evidence that is stored with an alert.
async fn evidence(t: &TestApp, alert_id: i64) -> Value {
    let alert = t.app.store.alert(alert_id).await.unwrap().unwrap();
    serde_json::from_str(&alert.evidence).unwrap()
}

/// Transaction ids of suggestions, and which account each is on.
fn suggested(evidence: &Value) -> Vec<(String, String)> {
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    let considered = evidence["considered"].as_array().unwrap();
    considered.iter().map(|one| (text(one, "transaction_id"), text(one, "account"))).collect()
}

async fn suggested_elsewhere(t: &TestApp, alert: &AlertOutcome) -> usize {
    let seen = suggested(&evidence(t, alert.alert_id).await);
    seen.iter().filter(|(_, account)| account == "another account").count()
}

async fn number_of(t: &TestApp, payment: &Payment) -> String {
    let accounts = t.app.directory.accounts().await.unwrap();
    accounts.iter().find(|account| Some(account.id) == payment.account_id).unwrap().number.clone()
}

fn elsewhere(payment: &Payment) -> (String, String) {
    (payment.transaction_id.clone(), "another account".to_owned())
}

async fn approve(
    t: &TestApp,
    alert: &AlertOutcome,
    payment: &Payment,
    despite: Option<&str>,
) -> Result<(), ApproveRefused> {
    let ask = Approve {
        alert_id: alert.alert_id,
        business_id: payment.business_id,
        transaction_id: &payment.transaction_id,
        operator: "ada",
        despite,
        seen: None,
    };
    approve_alert(&t.app, &ask).await.unwrap().map(drop)
}

fn obstacles(refused: Result<(), ApproveRefused>) -> Vec<String> {
    match refused {
        Err(ApproveRefused::Obstacles(all)) => all,
        other => panic!("{other:?}"),
    }
}

on_both! {
    async fn a_payment_on_another_account_is_shown_and_approved_by_a_person_alone(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.account(OTHER).await;
        let payment = t.create(&shop, 5_000, PAYER).await;
        let asked = number_of(&t, &payment).await;
        let came = if asked == OTHER { ACCOUNT } else { OTHER };
        let alert = paid_to(&t, came, 5_000).await;
        assert_eq!(alert.status, AlertStatus::Unmatched, "{alert:?}");
        assert!(alert.reason.contains(&format!("payment {:?} of business", payment.transaction_id)), "{}", alert.reason);
        let seen = evidence(&t, alert.alert_id).await;
        assert_eq!(suggested(&seen), [elsewhere(&payment)]);
        assert_eq!((&seen["considered"][0]["name"], &seen["considered"][0]["amount_fit"]), (&"match".into(), &"exact".into()));
        assert_eq!(t.payment(&payment).await.status, Status::Pending, "no rule takes it");

        let named = obstacles(approve(&t, &alert, &payment, None).await);
        assert!(named.len() == 1 && named[0].contains("a different account"), "{named:?}");
        assert!(named[0].contains(&format!("different account: {came} (")) && named[0].contains(&format!("not {asked} (")), "{named:?}");
        assert_eq!(t.payment(&payment).await.status, Status::Pending);
        approve(&t, &alert, &payment, Some("she used the account of last time")).await.unwrap();
        assert_eq!(t.payment(&payment).await.status, Status::Approved);
        let kept = evidence(&t, alert.alert_id).await;
        assert_eq!(kept["obstacles"], serde_json::json!(named));
        assert_eq!(suggested(&kept["before"]), [elsewhere(&payment)], "what was shown is kept");
        let settled = t.app.store.settlements_of(payment.id).await.unwrap();
        assert!(settled[0].evidence.contains(r#""account":"another account""#), "{}", settled[0].evidence);
    }

    async fn the_accounts_own_payments_come_first_and_decide_alone(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let rival = t.merchant("bolu.example").await;
        let here = t.create(&shop, 5_000, PAYER).await;
        let dear = t.create(&shop, 9_000, PAYER).await;
        t.account(OTHER).await;
        let there = t.create(&rival, 5_000, PAYER).await;
        assert!(here.account_id == dear.account_id && here.account_id != there.account_id);
        let first = paid_to(&t, ACCOUNT, 5_000).await;
        assert_eq!(first.transaction_id.as_ref(), Some(&here.transaction_id), "{first:?}");
        assert!(!suggested(&evidence(&t, first.alert_id).await).contains(&elsewhere(&there)));
        // Her second transfer fits nothing that is open on the account.
        let second = paid_to(&t, ACCOUNT, 5_000).await;
        assert_eq!(second.status, AlertStatus::Review, "{second:?}");
        let seen = suggested(&evidence(&t, second.alert_id).await);
        assert_eq!(seen.first(), Some(&elsewhere(&there)), "an exact fit stands before near misses: {seen:?}");
        assert!(seen.contains(&(dear.transaction_id.clone(), "the alert's account".to_owned())), "{seen:?}");
        assert_eq!(t.payment(&there).await.status, Status::Pending);
    }

    async fn what_no_person_may_approve_or_the_money_cannot_be_for_is_not_shown(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let rival = t.merchant("bolu.example").await;
        t.account(OTHER).await;
        t.account_for("0123459902", None, Mode::Test).await;
        t.account_for("0123457703", Some(rival.id), Mode::Live).await;
        let trial = t.create(&t.in_test_mode(&shop).await, 5_000, PAYER).await;
        let refused = t.create(&shop, 5_000, PAYER).await;
        reject_payment(&t.app, shop.id, &refused.transaction_id, "ada", "left").await.unwrap().unwrap();
        t.create(&shop, 9_000, PAYER).await;
        let open = t.create(&shop, 7_000, PAYER).await;
        let came = if number_of(&t, &refused).await == ACCOUNT { OTHER } else { ACCOUNT };
        for account in [came, "0123457703"] {
            let alert = paid_to(&t, account, 5_000).await;
            assert!(alert.status.is_waiting(), "{alert:?}");
            assert_eq!(suggested_elsewhere(&t, &alert).await, 0, "{alert:?}");
            let other_mode = approve(&t, &alert, &trial, Some("it is hers")).await;
            assert!(matches!(other_mode, Err(ApproveRefused::OtherMode(..))), "{other_mode:?}");
        }
        // Money on the rival's own account is nobody else's, whatever the names say.
        let alert = paid_to(&t, "0123457703", 7_000).await;
        assert_eq!(suggested_elsewhere(&t, &alert).await, 0, "{alert:?}");
        let named = obstacles(approve(&t, &alert, &open, None).await);
        assert!(named.iter().any(|one| one.contains(&format!("belongs to business {}, but", rival.id))), "{named:?}");
        let alert = paid_to(&t, "0123459902", 7_000).await;
        assert_eq!(suggested_elsewhere(&t, &alert).await, 0, "a test account: {alert:?}");
    }

    async fn a_review_names_the_payment_on_another_account_that_fits_exactly(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let rival = t.merchant("bolu.example").await;
        let dear = t.create(&shop, 9_400, PAYER).await;
        t.account(OTHER).await;
        let there = t.create(&rival, 5_200, PAYER).await;
        assert_ne!(dear.account_id, there.account_id);
        let alert = paid_to(&t, ACCOUNT, 5_200).await;
        assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        let named = format!(
            "payment {:?} of business {} on another account fits exactly; ", there.transaction_id, rival.id
        );
        assert!(alert.reason.contains("less was received") && alert.reason.starts_with(&named), "{}", alert.reason);
        let seen = evidence(&t, alert.alert_id).await;
        assert_eq!(seen["reasons"].as_array().unwrap().len(), 2, "{seen}");
        // What was known then is not what is known now.
        let row = t.app.store.alert(alert.alert_id).await.unwrap().unwrap();
        assert_eq!(seen["taken_at"], row.decided_at.unwrap().to_string());
        assert_eq!(t.payment(&there).await.status, Status::Pending);
    }

    async fn who_asks_first_in_a_customers_name_gets_no_money_for_the_shop_she_paid_there_before(db: TestDatabase) {
        // What she paid there before, in whose name and for how much the shop asks now, and whether a person is asked.
        for (before, name, naira, fillers, is_asked) in [
            (true, PAYER, 8_400, 0, true),
            // No number of others' payments in her name hides the one that she paid.
            (true, PAYER, 8_400, 505, true),
            (true, "Z. Ibeto", 8_400, 0, true),
            (true, PAYER, 8_550, 0, true),
            (true, PAYER, 9_400, 0, false),
            (true, "Halima Garba", 8_400, 0, false),
            // Whom she never paid there: a stranger's payment keeps nobody's money.
            (false, PAYER, 8_400, 0, false),
        ] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("bolu.example").await;
            if before {
                let first = t.create(&shop, 7_000, PAYER).await;
                let paid = paid_to(&t, ACCOUNT, 7_000).await;
                assert_eq!(paid.transaction_id, Some(first.transaction_id), "{}", paid.reason);
            }
            for n in 0..fillers {
                t.create(&taker, 20_000 + n * 17, PAYER).await;
            }
            let taken = t.create(&taker, 8_400, PAYER).await;
            t.account(OTHER).await;
            let meant = t.create_elsewhere(&shop, naira, name, &taken).await;
            let alert = paid_now(&t).await;
            let expected = if is_asked { AlertStatus::Review } else { AlertStatus::Matched };
            assert_eq!(alert.status, expected, "{name} {naira} {fillers}: {alert:?}");
            let told = format!("{:?} of business {} asks for about this amount", meant.transaction_id, shop.id);
            assert_eq!(alert.reason.contains(&told), is_asked, "{alert:?}");
        }
    }

    async fn whom_she_paid_under_another_name_is_known_by_her_transfer(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let taker = t.merchant("bolu.example").await;
        // Asked for in her husband's name, which a person accepted.
        let first = t.create(&shop, 7_000, "Emeka Duru").await;
        let came = paid_to(&t, ACCOUNT, 7_000).await;
        approve(&t, &came, &first, Some("his wife")).await.unwrap();
        let (_, meant) = asked_on_two(&t, &taker, &shop, 8_400).await;
        let alert = paid_now(&t).await;
        assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        assert!(alert.reason.contains(&format!("{:?}", meant.transaction_id)), "{alert:?}");
    }

    async fn whom_she_paid_by_a_mail_without_account_is_known_too(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let taker = t.merchant("bolu.example").await;
        let first = t.create(&shop, 7_000, PAYER).await;
        t.advance(LATER + Span::seconds(20));
        let mail = Alert::credit(ACCOUNT, 7_000, "IBETO ZAINAB", at());
        let came = t.ingest(&without_account(&mail.text())).await;
        approve(&t, &came, &first, Some("it is on the statement")).await.unwrap();
        let (_, meant) = asked_on_two(&t, &taker, &shop, 8_400).await;
        let alert = paid_now(&t).await;
        assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        assert!(alert.reason.contains(&format!("{:?}", meant.transaction_id)), "{alert:?}");
    }

    async fn who_approves_is_told_whom_she_has_paid_there_before(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let taker = t.merchant("bolu.example").await;
        t.create(&shop, 7_000, PAYER).await;
        assert_eq!(paid_to(&t, ACCOUNT, 7_000).await.status, AlertStatus::Matched);
        let (taken, meant) = asked_on_two(&t, &taker, &shop, 8_550).await;
        let alert = paid_now(&t).await;
        assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        // The reason that named it is gone with the dismissal.
        dismiss_alert(&t.app, alert.alert_id, "ada", "sent back").await.unwrap().unwrap();
        let obstacles = obstacles(approve(&t, &alert, &taken, None).await);
        let told = format!("{:?} of business {} asks for about this amount", meant.transaction_id, shop.id);
        assert!(obstacles.iter().any(|one| one.contains(&told)), "{obstacles:?}");
    }

    async fn payments_that_nobody_may_approve_hide_none_that_a_person_may(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.account(OTHER).await;
        t.account_for("0123459902", None, Mode::Test).await;
        let payment = t.create(&shop, 5_300, PAYER).await;
        let trial = t.in_test_mode(&shop).await;
        for _ in 0..505 {
            t.create(&trial, 5_300, PAYER).await;
        }
        let came = if number_of(&t, &payment).await == OTHER { ACCOUNT } else { OTHER };
        let alert = paid_to(&t, came, 5_300).await;
        assert_eq!(suggested(&evidence(&t, alert.alert_id).await), [elsewhere(&payment)], "{alert:?}");
    }

    async fn no_crowd_on_other_accounts_hides_whose_money_it_may_be(db: TestDatabase) {
        const NOT_ALL: &str = "not all were checked";
        // What the shop asks for, what one who takes asks for so often in her name, and under how many businesses of his.
        let cases = [
            ("none", 8_000, 12_000, 0, 0),
            ("his own, exactly", 8_000, 8_000, CROWD, 0),
            ("his own, with charges", 8_131, 12_000, CROWD, 0),
            ("of another business of his, exactly", 8_000, 8_000, CROWD, 1),
            ("of another business of his, with charges", 8_131, 12_000, CROWD, 1),
            ("of six others", 8_000, 8_000, 0, 6),
        ];
        for (crowd, asked, naira, count, businesses) in cases {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("bolu.example").await;
            let near = t.create(&taker, 10_000, PAYER).await;
            for n in 0..8 {
                t.account(&format!("012345881{n}")).await;
            }
            let meant = t.create(&shop, asked, PAYER).await;
            let mut others = Vec::new();
            for n in 0..businesses {
                others.push(t.merchant(&format!("bolu{n}.example")).await);
            }
            let makers = if others.is_empty() { vec![&taker] } else { others.iter().collect() };
            for maker in makers.into_iter().filter(|_| count + businesses > 0) {
                let first = t.create(maker, naira, PAYER).await;
                assert_ne!(first.account_id, near.account_id);
                copies(&t, &first, count, |_| PAYER.into()).await;
            }
            t.advance(LATER + Span::seconds(20));
            let at = t.app.now() - Span::seconds(20);
            let alert = t.ingest(&Alert::credit(ACCOUNT, 8_000, "IBETO ZAINAB", at).text()).await;
            assert_ne!(alert.status, AlertStatus::Matched, "{crowd}: {alert:?}");
            let told = obstacles(approve(&t, &alert, &near, None).await);
            let says = |words: &str| told.iter().any(|why| why.contains(words));
            let is_hidden = count > 0 && businesses > 0;
            // Of seven that may be meant it may be none of the first five.
            if businesses < OTHERS_TOLD {
                assert_eq!(says(&named(&meant)), !is_hidden, "{crowd}: {told:?}");
            }
            assert_eq!(says(NOT_ALL), is_hidden, "{crowd}: {told:?}");
            assert_eq!(says(MORE_MAY_BE_MEANT), businesses >= OTHERS_TOLD, "{crowd}: {told:?}");
            assert_eq!(t.payment(&near).await.status, Status::Pending);
        }
    }

    async fn a_sentence_for_a_name_is_nobodys_name(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 8_000, "Zainab Ibeto order 12 of two red dresses and one blue hat").await;
        let mut told = Vec::new();
        for payer in ["MUSA DANLADI", "IBETO ZAINAB"] {
            t.advance(LATER + Span::seconds(20));
            let at = t.app.now() - Span::seconds(20);
            let alert = t.ingest(&Alert::credit(ACCOUNT, 8_000, payer, at).text()).await;
            assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
            told.push(approve(&t, &alert, &payment, None).await.err().map(|refused| refused.to_string()));
        }
        assert!(told[0].as_ref().is_some_and(|why| why.contains("too long to be compared")), "{told:?}");
        assert!(!told[1].as_ref().is_some_and(|why| why.contains("too long to be compared")), "{told:?}");
    }
}
