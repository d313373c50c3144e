//! A PIN of four digits: its form, and which ones are too easy to guess.
//!
//! Refused at set-up: one repeated digit, two pairs, runs up or down, lines and corners of the keypad, years 1950
//! to 2029 (contract/wallet.md#w24); they cover what people choose most. A PIN is wiped from memory when dropped and has no `Debug`. How it
//! is hashed and compared is `vault::hasher`'s.

use zeroize::Zeroizing;

pub const PIN_DIGITS: usize = 4;

/// Columns of the keypad that go on to the 0, and its corners around, in both directions.
const ON_KEYPAD: [&[u8; PIN_DIGITS]; 14] = [
    b"2580", b"0852", b"1470", b"0741", b"3690", b"0963", b"1397", b"3971", b"9713", b"7139", b"1793",
    b"7931", b"9317", b"3179",
];

/// Four digits.
pub struct Pin(Zeroizing<[u8; PIN_DIGITS]>);

/// Why a PIN cannot be set. The texts are for the customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinProblem {
    #[error("Your PIN must be 4 digits")]
    Form,
    #[error("That PIN is too easy to guess: it repeats one digit. Choose another")]
    Repeated,
    #[error("That PIN is too easy to guess: its digits count up or down. Choose another")]
    Run,
    #[error("That PIN is too easy to guess: it looks like a year. Choose another")]
    Year,
    #[error("That PIN is too easy to guess: it is made of pairs. Choose another")]
    Pairs,
    #[error("That PIN is too easy to guess: it is a pattern on the keypad. Choose another")]
    Keypad,
}

impl Pin {
    /// Four ASCII digits; blanks around them are not the customer's fault.
    pub fn parse(text: &str) -> Result<Pin, PinProblem> {
        let bytes = text.trim().as_bytes();
        let digits: [u8; PIN_DIGITS] = bytes.try_into().map_err(|_| PinProblem::Form)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(PinProblem::Form);
        }
        Ok(Pin(Zeroizing::new(digits)))
    }

    /// The same, and hard enough to guess to be set.
    pub fn choose(text: &str) -> Result<Pin, PinProblem> {
        let pin = Pin::parse(text)?;
        let digits = &pin.0;
        let step = |by: i16| digits.windows(2).all(|two| i16::from(two[1]) - i16::from(two[0]) == by);
        if step(0) {
            return Err(PinProblem::Repeated);
        }
        if step(1) || step(-1) {
            return Err(PinProblem::Run);
        }
        let year = digits.iter().fold(0u32, |sum, digit| sum * 10 + u32::from(digit - b'0'));
        if (1950..=2029).contains(&year) {
            return Err(PinProblem::Year);
        }
        let [a, b, c, d] = **digits;
        if (a == c && b == d) || (a == b && c == d) {
            return Err(PinProblem::Pairs);
        }
        if ON_KEYPAD.contains(&&**digits) {
            return Err(PinProblem::Keypad);
        }
        Ok(pin)
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn easy_pins_are_refused_at_set_up_only() {
        let mut refused = 0;
        for n in 0..10_000 {
            let text = format!("{n:04}");
            assert!(Pin::parse(&text).is_ok());
            refused += usize::from(Pin::choose(&text).is_err());
        }
        // 10 repeated, 7 up, 7 down, 80 years, 180 pairs of which one is a year, 14 on the keypad.
        assert_eq!(refused, 297);
        for (text, problem) in [
            ("7777", PinProblem::Repeated),
            ("0123", PinProblem::Run),
            ("6789", PinProblem::Run),
            ("3210", PinProblem::Run),
            ("1950", PinProblem::Year),
            ("2029", PinProblem::Year),
            ("1212", PinProblem::Pairs),
            ("6969", PinProblem::Pairs),
            ("1122", PinProblem::Pairs),
            ("2580", PinProblem::Keypad),
            ("0852", PinProblem::Keypad),
            ("1397", PinProblem::Keypad),
            ("12345", PinProblem::Form),
            ("12a4", PinProblem::Form),
            ("\u{661}234", PinProblem::Form),
            ("", PinProblem::Form),
        ] {
            assert_eq!(Pin::choose(text).err(), Some(problem), "{text}");
        }
        assert!(Pin::choose(" 1949 ").is_ok() && Pin::choose("2030").is_ok() && Pin::choose("1243").is_ok());
        assert!(Pin::choose("1221").is_ok() && Pin::choose("2589").is_ok());
    }
}
