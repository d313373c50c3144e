//! Settings that are allowed and stand wide open: said at every start, in words that name the key.
//!
//! Nothing is refused here; an operator may have a firewall that this program knows nothing of. Pure.
//! Called by `serve`.

use std::net::IpAddr;

use super::Config;
use crate::domain::address::{AddressPolicy, Network, refusal};

/// Blocks larger than these hold far more than anybody's own network: 10.0.0.0/8, fc00::/7.
const OWN_V4: u8 = 8;
const OWN_V6: u8 = 7;
/// Nobody's proxies fill more of IPv6.
const PROXIES_V6: u8 = 16;

impl Config {
    /// What should be said of the settings before the service faces anybody.
    pub fn warnings(&self) -> Vec<String> {
        let mut said = Vec::new();
        if let Some(address) = self.server.operator_listen.filter(|address| is_public(address.ip())) {
            said.push(format!(
                "server.operator_listen = {address} is open to the network, without a key and without TLS: \
                 anyone who reaches it can read the metrics. Use a loopback or private address"
            ));
        }
        let proxies = self.server.trusted_proxies.iter();
        let open = |one: &&Network| one.is_larger_than(OWN_V4, PROXIES_V6) || is_public(one.base());
        if let Some(open) = proxies.into_iter().find(open) {
            said.push(format!(
                "server.trusted_proxies contains {open}: whoever connects from there may send API keys over plain HTTP \
                 and can pretend any client address, which the rate limits count by. List only the private addresses \
                 of your own proxies"
            ));
        }
        if let Some(wide) = widest(&self.webhooks.allow_networks) {
            said.push(format!(
                "webhooks.allow_networks contains {wide}: webhooks may go to this machine and to every \
                 private network, and merchants choose where webhooks go. List only the networks of your own \
                 receivers"
            ));
        }
        let smtp = self.mail.smtp.as_ref();
        if let Some(wide) = smtp.and_then(|smtp| widest(&smtp.allow_networks)) {
            said.push(format!(
                "mail.smtp.allow_networks contains {wide}: anyone may connect and fill the database with \
                 mails. List only the networks that send you mails"
            ));
        }
        said
    }
}

impl Config {
    /// What customers' links lack where no address is set under which the pages are reached; `None` in dev mode.
    pub fn unreachable_links(&self) -> Option<String> {
        let server = &self.server;
        let ip = server.listen.ip();
        let is_reached = server.tls.is_some() && !ip.is_unspecified() && !ip.is_loopback();
        if server.dev || server.public_url.is_some() || is_reached {
            return None;
        }
        let scheme = if server.tls.is_some() { "https" } else { "http" };
        Some(format!(
            "wallets are on, but server.public_url is not set: links that customers get begin with \
             {scheme}://{}, which nobody can open elsewhere. Set it to the https address under which customers reach \
             the pages",
            server.listen
        ))
    }
}

fn widest(networks: &[Network]) -> Option<&Network> {
    networks.iter().find(|network| network.is_larger_than(OWN_V4, OWN_V6))
}

/// The address, or one of those it stands for, is one that strangers may reach.
fn is_public(ip: IpAddr) -> bool {
    ip.is_unspecified() || refusal(ip.to_canonical(), &AddressPolicy::default()).is_none()
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn said(text: &str) -> Vec<String> {
        Config::load(text, std::iter::empty()).unwrap().warnings()
    }

    #[test]
    fn a_listener_that_strangers_reach_is_told_by_its_address() {
        for (address, is_told) in [
            ("127.0.0.1:9", false),
            ("[::1]:9", false),
            ("10.1.2.3:9", false),
            ("192.168.0.4:9", false),
            ("100.64.0.1:9", false),
            ("[fd00::1]:9", false),
            ("[fe80::1]:9", false),
            ("0.0.0.0:9", true),
            ("[::]:9", true),
            ("8.8.8.8:9", true),
            ("[2606:4700::1]:9", true),
            ("[::ffff:8.8.8.8]:9", true),
            ("[::ffff:10.0.0.1]:9", false),
        ] {
            let said = said(&format!("[server]\noperator_listen = \"{address}\""));
            assert_eq!(said.len(), usize::from(is_told), "{address}: {said:?}");
            assert!(said.iter().all(|words| words.contains("server.operator_listen = ")), "{said:?}");
        }
    }

    #[test]
    fn links_need_an_address_that_customers_reach() {
        let told = |server: &str| {
            let config = Config::load(&format!("[server]\n{server}"), std::iter::empty()).unwrap();
            config.unreachable_links()
        };
        let proxied = "listen = \"0.0.0.0:8080\"\ntrusted_proxies = [\"10.0.0.0/8\"]\n";
        let tls = "tls_cert = \"a.pem\"\ntls_key = \"a.key\"\n";
        assert!(told(proxied).unwrap().contains("begin with http://0.0.0.0:8080, which nobody can open"));
        assert!(told("").unwrap().contains("http://127.0.0.1:8080"));
        assert!(told(&format!("{tls}listen = \"[::]:443\"")).unwrap().contains("https://[::]:443"));
        assert_eq!(told(&format!("{tls}listen = \"203.0.113.9:443\"")), None);
        assert_eq!(told(&format!("{proxied}public_url = \"https://pay.tills.example\"")), None);
        assert_eq!(told("dev = true"), None);
    }

    #[test]
    fn proxies_that_strangers_may_be_are_told() {
        for (network, is_told) in [
            ("10.0.0.0/8", false),
            ("10.1.2.3", false),
            ("127.0.0.0/8", false),
            ("192.168.0.0/16", false),
            ("100.64.0.0/10", false),
            ("fd00:1::/32", false),
            ("0.0.0.0/0", true),
            ("10.0.0.0/7", true),
            ("8.8.8.0/24", true),
            ("8.8.8.8", true),
            ("::/0", true),
            ("fd00::/8", true),
            ("2606:4700::/32", true),
        ] {
            let said = said(&format!("[server]\ntrusted_proxies = [\"192.168.7.1\", \"{network}\"]"));
            assert_eq!(said.len(), usize::from(is_told), "{network}: {said:?}");
            assert!(
                said.iter().all(|words| words.starts_with("server.trusted_proxies contains ")),
                "{said:?}"
            );
        }
    }

    #[test]
    fn networks_larger_than_anybodys_own_are_told() {
        for (network, is_told) in [
            ("10.0.0.0/8", false),
            ("203.0.113.7", false),
            ("fc00::/7", false),
            ("0.0.0.0/0", true),
            ("128.0.0.0/1", true),
            ("10.0.0.0/7", true),
            ("::/0", true),
            ("2000::/3", true),
        ] {
            let webhooks = said(&format!("[webhooks]\nallow_networks = [\"192.0.2.1\", \"{network}\"]"));
            let mail = said(&format!(
                "[mail]\nrecipients = \"a@b.example\"\n[mail.smtp]\nlisten = \"127.0.0.1:0\"\nallow_networks = \"{network}\""
            ));
            for (said, key) in [(webhooks, "webhooks.allow_networks"), (mail, "mail.smtp.allow_networks")] {
                assert_eq!(said.len(), usize::from(is_told), "{network}: {said:?}");
                assert!(
                    said.iter().all(|words| words.starts_with(&format!("{key} contains {network}: "))),
                    "{said:?}"
                );
            }
        }
        assert!(said("").is_empty());
    }
}
