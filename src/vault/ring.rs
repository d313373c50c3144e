//! The keys of one database: under which its values are sealed, and of which its tokens and hashes are made.
//!
//! They are random, and kept in the database wrapped under the root key that the configuration names. So the root key can be
//! replaced without touching a value, and the key that seals can be replaced while nodes serve: a value is opened by
//! whichever of them sealed it, which its tag tells.

use std::time::{Duration, Instant};

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::{KEY_BYTES, NONCE_BYTES, VaultError};
use crate::clock::Random;
pub use crate::domain::key_purpose::KeyPurpose;

/// A key as it is used.
pub(super) type Key = Zeroizing<[u8; KEY_BYTES]>;

/// A key of the database, unwrapped.
pub struct DataKey {
    pub id: i64,
    pub purpose: KeyPurpose,
    pub(super) key: Key,
}

/// The keys in use.
pub(super) struct Ring {
    pub(super) derive: Key,
    /// Newest first: they are tried in this order, and most values are under the newest.
    seals: Vec<(i64, XChaCha20Poly1305)>,
    /// Under which of them new values are sealed.
    sealing: i64,
    /// When they were read from the database.
    read_at: Option<Instant>,
}

/// Keys of before are kept for a week, and read every second.
const STALE_AFTER: Duration = Duration::from_secs(60 * 60);

impl Ring {
    /// Before anything is known of the database: as it was before databases had keys of their own, the root is all keys.
    pub(super) fn of_root(root: &Key) -> Ring {
        Ring {
            derive: root.clone(),
            seals: vec![(0, XChaCha20Poly1305::new(&(**root).into()))],
            sealing: 0,
            read_at: None,
        }
    }

    /// `None` without a key of each purpose, or where none is the one to seal with.
    pub(super) fn of(keys: &[DataKey], sealing: i64, now: Instant) -> Option<Ring> {
        let derive = keys.iter().find(|key| key.purpose == KeyPurpose::Derive)?.key.clone();
        let seals = keys.iter().filter(|key| key.purpose == KeyPurpose::Seal);
        let mut seals: Vec<_> =
            seals.map(|key| (key.id, XChaCha20Poly1305::new(&(*key.key).into()))).collect();
        seals.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        seals.iter().any(|(id, _)| *id == sealing).then_some(Ring {
            derive,
            seals,
            sealing,
            read_at: Some(now),
        })
    }

    pub(super) fn seal(&self, place: &str, plain: &[u8], random: &dyn Random) -> Result<Vec<u8>, VaultError> {
        let cipher = self.seals.iter().find(|(id, _)| *id == self.sealing).map(|(_, cipher)| cipher);
        seal_under(cipher.ok_or(VaultError::WrongKey)?, place, plain, random)
    }

    /// The plain bytes, and under which key they were sealed.
    pub(super) fn unseal(&self, place: &str, sealed: &[u8]) -> Result<(i64, Zeroizing<Vec<u8>>), VaultError> {
        let opened = |(id, cipher): &(i64, XChaCha20Poly1305)| {
            unseal_under(cipher, place, sealed).ok().map(|plain| (*id, plain))
        };
        self.seals.iter().find_map(opened).ok_or(VaultError::WrongKey)
    }

    pub(super) fn read_at(&self) -> Option<Instant> {
        self.read_at
    }

    /// Nothing is known of keys that were made since.
    pub(super) fn is_stale(&self, now: Instant) -> bool {
        self.read_at.is_some_and(|at| now.saturating_duration_since(at) > STALE_AFTER)
    }

    pub(super) fn sealing(&self) -> i64 {
        self.sealing
    }
}

pub(super) fn seal_under(
    cipher: &XChaCha20Poly1305,
    place: &str,
    plain: &[u8],
    random: &dyn Random,
) -> Result<Vec<u8>, VaultError> {
    let mut nonce = [0; NONCE_BYTES];
    random.fill(&mut nonce);
    let payload = Payload { msg: plain, aad: place.as_bytes() };
    let sealed = cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| VaultError::WrongKey)?;
    Ok([nonce.as_slice(), &sealed].concat())
}

pub(super) fn unseal_under(
    cipher: &XChaCha20Poly1305,
    place: &str,
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, VaultError> {
    let (nonce, body) = sealed.split_at_checked(NONCE_BYTES).ok_or(VaultError::WrongKey)?;
    let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| VaultError::WrongKey)?;
    let payload = Payload { msg: body, aad: place.as_bytes() };
    let plain = cipher.decrypt(&XNonce::from(nonce), payload).map_err(|_| VaultError::WrongKey)?;
    Ok(Zeroizing::new(plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SeededRandom;
    use crate::vault::Vault;

    #[test]
    fn nothing_is_sealed_under_keys_that_were_read_long_ago() {
        let random = SeededRandom::new(1);
        let keys = [KeyPurpose::Derive, KeyPurpose::Seal];
        let keys = [1, 2].map(|id| Vault::fresh_key(id, keys[id as usize - 1], &random));
        let read = Instant::now();
        let ring = Ring::of(&keys, 2, read).unwrap();
        assert!(!ring.is_stale(read) && !ring.is_stale(read + STALE_AFTER));
        assert!(ring.is_stale(read + STALE_AFTER + Duration::from_secs(1)));
        let root = Ring::of_root(&Zeroizing::new([7; KEY_BYTES]));
        assert!(!root.is_stale(read + 2 * STALE_AFTER), "it was never read");
        let sealed = ring.seal("wallets/7/phone", b"x", &random).unwrap();
        assert_eq!(ring.unseal("wallets/7/phone", &sealed).unwrap().0, 2);
        assert!(root.unseal("wallets/7/phone", &sealed).is_err());
        assert!(Ring::of(&keys[..1], 2, read).is_none() && Ring::of(&keys, 3, read).is_none());
    }
}
