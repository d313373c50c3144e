//! Mails signed as banks and thieves would sign them: a small DKIM signer of the tests' own, whose
//! every tag can be bent, and the signers of three other hands.
//!
//! Keys lie in `tests/fixtures/dkim` (the script `make` there makes them again). Relaxed headers,
//! relaxed body.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use mail_auth::common::crypto::{RsaKey, Sha256 as Hash, SigningKey};
use mail_auth::common::headers::HeaderWriter;
use mail_auth::dkim::DkimSigner;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer};
use sha2::{Digest, Sha256};
use tillbell::domain::time::Timestamp;

/// A file among the keys.
pub fn key_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dkim").join(name)
}

/// The record that DNS holds for a key.
pub fn record(key: &str) -> String {
    format!("v=DKIM1; k=rsa; p={}", std::fs::read_to_string(key_file(&format!("{key}.pub"))).unwrap().trim())
}

fn rsa(key: &str) -> RsaKey<Hash> {
    let der = PrivatePkcs1KeyDer::from_pem_file(key_file(&format!("{key}.pem"))).unwrap();
    RsaKey::from_key_der(PrivateKeyDer::Pkcs1(der)).unwrap()
}

/// What a signature says.
#[derive(Clone, Debug)]
pub struct Signer {
    pub key: &'static str,
    pub domain: String,
    pub selector: String,
    pub fields: Vec<&'static str>,
    /// Tags besides the usual ones, such as `t=1; x=2;`.
    pub more: String,
    pub algorithm: &'static str,
}

impl Signer {
    /// As GTBank would sign.
    pub fn bank() -> Signer {
        Signer {
            key: "rsa2048",
            domain: "gtbank.com".into(),
            selector: "mail".into(),
            fields: vec!["from", "to", "subject", "date", "message-id", "content-type"],
            more: String::new(),
            algorithm: "rsa-sha256",
        }
    }

    pub fn times(mut self, made: Option<Timestamp>, until: Option<Timestamp>) -> Signer {
        let tag = |name: &str, at: Option<Timestamp>| {
            at.map_or(String::new(), |at| format!(" {name}={};", at.0 / 1_000_000))
        };
        self.more = format!("{}{}", tag("t", made), tag("x", until));
        self
    }

    /// The mail with the signature on top.
    pub fn sign(&self, mail: &str) -> String {
        let (head, body) = mail.split_once("\r\n\r\n").unwrap();
        let fields = unfolded(head);
        let body_hash = BASE64.encode(Sha256::digest(relaxed_body(body)));
        let value = format!(
            "v=1; a={}; c=relaxed/relaxed; d={}; s={};{} h={}; bh={body_hash}; b=",
            self.algorithm,
            self.domain,
            self.selector,
            self.more,
            self.fields.join(":")
        );
        let mut text = String::new();
        let mut left: Vec<&(String, String)> = fields.iter().collect();
        for name in &self.fields {
            // From the bottom, and none twice.
            if let Some(at) = left.iter().rposition(|(known, _)| known.eq_ignore_ascii_case(name)) {
                let (_, value) = left.remove(at);
                text.push_str(&format!("{}:{}\r\n", name.to_lowercase(), relaxed(value)));
            }
        }
        text.push_str(&format!("dkim-signature:{}", relaxed(&value)));
        let signature = BASE64.encode(rsa(self.key).sign(text.as_bytes()).unwrap());
        format!("DKIM-Signature: {value}{signature}\r\n{mail}")
    }
}

fn unfolded(head: &str) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in head.split("\r\n") {
        match (line.starts_with([' ', '\t']), fields.last_mut()) {
            (true, Some((_, value))) => value.push_str(line),
            _ => {
                let (name, value) = line.split_once(':').unwrap();
                fields.push((name.into(), value.into()));
            }
        }
    }
    fields
}

fn relaxed(value: &str) -> String {
    value.split([' ', '\t', '\r', '\n']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn relaxed_body(body: &str) -> String {
    let squeeze = |line: &str| {
        let mut out = String::new();
        for c in line.trim_end_matches([' ', '\t']).chars() {
            let blank = matches!(c, ' ' | '\t');
            if !(blank && out.ends_with(' ')) {
                out.push(if blank { ' ' } else { c });
            }
        }
        out
    };
    let lines: Vec<String> = body.split("\r\n").map(squeeze).collect();
    let text = lines.join("\r\n");
    let kept = text.trim_end_matches("\r\n");
    if kept.is_empty() { String::new() } else { format!("{kept}\r\n") }
}

/// Signed by mail-auth.
pub fn by_mail_auth(mail: &str) -> String {
    let signature = DkimSigner::from_key(rsa("rsa2048"))
        .domain("gtbank.com")
        .selector("mail")
        .headers(["From", "To", "Subject", "Date", "Message-ID", "Content-Type", "Content-Transfer-Encoding"])
        .sign(mail.as_bytes())
        .unwrap();
    format!("{}{mail}", signature.to_header())
}

/// Signed by dkimpy (Debian's python3-dkim).
pub fn by_dkimpy(mail: &str, key: &str) -> String {
    let mut command = Command::new("/usr/bin/dkimsign");
    command.args(["mail", "gtbank.com"]).arg(key_file(&format!("{key}.pem")));
    piped(command, mail)
}

/// Signed by OpenDKIM (Debian's opendkim-tools).
pub fn by_opendkim(mail: &str) -> String {
    let mut command = Command::new("/usr/sbin/opendkim-testmsg");
    command.args(["-d", "gtbank.com", "-s", "mail", "-k"]).arg(key_file("rsa2048.pem"));
    piped(command, mail)
}

/// Gives the mail to a program and takes what it prints, with CRLFs.
fn piped(mut command: Command, mail: &str) -> String {
    let what = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{what}: {error} (./test installs it)"));
    child.stdin.take().unwrap().write_all(mail.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{what}: {}", String::from_utf8_lossy(&done.stderr));
    let signed = String::from_utf8(done.stdout).unwrap();
    assert!(signed.to_lowercase().contains("dkim-signature:"), "{what} signed nothing: {signed}");
    signed.replace("\r\n", "\n").replace('\n', "\r\n")
}
