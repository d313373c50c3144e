//! The `[mail]` part of the configuration: the recipients of alerts, the name servers that are asked for the
//! keys of signatures, when a silent intake raises an alarm, and where mails come from.
//!
//! Checked like every other part: each mistake names its key. Called by `config` alone.

use std::net::{IpAddr, SocketAddr};

use serde::Deserialize;

use super::durations::{Given, span};
use super::imap::{self, ImapServer, RawImap};
use super::one_or_more::OneOrMore;
use super::smtp::{RawSmtp, Smtp};
use super::{ConfigError, TlsFiles, wrong};
use crate::domain::account::is_full_account_number;
use crate::domain::time::Span;

/// Addresses one installation may name as recipients.
const RECIPIENTS_MAX: usize = 100;
/// Name servers one installation may name.
const SERVERS_MAX: usize = 8;
/// Where a name server listens when no port is given.
const DNS_PORT: u16 = 53;

/// How mails come in and what is asked of them.
#[derive(Clone, Debug)]
pub struct Mail {
    /// Addresses the banks send alerts to, lower case; empty: not checked.
    pub recipients: Vec<String>,
    /// Those of them to which the alerts of one account go, and no others, with its number.
    pub of_accounts: Vec<(String, String)>,
    /// Name servers asked for the keys of signatures; empty: the system's.
    pub dns: Vec<SocketAddr>,
    /// An intake that could not read for this long raises an alarm.
    pub alarm_after: Span,
    /// A listener for mails; `None`: there is none.
    pub smtp: Option<Smtp>,
    /// Mailboxes that are read.
    pub imap: Vec<ImapServer>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawMail {
    recipients: OneOrMore,
    dns: OneOrMore,
    alarm_after: Option<Given>,
    smtp: RawSmtp,
    imap: Vec<RawImap>,
}

impl RawMail {
    /// `server_tls`: the certificate of the main listener, for listeners without one of their own.
    pub(super) fn check(self, server_tls: Option<&TlsFiles>, dev: bool) -> Result<Mail, ConfigError> {
        let recipients = self.recipients.list();
        if recipients.len() > RECIPIENTS_MAX {
            return Err(ConfigError(format!("mail.recipients has more than {RECIPIENTS_MAX} addresses")));
        }
        let dns = self.dns.list();
        if dns.len() > SERVERS_MAX {
            return Err(ConfigError(format!("mail.dns has more than {SERVERS_MAX} servers")));
        }
        let alarm_after = span("mail.alarm_after", self.alarm_after, Span::minutes(15))?;
        if alarm_after < Span::minutes(1) {
            return Err(ConfigError("mail.alarm_after must be at least 1m".into()));
        }
        let (mut all, mut of_accounts) = (Vec::new(), Vec::new());
        for text in &recipients {
            let (address, account) = recipient(text)?;
            of_accounts.extend(account.map(|number| (address.clone(), number)));
            all.push(address);
        }
        Ok(Mail {
            recipients: all,
            of_accounts,
            dns: dns.iter().map(|text| server(text)).collect::<Result<_, _>>()?,
            alarm_after,
            smtp: self.smtp.check(server_tls, !recipients.is_empty(), dev)?,
            imap: imap::check(self.imap)?,
        })
    }
}

/// An address, and behind it perhaps the number of the account whose alerts go to it.
fn recipient(entry: &str) -> Result<(String, Option<String>), ConfigError> {
    let (text, account) =
        entry.split_once(' ').map_or((entry, None), |(text, rest)| (text, Some(rest.trim())));
    if account.is_some_and(|number| !is_full_account_number(number)) {
        let wanted =
            "an address, or an address and the ten digits of its account: \"alerts@shop.example 0123456789\"";
        return Err(wrong("mail.recipients", entry, wanted));
    }
    let account = account.map(str::to_owned);
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '<' | '>' | ',' | ';' | '"');
    match text.split_once('@') {
        Some((local, domain))
            if !local.is_empty()
                && domain.contains('.')
                && !domain.contains('@')
                && text.chars().all(plain) =>
        {
            Ok((text.to_ascii_lowercase(), account))
        }
        _ => Err(wrong("mail.recipients", text, "an address such as alerts@shop.example")),
    }
}

/// `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1`, `[2001:db8::1]:53`.
fn server(text: &str) -> Result<SocketAddr, ConfigError> {
    text.parse::<IpAddr>()
        .map(|ip| SocketAddr::new(ip, DNS_PORT))
        .or_else(|_| text.parse())
        .map_err(|_| wrong("mail.dns", text, "a name server's address such as 192.0.2.1 or 192.0.2.1:53"))
}
