//! From a bank mail to settled money, and everything that must not settle: whole flows through the
//! real reader, the real store and the real rules.

use std::sync::Arc;

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::event::EventKind;
use tillbell::domain::matching::SUGGESTIONS_MAX;
use tillbell::domain::merchant::Mode;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops;
use tillbell::ops::alerts::approve::{Approve, ApproveRefused, approve_alert};
use tillbell::ops::alerts::decide::decide_alert;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::rematch::rematch;
use tillbell::ops::alerts::reverse::{Reverse, ReverseRefused, reverse_payment};
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::correct::{Corrected, correct_amount};
use tillbell::ops::payments::reject::reject_payment;
use tillbell::ops::payments::sweep::sweep;
use tillbell::ops::webhooks::event::{Fact, record};

use crate::counted_once::approve_on;
use crate::harness::app::{ACCOUNT, LATER, START, TestApp, at, world};
use crate::harness::mails::Alert;
use crate::spoken_for::{named, obstacles};

async fn balance(t: &TestApp, business: i64) -> Money {
    t.app.store.merchant_balance(business).await.unwrap().unwrap()
}

on_both! {
    async fn an_alert_settles_its_payment(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let outcome = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Garba Halima", at()).text()).await;
        assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
        assert_eq!(outcome.transaction_id.as_deref(), Some(payment.transaction_id.as_str()));
        let after = t.payment(&payment).await;
        assert_eq!(after.status, Status::Approved);
        assert_eq!(after.received, Some(Money(500_000)));
        assert!(!after.is_mismatch && after.matched_at == after.approved_at);
        assert_eq!(balance(&t, shop.id).await, Money(490_000));
        let deliveries = t.app.store.deliveries_of_payment(payment.id).await.unwrap();
        assert_eq!(deliveries.len(), 1);
    }

    async fn an_approval_that_was_told_before_it_was_made_is_told_as_a_fault(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.without_audit("a pending payment has an event");
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        let fact = Fact::of(&payment, EventKind::PaymentApproved, t.app.now());
        let steps = record(&t.app, fact, |_| b"{}".to_vec()).await.unwrap();
        let unit = t.app.store.unit(shop.id).await.unwrap().steps(steps);
        assert!(t.app.store.apply(unit).await.unwrap().is_done());
        t.advance(LATER + Span::seconds(20));
        let outcome = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Garba Halima", at()).text()).await;
        assert_eq!(outcome.status, AlertStatus::New, "{outcome:?}");
        let told = "has an event payment.approved already, and may have only one";
        assert!(outcome.reason.contains(told), "{outcome:?}");
        let again = decide_alert(&t.app, outcome.alert_id).await.unwrap_err();
        assert!(again.to_string().contains(told), "{again}");
        assert_eq!(t.payment(&payment).await.status, Status::Pending);
    }

    async fn short_by_the_charges_is_a_mismatch_and_credits_less(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let outcome = t.ingest(&Alert::credit(ACCOUNT, 4_900, "Halima Garba", at()).text()).await;
        assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
        let after = t.payment(&payment).await;
        assert!(after.is_mismatch && after.mismatch_reason.is_some());
        assert_eq!(after.business_receives, Money(480_000));
        assert_eq!(balance(&t, shop.id).await, Money(480_000));
        assert!(after.mismatch_reason.unwrap().contains("which is the amount of the charges"));
        // Within the tolerance it is not exactly the charges, and nobody says so.
        let near = t.create(&shop, 5_000, "Efosa Igbinedion").await;
        t.advance(Span::seconds(90));
        let mail = Alert::credit(ACCOUNT, 4_900, "Efosa Igbinedion", t.app.now());
        let outcome = t.ingest(&Alert { amount: "4900.50".into(), ..mail }.text()).await;
        assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
        assert!(!outcome.reason.contains("exactly"), "{outcome:?}");
        assert!(t.payment(&near).await.mismatch_reason.unwrap().contains("about the amount of the charges"));
    }

    async fn copies_of_any_kind_credit_once(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_000, "Halima Garba").await;
        t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let first = Alert::credit(ACCOUNT, 5_000, "Halima Garba", at());
        assert_eq!(t.ingest(&first.text()).await.status, AlertStatus::Matched);
        assert_eq!(t.ingest(&first.text()).await.status, AlertStatus::Duplicate);
        let resent = Alert { message_id: "<again@gens.example>".into(), ..first.clone() };
        assert_eq!(t.ingest(&resent.text()).await.status, AlertStatus::Duplicate);
        // The same key with another amount is nobody's duplicate and nobody's money.
        let altered = Alert { amount: "6000".into(), message_id: "<b@gens.example>".into(), ..first.clone() };
        let outcome = t.ingest(&altered.text()).await;
        assert_eq!(outcome.status, AlertStatus::Review);
        assert!(outcome.reason.contains("the same NIP session id"), "{outcome:?}");
        assert!(outcome.reason.contains("reference, balance, payer or state"), "{outcome:?}");
        assert_eq!(balance(&t, shop.id).await, Money(490_000));
    }

    async fn fifty_copies_at_once_over_two_nodes_credit_once(db: TestDatabase) {
        let (t, shop) = world(db).await;
        for _ in 0..5 {
            t.create(&shop, 5_000, "Halima Garba").await;
        }
        t.advance(LATER + Span::seconds(20));
        let other = t.another_node().await;
        let taken = Arc::new(t.taken(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text(), true));
        let mut running = tokio::task::JoinSet::new();
        for n in 0..50 {
            let app = if n % 2 == 0 { t.app.clone() } else { other.clone() };
            let taken = taken.clone();
            running.spawn(async move { take_alert(&app, &taken).await.unwrap().status });
        }
        let statuses = running.join_all().await;
        assert_eq!(statuses.iter().filter(|s| **s == AlertStatus::Matched).count(), 1, "{statuses:?}");
        assert_eq!(statuses.iter().filter(|s| **s == AlertStatus::Duplicate).count(), 49, "{statuses:?}");
        assert_eq!(balance(&t, shop.id).await, Money(490_000));
    }

    async fn two_tellings_without_proof_that_they_are_two_credit_once(db: TestDatabase) {
        let (t, shop) = world(db).await;
        for _ in 0..3 {
            t.create(&shop, 5_000, "Halima Garba").await;
        }
        t.advance(LATER + Span::seconds(20));
        // No session id, the same second, the same balance.
        let base = Alert {
            session: String::new(),
            balance: "77.00".into(),
            ..Alert::credit(ACCOUNT, 5_000, "Halima Garba", at())
        };
        let again = Alert { message_id: "<other@gens.example>".into(), holder: "TILL AND BELL LIMITED".into(), ..base.clone() };
        let other = t.another_node().await;
        let (one, two) = (t.taken(&base.text(), true), t.taken(&again.text(), true));
        let (a, b) = tokio::join!(take_alert(&t.app, &one), take_alert(&other, &two));
        let (a, b) = (a.unwrap(), b.unwrap());
        let statuses = [a.status, b.status];
        assert!(statuses.contains(&AlertStatus::Matched), "{a:?} {b:?}");
        assert!(statuses.contains(&AlertStatus::Review), "{statuses:?}");
        // A different balance of the same kind shows that it is another payment.
        let second = Alert { balance: "5077.00".into(), message_id: "<third@gens.example>".into(), ..base };
        let third = t.ingest(&second.text()).await;
        assert_eq!(third.status, AlertStatus::Matched, "{third:?}");
    }

    async fn what_nothing_proves_is_quarantined_and_never_matches(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let mail = Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text();
        let unproven = take_alert(&t.app, &t.taken(&mail, false)).await.unwrap();
        assert_eq!(unproven.status, AlertStatus::Quarantined);
        let forged = mail.replace("GeNS@gtbank.com", "GeNS@gtbank.com.evil.example");
        let taken = t.taken(&forged, true);
        assert_eq!(take_alert(&t.app, &taken).await.unwrap().status, AlertStatus::Quarantined);
        assert_eq!(t.payment(&payment).await.status, Status::Pending);
        let ask = Approve {
            alert_id: unproven.alert_id,
            business_id: shop.id,
            transaction_id: &payment.transaction_id,
            operator: "ada",
            despite: Some("I am sure"),
            seen: None,
        };
        let refused = approve_alert(&t.app, &ask).await.unwrap().unwrap_err();
        assert!(matches!(refused, ApproveRefused::AlertStatus(..)), "{refused:?}");
        // The very same mail, declared trusted, is no duplicate of the unproven one.
        assert_eq!(t.ingest(&mail).await.status, AlertStatus::Matched);
    }

    async fn money_that_fits_two_businesses_waits_for_a_person(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&shop, 5_000, "Halima Garba").await;
        // The pool has one account, so the other business can only collide by a correction at the same moment.
        let theirs = t.create(&other, 7_000, "Halima Garba").await;
        t.correct_unasked(&theirs, 5_000).await;
        t.advance(LATER + Span::seconds(20));
        let outcome = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        assert_eq!(outcome.status, AlertStatus::Review);
        assert!(outcome.reason.contains("several beneficiaries"), "{outcome:?}");
        let told = obstacles(&t, &outcome, &mine).await;
        assert!(told.iter().any(|one| one.contains(&named(&theirs))), "{told:?}");
        approve_on(&t.app, outcome.alert_id, &mine, Some("she sent her receipt")).await.unwrap();
        assert_eq!(t.payment(&mine).await.status, Status::Approved);
        assert_eq!(t.payment(&theirs).await.status, Status::Pending);
    }

    async fn a_correction_takes_the_waiting_alert(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let waiting = t.ingest(&Alert::credit(ACCOUNT, 6_500, "Halima Garba", at()).text()).await;
        assert_eq!(waiting.status, AlertStatus::Review, "more was received: {waiting:?}");
        correct_amount(&t.app, &shop.caller, &payment.transaction_id, Money(650_000), None).await.unwrap();
        rematch(&t.app, payment.id).await.unwrap();
        let after = t.payment(&payment).await;
        assert_eq!(after.status, Status::Approved);
        assert!(!after.is_mismatch);
        assert_eq!(decide_alert(&t.app, waiting.alert_id).await.unwrap().status, AlertStatus::Matched);
    }

    async fn a_correction_does_not_fish_for_other_peoples_money(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let thief = t.merchant("thief.example").await;
        let hers = t.create(&shop, 5_000, "Halima A. Garba").await;
        let bait = t.create(&thief, 9_000, "Halima Garba").await;
        // However many likelier ones there are.
        for amount in 100..100 + SUGGESTIONS_MAX as i64 {
            t.create(&thief, amount * 1_000, "Halima Garba").await;
        }
        t.advance(LATER + Span::seconds(20));
        let waiting = t.ingest(&Alert::credit(ACCOUNT, 6_500, "Halima Garba", at()).text()).await;
        assert_eq!(waiting.status, AlertStatus::Review);
        correct_amount(&t.app, &thief.caller, &bait.transaction_id, Money(650_000), None).await.unwrap();
        rematch(&t.app, bait.id).await.unwrap();
        assert_eq!(t.payment(&bait).await.status, Status::Pending);
        let alert = t.app.store.alert(waiting.alert_id).await.unwrap().unwrap();
        assert_eq!(alert.status, AlertStatus::Review);
        assert!(alert.reason.contains("another beneficiary"), "{}", alert.reason);
        for suggested in [&hers, &bait] {
            assert!(alert.evidence.contains(&suggested.transaction_id), "{}", alert.evidence);
        }
    }

    async fn expiry_waits_for_the_late_window_and_spares_undecided_money(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let late = t.create(&shop, 5_000, "Halima Garba").await;
        let never = t.create(&shop, 8_000, "Musa Danladi").await;
        t.advance(Span::hours(25));
        assert_eq!(sweep(&t.app).await.unwrap().rejected, 0);
        let mail = Alert::credit(ACCOUNT, 5_000, "Halima Garba", START + Span::hours(25));
        assert_eq!(t.ingest(&mail.text()).await.status, AlertStatus::Matched);
        assert_eq!(t.payment(&late).await.status, Status::Approved);
        t.advance(Span::hours(24));
        assert_eq!(sweep(&t.app).await.unwrap().rejected, 1);
        let swept = t.payment(&never).await;
        assert!(swept.status == Status::Rejected && swept.swept);
        // Money that comes after all: a person may revive what the sweep ended.
        let mail = Alert::credit(ACCOUNT, 8_000, "Musa Danladi", START + Span::hours(49));
        let outcome = t.ingest(&mail.text()).await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        approve_on(&t.app, outcome.alert_id, &never, None).await.unwrap();
        assert_eq!(t.payment(&never).await.status, Status::Approved);
    }

    async fn what_a_person_rejected_stays_rejected(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        reject_payment(&t.app, shop.id, &payment.transaction_id, "ada", "cancelled").await.unwrap().unwrap();
        t.advance(LATER + Span::seconds(20));
        let outcome = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        assert_ne!(outcome.status, AlertStatus::Matched);
        let ask = Approve {
            alert_id: outcome.alert_id,
            business_id: shop.id,
            transaction_id: &payment.transaction_id,
            operator: "ada",
            despite: Some("no"),
            seen: None,
        };
        let refused = approve_alert(&t.app, &ask).await.unwrap().unwrap_err();
        assert!(matches!(refused, ApproveRefused::PaymentStatus(..)), "{refused:?}");
        dismiss_alert(&t.app, outcome.alert_id, "ada", "sent back").await.unwrap().unwrap();
    }

    async fn a_person_must_name_a_reason_against_what_speaks_against_it(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let outcome = t.ingest(&Alert::credit(ACCOUNT, 1_000, "Chinedu Okafor", at()).text()).await;
        assert_eq!(outcome.status, AlertStatus::Unmatched);
        let mut ask = Approve {
            alert_id: outcome.alert_id,
            business_id: shop.id,
            transaction_id: &payment.transaction_id,
            operator: "ada",
            despite: None,
            seen: None,
        };
        let refused = approve_alert(&t.app, &ask).await.unwrap().unwrap_err().to_string();
        assert!(refused.contains("different") && refused.contains("less than half"), "{refused}");
        ask.despite = Some("her brother paid a part; she called");
        approve_alert(&t.app, &ask).await.unwrap().unwrap();
        let after = t.payment(&payment).await;
        assert!(after.is_mismatch && after.name_mismatch);
        // 1 % + 50 of 5,000 is 100; received 1,000.
        assert_eq!(after.business_receives, Money(90_000));
    }

    async fn a_mail_forwarded_by_hand_waits_for_a_person_even_if_trusted(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let original = Alert::credit(ACCOUNT, 5_000, "Halima Garba", at());
        let forwarded = original
            .text()
            .replace("From: GeNS@gtbank.com", "From: Ada <ada@till.example>")
            .replace("Subject: ", "Subject: Fwd: ")
            .replace(
                "\r\n\r\n<table>",
                "\r\n\r\n<div>---------- Forwarded message ---------<br>From: GTBank &lt;GeNS@gtbank.com&gt;<br>\
                 Date: Tue, Mar 10, 2026<br>Subject: Transaction Notification<br>To: ada@till.example</div><table>",
            );
        let outcome = t.ingest(&forwarded).await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        assert!(outcome.reason.contains("forwarded"), "{outcome:?}");
        let ask = Approve {
            alert_id: outcome.alert_id,
            business_id: shop.id,
            transaction_id: &payment.transaction_id,
            operator: "ada",
            despite: None,
            seen: None,
        };
        approve_alert(&t.app, &ask).await.unwrap().unwrap();
        // The bank's own mail about the same money comes later: it must not pay a second time.
        t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(Span::minutes(1));
        let genuine = t.ingest(&original.text()).await;
        assert_ne!(genuine.status, AlertStatus::Matched, "{genuine:?}");
    }

    async fn a_reversal_posts_the_mirror_once(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let wrong = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let alert = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        let ask = Reverse {
            business_id: shop.id,
            transaction_id: &wrong.transaction_id,
            reason: "the wrong Halima",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        let (one, two) = tokio::join!(reverse_payment(&t.app, &ask), reverse_payment(&t.app, &ask));
        let done = [one.unwrap(), two.unwrap()];
        assert_eq!(done.iter().filter(|r| r.is_ok()).count(), 1, "{done:?}");
        assert!(matches!(
            reverse_payment(&t.app, &ask).await.unwrap(),
            Err(ReverseRefused::NotApproved(_, "reversed"))
        ));
        assert_eq!(balance(&t, shop.id).await, Money(0));
        let after = t.payment(&wrong).await;
        assert!(after.status == Status::Approved && after.reversed_at.is_some());
        assert_eq!(
            t.app.store.alert(alert.alert_id).await.unwrap().unwrap().status,
            AlertStatus::Review
        );
        // The alert may now fund the right payment.
        let right = t.create(&shop, 5_000, "Halima Garba").await;
        let ask = Approve {
            alert_id: alert.alert_id,
            business_id: shop.id,
            transaction_id: &right.transaction_id,
            operator: "ada",
            despite: Some("created after, but it is hers"),
            seen: None,
        };
        approve_alert(&t.app, &ask).await.unwrap().unwrap();
    }

    async fn a_debit_of_the_same_money_holds_what_waits_and_is_noted_on_what_was_credited(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let credit = Alert::credit(ACCOUNT, 5_000, "Halima Garba", at());
        let matched = t.ingest(&credit.text()).await;
        let waiting = t.ingest(&Alert::credit(ACCOUNT, 8_000, "Musa Danladi", at()).text()).await;
        assert_eq!(waiting.status, AlertStatus::Unmatched);
        t.advance(Span::minutes(5));
        for naira in [5_000, 8_000] {
            let debit = Alert { direction: "DEBIT", ..Alert::credit(ACCOUNT, naira, "X Y", at() + Span::minutes(4)) };
            assert_eq!(t.ingest(&debit.text()).await.status, AlertStatus::Ignored);
        }
        let held = t.app.store.alert(waiting.alert_id).await.unwrap().unwrap();
        assert_eq!(held.status, AlertStatus::Review);
        assert!(held.linked_alert_id.is_some());
        let noted = t.app.store.alert(matched.alert_id).await.unwrap().unwrap();
        assert!(noted.status == AlertStatus::Matched && noted.linked_alert_id.is_some());
    }

    async fn a_correction_and_a_match_at_the_same_moment_have_one_winner(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let mut expected = Money(0);
        for round in 0..30 {
            let naira = 2_000 + round * 10;
            let payment = t.create(&shop, naira, "Halima Garba").await;
            t.advance(Span::seconds(30));
            let now = t.app.now();
            let taken = t.taken(&Alert::credit(ACCOUNT, naira, "Halima Garba", now).text(), true);
            let to = Money((naira + 1_000_000) * 100);
            let (alert, corrected) = tokio::join!(
                take_alert(&t.app, &taken),
                correct_amount(&t.app, &shop.caller, &payment.transaction_id, to, None)
            );
            let (alert, corrected) = (alert.unwrap(), corrected.unwrap());
            let after = t.payment(&payment).await;
            match corrected {
                Corrected::Payment(_) => {
                    // The correction came first: the alert waits, or it came after the approval read.
                    assert_eq!(after.status, Status::Pending, "round {round}: {alert:?}");
                    assert_ne!(alert.status, AlertStatus::Matched);
                    reject_payment(&t.app, shop.id, &payment.transaction_id, "t", "next").await.unwrap().unwrap();
                }
                Corrected::Refused(_) => {
                    assert_eq!(after.status, Status::Approved);
                    expected = Money(expected.kobo() + after.business_receives.kobo());
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(balance(&t, shop.id).await, expected);
    }

    async fn a_repeated_request_occupies_three_accounts_and_then_shares_the_newest(db: TestDatabase) {
        let t = TestApp::start(db).await;
        let (shop, other) = (t.merchant("adire.example").await, t.merchant("bolu.example").await);
        let mut pool = Vec::new();
        for number in ["0123454417", "0123459982", "0123451173", "0123452208"] {
            pool.push(t.account(number).await);
        }
        let mut given = Vec::new();
        for _ in 0..7 {
            given.push(t.create(&shop, 5_000, "Halima Garba").await.account_id.unwrap());
            t.advance(Span::seconds(1));
        }
        let last = given[2];
        assert_eq!(given[3..], [last; 4], "{given:?}");
        given.sort_unstable();
        given.dedup();
        assert_eq!(given.len(), 3);
        // Another payer and another business are not taken for a repeat.
        let free = pool.into_iter().find(|id| !given.contains(id));
        assert_eq!(t.create(&other, 5_000, "Halima Garba").await.account_id, free);
        assert_ne!(t.create(&shop, 5_000, "Chinedu Okafor").await.account_id, Some(last));
    }

    async fn test_and_live_never_meet(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.account_for("0987650099", None, Mode::Test).await;
        let trying = t.in_test_mode(&shop).await;
        let live = t.create(&shop, 5_000, "Halima Garba").await;
        let test = t.create(&trying, 5_000, "Halima Garba").await;
        assert_ne!(live.account_id, test.account_id);
        t.advance(LATER + Span::seconds(20));
        let outcome = t.ingest(&Alert::credit("0987650099", 5_000, "Halima Garba", at()).text()).await;
        assert_eq!(outcome.transaction_id, Some(test.transaction_id.clone()), "{outcome:?}");
        assert_eq!(t.payment(&live).await.status, Status::Pending);
        assert_eq!(balance(&t, shop.id).await, Money(0), "test money is no money");
        let ask = Reverse {
            business_id: shop.id,
            transaction_id: &test.transaction_id,
            reason: "trying",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&t.app, &ask).await.unwrap().unwrap();
        assert_eq!(balance(&t, shop.id).await, Money(0));
    }

    async fn accounts_are_chosen_without_collisions(db: TestDatabase) {
        let t = TestApp::start(db).await;
        let (shop, other) = (t.merchant("adire.example").await, t.merchant("bolu.example").await);
        let (first, second) = (t.account("0123454417").await, t.account("0123459982").await);
        let a = t.create(&shop, 5_000, "Halima Garba").await;
        let b = t.create(&other, 5_000, "Garba Halima").await;
        assert_ne!(a.account_id, b.account_id, "one alert would fit both");
        // 5,000 less its charges is 4,900: that collides by the charges rule.
        let third = t.merchant("third.example").await;
        let new = t.request(&third, 4_900, "Halima Garba");
        let refused = ops::payments::create::create_payment(&t.app, &third.caller, new, None);
        assert!(matches!(refused.await.unwrap(), ops::payments::create::Created::NoAccount));
        let c = t.create(&other, 5_000, "Chinedu Okafor").await;
        let d = t.create(&other, 6_000, "Halima Garba").await;
        assert!([first, second].contains(&c.account_id.unwrap()) && d.account_id.is_some());
    }
}
