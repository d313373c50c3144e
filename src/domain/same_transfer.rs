//! Whether two alerts tell of the same transfer, and whether a debit takes a credit back (records 0026 and 0027).
//!
//! A transfer is known by its keys: the session id, and a reference that the bank calls unique. Part of a narration is
//! the payer's own, so a key alone puts nobody's alert aside: amount, payer, clock and balance have their say. Pure;
//! what is read to be compared is the business of `ops`.

use sha2::{Digest, Sha256};

use super::account::{ReceivingAccount, mask_fits};
use super::alert::{AlertKind, AlertRow, AlertStatus, Direction, TimePrecision};
use super::matching::Interval;
use super::money::Money;
use super::name::{Verdict, fold, verdict};
use super::time::{Span, Timestamp};

/// A kind of key and the key.
pub type Key = (&'static str, String);

pub const SESSION: &str = "session";
const REFERENCE: &str = "reference";
pub const MESSAGE: &str = "message";
/// A longer Message-ID is known by its hash.
const MESSAGE_ID_MAX: usize = 250;
/// Signs of a reference that says something.
const REFERENCE_MIN: usize = 6;
/// Letters of a word that counts as a part of a name, and words that make one.
const WORD_MIN: usize = 3;
const WORDS_MIN: usize = 2;
/// What banks charge for a transfer or a month of messages stays below.
const FEE_MOST: Money = Money(50_000);

/// Where money for the account `id` arrives ([`ReceivingAccount::place`]).
pub fn place_of(accounts: &[ReceivingAccount], id: i64) -> i64 {
    accounts.iter().find(|account| account.id == id).map_or(id, ReceivingAccount::place)
}

/// The keys of the transfer itself, of which one settlement at most may stand: the session id, and a reference
/// that the bank calls unique on the account.
pub fn transfer_keys(alert: &AlertRow, place: Option<i64>) -> Vec<Key> {
    let facts = &alert.facts;
    let mut keys = Vec::new();
    if let Some(session) = &facts.session_id {
        keys.push((SESSION, session.clone()));
    }
    if let (true, Some(reference)) = (facts.reference_is_unique, &facts.reference) {
        match (place, &facts.bank, &facts.account_number) {
            (Some(place), _, _) => keys.push((REFERENCE, format!("{place}|{reference}"))),
            // Shown, and none of ours.
            (None, Some(bank), Some(shown)) => {
                keys.push((REFERENCE, format!("{bank}|{shown}|{reference}")));
            }
            _ => {}
        }
    }
    keys
}

/// Everything by which a copy of this alert would be known, strongest first. The content of an alert that is
/// stored already is not at hand.
pub fn keys_of(alert: &AlertRow, place: Option<i64>, content_hash: Option<&[u8; 32]>) -> Vec<Key> {
    let mut keys = transfer_keys(alert, place);
    keys.extend(mail_keys(alert, content_hash));
    keys
}

/// The keys of the mail itself. A debit has no others: the session id that it shows is its credit's.
pub fn mail_keys(alert: &AlertRow, content_hash: Option<&[u8; 32]>) -> Vec<Key> {
    let mut keys = Vec::new();
    if let Some(id) = alert.message_id.as_ref().filter(|id| !id.is_empty()) {
        // No signature need cover it, so it may be of any length; an index takes no such key.
        let long = id.len() > MESSAGE_ID_MAX;
        keys.push((MESSAGE, if long { hex(&Sha256::digest(id.as_bytes())) } else { id.clone() }));
    }
    keys.extend(content_hash.map(|hash| ("content", hex(hash))));
    keys
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The key of a session id on which a second settlement stands.
pub fn beside_key(session: &str, received: Money) -> String {
    format!("{session}|{}", received.kobo())
}

/// The transfer's keys for a settlement beside another one that stands on its session id with other money. The
/// amount makes it a key that only one such settlement can have.
pub fn keys_beside_another(alert: &AlertRow, place: i64, received: Money) -> Vec<Key> {
    let mut keys = transfer_keys(alert, Some(place));
    for (kind, key) in &mut keys {
        if *kind == SESSION {
            *key = beside_key(key, received);
        }
    }
    keys
}

pub fn describe(kind: &str) -> &'static str {
    match kind {
        SESSION => "NIP session id",
        REFERENCE => "reference",
        MESSAGE => "Message-ID",
        _ => "content",
    }
}

/// Amount, direction, day, account and payer agree. The last two as well because part of a narration
/// is the payer's own: whoever saw another's session id must not be able to have that one's alert
/// put aside by writing it into a transfer of his own. Two that each show a session id or a reference
/// of their own are two payments.
pub fn tells_the_same(a: &AlertRow, b: &AlertRow) -> bool {
    let day = |alert: &AlertRow| alert.facts.occurred.map(|time| time.begin.lagos_day());
    let days_agree = match (day(a), day(b)) {
        (Some(x), Some(y)) => x == y,
        _ => true,
    };
    let differ = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
    let is_one =
        !differ(&a.facts.session_id, &b.facts.session_id) && !differ(&a.facts.reference, &b.facts.reference);
    let names_agree = match (&a.facts.payer_name, &b.facts.payer_name) {
        (Some(x), Some(y)) => verdict(x, y, &[]) != Verdict::Different,
        _ => true,
    };
    a.facts.amount == b.facts.amount
        && a.facts.direction == b.facts.direction
        && days_agree
        && a.account_id == b.account_id
        && is_one
        && names_agree
}

pub fn is_other_money(a: &AlertRow, b: &AlertRow) -> bool {
    let payers_differ = match (&a.facts.payer_name, &b.facts.payer_name) {
        (Some(x), Some(y)) => verdict(x, y, &[]) == Verdict::Different,
        _ => false,
    };
    a.facts.amount != b.facts.amount || payers_differ && are_apart(a, b)
}

/// The same session id; or, on one account, a reference that the bank calls unique: one that several may bear is
/// no sign of a second telling.
pub fn is_one_transfer(a: &AlertRow, b: &AlertRow, accounts: &[ReceivingAccount]) -> bool {
    let (x, y) = (&a.facts, &b.facts);
    let unique = x.reference_is_unique && y.reference_is_unique;
    x.session_id.is_some() && x.session_id == y.session_id
        || unique && x.reference == y.reference && is_same_place(a, b, accounts)
}

/// A reference that is more than a placeholder.
pub fn telling(reference: &Option<String>) -> Option<&str> {
    let reference = reference.as_deref()?;
    let signs: Vec<char> = reference.chars().filter(|c| c.is_alphanumeric()).collect();
    let is_telling = signs.len() >= REFERENCE_MIN && signs.iter().any(|c| *c != signs[0]);
    is_telling.then_some(reference)
}

/// Money moves between accounts of ours under one session id: a debit of one is no reversal on another. An alert
/// whose account could not be told may be about any that fits what it shows.
pub fn is_same_place(a: &AlertRow, b: &AlertRow, accounts: &[ReceivingAccount]) -> bool {
    let of = |id: i64| accounts.iter().find(|account| account.id == id);
    match (a.account_id, b.account_id) {
        (Some(x), Some(y)) => place_of(accounts, x) == place_of(accounts, y),
        (Some(x), None) => of(x).is_none_or(|account| may_be_about(b, account)),
        (None, Some(y)) => of(y).is_none_or(|account| may_be_about(a, account)),
        (None, None) => a.facts.bank.is_none() || b.facts.bank.is_none() || a.facts.bank == b.facts.bank,
    }
}

/// Whether an alert may be about an account, or about one that is settled through it.
pub fn may_be_about(alert: &AlertRow, account: &ReceivingAccount) -> bool {
    match (alert.account_id, &alert.facts.account_number) {
        (Some(id), _) => account.id == id || account.via == Some(id),
        // It names none, so it may be any of the bank's; or it shows too little to tell which of those that fit.
        (None, shown) => {
            let at_bank = alert.facts.bank.as_ref().is_none_or(|bank| *bank == account.bank);
            at_bank && shown.as_ref().is_none_or(|shown| mask_fits(shown, &account.number))
        }
    }
}

/// Whether a debit or reversal of the same money may undo a credit: unless the bank's own times show that
/// it was before. Mails overtake one another, so the order in which we saw them shows nothing.
pub fn may_undo(undoing: &AlertRow, credit: &AlertRow) -> bool {
    undoing.first_seen >= credit.first_seen || !is_before(undoing, credit)
}

/// Whether it was before, by the bank's own times. Midnight to the second is the day of a value date.
pub fn is_before(undoing: &AlertRow, credit: &AlertRow) -> bool {
    let told = told_time(undoing);
    let is_day = is_timed(undoing) && (told.begin - Span(1)).lagos_day() != told.begin.lagos_day();
    let end = if is_day { told.end.max(told.begin + Span::days(1)) } else { told.end };
    end < told_time(credit).begin
}

/// A debit or a reversal, which may undo a credit. What the bank takes for itself does not, though it may
/// bear the credit's own reference.
pub fn is_undoing(alert: &AlertRow) -> bool {
    let is_the_banks = matches!(alert.facts.kind, Some(AlertKind::Fee | AlertKind::Notice));
    alert.facts.is_outgoing() && !is_the_banks
}

/// A debit of the bank's own.
pub fn is_fee(alert: &AlertRow) -> bool {
    alert.facts.is_outgoing() && alert.facts.kind == Some(AlertKind::Fee)
}

/// Whether this takes money away as what undoes that credit does. A debit repeats what the payer wrote, so a
/// remark such as "transfer fee" makes a reversal read as the bank's fee. It is none if it takes exactly the
/// credit's amount and that is more than banks charge, or at least half of it and names the credit or its payer.
pub fn takes_back(undoing: &AlertRow, credit: &AlertRow) -> bool {
    if !is_fee(undoing) {
        return is_undoing(undoing);
    }
    let (debit, credited) = (&undoing.facts, &credit.facts);
    let (Some(taken), Some(came)) = (debit.amount, credited.amount) else { return false };
    let is_named = || {
        let shares = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        shares(&debit.session_id, &credited.session_id)
            || telling(&debit.reference).is_some() && shares(&debit.reference, &credited.reference)
            || names_the_payer(undoing, credit)
    };
    let is_half = i128::from(taken.kobo()) * 2 >= i128::from(came.kobo());
    taken == came && taken > FEE_MOST || is_half && is_named()
}

/// Whether the narration of a debit or reversal names the payer of a credit.
pub fn names_the_payer(undoing: &AlertRow, credit: &AlertRow) -> bool {
    let (Some(narration), Some(payer)) = (&undoing.facts.narration, &credit.facts.payer_name) else {
        return false;
    };
    let (narration, payer) = (fold(narration), fold(payer));
    let told: Vec<&str> = narration.split(' ').collect();
    let words: Vec<&str> = payer.split(' ').filter(|word| word.len() >= WORD_MIN).collect();
    let agreeing = words.iter().filter(|word| told.contains(word)).count();
    agreeing >= WORDS_MIN.min(words.len()) && agreeing > 0
}

/// A credit of kind payment.
pub fn is_credit(alert: &AlertRow) -> bool {
    alert.facts.direction == Some(Direction::Credit)
        && alert.facts.kind.is_none_or(|kind| kind == AlertKind::Payment)
}

/// The bank or a person vouches for it: a forwarded mail that a person approved tells of money like any other.
pub fn is_vouched(alert: &AlertRow) -> bool {
    alert.authenticity.counts() || alert.status == AlertStatus::Matched
}

/// The alert's bank time; with nothing shown, anything up to the mail's Date.
pub fn interval(alert: &AlertRow) -> Interval {
    match alert.facts.occurred {
        Some(time) if time.precision != TimePrecision::None => Interval {
            begin: time.begin,
            end: time.end.min(alert.first_seen).max(time.begin.min(alert.first_seen)),
        },
        _ => {
            let end = alert.mailed_at.unwrap_or(alert.first_seen).min(alert.first_seen);
            Interval { begin: Timestamp::MIN, end }
        }
    }
}

pub fn is_timed(alert: &AlertRow) -> bool {
    alert.facts.occurred.is_some_and(|time| time.precision != TimePrecision::None)
}

/// The bank's time as it is told, also where it lies ahead of our own.
pub fn told_time(alert: &AlertRow) -> Interval {
    match alert.facts.occurred {
        Some(time) if is_timed(alert) => Interval { begin: time.begin, end: time.end.max(time.begin) },
        _ => interval(alert),
    }
}

/// Same amount, names not different, bank times that overlap: one payment told twice, unless
/// session ids, references or balances of one kind show that they are two.
pub fn may_be_the_same_money(a: &AlertRow, b: &AlertRow) -> bool {
    let differ = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
    if differ(&a.facts.session_id, &b.facts.session_id) || differ(&a.facts.reference, &b.facts.reference) {
        return false;
    }
    if balances_differ(a, b) {
        return false;
    }
    let names = match (&a.facts.payer_name, &b.facts.payer_name) {
        (Some(x), Some(y)) => verdict(x, y, &[]) != Verdict::Different,
        _ => true,
    };
    times_overlap(a, b) && names
}

fn balances_differ(a: &AlertRow, b: &AlertRow) -> bool {
    matches!((a.facts.balance, b.facts.balance), (Some(x), Some(y)) if x.same_kind(y) && x != y)
}

fn times_overlap(a: &AlertRow, b: &AlertRow) -> bool {
    let (x, y) = (told_time(a), told_time(b));
    x.begin <= y.end && y.begin <= x.end
}

/// Whether the bank's own clock or balance shows that they tell of two transfers.
pub fn are_apart(a: &AlertRow, b: &AlertRow) -> bool {
    balances_differ(a, b) || is_timed(a) && is_timed(b) && !times_overlap(a, b)
}
