//! Codes of an authenticator app (RFC 6238: SHA-1, six digits, 30 seconds), as every app makes them, and recovery codes.
//! Pure; who keeps the secret, and that a code counts once, is `ops::people`'s to see to.

use totp_rs::{Algorithm, Builder, Totp};
use zeroize::Zeroizing;

use super::time::Timestamp;

/// Bytes of a secret, RFC 4226 4 R6.
pub const SECRET_BYTES: usize = 20;
/// Seconds of a step.
const STEP: u64 = 30;
/// Steps that a phone's clock may be off, to either side.
const SKEW: u16 = 1;
/// Recovery codes of one user.
pub const RECOVERY_CODES: usize = 10;
/// Random bytes of one: 50 bits are shown.
pub const RECOVERY_BYTES: usize = 10;
/// Letters and digits that nobody mistakes for one another.
const ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";

fn totp(secret: &[u8], issuer: &str, email: &str) -> Option<Totp> {
    // A colon would end the issuer in the address.
    let issuer: String = issuer.chars().filter(|c| *c != ':').collect();
    Builder::new()
        .with_algorithm(Algorithm::SHA1)
        .with_digits(6)
        .with_step_duration(STEP)
        .with_skew(SKEW)
        .with_secret(secret.to_vec())
        .with_issuer(Some(issuer))
        .with_account_name(email.to_owned())
        .build()
        .ok()
}

/// The step that a code is of, if it is one of this secret at about this time. Spaces in it are the person's.
pub fn step_of(secret: &[u8], code: &str, now: Timestamp) -> Option<i64> {
    let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let is_code = code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = u64::try_from(now.0 / 1_000_000).ok()?;
    let step = totp(secret, "", "x").filter(|_| is_code)?.check(&code, seconds)?;
    i64::try_from(step).ok()
}

/// The address that an app reads from a QR code, `otpauth://totp/...`.
pub fn address(secret: &[u8], issuer: &str, email: &str) -> Option<Zeroizing<String>> {
    totp(secret, issuer, email)?.to_url().ok().map(Zeroizing::new)
}

/// A recovery code of random bytes: `abcde-fghjk`.
pub fn recovery_code(random: &[u8; RECOVERY_BYTES]) -> Zeroizing<String> {
    let letter = |byte: &u8| char::from(ALPHABET[usize::from(byte % 32)]);
    let (first, second) = random.split_at(RECOVERY_BYTES / 2);
    let part = |bytes: &[u8]| bytes.iter().map(letter).collect::<String>();
    Zeroizing::new(format!("{}-{}", part(first), part(second)))
}

/// A recovery code as it was typed, in the form in which it was made.
pub fn normal_recovery_code(typed: &str) -> Option<Zeroizing<String>> {
    let code: String =
        typed.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let code = Zeroizing::new(code);
    (code.len() == RECOVERY_BYTES).then(|| Zeroizing::new(format!("{}-{}", &code[..5], &code[5..])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Span;

    /// RFC 6238 appendix B, of which six digits are shown.
    const SECRET: &[u8; SECRET_BYTES] = b"12345678901234567890";

    #[test]
    fn codes_are_those_of_the_rfc() {
        for (seconds, code) in [(59, "287082"), (1_111_111_109, "081804"), (2_000_000_000, "279037")] {
            let now = Timestamp(0) + Span::seconds(seconds);
            assert_eq!(step_of(SECRET, code, now), Some(seconds / 30), "{code}");
        }
        let at = |seconds| step_of(SECRET, "081 804", Timestamp(0) + Span::seconds(seconds));
        let step = Some(1_111_111_109 / 30);
        assert_eq!((at(1_111_111_109 - 30), at(1_111_111_109 + 30)), (step, step), "clocks differ");
        assert_eq!((at(1_111_111_109 - 60), at(1_111_111_109 + 62)), (None, None));
        for wrong in ["", "28708", "2870820", "28708a", "-87082", "+87082", "２８７０８２"] {
            assert_eq!(step_of(SECRET, wrong, Timestamp(59_000_000)), None, "{wrong}");
        }
    }

    #[test]
    fn an_app_is_told_whose_code_it_is() {
        let address = address(SECRET, "Kudu: Pay", "halima@kudu.example").unwrap();
        assert!(
            address.starts_with("otpauth://totp/Kudu%20Pay:halima%40kudu.example?secret="),
            "{}",
            *address
        );
        assert!(address.contains("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"), "{}", *address);
    }

    #[test]
    fn recovery_codes_are_read_as_people_type_them() {
        let code = recovery_code(&[0, 1, 2, 3, 4, 31, 32, 33, 255, 128]);
        assert_eq!(code.as_str(), "abcde-9ab9a");
        assert_eq!(normal_recovery_code(" ABCDE 9ab9a").as_deref(), Some(&code.to_string()));
        assert_eq!((normal_recovery_code("abcde-9ab9"), normal_recovery_code("")), (None, None));
        let mut letters = ALPHABET.to_vec();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), 32);
    }
}
