//! The keys by which a second telling of a transfer is known, over all time: which keys an alert has, who has
//! them already, and whether a settlement stands on one of them (decisions 8).
//!
//! Part of a narration is the payer's own: a key alone puts nobody's alert aside, the rest must agree.

use sha2::{Digest, Sha256};

use super::OpError;
use super::similar::{SHARING_MAX, is_credit};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::name::{Verdict, verdict};

/// A kind of key and the key.
pub type Key = (&'static str, String);

const SESSION: &str = "session";
const REFERENCE: &str = "reference";
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
        keys.push(("message", if long { hex(&Sha256::digest(id.as_bytes())) } else { id.clone() }));
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
    let same = others.iter().find(|(_, other)| tells_the_same(alert, other));
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
            "it has the same {} as alert {}, but another amount, direction, day, account, session id, \
             reference or payer",
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
        "message" => "Message-ID",
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
}

/// Alerts that show this session id, newest first.
pub async fn sharing_session(app: &App, session: Option<&str>) -> Result<Vec<AlertRow>, OpError> {
    match session {
        Some(session) => Ok(app.store.alerts_by_session(session, SHARING_MAX).await?),
        None => Ok(Vec::new()),
    }
}

/// Whether the transfer was settled already, by its session id or its unique reference.
pub async fn standing(app: &App, alert: &AlertRow, place: i64) -> Result<Option<Standing>, OpError> {
    for (kind, key) in transfer_keys(alert, Some(place)) {
        let Some(settlement) = app.store.settlement_by_key(kind, &key).await? else { continue };
        let funded_by = app.store.settlement(settlement).await?.and_then(|one| one.alert_id);
        if let Some(alert_id) = funded_by.filter(|id| *id != alert.id) {
            return Ok(Some(Standing { what: describe(kind), alert_id }));
        }
    }
    Ok(None)
}

/// The same among alerts with this one's session id, also where the key was not kept with the settlement, as by
/// a program of before.
pub fn settled_among(alert: &AlertRow, sharing: &[AlertRow]) -> Option<Standing> {
    let settled = sharing.iter().find(|one| one.status == AlertStatus::Matched && one.id != alert.id)?;
    Some(Standing { what: describe(SESSION), alert_id: settled.id })
}
