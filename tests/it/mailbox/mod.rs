//! Reading mailboxes over IMAP: every mail is taken once, whatever server and network do.
//!
//! `real` runs against dovecot, `faults` and `cuts` against a server that misbehaves as told,
//! `leases` is about several nodes, `killed` about the program killed under way, `watched` about
//! alarms and what waits for a mailbox, `words` about the verdict of a provider. Here is what they share.

mod cuts;
mod faults;
mod killed;
mod leases;
mod real;
mod watched;
mod words;

use std::sync::Arc;
use std::time::Duration;

use tillbell::app::App;
use tillbell::config::{Config, ImapServer};
use tillbell::domain::alert::{AlertRow, AlertStatus};
use tillbell::mail_intake::imap::{self, Timings};
use tillbell::mail_intake::ingest::MailIngestor;
use tillbell::store::tables::mailboxes::MailboxRow;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::harness::app::{ACCOUNT, TestApp, at};
use crate::harness::mails::Alert;
pub use crate::harness::until::until;

/// Long enough for a busy machine; reached only by a test that fails.
const ENOUGH: Duration = Duration::from_secs(60);

/// Everything at a pace at which nobody waits.
pub fn fast() -> Timings {
    let ms = Duration::from_millis;
    Timings {
        connect: ms(10_000),
        silence: ms(10_000),
        command: ms(30_000),
        idle: ms(2_000),
        poll: ms(5_000),
        poll_without_idle: ms(30),
        retry: (ms(5), ms(50)),
        retry_login: (ms(20), ms(100)),
        retry_mail: ms(5),
        beat: ms(50),
        take_over: ms(500),
        watch: ms(20),
    }
}

/// A mail about `naira` that was paid just now.
pub fn mail(naira: i64) -> String {
    Alert::credit(ACCOUNT, naira, "Halima Garba", at()).text()
}

/// The first mailbox of a configuration; a password is added where it names no secret.
pub fn server(text: &str) -> ImapServer {
    let secret =
        if text.contains("password") || text.contains("token") { "" } else { "password = \"secret\"\n" };
    let config = Config::load(&format!("{text}{secret}"), std::iter::empty()).unwrap();
    config.mail.imap[0].clone()
}

/// A reader under way; dropped, it ends as a process that dies.
pub struct Reading {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Reading {
    pub fn start(app: &Arc<App>, t: &TestApp, server: &ImapServer, timings: Timings) -> Reading {
        let stop = CancellationToken::new();
        let room = MailIngestor::new(&app.config, t.banks.clone());
        let task = imap::start_one(app, &room, server, &server.folders[0], &stop, timings);
        Reading { stop, task }
    }

    /// Ends it in order.
    pub async fn end(mut self) {
        self.stop.cancel();
        tokio::time::timeout(ENOUGH, &mut self.task).await.expect("the reader ends").unwrap();
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Alerts that came from mailboxes, oldest first.
pub async fn alerts(app: &App) -> Vec<AlertRow> {
    let mut all = app.store.list_alerts(None, 100_000).await.unwrap();
    all.retain(|alert| alert.source.starts_with("imap "));
    all.reverse();
    all
}

pub async fn until_alerts(app: &App, count: usize) -> Vec<AlertRow> {
    until(&format!("{count} alerts"), || async {
        let all = alerts(app).await;
        assert!(all.len() <= count, "{} alerts where {count} mails are", all.len());
        (all.len() == count).then_some(all)
    })
    .await
}

/// The row of a mailbox once it was read to its end after `uid`.
pub async fn until_read(app: &App, uid: i64) -> MailboxRow {
    until(&format!("everything up to {uid} is read"), || async {
        let rows = app.store.mailboxes(100).await.unwrap();
        rows.into_iter().find(|row| row.last_uid >= uid && row.last_read_at.0 > 0 && row.behind == 0)
    })
    .await
}

/// Every Message-ID is there once, and nothing is a duplicate.
pub fn assert_once(alerts: &[AlertRow]) {
    let mut ids: Vec<_> = alerts.iter().map(|alert| alert.message_id.clone().unwrap()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), alerts.len(), "a mail was stored twice");
    assert!(alerts.iter().all(|alert| alert.status != AlertStatus::Duplicate));
}
