//! The figures of an alert: amount, currency, balance. Every place must show the same.
//! A part of `extract`; nothing else calls it.

use super::Reader;
use crate::alert_reader::amount::{self, Figure};
use crate::alert_reader::template::{Bank, FieldName};
use crate::alert_reader::text_table::RAISED;
use crate::domain::alert::{Balance, Direction, NEGATIVE};
use crate::domain::money::Money;

/// Replaces a value that an expression cut out of a longer figure or number. It is not read as a value.
const CUT_OUT: &str = "(part of a longer figure)";

impl Reader<'_> {
    pub(super) fn amount(&mut self) -> Figure {
        let mut shown: Vec<(usize, Figure)> = self
            .placed(FieldName::Amount)
            .iter()
            .filter(|(_, v)| !v.trim().is_empty())
            .map(|(part, v)| (*part, amount::read(v)))
            .collect();
        if self.pages_tell_another(&shown) {
            self.doubt(super::parts::AMOUNTS_DIFFER);
            shown.retain(|(part, _)| self.is_page(*part));
        }
        let mut figures: Vec<Figure> = shown.into_iter().map(|(_, figure)| figure).collect();
        if let Some(subject) = self.in_subject(FieldName::Amount) {
            let figure = amount::read(&subject);
            // Without a figure in the body the subject's counts only where the layout says so.
            if !figures.is_empty() || self.subject_alone(FieldName::Amount) {
                figures.push(figure);
            }
        }
        let Some(mut figure) = figures.first().cloned() else { return Figure::default() };
        for other in &figures[1..] {
            if other.value != figure.value {
                self.doubt("the mail shows two different amounts");
                figure.value = None;
            }
            figure.currency = match (figure.currency.take(), &other.currency) {
                (Some(a), Some(b)) if a != *b => {
                    self.doubt("the mail shows two different currencies");
                    figure.value = None;
                    Some(a)
                }
                (a, b) => a.or(b.clone()),
            };
            if figure.suffix.is_some() && other.suffix.is_some() && figure.suffix != other.suffix {
                self.doubt("the mail shows the amount as a credit and as a debit");
                figure.value = None;
            }
            figure.suffix = figure.suffix.or(other.suffix);
            figure.taken_back |= other.taken_back;
        }
        if figure.taken_back || figure.value.is_some_and(|value| value.0 < 0) {
            self.doubt(NEGATIVE);
        }
        if figure.hidden {
            self.doubt("the bank masked the amount");
        } else if figure.value.is_none() {
            self.doubt("the amount could not be read reliably");
        }
        figure
    }

    /// Whether the HTML shows one amount and the text beside it another. A person then decides, and sees
    /// what the bank's customers see.
    fn pages_tell_another(&self, shown: &[(usize, Figure)]) -> bool {
        let (pages, texts): (Vec<_>, Vec<_>) = shown.iter().partition(|(part, _)| self.is_page(*part));
        let same = |a: &Figure, b: &Figure| {
            a.value == b.value && (a.currency == b.currency || a.currency.is_none() || b.currency.is_none())
        };
        let Some((_, first)) = pages.first() else { return false };
        first.value.is_some()
            && pages.iter().all(|(_, figure)| same(figure, first))
            && texts.iter().any(|(_, figure)| !same(figure, first))
    }

    pub(super) fn positive(&mut self, figure: &Figure, direction: Option<Direction>) -> Option<Money> {
        let value = figure.value?;
        if value.is_positive() {
            return Some(value);
        }
        // A minus already causes a doubt, so a person looks.
        if value.0 < 0 && direction.is_some() {
            return Some(Money(-value.0));
        }
        self.doubt("the amount is zero or negative");
        None
    }

    pub(super) fn currency(&mut self, figure: &Figure, bank: &Bank) -> Option<String> {
        let mut codes: Vec<String> = figure.currency.clone().into_iter().collect();
        let mut odd = false;
        for text in self.values(FieldName::Currency).into_iter().chain(self.in_subject(FieldName::Currency)) {
            match amount::currency(text.trim()) {
                Some(code) => codes.push(code),
                None => odd |= !text.trim().is_empty(),
            }
        }
        if odd || codes.iter().any(|c| *c != codes[0]) {
            self.doubt("the currency is unclear");
            return None;
        }
        codes.pop().or_else(|| bank.currency.clone())
    }

    /// The balance in the currency of the amount; one in another says nothing about this account's.
    pub(super) fn balance(&mut self, currency: Option<&str>) -> Option<Balance> {
        let shown = |reader: &Self, name| {
            let all = reader.values(name).into_iter().map(|v| amount::read(&v));
            let ours =
                |f: &Figure| f.currency.is_none() || currency.is_none() || f.currency.as_deref() == currency;
            all.filter(ours).collect::<Vec<Figure>>()
        };
        let one = |reader: &Self, name| {
            let figures = shown(reader, name);
            let first = figures.first()?.value?;
            figures.iter().all(|f| f.value == Some(first)).then_some(first)
        };
        for name in [FieldName::Available, FieldName::Ledger] {
            let figures: Vec<_> = shown(self, name).iter().filter_map(|f| f.value).collect();
            if figures.iter().any(|f| *f != figures[0]) {
                self.doubt("the mail shows two different balances");
            }
        }
        match one(self, FieldName::Available) {
            Some(money) => Some(Balance::Available(money)),
            None => one(self, FieldName::Ledger).map(Balance::Ledger),
        }
    }
}

/// A value that an expression found, unless the figure or number around it is longer: half of
/// `1,250.5` or of `2XX..60X` would be a wrong value instead of none.
pub(super) fn whole(name: FieldName, text: &str, found: std::ops::Range<usize>) -> &str {
    let cut = match name {
        FieldName::Amount | FieldName::Available | FieldName::Ledger => figure_is_cut(text, &found),
        FieldName::Account | FieldName::PayerAccount => number_is_cut(text, &found),
        _ => false,
    };
    if cut { CUT_OUT } else { &text[found] }
}

fn figure_is_cut(text: &str, found: &std::ops::Range<usize>) -> bool {
    let value = &text[found.clone()];
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    if digit(value.chars().next()) {
        let mut before = text[..found.start].chars().rev();
        let first = before.next();
        if digit(first)
            || first == Some('-')
            || matches!(first, Some('.' | ',' | RAISED)) && digit(before.next())
        {
            return true;
        }
    }
    if !digit(value.chars().next_back()) {
        return false;
    }
    let rest = &text[found.end..];
    let mut after = rest.chars();
    match after.next() {
        Some('.' | ',' | RAISED) => digit(after.next()),
        // A space may separate thousands; after decimals it begins the next field.
        Some(' ') if !value.contains('.') => {
            let group = after.as_str();
            let digits = group.bytes().take_while(u8::is_ascii_digit).count();
            digits == 3 && !group[3..].starts_with(['/', '-', ':'])
        }
        next => digit(next),
    }
}

fn number_is_cut(text: &str, found: &std::ops::Range<usize>) -> bool {
    let sign = |c: char| c.is_alphanumeric() || matches!(c, '*' | '•' | '#' | RAISED);
    let before = text[..found.start].chars().next_back();
    let mut after = text[found.end..].chars();
    before.is_some_and(sign)
        || match after.next() {
            Some('.') => after.next().is_some_and(|c| sign(c) || c == '.'),
            next => next.is_some_and(sign),
        }
}
