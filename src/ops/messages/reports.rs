//! What the messenger says of a message after it took it: sent, delivered, read, failed; and that a
//! customer wrote to us.
//!
//! Reports come late, twice and in any order, so each is judged by the state that is stored: a message only
//! moves on. A failure that overtakes the answer to its own attempt is refused until that is written
//! (`Contended`), because the messenger says it once more and nobody else does. A report may also be the first
//! news of a message whose attempt had no answer; then it is taken for that answer, and the message is not sent
//! again. One that failed for a passing reason goes back to the workers while it makes sense. Called by the
//! door the messenger's calls come in by.

use super::outbox::{pause, shortened};
use super::words::reference_of;
use crate::app::App;
use crate::domain::message::{MessageKind, MessageStatus};
use crate::domain::phone::Phone;
use crate::domain::time::{Span, Timestamp};
use crate::ops::wallets::find::phone_hash;
use crate::ops::{OpError, RACES_MAX};
use crate::store::Step;
use crate::store::tables::jobs::{self, JobKind};
use crate::store::tables::messages::{self, MessageRow};
use crate::store::tables::wallets;
use crate::vault::Vault;

/// One report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report<'a> {
    /// What the messenger calls the message.
    pub provider_id: &'a str,
    /// What we called it when it was sent, if the messenger gives that back.
    pub reference: Option<&'a str>,
    pub news: News,
}

/// How far a message has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    Sent,
    Delivered,
    Read,
    /// It did not arrive and will not.
    Failed {
        why: String,
        again: Again,
    },
}

/// Whether sending it again may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    Never,
    /// Not sooner than after this.
    After(Span),
    /// By template: the customer's window is closed.
    ByTemplate,
}

impl News {
    fn status(&self) -> MessageStatus {
        match self {
            News::Sent => MessageStatus::Sent,
            News::Delivered => MessageStatus::Delivered,
            News::Read => MessageStatus::Read,
            News::Failed { .. } => MessageStatus::Failed,
        }
    }
}

/// Takes a report in. `false`: it is about no message of ours. `Contended`: it cannot be applied yet.
pub async fn take_report(app: &App, report: &Report<'_>) -> Result<bool, OpError> {
    for _ in 0..RACES_MAX {
        let Some(row) = find(app, report).await? else { return Ok(false) };
        let steps = match next(app, &row, report).await? {
            Some(steps) => steps,
            None => return Ok(true),
        };
        if app.store.apply(app.store.unit(row.business_id.unwrap_or(0)).await?.steps(steps)).await?.is_done()
        {
            match &report.news {
                News::Failed { why, .. } => {
                    tracing::warn!(
                        message_id = row.id,
                        kind = row.kind.as_str(),
                        why,
                        "a message did not arrive"
                    );
                    app.wake_workers();
                }
                // The first news of a message may be that it was read; that is the next round's.
                News::Delivered | News::Read if !row.status.is_sent() => continue,
                News::Sent | News::Delivered | News::Read => {}
            }
            return Ok(true);
        }
    }
    Err(OpError::Contended)
}

async fn find(app: &App, report: &Report<'_>) -> Result<Option<MessageRow>, OpError> {
    if let Some(row) = app.store.message_by_provider_id(report.provider_id).await? {
        return Ok(Some(row));
    }
    let Some(reference) = report.reference else { return Ok(None) };
    let Some(id) = Vault::referenced_message(reference) else { return Ok(None) };
    let row = app.store.message(id).await?;
    // A program of before made it of the sealed phone.
    let fits = |row: &MessageRow| {
        let of_row: [&[u8]; 2] = [&reference_of(row), &row.sealed_phone];
        of_row.iter().any(|bytes| app.vault.is_reference(reference, row.id, bytes))
    };
    Ok(row.filter(fits))
}

/// What a report changes; `None`: nothing. Guarded by the state that was read.
async fn next(app: &App, row: &MessageRow, report: &Report<'_>) -> Result<Option<Vec<Step>>, OpError> {
    let (now, told) = (app.now(), report.news.status());
    let is_the_one = row.provider_id.as_deref() == Some(report.provider_id);
    if let News::Failed { why, again } = &report.news {
        // The attempt it is about may have an answer that is not written yet, which would be written over it.
        if !is_the_one && row.status == MessageStatus::Queued {
            return Err(OpError::Contended);
        }
        // What arrived cannot fail any more, and a copy that failed says nothing of another one.
        if !is_the_one || row.status != MessageStatus::Sent {
            return Ok(None);
        }
        return failed(app, row, why, *again).await.map(Some);
    }
    if row.status.is_sent() {
        let is_news = told > row.status;
        return Ok(is_news.then(|| vec![messages::reported(row, told, None, now)]));
    }
    // It failed, and this is late news from before that.
    if is_the_one && told == MessageStatus::Sent {
        return Ok(None);
    }
    // An attempt without an answer, or with one that is not written down yet: this is the answer.
    Ok(Some(vec![
        messages::sent(row.id, report.provider_id, now),
        jobs::finish_by_subject(JobKind::Message, row.id, "sent", now),
    ]))
}

/// A message that was taken and then failed. Merchants' own texts are not sent again: the shop was told
/// that its text is out, and it may be a code that is good for minutes.
async fn failed(app: &App, row: &MessageRow, why: &str, again: Again) -> Result<Vec<Step>, OpError> {
    let (now, why) = (app.now(), shortened(why));
    let dead = vec![messages::reported(row, MessageStatus::Failed, Some(&why), now)];
    let asked = match again {
        Again::Never => return Ok(dead),
        _ if row.kind == MessageKind::Merchant => return Ok(dead),
        Again::After(span) => span,
        Again::ByTemplate => Span(0),
    };
    let Some(job) = app.store.message_job(row.id).await? else { return Ok(dead) };
    let wait = if again == Again::ByTemplate { Span(0) } else { pause(&job).max(asked) };
    if now + wait >= row.valid_until {
        return Ok(dead);
    }
    let mut steps = vec![
        messages::reported(row, MessageStatus::Queued, Some(&why), now),
        messages::take_job(job.id, job.attempt, now + wait),
    ];
    if let (Again::ByTemplate, Some(wallet_id)) = (again, row.wallet_id) {
        steps.push(wallets::close_window(wallet_id, row.updated_at));
    }
    Ok(steps)
}

/// What the messenger says of a message it knows by its own id. `false`: we know none of that id (yet).
pub async fn note_report(
    app: &App,
    provider_id: &str,
    status: MessageStatus,
    why: Option<&str>,
) -> Result<bool, OpError> {
    let news = match status {
        MessageStatus::Delivered => News::Delivered,
        MessageStatus::Read => News::Read,
        MessageStatus::Failed => {
            News::Failed { why: why.unwrap_or_default().to_owned(), again: Again::Never }
        }
        MessageStatus::Queued | MessageStatus::Sent => News::Sent,
    };
    take_report(app, &Report { provider_id, reference: None, news }).await
}

/// The customer wrote to us, which lets us send plain texts for a day.
pub async fn note_writing(app: &App, phone: &Phone, at: Timestamp) -> Result<(), OpError> {
    let step = wallets::wrote(&phone_hash(app, phone), at.min(app.now()));
    app.store.apply(app.store.unit(0).await?.step(step)).await?.is_done();
    Ok(())
}
