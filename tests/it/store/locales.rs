//! What the audit sees does not depend on how the server sorts texts.
//!
//! A cluster of PostgreSQL may be made with a linguistic locale, in which `;` does not come right after `:`
//! and letters are sorted before their case: a range over names of accounts then means something else.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::money::Money;
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::ledger::audit::audit;
use tillbell::ops::wallet_payments::confirm::Confirmed;
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};

use super::migrations::before_texts_by_bytes;
use super::open;
use super::parts::whole_again;
use crate::harness::app::{ACCOUNT, LATER, at};
use crate::harness::databases::{Engine, TestDatabase, connect, run_on};
use crate::harness::mails::Alert;
use crate::wallet::world::{PIN, World};

const BY_BYTES: &str = "locale_provider libc locale 'C'";
const LINGUISTIC: &str = "locale_provider icu icu_locale 'en-US' locale 'C.UTF-8'";
/// An entry that balances and gives a wallet and a merchant money that neither of their rows knows of.
const FORGED: &str = "insert into entries (id, kind, memo, posted_at) values (900001, 'adjustment', 'x', 0);
    insert into unsealed_entries (entry_id) values (900001);
    insert into postings (entry_id, line, account, side, amount_kobo) values
        (900001, 0, 'adjustments', 'debit', 700), (900001, 1, 'wallet:777', 'credit', 300),
        (900001, 2, 'merchant:888', 'credit', 400)";

async fn violations(w: &World, check: &str) -> i64 {
    let told = audit(&w.t.app).await.unwrap();
    told.iter().find(|one| one.name == check).unwrap().violations
}

/// A wallet is filled by a transfer and pays; then somebody forges postings.
async fn audited(db: TestDatabase) {
    let w = World::start(db).await;
    w.t.account(ACCOUNT).await;
    let (_, token) = w.ready(1_000, 600).await;
    let asked =
        start_topup(&w.t.app, &w.shop.caller, &w.phone(), Money(750_000), "Ifeoma Danladi", None).await;
    assert!(matches!(asked.unwrap(), ToppingUp::Waiting(..)));
    w.t.advance(LATER + Span::seconds(20));
    let mail = Alert::credit(ACCOUNT, 7_500, "Danladi Ifeoma", at()).text();
    assert_eq!(w.t.ingest(&mail).await.status, AlertStatus::Matched);
    let confirmed = w.confirm(&token, PIN).await;
    assert!(matches!(confirmed, Confirmed::Paid(_)), "{confirmed:?}");
    w.t.audited().await;
    w.t.without_audit("postings are forged by hand");
    connect(w.t.database().url()).await.batch_execute(FORGED).await.unwrap();
    assert_eq!(violations(&w, "balances_equal_postings").await, 2);
    // A top-up credited to another wallet than the one that asked for it.
    let moved = "set session_replication_role = replica;
        update postings set account = 'wallet:777' where side = 'credit' and account like 'wallet:%'
            and entry_id in (select entry_id from postings where account = 'clearing')";
    connect(w.t.database().url()).await.batch_execute(moved).await.unwrap();
    assert_eq!(violations(&w, "wallet_debits_are_credits").await, 1);
}

#[test]
fn the_audit_sees_forged_postings_where_texts_are_sorted_by_bytes() {
    run_on(Engine::Postgres, |_| async { audited(TestDatabase::sorted(BY_BYTES).await).await });
}

#[test]
fn the_audit_sees_forged_postings_where_texts_are_sorted_as_people_do() {
    run_on(Engine::Postgres, |_| async { audited(TestDatabase::sorted(LINGUISTIC).await).await });
}

/// Columns whose texts are not kept by their bytes.
async fn loose(db: &TestDatabase) -> Vec<String> {
    let loose = "select c.relname || '.' || a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid \
         where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and a.attnum > 0 \
         and not a.attisdropped and a.attcollation <> 0 \
         and a.attcollation <> (select oid from pg_collation where collname = 'C') order by 1";
    let rows = connect(db.url()).await.query(loose, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Whatever is compared in order, a unique index included, is then what SQLite makes of it, and an operating
/// system that comes to sort otherwise spoils no index.
#[test]
fn every_text_is_kept_by_bytes_whatever_the_servers_locale() {
    run_on(Engine::Postgres, |_| async {
        let db = TestDatabase::sorted(LINGUISTIC).await;
        assert_eq!(loose(&db).await, Vec::<String>::new());
    });
}

#[test]
fn texts_of_before_are_brought_to_bytes() {
    run_on(Engine::Postgres, |_| async {
        let db = TestDatabase::sorted(LINGUISTIC).await;
        whole_again(&connect(db.url()).await).await;
        before_texts_by_bytes(&db).await;
        let undo = "drop schema people cascade;
            alter table operator_acts drop column approved_alert, drop column approved_payment;
            do $$ declare c record; begin
                for c in select table_name, column_name from information_schema.columns
                         where table_schema = 'public' and data_type = 'text' loop
                    execute format('alter table %I alter column %I type text collate \"default\"',
                        c.table_name, c.column_name);
                end loop;
            end $$;
            create table theirs (name text collate \"default\");
            insert into counters (name, value) values ('b', 1), ('C', 2), ('a', 3)";
        connect(db.url()).await.batch_execute(undo).await.unwrap();
        assert!(loose(&db).await.len() > 50);
        let store = open(db.url()).await;
        assert_eq!(
            store.migrate(Timestamp(0)).await.unwrap().len(),
            5,
            "and the four since, of tables in parts and of names that begin alike"
        );
        assert_eq!(loose(&db).await, ["theirs.name"], "what is not ours stays");
        let sorted =
            "select name from counters where value between 1 and 3 and length(name) = 1 order by name";
        let rows = connect(db.url()).await.query(sorted, &[]).await.unwrap();
        let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(names, ["C", "a", "b"]);
    });
}
