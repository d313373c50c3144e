//! `tillbell config`: the effective configuration, secrets redacted.

use super::Desk;
use super::print::{Object, Shown};
use crate::config::{Config, ImapSecret, ImapServer, LogFormat, Mail, Notify, Secret, Smtp, WhatsApp};
use crate::domain::address::Network;
use crate::domain::money::Money;
use crate::domain::time::Span;
use crate::domain::wallet::TierLimits;

/// Stands where a secret is.
const REDACTED: &str = "(redacted)";
/// Stands where nothing was set; programs get null, or an empty list.
const NOT_SET: &str = "not set";
const OWN_ADDRESS: Shown = Shown::Absent("not set (links lead to server.listen)");

pub(super) fn show(desk: &Desk) -> anyhow::Result<()> {
    let all = sections(&desk.config);
    let messenger = desk.config.messenger.as_str();
    let file = desk.file.as_ref().map(|file| file.path.display().to_string());
    if desk.printer.json {
        let first = Object::new().with("file", file).with("messenger", messenger);
        let nested = all.into_iter().fold(first, |object, (name, section)| object.with(name, section));
        return desk.printer.object(&nested);
    }
    desk.printer.line(&format!("file: {}", file.as_deref().unwrap_or(NOT_SET)))?;
    desk.printer.line(&format!("messenger: {messenger}"))?;
    for (name, section) in all {
        desk.printer.line(&format!("[{name}]"))?;
        desk.printer.object(&section.or_in_words(NOT_SET))?;
    }
    Ok(())
}

fn sections(config: &Config) -> Vec<(&'static str, Object)> {
    let server = &config.server;
    let secret = match &config.secret {
        Secret::Key(_) => Object::new().with("key", REDACTED),
        Secret::File(path) => Object::new().with("key_file", path.display().to_string()),
    };
    let tls = server.tls.as_ref();
    let retries: Vec<String> = config.webhooks.retry_schedule.iter().map(|span| told(*span)).collect();
    let mut sections = vec![
        (
            "database",
            Object::new()
                .with("url", without_password(config.database_url()))
                .with("direct_url", config.database.direct_url().map(without_password)),
        ),
        (
            "server",
            Object::new()
                .with("listen", server.listen.to_string())
                .with("operator_listen", server.operator_listen.map(|address| address.to_string()))
                .with("public_url", server.public_url.as_ref().map_or(OWN_ADDRESS, Shown::from))
                .with("trusted_proxies", networks(&server.trusted_proxies))
                .with("tls_cert", tls.map(|tls| tls.cert.display().to_string()))
                .with("tls_key", tls.map(|tls| tls.key.display().to_string()))
                .with("stop_delay", told(server.stop_delay))
                .with("dev", server.dev),
        ),
        ("secret", secret),
        (
            "payments",
            Object::new()
                .with("expiry", told(config.payments.expiry))
                .with("late_window", told(config.payments.late_window))
                .with("max_amount", config.payments.max_amount),
        ),
        (
            "webhooks",
            Object::new()
                .with("retry_schedule", retries)
                .with("timeout", told(config.webhooks.timeout))
                .with("allow_networks", networks(&config.webhooks.allow_networks))
                .with(
                    "extra_ca_file",
                    config.webhooks.extra_ca_file.as_ref().map(|p| p.display().to_string()),
                ),
        ),
        (
            "wallet",
            Object::new()
                .with("route_prefix", &config.wallet.route_prefix)
                .with("link_lifetime", told(config.wallet.link_lifetime))
                .with("tier1", tier(config.wallet.tiers.0[0]))
                .with("tier2", tier(config.wallet.tiers.0[1]))
                .with("tier3", tier(config.wallet.tiers.0[2])),
        ),
        (
            "pages",
            Object::new()
                .with("operator_name", config.pages.operator_name.as_ref())
                .with("logo_file", config.pages.logo_file.as_ref().map(|file| file.display().to_string()))
                .with("support", config.pages.support.as_ref()),
        ),
        (
            "users",
            Object::new()
                .with("staff_totp", config.users.staff_totp)
                .with("registration", config.users.registration.as_str()),
        ),
        ("payouts", Object::new().with("two_persons_above", config.payouts.two_persons_above)),
        ("notify", notify(&config.notify)),
        ("websites", Object::new().with("self_approval", config.websites.self_approval)),
        (
            "limits",
            Object::new()
                .with("requests_per_minute", config.limits.requests_per_minute)
                .with("wallet_requests_per_minute", config.limits.wallet_requests_per_minute),
        ),
        ("redis", Object::new().with("url", config.redis_url.as_ref().map(|_| "(set)"))),
        (
            "retention",
            Object::new()
                .with("finished_jobs", told(config.retention.finished_jobs))
                .with("attempts", told(config.retention.attempts))
                .with("event_texts", told(config.retention.event_texts)),
        ),
        (
            "banks",
            Object::new()
                .with("folder", config.banks_folder.as_ref().map(|folder| folder.display().to_string())),
        ),
        (
            "mail",
            Object::new()
                .with("recipients", recipients(&config.mail))
                .with("dns", resolvers(config))
                .with("alarm_after", told(config.mail.alarm_after))
                .with("imap", config.mail.imap.iter().map(mailbox).collect::<Vec<_>>())
                .with("smtp", config.mail.smtp.as_ref().map(smtp)),
        ),
        (
            "log",
            Object::new().with(
                "format",
                match config.log_format {
                    LogFormat::Auto => "auto",
                    LogFormat::Pretty => "pretty",
                    LogFormat::Json => "json",
                },
            ),
        ),
    ];
    sections.extend(config.messenger.whatsapp().map(|found| ("whatsapp", whatsapp(found))));
    sections
}

/// Where keys are looked up; without a setting by the system's own resolvers.
fn resolvers(config: &Config) -> Vec<String> {
    let named: Vec<String> = config.mail.dns.iter().map(ToString::to_string).collect();
    if named.is_empty() { vec!["system".to_owned()] } else { named }
}

fn notify(notify: &Notify) -> Object {
    let smtp = notify.smtp.as_ref();
    let off: Vec<&str> = notify.off.iter().map(|kind| kind.as_str()).collect();
    Object::new()
        .with("smtp_server", smtp.map(|server| format!("{}:{}", server.host, server.port)))
        .with("smtp_login", smtp.and_then(|server| server.login.as_ref()).map(|_| REDACTED))
        .with("from", smtp.map(|server| server.from.as_str()))
        .with(
            "ca_file",
            smtp.and_then(|server| server.ca_file.as_ref()).map(|file| file.display().to_string()),
        )
        .with("operators", notify.operators.clone())
        .with("webhook_url", notify.webhook_url.as_ref().map(|_| REDACTED))
        .with("off", off)
}

fn whatsapp(whatsapp: &WhatsApp) -> Object {
    let templates = &whatsapp.templates;
    let named = |name: &Option<String>| name.as_deref().unwrap_or("none").to_owned();
    let webhook = whatsapp.webhook.as_ref().map(|_| REDACTED);
    Object::new()
        .with("base_url", &whatsapp.base_url)
        .with("api_version", &whatsapp.api_version)
        .with("phone_number_id", &whatsapp.phone_number_id)
        .with("token", REDACTED)
        .with("language", &whatsapp.language)
        .with("template", &templates.link)
        .with("code_template", named(&templates.code))
        .with("receipt_template", named(&templates.receipt))
        .with("pin_changed_template", named(&templates.pin_changed))
        .with("topup_template", named(&templates.topup))
        .with("refund_template", named(&templates.refund))
        .with("wrong_pins_template", named(&templates.wrong_pins))
        .with("topup_problem_template", named(&templates.topup_problem))
        .with("merchant_template", named(&templates.merchant))
        .with("app_secret", webhook)
        .with("verify_token", webhook)
}

fn tier(limits: TierLimits) -> Object {
    let most = |limit: Option<Money>| limit.map_or(Shown::Absent("no limit"), Shown::Money);
    Object::new().with("balance", most(limits.balance)).with("daily", most(limits.daily))
}

fn smtp(smtp: &Smtp) -> Object {
    let tls = smtp.tls.as_ref();
    Object::new()
        .with("listen", smtp.listen.to_string())
        .with("protocol", smtp.protocol.as_str())
        .with("hostname", &smtp.hostname)
        .with("tls_cert", tls.map(|tls| tls.cert.display().to_string()))
        .with("tls_key", tls.map(|tls| tls.key.display().to_string()))
        .with("max_connections", i64::from(smtp.max_connections))
        .with("allow_networks", networks(&smtp.allow_networks))
}

fn mailbox(server: &ImapServer) -> Object {
    let shown = Object::new()
        .with("name", &server.name)
        .with("host", &server.host)
        .with("port", i64::from(server.port))
        .with("tls", server.tls.as_str())
        .with("user", &server.user)
        .with("folder", server.folders.clone());
    let shown = match &server.secret {
        ImapSecret::Password(_) => shown.with("password", REDACTED),
        ImapSecret::PasswordFile(path) => shown.with("password_file", path.display().to_string()),
        ImapSecret::TokenFile(path) => shown.with("oauth2_token_file", path.display().to_string()),
    };
    shown
        .with("authserv_id", server.authserv_id.as_ref())
        .with("ca_file", server.ca_file.as_ref().map(|path| path.display().to_string()))
}

fn networks(all: &[Network]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

/// As they are written in the configuration.
fn recipients(mail: &Mail) -> Vec<String> {
    let account_of = |address: &String| mail.of_accounts.iter().find(|(of, _)| of == address);
    let written = |address: &String| match account_of(address) {
        Some((_, number)) => format!("{address} {number}"),
        None => address.clone(),
    };
    mail.recipients.iter().map(written).collect()
}

/// A span in the largest unit that says it exactly, as the configuration reads it.
fn told(span: Span) -> String {
    let units = [("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000)];
    // One day is told as 24h, as the documentation names the defaults.
    let fits = |unit: &str, size: i64| span.0 >= size * if unit == "d" { 2 } else { 1 } && span.0 % size == 0;
    match units.iter().find(|(unit, size)| fits(unit, *size)) {
        Some((unit, size)) => format!("{}{unit}", span.0 / size),
        None if span.0 == 0 => "0s".to_owned(),
        None => format!("{}ms", span.0 / 1_000),
    }
}

/// A database URL whose password, in the authority or in a parameter, is not shown.
fn without_password(text: &str) -> String {
    if text.starts_with("sqlite:") {
        return text.to_owned();
    }
    let Ok(mut url) = url::Url::parse(text) else { return REDACTED.to_owned() };
    if url.password().is_some() && url.set_password(Some("redacted")).is_err() {
        return REDACTED.to_owned();
    }
    if url.query().is_some() {
        let kept: Vec<(String, String)> = url
            .query_pairs()
            .map(|(name, value)| {
                let value = if name.to_lowercase().contains("password") { "redacted".into() } else { value };
                (name.into_owned(), value.into_owned())
            })
            .collect();
        url.query_pairs_mut().clear().extend_pairs(kept);
    }
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_as_they_are_written() {
        for text in ["0s", "250ms", "5s", "90s", "15m", "24h", "36h", "2d"] {
            assert_eq!(told(crate::config::parse_span(text).unwrap()), text);
        }
    }

    #[test]
    fn no_password_is_shown_wherever_it_stands() {
        assert_eq!(without_password("sqlite:a.db"), "sqlite:a.db");
        assert_eq!(without_password("postgres://a@h:1/d"), "postgres://a@h:1/d");
        for url in
            ["postgres://a:hunter2@h/d", "postgres://a@h/d?sslmode=require&password=hunter2", "hunter2"]
        {
            assert!(!without_password(url).contains("hunter2"), "{url}");
        }
    }
}
