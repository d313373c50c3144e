//! Hashing of PINs and passwords: Argon2id with a pepper, one hash at a time on a node, a short queue before it.
//!
//! A PIN has 10,000 values, so the hash alone protects nothing: the pepper, made from the vault's key,
//! does, and the limits on tries do. One at a time because a hash takes a core and 19 MiB for tens of
//! milliseconds, and payments must not wait for it; PINs and passwords have a queue each, and wait for one another
//! only where both are full of work. [`SecretHasher::enter`] is asked before a try is counted.

use std::sync::Arc;

use argon2::{Algorithm, Argon2, Params, Version};
use subtle::ConstantTimeEq;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use zeroize::Zeroizing;

use super::Vault;
use crate::clock::Random;

/// OWASP Password Storage Cheat Sheet, Argon2id: 19 MiB, 2 passes, 1 lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;
/// The first byte of what is stored: which parameters made it. Others get another number.
const FORM: u8 = 1;
/// Hashes that may wait; at 30 ms each the last of them waits two seconds.
const QUEUE_MAX: usize = 64;

/// Where PINs, or passwords, are hashed. Cheap to clone.
#[derive(Clone)]
pub struct SecretHasher {
    vault: Vault,
    /// What its pepper is made for.
    purpose: &'static str,
    queue: Arc<Semaphore>,
    turn: Arc<Semaphore>,
}

/// Too many of them are being checked on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many PINs or passwords are being checked at this moment")]
pub struct Crowded;

/// A place in the queue.
pub struct HashPermit {
    desk: SecretHasher,
    _place: OwnedSemaphorePermit,
}

impl SecretHasher {
    pub fn for_pins(vault: &Vault) -> SecretHasher {
        SecretHasher::with_pepper(vault, "pin pepper")
    }

    pub fn for_passwords(vault: &Vault) -> SecretHasher {
        SecretHasher::with_pepper(vault, "password pepper")
    }

    fn with_pepper(vault: &Vault, purpose: &'static str) -> SecretHasher {
        SecretHasher {
            vault: vault.clone(),
            purpose,
            queue: Arc::new(Semaphore::new(QUEUE_MAX)),
            turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// Takes a place in the queue, or says at once that there is none.
    pub fn enter(&self) -> Result<HashPermit, Crowded> {
        let place = self.queue.clone().try_acquire_owned().map_err(|_| Crowded)?;
        Ok(HashPermit { desk: self.clone(), _place: place })
    }
}

/// What is stored for nobody: checking against it takes as long as against anybody's, and is never right.
pub fn nobodys() -> Vec<u8> {
    [&[FORM], [0; SALT_BYTES].as_slice(), [0; HASH_BYTES].as_slice()].concat()
}

impl HashPermit {
    /// Whether `pin` is the one that `stored` was made from. A stored value of another form is no one's.
    pub async fn check(self, pin: Zeroizing<Vec<u8>>, stored: &[u8]) -> Result<bool, Crowded> {
        let [FORM, rest @ ..] = stored else { return Ok(false) };
        let Some((salt, hash)) = rest.split_at_checked(SALT_BYTES) else { return Ok(false) };
        let made = self.hash(pin, salt.to_vec()).await?;
        Ok(made.is_some_and(|made| made.as_slice().ct_eq(hash).into()))
    }

    /// What is stored of a new PIN; `None` only if the machine has no memory for it.
    pub async fn make(
        self,
        pin: Zeroizing<Vec<u8>>,
        random: &dyn Random,
    ) -> Result<Option<Vec<u8>>, Crowded> {
        let mut salt = [0; SALT_BYTES];
        random.fill(&mut salt);
        let made = self.hash(pin, salt.to_vec()).await?;
        Ok(made.map(|hash| [&[FORM], salt.as_slice(), hash.as_slice()].concat()))
    }

    async fn hash(
        self,
        pin: Zeroizing<Vec<u8>>,
        salt: Vec<u8>,
    ) -> Result<Option<Zeroizing<[u8; HASH_BYTES]>>, Crowded> {
        let turn = self.desk.turn.clone().acquire_owned().await.map_err(|_| Crowded)?;
        let pepper = self.desk.vault.key_for(self.desk.purpose);
        let work = move || {
            // Held by the thread itself: a caller who hangs up does not let a second hash begin.
            let _turn = turn;
            let params = Params::new(MEMORY_KIB, PASSES, LANES, Some(HASH_BYTES)).ok()?;
            let argon =
                Argon2::new_with_secret(pepper.as_slice(), Algorithm::Argon2id, Version::V0x13, params)
                    .ok()?;
            let mut out = Zeroizing::new([0; HASH_BYTES]);
            argon.hash_password_into(&pin, &salt, out.as_mut_slice()).ok()?;
            Some(out)
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| Crowded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SeededRandom;
    use crate::config::Secret;

    fn desk(key: &str) -> SecretHasher {
        SecretHasher::for_pins(
            &Vault::open(&Secret::Key(key.repeat(64).into()), &SeededRandom::new(1)).unwrap(),
        )
    }

    fn pin(text: &str) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn a_pin_fits_itself_under_its_own_pepper_only() {
        let (desk, other) = (desk("a"), desk("b"));
        let random = SeededRandom::new(2);
        let stored = desk.enter().unwrap().make(pin("4071"), &random).await.unwrap().unwrap();
        let again = desk.enter().unwrap().make(pin("4071"), &random).await.unwrap().unwrap();
        assert_ne!(stored, again, "salted");
        assert!(desk.enter().unwrap().check(pin("4071"), &stored).await.unwrap());
        assert!(!desk.enter().unwrap().check(pin("4072"), &stored).await.unwrap());
        assert!(!other.enter().unwrap().check(pin("4071"), &stored).await.unwrap());
        for broken in [&[][..], &[9], &stored[..10], &[&[7u8][..], &stored[1..]].concat()] {
            assert!(!desk.enter().unwrap().check(pin("4071"), broken).await.unwrap());
        }
    }

    #[tokio::test]
    async fn one_pin_is_hashed_at_a_time_also_when_its_caller_has_gone() {
        let desk = desk("a");
        let random = SeededRandom::new(2);
        let turn = desk.turn.clone().acquire_owned().await.unwrap();
        let mut waiting = Box::pin(desk.enter().unwrap().make(pin("4071"), &random));
        assert!(futures_util::poll!(&mut waiting).is_pending(), "its turn is somebody else's");
        drop(turn);
        // Begun, and left alone: the hash goes on and keeps the turn until its end.
        assert!(futures_util::poll!(&mut waiting).is_pending());
        drop(waiting);
        assert_eq!(desk.turn.available_permits(), 0);
        assert_eq!(desk.queue.available_permits(), QUEUE_MAX, "the place in the queue is free");
        desk.enter().unwrap().make(pin("4071"), &random).await.unwrap().unwrap();
        assert_eq!(desk.turn.available_permits(), 1);
    }

    #[tokio::test]
    async fn the_queue_is_bounded_and_places_come_back() {
        let desk = desk("a");
        let tickets: Vec<HashPermit> = (0..QUEUE_MAX).map(|_| desk.enter().unwrap()).collect();
        assert!(desk.enter().is_err());
        drop(tickets);
        assert!(desk.enter().is_ok());
    }
}
