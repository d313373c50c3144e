//! A business, its websites and its API keys, as the trade sees them.
//!
//! The key's form is `tb_live_` or `tb_test_`, 32 base62 characters and a checksum of 6, so that a
//! mistyped or truncated key is refused without asking the database, and leaked keys can be found
//! by scanners.

use sha2::{Digest, Sha256};

use super::charges::Schedule;
use super::event::Chosen;
use super::time::Timestamp;

/// Test payments meet only test accounts, live ones only live accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    Live,
    Test,
}

impl Mode {
    pub const ALL: [Mode; 2] = [Mode::Live, Mode::Test];

    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Live => "live",
            Mode::Test => "test",
        }
    }

    pub fn parse(word: &str) -> Option<Mode> {
        match word {
            "live" => Some(Mode::Live),
            "test" => Some(Mode::Test),
            _ => None,
        }
    }
}

/// A merchant.
#[derive(Clone, Debug, PartialEq)]
pub struct Business {
    pub id: i64,
    pub name: String,
    pub email: String,
    /// Fallback target of webhooks.
    pub webhook_url: Option<String>,
    /// An inactive business's keys stop; its open payments are still credited.
    pub active: bool,
    /// It may take real money. One that somebody registered himself waits for the operator, and works in test mode alone.
    pub live: bool,
    pub wallet_enabled: bool,
    /// Requests a minute; `None` means the configured default.
    pub rate_limit: Option<i64>,
    pub wallet_rate_limit: Option<i64>,
    /// What its programs are told of beside approvals and reversals.
    pub events: Chosen,
    pub schedule: Schedule,
    pub created_at: Timestamp,
    pub version: i64,
}

impl Business {
    /// Whether its keys, and its people by the pages, may do anything new in this mode.
    pub fn works_in(&self, mode: Mode) -> bool {
        self.active && (self.live || mode == Mode::Test)
    }

    /// It was registered, and the operator has not decided yet.
    pub fn waits(&self) -> bool {
        self.active && !self.live
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebsiteStatus {
    Pending,
    Approved,
    Rejected,
}

impl WebsiteStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            WebsiteStatus::Pending => "pending",
            WebsiteStatus::Approved => "approved",
            WebsiteStatus::Rejected => "rejected",
        }
    }

    pub fn parse(word: &str) -> Option<WebsiteStatus> {
        match word {
            "pending" => Some(WebsiteStatus::Pending),
            "approved" => Some(WebsiteStatus::Approved),
            "rejected" => Some(WebsiteStatus::Rejected),
            _ => None,
        }
    }
}

/// A merchant's domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Website {
    pub id: i64,
    pub business_id: i64,
    pub url: String,
    /// As `weburl::parse_website` makes it.
    pub host: String,
    pub webhook_url: Option<String>,
    pub status: WebsiteStatus,
    pub reject_reason: Option<String>,
    /// Overrides the business's schedule.
    pub schedule: Option<Schedule>,
    pub created_at: Timestamp,
}

/// Random characters of a key.
pub const KEY_SECRET_CHARS: usize = 32;
const KEY_CHECKSUM_CHARS: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Makes a key's text from random bytes. Bytes over 247 are skipped so that every character is
/// equally likely; `None` when too few are left, then ask again with fresh ones (64 bytes fail
/// less than once in 10^20).
pub fn key_text(mode: Mode, random: &[u8]) -> Option<String> {
    let secret: String = random
        .iter()
        .filter(|byte| **byte < 248)
        .take(KEY_SECRET_CHARS)
        .map(|byte| char::from(BASE62[usize::from(byte % 62)]))
        .collect();
    if secret.len() < KEY_SECRET_CHARS {
        return None;
    }
    let body = format!("tb_{}_{secret}", mode.as_str());
    let checksum = key_checksum(&body);
    Some(body + &checksum)
}

fn key_checksum(body: &str) -> String {
    let digest = Sha256::digest(body.as_bytes());
    digest[..KEY_CHECKSUM_CHARS].iter().map(|byte| char::from(BASE62[usize::from(byte % 62)])).collect()
}

/// The mode of a well-formed key; `None` for any text that cannot be a key of ours.
pub fn key_mode(text: &str) -> Option<Mode> {
    let mode = Mode::parse(text.strip_prefix("tb_")?.split('_').next()?)?;
    if !text.is_ascii() || text.len() < 8 + KEY_SECRET_CHARS + KEY_CHECKSUM_CHARS || text.len() > 128 {
        return None;
    }
    let (body, checksum) = text.split_at(text.len() - KEY_CHECKSUM_CHARS);
    let secret = &body["tb_live_".len()..];
    let plain = secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (plain && checksum == key_checksum(body)).then_some(mode)
}

/// What the database keeps of a key.
pub fn key_hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyRights {
    /// Look at payments: for reports, and for programs of others.
    Read,
    /// Everything, reading included.
    Write,
}

impl KeyRights {
    pub const ALL: [KeyRights; 2] = [KeyRights::Read, KeyRights::Write];

    pub fn as_str(self) -> &'static str {
        match self {
            KeyRights::Read => "read",
            KeyRights::Write => "write",
        }
    }

    pub fn parse(word: &str) -> Option<KeyRights> {
        KeyRights::ALL.into_iter().find(|rights| rights.as_str() == word)
    }
}

/// What a new key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyScope {
    pub mode: Mode,
    pub rights: KeyRights,
}

impl From<Mode> for KeyScope {
    /// May do everything in its mode.
    fn from(mode: Mode) -> KeyScope {
        KeyScope { mode, rights: KeyRights::Write }
    }
}

/// An API key's row.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiKey {
    pub id: i64,
    pub business_id: i64,
    /// First characters, for people to tell keys apart.
    pub hint: String,
    pub label: Option<String>,
    pub mode: Mode,
    pub rights: KeyRights,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
}

/// What a key is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    Active,
    /// By a person, whether or not it has expired since.
    Revoked,
    Expired,
}

impl KeyState {
    pub fn as_str(self) -> &'static str {
        match self {
            KeyState::Active => "active",
            KeyState::Revoked => "revoked",
            KeyState::Expired => "expired",
        }
    }
}

impl ApiKey {
    pub fn state_at(&self, now: Timestamp) -> KeyState {
        match (self.revoked_at, self.expires_at) {
            (Some(_), _) => KeyState::Revoked,
            (None, Some(end)) if now >= end => KeyState::Expired,
            (None, _) => KeyState::Active,
        }
    }

    pub fn is_live_at(&self, now: Timestamp) -> bool {
        self.state_at(now) == KeyState::Active
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_knows_its_own_form() {
        let key = key_text(Mode::Test, &[7; 64]).unwrap();
        assert!(key.starts_with("tb_test_") && key.len() == 46, "{key}");
        assert_eq!(key_mode(&key), Some(Mode::Test));
        assert_eq!(key_mode(&key.replace("test", "live")), None);
        for cut in 0..key.len() {
            assert_eq!(key_mode(&key[..cut]), None, "{cut}");
        }
        let mut other = key.clone();
        other.replace_range(10..11, "Z");
        assert_eq!(key_mode(&other), None);
        assert_eq!(key_mode("tb_live_ü"), None);
        assert_eq!(key_text(Mode::Live, &[255; 64]), None);
    }

    #[test]
    fn an_expired_or_revoked_key_is_dead() {
        let key = ApiKey {
            id: 1,
            business_id: 1,
            hint: String::new(),
            label: None,
            mode: Mode::Live,
            rights: KeyRights::Write,
            created_at: Timestamp(0),
            expires_at: Some(Timestamp(10)),
            revoked_at: None,
            last_used_at: None,
        };
        assert!(key.is_live_at(Timestamp(9)) && !key.is_live_at(Timestamp(10)));
        assert!(!ApiKey { revoked_at: Some(Timestamp(1)), ..key }.is_live_at(Timestamp(5)));
    }
}
