//! What an order reference may hold: it stands in the middle of our own messages, so it is an id and no text. And what
//! the summary of an order may not ask for: it stands on the page where the PIN is entered.
//!
//! Who writes in our name is refused in `impostor`; here also what would make our message ask for a secret, or
//! for a call to somebody else.

use super::impostor::{Impostor, check_direction, check_hosts, check_line, folded};
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
    if holds_phone(&folded) { Err(Impostor::Phone) } else { Ok(()) }
}

/// Words between a secret's name and what the secret would be told to.
const NEAR_WORDS: usize = 12;
/// Pins that are sold.
const SOLD_PINS: [&str; 17] = [
    "bobby", "bowling", "cotter", "drawing", "enamel", "hair", "hat", "hijab", "lapel", "push", "rolling",
    "safety", "scarf", "split", "straight", "tie", "veil",
];

/// Refuses a summary that asks for a secret: the name of one near a phone number or a link. A number alone may be where
/// the order is delivered to.
pub fn check_summary(text: &str) -> Result<(), Impostor> {
    check_direction(text)?;
    let folded = folded(text);
    let words: Vec<&str> = folded.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        if !names_secret(word, before) {
            continue;
        }
        let near = &words[at.saturating_sub(NEAR_WORDS)..(at + NEAR_WORDS + 1).min(words.len())];
        let near = near.join(" ");
        let has_link = near.contains("://") || near.contains("www.") || check_hosts(&near).is_err();
        if has_link || holds_phone(&near) {
            return Err(Impostor::Lure);
        }
    }
    Ok(())
}

/// A folded word is a secret's name, and no ware.
fn names_secret(word: &str, before: &str) -> bool {
    let mut sold = before.rsplit(|c: char| !c.is_alphanumeric()).find(|part| !part.is_empty()).unwrap_or("");
    for part in word.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        let is_ware = part == "pins" || (part == "pin" && SOLD_PINS.contains(&sold));
        if is_secret(part) && !is_ware {
            return true;
        }
        sold = part;
    }
    // P.I.N.
    word.contains('.') && is_secret(&word.replace(|c: char| !c.is_alphanumeric(), ""))
}

/// A phone number, however it is grouped.
fn holds_phone(folded: &str) -> bool {
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
                    return true;
                }
            }
        }
    }
    false
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
    fn a_summary_asks_for_no_secret() {
        for bad in [
            "Call 08030001111 to confirm your PIN before paying",
            "Visit http://evil.example/pay and enter PIN",
            "send your P.I.N. to +234 803 000 1111",
            "Your ｏｔｐ:\nshop.com/otp",
            "www.shop wants the\npassword",
            "rolling pin\nenter your PIN at shop.com",
            "0803 000 1111\n\nask there for the wallet-pin",
        ] {
            assert_eq!(check_summary(bad), Err(Impostor::Lure), "{bad:?}");
        }
        let far = format!("1 x pin\n{}\nCall 08030001111", "yard of lace\n".repeat(5));
        for good in [
            "2 x ankara\nDelivery to 0803 000 1111",
            "1 x hair pin (12), 2 x Rolling-Pin\nDelivery: 08030001111",
            "50 safety pins, www.shop.com",
            "Password manager, 1 year",
            "1 x PIN pad, 12,000.00",
            far.as_str(),
        ] {
            assert_eq!(check_summary(good), Ok(()), "{good:?}");
        }
        assert_eq!(check_summary("a\u{202e}b"), Err(Impostor::Turned));
    }

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
