//! What `read`, `apply` and ids promise, the same on both engines.

use std::collections::HashSet;
use std::task::Poll;

use futures_util::future::join_all;
use tillbell::store::engine::unit::UNIT_MAX_STEPS;
use tillbell::store::{Applied, IdKind, Step, Store, StoreError, StoreOptions};

use super::*;
use crate::harness::databases::Engine;

static AT_LEAST: Sql =
    query("AT_LEAST", "update counters set value = value + 1 where name = $1 and value >= $2");
static ALL_ZERO: Sql = query("ALL_ZERO", "update counters set value = 0 where name = $1 or name = $2");
static NEW_JOB: Sql = Sql::new(
    "NEW_JOB",
    Text::Insert {
        table: "jobs",
        columns: &[
            ("id", Column::Int),
            ("kind", Column::Text),
            ("business_id", Column::Int),
            ("subject_id", Column::Int),
            ("run_at", Column::Int),
            ("attempt", Column::Int),
            ("tries", Column::Int),
            ("created_at", Column::Int),
        ],
    },
);
static NEW_ATTEMPT: Sql = Sql::new(
    "NEW_ATTEMPT",
    Text::Insert {
        table: "attempts",
        columns: &[
            ("id", Column::Int),
            ("job_id", Column::Int),
            ("try", Column::Int),
            ("duration_ms", Column::Int),
            ("attempted_at", Column::Int),
        ],
    },
);

static OF_NAME: Sql = Sql::new(
    "OF_NAME",
    Text::Lookup { table: "counters", columns: "value, name", keys: &[("name", Column::Text)] },
);
static OF_NAME_AND_VALUE: Sql = Sql::new(
    "OF_NAME_AND_VALUE",
    Text::Lookup {
        table: "counters",
        columns: "value, name",
        keys: &[("name", Column::Text), ("value", Column::Int)],
    },
);

fn job(id: i64) -> Step {
    let numbers = [0, 0, 0, 0, 0, 0].map(|n: i64| n.into());
    Step::one(&NEW_JOB, [vec![id.into(), "deliver".into()], numbers.to_vec()].concat())
}

fn attempt(id: i64, job: i64) -> Step {
    Step::one(&NEW_ATTEMPT, [id, job, 1, 20, 30].map(Into::into).to_vec())
}

on_both! {
    async fn lookups_at_one_moment_each_find_their_own_row(db: TestDatabase) {
        let store = open(db.url()).await;
        let names: Vec<String> = (0..60).map(|n| format!("c{n}")).collect();
        make(&store, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        for (n, name) in names.iter().enumerate() {
            assert_eq!(store.write(&ADD_TO, vec![name.into(), (n as i64).into()]).await.unwrap(), Applied::Done(vec![vec![]]));
        }
        // Every third is asked for twice, every seventh is not there; both look-ups mixed.
        let asked: Vec<(usize, bool, bool)> =
            (0..600).map(|n| (n % 3 * 20 + n % 20, n % 7 == 0, n % 2 == 0)).collect();
        let answers = join_all(asked.iter().map(|(n, is_missing, by_value)| {
            let name = if *is_missing { format!("none{n}") } else { names[*n].clone() };
            let (sql, keys) = match by_value {
                true => (&OF_NAME_AND_VALUE, vec![name.into(), (*n as i64).into()]),
                false => (&OF_NAME, vec![name.into()]),
            };
            store.read(sql, keys)
        }));
        for ((n, is_missing, _), rows) in asked.iter().zip(answers.await) {
            let rows = rows.unwrap();
            let found: Vec<i64> = rows.into_iter().map(|row| row.reader("counters").int("value").unwrap()).collect();
            assert_eq!(found, if *is_missing { vec![] } else { vec![*n as i64] });
        }
        // PostgreSQL refuses a number where a text belongs; SQLite, whose values have types of their own, finds nothing.
        let wrong = join_all((0..20).map(|_| store.read(&OF_NAME, vec![1.into()])));
        for answer in wrong.await {
            match db.engine() {
                Engine::Sqlite => assert_eq!(answer.unwrap(), []),
                Engine::Postgres => assert!(matches!(answer, Err(StoreError::Fault(_))), "{answer:?}"),
            }
        }
        assert_eq!(store.read(&OF_NAME, vec!["c1".into()]).await.unwrap().len(), 1, "one at fault harms nobody after");
    }

    async fn an_answer_holds_what_was_committed_before_the_question(db: TestDatabase) {
        const COUNTERS: i64 = 24;
        const ROUNDS: i64 = 25;
        let store = open(db.url()).await;
        let names: Vec<String> = (0..COUNTERS).map(|n| format!("c{n}")).collect();
        make(&store, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        // All at once, so that questions wait for each other and share what can be shared.
        let counting = names.iter().enumerate().map(|(n, name)| {
            let (store, name) = (store.clone(), name.clone());
            tokio::spawn(async move {
                for round in 1..=ROUNDS {
                    let unit = store.unit(n as i64).await.unwrap().step(add(&name, 1));
                    assert!(store.apply(unit).await.unwrap().is_done());
                    let questions = join_all((0..4).map(|_| value(&store, &name))).await;
                    assert_eq!(questions, vec![Some(round); 4], "{name}");
                }
            })
        });
        for end in join_all(counting).await {
            end.unwrap();
        }
    }

    async fn outcomes_are_told_apart_and_name_the_statement(db: TestDatabase) {
        let store = open(db.url()).await;
        make(&store, &["a", "b"]).await;
        let unit = store.unit(1).await.unwrap();
        let unit = unit.step(Step::returning(&ADD_AND_TELL, vec!["a".into(), 7.into()]));
        let unit = unit.step(Step::returning(&ADD_AND_TELL, vec!["b".into(), 8.into()]));
        let Applied::Done(rows) = store.apply(unit).await.unwrap() else { panic!("not done") };
        let rows: Vec<i64> = rows.into_iter().flatten().map(|row| row.single_int("counters").unwrap()).collect();
        assert_eq!(rows, [7, 8]);

        let unit = store.unit(1).await.unwrap().step(add("a", 1)).step(add("nobody", 1));
        assert_eq!(store.apply(unit).await.unwrap(), Applied::Conflict { statement: "ADD_TO" });
        let both = Step::one(&ALL_ZERO, vec!["a".into(), "b".into()]);
        let unit = store.unit(1).await.unwrap().step(both);
        assert_eq!(store.apply(unit).await.unwrap(), Applied::Conflict { statement: "ALL_ZERO" }, "two rows, one expected");
        let unit = store.unit(1).await.unwrap().step(new_counter("a", 5));
        assert_eq!(store.apply(unit).await.unwrap(), Applied::ConstraintViolation { statement: "NEW_COUNTER" });
        // A statement for any number of rows may find none.
        let unit = store.unit(1).await.unwrap().step(Step::any(&ADD_TO, vec!["nobody".into(), 1.into()]));
        assert!(store.apply(unit).await.unwrap().is_done());
        assert_eq!((value(&store, "a").await, value(&store, "nobody").await), (Some(7), None));
        assert_eq!(store.write(&NEW_COUNTER, vec!["c".into(), 3.into()]).await.unwrap(), Applied::Done(Vec::new()));
        assert_eq!(value(&store, "c").await, Some(3));
    }

    async fn a_lost_or_refused_unit_leaves_no_trace(db: TestDatabase) {
        let store = open(db.url()).await;
        make(&store, &["total", "other"]).await;
        let lost = marking(&store, 1, "lost").await.unwrap().step(add("nobody", 1)).step(add("other", 9));
        assert_eq!(store.apply(lost).await.unwrap(), Applied::Conflict { statement: "ADD_TO" });
        let refused = marking(&store, 1, "refused").await.unwrap().step(new_counter("other", 1));
        assert_eq!(store.apply(refused).await.unwrap(), Applied::ConstraintViolation { statement: "NEW_COUNTER" });
        assert_eq!(checked_total(&store).await, 0);
        assert_eq!(value(&store, "other").await, Some(0));
    }

    async fn outcomes_of_a_shard_follow_the_order_of_submission(db: TestDatabase) {
        let store = open(db.url()).await;
        make(&store, &["chain", "taken"]).await;
        let (mut units, mut wanted, mut at) = (Vec::new(), Vec::new(), 0);
        for n in 0..240 {
            let unit = store.unit(5).await.unwrap();
            let (unit, outcome) = match n % 40 {
                // Would be done if it were run later than its turn.
                13 => {
                    let late = Step::one(&AT_LEAST, vec!["chain".into(), (at + 1).into()]);
                    (unit.step(late), Applied::Conflict { statement: "AT_LEAST" })
                }
                27 => {
                    let unit = unit.step(add("chain", 1000)).step(new_counter("taken", 1));
                    (unit, Applied::ConstraintViolation { statement: "NEW_COUNTER" })
                }
                _ => {
                    let next = Step::one(&MOVE, vec!["chain".into(), at.into(), (at + 1).into()]);
                    at += 1;
                    (unit.step(next).step(new_counter(&format!("link {n}"), n)), Applied::Done(Vec::new()))
                }
            };
            units.push(unit);
            wanted.push(outcome);
        }
        let answers: Vec<Applied> =
            apply_in_order(&store, units).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(answers, wanted);
        assert_eq!(value(&store, "chain").await, Some(at));
    }

    async fn five_hundred_units_on_one_row_add_up(db: TestDatabase) {
        let store = open(db.url()).await;
        make(&store, &["total"]).await;
        // Over all shards, so that every writer fights for the row.
        let answers = join_all((0..500).map(|n| {
            let store = store.clone();
            async move {
                let unit = marking(&store, n, &n.to_string()).await.unwrap();
                store.apply(unit).await.unwrap()
            }
        }))
        .await;
        assert!(answers.iter().all(Applied::is_done));
        assert_eq!(checked_total(&store).await, 500);
    }

    async fn racing_guards_have_one_winner_each(db: TestDatabase) {
        let store = open(db.url()).await;
        make(&store, &["total"]).await;
        let mut done = 0;
        for round in 0..20 {
            let answers = join_all((0..30).map(|n| {
                let store = store.clone();
                async move {
                    let guard = Step::one(&MOVE, vec!["total".into(), round.into(), (round + 1).into()]);
                    let mark = new_counter(&format!("mark {round}-{n}"), n);
                    // Another shard each: on PostgreSQL they also meet over connections.
                    store.apply(store.unit(n).await.unwrap().step(guard).step(mark)).await.unwrap()
                }
            }))
            .await;
            done += answers.iter().filter(|answer| answer.is_done()).count();
            assert_eq!(done as i64, round + 1);
            assert!(answers.iter().all(|a| a.is_done() || *a == Applied::Conflict { statement: "MOVE" }));
        }
        assert_eq!(checked_total(&store).await, 20);
    }

    async fn a_broken_constraint_harms_only_its_own_unit(db: TestDatabase) {
        let store = open(db.url()).await;
        make(&store, &["total", "mark 17", "mark 51"]).await;
        assert!(store.write(&ADD_TO, vec!["total".into(), 2.into()]).await.unwrap().is_done());
        let mut units = Vec::new();
        for n in 0..100 {
            units.push(marking(&store, n % 7, &n.to_string()).await.unwrap());
        }
        units.push(marking(&store, 3, "90").await.unwrap()); // the second of two newcomers of one name
        let answers = apply_in_order(&store, units).await;
        let refused: Vec<usize> = (0..answers.len())
            .filter(|n| *answers[*n].as_ref().unwrap() == Applied::ConstraintViolation { statement: "NEW_COUNTER" })
            .collect();
        assert!(refused == [17, 51, 100] || refused == [17, 51, 90], "{refused:?}");
        assert_eq!(answers.iter().filter(|answer| answer.as_ref().unwrap().is_done()).count(), 98);
        assert_eq!(checked_total(&store).await, 100);
    }

    async fn parents_and_children_of_many_units_go_together(db: TestDatabase) {
        let store = open(db.url()).await;
        assert!(store.apply(store.unit(1).await.unwrap().step(job(1))).await.unwrap().is_done());
        // The first inserts a child only: children must not go before the parents of the others.
        let mut units = vec![store.unit(1).await.unwrap().step(attempt(1, 1))];
        for n in 2..60 {
            units.push(store.unit(1).await.unwrap().step(job(n)).step(attempt(n, n)));
        }
        // An orphan is refused by name, whoever was in its company.
        units.push(store.unit(1).await.unwrap().step(attempt(99, 98)));
        let mut answers = apply_in_order(&store, units).await;
        assert_eq!(answers.pop().unwrap().unwrap(), Applied::ConstraintViolation { statement: "NEW_ATTEMPT" });
        assert!(answers.into_iter().all(|answer| answer.unwrap().is_done()));
    }

    async fn ids_are_unique_over_processes(db: TestDatabase) {
        let options = StoreOptions { id_block: 7, ..StoreOptions::service(db.url()) };
        let stores = [Store::open(&options).await.unwrap(), Store::open(&options).await.unwrap(),
            Store::open(&StoreOptions::command(db.url())).await.unwrap()];
        let taken = join_all(stores.iter().flat_map(|store| (0..300).map(move |n| {
            let kind = if n % 10 == 0 { IdKind::Business } else { IdKind::Payment };
            async move { (kind, store.id(kind).await.unwrap()) }
        })))
        .await;
        let mut seen = HashSet::new();
        for (kind, id) in taken {
            assert!(id > 0 && seen.insert((kind as usize, id)), "{kind:?} {id} twice");
        }
        assert_eq!(seen.len(), 900);
        let mut businesses: Vec<i64> = seen.iter().filter(|(k, _)| *k == IdKind::Business as usize).map(|(_, id)| *id).collect();
        businesses.sort_unstable();
        assert_eq!(businesses, (1..=90).collect::<Vec<_>>(), "what people type has no gaps");
    }

    async fn a_caller_that_hangs_up_harms_nobody(db: TestDatabase) {
        let store = open(db.url()).await;
        make(&store, &["total"]).await;
        for n in 0..50 {
            let unit = marking(&store, 4, &n.to_string()).await.unwrap();
            let mut applying = Box::pin(store.apply(unit));
            // Handed over, then forgotten. Where this thread was made to wait it may be done already.
            if let Poll::Ready(answer) = futures_util::poll!(applying.as_mut()) {
                assert!(answer.unwrap().is_done());
            }
            drop(applying);
            let mut reading = Box::pin(store.read(&MARKS, Vec::new()));
            let _ = futures_util::poll!(reading.as_mut());
        }
        let last = marking(&store, 4, "last").await.unwrap();
        assert!(store.apply(last).await.unwrap().is_done());
        assert_eq!(checked_total(&store).await, 51, "what was handed over is done");
    }

    async fn a_unit_over_the_limit_is_a_fault_and_one_at_the_limit_is_done(db: TestDatabase) {
        let store = open(db.url()).await;
        make(&store, &["total"]).await;
        let unit = |steps: usize| {
            let store = store.clone();
            async move { store.unit(1).await.unwrap().steps((0..steps).map(|_| add("total", 1))) }
        };
        assert!(store.apply(unit(UNIT_MAX_STEPS).await).await.unwrap().is_done());
        assert!(matches!(store.apply(unit(UNIT_MAX_STEPS + 1).await).await, Err(StoreError::Fault(_))));
        assert_eq!(value(&store, "total").await, Some(UNIT_MAX_STEPS as i64));
    }
}
