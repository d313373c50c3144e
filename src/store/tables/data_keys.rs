//! The database's own keys, wrapped (`vault::ring`), and how far values have been sealed anew under the newest.
//!
//! Who adds a key, or wraps the keys under another root key, moves the version of the first one: so that of two that do so at
//! the same moment one is lost, and no key is left out of a wrapping. Used by `app` and ops.

use crate::domain::key_purpose::KeyPurpose;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

/// The first key, whose version is the guard of all.
pub const FIRST: i64 = 1;

statements! {
    ADD: insert(data_keys) {
        id: Int, purpose: Text, made_at: Int, seals_from_at: Int, pass: Int, target: Text, after_id: Int, resealed: Int,
        pass_ended_at: Int, version: Int
    }
    ADD_WRAPPED: insert(wrapped_keys) { data_key_id: Int, root: Text, wrapped: Bytes, added_at: Int }
    EVERY: query {
        "select id, purpose, made_at, seals_from_at, pass, target, after_id, resealed, pass_ended_at, version \
         from data_keys order by id"
    }
    WRAPPED: query {
        "select w.data_key_id, k.purpose, w.wrapped from wrapped_keys w join data_keys k on k.id = w.data_key_id \
         where w.root = $1 order by w.data_key_id"
    }
    ROOTS: query { "select root, min(added_at) as added_at from wrapped_keys group by root order by min(added_at), root" }
    MOVED: query { "update data_keys set version = version + 1 where id = $1 and version = $2" }
    AT: query {
        "update data_keys set pass = $3, target = $4, after_id = $5, resealed = $6, pass_ended_at = $7, \
         version = version + 1 where id = $1 and version = $2"
    }
    UNWRAP_OTHERS: query { "delete from wrapped_keys where root <> $1" }
    REMOVE_WRAPPED: query {
        "delete from wrapped_keys where data_key_id in (select id from data_keys where purpose = 'seal' and id < $1)"
    }
    REMOVE: query { "delete from data_keys where purpose = 'seal' and id < $1" }
}

/// A key without itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataKeyRow {
    pub id: i64,
    pub purpose: KeyPurpose,
    pub made_at: Timestamp,
    pub seals_from: Timestamp,
    /// The first pass, or the second.
    pub pass: i64,
    /// Which values the pass is at, by name; empty before the first.
    pub target: String,
    pub after_id: i64,
    /// Values that were sealed anew so far.
    pub resealed: i64,
    pub pass_ended: Option<Timestamp>,
    pub version: i64,
}

impl DataKeyRow {
    /// A key in use since it was made, with nothing that would have to be sealed anew.
    pub fn at_rest(id: i64, purpose: KeyPurpose, now: Timestamp) -> DataKeyRow {
        DataKeyRow {
            id,
            purpose,
            made_at: now,
            seals_from: now,
            pass: 2,
            target: String::new(),
            after_id: 0,
            resealed: 0,
            pass_ended: Some(now),
            version: 1,
        }
    }
}

/// A new key, wrapped under one root key.
pub fn add(row: &DataKeyRow, root: &str, wrapped: Vec<u8>) -> [Step; 2] {
    let key = Step::insert(ADD {
        id: row.id.into(),
        purpose: row.purpose.as_str().into(),
        made_at: row.made_at.into(),
        seals_from_at: row.seals_from.into(),
        pass: row.pass.into(),
        target: row.target.as_str().into(),
        after_id: row.after_id.into(),
        resealed: row.resealed.into(),
        pass_ended_at: row.pass_ended.into(),
        version: row.version.into(),
    });
    [key, wrap(row.id, root, wrapped, row.made_at)]
}

/// A key, wrapped under another root key as well.
pub fn wrap(key_id: i64, root: &str, wrapped: Vec<u8>, at: Timestamp) -> Step {
    Step::insert(ADD_WRAPPED {
        data_key_id: key_id.into(),
        root: root.into(),
        wrapped: wrapped.into(),
        added_at: at.into(),
    })
}

/// Guards a change of the keys by what was read of one of them.
pub fn moved(key: &DataKeyRow) -> Step {
    Step::one(&MOVED, vec![key.id.into(), key.version.into()])
}

/// How far the pass has got, guarded by what was read before.
pub fn at(before: &DataKeyRow, after: &DataKeyRow) -> Step {
    let params = vec![
        before.id.into(),
        before.version.into(),
        after.pass.into(),
        after.target.as_str().into(),
        after.after_id.into(),
        after.resealed.into(),
        after.pass_ended.into(),
    ];
    Step::one(&AT, params)
}

/// The keys can be opened under this root key alone from now on.
pub fn unwrap_others(root: &str) -> Step {
    Step::any(&UNWRAP_OTHERS, vec![root.into()])
}

/// Takes away what sealed before this key.
pub fn remove_older(than: i64) -> [Step; 2] {
    [Step::any(&REMOVE_WRAPPED, vec![than.into()]), Step::any(&REMOVE, vec![than.into()])]
}

fn decode(row: Row) -> Result<DataKeyRow, StoreError> {
    let mut r = row.reader("data_keys");
    Ok(DataKeyRow {
        id: r.int("id")?,
        purpose: purpose(&r.text("purpose")?)?,
        made_at: r.time("made_at")?,
        seals_from: r.time("seals_from_at")?,
        pass: r.int("pass")?,
        target: r.text("target")?,
        after_id: r.int("after_id")?,
        resealed: r.int("resealed")?,
        pass_ended: r.opt_time("pass_ended_at")?,
        version: r.int("version")?,
    })
}

fn purpose(text: &str) -> Result<KeyPurpose, StoreError> {
    KeyPurpose::parse(text).ok_or_else(|| StoreError::Fault(format!("a key for {text}")))
}

impl Store {
    /// All keys by id: the one that tokens are made of, and those that seal.
    pub async fn data_keys(&self) -> Result<Vec<DataKeyRow>, StoreError> {
        self.read(&EVERY, Vec::new()).await?.into_iter().map(decode).collect()
    }

    /// The keys as they are wrapped under a root key.
    pub async fn wrapped_keys(&self, root: &str) -> Result<Vec<(i64, KeyPurpose, Vec<u8>)>, StoreError> {
        let wrapped = |row: Row| {
            let mut r = row.reader("wrapped_keys");
            Ok((r.int("data_key_id")?, purpose(&r.text("purpose")?)?, r.bytes("wrapped")?))
        };
        self.read(&WRAPPED, vec![root.into()]).await?.into_iter().map(wrapped).collect()
    }

    /// Fingerprints of the root keys that the keys are wrapped under, the oldest first: two while one takes the other's place.
    pub async fn root_keys(&self) -> Result<Vec<String>, StoreError> {
        let root = |row: Row| {
            let mut r = row.reader("wrapped_keys");
            r.time("added_at")?;
            r.text("root")
        };
        self.read(&ROOTS, Vec::new()).await?.into_iter().map(root).collect()
    }
}
