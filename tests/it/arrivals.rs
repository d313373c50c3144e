//! Money that came and waits for a person, while it may pay one payment and no other: what is told of it, from the
//! decision that leaves it to a person to the one that ends it.

use std::sync::Arc;

use tillbell::domain::alert::{AlertStatus, Authenticity};
use tillbell::domain::arrival::{Arrival, ArrivalKind};
use tillbell::domain::merchant::Mode;
use tillbell::domain::money::Money;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::approve::{Approve, approve_alert};
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::draft::ReadAs;
use tillbell::ops::alerts::rematch::rematch;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::reject::reject_payment;
use tillbell::ops::payments::sweep::sweep;
use tillbell::store::engine::sql::{Sql, Text};

use crate::audits::{by_hand, violations};
use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;

const NAME: &str = "Halima Garba";

/// One payment of 5,000 that may be paid, ten minutes ago.
async fn one_open(db: TestDatabase) -> (TestApp, Merchant, Payment) {
    let (t, shop) = world(db).await;
    let payment = t.create(&shop, 5_000, NAME).await;
    t.advance(LATER + Span::seconds(50));
    (t, shop, payment)
}

fn credit(naira: i64, payer: &str) -> Alert {
    Alert::credit(ACCOUNT, naira, payer, at())
}

async fn came(t: &TestApp, naira: i64, payer: &str) -> AlertOutcome {
    t.ingest(&credit(naira, payer).text()).await
}

/// What waits for a payment now, as it is told now.
async fn told(t: &TestApp, payment: &Payment) -> Vec<ArrivalKind> {
    let payment = t.payment(payment).await;
    let open = t.app.store.open_arrivals(payment.id).await.unwrap();
    open.iter().map(|one| one.kind_now(&payment)).collect()
}

/// How each one that a payment had has ended, the first first.
async fn ends(t: &TestApp, payment: &Payment) -> Vec<String> {
    static ENDS: Sql = Sql::new(
        "ENDS",
        Text::Plain(
            "select coalesce(outcome, 'open') as outcome from arrivals where payment_id = $1 order by id",
        ),
    );
    let rows = t.app.store.read(&ENDS, vec![payment.id.into()]).await.unwrap();
    rows.into_iter().map(|row| row.reader("arrivals").text("outcome").unwrap()).collect()
}

async fn approve(t: &TestApp, alert: &AlertOutcome, payment: &Payment) {
    let ask = Approve {
        alert_id: alert.alert_id,
        business_id: payment.business_id,
        transaction_id: &payment.transaction_id,
        operator: "ada",
        despite: Some("the bank's statement says so"),
        seen: None,
    };
    approve_alert(&t.app, &ask).await.unwrap().unwrap();
}

fn open_one(t: &[Arrival]) -> &Arrival {
    let [one] = t else { panic!("not one: {t:?}") };
    one
}

on_both! {
    async fn what_came_is_told_by_what_keeps_it_from_being_approved(db: TestDatabase) {
        let (t, _, payment) = one_open(db).await;
        for (naira, payer, kind) in [
            (4_000, NAME, ArrivalKind::TooLittle),
            (6_000, NAME, ArrivalKind::TooMuch),
            (5_000, "Musa Danladi", ArrivalKind::OtherName),
            (5_000, "Halima Garbb", ArrivalKind::OtherName),
        ] {
            let alert = came(&t, naira, payer).await;
            assert!(matches!(alert.status, AlertStatus::Review | AlertStatus::Unmatched), "{alert:?}");
            let open = t.app.store.open_arrivals(payment.id).await.unwrap();
            let one = open_one(&open);
            assert_eq!((one.kind, one.received), (kind, Money(naira * 100)), "{payer}: {alert:?}");
            assert_eq!((one.alert_id, one.business_id), (alert.alert_id, payment.business_id));
            assert!(at() <= one.occurred_at && one.occurred_at < at() + Span::seconds(1));
            assert_eq!((one.made_at, one.ended), (t.app.now(), None));
            assert_eq!(t.payment(&payment).await.version, payment.version, "what others decide rests on it");
            dismiss_alert(&t.app, alert.alert_id, "ada", "for this test").await.unwrap().unwrap();
            assert!(told(&t, &payment).await.is_empty());
        }
        assert_eq!(ends(&t, &payment).await, ["dismissed"; 4]);
        // Approved by itself, nothing waits.
        assert_eq!(came(&t, 5_000, NAME).await.status, AlertStatus::Matched);
        assert_eq!(ends(&t, &payment).await.len(), 4);
    }

    async fn what_comes_after_its_time_is_late(db: TestDatabase) {
        let (t, _, payment) = one_open(db).await;
        t.advance(Span::hours(49));
        assert_eq!(sweep(&t.app).await.unwrap().rejected, 1);
        let after = at() + Span::hours(49);
        let alert = t.ingest(&Alert::credit(ACCOUNT, 5_000, NAME, after).text()).await;
        assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        assert_eq!(told(&t, &payment).await, [ArrivalKind::Late]);
        // Other names are nobody's any more.
        let other = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Musa Danladi", after).text()).await;
        assert!(matches!(other.status, AlertStatus::Review | AlertStatus::Unmatched), "{other:?}");
        assert!(!told(&t, &payment).await.contains(&ArrivalKind::OtherName));
        approve(&t, &alert, &payment).await;
        assert!(told(&t, &payment).await.is_empty());
        assert_eq!(ends(&t, &payment).await[0], "approved");
    }

    async fn what_came_too_little_stays_so_when_the_time_is_over(db: TestDatabase) {
        let (t, _, payment) = one_open(db).await;
        came(&t, 4_000, NAME).await;
        t.advance(Span::hours(49));
        assert_eq!(sweep(&t.app).await.unwrap().rejected, 1);
        assert_eq!(told(&t, &payment).await, [ArrivalKind::TooLittle]);
        let open = t.app.store.open_arrivals_of_business(payment.business_id, 10).await.unwrap();
        assert_eq!(open_one(&open).payment_id, payment.id);
    }

    async fn a_correction_tells_the_same_money_anew(db: TestDatabase) {
        let (t, shop, payment) = one_open(db).await;
        let alert = came(&t, 4_000, NAME).await;
        let correct = async |naira: i64| {
            let caller = &shop.caller;
            let base = Money(naira * 100);
            let id = &payment.transaction_id;
            tillbell::ops::payments::correct::correct_amount(&t.app, caller, id, base, None).await.unwrap()
        };
        correct(3_000).await;
        assert_eq!(told(&t, &payment).await, [ArrivalKind::TooMuch]);
        correct(4_500).await;
        assert_eq!(told(&t, &payment).await, [ArrivalKind::TooLittle]);
        correct(4_000).await;
        assert_eq!(told(&t, &payment).await, [ArrivalKind::Waiting], "until it is decided again");
        rematch(&t.app, payment.id).await.unwrap();
        assert_eq!(t.app.store.alert(alert.alert_id).await.unwrap().unwrap().status, AlertStatus::Matched);
        assert_eq!(ends(&t, &payment).await, ["approved"]);
    }

    async fn it_ends_with_whatever_decides_the_alert_or_the_payment(db: TestDatabase) {
        let (t, shop, payment) = one_open(db).await;
        // Other money pays the payment.
        let little = came(&t, 4_000, NAME).await;
        assert_eq!(came(&t, 5_000, NAME).await.status, AlertStatus::Matched);
        assert_eq!(ends(&t, &payment).await, ["paid"]);
        // Then a new payment is made, for which it came too early to be told; a person approves it there.
        let second = t.create(&shop, 4_000, "Musa Danladi").await;
        approve(&t, &little, &second).await;
        assert_eq!(ends(&t, &second).await, Vec::<String>::new());
        // A person rejects.
        let third = t.create(&shop, 7_000, "Ngozi Eze").await;
        let fourth = t.create(&shop, 9_000, "Uche Obi").await;
        t.advance(Span::minutes(5));
        let now = t.app.now();
        let late = |naira, payer: &str| Alert::credit(ACCOUNT, naira, payer, now - Span::minutes(1)).text();
        let short = t.ingest(&late(6_000, "Ngozi Eze")).await;
        assert_eq!(told(&t, &third).await, [ArrivalKind::TooLittle]);
        reject_payment(&t.app, shop.id, &third.transaction_id, "ada", "the goods are gone").await.unwrap().unwrap();
        assert_eq!(ends(&t, &third).await, ["rejected"]);
        // It is approved onto another payment.
        let much = t.ingest(&late(9_900, "Uche Obi")).await;
        assert_eq!(told(&t, &fourth).await, [ArrivalKind::TooMuch]);
        let fifth = t.create(&shop, 9_900, "Uche Obi").await;
        approve(&t, &much, &fifth).await;
        assert_eq!(ends(&t, &fourth).await, ["elsewhere"]);
        assert_ne!(t.app.store.alert(short.alert_id).await.unwrap().unwrap().status, AlertStatus::Matched);
    }

    async fn money_that_may_have_gone_again_is_told_to_nobody(db: TestDatabase) {
        let (t, _, payment) = one_open(db).await;
        let credit = credit(4_000, NAME);
        t.ingest(&credit.text()).await;
        assert_eq!(told(&t, &payment).await, [ArrivalKind::TooLittle]);
        let debit = Alert { direction: "DEBIT", message_id: "<back@gens.example>".into(), at: at() + Span::seconds(40), ..credit.clone() };
        t.ingest(&debit.text()).await;
        assert_eq!(ends(&t, &payment).await, ["taken_back"]);
        // Nor what was approved by mistake and taken away from the payment again.
        let again = came(&t, 5_000, NAME).await;
        assert_eq!(again.status, AlertStatus::Matched);
        let ask = Reverse {
            business_id: payment.business_id,
            transaction_id: &payment.transaction_id,
            reason: "it was another customer's",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&t.app, &ask).await.unwrap().unwrap();
        assert!(told(&t, &payment).await.is_empty());
    }

    async fn money_that_may_be_for_two_is_told_to_neither(db: TestDatabase) {
        let (t, shop, payment) = one_open(db).await;
        let other = t.merchant("ankara.example").await;
        let theirs = t.create(&other, 5_500, NAME).await;
        let own = t.create(&shop, 5_000, "Musa Danladi").await;
        t.advance(Span::minutes(1));
        let now = t.app.now();
        for (naira, payer) in [(4_800, NAME), (5_000, "Uche Obi"), (5_100, NAME)] {
            let alert = t.ingest(&Alert::credit(ACCOUNT, naira, payer, now).text()).await;
            assert!(matches!(alert.status, AlertStatus::Review | AlertStatus::Unmatched), "{alert:?}");
            for payment in [&payment, &theirs, &own] {
                assert_eq!(told(&t, payment).await, [], "{naira} {payer}");
            }
        }
    }

    async fn a_second_payment_that_the_money_may_be_for_ends_what_was_told(db: TestDatabase) {
        let (t, shop, payment) = one_open(db).await;
        let second = t.create(&shop, 3_000, NAME).await;
        t.advance(Span::minutes(1));
        let now = t.app.now();
        // Of both names, so of neither.
        t.ingest(&Alert::credit(ACCOUNT, 4_000, NAME, now).text()).await;
        assert!(told(&t, &payment).await.is_empty() && told(&t, &second).await.is_empty());
        reject_payment(&t.app, shop.id, &second.transaction_id, "ada", "a second try").await.unwrap().unwrap();
        // Rejected by a person: it ended lately, and the money may have been sent for it.
        let alert = t.ingest(&Alert::credit(ACCOUNT, 4_100, NAME, now).text()).await;
        assert!(told(&t, &payment).await.is_empty(), "{alert:?}");
    }

    async fn what_no_bank_vouches_for_changes_nothing(db: TestDatabase) {
        let (t, _, payment) = one_open(db).await;
        for naira in [4_000, 5_000, 6_000] {
            let unproven = take_alert(&t.app, &t.taken(&credit(naira, NAME).text(), false)).await.unwrap();
            assert_eq!(unproven.status, AlertStatus::Quarantined, "{unproven:?}");
            let mut forwarded = t.taken(&credit(naira, NAME).text(), true);
            (forwarded.authenticity, forwarded.read_as) = (Authenticity::Forwarded, ReadAs::Quarantined);
            let forwarded = take_alert(&t.app, &forwarded).await.unwrap();
            assert!(told(&t, &payment).await.is_empty(), "{forwarded:?}");
            // A mail that the bank signed, with something in it that nobody sees.
            let mut doubted = t.taken(&credit(naira, NAME).text(), true);
            doubted.facts.doubts.push("the mail holds hidden text".into());
            let doubted = take_alert(&t.app, &doubted).await.unwrap();
            assert_eq!(doubted.status, AlertStatus::Review, "{doubted:?}");
            assert!(told(&t, &payment).await.is_empty());
        }
        assert_eq!(t.payment(&payment).await.status, Status::Pending);
        assert!(ends(&t, &payment).await.is_empty());
    }

    async fn money_without_a_name_or_told_twice_waits_without_a_word(db: TestDatabase) {
        let (t, _, payment) = one_open(db).await;
        let alert = credit(5_000, NAME);
        let plain = format!("{}-TRANSFER-OPAY-{}", alert.session, alert.payer);
        let nameless = t.ingest(&alert.text().replace(&plain, "BRANCH 12")).await;
        assert_eq!(nameless.status, AlertStatus::Review, "{nameless:?}");
        assert_eq!(told(&t, &payment).await, [ArrivalKind::Waiting]);
    }

    async fn of_a_payment_in_test_mode_it_is_told_as_of_any(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let shop = t.in_test_mode(&shop).await;
        t.account_for("0123457777", None, Mode::Test).await;
        let payment = t.create(&shop, 5_000, NAME).await;
        t.advance(LATER + Span::seconds(50));
        let alert = t.ingest(&Alert::credit("0123457777", 4_000, NAME, at()).text()).await;
        assert!(matches!(alert.status, AlertStatus::Review | AlertStatus::Unmatched), "{alert:?}");
        assert_eq!(told(&t, &payment).await, [ArrivalKind::TooLittle]);
    }

    /// Two nodes: one leaves money to a person, the other one ends its payment at that moment.
    async fn whatever_happens_at_one_moment_nothing_waits_for_what_has_ended(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let node = t.another_node().await;
        let mut both = 0;
        for n in 0..12 {
            let payment = t.create(&shop, 5_000 + 100 * n, NAME).await;
            t.advance(Span::minutes(1));
            let now = t.app.now();
            let short = t.taken(&Alert::credit(ACCOUNT, 3_000 + n, NAME, now).text(), true);
            let whole = t.taken(&Alert::credit(ACCOUNT, 5_000 + 100 * n, NAME, now).text(), true);
            let here = t.app.clone();
            let short = tokio::spawn(async move { take_alert(&here, &short).await.unwrap() });
            let there: Arc<_> = node.clone();
            let id = payment.transaction_id.clone();
            let business = shop.id;
            let other = tokio::spawn(async move {
                if n % 2 == 0 {
                    take_alert(&there, &whole).await.unwrap();
                } else {
                    let _ = reject_payment(&there, business, &id, "ada", "no more").await.unwrap();
                }
            });
            short.await.unwrap();
            other.await.unwrap();
            let ended = t.payment(&payment).await;
            if ended.status != Status::Pending {
                both += 1;
                assert!(told(&t, &payment).await.is_empty(), "{n}: {ended:?}");
            }
            t.advance(Span::days(8));
        }
        assert!(both > 6, "{both}");
    }

    async fn the_audit_tells_of_a_row_that_differs_from_its_alert_or_payment(db: TestDatabase) {
        let (t, shop, payment) = one_open(db).await;
        t.without_audit("rows are changed by hand");
        let other = t.merchant("ankara.example").await;
        let alert = came(&t, 4_000, NAME).await;
        let check = "arrivals_agree";
        assert_eq!(violations(&t, check).await, 0);
        for (breaks, mends) in [
            ("update arrivals set received_kobo = 1".to_owned(), "update arrivals set received_kobo = 400000".to_owned()),
            (
                format!("update alerts set status = 'dismissed' where id = {}", alert.alert_id),
                format!("update alerts set status = '{}' where id = {}", alert.status.as_str(), alert.alert_id),
            ),
            (
                format!("update alerts set authenticity = 'unproven' where id = {}", alert.alert_id),
                format!("update alerts set authenticity = 'trusted' where id = {}", alert.alert_id),
            ),
            (
                format!("update arrivals set business_id = {}", other.id),
                format!("update arrivals set business_id = {}", shop.id),
            ),
            (
                format!("update payments set status = 'rejected', rejected_at = 1 where id = {}", payment.id),
                format!("update payments set status = 'pending', rejected_at = null where id = {}", payment.id),
            ),
        ] {
            by_hand(&t, &breaks, &breaks).await;
            assert_eq!(violations(&t, check).await, 1, "{breaks}");
            by_hand(&t, &mends, &mends).await;
            assert_eq!(violations(&t, check).await, 0, "{mends}");
        }
    }
}
