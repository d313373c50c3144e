//! Money of which the bank says that it did not come or went back, however it says so, and however late the mail is
//! that says it.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::find::open_alarms;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::notices::alarms::alarms_since;

use crate::counted_once::told_again;
use crate::harness::app::{ACCOUNT, LATER, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::sent_before;
use crate::taken_back::{alert, debit_of};

const NAIRA: i64 = 5_200;
const PAYER: &str = "Halima Garba";
const PAYERS: [&str; 4] = [PAYER, "Boma Dokubo", "Timi Graham", "Preye Cookey"];

async fn alarm_of(t: &TestApp, credit: &AlertOutcome) -> Option<i64> {
    t.app.store.alarm_of(credit.alert_id).await.unwrap()
}

/// A credit that happened just now; without a session id it came from inside the bank.
fn credit(t: &TestApp, payer: &str, has_session: bool) -> Alert {
    let alert = Alert::credit(ACCOUNT, NAIRA, payer, t.app.now() - Span::seconds(5));
    if has_session { alert } else { Alert { session: String::new(), ..alert } }
}

/// A payment of each payer, and the credit that paid it.
async fn all_paid(t: &TestApp, shop: &crate::harness::app::Merchant) -> Vec<(Payment, Alert, AlertOutcome)> {
    let mut payments = Vec::new();
    for payer in PAYERS {
        payments.push(t.create(shop, NAIRA, payer).await);
    }
    t.advance(LATER);
    let mut all = Vec::new();
    for (payment, payer) in payments.into_iter().zip(PAYERS) {
        t.advance(Span::minutes(1));
        let mail = credit(t, payer, true);
        let paid = t.ingest(&mail.text()).await;
        assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
        all.push((payment, mail, paid));
    }
    all
}

/// A debit of now, with this narration.
fn debit_with(t: &TestApp, credit: &Alert, narration: &str) -> String {
    let message_id = format!("<back.{}@gens.example>", t.app.now().0);
    let debit =
        Alert { at: t.app.now(), payer: "X".into(), balance: "17.00".into(), message_id, ..debit_of(credit) };
    debit.text().replace("VIA GAPS PAYMENT FROM X", narration)
}

/// A mail with words above its tables, with a row more, or with another subject.
fn saying(mail: &str, what: &str) -> String {
    match what.split_once('=') {
        Some((label, value)) => {
            let row = format!("<tr><td>{label}</td><td>:</td><td>{value}</td></tr>\r\n");
            mail.replace("<tr><td>Document Number", &format!("{row}<tr><td>Document Number"))
        }
        None if what.ends_with(':') => mail.replace("Subject: ", &format!("Subject: {what} ")),
        None => mail.replacen("\r\n\r\n", &format!("\r\n\r\n<p>{what}</p>"), 1),
    }
}

const WORDS: [&str; 26] = [
    "RETURNED",
    "UNCLEARED",
    "Rejected by NIBSS",
    "This item has been returned.",
    "The transaction above was reversed by the sending bank and the money is no longer in your account.",
    "Action=Declined",
    "Value=UNCLEARED",
    "Response Code=91",
    "Return Reason=Account name mismatch",
    "Transaction Status=Code 91",
    "Transaction Status=Sent back to the sending bank at the request of its customer on 23-Nov-2026 at 10:00 AM",
    "RETURNED:",
    "Your account has not been credited.",
    "We have debited your account to correct this entry.",
    "The above transaction did not go through.",
    "The money was sent back to the sender.",
    "We could not credit your account.",
    "This transfer is being processed.",
    "Clawback",
    "Transaction nullified",
    "PENDING CREDIT",
    "Pending",
    "NIP Response Code=91",
    "Dr/Cr=D",
    "Hold Amount=NGN 5200",
    "Transaction Direction=Outflow",
];

/// A debit of the credit whose amount the bank does not show, by its session id.
async fn hidden_debit(t: &TestApp, hidden: &Alert) -> AlertOutcome {
    let mail = debit_with(t, hidden, &format!("RVSL {}", hidden.session));
    take_alert(&t.app, &t.taken_if_unreadable_too(&mail, true)).await.unwrap()
}

on_both! {
    async fn the_banks_words_of_a_return_pay_nothing(db: TestDatabase) {
        for words in WORDS {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let payment = t.create(&shop, NAIRA, PAYER).await;
            t.advance(LATER);
            let taken = t.ingest(&saying(&credit(&t, PAYER, true).text(), words)).await;
            assert_eq!(taken.status, AlertStatus::Review, "{words}: {taken:?}");
            assert_eq!(t.payment(&payment).await.status, Status::Pending, "{words}");
        }
    }

    async fn the_banks_words_of_a_return_about_paid_money_are_an_alarm(db: TestDatabase) {
        for words in WORDS {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            t.create(&shop, NAIRA, PAYER).await;
            t.advance(LATER);
            let mail = credit(&t, PAYER, true);
            let paid = t.ingest(&mail.text()).await;
            assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
            t.advance(Span::hours(1));
            let later = t.ingest(&saying(&told_again(&mail).text(), words)).await;
            assert_eq!(later.status, AlertStatus::Review, "{words}: {later:?}");
            assert_eq!(alarm_of(&t, &paid).await, Some(later.alert_id), "{words}");
        }
    }

    async fn a_debit_holds_its_credit_whose_mail_comes_a_week_late(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, NAIRA, PAYER).await;
        t.advance(LATER);
        let mail = credit(&t, PAYER, false);
        t.advance(Span::minutes(5));
        let back = t.ingest(&Alert { at: t.app.now(), balance: "1.00".into(), ..debit_of(&mail) }.text()).await;
        t.advance(Span::days(8));
        let late = t.ingest(&mail.text()).await;
        assert_eq!(late.status, AlertStatus::Review, "{late:?}");
        assert!(late.reason.contains(&format!("alert {} may have taken", back.alert_id)), "{late:?}");
        assert_eq!(t.payment(&payment).await.status, Status::Pending);
    }

    async fn a_debit_whose_mail_comes_late_is_an_alarm_by_the_banks_time(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, NAIRA, PAYER).await;
        t.advance(LATER);
        let mail = credit(&t, PAYER, false);
        let paid = t.ingest(&mail.text()).await;
        assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
        t.advance(Span::days(8));
        let debit = Alert { at: mail.at + Span::days(6), balance: "1.00".into(), ..debit_of(&mail) };
        let back = t.ingest(&debit.text()).await;
        assert_eq!(alarm_of(&t, &paid).await, Some(back.alert_id));
    }

    async fn a_second_telling_from_a_mailbox_that_was_unread_for_a_week_asks_a_person(db: TestDatabase) {
        for (shows_a_time, is_dated_late) in [(true, false), (false, false), (false, true)] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            t.create(&shop, NAIRA, PAYER).await;
            t.create(&shop, NAIRA, PAYER).await;
            t.advance(LATER);
            let mail = credit(&t, PAYER, false);
            let bare = |mail: &Alert, shows_a_time: bool| {
                let mut taken = t.taken(&mail.text(), true);
                taken.facts.balance = None;
                if !shows_a_time {
                    taken.facts.occurred = None;
                }
                taken
            };
            let first = take_alert(&t.app, &bare(&mail, false)).await.unwrap();
            assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
            t.advance(Span::days(8));
            let at = if is_dated_late { t.app.now() } else { mail.at };
            let again = Alert { at, ..told_again(&mail) };
            let again = take_alert(&t.app, &bare(&again, shows_a_time)).await.unwrap();
            assert_eq!(again.status, AlertStatus::Review, "{shows_a_time} {is_dated_late}: {again:?}");
            assert!(again.reason.contains(&format!("as alert {}", first.alert_id)), "{again:?}");
        }
    }

    async fn a_reversal_that_is_dated_back_holds_the_credit_that_comes_after_it(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, NAIRA, PAYER).await;
        t.advance(LATER);
        let mail = credit(&t, PAYER, false);
        t.advance(Span::hours(1));
        let day = |at: tillbell::domain::time::Timestamp| {
            let lagos = jiff::Timestamp::from_microsecond((at + Span::hours(1)).0).unwrap();
            lagos.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y-%m-%d").to_string()
        };
        let debit = Alert { at: t.app.now(), balance: "1.00".into(), ..debit_of(&mail) };
        let back = debit.text().replace(
            &format!("<td>{}</td>", day(debit.at)),
            &format!("<td>{}</td>", day(debit.at - Span::days(1))),
        );
        assert_ne!(back, debit.text());
        let back = t.ingest(&back).await;
        let late = t.ingest(&mail.text()).await;
        assert_eq!(late.status, AlertStatus::Review, "{late:?}");
        assert!(late.reason.contains(&format!("alert {} may have taken", back.alert_id)), "{late:?}");
        assert_eq!(t.payment(&payment).await.status, Status::Pending);
    }

    async fn a_debit_names_its_credit_behind_the_banks_words(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let paid = all_paid(&t, &shop).await;
        for words in [
            "CHARGEBACK", "RECALL", "RECALLED", "REFUND", "REFUNDED", "DISPUTE", "NIBSS DISPUTE", "CORRECTION",
            "ERRONEOUS CREDIT", "RTND", "RJCT", "DECLINED", "BOUNCED", "UNCLEARED", "CANCELLED", "RVSL INFLOW",
            "RVSL-NIP CREDIT",
        ] {
            for naira in [NAIRA, NAIRA - 200] {
                t.advance(Span::minutes(7));
                let (_, mail, credit) = &paid[1];
                let part = Alert { amount: naira.to_string(), ..mail.clone() };
                let back = t.ingest(&debit_with(&t, &part, &format!("{words} {}", mail.session))).await;
                assert_eq!(back.status, AlertStatus::Ignored, "{words}: {back:?}");
                // Its newest alarm.
                let linked = alert(&t, credit.alert_id).await.linked_alert_id;
                assert_eq!(linked, Some(back.alert_id), "{words} {naira}");
                for (_, _, other) in [&paid[0], &paid[2], &paid[3]] {
                    assert_eq!(alarm_of(&t, other).await, None, "{words} {naira}");
                }
            }
        }
    }

    async fn credits_that_other_debits_took_back_hide_no_alarm(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let paid = all_paid(&t, &shop).await;
        for (payment, mail, _) in &paid[..3] {
            t.advance(Span::minutes(5));
            let back = t.ingest(&debit_with(&t, mail, &format!("RVSL {}", mail.session))).await;
            let ask = Reverse {
                business_id: payment.business_id,
                transaction_id: &payment.transaction_id,
                reason: "the bank took it back",
                operator: "ife",
                undoing_alert: Some(back.alert_id),
                despite: None,
            };
            reverse_payment(&t.app, &ask).await.unwrap().unwrap();
        }
        t.advance(Span::minutes(10));
        let (_, mail, credit) = &paid[3];
        let back = t.ingest(&debit_with(&t, mail, "RVSL NIP INWARD")).await;
        assert_eq!(alarm_of(&t, credit).await, Some(back.alert_id));
    }

    async fn what_was_posted_anew_after_it_went_back_is_looked_at(db: TestDatabase) {
        // On a quiet account the balance is the one of before; and nobody may have looked at the debit yet.
        for (balance, is_reversed) in [(Some("777.10"), true), (None, true), (None, false)] {
            let (t, _, _, mine) = sent_before::two(&db).await;
            t.advance(LATER);
            let credit = Alert::credit(ACCOUNT, 7_000, "HALIMA GARBA", t.app.now() - Span::seconds(20));
            assert_eq!(t.ingest(&credit.text()).await.status, AlertStatus::Matched);
            match is_reversed {
                true => sent_before::taken_back(&t, &mine, "HALIMA GARBA").await,
                false => drop(t.ingest(&sent_before::debit(&t, "HALIMA GARBA").text()).await),
            }
            t.advance(LATER);
            let anew = Alert {
                message_id: "<anew@gens.example>".into(),
                at: t.app.now() - Span::seconds(20),
                balance: balance.map_or_else(|| credit.balance.clone(), str::to_owned),
                ..credit.clone()
            };
            let anew = t.ingest(&anew.text()).await;
            assert_eq!(anew.status, AlertStatus::Review, "{balance:?} {is_reversed}: {anew:?}");
            // The bank's mail of before once more tells nothing new.
            let again = Alert { message_id: "<again@gens.example>".into(), ..credit };
            assert_eq!(t.ingest(&again.text()).await.status, AlertStatus::Duplicate);
        }
    }

    async fn a_reversal_whose_amount_is_hidden_is_an_alarm_by_its_session_id(db: TestDatabase) {
        for amount in ["****", "N/A", "7.000,00"] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            t.create(&shop, NAIRA, PAYER).await;
            t.advance(LATER);
            let mail = credit(&t, PAYER, true);
            let paid = t.ingest(&mail.text()).await;
            assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
            t.advance(Span::minutes(9));
            let hidden = Alert { amount: amount.into(), ..mail.clone() };
            let back = hidden_debit(&t, &hidden).await;
            assert_eq!(back.status, AlertStatus::Unreadable, "{amount}: {back:?}");
            assert_eq!(alarm_of(&t, &paid).await, Some(back.alert_id), "{amount}");
            let open = open_alarms(&t.app).await.unwrap();
            assert_eq!(open.count(), 1, "{amount}");
        }
    }

    async fn a_reversal_whose_amount_is_hidden_holds_the_credit_that_waits(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, NAIRA + 1_000, PAYER).await;
        t.advance(LATER);
        let mail = credit(&t, PAYER, true);
        let waiting = t.ingest(&mail.text()).await;
        assert!(waiting.status.is_waiting(), "{waiting:?}");
        t.advance(Span::minutes(9));
        let hidden = Alert { amount: "****".into(), ..mail.clone() };
        let back = hidden_debit(&t, &hidden).await;
        let held = alert(&t, waiting.alert_id).await;
        assert_eq!((held.status, held.linked_alert_id), (AlertStatus::Review, Some(back.alert_id)), "{held:?}");
    }

    async fn a_reversal_that_fits_nothing_that_was_paid_is_an_alarm(db: TestDatabase) {
        for (what, kobo, narration, is_told) in [
            ("less a charge", "5146.25", "RVSL OF TRANSFER FROM HALIMA GARBA", true),
            ("a chargeback less a charge", "5146.25", "NIP CHARGEBACK HALIMA GARBA", true),
            ("a return less a charge", "5146.25", "RTN NIP HALIMA GARBA", true),
            ("a customer's own payment", "5146.25", "TRF TO HALIMA GARBA", false),
            ("beside a stray", "5200", "RVSL OF TRANSFER FROM HALIMA GARBA", true),
            ("beside one that is reversed", "5200", "RVSL OF TRANSFER FROM HALIMA GARBA", true),
        ] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            t.create(&shop, NAIRA, PAYER).await;
            t.advance(LATER);
            let mail = credit(&t, PAYER, true);
            assert_eq!(t.ingest(&mail.text()).await.status, AlertStatus::Matched, "{what}");
            // So long after it that nothing but a key leads to its credit.
            t.advance(Span::days(9));
            if what.starts_with("beside") {
                let other = t.create(&shop, NAIRA, "Boma Dokubo").await;
                t.advance(LATER);
                let paid = t.ingest(&credit(&t, if what.ends_with("stray") { "Timi Graham" } else { "Boma Dokubo" }, true).text()).await;
                if paid.status == AlertStatus::Matched {
                    let ask = Reverse {
                        business_id: shop.id,
                        transaction_id: &other.transaction_id,
                        reason: "the bank says so",
                        operator: "ife",
                        undoing_alert: None,
                        despite: None,
                    };
                    reverse_payment(&t.app, &ask).await.unwrap().unwrap();
                }
            }
            t.advance(Span::minutes(5));
            let since = t.app.now();
            let debit = debit_with(&t, &Alert { amount: kobo.into(), ..mail.clone() }, narration);
            let back = t.ingest(&debit).await;
            let alarms = alarms_since(&t.app, since).await.unwrap();
            let told = format!("Alert {} is a reversal", back.alert_id);
            assert_eq!(alarms.iter().any(|one| one.body.contains(&told)), is_told, "{what}: {alarms:?} {back:?}");
        }
    }

    async fn a_reversal_that_holds_what_it_names_is_told_by_that(db: TestDatabase) {
        let (t, _) = world(db).await;
        let mail = credit(&t, PAYER, true);
        let stray = t.ingest(&mail.text()).await;
        assert_eq!(stray.status, AlertStatus::Unmatched, "{stray:?}");
        let since = t.app.now();
        t.ingest(&debit_with(&t, &mail, &format!("RVSL {}", mail.session))).await;
        assert_eq!(alert(&t, stray.alert_id).await.status, AlertStatus::Review, "it is held");
        assert!(alarms_since(&t.app, since).await.unwrap().is_empty(), "nothing was paid");
    }
}
