//! Nigerian mobile numbers, however people write them: one number, one value.
//!
//! Which prefixes are mobile is taken from libphonenumber's metadata for NG (version 9.0.33), whose
//! Rust port is the oracle of the tests. Other countries, landlines and service numbers are no phone
//! numbers here. A number is private: `Debug` shows it masked, and nothing here logs.
//!
//! Test mode has a hundred numbers that no network gives out. Each business has its own of them
//! (decisions/0089): what is kept of one is never another's, nor a real number's.

use std::fmt;

/// Digits of a national number, and the country's code before them.
const NATIONAL_DIGITS: usize = 10;
const COUNTRY: &str = "234";
/// A longer text is no number however it is read; libphonenumber has the same limit.
const TEXT_MAX: usize = 250;

/// How the numbers of test mode begin, behind the country's code; two digits follow.
const TEST_PREFIX: &str = "00000000";
/// How many there are.
pub const TEST_NUMBERS: i64 = 100;
/// How what is kept of such a number begins; the business and the number follow.
const TEST_KEY: &str = "test/";

/// A mobile number, as `2348031234567`, or one of a business's test numbers.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Phone {
    digits: String,
    test_of: Option<i64>,
}

/// Not a Nigerian mobile number; the text completes "The phone ...".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a Nigerian mobile number such as 08031234567 or +2348031234567")]
pub struct NotAMobile;

/// Not a number of test mode; the text completes "The phone ...".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a test number, from +2340000000000 to +2340000000099")]
pub struct NotATestNumber;

impl Phone {
    /// Reads `08031234567`, `+234 803 123 4567`, `234-803-123-4567`, `00234 (0) 803...`, `803 123 4567`.
    pub fn parse(text: &str) -> Result<Phone, NotAMobile> {
        let national = national_digits(text).ok_or(NotAMobile)?;
        let national = national.strip_prefix('0').unwrap_or(&national);
        if is_mobile(national) { Ok(Phone::real(national)) } else { Err(NotAMobile) }
    }

    /// Reads `+2340000000000` to `+2340000000099`, however they are written, as a number of the business.
    pub fn parse_test(text: &str, business_id: i64) -> Result<Phone, NotATestNumber> {
        let national = national_digits(text).ok_or(NotATestNumber)?;
        let trunkless = national.get(national.len().saturating_sub(NATIONAL_DIGITS)..).unwrap_or_default();
        let is_whole = national.len() == NATIONAL_DIGITS || national == format!("0{trunkless}");
        match is_whole && is_test(trunkless) {
            true => Ok(Phone { digits: format!("{COUNTRY}{trunkless}"), test_of: Some(business_id) }),
            false => Err(NotATestNumber),
        }
    }

    fn real(national: &str) -> Phone {
        Phone { digits: format!("{COUNTRY}{national}"), test_of: None }
    }

    /// The business whose test number it is; `None`: a real one.
    pub fn test_of(&self) -> Option<i64> {
        self.test_of
    }

    /// A business's test number: no message goes to it, and no money of it is real.
    pub fn is_test(&self) -> bool {
        self.test_of.is_some()
    }

    /// As answers show it: `+2348031234567`.
    pub fn e164(&self) -> String {
        format!("+{}", self.digits)
    }

    /// Digits alone, as messengers want it: `2348031234567`.
    pub fn digits(&self) -> &str {
        &self.digits
    }

    /// As it is hashed and sealed: the digits, or `test/7/2340000000001`.
    pub fn key(&self) -> String {
        match self.test_of {
            None => self.digits.clone(),
            Some(business_id) => format!("{TEST_KEY}{business_id}/{}", self.digits),
        }
    }

    /// Reads what [`Phone::key`] gave.
    pub fn from_key(key: &str) -> Option<Phone> {
        let Some(of) = key.strip_prefix(TEST_KEY) else { return Phone::from_digits(key) };
        let (business_id, digits) = of.split_once('/')?;
        is_test(digits.strip_prefix(COUNTRY)?).then_some(())?;
        Some(Phone { digits: digits.to_owned(), test_of: Some(business_id.parse().ok()?) })
    }

    /// Reads the [`Phone::digits`] of a real number.
    pub fn from_digits(digits: &str) -> Option<Phone> {
        let national = digits.strip_prefix(COUNTRY)?;
        is_mobile(national).then(|| Phone::real(national))
    }

    /// For a page that others may see too: `+234 803 *** **67`.
    pub fn masked(&self) -> String {
        let (digits, end) = (&self.digits, self.digits.len());
        format!("+{COUNTRY} {} *** **{}", &digits[COUNTRY.len()..COUNTRY.len() + 3], &digits[end - 2..])
    }
}

impl fmt::Debug for Phone {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.masked())
    }
}

/// The digits of a Nigerian number without the country's code, perhaps with the trunk's zero before them.
fn national_digits(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > TEXT_MAX {
        return None;
    }
    let (international, rest) = match text.strip_prefix('+').or_else(|| text.strip_prefix('\u{ff0b}')) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut digits = String::with_capacity(16);
    for c in rest.chars() {
        match c {
            '0'..='9' => digits.push(c),
            _ if is_separator(c) => {}
            _ => return None,
        }
    }
    let national = if international {
        digits.strip_prefix(COUNTRY)?
    } else {
        // Nigeria's own prefix for calls abroad is 009; most of the world writes 00.
        let abroad =
            ["009", "00"].iter().find_map(|prefix| digits.strip_prefix(prefix)?.strip_prefix(COUNTRY));
        abroad
            .or_else(|| digits.strip_prefix(COUNTRY).filter(|rest| rest.len() >= NATIONAL_DIGITS))
            .unwrap_or(&digits)
    };
    Some(national.to_owned())
}

/// What people put between digits.
fn is_separator(c: char) -> bool {
    matches!(c, ' ' | '-' | '.' | '(' | ')' | '/' | '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{2009}')
        || ('\u{2010}'..='\u{2015}').contains(&c)
}

fn is_test(national: &str) -> bool {
    let last = national.strip_prefix(TEST_PREFIX);
    last.is_some_and(|last| last.len() == 2 && last.bytes().all(|b| b.is_ascii_digit()))
}

/// Ten digits with a mobile prefix: `702[0-24-9]`, `819[01]`, `70[13-9]`, `7[12]x`, `80[1-9]`, `81[0-8]`,
/// `90[1-9]`, `91[1-6]`.
fn is_mobile(national: &str) -> bool {
    let bytes = national.as_bytes();
    if bytes.len() != NATIONAL_DIGITS || !bytes.iter().all(u8::is_ascii_digit) {
        return false;
    }
    match (bytes[0], bytes[1], bytes[2], bytes[3]) {
        (b'7', b'0', b'2', fourth) => fourth != b'3',
        (b'8', b'1', b'9', fourth) => fourth <= b'1',
        (b'7', b'0', third, _) => third == b'1' || third >= b'3',
        (b'7', second, ..) => matches!(second, b'1' | b'2'),
        (b'8', b'0', third, _) => third >= b'1',
        (b'8', second, ..) => second == b'1',
        (b'9', b'0', third, _) => third >= b'1',
        (b'9', b'1', third, _) => (b'1'..=b'6').contains(&third),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phonenumber::country::Id;
    use proptest::prelude::*;

    /// The oracle's reading: the digits of a valid Nigerian mobile number.
    fn oracle(text: &str) -> Option<String> {
        let number = phonenumber::parse(Some(Id::NG), text).ok()?;
        let is_mobile = number.number_type(&phonenumber::metadata::DATABASE) == phonenumber::Type::Mobile;
        (number.code().value() == 234 && is_mobile && number.extension().is_none())
            .then(|| format!("234{}", number.national().value()))
    }

    fn ours(text: &str) -> Option<String> {
        Phone::parse(text).ok().map(|phone| phone.digits().to_owned())
    }

    #[test]
    fn one_number_however_it_is_written() {
        for text in [
            "08031234567",
            "8031234567",
            "+2348031234567",
            "2348031234567",
            "+234 803 123 4567",
            "+234-803-123-4567",
            "+234 (0) 803 123 4567",
            "00234 803 123 4567",
            "0092348031234567",
            " 0803 123 4567 ",
            "0803.123.4567",
            "+234\u{a0}803\u{2011}123\u{2013}4567",
            "+2340803 1234567",
        ] {
            let phone = Phone::parse(text).unwrap_or_else(|_| panic!("{text}"));
            assert_eq!(phone.e164(), "+2348031234567", "{text}");
            assert_eq!(Phone::from_digits(phone.digits()), Some(phone.clone()));
            assert_eq!(format!("{phone:?}"), "+234 803 *** **67");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "+",
            "0803123456",
            "080312345678",
            "+44 7400 123456",
            "07400 123456",
            "+1 803 123 4567",
            "012345678",
            "+234 1 234 5678",
            "+23420 3312 3456",
            "08001234567",
            "07001234567",
            "0803123456a",
            "0803123456\u{661}",
            "++2348031234567",
            "0803123+4567",
            "0803123456\n7",
            "+234 702 312 3456",
            "+234 819 212 3456",
        ] {
            assert_eq!(Phone::parse(text), Err(NotAMobile), "{text:?}");
        }
    }

    #[test]
    fn a_test_number_is_one_businesss_and_no_real_one() {
        for text in ["+2340000000007", "234 0000 000 007", "00000000007", "+234 (0) 0000000007", "0000000007"]
        {
            let phone = Phone::parse_test(text, 12).unwrap_or_else(|_| panic!("{text}"));
            assert_eq!((phone.e164().as_str(), phone.test_of()), ("+2340000000007", Some(12)), "{text}");
            assert_eq!(phone.key(), "test/12/2340000000007");
            assert_eq!(Phone::from_key(&phone.key()), Some(phone.clone()));
            assert_ne!(Some(phone.clone()), Phone::parse_test(text, 13).ok());
            assert_eq!(
                (Phone::parse(text), Phone::from_digits(phone.digits())),
                (Err(NotAMobile), None),
                "{text}"
            );
            assert_eq!(phone.masked(), "+234 000 *** **07");
        }
        assert!(
            Phone::parse_test("+2340000000000", 1).is_ok() && Phone::parse_test("+2340000000099", 1).is_ok()
        );
        for text in
            ["08031234567", "+2340000000100", "+234000000007", "000000000007", "", "7", "+440000000007"]
        {
            assert_eq!(Phone::parse_test(text, 12), Err(NotATestNumber), "{text:?}");
        }
        let real = Phone::parse("08031234567").unwrap();
        assert_eq!((real.key().as_str(), real.test_of()), ("2348031234567", None));
        assert_eq!(Phone::from_key(&real.key()), Some(real));
        for key in
            ["test/12/2348031234567", "test/x/2340000000007", "test/2340000000007", "2340000000007", "test/"]
        {
            assert_eq!(Phone::from_key(key), None, "{key}");
        }
    }

    #[test]
    fn every_prefix_agrees_with_the_oracle() {
        for prefix in 0..10_000 {
            let national = format!("{prefix:04}123456");
            let text = format!("+234{national}");
            // A leading zero is the trunk prefix to the oracle and leaves nine digits.
            assert_eq!(ours(&text), oracle(&text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn random_writings_agree_with_the_oracle(
            lead in prop::sample::select(vec!["", "0", "+234", "234", "+234 0", "009234", "+44", "+1", "+"]),
            digits in prop_oneof!["[0-9]{7,12}", "(70|80|81|90|91)[0-9]{8}"],
            cuts in prop::collection::vec((0usize..12, prop::sample::select(vec![" ", "-", ".", " - "])), 0..4),
        ) {
            let mut body = digits;
            for (at, separator) in cuts {
                let at = at.min(body.len());
                body.insert_str(at, separator);
            }
            let text = format!("{lead}{body}");
            // The oracle takes off any number of trunk prefixes; `00` begins another country's number.
            let compact: String = text.chars().filter(char::is_ascii_digit).collect();
            let national = compact.strip_prefix("009234").or(compact.strip_prefix("234")).unwrap_or(&compact);
            if national.starts_with("00") {
                return Ok(());
            }
            // After `+`, the oracle takes all digits before a hyphen or a dot for the country's code.
            prop_assert_eq!(ours(&text), oracle(&text.replace(['-', '.'], " ")), "{}", text);
        }

        #[test]
        fn spelling_never_makes_a_second_number(
            prefix in prop::sample::select(vec!["701", "706", "708", "802", "803", "810", "818", "902", "906", "913", "916"]),
            rest in "[0-9]{7}",
        ) {
            let national = format!("{prefix}{rest}");
            let all: std::collections::HashSet<_> = ["0", "+234", "234", "", "00234", "+234 0"]
                .iter()
                .map(|lead| Phone::parse(&format!("{lead}{national}")).unwrap())
                .collect();
            prop_assert_eq!(all.len(), 1);
        }
    }
}
