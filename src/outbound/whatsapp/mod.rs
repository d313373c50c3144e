//! WhatsApp by Meta's Cloud API: one message is one POST to `{base_url}/{version}/{phone number}/messages`.
//!
//! Customers who wrote to us within 24 hours get plain text, all others the template of the message's kind
//! (`payload`). `answer` says what an answer means. No redirect is followed, 16 KiB of an answer are read, and
//! neither the token nor any word of a message is logged. The operator configures the address of the API, so it
//! may be inside their own network, unlike a merchant's target. After
//! developers.facebook.com/documentation/business-messaging/whatsapp (messages, templates, error-codes). For
//! `outbound::messenger`; what comes in from Meta is `http::whatsapp`'s.

mod answer;
mod payload;

use crate::outbound::message::{Outgoing, SendOutcome};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use secrecy::ExposeSecret;
use tokio::time::{Instant, timeout_at};

pub use answer::{Failure, failure_of};

use super::{Outbound, OutboundConfig, OutboundProblem, PostOutcome};
use crate::config::{self, ConfigError, Templates};
use crate::domain::weburl::TargetUrl;
use answer::SendVerdict;

/// For one POST. When it is over, the POST knows whether anything had been sent.
const POST_WITHIN: Duration = Duration::from_millis(6_000);
/// For one message, a second POST by template included; less than what a messenger may take.
const SEND_WITHIN: Duration = Duration::from_millis(7_500);
/// Answers of success without a message's id, one after the other, before the operator is told: as many as
/// tries of one message within five minutes.
const NO_ID_MAX: u32 = 5;

/// Why the adapter cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum WhatsAppProblem {
    #[error(transparent)]
    Outbound(#[from] OutboundProblem),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("whatsapp.token cannot be sent: it must have only letters, digits and punctuation")]
    Token,
}

/// The adapter, made once.
pub struct WhatsApp {
    outbound: Outbound,
    url: TargetUrl,
    number_url: TargetUrl,
    authorization: HeaderValue,
    language: String,
    templates: Templates,
    phone_number_id: String,
    /// Nothing can be sent until the operator has done something; told once.
    is_alarmed: AtomicBool,
    /// Answers of success without an id since the last good one.
    without_id: AtomicU32,
}

impl WhatsApp {
    pub fn new(config: &config::WhatsApp) -> Result<WhatsApp, WhatsAppProblem> {
        // Allowed addresses: all; see the head of this file.
        let outbound = Outbound::new(&OutboundConfig::anywhere(POST_WITHIN))?;
        let bearer = format!("Bearer {}", config.token.expose_secret());
        let mut authorization = HeaderValue::try_from(bearer).map_err(|_| WhatsAppProblem::Token)?;
        authorization.set_sensitive(true);
        Ok(WhatsApp {
            outbound,
            url: config.messages_url()?,
            number_url: config.number_url()?,
            authorization,
            language: config.language.clone(),
            templates: config.templates.clone(),
            phone_number_id: config.phone_number_id.clone(),
            is_alarmed: AtomicBool::new(false),
            without_id: AtomicU32::new(0),
        })
    }

    /// The number messages go out from; reports about others are none of ours.
    pub fn phone_number_id(&self) -> &str {
        &self.phone_number_id
    }

    /// Sends once, by text if the customer's window is open. If the API says that it is not, nothing went
    /// out, and the template goes in its place.
    pub async fn send(&self, outgoing: &Outgoing) -> SendOutcome {
        let deadline = Instant::now() + SEND_WITHIN;
        if outgoing.is_window_open {
            match self.post(payload::text(outgoing), outgoing, deadline).await {
                SendVerdict::WindowClosed => {}
                verdict => return verdict.into(),
            }
        }
        match payload::template(outgoing, &self.templates, &self.language) {
            Ok(body) => self.post(body, outgoing, deadline).await.into(),
            Err(why) => SendOutcome::Refused { why },
        }
    }

    /// Asks for the number with the token, and sends nothing; or why it cannot be used.
    pub async fn try_it(&self) -> Result<(), String> {
        let headers = [(AUTHORIZATION, self.authorization.clone())];
        let asked = self.outbound.get(&self.number_url, &headers).await;
        match (&asked.error, asked.status) {
            (Some(error), _) => Err(error.to_string()),
            (None, Some(200)) => Ok(()),
            (None, status) => {
                let code = answer::error_of(&asked).map(|error| format!(", error {}", error.code));
                Err(format!("status {}{}", status.unwrap_or_default(), code.unwrap_or_default()))
            }
        }
    }

    async fn post(&self, body: Bytes, outgoing: &Outgoing, deadline: Instant) -> SendVerdict {
        let headers: [(HeaderName, HeaderValue); 2] = [
            (AUTHORIZATION, self.authorization.clone()),
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        ];
        let posted = timeout_at(deadline, self.outbound.post(&self.url, &headers, body)).await;
        // Cut off here, it may be anywhere on its way.
        let posted = posted.unwrap_or_else(|_| PostOutcome { maybe_seen: true, ..PostOutcome::default() });
        let verdict = answer::judge(&posted);
        self.note(&verdict, &posted, outgoing);
        verdict
    }

    /// Log, meters and alarm; of what the API says only numbers and words of ours.
    fn note(&self, verdict: &SendVerdict, posted: &PostOutcome, outgoing: &Outgoing) {
        let error = answer::error_of(posted);
        if let SendVerdict::Sent { .. } = verdict {
            return self.all_is_well();
        }
        let code = error.as_ref().map(|error| error.code);
        metrics::counter!("tillbell_whatsapp_errors_total", "code" => answer::label(code, posted.status))
            .increment(1);
        tracing::warn!(
            message = outgoing.message_id,
            kind = outgoing.kind.as_str(),
            status = posted.status,
            code,
            details = error.map(|error| error.details),
            error = posted.error.as_ref().map(tracing::field::display),
            ms = u64::try_from(posted.duration.as_millis()).unwrap_or(u64::MAX),
            "WhatsApp did not accept a message"
        );
        match verdict {
            SendVerdict::Operator { why } => self.alarm(why),
            // A single one may be a fault of something in between.
            SendVerdict::NoId { why } if self.without_id.fetch_add(1, Ordering::Relaxed) + 1 >= NO_ID_MAX => {
                self.alarm(why);
            }
            _ => {}
        }
    }

    /// Tells the operator, once until a message goes out again, that nothing does.
    pub fn alarm(&self, why: &str) {
        if !self.is_alarmed.swap(true, Ordering::Relaxed) {
            metrics::counter!("tillbell_alarms_total", "kind" => "messenger").increment(1);
            metrics::gauge!("tillbell_messenger_alarm").set(1.0);
            tracing::error!(
                why,
                "ALARM: WhatsApp accepts no messages until someone acts; customers get no links"
            );
        }
    }

    /// Whether the operator was told that no message goes out.
    pub fn is_alarmed(&self) -> bool {
        self.is_alarmed.load(Ordering::Relaxed)
    }

    fn all_is_well(&self) {
        self.without_id.store(0, Ordering::Relaxed);
        if self.is_alarmed.swap(false, Ordering::Relaxed) {
            metrics::gauge!("tillbell_messenger_alarm").set(0.0);
            tracing::info!("WhatsApp accepts messages again");
        }
    }
}
