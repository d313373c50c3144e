//! Who may connect, and how many at once: in all, and from one address.
//!
//! Without the second limit one slow or hostile machine would keep every other out. Addresses of
//! IPv6 count by their /64, because one machine has all of them. Used by `listen` alone.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::outbound::address::Network;

/// At the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Peer {
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

/// Why a connection is not taken, as the answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Address,
    Full,
    FullForOne,
}

impl Refused {
    pub fn answer(self) -> &'static str {
        match self {
            Refused::Address => "554 5.7.1 this address may not hand in mail here",
            Refused::Full => "421 4.3.2 too many connections; come again later",
            Refused::FullForOne => "421 4.7.0 too many connections from your address; come again later",
        }
    }

    /// For the metrics.
    pub fn name(self) -> &'static str {
        match self {
            Refused::Address => "refused",
            Refused::Full | Refused::FullForOne => "full",
        }
    }
}

/// The places there are.
pub(super) struct Slots {
    max: usize,
    allowed: Vec<Network>,
    taken: Mutex<HashMap<Peer, usize>>,
}

/// One place; free again when dropped.
pub(super) struct Slot {
    slots: Arc<Slots>,
    origin: Peer,
}

impl Slots {
    /// `max` in all, of which one address may hold half.
    pub fn new(max: usize, allowed: Vec<Network>) -> Arc<Slots> {
        Arc::new(Slots { max, allowed, taken: Mutex::default() })
    }

    pub fn take(self: &Arc<Slots>, peer: Peer) -> Result<Slot, Refused> {
        if let Peer::Network(ip) = peer
            && !self.allowed.iter().any(|network| network.contains(ip))
        {
            return Err(Refused::Address);
        }
        let origin = peer.origin();
        let mut taken = self.lock();
        if taken.values().sum::<usize>() >= self.max {
            return Err(Refused::Full);
        }
        let own = taken.get(&origin).copied().unwrap_or_default();
        if own >= self.max.div_ceil(2) {
            return Err(Refused::FullForOne);
        }
        taken.insert(origin, own + 1);
        Ok(Slot { slots: self.clone(), origin })
    }

    /// More than half of the places are taken: slow clients are waited for less long.
    pub fn is_crowded(&self) -> bool {
        self.lock().values().sum::<usize>() > self.max / 2
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Peer, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        match taken.get_mut(&self.origin) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(taken.remove(&self.origin)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> Peer {
        Peer::new(text.parse().unwrap())
    }

    #[test]
    fn one_address_may_hold_half_and_gives_back() {
        let any = ["0.0.0.0/0", "::/0"].iter().map(|text| Network::parse(text).unwrap()).collect();
        let slots = Slots::new(4, any);
        let one = slots.take(peer("192.0.2.1")).unwrap();
        let two = slots.take(peer("::ffff:192.0.2.1")).unwrap();
        assert_eq!(slots.take(peer("192.0.2.1")).err(), Some(Refused::FullForOne));
        assert!(!slots.is_crowded());
        let three = slots.take(peer("2001:db8::1")).unwrap();
        let four = slots.take(peer("2001:db8::2")).unwrap();
        assert!(slots.is_crowded());
        assert_eq!(slots.take(Peer::Local).err(), Some(Refused::Full));
        drop((one, two, three));
        assert!(slots.take(peer("2001:db8::3")).is_ok());
        let local = slots.take(Peer::Local).unwrap();
        drop((four, local));
        assert!(slots.lock().is_empty());
    }

    #[test]
    fn only_allowed_networks_come_in() {
        let slots = Slots::new(4, vec![Network::parse("10.0.0.0/8").unwrap()]);
        assert!(slots.take(peer("10.1.2.3")).is_ok());
        assert_eq!(slots.take(peer("11.1.2.3")).err(), Some(Refused::Address));
        assert!(slots.take(Peer::Local).is_ok(), "the file system decides about its sockets");
    }
}
