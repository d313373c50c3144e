//! Rate limits: a window of 60 s that opens with the first request of a business (all its keys
//! together), or of a client address for callers without a good key. Wallet routes count in a
//! second window too. Pages have windows of their own: one for an address, and one for a link.
//!
//! Windows are timed by the machine's monotonic clock, so a step of the wall clock neither freezes
//! nor empties one. Each process counts for itself, unless nodes share their windows (`shared_windows`); it does so again
//! while those are away.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::limit_verdict::{LimitVerdict, WINDOW};
use super::shared_windows::{SharedWindows, Spending};
use crate::domain::merchant::Business;

/// Requests for pages from one address (contract/limits.md#x10). Many people may share an address behind their
/// provider's NAT, so this stops machines and not people.
pub const PAGES_A_WINDOW: u32 = 600;
/// Forms sent on one link. Tries of PINs and codes have limits of their own, far below; this one spares the
/// database.
pub const FORMS_A_WINDOW: u32 = 120;

/// Locks the windows are spread over.
const SHARDS: usize = 16;
/// Windows a shard holds; 16 x 4096 windows are about 5 MB. Beyond that, addresses that come newly
/// share one window per shard: memory is bounded and a flood of addresses cannot buy itself an
/// unlimited budget. A business always has its own: there are no more of them than the operator made,
/// and a flood of strangers must not spend theirs.
const SHARD_MAX: usize = 4_096;
/// A full shard is searched for ended windows at most this often.
const PURGE_EVERY: Duration = Duration::from_secs(1);

/// Which limit a request counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Every route of the API.
    Api,
    /// Wallet routes, in addition.
    Wallet,
    /// Pages for people.
    Page,
    /// Forms of one page.
    Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Who {
    Business(i64),
    /// As `auth::counted_as` makes it.
    Address(IpAddr),
    /// A page's link, by its hash, so that no window holds what would open one.
    Link([u8; 32]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CounterKey {
    group: Group,
    who: Who,
}

impl CounterKey {
    /// Its name among the windows of all nodes.
    fn shared_name(self) -> String {
        let group = match self.group {
            Group::Api => "api",
            Group::Wallet => "wallet",
            Group::Page => "page",
            Group::Form => "form",
        };
        match self.who {
            Who::Business(id) => format!("tillbell:limit:{group}:business:{id}"),
            Who::Address(address) => format!("tillbell:limit:{group}:address:{address}"),
            Who::Link(hash) => {
                let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("tillbell:limit:{group}:link:{hash}")
            }
        }
    }
}

/// The limits of this deployment.
pub struct Limits {
    counter: RateCounter,
    shared: Option<SharedWindows>,
    api: u32,
    wallet: u32,
}

impl Limits {
    /// `api` and `wallet` hold where a business has no limits of its own.
    pub fn new(api: u32, wallet: u32, shared: Option<SharedWindows>) -> Limits {
        Limits { counter: RateCounter::new(), shared, api, wallet }
    }

    /// For how long each node has counted for itself though they share their windows.
    pub fn apart_for(&self) -> Option<Duration> {
        self.shared.as_ref()?.away_for()
    }

    /// Spends one request of a business; on a wallet route also one of its wallet limit, or neither if one of
    /// them is used up. Answers the tighter of the two.
    pub async fn spend_business(&self, business: &Business, group: Group) -> LimitVerdict {
        let own = |limit: Option<i64>, default: u32| {
            limit.map_or(default, |n| u32::try_from(n.max(0)).unwrap_or(u32::MAX))
        };
        let who = Who::Business(business.id);
        let api = own(business.rate_limit, self.api);
        if group == Group::Api {
            return self.hit(Group::Api, who, api).await;
        }
        let wallet = own(business.wallet_rate_limit, self.wallet);
        let keys = [Group::Wallet, Group::Api].map(|group| CounterKey { group, who });
        if let Some(verdict) = self.shared_hit(&[(keys[0], wallet), (keys[1], api)]).await {
            return verdict;
        }
        let wallet = self.own_hit(keys[0], wallet);
        if !wallet.allowed {
            return wallet;
        }
        let api = self.own_hit(keys[1], api);
        if !api.allowed {
            self.counter.give_back(keys[0]);
            return api;
        }
        if api.remaining < wallet.remaining { api } else { wallet }
    }

    /// Spends one request of a caller without a good key.
    pub async fn spend_address(&self, address: IpAddr) -> LimitVerdict {
        self.hit(Group::Api, Who::Address(address), self.api).await
    }

    /// Spends one request for a page.
    pub async fn spend_page(&self, address: IpAddr) -> LimitVerdict {
        self.hit(Group::Page, Who::Address(address), PAGES_A_WINDOW).await
    }

    /// Spends one form of a link that leads somewhere.
    pub async fn spend_link(&self, hash: [u8; 32]) -> LimitVerdict {
        self.hit(Group::Form, Who::Link(hash), FORMS_A_WINDOW).await
    }

    async fn hit(&self, group: Group, who: Who, limit: u32) -> LimitVerdict {
        let key = CounterKey { group, who };
        match self.shared_hit(&[(key, limit)]).await {
            Some(verdict) => verdict,
            None => self.own_hit(key, limit),
        }
    }

    fn own_hit(&self, key: CounterKey, limit: u32) -> LimitVerdict {
        self.counter.hit_at(key, limit, Instant::now())
    }

    /// `None` where nodes share no windows, or those are away.
    async fn shared_hit(&self, keys: &[(CounterKey, u32)]) -> Option<LimitVerdict> {
        let shared = self.shared.as_ref()?;
        let spendings = keys.iter().map(|(key, limit)| Spending { window: key.shared_name(), limit: *limit });
        shared.spend(&spendings.collect::<Vec<_>>()).await
    }
}

#[derive(Clone, Copy)]
struct Window {
    opened: Instant,
    used: u32,
}

impl Window {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.opened) >= WINDOW
    }

    fn hit(&mut self, now: Instant, limit: u32) -> LimitVerdict {
        if self.is_over(now) {
            *self = Window { opened: now, used: 0 };
        }
        let allowed = self.used < limit;
        self.used = self.used.saturating_add(u32::from(allowed));
        LimitVerdict {
            allowed,
            limit,
            remaining: limit.saturating_sub(self.used),
            reset_after: WINDOW.saturating_sub(now.saturating_duration_since(self.opened)),
        }
    }
}

struct Shard {
    windows: HashMap<CounterKey, Window>,
    overflow: Window,
    purged: Instant,
}

/// Counts requests, in windows.
struct RateCounter {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

impl RateCounter {
    fn new() -> RateCounter {
        let now = Instant::now();
        let empty =
            || Shard { windows: HashMap::new(), overflow: Window { opened: now, used: 0 }, purged: now };
        RateCounter { hasher: RandomState::new(), shards: std::array::from_fn(|_| Mutex::new(empty())) }
    }

    fn shard(&self, key: CounterKey) -> MutexGuard<'_, Shard> {
        let at = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or(0);
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hit_at(&self, key: CounterKey, limit: u32, now: Instant) -> LimitVerdict {
        let mut shard = self.shard(key);
        let shard = &mut *shard;
        if let Some(window) = shard.windows.get_mut(&key) {
            return window.hit(now, limit);
        }
        if shard.windows.len() >= SHARD_MAX && now.saturating_duration_since(shard.purged) >= PURGE_EVERY {
            shard.purged = now;
            shard.windows.retain(|_, window| !window.is_over(now));
        }
        if shard.windows.len() >= SHARD_MAX && !matches!(key.who, Who::Business(_)) {
            return shard.overflow.hit(now, limit);
        }
        shard.windows.entry(key).or_insert(Window { opened: now, used: 0 }).hit(now, limit)
    }

    /// Takes back one hit that was allowed.
    fn give_back(&self, key: CounterKey) {
        if let Some(window) = self.shard(key).windows.get_mut(&key) {
            window.used = window.used.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::Chosen;
    use std::net::Ipv4Addr;

    fn business(id: i64) -> CounterKey {
        CounterKey { group: Group::Api, who: Who::Business(id) }
    }

    #[test]
    fn a_window_opens_with_its_first_request_and_ends_after_60_seconds() {
        let counter = RateCounter::new();
        let start = Instant::now() + Duration::from_secs(1000);
        for used in 1..=3 {
            let verdict = counter.hit_at(business(1), 3, start + Duration::from_secs(used));
            assert!(verdict.allowed);
            assert_eq!(verdict.remaining, 3 - u32::try_from(used).unwrap());
        }
        let refused = counter.hit_at(business(1), 3, start + Duration::from_secs(31));
        assert_eq!((refused.allowed, refused.remaining), (false, 0));
        assert_eq!(refused.reset_after, Duration::from_secs(30));
        assert!(counter.hit_at(business(2), 3, start).allowed, "another business has its own window");
        assert!(!counter.hit_at(business(1), 3, start + Duration::from_millis(60_999)).allowed);
        assert!(counter.hit_at(business(1), 3, start + Duration::from_secs(61)).allowed);
        assert!(counter.hit_at(business(1), 4, start).allowed, "an instant before the window is inside it");
    }

    #[test]
    fn refused_requests_cost_nothing_and_a_raised_limit_helps_at_once() {
        let counter = RateCounter::new();
        let now = Instant::now();
        for _ in 0..10 {
            counter.hit_at(business(1), 2, now);
        }
        let verdict = counter.hit_at(business(1), 5, now);
        assert_eq!((verdict.allowed, verdict.remaining), (true, 2));
    }

    #[test]
    fn memory_is_bounded_and_a_flood_shares_what_is_left() {
        let counter = RateCounter::new();
        let now = Instant::now();
        let address = |n: u32| CounterKey { group: Group::Api, who: Who::Address(Ipv4Addr::from(n).into()) };
        let many = u32::try_from(SHARDS * SHARD_MAX * 2).unwrap();
        let allowed = (0..many).filter(|n| counter.hit_at(address(*n), 1, now).allowed).count();
        let held: usize = counter.shards.iter().map(|shard| shard.lock().unwrap().windows.len()).sum();
        assert!(held <= SHARDS * SHARD_MAX);
        assert!(allowed <= SHARDS * (SHARD_MAX + 1), "{allowed}");
        for id in 0..100 {
            assert!(counter.hit_at(business(id), 1, now).allowed, "a business does not pay for strangers");
            assert!(!counter.hit_at(business(id), 1, now).allowed);
        }
        let later = now + WINDOW;
        assert!(counter.hit_at(address(many + 1), 1, later).allowed);
        assert!(counter.shards.iter().any(|shard| shard.lock().unwrap().windows.len() == 1));
    }

    #[tokio::test]
    async fn wallet_routes_count_twice() {
        let limits = Limits::new(5, 2, None);
        let mut business = Business {
            id: 1,
            name: String::new(),
            email: String::new(),
            webhook_url: None,
            active: true,
            live: true,
            wallet_enabled: true,
            rate_limit: None,
            wallet_rate_limit: None,
            events: Chosen::default(),
            schedule: crate::domain::charges::Schedule::DEFAULT,
            created_at: crate::domain::time::Timestamp(0),
            version: 1,
        };
        assert_eq!(limits.spend_business(&business, Group::Wallet).await.remaining, 1);
        assert_eq!(limits.spend_business(&business, Group::Wallet).await.remaining, 0);
        let refused = limits.spend_business(&business, Group::Wallet).await;
        assert_eq!((refused.allowed, refused.limit), (false, 2));
        assert_eq!(
            limits.spend_business(&business, Group::Api).await.remaining,
            2,
            "a 429 costs neither window"
        );
        business.rate_limit = Some(3);
        business.wallet_rate_limit = Some(10);
        let refused = limits.spend_business(&business, Group::Wallet).await;
        assert_eq!((refused.allowed, refused.limit), (false, 3));
        business.rate_limit = Some(100);
        assert_eq!(limits.spend_business(&business, Group::Wallet).await.remaining, 7);
        assert_eq!(limits.spend_business(&business, Group::Api).await.remaining, 95);
    }
}
