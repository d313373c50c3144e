//! From a mail's bytes to a decided alert: reads it off the async threads and hands it to the op.
//!
//! The one way in for mails of every origin. Where a mail came from decides what may prove it
//! ([`Origin`], decisions 8): a person's word at the command line replaces a missing proof, and makes
//! nothing good that speaks against the mail.

use std::sync::Arc;

use super::{Banks, Intake, Outcome, Reading, read};
use crate::app::App;
use crate::config::Config;
use crate::domain::alert::Authenticity;
use crate::ops::OpError;
use crate::ops::decide::AlertOutcome;
use crate::ops::take_alert::{ReadAs, Taken, take_alert};
use crate::store::Step;

/// Bytes of a mail that are kept when it is too large to be read; the reason is kept with it.
const KEPT_OF_OVERSIZED: usize = 64 * 1024;

/// A mail that was taken, with what was read from it.
#[derive(Clone, Debug)]
pub struct Ingested {
    pub reading: Reading,
    pub outcome: AlertOutcome,
}

/// Where a mail came from; decides what may prove it (decisions 8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file at the command line; `trusted`: a person vouches for it.
    File { trusted: bool },
    /// Fetched from a mailbox; the provider's own verdict counts where the operator named its
    /// authserv-id.
    Imap { authserv_id: Option<String> },
    /// Handed in over SMTP or LMTP. `from_loopback` matters in development mode alone.
    Smtp { from_loopback: bool },
}

impl Origin {
    /// Somebody vouches for the mail, so that it needs no proof.
    fn is_trusted(&self, dev: bool) -> bool {
        match self {
            Origin::File { trusted } => *trusted,
            Origin::Imap { .. } => false,
            Origin::Smtp { from_loopback } => dev && *from_loopback,
        }
    }
}

/// A mail as it arrived.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub raw: Vec<u8>,
    /// For people: `imap HOST/FOLDER`, `smtp IP`, the file's name.
    pub source: String,
    pub origin: Origin,
    /// Guarded steps committed in the alert's own Unit, such as a mailbox cursor. If one of them
    /// misses its guard nothing is stored and [`ingest`] answers [`OpError::Contended`].
    pub with: Vec<Step>,
}

/// What every intake needs besides the `App`. Cheap to clone.
#[derive(Clone)]
pub struct MailRoom {
    pub banks: Arc<Banks>,
    dev: bool,
}

impl MailRoom {
    pub fn new(config: &Config, banks: Arc<Banks>) -> MailRoom {
        MailRoom { banks, dev: config.server.dev }
    }
}

/// Reads, stores and decides one mail. Returns only after the alert is committed together with the
/// steps of the arrival: from then on nothing is lost.
pub async fn ingest(app: &App, room: &MailRoom, arrival: Arrival) -> Result<Ingested, OpError> {
    let now = app.now();
    let trusted = arrival.origin.is_trusted(room.dev);
    let intake = Intake { now, date_is_signed: trusted, subject_is_signed: trusted, dev: room.dev };
    let reader = room.banks.clone();
    let (arrival, reading) = tokio::task::spawn_blocking(move || {
        let reading = read(&arrival.raw, &reader, &intake);
        (arrival, reading)
    })
    .await
    .map_err(|error| OpError::Fault(format!("the mail reader failed: {error}")))?;
    let taken = taken(&reading, arrival, trusted);
    let outcome = take_alert(app, &taken).await?;
    Ok(Ingested { reading, outcome })
}

/// What the op is told about a mail that was read.
pub fn taken(reading: &Reading, arrival: Arrival, trusted: bool) -> Taken {
    let Arrival { mut raw, source, with, .. } = arrival;
    if raw.len() > super::mime::MAX_MAIL_BYTES {
        raw.truncate(KEPT_OF_OVERSIZED);
    }
    let mut facts = reading.facts.clone();
    let mut read_as = match reading.outcome {
        Outcome::Read => ReadAs::Credit,
        Outcome::Ignored => ReadAs::NoCredit,
        Outcome::Unreadable => ReadAs::Unreadable,
        Outcome::Quarantined => ReadAs::Quarantined,
    };
    let mut authenticity = reading.authenticity;
    if trusted && authenticity == Authenticity::Unproven {
        authenticity = Authenticity::Trusted;
    }
    if trusted && authenticity == Authenticity::Forwarded && facts.amount.is_some() {
        facts.doubts.push("it was forwarded by hand".into());
        read_as = ReadAs::Credit;
    }
    Taken {
        source,
        raw,
        read_as,
        authenticity,
        facts,
        message_id: reading.message_id.clone(),
        mail_from: reading.from.clone(),
        subject: reading.subject.clone(),
        mailed_at: reading.date,
        content_hash: reading.content_hash,
        why: reading.why.clone(),
        with,
    }
}
