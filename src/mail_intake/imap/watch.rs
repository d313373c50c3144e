//! Watches all mailboxes of this node: gauges, and the alarm for one that is not read.
//!
//! A mailbox is silent if it was not read to its end for longer than `mail.alarm_after`, for any reason: no
//! connection, no login, no reader, a reading that never ends. A mailbox without new mails is not silent. Only
//! one of several nodes raises each alarm. Started by `mod`.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Timings, register};
use crate::app::App;
use crate::domain::message::lagos_time;
use crate::domain::notice::NoticeKind;
use crate::domain::time::{Span, Timestamp};
use crate::ops::mailboxes::MailboxRow;
use crate::ops::notices::alarms::raise;
use crate::ops::{OpError, mailboxes};

/// How often this node says that its mailboxes are configured; far below the time that counts.
const REGISTER_EVERY: Span = Span::hours(1);

pub async fn run(app: Arc<App>, timings: Timings, stop: CancellationToken) {
    let began = app.now();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(timings.watch) => {}
        }
        if let Err(error) = look(&app, began).await {
            tracing::debug!(%error, "the mailboxes could not be checked");
        }
    }
}

async fn look(app: &App, began: Timestamp) -> Result<(), OpError> {
    let now = app.now();
    let keys: Vec<_> = super::folders(app).map(|(server, folder)| super::key(server, folder)).collect();
    let rows = mailboxes::list(app).await?;
    let ours = rows.iter().filter(|row| {
        keys.iter().any(|key| {
            (&key.host, i64::from(key.port), &key.login, &key.folder)
                == (&row.host, row.port, &row.login, &row.folder)
        })
    });
    let mut is_stale = false;
    for row in ours {
        is_stale |= now.since(row.configured_at) > REGISTER_EVERY;
        look_at(app, row, began, now).await?;
    }
    if is_stale {
        register(app).await?;
    }
    Ok(())
}

async fn look_at(app: &App, row: &MailboxRow, began: Timestamp, now: Timestamp) -> Result<(), OpError> {
    let label = [("mailbox", row.name.clone())];
    let read_at = if row.last_read_at == Timestamp(0) { row.created_at } else { row.last_read_at };
    // After a day of downtime the alarm must not be raised at the start.
    let silent = now.since(read_at.max(began));
    let is_alarming = silent > app.config.mail.alarm_after;
    metrics::gauge!("tillbell_mailbox_last_read_seconds", &label)
        .set(now.since(read_at).to_std().as_secs_f64());
    // There are no mails at night and on holidays either, so this is only a gauge and no alarm.
    if let Some(arrived) = row.last_mail {
        metrics::gauge!("tillbell_mailbox_last_mail_seconds", &label)
            .set(now.since(arrived).to_std().as_secs_f64());
    }
    metrics::gauge!("tillbell_mailbox_behind", &label).set(row.behind as f64);
    metrics::gauge!("tillbell_mailbox_failing", &label).set(f64::from(u8::from(row.trouble.is_some())));
    metrics::gauge!("tillbell_mailbox_alarm", &label).set(f64::from(u8::from(is_alarming)));
    if is_alarming && mailboxes::may_alarm(app, row.id, app.config.mail.alarm_after).await? {
        tracing::error!(
            mailbox = row.name,
            last_read_at = %read_at,
            behind = row.behind,
            trouble = row.trouble.as_deref().unwrap_or("none recorded"),
            "ALARM: a mailbox is not read; payments to its accounts go unnoticed"
        );
        let trouble = row.trouble.as_deref().map_or_else(String::new, |why| format!(" Trouble: {why}."));
        let body = format!("The mailbox {} was last read on {}.{trouble}", row.name, lagos_time(read_at));
        raise(app, NoticeKind::MailboxSilent, &format!("mailbox {}", row.name), &body, "/operator/mailboxes")
            .await;
    }
    Ok(())
}
