//! Configuration: file, then environment; every key checked, the first mistake named.
//!
//! Environment variables are `TILLBELL_SECTION__KEY`, for instance `TILLBELL_SERVER__LISTEN`, or
//! `TILLBELL_MAIL__SMTP__LISTEN` for a section in a section.
//! A value there is read as TOML where it is a number, a boolean or a list, else as a string.
//! Unknown keys are refused: a misspelt `late_windows` must not silently mean the default.

use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

use crate::domain::address::Network;
use crate::domain::money::Money;
use crate::domain::time::Span;

mod database;
mod durations;
mod environment;
mod exposed;
mod imap;
mod mail;
mod notify;
mod one_or_more;
mod pages;
mod payouts;
mod redis;
mod retention;
mod server;
mod smtp;
mod users;
mod wallet;
mod warnings;
mod websites;
mod whatsapp;

use durations::{Given, span};

pub use database::Database;
pub use durations::parse_span;
pub use environment::Origin;
pub use exposed::secrets_in;
pub use imap::{ImapSecret, ImapServer, ImapTls};
pub use mail::Mail;
pub use notify::{MailServer, MailTls, Notify};
pub use pages::Pages;
pub use payouts::Payouts;
pub use retention::Retention;
pub use server::{Server, TlsFiles};
pub use smtp::{Smtp, SmtpAddress, SmtpProtocol};
pub use users::{Registration, Users};
pub use wallet::Wallet;
pub use websites::Websites;
pub use whatsapp::{MessengerChoice, Templates, WebhookSecrets, WhatsApp};

/// Everything an operator can set, checked.
#[derive(Clone, Debug)]
pub struct Config {
    pub database: Database,
    pub server: Server,
    pub secret: Secret,
    pub payments: Payments,
    pub payouts: Payouts,
    pub webhooks: Webhooks,
    pub wallet: Wallet,
    pub pages: Pages,
    pub users: Users,
    /// How mails go to people who sign in, and who hears of alarms.
    pub notify: Notify,
    pub websites: Websites,
    /// How messages go to customers.
    pub messenger: MessengerChoice,
    pub limits: Limits,
    /// Where nodes share their rate limits; `None`: each counts for itself.
    pub redis_url: Option<SecretString>,
    pub retention: Retention,
    /// A folder of templates that add to or replace the built-in ones.
    pub banks_folder: Option<PathBuf>,
    pub mail: Mail,
    pub log_format: LogFormat,
}

/// Where the key that seals secrets in the database comes from.
#[derive(Clone, Debug)]
pub enum Secret {
    /// 32 bytes in hexadecimal, for several nodes.
    Key(SecretString),
    /// A file, made by the first `serve` or `migrate`.
    File(PathBuf),
}

#[derive(Clone, Debug)]
pub struct Payments {
    pub expiry: Span,
    pub late_window: Span,
    pub max_amount: Money,
}

#[derive(Clone, Debug)]
pub struct Webhooks {
    /// Wait before each attempt, counted from the one before; the first is usually zero.
    pub retry_schedule: Vec<Span>,
    pub timeout: Span,
    pub allow_networks: Vec<Network>,
    /// PEM file of authorities to trust in addition to the machine's.
    pub extra_ca_file: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct Limits {
    pub requests_per_minute: u32,
    pub wallet_requests_per_minute: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Pretty on a terminal, else JSON.
    Auto,
    Pretty,
    Json,
}

/// A mistake in the configuration: which key, what is wrong, what would be right.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

/// What the parser says, with the place: its own text draws an arrow under the line, and ours is one line.
fn syntax(file: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| file.get(..span.start)).unwrap_or_default();
    let (line, column) = (before.split('\n').count(), before.rsplit('\n').next().unwrap_or_default());
    format!("line {line}, column {}: {}", column.chars().count() + 1, error.message())
}

/// Without the names of Rust's kinds of numbers and lists.
fn in_plain_words(text: &str) -> String {
    let text = ["expected u16", "expected u32"]
        .iter()
        .fold(text.trim_end().to_owned(), |text, kind| text.replace(kind, "expected a whole number"));
    text.replace("expected a sequence", "expected a list in brackets").replace('\n', " ")
}

fn wrong(key: &str, value: &str, wanted: &str) -> ConfigError {
    ConfigError(format!("{key} = {value:?} is not {wanted}"))
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
struct RawConfig {
    database: database::RawDatabase,
    server: server::RawServer,
    secret: RawSecret,
    payments: RawPayments,
    payouts: payouts::RawPayouts,
    webhooks: RawWebhooks,
    wallet: wallet::RawWallet,
    pages: pages::RawPages,
    users: users::RawUsers,
    notify: notify::RawNotify,
    websites: websites::RawWebsites,
    messenger: Option<String>,
    whatsapp: Option<whatsapp::RawWhatsApp>,
    limits: RawLimits,
    redis: redis::RawRedis,
    retention: retention::RawRetention,
    banks: RawBanks,
    mail: mail::RawMail,
    log: RawLog,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
struct RawSecret {
    key: Option<String>,
    key_file: Option<PathBuf>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
struct RawPayments {
    expiry: Option<Given>,
    late_window: Option<Given>,
    max_amount: Option<toml::Value>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
struct RawWebhooks {
    retry_schedule: Option<Vec<Given>>,
    timeout: Option<Given>,
    allow_networks: Vec<String>,
    extra_ca_file: Option<PathBuf>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
struct RawLimits {
    requests_per_minute: Option<u32>,
    wallet_requests_per_minute: Option<u32>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
struct RawBanks {
    folder: Option<PathBuf>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
struct RawLog {
    format: Option<String>,
}

/// 0 would silently refuse every request.
fn rate(key: &str, given: Option<u32>, default: u32) -> Result<u32, ConfigError> {
    match given {
        Some(0) => Err(ConfigError(format!("{key} = 0 would refuse every request; it must be at least 1"))),
        given => Ok(given.unwrap_or(default)),
    }
}

fn address(key: &str, text: &str) -> Result<SocketAddr, ConfigError> {
    text.parse().map_err(|_| wrong(key, text, "an address such as 127.0.0.1:8080 or [::1]:8080"))
}

fn networks(key: &str, texts: &[String]) -> Result<Vec<Network>, ConfigError> {
    texts
        .iter()
        .map(|text| Network::parse(text).ok_or_else(|| wrong(key, text, "a network such as 10.0.0.0/8")))
        .collect()
}

impl Config {
    /// Reads `file` (TOML text, empty for none), overlays `environment`, checks everything.
    pub fn load(
        file: &str,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Config, ConfigError> {
        Config::read(file, environment, &[])
    }

    /// The same without the settings for mails: for a command that does not use mails, so that a mistake in
    /// them does not stop it.
    pub fn load_without_mail(
        file: &str,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Config, ConfigError> {
        Config::read(file, environment, &["mail"])
    }

    fn read(
        file: &str,
        environment: impl Iterator<Item = (String, String)>,
        passed_over: &[&str],
    ) -> Result<Config, ConfigError> {
        let mut table: toml::Table =
            toml::from_str(file).map_err(|error| ConfigError(syntax(file, &error)))?;
        let is_named = |table: &toml::Table| table.get("database").is_some_and(|d| d.get("url").is_some());
        let mut origin = if is_named(&table) { Origin::File } else { Origin::Default };
        let mut variables = Vec::new();
        for (name, value) in environment {
            if environment::is_database_url(&name) {
                origin = Origin::Environment;
            }
            environment::overlay(&mut table, &name, value)?;
            variables.push(name);
        }
        for section in passed_over {
            table.remove(*section);
        }
        imap::refuse_table(&table)?;
        let checked = RawConfig::deserialize(toml::Value::Table(table))
            .map_err(|error| ConfigError(in_plain_words(&error.to_string())))
            .and_then(|raw| Config::check(raw, origin));
        checked.map_err(|error| environment::with_variables(error, &variables))
    }

    fn check(raw: RawConfig, database_origin: Origin) -> Result<Config, ConfigError> {
        let database = raw.database.check(database_origin)?;
        let secret = match (raw.secret.key, raw.secret.key_file) {
            (Some(_), Some(_)) => {
                return Err(ConfigError("set secret.key or secret.key_file, not both".into()));
            }
            (Some(key), None) if key.len() != 64 || !key.bytes().all(|b| b.is_ascii_hexdigit()) => {
                return Err(ConfigError("secret.key must be 64 hexadecimal digits (32 bytes)".into()));
            }
            (Some(key), None) => Secret::Key(key.into()),
            (None, Some(file)) => Secret::File(file),
            (None, None) => Secret::File(key_file_beside(database.url())),
        };
        let server = raw.server.check()?;
        let notify = raw.notify.check(server.dev)?;
        let users = raw.users.check(server.dev, notify.smtp.is_some())?;
        Ok(Config {
            mail: raw.mail.check(server.tls.as_ref(), server.dev)?,
            messenger: whatsapp::messenger(raw.messenger, raw.whatsapp, server.dev)?,
            server,
            secret,
            payments: payments(raw.payments)?,
            payouts: raw.payouts.check()?,
            webhooks: webhooks(raw.webhooks)?,
            wallet: raw.wallet.check()?,
            pages: raw.pages.check()?,
            users,
            notify,
            websites: raw.websites.check(),
            limits: Limits {
                requests_per_minute: rate("limits.requests_per_minute", raw.limits.requests_per_minute, 60)?,
                wallet_requests_per_minute: rate(
                    "limits.wallet_requests_per_minute",
                    raw.limits.wallet_requests_per_minute,
                    30,
                )?,
            },
            redis_url: raw.redis.check()?,
            retention: raw.retention.check()?,
            banks_folder: raw.banks.folder,
            log_format: match raw.log.format.as_deref() {
                None => LogFormat::Auto,
                Some("pretty") => LogFormat::Pretty,
                Some("json") => LogFormat::Json,
                Some(other) => return Err(wrong("log.format", other, "pretty or json")),
            },
            database,
        })
    }

    /// The URL, for opening the store only.
    pub fn database_url(&self) -> &str {
        self.database.url()
    }
}

fn key_file_beside(database_url: &str) -> PathBuf {
    match database_url.strip_prefix("sqlite:") {
        Some(path) => PathBuf::from(format!("{}.key", path.trim_start_matches("//"))),
        None => PathBuf::from("tillbell.key"),
    }
}

fn payments(raw: RawPayments) -> Result<Payments, ConfigError> {
    let max_amount =
        payouts::amount("payments.max_amount", raw.max_amount, "an amount in quotes, \"999999999.99\"")?
            .unwrap_or(Money(99_999_999_999));
    // Beyond this, an amount with charges of 100 % twice over could leave the range of an i64.
    if !max_amount.is_positive() || max_amount > Money(1_000_000_000_000_000) {
        return Err(wrong(
            "payments.max_amount",
            &max_amount.to_string(),
            "between 0.01 and 10000000000000.00",
        ));
    }
    let expiry = span("payments.expiry", raw.expiry, Span::hours(24))?;
    if expiry <= Span(0) {
        return Err(ConfigError("payments.expiry must be longer than 0s".into()));
    }
    Ok(Payments {
        expiry,
        late_window: span("payments.late_window", raw.late_window, Span::hours(24))?,
        max_amount,
    })
}

fn webhooks(raw: RawWebhooks) -> Result<Webhooks, ConfigError> {
    let retry_schedule = match raw.retry_schedule {
        None => crate::domain::webhook::RETRY_SCHEDULE.to_vec(),
        Some(texts) if texts.is_empty() => {
            return Err(ConfigError("webhooks.retry_schedule must have at least one attempt".into()));
        }
        Some(texts) => texts
            .into_iter()
            .map(|text| span("webhooks.retry_schedule", Some(text), Span(0)))
            .collect::<Result<_, _>>()?,
    };
    let timeout = span("webhooks.timeout", raw.timeout, Span::seconds(15))?;
    if timeout < Span::millis(100) || timeout > Span::seconds(60) {
        return Err(ConfigError("webhooks.timeout must be between 100ms and 60s".into()));
    }
    Ok(Webhooks {
        retry_schedule,
        timeout,
        allow_networks: networks("webhooks.allow_networks", &raw.allow_networks)?,
        extra_ca_file: raw.extra_ca_file,
    })
}

#[cfg(test)]
mod tests;
