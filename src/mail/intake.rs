//! From a mail's bytes to a decided alert: reads it off the async threads and hands it to the op.
//!
//! The one way in for mails of every origin. A mail may be declared trusted (by a person at the
//! command line); that replaces a missing proof, and makes nothing good that speaks against the
//! mail (decisions 8).

use std::sync::Arc;

use super::{Banks, Intake, Outcome, Reading, read};
use crate::app::App;
use crate::domain::alert::Authenticity;
use crate::ops::OpError;
use crate::ops::decide::AlertOutcome;
use crate::ops::take_alert::{ReadAs, Taken, take_alert};

/// Bytes of a mail that are kept when it is too large to be read; the reason is kept with it.
const KEPT_OF_OVERSIZED: usize = 64 * 1024;

/// A mail that was taken, with what was read from it.
#[derive(Clone, Debug)]
pub struct Ingested {
    pub reading: Reading,
    pub outcome: AlertOutcome,
}

/// Reads, stores and decides one mail. `source` tells where it came from, for people.
pub async fn ingest(
    app: &App,
    banks: &Arc<Banks>,
    raw: Vec<u8>,
    source: &str,
    trusted: bool,
) -> Result<Ingested, OpError> {
    let now = app.now();
    let intake =
        Intake { now, date_is_signed: trusted, subject_is_signed: trusted, dev: app.config.server.dev };
    let reader = banks.clone();
    let (raw, reading) = tokio::task::spawn_blocking(move || {
        let reading = read(&raw, &reader, &intake);
        (raw, reading)
    })
    .await
    .map_err(|error| OpError::Fault(format!("the mail reader failed: {error}")))?;
    let taken = taken(&reading, raw, source, trusted);
    let outcome = take_alert(app, &taken).await?;
    Ok(Ingested { reading, outcome })
}

/// What the op is told about a mail that was read.
pub fn taken(reading: &Reading, mut raw: Vec<u8>, source: &str, trusted: bool) -> Taken {
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
        source: source.to_owned(),
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
    }
}
