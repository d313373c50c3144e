//! Texts as pages show them. Whoever wrote them, they cannot turn what stands beside them.

use std::fmt;

use crate::domain::text::turns;

/// Without the characters that turn the direction of writing: they could show an amount backwards.
pub fn plain(text: &str) -> String {
    text.chars().filter(|c| !turns(*c)).collect()
}

/// `1,948`.
pub fn grouped(count: i64) -> String {
    let digits = count.unsigned_abs().to_string();
    let mut text = String::from(if count < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 payment`, `1,948 payments`.
pub fn counted(count: i64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// `99.7 %` of tenths of a percent.
pub fn percent(per_mille: i64) -> String {
    format!("{}.{}\u{a0}%", per_mille / 10, per_mille % 10)
}

/// With a capital and a full stop. An address for mails stays as it is written.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let is_address = text.split(' ').next().is_some_and(|word| word.contains('@'));
    let first: String = match letters.next() {
        Some(letter) if !is_address => letter.to_uppercase().collect(),
        letter => letter.into_iter().collect(),
    };
    let rest = letters.as_str();
    let stop = if rest.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{rest}{stop}")
}

/// Characters of a word that fits into no narrow column.
const WORD_LONG: usize = 9;

/// A text on a page. Every component holds its texts as this, so that none is forgotten; templates escape it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(String);

impl Text {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// An address for mails, or one word, is long enough that a narrow column would break it, and has no more characters
    /// than this: a table should rather make room for it. A name has as much room as there is.
    pub fn is_kept_whole(&self, most: usize) -> bool {
        // Browsers break a line behind a hyphen, too.
        let words = self.0.split(|c: char| c.is_whitespace() || c == '-');
        let longest = words.map(|word| word.chars().count()).max().unwrap_or(0);
        let is_one_word = !self.0.contains(char::is_whitespace);
        (is_one_word || self.0.contains('@')) && (WORD_LONG..=most).contains(&longest)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(plain(text))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(if text.chars().any(turns) { plain(&text) } else { text })
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Text {
        Text(plain(text))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_word_is_kept_whole_and_a_huge_one_is_not() {
        assert!(Text::from("staff@till.example").is_kept_whole(24));
        assert!(!Text::from("Suya Spot International").is_kept_whole(24), "nothing to keep");
        assert!(!Text::from("x".repeat(25)).is_kept_whole(24));
        assert!(Text::from("x".repeat(9)).is_kept_whole(9) && !Text::from("x".repeat(8)).is_kept_whole(9));
    }

    #[test]
    fn counts_are_grouped() {
        for (count, text) in [(0, "0"), (999, "999"), (-1_000, "-1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(count), text);
        }
    }

    #[test]
    fn shares_have_a_tenth_and_reasons_are_sentences() {
        for (share, text) in [(1_000, "100.0\u{a0}%"), (997, "99.7\u{a0}%"), (5, "0.5\u{a0}%")] {
            assert_eq!(percent(share), text);
        }
        assert_eq!((sentence("it is late"), sentence("Yes?")), ("It is late.".into(), "Yes?".into()));
        assert_eq!(sentence("ada@till.example is there already"), "ada@till.example is there already.");
    }

    #[test]
    fn a_text_cannot_turn_what_stands_beside_it() {
        let text = "NGN \u{202e}00.05\u{2066} ọ";
        assert_eq!(plain(text), "NGN 00.05 ọ");
        for shown in [Text::from(text), Text::from(text.to_owned()), Text::from(&text.to_owned())] {
            assert_eq!(shown.as_str(), "NGN 00.05 ọ");
        }
    }
}
