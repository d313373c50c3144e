//! Takes a mail that was read: stores it with its duplicate keys and its decide job in one Unit,
//! then has it decided.
//!
//! Only an authentic or trusted credit of kind payment becomes `new`; everything else is kept with
//! its reason. What speaks against deciding without a person (an account that is not ours, a
//! holder's name that differs, a forwarded mail) is added to the alert's doubts here, so that the
//! decision and every later look at it see the same.

use sha2::{Digest, Sha256};

use super::decide::{AlertOutcome, decide_alert};
use super::similar::{REVERSAL_WITHIN, is_undoing, shares_reference};
use super::{OpError, RACES_MAX, prove_later};
use crate::app::App;
use crate::domain::account::{ReceivingAccount, Resolved, resolve};
use crate::domain::alert::{AlertFacts, AlertKind, AlertRow, AlertStatus, Authenticity, Direction, Missing};
use crate::domain::money::CURRENCY;
use crate::domain::name::{Verdict, verdict};
use crate::domain::time::{Span, Timestamp};
use crate::store::jobs::{self, JobKind};
use crate::store::{Applied, IdKind, Step, Unit, alerts};

/// Raw mail is kept this long (decisions 12).
pub const MAIL_KEPT: Span = Span::days(90);
/// Alerts looked at when a debit or reversal arrives.
const UNDONE_MAX: usize = 50;
/// The work of a debit or reversal that this process did not end is taken up after this.
const UNDOING_AFTER: Span = Span::seconds(30);
/// A longer Message-ID is known by its hash.
const MESSAGE_ID_MAX: usize = 250;

/// What the reader made of the mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAs {
    /// A credit with an amount.
    Credit,
    /// Recognised and no credit of kind payment.
    NoCredit,
    Unreadable,
    Quarantined,
}

/// A mail and what was read from it.
#[derive(Clone, Debug)]
pub struct Taken {
    pub source: String,
    pub raw: Vec<u8>,
    pub read_as: ReadAs,
    pub authenticity: Authenticity,
    pub facts: AlertFacts,
    pub message_id: Option<String>,
    pub mail_from: Option<String>,
    pub subject: Option<String>,
    pub mailed_at: Option<Timestamp>,
    pub content_hash: [u8; 32],
    pub why: Vec<String>,
    /// What proves it, where it is proven.
    pub authentic_by: Option<String>,
    /// Nothing proves it yet because a key could not be had: it is asked for again, see `prove_later`.
    pub waits: Option<Missing>,
    /// The intake's own guarded steps, such as a mailbox cursor; they happen with the alert or not
    /// at all.
    pub with: Vec<Step>,
}

/// Stores a mail and has it decided. Answers [`OpError::Contended`] and stores nothing if a step of
/// `with` misses its guard.
pub async fn take_alert(app: &App, taken: &Taken) -> Result<AlertOutcome, OpError> {
    let id = app.store.id(IdKind::Alert).await?;
    let mut alert = draft(id, app.now(), taken);
    place(app, &mut alert).await?;
    let first = alert.clone();
    for _ in 0..RACES_MAX {
        let now = alert.first_seen;
        let keep =
            |alert: &AlertRow| vec![alerts::add(alert), alerts::add_mail(id, &taken.raw, now + MAIL_KEPT)];
        let mut unit = whole(app, &mut alert, &taken.content_hash, now, keep).await?;
        if taken.waits.is_some() && alert.status == AlertStatus::Quarantined {
            let job = app.store.id(IdKind::Job).await?;
            let at = now + prove_later::FIRST_PAUSE;
            unit = unit.step(jobs::enqueue(job, JobKind::Verify, 0, id, at, now));
        }
        match app.store.apply(unit.steps(taken.with.iter().cloned())).await? {
            Applied::Done(_) => {
                crate::crash::point("alert.stored");
                return after_storing(app, &alert).await;
            }
            // Another copy was stored at this moment: look for it.
            Applied::Refused { .. } | Applied::Lost { .. } => alert = first.clone(),
        }
    }
    Err(OpError::Contended)
}

/// Everything that goes with an alert that counts: what keeps it (`keep`), the keys by which copies
/// are known, the job that decides it, the tick of its amount's clock. Copies are looked for first
/// and may make it a duplicate.
pub(super) async fn whole(
    app: &App,
    alert: &mut AlertRow,
    content_hash: &[u8; 32],
    now: Timestamp,
    keep: impl FnOnce(&AlertRow) -> Vec<Step>,
) -> Result<Unit, OpError> {
    let keys = if makes_keys(alert) { keys_of(alert, content_hash) } else { Vec::new() };
    let fresh_keys = judge_copies(app, alert, &keys).await?;
    let mut unit = app
        .store
        .unit(alert.id)
        .await?
        .steps(keep(alert))
        .steps(fresh_keys.iter().map(|(kind, key)| alerts::add_key(kind, key, alert.id)));
    if alert.status == AlertStatus::New || undoes(alert) {
        let job = app.store.id(IdKind::Job).await?;
        let at = if alert.status == AlertStatus::New { now } else { now + UNDOING_AFTER };
        unit = unit.step(jobs::enqueue(job, JobKind::Decide, 0, alert.id, at, now));
    }
    if let (Some(account), Some(amount)) = (alert.account_id, alert.facts.amount)
        && alert.authenticity.counts()
    {
        unit = unit.step(alerts::tick(account, amount));
    }
    Ok(unit)
}

pub(super) async fn after_storing(app: &App, alert: &AlertRow) -> Result<AlertOutcome, OpError> {
    if alert.status == AlertStatus::New {
        return decide_alert(app, alert.id).await;
    }
    metrics::counter!("tillbell_alerts_total", "outcome" => alert.status.as_str()).increment(1);
    if undoes(alert) {
        crate::crash::point("alert.before_undoing");
        link_undone(app, alert).await?;
        let done = jobs::finish_by_subject(JobKind::Decide, alert.id, "linked", app.now());
        let unit = app.store.unit(alert.id).await?.step(done);
        let _ = app.store.apply(unit).await?;
    }
    super::decide::outcome(app, alert).await
}

/// A debit or reversal that the bank or a person vouches for.
pub(super) fn undoes(alert: &AlertRow) -> bool {
    alert.status == AlertStatus::Ignored && alert.authenticity.counts() && is_undoing(alert)
}

/// The alert as the mail alone makes it, first seen at `seen`.
pub(super) fn draft(id: i64, seen: Timestamp, taken: &Taken) -> AlertRow {
    let is_payment = taken.facts.direction == Some(Direction::Credit)
        && taken.facts.kind.is_none_or(|kind| kind == AlertKind::Payment);
    let status = match (taken.read_as, taken.authenticity) {
        (ReadAs::Unreadable, _) => AlertStatus::Unreadable,
        (_, Authenticity::Refuted | Authenticity::Unproven) | (ReadAs::Quarantined, _) => {
            AlertStatus::Quarantined
        }
        (ReadAs::NoCredit, _) => AlertStatus::Ignored,
        (ReadAs::Credit, _) if is_payment => AlertStatus::New,
        (ReadAs::Credit, _) => AlertStatus::Ignored,
    };
    let reason = match (status, taken.waits) {
        (AlertStatus::New, _) => String::new(),
        (AlertStatus::Quarantined, Some(missing)) => prove_later::waiting(seen, missing, &taken.why),
        (AlertStatus::Quarantined, None) if taken.authenticity == Authenticity::Unproven => {
            join("nothing proves that the bank sent it", &taken.why)
        }
        (AlertStatus::Quarantined, None) => join("it is not the bank's own word", &taken.why),
        (AlertStatus::Ignored, _) => join("not a payment to us", &taken.why),
        _ => join("it could not be read", &taken.why),
    };
    AlertRow {
        id,
        status,
        version: 1,
        settlement_id: None,
        source: taken.source.clone(),
        authenticity: taken.authenticity,
        facts: taken.facts.clone(),
        account_id: None,
        message_id: taken.message_id.clone(),
        mail_from: taken.mail_from.clone(),
        subject: taken.subject.clone(),
        mailed_at: taken.mailed_at,
        first_seen: seen,
        decided_at: (status != AlertStatus::New).then_some(seen),
        payment_id: None,
        linked_alert_id: None,
        reason,
        evidence: String::new(),
        authentic_by: taken.authentic_by.clone(),
    }
}

pub(super) fn join(what: &str, why: &[String]) -> String {
    if why.is_empty() { what.to_owned() } else { format!("{what}: {}", why.join("; ")) }
}

/// Finds the account the alert is about, and notes what speaks against it.
pub(super) async fn place(app: &App, alert: &mut AlertRow) -> Result<(), OpError> {
    let accounts = app.directory.accounts().await?;
    let (account, doubts) = find_account(&alert.facts, &accounts);
    alert.account_id = account.map(|account| account.id);
    if alert.status == AlertStatus::New {
        alert.facts.doubts.extend(doubts);
        if let Some(currency) = &alert.facts.currency
            && currency != CURRENCY
        {
            alert.facts.doubts.push(format!("its currency is {currency}"));
        }
    }
    Ok(())
}

fn find_account<'a>(
    facts: &AlertFacts,
    accounts: &'a [ReceivingAccount],
) -> (Option<&'a ReceivingAccount>, Vec<String>) {
    let mut doubts = Vec::new();
    let (Some(shown), Some(bank)) = (&facts.account_number, &facts.bank) else {
        doubts.push("the alert names no account".into());
        return (None, doubts);
    };
    let row = match resolve(shown, bank, accounts.iter()) {
        Resolved::Account(id) => accounts.iter().find(|account| account.id == id),
        Resolved::TooFewDigits => {
            doubts.push(format!("the account {shown} shows fewer than three digits"));
            None
        }
        Resolved::Unknown => {
            doubts.push(format!("no account of ours at that bank fits {shown}"));
            None
        }
        Resolved::Ambiguous => {
            doubts.push(format!("several accounts of ours at that bank fit {shown}"));
            None
        }
    };
    let Some(mut account) = row else { return (None, doubts) };
    if let Some(number) = &facts.virtual_account {
        match accounts.iter().find(|a| &a.number == number && a.via == Some(account.id)) {
            Some(behind) if facts.virtual_amount == facts.amount && day_agrees(facts) => {
                account = behind;
            }
            Some(_) => doubts
                .push("amount or day in the narration's digits differ from the rows of the alert".into()),
            None => doubts.push(format!(
                "the narration names the virtual account {number}, which is not registered as settled \
                 through this account"
            )),
        }
    }
    if account.forced {
        doubts.push("the account was registered by force, for a bank no template knows".into());
    }
    if let Some(holder) = &facts.holder_name
        && verdict(&account.name, holder, &[]) == Verdict::Different
    {
        doubts.push(format!("the account holder it shows, {holder}, is not the registered one"));
    }
    (Some(account), doubts)
}

/// The day in the narration's digits is a day of the bank's time.
fn day_agrees(facts: &AlertFacts) -> bool {
    match (facts.virtual_day, facts.occurred) {
        (Some(day), Some(time)) => time.begin.lagos_day() <= day && day <= time.end.lagos_day(),
        _ => false,
    }
}

/// Only authentic or trusted credits of kind payment make others duplicates (decisions 8).
fn makes_keys(alert: &AlertRow) -> bool {
    alert.status == AlertStatus::New && alert.authenticity.counts()
}

/// Everything by which a copy of this alert would be known, strongest first.
fn keys_of(alert: &AlertRow, content_hash: &[u8; 32]) -> Vec<(&'static str, String)> {
    let facts = &alert.facts;
    let mut keys = Vec::new();
    if let Some(session) = &facts.session_id {
        keys.push(("session", session.clone()));
    }
    if let (true, Some(reference), Some(bank), Some(account)) =
        (facts.reference_is_unique, &facts.reference, &facts.bank, &facts.account_number)
    {
        keys.push(("reference", format!("{bank}|{account}|{reference}")));
    }
    if let Some(id) = alert.message_id.as_ref().filter(|id| !id.is_empty()) {
        // No signature need cover it, so it may be of any length; an index takes no such key.
        let long = id.len() > MESSAGE_ID_MAX;
        keys.push(("message", if long { hex(&Sha256::digest(id.as_bytes())) } else { id.clone() }));
    }
    keys.push(("content", hex(content_hash)));
    keys
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Looks for owners of the keys: a copy that agrees makes this a duplicate, one that differs in
/// amount, direction or day a case for review. Answers the keys nobody owns yet.
async fn judge_copies(
    app: &App,
    alert: &mut AlertRow,
    keys: &[(&'static str, String)],
) -> Result<Vec<(&'static str, String)>, OpError> {
    let mut fresh = Vec::new();
    for (kind, key) in keys {
        let Some(owner) = app.store.alert_by_key(kind, key).await? else {
            fresh.push((*kind, key.clone()));
            continue;
        };
        let Some(other) = app.store.alert(owner).await? else { continue };
        if alert.linked_alert_id.is_none() {
            alert.linked_alert_id = Some(other.id);
            if tells_the_same(alert, &other) {
                alert.status = AlertStatus::Duplicate;
                alert.reason = format!("the same {} as alert {}", describe(kind), other.id);
                alert.decided_at = Some(alert.first_seen);
            } else {
                alert.facts.doubts.push(format!(
                    "it has the same {} as alert {}, but another amount, direction, day, account, session id, \
                     reference or payer",
                    describe(kind),
                    other.id
                ));
            }
        }
    }
    if alert.status == AlertStatus::Duplicate {
        // A copy's own keys are not worth keeping: under many Message-IDs it would claim many.
        fresh.clear();
    }
    Ok(fresh)
}

fn describe(kind: &str) -> &'static str {
    match kind {
        "session" => "NIP session id",
        "reference" => "reference",
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

/// A debit or reversal arrived: alerts it may undo are held in review; an approved one raises an
/// alarm. Nothing is reversed by itself. May be run again after a crash: it repeats the alarm at most.
pub(super) async fn link_undone(app: &App, undoing: &AlertRow) -> Result<(), OpError> {
    let Some(account_id) = undoing.account_id else { return Ok(()) };
    let since = undoing.first_seen - REVERSAL_WITHIN;
    let facts = &undoing.facts;
    let mut undone = app
        .store
        .alerts_by_reference(
            account_id,
            since,
            facts.session_id.as_deref(),
            facts.reference.as_deref(),
            UNDONE_MAX,
        )
        .await?;
    if let Some(amount) = facts.amount {
        let seen = (since, undoing.first_seen);
        undone.extend(app.store.similar_alerts(account_id, amount, seen, UNDONE_MAX).await?);
    }
    undone.retain(|alert| {
        alert.id != undoing.id
            && alert.authenticity.counts()
            && alert.facts.direction == Some(Direction::Credit)
            && alert.facts.kind.is_none_or(|kind| kind == AlertKind::Payment)
            && (shares_reference(alert, undoing) || alert.facts.amount == facts.amount)
    });
    undone.sort_by_key(|alert| alert.id);
    undone.dedup_by_key(|alert| alert.id);
    for alert in undone {
        hold_or_alarm(app, alert, undoing.id).await?;
    }
    Ok(())
}

async fn hold_or_alarm(app: &App, credit: AlertRow, undoing: i64) -> Result<(), OpError> {
    let why = format!("alert {undoing} may have taken this money back");
    let mut alert = credit;
    for _ in 0..RACES_MAX {
        match alert.status {
            AlertStatus::New | AlertStatus::Review | AlertStatus::Unmatched => {
                let held = alerts::held(&alert, &why, undoing);
                let job = jobs::finish_by_subject(JobKind::Decide, alert.id, "held", app.now());
                let unit = app.store.unit(alert.id).await?.step(held).step(job);
                if app.store.apply(unit).await?.is_done() {
                    return Ok(());
                }
            }
            AlertStatus::Matched => return alarm(app, alert.id, undoing).await,
            _ => return Ok(()),
        }
        // It was decided at this moment: look what became of it.
        match app.store.alert(alert.id).await? {
            Some(fresh) => alert = fresh,
            None => return Ok(()),
        }
    }
    Err(OpError::Contended)
}

async fn alarm(app: &App, credit: i64, undoing: i64) -> Result<(), OpError> {
    let unit = app.store.unit(credit).await?.step(alerts::link(credit, undoing));
    let _ = app.store.apply(unit).await?;
    metrics::counter!("tillbell_alarms_total", "kind" => "money_taken_back").increment(1);
    tracing::error!(
        credit,
        undoing,
        "ALARM: a debit or reversal may have taken back money that was credited; \
         look at both alerts and use `payment reverse` if so"
    );
    Ok(())
}
