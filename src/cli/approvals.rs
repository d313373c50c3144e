//! `tillbell alert approve`: a person says that an alert pays a payment.

use anyhow::bail;
use clap::Args;

use super::{Desk, payments, print, typed};
use crate::app::App;
use crate::ops::alerts::approve::{Approve, ApproveRefused, approval_obstacles, approve_alert, difference};
use crate::ops::payments::find::whose_payment;
use crate::ops::payments::read::find_payment;
use crate::terminal;

#[derive(Args)]
pub(super) struct ApproveArgs {
    /// Id of the alert
    id: i64,
    /// Transaction id of the payment that the money is for
    #[arg(long, value_name = "TXN")]
    payment: String,
    /// Id of the business that asked for the payment; needed only where several have a payment with this id
    #[arg(long, value_name = "ID")]
    business: Option<i64>,
    /// Why you approve it although the command warned you
    #[arg(long, value_name = "REASON")]
    despite: Option<String>,
    /// Do not ask first what --despite overrides
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(app: &App, args: &ApproveArgs, desk: &Desk) -> anyhow::Result<()> {
    let business = whose_payment(app, &args.payment, args.business).await??;
    let mut ask = Approve {
        alert_id: args.id,
        business_id: business,
        transaction_id: &args.payment,
        operator: &desk.operator,
        despite: args.despite.as_deref(),
        seen: None,
    };
    let mut shown = Vec::new();
    if args.despite.as_deref().is_some_and(|text| text.trim().is_empty()) {
        bail!("--despite: a reason is required: say why it is right, in words");
    }
    if args.despite.is_some() {
        shown = approval_obstacles(app, &ask).await??;
        if !args.yes && !shown.is_empty() {
            let question = format!("You override:\n{}\nType yes to approve it: ", listed(&shown));
            if typed::says_yes(&question)? == Some(false) {
                bail!("nothing was approved");
            }
        }
        // What came while the person read is not covered by what they said.
        ask.seen = Some(&shown);
    }
    let refused = approve_alert(app, &ask).await?.err();
    if let Some(ApproveRefused::Obstacles(all)) = &refused
        && all.len() > 1
    {
        let what = format!("alert {} is not approved onto payment {}", args.id, args.payment);
        return Err(print::obstacles(&what, all, "to approve it anyway, give your reason with --despite"));
    }
    refused.map_or(Ok(()), Err)?;
    payments::outcome(app, business, &args.payment, desk).await?;
    let done = find_payment(app, business, &args.payment).await?;
    let differs = done.and_then(|done| difference(&done, done.received?));
    desk.printer.remark(differs.is_some(), &differs.unwrap_or_default())?;
    desk.printer.remark(!shown.is_empty(), &format!("You overrode:\n{}", listed(&shown)))
}

/// One line each, safe for a terminal.
fn listed(obstacles: &[String]) -> String {
    let lines: Vec<String> =
        obstacles.iter().map(|obstacle| format!("  - {}", terminal::harmless_line(obstacle))).collect();
    lines.join("\n")
}
