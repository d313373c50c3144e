//! Keeps answers for half a second. Each is read by one caller for all that wait for it.
//!
//! It is bounded: old answers are removed when room is needed, and if there is still no room an answer is not
//! kept. Answers that say "there is none" have a smaller bound, because anybody can ask for what does not
//! exist. Time is measured with `Instant`, so changes of the wall clock do not make an answer last longer. For
//! the directory only.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::FRESH;
use crate::store::StoreError;

/// Sweeping looks at every entry; a flood must not make every request do that.
const SWEEP_EVERY: Duration = Duration::from_millis(100);

pub(super) struct Cache<K, V> {
    inner: Mutex<Inner<K, V>>,
    entries_max: usize,
    /// Entries that hold "there is none".
    empty_max: usize,
}

struct Inner<K, V> {
    slots: HashMap<K, Arc<Slot<V>>>,
    empty: usize,
    swept: Option<Instant>,
}

struct Slot<V> {
    held: Mutex<Held<V>>,
    /// One reader at a time; the others wait here and find its answer.
    turn: tokio::sync::Mutex<()>,
}

struct Held<V> {
    /// What was read, and when the reading began.
    value: Option<(V, Instant)>,
    /// The last failure and its time, for callers that waited for the same reading.
    failure: Option<(StoreError, Instant)>,
    is_empty: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<V: Clone> Slot<V> {
    fn new() -> Slot<V> {
        let held = Held { value: None, failure: None, is_empty: false };
        Slot { held: Mutex::new(held), turn: tokio::sync::Mutex::default() }
    }

    /// The value, if it was read less than [`FRESH`] before then.
    fn fresh_at(&self, then: Instant) -> Option<V> {
        let held = lock(&self.held);
        let is_fresh = |begun: Instant| then.saturating_duration_since(begun) < FRESH;
        held.value.as_ref().filter(|(_, begun)| is_fresh(*begun)).map(|(value, _)| value.clone())
    }

    fn failed_since(&self, since: Instant) -> Option<StoreError> {
        let held = lock(&self.held);
        held.failure.as_ref().filter(|(_, at)| *at >= since).map(|(error, _)| error.clone())
    }
}

impl<K: Eq + Hash + Copy, V: Clone> Cache<K, V> {
    pub(super) fn new(entries_max: usize, empty_max: usize) -> Cache<K, V> {
        let inner = Inner { slots: HashMap::new(), empty: 0, swept: None };
        Cache { inner: Mutex::new(inner), entries_max, empty_max }
    }

    /// The value of `key`, at most [`FRESH`] old when it was asked for, and whether this call read it.
    /// `is_empty` tells values that say "there is none".
    pub(super) async fn get<F>(
        &self,
        key: K,
        is_empty: impl Fn(&V) -> bool,
        load: impl Fn() -> F,
    ) -> Result<(V, bool), StoreError>
    where
        F: Future<Output = Result<V, StoreError>>,
    {
        let asked = Instant::now();
        let slot = self.slot(key);
        if let Some(value) = slot.fresh_at(asked) {
            return Ok((value, false));
        }
        let _turn = slot.turn.lock().await;
        // Fresh at the time of the call: otherwise all that wait for a slow database would read one after
        // another.
        if let Some(value) = slot.fresh_at(asked) {
            return Ok((value, false));
        }
        // Callers that waited while the database did not answer must not wait for it again, one after another.
        if let Some(error) = slot.failed_since(asked) {
            return Err(error);
        }
        let begun = Instant::now();
        let read = load().await;
        match &read {
            Ok(value) => self.keep(key, &slot, value, begun, is_empty(value)),
            Err(error) => lock(&slot.held).failure = Some((error.clone(), Instant::now())),
        }
        Ok((read?, true))
    }

    /// The last value read, however old.
    pub(super) fn peek(&self, key: &K) -> Option<V> {
        let slot = lock(&self.inner).slots.get(key)?.clone();
        let held = lock(&slot.held);
        held.value.as_ref().map(|(value, _)| value.clone())
    }

    pub(super) fn clear(&self) {
        let mut inner = lock(&self.inner);
        inner.slots.clear();
        inner.empty = 0;
    }

    /// The slot of a key; if there is no room, a new one that is not kept.
    fn slot(&self, key: K) -> Arc<Slot<V>> {
        let mut inner = lock(&self.inner);
        if let Some(slot) = inner.slots.get(&key) {
            return slot.clone();
        }
        let slot = Arc::new(Slot::new());
        if inner.slots.len() >= self.entries_max {
            inner.sweep();
        }
        if inner.slots.len() < self.entries_max {
            inner.slots.insert(key, slot.clone());
        }
        slot
    }

    fn keep(&self, key: K, slot: &Arc<Slot<V>>, value: &V, begun: Instant, is_empty: bool) {
        let mut inner = lock(&self.inner);
        let is_kept = inner.slots.get(&key).is_some_and(|kept| Arc::ptr_eq(kept, slot));
        let mut held = lock(&slot.held);
        let was_empty = std::mem::replace(&mut held.is_empty, is_empty);
        held.value = Some((value.clone(), begun));
        held.failure = None;
        drop(held);
        if !is_kept {
            return;
        }
        inner.empty = inner.empty + usize::from(is_empty) - usize::from(was_empty);
        if is_empty && inner.empty > self.empty_max {
            inner.sweep();
            if inner.empty > self.empty_max && inner.slots.remove(&key).is_some() {
                inner.empty -= 1;
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        lock(&self.inner).slots.len()
    }
}

impl<K: Eq + Hash, V: Clone> Inner<K, V> {
    /// Drops entries that are too old and that nobody waits for.
    fn sweep(&mut self) {
        if self.swept.is_some_and(|at| at.elapsed() < SWEEP_EVERY) {
            return;
        }
        self.swept = Some(Instant::now());
        self.slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.fresh_at(Instant::now()).is_some());
        self.empty = self.slots.values().filter(|slot| lock(&slot.held).is_empty).count();
    }
}
