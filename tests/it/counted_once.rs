//! One transfer is counted once, however often and in whatever words it is told: by a person's forward and by
//! the bank's own mail days after it, by a mail that names no account, once more after somebody dismissed or
//! reversed the first telling, and by a person and a rule at the same moment.

use std::sync::Arc;

use tillbell::app::App;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::approve::{Approve, ApproveRefused, approve_alert};
use tillbell::ops::alerts::decide::{AlertOutcome, decide_alert};
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::merchants::accounts::NewAccount;

use crate::forged::{MAILBOX, Scene};
use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, at, world};
use crate::harness::databases::{Engine, TestDatabase, connect, run_on};
use crate::harness::mails::Alert;
use crate::harness::signing::Signer;

/// Requests that stay open for a week.
const LONG: &str = "[server]\ndev = true\n[payments]\nexpiry = \"168h\"\n";
/// A mailbox that nobody read for so long.
const UNREAD: Span = Span::days(4);
const ROUNDS: i64 = 24;

pub const PAYER: &str = "Ngozi Umeadi";

/// A shop with two open payments of 8,400 by the same payer, ten minutes later; the rules choose the second.
pub async fn two_open(db: TestDatabase) -> (TestApp, Merchant, Payment, Payment) {
    let t = TestApp::start_with(db, LONG).await;
    let shop = t.merchant("aso-oke.example").await;
    t.account(ACCOUNT).await;
    let one = t.create(&shop, 8_400, PAYER).await;
    t.advance(Span::seconds(1));
    let two = t.create(&shop, 8_400, PAYER).await;
    t.advance(LATER + Span::seconds(20));
    (t, shop, one, two)
}

/// The bank's alert of the one transfer; without a session id it came from inside the bank.
pub fn told(session: bool) -> Alert {
    let alert = Alert::credit(ACCOUNT, 8_400, PAYER, at());
    if session { alert } else { Alert { session: String::new(), ..alert } }
}

/// The same transfer in a mail of its own.
pub fn told_again(alert: &Alert) -> Alert {
    let message_id = format!("<again.{}", &alert.message_id[1..]);
    Alert { message_id, holder: "TILL AND BELL LIMITED".into(), ..alert.clone() }
}

/// As a person passes it on.
pub fn forwarded(mail: &str) -> String {
    mail.replace("From: GeNS@gtbank.com", "From: Ife <ife@till.example>")
        .replace("Subject: ", "Subject: Fwd: ")
        .replace("Message-ID: <", "Message-ID: <fwd.")
        .replace(
            "\r\n\r\n<table>",
            "\r\n\r\n<div>---------- Forwarded message ---------<br>From: GTBank &lt;GeNS@gtbank.com&gt;<br>\
             Date: Tue, Mar 10, 2026<br>Subject: Transaction Notification<br>To: ife@till.example</div><table>",
        )
}

/// Without the row that names the account.
pub fn without_account(mail: &str) -> String {
    let from = mail.find("<tr><td>Account Number").unwrap();
    let to = from + mail[from..].find("\r\n").unwrap();
    format!("{}{}", &mail[..from], &mail[to + 2..])
}

pub async fn approve_on(
    app: &App,
    alert: i64,
    payment: &Payment,
    despite: Option<&str>,
) -> Result<(), ApproveRefused> {
    let ask = Approve {
        alert_id: alert,
        business_id: payment.business_id,
        transaction_id: &payment.transaction_id,
        operator: "ife",
        despite,
        seen: None,
    };
    approve_alert(app, &ask).await.unwrap().map(drop)
}

pub async fn approved(t: &TestApp, alert: &AlertOutcome, payment: &Payment, despite: Option<&str>) {
    approve_on(&t.app, alert.alert_id, payment, despite).await.unwrap();
    assert_eq!(t.payment(payment).await.status, Status::Approved);
}

pub async fn is_open(t: &TestApp, payment: &Payment) {
    assert_eq!(t.payment(payment).await.status, Status::Pending);
}

/// How many of the payments are approved.
async fn count_approved(t: &TestApp, payments: [&Payment; 2]) -> usize {
    let mut count = 0;
    for payment in payments {
        count += usize::from(t.payment(payment).await.status == Status::Approved);
    }
    count
}

on_both! {
    async fn a_price_that_very_many_pay_in_one_minute_is_decided(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 7_350, "Zainab Dogo").await;
        t.advance(LATER);
        for n in 0..205 {
            let session = format!("0000132603100945{n:014}");
            let other = Alert { session, ..Alert::credit(ACCOUNT, 7_350, "BLESSING UDOM", t.app.now()) };
            assert_eq!(t.ingest(&other.text()).await.status, AlertStatus::Review, "{n}");
        }
        let taken = t.ingest(&Alert::credit(ACCOUNT, 7_350, "ZAINAB DOGO", t.app.now()).text()).await;
        assert_eq!((taken.status, t.payment(&payment).await.status), (AlertStatus::Matched, Status::Approved), "{taken:?}");
        // Without a session id of its own, the alert may be a second telling of any of them.
        let bare = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 7_350, "BLESSING UDOM", t.app.now()) };
        let taken = t.ingest(&bare.text()).await;
        assert_eq!(taken.status, AlertStatus::Review, "{taken:?}");
    }

    async fn a_reference_that_several_may_bear_hides_no_second_telling(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 6_150, "Halima Garba").await;
        let other = t.create(&shop, 6_150, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let told = |id: &str, reference: Option<&str>| {
            let alert = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 6_150, "HALIMA GARBA", at()) };
            let mut taken = t.taken(&alert.text().replace(&alert.message_id, id), true);
            taken.facts.balance = None;
            taken.facts.reference = reference.map(str::to_owned);
            taken.facts.reference_is_unique = false;
            taken
        };
        let first = take_alert(&t.app, &told("<1@a>", Some("TRF/2603/77")) ).await.unwrap();
        assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
        for (id, reference) in [("<2@a>", Some("TRF/2603/77")), ("<3@a>", None)] {
            let second = take_alert(&t.app, &told(id, reference)).await.unwrap();
            assert_eq!(second.status, AlertStatus::Review, "{second:?}");
            let by_hand = approve_on(&t.app, second.alert_id, &other, None).await;
            assert!(matches!(by_hand, Err(ApproveRefused::Obstacles(_))), "{by_hand:?}");
        }
    }

    async fn what_came_over_a_virtual_account_is_not_credited_on_the_one_behind_it(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("other.example").await;
        let behind_ours = t.new_account("gtbank", (0, 4), "9012345678", Some(other.id));
        t.add_account(&NewAccount { via: Some(ACCOUNT.into()), ..behind_ours }).await;
        let behind = t.create(&shop, 5_000, "Halima Garba").await;
        t.create(&other, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let told = || {
            let alert = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 5_000, "HALIMA GARBA", at()) };
            let mut taken = t.taken(&alert.text(), true);
            taken.facts.balance = None;
            taken
        };
        let mut over = told();
        over.facts.virtual_account = Some("9012345678".into());
        over.facts.virtual_amount = over.facts.amount;
        over.facts.virtual_day = over.facts.occurred.map(|time| time.begin.lagos_day());
        let first = take_alert(&t.app, &over).await.unwrap();
        assert_eq!(first.status, AlertStatus::Matched, "{first:?}");
        let second = take_alert(&t.app, &told()).await.unwrap();
        assert_eq!(second.status, AlertStatus::Review, "{second:?}");
        assert_eq!(t.payment(&behind).await.status, Status::Pending);
    }

    async fn the_banks_own_mail_days_after_an_approved_forward_is_a_copy(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let bank = told(true);
        let forward = t.ingest(&forwarded(&bank.text())).await;
        assert_eq!(forward.status, AlertStatus::Review, "{forward:?}");
        approved(&t, &forward, &one, None).await;
        t.advance(UNREAD);
        let late = t.ingest(&bank.text()).await;
        assert_eq!(late.status, AlertStatus::Duplicate, "{late:?}");
        // And so is the same forward, fed once more.
        let again = t.ingest(&forwarded(&bank.text())).await;
        assert_eq!(again.status, AlertStatus::Review, "a forward is nobody's copy by itself: {again:?}");
        assert!(again.reason.contains(&format!("as alert {}", forward.alert_id)), "{}", again.reason);
        is_open(&t, &two).await;
    }

    async fn the_same_without_a_session_id_waits_for_a_person(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let bank = told(false);
        let forward = t.ingest(&forwarded(&bank.text())).await;
        approved(&t, &forward, &one, None).await;
        t.advance(UNREAD);
        let late = t.ingest(&bank.text()).await;
        assert_eq!(late.status, AlertStatus::Review, "{late:?}");
        assert!(late.reason.contains("same money"), "{}", late.reason);
        is_open(&t, &two).await;
    }

    async fn a_mail_without_account_that_a_person_approved_counts_for_any(db: TestDatabase) {
        for session in [true, false] {
            let (t, _, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(session);
            let short = t.ingest(&without_account(&told_again(&bank).text())).await;
            assert_eq!(short.status, AlertStatus::Review, "{short:?}");
            approved(&t, &short, &one, Some("it is on the statement")).await;
            let stored = t.app.store.alert(short.alert_id).await.unwrap().unwrap();
            assert_eq!(stored.account_id, None, "the settlement has it");
            let full = t.ingest(&bank.text()).await;
            assert!(matches!(full.status, AlertStatus::Review | AlertStatus::Duplicate), "{full:?}");
            is_open(&t, &two).await;
            t.audited().await;
        }
    }

    async fn a_mail_without_account_that_waits_holds_the_full_one(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let bank = told(false);
        let short = t.ingest(&without_account(&told_again(&bank).text())).await;
        let full = t.ingest(&bank.text()).await;
        assert_eq!(full.status, AlertStatus::Review, "{full:?}");
        approved(&t, &full, &one, Some("seen on the statement, once")).await;
        let refused = approve_on(&t.app, short.alert_id, &two, None).await.unwrap_err();
        assert!(refused.to_string().contains(&format!("alert {}", full.alert_id)), "{refused}");
    }

    async fn the_second_of_two_twins_by_hand_is_asked_about(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let bank = told(false);
        let first = t.ingest(&without_account(&bank.text())).await;
        let second = t.ingest(&without_account(&forwarded(&told_again(&bank).text()))).await;
        for alert in [&first, &second] {
            assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
        }
        // She did pay twice, says the person who has seen the statement: twins are told of on both sides.
        approve_on(&t.app, first.alert_id, &one, Some("one of two, by the statement")).await.unwrap();
        let refused = approve_on(&t.app, second.alert_id, &two, None).await.unwrap_err();
        assert!(matches!(refused, ApproveRefused::Obstacles(_)), "{refused}");
        assert!(refused.to_string().contains("same money"), "{refused}");
        assert!(!refused.to_string().contains("different account"), "none is named: {refused}");
        approved(&t, &second, &two, Some("the statement shows both")).await;
    }

    async fn no_reason_makes_one_session_id_pay_twice(db: TestDatabase) {
        let (t, shop, one, two) = two_open(db).await;
        let bank = told(true);
        let first = t.ingest(&forwarded(&bank.text())).await;
        let second = t.ingest(&without_account(&forwarded(&told_again(&bank).text()))).await;
        // The other one, of which no account is known, may be a second transfer.
        approved(&t, &first, &one, Some("they are one")).await;
        let refused = approve_on(&t.app, second.alert_id, &two, Some("I am sure")).await.unwrap_err();
        assert!(!matches!(refused, ApproveRefused::Obstacles(_)), "{refused}");
        assert!(refused.to_string().contains("NIP session id") && refused.to_string().contains("reverse"), "{refused}");
        is_open(&t, &two).await;
        // Reversed first, it may.
        let undo = Reverse {
            business_id: shop.id,
            transaction_id: &one.transaction_id,
            reason: "onto the wrong order",
            operator: "ife",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&t.app, &undo).await.unwrap().unwrap();
        approved(&t, &second, &two, Some("I am sure")).await;
        let refused = approve_on(&t.app, first.alert_id, &one, Some("once more")).await.unwrap_err();
        assert!(!matches!(refused, ApproveRefused::Obstacles(_)), "{refused}");
    }

    async fn two_transfers_under_one_message_id_are_not_one(db: TestDatabase) {
        let (t, _, one, two) = two_open(db).await;
        let first = told(false);
        let paid = t.ingest(&first.text()).await;
        assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
        let (later, richer) = (at() + Span::minutes(4), "99120.00".to_owned());
        t.advance(Span::minutes(5));
        for (second, copy) in [
            (Alert { balance: first.balance.clone(), ..first.clone() }, true),
            (Alert { balance: richer.clone(), ..first.clone() }, false),
            (Alert { at: later, ..first.clone() }, false),
            (Alert { at: later, balance: richer, ..first.clone() }, false),
        ] {
            let mut taken = t.taken(&second.text(), true);
            taken.content_hash[0] ^= 1;
            let second = take_alert(&t.app, &taken).await.unwrap();
            let expected = if copy { AlertStatus::Duplicate } else { AlertStatus::Review };
            assert_eq!(second.status, expected, "{second:?}");
        }
        assert_eq!(count_approved(&t, [&one, &two]).await, 1);
    }

    async fn what_was_dismissed_or_reversed_approves_nothing_when_told_again(db: TestDatabase) {
        for reversed in [false, true] {
            let (t, shop, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
            let bank = told(false);
            let first = t.ingest(&without_account(&bank.text())).await;
            let first = if reversed {
                approved(&t, &first, &one, Some("it is on the statement")).await;
                // The bank took it back and kept its fee.
                let back = Alert { direction: "DEBIT", amount: "8350".into(), ..told_again(&bank) };
                let mut back = t.taken(&back.text(), true);
                back.facts.reference = Some("RVS/77120934".into());
                let back = take_alert(&t.app, &back).await.unwrap();
                let undo = Reverse {
                    business_id: shop.id,
                    transaction_id: &one.transaction_id,
                    reason: "the bank took it back",
                    operator: "ife",
                    undoing_alert: Some(back.alert_id),
                    despite: Some("it kept its fee"),
                };
                reverse_payment(&t.app, &undo).await.unwrap().unwrap();
                first
            } else {
                dismiss_alert(&t.app, first.alert_id, "ife", "sent back by hand").await.unwrap().unwrap();
                first
            };
            let stored = t.app.store.alert(first.alert_id).await.unwrap().unwrap();
            let expected = if reversed { AlertStatus::Reversed } else { AlertStatus::Dismissed };
            assert_eq!(stored.status, expected);
            t.advance(Span::minutes(5));
            let again = t.ingest(&told_again(&bank).text()).await;
            assert_eq!(again.status, AlertStatus::Review, "{reversed}: {again:?}");
            is_open(&t, &two).await;
            t.audited().await;
        }
    }

    async fn a_trusted_copy_and_a_proven_one_with_less_signed_credit_once(db: TestDatabase) {
        for fields in [
            vec!["from", "to", "subject", "content-type"],
            vec!["from", "to", "subject", "content-type", "date"],
            vec!["from", "to", "subject", "content-type", "message-id"],
        ] {
            for trusted_first in [true, false] {
                let s = Scene::new(TestDatabase::migrated(db.engine()).await).await;
                let other = s.t.merchant("second.example").await;
                let open = s.t.create(&other, 5_000, "Ngozi Umeadi").await;
                let bank = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 5_000, "Ngozi Umeadi", s.t.app.now()) };
                let third = s.t.create(&other, 5_000, "Ngozi Umeadi").await;
                s.t.advance(Span::seconds(30));
                let signed = Signer { fields: fields.clone(), ..Signer::bank() }.sign(&bank.text());
                let saved = signed_away(&signed);
                let trusted = || s.t.ingest(&saved);
                let proven = || s.take(signed.clone(), MAILBOX);
                if trusted_first {
                    assert_eq!(trusted().await.status, AlertStatus::Matched);
                    s.t.advance(UNREAD);
                    assert_ne!(proven().await.status, AlertStatus::Matched, "{fields:?}");
                } else {
                    let first = proven().await;
                    assert_eq!(first.status, AlertStatus::Matched, "{fields:?} {first:?}");
                    s.t.advance(UNREAD);
                    assert_ne!(trusted().await.status, AlertStatus::Matched, "{fields:?}");
                }
                assert_eq!(count_approved(&s.t, [&open, &third]).await, 1);
                s.t.audited().await;
            }
        }
    }

    async fn a_person_and_the_rules_at_one_moment_on_two_nodes_credit_once(db: TestDatabase) {
        let (t, shop, _, _) = two_open(db).await;
        let other = t.another_node().await;
        for round in 0..ROUNDS {
            let naira = 20_000 + 10 * round;
            let one = t.create(&shop, naira, PAYER).await;
            t.advance(Span::seconds(1));
            let two = t.create(&shop, naira, PAYER).await;
            t.advance(Span::minutes(3));
            let mut bank = Alert::credit(ACCOUNT, naira, PAYER, t.app.now());
            if round % 2 == 0 {
                bank.session.clear();
            }
            let text = forwarded(&told_again(&bank).text());
            let text = if round % 3 == 0 { without_account(&text) } else { text };
            let forward = t.ingest(&text).await;
            assert_eq!(forward.status, AlertStatus::Review, "{forward:?}");
            let taken = Arc::new(t.taken(&bank.text(), true));
            let by_rule = {
                let (app, taken) = (other.clone(), taken.clone());
                tokio::spawn(async move { take_alert(&app, &taken).await.unwrap() })
            };
            let by_hand = {
                let (app, one) = (t.app.clone(), one.clone());
                tokio::spawn(async move { approve_on(&app, forward.alert_id, &one, None).await })
            };
            let (original, person) = (by_rule.await.unwrap(), by_hand.await.unwrap());
            let original = decide_alert(&t.app, original.alert_id).await.unwrap();
            let count = count_approved(&t, [&one, &two]).await;
            assert!(count <= 1, "round {round}: {original:?} {person:?}");
        }
    }
}

/// Both have read when the gate opens, a table that every settlement is written to, and the rules' settlement
/// stands half written in it.
#[test]
fn two_that_were_decided_before_either_was_written_credit_once() {
    run_on(Engine::Postgres, at_the_gate);
}

async fn at_the_gate(db: TestDatabase) {
    for session in [true, false] {
        let (t, shop, one, two) = two_open(TestDatabase::migrated(db.engine()).await).await;
        let (other, url) = (t.another_node().await, t.database().url().to_owned());
        // Statements are prepared when they are first used, and would be stopped there, before any guard.
        for (naira, app) in [(1_110, &t.app), (1_220, &other)] {
            t.create(&shop, naira, PAYER).await;
            t.advance(Span::minutes(1));
            let paid = t.ingest_on(app, &Alert::credit(ACCOUNT, naira, PAYER, t.app.now()).text()).await;
            assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
        }
        let bank = told(session);
        let forward = t.ingest(&forwarded(&told_again(&bank).text())).await;
        let (gate, watch) = (connect(&url).await, connect(&url).await);
        gate.batch_execute("begin; lock table settlements in share row exclusive mode").await.unwrap();
        let taken = t.taken(&bank.text(), true);
        let by_rule = tokio::spawn(async move { take_alert(&other, &taken).await.unwrap() });
        while waiting_for_a_lock(&watch).await < 1 {
            assert!(!by_rule.is_finished(), "it went round the gate");
        }
        // Whoever has seen both may say that they are two, but not under one session id.
        let (app, onto, despite) = (t.app.clone(), one.clone(), session.then_some("two, by the statement"));
        let by_hand = tokio::spawn(async move { approve_on(&app, forward.alert_id, &onto, despite).await });
        while !by_hand.is_finished() && waiting_for_a_lock(&watch).await < 2 {}
        gate.batch_execute("commit").await.unwrap();
        let (original, person) = (by_rule.await.unwrap(), by_hand.await.unwrap());
        assert_eq!(count_approved(&t, [&one, &two]).await, 1, "{session}: {original:?} {person:?}");
        assert!(person.is_err(), "{session}: {original:?} {person:?}");
    }
}

async fn waiting_for_a_lock(client: &tokio_postgres::Client) -> i64 {
    let text = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    client.query_one(text, &[]).await.unwrap().get(0)
}

/// As saved from the mailbox, without the signature.
fn signed_away(mail: &str) -> String {
    mail.split_once("\r\n").unwrap().1.to_owned()
}
