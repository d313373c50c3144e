//! `tillbell alert ...`: bank mails from files, and what became of them.

use clap::Subcommand;

use super::{Desk, not_available};

#[derive(Subcommand)]
pub(super) enum AlertCommand {
    /// Take in bank mails from .eml files, mboxes or Maildirs (- is standard input)
    Ingest {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<String>,
        /// The mails are known to be the banks' own; replaces a missing proof only
        #[arg(long)]
        trusted: bool,
    },
    /// Alerts, newest first
    List {
        #[arg(long)]
        outcome: Option<String>,
    },
    /// One alert with its evidence
    Show { id: i64 },
    /// Decide that an alert pays a payment
    Approve {
        id: i64,
        #[arg(long, value_name = "TXN")]
        payment: String,
        #[arg(long, value_name = "ID")]
        business: i64,
        /// Why it is right although something speaks against it
        #[arg(long, value_name = "REASON")]
        despite: Option<String>,
    },
    /// Decide that an alert pays nothing
    Dismiss {
        id: i64,
        #[arg(long)]
        reason: String,
    },
}

pub(super) async fn run(command: AlertCommand, _desk: &Desk) -> anyhow::Result<()> {
    match command {
        AlertCommand::Ingest { files, trusted } => {
            let _ = (files, trusted);
            Err(not_available("alert ingest"))
        }
        AlertCommand::List { outcome } => {
            let _ = outcome;
            Err(not_available("alert list"))
        }
        AlertCommand::Show { id } => {
            let _ = id;
            Err(not_available("alert show"))
        }
        AlertCommand::Approve { id, payment, business, despite } => {
            let _ = (id, payment, business, despite);
            Err(not_available("alert approve"))
        }
        AlertCommand::Dismiss { id, reason } => {
            let _ = (id, reason);
            Err(not_available("alert dismiss"))
        }
    }
}
