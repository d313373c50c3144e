//! A bank alert as facts: what a mail said, field by field, and how sure we are that the
//! bank said it. A field that could not be read for sure is `None`; nothing is guessed.
//!
//! `alert_reader` makes these, `matching` decides on them, `store` keeps them.

use super::money::Money;
use super::time::{Span, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Credit,
    Debit,
}

/// What a transaction alert is about. Only `Payment` can fund a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertKind {
    Payment,
    Reversal,
    Fee,
    OwnTransfer,
    /// One-time codes, statements, promotions: no transaction at all.
    Notice,
}

/// How exactly a bank told the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimePrecision {
    Second,
    Minute,
    Day,
    /// Nothing shown: anything up to the mail's Date.
    None,
}

/// The bank's time as an interval: `begin` inclusive, `end` inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankTime {
    pub begin: Timestamp,
    pub end: Timestamp,
    pub precision: TimePrecision,
}

/// Whether the mail is the bank's own word (contract/alerts.md#a1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authenticity {
    /// A signature we verified ourselves, or the named provider's verdict.
    Proven,
    /// Declared by the operator at the command line.
    Trusted,
    /// Nothing speaks for it, nothing against it.
    Unproven,
    /// Something speaks against it: the reasons say what.
    Refuted,
    /// Passed on by a person; can be read, cannot be proven.
    Forwarded,
    /// Test mode wrote it: it counts for test payments of one business, and for nothing else.
    Simulated,
}

impl Authenticity {
    /// Proven or declared: only such an alert may approve, make others duplicates or undo.
    pub fn counts(self) -> bool {
        matches!(self, Authenticity::Proven | Authenticity::Trusted | Authenticity::Simulated)
    }
}

/// The balance a bank showed after the transaction, with its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    Available(Money),
    /// Book, ledger, cleared or current: whatever is not the available one.
    Ledger(Money),
}

impl Balance {
    /// Balances of different kinds say nothing about each other.
    pub fn same_kind(self, other: Balance) -> bool {
        matches!(
            (self, other),
            (Balance::Available(_), Balance::Available(_)) | (Balance::Ledger(_), Balance::Ledger(_))
        )
    }
}

/// Everything read from one mail.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlertFacts {
    /// Code of the bank's template, such as `gtbank`; `None` when no bank's sender.
    pub bank: Option<String>,
    /// Name of the layout inside the template.
    pub template: Option<String>,
    pub direction: Option<Direction>,
    pub kind: Option<AlertKind>,
    pub amount: Option<Money>,
    /// ISO 4217 as shown, `NGN` for the naira sign; `None` when not shown and not implied by the template.
    pub currency: Option<String>,
    /// The account the bank's row shows, mask kept, such as `******8272`.
    pub account_number: Option<String>,
    /// A virtual account that the narration names.
    pub virtual_account: Option<String>,
    /// Amount and Lagos day that the narration's digits around the virtual account hold, if any.
    pub virtual_amount: Option<Money>,
    pub virtual_day: Option<i64>,
    /// The narration is in the form of a collection through virtual accounts, whole or damaged. Known when
    /// the mail is read; the doubt that follows from it is kept, this is not.
    pub is_collection: bool,
    /// Holder of the account the alert is about, as shown (Dear line or row).
    pub holder_name: Option<String>,
    pub payer_name: Option<String>,
    /// The name fills its field to the bank's cut length: its last word may be incomplete.
    pub payer_name_cut: bool,
    /// Payer's account from a field of its own, never from free text.
    pub payer_account_number: Option<String>,
    /// Display name of the payer's bank, from the session id or the narration's bank code.
    pub payer_bank: Option<String>,
    /// Whitespace collapsed, transfer-encoding residue removed, split parts joined.
    pub narration: Option<String>,
    /// The narration fills its field: its end may be missing.
    pub narration_cut: bool,
    /// What stands in rows in which a payer's words may stand, where it is not a part of the narration.
    pub remarks: Option<String>,
    pub reference: Option<String>,
    /// The template calls this reference unique, so it may serve as a duplicate key.
    pub reference_is_unique: bool,
    /// NIP session id, 30 digits, from its own place in the layout.
    pub session_id: Option<String>,
    pub occurred: Option<BankTime>,
    pub balance: Option<Balance>,
    /// Hidden or contradicting content and other reasons why this must not approve by itself.
    pub doubts: Vec<String>,
}

/// Of a mail about an account whose alerts go to an address of its own; the address is a secret, so it is not told.
pub const ADDRESSED_ELSEWHERE: &str =
    "it is addressed to another address than the one to which its account's alerts go: see mail.recipients";
/// Doubts of a credit whose mail tells that the money did not come or went back. Alerts are stored with them.
/// Followed by the words that tell it.
pub const RETURNED: &str = "the mail may report a refund, a reversal, a return or a failed transfer";
pub const RETURNED_OR_OWN: &str = "the narration may mean a refund, a reversal, a return, a failed transfer or a transfer \
                                   between own accounts";
/// Followed by what the row shows.
pub const OTHER_STATE_ROW: &str = "a row shows a transaction status other than success";
/// The same.
pub const OTHER_STATE: &str = "the mail reports a transaction status other than success";
/// Of the mail of a debit; followed by the words. It tells no state: a debit that returns a credit has such words as well.
pub const FAILED_DEBIT: &str = "the mail may report that the debit failed, or that it returns money";
pub const NEGATIVE: &str = "the amount is in brackets or negative";

impl AlertFacts {
    /// All that a payer may have typed, one piece after another.
    pub fn typed(&self) -> impl Iterator<Item = &str> {
        self.narration.iter().chain(&self.remarks).map(String::as_str)
    }

    /// Whether its mail tells of a state in which the money is not there, or no more.
    pub fn has_lost_state(&self) -> bool {
        self.is_told_as_lost() || self.doubts.iter().any(|doubt| doubt == RETURNED_OR_OWN)
    }

    /// The same, told by the bank's own words and not by a narration, of which a part is the payer's.
    pub fn is_told_as_lost(&self) -> bool {
        self.states().next().is_some()
    }

    /// In what states other than success the bank's own words put it: two mails that tell different ones were written
    /// at two moments.
    pub fn told_states(&self) -> Vec<&str> {
        let mut states: Vec<&str> = self.states().collect();
        states.sort_unstable();
        states
    }

    fn states(&self) -> impl Iterator<Item = &str> {
        const LOST: [&str; 4] = [RETURNED, OTHER_STATE_ROW, OTHER_STATE, NEGATIVE];
        let of_state = |doubt: &&str| LOST.iter().any(|known| doubt.starts_with(known));
        self.doubts.iter().map(String::as_str).filter(of_state)
    }

    /// The length at which the payer's name was cut off, if it was: for comparing names.
    pub fn cut_lengths(&self) -> Vec<usize> {
        let cut = self.payer_name.as_ref().filter(|_| self.payer_name_cut);
        cut.map(|name| name.chars().count()).into_iter().collect()
    }

    /// Read as money that leaves the account, or as money that is taken back.
    pub fn is_outgoing(&self) -> bool {
        self.kind == Some(AlertKind::Reversal) || self.direction == Some(Direction::Debit)
    }
}

impl Direction {
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::Credit => "credit",
            Direction::Debit => "debit",
        }
    }

    pub fn parse(word: &str) -> Option<Direction> {
        match word {
            "credit" => Some(Direction::Credit),
            "debit" => Some(Direction::Debit),
            _ => None,
        }
    }
}

impl AlertKind {
    pub fn as_str(self) -> &'static str {
        match self {
            AlertKind::Payment => "payment",
            AlertKind::Reversal => "reversal",
            AlertKind::Fee => "fee",
            AlertKind::OwnTransfer => "own_transfer",
            AlertKind::Notice => "notice",
        }
    }

    pub fn parse(word: &str) -> Option<AlertKind> {
        match word {
            "payment" => Some(AlertKind::Payment),
            "reversal" => Some(AlertKind::Reversal),
            "fee" => Some(AlertKind::Fee),
            "own_transfer" => Some(AlertKind::OwnTransfer),
            "notice" => Some(AlertKind::Notice),
            _ => None,
        }
    }
}

impl AlertKind {
    /// What a rule for narrations set aside, in words, where a person may still call it a payment. A reversal has
    /// taken effect.
    pub fn set_aside_as(self) -> Option<&'static str> {
        match self {
            AlertKind::Fee => Some("a fee"),
            AlertKind::OwnTransfer => Some("a transfer between own accounts"),
            AlertKind::Payment | AlertKind::Reversal | AlertKind::Notice => None,
        }
    }

    pub fn may_be_a_payment(self) -> bool {
        self == AlertKind::Payment || self.set_aside_as().is_some()
    }
}

impl TimePrecision {
    pub fn as_str(self) -> &'static str {
        match self {
            TimePrecision::Second => "second",
            TimePrecision::Minute => "minute",
            TimePrecision::Day => "day",
            TimePrecision::None => "none",
        }
    }

    pub fn parse(word: &str) -> Option<TimePrecision> {
        match word {
            "second" => Some(TimePrecision::Second),
            "minute" => Some(TimePrecision::Minute),
            "day" => Some(TimePrecision::Day),
            "none" => Some(TimePrecision::None),
            _ => None,
        }
    }
}

impl Authenticity {
    pub fn as_str(self) -> &'static str {
        match self {
            Authenticity::Proven => "proven",
            Authenticity::Trusted => "trusted",
            Authenticity::Unproven => "unproven",
            Authenticity::Refuted => "refuted",
            Authenticity::Forwarded => "forwarded",
            Authenticity::Simulated => "simulated",
        }
    }

    pub fn parse(word: &str) -> Option<Authenticity> {
        match word {
            "proven" => Some(Authenticity::Proven),
            "trusted" => Some(Authenticity::Trusted),
            "unproven" => Some(Authenticity::Unproven),
            "refuted" => Some(Authenticity::Refuted),
            "forwarded" => Some(Authenticity::Forwarded),
            "simulated" => Some(Authenticity::Simulated),
            _ => None,
        }
    }
}

/// What the proof of a mail waits for; it is asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A name server that answers.
    Answer,
    /// The key: the name server says that there is none. A bank that has just begun to sign with a new
    /// one may be ahead of its own name servers, and of what others remember of them.
    Key,
}

impl Missing {
    /// From first sight; after this the mail stays quarantined.
    pub fn patience(self) -> Span {
        match self {
            Missing::Answer => Span::hours(24),
            Missing::Key => Span::hours(1),
        }
    }
}

/// What became of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AlertStatus {
    /// Stored, not yet decided.
    New,
    Matched,
    /// Waits for a person, with reasons.
    Review,
    /// Genuine money for which no payment waits.
    Unmatched,
    Duplicate,
    /// Not proven to be the bank's word.
    Quarantined,
    /// Not a credit of kind payment.
    Ignored,
    Unreadable,
    /// A person said that it needs nothing.
    Dismissed,
    /// The bank took the money back.
    Reversed,
}

impl AlertStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            AlertStatus::New => "new",
            AlertStatus::Matched => "matched",
            AlertStatus::Review => "review",
            AlertStatus::Unmatched => "unmatched",
            AlertStatus::Duplicate => "duplicate",
            AlertStatus::Quarantined => "quarantined",
            AlertStatus::Ignored => "ignored",
            AlertStatus::Unreadable => "unreadable",
            AlertStatus::Dismissed => "dismissed",
            AlertStatus::Reversed => "reversed",
        }
    }

    pub fn parse(word: &str) -> Option<AlertStatus> {
        match word {
            "new" => Some(AlertStatus::New),
            "matched" => Some(AlertStatus::Matched),
            "review" => Some(AlertStatus::Review),
            "unmatched" => Some(AlertStatus::Unmatched),
            "duplicate" => Some(AlertStatus::Duplicate),
            "quarantined" => Some(AlertStatus::Quarantined),
            "ignored" => Some(AlertStatus::Ignored),
            "unreadable" => Some(AlertStatus::Unreadable),
            "dismissed" => Some(AlertStatus::Dismissed),
            "reversed" => Some(AlertStatus::Reversed),
            _ => None,
        }
    }
}

impl AlertStatus {
    /// What is counted for whoever watches: credits that wait, mails that nothing proves, and those that could not
    /// be read, for money may be behind each.
    pub const COUNTED: [AlertStatus; 5] = [
        AlertStatus::New,
        AlertStatus::Review,
        AlertStatus::Unmatched,
        AlertStatus::Quarantined,
        AlertStatus::Unreadable,
    ];

    /// Nothing proved it or told what it is: put aside as such, nobody may approve it.
    pub fn tells_nothing(self) -> bool {
        matches!(self, AlertStatus::Quarantined | AlertStatus::Unreadable)
    }

    /// Money that has not found its payment.
    pub fn is_waiting(self) -> bool {
        matches!(self, AlertStatus::New | AlertStatus::Review | AlertStatus::Unmatched)
    }
}

/// An alert as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertRow {
    pub id: i64,
    pub status: AlertStatus,
    pub version: i64,
    pub settlement_id: Option<i64>,
    /// Where the mail came from, such as `file`, `imap HOST/FOLDER uid NUMBER` or `smtp IP`.
    pub source: String,
    pub authenticity: Authenticity,
    pub facts: AlertFacts,
    /// The account of ours it is about, when its account text fits exactly one.
    pub account_id: Option<i64>,
    pub message_id: Option<String>,
    pub mail_from: Option<String>,
    pub subject: Option<String>,
    pub mailed_at: Option<Timestamp>,
    pub first_seen: Timestamp,
    pub decided_at: Option<Timestamp>,
    pub payment_id: Option<i64>,
    /// Another alert that speaks about this one: the original of a duplicate, a reversal.
    pub linked_alert_id: Option<i64>,
    /// Why it has its status, in words.
    pub reason: String,
    /// Candidates, verdicts and the rule, as JSON; empty before a decision.
    pub evidence: String,
    /// What proves it, where it is proven: a signature's domain, selector and key, or a provider.
    pub authentic_by: Option<String>,
    /// What it was when a person dismissed it; `None` also where a program of before did.
    pub dismissed_from: Option<AlertStatus>,
    /// The business whose test mode wrote its mail; `None`: the mail came from outside. The two never meet.
    pub simulated_for: Option<i64>,
}

impl AlertRow {
    /// A credit that a rule set aside for its narration, and that a person may know better: money that came must be
    /// within reach.
    pub fn is_credit_aside(&self) -> bool {
        self.status == AlertStatus::Ignored
            && self.authenticity.counts()
            && self.facts.direction == Some(Direction::Credit)
            && self.facts.amount.is_some()
            && self.facts.kind.is_some_and(|kind| kind.set_aside_as().is_some())
    }

    /// Dismissed when nothing proved or told what it is: nobody may approve it any more.
    pub fn is_aside_for_good(&self) -> bool {
        self.status == AlertStatus::Dismissed && self.dismissed_from.is_some_and(AlertStatus::tells_nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words stand in databases: another one would make kept alerts unreadable.
    #[test]
    fn stored_words_stay_as_they_are() {
        for (value, word) in [(Direction::Credit, "credit"), (Direction::Debit, "debit")] {
            assert_eq!((value.as_str(), Direction::parse(word)), (word, Some(value)));
        }
        for (value, word) in [
            (AlertKind::Payment, "payment"),
            (AlertKind::Reversal, "reversal"),
            (AlertKind::Fee, "fee"),
            (AlertKind::OwnTransfer, "own_transfer"),
            (AlertKind::Notice, "notice"),
        ] {
            assert_eq!((value.as_str(), AlertKind::parse(word)), (word, Some(value)));
        }
        for (value, word) in [
            (TimePrecision::Second, "second"),
            (TimePrecision::Minute, "minute"),
            (TimePrecision::Day, "day"),
            (TimePrecision::None, "none"),
        ] {
            assert_eq!((value.as_str(), TimePrecision::parse(word)), (word, Some(value)));
        }
        for (value, word, counts) in [
            (Authenticity::Proven, "proven", true),
            (Authenticity::Trusted, "trusted", true),
            (Authenticity::Unproven, "unproven", false),
            (Authenticity::Refuted, "refuted", false),
            (Authenticity::Forwarded, "forwarded", false),
            (Authenticity::Simulated, "simulated", true),
        ] {
            assert_eq!((value.as_str(), Authenticity::parse(word)), (word, Some(value)));
            assert_eq!(value.counts(), counts, "{word}");
        }
        for (value, word) in [
            (AlertStatus::New, "new"),
            (AlertStatus::Quarantined, "quarantined"),
            (AlertStatus::Unreadable, "unreadable"),
            (AlertStatus::Ignored, "ignored"),
            (AlertStatus::Duplicate, "duplicate"),
            (AlertStatus::Review, "review"),
            (AlertStatus::Unmatched, "unmatched"),
            (AlertStatus::Matched, "matched"),
            (AlertStatus::Reversed, "reversed"),
            (AlertStatus::Dismissed, "dismissed"),
        ] {
            assert_eq!((value.as_str(), AlertStatus::parse(word)), (word, Some(value)));
        }
    }

    #[test]
    fn a_debit_or_a_reversal_is_outgoing() {
        let facts = |direction, kind| AlertFacts { direction, kind, ..AlertFacts::default() };
        assert!(!facts(None, None).is_outgoing());
        assert!(!facts(Some(Direction::Credit), Some(AlertKind::Payment)).is_outgoing());
        assert!(facts(Some(Direction::Debit), Some(AlertKind::Payment)).is_outgoing());
        assert!(facts(Some(Direction::Credit), Some(AlertKind::Reversal)).is_outgoing());
    }

    #[test]
    fn balances_of_different_kinds_say_nothing_about_each_other() {
        let (available, ledger) = (Balance::Available(Money(1)), Balance::Ledger(Money(1)));
        assert!(available.same_kind(Balance::Available(Money(2))));
        assert!(ledger.same_kind(Balance::Ledger(Money(2))));
        assert!(!available.same_kind(ledger));
        assert!(!ledger.same_kind(available));
    }

    #[test]
    fn a_missing_key_is_waited_for_a_shorter_time_than_an_answer() {
        assert_eq!(Missing::Answer.patience(), Span::hours(24));
        assert_eq!(Missing::Key.patience(), Span::hours(1));
    }
}
