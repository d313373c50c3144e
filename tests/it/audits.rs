//! What the audit says of a database whose guards or seals somebody took away, on both engines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::ledger::audit::{audit, what_to_do};
use tillbell::ops::ledger::seal::seal;
use tillbell::store::engine::sql::{Sql, Text};
use tillbell::store::{Store, StoreOptions};

use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::databases::{Engine, TestDatabase, connect};
use crate::harness::mails::Alert;
use crate::harness::until::until_true;

/// Runs statements as somebody who may do everything, and whom no trigger stops.
pub async fn by_hand(t: &TestApp, sqlite: &str, postgres: &str) {
    by_hand_on(t.database(), sqlite, postgres).await;
}

pub async fn by_hand_on(database: &TestDatabase, sqlite: &str, postgres: &str) {
    match database.engine() {
        Engine::Sqlite => {
            let path = database.url().strip_prefix("sqlite:").unwrap();
            let file = rusqlite::Connection::open(path).unwrap();
            file.execute_batch(&format!("pragma foreign_keys = off; {sqlite}")).unwrap();
        }
        Engine::Postgres => {
            let client = connect(database.url()).await;
            let text = format!("set session_replication_role = replica; {postgres}");
            client.batch_execute(&text).await.unwrap();
        }
    }
}

pub async fn violations(t: &TestApp, check: &str) -> i64 {
    let told = audit(&t.app).await.unwrap();
    told.iter().find(|one| one.name == check).unwrap().violations
}

on_both! {
    async fn an_entry_whose_seal_is_gone_is_told(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.without_audit("seals are deleted by hand");
        t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let paid = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        assert_eq!(paid.status, AlertStatus::Matched);
        t.audited().await; // seals the entry
        assert_eq!(violations(&t, "entries_are_sealed").await, 0);
        let trigger = "create trigger seals_no_delete before delete on seals \
                       begin select raise(abort, 'seals is append only'); end";
        by_hand(&t, &format!("drop trigger seals_no_delete; delete from seals; {trigger}"), "delete from seals").await;
        assert_eq!(violations(&t, "append_only_is_guarded").await, 0, "nothing is seen of it there");
        assert_eq!(violations(&t, "entries_are_sealed").await, 1);
    }

    async fn nobody_is_told_of_a_fault_because_somebody_else_seals(db: TestDatabase) {
        const PAID: i64 = 12;
        let (t, shop) = world(db).await;
        let is_done = AtomicBool::new(false);
        let sealing = async || {
            while !is_done.load(Ordering::Relaxed) {
                seal(&t.app).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        let paying = async {
            for nth in 0..PAID {
                t.create(&shop, 5_000 + nth, "Halima Garba").await;
                t.advance(LATER);
                let paid = t.ingest(&Alert::credit(ACCOUNT, 5_000 + nth, "Halima Garba", t.app.now()).text()).await;
                assert_eq!(paid.status, AlertStatus::Matched);
            }
            is_done.store(true, Ordering::Relaxed);
        };
        tokio::join!(paying, sealing(), sealing(), sealing());
        t.audited().await;
    }

    async fn a_guard_that_guards_nothing_is_told(db: TestDatabase) {
        let (t, _) = world(db).await;
        t.without_audit("triggers are dropped by hand");
        assert_eq!(violations(&t, "append_only_is_guarded").await, 0);
        let sqlite = |body: &str| format!("drop trigger entries_no_update; create trigger entries_no_update {body}");
        let remade = |body: &str| format!("drop trigger entries_append_only on entries; \
            create trigger entries_append_only {body}");
        let guard = "before update or delete or truncate on entries \
                     for each statement execute function tillbell_append_only()";
        let abort = "begin select raise(abort, 'entries is append only'); end";
        let sleeper = "create or replace function sleeper() returns trigger language plpgsql \
                       as $$ begin return null; end $$";
        let changes = [
            (
                sqlite("before update on entries begin select 1; end"),
                format!("{sleeper}; {}", remade(&guard.replace("tillbell_append_only", "sleeper"))),
            ),
            (
                sqlite(&format!("before update on entries when 0 {abort}")),
                remade(&guard.replace("execute", "when (false) execute")),
            ),
            (
                sqlite(&format!("before update of kind on entries {abort}")),
                remade(&guard.replace("update or ", "update of kind or ")),
            ),
            (
                sqlite(&format!("before insert on entries {abort}")),
                remade(&guard.replace("update or ", "")),
            ),
            ("drop trigger entries_no_update".into(), "alter table entries disable trigger all".into()),
        ];
        for (sqlite_text, postgres) in &changes {
            by_hand(&t, sqlite_text, postgres).await;
            assert_eq!(violations(&t, "append_only_is_guarded").await, 1, "{sqlite_text}; {postgres}");
            let mended = match sqlite_text.starts_with("drop trigger entries_no_update;") {
                true => sqlite(&format!("before update on entries {abort}")),
                false => format!("create trigger entries_no_update before update on entries {abort}"),
            };
            by_hand(&t, &mended, &remade(guard)).await;
            assert_eq!(violations(&t, "append_only_is_guarded").await, 0);
        }
        // The one function of all guards.
        let hollow = sleeper.replace("sleeper", "tillbell_append_only");
        by_hand(&t, &sqlite("before update on entries begin select 1; end"), &hollow).await;
        assert!(violations(&t, "append_only_is_guarded").await > 0);
    }

    async fn money_in_the_books_of_the_other_mode_is_told(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.without_audit("postings are moved by hand");
        t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let paid = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        assert_eq!(paid.status, AlertStatus::Matched);
        assert_eq!(violations(&t, "wallet_debits_are_credits").await, 0);
        let guard = "create trigger postings_no_update before update on postings \
                     begin select raise(abort, 'postings is append only'); end";
        let moved = "update postings set account = 'test:' || account";
        by_hand(&t, &format!("drop trigger postings_no_update; {moved}; {guard}"), moved).await;
        assert!(violations(&t, "wallet_debits_are_credits").await > 0);
    }

    async fn two_settlements_on_one_key_are_told(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.without_audit("a second settlement is written by hand");
        for naira in [5_100, 6_200] {
            t.create(&shop, naira, "Halima Garba").await;
        }
        t.advance(LATER + Span::seconds(20));
        for naira in [5_100, 6_200] {
            let paid = t.ingest(&Alert::credit(ACCOUNT, naira, "Halima Garba", at()).text()).await;
            assert_eq!(paid.status, AlertStatus::Matched);
        }
        t.audited().await;
        let check = "no_key_is_settled_twice";
        for sql in [
            "update alerts set session_id = (select min(session_id) from alerts)",
            "update alerts set session_id = null, reference = 'CT-7781903', is_reference_unique = 1",
        ] {
            by_hand(&t, sql, sql).await;
            assert_eq!(violations(&t, check).await, 1, "{sql}");
        }
        // A person may settle two that show one session id, if somebody typed it: of other amounts or payers.
        for (sql, expected) in [
            ("update alerts set session_id = '1', is_reference_unique = 0", 1),
            ("update settlements set operator = 'ife' where id = (select max(id) from settlements)", 0),
            ("update alerts set amount_kobo = 700", 1),
            ("update alerts set payer_name = 'SANI LAWAL' where id = (select max(id) from alerts)", 0),
            // Other payers, but of one amount at one time and with one balance: one transfer in two tellings.
            ("update alerts set balance_kobo = 990000", 1),
            ("update alerts set bank_time_begin_at = 5 where id = (select max(id) from alerts)", 0),
            ("update alerts set bank_time_begin_at = 5", 1),
            ("update alerts set balance_kobo = 990001 where id = (select max(id) from alerts)", 0),
            ("update alerts set payer_name = 'SANI LAWAL'", 1),
        ] {
            by_hand(&t, sql, sql).await;
            assert_eq!(violations(&t, check).await, expected, "{sql}");
        }
        let sql = "update alerts set session_id = null; update settlements set reversed_at = 5 where id = 1";
        by_hand(&t, sql, sql).await;
        assert_eq!(violations(&t, check).await, 1, "a key that a reversed one still holds");
    }

    async fn a_webhook_that_tells_another_figure_than_the_ledger_is_told(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.without_audit("an event is rewritten by hand");
        t.create(&shop, 5_100, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let mail = Alert { amount: "4999.30".into(), ..Alert::credit(ACCOUNT, 5_100, "Halima Garba", at()) };
        assert_eq!(t.ingest(&mail.text()).await.status, AlertStatus::Matched);
        let check = "events_agree_with_entries";
        assert_eq!(violations(&t, check).await, 0);
        by_hand(
            &t,
            "drop trigger events_no_update; \
             update events set body = cast(replace(cast(body as text), '4999.30', '4999.31') as blob)",
            "update events set body = convert_to(replace(convert_from(body, 'UTF8'), '4999.30', '4999.31'), 'UTF8')",
        )
        .await;
        assert_eq!(violations(&t, check).await, 1);
    }

    async fn a_reversal_explains_no_other_debit(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.without_audit("a debit is written by hand");
        let payment = t.create(&shop, 5_100, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let paid = t.ingest(&Alert::credit(ACCOUNT, 5_100, "Halima Garba", at()).text()).await;
        assert_eq!(paid.status, AlertStatus::Matched);
        let ask = Reverse {
            business_id: shop.id,
            transaction_id: &payment.transaction_id,
            reason: "the wrong Halima",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&t.app, &ask).await.unwrap().unwrap();
        assert_eq!(violations(&t, "balances_above_floor").await, 0);
        let sql = format!(
            "insert into entries values (900, 'adjustment', null, {0}, 'a gift', {1}); \
             insert into postings values (900, 0, 'merchant:{0}', 'debit', 7), (900, 1, 'adjustments', 'credit', 7); \
             update merchant_balances set balance_kobo = balance_kobo - 7 where business_id = {0}",
            shop.id,
            t.app.now().0
        );
        by_hand(&t, &sql, &sql).await;
        assert_eq!(violations(&t, "balances_equal_postings").await, 0, "nothing is seen of it there");
        assert_eq!(violations(&t, "balances_above_floor").await, 1);
    }

    async fn the_first_rows_of_each_violation_are_named(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.without_audit("payments are forged by hand");
        let mut paid = Vec::new();
        for n in 0..23 {
            let payment = t.create(&shop, 3_000 + n * 400, "Halima Garba").await;
            paid.push((payment.id, payment.transaction_id));
        }
        t.advance(LATER + Span::seconds(20));
        let mail = Alert::credit(ACCOUNT, 3_000, "Halima Garba", at()).text();
        assert_eq!(t.ingest(&mail).await.status, AlertStatus::Matched);
        t.audited().await;
        let told = audit(&t.app).await.unwrap();
        assert!(told.iter().all(|check| check.found.is_empty()), "{told:?}");
        // Every payment but the approved one says when it was matched.
        let sql = "update payments set matched_at = 5 where status = 'pending'; \
                   update entries set memo = 'another' where id = (select min(id) from entries)";
        let unguarded = format!("drop trigger entries_no_update; {sql}");
        by_hand(&t, &unguarded, sql).await;
        let told = audit(&t.app).await.unwrap();
        let check = |name: &str| told.iter().find(|one| one.name == name).unwrap();
        let states = check("only_legal_states");
        assert_eq!((states.violations, states.found.len()), (22, 20));
        paid.sort();
        let (paid_id, _) = paid.iter().find(|(id, _)| !states.found.iter().any(|one| one.id == Some(*id))).unwrap();
        let open: Vec<_> = paid.iter().filter(|(id, _)| id != paid_id).take(20).collect();
        for (found, (id, transaction)) in states.found.iter().zip(open) {
            assert_eq!((found.table.as_str(), found.id), ("payments", Some(*id)));
            assert_eq!(found.payment, Some((shop.id, transaction.clone())));
        }
        if t.database().engine() == Engine::Sqlite {
            let guards = check("append_only_is_guarded");
            assert_eq!((guards.found[0].table.as_str(), guards.found[0].id), ("entries", None));
        }
        assert!(told.iter().all(|check| what_to_do(check.name).len() > 60));
    }
}

/// A statement of hours: the thread that runs it would hold up the end of its process.
#[test]
fn an_audit_of_sqlite_ends_with_whoever_waits_for_it() {
    static AT_ONCE: Sql = Sql::new("AT_ONCE", Text::Plain("select 1, 0"));
    static ENDLESS: Sql = Sql::new(
        "ENDLESS",
        Text::Plain(
            "with recursive n (i) as (select 1 union all select i + 1 from n) select count(*), 0 from n",
        ),
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("a.db").display());
    let store = runtime.block_on(Store::open(&StoreOptions::service(&url))).unwrap();
    let counted = Arc::new(AtomicUsize::new(0));
    let clauses = vec![("at_once", &AT_ONCE, &AT_ONCE), ("endless", &ENDLESS, &ENDLESS)];
    let counting = {
        let counted = counted.clone();
        runtime.spawn(async move { store.count_in_snapshot(clauses, counted).await })
    };
    runtime.block_on(until_true("the first clause is counted", || counted.load(Ordering::Relaxed) == 1));
    assert!(!counting.is_finished());
    drop(runtime); // waits for its threads
}
