//! Turns: only a few pages read from the database at a time, the others wait in a short queue. People who reload a heavy
//! page, or take lists away as CSV, so never stand before payments: a read of the API is behind the few, not behind all.
//!
//! The owner is `Http`; pages take a turn before their op is asked, a CSV for each piece of it.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// Pages that read at a time: one core less than there are, within these.
const AT_ONCE_MIN: usize = 1;
const AT_ONCE_MAX: usize = 4;
/// Pages that wait for their turn; at 20 ms each the last of them waits five seconds.
const QUEUE_MAX: usize = 256;
/// Longest wait, where pages take longer than that.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Whose turn it is.
pub struct Turns {
    places: Semaphore,
    turns: Semaphore,
    wait: Duration,
}

/// May read now. Ends with the value.
pub struct Turn<'a> {
    _turn: SemaphorePermit<'a>,
    _place: SemaphorePermit<'a>,
}

/// Too many wait, or it took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many pages are asked for at this moment")]
pub struct TooManyWait;

impl Turns {
    pub fn of_this_machine() -> Turns {
        let cores = std::thread::available_parallelism().map_or(AT_ONCE_MIN, usize::from);
        Turns::new(cores.saturating_sub(1).clamp(AT_ONCE_MIN, AT_ONCE_MAX), QUEUE_MAX, WAIT_MAX)
    }

    fn new(at_once: usize, waiting: usize, wait: Duration) -> Turns {
        Turns { places: Semaphore::new(at_once + waiting), turns: Semaphore::new(at_once), wait }
    }

    /// Waits for a turn; the first to ask is the first to have it.
    pub async fn take(&self) -> Result<Turn<'_>, TooManyWait> {
        let place = self.places.try_acquire().map_err(|_| TooManyWait)?;
        let turn = timeout(self.wait, self.turns.acquire()).await;
        let turn = turn.map_err(|_| TooManyWait)?.map_err(|_| TooManyWait)?;
        Ok(Turn { _turn: turn, _place: place })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn as_many_as_may_have_a_turn_and_the_others_wait_or_are_sent_away() {
        let turns = Turns::new(1, 1, WAIT_MAX);
        let first = turns.take().await.unwrap();
        let mut second = Box::pin(turns.take());
        assert!((&mut second).now_or_never().is_none(), "one at a time");
        assert_eq!(turns.take().now_or_never().unwrap().err(), Some(TooManyWait), "the queue is full");
        drop(first);
        let second = second.await.unwrap();
        assert!(turns.take().now_or_never().is_none(), "the second has its turn, and one may wait again");
        drop(second);
        assert!(turns.take().now_or_never().is_some(), "who went away while waiting holds nothing");
    }

    #[tokio::test]
    async fn nobody_waits_for_ever() {
        let turns = Turns::new(1, 1, Duration::ZERO);
        let _held = turns.take().await.unwrap();
        assert_eq!(turns.take().await.err(), Some(TooManyWait));
    }
}
