//! Ways to steal, and ways to make the service look away: a correction that takes what a person took
//! back, a session id in a stranger's narration, forged mails that crowd out genuine ones, figures
//! changed by hand. Each of them must come to a person, and the audit must tell of the last.

use std::sync::Arc;

use tillbell::app::App;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::merchant::Mode;
use tillbell::domain::money::Money;
use tillbell::domain::payment::{CORRECTIONS_PER_BUSINESS, CorrectRefusal, Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops;
use tillbell::ops::alerts::approve::{Approve, approve_alert};
use tillbell::ops::alerts::decide::decide_alert;
use tillbell::ops::alerts::rematch::rematch;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::correct::{Corrected, correct_amount};
use tillbell::ops::payments::idempotency::{Claimed, claim};
use tillbell::ops::retention::forget_old;

use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::databases::{Engine, TestDatabase, run_on};
use crate::harness::mails::Alert;

/// More alerts of one account and amount than a decision reads at once.
const CROWD: usize = 205;

async fn status_of(t: &TestApp, alert: i64) -> AlertStatus {
    t.app.store.alert(alert).await.unwrap().unwrap().status
}

/// One payment told twice by the bank, without session id and with the same balance.
fn told_twice(payer: &str) -> [Alert; 2] {
    let one = Alert {
        session: String::new(),
        balance: "77.00".into(),
        ..Alert::credit(ACCOUNT, 5_000, payer, at())
    };
    let message_id = format!("<again-{}@gens.example>", payer.len());
    let two = Alert { message_id, holder: "TILL AND BELL LIMITED".into(), ..one.clone() };
    [one, two]
}

on_both! {
    async fn what_cannot_be_decoded_for_sure_pays_nothing_by_itself(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let alert = || Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text();
        for (from, to) in [
            ("charset=utf-8", "charset=ebcdic-cp-us"),
            ("charset=utf-8", "charset=\"utf-8"),
            ("charset=utf-8", "charset=utf-32"),
            ("MIME-Version: 1.0", "Content-Transfer-Encoding: x-uuencode"),
        ] {
            let taken = t.ingest(&alert().replace(from, to)).await;
            assert_eq!(taken.status, AlertStatus::Review, "{to}: {taken:?}");
        }
        assert_eq!(t.payment(&payment).await.status, Status::Pending);
    }

    async fn a_persons_word_does_not_make_another_mailbox_of_the_bank_good(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let alert = Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text();
        let taken = t.ingest(&alert.replace("From: GeNS@", "From: other@")).await;
        assert_eq!(taken.status, AlertStatus::Quarantined, "{taken:?}");
        assert_eq!(t.payment(&payment).await.status, Status::Pending);
    }

    async fn two_payments_with_one_message_id_are_both_kept(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let foreign = Alert::credit("0123459999", 5_000, "Halima Garba", at());
        let one = Alert { message_id: foreign.message_id.clone(), session: String::new(), ..Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()) };
        let two = Alert { message_id: foreign.message_id.clone(), ..Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()) };
        for alert in [&foreign, &one, &two] {
            let taken = t.ingest(&alert.text()).await;
            assert_eq!(taken.status, AlertStatus::Review, "never put aside as a copy: {taken:?}");
        }
        assert_eq!(t.payment(&payment).await.status, Status::Pending);
    }

    async fn a_correction_does_not_take_what_a_debit_spoke_against(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let credit = Alert::credit(ACCOUNT, 6_500, "Halima Garba", at());
        let waiting = t.ingest(&credit.text()).await;
        assert_eq!(waiting.status, AlertStatus::Review);
        // The same session id, but the bank kept a fee: the amounts differ.
        let debit = Alert { direction: "DEBIT", amount: "6450".into(), message_id: "<d@gens.example>".into(), ..credit.clone() };
        let mut debit = t.taken(&debit.text(), true);
        debit.facts.session_id = Some(credit.session);
        assert_eq!(take_alert(&t.app, &debit).await.unwrap().status, AlertStatus::Ignored);
        correct_amount(&t.app, &shop.caller, &payment.transaction_id, Money(650_000), None).await.unwrap();
        rematch(&t.app, payment.id).await.unwrap();
        assert_eq!(t.payment(&payment).await.status, Status::Pending);
        assert_eq!(status_of(&t, waiting.alert_id).await, AlertStatus::Review);
    }

    async fn a_correction_does_not_take_what_a_person_took_back(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let wrong = t.create(&shop, 5_000, "Halima Garba").await;
        let bait = t.create(&shop, 9_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let alert = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        let ask = Reverse {
            business_id: shop.id,
            transaction_id: &wrong.transaction_id,
            reason: "the wrong Halima",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&t.app, &ask).await.unwrap().unwrap();
        correct_amount(&t.app, &shop.caller, &bait.transaction_id, Money(500_000), None).await.unwrap();
        rematch(&t.app, bait.id).await.unwrap();
        assert_eq!(t.payment(&bait).await.status, Status::Pending);
        assert_eq!(status_of(&t, alert.alert_id).await, AlertStatus::Review);
    }

    async fn corrections_at_one_moment_on_two_nodes_keep_to_the_limit_of_a_business(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.another_node().await;
        let mut payments = Vec::new();
        for n in 0..CORRECTIONS_PER_BUSINESS + 20 {
            payments.push(t.create(&shop, 5_000 + n, "Halima Garba").await);
        }
        let correct = |app: &Arc<App>, payment: &Payment| {
            let (app, caller, id) = (app.clone(), shop.caller.clone(), payment.transaction_id.clone());
            async move { correct_amount(&app, &caller, &id, Money(750_000), None).await.unwrap() }
        };
        // All but ten one after another, so that the last places are fought for.
        let (early, late) = payments.split_at(CORRECTIONS_PER_BUSINESS as usize - 10);
        for payment in early {
            assert!(matches!(correct(&t.app, payment).await, Corrected::Payment(_)));
        }
        let racing = late.iter().enumerate().map(|(n, payment)| {
            tokio::spawn(correct(if n % 2 == 0 { &t.app } else { &other }, payment))
        });
        let mut corrected = 0;
        for end in futures_util::future::join_all(racing).await {
            match end.unwrap() {
                Corrected::Payment(_) => corrected += 1,
                Corrected::Refused(CorrectRefusal::TooManyInBusiness) => {}
                wrong => panic!("{wrong:?}"),
            }
        }
        assert_eq!(corrected, 10);
    }

    async fn a_strangers_session_id_does_not_put_a_genuine_alert_aside(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let genuine = Alert::credit(ACCOUNT, 5_000, "Halima Garba", at());
        let thief = Alert {
            session: genuine.session.clone(),
            ..Alert::credit(ACCOUNT, 5_000, "Musa Danladi", at() - Span::seconds(30))
        };
        t.ingest(&thief.text()).await;
        let outcome = t.ingest(&genuine.text()).await;
        assert_eq!(outcome.status, AlertStatus::Review, "a person can still approve it: {outcome:?}");
        let ask = Approve {
            alert_id: outcome.alert_id,
            business_id: shop.id,
            transaction_id: &payment.transaction_id,
            operator: "ada",
            despite: Some("two payers, one session id"),
            seen: None,
        };
        approve_alert(&t.app, &ask).await.unwrap().unwrap();
    }

    async fn forged_mails_do_not_crowd_out_genuine_ones(db: TestDatabase) {
        let (t, shop) = world(db).await;
        for _ in 0..2 {
            t.create(&shop, 5_000, "Halima Garba").await;
        }
        t.advance(LATER + Span::seconds(20));
        for _ in 0..CROWD {
            let forged = t.taken(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text(), false);
            assert_eq!(take_alert(&t.app, &forged).await.unwrap().status, AlertStatus::Quarantined);
        }
        let [one, two] = told_twice("Halima Garba");
        assert_eq!(t.ingest(&one.text()).await.status, AlertStatus::Matched);
        t.advance(Span::seconds(1));
        let again = t.ingest(&two.text()).await;
        assert_eq!(again.status, AlertStatus::Review, "{again:?}");
    }

    async fn a_popular_amount_does_not_hide_a_second_telling(db: TestDatabase) {
        let (t, shop) = world(db).await;
        for _ in 0..2 {
            t.create(&shop, 5_000, "Halima Garba").await;
        }
        t.advance(LATER + Span::seconds(20));
        let [one, two] = told_twice("Halima Garba");
        for n in 0..30 {
            let other = Alert::credit(ACCOUNT, 5_000, "Efosa Igbinedion", at() - Span::seconds(20 + n));
            assert_eq!(t.ingest(&other.text()).await.status, AlertStatus::Unmatched);
        }
        assert_eq!(t.ingest(&one.text()).await.status, AlertStatus::Matched);
        t.advance(Span::seconds(1));
        for n in 0..CROWD {
            let ago = Span::seconds(60 + n as i64);
            let other = Alert::credit(ACCOUNT, 5_000, "Terver Akaa", at() - ago);
            assert_eq!(t.ingest(&other.text()).await.status, AlertStatus::Unmatched);
        }
        t.advance(Span::seconds(1));
        let again = t.ingest(&two.text()).await;
        assert_eq!(again.status, AlertStatus::Review, "{again:?}");
    }

    async fn a_second_telling_is_not_approved_by_oversight(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_000, "Halima Garba").await;
        t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let [one, two] = told_twice("Halima Garba");
        let first = t.ingest(&one.text()).await;
        let again = t.ingest(&two.text()).await;
        assert_eq!((first.status, again.status), (AlertStatus::Matched, AlertStatus::Review));
        let paid = first.transaction_id.unwrap();
        let page = ops::payments::read::ListFilter {
            status: Some(Status::Pending),
            from: None,
            until: None,
            website_id: None,
            reversed: None,
            mode: Mode::Live,
            per_page: 15,
            page: 1,
            cursor: None,
        };
        let listed = ops::payments::read::list_payments(&t.app, shop.id, &page).await.unwrap();
        let open = listed.rows[0].payment.transaction_id.clone();
        assert_ne!(open, paid);
        let mut ask = Approve {
            alert_id: again.alert_id,
            business_id: shop.id,
            transaction_id: &open,
            operator: "ada",
            despite: None,
            seen: None,
        };
        let refused = approve_alert(&t.app, &ask).await.unwrap().unwrap_err();
        assert!(refused.to_string().contains("same money"), "{refused}");
        ask.despite = Some("she paid twice; the statement shows both");
        approve_alert(&t.app, &ask).await.unwrap().unwrap();
    }

    async fn a_mail_with_signs_no_database_takes_is_stored_all_the_same(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        // No two characters alike in a row, or the index would press it small.
        let mut seed = 7u64;
        let long: String = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + u8::try_from((seed >> 33) % 26).unwrap())
        })
        .take(30_000)
        .collect();
        let alert = Alert { message_id: format!("<{long}@gens.example>"), ..Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()) };
        let mut taken = t.taken(&alert.text(), true);
        taken.subject = Some("Transaction\0Notification".into());
        let outcome = take_alert(&t.app, &taken).await.unwrap();
        assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
        assert_eq!(take_alert(&t.app, &taken).await.unwrap().status, AlertStatus::Duplicate);
        assert_eq!(t.payment(&payment).await.status, Status::Approved);
    }

    async fn a_debit_that_was_stored_but_not_worked_on_is_worked_on_later(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let credit = Alert::credit(ACCOUNT, 8_000, "Halima Garba", at());
        let debit = Alert { direction: "DEBIT", message_id: "<d@gens.example>".into(), ..credit.clone() };
        // As after a crash between the two: the debit is there, nothing is linked to it.
        let mut taken = t.taken(&debit.text(), true);
        taken.facts.session_id = Some(credit.session.clone());
        let debit = take_alert(&t.app, &taken).await.unwrap();
        let other = Alert { amount: "8010".into(), ..credit };
        let waiting = t.ingest(&other.text()).await;
        assert_eq!(waiting.status, AlertStatus::Review);
        decide_alert(&t.app, debit.alert_id).await.unwrap();
        let held = t.app.store.alert(waiting.alert_id).await.unwrap().unwrap();
        assert_eq!(held.linked_alert_id, Some(debit.alert_id));
        assert!(held.reason.contains("taken this money back"), "{}", held.reason);
    }

    async fn idempotency_keys_are_forgotten_after_their_day(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let Claimed::New(claimed) = claim(&t.app, shop.id, "order-7", &[7; 32]).await.unwrap() else {
            panic!("the key is free")
        };
        claimed.keep();
        forget_old(&t.app).await.unwrap();
        assert!(t.app.store.idempotency_key(shop.id, "order-7").await.unwrap().is_some());
        t.advance(Span::hours(25));
        forget_old(&t.app).await.unwrap();
        assert!(t.app.store.idempotency_key(shop.id, "order-7").await.unwrap().is_none());
    }
}

/// Changes made to the file by hand, with the triggers out of the way, and the check that tells.
const BY_HAND: [(&str, &str); 13] = [
    ("update payments set reversed_at = 1 where id = 1", "approved_has_one_credit"),
    (
        "update payments set status = 'pending', approved_at = null, settlement_id = null, matched_at = null where id = 1",
        "approved_has_one_credit",
    ),
    ("update payments set business_id = 2 where id = 1", "approved_has_one_credit"),
    (
        "insert into entries values (900, 'settlement', null, 1, 'gift', 1); \
         insert into unsealed_entries values (900); \
         insert into postings values (900, 0, 'clearing', 'debit', 5), (900, 1, 'merchant:1', 'credit', 5); \
         update merchant_balances set balance_kobo = balance_kobo + 5 where business_id = 1",
        "approved_has_one_credit",
    ),
    ("update alerts set amount_kobo = amount_kobo - 100 where status = 'matched'", "alert_funds_one_payment"),
    ("update alerts set direction = 'debit' where status = 'matched'", "alert_funds_one_payment"),
    ("update payments set amount_kobo = amount_kobo * 2 where id = 1", "charges_add_up"),
    ("update merchant_balances set balance_kobo = balance_kobo + 1", "balances_equal_postings"),
    (
        "update settlements set business_receives_kobo = received_kobo, charge_kobo = 0 where id = 1",
        "charges_add_up",
    ),
    (
        "update postings set amount_kobo = amount_kobo + 700 where account in ('clearing', 'merchant:1') \
         and entry_id = (select id from entries where kind = 'reversal'); \
         update merchant_balances set balance_kobo = balance_kobo - 700 where business_id = 1",
        "reversals_mirror",
    ),
    (
        "insert into postings select id, 90, 'merchant:1', 'debit', 9 from entries where settlement_id = 1; \
         insert into postings select id, 91, 'merchant:2', 'credit', 9 from entries where settlement_id = 1; \
         update merchant_balances set balance_kobo = balance_kobo - 9 where business_id = 1; \
         update merchant_balances set balance_kobo = balance_kobo + 9 where business_id = 2",
        "credited_is_received_less_charges",
    ),
    ("update postings set amount_kobo = 1 where line = 0 and entry_id = 1", "chain_is_unbroken"),
    (
        "update postings set account = 'fees' where entry_id = 1 and account = 'merchant:1'; \
         delete from seals where id = (select max(id) from seals)",
        "entries_are_sealed",
    ),
];

#[test]
fn the_audit_tells_of_every_change_by_hand() {
    run_on(Engine::Sqlite, by_hand);
}

async fn by_hand(db: TestDatabase) {
    let (t, shop) = world(db).await;
    t.merchant("bolu.example").await;
    let payment = t.create(&shop, 5_000, "Halima Garba").await;
    let wrong = t.create(&shop, 7_000, "Efosa Igbinedion").await;
    t.advance(LATER + Span::seconds(20));
    for (naira, name) in [(5_000, "Halima Garba"), (7_000, "Efosa Igbinedion")] {
        let outcome = t.ingest(&Alert::credit(ACCOUNT, naira, name, at()).text()).await;
        assert_eq!(outcome.status, AlertStatus::Matched);
    }
    let ask = Reverse {
        business_id: shop.id,
        transaction_id: &wrong.transaction_id,
        reason: "the wrong Efosa",
        operator: "ada",
        undoing_alert: None,
        despite: None,
    };
    reverse_payment(&t.app, &ask).await.unwrap().unwrap();
    t.audited().await;
    let settlement = t.payment(&payment).await.settlement_id.unwrap();
    assert_eq!((payment.id, settlement), (1, 1), "the changes below name them");
    the_audit_tells_of_each(&t, &BY_HAND).await;
}

/// Makes each change under the service, asks the audit, and takes the change back. SQLite only.
pub async fn the_audit_tells_of_each(t: &TestApp, changes: &[(&str, &str)]) {
    let url = t.app.config.database_url().to_owned();
    let path = url.strip_prefix("sqlite:").unwrap();
    for (sql, check) in changes {
        let file = rusqlite::Connection::open(path).unwrap();
        file.execute_batch("pragma foreign_keys = off; pragma ignore_check_constraints = on").unwrap();
        let before: Vec<(String, String)> = triggers(&file);
        for (name, _) in &before {
            file.execute_batch(&format!("drop trigger {name}")).unwrap();
        }
        let copy = tempfile::tempdir().unwrap();
        let saved = copy.path().join("saved.db");
        file.execute_batch(&format!("vacuum into '{}'", saved.display())).unwrap();
        file.execute_batch(sql).unwrap();
        for (_, text) in &before {
            file.execute_batch(text).unwrap();
        }
        let told = ops::ledger::audit::audit(&t.app).await.unwrap();
        let found = told.iter().find(|one| one.name == *check).unwrap();
        assert!(found.violations > 0, "{check} says nothing of: {sql}\n{told:?}");
        assert!(!found.found.is_empty(), "{check} names no row of: {sql}");
        drop(file);
        restore(path, &saved);
    }
}

fn triggers(file: &rusqlite::Connection) -> Vec<(String, String)> {
    let mut ask = file.prepare("select name, sql from sqlite_master where type = 'trigger'").unwrap();
    let rows = ask.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Puts the tables back as they were in the copy, row by row, under the running service.
fn restore(path: &str, saved: &std::path::Path) {
    let file = rusqlite::Connection::open(path).unwrap();
    file.execute_batch("pragma foreign_keys = off; pragma ignore_check_constraints = on").unwrap();
    let before = triggers(&file);
    file.execute_batch(&format!("attach '{}' as saved; begin", saved.display())).unwrap();
    for (name, _) in &before {
        file.execute_batch(&format!("drop trigger main.{name}")).unwrap();
    }
    for table in [
        "payments",
        "settlements",
        "entries",
        "unsealed_entries",
        "postings",
        "seals",
        "merchant_balances",
        "alerts",
        "wallets",
        "payment_intents",
        "wallet_credits",
    ] {
        let own = format!("select group_concat(name) from pragma_table_xinfo('{table}') where hidden = 0");
        let own: String = file.query_row(&own, [], |row| row.get(0)).unwrap();
        file.execute_batch(&format!(
            "delete from main.{table}; insert into main.{table} ({own}) select {own} from saved.{table}"
        ))
        .unwrap();
    }
    for (_, text) in &before {
        file.execute_batch(text).unwrap();
    }
    file.execute_batch("commit").unwrap();
}
