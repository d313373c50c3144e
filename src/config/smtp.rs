//! The `[mail.smtp]` part of the configuration: where mails may be handed in, and by whom.
//!
//! Off unless `listen` is set. Each mistake names its key. Called by `config` alone.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

use super::one_or_more::OneOrMore;
use super::{ConfigError, TlsFiles, networks, wrong};
use crate::domain::address::Network;

/// An MTA hands in mails over a few connections at once (Postfix: 20).
const CONNECTIONS_DEFAULT: u32 = 100;
/// Each may hold a mail of 1 MiB in memory.
const CONNECTIONS_MAX: u32 = 2_000;
/// The name in the greeting. Not the machine's: an MTA that is greeted by its own name takes it for a
/// loop and returns the mail.
const HOSTNAME_DEFAULT: &str = "tillbell";
const HOSTNAME_MAX: usize = 255;
/// This machine and private networks. To take mails from anywhere is a choice that is spelt out.
const NETWORKS_DEFAULT: [&str; 6] =
    ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];
/// A longer path does not fit into a socket's address.
const SOCKET_PATH_MAX: usize = 100;

/// A listener for mails.
#[derive(Clone, Debug)]
pub struct Smtp {
    pub listen: SmtpAddress,
    pub protocol: SmtpProtocol,
    /// What the greeting calls this server.
    pub hostname: String,
    /// For STARTTLS; `None`: it is not offered.
    pub tls: Option<TlsFiles>,
    pub max_connections: u32,
    /// Who may connect over the network.
    pub allow_networks: Vec<Network>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SmtpAddress {
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl fmt::Display for SmtpAddress {
    /// As the configuration reads it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SmtpAddress::Tcp(address) => address.fmt(out),
            SmtpAddress::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpProtocol {
    Smtp,
    /// RFC 2033: an answer for each recipient, no queue behind it.
    Lmtp,
}

impl SmtpProtocol {
    pub fn as_str(self) -> &'static str {
        match self {
            SmtpProtocol::Smtp => "smtp",
            SmtpProtocol::Lmtp => "lmtp",
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawSmtp {
    listen: Option<String>,
    protocol: Option<String>,
    hostname: Option<String>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    max_connections: Option<u32>,
    allow_networks: Option<OneOrMore>,
}

impl RawSmtp {
    /// `server_tls`: used where no certificate of its own is given. `has_recipients`: whether
    /// `mail.recipients` is set.
    pub(super) fn check(
        self,
        server_tls: Option<&TlsFiles>,
        has_recipients: bool,
        dev: bool,
    ) -> Result<Option<Smtp>, ConfigError> {
        let tls = match (self.tls_cert, self.tls_key) {
            (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
            (None, None) => server_tls.cloned(),
            _ => {
                return Err(ConfigError(
                    "mail.smtp.tls_cert and mail.smtp.tls_key must be set together".into(),
                ));
            }
        };
        let protocol = match self.protocol.as_deref() {
            None | Some("smtp") => SmtpProtocol::Smtp,
            Some("lmtp") => SmtpProtocol::Lmtp,
            Some(other) => return Err(wrong("mail.smtp.protocol", other, "smtp or lmtp")),
        };
        let max_connections = self.max_connections.unwrap_or(CONNECTIONS_DEFAULT);
        if !(1..=CONNECTIONS_MAX).contains(&max_connections) {
            let wanted = format!("between 1 and {CONNECTIONS_MAX}");
            return Err(wrong("mail.smtp.max_connections", &max_connections.to_string(), &wanted));
        }
        let private = networks("mail.smtp.allow_networks", &NETWORKS_DEFAULT.map(str::to_owned))?;
        let allow_networks = match self.allow_networks {
            None => private.clone(),
            Some(given) => networks("mail.smtp.allow_networks", &given.list())?,
        };
        let hostname = hostname(self.hostname)?;
        let Some(listen) = self.listen else { return Ok(None) };
        let listen = address(&listen)?;
        if !has_recipients && !dev {
            return Err(ConfigError(
                "mail.smtp would accept mails for any address: set mail.recipients to the addresses that the \
                 banks send your alerts to"
                    .into(),
            ));
        }
        let is_wide = allow_networks.iter().any(|network| !private.iter().any(|inner| inner.holds(network)));
        if is_wide && !has_recipients && matches!(listen, SmtpAddress::Tcp(_)) {
            return Err(ConfigError(
                "mail.smtp.allow_networks includes public networks: set mail.recipients, or mails for any \
                 address would be stored"
                    .into(),
            ));
        }
        Ok(Some(Smtp { listen, protocol, hostname, tls, max_connections, allow_networks }))
    }
}

fn address(text: &str) -> Result<SmtpAddress, ConfigError> {
    let wanted = "an address such as 127.0.0.1:2525, or a socket such as unix:/run/tillbell/lmtp";
    match text.strip_prefix("unix:") {
        Some(path) if path.starts_with('/') && path.len() <= SOCKET_PATH_MAX => {
            Ok(SmtpAddress::Unix(path.into()))
        }
        Some(_) => Err(wrong("mail.smtp.listen", text, "an absolute path of at most 100 bytes")),
        None => text.parse().map(SmtpAddress::Tcp).map_err(|_| wrong("mail.smtp.listen", text, wanted)),
    }
}

/// It goes into the protocol as it stands, so nothing but letters of host names may be in it.
fn hostname(given: Option<String>) -> Result<String, ConfigError> {
    let name = given.unwrap_or_else(|| HOSTNAME_DEFAULT.to_owned());
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let is_good = !name.is_empty() && name.len() <= HOSTNAME_MAX && name.chars().all(plain);
    if is_good {
        Ok(name)
    } else {
        Err(wrong("mail.smtp.hostname", &name, "a host name such as mx.shop.example"))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, SmtpAddress, SmtpProtocol};

    fn load(text: &str) -> Result<Config, String> {
        Config::load(text, std::iter::empty()).map_err(|error| error.to_string())
    }

    #[test]
    fn off_unless_it_is_told_where_to_listen() {
        assert!(load("").unwrap().mail.smtp.is_none());
        assert!(load("[mail.smtp]\nprotocol = \"lmtp\"").unwrap().mail.smtp.is_none());
    }

    #[test]
    fn defaults_and_settings() {
        let smtp = "[mail]\nrecipients = \"a@b.example\"\n[mail.smtp]\nlisten = \"127.0.0.1:0\"";
        let smtp = load(smtp).unwrap().mail.smtp.unwrap();
        assert_eq!((smtp.protocol, smtp.hostname.as_str()), (SmtpProtocol::Smtp, "tillbell"));
        assert!(smtp.tls.is_none());
        let inside = |ip: &str| smtp.allow_networks.iter().any(|n| n.contains(ip.parse().unwrap()));
        assert!(inside("127.0.0.1") && inside("172.31.1.1") && inside("::1") && !inside("192.0.2.1"));

        let text = "[server]\ntls_cert = \"a.pem\"\ntls_key = \"a.key\"\n[mail]\nrecipients = [\"a@b.example\"]\n\
                    [mail.smtp]\nlisten = \"unix:/run/tillbell/lmtp\"\nprotocol = \"lmtp\"\n\
                    allow_networks = [\"0.0.0.0/0\"]";
        let smtp = load(text).unwrap().mail.smtp.unwrap();
        assert_eq!(smtp.listen, SmtpAddress::Unix("/run/tillbell/lmtp".into()));
        assert_eq!(smtp.listen.to_string(), "unix:/run/tillbell/lmtp");
        assert_eq!(smtp.tls.unwrap().cert.to_str(), Some("a.pem"));
    }

    #[test]
    fn the_environment_reaches_it() {
        let environment = [
            ("TILLBELL_MAIL__SMTP__LISTEN", "127.0.0.1:2525"),
            ("TILLBELL_MAIL__RECIPIENTS", "a@b.example"),
            ("TILLBELL_MAIL__SMTP__MAX_CONNECTIONS", "7"),
        ];
        let environment = environment.map(|(a, b)| (a.to_owned(), b.to_owned()));
        let config = Config::load("[mail.smtp]\nprotocol = \"lmtp\"", environment.into_iter()).unwrap();
        let smtp = config.mail.smtp.unwrap();
        assert_eq!((smtp.max_connections, smtp.protocol), (7, SmtpProtocol::Lmtp));
        assert_eq!(smtp.listen.to_string(), "127.0.0.1:2525");
    }

    #[test]
    fn whose_mails_it_takes_must_be_told_outside_of_development() {
        for listen in ["127.0.0.1:2525", "unix:/run/tillbell/lmtp"] {
            let text = format!("[mail.smtp]\nlisten = \"{listen}\"");
            assert!(load(&text).unwrap_err().contains("set mail.recipients"), "{listen}");
            assert!(load(&format!("{text}\n[server]\ndev = true")).is_ok(), "{listen}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("listen = \"2525\"", "mail.smtp.listen"),
            ("listen = \"unix:lmtp\"", "absolute path"),
            ("protocol = \"esmtp\"", "mail.smtp.protocol"),
            ("hostname = \"a b\"", "mail.smtp.hostname"),
            ("hostname = \"a\\r\\n250 x\"", "mail.smtp.hostname"),
            ("max_connections = 0", "mail.smtp.max_connections"),
            ("allow_networks = [\"10.0.0.0/40\"]", "mail.smtp.allow_networks"),
            ("tls_key = \"a\"", "must be set together"),
            ("listen = \"0.0.0.0:25\"\nallow_networks = [\"0.0.0.0/0\"]", "mail.recipients"),
            ("port = 25", "port"),
        ] {
            let error = load(&format!("[mail.smtp]\n{text}")).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
