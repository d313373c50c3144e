//! `tillbell person ...`: what is kept of somebody who paid, to be handed to them or taken out.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use super::print::{self, Object, Shown};
use super::{Desk, typed};
use crate::app::App;
use crate::domain::alert::AlertRow;
use crate::domain::money::naira;
use crate::ops::payments::find::whose_payment;
use crate::ops::privacy::{KnownOfPayer, erase_payer, known_of_payer};
use crate::terminal;

/// Whose data: of the person who paid this payment, or was to.
#[derive(Args)]
pub(super) struct Payer {
    /// Transaction id of the payment
    #[arg(long, value_name = "TXN")]
    payment: String,
    /// Id of its business; needed only if several businesses use this transaction id
    #[arg(long, value_name = "ID")]
    business: Option<i64>,
}

#[derive(Subcommand)]
pub(super) enum PersonCommand {
    /// Write down all that is kept of the person who paid a payment, as JSON
    ///
    /// What the merchant told of them, what the bank told, and what the merchant was told. Make sure that who asks is who paid:
    /// a name is no proof, the account that the money came from is. To find somebody's payments use `payment list --name`.
    #[command(after_help = examples![
        "person export --payment ORDER-81",
        "person export --payment ORDER-81 --business 1 --file ngozi.json",
    ])]
    Export {
        #[command(flatten)]
        payer: Payer,
        /// Write it to this file, which must not be there yet, instead of to the screen
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Take the person who paid out of a payment, out of the bank's alerts of its money, and out of what the merchant was told
    ///
    /// Names, bank, account and BVN go, and all that was typed; amounts, times, ids and the ledger stay, and so does what keeps
    /// the money from being credited twice. It cannot be undone. Done only 90 days after the payment ended and was last told of,
    /// because until then its money may be disputed. Copies that the merchant or your backups have are not touched.
    #[command(after_help = examples!["person erase --payment ORDER-81 --reason \"asked by letter of 3 March\""])]
    Erase {
        #[command(flatten)]
        payer: Payer,
        /// Why, for the record; do not name the person
        #[arg(long)]
        reason: String,
        /// Do not ask first
        #[arg(long)]
        yes: bool,
    },
}

pub(super) async fn run(command: PersonCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    match command {
        PersonCommand::Export { payer, file } => {
            let known = known(&app, &payer).await?;
            export(&known, file, desk)
        }
        PersonCommand::Erase { payer, reason, yes } => {
            if !yes {
                confirm(&known(&app, &payer).await?)?;
            }
            let business = whose_payment(&app, &payer.payment, payer.business).await??;
            let gone = erase_payer(&app, business, &payer.payment, &desk.operator, &reason).await??;
            let object = Object::new()
                .with("transaction_id", &gone.payment.transaction_id)
                .with("business_id", gone.payment.business_id)
                .with("alerts", gone.alerts.iter().map(|alert| Shown::Int(alert.id)).collect::<Vec<_>>())
                .with("events", gone.events.len() as i64);
            desk.printer.object(&object)?;
            desk.printer.remark(
                true,
                "The payer was taken out of them. What the merchant keeps, and backups from before, still name him.",
            )
        }
    }
}

async fn known(app: &App, payer: &Payer) -> anyhow::Result<KnownOfPayer> {
    let business = whose_payment(app, &payer.payment, payer.business).await??;
    match known_of_payer(app, business, &payer.payment).await? {
        Some(known) => Ok(known),
        None => bail!("business {business} has no payment {}", payer.payment),
    }
}

/// Asks a person at a terminal whether it is this payment that they mean; a script is not asked.
fn confirm(known: &KnownOfPayer) -> anyhow::Result<()> {
    let payment = &known.payment;
    let question = terminal::harmless_line(&format!(
        "Take {} out of payment {:?} of business {} ({}), of {} alert(s) and {} event(s)? It cannot be undone. Type yes: ",
        payment.payer_name,
        payment.transaction_id,
        payment.business_id,
        naira(payment.amount),
        known.alerts.len(),
        known.events.len()
    ));
    if typed::says_yes(&question)? == Some(false) {
        bail!("nothing was taken out");
    }
    Ok(())
}

fn export(known: &KnownOfPayer, file: Option<PathBuf>, desk: &Desk) -> anyhow::Result<()> {
    let object = object(known);
    let Some(path) = file else { return desk.printer.object(&object) };
    let text = serde_json::to_string_pretty(&object).context("writing it down")?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = options.open(&path).with_context(|| format!("cannot make the file {}", path.display()))?;
    writeln!(out, "{text}")
        .and_then(|()| out.sync_all())
        .with_context(|| format!("writing {}", path.display()))?;
    print::note(format_args!("written to {}; only you can read it", path.display()));
    Ok(())
}

fn object(known: &KnownOfPayer) -> Object {
    let payment = &known.payment;
    let corrections = known
        .corrections
        .iter()
        .map(|one| Object::new().with("corrected_at", one.at).with("from", one.before).with("to", one.after));
    let settlements = known.settlements.iter().map(|one| {
        Object::new()
            .with("received_amount", one.received)
            .with("settled_at", one.settled_at)
            .with("reversed_at", one.reversed_at)
            .with("evidence", Shown::json(&one.evidence))
    });
    let events = known.events.iter().map(|event| Shown::json(&String::from_utf8_lossy(&event.body)));
    Object::new()
        .with("transaction_id", &payment.transaction_id)
        .with("business_id", payment.business_id)
        .with("erased_at", known.erased_at)
        .with("status", payment.status.as_str())
        .with("amount", payment.amount)
        .with("received_amount", payment.received)
        .with("created_at", payment.created_at)
        .with("approved_at", payment.approved_at)
        .with("payer_name", &payment.payer_name)
        .with("first_name", payment.payer.first_name.as_ref())
        .with("last_name", payment.payer.last_name.as_ref())
        .with("bank", payment.payer.bank.as_ref())
        .with("registration_number", payment.payer.registration_number.as_ref())
        .with("service", payment.payer.service.as_ref())
        .with("bvn", "kept encrypted where the merchant gave one, and never shown")
        .with("corrections", corrections.map(Shown::Object).collect::<Vec<_>>())
        .with("settlements", settlements.map(Shown::Object).collect::<Vec<_>>())
        .with("alerts", known.alerts.iter().map(alert).map(Shown::Object).collect::<Vec<_>>())
        .with("told_to_merchant", events.collect::<Vec<_>>())
}

fn alert(alert: &AlertRow) -> Object {
    let facts = &alert.facts;
    Object::new()
        .with("id", alert.id)
        .with("status", alert.status.as_str())
        .with("first_seen_at", alert.first_seen)
        .with("bank", facts.bank.as_ref())
        .with("amount", facts.amount)
        .with("payer_name", facts.payer_name.as_ref())
        .with("payer_bank", facts.payer_bank.as_ref())
        .with("payer_account_number", facts.payer_account_number.as_ref())
        .with("narration", facts.narration.as_ref())
        .with("remarks", facts.remarks.as_ref())
        .with("session_id", facts.session_id.as_ref())
        .with("reference", facts.reference.as_ref())
        .with("subject", alert.subject.as_ref())
        .with("reason", &alert.reason)
}
