//! What is over is forgotten after its time: finished jobs, and attempts of deliveries that are over. What is still
//! needed stays, on several nodes at once and with a death in between, and the audit holds.

use tillbell::app::App;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::time::Span;
use tillbell::ops::retention::{Forgotten, forget_old};
use tillbell::store::engine::sql::{Sql, Text};
use tillbell::work;
use tokio_util::sync::CancellationToken;

use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::databases::{Engine, TestDatabase, connect};
use crate::harness::mails::Alert;
use crate::harness::until::until;
use crate::webhooks_world::World;

pub async fn by_hand(db: &TestDatabase, text: &str) -> Result<(), String> {
    match db.engine() {
        Engine::Sqlite => {
            let file = rusqlite::Connection::open(db.url().strip_prefix("sqlite:").unwrap()).unwrap();
            file.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
            file.execute_batch(text).map_err(|error| error.to_string())
        }
        Engine::Postgres => {
            let client = connect(db.url()).await;
            client.batch_execute(text).await.map_err(|error| format!("{:?}", error.as_db_error()))
        }
    }
}

async fn count(app: &App, text: &'static str) -> i64 {
    let sql: &'static Sql = Box::leak(Box::new(Sql::new("COUNT_BY_HAND", Text::Plain(text))));
    app.store.read_one(sql, Vec::new()).await.unwrap().unwrap().single_int("jobs").unwrap()
}

async fn jobs(app: &App) -> i64 {
    count(app, "select count(*) from jobs").await
}

/// Makes `number` finished jobs of one kind, each with an attempt, that ended so long before now.
async fn ended(t: &TestApp, kind: &str, number: i64, ago: Span) {
    let done = (t.app.now() - ago).0;
    let mut rows = String::new();
    for n in 1..=number {
        let id = 9_000_000 + count(&t.app, "select count(*) from jobs").await + n;
        rows.push_str(&format!(
            "insert into jobs (id, kind, business_id, subject_id, run_at, attempt, tries, created_at, done_at, outcome)
                 values ({id}, '{kind}', 0, 77, {done}, 1, 1, {done}, {done}, 'done');
             insert into attempts (id, job_id, try, duration_ms, attempted_at) values ({id}, {id}, 1, 5, {done});"
        ));
    }
    by_hand(t.database(), &rows).await.unwrap();
}

on_both! {
    async fn what_is_over_is_forgotten_after_its_time_and_the_audit_holds(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 6_400, "Halima Garba").await;
        t.advance(LATER + Span::seconds(20));
        let paid = t.ingest(&Alert::credit(ACCOUNT, 6_400, "Halima Garba", at()).text()).await;
        assert_eq!(paid.status, AlertStatus::Matched);
        // Its decision is done; its delivery waits.
        assert_eq!(forget_old(&t.app).await.unwrap(), Forgotten::default());
        let before = jobs(&t.app).await;
        t.advance(Span::days(31));
        let gone = forget_old(&t.app).await.unwrap();
        assert_eq!(gone.attempts, 0);
        assert_eq!(before - jobs(&t.app).await, gone.jobs as i64);
        let left = t.app.store.deliveries_of_payment(payment.id).await.unwrap();
        assert_eq!(left.len(), 1, "what the merchant is told stays, done or not");
    }

    async fn a_delivery_that_is_over_keeps_its_row_and_loses_its_old_attempts(db: TestDatabase) {
        let w = World::new(&db).await;
        let told = w.tell("/hook").await;
        w.work().await;
        assert_eq!(w.delivery(&told).await.attempts.len(), 1);
        w.advance(Span::days(89));
        assert_eq!(forget_old(&w.app).await.unwrap(), Forgotten::default());
        assert_eq!(w.delivery(&told).await.attempts.len(), 1);
        w.advance(Span::days(2));
        let nodes = [w.node().await, w.node().await];
        let (one, other) = tokio::join!(forget_old(&nodes[0]), forget_old(&nodes[1]));
        assert_eq!(one.unwrap().attempts + other.unwrap().attempts, 1, "once, by either node");
        let after = w.delivery(&told).await;
        assert_eq!((after.outcome.as_deref(), after.attempts.len()), (Some("delivered"), 0));
        // It can still be sent again.
        tillbell::ops::webhooks::deliveries::resend(&w.app, "tests", &[after.id]).await.unwrap();
        w.work().await;
        assert_eq!(w.delivery(&told).await.attempts.len(), 1);
    }

    async fn attempts_of_a_delivery_that_is_not_over_stay_whatever_their_age(db: TestDatabase) {
        let w = World::new(&db).await;
        let told = w.tell("/hook").await;
        w.work().await;
        let job = w.delivery(&told).await.id;
        by_hand(&db, &format!("update jobs set done_at = null, outcome = 'paused' where id = {job}")).await.unwrap();
        w.advance(Span::days(400));
        assert_eq!(forget_old(&w.app).await.unwrap(), Forgotten::default());
        let refused = by_hand(&db, "delete from attempts").await.unwrap_err();
        assert!(refused.contains("attempts of open jobs stay"), "{refused}");
        let refused = by_hand(&db, "update attempts set status = 200").await.unwrap_err();
        assert!(refused.contains("append only"), "{refused}");
        assert_eq!(w.delivery(&told).await.attempts.len(), 1);
    }

    async fn many_go_in_steps_and_a_run_that_was_cut_short_is_gone_on_with(db: TestDatabase) {
        let (t, _) = world(db).await;
        let before = jobs(&t.app).await;
        ended(&t, "verify", 3, Span::days(29)).await;
        ended(&t, "rematch", 700, Span::days(31)).await;
        by_hand(t.database(), "delete from attempts").await.unwrap();
        // One step, as if the process died after it.
        let first = t.app.store.forget_finished_jobs(t.app.now() - Span::days(30)).await.unwrap();
        assert_eq!(first, 500);
        let (one, node) = (t.another_node().await, t.another_node().await);
        let (one, other) = tokio::join!(forget_old(&one), forget_old(&node));
        assert_eq!(one.unwrap().jobs + other.unwrap().jobs, 200);
        assert_eq!(jobs(&t.app).await, before + 3);
    }

    async fn more_than_a_run_forgets_is_gone_on_with_at_once(db: TestDatabase) {
        let (t, _) = world(db).await;
        let before = jobs(&t.app).await;
        let done = (t.app.now() - Span::days(31)).0;
        // Three runs, between two of which a minute passes where nothing is left.
        let many = format!(
            "with recursive n(i) as (select cast(1 as bigint) union all select i + 1 from n where i < 40300) \
             insert into jobs (id, kind, business_id, subject_id, run_at, attempt, tries, created_at, done_at, outcome) \
             select 9000000 + i, 'verify', 0, 77, {done}, 1, 1, {done}, {done}, 'done' from n"
        );
        by_hand(t.database(), &many).await.unwrap();
        let stop = CancellationToken::new();
        let node = tokio::spawn(work::run(t.app.clone(), None, stop.clone()));
        until("all are forgotten", async || (jobs(&t.app).await <= before).then_some(())).await;
        stop.cancel();
        node.await.unwrap();
    }

    async fn a_job_that_was_taken_up_again_stays(db: TestDatabase) {
        let (t, _) = world(db).await;
        let before = jobs(&t.app).await;
        ended(&t, "message", 1, Span::days(31)).await;
        by_hand(t.database(), "update jobs set done_at = null").await.unwrap();
        assert_eq!(forget_old(&t.app).await.unwrap(), Forgotten::default());
        assert_eq!(jobs(&t.app).await, before + 1);
    }

    async fn a_missing_guard_of_open_attempts_is_told(db: TestDatabase) {
        let (t, _) = world(db).await;
        let lost = || async { t.app.store.append_only_guards().await.unwrap().1 };
        assert!(lost().await.is_empty());
        let drop = match t.database().engine() {
            Engine::Sqlite => "drop trigger attempts_no_delete",
            Engine::Postgres => "drop trigger attempts_open_stay on attempts",
        };
        t.without_audit("a trigger is dropped by hand");
        by_hand(t.database(), drop).await.unwrap();
        assert_eq!(lost().await, ["attempts"]);
    }
}
