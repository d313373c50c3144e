//! Gives events their places in the one order that merchants read (`store::tables::event_order`).
//!
//! Any node may do it at any time: the Unit is guarded by the last place that was given, so of two at once one is lost
//! whole. A node that dies leaves its events without a place, and the next one gives it. Within one Unit events stand by
//! time; of one payment, an approval before its reversal, whatever two nodes' clocks say. Called by work as soon as something
//! was committed, and by readers, so that what was committed before a list is asked for is in it.

use std::collections::HashMap;

use crate::app::App;
use crate::crash;
use crate::domain::event::EventKind;
use crate::ops::OpError;
use crate::store::Applied;
use crate::store::tables::event_order::{self, PLACE_MAX, Unplaced};

/// Units that a reader waits for.
const ROUNDS_MAX: usize = 8;

/// What one round came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// So many; 0 if none waits.
    Events(usize),
    /// Another node gave places at this moment.
    Raced,
}

/// Gives places to events that wait, at most [`PLACE_MAX`].
pub async fn place_events(app: &App) -> Result<Placed, OpError> {
    // Readers and the worker of one node need not race each other.
    let _turn = app.event_turn.lock().await;
    let (waiting, last) = app.store.unplaced_events().await?;
    if waiting.is_empty() {
        return Ok(Placed::Events(0));
    }
    debug_assert!(waiting.len() <= PLACE_MAX);
    let events = in_order(waiting);
    let unit = app.store.unit(0).await?.steps(event_order::place(&events, last, app.now()));
    crash::point("events.before_places");
    match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(Placed::Events(events.len())),
        Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => {
            // Another node gave them, or nobody ever can: that must not pass in silence.
            if app.store.last_event_place().await? == last {
                return Err(OpError::Fault(format!("no event can be placed after {last}")));
            }
            Ok(Placed::Raced)
        }
    }
}

/// Gives places to all events that were committed before this call, as far as that is quickly done.
pub async fn place_what_waits(app: &App) -> Result<(), OpError> {
    for _ in 0..ROUNDS_MAX {
        if place_events(app).await? == Placed::Events(0) {
            break;
        }
    }
    Ok(())
}

/// As they came; those of one payment by what must have come first.
fn in_order(mut waiting: Vec<Unplaced>) -> Vec<Unplaced> {
    let step = |event: &Unplaced| EventKind::parse(&event.kind).and_then(EventKind::step);
    let mut of_payments: HashMap<i64, Vec<usize>> = HashMap::new();
    for (at, event) in waiting.iter().enumerate() {
        if let (Some(payment), Some(_)) = (event.payment_id, step(event)) {
            of_payments.entry(payment).or_default().push(at);
        }
    }
    for at in of_payments.into_values().filter(|at| at.len() > 1) {
        let mut events: Vec<Unplaced> = at.iter().map(|at| waiting[*at].clone()).collect();
        events.sort_by_key(step);
        for (at, event) in at.into_iter().zip(events) {
            waiting[at] = event;
        }
    }
    waiting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::merchant::Mode;
    use crate::domain::time::Timestamp;

    fn event(event_id: i64, kind: EventKind, payment_id: Option<i64>) -> Unplaced {
        Unplaced {
            event_id,
            business_id: 1,
            mode: Mode::Live,
            kind: kind.as_str().into(),
            payment_id,
            created_at: Timestamp(event_id),
        }
    }

    #[test]
    fn a_reversal_stands_behind_its_approval_and_nothing_else_moves() {
        let (approved, reversed) = (EventKind::PaymentApproved, EventKind::PaymentReversed);
        let waiting = vec![
            event(1, approved, Some(7)),
            event(2, reversed, Some(5)), // by a clock that is slow
            event(3, EventKind::PaymentAmountCorrected, Some(5)),
            event(4, approved, Some(5)),
            event(5, approved, Some(6)),
            event(6, reversed, Some(7)),
        ];
        let ids: Vec<i64> = in_order(waiting).iter().map(|event| event.event_id).collect();
        assert_eq!(ids, [1, 4, 3, 2, 5, 6]);
    }
}
