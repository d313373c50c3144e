//! What the audit says of a database whose guards or seals somebody took away, on both engines.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::time::Span;
use tillbell::ops::audit::audit;

use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::databases::{Engine, connect};
use crate::harness::mails::Alert;

/// Runs statements as somebody who may do everything, and whom no trigger stops.
async fn by_hand(t: &TestApp, sqlite: &str, postgres: &str) {
    match t.database().engine() {
        Engine::Sqlite => {
            let path = t.database().url().strip_prefix("sqlite:").unwrap();
            let file = rusqlite::Connection::open(path).unwrap();
            file.execute_batch(&format!("pragma foreign_keys = off; {sqlite}")).unwrap();
        }
        Engine::Postgres => {
            let client = connect(t.database().url()).await;
            let text = format!("set session_replication_role = replica; {postgres}");
            client.batch_execute(&text).await.unwrap();
        }
    }
}

async fn violations(t: &TestApp, check: &str) -> i64 {
    let told = audit(&t.app).await.unwrap();
    told.iter().find(|one| one.name == check).unwrap().violations
}

on_both! {
    async fn an_entry_whose_seal_is_gone_is_told(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let paid = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        assert_eq!(paid.status, AlertStatus::Matched);
        t.finish().await; // seals the entry
        assert_eq!(violations(&t, "entries_are_sealed").await, 0);
        let trigger = "create trigger seals_no_delete before delete on seals \
                       begin select raise(abort, 'seals is append only'); end";
        by_hand(&t, &format!("drop trigger seals_no_delete; delete from seals; {trigger}"), "delete from seals").await;
        assert_eq!(violations(&t, "append_only_is_guarded").await, 0, "nothing is seen of it there");
        assert_eq!(violations(&t, "entries_are_sealed").await, 1);
    }

    async fn a_guard_that_guards_nothing_is_told(db: TestDatabase) {
        let (t, _) = world(db).await;
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
}
