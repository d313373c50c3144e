//! The keys by which a second telling of a transfer is known, over all time: which keys an alert has, who has
//! them already, and whether a settlement stands on one of them (contract/alerts.md#a25).
//!
//! Part of a narration is the payer's own: a key alone puts nobody's alert aside, the rest must agree.

use crate::app::App;
use crate::domain::alert::{ADDRESSED_ELSEWHERE, AlertRow, AlertStatus};
use crate::domain::money::Money;
use crate::domain::same_transfer::{
    Key, SESSION, beside_key, describe, is_copy, is_credit, is_other_money, is_vouched, keys_of, mail_keys,
    transfer_keys,
};
use crate::domain::told_before::tells_loss_in_other_words;
use crate::ops::OpError;
use crate::store::tables::alerts::alike::Realm;

/// Alerts with the same session id or reference that are compared.
pub const SHARING_MAX: usize = 50;
/// Alerts of the same bytes that are looked at, oldest first.
const SAME_MAIL_MAX: usize = 20;

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
    for other in sharing_session(app, alert.simulated_for, session, alert.facts.amount).await? {
        let is_known = other.id == alert.id || others.iter().any(|(_, one)| one.id == other.id);
        if is_credit(&other) && other.status != AlertStatus::Duplicate && !is_known {
            others.push((SESSION, other));
        }
    }
    let counts = alert.authenticity.counts();
    // A forwarded mail that pays no more is nobody's word.
    let makes_copies = |other: &AlertRow| {
        is_vouched(other)
            && !is_news(alert, other)
            && !is_posted_anew(alert, other)
            && (is_addressed_elsewhere(alert) || !is_addressed_elsewhere(other))
    };
    let same = others.iter().find(|(kind, other)| makes_copies(other) && is_copy(kind, alert, other));
    // What a debit shares with its credit makes it no copy.
    let like = if is_credit(alert) { others.first() } else { None };
    let Some((kind, other)) = same.or(like) else { return Ok(fresh) };
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
        let why = match is_vouched(other) {
            false => "which was forwarded and pays nothing",
            true => {
                "but another amount, direction, time, account, session id, reference, balance, payer or state"
            }
        };
        alert.facts.doubts.push(format!("it has the same {} as alert {}, {why}", describe(kind), other.id));
    }
    Ok(fresh)
}

/// The bank tells its transfer a second time, and now in another state: that is news, unless a person has found the
/// money to be there already. So it is where it tells in other words than before that the money is gone.
fn is_news(alert: &AlertRow, other: &AlertRow) -> bool {
    let (tells, told) = (&alert.facts, &other.facts);
    let is_found = other.status == AlertStatus::Matched && !tells.has_lost_state();
    let is_one_state =
        tells.told_states() == told.told_states() && tells.has_lost_state() == told.has_lost_state();
    !is_one_state && !is_found || tells_loss_in_other_words(alert, other)
}

/// The bank took a credit back, or may have, and posted it again under its own session id: a later time in the same layout says
/// so. The balance need not: on a quiet account it is the one of before. Whether the money is there now is for a person to see.
fn is_posted_anew(alert: &AlertRow, other: &AlertRow) -> bool {
    let (tells, told) = (&alert.facts, &other.facts);
    let is_later = match (tells.occurred, told.occurred) {
        (Some(now), Some(then)) => tells.template == told.template && now.begin > then.end,
        _ => false,
    };
    let may_be_gone = other.status == AlertStatus::Reversed
        || other.status == AlertStatus::Matched && other.linked_alert_id.is_some();
    may_be_gone && is_later
}

/// Makes an alert a duplicate that tells nothing, and whose very bytes were taken in before with the same verdict: a
/// mail that is fed again does not wait anew, also if the first was dismissed. No mail of another verdict is touched:
/// a genuine one is proven or vouched for. One that still waits for a key may come to be, so of it no digest is given.
pub async fn judge_same_mail(
    app: &App,
    alert: &mut AlertRow,
    digest: Option<&[u8; 32]>,
) -> Result<(), OpError> {
    let Some(digest) = digest else { return Ok(()) };
    if !alert.status.tells_nothing() {
        return Ok(());
    }
    for id in app.store.alerts_of_mail(digest, SAME_MAIL_MAX).await? {
        let Some(other) = app.store.alert(id).await? else { continue };
        let was = other.dismissed_from.filter(|_| other.status == AlertStatus::Dismissed);
        let is_its_like =
            other.authenticity == alert.authenticity && other.simulated_for == alert.simulated_for;
        if was.unwrap_or(other.status) == alert.status && is_its_like {
            alert.status = AlertStatus::Duplicate;
            alert.linked_alert_id = Some(other.id);
            alert.reason = format!("the same mail as alert {}, which is {}", other.id, other.status.as_str());
            return Ok(());
        }
    }
    Ok(())
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

/// An alert of the same mail (by its Message-ID) whose money was settled: a mail that is taken in again where no copies
/// are looked for, as a credit that a rule sets aside, pays nothing a second time.
pub async fn settled_copy(app: &App, alert: &AlertRow) -> Result<Option<i64>, OpError> {
    for (kind, key) in mail_keys(alert, None) {
        let Some(owner) = app.store.alert_by_key(kind, &key).await?.filter(|owner| *owner != alert.id) else {
            continue;
        };
        let other = app.store.alert(owner).await?;
        if other.is_some_and(|other| other.status == AlertStatus::Matched && is_copy(kind, alert, &other)) {
            return Ok(Some(owner));
        }
    }
    Ok(None)
}

/// The keys of a stored alert that nobody has yet, its money being held by this account.
pub async fn fresh_keys(app: &App, alert: &AlertRow, holding_account: i64) -> Result<Vec<Key>, OpError> {
    let mut fresh = Vec::new();
    for (kind, key) in keys_of(alert, Some(holding_account), None) {
        if app.store.alert_by_key(kind, &key).await?.is_none() {
            fresh.push((kind, key));
        }
    }
    Ok(fresh)
}

/// Alerts that show this session id: all while they are few, and always those of this amount.
pub async fn sharing_session(
    app: &App,
    realm: Realm,
    session: Option<&str>,
    amount: Option<Money>,
) -> Result<Vec<AlertRow>, OpError> {
    match session {
        Some(session) => Ok(app.store.alerts_by_session(realm, session, amount, SHARING_MAX).await?),
        None => Ok(Vec::new()),
    }
}

/// The settlements that stand on the transfer's session id or its unique reference, by the keys that were kept with
/// them.
pub async fn settled_on(app: &App, alert: &AlertRow, holding_account: i64) -> Result<Vec<Standing>, OpError> {
    let mut all = Vec::new();
    for (kind, key) in transfer_keys(alert, Some(holding_account)) {
        if let Some(settled) = holder(app, alert, kind, &key).await? {
            all.push(Standing::of(describe(kind), alert, &settled));
        }
    }
    // Another one that was settled beside: of one amount there is one such.
    if let (Some(session), Some(amount)) = (&alert.facts.session_id, alert.facts.amount)
        && let Some(settled) = holder(app, alert, SESSION, &beside_key(alert, session, amount)).await?
    {
        all.push(Standing { what: describe(SESSION), alert_id: settled.id, is_other_money: false });
    }
    Ok(all)
}

/// The other alert whose settlement stands on a key.
async fn holder(app: &App, alert: &AlertRow, kind: &str, key: &str) -> Result<Option<AlertRow>, OpError> {
    let Some(settlement) = app.store.settlement_by_key(kind, key).await? else { return Ok(None) };
    let funded_by = app.store.settlement(settlement).await?.and_then(|one| one.alert_id);
    match funded_by.filter(|id| *id != alert.id) {
        Some(id) => Ok(app.store.alert(id).await?),
        None => Ok(None),
    }
}

/// The same, with what the alerts that share its session id tell: a program of before kept no key with the settlement.
pub fn standing(alert: &AlertRow, by_key: Vec<Standing>, sharing: &[AlertRow]) -> Vec<Standing> {
    let mut all = by_key;
    for one in sharing.iter().filter(|one| one.status == AlertStatus::Matched && one.id != alert.id) {
        if all.iter().all(|known| known.alert_id != one.id) {
            all.push(Standing::of(describe(SESSION), alert, one));
        }
    }
    all
}

/// It counts for nothing, so it must not hide the same one that counts.
fn is_addressed_elsewhere(alert: &AlertRow) -> bool {
    alert.facts.doubts.iter().any(|doubt| doubt == ADDRESSED_ELSEWHERE)
}
