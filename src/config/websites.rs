//! The `[websites]` part of the configuration: who approves a merchant's website.
//!
//! Called by `config` alone.

use serde::Deserialize;

#[derive(Clone, Copy, Debug)]
pub struct Websites {
    /// A merchant who proves that a website is his approves it himself.
    pub self_approval: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawWebsites {
    self_approval: bool,
}

impl RawWebsites {
    pub(super) fn check(self) -> Websites {
        Websites { self_approval: self.self_approval }
    }
}
