//! Money that may be meant for somebody else: whose payment ended a moment ago, asks for it on another account, is
//! written otherwise or stands among very many. And what a person is told who approves beside it.

use tillbell::domain::account::mask_fits;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::money::Money;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::approve::ApproveRefused;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::correct::Corrected;
use tillbell::ops::payments::create::{Created, create_payment};
use tillbell::ops::payments::sweep::sweep;
use tillbell::store::IdKind;
use tillbell::store::tables::payment_names::{self, Elsewhere, Ended, Named};
use tillbell::store::tables::payments::{self, Own};

use crate::another_merchant::{apply, correct, crowd, paid, suggested};
use crate::counted_once::approve_on;
use crate::harness::app::{ACCOUNT, LATER, Merchant, START, TestApp, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::spoken_for::{pay_and_reverse, reject};

pub const OTHER: &str = "0123458801";
/// More payments of one amount than are read whatever their names.
const MANY: usize = 30;

async fn created(t: &TestApp, merchant: &Merchant, naira: i64, payer: &str) -> Option<Payment> {
    match create_payment(&t.app, &merchant.caller, t.request(merchant, naira, payer), None).await.unwrap() {
        Created::Payment(view) => Some(view.payment),
        Created::NoAccount => None,
        other => panic!("{other:?}"),
    }
}

/// The alert is a person's to decide, who is told of the other one's payment.
pub async fn goes_to_a_person(t: &TestApp, alert: i64, mine: &Payment, bait: &Payment, how: &str) {
    let after = t.app.store.alert(alert).await.unwrap().unwrap();
    assert_eq!((after.status, t.payment(bait).await.status), (AlertStatus::Review, Status::Pending), "{how}");
    let told =
        format!("another beneficiary's payment {:?} of business {}", mine.transaction_id, mine.business_id);
    assert!(after.reason.contains(&told), "{how}: {}", after.reason);
    let both = suggested(t, alert).await;
    let ids = [&mine.transaction_id, &bait.transaction_id];
    assert!(ids.iter().all(|id| both.contains(id)), "{how}: {both:?} without one of {ids:?}");
}

on_both! {
    async fn money_of_a_payment_that_has_just_ended_is_not_anothers(db: TestDatabase) {
        // While it was open, in its late window, and when nothing could pay it any more.
        let half_past_48 = Span::minutes(48 * 60 + 30);
        for (crowded, sent, is_taken) in [
            (false, Span::hours(23), false),
            (true, Span::hours(23), false),
            (false, Span::hours(25), false),
            (true, half_past_48, true),
        ] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 8_100, "Halima Garba").await;
            t.advance(Span::hours(22));
            let bait = t.create(&other, 8_100, "Halima Danladi").await;
            if crowded {
                crowd(&t, &other, 8_100, MANY, "Zainab").await;
            }
            t.advance(Span::hours(27));
            sweep(&t.app).await.unwrap();
            assert_eq!(t.payment(&mine).await.status, Status::Rejected);
            let mail = Alert::credit(ACCOUNT, 8_100, "HALIMA GARBA DANLADI", START + sent);
            let outcome = t.ingest(&mail.text()).await;
            if is_taken {
                assert_eq!(outcome.transaction_id.as_ref(), Some(&bait.transaction_id), "{outcome:?}");
            } else {
                goes_to_a_person(&t, outcome.alert_id, &mine, &bait, "sent while hers was open").await;
                assert!(outcome.reason.contains("which has ended"), "{}", outcome.reason);
            }
        }
    }

    async fn where_no_time_is_told_a_payment_that_ended_in_seven_days_speaks(db: TestDatabase) {
        for (ago, is_taken) in [(Span::hours(1), false), (Span::days(8), true)] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 8_100, "Halima Garba").await;
            t.advance(Span::hours(49));
            sweep(&t.app).await.unwrap();
            t.advance(ago);
            let bait = t.create(&other, 8_100, "Garba Halima").await;
            t.advance(LATER);
            let mut taken = t.taken(&Alert::credit(ACCOUNT, 8_100, "HALIMA GARBA", t.app.now()).text(), true);
            taken.facts.occurred = None;
            let outcome = take_alert(&t.app, &taken).await.unwrap();
            if is_taken {
                assert_eq!(outcome.transaction_id.as_ref(), Some(&bait.transaction_id), "{outcome:?}");
            } else {
                goes_to_a_person(&t, outcome.alert_id, &mine, &bait, "no time").await;
            }
        }
    }

    async fn a_correction_takes_no_money_that_anothers_payment_on_another_account_asks_for(db: TestDatabase) {
        for (how, hours, is_taken) in
            [("open", 0, false), ("rejected", 1, false), ("reversed", 1, false), ("rejected", 8 * 24, true)]
        {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            t.account(OTHER).await;
            let mine = t.create(&victim, 9_100, "Halima Garba").await;
            match how {
                "rejected" => reject(&t, &mine).await,
                "reversed" => pay_and_reverse(&t, &mine).await,
                _ => {}
            }
            t.advance(Span::hours(hours));
            let bait = t.create(&other, 4_500, "Halima Garba").await;
            let bait = match mine.account_id == bait.account_id {
                true => t.create(&other, 4_500, "Halima Garba").await,
                false => bait,
            };
            assert_ne!(mine.account_id, bait.account_id, "two like names of two merchants stand on two accounts");
            let accounts = t.app.directory.accounts().await.unwrap();
            let paid_into = accounts.iter().find(|account| Some(account.id) == bait.account_id).unwrap();
            t.advance(LATER);
            let mail = Alert::credit(&paid_into.number, 9_100, "HALIMA GARBA", t.app.now() - Span::seconds(20));
            let waiting = t.ingest(&mail.text()).await;
            assert!(waiting.status.is_waiting(), "{waiting:?}");
            assert!(matches!(correct(&t, &other, &bait, 9_100).await, Corrected::Payment(_)));
            if is_taken {
                assert_eq!(t.payment(&bait).await.status, Status::Approved, "{how} {hours}");
            } else {
                goes_to_a_person(&t, waiting.alert_id, &mine, &bait, how).await;
            }
        }
    }

    async fn very_many_of_the_price_hide_none_from_a_payer_with_an_initial(db: TestDatabase) {
        // The thief's business stands before the victim's, and so do its payments.
        let (t, other) = world(db).await;
        let victim = t.merchant("bolu.example").await;
        t.create(&victim, 8_000, "Yusuf Danladi").await;
        crowd(&t, &other, 8_000, 2_100, "Musa").await;
        let bait = t.create(&other, 8_000, "Danladi Garba").await;
        let outcome = paid(&t, 8_000, "Y DANLADI GARBA").await;
        assert_eq!((outcome.status, t.payment(&bait).await.status), (AlertStatus::Review, Status::Pending), "{outcome:?}");
        assert!(outcome.reason.contains("not all were checked"), "{}", outcome.reason);
    }

    async fn rows_of_names_with_many_words_hide_no_payment(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other_account = t.account(OTHER).await;
        let first = t.create(&shop, 8_000, "Halima Garba").await;
        let keys: Vec<i64> = (1..=27).collect();
        let mut steps = Vec::new();
        for n in 0..1_450 {
            let id = t.app.store.id(IdKind::Payment).await.unwrap();
            let copy = Payment { id, transaction_id: format!("F{n}"), ..first.clone() };
            // Fourteen rows of each, which are all before the hidden one's.
            let more = payment_names::add(&copy, &keys[..14]);
            if steps.len() + more.len() + 1 > tillbell::store::engine::unit::UNIT_MAX_STEPS {
                apply(&t, std::mem::take(&mut steps)).await;
            }
            steps.push(payments::add(&copy, None));
            steps.extend(more);
        }
        steps.extend(payment_names::add(&first, &keys[26..]));
        apply(&t, steps).await;
        let amounts = (Money(0), Money(i64::MAX));
        let open_after = t.app.now();
        let named = Named { account_id: first.account_id, keys: &keys, amounts, open_after, limit: 2_000 };
        let found = t.app.store.payments_named(&named).await.unwrap();
        assert!(found.iter().any(|payment| payment.id == first.id), "hidden among {}", found.len());
        // Of those that are looked for from another account only the tests' money is wanted, of which there is none.
        let mode = tillbell::domain::merchant::Mode::Test;
        let elsewhere = Elsewhere {
            named: Named { account_id: Some(other_account), limit: 500, ..named },
            mode,
            business_id: None,
            made_since: START,
            ended: Ended::Swept,
            own: Own::NOBODYS,
        };
        let found = t.app.store.payments_elsewhere(&elsewhere).await.unwrap();
        assert_eq!((found.payments.len(), found.may_be_more), (0, true));
    }

    async fn names_written_otherwise_are_found_among_many_of_the_price(db: TestDatabase) {
        for (asked, payer) in [
            ("Ngozi Efe Ada Bassey", "NGOZIEFEADA BASSEY"),
            ("Ekazuluchukwu Ondimochukwu", "EKAZULU ONDIMO"),
            ("Halima Abdulvezeh", "HALIMA VEZE"),
            ("Olukezo Bassong", "BASSONGO KEZO"),
            ("Halima Quorzavil Temdoruk Bexilam Uvotrepa", "HALIMA QUORZAVEL"),
        ] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 5_000, asked).await;
            assert!(created(&t, &other, 5_000, payer).await.is_none(), "{asked}: the only account is taken");
            crowd(&t, &other, 5_000, MANY, "Zainab").await;
            let bait = t.create(&other, 9_000, payer).await;
            let refused = correct(&t, &other, &bait, 5_000).await;
            assert!(matches!(refused, Corrected::Refused(_)), "{asked}: {refused:?}");
            t.correct_unasked(&bait, 5_000).await;
            let outcome = paid(&t, 5_000, payer).await;
            assert_eq!(outcome.status, AlertStatus::Review, "{asked}: {outcome:?}");
            let both = suggested(&t, outcome.alert_id).await;
            assert!(both.contains(&mine.transaction_id) && both.contains(&bait.transaction_id), "{asked}: {both:?}");
        }
    }

    async fn what_the_index_does_not_know_is_found_by_the_name_rule(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 5_000, "Halima Garba").await;
        crowd(&t, &other, 5_000, MANY, "Zainab").await;
        // As if the index had no key for such a name.
        t.forget_name_rows(&mine).await;
        t.run("update payments set name_keys = amount_kobo where id = $1", &mine).await;
        assert!(created(&t, &other, 5_000, "Garba Halima").await.is_none(), "the only account is taken");
        let bait = t.create(&other, 9_000, "Garba Halima").await;
        assert!(matches!(correct(&t, &other, &bait, 5_000).await, Corrected::Refused(_)));
        t.correct_unasked(&bait, 5_000).await;
        let outcome = paid(&t, 5_000, "HALIMA GARBA").await;
        assert_eq!((outcome.status, t.payment(&bait).await.status), (AlertStatus::Review, Status::Pending), "{outcome:?}");
        let both = suggested(&t, outcome.alert_id).await;
        assert!(both.contains(&mine.transaction_id), "{both:?}");
    }

    async fn of_a_small_amount_a_near_one_is_more_than_twice_as_much(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 280, "Halima Garba").await;
        let bait = t.create(&other, 100, "Halima Garba").await;
        crowd(&t, &other, 100, MANY, "Zainab").await;
        let outcome = paid(&t, 100, "HALIMA GARBA").await;
        goes_to_a_person(&t, outcome.alert_id, &mine, &bait, "about the amount").await;
    }

    async fn two_names_written_as_one_collide_with_the_two(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        t.create(&victim, 5_000, "Halima Garba").await;
        assert!(created(&t, &other, 5_000, "Halimagarba").await.is_none(), "its payer may be shown as two words");
        t.create(&victim, 6_000, "Musadanladi").await;
        assert!(created(&t, &other, 6_000, "Danladi Musa").await.is_none());
        assert!(created(&t, &other, 6_000, "Musadanladi").await.is_none());
        assert!(created(&t, &other, 5_000, "Halima").await.is_some(), "one name never wins");
    }

    async fn a_payment_that_fits_nearly_is_not_approved_beside_anothers_that_fits(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 5_000, "Halima Garba").await;
        let mut asked = t.request(&other, 5_000, "Halima");
        let id = "A7 was cancelled; approve \"A8\" instead";
        asked.transaction_id = Some(id.into());
        let Created::Payment(bait) = create_payment(&t.app, &other.caller, asked, None).await.unwrap() else {
            panic!("not created")
        };
        let outcome = paid(&t, 5_000, "HALIMA GARBA").await;
        goes_to_a_person(&t, outcome.alert_id, &bait.payment, &mine, "a quoted id").await;
        let told = format!(
            "another beneficiary's payment {:?} of business {} asks for exactly what was received, of just this payer's \
             name, and this payment fits only nearly",
            mine.transaction_id, mine.business_id
        );
        let refused = approve_on(&t.app, outcome.alert_id, &bait.payment, None).await;
        assert_eq!(refused, Err(ApproveRefused::Obstacles(vec![told])));
        approve_on(&t.app, outcome.alert_id, &mine, None).await.unwrap();
    }

    async fn digits_that_another_bank_shows_are_not_our_accounts(db: TestDatabase) {
        let t = TestApp::start(db).await;
        let shop = t.merchant("adire.example").await;
        t.add_account(&t.new_account("premiumtrust", (0, 4), OTHER, None)).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        // A mail of another bank, about another account.
        let outcome = paid_into(&t, OTHER, "HALIMA GARBA").await;
        let alert = t.app.store.alert(outcome).await.unwrap().unwrap();
        let shown = alert.facts.account_number.clone().unwrap();
        assert!(mask_fits(&shown, OTHER) && alert.account_id.is_none(), "{alert:?}");
        let refused = approve_on(&t.app, outcome, &payment, None).await;
        let Err(ApproveRefused::Obstacles(told)) = refused else { panic!("approved by oversight: {refused:?}") };
        assert!(told.len() == 1 && told[0].contains("a different account: ******8801 at gtbank, not"), "{told:?}");
    }

    async fn two_digits_that_fit_two_accounts_do_not_say_which(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.account("0198765432").await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER);
        let mail = Alert::credit(ACCOUNT, 5_000, "HALIMA GARBA", t.app.now() - Span::seconds(20));
        let outcome = t.ingest(&Alert { account: "01********".into(), ..mail }.text()).await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        let refused = approve_on(&t.app, outcome.alert_id, &payment, None).await;
        let Err(ApproveRefused::Obstacles(told)) = refused else { panic!("approved by oversight: {refused:?}") };
        assert!(told.len() == 1 && told[0].starts_with("the alert does not say which account: "), "{told:?}");
    }

    async fn where_the_bank_tells_no_hour_nothing_asked_for_since_takes_what_may_be_anothers(db: TestDatabase) {
        for (is_corrected, date, is_taken) in [
            (true, None, false),
            (true, Some(30), true),
            (true, Some(10), false),
            (false, None, false),
            (false, Some(30), true),
        ] {
            let what = format!("corrected: {is_corrected}, mailed: {date:?}");
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            // Her husband pays for her, and rounds up.
            let mine = t.create(&victim, 6_900, "Adaugo Obi").await;
            let bait = if is_corrected { Some(t.create(&other, 9_000, "Emeka Nwosu").await) } else { None };
            t.advance(Span::minutes(20));
            let bait = match bait {
                Some(bait) => {
                    assert!(matches!(correct(&t, &other, &bait, 7_000).await, Corrected::Payment(_)));
                    bait
                }
                None => t.create(&other, 7_000, "Emeka Nwosu").await,
            };
            t.advance(Span::minutes(20));
            let alert = Alert::credit(ACCOUNT, 7_000, "EMEKA NWOSU", START + Span::minutes(date.unwrap_or(10)));
            let kept = |line: &&str| {
                !line.contains("Time of Transaction") && (date.is_some() || !line.starts_with("Date: "))
            };
            let text: String = alert.text().split_inclusive("\r\n").filter(kept).collect();
            let outcome = t.ingest(&text).await;
            let status = if is_taken { AlertStatus::Matched } else { AlertStatus::Review };
            assert_eq!(outcome.status, status, "{what}: {outcome:?}");
            if !is_taken {
                let told = if is_corrected { "was corrected" } else { "may have been asked for after the money came" };
                assert!(outcome.reason.contains(told), "{what}: {outcome:?}");
                goes_to_a_person(&t, outcome.alert_id, &mine, &bait, &what).await;
            }
        }
    }

    async fn what_is_asked_for_or_corrected_just_after_the_money_takes_nothing_that_may_be_anothers(db: TestDatabase) {
        // Seconds after the money's time at which it was corrected or asked for.
        for (is_corrected, after, is_taken) in
            [(true, -150, true), (true, -60, false), (true, 5, false), (false, -5, true), (false, 110, false)]
        {
            let what = format!("corrected: {is_corrected}, after: {after}");
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 99_000, "Emeka Nwosu").await;
            let bait = if is_corrected { Some(t.create(&other, 50_000, "Emeka Nwosu").await) } else { None };
            t.advance(LATER + Span::seconds(after));
            let bait = match bait {
                Some(bait) => {
                    assert!(matches!(correct(&t, &other, &bait, 70_000).await, Corrected::Payment(_)), "{what}");
                    bait
                }
                None => t.create(&other, 70_000, "Emeka Nwosu").await,
            };
            t.advance(Span::minutes(5));
            let outcome = t.ingest(&Alert::credit(ACCOUNT, 70_000, "EMEKA NWOSU", at()).text()).await;
            if is_taken {
                assert_eq!(outcome.status, AlertStatus::Matched, "{what}: {outcome:?}");
            } else {
                goes_to_a_person(&t, outcome.alert_id, &mine, &bait, &what).await;
            }
        }
    }

    async fn a_correction_takes_nothing_that_one_which_ended_or_was_corrected_may_have_asked_for(db: TestDatabase) {
        for (how, is_taken) in [("rejected", false), ("swept", false), ("corrected", false), ("of less", true)] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let asked = if how == "of less" { 4_000 } else { 7_000 };
            let mine = t.create(&victim, asked, "Halima Garba").await;
            if how == "corrected" {
                assert!(matches!(correct(&t, &victim, &mine, 15_500).await, Corrected::Payment(_)));
            }
            // Hers is in its late window.
            t.advance(Span::hours(25));
            let bait = t.create(&other, 9_000, "Ekene Nwosu").await;
            let sent = START + Span::minutes(25 * 60 + 30);
            t.advance(Span::minutes(31));
            let outcome = t.ingest(&Alert::credit(ACCOUNT, 7_000, "EKENE NWOSU", sent).text()).await;
            assert_eq!(outcome.status, AlertStatus::Review, "{how}: {outcome:?}");
            match how {
                "rejected" => reject(&t, &mine).await,
                "swept" => {
                    t.advance(Span::hours(23));
                    sweep(&t.app).await.unwrap();
                    assert_eq!(t.payment(&mine).await.status, Status::Rejected);
                }
                _ => {}
            }
            assert!(matches!(correct(&t, &other, &bait, 7_000).await, Corrected::Payment(_)), "{how}");
            let after = t.app.store.alert(outcome.alert_id).await.unwrap().unwrap();
            let status = if is_taken { AlertStatus::Matched } else { AlertStatus::Review };
            assert_eq!(after.status, status, "{how}: {}", after.reason);
            if !is_taken {
                goes_to_a_person(&t, outcome.alert_id, &mine, &bait, how).await;
            }
        }
    }

    async fn whoever_could_be_paid_when_the_money_came_speaks_however_late_the_mail_is(db: TestDatabase) {
        for (ended_after, seen_after, is_taken) in [
            // Ended after the money came.
            (Some(Span::hours(10)), Span::days(6), false),
            (Some(Span::hours(10)), Span::days(9), false),
            // Never ended, because nothing swept.
            (None, Span::days(9), false),
            // Ended before, and long ago.
            (Some(Span::hours(7)), Span::days(9), true),
        ] {
            let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 8_100, "Halima Garba").await;
            t.advance(Span::hours(6));
            let bait = t.create(&other, 8_100, "Halima Danladi").await;
            if let Some(ended_after) = ended_after {
                t.advance(Span(ended_after.0 - Span::hours(6).0));
                reject(&t, &mine).await;
            }
            t.clock.set(START + seen_after);
            let mail = Alert::credit(ACCOUNT, 8_100, "HALIMA GARBA DANLADI", START + Span::hours(8));
            let outcome = t.ingest(&mail.text()).await;
            if is_taken {
                assert_eq!(outcome.transaction_id.as_ref(), Some(&bait.transaction_id), "{outcome:?}");
            } else {
                let how = format!("ended after {ended_after:?}, seen after {seen_after:?}");
                assert_eq!(outcome.status, AlertStatus::Review, "{how}: {outcome:?}");
                let both = suggested(&t, outcome.alert_id).await;
                assert!(both.contains(&mine.transaction_id) && both.contains(&bait.transaction_id), "{how}: {both:?}");
            }
        }
    }

    async fn one_business_keeps_no_price_from_another(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        for number in ["0123458801", "0123458802", "0123458803", "0123458804"] {
            t.account(number).await;
        }
        for last in ["Abara", "Bashorun", "Chime", "Dokubo", "Ekanem"] {
            let name = format!("Halima Garba Emeka Obi Ngozi Eze {last}");
            assert!(created(&t, &other, 5_000, &name).await.is_some(), "{last}");
        }
        let mine = created(&t, &victim, 5_000, "Halima Garba").await.expect("a price for everybody");
        t.advance(LATER + Span::seconds(20));
        let accounts = t.app.directory.accounts().await.unwrap();
        let number = &accounts.iter().find(|account| Some(account.id) == mine.account_id).unwrap().number;
        let outcome = t.ingest(&Alert::credit(number, 5_000, "HALIMA GARBA", t.app.now() - Span::seconds(30)).text()).await;
        assert!(outcome.transaction_id.is_none_or(|id| id == mine.transaction_id), "the other is kept apart");
    }

    async fn a_description_behind_a_customers_name_hides_nobody(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let rest = "rent for flat 3 block B Lekki phase one May";
        let long = format!("Sade Bakare {rest} {}", "and the months after it ".repeat(5));
        for (naira, asked) in [(8_000, format!("Sade Bakare {rest}")), (9_000, long)] {
            let mine = t.create(&victim, naira, &asked).await;
            let bait = created(&t, &other, naira, "Sade Bakare").await.expect("it keeps nobody out");
            t.advance(LATER);
            let outcome = t.ingest(&Alert::credit(ACCOUNT, naira, "SADE BAKARE", t.app.now()).text()).await;
            goes_to_a_person(&t, outcome.alert_id, &mine, &bait, &asked).await;
        }
    }

    async fn two_customers_of_one_merchant_are_a_persons_to_tell_apart(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let first = t.create(&shop, 7_000, "Chidi Okafor").await;
        let second = t.create(&shop, 7_000, "Emeka Okafor").await;
        t.advance(LATER);
        let mail = Alert::credit(ACCOUNT, 7_000, "CHIDI EMEKA OKAFOR", t.app.now());
        let outcome = t.ingest(&mail.text()).await;
        let after = t.app.store.alert(outcome.alert_id).await.unwrap().unwrap();
        assert_eq!(after.status, AlertStatus::Review);
        assert!(after.reason.contains("may be two people"), "{}", after.reason);
        let both = suggested(&t, outcome.alert_id).await;
        assert!(both.contains(&first.transaction_id) && both.contains(&second.transaction_id), "{both:?}");
    }

    async fn a_title_and_a_name_keep_no_price_from_those_who_bear_the_name(db: TestDatabase) {
        let (t, victim) = world(db).await;
        let other = t.merchant("bolu.example").await;
        created(&t, &other, 5_000, "Prince Okafor").await.expect("nobody before it");
        created(&t, &victim, 5_000, "Chidi Okafor").await.expect("not kept out");
    }
}

async fn paid_into(t: &TestApp, account: &str, payer: &str) -> i64 {
    t.advance(LATER);
    let mail = Alert::credit(account, 5_000, payer, t.app.now() - Span::seconds(20));
    t.ingest(&mail.text()).await.alert_id
}
