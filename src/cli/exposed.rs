//! Files with secrets that others than their owner can read: said when something starts, with what to do.
//!
//! A file of somebody else's, or of root's, that a group may read is left alone: that is how a service gets to read
//! what it may not change.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Desk, read_config, user_id};
use crate::config::secrets_in;

const GROUP_READS: u32 = 0o040;
const OTHERS_READ: u32 = 0o004;

impl Desk {
    /// What should be said of files before they are used; one that cannot be looked at is told by whoever opens it.
    pub(super) fn exposed_files(&self) -> Vec<String> {
        let mut said = Vec::new();
        if let Some(file) = &self.file {
            let secrets = secrets_in(&read_config(&file.path).unwrap_or_default());
            if !secrets.is_empty() {
                let what = format!("{}, which holds {},", file.told(), secrets.join(", "));
                said.extend(warning(&what, &file.path));
            }
        }
        for (key, path) in self.config.secret_files() {
            said.extend(warning(&format!("{key} = {}", path.display()), path));
        }
        said
    }
}

fn warning(what: &str, path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    let user = user_id().unwrap_or(meta.uid());
    let is_own = user == meta.uid() || user == 0;
    let readers = if user == meta.uid() && user != 0 { GROUP_READS | OTHERS_READ } else { OTHERS_READ };
    if meta.mode() & readers == 0 {
        return None;
    }
    let owner = if is_own { "" } else { "make the user that runs tillbell its owner, then " };
    Some(format!("{what} can be read by others than its owner; {owner}run chmod 600 {}", path.display()))
}
