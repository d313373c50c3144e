//! Copies of the embedded database: made while the service runs, checked, and brought up as the service would.
//!
//! For `cli::backup`. A server's database has tools of its own (docs/operating.md, "Backup and restore").

use std::path::{Path, PathBuf};

use super::{App, StartError};
use crate::config::Config;
use crate::store::engine::backup;
pub use crate::store::engine::backup::{Copied, beside, join_log, partial, remove, settle};
use crate::store::{StoreError, StoreOptions, sqlite_path};

/// The file of the embedded database that a URL names; `None`: it is a server's.
pub fn file_of(url: &str) -> Option<PathBuf> {
    url.starts_with("sqlite:").then(|| PathBuf::from(sqlite_path(url)))
}

/// Copies what the file holds now to `partial(to)`. Answers its bytes.
pub async fn copy(
    from: PathBuf,
    to: PathBuf,
    mut told: impl FnMut(Copied) + Send + 'static,
) -> Result<u64, StoreError> {
    on_a_thread(move || backup::copy(&from, &to, &mut told)).await
}

/// What is wrong with the pages of a file; nothing, if it is sound.
pub async fn check(file: PathBuf) -> Result<Vec<String>, StoreError> {
    on_a_thread(move || backup::check(&file)).await
}

/// Opens a copy with the installation's key, and brings its schema up to date.
pub async fn bring_up(config: &Config, file: &Path) -> Result<App, StartError> {
    let options = StoreOptions::command(&format!("sqlite:{}", file.display()));
    let app = App::find_any(config.clone(), &options).await?;
    app.prepare().await?;
    Ok(app)
}

async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| StoreError::Fault(format!("a copy of the database: {error}")))?
}
