//! Where time and randomness enter the program, and nowhere else.
//!
//! `Clock` and `Random` live in `App`; rooms take them, or a `now` and bytes drawn from
//! them, as arguments. The settable and the seeded kind are part of the library so that
//! tests, the demo and the benches can drive the same code. Not for measuring how long
//! something took: that is `std::time::Instant`, which no clock step can bend.
//! Any room but `domain` may use this one.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::domain::time::{Span, Timestamp};

/// Tells the present instant, UTC, in microseconds.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// Gives unpredictable bytes. `SystemRandom` is fit for secrets; `SeededRandom` is not.
pub trait Random: Send + Sync {
    /// Overwrites the whole of `bytes`.
    fn fill(&self, bytes: &mut [u8]);

    /// A number spread evenly over all of `u64`.
    fn next_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// The machine's wall clock. It may step backwards when the machine's time is set.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[allow(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
        let now = std::time::SystemTime::now();
        // A machine whose clock stands before 1970 is told 1970; one after the year 9999, its end.
        let micros = now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_micros());
        Timestamp(i64::try_from(micros).unwrap_or(i64::MAX)).min(Timestamp::MAX)
    }
}

/// The clock of a server that several machines ask, carried on between two readings by how long ago the last one was: a wrong
/// or a turned clock of this machine counts for nothing. Before the first reading it is the machine's own.
pub struct SharedClock {
    own: Arc<dyn Clock>,
    begin: Instant,
    /// The server's time at `begin`, in microseconds; [`UNREAD`] before the first reading.
    at_begin: AtomicI64,
}

const UNREAD: i64 = i64::MIN;
/// Clocks that a time service keeps are nearer to one another.
const APART_MAX: Span = Span::seconds(2);
/// An answer that took longer says too little of the time.
const READ_WITHIN: Duration = Duration::from_secs(1);

impl SharedClock {
    pub fn new(own: Arc<dyn Clock>) -> SharedClock {
        SharedClock { own, begin: Instant::now(), at_begin: AtomicI64::new(UNREAD) }
    }

    /// Takes a reading that was asked for at `asked` and came just now. False for one that came too late to be of use.
    pub fn set(&self, reading: Timestamp, asked: Instant) -> bool {
        let took = asked.elapsed();
        if took > READ_WITHIN {
            return false;
        }
        // It was made somewhere in between. One that agrees with the last as far as can be told moves nothing: answers that are
        // under way for longer and shorter must not turn the clock to and fro.
        let unsure = span(took / 2);
        let at = (reading + unsure - span(self.begin.elapsed())).0;
        let known = self.at_begin.load(Ordering::Relaxed);
        if known == UNREAD || known.abs_diff(at) > unsure.0.unsigned_abs() {
            self.at_begin.store(at, Ordering::Relaxed);
        }
        true
    }

    /// How far this machine's own clock is ahead (negative: behind), and whether that is more than clocks that are kept
    /// may be apart. `None` before the first reading.
    pub fn own_is_ahead(&self) -> Option<(Span, bool)> {
        let is_read = self.at_begin.load(Ordering::Relaxed) != UNREAD;
        let ahead = Span(self.own.now().0.saturating_sub(self.now().0));
        is_read.then_some((ahead, ahead.0.abs() > APART_MAX.0))
    }
}

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        match self.at_begin.load(Ordering::Relaxed) {
            UNREAD => self.own.now(),
            at => Timestamp(at) + span(self.begin.elapsed()),
        }
    }
}

fn span(time: Duration) -> Span {
    Span(i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
}

/// A clock that stands still until it is told otherwise.
#[derive(Debug)]
pub struct ManualClock {
    micros: AtomicI64,
}

impl ManualClock {
    pub const fn new(at: Timestamp) -> ManualClock {
        ManualClock { micros: AtomicI64::new(at.0) }
    }

    /// Sets the hands, backwards too.
    pub fn set(&self, at: Timestamp) {
        self.micros.store(at.0, Ordering::SeqCst);
    }

    /// Moves on by `span` and tells the new time.
    pub fn advance(&self, span: Span) -> Timestamp {
        Timestamp(self.micros.fetch_add(span.0, Ordering::SeqCst)) + span
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.micros.load(Ordering::SeqCst))
    }
}

/// The thread's own generator, seeded and reseeded by the operating system; fit for keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        #[allow(clippy::disallowed_methods, reason = "the one place that draws real randomness")]
        let mut rng = rand::rng();
        rng.fill_bytes(bytes);
    }
}

/// The same bytes for the same seed, for tests and repeatable runs. Never for secrets.
#[derive(Debug)]
pub struct SeededRandom {
    rng: Mutex<StdRng>,
}

impl SeededRandom {
    pub fn new(seed: u64) -> SeededRandom {
        SeededRandom { rng: Mutex::new(StdRng::seed_from_u64(seed)) }
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        // A panic elsewhere cannot leave the generator half changed, so a poisoned lock is as good.
        self.rng.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_tells_this_age() {
        let now = SystemClock.now();
        assert!(now > Timestamp::from_utc_date(2025, 1, 1).unwrap());
        assert!(now <= Timestamp::MAX);
    }

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::new(Timestamp(5));
        assert_eq!(clock.now(), Timestamp(5));
        assert_eq!(clock.advance(Span::seconds(1)), Timestamp(1_000_005));
        assert_eq!(clock.now(), Timestamp(1_000_005));
        clock.set(Timestamp(3));
        assert_eq!(clock.now(), Timestamp(3));
    }

    #[test]
    fn a_shared_clock_is_the_machines_own_until_it_is_read() {
        let own = Arc::new(ManualClock::new(Timestamp(7)));
        let clock = SharedClock::new(own.clone());
        assert_eq!((clock.now(), clock.own_is_ahead()), (Timestamp(7), None));
        let real = Timestamp::from_utc_date(2026, 1, 1).unwrap();
        assert!(clock.set(real, Instant::now()));
        // Whatever the machine says from now on.
        for said in [Timestamp(0), Timestamp::MAX] {
            own.set(said);
            assert!(clock.now() >= real && clock.now() < real + Span::minutes(1));
        }
        own.set(real - Span::hours(1));
        assert!(clock.own_is_ahead().is_some_and(|(ahead, is_off)| ahead < Span::minutes(-59) && is_off));
        own.set(clock.now());
        assert!(clock.own_is_ahead().is_some_and(|(ahead, is_off)| ahead <= Span(0) && !is_off));
        // An answer that was under way for some time says no more than that.
        let before = clock.now();
        let asked = Instant::now().checked_sub(Duration::from_millis(900)).unwrap();
        assert!(clock.set(clock.now() - Span::millis(700), asked));
        assert!(clock.now() >= before, "the clock does not go to and fro");
        // It follows the server, backwards too.
        assert!(clock.set(real - Span::days(1), Instant::now()));
        assert!(clock.now() < real);
        let late = Instant::now().checked_sub(READ_WITHIN * 2).unwrap();
        assert!(!clock.set(real, late) && clock.now() < real, "that answer was under way for too long");
    }

    #[test]
    fn a_seed_repeats_and_the_system_does_not() {
        let draw = |random: &dyn Random| (random.next_u64(), random.next_u64());
        assert_eq!(draw(&SeededRandom::new(7)), draw(&SeededRandom::new(7)));
        assert_ne!(draw(&SeededRandom::new(7)), draw(&SeededRandom::new(8)));
        let (first, second) = draw(&SeededRandom::new(7));
        assert_ne!(first, second);
        assert_ne!(draw(&SystemRandom), draw(&SystemRandom));
    }
}
