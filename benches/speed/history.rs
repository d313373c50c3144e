//! A long history of one business, written quickly: a thousand payments with their alerts, settlements, webhooks and
//! attempts are made by the program's own steps, and then copied by SQL with ids, amounts and times moved on.
//!
//! What is copied differs in ids, amounts and times alone, so the audit would not pass over it; pages only read.

use std::sync::Arc;
use std::time::Instant;

use tillbell::domain::payment::Payment;
use tillbell::ops::figures::roll_up::roll_up;
use tillbell::ops::ledger::seal::seal;
use tillbell::store::Step;
use tillbell::store::tables::alerts;

use crate::storage::settle_all;
use crate::world::{Dice, World, payment_steps, said};

/// Payments that are made, and copied.
const MADE: usize = 1_000;
/// Of them have an alert.
const WITH_ALERT: usize = 200;
/// Of them are approved, each with a webhook; the others wait for a person.
const APPROVED: usize = 180;
/// Expired without money, of those without an alert; the others are open.
const ENDED: usize = 780;
const HOOK: &str = "https://shop0.example/hook";
/// Between the ids of two copies; none that was made is so high.
const ID_STEP: i64 = 10_000_000;
/// Between the amounts of two copies, in kobo.
const AMOUNT_STEP: i64 = 400_000;
/// Between the times of two copies, in microseconds: a thousand of them are 250 days.
const TIME_STEP: i64 = 6 * 3_600 * 1_000_000;

/// A connection beside the program's own.
enum Plain {
    Sqlite(rusqlite::Connection),
    Postgres(tokio_postgres::Client),
}

impl Plain {
    async fn connect(url: &str) -> Plain {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let connection = rusqlite::Connection::open(path).expect("open the file");
            connection.execute_batch("pragma foreign_keys = off; pragma synchronous = off").expect("pragmas");
            connection.pragma_update(None, "cache_size", -512 * 1024).expect("a cache");
            return Plain::Sqlite(connection);
        }
        let (client, connection) =
            tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("connect");
        tokio::spawn(connection);
        let plain = Plain::Postgres(client);
        plain.run("set synchronous_commit = off; set session_replication_role = replica").await;
        plain
    }

    async fn run(&self, sql: &str) {
        match self {
            Plain::Sqlite(connection) => {
                connection.execute_batch(sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
            }
            Plain::Postgres(client) => {
                client.batch_execute(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"))
            }
        }
    }

    /// The columns of a table that can be written.
    async fn columns(&self, table: &str) -> Vec<String> {
        match self {
            Plain::Sqlite(connection) => {
                let sql = format!("select name from pragma_table_info('{table}')");
                let mut statement = connection.prepare(&sql).expect("prepare");
                let names = statement.query_map([], |row| row.get(0)).expect("columns");
                names.map(|name| name.expect("a name")).collect()
            }
            Plain::Postgres(client) => {
                let sql = "select column_name::text from information_schema.columns where table_schema = \
                           current_schema() and table_name = $1 and is_generated = 'NEVER' order by ordinal_position";
                let rows = client.query(sql, &[&table]).await.expect("columns");
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
    }
}

/// What the pages of one thing are asked for.
pub struct Known {
    /// Approved, with a webhook of the most attempts.
    pub transaction_id: String,
    /// Waits for a person.
    pub alert: i64,
    /// Has failed, after six attempts.
    pub delivery: i64,
}

/// Fills the database of `world` with `copies` times a thousand payments of its first business.
pub async fn fill(world: &World, url: &str, copies: usize) -> Known {
    let began = Instant::now();
    let (payments, waiting) = make(world).await;
    let plain = Plain::connect(url).await;
    settle_stories(&plain).await;
    said("a thousand payments made", began);
    let began = Instant::now();
    for table in TABLES {
        copy(&plain, table, copies - 1).await;
    }
    let ids = "'payment', 'alert', 'settlement', 'entry', 'event', 'job', 'attempt', 'unit', 'seal'";
    let last = ID_STEP * (copies as i64 + 1);
    plain.run(&format!("update counters set value = {last} where name in ({ids})")).await;
    match &plain {
        Plain::Sqlite(_) => plain.run("pragma wal_checkpoint(truncate)").await,
        Plain::Postgres(_) => plain.run("vacuum analyze").await,
    }
    said(&format!("{} payments", copies * MADE), began);
    let began = Instant::now();
    while roll_up(&world.app).await.expect("the store") > 0 {}
    said("their figures", began);
    let first = world.app.store.payment(payments[0].id).await.expect("a store").expect("a payment");
    let deliveries = world.app.store.deliveries_of_payment(first.id).await.expect("a store");
    Known { transaction_id: first.transaction_id, alert: waiting, delivery: deliveries[0].id }
}

/// The payments that are copied, and the alert that waits for a person.
async fn make(world: &World) -> (Vec<Payment>, i64) {
    let pairs = world.pairs(WITH_ALERT, 0, HOOK).await;
    let waiting = pairs[APPROVED].alert.id;
    let payments: Vec<Payment> = pairs.iter().map(|pair| pair.payment.clone()).collect();
    let mut steps: Vec<Step> = Vec::new();
    for pair in &pairs {
        let kept_until = world.app.now() + tillbell::domain::time::Span::days(90);
        let raw = mail(pair.alert.id, &pair.payment.payer_name);
        world.pour(&mut steps, vec![alerts::add_mail(pair.alert.id, raw.as_bytes(), None, kept_until)]).await;
    }
    let mut dice = Dice(77);
    for n in 0..MADE - WITH_ALERT {
        let amount = tillbell::domain::money::Money(1_100_000 + n as i64 * 300);
        let payment = world.payment(0, amount, dice.name(), HOOK).await;
        world.pour(&mut steps, payment_steps(&payment)).await;
    }
    world.flush(steps).await;
    let approved = pairs.into_iter().take(APPROVED).collect();
    settle_all(&world.app, &world.account, Arc::new(approved), 8).await;
    while seal(&world.app).await.expect("the store") > 0 {}
    (payments, waiting)
}

fn mail(id: i64, payer: &str) -> String {
    let rows: String = (0..20).map(|n| format!("<tr><td>Row {n}</td><td>{payer}</td></tr>\r\n")).collect();
    format!(
        "From: alerts@bank.example\r\nTo: till@shop0.example\r\nSubject: Transaction alert\r\nMessage-ID: \
         <{id}@bank.example>\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<html><body><table>{rows}</table></body></html>\r\n"
    )
}

/// What became of the payments, alerts and webhooks that were made, beside what was settled.
async fn settle_stories(plain: &Plain) {
    let rest = "select id from payments where status = 'pending' and id not in (select id from payments where status = \
                'pending' order by id limit 20) order by id";
    plain
        .run(&format!(
            "update payments set status = 'rejected', rejected_at = expires_at, reject_reason = 'expired', is_swept = 1, \
             version = version + 1 where id in ({rest} limit {ENDED})"
        ))
        .await;
    plain
        .run(
            "update alerts set decided_at = first_seen_at, reason = 'no open payment has this amount', status = case id % 4 \
             when 0 then 'unmatched' when 1 then 'quarantined' else 'review' end where status = 'new'",
        )
        .await;
    plain.run("delete from jobs where kind <> 'deliver'").await;
    plain
        .run(
            "update jobs set tries = 5, done_at = case when id % 50 = 7 then null else created_at end, outcome = case \
             when id % 50 = 7 then null when id % 30 = 0 then 'failed' else 'delivered' end where kind = 'deliver'",
        )
        .await;
    // A thousand attempts: five of each webhook, and six of some.
    plain
        .run(
            "insert into attempts (id, job_id, try, url, status, error, answer, duration_ms, attempted_at) \
             with recursive n(n) as (select 1 union all select n + 1 from n where n < 6) \
             select row_number() over (order by j.id, n), j.id, n, 'https://shop0.example/hook', case when n < 5 then 500 \
             else 200 end, null, 'Internal error of the shop, please come again', 40 + n, j.created_at + n * 60000000 \
             from jobs j, n where j.kind = 'deliver' and (n < 6 or j.id in (select id from jobs where kind = 'deliver' \
             order by id limit 100))",
        )
        .await;
}

const TABLES: [&str; 12] = [
    "payments",
    "payment_names",
    "alerts",
    "mails",
    "settlements",
    "entries",
    "postings",
    "seals",
    "sealed_entries",
    "events",
    "jobs",
    "attempts",
];

/// Copies a table's rows so many times.
async fn copy(plain: &Plain, table: &str, copies: usize) {
    let columns = plain.columns(table).await;
    let values: Vec<String> = columns.iter().map(|column| moved(table, column)).collect();
    plain
        .run(&format!(
            "insert into {table} ({}) with recursive k(k) as (select cast(1 as bigint) union all select k + 1 from k where k < {copies}) \
             select {} from {table}, k where k.k > 0",
            columns.join(", "),
            values.join(", ")
        ))
        .await;
}

/// A column's value in the copy with the number `k`.
fn moved(table: &str, column: &str) -> String {
    match (table, column) {
        (_, "business_id" | "website_id" | "account_id" | "mailbox_id" | "wallet_id") => column.into(),
        ("seals", "first_entry_id") => format!("{column} + k * {ID_STEP}"),
        (_, "transaction_id") => {
            "substr(transaction_id, 1, 7) || cast(10000 + k as text) || substr(transaction_id, 13)".into()
        }
        (_, "webhook_id" | "message_id" | "session_id") => format!("{column} || '.' || cast(k as text)"),
        ("payments" | "alerts", "amount_kobo" | "rule_low_kobo" | "rule_high_kobo" | "received_kobo")
        | ("payments", "name_keys")
        | ("payment_names", "amount_kobo") => format!("{column} + k * {AMOUNT_STEP}"),
        // What is open stays so: only seconds apart.
        ("payments", _) if column.ends_with("_at") => {
            format!("{column} - k * (case when status = 'pending' then 1000000 else {TIME_STEP} end)")
        }
        ("mails" | "payment_names", _) if column.ends_with("_at") => column.into(),
        (_, _) if column.ends_with("_at") => format!("{column} - k * {TIME_STEP}"),
        ("alerts", "virtual_account") => column.into(),
        (_, _) if column == "id" || column.ends_with("_id") => format!("{column} + k * {ID_STEP}"),
        _ => column.into(),
    }
}
