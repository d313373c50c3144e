//! The real program killed while it reads a mailbox: afterwards every mail is there, once.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tillbell::store::{Store, StoreOptions};

use super::{ENOUGH, mail};
use crate::harness::databases::TestDatabase;
use crate::harness::dovecot::Dovecot;

const MAILS: usize = 300;

struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(db: &TestDatabase, folder: &std::path::Path) -> Service {
    let child = Command::new(env!("CARGO_BIN_EXE_tillbell"))
        .args(["serve", "--role", "mail,work", "--config"])
        .arg(folder.join("till.toml"))
        .env("TILLBELL_DATABASE__URL", db.url())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Service(child)
}

async fn count(store: &Store) -> usize {
    let all = store.list_alerts(None, 100_000).await.unwrap();
    all.iter().filter(|alert| alert.source.starts_with("imap ")).count()
}

on_both! {
    async fn a_kill_loses_nothing_and_repeats_nothing(db: TestDatabase) {
        let dovecot = Dovecot::start().await;
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n[secret]\nkey_file = {:?}\n{}",
            folder.path().join("test.key"),
            dovecot.configured("ada", "tls", "INBOX")
        );
        std::fs::write(folder.path().join("till.toml"), text).unwrap();
        for naira in 1..=MAILS {
            dovecot.deliver("ada", &mail(naira as i64));
        }
        let store = Store::open(&StoreOptions::command(db.url())).await.unwrap();
        let mut kills = 0;
        let deadline = tokio::time::Instant::now() + ENOUGH;
        let mut service = Some(serve(&db, folder.path()));
        let mut next_kill = 20;
        loop {
            let there = count(&store).await;
            assert!(there <= MAILS, "{there} alerts of {MAILS} mails");
            if there >= next_kill && kills < 2 {
                drop(service.take()); // SIGKILL
                kills += 1;
                next_kill = count(&store).await + 50;
                service = Some(serve(&db, folder.path()));
            }
            let rows = store.mailboxes(1).await.unwrap();
            if there == MAILS && rows.first().is_some_and(|row| row.last_uid >= MAILS as i64) {
                break;
            }
            assert!(tokio::time::Instant::now() < deadline + ENOUGH, "only {there} of {MAILS} after {kills} kills");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(kills >= 1, "it was never killed");
        let all = store.list_alerts(None, 100_000).await.unwrap();
        super::assert_once(&all);
        drop(service);
    }
}
