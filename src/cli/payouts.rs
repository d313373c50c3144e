//! `tillbell payout ...`

use anyhow::{anyhow, bail};
use clap::{Subcommand, ValueEnum};

use super::Desk;
use super::options::{LIST_MAX, LIST_USUAL, newest};
use super::print::{Object, note};
use crate::app::App;
use crate::domain::payout::PayoutStatus;
use crate::ops::csv::bank_file;
use crate::ops::paging::PageSize;
use crate::ops::payouts::browse::{PayoutFilter, PayoutRow, find_payout, payouts_within};
use crate::ops::payouts::end::{Marked, Marking, Outcome, Seat, mark_payout};
use crate::ops::payouts::export::{EXPORT_MAX, export_payouts};
use crate::ops::payouts::held::held_back;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Status {
    Pending,
    Paid,
    Refused,
    Cancelled,
}

impl From<Status> for PayoutStatus {
    fn from(status: Status) -> PayoutStatus {
        match status {
            Status::Pending => PayoutStatus::Pending,
            Status::Paid => PayoutStatus::Paid,
            Status::Refused => PayoutStatus::Refused,
            Status::Cancelled => PayoutStatus::Cancelled,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Came {
    Paid,
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FileFormat {
    Csv,
}

#[derive(Subcommand)]
pub(super) enum PayoutCommand {
    /// List payouts, newest first
    #[command(after_help = examples!["payout list --status pending", "payout list --business 2"])]
    List {
        /// Only payouts in this state
        #[arg(long)]
        status: Option<Status>,
        /// Only payouts of this business
        #[arg(long, value_name = "ID")]
        business: Option<i64>,
        /// Show at most this many
        #[arg(long, value_name = "N", default_value_t = LIST_USUAL, value_parser = clap::value_parser!(u32).range(1..=LIST_MAX))]
        limit: u32,
    },
    /// Show one payout
    #[command(after_help = examples!["payout show 12"])]
    Show {
        /// Id of the payout, from `payout list`
        id: i64,
    },
    /// Say what became of a payout: the bank has sent it, or you refuse it
    ///
    /// It cannot be taken back. A refusal gives the money back to the business. Above payouts.two_persons_above two people
    /// say at the desk that a payout is paid.
    #[command(after_help = examples![
        "payout mark 12 --outcome paid --reference FT26031012",
        "payout mark 13 --outcome refused --reason \"the account is closed\"",
    ])]
    Mark {
        /// Id of the payout, from `payout list`
        id: i64,
        /// What became of it
        #[arg(long)]
        outcome: Came,
        /// The bank's reference of the transfer
        #[arg(long)]
        reference: Option<String>,
        /// Why it is refused; the business reads it
        #[arg(long)]
        reason: Option<String>,
    },
    /// Write pending payouts as a file for the bulk upload of your bank
    ///
    /// Each payout is in one file only, so that no money is sent twice, and the business cannot cancel it any more. The
    /// narration is our reference: an alert or a statement that shows it is about this payout. Left out are payouts of
    /// businesses that are disabled, owe money or have an open alarm (`alert list --alarms`), and to accounts that were
    /// removed.
    #[command(after_help = examples!["payout export --format csv > payouts.csv", "payout export --format csv --again"])]
    Export {
        /// Format of the file
        #[arg(long)]
        format: FileFormat,
        /// Only payouts that were in a file before and are still pending
        #[arg(long)]
        again: bool,
    },
}

async fn with_doubts(app: &App, rows: &[PayoutRow]) -> anyhow::Result<Vec<Object>> {
    let held = held_back(app, rows).await?;
    Ok(rows.iter().map(|row| object(row).with("held_back", held.get(&row.payout.id))).collect())
}

fn object(row: &PayoutRow) -> Object {
    let (payout, end) = (&row.payout, row.payout.end.as_ref());
    Object::new()
        .with("id", payout.id)
        .with("business_id", payout.business_id)
        .with("business", &row.business)
        .with("status", payout.status.as_str())
        .with("amount", payout.amount)
        .with("bank", &row.bank)
        .with("number", &row.number)
        .with("name", &row.name)
        .with("transfer_reference", &payout.code)
        .with("reference", payout.reference.as_ref())
        .with("requested_by", &payout.requested_by)
        .with("created_at", payout.created_at)
        .with("exported_at", payout.taken_at)
        .with("confirmed_by", payout.first.as_ref().map(|first| &first.by))
        .with("ended_at", end.map(|end| end.at))
        .with("ended_by", end.map(|end| &end.by))
        .with("bank_reference", end.and_then(|end| end.bank_reference.as_ref()))
        .with("reason", end.and_then(|end| end.reason.as_ref()))
}

pub(super) async fn run(command: PayoutCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    match command {
        PayoutCommand::List { status, business, limit } => {
            let filter = PayoutFilter { business_id: business, status: status.map(Into::into) };
            let rows = limit as usize;
            let page =
                payouts_within(&app, filter, None, PageSize { rows, window: LIST_MAX as usize }).await?;
            let more = page.next.is_some();
            let columns = [
                "id",
                "created_at",
                "status",
                "amount",
                "business",
                "bank",
                "number",
                "name",
                "transfer_reference",
                "held_back",
            ];
            let rows = with_doubts(&app, &page.rows).await?;
            desk.printer.list_with("payouts", &columns, rows, Object::new().with("more", more))?;
            desk.printer.remark(more, &newest(limit))
        }
        PayoutCommand::Show { id } => {
            let found = find_payout(&app, None, id).await?;
            let found = [found.ok_or_else(|| anyhow!("there is no payout {id}"))?];
            let [shown] = &with_doubts(&app, &found).await?[..] else { bail!("there is no payout {id}") };
            desk.printer.object(shown)
        }
        PayoutCommand::Mark { id, outcome, reference, reason } => {
            let marking = Marking {
                id,
                outcome: match outcome {
                    Came::Paid => Outcome::Paid,
                    Came::Refused => Outcome::Refused,
                },
                by: &desk.operator,
                seat: Seat::CommandLine,
                reference: reference.as_deref(),
                reason: reason.as_deref(),
            };
            match mark_payout(&app, &marking).await?? {
                Marked::Ended(row) | Marked::OneOfTwo(row) | Marked::TakenBack(row) => {
                    desk.printer.object(&object(&row))
                }
            }
        }
        PayoutCommand::Export { format: FileFormat::Csv, again } => {
            let exported = export_payouts(&app, &desk.operator, again).await??;
            if exported.more && exported.rows.is_empty() {
                bail!("more than {EXPORT_MAX} payouts wait; mark some of them first");
            }
            desk.printer.bytes(bank_file(&exported.rows).as_bytes())?;
            for (row, why) in &exported.held {
                note(format_args!("payout {} of {} is left out: {why}", row.payout.id, row.business));
            }
            if exported.more {
                note(format_args!("there are more payouts: run the command again for the next file"));
            }
            Ok(())
        }
    }
}
