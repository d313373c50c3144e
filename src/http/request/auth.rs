//! Who calls: the API key of a request, and the address it came from.
//!
//! The key comes in `X-API-Key`, or as `api_key` in the body of a POST or PATCH; never from a query
//! string, which ends up in logs. The address counts for callers without a good key; behind a
//! configured proxy it is the last one in `X-Forwarded-For` that is not itself such a proxy.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;

use crate::domain::address::Network;

/// Addresses in `X-Forwarded-For` that are looked at, from the right.
const HOPS_MAX: usize = 16;

/// The key of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Presented<'a> {
    None,
    Key(Cow<'a, str>),
    /// Two headers that are not the same; or one that cannot be a key.
    Unusable,
    /// One in the header and another in the body.
    Differing,
}

/// Compares header and body. `body_token` is the raw JSON of the body's `api_key`.
pub fn presented<'a>(headers: &'a HeaderMap, body_token: Option<&str>) -> Presented<'a> {
    let mut shown: Option<Cow<'a, str>> = None;
    for value in headers.get_all("x-api-key") {
        match value.to_str().map(str::trim) {
            Ok("") => {}
            Ok(key) => match &shown {
                Some(other) if other != key => return Presented::Unusable,
                _ => shown = Some(Cow::Borrowed(key)),
            },
            Err(_) => return Presented::Unusable,
        }
    }
    if let Some(token) = body_token {
        let Ok(text) = serde_json::from_str::<String>(token) else {
            // No key; beside one in the header it is another one.
            return if shown.is_some() { Presented::Differing } else { Presented::Unusable };
        };
        match (text.trim(), &shown) {
            ("", _) => {}
            (key, Some(other)) if key != other => return Presented::Differing,
            (key, _) => shown = Some(Cow::Owned(key.to_owned())),
        }
    }
    shown.map_or(Presented::None, Presented::Key)
}

/// The client's address as far as it can be trusted.
pub fn client_address(peer: SocketAddr, headers: &HeaderMap, proxies: &[Network]) -> IpAddr {
    let trusted = |ip: IpAddr| proxies.iter().any(|network| network.contains(ip));
    let mut client = peer.ip().to_canonical();
    if !trusted(client) {
        return client;
    }
    let hops = headers
        .get_all("x-forwarded-for")
        .iter()
        .rev()
        .flat_map(|value| value.to_str().unwrap_or_default().rsplit(','));
    for hop in hops.take(HOPS_MAX) {
        // What cannot be read was not written by a proxy of ours; the last good address stands.
        let Some(ip) = parse_hop(hop.trim()) else { break };
        client = ip;
        if !trusted(ip) {
            break;
        }
    }
    client
}

/// `203.0.113.7`, `203.0.113.7:5000`, `2001:db8::1`, `[2001:db8::1]:5000`.
fn parse_hop(text: &str) -> Option<IpAddr> {
    let ip = text
        .parse::<IpAddr>()
        .ok()
        .or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
        .or_else(|| text.strip_prefix('[')?.strip_suffix(']')?.parse().ok())?;
    Some(ip.to_canonical())
}

/// What counts as one client: an IPv4 address, or the /64 that one IPv6 customer has whole.
pub fn counted_as(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !(u128::from(u64::MAX)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn one_key_from_header_or_body() {
        let key = |text: &str| Presented::Key(Cow::Owned(text.to_owned()));
        let one = headers(&[("x-api-key", " k1 ")]);
        assert_eq!(presented(&one, None), key("k1"));
        assert_eq!(presented(&one, Some("\"k1\"")), key("k1"));
        assert_eq!(presented(&one, Some("\" \"")), key("k1"));
        assert_eq!(presented(&one, Some("\"k2\"")), Presented::Differing);
        assert_eq!(presented(&one, Some("5")), Presented::Differing);
        let none = headers(&[("authorization", "k1"), ("x-api-key", "")]);
        assert_eq!(presented(&none, None), Presented::None);
        assert_eq!(presented(&none, Some("\"k2\"")), key("k2"));
        assert_eq!(presented(&none, Some("5")), Presented::Unusable);
        let two = headers(&[("x-api-key", "k1"), ("x-api-key", "k2")]);
        assert_eq!(presented(&two, None), Presented::Unusable);
    }

    #[test]
    fn forwarded_addresses_count_from_proxies_only() {
        let proxies = [Network::parse("10.0.0.0/8").unwrap(), Network::parse("fd00::/8").unwrap()];
        let ask = |peer: &str, forwarded: &[&str]| {
            let pairs: Vec<_> = forwarded.iter().map(|value| ("x-forwarded-for", *value)).collect();
            client_address(peer.parse().unwrap(), &headers(&pairs), &proxies).to_string()
        };
        assert_eq!(ask("198.51.100.1:9", &["203.0.113.7"]), "198.51.100.1");
        assert_eq!(ask("10.0.0.1:9", &["203.0.113.7"]), "203.0.113.7");
        assert_eq!(ask("10.0.0.1:9", &["1.1.1.1, 203.0.113.7, 10.2.2.2"]), "203.0.113.7");
        assert_eq!(ask("10.0.0.1:9", &["1.1.1.1", "203.0.113.7:80", "[fd00::1]:443"]), "203.0.113.7");
        assert_eq!(ask("10.0.0.1:9", &["1.1.1.1, unknown, 10.2.2.2"]), "10.2.2.2");
        assert_eq!(ask("10.0.0.1:9", &[]), "10.0.0.1");
        assert_eq!(ask("[::ffff:10.0.0.1]:9", &["203.0.113.7"]), "203.0.113.7");
    }

    #[test]
    fn an_ipv6_customer_is_one_client() {
        let a = counted_as("2001:db8:1:2:3::4".parse().unwrap());
        assert_eq!(a, counted_as("2001:db8:1:2:ffff::1".parse().unwrap()));
        assert_ne!(a, counted_as("2001:db8:1:3::1".parse().unwrap()));
    }
}
