//! `tillbell mailbox ...`: the mailboxes that are read over IMAP, and how far each was read.

use clap::Subcommand;

use super::Desk;
use super::print::{Object, Shown};
use crate::config::ImapServer;
use crate::domain::time::Timestamp;
use crate::ops::mailboxes;
use crate::ops::mailboxes::{MailboxRow, is_of};

/// Of one that was not read to its end so far.
const NOT_YET: Shown = Shown::Absent("not read yet");

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
            let known = mailboxes::list(&app).await?;
            let servers = &app.config.mail.imap;
            let of_file = |row: &MailboxRow| servers.iter().any(|server| is_of(server, row));
            let is_json = desk.printer.json;
            let shown = |row| {
                let is_configured = of_file(row);
                let shown = mailbox(row, status(is_configured, row), now);
                match unknown(row, is_configured).filter(|_| !is_json) {
                    Some(why) => shown.replaced("behind", Shown::Absent(why)),
                    None => shown,
                }
            };
            let mut rows: Vec<Object> = known.iter().map(shown).collect();
            rows.extend(not_begun(servers, &known));
            let mut columns = vec![
                "id",
                "name",
                "folder",
                "status",
                "last_read_at",
                "lag_seconds",
                "behind",
                "reader",
                "error",
            ];
            // What was corrected in the configuration is another mailbox, often of the same name.
            let mut names: Vec<&str> = rows.iter().map(|row| row.text("name")).collect();
            names.sort_unstable();
            if names.windows(2).any(|two| two[0] == two[1]) {
                columns.splice(2..2, ["host", "user"]);
            }
            desk.printer.list("mailboxes", &columns, rows)
        }
        MailboxCommand::Forget { id } => {
            mailboxes::forget_removed(&app, &desk.operator, id).await??;
            desk.printer.object(&Object::new().with("id", id).with("configured", false))?;
            desk.printer.remark(
                true,
                "payments no longer wait for this mailbox; `mailbox list` shows it as forgotten",
            )
        }
    }
}

const CONFIGURED: &str = "configured";

/// Why people are not told how far a mailbox is behind: the number is of its last look.
fn unknown(row: &MailboxRow, is_configured: bool) -> Option<&'static str> {
    match row {
        _ if !is_configured => Some("unknown (removed)"),
        MailboxRow { trouble: Some(_), .. } => Some("unknown (see error)"),
        MailboxRow { reader: None, .. } => Some("unknown (nobody reads it)"),
        row if is_new(row) => Some("unknown"),
        _ => None,
    }
}

/// Nobody has looked into it.
fn is_new(row: &MailboxRow) -> bool {
    row.last_read_at == Timestamp(0) && row.last_uid == 0 && row.behind == 0
}

/// Of a mailbox that the configuration has, of one that it has no more, and of one for which nothing waits.
fn status(is_configured: bool, row: &MailboxRow) -> &'static str {
    match row.configured_at {
        _ if is_configured => CONFIGURED,
        Timestamp(0) => "forgotten",
        _ => "removed",
    }
}

/// Configured folders of which there is no row yet: the first `serve` makes them.
fn not_begun(servers: &[ImapServer], known: &[MailboxRow]) -> Vec<Object> {
    let folders = servers.iter().flat_map(|server| server.folders.iter().map(move |folder| (server, folder)));
    let is_new = |(server, folder): &(&ImapServer, &String)| {
        !known.iter().any(|row| row.folder == **folder && is_of(server, row))
    };
    let row = |(server, folder): (&ImapServer, &String)| {
        Object::new()
            .with("id", None::<i64>)
            .with("name", server.folder_name(folder))
            .with("host", &server.host)
            .with("port", i64::from(server.port))
            .with("user", &server.user)
            .with("folder", folder)
            .with("configured", true)
            .with("status", CONFIGURED)
            .with("last_read_at", NOT_YET)
            .with("lag_seconds", None::<i64>)
            .with("behind", Shown::Absent("unknown"))
            .with("last_mail_at", None::<Timestamp>)
            .with("reader", None::<String>)
            .with("error", None::<String>)
    };
    folders.filter(is_new).map(row).collect()
}

fn mailbox(row: &MailboxRow, status: &'static str, now: Timestamp) -> Object {
    let read = (row.last_read_at != Timestamp(0)).then_some(row.last_read_at);
    Object::new()
        .with("id", row.id)
        .with("name", &row.name)
        .with("host", &row.host)
        .with("port", row.port)
        .with("user", &row.login)
        .with("folder", &row.folder)
        .with("configured", status == CONFIGURED)
        .with("status", status)
        .with("last_read_at", read.map_or(NOT_YET, Shown::Time))
        .with("lag_seconds", read.map(|at| Shown::Age(now.since(at).0 / 1_000_000)))
        .with("behind", (!is_new(row)).then_some(row.behind))
        .with("last_mail_at", row.last_mail)
        .with("reader", row.reader.as_ref())
        .with("error", row.trouble.as_ref())
}
