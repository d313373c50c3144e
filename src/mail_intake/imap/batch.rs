//! Takes a batch of mails: asks their sizes, fetches them in bounded portions, hands them to `ingest`.
//!
//! While one portion is stored, the next one is fetched. Of a mail over the limit only the beginning is
//! fetched, and it is kept as unreadable. A mail that cannot be fetched becomes a suspect: it is tried alone
//! after all others, a few times with growing pauses. Then it is kept as unreadable with its UID, so that a
//! person learns of it and nothing else waits for it. Used by `catch_up`.

use std::time::Instant;

use futures_util::StreamExt;
use sha2::{Digest, Sha256};

use super::Trouble;
use super::reader::{Memory, Reader};
use super::session::{MailSummary, Session};
use super::suspects::Suspects;
use crate::alert_reader::mime::MAX_MAIL_BYTES;
use crate::alert_reader::{Intake, ReadOutcome, read};
use crate::domain::alert::AlertFacts;
use crate::domain::time::Timestamp;
use crate::mail_intake::ingest::{Arrival, Origin, ingest, source_of};
use crate::ops::alerts::take::take_alert;
use crate::ops::{
    OpError,
    mailboxes::{self, MailboxRow, TakenMail},
};

/// UIDs in one request for sizes.
pub(super) const BATCH: usize = 200;
/// Mails and bytes fetched at once; two portions are in memory at a time.
const PORTION_MAILS: usize = 50;
const PORTION_BYTES: usize = 4 * 1024 * 1024;
/// Bytes by which a mail may be larger than the server said.
const SLACK: usize = 64 * 1024;
/// Mails of one mailbox that are read, stored and decided in parallel.
const AT_ONCE: usize = 48;
/// Tries of a mail that the server refuses, or whose storing fails.
const TRIES: u32 = 3;
/// Tries of a mail during which the connection breaks, because the connection may be at fault.
const TRIES_BREAKING: u32 = 5;

/// The mailbox of a batch, and whether its mails may be known.
pub(super) struct Job<'a> {
    pub row: &'a MailboxRow,
    /// Mails may have been taken under other UIDs; those are not stored again.
    pub may_be_known: bool,
}

/// The result of a batch.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// UIDs that are to be tried again, in order.
    pub left: Vec<u32>,
    /// When the newest of the mails arrived.
    pub newest: Option<Timestamp>,
}

/// A mail that was fetched.
struct Mail {
    uid: u32,
    arrived_at: Timestamp,
    raw: Vec<u8>,
}

impl Reader {
    pub(super) async fn take_batch(
        &self,
        session: &mut Session,
        job: &Job<'_>,
        uids: &[u32],
        memory: &mut Memory,
    ) -> Result<Report, Trouble> {
        let suspects = &mut memory.suspects;
        let generation = job.row.generation;
        let heads = self.heads(session, uids, generation, suspects).await?;
        let newest = heads.iter().map(|head| head.arrived_at).max();
        // One that is gone is not our business.
        suspects.0.retain(|(of, uid), _| {
            *of == generation && (!uids.contains(uid) || heads.iter().any(|head| head.uid == *uid))
        });
        let is_suspect = |suspects: &Suspects, uid: u32| suspects.0.contains_key(&(generation, uid));
        let (large, small): (Vec<MailSummary>, Vec<MailSummary>) = heads
            .iter()
            .filter(|head| !is_suspect(suspects, head.uid))
            .partition(|head| head.size > MAX_MAIL_BYTES as u64);
        self.take_small(session, job, &small, suspects).await?;
        for head in &large {
            suspects.add((generation, head.uid), &too_large(head))?;
        }
        for head in &heads {
            if is_suspect(suspects, head.uid) {
                self.take_alone(session, job, head, suspects).await?;
            }
        }
        let left = uids.iter().copied().filter(|uid| is_suspect(suspects, *uid)).collect();
        Ok(Report { left, newest })
    }

    /// Sizes and times. If the server refuses to tell them for all, it is asked one by one.
    async fn heads(
        &self,
        session: &mut Session,
        uids: &[u32],
        generation: i64,
        suspects: &mut Suspects,
    ) -> Result<Vec<MailSummary>, Trouble> {
        match session.heads(uids).await {
            Err(Trouble::Refused(_)) => {}
            heads => return heads,
        }
        let mut all = Vec::new();
        for uid in uids {
            match session.heads(&[*uid]).await {
                Ok(one) => all.extend(one),
                Err(Trouble::Refused(why)) => {
                    suspects.add((generation, *uid), &why)?;
                    all.push(MailSummary { uid: *uid, size: 0, arrived_at: Timestamp(0) });
                }
                Err(other) => return Err(other),
            }
        }
        Ok(all)
    }

    /// Fetches mails of usual size, portion by portion, each stored while the next one comes.
    async fn take_small(
        &self,
        session: &mut Session,
        job: &Job<'_>,
        heads: &[MailSummary],
        suspects: &mut Suspects,
    ) -> Result<(), Trouble> {
        let generation = job.row.generation;
        let mut waiting = Vec::new();
        let mut rest = heads;
        while !rest.is_empty() {
            let portion;
            (portion, rest) = rest.split_at(portion_of(rest));
            let uids: Vec<u32> = portion.iter().map(|head| head.uid).collect();
            let announced: u64 = portion.iter().map(|head| head.size).sum();
            let total =
                usize::try_from(announced).unwrap_or(PORTION_BYTES).saturating_add(uids.len() * SLACK);
            let mut came = Vec::new();
            let fetching = session.bodies(&uids, MAX_MAIL_BYTES + SLACK, total, &mut came);
            let (fetched, stored) = tokio::join!(fetching, self.store(job, std::mem::take(&mut waiting)));
            stored?;
            for uid in uids.iter().filter(|uid| !came.iter().any(|(there, _)| there == *uid)) {
                // After a broken connection all that did not come are tried alone, to find the one at fault.
                let why =
                    fetched.as_ref().err().map_or("the server returned no mail".into(), Trouble::to_string);
                suspects.add((generation, *uid), &why)?;
            }
            let arrived = |uid: u32| portion.iter().find(|head| head.uid == uid).map(|head| head.arrived_at);
            waiting = came
                .into_iter()
                .map(|(uid, raw)| Mail { uid, raw, arrived_at: arrived(uid).unwrap_or(Timestamp(0)) })
                .collect();
            match fetched {
                Ok(()) | Err(Trouble::Refused(_)) => {}
                Err(broken) => {
                    self.store(job, waiting).await?;
                    return Err(broken);
                }
            }
        }
        self.store(job, waiting).await
    }

    async fn take_alone(
        &self,
        session: &mut Session,
        job: &Job<'_>,
        head: &MailSummary,
        suspects: &mut Suspects,
    ) -> Result<(), Trouble> {
        let place = (job.row.generation, head.uid);
        let Some(suspect) = suspects.0.get(&place) else { return Ok(()) };
        if suspect.due > Instant::now() {
            return Ok(());
        }
        let is_large = head.size > MAX_MAIL_BYTES as u64;
        let tries = if suspect.is_breaking { TRIES_BREAKING } else { TRIES };
        let mail = |raw| Mail { uid: head.uid, arrived_at: head.arrived_at, raw };
        if suspect.is_hopeless || suspect.tries >= 2 * TRIES_BREAKING {
            let why = format!("it cannot be fetched: {}", suspect.why);
            self.give_up(job, mail(Vec::new()), &why).await?;
            suspects.0.remove(&place);
            return Ok(());
        }
        if !is_large && suspect.tries < tries {
            let mut came = Vec::new();
            let fetched = session.bodies(&[head.uid], MAX_MAIL_BYTES + SLACK, usize::MAX, &mut came).await;
            if let Some((_, raw)) = came.pop() {
                self.store(job, vec![mail(raw)]).await?;
                suspects.0.remove(&place);
                return if is_broken(&fetched) { fetched } else { Ok(()) };
            }
            let why = fetched.err().unwrap_or_else(|| Trouble::Refused("the server returned no mail".into()));
            suspects.failed(place, &why, self.timings.retry_mail);
            return if matches!(why, Trouble::Refused(_)) { Ok(()) } else { Err(why) };
        }
        let why = if is_large { too_large(head) } else { format!("it cannot be fetched: {}", suspect.why) };
        match session.beginning(head.uid).await {
            Ok(raw) => {
                self.give_up(job, mail(raw.unwrap_or_default()), &why).await?;
                suspects.0.remove(&place);
                Ok(())
            }
            Err(trouble) => {
                let is_refused = matches!(trouble, Trouble::Refused(_));
                suspects.failed(place, &trouble, self.timings.retry_mail);
                if let Some(suspect) = suspects.0.get_mut(&place) {
                    suspect.is_hopeless = is_refused || suspect.tries >= TRIES_BREAKING;
                }
                if is_refused { Ok(()) } else { Err(trouble) }
            }
        }
    }

    /// Stores mails in parallel; the first error is returned after all were tried.
    async fn store(&self, job: &Job<'_>, mails: Vec<Mail>) -> Result<(), Trouble> {
        let mut results =
            futures_util::stream::iter(mails).map(|mail| self.store_one(job, mail)).buffer_unordered(AT_ONCE);
        let mut first = Ok(());
        while let Some(result) = results.next().await {
            first = first.and(result);
        }
        first
    }

    async fn store_one(&self, job: &Job<'_>, mail: Mail) -> Result<(), Trouble> {
        let note = self.note(job, &mail);
        if job.may_be_known && mailboxes::is_mail_known(&self.app, &note).await? {
            mailboxes::note_known(&self.app, &note).await?;
            self.count("known");
            return Ok(());
        }
        for attempt in 1..=TRIES {
            let arrival = self.arrival(&mail, &note);
            match ingest(&self.app, &self.ingestor, arrival).await {
                Ok(_) => break,
                // Stored already: by another reader, or by an attempt whose answer was lost.
                Err(_) if self.is_taken(&note).await? => break,
                Err(OpError::Fault(why)) if attempt == TRIES => {
                    tracing::error!(mailbox = self.name, uid = mail.uid, why, "a mail could not be stored");
                    return self.give_up(job, mail, &format!("it could not be stored: {why}")).await;
                }
                Err(error @ OpError::Store(_)) => return Err(error.into()),
                Err(error) if attempt == TRIES => return Err(error.into()),
                Err(_) => {}
            }
        }
        self.count("taken");
        Ok(())
    }

    async fn is_taken(&self, note: &TakenMail) -> Result<bool, Trouble> {
        let range = (note.uid, note.uid);
        Ok(!mailboxes::taken_mails(&self.app, note.mailbox_id, note.generation, range).await?.is_empty())
    }

    /// Keeps the part of a mail that was fetched as unreadable, with the reason.
    async fn give_up(&self, job: &Job<'_>, mail: Mail, why: &str) -> Result<(), Trouble> {
        let note = self.note(job, &mail);
        let arrival = self.arrival(&mail, &note);
        let (ingestor, now) = (self.ingestor.clone(), self.app.now());
        let reading = tokio::task::spawn_blocking(move || {
            let intake = Intake { now, ..Intake::default() };
            read(&mail.raw, &ingestor.banks, &intake)
        })
        .await;
        let mut reading = reading.map_err(|e| OpError::Fault(format!("the mail reader failed: {e}")))?;
        reading.outcome = ReadOutcome::Unreadable;
        reading.facts = AlertFacts::default();
        reading.why = vec![format!("mail {} of {} at {}: {why}", note.uid, self.folder, self.server.host)];
        tracing::warn!(mailbox = self.name, uid = note.uid, why, "a mail was kept as unreadable");
        match take_alert(&self.app, &self.ingestor.taken(&reading, arrival)).await {
            Err(_) if self.is_taken(&note).await? => {}
            result => drop(result?),
        }
        self.count("unreadable");
        Ok(())
    }

    fn note(&self, job: &Job<'_>, mail: &Mail) -> TakenMail {
        TakenMail {
            mailbox_id: job.row.id,
            generation: job.row.generation,
            uid: i64::from(mail.uid),
            arrived_at: mail.arrived_at,
            digest: Sha256::digest(&mail.raw).into(),
        }
    }

    fn arrival(&self, mail: &Mail, note: &TakenMail) -> Arrival {
        Arrival {
            raw: mail.raw.clone(),
            source: format!("{}{} uid {}", source_of(&self.server.host), self.folder, mail.uid),
            origin: Origin::Imap { authserv_id: self.server.authserv_id.clone() },
            in_mailbox: Some(note.clone()),
        }
    }

    fn count(&self, outcome: &'static str) {
        let labels = [("mailbox", self.name.clone()), ("outcome", outcome.to_owned())];
        metrics::counter!("tillbell_mailbox_mails_total", &labels).increment(1);
    }
}

/// How many of the next mails are fetched at once; at least one.
fn portion_of(heads: &[MailSummary]) -> usize {
    let mut bytes = 0_u64;
    let fits = |head: &&MailSummary| {
        bytes = bytes.saturating_add(head.size);
        bytes <= PORTION_BYTES as u64
    };
    heads.iter().take(PORTION_MAILS).take_while(fits).count().max(1)
}

fn too_large(head: &MailSummary) -> String {
    format!("it has {} bytes, more than {MAX_MAIL_BYTES}; only its beginning is kept", head.size)
}

fn is_broken(fetched: &Result<(), Trouble>) -> bool {
    !matches!(fetched, Ok(()) | Err(Trouble::Refused(_)))
}
