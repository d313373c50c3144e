//! What an operator meets day by day: who did what, what waits, what a command answers and refuses.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use tillbell::ops::mailboxes;
use tillbell::store::tables::mailboxes::MailboxKey;

use super::Desk;
use super::money::{furnish, now, pay};
use crate::harness::mails::Alert;

const ACCOUNT: &str = "0123456781";

fn write(desk: &Desk<'_>, file: &str, mail: &str) {
    std::fs::write(desk.path().join(file), mail).unwrap();
}

/// Takes a mail in; answers its result.
fn trusted(desk: &Desk<'_>, file: &str, mail: &str) -> serde_json::Value {
    write(desk, file, mail);
    desk.json(&["alert", "ingest", file, "--trusted"])["results"][0].clone()
}

/// Acts as `operator is left out: act, about, reason`, the newest first.
fn acts(desk: &Desk<'_>, args: &[&str]) -> Vec<String> {
    let told = desk.json(&[&["activity"], args].concat());
    let acts = told["acts"].as_array().unwrap().iter();
    acts.map(|act| {
        let text = |key: &str| act[key].as_str().unwrap_or("-").to_owned();
        format!("{}, {}, {}", text("act"), text("about"), text("reason"))
    })
    .collect()
}

/// A bank's mail in a layout that no template has.
fn new_layout(words: &str) -> String {
    format!("From: GeNS@gtbank.com\r\nSubject: Your account\r\n\r\n{words}\r\n")
}

on_both! {
    async fn a_level_that_is_none_is_refused(db: TestDatabase) {
        let desk = Desk::new(&db);
        for command in [&["account", "list"][..], &["serve"]] {
            for level in ["verbose", "bogus", "info,tillbell=loud"] {
                let output = desk.command(command).env("TILLBELL_LOG", level).output().unwrap();
                let told = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(1), "{command:?} {level}");
                assert!(
                    told.contains("TILLBELL_LOG") && told.contains("error, warn, info, debug, trace, off"), "{told}"
                );
            }
        }
        for level in ["warning", "WARN", "info,tillbell::store=warning", "", "off"] {
            let output = desk.command(&["account", "list"]).env("TILLBELL_LOG", level).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{level}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
