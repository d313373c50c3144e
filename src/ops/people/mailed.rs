//! Sending a mail to somebody who signs in: the work of a job. A text was written before; a link to a new password is made
//! now, if there is such a user.

use zeroize::Zeroizing;

use super::links::make_reset_link;
use crate::app::App;
use crate::ops::notices::mails::{end, opened, send, to_send};
use crate::ops::{JobEnd, OpError};
use crate::store::tables::outgoing_mails::MailKind;

/// Sends a mail once. `tries` counts the tries before this one.
pub async fn send_mail(app: &App, id: i64, tries: i64) -> Result<JobEnd, OpError> {
    // No link is made for a mail that will not go.
    let Some((mail, mailer)) = to_send(app, id).await? else { return Ok(JobEnd::Done) };
    let text = match mail.kind {
        MailKind::Text => opened(app, &mail)?,
        MailKind::Forgot => {
            let of = (mail.id, mail.body.as_deref().unwrap_or_default());
            make_reset_link(app, &mail.to, of).await?.map(|link| reset_text(&mail.to, &link))
        }
    };
    match text {
        Some(text) => send(app, mailer, &mail, &text, tries).await,
        // There is no such user.
        None => end(app, id).await,
    }
}

fn reset_text(email: &str, link: &str) -> Zeroizing<String> {
    Zeroizing::new(format!(
        "Somebody asked for a new password for {email}. This link sets one; it works once, for an hour:\n\n{link}\n\n\
         If it was not you, do nothing: your password stays as it is.\n"
    ))
}
