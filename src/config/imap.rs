//! `mail.imap[]`: the mailboxes that are read, each a login at a server with its folders.
//!
//! Checked when the program starts, so that a mailbox that can never work is noticed at once, and not by a
//! missing payment. Whether the server can be reached shows when it is read. Secrets are kept in a form that is
//! never logged. Called by `config::mail` alone.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

use super::one_or_more::OneOrMore;
use super::{ConfigError, wrong};

/// Logins of one installation, and folders of one login.
const SERVERS_MAX: usize = 100;
const FOLDERS_MAX: usize = 50;
/// Characters of a name, a login, a folder, a password.
const TEXT_MAX: usize = 1_000;

/// One login at an IMAP server.
#[derive(Clone, Debug)]
pub struct ImapServer {
    /// Its name in logs and metrics.
    pub name: String,
    pub host: String,
    pub port: u16,
    pub tls: ImapTls,
    pub user: String,
    pub secret: ImapSecret,
    /// At least one.
    pub folders: Vec<String>,
    /// Whose Authentication-Results are believed; the provider's own name for its checking.
    pub authserv_id: Option<String>,
    /// PEM file of the authority that signed the server's certificate, instead of the machine's.
    pub ca_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImapTls {
    /// From the first byte on, port 993.
    Tls,
    /// After STARTTLS, port 143; without it there is no login.
    StartTls,
    /// Never encrypted; only allowed to this machine.
    None,
}

/// The secret of the login. Files are read again at every login.
#[derive(Clone, Debug)]
pub enum ImapSecret {
    Password(SecretString),
    PasswordFile(PathBuf),
    /// A file that holds an OAuth 2 access token, kept fresh by the operator's own means (XOAUTH2).
    TokenFile(PathBuf),
}

impl ImapServer {
    /// The name of one of its folders for people.
    pub fn folder_name(&self, folder: &str) -> String {
        if self.folders.len() == 1 { self.name.clone() } else { format!("{}/{folder}", self.name) }
    }
}

impl ImapTls {
    pub fn as_str(self) -> &'static str {
        match self {
            ImapTls::Tls => "tls",
            ImapTls::StartTls => "starttls",
            ImapTls::None => "none",
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawImap {
    name: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    tls: Option<String>,
    user: Option<String>,
    password: Option<String>,
    password_file: Option<PathBuf>,
    oauth2_token_file: Option<PathBuf>,
    folder: OneOrMore,
    authserv_id: Option<String>,
    ca_file: Option<PathBuf>,
}

/// `[mail.imap]` in the place of `[[mail.imap]]`, in other words than the parser's.
pub(super) fn refuse_table(table: &toml::Table) -> Result<(), ConfigError> {
    match table.get("mail").and_then(|mail| mail.get("imap")) {
        Some(toml::Value::Table(_)) => Err(ConfigError(
            "mail.imap is a list: write [[mail.imap]], with two brackets, above each mailbox".into(),
        )),
        _ => Ok(()),
    }
}

/// Checks all of them, and that there are no duplicates.
pub(super) fn check(all: Vec<RawImap>) -> Result<Vec<ImapServer>, ConfigError> {
    if all.len() > SERVERS_MAX {
        return Err(ConfigError(format!("mail.imap has more than {SERVERS_MAX} mailboxes")));
    }
    let servers = all
        .into_iter()
        .enumerate()
        .map(|(n, raw)| raw.check(n + 1))
        .collect::<Result<Vec<ImapServer>, _>>()?;
    for (n, server) in servers.iter().enumerate() {
        for other in &servers[..n] {
            if server.name == other.name {
                let name = &server.name;
                return Err(ConfigError(format!(
                    "mail.imap: two mailboxes are called {name:?}; set a different name for one of them"
                )));
            }
            let same_login =
                (&server.host, server.port, &server.user) == (&other.host, other.port, &other.user);
            if same_login && server.folders.iter().any(|folder| other.folders.contains(folder)) {
                let (a, b) = (&other.name, &server.name);
                return Err(ConfigError(format!("mail.imap: {a:?} and {b:?} read the same folder")));
            }
        }
    }
    Ok(servers)
}

impl RawImap {
    /// `n` counts from one, as people do.
    fn check(self, n: usize) -> Result<ImapServer, ConfigError> {
        let key = |field: &str| format!("mail.imap[{n}].{field}");
        let needed = |field: &str, given: Option<String>| {
            given
                .filter(|text| !text.is_empty())
                .ok_or_else(|| ConfigError(format!("{} is required", key(field))))
        };
        let host = needed("host", self.host)?.to_ascii_lowercase();
        if rustls::pki_types::ServerName::try_from(host.as_str()).is_err() {
            return Err(wrong(&key("host"), &host, "a host name such as imap.example.com"));
        }
        let user = text(&key("user"), needed("user", self.user)?)?;
        let tls = match self.tls.as_deref() {
            None | Some("tls") => ImapTls::Tls,
            Some("starttls") => ImapTls::StartTls,
            Some("none") if is_this_machine(&host) => ImapTls::None,
            Some("none") => {
                return Err(ConfigError(format!(
                    "{} = \"none\" would send the password over the network unencrypted; it is for localhost \
                     only",
                    key("tls")
                )));
            }
            Some(other) => return Err(wrong(&key("tls"), other, "tls, starttls or none")),
        };
        let secret = match (self.password, self.password_file, self.oauth2_token_file) {
            (Some(password), None, None) => ImapSecret::Password(password_text(&key("password"), password)?),
            (None, Some(file), None) => ImapSecret::PasswordFile(file),
            (None, None, Some(file)) => ImapSecret::TokenFile(file),
            (None, None, None) => {
                return Err(ConfigError(format!(
                    "mail.imap[{n}] needs one of password, password_file and oauth2_token_file"
                )));
            }
            _ => {
                return Err(ConfigError(format!(
                    "mail.imap[{n}] has more than one of password, password_file and oauth2_token_file; set only \
                     one of them"
                )));
            }
        };
        let mut folders = self.folder.list();
        if folders.is_empty() {
            folders.push("INBOX".into());
        }
        if folders.len() > FOLDERS_MAX {
            return Err(ConfigError(format!("{} has more than {FOLDERS_MAX} folders", key("folder"))));
        }
        // INBOX alone is the same in any case (RFC 3501).
        let folders = folders
            .into_iter()
            .map(|name| if name.eq_ignore_ascii_case("inbox") { "INBOX".into() } else { name })
            .map(|name| text(&key("folder"), name))
            .collect::<Result<Vec<String>, _>>()?;
        if (1..folders.len()).any(|at| folders[..at].contains(&folders[at])) {
            return Err(ConfigError(format!("{} has a folder twice", key("folder"))));
        }
        let name = match self.name {
            Some(name) => text(&key("name"), name)?,
            None => format!("{user} at {host}"),
        };
        let default_port = if tls == ImapTls::Tls { 993 } else { 143 };
        let port = self.port.unwrap_or(default_port);
        if port == 0 {
            return Err(wrong(&key("port"), "0", "a port"));
        }
        let authserv_id = self.authserv_id.map(|id| text(&key("authserv_id"), id)).transpose()?;
        let ca_file = self.ca_file;
        Ok(ImapServer { name, host, port, tls, user, secret, folders, authserv_id, ca_file })
    }
}

/// A name of this machine; that the connection stays on it is checked again when it is open.
fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// A text that goes into a command: it must have no line ends.
fn text(key: &str, given: String) -> Result<String, ConfigError> {
    if given.trim().is_empty() || given.chars().count() > TEXT_MAX || given.contains(char::is_control) {
        return Err(wrong(key, &given, "a string on one line"));
    }
    Ok(given)
}

/// The same for what must not be shown.
fn password_text(key: &str, given: String) -> Result<SecretString, ConfigError> {
    if given.is_empty() || given.chars().count() > TEXT_MAX || given.contains(char::is_control) {
        return Err(ConfigError(format!("{key} must be a string on one line")));
    }
    Ok(given.into())
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, ImapSecret, ImapTls};

    fn load(text: &str) -> Result<Config, String> {
        Config::load(text, std::iter::empty()).map_err(|error| error.to_string())
    }

    const GOOD: &str = "host = \"imap.example.com\"\nuser = \"till\"\n";

    #[test]
    fn defaults_are_tls_and_inbox() {
        let config = load(&format!("[[mail.imap]]\n{GOOD}password = \"p\"")).unwrap();
        let server = &config.mail.imap[0];
        assert_eq!((server.port, server.tls), (993, ImapTls::Tls));
        assert_eq!(server.folders, ["INBOX"]);
        assert_eq!(server.name, "till at imap.example.com");
        assert!(!format!("{config:?}").contains("\"p\""));
    }

    #[test]
    fn several_folders_and_a_token() {
        let text = format!(
            "[[mail.imap]]\n{GOOD}tls = \"starttls\"\nfolder = [\"inbox\", \"Alerts\"]\noauth2_token_file = \"/t\""
        );
        let config = load(&text).unwrap();
        let server = &config.mail.imap[0];
        assert_eq!(server.port, 143);
        assert_eq!(server.folder_name("Alerts"), "till at imap.example.com/Alerts");
        assert!(matches!(server.secret, ImapSecret::TokenFile(_)));
    }

    #[test]
    fn the_environment_takes_a_list_of_tables() {
        let list = r#"[{host = "localhost", tls = "none", user = "a", password = "hunter2"}]"#;
        let variable = ("TILLBELL_MAIL__IMAP".to_owned(), list.to_owned());
        let config = Config::load("", std::iter::once(variable)).unwrap();
        assert_eq!(config.mail.imap[0].tls, ImapTls::None);
    }

    #[test]
    fn mistakes_are_named_and_secrets_are_not() {
        for (lines, expected) in [
            ("", "host is required"),
            ("host = \"a b\"\nuser = \"u\"", "mail.imap[1].host"),
            ("host = \"h.example\"", "user is required"),
            (GOOD, "needs one of password"),
            (&format!("{GOOD}password = \"hunter2\"\npassword_file = \"/f\""), "set only one of them"),
            (&format!("{GOOD}password = \"hunter2\\n\""), "mail.imap[1].password"),
            (&format!("{GOOD}password = \"hunter2\"\ntls = \"none\""), "unencrypted"),
            (&format!("{GOOD}password = \"hunter2\"\ntls = \"ssl\""), "tls, starttls or none"),
            (&format!("{GOOD}password = \"hunter2\"\nfolder = [\"A\", \"A\"]"), "twice"),
            (&format!("{GOOD}password = \"hunter2\"\nfolder = \"A\\r\\nB\""), "mail.imap[1].folder"),
            (&format!("{GOOD}password = \"hunter2\"\nport = 0"), "mail.imap[1].port"),
            (
                &format!("{GOOD}password = \"hunter2\"\n[[mail.imap]]\n{GOOD}password = \"x\""),
                "two mailboxes are called",
            ),
            (
                &format!("{GOOD}password = \"hunter2\"\n[[mail.imap]]\nname = \"b\"\n{GOOD}password = \"x\""),
                "the same folder",
            ),
            (&format!("{GOOD}password = \"hunter2\"\nfolders = \"A\""), "folders"),
        ] {
            let error = load(&format!("[[mail.imap]]\n{lines}")).unwrap_err();
            assert!(error.contains(expected) && !error.contains("hunter2"), "{lines}: {error}");
        }
    }
}
