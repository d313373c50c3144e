//! Statements on the way of an alert or a payment go through the index made for them.
//!
//! Neither engine has statistics here, as on a database that grows quickly, and takes whatever index it likes;
//! one that names only the account would read every payment of it, which no small test feels. The plan says it.

use tillbell::store::engine::sql::Dialect;
use tillbell::store::statements;

use super::all_plans::fill;
use crate::harness::databases::{Engine, TestDatabase, connect};

/// Statement, and what its plan must name.
const EXPECTED: &[(&str, &str)] = &[
    ("OPEN_BY_EXACT", "payments_open_exact"),
    ("OPEN_BETWEEN", "payments_open_exact (account_id=? AND amount_kobo>? AND amount_kobo<?)"),
    ("OPEN_BY_RULE", "payments_open_rule (<expr>=? AND rule_low_kobo>? AND rule_low_kobo<?)"),
    ("OPEN_OF_OTHERS", "payments_open_exact (account_id=? AND amount_kobo=? AND business_id<?)"),
    ("OPEN_OF_OTHERS", "payments_open_exact (account_id=? AND amount_kobo=? AND business_id>?)"),
    ("OPEN_OF_OTHERS", "payments_open_topups (<expr>=? AND amount_kobo=? AND business_id=?)"),
    ("NAMES_OF_OTHERS", "payments_open_exact (account_id=? AND amount_kobo=? AND business_id=?)"),
    ("NAMES_OF_OTHERS", "payments_open_exact (account_id=? AND amount_kobo=? AND business_id<?)"),
    ("NAMES_OF_OTHERS", "payments_open_exact (account_id=? AND amount_kobo=? AND business_id>?)"),
    ("NAMES_OF_OTHERS", "payments_open_topups (<expr>=? AND amount_kobo=? AND business_id=?)"),
    ("ON_ACCOUNT_FEW", "USING PRIMARY KEY (name_key=? AND amount_kobo>? AND amount_kobo<?)"),
    ("ON_ACCOUNT_MANY", "USING PRIMARY KEY (name_key=? AND amount_kobo>? AND amount_kobo<?)"),
    ("ANYWHERE_FEW", "USING PRIMARY KEY (name_key=? AND amount_kobo>? AND amount_kobo<?)"),
    ("FORGET_NAMES", "payment_names_forget"),
    ("LIST_REVERSED", "payments_reversed (<expr>=? AND mode=? AND created_at>? AND created_at<?)"),
    ("COUNT_REVERSED", "payments_reversed (<expr>=? AND mode=? AND created_at>? AND created_at<?)"),
    ("ENDED_BY_AMOUNT", "payments_ended"),
    ("DUE_FOR_SWEEP", "payments_open_until"),
    ("BY_REFERENCE", "alerts_reference"),
    ("TIMED", "alerts_bank_time"),
    ("TIMED_NOWHERE", "alerts_bank_time"),
    ("WIDE", "alerts_bank_day"),
    ("WIDE_NOWHERE", "alerts_bank_day"),
    ("TIMED_WITHOUT", "alerts_time_without_session"),
    ("TIMED_WITHOUT_NOWHERE", "alerts_time_without_session"),
    ("WIDE_WITHOUT", "alerts_day_without_session"),
    ("WIDE_WITHOUT_NOWHERE", "alerts_day_without_session"),
    ("TIMED_ELSEWHERE", "alerts_bank_time"),
    ("TIMED_ELSEWHERE_NOWHERE", "alerts_bank_time"),
    ("WIDE_ELSEWHERE", "alerts_bank_day"),
    ("WIDE_ELSEWHERE_NOWHERE", "alerts_bank_day"),
    ("TIMELESS", "alerts_timeless"),
    ("TIMELESS_NOWHERE", "alerts_timeless"),
    ("SEEN_HERE", "alerts_by_account"),
    ("SEEN_NOWHERE", "alerts_by_account"),
    ("WAITING_FOR_A_KEY", "jobs_first"),
    ("WAITING_FOR_A_KEY", "jobs_again"),
    ("FORGET_KEYS", "settled_keys_settlement"),
    ("UNDECIDED_ON_ACCOUNT", "alerts_undecided"),
    ("FOUND_ALARMS", "alerts_linked"),
    ("BY_SESSION", "alerts_session"),
    ("FORWARDED", "alerts_forwarded"),
    ("OF_PAYER", "alerts_of_payer"),
    ("OF_BEGINNING", "alerts_name_begins"),
    ("BY_SESSION_OLDEST", "alerts_session"),
    ("BY_SESSION_DEBITS", "alerts_session"),
    ("BY_SESSION_OF_AMOUNT", "alerts_session"),
    ("PAYMENTS_END", "payments_listed (business_id=? AND created_at>? AND created_at<?)"),
    ("PAYMENTS_END_ODD", "payments_odd (<expr>=? AND created_at>? AND created_at<?)"),
    ("PAYMENTS_END_TEST", "payments_test (<expr>=? AND created_at>? AND created_at<?)"),
    ("PAYMENTS_END_ALL", "payments_made (created_at>? AND created_at<?)"),
    ("PAYMENTS_END_ALL_ODD", "payments_odd_anywhere (<expr>>? AND <expr><?)"),
    ("PAYMENTS_WALK", "payments_listed (business_id=? AND created_at>? AND created_at<?)"),
    ("PAYMENTS_WALK_ODD", "payments_odd (<expr>=? AND created_at>? AND created_at<?)"),
    ("PAYMENTS_WALK_TEST", "payments_test (<expr>=? AND created_at>? AND created_at<?)"),
    ("PAYMENTS_WALK_ALL", "payments_made (created_at>? AND created_at<?)"),
    ("PAYMENTS_WALK_ALL_ODD", "payments_odd_anywhere (<expr>>? AND <expr><?)"),
    ("PAYMENTS_TEXTS", "payments_listed (business_id=? AND created_at>? AND created_at<?)"),
    ("PAYMENTS_TEXTS_ODD", "payments_odd (<expr>=? AND created_at>? AND created_at<?)"),
    ("PAYMENTS_TEXTS_TEST", "payments_test (<expr>=? AND created_at>? AND created_at<?)"),
    ("PAYMENTS_TEXTS_ALL", "payments_made (created_at>? AND created_at<?)"),
    ("PAYMENTS_TEXTS_ALL_ODD", "payments_odd_anywhere (<expr>>? AND <expr><?)"),
    ("OPEN_TOTALS", "payments_open_until (approvable_until_at>?)"),
    ("ALERTS_END", "alerts_by_status ((status,first_seen_at)>(?,?) AND (status,first_seen_at)<(?,?))"),
    ("ALERTS_END_ALL", "alerts_newest (first_seen_at>? AND first_seen_at<?)"),
    ("ALERTS_WALK", "alerts_by_status ((status,first_seen_at)>(?,?) AND (status,first_seen_at)<(?,?))"),
    ("ALERTS_WALK_ALL", "alerts_newest (first_seen_at>? AND first_seen_at<?)"),
    ("ALERTS_TEXTS", "alerts_by_status ((status,first_seen_at)>(?,?) AND (status,first_seen_at)<(?,?))"),
    ("ALERTS_TEXTS_ALL", "alerts_newest (first_seen_at>? AND first_seen_at<?)"),
    ("ALERTS_END_OLDEST", "alerts_by_status ((status,first_seen_at)>(?,?) AND (status,first_seen_at)<(?,?))"),
    (
        "ALERTS_WALK_OLDEST",
        "alerts_by_status ((status,first_seen_at)>(?,?) AND (status,first_seen_at)<(?,?))",
    ),
    ("DELIVERIES_END", "events_of_business ((business_id,created_at"),
    ("DELIVERIES_WALK", "events_of_business ((business_id,created_at"),
    ("DELIVERIES_END_FAILED", "jobs_failed_of_business (<expr>=? AND created_at<?)"),
    ("DELIVERIES_WALK_FAILED", "jobs_failed_of_business (<expr>=? AND created_at>? AND created_at<?)"),
    ("DELIVERIES_END_PAUSED", "jobs_in_trouble (<expr>=? AND created_at<?)"),
    ("DELIVERIES_WALK_PAUSED", "jobs_in_trouble (<expr>=? AND created_at>? AND created_at<?)"),
    ("REFUSED_END", "refused_requests_of_business ((business_id,refused_at"),
    ("REFUSED_WALK", "refused_requests_of_business ((business_id,refused_at"),
    ("TO_RESEND", "jobs_failed_of_business (<expr>=? AND created_at>?)"),
    ("IN_TROUBLE", "jobs_in_trouble (<expr>=?)"),
    ("FAILED_COUNT", "jobs_failed_of_business (<expr>=?)"),
    ("ASKED", "payments_made (created_at>? AND created_at<?)"),
    ("ENDED", "payments_rejected_at (rejected_at>? AND rejected_at<?)"),
    ("YOUNG", "payments_listed (business_id=? AND created_at>?)"),
    ("YOUNG_OF_ALL", "payments_made (created_at>?)"),
    ("FAILED_WEBHOOKS", "jobs_failed_of_business (<expr>=? AND created_at>?)"),
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

#[tokio::test]
async fn hot_statements_use_their_index_postgres() {
    let db = TestDatabase::migrated(Engine::Postgres).await;
    fill(&db).await;
    let client = connect(db.url()).await;
    let settings = "set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off";
    client.batch_execute(settings).await.unwrap();
    let mut wrong = Vec::new();
    for (name, plan) in EXPECTED {
        let index = plan.split(' ').next().unwrap();
        let index = if index == "USING" { "payment_names_pkey" } else { index };
        let sql = statements().into_iter().find(|sql| sql.name == *name).unwrap();
        let statement = client.prepare(&sql.render(Dialect::Postgres)).await.unwrap();
        let places = vec!["null"; statement.params().len()].join(", ");
        client.batch_execute(&format!("prepare asked as {}", sql.render(Dialect::Postgres))).await.unwrap();
        let rows = client.simple_query(&format!("explain execute asked ({places})")).await.unwrap();
        client.batch_execute("deallocate asked").await.unwrap();
        let lines: Vec<String> = rows
            .iter()
            .filter_map(|row| match row {
                tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            })
            .collect();
        if !lines.iter().any(|line| line.contains(index)) {
            wrong.push(format!("{name} does not use {index}:\n{}", lines.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
