//! The keys of the database: a new one to seal with, a new root key around them, and how far that is
//! (docs/decisions/0095-keys-that-change.md).
//!
//! Nothing stops for it. A new key is read by every node before it seals; what is older is sealed anew in small steps by whoever
//! works (`reseal`), and keys of before go when nothing can be under them any more.

pub mod reseal;

use crate::app::App;
use crate::app::keys::read_keys;
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::store::tables::acts;
use crate::store::tables::data_keys::{self, DataKeyRow, FIRST};
use crate::store::{Applied, IdKind};
use crate::vault::Vault;
use crate::vault::ring::KeyPurpose;

/// From its making on until a key seals. Nodes read the keys every second.
pub const KNOWN_WITHIN: Span = Span::seconds(30);

/// Why the keys stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeysRefused {
    #[error("values are still being sealed under the key made at {0}; wait for that")]
    UnderWay(Timestamp),
    #[error(
        "the root key is being replaced: every node must be restarted with the new one, then run tillbell key rotate --finish"
    )]
    TwoRoots,
    #[error("no other root key opens this database: there is nothing to finish")]
    OneRoot,
    #[error("that is the root key in use")]
    SameRoot,
    #[error(
        "the configuration names the root key of before, {own}; the new one is {new}. Finish with the new one in the configuration, on every node, or take it back with tillbell key rotate --undo"
    )]
    OlderRoot { own: String, new: String },
    #[error(
        "the configuration names the new root key, {0}: put the one of before back on every node, then take the new one back"
    )]
    NewerRoot(String),
    #[error("somebody else changed the keys at this moment; look with tillbell key rotate --status")]
    Raced,
}

/// How the keys stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The newest key that seals, or will.
    pub newest: DataKeyRow,
    /// Keys that values may be sealed under, the newest included.
    pub sealing_keys: usize,
    /// Fingerprints of the root keys that open the database.
    pub roots: Vec<String>,
}

/// `None`: the database has no keys of its own, because its schema is older.
pub async fn standing(app: &App) -> Result<Option<Standing>, OpError> {
    let keys = app.store.data_keys().await?;
    let seals = keys.into_iter().filter(|key| key.purpose == KeyPurpose::Seal);
    let seals: Vec<DataKeyRow> = seals.collect();
    let roots = app.store.root_keys().await?;
    Ok(seals.last().cloned().map(|newest| Standing { newest, sealing_keys: seals.len(), roots }))
}

/// Makes a new key that seals from [`KNOWN_WITHIN`] on.
pub async fn rotate(app: &App, operator: &str) -> Result<Result<DataKeyRow, KeysRefused>, OpError> {
    let (first, all) = known(app).await?;
    if app.store.root_keys().await?.len() > 1 {
        return Ok(Err(KeysRefused::TwoRoots));
    }
    let newest = all.iter().rfind(|key| key.purpose == KeyPurpose::Seal);
    let now = app.now();
    // One that was made by a clock that was wrong would stand in the way for as long.
    let is_under_way = |newest: &&DataKeyRow| {
        newest.pass == 1 && newest.pass_ended.is_none() && newest.seals_from <= now + KNOWN_WITHIN
    };
    if let Some(newest) = newest.filter(is_under_way) {
        return Ok(Err(KeysRefused::UnderWay(newest.made_at)));
    }
    let id = all.last().map_or(FIRST, |key| key.id) + 1;
    let key = Vault::fresh_key(id, KeyPurpose::Seal, app.random.as_ref());
    let wrapped = app.vault.wrap(&key, app.random.as_ref())?;
    let at_rest = DataKeyRow::at_rest(id, KeyPurpose::Seal, now);
    let row = DataKeyRow { seals_from: now + KNOWN_WITHIN, pass: 1, pass_ended: None, ..at_rest };
    let act = app.store.id(IdKind::Act).await?;
    let unit = app
        .store
        .unit(0)
        .await?
        .step(data_keys::moved(&first))
        .steps(data_keys::add(&row, &app.vault.root_fingerprint(), wrapped))
        .step(acts::record(act, operator, "key rotate", &format!("sealing key {id}"), "", now));
    Ok(changed(app.store.apply(unit).await?).map(|()| row))
}

/// Lets another root key open the database beside the one in use, so that nodes can be restarted with it one by one.
pub async fn add_root(app: &App, root: &Vault, operator: &str) -> Result<Result<(), KeysRefused>, OpError> {
    let (own, new) = (app.vault.root_fingerprint(), root.root_fingerprint());
    if own == new {
        return Ok(Err(KeysRefused::SameRoot));
    }
    let (first, _) = known(app).await?;
    if app.store.root_keys().await?.len() > 1 {
        return Ok(Err(KeysRefused::TwoRoots));
    }
    let mut unit = app.store.unit(0).await?.step(data_keys::moved(&first));
    for (id, purpose, wrapped) in app.store.wrapped_keys(&own).await? {
        let key = app.vault.unwrap(id, purpose, &wrapped)?;
        unit = unit.step(data_keys::wrap(id, &new, root.wrap(&key, app.random.as_ref())?, app.now()));
    }
    let act = app.store.id(IdKind::Act).await?;
    let subject = format!("root key {new} beside {own}");
    let unit = unit.step(acts::record(act, operator, "key rotate", &subject, "", app.now()));
    Ok(changed(app.store.apply(unit).await?))
}

/// Which of two root keys stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// Every node runs with it.
    New,
    /// The other one was lost, or is not wanted any more.
    Before,
}

/// From now on the root key in use alone opens the database: it must be the one that is to stay.
pub async fn drop_other_roots(
    app: &App,
    stays: Stays,
    operator: &str,
) -> Result<Result<(), KeysRefused>, OpError> {
    let (first, _) = known(app).await?;
    let own = app.vault.root_fingerprint();
    let roots = app.store.root_keys().await?;
    let [before, new] = &roots[..] else { return Ok(Err(KeysRefused::OneRoot)) };
    match stays {
        Stays::New if own == *before => {
            return Ok(Err(KeysRefused::OlderRoot { own, new: new.clone() }));
        }
        Stays::Before if own == *new => return Ok(Err(KeysRefused::NewerRoot(own))),
        Stays::New | Stays::Before => {}
    }
    let act = app.store.id(IdKind::Act).await?;
    let subject = format!("root key {own} alone");
    let unit = app
        .store
        .unit(0)
        .await?
        .step(data_keys::moved(&first))
        .step(data_keys::unwrap_others(&own))
        .step(acts::record(act, operator, "key rotate", &subject, "", app.now()));
    Ok(changed(app.store.apply(unit).await?))
}

/// All keys, as fresh as this process has them, and the first of them.
async fn known(app: &App) -> Result<(DataKeyRow, Vec<DataKeyRow>), OpError> {
    read_keys(app).await?;
    let all = app.store.data_keys().await?;
    let first = all.first().filter(|key| key.id == FIRST).cloned();
    let first = first.ok_or_else(|| OpError::Fault("the database has no keys of its own".into()))?;
    Ok((first, all))
}

fn changed(applied: Applied) -> Result<(), KeysRefused> {
    match applied {
        Applied::Done(_) => Ok(()),
        Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => Err(KeysRefused::Raced),
    }
}
