//! What became of merchants' requests, held in memory until it is written: a refused request must never wait for that,
//! and a flood must neither fill the memory nor the database.
//!
//! Refused requests are listed up to a number per business and minute; the rest is counted, as good ones are. What is
//! held when the process dies is lost. Filled by http, emptied by `ops::figures::refused`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};

use crate::domain::time::Timestamp;
use crate::store::tables::refused::RequestCounts;

/// Refused requests of one business that one process lists within a minute.
pub const LISTED_PER_MINUTE: u32 = 60;
/// Refused requests held at once; they are taken out every second.
const HELD_MAX: usize = 5_000;
/// Businesses counted at once.
const BUSINESSES_MAX: usize = 20_000;
/// Characters of a message that are kept.
const MESSAGE_MAX: usize = 500;

/// A refused request that waits to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub business_id: i64,
    pub at: Timestamp,
    pub method: String,
    pub route: &'static str,
    pub status: u16,
    pub code: Option<&'static str>,
    pub message: String,
    pub request_id: String,
}

/// What was held.
#[derive(Debug, Default)]
pub struct Held {
    pub refusals: Vec<Refusal>,
    /// By business and day in Lagos.
    pub counts: HashMap<(i64, i64), RequestCounts>,
}

#[derive(Default)]
struct Log {
    held: Held,
    /// By business: the minute, and how many were listed in it.
    listed: HashMap<i64, (i64, u32)>,
}

#[derive(Default)]
pub struct RequestLog {
    log: Mutex<Log>,
}

impl RequestLog {
    /// A request that went well.
    pub fn note_good(&self, business_id: i64, at: Timestamp) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.held.count(business_id, at, |counts| counts.good += 1);
    }

    /// A request that was refused.
    pub fn note_refused(&self, mut refusal: Refusal) {
        let (business_id, at) = (refusal.business_id, refusal.at);
        if let Some((end, _)) = refusal.message.char_indices().nth(MESSAGE_MAX) {
            refusal.message.truncate(end);
        }
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let is_listed = log.held.refusals.len() < HELD_MAX && log.may_list(business_id, at);
        log.held.count(business_id, at, |counts| {
            counts.refused += 1;
            counts.unlisted += i64::from(!is_listed);
        });
        if is_listed {
            log.held.refusals.push(refusal);
        }
    }

    /// Takes out all that is held.
    pub fn take(&self) -> Held {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut log.held)
    }

    /// Puts back what could not be written, as far as there is room.
    pub fn give_back(&self, held: Held) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        for ((business_id, day), counts) in held.counts {
            log.held.count(business_id, Timestamp::begin_of_lagos_day(day), |sum| {
                sum.good += counts.good;
                sum.refused += counts.refused;
                sum.unlisted += counts.unlisted;
            });
        }
        let room = HELD_MAX.saturating_sub(log.held.refusals.len());
        log.held.refusals.extend(held.refusals.into_iter().take(room));
    }
}

impl Held {
    fn count(&mut self, business_id: i64, at: Timestamp, add: impl FnOnce(&mut RequestCounts)) {
        let is_full = self.counts.len() >= BUSINESSES_MAX;
        match self.counts.entry((business_id, at.lagos_day())) {
            Entry::Occupied(mut counts) => add(counts.get_mut()),
            Entry::Vacant(place) if !is_full => add(place.insert(RequestCounts::default())),
            Entry::Vacant(_) => {}
        }
    }
}

impl Log {
    fn may_list(&mut self, business_id: i64, at: Timestamp) -> bool {
        let minute = at.0.div_euclid(60_000_000);
        if self.listed.len() >= BUSINESSES_MAX {
            self.listed.retain(|_, (of, _)| *of == minute);
        }
        let is_full = self.listed.len() >= BUSINESSES_MAX;
        let (of, used) = match self.listed.entry(business_id) {
            Entry::Occupied(used) => used.into_mut(),
            Entry::Vacant(place) if !is_full => place.insert((minute, 0)),
            Entry::Vacant(_) => return false,
        };
        if *of != minute {
            (*of, *used) = (minute, 0);
        }
        *used += 1;
        *used <= LISTED_PER_MINUTE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Span;

    fn refusal(business_id: i64, at: Timestamp) -> Refusal {
        Refusal {
            business_id,
            at,
            method: "POST".into(),
            route: "/api/v1/payment",
            status: 422,
            code: Some("validation_error"),
            message: "ẹ".repeat(600),
            request_id: "r-1".into(),
        }
    }

    #[test]
    fn a_flood_of_one_business_is_listed_in_part_and_counted_in_full() {
        let (log, at) = (RequestLog::default(), Timestamp(1_773_129_600_000_000));
        for _ in 0..1_000 {
            log.note_refused(refusal(4, at));
        }
        log.note_refused(refusal(9, at));
        log.note_good(4, at);
        let held = log.take();
        let of = |business| held.refusals.iter().filter(|one| one.business_id == business).count();
        assert_eq!((of(4), of(9)), (60, 1));
        assert_eq!(held.refusals[0].message.chars().count(), 500);
        let counts = held.counts[&(4, at.lagos_day())];
        assert_eq!(counts, RequestCounts { good: 1, refused: 1_000, unlisted: 940 });
        log.note_refused(refusal(4, at));
        assert_eq!(log.take().refusals.len(), 0, "the minute is not over");
        log.note_refused(refusal(4, at + Span::minutes(1)));
        assert_eq!(log.take().refusals.len(), 1);
    }

    #[test]
    fn what_could_not_be_written_is_held_again_up_to_the_same_bound() {
        let (log, at) = (RequestLog::default(), Timestamp(1_773_129_600_000_000));
        (0..HELD_MAX as i64 + 10).for_each(|business| log.note_refused(refusal(business, at)));
        let held = log.take();
        assert_eq!(held.refusals.len(), HELD_MAX);
        log.note_refused(refusal(-1, at));
        log.give_back(held);
        let held = log.take();
        assert_eq!(held.refusals.len(), HELD_MAX);
        assert_eq!(held.counts.values().map(|counts| counts.refused).sum::<i64>(), HELD_MAX as i64 + 11);
    }
}
