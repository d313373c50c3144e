//! Decoys that hide a paid credit from the debit that takes it back, credits that show too little to be meant, and
//! twins on accounts that a mask may mean.

use tillbell::domain::alert::{AlertFacts, AlertStatus, BankTime, OTHER_STATE_ROW, TimePrecision};
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::merchants::accounts::NewAccount;

use crate::counted_once::{PAYER, approve_on, approved, told};
use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::taken_back::debit_of;
use crate::two_states::{again, alarm_of, take, unmatch};
use crate::undoing::undo;

const SESSION: &str = "000013260318091544000000000264";
const NAIRA: i64 = 5_350;
const THIEF: &str = "Sani Lawal";
const VICTIM: &str = "Halima Garba";
const DECOY: &str = "BOLA OKORO";
const ALIKE: &str = "9876544417";

/// A credit without a session id.
fn bare(payer: &str, seconds: i64) -> Alert {
    Alert { session: String::new(), ..Alert::credit(ACCOUNT, NAIRA, payer, at() + Span::seconds(seconds)) }
}

fn says(narration: String) -> impl FnOnce(&mut AlertFacts) {
    move |facts| facts.narration = Some(narration)
}

fn of_session(facts: &mut AlertFacts) {
    facts.session_id = Some(SESSION.into());
}

/// The bank shows the day alone.
fn by_day(facts: &mut AlertFacts) {
    let begin = at() - Span::hours(11);
    facts.occurred =
        Some(BankTime { begin, end: begin + Span::hours(24) - Span(1), precision: TimePrecision::Day });
}

async fn two_merchants(db: TestDatabase) -> (TestApp, [tillbell::domain::payment::Payment; 2]) {
    let (t, shop) = world(db).await;
    let other = t.merchant("bolu.example").await;
    let payments = [t.create(&shop, NAIRA, THIEF).await, t.create(&other, NAIRA, VICTIM).await];
    t.advance(LATER + Span::seconds(30));
    (t, payments)
}

on_both! {
    async fn decoys_with_its_session_id_hide_no_paid_credit(db: TestDatabase) {
        for decoys in [2, 3, 6] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            t.create(&shop, NAIRA, THIEF).await;
            t.advance(LATER);
            let credit = take(&t, &bare(THIEF, 0), |f| {
                of_session(f);
                f.reference = Some("S77120034".into());
                says(format!("{SESSION}-{DECOY}-OPAY-SANI LAWAL"))(f);
            }).await;
            assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
            for n in 1..=decoys {
                let decoy = take(&t, &bare(DECOY, 5 * n), |f| {
                    of_session(f);
                    f.reference = Some(format!("S7712004{n}"));
                    says(format!("{SESSION}-{DECOY}-OPAY-{DECOY}"))(f);
                }).await;
                assert_eq!(decoy.status, AlertStatus::Review, "{decoy:?}");
            }
            let back = take(&t, &Alert { at: at() + Span::seconds(60), ..debit_of(&bare(DECOY, 0)) }, |f| {
                of_session(f);
                says(format!("RVSL {SESSION}-{DECOY}"))(f);
            }).await;
            assert_eq!(alarm_of(&t, &credit).await, Some(back.alert_id), "{decoys}");
        }
    }

    async fn many_credits_of_its_payer_and_day_hide_no_paid_credit(db: TestDatabase) {
        for more in [1, 3, 4, 8] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            t.create(&shop, NAIRA, THIEF).await;
            t.advance(LATER);
            let credit = take(&t, &bare(THIEF, 0), by_day).await;
            assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
            for n in 0..=more {
                let other = take(&t, &bare(THIEF, 1 + n), |f| {
                    by_day(f);
                    f.session_id = (n == 0).then(|| SESSION.into());
                }).await;
                assert_eq!(other.status, AlertStatus::Review, "{other:?}");
            }
            let back = take(&t, &debit_of(&bare(THIEF, 0)), |f| { by_day(f); of_session(f) }).await;
            assert_eq!(alarm_of(&t, &credit).await, Some(back.alert_id), "{more}");
        }
    }

    async fn one_loss_takes_no_money_from_a_second_merchant(db: TestDatabase) {
        type Shows = fn(&mut AlertFacts);
        let cases: [(&str, bool, Shows); 3] = [
            ("bare", false, |f| f.narration = Some("RVSL TRANSFER".into())),
            ("the payer", false, |f| f.narration = Some("RVSL TRANSFER FROM SANI LAWAL".into())),
            ("the session id", true, |f| { of_session(f); f.narration = Some("RVSL".into()) }),
        ];
        for (what, has_session, shows) in cases {
            let (t, [first, second]) = two_merchants(TestDatabase::migrated(db.engine()).await).await;
            let keyed = |f: &mut AlertFacts| f.session_id = has_session.then(|| SESSION.into());
            let mail = bare(THIEF, 0);
            let lost_credit = take(&t, &mail, keyed).await;
            let innocent = take(&t, &bare(VICTIM, 1), |_| ()).await;
            assert_eq!((lost_credit.status, innocent.status), (AlertStatus::Matched, AlertStatus::Matched), "{what}");
            let lost = take(&t, &again(&mail, 30), |f| {
                keyed(f);
                f.doubts.push(format!("{OTHER_STATE_ROW}: Reversed"));
            }).await;
            assert_eq!(alarm_of(&t, &lost_credit).await, Some(lost.alert_id), "{what}");
            unmatch(&t, &first, "ada").await;
            dismiss_alert(&t.app, lost_credit.alert_id, "ada", "it went back").await.unwrap().unwrap();
            let debit = Alert { at: at() + Span::seconds(120), ..debit_of(&bare(THIEF, 0)) };
            let back = take(&t, &debit, shows).await;
            let refused = undo(&t.app, &second, back.alert_id, None).await.unwrap_err().to_string();
            assert!(refused.contains(&format!("about alert {}", lost_credit.alert_id)), "{what}: {refused}");
            if what == "the payer" {
                assert_eq!(alarm_of(&t, &innocent).await, None, "{what}");
            }
        }
    }

    async fn a_credit_that_shows_no_payer_may_be_meant_by_a_debit_that_names_somebody(db: TestDatabase) {
        for is_named_by_key in [false, true] {
            let (t, [stolen, honest]) = two_merchants(TestDatabase::migrated(db.engine()).await).await;
            let innocent = take(&t, &bare(VICTIM, 0), |f| if is_named_by_key { of_session(f) }).await;
            assert_eq!(innocent.status, AlertStatus::Matched, "{innocent:?}");
            let silent = take(&t, &bare(THIEF, 20), |f| (f.payer_name, f.narration) = (None, None)).await;
            approved(&t, &silent, &stolen, Some("his receipt shows it")).await;
            let back = take(&t, &Alert { at: at() + Span::seconds(60), ..debit_of(&bare(VICTIM, 0)) }, |f| {
                if is_named_by_key { of_session(f) }
                says("RVSL TRANSFER HALIMA GARBA".into())(f);
            }).await;
            assert_eq!(alarm_of(&t, &silent).await, Some(back.alert_id), "{is_named_by_key}");
            let refused = undo(&t.app, &honest, back.alert_id, None).await.unwrap_err().to_string();
            assert!(refused.contains(&format!("about alert {}", silent.alert_id)), "{refused}");
        }
    }

    async fn whoever_approves_a_masked_alert_is_told_of_its_twin_on_a_virtual_account(db: TestDatabase) {
        let (t, _) = world(db).await;
        let (over, here) = (t.merchant("over.example").await, t.merchant("here.example").await);
        t.account_for(ALIKE, Some(here.id), tillbell::domain::merchant::Mode::Live).await;
        let account = t.new_account("wema", (0, 4), "9012345678", Some(over.id));
        t.add_account(&NewAccount { via: Some(ACCOUNT.into()), ..account }).await;
        let (paid, open) = (t.create(&over, 8_400, PAYER).await, t.create(&here, 8_400, PAYER).await);
        t.advance(LATER + Span::seconds(20));
        let bank = told(false);
        let twin = take(&t, &bank, |f| {
            f.bank = Some("wema".into());
            f.template = Some("note".into());
            f.account_number = Some("******5678".into());
            f.holder_name = None;
        }).await;
        assert_eq!((twin.status, t.payment(&paid).await.status), (AlertStatus::Matched, Status::Approved), "{twin:?}");
        let masked = take(&t, &again(&bank, 0), |_| ()).await;
        assert_eq!(masked.status, AlertStatus::Review, "{masked:?}");
        let refused = approve_on(&t.app, masked.alert_id, &open, None).await.unwrap_err().to_string();
        assert!(refused.contains(&format!("same money as alert {}", twin.alert_id)), "{refused}");
    }
}
