//! SQLite in trouble: a full disk, a lock held elsewhere, a file that is gone.
//!
//! The disk is made full with SQLite's own limit of pages, which fails at the same places of a
//! transaction; it is set through the store's writer, so no seam in the program is needed.

use std::time::{Duration, Instant};

use tillbell::store::{Applied, StoreError, Value};

use super::*;
use crate::harness::databases::{Engine, TestDatabase, run_on};

static PAGES: Sql = query("PAGES", "select page_count from pragma_page_count()");
/// More than half a page each, so that every statement needs space.
const FILLING: usize = 2500;

/// A Unit of four statements that each take space: three large rows and the one that counts.
async fn large(store: &Store, name: &str) -> Unit {
    let row = |n: i64| new_counter(&format!("{name} {n} {}", "x".repeat(FILLING)), n);
    marking(store, 1, name).await.unwrap().steps([row(1), row(2), row(3)])
}

async fn limit_pages(store: &Store, pages: i64) {
    // A pragma takes no parameters, and a statement of the store is static.
    let text = format!("pragma max_page_count = {pages}");
    let sql: &'static Sql =
        Box::leak(Box::new(Sql::new("LIMIT", Text::Plain(Box::leak(text.into_boxed_str())))));
    assert!(store.write(sql, Vec::<Value>::new()).await.unwrap().is_done());
}

fn on_sqlite<F: Future<Output = ()>>(test: fn(TestDatabase) -> F) {
    run_on(Engine::Sqlite, test);
}

#[test]
fn a_full_disk_at_any_statement_makes_no_false_answer() {
    on_sqlite(|db| async move {
        let store = open(db.url()).await;
        make(&store, &["total"]).await;
        let (mut failed, mut done) = (0, 0);
        for room in 0..56 {
            let pages =
                store.read_one(&PAGES, Vec::new()).await.unwrap().unwrap().single_int("pages").unwrap();
            limit_pages(&store, pages + room).await;
            let mut units = Vec::new();
            for n in 0..4 {
                units.push(large(&store, &format!("{room}-{n}")).await);
            }
            let answers = apply_in_order(&store, units).await;
            let there = marks(&store).await;
            for (n, answer) in answers.iter().enumerate() {
                let name = format!("{room}-{n}");
                match answer {
                    Ok(Applied::Done(_)) => {
                        done += 1;
                        assert!(there.contains(&name), "{name}: done, and not there");
                    }
                    Err(StoreError::Unavailable(_)) => {
                        failed += 1;
                        assert!(!there.contains(&name), "{name}: unavailable, and there");
                    }
                    other => panic!("{name}: {other:?}"),
                }
            }
            checked_total(&store).await;
            limit_pages(&store, i64::from(u32::MAX) - 1).await;
            let after = large(&store, &format!("{room}-after")).await;
            assert!(store.apply(after).await.unwrap().is_done(), "no work after space is back");
        }
        assert!(
            failed > 50 && done > 20,
            "the limit was too narrow or too wide: {failed} failed, {done} done"
        );
    });
}

#[test]
fn a_lock_held_by_another_process_is_waited_for_and_then_told() {
    on_sqlite(|db| async move {
        let store = open(db.url()).await;
        make(&store, &["total"]).await;
        let other = rusqlite::Connection::open(db.url().strip_prefix("sqlite:").unwrap()).unwrap();

        other.execute_batch("begin immediate").unwrap();
        let unit = marking(&store, 1, "short").await.unwrap();
        let applying = tokio::spawn({
            let store = store.clone();
            async move { store.apply(unit).await }
        });
        // It waits for five seconds; one that did not would have been refused by now.
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert!(!applying.is_finished());
        assert_eq!(checked_total(&store).await, 0, "reads go on");
        other.execute_batch("commit").unwrap();
        assert!(applying.await.unwrap().unwrap().is_done());

        other.execute_batch("begin immediate").unwrap();
        let began = Instant::now();
        let unit = marking(&store, 1, "long").await.unwrap();
        let answer = store.apply(unit).await;
        assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
        assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
        other.execute_batch("commit").unwrap();
        let unit = marking(&store, 1, "later").await.unwrap();
        assert!(store.apply(unit).await.unwrap().is_done());
        assert_eq!(marks(&store).await, ["later", "short"]);
    });
}

/// A write that waits behind another one's wait for the lock does not begin its own anew.
#[test]
fn each_write_waits_its_own_time_for_the_lock() {
    on_sqlite(|db| async move {
        let store = open(db.url()).await;
        make(&store, &["total"]).await;
        let other = rusqlite::Connection::open(db.url().strip_prefix("sqlite:").unwrap()).unwrap();
        other.execute_batch("begin immediate").unwrap();
        let mut applying = Vec::new();
        // Handed over in this order, the last one long after the others: each has five seconds of its own.
        for (name, pause) in [("first", 700), ("second", 3_000), ("third", 0)] {
            let unit = marking(&store, 1, name).await.unwrap();
            let store = store.clone();
            applying.push(tokio::spawn(async move { store.apply(unit).await }));
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        let third = applying.pop().unwrap();
        for early in applying {
            let answer = early.await.unwrap();
            assert!(
                matches!(&answer, Err(StoreError::Unavailable(why)) if why.contains("another program")),
                "{answer:?}"
            );
        }
        other.execute_batch("commit").unwrap();
        assert!(third.await.unwrap().unwrap().is_done(), "it was refused with those who asked before it");
        assert_eq!(marks(&store).await, ["third"]);
    });
}

#[test]
fn a_file_that_was_removed_or_replaced_is_told() {
    on_sqlite(|db| async move {
        let path = db.url().strip_prefix("sqlite:").unwrap();
        let store = open(db.url()).await;
        make(&store, &["total"]).await;
        let unit = || marking(&store, 1, "gone");
        std::fs::rename(path, format!("{path}.away")).unwrap();
        let answer = store.apply(unit().await.unwrap()).await;
        assert!(
            matches!(&answer, Err(StoreError::Unavailable(why)) if why.contains("removed")),
            "{answer:?}"
        );
        std::fs::write(path, "another").unwrap();
        assert!(store.apply(unit().await.unwrap()).await.is_err());
        // Put back, it goes on by itself.
        std::fs::rename(format!("{path}.away"), path).unwrap();
        assert!(store.apply(unit().await.unwrap()).await.unwrap().is_done());
    });
}

#[test]
fn a_file_that_cannot_be_is_told_by_name() {
    on_sqlite(|db| async move {
        let folder =
            std::path::Path::new(db.url().strip_prefix("sqlite:").unwrap()).parent().unwrap().to_owned();
        std::fs::write(folder.join("text"), "this is not a database, not at all; ".repeat(100)).unwrap();
        for path in [folder.join("no/such/folder/a.db"), folder.clone(), folder.join("text")] {
            let url = format!("sqlite:{}", path.display());
            let Err(error) = Store::open(&StoreOptions::service(&url)).await else {
                panic!("{url} was opened")
            };
            assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
        }
        for url in ["sqlite:", "sqlite::memory:", "mysql://a/b", "file"] {
            assert!(Store::open(&StoreOptions::service(url)).await.is_err(), "{url} was opened");
        }
        assert!(!std::path::Path::new(":memory:").exists(), "a file of that name was made");
    });
}
