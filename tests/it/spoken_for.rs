//! Whose payment may be meant beside the one that fits: open at about the amount under a name that the index misses,
//! ended in the days before, or corrected away from what its customer was shown. And what a person is told who approves
//! beside such a payment.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::money::Money;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::alerts::approve::ApproveRefused;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::reverse::{Reverse, ReverseRefused, reverse_payment};
use tillbell::ops::merchants::businesses::ChargeChange;
use tillbell::ops::payments::correct::Corrected;
use tillbell::ops::payments::reject::{reject_payment, waiting_alerts};
use tillbell::ops::payments::sweep::sweep;

use crate::another_merchant::{copies, correct, crowd, paid, suggested};
use crate::counted_once::{approve_on, approved, without_account};
use crate::debit_mails::back;
use crate::harness::app::{ACCOUNT, LATER, START, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::meant_for_others::{OTHER, goes_to_a_person};

/// More payments of one amount than are read whatever their names.
const MANY: usize = 30;
/// More payments than suggestions are chosen from.
const FLOOD: usize = 55;

pub async fn end(t: &TestApp, payment: &Payment) {
    sweep(&t.app).await.unwrap();
    assert_eq!(t.payment(payment).await.status, Status::Rejected);
}

/// A person rejects a payment.
pub async fn reject(t: &TestApp, payment: &Payment) {
    let done = reject_payment(&t.app, payment.business_id, &payment.transaction_id, "ife", "she left").await;
    done.unwrap().unwrap();
}

/// A stranger's money is approved onto a payment, and taken off it again.
pub async fn pay_and_reverse(t: &TestApp, payment: &Payment) {
    let naira = payment.amount.kobo() / 100;
    let accounts = t.app.directory.accounts().await.unwrap();
    let account = accounts.iter().find(|account| Some(account.id) == payment.account_id).unwrap();
    t.advance(LATER);
    let mail = Alert::credit(&account.number, naira, "MUSA DANLADI", t.app.now() - Span::seconds(20));
    let stranger = t.ingest(&mail.text()).await;
    approved(t, &stranger, payment, Some("her brother paid")).await;
    let ask = Reverse {
        business_id: payment.business_id,
        transaction_id: &payment.transaction_id,
        reason: "not her brother",
        operator: "ife",
        undoing_alert: None,
        despite: None,
    };
    reverse_payment(&t.app, &ask).await.unwrap().unwrap();
}

/// Money that came at this time, and whose mail is read now.
pub async fn told_now(t: &TestApp, naira: i64, payer: &str, sent: Timestamp) -> AlertOutcome {
    t.ingest(&Alert::credit(ACCOUNT, naira, payer, sent).text()).await
}

/// Money that came a moment ago.
pub async fn came(t: &TestApp, naira: i64, payer: &str) -> AlertOutcome {
    t.advance(LATER);
    told_now(t, naira, payer, t.app.now() - Span::seconds(20)).await
}

/// What speaks against an approval without a reason.
pub async fn obstacles(t: &TestApp, alert: &AlertOutcome, payment: &Payment) -> Vec<String> {
    match approve_on(&t.app, alert.alert_id, payment, None).await {
        Err(ApproveRefused::Obstacles(told)) => told,
        other => panic!("approved by oversight: {other:?}"),
    }
}

pub fn named(payment: &Payment) -> String {
    format!("another beneficiary's payment {:?} of business {}", payment.transaction_id, payment.business_id)
}

on_both! {
    async fn a_payer_with_an_initial_hides_no_payment_about_the_amount(db: TestDatabase) {
        for (asked, bait, payer) in [
            ("Halima Ada", "Halima Garba", "GARBA HALIMA A"),
            ("Musa Danladi", "Danladi Umeadi", "M DANLADI UMEADI"),
        ] {
            for crowded in [false, true] {
                let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
                let other = t.merchant("bolu.example").await;
                let mine = t.create(&victim, 8_250, asked).await;
                if crowded {
                    crowd(&t, &other, 8_100, MANY, "Zainab").await;
                }
                let bait = t.create(&other, 8_100, bait).await;
                let outcome = paid(&t, 8_100, payer).await;
                goes_to_a_person(&t, outcome.alert_id, &mine, &bait, asked).await;
            }
        }
    }

    async fn a_payer_with_an_initial_hides_no_payment_that_has_just_ended(db: TestDatabase) {
        for crowded in [false, true] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 8_100, "Halima Ada").await;
            t.advance(Span::hours(22));
            if crowded {
                crowd(&t, &other, 8_100, MANY, "Zainab").await;
            }
            let bait = t.create(&other, 8_100, "Halima Garba").await;
            t.advance(Span::hours(27));
            end(&t, &mine).await;
            let outcome = told_now(&t, 8_100, "GARBA HALIMA A", START + Span::hours(23)).await;
            goes_to_a_person(&t, outcome.alert_id, &mine, &bait, "ended").await;
        }
    }

    async fn money_of_the_late_window_is_not_anothers_once_the_window_is_over(db: TestDatabase) {
        // The mail is read at once, or lay in a mailbox.
        for unread in [Span::minutes(0), Span::days(3)] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 8_100, "Halima Garba").await;
            t.advance(Span::hours(22));
            let bait = t.create(&other, 8_100, "Halima Danladi").await;
            t.advance(Span::hours(27));
            end(&t, &mine).await;
            t.advance(unread);
            let outcome = told_now(&t, 8_100, "HALIMA GARBA DANLADI", START + Span::hours(25)).await;
            goes_to_a_person(&t, outcome.alert_id, &mine, &bait, "late").await;
            assert!(outcome.reason.contains("which has ended"), "{}", outcome.reason);
        }
    }

    async fn a_payment_that_a_person_ended_speaks_for_its_customer(db: TestDatabase) {
        for reversed in [false, true] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 8_100, "Halima Garba").await;
            if reversed {
                pay_and_reverse(&t, &mine).await;
            } else {
                reject(&t, &mine).await;
            }
            let bait = t.create(&other, 8_100, "Garba Halima").await;
            let outcome = came(&t, 8_100, "HALIMA GARBA").await;
            goes_to_a_person(&t, outcome.alert_id, &mine, &bait, "ended by a person").await;
            // Of the own business it says nothing.
            let again = t.create(&victim, 9_900, "Halima Garba").await;
            let outcome = came(&t, 9_900, "HALIMA GARBA").await;
            assert_eq!(outcome.transaction_id.as_ref(), Some(&again.transaction_id), "{outcome:?}");
        }
    }

    async fn a_payment_speaks_with_the_amount_that_its_customer_was_shown(db: TestDatabase) {
        // To the kobo, and rounded.
        for (asked, sent) in [(8_100, 8_100), (8_100, 8_000)] {
            for crowded in [false, true] {
                let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
                let other = t.merchant("bolu.example").await;
                let mine = t.create(&victim, asked, "Halima Garba").await;
                assert!(matches!(correct(&t, &victim, &mine, 90_000).await, Corrected::Payment(_)));
                let bait = t.create(&other, sent, "Garba Halima").await;
                if crowded {
                    crowd(&t, &other, sent, MANY, "Zainab").await;
                }
                let outcome = paid(&t, sent, "HALIMA GARBA").await;
                goes_to_a_person(&t, outcome.alert_id, &mine, &bait, "corrected away").await;
                assert!(outcome.reason.contains("before it was corrected"), "{}", outcome.reason);
            }
        }
    }

    async fn a_correction_of_other_amounts_other_names_or_ones_own_says_nothing(db: TestDatabase) {
        for (asked, name, own) in
            [(12_000, "Halima Garba", false), (8_100, "Musa Danladi", false), (8_100, "Halima Garba", true)]
        {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = if own { &victim } else { &t.merchant("bolu.example").await };
            let mine = t.create(&victim, asked, name).await;
            assert!(matches!(correct(&t, &victim, &mine, 90_000).await, Corrected::Payment(_)));
            let theirs = t.create(other, 8_100, "Garba Halima").await;
            let outcome = paid(&t, 8_100, "HALIMA GARBA").await;
            assert_eq!(outcome.transaction_id.as_ref(), Some(&theirs.transaction_id), "{outcome:?}");
        }
    }

    async fn a_correction_after_the_money_needs_a_reason(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        t.account(OTHER).await;
        let mine = t.create(&victim, 9_100, "Halima Garba").await;
        let bait = t.create(&other, 5_500, "Halima Garba").await;
        let accounts = t.app.directory.accounts().await.unwrap();
        let paid_into = accounts.iter().find(|account| Some(account.id) == bait.account_id).unwrap();
        t.advance(LATER);
        let mail = Alert::credit(&paid_into.number, 9_100, "HALIMA GARBA", t.app.now() - Span::seconds(20));
        let waiting = t.ingest(&mail.text()).await;
        assert!(matches!(correct(&t, &other, &bait, 9_100).await, Corrected::Payment(_)));
        goes_to_a_person(&t, waiting.alert_id, &mine, &bait, "on another account").await;
        let told = obstacles(&t, &waiting, &t.payment(&bait).await).await;
        assert_eq!(told, ["the payment's amount was corrected after the money came, or may have been"]);
    }

    async fn a_correction_before_the_money_needs_no_reason(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_500, "Halima Garba").await;
        t.advance(Span::minutes(1));
        assert!(matches!(correct(&t, &shop, &payment, 9_100).await, Corrected::Payment(_)));
        t.advance(Span::hours(49));
        // What the sweep writes is no correction.
        end(&t, &payment).await;
        let outcome = told_now(&t, 9_100, "HALIMA GARBA", START + Span::hours(3)).await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        approved(&t, &outcome, &payment, None).await;
    }

    async fn no_number_of_payments_hides_an_ended_one_from_a_person(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        // Of the amount under other names, and of the name at other amounts.
        crowd(&t, &other, 8_100, FLOOD, "Zainab").await;
        t.advance(Span::minutes(1));
        let mine = t.create(&victim, 8_100, "Halima Garba").await;
        let dear = t.create(&other, 12_000, "Halima Garba").await;
        copies(&t, &dear, FLOOD, |_| "Garba Halima".to_owned()).await;
        t.advance(Span::hours(22));
        let bait = t.create(&other, 8_100, "Halima").await;
        t.advance(Span::hours(27));
        end(&t, &mine).await;
        let outcome = told_now(&t, 8_100, "HALIMA GARBA", START + Span::hours(23)).await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        let both = suggested(&t, outcome.alert_id).await;
        assert!(both.contains(&mine.transaction_id) && both.contains(&bait.transaction_id), "{both:?}");
        let told = obstacles(&t, &outcome, &bait).await;
        let asks = "which has ended, asks for exactly what was received, of just this payer's name";
        assert_eq!(told, [format!("{}, {asks}, and this payment fits only nearly", named(&mine))]);
        // The open one is near, and nothing named it.
        approved(&t, &outcome, &mine, Some("she showed her receipt")).await;
    }

    async fn an_alert_without_account_names_nobody_beside_anothers_payment(db: TestDatabase) {
        // So many of the one take every suggestion, and of still more not all are read.
        for flood in [0, 505, 1_010] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            t.account(OTHER).await;
            let mine = t.create(&victim, 8_100, "Halima Garba").await;
            let bait = t.create(&other, 8_100, "Garba Halima").await;
            assert_ne!(mine.account_id, bait.account_id);
            for at in [&bait, &mine] {
                let first = Payment { account_id: at.account_id, ..bait.clone() };
                copies(&t, &first, flood / 2, |_| "Halima Garba".to_owned()).await;
            }
            t.advance(LATER);
            let mail = Alert::credit(ACCOUNT, 8_100, "HALIMA GARBA", t.app.now() - Span::seconds(20)).text();
            let outcome = t.ingest(&without_account(&mail)).await;
            assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
            let told = obstacles(&t, &outcome, &bait).await;
            let asks = "on another account that may be meant asks for what was received, from a payer of such a name";
            assert_eq!(told[0], format!("the alert does not settle its account, and {} {asks}", named(&mine)));
            let not_all = told[1..].iter().filter(|one| one.contains("not all payments of this amount")).count();
            assert!(not_all == told.len() - 1 && (flood > 0 || not_all == 0), "{told:?}");
            assert_eq!(outcome.reason.contains("not all were checked"), flood > 0, "{}", outcome.reason);
        }
    }

    async fn an_alert_without_account_is_simple_where_nobody_elses_fits(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let pay = async |naira| {
            t.advance(LATER);
            let mail = Alert::credit(ACCOUNT, naira, "HALIMA GARBA", t.app.now() - Span::seconds(20)).text();
            t.ingest(&without_account(&mail)).await
        };
        let only = t.create(&victim, 5_500, "Halima Garba").await;
        approved(&t, &pay(5_500).await, &only, None).await;
        t.account(OTHER).await;
        // The accounts take turns: of each of these one stands on the other account.
        let mine = t.create(&victim, 8_100, "Halima Garba").await;
        t.create(&victim, 8_100, "Halima Garba").await;
        t.create(&other, 8_100, "Musa Danladi").await;
        t.create(&other, 9_900, "Halima Garba").await;
        approved(&t, &pay(8_100).await, &mine, None).await;
    }

    async fn what_has_ended_too_early_is_not_approved_beside_anothers_open_payment(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let bait = t.create(&other, 8_100, "Halima Garba").await;
        t.advance(Span::hours(49));
        end(&t, &bait).await;
        let mine = t.create(&victim, 8_230, "Halima Garba").await;
        let outcome = came(&t, 8_100, "HALIMA GARBA").await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        assert!(outcome.reason.contains("payment that has ended"), "{}", outcome.reason);
        assert!(outcome.reason.contains("less was received than asked for"), "{}", outcome.reason);
        let told = obstacles(&t, &outcome, &bait).await;
        let asks = "asks for about what was received, from a payer of such a name, and the time fits it and not this one";
        assert_eq!(told, [format!("{} {asks}", named(&mine))]);
        approved(&t, &outcome, &mine, None).await;
    }

    async fn an_ended_payment_short_by_much_charged_money_is_not_anothers(db: TestDatabase) {
        let (t, other) = world(db).await;
        let charges = ChargeChange { rate: Some(900), fixed: Some(Money::ZERO), ..ChargeChange::default() };
        let victim = t.merchant_with("bolu.example", charges).await;
        let mine = t.create(&victim, 9_000, "Halima Ada").await;
        let received = 9_000 - 810;
        t.advance(Span::hours(22));
        let bait = t.create(&other, received, "Halima Garba").await;
        t.advance(Span::hours(27));
        end(&t, &mine).await;
        let outcome = told_now(&t, received, "GARBA HALIMA A", START + Span::hours(23)).await;
        goes_to_a_person(&t, outcome.alert_id, &mine, &bait, "its charges are a tenth").await;
    }

    async fn who_approves_an_ended_payment_is_told_of_anothers_that_ended(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 8_100, "Halima Garba").await;
        reject(&t, &mine).await;
        let bait = t.create(&other, 8_100, "Garba Halima").await;
        t.advance(Span::hours(49));
        end(&t, &bait).await;
        let outcome = told_now(&t, 8_100, "HALIMA GARBA", START + Span::hours(1)).await;
        let told = obstacles(&t, &outcome, &bait).await;
        let asks = "which has ended, asks for exactly what was received, of just this payer's name";
        assert_eq!(told, [format!("{}, {asks}, and this payment has ended", named(&mine))]);
    }

    async fn who_approves_out_of_time_is_told_of_anothers_that_ended(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let bait = t.create(&other, 8_100, "Halima Garba").await;
        t.advance(Span::hours(49));
        end(&t, &bait).await;
        let mine = t.create(&victim, 8_230, "Halima Garba").await;
        t.advance(LATER);
        let sent = t.app.now() - Span::seconds(20);
        reject(&t, &mine).await;
        let outcome = told_now(&t, 8_100, "HALIMA GARBA", sent).await;
        let told = obstacles(&t, &outcome, &bait).await;
        let asks = "which has ended, asks for about what was received, from a payer of such a name, and the time fits it and not this one";
        assert_eq!(told, [format!("{}, {asks}", named(&mine))]);
    }

    async fn of_two_that_fit_only_nearly_a_person_is_told(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let (mine, theirs) = (t.create(&shop, 5_200, "Ada Obi").await, t.create(&other, 5_300, "Ada Obi").await);
        let between = came(&t, 5_250, "ADA OBI").await;
        assert_eq!(between.status, AlertStatus::Review, "{between:?}");
        assert!(obstacles(&t, &between, &mine).await.iter().any(|one| one.contains(&named(&theirs))));
        assert!(obstacles(&t, &between, &theirs).await.iter().any(|one| one.contains(&named(&mine))));
        // Whoever rejects one of them hears that money waits.
        assert_eq!(waiting_alerts(&t.app, &mine).await.unwrap(), [between.alert_id]);
        // Also where the money came first, or two names agree beside others.
        let early = came(&t, 6_600, "DAYO OJO UCHE").await;
        assert_eq!(early.status, AlertStatus::Unmatched, "{early:?}");
        t.advance(Span::minutes(5));
        let late = t.create(&shop, 6_600, "Dayo Ojo Ade").await;
        assert_eq!(waiting_alerts(&t.app, &late).await.unwrap(), [early.alert_id]);
    }

    async fn a_match_is_not_called_wrong_while_its_money_may_be_gone(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let mine = t.create(&shop, 5_200, "Ada Obi").await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 5_200, "ADA OBI", t.app.now() - Span::seconds(20));
        assert_eq!(t.ingest(&credit.text()).await.status, AlertStatus::Matched);
        t.advance(LATER);
        let debit = t.ingest(&back(&credit).text()).await;
        let ask = |despite| Reverse {
            business_id: mine.business_id,
            transaction_id: &mine.transaction_id,
            reason: "not hers",
            operator: "ife",
            undoing_alert: None,
            despite,
        };
        let refused = reverse_payment(&t.app, &ask(None)).await.unwrap().unwrap_err();
        let ReverseRefused::Obstacles(told) = refused else { panic!("{refused:?}") };
        assert!(told[0].contains(&format!("alert {} may have taken this money back", debit.alert_id)), "{told:?}");
        reverse_payment(&t.app, &ask(Some("the debit was another one's"))).await.unwrap().unwrap();
    }

    async fn who_approves_nearly_is_told_of_what_anothers_payment_asked_before(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 8_100, "Halima Garba").await;
        let bait = t.create(&other, 8_100, "Halima").await;
        t.advance(Span::minutes(1));
        assert!(matches!(correct(&t, &victim, &mine, 19_000).await, Corrected::Payment(_)));
        let outcome = came(&t, 8_100, "HALIMA GARBA").await;
        let told = obstacles(&t, &outcome, &bait).await;
        let asks = "asked for such an amount before it was corrected, of just this payer's name";
        assert_eq!(told, [format!("{} {asks}, and this payment fits only nearly", named(&mine))]);
    }
}
