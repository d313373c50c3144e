//! One merchant against another: taking the transfer that was meant for somebody else, and shutting an account or
//! a price for everybody. What cannot be told apart goes to a person; how many other payments there are decides
//! nothing.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::money::Money;
use tillbell::domain::name::Folded;
use tillbell::domain::payment::{CorrectRefusal, Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::rematch::rematch;
use tillbell::ops::payments::correct::{Corrected, correct_amount};
use tillbell::ops::payments::create::{Created, create_payment};
use tillbell::ops::payments::like_names::{add_payment, key_names};
use tillbell::store::engine::unit::UNIT_MAX_STEPS;
use tillbell::store::{IdKind, Step};

use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::spoken_for::came;

const GIVEN: [&str; 12] = [
    "Bolanle", "Chidi", "Damilola", "Ebuka", "Folake", "Gbenga", "Ifeoma", "Jumoke", "Kelechi", "Lateef",
    "Musa", "Patience",
];
const FAMILY: [&str; 10] =
    ["Abubakar", "Balogun", "Danladi", "Ezeani", "Fashola", "Hassan", "Igwilo", "Johnson", "Kalu", "Lawal"];

/// Many open payments of one merchant and one amount, under names that are not the victim's: every fourth
/// shares a word with it.
pub async fn crowd(t: &TestApp, merchant: &Merchant, naira: i64, count: usize, shared: &str) {
    let first = t.create(merchant, naira, "Yetunde Zubair").await;
    let name = |n: usize| {
        let (given, family) = (GIVEN[n % 12], FAMILY[n / 12 % 10]);
        if n.is_multiple_of(4) { format!("{shared} {family} {given}") } else { format!("{given} {family}") }
    };
    copies(t, &first, count, name).await;
}

/// The payment so often again, under names of the test's own.
pub async fn copies(t: &TestApp, first: &Payment, count: usize, name: impl Fn(usize) -> String) {
    let mut steps: Vec<Step> = Vec::new();
    for n in 0..count {
        let payer_name = name(n);
        let id = t.app.store.id(IdKind::Payment).await.unwrap();
        let payment = Payment {
            id,
            transaction_id: format!("{}-{id}", first.transaction_id),
            payer_name,
            ..first.clone()
        };
        let more = add_payment(&payment, &Folded::new(&payment.payer_name), None);
        if steps.len() + more.len() > UNIT_MAX_STEPS {
            apply(t, std::mem::take(&mut steps)).await;
        }
        steps.extend(more);
    }
    apply(t, steps).await;
}

pub async fn apply(t: &TestApp, steps: Vec<Step>) {
    let unit = t.app.store.unit(0).await.unwrap().steps(steps);
    assert!(t.app.store.apply(unit).await.unwrap().is_done());
}

pub async fn correct(t: &TestApp, merchant: &Merchant, payment: &Payment, naira: i64) -> Corrected {
    let corrected =
        correct_amount(&t.app, &merchant.caller, &payment.transaction_id, Money(naira * 100), None);
    let corrected = corrected.await.unwrap();
    rematch(&t.app, payment.id).await.unwrap();
    corrected
}

pub async fn paid(t: &TestApp, naira: i64, payer: &str) -> AlertOutcome {
    t.advance(LATER + Span::seconds(20));
    t.ingest(&Alert::credit(ACCOUNT, naira, payer, at()).text()).await
}

/// The payments suggested to the person who looks at the alert.
pub async fn suggested(t: &TestApp, alert_id: i64) -> Vec<String> {
    let alert = t.app.store.alert(alert_id).await.unwrap().unwrap();
    let evidence: serde_json::Value = serde_json::from_str(&alert.evidence).unwrap();
    let considered = evidence["considered"].as_array().unwrap();
    considered.iter().map(|one| one["transaction_id"].as_str().unwrap().to_owned()).collect()
}

on_both! {
    async fn a_full_name_beside_a_half_one_of_another_merchant_goes_to_a_person(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 5_000, "Ekaette").await;
        let bait = t.create(&other, 21_000, "Ekaette Bassey").await;
        assert_eq!(mine.account_id, bait.account_id);
        let taken = correct(&t, &other, &bait, 5_000).await;
        assert!(matches!(taken, Corrected::Payment(_)), "a single word keeps nobody out: {taken:?}");
        let outcome = paid(&t, 5_000, "EKAETTE BASSEY").await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        let both = suggested(&t, outcome.alert_id).await;
        assert!(both.contains(&mine.transaction_id) && both.contains(&bait.transaction_id), "{both:?}");
    }

    async fn a_correction_that_cannot_be_told_from_anothers_payment_is_refused(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 5_000, "Ekaette Bassey").await;
        for (from, name, to) in [
            (21_000, "BASSEY Ekaette", 5_000),
            // Of 5,100 a payer who leaves the charges away sends 4,999: within a naira of the other's.
            (22_000, "Ekaette Bassy", 5_000),
            (23_000, "Ekaette Bassey", 5_101),
        ] {
            let bait = t.create(&other, from, name).await;
            let refused = correct(&t, &other, &bait, to).await;
            assert!(matches!(refused, Corrected::Refused(CorrectRefusal::NotTellable)), "{name}: {refused:?}");
            let after = t.payment(&bait).await;
            assert_eq!((after.amount, after.version), (Money(from * 100), bait.version), "nothing changed");
        }
        let outcome = paid(&t, 5_000, "EKAETTE BASSEY").await;
        assert_eq!(outcome.transaction_id, Some(mine.transaction_id), "{}", outcome.reason);
    }

    async fn a_correction_within_one_merchant_is_its_own_affair(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_000, "Ekaette Bassey").await;
        let second = t.create(&shop, 21_000, "Ekaette Bassey").await;
        assert!(matches!(correct(&t, &shop, &second, 5_000).await, Corrected::Payment(_)));
        let outcome = paid(&t, 5_000, "EKAETTE BASSEY").await;
        assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
    }

    async fn no_number_of_payments_hides_a_name_with_what_may_be_a_title(db: TestDatabase) {
        for (asked, bait, payer) in [
            ("Igwe Garba", "Ngozi Garba", "GARBA NGOZI"),
            ("Ngozi Garba", "Igwe Garba", "IGWE GARBA"),
            ("Garba Yerima", "Ngozi Garba", "YERIMA NGOZI GARBA"),
        ] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 5_000, asked).await;
            crowd(&t, &other, 5_000, 30, "Zainab").await;
            let wanted = create_payment(&t.app, &other.caller, t.request(&other, 5_000, bait), None).await.unwrap();
            let outcome = paid(&t, 5_000, payer).await;
            let theirs = match wanted {
                Created::Payment(view) => t.payment(&view.payment).await.status,
                Created::NoAccount => Status::Pending,
                other => panic!("{other:?}"),
            };
            assert_eq!(theirs, Status::Pending, "{asked}: {outcome:?}");
            if outcome.status == AlertStatus::Review {
                let suggested = suggested(&t, outcome.alert_id).await;
                assert!(suggested.contains(&mine.transaction_id), "{asked}: {suggested:?}");
            } else {
                assert_eq!(outcome.transaction_id, Some(mine.transaction_id), "{asked}: {outcome:?}");
            }
        }
    }

    async fn a_slow_clock_or_a_value_date_lets_no_other_merchant_take_it(db: TestDatabase) {
        for slow in [Span::minutes(3), Span::hours(9)] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let bait = t.create(&other, 5_050, "Halima Garba").await;
            t.advance(Span::hours(20));
            t.create(&victim, 5_000, "Halima").await;
            t.create(&victim, 5_000, "Halima Garba").await;
            t.advance(Span::minutes(1));
            let shown = t.app.now() - slow;
            let outcome = t.ingest(&Alert::credit(ACCOUNT, 5_050, "HALIMA GARBA", shown).text()).await;
            assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
            assert_eq!(t.payment(&bait).await.status, Status::Pending);
        }
    }

    async fn a_correction_takes_no_money_that_is_about_anothers_amount(db: TestDatabase) {
        for asked in [4_960, 5_150, 5_101] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, asked, "Zainab Hassan").await;
            let bait = t.create(&other, 21_000, "Musa Danladi").await;
            let waiting = paid(&t, 5_000, "MUSA DANLADI").await;
            assert!(waiting.status.is_waiting(), "{waiting:?}");
            assert!(matches!(correct(&t, &other, &bait, 5_000).await, Corrected::Payment(_)));
            assert_eq!(t.payment(&bait).await.status, Status::Pending, "{asked}");
            let alert = t.app.store.alert(waiting.alert_id).await.unwrap().unwrap();
            assert!(alert.reason.contains(&mine.transaction_id), "{}", alert.reason);
        }
    }

    async fn a_rounded_transfer_of_a_close_name_of_another_goes_to_a_person(db: TestDatabase) {
        for (asked, lname) in [("Halima", None), ("Halima Garba", Some("Danladi"))] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let bait = t.create(&other, 5_000, "Halima Garba").await;
            let mut new = t.request(&victim, 4_980, asked);
            new.payer.last_name = lname.map(str::to_owned);
            let mine = match create_payment(&t.app, &victim.caller, new, None).await.unwrap() {
                Created::Payment(view) => view.payment,
                other => panic!("{other:?}"),
            };
            assert_eq!(mine.account_id, bait.account_id);
            let outcome = paid(&t, 5_000, "HALIMA GARBA").await;
            assert_eq!(outcome.status, AlertStatus::Review, "{asked}: {outcome:?}");
            assert_eq!(t.payment(&bait).await.status, Status::Pending);
        }
    }

    async fn no_number_of_waiting_alerts_hides_one_from_a_correction(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER);
        for n in 0..205 {
            t.advance(Span::seconds(1));
            let payer = format!("{} {}", GIVEN[n % 12], FAMILY[n % 10]);
            let waiting = t.ingest(&Alert::credit(ACCOUNT, 6_500, &payer, t.app.now()).text()).await;
            assert!(waiting.status.is_waiting(), "{waiting:?}");
        }
        let last = t.ingest(&Alert::credit(ACCOUNT, 6_500, "Halima Garba", t.app.now()).text()).await;
        assert!(last.status.is_waiting(), "{last:?}");
        correct(&t, &shop, &payment, 6_500).await;
        assert_eq!(t.payment(&payment).await.status, Status::Approved);
    }

    async fn no_number_of_payments_hides_one_when_an_account_is_chosen(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        crowd(&t, &other, 5_000, 205, "Halima").await;
        let mine = t.create(&victim, 5_000, "Halima Garba").await;
        crowd(&t, &other, 5_000, 205, "Garba").await;
        let like = create_payment(&t.app, &other.caller, t.request(&other, 5_000, "Garba Halima"), None).await;
        assert!(matches!(like.unwrap(), Created::NoAccount), "the only account is taken");
        let outcome = paid(&t, 5_000, "HALIMA GARBA").await;
        assert_eq!(outcome.transaction_id, Some(mine.transaction_id), "{}", outcome.reason);
    }

    async fn no_number_of_payments_hides_one_when_an_alert_is_decided(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        crowd(&t, &other, 5_000, 205, "Halima").await;
        let mine = t.create(&victim, 5_000, "Halima Garba").await;
        let theirs = t.create(&other, 7_000, "Halima Garba").await;
        crowd(&t, &other, 5_000, 205, "Garba").await;
        t.correct_unasked(&theirs, 5_000).await;
        let outcome = paid(&t, 5_000, "HALIMA GARBA").await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        let both = suggested(&t, outcome.alert_id).await;
        assert!(both.contains(&mine.transaction_id) && both.contains(&theirs.transaction_id), "{both:?}");
    }

    async fn a_close_name_among_many_of_its_amount_is_seen(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        t.create(&victim, 5_000, "Halima Gabra").await;
        crowd(&t, &other, 5_000, 410, "Halima").await;
        let theirs = t.create(&other, 7_000, "Halima Garba").await;
        t.correct_unasked(&theirs, 5_000).await;
        let outcome = paid(&t, 5_000, "HALIMA GARBA").await;
        assert_eq!(outcome.status, AlertStatus::Review, "a slip of the victim's customer: {outcome:?}");
    }

    async fn money_that_was_rounded_up_to_anothers_price_goes_to_a_person(db: TestDatabase) {
        for (asked, theirs, review) in
            [(5_173, 5_200, true), (4_997, 5_260, true), (4_996, 5_260, false), (3_800, 4_000, true), (3_799, 4_000, false)]
        {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            t.create(&victim, asked, "Chike Nwosu").await;
            t.create(&other, theirs, "Nwosu Chike").await;
            let outcome = paid(&t, theirs, "NWOSU CHIKE").await;
            let wanted = if review { AlertStatus::Review } else { AlertStatus::Matched };
            assert_eq!(outcome.status, wanted, "{asked} and {theirs}: {outcome:?}");
            t.audited().await;
        }
    }

    async fn a_corrected_payment_does_not_take_what_another_asked_exactly(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 7_000, "Adaugo Obi").await;
        let bait = t.create(&other, 9_000, "Emeka Nwosu").await;
        // Her husband pays.
        let waiting = paid(&t, 7_000, "EMEKA NWOSU").await;
        assert_ne!(waiting.status, AlertStatus::Matched);
        assert!(matches!(correct(&t, &other, &bait, 7_000).await, Corrected::Payment(_)));
        let after = t.app.store.alert(waiting.alert_id).await.unwrap().unwrap();
        assert_eq!((after.status, t.payment(&bait).await.status), (AlertStatus::Review, Status::Pending), "{}", after.reason);
        let both = suggested(&t, waiting.alert_id).await;
        assert!(both.contains(&mine.transaction_id) && both.contains(&bait.transaction_id), "{both:?}");
    }

    async fn like_named_payments_of_two_merchants_are_kept_on_two_accounts(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        t.account("0123459982").await;
        let mine = t.create(&shop, 5_000, "Halima Garba").await;
        // The account used least recently is the second one each time but for the name.
        t.create(&shop, 800, "Bolanle Kalu").await;
        let theirs = t.create(&other, 9_400, "Garba Halima").await;
        assert_ne!(mine.account_id, theirs.account_id);
        let third = t.merchant("third.example").await;
        let crowded = t.create(&third, 12_000, "Halima Garba").await;
        assert!(crowded.account_id.is_some(), "preferred, not needed");
    }

    async fn names_that_never_match_shut_no_price(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        for number in ["0123459982", "0123457728", "0123451193"] {
            t.account(number).await;
        }
        let long = "Ada Bem Chi Dan Efe Fola Gozie Hauwa Ima Jide Kola";
        let mut baited = Vec::new();
        for n in 0..4 {
            let bait = t.create(&other, 31_000 + n, long).await;
            assert!(matches!(correct(&t, &other, &bait, 5_000).await, Corrected::Payment(_)));
            baited.push(bait.account_id.unwrap());
        }
        let mut all: Vec<i64> = t.app.store.accounts().await.unwrap().iter().map(|account| account.id).collect();
        baited.sort_unstable();
        all.sort_unstable();
        assert_eq!((baited.len(), &baited), (4, &all), "one on each account");
        let mine = t.create(&victim, 5_000, "Halima Garba").await;
        let account = t.app.store.accounts().await.unwrap().into_iter().find(|a| Some(a.id) == mine.account_id).unwrap();
        t.advance(LATER + Span::seconds(20));
        let outcome = t.ingest(&Alert::credit(&account.number, 5_000, "HALIMA GARBA", at()).text()).await;
        assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
    }

    async fn thousands_of_one_price_stop_nobodys_alerts_and_corrections(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let wrong = t.create(&victim, 6_500, "Ngozi Madu").await;
        let to_their_price = t.create(&victim, 7_400, "Ngozi Duru").await;
        crowd(&t, &other, 8_000, 2_005, "Halima").await;
        let mine = t.create(&victim, 8_000, "Halima Garba").await;
        let outcome = paid(&t, 8_000, "HALIMA GARBA").await;
        assert_eq!(outcome.transaction_id, Some(mine.transaction_id), "{}", outcome.reason);
        let waiting = t.ingest(&Alert::credit(ACCOUNT, 9_000, "NGOZI MADU", at()).text()).await;
        assert_eq!(waiting.status, AlertStatus::Review);
        assert!(matches!(correct(&t, &victim, &wrong, 9_000).await, Corrected::Payment(_)));
        assert_eq!(t.payment(&wrong).await.status, Status::Approved);
        assert!(matches!(correct(&t, &victim, &to_their_price, 8_000).await, Corrected::Payment(_)));
        let outcome = came(&t, 8_000, "NGOZI DURU").await;
        assert_eq!(outcome.transaction_id, Some(to_their_price.transaction_id), "{}", outcome.reason);
    }

    async fn payments_of_before_are_found_once_their_names_are_indexed(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 5_000, "Halima Garba").await;
        crowd(&t, &other, 5_000, 205, "Halima").await;
        let second = t.create(&victim, 5_000, "Ekaette Bassey").await;
        for before in [&mine, &second] {
            t.forget_name_rows(before).await;
        }
        let early = paid(&t, 5_000, "HALIMA GARBA").await;
        assert_eq!(early.transaction_id, Some(mine.transaction_id), "all of the amount are read: {}", early.reason);
        key_names(&t.app).await.unwrap();
        assert_eq!(t.app.store.unkeyed_payments(1).await.unwrap().len(), 0);
        let like = create_payment(&t.app, &other.caller, t.request(&other, 5_000, "Bassey Ekaette"), None).await;
        assert!(matches!(like.unwrap(), Created::NoAccount));
    }

    async fn names_are_forgotten_a_month_after_their_payments(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_000, "Halima Garba").await;
        let keys = tillbell::domain::name::index::stored_keys(&Folded::new("Halima Garba"));
        let rows = || async {
            let named = tillbell::store::tables::payment_names::Named {
                account_id: None,
                keys: &keys,
                amounts: ops::payments::like_names::ANY_AMOUNT,
                open_after: tillbell::domain::time::Timestamp(0),
                limit: 10,
            };
            t.app.store.payments_named(&named).await.unwrap().len()
        };
        t.advance(Span::days(32));
        ops::payments::sweep::sweep(&t.app).await.unwrap();
        ops::retention::forget_old(&t.app).await.unwrap();
        assert_eq!(rows().await, 1, "suggestions look back so far");
        t.advance(Span::days(2));
        ops::retention::forget_old(&t.app).await.unwrap();
        assert_eq!(rows().await, 0);
    }

    async fn a_program_of_befores_correction_and_other_keys_are_indexed_anew(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 5_000, "Halima Garba").await;
        // A program of before corrects on, and moves no rows.
        t.run("update payments set amount_kobo = 600000, version = version + 1 where id = $1", &mine).await;
        assert_eq!(t.app.store.unkeyed_payments(2).await.unwrap().len(), 1);
        key_names(&t.app).await.unwrap();
        assert_eq!(t.app.store.unkeyed_payments(1).await.unwrap().len(), 0);
        let keys = tillbell::domain::name::index::stored_keys(&Folded::new("Halima Garba"));
        let named = tillbell::store::tables::payment_names::Named {
            account_id: mine.account_id,
            keys: &keys,
            amounts: (Money(600_000), Money(600_000)),
            open_after: tillbell::domain::time::Timestamp(0),
            limit: 10,
        };
        assert_eq!(t.app.store.payments_named(&named).await.unwrap().len(), 1);
        // Back to the amount of the rows that were left.
        assert!(matches!(correct(&t, &victim, &mine, 5_000).await, Corrected::Payment(_)));
        // A release that makes other keys, some of which a name has already.
        t.run("update payments set name_keys = 0 where id = $1", &mine).await;
        key_names(&t.app).await.unwrap();
        assert_eq!(t.app.store.unkeyed_payments(1).await.unwrap().len(), 0);
        let like = create_payment(&t.app, &other.caller, t.request(&other, 5_000, "Garba Halima"), None).await;
        assert!(matches!(like.unwrap(), Created::NoAccount));
    }

    async fn ended_payments_of_a_name_send_nobodys_alerts_to_a_person(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let first = t.create(&other, 5_000, "Halima Garba").await;
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..2_000 {
            let id = t.app.store.id(IdKind::Payment).await.unwrap();
            let long_ago = |time| time - Span::days(9);
            let ended = Payment {
                id,
                transaction_id: format!("{}-{id}", first.transaction_id),
                created_at: long_ago(first.created_at),
                expires_at: long_ago(first.expires_at),
                approvable_until: long_ago(first.approvable_until),
                ..first.clone()
            };
            steps.extend(add_payment(&ended, &Folded::new(&ended.payer_name), None));
            if steps.len() + 3 > UNIT_MAX_STEPS {
                apply(&t, std::mem::take(&mut steps)).await;
            }
        }
        apply(&t, steps).await;
        ops::payments::sweep::sweep(&t.app).await.unwrap();
        ops::payments::reject::reject_payment(&t.app, other.id, &first.transaction_id, "test", "given up").await.unwrap().unwrap();
        assert_eq!(t.payment(&first).await.status, Status::Rejected);
        // When the late window of the last one is over, too.
        t.advance(Span::hours(49));
        let mine = t.create(&victim, 5_000, "Halima Garba").await;
        t.advance(LATER);
        let mail = Alert::credit(ACCOUNT, 5_000, "HALIMA GARBA", t.app.now() - Span::seconds(20));
        let outcome = t.ingest(&mail.text()).await;
        assert_eq!(outcome.transaction_id, Some(mine.transaction_id), "{}", outcome.reason);
    }

    async fn of_a_name_that_its_bank_cut_others_of_about_the_amount_are_seen(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 5_173, "Halima Garbakwe").await;
        let theirs = t.create(&other, 5_000, "Halima Garbakuru").await;
        assert_eq!(mine.account_id, theirs.account_id);
        t.advance(LATER + Span::seconds(20));
        let mut taken = t.taken(&Alert::credit(ACCOUNT, 5_000, "HALIMA GARBAK", at()).text(), true);
        taken.facts.payer_name_cut = true;
        let outcome = ops::alerts::take::take_alert(&t.app, &taken).await.unwrap();
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        let seen = suggested(&t, outcome.alert_id).await;
        assert!(seen.contains(&mine.transaction_id) && outcome.reason.contains(&mine.transaction_id), "{seen:?} {outcome:?}");
    }
}
