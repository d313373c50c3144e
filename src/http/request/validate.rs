//! Turns raw members into values and collects everything that is wrong, field by field.
//!
//! Texts are trimmed, empty ones count as absent, control characters are refused, lengths are
//! counted in characters (contract/payments.md#p4). Amounts are read from the raw token, never through a
//! float. What a value means to the business is not judged here.

use std::borrow::Cow;

use super::body::Fields;
use crate::domain::impostor::Impostor;
use crate::domain::money::{Money, MoneyError};
use crate::domain::text::is_plain_line;
use crate::http::response::code::FieldCode;
use crate::http::response::problems::Problems;

/// What is wrong with a value; the words complete "The field ...".
pub type Wrong = (FieldCode, Cow<'static, str>);

/// Characters of an idempotency key, whether it comes as a header or as a field.
pub const KEY_MAX: usize = 255;

const TOO_SMALL: &str = "must be at least 0.01";

/// The string that a token of JSON holds.
pub fn read_string(token: &str) -> Result<String, Wrong> {
    serde_json::from_str(token).map_err(|_| {
        // In a string that the parser let through, only half a surrogate pair can be wrong.
        let what = match token.starts_with('"') {
            true => "must be valid Unicode: it has an unpaired surrogate (\\ud800 to \\udfff)",
            false => "must be a string",
        };
        (FieldCode::NotAText, what.into())
    })
}

/// Looks at one field after another.
pub struct Checker<'a, 'b> {
    fields: &'b Fields<'a>,
    pub problems: Problems,
}

impl<'a, 'b> Checker<'a, 'b> {
    pub fn new(fields: &'b Fields<'a>) -> Checker<'a, 'b> {
        Checker { fields, problems: Problems::default() }
    }

    fn complain(&mut self, field: &'static str, code: FieldCode, what: &str) {
        self.problems.complain(field, code, what);
    }

    /// An optional text of at most `max` characters.
    pub fn text(&mut self, field: &'static str, max: usize) -> Option<String> {
        self.text_that(field, max, |_| Vec::new())
    }

    /// The same with more that may be wrong with it. All of it is told at once.
    fn text_that(
        &mut self,
        field: &'static str,
        max: usize,
        more: impl FnOnce(&str) -> Vec<Wrong>,
    ) -> Option<String> {
        let token = self.fields.get(field)?;
        let text = match read_string(token) {
            Ok(text) => text,
            Err((code, what)) => {
                self.complain(field, code, &what);
                return None;
            }
        };
        let more = if text.trim().is_empty() { Vec::new() } else { more(text.trim()) };
        let checked = check_text(text, max);
        let mut wrong = checked.as_ref().err().cloned().unwrap_or_default();
        wrong.extend(more);
        for (code, what) in &wrong {
            self.complain(field, *code, what);
        }
        checked.ok().flatten().filter(|_| wrong.is_empty())
    }

    pub fn required_text(&mut self, field: &'static str, max: usize) -> Option<String> {
        let before = self.problems.count();
        let text = self.text(field, max);
        self.required(field, before, text)
    }

    /// An optional text that people read in one line (an id, an address): nothing in it is invisible.
    pub fn line(&mut self, field: &'static str, max: usize) -> Option<String> {
        self.text_that(field, max, |text| invisible(text).into_iter().collect())
    }

    /// An optional name, read in one line: it must have a letter.
    pub fn name(&mut self, field: &'static str, max: usize) -> Option<String> {
        self.text_that(field, max, |text| {
            let no_letter = (FieldCode::NoLetter, "must contain at least one letter".into());
            let has_letter = text.chars().any(char::is_alphabetic);
            invisible(text).into_iter().chain((!has_letter).then_some(no_letter)).collect()
        })
    }

    pub fn required_name(&mut self, field: &'static str, max: usize) -> Option<String> {
        let before = self.problems.count();
        let name = self.name(field, max);
        self.required(field, before, name)
    }

    pub fn required_line(&mut self, field: &'static str, max: usize) -> Option<String> {
        let before = self.problems.count();
        let line = self.line(field, max);
        self.required(field, before, line)
    }

    /// Complains that there is no text, unless there is a complaint since `before`.
    fn required(&mut self, field: &'static str, before: usize, text: Option<String>) -> Option<String> {
        if text.is_none() && self.problems.count() == before {
            self.problems.require(field);
        }
        text
    }

    /// A required amount above zero and up to `max`, as a JSON number or a text holding one.
    pub fn amount(&mut self, field: &'static str, max: Money) -> Option<Money> {
        let token = self.fields.get(field).unwrap_or_default();
        let parsed = match token.as_bytes().first() {
            None => None,
            Some(b'"') => match serde_json::from_str::<String>(token) {
                Ok(text) if text.trim().is_empty() => None,
                Ok(text) => Some(Money::parse(text.trim())),
                Err(_) => Some(Err(MoneyError::NotANumber)),
            },
            Some(_) => Some(Money::parse(token)),
        };
        match parsed {
            None => self.problems.require(field),
            Some(Err(error)) => {
                let is_negative = token.trim_start_matches(['"', ' ']).starts_with('-');
                let too_fine = matches!(error, MoneyError::TooManyDecimals);
                let (code, what) = wrong_amount(error, max);
                self.complain(field, code, &what);
                if too_fine && is_negative {
                    self.complain(field, FieldCode::TooSmall, TOO_SMALL);
                }
            }
            Some(Ok(money)) if !money.is_positive() => {
                self.complain(field, FieldCode::TooSmall, TOO_SMALL);
            }
            Some(Ok(money)) if money > max => {
                let (code, what) = wrong_amount(MoneyError::TooLarge, max);
                self.complain(field, code, &what);
            }
            Some(Ok(money)) => return Some(money),
        }
        None
    }

    /// An optional whole number, as a JSON number or a text of digits.
    pub fn integer(&mut self, field: &'static str) -> Option<i64> {
        let token = self.fields.get(field)?;
        let text = match token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inner) if inner.trim().is_empty() => return None,
            Some(inner) => inner.trim(),
            None => token,
        };
        let whole = text.strip_prefix('-').unwrap_or(text);
        if whole.is_empty() || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
            self.complain(field, FieldCode::NotAWholeNumber, "must be a whole number");
            return None;
        }
        // Numbers beyond the range are ids that nobody has.
        Some(text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }))
    }
}

fn wrong_amount(error: MoneyError, max: Money) -> Wrong {
    match error {
        MoneyError::NotANumber => (FieldCode::NotANumber, error.to_string().into()),
        MoneyError::TooManyDecimals => (FieldCode::TooManyDecimals, error.to_string().into()),
        MoneyError::TooLarge => (FieldCode::TooLarge, format!("must not be greater than {max}").into()),
    }
}

/// Control characters are reported separately.
fn invisible(text: &str) -> Option<Wrong> {
    let shown: String = text.chars().filter(|c| !c.is_control()).collect();
    (!is_plain_line(&shown)).then(|| (FieldCode::InvisibleCharacters, Impostor::Invisible.to_string().into()))
}

/// Trims; `None` when nothing is left. Reports everything that is wrong.
pub fn check_text(text: String, max: usize) -> Result<Option<String>, Vec<Wrong>> {
    let trimmed = text.trim();
    let mut wrong = Vec::new();
    if trimmed.chars().any(char::is_control) {
        wrong.push((FieldCode::ControlCharacters, "must not contain control characters".into()));
    }
    // Bytes first: most texts are shorter than the limit however they are counted.
    if trimmed.len() > max && trimmed.chars().count() > max {
        wrong.push((FieldCode::TooLong, format!("must not be longer than {max} characters").into()));
    }
    match (wrong.is_empty(), trimmed.is_empty()) {
        (false, _) => Err(wrong),
        (true, true) => Ok(None),
        (true, false) if trimmed.len() == text.len() => Ok(Some(text)),
        (true, false) => Ok(Some(trimmed.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::parse;
    use super::*;

    const MAX: Money = Money(99_999_999_999);

    fn amount(token: &str) -> Result<Money, String> {
        let text = format!("{{\"amount\": {token}}}");
        let fields = parse(text.as_bytes()).unwrap();
        let mut checker = Checker::new(&fields);
        checker.amount("amount", MAX).ok_or_else(|| checker.problems.summary())
    }

    #[test]
    fn amounts_are_read_exactly() {
        for (token, kobo) in [
            ("0.01", 1),
            ("\"0.01\"", 1),
            ("5000", 500_000),
            ("5000.5", 500_050),
            ("\" 1500.50 \"", 150_050),
            ("999999999.99", 99_999_999_999),
            // Floats would make 0.28999999999999998 and 1.1499999999999999 of these.
            ("0.29", 29),
            ("1.15", 115),
        ] {
            assert_eq!(amount(token), Ok(Money(kobo)), "{token}");
        }
    }

    #[test]
    fn every_other_notation_is_refused() {
        for (token, part) in [
            ("null", "required"),
            ("\"\"", "required"),
            ("\"  \"", "required"),
            ("1e3", "must be a number"),
            ("\"1e3\"", "must be a number"),
            ("\"1,000\"", "must be a number"),
            ("\"NaN\"", "must be a number"),
            ("\"+5\"", "must be a number"),
            ("true", "must be a number"),
            ("[5]", "must be a number"),
            ("{}", "must be a number"),
            ("0", "at least 0.01"),
            ("0.00", "at least 0.01"),
            ("-5", "at least 0.01"),
            ("\"-0.01\"", "at least 0.01"),
            ("0.001", "two decimal places"),
            ("1.000", "two decimal places"),
            ("1000000000.00", "greater than 999999999.99"),
            ("99999999999999999999999", "greater than 999999999.99"),
        ] {
            let message = amount(token).unwrap_err();
            assert!(message.contains(part), "{token}: {message}");
        }
    }

    fn text(token: &str, max: usize) -> Result<Option<String>, String> {
        let text = format!("{{\"payer_name\": {token}}}");
        let fields = parse(text.as_bytes()).unwrap();
        let mut checker = Checker::new(&fields);
        let value = checker.text("payer_name", max);
        if checker.problems.is_empty() { Ok(value) } else { Err(checker.problems.summary()) }
    }

    #[test]
    fn texts_are_trimmed_and_counted_in_characters() {
        assert_eq!(text("\"  Ada \\n\"", 3), Ok(Some("Ada".into())));
        assert_eq!(text("\"ọọọ\"", 3), Ok(Some("ọọọ".into())));
        assert_eq!(text("\"ọọọọ\"", 3), Err("The payer name must not be longer than 3 characters.".into()));
        for empty in ["\"\"", "\" \\t \"", "null"] {
            assert_eq!(text(empty, 3), Ok(None));
        }
        for bad in ["\"a\\u0000b\"", "\"a\\nb\"", "\"a\\u007fb\"", "\"a\\u0085b\""] {
            assert!(text(bad, 9).unwrap_err().contains("control characters"), "{bad}");
        }
        for wrong in ["5", "true", "[]", "{}"] {
            assert_eq!(text(wrong, 9), Err("The payer name must be a string.".into()), "{wrong}");
        }
        for half in ["\"\\ud800\"", "\"a\\udfffb\""] {
            assert!(text(half, 9).unwrap_err().starts_with("The payer name must be valid Unicode"), "{half}");
        }
    }

    #[test]
    fn everything_wrong_with_a_text_is_told_at_once() {
        let told = |token: &str, max: usize| {
            let text = format!("{{\"payer_name\": {token}}}");
            let fields = parse(text.as_bytes()).unwrap();
            let mut checker = Checker::new(&fields);
            assert_eq!(checker.required_name("payer_name", max), None);
            checker.problems.summary()
        };
        let four = told("\"\\u0007 12345 \\u200b\"", 3);
        assert_eq!(four, "The payer name must not contain control characters. (and 3 more errors)");
        let three = told("\"12345\\u200b\"", 3);
        assert_eq!(three, "The payer name must not be longer than 3 characters. (and 2 more errors)");
        assert_eq!(told("\"123\"", 3), "The payer name must contain at least one letter.");
        assert_eq!(told("\"\"", 3), "The payer name field is required.");
        assert_eq!(told("5", 3), "The payer name must be a string.");
    }

    #[test]
    fn whole_numbers() {
        let read = |token: &str| {
            let text = format!("{{\"id\": {token}}}");
            let fields = parse(text.as_bytes()).unwrap();
            let mut checker = Checker::new(&fields);
            (checker.integer("id"), checker.problems.is_empty())
        };
        assert_eq!(read("12"), (Some(12), true));
        assert_eq!(read("\" 12 \""), (Some(12), true));
        assert_eq!(read("\"\""), (None, true));
        assert_eq!(read("99999999999999999999"), (Some(i64::MAX), true));
        for wrong in ["1.0", "1e2", "true", "\"x\"", "\"1 2\"", "[1]"] {
            assert_eq!(read(wrong), (None, false), "{wrong}");
        }
    }
}
