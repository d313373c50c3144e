//! `tillbell payment ...`

use clap::{Args, Subcommand};

use super::{Desk, not_available};

/// Which payment.
#[derive(Args)]
pub(super) struct Which {
    /// The transaction id
    #[arg(value_name = "TXN")]
    transaction_id: String,
    #[arg(long, value_name = "ID")]
    business: i64,
}

#[derive(Subcommand)]
pub(super) enum PaymentCommand {
    /// One payment with its match evidence and deliveries
    Show {
        #[command(flatten)]
        which: Which,
    },
    /// End a pending payment
    Reject {
        #[command(flatten)]
        which: Which,
        #[arg(long)]
        reason: String,
    },
    /// Post the mirror entry of an approved payment
    Reverse {
        #[command(flatten)]
        which: Which,
        #[arg(long)]
        reason: String,
        /// The bank's own reversal, where there is one
        #[arg(long, value_name = "ID")]
        alert: Option<i64>,
    },
}

pub(super) async fn run(command: PaymentCommand, _desk: &Desk) -> anyhow::Result<()> {
    let (what, which) = match command {
        PaymentCommand::Show { which } => ("payment show", which),
        PaymentCommand::Reject { which, reason } => {
            let _ = reason;
            ("payment reject", which)
        }
        PaymentCommand::Reverse { which, reason, alert } => {
            let _ = (reason, alert);
            ("payment reverse", which)
        }
    };
    let _ = (which.transaction_id, which.business);
    Err(not_available(what))
}
