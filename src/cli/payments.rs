//! `tillbell payment ...`: finding payments, and what a person does to one.

use anyhow::bail;
use clap::{Args, Subcommand};

use super::Desk;
use super::options::{LIST_MAX, LIST_USUAL, Since, money, newest, not_searched, since};
use super::print::{self, Object, Shown, for_people};
use super::webhooks::delivery;
use super::{reversal, shell, typed};
use crate::app::App;
use crate::domain::merchant::Mode;
use crate::domain::money::{Money, naira};
use crate::domain::payment::{Kind, Payment, Status};
use crate::domain::time::Timestamp;
use crate::ops::alerts::find::open_alarms;
use crate::ops::alerts::reverse::{Reverse, ReverseRefused};
use crate::ops::look_back::Found;
use crate::ops::mailboxes::kept_open_by;
use crate::ops::payments::find::{Filter, Search, WantedStatus, find_payments, whose_payment};
use crate::ops::payments::read::{
    PaymentHistory, PaymentView, Settlement, find_payment, is_known, payment_history, view,
};
use crate::ops::payments::reject::{reject_payment, waiting_alerts};
use crate::terminal;

/// Payments of one reference that are named.
const REFERRED_MAX: usize = 10;

/// Which payment.
#[derive(Args)]
pub(super) struct Which {
    /// Transaction id of the payment
    #[arg(value_name = "TXN")]
    transaction_id: String,
    /// Id of its business; needed only if several businesses use this transaction id
    #[arg(long, value_name = "ID")]
    business: Option<i64>,
}

/// What payments are looked for.
#[derive(Args)]
pub(super) struct ListArgs {
    /// Only payments of this business
    #[arg(long, value_name = "ID")]
    business: Option<i64>,
    /// Only payments with this status: pending, approved, rejected or reversed (approved, then reversed)
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<WantedStatus>,
    /// Amount that was requested or received, for example 5000 or 5,000.50
    #[arg(long, value_name = "NAIRA", value_parser = money)]
    amount: Option<Money>,
    /// Words of the payer's name or their beginnings, in any order
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Number of the receiving account
    #[arg(long, value_name = "NUMBER")]
    account: Option<String>,
    /// The merchant's own reference (`order_reference`) of a wallet payment
    #[arg(long, value_name = "REFERENCE")]
    reference: Option<String>,
    /// Payments created in the last 24h, 7d, ... or since a day (2026-03-10, UTC)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,
    /// Largest number of payments to show, up to 100000
    #[arg(long, value_name = "N", default_value_t = LIST_USUAL, value_parser = clap::value_parser!(u32).range(1..=LIST_MAX))]
    limit: u32,
}

fn status(word: &str) -> Result<WantedStatus, String> {
    match (Status::parse(word), word) {
        (Some(Status::Approved), _) => Ok(WantedStatus::Standing),
        (Some(status), _) => Ok(WantedStatus::Status(status)),
        (None, "reversed") => Ok(WantedStatus::Reversed),
        _ => Err("must be pending, approved, rejected or reversed".to_owned()),
    }
}

#[derive(Subcommand)]
pub(super) enum PaymentCommand {
    /// Find payments, newest first
    ///
    /// Without options it lists the newest payments of all businesses. Options combine: a payment is shown only
    /// if it fits all of them.
    ///
    /// --name looks for words that begin so: "okafor ch" finds Chidi Okafor. For payments of about the last
    /// month it also finds other spellings: every name that `name compare` does not call different.
    ///
    /// A search covers the newest 1,000,000 payments (200,000 with --name), or with --business the newest of that
    /// business. It says so if older payments were left out.
    #[command(after_help = examples![
        "payment list --status pending --since 24h",
        "payment list --amount 5000 --name okafor",
        "payment list --business 1 --account 0123456789 --json",
    ])]
    List(ListArgs),
    /// Show a payment, why it was matched, and its webhooks
    ///
    /// A wallet payment is also found by the merchant's own reference (`order_reference`), if only one has it.
    #[command(after_help = examples!["payment show ORDER-81", "payment show ORDER-81 --business 1 --json"])]
    Show {
        #[command(flatten)]
        which: Which,
    },
    /// Reject a pending payment, so that no money can approve it
    #[command(after_help = examples!["payment reject ORDER-81 --reason \"the customer cancelled\""])]
    Reject {
        #[command(flatten)]
        which: Which,
        /// Why, for the record
        #[arg(long)]
        reason: String,
        /// Do not ask first
        #[arg(long)]
        yes: bool,
    },
    /// Reverse an approved payment: take its money back from the balance
    ///
    /// Use it when the bank took the money back, or when the payment was approved by mistake. It posts the
    /// opposite entry; nothing is deleted. It moves no money at the bank.
    ///
    /// With --alert it checks that amount, account, session id and time of that alert fit the transfer, and that
    /// the alert has undone no other one. Whatever does not fit must be overridden with --despite.
    ///
    /// The merchant gets the webhook payment.reversed, and the balance may fall below zero. The customer of a
    /// wallet gets a message.
    ///
    /// A reversal cannot be undone: the payment can never be approved again. On a terminal the command asks
    /// first, unless you say --yes; a script is not asked.
    #[command(after_help = examples![
        "payment reverse ORDER-81 --reason \"reversed by the bank\" --alert 57",
        "payment reverse ORDER-81 --reason \"wrong match\" --yes",
    ])]
    Reverse {
        #[command(flatten)]
        which: Which,
        /// Why, for the record; the merchant reads it in the webhook
        #[arg(long)]
        reason: String,
        /// Id of the alert in which the bank reports its reversal, if there is one
        #[arg(long, value_name = "ID")]
        alert: Option<i64>,
        /// Why you reverse it although the alert does not fit this transfer, or although an alarm about it is open
        #[arg(long, value_name = "REASON")]
        despite: Option<String>,
        /// Do not ask first
        #[arg(long)]
        yes: bool,
    },
}

pub(super) async fn run(command: PaymentCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    let (business, which) = match command {
        PaymentCommand::List(args) => return list(&app, args, desk).await,
        PaymentCommand::Show { which } => {
            let which = by_reference(&app, which).await?;
            (whose(&app, &which).await?, which)
        }
        PaymentCommand::Reject { which, reason, yes } => {
            let business = whose_or_refer(&app, &which, "reject").await?;
            // What cannot be rejected is refused by the rejection itself.
            let found = find_payment(&app, business, &which.transaction_id).await?;
            let waits = match found.filter(|one| one.status == Status::Pending) {
                Some(payment) => {
                    let waits = waiting_for(&app, &payment).await?;
                    if !yes {
                        confirm_rejection(&payment, &waits)?;
                    }
                    waits
                }
                None => String::new(),
            };
            reject_payment(&app, business, &which.transaction_id, &desk.operator, &reason).await??;
            if !waits.is_empty() {
                print::note(format_args!(
                    "money waits that may have been for it: {waits}; see tillbell alert show"
                ));
            }
            (business, which)
        }
        PaymentCommand::Reverse { which, reason, alert, despite, yes } => {
            let business = whose_or_refer(&app, &which, "reverse").await?;
            if !yes {
                reversal::confirm(&app, business, &which.transaction_id).await?;
            }
            let ask = Reverse {
                business_id: business,
                transaction_id: &which.transaction_id,
                reason: &reason,
                operator: &desk.operator,
                undoing_alert: alert,
                despite: despite.as_deref(),
            };
            reversal::run(&app, &ask).await?;
            outcome(&app, business, &which.transaction_id, desk).await?;
            return reversal::tell(&app, &ask, desk).await;
        }
    };
    show(&app, business, &which.transaction_id, desk).await
}

/// Alerts that wait for a person and may be for a payment, in words.
async fn waiting_for(app: &App, payment: &Payment) -> anyhow::Result<String> {
    let alerts = waiting_alerts(app, payment).await?;
    Ok(alerts.iter().map(|id| format!("alert {id}")).collect::<Vec<_>>().join(", "))
}

/// Asks a person at a terminal whether it is this payment that they mean; a script is not asked.
fn confirm_rejection(payment: &Payment, waits: &str) -> anyhow::Result<()> {
    let (transaction_id, business) = (&payment.transaction_id, payment.business_id);
    let waits =
        if waits.is_empty() { String::new() } else { format!(" Money waits that may be for it: {waits}.") };
    let question = terminal::harmless_line(&format!(
        "Reject payment {transaction_id:?} of business {business}: {} from {}?{waits} Nobody can approve it afterwards. Type yes: ",
        naira(payment.amount),
        payment.payer_name
    ));
    if typed::says_yes(&question)? == Some(false) {
        bail!("nothing was rejected");
    }
    Ok(())
}

/// The payment that is meant where no transaction id is: the only one that has it as the merchant's own reference.
async fn by_reference(app: &App, which: Which) -> anyhow::Result<Which> {
    let id = &which.transaction_id;
    match &referred(app, &which).await?[..] {
        [] => Ok(which),
        [only] => Ok(Which { transaction_id: only.transaction_id.clone(), business: Some(only.business_id) }),
        several => {
            let ids: Vec<&str> = several.iter().map(|payment| payment.transaction_id.as_str()).collect();
            bail!("several payments have the reference {id}: {}", ids.join(", "))
        }
    }
}

/// Payments that have it as the merchant's own reference; none where it is a transaction id.
async fn referred(app: &App, which: &Which) -> anyhow::Result<Vec<Payment>> {
    let id = &which.transaction_id;
    if is_known(app, which.business, id).await? {
        return Ok(Vec::new());
    }
    let filter = Filter { business_id: which.business, reference: Some(id.clone()), ..Filter::default() };
    let search = Search { filter, name: None, since: Timestamp::MIN, limit: REFERRED_MAX };
    Ok(find_payments(app, &search).await?.map(|found| found.rows).unwrap_or_default())
}

/// As [`whose`]. What changes a payment takes its transaction id alone, because a reference is not unique; it says
/// which payments have it.
async fn whose_or_refer(app: &App, which: &Which, verb: &str) -> anyhow::Result<i64> {
    let payments = referred(app, which).await?;
    if payments.is_empty() {
        return whose(app, which).await;
    }
    let told = |payment: &Payment| {
        format!("`{}`", shell::payment(verb, &payment.transaction_id, payment.business_id, ""))
    };
    let commands: Vec<String> = payments.iter().map(told).collect();
    let whose = if payments.len() == 1 { "a payment" } else { "several payments" };
    bail!(
        "{} is not a transaction id but the reference of {whose}: {}",
        which.transaction_id,
        commands.join(", ")
    )
}

async fn whose(app: &App, which: &Which) -> anyhow::Result<i64> {
    Ok(whose_payment(app, &which.transaction_id, which.business).await??)
}

async fn list(app: &App, args: ListArgs, desk: &Desk) -> anyhow::Result<()> {
    let limit = args.limit;
    let search = Search {
        filter: Filter {
            business_id: args.business,
            status: args.status,
            amount: args.amount,
            account: args.account,
            reference: args.reference,
        },
        name: args.name,
        since: args.since.map_or(Timestamp::MIN, |since| since.before(app.now())),
        limit: limit as usize,
    };
    let Found { rows: payments, more, searched_back_to } = find_payments(app, &search).await??;
    let mut columns = vec![
        "transaction_id",
        "business_id",
        "amount",
        "payer_name",
        "status",
        "account_number",
        "created_at",
    ];
    if payments.iter().any(|payment| payment.mode == Mode::Test) {
        columns.insert(2, "mode");
    }
    if payments.iter().any(|payment| payment.reversed_at.is_some()) {
        columns.push("reversed_at");
    }
    if payments.iter().any(|payment| payment.received.is_some_and(|received| received != payment.amount)) {
        let after = columns.iter().position(|name| *name == "amount").map_or(0, |at| at + 1);
        columns.insert(after, "received");
    }
    let alarms = open_alarms(app).await?;
    let mut rows = Vec::with_capacity(payments.len());
    for payment in payments {
        let alarm = alarms.of_payment(payment.id);
        let view = view(app, payment).await?;
        rows.push(if desk.printer.json {
            object(&view, alarm)
        } else {
            listed(&view).with("alarm", alarm.map(taken_back))
        });
    }
    if rows.iter().any(|row| !row.text("alarm").is_empty()) {
        columns.push("alarm");
    }
    let mut beside = Object::new().with("more", more);
    if let Some(at) = searched_back_to {
        beside = beside.with("searched_back_to", at);
    }
    desk.printer.list_with("payments", &columns, rows, beside)?;
    desk.printer.remark(more, &newest(limit))?;
    let Some(at) = searched_back_to else { return Ok(()) };
    let wider = if search.filter.business_id.is_none() { "; --business searches further back" } else { "" };
    desk.printer.remark(true, &format!("{}{wider}", not_searched("payments created", at)))
}

/// Prints a payment with everything an operator asks about it.
pub(super) async fn show(app: &App, business: i64, transaction_id: &str, desk: &Desk) -> anyhow::Result<()> {
    let found = payment_history(app, business, transaction_id).await?;
    let history = found.ok_or_else(|| ReverseRefused::NoPayment(business, transaction_id.to_owned()))?;
    let PaymentHistory { view, settlements, deliveries, alarm } = history;
    let settlements: Vec<Object> = settlements.iter().map(settlement).collect();
    let deliveries: Vec<Object> = deliveries.iter().map(|one| delivery(one, app.now())).collect();
    let shown = if desk.printer.json { object(&view, alarm) } else { listed_whole(&view, alarm) };
    let shown = with_kept_open(app, shown, &view.payment).await?;
    let object = shown.with("settlements", settlements).with("deliveries", deliveries);
    desk.printer.object(&object)?;
    let expired = late_until(&view.payment).filter(|_| app.now() >= view.payment.expires_at);
    if let Some(until) = expired {
        let until = for_people(&Shown::Time(until));
        let words =
            format!("\nIt has expired, but late transfers are taken until {until}; then it is rejected.");
        desk.printer.remark(true, &words)?;
    }
    let Some(alarm) = alarm else { return Ok(()) };
    let options = format!(" --alert {alarm} --reason WHY");
    let words = format!(
        "\n{}. If it did, run `{}`; if not, `alert dismiss {alarm} --reason WHY`.",
        taken_back(alarm),
        shell::payment("reverse", transaction_id, business, &options)
    );
    desk.printer.remark(true, &words)
}

/// Why a payment is still open after its late window, where a mailbox is the cause.
async fn with_kept_open(app: &App, shown: Object, payment: &Payment) -> anyhow::Result<Object> {
    let Some(mailbox) = kept_open_by(app, payment).await? else { return Ok(shown) };
    let (id, name) = (mailbox.id, mailbox.name);
    Ok(shown.with("kept_open", format!("waits for mailbox {id} ({name}) to be read; see `mailbox list`")))
}

/// An open alarm in words.
pub(super) fn taken_back(undoing: i64) -> String {
    format!("alert {undoing} may have taken this money back")
}

/// What a decision came to: for people in a few lines, as everything else is in `payment show`.
pub(super) async fn outcome(
    app: &App,
    business: i64,
    transaction_id: &str,
    desk: &Desk,
) -> anyhow::Result<()> {
    if desk.printer.json {
        return show(app, business, transaction_id, desk).await;
    }
    let found = find_payment(app, business, transaction_id).await?;
    let payment = found.ok_or_else(|| ReverseRefused::NoPayment(business, transaction_id.to_owned()))?;
    let whole = listed_whole(&view(app, payment).await?, None);
    let brief = ["transaction_id", "business_id", "status", "received_amount", "payer_name"];
    desk.printer.object(&whole.only(&brief))?;
    let show = shell::payment("show", transaction_id, business, "");
    desk.printer.remark(true, &format!("for the rest: {show}"))
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Transfer => "transfer",
        Kind::Wallet => "wallet",
        Kind::Topup => "topup",
    }
}

fn charges(payment: &Payment) -> Object {
    Object::new()
        .with("percentage", payment.charges.percentage)
        .with("fixed", payment.charges.fixed)
        .with("total", payment.charges.total())
        .with("paid_by_customer", payment.schedule.paid_by_customer)
        .with("business_receives", payment.business_receives)
}

/// A payment in a list for people.
fn listed(view: &PaymentView) -> Object {
    let payment = &view.payment;
    listed_whole(view, None).with("received", payment.received)
}

/// A payment for people: approved and then reversed is one word.
fn listed_whole(view: &PaymentView, alarm: Option<i64>) -> Object {
    let is_reversed = view.payment.reversed_at.is_some();
    object_as(view, if is_reversed { "reversed" } else { view.payment.status.as_str() }, alarm)
}

fn object(view: &PaymentView, alarm: Option<i64>) -> Object {
    object_as(view, view.payment.status.as_str(), alarm)
}

fn object_as(view: &PaymentView, status: &'static str, alarm: Option<i64>) -> Object {
    let PaymentView { payment, account, website, checkout_url } = view;
    let website = website.as_ref().map(|site| Object::new().with("id", site.id).with("url", &site.url));
    Object::new()
        .with("transaction_id", &payment.transaction_id)
        .with("business_id", payment.business_id)
        .with("kind", kind_word(payment.kind))
        .with("mode", payment.mode.as_str())
        .with("status", status)
        .with("amount", payment.amount)
        .with("received_amount", payment.received)
        .with("payer_name", &payment.payer_name)
        .with("bank", payment.payer.bank.as_ref())
        .with("account_number", account.as_ref().map(|a| &a.number))
        .with("account_name", account.as_ref().map(|a| &a.name))
        .with("bank_name", account.as_ref().map(|a| &a.bank_name))
        .with("webhook_url", payment.webhook_url.as_ref())
        .with("external_reference", payment.external_reference.as_ref())
        .with("is_mismatch", payment.is_mismatch)
        .with("mismatch_reason", payment.mismatch_reason.as_ref())
        .with("name_mismatch", payment.name_mismatch)
        .with("corrections", payment.corrections)
        .with("expires_at", payment.expires_at)
        .with("late_transfers_until", late_until(payment))
        .with("matched_at", payment.matched_at)
        .with("approved_at", payment.approved_at)
        .with("rejected_at", payment.rejected_at)
        .with("reject_reason", payment.reject_reason.as_ref())
        .with("is_reversed", payment.reversed_at.is_some())
        .with("reversed_at", payment.reversed_at)
        .with("alarm_alert_id", alarm)
        .with("created_at", payment.created_at)
        .with("updated_at", payment.updated_at)
        .with("charges", charges(payment))
        .with("website", website)
        .with("checkout_url", checkout_url.as_ref())
}

/// Until when a late transfer may still approve a pending payment by itself.
fn late_until(payment: &Payment) -> Option<Timestamp> {
    let waits = payment.status == Status::Pending && payment.kind != Kind::Wallet;
    waits.then_some(payment.approvable_until)
}

fn settlement(settlement: &Settlement) -> Object {
    Object::new()
        .with("id", settlement.id)
        .with("alert_id", settlement.alert_id)
        .with("rule", &settlement.rule)
        .with("operator", settlement.operator.as_ref())
        .with("received_amount", settlement.received)
        .with("charges", settlement.charge)
        .with("business_receives", settlement.business_receives)
        .with("settled_at", settlement.settled_at)
        .with("reversed_at", settlement.reversed_at)
        .with("reverse_reason", settlement.reverse_reason.as_ref())
        .with("undoing_alert_id", settlement.undoing_alert)
        .with("evidence", Shown::json(&settlement.evidence))
}
