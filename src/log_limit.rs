//! Which lines the log still takes of a sort that strangers can make come without end, such as forged mails.
//!
//! A sort has so many lines a minute; what is left out is counted, and the count is told with the next line or
//! when the minute is over. Knows no clock of its own and writes nothing. Held by `App`, asked by ops and work.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::time::{Span, Timestamp};

/// Lines of one sort in one [`WINDOW`].
pub const LINES_MAX: u32 = 30;
pub const WINDOW: Span = Span::minutes(1);
/// Sorts that are counted apart; what comes beyond shares one count.
const SORTS_MAX: usize = 1_024;

/// What lines tell of, and whose matter it is (a business; 0 where there is none).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sort {
    pub what: &'static str,
    pub whose: i64,
}

struct Window {
    since: Timestamp,
    lines: u32,
    left_out: u64,
}

impl Window {
    /// A clock that was set back ends a window, too.
    fn is_over(&self, now: Timestamp) -> bool {
        now < self.since || now >= self.since + WINDOW
    }
}

#[derive(Default)]
pub struct LogLimit {
    windows: Mutex<HashMap<Sort, Window>>,
}

impl LogLimit {
    /// Whether a line may be written; then, how many of its sort were left out before it.
    pub fn admit(&self, sort: Sort, now: Timestamp) -> Option<u64> {
        let mut windows = self.lock();
        let is_known = windows.contains_key(&sort) || windows.len() < SORTS_MAX;
        let sort = if is_known { sort } else { Sort { what: sort.what, whose: 0 } };
        let window = windows.entry(sort).or_insert(Window { since: now, lines: 0, left_out: 0 });
        let mut before = 0;
        if window.is_over(now) {
            before = window.left_out;
            *window = Window { since: now, lines: 0, left_out: 0 };
        }
        if window.lines >= LINES_MAX {
            window.left_out += 1;
            return None;
        }
        window.lines += 1;
        Some(before)
    }

    /// What was left out in windows that are over, and was not told yet. Forgets these windows.
    pub fn left_out(&self, now: Timestamp) -> Vec<(Sort, u64)> {
        let mut told = Vec::new();
        self.lock().retain(|sort, window| {
            let is_over = window.is_over(now);
            if is_over && window.left_out > 0 {
                told.push((*sort, window.left_out));
            }
            !is_over
        });
        told
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Sort, Window>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_780_000_000_000_000);

    fn sort(whose: i64) -> Sort {
        Sort { what: "tests", whose }
    }

    #[test]
    fn a_flood_is_counted_and_told_once() {
        let limit = LogLimit::default();
        let let_in = (0..1_000).filter(|_| limit.admit(sort(1), NOW).is_some()).count();
        assert_eq!(let_in, LINES_MAX as usize);
        assert_eq!(limit.admit(sort(2), NOW), Some(0), "another's lines are not held back");
        let late = NOW + WINDOW;
        assert_eq!(limit.admit(sort(1), late), Some(1_000 - u64::from(LINES_MAX)));
        assert_eq!(limit.admit(sort(1), late), Some(0));
        assert_eq!(limit.left_out(late), [], "it was told with a line");
    }

    #[test]
    fn what_was_left_out_last_is_told_without_another_line() {
        let limit = LogLimit::default();
        for _ in 0..LINES_MAX + 3 {
            limit.admit(sort(1), NOW);
        }
        assert_eq!(limit.left_out(NOW), []);
        assert_eq!(limit.left_out(NOW + WINDOW), [(sort(1), 3)]);
        assert_eq!(limit.left_out(NOW + WINDOW + WINDOW), []);
    }

    #[test]
    fn sorts_without_end_share_one_count_and_a_clock_set_back_holds_nothing() {
        let limit = LogLimit::default();
        let let_in = (1..=10_000).filter(|whose| limit.admit(sort(*whose), NOW).is_some()).count();
        assert_eq!(let_in, SORTS_MAX + LINES_MAX as usize);
        assert!(limit.admit(sort(1), Timestamp(0)).is_some());
        let total: u64 = limit.left_out(NOW + WINDOW).iter().map(|(_, count)| count).sum();
        assert_eq!(total, 10_000 - let_in as u64);
    }
}
