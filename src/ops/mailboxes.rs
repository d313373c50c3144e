//! How far mailboxes were read: registering them, the lease of their one reader, moving on, alarms.
//!
//! The reader itself is in `mail_intake::imap`; here is what it may write. A mail is noted as taken in the
//! Unit of its alert and not here. Every other change names the fence of the lease, and answers
//! whether the lease still held: `false` means that another reader took over, and to stop.

use crate::app::App;
use crate::config::ImapServer;
use crate::domain::payment::{Kind, Payment, Status};
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::store::tables::acts;
use crate::store::tables::mailboxes;
pub use crate::store::tables::mailboxes::{Lease, MailboxKey, MailboxRow, TakenMail};
use crate::store::{IdKind, Step};

/// Mailboxes of one installation.
pub const MAILBOXES_MAX: usize = 1_000;
/// A mailbox counts as configured this long after a running service last named it. Longer than any
/// stop of the whole installation should last; one that was taken out of the configuration holds
/// expired payments no longer than this, or until `mailbox forget`.
pub const CONFIGURED_FOR: Span = Span::days(7);
/// One that was never read counts this long: longer than a running service takes to name its mailboxes again. Most
/// often there was a slip in its settings, which was corrected since.
const NEVER_READ_FOR: Span = Span::hours(2);
/// Taken mails are known this long, as long as the mails themselves are kept.
pub const TAKEN_KEPT: Span = Span::days(90);

/// Notes that this service reads the mailbox; makes its row at first.
pub async fn configure(app: &App, key: &MailboxKey, name: &str) -> Result<MailboxRow, OpError> {
    let now = app.now();
    if app.store.mailbox_by_key(key).await?.is_none() {
        let id = app.store.id(IdKind::Mailbox).await?;
        let unit = app.store.unit(id).await?.step(mailboxes::add(id, key, name, now));
        let _ = app.store.apply(unit).await?;
    }
    let lost = || OpError::Fault(format!("the mailbox {name} has no row"));
    let row = app.store.mailbox_by_key(key).await?.ok_or_else(lost)?;
    let unit = app.store.unit(row.id).await?.step(mailboxes::configured(row.id, name, now));
    let _ = app.store.apply(unit).await?;
    app.store.mailbox(row.id).await?.ok_or_else(lost)
}

/// Takes the lease if nobody claimed it, and its reader did not beat, since `row` was read.
pub async fn claim(app: &App, row: &MailboxRow, reader: &str) -> Result<Option<Lease>, OpError> {
    let unit = app.store.unit(row.id).await?.step(mailboxes::claim(row, reader));
    let done = app.store.apply(unit).await?.is_done();
    Ok(done.then_some(Lease { mailbox_id: row.id, fence: row.fence + 1 }))
}

/// Shows that the reader lives.
pub async fn beat(app: &App, lease: Lease) -> Result<bool, OpError> {
    change(app, lease, mailboxes::beat(lease)).await
}

/// Gives the lease back at the end of a service.
pub async fn release(app: &App, lease: Lease) -> Result<bool, OpError> {
    change(app, lease, mailboxes::release(lease)).await
}

/// Begins a new generation: the server numbers its mails anew. Mails that arrived from `since` on
/// are looked at again; `None` looks at all of them.
pub async fn renumber(
    app: &App,
    lease: Lease,
    row: &MailboxRow,
    uidvalidity: i64,
    since: Option<Timestamp>,
) -> Result<bool, OpError> {
    change(app, lease, mailboxes::renumber(lease, row.generation, uidvalidity, since)).await
}

/// How far a reader came.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub generation: i64,
    /// Every mail up to it is taken.
    pub last_uid: i64,
    /// Mails left.
    pub behind: usize,
    /// When the newest of the mails arrived.
    pub last_mail: Option<Timestamp>,
}

pub async fn move_on(app: &App, lease: Lease, to: Progress) -> Result<bool, OpError> {
    let behind = i64::try_from(to.behind).unwrap_or(i64::MAX);
    change(app, lease, mailboxes::moved(lease, to.generation, to.last_uid, behind, to.last_mail)).await
}

/// Everything that was in the mailbox at `at` is taken.
pub async fn read_to_its_end(app: &App, lease: Lease, at: Timestamp) -> Result<bool, OpError> {
    change(app, lease, mailboxes::read_to_its_end(lease, at)).await
}

/// The mails of the last days were compared with the taken ones.
pub async fn compared(app: &App, lease: Lease) -> Result<bool, OpError> {
    change(app, lease, mailboxes::compared(lease, app.now())).await
}

/// Notes for people why the mailbox is not read.
pub async fn troubled(app: &App, lease: Lease, why: &str) -> Result<bool, OpError> {
    change(app, lease, mailboxes::troubled(lease, why)).await
}

async fn change(app: &App, lease: Lease, step: Step) -> Result<bool, OpError> {
    let unit = app.store.unit(lease.mailbox_id).await?.step(step);
    Ok(app.store.apply(unit).await?.is_done())
}

/// Notes mails as taken without an alert: they are known from an earlier generation. One that was
/// noted at this moment by another reader is as good.
pub async fn note_known(app: &App, mail: &TakenMail) -> Result<(), OpError> {
    let unit = app.store.unit(mail.mailbox_id).await?.step(mailboxes::take(mail, app.now()));
    let _ = app.store.apply(unit).await?;
    Ok(())
}

/// Whether it is this caller who raises the alarm: of several nodes one does, once per `every`.
pub async fn may_alarm(app: &App, mailbox_id: i64, every: Span) -> Result<bool, OpError> {
    let now = app.now();
    let step = mailboxes::alarmed(mailbox_id, now, now - every);
    let unit = app.store.unit(mailbox_id).await?.step(step);
    Ok(app.store.apply(unit).await?.is_done())
}

pub async fn find(app: &App, id: i64) -> Result<Option<MailboxRow>, OpError> {
    Ok(app.store.mailbox(id).await?)
}

/// Which mails of these numbers (`range` holds both its ends) are taken, each with when it arrived.
pub async fn taken_mails(
    app: &App,
    mailbox_id: i64,
    generation: i64,
    range: (i64, i64),
) -> Result<Vec<(i64, Timestamp)>, OpError> {
    Ok(app.store.taken_mails(mailbox_id, generation, range).await?)
}

/// Whether a mail with these bytes was taken in an earlier generation of the mailbox.
pub async fn is_mail_known(app: &App, mail: &TakenMail) -> Result<bool, OpError> {
    Ok(app.store.is_mail_known(mail.mailbox_id, &mail.digest, mail.generation).await?)
}

/// The step that notes a mail as taken, for the Unit of its alert.
pub fn take(mail: &TakenMail, now: Timestamp) -> Step {
    mailboxes::take(mail, now)
}

pub async fn list(app: &App) -> Result<Vec<MailboxRow>, OpError> {
    Ok(app.store.mailboxes(MAILBOXES_MAX).await?)
}

/// How a mailbox stands.
#[derive(Clone, Debug)]
pub struct MailboxStanding {
    pub row: MailboxRow,
    /// It is in this node's configuration.
    pub is_configured: bool,
}

impl MailboxStanding {
    /// Of a mailbox that the configuration has, of one that it has no more, and of one for which nothing waits.
    pub fn status(&self) -> &'static str {
        match self.row.configured_at {
            _ if self.is_configured => "configured",
            Timestamp(0) => "forgotten",
            _ => "removed",
        }
    }

    /// Configured, and in trouble or not read to its end for longer than `mail.alarm_after`.
    pub fn is_silent(&self, app: &App) -> bool {
        let since = app.now() - app.config.mail.alarm_after;
        self.is_configured && (self.row.trouble.is_some() || self.row.last_read_at < since)
    }
}

/// All mailboxes with how they stand.
pub async fn standings(app: &App) -> Result<Vec<MailboxStanding>, OpError> {
    let is_configured = |row: &MailboxRow| app.config.mail.imap.iter().any(|server| is_of(server, row));
    let stand = |row: MailboxRow| MailboxStanding { is_configured: is_configured(&row), row };
    Ok(list(app).await?.into_iter().map(stand).collect())
}

/// Why a mailbox is not forgotten. The texts are for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForgetRefused {
    #[error("there is no mailbox {0}")]
    Unknown(i64),
    #[error("mailbox {0} ({1}) is in the configuration; remove it there and restart the service first")]
    Configured(i64, String),
}

/// Forgets a mailbox that the configuration does not have any more.
pub async fn forget_removed(
    app: &App,
    operator: &str,
    id: i64,
) -> Result<Result<(), ForgetRefused>, OpError> {
    let row = find(app, id).await?;
    if let Some(row) = row.filter(|row| app.config.mail.imap.iter().any(|server| is_of(server, row))) {
        return Ok(Err(ForgetRefused::Configured(id, row.name)));
    }
    Ok(if forget(app, operator, id).await? { Ok(()) } else { Err(ForgetRefused::Unknown(id)) })
}

/// Lets nothing wait for a mailbox that is read no more; `false` if there is no such mailbox.
pub async fn forget(app: &App, operator: &str, id: i64) -> Result<bool, OpError> {
    let act = app.store.id(IdKind::Act).await?;
    let noted = acts::record(act, operator, "mailbox forget", &format!("mailbox {id}"), "", app.now());
    let unit = app.store.unit(id).await?.step(mailboxes::forgotten(id)).step(noted);
    Ok(app.store.apply(unit).await?.is_done())
}

/// Whether a mailbox is a folder of this server's in the configuration.
pub fn is_of(server: &ImapServer, row: &MailboxRow) -> bool {
    row.host == server.host
        && row.port == i64::from(server.port)
        && row.login == server.user
        && server.folders.contains(&row.folder)
}

/// Of the mailboxes that are waited for, the one that was read to its end the longest time ago; `None` without
/// mailboxes. All that the others held until then is taken.
pub async fn slowest(app: &App) -> Result<Option<MailboxRow>, OpError> {
    let now = app.now();
    let is_waited_for = |row: &MailboxRow| {
        let was_read = row.last_read_at != Timestamp(0);
        let is_ours = || app.config.mail.imap.iter().any(|server| is_of(server, row));
        row.configured_at >= now - CONFIGURED_FOR
            && (was_read || is_ours() || row.configured_at >= now - NEVER_READ_FOR)
    };
    let rows = list(app).await?.into_iter().filter(is_waited_for);
    Ok(rows.min_by_key(|row| (row.last_read_at, row.id)))
}

/// The mailbox for which an open payment is kept although its late window is over.
pub async fn kept_open_by(app: &App, payment: &Payment) -> Result<Option<MailboxRow>, OpError> {
    let is_over = payment.status == Status::Pending
        && payment.kind != Kind::Wallet
        && payment.approvable_until < app.now();
    if !is_over {
        return Ok(None);
    }
    Ok(slowest(app).await?.filter(|row| row.last_read_at <= payment.approvable_until))
}
