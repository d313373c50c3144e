//! Sealing of secrets in the database: webhook secrets, bank verification numbers, phone numbers.
//!
//! XChaCha20-Poly1305 with a random nonce; the associated data names the row and the column, so
//! that a sealed value moved elsewhere does not open. Values are sealed under keys of the database (`ring`), which it keeps
//! wrapped under the root key. That comes from configuration or from a
//! file of its own (0600), made on first start. Losing it loses the sealed values; `App::prepare`
//! refuses to go on with a key that is not this database's.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use crate::clock::Random;
use crate::config;
use ring::{DataKey, Key, KeyPurpose, Ring, seal_under, unseal_under};

pub mod hasher;
pub mod link;
pub mod passkey;
pub mod ring;

const NONCE_BYTES: usize = 24;
const KEY_BYTES: usize = 32;
/// Bytes of a root key's fingerprint.
const FINGERPRINT_BYTES: usize = 8;

/// Seals and opens. Cheap to clone; clones have the same keys.
#[derive(Clone)]
pub struct Vault {
    root: Key,
    ring: Arc<RwLock<Arc<Ring>>>,
    /// The key file, if this very opening made it.
    made: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("the key file {path} cannot be {done}: {why}")]
    File { path: String, done: &'static str, why: std::io::Error },
    #[error("the key file {0} must contain 64 hexadecimal digits")]
    Malformed(String),
    #[error("the key file {path} can be read by others; run: chmod 600 {path}")]
    TooOpen { path: String },
    #[error("a value cannot be decrypted: was the database used with another key?")]
    WrongKey,
    #[error(
        "the keys of the database were not read for an hour, so nothing is encrypted with those that are known"
    )]
    Stale,
}

impl Vault {
    /// Takes the root key that the configuration names; makes the file if there is none.
    pub fn open(secret: &config::Secret, random: &dyn Random) -> Result<Vault, VaultError> {
        let (text, made) = match secret {
            config::Secret::Key(key) => (key.clone(), None),
            config::Secret::File(path) => {
                let (text, is_new) = key_from_file(path, random)?;
                (text, is_new.then(|| path.clone()))
            }
        };
        let key = decode_hex(text.expose_secret().trim())
            .ok_or_else(|| VaultError::Malformed("secret.key".into()))?;
        let root: [u8; KEY_BYTES] = key.as_slice().try_into().map_err(|_| VaultError::WrongKey)?;
        let root = Zeroizing::new(root);
        let ring = Arc::new(RwLock::new(Arc::new(Ring::of_root(&root))));
        Ok(Vault { root, ring, made })
    }

    /// The key file that this opening made, if it made one.
    pub fn made(&self) -> Option<&std::path::Path> {
        self.made.as_deref()
    }

    /// Takes a key file away again that this opening made: it fits nothing, and whoever looks for
    /// the right one must not find it in its place. Tells whether there was one.
    pub fn withdraw(&self) -> bool {
        self.made.as_ref().is_some_and(|path| std::fs::remove_file(path).is_ok())
    }

    /// Seals `plain`; `place` names table, row and column.
    pub fn seal(&self, place: &str, plain: &[u8], random: &dyn Random) -> Result<Vec<u8>, VaultError> {
        let ring = self.ring();
        // What a node writes that cannot read the keys any more must be under one that is not thrown away yet.
        if ring.is_stale(Instant::now()) { Err(VaultError::Stale) } else { ring.seal(place, plain, random) }
    }

    /// How long ago the keys were read; `None`: never.
    pub fn read_before(&self) -> Option<Duration> {
        self.ring().read_at().map(|at| at.elapsed())
    }

    /// Opens what [`Vault::seal`] made for the same place.
    pub fn unseal(&self, place: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        self.ring().unseal(place, sealed).map(|(_, plain)| plain)
    }

    /// What a value is to be replaced with so that it is under the key that seals now; `None` if it is.
    pub fn reseal(
        &self,
        place: &str,
        sealed: &[u8],
        random: &dyn Random,
    ) -> Result<Option<Vec<u8>>, VaultError> {
        let ring = self.ring();
        let (key_id, plain) = ring.unseal(place, sealed)?;
        if key_id == ring.sealing() { Ok(None) } else { ring.seal(place, &plain, random).map(Some) }
    }

    /// A fresh key for a purpose.
    pub fn fresh_key(id: i64, purpose: KeyPurpose, random: &dyn Random) -> DataKey {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        random.fill(key.as_mut());
        DataKey { id, purpose, key }
    }

    /// The root key in the place of a database's own: what databases of before have used.
    pub fn root_as_key(&self, id: i64, purpose: KeyPurpose) -> DataKey {
        DataKey { id, purpose, key: self.root.clone() }
    }

    /// The key as the database keeps it.
    pub fn wrap(&self, key: &DataKey, random: &dyn Random) -> Result<Vec<u8>, VaultError> {
        let place = wrap_place(key.id, key.purpose);
        seal_under(&self.root_cipher(), &place, key.key.as_slice(), random)
    }

    /// Opens what [`Vault::wrap`] made under the same root key.
    pub fn unwrap(&self, id: i64, purpose: KeyPurpose, wrapped: &[u8]) -> Result<DataKey, VaultError> {
        let plain = unseal_under(&self.root_cipher(), &wrap_place(id, purpose), wrapped)?;
        let key: [u8; KEY_BYTES] = plain.as_slice().try_into().map_err(|_| VaultError::WrongKey)?;
        Ok(DataKey { id, purpose, key: Zeroizing::new(key) })
    }

    /// Goes on with these keys, sealing under one of them. They must hold one of each purpose.
    pub fn take(&self, keys: &[DataKey], sealing: i64) -> Result<(), VaultError> {
        let ring = Ring::of(keys, sealing, Instant::now()).ok_or(VaultError::WrongKey)?;
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(ring);
        Ok(())
    }

    /// Under which key of the database values are sealed now; 0 before any is known.
    pub fn sealing(&self) -> i64 {
        self.ring().sealing()
    }

    /// By what a root key is known without giving it away.
    pub fn root_fingerprint(&self) -> String {
        let print = link::hmac(self.root.as_slice(), b"tillbell root key");
        print[..FINGERPRINT_BYTES].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Opens or seals a value under the root key itself: the check of databases of before.
    pub fn unseal_by_root(&self, place: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        unseal_under(&self.root_cipher(), place, sealed)
    }

    pub fn seal_by_root(
        &self,
        place: &str,
        plain: &[u8],
        random: &dyn Random,
    ) -> Result<Vec<u8>, VaultError> {
        seal_under(&self.root_cipher(), place, plain, random)
    }

    fn root_cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&(*self.root).into())
    }

    fn ring(&self) -> Arc<Ring> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Of what tokens, hashes and peppers are made.
    fn derive_key(&self) -> Key {
        self.ring().derive.clone()
    }
}

fn wrap_place(id: i64, purpose: KeyPurpose) -> String {
    format!("data_keys/{id}/{}", purpose.as_str())
}

fn decode_hex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    if text.len() != KEY_BYTES * 2 || !text.is_ascii() {
        return None;
    }
    let bytes: Option<Vec<u8>> =
        (0..KEY_BYTES).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()).collect();
    bytes.map(Zeroizing::new)
}

/// The key's text, and whether it was made now.
fn key_from_file(path: &Path, random: &dyn Random) -> Result<(SecretString, bool), VaultError> {
    let shown = path.display().to_string();
    let file_error = |done, why| VaultError::File { path: shown.clone(), done, why };
    match std::fs::read_to_string(path) {
        Ok(text) => {
            check_mode(path, &shown)?;
            if decode_hex(text.trim()).is_none() {
                return Err(VaultError::Malformed(shown));
            }
            Ok((text.into(), false))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut key = Zeroizing::new([0; KEY_BYTES]);
            random.fill(key.as_mut());
            let text: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
            match write_new(path, &text, random) {
                Ok(()) => Ok((text.into(), true)),
                // Another process made it at the same moment: that one is the key.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    let text = std::fs::read_to_string(path).map_err(|why| file_error("read", why))?;
                    Ok((text.into(), false))
                }
                Err(why) => Err(file_error("written", why)),
            }
        }
        Err(why) => Err(file_error("read", why)),
    }
}

/// The file appears whole or not at all: written beside, synced, then linked into place.
fn write_new(path: &Path, text: &str, random: &dyn Random) -> std::io::Result<()> {
    // Nobody knows this name before, to have such a file there already.
    let beside = path.with_extension(format!("new-{:016x}", random.next_u64()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    let done = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::hard_link(&beside, path));
    let _ = std::fs::remove_file(&beside);
    done
}

#[cfg(unix)]
fn check_mode(path: &Path, shown: &str) -> Result<(), VaultError> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(path).map_err(|why| VaultError::File {
        path: shown.to_owned(),
        done: "read",
        why,
    })?;
    if meta.mode() & 0o077 != 0 {
        return Err(VaultError::TooOpen { path: shown.to_owned() });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &str) -> Result<(), VaultError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SeededRandom;

    #[test]
    fn opens_only_at_its_place_and_with_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let random = SeededRandom::new(1);
        let file = config::Secret::File(folder.path().join("a.key"));
        let vault = Vault::open(&file, &random).unwrap();
        let sealed = vault.seal("payments/7/bvn", b"22212345678", &random).unwrap();
        assert!(!sealed.windows(11).any(|w| w == b"22212345678"));
        let again = Vault::open(&file, &random).unwrap();
        assert_eq!(again.unseal("payments/7/bvn", &sealed).unwrap().as_slice(), b"22212345678");
        assert!(again.unseal("payments/8/bvn", &sealed).is_err());
        assert!(!again.withdraw() && folder.path().join("a.key").exists(), "a file that was there stays");
        let other = Vault::open(&config::Secret::File(folder.path().join("b.key")), &random).unwrap();
        assert!(other.unseal("payments/7/bvn", &sealed).is_err());
        assert!(other.withdraw() && !folder.path().join("b.key").exists());
        assert!(again.unseal("payments/7/bvn", &sealed[..10]).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn the_key_file_is_private_and_a_public_one_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        let secret = config::Secret::File(path.clone());
        Vault::open(&secret, &SeededRandom::new(1)).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Vault::open(&secret, &SeededRandom::new(1)), Err(VaultError::TooOpen { .. })));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&path, "short").unwrap();
        assert!(matches!(Vault::open(&secret, &SeededRandom::new(1)), Err(VaultError::Malformed(_))));
    }
}
