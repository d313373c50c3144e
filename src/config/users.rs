//! The `[users]` part of the configuration: what is demanded of people who sign in, and who may open a business himself.
//!
//! Called by `config` alone.

use serde::Deserialize;

use super::{ConfigError, wrong};

#[derive(Clone, Copy, Debug)]
pub struct Users {
    /// Staff sign in with a code as well.
    pub staff_totp: bool,
    pub registration: Registration,
}

/// What becomes of a business that somebody opens himself, at `/register`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registration {
    /// Nobody does.
    Off,
    /// It works in test mode, and takes real money when the operator says so.
    Open,
    /// It takes real money at once.
    Live,
}

impl Registration {
    pub fn as_str(self) -> &'static str {
        match self {
            Registration::Off => "off",
            Registration::Open => "open",
            Registration::Live => "live",
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawUsers {
    staff_totp: Option<bool>,
    registration: Option<String>,
}

impl RawUsers {
    /// `mails`: there is a server that takes mails.
    pub(super) fn check(self, dev: bool, mails: bool) -> Result<Users, ConfigError> {
        let registration = match self.registration.as_deref() {
            None | Some("off") => Registration::Off,
            Some("open") => Registration::Open,
            Some("live") => Registration::Live,
            Some(other) => return Err(wrong("users.registration", other, "off, open or live")),
        };
        if registration != Registration::Off && !mails && !dev {
            return Err(ConfigError(format!(
                "users.registration = {:?} needs notify.smtp_url: a mail proves the address of whoever opens a business",
                registration.as_str()
            )));
        }
        Ok(Users { staff_totp: self.staff_totp.unwrap_or(!dev), registration })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(toml: &str, dev: bool, mails: bool) -> Result<Registration, String> {
        let raw: RawUsers = toml::from_str(toml).unwrap();
        raw.check(dev, mails).map(|users| users.registration).map_err(|error| error.to_string())
    }

    #[test]
    fn who_opens_a_business_himself_is_proven_by_a_mail() {
        assert_eq!(checked("", false, false), Ok(Registration::Off));
        for (word, means) in
            [("open", Registration::Open), ("live", Registration::Live), ("off", Registration::Off)]
        {
            let text = format!("registration = {word:?}");
            assert_eq!(checked(&text, false, true), Ok(means));
            assert_eq!(checked(&text, true, false), Ok(means), "dev mode shows the link");
        }
        let said = checked("registration = \"open\"", false, false).unwrap_err();
        assert!(said.contains("users.registration") && said.contains("notify.smtp_url"), "{said}");
        let said = checked("registration = \"yes\"", false, true).unwrap_err();
        assert!(said.contains("off, open or live"), "{said}");
    }
}
