//! `tillbell alert ...`: bank mails from files, and what became of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand};
use indicatif::ProgressBar;

use super::alert_view::{display_name, object, row};
use super::banks::occurred;
use super::options::{LIST_MAX, LIST_USUAL, Since, money, newest, not_searched, since};
use super::payments::taken_back;
use super::print::{self, Object, Shown, for_people};
use super::reread::{self, RereadArgs};
use super::{Desk, approvals, dismissals};
use crate::alert_reader::Banks;
use crate::alert_reader::check::direction_word;
use crate::app::App;
use crate::domain::alert::AlertStatus;
use crate::domain::money::{Money, naira};
use crate::domain::time::Timestamp;
use crate::mail_intake::files::{Mails, is_a_mail};
use crate::mail_intake::ingest::{Arrival, Ingested, MailIngestor, Origin, ingest};
use crate::ops::OpError;
use crate::ops::StoreError;
use crate::ops::alerts::approve::ApproveRefused;
use crate::ops::alerts::draft::Voucher;
use crate::ops::alerts::find::{Filter, Search, find_alerts, open_alarms};
use crate::ops::alerts::read::{
    AlertTotal, alert_totals, find_alert, find_mail, simulated_alerts, transaction_id,
};
use crate::ops::look_back::Found;

/// Mails in a row that the database was away for; then no more are tried.
const AWAY_MAX: usize = 3;
/// Of a file that was named by mistake: nothing of it is stored.
const NO_MAIL: &str = "this is not a mail: it does not begin with header lines";

#[derive(Subcommand)]
pub(super) enum AlertCommand {
    /// Take in bank mails from files
    ///
    /// Reads .eml files, mboxes and Maildirs, for mails that did not arrive by IMAP or SMTP. A mail that was
    /// taken in before is not counted twice.
    #[command(after_help = examples![
        "alert ingest alert.eml",
        "alert ingest --trusted mails.mbox /var/mail/alerts",
    ])]
    Ingest(IngestArgs),
    /// List alerts, newest first, and the total of those that wait
    ///
    /// Options combine: an alert is listed only if it fits all of them.
    ///
    /// --name looks for words that begin so: "okafor ch" finds Chidi Okafor. Where no payer's name was read, it looks
    /// in the narration. --account also finds alerts that show a mask of the number and no account of yours.
    ///
    /// --alarms lists approved credits whose money the bank may have taken back. An alarm ends when the payment is
    /// reversed, or when you dismiss the debit because it took nothing back.
    ///
    /// A search covers the newest 1,000,000 alerts (200,000 with --name or --account). It says so if older alerts
    /// were left out.
    #[command(after_help = examples![
        "alert list --outcome review",
        "alert list --amount 5000 --name okafor --since 7d",
        "alert list --alarms --json",
        "alert list --test 1",
    ])]
    List(ListArgs),
    /// Show one alert, why it was decided so, and the payments it may pay
    ///
    /// The suggestions are of the time of the decision; where a payment's status has changed since, both are shown.
    #[command(after_help = examples!["alert show 42", "alert show 42 --mail > alert.eml"])]
    Show {
        /// Id of the alert
        id: i64,
        /// Write the mail itself to standard output (mails are kept for 90 days)
        #[arg(long)]
        mail: bool,
    },
    /// Approve a payment by hand with the money of an alert
    ///
    /// Use it for alerts in review and for money that matched no payment, also after `alert dismiss`. With
    /// --despite it takes credits that were set aside as a fee or an own transfer. `alert show` suggests payments.
    ///
    /// Without --despite it refuses if anything does not fit, and names it. Your reason is stored. On a terminal the
    /// command shows what you override and asks first, unless you say --yes; a script is not asked.
    #[command(after_help = examples![
        "alert approve 42 --payment A-81",
        "alert approve 42 --payment A-81 --despite \"the payer is her sister\"",
    ])]
    Approve(approvals::ApproveArgs),
    /// Dismiss alerts that pay nothing, debits that took nothing back, or quarantined and unreadable mails
    ///
    /// A dismissed credit can still be approved with `alert approve`. What was quarantined or unreadable is dismissed
    /// for good.
    #[command(after_help = examples![
        "alert dismiss 42 --reason \"refund from a supplier\"",
        "alert dismiss --from promo@bank.example --reason \"advertising\"",
    ])]
    Dismiss(dismissals::DismissArgs),
    /// Read mails again that could not be read, after you taught a template
    ///
    /// It also takes alerts in review whose account was not known. An alert keeps the time at which it was first seen
    /// and is decided by it. Mails are kept for 90 days.
    #[command(after_help = examples!["alert reread 17 18", "alert reread --bank GTBank --since 7d"])]
    Reread(RereadArgs),
}

/// What alerts are looked for.
#[derive(Args)]
pub(super) struct ListArgs {
    /// Only alerts with this outcome, which is one of: new, matched, review, unmatched, duplicate, quarantined,
    /// ignored, unreadable, dismissed, reversed
    #[arg(long, value_name = "OUTCOME", value_parser = outcome)]
    outcome: Option<AlertStatus>,
    /// Only credits whose money the bank may have taken back, with which nobody has dealt yet
    #[arg(long, conflicts_with = "outcome")]
    alarms: bool,
    /// Amount of the transfer, for example 5000 or 5000.50
    #[arg(long, value_name = "NAIRA", value_parser = money)]
    amount: Option<Money>,
    /// Words of the payer's name or their beginnings, in any order
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Number of the account that the money came to
    #[arg(long, value_name = "NUMBER")]
    account: Option<String>,
    /// Name, code or alias of the bank, from `bank list`
    #[arg(long, value_name = "BANK")]
    bank: Option<String>,
    /// Alerts first seen in the last 24h, 7d, ... or since a day (2026-03-10, UTC)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,
    /// The alerts that a business simulated in test mode, instead of the real ones
    #[arg(long, value_name = "BUSINESS", conflicts_with_all = ["outcome", "alarms", "amount", "name", "account", "bank", "since"])]
    test: Option<i64>,
    /// Largest number of alerts to show, up to 100000
    #[arg(long, value_name = "N", default_value_t = LIST_USUAL, value_parser = clap::value_parser!(u32).range(1..=LIST_MAX))]
    limit: u32,
}

#[derive(Args)]
pub(super) struct IngestArgs {
    /// Mail files (.eml), mboxes or Maildirs; - reads standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// You vouch that these mails are the bank's own; needed if no signature proves it
    #[arg(long)]
    trusted: bool,
}

/// Commands that were given no alert to act on.
pub(super) fn missing(command: &AlertCommand) -> Option<&'static str> {
    match command {
        AlertCommand::Dismiss(args) => args.missing(),
        AlertCommand::Reread(args) => args.missing(),
        _ => None,
    }
}

fn outcome(word: &str) -> Result<AlertStatus, String> {
    AlertStatus::parse(word).ok_or_else(|| {
        "must be one of new, matched, review, unmatched, duplicate, quarantined, ignored, unreadable, dismissed, \
         reversed"
            .to_owned()
    })
}

pub(super) async fn run(command: AlertCommand, desk: &Desk) -> anyhow::Result<()> {
    let banks = Arc::new(Banks::configured(desk.config.banks_folder.as_deref())?);
    let app = desk.open().await?;
    match command {
        AlertCommand::Ingest(args) => ingest_files(&app, banks, &args, desk).await,
        AlertCommand::List(args) => list(&app, &banks, args, desk).await,
        AlertCommand::Show { id, mail: true } => write_mail(&app, id, desk).await,
        AlertCommand::Show { id, mail: false } => show(&app, &banks, id, desk).await,
        AlertCommand::Approve(args) => approvals::run(&app, &args, desk).await,
        AlertCommand::Dismiss(args) => dismissals::run(&app, &banks, &args, desk).await,
        AlertCommand::Reread(args) => reread::run(&app, banks, &args, desk).await,
    }
}

/// Takes mail after mail and prints each result as it comes. What cannot be opened or stored is told at the
/// end, after the others; only when the database stays away the rest is not tried.
async fn ingest_files(app: &App, banks: Arc<Banks>, args: &IngestArgs, desk: &Desk) -> anyhow::Result<()> {
    let ingestor = MailIngestor::new(&app.config, banks);
    // Invisible when stderr is no terminal.
    let bar = ProgressBar::new_spinner().with_message("mails taken");
    let mut results = desk.printer.stream("results")?;
    let mut trouble: Option<anyhow::Error> = None;
    let mut away = 0;
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    'files: for file in &args.files {
        let mails = match Mails::open(file) {
            Ok(mails) => mails,
            Err(error) => {
                trouble.get_or_insert(anyhow!(error).context(format!("{file} cannot be opened")));
                continue;
            }
        };
        for item in mails {
            let row = match item.raw {
                Err(reason) => untaken(&item.file, AlertStatus::Unreadable.as_str(), &reason),
                Ok(raw) if !is_a_mail(&raw) => {
                    trouble.get_or_insert(anyhow!("{}: {NO_MAIL}", item.file));
                    untaken(&item.file, "refused", NO_MAIL)
                }
                Ok(raw) => {
                    let voucher = || Voucher { operator: desk.operator.clone(), file: item.file.clone() };
                    let origin = match args.trusted {
                        true => Origin::Vouched(voucher()),
                        false => Origin::File { trusted: false },
                    };
                    let arrival = Arrival { raw, source: "file".into(), origin, in_mailbox: None };
                    match ingest(app, &ingestor, arrival).await {
                        Ok(taken) => {
                            away = 0;
                            result(&item.file, &taken, &ingestor.banks)
                        }
                        Err(error) => {
                            let is_away = matches!(error, OpError::Store(StoreError::Unavailable(_)));
                            away = if is_away { away + 1 } else { 0 };
                            let row =
                                untaken(&item.file, "failed", &format!("it could not be stored: {error}"));
                            let what = format!("{} could not be stored", item.file);
                            trouble.get_or_insert(anyhow!(error).context(what));
                            row
                        }
                    }
                }
            };
            *outcomes.entry(row.text("outcome").to_owned()).or_default() += 1;
            bar.suspend(|| results.row(&row))?;
            if away >= AWAY_MAX {
                let rest = "the remaining mails were not tried";
                trouble = trouble.map(|first| first.context(rest));
                break 'files;
            }
            bar.inc(1);
            bar.set_message(match bar.position() {
                1 => "1 mail taken".to_owned(),
                some => format!("{some} mails taken"),
            });
        }
    }
    bar.finish_and_clear();
    results.end()?;
    if outcomes.is_empty() && trouble.is_none() {
        print::warn(format_args!("no mails in {}", args.files.join(", ")));
    }
    let told: Vec<String> = outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    desk.printer.remark(outcomes.values().sum::<usize>() > 1, &told.join(", "))?;
    trouble.map_or(Ok(()), Err)
}

fn result(file: &str, taken: &Ingested, banks: &Banks) -> Object {
    let (reading, outcome) = (&taken.reading, &taken.outcome);
    let facts = &reading.facts;
    Object::new()
        .with("file", file)
        .with("alert_id", outcome.alert_id)
        .with("outcome", outcome.status.as_str())
        .with("direction", facts.direction.map(direction_word))
        .with("amount", facts.amount)
        .with("payer_name", facts.payer_name.as_ref())
        .with("account_number", facts.virtual_account.as_ref().or(facts.account_number.as_ref()))
        .with("bank", display_name(banks, facts.bank.as_deref()))
        .with("reference", facts.reference.as_ref())
        .with("occurred_at", occurred(facts))
        .with("transaction_id", outcome.transaction_id.as_ref())
        .with("reason", &outcome.reason)
}

/// A mail that is not kept, too large for instance, in the fields of the others.
fn untaken(file: &str, outcome: &str, reason: &str) -> Object {
    let mut object = Object::new().with("file", file).with("alert_id", Shown::Null).with("outcome", outcome);
    for field in [
        "direction",
        "amount",
        "payer_name",
        "account_number",
        "bank",
        "reference",
        "occurred_at",
        "transaction_id",
    ] {
        object = object.with(field, Shown::Null);
    }
    object.with("reason", reason)
}

const LIST_COLUMNS: [&str; 9] = [
    "id",
    "first_seen_at",
    "outcome",
    "amount",
    "payer_name",
    "bank",
    "account_number",
    "transaction_id",
    "reason",
];

/// What a business simulated, newest first. None of it waits for an operator.
async fn list_simulated(
    app: &App,
    banks: &Banks,
    business_id: i64,
    limit: u32,
    desk: &Desk,
) -> anyhow::Result<()> {
    let mut alerts = simulated_alerts(app, business_id, limit + 1).await?;
    let more = alerts.len() > limit as usize;
    alerts.truncate(limit as usize);
    let mut rows = Vec::with_capacity(alerts.len());
    for alert in alerts {
        let transaction_id = transaction_id(app, &alert).await?;
        rows.push(row(&alert, transaction_id, banks, None));
    }
    desk.printer.list_with("alerts", &LIST_COLUMNS, rows, Object::new().with("more", more))?;
    desk.printer.remark(more, &newest(limit))
}

async fn list(app: &App, banks: &Banks, args: ListArgs, desk: &Desk) -> anyhow::Result<()> {
    if let Some(business_id) = args.test {
        return list_simulated(app, banks, business_id, args.limit, desk).await;
    }
    let (outcome, limit) = (args.outcome, args.limit);
    let bank = match &args.bank {
        Some(name) => match banks.by_name_or_alias(name) {
            Some(bank) => Some(bank.code.clone()),
            None => bail!("no template knows the bank {name}; `bank list` shows the banks"),
        },
        None => None,
    };
    let search = Search {
        filter: Filter {
            status: outcome,
            alarms: args.alarms,
            amount: args.amount,
            bank,
            account: args.account,
        },
        name: args.name,
        since: args.since.map_or(Timestamp::MIN, |since| since.before(app.now())),
        limit: limit as usize,
    };
    let Found { rows: alerts, more, searched_back_to } = find_alerts(app, &search).await??;
    let alarms = open_alarms(app).await?;
    let (now, mut rows) = (app.now(), Vec::new());
    for alert in alerts {
        let transaction_id = transaction_id(app, &alert).await?;
        let age = AlertStatus::COUNTED.contains(&alert.status).then(|| age(now, alert.first_seen));
        let alarm = alarms.of_credit(alert.id);
        let row = row(&alert, transaction_id, banks, alarm).with("age", age);
        rows.push(if desk.printer.json { row } else { row.with("alarm", alarm.map(taken_back)) });
    }
    let mut columns = LIST_COLUMNS.to_vec();
    if rows.iter().any(|row| !row.text("alarm").is_empty()) {
        columns.insert(columns.len() - 1, "alarm");
    }
    // Whose mails they are matters most where they are to be dismissed by their sender.
    if desk.printer.has_room() || outcome == Some(AlertStatus::Quarantined) {
        columns.insert(3, "mail_from");
    }
    let totals = alert_totals(app).await?;
    let mut beside = Object::new()
        .with("waiting", waiting(&totals, now)?)
        .with("open_alarms", alarms.count() as i64)
        .with("more", more);
    if let Some(at) = searched_back_to {
        beside = beside.with("searched_back_to", at);
    }
    desk.printer.list_with("alerts", &columns, rows, beside)?;
    desk.printer.remark(more, &newest(limit))?;
    if let Some(at) = searched_back_to {
        desk.printer.remark(true, &not_searched("alerts first seen", at))?;
    }
    desk.printer.remark(true, &format!("\n{}", in_words(&totals, now)?))?;
    let open = match alarms.count() {
        1 => "the money of 1 approved credit may have been taken back".to_owned(),
        some => format!("the money of {some} approved credits may have been taken back"),
    };
    desk.printer.remark(alarms.count() > 0 && !args.alarms, &format!("{open}: `alert list --alarms`"))
}

fn age(now: Timestamp, since: Timestamp) -> Shown {
    Shown::Age(now.since(since).0 / 1_000_000)
}

/// The bytes of the mail, whatever the form of other answers.
async fn write_mail(app: &App, id: i64, desk: &Desk) -> anyhow::Result<()> {
    let alert = find_alert(app, id).await?.ok_or(ApproveRefused::NoAlert(id))?;
    let Some(raw) = find_mail(app, alert.id).await? else {
        bail!("the mail of alert {id} was deleted: mails are kept for 90 days");
    };
    desk.printer.bytes(&raw)
}

/// How many alerts, how much money, since when.
struct Sum {
    count: i64,
    amount: Money,
    oldest: Option<Timestamp>,
}

fn sum<'a>(totals: impl Iterator<Item = &'a AlertTotal>) -> anyhow::Result<Sum> {
    let mut sum = Sum { count: 0, amount: Money::ZERO, oldest: None };
    for total in totals {
        sum.count += total.count;
        sum.amount = sum.amount.checked_add(total.amount).context("the waiting money is beyond counting")?;
        sum.oldest = Some(sum.oldest.map_or(total.oldest, |at| at.min(total.oldest)));
    }
    Ok(sum)
}

fn sum_object(sum: &Sum, now: Timestamp) -> Object {
    Object::new()
        .with("count", sum.count)
        .with("amount", sum.amount)
        .with("oldest_at", sum.oldest)
        .with("age_seconds", sum.oldest.map(|at| age(now, at)))
}

/// Credits that wait for a person or a payment, in all and by status. What is quarantined or unreadable is told by
/// status alone: nothing proves or tells that its money is there.
fn waiting(totals: &[AlertTotal], now: Timestamp) -> anyhow::Result<Object> {
    let mut by_status = Object::new();
    for status in AlertStatus::COUNTED {
        let own = sum(totals.iter().filter(|total| total.status == status))?;
        by_status = by_status.with(status.as_str(), sum_object(&own, now));
    }
    let all = sum(totals.iter().filter(|total| total.status.is_waiting()))?;
    Ok(sum_object(&all, now).with("by_status", by_status))
}

/// The same for people.
fn in_words(totals: &[AlertTotal], now: Timestamp) -> anyhow::Result<String> {
    let say = |sum: &Sum, what: &str| {
        let alerts = if sum.count == 1 { "alert" } else { "alerts" };
        let age = sum.oldest.map_or_else(|| "-".into(), |at| for_people(&age(now, at)));
        format!("{} {alerts} {what}: {}, the oldest {age} old", sum.count, naira(sum.amount))
    };
    let waits = sum(totals.iter().filter(|total| total.status.is_waiting()))?;
    let aside = sum(totals.iter().filter(|total| total.status == AlertStatus::Quarantined))?;
    let mut words = match waits.count {
        0 => "no alert waits for a person or a payment".to_owned(),
        1 => say(&waits, "waits for a person or a payment"),
        _ => say(&waits, "wait for a person or a payment"),
    };
    if aside.count > 0 {
        words.push('\n');
        words.push_str(&say(&aside, "in quarantine (not proven to be from the bank)"));
    }
    let unread = sum(totals.iter().filter(|total| total.status == AlertStatus::Unreadable))?;
    if let Some(oldest) = unread.oldest {
        let mails = if unread.count == 1 { "mail" } else { "mails" };
        let age = for_people(&age(now, oldest));
        words.push_str(&format!(
            "\n{} {mails} could not be read and may contain a payment, the oldest {age} old: `alert list --outcome unreadable`",
            unread.count
        ));
    }
    Ok(words)
}

async fn show(app: &App, banks: &Banks, id: i64, desk: &Desk) -> anyhow::Result<()> {
    desk.printer.object(&object(app, banks, id, desk.printer.json).await?)
}
