//! Idempotency keys: who works under a key, and what was answered.
//!
//! A row is a claim with a lease. `token` names the claim: whoever holds another token has lost
//! it, so the step that writes the answer fails together with the effect it belongs to. Rows
//! without an answer may be taken over after their lease; rows with one live for a day.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::{Sql, statements};
use crate::store::{Applied, Reader, Step, Store, StoreError, Value};

/// Rows one sweep step removes at most.
pub const FORGET_BATCH: usize = 1_000;

statements! {
    BY_KEY: query {
        "select token, fingerprint, running_until_at, status, answer, created_at
         from idempotency_keys where business_id = $1 and key = $2"
    }
    CLAIM: insert(idempotency_keys) {
        business_id: Int, key: Text, fingerprint: Bytes, token: Int, running_until_at: Int,
        status: Int, answer: Bytes, created_at: Int
    }
    TAKE_OVER: query {
        "update idempotency_keys
         set fingerprint = $3, token = $4, running_until_at = $5, status = null, answer = null, created_at = $6
         where business_id = $1 and key = $2 and token = $7"
    }
    ANSWER: query {
        "update idempotency_keys set status = $4, answer = $5
         where business_id = $1 and key = $2 and token = $3 and status is null"
    }
    RELEASE: query {
        "delete from idempotency_keys
         where business_id = $1 and key = $2 and token = $3 and status is null"
    }
    TAKE_BACK: query {
        "delete from idempotency_keys where business_id = $1 and key = $2 and token = $3"
    }
    FORGET: query {
        "delete from idempotency_keys where created_at < $1 and running_until_at < $1
         and (business_id, key) in (select business_id, key from idempotency_keys
             where created_at < $1 and running_until_at < $1 order by created_at limit 1000) returning created_at"
    }
}

/// What is known under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRow {
    pub token: i64,
    /// SHA-256 of method, path and body.
    pub fingerprint: Vec<u8>,
    pub running_until: Timestamp,
    /// HTTP status and body bytes; `None` while the request is at work, or after it was cut short.
    pub answer: Option<(u16, Vec<u8>)>,
    pub created_at: Timestamp,
}

/// A claim to write: who, under which key, for which request, until when.
#[derive(Clone, Debug)]
pub struct NewClaim<'a> {
    pub business_id: i64,
    pub key: &'a str,
    pub fingerprint: &'a [u8],
    pub token: i64,
    pub running_until: Timestamp,
    pub now: Timestamp,
}

impl Store {
    /// Removes up to [`FORGET_BATCH`] rows made before `before`, whose lease has also ended by then; answers how many.
    pub async fn forget_keys(&self, before: Timestamp) -> Result<usize, StoreError> {
        Ok(self.write(&FORGET, vec![before.into()]).await?.into_rows().len())
    }

    pub async fn idempotency_key(&self, business_id: i64, key: &str) -> Result<Option<KeyRow>, StoreError> {
        let row = self.read_one(&BY_KEY, vec![business_id.into(), key.into()]).await?;
        row.map(|row| decode(&mut row.reader("idempotency_keys"))).transpose()
    }

    /// False when somebody else wrote a row for this key first.
    pub async fn claim_idempotency_key(&self, claim: &NewClaim<'_>) -> Result<bool, StoreError> {
        let row = CLAIM {
            business_id: claim.business_id.into(),
            key: claim.key.into(),
            fingerprint: claim.fingerprint.into(),
            token: claim.token.into(),
            running_until_at: claim.running_until.into(),
            status: Value::Null,
            answer: Value::Null,
            created_at: claim.now.into(),
        };
        let unit = self.unit(claim.business_id).await?.step(Step::insert(row));
        self.apply(unit).await.map(|applied| applied.is_done())
    }

    /// Replaces a row that has outlived its lease or its day; false when its token has changed.
    pub async fn take_over_idempotency_key(
        &self,
        claim: &NewClaim<'_>,
        old_token: i64,
    ) -> Result<bool, StoreError> {
        let params = vec![
            claim.business_id.into(),
            claim.key.into(),
            claim.fingerprint.into(),
            claim.token.into(),
            claim.running_until.into(),
            claim.now.into(),
            old_token.into(),
        ];
        let unit = self.unit(claim.business_id).await?.step(Step::one(&TAKE_OVER, params));
        self.apply(unit).await.map(|applied| applied.is_done())
    }

    /// Gives a claim back that came to no effect; one that was answered or taken over stays.
    pub async fn release_idempotency_key(
        &self,
        business_id: i64,
        key: &str,
        token: i64,
    ) -> Result<(), StoreError> {
        self.remove_idempotency_key(&RELEASE, business_id, key, token).await
    }

    /// Removes a claim with the answer it has, because what it answers for came to nothing.
    pub async fn forget_idempotency_key(
        &self,
        business_id: i64,
        key: &str,
        token: i64,
    ) -> Result<(), StoreError> {
        self.remove_idempotency_key(&TAKE_BACK, business_id, key, token).await
    }

    async fn remove_idempotency_key(
        &self,
        how: &'static Sql,
        business_id: i64,
        key: &str,
        token: i64,
    ) -> Result<(), StoreError> {
        let step = Step::any(how, vec![business_id.into(), key.into(), token.into()]);
        let unit = self.unit(business_id).await?.step(step);
        match self.apply(unit).await? {
            Applied::Done(_) | Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => Ok(()),
        }
    }
}

fn decode(row: &mut Reader) -> Result<KeyRow, StoreError> {
    let token = row.int("token")?;
    let fingerprint = row.bytes("fingerprint")?;
    let running_until = row.time("running_until_at")?;
    let status = row.opt_int("status")?;
    let answer = match (status, row.opt_bytes("answer")?) {
        (None, None) => None,
        (Some(status), Some(answer)) => {
            Some((u16::try_from(status).map_err(|_| row.corrupt("status"))?, answer))
        }
        _ => return Err(row.corrupt("answer")),
    };
    Ok(KeyRow { token, fingerprint, running_until, answer, created_at: row.time("created_at")? })
}

/// Writes the answer under the key; put into the Unit of the effect. One row, or the claim is lost.
pub fn answer(business_id: i64, key: &str, token: i64, status: u16, body: Vec<u8>) -> Step {
    let params = vec![business_id.into(), key.into(), token.into(), i64::from(status).into(), body.into()];
    Step::one(&ANSWER, params)
}

/// Whether the statement is that of an answer: lost there means that the claim was.
pub fn is_answer(statement: &str) -> bool {
    statement == ANSWER.name
}
