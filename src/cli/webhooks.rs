//! `tillbell webhook ...`

use clap::Subcommand;

use super::options::span;
use super::{Desk, not_available};
use crate::domain::time::Span;

#[derive(Subcommand)]
pub(super) enum WebhookCommand {
    /// Deliveries, newest first
    List {
        /// Only those that were given up
        #[arg(long)]
        failed: bool,
    },
    /// Send again, by id or all that failed
    Resend {
        #[arg(required_unless_present = "failed", conflicts_with = "failed", value_name = "ID")]
        ids: Vec<i64>,
        #[arg(long, requires = "since")]
        failed: bool,
        /// How far back, for example 24h
        #[arg(long, value_name = "TIME", value_parser = span)]
        since: Option<Span>,
    },
}

pub(super) async fn run(command: WebhookCommand, _desk: &Desk) -> anyhow::Result<()> {
    match command {
        WebhookCommand::List { failed } => {
            let _ = failed;
            Err(not_available("webhook list"))
        }
        WebhookCommand::Resend { ids, failed, since } => {
            let _ = (ids, failed, since);
            Err(not_available("webhook resend"))
        }
    }
}
