//! The secret of a login: from the configuration, or from a file that is read each time.
//!
//! Operators refresh OAuth 2 tokens by their own means and write them to the file. A changed password is used
//! from the next login on. Used by `session`.

use std::path::Path;

use secrecy::SecretString;
use tokio::io::AsyncReadExt;
use zeroize::Zeroizing;

use crate::config::ImapSecret;

/// Bytes of the file; tokens have a few kilobytes.
const BYTES_MAX: u64 = 16 * 1024;

/// The secret itself. The error names the file and never its contents.
pub async fn read(secret: &ImapSecret) -> Result<SecretString, String> {
    match secret {
        ImapSecret::Password(password) => Ok(password.clone()),
        ImapSecret::PasswordFile(path) => from_file("password file", path).await,
        ImapSecret::TokenFile(path) => from_file("token file", path).await,
    }
}

async fn from_file(kind: &str, path: &Path) -> Result<SecretString, String> {
    let shown = path.display();
    let odd = |error: std::io::Error| format!("the {kind} {shown} cannot be read: {error}");
    let file = tokio::fs::File::open(path).await.map_err(odd)?;
    let mut text = Zeroizing::new(String::new());
    file.take(BYTES_MAX + 1).read_to_string(&mut text).await.map_err(odd)?;
    let line = text.trim_end_matches(['\r', '\n']);
    if line.is_empty() || text.len() as u64 > BYTES_MAX || line.contains(char::is_control) {
        return Err(format!("the {kind} {shown} must contain one line of at most {BYTES_MAX} bytes"));
    }
    Ok(line.to_owned().into())
}
