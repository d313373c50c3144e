//! The `[retention]` part of the configuration: how long finished rows are kept.
//!
//! Checked like every other part: each mistake names its key. Called by `config` alone.

use serde::Deserialize;

use super::ConfigError;
use super::durations::{Given, span};
use crate::domain::time::Span;

/// A shorter time would delete what is still needed: a message is tried for a day, a delivery for about three,
/// and a person may look for a cause only after a weekend.
const LEAST: Span = Span::days(7);
/// Merchants read events long afterwards, and may have them sent again.
const LEAST_OF_EVENTS: Span = Span::days(90);

#[derive(Clone, Debug)]
pub struct Retention {
    /// Jobs that are done, other than deliveries.
    pub finished_jobs: Span,
    /// Webhook attempts whose delivery is over.
    pub attempts: Span,
    /// Texts of events: who paid, and what people typed.
    pub event_texts: Span,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawRetention {
    finished_jobs: Option<Given>,
    attempts: Option<Given>,
    event_texts: Option<Given>,
}

impl RawRetention {
    pub(super) fn check(self) -> Result<Retention, ConfigError> {
        let kept = |key: &str, text: Option<Given>, default: Span, least: Span| {
            let kept = span(key, text, default)?;
            if kept < least {
                let days = least.0 / Span::days(1).0;
                return Err(ConfigError(format!("{key} must be {days}d or more")));
            }
            Ok(kept)
        };
        Ok(Retention {
            finished_jobs: kept("retention.finished_jobs", self.finished_jobs, Span::days(30), LEAST)?,
            attempts: kept("retention.attempts", self.attempts, Span::days(90), LEAST)?,
            event_texts: kept("retention.event_texts", self.event_texts, Span::days(400), LEAST_OF_EVENTS)?,
        })
    }
}
