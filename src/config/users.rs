//! The `[users]` part of the configuration: what is demanded of people who sign in.
//!
//! Called by `config` alone.

use serde::Deserialize;

#[derive(Clone, Copy, Debug)]
pub struct Users {
    /// Staff sign in with a code as well.
    pub staff_totp: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawUsers {
    staff_totp: Option<bool>,
}

impl RawUsers {
    pub(super) fn check(self, dev: bool) -> Users {
        Users { staff_totp: self.staff_totp.unwrap_or(!dev) }
    }
}
