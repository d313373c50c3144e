//! Finds what is new in a folder: by UID from where the last reading ended, by date if the server has
//! renumbered its mails, and by a daily comparison of the last days with what was taken.
//!
//! Mails are taken in batches, and the mark in the mailbox's row is raised after them. A mail that fails keeps
//! the mark where it is and stops nothing else: mails with higher UIDs are taken all the same, and are known by
//! their own rows. Used by `reader`; the batches are in `batch`.

use std::collections::{HashMap, HashSet};

use super::Trouble;
use super::batch::{BATCH, Job};
use super::progress::ReadingProgress;
use super::reader::{Memory, Reader, held};
use super::session::{Examined, SEARCH_SPAN, Session};
use crate::domain::time::{Span, Timestamp};
use crate::ops::mailboxes::{self, Progress};
use crate::ops::mailboxes::{Lease, MailboxRow};

/// How far a catch-up by date goes back before the newest mail that was taken, and a comparison before now.
/// SEARCH knows only whole days in the server's time zone, so it is more than one day.
const WINDOW: Span = Span::days(2);
/// Time between two comparisons.
const COMPARE_EVERY: Span = Span::days(1);

impl Reader {
    /// Begins a new generation if the server's UIDs do not continue those that were read.
    pub(super) async fn settle_numbering(
        &self,
        lease: Lease,
        row: &mut MailboxRow,
        examined: &Examined,
    ) -> Result<(), Trouble> {
        let validity = i64::from(examined.uidvalidity);
        let is_rewound = examined.uidnext.is_some_and(|next| i64::from(next) <= row.last_uid);
        match row.uidvalidity {
            Some(known) if known == validity && !is_rewound => return Ok(()),
            None => {}
            Some(known) => tracing::warn!(
                mailbox = self.name,
                uidvalidity = validity,
                before = known,
                uidnext = examined.uidnext,
                last_uid = row.last_uid,
                "the server has renumbered its mails; checking those of the last days again"
            ),
        }
        self.renumber(lease, row, validity).await
    }

    async fn renumber(&self, lease: Lease, row: &mut MailboxRow, validity: i64) -> Result<(), Trouble> {
        let since = window_of(row);
        held(mailboxes::renumber(&self.app, lease, row, validity, since).await?)?;
        *row = mailboxes::find(&self.app, row.id).await?.ok_or(Trouble::LeaseLost)?;
        Ok(())
    }

    /// Takes everything above the mark. `top` is the highest UID that is known to exist. Returns
    /// whether nothing is left.
    pub(super) async fn catch_up(
        &self,
        session: &mut Session,
        lease: Lease,
        row: &mut MailboxRow,
        top: u32,
        memory: &mut Memory,
    ) -> Result<bool, Trouble> {
        let mut shown = ReadingProgress::new(&self.name);
        let mut stuck: Option<u32> = None;
        let mut low = next_uid(row.last_uid);
        while let Some(first) = low {
            let last = first.saturating_add(SEARCH_SPAN - 1);
            let found = session.search((first, last), row.since).await?;
            let taken =
                mailboxes::taken_mails(&self.app, row.id, row.generation, (first.into(), last.into()))
                    .await?;
            let taken: HashSet<i64> = taken.into_iter().map(|(uid, _)| uid).collect();
            let new: Vec<u32> =
                found.iter().copied().filter(|uid| !taken.contains(&i64::from(*uid))).collect();
            shown.found(new.len());
            let mut left = new.len();
            for uids in new.chunks(BATCH) {
                let job = Job { row: &*row, may_be_known: row.since.is_some() };
                let report = self.take_batch(session, &job, uids, memory).await?;
                left -= uids.len();
                stuck = stuck.or(report.left.first().copied());
                let reached = match stuck {
                    Some(uid) => i64::from(uid) - 1,
                    None => uids.last().map_or(row.last_uid, |uid| i64::from(*uid)),
                };
                let behind = left + report.left.len();
                self.move_on(lease, row, reached, behind, report.newest).await?;
                shown.took(uids.len() - report.left.len());
            }
            // In a catch-up by date, what lies before the date is done with. Otherwise only what was
            // seen is: a server may show a mail later than one with a higher number.
            let end = if row.since.is_some() || last < top { top.min(last) } else { 0 };
            let reached = found.last().copied().unwrap_or(0).max(end);
            if stuck.is_none() && i64::from(reached) > row.last_uid {
                self.move_on(lease, row, reached.into(), 0, None).await?;
            }
            low = if last < top { last.checked_add(1) } else { None };
        }
        shown.end();
        Ok(stuck.is_none())
    }

    async fn move_on(
        &self,
        lease: Lease,
        row: &mut MailboxRow,
        last_uid: i64,
        behind: usize,
        last_mail: Option<Timestamp>,
    ) -> Result<(), Trouble> {
        let last_uid = last_uid.max(row.last_uid);
        let to = Progress { generation: row.generation, last_uid, behind, last_mail };
        held(mailboxes::move_on(&self.app, lease, to).await?)?;
        row.last_uid = last_uid;
        Ok(())
    }

    /// Once a day, and when a reader begins: mails of the last days that were never taken although
    /// their numbers lie below the mark are taken, and a number that now stands for another mail
    /// tells that the server counted back. Answers whether the mails are numbered anew.
    pub(super) async fn compare(
        &self,
        session: &mut Session,
        lease: Lease,
        row: &mut MailboxRow,
        memory: &mut Memory,
    ) -> Result<bool, Trouble> {
        let now = self.app.now();
        let is_first = row.compared_at == Timestamp(0);
        if !is_first && memory.compared && now.since(row.compared_at) < COMPARE_EVERY {
            return Ok(false);
        }
        let mut low = if is_first { None } else { next_uid(0) };
        while let Some(first) = low.filter(|first| i64::from(*first) <= row.last_uid) {
            let last = first.saturating_add(SEARCH_SPAN - 1);
            let end = u32::try_from(row.last_uid).unwrap_or(u32::MAX).min(last);
            let found = session.search((first, end), Some(now - WINDOW)).await?;
            if let (Some(least), Some(most)) = (found.first(), found.last()) {
                let range = (i64::from(*least), i64::from(*most));
                let taken = mailboxes::taken_mails(&self.app, row.id, row.generation, range).await?;
                let taken: HashMap<i64, Timestamp> = taken.into_iter().collect();
                if self.is_counted_back(session, &found, &taken).await? {
                    let known = row.uidvalidity.unwrap_or_default();
                    self.renumber(lease, row, known).await?;
                    return Ok(true);
                }
                let missed: Vec<u32> =
                    found.into_iter().filter(|uid| !taken.contains_key(&i64::from(*uid))).collect();
                for uids in missed.chunks(BATCH) {
                    tracing::info!(mailbox = self.name, mails = uids.len(), "storing mails that were missed");
                    let job = Job { row: &*row, may_be_known: true };
                    self.take_batch(session, &job, uids, memory).await?;
                }
            }
            low = last.checked_add(1);
        }
        held(mailboxes::compared(&self.app, lease).await?)?;
        row.compared_at = now;
        memory.compared = true;
        Ok(false)
    }

    /// Whether a mail arrived at another time than the one that was taken under its number.
    async fn is_counted_back(
        &self,
        session: &mut Session,
        found: &[u32],
        taken: &HashMap<i64, Timestamp>,
    ) -> Result<bool, Trouble> {
        let known: Vec<u32> =
            found.iter().copied().filter(|uid| taken.contains_key(&i64::from(*uid))).collect();
        for uids in known.chunks(BATCH) {
            // If the server does not answer for one of them, they are compared another day.
            let heads = match session.heads(uids).await {
                Err(Trouble::Refused(_)) => continue,
                heads => heads?,
            };
            for head in heads {
                // 0 means that the server gave no time of arrival then.
                let known = taken.get(&i64::from(head.uid)).filter(|at| **at != Timestamp(0));
                if known.is_some_and(|at| *at != head.arrived_at) {
                    tracing::warn!(
                        mailbox = self.name,
                        uid = head.uid,
                        "the server has reused the number of another mail; checking those of the last days \
                         again"
                    );
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// From when on mails are looked at again. A time in the future, which a mail may well claim, must
/// not hide mails; a mailbox that was never read to its end is read from its beginning.
fn window_of(row: &MailboxRow) -> Option<Timestamp> {
    if row.since.is_some() || row.last_read_at == Timestamp(0) {
        return row.since;
    }
    let newest = row.last_mail.unwrap_or(row.last_read_at).min(row.last_read_at);
    Some(Timestamp((newest - WINDOW).0.max(0)))
}

fn next_uid(after: i64) -> Option<u32> {
    u32::try_from(after + 1).ok()
}
