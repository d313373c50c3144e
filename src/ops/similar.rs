//! Alerts that may tell of the same money as another one: second tellings of a transfer, and debits or
//! reversals that took it back (decisions 8). Read only; whoever asks decides what follows.
//!
//! What shares a session id or a reference is found over all time; the rest by account, amount and time. An
//! alert that names no account may be about any.

use super::OpError;
use super::alert_keys::{place_of, sharing_session, standing};
use super::weigh::interval;
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::{AlertKind, AlertRow, AlertStatus, Direction, TimePrecision};
use crate::domain::matching::Interval;
use crate::domain::money::Money;
use crate::domain::name::{Verdict, fold, verdict};
use crate::domain::time::Span;

/// Without a session id, a reference or a time that tells more, alerts this far apart in our sight are not
/// about the same money.
pub const REVERSAL_WITHIN: Span = Span::days(7);
/// Alerts of the same account and amount that are compared.
const SIMILAR_MAX: usize = 200;
/// Alerts with the same session id or reference that are compared.
pub const SHARING_MAX: usize = 50;
/// Credits that one debit may speak of; a reference that more of them show tells none of them.
pub const LIKELY_MAX: usize = 3;
/// Debits of the same amount of which it is asked whether they belong to another credit.
const UNDOING_ASKED_MAX: usize = 10;
/// Signs of a reference that says something.
const REFERENCE_MIN: usize = 6;
/// Letters of a word that counts as a part of a name, and words that make one.
const WORD_MIN: usize = 3;
const WORDS_MIN: usize = 2;

/// What other alerts say against one.
#[derive(Default)]
pub struct Similar {
    pub doubts: Vec<String>,
    /// The debit or reversal that may have taken its money back.
    pub undone_by: Option<i64>,
}

impl Similar {
    fn doubt(&mut self, why: String) {
        if !self.doubts.contains(&why) {
            self.doubts.push(why);
        }
    }

    fn undone(&mut self, by: &AlertRow) {
        self.doubt(format!("alert {} may have taken this money back", by.id));
        self.undone_by.get_or_insert(by.id);
    }
}

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asking {
    /// The rules: of two that are decided at the same moment the clock of their amount lets one win, and the
    /// other sees it settled.
    Rule,
    /// A person, to whom an undecided alert is as good a reason to stop.
    Person,
}

/// Looks at the other alerts for a decision by the rules.
pub async fn similar_alerts(
    app: &App,
    alert: &AlertRow,
    account_id: i64,
    received: Money,
) -> Result<Similar, OpError> {
    let accounts = app.directory.accounts().await?;
    let place = place_of(&accounts, account_id);
    let mut places = vec![Some(account_id), None];
    if place != account_id {
        places.push(Some(place));
    }
    // Another telling of what came over a virtual account may name the one that it is settled through.
    places.extend(accounts.iter().filter(|one| one.via == Some(account_id)).map(|one| Some(one.id)));
    // Ten reads at once are a large future, and this lies deep in the way of a mail.
    Box::pin(compare(app, alert, &accounts, (place, &places), received, Asking::Rule)).await
}

/// The same for a person who credits the money to this account. Of an alert that names none, and of money
/// that virtual accounts may share, all accounts that it may be about are looked at.
pub async fn similar_for_person(
    app: &App,
    alert: &AlertRow,
    account_id: i64,
    received: Money,
) -> Result<Similar, OpError> {
    let accounts = app.directory.accounts().await?;
    let place = place_of(&accounts, account_id);
    let at_bank = |one: &ReceivingAccount| alert.facts.bank.as_ref().is_none_or(|bank| *bank == one.bank);
    let mut places = vec![None];
    for one in accounts.iter() {
        let near = place_of(&accounts, one.id) == place;
        if near || alert.account_id.is_none() && at_bank(one) {
            places.push(Some(one.id));
        }
    }
    Box::pin(compare(app, alert, &accounts, (place, &places), received, Asking::Person)).await
}

async fn compare(
    app: &App,
    alert: &AlertRow,
    accounts: &[ReceivingAccount],
    (place, places): (i64, &[Option<i64>]),
    received: Money,
    asking: Asking,
) -> Result<Similar, OpError> {
    let facts = &alert.facts;
    let by_key = async {
        let by_session = sharing_session(app, facts.session_id.as_deref()).await?;
        Ok((standing(app, alert, place, &by_session).await?, by_session))
    };
    let ((standing, by_session), by_reference, others) =
        tokio::try_join!(by_key, sharing_reference(app, alert), gather(app, alert, places, received))?;
    let mut similar = Similar::default();
    for settled in standing {
        similar.doubt(format!(
            "it has the same {} as alert {}, which is settled",
            settled.what, settled.alert_id
        ));
    }
    let mut known = vec![alert.id];
    for other in by_session.into_iter().chain(by_reference) {
        if known.contains(&other.id) {
            continue;
        }
        if takes_back(&other, alert) {
            known.push(other.id);
            // Money moves between accounts of ours under one session id.
            if is_same_place(alert, &other, accounts) {
                similar.undone(&other);
            }
        } else if is_told(&other, asking) && is_one_transfer(alert, &other, accounts) {
            known.push(other.id);
            similar.doubt(format!("it may report the same money as alert {}", other.id));
        }
        // A reference that several may bear says nothing either way: amount, time and name are compared below.
    }
    let (others, full) = others;
    if full {
        similar.doubt(format!("the account has more than {SIMILAR_MAX} alerts with this amount and time"));
    }
    let mut asked = 0;
    for other in others {
        if known.contains(&other.id) || !is_vouched(&other) {
            continue;
        }
        known.push(other.id);
        if takes_back(&other, alert) {
            asked += 1;
            // A credit of another amount that bears its session id may be anybody's, who typed it.
            let of_its_amount = |credit: &AlertRow| credit.facts.amount == other.facts.amount;
            let belongs_elsewhere = asked <= UNDOING_ASKED_MAX
                && named_by(app, &other, accounts).await?.iter().any(of_its_amount);
            if may_undo(&other, alert) && !belongs_elsewhere {
                similar.undone(&other);
            }
        } else if is_told(&other, asking) && may_be_the_same_money(alert, &other) {
            similar.doubt(format!("it may report the same money as alert {}", other.id));
        }
    }
    Ok(similar)
}

/// Alerts of the bank with the same reference, over all time and whatever the amount.
async fn sharing_reference(app: &App, alert: &AlertRow) -> Result<Vec<AlertRow>, OpError> {
    let (Some(bank), Some(reference)) = (&alert.facts.bank, telling(&alert.facts.reference)) else {
        return Ok(Vec::new());
    };
    Ok(app.store.alerts_by_reference(bank, reference, SHARING_MAX).await?)
}

/// The same session id; or, on one account, a reference that the bank calls unique: one that several may bear is
/// no sign of a second telling.
fn is_one_transfer(a: &AlertRow, b: &AlertRow, accounts: &[ReceivingAccount]) -> bool {
    let (x, y) = (&a.facts, &b.facts);
    let unique = x.reference_is_unique && y.reference_is_unique;
    x.session_id.is_some() && x.session_id == y.session_id
        || unique && x.reference == y.reference && is_same_place(a, b, accounts)
}

/// Alerts of these accounts and of this amount whose time may be the same, and whether there are more.
async fn gather(
    app: &App,
    alert: &AlertRow,
    places: &[Option<i64>],
    received: Money,
) -> Result<(Vec<AlertRow>, bool), OpError> {
    let seen = (alert.first_seen - REVERSAL_WITHIN, alert.first_seen + REVERSAL_WITHIN);
    let time = told_time(alert);
    let (mut others, mut full) = (Vec::new(), false);
    for place in places.iter().copied() {
        let (timed, rest) = if is_timed(alert) {
            let time = (time.begin, time.end);
            // A credit of its own session id is found by that; one of another session id is other money.
            let credits_with_session = alert.facts.session_id.is_none();
            tokio::try_join!(
                app.store.alerts_at(place, received, time, credits_with_session, SIMILAR_MAX),
                app.store.timeless_alerts(place, received, seen, SIMILAR_MAX),
            )?
        } else {
            (Vec::new(), app.store.alerts_seen(place, received, seen, SIMILAR_MAX).await?)
        };
        full |= timed.len() >= SIMILAR_MAX || rest.len() >= SIMILAR_MAX;
        others.extend(timed);
        others.extend(rest);
    }
    Ok((others, full))
}

/// The credits that a debit or reversal names by its session id or, where that fits none, by its reference;
/// first those of its amount, then what was credited, then the oldest: others can type a session id.
pub async fn named_by(
    app: &App,
    undoing: &AlertRow,
    accounts: &[ReceivingAccount],
) -> Result<Vec<AlertRow>, OpError> {
    let facts = &undoing.facts;
    let fits = |credit: &AlertRow| {
        credit.id != undoing.id
            && is_credit(credit)
            && credit.status != AlertStatus::Duplicate
            && is_same_place(undoing, credit, accounts)
    };
    let mut found = Vec::new();
    if let Some(session) = &facts.session_id {
        found = app.store.alerts_by_session(session, SHARING_MAX).await?;
        // Very many were typed by somebody: those of its amount are read by themselves.
        if let (true, Some(amount)) = (found.len() >= SHARING_MAX, facts.amount) {
            for one in app.store.alerts_by_session_of(session, amount, SHARING_MAX).await? {
                if found.iter().all(|known| known.id != one.id) {
                    found.push(one);
                }
            }
        }
        found.retain(fits);
    }
    if let (true, Some(bank), Some(reference)) = (found.is_empty(), &facts.bank, telling(&facts.reference)) {
        found = app.store.alerts_by_reference(bank, reference, SHARING_MAX).await?;
        found.retain(fits);
        if found.len() > LIKELY_MAX {
            found.clear();
        }
    }
    found.sort_by_key(|credit| {
        (credit.facts.amount != facts.amount, credit.status != AlertStatus::Matched, credit.id)
    });
    found.truncate(LIKELY_MAX);
    Ok(found)
}

/// A reference that is more than a placeholder.
fn telling(reference: &Option<String>) -> Option<&str> {
    let reference = reference.as_deref()?;
    let signs: Vec<char> = reference.chars().filter(|c| c.is_alphanumeric()).collect();
    let is_telling = signs.len() >= REFERENCE_MIN && signs.iter().any(|c| *c != signs[0]);
    is_telling.then_some(reference)
}

/// Money moves between accounts of ours under one session id: a debit of one is no reversal on another.
pub fn is_same_place(a: &AlertRow, b: &AlertRow, accounts: &[ReceivingAccount]) -> bool {
    match (a.account_id, b.account_id) {
        (Some(x), Some(y)) => place_of(accounts, x) == place_of(accounts, y),
        _ => true,
    }
}

/// Whether a debit or reversal of the same money may undo a credit: unless the bank's own times show that
/// it was before. Mails overtake one another, so the order in which we saw them shows nothing.
pub fn may_undo(undoing: &AlertRow, credit: &AlertRow) -> bool {
    undoing.first_seen >= credit.first_seen || interval(undoing).end >= interval(credit).begin
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
/// remark such as "transfer fee" makes a reversal read as the bank's fee: of the credit's whole amount, and
/// naming it or its payer, it is none.
pub fn takes_back(undoing: &AlertRow, credit: &AlertRow) -> bool {
    let (debit, credited) = (&undoing.facts, &credit.facts);
    let is_named = || {
        let shares = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        shares(&debit.session_id, &credited.session_id)
            || telling(&debit.reference).is_some() && shares(&debit.reference, &credited.reference)
            || names_the_payer(undoing, credit)
    };
    is_undoing(undoing) || is_fee(undoing) && debit.amount == credited.amount && is_named()
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

/// A credit that has been decided, whatever became of it: money that was sent back by hand, or taken back,
/// does not come again in other words.
fn is_told(alert: &AlertRow, asking: Asking) -> bool {
    let decided = match alert.status {
        AlertStatus::Matched
        | AlertStatus::Review
        | AlertStatus::Unmatched
        | AlertStatus::Dismissed
        | AlertStatus::Reversed => true,
        AlertStatus::New => asking == Asking::Person,
        _ => false,
    };
    decided && is_credit(alert)
}

fn is_timed(alert: &AlertRow) -> bool {
    alert.facts.occurred.is_some_and(|time| time.precision != TimePrecision::None)
}

/// The bank's time as it is told, also where it lies ahead of our own.
fn told_time(alert: &AlertRow) -> Interval {
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
