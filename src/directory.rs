//! Keys, businesses, websites and accounts as they were at most half a second ago.
//!
//! Every request asks it first, so an answer from memory costs one hash and one look-up in a map. What is older
//! than [`FRESH`] is read again, once for all callers that wait for it. So a revocation or a changed setting is
//! seen within a second on every node. If the database does not answer, older answers are not used. The
//! directory also notes when things were last used, and writes that in bulk ([`Directory::flush`]). Ops and
//! doors may ask; nothing is changed through it.

mod cache;
mod repeats;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::domain::account::ReceivingAccount;
use crate::domain::merchant::{ApiKey, Business, KeyRights, Mode, Website, key_hash, key_mode};
use crate::domain::payment::Payment;
use crate::domain::time::{Span, Timestamp};
use crate::store::tables::{accounts, merchants};
use crate::store::{Applied, Step, Store, StoreError};
use cache::Cache;
use repeats::Repeats;

/// How old an answer may be. Half of what is promised (a revocation is seen within a second), so that
/// the reading itself has time.
pub const FRESH: Duration = Duration::from_millis(500);
/// Keys, businesses and lists of websites kept at once; about 1 KB each.
const ENTRIES_MAX: usize = 10_000;
/// Of these, keys that do not exist: strangers must not push out those that do.
const UNKNOWN_MAX: usize = 1_000;
/// Keys and accounts whose last use is remembered between flushes.
const NOTED_MAX: usize = 20_000;
/// How often the last use of a key is written, and of an account.
const KEY_NOTED_EVERY: Span = Span::seconds(60);
const ACCOUNT_NOTED_EVERY: Span = Span::seconds(1);
/// Steps in one Unit of a flush.
const FLUSH_STEPS: usize = 50;

/// Who calls: an authenticated key, or somebody of the business by a page.
#[derive(Clone, Debug)]
pub struct Caller {
    pub business: Arc<Business>,
    pub mode: Mode,
    pub rights: KeyRights,
}

/// A key's row with its business.
#[derive(Debug)]
struct Holder {
    key: ApiKey,
    business: Arc<Business>,
}

pub struct Directory {
    store: Store,
    clock: Arc<dyn Clock>,
    callers: Cache<[u8; 32], Option<Arc<Holder>>>,
    businesses: Cache<i64, Option<Arc<Business>>>,
    websites: Cache<i64, Arc<Vec<Website>>>,
    accounts: Cache<(), Arc<Vec<ReceivingAccount>>>,
    used_keys: Mutex<HashMap<i64, Noted>>,
    used_accounts: Mutex<UsedAccounts>,
    repeats: Repeats,
}

/// When a row was used last, and up to when that is stored.
#[derive(Clone, Copy, Debug)]
struct Noted {
    used: Timestamp,
    written: Option<Timestamp>,
}

#[derive(Default)]
struct UsedAccounts {
    noted: HashMap<i64, Noted>,
    /// The latest use of all, so that two in one microsecond still have an order.
    latest: Timestamp,
    flushed: Option<Timestamp>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Only maps that are consistent after every statement are kept here.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Directory {
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Directory {
        Directory {
            store,
            clock,
            callers: Cache::new(ENTRIES_MAX, UNKNOWN_MAX),
            businesses: Cache::new(ENTRIES_MAX, UNKNOWN_MAX),
            websites: Cache::new(ENTRIES_MAX, ENTRIES_MAX),
            accounts: Cache::new(1, 1),
            used_keys: Mutex::default(),
            used_accounts: Mutex::default(),
            repeats: Repeats::default(),
        }
    }

    /// The holder of a key. `None`: not a key, unknown, revoked, expired, or of an inactive
    /// business, or live while the business waits for the operator; which of them is nobody's business.
    pub async fn caller(&self, key_text: &str) -> Result<Option<Caller>, StoreError> {
        // The checksum tells what cannot be a key without asking the database.
        if key_mode(key_text).is_none() {
            return Ok(None);
        }
        let hash = key_hash(key_text);
        let load = || async {
            let found = self.store.caller(&hash).await?;
            Ok(found.map(|(key, business)| Arc::new(Holder { key, business: Arc::new(business) })))
        };
        let (holder, was_read) = self.callers.get(hash, Option::is_none, load).await?;
        let now = self.clock.now();
        let Some(holder) =
            holder.filter(|holder| holder.business.works_in(holder.key.mode) && holder.key.is_live_at(now))
        else {
            return Ok(None);
        };
        // A key in use is read again every second, which is often enough to note its use.
        if was_read {
            self.note_key(holder.key.id, now);
        }
        let ApiKey { mode, rights, .. } = holder.key;
        Ok(Some(Caller { business: holder.business.clone(), mode, rights }))
    }

    pub async fn business(&self, id: i64) -> Result<Option<Arc<Business>>, StoreError> {
        let load = || async { Ok(self.store.business(id).await?.map(Arc::new)) };
        Ok(self.businesses.get(id, Option::is_none, load).await?.0)
    }

    /// All websites of the business by id, whatever their state.
    pub async fn websites(&self, business_id: i64) -> Result<Arc<Vec<Website>>, StoreError> {
        let load = || async { self.store.websites(business_id).await.map(Arc::new) };
        Ok(self.websites.get(business_id, |all| all.is_empty(), load).await?.0)
    }

    /// All receiving accounts by id, retired ones included.
    pub async fn accounts(&self) -> Result<Arc<Vec<ReceivingAccount>>, StoreError> {
        let load = || async { self.store.accounts().await.map(Arc::new) };
        Ok(self.accounts.get((), |_| false, load).await?.0)
    }

    /// Forgets every answer, so that what this process changed is seen at once.
    pub fn forget(&self) {
        self.callers.clear();
        self.businesses.clear();
        self.websites.clear();
        self.accounts.clear();
        self.repeats.clear();
    }

    /// The account that a request of the same business, payer and amount shared with its newest such
    /// payment less than half a second ago.
    pub fn repeated(&self, payment: &Payment) -> Option<i64> {
        self.repeats.get(payment)
    }

    /// Notes that a payment shares the account of another one of its business, payer and amount.
    pub fn note_repeat(&self, payment: &Payment, account_id: i64) {
        self.repeats.note(payment, account_id);
    }

    /// Notes that an account was given to a payment.
    pub fn touch_account(&self, id: i64, now: Timestamp) {
        let mut used = lock(&self.used_accounts);
        let at = now.max(Timestamp(used.latest.0 + 1));
        used.latest = at;
        if used.noted.len() < NOTED_MAX || used.noted.contains_key(&id) {
            used.noted.entry(id).or_insert(Noted { used: at, written: None }).used = at;
        }
    }

    /// Orders accounts by their last use, the longest unused first, ties by id. Uses of other
    /// nodes are known as far as they were written down and read.
    pub fn least_recently_used(&self, mut ids: Vec<i64>) -> Vec<i64> {
        let known = self.accounts.peek(&());
        let written: HashMap<i64, Timestamp> =
            known.iter().flat_map(|all| all.iter().map(|a| (a.id, a.last_used_at))).collect();
        let used = lock(&self.used_accounts);
        ids.sort_by_cached_key(|id| {
            let noted = used.noted.get(id).map_or(Timestamp::MIN, |noted| noted.used);
            (noted.max(written.get(id).copied().unwrap_or(Timestamp::MIN)), *id)
        });
        ids
    }

    /// Writes down what was used since: keys at most once a minute each, accounts once a second.
    /// Call it every second or so, and once at the end.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let keys = self.due_keys(now);
        let accounts = self.due_accounts(now);
        let steps = keys
            .iter()
            .map(|(id, at)| merchants::key_used(*id, *at))
            .chain(accounts.iter().map(|(id, at)| accounts::account_used(*id, *at)));
        self.write(steps.collect()).await?;
        let mut used = lock(&self.used_keys);
        for (id, at) in keys {
            if let Some(noted) = used.get_mut(&id) {
                noted.written = Some(at);
            }
        }
        drop(used);
        let mut used = lock(&self.used_accounts);
        for (id, at) in accounts {
            if let Some(noted) = used.noted.get_mut(&id) {
                noted.written = Some(at);
            }
        }
        used.flushed = Some(now);
        Ok(())
    }

    async fn write(&self, steps: Vec<Step>) -> Result<(), StoreError> {
        for some in steps.chunks(FLUSH_STEPS) {
            let unit = self.store.unit(0).await?.steps(some.iter().cloned());
            match self.store.apply(unit).await? {
                Applied::Done(_) => {}
                other => return Err(StoreError::Fault(format!("noting a use was refused: {other:?}"))),
            }
        }
        Ok(())
    }

    fn note_key(&self, id: i64, now: Timestamp) {
        let mut used = lock(&self.used_keys);
        if used.len() < NOTED_MAX || used.contains_key(&id) {
            used.entry(id).or_insert(Noted { used: now, written: None }).used = now;
        }
    }

    /// Uses that are to be stored; what was stored long ago and not used since is forgotten.
    fn due_keys(&self, now: Timestamp) -> Vec<(i64, Timestamp)> {
        let due = |noted: &Noted| noted.written.is_none_or(|at| at + KEY_NOTED_EVERY <= now);
        let mut used = lock(&self.used_keys);
        used.retain(|_, noted| noted.written != Some(noted.used) || !due(noted));
        used.iter()
            .filter(|(_, noted)| due(noted) && noted.written != Some(noted.used))
            .map(|(id, noted)| (*id, noted.used))
            .collect()
    }

    fn due_accounts(&self, now: Timestamp) -> Vec<(i64, Timestamp)> {
        let used = lock(&self.used_accounts);
        if used.flushed.is_some_and(|at| now < at + ACCOUNT_NOTED_EVERY && at <= now) {
            return Vec::new();
        }
        used.noted
            .iter()
            .filter(|(_, noted)| noted.written != Some(noted.used))
            .map(|(id, noted)| (*id, noted.used))
            .collect()
    }
}
