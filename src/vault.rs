//! Sealing of secrets in the database: webhook secrets, bank verification numbers, phone numbers.
//!
//! XChaCha20-Poly1305 with a random nonce; the associated data names the row and the column, so
//! that a sealed value moved elsewhere does not open. The key comes from configuration or from a
//! file of its own (0600), made on first start. Losing it loses the sealed values; `App::prepare`
//! refuses to go on with a key that did not seal what the database holds.

use std::io::Write;
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use crate::clock::Random;
use crate::config;

pub mod hasher;
pub mod link;
pub mod passkey;

const NONCE_BYTES: usize = 24;
const KEY_BYTES: usize = 32;

/// Seals and opens. Cheap to clone.
#[derive(Clone)]
pub struct Vault {
    cipher: XChaCha20Poly1305,
    /// The key itself, from which keys for other purposes are made; see `link`.
    root: Zeroizing<[u8; KEY_BYTES]>,
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
}

impl Vault {
    /// Takes the key that the configuration names; makes the file if there is none.
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
        Ok(Vault { cipher: XChaCha20Poly1305::new(&root.into()), root: Zeroizing::new(root), made })
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
        let mut nonce = [0; NONCE_BYTES];
        random.fill(&mut nonce);
        let payload = Payload { msg: plain, aad: place.as_bytes() };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| VaultError::WrongKey)?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Opens what [`Vault::seal`] made for the same place.
    pub fn unseal(&self, place: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let (nonce, body) = sealed.split_at_checked(NONCE_BYTES).ok_or(VaultError::WrongKey)?;
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| VaultError::WrongKey)?;
        let payload = Payload { msg: body, aad: place.as_bytes() };
        let plain = self.cipher.decrypt(&XNonce::from(nonce), payload).map_err(|_| VaultError::WrongKey)?;
        Ok(Zeroizing::new(plain))
    }
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
            match write_new(path, &text) {
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
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
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
