//! Ends intents that are not paid: by their time, by the customer, by an operator. Intent and payment
//! end in one Unit, so a merchant never sees one without the other.
//!
//! Each end is guarded by the intent still waiting; a PIN that is confirmed at the same moment wins or
//! loses whole. Wrong PINs end an intent in `confirm`.

use crate::app::App;
use crate::domain::intent::{Intent, IntentEnd, IntentState};
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::webhooks::chosen;
use crate::store::Step;
use crate::store::tables::{intents, payments};

/// Intents looked at in one read, and reads in one run; the next run goes on.
const BATCH: usize = 500;
const BATCHES_MAX: usize = 20;

/// The steps that end an intent, reject its payment and tell of it; `first` ends the intent's row.
pub(in crate::ops) async fn ending(
    app: &App,
    intent: &Intent,
    end: IntentEnd,
    first: Step,
    now: Timestamp,
) -> Result<Option<Vec<Step>>, OpError> {
    let payment = app.store.payment(intent.payment_id).await?;
    let payment =
        payment.ok_or_else(|| OpError::Fault(format!("payment {} is missing", intent.payment_id)))?;
    let swept = end == IntentEnd::Expired;
    let Ok(after) = payment.reject(end.reject_reason().unwrap_or_default(), swept, now) else {
        return Ok(None);
    };
    let mut steps = vec![first, payments::rejected(&payment, &after)];
    steps.extend(chosen::rejected(app, &after).await?);
    Ok(Some(steps))
}

/// Ends a waiting intent. `false`: it has ended already.
pub async fn end_intent(app: &App, intent: &Intent, end: IntentEnd) -> Result<bool, OpError> {
    if intent.state != IntentState::PendingPin {
        return Ok(false);
    }
    let now = app.now();
    let first = intents::end(intent.id, end, now);
    let Some(steps) = ending(app, intent, end, first, now).await? else { return Ok(false) };
    let unit = app.store.unit(intent.business_id).await?.steps(steps);
    let done = app.store.apply(unit).await?.is_done();
    if done {
        app.wake_workers();
        tracing::info!(intent = intent.id, end = end.as_str(), "intent ended");
    }
    Ok(done)
}

/// Ends every intent whose time is over. Answers how many.
pub async fn expire_intents(app: &App) -> Result<u64, OpError> {
    let now = app.now();
    let mut ended = 0;
    let mut after = Timestamp(-1);
    for _ in 0..BATCHES_MAX {
        let due = app.store.intents_to_expire(after, now, BATCH).await?;
        let Some(last) = due.last() else { break };
        // Several may share the last instant; a shorter step loses none of them.
        after = Timestamp((last.expires_at.0 - 1).max(after.0 + 1));
        for intent in &due {
            ended += u64::from(end_intent(app, intent, IntentEnd::Expired).await?);
        }
        if due.len() < BATCH {
            break;
        }
    }
    Ok(ended)
}

/// An intent that another row names.
pub(in crate::ops) async fn known_intent(app: &App, id: i64) -> Result<Intent, OpError> {
    let found = app.store.intent(id).await?;
    found.ok_or_else(|| OpError::Fault(format!("intent {id} is missing")))
}
