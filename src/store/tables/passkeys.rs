//! Passkeys of people who sign in, and what their authenticators were asked: the SQL and the reading of rows. Only ops call
//! this.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError, Value};

/// Passkeys of one user that are read; fewer may be added.
const PASSKEYS_READ: i64 = 100;
/// Challenges forgotten in one step.
pub const FORGET_BATCH: usize = 1_000;

statements! {
    ADD: insert(passkeys) {
        id: Int, user_id: Int, credential_id: Bytes, credential: Text, counter: Int, label: Text, created_at: Int
    }
    OF_USER: query {
        "select id, user_id, credential, counter, label, created_at, used_at from passkeys where user_id = $1 \
         order by id limit $2"
    }
    BY_CREDENTIAL: query {
        "select id, user_id, credential, counter, label, created_at, used_at from passkeys where credential_id = $1"
    }
    USED: query {
        "update passkeys set credential = $4, counter = $5, used_at = $6 where id = $1 and user_id = $2 and counter = $3"
    }
    REMOVE: query { "delete from passkeys where id = $1 and user_id = $2" }
    DROP_ALL: query { "delete from passkeys where user_id = $1" }

    ASK: query {
        "insert into passkey_challenges (hash, state, expires_at) values ($1, $2, $3) \
         on conflict (hash) do update set state = excluded.state, expires_at = excluded.expires_at"
    }
    CHALLENGE: query { "select state, expires_at from passkey_challenges where hash = $1" }
    TAKE: query { "delete from passkey_challenges where hash = $1 and state = $2" }
    FORGET: query {
        "delete from passkey_challenges where expires_at < $1 and hash in \
         (select hash from passkey_challenges where expires_at < $1 order by expires_at limit $2) returning expires_at"
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasskeyRow {
    pub id: i64,
    pub user_id: i64,
    /// As `vault::passkey` makes it.
    pub credential: String,
    /// How often its authenticator has signed, as far as it was told.
    pub counter: i64,
    pub label: String,
    pub created_at: Timestamp,
    pub used_at: Option<Timestamp>,
}

/// A passkey to be added.
#[derive(Clone, Debug)]
pub struct NewPasskey<'a> {
    pub id: i64,
    pub user_id: i64,
    pub credential_id: &'a [u8],
    pub credential: &'a str,
    pub counter: i64,
    pub label: &'a str,
    pub now: Timestamp,
}

fn decode(row: Row) -> Result<PasskeyRow, StoreError> {
    let mut r = row.reader("passkeys");
    Ok(PasskeyRow {
        id: r.int("id")?,
        user_id: r.int("user_id")?,
        credential: r.text("credential")?,
        counter: r.int("counter")?,
        label: r.text("label")?,
        created_at: r.time("created_at")?,
        used_at: r.opt_time("used_at")?,
    })
}

/// A new passkey. One that is somebody's already makes the Unit refused.
pub fn add(new: &NewPasskey<'_>) -> Step {
    Step::insert(ADD {
        id: new.id.into(),
        user_id: new.user_id.into(),
        credential_id: new.credential_id.to_vec().into(),
        credential: new.credential.into(),
        counter: new.counter.into(),
        label: new.label.into(),
        created_at: new.now.into(),
    })
}

/// Notes that it was used; lost if it was removed, or used by another answer that counts, since it was read.
pub fn used(before: &PasskeyRow, credential: &str, counter: i64, now: Timestamp) -> Step {
    Step::one(
        &USED,
        vec![
            before.id.into(),
            before.user_id.into(),
            before.counter.into(),
            credential.into(),
            counter.into(),
            now.into(),
        ],
    )
}

/// Removes a passkey of this user; lost if there is none.
pub fn remove(id: i64, user_id: i64) -> Step {
    Step::one(&REMOVE, vec![id.into(), user_id.into()])
}

pub fn drop_all(user_id: i64) -> Step {
    Step::any(&DROP_ALL, vec![user_id.into()])
}

/// Keeps what was asked of whoever has this token; what was asked before counts no more.
pub fn ask(hash: &[u8; 32], state: &[u8], expires_at: Timestamp) -> Step {
    Step::one(&ASK, vec![Value::from(hash.to_vec()), state.to_vec().into(), expires_at.into()])
}

/// Takes it away; lost if somebody has, or something else was asked since.
pub fn take(hash: &[u8; 32], state: &[u8]) -> Step {
    Step::one(&TAKE, vec![Value::from(hash.to_vec()), state.to_vec().into()])
}

impl Store {
    /// The passkeys of a user, the oldest first.
    pub async fn passkeys(&self, user_id: i64) -> Result<Vec<PasskeyRow>, StoreError> {
        let rows = self.read(&OF_USER, vec![user_id.into(), PASSKEYS_READ.into()]).await?;
        rows.into_iter().map(decode).collect()
    }

    pub async fn passkey_by_credential(&self, id: &[u8]) -> Result<Option<PasskeyRow>, StoreError> {
        self.read_one(&BY_CREDENTIAL, vec![Value::from(id.to_vec())]).await?.map(decode).transpose()
    }

    /// What was asked of whoever has this token, sealed, and until when it counts.
    pub async fn passkey_challenge(
        &self,
        hash: &[u8; 32],
    ) -> Result<Option<(Vec<u8>, Timestamp)>, StoreError> {
        let row = self.read_one(&CHALLENGE, vec![Value::from(hash.to_vec())]).await?;
        let asked = |row: Row| {
            let mut r = row.reader("passkey_challenges");
            Ok((r.bytes("state")?, r.time("expires_at")?))
        };
        row.map(asked).transpose()
    }

    /// Forgets challenges whose time was over before this; how many.
    pub async fn forget_passkey_challenges(&self, before: Timestamp) -> Result<usize, StoreError> {
        let params = vec![before.into(), (FORGET_BATCH as i64).into()];
        Ok(self.write(&FORGET, params).await?.into_rows().len())
    }
}
