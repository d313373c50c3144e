//! A debit or reversal arrived, or a mail that tells of a credit as failed, returned or not yet there: credits that it
//! may be about are held in review, and an approved one raises an alarm (contract/alerts.md#a31). Nothing is reversed by
//! itself.
//!
//! A debit may concern:
//!
//! 1. credits with its session id or reference;
//! 2. other alerts about the same transfers as those;
//! 3. since anybody can type a session id into a transfer, also the other credits of its account and amount, unless a
//!    credit of (1) has this amount and the others have keys or payers of their own.
//!
//! If the debit's narration names payers of (3), only their credits are concerned. If it names nobody and there are too
//! many, those that were paid are told in one alarm: sixty would hide the one that matters.

use super::alert_log;
use super::copies::{SHARING_MAX, sharing_session};
use super::evidence;
use super::held_beneficiaries::{hold_beneficiaries, may_be_the_one, note_alarm, of_others};
use super::payout_debits::is_of_a_payout;
use super::reach::{LIKELY_MAX, is_told_to_another, named_by, sight};
use super::weigh::weigh;
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::{AlertKind, AlertRow, AlertStatus, Direction};
use crate::domain::arrival::ArrivalEnd;
use crate::domain::money::naira;
use crate::domain::notice::NoticeKind;
use crate::domain::same_transfer::{
    FEE_MOST, is_credit, is_fee, is_incoming_money, is_vouched, leaves_alone, may_be_about,
    may_be_of_one_payer, may_be_on, may_be_on_one_account, may_be_one_debit, may_be_the_same_money,
    may_have_one_payer, may_name_the_payer, may_undo, names_the_payer, speaks_of, takes_back, takes_money,
    tells_of_loss, tells_the_same, undoing_in_words, usable_reference,
};
use crate::domain::told_before::{has_paid_once, tells_loss_in_other_words};
use crate::ops::notices::alarms::raise;
use crate::ops::webhooks::chosen;
use crate::ops::{OpError, RACES_MAX};
use crate::store::Step;
use crate::store::tables::jobs::{self, JobKind};
use crate::store::tables::{alerts, arrivals};

/// Credits that one alarm names.
const TOLD_MAX: usize = 10;
/// Credits of one amount of which it is asked whether another debit took them back.
const GONE_MAX: usize = 50;
/// Credits of one amount that are looked at.
const CREDITS_MAX: usize = 500;

/// A debit or reversal that the bank or a person vouches for, or what reads as a fee and may be one; and what tells that
/// a credit was lost that a rule set aside. One whose amount cannot be read is no less one, where it names its credit by
/// a session id or a reference; nor is one that may be a credit as well as a debit.
pub(in crate::ops) fn takes_money_back(alert: &AlertRow) -> bool {
    let (facts, takes_money) = (&alert.facts, takes_money(alert));
    let is_named = facts.session_id.is_some() || usable_reference(&facts.reference).is_some();
    let speaks_against = match alert.status {
        AlertStatus::Ignored => takes_money || tells_of_loss(alert),
        AlertStatus::Unreadable => {
            takes_money && (is_named || facts.direction.is_none() && facts.amount.is_some())
        }
        _ => false,
    };
    // What test mode writes takes back nobody's money.
    alert.simulated_for.is_none() && alert.authenticity.counts() && speaks_against
}

/// Finds what it may have taken back, and holds it or raises the alarm. May be run again after a crash: it
/// repeats the alarm at most.
pub(in crate::ops) async fn link_taken_back_credits(app: &App, undoing: &AlertRow) -> Result<(), OpError> {
    if is_of_a_payout(app, undoing).await?
        || is_told_to_another(app, undoing, &app.directory.accounts().await?)
    {
        return Ok(());
    }
    let Concerned { all, any_one, is_named } = concerned_by(app, undoing).await?;
    let is_paid = |credit: &AlertRow| credit.status == AlertStatus::Matched;
    if undoing.facts.kind == Some(AlertKind::Reversal) {
        // What waits, was set aside or is reversed already may be a neighbour of the one that it is of.
        if !is_named && !all.iter().chain(&any_one).any(is_paid) {
            tell_lone_reversal(app, undoing).await;
        }
    } else if all.is_empty() && any_one.is_empty() && is_fee(undoing) && undoing.facts.amount > Some(FEE_MOST)
    {
        tracing::warn!(
            undoing = undoing.id,
            "a debit reads as a fee, but takes more than banks charge and fits no credit; look at the bank's statement"
        );
    }
    tell_failed_debit(app, undoing).await?;
    if let ([only], None) = (&all[..], undoing.linked_alert_id) {
        note(app, undoing.id, alerts::link(undoing.id, only.id)).await?;
    }
    // Whose payouts wait already is told of one credit, and not of all beside it.
    let any_one = of_others(app, any_one, &all).await?;
    for credit in all {
        hold_or_alarm(app, credit, undoing).await?;
    }
    let (waiting, others): (Vec<_>, Vec<_>) =
        any_one.into_iter().partition(|credit| credit.status.is_waiting());
    for credit in waiting {
        hold_or_alarm(app, credit, undoing).await?;
    }
    let mut settled: Vec<&AlertRow> = others.iter().filter(|credit| is_paid(credit)).collect();
    // Whom it names before whoever else may have written the name.
    settled.sort_by_cached_key(|credit| !names_the_payer(undoing, credit));
    let settled: Vec<i64> = settled.into_iter().map(|credit| credit.id).collect();
    if !settled.is_empty() {
        tracing::error!(
            undoing = undoing.id,
            credits = settled.len(),
            first = ?&settled[..settled.len().min(TOLD_MAX)],
            "ALARM: a debit or reversal may have taken back one of several credits of this amount; look at the \
             bank's statement and use `payment reverse` if so"
        );
        let body = format!(
            "Alert {} may have taken back one of {} credits of this amount.",
            undoing.id,
            settled.len()
        );
        tell(app, undoing.id, None, &body).await;
        // Money of ours that came back took nobody's.
        if undoing.facts.direction != Some(Direction::Credit) || tells_of_loss(undoing) {
            hold_beneficiaries(app, &others, undoing).await?;
        }
    }
    Ok(())
}

/// What the bank itself calls a reversal takes some credit back: where it fits none that was paid, that one may be older, or
/// its amount another by a charge, and a person must find out whose it is. Money of ours that came back is nobody's payment.
async fn tell_lone_reversal(app: &App, undoing: &AlertRow) {
    if undoing.facts.direction == Some(Direction::Credit) {
        tracing::warn!(
            undoing = undoing.id,
            "a reversal fits no credit that was paid; look at the bank's statement"
        );
        return;
    }
    tracing::error!(
        undoing = undoing.id,
        "ALARM: a reversal fits no credit that was paid: its credit may be older, or its amount differ by a charge; look \
         at the bank's statement and use `payment reverse` if a payment's money is gone"
    );
    let body = format!(
        "Alert {} is a reversal{} that fits no credit that was paid: its credit may be older, or its amount differ by a \
         charge.",
        undoing.id,
        undoing.facts.amount.map(|amount| format!(" of {}", naira(amount))).unwrap_or_default()
    );
    tell(app, undoing.id, None, &body).await;
}

/// Raises the alarm about a debit or reversal; `of` is the credit that it is about, if it is one.
async fn tell(app: &App, undoing: i64, of: Option<i64>, body: &str) {
    let cause =
        of.map_or_else(|| format!("alert {undoing}"), |credit| format!("alert {undoing} of {credit}"));
    let page = format!("/operator/alerts/{undoing}");
    raise(app, NoticeKind::MoneyTakenBack, &cause, body, &page).await;
}

/// The credits that a debit or reversal concerns. Those that were reversed already are among them: then it concerns
/// these, and no others.
pub(in crate::ops) struct Concerned {
    /// All of these: each is held or alarmed about.
    pub all: Vec<AlertRow>,
    /// One of these, and which one cannot be told.
    pub any_one: Vec<AlertRow>,
    /// It names one of them by a session id or a reference.
    pub is_named: bool,
}

pub(in crate::ops) async fn concerned_by(app: &App, undoing: &AlertRow) -> Result<Concerned, OpError> {
    let accounts = app.directory.accounts().await?;
    let mut named = named_by(app, undoing, &accounts).await?;
    named.retain(|credit| takes_back(undoing, credit));
    let is_named = named.iter().any(|credit| speaks_of(undoing, credit));
    let mut any_one = Vec::new();
    let mut of_amount = of_its_account_and_amount(app, undoing, &accounts).await?;
    of_amount.retain(|credit| named.iter().all(|known| known.id != credit.id));
    if is_named {
        // Other tellings of the same money, and those of which the key may be as well.
        let (again, others): (Vec<_>, Vec<_>) = of_amount
            .into_iter()
            .partition(|credit| named.iter().any(|known| may_be_the_same_money(known, credit)));
        of_amount = others;
        of_amount.retain(|credit| !named.iter().any(|known| leaves_alone(undoing, known, credit)));
        let (paid, other): (Vec<_>, Vec<_>) =
            again.into_iter().partition(|credit| credit.status == AlertStatus::Matched);
        named.extend(other);
        if paid.len() <= LIKELY_MAX { named.extend(paid) } else { any_one.extend(paid) }
    }
    if of_amount.len() > LIKELY_MAX {
        of_amount = without_gone(app, undoing, of_amount).await?;
    }
    // Anybody can type a session id into a small transfer, so those of its amount are meant as well.
    let (likely, unsure) = likely_ones(undoing, of_amount);
    named.extend(likely);
    any_one.extend(unsure);
    Ok(Concerned { all: named, any_one, is_named })
}

/// Without those that another debit has taken back: each is gone already, and they must not hide the one that is left.
/// A debit that may be the same one, told again, still means its credit.
async fn without_gone(
    app: &App,
    undoing: &AlertRow,
    credits: Vec<AlertRow>,
) -> Result<Vec<AlertRow>, OpError> {
    let (reversed, mut left): (Vec<_>, Vec<_>) =
        credits.into_iter().partition(|credit| credit.status == AlertStatus::Reversed);
    for (at, credit) in reversed.into_iter().enumerate() {
        let is_gone = at < GONE_MAX && is_gone_by_another(app, undoing, &credit).await?;
        if !is_gone {
            left.push(credit);
        }
    }
    Ok(left)
}

async fn is_gone_by_another(app: &App, undoing: &AlertRow, credit: &AlertRow) -> Result<bool, OpError> {
    let undone_by =
        app.store.reversed_of_alert(credit.id).await?.into_iter().find_map(|one| one.undoing_alert);
    let Some(id) = undone_by.filter(|id| *id != undoing.id) else { return Ok(false) };
    Ok(app.store.alert(id).await?.is_some_and(|other| !may_be_one_debit(undoing, &other)))
}

/// Of the credits of its account and amount the likely ones, or else all among which it cannot be told. Whom the debit names is
/// likely; but the name may be another payer's remark, which the debit repeats.
fn likely_ones(undoing: &AlertRow, found: Vec<AlertRow>) -> (Vec<AlertRow>, Vec<AlertRow>) {
    let named: Vec<AlertRow> =
        found.iter().filter(|credit| names_the_payer(undoing, credit)).cloned().collect();
    // Then the credit that it is of names him too.
    let is_meant = |credit: &AlertRow| {
        named.is_empty()
            || named.iter().any(|known| known.id == credit.id || may_name_the_payer(credit, known))
    };
    let (mut meant, mut others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_meant);
    others.retain(|credit| may_be_the_one(undoing, credit));
    if meant.len() > LIKELY_MAX || meant.len() + others.len() <= LIKELY_MAX {
        meant.extend(others);
        return if meant.len() <= LIKELY_MAX { (meant, Vec::new()) } else { (Vec::new(), meant) };
    }
    (meant, others)
}

/// Credits of its account and amount that it may have taken back.
async fn of_its_account_and_amount(
    app: &App,
    undoing: &AlertRow,
    accounts: &[ReceivingAccount],
) -> Result<Vec<AlertRow>, OpError> {
    let Some(amount) = undoing.facts.amount else { return Ok(Vec::new()) };
    // A mail that was proven late may have been overtaken by credits that it is about.
    let seen = sight(app, undoing);
    let mut found = Vec::new();
    // Nothing real comes to the test bank.
    for one in accounts.iter().filter(|one| !one.is_of_test_bank() && may_be_on(undoing, one.id, accounts)) {
        let read =
            app.store.alerts_seen((undoing.simulated_for, Some(one.id)), amount, seen, CREDITS_MAX).await?;
        if read.len() >= CREDITS_MAX {
            tracing::error!(
                undoing = undoing.id,
                account = one.id,
                "ALARM: more than {CREDITS_MAX} alerts of this amount: a debit or reversal may have taken back an older credit \
                 than those that were looked at; look at the bank's statement"
            );
            let body = format!(
                "Alert {} may have taken back a credit that is older than the {CREDITS_MAX} that were looked at.",
                undoing.id
            );
            tell(app, undoing.id, None, &body).await;
        }
        found.extend(read);
    }
    // Whoever tells of no account may tell of this one.
    let nowhere = app.store.alerts_seen((undoing.simulated_for, None), amount, seen, CREDITS_MAX).await?;
    found.extend(nowhere.into_iter().filter(|credit| may_be_on_one_account(undoing, credit, accounts)));
    // Whatever account a forwarded one shows.
    for one in app.store.forwarded_and_paid(amount, seen, CREDITS_MAX).await? {
        if found.iter().all(|known| known.id != one.id) {
            found.push(one);
        }
    }
    found.retain(|credit| {
        let is_another = credit.id != undoing.id;
        let was_decided = matches!(credit.status, AlertStatus::Matched | AlertStatus::Reversed)
            || credit.status == AlertStatus::Dismissed && has_paid_once(credit);
        is_another
            && (credit.status.is_waiting() || was_decided || credit.is_credit_aside())
            && is_incoming_money(credit)
            && is_vouched(credit)
            && takes_back(undoing, credit)
            && may_undo(undoing, credit)
            && !tells_of_loss(credit)
            && (!tells_of_loss(undoing) || may_have_one_payer(undoing, credit))
    });
    Ok(found)
}

/// Paid credits of which this mail tells a second time, with words in its narration that mean that the money went back,
/// and that the first did not have. A payer can type them, so only the one whose key it shares is meant.
async fn turned_in_words(app: &App, alert: &AlertRow) -> Result<Vec<AlertRow>, OpError> {
    let mut found =
        sharing_session(app, alert.simulated_for, alert.facts.session_id.as_deref(), alert.facts.amount)
            .await?;
    if let Some(twin) = alert.linked_alert_id.filter(|id| found.iter().all(|one| one.id != *id)) {
        found.extend(app.store.alert(twin).await?.filter(|twin| tells_the_same(alert, twin)));
    }
    found.retain(|credit| {
        credit.status == AlertStatus::Matched
            && credit.facts.amount == alert.facts.amount
            && is_credit(credit)
            && (!credit.facts.has_lost_state() || tells_loss_in_other_words(alert, credit))
            && (may_be_of_one_payer(alert, credit) || may_name_the_payer(alert, credit))
    });
    Ok(found)
}

/// A credit arrived whose mail tells that the money has not come or went back: what it may be about is held, or raises
/// the alarm.
pub(in crate::ops) async fn tell_of_loss(app: &App, alert: &AlertRow) -> Result<(), OpError> {
    if alert.simulated_for.is_some() || !alert.authenticity.counts() {
        return Ok(());
    }
    if tells_of_loss(alert) {
        return link_taken_back_credits(app, alert).await;
    }
    for credit in turned_in_words(app, alert).await? {
        alarm(app, &credit, alert.id).await?;
    }
    Ok(())
}

/// Other debits or reversals that may tell of the same money as this one: of its session id and amount over all time,
/// else of its account, amount and time.
pub(in crate::ops) async fn told_again(app: &App, undoing: &AlertRow) -> Result<Vec<AlertRow>, OpError> {
    let Some(amount) = undoing.facts.amount else { return Ok(Vec::new()) };
    let accounts = app.directory.accounts().await?;
    let session = undoing.facts.session_id.as_deref();
    let mut found = match session {
        Some(session) => {
            app.store.alerts_by_session_of(undoing.simulated_for, session, amount, SHARING_MAX).await?
        }
        None => Vec::new(),
    };
    let seen = sight(app, undoing);
    let on_accounts = accounts
        .iter()
        .filter(|one| !one.is_of_test_bank() && may_be_about(undoing, one))
        .map(|one| Some(one.id));
    for account in on_accounts.chain([None]) {
        found.extend(
            app.store.alerts_seen((undoing.simulated_for, account), amount, seen, CREDITS_MAX).await?,
        );
    }
    let mut known = vec![undoing.id];
    found.retain(|other| {
        let of_its_session = session.is_some() && other.facts.session_id.as_deref() == session;
        let is_told = of_its_session || may_be_one_debit(undoing, other);
        let fits = takes_money(other) && is_told && may_be_on_one_account(undoing, other, &accounts);
        let is_first = fits && !known.contains(&other.id);
        known.push(other.id);
        is_first
    });
    Ok(found)
}

/// A debit undid a payment, and now the bank says that it failed: the merchant may have to be given his money again.
async fn tell_failed_debit(app: &App, undoing: &AlertRow) -> Result<(), OpError> {
    if !undoing.facts.is_told_as_lost() || tells_of_loss(undoing) {
        return Ok(());
    }
    for other in told_again(app, undoing).await? {
        let undone = app.store.settlements_undone_by(other.id).await?;
        if other.facts.told_states() != undoing.facts.told_states() && !undone.is_empty() {
            tracing::error!(
                debit = other.id,
                told_by = undoing.id,
                credit = other.linked_alert_id,
                "ALARM: a debit that undid a payment is now told in another state, so its money may be there after \
                 all; look at the bank's statement"
            );
            let body = format!(
                "Alert {} undid a payment, and alert {} tells that debit in another state: its money may be there after all.",
                other.id, undoing.id
            );
            tell(app, undoing.id, None, &body).await;
        }
    }
    Ok(())
}

async fn note(app: &App, shard: i64, step: Step) -> Result<(), OpError> {
    let unit = app.store.unit(shard).await?.step(step);
    let _ = app.store.apply(unit).await?;
    Ok(())
}

async fn hold_or_alarm(app: &App, credit: AlertRow, undoing: &AlertRow) -> Result<(), OpError> {
    let why = undoing_in_words(undoing);
    let mut alert = credit;
    for _ in 0..RACES_MAX {
        match alert.status {
            AlertStatus::New | AlertStatus::Review | AlertStatus::Unmatched => {
                let held = hold(app, &alert, &why, undoing.id).await?;
                let job = jobs::finish_by_subject(JobKind::Decide, alert.id, "held", app.now());
                let waited = arrivals::end_of_alert(alert.id, ArrivalEnd::TakenBack, app.now());
                let told = chosen::waits_no_more(app, alert.id, ArrivalEnd::TakenBack, app.now()).await?;
                let unit = app.store.unit(alert.id).await?.steps(held).steps(told).step(waited).step(job);
                if app.store.apply(unit).await?.is_done() {
                    alert_log::held(app, &alert);
                    app.wake_workers();
                    return Ok(());
                }
            }
            AlertStatus::Matched => return alarm(app, &alert, undoing.id).await,
            // Nobody is alarmed: it paid nobody. But whoever sent it may send it again.
            AlertStatus::Dismissed => return note(app, alert.id, alerts::link(alert.id, undoing.id)).await,
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

/// Leaves a credit to a person. One that was not decided yet is weighed all the same: what speaks against it speaks against those that come later.
async fn hold(app: &App, alert: &AlertRow, why: &str, undoing: i64) -> Result<Vec<Step>, OpError> {
    if alert.status != AlertStatus::New {
        return Ok(vec![alerts::held(alert, why, undoing)]);
    }
    let (weighed, now) = (Box::pin(weigh(app, alert)).await?, app.now());
    let text = evidence::encode(&weighed.decision, now);
    let decided = alerts::decided(alert, AlertStatus::Review, why, &text, now);
    let after = AlertRow { status: AlertStatus::Review, version: alert.version + 1, ..alert.clone() };
    Ok(vec![decided, alerts::held(&after, why, undoing)])
}

/// Tells that money which was credited may be gone, and links the credit to what may have taken it back.
pub(in crate::ops) async fn alarm(app: &App, credit: &AlertRow, undoing: i64) -> Result<(), OpError> {
    note_alarm(app, credit.id, undoing).await?;
    tell_alarm(app, credit, undoing).await;
    Ok(())
}

/// Raises the alarm in log and metrics, also where its payment cannot be read.
async fn tell_alarm(app: &App, credit: &AlertRow, undoing: i64) {
    let payment = match credit.payment_id {
        Some(id) => app.store.payment(id).await.ok().flatten(),
        None => None,
    };
    tracing::error!(
        credit = credit.id,
        undoing,
        transaction_id = payment.as_ref().map(|payment| payment.transaction_id.as_str()),
        business = payment.as_ref().map(|payment| payment.business_id),
        "ALARM: a debit or reversal may have taken back money that was credited; \
         look at both alerts and use `payment reverse` if so"
    );
    let what = match &payment {
        Some(payment) => format!(
            "payment {} of business {} ({}), which alert {} credited",
            payment.transaction_id,
            payment.business_id,
            naira(payment.amount),
            credit.id
        ),
        None => format!("what alert {} credited", credit.id),
    };
    tell(app, undoing, Some(credit.id), &format!("Alert {undoing} may have taken back {what}.")).await;
}
