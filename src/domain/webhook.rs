//! Rules of a webhook delivery: when to try again, how a body is signed, what success is.
//!
//! Signing follows Standard Webhooks 1.0. Nothing here sends, waits or draws randomness:
//! the time, the random bytes and the answer's headers are arguments. Used by the worker
//! that delivers (`crate::work`), by ops that make secrets, and by the demo's receiver.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::{Zeroize, Zeroizing};

use super::time::{Span, Timestamp};

/// Wait before each attempt, counted from the end of the one before; the first goes at once.
pub const RETRY_SCHEDULE: [Span; 10] = [
    Span(0),
    Span::seconds(5),
    Span::minutes(5),
    Span::minutes(30),
    Span::hours(2),
    Span::hours(5),
    Span::hours(10),
    Span::hours(14),
    Span::hours(20),
    Span::hours(24),
];
/// The longest wait a receiver can ask for with Retry-After.
pub const MAX_RETRY_AFTER: Span = Span::hours(24);
/// Jitter adds at most one part in this many to a wait.
const JITTER_PART: i64 = 10;

/// Sizes of a signing key in bytes, as Standard Webhooks asks.
const MIN_KEY_BYTES: usize = 24;
const MAX_KEY_BYTES: usize = 64;
const SECRET_PREFIX: &str = "whsec_";

/// When to try again after attempt number `attempt` (1 is the first) failed at `now`; `None`
/// when it was the last of the schedule. `retry_after` is the header as it came and can only
/// lengthen the wait, to 24 h at most; `jitter` is any random number and adds up to a tenth.
pub fn next_attempt(
    schedule: &[Span],
    attempt: u32,
    now: Timestamp,
    retry_after: Option<&str>,
    jitter: u64,
) -> Option<Timestamp> {
    let wait = *schedule.get(usize::try_from(attempt).ok()?)?;
    let spread = u128::try_from(wait.0 / JITTER_PART).unwrap_or(0) + 1;
    let added = i64::try_from((u128::from(jitter) * spread) >> 64).unwrap_or(0);
    let planned = Span(wait.0.saturating_add(added));
    let asked = retry_after.and_then(|text| asked_wait(text, now)).unwrap_or_default();
    Some(now + planned.max(asked))
}

/// The wait a Retry-After header asks for: seconds or an HTTP date. `None` for anything else.
fn asked_wait(text: &str, now: Timestamp) -> Option<Span> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        // Digits beyond an i64 mean "very long" and are capped like any other.
        let seconds = text.parse::<i64>().unwrap_or(i64::MAX);
        return Some(Span::seconds(seconds.min(MAX_RETRY_AFTER.0 / 1_000_000)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let since_1970 = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    let at = Timestamp(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX));
    Some(at.since(now).min(MAX_RETRY_AFTER))
}

/// What the answer to an attempt means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// Any 2xx, whatever becomes of the body behind it: done.
    Delivered,
    /// 410: the receiver wants nothing more; its target is paused, its events wait.
    Gone,
    /// Everything else, redirects and no answer included: try again by the schedule.
    Failed,
}

/// Judges an answer by its status, the receiver's own word; `None` when no whole head came. How the connection
/// ends after that says nothing about whether the event was taken.
pub const fn judge(status: Option<u16>) -> DeliveryOutcome {
    match status {
        Some(200..=299) => DeliveryOutcome::Delivered,
        Some(410) => DeliveryOutcome::Gone,
        _ => DeliveryOutcome::Failed,
    }
}

/// A signing key. Its text form is `whsec_` and the key in base64; never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    key: Zeroizing<Vec<u8>>,
}

/// Why a text is no secret; says nothing of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretProblem {
    /// It does not begin with `whsec_`.
    NoPrefix,
    /// What follows is not standard base64.
    NotBase64,
    /// The key has fewer than 24 or more than 64 bytes.
    Length,
}

impl Secret {
    /// A fresh secret from 32 random bytes.
    pub fn from_random(mut bytes: [u8; 32]) -> Secret {
        let secret = Secret { key: Zeroizing::new(bytes.to_vec()) };
        bytes.zeroize();
        secret
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Secret, SecretProblem> {
        let encoded = text.trim().strip_prefix(SECRET_PREFIX).ok_or(SecretProblem::NoPrefix)?;
        let key = Zeroizing::new(STANDARD.decode(encoded).map_err(|_| SecretProblem::NotBase64)?);
        if !(MIN_KEY_BYTES..=MAX_KEY_BYTES).contains(&key.len()) {
            return Err(SecretProblem::Length);
        }
        Ok(Secret { key })
    }

    /// The text form, to be shown to the merchant or encrypted for storage.
    pub fn text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(SECRET_PREFIX.to_owned());
        STANDARD.encode_string(self.key.as_slice(), &mut text);
        text
    }

    fn sign(&self, id: &str, timestamp_seconds: i64, body: &[u8]) -> Option<String> {
        // HMAC takes a key of any length; the refusal exists only in its type.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        mac.update(format!("{id}.{timestamp_seconds}.").as_bytes());
        mac.update(body);
        Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(whsec_...)")
    }
}

/// The `webhook-signature` header: one `v1,` signature for each secret, in their order, with a
/// space between (two while a secret is being rotated). `id` and `timestamp_seconds` are the
/// values of `webhook-id` and `webhook-timestamp`, `body` the very bytes that are sent.
pub fn sign(secrets: &[Secret], id: &str, timestamp_seconds: i64, body: &[u8]) -> String {
    let signed: Vec<String> =
        secrets.iter().filter_map(|secret| secret.sign(id, timestamp_seconds, body)).collect();
    signed.join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp(1_780_000_000_000_000);

    fn wait(attempt: u32, retry_after: Option<&str>, jitter: u64) -> Option<i64> {
        next_attempt(&RETRY_SCHEDULE, attempt, NOW, retry_after, jitter).map(|at| at.since(NOW).0)
    }

    #[test]
    fn waits_grow_by_the_schedule_and_end() {
        let seconds = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
        for (attempt, expected) in (1..).zip(seconds) {
            assert_eq!(wait(attempt, None, 0), Some(expected * 1_000_000));
            assert_eq!(wait(attempt, None, u64::MAX), Some(expected * 1_100_000));
        }
        assert_eq!(wait(10, None, 0), None);
        assert_eq!(wait(10, Some("60"), 0), None);
        assert_eq!(wait(u32::MAX, None, 0), None);
        assert_eq!(wait(0, None, u64::MAX), Some(0));
    }

    #[test]
    fn retry_after_only_lengthens() {
        let day = 86_400_000_000;
        assert_eq!(NOW.to_string(), "2026-05-28T20:26:40.000000Z");
        for (header, expected) in [
            ("60", 60_000_000),
            (" 60 ", 60_000_000),
            ("1", 5_000_000),
            ("0", 5_000_000),
            ("86401", day),
            ("99999999999999999999999999", day),
            ("Thu, 28 May 2026 20:28:40 GMT", 120_000_000),
            ("Thursday, 28-May-26 20:28:40 GMT", 120_000_000),
            ("Thu May 28 20:28:40 2026", 120_000_000),
            ("Fri, 31 Dec 9999 23:59:59 GMT", day),
            ("Thu, 28 May 2020 20:28:40 GMT", 5_000_000),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 5_000_000),
            ("-60", 5_000_000),
            ("1e3", 5_000_000),
            ("60.5", 5_000_000),
            ("", 5_000_000),
            ("soon", 5_000_000),
            ("\u{663}\u{660}", 5_000_000),
        ] {
            assert_eq!(wait(1, Some(header), 0), Some(expected), "{header}");
        }
        // The last wait is a day already; a receiver cannot shorten it.
        assert_eq!(wait(9, Some("10"), u64::MAX), Some(day + day / 10));
    }

    #[test]
    fn signs_like_the_published_vector() {
        let secret = Secret::parse("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD").unwrap();
        let body = br#"{"email":"test@example.com","username":"test_user"}"#;
        let signed = sign(&[secret], "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1_649_367_553, body);
        assert_eq!(signed, "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
    }

    #[test]
    fn both_secrets_verify_during_a_rotation() {
        #[allow(clippy::disallowed_methods, reason = "the official verifier insists on the present time")]
        let now = jiff::Timestamp::now().as_second();
        let (old, new) = (Secret::from_random([3; 32]), Secret::from_random([9; 32]));
        let body = br#"{"event":"payment.approved","amount":1250.00}"#;
        let mut headers = http::HeaderMap::new();
        headers.insert("webhook-id", "evt_77".parse().unwrap());
        headers.insert("webhook-timestamp", now.to_string().parse().unwrap());
        let signature = sign(&[new.clone(), old.clone()], "evt_77", now, body);
        assert_eq!(signature.split(' ').count(), 2);
        headers.insert("webhook-signature", signature.parse().unwrap());
        for secret in [&old, &new] {
            let official = standardwebhooks::Webhook::new(&secret.text()).unwrap();
            official.verify(body, &headers).unwrap();
            assert!(official.verify(b"{}", &headers).is_err());
        }
        let stranger = Secret::from_random([4; 32]);
        assert!(standardwebhooks::Webhook::new(&stranger.text()).unwrap().verify(body, &headers).is_err());
        assert_eq!(sign(&[], "evt_77", now, body), "");
    }

    #[test]
    fn secrets_have_one_form_and_keep_quiet() {
        let secret = Secret::from_random([7; 32]);
        assert_eq!(*secret.text(), "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
        assert_eq!(Secret::parse(&secret.text()), Ok(secret.clone()));
        assert_eq!(format!("{secret:?}"), "Secret(whsec_...)");
        assert_eq!(Secret::parse("BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH"), Err(SecretProblem::NoPrefix));
        assert_eq!(Secret::parse("whsec_***"), Err(SecretProblem::NotBase64));
        assert_eq!(Secret::parse("whsec_BwcH"), Err(SecretProblem::Length));
    }

    #[test]
    fn only_2xx_is_success_and_410_is_for_good() {
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(judge(Some(status)), DeliveryOutcome::Delivered);
        }
        for status in [100, 199, 300, 301, 302, 307, 308, 400, 404, 409, 411, 429, 500, 503, 600] {
            assert_eq!(judge(Some(status)), DeliveryOutcome::Failed);
        }
        assert_eq!(judge(Some(410)), DeliveryOutcome::Gone);
        assert_eq!(judge(None), DeliveryOutcome::Failed);
    }

    proptest! {
        #[test]
        fn a_wait_is_never_shorter_than_planned_nor_longer_than_allowed(
            attempt in 1u32..10, header in proptest::option::of(".{0,30}|[0-9]{1,25}"), jitter: u64,
        ) {
            let planned = RETRY_SCHEDULE[attempt as usize].0;
            let waited = wait(attempt, header.as_deref(), jitter).unwrap();
            prop_assert!(waited >= planned);
            prop_assert!(waited <= (planned + planned / 10).max(MAX_RETRY_AFTER.0));
        }
    }
}
