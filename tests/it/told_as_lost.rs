//! A bank's mail about a credit that tells "Reversed", "Failed" or "Pending" speaks against that credit as a debit
//! does: whichever of the two comes first, by whatever clock, on an account or on none.

use tillbell::domain::alert::{AlertFacts, AlertStatus, OTHER_STATE_ROW, RETURNED_OR_OWN};
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::rematch::rematch;
use tillbell::ops::alerts::reverse::{Reverse, ReverseRefused, reverse_payment};
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::merchants::accounts::NewAccount;
use tillbell::ops::payments::correct::correct_amount;

use crate::counted_once::{
    PAYER, approve_on, approved, forwarded, is_open, told, told_again, two_open, without_account,
};
use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::logs::Logs;
use crate::harness::mails::Alert;
use crate::taken_back::debit_of;

const LOSES: &str = "has not come, or went back";

fn state(value: &str) -> impl FnOnce(&mut AlertFacts) {
    let doubt = format!("{OTHER_STATE_ROW}: {value}");
    move |facts| facts.doubts.push(doubt)
}

/// Takes a mail in, with what the bank's layout tells beside.
async fn take(t: &TestApp, mail: &Alert, change: impl FnOnce(&mut AlertFacts)) -> AlertOutcome {
    t.advance(Span::seconds(1));
    let mut taken = t.taken(&mail.text(), true);
    change(&mut taken.facts);
    take_alert(&t.app, &taken).await.unwrap()
}

/// The same transfer in another mail, so many seconds later by the bank's clock, with another balance.
fn again(alert: &Alert, seconds: i64) -> Alert {
    let balance = format!("{}.77", 700 + seconds.abs());
    Alert { at: alert.at + Span::seconds(seconds), balance, ..told_again(alert) }
}

async fn alarm_of(t: &TestApp, credit: &AlertOutcome) -> Option<i64> {
    t.app.store.alarm_of(credit.alert_id).await.unwrap()
}

on_both! {
    async fn a_credit_that_was_told_as_lost_before_it_came_waits(db: TestDatabase) {
        for (value, seconds) in [("Reversed", 2), ("Pending", -1), ("Failed", 0)] {
            let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(false);
            let lost = take(&t, &again(&bank, seconds), state(value)).await;
            assert_eq!(lost.status, AlertStatus::Review, "{lost:?}");
            let credit = t.ingest(&bank.text()).await;
            assert_eq!(credit.status, AlertStatus::Review, "{value}: {credit:?}");
            assert!(credit.reason.contains(&format!("alert {} says", lost.alert_id)) && credit.reason.contains(LOSES), "{credit:?}");
            let refused = approve_on(&t.app, credit.alert_id, &one, None).await.unwrap_err();
            assert!(refused.to_string().contains(LOSES), "{refused}");
            // The mail of the other state is money only if it says so, and then the same.
            let refused = approve_on(&t.app, lost.alert_id, &two, None).await.unwrap_err();
            assert!(refused.to_string().contains(&format!("may report the same money as alert {}", credit.alert_id)), "{refused}");
            is_open(&t, &one).await;
            is_open(&t, &two).await;
        }
    }

    async fn an_attempt_that_failed_before_the_transfer_holds_nothing(db: TestDatabase) {
        let (t, ..) = two_open(db).await;
        let bank = told(false);
        take(&t, &again(&bank, -600), state("Failed")).await;
        t.advance(Span::seconds(1));
        let credit = t.ingest(&bank.text()).await;
        assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
        assert_eq!(alarm_of(&t, &credit).await, None);
    }

    async fn a_waiting_credit_that_is_told_as_lost_is_not_paid_by_a_correction_or_a_person(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 6_200, PAYER).await;
        t.advance(LATER);
        let bank = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 5_200, PAYER, at()) };
        let credit = t.ingest(&bank.text()).await;
        assert_eq!(credit.status, AlertStatus::Review, "{credit:?}");
        let lost = take(&t, &again(&bank, 40), state("Reversed")).await;
        t.advance(Span::seconds(1));
        correct_amount(&t.app, &shop.caller, &payment.transaction_id, Money(520_000), None).await.unwrap();
        rematch(&t.app, payment.id).await.unwrap();
        is_open(&t, &payment).await;
        let refused = approve_on(&t.app, credit.alert_id, &payment, None).await.unwrap_err();
        assert!(refused.to_string().contains(&format!("alert {} says", lost.alert_id)), "{refused}");
    }

    async fn what_is_told_as_lost_finds_its_paid_credit_wherever_a_debit_would(db: TestDatabase) {
        type Change = fn(&mut AlertFacts);
        let cases: [(&str, i64, Change); 4] = [
            ("days later, with its session id", 9 * 86_400, |_| ()),
            ("another payer, with its session id", 5, |f| f.payer_name = Some("A REMARK OF HIS".into())),
            ("less, with its session id", 5, |f| f.amount = f.amount.map(|a| Money(a.kobo() - 5_000))),
            ("no account", 5, |f| { f.account_number = None; f.session_id = None; }),
        ];
        for (what, seconds, change) in cases {
            let (t, ..) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(true);
            let credit = t.ingest(&bank.text()).await;
            assert_eq!(credit.status, AlertStatus::Matched, "{what}: {credit:?}");
            t.advance(Span::seconds(seconds));
            let lost = take(&t, &again(&bank, seconds), |f| { state("Reversed")(f); change(f) }).await;
            assert_eq!(lost.status, AlertStatus::Review, "{what}: {lost:?}");
            assert_eq!(alarm_of(&t, &credit).await, Some(lost.alert_id), "{what}");
        }
    }

    async fn words_of_a_narration_raise_the_alarm_for_the_session_they_name(db: TestDatabase) {
        let (t, ..) = two_open(db).await;
        let bank = told(true);
        let credit = t.ingest(&bank.text()).await;
        t.advance(Span::days(1));
        let lost = take(&t, &again(&bank, 86_400), |f| f.doubts.push(RETURNED_OR_OWN.into())).await;
        assert_eq!(lost.status, AlertStatus::Review, "{lost:?}");
        assert_eq!(alarm_of(&t, &credit).await, Some(lost.alert_id));
    }

    async fn of_many_credits_of_one_payer_one_alarm_tells(db: TestDatabase) {
        let (t, shop) = world(db).await;
        for _ in 0..5 {
            t.create(&shop, 5_200, PAYER).await;
        }
        t.advance(LATER);
        for n in 0..5 {
            let mail = Alert::credit(ACCOUNT, 5_200, PAYER, at() - Span::seconds(n * 60));
            let credit = take(&t, &mail, |_| ()).await;
            assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
        }
        let logs = Logs::keep();
        let mail = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 5_200, PAYER, at() + Span::seconds(9)) };
        take(&t, &mail, state("Reversed")).await;
        assert!(logs.text().contains("ALARM"), "{}", logs.text());
    }

    async fn a_mail_of_another_state_is_no_copy_of_one_that_paid_or_was_dismissed(db: TestDatabase) {
        // Held because of the payer's own word, and approved.
        let (t, _, one, _) = two_open(TestDatabase::migrated(db.engine()).await).await;
        let bank = told(true);
        let credit = take(&t, &bank, |f| f.doubts.push(RETURNED_OR_OWN.into())).await;
        approved(&t, &credit, &one, Some("it is on the statement")).await;
        let both = |f: &mut AlertFacts| { f.doubts.push(RETURNED_OR_OWN.into()); state("Reversed")(f) };
        let lost = take(&t, &again(&bank, 5), both).await;
        assert_eq!((lost.status, alarm_of(&t, &credit).await), (AlertStatus::Review, Some(lost.alert_id)), "{lost:?}");

        // The bank said "Pending" first, and a person approved it.
        let (t, _, one, _) = two_open(TestDatabase::migrated(db.engine()).await).await;
        let pending = take(&t, &bank, state("Pending")).await;
        approved(&t, &pending, &one, Some("it is on the statement")).await;
        let success = t.ingest(&again(&bank, 3).text()).await;
        assert_eq!(success.status, AlertStatus::Duplicate, "a person found the money to be there: {success:?}");
        let lost = take(&t, &again(&bank, 5), state("Reversed")).await;
        assert_eq!((lost.status, alarm_of(&t, &pending).await), (AlertStatus::Review, Some(lost.alert_id)), "{lost:?}");

        // A late "Pending" was dismissed.
        let (t, ..) = two_open(TestDatabase::migrated(db.engine()).await).await;
        let credit = t.ingest(&bank.text()).await;
        assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
        let pending = take(&t, &again(&bank, 1), state("Pending")).await;
        dismiss_alert(&t.app, pending.alert_id, "ada", "it came late").await.unwrap().unwrap();
        let lost = take(&t, &again(&bank, 2), state("Reversed")).await;
        assert_eq!((lost.status, alarm_of(&t, &credit).await), (AlertStatus::Review, Some(lost.alert_id)), "{lost:?}");

        // "Pending" was dismissed, and then the money came.
        let (t, ..) = two_open(TestDatabase::migrated(db.engine()).await).await;
        let pending = take(&t, &bank, state("Pending")).await;
        dismiss_alert(&t.app, pending.alert_id, "ada", "it did not come").await.unwrap().unwrap();
        let success = t.ingest(&again(&bank, 60).text()).await;
        assert_eq!(success.status, AlertStatus::Review, "{success:?}");
        // The same mail again is the same.
        let fed = t.ingest(&again(&bank, 60).text()).await;
        assert_eq!(fed.status, AlertStatus::Duplicate, "{fed:?}");
    }

    async fn a_credit_told_as_lost_while_it_is_decided_is_held_or_alarmed(db: TestDatabase) {
        for _ in 0..6 {
            let (t, ..) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(true);
            let (credit, lost) = (t.taken(&bank.text(), true), {
                let mut lost = t.taken(&again(&bank, 2).text(), true);
                state("Reversed")(&mut lost.facts);
                lost
            });
            let (credit, lost) = tokio::join!(take_alert(&t.app, &credit), take_alert(&t.app, &lost));
            let (credit, lost) = (credit.unwrap(), lost.unwrap());
            let credit = t.app.store.alert(credit.alert_id).await.unwrap().unwrap();
            let alarm = t.app.store.alarm_of(credit.id).await.unwrap();
            let is_told = credit.status == AlertStatus::Review || alarm == Some(lost.alert_id);
            assert!(is_told, "{credit:?} {lost:?}");
        }
    }
}

on_both! {
    async fn an_approved_mail_that_names_no_account_is_the_same_money_on_any(db: TestDatabase) {
        const OTHER: &str = "0123459826";
        let t = TestApp::start(db).await;
        let shop = t.merchant("aso-oke.example").await;
        t.account(ACCOUNT).await;
        t.account(OTHER).await;
        let (one, two) = (t.create(&shop, 8_400, PAYER).await, t.create(&shop, 8_400, PAYER).await);
        let accounts = t.app.directory.accounts().await.unwrap();
        let of = |id| accounts.iter().find(|a| Some(a.id) == id).unwrap().number.clone();
        assert_ne!(one.account_id, two.account_id);
        t.advance(LATER + Span::seconds(20));
        let shown = Alert { account: format!("******{}", &of(two.account_id)[6..]), ..told(false) };
        let bare = t.ingest(&without_account(&told_again(&shown).text())).await;
        assert_eq!(bare.status, AlertStatus::Review, "{bare:?}");
        approved(&t, &bare, &one, Some("it is on the statement")).await;
        let again = t.ingest(&shown.text()).await;
        assert_eq!(again.status, AlertStatus::Review, "{again:?}");
        assert!(again.reason.contains(&format!("may report the same money as alert {}", bare.alert_id)), "{again:?}");
        is_open(&t, &two).await;
        // The debit that takes it back shows the account, too.
        let debit = Alert { at: shown.at + Span::seconds(40), ..debit_of(&shown) };
        let debit = take(&t, &debit, |_| ()).await;
        assert_eq!(debit.status, AlertStatus::Ignored, "{debit:?}");
        assert_eq!(alarm_of(&t, &bare).await, Some(debit.alert_id));
    }

    async fn a_reversal_in_another_layout_may_be_a_minute_behind(db: TestDatabase) {
        let (t, ..) = two_open(db).await;
        let bank = told(false);
        let back = Alert { at: bank.at - Span::seconds(57), ..debit_of(&bank) };
        take(&t, &back, |f| { f.template = Some("note".into()); f.session_id = None; }).await;
        let credit = t.ingest(&bank.text()).await;
        assert_eq!(credit.status, AlertStatus::Review, "{credit:?}");
    }

    async fn two_tellings_of_one_debit_undo_one_payment(db: TestDatabase) {
        for _ in 0..6 {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let (first, second) = (t.create(&shop, 5_200, "Halima Garba").await, t.create(&shop, 5_200, "Musa Danladi").await);
            t.advance(LATER);
            let credits = ["Halima Garba", "Musa Danladi"].map(|payer| Alert::credit(ACCOUNT, 5_200, payer, at()));
            for credit in &credits {
                assert_eq!(t.ingest(&credit.text()).await.status, AlertStatus::Matched);
            }
            let mut debits = Vec::new();
            for n in [0, 2] {
                let message_id = format!("<back.{n}@gens.example>");
                let mail = Alert { at: at() + Span::seconds(20 + n), payer: "A SETTLEMENT".into(), message_id, ..debit_of(&credits[0]) };
                debits.push(take(&t, &mail, |f| f.balance = None).await.alert_id);
            }
            let ask = |payment: &tillbell::domain::payment::Payment, debit| {
                let (business_id, transaction_id, app) = (payment.business_id, payment.transaction_id.clone(), t.app.clone());
                async move {
                    let ask = |despite| Reverse {
                        business_id, transaction_id: &transaction_id, reason: "the bank took it back", operator: "ada",
                        undoing_alert: Some(debit), despite,
                    };
                    // What may be about either is overridden as far as it was shown; who comes second is told of more.
                    reverse_payment(&app, &ask(None)).await.unwrap()
                }
            };
            let (a, b) = tokio::join!(ask(&first, debits[0]), ask(&second, debits[1]));
            let done = [&a, &b].iter().filter(|one| one.is_ok()).count();
            assert!(done <= 1, "{a:?} {b:?}");
        }
    }

    async fn a_debit_that_failed_asks_before_it_undoes(db: TestDatabase) {
        let (t, _, _, two) = two_open(db).await;
        let bank = told(false);
        let credit = t.ingest(&bank.text()).await;
        assert_eq!((credit.status, t.payment(&two).await.status), (AlertStatus::Matched, Status::Approved));
        let failed = debit_of(&bank).text().replace("<tr><td>Account Number", "<tr><td>Transaction Status</td><td>:</td><td>Failed</td></tr>\r\n<tr><td>Account Number");
        let debit = t.ingest(&failed).await;
        assert_eq!(debit.status, AlertStatus::Ignored, "{debit:?}");
        let ask = Reverse {
            business_id: two.business_id, transaction_id: &two.transaction_id, reason: "the bank took it back",
            operator: "ada", undoing_alert: Some(debit.alert_id), despite: None,
        };
        let Err(ReverseRefused::Obstacles(told)) = reverse_payment(&t.app, &ask).await.unwrap() else { panic!("reversed") };
        assert!(told.iter().any(|why| why.contains("of the debit itself that it failed")), "{told:?}");
    }

    async fn a_loss_that_is_told_with_a_session_id_of_its_own_hides_no_debit(db: TestDatabase) {
        let (t, _, one, _) = two_open(db).await;
        let bank = told(true);
        let session = "100004260310120000000000000777".to_owned();
        let own = Alert { session: session.clone(), ..again(&bank, 40) };
        let lost = take(&t, &own, state("Reversed")).await;
        assert_eq!(lost.status, AlertStatus::Review, "{lost:?}");
        let back = Alert { session, at: bank.at + Span::seconds(50), ..debit_of(&bank) };
        let debit = take(&t, &back, |_| ()).await;
        assert_eq!(debit.status, AlertStatus::Ignored, "{debit:?}");
        let credit = take(&t, &bank, |_| ()).await;
        assert_eq!(credit.status, AlertStatus::Review, "{credit:?}");
        let refused = approve_on(&t.app, credit.alert_id, &one, None).await.unwrap_err().to_string();
        for told in [format!("alert {} says", lost.alert_id), format!("alert {} may have taken", debit.alert_id)] {
            assert!(refused.contains(&told), "{told}: {refused}");
        }
    }

    async fn a_state_that_is_told_twice_is_told_twice(db: TestDatabase) {
        let (t, ..) = two_open(db).await;
        let bank = told(true);
        let credit = t.ingest(&bank.text()).await;
        assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
        let lost = take(&t, &again(&bank, 5), state("Reversed")).await;
        dismiss_alert(&t.app, lost.alert_id, "ada", "the bank says it stands").await.unwrap().unwrap();
        let other = Alert { message_id: "<third@gens.example>".into(), ..again(&bank, 90) };
        let lost = take(&t, &other, state("Reversed")).await;
        assert_eq!((lost.status, alarm_of(&t, &credit).await), (AlertStatus::Review, Some(lost.alert_id)), "{lost:?}");
        let fed = take(&t, &other, state("Reversed")).await;
        assert_eq!(fed.status, AlertStatus::Duplicate, "the very mail: {fed:?}");
    }

    async fn a_success_that_is_told_of_a_pending_transfer_that_a_person_believed_pays_nothing_else(db: TestDatabase) {
        for seconds in [10, 200, 5 * 86_400] {
            let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(false);
            let pending = take(&t, &bank, state("Pending")).await;
            approved(&t, &pending, &one, Some("it came")).await;
            t.advance(Span::seconds(seconds.min(20 * 3_600)));
            let success = take(&t, &again(&bank, seconds), |_| ()).await;
            assert_eq!(success.status, AlertStatus::Review, "{seconds}: {success:?}");
            let told = format!("it may report the same money as alert {}", pending.alert_id);
            assert!(success.reason.contains(&told), "{seconds}: {success:?}");
            is_open(&t, &two).await;
        }
    }

    async fn who_believes_a_pending_transfer_is_told_of_the_success_that_paid(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let bank = told(false);
        t.advance(Span::seconds(200));
        let success = take(&t, &again(&bank, 200), |_| ()).await;
        let paid = success.transaction_id.clone().unwrap();
        let pending = take(&t, &bank, state("Pending")).await;
        let open = if paid == one.transaction_id { &two } else { &one };
        let refused = approve_on(&t.app, pending.alert_id, open, None).await.unwrap_err().to_string();
        assert!(refused.contains(&format!("same money as alert {}", success.alert_id)), "{refused}");
    }

    async fn a_later_state_is_told_to_who_approves_an_earlier_one(db: TestDatabase) {
        let (t, _, one, _) = two_open(db).await;
        let bank = told(false);
        let pending = take(&t, &bank, state("Pending")).await;
        let lost = take(&t, &again(&bank, 400), state("Reversed")).await;
        let refused = approve_on(&t.app, pending.alert_id, &one, None).await.unwrap_err().to_string();
        assert!(refused.contains(&format!("alert {} says", lost.alert_id)), "{refused}");
    }

    async fn a_mail_without_account_may_be_about_what_came_over_a_virtual_account_of_another_bank(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("other.example").await;
        let over = t.new_account("wema", (0, 4), "9012345678", Some(other.id));
        t.add_account(&NewAccount { via: Some(ACCOUNT.into()), ..over }).await;
        let behind = t.create(&shop, 8_400, PAYER).await;
        let meant = t.create(&other, 8_400, PAYER).await;
        t.advance(LATER + Span::seconds(20));
        let bank = told(false);
        let bare = t.ingest(&without_account(&bank.text())).await;
        approved(&t, &bare, &behind, Some("it is on the statement")).await;
        let mail = told_again(&bank);
        let over = take(&t, &mail, |f| {
            f.bank = Some("wema".into());
            f.template = Some("rows".into());
            f.account_number = Some("******5678".into());
            f.holder_name = None;
        });
        let over = over.await;
        assert_eq!(over.status, AlertStatus::Review, "{over:?}");
        assert!(over.reason.contains(&format!("may report the same money as alert {}", bare.alert_id)), "{over:?}");
        is_open(&t, &meant).await;
    }

    async fn a_forward_that_was_reversed_and_dismissed_swallows_no_mail_of_the_banks(db: TestDatabase) {
        let (t, _, one, _) = two_open(db).await;
        let bank = told(true);
        let forward = t.ingest(&forwarded(&bank.text())).await;
        approved(&t, &forward, &one, Some("she says so")).await;
        let ask = Reverse {
            business_id: one.business_id, transaction_id: &one.transaction_id, reason: "wrong match", operator: "ada",
            undoing_alert: None, despite: None,
        };
        reverse_payment(&t.app, &ask).await.unwrap().unwrap();
        dismiss_alert(&t.app, forward.alert_id, "ada", "a forged forward").await.unwrap().unwrap();
        let genuine = t.ingest(&told_again(&bank).text()).await;
        assert_eq!(genuine.status, AlertStatus::Review, "{genuine:?}");
        assert!(genuine.reason.contains("was forwarded and pays nothing"), "{genuine:?}");
    }
}
