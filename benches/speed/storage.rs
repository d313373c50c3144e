//! Approvals per second: the real op on payments and alerts that are there already, 64 callers.
//!
//! SQLite is compared with itself at one caller (one commit per Unit), PostgreSQL with the same
//! statements sent one after another on 16 connections, as a plain program would.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tillbell::app::App;
use tillbell::domain::account::ReceivingAccount;
use tillbell::ops::alerts::settle::{Settled, Settling, settle};
use tillbell::ops::webhooks::body::{self as webhook_body, About};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

use crate::report::{Goal, Report, median};
use crate::server::Postgres;
use crate::world::{Pair, World, said};
use crate::{Size, scratch};

const CALLERS: usize = 64;
const BUSINESSES: usize = 64;
const PLAIN_CONNECTIONS: usize = 16;
const RULE: &str = "the amount is exact; the names are the same words";
const EVIDENCE: &str = r#"{"verdict":"approve","reasons":["exact"],"considered":[{"transaction_id":"TXN-01J","business_id":1,"status":"pending","expected_name":"Adaeze Bolanle Okafor","name":"match","name_reason":"the same words","amount":"5000.00","amount_fit":"exact","time_fit":"fits"}]}"#;

/// Settles all pairs, `callers` at a time; answers how many per second.
pub async fn settle_all(
    app: &Arc<App>,
    account: &ReceivingAccount,
    pairs: Arc<Vec<Pair>>,
    callers: usize,
) -> f64 {
    let next = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (app, account, pairs, next) = (app.clone(), account.clone(), pairs.clone(), next.clone());
            tokio::spawn(async move {
                while let Some(pair) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let settling = Settling {
                        alert: &pair.alert,
                        payment: &pair.payment,
                        account: &account,
                        amount_versions: &[(account.holding_account(), 1)],
                        rule: RULE,
                        fit: "exact",
                        evidence: EVIDENCE,
                        name_mismatch: false,
                        operator: None,
                    };
                    let settled = settle(&app, &settling).await.expect("the store");
                    assert_eq!(settled, Settled::Done);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a caller");
    }
    pairs.len() as f64 / began.elapsed().as_secs_f64()
}

pub async fn sqlite(report: &mut Report, size: &Size) {
    let folder = scratch();
    let world =
        World::new(&format!("sqlite:{}", folder.path().join("bench.db").display()), BUSINESSES, "").await;
    let (mut many, mut one) = (Vec::new(), Vec::new());
    let (n_many, n_one) = (size.of(40_000, 2_000), size.of(5_000, 300));
    let mut first = 0;
    for _ in 0..size.runs {
        let began = Instant::now();
        let pairs = world.pairs(n_many, first, "https://shop.example/hook").await;
        first += n_many as i64;
        let single = world.pairs(n_one, first, "https://shop.example/hook").await;
        first += n_one as i64;
        said("payments and alerts made", began);
        many.push(settle_all(&world.app, &world.account, Arc::new(pairs), CALLERS).await);
        one.push(settle_all(&world.app, &world.account, Arc::new(single), 1).await);
    }
    report.add(
        "approvals, SQLite, 64 callers",
        "/s",
        median(many),
        median(one),
        Goal::AtLeastTimes(5.0),
        "yardstick: the same op with one caller, so one commit per Unit",
    );
}

pub async fn postgres(report: &mut Report, size: &Size, server: &Postgres) {
    let url = server.database("approvals");
    let world = World::new(&url, BUSINESSES, "").await;
    let plain = Plain::connect(&url).await;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let count = size.of(15_000, 1_000);
    let mut first = 0;
    for _ in 0..size.runs {
        let began = Instant::now();
        let pairs = world.pairs(count, first, "https://shop.example/hook").await;
        first += count as i64;
        let by_hand = world.pairs(count, first, "https://shop.example/hook").await;
        first += count as i64;
        said("payments and alerts made", began);
        ours.push(settle_all(&world.app, &world.account, Arc::new(pairs), CALLERS).await);
        theirs.push(plain.settle_all(&world.account, Arc::new(by_hand), first).await);
    }
    report.add(
        "approvals, PostgreSQL, 64 callers",
        "/s",
        median(ours),
        median(theirs),
        Goal::AtLeastTimes(1.5),
        "yardstick: begin, the same 13 statements one after another, commit, on 16 connections; 64 businesses on both sides",
    );
}

/// What a plain program would do: prepared statements, each awaited before the next.
struct Plain {
    connections: Vec<Arc<(Client, Vec<Statement>)>>,
}

/// The statements of an approval, in the order of the Unit.
const STATEMENTS: [&str; 11] = [
    "update amount_clocks set ticks = ticks + 1 where account_id = $1 and amount_kobo = $2 and ticks = $3",
    "update alerts set status = 'matched', settlement_id = $3, payment_id = $4, matched_at = $5, decided_at = $5, \
     reason = $6, evidence = $7, version = version + 1 \
     where id = $1 and version = $2 and status in ('new', 'review', 'unmatched', 'dismissed')",
    "update payments set status = 'approved', matched_at = $3, approved_at = $4, updated_at = $4, rejected_at = null, \
     reject_reason = null, is_swept = 0, settlement_id = $5, received_kobo = $6, charge_percentage_kobo = $7, \
     charge_fixed_kobo = $8, business_receives_kobo = $9, is_mismatch = $10, mismatch_reason = $11, \
     is_name_mismatch = $12, version = version + 1 \
     where id = $1 and version = $2 and (status = 'pending' or (status = 'rejected' and is_swept = 1))",
    "update merchant_balances set balance_kobo = balance_kobo + $2 where business_id = $1",
    "update jobs set done_at = $3, outcome = $4 where subject_id = $1 and kind = $2 and done_at is null",
    "insert into settlements (id, kind, business_id, payment_id, alert_id, received_kobo, business_receives_kobo, \
     charge_kobo, rule, evidence, operator, settled_at) values ($1, 'transfer', $2, $3, $4, $5, $6, $7, $8, $9, null, $10)",
    "insert into entries (id, kind, settlement_id, business_id, memo, posted_at) values ($1, 'settlement', $2, $3, $4, $5)",
    "insert into unsealed_entries (entry_id) values ($1)",
    "insert into postings (entry_id, line, account, side, amount_kobo) values ($1, $2, $3, $4, $5)",
    "insert into events (id, business_id, payment_id, kind, webhook_id, body, created_at) \
     values ($1, $2, $3, 'payment.approved', $4, $5, $6)",
    "insert into jobs (id, kind, business_id, subject_id, run_at, attempt, tries, created_at) \
     values ($1, 'deliver', $2, $3, $4, 0, 0, $4)",
];

/// Ids of the yardstick's rows begin here, away from the program's own.
const PLAIN_IDS: i64 = 1 << 40;

impl Plain {
    async fn connect(url: &str) -> Plain {
        let mut connections = Vec::new();
        for _ in 0..PLAIN_CONNECTIONS {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connect");
            tokio::spawn(connection);
            let mut statements = Vec::new();
            for text in STATEMENTS {
                statements.push(client.prepare(text).await.expect("prepare"));
            }
            connections.push(Arc::new((client, statements)));
        }
        Plain { connections }
    }

    async fn settle_all(&self, account: &ReceivingAccount, pairs: Arc<Vec<Pair>>, first: i64) -> f64 {
        let next = Arc::new(AtomicUsize::new(0));
        let began = Instant::now();
        let tasks: Vec<_> = self
            .connections
            .iter()
            .map(|connection| {
                let (connection, pairs, next) = (connection.clone(), pairs.clone(), next.clone());
                let account = account.clone();
                tokio::spawn(async move {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(pair) = pairs.get(at) else { return };
                        settle_plainly(&connection, pair, &account, PLAIN_IDS + first + at as i64).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("a connection");
        }
        pairs.len() as f64 / began.elapsed().as_secs_f64()
    }
}

async fn settle_plainly(
    connection: &(Client, Vec<Statement>),
    pair: &Pair,
    account: &ReceivingAccount,
    id: i64,
) {
    let (client, statements) = connection;
    let (payment, alert) = (&pair.payment, &pair.alert);
    let now = alert.first_seen.0 + 1;
    let (received, credited) = (payment.amount.kobo(), payment.business_receives.kobo());
    let charge = payment.charges.total().kobo();
    let webhook_id = format!("msg_{id:022}");
    let body =
        webhook_body::payment_approved(&webhook_id, About { payment, account: Some(account), alert: None });
    let merchant = format!("merchant:{}", payment.business_id);
    let (none, zero, ticks) = (None::<String>, 0i64, 1i64);
    let (percentage, fixed) = (payment.charges.percentage.kobo(), payment.charges.fixed.kobo());
    let run = async |n: usize, params: &[&(dyn ToSql + Sync)]| {
        let touched = client.execute(&statements[n], params).await.expect("a statement");
        assert_eq!(touched, 1, "{}", STATEMENTS[n]);
    };
    client.batch_execute("begin").await.expect("begin");
    run(0, &[&account.id, &received, &ticks]).await;
    run(1, &[&alert.id, &alert.version, &id, &payment.id, &now, &RULE, &EVIDENCE]).await;
    run(
        2,
        &[
            &payment.id,
            &payment.version,
            &now,
            &now,
            &id,
            &received,
            &percentage,
            &fixed,
            &credited,
            &zero,
            &none,
            &zero,
        ],
    )
    .await;
    run(3, &[&payment.business_id, &credited]).await;
    run(4, &[&alert.id, &"decide", &now, &"matched"]).await;
    run(
        5,
        &[
            &id,
            &payment.business_id,
            &payment.id,
            &alert.id,
            &received,
            &credited,
            &charge,
            &RULE,
            &EVIDENCE,
            &now,
        ],
    )
    .await;
    run(6, &[&id, &id, &payment.business_id, &payment.transaction_id, &now]).await;
    run(7, &[&id]).await;
    run(8, &[&id, &0i64, &"clearing", &"debit", &received]).await;
    run(8, &[&id, &1i64, &merchant, &"credit", &credited]).await;
    run(8, &[&id, &2i64, &"fees", &"credit", &charge]).await;
    run(9, &[&id, &payment.business_id, &payment.id, &webhook_id, &body, &now]).await;
    run(10, &[&id, &payment.business_id, &id, &now]).await;
    client.batch_execute("commit").await.expect("commit");
}
