//! Migrations: once, by whoever comes first, whole or not at all.

use tillbell::domain::time::Timestamp;
use tillbell::store::StoreError;

use super::kill::{Child, Doing};
use super::*;
use crate::harness::databases::{Engine, TestDatabase, connect};
use crate::harness::until::until;

const NOW: Timestamp = Timestamp(1_700_000_000_000_000);

static CHANGE_TEXT: Sql = query("CHANGE_TEXT", "update schema_migrations set checksum = $1");

/// Names of the schema's tables, and on PostgreSQL of the views for people.
async fn relations(db: &TestDatabase, schema: &str) -> Vec<String> {
    match db.url().strip_prefix("sqlite:") {
        Some(path) => {
            let file = rusqlite::Connection::open(path).unwrap();
            let mut names = file.prepare("select name from pragma_table_list where type = 'table' and name not like 'sqlite_%' order by name").unwrap();
            let names = names.query_map([], |row| row.get(0)).unwrap();
            names.map(Result::unwrap).collect()
        }
        None => {
            let text = "select table_name::text from information_schema.tables where table_schema = $1 \
                 and not exists (select from pg_class where relname = table_name and relispartition) order by table_name";
            let rows = connect(db.url()).await.query(text, &[&schema]).await.unwrap();
            rows.iter().map(|row| row.get(0)).collect()
        }
    }
}

/// Takes back what the migration about how texts are sorted made, as if it had not run yet.
pub async fn before_texts_by_bytes(db: &TestDatabase) {
    let undo =
        "alter table postings drop column account_kind; alter table postings drop column account_owner;
        drop index jobs_failed; drop index settlements_reversed; drop index proven_names_settlement;
        drop index messages_made; delete from schema_migrations where name = '0007_texts_by_bytes';";
    match db.url().strip_prefix("sqlite:") {
        Some(path) => rusqlite::Connection::open(path).unwrap().execute_batch(undo).unwrap(),
        None => {
            let undo = undo.replace("alter table", "drop view if exists people.postings; alter table");
            connect(db.url()).await.batch_execute(&undo).await.unwrap();
        }
    }
}

async fn run(db: &TestDatabase, text: &str) -> Result<(), String> {
    match db.url().strip_prefix("sqlite:") {
        Some(path) => {
            let file = rusqlite::Connection::open(path).unwrap();
            file.execute_batch(&format!("pragma foreign_keys = off; {text}"))
                .map_err(|error| error.to_string())
        }
        None => {
            let client = connect(db.url()).await;
            client.batch_execute("set session_replication_role = replica").await.unwrap();
            client.batch_execute(text).await.map_err(|error| format!("{:?}", error.as_db_error()))
        }
    }
}

static KINDS: Sql = query(
    "KINDS",
    "select account_kind, account_owner, account from postings where entry_id = 1 order by line",
);

on_both! {
    async fn postings_of_before_have_kind_and_owner(db: TestDatabase) {
        before_texts_by_bytes(&db).await;
        let accounts = ["clearing", "merchant:41", "wallet:7", "test:merchant:9", "test:fees", "adjustments"];
        for (line, account) in accounts.iter().enumerate() {
            let insert = format!("insert into postings (entry_id, line, account, side, amount_kobo) \
                                  values (1, {line}, '{account}', 'credit', 100)");
            run(&db, &insert).await.unwrap();
        }
        let store = open(db.url()).await;
        assert_eq!(store.migrate(NOW).await.unwrap(), ["0007_texts_by_bytes"]);
        let rows = store.read(&KINDS, Vec::new()).await.unwrap();
        let told: Vec<(String, Option<i64>)> = rows
            .into_iter()
            .map(|row| {
                let mut row = row.reader("postings");
                (row.text("account_kind").unwrap(), row.opt_int("account_owner").unwrap())
            })
            .collect();
        let expected = [
            ("clearing", None),
            ("merchant", Some(41)),
            ("wallet", Some(7)),
            ("test:merchant", Some(9)),
            ("test:fees", None),
            ("adjustments", None),
        ];
        assert_eq!(told, expected.map(|(kind, owner)| (kind.to_owned(), owner)));
        assert!(store.append_only_guards().await.unwrap().1.is_empty());
    }

    async fn two_nodes_at_once_migrate_once(migrated: TestDatabase) {
        let db = TestDatabase::empty(migrated.engine()).await;
        let (first, second) = (open(db.url()).await, open(db.url()).await);
        let (one, other) = tokio::join!(first.migrate(NOW), second.migrate(NOW));
        let mut names = [one.unwrap(), other.unwrap()];
        names.sort_by_key(Vec::len);
        assert!(names[0].is_empty() && !names[1].is_empty(), "{names:?}");
        assert_eq!(first.migrate(NOW).await.unwrap(), Vec::<String>::new());
        make(&second, &["total"]).await;
        assert_eq!(value(&first, "total").await, Some(0));
    }

    async fn a_changed_text_is_refused(db: TestDatabase) {
        let store = open(db.url()).await;
        assert!(store.write(&CHANGE_TEXT, vec!["another".into()]).await.unwrap().is_done());
        let refused = store.migrate(NOW).await;
        assert!(matches!(&refused, Err(StoreError::Fault(why)) if why.contains("changed after")), "{refused:?}");
    }

    async fn killed_half_way_it_is_run_again_whole(migrated: TestDatabase) {
        let db = TestDatabase::empty(migrated.engine()).await;
        let child = Child::start(db.url(), Doing::Migrate, Some("migrate.half_way"));
        assert!(child.wait().crashed, "it did not come to the point");
        let store = open(db.url()).await;
        assert!(!store.migrate(NOW).await.unwrap().is_empty());
        assert_eq!(relations(&db, "public").await, relations(&migrated, "public").await);
        assert_eq!(relations(&db, "people").await, relations(&migrated, "people").await);
        make(&store, &["total"]).await;
    }
}

on_postgres! {
    async fn a_table_that_others_hold_is_waited_for_without_holding_them_up(db: TestDatabase) {
        let undo = "drop view people.alerts; alter table alerts drop column remarks; alter table alerts drop column is_narration_cut; \
                    delete from schema_migrations where name = '0057_remarks'";
        connect(db.url()).await.batch_execute(undo).await.unwrap();
        let (holder, reader) = (connect(db.url()).await, connect(db.url()).await);
        holder.batch_execute("begin; lock table alerts in access share mode").await.unwrap();
        let store = open(db.url()).await;
        let migrated = tokio::spawn(async move { store.migrate(NOW).await });
        let waits = "select count(*) from pg_locks where relation = 'alerts'::regclass and mode = 'AccessExclusiveLock' and not granted";
        let is_waiting = async || reader.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) > 0;
        for _ in 0..2 {
            until("the migration waits for the table", async || is_waiting().await.then_some(())).await;
            // Whoever asks for the table stands behind it, and is served when it lets go, though the holder does not.
            reader.query("select id from alerts limit 1", &[]).await.unwrap();
        }
        assert!(!migrated.is_finished());
        holder.batch_execute("commit").await.unwrap();
        assert_eq!(migrated.await.unwrap().unwrap(), ["0057_remarks"]);
    }
}

#[test]
fn people_can_read_every_table_on_postgres() {
    crate::harness::databases::run_on(Engine::Postgres, |db: TestDatabase| async move {
        let views = relations(&db, "people").await;
        assert_eq!(views, relations(&db, "public").await);
        let client = connect(db.url()).await;
        let insert = "insert into operator_acts values (1, 'ada', 'credit', '7', 'why', 1700000000000000);
            insert into businesses (id, name, email, is_active, is_wallet_enabled, charge_rate, charge_fixed_kobo,
                is_charge_paid_by_customer, is_charged, webhook_secret, created_at, updated_at, version)
            values (1, 'Shop', 'a@b.example', 1, 1, 150, 12345, 1, 1, '', 0, 0, 1)";
        client.batch_execute(insert).await.unwrap();
        for view in &views {
            client.query(&format!("select * from people.{view} limit 1"), &[]).await.unwrap();
        }
        let text = "select acted_at::text, charge_fixed::text from people.operator_acts, people.businesses";
        client.batch_execute("set timezone = 'UTC'").await.unwrap();
        let row = client.query_one(text, &[]).await.unwrap();
        assert_eq!(row.get::<_, String>(0), "2023-11-14 22:13:20+00");
        assert_eq!(row.get::<_, String>(1), "123.45");
    });
}

#[test]
fn every_table_is_strict_on_sqlite() {
    crate::harness::databases::run_on(Engine::Sqlite, |db: TestDatabase| async move {
        let file = rusqlite::Connection::open(db.url().strip_prefix("sqlite:").unwrap()).unwrap();
        let text = "select name from pragma_table_list where strict = 0 and type = 'table' \
             and name not like 'sqlite_%' and name <> 'schema_migrations'";
        let loose: Vec<String> = file
            .prepare(text)
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(loose, Vec::<String>::new());
        assert!(relations(&db, "").await.len() > 20);
    });
}

/// The refusal of a migration, in words.
async fn refused(db: &TestDatabase) -> String {
    let store = open(db.url()).await;
    match store.migrate(NOW).await {
        Err(error) => error.to_string(),
        Ok(ran) => panic!("{ran:?} ran"),
    }
}

#[test]
fn a_schema_people_of_somebody_else_is_left_alone_on_postgres() {
    crate::harness::databases::run_on(Engine::Postgres, |_| async {
        let db = TestDatabase::empty(Engine::Postgres).await;
        let theirs = "create schema people; create table people.staff (name text); \
                      insert into people.staff values ('Bolanle'); \
                      create view people.payments as select name from people.staff";
        run(&db, theirs).await.unwrap();
        let why = refused(&db).await;
        assert!(why.contains("schema people") && why.contains("rename it"), "{why}");
        let left = connect(db.url()).await.query("select name from people.payments", &[]).await.unwrap();
        assert_eq!(left[0].get::<_, String>(0), "Bolanle");
        assert_eq!(relations(&db, "public").await, Vec::<String>::new(), "nothing was made");
        run(&db, "alter schema people rename to staff").await.unwrap();
        assert!(!open(db.url()).await.migrate(NOW).await.unwrap().is_empty());
    });
}

#[test]
fn views_for_people_of_before_they_were_marked_are_known_on_postgres() {
    crate::harness::databases::run_on(Engine::Postgres, |db: TestDatabase| async move {
        let all = relations(&db, "people").await;
        before_texts_by_bytes(&db).await;
        // The view of a table that is no more would have gone with it; that of postings comes back as it was.
        run(&db, "create view people.postings as select entry_id from postings").await.unwrap();
        run(&db, "comment on schema people is null; create view people.tall as select 1 as one")
            .await
            .unwrap();
        assert_eq!(open(db.url()).await.migrate(NOW).await.unwrap().len(), 1);
        let mut after = relations(&db, "people").await;
        after.retain(|view| view != "tall");
        assert_eq!(after.len() + 1, relations(&db, "people").await.len(), "theirs is left alone");
        assert_eq!(after, all);
        let mark = "select obj_description('people'::regnamespace, 'pg_namespace')";
        let mark: String = connect(db.url()).await.query_one(mark, &[]).await.unwrap().get(0);
        assert!(mark.starts_with("tillbell") && mark.contains("public"), "{mark}");
    });
}

#[test]
fn what_others_built_on_the_views_for_people_is_not_dropped_on_postgres() {
    crate::harness::databases::run_on(Engine::Postgres, |db: TestDatabase| async move {
        before_texts_by_bytes(&db).await;
        let theirs = "create view people.tall as select 1 as one; create schema reports; \
                      create view reports.daily as select id from people.payments";
        run(&db, theirs).await.unwrap();
        let why = refused(&db).await;
        assert!(why.contains("reports.daily") && why.contains("drop it"), "{why}");
        assert_eq!(relations(&db, "reports").await, ["daily"]);
        assert!(relations(&db, "people").await.contains(&"payments".to_owned()), "nothing was changed");
        run(&db, "drop view reports.daily").await.unwrap();
        assert_eq!(open(db.url()).await.migrate(NOW).await.unwrap().len(), 1);
        assert!(relations(&db, "people").await.contains(&"tall".to_owned()), "it is not ours");
    });
}
