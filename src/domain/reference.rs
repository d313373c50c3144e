//! What an order reference may hold: it stands in the middle of our own messages, so it is an id and no text.
//!
//! Who writes in our name is refused in `impostor`; here also what would make our message ask for a secret, or
//! for a call to somebody else.

use super::impostor::{Impostor, check_hosts, check_line, folded};
use super::phone::Phone;

/// Digits of the longest way to write a number: `009 234 0` and ten more.
const PHONE_DIGITS_MAX: usize = 17;
/// Digits of the first group of a number that begins with 0: `080 3555 0142`.
const DIALLED_MIN: usize = 3;

/// Refuses an address in a reference, and what would make our own message ask for a secret or a call. One word
/// with dots is none but a reference (`INV.2026.NG`), of which messages make sure that no link becomes
/// (`message::unlinked`).
pub fn check_reference(text: &str) -> Result<(), Impostor> {
    check_line(text)?;
    check_words(text)?;
    let is_word = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    if is_word { Ok(()) } else { check_hosts(text) }
}

/// A reference stands in our own message, so it is an id and no text: no secret is named in it, and nobody is
/// asked to call or write.
fn check_words(text: &str) -> Result<(), Impostor> {
    let folded = folded(text);
    let mut dotted = folded.split(|c: char| !c.is_alphanumeric() && c != '.');
    let mut words = folded.split(|c: char| !c.is_alphanumeric());
    if words.any(is_secret) || dotted.any(|word| is_secret(&word.replace('.', ""))) {
        return Err(Impostor::SecretWord);
    }
    // Groups of digits, as far as nothing but what separates them is between.
    let is_between = |c: char| matches!(c, ' ' | '-' | '.' | '(' | ')' | '/' | '+');
    for run in folded.split(|c: char| !c.is_ascii_digit() && !is_between(c)) {
        let groups: Vec<&str> = run.split(is_between).filter(|group| !group.is_empty()).collect();
        for from in 0..groups.len() {
            if !is_dialled(groups[from]) {
                continue;
            }
            let mut digits = String::new();
            for group in &groups[from..] {
                digits.push_str(group);
                if digits.len() > PHONE_DIGITS_MAX {
                    break;
                }
                if Phone::parse(&digits).is_ok() {
                    return Err(Impostor::Phone);
                }
            }
        }
    }
    Ok(())
}

fn is_secret(word: &str) -> bool {
    matches!(word, "pin" | "pins" | "pincode" | "otp" | "otps" | "password" | "passwords")
}

/// As people begin a number. Ten digits alone may be an order's number, and `07-2026-12345` is one.
fn is_dialled(group: &str) -> bool {
    group.starts_with("234") || (group.starts_with('0') && group.len() >= DIALLED_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_leads_nowhere() {
        for good in ["INV.2026.NG", "shop.com", "A-7"] {
            assert_eq!(check_reference(good), Ok(()), "{good:?}");
        }
        for bad in ["A-7 shop.com", "shop.com/x", "http://x", "pay:shop.com", "ｓｈｏｐ．ｃｏｍ"] {
            assert!(check_reference(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_reference_names_no_secret_and_no_phone_number() {
        for bad in ["A-7. Tell us your PIN", "OTP-7", "A7/password", "ｐｉｎ 7", "P.I.N.", "send Раssword"]
        {
            assert_eq!(check_reference(bad), Err(Impostor::SecretWord), "{bad:?}");
        }
        for bad in [
            "A-7 call 08035550142",
            "08035550142",
            "+234 803 555 0142",
            "A7 0803-555-0142",
            "7 (0803) 555.0142",
            "tel08035550142",
            "2348035550142",
        ] {
            assert_eq!(check_reference(bad), Err(Impostor::Phone), "{bad:?}");
        }
        for good in [
            "PINK-7",
            "SPIN 7",
            "INV-2026-03-10-0001",
            "TXN-01KKBD4GC0QX7ZB3M9V5R2HNWE",
            "0000000000000",
            "8035550142",
            "INV-07-2026-12345",
            "Table 7, code A1",
            "260310080355501429",
        ] {
            assert_eq!(check_reference(good), Ok(()), "{good:?}");
        }
    }
}
