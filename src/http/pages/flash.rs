//! What a form's answer leaves for the very next page and no other: that something was done, and what is shown once, such
//! as a key. Sealed by the vault into a cookie of a minute, for the holder of one token alone; the page that shows it
//! takes it away.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::app::App;

/// So long a browser keeps it.
pub const SECONDS: u32 = 60;

/// What the next page tells.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Flash {
    /// What was done, in a sentence.
    pub done: String,
    /// What is shown once: each with its name.
    pub once: Vec<(String, String)>,
    at: i64,
}

impl Flash {
    pub fn done(text: impl Into<String>) -> Flash {
        Flash { done: text.into(), once: Vec::new(), at: 0 }
    }

    pub fn once(mut self, name: impl Into<String>, value: impl Into<String>) -> Flash {
        self.once.push((name.into(), value.into()));
        self
    }

    /// For whoever has this token; `None` only if it cannot be written.
    pub fn seal(mut self, app: &App, token: &str) -> Option<Zeroizing<String>> {
        self.at = app.now().0;
        let text = Zeroizing::new(serde_json::to_vec(&self).ok()?);
        let sealed = app.vault.seal(&place(token), &text, app.random.as_ref()).ok()?;
        Some(Zeroizing::new(URL_SAFE_NO_PAD.encode(sealed)))
    }

    /// `None`: of another holder, too old, or none of ours.
    pub fn open(app: &App, token: &str, value: &str) -> Option<Flash> {
        let sealed = URL_SAFE_NO_PAD.decode(value).ok()?;
        let text = app.vault.unseal(&place(token), &sealed).ok()?;
        let flash: Flash = serde_json::from_slice(&text).ok()?;
        let age = app.now().0.saturating_sub(flash.at);
        (age <= i64::from(SECONDS) * 1_000_000).then_some(flash)
    }
}

fn place(token: &str) -> String {
    let hash: String = Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("shown once/{hash}")
}
