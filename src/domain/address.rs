//! Which IP addresses may be connected to.
//!
//! Merchants choose where webhooks go; without this table they could make the service talk
//! to its own network, to the machine itself or to a cloud's metadata server. The check is
//! made on addresses, those a name resolved to and those written into a URL alike, so no
//! notation of an address can slip past it. Pure; called by `super::connect`, and by the configuration.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses, as `10.20.0.0/16` or `fd00:1::/32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    prefix: u8,
}

impl fmt::Display for Network {
    /// As `parse` reads it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.base, self.prefix)
    }
}

impl Network {
    /// Reads CIDR notation; a bare address is a block of one. `None` when the prefix is too
    /// long or bits are set behind it, which would hide a slip of the pen.
    pub fn parse(text: &str) -> Option<Network> {
        let text = text.trim();
        let (base, prefix) = match text.split_once('/') {
            Some((base, prefix)) if prefix.bytes().all(|b| b.is_ascii_digit()) => {
                (base.parse().ok()?, prefix.parse().ok()?)
            }
            Some(_) => return None,
            None => {
                let base: IpAddr = text.parse().ok()?;
                (base, if base.is_ipv4() { 32 } else { 128 })
            }
        };
        let network = Network { base, prefix };
        let whole = match base {
            IpAddr::V4(v4) => prefix <= 32 && v4.to_bits() & !mask4(prefix) == 0,
            IpAddr::V6(v6) => prefix <= 128 && v6.to_bits() & !mask6(prefix) == 0,
        };
        whole.then_some(network)
    }

    /// Whether all of `other` is inside.
    pub fn holds(&self, other: &Network) -> bool {
        self.prefix <= other.prefix && self.contains(other.base)
    }

    /// Its first address.
    pub fn base(&self) -> IpAddr {
        self.base
    }

    /// Whether it has more addresses than blocks of these prefixes.
    pub fn is_larger_than(&self, prefix_v4: u8, prefix_v6: u8) -> bool {
        self.prefix < if self.base.is_ipv4() { prefix_v4 } else { prefix_v6 }
    }

    /// Whether `ip` is inside; an IPv4 address is never inside an IPv6 block or the reverse.
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.base, ip) {
            (IpAddr::V4(base), IpAddr::V4(ip)) => {
                base.to_bits() & mask4(self.prefix) == ip.to_bits() & mask4(self.prefix)
            }
            (IpAddr::V6(base), IpAddr::V6(ip)) => {
                base.to_bits() & mask6(self.prefix) == ip.to_bits() & mask6(self.prefix)
            }
            _ => false,
        }
    }
}

/// The first `prefix` bits set; shifting by the full width gives no bits at all.
const fn mask4(prefix: u8) -> u32 {
    match u32::MAX.checked_shl(32u32.saturating_sub(prefix as u32)) {
        Some(mask) => mask,
        None => 0,
    }
}

const fn mask6(prefix: u8) -> u128 {
    match u128::MAX.checked_shl(128u32.saturating_sub(prefix as u32)) {
        Some(mask) => mask,
        None => 0,
    }
}

/// What is let through besides the public internet.
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    /// `webhooks.allow_networks`: blocks an operator vouches for.
    pub allow_networks: Vec<Network>,
    /// Dev mode: 127.0.0.0/8 and ::1, for receivers on the developer's own machine.
    pub allow_loopback: bool,
}

struct Refused4(Ipv4Addr, u8, &'static str);
struct Refused6(Ipv6Addr, u8, &'static str);

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8, why: &'static str) -> Refused4 {
    Refused4(Ipv4Addr::new(a, b, c, d), prefix, why)
}

const fn v6(first: u16, second: u16, third: u16, prefix: u8, why: &'static str) -> Refused6 {
    Refused6(Ipv6Addr::new(first, second, third, 0, 0, 0, 0, 0), prefix, why)
}

/// IANA's special-purpose registry for IPv4, multicast, and one metadata server in public space.
const REFUSED_V4: [Refused4; 16] = [
    v4(0, 0, 0, 0, 8, "this network"),
    v4(10, 0, 0, 0, 8, "private"),
    v4(100, 64, 0, 0, 10, "shared by a provider"),
    v4(127, 0, 0, 0, 8, "loopback"),
    v4(169, 254, 0, 0, 16, "link-local"),
    v4(172, 16, 0, 0, 12, "private"),
    v4(192, 0, 0, 0, 24, "protocol assignments"),
    v4(192, 0, 2, 0, 24, "documentation"),
    v4(192, 88, 99, 0, 24, "6to4 relay"),
    v4(192, 168, 0, 0, 16, "private"),
    v4(198, 18, 0, 0, 15, "benchmarks"),
    v4(198, 51, 100, 0, 24, "documentation"),
    v4(203, 0, 113, 0, 24, "documentation"),
    v4(224, 0, 0, 0, 4, "multicast"),
    v4(240, 0, 0, 0, 4, "reserved"),
    v4(168, 63, 129, 16, 32, "metadata server"),
];

/// The same for IPv6. ::/8 holds the unspecified and loopback addresses and the mapped,
/// compatible and translated forms of IPv4, which no name server answers with in good faith.
const REFUSED_V6: [Refused6; 12] = [
    v6(0, 0, 0, 8, "loopback or an IPv4 address in disguise"),
    v6(0x64, 0xff9b, 1, 48, "local translation"),
    v6(0x100, 0, 0, 64, "discard only"),
    v6(0x2001, 0, 0, 23, "protocol assignments"),
    v6(0x2001, 0xdb8, 0, 32, "documentation"),
    v6(0x2002, 0, 0, 16, "6to4"),
    v6(0x3fff, 0, 0, 20, "documentation"),
    v6(0x5f00, 0, 0, 16, "segment routing"),
    v6(0xfc00, 0, 0, 7, "private"),
    v6(0xfe80, 0, 0, 10, "link-local"),
    v6(0xfec0, 0, 0, 10, "site-local"),
    v6(0xff00, 0, 0, 8, "multicast"),
];

/// Why `ip` is not connected to, as "private"; `None` when it may be.
pub fn refusal(ip: IpAddr, policy: &AddressPolicy) -> Option<&'static str> {
    if policy.allow_networks.iter().any(|network| network.contains(ip)) {
        return None;
    }
    match ip {
        IpAddr::V4(_) if policy.allow_loopback && ip.is_loopback() => None,
        IpAddr::V6(_) if policy.allow_loopback && ip.is_loopback() => None,
        IpAddr::V4(v4) => refusal_v4(v4),
        IpAddr::V6(v6) => match translated(v6) {
            // 64:ff9b::/96 is how a network without IPv4 reaches it; the inner address counts.
            Some(inner) => refusal(IpAddr::V4(inner), policy),
            None => refusal_v6(v6),
        },
    }
}

fn refusal_v4(ip: Ipv4Addr) -> Option<&'static str> {
    let hit = REFUSED_V4.iter().find(|Refused4(base, prefix, _)| {
        let mask = mask4(*prefix);
        ip.to_bits() & mask == base.to_bits() & mask
    });
    hit.map(|Refused4(_, _, why)| *why)
}

fn refusal_v6(ip: Ipv6Addr) -> Option<&'static str> {
    let hit = REFUSED_V6.iter().find(|Refused6(base, prefix, _)| {
        let mask = mask6(*prefix);
        ip.to_bits() & mask == base.to_bits() & mask
    });
    hit.map(|Refused6(_, _, why)| *why)
}

fn translated(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    match ip.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(ip: &str) -> bool {
        refusal(ip.parse().unwrap(), &AddressPolicy::default()).is_some()
    }

    /// First and last of every block are out, their neighbours in.
    #[test]
    fn the_table_for_ipv4() {
        for (first, last) in [
            ("0.0.0.0", "0.255.255.255"),
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.0.0.0", "192.0.0.255"),
            ("192.0.2.0", "192.0.2.255"),
            ("192.88.99.0", "192.88.99.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("198.18.0.0", "198.19.255.255"),
            ("198.51.100.0", "198.51.100.255"),
            ("203.0.113.0", "203.0.113.255"),
            ("224.0.0.0", "255.255.255.255"),
            ("168.63.129.16", "168.63.129.16"),
        ] {
            assert!(refused(first) && refused(last), "{first} {last}");
            let bits = |ip: &str| ip.parse::<Ipv4Addr>().unwrap().to_bits();
            for neighbour in [bits(first).checked_sub(1), bits(last).checked_add(1)].into_iter().flatten() {
                let neighbour = Ipv4Addr::from_bits(neighbour).to_string();
                assert!(!refused(&neighbour), "{neighbour}");
            }
        }
        for open in ["1.1.1.1", "8.8.8.8", "41.58.1.1", "105.112.0.1", "192.0.1.1", "223.255.255.255"] {
            assert!(!refused(open), "{open}");
        }
    }

    #[test]
    fn the_table_for_ipv6() {
        for (first, last) in [
            ("::", "ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"),
            ("100::", "100::ffff:ffff:ffff:ffff"),
            ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ] {
            assert!(refused(first) && refused(last), "{first} {last}");
        }
        for bad in
            ["::1", "::ffff:8.8.8.8", "::8.8.8.8", "::ffff:0:8.8.8.8", "::ffff:127.0.0.1", "fd00:ec2::254"]
        {
            assert!(refused(bad), "{bad}");
        }
        for open in ["2606:4700::1111", "2a00:1450::1", "2001:200::1", "2003::1", "3fff:1000::1", "5eff::1"] {
            assert!(!refused(open), "{open}");
        }
        // The translation prefix by what is inside.
        assert!(!refused("64:ff9b::8.8.8.8"));
        assert!(refused("64:ff9b::127.0.0.1") && refused("64:ff9b::10.0.0.1"));
        assert!(refused("64:ff9b::169.254.169.254"));
    }

    #[test]
    fn dev_mode_opens_loopback_and_an_operator_what_he_names() {
        let check = |ip: &str, policy: &AddressPolicy| refusal(ip.parse().unwrap(), policy).is_none();
        let dev = AddressPolicy { allow_loopback: true, ..AddressPolicy::default() };
        assert!(check("127.0.0.1", &dev) && check("127.9.9.9", &dev) && check("::1", &dev));
        assert!(!check("10.0.0.1", &dev) && !check("::ffff:127.0.0.1", &dev) && !check("0.0.0.0", &dev));
        let named = AddressPolicy {
            allow_networks: vec![
                Network::parse("10.20.0.0/16").unwrap(),
                Network::parse("fd00:7::/32").unwrap(),
            ],
            allow_loopback: false,
        };
        assert!(check("10.20.255.1", &named) && !check("10.21.0.0", &named) && !check("127.0.0.1", &named));
        assert!(check("fd00:7::1", &named) && !check("fd00:8::1", &named));
        assert!(check("64:ff9b::10.20.0.1", &named));
    }

    #[test]
    fn networks_are_read_strictly() {
        assert!(Network::parse("0.0.0.0/0").unwrap().contains("9.9.9.9".parse().unwrap()));
        assert!(Network::parse("::/0").unwrap().contains("::1".parse().unwrap()));
        assert!(!Network::parse("::/0").unwrap().contains("9.9.9.9".parse().unwrap()));
        assert_eq!(Network::parse("10.1.2.3"), Network::parse("10.1.2.3/32"));
        for bad in [
            "10.0.0.1/8",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10/8",
            "",
            "x/8",
            "fd00::1/8",
        ] {
            assert_eq!(Network::parse(bad), None, "{bad}");
        }
    }
}
