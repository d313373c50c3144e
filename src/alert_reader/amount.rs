//! Reads amounts as banks write them: `NGN 26388`, `₦3,000.00`, `75,000.00 (NGN)`,
//! `39,500.00 CR`, `One Thousand Naira Only (NGN 1,000.00)`.
//!
//! It is lenient about currency, spaces and suffixes, and strict about the figure: with a separator in a wrong
//! place the whole cell is not read. The result is the domain's `Money`. Only this room may call it; the API
//! has `Money::parse`.

use crate::domain::alert::Direction;
use crate::domain::money::Money;

/// Longest cell that can still be an amount.
const MAX_AMOUNT_CHARS: usize = 160;
/// Most digits before the point: 12 are a thousand thousand million naira.
const MAX_WHOLE_DIGITS: usize = 13;

/// One parsed amount cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// `None` when the cell holds no single clean figure.
    pub value: Option<Money>,
    /// ISO 4217 code; `NGN` for every way to write the naira.
    pub currency: Option<String>,
    /// A `CR` or `DR` after the figure.
    pub suffix: Option<Direction>,
    /// The bank masked the figure (`NGN ****`).
    pub hidden: bool,
    /// In brackets, or with a minus after it: banks write money that went back like this.
    pub taken_back: bool,
}

/// Reads a whole cell. Everything in it must be understood, or `value` is `None`.
pub fn read(cell: &str) -> Figure {
    if cell.chars().count() > MAX_AMOUNT_CHARS {
        return Figure::default();
    }
    let text = cell.trim();
    // Words first, the figure in brackets: "One Thousand Naira Only (NGN 1,000.00)".
    if let Some(inner) = text.strip_suffix(')').and_then(|t| t.rsplit_once('('))
        && inner.1.chars().any(|c| c.is_ascii_digit())
        && !inner.0.chars().any(|c| c.is_ascii_digit())
    {
        let mut figure = plain(inner.1);
        // Without words in front, the brackets are the figure's own.
        let words = inner.0.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty());
        figure.taken_back |= words.clone().all(|w| currency(w).is_some());
        return figure;
    }
    let mut figure = plain(text);
    figure.taken_back |= in_square_brackets(text);
    figure
}

fn in_square_brackets(text: &str) -> bool {
    let inner = text.rsplit_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.is_some_and(|(figure, _)| figure.chars().any(|c| c.is_ascii_digit()))
}

fn plain(text: &str) -> Figure {
    let mut figure = Figure::default();
    let starred = text.contains("**") && !text.chars().any(|c| c.is_ascii_digit());
    let text = text.replace(['\u{2212}', '\u{2013}'], "-");
    // "(5,000.00) CR": what is in the brackets is the figure.
    let bracketed = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    figure.taken_back = bracketed.is_some_and(|(inner, _)| inner.chars().any(|c| c.is_ascii_digit()));
    let cleaned: String = text.replace("=N=", "NGN").replace(['*', '(', ')', '[', ']'], " ");
    let mut number: Option<String> = None;
    let mut negative = false;
    for token in tokens(&cleaned) {
        let first = token.chars().next().unwrap_or(' ');
        if first.is_ascii_digit() || first == '.' {
            if number.is_some() {
                return Figure::default();
            }
            number = Some(token);
        } else if token == "-" && number.is_none() && !negative {
            negative = true;
        } else if token == "-" && number.is_some() && !figure.taken_back {
            figure.taken_back = true;
        } else if token == "+" && number.is_none()
            || matches!(token.to_ascii_uppercase().as_str(), "ONLY" | "/")
        {
            continue;
        } else if let Some(direction) = suffix(&token).filter(|_| number.is_some()) {
            figure.suffix = Some(direction);
        } else if let Some(code) = currency(&token) {
            if figure.currency.as_ref().is_some_and(|known| *known != code) {
                return Figure::default();
            }
            figure.currency = Some(code);
        } else {
            return Figure::default();
        }
    }
    figure.hidden = starred;
    figure.value = number.as_deref().and_then(digits).map(|m| if negative { Money(-m.0) } else { m });
    figure
}

/// Splits into numbers, words and single characters; spaces only separate.
fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut kind = 0;
    for c in text.chars() {
        let now = match c {
            c if c.is_whitespace() => 0,
            '0'..='9' | ',' | '.' => 1,
            c if c.is_alphabetic() => 2,
            _ => 3,
        };
        match (now, out.last_mut()) {
            (0, _) => {}
            (1 | 2, Some(last)) if now == kind => last.push(c),
            _ => out.push(c.to_string()),
        }
        kind = now;
    }
    // A full stop that ends the sentence is not part of the figure.
    if let Some(last) = out.last_mut() {
        if last == "." {
            out.pop();
        } else if last.len() > 1 && last.ends_with('.') {
            last.pop();
        }
    }
    out
}

/// `CR`, `DR` and their words.
fn suffix(word: &str) -> Option<Direction> {
    match word.to_ascii_uppercase().as_str() {
        "CR" | "CREDIT" => Some(Direction::Credit),
        "DR" | "DEBIT" => Some(Direction::Debit),
        _ => None,
    }
}

/// ISO code of a currency as banks write it; `None` for any other word.
pub fn currency(word: &str) -> Option<String> {
    let upper = word.trim().to_uppercase();
    let code = match upper.as_str() {
        "NGN" | "N" | "₦" | "NAIRA" | "NGR" => "NGN",
        "USD" | "$" | "US" | "DOLLAR" | "DOLLARS" => "USD",
        "GBP" | "£" => "GBP",
        "EUR" | "€" => "EUR",
        "XOF" | "GHS" | "KES" | "ZAR" | "CAD" | "SGD" | "INR" | "CNY" | "JPY" => upper.as_str(),
        _ => return None,
    };
    Some(code.to_owned())
}

/// Digits with correct thousands separators and at most two decimals.
fn digits(number: &str) -> Option<Money> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if !fraction.bytes().all(|b| b.is_ascii_digit()) || fraction.len() > 2 || whole.is_empty() {
        return None;
    }
    if number.ends_with('.') {
        return None;
    }
    let groups: Vec<&str> = whole.split(',').collect();
    let grouped = groups.len() > 1;
    for (i, group) in groups.iter().enumerate() {
        let well_formed = if i == 0 { (1..=3).contains(&group.len()) || !grouped } else { group.len() == 3 };
        if !well_formed || group.is_empty() || !group.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
    }
    let joined = groups.concat();
    if joined.len() > MAX_WHOLE_DIGITS {
        return None;
    }
    let text = if fraction.is_empty() { joined } else { format!("{joined}.{fraction}") };
    Money::parse(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_known_notation() {
        let cases = [
            ("NGN 26388", 2_638_800, Some("NGN"), None),
            ("NGN 1000", 100_000, Some("NGN"), None),
            ("3,000.00 NGN", 300_000, Some("NGN"), None),
            ("₦3,500.5", 350_050, Some("NGN"), None),
            ("N5,000", 500_000, Some("NGN"), None),
            ("75,000.00 (NGN)", 7_500_000, Some("NGN"), None),
            ("39,500.00 CR", 3_950_000, None, Some(Direction::Credit)),
            ("NGN7,061,617.47 DR", 706_161_747, Some("NGN"), Some(Direction::Debit)),
            ("N50.00DR", 5_000, Some("NGN"), Some(Direction::Debit)),
            ("NGN-57,000.00", -5_700_000, Some("NGN"), None),
            ("* 3,211.81 NGN*", 321_181, Some("NGN"), None),
            ("1,000,000.00 Naira", 100_000_000, Some("NGN"), None),
            ("One Thousand Naira Only (NGN 1,000.00)", 100_000, Some("NGN"), None),
            ("$100.00", 10_000, Some("USD"), None),
            ("NGN 5,000.00.", 500_000, Some("NGN"), None),
        ];
        for (text, kobo, code, suffix) in cases {
            let figure = read(text);
            assert_eq!(figure.value, Some(Money(kobo)), "{text}");
            assert_eq!(figure.currency.as_deref(), code, "{text}");
            assert_eq!(figure.suffix, suffix, "{text}");
        }
    }

    #[test]
    fn leaves_everything_doubtful_unread() {
        for text in [
            "",
            "NGN",
            "1,00,000.00",
            "1.000,00",
            "10,00",
            "1,2345",
            "5.001",
            "NGN 5 000",
            "5,000 and 6,000",
            "USD NGN 5",
            "123456 is your code",
            "٥٠٠",
            "99999999999999999",
            "1,",
            ",5",
            "a5",
            "1.2.3",
            "101..81",
        ] {
            assert_eq!(read(text).value, None, "{text:?}");
        }
        let hidden = read("NGN ****");
        for text in ["(5,000.00)", "NGN (5)", "(NGN 5)", "5-", "[5]", "(5) CR"] {
            let figure = read(text);
            assert!(figure.value.is_some() && figure.taken_back, "{text}");
        }
        assert!(!read("5 (NGN)").taken_back && !read("Five Naira Only (NGN 5)").taken_back);
        assert!(hidden.hidden);
        assert_eq!((hidden.value, hidden.currency.as_deref()), (None, Some("NGN")));
    }
}
