//! `tillbell mailbox ...`: the mailboxes that are read over IMAP, and how far each was read.

use anyhow::bail;
use clap::Subcommand;

use super::Desk;
use super::print::{Field, Object};
use crate::domain::time::Timestamp;
use crate::ops::mailboxes;
use crate::store::tables::mailboxes::MailboxRow;

#[derive(Subcommand)]
pub(super) enum MailboxCommand {
    /// List the mailboxes: when each was last read, and what is wrong if it cannot be
    #[command(after_help = examples!["mailbox list"])]
    List,
    /// Stop waiting for a mailbox that is no longer in the configuration
    ///
    /// Payments expire only after every mailbox was read up to their time. One that is not read any more would
    /// hold them open.
    #[command(after_help = examples!["mailbox forget 2"])]
    Forget {
        /// Id of the mailbox, from `mailbox list`
        id: i64,
    },
}

pub(super) async fn run(command: MailboxCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    match command {
        MailboxCommand::List => {
            let now = app.now();
            let rows = mailboxes::list(&app).await?.iter().map(|row| mailbox(row, now)).collect();
            let columns =
                ["id", "name", "folder", "last_read_at", "lag_seconds", "behind", "reader", "error"];
            desk.printer.list("mailboxes", &columns, rows)
        }
        MailboxCommand::Forget { id } => {
            if !mailboxes::forget(&app, &desk.operator, id).await? {
                bail!("there is no mailbox {id}");
            }
            desk.printer.object(&Object::new().with("id", id).with("configured", false))
        }
    }
}

fn mailbox(row: &MailboxRow, now: Timestamp) -> Object {
    let read = (row.last_read_at != Timestamp(0)).then_some(row.last_read_at);
    let is_configured = now.since(row.configured_at) <= mailboxes::CONFIGURED_FOR;
    Object::new()
        .with("id", row.id)
        .with("name", &row.name)
        .with("host", &row.host)
        .with("port", row.port)
        .with("user", &row.login)
        .with("folder", &row.folder)
        .with("configured", is_configured)
        .with("last_read_at", read)
        .with("lag_seconds", read.map(|at| Field::Age(now.since(at).0 / 1_000_000)))
        .with("behind", row.behind)
        .with("last_mail_at", row.last_mail)
        .with("reader", row.reader.as_ref())
        .with("error", row.trouble.as_ref())
}
