//! Which lines the log still takes of a sort that strangers can make come without end, such as forged mails.
//!
//! A sort has so many lines a minute, and one in ten seconds of what goes wrong because the database is away; what is
//! left out is counted, and the count is told with the next line or when that time is over. Knows no clock of its
//! own. Held by `App`, asked by ops and the doors.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::time::{Span, Timestamp};

/// Lines of one sort in one [`WINDOW`].
pub const LINES_MAX: u32 = 30;
pub const WINDOW: Span = Span::minutes(1);
/// Of what goes wrong while the database is away there is one line in this time, for each place that says so.
pub const AWAY_WINDOW: Span = Span::seconds(10);
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
    length: Span,
    lines: u32,
    left_out: u64,
}

impl Window {
    fn new(since: Timestamp, length: Span) -> Window {
        Window { since, length, lines: 0, left_out: 0 }
    }

    /// A clock that was set back ends a window, too.
    fn is_over(&self, now: Timestamp) -> bool {
        now < self.since || now >= self.since + self.length
    }
}

/// What may be said because the database is away, for a while and again and again.
pub trait MayBeAway {
    fn is_away(&self) -> bool;
}

#[derive(Default)]
pub struct LogLimit {
    windows: Mutex<HashMap<Sort, Window>>,
    /// It was said that the database is away.
    is_away: AtomicBool,
}

impl LogLimit {
    /// Whether a line may be written; then, how many of its sort were left out before it.
    pub fn admit(&self, sort: Sort, now: Timestamp) -> Option<u64> {
        self.admit_some(sort, LINES_MAX, WINDOW, now)
    }

    /// The same for an error. Every one is told, but those of a database that is away.
    pub fn admit_error(&self, what: &'static str, error: &impl MayBeAway, now: Timestamp) -> Option<u64> {
        if !error.is_away() {
            return Some(0);
        }
        self.is_away.store(true, Ordering::Relaxed);
        self.admit_some(Sort { what, whose: 0 }, 1, AWAY_WINDOW, now)
    }

    /// Whether it was said that the database is away, and not yet that it is back.
    pub fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Relaxed)
    }

    /// Whether it is this caller who says that it is back.
    pub fn is_back(&self) -> bool {
        self.is_away.swap(false, Ordering::Relaxed)
    }

    fn admit_some(&self, sort: Sort, most: u32, length: Span, now: Timestamp) -> Option<u64> {
        let mut windows = self.lock();
        let is_known = windows.contains_key(&sort) || windows.len() < SORTS_MAX;
        let sort = if is_known { sort } else { Sort { what: sort.what, whose: 0 } };
        let window = windows.entry(sort).or_insert(Window::new(now, length));
        let mut before = 0;
        if window.is_over(now) {
            before = window.left_out;
            *window = Window::new(now, length);
        }
        if window.lines >= most {
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

/// `tracing::warn!` of an error, at most once in [`AWAY_WINDOW`] while it is that the database is away.
macro_rules! warn_of {
    ($app:expr, $error:expr, { $($field:tt)* }, $what:literal) => {
        if let Some(left_out) = $app.log_limit.admit_error($what, $error, $app.now()) {
            let left_out = (left_out > 0).then_some(left_out);
            tracing::warn!(error = %$error, $($field)* left_out, $what);
        }
    };
    ($app:expr, $error:expr, $what:literal) => {
        $crate::log_limit::warn_of!($app, $error, {}, $what)
    };
}
pub(crate) use warn_of;

#[cfg(test)]
mod tests {
    use super::*;

    struct Failed(bool);

    impl MayBeAway for Failed {
        fn is_away(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn a_database_that_is_away_is_told_once_in_a_while_and_nothing_else_is_held_back() {
        let limit = LogLimit::default();
        let told = |what, is_away, at| limit.admit_error(what, &Failed(is_away), at);
        assert_eq!(told("a", true, NOW), Some(0));
        assert_eq!([told("a", true, NOW), told("a", true, NOW + Span::seconds(9))], [None, None]);
        assert_eq!(told("b", true, NOW), Some(0), "another place");
        assert_eq!(told("a", false, NOW), Some(0), "another error");
        assert_eq!(told("a", true, NOW + AWAY_WINDOW), Some(2));
        assert_eq!(told("a", true, NOW + AWAY_WINDOW), None);
        assert!(limit.is_away());
        assert_eq!([limit.is_back(), limit.is_back(), limit.is_away()], [true, false, false], "said once");
        assert_eq!(told("c", false, NOW), Some(0));
        assert!(!limit.is_away(), "another error");
        let late = NOW + AWAY_WINDOW + AWAY_WINDOW;
        assert_eq!(limit.left_out(late), [(Sort { what: "a", whose: 0 }, 1)]);
    }

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
