//! Whether two alerts tell of the same transfer, and whether a debit takes a credit back (records 0026 and 0027).
//!
//! A transfer is known by its keys: the session id, and a reference that the bank calls unique. Part of a narration is
//! the payer's own, so a key alone puts nobody's alert aside: amount, payer, clock and balance have their say. Pure;
//! what is read to be compared is the business of `ops`.

use sha2::{Digest, Sha256};

use super::account::ReceivingAccount;
use super::alert::{AlertKind, AlertRow, AlertStatus, Authenticity, BankTime, Direction, TimePrecision};
use super::matching::Interval;
use super::money::Money;
use super::name::{NameVerdict, fold, verdict};
use super::time::{Span, Timestamp};
use super::told_before::has_paid_once;
use super::value_date::{latest, may_be_dated_back};

mod on_account;
mod told_twice;

pub use on_account::{holding_account_of, may_be_about, may_be_on, may_be_on_one_account};
pub use told_twice::{are_apart, may_be_one_debit, may_be_the_same_money, may_be_told_again};

/// A kind of key and the key.
pub type Key = (&'static str, String);

pub const SESSION: &str = "session";
const REFERENCE: &str = "reference";
pub const MESSAGE: &str = "message";
const CONTENT: &str = "content";
/// A longer Message-ID is known by its hash.
const MESSAGE_ID_MAX: usize = 250;
/// Signs of a reference that says something.
const REFERENCE_MIN: usize = 6;
/// Letters of a word that counts as a part of a name, and words that make one.
const WORD_MIN: usize = 3;
const WORDS_MIN: usize = 2;
/// Letters and digits at the end of a narration by which another one is known to repeat it.
const END_REPEATED: usize = 6;
/// Two layouts of a bank, or two banks that tell of one transfer, are not written by one clock.
pub const LAYOUTS_APART: Span = Span::minutes(2);
/// Between a virtual account's own bank and the one that it is settled through, the time of settling is minutes, or that
/// of a batch of the day.
pub const BANKS_APART: Span = Span::days(1);
/// A time that is told less exactly than this says little: a bank's day holds many transfers of one amount.
const EXACT: Span = Span::minutes(10);
/// How a credit's doubt about its money goes on after the number of the alert that causes it.
pub const MAY_HAVE_TAKEN: &str = "may have taken this money back";
pub const TELLS_OF_LOSS: &str = "says of what may be this money that it has not come, or went back";
/// What banks charge for a transfer or a month of messages stays below.
pub const FEE_MOST: Money = Money(50_000);

/// The keys of the transfer itself, of which one settlement at most may stand: the session id, and a reference
/// that the bank calls unique on the account.
pub fn transfer_keys(alert: &AlertRow, holding_account: Option<i64>) -> Vec<Key> {
    let facts = &alert.facts;
    let mut keys = Vec::new();
    if let Some(session) = &facts.session_id {
        keys.push((SESSION, own_key(alert, session.clone())));
    }
    if let (true, Some(reference)) = (facts.reference_is_unique, &facts.reference) {
        match (holding_account, &facts.bank, &facts.account_number) {
            (Some(account), _, _) => {
                keys.push((REFERENCE, own_key(alert, format!("{account}|{reference}"))));
            }
            // Shown, and none of ours.
            (None, Some(bank), Some(shown)) => {
                keys.push((REFERENCE, own_key(alert, format!("{bank}|{shown}|{reference}"))));
            }
            _ => {}
        }
    }
    keys
}

/// Everything by which a copy of this alert would be known, strongest first. The content of an alert that is
/// stored already is not at hand.
pub fn keys_of(alert: &AlertRow, holding_account: Option<i64>, content_hash: Option<&[u8; 32]>) -> Vec<Key> {
    let mut keys = transfer_keys(alert, holding_account);
    keys.extend(mail_keys(alert, content_hash));
    keys
}

/// The keys of the mail itself. A debit has no others: the session id that it shows is its credit's.
pub fn mail_keys(alert: &AlertRow, content_hash: Option<&[u8; 32]>) -> Vec<Key> {
    let mut keys = Vec::new();
    if let Some(id) = alert.message_id.as_ref().filter(|id| !id.is_empty()) {
        // No signature need cover it, so it may be of any length; an index takes no such key.
        let long = id.len() > MESSAGE_ID_MAX;
        let key = if long { hex(&Sha256::digest(id.as_bytes())) } else { id.clone() };
        keys.push((MESSAGE, own_key(alert, key)));
    }
    keys.extend(content_hash.map(|hash| (CONTENT, own_key(alert, hex(hash)))));
    keys
}

/// The key as it is kept. A simulated alert's is its business's own: whoever simulates a mail with another's session id,
/// or with the very words of one that is to come, takes nobody's key.
fn own_key(alert: &AlertRow, key: String) -> String {
    match alert.simulated_for {
        Some(business_id) => format!("simulated {business_id}|{key}"),
        None => key,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The key on which a second settlement of this alert's session id stands.
pub fn beside_key(alert: &AlertRow, session: &str, received: Money) -> String {
    own_key(alert, format!("{session}|{}", received.kobo()))
}

/// The transfer's keys for a settlement beside another one that stands on its session id with other money. The
/// amount makes it a key that only one such settlement can have.
pub fn keys_beside_another(alert: &AlertRow, holding_account: i64, received: Money) -> Vec<Key> {
    let mut keys = transfer_keys(alert, Some(holding_account));
    for (kind, key) in &mut keys {
        if let (&mut SESSION, Some(session)) = (kind, &alert.facts.session_id) {
            *key = beside_key(alert, session, received);
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

/// Whether two alerts that share a key of this kind are one telling. A mailer may give two mails one Message-ID: then
/// clock and balance must agree as well, and of debits what they say. Two debits of one content are two where it shows
/// no balance: a bank that took the same amount twice writes the same words twice, and of a batch within one second. The
/// second shows that they are one where not even their Message-IDs differ.
pub fn is_copy(kind: &str, a: &AlertRow, b: &AlertRow) -> bool {
    let is_by_mail = match (kind, a.facts.is_outgoing()) {
        (MESSAGE, false) => !are_apart(a, b),
        (MESSAGE, true) => !are_apart(a, b) && !differ(&a.facts.narration, &b.facts.narration),
        (CONTENT, true) => {
            let show_balance = [a, b].iter().all(|alert| alert.facts.balance.is_some());
            let show_second = [a, b].iter().all(|alert| is_unmistakable(alert));
            show_balance || show_second && !differ(&a.message_id, &b.message_id)
        }
        // The same state may be told of a second transfer in the same words.
        (CONTENT, false) if a.facts.is_told_as_lost() => [a, b].iter().all(|alert| is_unmistakable(alert)),
        // Two mails, each under a Message-ID of its own that counts, are one telling only where the same words cannot be
        // those of a second transfer.
        (CONTENT, _) => {
            [a, b].iter().all(|alert| is_unmistakable(alert)) || !differ(&a.message_id, &b.message_id)
        }
        // A key of the transfer hides no news of a loss.
        _ => !a.facts.is_told_as_lost(),
    };
    is_by_mail && tells_the_same(a, b)
}

/// Whether it shows what no second transfer of the same words would: the second, or the balance after it.
fn is_unmistakable(alert: &AlertRow) -> bool {
    let to_the_second = |time: BankTime| time.precision == TimePrecision::Second;
    alert.facts.balance.is_some() || alert.facts.occurred.is_some_and(to_the_second)
}

/// Both name their payers, and they are not one, wherever a bank may have cut a name off.
fn payers_differ(a: &AlertRow, b: &AlertRow) -> bool {
    match (&a.facts.payer_name, &b.facts.payer_name) {
        (Some(x), Some(y)) => {
            verdict(x, y, &b.facts.cut_lengths()) == NameVerdict::Different
                && verdict(y, x, &a.facts.cut_lengths()) == NameVerdict::Different
        }
        _ => false,
    }
}

/// Whether nothing shows that two alerts tell of two payers. A debit, and a mail that tells of a loss, may have a session
/// id of its own.
pub fn may_have_one_payer(a: &AlertRow, b: &AlertRow) -> bool {
    !payers_differ(a, b)
}

/// Whether nothing shows that two alerts tell of two payers, or of two transfers by their session ids.
pub fn may_be_of_one_payer(a: &AlertRow, b: &AlertRow) -> bool {
    !payers_differ(a, b) && !sessions_differ(a, b)
}

/// Session ids that show two transfers: of one layout alone, for another may show the payer's remark in that place.
fn sessions_differ(a: &AlertRow, b: &AlertRow) -> bool {
    is_one_pen(a, b) && differ(&a.facts.session_id, &b.facts.session_id)
}

fn is_one_pen(a: &AlertRow, b: &AlertRow) -> bool {
    a.facts.bank == b.facts.bank && a.facts.template == b.facts.template
}

/// Whether one layout of one bank wrote both, at one moment. Of two layouts nothing but the time is sure to be one and
/// the same thing: a clock runs behind, a reference is another number, a balance another kind, and a name may be a
/// remark. So it is of two mails that tell two states of a transfer.
fn is_one_layout(a: &AlertRow, b: &AlertRow) -> bool {
    is_one_pen(a, b) && a.facts.told_states() == b.facts.told_states()
}

fn differ(a: &Option<String>, b: &Option<String>) -> bool {
    a.is_some() && b.is_some() && a != b
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
    let is_one =
        !differ(&a.facts.session_id, &b.facts.session_id) && !differ(&a.facts.reference, &b.facts.reference);
    a.facts.amount == b.facts.amount
        && a.facts.direction == b.facts.direction
        && days_agree
        && a.account_id == b.account_id
        && is_one
        && !payers_differ(a, b)
}

/// Whether a person passed it on: he could have written anything into it, so a session id, clock or balance of its
/// own shows nothing.
pub fn is_forwarded(alert: &AlertRow) -> bool {
    alert.authenticity == Authenticity::Forwarded
}

/// Whether the bank tells of two transfers under one session id: somebody typed the other's. What a person passed on shows
/// it by nothing, not even by its amount.
pub fn is_other_money(a: &AlertRow, b: &AlertRow) -> bool {
    let by_the_bank = !is_forwarded(a) && !is_forwarded(b);
    by_the_bank && (a.facts.amount != b.facts.amount || payers_differ(a, b) && are_apart(a, b))
}

/// The same session id; or, on one account, a reference that the bank calls unique: one that several may bear is
/// no sign of a second telling.
pub fn is_one_transfer(a: &AlertRow, b: &AlertRow, accounts: &[ReceivingAccount]) -> bool {
    let (x, y) = (&a.facts, &b.facts);
    let unique = x.reference_is_unique && y.reference_is_unique;
    x.session_id.is_some() && x.session_id == y.session_id
        || unique && x.reference == y.reference && may_be_on_one_account(a, b, accounts)
}

/// A reference that is more than a placeholder.
pub fn usable_reference(reference: &Option<String>) -> Option<&str> {
    let reference = reference.as_deref()?;
    let signs: Vec<char> = reference.chars().filter(|c| c.is_alphanumeric()).collect();
    let is_telling = signs.len() >= REFERENCE_MIN && signs.iter().any(|c| *c != signs[0]);
    is_telling.then_some(reference)
}

/// Whether a debit or reversal of the same money may undo a credit: unless the bank's own times show that
/// it was before. Mails overtake one another, so the order in which we saw them shows nothing.
pub fn may_undo(undoing: &AlertRow, credit: &AlertRow) -> bool {
    undoing.first_seen >= credit.first_seen || !is_before(undoing, credit) || is_forwarded(credit)
}

/// Whether it was before, by the bank's own times, of which those of two layouts and of a mail's Date are a little off.
pub fn is_before(undoing: &AlertRow, credit: &AlertRow) -> bool {
    let (told, came) = (told_time(undoing), told_time(credit).begin);
    let is_one_clock = is_one_layout(undoing, credit) && is_timed(undoing);
    let slack = if is_one_clock { Span(0) } else { LAYOUTS_APART };
    let end = if is_timed(undoing) { latest(told.begin, told.end) } else { told.end };
    let sent = undoing.mailed_at.map_or(undoing.first_seen, |date| date.min(undoing.first_seen));
    end + slack < came && !(is_timed(undoing) && may_be_dated_back(told.begin, sent, came))
}

/// A debit or a reversal, which may undo a credit. What the bank takes for itself does not, though it may
/// bear the credit's own reference.
pub fn is_undoing(alert: &AlertRow) -> bool {
    let is_the_banks = matches!(alert.facts.kind, Some(AlertKind::Fee | AlertKind::Notice));
    alert.facts.is_outgoing() && !is_the_banks
}

/// A mail about a credit that tells that the money has not come, or went back. It speaks against the credit as a debit
/// does. One that a person approved all the same tells of money.
pub fn tells_of_loss(alert: &AlertRow) -> bool {
    alert.facts.direction == Some(Direction::Credit)
        && alert.facts.is_told_as_lost()
        && !matches!(alert.status, AlertStatus::Matched | AlertStatus::Reversed)
}

/// What it says of a credit that it speaks against, in words.
pub fn undoing_in_words(undoing: &AlertRow) -> String {
    if tells_of_loss(undoing) {
        format!("alert {} {TELLS_OF_LOSS}", undoing.id)
    } else {
        format!("alert {} {MAY_HAVE_TAKEN}", undoing.id)
    }
}

/// Money that leaves and may undo a credit: also what reads as a fee, see [`takes_back`].
pub fn takes_money(alert: &AlertRow) -> bool {
    is_undoing(alert) || is_fee(alert)
}

/// A debit of the bank's own.
pub fn is_fee(alert: &AlertRow) -> bool {
    alert.facts.is_outgoing() && alert.facts.kind == Some(AlertKind::Fee)
}

/// Whether this takes money away as what undoes that credit does. A debit repeats what the payer wrote, so a
/// remark such as "transfer fee" makes a reversal read as the bank's fee. It is none if it takes exactly the
/// credit's amount and that is more than banks charge, or at least half of it and names the credit or its payer.
pub fn takes_back(undoing: &AlertRow, credit: &AlertRow) -> bool {
    if tells_of_loss(undoing) {
        return !tells_of_loss(credit) || undoing.facts.told_states() != credit.facts.told_states();
    }
    if !is_fee(undoing) {
        return is_undoing(undoing);
    }
    let (debit, credited) = (&undoing.facts, &credit.facts);
    let (Some(taken), Some(came)) = (debit.amount, credited.amount) else { return false };
    let is_named = || {
        let shares = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        shares(&debit.session_id, &credited.session_id)
            || usable_reference(&debit.reference).is_some() && shares(&debit.reference, &credited.reference)
            || may_name_the_payer(undoing, credit)
    };
    let is_half = i128::from(taken.kobo()) * 2 >= i128::from(came.kobo());
    taken == came && taken > FEE_MOST || is_half && is_named()
}

/// Whether the narration of an alert names the payer of a credit. That of a debit or reversal repeats the transfer's
/// own, of which a part is the payer's remark. A name of short words alone ("LI WU") is named by all of them side by side.
pub fn names_the_payer(told_by: &AlertRow, credit: &AlertRow) -> bool {
    let Some(payer) = credit.facts.payer_name.as_deref().map(fold) else { return false };
    let all: Vec<&str> = payer.split(' ').filter(|word| word.len() > 1).collect();
    let words: Vec<&str> = all.iter().copied().filter(|word| word.len() >= WORD_MIN).collect();
    narrations(told_by).any(|(typed, is_cut)| {
        let told: Vec<&str> = typed.split(' ').collect();
        if words.is_empty() {
            return all.len() >= WORDS_MIN && told.windows(all.len()).any(|side_by_side| side_by_side == all);
        }
        let agreeing = words.iter().filter(|word| told.contains(word)).count();
        // The rest of a name that a bank has cut off stood behind.
        let begun = told.last().filter(|_| is_cut);
        let goes_on = begun.is_some_and(|begun| words.iter().any(|word| word.starts_with(begun)));
        agreeing > 0 && (agreeing >= WORDS_MIN.min(words.len()) || goes_on)
    })
}

/// The same, or the bank cut it off in a word that one of the payer's begins like. Such a word may be anybody's, and of a
/// remark: what it names is not told from the others by it.
pub fn may_name_the_payer(told_by: &AlertRow, credit: &AlertRow) -> bool {
    let payer = credit.facts.payer_name.as_deref().map(fold).unwrap_or_default();
    let begins = |typed: &str| {
        let begun = typed.split(' ').next_back().filter(|begun| begun.len() >= WORD_MIN);
        begun.is_some_and(|begun| payer.split(' ').any(|word| word.starts_with(begun)))
    };
    names_the_payer(told_by, credit) || narrations(told_by).any(|(typed, is_cut)| is_cut && begins(&typed))
}

/// What payers may have typed into an alert, folded, and whether the bank cut its end off.
fn narrations(alert: &AlertRow) -> impl Iterator<Item = (String, bool)> {
    alert.facts.typed().enumerate().map(|(at, typed)| (fold(typed), at == 0 && alert.facts.narration_cut))
}

/// Whether the words of a debit may be those that the payer of a credit typed: the end of the one narration stands in the other,
/// or the credit's mail does not show all that was typed. Then a name in them may be his remark, and tells him from nobody.
pub fn may_repeat(debit: &AlertRow, credit: &AlertRow) -> bool {
    let shown: usize = credit.facts.typed().map(|typed| squeezed(typed).len()).sum();
    let shows_all = shown >= END_REPEATED && !credit.facts.narration_cut;
    !shows_all || repeats_end(debit, credit) || repeats_end(credit, debit)
}

/// Whether what a payer typed into the one alert ends in what stands in the other.
pub fn repeats_end(other: &AlertRow, one: &AlertRow) -> bool {
    let told: Vec<String> = other.facts.typed().map(squeezed).collect();
    let ends_there = |typed: &str| {
        let typed = squeezed(typed);
        let end = typed.len().checked_sub(END_REPEATED).map(|at| &typed[at..]);
        end.is_some_and(|end| told.iter().any(|text| text.contains(end)))
    };
    one.facts.typed().any(ends_there)
}

/// Letters and digits alone, as one narration is compared with another.
fn squeezed(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect()
}

/// Whether a debit that names a credit by a key speaks of it: of its amount, and it was not dismissed. One that was
/// dismissed pays nothing, so it may have been sent to draw the reversal of another credit to itself; unless it had paid,
/// and its payment was reversed.
pub fn speaks_of(undoing: &AlertRow, named: &AlertRow) -> bool {
    let was_money = named.status != AlertStatus::Dismissed || has_paid_once(named);
    undoing.facts.amount == named.facts.amount && was_money
}

/// True if the debit names `named` by a key and therefore cannot be about `other`.
///
/// The key alone does not show it, for anybody can type a key into a transfer of the same amount. It takes that `other`
/// has a key of its own, or that the debit names the payer of `named` and not the payer of `other`. (If the narration of
/// `other` names that payer as well, the debit may only repeat it, and shows nothing. If `other` shows no payer, it may
/// be of any.)
pub fn leaves_alone(undoing: &AlertRow, named: &AlertRow, other: &AlertRow) -> bool {
    let (debit, of_named, of_other) = (&undoing.facts, &named.facts, &other.facts);
    let by_session = debit.session_id.is_some() && debit.session_id == of_named.session_id;
    let by_reference = debit.reference.is_some() && debit.reference == of_named.reference;
    let has_its_own = by_session && sessions_differ(named, other)
        || by_reference
            && usable_reference(&of_other.reference).is_some()
            && of_other.reference != debit.reference;
    let has_its_own = has_its_own && !is_forwarded(other);
    let names_that_one = names_the_payer(undoing, named)
        && of_other.payer_name.is_some()
        && !may_name_the_payer(undoing, other)
        && !may_name_the_payer(other, named)
        && !may_repeat(undoing, other);
    speaks_of(undoing, named) && (has_its_own || names_that_one)
}

/// Money that came, also where a rule set it aside as a fee or a transfer between own accounts.
pub fn is_incoming_money(alert: &AlertRow) -> bool {
    is_credit(alert) || alert.is_credit_aside()
}

/// A credit of kind payment.
pub fn is_credit(alert: &AlertRow) -> bool {
    alert.facts.direction == Some(Direction::Credit)
        && alert.facts.kind.is_none_or(|kind| kind == AlertKind::Payment)
}

/// The bank or a person vouches for it: a forwarded mail that a person approved tells of money like any other.
pub fn is_vouched(alert: &AlertRow) -> bool {
    alert.authenticity.counts() || matches!(alert.status, AlertStatus::Matched | AlertStatus::Reversed)
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

/// The earliest moment at which the money may have come: the begin of the bank's time, and where the bank tells no hour, the
/// Date of the mail, if the bank signed it. What was corrected after this may have been corrected after the money came
/// (contract/matching.md#m18).
pub fn came_from(alert: &AlertRow) -> Timestamp {
    let time = interval(alert);
    let is_dated = |told: BankTime| {
        matches!(told.precision, TimePrecision::Day | TimePrecision::None)
            && alert.mailed_at == Some(told.end)
    };
    if alert.facts.occurred.is_some_and(is_dated) { time.end } else { time.begin }
}

/// After this a payment that is asked for may have been asked for after the money came. Where the bank tells the minute or the
/// second, the whole of it is before: who pays at once pays in the minute in which he was asked, and no mail tells others so
/// soon of his money. Where the bank may have told the wrong half of the day, the earlier one counts.
pub fn came_by(alert: &AlertRow) -> Timestamp {
    let is_exact = |told: BankTime| {
        matches!(told.precision, TimePrecision::Second | TimePrecision::Minute)
            && told.end <= told.begin + Span::minutes(1)
    };
    if alert.facts.occurred.is_some_and(is_exact) { interval(alert).end } else { came_from(alert) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::alert::{AlertFacts, Balance, OTHER_STATE_ROW, RETURNED_OR_OWN};

    const MINUTE: Span = Span::minutes(1);

    /// Noon in Lagos on some day.
    fn noon() -> Timestamp {
        Timestamp::from_utc_date(2026, 3, 10).unwrap() + Span::hours(11)
    }

    fn timed(begin: Timestamp, width: Span) -> Option<BankTime> {
        let precision = if width < MINUTE { TimePrecision::Second } else { TimePrecision::Minute };
        Some(BankTime { begin, end: begin + width, precision })
    }

    fn credit() -> AlertRow {
        AlertRow {
            id: 1,
            status: AlertStatus::Matched,
            version: 1,
            settlement_id: None,
            source: "file".into(),
            authenticity: Authenticity::Proven,
            facts: AlertFacts {
                bank: Some("gtbank".into()),
                direction: Some(Direction::Credit),
                kind: Some(AlertKind::Payment),
                amount: Some(Money(840_000)),
                payer_name: Some("NGOZI UMEADI".into()),
                occurred: timed(noon(), Span::seconds(1)),
                ..AlertFacts::default()
            },
            account_id: Some(1),
            message_id: None,
            mail_from: None,
            subject: None,
            mailed_at: None,
            first_seen: noon() + MINUTE,
            decided_at: None,
            payment_id: None,
            linked_alert_id: None,
            reason: String::new(),
            evidence: String::new(),
            authentic_by: None,
            dismissed_from: None,
            simulated_for: None,
        }
    }

    fn with(alert: &AlertRow, change: impl FnOnce(&mut AlertRow)) -> AlertRow {
        let mut changed = alert.clone();
        change(&mut changed);
        changed
    }

    fn debit(kind: AlertKind) -> AlertRow {
        with(&credit(), |alert| {
            alert.id = 2;
            alert.status = AlertStatus::Ignored;
            alert.facts.direction = Some(Direction::Debit);
            alert.facts.kind = Some(kind);
            alert.facts.payer_name = None;
        })
    }

    fn account(id: i64, number: &str, via: Option<i64>) -> ReceivingAccount {
        ReceivingAccount { via, ..ReceivingAccount::sample(id, number) }
    }

    fn text(words: &str) -> Option<String> {
        Some(words.to_owned())
    }

    #[test]
    fn a_transfer_has_its_session_id_and_a_unique_reference_as_keys() {
        let mut alert = credit();
        assert_eq!(transfer_keys(&alert, Some(7)), []);
        alert.facts.session_id = text("S1");
        alert.facts.reference = text("R1");
        assert_eq!(transfer_keys(&alert, Some(7)), [(SESSION, "S1".into())]);
        alert.facts.reference_is_unique = true;
        assert_eq!(transfer_keys(&alert, Some(7)), [(SESSION, "S1".into()), (REFERENCE, "7|R1".into())]);
        assert_eq!(transfer_keys(&alert, None).len(), 1);
        alert.facts.account_number = text("**17");
        assert_eq!(transfer_keys(&alert, None)[1], (REFERENCE, "gtbank|**17|R1".into()));
        assert_eq!(
            keys_beside_another(&alert, 7, Money(5_000)),
            [(SESSION, "S1|5000".into()), (REFERENCE, "7|R1".into())]
        );
    }

    #[test]
    fn a_mail_has_its_message_id_and_content_as_keys() {
        let mut alert = credit();
        assert_eq!(mail_keys(&alert, None), []);
        alert.message_id = text("");
        assert_eq!(mail_keys(&alert, Some(&[0xab; 32])), [("content", "ab".repeat(32))]);
        alert.message_id = text("<1@x>");
        alert.facts.session_id = text("S1");
        let keys = keys_of(&alert, Some(7), Some(&[1; 32]));
        let kinds: Vec<&str> = keys.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [SESSION, MESSAGE, "content"]);
        assert_eq!(keys[1].1, "<1@x>");
        for (length, hashed) in [(MESSAGE_ID_MAX, false), (MESSAGE_ID_MAX + 1, true)] {
            alert.message_id = Some("x".repeat(length));
            let key = &mail_keys(&alert, None)[0].1;
            assert_eq!(key.len() == 64, hashed, "{length}");
        }
        assert_eq!(
            [SESSION, REFERENCE, MESSAGE, "content"].map(describe),
            ["NIP session id", "reference", "Message-ID", "content"]
        );
    }

    #[test]
    fn a_copy_agrees_in_all_that_tells_transfers_apart() {
        let one = with(&credit(), |a| {
            a.facts.session_id = text("S1");
            a.facts.reference = text("R1");
        });
        assert!(tells_the_same(&one, &one));
        let other: [fn(&mut AlertRow); 7] = [
            |a| a.facts.amount = Some(Money(1)),
            |a| a.facts.direction = Some(Direction::Debit),
            |a| a.facts.occurred = timed(noon() + Span::days(1), Span::seconds(1)),
            |a| a.account_id = Some(2),
            |a| a.facts.session_id = text("S2"),
            |a| a.facts.reference = text("R2"),
            |a| a.facts.payer_name = text("SANI LAWAL"),
        ];
        for (n, change) in other.into_iter().enumerate() {
            assert!(!tells_the_same(&one, &with(&one, change)), "{n}");
        }
        let silent: [fn(&mut AlertRow); 4] = [
            |a| a.facts.occurred = None,
            |a| a.facts.session_id = None,
            |a| a.facts.reference = None,
            |a| a.facts.payer_name = None,
        ];
        for (n, change) in silent.into_iter().enumerate() {
            assert!(tells_the_same(&one, &with(&one, change)), "{n}");
        }
        let unique = with(&one, |a| a.facts.reference_is_unique = true);
        let by_reference = |a: &AlertRow, b: &AlertRow| {
            is_one_transfer(a, b, &[account(1, "1", None), account(2, "2", None)])
        };
        let bare = with(&unique, |a| a.facts.session_id = None);
        assert!(by_reference(&one, &with(&one, |a| a.facts.reference = None)), "one session id");
        assert!(by_reference(&bare, &unique));
        assert!(!by_reference(&bare, &with(&unique, |a| a.account_id = Some(2))));
        assert!(!by_reference(&bare, &with(&unique, |a| a.facts.reference = text("R2"))));
        assert!(!by_reference(&bare, &with(&one, |a| a.facts.session_id = None)), "not unique in both");
        let nothing = with(&credit(), |_| ());
        assert!(!by_reference(&nothing, &nothing), "no key at all");
    }

    #[test]
    fn clock_balance_and_payer_tell_money_apart() {
        let one = with(&credit(), |a| a.facts.balance = Some(Balance::Available(Money(500))));
        let later = with(&one, |a| a.facts.occurred = timed(noon() + MINUTE, Span::seconds(1)));
        let richer = with(&one, |a| a.facts.balance = Some(Balance::Available(Money(501))));
        let ledger = with(&one, |a| a.facts.balance = Some(Balance::Ledger(Money(501))));
        let untimed = with(&one, |a| a.facts.occurred = None);
        for (other, apart) in
            [(&one, false), (&later, true), (&richer, true), (&ledger, false), (&untimed, false)]
        {
            assert_eq!(are_apart(&one, other), apart);
        }
        assert!(may_be_the_same_money(&one, &ledger));
        assert!(may_be_the_same_money(&one, &later), "nothing was added to it");
        assert!(!may_be_the_same_money(&one, &richer));
        let stranger = with(&one, |a| a.facts.payer_name = text("SANI LAWAL"));
        let bare = with(&one, |a| a.facts.balance = None);
        assert!(!may_be_the_same_money(&bare, &stranger));
        for mark in [
            |a: &mut AlertRow, t: &str| a.facts.session_id = text(t),
            |a: &mut AlertRow, t: &str| a.facts.reference = text(t),
        ] {
            let (x, y) = (with(&bare, |a| mark(a, "FT-0001")), with(&bare, |a| mark(a, "FT-0002")));
            assert!(!may_be_the_same_money(&x, &y) && may_be_the_same_money(&x, &bare));
        }
        // The same balance after it, at the same time: whatever else is told, nothing came in between.
        let other_reference = |a: &mut AlertRow, t: &str| a.facts.reference = text(t);
        let (x, y) = (
            with(&stranger, |a| other_reference(a, "FT-0001")),
            with(&one, |a| other_reference(a, "FT-0002")),
        );
        assert!(may_be_the_same_money(&x, &y));
        let day = |a: &AlertRow| with(a, |a| a.facts.occurred = timed(noon(), Span::hours(1)));
        assert!(!may_be_the_same_money(&day(&x), &day(&y)), "in an hour it may be the same again");
        let elsewhere = with(&y, |a| a.account_id = Some(2));
        assert!(!may_be_the_same_money(&x, &elsewhere), "another account's balance");
        for (kind, other, expected) in [
            (MESSAGE, &later, false),
            (SESSION, &later, true),
            (MESSAGE, &one, true),
            (SESSION, &stranger, false),
        ] {
            assert_eq!(is_copy(kind, &one, other), expected, "{kind}");
        }
        // Another amount, or another payer whose transfer clock or balance tell apart.
        assert!(
            !is_other_money(&one, &one) && !is_other_money(&one, &stranger) && !is_other_money(&one, &richer)
        );
        assert!(is_other_money(&one, &with(&one, |a| a.facts.amount = Some(Money(1)))));
        assert!(is_other_money(&one, &with(&richer, |a| a.facts.payer_name = text("SANI LAWAL"))));
        assert!(!is_other_money(&one, &with(&richer, |a| a.facts.payer_name = None)));
        let passed_on = with(&one, |a| a.authenticity = Authenticity::Forwarded);
        let altered = with(&passed_on, |a| a.facts.amount = Some(Money(1)));
        assert!(
            !is_other_money(&one, &altered) && !is_other_money(&altered, &one),
            "whoever passed it on typed it"
        );
    }

    #[test]
    fn of_one_layout_the_same_balance_or_reference_at_another_time_may_be_told_anew() {
        let after = |span: Span, change: &dyn Fn(&mut AlertRow)| {
            with(&credit(), |a| {
                a.facts.occurred = timed(noon() + span, Span::seconds(1));
                change(a);
            })
        };
        let both = |change: &dyn Fn(&mut AlertRow), span: Span, other: &dyn Fn(&mut AlertRow)| {
            let (a, b) = (after(Span(0), change), after(span, other));
            assert_eq!(may_be_the_same_money(&a, &b), may_be_the_same_money(&b, &a));
            may_be_the_same_money(&a, &b)
        };
        let left =
            |kobo: i64| move |a: &mut AlertRow| a.facts.balance = Some(Balance::Available(Money(kobo)));
        let referring = |words: &'static str| move |a: &mut AlertRow| a.facts.reference = text(words);
        let most = Span::seconds(1) + BANKS_APART;
        assert!(both(&left(5), MINUTE, &left(5)) && both(&left(5), most, &left(5)));
        assert!(!both(&left(5), most + Span(1), &left(5)) && !both(&left(5), MINUTE, &left(6)));
        assert!(!both(&left(5), MINUTE, &|_| ()), "one balance is none that is equal");
        let other_layout = |a: &mut AlertRow| {
            left(5)(a);
            a.facts.template = text("prose");
        };
        assert!(!both(&left(5), Span::hours(1), &other_layout), "another kind of balance, perhaps");
        let stranger = |a: &mut AlertRow| {
            left(5)(a);
            a.facts.payer_name = text("SANI LAWAL");
        };
        assert!(!both(&left(5), MINUTE, &stranger));
        let with_reference = |words: &'static str| {
            move |a: &mut AlertRow| {
                left(5)(a);
                referring(words)(a);
            }
        };
        assert!(!both(&with_reference("FT-0001"), MINUTE, &with_reference("FT-0002")));
        // A reference alone: for as long as a mail may take, and where the balances do not differ.
        let soon = Span::seconds(1) + LAYOUTS_APART;
        assert!(both(&referring("FT-0001"), soon, &referring("FT-0001")));
        assert!(!both(&referring("FT-0001"), soon + Span(1), &referring("FT-0001")));
        assert!(!both(&referring("FT-0001"), MINUTE, &referring("FT-0002")));
        assert!(!both(&referring("FT-0001"), MINUTE, &|_| ()) && !both(&|_| (), MINUTE, &|_| ()));
        assert!(!both(&referring("000000"), MINUTE, &referring("000000")), "a placeholder");
        let richer = |a: &mut AlertRow| {
            left(6)(a);
            referring("FT-0001")(a);
        };
        assert!(!both(&with_reference("FT-0001"), MINUTE, &richer));
        let in_prose = |a: &mut AlertRow| {
            referring("FT-0001")(a);
            a.facts.template = text("prose");
            a.facts.payer_name = text("SANI LAWAL");
        };
        assert!(!both(&referring("FT-0001"), Span::minutes(3), &in_prose));
    }

    #[test]
    fn of_two_layouts_only_the_time_tells_money_apart() {
        let rows = with(&credit(), |a| a.facts.template = text("rows"));
        let prose = |change: &dyn Fn(&mut AlertRow)| {
            with(&rows, |a| {
                a.facts.template = text("prose");
                change(a);
            })
        };
        let at = |after: Span| timed(noon() + after, Span::seconds(1));
        let (first, last) = (Span::seconds(1) + LAYOUTS_APART, Span(1) + Span::seconds(1) + LAYOUTS_APART);
        let both = |a: &AlertRow, b: &AlertRow| {
            assert_eq!(may_be_the_same_money(a, b), may_be_the_same_money(b, a));
            may_be_the_same_money(a, b)
        };
        assert!(both(&rows, &prose(&|a| a.facts.occurred = at(first))));
        assert!(!both(&rows, &prose(&|a| a.facts.occurred = at(last))));
        let same_layout = with(&rows, |a| a.facts.occurred = at(Span::seconds(2)));
        assert!(!both(&rows, &same_layout), "one layout has one clock");
        let other_bank = with(&same_layout, |a| a.facts.bank = text("wema"));
        assert!(both(&rows, &other_bank), "two banks have two");
        // A virtual account's bank and the one behind it: within a day, of one payer.
        let settled = |after: Span, name: &'static str| {
            with(&other_bank, |a| {
                a.facts.occurred = at(after);
                a.facts.payer_name = text(name);
            })
        };
        assert!(both(&rows, &settled(BANKS_APART, "NGOZI UMEADI")));
        assert!(!both(&rows, &settled(BANKS_APART + Span::seconds(2), "NGOZI UMEADI")));
        assert!(!both(&rows, &settled(Span::minutes(5), "SANI LAWAL")));
        let shown = with(&rows, |a| {
            a.facts.reference = text("FT0012345");
            a.facts.balance = Some(Balance::Ledger(Money(1)));
        });
        assert!(both(
            &shown,
            &prose(&|a| {
                a.facts.reference = text("S7700881");
                a.facts.balance = Some(Balance::Ledger(Money(2)));
                a.facts.payer_name = text("A REMARK OF HIS");
            })
        ));
        // One of them shows a remark, into which the payer typed it.
        let with_session = |alert: &AlertRow, id: &str| with(alert, |a| a.facts.session_id = text(id));
        assert!(both(&with_session(&shown, "1"), &prose(&|a| a.facts.session_id = text("2"))));
        assert!(!both(&with_session(&shown, "1"), &with_session(&shown, "2")), "one layout");
        // A day holds many transfers of one amount: there another name is another payer.
        let day = |name: &'static str| {
            prose(&move |a| {
                a.facts.payer_name = text(name);
                a.facts.occurred = timed(noon() - Span::hours(2), Span::hours(3));
            })
        };
        assert!(!both(&rows, &day("SANI LAWAL")) && both(&rows, &day("NGOZI UMEADI")));
        let wide = |width: Span| {
            prose(&move |a| {
                a.facts.payer_name = text("SANI LAWAL");
                a.facts.occurred = timed(noon(), width);
            })
        };
        assert!(both(&rows, &wide(EXACT)) && !both(&rows, &wide(EXACT + Span(1))));
        // A placeholder is no reference, and a cut name is no other name.
        let (nil, real) =
            (with(&rows, |a| a.facts.reference = text("NIL")), with(&shown, |a| a.facts.balance = None));
        assert!(both(&nil, &real));
        let cut = |is_cut| {
            with(&rows, |a| {
                a.facts.payer_name = text("NGOZI ADAEZE UME");
                a.facts.payer_name_cut = is_cut;
            })
        };
        let whole = with(&rows, |a| a.facts.payer_name = text("NGOZI ADAEZE UMEADI"));
        assert!(both(&whole, &cut(true)));
    }

    #[test]
    fn debits_that_only_clock_or_reference_tell_apart_may_be_one() {
        let one = debit(AlertKind::Payment);
        let at = |after: Span| with(&one, |a| a.facts.occurred = timed(noon() + after, Span::seconds(1)));
        let last = Span::seconds(1) + LAYOUTS_APART;
        assert!(may_be_one_debit(&one, &at(last)) && may_be_one_debit(&at(last), &one));
        assert!(!may_be_one_debit(&one, &at(last + Span(1))) && !may_be_one_debit(&at(last + Span(1)), &one));
        let marked = |reference, session, balance| {
            with(&one, |a| {
                a.facts.reference = text(reference);
                a.facts.session_id = text(session);
                a.facts.balance = Some(Balance::Available(Money(balance)));
            })
        };
        assert!(may_be_one_debit(&marked("NIL", "1", 5), &marked("FT0012345", "1", 5)));
        assert!(!may_be_one_debit(&marked("NIL", "1", 5), &marked("NIL", "2", 5)));
        assert!(!may_be_one_debit(&marked("NIL", "1", 5), &marked("NIL", "1", 6)));
    }

    #[test]
    fn a_forwarded_alert_may_be_about_any_account() {
        let accounts = [account(1, "0040003311", None), account(2, "0040003322", None)];
        let (here, there) = (credit(), with(&credit(), |a| a.account_id = Some(2)));
        assert!(!may_be_on_one_account(&here, &there, &accounts));
        let forwarded = with(&there, |a| a.authenticity = Authenticity::Forwarded);
        assert!(
            may_be_on_one_account(&here, &forwarded, &accounts)
                && may_be_on_one_account(&forwarded, &here, &accounts)
        );
    }

    #[test]
    fn places_are_told_by_account_mask_and_bank() {
        let accounts = [
            account(1, "0040003311", None),
            account(2, "0140008822", None),
            account(3, "9012345678", Some(1)),
        ];
        assert_eq!([1, 2, 3, 9].map(|id| holding_account_of(&accounts, id)), [1, 2, 1, 9]);
        let at = |id: Option<i64>, shown: Option<&str>, bank: Option<&str>| {
            with(&credit(), |a| {
                a.account_id = id;
                a.facts.account_number = shown.map(str::to_owned);
                a.facts.bank = bank.map(str::to_owned);
            })
        };
        let same = |a: &AlertRow, b: &AlertRow| {
            assert_eq!(may_be_on_one_account(a, b, &accounts), may_be_on_one_account(b, a, &accounts));
            may_be_on_one_account(a, b, &accounts)
        };
        let here = at(Some(1), None, Some("gtbank"));
        assert!(
            same(&here, &at(Some(3), None, Some("gtbank")))
                && !same(&here, &at(Some(2), None, Some("gtbank")))
        );
        let told = [
            (Some("******3311"), Some("gtbank"), true),
            (Some("******8822"), Some("gtbank"), false),
            (Some("******3311"), Some("uba"), false),
            (None, Some("uba"), false),
            (None, Some("gtbank"), true),
            (None, None, true),
        ];
        for (shown, bank, expected) in told {
            assert_eq!(same(&here, &at(None, shown, bank)), expected, "{shown:?} {bank:?}");
        }
        let nowhere = |bank| at(None, None, bank);
        assert!(
            same(&nowhere(Some("uba")), &nowhere(Some("uba"))) && same(&nowhere(None), &nowhere(Some("uba")))
        );
        assert!(!same(&nowhere(Some("gtbank")), &nowhere(Some("uba"))));
        assert!(may_be_about(&here, &accounts[0]) && may_be_about(&here, &accounts[2]));
        assert!(!may_be_about(&here, &accounts[1]));
    }

    #[test]
    fn a_debit_from_before_takes_nothing_back() {
        let came = credit();
        let taken = |seconds: i64, seen: i64| {
            with(&debit(AlertKind::Payment), |a| {
                a.facts.occurred = timed(noon() + Span::seconds(seconds), Span::seconds(1));
                a.first_seen = came.first_seen + Span::seconds(seen);
            })
        };
        // By the bank's time, or where we saw it later.
        for (seconds, seen, expected) in
            [(0, -9, true), (-1, -9, true), (-2, -9, false), (-2, 0, true), (-2, -1, false)]
        {
            assert_eq!(may_undo(&taken(seconds, seen), &came), expected, "{seconds} {seen}");
        }
        // Our clock is behind the bank's.
        let ahead = with(&came, |a| a.first_seen = noon() - MINUTE);
        assert!(may_undo(&with(&taken(3, 0), |a| a.first_seen = noon() - MINUTE - MINUTE), &ahead));
        // A value date is the whole day; a second past midnight is a time.
        let midnight = noon() - Span::hours(12);
        for (begin, before) in
            [(midnight, false), (midnight + Span::seconds(1), true), (midnight - Span::days(2), true)]
        {
            let dated = with(&taken(0, -9), |a| a.facts.occurred = timed(begin, Span::seconds(1)));
            assert_eq!(is_before(&dated, &came), before, "{begin}");
        }
        let untimed = with(&taken(0, -9), |a| {
            a.facts.occurred = None;
            a.mailed_at = Some(noon() - LAYOUTS_APART);
        });
        assert!(!is_before(&untimed, &came), "a mail's Date may be a little off");
        assert!(is_before(&with(&untimed, |a| a.mailed_at = Some(noon() - LAYOUTS_APART - Span(1))), &came));
        // So may the clock of another layout.
        let elsewhere = |behind: Span| {
            with(&taken(0, -9), |a| {
                a.facts.template = text("note");
                a.facts.occurred = timed(noon() - behind, Span(0));
            })
        };
        assert!(!is_before(&elsewhere(LAYOUTS_APART), &came));
        assert!(is_before(&elsewhere(LAYOUTS_APART + Span(1)), &came));
    }

    #[test]
    fn a_mail_that_tells_of_loss_speaks_against_its_credit_until_a_person_finds_the_money() {
        let came = credit();
        let state = |value: &str| {
            with(&credit(), |a| {
                a.id = 7;
                a.status = AlertStatus::Review;
                a.facts.doubts = vec!["hidden content".into(), format!("{OTHER_STATE_ROW}: {value}")];
            })
        };
        let lost = state("Reversed");
        assert!(tells_of_loss(&lost) && takes_back(&lost, &came) && !takes_back(&came, &lost));
        assert!(
            takes_back(&lost, &state("Pending")) && !takes_back(&lost, &state("Reversed")),
            "one state is no news"
        );
        for (status, expected) in [
            (AlertStatus::New, true),
            (AlertStatus::Dismissed, true),
            (AlertStatus::Matched, false),
            (AlertStatus::Reversed, false),
        ] {
            assert_eq!(tells_of_loss(&with(&lost, |a| a.status = status)), expected, "{status:?}");
        }
        assert!(!tells_of_loss(&with(&lost, |a| a.facts.direction = Some(Direction::Debit))));
        assert!(!tells_of_loss(&with(&lost, |a| a.facts.doubts = vec![RETURNED_OR_OWN.into()])), "typed");
        assert_eq!(undoing_in_words(&lost), format!("alert 7 {TELLS_OF_LOSS}"));
        assert_eq!(undoing_in_words(&debit(AlertKind::Reversal)), format!("alert 2 {MAY_HAVE_TAKEN}"));
        // Two states of one transfer are told by two clocks, and with two balances.
        let later = |seconds: i64, of: &AlertRow| {
            with(of, |a| {
                a.facts.occurred = timed(noon() + Span::seconds(seconds), Span(0));
                a.facts.balance = Some(Balance::Available(Money(seconds)));
            })
        };
        let came = later(0, &came);
        assert!(
            may_be_the_same_money(&came, &later(120, &lost))
                && !may_be_the_same_money(&came, &later(122, &lost))
        );
        assert!(!may_be_the_same_money(&came, &later(1, &came)));
        assert!(may_be_the_same_money(&state("Pending"), &later(9, &lost)), "told in two states");
        assert!(!may_be_the_same_money(&later(0, &lost), &later(9, &lost)), "in one state");
        assert!(may_be_told_again(&later(0, &lost), &later(600, &lost)), "of one transfer all the same");
        let remark = |status| {
            with(&later(600, &credit()), |a| {
                a.status = status;
                a.facts.doubts = vec![RETURNED_OR_OWN.into()];
            })
        };
        assert!(may_be_told_again(&came, &remark(AlertStatus::Matched)), "a person believed it");
        assert!(!may_be_told_again(&came, &remark(AlertStatus::Review)), "a payer typed it");
    }

    #[test]
    fn money_came_at_the_begin_of_the_banks_time_or_by_the_date_of_the_mail() {
        let told = |precision, begin, end, mailed_at| {
            came_from(&with(&credit(), |a| {
                a.first_seen = noon();
                a.mailed_at = mailed_at;
                a.facts.occurred = Some(BankTime { begin, end, precision });
            }))
        };
        let (day, sent) = (noon() - Span::hours(12), noon() - MINUTE);
        assert_eq!(told(TimePrecision::Day, day, noon(), None), day);
        assert_eq!(told(TimePrecision::Day, day, sent, Some(sent)), sent);
        assert_eq!(told(TimePrecision::Day, day, noon(), Some(sent)), day, "a Date that nobody signed");
        for precision in [TimePrecision::Second, TimePrecision::Minute] {
            assert_eq!(told(precision, sent, noon(), Some(noon())), sent);
        }
        assert_eq!(told(TimePrecision::None, Timestamp::MIN, sent, Some(sent)), sent);
        assert_eq!(told(TimePrecision::None, Timestamp::MIN, noon(), None), Timestamp::MIN);
        assert_eq!(came_from(&with(&credit(), |a| a.facts.occurred = None)), Timestamp::MIN);
    }

    #[test]
    fn what_is_asked_for_in_the_second_or_minute_of_the_money_is_before_it() {
        let told = |precision, end| {
            came_by(&with(&credit(), |a| {
                a.first_seen = noon() + MINUTE;
                a.mailed_at = None;
                a.facts.occurred = Some(BankTime { begin: noon(), end, precision });
            }))
        };
        let (second, minute) = (noon() + Span::seconds(1), noon() + Span::seconds(59));
        assert_eq!(told(TimePrecision::Second, second), second);
        assert_eq!(told(TimePrecision::Minute, minute), minute);
        let seen_early = |a: &mut AlertRow| {
            a.first_seen = noon() + Span::seconds(20);
            a.facts.occurred = timed(noon(), MINUTE);
        };
        let by = came_by(&with(&credit(), seen_early));
        assert_eq!(by, noon() + Span::seconds(20), "nothing is seen before it");
        assert_eq!(told(TimePrecision::Day, minute), noon());
        assert_eq!(
            told(TimePrecision::Minute, noon() + Span::hours(12)),
            noon(),
            "the wrong half of the day"
        );
        assert_eq!(told(TimePrecision::None, minute), Timestamp::MIN);
        assert_eq!(came_by(&with(&credit(), |a| a.facts.occurred = None)), Timestamp::MIN);
    }

    #[test]
    fn bank_times_are_cut_at_our_sight_or_told_as_they_are() {
        let ahead = with(&credit(), |a| {
            a.first_seen = noon();
            a.facts.occurred = timed(noon() - MINUTE, MINUTE + MINUTE);
        });
        assert_eq!(interval(&ahead), Interval { begin: noon() - MINUTE, end: noon() });
        assert_eq!(told_time(&ahead), Interval { begin: noon() - MINUTE, end: noon() + MINUTE });
        let future = with(&ahead, |a| a.facts.occurred = timed(noon() + MINUTE, MINUTE));
        assert_eq!(interval(&future), Interval { begin: noon() + MINUTE, end: noon() });
        let none = with(&ahead, |a| a.facts.occurred = None);
        assert_eq!(interval(&none), Interval { begin: Timestamp::MIN, end: noon() });
        let mailed = with(&none, |a| a.mailed_at = Some(noon() - MINUTE));
        assert_eq!((interval(&mailed).end, told_time(&mailed).end), (noon() - MINUTE, noon() - MINUTE));
        let precision_none = with(&ahead, |a| {
            a.facts.occurred = Some(BankTime { begin: noon(), end: noon(), precision: TimePrecision::None });
        });
        assert!(is_timed(&ahead) && !is_timed(&none) && !is_timed(&precision_none));
        assert_eq!(interval(&precision_none).begin, Timestamp::MIN);
    }

    #[test]
    fn a_fee_is_no_reversal_unless_it_takes_what_no_bank_charges() {
        let came = with(&credit(), |a| {
            a.facts.session_id = text("S1");
            a.facts.reference = text("CT-778190");
        });
        assert!(
            takes_back(&debit(AlertKind::Payment), &came) && takes_back(&debit(AlertKind::Reversal), &came)
        );
        assert!(!takes_back(&debit(AlertKind::Notice), &came));
        assert!(
            is_undoing(&debit(AlertKind::Reversal))
                && !is_undoing(&debit(AlertKind::Fee))
                && !is_undoing(&came)
        );
        let fee = |kobo: i64| with(&debit(AlertKind::Fee), |a| a.facts.amount = Some(Money(kobo)));
        assert!(is_fee(&fee(1)) && !is_fee(&debit(AlertKind::Payment)));
        assert!(takes_money(&fee(1)) && takes_money(&debit(AlertKind::Payment)));
        assert!(!takes_money(&came) && !takes_money(&debit(AlertKind::Notice)));
        assert!(!is_fee(&with(&credit(), |a| a.facts.kind = Some(AlertKind::Fee))), "money that came");
        assert!(takes_back(&fee(840_000), &came), "exactly, and more than banks charge");
        let small = |kobo: i64| with(&came, |a| a.facts.amount = Some(Money(kobo)));
        assert!(!takes_back(&fee(50_000), &small(50_000)) && takes_back(&fee(50_001), &small(50_001)));
        assert!(
            !takes_back(&fee(839_999), &came)
                && !takes_back(&with(&fee(1), |a| a.facts.amount = None), &came)
        );
        let ties: [fn(&mut AlertRow); 3] = [
            |a| a.facts.session_id = text("S1"),
            |a| a.facts.reference = text("CT-778190"),
            |a| a.facts.narration = text("UMEADI NGOZI transfer fee"),
        ];
        for (n, tie) in ties.into_iter().enumerate() {
            for (kobo, expected) in [(420_000, true), (419_999, false), (841_075, true)] {
                assert_eq!(takes_back(&with(&fee(kobo), tie), &came), expected, "{n} {kobo}");
            }
        }
        assert!(!takes_back(&fee(500_000), &credit()), "two that show no session id share none");
        let placeholder = |a: &mut AlertRow| a.facts.reference = text("000000");
        assert!(!takes_back(&with(&fee(500_000), placeholder), &with(&came, placeholder)));
    }

    #[test]
    fn a_reference_must_say_something_and_a_payer_be_named_by_two_words() {
        for (reference, says) in
            [("CT-778", false), ("CT-7781", true), ("111111", false), ("------CT", false)]
        {
            assert_eq!(usable_reference(&text(reference)).is_some(), says, "{reference}");
        }
        assert_eq!(usable_reference(&None), None);
        for (narration, payer, named) in [
            ("RVSL FROM NGOZI ADA UMEADI", "NGOZI UMEADI", true),
            ("RVSL FROM NGOZI", "NGOZI UMEADI", false),
            ("RVSL FROM NGOZI", "NGOZI", true),
            ("VIA GAPS FROM LI WU", "LI WU", true),
            ("VIA GAPS FROM LI AND WU", "LI WU", false),
            ("VIA GAPS FROM WU LI WU", "LI WU X", true),
            ("VIA GAPS FROM LI", "LI", false),
            ("RVSL FROM AL", "AL BA", false),
            ("RVSL", "NGOZI UMEADI", false),
            ("RVSL ADA UMEADI", "NGOZI ADA UMEADI", true),
        ] {
            let back = with(&debit(AlertKind::Reversal), |a| a.facts.narration = text(narration));
            let came = with(&credit(), |a| a.facts.payer_name = text(payer));
            assert_eq!(names_the_payer(&back, &came), named, "{narration}: {payer}");
            assert!(!names_the_payer(&with(&back, |a| a.facts.narration = None), &came));
        }
    }

    #[test]
    fn a_stump_may_be_anybodys_and_names_nobody() {
        let told = |words: &str, is_cut: bool| {
            with(&debit(AlertKind::Reversal), |a| {
                (a.facts.narration, a.facts.narration_cut) = (text(words), is_cut)
            })
        };
        let came = with(&credit(), |a| a.facts.payer_name = text("ADEBAYO MUSA"));
        for (words, is_cut, named, may_be) in [
            ("for my shop at ADE", true, false, true),
            ("for my shop at AD", true, false, false),
            ("for my shop at ADE", false, false, false),
            ("for my shop at ADO", true, false, false),
            ("for MUSA AD", true, true, true),
            ("for MUSA AD", false, false, false),
            ("MUSA ADEBAYO", false, true, true),
        ] {
            let debit = told(words, is_cut);
            let found = (names_the_payer(&debit, &came), may_name_the_payer(&debit, &came));
            assert_eq!(found, (named, may_be), "{words} {is_cut}");
        }
        assert!(!may_name_the_payer(&told("ADE", true), &with(&came, |a| a.facts.payer_name = None)));
    }

    #[test]
    fn a_debit_may_repeat_what_ends_alike_or_is_not_shown() {
        let told = |words: &str| with(&debit(AlertKind::Reversal), |a| a.facts.narration = text(words));
        let typed = |words: Option<&str>| with(&credit(), |a| a.facts.narration = words.map(str::to_owned));
        for (words, shown, may_be) in [
            ("RVSL/for my shop at ADE", Some("SANI LAWAL/for my shop at ADEOLA road"), true),
            ("the mall NGOZI UMEADI", Some("SANI LAWAL/at the mall"), true),
            ("RVSL NGOZI UMEADI", Some("SANI LAWAL/shoes"), false),
            // Six signs, and no fewer.
            ("RVSL/a1-b2 c3", Some("x A1B2C3 y"), true),
            ("RVSL/1-b2 c3", Some("x 1B2C3 y"), false),
            // So little is shown that the rest may have been lost.
            ("mall", Some("mall"), true),
            ("RVSL NGOZI UMEADI", Some("mall!!"), true),
            ("RVSL NGOZI UMEADI", None, true),
        ] {
            assert_eq!(may_repeat(&told(words), &typed(shown)), may_be, "{words}: {shown:?}");
        }
        let cut = with(&typed(Some("SANI LAWAL/shoes")), |a| a.facts.narration_cut = true);
        assert!(may_repeat(&told("RVSL NGOZI UMEADI"), &cut));
        let remarks = with(&typed(Some("SANI LAWAL")), |a| a.facts.remarks = text("gift of Ngozi"));
        assert!(may_repeat(&told("RVSL gift of Ngozi Umeadi"), &remarks));
    }

    #[test]
    fn debits_are_copies_only_where_nothing_sets_them_apart() {
        let plain = with(&debit(AlertKind::Payment), |a| (a.facts.occurred, a.facts.balance) = (None, None));
        let says = |words: &str| with(&plain, |a| a.facts.narration = text(words));
        assert!(
            is_copy(MESSAGE, &plain, &says("RVSL 1")) && is_copy(MESSAGE, &says("RVSL 1"), &says("RVSL 1"))
        );
        assert!(!is_copy(MESSAGE, &says("RVSL 1"), &says("RVSL 2")));
        assert!(!is_copy(CONTENT, &plain, &plain));
        let told = |precision| Some(BankTime { begin: Timestamp(0), end: Timestamp(0), precision });
        let minute = with(&plain, |a| a.facts.occurred = told(TimePrecision::Minute));
        let second = with(&plain, |a| a.facts.occurred = told(TimePrecision::Second));
        let balance = with(&plain, |a| a.facts.balance = Some(Balance::Available(Money(500))));
        assert!(!is_copy(CONTENT, &minute, &minute));
        assert!(is_copy(CONTENT, &second, &second) && is_copy(CONTENT, &balance, &balance));
        assert!(!is_copy(CONTENT, &second, &plain));
        let came = with(&credit(), |a| (a.facts.occurred, a.facts.balance) = (None, None));
        assert!(is_copy(CONTENT, &came, &came), "a credit that is told twice pays once");
        let sent_as = |alert: &AlertRow, id: &str| with(alert, |a| a.message_id = Some(id.to_owned()));
        let (first, second_mail) = (sent_as(&came, "1@bank.example"), sent_as(&came, "2@bank.example"));
        assert!(is_copy(CONTENT, &first, &came) && is_copy(CONTENT, &first, &first));
        assert!(!is_copy(CONTENT, &first, &second_mail), "perhaps a second transfer of the same words");
        let exactly =
            |alert: &AlertRow| with(alert, |a| a.facts.balance = Some(Balance::Available(Money(500))));
        assert!(is_copy(CONTENT, &exactly(&first), &exactly(&second_mail)));
    }

    #[test]
    fn a_debit_of_two_states_is_one_whenever_it_is_told() {
        let at = |minutes: i64, state: &str| {
            with(&debit(AlertKind::Reversal), |a| {
                a.facts.occurred = timed(noon() + Span::minutes(minutes), Span(0));
                a.facts.doubts.extend((!state.is_empty()).then(|| format!("{OTHER_STATE_ROW}: {state}")));
            })
        };
        assert!(may_be_one_debit(&at(0, "Pending"), &at(10, "")));
        assert!(!may_be_one_debit(&at(0, ""), &at(10, "")) && may_be_one_debit(&at(0, ""), &at(2, "")));
        let of = |alert: AlertRow, session: &str| with(&alert, |a| a.facts.session_id = text(session));
        assert!(!may_be_one_debit(&of(at(0, "Pending"), "1"), &of(at(10, ""), "2")));
    }

    #[test]
    fn a_key_that_somebody_typed_draws_no_debit_from_a_credit_without_one() {
        let back = with(&debit(AlertKind::Reversal), |a| {
            (a.facts.session_id, a.facts.reference) = (text("1"), text("FT123456"));
            a.facts.narration = text("RVSL");
        });
        let bare = with(&credit(), |a| (a.facts.session_id, a.facts.reference) = (None, None));
        let named = with(&bare, |a| a.facts.session_id = text("1"));
        assert!(!leaves_alone(&back, &named, &bare));
        assert!(leaves_alone(&back, &named, &with(&bare, |a| a.facts.session_id = text("2"))));
        let other_reference = with(&bare, |a| a.facts.reference = text("FT654321"));
        assert!(!leaves_alone(&back, &named, &other_reference), "not the key that names it");
        let by_reference = with(&bare, |a| a.facts.reference = text("FT123456"));
        assert!(leaves_alone(&back, &by_reference, &other_reference));
        assert!(
            !leaves_alone(&back, &by_reference, &bare) && !leaves_alone(&back, &by_reference, &by_reference)
        );
        let no_key = with(&bare, |a| a.facts.reference = text("000000"));
        assert!(!leaves_alone(&back, &by_reference, &no_key), "a placeholder");
        let session = with(&bare, |a| a.facts.session_id = text("2"));
        assert!(!leaves_alone(&back, &by_reference, &session));
        let keyless = with(&back, |a| (a.facts.session_id, a.facts.reference) = (None, None));
        assert!(!leaves_alone(&keyless, &bare, &session), "it names none by a key");
        // Names.
        let of = |payer: &str, alert: &AlertRow| with(alert, |a| a.facts.payer_name = text(payer));
        let (named, other) = (of("SANI LAWAL", &named), of("HALIMA GARBA", &bare));
        let untold = with(&other, |a| (a.facts.narration, a.facts.remarks) = (None, None));
        let other = with(&other, |a| a.facts.narration = text("TRF/HALIMA GARBA/shoes"));
        let says = |words: &str| with(&back, |a| a.facts.narration = text(words));
        assert!(leaves_alone(&says("RVSL SANI LAWAL"), &named, &other));
        assert!(!leaves_alone(&says("RVSL HALIMA GARBA"), &named, &other));
        assert!(!leaves_alone(&says("RVSL HALIMA GARBA SANI LAWAL"), &named, &other));
        // The name may be a remark of that one's payer, of which its mail shows nothing, or not all.
        assert!(!leaves_alone(&says("RVSL SANI LAWAL"), &named, &untold));
        let cut = with(&other, |a| a.facts.narration_cut = true);
        assert!(!leaves_alone(&says("RVSL SANI LAWAL"), &named, &cut));
        assert!(!leaves_alone(
            &says("RVSL SANI LAWAL/gift shoes"),
            &named,
            &with(&other, |a| a.facts.narration = text("gift shoes"))
        ));
        let dismissed = with(&named, |a| a.status = AlertStatus::Dismissed);
        assert!(!leaves_alone(&says("RVSL SANI LAWAL"), &dismissed, &other));
        let silent = with(&other, |a| a.facts.payer_name = None);
        assert!(!leaves_alone(&says("RVSL SANI LAWAL"), &named, &silent), "it may be anybody's");
        // The debit's own id is none of its own, and of another layout it may be typed.
        assert!(!leaves_alone(&back, &named, &with(&bare, |a| a.facts.session_id = text("1"))));
        assert!(!leaves_alone(
            &back,
            &named,
            &with(&bare, |a| {
                a.facts.session_id = text("2");
                a.facts.template = text("word");
            })
        ));
    }

    #[test]
    fn money_has_come_also_where_it_was_set_aside() {
        let aside = with(&credit(), |a| {
            (a.status, a.facts.kind) = (AlertStatus::Ignored, Some(AlertKind::OwnTransfer));
        });
        assert!(is_incoming_money(&credit()) && is_incoming_money(&aside) && !is_credit(&aside));
        assert!(!is_incoming_money(&with(&aside, |a| a.status = AlertStatus::Review)));
        assert!(!is_incoming_money(&debit(AlertKind::Payment)));
    }

    #[test]
    fn a_debit_speaks_of_a_named_credit_of_its_amount_that_was_not_dismissed() {
        let back = debit(AlertKind::Reversal);
        let dismissed = with(&credit(), |a| a.status = AlertStatus::Dismissed);
        let other = with(&credit(), |a| a.facts.amount = Some(Money(1)));
        assert!(speaks_of(&back, &credit()) && !speaks_of(&back, &dismissed) && !speaks_of(&back, &other));
        let had_paid = with(&dismissed, |a| a.facts.doubts = vec!["reversed: the bank says so".into()]);
        assert!(speaks_of(&back, &had_paid));
    }

    #[test]
    fn credits_are_payments_that_somebody_vouches_for() {
        assert!(is_credit(&credit()) && !is_credit(&debit(AlertKind::Payment)));
        assert!(is_credit(&with(&credit(), |a| a.facts.kind = None)));
        assert!(!is_credit(&with(&credit(), |a| a.facts.kind = Some(AlertKind::Fee))));
        for (authenticity, status, vouched) in [
            (Authenticity::Proven, AlertStatus::Review, true),
            (Authenticity::Forwarded, AlertStatus::Matched, true),
            (Authenticity::Forwarded, AlertStatus::Review, false),
        ] {
            let alert = with(&credit(), |a| (a.authenticity, a.status) = (authenticity, status));
            assert_eq!(is_vouched(&alert), vouched);
        }
    }
}
