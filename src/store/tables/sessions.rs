//! Sessions of people who signed in, and how often a password or code was wrong: the SQL and the reading of rows.
//!
//! A session is found by the hash of its token, with its user, at every request. Only ops call this.

use crate::domain::time::Timestamp;
use crate::domain::user::StaffRole;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError, Value};

/// Open sessions of one user that a list shows.
pub const SESSIONS_MAX: i64 = 100;
/// Rows forgotten in one step.
pub const FORGET_BATCH: usize = 1_000;

statements! {
    ADD: insert(sessions) {
        id: Int, hash: Bytes, user_id: Int, stage: Text, address: Text, agent: Text, created_at: Int, seen_at: Int,
        checked_at: Int
    }
    BY_HASH: query {
        "select s.id, s.user_id, s.stage, s.created_at, s.seen_at, s.checked_at, s.address, u.email, u.staff_role, \
         u.time_zone, case when u.totp is null then 0 else 1 end as has_totp, \
         case when exists (select 1 from passkeys p where p.user_id = s.user_id) then 1 else 0 end as has_passkey \
         from sessions s join users u on u.id = s.user_id \
         where s.hash = $1 and s.ended_at is null and u.disabled_at is null"
    }
    OPEN: query {
        "select id, address, agent, created_at, seen_at from sessions where user_id = $1 and ended_at is null \
         and created_at > $2 and stage = 'whole' order by created_at desc, id desc limit $3"
    }
    USED: query { "update sessions set seen_at = $2 where id = $1 and seen_at < $2" }
    RENEW: query {
        "update sessions set hash = $3, checked_at = $4 where id = $1 and hash = $2 and ended_at is null"
    }
    END: query { "update sessions set ended_at = $3 where id = $1 and user_id = $2 and ended_at is null" }
    END_ALL: query { "update sessions set ended_at = $2 where user_id = $1 and ended_at is null" }
    END_OTHERS: query { "update sessions set ended_at = $3 where user_id = $1 and id <> $2 and ended_at is null" }
    FORGET: query {
        "delete from sessions where created_at < $1 and id in \
         (select id from sessions where created_at < $1 order by created_at limit $2) returning id"
    }

    COUNT: query { "select wrong, began_at, next_at, version from sign_in_counts where key = $1" }
    ADD_COUNT: insert(sign_in_counts) { key: Bytes, wrong: Int, began_at: Int, next_at: Int, version: Int }
    SET_COUNT: query {
        "update sign_in_counts set wrong = $3, began_at = $4, next_at = $5, version = version + 1 \
         where key = $1 and version = $2"
    }
    FORGIVE: query {
        "update sign_in_counts set wrong = wrong - 1, version = version + 1 where key = $1 and wrong > 0"
    }
    CLEAR: query { "update sign_in_counts set wrong = 0, next_at = 0, version = version + 1 where key = $1" }
    FORGET_COUNTS: query {
        "delete from sign_in_counts where next_at < $1 and began_at < $1 and key in \
         (select key from sign_in_counts where next_at < $1 order by next_at limit $2) returning version"
    }
}

/// How far a sign-in has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The password was right; the code is to come.
    Code,
    Whole,
}

impl Stage {
    fn as_str(self) -> &'static str {
        match self {
            Stage::Code => "code",
            Stage::Whole => "whole",
        }
    }

    fn parse(word: &str) -> Option<Stage> {
        match word {
            "code" => Some(Stage::Code),
            "whole" => Some(Stage::Whole),
            _ => None,
        }
    }
}

/// A session that was not ended, of a user who is not disabled. Whether its time is over is the reader's to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub id: i64,
    pub user_id: i64,
    pub stage: Stage,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
    /// When the password was asked for last.
    pub checked_at: Timestamp,
    pub address: String,
    pub email: String,
    pub staff: Option<StaffRole>,
    pub time_zone: String,
    pub has_totp: bool,
    pub has_passkey: bool,
}

/// An open session, for its user's eyes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSession {
    pub id: i64,
    pub address: String,
    pub agent: String,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
}

/// A session to be added.
#[derive(Clone, Debug)]
pub struct NewSession<'a> {
    pub id: i64,
    pub hash: [u8; 32],
    pub user_id: i64,
    pub stage: Stage,
    pub address: &'a str,
    pub agent: &'a str,
    pub now: Timestamp,
}

/// Wrong tries under one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignInCount {
    pub wrong: i64,
    pub began_at: Timestamp,
    pub next_at: Timestamp,
    /// `None`: there is no row yet.
    pub version: Option<i64>,
}

pub fn add(new: &NewSession<'_>) -> Step {
    Step::insert(ADD {
        id: new.id.into(),
        hash: new.hash.to_vec().into(),
        user_id: new.user_id.into(),
        stage: new.stage.as_str().into(),
        address: new.address.into(),
        agent: new.agent.into(),
        created_at: new.now.into(),
        seen_at: new.now.into(),
        checked_at: new.now.into(),
    })
}

/// Gives a session another token; lost if it has another one by now, or is over.
pub fn renew(id: i64, before: &[u8; 32], after: [u8; 32], checked_at: Timestamp) -> Step {
    let hashes = [Value::from(before.to_vec()), Value::from(after.to_vec())];
    let [before, after] = hashes;
    Step::one(&RENEW, vec![id.into(), before, after, checked_at.into()])
}

/// Ends a session of this user; lost if it has ended.
pub fn end_open(id: i64, user_id: i64, now: Timestamp) -> Step {
    Step::one(&END, vec![id.into(), user_id.into(), now.into()])
}

/// The same, whether or not it has ended.
pub fn end(id: i64, user_id: i64, now: Timestamp) -> Step {
    Step::any(&END, vec![id.into(), user_id.into(), now.into()])
}

pub fn end_all(user_id: i64, now: Timestamp) -> Step {
    Step::any(&END_ALL, vec![user_id.into(), now.into()])
}

pub fn end_others(user_id: i64, own: i64, now: Timestamp) -> Step {
    Step::any(&END_OTHERS, vec![user_id.into(), own.into(), now.into()])
}

/// Writes a count, if it is still as it was read; two first ones at one moment violate the key.
pub fn set_count(key: &[u8; 32], before: &SignInCount, after: &SignInCount) -> Step {
    let key = Value::from(key.to_vec());
    let (wrong, began_at, next_at) = (after.wrong.into(), after.began_at.into(), after.next_at.into());
    match before.version {
        None => Step::insert(ADD_COUNT { key, wrong, began_at, next_at, version: 1.into() }),
        Some(version) => Step::one(&SET_COUNT, vec![key, version.into(), wrong, began_at, next_at]),
    }
}

/// Takes one wrong try back.
pub fn forgive(key: &[u8; 32]) -> Step {
    Step::any(&FORGIVE, vec![Value::from(key.to_vec())])
}

/// Forgets all wrong tries under a key.
pub fn clear_count(key: &[u8; 32]) -> Step {
    Step::any(&CLEAR, vec![Value::from(key.to_vec())])
}

impl Store {
    pub async fn session(&self, hash: &[u8; 32]) -> Result<Option<SessionRow>, StoreError> {
        let row = self.read_one(&BY_HASH, vec![Value::from(hash.to_vec())]).await?;
        let session = |row: Row| {
            let mut r = row.reader("sessions");
            Ok(SessionRow {
                id: r.int("id")?,
                user_id: r.int("user_id")?,
                stage: r.word("stage", Stage::parse)?,
                created_at: r.time("created_at")?,
                seen_at: r.time("seen_at")?,
                checked_at: r.time("checked_at")?,
                address: r.text("address")?,
                email: r.text("email")?,
                staff: r.opt_word("staff_role", StaffRole::parse)?,
                time_zone: r.text("time_zone")?,
                has_totp: r.flag("has_totp")?,
                has_passkey: r.flag("has_passkey")?,
            })
        };
        row.map(session).transpose()
    }

    /// Whole sessions that were not ended and began after a time, newest first.
    pub async fn open_sessions(
        &self,
        user_id: i64,
        began_after: Timestamp,
    ) -> Result<Vec<OpenSession>, StoreError> {
        let params = vec![user_id.into(), began_after.into(), SESSIONS_MAX.into()];
        let session = |row: Row| {
            let mut r = row.reader("sessions");
            Ok(OpenSession {
                id: r.int("id")?,
                address: r.text("address")?,
                agent: r.text("agent")?,
                created_at: r.time("created_at")?,
                seen_at: r.time("seen_at")?,
            })
        };
        self.read(&OPEN, params).await?.into_iter().map(session).collect()
    }

    /// Notes that a session was used.
    pub async fn session_seen(&self, id: i64, now: Timestamp) -> Result<(), StoreError> {
        self.write(&USED, vec![id.into(), now.into()]).await.map(drop)
    }

    pub async fn sign_in_count(&self, key: &[u8; 32]) -> Result<SignInCount, StoreError> {
        let row = self.read_one(&COUNT, vec![Value::from(key.to_vec())]).await?;
        let Some(row) = row else { return Ok(SignInCount::default()) };
        let mut r = row.reader("sign_in_counts");
        Ok(SignInCount {
            wrong: r.int("wrong")?,
            began_at: r.time("began_at")?,
            next_at: r.time("next_at")?,
            version: Some(r.int("version")?),
        })
    }

    /// Forgets sessions that began before a time; how many.
    pub async fn forget_sessions(&self, before: Timestamp) -> Result<usize, StoreError> {
        let params = vec![before.into(), (FORGET_BATCH as i64).into()];
        Ok(self.write(&FORGET, params).await?.into_rows().len())
    }

    /// The same of counts whose time is over.
    pub async fn forget_sign_in_counts(&self, before: Timestamp) -> Result<usize, StoreError> {
        let params = vec![before.into(), (FORGET_BATCH as i64).into()];
        Ok(self.write(&FORGET_COUNTS, params).await?.into_rows().len())
    }
}
