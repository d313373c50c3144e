//! DKIM: which signatures of a mail are in a bank's name, and whether a key verifies them.
//!
//! mail-auth does the canonical forms, the body hashes and the check of a signature. What it leaves to its
//! caller, or does too leniently for money, is here: alignment, `l=`, SHA-1, short, revoked and test keys,
//! times by our own clock, tags given twice, fields given twice. No network: keys come from `dns`. Blocking
//! work of bounded size; called by `mail_proof` alone.

use futures_util::FutureExt;
use mail_auth::common::crypto::CryptoError;
use mail_auth::common::parse::TxtRecordParser;
use mail_auth::common::verify::DomainKey;
use mail_auth::{AuthenticatedMessage, Error};
use sha2::{Digest, Sha256};

use crate::alert_reader::Bank;
use crate::alert_reader::head::Header;
use crate::domain::time::{Span, Timestamp};

/// Signatures of one mail that are checked, from the top.
pub const MAX_SIGNATURES: usize = 5;
/// Entries of one `h=`; each is compared with all fields.
const MAX_SIGNED_FIELDS: usize = 100;
/// Tags of one signature or key record.
const MAX_TAGS: usize = 50;
/// How far a signer's clock may be ahead of ours.
const SKEW: Span = Span::minutes(5);
/// Shorter RSA keys can be broken by anybody.
const MIN_RSA_BITS: usize = 1024;
const CHANGED: &str = "the body is not what was signed";
/// Longer names do not exist in DNS.
const MAX_NAME: usize = 253;

/// Fields that must not be there twice if a signature is to count: a reader could use the other one.
const ONCE: [&str; 6] = ["From", "Subject", "Date", "To", "Content-Type", "Content-Transfer-Encoding"];

/// A signature in the bank's own name that counts if its key verifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Which of the mail's DKIM-Signature fields, from the top.
    place: usize,
    pub domain: String,
    pub selector: String,
    /// Names in `h=`, lower case.
    pub signed: Vec<String>,
    /// The body is what was signed.
    pub is_body_intact: bool,
    /// Why its times rule it out, if they do.
    untimely: Option<String>,
}

impl Signature {
    /// Where the key lies in DNS.
    pub fn key_name(&self) -> String {
        format!("{}._domainkey.{}.", self.selector, self.domain)
    }

    pub fn covers(&self, field: &str) -> bool {
        self.signed.iter().any(|name| name.eq_ignore_ascii_case(field))
    }

    /// Neither expired nor from the future when the mail was first seen.
    pub fn is_timely(&self) -> bool {
        self.untimely.is_none()
    }

    /// Some key could make it a proof.
    pub fn can_hold(&self) -> bool {
        self.is_body_intact && self.untimely.is_none()
    }

    /// What follows where no key could.
    pub fn without_key(&self) -> Verification {
        let by = |why: &str| format!("DKIM signature by {}: {why}", self.domain);
        match &self.untimely {
            _ if !self.is_body_intact => Verification::Bad(by(CHANGED)),
            Some(why) => Verification::Unusable(by(why)),
            None => Verification::Unusable(by("it was not checked")),
        }
    }
}

/// The bank's own signatures of one mail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    pub usable: Vec<Signature>,
    /// Why the others do not count.
    pub notes: Vec<String>,
    /// There are signatures that do not count and may be in the bank's name all the same, or whose
    /// names could be written down as something else: when a provider says that one of the bank's
    /// holds, it may mean one of these.
    pub has_others: bool,
}

/// The result of checking a signature with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verification {
    /// It is the bank's; SHA-256 of the key, in hexadecimal.
    Good { key: String },
    /// The bank's key says that this is not what was signed.
    Bad(String),
    /// Its key was taken back. RFC 6376 (3.6.1) has it mean no more than a key that is no longer there.
    Revoked(String),
    /// Nothing follows from it: a key that may not be used, a time that is over.
    Unusable(String),
}

impl Verification {
    /// Why it proves nothing.
    pub fn words(self) -> Option<String> {
        match self {
            Verification::Good { .. } => None,
            Verification::Bad(why) | Verification::Revoked(why) | Verification::Unusable(why) => Some(why),
        }
    }
}

/// Whether `domain` is one the bank signs with, and `from` is of that domain or below it.
pub fn is_aligned(domain: &str, from: &str, bank: &Bank) -> bool {
    let Some((_, of)) = from.rsplit_once('@') else { return false };
    bank.dkim_domains.iter().any(|listed| listed == domain)
        && (of == domain || of.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')))
}

/// Finds the signatures made in the name of `bank` for a mail from the address `from` (lower case).
/// `now` is our first sight of the mail.
pub fn examine(wire: &[u8], head: &Header<'_>, bank: &Bank, from: &str, now: Timestamp) -> Examined {
    let mut found = Examined::default();
    let fields: Vec<&[u8]> = head.named("DKIM-Signature").map(|(_, field)| field.value).collect();
    if fields.is_empty() {
        found.notes.push("it has no DKIM signature".into());
        return found;
    }
    if let Some(twice) = ONCE.iter().find(|name| head.count(name) > 1) {
        found.notes.push(format!("it has several {twice} headers, so its signatures prove nothing"));
        return found;
    }
    let Some(message) = AuthenticatedMessage::parse(wire) else {
        found.notes.push("its DKIM signatures cannot be parsed".into());
        return found;
    };
    if fields.len() > MAX_SIGNATURES {
        found.has_others = true;
        found.notes.push(format!("only the first {MAX_SIGNATURES} signatures were checked"));
    }
    for (place, value) in fields.iter().take(MAX_SIGNATURES).enumerate() {
        found.has_others |= !reads_one_way(value);
        match acceptable(value, bank, from, now) {
            Ok(mut signature) => match bodies(&message, value, &signature) {
                Ok(is_intact) => {
                    signature.place = place;
                    signature.is_body_intact = is_intact;
                    found.usable.push(signature);
                }
                Err(why) => {
                    found.has_others = true;
                    found.notes.push(why);
                }
            },
            Err(why) => {
                found.has_others |= !is_a_strangers(value, bank, from);
                found.notes.push(why);
            }
        }
    }
    found
}

/// Surely not in the bank's name.
fn is_a_strangers(value: &[u8], bank: &Bank, from: &str) -> bool {
    let tags = Tags::parse(value).ok();
    let domain = tags.as_ref().and_then(|tags| tags.get("d")).map(str::to_ascii_lowercase);
    domain.is_some_and(|domain| !is_aligned(&domain, from, bank))
}

/// Its names are plain enough that a program that repeats them, carefully or not, writes nothing but names.
fn reads_one_way(value: &[u8]) -> bool {
    let is_plain = |c: char| c.is_ascii_graphic() && !"()<>[],;:\\\"".contains(c);
    Tags::parse(value).is_ok_and(|tags| {
        ["d", "s", "i"].iter().filter_map(|name| tags.raw(name)).all(|text| text.chars().all(is_plain))
    })
}

/// The signature as its tags tell it, if it may count at all.
fn acceptable(value: &[u8], bank: &Bank, from: &str, now: Timestamp) -> Result<Signature, String> {
    let tags = Tags::parse(value).map_err(|why| format!("a DKIM signature {why}"))?;
    let need = |name: &str| tags.get(name).ok_or_else(|| format!("a DKIM signature has no {name}= tag"));
    let domain = need("d")?.to_ascii_lowercase();
    if !is_aligned(&domain, from, bank) {
        let shown: String = domain.chars().filter(|c| c.is_ascii_graphic()).take(80).collect();
        return Err(format!("signed by {shown}, which may not sign for {from}"));
    }
    let by = |why: &str| Err(format!("DKIM signature by {domain} does not count: {why}"));
    let selector = need("s")?.to_ascii_lowercase();
    let signed: Vec<String> = need("h")?.split(':').map(str::to_ascii_lowercase).collect();
    if need("v")? != "1" {
        return by("its version is unknown");
    }
    if tags.get("l").is_some() {
        return by("it covers only part of the body (l=)");
    }
    if !matches!(need("a")?.to_ascii_lowercase().as_str(), "rsa-sha256" | "ed25519-sha256") {
        return by("its algorithm is not accepted (SHA-1 or unknown)");
    }
    if !is_host_name(&selector) || selector.len() + domain.len() > MAX_NAME - 14 {
        return by("its selector is not a valid host name");
    }
    if tags.get("q").is_some_and(|q| !q.split(':').any(|way| way.eq_ignore_ascii_case("dns/txt"))) {
        return by("its q= tag does not allow a DNS lookup");
    }
    if signed.len() > MAX_SIGNED_FIELDS {
        return by("it lists too many headers");
    }
    if !signed.iter().any(|name| name == "from") {
        return by("it does not cover From");
    }
    let time = |name: &str| match tags.get(name) {
        None => Ok(None),
        Some(text) => text.parse::<i64>().map(Some).map_err(|_| format!("its {name}= is not a time")),
    };
    let untimely = match (time("t"), time("x")) {
        (Err(why), _) | (_, Err(why)) => return by(&why),
        (Ok(made), Ok(until)) => untimely(made, until, now),
    };
    Ok(Signature { place: 0, domain, selector, signed, is_body_intact: false, untimely })
}

/// Times are whole seconds; everything is compared with our clock.
fn untimely(made: Option<i64>, until: Option<i64>, now: Timestamp) -> Option<String> {
    let now_seconds = now.0.div_euclid(1_000_000);
    if made.is_some_and(|made| made > now_seconds.saturating_add(SKEW.0 / 1_000_000)) {
        return Some("its time is in the future".into());
    }
    if let Some(until) = until {
        if until <= now_seconds {
            return Some("it has expired".into());
        }
        if made.is_some_and(|made| until < made) {
            return Some("it expires before it was made".into());
        }
    }
    None
}

/// Labels of letters, digits, `-` and `_`: no NUL, no space, nothing that a name server could be
/// made to read otherwise.
fn is_host_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    text.split('.').all(|label| (1..=63).contains(&label.len()) && label.bytes().all(plain))
}

/// Whether the body is what was signed. The error: the library reads the signature otherwise than
/// we do, so that it must not count.
fn bodies(message: &AuthenticatedMessage<'_>, value: &[u8], own: &Signature) -> Result<bool, String> {
    let unlike =
        || format!("DKIM signature by {} does not count: it can be read in more than one way", own.domain);
    // The same bytes in the same place, not only the same text.
    let header = message.dkim_headers.iter().find(|h| std::ptr::eq(h.value, value)).ok_or_else(unlike)?;
    let theirs = &header.header;
    let same_fields = theirs.h.len() == own.signed.len()
        && theirs.h.iter().zip(&own.signed).all(|(a, b)| a.eq_ignore_ascii_case(b));
    let same = theirs.d.eq_ignore_ascii_case(&own.domain) && theirs.s.eq_ignore_ascii_case(&own.selector);
    if !same || !same_fields || theirs.l != 0 {
        return Err(unlike());
    }
    let hash = mail_auth::common::crypto::HashAlgorithm::Sha256;
    let body = message.body_hashes.iter().find(|(c, h, _, _)| *c == theirs.cb && *h == hash);
    Ok(body.is_some_and(|(_, _, _, ours)| *ours == theirs.bh))
}

/// Checks one signature with the TXT records found under its key's name.
pub fn verify(wire: &[u8], signature: &Signature, records: &[Vec<u8>]) -> Verification {
    let by = |why: &str| format!("DKIM signature by {}: {why}", signature.domain);
    let tags = match only_key(records) {
        Ok(tags) if tags.get("p") == Some("") => return Verification::Revoked(by("its key was revoked")),
        Ok(tags) => tags,
        Err(why) => return Verification::Unusable(by(why)),
    };
    let (record, key) = match usable_key(&tags) {
        Ok(found) => found,
        Err(why) => return Verification::Unusable(by(&why)),
    };
    if !signature.is_body_intact {
        return Verification::Bad(by(CHANGED));
    }
    let Some(mut message) = AuthenticatedMessage::parse(wire) else {
        return Verification::Unusable(by("it cannot be parsed"));
    };
    let Some(value) = nth_signature(&message, signature.place) else {
        return Verification::Unusable(by("it was not found when the mail was parsed again"));
    };
    message.dkim_headers.retain(|header| std::ptr::eq(header.value, value));
    let Some(header) = message.dkim_headers.first_mut() else {
        return Verification::Unusable(by("it was not found when the mail was parsed again"));
    };
    // Judged above, by our own clock.
    (header.header.x, header.header.t) = (0, 0);
    let (a, b, i) = (header.header.a, header.header.b.clone(), header.header.i.clone());
    if !i.is_empty() && !is_within(&i, &signature.domain) {
        return Verification::Unusable(by("its i= tag names another domain"));
    }
    let canonical = match message.get_canonicalized_header().now_or_never() {
        Some(Ok(canonical)) => canonical,
        _ => return Verification::Unusable(by("it cannot be parsed")),
    };
    match record.p.verify_bytes(&canonical, &b, a) {
        Err(Error::Crypto(CryptoError::IncompatibleAlgorithms)) => {
            Verification::Unusable(by("its key does not fit its algorithm"))
        }
        Err(_) => Verification::Bad(by("it fails, the mail is not what was signed")),
        Ok(()) => match &signature.untimely {
            Some(why) => Verification::Unusable(by(why)),
            None => Verification::Good { key },
        },
    }
}

fn nth_signature<'m>(message: &AuthenticatedMessage<'m>, place: usize) -> Option<&'m [u8]> {
    let mut all = message.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"dkim-signature"));
    all.nth(place).map(|(_, value)| *value)
}

/// The identity in `i=` is of the domain or below it.
pub fn is_within(identity: &str, domain: &str) -> bool {
    let of = identity.rsplit_once('@').map_or("", |(_, of)| of).to_ascii_lowercase();
    of == domain || of.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

/// The one key among the records.
fn only_key(records: &[Vec<u8>]) -> Result<Tags, &'static str> {
    let mut keys: Vec<Tags> = records
        .iter()
        .filter_map(|record| Tags::parse(record).ok())
        .filter(|tags| tags.get("p").is_some())
        .collect();
    match (keys.pop(), keys.is_empty()) {
        (Some(tags), true) => Ok(tags),
        (Some(_), false) => Err("DNS has several keys for it"),
        (None, _) => Err("its DNS record is not a DKIM key"),
    }
}

/// The key, if it may be used, and its hash.
fn usable_key(tags: &Tags) -> Result<(DomainKey, String), String> {
    let listed = |name: &str, wanted: &[&str]| {
        tags.get(name).is_none_or(|list| list.split(':').any(|one| wanted.contains(&one)))
    };
    let p = tags.get("p").unwrap_or_default();
    if tags.get("v").is_some_and(|v| v != "DKIM1") {
        return Err("its key record has an unknown version".into());
    }
    if tags.get("t").is_some_and(|flags| flags.split(':').any(|flag| flag == "y")) {
        return Err("its key is marked as a test key (t=y)".into());
    }
    if !listed("s", &["*", "email"]) || !listed("h", &["sha256"]) {
        return Err("its key may not be used for this kind of signature".into());
    }
    let record = DomainKey::parse(tags.text.as_bytes()).map_err(|_| "its key is invalid".to_owned())?;
    let is_rsa = tags.get("k").is_none_or(|k| k.eq_ignore_ascii_case("rsa"));
    if is_rsa && record.p.public_key_bits() < MIN_RSA_BITS {
        return Err(format!("its key is shorter than {MIN_RSA_BITS} bits"));
    }
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(p).map_err(|_| "its key is invalid")?;
    Ok((record, Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// `name=value` pairs (RFC 6376, 3.2), whitespace in values removed.
#[derive(Debug)]
struct Tags {
    list: Vec<(String, String)>,
    text: String,
}

impl Tags {
    /// The error completes "a signature ...".
    fn parse(value: &[u8]) -> Result<Tags, &'static str> {
        let text = std::str::from_utf8(value).map_err(|_| "is not text")?;
        if text.bytes().any(|b| b.is_ascii_control() && !b.is_ascii_whitespace()) {
            return Err("contains control characters");
        }
        let mut list: Vec<(String, String)> = Vec::new();
        for part in text.split(';').filter(|part| !part.trim().is_empty()) {
            let (name, value) = part.split_once('=').ok_or("has a tag without a value")?;
            let name = name.trim().to_owned();
            if list.len() >= MAX_TAGS || list.iter().any(|(known, _)| *known == name) {
                return Err("has the same tag twice, or too many tags");
            }
            list.push((name, value.split_ascii_whitespace().collect()));
        }
        Ok(Tags { list, text: text.to_owned() })
    }

    /// A value as it is written, with the whitespace inside it.
    fn raw(&self, name: &str) -> Option<&str> {
        let mut all = self.text.split(';').filter_map(|part| part.split_once('='));
        all.find(|(known, _)| known.trim() == name).map(|(_, value)| value.trim())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.list.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
