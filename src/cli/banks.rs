//! `tillbell bank ...`: the templates that read bank mails, and what they make of one.
//!
//! Needs no database: nothing is stored, and nothing is looked up but the key of a signature.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Subcommand;

use super::Desk;
use super::print::{Object, Shown, warn};
use crate::alert_reader::check::{authenticity_word, direction_word, kind_word, outcome_word};
use crate::alert_reader::{Bank, Banks, Reading, check, mime};
use crate::clock::{Clock, SystemClock};
use crate::domain::alert::{AlertFacts, Balance, TimePrecision};
use crate::domain::time::{LAGOS_OFFSET_SECONDS, Timestamp};
use crate::mail_intake::ingest::{Live, MailIngestor};

#[derive(Subcommand)]
pub(super) enum BankCommand {
    /// List the banks whose mails can be read
    #[command(after_help = examples!["bank list"])]
    List,
    /// Run the examples inside the templates; exit 1 if one is read differently
    ///
    /// Use it after you wrote or changed a template.
    #[command(after_help = examples!["bank check", "bank check /etc/tillbell/banks"])]
    Check {
        /// Folder of templates that add to the built-in ones or replace them
        dir: Option<PathBuf>,
    },
    /// Show how a mail is read and why, and what the service would do with it
    ///
    /// Nothing is stored. Use it to write a template, or to see why a mail went to review.
    #[command(after_help = examples!["bank try alert.eml", "bank try - --json"])]
    Try {
        /// One mail with its headers (.eml); - reads standard input
        file: PathBuf,
    },
}

pub(super) async fn run(command: BankCommand, desk: &Desk) -> anyhow::Result<ExitCode> {
    let folder = desk.config.banks_folder.as_deref();
    match command {
        BankCommand::List => {
            let rows = Banks::configured(folder)?.list().iter().map(bank).collect();
            desk.printer.list("banks", &["code", "name", "aliases", "senders"], rows)?;
            Ok(ExitCode::SUCCESS)
        }
        BankCommand::Check { dir } => {
            let banks = match dir {
                Some(dir) => Banks::load(&dir)?,
                None => Banks::configured(folder)?,
            };
            for (code, file) in banks.replaced() {
                warn(format_args!("{file} replaces the template of {code:?} that was there before"));
            }
            run_examples(&banks, desk)
        }
        BankCommand::Try { file } => {
            let raw = read_mail(&file)?;
            let banks = Arc::new(Banks::configured(folder)?);
            let now = SystemClock.now();
            let room = MailIngestor::new(&desk.config, banks.clone());
            let (reading, live) = room.try_mail(raw, now).await?;
            tell(&reading, &live, &banks, desk)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn bank(bank: &Bank) -> Object {
    let mask = bank.mask.map(|mask| {
        Object::new()
            .with("lead", count(mask.lead))
            .with("trail", count(mask.trail))
            .with("hidden_end", count(mask.hidden_end))
    });
    Object::new()
        .with("code", &bank.code)
        .with("name", &bank.name)
        .with("aliases", bank.aliases.clone())
        .with("senders", bank.senders.clone())
        .with("dkim_domains", bank.dkim_domains.clone())
        .with("signs_content_type", bank.signs_content_type)
        .with("cut_lengths", bank.cut_lengths.iter().map(|n| count(*n)).collect::<Vec<_>>())
        .with("mask", mask)
        .with("layouts", bank.layout_names.clone())
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn run_examples(banks: &Banks, desk: &Desk) -> anyhow::Result<ExitCode> {
    let results = check(banks);
    let failed = results.iter().filter(|result| !result.ok()).count();
    if desk.printer.json {
        let checks: Vec<Object> = results
            .iter()
            .map(|result| {
                Object::new()
                    .with("bank", &result.bank)
                    .with("example", &result.example)
                    .with("ok", result.ok())
                    .with("differences", result.differences.clone())
            })
            .collect();
        desk.printer.object(&Object::new().with("ok", failed == 0).with("checks", checks))?;
    } else {
        for result in &results {
            let word = if result.ok() { "ok    " } else { "FAILED" };
            desk.printer.line(&format!("{word} {}: {}", result.bank, result.example))?;
            for difference in &result.differences {
                desk.printer.line(&format!("       {difference}"))?;
            }
        }
        let banks = banks.list().len();
        desk.printer.line(&format!("{banks} banks, {} examples, {failed} failed", results.len()))?;
    }
    // A folder without a template, or a build without one, has checked nothing.
    Ok(if failed == 0 && !results.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read_mail(path: &std::path::Path) -> anyhow::Result<Vec<u8>> {
    let shown = path.display();
    // One byte more than the limit, so that the reader sees that it is over.
    let limit = u64::try_from(mime::MAX_MAIL_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let mut raw = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().take(limit).read_to_end(&mut raw).context("standard input")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| format!("{shown}"))?;
        if file.metadata().is_ok_and(|meta| meta.is_dir()) {
            bail!("{shown} is a folder; name one mail file");
        }
        file.take(limit).read_to_end(&mut raw).with_context(|| format!("{shown}"))?;
    }
    Ok(raw)
}

/// For programs all fields in one object; for people the lists below the fields, a line each.
fn tell(reading: &Reading, live: &Live, banks: &Banks, desk: &Desk) -> anyhow::Result<()> {
    let object = reading_object(reading, banks);
    if desk.printer.json {
        let unsigned = live.unsigned.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let object = object
            .with("why", reading.why.clone())
            .with("live_outcome", live.outcome.as_str())
            .with("live_reasons", live.reasons.clone())
            .with("unsigned_headers", unsigned);
        return desk.printer.object(&object);
    }
    desk.printer.object(&object)?;
    let item = |text: &String| desk.printer.line(&format!("  - {text}"));
    desk.printer.line("why:")?;
    reading.why.iter().try_for_each(item)?;
    desk.printer.line(&format!("if it arrived over the network now: {}", live.outcome.as_str()))?;
    live.reasons.iter().try_for_each(item)?;
    if !live.unsigned.is_empty() {
        let names = live.unsigned.join(", ");
        desk.printer
            .line(&format!("headers that the signature does not cover: {names} (see docs/banks.md)"))?;
    }
    Ok(())
}

/// A reading with the fields of contract/alerts.md#a24, in its order, but for the lists at its end.
fn reading_object(reading: &Reading, banks: &Banks) -> Object {
    let facts = &reading.facts;
    let balance = facts.balance.map(|balance| match balance {
        Balance::Available(money) | Balance::Ledger(money) => money,
    });
    let bank = facts.bank.as_deref().map(|code| banks.by_code(code).map_or(code, |bank| bank.name.as_str()));
    Object::new()
        .with("outcome", outcome_word(reading.outcome))
        .with("authentic", authenticity_word(reading.authenticity))
        .with("bank", bank)
        .with("template", facts.template.as_ref())
        .with("direction", facts.direction.map(direction_word))
        .with("kind", facts.kind.map(kind_word))
        .with("amount", facts.amount)
        .with("currency", facts.currency.as_ref())
        .with("account_number", facts.virtual_account.as_ref().or(facts.account_number.as_ref()))
        .with("payer_name", facts.payer_name.as_ref())
        .with("payer_account_number", facts.payer_account_number.as_ref())
        .with("narration", facts.narration.as_ref())
        .with("reference", facts.reference.as_ref())
        .with("session_id", facts.session_id.as_ref())
        .with("occurred_at", occurred(facts))
        .with("balance", balance)
}

/// The bank's time as exactly as it was told: an instant, or only the day in Lagos.
pub(super) fn occurred(facts: &AlertFacts) -> Shown {
    match facts.occurred {
        None => Shown::Null,
        Some(time) => match time.precision {
            TimePrecision::None => Shown::Null,
            TimePrecision::Day => lagos_date(time.begin).into(),
            TimePrecision::Minute | TimePrecision::Second => time.begin.into(),
        },
    }
}

/// `2026-07-30`, the day an instant falls on in Lagos.
fn lagos_date(at: Timestamp) -> String {
    let local = Timestamp(at.0 + i64::from(LAGOS_OFFSET_SECONDS) * 1_000_000).to_string();
    local.get(..10).unwrap_or_default().to_owned()
}
