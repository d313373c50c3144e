//! From recognised content to the facts of an alert, by the rules of one layout.
//!
//! Every source that a layout names is read, in every part of the mail. If sources disagree, the field stays
//! unread and there is a doubt. Narrations are masked before anything else is searched for, because a payer
//! may have typed them. Nothing is guessed. Called by `alert_reader::read`.

mod figures;
mod lost;
mod parts;
pub mod places;
pub mod tried;
mod wording;

use super::narration::{self, Setting};
use super::template::{Bank, FieldName, Layout, Shared};
use super::text_table::{Arrangement, Found, Labelled, TextTable, collapse};
use super::when::{self, ShownTime};
use crate::domain::alert::{AlertFacts, AlertKind, Direction};
use crate::domain::time::Timestamp;

/// Matches of one expression looked at.
const MAX_MATCHES: usize = 20;
/// Longest other value kept; a bank's fields are far shorter.
const MAX_VALUE_CHARS: usize = 200;

/// Bytes of a reference.
const MAX_REFERENCE: usize = 64;

/// The headers that may be used: `None` where nothing vouches for one.
pub struct SignedHead<'a> {
    pub subject: Option<&'a str>,
    pub date: Option<Timestamp>,
    pub now: Timestamp,
    /// Record which rules and expressions were tried.
    pub explain: bool,
}

/// The first layout of the bank that fits the visible text and the subject.
pub fn recognise<'b>(bank: &'b Bank, text: &str, subject: &str) -> Option<&'b Layout> {
    bank.layouts.iter().find(|l| {
        l.all.iter().all(|r| r.is_match(text))
            && !l.none.iter().any(|r| r.is_match(text))
            && (l.subject.is_empty() || l.subject.iter().any(|r| r.is_match(subject)))
    })
}

/// Reads all fields of a layout. `why` is told which rules for narrations were tried, if `head` wants it.
pub fn facts(
    bank: &Bank,
    shared: &Shared,
    layout: &Layout,
    tables: &[TextTable],
    head: &SignedHead<'_>,
    why: &mut Vec<String>,
) -> AlertFacts {
    let mut reader = Reader::new(layout, tables, head);
    let amount = reader.amount();
    let direction = reader.direction(amount.suffix);
    let direction = parts::settle(&mut reader, direction, &shared.claims);
    let currency = reader.currency(&amount, bank);
    let value = reader.positive(&amount, direction);
    let holder = reader.field(FieldName::Holder).map(|h| h.trim_matches([',', ' ', '.', '!']).to_owned());
    let (text, filled) = reader.narration();
    let setting =
        Setting { bank, shared, layout: &layout.name, direction, holder: holder.as_deref(), filled };
    let parsed = text.as_deref().map(|t| narration::read(t, &setting)).unwrap_or_default();
    if head.explain {
        why.extend(narration::tried::told(text.as_deref(), &setting));
    }
    let named = reader.field(FieldName::Payer).and_then(|n| narration::clean_name(&n, shared));
    let Payer { name: payer, cut, unsure } = payer(named, text.as_deref(), &parsed, &setting);
    if unsure {
        reader.doubt("the sender's row names the person whom the narration calls the receiver");
    }
    if parsed.two_names {
        reader.doubt("the narration names two people, and it is unclear which of them paid");
    }
    let balance = reader.balance(currency.as_deref());
    let is_collection = direction == Some(Direction::Credit) && may_be_collection(bank, text.as_deref());
    let mut facts = AlertFacts {
        bank: Some(bank.code.clone()),
        template: Some(layout.name.clone()),
        direction,
        kind: None,
        amount: value,
        currency,
        account_number: reader.account(),
        virtual_account: parsed.virtual_account,
        virtual_amount: parsed.virtual_amount,
        virtual_day: parsed.virtual_day,
        is_collection,
        holder_name: holder,
        payer_name: payer,
        payer_name_cut: cut,
        payer_account_number: reader.field(FieldName::PayerAccount).or(parsed.payer_account),
        payer_bank: reader.field(FieldName::PayerBank).or(parsed.payer_bank),
        remarks: reader.remarks(text.as_deref(), shared),
        narration_cut: filled,
        narration: text,
        reference: reader.reference().or(parsed.reference),
        reference_is_unique: false,
        session_id: reader.session().or(parsed.session),
        occurred: reader.occurred(),
        balance,
        doubts: Vec::new(),
    };
    facts.reference_is_unique =
        layout.reference_is_unique && facts.reference.as_deref().is_some_and(|r| !placeholder(r));
    if let Some(direction) = direction {
        let (kind, rule) = reader.kind(direction, facts.narration.as_deref(), bank, shared);
        facts.kind = Some(kind);
        // The cause stands first.
        if let Some(rule) = rule {
            why.insert(0, rule);
        }
    } else if reader.may_be_a_debit() {
        // Neither, and nobody is credited by it. But the debit of a transfer that was taken back repeats what its payer wrote,
        // so what may be one holds as one does.
        facts.kind = Some(AlertKind::Reversal);
        why.insert(0, "it may have taken money back: it mentions both a credit and a debit".to_owned());
    }
    if direction == Some(Direction::Debit) {
        facts.payer_name = None;
        facts.payer_name_cut = false;
        facts.payer_account_number = None;
        facts.payer_bank = None;
    } else if !matches!(facts.kind, Some(AlertKind::Payment) | None) {
        facts.payer_name = None;
        facts.payer_name_cut = false;
    }
    if direction == Some(Direction::Credit) {
        reader.codes_beside(facts.narration.as_deref());
    }
    parts::compare(&mut reader, &facts, &shared.claims);
    if head.explain {
        why.extend(tried::unread(&reader, &facts));
    }
    facts.doubts = reader.doubts;
    facts
}

struct Payer {
    name: Option<String>,
    cut: bool,
    /// Only the narration tells that the row names no payer.
    unsure: bool,
}

/// The payer's own row first, unless it names the receiver: some banks write the account's own
/// sub-account there and the payer in the narration.
fn payer(
    named: Option<String>,
    narration: Option<&str>,
    parsed: &narration::Narration,
    setting: &Setting<'_>,
) -> Payer {
    let told = Payer { name: parsed.payer.clone(), cut: parsed.payer_cut, unsure: false };
    let Some(row) = named else { return told };
    // "SHOP LTD - Bus 1": a shop of the receiver's own.
    let (name, branch) =
        row.split_once(" - ").map_or((row.as_str(), None), |(name, branch)| (name, Some(branch)));
    let upper = |text: &str| collapse(text).to_uppercase();
    let own = setting.holder.is_some_and(|h| h.eq_ignore_ascii_case(name))
        || branch.is_some_and(|b| upper(b).starts_with("BUS"));
    if own {
        return told;
    }
    let name = upper(name);
    let receiver = parsed.receiver.as_deref().map(upper);
    let called = receiver.is_some_and(|r| name.starts_with(&r) || r.starts_with(&format!("{name} ")))
        || narration.is_some_and(|n| format!("{} ", upper(n)).contains(&format!(" TO {name} ")));
    if called {
        // A payer could have typed that, with their own name in place of the receiver's.
        return Payer { unsure: told.name.is_some(), ..told };
    }
    let cut = setting.bank.cut_lengths.contains(&row.chars().count());
    Payer { name: Some(row), cut, unsure: false }
}

/// A placeholder that means "no reference".
fn placeholder(reference: &str) -> bool {
    let signs: Vec<char> = reference.chars().filter(|c| c.is_alphanumeric()).collect();
    signs.len() < 6 || signs.iter().all(|c| *c == signs[0])
}

struct Reader<'a> {
    layout: &'a Layout,
    head: &'a SignedHead<'a>,
    tables: &'a [TextTable],
    /// Of each part the cells that begin with a label of the layout.
    labelled: Vec<Labelled>,
    masked: Vec<TextTable>,
    /// Texts of the tables as they are.
    whole: Vec<String>,
    /// Texts of the masked text tables, their balances masked as well.
    texts: Vec<String>,
    doubts: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(layout: &'a Layout, tables: &'a [TextTable], head: &'a SignedHead<'a>) -> Reader<'a> {
        let free = layout.free_labels();
        let labelled: Vec<Labelled> =
            tables.iter().map(|table| table.labelled(&layout.known, layout.spaced)).collect();
        let mut masked = tables.to_vec();
        let how = Arrangement { spaced: layout.spaced, wraps: true };
        for ((table, labelled), masked) in tables.iter().zip(&labelled).zip(&mut masked) {
            for found in table.values_among(labelled, &free, &layout.known, how) {
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
            .zip(&labelled)
            .map(|(table, labelled)| {
                let mut rest = table.clone();
                let how = Arrangement { spaced: layout.spaced, wraps: false };
                for found in table.values_among(labelled, &balances, &layout.known, how) {
                    rest.mask(&found);
                }
                rest.text()
            })
            .collect();
        let whole = tables.iter().map(TextTable::text).collect();
        Reader { layout, head, tables, labelled, masked, whole, texts, doubts: Vec::new() }
    }

    fn doubt(&mut self, why: impl Into<String>) {
        let why = why.into();
        if !self.doubts.contains(&why) {
            self.doubts.push(why);
        }
    }

    /// What stands at labels of the layout in all parts: whole, or as they were masked.
    fn at_labels(&self, labels: &[String], tables: &[TextTable], wraps: bool) -> Vec<Found> {
        tables
            .iter()
            .enumerate()
            .flat_map(|(part, table)| self.at_labels_of(part, table, labels, wraps))
            .collect()
    }

    /// The same of one part.
    fn at_labels_of(&self, part: usize, table: &TextTable, labels: &[String], wraps: bool) -> Vec<Found> {
        let how = Arrangement { spaced: self.layout.spaced, wraps };
        table.values_among(&self.labelled[part], labels, &self.layout.known, how)
    }

    /// Every value of a field in the body, label rows and expressions alike.
    fn values(&self, name: FieldName) -> Vec<String> {
        self.placed(name).into_iter().map(|(_, value)| value).collect()
    }

    /// The same with the number of the part that each stands in.
    fn placed(&self, name: FieldName) -> Vec<(usize, String)> {
        let Some(field) = self.layout.fields.get(&name) else { return Vec::new() };
        let free = matches!(name, FieldName::Narration | FieldName::Payer);
        let tables = if free { self.tables } else { &self.masked };
        let mut out: Vec<(usize, String)> = Vec::new();
        for (i, table) in tables.iter().enumerate() {
            let found = self.at_labels_of(i, table, &field.labels, name == FieldName::Narration);
            out.extend(found.into_iter().map(|f| (i, f.text)));
        }
        for (i, masked) in self.texts.iter().enumerate() {
            let text = if free { &self.whole[i] } else { masked };
            for line in &field.lines {
                let found = line.captures_iter(text).take(MAX_MATCHES).filter_map(|c| c.name("v"));
                out.extend(found.map(|m| (i, figures::whole(name, text, m.range()).to_owned())));
            }
        }
        out
    }

    fn is_page(&self, part: usize) -> bool {
        self.tables.get(part).is_some_and(TextTable::is_page)
    }

    /// The value in the subject, where the header may be used.
    fn in_subject(&self, name: FieldName) -> Option<String> {
        let subject = self.head.subject?;
        let field = self.layout.fields.get(&name)?;
        let found = field.subject.iter().find_map(|r| r.captures(subject)?.name("v"))?;
        Some(figures::whole(name, subject, found.range()).trim().to_owned())
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

    /// A reference is one word; a sentence below an empty row is not a reference.
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

    fn occurred(&mut self) -> Option<crate::domain::alert::BankTime> {
        let mut shown = ShownTime::default();
        let mut clear = true;
        for text in self.values(FieldName::Date) {
            let one = when::read(&text);
            clear &= shown.day.is_none() || one.day.is_none() || shown.day == one.day;
            clear &= merge_clock(&mut shown.clock, one.clock);
            shown.half |= one.half;
            shown.day = shown.day.or(one.day);
            shown.offset = shown.offset.or(one.offset);
        }
        if shown.clock.is_none() {
            for text in self.values(FieldName::Time) {
                let one = when::read(&text);
                clear &= merge_clock(&mut shown.clock, one.clock);
                shown.half |= one.half;
            }
        }
        if !clear {
            self.doubt("the mail shows two different times");
            return None;
        }
        when::interval(shown, self.head.date, self.head.now)
    }
}

/// Keeps the more exact of two times of day; `false` when they are two.
fn merge_clock(known: &mut Option<when::Clock>, other: Option<when::Clock>) -> bool {
    let (Some(a), Some(b)) = (*known, other) else {
        *known = known.or(other);
        return true;
    };
    if a.2.is_none() {
        *known = other;
    }
    (a.0, a.1) == (b.0, b.1) && (a.2.is_none() || b.2.is_none() || a.2 == b.2)
}

/// Whether the money may have come through a virtual account: the narration has the form of such a collection, or the bank's
/// template does not say how one looks.
fn may_be_collection(bank: &Bank, narration: Option<&str>) -> bool {
    bank.collections.is_empty()
        || narration.is_some_and(|text| bank.collections.iter().any(|form| form.is_match(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_no_references() {
        assert!(
            placeholder("0") && placeholder("000000000") && placeholder("N/A") && !placeholder("S36256938")
        );
    }
}
