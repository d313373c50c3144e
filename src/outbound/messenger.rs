//! Sends messages to customers' phones: one message, one outcome. The configuration names the adapter.
//!
//! `log` sends nothing: in dev mode it prints what it would send, elsewhere it says that nothing was sent.
//! What a message says, when it is tried again and what is kept of it is ops' matter; an adapter sends
//! once, within its own time limit, and tells apart what may work later from what never will.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::message::{Outgoing, SendOutcome};
use super::whatsapp::WhatsApp;

/// An adapter must have its outcome within this; whoever waits for a first attempt waits 10 s in all.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(8);

/// How the ids of messages begin that only the log got.
pub const LOG_PREFIX: &str = "log-";

/// And of those to test numbers, which nobody got.
const TEST_PREFIX: &str = "test-";

/// Another adapter, such as a test's.
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

    /// Whether the operator was told that no message goes out, and none went out since.
    pub fn is_alarmed(&self) -> bool {
        matches!(self, Messenger::WhatsApp(whatsapp) if whatsapp.is_alarmed())
    }

    /// Whether nobody but the operator ever sees what is sent.
    pub fn is_log(&self) -> bool {
        matches!(self, Messenger::Log { .. })
    }

    /// Sends once; never longer than [`SEND_TIMEOUT`]. What is for a test number goes to no adapter: its business
    /// reads it on a page.
    pub async fn send(&self, outgoing: Outgoing) -> SendOutcome {
        if outgoing.to.is_test() {
            return SendOutcome::Sent { provider_id: format!("{TEST_PREFIX}{}", outgoing.message_id) };
        }
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
    tracing::info!(message_id, to = to.e164(), kind = kind.as_str(), text = text.as_str(), "MESSAGE");
    SendOutcome::Sent { provider_id: format!("{LOG_PREFIX}{message_id}") }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use zeroize::Zeroizing;

    use super::*;
    use crate::domain::message::MessageKind;
    use crate::domain::phone::Phone;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_in_json_has_each_name_once() {
        let outgoing = Outgoing {
            message_id: 42,
            reference: String::new(),
            to: Phone::parse("08035550142").unwrap(),
            kind: MessageKind::Receipt,
            text: Zeroizing::new("You paid".to_owned()),
            link: None,
            code: None,
            parts: Vec::new(),
            is_window_open: false,
        };
        let kept = Kept::default();
        let writer = kept.clone();
        let subscriber =
            tracing_subscriber::fmt().json().flatten_event(true).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || log(outgoing, true));
        let line = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert_eq!(line.matches("\"message\":").count(), 1, "{line}");
        assert!(line.contains("\"message\":\"MESSAGE\"") && line.contains("\"message_id\":42"), "{line}");
    }
}
