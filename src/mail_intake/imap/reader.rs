//! The reader of one folder: takes the lease, connects, reads to the end, and waits for new mails, in a loop.
//!
//! Every failure ends the connection. It is logged once, until there is a different one or reading works again.
//! The pause after it grows, and is partly random so that many readers do not return at the same moment. What
//! is read and how is in `catch_up`. Started by `mod`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::session::Session;
use super::suspects::Suspects;
use super::{Timings, Trouble, lease};
use crate::app::App;
use crate::config::ImapServer;
use crate::mail_intake::ingest::MailIngestor;
use crate::ops::mailboxes;
use crate::ops::mailboxes::{Lease, MailboxKey, MailboxRow};

/// At the end, giving the lease back must not take longer.
const RELEASE_WITHIN: Duration = Duration::from_secs(2);

pub struct Reader {
    pub(super) app: Arc<App>,
    pub(super) ingestor: MailIngestor,
    pub(super) server: ImapServer,
    pub(super) folder: String,
    /// For logs and metrics.
    pub(super) name: String,
    pub(super) timings: Timings,
    key: MailboxKey,
    /// Name of this reader among those of all nodes, for people.
    me: String,
}

/// What a reader remembers from one connection to the next.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) suspects: Suspects,
    /// The last days were compared since this reader began.
    pub(super) compared: bool,
    /// The folder was looked through since the last failure.
    went_well: bool,
    /// What was last told of a failure.
    said: Option<String>,
}

impl Reader {
    pub fn new(
        app: Arc<App>,
        ingestor: MailIngestor,
        server: ImapServer,
        folder: String,
        timings: Timings,
    ) -> Reader {
        let key = super::key(&server, &folder);
        let name = server.folder_name(&folder);
        let me = format!("process {} ({:08x})", std::process::id(), app.random.next_u64() >> 32);
        Reader { app, ingestor, server, folder, name, timings, key, me }
    }

    /// Reads until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        loop {
            let lease = tokio::select! {
                () = stop.cancelled() => return,
                lease = self.gain() => lease,
            };
            tracing::info!(mailbox = self.name, "reading this mailbox");
            tokio::select! {
                () = stop.cancelled() => {
                    // Mails under way that were not committed are read again by the next reader.
                    let release = mailboxes::release(&self.app, lease);
                    drop(tokio::time::timeout(RELEASE_WITHIN, release).await);
                    return;
                }
                () = lease::keep(&self.app, lease, &self.timings) => {}
                () = self.read(lease) => {}
            }
            tracing::info!(mailbox = self.name, "another reader may read this mailbox now");
        }
    }

    async fn gain(&self) -> Lease {
        let mut failures = 0;
        loop {
            let gained = async {
                let row = mailboxes::configure(&self.app, &self.key, &self.name).await?;
                lease::gain(&self.app, row.id, &self.me, &self.timings).await
            };
            match gained.await {
                Ok(lease) => return lease,
                Err(trouble) => {
                    failures += 1;
                    tracing::debug!(mailbox = self.name, %trouble, "no lease yet");
                    tokio::time::sleep(self.pause(&trouble, failures)).await;
                }
            }
        }
    }

    /// Connects again and again; returns when the lease is lost.
    async fn read(&self, lease: Lease) {
        let mut memory = Memory::default();
        let mut failures = 0;
        loop {
            let Err(trouble) = self.connection(lease, &mut memory).await else { continue };
            if matches!(trouble, Trouble::LeaseLost) {
                return;
            }
            if std::mem::take(&mut memory.went_well) {
                failures = 0;
            }
            failures += 1;
            let pause = self.pause(&trouble, failures);
            self.tell(lease, &mut memory, &trouble).await;
            tokio::time::sleep(pause).await;
        }
    }

    /// Logs a failure that is not the last one again, and notes it for people.
    async fn tell(&self, lease: Lease, memory: &mut Memory, trouble: &Trouble) {
        let text = trouble.to_string();
        metrics::counter!("tillbell_mailbox_failures_total", "mailbox" => self.name.clone()).increment(1);
        if memory.said.as_ref() == Some(&text) {
            tracing::debug!(mailbox = self.name, trouble = text, "the mailbox still cannot be read");
            return;
        }
        tracing::warn!(mailbox = self.name, trouble = text, "the mailbox cannot be read; retrying");
        // While the database is unavailable the note cannot be written or read.
        let _ = mailboxes::troubled(&self.app, lease, &text).await;
        memory.said = Some(text);
    }

    /// Grows with every failure in a row; up to half of it is added at random.
    fn pause(&self, trouble: &Trouble, failures: u32) -> Duration {
        let (least, most) = match trouble {
            Trouble::Login(_) => self.timings.retry_login,
            _ => self.timings.retry,
        };
        let base = least.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(16))).min(most);
        let half = u64::try_from(base.as_millis() / 2).unwrap_or(u64::MAX);
        base + Duration::from_millis(self.app.random.next_u64() % (half + 1))
    }

    /// One connection, read for as long as it holds.
    async fn connection(&self, lease: Lease, memory: &mut Memory) -> Result<(), Trouble> {
        let mut session = Session::open(&self.server, &self.timings).await?;
        loop {
            let at = self.app.now();
            let examined = session.examine(&self.folder).await.map_err(|trouble| match trouble {
                Trouble::Refused(text) => Trouble::Refused(format!("folder {}: {text}", self.folder)),
                other => other,
            })?;
            let mut row = self.row(lease).await?;
            self.settle_numbering(lease, &mut row, &examined).await?;
            let mut complete = self.catch_up(&mut session, lease, &mut row, examined.top, memory).await?;
            memory.went_well = true;
            if complete && self.compare(&mut session, lease, &mut row, memory).await? {
                continue; // numbered anew
            }
            if complete {
                self.read_all(lease, &mut row, at, memory).await?;
            }
            let poll = if session.can_idle() { self.timings.poll } else { self.timings.poll_without_idle };
            let deadline = Instant::now() + poll;
            while let Some(left) = self.time_left(deadline, complete, memory) {
                if !session.can_idle() {
                    tokio::time::sleep(left).await;
                    break;
                }
                let mut at = self.app.now();
                // The search that follows finds what is there.
                if session.idle(left.min(self.timings.idle), || at = self.app.now()).await? {
                    complete = self.catch_up(&mut session, lease, &mut row, 0, memory).await?;
                    if complete {
                        self.read_all(lease, &mut row, at, memory).await?;
                    }
                }
            }
        }
    }

    /// Time until the folder is checked next, or until the next try of a mail that failed.
    fn time_left(&self, deadline: Instant, complete: bool, memory: &Memory) -> Option<Duration> {
        let due = if complete { None } else { memory.suspects.next_due() };
        let until = due.map_or(deadline, |due| due.min(deadline));
        let left = until.saturating_duration_since(Instant::now());
        (left > Duration::ZERO).then_some(left)
    }

    /// Notes that everything up to `at` is taken.
    async fn read_all(
        &self,
        lease: Lease,
        row: &mut MailboxRow,
        at: crate::domain::time::Timestamp,
        memory: &mut Memory,
    ) -> Result<(), Trouble> {
        held(mailboxes::read_to_its_end(&self.app, lease, at).await?)?;
        row.since = None;
        if memory.said.take().is_some() {
            tracing::info!(mailbox = self.name, "the mailbox can be read again");
        }
        Ok(())
    }

    async fn row(&self, lease: Lease) -> Result<MailboxRow, Trouble> {
        match mailboxes::find(&self.app, lease.mailbox_id).await? {
            Some(row) if row.fence == lease.fence => Ok(row),
            _ => Err(Trouble::LeaseLost),
        }
    }
}

/// An answer of `ops::mailboxes`: whether the lease still held.
pub(super) fn held(held: bool) -> Result<(), Trouble> {
    if held { Ok(()) } else { Err(Trouble::LeaseLost) }
}
