//! Seals the ledger: each seal hashes the one before it and the entries it takes in.
//!
//! Whoever changes or removes an old entry, with whatever rights, breaks the chain, and the audit
//! says where. Two nodes that seal at the same moment try to write the same next seal; one does.

use sha2::{Digest, Sha256};

use crate::app::App;
use crate::ops::OpError;
use crate::store::Applied;
use crate::store::tables::seals::{self, SealableEntry};

/// Entries in one seal.
pub const SEAL_MAX: usize = 500;

/// Hash of a seal over the hash before it and its entries, in order of their ids.
pub fn seal_hash(previous: &[u8], entries: &[SealableEntry]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(previous);
    for entry in entries {
        // Lengths before texts, so that no two lists of entries write the same bytes.
        hasher.update(entry.id.to_be_bytes());
        hasher.update((entry.text.len() as u64).to_be_bytes());
        hasher.update(entry.text.as_bytes());
    }
    hasher.finalize().into()
}

/// Writes at most one seal; answers how many entries it took.
pub async fn seal(app: &App) -> Result<usize, OpError> {
    // The last seal before the entries: whoever seals between the two reads has then written the very seal that this
    // one would be.
    let last = app.store.last_seal().await?;
    let entries = app.store.unsealed_entries(SEAL_MAX).await?;
    if entries.is_empty() {
        return Ok(0);
    }
    let (id, previous) = last.map_or((1, Vec::new()), |seal| (seal.id + 1, seal.hash));
    let hash = seal_hash(&previous, &entries);
    let unit = app.store.unit(0).await?.steps(seals::add(id, &hash, &entries, app.now()));
    match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(entries.len()),
        Applied::Conflict { statement } | Applied::ConstraintViolation { statement } => {
            // Another node wrote it, or nobody ever can: that must not pass in silence.
            if app.store.last_seal().await?.is_some_and(|seal| seal.id >= id) {
                Ok(0)
            } else {
                Err(OpError::Fault(format!("seal {id} could not be written: {statement}")))
            }
        }
    }
}
