//! Killed at any moment, the store has everything that it acknowledged.
//!
//! The process that dies is this test binary itself, started again with a variable that makes the
//! test `child` do the work and print what was acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use tillbell::domain::time::Timestamp;

use super::*;

const CHILD_VARIABLE: &str = "TILLBELL_TEST_STORE_CHILD";
const CRASH_VARIABLE: &str = "TILLBELL_CRASH_AT";
/// Callers at once in the child, and Units each of them applies.
const CALLERS: i64 = 12;
const UNITS: i64 = 400;

#[derive(Clone, Copy, Debug)]
pub enum Doing {
    Migrate,
    Mark,
}

pub struct Child {
    process: std::process::Child,
}

pub struct Ended {
    /// Ended by a signal instead of by itself.
    pub crashed: bool,
    pub acknowledged: Vec<String>,
}

impl Child {
    /// Does it to the database at `url`, until the crash point if one is named.
    pub fn start(url: &str, doing: Doing, crash_at: Option<&str>) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "store::kill::child", "--nocapture"]);
        command.env(CHILD_VARIABLE, format!("{doing:?} {url}")).env_remove(CRASH_VARIABLE);
        if let Some(point) = crash_at {
            command.env(CRASH_VARIABLE, point);
        }
        let process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        Child { process }
    }

    /// Kills it after so many acknowledgements (at most as many as there are).
    fn kill_after(mut self, count: usize) -> Ended {
        let mut lines = BufReader::new(self.process.stdout.take().unwrap()).lines();
        let mut acknowledged: Vec<String> = Vec::new();
        while acknowledged.len() < count
            && let Some(line) = lines.next()
        {
            acknowledged.extend(line.unwrap().strip_prefix("ack ").map(str::to_owned));
        }
        self.process.kill().unwrap();
        // What was printed before the end came counts as well.
        acknowledged.extend(
            lines.map_while(Result::ok).filter_map(|line| Some(line.strip_prefix("ack ")?.to_owned())),
        );
        let status = self.process.wait().unwrap();
        Ended { crashed: status.code().is_none(), acknowledged }
    }

    pub fn wait(mut self) -> Ended {
        let lines = BufReader::new(self.process.stdout.take().unwrap()).lines();
        let acknowledged =
            lines.map_while(Result::ok).filter_map(|line| Some(line.strip_prefix("ack ")?.to_owned()));
        let acknowledged = acknowledged.collect();
        let status = self.process.wait().unwrap();
        Ended { crashed: status.code().is_none(), acknowledged }
    }
}

/// Not a test by itself: what `Child` runs. Without the variable there is nothing to do.
#[test]
fn child() {
    let Ok(order) = std::env::var(CHILD_VARIABLE) else { return };
    let (doing, url) = order.split_once(' ').unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = open(url).await;
        match doing {
            "Migrate" => drop(store.migrate(Timestamp(1)).await.unwrap()),
            "Mark" => mark_and_print(&store).await,
            other => panic!("{other}"),
        }
    });
}

async fn mark_and_print(store: &Store) {
    let callers = (0..CALLERS).map(|caller| async move {
        for n in 0..UNITS {
            let name = format!("{}-{caller}-{n}", std::process::id());
            let unit = marking(store, caller, &name).await.unwrap();
            assert!(store.apply(unit).await.unwrap().is_done());
            let mut out = std::io::stdout().lock();
            writeln!(out, "ack {name}").unwrap();
            out.flush().unwrap();
        }
    });
    futures_util::future::join_all(callers).await;
}

async fn assert_all_there(url: &str, ended: &Ended, at: &str) {
    // Opened anew, as after a restart.
    let store = open(url).await;
    let there = marks(&store).await;
    let missing: Vec<_> =
        ended.acknowledged.iter().filter(|name| there.binary_search(name).is_err()).collect();
    assert!(missing.is_empty(), "{at}: {} acknowledged, gone: {missing:?}", ended.acknowledged.len());
    checked_total(&store).await;
    let next = marking(&store, 1, &format!("after {at}")).await.unwrap();
    assert!(store.apply(next).await.unwrap().is_done(), "{at}: no work after the restart");
}

on_both! {
    async fn killed_at_named_points_it_keeps_what_it_acknowledged(db: TestDatabase) {
        make(&open(db.url()).await, &["total"]).await;
        for (point, passes) in [
            ("store.between_statements", [1, 7, 150, 901]),
            ("store.before_commit", [1, 2, 17, 60]),
            ("store.after_commit", [1, 2, 17, 60]),
        ] {
            for pass in passes {
                let at = format!("{point}:{pass}");
                let ended = Child::start(db.url(), Doing::Mark, Some(&at)).wait();
                assert!(ended.crashed, "{at} was not reached");
                assert_all_there(db.url(), &ended, &at).await;
            }
        }
    }

    async fn killed_at_any_time_it_keeps_what_it_acknowledged(db: TestDatabase) {
        make(&open(db.url()).await, &["total"]).await;
        for count in [1, 3, 20, 75, 333, 700, 1200] {
            let ended = Child::start(db.url(), Doing::Mark, None).kill_after(count);
            assert!(ended.crashed && ended.acknowledged.len() >= count, "{count}: it ended by itself");
            db.until_idle().await;
            assert_all_there(db.url(), &ended, &count.to_string()).await;
        }
    }
}
