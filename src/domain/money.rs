//! Money: a whole number of kobo in an `i64`, and nothing else.
//!
//! No float ever touches an amount. Text goes in through [`Money::parse`], the one
//! reader of amounts for the API and the configuration, or through [`Money::typed`], which takes
//! them from people as lists print them; bank mails have looser notations and bring their own
//! reader in `alert_reader`, which ends in the same type.
//! Out it goes with exactly two decimals, as `Display` writes it.

use std::fmt;

/// The one currency of a deployment (ISO 4217, exponent 2).
pub const CURRENCY: &str = "NGN";

/// As people write it (U+20A6).
const NAIRA_SIGN: char = '₦';

/// Kobo, hundredths of a naira. May be negative in ledger sums, never in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(pub i64);

/// An amount for people: `NGN 5,000.00`.
pub fn naira(money: Money) -> String {
    format!("{CURRENCY} {}", grouped(money))
}

/// `5,000.00`.
pub fn grouped(money: Money) -> String {
    let text = money.to_string();
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "00"));
    let mut grouped = String::with_capacity(whole.len() + whole.len() / 3);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}.{fraction}")
}

/// Commas go where they part thousands.
fn without_separators(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let is_right =
        !whole.contains(',') || ((1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3));
    (is_right && !fraction.contains(',')).then(|| whole.replace(',', "") + fraction)
}

/// Why a text is not an amount. The texts are shown to merchants and operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    #[error("must be a number such as 5000 or 5000.00, without separators or an exponent")]
    NotANumber,
    #[error("must have at most two decimal places")]
    TooManyDecimals,
    #[error("is too large")]
    TooLarge,
}

impl Money {
    pub const ZERO: Money = Money(0);

    /// Reads `5000`, `5000.5`, `5000.50`, `-3.00`. Refuses exponents, thousands
    /// separators, a leading `+`, blanks, and more than two decimals (even `1.000`,
    /// because a caller who sends three decimals means a unit we do not have).
    pub fn parse(text: &str) -> Result<Money, MoneyError> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = match digits.split_once('.') {
            Some((_, "")) => return Err(MoneyError::NotANumber),
            Some((whole, fraction)) => (whole, fraction),
            None => (digits, ""),
        };
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
            return Err(MoneyError::NotANumber);
        }
        if fraction.len() > 2 {
            return Err(MoneyError::TooManyDecimals);
        }
        let naira: i64 = whole.parse().map_err(|_| MoneyError::TooLarge)?;
        let kobo: i64 = match fraction.len() {
            0 => 0,
            1 => i64::from(fraction.as_bytes()[0] - b'0') * 10,
            _ => fraction.parse().map_err(|_| MoneyError::NotANumber)?,
        };
        let total = naira.checked_mul(100).and_then(|n| n.checked_add(kobo)).ok_or(MoneyError::TooLarge)?;
        Ok(Money(if negative { -total } else { total }))
    }

    /// Reads what a person types: as [`Money::parse`], and as lists print it: `12,150.00`, `NGN 12,150`, `₦5,000`.
    ///
    /// # Errors
    ///
    /// As [`Money::parse`]; a comma that parts no thousands (`12,50`) is a slip and no number.
    pub fn typed(text: &str) -> Result<Money, MoneyError> {
        let text = text.trim();
        let bare = match text.split_at_checked(CURRENCY.len()) {
            Some((currency, amount)) if currency.eq_ignore_ascii_case(CURRENCY) => amount.trim_start(),
            _ => text.strip_prefix(NAIRA_SIGN).map_or(text, str::trim_start),
        };
        Money::parse(&without_separators(bare).ok_or(MoneyError::NotANumber)?)
    }

    /// The count of kobo.
    pub const fn kobo(self) -> i64 {
        self.0
    }

    pub fn checked_add(self, other: Money) -> Option<Money> {
        self.0.checked_add(other.0).map(Money)
    }

    /// For sums that are shown and decide nothing.
    pub fn saturating_add(self, other: Money) -> Money {
        Money(self.0.saturating_add(other.0))
    }

    pub fn checked_sub(self, other: Money) -> Option<Money> {
        self.0.checked_sub(other.0).map(Money)
    }

    pub const fn is_positive(self) -> bool {
        self.0 > 0
    }
}

impl fmt::Display for Money {
    /// `5000.00`: the notation of the API, the webhooks and the command line's JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let kobo = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:02}", kobo / 100, kobo % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_separators() {
        for (kobo, shown) in
            [(0, "0.00"), (99_900, "999.00"), (100_000, "1,000.00"), (-123_456_789, "-1,234,567.89")]
        {
            assert_eq!(naira(Money(kobo)), format!("NGN {shown}"));
        }
    }

    #[test]
    fn reads_what_it_writes() {
        for text in ["0.01", "5000.00", "999999999.99", "-3.07", "0.00"] {
            assert_eq!(Money::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Money::parse("5000"), Ok(Money(500_000)));
        assert_eq!(Money::parse("5000.5"), Ok(Money(500_050)));
    }

    #[test]
    fn refuses_every_other_notation() {
        for text in
            ["", "-", ".", "5.", ".5", "1e3", "1,000", "+5", " 5", "5 ", "NaN", "0x10", "٥", "1.2.3", "--1"]
        {
            assert_eq!(Money::parse(text), Err(MoneyError::NotANumber), "{text:?}");
        }
        for text in ["12150", "12,150", "12,150.00", "NGN 12,150.00", "ngn12150", " ₦12,150.0 "] {
            assert_eq!(Money::typed(text), Ok(Money(1_215_000)), "{text:?}");
        }
        assert_eq!(Money::typed("1,000,000.05"), Ok(Money(100_000_005)));
        for text in ["12,50", ",150", "1234,567", "1,0000", "1.000,5", "NGN", "", "₦", "5,", "N₦5", "USD 5"]
        {
            assert_eq!(Money::typed(text), Err(MoneyError::NotANumber), "{text:?}");
        }
        assert_eq!(Money::typed("1,000.001"), Err(MoneyError::TooManyDecimals));
        assert_eq!(Money::parse("1.001"), Err(MoneyError::TooManyDecimals));
        assert_eq!(Money::parse("1.000"), Err(MoneyError::TooManyDecimals));
        assert_eq!(Money::parse("92233720368547758.08"), Err(MoneyError::TooLarge));
        assert_eq!(Money::parse("99999999999999999999"), Err(MoneyError::TooLarge));
    }
}
