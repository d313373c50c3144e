//! Money that the bank takes back: the debit or reversal finds its credit by session id and reference, whatever
//! the amount, the account it names and the order in which the mails came, and leaves the others alone.

use tillbell::app::App;
use tillbell::domain::alert::{AlertKind, AlertRow, AlertStatus};
use tillbell::domain::money::Money;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::rematch::rematch;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::correct::correct_amount;
use tillbell::ops::settlements::reverse::{Reverse, ReverseRefused, reverse_payment};

use crate::counted_once::{PAYER, approve_on, forwarded, told, two_open, without_account};
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

fn debit_of(credit: &Alert) -> Alert {
    let message_id = format!("<back.{}", &credit.message_id[1..]);
    Alert { direction: "DEBIT", message_id, session: String::new(), ..credit.clone() }
}

/// Takes a debit in, with what the bank's layout tells of the transfer it is about.
async fn take_back(
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

async fn alert(t: &TestApp, id: i64) -> AlertRow {
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

async fn undo(app: &App, payment: &Payment, by: i64, despite: Option<&str>) -> Result<(), ReverseRefused> {
    let ask = Reverse {
        business_id: payment.business_id,
        transaction_id: &payment.transaction_id,
        reason: "the bank took it back",
        operator: "ife",
        undoing_alert: Some(by),
        despite,
    };
    reverse_payment(app, &ask).await.unwrap().map(drop)
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
        t.finish().await;
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
        t.finish().await;
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
        t.finish().await;
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
        t.finish().await;
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
        t.finish().await;
    }

    async fn the_one_of_sixty_that_the_session_id_names_is_told(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let credits = many(&t, &shop).await;
        let first = &credits[0].0;
        let debit = Alert { at: t.app.now() - Span::seconds(5), ..debit_of(first) };
        let back = take_back(&t, &debit, Some(&first.session), None).await;
        assert_eq!(linked(&t, &credits).await, [0]);
        assert_eq!(alert(&t, credits[0].1).await.linked_alert_id, Some(back.alert_id));
        assert_eq!(alert(&t, back.alert_id).await.linked_alert_id, Some(credits[0].1));
        t.finish().await;
    }

    async fn without_session_id_the_name_tells_and_without_a_name_nobody_is_accused(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let credits = many(&t, &shop).await;
        // A session id of its own, which fits none, is no better than none.
        let named = Alert { at: t.app.now() - Span::seconds(5), ..debit_of(&credits[7].0) };
        let back = take_back(&t, &named, Some("000013260310094500111222333444"), None).await;
        assert_eq!(linked(&t, &credits).await, [7]);
        assert_eq!(alert(&t, back.alert_id).await.linked_alert_id, Some(credits[7].1));
        let nobody = Alert { payer: "SUPPLIER OF BOXES".into(), ..debit_of(&named) };
        take_back(&t, &nobody, None, None).await;
        assert_eq!(linked(&t, &credits).await, [7], "any of sixty: no alarm for each");
        t.finish().await;
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
        t.finish().await;
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
            t.finish().await;
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
        t.finish().await;
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
        t.finish().await;
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
        t.finish().await;
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
                t.finish().await;
            }
        }
    }

    async fn a_debit_undoes_the_transfer_that_it_fits_and_no_second_one(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let (bank, again) = (told(true), Alert { at: at() + Span::minutes(2), ..told(true) });
        t.advance(Span::minutes(3));
        let mut funded = Vec::new();
        for credit in [&bank, &again] {
            let credit = t.ingest(&credit.text()).await;
            assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
            funded.push(alert(&t, credit.alert_id).await.payment_id);
        }
        let (first, second) = if funded[0] == Some(one.id) { (&one, &two) } else { (&two, &one) };
        let later = |credit: &Alert| Alert { at: at() + Span::minutes(2), ..debit_of(credit) };
        let back = take_back(&t, &later(&bank), Some(&bank.session), None).await;
        let early = Alert { at: at() - Span::hours(3), ..debit_of(&again) };
        let early = take_back(&t, &early, Some(&again.session), None).await;
        let less = Alert { amount: "840".into(), ..later(&told(false)) };
        let less = take_back(&t, &less, None, None).await;
        let fee = later(&told(false));
        let line = format!("VIA GAPS PAYMENT FROM {}", fee.payer);
        let fee = t.ingest(&fee.text().replace(&line, "ACCOUNT MAINTENANCE FEE")).await;
        t.account("0123450096").await;
        let elsewhere = Alert { account: "******0096".into(), ..later(&told(false)) };
        let elsewhere = take_back(&t, &elsewhere, None, None).await;
        for (by, why) in [
            (back.alert_id, "session id"),
            (early.alert_id, "from before the transfer"),
            (less.alert_id, "reports NGN 840.00"),
            (fee.alert_id, "fee"),
            (elsewhere.alert_id, "another account"),
        ] {
            let refused = undo(&t.app, second, by, None).await.unwrap_err();
            assert!(matches!(&refused, ReverseRefused::Obstacles(all) if all.len() == 1), "{why}: {refused}");
            assert!(refused.to_string().contains(why), "{refused}");
        }
        undo(&t.app, first, back.alert_id, None).await.unwrap();
        let refused = undo(&t.app, second, back.alert_id, None).await.unwrap_err();
        assert!(refused.to_string().contains("has undone the transfer of alert"), "{refused}");
        undo(&t.app, second, back.alert_id, Some("one debit for both, says the bank")).await.unwrap();
        let about = format!("payment {}", second.transaction_id);
        let [act] = &t.app.store.acts(Some(&about), Timestamp::MIN, 5).await.unwrap()[..] else { panic!("one act") };
        assert_eq!((&*act.operator, &*act.act), ("ife", "reverse"));
        assert!(act.reason.contains("says the bank") && act.reason.contains("has undone"), "{act:?}");
        t.finish().await;
    }

    async fn two_people_undo_one_transfer_each_by_one_debit_and_one_is_asked(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let (bank, again) = (told(false), Alert { at: at() + Span::minutes(2), ..told(false) });
        t.advance(Span::minutes(3));
        for credit in [&bank, &again] {
            let credit = t.ingest(&credit.text()).await;
            assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
        }
        let debit = Alert { at: at() + Span::minutes(2), ..debit_of(&bank) };
        let back = take_back(&t, &debit, None, None).await;
        let other = t.another_node().await;
        let (here, there) =
            tokio::join!(undo(&t.app, &one, back.alert_id, None), undo(&other, &two, back.alert_id, None));
        assert!(here.is_ok() != there.is_ok(), "{here:?} {there:?}");
        let refused = here.and(there).unwrap_err();
        assert!(matches!(refused, ReverseRefused::Obstacles(_)), "{refused}");
        t.finish().await;
    }

    async fn a_transfer_between_accounts_of_ours_takes_nothing_back(db: TestDatabase) {
        let (t, _, _, _) = two_open(db).await;
        t.account("0123450096").await;
        let bank = told(true);
        let away = Alert { account: "******0096".into(), ..debit_of(&bank) };
        take_back(&t, &away, Some(&bank.session), None).await;
        let credit = t.ingest(&bank.text()).await;
        assert_eq!(credit.status, AlertStatus::Matched, "{credit:?}");
        let again = Alert { message_id: "<away2@gens.example>".into(), ..away };
        take_back(&t, &again, Some(&bank.session), None).await;
        assert_eq!(alert(&t, credit.alert_id).await.linked_alert_id, None);
        t.finish().await;
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
        t.finish().await;
    }
}
