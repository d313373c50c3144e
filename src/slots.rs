//! Places for connections: so many in all, and so many for one address.
//!
//! Without the second limit one slow or hostile machine would keep every other out. Addresses of
//! IPv6 count by their /64, because one machine has all of them. A room of its own because HTTP and
//! SMTP both listen; who may connect at all, and what is said to those there is no place for, is
//! theirs to know.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// At the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    Network(IpAddr),
    /// A socket in the file system.
    Local,
}

impl Peer {
    /// IPv4 written as IPv6 is IPv4.
    pub fn new(ip: IpAddr) -> Peer {
        Peer::Network(ip.to_canonical())
    }

    pub fn is_loopback(self) -> bool {
        match self {
            Peer::Network(ip) => ip.is_loopback(),
            Peer::Local => true,
        }
    }

    /// What counts as one sender.
    fn origin(self) -> Peer {
        match self {
            Peer::Network(IpAddr::V6(ip)) => {
                let prefix = ip.to_bits() & !u128::from(u64::MAX);
                Peer::Network(IpAddr::V6(prefix.into()))
            }
            other => other,
        }
    }
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    Full,
    FullForOne,
}

/// The places of one listener.
pub struct Slots {
    max: usize,
    max_for_one: usize,
    taken: Mutex<Taken>,
    freed: Notify,
}

#[derive(Default)]
struct Taken {
    count: usize,
    by_origin: HashMap<Peer, usize>,
}

/// One place; free again when dropped.
pub struct Slot {
    slots: Arc<Slots>,
    /// `None`: it counts in all alone.
    origin: Option<Peer>,
}

impl Slots {
    pub fn new(max: usize, max_for_one: usize) -> Arc<Slots> {
        Arc::new(Slots { max, max_for_one, taken: Mutex::default(), freed: Notify::new() })
    }

    pub fn take(self: &Arc<Slots>, peer: Peer) -> Result<Slot, NoPlace> {
        self.take_as(Some(peer.origin()))
    }

    /// A place for somebody who speaks for many, such as a proxy: only the limit in all holds.
    pub fn take_for_many(self: &Arc<Slots>) -> Result<Slot, NoPlace> {
        self.take_as(None)
    }

    fn take_as(self: &Arc<Slots>, origin: Option<Peer>) -> Result<Slot, NoPlace> {
        let mut taken = self.lock();
        if let Some(origin) = origin {
            let own = taken.by_origin.get(&origin).copied().unwrap_or_default();
            if own >= self.max_for_one {
                return Err(NoPlace::FullForOne);
            }
            if taken.count >= self.max {
                return Err(NoPlace::Full);
            }
            taken.by_origin.insert(origin, own + 1);
        } else if taken.count >= self.max {
            return Err(NoPlace::Full);
        }
        taken.count += 1;
        Ok(Slot { slots: self.clone(), origin })
    }

    /// Returns when a place may have become free. For one waiter.
    pub async fn freed(&self) {
        self.freed.notified().await;
    }

    /// More than half of the places are taken: slow clients are waited for less long.
    pub fn is_crowded(&self) -> bool {
        self.lock().count > self.max / 2
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        taken.count = taken.count.saturating_sub(1);
        if let Some(origin) = self.origin {
            match taken.by_origin.get_mut(&origin) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(taken.by_origin.remove(&origin)),
            }
        }
        drop(taken);
        self.slots.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> Peer {
        Peer::new(text.parse().unwrap())
    }

    #[test]
    fn one_address_may_hold_so_many_and_gives_back() {
        let slots = Slots::new(4, 2);
        let one = slots.take(peer("192.0.2.1")).unwrap();
        let two = slots.take(peer("::ffff:192.0.2.1")).unwrap();
        assert_eq!(slots.take(peer("192.0.2.1")).err(), Some(NoPlace::FullForOne));
        assert!(!slots.is_crowded());
        let three = slots.take(peer("2001:db8::1")).unwrap();
        let four = slots.take(peer("2001:db8::2")).unwrap();
        assert!(slots.is_crowded());
        assert_eq!(slots.take(peer("2001:db8::ffff:3")).err(), Some(NoPlace::FullForOne));
        assert_eq!(slots.take(Peer::Local).err(), Some(NoPlace::Full));
        drop((one, two, three));
        assert!(slots.take(peer("2001:db8::3")).is_ok());
        let local = slots.take(Peer::Local).unwrap();
        drop((four, local));
        let taken = slots.lock();
        assert!(taken.by_origin.is_empty() && taken.count == 0);
    }

    #[test]
    fn who_speaks_for_many_counts_in_all_alone() {
        let slots = Slots::new(4, 1);
        let all: Vec<Slot> = (0..3).map(|_| slots.take_for_many().unwrap()).collect();
        let own = slots.take(peer("192.0.2.1")).unwrap();
        assert_eq!(slots.take_for_many().err(), Some(NoPlace::Full));
        drop(all);
        assert_eq!(slots.take(peer("192.0.2.1")).err(), Some(NoPlace::FullForOne));
        drop(own);
        assert_eq!(slots.lock().count, 0);
    }

    #[tokio::test]
    async fn a_waiter_hears_of_a_place_that_became_free_before_it_waited() {
        let slots = Slots::new(1, 1);
        drop(slots.take(peer("192.0.2.1")));
        slots.freed().await;
    }
}
