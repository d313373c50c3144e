//! docs/backup-postgresql.md is true: its lines are run on a server of their own, in their order, and what was acknowledged is there
//! afterwards, or up to the moment that was asked for.

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

use crate::harness::own_postgres::{OwnPostgres, blocks_of, free_port};

const PAGE: &str = include_str!("../../../docs/backup-postgresql.md");
/// What the page says where a moment is to be chosen.
const MOMENT: &str = "2026-03-10 09:00:00+01";

/// What stands in the page's fences, in the order in which it is run.
#[derive(Clone, Copy)]
enum Step {
    Places,
    Archive,
    Restart,
    SeeThatItCopies,
    BaseBackup,
    CleanUp,
    SaveTheRest,
    PutInPlace,
    ChooseAMoment,
    StartAgain,
    Hold,
    Resume,
}

const STEPS: usize = Step::Resume as usize + 1;

/// A server of its own, whose commands are the page's.
struct Guide {
    server: OwnPostgres,
    port: u16,
    blocks: Vec<&'static str>,
}

impl Drop for Guide {
    fn drop(&mut self) {
        self.shell("pg_ctl stop --pgdata=\"$PGDATA\" --mode=immediate");
    }
}

impl Guide {
    fn new() -> Guide {
        let here = Guide { server: OwnPostgres::new(), port: free_port(), blocks: blocks_of(PAGE, STEPS) };
        here.server.make(here.port, &here.places());
        here.works("createuser till && createdb --owner=till till");
        here.tillbell(&["migrate"]);
        here
    }

    fn path(&self, name: &str) -> PathBuf {
        self.server.path(name)
    }

    /// What the page's first block says, in this folder.
    fn places(&self) -> String {
        self.blocks[Step::Places as usize]
            .replace("/var/lib/postgresql/15/main", &self.path("main").display().to_string())
            .replace("/var/backups/postgresql", &self.path("kept").display().to_string())
    }

    /// Runs lines in the page's shell.
    fn shell(&self, lines: &str) -> Output {
        self.server.shell(self.port, &format!("{}\n{lines}", self.places()))
    }

    fn works(&self, lines: &str) -> String {
        self.server.works(self.port, &format!("{}\n{lines}", self.places()))
    }

    fn run(&self, step: Step) -> String {
        self.works(self.blocks[step as usize])
    }

    fn tillbell(&self, arguments: &[&str]) -> Value {
        let told = self.works(&format!("tillbell --json {}", arguments.join(" ")));
        serde_json::from_str(&told).unwrap_or(Value::Null)
    }

    fn add(&self, business: &str) {
        let email = format!("till@{business}.example");
        self.tillbell(&["business", "add", "--name", business, "--email", &email]);
    }

    fn businesses(&self) -> Vec<String> {
        let told = self.tillbell(&["business", "list"]);
        let names = told["businesses"].as_array().unwrap().iter();
        let mut names: Vec<String> = names.map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        names.sort_unstable();
        names
    }

    fn now(&self) -> String {
        self.works("psql --dbname=postgres --tuples-only --no-align --command='select clock_timestamp()'")
            .trim()
            .to_owned()
    }
}

#[test]
fn every_line_of_the_page_works_and_nothing_is_lost_postgres() {
    let guide = Guide::new();
    guide.run(Step::Archive);
    guide.run(Step::Restart);
    let seen = guide.run(Step::SeeThatItCopies);
    assert!(seen.contains("failed_count      | 0") && !seen.contains("archived_count    | 0\n"), "{seen}");
    guide.add("adire");
    guide.run(Step::BaseBackup);
    guide.add("bolu");
    guide.works("psql --dbname=postgres --command='select pg_switch_wal()'");
    let moment = guide.now();
    guide.add("chike");
    guide.run(Step::CleanUp);

    // To the end: also what no copied file of the log holds yet.
    guide.run(Step::SaveTheRest);
    guide.run(Step::PutInPlace);
    guide.run(Step::StartAgain);
    guide.run(Step::Hold);
    let held = guide.tillbell(&["hold"]);
    assert!(held["held_since"].is_string(), "{held}");
    assert_eq!(guide.businesses(), ["adire", "bolu", "chike"]);
    guide.run(Step::Resume);
    guide.add("dayo");

    // To a moment, from the same base backup.
    guide.works("rm -rf \"$PGDATA.before\"");
    guide.run(Step::SaveTheRest);
    guide.run(Step::PutInPlace);
    guide.works(&guide.blocks[Step::ChooseAMoment as usize].replace(MOMENT, &moment));
    guide.run(Step::StartAgain);
    guide.run(Step::Hold);
    assert_eq!(guide.businesses(), ["adire", "bolu"]);
    guide.run(Step::Resume);
    // And it is a server that goes on, and keeps its log.
    guide.add("ebiere");
    guide.run(Step::BaseBackup);
    assert_eq!(guide.businesses(), ["adire", "bolu", "ebiere"]);
    // The page's own moment would have been refused: it is before the backup.
    assert!(PAGE.contains(MOMENT));
}
