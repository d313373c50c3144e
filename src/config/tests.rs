//! Tests of the configuration: defaults, what beats what, and that every mistake is named.
//! They load configurations as text; no file and no environment of the machine is read.
//! Compiled for tests only.

use super::*;

fn load(file: &str, environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::load(file, environment.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())))
}

#[test]
fn defaults_are_those_of_the_documentation() {
    let config = load("", &[]).unwrap();
    assert_eq!(config.database_url(), "sqlite:tillbell.db");
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.payments.max_amount.to_string(), "999999999.99");
    assert_eq!(config.payments.expiry, Span::hours(24));
    assert!(matches!(&config.secret, Secret::File(path) if path.ends_with("tillbell.db.key")));
}

#[test]
fn environment_beats_the_file() {
    let config = load(
        "[server]\nlisten = \"127.0.0.1:1\"\n[payments]\nexpiry = \"2h\"",
        &[
            ("TILLBELL_SERVER__LISTEN", "127.0.0.1:2"),
            ("TILLBELL_SERVER__DEV", "true"),
            ("TILLBELL_LIMITS__REQUESTS_PER_MINUTE", "7"),
            ("TILLBELL_WEBHOOKS__RETRY_SCHEDULE", "[\"0s\", \"1s\"]"),
            ("TILLBELL_UNRELATED", "x"),
            ("HOME", "/"),
        ],
    )
    .unwrap();
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:2");
    assert!(config.server.dev);
    assert_eq!(config.payments.expiry, Span::hours(2));
    assert_eq!(config.limits.requests_per_minute, 7);
    assert_eq!(config.webhooks.retry_schedule, [Span(0), Span::seconds(1)]);
}

#[test]
fn who_named_the_database_is_known() {
    let variable = ("TILLBELL_DATABASE__URL", "sqlite:b.db");
    let file = "[database]\nurl = \"sqlite:a.db\"";
    assert_eq!(load("", &[]).unwrap().database.origin, Origin::Default);
    assert_eq!(load(file, &[]).unwrap().database.origin, Origin::File);
    assert_eq!(load(file, &[variable]).unwrap().database.origin, Origin::Environment);
    let shadowed = load(file, &[("tillbell_database__url", "sqlite:b.db")]).unwrap();
    assert_eq!((shadowed.database_url(), shadowed.database.origin), ("sqlite:a.db", Origin::File));
}

#[test]
fn names_with_one_underscore_that_mean_a_key_are_refused() {
    for (name, right) in [
        ("TILLBELL_DATABASE_URL", "TILLBELL_DATABASE__URL"),
        ("TILLBELL_SERVER_DEV", "TILLBELL_SERVER__DEV"),
        ("TILLBELL_SERVER_PUBLIC_URL", "TILLBELL_SERVER__PUBLIC_URL"),
        ("TILLBELL_MAIL_IMAP", "TILLBELL_MAIL__IMAP"),
    ] {
        let said = load("", &[(name, "x")]).unwrap_err().to_string();
        assert!(said.contains(name) && said.ends_with(right), "{said}");
    }
    for name in ["TILLBELL_LOG", "TILLBELL_CONFIG", "TILLBELL_SERVER_PORT_80_TCP", "TILLBELL_SERVICE_HOST"] {
        load("", &[(name, "x")]).unwrap();
    }
}

#[test]
fn a_fault_of_form_is_told_with_its_place_on_one_line() {
    let said = load("[server]\ndev = true\nlisten 127.0.0.1:80\n", &[]).unwrap_err().to_string();
    assert!(said.starts_with("line 3, column ") && !said.contains(['\n', '^', '|']), "{said}");
}

#[test]
fn mistakes_are_named() {
    for (file, expected) in [
        ("[payments]\nlate_windows = \"1h\"", "late_windows"),
        ("[payments]\nexpiry = \"1 day\"", "payments.expiry"),
        ("[payments]\nmax_amount = 1.5", "payments.max_amount"),
        ("[payments]\nexpiry = \"0s\"", "payments.expiry"),
        ("[limits]\nrequests_per_minute = 0", "limits.requests_per_minute"),
        ("[database]\nurl = \"till.db\"", "database.url"),
        ("[database]\nurl = \"mysql://u:hunter2@h/d\"", "database.url"),
        ("[database]\nurl = \"sqlite:\"", "name of a file"),
        ("[database]\nurl = \"sqlite::memory:\"", "name of a file"),
        ("payments.expiry = \"5 parsecs\"", "with the unit ms, s, m, h or d, such as \"90s\", \"15m\""),
        (
            "payments.late_window = 5",
            "payments.late_window = 5 is not a duration: a whole number with the unit",
        ),
        ("retention.attempts = 1.5", "retention.attempts = 1.5 is not a duration"),
        ("mail.alarm_after = true", "a duration such as \"15m\""),
        (
            "webhooks.retry_schedule = \"5 parsecs\"",
            "expected a list in brackets in `webhooks.retry_schedule`",
        ),
        ("webhooks.retry_schedule = [\"0s\", 5]", "webhooks.retry_schedule = 5 is not a duration"),
        ("database = \"till.db\"", "expected a section in `database`"),
        (
            "[limits]\nrequests_per_minute = \"many\"",
            "expected a whole number in `limits.requests_per_minute`",
        ),
        ("[server]\nlisten = \"0.0.0.0:80\"", "plain HTTP"),
        ("[server]\ndev = true\npublic_url = \"https://pay.example.com\"", "server.dev"),
        ("[server]\npublic_url = \"https://example.com/pay\"", "name the host alone"),
        ("[server]\npublic_url = \"https://example.com/?a\"", "name the host alone"),
        ("[server]\ntls_cert = \"a.pem\"", "must be set together"),
        ("[secret]\nkey = \"abc\"", "64 hexadecimal"),
        ("[webhooks]\nallow_networks = [\"10.0.0.0/40\"]", "webhooks.allow_networks"),
        ("[log]\nformat = \"xml\"", "log.format"),
        ("[mail]\nrecipients = [\"shop.example\"]", "mail.recipients"),
        ("[mail]\nrecipients = \"Till <till@shop.example>\"", "mail.recipients"),
        ("[mail]\nrecipients = [\"till@shop.example 12345\"]", "the ten digits of its account"),
        ("[mail]\ndns = [\"dns.example\"]", "mail.dns"),
        ("[mail]\nalarm_after = \"5s\"", "mail.alarm_after"),
    ] {
        let error = load(file, &[]).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{file}: {error}");
    }
}

#[test]
fn mail_takes_one_address_or_a_list() {
    let config = load("", &[]).unwrap();
    assert!(config.mail.recipients.is_empty() && config.mail.dns.is_empty());
    assert_eq!(config.mail.alarm_after, Span::minutes(15));
    let config = load(
        "[mail]\nrecipients = [\"Alerts@Shop.example\", \"b@shop.example\"]",
        &[("TILLBELL_MAIL__DNS", "192.0.2.7"), ("TILLBELL_MAIL__ALARM_AFTER", "1h")],
    )
    .unwrap();
    assert_eq!(config.mail.recipients, ["alerts@shop.example", "b@shop.example"]);
    assert_eq!(config.mail.of_accounts, []);
    let bound = load("[mail]\nrecipients = [\"A@Shop.example 0034567877\"]", &[]).unwrap().mail;
    assert_eq!(bound.recipients, ["a@shop.example"]);
    assert_eq!(bound.of_accounts, [("a@shop.example".to_owned(), "0034567877".to_owned())]);
    assert_eq!(config.mail.dns[0].to_string(), "192.0.2.7:53");
    assert_eq!(config.mail.alarm_after, Span::hours(1));
    let config = load("[mail]\ndns = [\"127.0.0.1:5300\", \"[2001:db8::1]:54\"]", &[]).unwrap();
    assert_eq!(config.mail.dns[1].to_string(), "[2001:db8::1]:54");
}
