//! `tillbell doctor`: looks at everything that the service needs, and says what to do about what is wrong. It changes nothing, and
//! may be run beside the service or before its first start.
//!
//! Each check has its own deadline, so that one that hangs hides no other.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use super::Desk;
use super::print::Object;
use crate::clock::{Clock, SystemClock};
use crate::config::{Secret, TlsFiles};
use crate::domain::time::{Span, Timestamp};
use crate::domain::weburl::parse_operator_url;
use crate::mail_intake::imap;
use crate::ops::data_keys::standing;
use crate::ops::holds;
use crate::outbound::mailer::Mailer;
use crate::outbound::txt::{Answer, TxtRecords};
use crate::outbound::whatsapp::WhatsApp;
use crate::outbound::{Outbound, OutboundConfig};
use crate::tls;

/// For one check.
const WITHIN: Duration = Duration::from_secs(20);
/// For one answer of our own address, or of a name server.
const ANSWER_WITHIN: Duration = Duration::from_secs(8);
/// A database that cannot grow refuses payments.
const DISK_LEAST: u64 = 1 << 30;
const DISK_LEAST_PERCENT: u64 = 5;
/// Renewals of certificates begin thirty days before the end; where they failed there is time to act.
const CERTIFICATE_LEAST: Span = Span::days(14);
/// Whose key is asked for, to see that name servers answer at all. Any name of a bank's will do.
const ASKED_NAME: &str = "_dmarc.gtbank.com";

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ok,
    Warning,
    Failed,
    /// Not set up, so there is nothing to look at.
    Off,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Failed => "FAILED",
            State::Off => "off",
        }
    }
}

/// What a check found.
struct Finding {
    what: String,
    state: State,
    found: String,
    to_do: String,
}

impl Finding {
    fn new(what: &str, state: State, found: impl Into<String>, to_do: impl Into<String>) -> Finding {
        Finding { what: what.to_owned(), state, found: found.into(), to_do: to_do.into() }
    }

    fn ok(what: &str, found: impl Into<String>) -> Finding {
        Finding::new(what, State::Ok, found, "")
    }

    fn off(what: &str, found: impl Into<String>) -> Finding {
        Finding::new(what, State::Off, found, "")
    }

    /// Of something that was tried: it is `good`, or there is something to do about it.
    fn tried(what: &str, tried: Result<(), String>, good: &str, to_do: &str) -> Finding {
        match tried {
            Ok(()) => Finding::ok(what, good),
            Err(why) => Finding::new(what, State::Failed, why, to_do),
        }
    }

    fn object(&self) -> Object {
        Object::new()
            .with("check", &self.what)
            .with("state", self.state.as_str())
            .with("found", &self.found)
            .with("to_do", Some(&self.to_do).filter(|text| !text.is_empty()))
    }
}

pub(super) async fn run(desk: &Desk) -> anyhow::Result<ExitCode> {
    let mut found = configuration(desk);
    found.extend(within("database", database(desk)).await);
    found.extend(within("keys", keys(desk)).await);
    found.push(disk(desk));
    found.push(clock());
    found.extend(within("name servers", name_servers(desk)).await);
    found.extend(certificates(desk));
    found.extend(within("mailboxes", mailboxes(desk)).await);
    found.extend(within("mails to people", mailer(desk)).await);
    found.extend(within("messages to customers", messenger(desk)).await);
    found.extend(within("public address", public_address(desk)).await);
    let is_good = found.iter().all(|one| one.state != State::Failed);
    let rows = found.iter().map(Finding::object).collect();
    desk.printer.list_with(
        "checks",
        &["check", "state", "found"],
        rows,
        Object::new().with("ok", is_good),
    )?;
    for one in found.iter().filter(|one| !one.to_do.is_empty()) {
        desk.printer.remark(true, &format!("\n{}: {}\n  {}", one.what, one.found, one.to_do))?;
    }
    let end = if is_good { "\nnothing is wrong" } else { "\nsomething is wrong: see FAILED above" };
    desk.printer.remark(true, end)?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a check finds, or that it took too long.
async fn within(what: &str, check: impl Future<Output = Vec<Finding>>) -> Vec<Finding> {
    let late = || {
        let found = format!("no answer within {} s", WITHIN.as_secs());
        vec![Finding::new(what, State::Failed, found, "Look whether the network and the other side work.")]
    };
    tokio::time::timeout(WITHIN, check).await.unwrap_or_else(|_| late())
}

/// Two root keys are a change that somebody has begun. What else is wrong with the key, the database's check tells.
async fn keys(desk: &Desk) -> Vec<Finding> {
    let Ok(app) = desk.open().await else { return Vec::new() };
    match standing(&app).await {
        Ok(Some(keys)) if keys.roots.len() > 1 => vec![Finding::new(
            "root key",
            State::Warning,
            format!("two root keys open the database: {}", keys.roots.join(", ")),
            "Restart every node with the new one, then run tillbell key rotate --finish.",
        )],
        Ok(_) | Err(_) => Vec::new(),
    }
}

fn configuration(desk: &Desk) -> Vec<Finding> {
    let mut found = vec![Finding::ok("configuration", desk.configured_by())];
    for words in desk.exposed_files() {
        found.push(Finding::new("files with secrets", State::Warning, words, "Change the file's mode."));
    }
    for words in desk.config.warnings() {
        found.push(Finding::new(
            "configuration",
            State::Warning,
            words,
            "See docs/operating.md, Configuration.",
        ));
    }
    if desk.config.server.dev {
        let to_do = "Take server.dev out before real customers come.";
        found.push(Finding::new("configuration", State::Warning, "dev mode is on", to_do));
    }
    found
}

async fn database(desk: &Desk) -> Vec<Finding> {
    let app = match desk.open().await {
        Ok(app) => app,
        Err(error) => {
            let to_do = "tillbell migrate makes a new database or brings an older one up to date.";
            return vec![Finding::new("database", State::Failed, format!("{error:#}"), to_do)];
        }
    };
    let mut found = vec![
        Finding::ok("database", format!("{}, its schema is up to date", desk.database())),
        Finding::ok("key", "it is the one that the database was made with"),
    ];
    if matches!(desk.config.secret, Secret::File(_)) {
        found.push(Finding::ok(
            "copy of the key",
            "keep one apart from the database; this cannot be looked at",
        ));
    }
    if let Some((ahead, is_off)) = app.shared_clock.as_ref().and_then(|clock| clock.own_is_ahead()) {
        let text = format!("{:.1} s ahead of the database's (negative: behind)", ahead.0 as f64 / 1e6);
        found.push(match is_off {
            true => {
                Finding::new("clock of this machine", State::Warning, text, "Run a time service on both.")
            }
            false => Finding::ok("clock of this machine", "that of the database"),
        });
    }
    match holds::held_since(&app).await {
        Ok(Some(since)) => found.push(Finding::new(
            "what goes out",
            State::Warning,
            format!("held back since {since}"),
            "Look at the database, then run tillbell resume.",
        )),
        Ok(None) => {}
        Err(error) => found.push(Finding::new("what goes out", State::Failed, error.to_string(), "")),
    }
    match app.directory.accounts().await {
        Ok(accounts) if accounts.iter().all(|one| one.is_of_test_bank()) => found.push(Finding::new(
            "receiving accounts",
            State::Warning,
            "there is none",
            "Add the account that customers pay into: tillbell account add.",
        )),
        Ok(accounts) => {
            let count = accounts.iter().filter(|one| !one.is_of_test_bank()).count();
            found.push(Finding::ok("receiving accounts", count.to_string()));
        }
        Err(error) => found.push(Finding::new("receiving accounts", State::Failed, error.to_string(), "")),
    }
    found
}

fn disk(desk: &Desk) -> Finding {
    let file = crate::app::copies::file_of(desk.config.database_url());
    let folder = file.as_deref().and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let shown = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    match rustix::fs::statvfs(folder) {
        Ok(room) => {
            let (free, all) = (room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize);
            let percent = (free * 100).checked_div(all).unwrap_or_default();
            let text = format!("{:.1} GB free ({percent} %) in {}", free as f64 / 1e9, shown.display());
            if free < DISK_LEAST || percent < DISK_LEAST_PERCENT {
                let to_do = "Make room: with a full disk no payment can be asked for or credited.";
                Finding::new(
                    "disk",
                    if free < DISK_LEAST { State::Failed } else { State::Warning },
                    text,
                    to_do,
                )
            } else {
                Finding::ok("disk", text)
            }
        }
        Err(error) => Finding::new("disk", State::Failed, format!("{}: {error}", shown.display()), ""),
    }
}

/// The system's own word for it: nobody else here knows the time.
fn clock() -> Finding {
    let asked = std::process::Command::new("timedatectl")
        .args(["show", "--property=NTPSynchronized", "--value"])
        .stdin(std::process::Stdio::null())
        .output();
    let to_do = "Run a time service (chrony, systemd-timesyncd): banks' times are compared with this clock.";
    match asked {
        Ok(output) if output.stdout.starts_with(b"yes") => Finding::ok("clock", "synchronized"),
        Ok(output) if output.stdout.starts_with(b"no") => {
            Finding::new("clock", State::Warning, "it is not synchronized", to_do)
        }
        _ => {
            Finding::new("clock", State::Warning, "the system does not say whether it is synchronized", to_do)
        }
    }
}

async fn name_servers(desk: &Desk) -> Vec<Finding> {
    let records = TxtRecords::new(&desk.config.mail.dns);
    vec![match records.ask(ASKED_NAME, ANSWER_WITHIN, false).await {
        Answer::Records(_) | Answer::Absent => Finding::ok("name servers", "they answer"),
        Answer::Trouble(why) => Finding::new(
            "name servers",
            State::Failed,
            why,
            "Without them no mail can be proven: mend the system's resolver or set mail.dns.",
        ),
    }]
}

fn certificates(desk: &Desk) -> Vec<Finding> {
    let server = desk.config.server.tls.as_ref();
    let smtp = desk.config.mail.smtp.as_ref().and_then(|smtp| smtp.tls.as_ref());
    let now = SystemClock.now();
    let look = |(what, files): (&str, &TlsFiles)| match tls::valid_until(files)
        .map(|seconds| Timestamp(seconds.saturating_mul(1_000_000)))
    {
        Ok(until) if until < now => Finding::new(
            what,
            State::Failed,
            format!("it ended on {until}"),
            "Renew it, then systemctl reload tillbell.",
        ),
        Ok(until) if until - CERTIFICATE_LEAST < now => Finding::new(
            what,
            State::Warning,
            format!("it ends on {until}"),
            "See why it was not renewed; after renewing, systemctl reload tillbell.",
        ),
        Ok(until) => Finding::ok(what, format!("good until {until}")),
        Err(problem) => Finding::new(what, State::Failed, problem.to_string(), "Mend the file or its path."),
    };
    let both = [("certificate", server), ("certificate for SMTP", smtp)];
    both.into_iter().filter_map(|(what, files)| Some(look((what, files?)))).collect()
}

async fn mailboxes(desk: &Desk) -> Vec<Finding> {
    let mail = &desk.config.mail;
    if mail.imap.is_empty() && mail.smtp.is_none() {
        let to_do = "Set mail.imap or mail.smtp, else payments are approved only by alert ingest.";
        return vec![Finding::new("mailboxes", State::Warning, "no mails will arrive", to_do)];
    }
    let asked = mail.imap.iter().map(|server| async move {
        let what = format!("mailbox {}", server.name);
        match imap::try_it(server).await {
            Ok(mails) => Finding::ok(&what, format!("{mails} mails can be read")),
            Err(trouble) => {
                let to_do = "See docs/operating.md, Mailboxes: address, user, password and folder.";
                Finding::new(&what, State::Failed, trouble.to_string(), to_do)
            }
        }
    });
    futures_util::future::join_all(asked).await
}

async fn mailer(desk: &Desk) -> Vec<Finding> {
    let what = "mails to people";
    let notify = &desk.config.notify;
    let Some(server) = &notify.smtp else {
        let to_do = "Set notify.smtp_url: invitations and alarms are not mailed without it.";
        return vec![Finding::new(what, State::Warning, "they are not sent", to_do)];
    };
    let tried = match Mailer::new(server, None) {
        Ok(mailer) => mailer.try_it().await,
        Err(problem) => Err(problem.to_string()),
    };
    let to_do = "Mend notify.smtp_url: the address, the user or the password.";
    vec![Finding::tried(what, tried, "the mail server takes them", to_do)]
}

async fn messenger(desk: &Desk) -> Vec<Finding> {
    let what = "messages to customers";
    let Some(whatsapp) = desk.config.messenger.whatsapp() else {
        return vec![Finding::off(what, "messenger = \"log\": they get none")];
    };
    let tried = match WhatsApp::new(whatsapp) {
        Ok(whatsapp) => whatsapp.try_it().await,
        Err(problem) => Err(problem.to_string()),
    };
    let to_do = "See docs/whatsapp.md: the token, the number and its permissions.";
    vec![Finding::tried(what, tried, "WhatsApp knows the number and the token", to_do)]
}

async fn public_address(desk: &Desk) -> Vec<Finding> {
    let what = "public address";
    let server = &desk.config.server;
    let scheme = if server.tls.is_some() { "https" } else { "http" };
    let base = server.public_url.clone().unwrap_or_else(|| format!("{scheme}://{}", server.listen));
    let failed = |why: String| {
        let to_do = "Start the service; then look at the name in the DNS, the proxy, the firewall and the certificate.";
        vec![Finding::new(what, State::Failed, format!("{base}: {why}"), to_do)]
    };
    let url = match parse_operator_url(&format!("{base}/healthz")) {
        Ok(url) => url,
        Err(problem) => return failed(problem.reason().to_owned()),
    };
    let config = OutboundConfig::anywhere(ANSWER_WITHIN);
    let outbound = match Outbound::new(&config) {
        Ok(outbound) => outbound,
        Err(problem) => return failed(problem.to_string()),
    };
    let answer = outbound.get(&url, &[]).await;
    match (&answer.error, answer.status) {
        (Some(error), _) => failed(error.to_string()),
        (None, Some(200)) if answer.body_excerpt.contains("\"ok\"") => {
            vec![Finding::ok(what, format!("{base} is reached from this machine"))]
        }
        (None, status) => {
            failed(format!("something else answers there, with status {}", status.unwrap_or_default()))
        }
    }
}
