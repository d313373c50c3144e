//! The operator's own webhook, where alarms are posted to as `{"text": "..."}`: what Slack, Mattermost, Rocket.Chat and
//! Google Chat take, and Telegram's `sendMessage` with `?chat_id=` in its address.
//!
//! The address is the operator's, so it may be in his own network. It may hold a token, so it stands in no log.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::{Outbound, OutboundConfig, OutboundProblem, PostOutcome};
use crate::domain::weburl::{TargetUrl, parse_target};

const TIMEOUT: Duration = Duration::from_secs(15);

/// Why nothing can be posted.
#[derive(Debug, thiserror::Error)]
pub enum HookProblem {
    #[error(transparent)]
    Outbound(#[from] OutboundProblem),
    #[error("notify.webhook_url cannot be used: it {0}")]
    Address(String),
}

pub struct Hook {
    outbound: Outbound,
    url: TargetUrl,
}

impl Hook {
    pub fn new(url: &SecretString) -> Result<Hook, HookProblem> {
        // Whether it may be plain HTTP was asked when the configuration was read.
        let url = parse_target(url.expose_secret(), true)
            .map_err(|problem| HookProblem::Address(problem.reason().to_owned()))?;
        Ok(Hook { outbound: Outbound::new(&OutboundConfig::anywhere(TIMEOUT))?, url })
    }

    /// Posts a text once.
    pub async fn post(&self, text: &str) -> PostOutcome {
        let headers: [(HeaderName, HeaderValue); 1] =
            [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let body = json!({ "text": text }).to_string();
        self.outbound.post(&self.url, &headers, Bytes::from(body)).await
    }
}
