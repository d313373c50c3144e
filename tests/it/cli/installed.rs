//! What an installation ships and how it looks after itself: `doctor`, the service manager's protocol, the explained
//! configuration, the unit, manual pages and completions.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tillbell::config::Config;

use super::Desk;
use crate::crashes::{ENOUGH, Installation, serve};
use crate::harness::name_server::NameServer;

const UNIT: &str = include_str!("../../../packaging/tillbell.service");
const CONFIGURATION: &str = include_str!("../../../packaging/tillbell.toml");
const GUIDE: &str = include_str!("../../../docs/operating.md");
/// Whatever systemd calls OK, and ours is below it.
const EXPOSURE_MAX: f64 = 2.0;

const RULES: &str = include_str!("../../../packaging/monitoring/rules.yaml");
const BOARD: &str = include_str!("../../../packaging/monitoring/grafana.json");

/// What `doctor` found, by the check's name: its state, and whether it says what to do.
fn examined(desk: &Desk<'_>, more: &[(&str, &str)]) -> (bool, Vec<(String, String, bool)>) {
    let output = desk.command(&["--json", "doctor"]).envs(more.iter().copied()).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(told["ok"].as_bool().unwrap(), output.status.success(), "{told}");
    let of = |one: &Value| {
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        (text("check"), text("state"), !text("to_do").is_empty())
    };
    (told["ok"] == true, told["checks"].as_array().unwrap().iter().map(of).collect())
}

fn state<'a>(found: &'a [(String, String, bool)], check: &str) -> &'a str {
    found.iter().find(|one| one.0 == check).map_or("", |one| &one.1)
}

on_both! {
    async fn the_doctor_finds_what_is_wrong_and_says_what_to_do(db: TestDatabase) {
        let mut desk = Desk::dev(&db);
        let dns = NameServer::start().await;
        desk.dns = Some(dns.address);
        desk.account("0123452215");
        let (is_good, found) = examined(&desk, &[("TILLBELL_SERVER__LISTEN", "127.0.0.1:9")]);
        assert!(!is_good && state(&found, "public address") == "FAILED", "{found:?}");
        for (check, wanted) in
            [("database", "ok"), ("key", "ok"), ("receiving accounts", "ok"), ("name servers", "ok"), ("mailboxes", "warning")]
        {
            assert_eq!(state(&found, check), wanted, "{check}: {found:?}");
        }
        assert!(found.iter().all(|one| one.2 == ["warning", "FAILED"].contains(&one.1.as_str())), "{found:?}");
        // A service that runs there is found.
        let service = serve({
            let mut command = desk.command(&["serve", "--role", "api"]);
            command.env("TILLBELL_SERVER__LISTEN", "127.0.0.1:0");
            command
        });
        let service = service.expect("it starts");
        let address = service.address.to_string();
        let (is_good, found) = examined(&desk, &[("TILLBELL_SERVER__LISTEN", &address)]);
        assert!(is_good && state(&found, "public address") == "ok", "{found:?}");
        drop(service);
        // A mailbox that is not there, a mail server that is not there, a certificate that ends soon.
        let made = rcgen::generate_simple_self_signed(vec!["till.example".to_owned()]).unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["till.example".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        let ended = params.self_signed(&made.signing_key).unwrap();
        let (cert, key) = (desk.path().join("cert.pem"), desk.path().join("key.pem"));
        std::fs::write(&cert, ended.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let (is_good, found) = examined(&desk, &[
            ("TILLBELL_SERVER__TLS_CERT", cert.to_str().unwrap()),
            ("TILLBELL_SERVER__TLS_KEY", key.to_str().unwrap()),
            ("TILLBELL_MAIL__IMAP", "[{host = \"127.0.0.1\", port = 9, tls = \"none\", user = \"a\", password = \"b\", name = \"alerts\"}]"),
            ("TILLBELL_NOTIFY__SMTP_URL", "smtp://127.0.0.1:9"),
            ("TILLBELL_NOTIFY__FROM", "till@till.example"),
        ]);
        for check in ["certificate", "mailbox alerts", "mails to people"] {
            assert_eq!(state(&found, check), "FAILED", "{check}: {found:?}");
        }
        assert!(!is_good);
        // It makes nothing.
        let nowhere = Desk::bare(&db);
        let (is_good, found) = examined(&nowhere, &[("TILLBELL_SECRET__KEY_FILE", "other.key")]);
        assert!(!is_good && state(&found, "database") == "FAILED", "{found:?}");
        assert!(!nowhere.path().join("other.key").exists());
    }

    async fn the_service_manager_hears_that_it_is_ready_alive_and_about_to_end(db: TestDatabase) {
        let here = Installation::new(db).await;
        let path = here.folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut service = {
            let mut command = here.command(&["serve"]);
            command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "300000").env_remove("WATCHDOG_PID");
            serve(command).expect("it starts")
        };
        hears(&socket, "READY=1");
        for _ in 0..3 {
            hears(&socket, "WATCHDOG=1");
        }
        let told = Command::new("kill").arg(service.id().to_string()).status().unwrap();
        assert!(told.success());
        hears(&socket, "STOPPING=1");
        service.kill();
    }
}

fn hears(socket: &UnixDatagram, wanted: &str) {
    let (begun, mut buffer) = (Instant::now(), [0; 4096]);
    loop {
        match socket.recv(&mut buffer) {
            Ok(length) if String::from_utf8_lossy(&buffer[..length]).lines().any(|line| line == wanted) => {
                return;
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => panic!("{error}"),
        }
        assert!(begun.elapsed() < ENOUGH, "{wanted} was never told");
    }
}

/// Settings that the guide's table names.
fn of_the_guide() -> BTreeSet<String> {
    let rows = GUIDE.lines().skip_while(|line| !line.starts_with("| key | default")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.flat_map(|row| {
        let keys = row.split('|').nth(1).unwrap();
        keys.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    })
    .filter(|key| key != "mail.imap[]")
    .collect()
}

/// Settings of the shipped file, whether they are in effect or stand behind a `#`.
fn of_the_file() -> BTreeSet<String> {
    let mut section = String::new();
    let mut keys = BTreeSet::new();
    for line in CONFIGURATION.lines().take_while(|line| !line.starts_with("#[[mail.imap]]")) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = format!("{name}.");
        }
        let Some((key, _)) = line.trim_start_matches('#').split_once(" = ") else { continue };
        if key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit()) {
            keys.insert(format!("{section}{key}"));
        }
    }
    keys
}

#[test]
fn the_shipped_configuration_explains_every_setting_and_each_may_be_taken_in() {
    assert_eq!(of_the_file(), of_the_guide());
    Config::load(CONFIGURATION, std::iter::empty()).expect("as it is shipped");
    // Every line that may be taken in, in its section, with those that it needs.
    let mut section = "";
    for line in CONFIGURATION.lines().take_while(|line| !line.starts_with("#[[mail.imap]]")) {
        if line.starts_with('[') {
            section = line;
        }
        let Some(setting) =
            line.strip_prefix('#').filter(|rest| rest.contains(" = ") && !rest.starts_with(' '))
        else {
            continue;
        };
        let beside = match setting.split(" = ").next().unwrap() {
            "direct_url" => "url = \"postgres://till@127.0.0.1:6432/till\"",
            "tls_cert" => "tls_key = \"k\"",
            "tls_key" => "tls_cert = \"c\"",
            "logo_file" => "operator_name = \"Kudi\"",
            "smtp_url" => "from = \"a@till.example\"",
            "from" | "ca_file" | "operators" => "smtp_url = \"smtps://a:b@mail.example\"",
            "key" => continue,
            _ => "",
        };
        let beside =
            if section == "[notify]" && setting.starts_with("ca_file") || setting.starts_with("operators") {
                format!("{beside}\nfrom = \"a@till.example\"")
            } else {
                beside.to_owned()
            };
        let listens = if section == "[mail.smtp]" && !setting.starts_with("listen") {
            "listen = \"127.0.0.1:25\""
        } else {
            ""
        };
        let recipients =
            if section == "[mail.smtp]" { "[mail]\nrecipients = [\"a@till.example\"]\n" } else { "" };
        let notify = if setting.starts_with("registration") {
            "\n[notify]\nsmtp_url = \"smtps://a:b@mail.example\"\nfrom = \"a@till.example\"\n"
        } else {
            ""
        };
        let text = format!("{recipients}{section}\n{listens}\n{beside}\n{setting}\n{notify}");
        if let Err(error) = Config::load(&text, std::iter::empty()) {
            panic!("{text}: {error}");
        }
    }
}

#[test]
fn the_unit_is_confined_and_waits_for_readiness() {
    for line in [
        "Type=notify",
        "ExecStart=/usr/bin/tillbell serve",
        "User=tillbell",
        "ReadWritePaths",
        "WatchdogSec=30",
    ] {
        assert_eq!(UNIT.contains(line), line != "ReadWritePaths", "{line}");
    }
    // Only a machine with systemd's tools can weigh it.
    let weighed = Command::new("systemd-analyze")
        .args([
            "security",
            "--offline=true",
            concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/tillbell.service"),
        ])
        .output();
    let Ok(weighed) = weighed else { return };
    let said = String::from_utf8_lossy(&weighed.stdout).into_owned();
    let Some(overall) = said.lines().find(|line| line.contains("Overall exposure level")) else { return };
    let level = overall.split_whitespace().find_map(|word| word.parse::<f64>().ok()).unwrap();
    assert!(level <= EXPOSURE_MAX, "{overall}");
}

#[test]
fn manual_pages_and_completions_are_made_from_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillbell"));
        let output = command.args(args).current_dir(folder.path()).env_clear().output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["man", "man1"]);
    for (page, words) in [
        ("tillbell.1", "gateway"),
        ("tillbell-backup.1", "embedded database"),
        ("tillbell-account-add.1", "bank"),
    ] {
        let text = std::fs::read_to_string(folder.path().join("man1").join(page)).unwrap();
        assert!(text.contains(words), "{page}");
    }
    for (shell, words) in
        [("bash", "complete -F _tillbell"), ("zsh", "#compdef tillbell"), ("fish", "complete -c tillbell")]
    {
        let script = run(&["completions", shell]);
        assert!(script.contains(words) && script.contains("payment"), "{shell}");
    }
}

/// Names of metrics in a text, without what a histogram adds.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("tillbell_") {
        let name: String = text[at..].chars().take_while(|c| is_part(*c)).collect();
        found.insert(name.trim_end_matches("_bucket").to_owned());
    }
    found
}

#[test]
fn rules_and_board_ask_for_metrics_that_there_are() {
    let known = metrics_in(GUIDE);
    let mut asked = metrics_in(RULES);
    asked.extend(metrics_in(BOARD));
    assert!(asked.len() > 15, "{asked:?}");
    // The guide shortens three of one beginning.
    let is_known = |name: &String| known.contains(name) || name.starts_with("tillbell_alerts_waiting_");
    assert_eq!(asked.iter().filter(|name| !is_known(name)).collect::<Vec<_>>(), Vec::<&String>::new());
    let board: Value = serde_json::from_str(BOARD).unwrap();
    assert!(
        board["panels"]
            .as_array()
            .unwrap()
            .iter()
            .all(|panel| !panel["description"].as_str().unwrap().is_empty())
    );
}

/// Where the tool is installed: it comes with a whole server.
#[test]
fn promtool_agrees_with_the_rules() {
    let file = |name: &str| format!("{}/packaging/monitoring/{name}", env!("CARGO_MANIFEST_DIR"));
    for args in [["check", "rules", &file("rules.yaml")], ["test", "rules", &file("rules_test.yaml")]] {
        let Ok(output) = Command::new("promtool").args(args).output() else { return };
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
