//! Corrects the expected amount of a pending payment, and has waiting alerts looked at again.
//!
//! The correction commits together with its re-match job, before any alert is read: an alert that
//! is decided at the same moment either sees the corrected amount or is seen by the job.

use super::idempotency::Remember;
use super::like_names::{colliding_by_rule, like_named, move_rows};
use super::read::{PaymentView, view};
use crate::app::App;
use crate::directory::Caller;
use crate::domain::matching::Beneficiary;
use crate::domain::money::Money;
use crate::domain::name::Folded;
use crate::domain::payment::{CORRECTIONS_WINDOW, CorrectRefusal, Kind, Payment};
use crate::ops::webhooks::chosen;
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::jobs::{self, JobKind};
use crate::store::tables::{corrections, payments};
use crate::store::{Applied, IdKind, Step};

/// What became of the request.
#[derive(Debug)]
pub enum Corrected {
    Payment(Box<PaymentView>),
    /// No such payment of this business; a top-up is none.
    Unknown,
    Refused(CorrectRefusal),
    /// The idempotency key's lease ran out while this request was at work.
    LeaseLost,
}

pub async fn correct_amount(
    app: &App,
    caller: &Caller,
    transaction_id: &str,
    base: Money,
    remember: Option<&Remember<'_>>,
) -> Result<Corrected, OpError> {
    correct_noted(app, caller, transaction_id, base, remember, |_, _| None).await
}

/// The same with a step that notes who did it: of the payment before and after.
pub(super) async fn correct_noted(
    app: &App,
    caller: &Caller,
    transaction_id: &str,
    base: Money,
    remember: Option<&Remember<'_>>,
    noted: impl Fn(&Payment, &Payment) -> Option<Step>,
) -> Result<Corrected, OpError> {
    for _ in 0..RACES_MAX {
        let now = app.now();
        let found = app.store.payment_by_transaction(caller.business.id, transaction_id).await?;
        let Some(before) = found.filter(|p| p.kind != Kind::Topup && p.mode == caller.mode) else {
            return Ok(Corrected::Unknown);
        };
        let recent = app.store.corrections_since(&before, now - CORRECTIONS_WINDOW).await?;
        let after = match before.correct(base, now, recent.of_payment, recent.of_business) {
            Ok(after) => after,
            Err(refusal) => return Ok(Corrected::Refused(refusal)),
        };
        if after.amount > app.config.payments.max_amount {
            return Ok(Corrected::Refused(CorrectRefusal::TooLarge));
        }
        if fits_another_merchant(app, &after).await? {
            return Ok(Corrected::Refused(CorrectRefusal::NotTellable));
        }
        let shown = view(app, after).await?;
        let after = &shown.payment;
        let correction_id = app.store.id(IdKind::Correction).await?;
        let told = chosen::corrected(app, &before, after, correction_id).await?;
        let mut unit = app
            .store
            .unit(after.business_id)
            .await?
            .step(corrections::count_correction(after.business_id, &recent))
            .step(payments::corrected(&before, after))
            .steps(move_rows(&before, after))
            .step(corrections::add_correction(correction_id, &before, after))
            .step(jobs::enqueue(
                app.store.id(IdKind::Job).await?,
                JobKind::Rematch,
                after.business_id,
                after.id,
                now,
                now,
            ));
        unit = unit.steps(told).steps(noted(&before, after));
        if let Some(remember) = remember {
            unit = unit.step(remember.step(&shown));
        }
        match app.store.apply(unit).await? {
            Applied::Done(_) => {
                app.wake_workers();
                return Ok(Corrected::Payment(Box::new(shown)));
            }
            Applied::Conflict { statement }
                if payments::is_correction(statement) || corrections::is_count(statement) => {}
            Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => {
                return Ok(Corrected::LeaseLost);
            }
        }
    }
    Err(OpError::Contended)
}

/// Whether a transfer of the new amount could not be told from one for a payment of another beneficiary on the
/// same account. (Two corrections at one moment may both pass; then the alert goes to a person.)
async fn fits_another_merchant(app: &App, corrected: &Payment) -> Result<bool, OpError> {
    let payer = Folded::new(&corrected.payer_name);
    let like = like_named(app, corrected, &payer, corrected.account_id).await?;
    let own = Beneficiary::of(corrected);
    let is_anothers = |other: &Payment| Beneficiary::of(other) != own;
    if like.colliding.iter().any(is_anothers) {
        return Ok(true);
    }
    let Some(account_id) = corrected.account_id else { return Ok(false) };
    Ok(colliding_by_rule(app, corrected, &payer, account_id).await?.iter().any(is_anothers))
}
