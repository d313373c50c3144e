//! Money that the bank takes back: the debit or reversal finds its credit by session id and reference, whatever
//! the amount, the account it names and the order in which the mails came, and leaves the others alone.

use tillbell::domain::alert::{AlertKind, AlertRow, AlertStatus};
use tillbell::domain::money::Money;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::rematch::rematch;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::correct::correct_amount;

use crate::counted_once::{PAYER, approve_on, forwarded, told, two_open, without_account};
use crate::debit_mails;
use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::databases::TestDatabase;
use crate::harness::logs::Logs;
use crate::harness::mails::Alert;

const CREDITS: usize = 60;

/// A name of two words for each number.
fn payer(n: usize) -> String {
    let first = ["Ebiere", "Tonye", "Preye", "Timi", "Boma", "Dein", "Ayebatari", "Tari"][n % 8];
    let last = ["Alagoa", "Briggs", "Cookey", "Dokubo", "Ekiyor", "Fubara", "Graham", "Horsfall"][n / 8];
    format!("{first} {last}")
}

pub fn debit_of(credit: &Alert) -> Alert {
    let message_id = format!("<back.{}", &credit.message_id[1..]);
    Alert { direction: "DEBIT", message_id, session: String::new(), ..credit.clone() }
}

/// Takes a debit in, with what the bank's layout tells of the transfer it is about.
pub async fn take_back(
    t: &TestApp,
    debit: &Alert,
    session: Option<&str>,
    reference: Option<&str>,
) -> AlertOutcome {
    let mut taken = t.taken(&debit.text(), true);
    taken.facts.session_id = session.map(str::to_owned);
    taken.facts.reference = reference.map(str::to_owned);
    let outcome = take_alert(&t.app, &taken).await.unwrap();
    assert_eq!(outcome.status, AlertStatus::Ignored, "{outcome:?}");
    outcome
}

pub async fn alert(t: &TestApp, id: i64) -> AlertRow {
    t.app.store.alert(id).await.unwrap().unwrap()
}

/// Sixty approved credits of one amount, one a minute.
async fn many(t: &TestApp, shop: &crate::harness::app::Merchant) -> Vec<(Alert, i64)> {
    for n in 0..CREDITS {
        t.create(shop, 6_300, &payer(n)).await;
    }
    t.advance(LATER);
    let mut credits = Vec::new();
    for n in 0..CREDITS {
        t.advance(Span::minutes(1));
        let credit = Alert::credit(ACCOUNT, 6_300, &payer(n), t.app.now() - Span::seconds(5));
        let outcome = t.ingest(&credit.text()).await;
        assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
        credits.push((credit, outcome.alert_id));
    }
    t.advance(Span::minutes(1));
    credits
}

async fn linked(t: &TestApp, credits: &[(Alert, i64)]) -> Vec<usize> {
    let mut found = Vec::new();
    for (n, (_, id)) in credits.iter().enumerate() {
        if alert(t, *id).await.linked_alert_id.is_some() {
            found.push(n);
        }
    }
    found
}

/// The reference in the row that the bank has for it.
fn with_reference(mail: &str, reference: &str) -> String {
    let row = "Document Number</td><td>:</td><td>";
    assert!(mail.contains(row));
    mail.replace(row, &format!("{row}{reference}"))
}

async fn stays_open(t: &TestApp, payment: &Payment) {
    assert_eq!(t.payment(payment).await.status, Status::Pending);
}

on_both! {
    async fn a_small_transfer_with_a_typed_session_id_hides_no_reversal(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_200, "Halima Garba").await;
        t.create(&shop, 7_400, "Musa Danladi").await;
        t.advance(LATER);
        let session = "000013260318091544000000000042";
        // Without a session id, as some banks tell it.
        let nameless = |naira, payer: &str, seconds| {
            let credit = Alert::credit(ACCOUNT, naira, payer, at() + Span::seconds(seconds));
            let mut taken = t.taken(&credit.text(), true);
            taken.facts.session_id = None;
            (credit, taken)
        };
        let typed = |seconds| {
            let credit = Alert::credit(ACCOUNT, 50, "Sani Thief", at() + Span::seconds(seconds));
            let mut taken = t.taken(&credit.text(), true);
            taken.facts.session_id = Some(session.to_owned());
            taken
        };
        // Credited, then hidden, then taken back.
        let (credit, taken) = nameless(5_200, "Halima Garba", 0);
        let first = take_alert(&t.app, &taken).await.unwrap();
        assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
        take_alert(&t.app, &typed(1)).await.unwrap();
        let back = take_back(&t, &debit_of(&credit), Some(session), None).await;
        assert_eq!(alert(&t, first.alert_id).await.linked_alert_id, Some(back.alert_id), "the alarm");
        // Taken back before the mail of the credit is here.
        let (credit, taken) = nameless(7_400, "Musa Danladi", 20);
        take_back(&t, &debit_of(&credit), Some(session), None).await;
        let late = take_alert(&t.app, &taken).await.unwrap();
        assert_eq!(late.status, AlertStatus::Review, "{late:?}");
        assert!(late.reason.contains("may have taken this money back"), "{}", late.reason);
    }

    async fn an_alarm_names_the_payment_that_the_credit_paid(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let paid = t.create(&shop, 5_200, "Halima Garba").await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 5_200, "Halima Garba", at());
        let first = t.ingest(&credit.text()).await;
        assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
        let logs = Logs::keep();
        let back = take_back(&t, &debit_of(&credit), None, None).await;
        let said = logs.text();
        let alarm = said.lines().find(|line| line.contains("ALARM: a debit or reversal")).unwrap();
        for part in [
            format!("credit={} undoing={}", first.alert_id, back.alert_id),
            format!("transaction_id=\"{}\" business={}", paid.transaction_id, shop.id),
        ] {
            assert!(alarm.contains(&part), "{part}: {alarm}");
        }
    }

    async fn many_small_transfers_with_a_typed_session_id_hide_no_reversal(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_200, "Halima Garba").await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 5_200, "Halima Garba", at());
        let taken = t.taken(&credit.text(), true);
        let session = taken.facts.session_id.clone().unwrap();
        let first = take_alert(&t.app, &taken).await.unwrap();
        assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
        for n in 0..51 {
            t.advance(Span::seconds(1));
            let small = Alert::credit(ACCOUNT, 50 + n, "Sani Thief", at() + Span::seconds(n));
            let mut taken = t.taken(&small.text(), true);
            taken.facts.session_id = Some(session.clone());
            take_alert(&t.app, &taken).await.unwrap();
        }
        // It shows two digits of the account.
        let mut debit = t.taken(&debit_of(&credit).text(), true);
        debit.facts.session_id = Some(session);
        debit.facts.account_number = Some(format!("********{}", &ACCOUNT[ACCOUNT.len() - 2..]));
        let back = take_alert(&t.app, &debit).await.unwrap();
        assert_eq!(alert(&t, first.alert_id).await.linked_alert_id, Some(back.alert_id), "the alarm");
    }

    async fn a_debit_that_shows_two_digits_is_about_the_accounts_that_fit(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_200, "Halima Garba").await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 5_200, "Halima Garba", at());
        let first = t.ingest(&credit.text()).await;
        assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
        let mut linked = Vec::new();
        for (n, end) in [("98", false), (&ACCOUNT[ACCOUNT.len() - 2..], true)] {
            let message_id = format!("<back.{n}@gtbank.com>");
            let debit = Alert { message_id, ..debit_of(&credit) };
            let mut taken = t.taken(&debit.text(), true);
            taken.facts.session_id = None;
            taken.facts.account_number = Some(format!("********{n}"));
            taken.content_hash[0] ^= u8::from(end);
            let back = take_alert(&t.app, &taken).await.unwrap();
            linked.push(alert(&t, first.alert_id).await.linked_alert_id == Some(back.alert_id));
        }
        assert_eq!(linked, [false, true]);
    }

    async fn a_reversal_that_names_a_second_telling_means_the_first_as_well(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_200, "Halima Garba").await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 5_200, "Halima Garba", at());
        let mut plain = t.taken(&credit.text(), true);
        let session = plain.facts.session_id.take().unwrap();
        let first = take_alert(&t.app, &plain).await.unwrap();
        assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
        let again = Alert { message_id: "<again@gtbank.com>".into(), ..credit.clone() };
        let mut taken = t.taken(&again.text(), true);
        taken.content_hash[0] ^= 1;
        let second = take_alert(&t.app, &taken).await.unwrap();
        assert_eq!(second.status, AlertStatus::Review, "{second:?}");
        dismiss_alert(&t.app, second.alert_id, "ada", "told twice").await.unwrap().unwrap();
        let back = take_back(&t, &debit_of(&credit), Some(&session), None).await;
        assert_eq!(alert(&t, first.alert_id).await.linked_alert_id, Some(back.alert_id), "the alarm");
    }

    async fn the_one_of_sixty_that_the_session_id_names_is_told(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let credits = many(&t, &shop).await;
        // The bank's mail, which names nobody: only its session id says which of them it is.
        let back = t.ingest(&debit_mails::back(&credits[0].0).text()).await;
        assert_eq!(linked(&t, &credits).await, [0]);
        assert_eq!(alert(&t, credits[0].1).await.linked_alert_id, Some(back.alert_id));
        assert_eq!(alert(&t, back.alert_id).await.linked_alert_id, Some(credits[0].1));
    }

    async fn without_session_id_the_name_tells_and_without_a_name_one_stands_for_all(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let credits = many(&t, &shop).await;
        // A session id of its own, which fits none, is no better than none.
        let named = Alert { at: t.app.now() - Span::seconds(5), ..debit_of(&credits[7].0) };
        let back = take_back(&t, &named, Some("000013260310094500111222333444"), None).await;
        assert_eq!(linked(&t, &credits).await, [7]);
        assert_eq!(alert(&t, back.alert_id).await.linked_alert_id, Some(credits[7].1));
        let nobody = Alert { payer: "SUPPLIER OF BOXES".into(), ..debit_of(&named) };
        take_back(&t, &nobody, None, None).await;
        // Any of sixty: no alarm is told for each. They are one shop's, whose payouts wait for the newest of them.
        let held: Vec<usize> = [7].into_iter().chain(40..60).collect();
        assert_eq!(linked(&t, &credits).await, held);
    }

    async fn an_approved_forward_that_is_taken_back_is_told(db: TestDatabase) {
        let (t, _, one, _) = two_open(db).await;
        let bank = told(true);
        let forward = t.ingest(&without_account(&forwarded(&bank.text()))).await;
        assert_eq!(forward.status, AlertStatus::Review, "{forward:?}");
        approve_on(&t.app, forward.alert_id, &one, Some("it is on the statement")).await.unwrap();
        t.advance(Span::days(9));
        let debit = Alert { at: t.app.now(), amount: "8375".into(), ..debit_of(&bank) };
        let back = take_back(&t, &debit, Some(&bank.session), None).await;
        assert_eq!(alert(&t, forward.alert_id).await.linked_alert_id, Some(back.alert_id));
    }

    async fn a_reversal_seen_before_its_credit_holds_it_whatever_the_amount(db: TestDatabase) {
        for by_session in [true, false] {
            let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(by_session);
            let debit = Alert { amount: "8350".into(), ..debit_of(&bank) };
            let session = by_session.then_some(bank.session.as_str());
            let back = take_back(&t, &debit, session, Some("FT26069K7Q1R")).await;
            let credit = t.ingest(&with_reference(&bank.text(), "FT26069K7Q1R")).await;
            assert_eq!(credit.status, AlertStatus::Review, "{credit:?}");
            assert_eq!(alert(&t, credit.alert_id).await.linked_alert_id, Some(back.alert_id));
            for payment in [&one, &two] {
                stays_open(&t, payment).await;
            }
            assert!(approve_on(&t.app, credit.alert_id, &one, None).await.is_err(), "not without a reason");
            t.audited().await;
        }
    }

    async fn a_reversal_without_account_finds_its_credit(db: TestDatabase) {
        let (t, shop, one, _) = two_open(db).await;
        let bank = told(true);
        let more = Alert { amount: "9900".into(), ..bank.clone() };
        let waiting = t.ingest(&more.text()).await;
        assert_eq!(waiting.status, AlertStatus::Review, "more than was asked for: {waiting:?}");
        let mut taken = t.taken(&without_account(&debit_of(&more).text()), true);
        taken.facts.session_id = Some(more.session.clone());
        let back = take_alert(&t.app, &taken).await.unwrap();
        assert_eq!(back.status, AlertStatus::Ignored, "{back:?}");
        assert_eq!(alert(&t, waiting.alert_id).await.linked_alert_id, Some(back.alert_id));
        correct_amount(&t.app, &shop.caller, &one.transaction_id, Money(990_000), None).await.unwrap();
        rematch(&t.app, one.id).await.unwrap();
        stays_open(&t, &one).await;
    }

    async fn a_debit_without_account_and_session_id_finds_its_credit_by_the_name(db: TestDatabase) {
        let (t, _, _, _) = two_open(db).await;
        let bank = told(true);
        let credit = t.ingest(&bank.text()).await;
        assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
        let debit = t.taken(&without_account(&debit_of(&bank).text()), true);
        let back = take_alert(&t.app, &debit).await.unwrap();
        assert_eq!(back.status, AlertStatus::Ignored, "{back:?}");
        assert_eq!(alert(&t, credit.alert_id).await.linked_alert_id, Some(back.alert_id));
    }

    async fn a_fee_or_levy_takes_nothing_back(db: TestDatabase) {
        let (t, _, _, _) = two_open(db).await;
        let bank = told(true);
        for (narration, naira) in [("STAMP DUTY ON TRANSFER", "50"), ("VAT ON NIP CHARGE", "3.75")] {
            let fee = Alert { amount: naira.into(), ..debit_of(&bank) };
            let line = format!("VIA GAPS PAYMENT FROM {}", fee.payer);
            let mut taken = t.taken(&fee.text().replace(&line, narration), true);
            taken.facts.session_id = Some(bank.session.clone());
            taken.message_id = None;
            take_alert(&t.app, &taken).await.unwrap();
        }
        let credit = t.ingest(&bank.text()).await;
        assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
        // After it, as well.
        let line = format!("VIA GAPS PAYMENT FROM {}", bank.payer);
        let levy = Alert { amount: "50".into(), ..debit_of(&bank) };
        let mut taken = t.taken(&levy.text().replace(&line, "TRANSFER LEVY"), true);
        taken.facts.session_id = Some(bank.session.clone());
        take_alert(&t.app, &taken).await.unwrap();
        assert_eq!(alert(&t, credit.alert_id).await.linked_alert_id, None);
    }

    async fn a_fee_word_that_the_payer_wrote_hides_no_reversal(db: TestDatabase) {
        for by in ["session", "reference", "name"] {
            for credit_first in [true, false] {
                let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
                let bank = told(by == "session");
                let mut credit = t.taken(&bank.text(), true);
                let debit = debit_of(&bank);
                // The debit repeats the remark, "transfer fee" for a school's or a lorry's.
                let line = format!("VIA GAPS PAYMENT FROM {}", bank.payer);
                let remark = if by == "name" { format!("{} TRANSFER FEE", bank.payer) } else { "TRANSFER FEE".into() };
                let mut back = t.taken(&debit.text().replace(&line, &remark), true);
                assert_eq!(back.facts.kind, Some(AlertKind::Fee));
                if by == "reference" {
                    credit.facts.reference = Some("TRF/2603/77".into());
                    back.facts.reference = credit.facts.reference.clone();
                } else {
                    back.facts.session_id = credit.facts.session_id.clone();
                }
                let (credit, back) = if credit_first {
                    let credit = take_alert(&t.app, &credit).await.unwrap();
                    assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
                    (credit, take_alert(&t.app, &back).await.unwrap())
                } else {
                    let back = take_alert(&t.app, &back).await.unwrap();
                    let credit = take_alert(&t.app, &credit).await.unwrap();
                    assert_eq!(credit.status, AlertStatus::Review, "{by}: {credit:?}");
                    stays_open(&t, &one).await;
                    stays_open(&t, &two).await;
                    (credit, back)
                };
                let told = alert(&t, credit.alert_id).await;
                assert_eq!(told.linked_alert_id, Some(back.alert_id), "{by} {credit_first}");
                t.audited().await;
            }
        }
    }

    async fn a_reversal_known_first_holds_its_credit_whatever_our_clock_says(db: TestDatabase) {
        for value_date in [false, true] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            t.create(&shop, 6_450, "Halima Garba").await;
            t.advance(LATER);
            // The bank's clock is a minute ahead of ours.
            let ahead = t.app.now() + Span::minutes(1);
            let credit = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 6_450, "Halima Garba", ahead) };
            let debit = Alert { at: ahead + Span::seconds(3), ..debit_of(&credit) };
            let mut taken = t.taken(&debit.text(), true);
            if value_date {
                let midnight = tillbell::domain::time::Timestamp::from_utc_date(2026, 3, 10).unwrap() - Span::hours(1);
                let told = taken.facts.occurred.as_mut().unwrap();
                (told.begin, told.end) = (midnight, midnight + Span::seconds(1));
            }
            let back = take_alert(&t.app, &taken).await.unwrap();
            t.advance(Span::seconds(2));
            let late = t.ingest(&credit.text()).await;
            assert_eq!(late.status, AlertStatus::Review, "{value_date}: {late:?}");
            assert_eq!(alert(&t, late.alert_id).await.linked_alert_id, Some(back.alert_id));
            t.audited().await;
        }
    }

    async fn a_small_transfer_with_a_typed_session_id_hides_no_nameless_reversal(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 51_300, "Halima Garba").await;
        t.advance(LATER);
        let session = "000013260318091544000000000077";
        let credit = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 51_300, "Halima Garba", at()) };
        let paid = t.ingest(&credit.text()).await;
        assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
        let mut typed = t.taken(&Alert::credit(ACCOUNT, 100, "Sani Lawal", at()).text(), true);
        typed.facts.session_id = Some(session.to_owned());
        take_alert(&t.app, &typed).await.unwrap();
        let nameless = Alert { payer: "RETURN".into(), ..debit_of(&credit) };
        let back = take_back(&t, &nameless, Some(session), None).await;
        assert_eq!(alert(&t, paid.alert_id).await.linked_alert_id, Some(back.alert_id), "the alarm");
    }

    async fn many_small_typed_session_ids_push_no_partial_reversal_out(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 65_400, "Halima Garba").await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 65_400, "Halima Garba", at() + Span::seconds(9));
        for n in 0..5 {
            let mut typed = t.taken(&Alert::credit(ACCOUNT, 150 + n, "Sani Lawal", at()).text(), true);
            typed.facts.session_id = Some(credit.session.clone());
            take_alert(&t.app, &typed).await.unwrap();
        }
        let held = t.ingest(&credit.text()).await;
        assert_eq!(held.status, AlertStatus::Review, "{held:?}");
        let partial = Alert { amount: "65389.25".into(), ..debit_of(&credit) };
        let back = take_back(&t, &partial, Some(&credit.session), None).await;
        assert_eq!(alert(&t, held.alert_id).await.linked_alert_id, Some(back.alert_id));
    }

    async fn all_credits_of_the_payer_that_a_reversal_names_are_held(db: TestDatabase) {
        let (t, _) = world(db).await;
        t.advance(Span::hours(1));
        let mut credits = Vec::new();
        for n in 0..5 {
            let at = t.app.now() - Span::minutes(10 * (n + 1));
            let credit = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 15_650, "Halima Garba", at) };
            let taken = t.ingest(&credit.text()).await;
            credits.push((credit, taken.alert_id));
        }
        let back = take_back(&t, &debit_of(&credits[0].0), None, None).await;
        for (_, id) in &credits {
            assert_eq!(alert(&t, *id).await.linked_alert_id, Some(back.alert_id));
        }
    }

    async fn a_fee_word_hides_no_reversal_of_about_the_amount(db: TestDatabase) {
        for (naira, named) in [("8410.75", true), ("8300", true), ("8400", false)] {
            let (t, _, _, _) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(true);
            let paid = t.ingest(&bank.text()).await;
            assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
            let debit = Alert { amount: naira.into(), ..debit_of(&bank) };
            let line = format!("VIA GAPS PAYMENT FROM {}", bank.payer);
            let mut taken = t.taken(&debit.text().replace(&line, "TRANSFER FEE"), true);
            taken.facts.session_id = named.then(|| bank.session.clone());
            let back = take_alert(&t.app, &taken).await.unwrap();
            assert_eq!(alert(&t, paid.alert_id).await.linked_alert_id, Some(back.alert_id), "{naira}");
            t.audited().await;
        }
    }

    async fn a_transfer_between_accounts_of_ours_takes_nothing_back(db: TestDatabase) {
        let (t, _, _, _) = two_open(db).await;
        t.account("0123450096").await;
        let bank = told(true);
        let away = Alert { account: "******0096".into(), ..debit_of(&bank) };
        take_back(&t, &away, Some(&bank.session), None).await;
        let credit = t.ingest(&bank.text()).await;
        assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
        let again = Alert { message_id: "<away2@gens.example>".into(), at: away.at + Span::seconds(1), ..away };
        take_back(&t, &again, Some(&bank.session), None).await;
        assert_eq!(alert(&t, credit.alert_id).await.linked_alert_id, None);
    }

    async fn a_debit_that_names_another_credit_leaves_this_one_alone(db: TestDatabase) {
        let (t, _, _, _) = two_open(db).await;
        let (bank, other) = (told(true), Alert::credit(ACCOUNT, 8_400, "Preye Cookey", at() - Span::seconds(40)));
        let taken_back = t.ingest(&other.text()).await;
        assert_eq!(taken_back.status, AlertStatus::Unmatched, "{taken_back:?}");
        let debit = Alert { at: at() + Span::seconds(15), payer: PAYER.to_uppercase(), ..debit_of(&other) };
        let back = take_back(&t, &debit, Some(&other.session), None).await;
        let held = alert(&t, taken_back.alert_id).await;
        assert_eq!((held.status, held.linked_alert_id), (AlertStatus::Review, Some(back.alert_id)));
        let credit = t.ingest(&bank.text()).await;
        assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
    }
}
