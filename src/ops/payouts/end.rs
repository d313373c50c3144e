//! How a payout ends: the business cancels it, or the operator says that it is paid or refused. One Unit ends it and moves
//! what was set aside, guarded by the payout's version.
//!
//! Above `payouts.two_persons_above` two people who sign in must say that it is paid; the first word is kept.

use super::request::{Actor, Remember, statement_of_claim};
use super::words::{in_words, subject};
use crate::app::App;
use crate::domain::ledger::Entry;
use crate::domain::payout::{
    PaidStep, Payout, PayoutEnd, PayoutStatus, REFERENCE_MAX, RefusedStep, StepRefusal,
};
use crate::domain::text::is_plain_line;
use crate::domain::time::Timestamp;
use crate::ops::notices::payouts::payout_changed;
use crate::ops::webhooks::chosen;
use crate::ops::{OpError, RACES_MAX, given_reason};
use crate::store::tables::payouts::PayoutRow;
use crate::store::tables::settlements::{self, EntryNote};
use crate::store::tables::{acts, payouts, users};
use crate::store::{Applied, IdKind, Step};

/// Why a payout stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndRefusal {
    #[error("there is no payout {0}")]
    Unknown(i64),
    #[error(transparent)]
    Step(StepRefusal),
    #[error("say why it is refused, on one line of at most 500 characters; the business reads it")]
    Reason,
    #[error("a reason is for a payout that is refused; leave it out, or say that it is refused")]
    ReasonOfPaid,
    #[error("the bank's reference must be one line of at most {REFERENCE_MAX} characters")]
    Reference,
    #[error(
        "the amount is above payouts.two_persons_above: two people confirm it at the desk, each signed in"
    )]
    TwoAtTheDesk,
    #[error("you are no member of this business any more who may cancel payouts")]
    NoMember,
    #[error("the request took too long")]
    LeaseLost,
    #[error(
        "payouts are being compared with the bank's statement: the bank may have this one already; try again later"
    )]
    Held,
}

/// What the operator says of a payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Paid,
    Refused,
}

impl Outcome {
    pub fn parse(word: &str) -> Option<Outcome> {
        match word {
            "paid" => Some(Outcome::Paid),
            "refused" => Some(Outcome::Refused),
            _ => None,
        }
    }
}

/// Where the operator's person sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// Signed in: their name is their own.
    Desk,
    /// The name is the system's, which one person may have two of.
    CommandLine,
    /// The bank itself says so, in a mail that is proven.
    Bank,
}

#[derive(Clone, Copy, Debug)]
pub struct Marking<'a> {
    pub id: i64,
    pub outcome: Outcome,
    pub by: &'a str,
    pub seat: Seat,
    /// The bank's.
    pub reference: Option<&'a str>,
    pub reason: Option<&'a str>,
}

/// What became of a payout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Marked {
    /// One of two people said that it is paid.
    OneOfTwo(PayoutRow),
    /// They took that word back, and it is pending as before.
    TakenBack(PayoutRow),
    Ended(PayoutRow),
}

/// The business takes its wish back. `None`: it has no such payout. Not while what goes out is held back: the database may be
/// older than the file with this payout that the bank has.
pub async fn cancel_payout(
    app: &App,
    actor: Actor<'_>,
    business_id: i64,
    id: i64,
    remember: Option<&Remember<'_>>,
) -> Result<Option<Result<PayoutRow, EndRefusal>>, OpError> {
    for _ in 0..RACES_MAX {
        let found = app.store.payout(id).await?.filter(|row| row.payout.business_id == business_id);
        let Some(before) = found else { return Ok(None) };
        if let Err(refusal) = before.payout.may_cancel() {
            return Ok(Some(Err(EndRefusal::Step(refusal))));
        }
        if app.store.held_since().await?.is_some() {
            return Ok(Some(Err(EndRefusal::Held)));
        }
        let now = app.now();
        let end = PayoutEnd {
            at: now,
            by: actor.name().to_owned(),
            bank_reference: None,
            reason: None,
            entry_id: app.store.id(IdKind::Entry).await?,
        };
        let after = ended(&before, PayoutStatus::Cancelled, end);
        let mut steps: Vec<Step> = actor.guard(business_id).into_iter().collect();
        steps.extend(end_steps(app, &before, &after, now).await?);
        steps.extend(actor.note(app, "payout cancel", &before.payout, &in_words(&before), now).await?);
        steps.extend(remember.map(|remember| remember.step(&after)));
        match app.store.apply(app.store.unit(business_id).await?.steps(steps)).await? {
            Applied::Done(_) => {
                app.wake_workers();
                return Ok(Some(Ok(after)));
            }
            Applied::Conflict { statement } if users::is_member_guard(statement) => {
                return Ok(Some(Err(EndRefusal::NoMember)));
            }
            Applied::Conflict { statement } if statement_of_claim(statement) => {
                return Ok(Some(Err(EndRefusal::LeaseLost)));
            }
            Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => {}
        }
    }
    Err(OpError::Contended)
}

/// The operator says what became of it.
pub async fn mark_payout(app: &App, marking: &Marking<'_>) -> Result<Result<Marked, EndRefusal>, OpError> {
    let reference = marking.reference.map(str::trim).filter(|text| !text.is_empty());
    if reference.is_some_and(|text| text.chars().count() > REFERENCE_MAX || !is_plain_line(text)) {
        return Ok(Err(EndRefusal::Reference));
    }
    let reason = marking.reason.and_then(given_reason);
    let has_said_too_much = reason.is_none() && marking.reason.is_some_and(|text| !text.trim().is_empty());
    if has_said_too_much || marking.outcome == Outcome::Refused && reason.is_none() {
        return Ok(Err(EndRefusal::Reason));
    }
    if marking.outcome == Outcome::Paid && reason.is_some() {
        return Ok(Err(EndRefusal::ReasonOfPaid));
    }
    for _ in 0..RACES_MAX {
        let Some(before) = app.store.payout(marking.id).await? else {
            return Ok(Err(EndRefusal::Unknown(marking.id)));
        };
        let now = app.now();
        let said = match marking.outcome {
            Outcome::Refused => match before.payout.say_refused(marking.by) {
                Ok(RefusedStep::TakesBack) if marking.seat == Seat::Desk => {
                    if let Some(row) = take_back(app, marking, &before, now).await? {
                        return Ok(Ok(Marked::TakenBack(row)));
                    }
                    continue;
                }
                Ok(RefusedStep::TakesBack) => return Ok(Err(EndRefusal::TwoAtTheDesk)),
                said => said.map(|_| PaidStep::Paid),
            },
            Outcome::Paid => say_paid(app, &before.payout, marking, reference, now),
        };
        let (after, steps) = match said {
            Err(refusal) => return Ok(Err(EndRefusal::Step(refusal))),
            Ok(PaidStep::First(_)) if marking.seat != Seat::Desk => return Ok(Err(EndRefusal::TwoAtTheDesk)),
            Ok(PaidStep::First(word)) => {
                let kept = payouts::keep_first(&before.payout, &word);
                let payout =
                    Payout { first: Some(word), version: before.payout.version + 1, ..before.payout.clone() };
                (Marked::OneOfTwo(PayoutRow { payout, ..before.clone() }), vec![kept])
            }
            // The second of two: the name of a command line may be the first person's other one.
            Ok(PaidStep::Paid) if needs_the_desk(app, &before.payout, marking) => {
                return Ok(Err(EndRefusal::TwoAtTheDesk));
            }
            Ok(PaidStep::Paid) => {
                let first = before.payout.first.as_ref().and_then(|first| first.reference.as_deref());
                let end = PayoutEnd {
                    at: now,
                    by: marking.by.to_owned(),
                    bank_reference: reference.or(first).map(str::to_owned),
                    reason: reason.map(str::to_owned),
                    entry_id: app.store.id(IdKind::Entry).await?,
                };
                let status = match marking.outcome {
                    Outcome::Paid => PayoutStatus::Paid,
                    Outcome::Refused => PayoutStatus::Refused,
                };
                let after = ended(&before, status, end);
                let steps = end_steps(app, &before, &after, now).await?;
                (Marked::Ended(after), steps)
            }
        };
        let unit = app.store.unit(before.payout.business_id).await?.steps(steps);
        let unit = unit.step(act(app, marking, &before, &after, now).await?);
        if app.store.apply(unit).await?.is_done() {
            app.wake_workers();
            return Ok(Ok(after));
        }
    }
    Err(OpError::Contended)
}

/// Somebody takes back that it is paid. `None`: it changed at this moment.
async fn take_back(
    app: &App,
    marking: &Marking<'_>,
    before: &PayoutRow,
    now: Timestamp,
) -> Result<Option<PayoutRow>, OpError> {
    let payout = Payout { first: None, version: before.payout.version + 1, ..before.payout.clone() };
    let after = PayoutRow { payout, ..before.clone() };
    let unit = app
        .store
        .unit(before.payout.business_id)
        .await?
        .step(payouts::drop_first(&before.payout))
        .step(act(app, marking, before, &Marked::TakenBack(after.clone()), now).await?);
    Ok(app.store.apply(unit).await?.is_done().then_some(after))
}

fn say_paid(
    app: &App,
    payout: &Payout,
    marking: &Marking<'_>,
    reference: Option<&str>,
    now: Timestamp,
) -> Result<PaidStep, StepRefusal> {
    // What the bank itself says needs nobody's word.
    let above = app.config.payouts.two_persons_above.filter(|_| marking.seat != Seat::Bank);
    payout.say_paid(marking.by, reference, above, now)
}

fn needs_the_desk(app: &App, payout: &Payout, marking: &Marking<'_>) -> bool {
    marking.seat == Seat::CommandLine
        && marking.outcome == Outcome::Paid
        && payout.needs_two(app.config.payouts.two_persons_above)
}

async fn act(
    app: &App,
    marking: &Marking<'_>,
    before: &PayoutRow,
    after: &Marked,
    now: Timestamp,
) -> Result<Step, OpError> {
    let name = match (after, marking.outcome) {
        (Marked::OneOfTwo(_), _) => "payout confirm",
        (Marked::TakenBack(_), _) => "payout unconfirm",
        (_, Outcome::Paid) => "payout paid",
        (_, Outcome::Refused) => "payout refused",
    };
    let said = [marking.reference.map(str::trim), marking.reason.map(str::trim)];
    let said = said.into_iter().flatten().filter(|text| !text.is_empty());
    let what =
        std::iter::once(in_words(before)).chain(said.map(str::to_owned)).collect::<Vec<_>>().join("; ");
    let id = app.store.id(IdKind::Act).await?;
    let payout = &before.payout;
    Ok(acts::record_of(payout.business_id, id, marking.by, name, &subject(payout), &what, now))
}

fn ended(before: &PayoutRow, status: PayoutStatus, end: PayoutEnd) -> PayoutRow {
    let payout = &before.payout;
    let payout = Payout { status, end: Some(end), version: payout.version + 1, ..payout.clone() };
    PayoutRow { payout, ..before.clone() }
}

/// Ends it, moves what was set aside, tells the members who look after money.
async fn end_steps(
    app: &App,
    before: &PayoutRow,
    after: &PayoutRow,
    now: Timestamp,
) -> Result<Vec<Step>, OpError> {
    let (payout, Some(end)) = (&after.payout, &after.payout.end) else {
        return Err(OpError::Fault(format!("payout {} has no end", after.payout.id)));
    };
    let entry = match payout.status {
        PayoutStatus::Paid => Entry::payout_paid(payout.business_id, payout.amount),
        _ => Entry::payout_reserved(payout.business_id, payout.amount).map(|entry| entry.mirror()),
    };
    let entry = entry.map_err(|error| OpError::Fault(error.to_string()))?;
    let memo = subject(payout);
    let note = EntryNote {
        id: end.entry_id,
        kind: "adjustment",
        settlement_id: None,
        business_id: Some(payout.business_id),
        memo: &memo,
        at: now,
    };
    let what = in_words(after);
    let business = &after.business;
    let told = match payout.status {
        PayoutStatus::Paid => format!("A payout of {business} is paid: {what}."),
        PayoutStatus::Refused => {
            let reason = end.reason.as_deref().unwrap_or_default();
            format!("A payout of {business} is refused: {what}. {reason} The money is in your balance again.")
        }
        _ => format!(
            "{} cancelled a payout of {business}: {what}. The money is in your balance again.",
            end.by
        ),
    };
    let mut steps = vec![payouts::end(&before.payout, payout.status, end)];
    steps.extend(settlements::post(&note, &entry));
    steps.extend(payout_changed(app, payout, &told).await?);
    steps.extend(chosen::payout_ended(app, payout).await?);
    Ok(steps)
}
