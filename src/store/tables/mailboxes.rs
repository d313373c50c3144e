//! Mailboxes that are read over IMAP: how far each was read, who reads it, and its taken mails.
//!
//! A taken mail is a row of `mailbox_mails`, written in the Unit of its alert ([`take`]); its key is
//! what keeps a mail from being stored twice. The row of the mailbox itself is moved afterwards, by
//! the one reader that holds its lease: every change of it names the reader's fence. A lease has no
//! times: its holder raises `beat`, and who sees no beat for long enough claims it anew.
//! Used by `ops::mailboxes`.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

macro_rules! columns {
    () => {
        "id, host, port, login, folder, name, generation, uidvalidity, last_uid, since_at, last_mail_at, \
         compared_at, fence, beat, reader, configured_at, last_read_at, behind, trouble, alarmed_at, created_at"
    };
}

/// Marks forgotten in one step, which the statement holds as a literal.
pub const FORGET_BATCH: usize = 1_000;

statements! {
    ADD: query {
        "insert into mailboxes (id, host, port, login, folder, name, generation, last_uid, compared_at, fence, \
         beat, configured_at, last_read_at, behind, alarmed_at, created_at) \
         values ($1, $2, $3, $4, $5, $6, 1, 0, 0, 0, 0, $7, 0, 0, 0, $7) \
         on conflict (host, port, login, folder) do nothing"
    }
    TAKE: insert(mailbox_mails) {
        mailbox_id: Int, generation: Int, uid: Int, arrived_at: Int, digest: Bytes, taken_at: Int
    }
    CONFIGURED: query { "update mailboxes set name = $2, configured_at = $3 where id = $1" }
    FORGOTTEN: query { "update mailboxes set configured_at = 0 where id = $1" }
    CLAIM: query {
        "update mailboxes set fence = fence + 1, beat = beat + 1, reader = $4 \
         where id = $1 and fence = $2 and beat = $3"
    }
    BEAT: query { "update mailboxes set beat = beat + 1 where id = $1 and fence = $2" }
    RELEASE: query { "update mailboxes set beat = beat + 1, reader = null where id = $1 and fence = $2" }
    RENUMBER: query {
        "update mailboxes set generation = generation + 1, uidvalidity = $4, last_uid = 0, since_at = $5 \
         where id = $1 and fence = $2 and generation = $3"
    }
    MOVE: query {
        "update mailboxes set last_uid = $4, behind = $5, \
         last_mail_at = case when last_mail_at > $6 then last_mail_at else $6 end \
         where id = $1 and fence = $2 and generation = $3 and last_uid <= $4"
    }
    READ: query {
        "update mailboxes set last_read_at = $3, behind = 0, since_at = null, trouble = null \
         where id = $1 and fence = $2"
    }
    COMPARED: query { "update mailboxes set compared_at = $3 where id = $1 and fence = $2" }
    TROUBLED: query { "update mailboxes set trouble = $3 where id = $1 and fence = $2" }
    ALARMED: query { "update mailboxes set alarmed_at = $2 where id = $1 and alarmed_at <= $3" }
    BY_ID: query { concat!("select ", columns!(), " from mailboxes where id = $1") }
    BY_KEY: query {
        concat!("select ", columns!(), " from mailboxes where host = $1 and port = $2 and login = $3 and folder = $4")
    }
    LIST: query { concat!("select ", columns!(), " from mailboxes order by id limit $1") }
    TAKEN: query {
        "select uid, arrived_at from mailbox_mails where mailbox_id = $1 and generation = $2 \
         and uid >= $3 and uid <= $4 order by uid"
    }
    KNOWN: query {
        "select count(*) from mailbox_mails where mailbox_id = $1 and digest = $2 and generation < $3"
    }
    FORGET_TAKEN: query {
        "delete from mailbox_mails where taken_at < $1 and (mailbox_id, generation, uid) in \
         (select mailbox_id, generation, uid from mailbox_mails where taken_at < $1 order by taken_at limit 1000) returning uid"
    }
}

/// One folder of a login at a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailboxRow {
    pub id: i64,
    pub host: String,
    pub port: i64,
    pub login: String,
    pub folder: String,
    /// What people call it, in logs and metrics.
    pub name: String,
    /// Raised whenever the server numbers its mails anew.
    pub generation: i64,
    pub uidvalidity: Option<i64>,
    /// Every mail up to it was taken.
    pub last_uid: i64,
    /// A catch-up by date is under way, over mails from this time on.
    pub since: Option<Timestamp>,
    /// When the newest taken mail arrived at the server.
    pub last_mail: Option<Timestamp>,
    /// When the mails of the last days were last compared with the taken ones.
    pub compared_at: Timestamp,
    pub fence: i64,
    pub beat: i64,
    /// Who holds the lease, for people.
    pub reader: Option<String>,
    /// Last named in the configuration of a running service.
    pub configured_at: Timestamp,
    /// Last read to its end; 0 for never.
    pub last_read_at: Timestamp,
    /// Mails that were still to be read when it was last looked at.
    pub behind: i64,
    /// Why it is not read at present.
    pub trouble: Option<String>,
    pub alarmed_at: Timestamp,
    pub created_at: Timestamp,
}

/// What names a mailbox for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailboxKey {
    pub host: String,
    pub port: u16,
    pub login: String,
    pub folder: String,
}

/// One mail of a mailbox, as it is noted in the Unit that stores its alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenMail {
    pub mailbox_id: i64,
    pub generation: i64,
    pub uid: i64,
    /// When it arrived at the server (INTERNALDATE).
    pub arrived_at: Timestamp,
    /// SHA-256 of its bytes.
    pub digest: [u8; 32],
}

/// A reader's right to change the row of a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub mailbox_id: i64,
    pub fence: i64,
}

/// Notes that the mail was taken; the Unit is refused if it was taken before.
pub fn take(mail: &TakenMail, now: Timestamp) -> Step {
    Step::insert(TAKE {
        mailbox_id: mail.mailbox_id.into(),
        generation: mail.generation.into(),
        uid: mail.uid.into(),
        arrived_at: mail.arrived_at.into(),
        digest: mail.digest.to_vec().into(),
        taken_at: now.into(),
    })
}

/// A mailbox seen for the first time; nothing happens where it is known.
pub fn add(id: i64, key: &MailboxKey, name: &str, now: Timestamp) -> Step {
    Step::any(
        &ADD,
        vec![
            id.into(),
            (&key.host).into(),
            i64::from(key.port).into(),
            (&key.login).into(),
            (&key.folder).into(),
            name.into(),
            now.into(),
        ],
    )
}

pub fn configured(id: i64, name: &str, now: Timestamp) -> Step {
    Step::one(&CONFIGURED, vec![id.into(), name.into(), now.into()])
}

/// From now on nothing waits for this mailbox, until a service that has it configured runs again.
pub fn forgotten(id: i64) -> Step {
    Step::one(&FORGOTTEN, vec![id.into()])
}

/// Guarded: nobody claimed it and its reader did not beat since the row was read.
pub fn claim(row: &MailboxRow, reader: &str) -> Step {
    Step::one(&CLAIM, vec![row.id.into(), row.fence.into(), row.beat.into(), reader.into()])
}

pub fn beat(lease: Lease) -> Step {
    Step::one(&BEAT, vec![lease.mailbox_id.into(), lease.fence.into()])
}

/// Gives the lease back, so that the next reader need not wait.
pub fn release(lease: Lease) -> Step {
    Step::one(&RELEASE, vec![lease.mailbox_id.into(), lease.fence.into()])
}

/// The server numbers its mails anew; those from `since` on are looked at again.
pub fn renumber(lease: Lease, generation: i64, uidvalidity: i64, since: Option<Timestamp>) -> Step {
    Step::one(
        &RENUMBER,
        vec![
            lease.mailbox_id.into(),
            lease.fence.into(),
            generation.into(),
            uidvalidity.into(),
            since.into(),
        ],
    )
}

/// Everything up to `last_uid` is taken, `behind` mails are left.
pub fn moved(
    lease: Lease,
    generation: i64,
    last_uid: i64,
    behind: i64,
    last_mail: Option<Timestamp>,
) -> Step {
    Step::one(
        &MOVE,
        vec![
            lease.mailbox_id.into(),
            lease.fence.into(),
            generation.into(),
            last_uid.into(),
            behind.into(),
            last_mail.unwrap_or(Timestamp(0)).into(),
        ],
    )
}

/// Everything that was in the mailbox at `at` is taken.
pub fn read_to_its_end(lease: Lease, at: Timestamp) -> Step {
    Step::one(&READ, vec![lease.mailbox_id.into(), lease.fence.into(), at.into()])
}

pub fn compared(lease: Lease, at: Timestamp) -> Step {
    Step::one(&COMPARED, vec![lease.mailbox_id.into(), lease.fence.into(), at.into()])
}

pub fn troubled(lease: Lease, trouble: &str) -> Step {
    Step::one(&TROUBLED, vec![lease.mailbox_id.into(), lease.fence.into(), trouble.into()])
}

/// Guarded: nobody raised this alarm since `before`.
pub fn alarmed(id: i64, at: Timestamp, before: Timestamp) -> Step {
    Step::one(&ALARMED, vec![id.into(), at.into(), before.into()])
}

fn decode(row: Row) -> Result<MailboxRow, StoreError> {
    let mut r = row.reader("mailboxes");
    Ok(MailboxRow {
        id: r.int("id")?,
        host: r.text("host")?,
        port: r.int("port")?,
        login: r.text("login")?,
        folder: r.text("folder")?,
        name: r.text("name")?,
        generation: r.int("generation")?,
        uidvalidity: r.opt_int("uidvalidity")?,
        last_uid: r.int("last_uid")?,
        since: r.opt_time("since_at")?,
        last_mail: r.opt_time("last_mail_at")?,
        compared_at: r.time("compared_at")?,
        fence: r.int("fence")?,
        beat: r.int("beat")?,
        reader: r.opt_text("reader")?,
        configured_at: r.time("configured_at")?,
        last_read_at: r.time("last_read_at")?,
        behind: r.int("behind")?,
        trouble: r.opt_text("trouble")?,
        alarmed_at: r.time("alarmed_at")?,
        created_at: r.time("created_at")?,
    })
}

impl Store {
    /// Forgets marks of mails that were taken before then; answers how many, at most [`FORGET_BATCH`].
    pub async fn forget_taken(&self, before: Timestamp) -> Result<usize, StoreError> {
        Ok(self.write(&FORGET_TAKEN, vec![before.into()]).await?.into_rows().len())
    }

    pub async fn mailbox(&self, id: i64) -> Result<Option<MailboxRow>, StoreError> {
        self.read_one(&BY_ID, vec![id.into()]).await?.map(decode).transpose()
    }

    pub async fn mailbox_by_key(&self, key: &MailboxKey) -> Result<Option<MailboxRow>, StoreError> {
        let params =
            vec![(&key.host).into(), i64::from(key.port).into(), (&key.login).into(), (&key.folder).into()];
        self.read_one(&BY_KEY, params).await?.map(decode).transpose()
    }

    /// Oldest first.
    pub async fn mailboxes(&self, limit: usize) -> Result<Vec<MailboxRow>, StoreError> {
        self.read(&LIST, vec![(limit as i64).into()]).await?.into_iter().map(decode).collect()
    }

    /// Taken mails of a generation between two UIDs, with the times they arrived, in order.
    pub async fn taken_mails(
        &self,
        mailbox_id: i64,
        generation: i64,
        uids: (i64, i64),
    ) -> Result<Vec<(i64, Timestamp)>, StoreError> {
        let params = vec![mailbox_id.into(), generation.into(), uids.0.into(), uids.1.into()];
        let rows = self.read(&TAKEN, params).await?;
        rows.into_iter()
            .map(|row| {
                let mut r = row.reader("mailbox_mails");
                Ok((r.int("uid")?, r.time("arrived_at")?))
            })
            .collect()
    }

    /// Whether a mail of these very bytes was taken from the mailbox before this generation.
    pub async fn is_mail_known(
        &self,
        mailbox_id: i64,
        digest: &[u8; 32],
        generation: i64,
    ) -> Result<bool, StoreError> {
        let params = vec![mailbox_id.into(), digest.to_vec().into(), generation.into()];
        let row = self.read_one(&KNOWN, params).await?;
        Ok(row.map_or(Ok(0), |row| row.single_int("mailbox_mails"))? > 0)
    }
}
