//! `tillbell alert reread`: mails that were kept unread are read again, after a template was taught to.

use std::sync::Arc;

use anyhow::{anyhow, bail};
use clap::Args;

use super::Desk;
use super::alert_view::display_name;
use super::options::{Since, since};
use super::print::{Object, Shown, warn};
use crate::alert_reader::Banks;
use crate::app::App;
use crate::domain::alert::AlertRow;
use crate::mail_intake::ingest::MailIngestor;
use crate::mail_intake::reread::{debits_first, is_of, reread};
use crate::ops::alerts::decide::AlertOutcome;
use crate::ops::alerts::read::find_alert;
use crate::ops::alerts::reread::{Reread, RereadRefused, unread_since};

#[derive(Args)]
pub(super) struct RereadArgs {
    /// Ids of alerts that are unreadable, quarantined, ignored, or in review without a known account
    #[arg(value_name = "ID", conflicts_with_all = ["bank", "since"])]
    ids: Vec<i64>,
    /// All such alerts of this bank (a name from `bank list`)
    #[arg(long, value_name = "BANK", requires = "since")]
    bank: Option<String>,
    /// How far back: a length of time (7d) or a day (2026-03-10)
    #[arg(long, value_name = "TIME", value_parser = since, requires = "bank")]
    since: Option<Since>,
}

impl RereadArgs {
    pub(super) fn missing(&self) -> Option<&'static str> {
        (self.ids.is_empty() && self.bank.is_none()).then_some(
            "name the alerts to read again by their ids, which `alert list` shows, or all of a bank with --bank BANK \
             --since 7d",
        )
    }
}

/// Reads alert after alert and prints each result as it comes. What could not be done is told at the end.
pub(super) async fn run(app: &App, banks: Arc<Banks>, args: &RereadArgs, desk: &Desk) -> anyhow::Result<()> {
    let (mut is_cut, mut none) = (false, None);
    let ids = match (&args.bank, args.since) {
        (Some(name), Some(since)) => {
            let Some(bank) = banks.by_name_or_alias(name) else {
                bail!("no template knows the bank {name}; `bank list` shows the banks");
            };
            let wanted = |alert: &AlertRow| is_of(alert, bank, &banks);
            let (found, cut) = unread_since(app, since.before(app.now()), wanted).await?;
            is_cut = cut;
            none =
                found.is_empty().then(|| format!("no alert of {} since then can be read again", bank.name));
            found.iter().map(|alert| alert.id).collect::<Vec<_>>()
        }
        _ => args.ids.clone(),
    };
    let ingestor = MailIngestor::new(&app.config, banks.clone());
    let ids = debits_first(app, &ingestor, ids).await;
    let mut results = desk.printer.stream("results")?;
    let (mut trouble, mut troubles): (Option<anyhow::Error>, usize) = (None, 0);
    let asked = ids.len();
    let mut as_before = 0;
    for id in ids {
        let before = troubles;
        let shown = match reread(app, &ingestor, id, &desk.operator).await {
            // Of many, a person wants those that changed.
            Ok(Ok((_, Reread::Same(_)))) if args.bank.is_some() && !desk.printer.json => {
                as_before += 1;
                continue;
            }
            Ok(Ok((before, done))) => result(app, &banks, &before, &done).await?,
            Ok(Err(refused)) => {
                // Of many that were found here, one that somebody else dealt with meanwhile is no trouble.
                if args.bank.is_none() || matches!(refused, RereadRefused::KeyAway(_)) {
                    trouble.get_or_insert(anyhow!(refused.clone()));
                    troubles += 1;
                }
                row(id, None, "refused", &refused.to_string())
            }
            Err(error) => {
                let shown = row(id, None, "failed", &format!("it could not be read again: {error}"));
                trouble.get_or_insert(anyhow!(error).context(format!("alert {id} could not be read again")));
                troubles += 1;
                shown
            }
        };
        // The trouble of a single one is told by the error alone; programs get a row for each.
        if asked > 1 || troubles == before || desk.printer.json {
            results.row(&shown)?;
        }
    }
    results.end()?;
    if let Some(none) = none {
        desk.printer.remark(true, &none)?;
    }
    let words = if as_before == 1 {
        "1 alert reads as before"
    } else {
        &format!("{as_before} alerts read as before")
    };
    desk.printer.remark(as_before > 0, words)?;
    if is_cut {
        warn("too many alerts to check in one run; use a later --since to reach the rest");
    }
    match trouble {
        Some(_) if asked > 1 => bail!("{troubles} of {asked} alerts were not read again"),
        Some(trouble) => Err(trouble),
        None => Ok(()),
    }
}

async fn result(app: &App, banks: &Banks, before: &AlertRow, done: &Reread) -> anyhow::Result<Object> {
    let (Reread::Same(outcome) | Reread::Anew(outcome)) = done;
    let AlertOutcome { alert_id, status, transaction_id, .. } = outcome;
    let now = find_alert(app, *alert_id).await?;
    let facts = now.as_ref().map(|alert| &alert.facts);
    let account = facts.and_then(|facts| facts.virtual_account.as_ref().or(facts.account_number.as_ref()));
    let reason = match done {
        Reread::Same(_) => format!("it reads as before: {}", outcome.reason),
        Reread::Anew(_) => outcome.reason.clone(),
    };
    Ok(Object::new()
        .with("alert_id", *alert_id)
        .with("before", before.status.as_str())
        .with("outcome", status.as_str())
        .with("bank", display_name(banks, facts.and_then(|facts| facts.bank.as_deref())))
        .with("amount", facts.and_then(|facts| facts.amount))
        .with("payer_name", facts.and_then(|facts| facts.payer_name.as_ref()))
        .with("account_number", account)
        .with("transaction_id", transaction_id.as_ref())
        .with("reason", reason))
}

/// An alert that was left as it is, in the fields of the others.
fn row(id: i64, before: Option<&str>, outcome: &str, reason: &str) -> Object {
    let mut object = Object::new().with("alert_id", id).with("before", before).with("outcome", outcome);
    for field in ["bank", "amount", "payer_name", "account_number", "transaction_id"] {
        object = object.with(field, Shown::Null);
    }
    object.with("reason", reason)
}
