//! What an alert says in words: its direction, its narration, its kind.
//!
//! The direction comes from the bank's own words only; narrations are masked before it is searched for.
//! Part of `extract`; nothing else calls it.

use super::Reader;
use crate::alert_reader::template::{Bank, Continuation, FieldName, Shared};
use crate::alert_reader::text_table::{Arrangement, collapse};
use crate::domain::alert::{AlertKind, Direction, RETURNED_OR_OWN};
use crate::domain::payout::codes_begun_in;

/// The bank's words and a payer's remark, perhaps, and nobody can tell which is which.
pub(super) const BOTH_DIRECTIONS: &str = "the mail mentions both a credit and a debit";
/// Longest narration kept.
const MAX_NARRATION_CHARS: usize = 1000;
/// If another part of the mail begins with a narration of this length, it was wrapped and not changed.
const WRAPPED_NARRATION: usize = 40;
/// Spaces at the ends of a value that a relay may have removed without a trace.
const LOST_BLANKS: usize = 2;

impl Reader<'_> {
    pub(super) fn direction(&mut self, suffix: Option<Direction>) -> Option<Direction> {
        let rule = &self.layout.direction;
        // With the part that it is in.
        let mut told: Vec<(Option<usize>, Direction)> = Vec::new();
        let mut has_types = false;
        for (part, table) in self.masked.iter().enumerate() {
            let types = self.at_labels_of(part, table, &rule.labels, false);
            has_types |= !types.is_empty();
            told.extend(types.iter().filter_map(|found| Some((Some(part), type_word(&found.text)?))));
        }
        for (part, text) in self.texts.iter().enumerate() {
            if rule.credit.iter().any(|r| r.is_match(text)) {
                told.push((Some(part), Direction::Credit));
            }
            if rule.debit.iter().any(|r| r.is_match(text)) {
                told.push((Some(part), Direction::Debit));
            }
        }
        if rule.amount_suffix || !told.is_empty() {
            // CR or DR behind the amount may contradict, even where it is not relied upon.
            told.extend(suffix.map(|suffix| (None, suffix)));
        }
        let subject = self.subject_direction();
        let Some((_, mut first)) = told.first().copied() else {
            // The subject is the bank's word too, but it does not outweigh a row that is not understood.
            if subject.is_some() && has_types {
                self.doubt(
                    "the transaction type is unclear: only the subject says whether this is a credit or a \
                     debit",
                );
            }
            return subject;
        };
        if self.pages_tell_a_credit(&told) {
            self.doubt(super::parts::DIRECTIONS_DIFFER);
            first = Direction::Credit;
        } else if told.iter().any(|(_, d)| *d != first) {
            self.doubt(BOTH_DIRECTIONS);
            // No payer writes a subject. A credit is never guessed.
            return subject.filter(|subject| *subject == Direction::Debit);
        }
        if subject.is_some_and(|s| s != first) {
            self.doubt("the subject and the body differ on whether this is a credit or a debit");
        }
        Some(first)
    }

    /// Whether it may be a debit as well as a credit: in the bank's own subject it is none.
    pub(super) fn may_be_a_debit(&self) -> bool {
        let both = [BOTH_DIRECTIONS, super::parts::DIRECTIONS_DIFFER];
        self.subject_direction() != Some(Direction::Credit)
            && self.doubts.iter().any(|doubt| both.contains(&doubt.as_str()))
    }

    /// Whether the HTML tells of a credit and nothing else, while only the text part tells of a debit. Then a
    /// person decides. The other way round it is neither, because nobody looks at debits.
    fn pages_tell_a_credit(&self, told: &[(Option<usize>, Direction)]) -> bool {
        let in_page = |part: &Option<usize>| part.is_some_and(|part| self.is_page(part));
        let in_text = |part: &Option<usize>| part.is_some_and(|part| !self.is_page(part));
        let debit = |d: &Direction| *d == Direction::Debit;
        told.iter().any(|(part, d)| in_page(part) && !debit(d))
            && told.iter().any(|(_, d)| debit(d))
            && told.iter().all(|(part, d)| !debit(d) || in_text(part))
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
    pub(super) fn narration(&mut self) -> (Option<String>, bool) {
        let labels = self.layout.fields.get(&FieldName::Narration).map_or(&[][..], |f| &f.labels);
        let unseen: Vec<usize> =
            self.at_labels(labels, self.tables, true).into_iter().map(|f| f.unseen).collect();
        let raw = self.values(FieldName::Narration);
        let rest = match &self.layout.continuation {
            Some(c) => self.at_labels(&c.labels, self.tables, false),
            None => Vec::new(),
        };
        let mut joined: Vec<(String, bool)> = Vec::new();
        for (i, text) in raw.iter().enumerate().filter(|(_, t)| !t.trim().is_empty()) {
            // Values at labels come first.
            let first = Part { text: text.trim(), unseen: unseen.get(i).copied().unwrap_or_default() };
            let rest = rest.get(i).or(rest.first());
            let (text, filled) = match &self.layout.continuation {
                Some(c) => {
                    let rest = rest.map(|f| Part { text: f.text.trim(), unseen: f.unseen });
                    join(first, rest.unwrap_or_default(), c)
                }
                None => (text.clone(), self.layout.narration_limit.is_some_and(|n| first.fills(n))),
            };
            joined.push((collapse(&text), filled));
        }
        // Plain text may have been wrapped and lost its end: the longest is compared with the others.
        joined.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let Some((text, filled)) = joined.first().cloned() else { return (None, false) };
        let folded = |text: &str| squeeze(text).to_lowercase();
        let long = folded(&text);
        let agrees =
            |other: &str| long == other || other.len() >= WRAPPED_NARRATION && long.starts_with(other);
        if !joined.iter().all(|(other, _)| agrees(&folded(other))) {
            self.doubt("the mail shows two different narrations");
            return (None, false);
        }
        (Some(text.chars().take(MAX_NARRATION_CHARS).collect()), filled)
    }

    /// What a payer may have typed into rows that are not the narration, or go on with it: each once.
    pub(super) fn remarks(&self, narration: Option<&str>, shared: &Shared) -> Option<String> {
        let narration = squeeze(narration.unwrap_or_default());
        let continued = self.layout.continuation.iter().flat_map(|c| &c.labels);
        let labels: Vec<String> = continued.chain(&shared.states.typed).cloned().collect();
        let mut shown: Vec<String> = Vec::new();
        // The layout need not know of rows of remarks.
        let how = Arrangement { spaced: self.layout.spaced, wraps: false };
        for found in self.tables.iter().flat_map(|table| table.values(&labels, &self.layout.known, how)) {
            let text = collapse(&found.text);
            if !text.is_empty() && !narration.contains(&squeeze(&text)) && !shown.contains(&text) {
                shown.push(text);
            }
        }
        // One piece ends where the next begins.
        let all = shown.join(" / ");
        (!all.is_empty()).then(|| all.chars().take(MAX_NARRATION_CHARS).collect())
    }

    /// The kind, and the rule that decided it if it is not a payment.
    pub(super) fn kind(
        &mut self,
        direction: Direction,
        narration: Option<&str>,
        bank: &Bank,
        shared: &Shared,
    ) -> (AlertKind, Option<String>) {
        let kind = self.kind_of_narration(direction, narration.unwrap_or_default(), bank, shared);
        match direction {
            Direction::Credit => {
                self.words_beside(narration.unwrap_or_default(), bank, shared);
                self.words_of_loss(shared);
            }
            Direction::Debit => self.words_of_failure(shared),
        }
        self.states(direction, shared);
        kind.map_or((AlertKind::Payment, None), |(kind, why)| (kind, Some(why)))
    }

    /// Only who was paid out knows the reference of a payout. One that pays himself with it, in a row that is not read as the
    /// narration, could have the return of that money pass for his payout.
    pub(super) fn codes_beside(&mut self, narration: Option<&str>) {
        let read = narration.map(codes_begun_in).unwrap_or_default();
        // One row's end and the next one's beginning make none.
        let of_rows = |text: &str| text.lines().flat_map(codes_begun_in).collect::<Vec<String>>();
        let mut shown: Vec<String> = self.whole.iter().flat_map(|text| of_rows(text)).collect();
        shown.retain(|code| !read.contains(code));
        if let Some(code) = shown.first() {
            self.doubt(format!("it shows the reference {code} of a payout"));
        }
    }

    /// What stands in the row in which a narration may go on, and does not go on with it, may be the bank's word on what
    /// became of the money: it sends a credit to a person as the same words in the narration do, and tells nothing else.
    fn words_beside(&mut self, narration: &str, bank: &Bank, shared: &Shared) {
        let Some(continuation) = &self.layout.continuation else { return };
        let narration = squeeze(narration);
        let rules =
            || bank.kinds.iter().chain(&shared.kinds).filter(|rule| rule.direction != Some(Direction::Debit));
        let says = |text: &str| rules().any(|rule| rule.pattern.is_match(text));
        let rest = self.at_labels(&continuation.labels, self.tables, false);
        if rest.iter().any(|rest| !narration.contains(&squeeze(rest.text.trim())) && says(rest.text.trim())) {
            self.doubt(RETURNED_OR_OWN);
        }
    }

    fn kind_of_narration(
        &mut self,
        direction: Direction,
        text: &str,
        bank: &Bank,
        shared: &Shared,
    ) -> Option<(AlertKind, String)> {
        let own = bank.kinds.iter().map(|rule| (rule, "a rule of the bank's template"));
        for (rule, whose) in own.chain(shared.kinds.iter().map(|rule| (rule, "a rule for all banks"))) {
            if rule.direction.is_some_and(|d| d != direction) {
                continue;
            }
            let Some(found) = rule.pattern.find(text) else { continue };
            match rule.kind {
                // The payer's words never set a credit aside.
                Some(kind) if direction == Direction::Debit || !bank.narration_is_typed => {
                    let what = in_words(kind);
                    let why = format!("{what}: the narration matches {whose} with {:?}", found.as_str());
                    return Some((kind, why));
                }
                _ => self.doubt(RETURNED_OR_OWN),
            }
        }
        None
    }
}

/// A kind in words for people.
pub fn in_words(kind: AlertKind) -> &'static str {
    match kind {
        AlertKind::Payment => "a payment",
        AlertKind::Reversal => "a reversal",
        AlertKind::Fee => "a fee",
        AlertKind::OwnTransfer => "a transfer between own accounts",
        AlertKind::Notice => "a notice",
    }
}

/// The direction that a row for the type states: `CreditAlert!`, `CR`, `Debit`. A word that may also mean the
/// other direction (`Debit reversal`, `Deposit`) states none.
fn type_word(text: &str) -> Option<Direction> {
    let text = text.to_lowercase();
    let word: String =
        text.chars().skip_while(|c| !c.is_alphabetic()).take_while(|c| c.is_alphabetic()).collect();
    let both = text.contains("credit") && text.contains("debit");
    if both || ["rever", "rvsl", "rsvl", "refund"].iter().any(|w| text.contains(w)) {
        return None;
    }
    match word.as_str() {
        "cr" => Some(Direction::Credit),
        "dr" => Some(Direction::Debit),
        w if w.starts_with("credit") => Some(Direction::Credit),
        w if w.starts_with("debit") => Some(Direction::Debit),
        _ => None,
    }
}

/// Without its blanks, of which tables and relays add and take some.
fn squeeze(text: &str) -> String {
    text.split_whitespace().collect()
}

/// A part of a narration, trimmed.
#[derive(Clone, Copy, Default)]
struct Part<'a> {
    text: &'a str,
    /// Characters that its cell lost, mostly at its ends.
    unseen: usize,
}

impl Part<'_> {
    fn length(self) -> usize {
        self.text.chars().count()
    }

    /// Whether the bank may have cut it at this many characters: with the spaces at its ends, of
    /// which a relay may have taken some.
    fn fills(self, limit: usize) -> bool {
        self.length() + self.unseen + LOST_BLANKS >= limit
    }
}

/// Puts a narration together that goes on in another row, and says whether its end may be missing.
///
/// A first part that lacks a few spaces to the limit has lost them to trimming. A second part that repeats the
/// first is not a continuation.
fn join(first: Part<'_>, second: Part<'_>, rule: &Continuation) -> (String, bool) {
    let length = first.length();
    let repeats = squeeze(first.text).starts_with(&squeeze(second.text));
    let reaches = length + first.unseen + 1 >= rule.at;
    if second.text.is_empty() || repeats || length > rule.at || !reaches {
        // Longer than the limit: not the bank's own text, so its end cannot be judged.
        return (first.text.to_owned(), first.fills(rule.at));
    }
    let mut rest: Vec<char> = second.text.chars().collect();
    let filled = second.fills(rule.limit);
    let blank = |at: Option<usize>| at.is_some_and(|at| rest.get(at) == Some(&' '));
    let (usual, early) = (rule.gap_after, rule.gap_after.checked_sub(1));
    // One place too early: the second part began with a space that was trimmed.
    let front_lost = !blank(Some(usual)) && blank(early) && rest.len() > usual;
    if blank(Some(usual)) {
        rest.remove(usual);
    } else if let Some(early) = early.filter(|_| front_lost) {
        rest.remove(early);
    }
    let gap = if front_lost || length < rule.at { " " } else { "" };
    (format!("{}{gap}{}", first.text, rest.into_iter().collect::<String>()), filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_narration_is_joined_only_at_the_limit() {
        let rule = Continuation { labels: vec![], at: 20, gap_after: 10, limit: 15 };
        let part = |text| Part { text, unseen: 0 };
        let joined = |a, b| join(part(a), part(b), &rule);
        assert_eq!(
            joined("ABCDEFGHIJKLMNOPQRST", "UVWXYZABCD EF"),
            ("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF".into(), true)
        );
        assert!(!joined("ABCDEFGHIJKLMNOPQRST", "UVWXYZABCD E").1);
        assert!(joined("ABCDEFGHIJKLMNOPQRST", "UVWXYZABCD EFGH").1);
        assert_eq!(joined("ABCDEFGHIJKLMNOPQRS", "UVW").0, "ABCDEFGHIJKLMNOPQRS UVW");
        assert_eq!(joined("ABCDEFGHIJKLMNOPQR", "UVW").0, "ABCDEFGHIJKLMNOPQR");
        assert_eq!(joined("ABCDEFGHIJKLMNOPQRST", "ABCDEFGHIJ KLM").0, "ABCDEFGHIJKLMNOPQRST");
        assert_eq!(joined("ABCDEFGHIJKLMNOPQRSTX", "UVW").0, "ABCDEFGHIJKLMNOPQRSTX");
        assert_eq!(joined("ABCDEFGHIJKLMNOPQRST", "UVWXYZABC DEF").0, "ABCDEFGHIJKLMNOPQRST UVWXYZABCDEF");
        // Spaces that were trimmed count, and some may have been lost on the way.
        assert!(joined("ABCDEFGHIJKLMNOPQRS", "").1 && !joined("ABCDEFGHIJKLMNOPQ", "").1);
        let padded = |text, unseen| Part { text, unseen };
        assert!(join(padded("ABCDE", 15), part(""), &rule).1 && !join(padded("ABCDE", 5), part(""), &rule).1);
        assert_eq!(join(padded("ABCDE", 15), part("FGH"), &rule), ("ABCDE FGH".into(), false));
        assert!(join(part("ABCDEFGHIJKLMNOPQRST"), padded("UVWXYZABCD", 5), &rule).1);
        // The eleventh character is removed only if it is the extra space.
        assert_eq!(joined("ABCDEFGHIJKLMNOPQRST", "D-FAIRMONEY-X").0, "ABCDEFGHIJKLMNOPQRSTD-FAIRMONEY-X");
    }

    #[test]
    fn only_plain_words_of_a_type_row_tell_the_direction() {
        for (text, want) in [
            ("Credit", Some(Direction::Credit)),
            ("CreditAlert!", Some(Direction::Credit)),
            ("  CR", Some(Direction::Credit)),
            ("* Debit *", Some(Direction::Debit)),
            ("DR.", Some(Direction::Debit)),
            ("Deposit", None),
            ("Debit Reversal", None),
            ("Credit/Debit", None),
            ("Crypto", None),
            ("Dr. Ada", Some(Direction::Debit)),
            ("", None),
        ] {
            assert_eq!(type_word(text), want, "{text}");
        }
    }
}
