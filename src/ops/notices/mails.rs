//! Mails to people who sign in: written in the Unit of what they tell of, sent by a job.
//!
//! The text is sealed until the mail has gone, because it may hold a link. What the mail server refuses is told in the
//! log; what it cannot take now is tried for a day. A mail that was sent, and whose end a crash lost, is sent once more
//! under the same id.

use std::time::SystemTime;

use zeroize::Zeroizing;

use super::hook::pause_after;
use crate::app::App;
use crate::crash;
use crate::domain::time::{Span, Timestamp};
use crate::ops::{JobEnd, OpError};
use crate::outbound::mailer::{MailOutcome, Mailer, OutgoingMail};
use crate::store::tables::jobs::{self, JobKind};
use crate::store::tables::outgoing_mails::{self, MailKind, MailRow};
use crate::store::{IdKind, Step};
use crate::vault::link::nonce;

const GIVEN_UP_AFTER: Span = Span::hours(24);
const FORGOT_SUBJECT: &str = "A new password";

fn place(id: i64) -> String {
    format!("mails/{id}/body")
}

/// Whether mails go out at all; where they do not, links are shown to whoever makes them.
pub fn are_sent(app: &App) -> bool {
    app.mailer.is_some()
}

/// The steps that send a text; none where no mail server is configured.
pub(in crate::ops) async fn text_mail(
    app: &App,
    to: &str,
    subject: &str,
    text: &str,
) -> Result<Vec<Step>, OpError> {
    if !are_sent(app) {
        return Ok(Vec::new());
    }
    let id = app.store.id(IdKind::OutgoingMail).await?;
    let sealed = app.vault.seal(&place(id), text.as_bytes(), app.random.as_ref());
    let sealed = sealed?;
    written(app, id, MailKind::Text, (to, subject), Some(sealed)).await
}

/// The steps that send a link to a new password to an address, if a user has it.
pub(in crate::ops) async fn forgot_mail(app: &App, to: &str) -> Result<Vec<Step>, OpError> {
    let id = app.store.id(IdKind::OutgoingMail).await?;
    written(app, id, MailKind::Forgot, (to, FORGOT_SUBJECT), Some(nonce(app.random.as_ref()))).await
}

async fn written(
    app: &App,
    id: i64,
    kind: MailKind,
    (to, subject): (&str, &str),
    body: Option<Vec<u8>>,
) -> Result<Vec<Step>, OpError> {
    let now = app.now();
    let job = app.store.id(IdKind::Job).await?;
    let mail = MailRow { id, kind, to: to.to_owned(), subject: subject.to_owned(), body, created_at: now };
    Ok(vec![outgoing_mails::add(&mail), jobs::enqueue(job, JobKind::Mail, 0, id, now, now)])
}

/// A mail that has yet to go, and what sends it; `None`: it has gone, or is given up now.
pub(in crate::ops) async fn to_send(app: &App, id: i64) -> Result<Option<(MailRow, &Mailer)>, OpError> {
    let Some(mail) = app.store.mail_to_send(id).await? else { return Ok(None) };
    if app.now() >= mail.created_at + GIVEN_UP_AFTER {
        tracing::error!(mail = id, to = mail.to, "a mail could not be sent for a day and is given up");
        end(app, id).await?;
        return Ok(None);
    }
    let Some(mailer) = &app.mailer else {
        tracing::error!(mail = id, "a mail is not sent: notify.smtp_url is not set any more");
        end(app, id).await?;
        return Ok(None);
    };
    Ok(Some((mail, mailer)))
}

/// The text that was sealed with a mail.
pub(in crate::ops) fn opened(app: &App, mail: &MailRow) -> Result<Option<Zeroizing<String>>, OpError> {
    let Some(sealed) = &mail.body else { return Ok(None) };
    let plain = app.vault.unseal(&place(mail.id), sealed);
    let plain = plain?;
    Ok(Some(Zeroizing::new(String::from_utf8_lossy(&plain).into_owned())))
}

/// Sends a mail once. `tries` counts the tries before this one.
pub(in crate::ops) async fn send(
    app: &App,
    mailer: &Mailer,
    mail: &MailRow,
    text: &str,
    tries: i64,
) -> Result<JobEnd, OpError> {
    let now = app.now();
    let at = SystemTime::UNIX_EPOCH + mail.created_at.since(Timestamp(0)).to_std();
    let outgoing = OutgoingMail { id: mail.id, to: &mail.to, subject: &mail.subject, text, at };
    let outcome = mailer.send(&outgoing).await;
    crash::point("mail.sent");
    match outcome {
        MailOutcome::Sent => end(app, mail.id).await,
        MailOutcome::Refused { why } => {
            tracing::error!(
                mail = mail.id,
                to = mail.to,
                why,
                "the mail server does not take a mail; it is not sent"
            );
            end(app, mail.id).await
        }
        MailOutcome::Later { why } => {
            tracing::warn!(mail = mail.id, why, "a mail could not be sent; it is tried again");
            Ok(JobEnd::Later { at: now + pause_after(tries), why })
        }
    }
}

/// It goes no more.
pub(in crate::ops) async fn end(app: &App, id: i64) -> Result<JobEnd, OpError> {
    let unit = app.store.unit(id).await?.step(outgoing_mails::end(id, app.now()));
    let _ = app.store.apply(unit).await?;
    Ok(JobEnd::Done)
}
