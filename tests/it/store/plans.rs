//! Statements on the way of an alert or a payment go through the index made for them.
//!
//! SQLite has no statistics here and takes whatever index it likes; one that names only the account
//! would read every payment of it, which no small test feels. The plan says it.

use tillbell::store::sql::Dialect;
use tillbell::store::statements;

use crate::harness::databases::{Engine, TestDatabase};

/// Statement, and what its plan must name.
const EXPECTED: &[(&str, &str)] = &[
    ("OPEN_BY_EXACT", "payments_open_exact"),
    ("OPEN_BETWEEN", "payments_open_exact (account_id=? AND amount_kobo>? AND amount_kobo<?)"),
    ("OPEN_BY_RULE", "payments_open_rule"),
    ("OPEN_OF_OTHERS", "payments_open_exact"),
    ("ON_ACCOUNT_FEW", "USING PRIMARY KEY (name_key=? AND amount_kobo>? AND amount_kobo<?)"),
    ("ON_ACCOUNT_MANY", "USING PRIMARY KEY (name_key=? AND amount_kobo>? AND amount_kobo<?)"),
    ("ANYWHERE_FEW", "USING PRIMARY KEY (name_key=? AND amount_kobo>? AND amount_kobo<?)"),
    ("FORGET_NAMES", "payment_names_forget"),
    ("ENDED_BY_AMOUNT", "payments_ended"),
    ("DUE_FOR_SWEEP", "payments_open_until"),
    ("BY_REFERENCE", "alerts_reference"),
    ("TIMED", "alerts_bank_time"),
    ("TIMED_NOWHERE", "alerts_bank_time"),
    ("TIMELESS", "alerts_timeless"),
    ("TIMELESS_NOWHERE", "alerts_timeless"),
    ("SEEN", "alerts_by_account"),
    ("SEEN_NOWHERE", "alerts_by_account"),
    ("WAITING_FOR_A_KEY", "jobs_first"),
    ("WAITING_FOR_A_KEY", "jobs_again"),
    ("FORGET_KEYS", "settled_keys_settlement"),
    ("UNDECIDED_ON_ACCOUNT", "alerts_undecided"),
    ("BY_SESSION", "alerts_session"),
];

/// Tables that grow without end: none of the statements above may walk through one.
const GROWING: &[&str] = &["SCAN payments", "SCAN alerts", "SCAN jobs"];

#[tokio::test]
async fn hot_statements_use_their_index_sqlite() {
    let db = TestDatabase::migrated(Engine::Sqlite).await;
    let file = rusqlite::Connection::open(db.url().strip_prefix("sqlite:").unwrap()).unwrap();
    for (name, index) in EXPECTED {
        let found: Vec<_> = statements().into_iter().filter(|sql| sql.name == *name).collect();
        assert_eq!(found.len(), 1, "{name} is not the name of one statement");
        let text = format!("explain query plan {}", found[0].render(Dialect::Sqlite));
        let mut statement = file.prepare(&text).unwrap();
        let places = statement.parameter_count();
        let rows = statement
            .query_map(rusqlite::params_from_iter(vec![1i64; places]), |row| row.get::<_, String>(3))
            .unwrap();
        let plan: Vec<String> = rows.map(Result::unwrap).collect();
        assert!(plan.iter().any(|line| line.contains(index)), "{name} does not use {index}: {plan:#?}");
        for line in &plan {
            assert!(!GROWING.iter().any(|scan| line.contains(scan)), "{name}: {plan:#?}");
        }
    }
}
