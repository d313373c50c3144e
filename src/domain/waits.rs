//! How long approvals took, as counts in fixed steps, so that a median over many days is found by adding them up.
//!
//! Steps grow by a quarter, from one second to a week; what took longer counts in the last one. A median is told as the
//! end of its step: the true one is at most that, and more than four fifths of it (under five seconds: to the second).

use super::time::Span;

/// Steps there are.
pub const STEPS: usize = 60;
/// The longest wait that has a step of its own, in seconds: 7 days.
const LONGEST: i64 = 604_800;

/// The end of each step in seconds: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, ...
const ENDS: [i64; STEPS] = ends();

const fn ends() -> [i64; STEPS] {
    let mut ends = [0; STEPS];
    let (mut at, mut end) = (0, 1);
    while at < STEPS {
        ends[at] = end;
        let grown = end * 5 / 4;
        end = if grown > end { grown } else { end + 1 };
        at += 1;
    }
    ends[STEPS - 1] = LONGEST;
    ends
}

/// The step that a wait counts in.
pub fn step_of(wait: Span) -> usize {
    let seconds = (wait.0.max(0) + 999_999) / 1_000_000;
    ENDS.partition_point(|end| *end < seconds).min(STEPS - 1)
}

/// Counts by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    counts: [i64; STEPS],
}

impl Default for Waits {
    fn default() -> Waits {
        Waits { counts: [0; STEPS] }
    }
}

impl Waits {
    /// Adds counts of a step; one that does not exist is left out.
    pub fn add(&mut self, step: usize, count: i64) {
        if let Some(of_step) = self.counts.get_mut(step) {
            *of_step = of_step.saturating_add(count);
        }
    }

    /// Waits there are.
    pub fn count(&self) -> i64 {
        self.counts.iter().sum()
    }

    /// Steps that hold any, with their counts.
    pub fn steps(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    /// At least half took no longer than this; `None` where there are none.
    pub fn median(&self) -> Option<Span> {
        let half = (self.count() + 1) / 2;
        let mut passed = 0;
        let step = self.counts.iter().position(|count| {
            passed += count;
            half > 0 && passed >= half
        })?;
        Some(Span::seconds(ENDS[step]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_rise_by_a_quarter_at_most_and_end_with_a_week() {
        assert!(ENDS.windows(2).all(|pair| pair[0] < pair[1]), "{ENDS:?}");
        let wide = ENDS.windows(2).filter(|pair| pair[1] > pair[0] + 1 && pair[1] * 4 > pair[0] * 5);
        assert_eq!(wide.count(), 0, "{ENDS:?}");
        assert_eq!(ENDS[STEPS - 1], LONGEST);
    }

    #[test]
    fn a_wait_counts_in_the_step_that_ends_with_it_or_next_after_it() {
        for (seconds, end) in [(0, 1), (1, 1), (2, 2), (9, 10), (10, 10), (11, 12), (9_999_999, LONGEST)] {
            assert_eq!(ENDS[step_of(Span::seconds(seconds))], end, "{seconds}");
        }
        assert_eq!(step_of(Span(-5)), 0);
        assert_eq!(ENDS[step_of(Span(1_000_001))], 2, "a second and a bit");
    }

    #[test]
    fn the_median_of_days_is_that_of_all_their_waits() {
        assert_eq!(Waits::default().median(), None);
        let mut all = Waits::default();
        for seconds in [3, 4, 5, 60, 4_000] {
            all.add(step_of(Span::seconds(seconds)), 1);
        }
        assert_eq!(all.median(), Some(Span::seconds(5)));
        let mut other = Waits::default();
        other.add(step_of(Span::seconds(4_000)), 4);
        for (step, count) in other.steps() {
            all.add(step, count);
        }
        let median = all.median().unwrap().0 / 1_000_000;
        assert!((4_000..=5_000).contains(&median), "{median}");
        all.add(STEPS, 7);
        assert_eq!(all.count(), 9, "no such step");
    }
}
