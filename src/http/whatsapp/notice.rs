//! Reads a notice with a valid signature, and hands its reports on one by one.
//!
//! Only what is used has a place here: of a customer's message its sender and its time, never its text.
//! Members that are not known are passed over, as Meta adds new ones; a part that cannot be read is
//! logged and left out, because refusing it would bring it back for days. Used by `super` alone.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::domain::phone::Phone;
use crate::domain::time::{Span, Timestamp};
use crate::http::Http;
use crate::ops::OpError;
use crate::ops::messages::reports::{Again, News, Report, note_writing, take_report};
use crate::outbound::messenger::Messenger;
use crate::outbound::whatsapp::{Failure, WhatsApp, failure_of};

/// Types of messages that the customer did not write: a changed number, and messages that WhatsApp could not
/// deliver.
const NOT_WRITTEN: [&str; 2] = ["system", "unsupported"];

/// Why a notice was not taken.
#[derive(Debug)]
pub enum Problem {
    NotJson,
    Op(OpError),
}

impl From<OpError> for Problem {
    fn from(error: OpError) -> Problem {
        Problem::Op(error)
    }
}

#[derive(Deserialize)]
struct Notice<'a> {
    #[serde(default, borrow)]
    entry: Vec<Entry<'a>>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(default, borrow)]
    changes: Vec<Change<'a>>,
}

#[derive(Deserialize)]
struct Change<'a> {
    #[serde(default)]
    field: String,
    /// Its form is the field's.
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Messages {
    metadata: Option<Metadata>,
    statuses: Option<Vec<Status>>,
    messages: Option<Vec<Written>>,
    errors: Option<Vec<ErrorNote>>,
}

#[derive(Deserialize)]
struct Metadata {
    phone_number_id: String,
}

#[derive(Deserialize)]
struct Status {
    id: String,
    status: String,
    biz_opaque_callback_data: Option<String>,
    errors: Option<Vec<ErrorNote>>,
}

#[derive(Deserialize)]
struct ErrorNote {
    code: i64,
}

#[derive(Deserialize)]
struct Written {
    /// Not there for customers who hide their number behind a user name.
    from: Option<String>,
    /// Seconds since 1970, as a text.
    timestamp: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    /// In a group nobody writes to us alone.
    group_id: Option<serde::de::IgnoredAny>,
}

/// Takes all of it, in the order in which it is told.
pub async fn take(http: &Http, body: &[u8]) -> Result<(), Problem> {
    let notice: Notice<'_> = serde_json::from_slice(body).map_err(|_| Problem::NotJson)?;
    let Messenger::WhatsApp(whatsapp) = &http.app.messenger else { return Ok(()) };
    for change in notice.entry.into_iter().flat_map(|entry| entry.changes) {
        let Some(value) = change.value.filter(|_| change.field == "messages") else { continue };
        match serde_json::from_str::<Messages>(value.get()) {
            Ok(messages) => take_messages(http, whatsapp, messages).await?,
            Err(error) => {
                // The error tells a place and a kind, no content.
                tracing::warn!(%error, "a part of a notice of WhatsApp could not be read and was left out");
                count("unreadable");
            }
        }
    }
    Ok(())
}

async fn take_messages(http: &Http, whatsapp: &WhatsApp, told: Messages) -> Result<(), OpError> {
    let is_ours =
        told.metadata.is_some_and(|metadata| metadata.phone_number_id == whatsapp.phone_number_id());
    if !is_ours {
        count("another_number");
        return Ok(());
    }
    for error in told.errors.unwrap_or_default() {
        tracing::warn!(code = error.code, "WhatsApp reports an error that is about no one message");
        alarm(whatsapp, &failure_of(error.code));
        count("error");
    }
    for written in told.messages.unwrap_or_default() {
        take_written(http, &written).await?;
    }
    let mut is_early = false;
    for status in told.statuses.unwrap_or_default() {
        match take_status(http, whatsapp, &status).await {
            // The others are taken all the same. All will be reported again, which changes nothing.
            Err(OpError::Contended) => {
                count("too_early");
                is_early = true;
            }
            other => other?,
        }
    }
    if is_early { Err(OpError::Contended) } else { Ok(()) }
}

async fn take_written(http: &Http, written: &Written) -> Result<(), OpError> {
    let kind = written.kind.as_deref().unwrap_or_default();
    if written.group_id.is_some() || NOT_WRITTEN.contains(&kind) {
        return Ok(());
    }
    count("written");
    let Some(phone) = written.from.as_deref().and_then(Phone::from_digits) else { return Ok(()) };
    let told = written.timestamp.as_deref().and_then(|seconds| seconds.parse::<i64>().ok());
    let at = told.and_then(|seconds| seconds.checked_mul(1_000_000)).map(Timestamp);
    note_writing(&http.app, &phone, at.unwrap_or_else(|| http.app.now())).await
}

async fn take_status(http: &Http, whatsapp: &WhatsApp, status: &Status) -> Result<(), OpError> {
    let news = match status.status.as_str() {
        "sent" => News::Sent,
        "delivered" => News::Delivered,
        "read" => News::Read,
        "failed" => failed(whatsapp, status.errors.as_deref().unwrap_or_default()),
        // `deleted`, `played` and whatever comes: no news about whether it arrived.
        _ => return Ok(()),
    };
    let report =
        Report { provider_id: &status.id, reference: status.biz_opaque_callback_data.as_deref(), news };
    let is_known = take_report(&http.app, &report).await?;
    count(match (&report.news, is_known) {
        (_, false) => "unknown_message",
        (News::Sent, _) => "sent",
        (News::Delivered, _) => "delivered",
        (News::Read, _) => "read",
        (News::Failed { .. }, _) => "failed",
    });
    Ok(())
}

/// The first error says why; there is never more than one for a message.
fn failed(whatsapp: &WhatsApp, errors: &[ErrorNote]) -> News {
    let Some(error) = errors.first() else {
        return News::Failed { why: "WhatsApp did not deliver it".into(), again: Again::Never };
    };
    let failure = failure_of(error.code);
    alarm(whatsapp, &failure);
    let (why, again) = match failure {
        Failure::Later { why, after } => {
            let micros = after.map_or(0, |after| i64::try_from(after.as_micros()).unwrap_or(i64::MAX));
            (why, Again::After(Span(micros)))
        }
        Failure::WindowClosed { why } => (why, Again::ByTemplate),
        Failure::NotOnWhatsApp { why } | Failure::Operator { why } | Failure::Never { why } => {
            (why, Again::Never)
        }
    };
    News::Failed { why, again }
}

fn alarm(whatsapp: &WhatsApp, failure: &Failure) {
    if let Failure::Operator { why } = failure {
        whatsapp.alarm(why);
    }
}

fn count(report: &'static str) {
    metrics::counter!("tillbell_whatsapp_reports_total", "report" => report).increment(1);
}
