//! What keeps a transfer for a person is not forgotten for what comes beside it, and no words of a merchant's pass for ours.

use tillbell::domain::alert::{AlertFacts, AlertStatus, BankTime, TimePrecision};
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::read::alert_details;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::correct::Corrected;
use tillbell::ops::payments::create::{Created, NewPayment, create_payment};
use tillbell::ops::payments::sweep::sweep;

use crate::another_merchant::{correct, crowd};
use crate::counted_once::approved;
use crate::harness::app::{ACCOUNT, LATER, Merchant, START, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::log_lines::set;
use crate::meant_for_others::OTHER;
use crate::spoken_for::{came, named, obstacles};

const PAYER: &str = "Halima Garba";
const SHOWN: &str = "HALIMA GARBA";
const MORE_SENT: &str = "more of what this payer has sent speaks so";
const NOT_ALL: &str = "too many payments bear the payer's name, or were paid under it, to find out whether he means one on another account";
const SECOND: &str = "this may be a second transfer for it";

async fn asked_as(t: &TestApp, shop: &Merchant, id: &str, naira: i64, payer: &str) -> Payment {
    let new = NewPayment { transaction_id: Some(id.into()), ..t.request(shop, naira, payer) };
    match create_payment(&t.app, &shop.caller, new, None).await.unwrap() {
        Created::Payment(view) => view.payment,
        other => panic!("not created: {other:?}"),
    }
}

/// A transfer of 8,000 just now, with what its mail tells changed.
async fn came_as(t: &TestApp, shown: &str, change: impl FnOnce(&mut AlertFacts)) -> AlertOutcome {
    t.advance(LATER);
    let mail = Alert::credit(ACCOUNT, 8_000, shown, t.app.now() - Span::seconds(20)).text();
    let mut taken = t.taken(&mail, true);
    change(&mut taken.facts);
    take_alert(&t.app, &taken).await.unwrap()
}

/// A transfer of 8,000 from a payer who is shown just so.
async fn came_shown(t: &TestApp, shown: &str, change: impl FnOnce(&mut AlertFacts)) -> AlertOutcome {
    let written = |facts: &mut AlertFacts| {
        facts.payer_name = Some(shown.into());
        change(facts);
    };
    came_as(t, shown, written).await
}

/// A person takes a transfer off a payment as a wrong match.
async fn taken_off(t: &TestApp, payment: &Payment) {
    let ask = Reverse {
        business_id: payment.business_id,
        transaction_id: &payment.transaction_id,
        reason: "it was for another shop",
        operator: "ife",
        undoing_alert: None,
        despite: None,
    };
    reverse_payment(&t.app, &ask).await.unwrap().unwrap();
}

/// Its bank's field was full.
fn cut(facts: &mut AlertFacts) {
    facts.payer_name_cut = true;
}

/// The alert as it stands.
async fn now(t: &TestApp, alert: &AlertOutcome) -> String {
    t.app.store.alert(alert.alert_id).await.unwrap().unwrap().reason
}

on_both! {
    async fn that_she_has_paid_somebody_before_is_told_beside_whatever_else_speaks(db: TestDatabase) {
        for is_corrected in [false, true] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let (taker, friend) = (t.merchant("bolu.example").await, t.merchant("kente.example").await);
            let mine = t.create(&victim, 8_000, PAYER).await;
            assert_eq!(came(&t, 8_000, SHOWN).await.status, AlertStatus::Matched);
            t.advance(Span::hours(10));
            let beside = t.create(&friend, if is_corrected { 20_000 } else { 8_100 }, PAYER).await;
            t.advance(Span::hours(2));
            let bait = t.create(&taker, 8_000, PAYER).await;
            let other = t.create(&taker, 7_000, "Peter Eze").await;
            let second = came(&t, 8_000, SHOWN).await;
            assert_eq!(second.status, AlertStatus::Review, "{second:?}");
            if is_corrected {
                assert!(matches!(correct(&t, &friend, &beside, 8_100).await, Corrected::Payment(_)));
                assert!(matches!(correct(&t, &taker, &other, 8_000).await, Corrected::Payment(_)));
            }
            let told = now(&t, &second).await;
            assert!(told.contains(&named(&mine)) && told.contains(SECOND), "{told}");
            assert!(told.contains(&named(&beside)), "{told}");
            // What stood beside is over, and she sends it once more.
            t.advance(Span::hours(46));
            sweep(&t.app).await.unwrap();
            assert_eq!((t.payment(&beside).await.status, t.payment(&bait).await.status), (Status::Rejected, Status::Pending));
            let third = came(&t, 8_000, SHOWN).await;
            assert_eq!(third.status, AlertStatus::Review, "{third:?}");
        }
    }

    async fn a_transaction_id_in_our_own_words_silences_nothing(db: TestDatabase) {
        for id in ["k-order", NOT_ALL] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let (taker, friend) = (t.merchant("bolu.example").await, t.merchant("kente.example").await);
            let mut shops = vec![victim];
            for n in 1..6 {
                shops.push(t.merchant(&format!("shop{n}.example")).await);
            }
            for (n, shop) in (0_i64..).zip(&shops) {
                t.create(shop, 1_000 + 700 * n, "H Garba Bello").await;
                assert_eq!(came(&t, 1_000 + 700 * n, "H GARBA BELLO").await.status, AlertStatus::Matched, "{n}");
            }
            asked_as(&t, &friend, id, 8_100, "H Garba Bello").await;
            let bait = t.create(&taker, 8_000, "H Garba Bello").await;
            t.account(OTHER).await;
            t.create_elsewhere(&shops[0], 8_000, PAYER, &bait).await;
            let alert = came(&t, 8_000, "H GARBA BELLO").await;
            assert!(alert.reason.contains(&format!("{id:?}")), "{alert:?}");
            let told = obstacles(&t, &alert, &bait).await;
            assert!(told.iter().any(|one| one == NOT_ALL), "{id}: {told:?}");
        }
    }

    async fn a_wrong_match_that_is_taken_off_leaves_what_was_told_of_it(db: TestDatabase) {
        for has_history in [true, false] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("bolu.example").await;
            if has_history {
                t.create(&victim, 8_000, PAYER).await;
                assert_eq!(came(&t, 8_000, SHOWN).await.status, AlertStatus::Matched);
                t.advance(Span::hours(12));
            }
            let baits = [t.create(&taker, 8_000, PAYER).await, t.create(&taker, 8_000, PAYER).await];
            let second = came(&t, 8_000, SHOWN).await;
            let wrong = if has_history {
                assert!(second.reason.contains(SECOND), "{second:?}");
                approved(&t, &second, &baits[0], None).await;
                &baits[0]
            } else {
                baits.iter().find(|bait| Some(&bait.transaction_id) == second.transaction_id.as_ref()).unwrap()
            };
            taken_off(&t, wrong).await;
            // What the rules had considered is suggested again to whoever looks at it now.
            let shown = alert_details(&t.app, second.alert_id).await.unwrap().expect("the alert is there");
            let is_shown = |bait: &Payment| shown.considered.iter().any(|one| one.id == bait.id);
            assert!(baits.iter().all(is_shown), "{has_history} {shown:?}");
            if has_history {
                t.advance(Span::hours(46));
            }
            let third = came(&t, 8_000, SHOWN).await;
            assert_eq!(third.status, AlertStatus::Review, "{has_history} {third:?}");
            assert!(third.reason.contains("waits for a person"), "{third:?}");
        }
    }

    async fn what_a_debit_holds_before_it_was_decided_is_weighed_all_the_same(db: TestDatabase) {
        let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
        let taker = t.merchant("bolu.example").await;
        t.create(&victim, 8_000, PAYER).await;
        assert_eq!(came(&t, 8_000, SHOWN).await.status, AlertStatus::Matched);
        t.advance(Span::hours(12));
        let bait = t.create(&taker, 8_000, PAYER).await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 8_000, SHOWN, t.app.now() - Span::seconds(20));
        let second = t.ingest(&credit.text()).await;
        // As where the process died before it decided.
        let undecided = "update alerts set status = 'new', reason = '', evidence = '' where id = $1";
        set(&t, undecided, second.alert_id).await;
        let debit = Alert { direction: "DEBIT", session: credit.session.clone(), ..Alert::credit(ACCOUNT, 8_000, SHOWN, t.app.now()) };
        t.ingest(&debit.text()).await;
        let held = t.app.store.alert(second.alert_id).await.unwrap().unwrap();
        assert_eq!(held.status, AlertStatus::Review, "{held:?}");
        assert!(held.reason.contains("may have taken this money back") && held.evidence.contains(SECOND), "{held:?}");
        t.advance(Span::hours(46));
        let third = came(&t, 8_000, SHOWN).await;
        assert_eq!((third.status, t.payment(&bait).await.status), (AlertStatus::Review, Status::Pending), "{third:?}");
    }

    async fn an_older_order_of_the_same_shop_hides_nothing(db: TestDatabase) {
        let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
        let taker = t.merchant("bolu.example").await;
        t.create(&victim, 3_000, PAYER).await;
        assert_eq!(came(&t, 3_000, SHOWN).await.status, AlertStatus::Matched);
        let old = t.create(&taker, 8_000, PAYER).await;
        t.account(OTHER).await;
        t.create_elsewhere(&victim, 8_000, PAYER, &old).await;
        let first = came(&t, 8_000, SHOWN).await;
        assert_eq!(first.status, AlertStatus::Review, "{first:?}");
        t.advance(Span::hours(12));
        let new = t.create(&taker, 8_000, "Halima Bisi Garba").await;
        assert_eq!(new.account_id, old.account_id);
        t.advance(Span::hours(11));
        // The older one fits better; the first transfer came before the other asked.
        let second = came(&t, 8_000, SHOWN).await;
        let told = format!("alert {} of this amount and under this name waits for a person", first.alert_id);
        assert!(second.reason.contains(&told), "{second:?}");
        t.advance(Span::hours(26));
        sweep(&t.app).await.unwrap();
        assert_eq!((t.payment(&old).await.status, t.payment(&new).await.status), (Status::Rejected, Status::Pending));
        let third = came(&t, 8_000, SHOWN).await;
        assert_eq!((third.status, t.payment(&new).await.status), (AlertStatus::Review, Status::Pending), "{third:?}");
    }

    async fn what_a_crowd_hides_is_asked_about_what_his_payer_sent_all_the_same(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let taker = t.merchant("bolu.example").await;
        let order = t.create(&victim, 8_000, "Halima Garbakwe").await;
        assert_eq!(came_as(&t, "HALIMA GARBAK", cut).await.status, AlertStatus::Matched);
        t.advance(Span::hours(2));
        // More than are read where the index of names cannot help.
        crowd(&t, &taker, 8_000, 2_005, "Musa").await;
        t.advance(Span::hours(10));
        let bait = t.create(&taker, 8_000, "Halima Garbakwe").await;
        let second = came_as(&t, "HALIMA GARBAK", cut).await;
        assert_eq!(second.status, AlertStatus::Review, "{second:?}");
        assert!(second.reason.contains(&named(&order)), "{second:?}");
        // The crowd's time is over, and the first transfer is long ago.
        t.advance(Span::hours(46));
        while sweep(&t.app).await.unwrap().rejected > 0 {}
        let third = came_as(&t, "HALIMA GARBAK", cut).await;
        assert_eq!((third.status, t.payment(&bait).await.status), (AlertStatus::Review, Status::Pending), "{third:?}");
        assert!(third.reason.contains("waits for a person"), "{third:?}");
    }

    async fn a_name_that_a_bank_cut_is_the_whole_ones(db: TestDatabase) {
        type Shown = (&'static str, fn(&mut AlertFacts));
        let whole = |_: &mut AlertFacts| {};
        let told: [(Shown, Shown, [&str; 2], bool); 6] = [
            (("HALIMA GARBAKWE", whole), ("HALIMA GARBAK", cut), ["Halima Garbakwe"; 2], true),
            (("HALIMA GARBAK", cut), ("HALIMA GARBAKWE", whole), ["Halima Garbakwe"; 2], true),
            (("HALIMA GARBAKW", cut), ("HALIMA GARBAK", cut), ["Halima Garbakwe"; 2], true),
            (("Halima Garbakwe", whole), ("HALIMA GARBAK", cut), ["Halima Garbakwe"; 2], true),
            // What is left is a name by itself.
            (("CHINEDU OKOROCHA", whole), ("CHINEDU OKORO", cut), ["Chinedu Okorocha", "Chinedu Okoro"], true),
            (("MUSA GARBAKWE", whole), ("HALIMA GARBAK", cut), ["Musa Garbakwe", "Halima Garbakwe"], false),
        ];
        for ((first, told_first), (second, told_second), [payer, baited], is_one) in told {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("bolu.example").await;
            let order = t.create(&victim, 8_000, payer).await;
            let paid = came_shown(&t, first, told_first).await;
            assert_eq!(paid.status, AlertStatus::Matched, "{first}");
            let bait = t.create(&taker, 8_000, baited).await;
            let again = came_shown(&t, second, told_second).await;
            let expected = if is_one { AlertStatus::Review } else { AlertStatus::Matched };
            assert_eq!(again.status, expected, "{first}, {second}: {again:?}");
            assert_eq!(again.reason.contains(&named(&order)), is_one, "{first}, {second}: {again:?}");
            assert_eq!(t.payment(&bait).await.status == Status::Pending, is_one, "{first}, {second}");
        }
    }

    async fn a_second_transfer_speaks_whatever_was_made_of_it(db: TestDatabase) {
        let close = |facts: &mut AlertFacts| {
            facts.payer_name = Some("CHINEDU OKORO".into());
            cut(facts);
        };
        let placeless = |facts: &mut AlertFacts| facts.account_number = None;
        type Case = (&'static str, fn(&mut AlertFacts), bool);
        let told: [Case; 3] =
            [("close", close, false), ("dismissed without an account", placeless, true), ("without an account", placeless, false)];
        for (what, change, is_dismissed) in told {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("bolu.example").await;
            t.create(&victim, 8_000, "Chinedu Okorocha").await;
            assert_eq!(came(&t, 8_000, "CHINEDU OKOROCHA").await.status, AlertStatus::Matched);
            t.advance(Span::hours(12));
            let bait = t.create(&taker, 8_000, "Chinedu Okorocha").await;
            let second = came_as(&t, "CHINEDU OKOROCHA", change).await;
            assert_eq!(second.status, AlertStatus::Review, "{what}: {second:?}");
            if is_dismissed {
                dismiss_alert(&t.app, second.alert_id, "ife", "a second transfer").await.unwrap().unwrap();
            }
            t.advance(Span::hours(46));
            let third = came(&t, 8_000, "CHINEDU OKOROCHA").await;
            let now = (third.status, t.payment(&bait).await.status);
            assert_eq!(now, (AlertStatus::Review, Status::Pending), "{what}: {third:?}");
        }
    }

    async fn two_days_before_a_day_begin_with_it(db: TestDatabase) {
        // Also where the Date of its mail says by when it came.
        for is_dated in [false, true] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("bolu.example").await;
            let order = t.create(&victim, 8_000, PAYER).await;
            assert_eq!(came(&t, 8_000, SHOWN).await.status, AlertStatus::Matched);
            t.advance(Span::hours(24));
            t.create(&taker, 8_000, PAYER).await;
            // The bank tells the day after that, without an hour, and the mailbox was read in the evening.
            let midnight = START - Span::hours(9) + Span::days(2);
            let end = midnight + Span::hours(24) - Span::seconds(1);
            let day = BankTime { begin: midnight, end, precision: TimePrecision::Day };
            t.advance(Span((midnight + Span::hours(19)).0 - t.app.now().0));
            let again = if is_dated {
                let mail = Alert::credit(ACCOUNT, 8_000, SHOWN, t.app.now() - Span::seconds(20)).text();
                let (front, back) = mail.split_once("<tr><td>Time of Transaction").unwrap();
                let mail = format!("{front}{}", back.split_once("</tr>\r\n").unwrap().1);
                let taken = t.taken(&mail, true);
                assert!(taken.facts.occurred.is_some_and(|told| told.begin == midnight && Some(told.end) == taken.mailed_at));
                take_alert(&t.app, &taken).await.unwrap()
            } else {
                came_as(&t, SHOWN, |facts| facts.occurred = Some(day)).await
            };
            assert_eq!(again.status, AlertStatus::Review, "{is_dated}: {again:?}");
            assert!(again.reason.contains(&named(&order)), "{is_dated}: {again:?}");
        }
    }

    async fn many_that_wait_hide_nobody_who_was_paid(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let taker = t.merchant("bolu.example").await;
        let order = t.create(&victim, 8_000, PAYER).await;
        assert_eq!(came(&t, 8_000, SHOWN).await.status, AlertStatus::Matched);
        let bait = t.create(&taker, 8_000, PAYER).await;
        let mut waiting = Vec::new();
        for _ in 0..6 {
            waiting.push(came(&t, 8_000, SHOWN).await);
        }
        let last = waiting.pop().unwrap();
        assert!(last.reason.contains(&named(&order)) && last.reason.contains(MORE_SENT), "{last:?}");
        // Who approves hears of those that the reason leaves out.
        let told = obstacles(&t, &last, &bait).await;
        for one in waiting {
            let says = format!("alert {} of this amount", one.alert_id);
            assert!(last.reason.contains(&says) != told.iter().any(|why| why.contains(&says)), "{says}: {last:?} {told:?}");
        }
    }

    async fn a_cut_names_transfer_that_went_back_late_may_be_sent_again(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let taker = t.merchant("bolu.example").await;
        let order = t.create(&victim, 8_000, "Halima Garbakwe").await;
        assert_eq!(came_as(&t, "HALIMA GARBAK", cut).await.status, AlertStatus::Matched);
        t.advance(Span::days(4));
        taken_off(&t, &order).await;
        let bait = t.create(&taker, 8_000, "Halima Garbakwe").await;
        let again = came_as(&t, "HALIMA GARBAKWE", |_| {}).await;
        assert_eq!((again.status, t.payment(&bait).await.status), (AlertStatus::Review, Status::Pending), "{again:?}");
        assert!(again.reason.contains(&named(&order)), "{again:?}");
    }

    async fn whom_a_transfer_pays_now_is_told_beside_whom_it_paid_before(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let (taker, third) = (t.merchant("bolu.example").await, t.merchant("chidi.example").await);
        let (first, second) = (t.create(&victim, 8_000, PAYER).await, t.create(&victim, 8_000, PAYER).await);
        let wrong = came(&t, 8_000, SHOWN).await;
        came(&t, 8_000, SHOWN).await;
        let onto = [first, second].into_iter().find(|one| Some(&one.transaction_id) == wrong.transaction_id.as_ref()).unwrap();
        taken_off(&t, &onto).await;
        let theirs = t.create(&third, 8_000, PAYER).await;
        approved(&t, &wrong, &theirs, Some("it was for this shop")).await;
        t.create(&taker, 8_000, PAYER).await;
        let last = came(&t, 8_000, SHOWN).await;
        assert_eq!(last.status, AlertStatus::Review, "{last:?}");
        assert!(last.reason.contains(&format!("of business {}", victim.id)) && last.reason.contains(&named(&theirs)), "{last:?}");
    }
}
