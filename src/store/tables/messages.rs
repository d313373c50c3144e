//! Messages to customers: rows, their delivery states, and the quotas of merchants' texts.
//!
//! Of a text only a merchant's own is kept, sealed; the others are made again from what they are about.
//! A quota is a window with a count, raised by one guarded statement, so that any number of callers at
//! once get exactly as many as there are. Used by ops alone.

use crate::domain::message::{MessageKind, MessageStatus};
use crate::domain::time::{Span, Timestamp};
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

/// Windows forgotten in one run.
pub const FORGET_BATCH: usize = 1_000;

macro_rules! columns {
    () => {
        "id, business_id, wallet_id, phone, kind, subject_id, text, is_test, status, error, provider_id, attempts, \
         created_at, valid_until_at, updated_at"
    };
}

statements! {
    ADD: insert(messages) {
        id: Int, business_id: Int, wallet_id: Int, phone: Bytes, phone_hash: Bytes, kind: Text, subject_id: Int,
        text: Bytes, is_test: Int, status: Text, attempts: Int, created_at: Int, valid_until_at: Int, updated_at: Int
    }
    BY_ID: query { concat!("select ", columns!(), " from messages where id = $1") }
    BY_PROVIDER: query { concat!("select ", columns!(), " from messages where provider_id = $1") }
    LIST: query {
        concat!("select ", columns!(), " from messages order by created_at desc, id desc limit $1")
    }
    LIST_OF_PHONE: query {
        concat!("select ", columns!(), " from messages where phone_hash = $1 order by created_at desc, id desc limit $2")
    }
    LIST_OF_BUSINESS: query {
        concat!("select ", columns!(), " from messages where business_id = $1 and is_test = 0 \
                 order by created_at desc, id desc limit $2")
    }
    LIST_OF_TESTS: query {
        concat!("select ", columns!(), " from messages where business_id = $1 and is_test = 1 \
                 order by created_at desc, id desc limit $2")
    }
    STATUS_OF: query {
        "select status from messages where phone_hash = $1 and created_at >= $2 and kind = $3 and subject_id = $4 \
         limit 1"
    }
    SENT: query {
        "update messages set status = 'sent', provider_id = $2, error = null, attempts = attempts + 1, updated_at = $3 \
         where id = $1 and status in ('queued', 'failed')"
    }
    NOT_YET: query {
        "update messages set status = 'queued', error = $2, attempts = attempts + 1, updated_at = $3 \
         where id = $1 and status in ('queued', 'failed')"
    }
    FAILED: query {
        "update messages set status = 'failed', error = $2, attempts = attempts + 1, updated_at = $3 \
         where id = $1 and status in ('queued', 'failed')"
    }
    REPORTED: query {
        "update messages set status = $2, error = $3, updated_at = $4 where id = $1 and status = $5"
    }
    OPEN_JOB: query {
        "select id, kind, business_id, subject_id, is_test, attempt, tries, run_at, created_at, outcome, note from jobs \
         where subject_id = $1 and kind = 'message'"
    }
    TAKE_JOB: query {
        "update jobs set attempt = attempt + 1, run_at = $3, done_at = null, outcome = null, note = null \
         where id = $1 and attempt = $2"
    }
    QUOTA: query {
        "insert into message_quotas (scope, key, window_at, used) values ($1, $2, $3, 1) \
         on conflict (scope, key) do update set \
         used = case when message_quotas.window_at <= $4 then 1 else message_quotas.used + 1 end, \
         window_at = case when message_quotas.window_at <= $4 then $3 else message_quotas.window_at end \
         where message_quotas.window_at <= $4 or message_quotas.used < $5"
    }
    QUOTA_LEFT: query { "select window_at, used from message_quotas where scope = $1 and key = $2" }
    FORGET_QUOTAS: query {
        "delete from message_quotas where window_at < $1 and (scope, key) in \
         (select scope, key from message_quotas where window_at < $1 order by window_at limit 1000) returning window_at"
    }
}

/// A message with phone and text still sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRow {
    pub id: i64,
    pub business_id: Option<i64>,
    pub wallet_id: Option<i64>,
    pub sealed_phone: Vec<u8>,
    pub kind: MessageKind,
    pub subject_id: i64,
    /// A merchant's own text.
    pub sealed_text: Option<Vec<u8>>,
    /// To a number of test mode: shown to the business, sent to nobody.
    pub is_test: bool,
    pub status: MessageStatus,
    pub error: Option<String>,
    pub provider_id: Option<String>,
    pub attempts: i64,
    pub created_at: Timestamp,
    pub valid_until: Timestamp,
    pub updated_at: Timestamp,
}

fn decode(row: Row) -> Result<MessageRow, StoreError> {
    let r = &mut row.reader("messages");
    Ok(MessageRow {
        id: r.int("id")?,
        business_id: r.opt_int("business_id")?,
        wallet_id: r.opt_int("wallet_id")?,
        sealed_phone: r.bytes("phone")?,
        kind: r.word("kind", MessageKind::parse)?,
        subject_id: r.int("subject_id")?,
        sealed_text: r.opt_bytes("text")?,
        is_test: r.flag("is_test")?,
        status: r.word("status", MessageStatus::parse)?,
        error: r.opt_text("error")?,
        provider_id: r.opt_text("provider_id")?,
        attempts: r.int("attempts")?,
        created_at: r.time("created_at")?,
        valid_until: r.time("valid_until_at")?,
        updated_at: r.time("updated_at")?,
    })
}

/// A new message, queued.
pub fn add(message: &MessageRow, phone_hash: &[u8]) -> Step {
    Step::insert(ADD {
        id: message.id.into(),
        business_id: message.business_id.into(),
        wallet_id: message.wallet_id.into(),
        phone: message.sealed_phone.as_slice().into(),
        phone_hash: phone_hash.into(),
        kind: message.kind.as_str().into(),
        subject_id: message.subject_id.into(),
        text: message.sealed_text.as_deref().into(),
        is_test: i64::from(message.is_test).into(),
        status: message.status.as_str().into(),
        attempts: message.attempts.into(),
        created_at: message.created_at.into(),
        valid_until_at: message.valid_until.into(),
        updated_at: message.updated_at.into(),
    })
}

/// The messenger took it; a message that was sent already stays as it is, and the Unit is lost.
pub fn sent(id: i64, provider_id: &str, now: Timestamp) -> Step {
    Step::one(&SENT, vec![id.into(), provider_id.into(), now.into()])
}

/// An attempt failed, and another one follows; without `why` nobody knows whether it failed.
pub fn not_yet(id: i64, why: Option<&str>, now: Timestamp) -> Step {
    Step::one(&NOT_YET, vec![id.into(), why.into(), now.into()])
}

/// The last attempt failed.
pub fn failed(id: i64, why: &str, now: Timestamp) -> Step {
    Step::one(&FAILED, vec![id.into(), why.into(), now.into()])
}

/// What the messenger reports later; guarded by the state that was read.
pub fn reported(message: &MessageRow, status: MessageStatus, error: Option<&str>, now: Timestamp) -> Step {
    Step::one(
        &REPORTED,
        vec![
            message.id.into(),
            status.as_str().into(),
            error.into(),
            now.into(),
            message.status.as_str().into(),
        ],
    )
}

/// Takes a message's job for this process, done or not; guarded by the attempt that was read.
pub fn take_job(job_id: i64, seen_attempt: i64, held_until: Timestamp) -> Step {
    Step::one(&TAKE_JOB, vec![job_id.into(), seen_attempt.into(), held_until.into()])
}

/// What a quota is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaScope {
    RecipientMinute,
    RecipientDay,
    BusinessDay,
}

impl QuotaScope {
    pub const ALL: [QuotaScope; 3] =
        [QuotaScope::RecipientMinute, QuotaScope::RecipientDay, QuotaScope::BusinessDay];

    fn as_str(self) -> &'static str {
        match self {
            QuotaScope::RecipientMinute => "recipient_minute",
            QuotaScope::RecipientDay => "recipient_day",
            QuotaScope::BusinessDay => "business_day",
        }
    }

    /// Length of the window, which opens with its first message.
    pub fn window(self) -> Span {
        match self {
            QuotaScope::RecipientMinute => Span::minutes(1),
            QuotaScope::RecipientDay | QuotaScope::BusinessDay => Span::hours(24),
        }
    }

    /// Messages in a window (contract/wallet.md#w9).
    pub fn most(self) -> i64 {
        match self {
            QuotaScope::RecipientMinute => 30,
            QuotaScope::RecipientDay => 200,
            QuotaScope::BusinessDay => 10_000,
        }
    }
}

/// Uses one of a quota; lost when none is left.
pub fn use_quota(scope: QuotaScope, key: &[u8], now: Timestamp) -> Step {
    let over_before = now - scope.window();
    Step::one(
        &QUOTA,
        vec![scope.as_str().into(), key.into(), now.into(), over_before.into(), scope.most().into()],
    )
}

/// Name of the statement that [`use_quota`] runs.
pub fn is_quota(statement: &str) -> bool {
    statement == QUOTA.name
}

impl Store {
    /// Forgets windows of quotas that began before then; answers how many, at most [`FORGET_BATCH`].
    pub async fn forget_quotas(&self, before: Timestamp) -> Result<usize, StoreError> {
        Ok(self.write(&FORGET_QUOTAS, vec![before.into()]).await?.into_rows().len())
    }

    /// How far the message about a code, or a payment, has come; `made_at` is when that was made.
    pub async fn message_status(
        &self,
        phone_hash: &[u8],
        (kind, subject_id): (MessageKind, i64),
        made_at: Timestamp,
    ) -> Result<Option<MessageStatus>, StoreError> {
        let asked = vec![phone_hash.into(), made_at.into(), kind.as_str().into(), subject_id.into()];
        let row = self.read_one(&STATUS_OF, asked).await?;
        row.map(|row| row.reader("messages").word("status", MessageStatus::parse)).transpose()
    }

    pub async fn message(&self, id: i64) -> Result<Option<MessageRow>, StoreError> {
        self.read_one(&BY_ID, vec![id.into()]).await?.map(decode).transpose()
    }

    pub async fn message_by_provider_id(&self, provider_id: &str) -> Result<Option<MessageRow>, StoreError> {
        self.read_one(&BY_PROVIDER, vec![provider_id.into()]).await?.map(decode).transpose()
    }

    /// Messages to one phone or to all, newest first, at most `limit`.
    pub async fn messages(
        &self,
        phone_hash: Option<&[u8]>,
        limit: i64,
    ) -> Result<Vec<MessageRow>, StoreError> {
        let rows = match phone_hash {
            Some(hash) => self.read(&LIST_OF_PHONE, vec![hash.into(), limit.into()]).await?,
            None => self.read(&LIST, vec![limit.into()]).await?,
        };
        rows.into_iter().map(decode).collect()
    }

    /// The newest messages of a mode that a business had sent, or that its payments brought about.
    pub async fn messages_of_business(
        &self,
        business_id: i64,
        is_test: bool,
        limit: i64,
    ) -> Result<Vec<MessageRow>, StoreError> {
        let list = if is_test { &LIST_OF_TESTS } else { &LIST_OF_BUSINESS };
        let rows = self.read(list, vec![business_id.into(), limit.into()]).await?;
        rows.into_iter().map(decode).collect()
    }

    /// The job of a message, done or not.
    pub async fn message_job(
        &self,
        message_id: i64,
    ) -> Result<Option<crate::store::tables::jobs::Job>, StoreError> {
        let row = self.read_one(&OPEN_JOB, vec![message_id.into()]).await?;
        row.map(crate::store::tables::jobs::decode).transpose()
    }

    /// When the window of a used-up quota ends; `None` if there is room.
    pub async fn quota_ends(
        &self,
        scope: QuotaScope,
        key: &[u8],
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        let row = self.read_one(&QUOTA_LEFT, vec![scope.as_str().into(), key.into()]).await?;
        let Some(row) = row else { return Ok(None) };
        let mut r = row.reader("message_quotas");
        let (window_at, used) = (r.time("window_at")?, r.int("used")?);
        let end = window_at + scope.window();
        Ok((used >= scope.most() && now < end).then_some(end))
    }
}
