//! One transfer in several mails: in two layouts of which one shows a session id that the payer typed, in two states,
//! in other words, and a debit that is told in two states. None of it pays twice, and a loss is told.

use tillbell::domain::alert::{AlertFacts, AlertStatus, OTHER_STATE_ROW, RETURNED_OR_OWN};
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::approve::ApproveRefused;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::merchants::accounts::{NewAccount, retire_account};

use crate::counted_once::{PAYER, approve_on, approved, is_open, told, told_again, two_open};
use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::logs::Logs;
use crate::harness::mails::Alert;
use crate::taken_back::{alert, debit_of};
use crate::undoing::undo;

/// What the payer wrote into his remark.
const TYPED: &str = "100033260310120000999999000418";
/// Its alerts look like those of [`ACCOUNT`].
const ALIKE: &str = "9876544417";
const BELIEVED: Option<&str> = Some("it is on the statement");

pub async fn take(t: &TestApp, mail: &Alert, change: impl FnOnce(&mut AlertFacts)) -> AlertOutcome {
    t.advance(Span::seconds(1));
    let mut taken = t.taken(&mail.text(), true);
    taken.facts.balance = None;
    change(&mut taken.facts);
    take_alert(&t.app, &taken).await.unwrap()
}

/// The same transfer in another mail, so many seconds later by the bank's clock.
pub fn again(alert: &Alert, seconds: i64) -> Alert {
    Alert { at: alert.at + Span::seconds(seconds), ..told_again(alert) }
}

fn state(value: &str) -> impl FnOnce(&mut AlertFacts) {
    let doubt = format!("{OTHER_STATE_ROW}: {value}");
    move |facts| facts.doubts.push(doubt)
}

/// Words of a narration that a payer may have typed.
fn remark(words: &str) -> impl FnOnce(&mut AlertFacts) {
    let narration = format!("TRANSFER FROM {} {words}", PAYER.to_uppercase());
    move |facts| {
        facts.narration = Some(narration);
        facts.doubts.push(RETURNED_OR_OWN.into());
    }
}

pub async fn alarm_of(t: &TestApp, credit: &AlertOutcome) -> Option<i64> {
    t.app.store.alarm_of(credit.alert_id).await.unwrap()
}

/// A wrong match is taken back: no alert is named.
pub async fn unmatch(t: &TestApp, payment: &Payment, operator: &str) {
    let ask = Reverse {
        business_id: payment.business_id,
        transaction_id: &payment.transaction_id,
        reason: "the bank says so",
        operator,
        undoing_alert: None,
        // Also where an alarm is open about it.
        despite: Some("it was never theirs"),
    };
    reverse_payment(&t.app, &ask).await.unwrap().unwrap();
}

fn same_money_as(told: &AlertOutcome) -> String {
    format!("may report the same money as alert {}", told.alert_id)
}

on_both! {
    async fn a_typed_session_id_makes_no_second_transfer_in_another_layout(db: TestDatabase) {
        for (is_typed_first, seconds) in [(true, 0), (false, 0), (false, 100), (true, 100)] {
            let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(true);
            let mut told = Vec::new();
            for is_typed in [is_typed_first, !is_typed_first] {
                let mail = if is_typed { again(&bank, seconds) } else { bank.clone() };
                told.push(take(&t, &mail, |f| if is_typed {
                    f.template = Some("word".into());
                    f.session_id = Some(TYPED.into());
                }).await);
            }
            assert_eq!(told[0].status, AlertStatus::Matched, "{told:?}");
            assert_eq!(told[1].status, AlertStatus::Review, "{is_typed_first} {seconds}: {told:?}");
            assert!(told[1].reason.contains(&same_money_as(&told[0])), "{told:?}");
            let open = [t.payment(&one).await, t.payment(&two).await];
            assert_eq!(open.iter().filter(|payment| payment.status == Status::Pending).count(), 1);
        }
    }

    async fn session_ids_of_one_layout_are_two_transfers(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let bank = told(true);
        for (mail, session) in [(bank.clone(), bank.session.clone()), (again(&bank, 0), TYPED.to_owned())] {
            let taken = take(&t, &mail, |f| f.session_id = Some(session)).await;
            assert_eq!(taken.status, AlertStatus::Matched, "{taken:?}");
        }
        for payment in [&one, &two] {
            assert_eq!(t.payment(payment).await.status, Status::Approved);
        }
    }

    async fn a_typed_session_id_makes_no_second_transfer_over_a_virtual_account(db: TestDatabase) {
        for is_typed_first in [true, false] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let other = t.merchant("other.example").await;
            let over = t.new_account("wema", (0, 4), "9012345678", Some(other.id));
            t.add_account(&NewAccount { via: Some(ACCOUNT.into()), ..over }).await;
            t.create(&shop, 8_400, PAYER).await;
            t.create(&other, 8_400, PAYER).await;
            t.advance(LATER + Span::seconds(20));
            let bank = told(true);
            let mut told = Vec::new();
            for is_typed in [is_typed_first, !is_typed_first] {
                let mail = if is_typed { again(&bank, 0) } else { bank.clone() };
                told.push(take(&t, &mail, |f| if is_typed {
                    f.bank = Some("wema".into());
                    f.template = Some("note".into());
                    f.account_number = Some("******5678".into());
                    f.holder_name = None;
                    f.session_id = Some(TYPED.into());
                }).await);
            }
            assert_eq!(told[0].status, AlertStatus::Matched, "{told:?}");
            assert_eq!(told[1].status, AlertStatus::Review, "{is_typed_first}: {told:?}");
        }
    }

    async fn a_success_after_a_pending_in_words_that_a_person_believed_pays_nothing_else(db: TestDatabase) {
        for is_unmatched in [false, true] {
            let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(false);
            let pending = take(&t, &bank, remark("pending")).await;
            assert_eq!(pending.status, AlertStatus::Review, "{pending:?}");
            approved(&t, &pending, &one, BELIEVED).await;
            if is_unmatched {
                unmatch(&t, &one, "ada").await;
            }
            t.advance(Span::minutes(10));
            let success = take(&t, &again(&bank, 600), |_| ()).await;
            assert_eq!(success.status, AlertStatus::Review, "{is_unmatched}: {success:?}");
            assert!(success.reason.contains(&same_money_as(&pending)), "{is_unmatched}: {success:?}");
            is_open(&t, &two).await;
        }
    }

    async fn an_alert_that_paid_once_is_not_read_again(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let (one, two) = (t.create(&shop, 8_400, PAYER).await, t.create(&shop, 8_400, PAYER).await);
        let alike = t.account(ALIKE).await;
        t.advance(LATER + Span::seconds(20));
        let taken = t.ingest(&told(false).text()).await;
        assert_eq!(taken.status, AlertStatus::Review, "{taken:?}");
        approved(&t, &taken, &one, BELIEVED).await;
        unmatch(&t, &one, "ada").await;
        retire_account(&t.app, "ada", alike).await.unwrap().unwrap();
        t.app.directory.forget();
        let room = tillbell::mail_intake::ingest::MailIngestor::new(&t.app.config, t.banks.clone());
        let read = Box::pin(tillbell::mail_intake::reread::reread(&t.app, &room, taken.alert_id, "ada")).await;
        let refused = read.unwrap().map(|(_, done)| done).unwrap_err().to_string();
        assert!(refused.contains("has paid a payment that was reversed"), "{refused}");
        assert_eq!(alert(&t, taken.alert_id).await.status, AlertStatus::Review);
        is_open(&t, &two).await;
    }

    async fn other_words_of_a_loss_are_news_of_a_credit_that_a_person_believed(db: TestDatabase) {
        for (first, then, is_news) in [
            ("refund for shoes", "refund for shoes - reversed", true),
            ("refund", "returned by beneficiary bank", true),
            ("refund for shoes", "refund for shoes", false),
        ] {
            let (t, _, one, _) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(true);
            let credit = take(&t, &bank, remark(first)).await;
            approved(&t, &credit, &one, BELIEVED).await;
            let lost = take(&t, &again(&bank, 60), |f| {
                remark(then)(f);
                // What the bank wrote behind the name is read with it.
                f.payer_name = f.payer_name.take().map(|name| if first == "refund" { format!("{name} BENEFICIARY BANK") } else { name });
            }).await;
            let expected = if is_news { (AlertStatus::Review, Some(lost.alert_id)) } else { (AlertStatus::Duplicate, None) };
            assert_eq!((lost.status, alarm_of(&t, &credit).await), expected, "{then}: {lost:?}");
        }
    }

    async fn two_mails_of_a_transfer_that_waits_pay_once(db: TestDatabase) {
        for (first, then) in [("Pending", "Pending"), ("Pending", "Processing")] {
            let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(false);
            let waits = take(&t, &bank, state(first)).await;
            t.advance(Span::minutes(10));
            let still = take(&t, &again(&bank, 600), state(then)).await;
            assert_eq!((waits.status, still.status), (AlertStatus::Review, AlertStatus::Review));
            approved(&t, &waits, &one, BELIEVED).await;
            let refused = approve_on(&t.app, still.alert_id, &two, None).await.unwrap_err().to_string();
            assert!(refused.contains(&same_money_as(&waits)), "{first} {then}: {refused}");
        }
    }

    async fn a_return_in_prose_is_told_to_who_approves_what_was_pending_in_prose(db: TestDatabase) {
        let (t, _, one, _) = two_open(db).await;
        let bank = told(false);
        let says = |mail: &Alert, words: &str| mail.text().replace("</table>\r\n<table>", &format!("</table><p>{words}</p>\r\n<table>"));
        let waits = t.ingest(&says(&bank, "Kindly note that this transfer is pending.")).await;
        t.advance(Span::minutes(10));
        let lost = t.ingest(&says(&again(&bank, 600), "Kindly note that this transfer has been reversed.")).await;
        assert_eq!((waits.status, lost.status), (AlertStatus::Review, AlertStatus::Review), "{waits:?} {lost:?}");
        let refused = approve_on(&t.app, waits.alert_id, &one, None).await.unwrap_err().to_string();
        assert!(refused.contains(&format!("alert {} says", lost.alert_id)), "{refused}");
    }

    async fn prose_that_tells_of_a_loss_makes_a_person_decide(db: TestDatabase) {
        for words in [
            "The sender has recalled this transfer.",
            "The funds are uncleared.",
            "We have debited your account to return it.",
            "This amount was credited in error and taken back.",
            "State : Awaiting value",
        ] {
            let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let text = told(false).text().replace("</table>\r\n<table>", &format!("</table><p>{words}</p>\r\n<table>"));
            let taken = t.ingest(&text).await;
            assert_eq!(taken.status, AlertStatus::Review, "{words}: {taken:?}");
            is_open(&t, &one).await;
            is_open(&t, &two).await;
        }
    }

    async fn one_debit_that_is_told_in_two_states_undoes_one_payment(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let (first, second) = (t.create(&shop, 5_200, "Halima Garba").await, t.create(&other, 5_200, "Musa Danladi").await);
        t.advance(LATER);
        let credits = ["Halima Garba", "Musa Danladi"].map(|payer| Alert { session: String::new(), ..Alert::credit(ACCOUNT, 5_200, payer, at()) });
        for credit in &credits {
            assert_eq!(take(&t, credit, |_| ()).await.status, AlertStatus::Matched);
        }
        let debit = Alert { at: at() + Span::seconds(60), payer: "A SETTLEMENT".into(), ..debit_of(&credits[0]) };
        let waits = take(&t, &debit, state("Pending")).await;
        undo(&t.app, &first, waits.alert_id, Some("the bank says that it is this one")).await.unwrap();
        t.advance(Span::minutes(10));
        let done = take(&t, &again(&debit, 600), |_| ()).await;
        assert_eq!(done.status, AlertStatus::Ignored, "{done:?}");
        let refused = undo(&t.app, &second, done.alert_id, None).await.unwrap_err().to_string();
        assert!(refused.contains("may report the same debit"), "{refused}");
    }

    async fn a_debit_that_undid_a_payment_and_then_failed_is_told(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_200, "Halima Garba").await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 5_200, "Halima Garba", at());
        assert_eq!(take(&t, &credit, |_| ()).await.status, AlertStatus::Matched);
        let session = |f: &mut AlertFacts| f.session_id = Some(credit.session.clone());
        let debit = Alert { at: at() + Span::seconds(20), ..debit_of(&credit) };
        let waits = take(&t, &debit, |f| { session(f); state("Pending")(f) }).await;
        undo(&t.app, &payment, waits.alert_id, Some("the bank says so")).await.unwrap();
        let logs = Logs::keep();
        t.advance(Span::minutes(10));
        let failed = take(&t, &again(&debit, 600), |f| { session(f); state("Failed")(f) }).await;
        assert_eq!(failed.status, AlertStatus::Ignored, "{failed:?}");
        assert!(logs.text().contains("ALARM: a debit that undid a payment"), "{}", logs.text());
    }

    async fn a_colleague_is_told_that_a_payment_was_reversed(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let credit = take(&t, &told(false), |_| ()).await;
        let paid = if credit.transaction_id.as_ref() == Some(&one.transaction_id) { (&one, &two) } else { (&two, &one) };
        unmatch(&t, paid.0, "ada").await;
        // `approve_on` is Ife's.
        let Err(ApproveRefused::Obstacles(told)) = approve_on(&t.app, credit.alert_id, paid.1, None).await else {
            panic!("approved by mistake")
        };
        assert!(told.iter().any(|why| why.contains("reversed by ada: the bank says so")), "{told:?}");
        approve_on(&t.app, credit.alert_id, paid.1, BELIEVED).await.unwrap();
        // Whoever reversed a wrong match knows of it.
        unmatch(&t, paid.1, "ife").await;
        let third = t.create(&t.merchant("third.example").await, 8_400, PAYER).await;
        let refused = approve_on(&t.app, credit.alert_id, &third, None).await.unwrap_err().to_string();
        assert!(!refused.contains("reversed by ife"), "{refused}");
    }
}
