//! The way to customers' phones: one message, one outcome. Which adapter is used is configuration.
//!
//! `log` sends nothing: in dev mode it prints what it would send, elsewhere it says that nothing was sent.
//! What a message says, when it is tried again and what is kept of it is ops' matter; an adapter sends
//! once, within its own time limit, and tells apart what may work later from what never will.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::whatsapp::WhatsApp;
use crate::domain::message::MessageKind;
use crate::domain::phone::Phone;

/// An adapter must have its outcome within this; whoever waits for a first attempt waits 10 s in all.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(8);

/// How the ids of messages begin that only the log got.
pub const LOG_PREFIX: &str = "log-";

/// A message on its way. It holds what must not be logged, so it has no `Debug`.
pub struct Outgoing {
    pub message_id: i64,
    /// Ours, for providers that give it back with their reports; only this deployment can make it.
    pub reference: String,
    pub to: Phone,
    pub kind: MessageKind,
    /// The whole text, links and codes included.
    pub text: Zeroizing<String>,
    /// What fills the provider's template; for [`MessageKind::Link`] only.
    pub link: Option<LinkParts>,
    /// The six digits; for [`MessageKind::Code`] only.
    pub code: Option<Zeroizing<String>>,
    /// What fills the template of any other kind, each as a person reads it, in the order in which
    /// `text` tells it.
    pub parts: Vec<Zeroizing<String>>,
    /// The customer wrote to us within the last 24 hours, so plain text may be sent.
    pub is_window_open: bool,
}

/// The parts of a link message, each as a person reads it.
pub struct LinkParts {
    pub merchant: String,
    /// `NGN 5,000.00`.
    pub amount: String,
    pub reference: String,
    pub url: Zeroizing<String>,
    /// The last part of the address, for templates whose button ends in a variable.
    pub token: Zeroizing<String>,
}

/// What became of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The provider has taken it and calls it so.
    Sent { provider_id: String },
    /// Not sent, and not now: the provider is down or asks for patience (`after`).
    Retry { why: String, after: Option<Duration> },
    /// It went out and no answer came back: it may have arrived or not. A report may tell.
    Unsure { why: String },
    /// Never: wrong account, wrong template, not allowed.
    Refused { why: String },
    /// The number is none of the messenger's.
    NotOnWhatsApp,
}

/// An adapter of somebody else's, such as a test's.
pub trait Carrier: Send + Sync {
    fn send(&self, outgoing: Outgoing) -> Pin<Box<dyn Future<Output = SendOutcome> + Send + '_>>;
}

/// The adapter in use.
#[derive(Clone)]
pub enum Messenger {
    /// Prints texts if told to (dev mode), else refuses them.
    Log {
        shows_texts: bool,
    },
    WhatsApp(Arc<WhatsApp>),
    Other(Arc<dyn Carrier>),
}

impl fmt::Debug for Messenger {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl Messenger {
    pub fn name(&self) -> &'static str {
        match self {
            Messenger::Log { .. } => "log",
            Messenger::WhatsApp(_) => "whatsapp",
            Messenger::Other(_) => "other",
        }
    }

    /// Whether nobody but the operator ever sees what is sent.
    pub fn is_log(&self) -> bool {
        matches!(self, Messenger::Log { .. })
    }

    /// Sends once; never longer than [`SEND_TIMEOUT`].
    pub async fn send(&self, outgoing: Outgoing) -> SendOutcome {
        let sending = async {
            match self {
                Messenger::Log { shows_texts } => log(outgoing, *shows_texts),
                Messenger::WhatsApp(whatsapp) => whatsapp.send(&outgoing).await,
                Messenger::Other(carrier) => carrier.send(outgoing).await,
            }
        };
        match tokio::time::timeout(SEND_TIMEOUT, sending).await {
            Ok(outcome) => outcome,
            Err(_) => SendOutcome::Unsure { why: "the messaging service did not respond in time".into() },
        }
    }
}

fn log(outgoing: Outgoing, shows_text: bool) -> SendOutcome {
    let Outgoing { message_id, to, kind, text, .. } = outgoing;
    if !shows_text {
        return SendOutcome::Refused { why: "no messaging service is set up; contact the operator".into() };
    }
    tracing::info!(
        message = message_id,
        to = to.e164(),
        kind = kind.as_str(),
        text = text.as_str(),
        "MESSAGE"
    );
    SendOutcome::Sent { provider_id: format!("{LOG_PREFIX}{message_id}") }
}
