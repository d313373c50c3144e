//! `tillbell alert dismiss`: alerts are put aside by id, or those of one sender out of quarantine.

use anyhow::bail;
use clap::Args;
use indicatif::ProgressBar;

use super::print::Object;
use super::{Desk, alert_view, typed};
use crate::alert_reader::Banks;
use crate::app::App;
use crate::domain::alert::AlertStatus;
use crate::domain::money::naira;
use crate::domain::same_transfer::takes_money;
use crate::ops::alerts::dismiss::{
    Cleared, DISMISS_MAX, DismissRefused, InQuarantine, clear_quarantine, dismiss_alert, quarantined_money,
};
use crate::ops::alerts::read::find_alert;

/// Quarantined alerts that are dismissed by their sender unless it is told otherwise.
const DISMISS_USUAL: u32 = 1_000;

#[derive(Args)]
pub(super) struct DismissArgs {
    /// Ids of alerts that are in review, unmatched, quarantined or unreadable, of credits set aside as a fee or an own
    /// transfer, or of debits and reversals that took nothing back
    #[arg(value_name = "ID", conflicts_with = "from")]
    ids: Vec<i64>,
    /// All quarantined alerts from this address (a whole one, as `alert list --outcome quarantined` shows it),
    /// except those still being checked
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    from: Option<String>,
    /// With --from: largest number of alerts to dismiss
    #[arg(long, value_name = "N", default_value_t = DISMISS_USUAL, requires = "from", value_parser = clap::value_parser!(u32).range(1..=DISMISS_MAX as i64))]
    limit: u32,
    /// Why, for the record
    #[arg(long)]
    reason: String,
    /// With --from: do not ask first where ADDRESS is a bank's
    #[arg(long, requires = "from")]
    yes: bool,
}

impl DismissArgs {
    pub(super) fn missing(&self) -> Option<&'static str> {
        (self.ids.is_empty() && self.from.is_none()).then_some(
            "name the alerts to dismiss by their ids, which `alert list` shows, or all quarantined ones of a sender \
             with --from ADDRESS",
        )
    }
}

/// A domain alone is refused: under a bank's own there may be mails that are genuine.
fn address(text: &str) -> Result<String, String> {
    match text.trim().split_once('@') {
        Some((local, domain)) if !local.is_empty() && !domain.is_empty() => Ok(text.to_owned()),
        _ => Err("it must be a whole address such as promo@bank.example; `alert list --outcome quarantined` shows \
                  the senders"
            .to_owned()),
    }
}

pub(super) async fn run(app: &App, banks: &Banks, args: &DismissArgs, desk: &Desk) -> anyhow::Result<()> {
    match &args.from {
        Some(sender) => {
            if !args.yes {
                confirm_clearing(app, banks, sender).await?;
            }
            clear(app, sender, args, desk).await
        }
        None => dismiss(app, banks, args, desk).await,
    }
}

/// What follows from putting such alerts aside.
const FOR_GOOD: &str = "Those that were quarantined or unreadable are not checked or read again and cannot be \
                        approved. If a mail is genuine after all, ingest a copy: tillbell alert ingest FILE --trusted";

fn is_for_good(was: AlertStatus) -> bool {
    matches!(was, AlertStatus::Quarantined | AlertStatus::Unreadable)
}

/// Dismissed alerts that are shown, of many.
const ROWS_MAX: usize = 50;
/// What is shown of one.
const BRIEF: [&str; 7] = ["id", "was", "direction", "amount", "payer_name", "first_seen_at", "reason"];

/// How a person takes a dismissal back.
fn undo(id: &str) -> String {
    format!(
        "To undo this, approve the money onto a payment: `alert approve {id} --payment TXN`. Nothing else brings a \
         dismissed alert back."
    )
}

/// A dismissed alert in brief, and whether it is a debit or a reversal.
async fn row(app: &App, banks: &Banks, (id, was): (i64, AlertStatus)) -> anyhow::Result<(Object, bool)> {
    let alert = find_alert(app, id).await?.ok_or(DismissRefused::NoAlert(id))?;
    let takes = takes_money(&alert);
    Ok((alert_view::row(&alert, None, banks, None).with("was", was.as_str()), takes))
}

/// What was dismissed, and how to undo it.
async fn one(app: &App, banks: &Banks, which: (i64, AlertStatus), desk: &Desk) -> anyhow::Result<()> {
    let (id, was) = which;
    if desk.printer.json {
        let object = alert_view::object(app, banks, id, true).await?.with("was", was.as_str());
        return desk.printer.object(&object);
    }
    let (row, takes) = row(app, banks, which).await?;
    let fields = [&BRIEF[..], &["outcome", "bank", "account_number", "occurred_at"]].concat();
    desk.printer.object(&row.only(&fields))?;
    let then = match takes {
        _ if is_for_good(was) => format!(
            "It was {}, so it is not checked or read again and cannot be approved. If the mail is genuine after all, \
             ingest a copy: tillbell alert ingest FILE --trusted",
            was.as_str()
        ),
        true => format!(
            "It raises no alarm any more. If it did take money back after all, reverse that payment: \
             `payment reverse TXN --alert {id} --reason WHY --despite WHY`."
        ),
        false => undo(&id.to_string()),
    };
    desk.printer.remark(true, &format!("\n{then}\nFor the rest: alert show {id}"))
}

async fn dismiss(app: &App, banks: &Banks, args: &DismissArgs, desk: &Desk) -> anyhow::Result<()> {
    if args.ids.len() > DISMISS_MAX {
        bail!("{} alerts are too many for one command: the limit is {DISMISS_MAX}", args.ids.len());
    }
    if let [id] = args.ids[..] {
        let was = dismiss_alert(app, id, &desk.operator, &args.reason).await??;
        return one(app, banks, (id, was), desk).await;
    }
    let (mut dismissed, mut refused, mut has_some_for_good) = (Vec::new(), Vec::new(), false);
    let (mut rows, mut can_undo) = (Vec::new(), false);
    let bar = ProgressBar::new(args.ids.len() as u64);
    for id in &args.ids {
        match dismiss_alert(app, *id, &desk.operator, &args.reason).await? {
            Ok(was) => {
                has_some_for_good |= is_for_good(was);
                dismissed.push(*id);
                if !desk.printer.json && rows.len() < ROWS_MAX {
                    let (row, takes) = row(app, banks, (*id, was)).await?;
                    can_undo |= !takes && !is_for_good(was);
                    rows.push(row);
                }
            }
            Err(DismissRefused::Reason) => return Err(DismissRefused::Reason.into()),
            Err(why) => refused.push(Object::new().with("id", *id).with("reason", why.to_string())),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let (done, failed) = (dismissed.len(), refused.len());
    if desk.printer.json {
        desk.printer.object(&Object::new().with("dismissed", dismissed).with("refused", refused.clone()))?;
    }
    if !rows.is_empty() {
        desk.printer.list("alerts", &BRIEF, rows)?;
    }
    for one in &refused {
        desk.printer.remark(true, one.text("reason"))?;
    }
    desk.printer.remark(true, &format!("{done} dismissed"))?;
    desk.printer.remark(done > ROWS_MAX, &format!("(the first {ROWS_MAX} are shown)"))?;
    desk.printer.remark(has_some_for_good, FOR_GOOD)?;
    desk.printer.remark(can_undo, &undo("ID"))?;
    if failed > 0 {
        bail!("{failed} of {} alerts were not dismissed", args.ids.len());
    }
    Ok(())
}

/// From a bank's own address there may be genuine payments among them.
async fn confirm_clearing(app: &App, banks: &Banks, sender: &str) -> anyhow::Result<()> {
    let Some(bank) = banks.by_sender(&sender.trim().to_ascii_lowercase()) else { return Ok(()) };
    let InQuarantine { alerts, amount, unknown } = quarantined_money(app, sender).await?;
    let unknown = if unknown > 0 { format!(", the amount of {unknown} is unknown") } else { String::new() };
    let question = format!(
        "{sender} is an address of {}. Its quarantined alerts ({alerts}, {} in all{unknown}) may be genuine payments, and \
         dismissed ones can never be approved. Dismiss them? Type yes: ",
        bank.name,
        naira(amount)
    );
    if typed::says_yes(&question)? == Some(false) {
        bail!("nothing was dismissed");
    }
    Ok(())
}

async fn clear(app: &App, sender: &str, args: &DismissArgs, desk: &Desk) -> anyhow::Result<()> {
    let bar = ProgressBar::new_spinner();
    let told = |count: usize| {
        bar.set_message(format!("{count} alerts dismissed"));
        bar.tick();
    };
    let limit = args.limit as usize;
    let cleared = clear_quarantine(app, sender, &desk.operator, &args.reason, limit, told).await??;
    bar.finish_and_clear();
    let Cleared { ids, changed, asked, more } = cleared;
    if desk.printer.json {
        let object = Object::new().with("dismissed", ids).with("changed", changed);
        return desk.printer.object(&object.with("still_asked", asked).with("more", more));
    }
    let alerts = if ids.len() == 1 { "alert" } else { "alerts" };
    desk.printer.remark(true, &format!("{} quarantined {alerts} from {sender} dismissed", ids.len()))?;
    desk.printer.remark(!ids.is_empty(), FOR_GOOD)?;
    let changed_words = format!("{} have just changed and were not dismissed", changed.len());
    desk.printer.remark(!changed.is_empty(), &changed_words)?;
    let asked_words = format!(
        "{asked} were not dismissed, because their signatures are still being checked, for a day at most (to dismiss \
         them anyway, name their ids)"
    );
    desk.printer.remark(asked > 0, &asked_words)?;
    desk.printer.remark(more, "more are left: run the command again")
}
