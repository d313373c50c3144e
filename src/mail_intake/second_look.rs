//! Looks again at a mail that waits for a name server, or for a key that DNS does not have yet: reads the stored bytes
//! with the proof that is available now, and tells the op. The workers call it through [`Verifier`] and know nothing
//! about mails.
//!
//! A provider's verdict counts here as at first sight, if the mail's source tells which mailbox it came
//! from: it stands in for a key only when a name server has said that there is none. A person's word needs
//! no proof.

use super::ingest::{Arrival, MailIngestor, Origin};
use crate::app::App;
use crate::ops::alerts::prove_later::{Looking, Verifier, is_waiting, looked_again};
use crate::ops::alerts::read::{find_alert, find_mail};
use crate::ops::{JobEnd, OpError};

impl Verifier for MailIngestor {
    fn verify<'a>(&'a self, app: &'a App, alert_id: i64, tries: i64) -> Looking<'a> {
        Box::pin(look(self, app, alert_id, tries))
    }
}

async fn look(ingestor: &MailIngestor, app: &App, alert_id: i64, tries: i64) -> Result<JobEnd, OpError> {
    let Some(alert) = find_alert(app, alert_id).await?.filter(is_waiting) else {
        return Ok(JobEnd::Done);
    };
    let Some(raw) = find_mail(app, alert_id).await? else {
        return Err(OpError::Fault(format!("the mail of alert {alert_id} was deleted before it was proven")));
    };
    let origin = Origin::Imap { authserv_id: ingestor.provider_of(&alert.source) };
    let (raw, reading) = ingestor.read(raw, &origin, alert.first_seen).await?;
    let arrival = Arrival { raw, source: alert.source.clone(), origin, in_mailbox: None };
    looked_again(app, &alert, &ingestor.taken(&reading, arrival), tries).await
}
