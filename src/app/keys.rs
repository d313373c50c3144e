//! Which keys this process seals and opens values with: read from the database, and made there once.

use std::time::Duration;

use super::{App, KEY_CHECK, StartError};
use crate::store::tables::data_keys::{self, DataKeyRow, FIRST};
use crate::store::tables::key_check;
use crate::store::{Applied, StoreError};
use crate::vault::ring::{DataKey, KeyPurpose};
use crate::vault::{Vault, VaultError};

/// A new key seals half a minute after it was made.
const OLD_AFTER: Duration = Duration::from_secs(5);

/// Why the keys of the database are not at hand.
#[derive(Debug, thiserror::Error)]
pub enum KeysProblem {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// Reads the keys again, which every process does once a second, and seals with the newest whose time has come. A
/// database whose schema is older has none.
pub async fn read_keys(app: &App) -> Result<(), KeysProblem> {
    let rows = app.store.data_keys().await?;
    if rows.is_empty() {
        return Ok(());
    }
    let wrapped = app.store.wrapped_keys(&app.vault.root_fingerprint()).await?;
    let keys: Vec<DataKey> = wrapped
        .iter()
        .map(|(id, purpose, wrapped)| app.vault.unwrap(*id, *purpose, wrapped))
        .collect::<Result<_, VaultError>>()?;
    let now = app.now();
    let seals = rows.iter().filter(|row| row.purpose == KeyPurpose::Seal);
    let due = seals.clone().rfind(|row| row.seals_from <= now);
    // The first one seals also where this machine's clock is behind.
    let sealing = due.or(seals.clone().next()).map_or(0, |row| row.id);
    Ok(app.vault.take(&keys, sealing)?)
}

/// Reads them again where that is some seconds ago: for commands that work for long, and have nobody who does it every second.
pub async fn read_keys_if_old(app: &App) -> Result<(), KeysProblem> {
    match app.vault.read_before() {
        Some(before) if before > OLD_AFTER => read_keys(app).await,
        Some(_) | None => Ok(()),
    }
}

/// Makes the keys of a database that has none yet. A new database gets fresh ones; in one of before the root key itself has
/// sealed all there is, and stays the first of each.
pub(super) async fn make_keys(app: &App) -> Result<(), StartError> {
    if !app.store.data_keys().await?.is_empty() {
        return Ok(());
    }
    let is_new = app.store.key_check().await?.is_none();
    if !is_new {
        app.check_root().await?;
    }
    let (now, root) = (app.now(), app.vault.root_fingerprint());
    let mut unit = app.store.unit(0).await?;
    for (id, purpose) in [(FIRST, KeyPurpose::Derive), (FIRST + 1, KeyPurpose::Seal)] {
        let key = if is_new {
            Vault::fresh_key(id, purpose, app.random.as_ref())
        } else {
            app.vault.root_as_key(id, purpose)
        };
        let wrapped = app.vault.wrap(&key, app.random.as_ref())?;
        unit = unit.steps(data_keys::add(&DataKeyRow::at_rest(id, purpose, now), &root, wrapped));
    }
    if is_new {
        let sealed = app.vault.seal_by_root(KEY_CHECK, KEY_CHECK.as_bytes(), app.random.as_ref())?;
        unit = unit.step(key_check::add(sealed));
    }
    match app.store.apply(unit).await? {
        // Another program made them at this moment; whether with this root key is asked next.
        Applied::Done(_) | Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => Ok(()),
    }
}
