//! Where secrets are stored in clear text: keys of a configuration file, and files that the configuration
//! names.
//!
//! Nothing is opened here; `cli` checks at the start who may read the files. The file of `secret.key_file` is
//! not included, because the vault refuses one that others can read. Pure.

use std::path::Path;

use super::{Config, ImapSecret};

/// Keys of one section, each a secret in itself.
const SECRETS: [(&str, &str); 5] = [
    ("secret", "key"),
    ("whatsapp", "token"),
    ("whatsapp", "app_secret"),
    ("whatsapp", "verify_token"),
    ("notify", "webhook_url"),
];

/// The keys in the text of a configuration file whose values are secrets. Text that cannot be read has none.
pub fn secrets_in(file: &str) -> Vec<String> {
    let Ok(table) = toml::from_str::<toml::Table>(file) else { return Vec::new() };
    let value = |section: &str, key: &str| table.get(section).and_then(|section| section.get(key));
    let mut found: Vec<String> = SECRETS
        .iter()
        .filter(|(section, key)| value(section, key).is_some())
        .map(|(section, key)| format!("{section}.{key}"))
        .collect();
    for (section, key) in
        [("database", "url"), ("database", "direct_url"), ("notify", "smtp_url"), ("redis", "url")]
    {
        if value(section, key).and_then(toml::Value::as_str).is_some_and(holds_password) {
            found.push(format!("{section}.{key}"));
        }
    }
    let mailboxes = value("mail", "imap").and_then(toml::Value::as_array);
    for (at, mailbox) in mailboxes.into_iter().flatten().enumerate() {
        if mailbox.get("password").is_some() {
            found.push(format!("mail.imap[{}].password", at + 1));
        }
    }
    found
}

/// In the authority of a URL, or in a parameter.
fn holds_password(url: &str) -> bool {
    if url.starts_with("sqlite:") {
        return false;
    }
    let Ok(url) = url::Url::parse(url) else { return true };
    url.password().is_some() || url.query_pairs().any(|(name, _)| name.to_lowercase().contains("password"))
}

impl Config {
    /// Files that hold nothing but a secret, each with the key that names it.
    pub fn secret_files(&self) -> Vec<(String, &Path)> {
        let mut files = Vec::new();
        for (key, tls) in [
            ("server.tls_key", self.server.tls.as_ref()),
            ("mail.smtp.tls_key", self.mail.smtp.as_ref().and_then(|smtp| smtp.tls.as_ref())),
        ] {
            // Without files of its own the mail listener has those of the server.
            if let Some(tls) = tls.filter(|tls| !files.iter().any(|(_, path)| *path == tls.key)) {
                files.push((key.to_owned(), tls.key.as_path()));
            }
        }
        for (at, server) in self.mail.imap.iter().enumerate() {
            let (key, path) = match &server.secret {
                ImapSecret::Password(_) => continue,
                ImapSecret::PasswordFile(path) => ("password_file", path),
                ImapSecret::TokenFile(path) => ("oauth2_token_file", path),
            };
            files.push((format!("mail.imap[{}].{key}", at + 1), path.as_path()));
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_file_are_told_by_their_keys() {
        for (text, keys) in [
            ("", &[][..]),
            ("[database]\nurl = \"sqlite:a.db\"", &[]),
            ("[database]\nurl = \"postgres://till@h/d\"", &[]),
            ("[database]\nurl = \"postgres://till:hunter2@h/d\"", &["database.url"]),
            ("[database]\nurl = \"postgres://h/d?password=hunter2\"", &["database.url"]),
            ("[secret]\nkey_file = \"a.key\"", &[]),
            ("[secret]\nkey = \"00\"", &["secret.key"]),
            ("[notify]\nsmtp_url = \"smtps://m.example\"", &[]),
            ("[notify]\nsmtp_url = \"smtps://u:p@m.example\"", &["notify.smtp_url"]),
            ("[whatsapp]\ntemplate = \"t\"\ntoken = \"a\"", &["whatsapp.token"]),
            (
                "[[mail.imap]]\npassword_file = \"p\"\n[[mail.imap]]\npassword = \"hunter2\"",
                &["mail.imap[2].password"],
            ),
            ("not TOML", &[]),
        ] {
            assert_eq!(secrets_in(text), keys, "{text}");
        }
    }

    #[test]
    fn files_of_secrets_are_told_by_the_keys_that_name_them() {
        let text = "[server]\ntls_cert = \"a.pem\"\ntls_key = \"a.key\"\n[mail]\nrecipients = \"a@b.example\"\n\
                    [mail.smtp]\nlisten = \"127.0.0.1:0\"\n\
                    [[mail.imap]]\nhost = \"h.example\"\nuser = \"u\"\noauth2_token_file = \"t\"\n\
                    [[mail.imap]]\nhost = \"h.example\"\nuser = \"v\"\npassword = \"hunter2\"";
        let config = Config::load(text, std::iter::empty()).unwrap();
        let files = config.secret_files();
        let told: Vec<(&str, &str)> =
            files.iter().map(|(key, path)| (key.as_str(), path.to_str().unwrap())).collect();
        assert_eq!(told, [("server.tls_key", "a.key"), ("mail.imap[1].oauth2_token_file", "t")]);
    }
}
