//! Who may connect: addresses of the allowed networks, while there are places (`crate::slots`).
//!
//! The answers to all others are here too. Used by `listen` and `session`.

use std::sync::Arc;

use crate::domain::address::Network;
use crate::slots::{NoPlace, Peer, Slot, Slots};

/// Why a connection is refused, as the answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Address,
    NoPlace(NoPlace),
}

impl Refused {
    pub fn answer(self) -> &'static str {
        match self {
            Refused::Address => "554 5.7.1 your address is not allowed to send mail here",
            Refused::NoPlace(NoPlace::Full) => "421 4.3.2 too many connections; try again later",
            Refused::NoPlace(NoPlace::FullForOne) => {
                "421 4.7.0 too many connections from your address; try again later"
            }
        }
    }

    /// For the metrics.
    pub fn name(self) -> &'static str {
        match self {
            Refused::Address => "refused",
            Refused::NoPlace(_) => "full",
        }
    }
}

/// Decides who may connect to the listener.
pub(super) struct Entrance {
    allowed: Vec<Network>,
    slots: Arc<Slots>,
}

impl Entrance {
    /// `max` places in all, of which one address may hold half.
    pub fn new(max: usize, allowed: Vec<Network>) -> Entrance {
        Entrance { allowed, slots: Slots::new(max, max.div_ceil(2)) }
    }

    pub fn take(&self, peer: Peer) -> Result<Slot, Refused> {
        if let Peer::Network(ip) = peer
            && !self.allowed.iter().any(|network| network.contains(ip))
        {
            return Err(Refused::Address);
        }
        self.slots.take(peer).map_err(Refused::NoPlace)
    }

    pub fn is_crowded(&self) -> bool {
        self.slots.is_crowded()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_networks_come_in_and_one_address_holds_half() {
        let peer = |text: &str| Peer::new(text.parse().unwrap());
        let entrance = Entrance::new(4, vec![Network::parse("10.0.0.0/8").unwrap()]);
        assert_eq!(entrance.take(peer("11.1.2.3")).err(), Some(Refused::Address));
        assert!(entrance.take(Peer::Local).is_ok(), "the file system decides about its sockets");
        let _held = [entrance.take(peer("10.1.2.3")).unwrap(), entrance.take(peer("10.1.2.3")).unwrap()];
        assert_eq!(entrance.take(peer("10.1.2.3")).err(), Some(Refused::NoPlace(NoPlace::FullForOne)));
        assert!(entrance.take(peer("10.1.2.4")).is_ok());
    }
}
