//! Starts the intake of mails on nodes with the role `mail`; other nodes only watch the mailboxes.
//!
//! Listeners are bound before anything is served, so that an address in use is noticed at the start.
//! For `serve` alone.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::ServeError;
use crate::app::App;
use crate::config::SmtpAddress;
use crate::mail_intake::imap;
use crate::mail_intake::ingest::MailIngestor;
use crate::mail_intake::smtp::{Receiver, Timeouts};
use crate::tls::Tls;

/// What takes mails in on this node.
#[derive(Default)]
pub(super) struct Intake {
    /// What SMTP or LMTP listens on, also when port 0 was asked for.
    pub smtp: Option<SmtpAddress>,
    /// To be read again when the certificate is renewed.
    pub tls: Option<Arc<Tls>>,
    pub tasks: Vec<JoinHandle<()>>,
}

/// Starts what is configured; all of it ends with `stop`.
pub(super) async fn start(
    app: &Arc<App>,
    is_intake: bool,
    ingestor: &MailIngestor,
    stop: &CancellationToken,
) -> Result<Intake, ServeError> {
    let mut intake = Intake::default();
    if !is_intake {
        intake.tasks.extend(imap::start_watch(app, stop));
        return Ok(intake);
    }
    let mail = &app.config.mail;
    if mail.smtp.is_some() || !mail.imap.is_empty() {
        ingestor.warn_without_recipients();
    }
    if let Some(smtp) = &mail.smtp {
        intake.tls = smtp.tls.as_ref().map(|files| Tls::load(files, &[])).transpose()?.map(Arc::new);
        let tls = intake.tls.clone();
        let receiver =
            Receiver::bind(app.clone(), ingestor.clone(), smtp, tls, Timeouts::default(), stop.clone())
                .await?;
        tracing::info!("{} listening on {}", receiver.protocol(), receiver.address());
        intake.smtp = Some(receiver.address().clone());
        intake.tasks.push(tokio::spawn(receiver.run()));
    }
    intake.tasks.extend(imap::start(app, ingestor, stop));
    Ok(intake)
}
