//! The real binary on both databases: what it prints, how it ends, what it refuses.
//!
//! Each test runs `tillbell` as a person or a script would, in a folder of its own, with the
//! database of the test. Money is checked in the printed text, because a JSON reader would
//! turn `50.00` into `50.0` and hide the difference.

mod accounts;
mod afterwards;
mod alarms;
mod alert_search;
mod backups;
mod demo;
mod files;
mod first_payment;
mod first_week;
mod hints;
mod installed;
mod listen;
mod lists;
mod merchants;
mod money;
mod nowhere;
mod operators;
mod payments;
mod payouts;
mod person;
mod postgres_backups;
mod proofs;
mod quarantine;
mod rotation;
mod tables;
mod terminal;
mod tools;
mod trying;
mod webhooks;
mod websites;
mod words;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tillbell::app::App;
use tillbell::config::Config;
use tillbell::store::StoreOptions;

use crate::harness::databases::TestDatabase;

/// One database and a folder to work in.
pub struct Desk<'a> {
    database: &'a TestDatabase,
    folder: tempfile::TempDir,
    dev: bool,
    /// Name server that the commands ask.
    pub dns: Option<SocketAddr>,
}

/// What a command works with, for a database and the folder of its key.
pub async fn open_app(database: &TestDatabase, folder: &Path) -> App {
    let environment = [
        ("TILLBELL_DATABASE__URL".to_owned(), database.url().to_owned()),
        ("TILLBELL_SECRET__KEY_FILE".to_owned(), folder.join("test.key").display().to_string()),
    ];
    let config = Config::load("", environment.into_iter()).unwrap();
    let app = App::open(config, &StoreOptions::command(database.url())).await.unwrap();
    app.prepare().await.unwrap();
    app
}

impl<'a> Desk<'a> {
    /// With the database made ready, as `migrate` does it.
    pub fn new(database: &'a TestDatabase) -> Desk<'a> {
        let desk = Desk::bare(database);
        desk.text(&["migrate"]);
        desk
    }

    /// With nothing done yet.
    pub fn bare(database: &'a TestDatabase) -> Desk<'a> {
        Desk { database, folder: tempfile::tempdir().unwrap(), dev: false, dns: None }
    }

    pub fn dev(database: &'a TestDatabase) -> Desk<'a> {
        Desk { dev: true, ..Desk::new(database) }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The program's own parts over its database and key.
    pub async fn app(&self) -> App {
        open_app(self.database, self.path()).await
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillbell"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("TILLBELL_DATABASE__URL", self.database.url())
            .env("TILLBELL_SECRET__KEY_FILE", self.path().join("test.key"))
            .env("USER", "ada")
            .stdin(Stdio::null());
        if self.dev {
            command.env("TILLBELL_SERVER__DEV", "true");
        }
        if let Some(dns) = self.dns {
            command.env("TILLBELL_MAIL__DNS", dns.to_string());
        }
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("start tillbell")
    }

    /// What a command that succeeds prints, without the line's end.
    pub fn text(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{args:?}: {err}");
        out.trim_end_matches('\n').to_owned()
    }

    /// The one JSON line of a command that succeeds.
    pub fn json_text(&self, args: &[&str]) -> String {
        let text = self.text(&[&["--json"], args].concat());
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    }

    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.json_text(args)).unwrap()
    }

    /// What a command says that is refused: one line, and one for each obstacle that may be overridden.
    pub fn refused(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {err}");
        assert!(output.stdout.is_empty(), "{args:?} printed although it was refused");
        // What speaks against an approval or a reversal has a line each, before the one that says how to insist.
        let before = err.lines().count() - 1;
        let obstacles = err.lines().skip(1).filter(|line| line.starts_with("- ")).count();
        assert!(before == 0 || before == obstacles + 1, "{args:?}: {err}");
        err.trim_end().to_owned()
    }

    /// A business with this name; answers its id.
    pub fn business(&self, name: &str) -> String {
        let added = self.json(&["business", "add", "--name", name, "--email", "till@shop.example"]);
        added["id"].as_i64().unwrap().to_string()
    }

    /// A receiving account of the pool.
    pub fn account(&self, number: &str) {
        self.json(&["account", "add", "--number", number, "--name", "TILL AND BELL LTD", "--bank", "GTBank"]);
    }
}

/// Names of the fields, in the order they were printed.
pub fn fields(json_text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = json_text;
    // Enough for flat objects whose texts hold no `":`.
    while let Some(at) = rest.find("\":") {
        let start = rest[..at].rfind('"').unwrap();
        names.push(rest[start + 1..at].to_owned());
        rest = &rest[at + 2..];
    }
    names
}
