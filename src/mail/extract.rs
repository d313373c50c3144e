//! From recognised content to the facts of an alert, by the rules of one layout.
//!
//! Every source that a layout names is read, in every part of the mail; sources that disagree
//! leave the field unread and become a doubt. Words in a narration are masked before anything
//! else is looked for: a payer may have typed them. Nothing is guessed. Called by `mail::read`.

use super::amount::{self, Figure};
use super::narration::{self, Setting};
use super::sheet::{Arrangement, Found, Sheet, collapse};
use super::template::{Bank, Continuation, FieldName, Layout, Shared};
use super::when::{self, Shown};
use crate::domain::alert::{AlertFacts, AlertKind, Balance, Direction};
use crate::domain::money::Money;
use crate::domain::time::Timestamp;

/// Matches of one expression looked at.
const MAX_MATCHES: usize = 20;
/// Longest narration kept.
const MAX_NARRATION_CHARS: usize = 1000;
/// Longest other value kept; a field of a bank is far shorter.
const MAX_VALUE_CHARS: usize = 200;

/// Bytes of a reference.
const MAX_REFERENCE: usize = 64;

/// What of the headers may be used: `None` where nothing vouches for it.
pub struct Head<'a> {
    pub subject: Option<&'a str>,
    pub date: Option<Timestamp>,
    pub now: Timestamp,
}

/// The first layout of the bank that fits the visible text and the subject.
pub fn recognise<'b>(bank: &'b Bank, text: &str, subject: &str) -> Option<&'b Layout> {
    bank.layouts.iter().find(|l| {
        l.all.iter().all(|r| r.is_match(text))
            && !l.none.iter().any(|r| r.is_match(text))
            && (l.subject.is_empty() || l.subject.iter().any(|r| r.is_match(subject)))
    })
}

/// Reads all fields of a layout.
pub fn facts(bank: &Bank, shared: &Shared, layout: &Layout, sheets: &[Sheet], head: &Head<'_>) -> AlertFacts {
    let mut reader = Reader::new(layout, sheets, head);
    let amount = reader.amount();
    let direction = reader.direction(amount.suffix);
    let currency = reader.currency(&amount, bank);
    let value = reader.positive(&amount, direction);
    let holder = reader.field(FieldName::Holder).map(|h| h.trim_matches([',', ' ', '.', '!']).to_owned());
    let (text, filled) = reader.narration();
    let setting =
        Setting { bank, shared, layout: &layout.name, direction, holder: holder.as_deref(), filled };
    let story = text.as_deref().map(|t| narration::read(t, &setting)).unwrap_or_default();
    let named = reader.field(FieldName::Payer).and_then(|n| narration::clean_name(&n, shared));
    let (payer, cut) = payer(named, &story, &setting);
    let mut facts = AlertFacts {
        bank: Some(bank.code.clone()),
        template: Some(layout.name.clone()),
        direction,
        kind: None,
        amount: value,
        currency,
        account_number: reader.account(),
        virtual_account: story.virtual_account,
        virtual_amount: story.virtual_amount,
        virtual_day: story.virtual_day,
        holder_name: holder,
        payer_name: payer,
        payer_name_cut: cut,
        payer_account_number: reader.field(FieldName::PayerAccount).or(story.payer_account),
        payer_bank: reader.field(FieldName::PayerBank).or(story.payer_bank),
        narration: text,
        reference: reader.reference().or(story.reference),
        reference_is_unique: false,
        session_id: reader.session().or(story.session),
        occurred: reader.occurred(),
        balance: reader.balance(),
        doubts: Vec::new(),
    };
    facts.reference_is_unique =
        layout.reference_is_unique && facts.reference.as_deref().is_some_and(|r| !placeholder(r));
    facts.kind = direction.map(|d| reader.kind(d, facts.narration.as_deref(), bank, shared));
    if direction == Some(Direction::Debit) {
        facts.payer_name = None;
        facts.payer_name_cut = false;
        facts.payer_account_number = None;
        facts.payer_bank = None;
    } else if !matches!(facts.kind, Some(AlertKind::Payment) | None) {
        facts.payer_name = None;
        facts.payer_name_cut = false;
    }
    facts.doubts = reader.doubts;
    facts
}

/// The payer's own row first, unless it names the receiver and the narration another.
fn payer(named: Option<String>, story: &narration::Story, setting: &Setting<'_>) -> (Option<String>, bool) {
    let receiver = |name: &str| {
        setting.holder.is_some_and(|h| h.eq_ignore_ascii_case(name))
            || story.receiver.as_deref().is_some_and(|r| name.to_lowercase().starts_with(&r.to_lowercase()))
    };
    match named {
        Some(row) if story.payer.is_some() && receiver(&row) => (story.payer.clone(), story.payer_cut),
        Some(row) => {
            let cut = setting.bank.cut_lengths.contains(&row.chars().count());
            (Some(row), cut)
        }
        None => (story.payer.clone(), story.payer_cut),
    }
}

/// A reference that stands for none.
fn placeholder(reference: &str) -> bool {
    let signs: Vec<char> = reference.chars().filter(|c| c.is_alphanumeric()).collect();
    signs.len() < 6 || signs.iter().all(|c| *c == signs[0])
}

struct Reader<'a> {
    layout: &'a Layout,
    head: &'a Head<'a>,
    sheets: &'a [Sheet],
    masked: Vec<Sheet>,
    /// Texts of the masked sheets, their balances masked as well.
    texts: Vec<String>,
    doubts: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(layout: &'a Layout, sheets: &'a [Sheet], head: &'a Head<'a>) -> Reader<'a> {
        let mut free: Vec<String> = layout.continuation.iter().flat_map(|c| c.labels.clone()).collect();
        for name in [FieldName::Narration, FieldName::Payer] {
            free.extend(layout.fields.get(&name).into_iter().flat_map(|f| f.labels.clone()));
        }
        let mut masked = sheets.to_vec();
        for (sheet, masked) in sheets.iter().zip(&mut masked) {
            for found in
                sheet.values(&free, &layout.known, Arrangement { spaced: layout.spaced, wraps: true })
            {
                masked.mask(&found);
            }
        }
        // A balance on a line of its own must not pass for the amount.
        let mut balances: Vec<String> = Vec::new();
        for name in [FieldName::Available, FieldName::Ledger] {
            balances.extend(layout.fields.get(&name).into_iter().flat_map(|f| f.labels.clone()));
        }
        let texts = masked
            .iter()
            .map(|sheet| {
                let mut rest = sheet.clone();
                let how = Arrangement { spaced: layout.spaced, wraps: false };
                for found in sheet.values(&balances, &layout.known, how) {
                    rest.mask(&found);
                }
                rest.text()
            })
            .collect();
        Reader { layout, head, sheets, masked, texts, doubts: Vec::new() }
    }

    fn doubt(&mut self, why: impl Into<String>) {
        let why = why.into();
        if !self.doubts.contains(&why) {
            self.doubts.push(why);
        }
    }

    fn at_labels(&self, labels: &[String], sheets: &[Sheet], wraps: bool) -> Vec<Found> {
        let how = Arrangement { spaced: self.layout.spaced, wraps };
        sheets.iter().flat_map(|s| s.values(labels, &self.layout.known, how)).collect()
    }

    /// Every value of a field in the body, label rows and expressions alike.
    fn values(&self, name: FieldName) -> Vec<String> {
        let Some(field) = self.layout.fields.get(&name) else { return Vec::new() };
        let free = matches!(name, FieldName::Narration | FieldName::Payer);
        let sheets = if free { self.sheets } else { &self.masked };
        let mut out: Vec<String> = self
            .at_labels(&field.labels, sheets, name == FieldName::Narration)
            .into_iter()
            .map(|f| f.text)
            .collect();
        for (i, masked) in self.texts.iter().enumerate() {
            let whole;
            let text = if free {
                whole = self.sheets[i].text();
                &whole
            } else {
                masked
            };
            for line in &field.lines {
                out.extend(line.captures_iter(text).take(MAX_MATCHES).map(|c| c["v"].to_owned()));
            }
        }
        out
    }

    /// The value in the subject, where the header may be used.
    fn in_subject(&self, name: FieldName) -> Option<String> {
        let subject = self.head.subject?;
        let field = self.layout.fields.get(&name)?;
        field.subject.iter().find_map(|r| r.captures(subject)).map(|c| c["v"].trim().to_owned())
    }

    fn subject_alone(&self, name: FieldName) -> bool {
        self.layout.fields.get(&name).is_some_and(|f| f.subject_alone)
    }

    /// One value, or none with a doubt when the mail shows several.
    fn field(&mut self, name: FieldName) -> Option<String> {
        let mut found: Vec<String> =
            self.values(name).iter().map(|v| collapse(v)).filter(|v| !v.is_empty()).collect();
        if found.is_empty() && self.subject_alone(name) {
            found.extend(self.in_subject(name));
        }
        let first = found.first()?.clone();
        if found.iter().any(|v| !v.eq_ignore_ascii_case(&first)) {
            self.doubt(format!("the mail shows two different values for {name:?}").to_lowercase());
            return None;
        }
        (first.chars().count() <= MAX_VALUE_CHARS).then_some(first)
    }

    fn session(&mut self) -> Option<String> {
        self.field(FieldName::Session).filter(|s| s.len() == 30 && s.bytes().all(|b| b.is_ascii_digit()))
    }

    /// A reference is one word; a sentence below an empty row is none.
    fn reference(&mut self) -> Option<String> {
        self.field(FieldName::Reference).filter(|r| r.len() <= MAX_REFERENCE && !r.contains(' '))
    }

    /// An account number or its mask: digits, mask signs, nothing else.
    fn account(&mut self) -> Option<String> {
        let account = self.field(FieldName::Account)?;
        let fits = account.chars().all(|c| c.is_ascii_digit() || "*xX.#•-".contains(c));
        let account: String = account.chars().filter(|c| *c != ' ').collect();
        (fits && account.chars().any(|c| c.is_ascii_digit()) && account.len() <= 24).then_some(account)
    }

    fn amount(&mut self) -> Figure {
        let mut figures: Vec<Figure> = self
            .values(FieldName::Amount)
            .iter()
            .filter(|v| !v.trim().is_empty())
            .map(|v| amount::read(v))
            .collect();
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
            figure.suffix = figure.suffix.or(other.suffix);
        }
        if figure.hidden {
            self.doubt("the bank masked the amount");
        } else if figure.value.is_none() {
            self.doubt("the amount could not be read for sure");
        }
        figure
    }

    fn positive(&mut self, figure: &Figure, direction: Option<Direction>) -> Option<Money> {
        let value = figure.value?;
        if value.is_positive() {
            return Some(value);
        }
        if value.0 < 0 && direction == Some(Direction::Debit) {
            return Some(Money(-value.0));
        }
        self.doubt("the amount is zero or negative");
        None
    }

    fn currency(&mut self, figure: &Figure, bank: &Bank) -> Option<String> {
        let mut codes: Vec<String> = figure.currency.clone().into_iter().collect();
        let mut odd = false;
        for text in self.values(FieldName::Currency).into_iter().chain(self.in_subject(FieldName::Currency)) {
            match amount::currency(text.trim()) {
                Some(code) => codes.push(code),
                None => odd |= !text.trim().is_empty(),
            }
        }
        if odd || codes.iter().any(|c| *c != codes[0]) {
            self.doubt("the currency is not clear");
            return None;
        }
        codes.pop().or_else(|| bank.currency.clone())
    }

    fn direction(&mut self, suffix: Option<Direction>) -> Option<Direction> {
        let rule = &self.layout.direction;
        let mut told = Vec::new();
        for found in self.at_labels(&rule.labels, &self.masked, false) {
            match found.text.to_lowercase() {
                t if t.starts_with("cr") => told.push(Direction::Credit),
                t if t.starts_with("d") => told.push(Direction::Debit),
                _ => {}
            }
        }
        for text in &self.texts {
            if rule.credit.iter().any(|r| r.is_match(text)) {
                told.push(Direction::Credit);
            }
            if rule.debit.iter().any(|r| r.is_match(text)) {
                told.push(Direction::Debit);
            }
        }
        if rule.amount_suffix {
            told.extend(suffix);
        }
        let subject = self.subject_direction();
        let Some(first) = told.first().copied() else {
            if subject.is_some() {
                self.doubt("the direction stands in the subject alone");
            }
            return subject;
        };
        if told.iter().any(|d| *d != first) {
            self.doubt("the mail speaks of a credit and of a debit");
            return None;
        }
        if subject.is_some_and(|s| s != first) {
            self.doubt("subject and body disagree on the direction");
        }
        Some(first)
    }

    fn subject_direction(&self) -> Option<Direction> {
        let subject = self.head.subject?;
        let rule = &self.layout.direction;
        let credit = rule.subject_credit.iter().any(|r| r.is_match(subject));
        let debit = rule.subject_debit.iter().any(|r| r.is_match(subject));
        match (credit, debit) {
            (true, false) => Some(Direction::Credit),
            (false, true) => Some(Direction::Debit),
            _ => None,
        }
    }

    /// The narration with its continuation, and whether it fills its field.
    fn narration(&mut self) -> (Option<String>, bool) {
        let raw = self.values(FieldName::Narration);
        let rest = match &self.layout.continuation {
            Some(c) => self.at_labels(&c.labels, self.sheets, false).into_iter().map(|f| f.text).collect(),
            None => Vec::new(),
        };
        let mut joined: Vec<(String, bool)> = Vec::new();
        for (i, text) in raw.iter().enumerate().filter(|(_, t)| !t.trim().is_empty()) {
            let rest = rest.get(i).or(rest.first()).map_or("", String::as_str);
            let (text, filled) = match &self.layout.continuation {
                Some(c) => join(text.trim(), rest.trim(), c),
                None => (
                    text.clone(),
                    self.layout.narration_limit.is_some_and(|n| text.trim().chars().count() >= n),
                ),
            };
            joined.push((collapse(&text), filled));
        }
        let Some((text, filled)) = joined.first().cloned() else { return (None, false) };
        let squeeze = |t: &str| t.split_whitespace().collect::<String>();
        if joined.iter().any(|(other, _)| squeeze(other) != squeeze(&text)) {
            self.doubt("the mail shows two different narrations");
            return (None, false);
        }
        (Some(text.chars().take(MAX_NARRATION_CHARS).collect()), filled)
    }

    fn occurred(&mut self) -> Option<crate::domain::alert::BankTime> {
        let mut shown = Shown::default();
        let mut clear = true;
        for text in self.values(FieldName::Date) {
            let one = when::read(&text);
            clear &= shown.day.is_none() || one.day.is_none() || shown.day == one.day;
            clear &= shown.clock.is_none() || one.clock.is_none() || shown.clock == one.clock;
            shown.day = shown.day.or(one.day);
            shown.clock = shown.clock.or(one.clock);
            shown.offset = shown.offset.or(one.offset);
        }
        if shown.clock.is_none() {
            for text in self.values(FieldName::Time) {
                let one = when::read(&text);
                clear &= shown.clock.is_none() || one.clock.is_none() || shown.clock == one.clock;
                shown.clock = shown.clock.or(one.clock);
            }
        }
        if !clear {
            self.doubt("the mail shows two different times");
            return None;
        }
        when::interval(shown, self.head.date, self.head.now)
    }

    fn balance(&mut self) -> Option<Balance> {
        let one = |reader: &Self, name| {
            let figures: Vec<Figure> = reader.values(name).iter().map(|v| amount::read(v)).collect();
            let first = figures.first()?.value?;
            figures.iter().all(|f| f.value == Some(first)).then_some(first)
        };
        match one(self, FieldName::Available) {
            Some(money) => Some(Balance::Available(money)),
            None => one(self, FieldName::Ledger).map(Balance::Ledger),
        }
    }

    fn kind(
        &mut self,
        direction: Direction,
        narration: Option<&str>,
        bank: &Bank,
        shared: &Shared,
    ) -> AlertKind {
        let Some(text) = narration else { return AlertKind::Payment };
        for rule in bank.kinds.iter().chain(&shared.kinds) {
            if rule.direction.is_some_and(|d| d != direction) || !rule.pattern.is_match(text) {
                continue;
            }
            match rule.kind {
                Some(kind) => return kind,
                None => self.doubt("the narration may tell of a refund or a reversal"),
            }
        }
        AlertKind::Payment
    }
}

/// Puts a narration together that goes on in another row, and says whether its end may be missing.
///
/// A first part one short of the limit has lost its last blank to trimming. A second part that
/// repeats the first is no continuation.
fn join(first: &str, second: &str, rule: &Continuation) -> (String, bool) {
    let length = first.chars().count();
    let squeeze = |t: &str| t.split_whitespace().collect::<String>();
    let repeats = squeeze(first).starts_with(&squeeze(second));
    if second.is_empty() || repeats || length > rule.at || length + 1 < rule.at {
        // Longer than the limit: not the bank's own text, so its end cannot be judged.
        return (first.to_owned(), length >= rule.at);
    }
    let mut rest: Vec<char> = second.chars().collect();
    let filled = rest.len() >= rule.limit;
    if rest.get(rule.gap_after) == Some(&' ') {
        rest.remove(rule.gap_after);
    }
    let gap = if length + 1 == rule.at { " " } else { "" };
    (format!("{first}{gap}{}", rest.into_iter().collect::<String>()), filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_narration_is_joined_only_at_the_limit() {
        let rule = Continuation { labels: vec![], at: 20, gap_after: 10, limit: 15 };
        let joined = |a: &str, b: &str| join(a, b, &rule);
        assert_eq!(
            joined("ABCDEFGHIJKLMNOPQRST", "UVWXYZABCD EF"),
            ("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF".into(), false)
        );
        assert!(joined("ABCDEFGHIJKLMNOPQRST", "UVWXYZABCD EFGH").1);
        assert_eq!(joined("ABCDEFGHIJKLMNOPQRS", "UVW").0, "ABCDEFGHIJKLMNOPQRS UVW");
        assert_eq!(joined("ABCDEFGHIJKLMNOPQR", "UVW").0, "ABCDEFGHIJKLMNOPQR");
        assert_eq!(joined("ABCDEFGHIJKLMNOPQRST", "ABCDEFGHIJ KLM").0, "ABCDEFGHIJKLMNOPQRST");
        assert_eq!(joined("ABCDEFGHIJKLMNOPQRSTX", "UVW").0, "ABCDEFGHIJKLMNOPQRSTX");
        // The eleventh character is taken out only where it is the blank too many.
        assert_eq!(joined("ABCDEFGHIJKLMNOPQRST", "D-FAIRMONEY-X").0, "ABCDEFGHIJKLMNOPQRSTD-FAIRMONEY-X");
    }

    #[test]
    fn placeholders_are_no_references() {
        assert!(
            placeholder("0") && placeholder("000000000") && placeholder("N/A") && !placeholder("S36256938")
        );
    }
}
