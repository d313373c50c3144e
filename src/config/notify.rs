//! The `[notify]` part of the configuration: how mails go to people who sign in, and who hears of alarms.
//!
//! Called by `config` alone.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;
use url::{Host, Url};

use super::{ConfigError, wrong};
use crate::domain::notice::NoticeKind;
use crate::domain::user::normal_email;

/// People who hear of alarms.
const OPERATORS_MAX: usize = 20;

#[derive(Clone, Debug, Default)]
pub struct Notify {
    /// The server that takes our mails; `None`: none are sent.
    pub smtp: Option<MailServer>,
    /// Who hears of alarms by mail.
    pub operators: Vec<String>,
    /// Where alarms are posted to as `{"text": "..."}`; it may hold a token.
    pub webhook_url: Option<SecretString>,
    /// Alarms that are not sent; the desk and the metrics have them all the same.
    pub off: Vec<NoticeKind>,
}

/// A mail server that takes our mails for everybody.
#[derive(Clone, Debug)]
pub struct MailServer {
    pub host: String,
    pub port: u16,
    pub tls: MailTls,
    pub login: Option<(String, SecretString)>,
    /// Whom mails come from, such as `pay@example.com`.
    pub from: String,
    /// A private authority (PEM), in place of the machine's store.
    pub ca_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailTls {
    /// From the first byte (`smtps://`).
    Tls,
    /// By STARTTLS, and not without (`smtp://`).
    Starttls,
    /// None: only on this machine.
    None,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawNotify {
    smtp_url: Option<String>,
    from: Option<String>,
    ca_file: Option<PathBuf>,
    operators: Vec<String>,
    webhook_url: Option<String>,
    off: Vec<String>,
}

impl RawNotify {
    pub(super) fn check(self, dev: bool) -> Result<Notify, ConfigError> {
        if self.operators.len() > OPERATORS_MAX {
            return Err(ConfigError(format!("notify.operators names more than {OPERATORS_MAX} people")));
        }
        if self.smtp_url.is_none() && (!self.operators.is_empty() || self.from.is_some()) {
            return Err(ConfigError(
                "notify.operators and notify.from need notify.smtp_url, the server that takes the mails"
                    .into(),
            ));
        }
        let operators = self.operators.iter().map(|text| email("notify.operators", text));
        let off = self.off.iter().map(|word| {
            let alarm = NoticeKind::parse(word).filter(|kind| NoticeKind::ALARMS.contains(kind));
            let names = NoticeKind::ALARMS.map(NoticeKind::as_str).join(", ");
            alarm.ok_or_else(|| wrong("notify.off", word, &format!("an alarm; there are {names}")))
        });
        Ok(Notify {
            operators: operators.collect::<Result<_, _>>()?,
            webhook_url: self.webhook_url.map(|url| webhook(url, dev)).transpose()?,
            off: off.collect::<Result<_, _>>()?,
            smtp: self.smtp_url.map(|url| server(&url, self.from.as_deref(), self.ca_file)).transpose()?,
        })
    }
}

fn email(key: &str, text: &str) -> Result<String, ConfigError> {
    normal_email(text).ok_or_else(|| wrong(key, text, "an e-mail address such as ops@example.com"))
}

/// Never shown: it may hold a password.
fn server(text: &str, from: Option<&str>, ca_file: Option<PathBuf>) -> Result<MailServer, ConfigError> {
    const WANTED: &str = "smtps://USER:PASSWORD@mail.example.com, or smtp:// for STARTTLS";
    let refused = |why: &str| ConfigError(format!("notify.smtp_url {why}; it is such as {WANTED}"));
    let url = Url::parse(text).map_err(|_| refused("is no address"))?;
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    // Of a scheme that the standard of URLs does not know, an address comes as a name.
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let is_loopback = is_loopback || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if host.is_empty() {
        return Err(refused("names no server"));
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err(refused("has something behind the server"));
    }
    let tls = match url.scheme() {
        "smtps" => MailTls::Tls,
        "smtp" if is_loopback => MailTls::None,
        "smtp" => MailTls::Starttls,
        _ => return Err(refused("must begin with smtps:// or smtp://")),
    };
    let port = url.port().unwrap_or(match tls {
        MailTls::Tls => 465,
        MailTls::Starttls => 587,
        MailTls::None => 25,
    });
    let plain = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let login = match (url.username(), url.password()) {
        ("", None) => None,
        (user, Some(password)) if !user.is_empty() => Some((plain(user), plain(password).into())),
        _ => return Err(refused("needs a user and a password, or neither")),
    };
    let from = from.ok_or_else(|| {
        ConfigError("notify.smtp_url needs notify.from, the address that mails come from".into())
    })?;
    Ok(MailServer { host, port, tls, login, from: email("notify.from", from)?, ca_file })
}

fn webhook(text: String, dev: bool) -> Result<SecretString, ConfigError> {
    let refused = |why: &str| ConfigError(format!("notify.webhook_url {why}"));
    let url =
        Url::parse(&text).map_err(|_| refused("is no address such as https://hooks.example.com/T0/B0"))?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(refused("names no server"));
    }
    match url.scheme() {
        "https" => Ok(text.into()),
        "http" if dev => Ok(text.into()),
        _ => Err(refused("must begin with https://")),
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn checked(toml: &str) -> Result<Notify, String> {
        let raw: RawNotify = toml::from_str(toml).unwrap();
        raw.check(false).map_err(|error| error.to_string())
    }

    #[test]
    fn a_mail_server_is_an_address_and_whom_mails_come_from() {
        let server = |url: &str| {
            let text = format!(
                "smtp_url = {url:?}\nfrom = \"Till@Kudu.example\"\noperators = [\"Ops@kudu.example\"]"
            );
            checked(&text).map(|notify| (notify.smtp.unwrap(), notify.operators))
        };
        let (far, operators) = server("smtps://till%40kudu:p%2Fw@mail.kudu.example").unwrap();
        assert_eq!((far.host.as_str(), far.port, far.tls), ("mail.kudu.example", 465, MailTls::Tls));
        let (user, password) = far.login.unwrap();
        assert_eq!((user.as_str(), password.expose_secret()), ("till@kudu", "p/w"));
        assert_eq!(
            (far.from.as_str(), operators),
            ("till@kudu.example", vec!["ops@kudu.example".to_owned()])
        );
        let (starttls, _) = server("smtp://mail.kudu.example").unwrap();
        assert_eq!(
            (starttls.port, starttls.tls),
            (587, MailTls::Starttls),
            "never in the clear over a network"
        );
        for own in ["smtp://localhost:2525", "smtp://127.0.0.1:2525/", "smtp://[::1]:2525"] {
            let (own, _) = server(own).unwrap();
            assert_eq!((own.port, own.tls), (2525, MailTls::None));
        }
        for (wrong, why) in [
            ("mail.kudu.example", "is no address"),
            ("https://mail.kudu.example", "must begin with smtps:// or smtp://"),
            ("smtps://user@mail.kudu.example", "needs a user and a password"),
            ("smtps://mail.kudu.example/?tls=none", "has something behind the server"),
            ("smtps:///", "names no server"),
        ] {
            let said = server(wrong).unwrap_err();
            assert!(said.starts_with("notify.smtp_url ") && said.contains(why), "{wrong}: {said}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_secrets() {
        for (toml, said) in [
            ("operators = [\"ops@kudu.example\"]", "need notify.smtp_url"),
            ("smtp_url = \"smtps://mail.kudu.example\"", "needs notify.from"),
            (
                "smtp_url = \"smtps://m.example\"\nfrom = \"pay\"",
                "notify.from = \"pay\" is not an e-mail address",
            ),
            ("webhook_url = \"http://hooks.example/secret\"", "must begin with https://"),
            ("webhook_url = \"hooks\"", "is no address"),
            ("off = [\"silence\"]", "there are alert_undecided, money_taken_back"),
            ("off = [\"key_expiring\"]", "is not an alarm"),
        ] {
            let error = checked(toml).unwrap_err();
            assert!(error.contains(said) && !error.contains("secret"), "{toml}: {error}");
        }
        let off = checked("off = [\"messenger\"]").unwrap().off;
        assert_eq!(off, [NoticeKind::Messenger]);
    }
}
