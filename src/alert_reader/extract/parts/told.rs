//! What can be read from a text without a layout: amounts, account numbers, and the words around them.
//!
//! It is lenient where the readers of cells are strict: nothing here becomes a value, it is only compared with
//! another part of the mail. Part of `parts`; nothing else calls it.

use std::collections::BTreeSet;

use crate::alert_reader::amount;
use crate::alert_reader::template::Claims;

/// Figures and numbers of one part that are compared; an alert has under a hundred.
const MAX_TOLD: usize = 2000;
/// Digits of a figure without a currency; longer ones are numbers of something else.
const MAX_BARE_DIGITS: usize = 9;
/// Bytes before a figure that are searched for words that say what it is.
const MAX_CONTEXT: usize = 200;
/// Digits of an account number.
const ACCOUNT_DIGITS: usize = 10;
const MASKED_LENGTHS: std::ops::RangeInclusive<usize> = 6..=24;

/// An amount as it is written in full, and its currency where one is shown.
pub type Sum = (String, Option<String>);

/// Amounts that a text tells, balances and charges left out.
pub fn figures(text: &str, claims: &Claims) -> Vec<Sum> {
    let text = text.replace("=N=", "NGN");
    let mut out: Vec<Sum> = Vec::new();
    let mut line_before = "";
    for line in text.lines() {
        let found = numerals(line).filter_map(|(start, end)| {
            let context = Context { line, line_before, start, end };
            context.amount(claims)
        });
        for (figure, code) in found.chain(in_words(line)) {
            if !out.iter().any(|(f, c)| *f == figure && *c == code) && out.len() < MAX_TOLD {
                out.push((figure, code));
            }
        }
        line_before = line;
    }
    out
}

/// Where digits with their points and commas stand.
fn numerals(line: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let bytes = line.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + bytes[at.min(bytes.len())..].iter().position(u8::is_ascii_digit)?;
        let length =
            bytes[start..].iter().take_while(|b| b.is_ascii_digit() || matches!(b, b',' | b'.')).count();
        let mut end = start + length;
        at = end;
        while matches!(bytes[end - 1], b',' | b'.') {
            end -= 1;
        }
        Some((start, end))
    })
}

/// A numeral and what stands around it.
struct Context<'a> {
    line: &'a str,
    line_before: &'a str,
    start: usize,
    end: usize,
}

impl Context<'_> {
    /// The numeral as an amount, with its currency.
    fn amount(&self, claims: &Claims) -> Option<Sum> {
        let numeral = &self.line[self.start..self.end];
        let (before, after) = (&self.line[..self.start], &self.line[self.end..]);
        let code = currency_before(before).or_else(|| currency_behind(after));
        let glued = before.ends_with(char::is_alphanumeric) && code.is_none();
        let next: String = after.trim_start().chars().take_while(|c| c.is_alphabetic()).collect();
        let suffix = matches!(next.to_ascii_lowercase().as_str(), "cr" | "dr");
        let joined = after.starts_with(char::is_alphanumeric) && code.is_none() && !suffix;
        let of_a_date = before.ends_with(['/', ':', '*']) && code.is_none()
            || after.starts_with(['/', ':', '%', '*'])
            || before.ends_with('-') && before.trim_end_matches('-').ends_with(char::is_alphanumeric)
            || after.starts_with('-') && after[1..].starts_with(char::is_alphanumeric);
        let clock = matches!(next.to_ascii_lowercase().as_str(), "am" | "pm");
        if glued || joined || of_a_date || clock {
            return None;
        }
        let value = amount::read(numeral).value;
        let decimals = numeral.split_once('.').is_some_and(|(_, rest)| rest.len() == 2);
        let grouped = numeral.contains(',');
        let plain = numeral.bytes().all(|b| b.is_ascii_digit());
        let shaped = value.is_some() && (decimals || grouped);
        let bare = plain && numeral.len() <= MAX_BARE_DIGITS && self.is_told(claims);
        if !(code.is_some() || suffix || shaped || bare) || self.is_aside(claims) {
            return None;
        }
        Some((value.map_or_else(|| numeral.to_owned(), |v| v.to_string()), code))
    }

    /// The words before it, on its line or, where it stands there alone, on the one before.
    fn words_before(&self) -> Vec<String> {
        let from = self.line.floor_char_boundary(self.start.saturating_sub(MAX_CONTEXT));
        let own: Vec<String> = words(&self.line[from..self.start]).collect();
        let sign = |w: &str| amount::currency(w).is_some() || matches!(w, "cr" | "dr");
        // A label on a line of its own.
        let alone = own.iter().all(|w| sign(w)) && words(&self.line[self.end..]).all(|w| sign(&w));
        let labelled = !self.line_before.bytes().any(|b| b.is_ascii_digit());
        if alone && labelled { words(self.line_before).chain(own).collect() } else { own }
    }

    /// Whether the last word that tells what it is speaks of a balance or a charge.
    fn is_aside(&self, claims: &Claims) -> bool {
        let words = self.words_before();
        let telling = words.iter().rev().find_map(|w| match w {
            w if claims.aside.contains(w) => Some(true),
            w if claims.told.contains(w) => Some(false),
            _ => None,
        });
        telling == Some(true)
    }

    /// Whether a word of money stands before it, with fillers between at most.
    fn is_told(&self, claims: &Claims) -> bool {
        let words = self.words_before();
        let filler = |w: &&String| claims.fillers.contains(w) || amount::currency(w).is_some();
        words.iter().rev().find(|w| !filler(w)).is_some_and(|w| claims.told.contains(w))
    }
}

fn currency_before(text: &str) -> Option<String> {
    let text = text.trim_end_matches(|c: char| c.is_whitespace() || "()[]:-+*".contains(c));
    let sign = text.chars().next_back()?;
    if !sign.is_alphanumeric() {
        return amount::currency(&sign.to_string());
    }
    let word = text.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let glued = text[..text.len() - word.len()].ends_with(char::is_alphanumeric);
    amount::currency(word).filter(|_| !glued)
}

fn currency_behind(text: &str) -> Option<String> {
    let text = text.trim_start_matches([' ', '(', '-']);
    let word: String = text.chars().take_while(|c| c.is_alphabetic()).collect();
    match text.chars().next() {
        Some(sign) if word.is_empty() => amount::currency(&sign.to_string()),
        _ if word.len() < 2 => None,
        _ => amount::currency(&word),
    }
}

/// Sums written in words: "Two Hundred and Five Thousand Naira".
fn in_words(line: &str) -> Vec<Sum> {
    let mut out = Vec::new();
    // The sum so far, what is below the next thousand, and whether a number has begun.
    let (mut total, mut part, mut telling) = (0_i64, 0_i64, false);
    // The naira before kobo.
    let mut naira = 0;
    for word in words(line) {
        match (number(&word), word.as_str()) {
            (Some(100), _) => part = part.max(1).saturating_mul(100),
            (Some(scale @ 1000..), _) => {
                total = total.saturating_add(part.max(1).saturating_mul(scale));
                part = 0;
            }
            (Some(n), _) => part = part.saturating_add(n),
            (None, "and") if telling => continue,
            (None, "naira") if telling => {
                naira = total.saturating_add(part);
                out.push((format!("{naira}.00"), Some("NGN".to_owned())));
            }
            (None, "kobo") if telling => {
                let kobo = total.saturating_add(part);
                if let Some((sum, _)) = out.last_mut().filter(|_| kobo < 100) {
                    *sum = format!("{naira}.{kobo:02}");
                }
            }
            _ => {}
        }
        telling = number(&word).is_some();
        if !telling {
            (total, part) = (0, 0);
        }
    }
    out
}

/// Whether a word tells a number, as `Twenty-Five` does.
pub fn is_of_numbers(word: &str) -> bool {
    words(word).all(|word| number(&word).is_some())
}

fn number(word: &str) -> Option<i64> {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let at = |list: &[&str]| list.iter().position(|w| *w == word).and_then(|n| i64::try_from(n).ok());
    match word {
        "hundred" => Some(100),
        "thousand" => Some(1000),
        "million" => Some(1_000_000),
        "billion" => Some(1_000_000_000),
        _ => at(&SMALL).or_else(|| at(&TENS).map(|n| (n + 2) * 10)),
    }
}

/// Account numbers and their masks.
pub fn accounts(text: &str) -> BTreeSet<String> {
    let part_of = |c: char| c.is_ascii_digit() || matches!(c, '*' | 'x' | 'X' | '•' | '#' | '.');
    let mut out = BTreeSet::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(start) = rest.find(part_of) {
        before = rest[..start].chars().next_back().unwrap_or(before);
        let tail = &rest[start..];
        let length = tail.find(|c: char| !part_of(c)).unwrap_or(tail.len());
        let after = tail[length..].chars().next().unwrap_or(' ');
        let number = tail[..length].trim_matches('.');
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        let masks = number.chars().filter(|c| !c.is_ascii_digit() && *c != '.').count();
        let whole = masks == 0 && digits == ACCOUNT_DIGITS && number.len() == ACCOUNT_DIGITS;
        let masked = masks >= 2 && digits >= 2 && MASKED_LENGTHS.contains(&number.chars().count());
        if (whole || masked) && !before.is_alphanumeric() && !after.is_alphanumeric() && out.len() < MAX_TOLD
        {
            out.insert(folded_account(number));
        }
        before = tail[..length].chars().next_back().unwrap_or(' ');
        rest = &tail[length..];
    }
    out
}

/// Every sign of a mask as one.
pub fn folded_account(number: &str) -> String {
    number.chars().map(|c| if c.is_ascii_digit() { c } else { '*' }).collect()
}

/// Words in lower case, letters only.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphabetic() && !"₦$£€".contains(c))
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
}

pub fn squeeze(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert_reader::Banks;

    #[test]
    fn figures_are_found_however_they_are_told() {
        let banks = Banks::embedded().unwrap();
        let told = |text: &str| {
            let found = figures(text, &banks.shared.claims);
            found.into_iter().map(|(f, c)| f + c.as_deref().unwrap_or_default()).collect::<Vec<_>>().join(" ")
        };
        for (text, want) in [
            ("You received NGN 50 from ADA", "50.00NGN"),
            ("you received 50 naira", "50.00NGN"),
            ("received 50 today", "50.00"),
            ("Amount\n₦1,250.5", "1250.50NGN"),
            ("Amount (NGN) : 50", "50.00NGN"),
            ("5,000.00CR", "5000.00"),
            ("USD 5 and $6", "5.00USD 6.00USD"),
            ("fifty naira, Two Hundred and Five Thousand Naira only", "50.00NGN 205000.00NGN"),
            ("One Thousand Naira, Fifty-Five Kobo Only; six naira", "1000.55NGN 6.00NGN"),
            ("Current Balance\nNGN 50.00\nFee: 10.00", ""),
            ("You received NGN 5.00, your balance is NGN 6.00", "5.00NGN"),
            ("11-Mar-26 09:15 AM, 25.03.2026, 2026-03-25, at 4.05pm, 9%, 12/03/2026", ""),
            ("Value Date 18 Mar 2026 ref 00123456", ""),
        ] {
            assert_eq!(told(text), want, "{text}");
        }
    }

    #[test]
    fn accounts_are_told_from_other_numbers() {
        let found = accounts(
            "A/C 238****209, 0123456789. 2XX..60X ref 100004260303101958000111222333 5,000.00 08031234567",
        );
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["0123456789", "2****60*", "238****209"]);
    }
}
