//! What a person is told of others' payments before an approval, where no rule decided: at a crowded price, where the alert
//! settles no account or shows no payer, and where another's fits by the charges rule.

use tillbell::domain::alert::{AlertKind, AlertStatus};
use tillbell::domain::money::Money;
use tillbell::domain::payment::Payment;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::merchants::businesses::ChargeChange;
use tillbell::ops::payments::correct::Corrected;

use crate::another_merchant::{correct, crowd, suggested};
use crate::counted_once::{approved, without_account};
use crate::harness::app::{ACCOUNT, LATER, Merchant, START, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::meant_for_others::OTHER;
use crate::spoken_for::{came, end, named, obstacles, reject, told_now};

/// More payments of one amount than are read whatever their names.
const MANY: usize = 30;

/// Money whose mail names no account.
async fn on_no_account(t: &TestApp, naira: i64, payer: &str) -> AlertOutcome {
    t.advance(LATER);
    let mail = Alert::credit(ACCOUNT, naira, payer, t.app.now() - Span::seconds(20)).text();
    let outcome = t.ingest(&without_account(&mail)).await;
    assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
    outcome
}

/// Money whose mail names no payer.
pub async fn of_nobody(t: &TestApp, naira: i64) -> AlertOutcome {
    t.advance(LATER);
    let mut taken =
        t.taken(&Alert::credit(ACCOUNT, naira, "X", t.app.now() - Span::seconds(20)).text(), true);
    taken.facts.payer_name = None;
    let outcome = tillbell::ops::alerts::take::take_alert(&t.app, &taken).await.unwrap();
    assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
    outcome
}

async fn corrected(t: &TestApp, merchant: &Merchant, payment: &Payment, naira: i64) {
    t.advance(Span::minutes(1));
    assert!(matches!(correct(t, merchant, payment, naira).await, Corrected::Payment(_)));
}

on_both! {
    async fn what_was_asked_before_a_correction_is_told_at_a_crowded_price_too(db: TestDatabase) {
        for how in ["another amount", "ended", "one word"] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 8_100, "Halima Garba").await;
            crowd(&t, &other, 8_100, MANY, "Zainab").await;
            corrected(&t, &victim, &mine, 28_100).await;
            let (bait, outcome) = match how {
                "another amount" => {
                    let bait = t.create(&other, 12_100, "Garba Halima").await;
                    (bait, came(&t, 8_100, "HALIMA GARBA").await)
                }
                "one word" => {
                    let bait = t.create(&other, 8_100, "Halima").await;
                    (bait, came(&t, 8_100, "HALIMA GARBA").await)
                }
                _ => {
                    let bait = t.create(&other, 8_100, "Garba Halima").await;
                    t.advance(Span::hours(49));
                    end(&t, &bait).await;
                    (bait, told_now(&t, 8_100, "HALIMA GARBA", START + Span::hours(1)).await)
                }
            };
            assert_eq!(outcome.status, AlertStatus::Review, "{how}: {outcome:?}");
            let told = obstacles(&t, &outcome, &bait).await;
            let asked = format!("{} asked for such an amount before it was corrected", named(&mine));
            let asked = if how == "ended" { asked.replace(" asked", ", which has ended, asked") } else { asked };
            assert!(told.iter().any(|one| one.starts_with(&asked)), "{how}: {told:?}");
        }
    }

    async fn where_no_account_is_named_others_on_the_payments_own_are_told(db: TestDatabase) {
        for how in ["rejected", "corrected", "about the amount"] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, if how == "about the amount" { 8_200 } else { 8_100 }, "Halima Garba").await;
            match how {
                "rejected" => reject(&t, &mine).await,
                "corrected" => corrected(&t, &victim, &mine, 28_100).await,
                _ => {}
            }
            let bait = t.create(&other, 8_100, "Garba Halima").await;
            let outcome = on_no_account(&t, 8_100, "HALIMA GARBA").await;
            assert!(outcome.reason.contains("on an account that may be meant fits exactly"), "{}", outcome.reason);
            let told = obstacles(&t, &outcome, &bait).await;
            assert!(told.iter().any(|one| one.starts_with(&named(&mine))), "{how}: {told:?}");
            assert!(told.iter().any(|one| one.ends_with("the alert does not settle its account")), "{how}: {told:?}");
        }
    }

    async fn where_no_account_is_named_a_corrected_one_on_another_is_told(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        t.account(crate::meant_for_others::OTHER).await;
        let mine = t.create(&victim, 8_100, "Halima Garba").await;
        let bait = t.create(&other, 8_100, "Garba Halima").await;
        assert_ne!(mine.account_id, bait.account_id);
        corrected(&t, &victim, &mine, 28_100).await;
        let outcome = on_no_account(&t, 8_100, "HALIMA GARBA").await;
        let told = obstacles(&t, &outcome, &bait).await;
        let asks = "on another account that may be meant asks for what was received, from a payer of such a name";
        assert_eq!(told, [format!("the alert does not settle its account, and {} {asks}", named(&mine))]);
    }

    async fn where_no_payer_is_named_another_who_asks_for_the_same_is_told(db: TestDatabase) {
        for how in ["open", "rejected", "hidden"] {
            let (t, other) = world(TestDatabase::migrated(db.engine()).await).await;
            let victim = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 8_100, "Uche Obi").await;
            let bait = t.create(&other, 8_100, "Zainab Lawal").await;
            match how {
                "rejected" => reject(&t, &mine).await,
                "hidden" => crowd(&t, &other, 8_100, MANY, "Zainab").await,
                _ => {}
            }
            let outcome = of_nobody(&t, 8_100).await;
            let told = obstacles(&t, &outcome, &bait).await;
            let same = format!("the alert shows no payer, and {} asks for what was received as well", named(&mine));
            assert!(told.contains(&same), "{how}: {told:?}");
            if how != "rejected" {
                let shown = suggested(&t, outcome.alert_id).await;
                assert!(shown.contains(&mine.transaction_id) && shown.contains(&bait.transaction_id), "{how}: {shown:?}");
            }
        }
    }

    async fn where_no_payer_is_named_and_nobody_else_asks_it_is_simple(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&shop, 8_100, "Uche Obi").await;
        t.create(&other, 9_100, "Zainab Lawal").await;
        let outcome = of_nobody(&t, 8_100).await;
        approved(&t, &outcome, &mine, None).await;
    }

    async fn anothers_that_fits_by_the_charges_rule_is_told(db: TestDatabase) {
        let (t, other) = world(db).await;
        let charges = ChargeChange { rate: Some(100), fixed: Some(Money(5_000)), ..ChargeChange::default() };
        let victim = t.merchant_with("bolu.example", charges).await;
        // 1 % and NGN 50.00.
        let mine = t.create(&victim, 9_000, "Halima Garba").await;
        let bait = t.create(&other, 8_860, "Halima").await;
        let outcome = came(&t, 8_860, "HALIMA GARBA").await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        let told = obstacles(&t, &outcome, &bait).await;
        let asks = "asks for what was received and its charges, of just this payer's name";
        assert_eq!(told, [format!("{} {asks}, and this payment fits only nearly", named(&mine))]);
    }

    async fn of_a_credit_that_no_rule_judges_others_that_fit_as_well_are_told(db: TestDatabase) {
        for how in ["fee", "own transfer", "dismissed", "held"] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 8_100, "Halima Garba").await;
            let bait = t.create(&other, 8_100, "Halima Danladi").await;
            t.advance(LATER);
            let mail = Alert::credit(ACCOUNT, 8_100, "HALIMA GARBA DANLADI", t.app.now() - Span::seconds(20));
            let mut taken = t.taken(&mail.text(), true);
            match how {
                "fee" => taken.facts.kind = Some(AlertKind::Fee),
                "own transfer" => taken.facts.kind = Some(AlertKind::OwnTransfer),
                _ => {}
            }
            let outcome = take_alert(&t.app, &taken).await.unwrap();
            let status = if taken.facts.kind == Some(AlertKind::Payment) { AlertStatus::Review } else { AlertStatus::Ignored };
            assert_eq!(outcome.status, status, "{how}: {outcome:?}");
            match how {
                "dismissed" => {
                    dismiss_alert(&t.app, outcome.alert_id, "ada", "own transfer").await.unwrap().unwrap();
                }
                // The reason is the debit's from now on.
                "held" => {
                    t.advance(LATER);
                    let at = t.app.now() - Span::seconds(20);
                    t.ingest(&Alert { direction: "DEBIT", at, message_id: "<back@gens.example>".into(), ..mail.clone() }.text()).await;
                }
                _ => {}
            }
            let told = obstacles(&t, &outcome, &bait).await;
            assert!(told.iter().any(|one| one.contains(&named(&mine))), "{how}: {told:?}");
            // Where nobody else's may be meant, nobody is named.
            let (t, _) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let alone = t.create(&other, 8_100, "Halima Danladi").await;
            t.advance(LATER);
            let mut taken = t.taken(&mail.text(), true);
            taken.facts.kind = Some(AlertKind::Fee);
            let outcome = take_alert(&t.app, &taken).await.unwrap();
            let told = obstacles(&t, &outcome, &alone).await;
            assert!(!told.iter().any(|one| one.contains("another beneficiary")), "{how}: {told:?}");
        }
    }

    async fn beside_a_payment_on_another_account_others_that_fit_on_the_alerts_own_are_told(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        t.account(OTHER).await;
        let mine = t.create(&victim, 8_100, "Halima Garba").await;
        let bait = t.create(&other, 8_100, "Halima Garba").await;
        assert_ne!(mine.account_id, bait.account_id, "two like names of two merchants stand on two accounts");
        let accounts = t.app.directory.accounts().await.unwrap();
        let paid_into = accounts.iter().find(|account| Some(account.id) == mine.account_id).unwrap();
        t.advance(LATER);
        let at = t.app.now() - Span::seconds(20);
        let mut taken = t.taken(&Alert::credit(&paid_into.number, 8_100, "HALIMA GARBA", at).text(), true);
        taken.facts.doubts.push("it hides content".into());
        let outcome = take_alert(&t.app, &taken).await.unwrap();
        let told = obstacles(&t, &outcome, &bait).await;
        assert!(told.iter().any(|one| one.contains(&named(&mine))), "{told:?}");
    }
}
