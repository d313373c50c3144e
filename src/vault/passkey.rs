//! Passkeys (WebAuthn): what an authenticator is asked, and whether its answer is right. All of the protocol is
//! `webauthn-rs`'s; what is known of it outside is text and bytes.
//!
//! Keeps nothing: the caller keeps the state between question and answer, sealed, and sees that it counts once. What the
//! crate would log of an answer is kept back, because strangers write those.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use tracing::subscriber::{NoSubscriber, with_default};
use url::{Host, Url};
use webauthn_rs::prelude::{
    DiscoverableAuthentication, DiscoverableKey, Passkey, PasskeyAuthentication, PasskeyRegistration,
    PublicKeyCredential, RegisterPublicKeyCredential, RequestChallengeResponse, Uuid, WebauthnError,
};
use webauthn_rs::{Webauthn, WebauthnBuilder};
use zeroize::Zeroizing;

use super::Vault;

/// Bytes of an answer; the longest have an RSA key in them.
const ANSWER_MAX: usize = 16 * 1024;
/// Bytes of a credential's id (WebAuthn, 5.1.1).
const CREDENTIAL_ID_MAX: usize = 1_023;
/// So long a browser waits for the authenticator.
const ASKED_FOR: Duration = Duration::from_secs(300);

/// Whose passkeys they are: us, by the host of our address.
pub struct RelyingParty {
    webauthn: Webauthn,
}

/// A question: for the browser, and what is needed to check the answer.
pub struct Question {
    /// JSON.
    pub options: String,
    pub state: Zeroizing<Vec<u8>>,
}

/// A passkey as an authenticator made it.
pub struct MadePasskey {
    pub credential_id: Vec<u8>,
    pub credential: String,
    pub counter: i64,
}

/// What a right answer leaves to be kept.
pub struct UsedPasskey {
    pub credential: String,
    pub counter: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerRefused {
    Wrong,
    /// It is right but for its counter, which did not grow: there may be a copy of the passkey.
    Copied,
}

/// Something of ours does not work.
#[derive(Debug, thiserror::Error)]
#[error("passkeys: {0}")]
pub struct PasskeyFault(String);

#[derive(Serialize, Deserialize)]
enum State {
    Made(PasskeyRegistration),
    Given(PasskeyAuthentication),
    Found(DiscoverableAuthentication),
}

impl RelyingParty {
    /// `None` where browsers have no passkeys for our address: it is an IP address, or without https. In dev mode
    /// `localhost` needs none.
    pub fn of(public_url: &str, dev: bool, name: &str) -> Option<RelyingParty> {
        let url = Url::parse(public_url).ok()?;
        let Some(Host::Domain(host)) = url.host() else { return None };
        if url.scheme() != "https" && !(dev && host == "localhost") {
            return None;
        }
        let built =
            WebauthnBuilder::new(host, &url).and_then(|new| new.rp_name(name).timeout(ASKED_FOR).build());
        Some(RelyingParty { webauthn: built.ok()? })
    }

    /// Asks for a new passkey. `known`: those that the user has, so that no authenticator makes a second one.
    pub fn ask_for_new(
        &self,
        handle: [u8; 16],
        email: &str,
        known: &[&str],
    ) -> Result<Question, PasskeyFault> {
        let known = known.iter().map(|one| read(one)).collect::<Result<Vec<Passkey>, _>>()?;
        let known = known.iter().map(|one| one.cred_id().clone()).collect();
        let handle = Uuid::from_bytes(handle);
        let begun = self.webauthn.start_passkey_registration(handle, email, email, Some(known));
        let (options, state) = begun.map_err(fault)?;
        let mut options = serde_json::to_value(options).map_err(fault)?;
        // With room for it the authenticator keeps whose it is, so that a sign-in needs no e-mail address.
        options["publicKey"]["authenticatorSelection"]["residentKey"] = "preferred".into();
        Ok(Question { options: options.to_string(), state: written(&State::Made(state))? })
    }

    /// The passkey that was made, if the answer is one.
    pub fn made(&self, state: &[u8], answer: &str) -> Result<Option<MadePasskey>, PasskeyFault> {
        let Some(answer) = parsed::<RegisterPublicKeyCredential>(answer) else { return Ok(None) };
        let State::Made(state) = serde_json::from_slice(state).map_err(fault)? else { return Ok(None) };
        let made = quietly(|| self.webauthn.finish_passkey_registration(&answer, &state));
        let Ok(made) = made else { return Ok(None) };
        let credential_id: Vec<u8> = made.cred_id().to_vec();
        if credential_id.len() > CREDENTIAL_ID_MAX {
            return Ok(None);
        }
        let (credential, counter) = kept(&made)?;
        Ok(Some(MadePasskey { credential_id, credential, counter }))
    }

    /// Asks for one of these passkeys.
    pub fn ask_for(&self, known: &[&str]) -> Result<Question, PasskeyFault> {
        let known = known.iter().map(|one| read(one)).collect::<Result<Vec<Passkey>, _>>()?;
        let (options, state) = self.webauthn.start_passkey_authentication(&known).map_err(fault)?;
        question(options, &State::Given(state))
    }

    /// Asks for any passkey of ours that the authenticator has; it says itself whose it is.
    pub fn ask_for_any(&self) -> Result<Question, PasskeyFault> {
        let (options, state) = self.webauthn.start_discoverable_authentication().map_err(fault)?;
        question(options, &State::Found(state))
    }

    /// Judges an answer by the passkey it names, with its counter as it was last, and the handle of whose that is.
    pub fn judge(
        &self,
        state: &[u8],
        answer: &str,
        (credential, counter): (&str, i64),
        handle: [u8; 16],
    ) -> Result<Result<UsedPasskey, AnswerRefused>, PasskeyFault> {
        let Some(answer) = parsed::<PublicKeyCredential>(answer) else {
            return Ok(Err(AnswerRefused::Wrong));
        };
        let mut passkey: Passkey = read(credential)?;
        let is_theirs = answer.get_user_unique_id().map(|whose| whose == handle);
        let result = match serde_json::from_slice(state).map_err(fault)? {
            State::Given(state) if is_theirs != Some(false) => {
                quietly(|| self.webauthn.finish_passkey_authentication(&answer, &state))
            }
            State::Found(state) if is_theirs == Some(true) => {
                let key = DiscoverableKey::from(&passkey);
                quietly(|| self.webauthn.finish_discoverable_authentication_v2(&answer, state, &key))
            }
            _ => return Ok(Err(AnswerRefused::Wrong)),
        };
        let result = match result {
            Ok(result) if result.user_verified() => result,
            Err(WebauthnError::CredentialPossibleCompromise) => return Ok(Err(AnswerRefused::Copied)),
            _ => return Ok(Err(AnswerRefused::Wrong)),
        };
        // The state knows the counter of when it was asked; meanwhile it may have grown.
        let now = i64::from(result.counter());
        if now <= counter && (now, counter) != (0, 0) {
            return Ok(Err(AnswerRefused::Copied));
        }
        match passkey.update_credential(&result) {
            Some(_) => {}
            None => return Ok(Err(AnswerRefused::Wrong)),
        }
        let (credential, counter) = kept(&passkey)?;
        Ok(Ok(UsedPasskey { credential, counter }))
    }
}

/// The credential that an answer names; `None` if it is none.
pub fn credential_of(answer: &str) -> Option<Vec<u8>> {
    let id = parsed::<PublicKeyCredential>(answer)?.get_credential_id().to_vec();
    (1..=CREDENTIAL_ID_MAX).contains(&id.len()).then_some(id)
}

impl Vault {
    /// What authenticators know a user by: the same for all of his passkeys, and it tells nothing of him.
    pub fn passkey_handle(&self, user_id: i64) -> [u8; 16] {
        let mut handle = [0; 16];
        handle.copy_from_slice(&self.of_row("passkey", user_id, &[])[..16]);
        handle
    }
}

fn parsed<T: for<'a> Deserialize<'a>>(answer: &str) -> Option<T> {
    if answer.len() > ANSWER_MAX {
        return None;
    }
    serde_json::from_str(answer).ok()
}

fn read(credential: &str) -> Result<Passkey, PasskeyFault> {
    serde_json::from_str(credential).map_err(fault)
}

/// What is kept of a passkey, and its counter.
fn kept(passkey: &Passkey) -> Result<(String, i64), PasskeyFault> {
    let value = serde_json::to_value(passkey).map_err(fault)?;
    let counter = value["cred"]["counter"].as_i64().ok_or_else(|| fault("a passkey without a counter"))?;
    Ok((value.to_string(), counter))
}

fn question(mut options: RequestChallengeResponse, state: &State) -> Result<Question, PasskeyFault> {
    // The browser asks when the button is pressed, not while an e-mail address is typed.
    options.mediation = None;
    Ok(Question { options: serde_json::to_string(&options).map_err(fault)?, state: written(state)? })
}

fn written(state: &State) -> Result<Zeroizing<Vec<u8>>, PasskeyFault> {
    serde_json::to_vec(state).map(Zeroizing::new).map_err(fault)
}

fn quietly<T>(judge: impl FnOnce() -> T) -> T {
    with_default(NoSubscriber::default(), judge)
}

fn fault(why: impl ToString) -> PasskeyFault {
    PasskeyFault(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_are_where_browsers_have_them() {
        for (url, dev, are_there) in [
            ("https://pay.tills.example", false, true),
            ("https://pay.tills.example:8443/shop", false, true),
            ("http://pay.tills.example", true, false),
            ("https://192.0.2.7", false, false),
            ("http://localhost:8080", true, true),
            ("http://localhost:8080", false, false),
            ("http://127.0.0.1:8080", true, false),
            ("nonsense", true, false),
        ] {
            assert_eq!(RelyingParty::of(url, dev, "tills").is_some(), are_there, "{url} {dev}");
        }
    }

    #[test]
    fn what_is_no_answer_names_no_credential() {
        for rubbish in ["", "{}", "null", "[1]", &"x".repeat(ANSWER_MAX + 1)] {
            assert_eq!(credential_of(rubbish), None);
        }
    }
}
