//! The keys by which a second telling of a transfer is known, over all time: which keys an alert has, who has
//! them already, and whether a settlement stands on one of them (decisions 8).
//!
//! Part of a narration is the payer's own: a key alone puts nobody's alert aside, the rest must agree.

use sha2::{Digest, Sha256};

use super::OpError;
use super::similar::{SHARING_MAX, are_apart, is_credit};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::money::Money;
use crate::domain::name::{Verdict, verdict};

/// A kind of key and the key.
pub type Key = (&'static str, String);

const SESSION: &str = "session";
const REFERENCE: &str = "reference";
const MESSAGE: &str = "message";
/// A longer Message-ID is known by its hash.
const MESSAGE_ID_MAX: usize = 250;

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

/// Looks for alerts with the same keys. A copy that tells the same makes this a duplicate, if the bank or a
/// person vouches for both; anything else is a case for review. Answers the keys that nobody has yet.
pub async fn judge_copies(app: &App, alert: &mut AlertRow, keys: &[Key]) -> Result<Vec<Key>, OpError> {
    let mut fresh = Vec::new();
    let mut others: Vec<(&'static str, AlertRow)> = Vec::new();
    for (kind, key) in keys {
        match app.store.alert_by_key(kind, key).await? {
            None => fresh.push((*kind, key.clone())),
            Some(owner) if owner == alert.id => {}
            Some(owner) => others.extend(app.store.alert(owner).await?.map(|other| (*kind, other))),
        }
    }
    // The owner is perhaps somebody who typed it: the others that show it count as well.
    let session =
        alert.facts.session_id.as_deref().filter(|_| others.iter().any(|(kind, _)| *kind == SESSION));
    for other in sharing_session(app, session).await? {
        let is_known = other.id == alert.id || others.iter().any(|(_, one)| one.id == other.id);
        if is_credit(&other) && other.status != AlertStatus::Duplicate && !is_known {
            others.push((SESSION, other));
        }
    }
    let counts = alert.authenticity.counts();
    // A mailer may give two mails one Message-ID: of a copy clock and balance agree as well.
    let is_copy = |kind: &str, other: &AlertRow| {
        tells_the_same(alert, other) && (kind != MESSAGE || !are_apart(alert, other))
    };
    let same = others.iter().find(|(kind, other)| is_copy(kind, other));
    let Some((kind, other)) = same.or(others.first()) else { return Ok(fresh) };
    alert.linked_alert_id = Some(other.id);
    if same.is_some() && counts {
        alert.status = AlertStatus::Duplicate;
        alert.reason = format!("the same {} as alert {}", describe(kind), other.id);
        alert.decided_at = Some(alert.first_seen);
        // A copy's own keys are not worth keeping: under many Message-IDs it would claim many.
        fresh.clear();
    } else if same.is_some() {
        alert.facts.doubts.push(format!("it has the same {} as alert {}", describe(kind), other.id));
    } else {
        alert.facts.doubts.push(format!(
            "it has the same {} as alert {}, but another amount, direction, time, account, session id, \
             reference, balance or payer",
            describe(kind),
            other.id
        ));
    }
    Ok(fresh)
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
fn tells_the_same(a: &AlertRow, b: &AlertRow) -> bool {
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

/// A settlement that stands on a key of this alert's transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The key, in words.
    pub what: &'static str,
    /// The alert that was settled.
    pub alert_id: i64,
    /// Its amount or payer is another one: somebody may have typed the session id into a transfer of his own.
    pub is_other_money: bool,
}

impl Standing {
    fn of(what: &'static str, alert: &AlertRow, settled: &AlertRow) -> Standing {
        // The bank's own reference is nobody's to type.
        let is_other_money = what == describe(SESSION) && is_other_money(alert, settled);
        Standing { what, alert_id: settled.id, is_other_money }
    }
}

/// The transfer's keys for a settlement beside another one that stands on its session id with other money. The
/// amount makes it a key that only one such settlement can have.
pub fn keys_beside_another(alert: &AlertRow, place: i64, received: Money) -> Vec<Key> {
    let mut keys = transfer_keys(alert, Some(place));
    for (kind, key) in &mut keys {
        if *kind == SESSION {
            *key = format!("{key}|{}", received.kobo());
        }
    }
    keys
}

/// Alerts that show this session id, newest first.
pub async fn sharing_session(app: &App, session: Option<&str>) -> Result<Vec<AlertRow>, OpError> {
    match session {
        Some(session) => Ok(app.store.alerts_by_session(session, SHARING_MAX).await?),
        None => Ok(Vec::new()),
    }
}

/// The settlements that stand on the transfer's session id or its unique reference. The alerts with its session id
/// (`sharing`) are asked as well: a program of before kept no key with the settlement.
pub async fn standing(
    app: &App,
    alert: &AlertRow,
    place: i64,
    sharing: &[AlertRow],
) -> Result<Vec<Standing>, OpError> {
    let mut all: Vec<Standing> = Vec::new();
    for (kind, key) in transfer_keys(alert, Some(place)) {
        let Some(settlement) = app.store.settlement_by_key(kind, &key).await? else { continue };
        let funded_by = app.store.settlement(settlement).await?.and_then(|one| one.alert_id);
        let Some(settled) = funded_by.filter(|id| *id != alert.id) else { continue };
        if let Some(settled) = app.store.alert(settled).await? {
            all.push(Standing::of(describe(kind), alert, &settled));
        }
    }
    for one in sharing.iter().filter(|one| one.status == AlertStatus::Matched && one.id != alert.id) {
        if all.iter().all(|known| known.alert_id != one.id) {
            all.push(Standing::of(describe(SESSION), alert, one));
        }
    }
    Ok(all)
}

fn is_other_money(a: &AlertRow, b: &AlertRow) -> bool {
    let payers_differ = match (&a.facts.payer_name, &b.facts.payer_name) {
        (Some(x), Some(y)) => verdict(x, y, &[]) == Verdict::Different,
        _ => false,
    };
    a.facts.amount != b.facts.amount || payers_differ
}
