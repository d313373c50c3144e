//! Migrations: once, by whoever comes first, whole or not at all.

use tillbell::domain::time::Timestamp;
use tillbell::store::StoreError;

use super::kill::{Child, Doing};
use super::*;
use crate::harness::databases::{Engine, TestDatabase, connect};

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
            let text = "select table_name::text from information_schema.tables where table_schema = $1 order by table_name";
            let rows = connect(db.url()).await.query(text, &[&schema]).await.unwrap();
            rows.iter().map(|row| row.get(0)).collect()
        }
    }
}

on_both! {
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
