//! A debit that the bank reports with our reference of a payout in its narration: the payout is paid. Only a mail that is
//! proven or that a person vouches for counts, of an account of the operator's, of exactly the payout's amount, and
//! without a doubt; whatever differs is left to a person, who hears of it. A narration can be typed, so a debit that may
//! be another one than the payout's takes back credits as any debit does.

use super::end::{EndRefusal, Marked, Marking, Outcome, Seat, mark_payout};
use super::words::in_words;
use crate::app::App;
use crate::domain::alert::{AlertFacts, AlertKind, AlertRow, AlertStatus, Authenticity, Direction};
use crate::domain::merchant::Mode;
use crate::domain::money::{Money, naira};
use crate::domain::notice::NoticeKind;
use crate::domain::payout::{PayoutEnd, PayoutStatus, StepRefusal, codes_in};
use crate::domain::same_transfer::{FEE_MOST, is_credit, may_be_one_debit};
use crate::domain::time::Span;
use crate::ops::notices::alarms::raise;
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::payouts::PayoutRow;

/// Debits of the amount within this time of our sight are asked whether the bank paid twice; the one that ended the
/// payout is asked whenever it was.
const TWICE_WITHIN: Span = Span::days(14);
/// A payout that a person marked paid is told by the bank so long after at most. Later its reference may be on anybody's
/// money: the business has known it from the beginning.
const TOLD_WITHIN: Span = Span::days(7);
/// Alerts of the amount that are looked at.
const ALIKE_MAX: usize = 500;
/// Alerts of the same session id that are looked at.
const SHARING_MAX: usize = 50;

/// Marks the payout paid that a debit is about. Answers whether the debit is the one of a payout's, now or before.
/// `is_on_a_credit`: a credit of its amount bears its reference as well, whose payer may have written it.
pub(in crate::ops) async fn pays_out(
    app: &App,
    debit: &AlertRow,
    is_on_a_credit: bool,
) -> Result<bool, OpError> {
    for _ in 0..RACES_MAX {
        let Some(row) = named_payout(app, debit).await? else {
            tell_of_unknown(app, debit).await?;
            return Ok(false);
        };
        match standing(app, debit, &row).await? {
            Standing::Its if is_on_a_credit => {
                let why = "a credit of its amount bears the reference too, so it may be that money which went back; \
                           if the payout left the bank, mark it yourself";
                question(app, debit, &row, why).await;
                return Ok(false);
            }
            Standing::Its => {}
            Standing::Aside => return Ok(false),
            Standing::Unclear(why) => {
                question(app, debit, &row, &why).await;
                return Ok(false);
            }
        }
        if row.payout.status == PayoutStatus::Paid {
            return Ok(true);
        }
        let by = by(debit);
        let marking = Marking {
            id: row.payout.id,
            outcome: Outcome::Paid,
            by: &by,
            seat: Seat::Bank,
            reference: debit.facts.session_id.as_deref().or(debit.facts.reference.as_deref()),
            reason: None,
        };
        match mark_payout(app, &marking).await? {
            Ok(Marked::Ended(_)) => {
                tracing::info!(
                    alert = debit.id,
                    payout = row.payout.id,
                    "a payout is paid, as the bank says"
                );
                return Ok(true);
            }
            // Somebody ended it at this moment: look again.
            Err(EndRefusal::Step(StepRefusal::Finished(_))) => {}
            Ok(Marked::OneOfTwo(_) | Marked::TakenBack(_)) | Err(_) => {
                question(app, debit, &row, "it could not be marked as paid").await;
                return Ok(false);
            }
        }
    }
    Err(OpError::Contended)
}

/// Whether a debit is the one that paid a payout, so that it takes nobody's money back.
pub(in crate::ops) async fn has_paid_out(app: &App, debit: &AlertRow) -> Result<bool, OpError> {
    match named_payout(app, debit).await?.filter(|row| row.payout.status == PayoutStatus::Paid) {
        Some(row) => Ok(matches!(standing(app, debit, &row).await?, Standing::Its)),
        None => Ok(false),
    }
}

/// The payout whose reference an alert shows. Two of them in one narration are no transfer of ours.
pub(in crate::ops) async fn named_payout(app: &App, alert: &AlertRow) -> Result<Option<PayoutRow>, OpError> {
    if !matches!(alert.authenticity, Authenticity::Proven | Authenticity::Trusted) {
        return Ok(None);
    }
    let codes = alert.facts.narration.as_deref().map(codes_in).unwrap_or_default();
    let [code] = &codes[..] else { return Ok(None) };
    Ok(app.store.payout_by_code(code).await?)
}

/// What a debit is to the payout that it names.
enum Standing {
    /// Its own.
    Its,
    /// Something else, of which nobody need hear here: a charge, the return of a credit.
    Aside,
    Unclear(String),
}

async fn standing(app: &App, debit: &AlertRow, row: &PayoutRow) -> Result<Standing, OpError> {
    let (facts, payout) = (&debit.facts, &row.payout);
    let is_of_payment = may_pay_out(facts, payout.amount);
    if !is_of_payment && matches!(facts.kind, Some(AlertKind::Fee | AlertKind::Notice))
        || !is_of_live_account(app, debit).await?
    {
        return Ok(Standing::Aside);
    }
    let unclear = |why: String| Ok(Standing::Unclear(why));
    if facts.direction != Some(Direction::Debit) || !is_of_payment {
        return unclear("its money may have come back".into());
    }
    if facts.amount != Some(payout.amount) {
        let taken = facts.amount.map_or_else(|| "an unknown amount".to_owned(), naira);
        return match facts.amount.is_some_and(|taken| taken <= FEE_MOST) {
            true => Ok(Standing::Aside),
            false => unclear(format!("the bank reports {taken}")),
        };
    }
    // What a payer typed, repeated by the return of his transfer.
    let sharing = match &facts.session_id {
        Some(session) => {
            app.store.alerts_by_session(debit.simulated_for, session, facts.amount, SHARING_MAX).await?
        }
        None => Vec::new(),
    };
    if sharing.iter().any(|one| is_credit(one) && one.authenticity.counts()) {
        return Ok(Standing::Aside);
    }
    if !facts.doubts.is_empty() {
        return unclear(facts.doubts.join("; "));
    }
    match payout.status {
        PayoutStatus::Pending => Ok(Standing::Its),
        PayoutStatus::Refused | PayoutStatus::Cancelled => unclear("the bank says that it was paid".into()),
        PayoutStatus::Paid => Ok(match paid_before(app, debit, row).await? {
            Some(other) => {
                Standing::Unclear(format!("alert {other} reported it, so it may have been paid twice"))
            }
            None if payout.end.as_ref().is_some_and(|end| is_told_late(debit, end)) => {
                Standing::Unclear("it was marked so more than 7 days before".into())
            }
            None => Standing::Its,
        }),
    }
}

/// What a bank reports of a transfer; also where its receiver's name reads as a fee ("Levy Okafor"), but takes just the payout's
/// amount, and more than banks charge.
fn may_pay_out(facts: &AlertFacts, amount: Money) -> bool {
    match facts.kind {
        Some(AlertKind::Payment) => true,
        Some(AlertKind::Fee) => facts.amount == Some(amount) && amount > FEE_MOST,
        _ => false,
    }
}

/// Payouts are of live money.
async fn is_of_live_account(app: &App, debit: &AlertRow) -> Result<bool, OpError> {
    let accounts = app.directory.accounts().await?;
    Ok(accounts.iter().any(|account| Some(account.id) == debit.account_id && account.mode == Mode::Live))
}

/// The bank tells now of what a person said long before.
fn is_told_late(debit: &AlertRow, end: &PayoutEnd) -> bool {
    !end.by.starts_with(BY) && debit.first_seen > end.at + TOLD_WITHIN
}

/// Another debit that names a payout and is not this one told again.
async fn paid_before(app: &App, debit: &AlertRow, row: &PayoutRow) -> Result<Option<i64>, OpError> {
    let seen = (debit.first_seen - TWICE_WITHIN, debit.first_seen + TWICE_WITHIN);
    let place = (debit.simulated_for, debit.account_id);
    let mut others = app.store.alerts_seen(place, row.payout.amount, seen, ALIKE_MAX).await?;
    let ended_by = row.payout.end.as_ref().and_then(|end| end.by.strip_prefix(BY)?.parse().ok());
    if let Some(id) = ended_by {
        others.extend(app.store.alert(id).await?);
    }
    let names_it = |other: &AlertRow| {
        let narration = other.facts.narration.as_deref().unwrap_or_default();
        codes_in(narration) == [row.payout.code.as_str()]
    };
    let is_another = |other: &&AlertRow| {
        other.id != debit.id
            && matches!(other.status, AlertStatus::Ignored | AlertStatus::Dismissed)
            && other.authenticity.counts()
            && other.facts.direction == Some(Direction::Debit)
            && may_pay_out(&other.facts, row.payout.amount)
            && other.facts.doubts.is_empty()
            && names_it(other)
            && !may_be_one_debit(debit, other)
    };
    Ok(others.iter().filter(is_another).map(|other| other.id).min())
}

const BY: &str = "alert ";

/// Who ended a payout that a debit ended.
fn by(debit: &AlertRow) -> String {
    format!("{BY}{}", debit.id)
}

/// A debit bears the reference of a payout that this database has not: it was restored, and the payout was made since the copy.
/// Or the bank has it from another installation.
async fn tell_of_unknown(app: &App, debit: &AlertRow) -> Result<(), OpError> {
    let codes = debit.facts.narration.as_deref().map(codes_in).unwrap_or_default();
    let is_vouched = matches!(debit.authenticity, Authenticity::Proven | Authenticity::Trusted);
    let is_aside = matches!(debit.facts.kind, Some(AlertKind::Fee | AlertKind::Notice));
    let ([code], true, false) = (&codes[..], is_vouched, is_aside) else { return Ok(()) };
    if debit.facts.direction != Some(Direction::Debit)
        || !is_of_live_account(app, debit).await?
        || app.store.payout_by_code(code).await?.is_some()
    {
        return Ok(());
    }
    tracing::error!(
        alert = debit.id,
        "ALARM: money left with the reference of a payout that is not in this database; if the database was restored, the payout \
         was made since the copy, and its business has its money"
    );
    let body = format!(
        "Alert {} is a debit with the payout reference {code}, which is not in this database: if it was restored, the payout was \
         made since the copy, and its business has its money.",
        debit.id
    );
    let page = format!("/operator/alerts/{}", debit.id);
    raise(app, NoticeKind::PayoutUnclear, &format!("alert {} of {code}", debit.id), &body, &page).await;
    Ok(())
}

/// Raises the alarm about a payout of which the bank tells what a person must look at.
async fn question(app: &App, alert: &AlertRow, row: &PayoutRow, why: &str) {
    let (payout, status) = (&row.payout, row.payout.status.as_str());
    tracing::error!(
        alert = alert.id,
        payout = payout.id,
        status,
        "ALARM: the bank tells of a payout what does not fit it; look at the bank's statement"
    );
    let body = format!(
        "Alert {} names payout {} ({}) of {}, which is {status}: {why}.",
        alert.id,
        payout.id,
        in_words(row),
        row.business
    );
    let cause = format!("alert {} of payout {}", alert.id, payout.id);
    let page = format!("/operator/alerts/{}", alert.id);
    raise(app, NoticeKind::PayoutUnclear, &cause, &body, &page).await;
}
