//! Values made from the vault's key: tokens of confirm links, of their pages' forms and one-time codes, which
//! are kept nowhere, and the keyed hashes under which phone numbers, and requests that name one, are found.
//!
//! A restored backup gives ids out again, so what stands for a row is made from its id and random bytes of
//! that row: a link or a code of before the restore is nobody's after it.
//!
//! Each purpose has a key of its own, HMAC-SHA256 of the vault's key and the purpose's name, so that
//! no value of one purpose says anything about another. Used by ops, and by the pages for
//! their forms.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::Vault;
use crate::clock::Random;

/// Enough that no reference of another deployment is taken for one of ours.
const REFERENCE_TAG_BYTES: usize = 12;
/// Random bytes that a row keeps for the values made of it.
const NONCE_BYTES: usize = 16;
/// Characters of a token: 256 bits in base64url.
pub const TOKEN_CHARS: usize = 43;

/// A fresh token of [`TOKEN_CHARS`] characters.
pub fn fresh_token(random: &dyn Random) -> Zeroizing<String> {
    let mut bytes = Zeroizing::new([0; 32]);
    random.fill(bytes.as_mut());
    Zeroizing::new(URL_SAFE_NO_PAD.encode(bytes.as_ref()))
}

/// A fresh nonce for a row of which links or codes are made.
pub fn nonce(random: &dyn Random) -> Vec<u8> {
    let mut nonce = vec![0; NONCE_BYTES];
    random.fill(&mut nonce);
    nonce
}

impl Vault {
    /// The token of an intent's link; the same whenever it is made.
    pub fn link_token(&self, intent_id: i64, nonce: &[u8]) -> Zeroizing<String> {
        Zeroizing::new(URL_SAFE_NO_PAD.encode(self.of_row("confirm link", intent_id, nonce)))
    }

    /// The token of a payment's checkout link; the same whenever it is made.
    pub fn checkout_token(&self, payment_id: i64, nonce: &[u8]) -> Zeroizing<String> {
        Zeroizing::new(URL_SAFE_NO_PAD.encode(self.of_row("checkout link", payment_id, nonce)))
    }

    /// What the database keeps of a token. Anything a stranger sends has a hash, so that a malformed
    /// token takes the same way as an unknown one.
    pub fn token_hash(token: &str) -> [u8; 32] {
        Sha256::digest(token.as_bytes()).into()
    }

    /// What the forms of one page of `token` carry: whoever has it has read that page. `nonce` is the page's own.
    pub fn form_token(&self, token: &str, nonce: &[u8]) -> Zeroizing<String> {
        let proof = self.keyed("page form", &[nonce, token.as_bytes()].concat());
        Zeroizing::new(format!("{}.{}", URL_SAFE_NO_PAD.encode(nonce), URL_SAFE_NO_PAD.encode(proof)))
    }

    /// Whether a page of `token` gave this out.
    pub fn is_form_token(&self, token: &str, given: &str) -> bool {
        let nonce = given.split_once('.').and_then(|(nonce, _)| URL_SAFE_NO_PAD.decode(nonce).ok());
        let nonce = nonce.filter(|nonce| nonce.len() == NONCE_BYTES);
        nonce.is_some_and(|nonce| self.form_token(token, &nonce).as_bytes().ct_eq(given.as_bytes()).into())
    }

    /// By what the same form is known when it comes again, with the same typed into it. The form's token is kept
    /// nowhere, so from a key nobody finds out what was typed, the vault's key at hand or not.
    pub fn form_key(&self, form_token: &str, typed: &str) -> [u8; 32] {
        self.keyed("form use", format!("{form_token} {typed}").as_bytes())
    }

    /// The digits of a one-time code.
    pub fn code(&self, code_id: i64, nonce: &[u8], digits: usize) -> Zeroizing<String> {
        let bytes = self.of_row("one-time code", code_id, nonce);
        let number = bytes.iter().take(8).fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
        let most = 10u64.pow(u32::try_from(digits).unwrap_or(6).min(18));
        Zeroizing::new(format!("{:0digits$}", number % most))
    }

    /// What a messenger is given to call a message by, and gives back with its reports. `of_row` are bytes of the row that
    /// no row of this id had before a restored backup: when it was made.
    pub fn message_reference(&self, message_id: i64, of_row: &[u8]) -> String {
        let tag = self.of_row("message reference", message_id, of_row);
        format!("{message_id}.{}", URL_SAFE_NO_PAD.encode(&tag[..REFERENCE_TAG_BYTES]))
    }

    /// The message that a reference claims to be of; [`Vault::is_reference`] says whether it is.
    pub fn referenced_message(reference: &str) -> Option<i64> {
        reference.split_once('.')?.0.parse().ok()
    }

    /// Whether a reference was made of this row under this key: another deployment's is none of ours, even
    /// where both send under one number, nor is one of before a restored backup.
    pub fn is_reference(&self, reference: &str, message_id: i64, of_row: &[u8]) -> bool {
        let own = self.message_reference(message_id, of_row);
        own.as_bytes().ct_eq(reference.as_bytes()).into()
    }

    /// What proves that a website is a business's: whoever can put it there runs the website. The same whenever it is
    /// made, and of no use to others.
    pub fn website_token(&self, website_id: i64, host: &str) -> String {
        self.of_row("website", website_id, host.as_bytes())[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The token of the link that a mail brings to who has forgotten a password; the same whenever it is made.
    pub fn reset_token(&self, mail_id: i64, nonce: &[u8]) -> Zeroizing<String> {
        Zeroizing::new(URL_SAFE_NO_PAD.encode(self.of_row("password link", mail_id, nonce)))
    }

    /// Under what wrong passwords are counted: of an e-mail address, or of an address on the net.
    pub fn sign_in_key(&self, of: &str, value: &str) -> [u8; 32] {
        self.keyed("sign-in count", format!("{of} {value}").as_bytes())
    }

    /// What is kept of a recovery code, which is too short for a plain hash.
    pub fn recovery_hash(&self, user_id: i64, code: &str) -> [u8; 32] {
        self.of_row("recovery code", user_id, code.as_bytes())
    }

    /// Under what a phone number's rows are found.
    pub fn phone_hash(&self, key: &str) -> [u8; 32] {
        self.keyed("phone", key.as_bytes())
    }

    /// What is kept of a request that names a phone: from a plain hash the number could be guessed.
    pub fn request_hash(&self, fingerprint: &[u8; 32]) -> [u8; 32] {
        self.keyed("request", fingerprint)
    }

    /// The id has a fixed length, so no two rows give the same bytes.
    pub(super) fn of_row(&self, purpose: &str, id: i64, nonce: &[u8]) -> [u8; 32] {
        self.keyed(purpose, &[id.to_be_bytes().as_slice(), nonce].concat())
    }

    fn keyed(&self, purpose: &str, data: &[u8]) -> [u8; 32] {
        hmac(self.key_for(purpose).as_slice(), data)
    }

    /// A key of its own for a purpose.
    pub(super) fn key_for(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(hmac(self.derive_key().as_slice(), format!("tillbell {purpose}").as_bytes()))
    }
}

pub(super) fn hmac(key: &[u8], data: &[u8]) -> [u8; 32] {
    // HMAC takes keys of any length; the error cannot come.
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mut mac) => {
            mac.update(data);
            mac.finalize().into_bytes().into()
        }
        Err(_) => Sha256::digest([key, data].concat()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SeededRandom;
    use crate::config::Secret;

    #[test]
    fn values_repeat_and_differ_by_id_purpose_and_key() {
        let open =
            |key: &str| Vault::open(&Secret::Key(key.repeat(64).into()), &SeededRandom::new(1)).unwrap();
        let (vault, other) = (open("a"), open("b"));
        assert_eq!(vault.link_token(7, b"n"), open("a").link_token(7, b"n"));
        assert_eq!(vault.link_token(7, b"n").len(), TOKEN_CHARS);
        assert_ne!(vault.link_token(7, b"n"), vault.link_token(8, b"n"));
        assert_ne!(vault.link_token(7, b"n"), vault.link_token(7, b"m"));
        assert_ne!(vault.link_token(7, b"n"), other.link_token(7, b"n"));
        assert_ne!(vault.link_token(7, b"n"), vault.checkout_token(7, b"n"), "a link of another kind");
        let token = vault.link_token(7, b"n");
        let page = nonce(&SeededRandom::new(5));
        let form = vault.form_token(&token, &page);
        assert!(open("a").is_form_token(&token, &form) && !other.is_form_token(&token, &form));
        assert!(!vault.is_form_token(&vault.link_token(8, b"n"), &form));
        assert_ne!(form, vault.form_token(&token, &nonce(&SeededRandom::new(6))));
        for bad in ["", ".", "AAAA.", &form[..40], &form[1..], &format!("{}A", form.as_str()), &token] {
            assert!(!vault.is_form_token(&token, bad), "{bad}");
        }
        assert_eq!(vault.form_key(&form, "4071"), open("a").form_key(&form, "4071"));
        assert_ne!(vault.form_key(&form, "4071"), vault.form_key(&form, "4072"));
        assert_ne!(vault.form_key(&form, "4071"), other.form_key(&form, "4071"));
        assert_ne!(vault.phone_hash("2348031234567"), other.phone_hash("2348031234567"));
        let reference = vault.message_reference(7, b"n");
        assert_eq!(Vault::referenced_message(&reference), Some(7));
        assert!(vault.is_reference(&reference, 7, b"n"));
        assert!(!other.is_reference(&reference, 7, b"n") && !vault.is_reference(&reference, 7, b"m"));
        for bad in ["", "7", "7.", "8.abc", "x.y", "07.", &reference.replacen('7', "8", 1)] {
            let id = Vault::referenced_message(bad);
            assert!(id.is_none_or(|id| !vault.is_reference(bad, id, b"n")), "{bad}");
        }
        let random = SeededRandom::new(3);
        assert_ne!(nonce(&random), nonce(&random));
        let codes: std::collections::HashSet<String> =
            (0..1_000).map(|id| vault.code(id, b"n", 6).to_string()).collect();
        assert!(codes.iter().all(|code| code.len() == 6 && code.bytes().all(|b| b.is_ascii_digit())));
        assert!(codes.len() > 990, "codes spread: {}", codes.len());
        assert_ne!(vault.code(7, b"n", 6), vault.code(7, b"m", 6));
    }
}
