//! The audit's questions about what merchants were told, and in which order they can read it.

use super::Clause;
use crate::store::engine::sql::statements;

macro_rules! events_have_one_place {
    ($form:ident) => {
        $form! {
            "(select count(*) from events)",
            ("events", "e.id", "events e left join event_places l on l.event_id = e.id \
                 left join unplaced_events u on u.event_id = e.id \
                 where (l.event_id is null) = (u.event_id is null)"),
            ("events", "e.id", "events e join event_places l on l.event_id = e.id \
                 left join payments p on p.id = e.payment_id where l.business_id <> e.business_id \
                 or l.kind <> e.kind or p.mode <> l.mode or p.business_id <> e.business_id"),
            ("event_places", "l.event_id", "event_places l where l.place < 1 \
                 or l.place > (select value from counters where name = 'event_place') \
                 or not exists (select 1 from events e where e.id = l.event_id)"),
            ("event_places", "twice.place", "(select place from event_places group by place having count(*) > 1) twice"),
        }
    };
}

// Programs are told of a top-up by choice, and of its reversal where they were told of it. Reversals before this event
// existed were not told.
macro_rules! reversed_has_one_event {
    ($form:ident) => {
        $form! {
            "(select count(*) from settlements where reversed_at is not null)",
            ("payments", "s.payment_id", "settlements s where s.reversed_at is not null \
                 and (s.kind <> 'topup' or exists (select 1 from events t where t.payment_id = s.payment_id \
                 and t.kind = 'wallet.topped_up')) and (select count(*) from events e join jobs j on j.subject_id = e.id and j.kind = 'deliver' \
                 where e.payment_id = s.payment_id and e.kind = 'payment.reversed') <> 1 \
                 and s.reversed_at > (select value from counters where name = 'untold_reversals_until')"),
            ("events", "e.id", "events e left join payments p on p.id = e.payment_id \
                 where e.kind = 'payment.reversed' and p.reversed_at is null"),
            ("events", "e.id", "events e left join payments p on p.id = e.payment_id \
                 where e.kind = 'wallet.topped_up' and (p.status is null or p.status <> 'approved' or p.kind <> 'topup')"),
            ("events", "e.id", "events e left join payments p on p.id = e.payment_id \
                 where e.kind = 'payment.rejected' and (p.status is null or p.status = 'pending')"),
            ("events", "e.id", "events e left join payouts o on o.id = e.subject_id \
                 where (e.kind = 'payout.paid' or e.kind = 'payout.refused') \
                 and (o.id is null or o.business_id <> e.business_id or e.kind <> 'payout.' || o.status)"),
        }
    };
}

statements! {
    EVENTS_HAVE_ONE_PLACE: query { events_have_one_place!(counted) }
    EVENTS_HAVE_ONE_PLACE_ROWS: query { events_have_one_place!(named) }
    REVERSED_HAS_ONE_EVENT: query { reversed_has_one_event!(counted) }
    REVERSED_HAS_ONE_EVENT_ROWS: query { reversed_has_one_event!(named) }
}

/// Further checks, reported after those of `counted_once`.
pub const CHECKS: [Clause; 2] = [
    ("reversed_has_one_event", &REVERSED_HAS_ONE_EVENT, &REVERSED_HAS_ONE_EVENT_ROWS),
    ("events_have_one_place", &EVENTS_HAVE_ONE_PLACE, &EVENTS_HAVE_ONE_PLACE_ROWS),
];
