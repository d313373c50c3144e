//! One message to a customer's phone, and the result of one attempt.

use std::time::Duration;

use zeroize::Zeroizing;

use crate::domain::message::MessageKind;
use crate::domain::phone::Phone;

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

/// The result of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The provider has accepted it, with this id of its own.
    Sent { provider_id: String },
    /// Not sent for now: the provider is down, or asks to wait (`after`).
    Retry { why: String, after: Option<Duration> },
    /// It was sent and no answer came: it may have arrived or not. A report may tell.
    Unsure { why: String },
    /// It can never be sent: wrong account, wrong template, not allowed.
    Refused { why: String },
    /// The number has no account with the messenger.
    NotOnWhatsApp,
}
