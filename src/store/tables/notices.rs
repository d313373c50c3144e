//! What operators and members of businesses are told of beside the pages, when each cause was told last, and what a business
//! has switched off: the SQL and the reading of rows. Used by ops alone.

use crate::domain::notice::{NoticeKind, Told};
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

/// Rows forgotten in one step; the statements hold the same number as a literal.
pub const FORGET_BATCH: usize = 500;
/// Businesses whose webhooks are looked at in one step.
pub const TROUBLED_MAX: usize = 1_000;

statements! {
    ADD: insert(notices) { id: Int, business_id: Int, kind: Text, cause: Text, body: Text, created_at: Int }
    NOTICE: query { "select id, business_id, kind, cause, body, created_at from notices where id = $1" }
    OF_OPERATOR: query {
        "select id, business_id, kind, cause, body, created_at from notices where created_at >= $1 \
         and business_id is null order by created_at desc, id desc limit $2"
    }
    LATELY: query {
        "select count(*) as count from (select id from notices where created_at > $1 and kind = $2 \
         and business_id is null limit $3) as lately"
    }
    FORGET: query {
        "delete from notices where created_at < $1 and id in (select id from notices where created_at < $1 \
         order by created_at limit 500) returning id"
    }

    CAUSE: query { "select told_at, times from notice_causes where key = $1" }
    ADD_CAUSE: insert(notice_causes) { key: Text, told_at: Int, times: Int }
    SET_CAUSE: query {
        "update notice_causes set told_at = $3, times = $4 where key = $1 and told_at = $2"
    }
    FORGET_CAUSES: query {
        "delete from notice_causes where told_at < $1 and key in (select key from notice_causes where told_at < $1 \
         order by told_at limit 500) returning key"
    }

    OFF: query { "select kind from notices_off where business_id = $1" }
    SWITCH_OFF: query {
        "insert into notices_off (business_id, kind) values ($1, $2) on conflict (business_id, kind) do nothing"
    }
    SWITCH_ON: query { "delete from notices_off where business_id = $1 and kind = $2" }

    // The first business behind $1 that has deliveries in trouble; by way of their index, word for word.
    NEXT_TROUBLED: query {
        "select business_id from jobs where business_id + 0 > $1 and kind || '' = 'deliver' and done_at is null \
         and (tries > 0 or outcome = 'paused') order by business_id + 0, created_at, id limit 1"
    }
}

/// Something that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub id: i64,
    /// `None`: it is the operator's.
    pub business_id: Option<i64>,
    pub kind: NoticeKind,
    /// What it is about, such as `alert 57`.
    pub cause: String,
    pub body: String,
    pub at: Timestamp,
}

pub fn add(notice: &Notice) -> Step {
    Step::insert(ADD {
        id: notice.id.into(),
        business_id: notice.business_id.into(),
        kind: notice.kind.as_str().into(),
        cause: (&notice.cause).into(),
        body: (&notice.body).into(),
        created_at: notice.at.into(),
    })
}

/// Notes when a cause was told; lost if somebody else told it meanwhile.
pub fn tell_cause(key: &str, before: Option<Told>, after: Told) -> Step {
    match before {
        None => {
            Step::insert(ADD_CAUSE { key: key.into(), told_at: after.at.into(), times: after.times.into() })
        }
        Some(before) => {
            Step::one(&SET_CAUSE, vec![key.into(), before.at.into(), after.at.into(), after.times.into()])
        }
    }
}

/// Switches a kind on or off for a business; nothing happens where it is so already.
pub fn switch(business_id: i64, kind: NoticeKind, is_on: bool) -> Step {
    let sql = if is_on { &SWITCH_ON } else { &SWITCH_OFF };
    Step::any(sql, vec![business_id.into(), kind.as_str().into()])
}

fn decode(row: Row) -> Result<Notice, StoreError> {
    let mut r = row.reader("notices");
    Ok(Notice {
        id: r.int("id")?,
        business_id: r.opt_int("business_id")?,
        kind: r.word("kind", NoticeKind::parse)?,
        cause: r.text("cause")?,
        body: r.text("body")?,
        at: r.time("created_at")?,
    })
}

impl Store {
    pub async fn notice(&self, id: i64) -> Result<Option<Notice>, StoreError> {
        self.read_one(&NOTICE, vec![id.into()]).await?.map(decode).transpose()
    }

    /// What operators were told since a time, newest first.
    pub async fn alarms_since(&self, since: Timestamp, limit: usize) -> Result<Vec<Notice>, StoreError> {
        let rows = self.read(&OF_OPERATOR, vec![since.into(), (limit as i64).into()]).await?;
        rows.into_iter().map(decode).collect()
    }

    /// How many alarms of a kind there were since a time; counted up to `most`.
    pub async fn alarms_lately(
        &self,
        kind: NoticeKind,
        since: Timestamp,
        most: i64,
    ) -> Result<i64, StoreError> {
        let row = self.read_one(&LATELY, vec![since.into(), kind.as_str().into(), most.into()]).await?;
        row.map_or(Ok(0), |row| row.reader("notices").int("count"))
    }

    pub async fn cause_told(&self, key: &str) -> Result<Option<Told>, StoreError> {
        let row = self.read_one(&CAUSE, vec![key.into()]).await?;
        let told = |row: Row| {
            let mut r = row.reader("notice_causes");
            Ok(Told { at: r.time("told_at")?, times: r.int("times")? })
        };
        row.map(told).transpose()
    }

    /// What a business has switched off.
    pub async fn notices_off(&self, business_id: i64) -> Result<Vec<NoticeKind>, StoreError> {
        let rows = self.read(&OFF, vec![business_id.into()]).await?;
        rows.into_iter().map(|row| row.reader("notices_off").word("kind", NoticeKind::parse)).collect()
    }

    /// The businesses behind one whose webhooks failed at least once and did not arrive, at most [`TROUBLED_MAX`].
    pub async fn troubled_businesses(&self, behind: i64) -> Result<Vec<i64>, StoreError> {
        let (mut found, mut last) = (Vec::new(), behind);
        while found.len() < TROUBLED_MAX {
            let Some(row) = self.read_one(&NEXT_TROUBLED, vec![last.into()]).await? else { break };
            last = row.reader("jobs").int("business_id")?;
            found.push(last);
        }
        Ok(found)
    }

    /// Forgets notices and causes that were told before a time. Answers how many rows went.
    pub async fn forget_notices(&self, before: Timestamp) -> Result<usize, StoreError> {
        let notices = self.write(&FORGET, vec![before.into()]).await?.into_rows().len();
        let causes = self.write(&FORGET_CAUSES, vec![before.into()]).await?.into_rows().len();
        Ok(notices.max(causes))
    }
}
