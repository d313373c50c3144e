//! The `[redis]` part of the configuration: where nodes share their rate limits.
//!
//! Called by `config` alone.

use secrecy::SecretString;
use serde::Deserialize;

use super::ConfigError;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawRedis {
    url: Option<String>,
}

impl RawRedis {
    /// The address may hold a password, so no message shows it.
    pub(super) fn check(self) -> Result<Option<SecretString>, ConfigError> {
        let Some(text) = self.url.filter(|text| !text.is_empty()) else { return Ok(None) };
        let is_good = url::Url::parse(&text)
            .is_ok_and(|url| matches!(url.scheme(), "redis" | "rediss") && url.host_str().is_some());
        if !is_good {
            let wanted =
                "redis.url must be redis://[:password@]host[:port][/database], or rediss:// with TLS";
            return Err(ConfigError(wanted.to_owned()));
        }
        Ok(Some(text.into()))
    }
}
